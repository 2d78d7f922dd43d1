//! Reads the metrics of an experiment: short names and their definitions.

use crate::metric::PAUSE_FRAMES;
use crate::{Metric, Quantity, Statistic, Tally};
use bufferlab_document::context::{Complaint, Context, suggestion};
use bufferlab_document::reader::Reader;
use bufferlab_document::spec::TableSpec;
use bufferlab_document::tree::{Item, Table, Value};
use bufferlab_experiment::format::{GOODPUT, PROBE, QUEUES, STATISTIC};
use bufferlab_report::Metric as SummaryMetric;
use std::collections::BTreeMap;

/// Metrics that an experiment declares under short names.
pub(super) struct Named {
    /// All metric names that the experiment declares, including names of invalid metrics.
    pub(super) names: Vec<String>,
    pub(super) metrics: BTreeMap<String, Metric>,
}

/// Reads the table `[metrics]` of an experiment.
pub(super) fn named(root: &mut Reader<'_>) -> Named {
    let (mut names, mut metrics) = (Vec::new(), BTreeMap::new());
    for entry in root.entries("metrics") {
        names.push(entry.key.clone());
        if let Some(metric) = metric(root.context, format!("metrics.{}", entry.key), &entry.item) {
            metrics.insert(entry.key.clone(), metric);
        }
    }
    Named { names, metrics }
}

fn metric(context: &Context, path: String, item: &Item) -> Option<Metric> {
    let table = match &item.value {
        Value::String(id) => return of_summary(context, &path, item, id),
        Value::Table(table) => table,
        other => {
            let found = other.kind_in_words();
            let message = format!("expected a metric, found {found}");
            let complaint = Complaint::new(message, format!("this is {found}"));
            let help = "the id of a metric of the summary, such as \"class.incast.slowdown_p99\", or a statistic, such as \
                        { flows = [\"web_search\"], of = \"slowdown\", take = \"p99\" }";
            context.error(&path, item.origin, complaint.help(help));
            return None;
        }
    };
    let spec = kind_of(table);
    let mut reader = Reader::open(context, spec, path, Some(item))?;
    let metric = if std::ptr::eq(spec, &STATISTIC) {
        statistic(&mut reader).map(Metric::Statistic)
    } else {
        tally(&mut reader, spec).map(Metric::Tally)
    };
    reader.finish();
    metric
}

/// Finds a metric of the simulation run's summary by its id.
fn of_summary(context: &Context, path: &str, item: &Item, id: &str) -> Option<Metric> {
    if id == PAUSE_FRAMES {
        return Some(Metric::PauseFrames);
    }
    let found = SummaryMetric::find(id).map(|metric| Metric::Summary(Box::new(metric)));
    if found.is_none() {
        // The id's middle component names a class or switch, and helps to suggest similar ids.
        let name = id.split('.').nth(1).unwrap_or(id);
        let known = SummaryMetric::ids_with(name);
        let complaint = Complaint::new(format!("no metric is called \"{id}\""), "not the id of a metric");
        let near = suggestion(id, known.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        context.error(
            path,
            item.origin,
            complaint.help(format!("{near}docs/reference/metrics.md lists all ids")),
        );
    }
    found
}

/// Determines the kind of metric from a table key that only this kind has. A misspelt key also
/// counts, so that the error message fits.
fn kind_of(table: &Table) -> &'static TableSpec {
    let has = |spec: &TableSpec, key: &str| spec.keys.iter().any(|known| known.name == key);
    let known = |key: &str| has(&STATISTIC, key);
    for (spec, own) in [(&GOODPUT, "goodput"), (&QUEUES, "queues"), (&PROBE, "probe")] {
        let is = |key: &str| key == own || (!known(key) && suggestion(key, [own]).is_some());
        if table.entries.iter().any(|entry| is(&entry.key))
            && !table.entries.iter().any(|entry| known(&entry.key) && !has(spec, &entry.key))
        {
            return spec;
        }
    }
    &STATISTIC
}

fn statistic(reader: &mut Reader<'_>) -> Option<Statistic> {
    let (flows, queries) = (reader.names("flows"), reader.names("queries"));
    let priorities = reader.small_counts("priorities");
    let (from_bytes, below_bytes) = (reader.count("from_bytes"), reader.count("below_bytes"));
    let (of, take) = (reader.choice::<Quantity>("of"), reader.choice("take"));
    check_subject(reader, of);
    Some(Statistic { flows, queries, priorities, from_bytes: from_bytes?, below_bytes, of: of?, take: take? })
}

/// Rejects a statistic whose quantity does not fit the flows, queries or samples.
fn check_subject(reader: &Reader<'_>, of: Option<Quantity>) {
    let subjects = ["flows", "queries", "priorities"];
    let mut given = subjects.into_iter().filter(|key| reader.has(key));
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        let complaint = Complaint::new(format!("`{first}` stands here already"), "another subject");
        reader.error(second, complaint.help("give one of `flows`, `queries` and `priorities`"));
        return;
    }
    let sampled = reader.has("priorities");
    if of.is_some_and(|of| sampled != (of == Quantity::BufferPercent)) {
        let (message, help) = if sampled {
            (
                "only `buffer_percent` is of `priorities`",
                "of = \"buffer_percent\"; or give `flows` or `queries` instead",
            )
        } else {
            ("`buffer_percent` is of `priorities`", "add priorities = [3], without `flows` and `queries`")
        };
        reader.error("of", Complaint::new(message, "not of this").help(help));
    }
    for key in ["from_bytes", "below_bytes"] {
        if sampled && reader.has(key) {
            let complaint = Complaint::new("priorities have no size", "chooses flows by their size");
            reader.error(key, complaint.help("leave it out"));
        }
    }
    let of_flows = matches!(of, Some(Quantity::SentPackets | Quantity::RetransmittedPackets));
    if reader.has("queries") && of_flows {
        let complaint = Complaint::new("queries have no packets of their own", "not of queries");
        reader.error("of", complaint.help("take the flows of their class: `flows` instead of `queries`"));
    }
}

fn tally(reader: &mut Reader<'_>, spec: &'static TableSpec) -> Option<Tally> {
    if std::ptr::eq(spec, &GOODPUT) {
        let goodput = reader.names("goodput");
        let (from_ms, until_ms) = (reader.number("from_ms"), reader.number("until_ms"));
        if let (Some(from), Some(until)) = (from_ms, until_ms)
            && from >= until
        {
            let complaint = Complaint::new("the interval is empty", format!("it begins at {from} ms"));
            reader.error("until_ms", complaint.help("`until_ms` lies behind `from_ms`"));
        }
        let take = reader.choice("take");
        return Some(Tally::Goodput {
            goodput: goodput?,
            from_ms: from_ms?,
            until_ms: until_ms?,
            take: take?,
        });
    }
    if std::ptr::eq(spec, &QUEUES) {
        let (queues, count) = (reader.small_counts("queues"), reader.choice("count"));
        return Some(Tally::Queues { queues: queues?, count: count? });
    }
    let (probe, priority) = (reader.text("probe"), reader.count("priority"));
    let priority = priority.map(|number| u8::try_from(number).expect("the format bounds it"));
    Some(Tally::Probe { probe: probe?, priority })
}
