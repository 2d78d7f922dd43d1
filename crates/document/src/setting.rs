//! Keys of one document that another one sets: an experiment changes a scenario. A mistake in such a value is shown where it was written.

use crate::context::Source;
use crate::tree::{Item, Origin, Value, parse};

/// A dotted key of another document and the value that it gets.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The key: `switch.policy`, `workload.web_search.load`.
    pub key: String,
    /// Where the key was written.
    pub key_origin: Origin,
    /// The value.
    pub item: Item,
    /// The text that both stand in; `None`: a program has set it.
    pub source: Option<Source>,
}

impl Setting {
    /// A value that stands in no file.
    #[must_use]
    pub fn new(key: &str, value: Value) -> Self {
        let item = Item { value, origin: Origin::BUILT_IN };
        Self { key: key.to_owned(), key_origin: Origin::BUILT_IN, item, source: None }
    }

    /// A value as command lines have it: TOML, or a bare word for a string.
    #[must_use]
    pub fn of_text(key: &str, text: &str) -> Self {
        let written = parse(0, &format!("value = {text}")).ok();
        let value = written.and_then(|root| match root.value {
            Value::Table(mut table) => table.remove("value").map(|entry| entry.item.value),
            _ => None,
        });
        Self::new(key, value.unwrap_or_else(|| Value::String(text.to_owned())))
    }

    /// Whether one of the two keys is the other one, or contains it.
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
        let value = |text| Setting::of_text("key", text).item.value;
        assert!(matches!(value("abm"), Value::String(text) if text == "abm"));
        assert!(matches!(value("0.5"), Value::Float(x) if x == 0.5));
        assert!(matches!(value("[1, 2]"), Value::Array(items) if items.len() == 2));
        assert!(matches!(value("10 ms"), Value::String(text) if text == "10 ms"));
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
