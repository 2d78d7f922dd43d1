//! Tests pages of reports in a browser. Every control changes the shown text,
//! the address keeps the choices, and the console has no errors.

use crate::browser::Browser;
use crate::pages::assert_clean;
use crate::support::folder;
use bufferlab_lab::{
    Destination, Execution, PolicySelection, SWEEP_HTML, SweepPlan, SweepRequest, Unwatched, Vary, execute,
    plan_compare,
};
use bufferlab_report::Report;
use bufferlab_reproduce::output::write_experiment;
use bufferlab_reproduce::{Plan, Registry, ScaleName, run};
use bufferlab_scenario::{Changes, LoadError, Loaded, Variant, load_changed};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Script that returns the text of an explorer: its caption, chart, legend, remark and table.
const SAYS: &str =
    "[...document.querySelectorAll('#explorer > :not(form)')].map((one) => one.innerHTML).join('|')";

fn scenario() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/star-incast.toml")
}

/// Loads the scenario `star-incast` with a shorter duration.
fn load(variant: Option<&Variant>, then: &[(String, String)]) -> Result<Loaded, LoadError> {
    let overrides = [("duration".to_owned(), "4 ms".to_owned())];
    load_changed(&scenario(), None, &Changes { overrides: &overrides, variant, then })
}

fn policies(names: &[&str]) -> Vec<PolicySelection> {
    names.iter().map(|name| PolicySelection::from_name(name).expect("a policy")).collect()
}

fn seeds(count: u32) -> NonZero<u32> {
    NonZero::new(count).expect("not zero")
}

fn vary(key: &str, values: &[&str]) -> Vary {
    Vary { key: key.to_owned(), values: values.iter().map(|&value| value.to_owned()).collect() }
}

/// Runs a sweep over two axes of numbers and one axis of words, and returns the path of its page.
fn sweep(folder: &TempDir) -> PathBuf {
    let out = folder.path().join("sweep");
    let request = SweepRequest {
        scenario_file: "star-incast.toml".to_owned(),
        vary: vec![
            vary("switch.buffer", &["100 KB", "200 KB"]),
            vary("workload.0.request", &["100 KB", "210 KB"]),
            vary("transport.0.congestion_control", &["newreno", "dctcp"]),
        ],
        policies: policies(&["dt", "cs"]),
        seeds: seeds(2),
        out: out.clone(),
        replace: false,
    };
    let plan = SweepPlan::new(&load, request).expect("a plan");
    let results = execute(&plan.jobs, &Execution::default(), &Unwatched).expect("threads");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    plan.finish().expect("written");
    out.join(SWEEP_HTML)
}

/// Runs a comparison, and returns the path of its report.
fn report(folder: &TempDir) -> PathBuf {
    let out = folder.path().join("compare");
    let to = Destination { out: &out, replace: false };
    let plan = plan_compare(&load, &policies(&["dt", "cs", "abm"]), seeds(3), None, to).expect("a plan");
    let results = execute(&plan.jobs, &Execution::default(), &Unwatched).expect("threads");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let report = Report::load(&out, &plan.policies).expect("results");
    report.write().expect("written").remove(0)
}

/// Runs an experiment over two axes, and returns the path of its page.
fn figure(folder: &TempDir) -> PathBuf {
    let experiments = folder.path().join("experiments/own");
    fs::create_dir_all(&experiments).expect("writable");
    fs::write(
        experiments.join("star.toml"),
        EXPERIMENT.replace("SCENARIO", &scenario().display().to_string()),
    )
    .expect("writable");
    let registry =
        Registry::load(&folder.path().join("experiments")).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&registry.experiments[0], ScaleName::Quick, None).expect("a scale");
    let out = folder.path().join("figure");
    let how = Execution { jobs: NonZero::new(2), ..Execution::default() };
    let (results, _) = run(vec![plan], &out, &how, |_| Unwatched).unwrap_or_else(|error| panic!("{error}"));
    let page = out.join("page");
    write_experiment(&page, &results[0], &[], |_| None).unwrap_or_else(|error| panic!("{error}"));
    page.join("figure.html")
}

const EXPERIMENT: &str = r#"
title = "Incast on a star"
figure = "a test"
scenario = "SCENARIO"

[[axis]]
name = "request"
key = "workload.incast.request"
values = ["100 KB", "210 KB"]

[[axis]]
name = "buffer"
key = "switch.buffer"
values = ["150 KB", "300 KB"]

[[variant]]
name = "generous"
set = { "switch.policy" = "cs" }

[[variant]]
name = "stingy"
set = { "switch.policy" = { name = "dt", alpha = 0.1 } }

[metrics]
absorbed = { queries = ["incast"], of = "dropped_packets", take = "zero_percent" }
qct = "class.incast.qct_mean_ms"

[quick]
seeds = 2

[paper]
seeds = 2

[[panel]]
title = "query completion time (ms)"
metric = "qct"
"#;

/// Condition that the explorer has drawn, and that the script for the buttons of charts has run.
/// Before the script has run, the page's text lacks the labels of the buttons.
const EXPLORED: &str =
    "document.querySelector('#explorer table') && document.querySelector('#explorer .save button')";

/// Sets every control of the explorer to each of its values in turn, and finally to the first
/// value. Each change must change the shown text. Returns the number of changes.
fn turn_every_control(browser: &mut Browser) -> usize {
    const CONTROLS: &str = "[...document.querySelectorAll('#explorer form select, #explorer form input')]";
    let count = browser.eval(&format!("{CONTROLS}.length")).as_u64().unwrap_or_default();
    let mut turned = 0;
    for number in 0..count {
        let control = format!("{CONTROLS}[{number}]");
        if browser.eval(&format!("{control}.disabled || {control}.closest('label').hidden")) == true {
            continue;
        }
        let is_list = browser.eval(&format!("{control}.tagName === 'SELECT'")) == true;
        // The initial value comes last, so that the next control starts from the initial page.
        let values = if is_list {
            let first = browser.text(&format!("{control}.value"));
            let values = browser.eval(&format!("[...{control}.options].map((one) => one.value)"));
            let values = values.as_array().into_iter().flatten().filter_map(|value| value.as_str());
            let mut values: Vec<_> = values.filter(|value| *value != first).map(str::to_owned).collect();
            values.push(first);
            values
        } else {
            vec![String::new(); 2]
        };
        if is_list && values.len() == 1 {
            continue;
        }
        let start = browser.text(SAYS);
        for value in &values {
            let before = browser.text(SAYS);
            let action = if is_list {
                format!(
                    "{control}.value = '{value}'; {control}.dispatchEvent(new Event('change', {{ bubbles: true }}))"
                )
            } else {
                format!("{control}.click()")
            };
            browser.eval(&action);
            let after = browser.text(SAYS);
            let name = browser.text(&format!("{control}.closest('label').innerText"));
            assert!(before != after, "{name} = {value:?} changes nothing");
            assert!(!after.contains("NaN") && !after.contains("undefined"), "{name} = {value:?}: {after}");
            turned += 1;
        }
        assert_eq!(browser.text(SAYS), start, "control {number} turned back");
    }
    turned
}

/// Checks that the page's address, opened again, shows an equal page.
fn assert_address_keeps_it(browser: &mut Browser) {
    let choose = "document.querySelectorAll('#explorer form select').forEach((one) => { if (!one.closest('label').hidden) { \
        one.value = one.options[one.options.length - 1].value; one.dispatchEvent(new Event('change', { bubbles: true })); } })";
    browser.eval(choose);
    let (says, address) = (browser.text(SAYS), browser.text("location.href"));
    browser.navigate(&address, 1_200);
    browser.until(EXPLORED);
    assert_eq!(browser.text(SAYS), says, "{address}");
}

/// Checks that every button for saving a chart creates a file, and
/// that the page fits the screen of a phone.
fn assert_saves_and_fits(browser: &mut Browser, url: &str) {
    browser.eval(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); }",
    );
    let buttons = "document.querySelectorAll('.save button')";
    let count = browser.eval(&format!("{buttons}.length")).as_u64().unwrap_or_default();
    assert!(count > 0, "no chart can be saved at {url}");
    browser.eval(&format!("{buttons}.forEach((one) => one.click())"));
    browser.until(&format!("window.saved.length === {count}"));
    let names = browser.eval("window.saved");
    for name in names.as_array().into_iter().flatten().filter_map(|name| name.as_str()) {
        let known = [".svg", ".png", ".csv"].iter().any(|ending| name.ends_with(ending));
        assert!(known && name.len() > 8, "{name}");
    }
    browser.navigate(url, 400);
    browser.until("document.readyState === 'complete'");
    let wide = browser.eval("document.documentElement.scrollWidth").as_f64();
    assert!(wide.is_some_and(|wide| wide <= 400.0), "{wide:?} wide at {url}");
}

fn explore(page: &Path) {
    let Some(mut browser) = Browser::start() else { return };
    let url = format!("file://{}", page.display());
    browser.navigate(&url, 1_200);
    browser.until(EXPLORED);
    let turned = turn_every_control(&mut browser);
    assert!(turned > 12, "{turned} turns");
    assert_address_keeps_it(&mut browser);
    browser.navigate(&url, 1_200);
    browser.until(EXPLORED);
    assert_saves_and_fits(&mut browser, &url);
    assert_clean(&browser);
}

#[test]
fn every_control_of_a_sweeps_page_changes_what_it_says() {
    let folder = folder();
    explore(&sweep(&folder));
}

#[test]
fn every_control_of_a_figures_page_changes_what_it_says() {
    let folder = folder();
    explore(&figure(&folder));
}

#[test]
fn a_report_opens_its_parts_and_leads_to_them() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let url = format!("file://{}", report(&folder).display());
    browser.navigate(&url, 1_200);
    browser.until("document.readyState === 'complete'");
    let dangling = browser.eval(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map((one) => one.hash).filter((hash) => !document.getElementById(hash.slice(1)))",
    );
    assert_eq!(dangling.as_array().map(Vec::len), Some(0), "{dangling}");
    let parts = browser.eval("document.querySelectorAll('details').length").as_u64().unwrap_or_default();
    assert!(parts > 1, "{parts}");
    for part in 0..parts {
        let height = "document.documentElement.scrollHeight";
        let before = browser.eval(height).as_f64();
        browser
            .eval(&format!("document.querySelectorAll('details')[{part}].querySelector('summary').click()"));
        browser.until(&format!("document.querySelectorAll('details')[{part}].open"));
        assert!(browser.eval(height).as_f64() > before, "part {part} shows something");
    }
    assert_saves_and_fits(&mut browser, &url);
    assert_clean(&browser);
}

/// Report of a run whose packets were recorded: the report's file, and the run's folder.
fn report_with_window(folder: &TempDir, overrides: &[(&str, &str)]) -> PathBuf {
    let dir = crate::support::run(folder, "star-incast.toml", overrides);
    let mut report = Report::load(&dir, &[]).expect("results");
    bufferlab_view::embed(&mut report).expect("a window");
    report.write().expect("written").remove(0)
}

#[test]
fn a_report_has_the_window_with_the_answer_why_a_query_lost_a_packet() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let page = report_with_window(&folder, &[("output.packets", "all"), ("switch.buffer", "150 KB")]);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.len() < 2_000_000, "{} B", text.len());
    assert!(!text.contains("src=\"") && !text.contains("fetch(\"http"), "one file, no network");
    let url = format!("file://{}", page.display());
    for (width, scheme, medium) in
        [(1_280, "light", "screen"), (400, "dark", "screen"), (1_280, "dark", "print")]
    {
        browser.emulate(scheme, medium);
        browser.open(&url, width);
        let wide = browser.eval("document.documentElement.scrollWidth").as_f64();
        assert!(wide.is_some_and(|wide| wide <= f64::from(width)), "{wide:?} wide of {width}");
        let chart = browser.place("#window-part #chart canvas");
        assert!(chart[2] > 250.0 && chart[3] > 200.0, "{chart:?}");
        browser.picture(&format!("report-{width}-{scheme}-{medium}"));
    }
    // On paper, the chart is dark on light, even in dark mode.
    browser.emulate("dark", "");
    browser.open(&url, 1_280);
    browser.eval(
        "window.ink = []; matchMedia('print').addEventListener('change', () => window.ink.push(getComputedStyle(document.documentElement).getPropertyValue('--text').trim()))",
    );
    browser.call("Page.printToPDF", &serde_json::json!({}));
    browser.until("window.ink.length > 0");
    assert_eq!(browser.text("window.ink[0]"), "#1c1e21");
    browser.emulate("light", "screen");
    browser.open(&url, 1_280);
    // Other links of the report must not affect the view.
    let hash = browser.text("location.hash");
    assert_eq!(hash, "");
    browser.eval("document.querySelector('#lost-queries-table button').click()");
    browser.until("document.getElementById('explanation').innerText.includes('policies would have kept it')");
    let said = browser.text("document.getElementById('explanation').innerText");
    assert!(
        said.contains("because queue") && said.contains("dt (this run's, with its parameters)"),
        "{said}"
    );
    let before = browser.text("document.getElementById('sentence').innerText");
    browser.eval("document.getElementById('whole').click()");
    let quoted = serde_json::to_string(&before).expect("JSON");
    browser.until(&format!("document.getElementById('sentence').innerText !== {quoted}"));
    assert_eq!(browser.text("location.hash"), "");
    assert_clean(&browser);
}

#[test]
fn a_report_without_packets_or_of_several_runs_has_no_window() {
    let folder = folder();
    let text = fs::read_to_string(report_with_window(&folder, &[])).expect("a page");
    assert!(!text.contains("window-part"));
    let text = fs::read_to_string(report(&folder)).expect("a page");
    assert!(!text.contains("window-part"));
}
