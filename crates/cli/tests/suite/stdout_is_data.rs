//! Tests of the streams: data on stdout, all other text on stderr, and colours only on request.

use crate::support::{Desk, text};
use std::process::Stdio;

#[test]
fn stdout_has_only_data_and_paths_of_a_run_are_told_on_stderr() {
    let desk = Desk::with_tiny();
    for args in [&["run", "tiny.toml"][..], &["compare", "tiny.toml", "--policies", "dt,cs"]] {
        let output = desk.output(args);
        assert!(output.status.success());
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(stdout.contains("QCT mean") && !stdout.contains("report.html"), "{stdout}");
        assert!(stderr.starts_with("results in ") && stderr.lines().count() == 1, "{stderr}");
    }
}

/// The buffer has four parts of 50 KB. The output names each policy that needs a larger buffer.
#[test]
fn all_policies_that_fit_are_compared_and_the_others_named_with_the_reason() {
    let desk = Desk::with_tiny();
    let all = ["--policies", "all", "--seeds", "1", "--set", "switch.buffer=4 KB"];
    let output = desk.output(&[&["compare", "tiny.toml"], &all[..]].concat());
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    let left_out: Vec<_> = stderr.lines().filter(|line| line.starts_with("left out: ")).collect();
    assert_eq!(left_out.len(), 2, "{stderr}");
    assert!(
        left_out[0].starts_with("left out: cp: ") && left_out[0].contains("enlarge the buffer"),
        "{stderr}"
    );
    assert!(left_out[1].starts_with("left out: es: "), "{stderr}");
    let names: Vec<_> = stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for policy in ["dt", "cs", "tdt", "plasticine-pisa"] {
        assert!(names.contains(&policy), "{policy}: {stdout}");
    }
    assert!(!names.contains(&"cp"), "{stdout}");
    let first = stdout.lines().find(|line| line.starts_with("dt ") || line.starts_with("cs "));
    assert!(
        first.is_some_and(|line| line.starts_with("dt ")),
        "the scenario's own policy is the baseline: {stdout}"
    );
}

#[test]
fn the_report_command_prints_the_path_and_nothing_else() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--out", "first"]);
    let output = desk.output(&["report", "first"]);
    let path = text(&output.stdout);
    assert!(desk.path(path.trim_end()).is_file(), "{path:?}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_resolved_scenario_can_be_piped_into_a_file_and_run() {
    let desk = Desk::with_tiny();
    let warned =
        desk.output(&["check", "tiny.toml", "--resolved", "--set", "transport.0.congestion_control=dctcp"]);
    assert!(warned.status.success() && !warned.stderr.is_empty(), "this scenario is checked with a warning");
    desk.write("resolved.toml", &text(&warned.stdout));
    desk.succeed(&["run", "resolved.toml"]);
}

#[test]
fn failures_leave_stdout_empty() {
    let desk = Desk::with_tiny();
    for args in [
        &["run", "tiny.toml", "--set", "switch.policy=adm"][..],
        &["run", "absent.toml"],
        &["report", "absent"],
        &["compare", "tiny.toml", "--policies", "adm"],
        &["policy", "show", "adm"],
    ] {
        let output = desk.output(args);
        assert!(
            !output.status.success() && output.stdout.is_empty() && !output.stderr.is_empty(),
            "{args:?}"
        );
    }
}

#[test]
fn colours_can_be_forced_and_forbidden_for_errors_of_both_kinds() {
    let desk = Desk::with_tiny();
    for args in [&["run", "tiny.toml", "--set", "switch.policy=adm"][..], &["rnu"]] {
        let plain = desk.output(args);
        assert!(!plain.stderr.contains(&0x1b), "a pipe is no terminal: no escapes");
        let forced = desk.command(args).env("CLICOLOR_FORCE", "1").output().expect("it starts");
        assert!(forced.stderr.contains(&0x1b), "{args:?} is drawn with colours when they are asked for");
        let mut command = desk.command(args);
        let forbidden = command.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().expect("it starts");
        assert_eq!(text(&forbidden.stderr), text(&plain.stderr), "NO_COLOR wins");
    }
}

/// Runs a command whose output goes to a pipe without a reader, as `| true` gives it in a shell.
fn run_without_readers(desk: &Desk, args: &[&str], stdout: bool, stderr: bool) -> std::process::ExitStatus {
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        Stdio::from(writer)
    };
    let mut command = desk.command(args);
    command.stdout(if stdout { closed() } else { Stdio::null() });
    command.stderr(if stderr { closed() } else { Stdio::null() });
    command.status().expect("it starts")
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let desk = Desk::with_tiny();
    for args in
        [&["schema"][..], &["policy", "list"], &["check", "tiny.toml"], &["run", "tiny.toml"], &["--help"]]
    {
        for (stdout, stderr) in [(true, false), (false, true), (true, true)] {
            let status = run_without_readers(&desk, args, stdout, stderr);
            assert_eq!(status.code(), Some(0), "{args:?}, stdout closed: {stdout}, stderr closed: {stderr}");
        }
    }
    assert!(desk.path("results/tiny/report.html").is_file(), "the run was completed");
    // The error about a missing scenario is still an error and does not become a panic.
    assert_eq!(run_without_readers(&desk, &["run", "absent.toml"], true, true).code(), Some(1));
}

#[test]
fn a_quiet_command_says_only_what_is_wrong_or_doubtful() {
    let desk = Desk::with_tiny();
    for args in [&["run", "tiny.toml", "--quiet"][..], &["-q", "compare", "tiny.toml", "--policies", "dt,cs"]]
    {
        let output = desk.output(args);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("QCT mean"), "the data are there");
        assert_eq!(text(&output.stderr), "");
    }
    let output = desk.output(&["--quiet", "run", "nosuch.toml"]);
    assert!(!output.status.success() && text(&output.stderr).contains("nosuch.toml"), "errors are reported");
}

#[test]
fn errors_have_colours_where_they_are_asked_for_and_nowhere_else() {
    let desk = Desk::with_tiny();
    let escape = |args: &[&str]| text(&desk.output(args).stderr).contains('\u{1b}');
    assert!(escape(&["--color", "always", "run", "nosuch.toml"]));
    assert!(!escape(&["--color", "never", "run", "nosuch.toml"]));
    // The output of a test is no terminal, so the error has no colours.
    assert!(!escape(&["run", "nosuch.toml"]));
}

/// The program bash reads the completion script and completes a typed command line.
#[test]
fn a_shell_completes_commands_options_and_values() {
    let desk = Desk::new();
    std::fs::write(desk.path("complete.sh"), desk.output(&["completions", "bash"]).stdout).expect("writable");
    let complete = |line: &str| {
        let script = format!(
            "source complete.sh; COMP_WORDS=({line} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _bufferlab bufferlab '' '{}'; echo \"${{COMPREPLY[@]}}\"",
            line.split(' ').next_back().unwrap_or_default()
        );
        let output =
            std::process::Command::new("bash").args(["-c", &script]).current_dir(desk.path("")).output();
        let output = output.expect("bash is there");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let commands = complete("bufferlab");
    assert!(["run", "compare", "reproduce", "sonic"].iter().all(|one| commands.contains(one)), "{commands}");
    let options = complete("bufferlab sweep");
    assert!(["--vary", "--variants", "--seeds"].iter().all(|one| options.contains(one)), "{options}");
    assert_eq!(complete("bufferlab reproduce --scale").trim(), "quick paper");
}

#[test]
fn every_command_has_a_manual_page() {
    let desk = Desk::new();
    desk.succeed(&["man", "pages"]);
    let page = |name: &str| std::fs::read_to_string(desk.path("pages").join(name)).expect("written");
    assert!(page("bufferlab.1").contains("bufferlab\\-compare(1)"), "the first page names the others");
    assert!(page("bufferlab-compare.1").contains("\\-\\-variants"));
    assert!(page("bufferlab-theory-alpha.1").contains("alpha"));
    let output = desk.output(&["man", "pages/bufferlab.1"]);
    assert!(text(&output.stderr).contains("cannot write manual pages into"), "{}", text(&output.stderr));
}
