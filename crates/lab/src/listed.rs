//! Which values does a text list that was typed for one key?

use bufferlab_scenario::between_commas;

/// The values of `0.2,0.4`, `["1 MB", "2 MB"]` or `dt(alpha=0.5),abm`, each as a scenario writes
/// it: a list in TOML, or what stands between commas. A comma in brackets separates parameters. A
/// value may be empty, where nothing stands before or behind a comma.
#[must_use]
pub fn listed_values(text: &str) -> Vec<String> {
    if let Ok(table) = toml::from_str::<toml::Table>(&format!("values = {text}"))
        && let Some(toml::Value::Array(list)) = table.get("values")
    {
        return list.iter().map(ToString::to_string).collect();
    }
    match between_commas(text) {
        Ok(parts) => parts.iter().map(|part| part.text.to_owned()).collect(),
        // Where brackets do not match, none counts.
        Err(_) => text.split(',').map(|value| value.trim().to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_and_quotes_separate_no_values() {
        for (text, values) in [
            ("0.2,0.4", &["0.2", "0.4"][..]),
            ("[\"1 MB\", \"2 MB\"]", &["\"1 MB\"", "\"2 MB\""]),
            ("dt(alpha=0.5), abm(alpha=1,n_threshold=2)", &["dt(alpha=0.5)", "abm(alpha=1,n_threshold=2)"]),
            ("dt(alpha=0.5,abm", &["dt(alpha=0.5", "abm"]),
            ("1,", &["1", ""]),
        ] {
            assert_eq!(listed_values(text), values, "{text}");
        }
    }
}
