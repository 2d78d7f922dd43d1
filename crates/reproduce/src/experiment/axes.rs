//! Reads the axes of an experiment and their values.

use super::read::scenario;
use super::{Axis, AxisValue};
use bufferlab_document::context::Complaint;
use bufferlab_document::reader::Reader;
use bufferlab_document::resolved;
use bufferlab_document::setting::Setting;
use bufferlab_document::tree::{Item, Origin, Value};
use bufferlab_experiment::format::AXIS_VALUE;
use bufferlab_report::format::leading_number;

/// Reads the axes of an experiment. The reader records axes without a name as
/// mistakes and skips them.
pub(super) fn axes(root: &mut Reader<'_>) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for reader in root.tables("axis") {
        let Some(axis) = axis(reader) else { continue };
        if axes.iter().any(|known| known.name == axis.name) {
            let complaint =
                Complaint::new(format!("two axes are called \"{}\"", axis.name), "the second one");
            root.error("axis", complaint.help("give each a name of its own"));
        }
        axes.push(axis);
    }
    axes
}

fn axis(mut reader: Reader<'_>) -> Option<Axis> {
    let name = reader.text("name");
    let title = reader.text_or("title", name.as_deref().unwrap_or_default());
    let key = reader.text("key").map(|key| (key, reader.place("key")));
    let mut values: Vec<AxisValue> = Vec::new();
    let mut keyless = None;
    for (index, item) in reader.values("values").iter().enumerate() {
        let value = match (&item.value, &key) {
            (Value::Table(_), _) => place_in_full(&reader, index, item),
            (Value::Datetime, _) => refuse_date(&reader, item),
            (value, Some((key, key_origin))) => {
                Some(single_setting(&reader, index, item, label(value), (key, *key_origin)))
            }
            (_, None) => {
                keyless = keyless.or(Some(item.origin));
                None
            }
        };
        let Some(value) = value else { continue };
        if values.iter().any(|known| known.label == value.label) {
            let complaint = Complaint::new(format!("the axis has {} twice", value.label), "again");
            let complaint = complaint.help("tables and expressions know a place by its label");
            reader.context.error(&reader.path("values"), item.origin, complaint);
        }
        values.push(value);
    }
    if let Some(origin) = keyless {
        let complaint = Complaint::new("plain values need a `key`", "a value of which key?");
        let help = "add key = \"workload.web_search.load\", the key of the scenario that the values set";
        reader.context.error(&reader.path("values"), origin, complaint.help(help));
    }
    reader.finish();
    Some(Axis { name: name?, title, values })
}

/// Reads an axis value that sets only the scenario key of the axis.
fn single_setting(
    reader: &Reader<'_>,
    index: usize,
    item: &Item,
    label: String,
    (key, key_origin): (&str, Origin),
) -> AxisValue {
    let source = reader.context.source_of(item.origin).cloned();
    let set = Setting { key: key.to_owned(), key_origin, item: item.clone(), source };
    AxisValue { x: leading_number(&label).unwrap_or(index as f64), label, set: vec![set], scenario: None }
}

/// Reads an axis value with a label and arbitrary overrides of scenario keys.
fn place_in_full(axis: &Reader<'_>, index: usize, item: &Item) -> Option<AxisValue> {
    let path = format!("{}.{index}", axis.path("values"));
    let mut reader = Reader::open(axis.context, &AXIS_VALUE, path, Some(item))?;
    let (label, x, set) = (reader.text("label"), reader.number("x"), reader.settings("set"));
    let scenario = scenario(&mut reader);
    reader.finish();
    let label = label?;
    Some(AxisValue { x: x.or_else(|| leading_number(&label)).unwrap_or(index as f64), label, set, scenario })
}

fn refuse_date(reader: &Reader<'_>, item: &Item) -> Option<AxisValue> {
    let complaint = Complaint::new("expected a value, found a date", "scenarios have no dates");
    reader.context.error(
        &reader.path("values"),
        item.origin,
        complaint.help("write it as a text, in quotes"),
    );
    None
}

/// Formats an axis value as expressions and tables write it: text without quotes, `0.2`, `8`.
pub(super) fn label(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => resolved::write(other),
    }
}
