//! The list of numbers that comparisons compare: one place for their names, units and order.

use crate::bursts::DelayGroup;
use crate::format;
use crate::pauses::PauseTotal;
use crate::statistics::Distribution;
use crate::summary::{FlowGroup, GroupKey, QueryGroup, RunSummary};
use schemars::JsonSchema;
use serde::Serialize;

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A multiple of the ideal.
    Ratio,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Percent.
    Percent,
    /// A number of things.
    Count,
    /// Kilobytes (1,000 bytes).
    Kilobytes,
    /// Gigabits per second.
    Gbps,
    /// A number from 0 to 1.
    Index,
}

impl Unit {
    /// As in a table's header.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Ratio => "x",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Percent => "%",
            Self::Count => "#",
            Self::Kilobytes => "KB",
            Self::Gbps => "Gb/s",
            Self::Index => "0..1",
        }
    }
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither by itself.
    Neither,
}

/// A number that can be taken of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metric {
    /// Stable name, such as `short.slowdown_p99` or `class.incast.qct_mean_ms`.
    pub id: String,
    /// Heading under which reports show it.
    pub group: String,
    /// Name under the heading.
    pub label: String,
    /// Unit.
    pub unit: Unit,
    /// Good direction.
    pub better: Better,
    /// Whether the short table on the terminal shows it.
    pub headline: bool,
}

/// A metric of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    /// Which.
    pub metric: Metric,
    /// Value; `None` where it does not exist (no flow finished).
    pub value: Option<f64>,
}

impl RunSummary {
    /// Every metric of this run, in the order of reports.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let mut list = List::default();
        let queried: Vec<&str> = self.queries.iter().map(|group| group.class.as_str()).collect();
        for group in &self.groups {
            // A query's flows are judged by the query.
            let answers =
                matches!(&group.group, GroupKey::Class { name } if queried.contains(&name.as_str()));
            list.flows(group, answers);
        }
        for group in &self.queries {
            list.queries(group);
        }
        list.bursts(self);
        list.switching(self);
        list.links(self);
        list.pauses(self);
        list.0
    }
}

#[derive(Default)]
struct List(Vec<MetricValue>);

/// Where a metric belongs.
struct Place<'a> {
    prefix: &'a str,
    group: &'a str,
    headline: bool,
}

impl List {
    fn push(
        &mut self,
        at: &Place<'_>,
        id: &str,
        label: &str,
        unit: Unit,
        better: Better,
        value: Option<f64>,
    ) {
        let metric = Metric {
            id: format!("{}.{id}", at.prefix),
            group: at.group.to_owned(),
            label: label.to_owned(),
            unit,
            better,
            headline: at.headline,
        };
        self.0.push(MetricValue { metric, value });
    }

    /// Mean, p50 … of one quantity; only mean and p99 can be headlines.
    fn distribution(
        &mut self,
        at: &Place<'_>,
        (id, label, unit, scale): (&str, &str, Unit, f64),
        distribution: Option<Distribution>,
    ) {
        type Get = fn(&Distribution) -> f64;
        let parts: [(&str, &str, bool, Get); 5] = [
            ("mean", "mean", true, |d| d.mean),
            ("p50", "p50", false, |d| d.p50),
            ("p95", "p95", false, |d| d.p95),
            ("p99", "p99", true, |d| d.p99),
            ("p99_9", "p99.9", false, |d| d.p99_9),
        ];
        // Columns carry their unit last.
        let ending = if unit == Unit::Ratio { String::new() } else { format!("_{}", unit.symbol()) };
        for (part, name, prominent, get) in parts {
            let at = Place { headline: at.headline && prominent, ..*at };
            let value = distribution.as_ref().map(|d| get(d) * scale);
            self.push(
                &at,
                &format!("{id}_{part}{ending}"),
                &format!("{label} {name}"),
                unit,
                Better::Lower,
                value,
            );
        }
    }

    fn flows(&mut self, group: &FlowGroup, answers: bool) {
        let (prefix, label) = (group.group.id(), group.group.label());
        let headline = !answers && group.group != GroupKey::All && group.flows > 0 && group.open_loop == 0;
        let at = Place { prefix: &prefix, group: &label, headline };
        let quiet = Place { headline: false, ..at };
        let totals = Place { headline: group.group == GroupKey::All, ..at };
        // Without congestion control there is nothing to time out.
        let tcp_totals = Place { headline: totals.headline && group.flows > group.open_loop, ..at };
        self.distribution(&at, ("slowdown", "FCT slowdown", Unit::Ratio, 1.0), group.slowdown);
        self.distribution(&quiet, ("fct", "FCT", Unit::Microseconds, 1e-3), group.fct_ns);
        let count = |value: u64| Some(value as f64);
        let percent =
            |part: u64| (group.sent_packets > 0).then(|| part as f64 / group.sent_packets as f64 * 100.0);
        use Better::{Higher, Lower, Neither};
        self.push(&quiet, "goodput_gbps", "goodput", Unit::Gbps, Higher, Some(group.goodput_bps * 1e-9));
        self.push(&quiet, "flows", "flows", Unit::Count, Neither, count(group.flows));
        self.push(
            &totals,
            "unfinished_flows",
            "unfinished flows",
            Unit::Count,
            Lower,
            count(group.unfinished),
        );
        self.push(&tcp_totals, "timeouts", "timeouts", Unit::Count, Lower, count(group.timeouts));
        let again = percent(group.retransmitted_packets);
        self.push(&quiet, "retransmitted_percent", "packets sent again", Unit::Percent, Lower, again);
        let marked = percent(group.marked_packets);
        self.push(&quiet, "marked_percent", "packets marked", Unit::Percent, Neither, marked);
        self.push(&quiet, "lost_packets", "packets lost", Unit::Count, Lower, count(group.dropped_packets));
    }

    fn queries(&mut self, group: &QueryGroup) {
        let (prefix, label) = (format!("class.{}", group.class), format::queries_of(&group.class));
        let at = Place { prefix: &prefix, group: &label, headline: true };
        let quiet = Place { headline: false, ..at };
        self.distribution(&at, ("qct", "QCT", Unit::Milliseconds, 1e-6), group.qct_ns);
        self.distribution(&quiet, ("query_slowdown", "QCT slowdown", Unit::Ratio, 1.0), group.slowdown);
        let count = |value: u64| Some(value as f64);
        self.push(&quiet, "queries", "queries", Unit::Count, Better::Neither, count(group.queries));
        let unfinished = count(group.unfinished);
        self.push(&quiet, "unfinished_queries", "unfinished queries", Unit::Count, Better::Lower, unfinished);
    }

    /// Bursts, queueing delays, and fairness among ports. Headlines only where there is open-loop traffic.
    fn bursts(&mut self, run: &RunSummary) {
        use Better::{Higher, Lower, Neither};
        for group in &run.bursts {
            let (prefix, label) = (format!("class.{}", group.class), format!("{} (open loop)", group.class));
            let shown = Place { prefix: &prefix, group: &label, headline: true };
            let at = Place { headline: !group.long_lived, ..shown };
            let quiet = Place { headline: false, ..shown };
            let percent = |fraction: Option<f64>| fraction.map(|fraction| fraction * 100.0);
            self.push(&quiet, "bursts", "bursts", Unit::Count, Neither, Some(group.bursts as f64));
            let lossless = percent(group.lossless_fraction());
            self.push(&at, "lossless_percent", "bursts without loss", Unit::Percent, Higher, lossless);
            let absorbed = (group.bursts > 0).then_some(group.absorbed_ns as f64 * 1e-3);
            self.push(&at, "absorbed_us", "bursts absorbed up to", Unit::Microseconds, Higher, absorbed);
            for bin in &group.bins {
                let to = bin.to_ns.map_or_else(|| "up".to_owned(), |to| (to / 1_000).to_string());
                let id = format!("lossless_percent.{}_{to}us", bin.from_ns / 1_000);
                let label = format!("bursts without loss, {}", bin.label());
                self.push(&quiet, &id, &label, Unit::Percent, Higher, percent(Some(bin.lossless_fraction())));
            }
            let lost = percent(group.lost_fraction());
            self.push(&shown, "burst_lost_percent", "packets lost", Unit::Percent, Lower, lost);
            if let Some(delays) = run.delays.iter().find(|delays| delays.class == group.class) {
                self.delays(&shown, delays);
            }
        }
        let alone = |delays: &&DelayGroup| !run.bursts.iter().any(|group| group.class == delays.class);
        for delays in run.delays.iter().filter(alone) {
            let (prefix, label) = (format!("class.{}", delays.class), format!("{} packets", delays.class));
            self.delays(&Place { prefix: &prefix, group: &label, headline: !run.bursts.is_empty() }, delays);
        }
        let ports = Place { prefix: "ports", group: "ports", headline: !run.bursts.is_empty() };
        let label = "Jain's index of throughput";
        self.push(&ports, "jain", label, Unit::Index, Higher, run.jain());
    }

    fn delays(&mut self, at: &Place<'_>, group: &DelayGroup) {
        let quiet = Place { headline: false, ..*at };
        let parts = [
            (at, "mean", group.mean_ns),
            (&quiet, "p50", group.p50_ns as f64),
            (&quiet, "p90", group.p90_ns as f64),
            (at, "p99", group.p99_ns as f64),
        ];
        for (at, part, ns) in parts {
            let (id, label) = (format!("delay_{part}_us"), format!("queueing delay {part}"));
            self.push(at, &id, &label, Unit::Microseconds, Better::Lower, Some(ns * 1e-3));
        }
    }

    fn switching(&mut self, run: &RunSummary) {
        use Better::{Lower, Neither};
        let at = Place { prefix: "switches", group: "switches", headline: true };
        let quiet = Place { headline: false, ..at };
        let lost = run.switching.lost_fraction() * 100.0;
        self.push(&at, "lost_percent", "packets lost, of arrivals", Unit::Percent, Lower, Some(lost));
        let marked = run.switching.marked_fraction() * 100.0;
        self.push(
            &quiet,
            "marked_percent",
            "packets marked, of arrivals",
            Unit::Percent,
            Neither,
            Some(marked),
        );
        for (class, packets) in &run.switching.lost_by_class {
            let (id, label) = (format!("lost_packets.{class}"), format!("packets lost, {class}"));
            self.push(&quiet, &id, &label, Unit::Count, Lower, Some(*packets as f64));
        }
        let switches = run.occupancy.len() as f64;
        let mean = run.occupancy.iter().map(|switch| switch.mean_percent).sum::<f64>() / switches;
        let mean = (switches > 0.0).then_some(mean);
        self.push(&quiet, "buffer_mean_percent", "buffer in use, mean", Unit::Percent, Neither, mean);
        let p99 = run.occupancy.iter().map(|switch| switch.p99_percent).reduce(f64::max);
        self.push(&at, "buffer_p99_percent", "buffer in use, p99, fullest", Unit::Percent, Neither, p99);
        let max = run.occupancy.iter().map(|switch| switch.max_percent).reduce(f64::max);
        self.push(&quiet, "buffer_max_percent", "buffer in use, largest", Unit::Percent, Neither, max);
        for held in &run.priorities {
            let (switch, priority, percent) = (&held.switch, held.priority, held.percent);
            for (part, value) in [("mean", percent.mean), ("p99", percent.p99)] {
                let id = format!("{switch}.priority_{priority}.buffer_{part}_percent");
                let label = format!("buffer of {switch} for priority {priority}, {part}");
                self.push(&quiet, &id, &label, Unit::Percent, Neither, Some(value));
            }
        }
    }

    fn links(&mut self, run: &RunSummary) {
        for role in &run.links {
            let at = Place { prefix: "links", group: "links", headline: false };
            let id = format!("{}.utilisation_percent", role.role);
            let label = format!("utilisation, {}", role.role);
            self.push(&at, &id, &label, Unit::Percent, Better::Neither, Some(role.mean_percent));
        }
    }
}

impl List {
    /// Flow control, where a priority is lossless.
    fn pauses(&mut self, run: &RunSummary) {
        use Better::{Lower, Neither};
        let Some(pauses) = &run.pauses else { return };
        let at = Place { prefix: "pauses", group: "pauses", headline: true };
        let quiet = Place { headline: false, ..at };
        let lost = Some(pauses.lost_lossless_packets as f64);
        self.push(&at, "lost_lossless_packets", "lossless packets lost", Unit::Count, Lower, lost);
        self.pause_total(&at, "", "", pauses.all);
        let longest = Some(pauses.all.longest_ns as f64 * 1e-3);
        self.push(&quiet, "longest_us", "longest pause", Unit::Microseconds, Lower, longest);
        for (role, total) in &pauses.by_role {
            self.pause_total(&quiet, &format!("{role}."), &format!(", {role} links"), *total);
        }
        if pauses.by_priority.len() > 1 {
            for (priority, total) in &pauses.by_priority {
                let (id, label) = (format!("priority_{priority}."), format!(", priority {priority}"));
                self.pause_total(&quiet, &id, &label, *total);
            }
        }
        let headroom = pauses.max_headroom_bytes.map(|bytes| bytes as f64 * 1e-3);
        let label = "headroom in use, largest of a queue";
        self.push(&quiet, "headroom_max_kb", label, Unit::Kilobytes, Neither, headroom);
    }

    fn pause_total(&mut self, at: &Place<'_>, id: &str, label: &str, total: PauseTotal) {
        let (number, ms) = (Some(total.number as f64), Some(total.total_ns as f64 * 1e-6));
        self.push(at, &format!("{id}number"), &format!("pauses{label}"), Unit::Count, Better::Lower, number);
        self.push(
            at,
            &format!("{id}paused_ms"),
            &format!("time paused{label}"),
            Unit::Milliseconds,
            Better::Lower,
            ms,
        );
    }
}

impl Metric {
    /// Label and unit: `FCT slowdown p99 [x]`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} [{}]", self.label, self.unit.symbol())
    }
}
