//! The page as one file: the whole run in points, and every packet around the first losses.

use crate::ViewError;
use crate::about::{About, Values};
use crate::explain::{Losses, explain, scenario};
use crate::page::{self, NamedRow};
use crate::view::View;
use crate::window::{By, Window, Wish};
use bufferlab_results::ExplanationRecord;
use serde::Serialize;
use std::collections::BTreeMap;

/// Points of the whole run.
const POINTS: u64 = 2_000;
/// Losses that the file explains, and around which it has every packet.
const LOSSES: usize = 12;
/// Time on either side of such a loss (ps).
const AROUND: u64 = 100_000_000;
/// Points around a loss.
const POINTS_AROUND: u64 = 1_500;
/// Packets that it has.
const ROWS: usize = 3_000;
/// Values of the policy that the file has.
const VALUES: usize = 24;

/// Everything that the page may ask for.
#[derive(Serialize)]
struct Data {
    about: About,
    windows: BTreeMap<&'static str, Vec<Window>>,
    rows: Vec<NamedRow>,
    explanations: Vec<Explained>,
    values: BTreeMap<String, Values>,
}

#[derive(Serialize)]
struct Explained {
    time: u64,
    row: u64,
    explanation: ExplanationRecord,
}

impl View {
    /// The page as one file that needs nothing else: some megabytes at most, however long the run was.
    ///
    /// # Errors
    /// If the run cannot be read, or cannot be repeated to explain its first losses.
    pub fn file(&self) -> Result<String, ViewError> {
        let mut about = self.about()?;
        about.switches.clear();
        about.first_losses.truncate(LOSSES);
        let stretches = self.stretches();
        let mut windows = BTreeMap::new();
        for (name, by) in [("port", By::Port), ("queue", By::Queue), ("class", By::Class)] {
            let window = |(from, until): (u64, u64), points: u64| {
                self.window(&Wish { from, until, points, by, port: None })
            };
            let mut list = vec![window((self.begin(), self.index.end), POINTS)?];
            for &stretch in &stretches {
                list.push(window(stretch, POINTS_AROUND)?);
            }
            windows.insert(name, list);
        }
        let mut rows = Vec::new();
        for &(from, until) in &stretches {
            rows.extend(page::rows(self, (from, until), None, ROWS.saturating_sub(rows.len()))?);
        }
        let names =
            about.values.iter().flat_map(|(name, queues)| queues.iter().map(move |queue| (*name, queue)));
        let of = |(name, queue): (&str, &String)| {
            (format!("{name} {queue}"), self.values(name, queue, (0, self.index.end)))
        };
        let values = names.take(VALUES).map(of).collect();
        let explanations = self.explain_first_losses()?;
        let data = Data { about, windows, rows, explanations, values };
        Ok(page::view(Some(&serde_json::to_string(&data)?)))
    }

    /// Stretches of time around the first losses, which do not overlap.
    fn stretches(&self) -> Vec<(u64, u64)> {
        let mut stretches: Vec<(u64, u64)> = Vec::new();
        for loss in self.index.losses.iter().take(LOSSES) {
            let (from, until) = (loss.time.saturating_sub(AROUND), (loss.time + AROUND).min(self.index.end));
            match stretches.last_mut() {
                Some(last) if last.1 >= from => last.1 = until,
                _ => stretches.push((from, until)),
            }
        }
        stretches
    }

    fn explain_first_losses(&self) -> Result<Vec<Explained>, ViewError> {
        let losses = &self.index.losses[..self.index.losses.len().min(LOSSES)];
        if losses.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = Losses { port: None, from: 0, skip: 0, count: losses.len() as u64 };
        let found = explain(scenario(self.run())?, self.index.switch, wanted)?;
        let pairs = losses.iter().zip(found);
        Ok(pairs
            .map(|(loss, explanation)| Explained { time: loss.time, row: loss.row, explanation })
            .collect())
    }
}
