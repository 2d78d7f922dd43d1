//! What a policy answers: verdicts with their reasons, and demands to pause.

use crate::buffer::{Account, End, QueueId};
use crate::event::Refusal;

/// A policy's answer.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Store it and charge this account.
    Admit(Account),
    /// Refuse it.
    Drop(DropReason),
    /// Drop one stored packet of `victim` first, then ask again.
    Evict {
        /// The queue to shorten.
        victim: QueueId,
        /// From which end.
        end: End,
    },
}

impl Verdict {
    /// Outcome and reason of a refusal; `None`: the policy stores or removes a packet.
    #[must_use]
    pub const fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Drop(reason) => Some(Refusal::dropped(reason)),
            Self::Admit(_) | Self::Evict { .. } => None,
        }
    }
}

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a packet was lost: which limit bound.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason { $($(#[$doc])* $variant,)* }

        impl DropReason {
            /// Every reason, in the order of their discriminants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in tables, vectors and reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

drop_reasons! {
    /// The whole buffer has no room: Q + len > B.
    BufferFull = "buffer-full",
    /// The queue would exceed its threshold: q + len > T.
    OverThreshold = "over-threshold",
    /// A limit of the port bound.
    OverPortLimit = "over-port-limit",
    /// A limit of the ingress queue bound.
    OverIngressLimit = "over-ingress-limit",
    /// A lossless packet found its headroom full: a configuration error.
    HeadroomFull = "headroom-full",
    /// Dropped early with a probability (AFD, RED).
    Early = "early",
    /// A predictor said that it would be lost anyway (Credence).
    Predicted = "predicted",
    /// Evicted for another arrival (push-out, LossPass).
    PushedOut = "pushed-out",
    /// Expelled although nothing arrived (Occamy).
    Expelled = "expelled",
    /// Arrived for a link that is down, or was on it.
    LinkDown = "link-down",
    /// The policy failed or asked for something impossible: a defect of the policy, see
    /// [`crate::Switch::take_failure`].
    PolicyFault = "policy-fault",
    /// Discarded by the PFC watchdog while its queue was stormed by pauses.
    Watchdog = "pfc-watchdog",
}

/// What a policy wants of the sender behind an ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseDemand {
    /// As it is.
    Keep,
    /// Stop sending this priority.
    Pause,
    /// Go on.
    Resume,
}
