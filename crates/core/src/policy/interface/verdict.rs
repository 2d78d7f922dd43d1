//! Answers of a policy: verdicts with their reasons, and demands to pause.

use crate::buffer::{Account, End, QueueId};
use crate::event::Refusal;

/// A policy's answer.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Store the packet and charge this account.
    Admit(Account),
    /// Refuse the packet.
    Drop(DropReason),
    /// Drop one stored packet of `victim`, then call the policy again.
    Evict {
        /// The queue to shorten.
        victim: QueueId,
        /// End of the queue that loses a packet.
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
        /// Reason for the loss of a packet: the limit that was exceeded.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason { $($(#[$doc])* $variant,)* }

        impl DropReason {
            /// All drop reasons, in the order of their discriminants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name of the reason in tables, vectors and reports.
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
    /// A limit of the port would be exceeded.
    OverPortLimit = "over-port-limit",
    /// A limit of the ingress queue would be exceeded.
    OverIngressLimit = "over-ingress-limit",
    /// A lossless packet found its headroom full, which indicates a configuration error.
    HeadroomFull = "headroom-full",
    /// Dropped early with a probability (AFD, RED).
    Early = "early",
    /// A predictor expected that the packet would be lost anyway (Credence).
    Predicted = "predicted",
    /// Evicted for another arrival (push-out, LossPass).
    PushedOut = "pushed-out",
    /// Expelled although nothing arrived (Occamy).
    Expelled = "expelled",
    /// The link was down when the packet arrived for it, or failed while sending it.
    LinkDown = "link-down",
    /// The policy failed or made an impossible demand: a defect of the policy, see
    /// [`crate::Switch::take_failure`].
    PolicyFault = "policy-fault",
    /// Discarded by the PFC watchdog during a pause storm of its queue.
    Watchdog = "pfc-watchdog",
}

/// Demand of a policy on the sender behind an ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseDemand {
    /// No change.
    Keep,
    /// Stop sending this priority.
    Pause,
    /// Resume sending this priority.
    Resume,
}
