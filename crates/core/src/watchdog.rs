//! The PFC watchdog, which detects the start and the end of a pause storm.
//!
//! This watchdog works as in SONiC, with the detection rules of two vendors (from SONiC's design
//! document and `sonic-swss`). A switch polls each of its lossless egress queues at fixed intervals
//! and compares the queue's counters with their values at the previous poll. A pause storm begins
//! when the detection rule was true in every poll for the detection time. The storm ends when no
//! pause frame has arrived, and no pause was active, for the restoration time.
//!
//! [`QueueWatchdog`] is the state of one queue. The driver owns the clock and the counters,
//! and carries out the [`WatchdogAction`].

use bufferlab_params::choices;
use bufferlab_units::Time;

/// Share of the interval for which a queue must be paused under Mellanox's rule (percent).
const PAUSED_PERCENT: u64 = 99;

/// Settings of a switch's PFC watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogSpec {
    /// Rule by which the watchdog detects a pause storm.
    pub rule: WatchdogRule,
    /// Action of the switch during a pause storm.
    pub action: WatchdogAction,
    /// Time for which the rule must be true without interruption before a storm begins.
    pub detection: Time,
    /// Time without a pause after which a storm ends.
    pub restoration: Time,
    /// Time between two polls of a queue. The time must not be longer than `detection` or
    /// `restoration`.
    pub poll: Time,
    /// Pause frames that prolong a pause storm.
    pub counts: StormCounter,
}

choices! {
    /// Rule that detects a storm by comparing one poll of the watchdog with the next.
    pub enum WatchdogRule {
        Mellanox = "mellanox":
            "the queue is not empty, has sent no packet since the last poll, and was paused for more than 99 \
             % of the time",
        Broadcom = "broadcom":
            "the queue is not empty and has sent no packet since the last poll, pause frames have arrived, \
             and no pause has ended (needs neighbours that repeat their frames: `quanta`)",
    }
}

choices! {
    /// Pause frames that prolong a pause storm. The rules `frames` and `enabled_ports` are defects
    /// of switches.
    #[derive(Default)]
    pub enum StormCounter {
        #[default]
        Pauses = "pauses": "frames that pause",
        Frames = "frames":
            "every frame, even one that ends a pause (zero quanta): a storm that turns into such frames \
             never ends (sonic-swss#4581)",
        EnabledPorts = "enabled_ports":
            "frames that pause, but none while all lossless priorities of the port are in a storm: the \
             switch turns PFC off at such a port, its counter stops, and storms begin and end in turn \
             (sonic-buildimage#29203)",
    }
}

choices! {
    /// Action of a switch during a pause storm.
    pub enum WatchdogAction {
        Drop = "drop":
            "the queue is flushed, and packets of its priority to and from its port are discarded",
        Forward = "forward": "the queue ignores pauses and sends",
        Alert = "alert": "the storm is recorded, and nothing changes",
    }
}

impl WatchdogAction {
    /// Whether the queue ignores pauses during a pause storm.
    #[must_use]
    pub const fn overrides_pauses(self) -> bool {
        !matches!(self, Self::Alert)
    }

    /// Whether the switch discards stored and arriving packets during a storm.
    #[must_use]
    pub const fn discards(self) -> bool {
        matches!(self, Self::Drop)
    }
}

/// State of a queue at the time of a watchdog's poll. All counters begin at the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    /// Whether the queue has packets at the time of the poll.
    pub is_waiting: bool,
    /// Whether a pause forbids the queue to send at the time of the poll.
    pub is_paused: bool,
    /// Number of packets that the queue has sent since the start of the run.
    pub sent_packets: u64,
    /// Number of pause frames received for the queue.
    pub pause_frames: u64,
    /// Frames received for the queue that end a pause.
    pub resume_frames: u64,
    /// Whether all lossless priorities of the port are in a storm.
    pub all_storm: bool,
    /// Number of pauses of the queue that have ended.
    pub ended_pauses: u64,
    /// Total time for which the queue was paused, including the present pause.
    pub paused: Time,
}

/// Start or end of a pause storm that a poll detects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StormChange {
    /// A pause storm begins: the rule was true for the detection time.
    Begins,
    /// A pause storm ends: no pause has arrived for the restoration time.
    Ends,
}

/// State of the PFC watchdog for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueWatchdog {
    /// The queue's sample at the previous poll.
    seen: QueueSample,
    /// Time for which the detection rule has been true, or, during a storm, time without a pause.
    so_far: Time,
    is_storm: bool,
}

impl QueueWatchdog {
    /// Whether the queue is in a pause storm.
    #[must_use]
    pub const fn is_storm(&self) -> bool {
        self.is_storm
    }

    /// Processes a sample of the queue. Call this method at intervals of [`WatchdogSpec::poll`].
    pub fn poll(&mut self, spec: &WatchdogSpec, found: QueueSample) -> Option<StormChange> {
        let seen = std::mem::replace(&mut self.seen, found);
        let goes_on =
            if self.is_storm { is_quiet(spec, &seen, &found) } else { is_held(spec, &seen, &found) };
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

    /// Resets the state when the link of the queue goes down: the storm and any partial detection
    /// of a storm end.
    pub fn reset(&mut self) {
        self.so_far = Time::ZERO;
        self.is_storm = false;
    }
}

/// Whether the detection rule for a pause storm was true between two polls.
fn is_held(spec: &WatchdogSpec, seen: &QueueSample, found: &QueueSample) -> bool {
    let holds = match spec.rule {
        WatchdogRule::Mellanox => (found.paused - seen.paused).0 * 100 > spec.poll.0 * PAUSED_PERCENT,
        WatchdogRule::Broadcom => {
            found.pause_frames > seen.pause_frames && found.ended_pauses == seen.ended_pauses
        }
    };
    found.is_waiting && found.sent_packets == seen.sent_packets && holds
}

/// Whether no pause frame arrived between two polls of the queue and the queue is not paused.
fn is_quiet(spec: &WatchdogSpec, seen: &QueueSample, found: &QueueSample) -> bool {
    let no_pause = found.pause_frames == seen.pause_frames && !found.is_paused;
    match spec.counts {
        StormCounter::Pauses => no_pause,
        StormCounter::Frames => no_pause && found.resume_frames == seen.resume_frames,
        StormCounter::EnabledPorts => no_pause || found.all_storm,
    }
}
