//! What every page has: its frame, and the style sheet, which charts that stand alone take along.

use crate::caveat::CaveatRecord;
use crate::svg::FigureStyle;
use bufferlab_units::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;

/// Written by this crate, free of user data: the one thing that is not escaped.
const STYLE: &str = include_str!("page/style.css");

/// Saves charts; its place for [`file_style`] is filled.
const EXPORT: &str = include_str!("page/export.js");
const STYLE_PLACE: &str = "\"/* style of files */\"";

/// The script that saves charts.
fn export() -> String {
    // A string of this crate's own: it has a form in JSON.
    EXPORT.replace(STYLE_PLACE, &serde_json::to_string(&file_style(FigureStyle::Screen)).unwrap_or_default())
}

/// A page that needs nothing but itself. Without JavaScript it has all but the buttons that save its charts.
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
            body {
                main { (body) }
                @if body.0.contains("<figure") || body.0.contains("id=\"explorer\"") { script { (PreEscaped(export())) } }
            }
        }
    }
}

/// The text of a page or a part of one. Names come from files, too, and nothing in them turns the text around them: hidden
/// characters are written out, in the form that JSON in a page understands.
pub(crate) fn finish(page: Markup) -> String {
    match printable(&page.0) {
        Cow::Borrowed(_) => page.into_string(),
        Cow::Owned(shown) => shown,
    }
}

/// What to check before trusting the numbers of a page, each with the place that it concerns, if not all of them.
pub(crate) fn caveats(noted: &[(CaveatRecord, String)]) -> Markup {
    html! {
        aside.caveats {
            h2 { "Before you trust these numbers" }
            ul {
                @for (caveat, place) in noted {
                    li {
                        @if !place.is_empty() { b { (place) ": " } }
                        (prose(&caveat.message)) " " span.advice { (prose(&caveat.advice)) }
                    }
                }
            }
        }
    }
}

/// A sentence whose `words in backticks` are names from files.
pub(crate) fn prose(text: &str) -> Markup {
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A page of another crate in this one's frame and style: with more style and with scripts of its own, which must not contain `</script`.
#[must_use]
pub fn local_page(title: &str, body: &Markup, styles: &[&str], scripts: &[&str]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Otherwise browsers ask for one.
                link rel="icon" href="data:,";
                title { (title) " – bufferlab" }
                @for style in std::iter::once(&STYLE).chain(styles) { style { (PreEscaped(style)) } }
            }
            body {
                main { (body) }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    };
    finish(page)
}

/// The style sheet's rules for charts as they are in light, for a file that stands alone: programs other than browsers
/// know no variables.
pub(crate) fn file_style(style: FigureStyle) -> String {
    let mut colours = colours(":root {");
    if style == FigureStyle::Paper {
        for (name, colour) in &mut colours {
            *colour = without_colour(name);
        }
    }
    let resolved = |rule: &str| {
        colours
            .iter()
            .fold(rule.to_owned(), |rule, (name, value)| rule.replace(&format!("var({name})"), value))
    };
    let classes = classes();
    let mut style = String::from("text.caption { font-weight: 600; }");
    for rule in STYLE.lines().filter(|line| line.starts_with("svg ") && !line.starts_with("svg.")) {
        if !rule.contains("var(--c)") {
            style.push_str(&resolved(rule));
            continue;
        }
        for (class, colour) in &classes {
            let own = rule.replace("svg ", &format!(".{class} ")).replace("var(--c)", colour);
            style.push_str(&resolved(&own));
        }
    }
    for line in STYLE.lines().filter(|line| line.starts_with('.') && line.contains("stroke-dasharray")) {
        style.push_str(line);
    }
    style
}

/// What a variable is where nothing is printed in colour.
fn without_colour(name: &str) -> &'static str {
    match name {
        "--page" => "#ffffff",
        "--line" => "#d9d9d9",
        // Series take turns: neighbours differ in dash, marker and grey.
        "--c1" | "--c3" | "--c5" | "--c7" => "#737373",
        _ => "#000000",
    }
}

/// The variables of the first rule that begins so.
fn colours(rule: &str) -> Vec<(&'static str, &'static str)> {
    let root = STYLE.split_once(rule).and_then(|(_, rest)| rest.split_once('}')).map_or("", |(root, _)| root);
    let pairs = root.split(';').filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, value)| (name.trim(), value.trim()))
        .filter(|(name, _)| name.starts_with("--"))
        .collect()
}

/// Classes of series with their colour, a variable: `.s0 { --c: var(--c0); }`.
fn classes() -> Vec<(&'static str, &'static str)> {
    let rules = STYLE.lines().filter(|line| line.starts_with('.')).flat_map(|line| line.split('}'));
    let read = |rule: &'static str| {
        let (class, colour) = rule.split_once("{ --c: ")?;
        Some((class.trim().strip_prefix('.')?, colour.trim().trim_end_matches(';')))
    };
    rules.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How people without one kind of cones see: linear RGB to linear RGB, complete dichromacy (Machado, Oliveira and
    /// Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency, IEEE TVCG 15, 2009).
    const SIGHTS: [(&str, [[f64; 3]; 3]); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];

    /// `#rrggbb` as linear light.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn luminance([r, g, b]: [f64; 3]) -> f64 {
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// CIE L*a*b*, in which distances are about as large as they look.
    fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
        let root = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = root(luminance([r, g, b]));
        let z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn seen(colour: &str, sight: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = linear(colour);
        lab(sight.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0)))
    }

    #[test]
    fn series_are_told_apart_by_readers_of_every_colour_sight() {
        // The second `:root` rule, indented, is that of dark pages.
        for (rule, page) in [(":root {", "#ffffff"), ("  :root {", "#15181c")] {
            let colours = colours(rule);
            assert_eq!(colours[0], ("--page", page));
            let series: Vec<&str> = (0..crate::svg::STYLES)
                .map(|number| {
                    let name = format!("--c{number}");
                    colours.iter().find(|(known, _)| *known == name).expect("a colour for each style").1
                })
                .collect();
            for colour in &series {
                let (a, b) = (luminance(linear(colour)), luminance(linear(page)));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 3.0, "{colour} on {page}: {contrast} (WCAG 2.1, 1.4.11 wants 3)");
            }
            for (name, sight) in &SIGHTS {
                for (at, one) in series.iter().enumerate() {
                    for other in &series[at + 1..] {
                        let (a, b) = (seen(one, sight), seen(other, sight));
                        let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        // About 2.3 is just noticed side by side; lines are thin and far from each other.
                        assert!(apart >= 11.0, "{one} and {other} with {name}: {apart}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_file_has_rules_for_every_class_and_no_variables() {
        let style = file_style(FigureStyle::Screen);
        for class in ["s0", "s7", "total", "queue", "threshold", "other"] {
            assert!(style.contains(&format!(".{class} .line {{ fill: none; stroke: #")), "{class}: {style}");
        }
        assert!(!style.contains("var("), "{style}");
    }

    #[test]
    fn a_figure_for_paper_has_no_colour() {
        let style = file_style(FigureStyle::Paper);
        let colours: Vec<&str> = style.split('#').skip(1).filter_map(|rest| rest.get(..6)).collect();
        assert!(colours.len() > 20 && !style.contains("var("), "{style}");
        for colour in colours {
            assert!(colour[..2] == colour[2..4] && colour[2..4] == colour[4..], "{colour}");
        }
    }

    #[test]
    fn the_script_takes_the_style_of_files_along_and_refers_to_nothing() {
        let script = export();
        assert!(script.contains(".s0 .line { fill: none; stroke: #1951d0;"), "{script}");
        assert!(!script.contains(STYLE_PLACE) && !script.contains("</script") && !script.contains("fetch("));
    }

    #[test]
    fn names_neither_steer_a_page_nor_break_its_data() {
        let name = "a\u{1b}\u{202e}\u{2066}<b>";
        let data = serde_json::to_string(&[name]).expect("JSON").replace('<', "\\u003c");
        let page = html! { p title=(name) { (name) } script type="application/json" { (PreEscaped(data)) } };
        let page = finish(page);
        assert!(!page.contains(bufferlab_units::is_hidden), "{page:?}");
        let (_, rest) = page.split_once("json\">").expect("data");
        let (data, _) = rest.split_once("</script").expect("an end");
        let read: Vec<String> = serde_json::from_str(data).expect("JSON");
        assert_eq!(read, [name], "data keeps its meaning");
    }

    #[test]
    fn what_this_crate_writes_itself_has_no_hidden_character() {
        let page = html! { style { (PreEscaped(STYLE)) } script { (PreEscaped(EXPORT)) } };
        assert_eq!(finish(page.clone()), page.into_string());
    }
}
