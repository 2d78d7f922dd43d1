//! Faults in the parameters of a registry entry, with their places. The code of an entry returns
//! faults, and the reader of the document shows each fault at its line.

use std::fmt;

/// A place in the parameters of a registry entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamPlace {
    /// Name of the parameter with the fault.
    pub param: &'static str,
    /// Index of an element, if the parameter's value is a list.
    pub element: Option<usize>,
    /// Key in the list's element, if the elements are tables.
    pub key: Option<&'static str>,
    /// Index in the list's element, if the elements are lists.
    pub inner: Option<usize>,
}

impl ParamPlace {
    /// Creates the place of a whole parameter.
    #[must_use]
    pub const fn new(param: &'static str) -> Self {
        Self { param, element: None, key: None, inner: None }
    }

    /// Adds the index of a list element to the place.
    #[must_use]
    pub const fn element(self, index: usize) -> Self {
        Self { element: Some(index), ..self }
    }

    /// Adds a key of the list element to the place.
    #[must_use]
    pub const fn key(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Adds an index within the list element to the place.
    #[must_use]
    pub const fn inner(self, index: usize) -> Self {
        Self { inner: Some(index), ..self }
    }
}

impl From<&'static str> for ParamPlace {
    fn from(param: &'static str) -> Self {
        Self::new(param)
    }
}

/// A fault or a suspicious combination of parameters, each of which is in its domain.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Place of the fault in the parameters.
    pub place: ParamPlace,
    /// Headline of the error message about the fault.
    pub message: String,
    /// Label at the place of the fault: the expected value, in a few words.
    pub label: String,
    /// Advice for the user about the fault, if any.
    pub help: Option<String>,
    /// Places that are related to the fault, with labels.
    pub also: Vec<(ParamPlace, String)>,
    /// Number of the wrong line (from 1) in the file that the parameter names.
    pub line: Option<usize>,
}

impl Fault {
    /// Creates a fault with the headline `message`, and `label` at the place in the file.
    pub fn new(place: impl Into<ParamPlace>, message: impl Into<String>, label: impl Into<String>) -> Self {
        let (place, message, label) = (place.into(), message.into(), label.into());
        Self { place, message, label, help: None, also: Vec::new(), line: None }
    }

    /// Creates a fault from an error text that ends with advice: the text after "; " is the advice.
    pub fn of_error(place: impl Into<ParamPlace>, error: &str, label: impl Into<String>) -> Self {
        match error.split_once("; ") {
            Some((message, help)) => Self::new(place, message, label).help(help),
            None => Self::new(place, error, label),
        }
    }

    /// Sets the advice of the fault.
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// Sets the advice of the fault, unless the fault has an advice.
    pub fn or_help(self, help: &str) -> Self {
        Self { help: self.help.or_else(|| Some(help.to_owned())), ..self }
    }

    /// Adds a place that is related to the fault.
    pub fn also(mut self, place: impl Into<ParamPlace>, label: impl Into<String>) -> Self {
        self.also.push((place.into(), label.into()));
        self
    }

    /// Sets the number of the wrong line in the file that the parameter names.
    pub fn at_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place.param, self.message)
    }
}

/// Faults that prevented an entry from being built. An empty list means that the fault, a missing
/// part of the document, was reported before.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// Returns an empty list, because the missing part of the document was reported before.
    pub const fn reported() -> Self {
        Self(Vec::new())
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
