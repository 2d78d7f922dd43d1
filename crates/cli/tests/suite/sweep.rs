//! Tests of sweeps: a user can interrupt, resume and extend a grid,
//! and the output names failed points.

use crate::support::{Desk, text};
use serde_json::Value;

fn desk() -> Desk {
    Desk::with_tiny()
}

const GRID: [&str; 8] = [
    "sweep",
    "tiny.toml",
    "--vary",
    "switch.buffer=[\"50 KB\", \"100 KB\"]",
    "--policies",
    "dt,abm",
    "--seeds",
    "2",
];

#[test]
fn an_interrupted_sweep_ends_with_the_bytes_of_an_uninterrupted_one() {
    let desk = desk();
    desk.succeed(&[&GRID[..], &["--out", "whole"]].concat());
    desk.succeed(&[&GRID[..], &["--out", "broken"]].concat());
    // The folder is as a killed sweep leaves it: missing runs, one partial run, no summaries.
    let broken = desk.path("broken");
    std::fs::remove_dir_all(broken.join("switch.buffer=50-KB/abm")).expect("it was run");
    std::fs::remove_dir_all(broken.join("switch.buffer=100-KB/dt/seed-2")).expect("it was run");
    std::fs::create_dir(broken.join("switch.buffer=100-KB/dt/.seed-2.partial")).expect("a folder");
    std::fs::remove_file(broken.join("sweep.csv")).expect("it was written");
    let again = desk.output(&[&GRID[..], &["--out", "broken"]].concat());
    assert!(text(&again.stderr).contains("5 runs are there already"), "{}", text(&again.stderr));
    let files = |folder: &str| {
        let mut files = desk.files(folder);
        files.retain(|name, _| !name.ends_with("timing.json"));
        files
    };
    let (whole, broken) = (files("whole"), files("broken"));
    assert_eq!(whole.keys().collect::<Vec<_>>(), broken.keys().collect::<Vec<_>>());
    for (name, content) in &whole {
        assert!(broken[name] == *content, "{name} differs");
    }
}

#[test]
fn values_policies_and_seeds_can_be_added_but_not_beside_other_files() {
    let desk = desk();
    desk.succeed(&[&GRID[..], &["--out", "out"]].concat());
    let wider = [
        "sweep",
        "tiny.toml",
        "--vary",
        "switch.buffer=[\"50 KB\", \"200 KB\"]",
        "--policies",
        "dt",
        "--out",
        "out",
    ];
    let more = desk.output(&wider);
    assert!(text(&more.stderr).contains("1 run is there already"), "{}", text(&more.stderr));
    // A folder that no sweep has written belongs to the user.
    desk.write("mine/thesis.tex", "hard work");
    let other = desk.output(&["sweep", "tiny.toml", "--vary", "seed=1,2", "--out", "mine"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("does not hold a sweep"), "{}", text(&other.stderr));
}

#[test]
fn failing_points_are_named_and_the_others_are_complete() {
    let desk = desk();
    let args = ["sweep", "tiny.toml", "--vary", "switch.buffer=[\"1 B\", \"100 KB\"]", "--out", "out"];
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("failing_point", desk.terminal(&args));
    });
    assert!(desk.path("out/switch.buffer=100-KB/dt/seed-1/manifest.json").is_file());
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("no_values", desk.terminal(&["sweep", "tiny.toml", "--vary", "switch.buffer"]));
    });
}

/// Returns the numbers that the script of the page reads, as JSON.
fn numbers(page: &str) -> Value {
    let data = page.split_once("<script id=\"explorer-data\" type=\"application/json\">");
    let (data, _) = data.and_then(|(_, rest)| rest.split_once("</script>")).expect("the page holds numbers");
    serde_json::from_str(data).expect("they are JSON")
}

fn place(list: &Value, key: Option<&str>, name: &str) -> usize {
    let entries = list.as_array().expect("a list");
    let is = |entry: &Value| key.map_or(entry, |key| &entry[key]) == name;
    entries.iter().position(is).unwrap_or_else(|| panic!("{name} is not in the page"))
}

#[test]
fn the_page_holds_every_number_of_the_table_and_no_other() {
    let desk = desk();
    let two_axes = ["--vary", "workload.0.request=[\"60 KB\", \"0.15 MB\"]", "--out", "out"];
    desk.succeed(&[&GRID[..], &two_axes].concat());
    let read = |name: &str| std::fs::read_to_string(desk.path("out").join(name)).expect("written");
    let page = numbers(&read("sweep.html"));
    let mut in_page = 0;
    for cell in page["cells"]
        .as_array()
        .expect("by metric")
        .iter()
        .flat_map(|metric| metric.as_array().expect("by scheme"))
    {
        in_page += cell.as_array().expect("by place").iter().filter(|cell| !cell.is_null()).count();
    }
    let table = read("sweep.csv");
    let mut in_table = 0;
    for row in csv::Reader::from_reader(table.as_bytes()).records() {
        let row = row.expect("CSV");
        let keys = page["axes"].as_array().expect("axes").len();
        let point = page["axes"].as_array().expect("axes").iter().enumerate().fold(0, |point, (at, axis)| {
            point * axis["values"].as_array().expect("values").len() + place(&axis["values"], None, &row[at])
        });
        let (metric, scheme) =
            (place(&page["metrics"], Some("id"), &row[keys]), place(&page["schemes"], None, &row[keys + 4]));
        let cell = &page["cells"][metric][scheme][point];
        let field = |at: usize| row[keys + 5 + at].parse::<f64>().ok();
        if field(0) == Some(0.0) {
            assert!(cell.is_null(), "{row:?}: {cell}");
            continue;
        }
        in_table += 1;
        for at in 0..5 {
            // This JSON parser may round the last bit of a number, which the parser of a
            // browser does not.
            let same = match (cell[at].as_f64(), field(at)) {
                (Some(one), Some(other)) => (one - other).abs() <= f64::EPSILON * other.abs(),
                (one, other) => one == other,
            };
            assert!(same, "{row:?}: {cell}, number {at}");
        }
    }
    assert_eq!(in_page, in_table);
    assert!(in_table > 100, "{in_table}");
    // The page places buffer sizes with different units on one axis in a common unit.
    assert_eq!(page["axes"][1]["positions"], serde_json::json!([60.0, 150.0]));
    // The page has charts without JavaScript, and loads nothing from a network.
    let html = read("sweep.html");
    assert!(html.contains("<figure class=\"chart\">") && html.contains("hidden></section>"));
    assert!(!html.contains("src=") && !html.contains("<link"));
}

#[test]
fn a_sweep_prints_findings_and_caveats_and_its_page_opens_on_the_ranked_metric() {
    let desk = desk();
    let shown = desk.succeed(&[&GRID[..], &["--out", "out"]].concat());
    let json: Value =
        serde_json::from_slice(&desk.files("out")["sweep.json"]).expect("the sweep is there as JSON");
    let first = json["finding"][0]["text"].as_str().expect("a sentence");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&shown).starts_with(&words(first)), "{shown}");
    let (tables, caveats) = shown.split_once("\nBefore you trust these numbers:\n").expect("caveats");
    let caveat = json["caveats"][0]["message"].as_str().expect("a caveat");
    assert!(words(caveats).contains(&words(caveat)), "{shown}");
    // The first table and the first chart show the metric of the first column of a ranked table.
    assert!(tables.contains("\n\nincast queries: QCT mean [ms]\n  switch.buffer "), "{shown}");
    let page = std::fs::read_to_string(desk.path("out/sweep.html")).expect("written");
    let numbers = numbers(&page);
    let first = numbers["first"].as_u64().expect("an index") as usize;
    assert_eq!(numbers["metrics"][first]["id"], "class.incast.qct_mean_ms");
    let (_, charts) = page.split_once("At a glance").expect("fixed charts");
    assert!(charts.split_once("</figcaption>").is_some_and(|(first, _)| first.contains("QCT mean")));
}

#[test]
fn figures_of_a_sweep_show_a_metric_over_its_key_with_intervals_and_labels() {
    let desk = desk();
    desk.succeed(&[&GRID[..], &["--out", "out"]].concat());
    let before = desk.files("out");
    let paper = ["report", "out", "--figures", "--style", "paper"];
    let labels = ["--label", "dt=Dynamic \"T\"", "--label", "switch.buffer=Buffer size (KB)"];
    let one = ["--metric", "class.incast.qct_mean_ms", "--label", "class.incast.qct_mean_ms=QCT (ms)"];
    let page = desk.succeed(&[&paper[..], &labels, &one].concat());
    assert_eq!(page, "out/sweep.html\n");
    assert!(desk.files("out") == before, "the pages are the same");
    let mut names: Vec<_> = desk.files("figures").into_keys().collect();
    names.sort();
    let endings = ["csv", "pdf", "png", "svg"];
    assert_eq!(names, endings.map(|ending| format!("class-incast-qct_mean_ms.{ending}")));
    let table = text(&desk.files("figures")["class-incast-qct_mean_ms.csv"]);
    let head = "series,Buffer size (KB),QCT (ms),half of the interval\n\"Dynamic \"\"T\"\"\",50,";
    assert!(table.starts_with(head) && table.lines().count() == 5, "{table}");
    assert!(table.lines().skip(1).all(|line| !line.ends_with(',')), "every mean has an interval: {table}");
    let svg = text(&desk.files("figures")["class-incast-qct_mean_ms.svg"]);
    assert!(
        svg.contains("Dynamic") && svg.contains("class=\"whisker\"") && svg.contains("QCT (ms)"),
        "{svg}"
    );
    assert!(desk.files("figures")["class-incast-qct_mean_ms.pdf"].starts_with(b"%PDF-1.4\n"));
    // If the user names no metrics, the figures show all headline metrics.
    desk.succeed(&["report", "out", "--figures", "all"]);
    assert!(desk.files("all").len() > 8);
    for mistake in [["--label", "abn=ABM"], ["--metric", "qct"]] {
        let output = desk.output(&[&paper[..], &mistake].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(mistake[1].trim_end_matches("=ABM")),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn tables_for_documents_have_the_means_of_sweeps_and_comparisons() {
    let desk = desk();
    desk.succeed(&[&GRID[..], &["--out", "grid"]].concat());
    let metric = ["--metric", "class.incast.qct_mean_ms"];
    let table = desk.succeed(&[&["report", "grid", "--table", "markdown"], &metric[..]].concat());
    let start =
        "**incast queries: QCT mean [ms]**\n\n| switch.buffer | dt | abm |\n|---|--:|--:|\n| 50 KB | ";
    assert!(table.starts_with(start) && table.lines().count() == 6, "{table}");
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,abm", "--seeds", "2", "--out", "pair"]);
    let label = ["--label", "abm=A_BM"];
    let table = desk.succeed(&[&["report", "pair", "--table", "latex"], &metric[..], &label].concat());
    let start = "\\begin{tabular}{lrr}\n  \\toprule\n  Metric & dt & A\\_BM \\\\\n  \\midrule\n  incast queries: QCT mean [ms] & ";
    assert!(table.starts_with(start) && table.contains("$\\pm$"), "{table}");
    let wrong = desk.output(&["report", "pair", "--table", "latex", "--metric", "qct"]);
    assert!(text(&wrong.stderr).contains("there is no metric \"qct\""), "{}", text(&wrong.stderr));
}

#[test]
fn heat_maps_show_the_means_of_two_keys() {
    let desk = desk();
    let two_axes = ["--vary", "workload.0.request=[\"60 KB\", \"0.15 MB\"]", "--out", "out"];
    desk.succeed(&[&GRID[..], &two_axes].concat());
    let html = std::fs::read_to_string(desk.path("out/sweep.html")).expect("written");
    let page = numbers(&html);
    let (_, maps) = html.split_once("Two axes at a time").expect("there are heat maps");
    let mut seen = 0;
    for figure in maps.split("<figure class=\"chart\">").skip(1) {
        let between =
            |from: &str, to: &str| figure.split_once(from).and_then(|(_, rest)| Some(rest.split_once(to)?.0));
        let caption = between("<figcaption>", "</figcaption>").expect("a caption");
        let table = between("<template class=\"data\">", "</template>").expect("the numbers");
        let table = table.replace("&quot;", "\"").replace("&amp;", "&");
        let mut rows = csv::Reader::from_reader(table.as_bytes());
        let value_title = rows.headers().expect("a header")[2].to_owned();
        let (scheme, rest) = caption.split_once(": ").expect("a scheme");
        let is_shown = |metric: &Value| {
            metric["title"] == value_title.as_str()
                && rest.starts_with(metric["group"].as_str().expect("a group"))
        };
        let metric =
            page["metrics"].as_array().expect("a list").iter().position(is_shown).expect("it is in the page");
        let scheme = place(&page["schemes"], None, scheme);
        for row in rows.records() {
            let row = row.expect("CSV");
            let at = |axis: usize, value: &str| place(&page["axes"][axis]["values"], None, value);
            let point =
                at(0, &row[1]) * page["axes"][1]["values"].as_array().expect("values").len() + at(1, &row[0]);
            let mean = page["cells"][metric][scheme][point][1].as_f64();
            assert_eq!(row[2].parse::<f64>().ok(), mean, "{caption}: {row:?}");
            seen += 1;
        }
    }
    assert_eq!(seen, maps.matches("<rect class=\"heat\"").count(), "every value has a cell");
    assert!(seen >= 20, "{seen}");
}
