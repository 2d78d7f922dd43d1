//! The table of all metrics, in the order of reports. One line declares a metric and the function
//! that computes the metric.

use super::declare::{Judged, MetricKind, MetricRow, Statistic, Wording, metrics};
use super::{Better, Unit};
use crate::buffer_sample::PriorityOccupancy;
use crate::bursts::{BurstBin, BurstGroup, DelayGroup};
use crate::pauses::{PauseTotal, Pauses};
use crate::schedules::ScheduleGroup;
use crate::summary::{FlowGroup, GroupKey, LinkRole, QueryGroup, RunSummary, SwitchOccupancy, Switching};

metrics! {
    /// Metrics of flows: all flows, short flows outside queries, and the flows of each class.
    FLOWS = Flows(FlowGroup) {
        "slowdown_mean": "FCT slowdown" Mean, Ratio, Lower, shown closed_loop, judged Judged::OfOthers(3) => |flows| Some(flows.slowdown?.mean);
        "slowdown_p50": "FCT slowdown" P50, Ratio, Lower => |flows| Some(flows.slowdown?.p50);
        "slowdown_p95": "FCT slowdown" P95, Ratio, Lower => |flows| Some(flows.slowdown?.p95);
        "slowdown_p99": "FCT slowdown" P99, Ratio, Lower, shown closed_loop, judged Judged::OfShort(2) => |flows| Some(flows.slowdown?.p99);
        "slowdown_p99_9": "FCT slowdown" P99_9, Ratio, Lower => |flows| Some(flows.slowdown?.p99_9);
        "fct_mean_us": "FCT" Mean, Microseconds, Lower => |flows| Some(us(flows.fct_ns?.mean));
        "fct_p50_us": "FCT" P50, Microseconds, Lower => |flows| Some(us(flows.fct_ns?.p50));
        "fct_p95_us": "FCT" P95, Microseconds, Lower => |flows| Some(us(flows.fct_ns?.p95));
        "fct_p99_us": "FCT" P99, Microseconds, Lower => |flows| Some(us(flows.fct_ns?.p99));
        "fct_p99_9_us": "FCT" P99_9, Microseconds, Lower => |flows| Some(us(flows.fct_ns?.p99_9));
        "goodput_gbps": "goodput", Gbps, Higher => |flows| Some(flows.goodput_bps * 1e-9);
        "flows": "flows", Count, Neither => |flows| Some(flows.flows as f64);
        "unfinished_flows": "unfinished flows", Count, Lower, shown all_flows, judged Judged::Always(9), said Wording::Fewer("leave", "flows unfinished") => |flows| Some(flows.unfinished as f64);
        "timeouts": "timeouts", Count, Lower, shown all_controlled => |flows| Some(flows.timeouts as f64);
        "retransmitted_percent": "packets sent again", Percent, Lower => |flows| of_sent(flows, flows.retransmitted_packets);
        "marked_percent": "packets marked", Percent, Neither => |flows| of_sent(flows, flows.marked_packets);
        "lost_packets": "packets lost", Count, Lower => |flows| Some(flows.dropped_packets as f64);
    }
    /// Metrics of the queries of a traffic class.
    QUERIES = Queries(QueryGroup) {
        "qct_mean_ms": "QCT" Mean, Milliseconds, Lower, shown always, judged Judged::Always(1), said Wording::Ends => |queries| Some(ms(queries.qct_ns?.mean));
        "qct_p50_ms": "QCT" P50, Milliseconds, Lower => |queries| Some(ms(queries.qct_ns?.p50));
        "qct_p95_ms": "QCT" P95, Milliseconds, Lower => |queries| Some(ms(queries.qct_ns?.p95));
        "qct_p99_ms": "QCT" P99, Milliseconds, Lower, shown always, judged Judged::Always(1), said Wording::Ends => |queries| Some(ms(queries.qct_ns?.p99));
        "qct_p99_9_ms": "QCT" P99_9, Milliseconds, Lower => |queries| Some(ms(queries.qct_ns?.p99_9));
        "query_slowdown_mean": "QCT slowdown" Mean, Ratio, Lower => |queries| Some(queries.slowdown?.mean);
        "query_slowdown_p50": "QCT slowdown" P50, Ratio, Lower => |queries| Some(queries.slowdown?.p50);
        "query_slowdown_p95": "QCT slowdown" P95, Ratio, Lower => |queries| Some(queries.slowdown?.p95);
        "query_slowdown_p99": "QCT slowdown" P99, Ratio, Lower => |queries| Some(queries.slowdown?.p99);
        "query_slowdown_p99_9": "QCT slowdown" P99_9, Ratio, Lower => |queries| Some(queries.slowdown?.p99_9);
        "queries": "queries", Count, Neither => |queries| Some(queries.queries as f64);
        "unfinished_queries": "unfinished queries", Count, Lower => |queries| Some(queries.unfinished as f64);
    }
    /// Metrics of the executions of a schedule or collective. Schedules are numbered from 0.
    SCHEDULES = Schedules(ScheduleGroup) {
        "iteration_mean_ms": "iteration time" Mean, Milliseconds, Lower, shown always, judged Judged::Always(1) => |all| Some(ms(all.iteration_ns?.mean));
        "iteration_p99_ms": "iteration time" P99, Milliseconds, Lower => |all| Some(ms(all.iteration_ns?.p99));
        "exposed_mean_ms": "exposed communication" Mean, Milliseconds, Lower, shown always => |all| Some(ms(all.exposed_ns?.mean));
        "rank_gbps": "bandwidth of the busiest rank", Gbps, Higher, shown always => |all| Some(all.rank_bps?.mean * 1e-9);
        "bus_gbps": "bus bandwidth of collectives" Mean, Gbps, Higher, shown always => |all| Some(all.bus_bps?.mean * 1e-9);
        "spread_mean_us": "spread of the ends of ranks" Mean, Microseconds, Lower, shown always => |all| Some(us(all.spread_ns?.mean));
        "iterations": "complete iterations", Count, Neither => |all| Some(all.iterations as f64);
        "unfinished_nodes": "unfinished nodes", Count, Lower => |all| Some(all.unfinished as f64);
    }
    /// Metrics of the bursts of a class without congestion control.
    BURSTS = Bursts(BurstGroup) {
        "bursts": "bursts", Count, Neither => |bursts| Some(bursts.bursts as f64);
        "lossless_percent": "bursts without loss", Percent, Higher, shown short_bursts, judged Judged::Always(4), said Wording::Fewer("let", "bursts of {} through without loss") => |bursts| bursts.lossless_fraction().map(percent);
        "absorbed_us": "bursts absorbed up to", Microseconds, Higher, shown short_bursts => |bursts| (bursts.bursts > 0).then_some(bursts.absorbed_ns as f64 * 1e-3);
    }
    /// Metrics of the bursts of a class without congestion control, by length.
    BURST_BINS = BurstBins(BurstBin) {
        "lossless_percent.{}": "bursts without loss, {}", Percent, Higher => |bin| Some(percent(bin.lossless_fraction()));
    }
    /// Metrics of the packets of a class without congestion control.
    BURST_PACKETS = BurstPackets(BurstGroup) {
        "burst_lost_percent": "packets lost", Percent, Lower, shown always => |bursts| bursts.lost_fraction().map(percent);
    }
    /// Metrics of the packets of a class, if the run measures queueing delays.
    DELAYS = Delays(DelayGroup) {
        "delay_mean_us": "queueing delay" Mean, Microseconds, Lower, shown open_loop, judged Judged::Always(5) => |delays| Some(us(delays.mean_ns));
        "delay_p50_us": "queueing delay" P50, Microseconds, Lower => |delays| Some(us(delays.p50_ns as f64));
        "delay_p90_us": "queueing delay" P90, Microseconds, Lower => |delays| Some(us(delays.p90_ns as f64));
        "delay_p99_us": "queueing delay" P99, Microseconds, Lower, shown open_loop => |delays| Some(us(delays.p99_ns as f64));
    }
    /// Metrics of the throughput of all ports of all switches.
    PORTS = Ports(RunSummary) {
        "jain": "Jain's index of throughput", Index, Higher, shown open_loop, judged Judged::Always(6) => RunSummary::jain;
    }
    /// Metrics of all switches together.
    SWITCHES = Switches(Switching) {
        "lost_percent": "packets lost", Percent, Lower, label "packets lost, of arrivals", shown always, judged Judged::Always(7), said Wording::Fewer("lose", "packets") => |all| Some(percent(all.lost_fraction()));
        "marked_percent": "packets marked", Percent, Neither, label "packets marked, of arrivals" => |all| Some(percent(all.marked_fraction()));
    }
    /// Losses of all switches together, one metric per traffic class.
    LOSSES = Losses((String, u64)) {
        "lost_packets.{}": "packets lost, {}", Count, Lower => |(_, packets)| Some(*packets as f64);
    }
    /// Metrics of the buffers of all switches.
    BUFFERS = Buffers(Vec<SwitchOccupancy>) {
        "buffer_mean_percent": "buffer in use" Mean, Percent, Neither, label "buffer in use, mean" => |all| mean(all.iter().map(|one| one.mean_percent));
        "buffer_p99_percent": "buffer in use" P99, Percent, Neither, label "buffer in use, p99, fullest", shown always => |all| all.iter().map(|one| one.p99_percent).reduce(f64::max);
        "buffer_max_percent": "largest buffer in use", Percent, Neither, label "buffer in use, largest" => |all| all.iter().map(|one| one.max_percent).reduce(f64::max);
    }
    /// Metrics of the sampled switch's buffer, by priority, if several priorities store packets.
    PRIORITIES = Priorities(PriorityOccupancy) {
        "{}.priority_{}.buffer_mean_percent": "buffer of {} for priority {}" Mean, Percent, Neither, label "buffer of {} for priority {}, mean" => |held| Some(held.percent.mean);
        "{}.priority_{}.buffer_p99_percent": "buffer of {} for priority {}" P99, Percent, Neither, label "buffer of {} for priority {}, p99" => |held| Some(held.percent.p99);
    }
    /// Metrics of links by role: `host-up`, `up`, `peer`, `down` and `host-down`.
    LINKS = Links(LinkRole) {
        "{}.utilisation_percent": "utilisation", Percent, Neither, label "utilisation, {}" => |links| Some(links.mean_percent);
    }
    /// Metrics of flow control, if a priority is lossless.
    PAUSES = Pauses(Pauses) {
        "lost_lossless_packets": "lossless packets lost", Count, Lower, shown always, judged Judged::Always(0), said Wording::Fewer("lose", "lossless packets") => |pauses| Some(pauses.lost_lossless_packets as f64);
        "number": "pauses", Count, Lower, shown always => |pauses| Some(pauses.all.number as f64);
        "paused_ms": "time paused", Milliseconds, Lower, shown always, judged Judged::Always(8), said Wording::Less("spend", "time paused") => |pauses| Some(ms(pauses.all.total_ns as f64));
        "longest_us": "longest pause", Microseconds, Lower => |pauses| Some(us(pauses.all.longest_ns as f64));
    }
    /// Metrics of flow control, by the role of the paused links.
    PAUSES_BY_ROLE = PausesByRole(PauseTotal) {
        "{}.number": "pauses, {} links", Count, Lower => |pauses| Some(pauses.number as f64);
        "{}.paused_ms": "time paused, {} links", Milliseconds, Lower => |pauses| Some(ms(pauses.total_ns as f64));
    }
    /// Metrics of flow control, by priority, if several priorities are lossless.
    PAUSES_BY_PRIORITY = PausesByPriority(PauseTotal) {
        "priority_{}.number": "pauses, priority {}", Count, Lower => |pauses| Some(pauses.number as f64);
        "priority_{}.paused_ms": "time paused, priority {}", Milliseconds, Lower => |pauses| Some(ms(pauses.total_ns as f64));
    }
    /// Metrics of the headroom, which stores packets that arrive during a pause.
    HEADROOM = Headroom(Pauses) {
        "headroom_max_kb": "headroom in use, largest of a queue", Kilobytes, Neither => |pauses| Some(pauses.max_headroom_bytes? as f64 * 1e-3);
    }
    /// Metrics of the buffer of one switch, for experiments only, not for comparisons.
    SWITCH_BUFFERS = SwitchBuffers(SwitchOccupancy) {
        "buffer_mean_percent": "buffer in use" Mean, Percent, Neither => |switch| Some(switch.mean_percent);
        "buffer_p99_percent": "buffer in use" P99, Percent, Neither => |switch| Some(switch.p99_percent);
    }
}

fn us(ns: f64) -> f64 {
    ns * 1e-3
}

fn ms(ns: f64) -> f64 {
    ns * 1e-6
}

fn percent(fraction: f64) -> f64 {
    fraction * 100.0
}

/// Returns `packets` as a percentage of the packets that the flows sent; `None` if the flows sent
/// no packets.
fn of_sent(flows: &FlowGroup, packets: u64) -> Option<f64> {
    (flows.sent_packets > 0).then(|| packets as f64 / flows.sent_packets as f64 * 100.0)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

fn always<T>(_: &RunSummary, _: &T) -> bool {
    true
}

fn never<T>(_: &RunSummary, _: &T) -> bool {
    false
}

/// Whether the short tables show the slowdowns of a group: of short flows, or of a class without
/// open-loop flows. For flows that answer queries, the tables show the queries' completion times.
fn closed_loop(run: &RunSummary, flows: &FlowGroup) -> bool {
    let answers = |name: &str| run.queries.iter().any(|queries| queries.class == name);
    let is_answer = matches!(&flows.group, GroupKey::Class { name } if answers(name));
    !is_answer && flows.group != GroupKey::All && flows.flows > 0 && flows.open_loop == 0
}

fn all_flows(_: &RunSummary, flows: &FlowGroup) -> bool {
    flows.group == GroupKey::All
}

/// Whether the group is all flows, and some flows have congestion control. Only flows with
/// congestion control can time out.
fn all_controlled(run: &RunSummary, flows: &FlowGroup) -> bool {
    all_flows(run, flows) && flows.flows > flows.open_loop
}

fn short_bursts(_: &RunSummary, bursts: &BurstGroup) -> bool {
    !bursts.long_lived
}

/// Whether the run has traffic without congestion control.
fn open_loop<T>(run: &RunSummary, _: &T) -> bool {
    !run.bursts.is_empty()
}
