//! What a host draws by chance: the ways of its flows, of its packets, and the queues of its flows.
//!
//! Every host has streams of its own and draws from them at its own events only. So what a host
//! draws does not depend on what happens elsewhere at the same time, nor on the order in which it
//! is looked at.

use bufferlab_units::RandomStream;

/// The random streams of one host.
#[derive(Debug)]
pub(super) struct HostStreams {
    /// A draw per flow: the ways of its data and of its ACKs.
    pub(super) paths: RandomStream,
    /// A draw per flow of a transport that has several queues.
    pub(super) queues: RandomStream,
    /// A draw per packet that the host sends, where packets are sprayed.
    pub(super) spray: RandomStream,
}

impl HostStreams {
    /// The streams of the host with this number in a run with this seed.
    pub(super) fn new(seed: u64, host: u64) -> Self {
        let stream = |name| RandomStream::new(seed, name, host);
        Self { paths: stream("sim/paths"), queues: stream("sim/queues"), spray: stream("sim/spray") }
    }
}
