//! Can a program bring its own congestion control along, with parameters that a scenario sets?

use crate::support::{Lab, flow, run, star};
use bufferlab_core::{ParamInfo, ParamKind, ParamValue};
use bufferlab_transport::{
    AckEvent, CongestionControl, CongestionControlInfo, Controller, TcpConfig, Window,
    register_congestion_control,
};
use bufferlab_units::{BitRate, Time};
use std::sync::Once;

const RATE: BitRate = BitRate(1_000_000_000);
const DELAY: Time = Time::from_us(50);
const SEGMENT: u64 = 1_400;
const FULL: u64 = 1_454;
const ACK: u64 = 54;

/// Keeps a window of so many segments, whatever happens.
#[derive(Clone, Debug)]
struct Fixed {
    window: f64,
}

impl Controller for Fixed {
    fn on_ack(&mut self, _: &TcpConfig, window: &mut Window, _: &AckEvent<'_>) {
        window.size = self.window;
    }
}

static PARAMS: &[ParamInfo] = &[ParamInfo {
    name: "window",
    kind: ParamKind::Count { min: 1, max: 1_000 },
    default: ParamValue::Count(1),
    artifact_default: None,
    doc: "Segments in flight.",
}];

/// FCT (ns) of a flow of `segments` alone under this control.
fn fct(control: &str, segments: u64) -> u64 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register_congestion_control(CongestionControlInfo {
            name: "own-fixed",
            title: "Fixed window",
            summary: "A window that never changes.",
            source: "A test.",
            governs_window: true,
            params: PARAMS,
            build: &|params, _| {
                let window = f64::from(params.small_count("window"));
                Ok(Box::new(move |_, first| {
                    first.size = window;
                    CongestionControl::boxed(Fixed { window })
                }))
            },
            ..CongestionControlInfo::PLAIN
        })
        .expect("the name is free");
    });
    let transport = format!("congestion_control = {control}\nhandshake = false");
    let lab = Lab::new(&star(2, "1 Gb/s", "50 us"), "buffer = \"64 MB\"\npolicy = \"cs\"", &transport);
    let rows = run(&lab.flows(vec![flow(0, 1, segments * SEGMENT, Time::ZERO)]));
    rows.flow(0).fct_ns.expect("finished")
}

#[test]
fn an_own_control_is_named_in_a_scenario_and_its_parameter_is_heard() {
    let one_way = |bytes| 2 * (RATE.serialization(bytes).0 + DELAY.0);
    let round_trip = one_way(FULL) + one_way(ACK);
    // Six segments one by one: five round trips and the way of the last.
    assert_eq!(fct("\"own-fixed\"", 6), Time(5 * round_trip + one_way(FULL)).as_ns());
    // Three at a time: the fourth leaves when the first is acknowledged.
    let back_to_back = 2 * RATE.serialization(FULL).0;
    let expected = Time(round_trip + one_way(FULL) + back_to_back).as_ns();
    assert_eq!(fct("{ name = \"own-fixed\", window = 3 }", 6), expected);
}
