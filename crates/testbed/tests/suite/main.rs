//! Tests the planning of scenarios for real hosts; these tests build no network.
#![cfg(target_os = "linux")]

mod parity;

use bufferlab_scenario::load_text;
use bufferlab_testbed::{DEMO, Plan};
use std::path::Path;

/// Plans the demonstration with Reno, which every kernel has. `changes` are changed keys of the
/// scenario.
fn plan(changes: &[(&str, &str)]) -> Result<Plan, String> {
    let reno = [
        ("transport.small.congestion_control", "newreno"),
        ("transport.large.congestion_control", "newreno"),
    ];
    let all = reno.iter().chain(changes).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let loaded = load_text(Path::new("demo.toml"), DEMO, &all.collect::<Vec<_>>());
    Plan::new(loaded.expect("the scenario is right")).map_err(|error| error.to_string())
}

#[test]
fn a_scenario_becomes_a_switch_with_the_same_buffer_policy_ports_and_delay() {
    let losspass = "{ name = \"losspass\", port_limit = \"static\", port_buffer = \"100 KB\" }";
    let plan = plan(&[("switch.policy", losspass), ("switch.buffer", "300 KB")]).expect("it can run");
    let (wanted, made) = (&plan.scenario().switches[0], &plan.switch.scenario.switches[0]);
    assert_eq!(made, wanted, "every key of the switch");
    assert_eq!(
        plan.switch.scenario.topology.switch_port_rates(0),
        plan.scenario().topology.switch_port_rates(0)
    );
    assert_eq!(plan.switch.forwarding.delay.as_ns(), 2_500_000, "two cables of 1.25 ms");
    assert_eq!(plan.switch.forwarding.priority_of[8], 1, "class selector 1 is priority 1");
    assert_eq!(plan.switch.scenario.seed, plan.scenario().seed);
}

#[test]
fn what_real_hosts_cannot_do_is_refused_with_advice() {
    let cases: [(&[(&str, &str)], &str); 4] = [
        (&[("transport.small.congestion_control", "hpcc")], "this kernel has no congestion control \"hpcc\""),
        (&[("topology.hosts", "80"), ("switch.buffer", "1 MB")], "80 hosts are too many"),
        (&[("switch.hardware", "{ slices = 2 }")], "one memory"),
        (
            &[(
                "topology",
                "{ kind = \"dumbbell\", hosts_per_side = 4, host_rate = \"100 Mb/s\", bottleneck_rate = \"100 Mb/s\", delay = \"1 ms\" }",
            )],
            "2 switches",
        ),
    ];
    for (changes, message) in cases {
        let found = plan(changes).expect_err(message);
        assert!(found.contains(message), "{found}");
    }
    let drawn = DEMO.replace("data_priority = 1", "data_priorities = [0, 1]").replace("cubic", "newreno");
    let loaded = load_text(Path::new("demo.toml"), &drawn, &[]).expect("the scenario is right");
    let found = Plan::new(loaded).expect_err("a connection keeps its priority").to_string();
    assert!(found.contains("draws a priority for every flow"), "{found}");
}
