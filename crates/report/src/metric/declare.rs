//! The macro that declares the table of metrics, and the types of the table's rows.

use super::table::Scope;
use super::{Better, Unit};
use crate::summary::RunSummary;

/// Statistic of a metric's quantity, such as the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    Mean,
    P50,
    P90,
    P95,
    P99,
    P99_9,
}

impl Statistic {
    /// Suffix of the statistic in tables, behind the quantity: `p50`.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P99_9 => "p99.9",
        }
    }

    /// Adjective for the statistic in sentences and at axes, before the quantity: `median`.
    pub(super) const fn adjective(self) -> &'static str {
        if matches!(self, Self::P50) { "median" } else { self.label() }
    }
}

/// Rank of a metric among the metrics that findings judge, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Rank of the metric in findings, for every subject.
    Always(u8),
    /// Rank of the metric in findings, for short flows only.
    OfShort(u8),
    /// Rank of the metric in findings, for all subjects except short flows.
    OfOthers(u8),
}

/// Wording of the sentence about a metric's difference between schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wording {
    /// The sentence "a lowers the p99 FCT slowdown of short flows by 20 % against b."
    Changes,
    /// The sentence "a answers incast queries 20 % sooner than b."
    Ends,
    /// The sentence "a loses 20 % fewer packets than b", with a verb and a countable noun. `{}` is
    /// the name of the subject.
    Fewer(&'static str, &'static str),
    /// The sentence "a spends 20 % less time paused than b", with a verb and an uncountable noun.
    Less(&'static str, &'static str),
}

/// Declaration of a metric in the table: everything except the value, which depends on the run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MetricKind {
    /// Scope of the metric: the kind of its subjects.
    pub(crate) scope: Scope,
    /// Part of the metric's id after the subject's prefix; `{}` stands for a varying part, such as
    /// a class.
    pub(crate) name: &'static str,
    /// Quantity that the metric measures, with `{}` as in the name.
    pub(super) quantity: &'static str,
    pub(crate) statistic: Option<Statistic>,
    /// Label of the metric in tables, if it is not the quantity followed by the statistic.
    pub(super) label: Option<&'static str>,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(crate) judged: Option<Judged>,
    pub(crate) wording: Wording,
}

/// A row of the table of metrics: the declaration of one metric.
pub(super) struct MetricRow<T: 'static> {
    pub(super) kind: MetricKind,
    /// Whether the short table on the terminal shows the metric.
    pub(super) shown: fn(&RunSummary, &T) -> bool,
    /// Computes the value of the metric; `None` if the value does not exist.
    pub(super) value: fn(&T) -> Option<f64>,
}

/// Declares the metrics. Each scope names the type from which its metrics are computed, and has
/// one line per metric.
///
/// ```text
/// "id": "quantity" Statistic, Unit, Better, label "in tables", shown when, judged place, said wording => value;
/// ```
///
/// Optional are the statistic, label, `shown` (default: never), `judged` (default: not) and `said`
/// (default: `Wording::Changes`).
macro_rules! metrics {
    ($(
        $(#[doc = $about:literal])+
        $rows:ident = $scope:ident($subject:ty) {
            $(
                $name:literal: $quantity:literal $($statistic:ident)?, $unit:ident, $better:ident
                $(, label $label:literal)? $(, shown $shown:path)? $(, judged $judged:expr)? $(, said $said:expr)?
                => $value:expr;
            )+
        }
    )+) => {
        /// Kinds of subjects that metrics have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Scope { $( $(#[doc = $about])+ $scope, )+ }

        $(
            $(#[doc = $about])+
            pub(super) static $rows: &[MetricRow<$subject>] = &[$( MetricRow {
                kind: MetricKind {
                    scope: Scope::$scope,
                    name: $name,
                    quantity: $quantity,
                    statistic: metrics!(@some $(Statistic::$statistic)?),
                    label: metrics!(@some $($label)?),
                    unit: Unit::$unit,
                    better: Better::$better,
                    judged: metrics!(@some $($judged)?),
                    wording: metrics!(@or Wording::Changes $(, $said)?),
                },
                shown: metrics!(@or never $(, $shown)?),
                value: $value,
            } ),+];
        )+

        /// Returns every scope with its description and its metrics, in the order of reports.
        pub(super) fn scopes() -> Vec<(Scope, &'static str, Vec<&'static MetricKind>)> {
            vec![$( (Scope::$scope, concat!($($about),+), $rows.iter().map(|row| &row.kind).collect()) ),+]
        }
    };
    (@some) => { None };
    (@some $given:expr) => { Some($given) };
    (@or $default:expr) => { $default };
    (@or $default:expr, $given:expr) => { $given };
}
pub(super) use metrics;
