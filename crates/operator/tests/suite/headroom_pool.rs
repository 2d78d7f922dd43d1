//! Tests that the headroom-pool probing of sonic-mgmt's framework finds the size of the pool.
//!
//! The test repeats the steps of `tests/saitests/probe` of sonic-mgmt. Every flow has a pause point
//! and a drop point. The framework finds each point in four phases, and then sends `persist`. A
//! flow that finds at most `step` packets of headroom ends the search. The drop point is the first
//! packet beyond the headroom. So the framework counts one packet per group more than the pool has.
//! The framework's last phase begins one packet above the lower end of the range. If the lower end
//! is the threshold, the result is one packet too high.

use crate::measured::ENTRIES;
use crate::support::{corpus, switch};
use bufferlab_operator::Model;
use bufferlab_operator::probe::Executor;
use bufferlab_sonic::Config;
use bufferlab_sonic::silicon::{Memory, chip};
use serde_json::{Value, json};

/// Largest number of checks in a phase of the search.
const ROUNDS: u32 = 20;
const RANGE_ROUNDS: u32 = 50;
/// Size of the range (packets) at which the search continues with single packets.
const PRECISE: u64 = 100;

/// Outcome of the framework's search for the headroom pool.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The groups filled the pool; `sum` is the sum of their drop points minus their pause points.
    Found { sum: u64, groups: usize },
    /// The flows ended before the headroom pool was full, or a flow had no threshold.
    Incomplete { sum: u64, why: String },
}

struct Framework {
    executor: Executor,
    /// Size of the ingress pool (packets). The upper bound of a search is first this size, and at
    /// most three times this size.
    pool: u64,
    to: u16,
    step: u64,
}

impl Framework {
    fn new(config: &Config, name: &str, to: u16, step: u64) -> Self {
        let chip = chip(name).expect("a chip");
        let memory = Memory::new(config, chip).expect("a memory");
        let model = Model::new(config, chip).expect("a model");
        let pool = memory.terms[0].cells.unsigned_abs();
        Self { executor: Executor::new(&model, 64).expect("it fits"), pool, to, step }
    }

    fn ask(&mut self, request: &Value) -> Value {
        let answer = serde_json::from_str(&self.executor.answer_line(&request.to_string()));
        let answer: Value = answer.expect("answers are JSON");
        assert_eq!(answer["success"], true, "{request}: {answer}");
        answer
    }

    fn prepare(&mut self, from: u16) {
        self.ask(&json!({"op": "prepare", "src_port": from, "dst_port": self.to}));
    }

    fn check(&mut self, probe: &str, (from, pg): (u16, u8), value: u64, attempts: u32, drain: bool) -> bool {
        let request = json!({
            "op": "check", "probe": probe, "src_port": from, "dst_port": self.to, "value": value,
            "attempts": attempts, "drain_buffer": drain, "pg": pg,
        });
        self.ask(&request)["detected"] == true
    }

    /// Finds the threshold that one probe detects. The search first finds an upper and a lower
    /// bound, and then narrows the range. The last phase adds single packets without emptying the
    /// switch.
    fn point(&mut self, probe: &str, flow: (u16, u8), upper: u64, lower: Option<u64>) -> Result<u64, String> {
        self.prepare(flow.0);
        let doubled = (0..ROUNDS).map(|round| upper << round).take_while(|value| *value <= 3 * self.pool);
        let mut upper = None;
        for value in doubled.collect::<Vec<_>>() {
            if self.check(probe, flow, value, 1, true) {
                upper = Some(value);
                break;
            }
        }
        let mut high = upper.ok_or_else(|| format!("{probe} of {flow:?}: upper bound failure"))?;
        self.prepare(flow.0);
        let mut low = lower.unwrap_or(high / 2);
        for _ in 0..ROUNDS {
            if !self.check(probe, flow, low, 1, true) {
                break;
            }
            low /= 2;
        }
        self.prepare(flow.0);
        for _ in 0..RANGE_ROUNDS {
            if high - low <= PRECISE {
                break;
            }
            let middle = u64::midpoint(low, high);
            if self.check(probe, flow, middle, 2, true) { high = middle } else { low = middle + 1 }
        }
        self.prepare(flow.0);
        let mut at = low + 1;
        let mut detected = self.check(probe, flow, at, 1, true);
        while !detected && at <= high {
            at += self.step;
            detected = self.check(probe, flow, self.step, 1, false);
        }
        if detected { Ok(at) } else { Err(format!("{probe} of {flow:?}: no point up to {high}")) }
    }

    /// Runs the search for the headroom pool over all flows.
    fn headroom_pool(&mut self, flows: &[(u16, u8)]) -> End {
        let (mut pause, mut drop, mut sum) = (self.pool, self.pool, 0);
        for (groups, &flow) in flows.iter().enumerate() {
            let found = self.point("pfc_xoff", flow, pause, None).and_then(|paused| {
                let dropped = self.point("ingress_drop", flow, drop, Some(paused - 1))?;
                Ok((paused, dropped))
            });
            match found {
                Ok(points) => (pause, drop) = points,
                Err(why) => return End::Incomplete { sum, why },
            }
            let headroom = drop - pause;
            if headroom <= self.step {
                return End::Found { sum, groups };
            }
            sum += headroom;
            let (from, pg) = flow;
            self.ask(
                &json!({"op": "persist", "src_port": from, "dst_port": self.to, "value": drop, "pg": pg}),
            );
        }
        End::Incomplete { sum, why: "the flows ended first".to_owned() }
    }
}

/// Returns the small switch with a different headroom pool.
fn small(xoff: u64) -> Config {
    switch(|name, text| match name {
        "buffers.json" => text.replace("\"xoff\": \"800000\"", &format!("\"xoff\": \"{xoff}\"")),
        _ => text,
    })
}

/// Whether a sum of headroom agrees with the size of a pool (packets). The sum may have one packet
/// more for each group, unless a pause point was one packet late.
fn within(sum: u64, pool: u64, groups: usize) -> bool {
    (pool..=pool + groups as u64).contains(&sum)
}

const FLOWS: [(u16, u8); 6] = [(0, 3), (0, 4), (2, 3), (2, 4), (3, 3), (3, 4)];

#[test]
fn probing_of_a_headroom_pool_ends_in_success_with_its_size() {
    for (xoff, groups) in [(90_112, 1), (150_000, 2), (400_000, 4)] {
        let mut framework = Framework::new(&small(xoff), "trident3", 1, 1);
        let End::Found { sum, groups: filled } = framework.headroom_pool(&FLOWS) else { panic!("{xoff} B") };
        assert_eq!(filled, groups, "{xoff} B");
        assert!(within(sum, xoff / 256, groups), "{xoff} B: {sum}");
    }
}

#[test]
fn a_pool_that_the_flows_cannot_fill_is_left_incomplete() {
    let found = Framework::new(&small(800_000), "trident3", 1, 1).headroom_pool(&FLOWS);
    let sum = 2 * 352 + 4 * 624;
    assert!(sum > 800_000 / 256, "the last group gets the rest");
    let End::Incomplete { sum, why } = found else { panic!("{found:?}") };
    assert!(within(sum, 800_000 / 256, FLOWS.len()) && why == "the flows ended first", "{sum}: {why}");
}

/// The test uses the example of a headroom pool that one group fills. The next group pauses with
/// the packet that reaches the group's limit, and loses the following packet.
#[test]
fn a_group_that_finds_the_headroom_pool_full_pauses_at_its_limit() {
    let mut framework = Framework::new(&small(90_112), "trident3", 3, 1);
    framework.ask(&json!({"op": "persist", "src_port": 0, "dst_port": 3, "value": 5_393, "pg": 3}));
    framework.prepare(1);
    for (value, paused) in [(3_362, false), (3_363, true), (20_000, true)] {
        assert_eq!(framework.check("pfc_xoff", (1, 3), value, 1, true), paused, "{value}");
    }
    for (value, lost) in [(3_363, false), (3_364, true)] {
        assert_eq!(framework.check("ingress_drop", (1, 3), value, 1, true), lost, "{value}");
    }
    // A chip repeats its pauses, even if a paused group gets only one more packet.
    assert!(
        framework.check("pfc_xoff", (1, 3), 3_364, 1, true)
            && framework.check("pfc_xoff", (1, 3), 1, 1, false)
    );
}

#[test]
fn a_flow_that_is_kept_again_is_kept_with_the_new_number() {
    let mut framework = Framework::new(&small(90_112), "trident3", 3, 1);
    for value in [5_393, 10] {
        framework.ask(&json!({"op": "persist", "src_port": 0, "dst_port": 3, "value": value, "pg": 3}));
    }
    let left = framework.ask(&json!({"op": "release", "dst_port": 3, "value": 100_000}));
    assert_eq!(left["packets"], 10);
}

#[test]
fn lone_groups_pause_with_the_packet_that_reaches_the_limit() {
    for (xoff, pause, loss) in [(800_000, 4_117, 4_470), (90_112, 5_041, 5_394)] {
        let mut framework = Framework::new(&small(xoff), "trident3", 1, 1);
        for (probe, point) in [("pfc_xoff", pause), ("ingress_drop", loss)] {
            assert!(!framework.check(probe, (0, 3), point - 1, 5, true), "{probe}, {xoff} B");
            assert!(framework.check(probe, (0, 3), point, 5, true), "{probe}, {xoff} B");
        }
    }
}

#[test]
fn probing_of_real_configurations_ends_with_the_measured_pools() {
    let Some(folder) = corpus("headroom pools") else { return };
    for (name, slice_ports, expected) in [
        ("td3 any 100000_300m", 27, 6_336),
        ("th2 any 50000_300m", 27, 9_408),
        ("th5 ft2-64 800000_5m", 31, 35_360),
    ] {
        let entry = ENTRIES.iter().find(|entry| entry.name() == name).expect("an entry");
        let mut framework = Framework::new(&entry.config(&folder), entry.chip, slice_ports, 1);
        let flows: Vec<_> = (0..slice_ports).flat_map(|port| [(port, 3), (port, 4)]).collect();
        let found = framework.headroom_pool(&flows);
        let End::Found { sum, groups } = found else { panic!("{name}: {found:?}") };
        println!("{name}: {sum} packets in {groups} groups");
        assert!(within(sum, expected, groups), "{name}: {sum}");
    }
}
