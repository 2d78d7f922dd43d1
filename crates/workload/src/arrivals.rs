//! Poisson arrivals: one independent process per host, merged by time.

use crate::SourceError;
use bufferlab_units::{RandomStream, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Independent Poisson processes, one per host, merged by time.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// Next arrival of every host with an arrival before the end, as (time, host, slot). The host
    /// number orders simultaneous arrivals, which are rare.
    next: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Random stream from which each host draws its arrival times.
    streams: Vec<RandomStream>,
    mean_gap_s: f64,
    end: Time,
}

impl Arrivals {
    /// Draws the first arrival of every host. A rate of zero gives no arrivals.
    pub(crate) fn new(
        seed: u64,
        label: &str,
        hosts: &[u32],
        rate: f64,
        end: Time,
    ) -> Result<Self, SourceError> {
        // The clock cannot distinguish arrivals at more than one arrival per picosecond. The check
        // also refuses a rate of NaN.
        if !(0.0..=1e12).contains(&rate) {
            return Err(SourceError::Rate { rate });
        }
        let mut this = Self {
            next: BinaryHeap::with_capacity(hosts.len()),
            streams: streams(seed, label, "arrivals", hosts),
            mean_gap_s: 1.0 / rate,
            end,
        };
        if rate > 0.0 {
            for (slot, &host) in hosts.iter().enumerate() {
                this.schedule(Time::ZERO, host, slot as u32);
            }
        }
        Ok(this)
    }

    /// Returns the time of the next arrival, and the slot of its host.
    pub(crate) fn pop(&mut self) -> Option<(Time, usize)> {
        let Reverse((time, host, slot)) = self.next.pop()?;
        self.schedule(time, host, slot);
        Some((time, slot as usize))
    }

    fn schedule(&mut self, after: Time, host: u32, slot: u32) {
        let gap = Time::from_secs_f64(self.streams[slot as usize].exponential(self.mean_gap_s));
        let time = after.saturating_add(gap);
        if time < self.end {
            self.next.push(Reverse((time, host, slot)));
        }
    }
}

/// Creates one random stream per host for one purpose, such as sizes. No other class or purpose
/// shares the name of the stream. The index is the host's number, not its slot, so regrouping racks
/// does not change a host's draws.
pub(crate) fn streams(seed: u64, label: &str, purpose: &str, hosts: &[u32]) -> Vec<RandomStream> {
    let name = format!("workload/{label}/{purpose}");
    hosts.iter().map(|&host| RandomStream::new(seed, &name, u64::from(host))).collect()
}
