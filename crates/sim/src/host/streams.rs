//! Random draws of a host: the paths of its flows, of its packets, and the queues of its flows.
//!
//! Every host has separate streams and draws from them at its own events only. So its draws do not
//! depend on simultaneous events elsewhere, nor on the order in which hosts are visited.

use bufferlab_units::RandomStream;

/// The random streams of one host.
#[derive(Debug)]
pub(super) struct HostStreams {
    /// One draw per flow: the paths of its data and of its ACKs.
    pub(super) paths: RandomStream,
    /// One draw per flow of a transport that has several queues.
    pub(super) queues: RandomStream,
    /// One draw per packet that the host sends, if packets are sprayed.
    pub(super) spray: RandomStream,
}

impl HostStreams {
    /// Streams of host number `host` in a run with this seed.
    pub(super) fn new(seed: u64, host: u64) -> Self {
        let stream = |name| RandomStream::new(seed, name, host);
        Self { paths: stream("sim/paths"), queues: stream("sim/queues"), spray: stream("sim/spray") }
    }
}
