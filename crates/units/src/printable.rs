//! Converts input text for a terminal or a page, because input must not control the program that
//! displays the text. All conversions of this kind are in this module.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is a control character, a separator of lines or paragraphs, or a character
/// that changes the text direction. Terminals do not show these characters as text.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Writes every hidden character of `text` as an escape: `\u` and four hexadecimal digits,
/// as in JSON. Line breaks and tabs are kept.
/// In JSON, hidden characters occur only in strings, so the meaning of a JSON text does not change.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_escaped = |character: char| is_hidden(character) && character != '\n' && character != '\t';
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_escaped(character) {
            // All hidden characters are below U+10000, so four digits suffice.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_out_and_text_stays() {
        assert_eq!(printable("8 Gb/s, α ≤ 1\n\tnext"), "8 Gb/s, α ≤ 1\n\tnext");
        assert_eq!(printable("\u{1b}[2Jgone"), "\\u001b[2Jgone");
        assert_eq!(printable("a\u{202e}b\u{9b}c"), "a\\u202eb\\u009bc");
    }
}
