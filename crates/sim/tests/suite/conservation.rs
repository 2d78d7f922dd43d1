//! Tests of conservation: every packet, byte and picosecond of random networks is accounted for.

use crate::support::{Lab, Rows, flow, run, star};
use bufferlab_core::policy::POLICIES;
use bufferlab_metrics::Scope;
use bufferlab_scenario::{Multipath, Scenario};
use bufferlab_units::{RandomStream, Time};
use std::collections::BTreeMap;

/// Size of a full TCP segment with its headers (bits).
const LARGEST_FRAME_BITS: f64 = 8.0 * 1_454.0;

/// Generator of random scenarios.
struct Dice(RandomStream);

impl Dice {
    fn pick<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options[self.0.below(options.len() as u64) as usize]
    }

    fn coin(&mut self) -> bool {
        self.0.below(2) == 0
    }
}

/// A small random scenario, different for every seed. The scenarios of all seeds together have all
/// features, with buffers from a few packets per port to ample space.
fn random_scenario(seed: u64) -> (String, Scenario) {
    let mut dice = Dice(RandomStream::new(seed, "conservation", 0));
    let star = star(6, "10 Gb/s", "2 us");
    let (topology, ports) = [
        (star.as_str(), 6),
        (
            "kind = \"dumbbell\"\nhosts_per_side = 3\nhost_rate = \"10 Gb/s\"\nbottleneck_rate = \"4 Gb/s\"\n\
             delay = \"1 us\"\nbottleneck_delay = \"7 us\"",
            4,
        ),
        (
            "kind = \"leaf_spine\"\nleaves = 3\nhosts_per_leaf = 3\nspines = 2\nlinks_per_pair = 2\n\
             host_rate = \"10 Gb/s\"\nfabric_rate = \"7 Gb/s\"\ndelay = \"1 us\"",
            7,
        ),
        ("kind = \"fat_tree\"\nk = 4\nrate = \"10 Gb/s\"\ndelay = \"1 us\"", 4),
    ][dice.0.below(4) as usize];
    let topology = format!("multipath = \"{}\"\n{topology}", dice.pick(&["ecmp", "spray"]));
    let policy = POLICIES[dice.0.below(POLICIES.len() as u64) as usize].name;
    let queues = 1 + dice.0.below(4);
    let scheduler = match (dice.0.below(5), queues) {
        (0, _) => "\"fifo\"",
        (1, _) => "\"strict_priority\"",
        (2, 3) => {
            "[{ queues = [0] }, { queues = [1, 2], discipline = \"weighted_round_robin\", weights = [3, 1] }]"
        }
        (3, 2) => {
            "[{ queues = [0, 1], discipline = \"deficit_round_robin\", quanta = [\"1500 B\", \"4 KB\"] }]"
        }
        (3 | 4, 4) => {
            "[{ queues = [3] }, { queues = [0, 1, 2], discipline = \"deficit_round_robin\", quanta = [\"2 KB\", \"9 KB\", \
             \"1500 B\"] }]"
        }
        _ => "\"round_robin\"",
    };
    // A policy that partitions the buffer needs space for one packet per queue.
    let buffer = ports * queues * [1_500, 3_000, 10_000, 60_000][dice.0.below(4) as usize];
    let ecn = dice.pick(&[
        "",
        "ecn = { kind = \"step\", threshold = \"4 KB\" }",
        "ecn = { kind = \"step\", threshold = \"6 KB\", at = \"dequeue\", scope = \"port\" }",
        "ecn = { kind = \"red\", kmin = \"2 KB\", kmax = \"9 KB\", pmax = 0.3 }",
    ]);
    let uncharged = dice.pick(&["0 B", "22 B"]);
    let switch = format!(
        "buffer = \"{buffer} B\"\nqueues_per_port = {queues}\nscheduler = {scheduler}\npolicy = \"{policy}\"\n\
         uncharged_bytes = \"{uncharged}\"\n{ecn}"
    );
    let mut transport = || {
        format!(
            "congestion_control = \"{}\"\nsegment_bytes = \"{} B\"\ninitial_window = {}\nmin_rto = \"{}\"\n\
             initial_rto = \"300 us\"\nack_every = {}\ndelayed_ack_timeout = \"50 us\"\nhandshake = {}\n\
             unscheduled_bytes = \"{} KB\"\ndata_priority = {}",
            dice.pick(&[
                "newreno",
                "dctcp",
                "cubic",
                "ecn-star",
                "timely",
                "swift",
                "hpcc",
                "powertcp",
                "theta-powertcp"
            ]),
            dice.pick(&["1400", "700"]),
            dice.pick(&["1", "10", "\"whole\""]),
            dice.pick(&["60 us", "300 us", "1 ms"]),
            1 + dice.0.below(3),
            dice.coin(),
            dice.pick(&["0", "20"]),
            dice.0.below(queues),
        )
    };
    let (first, second) = (transport(), transport());
    let lab = Lab::new(&topology, &switch, &first)
        .transport(&second)
        .more(&format!("[host]\nnic = \"{}\"", dice.pick(&["fair", "fifo"])))
        .more(&format!("[output]\nsample_interval = \"{}\"", dice.pick(&["0 s", "20 us"])))
        .times("500 us", "1000 s")
        .seed(seed);
    let workloads = format!(
        "[[workload]]\nkind = \"poisson\"\ntransport = \"t0\"\nsizes = \"{}\"\nload = {}\nload_of = \"host_links\"\n\
         pattern = \"all_to_all\"\n\
         [[workload]]\nkind = \"incast\"\ntransport = \"t1\"\nrequest = \"{} KB\"\nfan_in = 3\n\
         queries_per_second_per_host = {}.0\npersistent = {}\npattern = \"all_to_all\"",
        dice.pick(&["20 KB", "3 KB", "900 B"]),
        dice.pick(&["0.1", "0.5", "1.0"]),
        dice.pick(&["3", "60"]),
        dice.pick(&["2500", "8000"]),
        dice.coin(),
    );
    (format!("seed {seed}: {policy}, {queues} queues, {buffer} B"), lab.workloads(&workloads))
}

#[test]
fn everything_is_accounted_for_in_any_network_under_any_load() {
    let (mut lossy, mut marked, mut evicted, mut delayed) = (0, 0, 0, 0);
    let mut drops_by_policy = BTreeMap::<String, u64>::new();
    for seed in 0..300 {
        let (name, scenario) = random_scenario(seed);
        let rows = run(&scenario);
        assert!(
            !rows.queries.is_empty() && rows.flows.iter().any(|flow| flow.query_id.is_none()),
            "{name} has traffic"
        );
        // Policies for equal delays give each port space in proportion to its rate. In a tiny
        // buffer, the space of a slow port is less than a packet. The run has still verified every
        // event.
        if !rows.all_finished() && scenario.switches.iter().any(|switch| switch.policy == "bshare-like") {
            continue;
        }
        assert!(rows.all_finished(), "{name}: every flow ends");
        check_flows(&name, &scenario, &rows);
        check_losses(&name, &rows);
        check_packets(&name, &scenario, &rows);
        check_histograms(&name, &rows);
        check_queries(&name, &rows);
        lossy += u32::from(rows.switch_losses() > 0);
        marked += u32::from(rows.flows.iter().any(|flow| flow.marked_packets > 0));
        delayed += u32::from(scenario.transports.iter().any(|transport| transport.ack_every > 1));
        evicted += rows.queues.iter().map(|queue| queue.evicted_packets).sum::<u64>();
        *drops_by_policy.entry(scenario.switches[0].policy.clone()).or_default() += rows.switch_losses();
    }
    // The random scenarios must have covered every feature, including policies that evict.
    assert!(
        lossy > 60 && marked > 20 && delayed > 60 && evicted > 0,
        "{lossy} lossy, {marked} with marks, {delayed} delayed"
    );
    assert_eq!(drops_by_policy.len(), POLICIES.len(), "{drops_by_policy:?}");
    assert!(drops_by_policy.values().all(|&drops| drops > 100), "{drops_by_policy:?}, {evicted} evicted");
}

/// Checks that the number of sent segments is the number of the flow's
/// segments plus the retransmissions.
fn check_flows(name: &str, scenario: &Scenario, rows: &Rows) {
    assert_eq!(rows.totals.flows, rows.flows.len() as u64, "{name}");
    assert_eq!(rows.totals.flows_finished, rows.flows.len() as u64, "{name}");
    for (number, flow) in rows.flows_by_number().into_iter().enumerate() {
        assert_eq!(flow.flow_id, number as u64, "{name}: numbers have no holes");
        let transport = &scenario.transports[transport_of(scenario, rows, flow.class)];
        let segments = flow.size_bytes.div_ceil(u64::from(transport.segment_bytes));
        assert_eq!(flow.sent_packets, segments + flow.retransmitted_packets, "{name}: {flow:?}");
        assert!(flow.marked_packets <= flow.sent_packets, "{name}: {flow:?}");
        assert!(transport.ecn_capable || flow.marked_packets == 0, "{name}: {flow:?}");
        if flow.dropped_packets == 0
            && flow.timeouts == 0
            && scenario.topology.multipath == Multipath::EcmpFlow
        {
            assert_eq!(flow.retransmitted_packets, 0, "{name}: nothing was lost: {flow:?}");
        }
    }
}

fn transport_of(scenario: &Scenario, rows: &Rows, class: u16) -> usize {
    let name = &rows.totals.classes[usize::from(class)];
    let workload = scenario.workloads.iter().find(|workload| workload.class == *name);
    workload.expect("a class is a workload").transport as usize
}

/// Checks that flows, queues and the table of drop reasons have equal losses.
fn check_losses(name: &str, rows: &Rows) {
    let by_flow: u64 = rows.flows.iter().map(|flow| flow.dropped_packets).sum();
    let by_reason: u64 = rows.drops.iter().map(|drop| drop.packets).sum();
    assert_eq!(by_flow, rows.switch_losses(), "{name}");
    assert_eq!(by_reason, rows.switch_losses(), "{name}");
    assert_eq!(rows.link_losses(), 0, "{name}: no link fails");
    for queue in &rows.queues {
        let key = (queue.switch, queue.port, queue.priority);
        let of_queue = rows.drops.iter().filter(|drop| (drop.switch, drop.port, drop.priority) == key);
        let packets: u64 = of_queue.clone().map(|drop| drop.packets).sum();
        assert_eq!(packets, queue.dropped_packets + queue.evicted_packets, "{name}: {queue:?}");
        assert!(
            of_queue
                .clone()
                .all(|drop| drop.bytes >= drop.packets * 30 && drop.bytes <= drop.packets * 1_454)
        );
        assert_eq!(
            queue.arrived_packets,
            queue.enqueued_packets + queue.dropped_packets,
            "{name}: {queue:?}"
        );
    }
    let classes: Vec<_> = (0..rows.totals.classes.len() as u16).collect();
    for class in classes {
        let lost: u64 = rows.drops.iter().filter(|drop| drop.class == class).map(|drop| drop.packets).sum();
        let of_flows = rows.flows.iter().filter(|flow| flow.class == class);
        assert_eq!(lost, of_flows.map(|flow| flow.dropped_packets).sum::<u64>(), "{name}: class {class}");
    }
}

/// Checks, per port and for the whole network, that every packet in a switch leaves the
/// switch or is lost in the switch.
fn check_packets(name: &str, scenario: &Scenario, rows: &Rows) {
    let hops: u64 = rows.links.iter().map(|link| link.tx_packets).sum();
    assert_eq!(hops, rows.totals.packet_hops, "{name}");
    for (index, switch) in (0..).zip(&rows.totals.switches) {
        let queues = || rows.queues.iter().filter(move |queue| queue.switch == index);
        let entered: u64 =
            rows.links.iter().filter(|link| link.to == *switch).map(|link| link.tx_packets).sum();
        assert_eq!(
            entered,
            queues().map(|queue| queue.arrived_packets).sum::<u64>(),
            "{name}: into {switch}"
        );
        let uncharged = u64::from(scenario.switches[index as usize].uncharged_bytes);
        for (port, link) in (0..).zip(rows.links.iter().filter(|link| link.from == *switch)) {
            let of_port = || queues().filter(move |queue| queue.port == port);
            let left: u64 = of_port().map(|queue| queue.enqueued_packets - queue.evicted_packets).sum();
            assert_eq!(left, link.tx_packets, "{name}: out of {switch}, port {port}");
            if of_port().all(|queue| queue.evicted_packets == 0) {
                let bytes: u64 = of_port().map(|queue| queue.enqueued_bytes).sum();
                assert_eq!(bytes + left * uncharged, link.tx_bytes, "{name}: bytes of {switch}, port {port}");
            }
            // A frame on the wire at the end of the arrival phase counts completely.
            let most = 1.0 + LARGEST_FRAME_BITS / (link.rate_bps as f64 * scenario.duration.as_secs_f64());
            assert!((0.0..=most).contains(&link.utilisation), "{name}: {link:?}");
        }
    }
    let of_role = |role: &'static str| {
        rows.links.iter().filter(move |link| link.role == role).map(|link| link.tx_packets)
    };
    let (sent, delivered): (u64, u64) = (of_role("host-up").sum(), of_role("host-down").sum());
    assert_eq!(sent, delivered + rows.switch_losses(), "{name}: packets of the network");
    let data: u64 = rows.flows.iter().map(|flow| flow.sent_packets).sum();
    assert!(data < sent, "{name}: data and acknowledgements");
}

/// Checks that a histogram covers the run's time, that its largest bin contains the maximum,
/// and that its mean agrees with the exact mean.
fn check_histograms(name: &str, rows: &Rows) {
    let mut scopes: Vec<_> =
        rows.histograms.iter().map(|row| (row.scope, row.switch, row.port, row.priority)).collect();
    scopes.dedup();
    let run_ns = rows.totals.end_ns;
    for &(scope, switch, port, priority) in &scopes {
        let bins = rows.histogram(scope, switch, port, priority);
        let time: u64 = bins.iter().map(|bin| bin.time_ns).sum();
        // The times of bins are rounded to the nearest nanosecond.
        assert!(
            time.abs_diff(run_ns) <= bins.len() as u64 / 2 + 1,
            "{name}: {scope:?} {port:?}: {time} of {run_ns}"
        );
        assert!(
            bins.windows(2).all(|pair| pair[0].to_bytes < pair[1].from_bytes),
            "{name}: bins do not overlap"
        );
        let last = bins.last().expect("a scope has bins");
        assert!(last.from_bytes <= rows.totals.buffer_bytes[switch as usize], "{name}: {last:?}");
        if let (Scope::Queue, Some(port), Some(priority)) = (scope, port, priority) {
            let queue = rows.queue(switch, port, priority);
            // The queue may have its largest length for zero time, and the histogram has no bin for
            // a length of zero duration.
            assert!(queue.max_bytes >= last.from_bytes, "{name}: {queue:?}, {last:?}");
            let weigh = |edge: fn(&&bufferlab_metrics::HistogramRow) -> u64| -> f64 {
                let sum: f64 = bins.iter().map(|bin| edge(bin) as f64 * bin.time_ns as f64).sum();
                sum / run_ns as f64
            };
            let (low, high) = (weigh(|bin| bin.from_bytes), weigh(|bin| bin.to_bytes));
            let slack = 1e-6 * high + queue.max_bytes as f64 * bins.len() as f64 / run_ns as f64;
            assert!(
                (low - slack..=high + slack).contains(&queue.mean_bytes),
                "{name}: {} not in {low}..={high}",
                queue.mean_bytes
            );
        }
    }
    let whole = scopes.iter().filter(|scope| scope.0 == Scope::Switch).count();
    assert_eq!(whole, rows.totals.switches.len(), "{name}: every switch has a histogram");
    for queue in rows.queues.iter().filter(|queue| queue.enqueued_packets > 0) {
        let key = (Scope::Queue, queue.switch, Some(queue.port), Some(queue.priority));
        assert!(scopes.contains(&key), "{name}: {queue:?} has a histogram");
        assert!(queue.max_bytes <= rows.totals.buffer_bytes[queue.switch as usize], "{name}: {queue:?}");
    }
}

/// Checks that the rows of queries agree with the rows of their flows.
fn check_queries(name: &str, rows: &Rows) {
    for query in &rows.queries {
        let flows = || rows.flows.iter().filter(|flow| flow.query_id == Some(query.query_id));
        assert_eq!(flows().count(), query.fan_in as usize, "{name}");
        assert!(
            flows().all(|flow| flow.dst_host == query.client_host && flow.start_ns == query.start_ns),
            "{name}"
        );
        assert_eq!(flows().map(|flow| flow.size_bytes).sum::<u64>(), query.request_bytes, "{name}");
        assert_eq!(flows().map(|flow| flow.dropped_packets).sum::<u64>(), query.dropped_packets, "{name}");
        assert_eq!(flows().map(|flow| flow.timeouts).sum::<u32>(), query.timeouts, "{name}");
        assert_eq!(flows().map(|flow| flow.fct_ns).max(), Some(query.qct_ns), "{name}");
    }
    let numbers: Vec<_> = rows.flows.iter().filter_map(|flow| flow.query_id).collect();
    assert!(
        numbers.iter().all(|number| rows.queries.iter().any(|query| query.query_id == *number)),
        "{name}"
    );
}

#[test]
fn hosts_send_and_receive_exactly_the_bytes_of_their_flows_when_nothing_is_lost() {
    let lab = Lab::new(
        "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\nhost_rate = \"10 Gb/s\"\ndelay = \"1 us\"",
        "buffer = \"100 MB\"\npolicy = \"cs\"",
        "congestion_control = \"newreno\"\nmin_rto = \"10 s\"\ninitial_rto = \"10 s\"",
    );
    let rows = run(&lab.times("2 ms", "1 s").workloads(
        "[[workload]]\nkind = \"poisson\"\nsizes = \"33 KB\"\nload = 0.9\nload_of = \"host_links\"\npattern = \"all_to_all\"",
    ));
    assert!(rows.flows.len() > 100 && rows.all_finished() && rows.switch_losses() == 0);
    assert!(rows.flows.iter().all(|flow| flow.retransmitted_packets == 0), "nothing is sent twice");
    for (host, name) in (0..).zip(&rows.totals.hosts) {
        let sent = || rows.flows.iter().filter(move |flow| flow.src_host == host);
        let received = || rows.flows.iter().filter(move |flow| flow.dst_host == host);
        // A frame has 54 B of headers and gets an acknowledgement of 54 B.
        // Each flow also sends 58 B of SYN or SYN-ACK.
        let packets =
            |flows: &mut dyn Iterator<Item = u64>| flows.map(|bytes| bytes.div_ceil(1_400)).sum::<u64>();
        let (out, back) =
            (packets(&mut sent().map(|f| f.size_bytes)), packets(&mut received().map(|f| f.size_bytes)));
        let payload: u64 = sent().map(|flow| flow.size_bytes).sum();
        let flows = (sent().count() + received().count()) as u64;
        let uplink = rows.links.iter().find(|link| link.from == *name).expect("a host has an uplink");
        assert_eq!(uplink.tx_packets, out + back + flows, "{name}");
        assert_eq!(uplink.tx_bytes, payload + 54 * out + 54 * back + 58 * flows, "{name}");
        let downlink = rows.links.iter().find(|link| link.to == *name).expect("a host has a downlink");
        let payload: u64 = received().map(|flow| flow.size_bytes).sum();
        assert_eq!(downlink.tx_packets, out + back + flows, "{name}");
        assert_eq!(downlink.tx_bytes, payload + 54 * out + 54 * back + 58 * flows, "{name}");
    }
}

#[test]
fn acks_that_a_full_buffer_drops_are_counted() {
    // Only ACKs have priority 0. The six large transfers to host 1 fill the buffer, and the ACKs of
    // the transfer from host 1 arrive at that full buffer.
    let switch = "buffer = \"58160 B\"\nqueues_per_port = 2\npolicy = \"cs\"";
    let lab = Lab::new(&star(8, "10 Gb/s", "5 us"), switch, "congestion_control = \"cubic\"");
    let mut flows: Vec<_> = [0, 2, 4, 5, 6, 7].map(|src| flow(src, 1, 10_000_000, Time::ZERO)).into();
    flows.push(flow(1, 3, 30_000_000, Time::ZERO));
    let rows = run(&lab.flows(flows));
    let acks: u64 = rows.drops.iter().filter(|row| row.priority == 0).map(|row| row.packets).sum();
    assert!(acks > 0 && acks < rows.switch_losses(), "{acks} of {}", rows.switch_losses());
    assert_eq!(rows.totals.lost_acks, acks);
}
