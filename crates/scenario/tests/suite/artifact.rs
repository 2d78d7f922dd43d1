//! Which keys have another default in the profile `artifact`?

use bufferlab_scenario::{Loaded, TelemetryScope, load_text};
use std::path::Path;

/// A scenario with one transport.
fn loaded(profile: &str, transport: &str) -> Loaded {
    let text = format!(
        "profile = \"{profile}\"\nduration = \"1 s\"\n\
         topology = {{ kind = \"single_switch\", hosts = 2, rate = \"1 Gb/s\", delay = \"0 s\" }}\n\
         switch = {{ buffer = \"1 MB\", policy = \"dt\" }}\ntransport = [{{ {transport} }}]\n\
         workload = [{{ kind = \"poisson\", sizes = \"1 KB\", load = 0.1 }}]"
    );
    load_text(Path::new("profile.toml"), &text, &[]).expect("it loads")
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
    let loaded = loaded("paper", "congestion_control = \"newreno\", telemetry = \"queue\"");
    let keys: Vec<_> = loaded.warnings.iter().map(|warning| warning.key()).collect();
    assert_eq!(keys, ["transport.0.telemetry"]);
    assert!(!loaded.resolved.contains("telemetry"), "{}", loaded.resolved);
}
