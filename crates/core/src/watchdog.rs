//! The PFC watchdog: does a pause storm hold a queue, and when is it over?
//!
//! SONiC's, with the detection rules of two vendors (its design document and `sonic-swss`). A
//! switch polls each of its lossless egress queues at fixed intervals and compares the queue's
//! counters with those of the poll before. A rule that holds in every poll for the detection time
//! is a storm. The storm is over when no pause frame has arrived, and no pause was in force, for
//! the restoration time.
//!
//! [`QueueWatchdog`] is the state of one queue. The driver owns the clock and the counters, and
//! does what the [`WatchdogAction`] says.

use bufferlab_params::choices;
use bufferlab_units::Time;

/// Mellanox's rule: a queue must have been paused for more than this share of the interval
/// (percent).
const PAUSED_PERCENT: u64 = 99;

/// How the watchdog of a switch works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogSpec {
    /// What counts as a storm.
    pub rule: WatchdogRule,
    /// What the switch does during a storm.
    pub action: WatchdogAction,
    /// How long the rule must hold without interruption.
    pub detection: Time,
    /// How long no pause may come before the queue is restored.
    pub restoration: Time,
    /// Time between two polls; at most either of the two.
    pub poll: Time,
}

choices! {
    /// What counts as a storm, from one poll of the watchdog to the next.
    pub enum WatchdogRule {
        Mellanox = "mellanox":
            "the queue holds packets, has sent none since the last poll, and was paused for more than 99 % of the time",
        Broadcom = "broadcom":
            "the queue holds packets, has sent none since the last poll, pause frames have come, and no pause has ended \
             (needs neighbours that repeat their frames: `quanta`)",
    }
}

choices! {
    /// What a switch does during a storm.
    pub enum WatchdogAction {
        Drop = "drop":
            "the queue is flushed, and what comes for it or, of its priority, from its port is discarded",
        Forward = "forward": "the queue sends, whatever pauses say",
        Alert = "alert": "the storm is recorded, and nothing changes",
    }
}

impl WatchdogAction {
    /// Whether pauses of the queue have no effect during a storm.
    #[must_use]
    pub const fn overrides_pauses(self) -> bool {
        !matches!(self, Self::Alert)
    }

    /// Whether stored and arriving packets are discarded during a storm.
    #[must_use]
    pub const fn discards(self) -> bool {
        matches!(self, Self::Drop)
    }
}

/// A queue at the moment of a poll. Counters count from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// The queue holds packets.
    pub is_waiting: bool,
    /// A pause is in force.
    pub is_paused: bool,
    /// Packets that it has sent.
    pub sent_packets: u64,
    /// Pause frames that have arrived for it.
    pub pause_frames: u64,
    /// Pauses that have ended.
    pub ended_pauses: u64,
    /// How long pauses were in force, the present one included.
    pub paused: Time,
}

/// What a poll has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StormChange {
    /// A storm has held the queue for the detection time.
    Begins,
    /// No pause has come for the restoration time.
    Ends,
}

/// What the watchdog remembers of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueWatchdog {
    /// The queue at the last poll.
    seen: QueueSample,
    /// How long the rule has held; during a storm, how long no pause has come.
    so_far: Time,
    is_storm: bool,
}

impl QueueWatchdog {
    /// Whether a storm holds the queue.
    #[must_use]
    pub const fn is_storm(&self) -> bool {
        self.is_storm
    }

    /// Looks at the queue; call it every [`WatchdogSpec::poll`].
    pub fn poll(&mut self, spec: &WatchdogSpec, found: QueueSample) -> Option<StormChange> {
        let seen = std::mem::replace(&mut self.seen, found);
        let goes_on = if self.is_storm { is_quiet(&seen, &found) } else { is_held(spec, &seen, &found) };
        self.so_far = if goes_on { self.so_far + spec.poll } else { Time::ZERO };
        let (wanted, change) = match self.is_storm {
            false => (spec.detection, StormChange::Begins),
            true => (spec.restoration, StormChange::Ends),
        };
        if self.so_far < wanted {
            return None;
        }
        self.so_far = Time::ZERO;
        self.is_storm = !self.is_storm;
        Some(change)
    }

    /// The link of the queue has gone down: no storm, and nothing that leads to one.
    pub fn reset(&mut self) {
        self.so_far = Time::ZERO;
        self.is_storm = false;
    }
}

/// Whether the rule for a storm holds between two polls.
fn is_held(spec: &WatchdogSpec, seen: &QueueSample, found: &QueueSample) -> bool {
    let holds = match spec.rule {
        WatchdogRule::Mellanox => (found.paused - seen.paused).0 * 100 > spec.poll.0 * PAUSED_PERCENT,
        WatchdogRule::Broadcom => {
            found.pause_frames > seen.pause_frames && found.ended_pauses == seen.ended_pauses
        }
    };
    found.is_waiting && found.sent_packets == seen.sent_packets && holds
}

/// Whether no pause came between two polls and none is in force.
fn is_quiet(seen: &QueueSample, found: &QueueSample) -> bool {
    found.pause_frames == seen.pause_frames && !found.is_paused
}
