//! Runs the stored fuzzing cases that failed before a defect was fixed.

use bufferlab_fuzz::{Budget, Case, Judged, generate, judge};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Limits of time and packet-hops for fuzzing cases that would not end.
const SHORT: Budget = Budget { time: Duration::from_secs(1), hops: 50_000 };

#[test]
fn what_once_went_wrong_is_in_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fuzz");
    let mut files: Vec<_> =
        fs::read_dir(&folder).expect("the folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = fs::read_to_string(&file).expect("readable");
        let case = Case::from_toml(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for number in 0..4 {
            if let Err(fault) = judge(&case, number, SHORT).result {
                panic!("{}: {fault}", file.display());
            }
        }
    }
}

#[test]
fn a_case_is_the_same_for_its_number_and_is_read_again_as_it_was_written() {
    for number in 0..200 {
        let case = generate(7, number);
        assert_eq!(case, generate(7, number));
        assert_eq!(Case::from_toml(&case.to_toml()).expect("it was written here"), case);
    }
}

#[test]
fn some_cases_of_each_kind_run() {
    let mut ran = 0;
    for number in 0..60 {
        let Judged { case, result, .. } = judge(&generate(11, number), number, Budget::default());
        match result {
            Ok(outcome) => ran += u32::from(outcome == bufferlab_fuzz::Outcome::Ran && !case.set.is_empty()),
            Err(fault) => panic!("case {number}: {fault}\n{}", case.to_toml()),
        }
    }
    assert!(ran > 20, "{ran} of 60 cases ran with a change");
}
