//! Converts panics to values with the source location of the panic.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once, PoisonError};

/// Message and source location of the first panic of the guarded work, on any thread.
static FIRST_PANIC: Mutex<Option<String>> = Mutex::new(None);
/// Lock for guarded work. Only one guarded work runs at a time, because a panic does not name the
/// work.
static TURN: Mutex<()> = Mutex::new(());

/// Runs the function `work` and returns its result.
///
/// # Errors
/// Returns place and text of the first panic of `work`, including panics of threads
/// that `work` started and did not join.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if TURN.try_lock().is_ok() {
                // The panic occurred while no guarded work was running, so it is a defect of the
                // search itself.
                return usual(info);
            }
            let place = info.location().map_or_else(String::new, ToString::to_string);
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            let text = format!("at {place}: {}", text.unwrap_or_default());
            FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
        }));
    });
    let take = || FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    take();
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    match (result, take()) {
        (Ok(value), None) => Ok(value),
        (_, panic) => Err(panic.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_on_another_thread_is_an_error_with_its_place() {
        assert_eq!(guarded(|| 7), Ok(7));
        let elsewhere = || drop(std::thread::spawn(|| panic!("lost")).join());
        let error = guarded(elsewhere).expect_err("a thread panicked");
        assert!(error.contains("guard.rs") && error.ends_with("lost"), "{error}");
        assert!(guarded(|| panic!("here")).is_err_and(|error| error.ends_with("here")));
        assert_eq!(guarded(|| ()), Ok(()), "a panic does not outlive its work");
    }
}
