//! Metrics of comparisons. One table declares all metrics (`metric/table.rs`). Labels, findings,
//! rankings and experiments use this table.

mod declare;
mod list;
mod page;
mod subject;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use declare::{Judged, Wording};
use declare::{MetricKind, Statistic};
pub use page::metrics_table;
use subject::placeholders;
pub(crate) use subject::{Subject, fill};

use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// Unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The metric is a multiple of the ideal value.
    Ratio,
    /// The metric is a time in microseconds.
    Microseconds,
    /// The metric is a time in milliseconds.
    Milliseconds,
    /// The metric is a percentage.
    Percent,
    /// The metric is a number of items, without a unit.
    Count,
    /// The metric is a size in kilobytes (1,000 bytes).
    Kilobytes,
    /// The metric is a rate in gigabits per second.
    Gbps,
    /// The metric is an index: a number from 0 to 1.
    Index,
}

impl Unit {
    /// Symbol of the unit in a table's header.
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

    /// Suffix of a number or a title: ` ms`; `None` for a count, a multiple or an index.
    const fn behind(self) -> Option<&'static str> {
        match self {
            Self::Ratio | Self::Count | Self::Index => None,
            unit => Some(unit.symbol()),
        }
    }
}

/// Direction in which a metric is better: lower values or higher values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// A smaller value of the metric is better.
    Lower,
    /// A larger value of the metric is better.
    Higher,
    /// The metric has no better direction, because it is not an outcome.
    Neither,
}

/// A metric: a number computed from a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metric {
    /// Stable name of the metric, such as `short.slowdown_p99` or `class.incast.qct_mean_ms`.
    pub id: String,
    /// Heading of the metric in reports.
    pub group: String,
    /// Name of the metric under the heading.
    pub label: String,
    /// Unit of the metric.
    pub unit: Unit,
    /// Whether larger or smaller values of the metric are better.
    pub better: Better,
    /// Whether the short table on the terminal shows the metric.
    pub headline: bool,
    /// Declaration of the metric in the table of all metrics.
    #[serde(skip)]
    pub(crate) kind: &'static MetricKind,
    /// Subject of the metric: flows, queries, switches …
    #[serde(skip)]
    pub(crate) subject: Subject,
    /// Texts that replace the placeholders `{}` of the label.
    #[serde(skip)]
    parts: Vec<String>,
}

/// Value of a metric in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricValue {
    /// Metric whose value in the run is `value`.
    pub metric: Metric,
    /// Value of the metric; `None` if the run has no value, for example because no flow finished.
    pub value: Option<f64>,
}

// The code of findings refers to these metrics by id. A test finds each id in the table.
pub(crate) const LOST_PERCENT: &str = "switches.lost_percent";
pub(crate) const BUFFER_P99: &str = "switches.buffer_p99_percent";
pub(crate) const LOST_LOSSLESS: &str = "pauses.lost_lossless_packets";
pub(crate) const PAUSED: &str = "pauses.paused_ms";
pub(crate) const UNFINISHED: &str = "all.unfinished_flows";

/// Ids of metrics in earlier versions, with the current ids; `{}` stands for equal text in both
/// ids.
const RENAMED: [(&str, &str); 1] =
    [("class.{}.lossless_percent.2000_upus", "class.{}.lossless_percent.2000us_up")];

impl Metric {
    /// Returns the metric with the id `id`; `None` if no metric has this id. The metric's heading
    /// lacks properties of a run, such as the size limit of short flows.
    #[must_use]
    pub fn find(id: &str) -> Option<Self> {
        let id = Self::current_id(id);
        let mut found: Vec<(usize, Self)> = Vec::new();
        for (scope, _, kinds) in table::scopes() {
            // The list of subject kinds does not depend on the names of classes or switches, so the
            // name may be empty.
            for (at, pattern) in scope.subjects("").iter().map(Subject::pattern).enumerate() {
                for kind in &kinds {
                    let Some(mut keys) = placeholders(&format!("{pattern}.{}", kind.name), &id) else {
                        continue;
                    };
                    let length = keys.iter().map(String::len).sum();
                    let name = if pattern.contains("{}") { keys.remove(0) } else { String::new() };
                    let Some(parts) = scope.words_of(&keys) else { continue };
                    let subject = scope.subjects(&name).swap_remove(at);
                    found.push((length, Self::new(kind, subject, id.to_string(), parts, false)));
                }
            }
        }
        // The text "priority_3" matches a priority and a link role. Of several matches, the match
        // with the longest fixed text counts.
        found.into_iter().min_by_key(|(length, _)| *length).map(|(_, metric)| metric)
    }

    /// Returns every metric id of the table; `name` replaces classes, switches and other varying
    /// parts.
    #[must_use]
    pub fn ids_with(name: &str) -> Vec<String> {
        let ids = table::scopes().into_iter().flat_map(|(scope, _, kinds)| {
            let subjects = scope.subjects(name).into_iter();
            subjects.flat_map(move |subject| {
                kinds.clone().into_iter().map(move |kind| format!("{}.{}", subject.prefix(), kind.name))
            })
        });
        ids.map(|id| id.replace("{}", name)).collect()
    }

    /// Returns the current id for an id of an earlier version.
    #[must_use]
    pub fn current_id(id: &str) -> Cow<'_, str> {
        let renamed = RENAMED.iter().find_map(|(old, new)| {
            let part = placeholders(old, id)?.join("");
            Some(new.replace("{}", &part))
        });
        renamed.map_or(Cow::Borrowed(id), Cow::Owned)
    }

    fn new(
        kind: &'static MetricKind,
        subject: Subject,
        id: String,
        parts: Vec<String>,
        headline: bool,
    ) -> Self {
        Self {
            id,
            group: subject.heading(),
            label: fill(&Self::label_of(kind), &parts),
            unit: kind.unit,
            better: kind.better,
            headline,
            kind,
            subject,
            parts,
        }
    }

    fn filled(&self, text: &str) -> String {
        fill(text, &self.parts)
    }

    /// Label of a metric in tables, with `{}` for a varying text, such as a class.
    fn label_of(kind: &MetricKind) -> String {
        match (kind.label, kind.statistic) {
            (Some(label), _) => label.to_owned(),
            (None, Some(statistic)) => format!("{} {}", kind.quantity, statistic.label()),
            (None, None) => kind.quantity.to_owned(),
        }
    }

    /// Name of the metric in a sentence: `p99 FCT slowdown`.
    pub(crate) fn in_sentence(&self) -> String {
        let quantity = self.filled(self.kind.quantity);
        self.kind.statistic.map_or_else(|| quantity.clone(), |of| format!("{} {quantity}", of.adjective()))
    }

    /// Name of the metric with its subject: `mean QCT of incast queries`.
    pub(crate) fn in_sentence_with_subject(&self) -> String {
        if self.subject.is_whole_run() {
            return self.in_sentence();
        }
        format!("{} of {}", self.in_sentence(), self.subject.name())
    }

    /// Label and unit of the metric for a table: `FCT slowdown p99 [x]`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} [{}]", self.label, self.unit.symbol())
    }

    /// Name and unit of the metric for an axis: `mean QCT (ms)`.
    #[must_use]
    pub fn axis_label(&self) -> String {
        with_unit(self.in_sentence(), self.unit)
    }

    /// Name, unit and subject of the metric for a list: `mean QCT (ms), incast`.
    #[must_use]
    pub fn full_label(&self) -> String {
        let words = if self.kind.label.is_some() { self.label.clone() } else { self.in_sentence() };
        format!("{}, {}", with_unit(words, self.unit), self.subject.short_name())
    }

    /// Pattern of the metric's id: `class.{}.qct_mean_ms`.
    #[must_use]
    pub fn pattern(&self) -> String {
        format!("{}.{}", self.subject.pattern(), self.kind.name)
    }

    /// Text that replaces the first `{}` of the id's pattern, such as the class.
    #[must_use]
    pub fn part(&self) -> Option<&str> {
        self.subject.part().or_else(|| self.parts.first().map(String::as_str))
    }

    /// Rank of the metric among the metrics that findings judge, from 0; `None` if findings do not
    /// judge the metric.
    pub(crate) fn importance(&self) -> Option<u8> {
        let is_short = matches!(self.subject, Subject::Short(_));
        match self.kind.judged? {
            Judged::Always(place) => Some(place),
            Judged::OfShort(place) => is_short.then_some(place),
            Judged::OfOthers(place) => (!is_short).then_some(place),
        }
    }

    /// Whether the metric is a 99th percentile.
    pub(crate) fn is_tail(&self) -> bool {
        self.kind.statistic == Some(Statistic::P99)
    }

    /// Whether this metric is the mean, and `other` the p99, of one quantity.
    pub(crate) fn has_tail(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.kind.scope == other.kind.scope
            && self.kind.quantity == other.kind.quantity
            && self.unit == other.unit
            && self.kind.statistic == Some(Statistic::Mean)
            && other.kind.statistic == Some(Statistic::P99)
    }
}

fn with_unit(words: String, unit: Unit) -> String {
    match unit.behind() {
        Some(unit) => format!("{words} ({unit})"),
        None => words,
    }
}
