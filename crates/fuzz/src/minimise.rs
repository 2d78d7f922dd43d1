//! The smallest case that goes wrong in the same way.

use crate::case::Case;
use crate::judge::{Budget, Fault, judge};

/// Takes out one change after the other for as long as the case still goes wrong like `fault`.
#[must_use]
pub fn minimise(case: &Case, number: u64, fault: &Fault, budget: Budget) -> Case {
    let mut smallest = case.clone();
    loop {
        let smaller = (0..smallest.set.len()).find_map(|at| {
            let mut without = smallest.clone();
            without.set.remove(at);
            let (_, result) = judge(&without, number, budget);
            result.is_err_and(|found| found.is_like(fault)).then_some(without)
        });
        match smaller {
            Some(case) => smallest = case,
            None => return smallest,
        }
    }
}
