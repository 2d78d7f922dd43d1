//! A document as a tree of values with their places.
//! The module also has the rules by which one document extends another document.

use crate::call::call;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Source and position of a key or value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// Index of the source in the context; [`Origin::BUILT_IN`] has no source.
    pub source: u32,
    /// Position of the first byte of the key or value in the source.
    pub start: usize,
    /// Position after the last byte of the key or value in the source.
    pub end: usize,
}

impl Origin {
    /// Place of a default, which is not in a source.
    pub const BUILT_IN: Self = Self { source: u32::MAX, start: 0, end: 0 };

    fn from_span<T>(source: u32, spanned: &Spanned<T>) -> Self {
        Self { source, start: spanned.span().start, end: spanned.span().end }
    }
}

/// A value of a document with its place in the source.
#[derive(Clone, Debug)]
pub struct Item {
    /// Content of the document's value, without its place.
    pub value: Value,
    /// Place of the value in the text from which it was read.
    pub origin: Origin,
}

/// A TOML value without its place.
#[derive(Clone, Debug)]
pub enum Value {
    /// A TOML string, which is text in quotes.
    String(String),
    /// A whole number. The type is wide enough for any number that TOML tools accept.
    /// A number out of range becomes the largest number of the type.
    Integer(i128),
    /// A TOML number with a point or an exponent.
    Float(f64),
    /// A TOML value `true` or `false`.
    Boolean(bool),
    /// A date, which TOML has but our documents do not.
    Datetime,
    /// A TOML array, which is a list of items.
    Array(Vec<Item>),
    /// A TOML table, inline or below a header.
    Table(Table),
}

impl Item {
    /// Returns the item with all its places moved to the source that has the index `source`.
    #[must_use]
    pub fn in_source(mut self, source: u32) -> Self {
        self.move_to(source);
        self
    }

    fn move_to(&mut self, source: u32) {
        self.origin.source = source;
        match &mut self.value {
            Value::Array(list) => list.iter_mut().for_each(|item| item.move_to(source)),
            Value::Table(table) => {
                for entry in &mut table.entries {
                    entry.key_origin.source = source;
                    entry.item.move_to(source);
                }
            }
            _ => {}
        }
    }
}

impl Value {
    /// Names the kind of the value in words, such as "a string" or "a whole number".
    #[must_use]
    pub const fn kind_in_words(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Datetime => "a date",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// A table of a document: keys and values in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Entries of the table, in the order of the file.
    pub entries: Vec<Entry>,
}

/// One entry `key = value` of a table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Key of the entry: one part of a dotted key.
    pub key: String,
    /// Place of the key in its source.
    pub key_origin: Origin,
    /// Value after the equals sign of the entry, with its place.
    pub item: Item,
}

impl Table {
    /// Returns the value of the key `key` in the table.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Item> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.item)
    }

    /// Returns a mutable reference to the value of `key` in the table.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Item> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.item)
    }

    /// Removes `key` from the table and returns its entry.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    fn string(&self, key: &str) -> Option<&str> {
        match self.get(key).map(|item| &item.value) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }
}

/// A syntax error of TOML: message and range of bytes.
pub type SyntaxError = (String, Origin);

/// Parses one TOML document; `source` is the document's index in the context.
///
/// # Errors
/// Lists the syntax errors in the order in which the parser found the errors.
pub fn parse(source: u32, text: &str) -> Result<Item, Vec<SyntaxError>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let origin = Origin { source, start: 0, end: 0 };
        return Ok(Item { value: Value::Table(table(source, document.get_ref())), origin });
    }
    let place = |error: &toml::de::Error| {
        let span = error.span().unwrap_or(0..0);
        Origin { source, start: span.start, end: span.end }
    };
    Err(errors.iter().map(|error| (error.message().to_owned(), place(error))).collect())
}

fn table(source: u32, written: &DeTable<'_>) -> Table {
    let mut entries: Vec<_> = written
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().clone().into_owned(),
            key_origin: Origin::from_span(source, key),
            item: item(source, value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_origin.start);
    Table { entries }
}

fn item(source: u32, written: &Spanned<DeValue<'_>>) -> Item {
    let value = match written.get_ref() {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => {
            Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(list) => Value::Array(list.iter().map(|element| item(source, element)).collect()),
        DeValue::Table(inner) => Value::Table(table(source, inner)),
    };
    Item { value, origin: Origin::from_span(source, written) }
}

/// Rules of a format for a document that extends another document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Merging {
    /// Groups of alternative keys: setting one key removes the other keys of its group.
    pub alternatives: &'static [&'static [&'static str]],
    /// Keys whose value is a name, or a table with `name` and the parameters of the named entry.
    pub named: &'static [&'static str],
}

/// Merges `over` into `base`: tables are merged key by key, all other values are replaced.
///
/// A table of another kind (`kind`, or `name` below [`Merging::named`]) replaces the old table,
/// because the new kind does not have the old parameters.
/// A named entry may be written as its name alone.
pub fn merge(rules: &Merging, key: &str, base: &mut Item, over: Item) {
    let named = rules.named.contains(&key);
    if named {
        expand_name(base);
    }
    let origin = over.origin;
    let tag = if named { "name" } else { "kind" };
    match (&mut base.value, over.value) {
        (Value::Table(below), Value::Table(above))
            if above.string(tag).is_none() || above.string(tag) == below.string(tag) =>
        {
            for entry in above.entries {
                for group in rules.alternatives.iter().filter(|group| group.contains(&entry.key.as_str())) {
                    for other in group.iter().filter(|other| **other != entry.key) {
                        below.remove(other);
                    }
                }
                match below.get_mut(&entry.key) {
                    Some(item) => merge(rules, &entry.key, item, entry.item),
                    None => below.entries.push(entry),
                }
            }
            base.origin = origin;
        }
        (slot, value) => {
            *slot = value;
            base.origin = origin;
        }
    }
}

/// Replaces a name by a table: `policy = "abm"` means `policy = { name = "abm" }`.
/// The text `"dt(alpha=0.5)"` means `{ name = "dt", alpha = 0.5 }`.
///
/// A text that cannot be parsed becomes the value of `name`. No registry entry has this name, so
/// the later search for the entry reports the mistake.
pub fn expand_name(item: &mut Item) {
    let Value::String(written) = &item.value else { return };
    let origin = item.origin;
    let entries = in_brackets(written, origin)
        .unwrap_or_else(|| vec![Entry { key: "name".to_owned(), key_origin: origin, item: item.clone() }]);
    item.value = Value::Table(Table { entries });
}

/// Converts a text such as `dt(alpha=0.5)` to the entries of a table, with `origin` as the place of
/// every value.
fn in_brackets(written: &str, origin: Origin) -> Option<Vec<Entry>> {
    if !written.ends_with(')') {
        return None;
    }
    let call = call(written).ok()?;
    let entry = |key: &str, item| Entry { key: key.to_owned(), key_origin: origin, item };
    let name = Item { value: Value::String(call.name.text.to_owned()), origin };
    let mut entries = vec![entry("name", name)];
    for parameter in &call.parameters {
        entries.push(entry(parameter.key.text, command_line_value(parameter.value.text, origin).ok()?));
    }
    Some(entries)
}

/// Parses a TOML value; a bare word is a string.
///
/// # Errors
/// Returns the syntax error of a list, a table or a quoted text that is not TOML.
pub fn command_line_value(text: &str, origin: Origin) -> Result<Item, String> {
    let document = format!("value = {text}");
    let bare = || Ok(Item { value: Value::String(text.to_owned()), origin });
    match parse(origin.source, &document) {
        Ok(Item { value: Value::Table(mut table), .. }) if table.entries.len() == 1 => {
            let mut item = table.remove("value").map(|entry| entry.item).ok_or("a value is expected")?;
            place_all(&mut item, origin);
            Ok(item)
        }
        Err(errors) if text.starts_with(['{', '[', '"', '\'']) => {
            Err(errors.first().map_or_else(String::new, |error| error.0.clone()))
        }
        _ => bare(),
    }
}

fn place_all(item: &mut Item, origin: Origin) {
    item.origin = origin;
    match &mut item.value {
        Value::Array(list) => list.iter_mut().for_each(|item| place_all(item, origin)),
        Value::Table(table) => {
            for entry in &mut table.entries {
                entry.key_origin = origin;
                place_all(&mut entry.item, origin);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Merging =
        Merging { alternatives: &[&["buffer", "buffer_per_port_per_gbps"]], named: &["policy"] };

    fn merged(base: &str, over: &str) -> Item {
        let mut base = parse(0, base).expect("base parses");
        merge(&RULES, "", &mut base, parse(1, over).expect("over parses"));
        base
    }

    fn show(item: &Item) -> String {
        match &item.value {
            Value::String(text) => format!("{text:?}"),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => x.to_string(),
            Value::Boolean(b) => b.to_string(),
            Value::Datetime => "date".to_owned(),
            Value::Array(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(",")),
            Value::Table(table) => {
                let show_entry = |entry: &Entry| format!("{}={}", entry.key, show(&entry.item));
                format!("{{{}}}", table.entries.iter().map(show_entry).collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn tables_merge_and_lists_are_replaced() {
        let item = merged("x = 1\nlist = [1, 2]\n[t]\na = 1\nb = 2", "list = [3]\n[t]\nb = 3\nc = 4");
        assert_eq!(show(&item), "{x=1,list=[3],t={a=1,b=3,c=4}}");
    }

    #[test]
    fn another_kind_starts_afresh() {
        let item = merged("[ecn]\nkind = 'step'\nthreshold = '1 KB'", "[ecn]\nkind = 'red'\nkmin = '1 B'");
        assert_eq!(show(&item), "{ecn={kind=\"red\",kmin=\"1 B\"}}");
        let item = merged("policy = { name = 'dt', alpha = 2 }", "policy = { name = 'abm' }");
        assert_eq!(show(&item), "{policy={name=\"abm\"}}");
        let item = merged("policy = { name = 'dt', alpha = 2 }", "policy = 'abm'");
        assert_eq!(show(&item), "{policy=\"abm\"}");
    }

    #[test]
    fn a_name_with_brackets_is_a_table() {
        let expanded = |text: &str| {
            let mut item = Item { value: Value::String(text.to_owned()), origin: Origin::BUILT_IN };
            expand_name(&mut item);
            show(&item)
        };
        assert_eq!(expanded("dt(alpha=0.5, cap=20 KB)"), "{name=\"dt\",alpha=0.5,cap=\"20 KB\"}");
        assert_eq!(expanded("dt(alpha"), "{name=\"dt(alpha\"}");
        assert_eq!(expanded("dt(alpha=[1)"), "{name=\"dt(alpha=[1)\"}");
    }

    #[test]
    fn a_parameter_alone_keeps_the_policy() {
        let item = merged("policy = 'dt'", "policy.alpha = 2");
        assert_eq!(show(&item), "{policy={name=\"dt\",alpha=2}}");
    }

    #[test]
    fn an_alternative_key_replaces_its_sibling() {
        let item = merged("[switch]\nbuffer = '1 MB'", "[switch]\nbuffer_per_port_per_gbps = '9 KB'");
        assert_eq!(show(&item), "{switch={buffer_per_port_per_gbps=\"9 KB\"}}");
    }

    #[test]
    fn origins_tell_the_files_apart() {
        let item = merged("[t]\na = 1\nb = 2", "[t]\nb = 3");
        let Value::Table(root) = &item.value else { panic!("a table") };
        let Some(Value::Table(t)) = root.get("t").map(|item| &item.value) else { panic!("a table") };
        assert_eq!(t.get("a").map(|item| item.origin.source), Some(0));
        assert_eq!(t.get("b").map(|item| item.origin.source), Some(1));
    }
}
