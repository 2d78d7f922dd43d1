//! Writes the page as one file, or as a part of a report.
//! The page contains the whole run as points, and every packet around some losses.

use crate::ViewError;
use crate::explain::{Losses, explain, scenario};
use crate::losses::Queries;
use crate::overview::{RunOverview, Values};
use crate::page::{self, NamedRow};
use crate::view::View;
use crate::window::{By, LossMark, Window, WindowRequest};
use bufferlab_results::ExplanationRecord;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Time before and after a loss for which a file contains every packet (ps).
const AROUND: u64 = 100_000_000;
/// Maximum number of table rows that are repeated to explain losses: some seconds of work.
const ROWS_REPEATED: u64 = 2_000_000;

/// Amount of detail in the file of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Number of points in the chart of the whole run.
    pub(crate) points: u64,
    /// Number of losses, counted from the first, with an explanation and all packets around the
    /// loss.
    pub(crate) losses: usize,
    /// Number of queries whose first loss also has an explanation and all packets around the loss.
    /// The file selects the queries with the longest durations.
    pub(crate) queries: usize,
    /// Number of queues with a separate view; the queues with the most losses are chosen.
    pub(crate) queues: usize,
    /// Number of chart points in the time window around a loss.
    pub(crate) points_around: u64,
    /// Maximum number of packet rows in the page's file.
    pub(crate) rows: usize,
    /// Maximum number of sampled policy values in the file.
    pub(crate) values: usize,
    /// Maximum number of losses that are listed with time and place.
    pub(crate) marks: usize,
}

impl Detail {
    /// Detail of a page in a separate file, which has some megabytes.
    pub(crate) const FILE: Self = Self {
        points: 2_000,
        losses: 12,
        queries: 12,
        queues: 8,
        points_around: 1_500,
        rows: 3_000,
        values: 24,
        marks: 2_000,
    };
    /// Initial detail of a page that is a part of a report.
    pub(crate) const PART: Self = Self {
        points: 800,
        losses: 4,
        queries: 6,
        queues: 4,
        points_around: 400,
        rows: 1_000,
        values: 8,
        marks: 1_000,
    };

    /// Returns half of the detail; `None` if little detail is left.
    pub(crate) fn half(self) -> Option<Self> {
        let Self { points, losses, queries, queues, points_around, rows, values, marks } = self;
        (points >= 200).then_some(Self {
            points: points / 2,
            losses: losses / 2,
            queries: queries / 2,
            queues: queues / 2,
            points_around: points_around / 2,
            rows: rows / 2,
            values: values / 2,
            marks: marks / 2,
        })
    }
}

/// Data for every request that the page in a file may send.
#[derive(Serialize)]
struct Data {
    is_part: bool,
    about: FileAbout,
    /// Time windows of the buffer divided by port, queue or class, and time windows of single
    /// queues.
    windows: BTreeMap<String, Vec<Window>>,
    rows: Vec<NamedRow>,
    losses: Vec<LossMark>,
    queries: BTreeMap<u32, Option<LossMark>>,
    explanations: Vec<Explained>,
    values: BTreeMap<String, Values>,
}

#[derive(Serialize)]
struct FileAbout {
    #[serde(flatten)]
    about: RunOverview,
    /// Names of the queues that have a separate chart.
    shown_queues: Vec<String>,
}

#[derive(Serialize)]
struct Explained {
    time: u64,
    row: u64,
    explanation: ExplanationRecord,
}

impl View {
    /// Writes the page as one self-contained file, some megabytes at most for any length of run.
    ///
    /// # Errors
    /// If the run cannot be read, or cannot be repeated to explain losses.
    pub fn file(&self) -> Result<String, ViewError> {
        Ok(page::view(Some(&self.data(Detail::FILE, false)?)))
    }

    /// Collects all data for a self-contained page, as JSON.
    pub(crate) fn data(&self, detail: Detail, is_part: bool) -> Result<String, ViewError> {
        let mut about = self.about()?;
        about.switches.clear();
        let Queries { longest, .. } = &about.queries;
        let wanted: Vec<u32> = longest.iter().take(detail.queries).map(|line| line.query).collect();
        let found = self.losses_of_queries(&wanted)?;
        let queries: BTreeMap<_, _> =
            wanted.iter().map(|query| (*query, found.get(query).copied())).collect();
        let losses: Vec<_> = self.index.losses.iter().take(detail.marks).map(LossMark::from).collect();
        let (first, others) = self.chosen_losses(detail, &wanted, &found);
        let mut chosen: Vec<LossMark> = first.iter().chain(&others).copied().collect();
        chosen.sort_by_key(|loss| loss.row);
        let stretches = self.stretches(&chosen);
        let shown_queues = self.losing_queues(detail.queues);
        let mut windows = BTreeMap::new();
        let divisions = [("port", By::Port), ("queue", By::Queue), ("class", By::Class)];
        // With one queue per port, a division by queue equals a division by port.
        let is_told = |by: By| by != By::Queue || self.index.shape.queues_per_port > 1;
        for (name, by) in divisions.into_iter().filter(|(_, by)| is_told(*by)) {
            windows.insert(name.to_owned(), self.windows(detail, &stretches, (by, None))?);
        }
        for &(port, priority) in &shown_queues {
            let list = self.windows(detail, &stretches, (By::Queue, Some((port, priority))))?;
            windows.insert(format!("{port}.{priority}"), list);
        }
        let mut rows = Vec::new();
        for &stretch in &stretches {
            rows.extend(page::rows(self, stretch, (None, None), detail.rows.saturating_sub(rows.len()))?);
        }
        let values = self.first_values(&about, detail.values);
        let explanations = self.explain_chosen(&first, &others)?;
        let names = |queues: &[(u16, u8)]| {
            queues.iter().map(|(port, priority)| format!("{port}.{priority}")).collect()
        };
        let about = FileAbout { about, shown_queues: names(&shown_queues) };
        let data = Data { is_part, about, windows, rows, losses, queries, explanations, values };
        Ok(serde_json::to_string(&data)?)
    }

    /// Creates the time windows of the whole run and of the stretches around losses.
    fn windows(
        &self,
        detail: Detail,
        stretches: &[(u64, u64)],
        (by, queue): (By, Option<(u16, u8)>),
    ) -> Result<Vec<Window>, ViewError> {
        let whole = ((self.begin(), self.index.end), detail.points);
        let around = stretches.iter().map(|&stretch| (stretch, detail.points_around));
        let window = |((from, until), points): ((u64, u64), u64)| {
            let (port, priority) = (queue.map(|(port, _)| port), queue.map(|(_, priority)| priority));
            let mut window = self.window(&WindowRequest { from, until, points, by, port, priority })?;
            window.thin();
            Ok(window)
        };
        std::iter::once(whole).chain(around).map(window).collect()
    }

    /// Chooses the losses to explain: the first losses of the run, and first losses of queries.
    /// The number of losses is limited, so that repeating the run takes little time.
    fn chosen_losses(
        &self,
        detail: Detail,
        queries: &[u32],
        found: &BTreeMap<u32, LossMark>,
    ) -> (Vec<LossMark>, Vec<LossMark>) {
        let first = self.index.losses.iter().take(detail.losses).map(LossMark::from);
        let first: Vec<_> = first.take_while(|loss| loss.row <= ROWS_REPEATED).collect();
        let mut left = ROWS_REPEATED - first.last().map_or(0, |loss| loss.row);
        let mut others: Vec<LossMark> = Vec::new();
        for loss in queries.iter().filter_map(|query| found.get(query)) {
            if loss.row <= left && !first.contains(loss) && !others.contains(loss) {
                left -= loss.row;
                others.push(*loss);
            }
        }
        (first, others)
    }

    /// Stretches of time around losses, without overlap. The losses must be sorted by time.
    fn stretches(&self, losses: &[LossMark]) -> Vec<(u64, u64)> {
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for loss in losses {
            let (from, until) = (loss.time.saturating_sub(AROUND), (loss.time + AROUND).min(self.index.end));
            match stretches.last_mut() {
                Some(last) if last.1 >= from => last.1 = until,
                _ => stretches.push((from, until)),
            }
        }
        stretches
    }

    /// The queues that lost the most packets, sorted by loss.
    fn losing_queues(&self, most: usize) -> Vec<(u16, u8)> {
        let mut lost: BTreeMap<(u16, u8), u64> = BTreeMap::new();
        for loss in &self.index.losses {
            *lost.entry((loss.port, loss.priority)).or_default() += 1;
        }
        let mut ranked: Vec<_> = lost.into_iter().collect();
        ranked.sort_by_key(|&(place, count)| (Reverse(count), place));
        ranked.into_iter().take(most).map(|(place, _)| place).collect()
    }

    fn first_values(&self, about: &RunOverview, most: usize) -> BTreeMap<String, Values> {
        let names =
            about.values.iter().flat_map(|(name, queues)| queues.iter().map(move |queue| (*name, queue)));
        let of = |(name, queue): (&str, &String)| {
            (format!("{name} {queue}"), self.values(name, queue, (0, self.index.end)))
        };
        names.take(most).map(of).collect()
    }

    /// Explains the losses `first` in one repetition of the run, and each of the losses `others` in
    /// a separate repetition.
    fn explain_chosen(&self, first: &[LossMark], others: &[LossMark]) -> Result<Vec<Explained>, ViewError> {
        if first.is_empty() && others.is_empty() {
            return Ok(Vec::new());
        }
        let scenario = scenario(self.run())?;
        let wanted = Losses { port: None, from: 0, skip: 0, count: first.len() as u64 };
        let mut explained = Vec::with_capacity(first.len() + others.len());
        let of = |(loss, explanation): (&LossMark, ExplanationRecord)| Explained {
            time: loss.time,
            row: loss.row,
            explanation,
        };
        if !first.is_empty() {
            let found = explain(scenario.clone(), self.index.switch, wanted)?;
            explained.extend(first.iter().zip(found).map(of));
        }
        for loss in others {
            explained.push(of((loss, self.explain_row(loss.row)?)));
        }
        Ok(explained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_comes_to_an_end_and_leaves_a_chart() {
        let mut detail = Detail::PART;
        let mut times = 0;
        while let Some(half) = detail.half() {
            assert!(half.points < detail.points && half.rows < detail.rows);
            (detail, times) = (half, times + 1);
        }
        assert!(times > 1 && detail.points >= 100, "{detail:?}");
    }
}
