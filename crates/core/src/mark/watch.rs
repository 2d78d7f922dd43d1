//! Which length a rule compares, and when: what the built-in rules have in common.

use super::{Markable, Moment, Scope};
use crate::buffer::Buffer;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params};

/// Parameter `scope`.
pub(super) const SCOPE: ParamInfo = ParamInfo::with_default(
    "scope",
    ParamKind::Choice(Scope::WORDS),
    ParamValue::word("queue"),
    "Whose length counts.",
);

/// Parameter `at`.
pub(super) const AT: ParamInfo = ParamInfo::with_default(
    "at",
    ParamKind::Choice(Moment::WORDS),
    ParamValue::word("enqueue"),
    "When it is looked at. Default: DCTCP (SIGCOMM 2010) section 3.1.",
);

/// A length that counts without any lower bound of its own.
pub(super) const LENGTH: ParamKind = ParamKind::Bytes { min: 0 };

/// Which length a rule compares, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// Whose length is compared.
    pub scope: Scope,
    /// When it is compared.
    pub at: Moment,
}

impl Watch {
    /// What [`SCOPE`] and [`AT`] say.
    pub(super) fn of(params: &Params) -> Self {
        Self { scope: params.choice("scope"), at: params.choice("at") }
    }

    /// The length that counts for `packet` (bytes).
    #[inline]
    #[must_use]
    pub fn length(self, packet: &Markable, buffer: &Buffer) -> u64 {
        match self.scope {
            Scope::Queue => buffer.queue_bytes(packet.queue),
            Scope::Port => buffer.port_bytes(packet.port),
        }
    }
}
