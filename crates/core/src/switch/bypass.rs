//! Bypass for a packet that finds its port idle: the switch sends the packet immediately.
//!
//! Most packets in most networks bypass the queue. Storing and removing a bypassing packet would
//! leave the ledger unchanged. So if no one can observe the difference, the switch only updates the
//! counters and the scheduler's round robin.

use super::{Counters, Packet, Switch, holds, sets_peak};
use crate::buffer::QueueId;
use crate::mark::Marker;
use crate::policy::{Hooks, Policy};
use crate::schedule::after;
use bufferlab_prefetch::prefetch;
use bufferlab_units::Time;

/// Counters of packets that went through a queue without waiting. These counters take 24 bytes
/// instead of the 64 bytes of [`Counters`], so that the counters of two queues fit into the cache
/// line of their port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FastPath {
    packets: u64,
    bytes: u64,
    /// Size of the largest bypassing packet (bytes).
    pub(super) largest: u32,
}

impl FastPath {
    /// Adds the counters of bypassing packets to the counters of stored packets.
    pub(super) fn added_to(self, stored: Counters) -> Counters {
        Counters {
            arrived: stored.arrived + self.packets,
            enqueued: stored.enqueued + self.packets,
            enqueued_bytes: stored.enqueued_bytes + self.bytes,
            departed: stored.departed + self.packets,
            ..stored
        }
    }
}

impl<P: Policy> Switch<P> {
    /// Handles an arrival and its departure in one call ([`Self::handle_arrival`],
    /// [`Self::poll_transmit`]), for a packet whose egress port is idle. Returns the queue. The
    /// packet gets no mark, and no other packet waits at the port. With `None`, the state is
    /// unchanged, and the packet must take the normal path. `None` has these reasons: a packet
    /// waits at the port, the priority is paused, or the policy refuses the bypass
    /// ([`Policy::can_bypass`]). Custom marking rules, classifiers that count, deficit round robin
    /// and a chip that is not ideal also need the normal path. A packet that changes
    /// [`Self::pause_levels_at_peaks`] needs the normal path, too.
    ///
    /// The switch does not call the [`super::Observer`].
    /// [`Self::counters`] and [`Self::largest_bypassed`] include the packet.
    /// A driver that must see every packet takes the normal path.
    #[inline(always)] // Called from the one place where packets arrive.
    pub fn bypass(&mut self, now: Time, packet: &Packet) -> Option<QueueId> {
        if !self.can_bypass {
            return None;
        }
        let port = &mut self.ports[usize::from(packet.egress_port)];
        if port.occupied | port.paused != 0 {
            return None;
        }
        let arrival = Self::arrival(&mut self.classifier, &self.buffer, now, packet);
        if !self.policy.can_bypass(&arrival, &self.buffer) || !self.buffer.fits(arrival.header.size) {
            return None;
        }
        let (size, place) = (arrival.header.size, (arrival.ingress, arrival.priority));
        if holds(self.peak_priorities, arrival.priority)
            && sets_peak(&self.pause_peaks, &self.buffer, place, size)
        {
            return None;
        }
        port.cursor = after(arrival.priority);
        if self.has_turns {
            self.scheduler.note_bypass(&mut self.turns, arrival.port, arrival.priority);
        }
        let counts = match port.fast_path.get_mut(usize::from(arrival.priority)) {
            Some(counts) => counts,
            None => &mut self.far_fast_path[usize::from(arrival.queue.0)],
        };
        counts.packets += 1;
        counts.bytes += u64::from(size);
        counts.largest = counts.largest.max(size);
        Some(arrival.queue)
    }

    /// Requests the data of egress port `port` that a bypassing packet needs. A driver of many
    /// switches calls this method shortly before a packet arrives.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        prefetch(&self.ports, usize::from(port), 1);
    }

    /// Counters of packets that bypassed `queue`.
    pub(super) fn fast_path(&self, queue: QueueId) -> FastPath {
        let (port, priority) = self.buffer.port_and_priority(queue);
        let near = self.ports[usize::from(port)].fast_path.get(usize::from(priority));
        near.copied().unwrap_or_else(|| self.far_fast_path[usize::from(queue.0)])
    }

    /// Whether the configuration allows any packet to bypass its queue.
    pub(super) fn may_bypass(&self) -> bool {
        let marks = self.marker.as_ref().is_some_and(Marker::may_mark_at_empty_port);
        let looks = marks || self.scheduler.looks_at_packets() || !self.classifier.is_a_map();
        self.ideal && !looks && self.hooks.contains(Hooks::BYPASS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Admission, SwitchConfig, Transmission};
    use super::*;
    use crate::header::{Ecn, Header};
    use crate::{Counters, Discipline, Dispatched, Group, Scheduler};
    use bufferlab_params::ParamValue;
    use bufferlab_units::{BitRate, RandomStream};

    /// Sends a packet on the normal path through the queue.
    fn wait<P: Policy>(
        switch: &mut Switch<P>,
        now: Time,
        packet: &Packet,
    ) -> (Admission, Option<Transmission>) {
        let admission = switch.handle_arrival(now, packet, &mut ());
        let sent = match admission {
            Admission::Stored { .. } => switch.poll_transmit(now, packet.egress_port, &mut ()),
            Admission::Refused(_) => None,
        };
        (admission, sent)
    }

    fn packet(stream: &mut RandomStream) -> Packet {
        let size = 60 + stream.below(1_500) as u32;
        let (ingress_port, egress_port) = (stream.below(4) as u16, stream.below(4) as u16);
        let priority = stream.below(4) as u8;
        let ecn = [Ecn::Capable, Ecn::NotCapable, Ecn::Marked][stream.below(3) as usize];
        let header = Header { size, priority, ecn, ..Header::default() };
        Packet { id: 0, header, ingress_port, egress_port }
    }

    fn counters(switch: &Switch<Dispatched>) -> Vec<Counters> {
        switch.buffer().queue_ids().map(|queue| switch.counters(queue)).collect()
    }

    /// Sends random packets through two switches. One of the switches bypasses queues where a
    /// bypass is possible. Returns the number of bypasses.
    fn compare(config: &SwitchConfig, policy: &str, params: &[(String, ParamValue)]) -> usize {
        let build = || config.build_dispatched(policy, params).expect("it fits");
        let (mut long, mut short) = (build(), build());
        let mut stream = RandomStream::new(3, policy, 0);
        let mut passed = 0;
        for step in 0..20_000_u64 {
            let now = Time::from_ns(step);
            let packet = packet(&mut stream);
            // Other ports fill and drain, so that verdicts and the round robin depend on the past.
            match stream.below(3) {
                0 => {
                    let found = [&mut long, &mut short].map(|it| it.handle_arrival(now, &packet, &mut ()));
                    assert_eq!(found[0], found[1], "{policy}, step {step}");
                }
                1 => {
                    let port = packet.egress_port;
                    let found = [&mut long, &mut short].map(|it| it.poll_transmit(now, port, &mut ()));
                    assert_eq!(found[0], found[1], "{policy}, step {step}");
                }
                _ => {
                    let ways = wait(&mut long, now, &packet);
                    match short.bypass(now, &packet) {
                        None => assert_eq!(ways, wait(&mut short, now, &packet), "{policy}, step {step}"),
                        Some(queue) => {
                            let (id, size, marked) = (packet.id, packet.header.size, false);
                            let sent = Transmission { packet: id, size, queue, marked, more: false };
                            let expected = (Admission::Stored { marked }, Some(sent));
                            assert_eq!(ways, expected, "{policy}, step {step}");
                            passed += 1;
                        }
                    }
                }
            }
            let paused = stream.below(400);
            if paused < 8 {
                let (port, priority) = (packet.egress_port, packet.header.priority);
                for switch in [&mut long, &mut short] {
                    switch.handle_pause(port, priority, paused == 0);
                }
            }
        }
        assert_eq!(counters(&long), counters(&short), "{policy}");
        assert_eq!(format!("{:?}", long.policy()), format!("{:?}", short.policy()));
        assert_eq!((long.verify(), short.verify()), (Ok(()), Ok(())));
        passed
    }

    fn config() -> SwitchConfig {
        SwitchConfig::new(30_000, vec![BitRate::gbps(10); 4]).with_queues(4)
    }

    #[test]
    fn a_packet_that_passes_leaves_what_one_leaves_that_is_stored_and_sent() {
        for policy in ["cs", "dt", "sonic-dt"] {
            let passed = compare(&config(), policy, &[]);
            assert!(passed > 100, "{policy}: {passed} packets passed");
        }
        let lossless = SwitchConfig { lossless: 0b0010, max_packet: 1_600, ..config() };
        let headroom = [("headroom".to_owned(), ParamValue::Bytes(2_000))];
        let passed = compare(&lossless, "sonic-dt", &headroom);
        assert!(passed > 100, "lossless: {passed} packets passed");
        let weights =
            Group { queues: vec![0, 1, 2, 3], discipline: Discipline::WeightedRoundRobin(vec![1, 2, 3, 4]) };
        let scheduler = Scheduler::new(&[weights], 4).expect("complete");
        assert!(compare(&SwitchConfig { scheduler, ..config() }, "dt", &[]) > 100);
    }

    #[test]
    fn nothing_passes_where_somebody_looks() {
        let quanta =
            Group { queues: vec![0, 1, 2, 3], discipline: Discipline::DeficitRoundRobin(vec![1_500; 4]) };
        let scheduler = Scheduler::new(&[quanta], 4).expect("complete");
        let deficit = SwitchConfig { scheduler, ..config() };
        assert_eq!(compare(&deficit, "dt", &[]), 0, "deficits depend on the packet");
        assert_eq!(compare(&config(), "abm", &[]), 0, "its hooks count");
    }
}
