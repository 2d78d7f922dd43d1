//! Tests of chips with several memories: accounting by ingress port, exact to the cell.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

/// Cell size of Tomahawk 5 (bytes).
const CELL: u64 = 254;
/// Number of shared cells of a memory slice.
const SHARED: u64 = 10_000;
/// Reserved minimum of a lossless priority group (cells).
const MINIMUM: u64 = 18;
const HEADROOM: u64 = 300;
/// Reserved minimum of a lossy queue in every memory slice (cells).
const QUEUE_MINIMUM: u64 = 7;
const OFFSET: u64 = 14;
const PORTS: u16 = 4;
/// Number of queues per port. Priority 1 is lossless.
const QUEUES: u16 = 2;

const CHIP: Accounting = Accounting {
    slices: 2,
    resume_below: ResumeBelow::PausePoint,
    queue_minimums: QueueMinimums::EverySlice,
    threshold_bits: 0,
};

#[derive(Default)]
struct Senders(Vec<bool>);

impl Observer for Senders {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::PauseChanged { ingress, paused, .. } = *event {
            self.0[usize::from(ingress.0)] = paused;
        }
    }
}

struct Chip {
    switch: Switch<Box<dyn Policy>>,
    senders: Senders,
}

/// Configuration of a switch with two memory slices of two ports each. The shared part of each
/// slice is [`SHARED`].
fn config(accounting: Accounting) -> SwitchConfig {
    let of_ports = u64::from(PORTS) * (MINIMUM + HEADROOM);
    let of_queues = u64::from(accounting.slices) * u64::from(PORTS) * QUEUE_MINIMUM;
    let cells = of_ports + of_queues + u64::from(accounting.slices) * SHARED;
    SwitchConfig {
        max_packet: CELL,
        lossless: 0b10,
        hardware: Hardware { cell_bytes: CELL as u32, accounting, ..Hardware::IDEAL },
        ..SwitchConfig::new(cells * CELL, vec![BitRate::gbps(100); usize::from(PORTS)]).with_queues(2)
    }
}

fn params(policy: &str, alpha: f64) -> Vec<(String, ParamValue)> {
    let mut params = vec![
        ("alpha", ParamValue::RatioPerPriority(vec![alpha].into())),
        ("headroom", ParamValue::Bytes(HEADROOM * CELL)),
        ("xon_offset", ParamValue::Bytes(OFFSET * CELL)),
    ];
    if policy != "reverie" {
        let minimum = BufferProfile {
            direction: Direction::Egress,
            priorities: vec![0],
            reserved: Some(QUEUE_MINIMUM * CELL),
            ..BufferProfile::default()
        };
        params.push(("reserved", ParamValue::Bytes(MINIMUM * CELL)));
        params.push(("lossy_pool", ParamValue::Ratio(1.0)));
        params.push(("profiles", ParamValue::Profiles(vec![minimum].into())));
    }
    params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Chip {
    fn new(policy: &str, alpha: f64, more: &[(&str, ParamValue)], accounting: Accounting) -> Self {
        let mut params = params(policy, alpha);
        params.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let switch = config(accounting).build(policy, &params).expect("it fits");
        Self { switch, senders: Senders(vec![false; usize::from(PORTS * QUEUES)]) }
    }

    fn send(&mut self, from: u16, to: u16, priority: u8) -> bool {
        let packet = Packet {
            header: Header { size: 64, priority, ..Header::default() },
            ingress_port: from,
            egress_port: to,
            ..Packet::default()
        };
        let admission = self.switch.handle_arrival(Time::ZERO, &packet, &mut self.senders);
        matches!(admission, Admission::Stored { .. })
    }

    fn is_paused(&self, port: u16) -> bool {
        self.senders.0[usize::from(port * QUEUES + 1)]
    }

    /// Fills a lossless priority group until the group pauses its sender. Returns the number of the
    /// group's packets, including the packet that pauses the sender.
    fn fill_to_pause(&mut self, from: u16) -> u64 {
        let mut stored = 0;
        while !self.is_paused(from) {
            assert!(self.send(from, 3, 1), "a lossless packet was lost");
            stored += 1;
        }
        stored
    }

    fn fill_to_loss(&mut self, from: u16, to: u16, priority: u8) -> u64 {
        let mut stored = 0;
        while self.send(from, to, priority) {
            stored += 1;
        }
        stored
    }

    /// Sends packets until the sender to the priority group of port `from` may resume. Returns the
    /// number of sent packets.
    fn release_to_resume(&mut self, from: u16) -> u64 {
        let mut sent = 0;
        while self.is_paused(from) {
            self.switch.poll_transmit(Time::ZERO, 3, &mut self.senders).expect("it holds packets");
            sent += 1;
        }
        sent
    }
}

/// Number of cells at which a lone priority group reaches alpha times the free cells. The pool has
/// `shared` cells.
fn reached(alpha: f64, shared: u64) -> u64 {
    (1..).find(|&cells| cells as f64 >= alpha * (shared - cells) as f64).expect("it reaches its threshold")
}

/// Number of cells of a lone priority group that a pool of `shared` cells admits. The pool admits a
/// cell if the group stays within alpha times the free cells.
fn taken(alpha: f64, shared: u64) -> u64 {
    (0..)
        .find(|&cells| (cells + 1) as f64 > alpha * (shared - cells) as f64)
        .expect("it exceeds its threshold")
}

/// Steady length of a lone priority group in a pool of `cells` cells: alpha / (1 + alpha) of the
/// pool, rounded down.
fn share(alpha: f64, cells: u64) -> u64 {
    (cells as f64 * alpha / (1.0 + alpha)) as u64
}

#[test]
fn a_group_sees_its_slice_only_and_resumes_below_its_pause_point() {
    for alpha in [0.125, 0.5, 1.0, 2.0] {
        let mut chip = Chip::new("sonic-dt", alpha, &[], CHIP);
        let lone = chip.fill_to_pause(0);
        assert_eq!(lone, MINIMUM + reached(alpha, SHARED), "alpha {alpha}: a lone group");
        let stored = lone + chip.fill_to_loss(0, 3, 1);
        let in_pool = taken(alpha, SHARED);
        assert_eq!(stored, MINIMUM + in_pool + HEADROOM, "alpha {alpha}");
        // Ports 0 and 1 are in memory slice 0, ports 2 and 3 in memory slice 1.
        let next = chip.fill_to_pause(1);
        assert_eq!(next, MINIMUM + reached(alpha, SHARED - in_pool), "alpha {alpha}: the next one");
        assert_eq!(chip.fill_to_pause(2), lone, "alpha {alpha}: in the other slice");
        let mut chip = Chip::new("sonic-dt", alpha, &[], CHIP);
        chip.fill_to_pause(0);
        assert_eq!(chip.release_to_resume(0), OFFSET, "alpha {alpha}: below the pause point");
    }
}

/// Reproduces the pause and the first loss of a chip with a minimum of 6 cells and alpha 1/2.
#[test]
fn a_group_pauses_with_the_packet_that_reaches_its_threshold() {
    let one = Accounting { slices: 1, ..CHIP };
    let group = |shared: u64, headroom: u64, pool: u64| {
        let cells = 2 * 6 + pool + shared;
        let hardware = Hardware { cell_bytes: 256, accounting: one, ..Hardware::IDEAL };
        let rates = vec![BitRate::gbps(100); 2];
        let config = SwitchConfig {
            max_packet: 256,
            lossless: 0b10,
            hardware,
            ..SwitchConfig::new(cells * 256, rates).with_queues(2)
        };
        let params = [
            ("alpha", ParamValue::RatioPerPriority(vec![0.5].into())),
            ("headroom", ParamValue::Bytes(headroom * 256)),
            ("headroom_pool", ParamValue::Bytes(pool * 256)),
            ("reserved", ParamValue::Bytes(6 * 256)),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let switch = config.build("sonic-dt", &params).expect("it fits");
        Chip { switch, senders: Senders(vec![false; 4]) }
    };
    let points = |chip: &mut Chip, from| {
        let packets = |chip: &mut Chip, until: &dyn Fn(&Chip, bool) -> bool| {
            (1..)
                .find(|_| {
                    let stored = chip.send(from, 1, 1);
                    until(chip, stored)
                })
                .expect("an end")
        };
        let pause: u64 = packets(chip, &|chip, _| chip.is_paused(from));
        (pause, pause + packets(chip, &|_, stored| !stored))
    };
    assert_eq!(points(&mut group(12_332, 352, 704), 0), (4_117, 4_470));
    let mut full = group(15_105, 352, 352);
    assert_eq!(points(&mut full, 0), (5_041, 5_394));
    // The headroom pool is full. So the second group pauses its sender at the usual number of
    // packets and loses the next packet.
    assert_eq!(points(&mut full, 1), (3_363, 3_364));
}

#[test]
fn below_a_moving_threshold_the_same_offset_is_used_up_sooner() {
    let moving = Accounting { resume_below: ResumeBelow::Threshold, ..CHIP };
    let mut chip = Chip::new("sonic-dt", 1.0, &[], moving);
    chip.fill_to_pause(0);
    assert_eq!(chip.release_to_resume(0), OFFSET.div_ceil(2), "the threshold comes towards it");
}

#[test]
fn a_lossy_queue_has_its_minimum_and_its_share_in_every_slice() {
    let mut chip = Chip::new("sonic-dt", 1.0, &[], CHIP);
    let own = QUEUE_MINIMUM + share(1.0, SHARED);
    assert_eq!(chip.fill_to_loss(0, 3, 0), own, "from one slice");
    assert_eq!(chip.fill_to_loss(1, 3, 0), 0, "from the same one");
    assert_eq!(chip.fill_to_loss(2, 3, 0), own, "from the other one");
    // The reserved minimum of a lossy queue is available even after lossless groups have used their
    // maximum of the pool.
    let mut chip = Chip::new("sonic-dt", 64.0, &[], CHIP);
    chip.fill_to_pause(0);
    chip.fill_to_pause(1);
    assert!(chip.fill_to_loss(0, 2, 0) >= QUEUE_MINIMUM);
}

#[test]
fn headroom_pools_and_pools_are_divided_by_slices() {
    let pool = ParamValue::Bytes(2 * 350 * CELL);
    let mut chip = Chip::new("sonic-dt", 1.0, &[("headroom_pool", pool)], CHIP);
    chip.fill_to_pause(0);
    assert_eq!(chip.fill_to_loss(0, 3, 1), 300, "its own limit");
    chip.fill_to_pause(1);
    assert_eq!(chip.fill_to_loss(1, 3, 1), 50, "what the first one left of the slice's 350");
    chip.fill_to_pause(2);
    assert_eq!(chip.fill_to_loss(2, 3, 1), 300, "the other slice's");
    let given = ParamValue::Bytes(2 * 5_000 * CELL);
    let mut chip = Chip::new("sonic-dt", 1.0, &[("ingress_pool", given)], CHIP);
    assert_eq!(chip.fill_to_pause(0), MINIMUM + 2_500);
}

/// A priority group has alpha a_q, and its port has alpha a_p of the pool. The group gets q = a_p
/// a_q B / (1 + a_q + a_p a_q) (docs/evidence/silicon.md).
#[test]
fn two_levels_of_alpha_meet_where_testers_compute_them() {
    let one = Accounting { slices: 1, ..CHIP };
    for (of_port, of_group) in [(1.0, 1.0), (0.25, 4.0), (8.0, 0.5)] {
        let more = [("port_alpha", ParamValue::Ratio(of_port))];
        let mut chip = Chip::new("sonic-dt", of_group, &more, one);
        let shared = SHARED as f64;
        let expected = of_port * of_group * shared / (1.0 + of_group + of_port * of_group);
        let found = chip.fill_to_pause(0) - MINIMUM;
        assert!(found.abs_diff(expected as u64) <= 1, "{of_port}, {of_group}: {found} against {expected}");
    }
}

#[test]
fn thresholds_of_few_bits_are_lower_by_less_than_their_last_bit() {
    let coarse = Accounting { threshold_bits: 4, ..CHIP };
    let exact = Chip::new("sonic-dt", 1.0, &[], CHIP).fill_to_pause(0);
    let found = Chip::new("sonic-dt", 1.0, &[], coarse).fill_to_pause(0);
    assert!(found < exact && found * 8 >= exact * 7, "{found} of {exact}");
}

/// After every change, the test recomputes every byte count from the stored packets.
#[test]
fn accounts_of_slices_are_those_of_the_packets_stored() {
    for policy in ["sonic-dt", "sonic-abm"] {
        let mut chip = Chip::new(policy, 0.5, &[], CHIP);
        let mut random = RandomStream::new(7, "accounts", 0);
        for step in 0..60_000 {
            let (from, to) = (random.below(4) as u16, random.below(4) as u16);
            // The memory is nearly full most of the time, and empty at times.
            if (step / 6_000) % 2 == 0 || random.below(3) == 0 {
                chip.send(from, to, random.below(2) as u8);
            } else {
                let _ = chip.switch.poll_transmit(Time::ZERO, to, &mut chip.senders);
            }
            if step % 50 == 0 {
                check_accounts(&chip, policy, step);
            }
        }
    }
}

fn check_accounts(chip: &Chip, policy: &str, step: u64) {
    let buffer = chip.switch.buffer();
    for slice in 0..2_u16 {
        let of_slice = |stored: &&Stored| stored.ingress.0 / (2 * QUEUES) == slice;
        let mut lossy_pool = 0;
        let mut minimums = 0;
        for port in 0..PORTS {
            let packets = buffer.packets(buffer.queue_of(port, 0));
            let bytes: u64 = packets.filter(of_slice).map(|stored| u64::from(stored.header.size)).sum();
            lossy_pool += bytes.saturating_sub(QUEUE_MINIMUM * CELL);
            minimums += bytes.min(QUEUE_MINIMUM * CELL);
        }
        let mut shared = 0;
        for ingress in (0..2 * QUEUES).map(|queue| IngressId(slice * 2 * QUEUES + queue)) {
            let bytes = buffer.queue_ids().flat_map(|queue| buffer.packets(queue).collect::<Vec<_>>());
            let bytes: u64 =
                bytes.filter(|stored| stored.ingress == ingress).map(|s| u64::from(s.header.size)).sum();
            assert_eq!(bytes, buffer.ingress_bytes(ingress), "{policy}, step {step}");
            let outside = bytes - buffer.ingress_headroom_bytes(ingress);
            let reserve = if ingress.0 % QUEUES == 1 { MINIMUM * CELL } else { 0 };
            shared += outside.saturating_sub(reserve);
        }
        let mut seen = Vec::new();
        let first = QueueId(slice * 2 * QUEUES);
        chip.switch.policy().probe(first, buffer, &mut |name, value| seen.push((name, value)));
        let value = |name| seen.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let free = (SHARED * CELL).saturating_sub(shared - minimums);
        assert_eq!(value("ingress_pool_free"), Some(free as f64), "{policy}, step {step}, slice {slice}");
        let lossy_free = (SHARED * CELL).saturating_sub(lossy_pool);
        assert_eq!(value("lossy_pool_free"), Some(lossy_free as f64), "{policy}, step {step}, slice {slice}");
    }
}

#[test]
fn abm_and_reverie_divide_each_slice_too() {
    for policy in ["sonic-abm", "reverie"] {
        let mut chip = Chip::new(policy, 1.0, &[], CHIP);
        let alone = chip.fill_to_pause(0);
        assert_eq!(chip.fill_to_pause(2), alone, "{policy}: the other slice knows nothing of it");
        let next = chip.fill_to_pause(1);
        assert!(next < alone, "{policy}: the same slice does: {next} of {alone}");
    }
}

#[test]
fn what_cannot_be_accounted_is_refused_with_a_reason() {
    let refused = |policy: &str, config: SwitchConfig| {
        config.build(policy, &[]).map(|_| ()).expect_err("it must be refused").message
    };
    let lossy = || SwitchConfig { lossless: 0, ..config(CHIP) };
    assert!(refused("dt", lossy()).contains("does not account by ingress port"));
    let hardware = config(CHIP).hardware;
    let reserves = Reserves { queue: 1_000, port: 0 };
    let with = |hardware| SwitchConfig { hardware, ..lossy() };
    assert!(refused("sonic-dt", with(Hardware { reserves, ..hardware })).contains("leave out queue_reserve"));
    let stale = Hardware { threshold_refresh: Some(Time::from_us(1)), ..hardware };
    assert!(refused("sonic-dt", with(stale)).contains("leave out threshold_refresh"));
    let many = Hardware { accounting: Accounting { slices: 5, ..CHIP }, ..hardware };
    assert!(refused("sonic-dt", with(many)).contains("5 slices for 4 ports"));
}

/// For any number of ports, every slice serves a port, and a group of every port can use the whole
/// pool of its slice.
#[test]
fn every_slice_has_ports_and_every_port_its_slice_of_the_memory() {
    for (ports, slices) in [(5_u16, 2), (5, 4), (6, 4), (9, 4), (11, 5), (11, 7), (11, 8), (13, 4)] {
        for policy in ["sonic-dt", "sonic-abm", "reverie"] {
            let accounting = Accounting { slices, ..CHIP };
            let cells = u64::from(slices) * (3 * HEADROOM * u64::from(ports) + SHARED);
            let hardware = Hardware { cell_bytes: CELL as u32, accounting, ..Hardware::IDEAL };
            let rates = vec![BitRate::gbps(100); usize::from(ports)];
            let config = SwitchConfig {
                max_packet: CELL,
                lossless: 0b10,
                hardware,
                ..SwitchConfig::new(cells * CELL, rates).with_queues(2)
            };
            let headroom = [("headroom".to_owned(), ParamValue::Bytes(HEADROOM * CELL))];
            let held: Vec<_> = (0..ports)
                .map(|from| {
                    let switch = config.build(policy, &headroom).expect("it fits");
                    let mut chip =
                        Chip { switch, senders: Senders(vec![false; usize::from(ports * QUEUES)]) };
                    let mut stored = 0;
                    while !chip.is_paused(from) {
                        assert!(chip.send(from, (from + 1) % ports, 1), "a lossless packet was lost");
                        stored += 1;
                    }
                    chip.switch.handle_timeout(Time::from_us(80), &mut ());
                    chip.switch.verify().expect("the ledger holds");
                    stored
                })
                .collect();
            let least = cells / u64::from(slices) / 3;
            assert!(held.iter().all(|&cells| cells > least), "{policy}, {ports} ports, {slices}: {held:?}");
        }
    }
}
