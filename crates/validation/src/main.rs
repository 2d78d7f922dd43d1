//! Prints the comparison with the public artifact as Markdown. Exit code 1: a difference is unexplained.

use bufferlab_validation::{CASES, Comparison, ValidationError, document};
use std::process::ExitCode;

fn main() -> ExitCode {
    let comparisons: Result<Vec<_>, ValidationError> = CASES.iter().map(Comparison::of).collect();
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
