//! The example of `docs/reference/scenarios.md` loads. `cargo xtask generate` writes the reference
//! of this page, which the tests of `xtask` compare.

use bufferlab_scenario::load_text;
use std::path::Path;

const PAGE: &str = "../../docs/reference/scenarios.md";

#[test]
fn the_example_in_the_documentation_loads() {
    let page = std::fs::read_to_string(PAGE).expect("the page exists");
    let example =
        page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let loaded = load_text(Path::new("example.toml"), example, &[]).expect("it loads");
    assert!(loaded.warnings.is_empty());
}
