//! What is a metric called in a chart? Words with their unit, where tables have the key under which the number is kept.

use super::{Metric, Statistic};
use crate::{Quantity, QueueCount, Take, Tally};

impl Metric {
    /// For an axis: what is measured, with its unit, as `mean FCT (ms)`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Summary(id) => of_summary(id).0,
            Self::Tally(tally) => of_tally(tally),
            Self::Statistic(statistic) => of_statistic(statistic),
        }
    }

    /// For a list: with what it is taken of, as `mean FCT (ms), web_search flows up to 100 KB`.
    #[must_use]
    pub fn whole(&self) -> String {
        let (words, of) = match self {
            Self::Summary(id) => of_summary(id),
            Self::Tally(tally) => (of_tally(tally), of_which_tally(tally)),
            Self::Statistic(statistic) => (of_statistic(statistic), of_which(statistic)),
        };
        if of.is_empty() { words } else { format!("{words}, {of}") }
    }
}

/// A number of the summary by its id, whose last part names it and whose others say of what: `class.incast.qct_mean_ms` is the mean QCT (ms) of incast.
fn of_summary(id: &str) -> (String, String) {
    let parts: Vec<&str> = id.split('.').collect();
    let (last, of) = parts.split_last().map_or((id, &[][..]), |(last, of)| (*last, of));
    let (mut unit, mut rank, mut names) = ("", Vec::new(), Vec::new());
    let mut tokens = last.split('_').peekable();
    while let Some(token) = tokens.next() {
        let is_last = tokens.peek().is_none();
        match token {
            "ms" | "us" | "ns" if is_last => unit = token,
            "percent" if is_last => unit = "%",
            "kb" if is_last => unit = "KB",
            "gbps" if is_last => unit = "Gb/s",
            "p99" if tokens.next_if_eq(&"9").is_some() => rank.push("p99.9"),
            "p50" => rank.push("median"),
            "mean" | "p95" | "p99" | "max" => rank.push(token),
            "fct" => names.push("FCT"),
            "qct" => names.push("QCT"),
            "slowdown" => names.push("FCT slowdown"),
            "buffer" => names.push("buffer in use"),
            other => names.push(other),
        }
    }
    let mut words = rank.into_iter().chain(names).collect::<Vec<_>>().join(" ");
    if !unit.is_empty() {
        words = format!("{words} ({unit})");
    }
    let of = match of {
        ["switches"] => "fullest switch".to_owned(),
        ["class" | "switch" | "policy", name] => (*name).to_owned(),
        [group @ ("short" | "medium" | "long" | "small" | "large")] => format!("{group} flows"),
        of => of.join(" "),
    };
    (words, of)
}

fn of_tally(tally: &Tally) -> String {
    match tally {
        Tally::Goodput { .. } => "goodput (Mb/s)".to_owned(),
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
        Tally::Goodput { goodput, from_ms, until_ms } => {
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

/// `100_001` is written for "more than 100 KB".
fn since(from: u64) -> String {
    match from - 1 {
        less if less > 0 && less.is_multiple_of(1_000) => format!("above {}", size(less)),
        _ => format!("from {}", size(from)),
    }
}

/// `100_001` is written for "up to 100 KB", the size itself included.
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

    fn statistic(of: Quantity, take: Take) -> Statistic {
        let flows = Some(vec!["web_search".to_owned()]);
        Statistic { flows, queries: None, priorities: None, from_bytes: 0, below_bytes: None, of, take }
    }

    #[test]
    fn words_say_what_keys_say() {
        let summary = |id: &str| Metric::Summary(id.to_owned()).whole();
        assert_eq!(summary("class.incast.slowdown_p99"), "p99 FCT slowdown, incast");
        assert_eq!(summary("class.incast.qct_mean_ms"), "mean QCT (ms), incast");
        assert_eq!(summary("switches.buffer_p99_percent"), "p99 buffer in use (%), fullest switch");
        assert_eq!(summary("switch.leaf0.buffer_mean_percent"), "mean buffer in use (%), leaf0");
        assert_eq!(summary("short.slowdown_p99_9"), "p99.9 FCT slowdown, short flows");
        assert_eq!(summary("pauses"), "pauses");
        let small = Statistic { below_bytes: Some(100_001), ..statistic(Quantity::TimeMs, Take::Mean) };
        let large = Statistic { from_bytes: 10_000_001, ..small.clone() };
        assert_eq!(Metric::Statistic(small.clone()).words(), "mean FCT (ms)");
        assert_eq!(Metric::Statistic(small).whole(), "mean FCT (ms), web_search flows up to 100 KB");
        let large = Statistic { below_bytes: None, ..large };
        assert_eq!(Metric::Statistic(large).whole(), "mean FCT (ms), web_search flows above 10 MB");
        let queries = Statistic {
            flows: None,
            queries: Some(Vec::new()),
            ..statistic(Quantity::DroppedPackets, Take::ZeroPercent)
        };
        assert_eq!(Metric::Statistic(queries).whole(), "queries with no packets lost (%), queries");
        let evicted = Tally::Queues { queues: vec![1, 2], count: QueueCount::EvictedPackets };
        assert_eq!(Metric::Tally(evicted).whole(), "packets evicted, priority 1 and 2");
    }
}
