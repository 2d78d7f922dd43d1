//! Ranking: the best scheme, and the schemes that are not significantly worse.

use crate::compare::{Comparison, MetricComparison};
use crate::finding::{judged, pairs};
use crate::metric::{Better, LOST_PERCENT};
use crate::statistics::Estimate;

/// Maximum number of metrics in a ranked table.
const COLUMNS: usize = 5;

/// Standing of a scheme in a column of a ranked table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The scheme has the best mean of the column.
    Best,
    /// The scheme is not significantly worse than the best scheme. The paired interval of their
    /// difference includes zero, or both schemes are equal for every seed. The intervals are not
    /// corrected for the number of schemes.
    AsGood,
    /// The scheme is worse than the best scheme; with one seed, it is worse for this seed.
    Behind,
}

impl Standing {
    /// Sign that tables show for a scheme with this standing, independent of colour.
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
    /// Metrics of the ranking; schemes are ranked by the first metric.
    pub columns: Vec<&'a MetricComparison>,
    /// Indices of schemes, the best scheme first; schemes without a value are last.
    pub order: Vec<usize>,
}

impl<'a> Ranking<'a> {
    /// Ranks the schemes of a comparison; `None` without schemes or metrics to rank.
    #[must_use]
    pub fn of(comparison: &'a Comparison) -> Option<Self> {
        let mut columns = judged(comparison);
        // A column with equal values cannot rank schemes; the findings report losses.
        columns.retain(|row| varies(row));
        // The ranking always has a column of losses, independent of the number of classes.
        if let Some(losses) = columns.iter().position(|row| row.metric.id == LOST_PERCENT)
            && losses >= COLUMNS
        {
            let losses = columns.remove(losses);
            columns.insert(COLUMNS - 1, losses);
        }
        columns.truncate(COLUMNS);
        let first = *columns.first().filter(|_| comparison.policies.len() > 1)?;
        let mut order: Vec<usize> = (0..comparison.policies.len()).collect();
        // The sort is stable: schemes with equal values keep the order in which the user named
        // them.
        order.sort_by(|a, b| cost(first, *a).total_cmp(&cost(first, *b)));
        Some(Self { columns, order })
    }

    /// Standing of the scheme in the column of the ranking; `None` if the scheme has no value.
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

/// Cost by which a column ranks a scheme: lower is better, and infinite without a value.
fn cost(row: &MetricComparison, policy: usize) -> f64 {
    let mean = row.cells[policy].estimate.map(|estimate| estimate.mean);
    mean.map_or(f64::INFINITY, |mean| if row.metric.better == Better::Higher { -mean } else { mean })
}

fn varies(row: &MetricComparison) -> bool {
    let mut values = row.cells.iter().map(|cell| &cell.values);
    let first = values.next();
    values.any(|other| Some(other) != first)
}
