//! Tests of variants on the command line: their runs, their names, and the messages about mistakes.

use crate::support::{Desk, text};
use serde_json::Value;

fn json(desk: &Desk, path: &str) -> Value {
    let bytes = std::fs::read(desk.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_slice(&bytes).expect("it is JSON")
}

#[test]
fn two_alphas_of_one_policy_are_compared_paired_by_seed() {
    let desk = Desk::with_tiny();
    let variants = ["--variants", "dt(alpha=0.25)", "high: dt(alpha=4) + buffer=300 KB"];
    desk.succeed(&[&["compare", "tiny.toml", "--seeds", "3", "--out", "out"], &variants[..]].concat());
    for (folder, label, alpha, buffer) in
        [("dt-alpha=0.25", "dt(alpha=0.25)", "0.25", "200 KB"), ("high", "high", "4", "300 KB")]
    {
        for seed in 1..=3 {
            let manifest = json(&desk, &format!("out/{folder}/seed-{seed}/manifest.json"));
            assert_eq!(manifest["variant"]["label"], label);
            assert_eq!(manifest["policy"]["name"], "dt");
            assert_eq!(manifest["policy"]["params"], serde_json::json!([["alpha", alpha]]));
            assert_eq!(manifest["seed"], seed);
            let resolved = desk.path(&format!("out/{folder}/seed-{seed}/scenario.toml"));
            let resolved = std::fs::read_to_string(resolved).expect("it is there");
            assert!(resolved.contains(&format!("alpha = {alpha}")), "{resolved}");
            assert!(resolved.contains(&format!("buffer = \"{buffer}\"\n")), "{resolved}");
        }
    }
    // A run with the variant's keys on the command line has the same packets as the variant's run.
    let by_hand =
        ["run", "tiny.toml", "--set", "switch.policy.alpha=0.25", "--set", "seed=2", "--out", "hand"];
    desk.succeed(&by_hand);
    let read = |path: &str| std::fs::read(desk.path(path)).expect("it is there");
    assert!(read("out/dt-alpha=0.25/seed-2/flows.parquet") == read("hand/flows.parquet"));
    // The comparison pairs runs by seed: the interval of a change is computed from the logarithms
    // of the ratios.
    let comparison = json(&desk, "out/comparison.json");
    assert_eq!(comparison["policies"], serde_json::json!(["dt(alpha=0.25)", "high"]));
    let metrics = comparison["metrics"].as_array().expect("a list");
    let peak =
        metrics.iter().find(|row| row["metric"]["id"] == "class.incast.qct_mean_ms").expect("measured");
    let values = |cell: usize| -> Vec<f64> {
        peak["cells"][cell]["values"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect()
    };
    let (first, second) = (values(0), values(1));
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let ratio = mean(&second) / mean(&first);
    let deviations: Vec<f64> =
        first.iter().zip(&second).map(|(a, b)| b / mean(&second) - a / mean(&first)).collect();
    let spread = deviations.iter().map(|d| d.powi(2)).sum::<f64>() / 2.0;
    // The confidence interval uses Student's t for two degrees of freedom.
    let factor = (4.302_652_7 * (spread / 3.0).sqrt()).exp();
    let shown = &peak["cells"][1]["change"];
    for (end, expected) in [("mean", ratio), ("low", ratio / factor), ("high", ratio * factor)] {
        let found = shown[end].as_f64().expect("a number");
        assert!((found - (expected - 1.0)).abs() < 1e-6, "{end} of {shown}: {expected}");
    }
    let report = std::fs::read_to_string(desk.path("out/report.html")).expect("it is there");
    assert!(report.contains("<code>high: dt(alpha=4) + buffer=300 KB</code>"));
}

#[test]
fn the_short_form_means_the_same_and_may_have_blanks() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt,abm", "--out", "a"]);
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt , abm", "--out", "b"]);
    desk.succeed(&["compare", "tiny.toml", "--variants", "dt", "abm", "--out", "c"]);
    desk.succeed(&["compare", "tiny.toml", "--policies", "dt", "abm", "--out", "d"]);
    desk.succeed(&["compare", "tiny.toml", "--variants", "dt, abm", "--out", "e"]);
    let files = |folder: &str| {
        let mut files = desk.files(folder);
        files.retain(|name, _| !name.ends_with("timing.json"));
        files
    };
    assert!(files("a") == files("b"));
    for other in ["c", "d", "e"] {
        assert!(files("a") == files(other), "{other}");
    }
    // Commas in brackets separate the parameters of a variant, not the variants.
    let list = "x: dt(alpha=0.5),y: abm(alpha=0.5, congested_share=0.8)";
    desk.succeed(&["compare", "tiny.toml", "--variants", list, "--seeds", "1", "--out", "f"]);
    assert!(desk.path("f/x/seed-1").is_dir() && desk.path("f/y/seed-1").is_dir());
}

#[test]
fn earlier_variants_are_shown_and_a_label_keeps_its_meaning() {
    let desk = Desk::with_tiny();
    desk.succeed(&["compare", "tiny.toml", "--variants", "x: dt(alpha=0.25)", "--out", "out"]);
    let more = ["--variants", "dt(alpha=4)", "--with-earlier", "--out", "out"];
    let shown = desk.succeed(&[&["compare", "tiny.toml"], &more[..]].concat());
    assert!(shown.contains("dt(alpha=4) (baseline)  x"), "{shown}");
    let other = desk.output(&["compare", "tiny.toml", "--variants", "x: dt(alpha=1)", "--out", "out"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("holds runs of another scenario: in out/x/seed-1,"));
    // The folder has runs of a custom policy, which another program has registered.
    desk.succeed(&["run", "tiny.toml", "--out", "theirs/fair-share/seed-1"]);
    let strange = desk.output(&["compare", "tiny.toml", "--policies", "dt", "--out", "theirs"]);
    assert!(
        text(&strange.stderr).contains("theirs holds runs of fair-share, which this program does not know")
    );
    let order = ["--variants", "dt(alpha=4)", "x: dt(alpha=0.25)", "--out", "out"];
    desk.succeed(&[&["compare", "tiny.toml"], &order[..]].concat());
    assert!(desk.succeed(&["verify", "out"]).contains("all as written"));
}

#[test]
fn a_sweep_shows_the_labels() {
    let desk = Desk::with_tiny();
    let grid = ["sweep", "tiny.toml", "--vary", "switch.buffer=[\"50 KB\", \"100 KB\"]", "--seeds", "2"];
    let variants = ["--variants", "dt(alpha=0.25)", "high: dt(alpha=4)", "--out", "out"];
    let shown = desk.succeed(&[&grid[..], &variants[..]].concat());
    assert!(shown.contains("switch.buffer  dt(alpha=0.25)"), "{shown}");
    assert!(desk.path("out/switch.buffer=50-KB/dt-alpha=0.25/seed-2/manifest.json").is_file());
    let table = std::fs::read_to_string(desk.path("out/sweep.csv")).expect("it is there");
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let paired = rows.records().flatten().filter(|row| &row[5] == "high" && !row[9].is_empty()).count();
    assert!(paired > 10, "{table}");
    // Tables for people omit the part that all variants share. Files for programs keep this part.
    let common = ["--variants", "dt(alpha=0.25), dt(alpha=4)", "--out", "common"];
    let shown = desk.succeed(&[&grid[..], &common[..]].concat());
    assert!(shown.contains("switch.buffer  alpha=0.25"), "{shown}");
    let page = std::fs::read_to_string(desk.path("common/sweep.html")).expect("it is there");
    assert!(page.contains("<dt>Common to all</dt><dd>dt</dd>"), "{page}");
    let table = std::fs::read_to_string(desk.path("common/sweep.csv")).expect("it is there");
    assert!(table.contains("\"dt(alpha=0.25)\"") && !table.contains("\"alpha=0.25\""), "{table}");
    let again = desk.output(&[&grid[..], &variants[..]].concat());
    assert!(text(&again.stderr).contains("8 runs are there already"), "{}", text(&again.stderr));
}

#[test]
fn one_variant_is_run_checked_and_explained() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--variant", "dt(alpha=0.25)"]);
    assert_eq!(json(&desk, "results/tiny-dt-alpha=0.25/manifest.json")["policy"]["params"][0][1], "0.25");
    let resolved = desk.succeed(&["check", "tiny.toml", "--variant", "abm + buffer=1 MB", "--resolved"]);
    assert!(resolved.contains("name = \"abm\"") && resolved.contains("buffer = \"1 MB\""), "{resolved}");
    let why = desk.succeed(&["explain", "tiny.toml", "--variant", "dt(alpha=0.25)"]);
    assert!(why.contains("dt: alpha = 0.25"), "{why}");
}

#[test]
fn a_variant_with_other_traffic_is_warned_about() {
    let desk = Desk::with_tiny();
    let compare = |variant: &str, out: &str| {
        desk.succeed(&["compare", "tiny.toml", "--variants", "dt", variant, "--out", out])
    };
    assert!(compare("dt + workload.0.fan_in=2", "a").contains("or other traffic than \"dt\""));
    assert!(!compare("dt + buffer=1 MB", "b").contains("other traffic"));
}

/// The first switch has its policy from an override.
/// The compared policies still apply to every switch without an override.
#[test]
fn a_policy_that_the_first_switch_has_already_is_set_at_the_others_too() {
    let desk = Desk::with_scenarios();
    let part =
        "extends = \"scenarios/dumbbell.toml\"\n[[switch_override]]\nswitches = \"left\"\npolicy = \"abm\"\n";
    desk.write("part.toml", part);
    desk.succeed(&["compare", "part.toml", "--policies", "dt,abm", "--out", "out"]);
    let head =
        |folder: &str| json(&desk, &format!("out/{folder}/seed-1/manifest.json"))["policy"]["name"].clone();
    assert_eq!((head("dt"), head("abm")), ("abm+dt".into(), "abm".into()));
    // A sweep without `--policies` leaves the policies of all switches unchanged.
    desk.succeed(&["sweep", "part.toml", "--vary", "drain=1 s,2 s", "--out", "grid"]);
    let run = json(&desk, "grid/drain=1-s/abm/seed-1/manifest.json");
    assert_eq!(run["policy"]["name"], "abm+dt");
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let desk = Desk::with_tiny();
    let shown: Vec<_> = [
        (2, &["compare", "tiny.toml", "--variants", "dt(alpha=0.5"][..]),
        (2, &["compare", "tiny.toml", "--variants", "dt", "abn(alpha=0.5)"]),
        (2, &["compare", "tiny.toml", "--variants", "dt(alhpa=0.5)"]),
        (2, &["compare", "tiny.toml", "--policies", "dt,dt(alpha=2)"]),
        (1, &["compare", "tiny.toml", "--variants", "dt(alpha=2)", "dt( alpha=2 )"]),
        (1, &["compare", "tiny.toml", "--variants", "x: dt(alpha=2)", "x: dt(alpha=4)"]),
        (1, &["compare", "tiny.toml", "--variants", "dt alpha.2: abm", "dt-alpha.2: dt"]),
        (1, &["compare", "tiny.toml", "--variants", "dt + transport.0.min_rto=5"]),
        (1, &["sweep", "tiny.toml", "--vary", "switch.policy.alpha=1,2", "--variants", "dt(alpha=4)"]),
    ]
    .into_iter()
    .map(|(code, args)| {
        assert_eq!(desk.output(args).status.code(), Some(code), "{}", desk.terminal(args));
        desk.terminal(args)
    })
    .collect();
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("variant_mistakes", shown.join("\n"));
    });
}
