//! Switches for the calculators `guarantees` and `drain-time`. The queues of their priorities are
//! at ABM's thresholds.

use crate::bench::{Bench, PortQueue};
use crate::schemes::{abm, packet_size, settled, switch};
use bufferlab_params::Params;
use bufferlab_units::{BitRate, Time};

/// Rate of the switch's fastest port.
pub(crate) const RATE: BitRate = BitRate::gbps(100);
/// Interval at which ABM updates its factors. Queues do not change while a state settles.
const INTERVAL: Time = Time::from_us(10);

/// Size of the switch's buffer, and alphas of its priorities.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    pub(crate) buffer: u64,
    pub(crate) alphas: Vec<f64>,
    pub(crate) packet: u32,
}

/// A congested queue that has a separate port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Congested {
    /// Priority of the congested queue.
    pub(crate) priority: usize,
    /// Rate of the queue's port divided by the rate of the fastest port.
    pub(crate) gamma: f64,
}

impl Priorities {
    /// Reads the calculator's parameters. `queues` is the maximum number of queues.
    ///
    /// # Errors
    /// If the priorities cannot be replayed; the error is the reason.
    pub(crate) fn new(params: &Params, queues: usize) -> Result<Self, String> {
        let (buffer, alphas) = (params.bytes("buffer"), params.ratios("alphas"));
        if alphas.len() > 32 {
            return Err(format!(
                "{} priorities: a port of the core's switch has at most 32 queues",
                alphas.len()
            ));
        }
        if queues > 2_000 {
            return Err("more queues than can be replayed in a second".to_owned());
        }
        let packet = packet_size(buffer, queues as f64 * 4.0)?;
        Ok(Self { buffer, alphas, packet })
    }

    /// Creates a switch with ports of the rates `rates` (bits/s), in which ABM limits every queue.
    pub(crate) fn bench(&self, rates: Vec<BitRate>) -> Result<Bench, String> {
        let config = switch(self.buffer, rates, self.alphas.len());
        abm(&config, &self.alphas, 64.0, INTERVAL, self.packet)
    }

    /// Returns the possible difference of `priority`'s occupancy from the steady state of the
    /// congested queues (bytes). In the steady state, a queue should be omega times as long as the
    /// free buffer. The queue may be a packet shorter or omega + 1 packets longer
    /// ([`Bench::settle`]). The sum of these differences reduces the free buffer.
    pub(crate) fn slack(&self, queues: &[Congested], priority: usize) -> f64 {
        let count = |priority| queues.iter().filter(|queue| queue.priority == priority).count() as f64;
        let omega = |queue: &Congested| self.alphas[queue.priority] * queue.gamma / count(queue.priority);
        let all: f64 = queues.iter().map(omega).sum();
        let own: f64 = queues.iter().filter(|queue| queue.priority == priority).map(omega).sum();
        let missing = all + queues.len() as f64;
        f64::from(self.packet) * (count(priority) + own + own * missing / (1.0 + all))
    }

    /// Measures the occupancy of each priority (bytes) in the steady state of congested queues,
    /// each of which has a separate port. An additional port of the fastest rate is idle.
    pub(crate) fn held(&self, queues: &[Congested]) -> Result<Vec<f64>, String> {
        let rate = |queue: &Congested| BitRate((queue.gamma * RATE.0 as f64).round().max(1.0) as u64);
        let rates: Vec<_> = queues.iter().map(rate).chain([RATE]).collect();
        let places: Vec<_> = (0_u16..)
            .zip(queues)
            .map(|(port, queue)| PortQueue { port, priority: queue.priority as u8 })
            .collect();
        let bench = settled(self.bench(rates)?, &places)?;
        bench.verify();
        let mut held = vec![0.0; self.alphas.len()];
        for &place in &places {
            held[usize::from(place.priority)] += bench.held(place) as f64;
        }
        Ok(held)
    }
}
