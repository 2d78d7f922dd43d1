//! Differences between the ports of a switch: other schedules, and limited rates.

use super::{Choice, Picked, Scheduler, Turns};
use crate::buffer::Buffer;
use bufferlab_units::{BitRate, Time};

/// Schedules of a switch whose ports have different schedules.
#[derive(Clone, Debug)]
pub(super) struct PortSchedules {
    /// All schedules of the switch. The first one belongs to ports that `of_port` does not list.
    schedules: Vec<Scheduler>,
    /// Index of the schedule of each port.
    of_port: Vec<u16>,
}

impl PortSchedules {
    /// The schedule of `port`, and its index.
    #[inline]
    pub(super) fn of(&self, port: u16) -> (usize, &Scheduler) {
        let index = usize::from(self.of_port.get(usize::from(port)).copied().unwrap_or(0));
        (index, &self.schedules[index])
    }

    pub(super) fn cover(&self, queues: usize) -> bool {
        self.schedules.iter().all(|schedule| schedule.covers(queues))
    }

    pub(super) fn new_turns(&self, ports: usize) -> Vec<Turns> {
        self.schedules.iter().map(|schedule| schedule.new_turns(ports)).collect()
    }
}

/// Rate limit of a port, or of each of some queues of a port, by a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Mean rate of the packets, without the overhead of a link (bit/s).
    pub rate: BitRate,
    /// Burst beyond one packet that may leave at the rate of the link after an idle time (bytes).
    pub burst: u64,
}

/// A rate limit, and the queues of a port that share this limit.
#[derive(Clone, Copy, Debug)]
struct Limited {
    queues: u32,
    limit: RateLimit,
    burst_time: Time,
    /// Index of the rate limit's time in [`Due`].
    state: usize,
}

impl Limited {
    /// Time from which the rate limit allows the next packet.
    fn opens_at(&self, due: &Due) -> Time {
        Time(due.0[self.state].0.saturating_sub(self.burst_time.0))
    }
}

/// All rate limits of a switch, by port.
#[derive(Clone, Debug, Default)]
pub(super) struct RateLimits {
    of_port: Vec<Vec<Limited>>,
    states: usize,
}

impl RateLimits {
    pub(super) fn new_due(&self) -> Due {
        Due(vec![Time::ZERO; self.states])
    }

    fn of(&self, port: u16) -> &[Limited] {
        self.of_port.get(usize::from(port)).map_or(&[], Vec::as_slice)
    }
}

/// Time at which a link with the mean rate of a limit would have sent all packets so far, for each
/// rate limit. This algorithm is the virtual scheduling of ITU-T I.371. The token bucket is full
/// when this time has passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Due(Vec<Time>);

impl Scheduler {
    /// Replaces the schedule of `ports` by `other`. The function ignores schedules of single ports
    /// and rate limits in `other`.
    #[must_use]
    pub fn with_ports(mut self, ports: &[u16], other: Self) -> Self {
        let mut by_port = self.by_port.take().unwrap_or_else(|| {
            let usual = Self { rates: None, ..self.clone() };
            Box::new(PortSchedules { schedules: vec![usual], of_port: Vec::new() })
        });
        let index = by_port.schedules.len() as u16;
        by_port.schedules.push(Self { by_port: None, rates: None, ..other });
        for port in ports.iter().map(|&port| usize::from(port)) {
            if by_port.of_port.len() <= port {
                by_port.of_port.resize(port + 1, 0);
            }
            by_port.of_port[port] = index;
        }
        self.choice = Choice::ByGroup;
        self.by_port = Some(by_port);
        self
    }

    /// Limits each of `queues` at each of `ports` to `limit`. Without queues, the limit is for the
    /// whole port.
    ///
    /// # Panics
    /// If the rate is zero, or a queue is [`MAX_QUEUES_PER_PORT`](super::MAX_QUEUES_PER_PORT) or
    /// above.
    #[must_use]
    pub fn with_limit(mut self, ports: &[u16], queues: &[u8], limit: RateLimit) -> Self {
        assert!(
            queues.iter().all(|queue| usize::from(*queue) < super::MAX_QUEUES_PER_PORT),
            "a queue of a port"
        );
        let mut rates = self.rates.take().unwrap_or_default();
        let each: Vec<u32> = queues.iter().map(|queue| 1 << queue).collect();
        let masks = if each.is_empty() { vec![u32::MAX] } else { each };
        for port in ports.iter().map(|&port| usize::from(port)) {
            if rates.of_port.len() <= port {
                rates.of_port.resize(port + 1, Vec::new());
            }
            for &queues in &masks {
                let limited = Limited {
                    queues,
                    limit,
                    burst_time: limit.rate.serialization(limit.burst),
                    state: rates.states,
                };
                rates.of_port[port].push(limited);
                rates.states += 1;
            }
        }
        self.rates = Some(rates);
        self
    }

    /// Whether any rate is limited.
    pub(crate) fn limits_rates(&self) -> bool {
        self.rates.is_some()
    }

    /// The queues of `ready` whose rate limits allow a packet at `port` now.
    #[inline]
    pub(crate) fn allowed(&self, turns: &Turns, port: u16, now: Time, ready: u32) -> u32 {
        match &self.rates {
            None => ready,
            Some(rates) => {
                let full = rates.of(port).iter().filter(|limited| limited.opens_at(&turns.due) > now);
                full.fold(ready, |ready, limited| ready & !limited.queues)
            }
        }
    }

    /// Counts a packet of `bytes` bytes that a queue of a port sends.
    #[inline]
    pub(crate) fn charge(&self, turns: &mut Turns, place: (u16, u8), now: Time, bytes: u32) {
        if let Some(rates) = &self.rates {
            let (port, queue) = place;
            for limited in rates.of(port).iter().filter(|limited| limited.queues >> queue & 1 != 0) {
                let due = &mut turns.due.0[limited.state];
                let length = limited.limit.rate.serialization(u64::from(bytes));
                *due = Time((*due).max(now).0.saturating_add(length.0));
            }
        }
    }

    /// Lets all queues of `port` send immediately, as if no queue had sent a packet before.
    pub(crate) fn forget_rates(&self, turns: &mut Turns, port: u16) {
        for limited in self.rates.iter().flat_map(|rates| rates.of(port)) {
            turns.due.0[limited.state] = Time::ZERO;
        }
    }

    /// Time from which a queue of `ready` may send at `port`. `None` if no rate is limited.
    pub(crate) fn next_send(&self, turns: &Turns, port: u16, ready: u32) -> Option<Time> {
        let limits = self.rates.as_ref()?.of(port);
        let of_queue = |queue: u32| {
            let own = limits.iter().filter(|limited| limited.queues >> queue & 1 != 0);
            own.map(|limited| limited.opens_at(&turns.due)).max().unwrap_or(Time::ZERO)
        };
        (0..u32::BITS).filter(|queue| ready >> queue & 1 != 0).map(of_queue).min()
    }

    /// Picks a queue like [`Self::pick`], by the schedule of the port.
    #[inline(never)]
    pub(super) fn pick_by_port(
        &self,
        turns: &mut Turns,
        cursor: &mut u8,
        port: u16,
        ready: u32,
        first_queue: u16,
        buffer: &Buffer,
    ) -> Option<Picked> {
        let (index, schedule) = self.by_port.as_ref()?.of(port);
        schedule.pick(&mut turns.of_schedules[index], cursor, port, ready, first_queue, buffer)
    }
}
