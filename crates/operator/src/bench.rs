//! The simulated chip on a test bench, as in the qualification of a real switch. The tester sends
//! packets one by one, blocks ports, lets ports release packets, and reads pauses.

use crate::OperatorError;
use crate::meter::{Counters, Levels, Meter};
use crate::model::{Limit, Model, PRIORITIES};
use bufferlab_core::{
    Admission, BufferProfile, Direction, Header, IngressId, Packet, ParamValue, Policy, Switch, SwitchConfig,
    ThresholdRule,
};
use bufferlab_units::{BitRate, Time};

/// Size of the largest frame that the simulated test bench sends (bytes).
pub const PACKET_MAX: u64 = 16_384;

/// A simulated switch whose ports send packets only on request.
#[derive(Debug)]
pub struct Bench {
    config: SwitchConfig,
    params: Vec<(String, ParamValue)>,
    switch: Switch<Box<dyn Policy>>,
    meter: Meter,
    policy: &'static str,
    now: Time,
    size: u32,
}

impl Bench {
    /// Creates a test bench with the simulated switch of a chip model. The bench sends packets of
    /// `packet_bytes`.
    ///
    /// # Errors
    /// If the packet size is out of range, or the memory has no room for headroom and reserves.
    pub fn new(model: &Model, packet_bytes: u64) -> Result<Self, OperatorError> {
        Self::with(model, packet_bytes, "sonic-dt", params(model))
    }

    /// Creates a test bench whose switch has the chip's memory, but runs Active Buffer Management
    /// (ABM) with the alpha `alpha`, for comparison. Thresholds follow the number of congested
    /// queues, and each queue of a port has an equal share of the port's rate. [`Self::wait`]
    /// updates the counts of congested queues.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn of_abm(model: &Model, packet_bytes: u64, alpha: f64) -> Result<Self, OperatorError> {
        let mut params = params(model);
        params.retain(|(name, _)| name != "profiles");
        params.retain(|(name, _)| name != "port_alpha");
        let without = profiles(model)
            .into_iter()
            .map(|profile| BufferProfile { threshold: None, ..profile })
            .collect::<Vec<_>>();
        params.push(("profiles".to_owned(), ParamValue::Profiles(without.into())));
        params.push(("alpha".to_owned(), ParamValue::RatioPerPriority(vec![alpha].into())));
        params.push(("drain_rate".to_owned(), ParamValue::word("computed")));
        Self::with(model, packet_bytes, "sonic-abm", params)
    }

    fn with(
        model: &Model,
        packet_bytes: u64,
        policy: &'static str,
        params: Vec<(String, ParamValue)>,
    ) -> Result<Self, OperatorError> {
        if packet_bytes == 0 || packet_bytes > PACKET_MAX {
            let help = format!("give a size from 1 to {PACKET_MAX} B");
            return Err(OperatorError::new(format!("packets of {packet_bytes} B"), help));
        }
        let size = packet_bytes as u32;
        let masks =
            model.ports.iter().map(|port| port.groups.keys().fold(0, |mask, priority| mask | 1 << priority));
        let config = SwitchConfig {
            hardware: model.hardware(),
            lossless: model.lossless.iter().fold(0, |mask, priority| mask | 1 << priority),
            lossless_by_port: masks.collect(),
            max_packet: packet_bytes,
            ..SwitchConfig::new(
                model.buffer(),
                model.ports.iter().map(|port| BitRate(port.speed_mbps * 1_000_000)).collect(),
            )
            .with_queues(PRIORITIES)
        };
        let switch = build(&config, policy, &params)?;
        Ok(Self { config, params, switch, meter: Meter::new(model), policy, now: Time::ZERO, size })
    }

    /// Removes all packets from the switch.
    ///
    /// # Errors
    /// See [`Self::new`].
    pub fn reset(&mut self) -> Result<(), OperatorError> {
        self.switch = build(&self.config, self.policy, &self.params)?;
        self.meter.drain();
        self.now = Time::ZERO;
        Ok(())
    }

    /// Number of ports that the switch has.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.config.port_rates.len()
    }

    /// Advances the time without sending a packet, so that a policy updates its periodic counts.
    pub fn wait(&mut self, time: Time) {
        let until = self.now + time;
        while let Some(due) = self.switch.poll_timeout().filter(|due| *due <= until) {
            self.now = due;
            self.switch.handle_timeout(due, &mut self.meter);
        }
        self.now = until;
    }

    /// Sends a packet from a port to a blocked port, and returns whether the switch
    /// stores the packet.
    pub fn send(&mut self, from: u16, to: u16, priority: u8) -> bool {
        let packet = Packet {
            header: Header { size: self.size, priority, ..Header::default() },
            ingress_port: from,
            egress_port: to,
            ..Packet::default()
        };
        matches!(self.switch.handle_arrival(self.now, &packet, &mut self.meter), Admission::Stored { .. })
    }

    /// Whether the switch pauses the priority `priority` of the sender at a port.
    #[must_use]
    pub fn is_paused(&self, port: u16, priority: u8) -> bool {
        self.meter.is_paused(ingress(port, priority))
    }

    /// Lets a port send at most `packets`, and returns the number of sent packets.
    pub fn release(&mut self, port: u16, packets: u64) -> u64 {
        (0..packets)
            .take_while(|_| self.switch.poll_transmit(self.now, port, &mut self.meter).is_some())
            .count() as u64
    }

    /// Sends packets until the switch pauses the sender. Returns the number of the packet that
    /// causes the pause, or `None` if the switch loses a packet before the pause.
    pub fn fill_to_pause(&mut self, from: u16, to: u16, priority: u8) -> Option<u64> {
        let mut sent = 0;
        while !self.is_paused(from, priority) {
            let stored = self.send(from, to, priority);
            sent += 1;
            if !stored && !self.is_paused(from, priority) {
                return None;
            }
        }
        Some(sent)
    }

    /// Counters of a port. Each read of a paused priority group's counter adds one pause, because a
    /// real chip repeats pause frames.
    pub fn counters(&mut self, port: u16) -> Counters {
        self.meter.counters(port)
    }

    /// Peak occupancies of a port and of the buffer pools since the watermarks were last cleared.
    #[must_use]
    pub fn watermarks(&self, port: u16) -> Levels {
        self.meter.levels(port, true)
    }

    /// Occupancies of a port's priority groups and queues, and of the buffer pools.
    #[must_use]
    pub fn occupancy(&self, port: u16) -> Levels {
        self.meter.levels(port, false)
    }

    /// Clears the watermarks: each watermark becomes the current occupancy.
    pub fn clear_watermarks(&mut self) {
        self.meter.clear_watermarks();
    }

    /// Bytes that a priority group has in headroom.
    #[must_use]
    pub fn headroom_bytes(&self, port: u16, priority: u8) -> u64 {
        self.switch.buffer().ingress_headroom_bytes(ingress(port, priority))
    }

    /// Sends packets until the switch loses a packet, and returns the number of stored packets.
    pub fn fill_to_loss(&mut self, from: u16, to: u16, priority: u8) -> u64 {
        let mut stored = 0;
        while self.send(from, to, priority) {
            stored += 1;
        }
        stored
    }

    /// Releases packets one by one until the sender resumes. Returns the number of released
    /// packets, or `None` if the port becomes empty before the sender resumes.
    pub fn release_to_resume(&mut self, port: u16, from: u16, priority: u8) -> Option<u64> {
        let mut released = 0;
        while self.is_paused(from, priority) {
            if self.release(port, 1) == 0 {
                return None;
            }
            released += 1;
        }
        Some(released)
    }
}

/// Number of the simulator's ingress queue for a port's priority group.
fn ingress(port: u16, priority: u8) -> IngressId {
    IngressId(port * PRIORITIES as u16 + u16::from(priority))
}

fn build(
    config: &SwitchConfig,
    policy: &str,
    params: &[(String, ParamValue)],
) -> Result<Switch<Box<dyn Policy>>, OperatorError> {
    config.build(policy, params).map_err(|error| {
        OperatorError::new(
            format!("the configuration cannot be simulated: {error}"),
            "check sizes of pools, headroom and reserves: `bufferlab sonic lint` does",
        )
    })
}

fn rule(limit: Limit) -> ThresholdRule {
    match limit {
        Limit::Alpha(alpha) => ThresholdRule::Dynamic(alpha),
        Limit::Bytes(bytes) => ThresholdRule::Static(bytes),
    }
}

fn profiles(model: &Model) -> Vec<BufferProfile> {
    let mut profiles = Vec::new();
    for (number, port) in model.ports.iter().enumerate() {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        for (priority, group) in &port.groups {
            profiles.push(BufferProfile {
                ports: vec![number],
                priorities: vec![*priority],
                threshold: Some(rule(group.limit)),
                reserved: Some(group.reserve),
                headroom: Some(group.headroom),
                xon: Some(group.xon),
                xon_offset: Some(group.xon_offset),
                ..BufferProfile::default()
            });
        }
        for (priority, queue) in port.lossy_queues() {
            profiles.push(BufferProfile {
                direction: Direction::Egress,
                ports: vec![number],
                priorities: vec![priority],
                threshold: Some(rule(queue.limit)),
                reserved: (queue.minimum > 0).then_some(queue.minimum),
                ..BufferProfile::default()
            });
        }
    }
    profiles
}

fn params(model: &Model) -> Vec<(String, ParamValue)> {
    let largest = model.ports.iter().flat_map(|port| port.groups.values()).map(|group| group.headroom).max();
    let params = [
        ("headroom", ParamValue::Bytes(largest.unwrap_or(0))),
        ("ingress_pool", ParamValue::Bytes(model.shared)),
        ("port_alpha", ParamValue::Ratio(model.port_alpha.unwrap_or(0.0))),
        ("headroom_pool", ParamValue::Bytes(model.headroom_pool)),
        ("lossy_pool", ParamValue::Ratio(model.lossy_pool)),
        ("profiles", ParamValue::Profiles(profiles(model).into())),
    ];
    params.map(|(name, value)| (name.to_owned(), value)).to_vec()
}
