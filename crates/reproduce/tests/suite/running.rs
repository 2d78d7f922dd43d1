//! Tests of an experiment's runs, verdicts and outputs, including failures.

use bufferlab_core::Profile;
use bufferlab_lab::{Execution, Unwatched};
use bufferlab_reproduce::output::{panels, write_experiment, write_ledger, write_panels};
use bufferlab_reproduce::{
    AblationRow, Estimates, Experiment, Keep, KeyQuote, Ledger, Plan, Registry, Results, ScaleName, Trial,
    Verdict, ablations_markdown, conclude, judge, record_ablations, run, why,
};
use bufferlab_scenario::Setting;
use std::fs;
use std::num::NonZero;
use std::path::Path;

/// Three queries arrive at one port. Complete sharing loses no packet, because the queries fit in
/// the buffer. A policy that limits every queue to a tenth of the buffer loses many packets.
const EXPERIMENT: &str = r#"
title = "Incast on a star"
figure = "a test"
scenario = "star.toml"

[[axis]]
name = "request"
key = "workload.incast.request"
values = ["60 KB", "120 KB"]

[[variant]]
name = "generous"
set = { "switch.policy" = "cs" }

[[variant]]
name = "stingy"
set = { "switch.policy" = { name = "dt", alpha = 0.05 } }

[[variant]]
name = "twin"
set = { "switch.policy" = "cs" }

[metrics]
absorbed = { queries = ["incast"], of = "dropped_packets", take = "zero_percent" }
qct = "class.incast.qct_mean_ms"

[quick]
seeds = 3

[paper]
seeds = 3

[[panel]]
title = "queries without loss (%)"
metric = "absorbed"

[[claim]]
id = "right"
statement = "Who shares everything absorbs more"
effect = 'v("absorbed", "generous", "120 KB") - v("absorbed", "stingy", "120 KB")'
at_least = 50.0
neutral = 0.0
paper = 100.0
mark = { metric = "absorbed", variant = "stingy", x = ["120 KB"], value = 'v("absorbed", "generous", x) - paper / 2' }

[[claim]]
id = "wrong"
effect = 'v("absorbed", "stingy", "120 KB") - v("absorbed", "generous", "120 KB")'
at_least = 50.0
neutral = 0.0

[[claim]]
id = "vacuous"
effect = 'v("absorbed", "generous", "120 KB") - v("absorbed", "twin", "120 KB")'
at_least = -1.0
at_most = 1.0

[[claim]]
id = "guarded"
effect = 'v("absorbed", "generous", "120 KB") - v("absorbed", "stingy", "120 KB")'
at_least = 50.0
neutral = 0.0
guard = 'v("absorbed", "stingy", "120 KB")'
beside = [{ reading = "of small requests", effect = 'v("absorbed", "generous", "60 KB")' }]

[[claim]]
id = "uncontrolled"
effect = 'v("absorbed", "generous", "120 KB") + v("absorbed", "stingy", "60 KB") + 60.0'
at_least = 50.0
neutral = 0.0

[[claim]]
id = "tied"
effect = 'v("absorbed", "twin", "120 KB") / max([v("absorbed", "generous", "120 KB"), v("absorbed", "stingy", "120 KB")])'
at_least = 0.97

[[claim]]
id = "missing"
effect = 'v("absorbed", "nobody", "120 KB")'
at_least = 0.0

[[claim]]
id = "infinite"
effect = 'v("absorbed", "generous", "120 KB") / v("absorbed", "stingy", "120 KB")'
at_least = 0.0

[[claim]]
id = "unsaid"
not_checkable = "nobody says at which rate"
"#;

const STAR: &str = r#"
name = "star"
duration = "20 ms"
drain = "200 ms"

[topology]
kind = "single_switch"
hosts = 9
rate = "10 Gb/s"
delay = "1 us"

[switch]
buffer = "200 KB"
policy = "dt"

[[transport]]
congestion_control = "dctcp"
initial_window = "whole"

[[workload]]
kind = "incast"
class = "incast"
request = "120 KB"
fan_in = 8
queries_per_second_per_host = 50.0
"#;

fn registry(folder: &Path) -> Registry {
    let paper = folder.join("experiments/test");
    fs::create_dir_all(&paper).expect("writable");
    fs::write(paper.join("star.toml"), STAR).expect("writable");
    // The scenario file is beside the experiment; the registry must not load the scenario as an
    // experiment.
    fs::create_dir_all(folder.join("registry/test")).expect("writable");
    fs::write(
        folder.join("registry/test/star.toml"),
        EXPERIMENT.replace("star.toml", "../../experiments/test/star.toml"),
    )
    .expect("writable");
    Registry::load(&folder.join("registry")).unwrap_or_else(|error| panic!("{error}"))
}

fn reproduce(folder: &Path, out: &Path) -> Results {
    let registry = registry(folder);
    let plan = Plan::new(&registry.experiments[0], ScaleName::Quick, None).expect("a scale");
    let how = Execution { jobs: NonZero::new(2), ..Execution::default() };
    let (results, _) = run(vec![plan], out, &how, |_| Unwatched).unwrap_or_else(|error| panic!("{error}"));
    results.into_iter().next().expect("one plan, one result")
}

#[test]
fn a_true_statement_passes_and_one_about_a_wrong_scheme_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let results = reproduce(folder.path(), &folder.path().join("out"));
    assert_eq!(results.failures().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let verdicts: Vec<_> = results.experiment().claims().iter().map(|claim| judge(claim, &results)).collect();
    let of = |id: &str| verdicts.iter().find(|judged| judged.id == id).expect("judged");
    assert_eq!(of("right").verdict, Verdict::Strong, "{}", of("right").measured());
    assert_eq!(of("wrong").verdict, Verdict::Fail, "{}", of("wrong").measured());
    for (id, why) in [
        ("vacuous", "the schemes are the same to the last digit"),
        ("guarded", "nothing could differ: v(\"absorbed\", \"stingy\", \"120 KB\") is 0"),
        ("tied", "to the last digit what generous alone gives in the place of every scheme"),
        ("uncontrolled", "it would pass with generous in the place of every scheme"),
        ("infinite", "the result is inf"),
    ] {
        assert_eq!(of(id).verdict, Verdict::Inconclusive, "{}", of(id).measured());
        assert!(of(id).measured().contains(why), "{}", of(id).measured());
    }
    assert!(
        of("guarded").measured().ends_with("; of small requests: 100 ± 0"),
        "{}",
        of("guarded").measured()
    );
    assert_eq!(of("missing").verdict, Verdict::NotRun);
    assert_eq!(of("missing").measured(), "there is no variant \"nobody\"");
    assert_eq!(of("unsaid").verdict, Verdict::NotCheckable);
}

/// The runs of one statement give the same verdict as all runs of its figure, and a later command
/// for the figure reuses these runs.
#[test]
fn a_statement_alone_is_judged_as_in_its_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    let (alone, out) = (folder.path().join("alone"), folder.path().join("out"));
    let whole = reproduce(folder.path(), &out);
    let how = Execution { jobs: NonZero::new(2), ..Execution::default() };
    for id in ["right", "wrong", "vacuous", "guarded", "uncontrolled", "tied"] {
        let part = whole.plan.clone().only_rows(&[id.to_owned()]);
        assert!(part.points.len() < whole.plan.points.len(), "{id}");
        let (results, _) =
            run(vec![part], &alone, &how, |_| Unwatched).unwrap_or_else(|error| panic!("{error}"));
        let claim = whole.experiment().claims().iter().find(|claim| claim.id == id).expect("a claim");
        assert_eq!(judge(claim, &results[0]), judge(claim, &whole), "{id}");
        let page = alone.join(results[0].plan.folder());
        write_experiment(&page, &results[0], &[judge(claim, &results[0])], |_| None)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(page.ends_with(format!("star-{id}")) && page.join("figure.html").is_file());
    }
    assert!(
        bufferlab_reproduce::missing(std::slice::from_ref(&whole.plan), &alone).expect("readable").len() < 3
    );
}

/// A custom study has a separate ledger, in which later commands find earlier verdicts.
#[test]
fn a_study_has_its_own_ledger_which_tells_what_ran_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, table) = (folder.path().join("out"), folder.path().join("verdicts.csv"));
    let results = reproduce(folder.path(), &out);
    let registry = registry(folder.path());
    let keep = Keep { table: &table, date: "2026-01-02" };
    let found = conclude(&registry, std::slice::from_ref(&results), &out, Some(keep))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.ledger.papers(), ["test"], "nothing of the papers is in it");
    let statement = |id: &str| found.ledger.claim(id).map(bufferlab_reproduce::Claim::statement);
    assert_eq!(statement("right").as_deref(), Some("Who shares everything absorbs more"));
    assert!(statement("wrong").is_some_and(|text| text.starts_with("v(\"absorbed\"")), "its effect");
    let page = |name: &str| fs::read_to_string(out.join(name)).expect("written");
    let index = page("index.html");
    assert!(
        index.contains("Statements of this study, checked") && index.contains("9 of these verdicts"),
        "{index}"
    );
    assert!(index.contains("test/star: these runs") && !index.contains("ABM"), "{index}");
    assert!(page("test/star/figure.html").contains("Who shares everything absorbs more"));
    let kept = fs::read_to_string(&table).expect("recorded");
    assert_eq!(kept.lines().count(), 1 + 9, "{kept}");
    assert!(kept.contains("2026-01-02"), "{kept}");
    let values = fs::read(folder.path().join("values/test-star.quick.paper.csv")).expect("recorded");
    assert!(values == fs::read(out.join("test/star/values.csv")).expect("written"));
    // A second command runs no simulation: it shows known verdicts and keeps their dates.
    let again = conclude(
        &registry,
        &[],
        &folder.path().join("other"),
        Some(Keep { table: &table, date: "2026-01-03" }),
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.ledger.counts(None), found.ledger.counts(None));
    let index = fs::read_to_string(folder.path().join("other/index.html")).expect("written");
    assert!(
        index.contains("recorded 2026-01-02, 3 seeds") && !index.contains("test/star: these runs"),
        "{index}"
    );
    assert_eq!(fs::read_to_string(&table).expect("recorded"), kept);
    // A verdict that a user removed from the table does not return from a folder that still has
    // this verdict.
    let fewer = kept.replacen(&format!("{}\n", kept.lines().nth(1).expect("a row")), "", 1);
    fs::write(&table, &fewer).expect("writable");
    conclude(&registry, &[], &out, Some(keep)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(fs::read_to_string(&table).expect("recorded"), fewer);
    fs::write(&table, &kept).expect("writable");
    // If a table has verdicts of another study, these verdicts stay, but the command adds no costs
    // of that study.
    let foreign = kept.lines().nth(1).expect("a row").replacen("right", "foreign", 1);
    let shared = folder.path().join("shared/verdicts.csv");
    fs::create_dir_all(folder.path().join("shared")).expect("writable");
    fs::write(&shared, format!("{}\n{foreign}\n", kept.lines().next().expect("a header"))).expect("writable");
    let keep_shared = Keep { table: &shared, date: "2026-01-04" };
    let undated = folder.path().join("undated");
    conclude(&registry, std::slice::from_ref(&results), &undated, None)
        .unwrap_or_else(|error| panic!("{error}"));
    conclude(&registry, &[], &undated, Some(keep_shared)).unwrap_or_else(|error| panic!("{error}"));
    let rows = fs::read_to_string(&shared).expect("recorded");
    assert_eq!(rows.lines().skip(1).collect::<Vec<_>>(), [foreign.as_str()]);
    assert_eq!(fs::read_to_string(shared.with_file_name("costs.csv")).expect("recorded"), "");
    // The command also reads the verdicts that an earlier command left in the output folder.
    let in_folder = conclude(&registry, &[], &out, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(in_folder.ledger.counts(None), found.ledger.counts(None));
    fs::write(&table, kept.replace(",STRONG,", ",STORNG,")).expect("writable");
    let error = conclude(&registry, &[], &out, Some(keep)).expect_err("damaged").to_string();
    assert!(
        error
            .contains("verdicts.csv:2: column verdict: there is no verdict \"STORNG\" (did you mean STRONG?"),
        "{error}"
    );
}

#[test]
fn a_study_of_the_papers_keeps_all_of_their_statements() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = registry(folder.path());
    let of_papers = Registry::unpack(&folder.path().join("papers")).unwrap_or_else(|error| panic!("{error}"));
    let papers = || Ledger::recorded().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(papers().with_study(&of_papers.experiments).rows, papers().rows);
    let both: Vec<_> = of_papers.experiments.iter().chain(&registry.experiments).cloned().collect();
    assert_eq!(papers().with_study(&both).rows.len(), papers().rows.len() + 9);
    let error = of_papers.select(&["abm/fig66".to_owned()]).expect_err("no such figure").to_string();
    assert_eq!(error, "there is no experiment, paper or statement \"abm/fig66\"; did you mean \"abm/fig6\"?");
    let error = of_papers.select(&["fig14".to_owned()]).expect_err("no such figure").to_string();
    assert!(error.ends_with("did you mean \"tdt/fig14\"?"), "{error}");
}

#[test]
fn what_carries_a_statement_is_found_among_changes_that_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = registry(folder.path());
    let experiment = &registry.experiments[0];
    let claim = experiment.claims().iter().find(|claim| claim.id == "right").expect("it is there");
    let how = Execution { jobs: NonZero::new(2), ..Execution::default() };
    let given = [("drain", "300 ms"), ("switch.buffer", "20 MB"), ("start_jitter", "1 ns")];
    let given = given.map(|(key, value)| Setting::of_text(key, value).expect("a value"));
    let out = folder.path().join("out");
    let found = why((experiment, claim), &given, (ScaleName::Quick, Some(2)), (&out, &how), |_| Unwatched)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((found.base.judged.verdict, found.other.judged.verdict), (Verdict::Strong, Verdict::Null));
    // A buffer of 20 MB loses no packet. The other changed keys have no effect, so no pair is
    // tried.
    let share = |trial: &Trial| trial.share.map(|share| (share.mean, share.half_width));
    assert_eq!(
        (found.trials.len(), &found.trials[0].changes[..], share(&found.trials[0])),
        (3, &[1][..], Some((1.0, Some(0.0))))
    );
    assert!(found.trials[1..].iter().all(|trial| share(trial) == Some((0.0, Some(0.0)))));
    let answer = found.answer(&[]);
    assert!(answer.contains("switch.buffer (as it is -> \"20 MB\") carries it: 100 % ± 0 %"), "{answer}");
    // One seed has no interval, so no share is known.
    let one = why((experiment, claim), &given, (ScaleName::Quick, Some(1)), (&out, &how), |_| Unwatched)
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(one.answer(&[]).contains("--seeds 1 cannot tell which change causes"), "{}", one.answer(&[]));
    assert_eq!(found.markdown().lines().count(), 2 + 1 + 3 + 1);
    // The table keeps rows of other ablations. A later record of an ablation replaces earlier rows
    // of this ablation.
    let table = folder.path().join("why.csv");
    let rows = || {
        let text = fs::read_to_string(&table).expect("written");
        AblationRow::read_all(&table, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    for (against, date) in [("all", "2026-01-02"), ("another", "2026-01-02"), ("all", "2026-01-03")] {
        record_ablations(&table, std::slice::from_ref(&found), against, date)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let recorded: Vec<_> =
        rows().into_iter().map(|row| (row.against, row.changes, row.share, row.date)).collect();
    let line = |against: &str, changes: &str, share: &str, date: &str| {
        (against.to_owned(), changes.to_owned(), share.to_owned(), date.to_owned())
    };
    assert_eq!(recorded.len(), 10);
    assert_eq!(recorded[0], line("all", "", "0", "2026-01-03"));
    assert_eq!(recorded[1], line("all", "switch.buffer", "100", "2026-01-03"));
    assert_eq!(recorded[4], line("all", "everything", "100", "2026-01-03"));
    assert_eq!(recorded[5], line("another", "", "0", "2026-01-02"));
    let said = KeyQuote { key: "buffer".to_owned(), paper: "little".to_owned(), artifact: "much".to_owned() };
    assert!(found.answer(std::slice::from_ref(&said)).ends_with("The paper: little. The public code: much"));
    let ledger =
        Ledger::recorded().unwrap_or_else(|error| panic!("{error}")).with_study(&registry.experiments);
    let page = ablations_markdown(&rows(), &ledger, &[said]);
    assert!(
        page.contains("| [right](#right-against-all) | STRONG | NULL | `switch.buffer` | 100 % ± 0 % |"),
        "{page}"
    );
    assert!(page.contains("\n| Who shares everything absorbs more"), "{page}");
    // Only the runs that the statement needs are executed: two schemes at one axis value, with two
    // seeds, under five interpretations.
    let runs = fs::read_dir(out.join("runs")).expect("runs are kept").count();
    assert!(runs <= 20, "{runs}");
}

#[test]
fn the_papers_number_stands_where_its_mark_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let results = reproduce(folder.path(), &out);
    let svg = outputs(&out, &results).into_iter().find(|(name, _)| name == "panel-1.svg").expect("written").1;
    let svg = String::from_utf8(svg).expect("text");
    // Complete sharing loses no packet, so the mark is at 50 %: 100 % less 50. The axis is from 0
    // to 100 %, so the mark is in the middle of the drawing.
    let mark = svg.split("<title>right: the paper's 100").nth(1).expect("the mark is there");
    let at: Vec<f64> = mark
        .split_once("d=\"M")
        .and_then(|(_, rest)| rest.split_once('h'))
        .map(|(start, _)| start.split(' ').map(|number| number.parse().expect("a coordinate")).collect())
        .expect("a square");
    // The square that draws the mark is 5.7 units high on either side of its center.
    assert!((at[1] + 5.7 - (24.0 + 210.0) / 2.0).abs() < 0.11, "{at:?}");
    assert_eq!(
        svg.matches("where the paper&apos;s numbers would put stingy").count()
            + svg.matches("where the paper's numbers would put stingy").count(),
        1
    );
}

/// A run has one overloaded, sampled queue. Its chart over time is cached and drawn, and its
/// counters are correct.
#[test]
fn courses_and_tallies_are_kept_with_the_numbers_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let paper = folder.path().join("registry/test");
    fs::create_dir_all(&paper).expect("writable");
    fs::write(folder.path().join("star.toml"), STAR).expect("writable");
    let text = r#"
title = "A queue over time"
figure = "a test"
scenario = "../../star.toml"
set = { "output.sample_interval" = "1 ms", "output.sample_flows" = true, "output.sample_ports" = [0, 1] }

[[variant]]
name = "dt"

[metrics]
arrived = { queues = [0], count = "arrived_packets" }
lost = { queues = [0], count = "dropped_packets" }

[quick]
seeds = 2
[paper]
seeds = 2

[[course]]
title = "the buffer"
of = ["occupancy"]

[[course]]
title = "two ports"
of = ["occupancy", "threshold"]
ports = [0, 1]
since_ms = 2.5
"#;
    fs::write(paper.join("queue.toml"), text).expect("writable");
    let registry = Registry::load(&folder.path().join("registry")).unwrap_or_else(|error| panic!("{error}"));
    let plan = || Plan::new(&registry.experiments[0], ScaleName::Quick, None).expect("a scale");
    let (how, out) = (Execution { jobs: NonZero::new(2), ..Execution::default() }, folder.path().join("out"));
    let once =
        || run(vec![plan()], &out, &how, |_| Unwatched).unwrap_or_else(|error| panic!("{error}")).0.remove(0);
    let results = once();
    assert_eq!(results.failures().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let runs = results.experiment().runs().expect("it runs");
    let (whole, ports) = (&runs.courses[0], &runs.courses[1]);
    assert_eq!(results.course(whole, 0, &[]).len(), 1);
    let lines = results.course(ports, 0, &[]);
    let names: Vec<_> = lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["port 0", "port 1", "threshold of port 0", "threshold of port 1"]);
    // In an empty switch, DT's threshold is alpha (1/2) times 200 KB.
    assert_eq!(lines[2].points[0], (0.0, 100.0));
    assert_eq!(ports.drawn(&lines[2]).next(), Some((0.5, lines[2].points[3].1)));
    let arrived = results.samples("arrived", 0, &[]);
    assert!(arrived.len() == 2 && arrived.iter().all(|count| *count > 100.0), "{arrived:?}");
    assert!(
        results.samples("lost", 0, &[]).iter().all(|count| *count > 0.0),
        "DT loses packets of 8 answers"
    );
    write_experiment(&out.join("test/queue"), &results, &[], |_| None)
        .unwrap_or_else(|error| panic!("{error}"));
    let values = fs::read_to_string(out.join("test/queue/courses.csv")).expect("written");
    assert!(
        values.starts_with("variant,course,line,time_ms,value\n\"dt\",\"the buffer\",\"\",0,0\n"),
        "{values}"
    );
    assert!(out.join("test/queue/panel-2.svg").is_file());
    // The cached numbers suffice, so no run is repeated.
    let kept = |results: &Results| {
        results.runs.iter().map(|run| run.as_ref().expect("it ran").cpu_seconds).collect::<Vec<_>>()
    };
    assert_eq!(kept(&once()), kept(&results));
}

#[test]
fn an_analytical_figure_needs_no_runs_and_is_written_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let paper = folder.path().join("registry/abm");
    fs::create_dir_all(&paper).expect("writable");
    let write = |more: &str| {
        let text = format!("title = 't'\nfigure = 'Fig. 4'\ntheory = 'abm-4'\n{more}");
        fs::write(paper.join("fig4.toml"), text).expect("writable");
        Registry::load(&folder.path().join("registry"))
    };
    let registry = write("").unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&registry.experiments[0], ScaleName::Quick, None).expect("a scale");
    assert_eq!(plan.points, []);
    let (how, out) = (Execution { jobs: NonZero::new(1), ..Execution::default() }, folder.path().join("out"));
    let (results, _) = run(vec![plan], &out, &how, |_| Unwatched).unwrap_or_else(|error| panic!("{error}"));
    write_experiment(&out.join("abm/fig4"), &results[0], &[], |_| None)
        .unwrap_or_else(|error| panic!("{error}"));
    let values = fs::read_to_string(out.join("abm/fig4/values.csv")).expect("written");
    assert!(values.contains("abm-4a,\"alpha = 1\",100,0.990"), "{values}");
    let page = fs::read_to_string(out.join("abm/fig4/figure.html")).expect("written");
    assert!(
        page.contains("ABM-F4-1") && page.contains("dynamic thresholds leave less than 2 percent free"),
        "{page}"
    );
    for (more, why) in [
        ("seeds = 2", "unknown key"),
        ("policies = ['dt']", "an analytical figure has no runs"),
        ("[[course]]\ntitle = 't'\nof = ['jain']", "an analytical figure has no runs"),
    ] {
        let error = write(more).expect_err("a mistake").to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Reads all output files of a reproduction, except files that only the next command reads.
fn outputs(out: &Path, results: &Results) -> Vec<(String, Vec<u8>)> {
    let verdicts: Vec<_> = results.experiment().claims().iter().map(|claim| judge(claim, results)).collect();
    let place = out.join("test/star");
    write_experiment(&place, results, &verdicts, |_| None).unwrap_or_else(|error| panic!("{error}"));
    let ledger = Ledger::recorded().unwrap_or_else(|error| panic!("{error}"));
    write_ledger(out, &ledger, &[results.experiment()], &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut files = Vec::new();
    for entry in fs::read_dir(&place).expect("written") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        files.push((name, fs::read(&path).expect("readable")));
    }
    files.sort();
    files
}

/// A figure that is drawn again from its table of values has equal bytes. The reader rejects a row
/// of another experiment and gives the row's line.
#[test]
fn a_figure_is_drawn_again_from_its_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, again) = (folder.path().join("out"), folder.path().join("again"));
    let results = reproduce(folder.path(), &out);
    let first = outputs(&out, &results);
    let table = out.join("test/star/values.csv");
    let estimates = Estimates::read(results.experiment(), &table).unwrap_or_else(|error| panic!("{error}"));
    write_panels(&again, &panels(&estimates)).unwrap_or_else(|error| panic!("{error}"));
    let drawn: Vec<_> = first.iter().filter(|(name, _)| name.starts_with("panel")).collect();
    assert_eq!(drawn.len(), 2, "an SVG and a PNG");
    for (name, bytes) in drawn {
        assert!(fs::read(again.join(name)).expect("drawn") == *bytes, "{name} differs");
    }
    let text = fs::read_to_string(&table).expect("written");
    assert_eq!(estimates.csv(), text);
    for (from, to, why) in [
        (
            "\"generous\",\"absorbed\"",
            "\"generos\",\"absorbed\"",
            ":2: column variant: the experiment has no \"generos\" (did you mean \"generous\"?",
        ),
        ("\"60 KB\"", "\"61 KB\"", ":2: column request: the experiment has no \"61 KB\""),
        ("\"request\"", "\"size\"", ":2: column header: the experiment has no \"request\""),
        ("\"absorbed\"", "\"absorbt\"", ":2: column metric: the experiment has no \"absorbt\""),
        (",3,100,", ",3,many,", ":2: column mean: expected a number, found \"many\""),
    ] {
        fs::write(&table, text.replacen(from, to, 1)).expect("writable");
        let error = Estimates::read(results.experiment(), &table).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_was_interrupted_ends_as_if_it_had_not_been() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = reproduce(folder.path(), &folder.path().join("whole"));
    let wanted = outputs(&folder.path().join("whole"), &whole);
    assert!(wanted.iter().any(|(name, _)| name == "panel-1.png"));
    // An interruption left some runs complete, one file half written, and tables of
    // an unfinished run.
    let out = folder.path().join("again");
    for round in 0..20 {
        let runs = out.join("runs");
        fs::create_dir_all(&runs).expect("writable");
        let mut kept: Vec<_> = fs::read_dir(folder.path().join("whole/runs"))
            .expect("there")
            .map(|entry| entry.expect("readable").path())
            .collect();
        kept.sort();
        for (place, path) in kept.iter().enumerate() {
            let name = path.file_name().expect("a file");
            match (place * 7 + round * 5) % 4 {
                0 => drop(fs::copy(path, runs.join(name)).expect("copied")),
                1 => fs::write(runs.join(format!(".{}.partial", name.to_string_lossy())), "{")
                    .expect("writable"),
                2 => {
                    let stem = path.file_stem().expect("a file").to_string_lossy();
                    let tables = runs.join(format!(".{stem}.tables.partial"));
                    fs::create_dir_all(&tables).expect("writable");
                    fs::write(tables.join("flows.parquet"), "half").expect("writable");
                    fs::write(tables.join(".made-by-bufferlab"), "").expect("writable");
                }
                _ => {}
            }
        }
        let results = reproduce(folder.path(), &out);
        assert_eq!(
            results.failures().map(ToString::to_string).collect::<Vec<_>>(),
            Vec::<String>::new(),
            "round {round}"
        );
        assert_eq!(outputs(&out, &results), wanted, "round {round}");
        fs::remove_dir_all(&out).expect("removable");
    }
}

#[test]
fn the_reading_of_an_artifact_is_set_behind_the_variants_and_never_on_an_axis() {
    let folder = tempfile::tempdir().expect("a folder");
    let paper = folder.path().join("registry/test");
    fs::create_dir_all(&paper).expect("writable");
    fs::write(folder.path().join("star.toml"), STAR).expect("writable");
    let write = |set: &str| {
        let text = EXPERIMENT.replace("star.toml", "../../star.toml");
        let text = text.replacen("[[panel]]", &format!("[artifact.set]\n{set}\n\n[[panel]]"), 1);
        fs::write(paper.join("star.toml"), text).expect("writable");
        Registry::load(&folder.path().join("registry"))
    };
    let registry = write("\"switch.policy.alpha\" = 2.0").unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&registry.experiments[0], ScaleName::Quick, Some(1)).expect("a scale");
    let stingy = plan.points.iter().find(|point| point.variant == 1).expect("two variants").clone();
    let resolved = |plan: &Plan| plan.load(&stingy).unwrap_or_else(|why| panic!("{why}")).resolved;
    assert!(resolved(&plan).contains("alpha = 0.05"), "{}", resolved(&plan));
    assert_eq!((plan.profile_name(), plan.folder().as_str()), ("paper", "test/star"));
    let artifact = plan.under(Profile::Artifact);
    assert!(resolved(&artifact).contains("alpha = 2.0"), "{}", resolved(&artifact));
    assert_eq!((artifact.profile_name(), artifact.folder().as_str()), ("artifact", "test/star-artifact"));
    let error =
        write("\"workload.incast\" = { request = \"9 KB\" }").expect_err("the axis varies it").to_string();
    assert!(error.contains("axis \"request\" varies it"), "{error}");
}

/// The key `policies` is short for `[[variant]]` tables: the runs are equal to the last byte.
#[test]
fn policies_with_parameters_are_variants_that_start_afresh() {
    let folder = tempfile::tempdir().expect("a folder");
    let star = STAR.replace("policy = \"dt\"", "policy = { name = \"dt\", alpha = 8 }");
    fs::write(folder.path().join("star.toml"), star).expect("writable");
    let resolved = |compared: &str| -> Vec<(String, String)> {
        let text = format!(
            "title = \"t\"\nfigure = \"f\"\nscenario = \"star.toml\"\nquick = {{ seeds = 1 }}\n{compared}\n"
        );
        let experiment = Experiment::from_text(&folder.path().join("x.toml"), "test/x", &text);
        let experiment = experiment.unwrap_or_else(|error| panic!("{}", error.in_lines()));
        let plan = Plan::new(&experiment, ScaleName::Quick, None).expect("a scale");
        let names =
            experiment.runs().expect("it has runs").variants.iter().map(|variant| variant.name.clone());
        let load = |point| plan.load(point).unwrap_or_else(|error| panic!("{error}")).resolved;
        names.zip(plan.points.iter().map(load)).collect()
    };
    let short = resolved(
        "policies = [\"dt\", \"dt(alpha=0.5)\", \"deep: abm(alpha=0.25) + buffer=2 MB + transport.0.min_rto=5 ms\"]",
    );
    let long = resolved(
        r#"
[[variant]]
name = "dt"
set = { "switch.policy" = "dt" }
[[variant]]
name = "dt(alpha=0.5)"
set = { "switch.policy" = "dt(alpha=0.5)" }
[[variant]]
name = "deep"
set = { "switch.policy" = { name = "abm", alpha = 0.25 }, "switch.buffer" = "2 MB", "transport.0.min_rto" = "5 ms" }
"#,
    );
    assert_eq!(short, long);
    assert!(!short[0].1.contains("alpha = 8"), "{}", short[0].1);
}
