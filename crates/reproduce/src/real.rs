//! Results with real packets: runs of the testbed judge statements. Pages show simulations of an
//! equal network beside these runs.
//!
//! An experiment with real hosts (`testbeds/<paper>/<figure>.toml`) has the format of any other
//! experiment, but a caller with hosts executes its runs. Three tables in `claims/` record the
//! results. `real-packets.csv` has the verdicts. `real-runs.csv` has the lateness of the switch and
//! the number of packets for which the simulator decided differently. `real/` has the values with
//! real packets and in the simulator. Pages show these results beside the verdicts of simulations,
//! which they never change.

use crate::output::{write_experiment, write_whole};
use crate::table::{Cells, CsvRow, rows, to_csv};
use crate::{
    Estimates, Experiment, Judged, Ledger, Registry, ReproduceError, Results, TableError, Verdict, judge,
};
use bufferlab_report::{Estimate, format};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

const VERDICTS: &str = include_str!("../../../claims/real-packets.csv");

/// Cache keys of the switch's lateness in a run, and of the packets with different decisions.
pub mod keys {
    /// 99th percentile of the switch's lateness in forwarding frames (us).
    pub const LATENESS_P99_US: &str = "real.lateness_p99_us";
    /// 99.9th percentile of the switch's lateness in forwarding frames (us).
    pub const LATENESS_P999_US: &str = "real.lateness_p999_us";
    /// Number of packets about which the switch and the simulator decided differently.
    pub const DIFFERENCES: &str = "real.differences";
    /// Number of packets about which the switch made a decision.
    pub const PACKETS: &str = "real.packets";
}

/// Largest p99.9 of the switch's lateness (us) for meaningful statements about queues; see
/// docs/how-to/real-switch.md.
pub const MOST_LATENESS_US: f64 = 1_000.0;

/// A recorded verdict on a statement, from runs with real packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RealRecord {
    /// Number of the statement, such as `ABM-F6c-1`.
    pub id: String,
    /// Verdict on the statement that real packets give.
    pub verdict: Verdict,
    /// Effect measured with real packets, as text.
    pub measured: String,
    /// Number of repetitions for each variant and combination of axis values.
    pub repetitions: u64,
    /// Verdict on the statement from simulations of an equal network.
    pub simulated: Verdict,
    /// Effect measured in the simulator, as text.
    pub simulated_measured: String,
    /// Name of the experiment in `testbeds/`.
    pub experiment: String,
    /// Remark that pages print beside the verdict from real packets.
    pub note: String,
    /// Git commit of the program that executed the runs.
    pub commit: String,
    /// Date of the recorded verdict: year, month, day.
    pub date: String,
}

impl CsvRow for RealRecord {
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

/// Quality of the runs of an experiment with real packets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RealRuns {
    /// Name of the experiment in `testbeds/`.
    pub experiment: String,
    /// Number of repetitions for each variant and combination of axis values.
    pub repetitions: u64,
    /// Number of runs with real packets.
    pub runs: u64,
    /// Number of packets about which the switch made a decision, in all runs.
    pub packets: u64,
    /// Largest p99 of the switch's lateness over the runs (us).
    pub lateness_p99_us: f64,
    /// Largest p99.9 of the switch's lateness over the runs (us).
    pub lateness_p999_us: f64,
    /// Number of runs whose p99.9 of the lateness is above [`MOST_LATENESS_US`].
    pub late_runs: u64,
    /// Number of packets about which the switch and the simulator decided differently.
    pub differences: u64,
    /// Git commit of the program that executed the runs.
    pub commit: String,
    /// Date of the recorded runs: year, month, day.
    pub date: String,
}

impl CsvRow for RealRuns {
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

/// Returns the verdicts from real packets that are embedded in the program.
///
/// # Errors
/// If the table is damaged.
pub(crate) fn recorded() -> Result<Vec<RealRecord>, ReproduceError> {
    Ok(rows("claims/real-packets.csv", VERDICTS)?)
}

/// An experiment that ran with real hosts and in the simulator.
#[derive(Clone, Debug)]
pub struct RealStudy {
    /// Results of the runs with real hosts.
    pub real: Results,
    /// Results of the runs in the simulator, with equal scenarios.
    pub simulated: Results,
}

impl RealStudy {
    pub(crate) fn experiment(&self) -> &Experiment {
        self.real.experiment()
    }

    /// Returns the quality of the runs with real hosts: the lateness of the switch, and the number
    /// of decisions that differ from the simulator.
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

    /// Judges every statement, by real packets and by the simulator. If the switch was too late,
    /// the verdict from real packets is undecided.
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

    /// Converts the verdicts from real packets to records for [`record_real`].
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

    /// Formats the results as Markdown: values and verdicts, with real packets and in the
    /// simulator.
    #[must_use]
    pub fn markdown(&self, date: &str) -> String {
        let (real, simulated) =
            (Estimates::from_results(&self.real), Estimates::from_results(&self.simulated));
        let values = values_markdown(&real, &simulated);
        experiment_markdown(self.experiment(), &values, Some(&self.runs(date)), &self.records(date))
    }

    /// Writes the values, charts and verdicts to the folders `real` and `simulated` in `folder`,
    /// and the text of [`Self::markdown`] as `<paper>-<figure>.md`.
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

/// Name of an experiment's file, without a slash: `losspass/fig1` becomes `losspass-fig1`.
fn file_name(experiment: &Experiment) -> String {
    experiment.id.replace('/', "-")
}

/// Records the results of `studies` in the table of verdicts `table`. The file `real-runs.csv` and
/// the folder `real` are beside this table. Entries of other experiments stay.
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
            write_whole(&folder.join(file), Estimates::from_results(results).csv())?;
        }
    }
    verdicts.sort_by(|a, b| (&a.experiment, &a.id).cmp(&(&b.experiment, &b.id)));
    runs.sort_by(|a, b| a.experiment.cmp(&b.experiment));
    write_whole(table, to_csv("real-packets.csv", verdicts.iter())?)?;
    write_whole(&table_of_runs, to_csv("real-runs.csv", runs.iter())?)
}

fn read_or_empty<R: CsvRow>(table: &Path) -> Result<Vec<R>, ReproduceError> {
    match std::fs::read_to_string(table) {
        Ok(text) => Ok(rows(&table.display().to_string(), &text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ReproduceError::io("read", table)(error)),
    }
}

/// The page docs/evidence/real-packets.md, and the values of its experiments.
#[derive(Clone, Debug)]
pub struct RealPage {
    /// Text of the page about results with real packets.
    pub text: String,
    /// CSV tables beside the page: file name and content of each table.
    pub tables: Vec<(String, String)>,
}

/// Formats the page docs/evidence/real-packets.md from the tables in `claims`, for the experiments
/// of `registry`.
///
/// # Errors
/// If a table is damaged.
pub fn real_markdown(registry: &Registry, claims: &Path) -> Result<RealPage, ReproduceError> {
    let verdicts: Vec<RealRecord> = read_or_empty(&claims.join("real-packets.csv"))?;
    let runs: Vec<RealRuns> = read_or_empty(&claims.join("real-runs.csv"))?;
    let (mut text, mut tables) = (String::new(), Vec::new());
    for experiment in &registry.experiments {
        let file = |kind: &str| claims.join("real").join(format!("{}.{kind}.csv", file_name(experiment)));
        if !file("real").is_file() {
            continue;
        }
        let real = Estimates::read(experiment, &file("real"))?;
        let simulated = Estimates::read(experiment, &file("simulated"))?;
        let of_it = |record: &&RealRecord| record.experiment == experiment.id;
        let verdicts: Vec<_> = verdicts.iter().filter(of_it).cloned().collect();
        let runs = runs.iter().find(|runs| runs.experiment == experiment.id);
        let table = format!("{}.csv", file_name(experiment));
        let values = format!("[Values](real-packets/{table}).\n");
        text.push_str(&experiment_markdown(experiment, &values, runs, &verdicts));
        tables.push((table, values_csv(&real, &simulated)));
    }
    Ok(RealPage { text, tables })
}

/// Formats a number of repetitions, such as "3 repetitions".
pub(crate) fn repetitions(count: u64) -> String {
    if count == 1 { "1 repetition".to_owned() } else { format!("{count} repetitions") }
}

/// Formats the section of one experiment: its subject, the quality of its runs, its `values`, its
/// verdicts.
fn experiment_markdown(
    experiment: &Experiment,
    values: &str,
    quality: Option<&RealRuns>,
    verdicts: &[RealRecord],
) -> String {
    let mut text = format!("## {}. {}\n\n", experiment.figure, experiment.title);
    if !experiment.about.is_empty() {
        let _ = writeln!(text, "{}\n", experiment.about.trim());
    }
    if let Some(runs) = quality {
        let _ = writeln!(
            text,
            "`{}` has {}, {} runs and {} packets ({}, `{}`). The switch is late by up to {} us (p99) and {} us (p99.9), and differs from the simulator in {} decisions.\n",
            runs.experiment,
            repetitions(runs.repetitions),
            runs.runs,
            format::count(runs.packets),
            runs.date,
            runs.commit,
            runs.lateness_p99_us,
            runs.lateness_p999_us,
            runs.differences
        );
    }
    text.push_str(values);
    if !verdicts.is_empty() {
        text.push_str("\n| claim | real packets | the same network simulated |\n|---|---|---|\n");
        for one in verdicts {
            let note = if one.note.is_empty() { String::new() } else { format!(" {}", one.note) };
            let _ = writeln!(
                text,
                "| {} | {}: {}.{note} | {}: {} |",
                one.id,
                one.verdict,
                one.measured,
                one.simulated,
                without_criteria(&one.simulated_measured)
            );
        }
    }
    text.push('\n');
    text
}

/// Removes the criteria from a result with real packets, because the simulated result beside it has
/// the criteria.
fn without_criteria(measured: &str) -> String {
    let mut parts = measured.split(" (criterion:");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    text
}

/// Formats the values of an experiment, real and simulated, as a Markdown table.
fn values_markdown(real: &Estimates, simulated: &Estimates) -> String {
    let rows = value_rows(real, simulated);
    let mut lines: Vec<_> = rows.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    if let Some(header) = rows.first() {
        lines.insert(1, format!("|{}\n", "---|".repeat(header.len())));
    }
    lines.concat()
}

/// Formats the values of an experiment, real and simulated, as CSV. No cell has a quote.
fn values_csv(real: &Estimates, simulated: &Estimates) -> String {
    let cell = |text: &String| if text.contains(',') { format!("\"{text}\"") } else { text.clone() };
    let rows = value_rows(real, simulated);
    rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Returns the header, then a row per combination of axis values and variant. Every plotted metric
/// has two columns: values with real packets and simulated values. An experiment without charts
/// shows every metric of its runs.
fn value_rows(real: &Estimates, simulated: &Estimates) -> Vec<Vec<String>> {
    let Some(runs) = real.experiment().runs() else { return Vec::new() };
    let mut shown: Vec<_> =
        runs.panels.iter().map(|panel| (panel.metric.as_str(), panel.title.as_str())).collect();
    if shown.is_empty() {
        shown.extend(runs.metrics.keys().map(|name| (name.as_str(), name.as_str())));
    }
    let mut header: Vec<_> = runs.axes.iter().map(|axis| axis.title.clone()).collect();
    header.push("variant".to_owned());
    header.extend(
        shown.iter().flat_map(|(_, title)| [format!("{title}, real"), format!("{title}, simulated")]),
    );
    let cell = |estimate: Option<Estimate>| match estimate {
        None => "–".to_owned(),
        Some(Estimate { mean, half_width: Some(half), .. }) => format::estimate(mean, half),
        Some(Estimate { mean, .. }) => format::number(mean),
    };
    let mut rows = vec![header];
    for places in real.grid() {
        for (variant, of) in runs.variants.iter().enumerate() {
            let labels = runs.axes.iter().zip(places).map(|(axis, &place)| axis.values[place].label.clone());
            let mut row: Vec<_> = labels.collect();
            row.push(of.name.clone());
            for (name, _) in &shown {
                row.extend([real, simulated].map(|values| cell(values.get(name, variant, places))));
            }
            rows.push(row);
        }
    }
    rows
}
