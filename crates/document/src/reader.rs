//! Reads one table of a document by its declaration. The reader refuses unknown keys,
//! converts values, fills in defaults, and writes the resolved value of every key.

use crate::context::{Complaint, Context, quoted_list, suggestion};
use crate::convert;
use crate::quantity::{format_rate, format_size, format_time};
use crate::resolved::{OutTable, OutValue, float, quote};
use crate::setting::Setting;
use crate::spec::{Expected, KeySpec, Kind, Presence, TableSpec, Variant};
use crate::tree::{Entry, Item, Origin, Table, Value};
use bufferlab_params::{Card, Choice, ParamInfo, ParamKind};
use bufferlab_units::{BitRate, Time};
use std::borrow::Cow;

/// Reader of one table of a document.
///
/// A getter returns `None` if the key is absent without a default, or if its value is wrong. The
/// context records a wrong value, and a missing key that is required. The format must declare the
/// key with the getter's kind.
pub struct Reader<'a> {
    /// Context that records the problems of the table.
    pub context: &'a Context,
    spec: &'static TableSpec,
    kind: Option<&'static str>,
    /// The registry entry that `kind` names, if the table has a registry.
    entry: Option<Card>,
    path: String,
    table: Option<&'a Table>,
    /// Place of the reader's table in its source.
    pub origin: Origin,
    /// The resolved table, with a value for every key that was read.
    pub out: OutTable,
    asked: Vec<&'static str>,
    /// Known keys for which the table probably has a misspelled key. The reader does not report the
    /// known keys as missing.
    misspelled: Vec<String>,
}

/// Joins the path of a table and a key to a dotted path.
#[must_use]
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

impl<'a> Reader<'a> {
    /// Opens `item` as a table of `spec`; an absent item is an empty table.
    /// Returns `None` if the item is not a table, or its `kind` is missing or unknown.
    pub fn open(
        context: &'a Context,
        spec: &'static TableSpec,
        path: String,
        item: Option<&'a Item>,
    ) -> Option<Self> {
        let (table, origin) = match item {
            None => (None, Origin::BUILT_IN),
            Some(Item { value: Value::Table(table), origin }) => (Some(table), *origin),
            Some(item) => {
                let found = item.value.kind_in_words();
                let complaint = Complaint::new(
                    format!("expected a table, found {found}"),
                    format!("expected {}", spec.title),
                );
                context.error(
                    &path,
                    item.origin,
                    complaint.help(format!("keys: {}", keys_in_words(spec, None))),
                );
                return None;
            }
        };
        let (out, asked, misspelled) = (OutTable::default(), Vec::new(), Vec::new());
        let (kind, entry) = (None, None);
        let mut reader = Self { context, spec, kind, entry, path, table, origin, out, asked, misspelled };
        if !spec.variants.is_empty() {
            let kinds: Vec<_> = spec.variants.iter().map(|variant| variant.kind).collect();
            let index = reader.read_kind(&kinds, |index, written| kinds[index] == written)?;
            reader.take_kind(kinds[index]);
        } else if spec.catalog().is_some() {
            let cards = spec.cards(true);
            let kinds: Vec<_> = cards.iter().map(|card| card.name).collect();
            let index = reader.read_kind(&kinds, |index, written| cards[index].is_called(written))?;
            reader.entry = Some(cards[index]);
            reader.asked.push("kind");
            reader.take_kind(kinds[index]);
        }
        reader.refuse_unknown_keys();
        Some(reader)
    }

    /// Reads the table's `kind` and returns its index in `kinds`.
    fn read_kind(&self, kinds: &[&'static str], is: impl Fn(usize, &str) -> bool) -> Option<usize> {
        let names = || kinds.iter().copied();
        let Some(item) = self.item("kind") else {
            let complaint = Complaint::new("`kind` is missing", "which kind is this?");
            let complaint = complaint.help(format!("known kinds: {}", quoted_list(names())));
            self.context.error(&join(&self.path, "kind"), self.origin, complaint);
            return None;
        };
        let written = match &item.value {
            Value::String(text) => text.as_str(),
            _ => "",
        };
        if let Some(index) = (0..kinds.len()).find(|&index| is(index, written)) {
            return Some(index);
        }
        let help = match suggestion(written, names()) {
            Some(near) => format!("did you mean \"{near}\"? known kinds: {}", quoted_list(names())),
            None => format!("known kinds: {}", quoted_list(names())),
        };
        let complaint = Complaint::new("unknown kind", "no such kind").help(help);
        self.context.error(&join(&self.path, "kind"), item.origin, complaint);
        None
    }

    fn take_kind(&mut self, kind: &'static str) {
        self.kind = Some(kind);
        self.out.set("kind", quote(kind));
    }

    /// Every key that the table accepts, in the order of the format's declaration.
    fn known_keys(&self) -> Vec<&'static str> {
        let keys = self.spec.keys_of(self.kind).map(|key| key.name);
        let params = self.entry.map_or(&[][..], |card| card.params);
        keys.chain(params.iter().map(|param| param.name)).collect()
    }

    /// Returns another value of `kind` with which the table would accept the key `key`.
    fn kind_with(&self, key: &str) -> Option<&'static str> {
        let variant = |variant: &&Variant| variant.keys.iter().any(|known| known.name == key);
        let card = |card: &Card| card.params.iter().any(|param| param.name == key);
        let variant = self.spec.variants.iter().find(variant).map(|variant| variant.kind);
        variant.or_else(|| self.spec.cards(true).into_iter().find(card).map(|card| card.name))
    }

    fn refuse_unknown_keys(&mut self) {
        let Some(table) = self.table else { return };
        let known = self.known_keys();
        // The advice lists keys that the user can add; the table already has `kind`.
        let list = known.iter().copied().filter(|key| *key != "kind").collect::<Vec<_>>().join(", ");
        for entry in &table.entries {
            let tag = entry.key == "kind" && self.kind.is_some();
            if tag || known.contains(&entry.key.as_str()) {
                continue;
            }
            let path = join(&self.path, &entry.key);
            let complaint = if let Some(now) = self.context.moved(self.spec.title, &entry.key) {
                Complaint::new("this key has moved", "parameters belong to the entry that uses them")
                    .help(format!("write {now}"))
            } else if let (Some(other), Some(kind)) = (self.kind_with(&entry.key), self.kind) {
                Complaint::new(
                    format!("this key belongs to kind = \"{other}\", but kind is \"{kind}\""),
                    "not a key of this kind",
                )
                .help(match synonym(&entry.key, &known) {
                    Some(near) => format!("did you mean `{near}`?\nkeys here: {list}"),
                    None => format!("keys here: {list}"),
                })
            } else {
                let list = format!("keys here: {list}");
                let near =
                    synonym(&entry.key, &known).or_else(|| suggestion(&entry.key, known.iter().copied()));
                let help = match near {
                    Some(near) => {
                        let help = format!("did you mean `{near}`?\n{list}");
                        self.misspelled.push(near);
                        help
                    }
                    None => match self.context.elsewhere(self.spec.title, &entry.key) {
                        Some(advice) => format!("{advice}\n{list}"),
                        None => list,
                    },
                };
                Complaint::new("unknown key", format!("{} has no such key", self.spec.title)).help(help)
            };
            self.context.error(&path, entry.key_origin, complaint);
        }
    }

    /// Returns the value of the table's key `kind`.
    pub fn kind(&self) -> &'static str {
        self.kind.expect("the format declares kinds for this table")
    }

    /// The dotted path of a key of the reader's table.
    pub fn path(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The value of `key` in the document, without its default.
    pub fn item(&self, key: &str) -> Option<&'a Item> {
        self.table.and_then(|table| table.get(key))
    }

    /// Whether the document sets the key `key` of the table.
    pub fn has(&self, key: &str) -> bool {
        self.item(key).is_some()
    }

    /// The parameters of the registry entry that the table's `kind` names.
    /// # Panics
    /// If the format declares no registry for this table.
    #[must_use]
    pub fn params(&self) -> &'static [ParamInfo] {
        self.entry.expect("the format declares a registry for this table").params
    }

    /// Place of the table's `key`, or of the table if `key` is absent.
    pub fn place(&self, key: &str) -> Origin {
        self.item(key).map_or(self.origin, |item| item.origin)
    }

    /// Records an error at the key `key` of the table.
    pub fn error(&self, key: &str, complaint: Complaint) {
        self.context.error(&self.path(key), self.place(key), complaint);
    }

    /// Records a warning at the key `key` of the table.
    pub fn warn(&self, key: &str, complaint: Complaint) {
        self.context.warn(&self.path(key), self.place(key), complaint);
    }

    /// Returns the declaration of the table's key `key`.
    pub fn spec_of(&mut self, key: &'static str) -> &'static KeySpec {
        if !self.asked.contains(&key) {
            self.asked.push(key);
        }
        let (spec, kind) = (self.spec, self.kind);
        spec.keys_of(kind)
            .find(|spec| spec.name == key)
            .unwrap_or_else(|| panic!("{} does not declare {key}", spec.title))
    }

    /// The value of `key` in the document, or its default.
    /// An absent key without a default is recorded as an error, if the key is required.
    pub fn value_of(&mut self, key: &'static str) -> Option<Cow<'a, Item>> {
        let spec = self.spec_of(key);
        if let Some(item) = self.item(key) {
            return Some(Cow::Borrowed(item));
        }
        match spec.presence {
            Presence::Default(text) => Some(Cow::Owned(default_item(text))),
            Presence::Optional | Presence::Computed(_) => None,
            Presence::Required => {
                self.report_missing(key, spec.example, spec.doc);
                None
            }
        }
    }

    /// Records that `key` is missing, unless an unknown key is probably a misspelling of `key`.
    pub fn report_missing(&self, key: &str, example: &str, doc: &str) {
        if self.misspelled.iter().any(|near| near == key) {
            return;
        }
        let label = match self.path.as_str() {
            "" => format!("the {} needs it", self.context.document()),
            path => format!("{path} needs it"),
        };
        let complaint = Complaint::new(format!("`{key}` is missing"), label)
            .help(format!("add {key} = {example}\n{doc}"));
        self.context.error(&self.path(key), self.origin, complaint);
    }

    /// Reads a key's value of any kind: converts the value with `convert` and writes the resolved
    /// form of the value.
    pub fn read<T>(
        &mut self,
        key: &'static str,
        convert: impl FnOnce(&Item, &Expected<'_>) -> Result<(T, String), Complaint>,
    ) -> Option<T> {
        let spec = self.spec_of(key);
        let item = self.value_of(key)?;
        match convert(&item, &spec.expected()) {
            Ok((value, text)) => {
                self.out.set(key, text);
                Some(value)
            }
            Err(complaint) => {
                self.context.error(&self.path(key), item.origin, complaint);
                None
            }
        }
    }

    /// Reads a key's value as a string.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        self.read(key, |item, spec| convert::text(item, spec).map(|text| (text.to_owned(), quote(text))))
    }

    /// Reads a key's value as a string, with a computed default.
    pub fn text_or(&mut self, key: &'static str, computed: &str) -> String {
        let value = self.text(key).unwrap_or_else(|| computed.to_owned());
        self.out.set(key, quote(&value));
        value
    }

    /// Reads a key's value as a time with its unit.
    pub fn time(&mut self, key: &'static str) -> Option<Time> {
        self.read(key, |item, spec| {
            let Kind::Time { zero } = spec.kind else { unreachable!("{} is declared as a time", spec.name) };
            let span = Time(convert::time(item, spec, zero)?);
            Ok((span, quote(&format_time(span))))
        })
    }

    /// Reads a key's value as a time, with a computed default.
    pub fn time_or(&mut self, key: &'static str, computed: Option<Time>) -> Option<Time> {
        let value = self.time(key).or(computed)?;
        self.out.set(key, quote(&format_time(value)));
        Some(value)
    }

    /// Reads a key's value as a size (bytes).
    pub fn size(&mut self, key: &'static str) -> Option<u64> {
        self.read(key, |item, spec| {
            let Kind::Size { min, max } = spec.kind else {
                unreachable!("{} is declared as a size", spec.name)
            };
            let bytes = convert::size(item, spec, min, max)?;
            Ok((bytes, quote(&format_size(bytes))))
        })
    }

    /// Reads a key's value as a size that the declaration limits to 32 bits.
    pub fn small_size(&mut self, key: &'static str) -> Option<u32> {
        self.size(key).map(|bytes| u32::try_from(bytes).expect("the format bounds it"))
    }

    /// Reads a key's value as a size limited to 32 bits, with a computed default.
    pub fn small_size_or(&mut self, key: &'static str, computed: u32) -> u32 {
        let value = self.small_size(key).unwrap_or(computed);
        self.out.set(key, quote(&format_size(value.into())));
        value
    }

    /// Reads a key's value as a rate (bit/s).
    pub fn rate(&mut self, key: &'static str) -> Option<BitRate> {
        self.read(key, |item, spec| {
            let rate = BitRate(convert::rate(item, spec)?);
            Ok((rate, quote(&format_rate(rate))))
        })
    }

    /// Reads a key's value as a rate, with a computed default.
    pub fn rate_or(&mut self, key: &'static str, computed: Option<BitRate>) -> Option<BitRate> {
        let value = self.rate(key).or(computed)?;
        self.out.set(key, quote(&format_rate(value)));
        Some(value)
    }

    /// Reads a key's value as a whole number.
    pub fn count(&mut self, key: &'static str) -> Option<u64> {
        self.read(key, |item, spec| {
            let Kind::Count { min, max } = spec.kind else {
                unreachable!("{} is declared as a count", spec.name)
            };
            let number = convert::count(item, spec, min, max)?;
            Ok((number, number.to_string()))
        })
    }

    /// Reads a key's value as a whole number, with a computed default.
    pub fn count_or(&mut self, key: &'static str, computed: u64) -> u64 {
        let value = self.count(key).unwrap_or(computed);
        self.out.set(key, value.to_string());
        value
    }

    /// Reads a key's value as a whole number, within the declared range of the returned type.
    pub fn small_count<T: TryFrom<u64>>(&mut self, key: &'static str) -> Option<T> {
        self.count(key).map(narrow)
    }

    /// Reads a key's value as a number, or as a fraction in a string, within the declared bounds.
    pub fn ratio(&mut self, key: &'static str) -> Option<f64> {
        self.read(key, |item, spec| {
            let Kind::Ratio { min, max, open } = spec.kind else {
                unreachable!("{} is declared as a ratio", spec.name)
            };
            let number = convert::ratio(item, spec, min, max, open)?;
            Ok((number, float(number)))
        })
    }

    /// Reads a key's value as any number, or as a fraction in a string.
    pub fn number(&mut self, key: &'static str) -> Option<f64> {
        self.read(key, |item, spec| {
            let number = convert::number(item).ok_or_else(|| convert::wrong_kind(item, spec))?;
            Ok((number, float(number)))
        })
    }

    /// Reads a key's value as `true` or `false`.
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.read(key, |item, spec| convert::flag(item, spec).map(|flag| (flag, flag.to_string())))
    }

    /// Reads a key's value as a word of the enumeration whose words the key's declaration lists.
    pub fn choice<T: Choice>(&mut self, key: &'static str) -> Option<T> {
        self.read(key, |item, wanted| {
            let value: T = convert::choice(item, wanted)?;
            Ok((value, quote(value.word())))
        })
    }

    /// Reads a key's value as a word of an enumeration, with a computed default.
    pub fn choice_or<T: Choice>(&mut self, key: &'static str, computed: T) -> T {
        let value = self.choice(key).unwrap_or(computed);
        self.out.set(key, quote(value.word()));
        value
    }

    /// Reads a key's value as one of the words that the key's declaration lists.
    pub fn word(&mut self, key: &'static str) -> Option<&'static str> {
        self.read(key, |item, spec| {
            let word = convert::word(item, spec, &convert::words_of(&spec.kind))?;
            Ok((word, quote(word)))
        })
    }

    /// Reads a key's value as a word, with a computed default.
    pub fn word_or(&mut self, key: &'static str, computed: &'static str) -> &'static str {
        let value = self.word(key).unwrap_or(computed);
        self.out.set(key, quote(value));
        value
    }

    /// Reads a key's value as a list of whole numbers.
    pub fn counts(&mut self, key: &'static str) -> Option<Vec<u64>> {
        self.read(key, |item, spec| {
            let Kind::Counts { min, max } = spec.kind else {
                unreachable!("{} is declared as counts", spec.name)
            };
            let elements = convert::elements(item, spec)?.iter();
            let numbers: Vec<u64> =
                elements.map(|element| convert::count(element, spec, min, max)).collect::<Result<_, _>>()?;
            let text = crate::resolved::list(numbers.iter().map(u64::to_string));
            Ok((numbers, text))
        })
    }

    /// Reads a key's value as a list of whole numbers, within the declared range of the returned
    /// type.
    pub fn small_counts<T: TryFrom<u64>>(&mut self, key: &'static str) -> Option<Vec<T>> {
        self.counts(key).map(|numbers| numbers.into_iter().map(narrow).collect())
    }

    /// Reads a key's value as a list of sizes, each at least 1 B and less than 4 GiB.
    pub fn small_sizes(&mut self, key: &'static str) -> Option<Vec<u32>> {
        self.read(key, |item, spec| {
            let elements = convert::elements(item, spec)?.iter();
            let sizes: Vec<u64> = elements
                .map(|element| convert::size(element, spec, 1, u32::MAX.into()))
                .collect::<Result<_, _>>()?;
            let text = crate::resolved::list(sizes.iter().map(|&size| quote(&format_size(size))));
            Ok((sizes.into_iter().map(narrow).collect(), text))
        })
    }

    /// Reads a key's value as a string or a list of strings.
    pub fn names(&mut self, key: &'static str) -> Option<Vec<String>> {
        self.texts(key).map(|texts| texts.into_iter().map(|(text, _)| text).collect())
    }

    /// Reads a key's value as a string or a list of strings, with their places.
    pub fn texts(&mut self, key: &'static str) -> Option<Vec<(String, Origin)>> {
        self.read(key, |item, spec| {
            let one = |item: &Item| Ok((convert::text(item, spec)?.to_owned(), item.origin));
            let texts: Vec<_> = match &item.value {
                Value::Array(list) => list.iter().map(one).collect::<Result<_, Complaint>>()?,
                _ => vec![one(item)?],
            };
            let text = crate::resolved::list(texts.iter().map(|(text, _)| quote(text)));
            Ok((texts, text))
        })
    }

    /// Reads a key's value as a list of words of the enumeration that the key's declaration lists.
    pub fn choices<T: Choice>(&mut self, key: &'static str) -> Option<Vec<T>> {
        self.read(key, |item, spec| {
            let Kind::List(ParamKind::Choice(words)) = spec.kind else {
                unreachable!("{} is declared as a list of words", spec.name)
            };
            let wanted = Expected { kind: Kind::Words(words), ..*spec };
            let elements = convert::elements(item, spec)?.iter();
            let choices: Vec<T> =
                elements.map(|element| convert::choice(element, &wanted)).collect::<Result<_, _>>()?;
            let text = crate::resolved::list(choices.iter().map(|choice| quote(choice.word())));
            Ok((choices, text))
        })
    }

    /// Reads the elements of a key's list of values; empty if the key is absent or not a list.
    pub fn values(&mut self, key: &'static str) -> &'a [Item] {
        let spec = self.spec_of(key);
        match self.item(key).map(|item| (&item.value, convert::wrong_kind(item, &spec.expected()))) {
            Some((Value::Array(list), _)) => {
                if list.is_empty() {
                    let complaint = Complaint::new("the list is empty", "expected at least one value");
                    self.error(key, complaint.help(format!("for example {key} = {}", spec.example)));
                }
                list
            }
            Some((_, wrong)) => {
                self.error(key, wrong);
                &[]
            }
            None => {
                self.value_of(key);
                &[]
            }
        }
    }

    /// Reads a table whose keys the document chooses: its entries in the order of the document.
    /// Empty if the key is absent or not a table.
    pub fn entries(&mut self, key: &'static str) -> &'a [Entry] {
        let spec = self.spec_of(key);
        match self.item(key).map(|item| (&item.value, convert::wrong_kind(item, &spec.expected()))) {
            Some((Value::Table(table), _)) => &table.entries,
            Some((_, wrong)) => {
                self.error(key, wrong);
                &[]
            }
            None => {
                self.value_of(key);
                &[]
            }
        }
    }

    /// Reads the table `key`, whose entries set keys of another document: an experiment sets
    /// scenario keys. The settings are in the order of the table.
    pub fn settings(&mut self, key: &'static str) -> Vec<Setting> {
        let entries = self.entries(key).iter();
        let setting = |entry: &Entry| {
            if entry.key.split('.').any(|part| part.trim().is_empty()) {
                let message = format!("\"{}\" is not a dotted key", entry.key);
                let complaint =
                    Complaint::new(message, "expected a key").help("for example \"switch.policy\"");
                self.context.error(&self.path(key), entry.key_origin, complaint);
            }
            Setting {
                key: entry.key.clone(),
                key_origin: entry.key_origin,
                item: entry.item.clone(),
                source: self.context.source_of(entry.key_origin).cloned(),
            }
        };
        entries.map(setting).collect()
    }

    /// Reads a table that is the value of the key `key`.
    pub fn table(&mut self, key: &'static str) -> Option<Reader<'a>> {
        let spec = self.spec_of(key);
        let Kind::Table(below) = spec.kind else { unreachable!("{key} is declared as a table") };
        if self.item(key).is_none() && matches!(spec.presence, Presence::Required) {
            self.value_of(key);
            return None;
        }
        Reader::open(self.context, below, self.path(key), self.item(key))
    }

    /// Reads a list of tables. Skips tables that cannot be opened, whose problem is recorded.
    pub fn tables(&mut self, key: &'static str) -> Vec<Reader<'a>> {
        let spec = self.spec_of(key);
        let Kind::Tables(below) = spec.kind else { unreachable!("{key} is declared as a list of tables") };
        let Some(item) = self.item(key) else {
            self.value_of(key);
            return Vec::new();
        };
        let Value::Array(list) = &item.value else {
            let complaint = match item.value {
                Value::Table(_) => Complaint::new("expected a list of tables, found one table", "one table")
                    .help(format!(
                        "write the header with two brackets: [[{}]], or {key} = [{{ … }}]",
                        self.path(key)
                    )),
                _ => convert::wrong_kind(item, &spec.expected()),
            };
            self.context.error(&self.path(key), item.origin, complaint);
            return Vec::new();
        };
        if list.is_empty() && matches!(spec.presence, Presence::Required) {
            let complaint = Complaint::new("the list is empty", "expected at least one entry");
            self.error(key, complaint.help(format!("for example {key} = {}", spec.example)));
        }
        let open = |(index, item)| {
            Reader::open(self.context, below, format!("{}.{index}", self.path(key)), Some(item))
        };
        list.iter().enumerate().filter_map(open).collect()
    }

    /// Writes the resolved form of a table below the reader's table.
    pub fn put(&mut self, key: &'static str, table: OutTable) {
        self.out.put(key, OutValue::Table(table));
    }

    /// Writes the resolved form of a list of tables below the reader's table.
    pub fn put_all(&mut self, key: &'static str, tables: Vec<OutTable>) {
        if !tables.is_empty() {
            self.out.put(key, OutValue::Tables(tables));
        }
    }

    /// Ends reading and returns the resolved table, in the order of the format.
    /// The caller must have read every declared key.
    pub fn finish(mut self) -> OutTable {
        let unread = self.spec.keys_of(self.kind).find(|key| !self.asked.contains(&key.name));
        debug_assert!(unread.is_none(), "{} declares {:?} and nobody reads it", self.spec.title, unread);
        let order = self.known_keys();
        // The format does not declare the key `kind` of a table. The key `kind` is the first key of
        // the resolved table.
        self.out.sort_by_key(|key| order.iter().position(|known| *known == key).map_or(0, |index| index + 1));
        self.out
    }
}

/// Converts a whole number to a smaller type. The declaration of the key limits the number to this
/// type.
fn narrow<T: TryFrom<u64>>(number: u64) -> T {
    T::try_from(number).unwrap_or_else(|_| panic!("the format bounds {number}"))
}

/// Parses a default value in the declaration of a key.
fn default_item(text: &str) -> Item {
    let document = format!("value = {text}");
    let parsed =
        crate::tree::parse(Origin::BUILT_IN.source, &document).expect("defaults of the format parse");
    let Value::Table(mut table) = parsed.value else { unreachable!("a document is a table") };
    let mut item = table.remove("value").expect("it was just written").item;
    item.origin = Origin::BUILT_IN;
    item
}

fn keys_in_words(spec: &TableSpec, kind: Option<&str>) -> String {
    let names: Vec<_> = spec.keys_of(kind).map(|key| key.name).collect();
    names.join(", ")
}

/// The known key that corresponds to a word `written`, which other programs use for the setting.
fn synonym(written: &str, known: &[&str]) -> Option<String> {
    const MEANT: &[(&str, &str)] = &[
        ("name", "class"),
        ("rate", "queries_per_second_per_host"),
        ("size", "request"),
        ("uplink_rate", "fabric_rate"),
    ];
    let (_, meant) = MEANT.iter().find(|(other, meant)| *other == written && known.contains(meant))?;
    Some((*meant).to_owned())
}
