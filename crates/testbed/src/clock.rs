//! The system clock, which the kernel also uses for the timestamps of packets.

use bufferlab_units::Time;
use std::time::{Duration, SystemTime};

/// Current time of the system clock (ns since 1970).
pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64
}

/// Returns the time from `began_ns` until the current time.
pub(crate) fn since(began_ns: u64) -> Time {
    Time::from_ns(now_ns().saturating_sub(began_ns))
}

/// Converts a duration to the type of the standard library.
pub(crate) fn duration(span: Time) -> Duration {
    Duration::from_nanos(span.0 / 1_000)
}
