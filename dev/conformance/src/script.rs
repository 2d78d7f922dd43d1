//! Scripts: sequences of operations on a device under test, and a generator of random scripts.

use bufferlab_core::{Scheduler, SwitchConfig, Tags};
use bufferlab_units::{BitRate, RandomStream, Time};

/// An operation on a device under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A packet arrives at the switch for a queue.
    Arrive {
        /// Index of the queue: port × queues per port + priority.
        queue: u16,
        /// Size of the arriving packet (bytes).
        size: u32,
        /// Tags of the arriving packet.
        tags: Tags,
    },
    /// An idle port requests its next packet from the switch.
    Depart {
        /// Index of the port that requests a packet.
        port: u16,
    },
    /// A neighbour pauses or resumes a priority.
    Pause {
        /// Index of the port that leads to the neighbour.
        port: u16,
        /// Priority that the neighbour pauses or resumes.
        priority: u8,
        /// Whether the neighbour pauses (true) or resumes (false) the priority.
        paused: bool,
    },
    /// The given time passes without any other operation.
    Wait(Time),
}

/// A script: a switch and a sequence of operations.
#[derive(Clone, Debug)]
pub struct Script {
    /// Configuration of the switch that the script drives.
    pub config: SwitchConfig,
    /// Time that passes before each operation of the script.
    pub gap: Time,
    /// A smaller and a larger alpha, for the check of monotonicity.
    pub alphas: (f64, f64),
    /// Operations of the script, in the order of execution.
    pub operations: Vec<Operation>,
}

/// Size of every packet in the exhaustive scripts (bytes).
pub(crate) const TINY_PACKET: u32 = 100;

impl Script {
    /// Number of queues of the switch that the script drives.
    #[must_use]
    pub fn queues(&self) -> u16 {
        (self.config.port_rates.len() * self.config.queues_per_port) as u16
    }

    /// Returns a switch for exhaustive scripts: a buffer of three packets of 100 B, and two queues,
    /// on one or two ports.
    pub(crate) fn tiny(ports: usize) -> Self {
        let rates = vec![BitRate::gbps(10); ports];
        let config = SwitchConfig {
            max_packet: u64::from(TINY_PACKET),
            ..SwitchConfig::new(3 * u64::from(TINY_PACKET), rates).with_queues(2 / ports)
        };
        // The gap between operations gives about three operations per update interval of ABM (80
        // us).
        Self { config, gap: Time::from_us(27), alphas: (0.5, 1.0), operations: Vec::new() }
    }

    /// Returns all operations for scripts on [`Self::tiny`].
    pub(crate) fn tiny_alphabet(&self) -> Vec<Operation> {
        let arrive = |queue, tags| Operation::Arrive { queue, size: TINY_PACKET, tags };
        let mut letters = vec![arrive(0, Tags::NONE), arrive(1, Tags::NONE), arrive(0, Tags::UNSCHEDULED)];
        letters.extend((0..self.config.port_rates.len() as u16).map(|port| Operation::Depart { port }));
        letters
    }

    /// Draws a random script: a switch of 1–32 ports × 1–8 queues with random rates, scheduler and
    /// buffer, and `length` operations. The operations are packets of 64–9216 B, departures, pauses
    /// and waits. The load alternates between overload and draining.
    #[must_use]
    pub fn random(seed: u64, length: usize) -> Self {
        let mut stream = RandomStream::new(seed, "conformance/script", 0);
        let mut draw = move |bound: u64| stream.below(bound);
        let (ports, queues) = (1 + draw(32) as usize, 1 + draw(8) as usize);
        let rates = (0..ports).map(|_| BitRate::gbps([10, 25, 100][draw(3) as usize])).collect();
        let max_packet = [64, 1_500, 9_216][draw(3) as usize];
        // The buffer has space for one to nine packets per queue on average, so that random scripts
        // reach all limits.
        let capacity = max_packet * (ports * queues) as u64 * (1 + draw(8)) + draw(10_000);
        let scheduler = match draw(3) {
            0 => Scheduler::fifo(queues),
            1 => Scheduler::strict_priority(queues),
            _ => Scheduler::round_robin(queues),
        };
        let config = SwitchConfig {
            max_packet,
            queues_per_port: queues,
            scheduler,
            seed,
            ..SwitchConfig::new(capacity, rates)
        };
        let total = (ports * queues) as u64;
        // Most packets go to the first few queues. So typically, a few queues are congested and all
        // other queues are idle.
        let busy = 1 + draw(total);
        let mut operations = Vec::with_capacity(length);
        let mut arrivals_of_16 = 12;
        for _ in 0..length {
            if draw(200) == 0 {
                arrivals_of_16 = [4, 8, 12, 15][draw(4) as usize];
            }
            let port = draw(ports as u64) as u16;
            operations.push(match draw(100) {
                0 => Operation::Wait(Time::from_us(draw(100))),
                1 => {
                    let priority = draw(queues as u64) as u8;
                    Operation::Pause { port, priority, paused: draw(3) == 0 }
                }
                _ if draw(16) < arrivals_of_16 => {
                    let queue = if draw(4) == 0 { draw(total) } else { draw(busy) } as u16;
                    let size = 64 + draw(max_packet - 63) as u32;
                    let tags = match draw(5) {
                        0 => Tags::UNSCHEDULED,
                        1 => Tags::SMALL,
                        _ => Tags::NONE,
                    };
                    Operation::Arrive { queue, size, tags }
                }
                _ => Operation::Depart { port },
            });
        }
        let low = [0.0625, 0.25, 0.5, 1.0][draw(4) as usize];
        let alphas = (low, low * [1.5, 2.0, 16.0][draw(3) as usize]);
        Self { config, gap: Time::from_ns(1 + draw(2_000)), alphas, operations }
    }
}
