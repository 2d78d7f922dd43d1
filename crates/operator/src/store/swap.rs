//! A write that loses no data. The server writes the value only while the field has an expected
//! value. A delayed write cannot happen after another write of the key.
//!
//! The Redis transaction is `WATCH`, a read, `MULTI`, `HSET`, `EXEC`. Redis executes the write only
//! if no client has written the key since the read. So a write without an answer, which may still
//! be delayed, becomes void with the next write.

use super::answer::Trouble;
use super::connection::StoreConnection;
use super::{ATTEMPTS, Database, Store, StoreError};
use redis::{Value, cmd};

/// Outcome of a write that happens only under a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Swap {
    /// The server has written the new value of the field.
    Written,
    /// The field did not have the expected value, so the server wrote nothing. The variant contains
    /// the actual value, or an empty string if the field does not exist.
    Found(String),
}

/// Reason why a write to a database field failed, or why its success is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct SwapError {
    /// Error of the database during the write.
    pub error: StoreError,
    /// Whether the server may have written the value, or may still write it.
    pub uncertain: bool,
}

/// Outcome of a write. An error has a flag: whether the server may have written the value.
type Outcome = Result<Option<Swap>, (Trouble, bool)>;

impl Store {
    /// Sets a field of a hash in the database if the field has the expected value.
    ///
    /// # Errors
    /// If the server gives no answer, or refuses the write. A flag of the error is true if the
    /// server may have written the value.
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
                Ok(mut connection) => {
                    let outcome = self.transaction(&mut *connection, (database, key, field), expected, value);
                    if matches!(outcome, Ok(Some(Swap::Written) | None)) {
                        self.open.insert(database, connection);
                    }
                    outcome
                }
            };
            match outcome {
                Ok(Some(swap)) => return Ok(swap),
                // Another program wrote the key between the read and the write, so the function
                // tries again.
                Ok(None) => {}
                Err((Trouble::Broken(_), false)) if attempt < ATTEMPTS => {}
                Err((trouble, uncertain)) => {
                    return Err(SwapError { error: self.trouble(database, trouble), uncertain });
                }
            }
        }
        let message = format!("another program keeps writing {key}");
        Err(SwapError { error: self.error(database, message), uncertain: false })
    }

    /// Makes one attempt to write; `None` if another program wrote the key after the read.
    fn transaction(
        &self,
        connection: &mut dyn StoreConnection,
        (database, key, field): (Database, &str, &str),
        expected: &dyn Fn(&str) -> bool,
        value: &str,
    ) -> Outcome {
        let certainly_not = |trouble| (trouble, false);
        self.exchange(connection, cmd("WATCH").arg(key)).map_err(certainly_not)?;
        let there = self.exchange(connection, cmd("HGETALL").arg(key)).map_err(certainly_not)?;
        let there = self
            .read_fields(database, key, there)
            .map_err(|error| (Trouble::Nonsense(error.message), false))?;
        let there = there.get(field).cloned().unwrap_or_default();
        if !expected(&there) {
            // Dropping the connection also ends Redis' watch of the key.
            return Ok(Some(Swap::Found(there)));
        }
        self.exchange(connection, &cmd("MULTI")).map_err(certainly_not)?;
        let queued =
            self.exchange(connection, cmd("HSET").arg(key).arg(field).arg(value)).map_err(unless_refused)?;
        if queued != Value::SimpleString("QUEUED".to_owned()) {
            let message = "it does not queue a write of a transaction: is it a Redis?";
            return Err((Trouble::Nonsense(message.to_owned()), true));
        }
        match self.exchange(connection, &cmd("EXEC")) {
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

/// Returns the error of a write, and whether the write may have happened. A refused write did not
/// happen. After any other error, the outcome of the write is unknown.
fn unless_refused(trouble: Trouble) -> (Trouble, bool) {
    let uncertain = !matches!(trouble, Trouble::Refused(_));
    (trouble, uncertain)
}
