//! What does a reproduction leave behind? Values, charts and verdicts of every experiment, and the ledger.

mod checked;
mod over_time;

use crate::conclusion::origin;
use crate::explorer::explorer;
use crate::mark::{marks, placed};
pub use checked::checked;
use checked::{checked_by_tests, in_words};
use over_time::{courses, courses_csv};

use crate::{
    Content, Cost, Evidence, Experiment, Judged, Ledger, Record, ReproduceError, Results, Runs, Verdict,
    paper_name, theory_csv, theory_panels,
};
use bufferlab_core::Profile;
use bufferlab_report::{
    CurveAxis, CurveLine, CurvePanel, CurvePoint, CurveScale, CurvesPage, Estimate, PageTable, curve_png,
    curve_svg,
};
use bufferlab_theory::figures::Entry;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes an experiment's `values.csv`, `courses.csv` if something is drawn over time, `figure.html` and every panel as SVG and PNG into `folder`, each
/// whole or not at all. `statement` puts the number of a claim into words.
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
            let panels = panels(results, runs).into_iter().chain(courses(results)).collect();
            (values_csv(results, runs), runs_page(results, runs, panels, judged(verdicts, statement)))
        }
    };
    write_whole(&folder.join("values.csv"), values)?;
    for (number, panel) in page.panels.iter().enumerate() {
        write_whole(&folder.join(format!("panel-{}.svg", number + 1)), curve_svg(panel))?;
        write_whole(&folder.join(format!("panel-{}.png", number + 1)), curve_png(panel)?)?;
    }
    write_whole(&folder.join("figure.html"), page.html())
}

/// Writes `index.html`, which leads to those figures of `experiments` that are in `folder`, `ledger.md` and `verdicts.csv` into `folder`. The page tells the
/// `renewed` records, those of these runs, from all others.
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
    write_whole(&folder.join("index.html"), index(ledger, links(folder, experiments), renewed).html())?;
    let text = format!("# Ledger\n\n{}\n{}", ledger.summary_markdown(), ledger.rows_markdown());
    write_whole(&folder.join("ledger.md"), text)?;
    write_whole(&folder.join("verdicts.csv"), ledger.records_csv()?)
}

/// The pages of `experiments` that are in the folder: of either reading.
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

fn index(ledger: &Ledger, links: Vec<(String, String)>, renewed: &[Record]) -> CurvesPage {
    let mut tables = Vec::new();
    let header = ["paper", "rows"].into_iter().map(str::to_owned);
    let header = header.chain(Verdict::ALL.iter().map(ToString::to_string)).collect();
    let line = |name: &str, counts: [usize; Verdict::COUNT]| {
        let total = counts.iter().sum::<usize>().to_string();
        [name.to_owned(), total].into_iter().chain(counts.iter().map(ToString::to_string)).collect()
    };
    let papers = ledger.papers();
    let mut rows: Vec<Vec<String>> =
        papers.iter().map(|paper| line(paper_name(paper), ledger.counts(Some(paper)))).collect();
    rows.push(line("all", ledger.counts(None)));
    tables.push(PageTable { title: "Verdicts".to_owned(), header, rows });
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
                // Writing into a string cannot fail.
                let _ = write!(
                    here,
                    "; {}, profile {}: {} {} ({})",
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
        let (title, header) = (paper_name(paper).to_owned(), words.map(str::to_owned).to_vec());
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

/// Writes a file beside its place and moves it there.
///
/// # Errors
/// If either fails.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> Result<(), ReproduceError> {
    bufferlab_results::write_whole(path, content).map_err(ReproduceError::io("write", path))
}

/// The verdicts as they go into the ledger.
#[must_use]
pub fn records(results: &Results, verdicts: &[Judged], date: &str) -> Vec<Record> {
    let profile = results.plan.profile_name();
    let record = |judged: &Judged| Record {
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

/// What an experiment took, whenever its runs were done; `None` if some of them failed, or there were none.
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

/// One line per place, variant and metric: mean and interval over the seeds.
fn values_csv(results: &Results, runs: &Runs) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text: String = runs.axes.iter().map(|axis| quoted(&axis.name) + ",").collect();
    text.push_str("variant,metric,id,seeds,mean,ci95_half_width\n");
    for places in results.grid() {
        for (variant, of) in runs.variants.iter().enumerate() {
            for (name, id) in &runs.metrics {
                let estimate = Estimate::of(&results.samples(name, variant, &places));
                for (axis, &place) in runs.axes.iter().zip(&places) {
                    text.push_str(&quoted(&axis.values[place].label));
                    text.push(',');
                }
                let half = estimate.and_then(|estimate| estimate.half_width);
                // Writing into a string cannot fail.
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{}",
                    quoted(&of.name),
                    quoted(name),
                    quoted(&id.key()),
                    estimate.map_or(0, |estimate| estimate.seeds),
                    estimate.map(|estimate| estimate.mean.to_string()).unwrap_or_default(),
                    half.map(|half| half.to_string()).unwrap_or_default()
                );
            }
        }
    }
    text
}

/// Every panel, once for every combination of the axes behind the first.
fn panels(results: &Results, runs: &Runs) -> Vec<CurvePanel> {
    let Some(axis) = runs.axes.first() else { return Vec::new() };
    let grid = results.grid();
    let mut others: Vec<&[usize]> = Vec::new();
    for places in &grid {
        if !others.contains(&&places[1..]) {
            others.push(&places[1..]);
        }
    }
    let placed = placed(results);
    let mut panels = Vec::new();
    for panel in &runs.panels {
        for other in &others {
            let mut lines = Vec::new();
            let shown = runs.variants.iter().enumerate().filter(|(_, of)| panel.shows(&of.name));
            for (variant, of) in shown {
                let mut points = Vec::new();
                for places in grid.iter().filter(|places| &places[1..] == *other) {
                    if let Some(mean) = Estimate::of(&results.samples(&panel.metric, variant, places)) {
                        let x = axis.values[places[0]].x;
                        points.push(CurvePoint { x, y: mean.mean, half_width: mean.half_width });
                    }
                }
                if !points.is_empty() {
                    lines.push(CurveLine { name: of.name.clone(), points });
                }
            }
            if lines.is_empty() {
                continue;
            }
            let fixed = runs.axes[1..].iter().zip(*other);
            let fixed: Vec<_> = fixed
                .map(|(axis, &place)| format!("{} = {}", axis.title, axis.values[place].label))
                .collect();
            let logarithmic =
                panel.log && lines.iter().flat_map(|line| &line.points).all(|point| point.y > 0.0);
            panels.push(CurvePanel {
                title: panel.title.clone(),
                note: fixed.join(", "),
                x: CurveAxis { title: axis.title.clone(), scale: CurveScale::Linear },
                y: CurveAxis {
                    title: runs.metrics[&panel.metric].key(),
                    scale: if logarithmic { CurveScale::Log } else { CurveScale::Linear },
                },
                marks: marks(&placed, panel, other),
                lines,
                markers: true,
            });
        }
    }
    panels
}

/// The page of an analytical figure.
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

/// The page of an experiment with runs.
fn runs_page(
    results: &Results,
    runs: &Runs,
    panels: Vec<CurvePanel>,
    judged: Option<PageTable>,
) -> CurvesPage {
    let experiment = results.experiment();
    let mut about = paragraphs(experiment);
    if let (Some(reading), Some(Profile::Artifact)) = (&runs.artifact, results.plan.profile) {
        about.push(format!("The reading of the authors' public simulator. {}", reading.about));
    }
    if !runs.courses.is_empty() {
        about.push("Charts over time are of the first seed.".to_owned());
    }
    let seeds = match results.seeds() {
        1 => "1 seed".to_owned(),
        seeds => format!("{seeds} seeds; bars are 95 % intervals of the mean over the seeds"),
    };
    about.push(format!(
        "{}, scale {}, profile {}, {seeds}.",
        runs.scenario.file_name().unwrap_or_default().to_string_lossy(),
        results.plan.scale.name(),
        results.plan.profile_name()
    ));
    let mut tables: Vec<_> = judged.into_iter().chain(checked_by_tests(experiment)).collect();
    if runs.axes.is_empty() && !runs.metrics.is_empty() {
        tables.push(values_table(results, runs));
    }
    let explorer = explorer(results);
    CurvesPage { title: heading(experiment), about, explorer, panels, tables, ..CurvesPage::default() }
}

/// The verdicts of these runs beside what they are about.
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

/// For an experiment without axes: a row per variant, a column per metric.
fn values_table(results: &Results, runs: &Runs) -> PageTable {
    let header = std::iter::once(String::new()).chain(runs.metrics.keys().cloned()).collect();
    let row = |(variant, of): (usize, &crate::Variant)| {
        let cell = |name: &String| match Estimate::of(&results.samples(name, variant, &[])) {
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
