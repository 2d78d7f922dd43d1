//! Names in messages: lists, and the one that was probably meant.

/// "did you mean …?": the known name that is nearest to `written`, if any is near.
#[must_use]
pub fn suggestion<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let written = written.to_lowercase();
    let scored = known.into_iter().map(|name| {
        let lower = name.to_lowercase();
        let contains =
            lower.len() > 2 && written.len() > 2 && (lower.contains(&written) || written.contains(&lower));
        let bonus = if contains { 0.2 } else { 0.0 };
        (
            strsim::jaro_winkler(&written, &lower)
                .max(strsim::normalized_damerau_levenshtein(&written, &lower))
                + bonus,
            name,
        )
    });
    let best = scored.max_by(|x, y| x.0.total_cmp(&y.0))?;
    (best.0 > 0.7).then(|| best.1.to_owned())
}

/// `"a", "b", "c"`.
#[must_use]
pub fn quoted_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// The same with at most twelve names.
#[must_use]
pub fn first_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let count = names.clone().count();
    let shown = quoted_list(names.take(12));
    if count > 12 { format!("{shown} … ({count} in all)") } else { shown }
}
