//! Tests of lossless and lossy queues in one buffer: steady lengths against Reverie's formulas,
//! and consistent accounts.

use bufferlab_core::policy::Reverie;
use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

const MTU: u64 = 1_500;
const SLOT: Time = Time::from_ns(1_200);
/// Headroom of each lossless ingress queue (bytes).
const HEADROOM: u64 = 4 * MTU;

/// The ingress queues that are paused. The senders learn of pauses without delay.
#[derive(Default)]
struct Senders {
    paused: Vec<bool>,
    pauses: u64,
}

impl Observer for Senders {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::PauseChanged { ingress, paused, .. } = *event {
            self.paused[usize::from(ingress.0)] = paused;
            self.pauses += u64::from(paused);
        }
    }
}

/// A load of lossy queues (priority 0) and lossless queues (priority 1). Queue k of a class uses
/// port k for ingress and egress.
struct Load {
    lossless: usize,
    lossy: usize,
}

/// Time-averaged length of every queue, without its headroom (bytes).
#[derive(Debug)]
struct Settled {
    lossless: Vec<f64>,
    lossy: Vec<f64>,
}

impl Settled {
    /// Whether every queue of a class has the expected length `lossless` or `lossy`.
    fn is_close_to(&self, lossless: f64, lossy: f64) -> bool {
        let close = |found: &f64, expected: f64| (found - expected).abs() <= 0.03 * expected + MTU as f64;
        self.lossless.iter().all(|found| close(found, lossless))
            && self.lossy.iter().all(|found| close(found, lossy))
    }
}

impl Load {
    fn ports(&self) -> usize {
        self.lossless.max(self.lossy)
    }

    fn headroom(&self) -> u64 {
        self.ports() as u64 * HEADROOM
    }

    /// Configuration with a pool of `pool` bytes, which is the buffer less headroom.
    fn config(&self, pool: u64) -> SwitchConfig {
        let config = SwitchConfig::new(pool + self.headroom(), vec![BitRate::gbps(10); self.ports()]);
        SwitchConfig { max_packet: MTU, lossless: 0b10, ..config.with_queues(2) }
    }

    /// Runs the switch to the steady state. In every slot each port sends one packet and gets two
    /// packets for each of its queues, unless a queue has paused its sender.
    fn settle(&self, policy: &str, pool: u64, params: &[(&str, ParamValue)], slots: u64) -> Settled {
        let mut params: Vec<_> =
            params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        params.push(("headroom".to_owned(), ParamValue::Bytes(HEADROOM)));
        let mut switch = self.config(pool).build(policy, &params).expect("it fits");
        let mut senders = Senders { paused: vec![false; 2 * self.ports()], pauses: 0 };
        let (mut lossless, mut lossy) = (vec![0; self.lossless], vec![0; self.lossy]);
        let mut now = Time::ZERO;
        for slot in 0..2 * slots {
            now += SLOT;
            while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
                switch.handle_timeout(due, &mut senders);
            }
            for port in 0..self.ports() as u16 {
                let _ = switch.poll_transmit(now, port, &mut senders);
                for (priority, queues) in [(0, self.lossy), (1, self.lossless)] {
                    for _ in 0..2 {
                        let ingress = usize::from(port) * 2 + usize::from(priority);
                        if usize::from(port) < queues && !senders.paused[ingress] {
                            let packet = packet(port, port, priority);
                            let _ = switch.handle_arrival(now, &packet, &mut senders);
                        }
                    }
                }
            }
            if slot >= slots {
                let buffer = switch.buffer();
                for (port, sum) in lossless.iter_mut().enumerate() {
                    let ingress = IngressId(port as u16 * 2 + 1);
                    *sum += buffer.ingress_bytes(ingress) - buffer.ingress_headroom_bytes(ingress);
                }
                for (port, sum) in lossy.iter_mut().enumerate() {
                    *sum += buffer.queue_bytes(QueueId(port as u16 * 2));
                }
            }
        }
        switch.verify().expect("the ledger holds");
        for port in 0..self.ports() as u16 {
            let lost = switch.counters(QueueId(port * 2 + 1)).dropped;
            assert_eq!(lost, 0, "{policy}: lossless packets of port {port} are lost");
        }
        assert!(self.lossless == 0 || senders.pauses > 0, "{policy}: nobody was ever paused");
        let means = |sums: &[u64]| sums.iter().map(|&sum| sum as f64 / slots as f64).collect();
        Settled { lossless: means(&lossless), lossy: means(&lossy) }
    }
}

fn packet(from: u16, to: u16, priority: u8) -> Packet {
    Packet {
        header: Header { size: MTU as u32, priority, ..Header::default() },
        ingress_port: from,
        egress_port: to,
        ..Packet::default()
    }
}

fn loads() -> impl Iterator<Item = Load> {
    (1..=20).flat_map(|n| (1..=20).map(move |m| Load { lossless: n, lossy: m }))
}

/// Loads with 1 to 20 queues of each class: a subset of all loads, for longer runs.
fn few_loads() -> impl Iterator<Item = Load> {
    loads().filter(|load| load.lossless == load.lossy || load.lossless == 1 || load.lossy == 1)
}

#[test]
fn sonic_settles_where_equations_10_and_11_of_reverie_say() {
    let pool = 3_000 * MTU;
    for share in [0.5, 0.8, 1.0] {
        for load in loads().filter(|load| share == 0.8 || load.lossless == load.lossy) {
            let (n, m) = (load.lossless as f64, load.lossy as f64);
            let (x, y) = (n / (1.0 + n), m / (1.0 + m));
            let (b_in, b_eo) = (pool as f64, share * pool as f64);
            let expected = ((b_in * x - b_eo * x * y) / n, b_eo * y / m);
            let found = load.settle("sonic-dt", pool, &[("lossy_pool", ParamValue::Ratio(share))], 3_500);
            assert!(
                found.is_close_to(expected.0, expected.1),
                "{n} lossless, {m} lossy, lossy pool {share}: {found:?}, expected {expected:?}"
            );
        }
    }
}

#[test]
fn sonic_abm_holds_one_alpha_share_per_class_however_many_queues_there_are() {
    let pool = 3_000 * MTU;
    for load in few_loads() {
        let (n, m) = (load.lossless as f64, load.lossy as f64);
        // Equations 10 and 11 of the paper use alpha / n per queue. With `computed`, the drain rate
        // gamma is 1 on a port with one queue per direction.
        let (b_in, b_eo) = (pool as f64, 0.8 * pool as f64);
        let lossy = b_eo / 2.0;
        let expected = ((b_in - lossy) / 2.0 / n, lossy / m);
        let computed = ("drain_rate", ParamValue::Choice("computed".into()));
        let found = load.settle("sonic-abm", pool, &[computed], 3_500);
        assert!(
            found.is_close_to(expected.0, expected.1),
            "{n} lossless, {m} lossy: {found:?}, expected {expected:?}"
        );
    }
}

/// Parameter `gamma` of a filter that is fast compared with the time to drain a threshold.
fn gamma(gamma: f64) -> (&'static str, ParamValue) {
    ("gamma", ParamValue::Ratio(gamma))
}

#[test]
fn reverie_settles_where_equations_13_to_15_say() {
    let pool = 3_000 * MTU;
    let cases = [([1.0, 1.0], 0.9), ([1.0, 2.0], 0.9), ([0.5, 4.0], 0.9), ([1.0, 1.0], 0.999)];
    for ((alphas, factor), load) in
        cases.into_iter().flat_map(|case| few_loads().map(move |load| (case, load))).filter(|(case, load)| {
            // The paper's slow filter settles only if all queues drain equally, as the next test of
            // this file shows.
            case.1 < 0.99 || load.lossless == load.lossy
        })
    {
        let (n, m) = (load.lossless as f64, load.lossy as f64);
        let whole = 1.0 + alphas[0] + alphas[1];
        let expected = (alphas[1] * pool as f64 / whole / n, alphas[0] * pool as f64 / whole / m);
        let alpha = ("alpha", ParamValue::RatioPerPriority(alphas.to_vec().into()));
        let found = load.settle("reverie", pool, &[alpha, gamma(factor)], 10_000);
        assert!(
            found.is_close_to(expected.0, expected.1),
            "{n} lossless, {m} lossy, alphas {alphas:?}, gamma {factor}: {found:?}, expected {expected:?}"
        );
    }
}

#[test]
fn with_the_papers_filter_a_queue_that_drains_more_slowly_than_the_others_never_settles() {
    // One of ten lossless queues shares its port with the only lossy queue and drains half as fast.
    // The filter needs 400 slots of 2.5 packets for a threshold of 100 packets, so lengths
    // oscillate. A length that rises fast and falls slowly is long on average.
    let pool = 3_000 * MTU;
    let load = Load { lossless: 10, lossy: 1 };
    let found = load.settle("reverie", pool, &[gamma(0.999)], 24_000);
    let expected = pool as f64 / 3.0 / 10.0;
    assert!(found.lossless[0] > 3.0 * expected, "found {found:?}, equation 14 says {expected}");
    assert!(found.lossless[1..].iter().all(|&bytes| bytes < 1.3 * expected), "{found:?}");
}

#[test]
fn one_class_alone_holds_alpha_of_one_plus_alpha() {
    // While a queue is paused, only departures update its filter, so the lag is longer than while
    // the queue grows. With gamma 0.9 a queue exceeds a threshold of 23 packets by 8 on average.
    let pool = 3_000 * MTU;
    for count in 1..=20 {
        let each = pool as f64 / 2.0 / count as f64;
        let settle = |lossless, lossy| Load { lossless, lossy }.settle("reverie", pool, &[gamma(0.5)], 6_000);
        let (lossless, lossy) = (settle(count, 0), settle(0, count));
        assert!(
            lossless.is_close_to(each, 0.0) && lossy.is_close_to(0.0, each),
            "{count}: {lossless:?} {lossy:?}, expected {each}"
        );
    }
}

/// A switch under Reverie whose filter follows the update rule `filter`.
fn reverie(gamma: f64, filter: &'static str, capacity: u64) -> Switch<Reverie> {
    let config = SwitchConfig {
        max_packet: MTU,
        lossless: 0b10,
        ..SwitchConfig::new(capacity, vec![BitRate::gbps(10); 2]).with_queues(2)
    };
    let given = [
        ("gamma", ParamValue::Ratio(gamma)),
        ("filter", ParamValue::word(filter)),
        ("headroom", ParamValue::Bytes(HEADROOM)),
    ]
    .map(|(n, v)| (n.to_owned(), v));
    let infos = find_policy("reverie").expect("registered").params;
    let params = Params::resolve(infos, Profile::Paper, &given).expect("in domain");
    Switch::new(&config, Reverie::new(&params, &config.shape()).expect("it fits"))
}

#[test]
fn reveries_filter_follows_its_recurrence_to_the_last_bit() {
    // The factors of the cases are multiples of 2^-32, and eight updates need no rounding:
    // 1 - 2^-4 = 15/16.
    for (gamma, numerator) in [(0.75, 12), (0.9375, 15), (0.5, 8)] {
        let mut switch = reverie(gamma, "events", 1 << 20);
        let mut expected = 0_u128;
        for step in 0..8_u64 {
            if step % 3 == 2 {
                let _ = switch.poll_transmit(Time(step), 0, &mut ());
            } else {
                let _ = switch.handle_arrival(Time(step), &packet(0, 0, 0), &mut ());
            }
            // Lengths of the test are in units of 16^-8 bytes.
            let length = u128::from(switch.buffer().queue_bytes(QueueId(0))) << 32;
            expected = (numerator * expected + (16 - numerator) * length) / 16;
            let found = switch.policy().filtered_lossy(QueueId(0));
            assert_eq!(found, expected as f64 / 4_294_967_296.0, "gamma {gamma}, step {step}");
        }
    }
    // The paper's factor is no binary fraction, so the test allows an error of 2^-32 per update.
    let mut switch = reverie(0.999, "events", 1 << 20);
    let (mut expected, mut stream) = (0.0_f64, RandomStream::new(1, "test/filter", 0));
    for step in 0..20_000 {
        let length = switch.buffer().queue_bytes(QueueId(0));
        if stream.below(2) == 0 && length > 0 {
            let _ = switch.poll_transmit(Time(step), 0, &mut ());
        } else {
            let _ = switch.handle_arrival(Time(step), &packet(0, 0, 0), &mut ());
        }
        expected = 0.999 * expected + 0.001 * switch.buffer().queue_bytes(QueueId(0)) as f64;
        let found = switch.policy().filtered_lossy(QueueId(0));
        // The factor is rounded to 2^-32, and 1 / (1 - gamma) amplifies the rounding error.
        assert!((found - expected).abs() <= 1e-6 * expected, "step {step}: {found} for {expected}");
    }
    assert!(expected > 0.0);
}

/// Reverie's pool has no part for lossy traffic: a limit depends on the total occupancy, not on the
/// division among queues.
/// Claim: REV-F9-3
#[test]
fn reveries_limit_does_not_depend_on_how_the_pool_is_divided() {
    let params = find_policy("reverie").expect("registered").params;
    assert!(params.iter().all(|param| !param.name.contains("lossy")), "no size of a lossy pool can be set");
    let mut limits = Vec::new();
    for lossless in 0..=20_u8 {
        let mut switch = reverie(0.999, "time", 1 << 20);
        for sent in 0..20 {
            let admission = switch.handle_arrival(Time(0), &packet(0, 0, u8::from(sent < lossless)), &mut ());
            assert!(matches!(admission, Admission::Stored { .. }), "{sent}");
        }
        limits.extend([0, 1].map(|priority| switch.policy().limit(0, priority, switch.buffer())));
    }
    assert!(limits.iter().all(|limit| *limit == limits[0]), "{limits:?}");
}

/// Reverie's Eq. 5 with one filter update per step of time. A step is the time to send the largest
/// packet. Arrivals and departures are at multiples of the step.
#[test]
fn reveries_filter_in_time_follows_its_recurrence_with_every_step_of_time() {
    let step = BitRate::gbps(10).serialization(MTU).0;
    for gamma in [0.5, 0.9, 0.999] {
        let mut switch = reverie(gamma, "time", 1 << 20);
        let (mut expected, mut length) = (0.0_f64, 0.0);
        let mut stream = RandomStream::new(1, "test/filter-in-time", 0);
        let mut now = 0;
        for event in 0..5_000 {
            let steps = stream.below(4);
            now += steps * step;
            for _ in 0..steps {
                expected = gamma * expected + (1.0 - gamma) * length;
            }
            if stream.below(2) == 0 && length > 0.0 {
                let _ = switch.poll_transmit(Time(now), 0, &mut ());
            } else {
                let _ = switch.handle_arrival(Time(now), &packet(0, 0, 0), &mut ());
            }
            length = switch.buffer().queue_bytes(QueueId(0)) as f64;
            let found = switch.policy().filtered_lossy(QueueId(0));
            assert!(
                (found - expected).abs() <= 0.01 + 1e-6 * expected,
                "gamma {gamma}, event {event}: {found} for {expected}"
            );
        }
        assert!(expected > 0.0);
    }
}

#[test]
fn a_filtered_length_within_the_limit_is_a_length_within_the_limit_plus_a_gradient() {
    // Reverie's Property 1 is q^(t-dt) <= Gamma iff q(t) <= Gamma + K dq^/dt with K = dt / (1 -
    // gamma).
    let mut checked = [0_u64; 2];
    for (run, gamma) in [0.5, 0.75, 0.9375, 0.998_046_875].into_iter().enumerate() {
        let mut stream = RandomStream::new(run as u64, "test/property-1", 0);
        let mut switch = reverie(gamma, "events", 100 * MTU);
        for step in 0..100_000 {
            if stream.below(5) < 2 {
                let _ = switch.poll_transmit(Time(step), 0, &mut ());
                continue;
            }
            let queue = QueueId(0);
            let limit = switch.policy().limit(0, 0, switch.buffer()) as f64;
            let before = switch.policy().filtered_lossy(queue);
            let packet = Packet { header: Header::new(64 + stream.below(1_400) as u32), ..Packet::default() };
            let admission = switch.handle_arrival(Time(step), &packet, &mut ());
            if admission == Admission::dropped(DropReason::BufferFull) {
                continue;
            }
            let gradient = switch.policy().filtered_lossy(queue) - before;
            let length = switch.buffer().queue_bytes(queue) as f64;
            let within = length <= limit + gradient / (1.0 - gamma);
            let admitted = matches!(admission, Admission::Stored { .. });
            assert_eq!(admitted, within, "gamma {gamma}, step {step}: q^ {before}, limit {limit}");
            checked[usize::from(admitted)] += 1;
        }
    }
    assert!(checked.iter().all(|&count| count > 10_000), "both verdicts occur: {checked:?}");
}

/// Value of the policy's probe `name` for `queue`.
fn probe(switch: &Switch<Box<dyn Policy>>, queue: QueueId, name: &str) -> u64 {
    let mut found = None;
    switch.policy().probe(queue, switch.buffer(), &mut |probe, value| {
        if probe == name {
            found = Some(value as u64);
        }
    });
    found.expect("a probe of this policy")
}

#[test]
fn ingress_and_egress_accounts_agree_on_random_traffic_and_obedient_senders_lose_nothing() {
    const PORTS: u16 = 6;
    let reserved = ("reserved".to_owned(), ParamValue::Bytes(1_248));
    for (policy, reserved) in
        [("sonic-dt", None), ("sonic-dt", Some(reserved)), ("sonic-abm", None), ("reverie", None)]
    {
        for seed in 0..4 {
            let pool = 200_000;
            let headroom = u64::from(PORTS) * HEADROOM;
            let set_aside = reserved.as_ref().map_or(0, |_| 1_248 * u64::from(PORTS));
            let config =
                SwitchConfig::new(pool + set_aside + headroom, vec![BitRate::gbps(10); PORTS.into()]);
            let config = SwitchConfig { max_packet: MTU, lossless: 0b10, ..config.with_queues(2) };
            let mut params = vec![("headroom".to_owned(), ParamValue::Bytes(HEADROOM))];
            params.extend(reserved.clone());
            let mut switch = config.build(policy, &params).expect("it fits");
            let mut senders = Senders { paused: vec![false; 2 * usize::from(PORTS)], pauses: 0 };
            let mut stream = RandomStream::new(seed, "test/accounts", 0);
            let mut draw = |n: u64| stream.below(n);
            for step in 0..40_000_u64 {
                let now = Time(step * 100_000);
                while let Some(due) = switch.poll_timeout().filter(|&due| due <= now) {
                    switch.handle_timeout(due, &mut senders);
                }
                // Periods in which the buffer fills and periods in which it drains alternate.
                if draw(10) < if step / 4_000 % 2 == 0 { 3 } else { 7 } {
                    let _ = switch.poll_transmit(now, draw(u64::from(PORTS)) as u16, &mut senders);
                } else {
                    let (from, priority) = (draw(u64::from(PORTS)) as u16, draw(2) as u8);
                    let tags = if draw(4) == 0 { Tags::UNSCHEDULED } else { Tags::NONE };
                    let size = 64 + draw(MTU - 63) as u32;
                    let packet = Packet {
                        header: Header { size, tags, priority, ..Header::default() },
                        ..packet(from, draw(u64::from(PORTS)) as u16, priority)
                    };
                    if !senders.paused[usize::from(from * 2 + u16::from(priority))] {
                        let _ = switch.handle_arrival(now, &packet, &mut senders);
                    }
                }
                let buffer = switch.buffer();
                let ports = 0..PORTS;
                let ingress = |p: u16| {
                    ports.clone().map(|port| buffer.ingress_bytes(IngressId(port * 2 + p))).sum::<u64>()
                };
                let egress =
                    |p: u16| ports.clone().map(|port| buffer.queue_bytes(QueueId(port * 2 + p))).sum::<u64>();
                let in_headroom: u64 =
                    ports.clone().map(|port| buffer.ingress_headroom_bytes(IngressId(port * 2 + 1))).sum();
                assert_eq!(egress(0), ingress(0), "(7) lossy");
                assert_eq!(egress(1), ingress(1), "(8) lossless with headroom");
                let pool_bytes = ingress(0) + ingress(1) - in_headroom;
                assert_eq!(buffer.used(Account::Shared), pool_bytes, "(9) ingress pool");
                assert_eq!(buffer.occupancy(), pool_bytes + in_headroom, "total");
                assert!(pool_bytes <= pool + set_aside && in_headroom <= headroom);
                if policy != "reverie" {
                    let lent = |port: u16| {
                        let id = IngressId(port * 2 + 1);
                        let bytes = buffer.ingress_bytes(id) - buffer.ingress_headroom_bytes(id);
                        if set_aside > 0 { bytes.min(1_248) } else { 0 }
                    };
                    let lent: u64 = ports.clone().map(lent).sum();
                    assert_eq!(probe(&switch, QueueId(1), "ingress_pool_free"), pool - (pool_bytes - lent));
                    // The factor 0.8 is no binary fraction, so the test allows a rounding error.
                    let lossy_free = probe(&switch, QueueId(1), "lossy_pool_free");
                    assert!(
                        lossy_free + egress(0) == pool * 4 / 5 || lossy_free + egress(0) == pool * 4 / 5 - 1
                    );
                }
            }
            switch.verify().expect("the ledger holds");
            let lost =
                |p: u16| (0..PORTS).map(|port| switch.counters(QueueId(port * 2 + p)).dropped).sum::<u64>();
            assert_eq!(lost(1), 0, "{policy}: lossless packets");
            assert!(
                lost(0) > 0 && senders.pauses > 10,
                "{policy}: {} lossy losses, {} pauses",
                lost(0),
                senders.pauses
            );
        }
    }
}

#[test]
fn a_sender_that_does_not_obey_loses_packets_once_its_headroom_is_full() {
    for policy in ["sonic-dt", "sonic-abm", "reverie"] {
        let load = Load { lossless: 1, lossy: 1 };
        let params = [("headroom".to_owned(), ParamValue::Bytes(HEADROOM))];
        let mut switch = load.config(100 * MTU).build(policy, &params).expect("it fits");
        let mut senders = Senders { paused: vec![false; 2], pauses: 0 };
        let mut paused_with = None;
        let lost = loop {
            match switch.handle_arrival(Time::ZERO, &packet(0, 0, 1), &mut senders) {
                Admission::Stored { .. } if senders.paused[1] && paused_with.is_none() => {
                    paused_with = Some(switch.buffer().used(Account::Headroom));
                }
                Admission::Stored { .. } => {}
                Admission::Refused(Refusal { reason, .. }) => break reason,
            }
        };
        assert_eq!((lost, senders.pauses), (DropReason::HeadroomFull, 1), "{policy}");
        assert_eq!(switch.buffer().used(Account::Headroom), HEADROOM, "{policy}");
        // Chips pause with the last packet of the pool, Reverie pauses with the first packet
        // beyond the pool.
        assert_eq!(paused_with, Some(if policy == "reverie" { MTU } else { 0 }), "{policy}");
    }
}

#[test]
fn headroom_that_holds_no_packet_or_leaves_none_is_refused() {
    for policy in ["sonic-dt", "sonic-abm", "reverie"] {
        let config = Load { lossless: 2, lossy: 2 }.config(0);
        let build =
            |bytes| config.build(policy, &[("headroom".to_owned(), ParamValue::Bytes(bytes))]).map(|_| ());
        assert_eq!(build(HEADROOM / 2), Ok(()));
        for bytes in [0, MTU - 1, HEADROOM] {
            assert_eq!(build(bytes).expect_err("refused").param, "headroom", "{policy}: {bytes}");
        }
    }
}

#[test]
fn what_a_watchdog_discards_is_lost_in_both_directions_of_its_port_and_nothing_else_is() {
    let load = Load { lossless: 3, lossy: 3 };
    let params = [("headroom".to_owned(), ParamValue::Bytes(HEADROOM))];
    let mut switch = load.config(100 * MTU).build("sonic-dt", &params).expect("it fits");
    let arrive = |switch: &mut Switch<Box<dyn Policy>>, from, to, priority| {
        switch.handle_arrival(Time::ZERO, &packet(from, to, priority), &mut ())
    };
    let lost = Admission::dropped(DropReason::Watchdog);
    let stored = Admission::Stored { marked: false };
    for _ in 0..5 {
        assert_eq!(arrive(&mut switch, 0, 1, 1), stored);
        assert_eq!(arrive(&mut switch, 0, 2, 1), stored);
    }
    switch.set_discarding(1, 1, true);
    switch.flush(Time::ZERO, QueueId(3), DropReason::Watchdog, &mut ());
    assert_eq!(switch.buffer().queue_packets(QueueId(3)), 0);
    assert_eq!(switch.buffer().queue_packets(QueueId(5)), 5, "other queues keep their packets");
    assert_eq!(arrive(&mut switch, 0, 1, 1), lost, "for the queue");
    assert_eq!(arrive(&mut switch, 1, 2, 1), lost, "from its port");
    assert_eq!(arrive(&mut switch, 0, 1, 0), stored, "of another priority");
    assert_eq!(arrive(&mut switch, 1, 2, 0), stored, "of another priority");
    assert_eq!(arrive(&mut switch, 0, 2, 1), stored, "of another port");
    switch.set_discarding(1, 1, false);
    assert_eq!(arrive(&mut switch, 0, 1, 1), stored, "after the restoration");
    switch.verify().expect("the ledger holds");
}

/// A switch of four ports with eight lossless priorities in a buffer of `capacity` bytes. Each
/// priority has `headroom` bytes of headroom.
fn eight_priorities(mode: &str, capacity: u64, headroom: u64) -> Result<Switch<Box<dyn Policy>>, BuildError> {
    let config = SwitchConfig {
        max_packet: MTU,
        lossless: 0xff,
        ..SwitchConfig::new(capacity, vec![BitRate::gbps(10); 4]).with_queues(8)
    };
    let params = [
        ("headroom".to_owned(), ParamValue::Bytes(headroom)),
        ("headroom_mode".to_owned(), ParamValue::Choice(mode.to_owned().into())),
    ];
    config.build("sonic-dt", &params)
}

#[test]
fn insurances_of_ports_leave_what_headroom_of_queues_takes_and_a_burst_passes_without_a_pause() {
    let headroom = 10 * MTU;
    // The headroom of 32 queues needs 320 packets, the headroom of 4 ports needs 40 packets.
    assert!(eight_priorities("static", 320 * MTU, headroom).is_err());
    let burst = |mode: &str| {
        let mut switch = eight_priorities(mode, 400 * MTU, headroom).expect("it fits");
        let mut senders = Senders { paused: vec![false; 32], pauses: 0 };
        let mut packets = 0;
        while senders.pauses == 0 {
            let _ = switch.handle_arrival(Time::ZERO, &packet(0, 1, 3), &mut senders);
            packets += 1;
        }
        (packets, senders.paused.iter().filter(|paused| **paused).count())
    };
    // With static headroom, the queue gets half of the pool of 400 - 320 packets. With dynamic
    // headroom, the pool has 400 - 40 packets. The queue then pauses its sender 10 packets below
    // its threshold: q = (360 - q) - 10.
    assert_eq!((burst("static"), burst("dsh-like")), ((40, 1), (176, 1)));
}

#[test]
fn a_port_whose_queues_exceed_their_thresholds_together_pauses_all_its_lossless_priorities_and_loses_nothing()
{
    let headroom = 10 * MTU;
    let mut switch = eight_priorities("dsh-like", 400 * MTU, headroom).expect("it fits");
    let mut senders = Senders { paused: vec![false; 32], pauses: 0 };
    // One sender after another ignores pauses, until the insurance is in use. Then the whole
    // port is paused.
    let mut sent = 0;
    while switch.buffer().used(Account::Headroom) == 0 {
        assert_eq!(
            switch.handle_arrival(Time::ZERO, &packet(0, 1, (sent % 8) as u8), &mut senders),
            Admission::Stored { marked: false }
        );
        sent += 1;
    }
    assert_eq!(senders.paused, [[true; 8], [false; 8], [false; 8], [false; 8]].concat());
    // Later arrivals within the headroom are stored, and arrivals beyond the headroom are lost.
    for _ in 1..10 {
        assert_eq!(
            switch.handle_arrival(Time::ZERO, &packet(0, 1, 0), &mut senders),
            Admission::Stored { marked: false }
        );
    }
    assert_eq!(
        switch.handle_arrival(Time::ZERO, &packet(0, 1, 0), &mut senders),
        Admission::dropped(DropReason::HeadroomFull)
    );
    // Queues of other ports are not affected, and an empty switch pauses no sender.
    assert_eq!(
        switch.handle_arrival(Time::ZERO, &packet(1, 2, 0), &mut senders),
        Admission::Stored { marked: false }
    );
    while switch.buffer().occupancy() > 0 {
        for port in 0..4 {
            let _ = switch.poll_transmit(Time::ZERO, port, &mut senders);
        }
    }
    assert!(senders.paused.iter().all(|paused| !paused));
    switch.verify().expect("the ledger holds");
}

#[test]
fn ports_have_their_own_headroom_and_the_last_of_the_list_holds_for_the_others() {
    for (policy, mode) in [("sonic-dt", "static"), ("sonic-dt", "dsh-like"), ("reverie", "")] {
        let config = Load { lossless: 3, lossy: 3 }.config(20 * MTU);
        let headroom = ParamValue::BytesPerPort(vec![3 * MTU, 5 * MTU].into());
        let mut params = vec![("headroom".to_owned(), headroom)];
        if !mode.is_empty() {
            params.push(("headroom_mode".to_owned(), ParamValue::Choice(mode.into())));
        }
        let mut switch = config.build(policy, &params).expect("it fits");
        for (port, packets) in [(0, 3), (1, 5), (2, 5)] {
            let mut arrive = || switch.handle_arrival(Time::ZERO, &packet(port, 0, 1), &mut ());
            while matches!(arrive(), Admission::Stored { .. }) {}
            let held = switch.buffer().ingress_headroom_bytes(IngressId(port * 2 + 1));
            assert_eq!(held, packets * MTU, "{policy} {mode}, port {port}");
        }
        let four = ParamValue::BytesPerPort(vec![3 * MTU; 4].into());
        let refused = config.build(policy, &[("headroom".to_owned(), four)]).map(|_| ());
        assert_eq!(refused.expect_err("three ports").param, "headroom");
    }
}

/// Outcomes at a switch of two ports whose thresholds lag by up to 50 us. A lossy queue first
/// uses its maximum of the pool at one instant. Then the lossless queue receives `packets` packets
/// more than the pool has space for. The function returns the outcomes of these packets.
fn behind_a_stale_pool(policy: &str, packets: u32) -> Vec<Admission> {
    let pool = 20 * MTU;
    let config = SwitchConfig {
        max_packet: MTU,
        lossless: 0b10,
        hardware: Hardware { threshold_refresh: Some(Time::from_us(50)), ..Hardware::IDEAL },
        ..SwitchConfig::new(pool + 2 * HEADROOM, vec![BitRate::gbps(10); 2]).with_queues(2)
    };
    let mut params = vec![
        ("headroom".to_owned(), ParamValue::Bytes(HEADROOM)),
        ("alpha".to_owned(), ParamValue::RatioPerPriority(vec![1_000.0].into())),
    ];
    if policy != "reverie" {
        params.push(("lossy_pool".to_owned(), ParamValue::Ratio(1.0)));
    }
    let mut switch = config.build(policy, &params).expect("it fits");
    let packet = |id, priority| Packet {
        id,
        header: Header { flow: id, priority, ..Header::new(MTU as u32) },
        ingress_port: 0,
        egress_port: 1,
    };
    for id in 0..40 {
        let _ = switch.handle_arrival(Time::ZERO, &packet(id, 0), &mut ());
    }
    assert_eq!(
        switch.buffer().occupancy(),
        pool,
        "{policy}: lossy packets fill the pool and nothing beyond it"
    );
    (0..packets).map(|id| switch.handle_arrival(Time::ZERO, &packet(100 + id, 1), &mut ())).collect()
}

#[test]
fn lossy_packets_never_take_headroom_however_old_the_numbers_are_that_thresholds_see() {
    for policy in ["sonic-dt", "sonic-abm", "reverie"] {
        let fates = behind_a_stale_pool(policy, 5);
        let stored = fates.iter().filter(|fate| matches!(fate, Admission::Stored { .. })).count();
        assert_eq!(stored as u64, HEADROOM / MTU, "{policy}: {fates:?}");
        assert_eq!(fates[4], Admission::dropped(DropReason::HeadroomFull), "{policy}");
    }
}
