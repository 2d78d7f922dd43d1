//! States why the calculator `chips` has no replay.

use crate::{ReplayInfo, Verification};

const REASON: &str =
    "published figures of chips divided by ports and rates: no packet shows how large somebody's buffer is";

/// Reason why the answers of `chips` cannot be replayed.
pub(crate) const REPLAY: ReplayInfo =
    ReplayInfo { calculator: "chips", summary: REASON, run: |_| Verification::nothing(REASON) };
