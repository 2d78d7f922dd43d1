//! Limits on the answers from the databases of a switch.

use crate::store::{KEY_MAX, Limits, VALUE_MAX};
use bufferlab_params::Limit;

const fn limit(name: &'static str, most: u64, unit: &'static str, effect: &'static str) -> Limit {
    Limit { name, most, unit, place: "`--redis` of `bufferlab sonic`", effect }
}

const REFUSED: &str = "the answer is refused as it arrives, and the command ends with an error";
const LATE: &str = "the command ends with an error";

/// Limits that apply to every answer of a database.
pub const LIMITS: &[Limit] = &{
    let most = Limits::DEFAULT;
    [
        limit("bytes of an answer", most.bytes as u64, "B", REFUSED),
        limit("elements of an answer", most.elements as u64, "", REFUSED),
        limit("lists within lists of an answer", most.nesting as u64, "", REFUSED),
        limit("bytes of a line of an answer", most.line as u64, "B", REFUSED),
        limit("bytes of a key", KEY_MAX as u64, "B", REFUSED),
        limit("bytes of a value", VALUE_MAX as u64, "B", REFUSED),
        limit("bytes of a dump of a database", most.dump_bytes as u64, "B", REFUSED),
        limit("steps of a scan of keys", most.steps as u64, "", LATE),
        limit("seconds until an answer is whole", most.time.as_secs(), "s", LATE),
        limit("seconds of a whole configuration", most.session.as_secs(), "s", LATE),
    ]
};
