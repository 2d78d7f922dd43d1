//! `sweep`: a grid over keys of a scenario, for several policies and seeds. What is there already is not run again.

mod page;

use crate::args::SweepArgs;
use crate::execute::{execute_each, load, named, out, seeds, warn};
use crate::{error, print, say};
use bufferlab_lab::{Job, has_stored};
use bufferlab_report::format::{estimate, number};
use bufferlab_report::{Comparison, Report};
use bufferlab_reproduce::output::write_whole;
use bufferlab_results::RunResult;
use miette::{IntoDiagnostic, WrapErr, miette};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// The points' means, one line per point, metric and policy.
const SWEEP_CSV: &str = "sweep.csv";
/// The same to look at.
const SWEEP_HTML: &str = "sweep.html";
/// What the sweep varies: a folder without it, or with another one, is not continued.
const SWEEP_FILE: &str = "sweep.toml";

/// A key of the scenario and the values that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Vary {
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

/// One point of the grid: a value for every varied key.
#[derive(Clone, Debug)]
struct Point {
    overrides: Vec<(String, String)>,
    folder: String,
}

/// `sweep`.
pub(crate) fn sweep(args: &SweepArgs) -> miette::Result<()> {
    let first = load(&args.scenario, &[])?;
    warn(&first);
    let out = out(&args.execution, &first.scenario, "-sweep");
    let points = points(&args.vary)?;
    refuse_another_sweep(&out, args)?;
    let own = first.scenario.switches.first().map(|switch| switch.policy.clone()).unwrap_or_default();
    let policies =
        if args.policies.is_empty() { vec![own.clone()] } else { named(&args.policies, &first.scenario).0 };
    let (mut jobs, mut failed, mut kept) = (Vec::new(), Vec::new(), 0_usize);
    for point in &points {
        for policy in &policies {
            for seed in seeds(&first.scenario, &args.execution) {
                let mut overrides = vec![("seed".to_owned(), seed.to_string())];
                if *policy != own {
                    overrides.push(("switch.policy".to_owned(), policy.clone()));
                }
                overrides.extend(point.overrides.iter().cloned());
                let dir = out.join(&point.folder).join(policy).join(format!("seed-{seed}"));
                match load(&args.scenario, &overrides) {
                    Ok(loaded) if RunResult::is_complete(&dir) && has_stored(&dir, &loaded) => kept += 1,
                    Ok(loaded) => jobs.push(Job { loaded, dir, caveats: Vec::new() }),
                    Err(why) => failed.push(format!("{}, {policy}, seed {seed}: {why}", point.folder)),
                }
            }
        }
    }
    write(&out, SWEEP_FILE, &description(args)).wrap_err("the sweep was not started")?;
    if kept > 0 {
        say(&format!("{} there already", counted(kept)));
    }
    let results = execute_each(&args.scenario.scenario, &jobs, &args.execution)?;
    for (job, result) in jobs.iter().zip(results) {
        if let Err(why) = result {
            let place = job.dir.strip_prefix(&out).unwrap_or(&job.dir);
            failed.push(format!("{}: {why}", place.display()));
        }
    }
    let compared = compared(&out, &points, &policies)?;
    write(&out, SWEEP_CSV, &csv(&args.vary, &compared))?;
    write(&out, SWEEP_HTML, &page::page(&first.scenario.name, &args.vary, &compared))?;
    print(&table(&args.vary, &compared))?;
    say(&format!("points in {}, means in {SWEEP_CSV}, charts in {SWEEP_HTML}", out.display()));
    if failed.is_empty() {
        return Ok(());
    }
    let help =
        "the other points are complete; mend the cause and repeat the command: only what is missing will run";
    Err(miette!(
        help = help,
        "{} failed:\n{}",
        counted(failed.len()).replace(" are", "").replace(" is", ""),
        failed.join("\n")
    ))
}

fn counted(runs: usize) -> String {
    if runs == 1 { "1 run is".to_owned() } else { format!("{runs} runs are") }
}

/// The grid in the order of the keys, the last one fastest.
fn points(vary: &[Vary]) -> miette::Result<Vec<Point>> {
    let mut points = vec![Point { overrides: Vec::new(), folder: String::new() }];
    for Vary { key, values } in vary {
        let extend = |point: &Point| -> Vec<Point> {
            let with = |value: &String| {
                let mut next = point.clone();
                next.overrides.push((key.clone(), value.clone()));
                let separator = if next.folder.is_empty() { "" } else { "," };
                let _ = write!(next.folder, "{separator}{}={}", short(key), in_a_name(value));
                next
            };
            values.iter().map(with).collect()
        };
        points = points.iter().flat_map(extend).collect();
    }
    let names: BTreeSet<_> = points.iter().map(|point| &point.folder).collect();
    if names.len() < points.len() {
        return Err(miette!(help = "name each value of a key once", "two points of the sweep are the same"));
    }
    Ok(points)
}

/// The part of a key that tells it from others: `workload.web_search.load` becomes `web_search.load`.
fn short(key: &str) -> &str {
    key.match_indices('.').rev().nth(1).map_or(key, |(at, _)| &key[at + 1..])
}

/// A value as a part of a folder's name.
fn in_a_name(value: &str) -> String {
    let value = value.trim_matches('"');
    value.chars().map(|c| if c.is_alphanumeric() || "._+-".contains(c) { c } else { '-' }).collect()
}

/// What makes two sweeps the same, so that one may continue the other: the scenario's file and the varied keys; values, policies and seeds may be
/// added.
fn description(args: &SweepArgs) -> String {
    let mut text = String::from("# The sweep that fills this folder.\n");
    let _ = writeln!(
        text,
        "scenario = {:?}",
        args.scenario.scenario.file_name().unwrap_or_default().to_string_lossy()
    );
    let keys: Vec<_> = args.vary.iter().map(|vary| vary.key.as_str()).collect();
    let _ = writeln!(text, "keys = {keys:?}");
    text
}

fn refuse_another_sweep(out: &Path, args: &SweepArgs) -> miette::Result<()> {
    let occupied = std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    match std::fs::read_to_string(out.join(SWEEP_FILE)) {
        Ok(text) if text == description(args) => Ok(()),
        Err(_) if !occupied => Ok(()),
        _ => Err(miette!(
            help = "choose another folder with --out; nothing was deleted",
            "{} is not empty and does not hold this sweep",
            out.display()
        )),
    }
}

/// The points that have results, compared each.
fn compared<'a>(
    out: &Path,
    points: &'a [Point],
    policies: &[String],
) -> miette::Result<Vec<(&'a Point, Comparison)>> {
    let mut all = Vec::new();
    for point in points {
        let dir = out.join(&point.folder);
        if dir.is_dir() {
            match Report::load(&dir, policies) {
                Ok(report) => {
                    report.write().map_err(error::report)?;
                    all.push((point, report.comparison));
                }
                Err(bufferlab_report::ReportError::NoRuns { .. }) => {}
                Err(other) => return Err(error::report(other)),
            }
        }
    }
    Ok(all)
}

/// Whole or not at all.
fn write(out: &Path, name: &str, text: &str) -> miette::Result<()> {
    std::fs::create_dir_all(out)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot make {}", out.display()))?;
    write_whole(&out.join(name), text).map_err(error::reproduce)
}

fn csv(vary: &[Vary], compared: &[(&Point, Comparison)]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text: String = vary.iter().map(|vary| quoted(&vary.key) + ",").collect();
    text.push_str(
        "metric,group,label,unit,policy,seeds,mean,ci95_half_width,change,change_ci95_half_width\n",
    );
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (point, comparison) in compared {
        for row in &comparison.metrics {
            for cell in &row.cells {
                for (_, value) in &point.overrides {
                    text.push_str(&quoted(value.trim_matches('"')));
                    text.push(',');
                }
                let (metric, mean, change) = (&row.metric, cell.estimate, cell.change);
                let words = [&metric.id, &metric.group, &metric.label, metric.unit.symbol(), &cell.policy];
                let words = words.map(quoted).join(",");
                let _ = writeln!(
                    text,
                    "{words},{},{},{},{},{}",
                    mean.map_or(0, |mean| mean.seeds),
                    number(mean.map(|mean| mean.mean)),
                    number(mean.and_then(|mean| mean.half_width)),
                    number(change.map(|change| change.mean)),
                    number(change.and_then(|change| change.half_width)),
                );
            }
        }
    }
    text
}

/// The headline metrics, one table each: a row per point, a column per policy.
fn table(vary: &[Vary], compared: &[(&Point, Comparison)]) -> String {
    let Some((_, first)) = compared.first() else { return "no point has results\n".to_owned() };
    let mut text = String::new();
    for metric in first.metrics.iter().map(|row| &row.metric).filter(|metric| metric.headline) {
        let mut rows = vec![vary.iter().map(|vary| short(&vary.key).to_owned()).collect::<Vec<_>>()];
        rows[0].extend(first.policies.iter().cloned());
        for (point, comparison) in compared {
            let mut row: Vec<_> =
                point.overrides.iter().map(|(_, value)| value.trim_matches('"').to_owned()).collect();
            for policy in &first.policies {
                let cells =
                    comparison.metrics.iter().find(|row| row.metric.id == metric.id).map(|row| &row.cells);
                let cell = cells.and_then(|cells| cells.iter().find(|cell| cell.policy == *policy));
                row.push(match cell.and_then(|cell| cell.estimate) {
                    None => "–".to_owned(),
                    Some(mean) => {
                        mean.half_width.map_or_else(|| number(mean.mean), |half| estimate(mean.mean, half))
                    }
                });
            }
            rows.push(row);
        }
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
        let _ = writeln!(text, "{}: {}", metric.group, metric.title());
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  "));
        }
        text.push('\n');
    }
    text
}
