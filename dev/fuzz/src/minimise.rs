//! Reduces a failing case to a smaller case with a similar fault.

use crate::case::Case;
use crate::judge::{Budget, Fault, judge};

/// Removes changes of a fuzzing case one by one, as long as the case still has a fault like
/// `fault`.
#[must_use]
pub fn minimise(case: &Case, number: u64, fault: &Fault, budget: Budget) -> Case {
    let mut smallest = case.clone();
    loop {
        let changes = smallest.set.len();
        let smaller = (0..changes + smallest.splices.len()).find_map(|at| {
            let mut without = smallest.clone();
            match at.checked_sub(changes) {
                None => drop(without.set.remove(at)),
                Some(at) => drop(without.splices.remove(at)),
            }
            let result = judge(&without, number, budget).result;
            result.is_err_and(|found| found.is_like(fault)).then_some(without)
        });
        match smaller {
            Some(case) => smallest = case,
            None => return smallest,
        }
    }
}
