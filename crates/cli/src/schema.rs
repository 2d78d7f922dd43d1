//! The command `schema`: JSON Schemas of scenario files and of the `--json` output.

use crate::args::SchemaOf;
use crate::{policy, records, speed};

/// The text of a schema, which ends with a line end.
pub(crate) fn text(what: SchemaOf) -> String {
    let schema = match what {
        SchemaOf::Scenario => bufferlab_scenario::json_schema(),
        SchemaOf::Comparison => bufferlab_report::comparison_schema().to_value(),
        SchemaOf::Sweep => bufferlab_lab::sweep_schema().to_value(),
        SchemaOf::Explanations => bufferlab_results::explanations_schema().to_value(),
        SchemaOf::CriticalPaths => bufferlab_report::critical_paths_schema().to_value(),
        SchemaOf::Policies => policy::schema().to_value(),
        SchemaOf::Check => records::check_schema().to_value(),
        SchemaOf::Verify => records::verify_schema().to_value(),
        SchemaOf::Theory => records::derivation_schema().to_value(),
        SchemaOf::Reproduce => bufferlab_reproduce::verdicts_schema().to_value(),
        SchemaOf::Switch => records::switch_schema().to_value(),
        SchemaOf::Parity => records::parity_schema().to_value(),
        SchemaOf::TestbedCheck => records::testbed_check_schema().to_value(),
        SchemaOf::TestbedReproduce => bufferlab_reproduce::real_verdicts_schema().to_value(),
        SchemaOf::Bench => speed::schema().to_value(),
    };
    format!("{schema:#}\n")
}
