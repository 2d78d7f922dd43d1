//! Parameters whose value is one of a few words: enumerations with spellings and meanings.

/// A word that a parameter's value may be, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Spelling of the word in scenario files.
    pub name: &'static str,
    /// Meaning of the word, for documentation and messages.
    pub meaning: &'static str,
}

/// An enumeration whose values are written as words. The macro [`crate::choices!`] declares such
/// enumerations.
pub trait Choice: Copy + Eq + 'static {
    /// All values of the enumeration, in the order of declaration.
    const ALL: &'static [Self];
    /// Words of all values, in the order of [`Self::ALL`].
    const WORDS: &'static [Word];

    /// The word for the value of the enumeration in scenario files.
    #[must_use]
    fn word(self) -> &'static str;

    /// The value of the enumeration whose word is `word`.
    #[must_use]
    fn from_word(word: &str) -> Option<Self> {
        let index = Self::WORDS.iter().position(|known| known.name == word)?;
        Some(Self::ALL[index])
    }
}

/// Declares an enumeration of words: its variants, their spellings and their meanings.
///
/// ```
/// use bufferlab_params::{Choice, choices};
///
/// choices! {
///     /// End of a queue that loses a packet.
///     #[derive(Default)]
///     pub enum Victim {
///         #[default]
///         Tail = "tail": "the packet that came last",
///         Head = "head": "the packet that leaves next",
///     }
/// }
/// assert_eq!(Victim::from_word("head"), Some(Victim::Head));
/// assert_eq!(Victim::Tail.word(), "tail");
/// assert_eq!(Victim::WORDS[0].meaning, "the packet that came last");
/// ```
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $vis:vis enum $Name:ident {
            $($(#[$variant_meta:meta])* $Variant:ident = $word:literal : $meaning:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $Name {
            $(#[doc = concat!("`", $word, "`: ", $meaning, ".")] $(#[$variant_meta])* $Variant,)+
        }

        impl $Name {
            /// The word for the value of the enumeration in scenario files.
            #[must_use]
            $vis const fn word(self) -> &'static str {
                match self { $(Self::$Variant => $word,)+ }
            }
        }

        impl $crate::Choice for $Name {
            const ALL: &'static [Self] = &[$(Self::$Variant,)+];
            const WORDS: &'static [$crate::Word] = &[$($crate::Word { name: $word, meaning: $meaning },)+];

            fn word(self) -> &'static str {
                Self::word(self)
            }
        }
    };
}

/// Describes the meaning of each of `words` in one sentence. The text is empty if no word has a
/// meaning.
#[must_use]
pub fn meanings(words: &[Word]) -> String {
    let told = words.iter().filter(|word| !word.meaning.is_empty());
    let told: Vec<_> = told.map(|word| format!("`{}`: {}", word.name, word.meaning)).collect();
    if told.is_empty() { String::new() } else { format!("{}.", told.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        /// An enumeration for the tests.
        enum Size {
            Small = "small": "not much",
            Large = "large": "much",
        }
    }

    #[test]
    fn words_and_values_match_in_both_directions() {
        for (value, word) in Size::ALL.iter().zip(Size::WORDS) {
            assert_eq!(value.word(), word.name);
            assert_eq!(Size::from_word(word.name), Some(*value));
        }
        assert_eq!(Size::from_word("middle"), None);
    }

    #[test]
    fn meanings_make_a_sentence_and_words_without_one_are_left_out() {
        assert_eq!(meanings(Size::WORDS), "`small`: not much; `large`: much.");
        let untold = Word { name: "odd", meaning: "" };
        assert_eq!(meanings(&[untold, Size::WORDS[1]]), "`large`: much.");
        assert_eq!(meanings(&[untold]), "");
    }
}
