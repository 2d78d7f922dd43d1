//! Compares generated documents with the texts that tests compute.
//!
//! A test that finds a stale document fails and stores the fresh text in `target/pages`.
//! Only `cargo xtask generate` writes documents: it runs the tests of a crate and applies the
//! stored texts. A document is a whole file, or a block between two lines of a page.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A fresh text that is not yet in its page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Path of the page, relative to the root of the repository.
    pub path: String,
    /// The lines before and after the block; `None` if the document is a whole file.
    pub markers: Option<(String, String)>,
    /// The fresh text. For a block, this is all text between the markers.
    pub text: String,
}

/// Maximum number of columns of a line of prose in a page.
const COLUMNS_MAX: usize = 100;

/// Folder of fresh texts that are not yet in pages, relative to the repository's root.
const FOLDER: &str = "target/pages";
/// Separator between the fields of a stored text, a character that no page contains.
const SEPARATOR: &str = "\u{1}";

/// Path of the repository's root folder.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns `page` with `block` as the text between the markers `begin` and `end`; `None` if the
/// page lacks a marker.
#[must_use]
pub fn with_block(page: &str, begin: &str, end: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}{block}{end}{after}"))
}

/// Returns `page` with paragraphs and items of lists wrapped at 100 columns.
/// Tables, headings, code and images keep their lines. A `code span` is never divided.
#[must_use]
pub fn wrapped(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut in_code = false;
    for line in page.split_inclusive('\n') {
        let start = line.trim_start();
        in_code ^= start.starts_with("```");
        let is_finished = in_code
            || line.starts_with("    ")
            || ["|", "#", "<", "!["].iter().any(|mark| start.starts_with(mark));
        if is_finished || line.trim_end().chars().count() <= COLUMNS_MAX {
            text.push_str(line);
        } else {
            wrap_line(&mut text, line);
        }
    }
    text
}

fn wrap_line(text: &mut String, line: &str) {
    let start = line.trim_start();
    let indent = line.len() - start.len();
    let hanging = if start.starts_with("* ") || start.starts_with("- ") { indent + 2 } else { indent };
    let mut columns = indent;
    text.push_str(&line[..indent]);
    for (index, word) in words(start.trim_end()).into_iter().enumerate() {
        let length = word.chars().count();
        // At the start of a line, a word such as `*` or `1.` would begin a list or a heading.
        let starts_block = matches!(word, "*" | "-" | "+" | "1.") || word.starts_with('#');
        if index > 0 && columns + 1 + length > COLUMNS_MAX && !starts_block {
            text.push('\n');
            text.push_str(&" ".repeat(hanging));
            columns = hanging;
        } else if index > 0 {
            text.push(' ');
            columns += 1;
        }
        text.push_str(word);
        columns += length;
    }
    if line.ends_with('\n') {
        text.push('\n');
    }
}

/// The words of a line; a code span is part of one word.
fn words(line: &str) -> Vec<&str> {
    let (mut words, mut begin, mut in_code) = (Vec::new(), 0, false);
    for (at, letter) in line.char_indices() {
        match letter {
            '`' => in_code = !in_code,
            ' ' if !in_code => {
                words.push(&line[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    words.push(&line[begin..]);
    words
}

impl Pending {
    /// Returns the text of the whole page after the update.
    ///
    /// # Errors
    /// If the page cannot be read or lacks a marker.
    pub fn fresh(&self, root: &Path) -> Result<String, String> {
        let text = if self.path.ends_with(".md") { wrapped(&self.text) } else { self.text.clone() };
        let Some((begin, end)) = &self.markers else { return Ok(text) };
        let page = fs::read_to_string(root.join(&self.path)).map_err(|error| self.fault(error))?;
        with_block(&page, begin, end, &text)
            .ok_or_else(|| self.fault(format!("expected the markers {begin:?} and {end:?}")))
    }

    /// Writes the fresh text into the page of the document.
    ///
    /// # Errors
    /// If the page cannot be read or written, or lacks a marker.
    pub fn apply(&self, root: &Path) -> Result<(), String> {
        let path = root.join(&self.path);
        let fresh = self.fresh(root)?;
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::write(path, fresh)).map_err(|error| self.fault(error))
    }

    /// Fails if the page differs from the fresh text, and stores the text
    /// for `cargo xtask generate`.
    ///
    /// # Errors
    /// If the page is stale, cannot be read, or lacks a marker.
    /// The message names the command that updates the page.
    pub fn check(&self, root: &Path) -> Result<(), String> {
        let wanted = self.fresh(root)?;
        let present = fs::read_to_string(root.join(&self.path)).unwrap_or_default();
        if present == wanted {
            return Ok(());
        }
        self.leave(root).map_err(|error| self.fault(format!("{FOLDER} cannot be written: {error}")))?;
        let line = present.lines().zip(wanted.lines()).position(|(have, want)| have != want);
        let line = line.unwrap_or_else(|| present.lines().count().min(wanted.lines().count()));
        let of = |text: &str| text.lines().nth(line).unwrap_or("(end of file)").to_owned();
        let (path, number, part) = (&self.path, line + 1, part());
        Err(format!(
            "{path}:{number} is stale; hint: cargo xtask generate {part}\n   found: {}\nexpected: {}",
            of(&present),
            of(&wanted)
        ))
    }

    fn fault(&self, what: impl Display) -> String {
        format!("{}: {what}", self.path)
    }

    /// Stores the fresh text for `cargo xtask generate`. Every block has a separate file, because
    /// tests of one page run in parallel.
    fn leave(&self, root: &Path) -> io::Result<()> {
        let (begin, end) = self.markers.as_ref().map_or(("", ""), |(begin, end)| (begin, end));
        let name: String = format!("{}{begin}", self.path)
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        let folder = root.join(FOLDER);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), [&self.path, begin, end, &self.text].join(SEPARATOR))
    }
}

/// Name of the part of `cargo xtask generate` that runs the calling test: the crate's name.
fn part() -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    package.trim_start_matches("bufferlab-").to_owned()
}

/// Returns the stored texts, sorted by page, and removes them from the folder.
///
/// # Errors
/// If the folder of stored texts cannot be read or emptied.
pub fn take(root: &Path) -> io::Result<Vec<Pending>> {
    let folder = root.join(FOLDER);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut taken = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let file = entry?.path();
        let text = fs::read_to_string(&file)?;
        if let [path, begin, end, text] = text.split(SEPARATOR).collect::<Vec<_>>()[..] {
            let markers = (!begin.is_empty()).then(|| (begin.to_owned(), end.to_owned()));
            taken.push(Pending { path: path.to_owned(), markers, text: text.to_owned() });
        }
        fs::remove_file(file)?;
    }
    taken.sort_by(|a, b| (&a.path, &a.markers).cmp(&(&b.path, &b.markers)));
    Ok(taken)
}

/// Compares the file `path`, relative to the repository's root, with `text`.
///
/// # Errors
/// If the file is stale.
pub fn check_file(path: &str, text: &str) -> Result<(), String> {
    Pending { path: path.to_owned(), markers: None, text: text.to_owned() }.check(&root())
}

/// Compares the text between two markers of the page `path`, relative to the repository's root,
/// with `block`.
///
/// # Errors
/// If the block is stale or the page lacks a marker.
pub fn check_block(path: &str, begin: &str, end: &str, block: &str) -> Result<(), String> {
    let markers = Some((begin.to_owned(), end.to_owned()));
    Pending { path: path.to_owned(), markers, text: block.to_owned() }.check(&root())
}

/// Fails once with all stale documents, so that a single run of the tests stores all fresh texts.
///
/// # Panics
/// If any of the checks failed.
pub fn assert_all(checks: impl IntoIterator<Item = Result<(), String>>) {
    let stale: Vec<_> = checks.into_iter().filter_map(Result::err).collect();
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, text: &str) -> Pending {
        let markers = Some((format!("<{name}>"), format!("</{name}>")));
        Pending { path: "page.md".to_owned(), markers, text: text.to_owned() }
    }

    #[test]
    fn stale_blocks_of_one_page_wait_and_are_applied_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let page = root.join("page.md");
        fs::write(&page, "a <x>old</x> b\n<y>old</y> c").expect("writable");
        let (x, y) = (block("x", "1"), block("y", "2"));
        let error = x.check(root).expect_err("it is stale");
        assert!(error.starts_with("page.md:1 is stale; hint: cargo xtask generate pages\n"), "{error}");
        y.check(root).expect_err("it is stale");
        // A failed check does not change the page.
        assert_eq!(fs::read_to_string(&page).expect("readable"), "a <x>old</x> b\n<y>old</y> c");
        let taken = take(root).expect("readable");
        assert_eq!(taken, [x.clone(), y]);
        taken.iter().for_each(|pending| pending.apply(root).expect("writable"));
        assert_eq!(fs::read_to_string(&page).expect("readable"), "a <x>1</x> b\n<y>2</y> c");
        assert_eq!(x.check(root), Ok(()));
        assert_eq!(take(root).expect("readable"), []);
    }

    #[test]
    fn prose_is_wrapped_and_tables_code_and_spans_are_not() {
        let long = "word ".repeat(30);
        let fixed = format!("# {long}\n| {long} |\n```\n{long}\n```\n![{long}](x.svg)\n");
        assert_eq!(wrapped(&fixed), fixed);
        let item = format!("* {}`a span of code` end\n", "word ".repeat(17));
        assert_eq!(wrapped(&item), format!("* {}\n  `a span of code` end\n", "word ".repeat(17).trim_end()));
        let text = wrapped(&format!("{long}- {long}"));
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS_MAX + 2), "{text}");
        assert!(!text.contains("\n- "), "{text}");
    }

    #[test]
    fn a_missing_file_is_stale_and_a_lost_marker_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let file = Pending { path: "new/list.csv".to_owned(), markers: None, text: "a\nb\n".to_owned() };
        file.check(root).expect_err("it is missing");
        take(root).expect("readable")[0].apply(root).expect("writable");
        assert_eq!(file.check(root), Ok(()));
        fs::write(root.join("page.md"), "<x>").expect("writable");
        let error = block("x", "1").check(root).expect_err("no end");
        assert_eq!(error, "page.md: expected the markers \"<x>\" and \"</x>\"");
        assert_eq!(take(root).expect("readable"), []);
    }
}
