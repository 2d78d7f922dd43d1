//! RDMA over Ethernet as RoCE does it: reliable messages of a queue pair, without handshake, sent
//! by rate.
//!
//! A message is a [`QueuePair`] at the sender and a [`Responder`] at the receiver, driven like
//! [`crate::Sender`] and [`crate::Receiver`]:
//!
//! ```text
//!   poll_transmit(now) --> Segment --(network)--> Responder::handle_data(now) --> Response { ack, notify }
//!   handle_ack(now, &ack) <----------(network)-------- ack, or a negative one ------'
//!   handle_notification(now) <-------(network)-------- a congestion notification in a frame of its own
//!   deadline() / handle_timeout(now)                   the retransmission timeout, if there is one
//!   wake_at(now)                                       when the pace lets the next segment go
//! ```
//!
//! The rate, and for some the window, is a congestion control's ([`crate::CONGESTION_CONTROLS`]);
//! what is lost is sent again by [`Recovery`], whatever the rate.

mod queue_pair;
mod responder;

pub use queue_pair::QueuePair;
pub use responder::Responder;

use bufferlab_units::Time;

/// Parameters of a queue pair beside those of its congestion control; many messages share one.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaConfig {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// At most this many segments in flight, whatever the congestion control allows; [`u32::MAX`]:
    /// no limit.
    pub window_limit: u32,
    /// A message of which nothing was acknowledged for so long is sent again; doubled with every
    /// repetition. [`Time::MAX`]: never.
    pub retransmission_timeout: Time,
    /// ACK every n-th in-order segment, and the last one; others wait for `delayed_ack_timeout`.
    pub ack_every: u32,
    /// A coalesced ACK waits at most this long.
    pub delayed_ack_timeout: Time,
    /// Go-back-N: repeat the negative acknowledgement of a gap when a segment beyond it comes so
    /// much later; [`Time::MAX`]: one per gap.
    pub nack_interval: Time,
    /// How the receiver reports marks.
    pub notification: Notification,
    /// A segment that waited for its turn at the card delays those after it. Otherwise the pace
    /// catches up, by at most one gap.
    pub strict_pace: bool,
}

bufferlab_params::choices! {
    /// How losses are repaired. With go-back-N a negative acknowledgement (RoCE: out-of-sequence
    /// NAK) answers the first segment beyond a gap. With selective repeat (IRN, Mittal et al.,
    /// SIGCOMM 2018) each hole is sent again once; what is lost twice waits for the timeout.
    #[derive(Default)]
    pub enum Recovery {
        #[default]
        GoBackN = "go-back-n": "the receiver takes segments in order only; after a gap the sender goes on from there (RoCE)",
        SelectiveRepeat = "selective-repeat": "the receiver keeps what it gets, and only holes are sent again (IRN, SIGCOMM 2018)",
    }
}

/// How a receiver reports marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Congestion notification packets: a frame of its own for a marked segment, at most one per
    /// `interval` and message (DCQCN section 3.2: 50 us).
    Frames {
        /// Least time between two.
        interval: Time,
    },
    /// Every ACK says whether a segment that it acknowledges was marked, as in HPCC's and Reverie's
    /// public code.
    Acks,
}

impl Default for RdmaConfig {
    fn default() -> Self {
        Self {
            recovery: Recovery::GoBackN,
            window_limit: u32::MAX,
            retransmission_timeout: Time::from_ms(1),
            ack_every: 1,
            delayed_ack_timeout: Time::from_us(100),
            nack_interval: Time::MAX,
            notification: Notification::Frames { interval: Time::from_us(50) },
            strict_pace: false,
        }
    }
}

/// An acknowledgement of a queue pair, positive or negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaAck {
    /// Every segment before this one has arrived.
    pub cumulative: u32,
    /// Selective repeat: the contiguous block above `cumulative` with the segment that caused this,
    /// as `first..end`; empty if there is none.
    pub sack: (u32, u32),
    /// Segment `cumulative` is missing though a later one has come.
    pub negative: bool,
    /// When the segment that caused this was sent.
    pub echo: Time,
    /// A segment since the last ACK was marked ([`Notification::Acks`]).
    pub notified: bool,
}

/// What a receiver answers to a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// An acknowledgement to send.
    pub ack: Option<RdmaAck>,
    /// A congestion notification must be sent, too ([`Notification::Frames`]).
    pub notify: bool,
}
