//! Tests of `sonic tune` with a server of SONiC's databases: the values that the command writes,
//! and the values that the command restores when it ends.

use crate::server::Server;
use crate::support::Desk;
use bufferlab_operator::store::{Database, Store};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PROFILE: &str = "BUFFER_PROFILE|egress_lossy_profile";

/// A server with the configuration of the small switch. The switch has no congestion, so every
/// alpha may rise.
fn idle_switch(test: &str) -> Server {
    let server = Server::start(test);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sonic/switch/buffers.json");
    let tables: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the example")).expect("JSON");
    for (table, entries) in tables.as_object().expect("tables") {
        for (key, fields) in entries.as_object().expect("entries") {
            let fields = fields.as_object().expect("fields").iter();
            let fields: Vec<_> =
                fields.map(|(name, value)| (name.as_str(), value.as_str().expect("text"))).collect();
            server.write(Database::Config, &format!("{table}|{key}"), &fields);
        }
    }
    server.write(Database::Config, "PORT|Ethernet0", &[("speed", "100000")]);
    server.write(Database::Counters, "COUNTERS_QUEUE_NAME_MAP", &[("Ethernet0:0", "oid:0x1")]);
    server.write(
        Database::Counters,
        "USER_WATERMARKS:oid:0x1",
        &[("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "0")],
    );
    server.write(Database::Counters, "COUNTERS:oid:0x1", &[("SAI_QUEUE_STAT_BYTES", "0")]);
    server
}

fn exponent(server: &Server) -> String {
    let mut store = Store::new(server.address());
    store.fields(Database::Config, PROFILE).expect("it answers").remove("dynamic_th").expect("a value")
}

#[test]
fn what_runs_is_one_side_of_a_difference() {
    let (desk, server) = (Desk::new(), idle_switch("what_runs_is_one_side_of_a_difference"));
    desk.write(
        "after.json",
        r#"{ "BUFFER_POOL": { "egress_lossy_pool": { "type": "egress", "mode": "dynamic", "size": "5000000" } } }"#,
    );
    let output = desk.output(&["sonic", "diff", "--redis", server.address(), "after.json"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("5 MB"), "{said}{:?}", output.stderr);
}

/// Path of the journal that `tune` uses by default for a server.
fn journal(desk: &Desk, address: &str) -> std::path::PathBuf {
    desk.path(&format!("bufferlab-tune-{}.json", address.replace(':', "-")))
}

/// Starts the daemon of `sonic tune` and waits for its first change.
fn started(desk: &Desk, server: &Server) -> (Child, String) {
    started_at(desk, server.address())
}

fn started_at(desk: &Desk, address: &str) -> (Child, String) {
    let args =
        ["sonic", "tune", "--redis", address, "--apply", "--interval", "20 ms", "--hold", "1", "--up", "1"];
    let mut child =
        desk.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut line).expect("it says something");
    // The thread continues to read, because the daemon keeps writing into the pipe.
    std::thread::spawn(move || lines.lines().for_each(drop));
    (child, line)
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill is there").success());
}

#[cfg(target_os = "linux")]
#[test]
fn asked_to_end_it_puts_back_what_was_configured() {
    for name in ["-TERM", "-INT", "-HUP", "-QUIT"] {
        let desk = Desk::new();
        let server = idle_switch("asked_to_end_it_puts_back_what_was_configured");
        let (mut child, line) = started(&desk, &server);
        assert!(line.contains("egress_lossy_profile: dynamic_th 1 -> 2: 0 of 20 queues"), "{line}");
        assert_eq!(exponent(&server), "2");
        signal(&child, name);
        let status = child.wait().expect("it ends");
        assert!(status.success(), "{name}: {status}");
        assert_eq!(exponent(&server), "1", "{name}");
        assert!(!journal(&desk, server.address()).exists(), "{name}");
        assert_eq!(
            std::fs::read_dir(desk.path(".")).expect("a folder").count(),
            0,
            "{name}: nothing is left"
        );
    }
}

#[cfg(unix)]
#[test]
fn killed_it_leaves_the_last_good_values_and_the_next_start_puts_back_the_configured_ones() {
    let desk = Desk::new();
    let server =
        idle_switch("killed_it_leaves_the_last_good_values_and_the_next_start_puts_back_the_configured_ones");
    let (mut child, _) = started(&desk, &server);
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    assert_eq!(exponent(&server), "2");
    let args =
        ["sonic", "tune", "--redis", server.address(), "--apply", "--rounds", "1", "--interval", "10 ms"];
    let said = desk.succeed(&args);
    assert!(said.contains("egress_lossy_profile: dynamic_th 1 again, as configured"), "{said}");
    assert_eq!(exponent(&server), "1");
}

#[test]
fn a_server_that_goes_away_ends_the_command_after_so_many_faults() {
    let desk = Desk::new();
    let mut server = idle_switch("a_server_that_goes_away_ends_the_command_after_so_many_faults");
    let (mut child, _) = started(&desk, &server);
    server.stop();
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert!(journal(&desk, server.address()).exists(), "what was configured must be known to the next start");
}

#[cfg(unix)]
#[test]
fn two_switches_in_one_folder_keep_their_own_configuration() {
    let desk = Desk::new();
    let test = "two_switches_in_one_folder_keep_their_own_configuration";
    let (first, second) = (idle_switch(test), idle_switch(test));
    second.write(Database::Config, PROFILE, &[("dynamic_th", "0")]);
    let (mut child, _) = started(&desk, &first);
    assert_eq!(exponent(&first), "2");
    let args = |server: &Server| {
        [
            "sonic",
            "tune",
            "--redis",
            server.address(),
            "--apply",
            "--rounds",
            "3",
            "--interval",
            "10 ms",
            "--hold",
            "1",
        ]
        .map(str::to_owned)
    };
    let said = desk.succeed(&args(&second).each_ref().map(String::as_str));
    assert!(!said.contains("1 again"), "{said}");
    assert_eq!((exponent(&first), exponent(&second)), ("2".to_owned(), "0".to_owned()));
    // The second daemon refuses the journal of the first daemon, while the first daemon runs and
    // after the first daemon was killed.
    let named = journal(&desk, first.address()).display().to_string();
    let mut refused = args(&second).to_vec();
    refused.extend(["--journal".to_owned(), named.clone()]);
    let refused: Vec<_> = refused.iter().map(String::as_str).collect();
    let output = desk.output(&refused);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && message.contains("another tuner is running"), "{message}");
    signal(&child, "-KILL");
    child.wait().expect("it ends");
    let output = desk.output(&refused);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && message.contains(first.address()), "{message}");
    assert_eq!((exponent(&first), exponent(&second)), ("2".to_owned(), "0".to_owned()));
    desk.succeed(&args(&first).each_ref().map(String::as_str));
    assert_eq!((exponent(&first), exponent(&second)), ("1".to_owned(), "0".to_owned()));
    assert!(!journal(&desk, first.address()).exists());
}

/// A proxy in front of a database server that delays or stops the server's answers.
fn proxy(server: &Server, answers: impl Fn(&[u8], &mut TcpStream) -> bool + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, target) = (listener.local_addr().expect("an address"), server.address().to_owned());
    let answers = Arc::new(answers);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&target) else { return };
            let asked = Arc::new(Mutex::new(Vec::new()));
            let (mut from, mut to, seen) = (
                client.try_clone().expect("a socket"),
                server.try_clone().expect("a socket"),
                Arc::clone(&asked),
            );
            std::thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(count @ 1..) = from.read(&mut chunk) {
                    seen.lock().expect("a lock").extend_from_slice(&chunk[..count]);
                    if to.write_all(&chunk[..count]).is_err() {
                        return;
                    }
                }
                let _ = to.shutdown(std::net::Shutdown::Both);
            });
            let (mut from, mut to, answers) = (server, client, Arc::clone(&answers));
            std::thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(count @ 1..) = from.read(&mut chunk) {
                    let asked = asked.lock().expect("a lock").clone();
                    if answers(&asked, &mut to) {
                        let _ = to.write_all(&chunk[..count]);
                    }
                }
            });
        }
    });
    address.to_string()
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}

#[cfg(unix)]
#[test]
fn a_write_whose_answer_is_late_is_put_back() {
    for word in ["HSET", "EXEC"] {
        let desk = Desk::new();
        let server = idle_switch("a_write_whose_answer_is_late_is_put_back");
        let first = AtomicBool::new(true);
        let address = proxy(&server, move |asked, _| {
            if contains(asked, word.as_bytes()) && first.swap(false, Ordering::SeqCst) {
                std::thread::sleep(Duration::from_secs(4));
            }
            true
        });
        let (mut child, line) = started_at(&desk, &address);
        assert!(line.contains("fault 1"), "{word}: {line}");
        std::thread::sleep(Duration::from_millis(1_500));
        signal(&child, "-INT");
        let status = child.wait().expect("it ends");
        assert_eq!((status.code(), exponent(&server).as_str()), (Some(0), "1"), "{word}");
        assert!(!journal(&desk, &address).exists(), "{word}");
    }
}

#[cfg(unix)]
#[test]
fn a_line_that_turns_into_a_drip_does_not_keep_it_and_the_exit_code_tells() {
    let desk = Desk::new();
    let server = idle_switch("a_line_that_turns_into_a_drip_does_not_keep_it_and_the_exit_code_tells");
    let dripping = Arc::new(AtomicBool::new(false));
    let drips = Arc::clone(&dripping);
    let address = proxy(&server, move |_, to| {
        while drips.load(Ordering::SeqCst) {
            if to.write_all(b"+").is_err() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        true
    });
    let (mut child, _) = started_at(&desk, &address);
    assert_eq!(exponent(&server), "2");
    dripping.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "-INT");
    let start = Instant::now();
    let status = child.wait().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(status.code(), Some(1));
    assert!(journal(&desk, &address).exists(), "it knows what was configured");
    dripping.store(false, Ordering::SeqCst);
    let args = ["sonic", "tune", "--redis", &address, "--apply", "--rounds", "1", "--interval", "10 ms"];
    assert!(desk.succeed(&args).contains("1 again, as configured"));
    assert_eq!(exponent(&server), "1");
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_gives_up_what_cannot_be_put_back() {
    let desk = Desk::new();
    let mut server = idle_switch("a_second_ctrl_c_gives_up_what_cannot_be_put_back");
    let (mut child, _) = started(&desk, &server);
    server.stop();
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "-INT");
    let start = Instant::now();
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(journal(&desk, server.address()).exists());
}

/// Takes the right to a command of the database from all users. Only a real server has such rights.
fn deny(server: &Server, rule: &str) -> bool {
    let said = Command::new("redis-cli")
        .args(["-p", server.address().rsplit(':').next().expect("a port"), "ACL", "SETUSER", "default", rule])
        .output();
    said.is_ok_and(|said| said.stdout.starts_with(b"OK"))
}

#[cfg(unix)]
#[test]
fn refused_writes_end_it_and_what_cannot_be_put_back_is_no_success() {
    let desk = Desk::new();
    let server = idle_switch("refused_writes_end_it_and_what_cannot_be_put_back_is_no_success");
    let (mut child, _) = started(&desk, &server);
    if !deny(&server, "-hset") {
        eprintln!("no redis-cli with ACL: nothing is refused, and nothing is tested");
        child.kill().expect("a process of this test");
        child.wait().expect("it ends");
        return;
    }
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "putting back was refused");
    assert!(journal(&desk, server.address()).exists());
    assert_eq!(exponent(&server), "2");
    assert!(deny(&server, "+hset"));
    let args = |faults| {
        [
            "sonic",
            "tune",
            "--redis",
            server.address(),
            "--apply",
            "--interval",
            "10 ms",
            "--hold",
            "1",
            "--faults",
            faults,
            "--rounds",
            "50",
        ]
    };
    desk.succeed(&args("3"));
    assert_eq!(exponent(&server), "1");
    assert!(deny(&server, "-hset"));
    let output = desk.output(&args("3"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("fault 3: ") && !said.contains("fault 4: "), "{said}");
    assert!(!journal(&desk, server.address()).exists(), "nothing was changed");
}

#[test]
fn no_message_of_a_command_with_a_server_has_its_password() {
    let desk = Desk::new();
    let server = idle_switch("no_message_of_a_command_with_a_server_has_its_password");
    // The tested addresses have no server, an unknown user, or an invalid form.
    let addresses = [
        "redis://admin:s3cret@127.0.0.1:1".to_owned(),
        format!("redis://admin:s3cret@{}", server.address()),
        format!("admin:s3cret@{}", server.address()),
        format!("redis://admin:s3cret@{}/9", server.address()),
        "rediss://admin:s3cret@127.0.0.1:1".to_owned(),
        "unix:///nowhere/redis.sock?user=admin&pass=s3cret".to_owned(),
        "redis://:s3cret#x@127.0.0.1:y".to_owned(),
    ];
    let commands: [&[&str]; 8] = [
        &["explain"],
        &["lint"],
        &["lint", "--format", "sarif"],
        &["predict"],
        &["vectors"],
        &["what-if", "--only-write"],
        &["diff", "after.json"],
        &["tune", "--apply", "--rounds", "1", "--interval", "10 ms"],
    ];
    desk.write("after.json", "{}");
    for address in &addresses {
        for command in commands {
            let args = [&["sonic"], command, &["--redis", address]].concat();
            let output = desk.output(&args);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            assert!(!output.status.success(), "{args:?}");
            assert!(!said.contains("s3cret") && !said.contains("admin"), "{args:?}: {said}");
        }
    }
    // A valid password must not be in files about the switch.
    let status = Command::new("redis-cli")
        .args([
            "-p",
            server.address().rsplit(':').next().expect("a port"),
            "CONFIG",
            "SET",
            "requirepass",
            "s3cret",
        ])
        .output();
    if !status.is_ok_and(|said| said.stdout.starts_with(b"OK")) {
        return;
    }
    let address = format!("redis://:s3cret@{}", server.address());
    for command in commands.iter().filter(|command| command[0] != "diff") {
        let args = [&["sonic"], *command, &["--redis", &address]].concat();
        let output = desk.output(&args);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(!said.contains("s3cret") && !said.contains("cannot connect"), "{args:?}: {said}");
    }
    for entry in walk(&desk.path(".")) {
        let name = entry.display().to_string();
        let text = String::from_utf8_lossy(&std::fs::read(&entry).expect("readable")).into_owned();
        assert!(!name.contains("s3cret") && !text.contains("s3cret"), "{name}");
    }
}

/// All files in a folder and in its subfolders.
fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}
