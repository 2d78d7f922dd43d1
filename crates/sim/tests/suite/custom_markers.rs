//! Tests of custom marking rules of a program, with parameters that a scenario sets.

use crate::support::{Lab, flow, run, star, try_run};
use bufferlab_core::mark::Moment;
use bufferlab_core::{
    Buffer, BuildError, Markable, MarkerInfo, Marking, MarkingFailure, MarkingRule, ParamInfo, ParamKind,
    ParamValue, Params, SwitchShape, register_marker,
};
use bufferlab_scenario::load_text;
use bufferlab_sim::SimError;
use bufferlab_units::Time;
use std::path::Path;
use std::sync::Once;

/// A rule that marks packets on departure if they have waited longer than a set time. This is the
/// idea of TCN (Bai et al., CoNEXT 2016).
#[derive(Clone, Debug)]
struct Waited {
    longer_than: Time,
}

impl MarkingRule for Waited {
    fn marks(&mut self, packet: &Markable, _: &Buffer) -> bool {
        packet.moment == Moment::Dequeue && packet.waited > self.longer_than
    }
}

static PARAMS: &[ParamInfo] = &[ParamInfo::with_default(
    "longer_than",
    ParamKind::SPAN,
    ParamValue::Time(Time::from_ms(1)),
    "Longest time in the queue without a mark.",
)];

fn build(params: &Params, shape: &SwitchShape) -> Result<Marking, BuildError> {
    let longer_than = params.time("longer_than");
    let slowest = shape.port_rates.iter().min().map(|rate| rate.serialization(shape.capacity));
    if slowest.is_some_and(|drained| longer_than >= drained) {
        let message = "nobody waits for so long: the whole buffer drains in less".to_owned();
        return Err(BuildError { param: "longer_than", message });
    }
    Ok(Marking::boxed(Waited { longer_than }))
}

fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register_marker(MarkerInfo {
            name: "own_waited",
            title: "Waiting time",
            summary: "Every packet that has waited for longer than a fixed time.",
            source: "A test, after TCN (CoNEXT 2016).",
            params: PARAMS,
            build: &build,
            ..MarkerInfo::PLAIN
        })
        .expect("the name is free");
    });
}

/// Number of marked packets when two hosts at once send four segments each to a third host.
fn marks(ecn: &str) -> u64 {
    register();
    let switch = format!("buffer = \"1 MB\"\npolicy = \"cs\"\necn = {{ kind = \"own_waited\"{ecn} }}");
    let lab =
        Lab::new(&star(3, "1 Gb/s", "50 us"), &switch, "congestion_control = \"dctcp\"\nhandshake = false");
    let flows = vec![flow(0, 2, 4 * 1_400, Time::ZERO), flow(1, 2, 4 * 1_400, Time::ZERO)];
    run(&lab.flows(flows)).queues.iter().map(|queue| queue.marked_packets).sum()
}

#[test]
fn an_own_rule_is_named_in_a_scenario_and_hears_its_parameter_and_how_long_packets_waited() {
    // A segment takes 11.6 us. A pair of segments arrives in each such interval, so packets wait
    // for 0, 1, 1, 2, 2, 3, 3 and 4 segments.
    assert_eq!(marks(", longer_than = \"17 us\""), 5);
    assert_eq!(marks(", longer_than = \"30 us\""), 3);
    assert_eq!(marks(""), 0);
    // Custom rules also accept the keys that all rules have.
    assert_eq!(marks(", longer_than = \"17 us\", priorities = [0]"), 5);
    assert_eq!(marks(", longer_than = \"17 us\", priorities = []"), 0);
}

#[test]
fn an_own_rule_may_refuse_the_switch_and_the_place_is_shown() {
    register();
    let text = format!(
        "duration = \"1 ms\"\n[topology]\n{}\n[switch]\nbuffer = \"100 KB\"\npolicy = \"cs\"\n\
         ecn = {{ kind = \"own_waited\", longer_than = \"1 s\" }}\n\
         [[transport]]\ncongestion_control = \"dctcp\"\n\
         [[workload]]\nkind = \"poisson\"\nsizes = \"web_search\"\nload = 0.4\n",
        star(3, "1 Gb/s", "50 us")
    );
    let error = load_text(Path::new("own.toml"), &text, &[]).expect_err("it drains in 0.8 ms").to_string();
    assert!(error.contains("switch.ecn.longer_than: on \""), "{error}");
    assert!(error.contains("nobody waits for so long: the whole buffer drains in less"), "{error}");
}

/// A marking rule that fails at its third packet.
#[derive(Clone, Debug, Default)]
struct Fragile {
    asked: u32,
    failure: Option<MarkingFailure>,
}

impl MarkingRule for Fragile {
    fn marks(&mut self, packet: &Markable, _: &Buffer) -> bool {
        self.asked += 1;
        if self.asked == 3 {
            let what = "the table is gone".to_owned();
            self.failure = Some(MarkingFailure { now: packet.now, queue: packet.queue, what, cause: None });
        }
        false
    }

    fn take_failure(&mut self) -> Option<MarkingFailure> {
        self.failure.take()
    }
}

#[test]
fn an_own_rule_that_fails_ends_the_run_with_rule_place_and_time() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register_marker(MarkerInfo {
            name: "own_fragile",
            title: "Fragile",
            summary: "Fails at its third packet.",
            source: "A test.",
            build: &|_, _| Ok(Marking::boxed(Fragile::default())),
            ..MarkerInfo::PLAIN
        })
        .expect("the name is free");
    });
    let switch = "buffer = \"1 MB\"\npolicy = \"cs\"\necn = { kind = \"own_fragile\" }";
    let lab =
        Lab::new(&star(3, "1 Gb/s", "50 us"), switch, "congestion_control = \"dctcp\"\nhandshake = false");
    let error =
        try_run(&lab.flows(vec![flow(0, 2, 4 * 1_400, Time::ZERO)]), true).map(drop).expect_err("it fails");
    let SimError::MarkingFailed(failed) = &error else { panic!("{error}") };
    assert_eq!(
        (failed.rule.as_str(), failed.switch.as_str(), failed.queue),
        ("own_fragile", "switch", (2, 0))
    );
    // The first packet arrives and leaves, then the second packet arrives.
    // Each packet of 1454 B takes 11.632 us after 50 us of cable.
    assert_eq!(failed.time, Time::from_ns(50_000 + 2 * 11_632));
    let place =
        format!("marking rule own_fragile failed in switch switch (port 2, priority 0) at {}: ", failed.time);
    assert_eq!(error.to_string(), place + "marks: the table is gone");
}
