//! Tests that DCQCN follows its published equations, step by step. The expected values are
//! calculated by hand.

use crate::support::{control, probed};
use bufferlab_params::{Choice, ParamValue};
use bufferlab_transport::{CongestionControl, DcqcnReaction, DcqcnSet, TcpConfig, Window};
use bufferlab_units::{BitRate, Time};

struct Flow {
    config: TcpConfig,
    control: CongestionControl,
    window: Window,
}

impl Flow {
    /// Creates a flow with packets of 1000 B on the wire.
    fn new(set: &str, gbps: u64) -> Self {
        let line_rate = BitRate::gbps(gbps);
        let config = TcpConfig { line_rate, segment_wire_bytes: 1_000, ..TcpConfig::default() };
        let mut window = Window { size: 1.0, slow_start_threshold: f64::INFINITY, pacing_gap: Time::ZERO };
        let set = ParamValue::Choice(set.to_owned().into());
        let control = control("dcqcn", &[("parameters", set)], &config).start(&config, &mut window);
        Self { config, control, window }
    }

    fn notify(&mut self, us: u64) {
        self.control.on_notification(&self.config, &mut self.window, Time::from_us(us));
    }

    fn send(&mut self, us: u64, bytes: u32) {
        self.control.on_sent(&self.config, &mut self.window, Time::from_us(us), bytes);
    }

    /// Rate (Gb/s), target rate (Gb/s) and alpha of the flow at the time `us` (microseconds).
    fn state(&mut self, us: u64) -> (f64, f64, f64) {
        self.send(us, 0);
        let rate = |name| probed(&self.control, name).floor() / 1e9;
        (rate("rate"), rate("target"), probed(&self.control, "alpha"))
    }

    fn expect(&mut self, us: u64, rate: f64, target: f64, alpha: f64) {
        let found = self.state(us);
        for (name, found, expected) in
            [("rate", found.0, rate), ("target", found.1, target), ("alpha", found.2, alpha)]
        {
            assert!((found - expected).abs() < 1e-6, "{name} at {us} us: {found}, expected {expected}");
        }
    }
}

/// Factor by which each decrease of DCQCN multiplies alpha.
const KEEP: f64 = 255.0 / 256.0;

#[test]
fn the_paper_cuts_first_and_then_raises_alpha() {
    let mut flow = Flow::new("paper", 40);
    flow.expect(0, 40.0, 40.0, 1.0);
    assert_eq!(flow.window.pacing_gap, Time::ZERO, "at line rate the card is the limit");
    flow.notify(0);
    flow.expect(0, 20.0, 40.0, 1.0);
    assert_eq!(flow.window.pacing_gap, Time::from_ns(400), "1000 B at 20 Gb/s");
    // Fast recovery has five steps, one every 55 us. Each step halves the distance to the target
    // rate, and alpha falls every 55 us, too.
    flow.expect(54, 20.0, 40.0, 1.0);
    flow.expect(55, 30.0, 40.0, KEEP);
    flow.expect(110, 35.0, 40.0, KEEP * KEEP);
    // Alpha has fallen twice before the second notification.
    let alpha = KEEP * KEEP;
    let cut = 35.0 * (1.0 - alpha / 2.0);
    flow.notify(120);
    flow.expect(120, cut, 35.0, KEEP * alpha + 1.0 / 256.0);
    // A second congestion notification within 50 us has no effect.
    flow.notify(169);
    flow.expect(169, cut, 35.0, KEEP * alpha + 1.0 / 256.0);
    // The cut has restarted the timers: five steps of fast recovery follow,
    // then additive increase by 40 Mb/s.
    let mut rate = cut;
    for step in 1..=5 {
        rate = f64::midpoint(rate, 35.0);
        let alpha = (KEEP * alpha + 1.0 / 256.0) * KEEP.powi(step);
        flow.expect(120 + 55 * step as u64, rate, 35.0, alpha);
    }
    let target = 35.04;
    rate = f64::midpoint(rate, target);
    let (found, found_target, _) = flow.state(120 + 55 * 6);
    assert!((found - rate).abs() < 1e-6 && (found_target - target).abs() < 1e-6);
}

#[test]
fn hyper_increase_needs_timer_and_byte_counter() {
    let mut flow = Flow::new("paper", 40);
    flow.notify(0);
    flow.notify(50);
    let (rate, target, _) = flow.state(50);
    assert!((rate - 10.0).abs() < 1e-6 && (target - 20.0).abs() < 1e-6, "{rate} {target}");
    // The flow sends ten times 10 MB in zero time, which causes five steps of fast recovery and
    // five steps of additive increase.
    for _ in 0..10 {
        flow.send(50, 10_000_000);
    }
    assert!((flow.state(50).1 - 20.2).abs() < 1e-6, "five times 40 Mb/s");
    // The rate increases pass through the stages of the timer. From the seventh rate increase on,
    // both counters exceed five: the rate increases are 1 x 200 Mb/s, 2 x 200 Mb/s …
    let at = |stage: u64| 50 + 55 * stage;
    assert!((flow.state(at(6)).1 - (20.2 + 6.0 * 0.04)).abs() < 1e-6);
    assert!((flow.state(at(7)).1 - (20.44 + 0.2)).abs() < 1e-6);
    assert!((flow.state(at(8)).1 - (20.64 + 0.4)).abs() < 1e-6);
}

#[test]
fn cards_look_every_microsecond_for_alpha_and_every_four_for_the_rate() {
    let mut flow = Flow::new("reverie", 25);
    flow.notify(0);
    // The first notification starts the timers, so alpha has fallen four
    // times at the first rate cut.
    flow.expect(0, 25.0, 25.0, 1.0);
    flow.expect(3, 25.0, 25.0, KEEP.powi(3));
    let first = 25.0 * (1.0 - KEEP.powi(4) / 2.0);
    flow.expect(4, first, 25.0, KEEP.powi(4));
    // After a notification at 5 us, alpha rises at 6 us and falls twice before the cut at 8 us.
    // The target rate does not change.
    flow.notify(5);
    let alpha = KEEP.powi(5) * KEEP + 1.0 / 256.0;
    flow.expect(6, first, 25.0, alpha);
    let second = first * (1.0 - alpha * KEEP.powi(2) / 2.0);
    flow.expect(8, second, 25.0, alpha * KEEP.powi(2));
    // After 900 us without a notification, one step of fast recovery has taken place.
    flow.expect(907, second, 25.0, alpha * KEEP.powi(901));
    let third = f64::midpoint(second, 25.0);
    flow.expect(908, third, 25.0, alpha * KEEP.powi(902));
    // A cut after an increase sets the target rate to the rate before the cut. So the flow no
    // longer uses the old target rate of 25 Gb/s.
    flow.notify(1_000);
    let (rate, target, _) = flow.state(1_004);
    assert!((target - third).abs() < 1e-6 && rate < third, "{rate} {target}");
    // After the cut, the flow makes one step of fast recovery, one additive increase of 50 Mb/s,
    // then hyper increases of 100 Mb/s.
    let targets: Vec<_> = (1..=4).map(|step| flow.state(1_004 + 900 * step).1 - third).collect();
    for (found, expected) in targets.iter().zip([0.0, 0.05, 0.15, 0.25]) {
        assert!((found - expected).abs() < 1e-6, "{targets:?}");
    }
}

#[test]
fn it_does_not_matter_how_often_one_looks() {
    let mut often = Flow::new("reverie", 25);
    let mut seldom = Flow::new("reverie", 25);
    for us in 0..5_000 {
        if us % 1_300 < 90 && us % 7 == 0 {
            often.notify(us);
            seldom.notify(us);
        }
        often.send(us, 0);
    }
    let (often, seldom) = (often.state(5_000), seldom.state(5_000));
    assert!((often.0 - seldom.0).abs() < 1e-6 && (often.1 - seldom.1).abs() < 1e-6, "{often:?} {seldom:?}");
    assert!((often.2 - seldom.2).abs() < 1e-9);
}

#[test]
fn no_rate_falls_below_the_least_or_rises_above_the_line() {
    for set in DcqcnSet::ALL {
        let name = set.word();
        let mut flow = Flow::new(name, 25);
        let least = set.parameters(BitRate::gbps(25)).min_rate.0 as f64 / 1e9;
        for step in 0..2_000 {
            flow.notify(step * 60);
            let (rate, target, alpha) = flow.state(step * 60);
            assert!((least..=25.0).contains(&rate) && target <= 25.0 && alpha <= 1.0, "{name}");
        }
        assert!((flow.state(120_000).0 - least).abs() < 0.2, "{name}: {:?}", flow.state(120_000));
        let (rate, target, alpha) = flow.state(30_000_000);
        assert!(rate <= 25.0 && target <= 25.0 && alpha < 1e-3, "{name}");
        assert!(rate > 5.0, "{name}: {rate}");
    }
}

#[test]
fn sets_have_the_published_values() {
    let set = |set: DcqcnSet, gbps| set.parameters(BitRate::gbps(gbps));
    let hpcc = set(DcqcnSet::Hpcc, 100);
    assert_eq!((hpcc.additive_increase, hpcc.hyper_increase), (BitRate::mbps(20), BitRate::mbps(200)));
    assert_eq!((hpcc.reaction, hpcc.increase_bytes), (DcqcnReaction::Timer, 0));
    let reverie = set(DcqcnSet::Reverie, 25);
    assert_eq!((reverie.alpha_interval, reverie.decrease_interval), (Time::from_us(1), Time::from_us(4)));
    assert_eq!((reverie.increase_interval, reverie.fast_recovery), (Time::from_us(900), 1));
    assert_eq!((reverie.additive_increase, reverie.min_rate), (BitRate::mbps(50), BitRate::mbps(100)));
    let paper = set(DcqcnSet::Paper, 40);
    assert_eq!((paper.increase_bytes, paper.fast_recovery), (10_000_000, 5));
    assert_eq!(set(DcqcnSet::Ns3Rdma, 40).increase_bytes, 300_000_000);
    assert_eq!(set(DcqcnSet::Mellanox, 100).increase_bytes, 32_767 * 64);
}

#[test]
fn a_single_value_may_differ_from_its_set() {
    let config = TcpConfig { line_rate: BitRate::gbps(40), ..TcpConfig::default() };
    let given =
        [("parameters", ParamValue::word("paper")), ("min_rate", ParamValue::Rate(BitRate::gbps(30)))];
    let mut window = Window { size: 1.0, slow_start_threshold: f64::INFINITY, pacing_gap: Time::ZERO };
    let mut state = control("dcqcn", &given, &config).start(&config, &mut window);
    state.on_notification(&config, &mut window, Time::ZERO);
    assert_eq!(probed(&state, "rate"), 30e9, "half of 40 Gb/s is below the least rate");
}
