//! Runs the properties over all short scripts of a tiny buffer, and over long random scripts.

use crate::properties::{PROPERTIES, Property, Violation};
use crate::script::Script;
use crate::subject::Subject;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Number of operations in a random script.
const RANDOM_LENGTH: usize = 600;

/// Checks every property of the subject on one script.
///
/// # Errors
/// The violation of the first property that does not hold, with the unshortened script.
pub fn check_script(subject: &Subject, script: &Script) -> Result<(), Violation> {
    PROPERTIES.iter().try_for_each(|property| check_one(subject, property, script))
}

/// Checks one property on one script. A panic of the device counts as a violation, so that the
/// report shows the script.
pub(crate) fn check_one(subject: &Subject, property: &Property, script: &Script) -> Result<(), Violation> {
    let result = catch_unwind(AssertUnwindSafe(|| (property.check)(subject, script)));
    let (at, what) = match result {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            (script.operations.len(), format!("panicked: {message}"))
        }
    };
    let subject = subject.name().to_owned();
    Err(Violation { subject, claim: property.claim, script: Box::new(script.clone()), at, what })
}

/// Checks every property on all scripts of `length` operations over a buffer of three packets and
/// two queues. The queues are on two ports, then on one port. Returns the number of scripts that
/// were run.
///
/// # Errors
/// The first violation of a property.
pub fn exhaustive(subject: &Subject, length: u32) -> Result<u64, Violation> {
    try_tiny(length, |script| check_script(subject, script))
}

/// Passes all scripts of `length` operations over the tiny buffer to `visit`, until `visit` returns
/// an error. Returns the number of scripts.
pub(crate) fn try_tiny<E>(length: u32, mut visit: impl FnMut(&Script) -> Result<(), E>) -> Result<u64, E> {
    let mut scripts = 0;
    for ports in [2, 1] {
        let mut script = Script::tiny(ports);
        let letters = script.tiny_alphabet();
        let count = (letters.len() as u64).pow(length);
        for word in 0..count {
            script.operations.clear();
            let mut rest = word;
            for _ in 0..length {
                script.operations.push(letters[(rest % letters.len() as u64) as usize]);
                rest /= letters.len() as u64;
            }
            visit(&script)?;
        }
        scripts += count;
    }
    Ok(scripts)
}

/// Creates the random script of a seed: 1–32 ports × 1–8 queues, packets of 64–9216 B.
pub(crate) fn random_script(seed: u64) -> Script {
    Script::random(seed, RANDOM_LENGTH)
}

/// Checks every property on one random script per seed: 1–32 ports × 1–8 queues,
/// packets of 64–9216 B.
///
/// # Errors
/// The first violation of a property, with the shortest script found.
pub fn random(subject: &Subject, seeds: Range<u64>) -> Result<(), Violation> {
    for seed in seeds {
        check_script(subject, &random_script(seed)).map_err(|violation| minimised(subject, violation))?;
    }
    Ok(())
}

/// Shortens the script of a violation: removes operations as long as the claim still fails.
///
/// # Panics
/// If [`PROPERTIES`] has no claim that `violation` names.
#[must_use]
pub fn minimised(subject: &Subject, violation: Violation) -> Violation {
    let property =
        PROPERTIES.iter().find(|property| property.claim == violation.claim).expect("a claim of this list");
    let mut best = violation;
    best.script.operations.truncate(best.at + 1);
    let mut chunk = best.script.operations.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        let mut progress = false;
        while start < best.script.operations.len() {
            let mut shorter = best.script.clone();
            let end = (start + chunk).min(shorter.operations.len());
            shorter.operations.drain(start..end);
            match check_one(subject, property, &shorter) {
                Err(mut violation) => {
                    violation.script.operations.truncate(violation.at + 1);
                    best = violation;
                    progress = true;
                }
                Ok(()) => start += chunk,
            }
        }
        chunk = if progress && chunk == 1 { 1 } else { chunk / 2 };
    }
    best
}
