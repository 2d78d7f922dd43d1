//! Machine-readable comparison: JSON, CSV and Parquet.

use crate::caveat::{Caveat, CaveatRecord};
use crate::compare::{Cell, Comparison, MetricComparison};
use crate::error::ReportError;
use crate::finding::{Sentence, finding};
use arrow_array::builder::{ArrayBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as Columns};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Columns of `comparison.csv` and `comparison.parquet`: one row per metric and policy.
const COLUMNS: [(&str, &str); 12] = [
    ("metric", "Stable name of the metric"),
    ("group", "What it is taken of"),
    ("label", "Its name in reports"),
    ("unit", "Unit of mean and ci95_half_width"),
    ("policy", "Label of the policy"),
    ("seeds", "Runs that the mean is taken over"),
    ("mean", "Mean over seeds"),
    ("ci95_half_width", "Half of its 95 % confidence interval (Student); empty with one seed"),
    ("baseline", "Policy that the change is against"),
    ("change", "Mean over the baseline's mean, less 1, over the seeds that both have"),
    ("change_ci95_low", "Lower end of its 95 % confidence interval, paired by seed; empty with one seed"),
    ("change_ci95_high", "Upper end of its 95 % confidence interval; empty with one seed"),
];

/// Comparison of schemes over seeds, paired by seed, with 95 % intervals. `format_version` is
/// increased when a field changes its meaning or is removed, but not when a field is added.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab comparison")]
struct ComparisonFile<'a> {
    /// Name of the file format: `bufferlab-comparison`.
    format: &'static str,
    /// Version of the file format: 1.
    format_version: u32,
    // The order of the policies is needed for a report that is made from the folder alone.
    /// Labels of the schemes; the first scheme is the baseline.
    policies: &'a [String],
    /// Every seed that at least one scheme ran.
    seeds: &'a [u64],
    /// Findings of the comparison, as sentences.
    finding: Vec<Sentence>,
    /// Caveats of the comparison.
    caveats: Vec<CaveatRecord>,
    /// Values of every metric of every scheme.
    metrics: &'a [MetricComparison],
}

/// Returns the JSON schema of `comparison.json`. The output of `run`, `compare` and `report` with
/// `--json` has the schema, too.
#[must_use]
pub fn comparison_schema() -> Schema {
    schema_for!(ComparisonFile<'_>)
}

/// Name of the file format in a `comparison.json` of bufferlab.
pub(crate) const FORMAT: &str = "bufferlab-comparison";

/// Formats the comparison as JSON, with a final newline.
pub(crate) fn to_json(comparison: &Comparison, caveats: &[Caveat]) -> serde_json::Result<String> {
    let file = ComparisonFile {
        format: FORMAT,
        format_version: 2,
        policies: &comparison.policies,
        seeds: &comparison.seeds,
        finding: finding(comparison),
        caveats: caveats.iter().map(Caveat::record).collect(),
        metrics: &comparison.metrics,
    };
    let mut text = serde_json::to_string_pretty(&file)?;
    text.push('\n');
    Ok(text)
}

/// Formats the comparison as CSV.
pub(crate) fn to_csv(comparison: &Comparison) -> String {
    let mut out = COLUMNS.map(|(name, _)| name).join(",");
    out.push('\n');
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    for (row, cell) in cells(comparison) {
        let words =
            [&row.metric.id, &row.metric.group, &row.metric.label, row.metric.unit.symbol(), &cell.policy];
        for word in words {
            out.push_str(&quoted(word));
            out.push(',');
        }
        let (mean, change) = (cell.estimate, cell.change);
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{}",
            mean.map_or(0, |estimate| estimate.seeds),
            number(mean.map(|estimate| estimate.mean)),
            number(mean.and_then(|estimate| estimate.half_width)),
            quoted(comparison.baseline()),
            number(change.map(|change| change.mean)),
            number(change.and_then(|change| change.low)),
            number(change.and_then(|change| change.high)),
        );
    }
    out
}

/// Formats the comparison as a Parquet file; errors name `path`.
pub(crate) fn to_parquet(path: &Path, comparison: &Comparison) -> Result<Vec<u8>, ReportError> {
    let mut words: Vec<StringBuilder> = (0..6).map(|_| StringBuilder::new()).collect();
    let mut seeds = UInt64Builder::new();
    let mut numbers: Vec<Float64Builder> = (0..5).map(|_| Float64Builder::new()).collect();
    for (row, cell) in cells(comparison) {
        let metric = &row.metric;
        let texts = [
            &metric.id,
            &metric.group,
            &metric.label,
            metric.unit.symbol(),
            &cell.policy,
            comparison.baseline(),
        ];
        for (builder, text) in words.iter_mut().zip(texts) {
            builder.append_value(text);
        }
        seeds.append_value(cell.estimate.map_or(0, |estimate| estimate.seeds));
        let (mean, change) = (cell.estimate, cell.change);
        let values = [
            mean.map(|estimate| estimate.mean),
            mean.and_then(|estimate| estimate.half_width),
            change.map(|change| change.mean),
            change.and_then(|change| change.low),
            change.and_then(|change| change.high),
        ];
        for (builder, number) in numbers.iter_mut().zip(values) {
            builder.append_option(number);
        }
    }
    let mut words = words.into_iter().map(|mut builder| ArrayBuilder::finish(&mut builder));
    let mut numbers = numbers.into_iter().map(|mut builder| ArrayBuilder::finish(&mut builder));
    // The Parquet columns are in the order of `COLUMNS`.
    let mut arrays: Vec<ArrayRef> = words.by_ref().take(5).collect();
    arrays.push(Arc::new(seeds.finish()));
    arrays.extend(numbers.by_ref().take(2));
    arrays.extend(words);
    arrays.extend(numbers);
    let fields: Vec<Field> = COLUMNS
        .iter()
        .zip(&arrays)
        .map(|((name, description), array)| {
            let nullable = *array.data_type() == DataType::Float64;
            Field::new(*name, array.data_type().clone(), nullable)
                .with_metadata([("description".to_owned(), (*description).to_owned())])
        })
        .collect();
    let schema = Arc::new(Columns::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(ReportError::encode(path))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("bufferlab-report {}", env!("CARGO_PKG_VERSION")))
        .build();
    let encode = || {
        let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?;
        writer.write(&batch)?;
        writer.into_inner()
    };
    encode().map_err(ReportError::encode(path))
}

fn cells(comparison: &Comparison) -> impl Iterator<Item = (&MetricComparison, &Cell)> {
    comparison.metrics.iter().flat_map(|row| row.cells.iter().map(move |cell| (row, cell)))
}

/// Formats a CSV field (RFC 4180), quoted if necessary.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
