//! Interns words from files as `&'static str`, the type of text in rows:
//! drop reasons, link roles and probe names.

use crate::error::{INTERNED_MAX, TableError};
use std::collections::BTreeSet;
use std::sync::Mutex;

static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns the one static copy of `word`.
/// Each distinct word is leaked once per process, and at most [`INTERNED_MAX`] words.
///
/// # Errors
/// If the limit on distinct words is exceeded.
pub(crate) fn intern(word: &str) -> Result<&'static str, TableError> {
    let mut words = WORDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = words.get(word) {
        return Ok(known);
    }
    if words.len() >= INTERNED_MAX {
        return Err(TableError::TooManyWords);
    }
    let copy: &'static str = Box::leak(word.to_owned().into_boxed_str());
    words.insert(copy);
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_share_one_copy() {
        let first = intern("over-threshold").unwrap();
        assert!(std::ptr::eq(first, intern(&String::from("over-threshold")).unwrap()));
        assert_ne!(first, intern("buffer-full").unwrap());
    }
}
