//! Variants: a policy with parameters, and optionally other changes to a scenario, in one line.
//!
//! ```text
//! [label:] policy[(key=value, …)] [+ path=value]…
//! ecn: dt(alpha=0.5) + ecn.threshold=30 KB
//! ```
//!
//! The command line, experiments and the Python package use this parser.
//!
//! ```
//! use bufferlab_scenario::Variant;
//!
//! let variant = Variant::parse("dt( alpha = 0.5 ) + buffer=2 MB")?;
//! assert_eq!(variant.label(), "dt(alpha=0.5) + buffer=2 MB");
//! assert_eq!(variant.folder(), "dt-alpha=0.5-buffer=2-MB");
//! assert_eq!(variant.paths().collect::<Vec<_>>(), ["switch.policy.alpha", "switch.buffer"]);
//! let error = Variant::parse("dt(alpha=0.5").expect_err("the bracket is open");
//! assert_eq!(error.character(), 3);
//! # Ok::<(), bufferlab_scenario::Mistake>(())
//! ```

use crate::assign::assign;
use crate::context::{Context, Source};
use crate::format::ROOT;
use crate::format::SWITCH;
use crate::tree::{Entry, Item, Origin, Table, Value};
use bufferlab_core::{PolicyInfo, find_policy, policies};
use bufferlab_document::call::{Assignment, Mistake, Part, assignment, call_in, unquoted};
use bufferlab_document::setting::Setting;
use bufferlab_document::tree::command_line_value;
use bufferlab_params::suggestion;
use bufferlab_units::is_hidden;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Name that errors show in place of a file if a variant is invalid ([`crate::Problem::file`]).
pub const A_VARIANT: &str = "a variant";

/// Maximum length of a label that is made from the text of a variant (characters).
const LONGEST_LABEL: usize = 60;
/// Maximum length of an explicit label, which must fit a table column (characters).
const LONGEST_WRITTEN_LABEL: usize = 40;
/// Maximum length of a folder name (bytes). File systems allow 255, and prefixes may be added.
const LONGEST_FOLDER: usize = 100;
/// Characters that a label must not contain, because they separate the parts of a variant.
const NOT_IN_A_LABEL: &[char] = &['(', ')', '=', '+', ',', '[', ']', '{', '}', '"', '\''];

/// A variant: a policy with parameters and optionally other changes, with a label.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Original text of the variant, which places in errors refer to.
    written: String,
    named: Option<String>,
    policy: &'static PolicyInfo,
    /// Position of the policy in the variant's text.
    policy_at: Range<usize>,
    parameters: Vec<Change>,
    changes: Vec<Change>,
}

/// One assignment `key=value` of a variant.
#[derive(Clone, Debug)]
struct Change {
    key: String,
    value: String,
    key_at: Range<usize>,
    value_at: Range<usize>,
}

impl Change {
    fn from_assignment(Assignment { key, value }: &Assignment<'_>) -> Self {
        let (key_at, value_at) = (key.range(), value.range());
        Self { key: key.text.to_owned(), value: value.text.to_owned(), key_at, value_at }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// Writes the canonical spelling of a variant, which parses to an equal variant.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(label) = &self.named {
            write!(f, "{label}: ")?;
        }
        f.write_str(self.policy.name)?;
        if !self.parameters.is_empty() {
            let all: Vec<_> = self.parameters.iter().map(Change::to_string).collect();
            write!(f, "({})", all.join(", "))?;
        }
        self.changes.iter().try_for_each(|change| write!(f, " + {change}"))
    }
}

/// Two variants are equal if their canonical spellings are equal.
impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Variant {
    /// Creates a variant that is only a policy. If the scenario has this policy, the variant uses
    /// the scenario's parameters, otherwise the policy's defaults.
    #[must_use]
    pub fn from_policy(policy: &'static PolicyInfo) -> Self {
        Self {
            written: policy.name.to_owned(),
            named: None,
            policy,
            policy_at: 0..policy.name.len(),
            parameters: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Parses the text of a variant.
    ///
    /// # Errors
    /// Returns a mistake with its place: in brackets, the policy, a parameter or a path. The values
    /// of parameters are checked when a scenario is loaded with the variant.
    pub fn parse(written: &str) -> Result<Self, Mistake> {
        let (named, start) = label_of(written)?;
        let seen = unquoted(written, start)?;
        let mut plus = Vec::new();
        let mut blank = true;
        // The text is scanned only once, because a variant may be as long as a file.
        let (mut looked, mut last_equals) = (start, None);
        for &(at, c, depth) in &seen {
            if let Some(found) = written[looked..at].rfind('=') {
                last_equals = Some(looked + found);
            }
            looked = at;
            // A plus in a value (1e+3) has no meaning; a plus after a blank begins a change.
            let part = plus.last().map_or(start, |last| last + 1);
            let in_a_value = last_equals.is_some_and(|equals| equals >= part);
            let behind_a_bracket = written[..at].ends_with(')') && plus.is_empty();
            if c == '+' && depth == 0 && (blank || !in_a_value || behind_a_bracket) {
                plus.push(at);
            }
            blank = c.is_whitespace();
        }
        let head = start..plus.first().copied().unwrap_or(written.len());
        let call = call_in(written, head, &seen)?;
        let policy = policy_called(written, call.name)?;
        let parameters: Vec<Change> = call.parameters.iter().map(Change::from_assignment).collect();
        let mut changes: Vec<Change> = Vec::new();
        for (index, at) in plus.iter().enumerate() {
            let part = Part::trimmed(written, at + 1..plus.get(index + 1).copied().unwrap_or(written.len()));
            changes.push(Change::from_assignment(&assignment(written, part, "switch.buffer=2 MB")?));
        }
        let policy_at = call.name.range();
        let variant = Self { written: written.to_owned(), named, policy, policy_at, parameters, changes };
        variant.check()?;
        Ok(variant)
    }

    /// Name of the variant in tables and charts: the text before the colon, or the whole
    /// variant without a colon.
    #[must_use]
    pub fn label(&self) -> String {
        if let Some(label) = &self.named {
            return label.clone();
        }
        let text = self.to_string();
        match text.char_indices().nth(LONGEST_LABEL) {
            None => text,
            Some(_) => text.chars().take(LONGEST_LABEL - 1).chain(['…']).collect(),
        }
    }

    /// Returns a folder name for the label, with characters that every file system allows: letters,
    /// digits and a few signs.
    #[must_use]
    pub fn folder(&self) -> String {
        let mut name = String::new();
        for c in self.label().chars() {
            if c.is_ascii_alphanumeric() || "._=".contains(c) {
                name.push(c);
            } else if !name.ends_with('-') {
                name.push('-');
            }
        }
        name.truncate(LONGEST_FOLDER);
        let name = name.trim_matches(['-', '.']);
        // Folder names that look like seeds, and empty names, have a different meaning.
        if name.is_empty() || name.starts_with("seed-") { format!("variant-{name}") } else { name.to_owned() }
    }

    /// Buffer policy of the variant.
    #[must_use]
    pub const fn policy(&self) -> &'static PolicyInfo {
        self.policy
    }

    /// Whether the variant is only a policy, without a label.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.named.is_none() && self.parameters.is_empty() && self.changes.is_empty()
    }

    /// Whether both variants lack a label, and have equal policies and equal values, where 1 equals
    /// 1.0.
    #[must_use]
    pub fn means_the_same(&self, other: &Self) -> bool {
        let values = |changes: &[Change]| -> BTreeMap<String, String> {
            let value = |text: &str| match text.parse::<f64>() {
                Ok(number) => number.to_string(),
                Err(_) => text.trim_matches(['"', '\'']).to_owned(),
            };
            changes.iter().map(|change| (change.key.clone(), value(&change.value))).collect()
        };
        self.named.is_none()
            && other.named.is_none()
            && self.policy.name == other.policy.name
            && values(&self.parameters) == values(&other.parameters)
            && values(&self.changes) == values(&other.changes)
    }

    /// Returns the dotted keys of the scenario that the variant sets, except `switch.policy`.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let parameters = self.parameters.iter().map(|change| format!("switch.policy.{}", change.key));
        parameters.chain(self.changes.iter().map(|change| full_path(&change.key).unwrap_or_default()))
    }

    /// Returns the keys that the variant sets, for a document in which variants define the
    /// whole policy: parameters in the scenario are ignored. All keys have the place
    /// `origin` in `source`.
    #[must_use]
    pub fn settings(&self, origin: Origin, source: Option<&Source>) -> Vec<Setting> {
        let policy = Value::String(self.policy.name.to_owned());
        let policy = ("switch.policy".to_owned(), Item { value: policy, origin });
        let others = self.changes().map(|(path, change)| {
            let item =
                command_line_value(&change.value, origin).unwrap_or_else(|_| bare(&change.value, origin));
            (path, item)
        });
        let setting = |(key, item)| Setting { key, key_origin: origin, item, source: source.cloned() };
        std::iter::once(policy).chain(others).map(setting).collect()
    }

    /// Applies the variant to a scenario. The policy of the scenario keeps its parameters; another
    /// policy starts from its defaults.
    pub(crate) fn apply(&self, context: &mut Context, root: &mut Item) {
        let source = context.add_source(A_VARIANT, &self.written, Path::new(""));
        let place = |range: &Range<usize>| Origin { source, start: range.start, end: range.end };
        if scenario_policy(root)
            .and_then(|name| find_policy(&name))
            .is_none_or(|own| own.name != self.policy.name)
        {
            let origin = place(&self.policy_at);
            let keys = ["switch", "policy"];
            // Write a table instead of the name alone, so that no later step needs
            // to expand the name.
            let name = Item { value: Value::String(self.policy.name.to_owned()), origin };
            let entries = vec![Entry { key: "name".to_owned(), key_origin: origin, item: name }];
            let policy = Item { value: Value::Table(Table { entries }), origin };
            if let Err((path, complaint)) = assign(root, &keys, policy, origin, 0) {
                context.error(&path, origin, complaint);
            }
        }
        for (path, change) in self.changes() {
            let (key_origin, origin) = (place(&change.key_at), place(&change.value_at));
            let item =
                command_line_value(&change.value, origin).unwrap_or_else(|_| bare(&change.value, origin));
            let keys: Vec<&str> = path.split('.').collect();
            if let Err((path, complaint)) = assign(root, &keys, item, key_origin, 0) {
                context.error(&path, key_origin, complaint);
            }
        }
    }

    /// Returns all parameters and changes of the variant, with their full paths.
    fn changes(&self) -> impl Iterator<Item = (String, &Change)> {
        self.paths().zip(self.parameters.iter().chain(&self.changes))
    }

    /// Checks the parts of the variant that need no scenario.
    fn check(&self) -> Result<(), Mistake> {
        let wrong = |at: &Range<usize>, message: String, help: &str| {
            Err(Mistake::new(&self.written, at.clone(), message, help))
        };
        if let Some(label) = &self.named
            && let Some(other) = find_policy(&label.to_lowercase())
            && other.name != self.policy.name
        {
            let at = self.written.find(label.as_str()).map_or(0..0, |at| at..at + label.len());
            return wrong(
                &at,
                format!("\"{label}\" is another policy"),
                "choose a label that is no policy's name",
            );
        }
        for change in &self.parameters {
            let known: Vec<_> = self.policy.params.iter().map(|param| param.name).collect();
            let first = change.key.split('.').next().unwrap_or_default();
            if !known.contains(&first) {
                let list = match known.as_slice() {
                    [] => format!("\"{}\" has no parameters", self.policy.name),
                    _ => format!("parameters of \"{}\": {}", self.policy.name, known.join(", ")),
                };
                let near = suggestion(first, known.iter().copied());
                let help = near.map_or(list.clone(), |near| format!("did you mean `{near}`? {list}"));
                return wrong(&change.key_at, format!("unknown parameter `{}`", change.key), &help);
            }
        }
        for (index, change) in self.changes.iter().enumerate() {
            let path = full_path(&change.key).map_err(|help| {
                let message = format!("a scenario has no key `{}`", change.key);
                Mistake::new(&self.written, change.key_at.clone(), message, help)
            })?;
            if path == "seed" {
                let help = "runs of one seed are compared with each other: --seeds says how many there are";
                return wrong(&change.key_at, "a variant cannot choose the seed".to_owned(), help);
            }
            if path == "switch" || path == "switch.policy" || path.starts_with("switch.policy.") {
                let help = "parameters go into brackets behind the policy's name, such as dt(alpha=0.5)";
                return wrong(&change.key_at, format!("`{}` is the policy itself", change.key), help);
            }
            if self.changes[..index].iter().any(|known| full_path(&known.key).as_ref() == Ok(&path)) {
                return wrong(&change.key_at, format!("`{path}` is set twice"), "remove one of the two");
            }
        }
        for change in self.parameters.iter().chain(&self.changes) {
            if let Err(why) = command_line_value(&change.value, Origin::BUILT_IN) {
                let help = "a value is written as in a scenario file; a bare word stands for a string";
                return wrong(&change.value_at, format!("not a TOML value: {why}"), help);
            }
        }
        Ok(())
    }
}

fn bare(text: &str, origin: Origin) -> Item {
    Item { value: Value::String(text.to_owned()), origin }
}

/// Returns the name of the policy that the scenario's `switch.policy` selects.
fn scenario_policy(root: &Item) -> Option<String> {
    let below = |item: &Item, key: &str| match &item.value {
        Value::Table(table) => table.get(key).cloned(),
        _ => None,
    };
    let mut policy = below(&below(root, "switch")?, "policy")?;
    crate::tree::expand_name(&mut policy);
    match below(&policy, "name")?.value {
        Value::String(name) => Some(name),
        _ => None,
    }
}

/// Splits a label from the text after its colon. Returns the label and the start of the text after
/// the colon.
fn label_of(written: &str) -> Result<(Option<String>, usize), Mistake> {
    let Some(colon) = written.find(':') else { return Ok((None, 0)) };
    let part = Part::trimmed(written, 0..colon);
    if part.text.contains(NOT_IN_A_LABEL) || is_python(part.text, &written[colon + 1..]) {
        return Ok((None, 0));
    }
    let wrong = |message: &str, help: &str| Err(Mistake::new(written, part.range(), message, help));
    if part.text.is_empty() {
        return wrong("the label is empty", "write one before the colon, or remove the colon");
    }
    if part.text.chars().any(is_hidden) {
        return wrong("the label has a control character", "labels are printed in tables");
    }
    if part.text.chars().count() > LONGEST_WRITTEN_LABEL {
        let message = format!("the label is longer than {LONGEST_WRITTEN_LABEL} characters");
        return wrong(&message, "it heads a column of tables: write a shorter one");
    }
    Ok((Some(part.text.to_owned()), colon + 1))
}

/// Whether the text names a class in a Python file, such as `mine.py:FairShare`.
fn is_python(before: &str, behind: &str) -> bool {
    before.to_ascii_lowercase().ends_with(".py")
        && behind.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn policy_called(written: &str, name: Part<'_>) -> Result<&'static PolicyInfo, Mistake> {
    if let Some(policy) = find_policy(&name.text.to_lowercase()) {
        return Ok(policy);
    }
    let place = || name.range();
    if name.text.is_empty() {
        let help = "write policy(key=value, …) + path=value, such as dt(alpha=0.5)";
        return Err(Mistake::new(written, place(), "a policy is expected here", help));
    }
    if name.text.split_once(':').is_some_and(|(file, class)| is_python(file, class)) {
        let help = "this program runs no Python: install the package (pip install .) and write the same behind `python -m bufferlab`, \
                    as in `python -m bufferlab compare SCENARIO --variants dt mine.py:FairShare`";
        let message = format!("\"{}\" is a policy in Python", name.text);
        return Err(Mistake::new(written, place(), message, help));
    }
    let all = policies();
    let near = suggestion(name.text, all.iter().map(|info| info.name));
    let near = near.or_else(|| suggestion(name.text, all.iter().flat_map(|info| info.aliases).copied()));
    let help = match near {
        _ if name.text == "all" => "all of them: --policies all".to_owned(),
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "`bufferlab policy list` shows all of them".to_owned(),
    };
    Err(Mistake::new(written, place(), format!("there is no policy \"{}\"", name.text), help))
}

/// Returns the path of a key from the root of a scenario. Keys of `[switch]` may lack the prefix
/// `switch.`, unless the root has a key of the same name.
///
/// # Errors
/// A help text that suggests a similar path.
fn full_path(written: &str) -> Result<String, String> {
    let first = written.split('.').next().unwrap_or_default();
    let names = |spec: &'static bufferlab_document::spec::TableSpec| spec.keys.iter().map(|key| key.name);
    let top = || names(&ROOT).filter(|name| *name != "extends");
    if top().any(|name| name == first) {
        return Ok(written.to_owned());
    }
    if names(&SWITCH).any(|name| name == first) {
        return Ok(format!("switch.{written}"));
    }
    if ["marking", "markings", "red", "threshold"].contains(&first) {
        return Err("marking is [switch.ecn], such as ecn.threshold=30 KB".to_owned());
    }
    let near = suggestion(first, top().chain(names(&SWITCH)));
    Err(match near {
        Some(near) if top().any(|name| name == near) => format!("did you mean `{near}`?"),
        Some(near) => format!("did you mean `switch.{near}`?"),
        None => {
            let switch: Vec<_> = names(&SWITCH).filter(|name| *name != "policy").collect();
            let top: Vec<_> = top().collect();
            format!("a path begins with {}, or with a key of [switch]: {}", top.join(", "), switch.join(", "))
        }
    })
}
