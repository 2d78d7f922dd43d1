//! Tests that the ledger is up to date, and that its tests and records name known statements.
//!
//! `cargo xtask generate reproduce` writes the derived files. The comments of the tests
//! give `claims/tests.csv`. The tables in `claims/` give `docs/evidence/reproduction.md`
//! and a page per paper.

use bufferlab_core::Profile;
use bufferlab_pages::{assert_all, check_block, check_file, wrapped};
use bufferlab_report::curve_svg;
use bufferlab_reproduce::figures::{PaperFigure, figures_csv, name_of, paper_figures, places, showing};
use bufferlab_reproduce::output::panels;
use bufferlab_reproduce::{
    AblationRow, Estimates, Ledger, Plan, Registry, ScaleName, TestEvidence, Verdict, ablations_markdown,
    arguments_markdown, key_quotes, open_readings, paper_page, real_markdown, recorded_costs, void_changed,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

fn registry() -> Registry {
    Registry::load(&root().join("experiments")).unwrap_or_else(|error| panic!("{error}"))
}

fn ledger() -> Ledger {
    Ledger::load(&root().join("claims")).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares a generated block of a page with the expected text.
fn checked(page: &str, name: &str, block: &str) -> Result<(), String> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    check_block(page, &begin, &end, &format!("\n{block}\n"))
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push(path);
        }
    }
}

/// Returns the measured results of tests, by claim, from the tables in `claims/findings`. If two
/// tables have a claim, the result in the last table by name counts.
fn findings() -> BTreeMap<String, String> {
    let folder = fs::read_dir(root().join("claims/findings")).expect("the tables are there");
    let mut tables: Vec<_> = folder.map(|entry| entry.expect("readable").path()).collect();
    tables.sort();
    let mut findings = BTreeMap::new();
    for table in tables {
        let mut rows = csv::Reader::from_path(&table).expect("a table");
        for row in rows.deserialize() {
            let (id, _, _, here): (String, String, String, String) =
                row.expect("claim, verdict, paper, here");
            findings.insert(id, here);
        }
    }
    findings
}

#[derive(Default)]
struct Evidence(BTreeMap<String, TestEvidence>);

impl Evidence {
    /// Adds a test of a paper's statement. The worst verdict of the statement's tests counts.
    fn add(&mut self, id: &str, verdict: Verdict, measured: String, test: String) {
        let Some(known) = self.0.get_mut(id) else {
            self.0.insert(id.to_owned(), TestEvidence { id: id.to_owned(), verdict, measured, test });
            return;
        };
        known.verdict = known.verdict.max(verdict);
        if known.measured.is_empty() {
            known.measured = measured;
        }
        known.test = format!("{}; {test}", known.test);
    }
}

/// Collects the tests that declare which statement of a paper they check. A test has the comment
/// `/// Claim: ID, ID (REFUTED as printed)`, or is an entry of `claims!`.
fn tests_of_statements() -> Vec<TestEvidence> {
    let (mut files, root) = (Vec::new(), root());
    for folder in ["crates", "dev"] {
        for entry in fs::read_dir(root.join(folder)).expect("crates are there") {
            sources(&entry.expect("readable").path().join("tests"), &mut files);
        }
    }
    // The command `bufferlab reproduce` runs the tests in this folder, too.
    sources(&root.join("crates/theory/src/statements"), &mut files);
    // The files are sorted by crate name, because the evidence of a ledger row has this order.
    files.sort_by_key(|file| file.iter().skip(root.iter().count() + 1).collect::<PathBuf>());
    let (found, known) = (findings(), ledger());
    let known: BTreeSet<&str> = known.rows.iter().map(|row| row.claim.id.as_str()).collect();
    let mut evidence = Evidence::default();
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let place = file.strip_prefix(&root).expect("inside").display().to_string();
        let mut named: Vec<(String, Verdict)> = Vec::new();
        let mut ignored = false;
        for line in text.lines().map(str::trim) {
            if let Some(ids) = line.strip_prefix("/// Claim: ").or_else(|| line.strip_prefix("/// Claims: "))
            {
                for part in ids.split(',') {
                    let verdict = if part.contains("(REFUTED") { Verdict::Corrected } else { Verdict::Pass };
                    let ids = part.split(' ').map(|id| id.trim_end_matches('.'));
                    named.extend(ids.filter(|id| known.contains(id)).map(|id| (id.to_owned(), verdict)));
                }
            } else if line.starts_with("#[ignore") {
                ignored = true;
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                assert!(!ignored || named.is_empty(), "{place}::{name}: an ignored test is no evidence");
                for (id, verdict) in named.drain(..) {
                    let measured =
                        if verdict == Verdict::Corrected { REFUTED.to_owned() } else { String::new() };
                    evidence.add(&id, verdict, measured, format!("{place}::{name}"));
                }
                ignored = false;
            } else if let Some((verdict, id, name)) = entry_of_claims(line)
                && known.contains(id)
            {
                assert!(
                    !ignored,
                    "{place}::{name}: an ignored test is no evidence; make it a statement of an experiment"
                );
                let figure = found.get(id).cloned().unwrap_or_default();
                let (verdict, measured) = match verdict {
                    "Holds" => (Verdict::Pass, figure),
                    "Fails" => (Verdict::Fail, figure),
                    "Vacuous" => (Verdict::Inconclusive, format!("nothing could differ: {figure}")),
                    _ => (Verdict::Corrected, format!("{REFUTED}: {figure}")),
                };
                evidence.add(id, verdict, measured, format!("{place}::{name}"));
            }
        }
    }
    let order: BTreeMap<&str, usize> = known.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let mut list: Vec<_> = evidence.0.into_values().collect();
    list.sort_by_key(|test| order.get(test.id.as_str()).copied());
    list
}

/// Result of a test for a statement that fails as printed but holds as corrected.
const REFUTED: &str = "refuted as printed, the corrected statement holds";

/// Parses an entry of `claims!`: `Holds "TDT-E1-1" its_name ("paper") {`
fn entry_of_claims(line: &str) -> Option<(&str, &str, &str)> {
    let (verdict, rest) = line.split_once(" \"")?;
    if !["Holds", "Fails", "Refuted", "Vacuous"].contains(&verdict) {
        return None;
    }
    let (id, rest) = rest.split_once("\" ")?;
    Some((verdict, id, rest.split(' ').next()?))
}

#[test]
fn the_table_of_tests_is_what_the_tests_say() {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for test in tests_of_statements() {
        writer.serialize(test).expect("a row is a row");
    }
    let wanted = String::from_utf8(writer.into_inner().expect("in memory")).expect("text");
    assert_all([check_file("claims/tests.csv", &wanted)]);
}

#[test]
fn every_statement_is_checked_by_one_experiment_at_most_and_exists() {
    let known = ledger();
    let mut seen = BTreeSet::new();
    for experiment in registry().experiments {
        for claim in experiment.claims() {
            assert!(
                known.rows.iter().any(|row| row.claim.id == claim.id),
                "{}: there is no claim {}",
                experiment.id,
                claim.id
            );
            assert!(
                seen.insert(claim.id.clone()),
                "{}: {} is checked elsewhere too",
                experiment.id,
                claim.id
            );
        }
    }
    assert!(seen.len() >= 70, "{} statements are checked by experiments", seen.len());
}

#[test]
fn every_run_of_every_experiment_can_be_loaded_at_both_scales_and_in_either_reading() {
    for experiment in &registry().experiments {
        let Some(runs) = experiment.runs() else { continue };
        let mut readings = vec![None, Some(Profile::Paper)];
        readings.extend(runs.artifact.iter().map(|_| Some(Profile::Artifact)));
        for scale in [ScaleName::Quick, ScaleName::Paper] {
            for &reading in &readings {
                let plan =
                    Plan::new(experiment, scale, Some(1)).expect("the papers' experiments have both scales");
                let plan = Plan { profile: reading, ..plan };
                assert!(!plan.points.is_empty());
                for point in &plan.points {
                    let loaded = plan.load(point).unwrap_or_else(|why| panic!("{why}"));
                    let wanted = reading.unwrap_or(Profile::Paper);
                    assert_eq!(loaded.scenario.profile, wanted, "{}", plan.describe(point));
                }
            }
        }
    }
}

/// Analytical figures have points, whose computation takes milliseconds.
#[test]
fn every_analytical_figure_is_an_experiment_and_can_be_computed() {
    let experiments = registry().experiments;
    for entry in bufferlab_theory::figures::FIGURES {
        let shown =
            experiments.iter().any(|one| one.analytical().is_some_and(|theory| theory.name == entry.name));
        assert!(shown, "no experiment shows {}", entry.name);
        let panels = entry.panels().unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert!(panels.iter().all(|panel| panel.series.iter().all(|line| !line.points.is_empty())));
    }
}

/// Expressions name metrics and variants by text, so a wrong name shows only when an expression
/// runs.
#[test]
fn every_script_asks_for_runs_and_metrics_that_exist() {
    use bufferlab_reproduce::expression::{ValueError, Values, evaluate};
    use std::sync::Arc;

    /// A source of values that answers every valid query of the experiment.
    struct Anything(bufferlab_reproduce::Runs);

    impl Values for Anything {
        fn value(&self, metric: &str, variant: &str, places: &[String]) -> Result<f64, ValueError> {
            let known = self.0.metrics.contains_key(metric)
                && self.0.variants.iter().any(|one| one.name == variant)
                && places.len() == self.0.axes.len()
                && places.iter().zip(&self.0.axes).all(|(label, axis)| {
                    let chosen = self.0.quick.values.get(&axis.name);
                    axis.values.iter().any(|value| value.label == *label)
                        && chosen.is_none_or(|labels| labels.contains(label))
                });
            // The values of the source must vary, because a rank correlation needs an order.
            let sum: usize =
                metric.bytes().chain(variant.bytes()).chain(places.concat().bytes()).map(usize::from).sum();
            if known {
                Ok(1.0 + sum as f64)
            } else {
                Err(ValueError::Metric(format!("{metric} of {variant} at {places:?}")))
            }
        }

        fn first_axis(&self) -> Vec<(String, f64)> {
            let Some(axis) = self.0.axes.first() else { return Vec::new() };
            let chosen = self.0.quick.values.get(&axis.name);
            let ran =
                axis.values.iter().filter(|value| chosen.is_none_or(|labels| labels.contains(&value.label)));
            ran.map(|value| (value.label.clone(), value.x)).collect()
        }
    }

    for experiment in registry().experiments {
        let Some(runs) = experiment.runs() else { continue };
        let values: Arc<dyn Values> = Arc::new(Anything(runs.clone()));
        for claim in &runs.claims {
            for condition in &claim.conditions {
                if let Err(why) = evaluate(&condition.effect, &values) {
                    panic!("{} {}: {why}\n{}", experiment.id, claim.id, condition.effect);
                }
            }
        }
    }
}

/// An experiment shows every figure of the papers. For a conceptual figure, the table of figures
/// gives a reason instead.
#[test]
fn every_figure_and_table_of_the_papers_is_shown_or_conceptual() {
    let (figures, experiments) = (paper_figures().expect("a table"), registry().experiments);
    for figure in &figures {
        let name = format!("{} {}", figure.paper, figure.figure);
        assert_eq!(places(&figure.figure).len(), 1, "{name} is one figure or table");
        let shown = showing(&experiments, figure).count();
        assert!(
            (shown > 0) == figure.conceptual.is_empty(),
            "{name}: {shown} experiments, and \"{}\"",
            figure.conceptual
        );
    }
    for experiment in &experiments {
        let paper = experiment.id.split('/').next().unwrap_or_default();
        let of = places(&experiment.figure);
        assert!(!of.is_empty(), "{}: \"{}\" names no figure", experiment.id, experiment.figure);
        for place in of {
            let known =
                figures.iter().any(|figure| figure.paper == paper && figure.figure == place.full_label());
            assert!(known, "{}: claims/figures.csv has no {} of {paper}", experiment.id, place.full_label());
        }
    }
}

#[test]
fn every_figure_that_a_statement_names_is_in_the_table_of_figures() {
    let (figures, ledger) = (paper_figures().expect("a table"), ledger());
    let mut named = 0;
    for row in &ledger.rows {
        let paper = row.claim.paper.to_lowercase();
        for place in places(&row.claim.figure_table_section) {
            let is = |figure: &PaperFigure| {
                Some(figure.paper.as_str()) == paper.split(' ').next() && figure.figure == place.full_label()
            };
            let figure = figures.iter().find(|figure| is(figure));
            assert!(
                figure.is_some(),
                "{}: claims/figures.csv has no {} of {paper}",
                row.claim.id,
                place.full_label()
            );
            // A conceptual figure has no statement that needs runs.
            let conceptual = figure.is_some_and(|figure| !figure.conceptual.is_empty());
            assert!(
                !conceptual || row.test.is_some(),
                "{}: {} is conceptual",
                row.claim.id,
                place.full_label()
            );
            named += 1;
        }
    }
    assert!(named > 150, "{named} figures named");
}

/// Each chart of `docs/evidence/paper-scale` equals the chart that the current code draws from the
/// recorded values and the paper's marks.
#[test]
fn the_charts_of_the_papers_scale_are_todays() {
    let (registry, mut checks) = (registry(), Vec::new());
    let mut text =
        fs::read_to_string(root().join("docs/evidence/paper-scale.md")).expect("the page is there");
    for experiment in &registry.experiments {
        let name = experiment.id.replace('/', "-");
        let folder = root().join("docs/evidence/paper-scale").join(&name);
        if !folder.is_dir() {
            continue;
        }
        let estimates = Estimates::recorded(experiment, ScaleName::Paper, Profile::Paper);
        let estimates = estimates.unwrap_or_else(|error| panic!("{error}")).expect("values of the charts");
        let panels = panels(&estimates);
        let mut images = Vec::new();
        for (number, panel) in panels.iter().enumerate() {
            let file = format!("panel-{}.svg", number + 1);
            checks.push(check_file(&format!("docs/evidence/paper-scale/{name}/{file}"), &curve_svg(panel)));
            let note = if panel.note.is_empty() { String::new() } else { format!(", {}", panel.note) };
            images.push(format!("![{}{note}](paper-scale/{name}/{file})", panel.title));
        }
        let files = fs::read_dir(&folder).expect("readable").count();
        assert_eq!(files, panels.len(), "{}: charts, and nothing else", folder.display());
        // The page about paper scale must show all charts of the folder.
        let is_image =
            |line: &&str| line.starts_with("![") && line.contains(&format!("](paper-scale/{name}/"));
        let first = text.lines().position(|line| is_image(&line)).expect("the page shows them");
        let mut lines: Vec<&str> = text.lines().filter(|line| !is_image(line)).collect();
        lines.splice(first..first, images.iter().map(String::as_str));
        text = lines.join("\n") + "\n";
    }
    checks.push(check_file("docs/evidence/paper-scale.md", &text));
    assert_all(checks);
}

/// Each recorded verdict belongs to an experiment that judges the statement. The record is VOID if
/// the fingerprint of experiment, scenarios and engine has changed. `cargo xtask generate
/// reproduce` marks such records.
#[test]
fn records_of_changed_experiments_are_void_and_none_is_an_orphan() {
    let records = void_changed(&ledger(), &registry())
        .unwrap_or_else(|orphans| panic!("orphans in claims/verdicts.csv:\n{}", orphans.join("\n")));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in &records {
        writer.serialize(record).expect("a row is a row");
    }
    let wanted = String::from_utf8(writer.into_inner().expect("in memory")).expect("text");
    assert_all([check_file("claims/verdicts.csv", &wanted)]);
}

/// The test breaks five settings on purpose. Each broken setting voids the records that depend on
/// this setting. A record without its experiment is an orphan.
#[test]
fn a_broken_setting_voids_its_records_and_an_orphan_is_refused() {
    let ledger = ledger();
    let broken = |file: &str, from: &str, to: &str| -> Registry {
        let path = root().join(format!("experiments/{file}.toml"));
        let text = fs::read_to_string(&path).expect("readable");
        assert!(text.contains(from), "{file} has no {from}");
        let changed = bufferlab_reproduce::Experiment::from_text(&path, file, &text.replace(from, to));
        Registry { experiments: vec![changed.unwrap_or_else(|error| panic!("{}", error.in_lines()))] }
    };
    let only = |file: &str| {
        let mut part = ledger.clone();
        for row in &mut part.rows {
            row.records.retain(|record| record.experiment == file && record.speaks());
        }
        part
    };
    for (file, from, to) in [
        ("losspass/table1", "at_least = 0.8", "at_least = 0.7"),
        ("losspass/fig8", "17032 B", "17033 B"),
        ("tdt/fig14", "alpha = 1.0", "alpha = 2.0"),
        ("losspass/fig1", "take = \"p99\"", "take = \"p50\""),
        ("reverie/fig13", "unscheduled_alpha = 1.0", "unscheduled_alpha = 2.0"),
    ] {
        let before = only(file).records().count();
        assert!(before > 0, "{file} has no valid record");
        let after =
            void_changed(&only(file), &broken(file, from, to)).unwrap_or_else(|why| panic!("{why:?}"));
        assert!(after.iter().any(|record| record.verdict == Verdict::Void), "{file}: {to} voids nothing");
    }
    let none = Registry { experiments: Vec::new() };
    let orphans = void_changed(&only("tdt/fig14"), &none).expect_err("no experiment judges them");
    assert!(orphans[0].contains("tdt/fig14 does not judge it"), "{orphans:?}");
}

#[test]
fn every_row_that_does_not_hold_has_a_reason_and_an_owner() {
    let ledger = ledger();
    let without = ledger.rows.iter().filter(|row| row.evidence().verdict().needs_reason());
    let without: Vec<_> =
        without.filter(|row| row.reason.is_none()).map(|row| row.claim.id.as_str()).collect();
    assert!(without.is_empty(), "claims/reasons.csv lacks {without:?}");
}

/// Every open setting names experiments and statements that exist. At least one run accepts the
/// setting's key.
#[test]
fn open_readings_name_what_exists() {
    let (open, registry) = (open_readings().unwrap_or_else(|why| panic!("{why}")), registry());
    assert!(open.len() >= 20, "{} open readings", open.len());
    let mut wrong = Vec::new();
    for reading in &open {
        for name in &reading.experiments {
            let known = registry.experiments.iter().find(|one| one.id == *name);
            let experiment = known.unwrap_or_else(|| panic!("{:?}: no experiment {name}", reading.keys));
            let variants = &experiment.runs().expect("it has runs").variants;
            let known = |name: &String| variants.iter().any(|one| one.name == *name);
            for id in reading.rows.iter().filter(|_| reading.experiments.len() == 1) {
                let judged = experiment.claims().iter().any(|claim| claim.id == *id);
                assert!(judged, "{name} does not judge {id}");
            }
            let one = reading.experiments.len() == 1;
            assert!(!one || reading.variants.iter().all(known), "{name} lacks one of {:?}", reading.variants);
            let plan =
                Plan::new(experiment, ScaleName::Quick, Some(1)).expect("every experiment has this scale");
            for value in &reading.values {
                let accepts = |point: &bufferlab_reproduce::Point| {
                    let place = (point.variant, point.places.clone());
                    let named = &variants[point.variant].name;
                    let extra = BTreeMap::from([(place, value.clone())]);
                    (reading.variants.is_empty() || reading.variants.contains(named))
                        && Plan { extra, ..plan.clone() }.load(point).is_ok()
                };
                if !plan.points.iter().any(accepts) {
                    wrong.push(format!(
                        "{name}: nothing accepts {} = {:?}",
                        value[0].key, value[0].item.value
                    ));
                }
            }
        }
        assert!(!reading.sentence.is_empty() && !reading.headline.is_empty(), "{:?}", reading.keys);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn python_names_every_verdict() {
    let text =
        fs::read_to_string(root().join("python/bufferlab/reproduction.py")).expect("the module is there");
    for verdict in Verdict::ALL {
        assert!(text.contains(&format!("``{verdict}``")), "reproduction.py does not name {verdict}");
    }
}

/// First line of each page that `cargo xtask generate reproduce` writes.
const GENERATED: &str = "<!-- Generated by `cargo xtask generate reproduce` from claims/ and the errata. -->";

#[test]
fn the_pages_show_the_ledger() {
    let (ledger, experiments) = (ledger(), registry().experiments);
    let summary = ledger.summary_markdown();
    let arguments = arguments_markdown(&ledger).unwrap_or_else(|error| panic!("{error}"));
    let mut checks = vec![
        checked("docs/evidence/reproduction.md", "ledger", &summary),
        checked("docs/evidence/reproduction.md", "verdicts", &Verdict::table_markdown()),
        checked("docs/evidence/reproduction.md", "arguments", &wrapped(&arguments)),
    ];
    let figures = figures_csv(&experiments, &ledger).unwrap_or_else(|error| panic!("{error}"));
    checks.push(check_file("docs/evidence/reproduction/figures.csv", &figures));
    let errata = fs::read_to_string(root().join("docs/evidence/errata.md")).expect("the page is there");
    let costs = recorded_costs().unwrap_or_else(|error| panic!("{error}"));
    for paper in ledger.papers() {
        let name = name_of(paper);
        let page = paper_page(paper, &ledger, &costs, &errata).unwrap_or_else(|error| panic!("{error}"));
        let short = paper.split(' ').next().unwrap_or(paper);
        let page = format!("# {short}: what held and what did not\n\n{GENERATED}\n\n{page}");
        let words = page.split_whitespace().count();
        assert!(words < 1_600, "the page of {name} has {words} words, more than two screens");
        checks.push(check_file(&format!("docs/evidence/reproduction/{name}.md"), &wrapped(&page)));
        let rows = ledger.paper_csv(paper).expect("a row is a row");
        let rows = String::from_utf8(rows).expect("text");
        checks.push(check_file(&format!("docs/evidence/reproduction/{name}.csv"), &rows));
    }
    assert_all(checks);
}

fn testbeds() -> Registry {
    Registry::load(&root().join("testbeds")).unwrap_or_else(|error| panic!("{error}"))
}

/// The page of real packets shows the recorded results, with the texts of the experiments.
#[test]
fn the_page_of_real_packets_shows_what_is_recorded() {
    let page = real_markdown(&testbeds(), &root().join("claims")).unwrap_or_else(|error| panic!("{error}"));
    let tables = page
        .tables
        .iter()
        .map(|(name, table)| check_file(&format!("docs/evidence/real-packets/{name}"), table));
    assert_all(tables.chain([checked("docs/evidence/real-packets.md", "real", &page.text)]));
}

/// The scenario of every run with real packets can be loaded, as with simulations. Every experiment
/// judges statements of the papers.
#[test]
fn the_experiments_with_real_packets_have_scenarios_and_statements() {
    let (registry, ledger) = (testbeds(), ledger());
    assert!(registry.experiments.len() >= 9, "{}", registry.experiments.len());
    for experiment in &registry.experiments {
        let plan = Plan::new(experiment, ScaleName::Quick, Some(1)).expect("every experiment has this scale");
        for point in &plan.points {
            let loaded = plan.load(point).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(loaded.scenario.topology.switches.len(), 1, "{}", experiment.id);
        }
        for claim in experiment.claims() {
            assert!(ledger.claim(&claim.id).is_some(), "{}: {}", experiment.id, claim.id);
        }
    }
}

/// The page of ablations shows the recorded rows. Every key that explains a statement has the
/// quotes of paper and public code.
#[test]
fn the_page_of_readings_shows_the_recorded_ablations() {
    let table = root().join("claims/why.csv");
    let rows = fs::read_to_string(&table).expect("the table is there");
    let rows = AblationRow::read_all(&table, &rows).unwrap_or_else(|error| panic!("{error}"));
    let said = key_quotes().unwrap_or_else(|error| panic!("{error}"));
    assert_all([checked("docs/evidence/readings.md", "why", &ablations_markdown(&rows, &ledger(), &said))]);
}

#[test]
fn the_experiment_on_the_page_of_studies_can_be_loaded() {
    let page = fs::read_to_string(root().join("docs/how-to/study.md")).expect("the page is there");
    let block =
        page.split("```toml\n").find(|block| block.contains("[[claim]]")).expect("it has an experiment");
    let text = block.split("```").next().unwrap_or_default();
    let path = root().join("experiments/abm").join("incast.toml");
    let experiment = bufferlab_reproduce::Experiment::from_text(&path, "shallow/incast", text);
    let experiment = experiment.unwrap_or_else(|error| panic!("{}", error.in_lines()));
    let runs = experiment.runs().expect("it runs a scenario");
    assert_eq!((runs.claims.len(), runs.metrics.len(), runs.variants.len()), (1, 4, 2));
}
