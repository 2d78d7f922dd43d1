//! Tests that the documentation pages show the measured results of circuits.
//!
//! The command `cargo xtask generate hardware` writes the tables of circuits in the pages.

use bufferlab_pages::{assert_all, check_block};
use bufferlab_rtl::{Circuit, circuits, comparisons_markdown, cost_markdown, of_policy};

/// Compares the generated block `name` of a page with the expected text `wanted`.
fn checked(page: &str, name: &str, wanted: &str) -> Result<(), String> {
    let begin = format!("<!-- {name}: begin; cargo xtask generate hardware -->\n");
    check_block(&format!("docs/{page}"), &begin, &format!("<!-- {name}: end -->"), &format!("\n{wanted}\n"))
}

#[test]
fn the_page_of_circuits_has_the_measured_costs() {
    let circuits = circuits().unwrap_or_else(|error| panic!("{error}"));
    assert_all([
        checked("internals/circuits.md", "comparisons", &comparisons_markdown(&circuits)),
        checked("internals/circuits.md", "hardware", &cost_markdown(&circuits)),
    ]);
}

#[test]
fn the_page_of_a_policy_has_its_circuits() {
    let every = circuits().unwrap_or_else(|error| panic!("{error}"));
    let mut policies: Vec<&str> = every.iter().filter_map(|circuit| circuit.policy.as_deref()).collect();
    policies.dedup();
    assert_eq!(policies, ["dt", "abm", "tdt", "losspass", "plasticine-pisa"]);
    assert_all(policies.into_iter().map(|policy| {
        let own = of_policy(policy).unwrap_or_else(|error| panic!("{error}"));
        let told = |circuit: &Circuit| {
            format!(
                "- `{}` implements {}. {} {}",
                circuit.name,
                circuit.about,
                circuit.timing(),
                circuit.evidence()
            )
        };
        let list: Vec<String> = own.iter().map(|circuit| told(circuit).trim_end().to_owned()).collect();
        checked(&format!("reference/policies/{policy}.md"), "hardware", &(list.join("\n") + "\n"))
    }));
}
