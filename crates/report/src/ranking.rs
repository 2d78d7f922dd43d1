//! Ranking: the best scheme, and the schemes that are not significantly worse.

use crate::compare::{Comparison, MetricComparison};
use crate::finding::{judged, pairs};
use crate::metric::{Better, LOST_PERCENT};
use crate::statistics::Estimate;

/// Maximum number of metrics in a ranked table.
const COLUMNS: usize = 5;

/// Standing of a scheme in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The scheme has the best mean.
    Best,
    /// Not significantly worse than the best: the paired interval of their difference includes
    /// zero, or they are equal in every seed. One interval per scheme, not corrected for their
    /// number.
    AsGood,
    /// The scheme is worse than the best; with one seed, worse in this seed.
    Behind,
}

impl Standing {
    /// Sign of the standing in tables, independent of colour.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Best => "●",
            Self::AsGood => "○",
            Self::Behind => "",
        }
    }
}

/// Schemes ranked by the headline metric, with a few important metrics.
#[derive(Clone, Debug)]
pub struct Ranking<'a> {
    /// The metrics; schemes are ranked by the first.
    pub columns: Vec<&'a MetricComparison>,
    /// Indices of schemes, the best first; those without a value last.
    pub order: Vec<usize>,
}

impl<'a> Ranking<'a> {
    /// Ranks the schemes; `None` if there is nothing to rank.
    #[must_use]
    pub fn of(comparison: &'a Comparison) -> Option<Self> {
        let mut columns = judged(comparison);
        // A column with equal values cannot rank; the findings report losses.
        columns.retain(|row| varies(row));
        // Losses are always shown, however many classes there are.
        if let Some(losses) = columns.iter().position(|row| row.metric.id == LOST_PERCENT)
            && losses >= COLUMNS
        {
            let losses = columns.remove(losses);
            columns.insert(COLUMNS - 1, losses);
        }
        columns.truncate(COLUMNS);
        let first = *columns.first().filter(|_| comparison.policies.len() > 1)?;
        let mut order: Vec<usize> = (0..comparison.policies.len()).collect();
        // The sort is stable: equal schemes keep the order in which they were named.
        order.sort_by(|a, b| cost(first, *a).total_cmp(&cost(first, *b)));
        Some(Self { columns, order })
    }

    /// Standing of the scheme in the column; `None` if it has no value.
    #[must_use]
    pub fn standing(&self, column: usize, policy: usize) -> Option<Standing> {
        let row = self.columns[column];
        row.cells[policy].estimate?;
        let best = (0..row.cells.len()).min_by(|a, b| cost(row, *a).total_cmp(&cost(row, *b)))?;
        if policy == best || cost(row, policy) == cost(row, best) {
            return Some(Standing::Best);
        }
        let differences: Vec<f64> = pairs(row, best, policy).iter().map(|(best, own)| own - best).collect();
        let same = !differences.is_empty() && differences.iter().all(|difference| *difference == 0.0);
        let unclear = Estimate::from_values(&differences)
            .is_some_and(|difference| difference.half_width.is_some() && !difference.excludes_zero());
        Some(if same || unclear { Standing::AsGood } else { Standing::Behind })
    }
}

/// Cost of a scheme, lower is better; infinite without a value.
fn cost(row: &MetricComparison, policy: usize) -> f64 {
    let mean = row.cells[policy].estimate.map(|estimate| estimate.mean);
    mean.map_or(f64::INFINITY, |mean| if row.metric.better == Better::Higher { -mean } else { mean })
}

fn varies(row: &MetricComparison) -> bool {
    let mut values = row.cells.iter().map(|cell| &cell.values);
    let first = values.next();
    values.any(|other| Some(other) != first)
}
