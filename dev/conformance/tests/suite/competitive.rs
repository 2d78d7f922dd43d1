//! Compares policies with an offline optimum, on tiny instances of unit packets, and with Longest
//! Queue Drop.

use bufferlab_conformance::competitive::{Arrivals, Fates, Slotted, Timed, TimedPacket, standings};
use bufferlab_conformance::{Device, SwitchDevice};
use bufferlab_core::policy::Credence;
use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};

/// Proven competitive ratio of Longest Queue Drop.
const LQD_BOUND: f64 = 1.707;
const FIRST: (&str, &str) = ("ties", "first");

fn device(
    arrivals: &dyn Arrivals,
    policy: &str,
    words: &[(&str, &'static str)],
) -> Option<impl Device + use<>> {
    let params: Vec<_> =
        words.iter().map(|&(name, word)| (name.to_owned(), ParamValue::Choice(word.into()))).collect();
    Some(SwitchDevice::new(arrivals.config().build(policy, &params).ok()?))
}

fn sent(arrivals: &Slotted, policy: &str, words: &[(&str, &'static str)]) -> Option<u64> {
    Some(count(&arrivals.run(&mut device(arrivals, policy, words)?)))
}

fn count(fates: &Fates) -> u64 {
    fates.sent.iter().filter(|&&sent| sent).count() as u64
}

/// Returns all arrivals of `slots` slots with up to `most` packets each to two ports.
fn all_small(capacity_packets: u64, slots: u32, most: u32) -> impl Iterator<Item = Slotted> {
    let orders: Vec<Vec<u16>> = (0..=most)
        .flat_map(|packets| {
            (0..2_u16.pow(packets)).map(move |bits| (0..packets).map(|packet| bits >> packet & 1).collect())
        })
        .collect();
    (0..orders.len().pow(slots)).map(move |mut word| {
        let slots = (0..slots).map(|_| {
            let order = orders[word % orders.len()].clone();
            word /= orders.len();
            order
        });
        Slotted { ports: 2, capacity_packets, slots: slots.collect() }
    })
}

/// Draws random bursts to two to four ports, with a buffer of two to eight packets and
/// up to twelve slots.
fn random(seed: u64) -> Slotted {
    let mut stream = RandomStream::new(seed, "test/competitive", 0);
    let ports = 2 + stream.below(3) as usize;
    let capacity_packets = 2 + stream.below(7);
    let mut favourite = 0;
    let slots = (0..4 + stream.below(9)).map(|_| {
        if stream.below(2) == 0 {
            favourite = stream.below(ports as u64) as u16;
        }
        let packets = stream.below(2 * ports as u64 + 2);
        let mut port = || if stream.below(3) > 0 { favourite } else { stream.below(ports as u64) as u16 };
        (0..packets).map(|_| port()).collect()
    });
    Slotted { ports, capacity_packets, slots: slots.collect() }
}

fn instances() -> impl Iterator<Item = Slotted> {
    all_small(2, 3, 3).chain(all_small(3, 3, 2)).chain((0..600).map(random))
}

#[test]
fn no_policy_transmits_more_than_the_optimum() {
    let mut runs = 0;
    for arrivals in instances() {
        let optimum = arrivals.optimum();
        for info in POLICIES {
            // Some policies cannot be built with a buffer of so few packets.
            let Some(sent) = sent(&arrivals, info.name, &[]) else { continue };
            assert!(sent <= optimum, "{} sends {sent} of {optimum}: {arrivals:?}", info.name);
            runs += 1;
        }
    }
    assert!(runs > 10_000, "{runs}");
}

#[test]
fn longest_queue_drop_transmits_at_least_the_optimum_over_1_707() {
    let mut worst: f64 = 1.0;
    for arrivals in instances() {
        for ties in ["first", "random"] {
            let lqd = sent(&arrivals, "lqd", &[("ties", ties)]).expect("it fits");
            let ratio = arrivals.optimum() as f64 / lqd.max(1) as f64;
            assert!(ratio <= LQD_BOUND, "{ratio} for {arrivals:?}");
            worst = worst.max(ratio);
        }
    }
    // Longest Queue Drop is worse than the optimum here, so the test of its competitive ratio has a
    // meaning.
    assert!(worst > 1.05, "{worst}");
}

#[test]
fn thresholds_of_followlqd_are_the_queues_of_longest_queue_drop() {
    let mut compared = 0;
    for arrivals in instances() {
        let mut real = device(&arrivals, "lqd", &[FIRST]).expect("it fits");
        let mut follower = device(&arrivals, "followlqd", &[FIRST]).expect("it fits");
        let mut id = 0;
        for (slot, ports) in arrivals.slots.iter().enumerate() {
            for &port in ports {
                for device in [&mut real as &mut dyn Device, &mut follower] {
                    let _ = device.handle_arrival(Slotted::arrival_time(slot), &Slotted::packet(id, port));
                }
                id += 1;
                for queue in (0..arrivals.ports as u16).map(QueueId) {
                    let (threshold, length) =
                        (follower.threshold(queue, Tags::NONE), real.queue_bytes(queue));
                    assert_eq!(threshold, Some(length), "{queue:?} in slot {slot} of {arrivals:?}");
                    compared += 1;
                }
            }
            for port in 0..arrivals.ports as u16 {
                for device in [&mut real as &mut dyn Device, &mut follower] {
                    let _ = device.poll_transmit(Slotted::departure_time(slot), port);
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// Runs Credence with the drops under Longest Queue Drop as predictions. Every `flip`-th prediction
/// is inverted.
fn credence(arrivals: &Slotted, flip: Option<usize>) -> u64 {
    let fates = arrivals.run(&mut device(arrivals, "lqd", &[]).expect("it fits"));
    let mut drops = fates.drops();
    if let Some(flip) = flip {
        drops.iter_mut().step_by(flip).for_each(|drop| *drop = !*drop);
    }
    let config = arrivals.config();
    let info = find_policy("credence").expect("registered");
    let params = Params::resolve(info.params, Profile::Paper, &[]).expect("defaults");
    let policy = Credence::new(&params, &config.shape()).with_predictions(drops);
    count(&arrivals.run(&mut SwitchDevice::new(Switch::new(&config, policy))))
}

#[test]
fn credence_with_perfect_predictions_is_within_1_707_of_the_optimum() {
    for arrivals in instances() {
        let ratio = arrivals.optimum() as f64 / credence(&arrivals, None).max(1) as f64;
        assert!(ratio <= LQD_BOUND, "{ratio} for {arrivals:?}");
    }
}

#[test]
fn bad_predictions_cost_credence_packets_but_no_more_than_a_factor_of_the_ports() {
    let (mut perfect, mut some, mut wrong) = (0, 0, 0);
    for arrivals in instances() {
        let all_wrong = credence(&arrivals, Some(1));
        assert!(all_wrong * arrivals.ports as u64 >= arrivals.optimum(), "{all_wrong}: {arrivals:?}");
        perfect += credence(&arrivals, None);
        some += credence(&arrivals, Some(4));
        wrong += all_wrong;
    }
    assert!(perfect > some && some > wrong, "{perfect} {some} {wrong}");
}

/// One port takes the whole buffer and all freed space, so packets of other ports find no space.
#[test]
fn complete_sharing_falls_behind_by_nearly_the_number_of_ports() {
    let mut slots = vec![vec![0; 8]];
    slots.extend(vec![vec![0, 1, 2, 3]; 40]);
    let arrivals = Slotted { ports: 4, capacity_packets: 8, slots };
    let (optimum, sharing) = (arrivals.optimum(), sent(&arrivals, "cs", &[]).expect("it fits"));
    assert_eq!(sharing, 48, "port 0 alone: 8 + 40");
    // The optimum refuses 3 of the first 8 packets: one packet leaves and 4 packets wait. The 4
    // packets of each later slot fit.
    assert_eq!(optimum, 5 + 40 * 4);
    let lqd = sent(&arrivals, "lqd", &[]).expect("it fits");
    assert!(lqd as f64 > 0.95 * optimum as f64, "{lqd} of {optimum}");
}

/// Dynamic Thresholds reserve space that no other queue uses.
#[test]
fn dynamic_thresholds_store_a_third_of_a_lone_burst_that_fits() {
    let arrivals = Slotted { ports: 4, capacity_packets: 9, slots: vec![vec![2; 9]] };
    assert_eq!(arrivals.optimum(), 9);
    assert_eq!(sent(&arrivals, "lqd", &[]), Some(9));
    assert_eq!(sent(&arrivals, "dt", &[]), Some(3));
    let policies = ["dt", "cs"].map(|name| find_policy(name).expect("registered"));
    let standings = standings(&arrivals, &policies).expect("they fit");
    assert!((standings[0].lost_beyond_lqd() - 6.0 / 9.0).abs() < 1e-12);
    assert_eq!(standings[1].lost_beyond_lqd(), 0.0);
}

#[test]
fn the_optimum_of_instances_that_are_clear_by_hand() {
    let optimum = |capacity_packets, slots: &[&[u16]]| {
        let slots = slots.iter().map(|slot| slot.to_vec()).collect();
        Slotted { ports: 2, capacity_packets, slots }.optimum()
    };
    assert_eq!(optimum(2, &[]), 0);
    assert_eq!(optimum(2, &[&[0, 0, 0]]), 2);
    // One packet must be refused despite free space, so that port 1 can send in all three slots.
    assert_eq!(optimum(2, &[&[0, 0, 1], &[1], &[1]]), 4);
    // The buffer has room for 3 packets; the burst of two packets to port 1 arrives after one
    // packet has left.
    assert_eq!(optimum(3, &[&[0, 0, 0], &[1, 1]]), 4);
}

#[test]
fn timed_packets_are_all_accounted_for_and_an_idle_port_sends_at_once() {
    let mut config = SwitchConfig::new(6_000, vec![BitRate::gbps(10); 2]);
    config.max_packet = 1_500;
    let at = |ns, port, size| TimedPacket {
        at: Time::from_ns(ns),
        port,
        priority: 0,
        size,
        tags: Tags::NONE,
        flow: 0,
    };
    // The first packet leaves at once. Four packets of 1500 B fill the buffer, and one of these
    // packets leaves within 1.2 us.
    let mut packets = vec![at(0, 0, 1_500); 6];
    packets.extend([at(1_199, 1, 64), at(1_200, 1, 1_500)]);
    let fates = Timed { config: config.clone(), packets: packets.clone() }
        .run(&mut SwitchDevice::new(config.build("cs", &[]).expect("it fits")));
    assert_eq!(fates.sent, [true, true, true, true, true, false, false, true]);
    assert_eq!((fates.offered_bytes, fates.sent_bytes), (10_564, 9_000));
    assert!((fates.lost_share() - 1_564.0 / 10_564.0).abs() < 1e-12);
    // Longest Queue Drop evicts a large packet for the small packet.
    let standings = standings(&Timed { config, packets }, &[find_policy("lqd").expect("registered")]);
    let fates = &standings.expect("it fits")[0].fates;
    assert_eq!(fates.sent, [true, true, true, true, false, false, true, true]);
}
