//! Tests that the model answers probes like a chip: bisection finds the thresholds of the vectors.

use crate::support::{model, switch};
use bufferlab_operator::Vectors;
use bufferlab_operator::probe::Executor;
use bufferlab_sonic::silicon::chip;
use serde_json::{Value, json};

fn ask(executor: &mut Executor, request: &Value) -> Value {
    serde_json::from_str(&executor.answer_line(&request.to_string())).expect("answers are JSON")
}

/// Returns the smallest value at which a probe detects its event, found by bisection as testers do.
fn bisect(executor: &mut Executor, probe: &str, priority: u8) -> u64 {
    let (mut unseen, mut seen) = (0, 1_000_000);
    while seen - unseen > 1 {
        let value = u64::midpoint(unseen, seen);
        let key = if probe == "egress_drop" { "queue" } else { "pg" };
        let request = json!({"op": "check", "probe": probe, "src_port": 0, "dst_port": 1, "value": value, "attempts": 2, key: priority});
        let answer = ask(executor, &request);
        assert_eq!(answer["success"], true, "{answer}");
        if answer["detected"] == true { seen = value } else { unseen = value }
    }
    seen
}

#[test]
fn a_search_by_probes_ends_at_the_points_of_the_vectors() {
    let config = switch(|_, text| text);
    let vectors = Vectors::new(&config, chip("tomahawk5").expect("a chip"), 64).expect("it fits");
    let group = vectors.groups.iter().find(|group| group.ports[0] == "Ethernet0").expect("a group");
    let mut executor = Executor::new(&model(&config, "tomahawk5"), 64).expect("it fits");
    // The packet that reaches the limit causes the pause.
    assert!(bisect(&mut executor, "pfc_xoff", 3).abs_diff(group.pause.formula) <= 1);
    assert!(bisect(&mut executor, "ingress_drop", 4).abs_diff(group.loss.formula) <= 1);
    assert!(bisect(&mut executor, "pfc_xon", 3).abs_diff(group.resume.formula) <= 1);
    let lossy = &vectors.queues[0];
    assert!(bisect(&mut executor, "egress_drop", 0).abs_diff(lossy.loss.formula) <= 1);
}

/// A search for a threshold with one probe, between two given ports.
struct Search<'a> {
    executor: &'a mut Executor,
    probe: &'static str,
    ports: (u16, u16, Option<u16>),
    priority: u8,
}

impl Search<'_> {
    fn check(&mut self, value: u64, drain: bool) -> bool {
        let (from, to, holder) = self.ports;
        let mut request = json!({"op": "check", "probe": self.probe, "src_port": from, "dst_port": to, "value": value, "drain_buffer": drain, "pg": self.priority});
        if let Some(holder) = holder {
            request["dst_port_b"] = json!(holder);
        }
        let answer = ask(self.executor, &request);
        assert_eq!(answer["success"], true, "{answer}");
        answer["detected"] == true
    }

    /// Runs the four phases of sonic-mgmt's probing: doubling, halving, bisection down to a window,
    /// and single packets. The last phase does not empty the switch between packets.
    fn phases(&mut self, first: u64) -> u64 {
        let mut upper = first;
        while !self.check(upper, true) {
            upper *= 2;
        }
        let mut lower = upper / 2;
        while self.check(lower, true) {
            lower /= 2;
        }
        while upper - lower > 100 {
            let middle = u64::midpoint(lower, upper);
            if self.check(middle, true) { upper = middle } else { lower = middle + 1 }
        }
        let mut at = lower + 1;
        let mut detected = self.check(at, true);
        while !detected {
            at += 1;
            detected = self.check(1, false);
        }
        at
    }
}

#[test]
fn the_phases_of_a_qualification_end_at_the_points_of_the_vectors() {
    let config = switch(|_, text| text);
    for name in ["trident3", "tomahawk2", "tomahawk5"] {
        let vectors = Vectors::new(&config, chip(name).expect("a chip"), 64).expect("it fits");
        let group = vectors.groups.iter().find(|group| group.ports[0] == "Ethernet0").expect("a group");
        let mut executor = Executor::new(&model(&config, name), 64).expect("it fits");
        let mut found = |probe, first| {
            Search { executor: &mut executor, probe, ports: (0, 1, None), priority: 3 }.phases(first)
        };
        let pause = found("pfc_xoff", 50_000);
        assert!(pause.abs_diff(group.pause.formula) <= 1, "{name}: {pause}");
        let loss = found("ingress_drop", pause - 1);
        assert!(loss.abs_diff(group.loss.formula) <= 1, "{name}: {loss}");
        // The search finds the resume point as testers do: one port drains, and another port stores
        // the other packets.
        let mut search =
            Search { executor: &mut executor, probe: "pfc_xon", ports: (0, 1, Some(2)), priority: 3 };
        let (mut unseen, mut seen) = (0, pause);
        while seen - unseen > 1 {
            let value = u64::midpoint(unseen, seen);
            if search.check(value, true) { seen = value } else { unseen = value }
        }
        assert!(seen.abs_diff(group.resume.formula) <= 1, "{name}: {seen}");
        assert!(search.check(pause, true) && !search.check(pause + 1, true), "{name}");
    }
}

/// The test fills groups until a group finds no headroom. Each group keeps its packets up to its
/// first loss. The sum of the groups' headroom is the headroom pool.
#[test]
fn a_headroom_pool_is_found_group_by_group() {
    let config = switch(|_, text| text);
    let vectors = Vectors::new(&config, chip("trident3").expect("a chip"), 64).expect("it fits");
    let group = vectors.groups.iter().find(|group| group.pool.is_some()).expect("a profile with a pool");
    let pool = group.pool.as_ref().expect("a pool");
    let mut executor = Executor::new(&model(&config, "trident3"), 64).expect("it fits");
    let (mut sum, mut groups) = (0, 0);
    'all: for from in [0_u16, 2, 3] {
        for priority in [3, 4] {
            let mut found = |probe, first| {
                Search { executor: &mut executor, probe, ports: (from, 1, None), priority }.phases(first)
            };
            let pause = found("pfc_xoff", 50_000);
            let loss = found("ingress_drop", pause);
            sum += loss - pause;
            groups += 1;
            if loss - pause <= 1 {
                break 'all;
            }
            let kept =
                json!({"op": "persist", "src_port": from, "dst_port": 1, "value": loss - 1, "pg": priority});
            assert_eq!(ask(&mut executor, &kept)["success"], true);
        }
    }
    assert!(groups >= 2);
    assert!(sum.abs_diff(pool.sum.formula) <= groups, "{sum} in {groups} groups; {pool:?}");
    assert_eq!(ask(&mut executor, &json!({"op": "drain"}))["success"], true);
    assert_eq!(ask(&mut executor, &json!({"op": "paused", "src_port": 0, "pg": 3}))["paused"], false);
}

#[test]
fn groups_stay_filled_where_the_buffer_is_not_drained() {
    let config = switch(|_, text| text);
    let mut executor = Executor::new(&model(&config, "trident3"), 64).expect("it fits");
    let fill = |from: u16, drain: bool| json!({"op": "check", "probe": "ingress_drop", "src_port": from, "dst_port": 1, "value": 6_000, "drain_buffer": drain, "pg": 3});
    assert_eq!(ask(&mut executor, &fill(0, true))["detected"], true);
    let paused = ask(&mut executor, &json!({"op": "paused", "src_port": 0, "pg": 3}));
    assert_eq!(paused, json!({"success": true, "paused": true}));
    // The second group finds less free memory than the first group. A lone group gets a third of
    // 12,332 cells, but a group after the first one gets two ninths.
    let second =
        ask(&mut executor, &json!({"op": "send", "src_port": 2, "dst_port": 1, "value": 6_000, "pg": 3}));
    let stored = second["packets"].as_u64().expect("a number");
    assert!(stored < 4_110 + 6 + 624, "{second}");
    let left = ask(&mut executor, &json!({"op": "release", "dst_port": 1, "value": 10_000_000}));
    assert!(left["packets"].as_u64().expect("a number") > stored, "{left}");
    let after = ask(&mut executor, &json!({"op": "paused", "src_port": 0, "pg": 3}));
    assert_eq!(after["paused"], false);
}

#[test]
fn requests_that_make_no_sense_are_answered_with_what_is_wrong() {
    let config = switch(|_, text| text);
    let mut executor = Executor::new(&model(&config, "trident3"), 64).expect("it fits");
    for (request, part) in [
        (json!({"op": "jump"}), "unknown variant"),
        (json!(["check"]), "not a request"),
        (json!({"op": "prepare", "src_port": 0, "dst_port": 9}), "no port 9"),
        (json!({"op": "prepare", "src_port": 2, "dst_port": 2}), "to itself"),
        (
            json!({"op": "check", "probe": "pfc_xoff", "src_port": 0, "dst_port": 1, "value": 1, "pg": 0}),
            "not lossless",
        ),
        (
            json!({"op": "check", "probe": "egress_drop", "src_port": 0, "dst_port": 1, "value": 1, "queue": 3}),
            "not lossy",
        ),
        (
            json!({"op": "check", "probe": "pfc_xoff", "src_port": 0, "dst_port": 1, "value": 99_999_999, "pg": 3}),
            "at most",
        ),
        (json!({"op": "send", "src_port": 0, "dst_port": 1, "value": 1, "pg": 8}), "priority 8"),
    ] {
        let answer = ask(&mut executor, &request);
        assert_eq!(answer["success"], false, "{request}");
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(part)), "{request}: {answer}");
    }
    assert_eq!(ask(&mut executor, &json!({"op": "ports"}))["ports"][2], "Ethernet8");
}

#[test]
fn counters_and_watermarks_are_those_of_the_packets_that_were_sent() {
    let config = switch(|_, text| text);
    let mut executor = Executor::new(&model(&config, "trident3"), 64).expect("it fits");
    let bytes = |executor: &mut Executor, op: &str, port: u16| -> Value {
        ask(executor, &json!({"op": op, "port": port}))["bytes"].clone()
    };
    ask(&mut executor, &json!({"op": "prepare", "src_port": 0, "dst_port": 3}));
    let send = json!({"op": "send", "src_port": 0, "dst_port": 3, "value": 20_000, "pg": 3});
    let stored = ask(&mut executor, &send)["packets"].as_u64().expect("a number");
    let counters = ask(&mut executor, &json!({"op": "counters", "port": 0}))["counters"].clone();
    assert_eq!(counters["stored"][3], stored);
    assert_eq!(counters["group_drops"][3], 20_000 - stored);
    // The priority group has paused its sender once, and pauses it again because the sender is
    // still paused.
    assert_eq!(counters["pauses"], json!([0, 0, 0, 2, 0, 0, 0, 0]));
    let full = bytes(&mut executor, "watermarks", 0);
    assert_eq!(full, bytes(&mut executor, "occupancy", 0));
    // Cells have 256 B. The group has a reserve of 6 cells and a headroom of 352 cells.
    assert_eq!(full["group_headroom"][3], 352 * 256);
    assert_eq!(full["group_shared"][3], (stored - 352 - 6) * 256);
    assert_eq!(full["ingress_pool"], full["group_shared"][3]);
    let of_egress = bytes(&mut executor, "occupancy", 3);
    assert_eq!((&of_egress["queue_shared"][3], &of_egress["lossy_pool"]), (&json!(stored * 256), &json!(0)));
    ask(&mut executor, &json!({"op": "release", "dst_port": 3, "value": 100}));
    assert_eq!(ask(&mut executor, &json!({"op": "counters", "port": 3}))["counters"]["sent"][3], 100);
    assert_eq!(bytes(&mut executor, "watermarks", 0), full);
    assert_ne!(bytes(&mut executor, "occupancy", 0), full);
    ask(&mut executor, &json!({"op": "clear_watermarks"}));
    assert_eq!(bytes(&mut executor, "watermarks", 0), bytes(&mut executor, "occupancy", 0));
    ask(&mut executor, &json!({"op": "drain"}));
    assert_eq!(bytes(&mut executor, "occupancy", 0)["ingress_pool"], 0);
}
