//! Which keys have another default in the profile `artifact`?

use bufferlab_scenario::{Loaded, TelemetryPath, TelemetryScope, load_text};
use std::path::Path;

/// A scenario with one transport.
fn text(profile: &str, transport: &str) -> String {
    format!(
        "profile = \"{profile}\"\nduration = \"1 s\"\n\
         topology = {{ kind = \"single_switch\", hosts = 2, rate = \"1 Gb/s\", delay = \"0 s\" }}\n\
         switch = {{ buffer = \"1 MB\", policy = \"dt\" }}\ntransport = [{{ {transport} }}]\n\
         workload = [{{ kind = \"poisson\", sizes = \"1 KB\", load = 0.1 }}]"
    )
}

/// The same, read.
fn loaded(profile: &str, transport: &str) -> Loaded {
    load_text(Path::new("profile.toml"), &text(profile, transport), &[]).expect("it loads")
}

#[test]
fn telemetry_is_of_the_port_but_for_tcp_in_the_artifact() {
    let rdma = "kind = \"rdma\", ";
    for (profile, kind, expected) in [
        ("paper", "", TelemetryScope::Port),
        ("paper", rdma, TelemetryScope::Port),
        ("artifact", "", TelemetryScope::Queue),
        ("artifact", rdma, TelemetryScope::Port),
    ] {
        for control in ["powertcp", "hpcc"] {
            let loaded = loaded(profile, &format!("{kind}congestion_control = \"{control}\""));
            assert_eq!(loaded.scenario.transports[0].telemetry, expected, "{profile} {kind} {control}");
            assert!(loaded.resolved.contains("telemetry = "), "{}", loaded.resolved);
        }
    }
    let written = loaded("artifact", "congestion_control = \"powertcp\", telemetry = \"port\"");
    assert_eq!(written.scenario.transports[0].telemetry, TelemetryScope::Port);
}

#[test]
fn telemetry_that_nobody_asks_for_is_warned_about_and_left_out() {
    let written = "congestion_control = \"newreno\", telemetry = \"queue\", telemetry_path = \"data\"";
    let loaded = loaded("paper", written);
    let keys: Vec<_> = loaded.warnings.iter().map(|warning| warning.key()).collect();
    assert_eq!(keys, ["transport.0.telemetry", "transport.0.telemetry_path"]);
    assert!(!loaded.resolved.contains("telemetry"), "{}", loaded.resolved);
}

#[test]
fn acks_collect_telemetry_for_tcp_in_the_artifact_only() {
    let rdma = "kind = \"rdma\", ";
    for (profile, kind, expected) in [
        ("paper", "", TelemetryPath::Data),
        ("paper", rdma, TelemetryPath::Data),
        ("artifact", "", TelemetryPath::RoundTrip),
        ("artifact", rdma, TelemetryPath::Data),
    ] {
        let loaded = loaded(profile, &format!("{kind}congestion_control = \"powertcp\""));
        assert_eq!(loaded.scenario.transports[0].telemetry_path, expected, "{profile} {kind}");
    }
    let written = loaded("artifact", "congestion_control = \"hpcc\", telemetry_path = \"data\"");
    assert_eq!(written.scenario.transports[0].telemetry_path, TelemetryPath::Data);
}

#[test]
fn connections_are_full_for_tcp_in_the_artifact_only() {
    let newreno = "congestion_control = \"newreno\"";
    for (profile, keys, expected) in [
        ("paper", "", false),
        ("paper", ", full_connection = true", true),
        ("artifact", "", true),
        ("artifact", ", full_connection = false", false),
        ("artifact", ", persistent = true", false),
    ] {
        let loaded = loaded(profile, &format!("{newreno}{keys}"));
        assert_eq!(loaded.scenario.transports[0].full_connection, expected, "{profile}{keys}");
        assert!(loaded.resolved.contains(&format!("full_connection = {expected}")), "{profile}{keys}");
    }
    let rdma = loaded("artifact", "kind = \"rdma\", congestion_control = \"dcqcn\"");
    assert!(!rdma.scenario.transports[0].full_connection && !rdma.resolved.contains("full_connection"));
}

#[test]
fn a_connection_that_stays_open_cannot_be_full() {
    let keys = "congestion_control = \"newreno\", persistent = true, full_connection = true";
    let error = load_text(Path::new("profile.toml"), &text("paper", keys), &[]).expect_err("refused");
    let said = format!("{error:?}");
    assert!(said.contains("remove `full_connection`, or `persistent`"), "{said}");
}
