//! Labels of metrics in charts and lists. The crate `report` declares the labels of the summary.

use super::{Metric, PAUSE_FRAMES, Statistic};
use crate::{GoodputOf, Quantity, QueueCount, Take, Tally};

impl Metric {
    /// Label of a chart's axis: the quantity of the metric with the unit, such as `mean FCT (ms)`.
    #[must_use]
    pub fn axis_label(&self) -> String {
        match self {
            Self::Summary(metric) => metric.axis_label(),
            Self::PauseFrames => PAUSE_FRAMES.to_owned(),
            Self::Tally(tally) => of_tally(tally),
            Self::Statistic(statistic) => of_statistic(statistic),
        }
    }

    /// Label of a metric in a list, with the flows or queues that it covers:
    /// `mean FCT (ms), web_search flows up to 100 KB`.
    #[must_use]
    pub fn full_label(&self) -> String {
        let of = match self {
            Self::Summary(metric) => return metric.full_label(),
            Self::PauseFrames => String::new(),
            Self::Tally(tally) => of_which_tally(tally),
            Self::Statistic(statistic) => of_which(statistic),
        };
        let label = self.axis_label();
        if of.is_empty() { label } else { format!("{label}, {of}") }
    }
}

fn of_tally(tally: &Tally) -> String {
    match tally {
        Tally::Goodput { take, .. } => match take {
            GoodputOf::Sum => "goodput (Mb/s)",
            GoodputOf::Jain => "Jain's index of the goodput",
            GoodputOf::JainMin => "least Jain's index of the goodput",
        }
        .to_owned(),
        Tally::Queues { count, .. } => match count {
            QueueCount::ArrivedPackets => "packets arrived",
            QueueCount::DroppedPackets => "packets lost",
            QueueCount::EvictedPackets => "packets evicted",
            QueueCount::MarkedPackets => "packets marked",
        }
        .to_owned(),
        Tally::Probe { probe, .. } => probe.replace('_', " "),
    }
}

fn of_which_tally(tally: &Tally) -> String {
    match tally {
        Tally::Goodput { goodput, from_ms, until_ms, .. } => {
            format!("{} flows, {from_ms} to {until_ms} ms", goodput.join(" and "))
        }
        Tally::Queues { queues, .. } => of_priorities(queues),
        Tally::Probe { priority, .. } => {
            priority.map_or_else(String::new, |priority| of_priorities(&[priority]))
        }
    }
}

fn of_priorities(priorities: &[u8]) -> String {
    let numbers: Vec<_> = priorities.iter().map(ToString::to_string).collect();
    format!("priority {}", numbers.join(" and "))
}

fn of_statistic(statistic: &Statistic) -> String {
    let queries = statistic.queries.is_some();
    let what = match statistic.of {
        Quantity::Slowdown if queries => "QCT slowdown",
        Quantity::Slowdown => "FCT slowdown",
        Quantity::TimeMs if queries => "QCT (ms)",
        Quantity::TimeMs => "FCT (ms)",
        Quantity::DroppedPackets => "packets lost",
        Quantity::SentPackets => "packets sent",
        Quantity::RetransmittedPackets => "packets sent again",
        Quantity::Timeouts => "timeouts",
        Quantity::Bytes => "size (bytes)",
        Quantity::BufferPercent => "buffer in use (%)",
    };
    let things = if queries { "queries" } else { "flows" };
    match statistic.take {
        Take::Mean => format!("mean {what}"),
        Take::P50 => format!("median {what}"),
        Take::P99 => format!("p99 {what}"),
        Take::P999 => format!("p99.9 {what}"),
        Take::Max => format!("largest {what}"),
        Take::Sum => what.to_owned(),
        Take::Count => things.to_owned(),
        Take::ZeroPercent => format!("{things} with no {what} (%)"),
    }
}

fn of_which(statistic: &Statistic) -> String {
    if let Some(priorities) = &statistic.priorities {
        return of_priorities(priorities);
    }
    let (kind, classes) = match (&statistic.flows, &statistic.queries) {
        (_, Some(classes)) => ("queries", classes.as_slice()),
        (classes, None) => ("flows", classes.as_deref().unwrap_or_default()),
    };
    let mut text = kind.to_owned();
    if !classes.is_empty() {
        text = format!("{} {kind}", classes.join(" and "));
    }
    match (statistic.from_bytes, statistic.below_bytes) {
        (0, None) => {}
        (0, Some(below)) => text.push_str(&format!(" {}", until(below))),
        (from, None) => text.push_str(&format!(" {}", since(from))),
        (from, Some(below)) => text.push_str(&format!(" {} and {}", since(from), until(below))),
    }
    text
}

/// Describes a lower bound of flow sizes; `100_001` becomes "above 100 KB".
fn since(from: u64) -> String {
    match from - 1 {
        less if less > 0 && less.is_multiple_of(1_000) => format!("above {}", size(less)),
        _ => format!("from {}", size(from)),
    }
}

/// Describes an upper bound of flow sizes; `100_001` becomes "up to 100 KB", which includes 100 KB.
fn until(below: u64) -> String {
    match below.checked_sub(1) {
        Some(most) if most > 0 && most.is_multiple_of(1_000) => format!("up to {}", size(most)),
        _ => format!("below {}", size(below)),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        mega if mega > 0 && mega.is_multiple_of(1_000_000) => format!("{} MB", mega / 1_000_000),
        kilo if kilo > 0 && kilo.is_multiple_of(1_000) => format!("{} KB", kilo / 1_000),
        other => format!("{other} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metric_from;

    fn statistic(of: Quantity, take: Take) -> Statistic {
        let flows = Some(vec!["web_search".to_owned()]);
        Statistic { flows, queries: None, priorities: None, from_bytes: 0, below_bytes: None, of, take }
    }

    #[test]
    fn labels_say_what_keys_say() {
        let summary = |id: &str| {
            let metric = metric_from(&format!("\"{id}\"")).unwrap_or_else(|why| panic!("{why}"));
            (metric.axis_label(), metric.full_label())
        };
        let both = |axis: &str, full: &str| (axis.to_owned(), full.to_owned());
        let p99 = both("p99 FCT slowdown", "p99 FCT slowdown, incast");
        assert_eq!(summary("class.incast.slowdown_p99"), p99);
        assert_eq!(summary("pauses"), both("pauses", "pauses"));
        let long = "bursts without loss, 2 ms and longer (%)";
        let long = both(long, &format!("{long}, overload"));
        assert_eq!(summary("class.overload.lossless_percent.2000us_up"), long);
        // The id of the metric is an id of earlier versions of bufferlab.
        assert_eq!(summary("class.overload.lossless_percent.2000_upus"), long);
        let small = Statistic { below_bytes: Some(100_001), ..statistic(Quantity::TimeMs, Take::Mean) };
        let large = Statistic { from_bytes: 10_000_001, ..small.clone() };
        assert_eq!(Metric::Statistic(small.clone()).axis_label(), "mean FCT (ms)");
        assert_eq!(Metric::Statistic(small).full_label(), "mean FCT (ms), web_search flows up to 100 KB");
        let large = Statistic { below_bytes: None, ..large };
        assert_eq!(Metric::Statistic(large).full_label(), "mean FCT (ms), web_search flows above 10 MB");
        let queries = Statistic {
            flows: None,
            queries: Some(Vec::new()),
            ..statistic(Quantity::DroppedPackets, Take::ZeroPercent)
        };
        assert_eq!(Metric::Statistic(queries).full_label(), "queries with no packets lost (%), queries");
        let evicted = Tally::Queues { queues: vec![1, 2], count: QueueCount::EvictedPackets };
        assert_eq!(Metric::Tally(evicted).full_label(), "packets evicted, priority 1 and 2");
    }
}
