//! Tests that buffer profiles set the values of each queue, with a SONiC configuration.

use bufferlab_core::{
    Admission, Buffer, BufferProfile, BuildError, Direction, DropReason, Header, IngressId, Observer, Packet,
    ParamValue, Policy, QueueId, Refusal, Switch, SwitchConfig, SwitchEvent, ThresholdRule,
};
use bufferlab_units::{BitRate, Time};

const PORTS: usize = 4;
/// Size of a priority group in SONiC's examples, which is also the size of every
/// test packet (bytes).
const CELLED: u64 = 1_248;
/// Sizes of the pools of SONiC's example: ingress, and the shared headroom pool (bytes).
const INGRESS: u64 = 10_875_072;
const HEADROOM_POOL: u64 = 4_194_112;

/// Pauses and resumes that the switch sent to the senders.
#[derive(Default)]
struct PauseLog(Vec<(IngressId, bool)>);

impl Observer for PauseLog {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::PauseChanged { ingress, paused, .. } = *event {
            self.0.push((ingress, paused));
        }
    }
}

/// SONiC's `pg_lossless_*` profiles: 100 G over 40 m, 300 m at port 1, 40 G at port 2.
/// The list also has profiles of queues of lossy priorities.
fn sonic() -> Vec<BufferProfile> {
    let lossless = BufferProfile {
        priorities: vec![3, 4],
        threshold: Some(ThresholdRule::Dynamic(0.125)),
        reserved: Some(CELLED),
        headroom: Some(177_632),
        xon: Some(2_288),
        xon_offset: Some(2_288),
        ..BufferProfile::default()
    };
    let cable = |port, headroom| BufferProfile {
        ports: vec![port],
        priorities: vec![3, 4],
        headroom: Some(headroom),
        ..BufferProfile::default()
    };
    let lossy = BufferProfile {
        direction: Direction::Egress,
        priorities: vec![0],
        threshold: Some(ThresholdRule::Dynamic(8.0)),
        ..BufferProfile::default()
    };
    vec![lossless, cable(1, 268_736), cable(2, 71_552), lossy]
}

fn config(lossless_by_port: Vec<u32>) -> SwitchConfig {
    let queues = match lossless_by_port.as_slice() {
        [] => 2 * PORTS as u64,
        masks => masks.iter().map(|mask| u64::from(mask.count_ones())).sum(),
    };
    let capacity = INGRESS + HEADROOM_POOL + queues * CELLED;
    SwitchConfig {
        max_packet: CELLED,
        lossless: 0b1_1000,
        lossless_by_port,
        ..SwitchConfig::new(capacity, vec![BitRate::gbps(100); PORTS]).with_queues(8)
    }
}

fn build(
    policy: &str,
    config: &SwitchConfig,
    profiles: Vec<BufferProfile>,
) -> Result<Switch<Box<dyn Policy>>, BuildError> {
    let params = [
        ("profiles".to_owned(), ParamValue::Profiles(profiles.into())),
        ("headroom".to_owned(), ParamValue::Bytes(177_632)),
        ("headroom_pool".to_owned(), ParamValue::Bytes(HEADROOM_POOL)),
        ("lossy_pool".to_owned(), ParamValue::Ratio(0.85)),
    ];
    let lossy_pool = usize::from(policy != "reverie");
    config.build(policy, &params[..3 + lossy_pool])
}

fn packet(from: u16, to: u16, priority: u8) -> Packet {
    Packet {
        header: Header { size: CELLED as u32, priority, ..Header::default() },
        ingress_port: from,
        egress_port: to,
        ..Packet::default()
    }
}

/// Number of packets that the switch stored until the first pause, number of packets from the first
/// pause to the first loss, and reason of the loss.
fn fill(switch: &mut Switch<Box<dyn Policy>>, packet: &Packet) -> (u64, u64, DropReason) {
    let mut pauses = PauseLog::default();
    let (mut before, mut after) = (0, 0);
    loop {
        match switch.handle_arrival(Time::ZERO, packet, &mut pauses) {
            Admission::Refused(Refusal { reason, .. }) => return (before, after, reason),
            Admission::Stored { .. } if pauses.0.is_empty() => before += 1,
            Admission::Stored { .. } => after += 1,
        }
    }
}

#[test]
fn sonics_profiles_pause_at_a_ninth_of_the_pool_and_each_cable_has_its_headroom() {
    // The pool takes k packets with 8 k <= 10,875,072 / 1248 - (k - 1), so 968,
    // and one packet is in the reserve. The headroom takes xoff / 1248 packets.
    for (port, headroom) in [(0, 142), (1, 215), (2, 57), (3, 142)] {
        let mut switch = build("sonic-dt", &config(vec![]), sonic()).expect("it fits");
        assert_eq!(
            fill(&mut switch, &packet(port, 0, 3)),
            (969, headroom, DropReason::HeadroomFull),
            "{port}"
        );
        switch.verify().expect("the ledger holds");
    }
    // The number k of packets in the queue satisfies k <= 8 (9,243,811 / 1248 - (k - 1)).
    let mut switch = build("sonic-dt", &config(vec![]), sonic()).expect("it fits");
    assert_eq!(fill(&mut switch, &packet(0, 1, 0)), (6_584, 0, DropReason::OverThreshold));
    // The other lossy priorities still have alpha = 1, so each of these queues gets half of the
    // pool.
    let mut switch = build("sonic-dt", &config(vec![]), sonic()).expect("it fits");
    assert_eq!(fill(&mut switch, &packet(0, 1, 1)), (3_703, 0, DropReason::OverThreshold));
}

#[test]
fn a_paused_queue_resumes_its_own_offset_below_its_own_threshold() {
    let mut switch = build("sonic-dt", &config(vec![]), sonic()).expect("it fits");
    let mut pauses = PauseLog::default();
    for _ in 0..970 {
        switch.handle_arrival(Time::ZERO, &packet(0, 0, 3), &mut pauses);
    }
    assert_eq!(pauses.0, [(IngressId(3), true)]);
    // With j packets left in the queue, j - 1 are in the pool. The queue resumes at 1248 (j - 1) +
    // 2288 <= (10,875,072 - 1248 (j - 1)) / 8, so j - 1 <= 966.6.
    for left in (0..970).rev() {
        switch.poll_transmit(Time::ZERO, 0, &mut pauses).expect("it has packets");
        if pauses.0.len() > 1 {
            assert_eq!((left, pauses.0[1]), (967, (IngressId(3), false)));
            return;
        }
    }
    panic!("it never resumed");
}

#[test]
fn a_static_threshold_of_one_priority_leaves_the_others_dynamic() {
    let fixed = BufferProfile {
        priorities: vec![4],
        threshold: Some(ThresholdRule::Static(10 * CELLED)),
        ..BufferProfile::default()
    };
    let profiles = [sonic(), vec![fixed]].concat();
    // Expected number of packets before the packet that pauses the sender. Priority 4 pauses with
    // the eleventh packet, and one packet is in the reserve.
    for (priority, expected) in [(3, 969), (4, 10)] {
        let mut switch = build("sonic-dt", &config(vec![]), profiles.clone()).expect("it fits");
        assert_eq!(fill(&mut switch, &packet(0, 0, priority)).0, expected);
    }
}

#[test]
fn a_priority_that_is_lossless_on_some_ports_is_dropped_and_never_paused_on_the_others() {
    let mut masks = vec![0; PORTS];
    masks[0] = 0b1_1000;
    let config = config(masks);
    let of_port = BufferProfile { ports: vec![0], ..sonic().remove(0) };
    let mut switch = build("sonic-dt", &config, vec![of_port]).expect("it fits");
    let mut pauses = PauseLog::default();
    // Lossless packets in the egress queue do not count for the lossy packets of this queue.
    for _ in 0..500 {
        switch.handle_arrival(Time::ZERO, &packet(0, 2, 3), &mut pauses);
    }
    assert_eq!(switch.threshold(QueueId(2 * 8 + 3), bufferlab_core::Tags::NONE), Some(9_243_811));
    let (stored, paused, reason) = fill(&mut switch, &packet(1, 2, 3));
    assert_eq!((stored, paused, reason), (3_703, 0, DropReason::OverThreshold));
    // The port's lossless queue pauses its sender, and loses no packet before its headroom is full.
    let (_, headroom, reason) = fill(&mut switch, &packet(0, 2, 3));
    assert_eq!((headroom, reason), (142, DropReason::HeadroomFull));
    while switch.poll_transmit(Time::ZERO, 2, &mut pauses).is_some() {}
    switch.verify().expect("the ledger holds");
    let mut free = 0.0;
    switch.policy().probe(QueueId(0), switch.buffer(), &mut |name, value| {
        if name == "lossy_pool_free" {
            free = value;
        }
    });
    assert_eq!(free, 9_243_811.0);
}

#[test]
fn a_reserve_of_an_egress_queue_is_not_counted_in_its_pool() {
    let reserve = BufferProfile {
        direction: Direction::Egress,
        ports: vec![1],
        priorities: vec![0],
        threshold: Some(ThresholdRule::Static(CELLED)),
        reserved: Some(5 * CELLED),
        ..BufferProfile::default()
    };
    let mut switch = build("sonic-dt", &config(vec![]), vec![reserve]).expect("it fits");
    assert_eq!(fill(&mut switch, &packet(0, 1, 0)), (6, 0, DropReason::OverThreshold));
}

#[test]
fn profiles_without_effect_or_room_are_refused_with_the_reason() {
    let lossless = |change: fn(&mut BufferProfile)| {
        let mut profile = BufferProfile { priorities: vec![3], ..BufferProfile::default() };
        change(&mut profile);
        profile
    };
    for (policy, profile, why) in [
        ("sonic-dt", lossless(|profile| profile.ports = vec![9]), "expected at least one of alpha"),
        ("sonic-dt", lossless(|p| (p.ports, p.xon) = (vec![9], Some(1))), "port 9, and the switch has 4"),
        ("sonic-dt", lossless(|p| (p.priorities, p.xon) = (vec![8], Some(1))), "queues_per_port is 8"),
        ("sonic-dt", lossless(|p| (p.priorities, p.xon) = (vec![0], Some(1))), "it is lossy there"),
        ("sonic-dt", lossless(|p| p.headroom = Some(10)), "hold no packet of 1248 B"),
        ("sonic-dt", lossless(|p| p.reserved = Some(INGRESS)), "leave no room"),
        (
            "sonic-dt",
            lossless(|p| (p.direction, p.xon) = (Direction::Egress, Some(1))),
            "only ingress queues",
        ),
        ("sonic-dt", lossless(|p| (p.direction, p.reserved) = (Direction::Egress, Some(1))), "leave it out"),
        ("sonic-dt", lossless(|p| p.threshold = Some(ThresholdRule::Dynamic(0.0))), "expected an alpha"),
        ("sonic-abm", lossless(|p| p.threshold = Some(ThresholdRule::Dynamic(1.0))), "use sonic-dt"),
        ("reverie", lossless(|p| p.reserved = Some(1)), "one pool without reserves"),
    ] {
        let error = build(policy, &config(vec![]), vec![profile]).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    for policy in ["sonic-dt", "sonic-abm", "reverie"] {
        build(policy, &config(vec![]), vec![lossless(|p| p.xon = Some(1))]).expect("it fits");
    }
}
