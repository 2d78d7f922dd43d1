//! Decisions of a policy: verdicts with their reasons, and demands to pause.

use crate::buffer::{Account, End, QueueId};
use crate::event::Refusal;

/// A policy's decision about an arriving packet.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Store the arriving packet and charge its bytes to the given account.
    Admit(Account),
    /// Refuse the arriving packet.
    Drop(DropReason),
    /// Remove one stored packet of `victim`, then call the policy again.
    Evict {
        /// The queue that the switch must shorten.
        victim: QueueId,
        /// End of the queue at which the switch removes a packet.
        end: End,
    },
}

impl Verdict {
    /// Outcome and reason of the refusal. `None` if the policy stores or removes a packet.
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
        /// Reason for the loss of a packet: the limit that the packet exceeded.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum DropReason { $($(#[$doc])* $variant,)* }

        impl DropReason {
            /// All drop reasons, in the order of their discriminants.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Name of the drop reason in tables, test vectors and reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

drop_reasons! {
    /// The whole buffer has no space for the packet: Q + len > B.
    BufferFull = "buffer-full",
    /// The packet's queue would exceed its threshold: q + len > T.
    OverThreshold = "over-threshold",
    /// The packet's egress port would exceed a limit of its bytes.
    OverPortLimit = "over-port-limit",
    /// The packet's ingress queue would exceed a limit of its bytes.
    OverIngressLimit = "over-ingress-limit",
    /// A lossless packet arrived while its headroom was full. This loss indicates a configuration
    /// error.
    HeadroomFull = "headroom-full",
    /// The policy dropped the packet early with a probability (AFD, RED).
    Early = "early",
    /// A predictor expected that the packet would be lost in any case (Credence).
    Predicted = "predicted",
    /// The policy evicted the packet for another arrival (push-out, LossPass).
    PushedOut = "pushed-out",
    /// The policy removed the stored packet without an arrival that needed the space (Occamy).
    Expelled = "expelled",
    /// The link was down when the packet arrived, or failed while sending the packet.
    LinkDown = "link-down",
    /// The policy failed or made an impossible demand: a defect of the policy, see
    /// [`crate::Switch::take_failure`].
    PolicyFault = "policy-fault",
    /// The PFC watchdog discarded the packet during a pause storm of its queue.
    Watchdog = "pfc-watchdog",
}

/// Demand of a policy on the sender behind an ingress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseDemand {
    /// The pause state of the sender behind the ingress queue does not change.
    Keep,
    /// The sender must stop sending packets of the priority.
    Pause,
    /// The sender may resume sending packets of the priority.
    Resume,
}
