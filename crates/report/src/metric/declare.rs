//! The macro that declares the table of metrics, and the types of its rows.

use super::table::Scope;
use super::{Better, Unit};
use crate::summary::RunSummary;

/// The statistic of a metric's quantity.
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
    /// Suffix in tables, behind the quantity: `p50`.
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

    /// Adjective in sentences and at axes, before the quantity: `median`.
    pub(super) const fn adjective(self) -> &'static str {
        if matches!(self, Self::P50) { "median" } else { self.label() }
    }
}

/// Rank of a metric among those that findings judge, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Rank of the metric in findings, for every subject.
    Always(u8),
    /// Rank of the metric in findings, for short flows only.
    OfShort(u8),
    /// Rank of the metric for all subjects except short flows.
    OfOthers(u8),
}

/// The wording of a sentence about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wording {
    /// "a lowers the p99 FCT slowdown of short flows by 20 % against b."
    Changes,
    /// "a answers incast queries 20 % sooner than b."
    Ends,
    /// "a loses 20 % fewer packets than b": a verb and a countable noun. `{}` is the name of the
    /// subject.
    Fewer(&'static str, &'static str),
    /// "a spends 20 % less time paused than b": a verb and an uncountable noun.
    Less(&'static str, &'static str),
}

/// Declaration of a metric in the table: everything except its value, which depends on the run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MetricKind {
    /// Scope of the metric: the kind of its subjects.
    pub(crate) scope: Scope,
    /// The id after the subject's prefix; `{}` is a part, such as a class.
    pub(crate) name: &'static str,
    /// The measured quantity, with `{}` as in the name.
    pub(super) quantity: &'static str,
    pub(crate) statistic: Option<Statistic>,
    /// The label in tables, if it is not the quantity followed by the statistic.
    pub(super) label: Option<&'static str>,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(crate) judged: Option<Judged>,
    pub(crate) wording: Wording,
}

/// A row of the table of metrics.
pub(super) struct MetricRow<T: 'static> {
    pub(super) kind: MetricKind,
    /// Whether the short table on the terminal shows the metric.
    pub(super) shown: fn(&RunSummary, &T) -> bool,
    /// Computes the value; `None` if it does not exist.
    pub(super) value: fn(&T) -> Option<f64>,
}

/// Declares the metrics. Each scope names the type from which its values are computed, and has one
/// line per metric.
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
        /// The kinds of subjects of metrics.
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

        /// Every scope with its description and its metrics, in the order of reports.
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
