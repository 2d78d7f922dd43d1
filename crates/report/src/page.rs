//! Common parts of all pages: the frame and the style sheet, which separate chart
//! files also contain.

use crate::caveat::CaveatRecord;
use crate::chart_style::{self, FigureStyle};
use bufferlab_units::printable;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;

/// Style sheet, written by this crate and free of user data. All texts except the style sheet are
/// escaped.
const STYLE: &str = include_str!("page/style.css");

/// Returns the style of pages and of their charts.
fn style() -> String {
    chart_style::of_pages() + STYLE
}

/// Text of the script that saves charts, with a placeholder for [`chart_style::of_files`].
const EXPORT: &str = include_str!("page/export.js");
const STYLE_PLACE: &str = "\"/* style of files */\"";

/// Returns the script of a page that saves charts as files.
fn export() -> String {
    // The text is part of this crate, so JSON can represent it.
    EXPORT.replace(
        STYLE_PLACE,
        &serde_json::to_string(&chart_style::of_files(FigureStyle::Screen)).unwrap_or_default(),
    )
}

/// Formats a self-contained page. Only a page with charts has a script. Without JavaScript only the
/// buttons that save charts are missing.
pub(crate) fn document(title: &str, body: &Markup, has_charts: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – bufferlab" }
                style { (PreEscaped(style())) }
            }
            body {
                main { (body) }
                @if has_charts { script { (PreEscaped(export())) } }
            }
        }
    }
}

/// Returns the text of a page or a part of a page. Names on the page may come from files. Their
/// hidden characters could reverse the text that follows. The function writes hidden characters as
/// escapes that JSON in a page understands.
pub(crate) fn finish(page: Markup) -> String {
    match printable(&page.0) {
        Cow::Borrowed(_) => page.into_string(),
        Cow::Owned(shown) => shown,
    }
}

/// Formats the caveats of a page. Each caveat names the affected grid points, unless all points are
/// affected.
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

/// Formats a sentence that has names from files in `backticks`.
pub(crate) fn prose(text: &str) -> Markup {
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Formats a page of another crate in the frame and style of reports, with additional styles and
/// scripts. The scripts must not contain `</script`.
#[must_use]
pub fn local_page(title: &str, body: &Markup, styles: &[&str], scripts: &[&str]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without an icon link, browsers request an icon for the page.
                link rel="icon" href="data:,";
                title { (title) " – bufferlab" }
                style { (PreEscaped(style())) }
                @for style in styles { style { (PreEscaped(style)) } }
            }
            body {
                main { (body) }
                @for script in scripts { script { (PreEscaped(script)) } }
            }
        }
    };
    finish(page)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let page = html! { style { (PreEscaped(style())) } script { (PreEscaped(EXPORT)) } };
        assert_eq!(finish(page.clone()), page.into_string());
    }
}
