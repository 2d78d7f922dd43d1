//! Limits on the words of a page and on the rows of a table.
//!
//! A generated page grows with every entry of a registry. A long table belongs in a CSV file. The
//! page of such a table summarises the CSV file.

/// Maximum number of words of a page below `docs/`, including tables.
const WORDS_MAX: usize = 6_000;
/// Introductory pages, with the maximum number of words of each page.
const FIRST_PAGES: &[(&str, usize)] =
    &[("README.md", 900), ("ARCHITECTURE.md", 1_500), ("CONTRIBUTING.md", 900)];
/// Maximum number of rows of a Markdown table, without its header.
const ROWS_MAX: usize = 200;

/// Returns the problems of one Markdown page: too many words, or tables with too many rows.
pub(super) fn check(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(max) = words_max(path) {
        let words = text.split_whitespace().count();
        if words > max {
            problems.push(format!("{path}: {words} words, more than {max}; hint: divide or shorten it"));
        }
    }
    for (line, rows) in tables(text).into_iter().filter(|(_, rows)| *rows > ROWS_MAX) {
        problems.push(format!(
            "{path}:{line}: a table of {rows} rows, more than {ROWS_MAX}; hint: write them to a CSV file \
             and summarise them here"
        ));
    }
    problems
}

/// Returns the maximum number of words of a page, if the page has a limit.
fn words_max(path: &str) -> Option<usize> {
    let first = FIRST_PAGES.iter().find(|(page, _)| *page == path).map(|(_, max)| *max);
    first.or(path.starts_with("docs/").then_some(WORDS_MAX))
}

/// Returns the tables of a page, each with its first line and number of rows.
fn tables(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<_> = text.lines().map(|line| line.trim_start().starts_with('|')).collect();
    let mut tables = Vec::new();
    for (index, is_row) in lines.iter().enumerate() {
        match (is_row, index > 0 && lines[index - 1], tables.last_mut()) {
            (true, true, Some((_, rows))) => *rows += 1,
            (true, ..) => tables.push((index + 1, 1)),
            (false, ..) => {}
        }
    }
    // The header and the separator of a table are not counted as rows.
    tables.into_iter().map(|(line, lines): (usize, usize)| (line, lines.saturating_sub(2))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_and_a_table_that_are_too_long_are_found() {
        let words = |count: usize| "word ".repeat(count);
        assert_eq!(check("docs/a.md", &words(WORDS_MAX)), [""; 0]);
        let found = check("docs/a.md", &words(WORDS_MAX + 1));
        assert_eq!(found, ["docs/a.md: 6001 words, more than 6000; hint: divide or shorten it"]);
        assert_eq!(check("claims/a.md", &words(WORDS_MAX + 1)), [""; 0]);
        for (page, max) in FIRST_PAGES {
            assert_eq!(check(page, &words(*max)), [""; 0]);
            assert_eq!(check(page, &words(max + 1)).len(), 1, "{page}");
        }
        let table =
            |rows: usize| format!("# A\n\n| a |\n|---|\n{}\n| b |\n|---|\n| 1 |\n", "| 1 |\n".repeat(rows));
        assert_eq!(check("b.md", &table(ROWS_MAX)), [""; 0]);
        let found = check("b.md", &table(ROWS_MAX + 1));
        assert!(found.len() == 1 && found[0].starts_with("b.md:3: a table of 201 rows"), "{found:?}");
    }
}
