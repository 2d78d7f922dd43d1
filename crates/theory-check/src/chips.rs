//! Gives the reason why the calculator `chips` has no replay.

use crate::{ReplayInfo, Verification};

const REASON: &str =
    "published figures of chips divided by ports and rates: no packet shows how large somebody's buffer is";

/// Reason why packets cannot replay the answers of `chips`.
pub(crate) const REPLAY: ReplayInfo =
    ReplayInfo { calculator: "chips", summary: REASON, run: |_| Verification::nothing(REASON) };
