//! The queue length that a built-in rule compares, and the moment of the comparison.

use super::{Markable, Moment, Scope};
use crate::buffer::Buffer;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params};

/// Parameter `scope`: queue or port whose length a rule compares.
pub(super) const SCOPE: ParamInfo = ParamInfo::with_default(
    "scope",
    ParamKind::Choice(Scope::WORDS),
    ParamValue::word("queue"),
    "Whose length counts.",
);

/// Parameter `at`: moment at which a rule compares lengths.
pub(super) const AT: ParamInfo = ParamInfo::with_default(
    "at",
    ParamKind::Choice(Moment::WORDS),
    ParamValue::word("enqueue"),
    "Moment at which the length is compared. Default: DCTCP (SIGCOMM 2010) section 3.1.",
);

/// Parameter kind for a queue length without a lower bound.
pub(super) const LENGTH: ParamKind = ParamKind::Bytes { min: 0 };

/// Queue or port length that a rule compares, and the moment of the comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Queue or port whose length the rule compares.
    pub scope: Scope,
    /// Moment at which the rule compares the queue or port length.
    pub at: Moment,
}

impl Watch {
    /// Reads the compared length (queue or port) and the moment of the comparison from the
    /// parameters [`SCOPE`] and [`AT`].
    pub(super) fn from_params(params: &Params) -> Self {
        Self { scope: params.choice("scope"), at: params.choice("at") }
    }

    /// Length of the queue or port that the rule compares for `packet` (bytes).
    #[inline]
    #[must_use]
    pub fn length(self, packet: &Markable, buffer: &Buffer) -> u64 {
        match self.scope {
            Scope::Queue => buffer.queue_bytes(packet.queue),
            Scope::Port => buffer.port_bytes(packet.port),
        }
    }
}
