//! Output of a reproduction: values, charts and verdicts of every experiment, and the ledger.

mod checked;
mod found;
mod over_time;
mod panels;
mod values;

use crate::explorer::explorer;
pub use checked::checked;
use checked::{checked_by_tests, in_words};
use found::findings;
use over_time::{courses, courses_csv};
pub use panels::panels;
pub use values::values_text;

use crate::{
    Behaviours, Content, Cost, Estimates, Evidence, Experiment, Fingerprints, Judged, Ledger, Record,
    ReproduceError, Results, Runs, Verdict, theory_csv, theory_panels,
};
use bufferlab_core::Profile;
use bufferlab_report::{CurvePanel, CurvesPage, Estimate, PageTable, curve_png, curve_svg};
use bufferlab_theory::figures::Entry;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Text in place of the date, for verdicts that are not recorded in a table.
pub(crate) const NO_DATE: &str = "not recorded";

/// Writes an experiment's output to `folder`, each file atomically. The files are `values.csv`,
/// `figure.html`, every panel as SVG and PNG, and `courses.csv` for charts over time. The function
/// `statement` returns the text of a statement by its number.
///
/// # Errors
/// If the folder cannot be written, or a chart cannot be drawn.
pub fn write_experiment(
    folder: &Path,
    results: &Results,
    verdicts: &[Judged],
    statement: impl Fn(&str) -> Option<String>,
) -> Result<(), ReproduceError> {
    fs::create_dir_all(folder).map_err(ReproduceError::io("make", folder))?;
    let (values, page) = match &results.experiment().content {
        Content::Figure(entry) => {
            let figures = entry.panels().map_err(ReproduceError::Figure)?;
            (theory_csv(&figures), figure_page(results.experiment(), entry, theory_panels(&figures)))
        }
        Content::Runs(runs) => {
            if !runs.courses.is_empty() {
                write_whole(&folder.join("courses.csv"), courses_csv(results, runs))?;
            }
            let estimates = Estimates::from_results(results);
            let panels = panels(&estimates).into_iter().chain(courses(results)).collect();
            let finding = findings(verdicts, &statement);
            let page = runs_page(results, &estimates, panels, judged(verdicts, statement));
            (estimates.csv(), CurvesPage { finding, ..page })
        }
    };
    write_whole(&folder.join("values.csv"), values)?;
    write_panels(folder, &page.panels)?;
    write_whole(&folder.join("figure.html"), page.html())
}

/// Writes every panel of an experiment as `panel-1.svg`, `panel-1.png` and so on.
///
/// # Errors
/// If the folder cannot be written, or a chart cannot be drawn.
pub fn write_panels(folder: &Path, panels: &[CurvePanel]) -> Result<(), ReproduceError> {
    fs::create_dir_all(folder).map_err(ReproduceError::io("make", folder))?;
    for (number, panel) in panels.iter().enumerate() {
        write_whole(&folder.join(format!("panel-{}.svg", number + 1)), curve_svg(panel))?;
        write_whole(&folder.join(format!("panel-{}.png", number + 1)), curve_png(panel)?)?;
    }
    Ok(())
}

/// Writes `index.html`, `ledger.md` and `verdicts.csv` to `folder`. The index links to the figures
/// of `experiments` in the folder. The index marks the `renewed` records, which are the verdicts of
/// the current runs.
///
/// # Errors
/// If the folder cannot be written.
pub fn write_ledger(
    folder: &Path,
    ledger: &Ledger,
    experiments: &[&Experiment],
    renewed: &[Record],
) -> Result<(), ReproduceError> {
    fs::create_dir_all(folder).map_err(ReproduceError::io("make", folder))?;
    let page = match ledger.rows.is_empty() {
        true => without_statements(experiments, links(folder, experiments)),
        false => index(ledger, links(folder, experiments), renewed),
    };
    write_whole(&folder.join("index.html"), page.html())?;
    let text = match ledger.rows.is_empty() {
        true => "# Ledger\n\nThe experiments of this study make no statements.\n".to_owned(),
        false => format!("# Ledger\n\n{}\n{}", ledger.summary_markdown(), ledger.rows_markdown()),
    };
    write_whole(&folder.join("ledger.md"), text)?;
    write_whole(&folder.join("verdicts.csv"), ledger.records_csv()?)
}

/// Returns links to the existing pages of `experiments`, for the paper's text and for its public
/// code.
fn links(folder: &Path, experiments: &[&Experiment]) -> Vec<(String, String)> {
    let mut links = Vec::new();
    for one in experiments {
        for (ending, words) in [("", ""), ("-artifact", " (the public artifact's reading)")] {
            let page = format!("{}{ending}/figure.html", one.id);
            if folder.join(&page).is_file() {
                links.push((page, format!("{}{words}", heading(one))));
            }
        }
    }
    links
}

/// Formats the index page of a study that makes no statements: links to the study's figures.
fn without_statements(experiments: &[&Experiment], links: Vec<(String, String)>) -> CurvesPage {
    let title = match experiments {
        [one] => heading(one),
        many => format!("A study of {} experiments", many.len()),
    };
    let about = vec![
        "The experiments make no statements, so there are no verdicts. Their pages have charts and values."
            .to_owned(),
    ];
    CurvesPage { title, about, links, ..CurvesPage::default() }
}

/// Counts the verdicts of every paper: a row per verdict, which the table explains.
fn verdicts(ledger: &Ledger, papers: &[&str]) -> PageTable {
    let text = |text: &str| text.to_owned();
    let names = papers.iter().map(|paper| (*paper).to_owned());
    let header = [text("verdict")].into_iter().chain(names).chain([text("all"), text("meaning")]);
    let counts: Vec<_> =
        papers.iter().map(|paper| ledger.counts(Some(paper))).chain([ledger.counts(None)]).collect();
    let row = |(at, verdict): (usize, &Verdict)| {
        let numbers = counts.iter().map(|of_paper| of_paper[at].to_string());
        let name = [verdict.to_string()].into_iter();
        name.chain(numbers).chain([text(verdict.meaning())]).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = Verdict::ALL.iter().enumerate().map(row).collect();
    let totals = counts.iter().map(|of_paper| of_paper.iter().sum::<usize>().to_string());
    rows.push([text("all")].into_iter().chain(totals).chain([String::new()]).collect());
    PageTable { title: text("Verdicts"), header: header.collect(), rows }
}

fn index(ledger: &Ledger, links: Vec<(String, String)>, renewed: &[Record]) -> CurvesPage {
    let papers = ledger.papers();
    let mut tables = vec![verdicts(ledger, &papers)];
    for paper in papers {
        let words = ["claim", "where", "statement", "verdict", "here", "from"];
        let rows = ledger.rows.iter().filter(|row| row.claim.paper == paper).map(|row| {
            let claim = &row.claim;
            let (mut here, from) = match row.evidence() {
                Evidence::Test(test) => (test.measured.clone(), format!("test {}", in_words(&test.test))),
                Evidence::Runs(run) => {
                    (run.measured.clone(), format!("{}: {}", run.experiment, origin(run, renewed)))
                }
                Evidence::None => (String::new(), "nothing has run".to_owned()),
            };
            for run in row.beside() {
                let gap = if here.is_empty() { "" } else { "; " };
                // Writing to a string cannot fail.
                let _ = write!(
                    here,
                    "{gap}{}, profile {}: {} {} ({})",
                    run.scale,
                    run.profile,
                    run.verdict,
                    run.measured,
                    origin(run, renewed)
                );
            }
            let verdict = row.evidence().verdict().to_string();
            vec![claim.id.clone(), claim.figure_table_section.clone(), claim.statement(), verdict, here, from]
        });
        let (title, header) = ((*paper).to_owned(), words.map(str::to_owned).to_vec());
        tables.push(PageTable { title, header, rows: rows.collect() });
    }
    let own = ledger.rows.iter().all(|row| row.claim.kind == "own");
    let title = if own { "Statements of this study, checked" } else { "The papers' statements, checked" };
    let about = vec![match renewed.len() {
        0 => "None of these verdicts was renewed by the last command.".to_owned(),
        1 => "One of these verdicts is of the last command: \"these runs\" in the last column.".to_owned(),
        many => {
            format!("{many} of these verdicts are of the last command: \"these runs\" in the last column.")
        }
    }];
    CurvesPage { title: title.to_owned(), about, links, tables, ..CurvesPage::default() }
}

/// Writes a file atomically: creates a temporary file in the folder, then renames this file.
///
/// # Errors
/// If writing or renaming the file fails.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> Result<(), ReproduceError> {
    bufferlab_results::write_whole(path, content).map_err(ReproduceError::io("write", path))
}

/// Converts verdicts on statements to records of the ledger.
#[must_use]
pub fn records(results: &Results, verdicts: &[Judged], date: &str) -> Vec<Record> {
    let profile = results.plan.profile_name();
    let prints = fingerprints(results);
    let record = |judged: &Judged| Record {
        fingerprint: prints.get(&judged.id).cloned().unwrap_or_default(),
        id: judged.id.clone(),
        verdict: judged.verdict,
        measured: judged.measured(),
        seeds: results.seeds(),
        scale: results.plan.scale.name().to_owned(),
        profile: profile.to_owned(),
        experiment: results.experiment().id.clone(),
        note: judged.note.clone().unwrap_or_default(),
        commit: bufferlab_lab::commit().unwrap_or("unknown").to_owned(),
        date: date.to_owned(),
    };
    verdicts.iter().map(record).collect()
}

/// Fingerprints of the statements in `results`. If a scenario cannot be loaded, the map is empty,
/// because the runs have failed, too.
fn fingerprints(results: &Results) -> BTreeMap<String, String> {
    let Ok(behaviours) = Behaviours::recorded() else { return BTreeMap::new() };
    let Ok(prints) = Fingerprints::new(&results.plan, &behaviours) else { return BTreeMap::new() };
    let claims = results.experiment().claims().iter();
    claims.map(|claim| (claim.id.clone(), prints.of_claim(claim))).collect()
}

/// Sums the cost of all runs, including reused runs. Returns `None` if some runs failed, or if the
/// list of runs is empty.
#[must_use]
pub fn cost(results: &Results, date: &str) -> Option<Cost> {
    let runs: Option<Vec<_>> = results.runs.iter().map(|run| run.as_ref().ok()).collect();
    let runs = runs.filter(|runs| !runs.is_empty())?;
    Some(Cost {
        experiment: results.experiment().id.clone(),
        scale: results.plan.scale.name().to_owned(),
        profile: results.plan.profile_name().to_owned(),
        runs: runs.len() as u64,
        packet_hops: runs.iter().map(|numbers| numbers.packet_hops).sum(),
        cpu_seconds: (runs.iter().map(|numbers| numbers.cpu_seconds).sum::<f64>() * 10.0).round() / 10.0,
        commit: bufferlab_lab::commit().unwrap_or("unknown").to_owned(),
        date: date.to_owned(),
    })
}

/// Formats the page of an analytical figure, whose values come from formulas without runs.
fn figure_page(experiment: &Experiment, entry: &Entry, panels: Vec<CurvePanel>) -> CurvesPage {
    let mut about = paragraphs(experiment);
    about.push(format!("Computed, without runs: `bufferlab theory figure {}`.", entry.name));
    let tables = checked_by_tests(experiment).into_iter().collect();
    CurvesPage { title: heading(experiment), about, panels, tables, ..CurvesPage::default() }
}

fn paragraphs(experiment: &Experiment) -> Vec<String> {
    let paragraphs = experiment.about.split("\n\n").filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(str::to_owned).collect()
}

/// Formats the page of an experiment that has runs.
fn runs_page(
    results: &Results,
    estimates: &Estimates,
    panels: Vec<CurvePanel>,
    judged: Option<PageTable>,
) -> CurvesPage {
    let experiment = results.experiment();
    let mut about = paragraphs(experiment);
    let Some(runs) = experiment.runs() else { return CurvesPage::default() };
    if let (Some(reading), Some(Profile::Artifact)) = (&runs.artifact, results.plan.profile) {
        about.push(format!("The reading of the authors' public simulator. {}", reading.about));
    }
    if !runs.courses.is_empty() {
        about.push("Charts over time are of the first seed.".to_owned());
    }
    let other = match results.plan.first_seed {
        0 => String::new(),
        first => format!(", from {first} behind the scenario's own on"),
    };
    let seeds = match results.seeds() {
        1 => format!("1 seed{other}"),
        seeds => format!("{seeds} seeds{other}; bars are 95 % intervals of the mean over the seeds"),
    };
    about.push(format!(
        "{}, scale {}, profile {}, {seeds}.",
        runs.scenario.file_name().unwrap_or_default().to_string_lossy(),
        results.plan.scale.name(),
        results.plan.profile_name()
    ));
    let mut tables: Vec<_> = judged.into_iter().chain(checked_by_tests(experiment)).collect();
    if runs.axes.is_empty() && !runs.metrics.is_empty() {
        tables.push(values_table(estimates, runs));
    }
    let explorer = explorer(estimates);
    CurvesPage { title: heading(experiment), about, explorer, panels, tables, ..CurvesPage::default() }
}

/// Formats the table of the verdicts of an experiment's runs, with the statements.
fn judged(verdicts: &[Judged], statement: impl Fn(&str) -> Option<String>) -> Option<PageTable> {
    let row = |judged: &Judged| {
        let statement = statement(&judged.id).unwrap_or_default();
        let note = judged.note.clone().unwrap_or_default();
        vec![judged.id.clone(), statement, judged.verdict.to_string(), judged.measured(), note]
    };
    let header = ["claim", "statement", "verdict", "here", "note"].map(str::to_owned).to_vec();
    let title = "What is stated, and what these runs say".to_owned();
    (!verdicts.is_empty()).then(|| PageTable { title, header, rows: verdicts.iter().map(row).collect() })
}

/// Formats the values of an experiment without axes: one row per variant, one column per metric.
fn values_table(estimates: &Estimates, runs: &Runs) -> PageTable {
    let header = std::iter::once(String::new()).chain(runs.metrics.keys().cloned()).collect();
    let row = |(variant, of): (usize, &crate::Variant)| {
        let cell = |name: &String| match estimates.get(name, variant, &[]) {
            None => "–".to_owned(),
            Some(Estimate { mean, half_width: Some(half), .. }) => {
                bufferlab_report::format::estimate(mean, half)
            }
            Some(Estimate { mean, .. }) => bufferlab_report::format::number(mean),
        };
        std::iter::once(of.name.clone()).chain(runs.metrics.keys().map(cell)).collect()
    };
    PageTable {
        title: "Values".to_owned(),
        header,
        rows: runs.variants.iter().enumerate().map(row).collect(),
    }
}

fn heading(experiment: &Experiment) -> String {
    format!("{} {}: {}", experiment.id, experiment.figure, experiment.title)
}

/// Describes the origin of a verdict: "these runs" for runs of this command, else the seeds and the
/// date of the record.
#[must_use]
fn origin(record: &Record, renewed: &[Record]) -> String {
    if renewed.contains(record) {
        return "these runs".to_owned();
    }
    let seeds = if record.seeds == 1 { "1 seed".to_owned() } else { format!("{} seeds", record.seeds) };
    match record.date.as_str() {
        NO_DATE => format!("an earlier command, {seeds}, {}", record.commit),
        date => format!("recorded {date}, {seeds}, {}", record.commit),
    }
}
