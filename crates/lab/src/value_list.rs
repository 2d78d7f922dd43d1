//! Splits a text into the values of one key.

use bufferlab_scenario::between_commas;

/// Splits a text such as `0.2,0.4`, `["1 MB", "2 MB"]` or `dt(alpha=0.5),abm` into values in the
/// syntax of a scenario. The text is a TOML list or is separated by commas. Commas in brackets
/// separate parameters, not values. A leading or trailing comma gives an empty value.
#[must_use]
pub fn split_values(text: &str) -> Vec<String> {
    if let Ok(table) = toml::from_str::<toml::Table>(&format!("values = {text}"))
        && let Some(toml::Value::Array(list)) = table.get("values")
    {
        return list.iter().map(ToString::to_string).collect();
    }
    match between_commas(text) {
        Ok(parts) => parts.iter().map(|part| part.text.to_owned()).collect(),
        // If the brackets are unbalanced, split at every comma.
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
            assert_eq!(split_values(text), values, "{text}");
        }
    }
}
