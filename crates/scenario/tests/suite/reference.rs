//! `docs/scenarios.md` says what the reader does.

use bufferlab_scenario::{load_text, reference};
use std::path::Path;

const PAGE: &str = "../../docs/scenarios.md";
const BEGIN: &str = "<!-- begin generated -->\n";
const END: &str = "<!-- end generated -->\n";

#[test]
fn the_reference_in_the_documentation_is_up_to_date() {
    let page = std::fs::read_to_string(PAGE).expect("the page exists");
    let (before, rest) = page.split_once(BEGIN).expect("the page marks where the generated part begins");
    let (_, after) = rest.split_once(END).expect("the page marks where the generated part ends");
    let fresh = format!("{before}{BEGIN}\n{}{END}{after}", reference());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, fresh).expect("writable");
        return;
    }
    assert!(fresh == page, "docs/scenarios.md is stale: run the tests of this crate with UPDATE_DOCS=1");
}

#[test]
fn the_example_in_the_documentation_loads() {
    let page = std::fs::read_to_string(PAGE).expect("the page exists");
    let example =
        page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let loaded = load_text(Path::new("example.toml"), example, &[]).expect("it loads");
    assert!(loaded.warnings.is_empty());
}
