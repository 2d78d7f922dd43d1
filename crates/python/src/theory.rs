//! Runs the calculators, and computes the analytical figures of the papers. The registry defines
//! names, defaults and kinds of the calculators' parameters.

use crate::errors;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue};
use bufferlab_scenario::{QuantityError, parse_parameter, parse_rate, parse_size, parse_time};
use bufferlab_theory::calculators::{CALCULATORS, CalculatorError, CalculatorInfo, Derivation};
use bufferlab_theory::figures::{self, FIGURES, Figure, Scale};
use bufferlab_theory::forms::DomainError;
use bufferlab_theory_check::Relation;
use bufferlab_units::{BitRate, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// A step of a derivation: name, formula, formula with inserted numbers, result, source.
type Line = (String, String, String, String, String);
/// Column headers and rows of the table in a derivation.
type Table = (Vec<String>, Vec<Vec<String>>);
/// A compared quantity: name, stated value, measured value, relation, tolerance for discretisation,
/// and whether the two values agree.
type PlainCheck = (String, f64, f64, &'static str, f64, bool);
/// A derivation: title, lines, table, answers (name, value, text), notes, and the whole text.
type Plain = (String, Vec<Line>, Option<Table>, Vec<(String, f64, String)>, Vec<String>, String);

/// Runs a calculator with values by name. A value is text with a unit,
/// or a number in base units (bytes, bits/s, seconds). `None` omits an optional value.
#[pyfunction]
pub(crate) fn calculate(py: Python<'_>, name: &str, values: &Bound<'_, PyDict>) -> PyResult<Plain> {
    let (info, given) = question(py, name, values)?;
    info.calculate(&given).map(plain).map_err(|error| refused(py, info, &error))
}

/// Compares the answers of a calculator with simulated packets. Returns the compared values, the
/// unchecked answers with reasons, and the whole comparison as text.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    name: &str,
    values: &Bound<'_, PyDict>,
) -> PyResult<(Vec<PlainCheck>, Vec<String>, String)> {
    let (info, given) = question(py, name, values)?;
    let found = py.detach(|| bufferlab_theory_check::verify(info, &given));
    let found = found.map_err(|error| refused(py, info, &error))?;
    let check = |check: &bufferlab_theory_check::Check| {
        let relation = match check.relation {
            Relation::Equal => "equal",
            Relation::AtLeast => "at least",
            Relation::AtMost => "at most",
        };
        (check.quantity.clone(), check.stated, check.measured, relation, check.bound, check.holds())
    };
    Ok((found.checks().map(check).collect(), found.left_out.clone(), found.to_string()))
}

/// Finds a calculator by its name, and converts its input values.
fn question(
    py: Python<'_>,
    name: &str,
    values: &Bound<'_, PyDict>,
) -> PyResult<(&'static CalculatorInfo, Vec<(String, ParamValue)>)> {
    let info = CALCULATORS
        .find(name)
        .ok_or_else(|| errors::argument(py, "name", &format!("there is no calculator \"{name}\""), ""))?;
    let mut given = Vec::new();
    for (name, value) in values {
        let name: String = name.extract()?;
        let param = info.param(&name);
        let param = param.ok_or_else(|| {
            errors::argument(py, &name, &format!("{} has no parameter {name}", info.name), "")
        })?;
        if value.is_none() && param.default.is_absent() {
            continue;
        }
        given.push((name, parameter(py, param, param.kind, &value)?));
    }
    Ok((info, given))
}

fn plain(derivation: Derivation) -> Plain {
    let text = derivation.to_string();
    let lines = derivation.lines.into_iter();
    (
        derivation.title,
        lines.map(|line| (line.name, line.formula, line.substituted, line.result, line.source)).collect(),
        derivation.table.map(|table| (table.columns, table.rows)),
        derivation.answers.into_iter().map(|answer| (answer.name, answer.value, answer.text)).collect(),
        derivation.notes,
        text,
    )
}

fn refused(py: Python<'_>, info: &CalculatorInfo, error: &CalculatorError) -> PyErr {
    match error {
        CalculatorError::Domain(error) => errors::domain(py, error),
        CalculatorError::Parameter(error) => errors::argument(py, "", &error.to_string(), ""),
        CalculatorError::Rule(rule) => {
            errors::argument(py, "", &format!("{}() takes {rule}", info.name.replace('-', "_")), "")
        }
    }
}

/// Converts a Python value to an input of a calculator. `kind` is the type of the calculator's
/// parameter `param`, or of the elements of a list parameter.
fn parameter(
    py: Python<'_>,
    param: &ParamInfo,
    kind: ParamKind,
    value: &Bound<'_, PyAny>,
) -> PyResult<ParamValue> {
    let wrong = || errors::not_expected(param.name, value, &kind.expected());
    // In Python, a boolean is also a number. Do not accept a boolean as a number.
    if value.is_instance_of::<PyBool>() && !matches!(kind, ParamKind::Flag) {
        return Err(wrong());
    }
    if let Ok(text) = value.extract::<String>() {
        return match kind {
            ParamKind::Bytes { .. }
            | ParamKind::Rate { .. }
            | ParamKind::Time { .. }
            | ParamKind::Choice(_)
            | ParamKind::Text => parse_parameter(kind, &text)
                .map_err(|error| errors::argument(py, param.name, &format!("{}: {error}", param.name), "")),
            _ => Err(wrong()),
        };
    }
    // Rounds a value to whole bytes, bits per second or picoseconds.
    let whole = |per_unit: f64, make: fn(u64) -> ParamValue| {
        let number = value.extract::<f64>().map_err(|_| wrong())?;
        let units = (number * per_unit).round();
        if (0.0..u64::MAX as f64).contains(&units) {
            return Ok(make(units as u64));
        }
        let valid = match kind.check(&make(0)) {
            Err(misfit) if number < 0.0 => misfit.expected,
            _ => format!("0 to {:.3e}", u64::MAX as f64 / per_unit),
        };
        Err(errors::domain(py, &DomainError::new(param.name, number, valid)))
    };
    match kind {
        ParamKind::Bytes { .. } => whole(1.0, ParamValue::Bytes),
        ParamKind::Rate { .. } => whole(1.0, |rate| ParamValue::Rate(BitRate(rate))),
        ParamKind::Time { .. } => whole(1e12, |time| ParamValue::Time(Time(time))),
        ParamKind::Count { .. } => match value.extract::<i64>() {
            Ok(number) => match u64::try_from(number) {
                Ok(number) => Ok(ParamValue::Count(number)),
                Err(_) => {
                    Err(errors::domain(py, &DomainError::new(param.name, number as f64, kind.expected())))
                }
            },
            Err(_) => Err(wrong()),
        },
        ParamKind::Ratio { .. } | ParamKind::RatioAbove { .. } | ParamKind::Measure { .. } => {
            value.extract().map(ParamValue::Ratio).map_err(|_| wrong())
        }
        ParamKind::Flag => value.extract().map(ParamValue::Flag).map_err(|_| wrong()),
        ParamKind::List(element) => {
            let list = value.extract::<Vec<Bound<'_, PyAny>>>().map_err(|_| wrong())?;
            let list = list.iter().map(|value| parameter(py, param, *element, value));
            Ok(ParamValue::List(list.collect::<PyResult<Vec<_>>>()?.into()))
        }
        ParamKind::Choice(_)
        | ParamKind::Text
        | ParamKind::RatioPerPriority { .. }
        | ParamKind::BytesPerPort { .. }
        | ParamKind::Profiles
        | ParamKind::Tables(_)
        | ParamKind::Texts
        | ParamKind::Pairs { .. }
        | ParamKind::File
        | ParamKind::FlowSizes(_)
        | ParamKind::Nodes { .. } => Err(wrong()),
    }
}

/// Names and summaries of the papers' figures that bufferlab computes from formulas.
#[pyfunction]
pub(crate) fn theory_figures() -> Vec<(&'static str, &'static str)> {
    FIGURES.iter().map(|entry| (entry.name, entry.summary)).collect()
}

/// Title of an axis in a chart, and whether the axis is logarithmic.
type Axis = (String, bool);
/// A line of a figure's chart: name and points.
type Series = (String, Vec<(f64, f64)>);
/// A chart of a figure: name, title, note, two axes, lines.
type Panel = (String, String, String, Axis, Axis, Vec<Series>);

/// Computes the charts of a theory figure.
#[pyfunction]
pub(crate) fn theory_figure(py: Python<'_>, name: &str) -> PyResult<Vec<Panel>> {
    let known = FIGURES.iter().map(|entry| entry.name);
    let entry = figures::find(name).ok_or_else(|| errors::unknown(py, "name", "figure", name, known))?;
    let panels = py.detach(|| entry.panels());
    let panels =
        panels.map_err(|error| errors::with_help(py, "BufferlabError", &error.to_string(), "report it"))?;
    let axis = |axis: figures::Axis| (axis.title, axis.scale == Scale::Log);
    let panel = |panel: Figure| {
        let series = panel.series.into_iter().map(|series| (series.name, series.points)).collect();
        (panel.name, panel.title, panel.note, axis(panel.x), axis(panel.y), series)
    };
    Ok(panels.into_iter().map(panel).collect())
}

/// Converts a quantity with a unit to the base unit: bytes for the `dimension` "size", bits/s for
/// "rate", seconds for "time". An error names the argument `argument`.
#[pyfunction]
pub(crate) fn quantity(py: Python<'_>, argument: &str, text: &str, dimension: &str) -> PyResult<f64> {
    let wrong = |error: QuantityError| {
        errors::argument(py, argument, &format!("{argument} is \"{text}\": {error}"), "")
    };
    match dimension {
        "size" => parse_size(text).map(|bytes| bytes as f64).map_err(wrong),
        "rate" => parse_rate(text).map(|rate| rate.0 as f64).map_err(wrong),
        "time" => parse_time(text).map(|time| time.as_secs_f64()).map_err(wrong),
        other => Err(errors::unknown(py, "dimension", "dimension", other, ["size", "rate", "time"])),
    }
}
