//! Keys of one document that another one sets: an experiment changes a scenario. A mistake in such a value is shown where it was written.

use crate::context::Source;
use crate::tree::{Item, Origin, Value};

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
    fn keys_overlap_by_whole_parts() {
        let setting = |key| Setting::new(key, Value::Boolean(true));
        assert!(setting("switch.policy").overlaps(&setting("switch.policy")));
        assert!(setting("switch.policy.alpha").overlaps(&setting("switch.policy")));
        assert!(setting("switch").overlaps(&setting("switch.policy")));
        assert!(!setting("switch.pol").overlaps(&setting("switch.policy")));
    }
}
