//! Extracts the texts that people read: comments, docstrings, pages.

/// Kind of the text that a passage contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The passage is a doc comment or a docstring.
    Doc,
    /// The passage is a help text of the command line.
    Help,
    /// The passage is a comment that is not a doc comment.
    Comment,
    /// The passage is a paragraph of a page.
    Page,
}

/// A line of text in a source file or page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Number of the line in its file; the first line has the number 1.
    pub(super) number: usize,
    /// Number of columns of the line in its file.
    pub(super) columns: usize,
    /// Text of the line without comment markers.
    pub(super) text: String,
}

/// A comment of a source file, or a paragraph of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) file: String,
    pub(super) kind: Kind,
    /// Lines of the passage; a passage has at least one line.
    pub(super) lines: Vec<Line>,
}

impl Passage {
    /// Joins all lines of the passage to one text.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the sentences of the passage, each with the line on which the sentence begins.
    pub(super) fn sentences(&self) -> Vec<(Line, String)> {
        let mut sentences: Vec<(Line, String)> = Vec::new();
        let mut is_new = true;
        for line in &self.lines {
            for word in line.text.split_whitespace() {
                if is_new {
                    sentences.push((line.clone(), String::new()));
                }
                if let Some((_, sentence)) = sentences.last_mut() {
                    if !sentence.is_empty() {
                        sentence.push(' ');
                    }
                    sentence.push_str(word);
                }
                let bare = word.trim_start_matches(['(', '[', '"']);
                is_new = word.ends_with(['.', '?', '!']) && !ABBREVIATIONS.contains(&bare);
            }
        }
        sentences
    }
}

/// Words whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] =
    &["e.g.", "i.e.", "Fig.", "Figs.", "Eq.", "Eqs.", "Sec.", "Alg.", "App.", "al.", "No.", "vs.", "etc."];

/// Returns the comments or paragraphs of a file. Generated pages have no passages, because their
/// texts are passages of the source files.
pub(super) fn passages(file: &str, text: &str) -> Vec<Passage> {
    let is_generated = text.lines().take(5).any(|line| line.contains("<!-- generated"));
    let is_foreign = file.contains("/vendor/") || file.starts_with("target/");
    if is_generated || is_foreign {
        return Vec::new();
    }
    match file.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "rs" => rust(file, text),
        "py" | "pyi" => python(file, text),
        "md" => page(file, text),
        "toml" | "sh" => joined(file, text, &|line| Some((Kind::Comment, line.strip_prefix('#')?))),
        _ => Vec::new(),
    }
}

fn rust(file: &str, text: &str) -> Vec<Passage> {
    let is_help = file.starts_with("crates/cli/src/args");
    joined(file, text, &|line| {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let kind = if is_help { Kind::Help } else { Kind::Doc };
        doc.map(|rest| (kind, rest)).or_else(|| Some((Kind::Comment, line.strip_prefix("//")?)))
    })
}

/// Joins consecutive comment lines to passages. `comment` recognises and trims a comment line.
fn joined<'t>(
    file: &str,
    text: &'t str,
    comment: &dyn Fn(&'t str) -> Option<(Kind, &'t str)>,
) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let (mut last, mut in_code) = (None, false);
    for (index, whole) in text.lines().enumerate() {
        let found = comment(whole.trim_start());
        let Some((kind, said)) = found else {
            (last, in_code) = (None, false);
            continue;
        };
        in_code ^= said.trim_start().starts_with("```");
        let is_text = !in_code && !said.trim_start().starts_with(['|', '`', '#', '!', '=', '-']);
        let line = Line {
            number: index + 1,
            columns: whole.chars().count(),
            text: if is_text { said.trim().to_owned() } else { String::new() },
        };
        match passages.last_mut().filter(|_| last == Some(kind)) {
            Some(passage) => passage.lines.push(line),
            None => passages.push(Passage { file: file.to_owned(), kind, lines: vec![line] }),
        }
        last = Some(kind);
    }
    passages
}

/// Returns the comments and docstrings of a Python file. Other strings of several lines are not
/// texts for people.
fn python(file: &str, text: &str) -> Vec<Passage> {
    let text = &without_constants(text);
    let mut passages = joined(file, text, &|line| Some((Kind::Comment, line.strip_prefix('#')?)));
    let mut open: Option<Passage> = None;
    for (index, whole) in text.lines().enumerate() {
        let said = whole.trim();
        let line = |text: &str| Line {
            number: index + 1,
            columns: whole.chars().count(),
            text: if is_example(text.trim()) { String::new() } else { text.trim().to_owned() },
        };
        match &mut open {
            Some(passage) => {
                let rest = said.split_once("\"\"\"");
                passage.lines.push(line(rest.map_or(said, |(before, _)| before)));
                if rest.is_some() {
                    passages.extend(open.take());
                }
            }
            None => {
                let Some(begin) = said.strip_prefix("\"\"\"") else { continue };
                let rest = begin.split_once("\"\"\"");
                let lines = vec![line(rest.map_or(begin, |(before, _)| before))];
                let passage = Passage { file: file.to_owned(), kind: Kind::Doc, lines };
                if rest.is_some() { passages.push(passage) } else { open = Some(passage) }
            }
        }
    }
    passages
}

/// Whether a line of a docstring is code of an example call.
fn is_example(line: &str) -> bool {
    line.starts_with(">>> ") || line.starts_with("... ")
}

/// Replaces string constants of several lines in a Python file by empty lines. Docstrings remain: a
/// docstring begins a line, and no expression is open before the docstring.
fn without_constants(text: &str) -> String {
    let (mut kept, mut closing, mut in_docstring, mut last) = (String::new(), None, false, "");
    for line in text.lines() {
        let said = line.trim();
        let is_inside = closing.is_some();
        if let Some(quotes) = closing {
            closing = Some(quotes).filter(|quotes| !said.contains(quotes));
        } else if !said.starts_with('#') {
            let marks = ["\"\"\"", "'''"].into_iter();
            let first = marks.filter_map(|marks| Some((said.find(marks)?, marks))).min();
            closing = first.filter(|(_, marks)| said.matches(marks).count() % 2 == 1).map(|(_, marks)| marks);
            in_docstring = first.is_some_and(|(at, _)| at == 0) && !last.ends_with(['(', ',', '=']);
        }
        let is_constant = (is_inside || closing.is_some()) && !in_docstring;
        kept.push_str(if is_constant { "" } else { line });
        kept.push('\n');
        last = if said.is_empty() { last } else { said };
    }
    kept
}

/// Whether a line begins an item of a list or a quotation. Emphasis and numbers begin no item.
fn begins_item(line: &str) -> bool {
    let (first, _) = line.split_once(' ').unwrap_or((line, ""));
    let number = first.strip_suffix('.').unwrap_or_default();
    matches!(first, "*" | "-" | ">") || (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// Returns the paragraphs of a page, without headings, code, tables and lists of links.
fn page(file: &str, text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let (mut in_code, mut is_open) = (false, false);
    for (index, whole) in text.lines().enumerate() {
        let said = whole.trim();
        let is_fence = said.starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence || said.is_empty() || said.starts_with(['#', '|', '<', '!']) {
            is_open = false;
            continue;
        }
        let begins = begins_item(said);
        let text = if begins { said.trim_start_matches(|c| "*->".contains(c)).trim_start() } else { said };
        let line = Line { number: index + 1, columns: whole.chars().count(), text: text.to_owned() };
        match passages.last_mut().filter(|_| is_open && !begins) {
            Some(passage) => passage.lines.push(line),
            None => {
                passages.push(Passage { file: file.to_owned(), kind: Kind::Page, lines: vec![line] });
            }
        }
        is_open = true;
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(file: &str, text: &str) -> Vec<(Kind, String)> {
        passages(file, text).iter().map(|passage| (passage.kind, passage.text())).collect()
    }

    #[test]
    fn comments_of_rust_are_joined_by_kind() {
        let text = "//! A crate.\n\n/// First\n/// second.\nfn f() {\n    // Why.\n    // Because.\n}\n";
        let wanted = [
            (Kind::Doc, "A crate.".to_owned()),
            (Kind::Doc, "First second.".to_owned()),
            (Kind::Comment, "Why. Because.".to_owned()),
        ];
        assert_eq!(said("crates/a/src/lib.rs", text), wanted);
        assert_eq!(said("crates/cli/src/args.rs", "/// Run it.\n"), [(Kind::Help, "Run it.".to_owned())]);
    }

    #[test]
    fn docstrings_and_comments_of_python_are_found() {
        let text = "\"\"\"A module.\"\"\"\ndef f():\n    \"\"\"First.\n\n    Second.\n    >>> f()\n    \"\"\"\n    # Why.\n";
        let found = said("a.py", text);
        let docs: Vec<_> = found.iter().map(|(kind, text)| (*kind, text.trim())).collect();
        let wanted = [(Kind::Comment, "Why."), (Kind::Doc, "A module."), (Kind::Doc, "First.  Second.")];
        assert_eq!(docs, wanted);
    }

    #[test]
    fn string_constants_of_python_are_no_docstrings() {
        let constants = [
            "A = \"\"\"duration = 1\n# ms\n\"\"\"\n",
            "A = f'''\n\"\"\"A module.\"\"\"\n# ms\n'''\n",
            "f(\n    \"\"\"duration = 1\n    # ms\n    \"\"\"\n)\n",
            "A = \"\"\"duration = 1\"\"\"\n",
        ];
        for constant in constants {
            let text = format!("{constant}\ndef f():\n    \"\"\"First.\n\n    Second.\"\"\"\n    # Why.\n");
            let found = said("a.py", &text);
            assert!(found.contains(&(Kind::Comment, "Why.".to_owned())), "{constant}: {found:?}");
            assert!(found.contains(&(Kind::Doc, "First.  Second.".to_owned())), "{constant}: {found:?}");
            assert!(!found.iter().any(|(_, text)| text.contains("ms")), "{constant}: {found:?}");
            let docs: Vec<_> = found.iter().filter(|(kind, _)| *kind == Kind::Doc).collect();
            assert_eq!(docs.len(), 1, "{constant}");
        }
        let lines = passages("a.py", "A = \"\"\"\nx\n\"\"\"\n# Why.\n");
        assert_eq!(lines[0].lines[0].number, 4, "a constant leaves the numbers of the lines");
    }

    #[test]
    fn pages_are_paragraphs_without_code_and_tables() {
        let text = "# Title\n\nOne\ntwo.\n\n* item\n* other\n\n```\ncode\n```\n| a | b |\n";
        let found: Vec<_> = said("a.md", text).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["One two.", "item", "other"]);
        let text = "1. Number\n*emphasis* of\n25 words\n* **strong** item\n";
        assert_eq!(passages("a.md", text)[0].text(), "1. Number *emphasis* of 25 words");
        assert_eq!(passages("a.md", text)[1].text(), "**strong** item");
        assert!(passages("a.md", "# Title\n<!-- generated by x -->\nOne.\n").is_empty());
    }

    #[test]
    fn sentences_end_with_their_marks() {
        let passage = &passages("a.md", "One, see Fig. 3. Two\nthree? Four")[0];
        let found: Vec<_> = passage.sentences().into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["One, see Fig. 3.", "Two three?", "Four"]);
        for text in ["By Eqs. 1 and 2.", "By Sec. 3.", "As in Wu et al. (Sec. 3, Alg. 1)."] {
            assert_eq!(passages("a.md", text)[0].sentences().len(), 1, "{text}");
        }
    }
}
