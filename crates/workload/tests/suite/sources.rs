//! Poisson and incast sources: senders, times, receivers, and independence from other settings.

use bufferlab_units::Time;
use bufferlab_workload::WORKLOADS;
use bufferlab_workload::{
    FlowSource, FlowSpec, IncastParams, IncastSource, MergeSource, Pattern, PoissonParams, PoissonSource,
    QueryNumbers, SizeDistribution, SourceError, arrivals_per_second_per_host,
};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the host numbers of three racks of four hosts: 0..4, 4..8, 8..12.
fn racks() -> Vec<Vec<u32>> {
    (0..3).map(|rack| (4 * rack..4 * rack + 4).collect()).collect()
}

fn rack_of(host: u32) -> u32 {
    host / 4
}

fn poisson(racks: &[Vec<u32>]) -> PoissonParams<'_> {
    PoissonParams {
        seed: 1,
        label: "web",
        racks,
        pattern: Pattern::AllToAll,
        between: None,
        flows_per_second_per_host: 1_000.0,
        sizes: SizeDistribution::builtin("web_search").unwrap(),
        class: 3,
        end: Time::from_ms(1_000),
    }
}

#[test]
fn only_the_named_hosts_send_and_receive_and_nobody_sends_to_itself() {
    let racks = racks();
    let between =
        |senders, receivers| PoissonParams { between: Some((senders, receivers)), ..poisson(&racks) };
    let flows = poisson_flows(between(&[1, 2], &[2, 5, 6]));
    let count = |src, dst| flows.iter().filter(|flow| (flow.src, flow.dst) == (src, dst)).count();
    // A sender has a thousand flows; five standard deviations of the binomial counts are 75 and 80.
    for (src, dst, expected) in [(1, 2, 333), (1, 5, 333), (1, 6, 333), (2, 5, 500), (2, 6, 500)] {
        assert!(count(src, dst).abs_diff(expected) < 130, "{src} to {dst}: {}", count(src, dst));
    }
    assert_eq!(flows.iter().filter(|flow| flow.src == flow.dst || flow.dst == 1 || flow.src > 2).count(), 0);
    let refused = PoissonSource::new(between(&[1, 2], &[2])).unwrap_err();
    assert_eq!(refused, SourceError::TooFewHosts { hosts: 1 });
}

fn incast(racks: &[Vec<u32>]) -> IncastParams<'_> {
    IncastParams {
        seed: 1,
        label: "queries",
        racks,
        pattern: Pattern::AllToAll,
        fan_in: 4,
        request_bytes: 1_001,
        queries_per_second_per_host: 100.0,
        persistent: true,
        class: 5,
        queries: QueryNumbers::default(),
        end: Time::from_ms(1_000),
    }
}

fn drain(mut source: impl FlowSource) -> Vec<FlowSpec> {
    let flows: Vec<_> = std::iter::from_fn(|| source.next_flow()).collect();
    assert!(source.next_flow().is_none(), "an exhausted source stays exhausted");
    assert!(flows.is_sorted_by_key(|flow| flow.start), "flows come by start");
    flows
}

fn poisson_flows(params: PoissonParams<'_>) -> Vec<FlowSpec> {
    drain(PoissonSource::new(params).unwrap())
}

/// Groups the flows of every query, which must be consecutive.
fn queries(params: IncastParams<'_>) -> Vec<Vec<FlowSpec>> {
    let flows = drain(IncastSource::new(params).unwrap());
    flows.chunk_by(|a, b| a.query == b.query).map(<[FlowSpec]>::to_vec).collect()
}

#[test]
fn poisson_hosts_start_as_many_flows_as_their_rate_says() {
    let racks = racks();
    let flows = poisson_flows(poisson(&racks));
    // The expectation is 12 hosts × 1000 flows; the tolerance is five standard deviations of
    // the Poisson count.
    assert!((flows.len() as f64 - 12_000.0).abs() < 5.0 * 12_000.0_f64.sqrt(), "{}", flows.len());
    for host in 0..12 {
        let count = flows.iter().filter(|flow| flow.src == host).count() as f64;
        assert!((count - 1_000.0).abs() < 5.0 * 1_000.0_f64.sqrt(), "host {host}: {count}");
    }
    assert!(flows.iter().all(|flow| flow.start < Time::from_ms(1_000) && flow.class == 3));
    assert!(flows.iter().all(|flow| flow.query == FlowSpec::NO_QUERY && flow.open.is_none()));
}

#[test]
fn gaps_of_a_poisson_host_are_exponential() {
    let racks = racks();
    let flows = poisson_flows(PoissonParams { end: Time::from_ms(10_000), ..poisson(&racks) });
    let starts: Vec<_> = flows.iter().filter(|flow| flow.src == 7).map(|flow| flow.start).collect();
    let gaps: Vec<_> = starts.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    // The test computes the Kolmogorov-Smirnov distance of the gaps to the exponential
    // distribution. This distance exceeds 1.95 / sqrt(n) for one seed in a thousand.
    let mut sorted = gaps.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = sorted.iter().enumerate().fold(0.0_f64, |worst, (rank, gap)| {
        let expected = 1.0 - (-gap * 1_000.0).exp();
        worst.max((rank as f64 / n - expected).abs()).max(((rank + 1) as f64 / n - expected).abs())
    });
    assert!(distance < 1.95 / n.sqrt(), "{distance} with {n} gaps");
    // Gaps are independent: the correlation of neighbours is zero within five standard errors.
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    let covariance = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / n;
    assert!((covariance / variance).abs() < 5.0 / n.sqrt());
}

#[test]
fn hosts_act_independently_of_each_other() {
    let racks = racks();
    let starts_are_apart = |starts: Vec<Time>| starts.iter().collect::<BTreeSet<_>>().len() == starts.len();
    let flows = poisson_flows(poisson(&racks));
    assert!(starts_are_apart(flows.iter().map(|flow| flow.start).collect()));
    assert!(starts_are_apart(queries(incast(&racks)).iter().map(|query| query[0].start).collect()));
    // The first size of every host is an independent draw.
    let sizes: BTreeSet<_> = by_host(&flows).values().map(|flows| flows[0].2).collect();
    assert_eq!(sizes.len(), 12);
}

#[test]
fn the_offered_load_is_the_one_asked_for() {
    let racks = racks();
    let sizes = SizeDistribution::builtin("web_search_hpcc").unwrap();
    let capacity_bps = 10e9;
    let rate = arrivals_per_second_per_host(0.6, capacity_bps, sizes.mean());
    let params = PoissonParams {
        flows_per_second_per_host: rate,
        sizes,
        end: Time::from_ms(10_000),
        ..poisson(&racks)
    };
    let bytes: u64 = poisson_flows(params).iter().map(|flow| flow.size).sum();
    let load = bytes as f64 * 8.0 / (12.0 * capacity_bps * 10.0);
    // The sizes of about 52,000 flows have a standard deviation of 2.2 means, so the
    // standard error of the load is 1 %.
    assert!((load / 0.6 - 1.0).abs() < 0.04, "{load}");
}

#[test]
fn flows_go_only_where_the_pattern_allows() {
    let racks = racks();
    for pattern in [Pattern::NextRack, Pattern::OtherRack, Pattern::AllToAll] {
        let flows = poisson_flows(PoissonParams { pattern, ..poisson(&racks) });
        let mut pairs = BTreeSet::new();
        for flow in &flows {
            pairs.insert((flow.src, flow.dst));
            let (from, to) = (rack_of(flow.src), rack_of(flow.dst));
            match pattern {
                Pattern::NextRack => assert_eq!(to, (from + 1) % 3),
                Pattern::OtherRack => assert_ne!(to, from),
                Pattern::AllToAll => assert_ne!(flow.dst, flow.src),
            }
        }
        let allowed = match pattern {
            Pattern::NextRack => 12 * 4,
            Pattern::OtherRack => 12 * 8,
            Pattern::AllToAll => 12 * 11,
        };
        assert_eq!(pairs.len(), allowed, "{pattern}: every allowed pair is used");
    }
}

#[test]
fn the_same_seed_gives_the_same_flows_and_another_seed_others() {
    let racks = racks();
    let flows = poisson_flows(poisson(&racks));
    assert_eq!(flows, poisson_flows(poisson(&racks)));
    let other = poisson_flows(PoissonParams { seed: 2, ..poisson(&racks) });
    assert_ne!(flows[..10], other[..10]);
    assert_eq!(queries(incast(&racks)), queries(incast(&racks)));
    assert_ne!(queries(incast(&racks)), queries(IncastParams { seed: 2, ..incast(&racks) }));
}

#[test]
fn the_first_flows_of_a_seed_never_change() {
    // A change of these expected numbers changes every result and needs a changelog entry.
    let racks = racks();
    let flows = poisson_flows(poisson(&racks));
    let head: Vec<_> = flows[..3].iter().map(|flow| (flow.start.0, flow.src, flow.dst, flow.size)).collect();
    assert_eq!(head, [(425_905_370, 4, 8, 15_756), (457_569_555, 0, 6, 9_056), (470_814_005, 11, 7, 21_819)]);
    let flows = queries(incast(&racks)).concat();
    let head: Vec<_> = flows[..3].iter().map(|flow| (flow.start.0, flow.src, flow.dst)).collect();
    assert_eq!(head, [(1_328_530_607, 6, 1), (1_328_530_607, 5, 1), (1_328_530_607, 11, 1)]);
}

/// Returns (start, destination, size) of every flow, by sending host.
fn by_host(flows: &[FlowSpec]) -> BTreeMap<u32, Vec<(Time, u32, u64)>> {
    let mut hosts = BTreeMap::<_, Vec<_>>::new();
    for flow in flows {
        hosts.entry(flow.src).or_default().push((flow.start, flow.dst, flow.size));
    }
    hosts
}

#[test]
fn sizes_partners_and_arrivals_do_not_disturb_each_other() {
    let racks = racks();
    let base = poisson_flows(poisson(&racks));
    let what =
        |flows: &[FlowSpec], f: fn(&FlowSpec) -> (u64, u32, u64)| flows.iter().map(f).collect::<Vec<_>>();

    let sizes = SizeDistribution::builtin("data_mining").unwrap();
    let resized = poisson_flows(PoissonParams { sizes, ..poisson(&racks) });
    let but_size: fn(&FlowSpec) -> _ = |flow| (flow.start.0, flow.src, u64::from(flow.dst));
    assert_eq!(what(&base, but_size), what(&resized, but_size));

    let repaired = poisson_flows(PoissonParams { pattern: Pattern::NextRack, ..poisson(&racks) });
    let but_partner: fn(&FlowSpec) -> _ = |flow| (flow.start.0, flow.src, flow.size);
    assert_eq!(what(&base, but_partner), what(&repaired, but_partner));
}

#[test]
fn a_higher_load_compresses_time_and_keeps_sizes_and_partners() {
    let racks = racks();
    let base = by_host(&poisson_flows(poisson(&racks)));
    let double =
        by_host(&poisson_flows(PoissonParams { flows_per_second_per_host: 2_000.0, ..poisson(&racks) }));
    for (host, flows) in base {
        for (slow, fast) in flows.iter().zip(&double[&host]) {
            assert_eq!((slow.1, slow.2), (fast.1, fast.2));
            // Every gap between arrivals is rounded to a picosecond.
            assert!(slow.0.0.abs_diff(2 * fast.0.0) < 2_000, "{} {}", slow.0, fast.0);
        }
    }
}

#[test]
fn more_hosts_do_not_change_the_arrivals_of_the_others() {
    let (few, mut many) = (racks(), racks());
    many.push(vec![12, 13, 14, 15]);
    let (few, many) = (by_host(&poisson_flows(poisson(&few))), by_host(&poisson_flows(poisson(&many))));
    for (host, flows) in few {
        let starts =
            |flows: &[(Time, u32, u64)]| flows.iter().map(|flow| (flow.0, flow.2)).collect::<Vec<_>>();
        assert_eq!(starts(&flows), starts(&many[&host]), "host {host}");
    }
}

#[test]
fn another_class_does_not_change_the_flows_of_this_one() {
    let racks = racks();
    let alone = poisson_flows(poisson(&racks));
    for queries_per_second_per_host in [0.0, 7.0, 300.0] {
        let other = IncastParams { queries_per_second_per_host, ..incast(&racks) };
        let merged = drain(MergeSource::new(vec![
            Box::new(IncastSource::new(other).unwrap()),
            Box::new(PoissonSource::new(poisson(&racks)).unwrap()),
        ]));
        let (mine, others): (Vec<_>, Vec<_>) = merged.into_iter().partition(|flow| flow.class == 3);
        assert_eq!(mine, alone);
        assert_eq!(others.is_empty(), queries_per_second_per_host == 0.0);
    }
}

#[test]
fn classes_with_different_labels_are_independent() {
    let racks = racks();
    let web = poisson_flows(poisson(&racks));
    let other = poisson_flows(PoissonParams { label: "web2", ..poisson(&racks) });
    let starts: BTreeSet<_> = web.iter().map(|flow| flow.start).collect();
    assert!(other.iter().all(|flow| !starts.contains(&flow.start)));
}

#[test]
fn a_query_is_answered_by_distinct_servers_that_the_pattern_allows_all_at_once() {
    let racks = racks();
    for (pattern, fan_in) in [
        (Pattern::NextRack, 4),
        (Pattern::NextRack, 2),
        (Pattern::OtherRack, 4),
        (Pattern::OtherRack, 3),
        (Pattern::AllToAll, 11),
        (Pattern::AllToAll, 5),
    ] {
        let mut pairs = BTreeSet::new();
        for query in queries(IncastParams { pattern, fan_in, ..incast(&racks) }) {
            let client = query[0].dst;
            let servers: BTreeSet<_> = query.iter().map(|flow| flow.src).collect();
            assert_eq!((query.len(), servers.len()), (fan_in as usize, fan_in as usize));
            assert!(query.iter().all(|flow| flow.dst == client && flow.start == query[0].start));
            let ranks: BTreeSet<_> = servers.iter().map(|&server| rack_of(server)).collect();
            match pattern {
                Pattern::NextRack => assert_eq!(ranks, [(rack_of(client) + 1) % 3].into()),
                Pattern::OtherRack => {
                    assert_eq!(ranks.len(), 1);
                    assert!(!ranks.contains(&rack_of(client)));
                }
                Pattern::AllToAll => assert!(!servers.contains(&client)),
            }
            pairs.extend(servers.into_iter().map(|server| (server, client)));
        }
        let allowed = match pattern {
            Pattern::NextRack => 12 * 4,
            Pattern::OtherRack => 12 * 8,
            Pattern::AllToAll => 12 * 11,
        };
        assert_eq!(pairs.len(), allowed, "{pattern} {fan_in}: every allowed pair is used");
    }
}

#[test]
fn every_server_answers_equally_often_and_none_is_always_first() {
    let racks = racks();
    let params = IncastParams { pattern: Pattern::OtherRack, fan_in: 3, ..incast(&racks) };
    let queries = queries(IncastParams { end: Time::from_ms(10_000), ..params });
    let mut answers = [0.0_f64; 12];
    let mut firsts = [0.0_f64; 12];
    for query in &queries {
        firsts[query[0].src as usize] += 1.0;
        query.iter().for_each(|flow| answers[flow.src as usize] += 1.0);
    }
    for host in 0..12 {
        let mean = queries.len() as f64 / 12.0;
        assert!((firsts[host] - mean).abs() < 5.0 * mean.sqrt(), "host {host}: {} first", firsts[host]);
        assert!((answers[host] - 3.0 * mean).abs() < 5.0 * (3.0 * mean).sqrt(), "host {host}");
    }
}

#[test]
fn queries_are_numbered_in_order_and_sources_share_numbers_without_meeting() {
    let racks = racks();
    let part = |index, label| {
        let queries = QueryNumbers::interleaved(10, index, 2);
        IncastSource::new(IncastParams { queries, label, ..incast(&racks) }).unwrap()
    };
    let numbers = |source| drain(source).chunk_by(|a, b| a.query == b.query).map(|q| q[0].query).collect();
    let (first, second): (Vec<u32>, Vec<u32>) = (numbers(part(0, "a")), numbers(part(1, "b")));
    assert!(first.len() > 1_000 && second.len() > 1_000);
    assert!(first.iter().zip((10..).step_by(2)).all(|(&number, expected)| number == expected));
    assert!(second.iter().zip((11..).step_by(2)).all(|(&number, expected)| number == expected));
}

#[test]
fn answers_carry_the_request_rounded_up_and_the_state_of_their_connection() {
    let racks = racks();
    let flows = queries(incast(&racks)).concat();
    assert!(flows.iter().all(|flow| flow.size == 251 && flow.class == 5));
    assert!(flows.iter().all(|flow| flow.open == Some(Time::ZERO)));
    let fresh = queries(IncastParams { persistent: false, ..incast(&racks) }).concat();
    assert!(fresh.iter().all(|flow| flow.open.is_none()));
    assert_eq!(fresh.len(), flows.len());
}

#[test]
fn clients_ask_as_many_queries_as_their_rate_says() {
    let racks = racks();
    let count = queries(IncastParams { end: Time::from_ms(10_000), ..incast(&racks) }).len() as f64;
    assert!((count - 12_000.0).abs() < 5.0 * 12_000.0_f64.sqrt(), "{count}");
}

#[test]
fn a_rate_of_zero_and_an_empty_window_give_no_flows() {
    let racks = racks();
    assert!(poisson_flows(PoissonParams { flows_per_second_per_host: 0.0, ..poisson(&racks) }).is_empty());
    assert!(poisson_flows(PoissonParams { end: Time::ZERO, ..poisson(&racks) }).is_empty());
    assert!(queries(IncastParams { queries_per_second_per_host: 0.0, ..incast(&racks) }).is_empty());
}

#[test]
fn impossible_parameters_are_refused_with_advice() {
    let racks = racks();
    let uneven = vec![vec![0, 1, 2], vec![3]];
    for rate in [-1.0, f64::NAN, f64::INFINITY, 1e13] {
        let refused =
            PoissonSource::new(PoissonParams { flows_per_second_per_host: rate, ..poisson(&racks) });
        assert!(matches!(refused, Err(SourceError::Rate { .. })), "{rate}");
    }
    let refuse = |params| IncastSource::new(params).unwrap_err();
    let fan_in = |racks, pattern, fan_in| refuse(IncastParams { pattern, fan_in, ..incast(racks) });
    assert_eq!(
        fan_in(&racks, Pattern::AllToAll, 12),
        SourceError::FanIn { fan_in: 12, pattern: Pattern::AllToAll, available: 11 }
    );
    assert_eq!(
        fan_in(&racks, Pattern::NextRack, 5).to_string(),
        "fan_in = 5 but pattern next_rack leaves only 4 servers for some client; \
         lower fan_in or use another pattern"
    );
    assert!(matches!(fan_in(&uneven, Pattern::OtherRack, 2), SourceError::FanIn { available: 1, .. }));
    assert!(matches!(fan_in(&racks, Pattern::OtherRack, 0), SourceError::EmptyQuery { .. }));
    assert!(matches!(
        refuse(IncastParams { request_bytes: 0, ..incast(&racks) }),
        SourceError::EmptyQuery { .. }
    ));
    assert!(matches!(
        refuse(IncastParams { queries_per_second_per_host: 1e9, ..incast(&racks) }),
        SourceError::TooManyQueries { .. }
    ));
}

#[test]
fn every_built_in_entry_keeps_the_rules_of_own_ones() {
    assert_eq!(WORKLOADS.verify(), Ok(()));
}
