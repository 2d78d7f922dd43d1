//! Loads scenarios: reads files, `extends`, and overrides from the command line.

use crate::assign::assign;
use crate::context::{Complaint, Context};
use crate::files::{self, nearby_file, reason};
use crate::format::{MERGING, MOVED, TABLES};
use crate::model::Scenario;
use crate::read::{self, InputFile};
use crate::tree::{Entry, Item, Origin, Value, merge};
use crate::variant::Variant;
use bufferlab_document::setting::Setting;
use bufferlab_document::tree::command_line_value;
use bufferlab_document::{LoadError, Problem};
use bufferlab_units::Time;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name that errors show in place of a file name for changes from the command line
/// ([`crate::Problem::file`]).
pub const COMMAND_LINE: &str = "set on the command line";

/// Maximum length of a chain of files that extend one another.
pub(crate) const EXTENDS_MAX: usize = 32;

/// A loaded scenario, with its resolved text and its warnings.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Scenario for a driver, such as the simulator.
    pub scenario: Scenario,
    /// Text of the scenario as TOML with all defaults. The text loads to an equal scenario if the
    /// files in [`Self::inputs`] are in its folder.
    pub resolved: String,
    /// Files that the scenario refers to, with the names in [`Self::resolved`].
    pub inputs: Vec<InputFile>,
    /// Warnings about the scenario, to check before trusting the numbers.
    pub warnings: Vec<Problem>,
    /// Variant with which the scenario was loaded, unless the variant is only the name of a policy.
    pub variant: Option<VariantName>,
    /// Warm-up with which the run of the scenario begins. No scenario file has a warm-up; a
    /// comparison sets this field.
    pub warm_up: Option<WarmUp>,
}

/// The beginning of a run that continues from a state of another run.
#[derive(Clone, Debug)]
pub struct WarmUp {
    /// Simulated time at which the run continues from the other run.
    pub time: Time,
    /// Scenario of the other run.
    pub first: Arc<Loaded>,
}

/// Name of a run in a comparison, and the text of its variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantName {
    /// Label of the variant: [`Variant::label`].
    pub label: String,
    /// Text of the variant in its canonical spelling, which [`Variant::parse`] reads.
    pub text: String,
}

/// Changes of a scenario that are applied after its files, in this order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes<'a> {
    /// Dotted keys and TOML values of overrides; a bare word is a string.
    pub overrides: &'a [(String, String)],
    /// Variant to apply: a policy with parameters and other changes.
    pub variant: Option<&'a Variant>,
    /// Further dotted keys and values, applied after the variant.
    pub then: &'a [(String, String)],
}

/// Loads a scenario file.
///
/// The function applies `overrides` in order, after the file and all files that the file extends.
/// An override is a dotted key and a TOML value; a bare word is a string. Examples are
/// `("switch.policy", "abm")`, `("workload.0.load", "0.8")` and `("transport.dctcp.min_rto", "1
/// ms")`. A key names a list entry by number or name.
///
/// # Errors
/// Returns all mistakes that one pass over the scenario can find.
pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    load_changed(path, None, &Changes { overrides, ..Changes::default() })
}

/// Loads a scenario with changes, from the file or from `text` as if it were the
/// content of the file.
///
/// # Errors
/// Returns the errors of [`load`].
pub fn load_changed(path: &Path, text: Option<&str>, changes: &Changes<'_>) -> Result<Loaded, LoadError> {
    let mut context = Context::new("scenario").with_moved_keys(MOVED).with_tables(TABLES);
    let name = path.display().to_string();
    let text = match text.map_or_else(|| files::read_document(path), |text| Ok(text.to_owned())) {
        Ok(text) => text,
        Err(error) => {
            report_unreadable(&context, path, &error);
            return Err(context.into_error(&name));
        }
    };
    let root = read_chain(&mut context, path, text);
    let mut loaded = finish(context, root, &name, path, |context, root| {
        override_all(context, root, changes.overrides);
        if let Some(variant) = changes.variant {
            variant.apply(context, root);
        }
        override_all(context, root, changes.then);
    })?;
    let named = changes.variant.filter(|variant| !variant.is_plain());
    loaded.variant = named.map(|variant| VariantName { label: variant.label(), text: variant.to_string() });
    Ok(loaded)
}

/// Loads a scenario file with keys that another document sets, in order. For a mistake in the keys
/// of the other document, the error shows a place in the other document.
///
/// # Errors
/// Returns the errors of [`load`].
pub fn load_with(path: &Path, settings: &[Setting]) -> Result<Loaded, LoadError> {
    let mut context = Context::new("scenario").with_moved_keys(MOVED).with_tables(TABLES);
    let name = path.display().to_string();
    let root = match files::read_document(path) {
        Ok(text) => read_chain(&mut context, path, text),
        Err(error) => {
            report_unreadable(&context, path, &error);
            None
        }
    };
    finish(context, root, &name, path, |context, root| {
        for setting in settings {
            apply(context, root, setting);
        }
    })
}

/// Loads a scenario from its text, as if it were the content of `path` (which need not exist).
///
/// # Errors
/// Returns the errors of [`load`].
pub fn load_text(path: &Path, text: &str, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    load_changed(path, Some(text), &Changes { overrides, ..Changes::default() })
}

/// Loads a scenario from its text with keys that another document sets, in order. For a mistake in
/// the keys of the other document, the error shows a place in the other document.
///
/// # Errors
/// Returns the errors of [`load`].
pub fn load_text_with(path: &Path, text: &str, settings: &[Setting]) -> Result<Loaded, LoadError> {
    let mut context = Context::new("scenario").with_moved_keys(MOVED).with_tables(TABLES);
    let root = read_chain(&mut context, path, text.to_owned());
    let name = path.display().to_string();
    finish(context, root, &name, path, |context, root| {
        for setting in settings {
            apply(context, root, setting);
        }
    })
}

/// Records the error that `path` is no readable scenario file.
fn report_unreadable(context: &Context, path: &Path, error: &std::io::Error) {
    let complaint = Complaint::new(format!("cannot read {}: {}", path.display(), reason(error)), "");
    let help = match nearby_file(path) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "give the path of a scenario file, such as scenarios/star-incast.toml".to_owned(),
    };
    context.error("", Origin::BUILT_IN, complaint.help(help));
}

fn finish(
    mut context: Context,
    root: Option<Item>,
    name: &str,
    path: &Path,
    change: impl FnOnce(&mut Context, &mut Item),
) -> Result<Loaded, LoadError> {
    let Some(mut root) = root else { return Err(context.into_error(name)) };
    change(&mut context, &mut root);
    // A source that is not a file has a name in brackets, such as <stdin>.
    let brackets = ['<', '>'];
    let stem = path.file_stem().map_or_else(
        || "scenario".to_owned(),
        |stem| stem.to_string_lossy().trim_matches(brackets).to_owned(),
    );
    let read = read::scenario(&context, &root, &stem);
    let (errors, warnings) = context.into_problems();
    match read {
        Some(read) if errors.is_empty() => Ok(Loaded {
            scenario: read.scenario,
            resolved: read.resolved,
            inputs: read.inputs.into_files(),
            warnings,
            variant: None,
            warm_up: None,
        }),
        _ => Err(LoadError::new(name, errors)),
    }
}

/// Reads a scenario file and all files that it extends, and merges their content. After an error,
/// the result is `None`, and the context contains the error.
fn read_chain(context: &mut Context, path: &Path, text: String) -> Option<Item> {
    let mut layers = Vec::new();
    let mut chain: Vec<(PathBuf, PathBuf)> = Vec::new();
    let mut next = Some((path.to_owned(), text));
    while let Some((path, text)) = next.take() {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        chain.push((path.clone(), identity(&path)));
        let mut root = files::parse(context, &path, &text)?;
        let Value::Table(table) = &mut root.value else { unreachable!("a document is a table") };
        if let Some(extends) = table.remove("extends") {
            next = Some(read_base(context, &folder, &extends, &chain)?);
        }
        layers.push(root);
    }
    let mut merged = layers.pop()?;
    while let Some(layer) = layers.pop() {
        merge(&MERGING, "", &mut merged, layer);
    }
    Some(merged)
}

/// Reads the scenario file that the key `extends` names.
fn read_base(
    context: &Context,
    folder: &Path,
    extends: &Entry,
    chain: &[(PathBuf, PathBuf)],
) -> Option<(PathBuf, String)> {
    let origin = extends.item.origin;
    let Value::String(written) = &extends.item.value else {
        let found = extends.item.value.kind_in_words();
        let complaint =
            Complaint::new(format!("expected the path of a scenario file, found {found}"), "not a path");
        context.error("extends", origin, complaint.help("for example extends = \"base.toml\""));
        return None;
    };
    let path = folder.join(written);
    if let Some(start) = chain.iter().position(|known| known.1 == identity(&path)) {
        let mut names: Vec<_> = chain[start..].iter().map(|known| known.0.display().to_string()).collect();
        names.push(path.display().to_string());
        let complaint = Complaint::new("these files extend each other in a circle", "closes the circle");
        context.error(
            "extends",
            origin,
            complaint.help(format!("{}\nremove one `extends`", names.join("\n  → "))),
        );
        return None;
    }
    if chain.len() > EXTENDS_MAX {
        let message = format!("more than {EXTENDS_MAX} files extend each other");
        let complaint = Complaint::new(message, "one more");
        context.error("extends", origin, complaint.help("put what they say into fewer files"));
        return None;
    }
    match files::read_text(&path) {
        Ok(text) => Some((path, text)),
        Err(error) => {
            let message = format!("cannot read {}: {}", path.display(), reason(&error));
            let help = match nearby_file(&path) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "the path is relative to this file".to_owned(),
            };
            context.error("extends", origin, Complaint::new(message, "this file").help(help));
            None
        }
    }
}

/// Returns the canonical path, which is equal for all paths to one file.
fn identity(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn override_all(context: &mut Context, root: &mut Item, overrides: &[(String, String)]) {
    for (key, value) in overrides {
        set(context, root, key, value);
    }
}

/// Applies a key that another document sets to the scenario.
fn apply(context: &mut Context, root: &mut Item, setting: &Setting) {
    let source = setting.source.as_ref().map_or(Origin::BUILT_IN.source, |source| context.adopt(source));
    let key_origin = Origin { source, ..setting.key_origin };
    let keys: Vec<&str> = setting.key.split('.').collect();
    if let Err((path, complaint)) = assign(root, &keys, setting.item.clone().in_source(source), key_origin, 0)
    {
        context.error(&path, key_origin, complaint);
    }
}

/// Sets the key `key` of the scenario, as one override requests.
fn set(context: &mut Context, root: &mut Item, key: &str, value: &str) {
    let text = format!("--set {key}={value}");
    let source = context.add_source(COMMAND_LINE, &text, Path::new(""));
    let (key_start, value_start) = (6, 6 + key.len() + 1);
    let key_origin = Origin { source, start: key_start, end: key_start + key.len() };
    let origin = Origin { source, start: value_start, end: text.len() };
    let keys: Vec<&str> = key.split('.').collect();
    if keys.iter().any(|part| part.trim().is_empty()) {
        let complaint = Complaint::new(format!("\"{key}\" is not a dotted key"), "expected a key");
        context.error("", key_origin, complaint.help("for example --set switch.policy=abm"));
        return;
    }
    let item = match command_line_value(value, origin) {
        Ok(item) => item,
        Err(message) => {
            let complaint = Complaint::new(format!("not a TOML value: {message}"), "this value");
            let help = "for example --set 'switch.policy={ name = \"abm\", alpha = 0.5 }'; a bare word stands for a string";
            context.error(key, origin, complaint.help(help));
            return;
        }
    };
    if let Err((path, complaint)) = assign(root, &keys, item, key_origin, 0) {
        context.error(&path, key_origin, complaint);
    }
}
