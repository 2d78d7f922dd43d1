//! Tests of the testbed with real packets, if this machine allows namespaces: the scenario `demo`,
//! and the ways to end a testbed.

use crate::json::by_schema;
use crate::support::Desk;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bufferlab");

/// Whether this machine can run the testbed. If not, the function prints a message.
pub(crate) fn allowed(test: &str) -> bool {
    let output = Command::new(PROGRAM).args(["testbed", "check"]).output().expect("the program starts");
    if output.status.success() {
        return true;
    }
    let why = String::from_utf8_lossy(&output.stderr);
    // The text goes to stderr directly, because the test runner would capture a printed message.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no testbed on this machine\n{why}");
    false
}

#[test]
fn the_demonstration_runs_and_its_packets_are_judged_as_in_the_simulator() {
    if !allowed("the demonstration of the testbed") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("demo");
    let output = Command::new(PROGRAM)
        .args(["testbed", "run", "demo", "--set", "duration=2 s", "--out"])
        .arg(&out)
        .arg("--capture")
        .arg(folder.path().join("captures"))
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let judged: Vec<_> = text.lines().filter(|line| line.contains("packets decided differently")).collect();
    assert_eq!(judged.len(), 2, "{text}");
    for line in judged {
        assert!(line.contains("; 0 of "), "{line}");
        let packets: u64 = line
            .split("; 0 of ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .expect("a count");
        assert!(packets > 10_000, "{line}");
    }
    for name in ["dt", "dt-simulated", "losspass", "losspass-simulated"] {
        assert!(out.join(name).join("seed-1/queries.parquet").is_file(), "{name}");
    }
    assert!(out.join("report.html").is_file());
    captures_hold_what_was_lost(&folder.path().join("captures"), &text);
}

#[test]
fn runs_of_other_content_are_refused_by_the_testbed_too() {
    if !allowed("other content in a folder of the testbed") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("demo");
    let run = |more: &[&str]| {
        let args = ["testbed", "run", "demo", "--policies", "dt", "--seeds", "2", "--out"];
        let output = Command::new(PROGRAM).args(args).arg(&out).args(more).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).replace("\n  │ ", " "))
    };
    assert_eq!(run(&["--set", "duration=1200 ms"]).0, Some(0));
    let (code, said) = run(&["--set", "duration=1300 ms"]);
    assert!(code == Some(1) && said.contains("`duration` was \"1.2 s\" and is \"1.3 s\""), "{said}");
    assert!(said.contains("--replace") && said.contains("--out"), "{said}");
    assert_eq!(run(&["--set", "duration=1300 ms", "--replace"]).0, Some(0));
}

/// Checks that every port of both runs has a complete capture, with a comment for each loss
/// under Dynamic Thresholds.
fn captures_hold_what_was_lost(folder: &Path, text: &str) {
    for policy in ["dt", "losspass"] {
        let entries = std::fs::read_dir(folder.join(policy).join("seed-1")).expect("a folder");
        let mut names: Vec<_> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names, (0..8).map(|port| format!("p{port}.pcapng")).collect::<Vec<_>>());
    }
    let captured = text.lines().filter(|line| line.starts_with("captured ") && line.contains("at 8 ports"));
    assert_eq!(captured.count(), 2, "{text}");
    // The capture must have a loss: two long flows start together, and the buffer is empty.
    let bytes = std::fs::read(folder.join("dt/seed-1/p1.pcapng")).expect("a capture");
    let comment = b"dropped at queue p0.1; queue ";
    assert!(bytes.windows(comment.len()).any(|part| part == comment), "nothing was lost: {text}");
}

#[test]
fn a_live_view_is_drawn_on_a_terminal_and_gives_it_back() {
    if !allowed("the live view") {
        return;
    }
    let line = format!(
        "stty rows 24 cols 80; {PROGRAM} testbed up demo --live -- sh -c 'sleep 2; echo that was all'"
    );
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = script.spawn() else {
        let _ = writeln!(std::io::stderr(), "SKIPPED the live view: `script` is not installed");
        return;
    };
    // The pipe that acts as the keyboard stays open until the end, although no key is pressed.
    let keyboard = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(keyboard);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    // The live view draws on the alternate screen, between these two control sequences.
    let (begin, end) = (text.find("\u{1b}[?1049h"), text.find("\u{1b}[?1049l"));
    let (begin, end) = begin.zip(end).unwrap_or_else(|| panic!("{text}"));
    let shown = &text[begin..end];
    for part in ["testbed-demo: sh -c", "held in buffer", "p0", "evict/s", "pause"] {
        assert!(shown.contains(part), "{part} is missing: {shown}");
    }
    assert!(text[end..].contains("that was all"), "output follows when the terminal is free again: {text}");
}

/// A switch file that names interfaces which do not exist.
fn switch_of_nothing() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("switch.toml");
    let port = |name: &str| format!("[[port]]\ninterface = \"{name}\"\nrate = \"1 Gb/s\"\n");
    let text = format!("{}{}[switch]\nbuffer = \"10 KB\"\npolicy = \"dt\"\n", port("no0"), port("no1"));
    std::fs::write(&file, text).expect("writable");
    (folder, file)
}

#[test]
fn a_live_view_without_a_terminal_is_refused_with_what_to_do() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (_folder, file) = switch_of_nothing();
    for words in [vec!["switch", file.to_str().expect("text")], vec!["testbed", "run", "demo"]] {
        let output = Command::new(PROGRAM).args(words).arg("--live").output().expect("the program starts");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{told}");
        assert!(told.contains("--live needs a terminal: standard output is no terminal"), "{told}");
        assert!(told.contains("--metrics 127.0.0.1:9420"), "{told}");
    }
}

#[test]
fn captures_that_are_there_are_not_replaced_unasked() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (folder, file) = switch_of_nothing();
    std::fs::write(folder.path().join("no1.pcapng"), "kept").expect("writable");
    let run = |more: &[&str]| {
        let output = Command::new(PROGRAM)
            .arg("switch")
            .arg(&file)
            .arg("--capture")
            .arg(folder.path())
            .args(more)
            .output();
        let output = output.expect("the program starts");
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = run(&[]);
    assert!(told.contains("has captures already") && told.contains("add --replace"), "{told}");
    // With `--replace`, the run fails because the interfaces are missing. The old capture file
    // stays, because no complete capture replaces the old file.
    let told = run(&["--replace"]);
    assert!(told.contains("there is no interface \"no0\""), "{told}");
    assert_eq!(std::fs::read(folder.path().join("no1.pcapng")).expect("it is there"), b"kept");
    assert!(!folder.path().join("no1.pcapng.partial").exists(), "no part is left");
}

/// An experiment runs with real hosts and in the simulator. The program judges both results. A
/// repeated command executes no finished run again.
#[test]
fn an_experiment_runs_with_real_packets_beside_the_simulator_and_goes_on_where_it_was() {
    if !allowed("an experiment with real packets") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbed/demo/demo.toml");
    let experiment = format!(
        r#"title = "Items beside long flows"
figure = "own"
about = ""
scenario = "{}"
[set]
"output.sample_interval" = "100 ms"
"output.sample_flows" = true
[[variant]]
name = "dt"
[[variant]]
name = "es"
set = {{ "switch.policy" = "es" }}
[metrics]
throughput = {{ goodput = ["long"], from_ms = 300.0, until_ms = 1_500.0 }}
qct = {{ queries = ["incast"], of = "time_ms", take = "mean" }}
[quick]
seeds = 1
[quick.set]
duration = "1500 ms"
drain = "500 ms"
[[claim]]
id = "OWN-1"
statement = "the long flows fill the line"
effect = 'v("throughput", "dt")'
at_least = 60.0
at_most = 94.2
"#,
        demo.canonicalize().expect("it is there").display()
    );
    std::fs::create_dir_all(folder.path().join("registry/own")).expect("a folder");
    std::fs::write(folder.path().join("registry/own/items.toml"), experiment).expect("a file");
    let run = |more: &[&str]| {
        let output = Command::new(PROGRAM)
            .args(["testbed", "reproduce", "all", "--registry", "registry", "--out", "out"])
            .args(["--record", "kept/real.csv", "--date", "2026-01-01"])
            .args(more)
            .current_dir(folder.path())
            .output()
            .expect("the program starts");
        let (text, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{text}\n{told}");
        (text.into_owned(), told.into_owned())
    };
    std::fs::create_dir_all(folder.path().join("kept")).expect("a folder");
    let (first, told) = run(&[]);
    assert!(told.contains("2 of 2: "), "{told}");
    assert!(first.contains(" differs from the simulator in 0 decisions."), "{first}");
    // The goodput of real packets was sampled, so the criterion has a value even on a busy machine.
    let line = first.lines().find(|line| line.starts_with("| OWN-1 |")).expect("a verdict");
    assert!(line.contains("(criterion: 60 to 94.2)") && !line.contains("NOT-RUN"), "{line}");
    let (second, told) = run(&[]);
    if first.contains("the switch was late") {
        // The switch was late, so the command is right to repeat the run.
        let _ = writeln!(std::io::stderr(), "SKIPPED going on where it was: this machine is too busy");
    } else {
        assert!(!told.contains("of 2: "), "nothing is done again: {told}");
        assert_eq!(first, second);
    }
    let (document, _) = run(&["--json"]);
    let document = by_schema(&Desk::new(), document.as_bytes(), "testbed-reproduce");
    let one = &document["experiments"][0];
    assert_eq!((&one["id"], one["runs"]["runs"].as_u64()), (&"own/items".into(), Some(2)), "{document:#}");
    assert_eq!(one["statements"][0]["id"], "OWN-1", "{document:#}");
    let recorded = std::fs::read_to_string(folder.path().join("kept/real.csv")).expect("a table");
    assert!(recorded.lines().nth(1).is_some_and(|row| row.starts_with("OWN-1,")), "{recorded}");
    assert!(folder.path().join("kept/real/own-items.real.csv").is_file());
}

#[test]
fn a_run_and_a_switch_print_their_results_as_json() {
    if !allowed("results of real packets as JSON") {
        return;
    }
    let desk = Desk::new();
    let run = [
        "testbed",
        "run",
        "demo",
        "--policies",
        "dt",
        "--set",
        "duration=1500 ms",
        "--set",
        "drain=500 ms",
        "--only-real",
    ];
    let output = desk.command(&run).args(["--out", "demo", "--json"]).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let compared = by_schema(&desk, &output.stdout, "comparison");
    assert_eq!(compared["policies"], serde_json::json!(["dt"]), "{compared:#}");
    let (_folder, file) = switch_of_nothing();
    let line = format!(
        "ip link add no0 type veth peer name no1 && ip link set no0 up && ip link set no1 up && \
         exec {PROGRAM} switch {} --for '1200 ms' --keep-awake --json",
        file.display()
    );
    let output =
        Command::new("unshare").args(["--user", "--map-root-user", "--net", "sh", "-c", &line]).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary = by_schema(&desk, &output.stdout, "switch");
    assert_eq!((&summary["policy"], summary["ports"].as_array().map(Vec::len)), (&"dt".into(), Some(2)));
    assert!(summary["ran_ns"].as_u64().is_some_and(|ns| ns >= 300_000_000), "{summary:#}");
}

/// Id of the first process in the namespaces of a testbed that this process started.
fn first_inside(outside: u32) -> Option<String> {
    let path = format!("/proc/{outside}/task/{outside}/children");
    std::fs::read_to_string(path).ok()?.split_whitespace().next().map(str::to_owned)
}

#[test]
fn nothing_is_left_of_a_testbed_that_is_killed() {
    if !allowed("killed testbeds") {
        return;
    }
    let links = || std::fs::read_dir("/sys/class/net").expect("a list of links").count();
    let before = links();
    let folder = tempfile::tempdir().expect("a folder");
    // The test kills the command before, during and after the setup.
    for (round, wait) in [30, 200, 600, 2_000].into_iter().enumerate() {
        let out = folder.path().join(round.to_string());
        let mut child = Command::new(PROGRAM)
            .args(["testbed", "run", "demo", "--out"])
            .arg(&out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        sleep(Duration::from_millis(wait));
        let inside = first_inside(child.id());
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        let Some(inside) = inside else { continue };
        let since = Instant::now();
        while Path::new("/proc").join(&inside).exists() {
            assert!(since.elapsed() < Duration::from_secs(5), "process {inside} lives on after {wait} ms");
            sleep(Duration::from_millis(10));
        }
        assert!(!out.join("dt/seed-1/manifest.json").exists(), "a killed run has no result");
    }
    assert_eq!(links(), before, "no link is left");
    assert!(!Path::new("/run/netns/h0").exists(), "no name is left");
}

/// Waits until the process inside a testbed has ended.
fn wait_for_end(inside: &str, what: &str) {
    let since = Instant::now();
    while Path::new("/proc").join(inside).exists() {
        assert!(since.elapsed() < Duration::from_secs(5), "process {inside} lives on after {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Starts a command of the testbed and ignores the command's output.
fn start(words: &[&str], out: &Path) -> Child {
    // Tests under nohup ignore SIGHUP, and so do their child processes.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", PROGRAM, "testbed"]);
    command.args(words).current_dir(out).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// The command `timeout`, service managers and closed terminals send the signal to the first
/// process, which must end the other processes, too.
#[test]
fn a_testbed_that_is_asked_to_end_ends_at_once_and_leaves_nothing() {
    if !allowed("testbeds that are asked to end") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "demo", "--only-real", "--out", "real"];
    let up = ["up", "demo", "--capture", "captures", "--", "sleep", "600"];
    for (words, signal, code, wait) in [
        (&run[..], "TERM", 143, 2_000),
        (&run, "HUP", 129, 2_000),
        (&run, "QUIT", 131, 2_000),
        (&run, "TERM", 143, 50),
        (&up, "TERM", 143, 2_000),
    ] {
        let mut child = start(words, folder.path());
        sleep(Duration::from_millis(wait));
        let inside = first_inside(child.id());
        let status = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
        assert!(status.expect("it starts").success());
        let since = Instant::now();
        let status = loop {
            match child.try_wait().expect("it can be asked") {
                Some(status) => break status,
                // The program waits three seconds for its processes, and a busy machine takes a few
                // seconds more.
                None => assert!(since.elapsed() < Duration::from_secs(8), "{words:?} goes on after {signal}"),
            }
            sleep(Duration::from_millis(20));
        };
        // Before the program has its own handler of the signal,
        // the signal ends the program by default.
        let code = if wait < 1_000 { status.code().or(Some(code)) } else { Some(code) };
        assert_eq!(status.code().or(code), code, "{words:?} {signal}: {status}");
        if let Some(inside) = inside {
            wait_for_end(&inside, signal);
        }
        assert!(
            !folder.path().join("real/dt/seed-1/manifest.json").exists(),
            "a run that was ended has no result"
        );
    }
    // The switch was ended and not killed, so its captures are complete.
    assert!(folder.path().join("captures/p0.pcapng").is_file());
}

#[test]
fn a_testbed_without_real_time_priority_is_warned_of() {
    if !allowed("the priority of a testbed") {
        return;
    }
    let check = |prefix: &[&str]| {
        let words = [prefix, &[PROGRAM, "testbed", "check"]].concat();
        let output = Command::new(words[0]).args(&words[1..]).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // Every machine with `unshare` also has `prlimit` of util-linux.
    // Without the capability CAP_SYS_NICE, the limit RLIMIT_RTPRIO decides.
    let without = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice", "prlimit", "--rtprio=0"];
    if crate::switch_bench::is_root() {
        let text = check(&without);
        let line = text.lines().find(|line| line.contains("real-time priority")).expect("a line");
        assert!(line.starts_with("absent") && line.contains("inconclusive"), "{line}");
    }
    assert!(check(&[]).lines().any(|line| line.contains("real-time priority")));
}
