//! Tests of custom congestion controls of a program, with parameters that a scenario sets.

use crate::support::{Lab, Rows, flow, run, star};
use bufferlab_core::{ParamInfo, ParamKind, ParamValue};
use bufferlab_sim::{SimError, Simulation};
use bufferlab_transport::{
    AckEvent, CongestionControl, CongestionControlInfo, ControlFailure, Controller, TcpConfig, Window,
    register_congestion_control,
};
use bufferlab_units::{BitRate, Time};
use std::sync::Once;

const RATE: BitRate = BitRate(1_000_000_000);
const DELAY: Time = Time::from_us(50);
const SEGMENT: u64 = 1_400;
const FULL: u64 = 1_454;
const ACK: u64 = 54;

/// Congestion control that keeps a constant window (segments).
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

/// Completion time of a single flow of `segments` segments under `control` (ns).
fn fct(control: &str, segments: u64) -> u64 {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        register_congestion_control(CongestionControlInfo {
            name: "own-fixed",
            title: "Fixed window",
            summary: "A window that never changes.",
            source: "A test.",
            owns_window: true,
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
    // Six segments leave one by one, in five round trips and the one-way time of the last segment.
    assert_eq!(fct("\"own-fixed\"", 6), Time(5 * round_trip + one_way(FULL)).as_ns());
    // Three segments leave together. The fourth segment leaves when the first segment is
    // acknowledged.
    let back_to_back = 2 * RATE.serialization(FULL).0;
    let expected = Time(round_trip + one_way(FULL) + back_to_back).as_ns();
    assert_eq!(fct("{ name = \"own-fixed\", window = 3 }", 6), expected);
}

/// A congestion control that fails at the n-th ACK.
#[derive(Clone, Debug)]
struct Fragile {
    acks: u64,
    failure: Option<ControlFailure>,
}

impl Controller for Fragile {
    fn on_ack(&mut self, _: &TcpConfig, _: &mut Window, ack: &AckEvent<'_>) {
        self.acks = self.acks.saturating_sub(1);
        if self.acks == 0 && self.failure.is_none() {
            let (now, hook, what) = (ack.now, "on_ack", "is at its end".to_owned());
            self.failure = Some(ControlFailure { now, hook, what, cause: None });
        }
    }

    fn take_failure(&mut self) -> Option<ControlFailure> {
        self.failure.take()
    }
}

#[test]
fn a_control_that_fails_ends_the_run_with_its_flow_whether_that_ends_or_not() {
    static PARAMS: &[ParamInfo] = &[ParamInfo::with_default(
        "acks",
        ParamKind::Count { min: 1, max: 1_000_000 },
        ParamValue::Count(1),
        "How many it stands.",
    )];
    register_congestion_control(CongestionControlInfo {
        name: "own-fragile",
        title: "Fragile",
        summary: "Fails after some ACKs.",
        source: "A test.",
        params: PARAMS,
        build: &|params, _| {
            let acks = params.count("acks");
            Ok(Box::new(move |_, _| CongestionControl::boxed(Fragile { acks, failure: None })))
        },
        ..CongestionControlInfo::PLAIN
    })
    .expect("the name is free");
    let outcome = |acks: u64, persistent: &str| {
        let control = format!("{{ name = \"own-fragile\", acks = {acks} }}");
        let transport = format!("congestion_control = {control}\nhandshake = false\n{persistent}");
        let lab = Lab::new(&star(3, "1 Gb/s", "50 us"), "buffer = \"64 MB\"\npolicy = \"cs\"", &transport);
        // The second flow is still sending when the run ends.
        let flows =
            vec![flow(0, 1, 6 * SEGMENT, Time::ZERO), flow(2, 1, 100_000 * SEGMENT, Time::from_us(1))];
        let simulation = Simulation::new(&lab.flows(flows)).expect("it can start");
        simulation.run(&mut Rows::default(), &mut |_| {}).map(drop)
    };
    for (acks, persistent, failed) in [
        (6, "", "own-fragile failed in flow 0 (h0 to h1) at"),
        (6, "persistent = true", "own-fragile failed in flow 0 (h0 to h1) at"),
        (7, "", "own-fragile failed in flow 1 (h2 to h1) at"),
    ] {
        let error = outcome(acks, persistent).expect_err("it fails");
        assert!(matches!(error, SimError::ControlFailed(_)));
        let text = error.to_string();
        assert!(text.contains(failed) && text.ends_with("on_ack: is at its end"), "{acks}: {text}");
    }
    assert!(outcome(1_000_000, "").is_ok());
}
