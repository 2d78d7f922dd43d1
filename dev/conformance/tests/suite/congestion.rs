//! Tests that every congestion control follows the vectors of its law, and that wrong controls fail
//! the vectors.

use crate::support::{files, path};
use bufferlab_conformance::vectors::VectorCase;
use bufferlab_conformance::vectors::congestion::ControlCase;
use bufferlab_transport::{
    AckEvent, CONGESTION_CONTROLS, CongestionEvent, Controller, TcpConfig, Window, find_congestion_control,
};

fn cases(control: &str) -> Vec<ControlCase> {
    ControlCase::load(&path("congestion", control))
        .unwrap_or_else(|error| panic!("\"{control}\" has no vectors: {error}"))
}

#[test]
fn every_registered_control_follows_its_vectors() {
    let mut list = Vec::new();
    for info in CONGESTION_CONTROLS {
        let cases = cases(info.name);
        assert!(cases.len() >= 2, "testdata/congestion/{}.toml: at least two cases", info.name);
        for case in cases {
            assert_eq!(case.control.name, info.name, "{}: a case of another control", case.head.file);
            list.extend(case.run_registered().err().map(|mismatch| mismatch.to_string()));
        }
    }
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

#[test]
fn every_file_belongs_to_a_registered_control() {
    for name in files("congestion") {
        let is_known = find_congestion_control(&name).is_some_and(|info| info.name == name);
        assert!(is_known, "testdata/congestion/{name}.toml belongs to no congestion control");
    }
}

/// Defects that the test builds into an independent DCTCP implementation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    AnswersLossesLikeMarks,
    AnswersTimeoutsLikeMarks,
    /// The observation window of the defective DCTCP ends a segment early.
    EndsEarly,
    /// The defective DCTCP treats every ACK as the end of an observation window.
    EndsAlways,
    /// The defective DCTCP counts ACKs instead of segments.
    CountsAcks,
    /// The defective DCTCP's window grows even if `may_grow` is false.
    AlwaysGrows,
    /// The defective DCTCP cuts the window by alpha instead of alpha / 2.
    CutsDeep,
    /// The window of the defective DCTCP falls below two segments.
    HasNoFloor,
    /// The gain of the defective DCTCP ignores its parameter.
    IgnoresItsGain,
}

/// DCTCP as in RFC 8257, written for this test, with every defect built in.
#[derive(Clone, Debug)]
struct Other {
    defect: Defect,
    gain: f64,
    alpha: f64,
    delivered: f64,
    marked: f64,
    end: u32,
}

impl Other {
    fn new(case: &ControlCase, defect: Defect) -> Self {
        let given = |name: &str, default: f64| {
            let found = case.params.iter().find(|(known, _)| known == name);
            found.map_or(default, |(_, value)| match value {
                bufferlab_core::ParamValue::Ratio(x) => *x,
                other => panic!("{other:?}"),
            })
        };
        let gain = if defect == Defect::IgnoresItsGain { 1.0 / 16.0 } else { given("gain", 1.0 / 16.0) };
        Self { defect, gain, alpha: given("initial_alpha", 1.0), delivered: 0.0, marked: 0.0, end: 0 }
    }
}

impl Controller for Other {
    fn on_ack(&mut self, _: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        let is = |defect| self.defect == defect;
        let count = if is(Defect::CountsAcks) { 1.0 } else { f64::from(ack.delivered) };
        self.delivered += count;
        self.marked += if ack.marked { count } else { 0.0 };
        let early = u32::from(is(Defect::EndsEarly));
        if ack.acknowledged + early > self.end || is(Defect::EndsAlways) {
            self.alpha = (1.0 - self.gain) * self.alpha + self.gain * self.marked / self.delivered;
            (self.delivered, self.marked, self.end) = (0.0, 0.0, ack.next);
        }
        if ack.may_grow || is(Defect::AlwaysGrows) {
            let slow_start = window.size < window.slow_start_threshold;
            window.size += f64::from(ack.delivered) / if slow_start { 1.0 } else { window.size };
        }
    }

    fn on_congestion(
        &mut self,
        _: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
        _: bufferlab_units::Time,
    ) {
        let like_mark = match event {
            CongestionEvent::Mark => true,
            CongestionEvent::Loss => self.defect == Defect::AnswersLossesLikeMarks,
            CongestionEvent::Timeout => self.defect == Defect::AnswersTimeoutsLikeMarks,
        };
        let depth = if self.defect == Defect::CutsDeep { 1.0 } else { 0.5 };
        let wanted =
            if like_mark { window.size * (1.0 - depth * self.alpha) } else { f64::from(flight) / 2.0 };
        window.slow_start_threshold = wanted.max(if self.defect == Defect::HasNoFloor { 0.0 } else { 2.0 });
    }

    fn probe(&self, sink: &mut dyn FnMut(&'static str, f64)) {
        sink("alpha", self.alpha);
    }
}

/// Returns the vector cases of DCTCP (profile `paper`) that an implementation with a defect fails.
fn caught(defect: Defect) -> Vec<String> {
    let own = cases("dctcp").into_iter().filter(|case| case.profile == bufferlab_core::Profile::Paper);
    let fails = |case: &ControlCase| case.run(|_, _| Other::new(case, defect)).is_err();
    own.filter(fails).map(|case| case.head.name).collect()
}

#[test]
fn a_dctcp_of_another_make_passes_and_broken_ones_are_caught() {
    assert_eq!(caught(Defect::None), [""; 0]);
    let loss = "a loss and a timeout halve the flight";
    let alpha = "alpha moves by g towards the marked fraction when the observation window ends";
    for (defect, name) in [
        (Defect::AnswersLossesLikeMarks, loss),
        (Defect::AnswersTimeoutsLikeMarks, loss),
        (Defect::EndsEarly, alpha),
        (Defect::EndsAlways, alpha),
        (Defect::CountsAcks, alpha),
        (Defect::CutsDeep, "a mark cuts the window by half of alpha"),
        (Defect::HasNoFloor, "with a small alpha a mark cuts little"),
        (Defect::IgnoresItsGain, "the weight of a new fraction is a parameter"),
    ] {
        let caught = caught(defect);
        let is_noticed = caught.iter().any(|case| case.starts_with(name));
        assert!(is_noticed, "{defect:?}: \"{name}\" did not notice; {caught:?} did");
    }
    let newreno = cases("newreno");
    let grows = newreno.iter().find(|case| case.head.name.starts_with("a window that may not grow"));
    let grows = grows.expect("a case of NewReno");
    assert!(grows.run(|_, _| Other::new(grows, Defect::None)).is_ok());
    assert!(grows.run(|_, _| Other::new(grows, Defect::AlwaysGrows)).is_err());
}

/// A congestion control with other parameters fails some of its cases, because the cases set each
/// parameter and check its effect.
#[test]
fn every_parameter_of_a_control_is_set_by_one_of_its_cases() {
    // DCQCN has published values for all parameters, which the tests of the crate `transport`
    // check.
    for info in CONGESTION_CONTROLS.iter().filter(|info| info.name != "dcqcn") {
        let cases = cases(info.name);
        for param in info.params {
            let is_set = cases.iter().any(|case| case.params.iter().any(|(name, _)| name == param.name));
            let is_left = param.name == "fast_increment";
            assert!(is_set || is_left, "{}: no case sets {}", info.name, param.name);
        }
    }
}

const GOOD: &str = r#"
[[case]]
name = "one ACK"
source = "hand calculation"
control = "dctcp"
params = { gain = 0.5 }
first_window = 10
steps = [
  { at_us = 5, ack = 1, round = true, marked = true, window = 11, threshold = inf, paced_window = inf, probes = { alpha = 1.0 } },
  { at_us = 6, congestion = "mark", flight = 9, window = 5.5 },
]
"#;

#[test]
fn wrong_expectations_and_malformed_cases_are_refused_with_their_line() {
    let run = |text: &str| match ControlCase::parse("example.toml", text) {
        Err(error) => Err(error.to_string()),
        Ok(cases) => cases[0].run_registered().map_err(|mismatch| mismatch.to_string()),
    };
    assert_eq!(run(GOOD), Ok(()));
    for (right, wrong, message) in [
        (
            "window = 11",
            "window = 12",
            "example.toml:9: case \"one ACK\", step 1: window: expected 12, found 11",
        ),
        ("threshold = inf", "threshold = 5", "step 1: threshold: expected 5, found inf"),
        ("paced_window = inf", "paced_window = 3", "step 1: paced window: expected 3, found inf"),
        ("alpha = 1.0", "alpha = 0.9", "step 1: alpha: expected 0.9, found 1"),
        ("alpha = 1.0", "beta = 0.9", "step 1: beta: expected 0.9, found no such probe"),
        ("at_us = 6", "at_us = 4", "step 2: time runs backwards"),
        ("\"dctcp\"", "\"tahoe\"", "example.toml:2: no congestion control is called \"tahoe\""),
        ("gain = 0.5", "pain = 0.5", "example.toml:2: dctcp has no parameter \"pain\""),
        ("gain = 0.5", "gain = 2.0", "example.toml:2: gain: "),
        ("first_window = 10", "profile = \"draft\"", "profile \"draft\"; expected paper or artifact"),
        ("first_window = 10", "path = { line_rate = \"fast\" }", "\"fast\"; expected a rate"),
        ("first_window = 10", "path = { base_rtt = \"8\" }", "\"8\"; expected a time"),
        (
            "\"mark\"",
            "\"boredom\"",
            "example.toml:10: congestion = \"boredom\"; expected loss, mark or timeout",
        ),
        (", flight = 9", "", "example.toml:10: congestion and flight belong together"),
        ("congestion", "notification = true, congestion", "example.toml:10: a step is one of"),
        ("flight = 9", "flight = 9, marked = true", "example.toml:10: rtt_us, marked, may_grow"),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = run(&GOOD.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(error.contains(message), "{wrong}: {error}");
    }
}
