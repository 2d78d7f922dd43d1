//! Rules that end Cubic's slow start before the first loss.

use super::AckEvent;
use bufferlab_units::Time;

bufferlab_params::choices! {
    /// Rule that ends slow start before the first loss.
    #[derive(Default)]
    pub enum HyStart {
        Off = "off": "only a loss or mark ends slow start",
        #[default]
        Rfc9406 = "rfc9406": "HyStart++ (RFC 9406): by a rise of the round trip, with a conservative slow start in between",
        Classic = "classic": "Ha and Rhee 2011 as in ns-3: by a rise of the round trip, or after a gapless train of ACKs longer than the least round trip",
    }
}

/// Constants of RFC 9406 section 4.3: MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR,
/// N_RTT_SAMPLE, CSS_GROWTH_DIVISOR, CSS_ROUNDS.
const LEAST_RISE: Time = Time::from_ms(4);
const MOST_RISE: Time = Time::from_ms(16);
const RISE_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CONSERVATIVE_DIVISOR: f64 = 4.0;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// HyStart constants of ns-3: HystartLowWindow (segments), HystartAckDelta, HystartDelayMax.
const CLASSIC_LEAST_WINDOW: f64 = 16.0;
const CLASSIC_ACK_GAP: Time = Time::from_ms(2);
const CLASSIC_MOST_RISE: Time = Time::from_ms(1_000);

/// Round trips and ACKs of a slow start, from which HyStart detects the end of the slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowStart {
    kind: HyStart,
    /// Segment number above which an acknowledgement ends the round.
    round_end: u32,
    round_start: Time,
    last_ack: Time,
    /// Number of ACKs that HyStart measured in the current round.
    samples: u32,
    /// Least round-trip time of the current round. [`Time::MAX`] before the first sample.
    least_now: Time,
    least_before: Time,
    /// Least round-trip time in all rounds of the slow start.
    least_ever: Time,
    /// Baseline round-trip time of a conservative slow start, and the number of conservative rounds
    /// completed.
    conservative: Option<(Time, u32)>,
}

impl SlowStart {
    pub(super) fn new(kind: HyStart) -> Self {
        Self {
            kind,
            round_end: 0,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            samples: 0,
            least_now: Time::MAX,
            least_before: Time::MAX,
            least_ever: Time::MAX,
            conservative: None,
        }
    }

    /// Handles an ACK during slow start with a window of `size` segments. Returns the remaining
    /// fraction of the usual window growth, or `None` if slow start is over.
    pub(super) fn growth(&mut self, size: f64, ack: &AckEvent<'_>) -> Option<f64> {
        if self.kind == HyStart::Off {
            return Some(1.0);
        }
        if ack.acknowledged > self.round_end {
            self.begin_round(ack);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds > CONSERVATIVE_ROUNDS {
                    return None;
                }
            }
        }
        self.samples += 1;
        self.least_now = self.least_now.min(ack.rtt);
        self.least_ever = self.least_ever.min(ack.rtt);
        match self.kind {
            HyStart::Classic => (!self.classic_says_stop(size, ack)).then_some(1.0),
            HyStart::Rfc9406 | HyStart::Off => Some(self.growth_rfc9406()),
        }
    }

    /// Starts another message of the connection. The first ACK of the message begins a round.
    pub(super) fn begin_message(&mut self, idle: Time) {
        self.round_end = 0;
        self.round_start += idle;
        self.last_ack += idle;
    }

    fn begin_round(&mut self, ack: &AckEvent<'_>) {
        self.round_end = ack.next;
        (self.round_start, self.last_ack) = (ack.now, ack.now);
        self.least_before = self.least_now;
        self.least_now = Time::MAX;
        self.samples = 0;
    }

    /// Computes the growth of the window per acknowledged segment by RFC 9406 section 4.2.
    fn growth_rfc9406(&mut self) -> f64 {
        if self.samples >= SAMPLES {
            match self.conservative {
                Some((baseline, _)) if self.least_now < baseline => self.conservative = None,
                Some(_) => {}
                None if self.least_before != Time::MAX => {
                    let rise = Time(self.least_before.0 / RISE_DIVISOR).clamp(LEAST_RISE, MOST_RISE);
                    if self.least_now >= self.least_before + rise {
                        self.conservative = Some((self.least_now, 1));
                    }
                }
                None => {}
            }
        }
        if self.conservative.is_some() { 1.0 / CONSERVATIVE_DIVISOR } else { 1.0 }
    }

    fn classic_says_stop(&mut self, size: f64, ack: &AckEvent<'_>) -> bool {
        if size < CLASSIC_LEAST_WINDOW {
            return false;
        }
        let train = if ack.now.saturating_sub(self.last_ack) <= CLASSIC_ACK_GAP {
            self.last_ack = ack.now;
            ack.now.saturating_sub(self.round_start) > self.least_ever
        } else {
            false
        };
        let rise = Time(self.least_ever.0 / RISE_DIVISOR).clamp(LEAST_RISE, CLASSIC_MOST_RISE);
        train || (self.samples >= SAMPLES && self.least_now >= self.least_ever + rise)
    }
}
