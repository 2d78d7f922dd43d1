//! Splits a name with parameters, such as `dt(alpha=0.5, cap=20 KB)`, into parts.
//! Every part has its place in the text.

use bufferlab_units::is_hidden;
use std::fmt;
use std::ops::Range;

/// A part of a text, without blanks at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Characters of this part of a longer text, without blanks at its ends.
    pub text: &'a str,
    /// Position of the part's first byte in the whole text.
    pub start: usize,
}

impl<'a> Part<'a> {
    /// Cuts the range `range` from `whole`, and removes blanks at its ends.
    #[must_use]
    pub fn trimmed(whole: &'a str, range: Range<usize>) -> Self {
        let text = &whole[range.clone()];
        let blanks = text.len() - text.trim_start().len();
        Self { text: text.trim(), start: range.start + blanks }
    }

    /// Byte range of this part in the whole text.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// One assignment `key=value` in the brackets after a name, as in `dt(alpha=0.5)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// Key to which the value is assigned.
    pub key: Part<'a>,
    /// Value assigned to the key; never empty.
    pub value: Part<'a>,
}

/// A name, and the parameters in brackets after the name. Without brackets the list of parameters
/// is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Name before the bracket with the parameters; may be empty.
    pub name: Part<'a>,
    /// Parameters of the call, in the order of the text.
    pub parameters: Vec<Assignment<'a>>,
}

/// The reason why a text cannot be parsed, and the place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The whole text that cannot be parsed.
    pub text: String,
    /// Byte range of the mistake in the text.
    pub at: Range<usize>,
    /// Headline of the error message about the mistake.
    pub message: String,
    /// Advice for the user about the mistake; may be empty.
    pub help: String,
}

impl Mistake {
    /// Creates a mistake at the bytes `at` of the text `text`.
    #[must_use]
    pub fn new(text: &str, at: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { text: text.to_owned(), at, message: message.into(), help: help.into() }
    }

    /// Place of the mistake in characters, counted from 1.
    #[must_use]
    pub fn character(&self) -> usize {
        self.text[..self.at.start].chars().count() + 1
    }
}

/// Shows the message, the text with the place underlined, and the advice.
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks = self.text[self.at.clone()].chars().count().max(1);
        let text: String = self.text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect();
        write!(f, "{}\n  {text}\n  {}{}", self.message, " ".repeat(self.character() - 1), "^".repeat(marks))?;
        if self.help.is_empty() { Ok(()) } else { write!(f, "\n{}", self.help) }
    }
}

impl std::error::Error for Mistake {}

/// A character outside quotes: its byte offset, the character, and the number of
/// brackets around the character.
type UnquotedChar = (usize, char, usize);

/// Returns the characters of `text` from byte `start` on that are not in quotes. For a bracket, the
/// number of surrounding brackets excludes the bracket itself.
///
/// # Errors
/// If a bracket or a quote is not closed, or a closing bracket does not match the open one.
pub fn unquoted(text: &str, start: usize) -> Result<Vec<UnquotedChar>, Mistake> {
    let mut seen = Vec::new();
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut quote: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < start) {
        if let Some((_, mark)) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' if mark == '"' => escaped = true,
                _ if c == mark => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '"' | '\'' => quote = Some((at, c)),
            '(' | '[' | '{' => {
                seen.push((at, c, open.len()));
                open.push((at, c));
            }
            ')' | ']' | '}' => {
                let opened = open.pop().map(|(_, opened)| opened);
                if opened.map(closing) != Some(c) {
                    let message = match opened {
                        Some(opened) => format!("expected `{}`, found `{c}`", closing(opened)),
                        None => format!("`{c}` does not close a bracket"),
                    };
                    return Err(Mistake::new(
                        text,
                        at..at + 1,
                        message,
                        "a value with brackets goes into quotes",
                    ));
                }
                seen.push((at, c, open.len()));
            }
            _ => seen.push((at, c, open.len())),
        }
    }
    match quote.or_else(|| open.pop()) {
        None => Ok(seen),
        Some((at, mark)) => {
            let help = match mark {
                '"' | '\'' => format!("add {mark}"),
                bracket => format!("add `{}`", closing(bracket)),
            };
            Err(Mistake::new(text, at..at + 1, format!("this `{mark}` is never closed"), help))
        }
    }
}

const fn closing(opening: char) -> char {
    match opening {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

/// Splits a text at the commas that are outside brackets and quotes.
///
/// # Errors
/// Returns the errors of [`unquoted`].
pub fn between_commas(text: &str) -> Result<Vec<Part<'_>>, Mistake> {
    let seen = unquoted(text, 0)?;
    let commas = seen.iter().filter(|(_, c, depth)| *c == ',' && *depth == 0).map(|(at, ..)| *at);
    Ok(parts(text, 0..text.len(), commas))
}

fn parts(text: &str, range: Range<usize>, separators: impl Iterator<Item = usize>) -> Vec<Part<'_>> {
    let mut start = range.start;
    let mut all = Vec::new();
    for at in separators.chain([range.end]) {
        all.push(Part::trimmed(text, start..at));
        start = at + 1;
    }
    all
}

/// Parses a text of the form `name(key=value, …)`.
///
/// # Errors
/// If brackets or quotes do not match, text follows the closing bracket,
/// or a parameter is not `key=value`.
pub fn call(text: &str) -> Result<Call<'_>, Mistake> {
    call_in(text, 0..text.len(), &unquoted(text, 0)?)
}

/// Parses a part of a text as [`call`] does; `seen` is the result of [`unquoted`] for the text.
///
/// # Errors
/// Returns the errors of [`call`].
pub fn call_in<'a>(text: &'a str, range: Range<usize>, seen: &[UnquotedChar]) -> Result<Call<'a>, Mistake> {
    let within = || seen.iter().filter(|(at, ..)| range.contains(at));
    let bracket =
        |wanted: char| within().find(|(_, c, depth)| *c == wanted && *depth == 0).map(|(at, ..)| *at);
    let Some((open, close)) = bracket('(').zip(bracket(')')) else {
        return Ok(Call { name: Part::trimmed(text, range), parameters: Vec::new() });
    };
    let behind = Part::trimmed(text, close + 1..range.end);
    if !behind.text.is_empty() {
        let help = "a variant continues with ` + path=value`";
        return Err(Mistake::new(text, behind.range(), "nothing is expected after the bracket", help));
    }
    let commas = within().filter(|(_, c, depth)| *c == ',' && *depth == 1).map(|(at, ..)| *at);
    let inner = Part::trimmed(text, open + 1..close);
    let mut parameters: Vec<Assignment<'_>> = Vec::new();
    if !inner.text.is_empty() {
        for part in parts(text, open + 1..close, commas) {
            let new = assignment(text, part, "alpha=0.5")?;
            if parameters.iter().any(|known| known.key.text == new.key.text) {
                let message = format!("`{}` is set twice", new.key.text);
                return Err(Mistake::new(text, new.key.range(), message, "remove one of the two"));
            }
            parameters.push(new);
        }
    }
    Ok(Call { name: Part::trimmed(text, range.start..open), parameters })
}

/// Splits `key=value` at the first `=`.
///
/// # Errors
/// If the part has no `=`, or the key or the value is empty.
pub fn assignment<'a>(text: &'a str, part: Part<'a>, example: &str) -> Result<Assignment<'a>, Mistake> {
    let range = part.range();
    let split = part.text.find('=').map(|at| part.start + at).map(|at| Assignment {
        key: Part::trimmed(text, range.start..at),
        value: Part::trimmed(text, at + 1..range.end),
    });
    match split {
        Some(split) if !split.key.text.is_empty() && !split.value.text.is_empty() => Ok(split),
        _ => {
            let message =
                if part.text.is_empty() { "there is nothing here" } else { "this is not key=value" };
            Err(Mistake::new(
                text,
                range,
                message,
                format!("expected a key, = and a value, such as {example}"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> (String, Vec<(String, String)>) {
        let call = call(text).expect("it can be taken apart");
        let one = |a: &Assignment<'_>| (a.key.text.to_owned(), a.value.text.to_owned());
        (call.name.text.to_owned(), call.parameters.iter().map(one).collect())
    }

    #[test]
    fn a_call_is_a_name_and_its_parameters() {
        let two =
            |a: (&str, &str), b: (&str, &str)| [a, b].map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec();
        assert_eq!(taken(" dt "), ("dt".to_owned(), vec![]));
        assert_eq!(taken("dt()"), ("dt".to_owned(), vec![]));
        assert_eq!(taken("x( a = [1, 2] ,b=(c, d))").1, two(("a", "[1, 2]"), ("b", "(c, d)")));
        assert_eq!(taken("x(a='1)', b=\"\\\"),\")").1, two(("a", "'1)'"), ("b", "\"\\\"),\"")));
        assert_eq!(taken("x(a=b=c, d=20 KB)").1, two(("a", "b=c"), ("d", "20 KB")));
    }

    #[test]
    fn mistakes_know_their_place() {
        let place = |text: &str| {
            let mistake = call(text).expect_err("it is wrong");
            (mistake.character(), mistake.at.len())
        };
        assert_eq!(place("dt(alpha=1"), (3, 1));
        assert_eq!(place("dt(alpha=[1)"), (12, 1));
        assert_eq!(place("dt alpha=1)"), (11, 1));
        assert_eq!(place("µ(a=\"1)"), (5, 1));
        assert_eq!(place("dt(alpha=1) x"), (13, 1));
        assert_eq!(place("dt(alpha)"), (4, 5));
        assert_eq!(place("dt(alpha=)"), (4, 6));
        assert_eq!(place("dt(a=1,)"), (8, 0));
        assert_eq!(place("dt(a=1, a=2)"), (9, 1));
    }

    #[test]
    fn a_mistake_is_shown_under_the_text() {
        let mistake = call("dt(a=1, alpha)").expect_err("it is wrong");
        let shown = "this is not key=value\n  dt(a=1, alpha)\n          ^^^^^\n\
                     expected a key, = and a value, such as alpha=0.5";
        assert_eq!(mistake.to_string(), shown);
    }

    #[test]
    fn commas_in_brackets_and_quotes_separate_nothing() {
        let texts = |text| {
            between_commas(text).expect("it can be taken apart").iter().map(|p| p.text).collect::<Vec<_>>()
        };
        assert_eq!(texts("dt(a=1, b=2), 'x,y' ,[1,2]"), ["dt(a=1, b=2)", "'x,y'", "[1,2]"]);
        assert_eq!(texts(""), [""]);
    }
}
