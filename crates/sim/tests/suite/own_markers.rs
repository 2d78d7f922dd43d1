//! Can a program bring its own marking rule along, with parameters that a scenario sets?

use crate::support::{Lab, flow, run, star};
use bufferlab_core::mark::Moment;
use bufferlab_core::{
    Buffer, BuildError, Markable, MarkerInfo, Marking, MarkingRule, ParamInfo, ParamKind, ParamValue, Params,
    SwitchShape, register_marker,
};
use bufferlab_scenario::load_text;
use bufferlab_units::Time;
use std::path::Path;
use std::sync::Once;

/// Marks on departure whoever has waited for longer than this: the idea of TCN (Bai et al., CoNEXT 2016).
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

/// Packets that are marked when two hosts send four segments each to a third at once.
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
    // A segment takes 11.6 us. Pairs arrive in that interval, so packets wait for 0, 1, 1, 2, 2, 3, 3 and 4 segments.
    assert_eq!(marks(", longer_than = \"17 us\""), 5);
    assert_eq!(marks(", longer_than = \"30 us\""), 3);
    assert_eq!(marks(""), 0);
    // What all rules have is theirs, too.
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
