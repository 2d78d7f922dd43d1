//! Finds the runs of a folder: one run, seeds of one policy, or policies with seeds.

use crate::caveat::{self, Caveat};
use crate::compare::Comparison;
use crate::critical_path::CriticalPath;
use crate::error::ReportError;
use crate::finding::{Sentence, SentenceKind};
use crate::samples::RunSamples;
use crate::schedules::ScheduleGroup;
use crate::steady::{self, SteadyState};
use crate::summary::{RunSummary, summarise};
use crate::{export, labels, terminal};
use bufferlab_results::{Group, RunResult, check_sealed, find_groups, find_mixture, find_runs, write_sealed};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the HTML file that [`Report::write`] writes.
pub const REPORT_FILE: &str = bufferlab_results::REPORT_FILE;
/// Name of the comparison as JSON, which also stores the order of the policies.
pub const COMPARISON_JSON: &str = bufferlab_results::COMPARISON_JSON;
/// Name of the CSV file with the comparison.
pub const COMPARISON_CSV: &str = "comparison.csv";
/// Name of the Parquet file with the comparison.
pub const COMPARISON_PARQUET: &str = "comparison.parquet";

/// A finished run that the report includes.
#[derive(Clone, Debug)]
pub struct Run {
    /// Label of the run in the comparison: the variant's label. Runs without a variant have the
    /// folder's name in a comparison, otherwise the policy's name.
    pub label: String,
    /// Results of the run, with their folder.
    pub result: RunResult,
    /// Summary of the run: flows, queries, switches, links and pauses.
    pub summary: RunSummary,
    pub(crate) samples: Arc<RunSamples>,
}

/// Report on the runs of a folder, with their comparison.
#[derive(Clone, Debug)]
pub struct Report {
    /// Folder that contains the report's runs.
    pub dir: PathBuf,
    /// Runs of the folder: policies in order, seeds ascending for each policy.
    pub runs: Vec<Run>,
    /// Comparison of the runs; with a single policy, the comparison has means and intervals only.
    pub comparison: Comparison,
    /// Caveats on the runs; pages and texts print them before any number.
    pub caveats: Vec<Caveat>,
    /// HTML of another crate for a single run with recorded packets: the window into the buffer.
    pub window: Option<String>,
    /// Label and seed of the folder's finished runs that the report omits.
    pub others: Vec<(String, u64)>,
    /// Parts of the labels that short labels omit; empty if labels are not shortened.
    pub(crate) common: Vec<String>,
    /// Whether the folder of the report is the folder of a single run.
    single: bool,
}

impl Report {
    /// Reads every finished run of the folder `dir`. The folder is a run's folder, or it contains
    /// `seed-<n>/` or `<policy>/seed-<n>/`.
    ///
    /// `order` lists labels of policies and variants to put first, beginning with the baseline.
    /// Other labels follow in the order of an earlier `comparison.json`, then by name.
    ///
    /// # Errors
    /// If the folder has no run, a run cannot be read, or runs of different content
    /// would share a mean.
    pub fn load(dir: &Path, order: &[String]) -> Result<Self, ReportError> {
        Self::load_part(dir, order, 0, &[])
    }

    /// Reads runs like [`Self::load`], except the runs in the folders `without`. [`Self::others`]
    /// lists the omitted runs.
    ///
    /// # Errors
    /// If the folder has no run, a run cannot be read, or runs of different content
    /// would share a mean.
    pub fn load_without(dir: &Path, order: &[String], without: &[PathBuf]) -> Result<Self, ReportError> {
        Self::load_part(dir, order, 0, without)
    }

    /// Reads runs like `Self::load`, without flows and queries that started before `from_ns`, in a
    /// still empty network. All other numbers (buffers, links, losses) cover the whole run, and a
    /// caveat mentions the difference.
    ///
    /// # Errors
    /// If the folder has no run, a run cannot be read, or runs of different content
    /// would share a mean.
    pub fn load_from(dir: &Path, order: &[String], from_ns: u64) -> Result<Self, ReportError> {
        Self::load_part(dir, order, from_ns, &[])
    }

    fn load_part(
        dir: &Path,
        order: &[String],
        from_ns: u64,
        without: &[PathBuf],
    ) -> Result<Self, ReportError> {
        let single = RunResult::is_complete(dir);
        let found = find_runs(dir).map_err(ReportError::unreadable)?;
        let is_left_out = |run: &RunResult| without.iter().any(|path| path == run.dir());
        let (others, mut found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, run)| is_left_out(run));
        if found.is_empty() {
            let below = find_groups(dir).map_err(ReportError::unreadable)?;
            return Err(ReportError::NoRuns { path: dir.to_path_buf(), below });
        }
        if let Some(mixture) = find_mixture(&found)? {
            return Err(ReportError::Mixed { path: dir.to_path_buf(), mixture });
        }
        if order.is_empty() {
            // The function checks `comparison.json` only if the caller gives no order. A caller
            // with an order writes the file again.
            check_sealed(dir, COMPARISON_JSON)?;
        }
        let mut first: Vec<String> = order.to_vec();
        first.extend(remembered_order(dir)?);
        let rank = |label: &str| first.iter().position(|name| name == label).unwrap_or(usize::MAX);
        found.sort_by_key(|(label, run)| (rank(label), label.clone(), run.manifest().seed));
        let mut runs = Vec::with_capacity(found.len());
        for (label, result) in found {
            let (summary, samples) = summarise(&result, from_ns)?;
            runs.push(Run { label, result, summary, samples: Arc::new(samples) });
        }
        let pairs: Vec<(&str, &RunSummary)> =
            runs.iter().map(|run| (run.label.as_str(), &run.summary)).collect();
        let comparison = Comparison::from_runs(&pairs);
        let mut caveats = of_the_group(dir, without)?;
        if from_ns > 0 {
            caveats.push(Caveat::WarmUp { from_ns });
        }
        caveats.extend(caveat::collect(&pairs));
        let mut others: Vec<_> =
            others.into_iter().map(|(label, run)| (label, run.manifest().seed)).collect();
        others.sort();
        Ok(Self {
            dir: dir.to_path_buf(),
            comparison,
            caveats,
            runs,
            window: None,
            others,
            common: Vec::new(),
            single,
        })
    }

    /// The run of the report, if the folder of the report is a run.
    #[must_use]
    pub fn single_run(&self) -> Option<&Run> {
        self.runs.first().filter(|_| self.single)
    }

    /// Returns the report for people. Labels omit the parts that all variants share,
    /// and no label is cut.
    pub(crate) fn shown(&self) -> Cow<'_, Self> {
        let (labels, common) = self.labels_for_people();
        if labels == self.comparison.policies {
            return Cow::Borrowed(self);
        }
        let mut shown = self.clone();
        let rename = |label: &mut String| {
            if let Some(at) = self.comparison.policies.iter().position(|known| known == label) {
                label.clone_from(&labels[at]);
            }
        };
        shown.runs.iter_mut().for_each(|run| rename(&mut run.label));
        shown.comparison = self.comparison.relabelled(&labels);
        shown.common = common;
        Cow::Owned(shown)
    }

    /// Labels of the policies on pages and in texts, in the order of the comparison.
    #[must_use]
    pub fn shown_labels(&self) -> Vec<String> {
        self.labels_for_people().0
    }

    /// Returns the labels without their common parts, and the common parts.
    fn labels_for_people(&self) -> (Vec<String>, Vec<String>) {
        // A label that is too long for a table is cut; the label of its variant is complete.
        let whole = |label: &String| {
            let run = self.runs_of(label).next().filter(|_| label.ends_with('…'));
            let variant = run.and_then(|run| run.result.manifest().variant.as_ref());
            variant.map_or_else(|| label.clone(), |variant| variant.text.clone())
        };
        let whole: Vec<String> = self.comparison.policies.iter().map(whole).collect();
        labels::short_labels(&whole)
    }

    /// Number and labels of the runs that the report omits, as a sentence without full stop. `None`
    /// if the report shows every run of the folder.
    #[must_use]
    pub fn others_text(&self) -> Option<String> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for (label, _) in &self.others {
            match counts.last_mut() {
                Some((known, count)) if known == label => *count += 1,
                _ => counts.push((label, 1)),
            }
        }
        let names: Vec<String> = counts.iter().map(|(label, count)| format!("{label} ({count})")).collect();
        let runs = match self.others.len() {
            0 => return None,
            1 => "1 other run of this scenario is".to_owned(),
            runs => format!("{} other runs of this scenario are", crate::format::count(runs as u64)),
        };
        Some(format!("{runs} in the folder, and not shown: {}", names.join(", ")))
    }

    /// Formats the headline numbers and the caveats as text for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for sentence in crate::real_vs_simulated::sentences(self) {
            terminal::wrap(&mut text, "", &sentence);
        }
        let shown = self.shown();
        for sentence in self.schedule_findings() {
            terminal::wrap(&mut text, "", &sentence.text);
        }
        text.push_str(&terminal::comparison_text(&shown.comparison, &self.caveats));
        if !shown.common.is_empty() {
            terminal::wrap(&mut text, "", &format!("Common to all: {}.", shown.common.join(", ")));
        }
        text
    }

    /// Findings about the critical paths of schedules, from the first run of each of the first
    /// three policies.
    pub(crate) fn schedule_findings(&self) -> Vec<Sentence> {
        const POLICIES: usize = 3;
        let several = self.comparison.policies.len() > 1;
        let fact = |text| Sentence { kind: SentenceKind::Fact, text };
        let (mut list, mut has_packets) = (Vec::new(), true);
        for policy in self.comparison.policies.iter().take(POLICIES) {
            let Some(run) = self.runs_of(policy).next() else { continue };
            let groups = &run.summary.schedules;
            if !several {
                list.extend(groups.iter().flat_map(ScheduleGroup::sentences).map(fact));
                continue;
            }
            for (group, path) in
                groups.iter().filter_map(|group| Some((group, group.critical_path.as_ref()?)))
            {
                let name =
                    if groups.len() > 1 { format!(", {}", group.name_in_sentences()) } else { String::new() };
                has_packets &= path.has_packets;
                list.push(fact(format!(
                    "{policy}, seed {}{name}: {}",
                    run.summary.seed,
                    path.short_sentence()
                )));
            }
        }
        if several && !has_packets {
            list.push(fact(CriticalPath::HINT.to_owned()));
        }
        list
    }

    /// Lists facts about the runs as names and values: seeds, profile, duration, network, version.
    /// Pages that combine several reports show the facts of each report.
    #[must_use]
    pub fn facts(&self) -> Vec<(String, String)> {
        crate::html::facts(self)
    }

    /// Formats comparison, findings and caveats as JSON, as described by
    /// [`crate::comparison_schema`].
    ///
    /// # Errors
    /// If JSON cannot represent a number.
    pub fn json(&self) -> Result<String, ReportError> {
        export::to_json(&self.comparison, &self.caveats).map_err(ReportError::encode(&self.dir))
    }

    /// Writes `report.html` into the folder and, except for a single run, the comparison as JSON,
    /// CSV and Parquet. Returns the paths of the written files.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn write(&self) -> Result<Vec<PathBuf>, ReportError> {
        let mut files = vec![(REPORT_FILE, self.html()?.into_bytes())];
        if !self.single {
            let json = export::to_json(&self.comparison, &self.caveats);
            let json = json.map_err(ReportError::encode(&self.dir.join(COMPARISON_JSON)))?;
            files.push((COMPARISON_JSON, json.into_bytes()));
            files.push((COMPARISON_CSV, export::to_csv(&self.comparison).into_bytes()));
            let path = self.dir.join(COMPARISON_PARQUET);
            files.push((COMPARISON_PARQUET, export::to_parquet(&path, &self.comparison)?));
        }
        let place = |run: &Run| {
            let parts = run.result.dir().strip_prefix(&self.dir).unwrap_or(run.result.dir()).iter();
            parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
        };
        let runs: Vec<String> = self.runs.iter().map(place).collect();
        write_sealed(&self.dir, &files, (!self.single).then_some(&runs))?;
        Ok(files.iter().map(|(name, _)| self.dir.join(name)).collect())
    }

    /// End of the warm-up of every run, for each class of flows and queries ([`SteadyState`]).
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn steady_states(&self) -> Result<Vec<SteadyState>, ReportError> {
        let mut states = Vec::new();
        for run in &self.runs {
            states.extend(steady::of_run(run)?);
        }
        Ok(states)
    }

    /// Returns the runs of one policy.
    pub(crate) fn runs_of<'a>(&'a self, policy: &'a str) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().filter(move |run| run.label == policy)
    }
}

/// Computes the summary of a finished run.
///
/// # Errors
/// If a table of the run cannot be read.
pub fn run_summary(result: &RunResult) -> Result<RunSummary, ReportError> {
    Ok(summarise(result, 0)?.0)
}

/// Writes the report of a folder of results, and returns the paths of the written files.
///
/// # Errors
/// Returns the errors of [`Report::load`] and [`Report::write`].
pub fn write(dir: &Path) -> Result<Vec<PathBuf>, ReportError> {
    Report::load(dir, &[])?.write()
}

/// Returns the caveats of a group of runs: planned runs that are missing from the folder, and the
/// caveats stored with the group.
fn of_the_group(dir: &Path, without: &[PathBuf]) -> Result<Vec<Caveat>, ReportError> {
    let Some(mut group) = Group::read(dir)? else { return Ok(Vec::new()) };
    group.runs.retain(|run| !without.contains(&dir.join(run)));
    let planned = group.runs.len();
    let missing: Vec<_> =
        group.runs.into_iter().filter(|run| !RunResult::is_complete(&dir.join(run))).collect();
    let missing = (!missing.is_empty()).then_some(Caveat::MissingRuns { missing, planned });
    Ok(missing.into_iter().chain(group.caveats.into_iter().map(Caveat::Run)).collect())
}

/// Reads the order of policies from an earlier comparison. The order is empty if the file is
/// missing or damaged.
///
/// # Errors
/// If the system cannot read the file. An empty order would change the baseline of the comparison.
fn remembered_order(dir: &Path) -> Result<Vec<String>, ReportError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: String,
        policies: Vec<String>,
    }
    let path = dir.join(COMPARISON_JSON);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes.map_err(ReportError::io("read", &path))?,
    };
    let head = serde_json::from_slice::<Head>(&bytes).ok().filter(|head| head.format == export::FORMAT);
    Ok(head.map(|head| head.policies).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_cannot_be_read_is_no_other_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let order = || remembered_order(folder.path()).map_err(|error| error.to_string());
        assert_eq!(order(), Ok(Vec::new()));
        let path = folder.path().join(COMPARISON_JSON);
        fs::write(&path, r#"{"format": "bufferlab-comparison", "policies": ["dt", "abm"]}"#)
            .expect("writable");
        assert_eq!(order(), Ok(vec!["dt".to_owned(), "abm".to_owned()]));
        fs::remove_file(&path).expect("removable");
        // A folder named `comparison.json` cannot be read, like a file on a failing disk.
        fs::create_dir(&path).expect("writable");
        assert!(order().is_err_and(|why| why.contains("comparison.json")), "{:?}", order());
    }
}
