//! RDMA over Ethernet as in RoCE: reliable messages of a queue pair. The messages have no
//! handshake, and a rate limits their transmission.
//!
//! A message is a [`QueuePair`] at the sender and a [`Responder`] at the receiver.
//! The driver calls both ends like [`crate::Sender`] and [`crate::Receiver`]:
//!
//! ```text
//!   poll_transmit(now) --> Segment --(network)--> Responder::handle_data(now) --> Response { ack, notify }
//!   handle_ack(now, &ack) <----------(network)-------- ack, or a negative one ------'
//!   handle_notification(now) <-------(network)-------- a congestion notification in a frame of its own
//!   deadline() / handle_timeout(now)                   the retransmission timeout, if there is one
//!   wake_at(now)                                       when the pace lets the next segment go
//! ```
//!
//! A congestion control ([`crate::CONGESTION_CONTROLS`]) sets the rate,
//! and some controls also set the window. [`Recovery`] repeats lost segments
//! under every congestion control.

mod queue_pair;
mod responder;

pub use queue_pair::QueuePair;
pub use responder::Responder;

use bufferlab_units::Time;

/// Parameters of a queue pair, without the parameters of its congestion control.
/// Many messages share one queue pair.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaConfig {
    /// Method by which the queue pair repairs losses.
    pub recovery: Recovery,
    /// Largest number of segments in flight, under every congestion control.
    /// The value [`u32::MAX`] means no limit of the window.
    pub window_limit: u32,
    /// Time without acknowledgement after which a message is sent again. The timeout doubles with
    /// every repetition. With [`Time::MAX`], a message is never sent again.
    pub retransmission_timeout: Time,
    /// Number of in-order segments per ACK. The last segment also causes an ACK.
    /// An ACK for fewer segments waits for `delayed_ack_timeout`.
    pub ack_every: u32,
    /// Longest time for which a receiver delays a coalesced ACK.
    pub delayed_ack_timeout: Time,
    /// Least time between two negative acknowledgements of one gap with go-back-N. A segment beyond
    /// the gap triggers the repetition. With [`Time::MAX`], each gap causes one negative
    /// acknowledgement.
    pub nack_interval: Time,
    /// Way in which the receiver reports congestion marks.
    pub notification: Notification,
    /// Whether a segment that had to wait at the NIC delays later segments. If false, the sender
    /// makes up for the delay, by at most one gap between segments.
    pub strict_pace: bool,
}

bufferlab_params::choices! {
    /// Repair of losses by a queue pair. With go-back-N, the receiver answers the first segment
    /// beyond a gap with a negative acknowledgement (out-of-sequence NAK of RoCE). With selective
    /// repeat (IRN, Mittal et al., SIGCOMM 2018), the sender sends each hole again once. A segment
    /// lost twice waits for the timeout.
    #[derive(Default)]
    pub enum Recovery {
        #[default]
        GoBackN = "go-back-n": "the receiver accepts segments only in order; after a loss the sender resumes from the gap (RoCE)",
        SelectiveRepeat = "selective-repeat": "the receiver keeps all segments, and the sender repeats only holes (IRN, SIGCOMM 2018)",
    }
}

/// Way in which a receiver reports congestion marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Congestion notification packets: a separate frame for a marked segment,
    /// at most one frame per `interval` and message (DCQCN section 3.2: 50 us).
    Frames {
        /// Least time between two notifications of a message.
        interval: Time,
    },
    /// A flag in every ACK states whether any segment that the ACK acknowledges was marked, as in
    /// HPCC's and Reverie's public code.
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
    /// Number of the first missing segment. All segments before this segment have arrived.
    pub cumulative: u32,
    /// For selective repeat: the contiguous block of segments above `cumulative`, as `first..end`,
    /// with the segment that caused this ACK. Empty if no such block exists.
    pub sack: (u32, u32),
    /// Whether segment `cumulative` is missing although a later segment has arrived.
    pub negative: bool,
    /// Send time of the segment that caused this ACK.
    pub echo: Time,
    /// Whether a segment since the last ACK had a mark ([`Notification::Acks`]).
    pub notified: bool,
}

/// Answer of a receiver to an arriving segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Acknowledgement that the receiver must send, if any.
    pub ack: Option<RdmaAck>,
    /// Whether the receiver must also send a congestion notification ([`Notification::Frames`]).
    pub notify: bool,
}
