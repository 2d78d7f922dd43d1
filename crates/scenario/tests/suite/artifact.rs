//! Tests of keys with a different default in the profile `artifact`.

use bufferlab_params::ParamValue;
use bufferlab_scenario::{Loaded, TelemetryPath, TelemetryScope, load, load_text};
use std::path::Path;

/// Formats a scenario file with a profile and one transport.
fn text(profile: &str, transport: &str) -> String {
    format!(
        "profile = \"{profile}\"\nduration = \"1 s\"\n\
         topology = {{ kind = \"single_switch\", hosts = 2, rate = \"1 Gb/s\", delay = \"0 s\" }}\n\
         switch = {{ buffer = \"1 MB\", policy = \"dt\" }}\ntransport = [{{ {transport} }}]\n\
         workload = [{{ kind = \"poisson\", sizes = \"1 KB\", load = 0.1 }}]"
    )
}

/// Loads a scenario with a profile and one transport.
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

/// Returns the values in bytes of the policy parameter `name`.
fn bytes_of(params: &[(String, ParamValue)], name: &str) -> Vec<u64> {
    let value = params.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    match value.unwrap_or_else(|| panic!("{name} is set")) {
        ParamValue::Bytes(bytes) => vec![*bytes],
        ParamValue::BytesPerPort(bytes) => bytes.to_vec(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn reverie_sets_headroom_aside_for_two_priorities_of_every_port() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/artifact-reverie.toml");
    let scenario = load(&path, &[]).expect("it loads").scenario;
    // The headroom is two packets, 3860 B for the reaction, and the bytes that a 25 Gb/s link
    // carries in two times 2 us.
    let of_queue = 2 * (1_000 + 48) + 3_860 + 2 * 25_000 * 2 / 8;
    assert_eq!(of_queue, 18_456);
    for (spec, name) in scenario.switches.iter().zip(&scenario.topology.switches) {
        let ports = if name.starts_with("spine") { 4 } else { 20 };
        assert_eq!(bytes_of(&spec.policy_params, "headroom"), [of_queue], "{name}");
        assert_eq!(bytes_of(&spec.policy_params, "headroom_pool"), [2 * ports * of_queue], "{name}");
        assert_eq!(spec.lossless(), 1 << 3, "{name}: priority 0 has headroom and no pauses");
        assert_eq!(spec.hardware.switch.uncharged_priorities, 1 << 0, "{name}");
    }
}

#[test]
fn queues_of_devices_and_lossless_priorities_exclude_each_other() {
    let with = |pfc: &str| {
        let text = format!(
            "duration = \"1 s\"\n\
             topology = {{ kind = \"single_switch\", hosts = 2, rate = \"1 Gb/s\", delay = \"0 s\" }}\n\
             transport = [{{ congestion_control = \"newreno\" }}]\n\
             workload = [{{ kind = \"poisson\", sizes = \"1 KB\", load = 0.1 }}]\n\
             host = {{ device_queue = 100 }}\n\
             [switch]\nbuffer = \"1 MB\"\nqueues_per_port = 2\npolicy = {{ name = \"reverie\", headroom = \"40 KB\" }}\n\
             hardware = {{ device_queue = 100 }}\n{pfc}"
        );
        load_text(Path::new("device.toml"), &text, &[])
    };
    let refused = with("pfc = { priorities = [1] }").expect_err("refused");
    let keys: Vec<_> = refused.problems().iter().map(|problem| problem.key()).collect();
    assert_eq!(keys, ["host.device_queue", "switch.hardware.device_queue"]);
    assert!(refused.problems().iter().all(|problem| problem.line().is_some()));
    let loaded = with("").expect("nothing is lossless");
    assert_eq!(loaded.scenario.switches[0].hardware.device_queue, 100);
    assert_eq!(loaded.scenario.host.device_queue, 100);
}
