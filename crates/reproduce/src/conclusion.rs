//! Conclusions from simulation runs: verdicts on statements, a folder per experiment, and a ledger.
//! The ledger distinguishes new verdicts from recorded verdicts.

use crate::estimates::values_name;
use crate::output::{NO_DATE, records, write_experiment, write_ledger, write_whole};
use crate::seed_sets::{Survival, survive};
use crate::table::to_csv;
use crate::{Cost, Estimates, Experiment, Judged, Ledger, Record, Registry, ReproduceError, Results, judge};
use crate::{costs_csv, output, recorded_costs};
use std::path::Path;

/// Verdicts of a `reproduce` command, and the ledger of statements with these verdicts.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// Verdicts of every experiment, in the order of its statements; one list per experiment.
    pub judged: Vec<Vec<Judged>>,
    /// Every statement of the registry. If an experiment judges a statement of the papers, all
    /// statements of the papers are included.
    pub ledger: Ledger,
    /// Verdicts with other sets of random seeds, if the command ran several sets.
    pub survivals: Vec<Survival>,
}

/// Destination of recorded verdicts: a file, and the date of the record.
#[derive(Clone, Copy, Debug)]
pub struct Keep<'a> {
    /// Path of the table `verdicts.csv`; entries of other experiments stay. The table `costs.csv`
    /// and the folder `values` are beside `verdicts.csv`.
    pub table: &'a Path,
    /// Date of the recorded verdicts: year, month, day.
    pub date: &'a str,
}

/// Judges runs, writes the folders of their experiments and the ledger to `folder`, and records the
/// verdicts if `keep` is set.
///
/// The ledger has several sources. Verdicts recorded in the program have the lowest priority. Next
/// are verdicts that an earlier command of the same program left in `folder`, and verdicts in the
/// table of [`Keep`]. Verdicts of the current runs have the highest priority.
///
/// # Errors
/// If a file cannot be written, or an existing table cannot be read.
pub fn conclude(
    registry: &Registry,
    results: &[Results],
    folder: &Path,
    keep: Option<Keep<'_>>,
) -> Result<Conclusion, ReproduceError> {
    conclude_with_sets(registry, (results, &[]), folder, keep)
}

/// Judges runs like [`conclude`], and again with other sets of random seeds. `others` has the
/// results of each set, in the order of `results`. A statement passes only if it passes with every
/// set.
///
/// # Errors
/// The errors of [`conclude`].
pub fn conclude_with_sets(
    registry: &Registry,
    (results, others): (&[Results], &[Vec<Results>]),
    folder: &Path,
    keep: Option<Keep<'_>>,
) -> Result<Conclusion, ReproduceError> {
    let mut ledger = Ledger::recorded()?.with_study(&registry.experiments);
    let commit = bufferlab_lab::commit();
    ledger.recall(&folder.join("verdicts.csv"), |record| commit == Some(record.commit.as_str()))?;
    if let Some(keep) = keep {
        ledger.recall(keep.table, |_| true)?;
    }
    let (mut judged, mut renewed) = (Vec::with_capacity(results.len()), Vec::new());
    let mut survivals = Vec::new();
    for (place, result) in results.iter().enumerate() {
        let verdicts = result.experiment().claims().iter().map(|claim| judge(claim, result)).collect();
        let of_sets: Vec<&Results> = others.iter().filter_map(|set| set.get(place)).collect();
        let (verdicts, of_result) = survive(verdicts, &of_sets);
        survivals.extend(of_result.into_iter().filter(|_| !of_sets.is_empty()));
        let names = |id: &str| ledger.claim(id).map(crate::Claim::statement);
        write_experiment(&folder.join(result.plan.folder()), result, &verdicts, names)?;
        // Verdicts with other sets of seeds are shown but not recorded. These verdicts show how
        // robust the recorded verdicts are.
        if result.plan.first_seed == 0 {
            renewed.extend(records(result, &verdicts, keep.map_or(NO_DATE, |keep| keep.date)));
        }
        judged.push(verdicts);
    }
    ledger.update(&renewed);
    // Figures of earlier commands stay in the folder and in the index of the folder.
    let experiments: Vec<&Experiment> = registry.experiments.iter().collect();
    write_ledger(folder, &ledger, &experiments, &renewed)?;
    if let Some(keep) = keep {
        record(registry, &renewed, results, keep)?;
    }
    Ok(Conclusion { judged, ledger, survivals })
}

/// Writes the table of verdicts, the table of costs, and the values of every experiment.
///
/// An existing table changes only in the entries of the current runs: a verdict that a user removed
/// does not return. A new table starts with the verdicts recorded in the program.
fn record(
    registry: &Registry,
    renewed: &[Record],
    results: &[Results],
    keep: Keep<'_>,
) -> Result<(), ReproduceError> {
    let mut kept = Ledger::recorded()?.with_study(&registry.experiments);
    if keep.table.exists() {
        kept.forget();
    }
    let others = kept.recall(keep.table, |_| true)?;
    kept.update(renewed);
    write_whole(keep.table, to_csv("verdicts.csv", kept.records().chain(&others))?)?;
    // Costs and values of an experiment are recorded only from runs of the whole experiment.
    let whole = || results.iter().filter(|result| result.plan.rows.is_empty());
    let table = keep.table.with_file_name("costs.csv");
    let mut costs: Vec<Cost> = match std::fs::read_to_string(&table) {
        Ok(text) => Cost::read_all(&table, &text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let ours = |cost: &Cost| registry.experiments.iter().any(|one| one.id == cost.experiment);
            recorded_costs()?.into_iter().filter(ours).collect()
        }
        Err(error) => return Err(ReproduceError::io("read", &table)(error)),
    };
    for cost in whole().filter_map(|result| output::cost(result, keep.date)) {
        costs.retain(|known| known.key() != cost.key());
        costs.push(cost);
    }
    costs.sort_by(|a, b| a.key().cmp(&b.key()));
    write_whole(&table, costs_csv(&costs)?)?;
    // With the recorded values of the runs, every chart can be drawn again without a new run.
    let folder = keep.table.with_file_name("values");
    for result in whole().filter(|result| !result.runs.is_empty() && result.failures().next().is_none()) {
        std::fs::create_dir_all(&folder).map_err(ReproduceError::io("make", &folder))?;
        let plan = &result.plan;
        let file = values_name(&plan.experiment.id, plan.scale.name(), plan.profile_name());
        write_whole(&folder.join(file), Estimates::from_results(result).csv())?;
    }
    Ok(())
}
