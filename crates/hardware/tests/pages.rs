//! Do the pages show what was measured?
//!
//! `UPDATE_DOCS=1 cargo test -p bufferlab-hardware` writes the tables.

use bufferlab_hardware::{Circuit, circuits, comparisons_markdown, cost_markdown, of_policy};
use std::fs;
use std::path::Path;

/// Compares the block of a page with `wanted`, or writes it.
fn assert_fresh(page: &str, name: &str, wanted: &str) {
    let begin = format!("<!-- {name}: begin; UPDATE_DOCS=1 cargo test -p bufferlab-hardware -->\n");
    let end = format!("<!-- {name}: end -->");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} has no table of circuits"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("the table of {page} does not end"));
    let fresh = format!("{before}{begin}\n{wanted}\n{end}{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, fresh).unwrap_or_else(|error| panic!("{page}: {error}"));
    } else {
        assert!(text == fresh, "{page} is stale; hint: UPDATE_DOCS=1 cargo test -p bufferlab-hardware");
    }
}

#[test]
fn the_page_of_circuits_has_every_size() {
    let circuits = circuits().unwrap_or_else(|error| panic!("{error}"));
    assert_fresh("circuits.md", "comparisons", &comparisons_markdown(&circuits));
    assert_fresh("circuits.md", "hardware", &cost_markdown(&circuits));
}

#[test]
fn the_page_of_a_policy_has_its_circuits() {
    let every = circuits().unwrap_or_else(|error| panic!("{error}"));
    let mut policies: Vec<&str> = every.iter().filter_map(|circuit| circuit.policy.as_deref()).collect();
    policies.dedup();
    assert_eq!(policies, ["dt", "abm", "tdt", "losspass", "plasticine-pisa"]);
    for policy in policies {
        let own = of_policy(policy).unwrap_or_else(|error| panic!("{error}"));
        let told = |circuit: &Circuit| {
            format!("- `{}`: {}. {} {}", circuit.name, circuit.about, circuit.timing(), circuit.evidence())
        };
        let list: Vec<String> = own.iter().map(|circuit| told(circuit).trim_end().to_owned()).collect();
        assert_fresh(
            &format!("policies/{policy}.md"),
            "hardware",
            &format!("{}\n\n{}", list.join("\n"), cost_markdown(&own)),
        );
    }
}
