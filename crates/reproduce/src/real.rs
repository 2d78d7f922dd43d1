//! What did real packets show? Statements judged by runs of the testbed, beside the same network in
//! the simulator.
//!
//! An experiment with real hosts is an experiment as any other (`testbeds/<paper>/<figure>.toml`);
//! only its runs are done elsewhere: by a caller that has hosts. Three tables keep what was found,
//! all in `claims/`: `real-packets.csv` the verdicts, `real-runs.csv` how late the switch was and
//! how many packets the simulator judged otherwise, and `real/` the values of both. No verdict of a
//! simulation changes because of them: they stand beside it.

use crate::output::{write_experiment, write_whole};
use crate::table::{Cells, Row, rows, to_csv};
use crate::{
    Estimates, Experiment, Judged, Ledger, Registry, ReproduceError, Results, TableError, Verdict, judge,
};
use bufferlab_report::{Estimate, format};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

const VERDICTS: &str = include_str!("../../../claims/real-packets.csv");

/// Under these names a run's lateness and parity are kept beside its numbers.
pub mod keys {
    /// How late the switch handed over all but one of a hundred frames (us).
    pub const LATENESS_P99_US: &str = "real.lateness_p99_us";
    /// All but one of a thousand (us).
    pub const LATENESS_P999_US: &str = "real.lateness_p999_us";
    /// Packets that the simulator judged otherwise.
    pub const DIFFERENCES: &str = "real.differences";
    /// Packets that the switch was asked about.
    pub const PACKETS: &str = "real.packets";
}

/// A run whose lateness p99.9 is above this says little about queues (us):
/// docs/how-to/real-switch.md.
pub const MOST_LATENESS_US: f64 = 1_000.0;

/// A verdict by real packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RealRecord {
    /// The statement.
    pub id: String,
    /// What real packets say.
    pub verdict: Verdict,
    /// What was measured, in words.
    pub measured: String,
    /// Repetitions of every point.
    pub repetitions: u64,
    /// What the simulator says of the same network.
    pub simulated: Verdict,
    /// What it measured, in words.
    pub simulated_measured: String,
    /// The experiment, in `testbeds/`.
    pub experiment: String,
    /// To be read with the verdict.
    pub note: String,
    /// The program's source.
    pub commit: String,
    /// Year, month, day.
    pub date: String,
}

impl Row for RealRecord {
    const COLUMNS: &'static [&'static str] = &[
        "id",
        "verdict",
        "measured",
        "repetitions",
        "simulated",
        "simulated_measured",
        "experiment",
        "note",
        "commit",
        "date",
    ];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            id: cells.text("id"),
            verdict: cells.verdict("verdict")?,
            measured: cells.text("measured"),
            repetitions: cells.count("repetitions")?,
            simulated: cells.verdict("simulated")?,
            simulated_measured: cells.text("simulated_measured"),
            experiment: cells.text("experiment"),
            note: cells.text("note"),
            commit: cells.text("commit"),
            date: cells.text("date"),
        })
    }
}

/// How good the runs of an experiment were.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RealRuns {
    /// The experiment.
    pub experiment: String,
    /// Repetitions of every point.
    pub repetitions: u64,
    /// Its runs.
    pub runs: u64,
    /// Packets that the switch was asked about, in all of them.
    pub packets: u64,
    /// The largest p99 of the switch's lateness (us).
    pub lateness_p99_us: f64,
    /// The largest p99.9 (us).
    pub lateness_p999_us: f64,
    /// Runs whose p99.9 is above [`MOST_LATENESS_US`].
    pub late_runs: u64,
    /// Packets that the simulator judged otherwise.
    pub differences: u64,
    /// The program's source.
    pub commit: String,
    /// Year, month, day.
    pub date: String,
}

impl Row for RealRuns {
    const COLUMNS: &'static [&'static str] = &[
        "experiment",
        "repetitions",
        "runs",
        "packets",
        "lateness_p99_us",
        "lateness_p999_us",
        "late_runs",
        "differences",
        "commit",
        "date",
    ];

    fn read(cells: &Cells<'_>) -> Result<Self, TableError> {
        Ok(Self {
            experiment: cells.text("experiment"),
            repetitions: cells.count("repetitions")?,
            runs: cells.count("runs")?,
            packets: cells.count("packets")?,
            lateness_p99_us: cells.number("lateness_p99_us")?,
            lateness_p999_us: cells.number("lateness_p999_us")?,
            late_runs: cells.count("late_runs")?,
            differences: cells.count("differences")?,
            commit: cells.text("commit"),
            date: cells.text("date"),
        })
    }
}

/// The verdicts by real packets that travel inside the program.
///
/// # Errors
/// If the table is damaged.
pub(crate) fn recorded() -> Result<Vec<RealRecord>, ReproduceError> {
    Ok(rows("claims/real-packets.csv", VERDICTS)?)
}

/// An experiment that ran with real hosts, and in the simulator.
#[derive(Clone, Debug)]
pub struct RealStudy {
    /// With real hosts.
    pub real: Results,
    /// The same scenarios in the simulator.
    pub simulated: Results,
}

impl RealStudy {
    pub(crate) fn experiment(&self) -> &Experiment {
        self.real.experiment()
    }

    /// How good the runs were.
    #[must_use]
    pub fn runs(&self, date: &str) -> RealRuns {
        let of = |key: &str| -> Vec<f64> {
            let numbers = self.real.runs.iter().flatten();
            numbers.filter_map(|numbers| numbers.metrics.get(key).copied()).collect()
        };
        let largest = |key: &str| of(key).into_iter().fold(0.0, f64::max).round();
        let sum = |key: &str| of(key).into_iter().sum::<f64>() as u64;
        RealRuns {
            experiment: self.experiment().id.clone(),
            repetitions: self.real.seeds(),
            runs: self.real.runs.iter().flatten().count() as u64,
            packets: sum(keys::PACKETS),
            lateness_p99_us: largest(keys::LATENESS_P99_US),
            lateness_p999_us: largest(keys::LATENESS_P999_US),
            late_runs: of(keys::LATENESS_P999_US).into_iter().filter(|us| *us > MOST_LATENESS_US).count()
                as u64,
            differences: sum(keys::DIFFERENCES),
            commit: bufferlab_lab::commit().unwrap_or("unknown").to_owned(),
            date: date.to_owned(),
        }
    }

    /// Every statement as real packets and as the simulator judge it. Where the switch was late,
    /// real packets decide nothing.
    #[must_use]
    pub fn judged(&self) -> Vec<(Judged, Judged)> {
        let late = self.runs("").late_runs;
        let one = |claim| {
            let (mut real, simulated) = (judge(claim, &self.real), judge(claim, &self.simulated));
            if late > 0 && real.verdict != Verdict::NotRun {
                real.verdict = Verdict::Inconclusive;
                real.beside.push(format!("the switch was late in {late} runs"));
            }
            (real, simulated)
        };
        self.experiment().claims().iter().map(one).collect()
    }

    /// The verdicts for [`record_real`].
    pub(crate) fn records(&self, date: &str) -> Vec<RealRecord> {
        let record = |(real, simulated): (Judged, Judged)| RealRecord {
            id: real.id.clone(),
            verdict: real.verdict,
            measured: real.measured(),
            repetitions: self.real.seeds(),
            simulated: simulated.verdict,
            simulated_measured: simulated.measured(),
            experiment: self.experiment().id.clone(),
            note: real.note.unwrap_or_default(),
            commit: bufferlab_lab::commit().unwrap_or("unknown").to_owned(),
            date: date.to_owned(),
        };
        self.judged().into_iter().map(record).collect()
    }

    /// What was found, in Markdown: the values of both, and the verdicts.
    #[must_use]
    pub fn markdown(&self, date: &str) -> String {
        let (real, simulated) = (Estimates::of(&self.real), Estimates::of(&self.simulated));
        experiment_markdown((&real, &simulated), Some(&self.runs(date)), &self.records(date))
    }

    /// Writes the values, charts and verdicts of both into `folder`, under `real` and `simulated`,
    /// and [`Self::markdown`] as `<paper>-<figure>.md`.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn write(&self, folder: &Path, date: &str) -> Result<(), ReproduceError> {
        let ledger = Ledger::recorded()?;
        let statement = |id: &str| ledger.claim(id).map(crate::Claim::statement);
        let (real, simulated): (Vec<_>, Vec<_>) = self.judged().into_iter().unzip();
        let of = |name: &str| folder.join(name).join(&self.experiment().id);
        write_experiment(&of("real"), &self.real, &real, statement)?;
        write_experiment(&of("simulated"), &self.simulated, &simulated, statement)?;
        write_whole(&folder.join(format!("{}.md", file_name(self.experiment()))), self.markdown(date))
    }
}

/// `losspass/fig1` is `losspass-fig1` as a file.
fn file_name(experiment: &Experiment) -> String {
    experiment.id.replace('/', "-")
}

/// Puts what `studies` found into the table of verdicts `table`, and beside it into `real-runs.csv`
/// and `real/`. What the tables say of other experiments stays.
///
/// # Errors
/// If a table cannot be read or written.
pub fn record_real(table: &Path, studies: &[RealStudy], date: &str) -> Result<(), ReproduceError> {
    let mut verdicts: Vec<RealRecord> = read_or_empty(table)?;
    let table_of_runs = table.with_file_name("real-runs.csv");
    let mut runs: Vec<RealRuns> = read_or_empty(&table_of_runs)?;
    let folder = table.with_file_name("real");
    std::fs::create_dir_all(&folder).map_err(ReproduceError::io("make", &folder))?;
    for study in studies {
        let id = &study.experiment().id;
        verdicts.retain(|known| known.experiment != *id);
        verdicts.extend(study.records(date));
        runs.retain(|known| known.experiment != *id);
        runs.push(study.runs(date));
        for (kind, results) in [("real", &study.real), ("simulated", &study.simulated)] {
            let file = format!("{}.{kind}.csv", file_name(study.experiment()));
            write_whole(&folder.join(file), Estimates::of(results).csv())?;
        }
    }
    verdicts.sort_by(|a, b| (&a.experiment, &a.id).cmp(&(&b.experiment, &b.id)));
    runs.sort_by(|a, b| a.experiment.cmp(&b.experiment));
    write_whole(table, to_csv("real-packets.csv", verdicts.iter())?)?;
    write_whole(&table_of_runs, to_csv("real-runs.csv", runs.iter())?)
}

fn read_or_empty<R: Row>(table: &Path) -> Result<Vec<R>, ReproduceError> {
    match std::fs::read_to_string(table) {
        Ok(text) => Ok(rows(&table.display().to_string(), &text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ReproduceError::io("read", table)(error)),
    }
}

/// What `claims`, the folder of [`record_real`]'s tables, says of the experiments of `registry`:
/// the page docs/evidence/real-packets.md.
///
/// # Errors
/// If a table is damaged.
pub fn real_markdown(registry: &Registry, claims: &Path) -> Result<String, ReproduceError> {
    let verdicts: Vec<RealRecord> = read_or_empty(&claims.join("real-packets.csv"))?;
    let runs: Vec<RealRuns> = read_or_empty(&claims.join("real-runs.csv"))?;
    let mut text = String::new();
    for experiment in &registry.experiments {
        let file = |kind: &str| claims.join("real").join(format!("{}.{kind}.csv", file_name(experiment)));
        if !file("real").is_file() {
            continue;
        }
        let values = [file("real"), file("simulated")].map(|file| Estimates::read(experiment, &file));
        let [real, simulated] = values;
        let of_it = |record: &&RealRecord| record.experiment == experiment.id;
        let verdicts: Vec<_> = verdicts.iter().filter(of_it).cloned().collect();
        let runs = runs.iter().find(|runs| runs.experiment == experiment.id);
        text.push_str(&experiment_markdown((&real?, &simulated?), runs, &verdicts));
    }
    Ok(text)
}

/// In words.
pub(crate) fn repetitions(count: u64) -> String {
    if count == 1 { "1 repetition".to_owned() } else { format!("{count} repetitions") }
}

/// One experiment: what it is, how good its runs were, a table for its metrics, and its verdicts.
fn experiment_markdown(
    (real, simulated): (&Estimates, &Estimates),
    quality: Option<&RealRuns>,
    verdicts: &[RealRecord],
) -> String {
    let experiment = real.experiment();
    let mut text = format!("## {}. {}\n\n", experiment.figure, experiment.title);
    if !experiment.about.is_empty() {
        let _ = writeln!(text, "{}\n", experiment.about.trim());
    }
    if let Some(runs) = quality {
        let _ = writeln!(
            text,
            "`{}`, {}, {} runs, {} packets; lateness of the switch at most {} us (p99) and {} us (p99.9); {} packets judged otherwise by the simulator; {}, `{}`.\n",
            runs.experiment,
            repetitions(runs.repetitions),
            runs.runs,
            format::count(runs.packets),
            runs.lateness_p99_us,
            runs.lateness_p999_us,
            runs.differences,
            runs.date,
            runs.commit
        );
    }
    text.push_str(&values_markdown(real, simulated));
    if !verdicts.is_empty() {
        text.push_str("\n| claim | real packets | the same network simulated |\n|---|---|---|\n");
        for one in verdicts {
            let note = if one.note.is_empty() { String::new() } else { format!(" {}", one.note) };
            let _ = writeln!(
                text,
                "| {} | {}: {}.{note} | {}: {} |",
                one.id, one.verdict, one.measured, one.simulated, one.simulated_measured
            );
        }
    }
    text.push('\n');
    text
}

/// A row for every place and variant, two columns for every metric that a panel shows; without
/// panels, for every metric.
fn values_markdown(real: &Estimates, simulated: &Estimates) -> String {
    let Some(runs) = real.experiment().runs() else { return String::new() };
    let mut text = String::from("|");
    runs.axes.iter().for_each(|axis| text.push_str(&format!(" {} |", axis.title)));
    text.push_str(" |");
    let mut shown: Vec<_> =
        runs.panels.iter().map(|panel| (panel.metric.as_str(), panel.title.as_str())).collect();
    if shown.is_empty() {
        shown.extend(runs.metrics.keys().map(|name| (name.as_str(), name.as_str())));
    }
    shown.iter().for_each(|(_, title)| text.push_str(&format!(" {title}, real | simulated |")));
    let columns = runs.axes.len() + 1 + 2 * shown.len();
    let _ = writeln!(text, "\n|{}", "---|".repeat(columns));
    let cell = |estimate: Option<Estimate>| match estimate {
        None => "–".to_owned(),
        Some(Estimate { mean, half_width: Some(half), .. }) => format::estimate(mean, half),
        Some(Estimate { mean, .. }) => format::number(mean),
    };
    for places in real.grid() {
        for (variant, of) in runs.variants.iter().enumerate() {
            text.push('|');
            for (axis, &place) in runs.axes.iter().zip(places) {
                text.push_str(&format!(" {} |", axis.values[place].label));
            }
            text.push_str(&format!(" {} |", of.name));
            for (name, _) in &shown {
                for values in [real, simulated] {
                    text.push_str(&format!(" {} |", cell(values.get(name, variant, places))));
                }
            }
            text.push('\n');
        }
    }
    text
}
