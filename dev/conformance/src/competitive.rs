//! Competitive comparison: losses of each policy on fixed arrivals, against Longest Queue Drop and
//! an offline optimum.
//!
//! The arrivals are fixed and do not react to losses, so the results depend on the policy alone.
//! [`Timed`] arrivals are packets with a time and a size. [`Slotted`] arrivals are the unit packets
//! of the literature: in every slot packets arrive in order, then every port sends one packet. For
//! slotted arrivals at small buffers [`Slotted::optimum`] is exact.
//!
//! ```
//! use bufferlab_conformance::competitive::{Arrivals, Slotted, standings};
//! use bufferlab_core::find_policy;
//!
//! // A burst of six packets arrives for one of two ports. The buffer has space for six packets.
//! let burst = Slotted { ports: 2, capacity_packets: 6, slots: vec![vec![0; 6]] };
//! let policies = ["cs", "dt", "lqd"].map(|name| find_policy(name).expect("registered"));
//! let standings = standings(&burst, &policies)?;
//! let sent: Vec<_> = standings.iter().map(|standing| standing.fates.sent_bytes / 1_500).collect();
//! assert_eq!(sent, [6, 2, 6]);
//! assert_eq!(burst.optimum(), 6);
//! assert_eq!(standings[1].sent_against_lqd(), 2.0 / 6.0);
//! # Ok::<(), bufferlab_core::BuildError>(())
//! ```

use crate::device::{Device, SwitchDevice};
use bufferlab_core::{
    Admission, BuildError, Header, Packet, PolicyInfo, Scheduler, SwitchConfig, Tags, find_policy,
};
use bufferlab_units::{BitRate, Time};
use std::collections::BTreeMap;

/// A fixed sequence of arrivals that can be replayed to any device.
pub trait Arrivals {
    /// Configuration of a switch with enough ports and queues for the arrivals.
    fn config(&self) -> SwitchConfig;

    /// Replays the arrivals to `device`, which must be fresh, and then drains the device.
    fn run(&self, device: &mut dyn Device) -> Fates;
}

/// Outcome of every arrival under a policy: whether the switch sent or lost the packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Whether each packet was sent, that is, neither dropped nor evicted.
    pub sent: Vec<bool>,
    /// Total size of all packets that arrived (bytes).
    pub offered_bytes: u64,
    /// Total size of all packets that the switch sent (bytes).
    pub sent_bytes: u64,
}

impl Fates {
    fn new(packets: usize) -> Self {
        Self { sent: vec![false; packets], ..Self::default() }
    }

    /// Fraction of the offered bytes that were lost; 0 without arrivals.
    #[must_use]
    pub fn lost_share(&self) -> f64 {
        match self.offered_bytes {
            0 => 0.0,
            offered => (offered - self.sent_bytes) as f64 / offered as f64,
        }
    }

    /// Whether each packet was lost. The drops under Longest Queue Drop are the predictions of a
    /// perfect oracle ([`bufferlab_core::policy::Credence::with_predictions`]).
    #[must_use]
    pub fn drops(&self) -> Vec<bool> {
        self.sent.iter().map(|&sent| !sent).collect()
    }
}

/// Results of a policy and of Longest Queue Drop on equal arrivals.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Registry name of the compared policy.
    pub policy: &'static str,
    /// Outcomes of the packets under the compared policy.
    pub fates: Fates,
    /// Outcomes of the packets under Longest Queue Drop.
    pub lqd: Fates,
}

impl Standing {
    /// Fraction of the offered bytes lost by this policy, minus the fraction lost by Longest Queue
    /// Drop. The difference is negative if this policy loses less.
    #[must_use]
    pub fn lost_beyond_lqd(&self) -> f64 {
        self.fates.lost_share() - self.lqd.lost_share()
    }

    /// Sent bytes of this policy, relative to Longest Queue Drop; 1 if neither
    /// policy sends a packet.
    #[must_use]
    pub fn sent_against_lqd(&self) -> f64 {
        match self.lqd.sent_bytes {
            0 => 1.0,
            lqd => self.fates.sent_bytes as f64 / lqd as f64,
        }
    }
}

/// Runs every policy, with its default parameters, on equal arrivals.
///
/// # Errors
/// If a policy does not fit the switch.
///
/// # Panics
/// If the registry has no Longest Queue Drop.
pub fn standings(
    arrivals: &dyn Arrivals,
    policies: &[&'static PolicyInfo],
) -> Result<Vec<Standing>, BuildError> {
    let config = arrivals.config();
    let fates = |info: &PolicyInfo| -> Result<Fates, BuildError> {
        Ok(arrivals.run(&mut SwitchDevice::new(config.build(info.name, &[])?)))
    };
    let lqd = fates(find_policy("lqd").expect("registered"))?;
    let standing = |info: &&'static PolicyInfo| {
        Ok(Standing { policy: info.name, fates: fates(info)?, lqd: lqd.clone() })
    };
    policies.iter().map(standing).collect()
}

/// An arriving packet with its time and size, for [`Timed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedPacket {
    /// Arrival time of the packet.
    pub at: Time,
    /// Number of the packet's egress port.
    pub port: u16,
    /// Index of the packet's queue within the port.
    pub priority: u8,
    /// Size of the packet (bytes).
    pub size: u32,
    /// Tags of the packet at the switch.
    pub tags: Tags,
    /// Number of the packet's flow.
    pub flow: u32,
}

/// Arriving packets with times and sizes, at a switch whose ports send at their rates.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Configuration of the switch at which the packets arrive.
    pub config: SwitchConfig,
    /// Arriving packets in the order of their times.
    pub packets: Vec<TimedPacket>,
}

/// A device with ports that need time to send each packet.
struct Line<'a> {
    device: &'a mut dyn Device,
    rates: &'a [BitRate],
    /// End time of each port's current transmission.
    busy_until: Vec<Option<Time>>,
    fates: Fates,
}

impl Line<'_> {
    /// Advances time, and handles expired timers and ends of transmissions. At one instant, timers
    /// precede transmissions, which are handled in the order of ports.
    fn advance(&mut self, to: Time) {
        loop {
            let port =
                self.busy_until.iter().enumerate().filter_map(|(port, until)| Some((until.as_ref()?, port)));
            let port = port.min().map(|(&until, port)| (until, port)).filter(|&(until, _)| until <= to);
            let timer = self.device.poll_timeout().filter(|&due| due <= to);
            match (timer, port) {
                (Some(due), port) if port.is_none_or(|(until, _)| due <= until) => {
                    self.device.handle_timeout(due)
                }
                (_, Some((until, port))) => {
                    self.busy_until[port] = None;
                    self.send(until, port);
                }
                _ => break,
            }
        }
    }

    fn send(&mut self, now: Time, port: usize) {
        if self.busy_until[port].is_some() {
            return;
        }
        if let Some(sent) = self.device.poll_transmit(now, port as u16) {
            self.busy_until[port] =
                Some(now.saturating_add(self.rates[port].serialization(u64::from(sent.size))));
            self.fates.sent[sent.packet as usize] = true;
            self.fates.sent_bytes += u64::from(sent.size);
        }
    }
}

impl Arrivals for Timed {
    fn config(&self) -> SwitchConfig {
        self.config.clone()
    }

    fn run(&self, device: &mut dyn Device) -> Fates {
        let rates = &self.config.port_rates;
        let fates = Fates::new(self.packets.len());
        let mut line = Line { device, rates, busy_until: vec![None; rates.len()], fates };
        for (id, packet) in self.packets.iter().enumerate() {
            let TimedPacket { at, port, priority, size, tags, flow } = *packet;
            line.advance(at);
            line.fates.offered_bytes += u64::from(size);
            let packet = Packet {
                id: id as u32,
                header: Header { size, flow, priority, tags, ..Header::default() },
                egress_port: port,
                ..Packet::default()
            };
            if let Admission::Stored { .. } = line.device.handle_arrival(at, &packet) {
                line.send(at, usize::from(port));
            }
        }
        while let Some(last) = line.busy_until.iter().flatten().max().copied() {
            line.advance(last);
        }
        line.fates
    }
}

/// Size of the packets in slotted arrivals (bytes).
const UNIT: u64 = 1_500;
/// Duration of a slot, in which a 10 Gb/s port sends a unit packet.
const SLOT: Time = Time::from_ns(1_200);
/// Maximum number of states in the search for the optimum.
const MOST_STATES: u64 = 1_000_000;

/// Arrivals of unit packets in slots: one queue per port, packets of 1500 B, slots of
/// 1.2 µs at 10 Gb/s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slotted {
    /// Number of ports of the switch.
    pub ports: usize,
    /// Buffer size B of the switch (packets).
    pub capacity_packets: u64,
    /// Egress ports of the arriving packets, in order, for each slot.
    pub slots: Vec<Vec<u16>>,
}

impl Slotted {
    /// Returns the time at which the packets of slot `slot` arrive.
    #[must_use]
    pub fn arrival_time(slot: usize) -> Time {
        SLOT * slot as u64
    }

    /// Returns the time at which the ports send in slot `slot`: just before the next slot.
    #[must_use]
    pub fn departure_time(slot: usize) -> Time {
        Time(Self::arrival_time(slot + 1).0 - 1)
    }

    /// Number of packets that arrive in all slots.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.slots.iter().map(Vec::len).sum()
    }

    /// Creates the unit packet with the given number for a port.
    #[must_use]
    pub fn packet(id: u32, port: u16) -> Packet {
        Packet { id, header: Header::new(UNIT as u32), egress_port: port, ..Packet::default() }
    }

    /// Largest number of packets that an offline policy can send, from an exact search over
    /// admissions. Evictions do not help an offline policy, which can refuse the evicted
    /// packets on arrival.
    ///
    /// # Panics
    /// If buffer and ports allow more than a million different states, because the search is only
    /// for tiny instances.
    #[must_use]
    pub fn optimum(&self) -> u64 {
        // Number of ways to put at most B packets into N queues: C(B + N, N).
        let states = (1..=self.ports as u64)
            .try_fold(1_u64, |states, n| states.checked_mul(self.capacity_packets + n).map(|s| s / n));
        assert!(states.is_some_and(|states| states <= MOST_STATES), "too many states for an exact optimum");
        // Largest number of admissions that leads to each combination of queue lengths.
        let mut best = BTreeMap::from([(vec![0_u64; self.ports], 0_u64)]);
        for slot in &self.slots {
            for &port in slot {
                let mut next = best.clone();
                for (lengths, accepted) in best {
                    if lengths.iter().sum::<u64>() < self.capacity_packets {
                        let mut longer = lengths;
                        longer[usize::from(port)] += 1;
                        let known = next.entry(longer).or_default();
                        *known = (*known).max(accepted + 1);
                    }
                }
                best = next;
            }
            let mut after = BTreeMap::new();
            for (mut lengths, accepted) in best {
                lengths.iter_mut().for_each(|length| *length = length.saturating_sub(1));
                let known = after.entry(lengths).or_default();
                *known = accepted.max(*known);
            }
            best = after;
        }
        best.values().copied().max().unwrap_or(0)
    }
}

impl Arrivals for Slotted {
    fn config(&self) -> SwitchConfig {
        SwitchConfig {
            max_packet: UNIT,
            scheduler: Scheduler::fifo(1),
            ..SwitchConfig::new(self.capacity_packets * UNIT, vec![BitRate::gbps(10); self.ports])
        }
    }

    fn run(&self, device: &mut dyn Device) -> Fates {
        let mut fates = Fates::new(self.packets());
        let mut id = 0;
        // The buffer stores at most B packets, so B further slots empty the buffer.
        let drain = std::iter::repeat_n(&[] as &[u16], self.capacity_packets as usize);
        for (slot, ports) in self.slots.iter().map(Vec::as_slice).chain(drain).enumerate() {
            catch_up(device, Self::arrival_time(slot));
            for &port in ports {
                let _ = device.handle_arrival(Self::arrival_time(slot), &Self::packet(id, port));
                fates.offered_bytes += UNIT;
                id += 1;
            }
            let end = Self::departure_time(slot);
            catch_up(device, end);
            for port in 0..self.ports as u16 {
                if let Some(sent) = device.poll_transmit(end, port) {
                    fates.sent[sent.packet as usize] = true;
                    fates.sent_bytes += UNIT;
                }
            }
        }
        fates
    }
}

fn catch_up(device: &mut dyn Device, to: Time) {
    while let Some(due) = device.poll_timeout().filter(|&due| due <= to) {
        device.handle_timeout(due);
    }
}
