//! Complete Sharing: every packet is admitted while the buffer has space.

use crate::buffer::{Buffer, QueueId};
use crate::policy::interface::{
    Account, Arrival, BuildError, DropReason, Hooks, Policy, PolicyInfo, SwitchShape, Tags, Verdict,
};
use bufferlab_params::Params;

/// Registry entry of the policy `cs`.
pub(super) static INFO: PolicyInfo = PolicyInfo {
    name: "cs",
    aliases: &["complete-sharing"],
    title: "Complete Sharing",
    summary: "Accepts every packet that still fits into the buffer: no limit per queue.",
    source: "Folklore; baseline of ABM and Plasticine. Admit iff Q + len <= B.",
    cost: "O(1)",
    params: &[],
    build: &build,
};

fn build(_: &Params, _: &SwitchShape) -> Result<Box<dyn Policy>, BuildError> {
    Ok(Box::new(CompleteSharing))
}

/// Admits a packet iff Q + len ≤ B: the occupancy with the packet is within the buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompleteSharing;

impl Policy for CompleteSharing {
    #[inline]
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if buffer.fits(arrival.header.size) {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(DropReason::BufferFull)
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks::BYPASS
    }

    fn can_bypass(&self, _: &Arrival, _: &Buffer) -> bool {
        true
    }

    fn threshold(&self, _: QueueId, _: Tags, buffer: &Buffer) -> Option<u64> {
        Some(buffer.shared_capacity())
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(*self))
    }
}
