//! A setting: one document sets a key of another document. For example, an experiment changes a key
//! of a scenario. A mistake in the value is shown at its place in the experiment.

use crate::context::Source;
use crate::tree::{Item, Origin, Value, command_line_value};

/// A dotted key of another document, and the value that the setting gives this key.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The dotted key that the setting changes, such as `switch.policy` or
    /// `workload.web_search.load`.
    pub key: String,
    /// Place of the changed key in its source text.
    pub key_origin: Origin,
    /// Value that the setting gives the key.
    pub item: Item,
    /// Source of the key and the value; `None` if a program created the setting.
    pub source: Option<Source>,
}

impl Setting {
    /// Creates a setting that is not in a file.
    #[must_use]
    pub fn new(key: &str, value: Value) -> Self {
        let item = Item { value, origin: Origin::BUILT_IN };
        Self { key: key.to_owned(), key_origin: Origin::BUILT_IN, item, source: None }
    }

    /// Creates a setting from a value in the syntax of command lines.
    ///
    /// # Errors
    /// Returns the errors of [`command_line_value`].
    pub fn of_text(key: &str, text: &str) -> Result<Self, String> {
        Ok(Self::new(key, command_line_value(text, Origin::BUILT_IN)?.value))
    }

    /// Whether two settings concern equal keys, or a key and a table that contains the key.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let within =
            |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        within(&self.key, &other.key) || within(&other.key, &self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_word_is_a_string_and_the_rest_is_toml() {
        let value = |text| Setting::of_text("key", text).expect("a value").item.value;
        assert!(matches!(value("abm"), Value::String(text) if text == "abm"));
        assert!(matches!(value("0.5"), Value::Float(x) if x == 0.5));
        assert!(matches!(value("[1, 2]"), Value::Array(items) if items.len() == 2));
        assert!(matches!(value("10 ms"), Value::String(text) if text == "10 ms"));
        assert!(Setting::of_text("key", "[1, 2").is_err());
    }

    #[test]
    fn keys_overlap_by_whole_parts() {
        let setting = |key| Setting::new(key, Value::Boolean(true));
        assert!(setting("switch.policy").overlaps(&setting("switch.policy")));
        assert!(setting("switch.policy.alpha").overlaps(&setting("switch.policy")));
        assert!(setting("switch").overlaps(&setting("switch.policy")));
        assert!(!setting("switch.pol").overlaps(&setting("switch.policy")));
    }
}
