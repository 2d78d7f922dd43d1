//! Made-up results in a simulator's format, for tests and for viewing pages. The numbers come from
//! arithmetic for one bottleneck and are not realistic.

use bufferlab_metrics::{
    DropRow, FlowRow, FlowState, HistogramRow, LinkRow, OccupancyHistogram, QueryRow, QueueRow, RunSink,
    RunTotals, Scope, SeriesRow,
};
use bufferlab_results::{NameTables, PolicyHead, RunHeader, RunWriter};
use bufferlab_units::RandomStream;
use std::path::Path;

/// Assumed behaviour of a policy in made-up test runs.
#[derive(Clone, Copy)]
pub(crate) struct Behaviour {
    /// Name of the policy's folder, and registry name of the policy.
    pub name: &'static str,
    /// Title of the policy in reports.
    pub title: &'static str,
    /// Relative queueing delay of flows with this policy.
    pub delay: f64,
    /// Fraction of packets that are lost with this policy.
    pub loss: f64,
    /// Threshold of a queue as a fraction of the buffer.
    pub threshold: f64,
}

/// Policies of the made-up test runs, with their assumed behaviour.
#[allow(dead_code, reason = "not every user needs all of them")]
pub(crate) const POLICIES: [Behaviour; 4] = [
    Behaviour { name: "dt", title: "Dynamic Thresholds", delay: 1.0, loss: 4e-3, threshold: 0.33 },
    Behaviour { name: "abm", title: "Active Buffer Management", delay: 0.55, loss: 1e-3, threshold: 0.2 },
    Behaviour {
        name: "tdt",
        title: "Traffic-aware Dynamic Threshold",
        delay: 0.8,
        loss: 1.6e-3,
        threshold: 0.5,
    },
    Behaviour { name: "complete-sharing", title: "Complete Sharing", delay: 1.4, loss: 6e-3, threshold: 1.0 },
];

const BUFFER: u64 = 4_000_000;
const DURATION_NS: u64 = 20_000_000;
const RATE: u64 = 10_000_000_000;

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

/// Returns the header of a made-up test run.
pub(crate) fn head(policy: Behaviour, seed: u64) -> RunHeader {
    RunHeader {
        bufferlab_version: "0.1.0".into(),
        git_commit: Some("0123abc".into()),
        scenario_name: "websearch-incast".into(),
        scenario_description: "Web search at 60 % load with incast queries of 30 % of the buffer.".into(),
        scenario_toml: format!(
            "name = \"websearch-incast\"\nseed = {seed}\n\n[switch]\npolicy = \"{}\"\nbuffer = \"4 MB\"\n",
            policy.name
        ),
        inputs: Vec::new(),
        profile: "paper".into(),
        seed,
        policy: PolicyHead {
            name: policy.name.into(),
            title: policy.title.into(),
            params: vec![("alpha".into(), "0.5".into()), ("interval".into(), "\"80 us\"".into())],
        },
        variant: None,
        lossless_priorities: Vec::new(),
        duration_ns: DURATION_NS,
        drain_ns: 10_000_000,
        short_flow_bytes: 100_000,
        sample_interval_ns: 10_000,
        sample_switch: Some("leaf-0".into()),
        names: NameTables {
            classes: vec!["websearch".into(), "incast".into()],
            switches: [names("leaf-", 2), names("spine-", 2)].concat(),
            hosts: names("h", 16),
            schedules: Vec::new(),
        },
    }
}

/// Writes a made-up test run with `flows` flows to the folder `dir`.
pub(crate) fn write_run(dir: &Path, policy: Behaviour, seed: u64, flows: u64) {
    let head = head(policy, seed);
    let names = head.names.clone();
    let mut writer = RunWriter::create(dir, head).unwrap();
    // Arrivals are equal for every policy; delays and losses differ.
    let mut arrivals = RandomStream::new(seed, "arrivals", 0);
    let mut fate = RandomStream::new(seed, policy.name, 1);
    let mut finished = 0;
    let mut sent = 0;
    for flow_id in 0..flows {
        let row = flow(flow_id, flows, policy, &mut arrivals, &mut fate);
        finished += u64::from(row.fct_ns.is_some());
        sent += row.sent_packets;
        writer.flow(&row).unwrap();
    }
    for query_id in 0..(flows / 80) as u32 {
        writer.query(&query(query_id, policy, &mut arrivals, &mut fate)).unwrap();
    }
    occupancy(&mut writer, policy, seed);
    losses(&mut writer, policy, sent, &mut fate);
    links(&mut writer, &names, policy, &mut fate);
    let totals = RunTotals {
        classes: names.classes,
        switches: names.switches,
        hosts: names.hosts,
        buffer_bytes: vec![BUFFER; 4],
        end_ns: DURATION_NS + 4_000_000,
        packet_hops: sent * 5,
        events: sent * 9,
        flows,
        flows_finished: finished,
        peak_packets: 4_000,
        peak_flows: 300,
        lost_acks: 3,
        nearest_pause: None,
    };
    writer.finish(&totals, Vec::new(), None).unwrap();
}

fn flow(
    id: u64,
    flows: u64,
    policy: Behaviour,
    arrivals: &mut RandomStream,
    fate: &mut RandomStream,
) -> FlowRow {
    let incast = id % 5 == 4;
    let size_bytes =
        if incast { 75_000 } else { (700.0 * 10_f64.powf(arrivals.next_f64().powf(1.3) * 4.6)) as u64 + 1 };
    let ideal_ns = 20_000.0 + size_bytes as f64 * 0.8;
    let queueing = fate.exponential(60_000.0 * policy.delay) * if incast { 6.0 } else { 1.0 };
    let packets = size_bytes.div_ceil(1_440);
    let dropped = (0..packets).filter(|_| fate.next_f64() < policy.loss).count() as u64;
    let timeouts = u32::from(dropped > 0 && fate.next_f64() < 0.1);
    let fct = ideal_ns * 1.02 + queueing + f64::from(timeouts) * 5_000_000.0;
    let unfinished = id + 20 > flows && fate.next_f64() < 0.3 * policy.delay;
    FlowRow {
        flow_id: id,
        class: u16::from(incast),
        query_id: incast.then_some((id / 80) as u32),
        src_host: arrivals.below(8) as u32,
        dst_host: 8 + arrivals.below(8) as u32,
        size_bytes,
        start_ns: id * DURATION_NS / flows,
        state: if unfinished { FlowState::Unfinished } else { FlowState::Finished },
        fct_ns: (!unfinished).then_some(fct as u64),
        ideal_ns,
        slowdown: (!unfinished).then_some(fct / ideal_ns),
        sent_packets: packets + dropped,
        retransmitted_packets: dropped,
        timeouts,
        marked_packets: (packets as f64 * 0.2 * policy.delay) as u64,
        dropped_packets: dropped,
        ..FlowRow::default()
    }
}

fn query(query_id: u32, policy: Behaviour, arrivals: &mut RandomStream, fate: &mut RandomStream) -> QueryRow {
    let ideal_ns = 20_000.0 + 1_200_000.0 * 0.8;
    let timeouts = u32::from(fate.next_f64() < policy.loss * 40.0);
    let qct =
        ideal_ns * 1.05 + fate.exponential(400_000.0 * policy.delay) + f64::from(timeouts) * 5_000_000.0;
    QueryRow {
        query_id,
        class: 1,
        client_host: 8 + arrivals.below(8) as u32,
        fan_in: 16,
        request_bytes: 1_200_000,
        start_ns: arrivals.below(DURATION_NS),
        qct_ns: Some(qct as u64),
        ideal_ns,
        slowdown: Some(qct / ideal_ns),
        dropped_packets: u64::from(timeouts) * 3,
        timeouts,
    }
}

/// Writes an occupancy like a sawtooth with bursts, as samples and as a histogram.
fn occupancy(writer: &mut RunWriter, policy: Behaviour, seed: u64) {
    for switch in 0..4_u32 {
        let mut bursts = RandomStream::new(seed, "bursts", u64::from(switch));
        let mut histogram = OccupancyHistogram::default();
        let mut length = 0.0_f64;
        for sample in 0..2_400_u64 {
            let time_ns = sample * 10_000;
            if bursts.next_f64() < 0.02 {
                length += bursts.exponential(500_000.0);
            }
            length = (length * 0.97 - 1_500.0).max(0.0);
            let threshold = policy.threshold * (BUFFER as f64 - length).max(0.0);
            let queue = length.min(threshold) as u64;
            let total = (queue as f64 * (1.2 + policy.delay)).min(BUFFER as f64) as u64;
            histogram.set(time_ns * 1_000, total);
            if switch == 0 {
                let row = |scope, port, priority, occupancy_bytes, threshold_bytes| SeriesRow {
                    time_ns,
                    scope,
                    switch,
                    port,
                    priority,
                    occupancy_bytes,
                    threshold_bytes,
                };
                let limit = Some(threshold as u64);
                writer.series(&row(Scope::Switch, None, None, total, None)).unwrap();
                writer.series(&row(Scope::Queue, Some(2), Some(1), queue, limit)).unwrap();
                writer.series(&row(Scope::Queue, Some(3), Some(1), queue / 3, limit)).unwrap();
            }
        }
        histogram.close(24_000_000_000);
        for bin in histogram.bins() {
            let row = HistogramRow {
                scope: Scope::Switch,
                switch,
                from_bytes: bin.from,
                to_bytes: bin.to,
                time_ns: bin.time / 1_000,
                ..HistogramRow::default()
            };
            writer.histogram(&row).unwrap();
        }
    }
}

fn losses(writer: &mut RunWriter, policy: Behaviour, sent: u64, fate: &mut RandomStream) {
    for switch in 0..4 {
        for port in 0..6 {
            let arrived_packets = sent / 24;
            let lost = (arrived_packets as f64 * policy.loss * (0.4 + fate.next_f64())) as u64;
            let row = QueueRow {
                switch,
                port,
                priority: 1,
                arrived_packets,
                enqueued_packets: arrived_packets - lost,
                enqueued_bytes: (arrived_packets - lost) * 1_500,
                dropped_packets: lost,
                marked_packets: arrived_packets / 6,
                max_bytes: 1_000_000,
                mean_bytes: 12_345.5,
                ..QueueRow::default()
            };
            writer.queue(&row).unwrap();
            for (reason, packets) in [("over-threshold", lost * 3 / 4), ("buffer-full", lost / 4)] {
                let row =
                    DropRow { switch, port, priority: 1, class: 1, reason, packets, bytes: packets * 1_500 };
                writer.drops(&row).unwrap();
            }
        }
    }
}

fn links(writer: &mut RunWriter, names: &NameTables, policy: Behaviour, fate: &mut RandomStream) {
    let mut link = |from: &str, to: &str, role: &'static str, load: f64| {
        let utilisation = load * (0.8 + 0.4 * fate.next_f64()) * (1.0 - policy.loss);
        let row = LinkRow {
            from: from.to_owned(),
            to: to.to_owned(),
            role,
            rate_bps: RATE,
            tx_packets: 10_000,
            tx_bytes: 15_000_000,
            marked_packets: 100,
            utilisation,
            ..LinkRow::default()
        };
        writer.link(&row).unwrap();
    };
    for (number, host) in names.hosts.iter().enumerate() {
        let leaf = &names.switches[number / 8];
        link(host, leaf, "host-up", 0.3);
        link(leaf, host, "host-down", 0.35);
    }
    for leaf in &names.switches[..2] {
        for spine in &names.switches[2..] {
            link(leaf, spine, "up", 0.6);
            link(spine, leaf, "down", 0.62);
        }
    }
}

/// Writes made-up test runs to `<dir>/<policy>/seed-<n>/` for every policy and seed.
#[allow(dead_code, reason = "not every user needs it")]
pub(crate) fn write_comparison(
    dir: &Path,
    policies: &[Behaviour],
    seeds: std::ops::RangeInclusive<u64>,
    flows: u64,
) {
    for policy in policies {
        for seed in seeds.clone() {
            write_run(&dir.join(policy.name).join(format!("seed-{seed}")), *policy, seed, flows);
        }
    }
}
