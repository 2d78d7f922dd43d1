//! The macro that declares the table of metrics, and the types of its rows.

use super::table::Scope;
use super::{Better, Unit};
use crate::summary::RunSummary;

/// The statistic that a metric takes of its quantity.
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
    /// In tables, behind the quantity: `p50`.
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

    /// In sentences and at axes, before the quantity: `median`.
    pub(super) const fn adjective(self) -> &'static str {
        if matches!(self, Self::P50) { "median" } else { self.label() }
    }
}

/// The place of a metric among those that findings judge, 0 first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Of every subject.
    Always(u8),
    /// Of short flows.
    OfShort(u8),
    /// Of all subjects but short flows.
    OfOthers(u8),
}

/// The wording of a sentence about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wording {
    /// "a lowers the p99 FCT slowdown of short flows by 20 % against b."
    Changes,
    /// "a answers incast queries 20 % sooner than b."
    Ends,
    /// "a loses 20 % fewer packets than b": a verb and things that are counted. `{}` is the name of
    /// the subject.
    Fewer(&'static str, &'static str),
    /// "a spends 20 % less time paused than b": a verb and what cannot be counted.
    Less(&'static str, &'static str),
}

/// A metric as the table declares it: everything but its value, which depends on the run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MetricKind {
    /// The things that have it.
    pub(crate) scope: Scope,
    /// The id behind the subject's; `{}` is a part, such as a class.
    pub(crate) name: &'static str,
    /// The measured quantity; `{}` as in the name.
    pub(super) quantity: &'static str,
    pub(crate) statistic: Option<Statistic>,
    /// The label in tables, where it is not the quantity followed by the statistic.
    pub(super) label: Option<&'static str>,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(crate) judged: Option<Judged>,
    pub(crate) wording: Wording,
}

/// A row of the table.
pub(super) struct Row<T: 'static> {
    pub(super) kind: MetricKind,
    /// Whether the short table on the terminal shows it.
    pub(super) shown: fn(&RunSummary, &T) -> bool,
    /// Computes it; `None` where it does not exist.
    pub(super) value: fn(&T) -> Option<f64>,
}

/// Declares the metrics: per scope the type that the values are computed from, then a line per
/// metric.
///
/// ```text
/// "id": "quantity" Statistic, Unit, Better, label "in tables", shown when, judged place, said wording => value;
/// ```
///
/// Statistic, label, `shown` (never), `judged` (not) and `said` (`Wording::Changes`) may be left
/// out.
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
        /// The things that have a metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Scope { $( $(#[doc = $about])+ $scope, )+ }

        $(
            $(#[doc = $about])+
            pub(super) static $rows: &[Row<$subject>] = &[$( Row {
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
