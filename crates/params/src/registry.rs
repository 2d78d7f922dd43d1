//! Registries of named entries, built-in or custom.
//!
//! ```
//! use bufferlab_params::{Registry, entry};
//!
//! entry! {
//!     /// Registry entry of a greeting.
//!     pub struct Greeting("greeting") {
//!         /// The word of the greeting.
//!         pub word: &'static str,
//!     }
//! }
//!
//! const fn greeting(name: &'static str) -> Greeting {
//!     let (title, summary, source) = ("Hello", "Says hello.", "An example.");
//!     Greeting { name, aliases: &[], title, summary, source, params: &[], word: "hello" }
//! }
//! static HELLO: Greeting = greeting("hello");
//! static GREETINGS: Registry<Greeting> = Registry::new(&[&HELLO]);
//!
//! GREETINGS.register(greeting("good-day"))?;
//! assert_eq!(GREETINGS.names().collect::<Vec<_>>(), ["hello", "good-day"]);
//! let error = GREETINGS.register(greeting("hello")).map(drop).expect_err("the name is taken");
//! assert_eq!(error.to_string(), "the name \"hello\" belongs to the greeting Hello; choose another");
//! assert!(GREETINGS.verify().is_ok());
//! # Ok::<(), bufferlab_params::RegisterError>(())
//! ```

use crate::info::{ParamInfo, Profile};
use std::fmt;
use std::sync::{PoisonError, RwLock};

/// Longest name of an entry (bytes). Names become columns and folders.
const LONGEST_NAME: usize = 40;

/// Words that cannot be names of entries, because they have another meaning where a name is
/// expected. The reserved words belong to the command line or a scenario's table, or mean "no
/// congestion control".
const RESERVED: &[&str] = &["all", "name", "kind", "none"];
/// Prefix of the names of result folders, which no entry's name may have.
const RESERVED_PREFIX: &str = "seed-";

/// An entry with a name and parameters. [`entry!`](crate::entry!) implements this trait.
pub trait Entry: Send + Sync + 'static {
    /// Name of the kind of entry in messages, such as "policy".
    const KIND: &'static str;
    /// Separator between the words of a name: `-` for entries chosen by `name`,
    /// `_` for entries chosen by the `kind` of a table.
    const SEPARATOR: char = '-';

    /// Returns the fields that all kinds of registry entries have in common.
    fn card(&self) -> Card;
}

/// The fields that all kinds of registry entries have in common.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// Short name of the entry (`dt`) in scenario files, columns and reports.
    pub name: &'static str,
    /// Aliases of the registry entry (`dynamic-threshold`).
    pub aliases: &'static [&'static str],
    /// Full name of the registry entry.
    pub title: &'static str,
    /// Summary of the registry entry in one line.
    pub summary: &'static str,
    /// Source of the registry entry: authors, venue, equation.
    pub source: &'static str,
    /// Parameters that the registry entry declares.
    pub params: &'static [ParamInfo],
}

impl Card {
    /// Whether `name` is the entry's name or one of its aliases.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Returns the name and the aliases of the entry.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// Declares the registry entry of a kind: a struct with the fields of a [`Card`]
/// and the given fields. `$kind` and `$separator` are [`Entry::KIND`] and [`Entry::SEPARATOR`].
#[macro_export]
macro_rules! entry {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $Info:ident($kind:literal $(, $separator:literal)?) { $($fields:tt)* }
    ) => {
        $(#[$attribute])*
        $visibility struct $Info {
            /// Short name of the entry in scenario files, on the command line,
            /// in columns and reports.
            pub name: &'static str,
            /// Aliases of the registry entry.
            pub aliases: &'static [&'static str],
            /// Full name of the registry entry, for people.
            pub title: &'static str,
            /// Summary of the registry entry in one line.
            pub summary: &'static str,
            /// Source of the registry entry: authors, venue, equation; may be empty.
            pub source: &'static str,
            /// Parameters of the registry entry.
            pub params: &'static [$crate::ParamInfo],
            $($fields)*
        }

        impl $crate::Entry for $Info {
            const KIND: &'static str = $kind;
            $(const SEPARATOR: char = $separator;)?

            fn card(&self) -> $crate::Card {
                $crate::Card {
                    name: self.name,
                    aliases: self.aliases,
                    title: self.title,
                    summary: self.summary,
                    source: self.source,
                    params: self.params,
                }
            }
        }

        impl ::std::fmt::Debug for $Info {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($Info)).field("name", &self.name).finish_non_exhaustive()
            }
        }
    };
}

/// All registry entries of a kind: the built-in list, then custom entries in the order of
/// registration.
pub struct Registry<E: Entry> {
    built_in: &'static [&'static E],
    /// The custom entries. Custom entries exist until the process ends, like built-in entries, so
    /// no reference counts are needed.
    custom: RwLock<Vec<&'static E>>,
}

impl<E: Entry> fmt::Debug for Registry<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.names().collect::<Vec<_>>()).finish()
    }
}

impl<E: Entry> Registry<E> {
    /// Creates a registry whose built-in entries are `built_in`.
    #[must_use]
    pub const fn new(built_in: &'static [&'static E]) -> Self {
        Self { built_in, custom: RwLock::new(Vec::new()) }
    }

    /// The built-in entries of the registry.
    #[must_use]
    pub const fn built_in(&self) -> &'static [&'static E] {
        self.built_in
    }

    /// The custom entries of the registry, in the order of registration.
    #[must_use]
    pub fn custom(&self) -> Vec<&'static E> {
        self.custom.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All entries of the registry: the built-in entries, then the custom entries.
    #[must_use]
    pub fn all(&self) -> Vec<&'static E> {
        self.built_in.iter().copied().chain(self.custom()).collect()
    }

    /// The short names of all entries of the registry.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<E> {
        self.all().into_iter().map(|entry| entry.card().name)
    }

    /// The entry called `name` (its short name or an alias).
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static E> {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        self.built_in.iter().chain(custom.iter()).copied().find(|entry| entry.card().is_called(name))
    }

    /// Checks that the built-in entries obey the rules for custom entries, and share no name.
    ///
    /// # Errors
    /// Returns the first built-in entry that violates a rule, and the reason.
    pub fn verify(&self) -> Result<(), RegisterError> {
        for (index, entry) in self.built_in.iter().enumerate() {
            let card = entry.card();
            check(E::KIND, E::SEPARATOR, &card)?;
            taken(E::KIND, &card, self.built_in[..index].iter().copied())?;
        }
        Ok(())
    }

    /// Registers a custom entry. Afterwards the entry's name works like a built-in name.
    /// The built-in list, the schema and the documentation do not change.
    ///
    /// Register entries before loading scenarios, which are read with the entries known at
    /// that time.
    ///
    /// # Errors
    /// If a name is taken or invalid, a text is missing, or a parameter's default
    /// is outside its domain.
    pub fn register(&self, entry: E) -> Result<&'static E, RegisterError> {
        self.add(entry, false)
    }

    /// Registers like [`Self::register`], for entries whose table also has the keys `common`. No
    /// parameter of the entry may have a name in `common`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::register`]. Also fails if a parameter has a name in `common`.
    pub fn register_below(&self, common: &[&str], entry: E) -> Result<&'static E, RegisterError> {
        check_common(E::KIND, common, &entry.card())?;
        self.add(entry, false)
    }

    /// Replaces like [`Self::replace`], for entries whose table also has the keys `common`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::register_below`] and [`Self::replace`].
    pub fn replace_below(&self, common: &[&str], entry: E) -> Result<&'static E, RegisterError> {
        check_common(E::KIND, common, &entry.card())?;
        self.add(entry, true)
    }

    /// Registers like [`Self::register`], but replaces a custom entry with the name of `entry`. Use
    /// this method for interactive work in which an entry is edited repeatedly. Built-in entries
    /// cannot be replaced. Objects built from the old entry continue to work.
    ///
    /// # Errors
    /// Returns the errors of [`Self::register`].
    /// The function also fails if a different entry has one of the names.
    pub fn replace(&self, entry: E) -> Result<&'static E, RegisterError> {
        self.add(entry, true)
    }

    fn add(&self, entry: E, replace: bool) -> Result<&'static E, RegisterError> {
        let card = entry.card();
        check(E::KIND, E::SEPARATOR, &card)?;
        let mut custom = self.custom.write().unwrap_or_else(PoisonError::into_inner);
        let place = custom.iter().position(|known| replace && known.card().name == card.name);
        let others = custom.iter().enumerate().filter(|(index, _)| Some(*index) != place);
        taken(E::KIND, &card, self.built_in.iter().chain(others.map(|(_, known)| known)).copied())?;
        let entry: &'static E = Box::leak(Box::new(entry));
        match place {
            Some(index) => custom[index] = entry,
            None => custom.push(entry),
        }
        Ok(entry)
    }
}

/// A registry of any kind of entry, for code that only lists entries: schema, documentation,
/// command line.
pub trait Catalog: Sync {
    /// Name of the kind of entry in messages, such as "policy".
    fn kind(&self) -> &'static str;

    /// The common fields of the entries. With `custom`, custom entries are included.
    fn cards(&self, custom: bool) -> Vec<Card>;
}

impl fmt::Debug for dyn Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Catalog").field(&self.kind()).finish()
    }
}

impl<E: Entry> Catalog for Registry<E> {
    fn kind(&self) -> &'static str {
        E::KIND
    }

    fn cards(&self, custom: bool) -> Vec<Card> {
        let custom = if custom { self.custom() } else { Vec::new() };
        self.built_in.iter().copied().chain(custom).map(Entry::card).collect()
    }
}

/// Refuses an entry if one of its names belongs to an entry in `others`.
fn taken<E: Entry>(
    kind: &'static str,
    card: &Card,
    others: impl IntoIterator<Item = &'static E>,
) -> Result<(), RegisterError> {
    for other in others {
        let other = other.card();
        if let Some(name) = card.names().find(|name| other.is_called(name)) {
            return Err(RegisterError::Taken { kind, name: name.to_owned(), title: other.title.to_owned() });
        }
    }
    Ok(())
}

/// Checks a single entry: its names, texts and parameters.
fn check(kind: &'static str, separator: char, card: &Card) -> Result<(), RegisterError> {
    let mut seen: Vec<&str> = Vec::new();
    for name in card.names() {
        let fault = fault_of_name(name, separator).or(seen.contains(&name).then_some("it is given twice"));
        if let Some(why) = fault {
            return Err(RegisterError::Name { kind, name: name.to_owned(), why });
        }
        seen.push(name);
    }
    for (what, text) in [("title", card.title), ("summary", card.summary)] {
        if text.trim().is_empty() || text.contains('\n') {
            return Err(RegisterError::Text { kind, entry: card.name.to_owned(), what });
        }
    }
    for (index, param) in card.params.iter().enumerate() {
        check_parameter(param, &card.params[..index]).map_err(|why| RegisterError::Parameter {
            kind,
            entry: card.name.to_owned(),
            parameter: param.name.to_owned(),
            why,
        })?;
    }
    Ok(())
}

/// Refuses parameters that would hide the keys `common` of every entry's table.
fn check_common(kind: &'static str, common: &[&str], card: &Card) -> Result<(), RegisterError> {
    match card.params.iter().find(|param| common.contains(&param.name)) {
        None => Ok(()),
        Some(param) => Err(RegisterError::Parameter {
            kind,
            entry: card.name.to_owned(),
            parameter: param.name.to_owned(),
            why: format!("every {kind} has this key; choose another name"),
        }),
    }
}

fn check_parameter(param: &ParamInfo, before: &[ParamInfo]) -> Result<(), String> {
    if let Some(why) = fault_of_name(param.name, '_') {
        return Err(why.to_owned());
    }
    if before.iter().any(|other| other.name == param.name) {
        return Err("it is declared twice".to_owned());
    }
    for profile in [Profile::Paper, Profile::Artifact] {
        let default = param.default_in(profile);
        if !default.is_absent() {
            param.check(default).map_err(|misfit| format!("its default: {misfit}"))?;
        }
    }
    Ok(())
}

/// Reason why the name `name` is invalid; `separator` joins the words of a name.
fn fault_of_name(name: &str, separator: char) -> Option<&'static str> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == separator;
    if name.len() > LONGEST_NAME {
        Some("it is longer than 40 characters")
    } else if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(allowed) {
        Some(match separator {
            '-' => "names are lower-case letters and digits joined by \"-\", and begin with a letter",
            _ => "names are lower-case letters and digits joined by \"_\", and begin with a letter",
        })
    } else if RESERVED.contains(&name) || name.starts_with(RESERVED_PREFIX) {
        Some("it has another meaning")
    } else {
        None
    }
}

/// Error: reason why a registry refuses an entry. `kind` is the kind of entry, such as "policy".
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// A name of the refused registry entry is invalid.
    Name {
        /// Kind of the entry that the registry refused.
        kind: &'static str,
        /// Invalid name of the entry that the registry refused.
        name: String,
        /// Rule for names that the invalid name breaks.
        why: &'static str,
    },
    /// A name of the refused registry entry belongs to another entry.
    Taken {
        /// Kind of the refused registry entry, such as "policy".
        kind: &'static str,
        /// Name that belongs to the other entry already.
        name: String,
        /// Full name of the entry that has the name already.
        title: String,
    },
    /// A text of the refused registry entry is empty or has several lines.
    Text {
        /// Kind of the refused registry entry, such as "policy".
        kind: &'static str,
        /// Name of the refused registry entry.
        entry: String,
        /// Name of the text that is empty or has several lines, such as a title or a summary.
        what: &'static str,
    },
    /// A parameter of the refused registry entry is declared incorrectly.
    Parameter {
        /// Kind of the refused registry entry, such as "policy".
        kind: &'static str,
        /// Name of the refused registry entry.
        entry: String,
        /// Name of the incorrectly declared parameter.
        parameter: String,
        /// Description of the value that the declaration must have.
        why: String,
    },
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { kind, name, why } => write!(f, "no {kind} can be called \"{name}\": {why}"),
            Self::Taken { kind, name, title } => {
                write!(f, "the name \"{name}\" belongs to the {kind} {title}; choose another")
            }
            Self::Text { kind, entry, what } => {
                write!(f, "{kind} \"{entry}\": the {what} must be one line that says something")
            }
            Self::Parameter { kind, entry, parameter, why } => {
                write!(f, "{kind} \"{entry}\": parameter \"{parameter}\": {why}")
            }
        }
    }
}

impl std::error::Error for RegisterError {}
