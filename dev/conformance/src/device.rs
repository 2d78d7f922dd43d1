//! Interface of a switch under test.

use bufferlab_core::{
    Admission, Buffer, Observer, Packet, Policy, QueueId, Switch, SwitchEvent, Tags, Transmission,
};
use bufferlab_units::Time;

/// A switch with a policy, in any implementation: the core's, a hardware model, or an
/// implementation in another language.
///
/// The methods mirror the methods of [`Switch`], which have the detailed documentation.
pub trait Device {
    /// Handles the arrival of a packet at the switch.
    fn handle_arrival(&mut self, now: Time, packet: &Packet) -> Admission;

    /// Returns the packet that the idle `port` sends next.
    fn poll_transmit(&mut self, now: Time, port: u16) -> Option<Transmission>;

    /// Applies a pause or resume of `priority` from the neighbour at `port`.
    fn handle_pause(&mut self, port: u16, priority: u8, paused: bool);

    /// Returns the time at which [`Self::handle_timeout`] must be called next.
    fn poll_timeout(&self) -> Option<Time>;

    /// Handles the timers that are due, at the time given by [`Self::poll_timeout`].
    fn handle_timeout(&mut self, now: Time);

    /// Returns queue and name of the packets that the device removed without sending since the last
    /// call.
    fn take_removed(&mut self) -> Vec<(QueueId, u32)>;

    /// Length of a queue according to the ledger (bytes).
    fn queue_bytes(&self, queue: QueueId) -> u64;

    /// Occupancy of the whole buffer according to the ledger (bytes).
    fn occupancy(&self) -> u64;

    /// Returns the policy's limit for a packet with `tags` in `queue` (bytes).
    fn threshold(&self, queue: QueueId, tags: Tags) -> Option<u64>;

    /// Returns the policy's internal state for a queue, as names and values. A device without
    /// probes fails vectors with the key `probes`.
    fn probes(&self, _queue: QueueId) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Returns a failure of the policy, once: an internal error, or a request that no switch can
    /// fulfil. A device that cannot detect failures returns `None`.
    fn take_failure(&mut self) -> Option<String> {
        None
    }

    /// Calls the device to check its accounts of stored packets.
    ///
    /// # Errors
    /// A sentence that names the wrong account.
    fn verify(&self) -> Result<(), String>;
}

/// Adapter that makes the core's switch a [`Device`].
#[derive(Debug)]
pub struct SwitchDevice<P> {
    switch: Switch<P>,
    removed: Removed,
}

impl<P: Policy> SwitchDevice<P> {
    /// Wraps the core's `switch` as a device under test.
    #[must_use]
    pub fn new(switch: Switch<P>) -> Self {
        Self { switch, removed: Removed::default() }
    }

    /// Returns the switch that this device wraps.
    #[must_use]
    pub fn switch(&self) -> &Switch<P> {
        &self.switch
    }
}

#[derive(Debug, Default)]
struct Removed(Vec<(QueueId, u32)>);

impl Observer for Removed {
    fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
        if let SwitchEvent::Evicted { queue, stored, .. } = *event {
            self.0.push((queue, stored.packet));
        }
    }
}

impl<P: Policy> Device for SwitchDevice<P> {
    fn handle_arrival(&mut self, now: Time, packet: &Packet) -> Admission {
        self.switch.handle_arrival(now, packet, &mut self.removed)
    }

    fn poll_transmit(&mut self, now: Time, port: u16) -> Option<Transmission> {
        self.switch.poll_transmit(now, port, &mut self.removed)
    }

    fn handle_pause(&mut self, port: u16, priority: u8, paused: bool) {
        self.switch.handle_pause(port, priority, paused);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.switch.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.switch.handle_timeout(now, &mut self.removed);
    }

    fn take_removed(&mut self) -> Vec<(QueueId, u32)> {
        std::mem::take(&mut self.removed.0)
    }

    fn queue_bytes(&self, queue: QueueId) -> u64 {
        self.switch.buffer().queue_bytes(queue)
    }

    fn occupancy(&self) -> u64 {
        self.switch.buffer().occupancy()
    }

    fn threshold(&self, queue: QueueId, tags: Tags) -> Option<u64> {
        self.switch.threshold(queue, tags)
    }

    fn probes(&self, queue: QueueId) -> Vec<(String, f64)> {
        let mut probes = Vec::new();
        let mut sink = |name: &'static str, value| probes.push((name.to_owned(), value));
        self.switch.policy().probe(queue, self.switch.buffer(), &mut sink);
        probes
    }

    fn take_failure(&mut self) -> Option<String> {
        self.switch.take_failure().map(|failure| match std::error::Error::source(&failure) {
            Some(cause) => format!("{failure}\n{cause}"),
            None => failure.to_string(),
        })
    }

    fn verify(&self) -> Result<(), String> {
        self.switch.verify().map_err(|error| error.to_string())
    }
}
