//! Tests of the order and the shares of schedulers through `Switch`.

use bufferlab_core::*;
use bufferlab_units::{BitRate, RandomStream, Time};
use std::sync::{Arc, Mutex};

const MTU: u32 = 1_500;

fn group(queues: &[u8], discipline: Discipline) -> Group {
    Group { queues: queues.to_vec(), discipline }
}

/// A switch of one port with `queues` queues and space for every packet.
fn one_port(groups: &[Group], queues: usize) -> Bench {
    let scheduler = Scheduler::new(groups, queues).expect("the groups fit");
    let config = SwitchConfig {
        queues_per_port: queues,
        scheduler,
        ..SwitchConfig::new(1 << 40, vec![BitRate::gbps(10)])
    };
    Bench { switch: Switch::new(&config, Box::new(policy::CompleteSharing)), now: Time::ZERO, next_id: 0 }
}

struct Bench {
    switch: Switch<Box<dyn Policy>>,
    now: Time,
    next_id: u32,
}

impl Bench {
    fn arrive(&mut self, queue: u8, size: u32) {
        let packet = Packet {
            id: self.next_id,
            header: Header { size, priority: queue, ..Header::default() },
            ..Packet::default()
        };
        self.next_id += 1;
        self.now += Time::from_ns(1);
        let admission = self.switch.handle_arrival(self.now, &packet, &mut ());
        assert_eq!(admission, Admission::Stored { marked: false });
    }

    fn fill(&mut self, queue: u8, packets: usize, size: u32) {
        for _ in 0..packets {
            self.arrive(queue, size);
        }
    }

    fn send(&mut self) -> Option<(u8, u32)> {
        self.now += Time::from_us(1);
        let sent = self.switch.poll_transmit(self.now, 0, &mut ())?;
        self.switch.verify().expect("the ledger holds");
        Some((sent.queue.0 as u8, sent.size))
    }

    /// Queue from which each of the next `n` packets leaves.
    fn order(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.send().expect("a packet waits").0).collect()
    }
}

#[test]
fn round_robin_alternates_packets_whatever_their_size() {
    let mut bench = one_port(&[group(&[0, 1, 2], Discipline::RoundRobin)], 3);
    bench.fill(0, 4, 64);
    bench.fill(1, 4, 9_216);
    bench.fill(2, 2, MTU);
    assert_eq!(bench.order(10), [0, 1, 2, 0, 1, 2, 0, 1, 0, 1]);
    assert_eq!(bench.send(), None);
}

#[test]
fn weighted_round_robin_sends_its_weights_per_round_from_the_first_queue_on() {
    let mut bench = one_port(&[group(&[0, 1, 2], Discipline::WeightedRoundRobin(vec![3, 1, 2]))], 3);
    for queue in 0..3 {
        bench.fill(queue, 12, MTU);
    }
    assert_eq!(bench.order(12), [0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2]);
}

#[test]
fn weighted_round_robin_passes_on_the_turn_of_a_queue_that_runs_empty() {
    let mut bench = one_port(&[group(&[0, 1], Discipline::WeightedRoundRobin(vec![4, 2]))], 2);
    bench.fill(0, 1, MTU);
    bench.fill(1, 5, MTU);
    assert_eq!(bench.order(3), [0, 1, 1]);
    bench.fill(0, 4, MTU);
    assert_eq!(bench.order(7), [0, 0, 0, 0, 1, 1, 1]);
}

#[test]
fn a_weight_of_one_is_plain_round_robin() {
    let mut weighted = one_port(&[group(&[0, 1, 2], Discipline::WeightedRoundRobin(vec![1; 3]))], 3);
    let mut plain = one_port(&[group(&[0, 1, 2], Discipline::RoundRobin)], 3);
    let mut stream = RandomStream::new(3, "test/weights", 0);
    for _ in 0..2_000 {
        if stream.below(5) < 2 {
            let queue = stream.below(3) as u8;
            weighted.arrive(queue, MTU);
            plain.arrive(queue, MTU);
        } else {
            assert_eq!(weighted.send(), plain.send());
        }
    }
}

#[test]
fn deficit_round_robin_shares_bytes_and_not_packets() {
    let quanta = [3_000, 6_000, 9_000];
    let mut bench = one_port(&[group(&[0, 1, 2], Discipline::DeficitRoundRobin(quanta.to_vec()))], 3);
    bench.fill(0, 40_000, 100);
    bench.fill(1, 6_000, 1_499);
    bench.fill(2, 2_000, 8_999);
    let mut bytes = [0_u64; 3];
    let rounds = 200;
    while bytes.iter().sum::<u64>() < rounds * quanta.iter().map(|&q| u64::from(q)).sum::<u64>() {
        let (queue, size) = bench.send().expect("all queues are backlogged");
        bytes[usize::from(queue)] += u64::from(size);
    }
    for (sent, quantum) in bytes.iter().zip(quanta) {
        let wanted = rounds * u64::from(quantum);
        // Shares of the queues are exact within one quantum and one packet, for any duration.
        assert!(sent.abs_diff(wanted) <= u64::from(quantum) + 9_216, "{bytes:?}");
    }
}

#[test]
fn deficit_round_robin_with_a_quantum_below_the_packet_size_still_sends_it() {
    let mut bench = one_port(&[group(&[0, 1], Discipline::DeficitRoundRobin(vec![100, 300]))], 2);
    bench.fill(0, 3, 1_000);
    bench.fill(1, 9, 1_000);
    let order = bench.order(12);
    assert_eq!(order[..8].iter().filter(|&&queue| queue == 0).count(), 2, "a quarter: {order:?}");
}

#[test]
fn a_queue_that_empties_takes_no_credit_into_its_next_burst() {
    let mut bench = one_port(&[group(&[0, 1], Discipline::DeficitRoundRobin(vec![3_000, 3_000]))], 2);
    bench.fill(1, 100, 1_000);
    for _ in 0..10 {
        // The queue uses a third of its quantum and becomes empty.
        bench.arrive(0, 1_000);
        while bench.send().expect("queue 1 is backlogged").0 != 0 {}
    }
    bench.fill(0, 10, 1_000);
    bench.fill(1, 10, 1_000);
    while bench.send().expect("both are backlogged").0 != 0 {}
    assert_eq!(bench.order(5), [0, 0, 1, 1, 1], "three packets per turn, not more");
}

#[test]
fn strict_priority_sends_the_lowest_queue_first() {
    let groups = [0, 1, 2].map(|queue| group(&[queue], Discipline::Fifo));
    let mut bench = one_port(&groups, 3);
    for queue in [2, 1, 0, 2, 1, 0] {
        bench.arrive(queue, MTU);
    }
    assert_eq!(bench.order(3), [0, 0, 1]);
    bench.arrive(0, MTU);
    assert_eq!(bench.order(4), [0, 1, 2, 2]);
}

#[test]
fn a_strict_queue_goes_before_the_deficit_round_robin_of_the_others() {
    let groups = [
        group(&[0], Discipline::Fifo),
        group(&[1, 2, 3], Discipline::DeficitRoundRobin(vec![3_000, 1_500, 1_500])),
    ];
    let mut bench = one_port(&groups, 4);
    for queue in 1..4 {
        bench.fill(queue, 8, MTU);
    }
    assert_eq!(bench.order(4), [1, 1, 2, 3]);
    bench.fill(0, 2, MTU);
    assert_eq!(bench.order(6), [0, 0, 1, 1, 2, 3], "the round goes on where it was");
}

#[test]
fn first_come_first_served_over_all_queues_of_a_group() {
    let mut bench = one_port(&[group(&[0, 1, 2], Discipline::Fifo)], 3);
    let arrivals = [2, 0, 1, 1, 2, 0, 0, 2, 1];
    for queue in arrivals {
        bench.arrive(queue, MTU);
    }
    assert_eq!(bench.order(9), arrivals);
}

#[test]
fn a_paused_priority_is_skipped_and_goes_on_afterwards() {
    for discipline in [
        Discipline::Fifo,
        Discipline::RoundRobin,
        Discipline::WeightedRoundRobin(vec![1; 3]),
        Discipline::DeficitRoundRobin(vec![MTU; 3]),
    ] {
        let mut bench = one_port(&[group(&[0, 1, 2], discipline.clone())], 3);
        for queue in [0, 1, 2, 0, 1, 2] {
            bench.arrive(queue, MTU);
        }
        bench.switch.handle_pause(0, 1, true);
        let mut while_paused = bench.order(4);
        while_paused.sort_unstable();
        assert_eq!(while_paused, [0, 0, 2, 2], "{discipline:?}");
        assert!(!bench.switch.wants_to_send(0));
        assert_eq!(bench.send(), None, "{discipline:?}: only paused packets are left");
        bench.switch.handle_pause(0, 1, false);
        assert!(bench.switch.wants_to_send(0));
        assert_eq!(bench.order(2), [1, 1], "{discipline:?}");
    }
}

#[test]
fn a_pause_elsewhere_does_not_cost_a_queue_its_deficit() {
    // The cursor of the second group is at queue 0 or 3, which belong to the first group.
    let groups = [
        group(&[0, 3], Discipline::DeficitRoundRobin(vec![1_000, 1_000])),
        group(&[1, 2], Discipline::DeficitRoundRobin(vec![1_000, 1_000])),
    ];
    let run = |pause: bool| {
        let mut bench = one_port(&groups, 4);
        bench.fill(0, 20, 600);
        bench.fill(3, 20, 600);
        bench.fill(1, 20, 600);
        bench.fill(2, 20, 600);
        // Queue 0 may still send 400 B in this round of deficit round robin.
        let mut order = bench.order(1);
        if pause {
            bench.switch.handle_pause(0, 0, true);
            bench.switch.handle_pause(0, 3, true);
            assert!(bench.order(6).iter().all(|queue| [1, 2].contains(queue)));
            bench.switch.handle_pause(0, 0, false);
            bench.switch.handle_pause(0, 3, false);
        }
        order.extend(bench.order(12));
        order
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_queue_that_joins_late_gets_its_share_and_no_more() {
    for discipline in [
        Discipline::RoundRobin,
        Discipline::WeightedRoundRobin(vec![2; 3]),
        Discipline::DeficitRoundRobin(vec![2 * MTU; 3]),
    ] {
        let mut bench = one_port(&[group(&[0, 1, 2], discipline.clone())], 3);
        bench.fill(0, 600, MTU);
        bench.fill(1, 600, MTU);
        bench.order(400);
        bench.fill(2, 600, MTU);
        let order = bench.order(300);
        for queue in 0..3 {
            let sent = order.iter().filter(|&&q| q == queue).count();
            assert!(sent.abs_diff(100) <= 2, "{discipline:?}: queue {queue} sent {sent} of 300");
        }
    }
}

/// A policy that records the empty queues that the scheduler visits.
#[derive(Debug, Default)]
struct Visits(Arc<Mutex<Vec<u16>>>);

impl Policy for Visits {
    fn admit(&mut self, _: &Arrival, _: &Buffer) -> Verdict {
        Verdict::Admit(Account::Shared)
    }
    fn hooks(&self) -> Hooks {
        Hooks::EMPTY_VISIT
    }
    fn on_empty_visit(&mut self, _: Time, queue: QueueId) {
        self.0.lock().expect("one thread").push(queue.0);
    }
}

#[test]
fn round_robin_reports_the_empty_queues_that_it_passes_but_no_paused_ones() {
    let config = SwitchConfig::new(1 << 20, vec![BitRate::gbps(10); 2]).with_queues(4);
    let visits = Arc::new(Mutex::new(Vec::new()));
    let mut switch = Switch::new(&config, Visits(Arc::clone(&visits)));
    for priority in [1, 1, 3, 2] {
        let packet = Packet {
            header: Header { size: MTU, priority, ..Header::default() },
            egress_port: 1,
            ..Packet::default()
        };
        let _ = switch.handle_arrival(Time::ZERO, &packet, &mut ());
    }
    switch.handle_pause(1, 2, true);
    let mut next = || {
        let sent = switch.poll_transmit(Time::ZERO, 1, &mut ()).expect("a packet waits");
        (sent.queue.0, std::mem::take(&mut *visits.lock().expect("one thread")))
    };
    assert_eq!(next(), (5, vec![4]), "queue 0 of port 1 is empty");
    assert_eq!(next(), (7, vec![]), "queue 2 is paused, not empty");
    assert_eq!(next(), (5, vec![4]), "the cursor wrapped and passed queue 0");
}

#[test]
#[should_panic(expected = "does not serve all 4 queues")]
fn a_scheduler_that_forgets_a_queue_is_refused() {
    let config = SwitchConfig { queues_per_port: 4, ..SwitchConfig::new(1 << 20, vec![BitRate::gbps(10)]) };
    let _ = Switch::new(&config, policy::CompleteSharing);
}

/// Between two departures of a backlogged, unpaused queue of a group, the group's other queues send
/// at most one round. The test draws packet sizes and pauses at random, and queues become empty and
/// backlogged at random.
#[test]
fn no_queue_of_a_group_starves() {
    for seed in 0..60 {
        let mut stream = RandomStream::new(seed, "test/starvation", 0);
        let queues = 2 + stream.below(7) as usize;
        let shares: Vec<u32> = (0..queues).map(|_| 1 + stream.below(4) as u32).collect();
        let quanta: Vec<u32> = shares.iter().map(|share| share * 9_216).collect();
        let total: u32 = shares.iter().sum();
        let all: Vec<u8> = (0..queues as u8).collect();
        for (discipline, round_packets, round_bytes) in [
            (Discipline::RoundRobin, queues as u64, u64::MAX),
            (Discipline::WeightedRoundRobin(shares.clone()), u64::from(total), u64::MAX),
            // Every queue may add one quantum and a remainder of the previous quantum,
            // less than a packet.
            (
                Discipline::DeficitRoundRobin(quanta),
                u64::MAX,
                u64::from(total) * 9_216 + queues as u64 * 9_216,
            ),
        ] {
            let mut bench = one_port(&[group(&all, discipline.clone())], queues);
            let mut paused = vec![false; queues];
            // Numbers of packets and bytes that other queues sent while the queue with this index
            // was ready to send.
            let mut waits = vec![(0_u64, 0_u64); queues];
            for _ in 0..3_000 {
                let queue = stream.below(queues as u64) as u8;
                match stream.below(20) {
                    0..9 => bench.arrive(queue, 64 + stream.below(9_153) as u32),
                    9 => {
                        let state = &mut paused[usize::from(queue)];
                        *state = !*state;
                        bench.switch.handle_pause(0, queue, *state);
                    }
                    _ => {
                        let Some((sender, size)) = bench.send() else { continue };
                        assert!(!paused[usize::from(sender)], "{discipline:?}: a paused queue sent");
                        for other in 0..queues {
                            let id = QueueId(other as u16);
                            let ready = !paused[other] && bench.switch.buffer().queue_packets(id) > 0;
                            let wait = &mut waits[other];
                            if other == usize::from(sender) || !ready {
                                *wait = (0, 0);
                            } else {
                                *wait = (wait.0 + 1, wait.1 + u64::from(size));
                            }
                            assert!(
                                wait.0 <= round_packets && wait.1 <= round_bytes,
                                "seed {seed}, {discipline:?}: queue {other} waited for {wait:?} packets and bytes"
                            );
                        }
                    }
                }
            }
        }
    }
}
