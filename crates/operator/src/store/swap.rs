//! A write that loses nothing: it happens only while the value is the expected one, and a late one
//! cannot happen any more once the key was written again.
//!
//! `WATCH`, a look, `MULTI`, `HSET`, `EXEC`: Redis carries the write out only if nobody has written
//! the key since the look. So a write whose answer is missing, and which may still be under way, is
//! void as soon as the next one is done.

use super::answer::Trouble;
use super::wire::Wire;
use super::{ATTEMPTS, Database, Store, StoreError};
use redis::{Value, cmd};

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The field has the new value.
    Written,
    /// Nothing was written, because something else is there (empty: no such field).
    Found(String),
}

/// Why nobody knows whether a field has its new value, or why it has not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct SwapError {
    /// What happened.
    pub error: StoreError,
    /// Whether the value may be there, or may still come.
    pub uncertain: bool,
}

/// A trouble, and whether the write may have happened.
type Outcome = Result<Option<Swap>, (Trouble, bool)>;

impl Store {
    /// Sets a field of a hash if its value is an expected one.
    ///
    /// # Errors
    /// No answer, or a refusal; then the error says whether the value may have been written
    /// nevertheless.
    pub fn swap(
        &mut self,
        database: Database,
        key: &str,
        field: &str,
        expected: &dyn Fn(&str) -> bool,
        value: &str,
    ) -> Result<Swap, SwapError> {
        for attempt in 1..=ATTEMPTS {
            let outcome = match self.connected(database) {
                Err(trouble) => Err((trouble, false)),
                Ok(mut wire) => {
                    let outcome = self.transaction(&mut *wire, (database, key, field), expected, value);
                    if matches!(outcome, Ok(Some(Swap::Written) | None)) {
                        self.open.insert(database, wire);
                    }
                    outcome
                }
            };
            match outcome {
                Ok(Some(swap)) => return Ok(swap),
                // Somebody wrote the key between our look and our write: look again.
                Ok(None) => {}
                Err((Trouble::Broken(_), false)) if attempt < ATTEMPTS => {}
                Err((trouble, uncertain)) => {
                    return Err(SwapError { error: self.trouble(database, trouble), uncertain });
                }
            }
        }
        let message = format!("{key} is written again and again by somebody else");
        Err(SwapError { error: self.error(database, message), uncertain: false })
    }

    /// One attempt; `None` if somebody else was quicker.
    fn transaction(
        &self,
        wire: &mut dyn Wire,
        (database, key, field): (Database, &str, &str),
        expected: &dyn Fn(&str) -> bool,
        value: &str,
    ) -> Outcome {
        let certainly_not = |trouble| (trouble, false);
        self.exchange(wire, cmd("WATCH").arg(key)).map_err(certainly_not)?;
        let there = self.exchange(wire, cmd("HGETALL").arg(key)).map_err(certainly_not)?;
        let there = self
            .read_fields(database, key, there)
            .map_err(|error| (Trouble::Nonsense(error.message), false))?;
        let there = there.get(field).cloned().unwrap_or_default();
        if !expected(&there) {
            // The connection, and with it the watch, is given up.
            return Ok(Some(Swap::Found(there)));
        }
        self.exchange(wire, &cmd("MULTI")).map_err(certainly_not)?;
        let queued =
            self.exchange(wire, cmd("HSET").arg(key).arg(field).arg(value)).map_err(unless_refused)?;
        if queued != Value::SimpleString("QUEUED".to_owned()) {
            let message = "it does not queue a write of a transaction: is it a Redis?";
            return Err((Trouble::Nonsense(message.to_owned()), true));
        }
        match self.exchange(wire, &cmd("EXEC")) {
            Ok(Value::Nil) => Ok(None),
            Ok(Value::Array(answers)) => match answers.as_slice() {
                [Value::Int(_)] => Ok(Some(Swap::Written)),
                [Value::ServerError(error)] => Err((Trouble::Refused(format!("{error:?}")), false)),
                _ => Err((Trouble::Nonsense("an unexpected answer to a write".to_owned()), true)),
            },
            Ok(_) => Err((Trouble::Nonsense("an unexpected answer to a write".to_owned()), true)),
            Err(trouble) => Err(unless_refused(trouble)),
        }
    }
}

/// What is refused was not done. Of everything else that goes wrong from the write on, nobody
/// knows.
fn unless_refused(trouble: Trouble) -> (Trouble, bool) {
    let uncertain = !matches!(trouble, Trouble::Refused(_));
    (trouble, uncertain)
}
