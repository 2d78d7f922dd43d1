//! Random draws of a host: the paths of its flows and packets, and the queues of its flows.
//!
//! Every host has separate random streams and draws numbers only at its own events. So the draws of
//! a host depend neither on simultaneous events of other hosts, nor on the order in which hosts are
//! visited.

use bufferlab_units::RandomStream;

/// The random streams of one host.
#[derive(Clone, Debug)]
pub(super) struct HostStreams {
    /// Stream with one draw per flow: the paths of the flow's data and ACKs.
    pub(super) paths: RandomStream,
    /// Stream with one draw per flow of a transport that has several queues.
    pub(super) queues: RandomStream,
    /// Stream with one draw per packet that the host sends, if packets choose paths at random.
    pub(super) spray: RandomStream,
}

impl HostStreams {
    /// Random streams of host number `host` in a run with the seed `seed`.
    pub(super) fn new(seed: u64, host: u64) -> Self {
        let stream = |name| RandomStream::new(seed, name, host);
        Self { paths: stream("sim/paths"), queues: stream("sim/queues"), spray: stream("sim/spray") }
    }
}
