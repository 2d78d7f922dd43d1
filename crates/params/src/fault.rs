//! What is wrong with the parameters of an entry, and where: an entry says it in these terms, and
//! the reader of a file shows it at the right line.

use std::fmt;

/// A place in the parameters of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The parameter.
    pub param: &'static str,
    /// An element of its list.
    pub element: Option<usize>,
    /// A key of that element, where the elements are tables.
    pub key: Option<&'static str>,
    /// An element of that element, where the elements are lists.
    pub inner: Option<usize>,
}

impl Place {
    /// A parameter.
    #[must_use]
    pub const fn new(param: &'static str) -> Self {
        Self { param, element: None, key: None, inner: None }
    }

    /// An element of its list.
    #[must_use]
    pub const fn element(self, index: usize) -> Self {
        Self { element: Some(index), ..self }
    }

    /// A key of that element.
    #[must_use]
    pub const fn key(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    /// An element of that element.
    #[must_use]
    pub const fn inner(self, index: usize) -> Self {
        Self { inner: Some(index), ..self }
    }
}

impl From<&'static str> for Place {
    fn from(param: &'static str) -> Self {
        Self::new(param)
    }
}

/// Something that is wrong, or suspicious, with parameters that are each in their domain.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// The headline.
    pub message: String,
    /// What stands at the place: what was expected, in a few words.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Other places that belong to it.
    pub also: Vec<(Place, String)>,
    /// The line (from 1) of the file that the parameter names.
    pub line: Option<usize>,
}

impl Fault {
    /// `message` is the headline, `label` stands at the place in the file.
    pub fn new(place: impl Into<Place>, message: impl Into<String>, label: impl Into<String>) -> Self {
        let (place, message, label) = (place.into(), message.into(), label.into());
        Self { place, message, label, help: None, also: Vec::new(), line: None }
    }

    /// Of an error whose words end with advice: what stands behind "; " becomes the help.
    pub fn of_error(place: impl Into<Place>, error: &str, label: impl Into<String>) -> Self {
        match error.split_once("; ") {
            Some((message, help)) => Self::new(place, message, label).help(help),
            None => Self::new(place, error, label),
        }
    }

    /// With advice.
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// With this advice, if there is none yet.
    pub fn or_help(self, help: &str) -> Self {
        Self { help: self.help.or_else(|| Some(help.to_owned())), ..self }
    }

    /// With another place.
    pub fn also(mut self, place: impl Into<Place>, label: impl Into<String>) -> Self {
        self.also.push((place.into(), label.into()));
        self
    }

    /// At a line of the file that the parameter names.
    pub fn at_line(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place.param, self.message)
    }
}

/// Why an entry could not be built: one fault or several. None: something that it needs is missing,
/// which has been reported.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// What the entry needs is missing, and whoever should have provided it has said so.
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
