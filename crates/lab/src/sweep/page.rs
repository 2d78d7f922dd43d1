//! Writes the page of a sweep: an explorer of all numbers, and fixed charts for readers
//! without JavaScript.

use super::output::{Notes, headline_metrics};
use super::{Point, Vary, spoken};
use bufferlab_report::{
    Comparison, CurveAxis, CurveLine, CurvePanel, CurvePoint, CurveScale, CurvesPage, Explorer, ExplorerAxis,
    ExplorerCell, ExplorerMetric, HeatMap, Metric, grid_finding, positions,
};

/// Explains to readers how the statistical test behind the findings works.
const JUDGEMENT: &str = "A difference is stated only if Student's paired test over the seeds of a point finds it significant, after \
    Holm's correction for all comparisons at all points. Sentences about the baseline describe these runs and claim no more.";

/// Pairs the points of a sweep with readable names.
pub(super) fn named<'a>(
    vary: &[Vary],
    compared: &'a [(&Point, Comparison)],
) -> Vec<(String, &'a Comparison)> {
    let name = |point: &Point| fixed(&point.overrides, vary).collect::<Vec<_>>().join(", ");
    compared.iter().map(|(point, comparison)| (name(point), comparison)).collect()
}

/// Formats the page of a sweep as one HTML file.
pub(super) fn page(
    (name, file): (&str, &str),
    vary: &[Vary],
    compared: &[(&Point, Comparison)],
    notes: &Notes,
) -> String {
    let names = spoken(vary);
    let axes = axes(vary);
    let panels = panels(&axes, vary, compared, &headline_metrics(compared));
    let facts = [("Scenario".to_owned(), file.to_owned())].into_iter().chain(varied(vary));
    CurvesPage {
        title: format!("{name}: sweep of {}", names.join(", ")),
        finding: grid_finding(&named(vary, compared)),
        judgement: Some(JUDGEMENT),
        facts: facts.chain(notes.facts.iter().cloned()).collect(),
        caveats: notes.caveats.clone(),
        panels: panels.into_iter().map(|(_, panel)| panel).collect(),
        heat_maps: heat_maps(&axes, vary, compared),
        explorer: Some(explorer(axes, vary, compared)),
        explorer_first: true,
        ..CurvesPage::default()
    }
    .html()
}

/// The varied keys in the syntax of scenarios, with their values.
fn varied(vary: &[Vary]) -> impl Iterator<Item = (String, String)> {
    vary.iter().map(|vary| {
        let values: Vec<_> = vary.values.iter().map(|value| value.trim_matches('"')).collect();
        ("Varied".to_owned(), format!("{} = {}", vary.key, values.join(", ")))
    })
}

/// Returns the varied keys of a sweep as axes of charts.
pub(super) fn axes(vary: &[Vary]) -> Vec<ExplorerAxis> {
    vary.iter().zip(&spoken(vary)).map(axis).collect()
}

fn axis((vary, name): (&Vary, &String)) -> ExplorerAxis {
    let placed = positions(&vary.values);
    let unit = placed.as_ref().map_or("", |(_, unit)| unit.as_str());
    ExplorerAxis {
        key: vary.key.clone(),
        title: if unit.is_empty() { name.clone() } else { format!("{name} [{unit}]") },
        values: vary.values.iter().map(|value| value.trim_matches('"').to_owned()).collect(),
        positions: placed.map(|(places, _)| places),
    }
}

/// Creates the explorer of every metric at every point.
/// Metrics and policies that the first point lacks are listed last.
fn explorer(axes: Vec<ExplorerAxis>, vary: &[Vary], compared: &[(&Point, Comparison)]) -> Explorer {
    let mut metrics: Vec<&Metric> = Vec::new();
    let mut schemes: Vec<String> = Vec::new();
    for (_, comparison) in compared {
        for row in &comparison.metrics {
            if !metrics.iter().any(|known| known.id == row.metric.id) {
                metrics.push(&row.metric);
            }
        }
        for policy in
            comparison.policies.iter().filter(|policy| !schemes.contains(policy)).collect::<Vec<_>>()
        {
            schemes.push(policy.clone());
        }
    }
    let places = vary.iter().map(|vary| vary.values.len()).product();
    let mut cells = vec![vec![vec![None; places]; schemes.len()]; metrics.len()];
    for (point, comparison) in compared {
        let place = point.overrides.iter().zip(vary).fold(0, |place, ((_, value), vary)| {
            let at = vary.values.iter().position(|known| known == value);
            place * vary.values.len() + at.expect("a point's values are those that are varied")
        });
        for (metric, cells) in metrics.iter().zip(&mut cells) {
            let Some(row) = comparison.metric(&metric.id) else { continue };
            for (scheme, cells) in schemes.iter().zip(cells) {
                let cell = row.cells.iter().find(|cell| cell.policy == *scheme);
                cells[place] = cell.and_then(|cell| {
                    cell.estimate.map(|estimate| ExplorerCell { estimate, change: cell.change })
                });
            }
        }
    }
    let metric = |metric: &&Metric| ExplorerMetric {
        id: metric.id.clone(),
        group: metric.group.clone(),
        title: metric.title(),
        headline: metric.headline,
        log: false,
    };
    let differs = |cells: &Vec<Vec<Option<ExplorerCell>>>| {
        let mut means = cells.iter().flatten().flatten().map(|cell| cell.estimate.mean);
        means.next().is_some_and(|first| means.any(|mean| mean != first))
    };
    let at = |metric: &Metric| metrics.iter().position(|known| known.id == metric.id);
    let mut ranked = headline_metrics(compared).into_iter().filter_map(at);
    let first = ranked.find(|&at| differs(&cells[at]));
    let metrics = metrics.iter().map(metric).collect();
    Explorer { axes, schemes, metrics, first, cells, marks: Vec::new() }
}

/// Returns the combinations of values of the varied keys, without the first `first` keys, in the
/// order of the command line.
fn combinations<'a>(compared: &'a [(&Point, Comparison)], first: usize) -> Vec<&'a [(String, String)]> {
    let mut all = Vec::new();
    for (point, _) in compared {
        let one = &point.overrides[first..];
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// Charts over the first key, one chart per headline metric and combination of the other keys.
/// Values that are not numbers have equal distances.
pub(super) fn panels(
    axes: &[ExplorerAxis],
    vary: &[Vary],
    compared: &[(&Point, Comparison)],
    metrics: &[&Metric],
) -> Vec<(String, CurvePanel)> {
    let mut panels = Vec::new();
    let Some(over) = axes.first() else { return panels };
    let others = combinations(compared, 1);
    for metric in metrics {
        for other in &others {
            let at_point = |(point, _): &&(&Point, Comparison)| &point.overrides[1..] == *other;
            let lines = lines(metric, over, vary, compared.iter().filter(at_point));
            let flat = lines.iter().all(|line| line.points.iter().all(|point| point.y == 0.0));
            if flat || lines.iter().all(|line| line.points.len() < 2) {
                continue;
            }
            let fixed: Vec<_> = fixed(other, vary).collect();
            let linear =
                |title: &str, names| CurveAxis { title: title.to_owned(), scale: CurveScale::Linear, names };
            let names = match over.positions {
                Some(_) => Vec::new(),
                None => (0..).map(f64::from).zip(over.values.iter().cloned()).collect(),
            };
            let panel = CurvePanel {
                title: format!("{}: {}", metric.group, metric.label),
                note: fixed.join(", "),
                x: linear(&over.title, names),
                y: linear(&metric.title(), Vec::new()),
                lines,
                marks: Vec::new(),
                markers: true,
            };
            panels.push((metric.id.clone(), panel));
        }
    }
    panels
}

/// A line per scheme with the means of a metric over the first key.
fn lines<'a>(
    metric: &Metric,
    over: &ExplorerAxis,
    vary: &[Vary],
    points: impl Iterator<Item = &'a (&'a Point, Comparison)>,
) -> Vec<CurveLine> {
    let mut lines: Vec<CurveLine> = Vec::new();
    for (point, comparison) in points {
        let at = vary[0].values.iter().position(|value| *value == point.overrides[0].1);
        let (Some(at), Some(row)) = (at, comparison.metric(&metric.id)) else { continue };
        let x = over.positions.as_ref().map_or(at as f64, |places| places[at]);
        for cell in &row.cells {
            let Some(mean) = cell.estimate else { continue };
            let point = CurvePoint { x, y: mean.mean, half_width: mean.half_width };
            match lines.iter_mut().find(|line| line.name == cell.policy) {
                Some(line) => line.points.push(point),
                None => lines.push(CurveLine { name: cell.policy.clone(), points: vec![point] }),
            }
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    lines
}

/// Labels and values of the keys that are constant in a chart.
fn fixed(point: &[(String, String)], vary: &[Vary]) -> impl Iterator<Item = String> {
    let names = spoken(vary);
    let name = move |key: &String| {
        vary.iter()
            .zip(&names)
            .find(|(vary, _)| vary.key == *key)
            .map_or(key.clone(), |(_, name)| name.clone())
    };
    point.iter().map(move |(key, value)| format!("{} = {}", name(key), value.trim_matches('"')))
}

/// Heat maps over the first two keys, one map per headline metric, scheme and combination of the
/// other keys. The maps of a metric share one colour scale. A sweep over a single key has no heat
/// maps.
fn heat_maps(axes: &[ExplorerAxis], vary: &[Vary], compared: &[(&Point, Comparison)]) -> Vec<HeatMap> {
    let [x, y, ..] = axes else { return Vec::new() };
    let mut maps = Vec::new();
    let others = combinations(compared, 2);
    for metric in headline_metrics(compared) {
        let cells =
            || compared.iter().filter_map(|(_, found)| found.metric(&metric.id)).flat_map(|row| &row.cells);
        let means = cells().filter_map(|cell| Some(cell.estimate?.mean));
        let range = means
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean), high.max(mean)));
        // A heat map of equal values would show only one colour.
        if range.0 >= range.1 {
            continue;
        }
        let mut schemes: Vec<&str> = Vec::new();
        for cell in cells() {
            if !schemes.contains(&cell.policy.as_str()) {
                schemes.push(&cell.policy);
            }
        }
        for (other, scheme) in
            others.iter().flat_map(|other| schemes.iter().map(move |scheme| (other, scheme)))
        {
            let fixed = fixed(other, vary).map(|one| format!(", {one}"));
            maps.push(HeatMap {
                title: format!("{scheme}: {}: {}{}", metric.group, metric.label, fixed.collect::<String>()),
                x_title: x.title.clone(),
                columns: x.values.clone(),
                y_title: y.title.clone(),
                rows: y.values.clone(),
                value_title: metric.title(),
                values: grid((other, *scheme, &metric.id), vary, compared),
                range,
            });
        }
    }
    maps
}

/// Returns the values of a metric for one scheme. Rows follow the second key, and columns follow
/// the first key. The other keys have the values in `others`.
fn grid(
    (others, scheme, metric): (&[(String, String)], &str, &str),
    vary: &[Vary],
    compared: &[(&Point, Comparison)],
) -> Vec<Vec<Option<f64>>> {
    let mut values = vec![vec![None; vary[0].values.len()]; vary[1].values.len()];
    for (point, comparison) in compared.iter().filter(|(point, _)| point.overrides[2..] == *others) {
        let at = |key: usize| vary[key].values.iter().position(|value| *value == point.overrides[key].1);
        let row = comparison.metric(metric);
        let mean = row.and_then(|row| row.cells.iter().find(|cell| cell.policy == scheme)?.estimate);
        if let (Some(column), Some(row)) = (at(0), at(1)) {
            values[row][column] = mean.map(|estimate| estimate.mean);
        }
    }
    values
}
