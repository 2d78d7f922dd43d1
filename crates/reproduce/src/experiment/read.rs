//! Reads an experiment from text and reports every mistake in one pass, each with file and line.

use super::axes::{axes, label};
use super::metrics::{self, Named};
use super::{Axis, Content, Experiment, Overrides, Panel, Reading, Runs, Scale, Variant, claims};
use crate::{Course, Sampled};
use bufferlab_document::LoadError;
use bufferlab_document::context::{Complaint, Context, quoted_list, suggestion};
use bufferlab_document::files::{self, nearby_file};
use bufferlab_document::reader::Reader;
use bufferlab_document::tree::{Item, Origin, Value};
use bufferlab_experiment::format::ROOT;
use bufferlab_theory::figures::{Entry, find};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Reads an experiment from the text of its file.
pub(super) fn experiment(path: &Path, id: &str, text: &str) -> Result<Experiment, LoadError> {
    let mut context = Context::new("experiment");
    let root = files::parse(&mut context, path, text);
    let open = |root| Reader::open(&context, &ROOT, String::new(), Some(root));
    let experiment = root.as_ref().and_then(open).and_then(|root| read_experiment(root, id));
    let (errors, _) = context.into_problems();
    match experiment {
        Some(experiment) if errors.is_empty() => Ok(experiment),
        _ => Err(LoadError::new(&path.display().to_string(), errors)),
    }
}

fn read_experiment(mut root: Reader<'_>, id: &str) -> Option<Experiment> {
    let (title, figure, about) = (root.text("title"), root.text("figure"), root.text("about"));
    let content = if root.has("theory") {
        analytical(&mut root).map(Content::Figure)
    } else {
        let runs = runs(&mut root).map(|runs| Content::Runs(Box::new(runs)));
        root.spec_of("theory");
        root.finish();
        runs
    };
    Some(Experiment { id: id.to_owned(), title: title?, figure: figure?, about: about?, content: content? })
}

/// Reads an analytical figure; the file of such a figure may have no other keys.
fn analytical(root: &mut Reader<'_>) -> Option<&'static Entry> {
    for key in ROOT.keys.iter().map(|key| key.name) {
        if root.has(key) && !["title", "figure", "about", "theory"].contains(&key) {
            let complaint = Complaint::new("an analytical figure has no runs", "nothing runs here");
            root.error(key, complaint.help("leave out all but `title`, `figure`, `about` and `theory`"));
        }
    }
    root.word("theory").and_then(find)
}

/// Names that later keys of an experiment's file may use. If the reader could not read a table,
/// references to its names are not reported as mistakes.
pub(super) struct Known<'a> {
    pub(super) axes: &'a [Axis],
    /// Whether the reader could read all axes of the experiment.
    pub(super) axes_complete: bool,
    variants: &'a [Variant],
    variants_complete: bool,
    metrics: &'a [String],
}

impl Known<'_> {
    /// Reports a mistake if `name` is no variant of the experiment.
    pub(super) fn check_variant(&self, reader: &Reader<'_>, key: &str, origin: Origin, name: &str) {
        let names: Vec<_> = self.variants.iter().map(|variant| variant.name.as_str()).collect();
        if self.variants_complete {
            check_name(reader, key, origin, ("variant", name), &names);
        }
    }

    /// Reports a mistake if `name` is no metric of the experiment.
    pub(super) fn check_metric(&self, reader: &Reader<'_>, key: &str, name: &str) {
        let names: Vec<_> = self.metrics.iter().map(String::as_str).collect();
        check_name(reader, key, reader.place(key), ("metric", name), &names);
    }

    /// Reports a mistake if the axis has no value with the label.
    pub(super) fn check_label(&self, reader: &Reader<'_>, key: &str, axis: &Axis, item: &Item) {
        let label = label(&item.value);
        if axis.values.iter().any(|value| value.label == label) || !self.axes_complete {
            return;
        }
        let names = || axis.values.iter().map(|value| value.label.as_str());
        let complaint = Complaint::new(format!("axis \"{}\" has no {label}", axis.name), "no such place");
        let help = format!("its places: {}", names().collect::<Vec<_>>().join(", "));
        reader.context.error(&reader.path(key), item.origin, complaint.help(help));
    }
}

/// Reports a mistake if a name is not in the list `names`.
fn check_name(reader: &Reader<'_>, key: &str, origin: Origin, (kind, name): (&str, &str), names: &[&str]) {
    if names.contains(&name) {
        return;
    }
    let list = match names {
        [] => "the experiment has none".to_owned(),
        names => format!("known: {}", quoted_list(names.iter().copied())),
    };
    let help = match suggestion(name, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"? {list}"),
        None => list,
    };
    let complaint = Complaint::new(format!("there is no {kind} \"{name}\""), format!("no such {kind}"));
    reader.context.error(&reader.path(key), origin, complaint.help(help));
}

fn runs(root: &mut Reader<'_>) -> Option<Runs> {
    let context = root.context;
    let scenario = scenario(root);
    if !root.has("scenario") {
        root.report_missing(
            "scenario",
            "\"../../scenarios/abm-reduced.toml\"",
            "the scenario that runs; or `theory`, the analytical figure that is computed",
        );
    }
    let set = root.settings("set");
    let mark = context.mark();
    let axes = axes(root);
    let axes_complete = !context.failed_since(mark);
    let mark = context.mark();
    let variants = variants(root);
    let variants_complete = !context.failed_since(mark);
    let Named { names: metric_names, metrics } = metrics::named(root);
    let known =
        Known { axes: &axes, axes_complete, variants: &variants, variants_complete, metrics: &metric_names };
    let quick = scale(root, "quick", &known);
    if !root.has("quick") {
        root.report_missing(
            "quick",
            "{ seeds = 3 }",
            "how much runs: seeds of every point, and what is reduced",
        );
    }
    let paper = scale(root, "paper", &known);
    let artifact = artifact(root, &known);
    let panels = panels(root, &known);
    let courses = root.tables("course").into_iter().filter_map(course).collect();
    let claims = claims::claims(root, &known, &panels);
    Some(Runs {
        scenario: scenario?,
        set,
        axes,
        variants,
        metrics,
        quick: quick?,
        paper,
        artifact,
        panels,
        courses,
        claims,
    })
}

/// Reads the path of another scenario file, relative to the experiment's file.
pub(super) fn scenario(reader: &mut Reader<'_>) -> Option<PathBuf> {
    let written = reader.text("scenario")?;
    let path = reader.context.folder_of(reader.place("scenario")).join(written);
    if !path.is_file() {
        let message = format!("cannot read {}: there is no such file", path.display());
        let help = match nearby_file(&path) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "the path is relative to this file".to_owned(),
        };
        reader.error("scenario", Complaint::new(message, "this file").help(help));
    }
    Some(path)
}

/// Reads the variants of an experiment: first the list `policies`, then every `[[variant]]`.
fn variants(root: &mut Reader<'_>) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Vec::new();
    for (name, origin) in root.texts("policies").unwrap_or_default() {
        let Some(variant) = policy(root, name, origin) else { continue };
        if variants.iter().any(|known| known.name == variant.name) {
            let complaint =
                Complaint::new(format!("two variants are called \"{}\"", variant.name), "the second one");
            root.context.error(
                "policies",
                origin,
                complaint.help("write a label before one of them: \"second: …\""),
            );
        }
        variants.push(variant);
    }
    for mut reader in root.tables("variant") {
        let (name, set, scenario) = (reader.text("name"), reader.settings("set"), scenario(&mut reader));
        let artifact = reader.settings("artifact");
        if let Some(name) = name {
            if variants.iter().any(|known| known.name == name) {
                let complaint =
                    Complaint::new(format!("two variants are called \"{name}\""), "the second one");
                reader.error("name", complaint.help("tables and expressions know a variant by its name"));
            }
            variants.push(Variant { name, set, scenario, artifact });
        }
        reader.finish();
    }
    if variants.is_empty() && !root.has("policies") && !root.has("variant") {
        let complaint = Complaint::new("nothing is compared", "the experiment needs it");
        root.error(
            "policies",
            complaint.help("add policies = [\"dt\", \"abm\"], or a [[variant]] with `name` and `set`"),
        );
    }
    variants
}

/// Reads a policy, with optional parameters and changes. The policy inherits no parameters from the
/// scenario, so an experiment lists every parameter that it compares.
fn policy(root: &Reader<'_>, written: String, origin: Origin) -> Option<Variant> {
    let source = root.context.source_of(origin);
    let variant = match bufferlab_scenario::Variant::parse(&written) {
        Ok(variant) => variant,
        Err(mistake) => {
            let part = mistake.at.len() < written.trim().len();
            let label = if part { format!("character {}", mistake.character()) } else { "here".to_owned() };
            let message =
                if part { format!("\"{written}\": {}", mistake.message) } else { mistake.message.clone() };
            let complaint = Complaint::new(message, label).help(mistake.help);
            root.context.error("policies", origin, complaint);
            return None;
        }
    };
    // A plain policy name is kept as the file has it, because expressions may use an alias.
    let name = if variant.is_plain() { written } else { variant.label() };
    Some(Variant { name, set: variant.settings(origin, source), scenario: None, artifact: Vec::new() })
}

/// Reads one scale of an experiment; `None` if the file lacks the scale or the scale is invalid.
fn scale(root: &mut Reader<'_>, name: &'static str, known: &Known<'_>) -> Option<Scale> {
    root.spec_of(name);
    root.item(name)?;
    let mut reader = root.table(name)?;
    let (seeds, set, scenario) = (reader.small_count("seeds"), reader.settings("set"), scenario(&mut reader));
    let mut values = BTreeMap::new();
    for entry in reader.entries("values") {
        let key = format!("values.{}", entry.key);
        let Some(axis) = known.axes.iter().find(|axis| axis.name == entry.key) else {
            let names: Vec<_> = known.axes.iter().map(|axis| axis.name.as_str()).collect();
            if known.axes_complete {
                check_name(&reader, &key, entry.key_origin, ("axis", &entry.key), &names);
            }
            continue;
        };
        let labels = labels(&reader, &key, &entry.item);
        labels.iter().for_each(|item| known.check_label(&reader, &key, axis, item));
        values.insert(entry.key.clone(), labels.iter().map(|item| label(&item.value)).collect());
    }
    reader.finish();
    Some(Scale { seeds: seeds?, set, scenario, values })
}

/// Returns the elements of the list of labels at `key`, in a table with arbitrary keys.
fn labels<'a>(reader: &Reader<'_>, key: &str, item: &'a Item) -> &'a [Item] {
    match &item.value {
        Value::Array(list) if !list.is_empty() => list,
        value => {
            let found =
                if matches!(value, Value::Array(_)) { "an empty list" } else { value.kind_in_words() };
            let complaint =
                Complaint::new(format!("expected a list of values, found {found}"), "not a list of values");
            let help = "for example values = { load = [0.2, 0.8] }";
            reader.context.error(&reader.path(key), item.origin, complaint.help(help));
            &[]
        }
    }
}

fn artifact(root: &mut Reader<'_>, known: &Known<'_>) -> Option<Reading> {
    root.spec_of("artifact");
    root.item("artifact")?;
    let mut reader = root.table("artifact")?;
    let (about, set, scenario) = (reader.text("about"), reader.settings("set"), scenario(&mut reader));
    check_artifact(&reader, &set, known.axes);
    reader.finish();
    Some(Reading { about: about?, set, scenario })
}

/// Rejects a setting in `[artifact]` for a key that an axis varies. Otherwise all values of the
/// axis would be equal.
fn check_artifact(reader: &Reader<'_>, set: &Overrides, axes: &[Axis]) {
    for setting in set {
        let varies =
            |axis: &&Axis| axis.values.iter().flat_map(|value| &value.set).any(|one| one.overlaps(setting));
        if let Some(axis) = axes.iter().find(varies) {
            let complaint = Complaint::new(
                format!("axis \"{}\" varies it, and this would hold at all its places", axis.name),
                "set here, and varied there",
            );
            let key = reader.path(&format!("set.{}", setting.key));
            reader.context.error(&key, setting.key_origin, complaint.help("leave it out here"));
        }
    }
}

fn panels(root: &mut Reader<'_>, known: &Known<'_>) -> Vec<Panel> {
    let panel = |mut reader: Reader<'_>| {
        let (title, metric, log) = (reader.text("title"), reader.text("metric"), reader.flag("log"));
        if let Some(metric) = &metric {
            known.check_metric(&reader, "metric", metric);
        }
        let variants = reader.texts("variants");
        for (name, origin) in variants.iter().flatten() {
            known.check_variant(&reader, "variants", *origin, name);
        }
        reader.finish();
        let variants = variants.map(|names| names.into_iter().map(|(name, _)| name).collect());
        Some(Panel { title: title?, metric: metric?, log: log?, variants })
    };
    root.tables("panel").into_iter().filter_map(panel).collect()
}

fn course(mut reader: Reader<'_>) -> Option<Course> {
    let (title, of, ports) = (reader.text("title"), reader.choices::<Sampled>("of"), reader.counts("ports"));
    let since_ms = reader.number("since_ms");
    let (of, ports) = (of?, ports?);
    let flows = |of: &Sampled| matches!(of, Sampled::Goodput | Sampled::Jain);
    match &of[..] {
        [] => {
            let complaint = Complaint::new("nothing is drawn", "the list is empty");
            reader.error("of", complaint.help("for example of = [\"occupancy\"]"));
        }
        [one] if flows(one) && ports.is_empty() => {}
        list if list.iter().any(flows) => {
            let complaint =
                Complaint::new("`goodput` and `jain` are of flows and stand alone", "with something else");
            reader.error("of", complaint.help("give it a [[course]] of its own, without `ports`"));
        }
        list if list.contains(&Sampled::Threshold) && ports.is_empty() => {
            let complaint = Complaint::new("a switch as a whole has no threshold", "needs ports");
            reader.error("of", complaint.help("for example ports = [0, 1]"));
        }
        _ => {}
    }
    reader.finish();
    let ports = ports.into_iter().map(|port| u16::try_from(port).expect("the format bounds it")).collect();
    Some(Course { title: title?, of, ports, since_ms: since_ms? })
}

/// Reads a metric from TOML text, for tests; returns the message if the metric is invalid.
#[cfg(test)]
pub(crate) fn metric_from(text: &str) -> Result<crate::Metric, String> {
    part(&format!("[metrics]\nm = {text}"), |root| metrics::named(root).metrics.remove("m"))
}

/// Reads a chart over time (a course) from the TOML text of its table.
#[cfg(test)]
pub(crate) fn course_from(text: &str) -> Result<Course, String> {
    part(&format!("[[course]]\n{text}"), |root| course(root.tables("course").remove(0)))
}

#[cfg(test)]
fn part<T>(text: &str, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Result<T, String> {
    let mut context = Context::new("experiment");
    let root = files::parse(&mut context, Path::new("test.toml"), text).expect("it is TOML");
    let found =
        Reader::open(&context, &ROOT, String::new(), Some(&root)).and_then(|mut root| read(&mut root));
    let (errors, _) = context.into_problems();
    match (errors.as_slice(), found) {
        ([], Some(found)) => Ok(found),
        _ => Err(errors.iter().map(bufferlab_document::Problem::in_one_line).collect()),
    }
}
