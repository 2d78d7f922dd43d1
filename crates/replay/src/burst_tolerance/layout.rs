//! The switch that the calculator describes: which queues stand full, and where the burst comes.

use crate::bench::{Bench, Burst, Place};
use crate::schemes::{abm, ratios, settled, strict, switch, word};
use bufferlab_core::{ParamValue, SwitchConfig, Tags};
use bufferlab_params::Params;
use bufferlab_units::{BitRate, Time};

/// Most queues of a port that the core's switch has.
const QUEUES_MAX: u32 = 32;
/// The least factor of a policy: a queue with it is congested with its first packet.
const LEAST_ALPHA: f64 = 1e-6;
/// Packets that start or end a state of EDT and TDT at once, but for the jitter of queues that are
/// kept full.
const FEW: u64 = 16;
/// More packets than there are.
const MANY: u64 = 1 << 40;
/// Longer than any run.
const EVER: Time = Time::from_ms(100_000_000);

/// A policy of the calculator.
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

    /// Whether its limits are those of ports.
    fn limits_ports(self) -> bool {
        matches!(self, Self::EnhancedDynamicThreshold | Self::TrafficAware)
    }

    /// Whether it refreshes factors at intervals.
    fn refreshes(self) -> bool {
        matches!(self, Self::ActiveBufferManagement | Self::Plasticine)
    }
}

/// The calculator's switch.
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

/// A switch whose queues stand full, and the burst that will come.
pub(crate) struct Stage {
    pub(crate) bench: Bench,
    pub(crate) burst: Burst,
    /// Nothing but space limits the burst.
    pub(crate) infinite: bool,
    /// Room that is the burst's whatever is free (bytes).
    pub(crate) reserved: Option<f64>,
}

impl Layout {
    /// The parameters of the calculator.
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

    /// Arrival rate of the burst (port rates).
    pub(crate) fn ratio(&self) -> f64 {
        self.rate.0 as f64 / self.port_rate.0 as f64
    }

    /// What the burst's port sends of it (port rates).
    pub(crate) fn gamma(&self, scheme: Scheme) -> f64 {
        match scheme {
            // Small flows are sent first.
            Scheme::LossPass => 1.0,
            _ => 1.0 / f64::from(1 + self.beside),
        }
    }

    /// Queues that are kept full.
    pub(crate) fn full_queues(&self, scheme: Scheme) -> usize {
        let beside = self.burst_ports as usize * self.beside as usize;
        match scheme {
            Scheme::Ideal => 0,
            Scheme::LossPass => self.burst_ports as usize,
            Scheme::TrafficAware | Scheme::EnhancedDynamicThreshold => self.congested as usize,
            _ => self.congested as usize * self.congested_queues as usize + beside,
        }
    }

    /// Time until a policy has counted the burst: two packets, and the next refresh.
    pub(crate) fn delay(&self, scheme: Scheme, packet: u32) -> Time {
        if scheme.refreshes() {
            self.rate.serialization(2 * u64::from(packet)) + self.interval(packet)
        } else {
            Time::ZERO
        }
    }

    /// A packet of the burst, or the least interval that a policy takes.
    fn interval(&self, packet: u32) -> Time {
        self.rate.serialization(u64::from(packet)).max(Time::from_ns(1))
    }

    /// Twice the time in which a burst grows by [`FEW`] packets: EDT sees it, and no growth while
    /// queues settle slowly.
    fn window(&self, packet: u32) -> Time {
        let growth = self.rate.0.saturating_sub(self.port_rate.0).max(1);
        BitRate(growth).serialization(2 * FEW * u64::from(packet))
    }

    /// What queues drain together whose factor the burst may change (port rates).
    pub(crate) fn affected_drain(&self, scheme: Scheme) -> f64 {
        if !scheme.refreshes() {
            return 0.0;
        }
        let counted = if self.same_priority { f64::from(self.congested) } else { 0.0 };
        counted + f64::from(self.burst_ports) * f64::from(self.beside.min(1))
    }

    /// What no switch of the core is.
    ///
    /// # Errors
    /// In words.
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

    /// The congested queues: `per_port` on each port from `first` on, in the queues of the port
    /// after the burst's.
    fn places(&self, first: u32, ports: u32, per_port: u32, shift: u8) -> Vec<Place> {
        (first..first + ports)
            .flat_map(|port| {
                (0..per_port).map(move |queue| Place { port: port as u16, priority: queue as u8 + shift })
            })
            .collect()
    }

    fn burst(&self, tags: Tags, priority: u8) -> Burst {
        let port = |number| Place { port: (self.congested + number) as u16, priority };
        Burst { queues: (0..self.burst_ports).map(port).collect(), rate: self.rate, tags }
    }

    fn config(&self, ports: u32, queues: u32) -> SwitchConfig {
        switch(self.buffer, vec![self.port_rate; ports as usize], queues as usize)
    }

    /// The switch of `scheme` with its steady queues.
    pub(crate) fn stage(&self, scheme: Scheme, packet: u32) -> Result<Stage, String> {
        match scheme {
            Scheme::Ideal => self.ideal(packet),
            Scheme::LossPass => self.losspass(packet),
            Scheme::ActiveBufferManagement => self.abm(packet),
            _ => self.by_queue(scheme, packet),
        }
    }

    /// Priorities 0 to p - 1 are those of the congested queues; the burst has the next, or
    /// priority 0.
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

    /// Queue 0 of a port is the burst's, the others are congested ones.
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
                    // In one group with the congested queues, or in a group of its own.
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
        // Evacuation knows ports only, and the calculator says so.
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

    /// A full port of large flows, of which all but a part tau is kept from small ones.
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

    /// An empty buffer that everybody shares; the port sends what it would send of the burst beside
    /// others.
    fn ideal(&self, packet: u32) -> Result<Stage, String> {
        let share = BitRate(self.port_rate.0 / u64::from(1 + self.beside));
        let config = switch(self.buffer, vec![share; (self.congested + self.burst_ports) as usize], 1);
        let bench = Bench::new(&config, "cs", &[], packet)?;
        Ok(Stage { bench, burst: self.burst(Tags::NONE, 0), infinite: true, reserved: None })
    }
}
