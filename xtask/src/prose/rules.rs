//! The language rules for comments and pages.

use super::text::{Kind, Line, Passage};

/// A language rule that a program can check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Name of the language rule in `xtask/prose.csv`.
    pub(super) name: &'static str,
    /// Advice to the author of a line that breaks the rule.
    pub(super) advice: &'static str,
    /// Function that finds the lines that break the language rule.
    broken: fn(&Passage) -> Vec<Line>,
}

/// All language rules that this module checks.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "back-reference",
        advice: "a doc comment stands alone: name its subject",
        broken: back_references,
    },
    Rule {
        name: "noun-clause",
        advice: "begin with a noun or a verb, not with what, who, which or a question",
        broken: |passage| first(passage, &[Kind::Doc, Kind::Help, Kind::Comment], NOUN_CLAUSES),
    },
    Rule {
        name: "long-line",
        advice: "wrap comments and prose at 100 columns",
        broken: |passage| passage.lines.iter().filter(|line| is_long(line)).cloned().collect(),
    },
    Rule { name: "filler", advice: "leave it out, or name the thing", broken: fillers },
    Rule { name: "long-sentence", advice: "at most 25 words: make it two", broken: long_sentences },
];

/// Pronouns at the start of a sentence whose noun is in an earlier line of a doc comment.
const PRONOUNS: &[&str] = &["It ", "Its ", "They ", "Their "];

/// Phrases at the start of doc comments that refer to a neighbouring item.
const BACK_REFERENCES: &[&str] = &[
    "the same",
    "its ",
    "of these",
    "as above",
    "it ",
    "that of",
    "likewise",
    "they ",
    "their ",
    "these ",
    "those ",
    "this ",
    "and ",
    "but ",
    "else ",
    "so ",
    "also ",
    "both.",
    "the other",
    "there ",
    "then ",
    "of it",
    "of them",
    "for these",
    "with it",
    "without it",
    "as such",
];

/// Phrases at the start of comments that name no subject.
const NOUN_CLAUSES: &[&str] = &[
    "what ",
    "who ",
    "whose ",
    "which ",
    "whoever ",
    "whatever ",
    "how ",
    "where ",
    "when ",
    "why ",
    "so many",
    "that ",
    "all that",
    "nobody",
    "somebody",
    "nothing",
    "one that",
    "those ",
];

/// Words without meaning, and verbs that have a plainer substitute.
const FILLERS: &[&str] = &[
    "at all",
    "so many",
    "any more",
    "as well",
    "likewise",
    "somebody",
    "somebody's",
    "one's own",
    "heed",
    "heeds",
    "brings along",
    "bring along",
    "becomes of",
    "become of",
    "became of",
    "goes on",
    "go on",
    "lies below",
    "lie below",
    "lies beside",
    "lie beside",
    "lies there",
    "stands there",
    "stands before",
    "is told",
    "are told",
    "is said",
    "are said",
    "says so",
    "of its own",
    "of their own",
    "of your own",
    "of his own",
    "of ours",
    "is asked for",
    "is meant",
    "was meant",
    "to be had",
    "nobody",
    "whoever",
    "in the place of",
    "such a one",
    "its turn",
    "by itself",
    "what is there",
    "that is there",
];

/// Maximum number of columns that a comment line may have.
const COLUMNS_MAX: usize = 100;
/// Maximum number of words that a sentence may have.
const WORDS_MAX: usize = 25;

/// Returns the lines of a passage that violate a language rule, with the names of the rules.
pub(super) fn broken(passage: &Passage) -> Vec<(&'static str, Line)> {
    let of_rule = |rule: &Rule| {
        let name = rule.name;
        (rule.broken)(passage).into_iter().map(move |line| (name, line))
    };
    RULES.iter().flat_map(of_rule).collect()
}

/// Returns the first line of a passage, if the passage has one of the kinds `kinds` and begins with
/// one of `beginnings`.
fn first(passage: &Passage, kinds: &[Kind], beginnings: &[&str]) -> Vec<Line> {
    let line = &passage.lines[0];
    let text = line.text.to_lowercase();
    let is_broken = kinds.contains(&passage.kind) && beginnings.iter().any(|begin| text.starts_with(begin));
    if is_broken { vec![line.clone()] } else { Vec::new() }
}

/// Finds a first line that refers to a neighbouring item, and later lines that begin with a
/// pronoun.
fn back_references(passage: &Passage) -> Vec<Line> {
    let mut found = first(passage, &[Kind::Doc, Kind::Help], BACK_REFERENCES);
    let is_pronoun = |line: &&Line| PRONOUNS.iter().any(|pronoun| line.text.starts_with(pronoun));
    if passage.kind == Kind::Doc {
        found.extend(passage.lines.iter().skip(1).filter(is_pronoun).cloned());
    }
    found
}

/// Whether a line of a comment is too long; a line of one unbreakable word is never too long.
fn is_long(line: &Line) -> bool {
    line.columns > COLUMNS_MAX && line.text.split_whitespace().nth(1).is_some()
}

fn fillers(passage: &Passage) -> Vec<Line> {
    let is_broken = |line: &&Line| {
        let text: String = line.text.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
        FILLERS.iter().any(|filler| has_words(&text, filler))
    };
    passage.lines.iter().filter(is_broken).cloned().collect()
}

/// Whether a text contains the phrase `words` as whole words.
fn has_words(text: &str, words: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '\'');
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + words.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    })
}

/// Finds long sentences in help texts and in the README.
fn long_sentences(passage: &Passage) -> Vec<Line> {
    if passage.kind != Kind::Help && passage.file != "README.md" {
        return Vec::new();
    }
    let is_long = |sentence: &str| sentence.split_whitespace().count() > WORDS_MAX;
    let sentences = passage.sentences().into_iter();
    sentences.filter(|(_, sentence)| is_long(sentence)).map(|(line, _)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::text::passages;
    use super::*;

    fn rules(file: &str, text: &str) -> Vec<&'static str> {
        passages(file, text).iter().flat_map(broken).map(|(rule, _)| rule).collect()
    }

    #[test]
    fn every_rule_finds_its_kind_and_leaves_plain_text_alone() {
        for (text, wanted) in [
            ("/// The same, of a queue.\n", &["back-reference"][..]),
            ("/// Top module.\n/// Its cost is measured.\n", &["back-reference"]),
            ("/// What becomes of a packet.\n", &["noun-clause", "filler"]),
            ("// It lies below the folder.\n", &["filler"]),
            ("/// Bytes that a queue holds.\n", &[]),
            ("/// The heeding of `heeds` and itself.\n", &[]),
        ] {
            assert_eq!(rules("crates/a/src/lib.rs", text), wanted, "{text}");
        }
        let long = "word ".repeat(26);
        assert_eq!(rules("README.md", &format!("{long}\n")), ["long-line", "long-sentence"]);
        assert_eq!(rules("docs/a.md", &format!("{}\n", &long[..95])), Vec::<&str>::new());
        assert_eq!(
            rules("crates/cli/src/args/a.rs", &format!("/// {long}\n")).last(),
            Some(&"long-sentence")
        );
        assert_eq!(rules("a.md", &format!("{}\n", "x".repeat(130))), Vec::<&str>::new(), "one word");
    }
}
