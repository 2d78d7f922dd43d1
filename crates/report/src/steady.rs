//! End of a run's warm-up. The first flows are fast in an empty network, so the mean over all flows
//! differs from the mean in the loaded network.
//!
//! MSER-5 (White, Cobb and Spratt 2000) finds the end of the warm-up. The values are completion
//! times in the order of starts, in batches of five. MSER-5 leaves out the number of initial
//! batches that minimises the standard error of the mean of the rest. If MSER-5 would leave out
//! more than half of the batches, no steady state is visible, and the statistics should include all
//! flows. The remaining flows have an interval by batch means: twenty batches, whose means count as
//! independent.

use crate::error::ReportError;
use crate::format;
use crate::load::Run;
use crate::statistics::Estimate;
use crate::terminal::wrap;
use bufferlab_metrics::{FlowRow, QueryRow};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of values in a batch of MSER-5.
const BATCH: usize = 5;
/// Minimum number of MSER-5 batches for a result.
const BATCHES_MIN: usize = 20;
/// Number of batches for the interval by batch means.
const BATCH_MEANS: usize = 20;
/// Largest lag-1 autocorrelation of batch means that count as independent. Twenty independent means
/// have a lag-1 autocorrelation with a standard deviation of 1 / √20; the limit is two standard
/// deviations.
const CORRELATION_MAX: f64 = 0.447;

/// Warm-up and mean of one series of completion times.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// Label of the run in the comparison.
    pub label: String,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the series of slowdowns: `web_search flows`, `incast queries`.
    pub series: String,
    /// Number of finished flows or queries in the series.
    pub values: usize,
    /// Number of completion times in the warm-up. `None` if no steady state is visible, or with too
    /// few values.
    pub left_out: Option<usize>,
    /// Start of the first flow or query after the warm-up (ns).
    pub from_ns: u64,
    /// Mean slowdown of all flows or queries of the series, including the warm-up.
    pub mean_of_all: f64,
    /// Mean slowdown of the flows or queries after the warm-up.
    pub mean: f64,
    /// Half-width of the mean's 95 % interval by batch means. `None` with too few values or
    /// dependent batches.
    pub half_width: Option<f64>,
}

impl SteadyState {
    /// Whether the series has too few values for a result.
    #[must_use]
    pub const fn is_too_short(&self) -> bool {
        self.values < BATCH * BATCHES_MIN
    }
}

/// Time from which every run is steady (ns), so that all schemes are measured over equal flows.
/// `None` if a series has no visible steady state, or if all series are too short.
#[must_use]
pub fn steady_from(states: &[SteadyState]) -> Option<u64> {
    let long = || states.iter().filter(|state| !state.is_too_short());
    let is_seen = long().all(|state| state.left_out.is_some()) && long().next().is_some();
    is_seen.then(|| long().map(|state| state.from_ns).max().unwrap_or(0))
}

/// Formats warm-ups as text for a terminal. `duration_ns` is the length of the arrival phase.
#[must_use]
pub fn steady_text(states: &[SteadyState], duration_ns: u64) -> String {
    let mut text =
        "Where does each run's beginning end (MSER-5), and what are mean slowdowns [x] without it?\n"
            .to_owned();
    let names: Vec<String> = states
        .iter()
        .map(|state| format!("{}, seed {}, {}", state.label, state.seed, state.series))
        .collect();
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "{:wide$}  {:>10}  {:>15}  {:>11}  {:>13}",
        "", "ends at", "left out", "mean of all", "of the rest"
    );
    for (name, state) in names.iter().zip(states) {
        let (ends, out) = match state.left_out {
            Some(count) => (
                if count == 0 { "at once".to_owned() } else { format::span_ns(state.from_ns) },
                format!("{} of {}", format::count(count as u64), format::count(state.values as u64)),
            ),
            None if state.is_too_short() => ("too few".to_owned(), format!("0 of {}", state.values)),
            None => ("not seen".to_owned(), format!("0 of {}", format::count(state.values as u64))),
        };
        let rest = match state.half_width {
            Some(half) => format::estimate(state.mean, half),
            None => format::number(state.mean),
        };
        let all = format::number(state.mean_of_all);
        let _ = writeln!(text, "{name:wide$}  {ends:>10}  {out:>15}  {all:>11}  {rest:>13}");
    }
    let intervals = "± is half of the 95 % interval of one run by twenty batch means; without it, batches depend on each other or are too small.";
    wrap(&mut text, "", intervals);
    text.push('\n');
    let found = match steady_from(states) {
        Some(0) => "No beginning differs from what follows: all flows and queries count.".to_owned(),
        Some(from) => format!(
            "Every run is steady from {} on: flows and queries that start in the last {:.0} % of the {} count below, those before do not.",
            format::span_ns(from),
            100.0 * duration_ns.saturating_sub(from) as f64 / duration_ns.max(1) as f64,
            format::span_ns(duration_ns)
        ),
        None if states.iter().all(SteadyState::is_too_short) => format!(
            "There are too few flows and queries to tell: {} of a kind are needed. Nothing is left out; raise `duration`.",
            BATCH * BATCHES_MIN
        ),
        None => "No steady state is to be seen everywhere, so nothing is left out. Raise `duration`, or lower the load if the network cannot carry it.".to_owned(),
    };
    wrap(&mut text, "", &found);
    text
}

/// Analyses a run's classes of flows with congestion control, and its classes of queries. A flow
/// that answers a query counts with the query.
pub(crate) fn of_run(run: &Run) -> Result<Vec<SteadyState>, ReportError> {
    let mut series: BTreeMap<(u16, bool), Vec<(u64, f64)>> = BTreeMap::new();
    run.result.visit(|row: FlowRow| {
        if let (Some(slowdown), None, None) = (row.slowdown, row.sending_ns, row.query_id) {
            series.entry((row.class, false)).or_default().push((row.start_ns, slowdown));
        }
    })?;
    run.result.visit(|row: QueryRow| {
        if let Some(slowdown) = row.slowdown {
            series.entry((row.class, true)).or_default().push((row.start_ns, slowdown));
        }
    })?;
    let names = &run.result.manifest().names.classes;
    let states = series.into_iter().map(|((class, of_queries), mut values)| {
        // The table has the flows or queries in the order of their completion.
        values.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let what = if of_queries { "queries" } else { "flows" };
        let series = format!("{} {what}", names[usize::from(class)]);
        of_values(run.label.clone(), run.summary.seed, series, &values)
    });
    Ok(states.collect())
}

/// Analyses a series of start times (ns) and slowdowns, in the order of the start times.
fn of_values(label: String, seed: u64, series: String, values: &[(u64, f64)]) -> SteadyState {
    let slowdowns: Vec<f64> = values.iter().map(|value| value.1).collect();
    let left_out = warm_up(&slowdowns);
    let rest = &slowdowns[left_out.unwrap_or(0)..];
    SteadyState {
        label,
        seed,
        series,
        values: values.len(),
        left_out,
        from_ns: left_out.filter(|&count| count > 0).map_or(0, |count| values[count].0),
        mean_of_all: mean(&slowdowns),
        mean: mean(rest),
        half_width: left_out.and_then(|_| batch_means(rest)),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Number of initial values that MSER-5 leaves out. `None` if there are too few values, or if
/// MSER-5 would leave out more than half of them.
fn warm_up(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < BATCHES_MIN {
        return None;
    }
    // `sum` and `squares` cover the values from one batch to the last batch. Each term is the
    // batch's difference from the mean of all batches, to avoid small differences of large squares.
    let about = mean(&batches);
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (at, batch) in batches.iter().enumerate().rev() {
        sum += batch - about;
        squares += (batch - about).powi(2);
        let left = (batches.len() - at) as f64;
        // The last few batches may be similar by chance (White 1997).
        if left < BATCH as f64 {
            continue;
        }
        let error = (squares - sum * sum / left).max(0.0) / (left * left);
        // If two numbers of omitted batches give equal standard errors, MSER-5 takes the smaller
        // number.
        if error <= best.0 {
            best = (error, at);
        }
    }
    (best.1 <= batches.len() / 2).then_some(best.1 * BATCH)
}

/// Half-width of the mean's 95 % interval by batch means.
fn batch_means(values: &[f64]) -> Option<f64> {
    let size = values.len() / BATCH_MEANS;
    if size < BATCH {
        return None;
    }
    // If the values do not fill the batches, the first values are omitted.
    let means: Vec<f64> = values[values.len() - size * BATCH_MEANS..].chunks_exact(size).map(mean).collect();
    let about = mean(&means);
    let squares: f64 = means.iter().map(|value| (value - about).powi(2)).sum();
    let lagged: f64 = means.windows(2).map(|two| (two[0] - about) * (two[1] - about)).sum();
    if squares > 0.0 && lagged / squares > CORRELATION_MAX {
        return None;
    }
    Estimate::from_values(&means)?.half_width
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_units::RandomStream;

    /// Draws random values about a mean level; the level rises until `warm` values are drawn.
    fn values(count: usize, warm: usize, noise: &mut RandomStream) -> Vec<f64> {
        let level = |at: usize| if at < warm { 2.0 * at as f64 / warm as f64 } else { 2.0 };
        (0..count).map(|at| 1.0 + level(at) + noise.next_f64() - 0.5).collect()
    }

    #[test]
    fn a_beginning_that_differs_is_left_out_and_one_that_does_not_is_kept() {
        let mut noise = RandomStream::new(1, "steady", 7);
        let out = warm_up(&values(5_000, 500, &mut noise)).expect("steady");
        assert!((300..=560).contains(&out), "{out}");
        let out = warm_up(&values(5_000, 0, &mut noise)).expect("steady");
        assert!(out <= 1_000, "MSER keeps most of what does not differ: {out}");
        assert_eq!(warm_up(&values(5_000, 4_500, &mut noise)), None, "it never becomes steady");
        assert_eq!(warm_up(&values(99, 0, &mut noise)), None, "too few");
        assert_eq!(warm_up(&[1.0; 200]), Some(0), "of equal ones the one that leaves out less");
    }

    /// A person computed this example: twenty batches of five equal values. The first two batches
    /// are 0, and the other batches are alternately 1 and 1.2. MSER(2) = 18 x 0.01 / 18^2.
    #[test]
    fn the_least_standard_error_decides() {
        let of_batch = |at: usize| match at {
            0 | 1 => 0.0,
            odd if odd % 2 == 1 => 1.0,
            _ => 1.2,
        };
        let values: Vec<(u64, f64)> = (0..100).map(|at| (at as u64 * 10, of_batch(at / 5))).collect();
        let state = of_values("dt".into(), 1, "web flows".into(), &values);
        assert_eq!((state.left_out, state.from_ns), (Some(10), 100));
        assert!((state.mean - 1.1).abs() < 1e-12 && (state.mean_of_all - 0.99).abs() < 1e-12, "{state:?}");
        assert_eq!(state.half_width, None, "four values a batch are too few");
    }

    #[test]
    fn an_interval_by_batch_means_holds_the_mean_and_dependent_batches_have_none() {
        let mut noise = RandomStream::new(1, "steady", 9);
        let (mut independent, mut held) = (0, 0);
        for _ in 0..200 {
            let values: Vec<f64> = (0..400).map(|_| noise.next_f64()).collect();
            let Some(half) = batch_means(&values) else { continue };
            independent += 1;
            held += usize::from((mean(&values) - 0.5).abs() <= half);
        }
        assert!(independent >= 185, "98 % of what is independent counts as such: {independent} of 200");
        let share = held as f64 / f64::from(independent);
        // The interval should contain the true mean in 95 % of the series, with a standard
        // deviation of 1.6 %.
        assert!((0.9..1.0).contains(&share), "{share}");
        let slow: Vec<f64> = (0..400).map(|at| (at as f64 / 60.0).sin()).collect();
        assert_eq!(batch_means(&slow), None);
    }
}
