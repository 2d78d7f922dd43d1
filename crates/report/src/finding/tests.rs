use super::{SentenceKind, facts_of_one, finding, grid_finding};
use crate::compare::{Cell, Comparison, MetricComparison};
use crate::metric::Metric;
use crate::ranking::{Ranking, Standing};
use crate::statistics::Estimate;
use bufferlab_units::RandomStream;

/// Builds the row of a metric from the values of every scheme, by seed.
fn row(id: &str, values: &[&[f64]]) -> MetricComparison {
    let mut metric = Metric::find(id).unwrap_or_else(|| panic!("the table has no {id}"));
    metric.headline = true;
    let cells = values.iter().enumerate().map(|(at, values)| Cell {
        policy: format!("p{at}"),
        values: values.iter().copied().map(Some).collect(),
        estimate: Estimate::from_values(values),
        change: None,
    });
    MetricComparison { cells: cells.collect(), metric }
}

fn queries(values: &[&[f64]]) -> MetricComparison {
    row("class.web.qct_mean_ms", values)
}

fn losses(values: &[&[f64]]) -> MetricComparison {
    row("switches.lost_percent", values)
}

fn comparison(metrics: Vec<MetricComparison>) -> Comparison {
    let policies = metrics[0].cells.iter().map(|cell| cell.policy.clone()).collect();
    let seeds = (1..=metrics[0].cells[0].values.len() as u64).collect();
    Comparison { policies, seeds, metrics, nearest_pause: None }
}

fn texts(comparison: &Comparison, kind: SentenceKind) -> Vec<String> {
    finding(comparison).into_iter().filter(|one| one.kind == kind).map(|one| one.text).collect()
}

const ZEROS: &[f64] = &[0.0; 3];

#[test]
fn a_difference_is_told_with_its_paired_interval() {
    // The scheme's mean is half of the baseline's. The logarithm of the means' ratio has a standard
    // deviation of 0.05 and a standard error of 0.0289, so t = 24. The p-value is 0.0017, and the
    // correction for two tests doubles the p-value. The interval of the ratio extends by a factor
    // of exp(4.3027 * 0.0289) = 1.132 to either side.
    let found =
        comparison(vec![queries(&[&[19.0, 21.0, 20.0], &[10.0, 10.0, 10.0]]), losses(&[ZEROS, ZEROS])]);
    let told = texts(&found, SentenceKind::Difference);
    assert_eq!(told, ["p1 answers web queries 2.0 times as fast as p0 (1.8 to 2.3)."]);
    let open = texts(&found, SentenceKind::Open);
    assert_eq!(
        open,
        [
            "Nothing else differs beyond noise. 2 comparisons were looked at, and corrected for (Holm): mean QCT of web \
          queries and packets lost."
        ]
    );
    let facts = texts(&found, SentenceKind::Fact);
    assert_eq!(facts, ["No scheme lost a packet.", "No priority is lossless, so nothing was paused."]);
}

#[test]
fn what_only_holds_without_the_correction_is_open() {
    // The p-value of t = 6 with two degrees of freedom is 0.0267. The correction for two tests
    // doubles the p-value to 0.053.
    let s = 10.0 * 3.0_f64.sqrt() / 6.0;
    let values = [100.0 - 10.0 - s, 100.0 - 10.0, 100.0 - 10.0 + s];
    let found = comparison(vec![queries(&[&[100.0; 3], &values]), losses(&[ZEROS, ZEROS])]);
    assert!(texts(&found, SentenceKind::Difference).is_empty());
    let open = texts(&found, SentenceKind::Open);
    assert!(open[0].starts_with("Open: mean QCT of web queries: p1 −10.0 %. Alone this one is"), "{open:?}");
    // If the page tests only the query metric, the test needs no correction, and the difference is
    // a finding.
    let alone = comparison(vec![queries(&[&[100.0; 3], &values])]);
    assert_eq!(texts(&alone, SentenceKind::Difference).len(), 1);
}

#[test]
fn one_seed_tells_nothing_but_what_happened() {
    let found = comparison(vec![queries(&[&[20.0], &[10.0]]), losses(&[&[1.5], &[0.0]])]);
    let sentences = finding(&found);
    assert!(sentences[0].text.starts_with("One seed: whether the schemes differ cannot be told"));
    assert!(sentences.iter().all(|sentence| sentence.kind != SentenceKind::Difference));
    assert_eq!(sentences[1].text, "Packets lost, of arrivals: p0 1.50 %, p1 none.");
}

#[test]
fn losses_that_only_others_have_are_absolute_and_those_that_are_gone_have_no_interval() {
    let (some, none) = (&[0.3, 0.31, 0.29], ZEROS);
    let told = texts(&comparison(vec![losses(&[none, some])]), SentenceKind::Difference);
    assert_eq!(told, ["p1 raises packets lost from 0 (p0) to 0.300 ± 0.025 %."]);
    let gone = comparison(vec![losses(&[some, none])]);
    assert_eq!(texts(&gone, SentenceKind::Difference), ["p1 loses no packets (p0: 0.300 %)."]);
    let fact = &texts(&gone, SentenceKind::Fact)[0];
    assert_eq!(
        fact,
        "Packets lost, of arrivals: p0 0.300 %, p1 none; in no seed more under p1 than under p0."
    );
}

#[test]
fn a_scheme_without_two_common_seeds_is_not_looked_at() {
    let values: &[f64] = &[19.0, 21.0, 20.0];
    let mut found = comparison(vec![queries(&[values, &[10.0; 3], &[10.0; 3]])]);
    found.metrics[0].cells[2].values = vec![None, None, Some(10.0)];
    let told = texts(&found, SentenceKind::Difference);
    assert_eq!(told, ["p1 answers web queries 2.0 times as fast as p0 (1.8 to 2.3)."]);
    let open = texts(&found, SentenceKind::Open);
    assert!(
        open[0].contains("One comparison was looked at: mean QCT of web queries, where two seeds"),
        "{open:?}"
    );
    found.metrics[0].cells[1].values = vec![Some(10.0), None, None];
    let open = texts(&found, SentenceKind::Open);
    assert!(open[0].starts_with("Fewer than two seeds in common: whether"), "{open:?}");
}

#[test]
fn more_than_three_schemes_are_grouped() {
    // The noise of the other schemes is the negative of the baseline's noise. The logarithm of the
    // means' ratio has a standard error of 0.00854. The interval extends 3.1824 standard errors to
    // either side.
    let noise = [0.0, 0.1, -0.1, 0.05];
    let of = |mean: f64, sign: f64| noise.map(|noise| mean + sign * noise * mean / 10.0);
    let values = [of(20.0, 1.0), of(10.0, -1.0), of(16.0, -1.0), of(30.0, -1.0), [20.0, 20.2, 19.8, 20.1]];
    let values: Vec<&[f64]> = values.iter().map(<[f64; 4]>::as_slice).collect();
    let told = texts(&comparison(vec![queries(&values)]), SentenceKind::Difference);
    assert_eq!(
        told,
        [
            "p1 and p2 answer web queries 20–50 % sooner than p0.",
            "p3 answers web queries 50 % later than p0 (46 to 54 %)."
        ]
    );
}

#[test]
fn what_has_more_than_doubled_is_told_in_times() {
    // The ratio of the means is 5.49. The interval extends from this ratio by a factor of
    // exp(3.1824 * 0.00854) = 1.028 to either side.
    let noise = [0.0, 0.1, -0.1, 0.05];
    let of = |mean: f64, sign: f64| noise.map(|noise| mean + sign * noise * mean / 10.0);
    let values = [of(20.0, 1.0), of(110.0, -1.0)];
    let values: Vec<&[f64]> = values.iter().map(<[f64; 4]>::as_slice).collect();
    let told = texts(&comparison(vec![queries(&values)]), SentenceKind::Difference);
    assert_eq!(told, ["p1 takes 5.5 times as long as p0 to answer web queries (5.3 to 5.6)."]);
    let told = texts(&comparison(vec![losses(&values)]), SentenceKind::Difference);
    assert_eq!(told, ["p1 loses 5.5 times as many packets as p0 (5.3 to 5.6)."]);
}

#[test]
fn a_tail_that_changes_as_the_mean_does_shares_its_sentence() {
    let mean = queries(&[&[19.0, 21.0, 20.0], &[10.0, 10.0, 10.0]]);
    let tail = |values: &[f64]| row("class.web.qct_p99_ms", &[&[38.0, 42.0, 40.0], values]);
    let told = |tail| texts(&comparison(vec![mean.clone(), tail]), SentenceKind::Difference);
    assert_eq!(
        told(tail(&[10.0; 3])),
        [
            "p1 answers web queries 2.0 times as fast as p0 (1.8 to 2.3); at the 99th percentile 4.0 times (3.5 to 4.5)."
        ]
    );
    // A 99th percentile that changes in the other direction gets a separate sentence.
    assert_eq!(
        told(tail(&[80.0; 3])),
        [
            "p1 answers web queries 2.0 times as fast as p0 (1.8 to 2.3).",
            "At the 99th percentile, p1 takes 2.0 times as long as p0 to answer web queries (1.8 to 2.3)."
        ]
    );
}

#[test]
fn a_tail_has_its_own_sentence_where_the_means_share_one() {
    let values: [&[f64]; 4] = [&[19.0, 21.0, 20.0], &[10.0; 3], &[11.0; 3], &[20.0; 3]];
    let tails: [&[f64]; 4] = [&[38.0, 42.0, 40.0], &[10.0; 3], &[40.0; 3], &[40.0; 3]];
    let found = comparison(vec![queries(&values), row("class.web.qct_p99_ms", &tails)]);
    let told = texts(&found, SentenceKind::Difference);
    assert_eq!(
        told,
        [
            "p1 and p2 answer web queries 1.8–2.0 times as fast as p0.",
            "At the 99th percentile, p1 answers web queries 4.0 times as fast as p0 (3.5 to 4.5)."
        ]
    );
}

#[test]
fn differences_between_negligible_levels_come_last() {
    let lost = losses(&[&[0.006, 0.007, 0.008], &[0.001, 0.001, 0.001]]);
    let jain = row("ports.jain", &[&[0.5, 0.51, 0.52], &[0.3, 0.32, 0.31]]);
    let told = texts(&comparison(vec![lost, jain]), SentenceKind::Difference);
    assert!(told[0].starts_with("p1 lowers Jain's index"), "{told:?}");
    assert_eq!(told[1], "p1 loses 86 % fewer packets than p0 (80 to 90 %). Both are below 0.1 %.");
}

#[test]
fn pauses_and_lossless_losses_are_always_told() {
    let lost = row("pauses.lost_lossless_packets", &[ZEROS, &[0.0, 7.0, 0.0]]);
    let paused = row("pauses.paused_ms", &[&[1.0, 2.0, 3.0], ZEROS]);
    let facts = texts(&comparison(vec![losses(&[ZEROS, ZEROS]), lost, paused]), SentenceKind::Fact);
    assert_eq!(
        facts,
        [
            "No scheme lost a packet.",
            "Lossless packets lost: p0 none, p1 2.3.",
            "Time paused, summed over links: p0 2.00 ms, p1 none."
        ]
    );
}

/// A page has twenty-four tests of pure noise. Without a correction for the number of tests, seven
/// of ten pages would report differences.
#[test]
fn pages_of_noise_claim_something_one_time_in_twenty() {
    const PAGES: usize = 400;
    let mut random = RandomStream::new(1, "noise", 0);
    let mut normal = || (0..12).map(|_| random.next_f64()).sum::<f64>() - 6.0;
    let (mut claims, mut hints) = (0, 0);
    for _ in 0..PAGES {
        let rows = (0..6).map(|class| {
            let values: Vec<Vec<f64>> = (0..5).map(|_| (0..5).map(|_| 100.0 + normal()).collect()).collect();
            let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
            row(&format!("class.c{class}.qct_mean_ms"), &values)
        });
        let found = finding(&comparison(rows.collect()));
        claims += usize::from(found.iter().any(|sentence| sentence.kind == SentenceKind::Difference));
        hints += usize::from(found.iter().any(|sentence| sentence.text.starts_with("Open:")));
    }
    // At most 20 of the 400 pages should report a difference. A count of 35 pages is more than
    // three standard deviations above 20.
    assert!(claims <= 35, "{claims} of {PAGES} pages claim what is not there");
    assert!(claims + hints > PAGES / 3, "the uncorrected test would have claimed it: {hints}");
}

#[test]
fn lossless_packets_that_are_lost_come_first() {
    let lost = row("pauses.lost_lossless_packets", &[ZEROS, &[70.0, 80.0, 75.0]]);
    let found = comparison(vec![queries(&[&[19.0, 21.0, 20.0], &[10.0, 10.0, 10.0]]), lost]);
    let told = texts(&found, SentenceKind::Difference);
    assert_eq!(told[0], "p1 raises lossless packets lost from 0 (p0) to 75.0 ± 12.4.");
    assert_eq!((told.len(), Ranking::of(&found).unwrap().order), (2, vec![0, 1]));
}

#[test]
fn the_best_and_what_cannot_be_told_from_it_are_marked() {
    let values: [&[f64]; 4] = [&[5.0, 6.0, 7.0], &[3.0, 4.0, 5.0], &[2.9, 4.3, 5.1], &[3.0, 4.0, 5.0]];
    let found = comparison(vec![losses(&[ZEROS; 4]), queries(&values)]);
    let ranking = Ranking::of(&found).unwrap();
    assert_eq!(ranking.columns.len(), 1, "what is the same for all ranks nobody");
    assert_eq!(ranking.order, [1, 3, 2, 0]);
    let standings: Vec<_> = (0..4).map(|policy| ranking.standing(0, policy).unwrap()).collect();
    assert_eq!(standings, [Standing::Behind, Standing::Best, Standing::AsGood, Standing::Best]);
}

#[test]
fn losses_have_a_column_even_where_others_fill_the_table() {
    let mut rows: Vec<MetricComparison> = (0..7)
        .map(|class| {
            let id = format!("class.c{class}.qct_mean_ms");
            row(&id, &[&[1.0, 2.0], &[2.0, 3.0]])
        })
        .collect();
    rows.push(losses(&[&[1.0, 2.0], &[2.0, 3.0]]));
    let found = comparison(rows);
    let columns: Vec<_> =
        Ranking::of(&found).unwrap().columns.iter().map(|row| row.metric.id.clone()).collect();
    assert_eq!((columns.len(), columns[0].as_str()), (5, "class.c0.qct_mean_ms"));
    assert_eq!(columns[4], "switches.lost_percent");
}

#[test]
fn where_more_is_better_the_largest_is_first() {
    let jain = row("ports.jain", &[&[0.5, 0.51, 0.52], &[0.9, 0.92, 0.91]]);
    let found = comparison(vec![jain]);
    assert_eq!(Ranking::of(&found).unwrap().order, [1, 0]);
    let told = texts(&found, SentenceKind::Difference);
    assert_eq!(told, ["p1 raises Jain's index of throughput by 78 % against p0 (71 to 86 %)."]);
}

#[test]
fn one_scheme_is_told_of_by_what_it_did() {
    let used = row("switches.buffer_p99_percent", &[&[32.8]]);
    let tail = row("class.web.qct_p99_ms", &[&[12.0]]);
    let paused = row("pauses.paused_ms", &[&[0.0]]);
    let one = comparison(vec![queries(&[&[10.3]]), tail, losses(&[&[12.1]]), used, paused]);
    let told: Vec<String> = facts_of_one(&one).into_iter().map(|sentence| sentence.text).collect();
    assert_eq!(
        told,
        [
            "Mean QCT of web queries is 10.3 ms; its p99 is 12.0 ms.",
            "12.1 % of the packets that arrive at switches are lost; for 99 % of the time, at most 32.8 % of any buffer is in use.",
            "Nothing was paused.",
        ]
    );
    let three = comparison(vec![queries(&[&[10.0, 11.0, 12.0]]), losses(&[ZEROS])]);
    let told: Vec<String> = facts_of_one(&three).into_iter().map(|sentence| sentence.text).collect();
    // With a standard deviation s = 1, the half-width of the interval is 4.3027 / sqrt(3).
    assert_eq!(told, ["Mean QCT of web queries is 11.0 ms ± 2.48.", "No packet is lost."]);
    // A comparison of two schemes has no facts of a single scheme.
    assert!(facts_of_one(&comparison(vec![queries(&[&[1.0], &[2.0]])])).is_empty());
}

/// Builds a grid of five points. At four points, the scheme's mean is about 10 below a baseline of
/// about 20. At the fifth point, the schemes are equal.
fn grid(seeds: usize) -> Vec<(String, Comparison)> {
    let around = |mean: f64| (0..seeds).map(|seed| mean + 0.01 * seed as f64).collect::<Vec<f64>>();
    let noise = |mean: f64| (0..seeds).map(|seed| mean + 0.01 * (seed % 2) as f64).collect::<Vec<f64>>();
    let point = |number: usize, other: &[f64]| {
        (format!("buffer = {number} KB"), comparison(vec![queries(&[&around(20.0 + number as f64), other])]))
    };
    let mut points: Vec<_> = (1..5).map(|number| point(number, &noise(10.0))).collect();
    points.push(point(5, &around(25.0)));
    points
}

fn of_grid(points: &[(String, Comparison)], kind: SentenceKind) -> Vec<String> {
    let points: Vec<_> = points.iter().map(|(name, one)| (name.clone(), one)).collect();
    grid_finding(&points).into_iter().filter(|one| one.kind == kind).map(|one| one.text).collect()
}

#[test]
fn a_grid_says_nothing_of_a_baseline_whose_values_print_alike() {
    let point = |name: &str, mean: f64| {
        let values = [mean; 5];
        (name.to_owned(), comparison(vec![queries(&[&values, &values])]))
    };
    let points = [point("buffer = 1 KB", 20.0), point("buffer = 2 KB", 20.000_1)];
    assert_eq!(of_grid(&points, SentenceKind::Fact), [""; 0]);
}

#[test]
fn a_grid_says_at_which_points_schemes_differ_and_how_the_baseline_does() {
    let points = grid(5);
    assert_eq!(
        of_grid(&points, SentenceKind::Difference),
        ["p1 answers web queries 2.1–2.4 times as fast as p0 at 4 of 5 points."]
    );
    let open = of_grid(&points, SentenceKind::Open);
    assert_eq!(
        open,
        [
            "Nothing else differs beyond noise. 5 comparisons at 5 points were looked at, and corrected for together (Holm)."
        ]
    );
    assert_eq!(
        of_grid(&points, SentenceKind::Fact),
        [
            "Under p0, mean QCT of web queries is lowest at 21.0 ms (buffer = 1 KB) and highest at 25.0 ms (buffer = 5 KB)."
        ]
    );
    assert_eq!(
        of_grid(&points[3..], SentenceKind::Difference),
        ["p1 answers web queries 2.4 times as fast as p0 at 1 of 2 points (buffer = 4 KB)."]
    );
    // With one seed, the runs are no evidence about other seeds.
    let once = grid(1);
    assert!(of_grid(&once, SentenceKind::Difference).is_empty());
    assert!(of_grid(&once, SentenceKind::Open)[0].starts_with("One seed"));
    assert!(of_grid(&[], SentenceKind::Open).is_empty());
}

#[test]
fn a_grid_corrects_for_the_looks_at_all_of_its_points() {
    // The p-value of t = 6 with two degrees of freedom is 0.0267 for one grid point, and 0.053
    // after the correction for two points.
    let s = 10.0 * 3.0_f64.sqrt() / 6.0;
    let point = |name: &str| {
        let values = [100.0 - 10.0 - s, 100.0 - 10.0, 100.0 - 10.0 + s];
        (name.to_owned(), comparison(vec![queries(&[&[100.0; 3], &values])]))
    };
    assert_eq!(of_grid(&[point("a")], SentenceKind::Difference).len(), 1);
    let two = [point("a"), point("b")];
    assert!(of_grid(&two, SentenceKind::Difference).is_empty());
    let open = of_grid(&two, SentenceKind::Open);
    assert!(open[0].contains("2 more, of p1, would count as a single comparison"), "{open:?}");
}
