//! The switch of the calculator `burst-tolerance`: its full queues, and the burst's queues.

use crate::bench::{Bench, Burst, PortQueue};
use crate::schemes::{abm, ratios, settled, strict, switch, word};
use bufferlab_core::{ParamValue, SwitchConfig, Tags};
use bufferlab_params::Params;
use bufferlab_units::{BitRate, Time};

/// Maximum number of queues of a port in the core's switch.
const QUEUES_MAX: u32 = 32;
/// Smallest alpha of a policy: a queue with this alpha is congested after one packet.
const LEAST_ALPHA: f64 = 1e-6;
/// Number of packets that starts or ends a state of EDT and TDT almost immediately. With fewer
/// packets, the policies would react to the jitter of full queues.
const FEW: u64 = 16;
/// A number that exceeds the number of packets in any run.
const MANY: u64 = 1 << 40;
/// A simulated time that exceeds the duration of any run.
const EVER: Time = Time::from_ms(100_000_000);

/// A policy whose burst tolerance the calculator computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    DynamicThreshold,
    ActiveBufferManagement,
    Plasticine,
    EnhancedDynamicThreshold,
    TrafficAware,
    LossPass,
    Ideal,
}

impl Scheme {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "dt" => Self::DynamicThreshold,
            "abm" => Self::ActiveBufferManagement,
            "plasticine" => Self::Plasticine,
            "edt" => Self::EnhancedDynamicThreshold,
            "tdt" => Self::TrafficAware,
            "losspass" => Self::LossPass,
            "ideal" => Self::Ideal,
            _ => return None,
        })
    }

    /// Whether the policy limits whole ports instead of single queues.
    fn limits_ports(self) -> bool {
        matches!(self, Self::EnhancedDynamicThreshold | Self::TrafficAware)
    }

    /// Whether the policy updates the factors of its thresholds periodically.
    fn refreshes(self) -> bool {
        matches!(self, Self::ActiveBufferManagement | Self::Plasticine)
    }
}

/// Parameters of the switch and of the burst that the user gave to the calculator.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) buffer: u64,
    pub(crate) port_rate: BitRate,
    pub(crate) ports: u32,
    pub(crate) congested: u32,
    pub(crate) congested_queues: u32,
    pub(crate) priorities: u32,
    pub(crate) alpha: f64,
    pub(crate) rate: BitRate,
    pub(crate) burst_alpha: f64,
    pub(crate) burst_ports: u32,
    pub(crate) beside: u32,
    pub(crate) same_priority: bool,
    pub(crate) tau: f64,
}

/// A switch whose queues are at their limits, and the burst that the bench sends to this switch.
pub(crate) struct Stage {
    pub(crate) bench: Bench,
    pub(crate) burst: Burst,
    /// Whether only the size of the buffer limits the burst.
    pub(crate) infinite: bool,
    /// Bytes that are reserved for the burst, independent of the free buffer.
    pub(crate) reserved: Option<f64>,
}

impl Layout {
    /// Reads the calculator's parameters of switch and burst.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            buffer: params.bytes("buffer"),
            port_rate: params.rate("port_rate"),
            ports: params.small_count("ports"),
            congested: params.small_count("congested"),
            congested_queues: params.small_count("congested_queues"),
            priorities: params.small_count("priorities"),
            alpha: params.ratio("alpha"),
            rate: params.rate("rate"),
            burst_alpha: params.ratio("burst_alpha"),
            burst_ports: params.small_count("burst_ports"),
            beside: params.small_count("queues_beside_burst"),
            same_priority: params.flag("same_priority"),
            tau: params.ratio("tau"),
        }
    }

    /// Returns the arrival rate of the burst at a queue, as a multiple of the port rate.
    pub(crate) fn ratio(&self) -> f64 {
        self.rate.0 as f64 / self.port_rate.0 as f64
    }

    /// Returns the rate at which the burst's port sends packets of the burst, as a multiple of the
    /// port rate.
    pub(crate) fn gamma(&self, scheme: Scheme) -> f64 {
        match scheme {
            // LossPass sends small flows first, so the queue of the burst drains at the full rate.
            Scheme::LossPass => 1.0,
            _ => 1.0 / f64::from(1 + self.beside),
        }
    }

    /// Number of queues that the bench keeps full.
    pub(crate) fn full_queues(&self, scheme: Scheme) -> usize {
        let beside = self.burst_ports as usize * self.beside as usize;
        match scheme {
            Scheme::Ideal => 0,
            Scheme::LossPass => self.burst_ports as usize,
            Scheme::TrafficAware | Scheme::EnhancedDynamicThreshold => self.congested as usize,
            _ => self.congested as usize * self.congested_queues as usize + beside,
        }
    }

    /// Returns the time until a policy counts the burst's queues as congested: the time of two
    /// packets plus the update interval.
    pub(crate) fn delay(&self, scheme: Scheme, packet: u32) -> Time {
        if scheme.refreshes() {
            self.rate.serialization(2 * u64::from(packet)) + self.interval(packet)
        } else {
            Time::ZERO
        }
    }

    /// Returns the update interval: a packet time of the burst, or the shortest interval that a
    /// policy accepts.
    fn interval(&self, packet: u32) -> Time {
        self.rate.serialization(u64::from(packet)).max(Time::from_ns(1))
    }

    /// Returns twice the time in which a burst grows by [`FEW`] packets.
    /// With a window of this length, EDT detects the burst. EDT detects no growth while queues
    /// settle slowly.
    fn window(&self, packet: u32) -> Time {
        let growth = self.rate.0.saturating_sub(self.port_rate.0).max(1);
        BitRate(growth).serialization(2 * FEW * u64::from(packet))
    }

    /// Returns the drain rate of all queues whose threshold factor the burst may change, as a
    /// multiple of the port rate.
    pub(crate) fn affected_drain(&self, scheme: Scheme) -> f64 {
        if !scheme.refreshes() {
            return 0.0;
        }
        let counted = if self.same_priority { f64::from(self.congested) } else { 0.0 };
        counted + f64::from(self.burst_ports) * f64::from(self.beside.min(1))
    }

    /// Rejects a layout that the core's switch does not support.
    ///
    /// # Errors
    /// If the layout is not supported; the error is the reason as text.
    pub(crate) fn check(&self, scheme: Scheme) -> Result<(), String> {
        let classes = u64::from(self.congested_queues.max(self.beside).max(self.priorities)) + 1;
        if classes > u64::from(QUEUES_MAX) {
            return Err(format!("the core's switch has at most {QUEUES_MAX} queues per port"));
        }
        let by_port = matches!(scheme, Scheme::TrafficAware | Scheme::LossPass);
        let ports = if by_port { self.ports } else { self.congested + self.burst_ports };
        if u64::from(ports) * classes > 4_096 {
            return Err("more than 4096 queues".to_owned());
        }
        if scheme == Scheme::ActiveBufferManagement {
            let shares = self.beside > self.priorities || (self.same_priority && self.beside > 0);
            if shares || self.congested_queues > self.priorities {
                return Err(
                    "a port of the core's switch has one queue of each priority: spread its queues over more priorities"
                        .to_owned(),
                );
            }
        }
        Ok(())
    }

    /// Returns the positions of the congested queues. There are `per_port` queues after the burst's
    /// queue on each port, from the port `first` on.
    fn places(&self, first: u32, ports: u32, per_port: u32, shift: u8) -> Vec<PortQueue> {
        (first..first + ports)
            .flat_map(|port| {
                (0..per_port).map(move |queue| PortQueue { port: port as u16, priority: queue as u8 + shift })
            })
            .collect()
    }

    fn burst(&self, tags: Tags, priority: u8) -> Burst {
        let port = |number| PortQueue { port: (self.congested + number) as u16, priority };
        Burst { queues: (0..self.burst_ports).map(port).collect(), rate: self.rate, tags }
    }

    fn config(&self, ports: u32, queues: u32) -> SwitchConfig {
        switch(self.buffer, vec![self.port_rate; ports as usize], queues as usize)
    }

    /// Creates the switch with the policy `scheme`, whose queues are in the steady state.
    pub(crate) fn stage(&self, scheme: Scheme, packet: u32) -> Result<Stage, String> {
        match scheme {
            Scheme::Ideal => self.ideal(packet),
            Scheme::LossPass => self.losspass(packet),
            Scheme::ActiveBufferManagement => self.abm(packet),
            _ => self.by_queue(scheme, packet),
        }
    }

    /// Creates a switch under ABM. Congested queues have the priorities 0 to p - 1. The burst has
    /// priority p, or priority 0.
    fn abm(&self, packet: u32) -> Result<Stage, String> {
        let config = self.config(self.congested + self.burst_ports, self.priorities + 1);
        let mut alphas = vec![self.alpha; self.priorities as usize];
        alphas.push(LEAST_ALPHA);
        let bench = abm(&config, &alphas, self.burst_alpha, self.interval(packet), packet)?;
        let mut full = self.places(0, self.congested, self.congested_queues, 0);
        full.extend(self.places(self.congested, self.burst_ports, self.beside, 0));
        let priority = if self.same_priority { 0 } else { self.priorities as u8 };
        let burst = self.burst(Tags::UNSCHEDULED, priority);
        Ok(Stage { bench: settled(bench, &full)?, burst, infinite: false, reserved: None })
    }

    /// Creates a switch whose queue 0 of a port is the burst's queue. The other queues are
    /// congested.
    fn by_queue(&self, scheme: Scheme, packet: u32) -> Result<Stage, String> {
        let queues = self.congested_queues.max(self.beside) + 1;
        let mut alphas = vec![self.alpha; queues as usize];
        alphas[0] = self.burst_alpha;
        let few = |name| (name, ParamValue::Count(FEW));
        let many = |name| (name, ParamValue::Count(MANY));
        let (name, params) = match scheme {
            Scheme::Plasticine => (
                "plasticine",
                vec![
                    ("alpha", ratios(&alphas)),
                    // The burst is in the priority group of the congested queues, or in a separate
                    // group.
                    ("high_priorities", ParamValue::Count(u64::from(!self.same_priority))),
                    ("update_interval", ParamValue::Time(self.interval(packet))),
                    ("congestion", word("bytes")),
                    ("congested_bytes", ParamValue::Bytes(0)),
                ],
            ),
            Scheme::EnhancedDynamicThreshold => (
                "edt",
                vec![
                    ("alpha", ParamValue::Ratio(self.alpha)),
                    few("c2"),
                    ("tm1", ParamValue::Time(self.window(packet))),
                    ("tm2", ParamValue::Time(EVER)),
                ],
            ),
            Scheme::TrafficAware => (
                "tdt",
                vec![
                    ("alpha", ParamValue::Ratio(self.burst_alpha)),
                    ("packet_bytes", ParamValue::Bytes(packet.into())),
                    ("any_drop_ends_absorption", ParamValue::Flag(true)),
                    few("nec"),
                    few("dc"),
                    many("oc1"),
                    many("oc2"),
                ],
            ),
            _ => ("dt", vec![("alpha", ratios(&alphas))]),
        };
        let ports =
            if scheme == Scheme::TrafficAware { self.ports } else { self.congested + self.burst_ports };
        // TDT's evacuation state belongs to a port, so each port gets one queue, as the calculator
        // assumes.
        let per_port = if scheme == Scheme::TrafficAware { 1 } else { self.congested_queues };
        let mut bench = Bench::new(&self.config(ports, queues), name, &params, packet)?;
        if scheme == Scheme::EnhancedDynamicThreshold {
            bench.settle_slowly(Time(2 * self.window(packet).0));
        }
        let mut full = self.places(0, self.congested, per_port, 1);
        full.extend(self.places(self.congested, self.burst_ports, self.beside, 1));
        let bench = settled(bench, &full)?;
        Ok(Stage { bench, burst: self.burst(Tags::NONE, 0), infinite: scheme.limits_ports(), reserved: None })
    }

    /// Creates a switch with a port full of large flows; small flows may use only the fraction tau
    /// of the port's buffer.
    fn losspass(&self, packet: u32) -> Result<Stage, String> {
        let part = self.buffer / u64::from(self.ports);
        let room = part as f64 * self.tau;
        let params = [
            ("port_limit", word("static")),
            ("port_buffer", ParamValue::Bytes(part)),
            ("large_reserve", ParamValue::Bytes(part - room.round() as u64)),
        ];
        let config = strict(self.buffer, vec![self.port_rate; self.ports as usize], 2);
        let bench = Bench::new(&config, "losspass", &params, packet)?;
        let bench = settled(bench, &self.places(self.congested, self.burst_ports, 1, 1))?;
        Ok(Stage { bench, burst: self.burst(Tags::NONE, 0), infinite: true, reserved: Some(room) })
    }

    /// Creates a switch with an empty shared buffer. The port sends the burst at the burst's rate
    /// beside other queues.
    fn ideal(&self, packet: u32) -> Result<Stage, String> {
        let share = BitRate(self.port_rate.0 / u64::from(1 + self.beside));
        let config = switch(self.buffer, vec![share; (self.congested + self.burst_ports) as usize], 1);
        let bench = Bench::new(&config, "cs", &[], packet)?;
        Ok(Stage { bench, burst: self.burst(Tags::NONE, 0), infinite: true, reserved: None })
    }
}
