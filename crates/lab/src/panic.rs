//! Turns a panic into the error of its run, so that a defect in one run does not stop other runs.

use bufferlab_scenario::Loaded;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, Once, PoisonError};

/// Message and source location of panics that no run has reported yet.
static PLACES: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
/// Maximum number of unreported panics; beyond this number, the oldest locations are dropped.
const PLACES_KEPT: usize = 64;

/// A panic that the program caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// Message of the panic.
    pub message: String,
    /// File, line and column of the panic in the source code, if known.
    pub place: Option<String>,
    /// Description with which a user can repeat the run, such as "seed 3, policy dt". Empty if the
    /// panic was outside a run.
    pub run: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, place, run } = self;
        let of = if run.is_empty() { String::new() } else { format!("{run}: ") };
        let at = place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
        write!(f, "{of}the program panicked: {message}{at}")
    }
}

impl std::error::Error for Panicked {}

/// Runs `work` and catches its panic. The standard message still appears on stderr.
///
/// # Errors
/// Returns the caught panic.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            note(info);
            before(info);
        }));
    });
    // The state of `work` is discarded after a panic: a dropped writer removes its folder.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message(&*payload);
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let at = places.iter().position(|(known, _)| *known == message);
        let place = at.map(|at| places.remove(at).1);
        Panicked { message, place, run: String::new() }
    })
}

/// Stores the source location of a panic, because the panic's payload lacks it.
fn note(info: &PanicHookInfo<'_>) {
    let Some(place) = info.location() else { return };
    let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
    if places.len() == PLACES_KEPT {
        places.remove(0);
    }
    places.push((message(info.payload()), place.to_string()));
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Describes a run by its seed and its scenario or variant.
pub(crate) fn run_in_words(loaded: &Loaded) -> String {
    let scenario = &loaded.scenario;
    let policy = scenario.switches.first().map_or("none", |switch| &switch.policy);
    match &loaded.variant {
        Some(variant) => format!("seed {}, --as '{}'", scenario.seed, variant.text),
        None => format!("seed {}, policy {policy}", scenario.seed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_message_and_place() {
        assert_eq!(caught(|| 7), Ok(7));
        let empty: Vec<u32> = Vec::new();
        let panicked = caught(|| empty[std::hint::black_box(3)]).expect_err("there is no third");
        assert!(panicked.message.contains("the len is 0 but the index is 3"), "{panicked}");
        assert!(panicked.place.as_ref().is_some_and(|place| place.contains("panic.rs:")), "{panicked}");
        let panicked = caught(|| panic!("{} apples", 5)).expect_err("it panics");
        assert_eq!(panicked.message, "5 apples");
    }
}
