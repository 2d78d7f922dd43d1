//! Names in messages: lists of names, and the known name nearest to a misspelt name.

/// Longest text for which similar names are searched (bytes). The time of a comparison is
/// proportional to the product of the lengths of the compared names.
const MISSPELT_MAX: usize = 128;

/// Asks "did you mean …?" with the known name nearest to `written`, if a known name is near.
#[must_use]
pub fn suggestion<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if written.len() > MISSPELT_MAX {
        return None;
    }
    let written = written.to_lowercase();
    let scored = known.into_iter().filter_map(|name| {
        let lower = name.to_lowercase();
        let contains =
            lower.len() > 2 && written.len() > 2 && (lower.contains(&written) || written.contains(&lower));
        let bonus = if contains || letters(&lower) == letters(&written) { 0.2 } else { 0.0 };
        let edits = strsim::normalized_damerau_levenshtein(&written, &lower);
        // A common prefix does not make two names similar: "foo" and "followlqd" are not similar.
        (contains || edits > 0.34).then(|| (strsim::jaro_winkler(&written, &lower).max(edits) + bonus, name))
    });
    let best = scored.max_by(|x, y| x.0.total_cmp(&y.0))?;
    (best.0 > 0.7).then(|| best.1.to_owned())
}

/// Letters of a name in alphabetical order. Two names with equal letters are similar.
fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

/// Lists names in quotes: `"a", "b", "c"`.
#[must_use]
pub fn quoted_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Lists at most twelve names in quotes.
#[must_use]
pub fn first_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let count = names.clone().count();
    let shown = quoted_list(names.take(12));
    if count > 12 { format!("{shown} … ({count} in all)") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_a_neighbour_and_not_only_a_beginning() {
        let policies = ["dt", "abm", "abm-dt", "followlqd", "losspass"];
        let long = "losspas".repeat(100_000);
        let near = |written| suggestion(written, policies);
        assert_eq!(near("foo"), None);
        assert_eq!(near(&long), None, "and it takes no time");
        assert_eq!(near("abmm").as_deref(), Some("abm"));
        assert_eq!(near("amb").as_deref(), Some("abm"));
        assert_eq!(suggestion("h7", ["h0", "h1"]), None);
        assert_eq!(near("folowlqd").as_deref(), Some("followlqd"));
        assert_eq!(near("loss-pass").as_deref(), Some("losspass"));
    }
}
