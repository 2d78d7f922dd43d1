//! Tests collectives: numbers of transfers, bytes of each rank, depths, and closed forms.

use crate::evaluate::evaluate;
use bufferlab_schedule::{
    Algorithm, Collective, CollectiveError, Network, Networks, Operation, Schedule, ScheduleBuilder,
    Transfer, Work, expand, ideal_time,
};
use bufferlab_units::{BitRate, Time};

/// A network of 400 Gb/s, on which a byte takes 20 ps.
const FAST: Network = Network { latency: Time::from_us(3), rate: BitRate::gbps(400) };
const SCALE_UP: Network = Network { latency: Time::from_ns(700), rate: BitRate::gbps(800) };
/// Size of the collectives (bytes). Every number of ranks, chunks and channels in these tests
/// divides this size.
const BYTES: u64 = 720_720 * 128;

fn schedule(collective: &Collective<'_>) -> Schedule {
    let mut builder = ScheduleBuilder::new(collective.n());
    builder.class("collective").expect("one class");
    let ends = expand(&mut builder, collective, &[]).expect("it can be expanded");
    assert_eq!(ends.len(), collective.group.len());
    builder.build().expect("no cycles")
}

fn transfers(schedule: &Schedule) -> Vec<Transfer> {
    let work = schedule.nodes().map(|node| schedule.work(node));
    work.filter_map(|work| if let Work::Transfer(transfer) = work { Some(transfer) } else { None }).collect()
}

fn group(n: u32) -> Vec<u32> {
    (0..n).collect()
}

/// Numbers of ranks per server for a group.
/// The hierarchical algorithm uses all divisors other than 1 and n.
fn servers(algorithm: Algorithm, n: u32) -> Vec<u32> {
    let divisors = (2..n).filter(|size| n.is_multiple_of(*size));
    if algorithm == Algorithm::Hierarchical { divisors.collect() } else { vec![1] }
}

/// Lists every collective that is defined for `n` ranks, with one chunk.
fn every(n: u32, group: &[u32]) -> Vec<Collective<'_>> {
    let mut all = Vec::new();
    for operation in Operation::ALL {
        for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.executes(operation)) {
            for ranks_per_server in servers(algorithm, n) {
                let collective =
                    Collective { ranks_per_server, ..Collective::new(operation, algorithm, BYTES, group) };
                if collective.check().is_ok() {
                    all.push(collective);
                }
            }
        }
    }
    all
}

#[test]
fn every_collective_takes_its_closed_form_to_the_picosecond() {
    let mut forms = 0;
    for n in [2, 4, 8, 16, 32] {
        let group = group(n);
        for collective in every(n, &group) {
            let networks = Networks { inside: SCALE_UP, across: FAST };
            let ideal = ideal_time(&collective, &networks).expect("a closed form");
            let time = evaluate(&schedule(&collective), networks, collective.ranks_per_server);
            assert_eq!(time, ideal, "{collective:?}");
            forms += 1;
        }
    }
    assert!(forms > 70, "{forms}");
}

#[test]
fn groups_of_other_sizes_take_their_closed_forms_unless_a_tree_is_incomplete() {
    let networks = Networks { inside: SCALE_UP, across: FAST };
    for n in [1, 3, 5, 6, 7, 9, 12, 15] {
        let group = group(n);
        for collective in every(n, &group) {
            let time = evaluate(&schedule(&collective), networks, collective.ranks_per_server);
            match ideal_time(&collective, &networks) {
                Some(ideal) => assert_eq!(time, ideal, "{collective:?}"),
                None => {
                    assert!(matches!(collective.algorithm, Algorithm::Tree | Algorithm::DoubleBinaryTree));
                    // A tree is never faster than the next smaller complete tree.
                    let smaller = &collective.group[..1 << n.ilog2()];
                    let smaller = Collective { group: smaller, ..collective };
                    assert!(
                        time >= ideal_time(&smaller, &networks).expect("a power of two"),
                        "{collective:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn chunks_and_channels_take_their_closed_forms() {
    // With several latencies, sometimes the rate and sometimes the latency determines each step.
    for latency in [Time::from_ns(50), Time::from_us(3), Time::from_ms(1)] {
        let network = Network { latency, ..FAST };
        let networks = Networks { inside: network, across: network };
        for n in [2, 3, 4, 8, 16] {
            let group = group(n);
            for (chunks, channels) in [(1, 2), (4, 1), (2, 3), (16, 4)] {
                for collective in every(n, &group) {
                    let collective = Collective { chunks, channels, ..collective };
                    let Some(ideal) = ideal_time(&collective, &networks) else { continue };
                    let time = evaluate(&schedule(&collective), networks, 1);
                    assert_eq!(time, ideal, "{collective:?}");
                }
            }
        }
    }
}

#[test]
fn chunks_of_a_tree_overlap() {
    let networks = Networks { inside: FAST, across: FAST };
    for algorithm in [Algorithm::Tree, Algorithm::DoubleBinaryTree] {
        for n in [4, 8, 16] {
            let group = group(n);
            let whole = Collective::new(Operation::AllReduce, algorithm, BYTES, &group);
            let divided = Collective { chunks: 16, ..whole };
            let [slow, fast] = [whole, divided].map(|one| evaluate(&schedule(&one), networks, 1));
            assert!(fast < slow, "{algorithm} of {n}: {fast} {slow}");
            // A rank inside a tree sends the sum to its parent and the result to two children.
            let share = if algorithm == Algorithm::Tree { 3 * BYTES } else { 3 * BYTES / 2 };
            assert!(fast >= FAST.rate.serialization(share), "{algorithm} of {n}: {fast}");
        }
    }
}

/// Expected number of transfers, bytes that the busiest rank sends, and depth of the schedule.
fn expected(collective: &Collective<'_>) -> Option<(u64, u64, u64)> {
    let (n, s) = (u64::from(collective.n()), BYTES);
    let log = u64::from(n.ilog2());
    Some(match (collective.algorithm, collective.operation) {
        (Algorithm::Ring, Operation::AllReduce) => (2 * n * (n - 1), 2 * (n - 1) * s / n, 2 * (n - 1)),
        (Algorithm::Ring, Operation::Broadcast) | (_, Operation::Pipeline) => (n - 1, s, n - 1),
        (Algorithm::Ring, _) => (n * (n - 1), (n - 1) * s / n, n - 1),
        (Algorithm::Direct, Operation::AllReduce) => (2 * n * (n - 1), 2 * (n - 1) * s / n, 2),
        (Algorithm::Direct, Operation::Broadcast) => (n - 1, (n - 1) * s, 1),
        (Algorithm::Direct, _) => (n * (n - 1), (n - 1) * s / n, 1),
        (Algorithm::HalvingDoubling, Operation::AllReduce) => (2 * n * log, 2 * (n - 1) * s / n, 2 * log),
        (Algorithm::HalvingDoubling, Operation::Broadcast) => (n - 1 + n * log, 2 * (n - 1) * s / n, 2 * log),
        (Algorithm::HalvingDoubling, Operation::AllToAll) => (n * log, log * s / 2, log),
        (Algorithm::HalvingDoubling, _) => (n * log, (n - 1) * s / n, log),
        (Algorithm::Tree, Operation::AllReduce) if n.is_power_of_two() => {
            (2 * (n - 1), s * log.clamp(1, 2) + s * u64::from(n > 2), 2 * log)
        }
        (Algorithm::Tree, Operation::Broadcast) if n.is_power_of_two() => (n - 1, s * log.min(2), log),
        (Algorithm::DoubleBinaryTree, _) if n.is_power_of_two() => {
            (4 * (n - 1), if n > 2 { 2 * s } else { s }, 2 * log)
        }
        _ => return None,
    })
}

#[test]
fn transfers_bytes_and_depths_follow_from_the_algorithm() {
    let mut checked = 0;
    for n in [2, 3, 4, 5, 6, 8, 16] {
        let group = group(n);
        for collective in every(n, &group) {
            let Some(expected) = expected(&collective) else { continue };
            let schedule = schedule(&collective);
            let transfers = transfers(&schedule);
            let sent =
                |rank: u32| transfers.iter().filter(|one| one.src == rank).map(|one| one.bytes).sum::<u64>();
            let most = (0..n).map(sent).max().expect("some ranks");
            let found = (transfers.len() as u64, most, u64::from(schedule.depth()));
            assert_eq!(found, expected, "{collective:?}");
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked}");
}

#[test]
fn a_hierarchical_all_reduce_keeps_most_bytes_inside_the_servers() {
    let group = group(16);
    let collective = Collective {
        ranks_per_server: 8,
        ..Collective::new(Operation::AllReduce, Algorithm::Hierarchical, BYTES, &group)
    };
    let all = transfers(&schedule(&collective));
    let bytes = |is_inside: bool| {
        let chosen = all.iter().filter(|one| (one.src / 8 == one.dst / 8) == is_inside && one.src == 3);
        chosen.map(|one| one.bytes).sum::<u64>()
    };
    assert_eq!(bytes(true), 2 * 7 * BYTES / 8);
    assert_eq!(bytes(false), 2 * BYTES / 8 / 2);
}

#[test]
fn a_rank_receives_all_parts_even_if_they_do_not_divide() {
    let group = group(7);
    for algorithm in [Algorithm::Ring, Algorithm::Direct] {
        let collective =
            Collective { chunks: 1, ..Collective::new(Operation::AllGather, algorithm, 1_000, &group) };
        let all = transfers(&schedule(&collective));
        let received = |rank: u32| all.iter().filter(|one| one.dst == rank).map(|one| one.bytes).sum::<u64>();
        // 1000 = 7 · 142 + 6: the rank of the last part has 142 bytes, all other ranks have 143.
        let parts: Vec<_> = (0..7).map(received).collect();
        assert_eq!(parts.iter().filter(|bytes| **bytes == 857).count(), 6, "{parts:?}");
        assert_eq!(parts.iter().filter(|bytes| **bytes == 858).count(), 1, "{parts:?}");
    }
}

#[test]
fn a_collective_begins_after_its_entry_and_ends_in_a_barrier_per_rank() {
    let group = group(4);
    let networks = Networks { inside: FAST, across: FAST };
    for collective in every(4, &group) {
        let mut builder = ScheduleBuilder::new(4);
        builder.class("collective").expect("one class");
        let compute = |rank| Work::Compute { rank, lane: 0, duration: Time::from_ms(5) };
        let entry: Vec<_> = (0..4).map(|rank| builder.node(compute(rank)).expect("a rank")).collect();
        let first = expand(&mut builder, &collective, &entry).expect("it can be expanded");
        let second = expand(&mut builder, &collective, &first).expect("it can be expanded");
        assert_eq!(second.len(), 4);
        let time = evaluate(&builder.build().expect("no cycles"), networks, collective.ranks_per_server);
        let ideal = ideal_time(&collective, &networks).expect("a closed form");
        assert!(time >= Time(5_000_000_000 + ideal.0), "{collective:?}: {time}");
        assert!(time <= Time(5_000_000_000 + 2 * ideal.0), "{collective:?}: {time}");
    }
}

#[test]
fn collectives_that_cannot_be_expanded_are_refused_with_the_reason() {
    let group = group(6);
    let refused = |collective: Collective<'_>| collective.check().expect_err("it is refused").to_string();
    let ring = Collective::new(Operation::AllReduce, Algorithm::Ring, 1, &group);
    let of = |operation, algorithm| Collective { operation, algorithm, ..ring };
    assert_eq!(
        refused(of(Operation::AllReduce, Algorithm::HalvingDoubling)),
        "halving_doubling needs a power of two, found 6 ranks; use ring, or a group of 4 ranks"
    );
    assert_eq!(
        refused(of(Operation::AllToAll, Algorithm::Tree)),
        "tree does not execute all_to_all; expected ring, halving_doubling, direct, hierarchical"
    );
    assert_eq!(
        refused(Collective { ranks_per_server: 4, ..of(Operation::AllReduce, Algorithm::Hierarchical) }),
        "6 ranks do not fill servers of 4 ranks; choose a divisor of 6"
    );
    assert_eq!(
        refused(Collective { chunks: 2, ..of(Operation::AllToAll, Algorithm::Direct) }),
        "direct has no chunks and channels for all_to_all; set both to 1"
    );
    assert_eq!(Collective { bytes: 0, ..ring }.check(), Err(CollectiveError::Nothing));
    assert_eq!(Collective { group: &[1, 2, 1], ..ring }.check(), Err(CollectiveError::Twice(1)));
}
