//! What every page has: its frame, and the style sheet, which charts that stand alone take along.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Written by this crate, free of user data: the one thing that is not escaped.
const STYLE: &str = include_str!("page/style.css");

/// A page that needs nothing but itself.
pub(crate) fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – bufferlab" }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (body) } }
        }
    }
}

/// The style sheet's rules for charts as they are in light, for a file that stands alone: programs other than browsers
/// know no variables.
pub(crate) fn file_style() -> String {
    let root =
        STYLE.split_once(":root {").and_then(|(_, rest)| rest.split_once('}')).map_or("", |(root, _)| root);
    let colours: Vec<(&str, &str)> = root
        .split(';')
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| name.starts_with("--"))
        .collect();
    let resolved = |rule: &str| {
        colours
            .iter()
            .fold(rule.to_owned(), |rule, (name, value)| rule.replace(&format!("var({name})"), value))
    };
    let mut style = String::from("text.caption { font-weight: 600; }");
    for rule in STYLE.lines().filter(|line| line.starts_with("svg ") && !line.starts_with("svg.")) {
        if !rule.contains("var(--c)") {
            style.push_str(&resolved(rule));
            continue;
        }
        for (number, (_, colour)) in colours.iter().filter(|(name, _)| is_series(name)).enumerate() {
            let own = rule.replace("svg ", &format!(".s{number} ")).replace("var(--c)", colour);
            style.push_str(&resolved(&own));
        }
    }
    for line in STYLE.lines().filter(|line| line.starts_with(".s") && line.contains("stroke-dasharray")) {
        style.push_str(line);
    }
    style
}

/// `--c0`, `--c1`, …
fn is_series(name: &str) -> bool {
    name.strip_prefix("--c").is_some_and(|rest| rest.parse::<usize>().is_ok())
}
