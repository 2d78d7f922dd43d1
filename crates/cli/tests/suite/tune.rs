//! `sonic tune` with a server of SONiC's databases: what it writes, and that it is gone when the command is.

use crate::server::Server;
use crate::support::Desk;
use bufferlab_operator::store::{Database, Store};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PROFILE: &str = "BUFFER_PROFILE|egress_lossy_profile";

/// The small switch without congestion: every alpha may rise.
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
    assert!(output.status.success() && said.contains("5000000"), "{said}{:?}", output.stderr);
}

/// A daemon that has made its first change.
fn started(desk: &Desk, server: &Server) -> (Child, String) {
    let args = [
        "sonic",
        "tune",
        "--redis",
        server.address(),
        "--apply",
        "--interval",
        "20 ms",
        "--hold",
        "1",
        "--up",
        "1",
    ];
    let mut child =
        desk.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut line).expect("it says something");
    // It goes on writing into the pipe.
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
    for name in ["-TERM", "-INT"] {
        let desk = Desk::new();
        let server = idle_switch("asked_to_end_it_puts_back_what_was_configured");
        let (mut child, line) = started(&desk, &server);
        assert!(line.contains("egress_lossy_profile: dynamic_th 1 -> 2: 0 of 20 queues"), "{line}");
        assert_eq!(exponent(&server), "2");
        signal(&child, name);
        let status = child.wait().expect("it ends");
        assert!(status.success(), "{name}: {status}");
        assert_eq!(exponent(&server), "1", "{name}");
        assert!(!desk.path("bufferlab-tune.json").exists(), "{name}");
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
    assert!(desk.path("bufferlab-tune.json").exists(), "what was configured must be known to the next start");
}
