//! Prints the comparison with the public artifact as Markdown: of the cases whose names contain one of the arguments, or of all. Exit code 1: a difference is
//! unexplained.

use bufferlab_validation::{CASES, Case, Comparison, ValidationError, document};
use std::process::ExitCode;

fn main() -> ExitCode {
    let parts: Vec<_> = std::env::args().skip(1).collect();
    let is_asked_for = |case: &&Case| parts.is_empty() || parts.iter().any(|part| case.name.contains(part));
    let comparisons: Result<Vec<_>, ValidationError> =
        CASES.iter().filter(is_asked_for).map(Comparison::of).collect();
    let comparisons = match comparisons {
        Ok(comparisons) => comparisons,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    print!("{}", document::block(&comparisons));
    let surprises: Vec<_> = comparisons.iter().flat_map(Comparison::surprises).collect();
    for surprise in &surprises {
        eprintln!("{surprise}");
    }
    if surprises.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
