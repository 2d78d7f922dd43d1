//! Tests with replays of every calculator, with its examples and with random parameters.

use bufferlab_params::ParamValue;
use bufferlab_theory::calculators::{CALCULATORS, CalculatorInfo};
use bufferlab_theory_check::{Asked, REPLAYS, Verification, verify};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::collections::BTreeSet;

type Given = Vec<(String, ParamValue)>;

/// Collects comparisons of stated and measured values. Prints the worst agreement with
/// `--nocapture`, and fails on disagreement.
struct Tally {
    calculator: &'static str,
    runs: u32,
    checks: usize,
    worst: f64,
    wrong: Vec<String>,
    left_out: BTreeSet<String>,
}

impl Tally {
    fn new(calculator: &'static str) -> Self {
        Self { calculator, runs: 0, checks: 0, worst: 0.0, wrong: Vec::new(), left_out: BTreeSet::new() }
    }

    fn add(&mut self, given: &Given, found: &Verification) {
        self.runs += 1;
        self.checks += found.checks().count();
        self.worst = found.checks().map(|check| check.relative().abs()).fold(self.worst, f64::max);
        self.left_out.extend(found.left_out.iter().cloned());
        if !found.holds() {
            self.wrong.push(format!("{} {given:?}\n{found}", self.calculator));
        }
    }

    /// Asserts that at least `checks` quantities were compared, and that all stated and measured
    /// values agreed.
    #[track_caller]
    fn check(self, checks: usize) {
        let Self { calculator, runs, checks: found, worst, wrong, left_out } = self;
        let worst = 100.0 * worst;
        println!(
            "{calculator}: {runs} runs, {found} quantities, largest difference {worst:.3} %; {left_out:#?}"
        );
        assert!(wrong.is_empty(), "{} of {runs} runs differ:\n{}", wrong.len(), wrong.join("\n"));
        assert!(
            found >= checks,
            "{calculator}: {found} quantities were compared, expected {checks}; {left_out:?}"
        );
    }
}

fn info(name: &str) -> &'static CalculatorInfo {
    CALCULATORS.find(name).expect("it is built in")
}

/// Replays `runs` random sets of parameters. Skips parameters for which the theory has no answer.
fn agrees(name: &'static str, runs: u64, checks: usize, draw: impl Fn(&mut RandomStream) -> Given) {
    let mut tally = Tally::new(name);
    for number in 0..runs {
        let given = draw(&mut RandomStream::new(1, name, number));
        if let Ok(found) = verify(info(name), &given) {
            tally.add(&given, &found);
        }
    }
    tally.check(checks);
}

fn set(given: &mut Given, name: &str, value: ParamValue) {
    given.push((name.to_owned(), value));
}

fn alpha(random: &mut RandomStream, low: f64, high: f64) -> ParamValue {
    ParamValue::Ratio((low + (high - low) * random.next_f64()).exp2())
}

fn alphas(random: &mut RandomStream, low: f64, high: f64) -> ParamValue {
    let count = 1 + random.below(4);
    ParamValue::List((0..count).map(|_| alpha(random, low, high)).collect::<Vec<_>>().into())
}

fn count(random: &mut RandomStream, low: u64, high: u64) -> ParamValue {
    ParamValue::Count(low + random.below(high - low + 1))
}

fn buffer(random: &mut RandomStream) -> ParamValue {
    ParamValue::Bytes(100_000 + random.below(50_000_000))
}

fn rate(random: &mut RandomStream, low: u64, high: u64) -> ParamValue {
    ParamValue::Rate(BitRate((low + random.below(high - low)) * 10_000_000))
}

#[test]
fn every_built_in_calculator_has_one_replay_and_no_other_has() {
    let calculators: Vec<_> = CALCULATORS.built_in().iter().map(|info| info.name).collect();
    let replays: Vec<_> = REPLAYS.iter().map(|replay| replay.calculator).collect();
    assert_eq!(replays, calculators);
}

#[test]
fn defaults_agree_and_what_is_left_out_has_a_reason() {
    for calculator in CALCULATORS.built_in() {
        let given = match calculator.name {
            "alpha" => vec![
                ("rate".to_owned(), ParamValue::Rate(BitRate::gbps(50))),
                ("burst".to_owned(), ParamValue::Bytes(1_000_000)),
            ],
            "burst" => vec![("burst".to_owned(), ParamValue::Bytes(1_000_000))],
            _ => Vec::new(),
        };
        let found = verify(calculator, &given).expect("defaults have an answer");
        assert!(found.holds(), "{}\n{found}", calculator.name);
        assert!(found.checks().count() > 0 || !found.left_out.is_empty(), "{}", calculator.name);
        assert!(found.left_out.iter().all(|reason| reason.len() > 20), "{:?}", found.left_out);
    }
}

fn burst(policy: &'static str, random: &mut RandomStream) -> Given {
    let mut given = vec![("policy".to_owned(), ParamValue::Choice(policy.into()))];
    set(&mut given, "buffer", buffer(random));
    set(&mut given, "ports", count(random, 8, 16));
    set(&mut given, "congested", count(random, 0, 4));
    let queues = 1 + random.below(3);
    set(&mut given, "congested_queues", ParamValue::Count(queues));
    set(&mut given, "priorities", count(random, 1, queues));
    set(&mut given, "alpha", alpha(random, -3.0, 2.0));
    set(&mut given, "rate", rate(random, 1_200, 12_000));
    set(&mut given, "burst_alpha", alpha(random, -2.0, 6.0));
    set(&mut given, "burst_ports", count(random, 1, 2));
    let beside = if random.below(2) == 0 { 0 } else { random.below(queues + 1) };
    set(&mut given, "queues_beside_burst", ParamValue::Count(beside));
    set(&mut given, "same_priority", ParamValue::Flag(random.below(4) == 0));
    set(&mut given, "tau", ParamValue::Ratio(0.5 + random.next_f64() / 2.0));
    given
}

/// Defines a test for each policy of the calculator `burst-tolerance`.
macro_rules! bursts {
    ($($name:ident: $policy:literal,)*) => {$(
        #[test]
        fn $name() {
            agrees("burst-tolerance", 12, 12, |random| burst($policy, random));
        }
    )*};
}

bursts! {
    bursts_under_dynamic_thresholds_agree: "dt",
    bursts_under_abm_agree: "abm",
    bursts_under_plasticine_agree: "plasticine",
    bursts_under_enhanced_dynamic_thresholds_agree: "edt",
    bursts_under_traffic_aware_thresholds_agree: "tdt",
    bursts_under_losspass_agree: "losspass",
    bursts_into_an_empty_buffer_agree: "ideal",
}

#[test]
fn alphas_for_a_burst_agree() {
    agrees("alpha", 10, 20, |random| {
        let mut given = Given::new();
        set(&mut given, "rate", rate(random, 1_500, 10_000));
        set(&mut given, "buffer", ParamValue::Bytes(1_000_000 + random.below(20_000_000)));
        set(&mut given, "burst", ParamValue::Bytes(200_000 + random.below(2_000_000)));
        set(&mut given, "others", alphas(random, -3.0, 1.0));
        given
    });
}

#[test]
fn shares_agree() {
    agrees("shares", 3, 9, |random| {
        let mut given = Given::new();
        set(&mut given, "buffer", buffer(random));
        let counts = (0..3).map(|_| count(random, 1, 40)).collect::<Vec<_>>();
        set(&mut given, "queues", ParamValue::List(counts.into()));
        set(&mut given, "alpha", alpha(random, -6.0, 6.0));
        set(&mut given, "share", ParamValue::Ratio(0.05 + 0.9 * random.next_f64()));
        given
    });
}

#[test]
fn guarantees_agree() {
    agrees("guarantees", 8, 40, |random| {
        let mut given = Given::new();
        set(&mut given, "buffer", buffer(random));
        set(&mut given, "alphas", alphas(random, -5.0, 5.0));
        set(&mut given, "gamma", ParamValue::Ratio(0.05 + 0.95 * random.next_f64()));
        given
    });
}

#[test]
fn drain_times_agree() {
    agrees("drain-time", 10, 20, |random| {
        let mut given = Given::new();
        set(&mut given, "buffer", buffer(random));
        set(&mut given, "alphas", alphas(random, -4.0, 5.0));
        set(&mut given, "port_rate", rate(random, 100, 10_000));
        set(&mut given, "congested", count(random, 1, 4));
        given
    });
}

#[test]
fn rooms_beside_marked_queues_agree() {
    agrees("ecn", 30, 60, |random| {
        let mut given = Given::new();
        set(&mut given, "packet", ParamValue::Bytes(64 + random.below(9_000)));
        set(&mut given, "flows", count(random, 1, 8));
        set(&mut given, "buffer", ParamValue::Bytes(300_000 + random.below(5_000_000)));
        set(&mut given, "burst", ParamValue::Bytes(10_000 + random.below(150_000)));
        set(&mut given, "tau", ParamValue::Ratio(random.next_f64()));
        given
    });
}

#[test]
fn headroom_agrees() {
    agrees("headroom", 12, 24, |random| {
        let mut given = Given::new();
        let rates = [10, 25, 40, 100, 56];
        let rate = rates[random.below(rates.len() as u64) as usize];
        set(&mut given, "rate", ParamValue::Rate(BitRate::gbps(rate)));
        set(&mut given, "cable", ParamValue::Ratio(random.next_f64() * 600.0));
        set(&mut given, "mtu", ParamValue::Bytes(1_024 + random.below(8_000)));
        set(&mut given, "reaction", ParamValue::Time(Time(random.below(3_000_000))));
        set(&mut given, "cell", ParamValue::Bytes(1 + random.below(300)));
        given
    });
}

#[test]
fn counters_of_tdt_agree() {
    agrees("tdt-parameters", 30, 120, |random| {
        let mut given = Given::new();
        set(&mut given, "buffer", ParamValue::Bytes(500_000 + random.below(5_000_000)));
        set(&mut given, "packet", ParamValue::Bytes(64 + random.below(3_000)));
        set(&mut given, "ports", count(random, 2, 40));
        set(&mut given, "burst_ratio", ParamValue::Ratio(1.2 + 4.0 * random.next_f64()));
        given
    });
}

/// For every calculator, the test detects an answer that is a tenth too large.
#[test]
fn a_wrong_answer_does_not_agree() {
    let given: [(&str, Given); 6] = [
        (
            "alpha",
            vec![
                ("rate".to_owned(), ParamValue::Rate(BitRate::gbps(50))),
                ("burst".to_owned(), ParamValue::Bytes(1_000_000)),
            ],
        ),
        ("guarantees", Vec::new()),
        ("drain-time", Vec::new()),
        ("ecn", vec![("buffer".to_owned(), ParamValue::Bytes(1_000_000))]),
        ("headroom", Vec::new()),
        ("tdt-parameters", Vec::new()),
    ];
    for (name, given) in given {
        let replay = REPLAYS.iter().find(|replay| replay.calculator == name).expect("it has a replay");
        let mut answer = info(name).calculate(&given).expect("it has an answer");
        for answer in &mut answer.answers {
            answer.value *= 1.1;
        }
        let params = info(name).resolve(&given).expect("in domain");
        let found = (replay.run)(&Asked { info: info(name), given: &given, params, answer });
        assert!(!found.holds(), "{name}\n{found}");
    }
}
