//! Results of calls from C: a code, and an error text that the thread stores.

use crate::abi::Code;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// A failed call of a C function: code and text of the error.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    text: String,
}

impl Failure {
    /// Creates a failure: an argument of a C function is null or out of range.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self { code: Code::Invalid, text: text.into() }
    }

    /// Creates a failure: the switch's configuration is wrong.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { code: Code::Refused, text: text.into() }
    }

    /// Creates a failure: the policy or the ledger of the switch has a defect.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { code: Code::Failed, text: text.into() }
    }

    /// Creates a failure: the library panicked.
    pub(crate) fn panicked(text: impl Into<String>) -> Self {
        Self { code: Code::Panic, text: text.into() }
    }
}

/// Runs the body of an exported function. A failure or a panic becomes a result code and the last
/// error.
pub(crate) fn guard(body: impl FnOnce() -> Result<Code, Failure>) -> i32 {
    let result = catch_unwind(AssertUnwindSafe(body));
    let failure = match result {
        Ok(Ok(code)) => return code as i32,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panicked(panic_text(&*payload)),
    };
    // A text ends at its first null byte, as in C.
    let text = failure.text.split('\0').next().unwrap_or_default();
    let text = CString::new(text).unwrap_or_default();
    LAST.with(|last| last.replace(text));
    failure.code as i32
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("a defect of bufferlab: {}", text.unwrap_or("a panic without a message"))
}

/// Returns the text of the last error in this thread.
pub(crate) fn last() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}
