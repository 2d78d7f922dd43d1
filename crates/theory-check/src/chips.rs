//! `chips` cannot be replayed.

use crate::{ReplayInfo, Verification};

const REASON: &str =
    "published figures of chips divided by ports and rates: no packet shows how large somebody's buffer is";

/// Reason why `chips` cannot be replayed.
pub(crate) const REPLAY: ReplayInfo =
    ReplayInfo { calculator: "chips", summary: REASON, run: |_| Verification::nothing(REASON) };
