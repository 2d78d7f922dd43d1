//! The interactive explorer on a figure's page: every metric of the experiment over every axis.

use crate::Estimates;
use crate::mark::placed;
use bufferlab_report::{Explorer, ExplorerAxis, ExplorerCell, ExplorerMark, ExplorerMetric, positions};
use std::collections::BTreeSet;

/// Builds the interactive explorer of an experiment's runs. An experiment without axes has no
/// explorer; its page has a table of values.
pub(crate) fn explorer(estimates: &Estimates) -> Option<Explorer> {
    let runs = estimates.experiment().runs()?;
    let grid = estimates.grid();
    // At a reduced scale, an experiment may omit some values of an axis.
    let ran = |axis: usize| grid.iter().map(|places| places[axis]).collect::<BTreeSet<_>>();
    let axes: Vec<ExplorerAxis> = runs
        .axes
        .iter()
        .enumerate()
        .map(|(number, axis)| {
            let shown: Vec<_> = ran(number).into_iter().map(|place| &axis.values[place]).collect();
            let values: Vec<_> = shown.iter().map(|value| value.label.clone()).collect();
            let positions = positions(&values).map(|_| shown.iter().map(|value| value.x).collect());
            ExplorerAxis { key: axis.name.clone(), title: axis.title.clone(), values, positions }
        })
        .collect();
    if axes.is_empty() {
        return None;
    }
    // Metrics with a chart are first in the list, under the chart's caption.
    let mut metrics: Vec<(&String, ExplorerMetric)> = Vec::new();
    for panel in &runs.panels {
        if !metrics.iter().any(|(name, _)| **name == panel.metric) {
            let title = panel.title.clone();
            let (id, log) = (panel.metric.clone(), panel.log);
            metrics.push((
                &panel.metric,
                ExplorerMetric { id, group: String::new(), title, headline: true, log },
            ));
        }
    }
    for (name, metric) in &runs.metrics {
        if !metrics.iter().any(|(known, _)| *known == name) {
            let title = format!("{name}: {}", metric.full_label());
            metrics.push((
                name,
                ExplorerMetric { id: name.clone(), group: String::new(), title, headline: false, log: false },
            ));
        }
    }
    let cell = |metric: &str, variant: usize, places: &[usize]| {
        estimates.get(metric, variant, places).map(|estimate| ExplorerCell { estimate, change: None })
    };
    let cells = metrics.iter().map(|(name, _)| {
        let of = |variant| grid.iter().map(|places| cell(name, variant, places)).collect();
        (0..runs.variants.len()).map(of).collect()
    });
    let cells = cells.collect();
    let marks = placed(estimates).into_iter().filter_map(|placed| {
        Some(ExplorerMark {
            metric: metrics.iter().position(|(name, _)| **name == placed.mark.metric)?,
            scheme: runs.variants.iter().position(|variant| variant.name == placed.mark.variant)?,
            place: grid.iter().position(|places| *places == placed.places)?,
            value: placed.value,
            legend: placed.legend(),
            note: placed.note,
        })
    });
    let marks = marks.collect();
    let schemes = runs.variants.iter().map(|variant| variant.name.clone()).collect();
    let metrics = metrics.into_iter().map(|(_, metric)| metric).collect();
    Some(Explorer { axes, schemes, metrics, first: None, cells, marks })
}
