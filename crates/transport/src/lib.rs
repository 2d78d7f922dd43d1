//! Transports as pure state machines: time is an argument, packets are values, nothing is sent.
//!
//! A TCP flow is a [`Sender`] and a [`Receiver`]. The driver carries what they say:
//!
//! ```text
//!   poll_transmit(now) --> Segment --(network)--> Receiver::handle_data(now) --> Option<Ack>
//!   handle_ack(now, &ack) <--------------(network)------------------------------------'
//!   deadline() / handle_timeout(now)      both ends have at most one timer each
//!   wake_at(now)                          a paced sender: when to poll again
//! ```
//!
//! Sequence numbers count **segments** of a flow, from 0: every segment but the last carries a full
//! payload. Congestion windows are in segments too. A congestion control is one file in
//! `congestion/` and one entry in [`CONGESTION_CONTROLS`]. RDMA is a queue pair and a responder in
//! [`rdma`], with the same congestion controls. Traffic without any (open loop) is a
//! [`PacedSender`] alone, without acknowledgements.
//!
//! ```
//! use bufferlab_params::Profile;
//! use bufferlab_transport::{Receiver, Sender, TcpConfig, find_congestion_control};
//! use bufferlab_units::Time;
//!
//! let config = TcpConfig { initial_window: 2, ..TcpConfig::default() };
//! let dctcp = find_congestion_control("dctcp").expect("registered");
//! let dctcp = dctcp.configure_with(Profile::Paper, &[], &config)?;
//! let mut sender = Sender::new(&config, &dctcp, 3);
//! let mut receiver = Receiver::new(3);
//! let mut now = Time::ZERO;
//! while !sender.is_done() {
//!     while let Some(segment) = sender.poll_transmit(&config, now) {
//!         let sent = now;
//!         now += Time::from_us(10);
//!         if let Some(ack) = receiver.handle_data(&config, now, segment.seq, sent, false) {
//!             now += Time::from_us(10);
//!             sender.handle_ack(&config, now, &ack);
//!         }
//!     }
//! }
//! assert!(receiver.is_complete());
//! # Ok::<(), bufferlab_params::BuildError>(())
//! ```

mod congestion;
mod paced;
mod ranges;
pub mod rdma;
mod receiver;
mod rtt;
mod sender;
mod telemetry;

pub use congestion::{
    AckEvent, CONGESTION_CONTROLS, CONTROLS, CloneController, ConfiguredControl, CongestionControl,
    CongestionControlInfo, CongestionEvent, ControlConstructor, ControlFailure, Controller, Starter, Window,
    find_congestion_control, register_congestion_control, replace_congestion_control,
};
pub use congestion::{
    Cubic, Dcqcn, DcqcnParameters, DcqcnReaction, DcqcnSet, Dctcp, FirstAck, Hpcc, HyStart, NewReno,
    PowerTcp, Swift, ThetaPowerTcp, Timely,
};
pub use paced::{PacedSender, Spacing};
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use sender::{Connection, Phase, Segment, Sender, SenderCounters};
pub use telemetry::{HopReport, MAX_HOPS};

use bufferlab_units::{BitRate, Time};

/// The word for no congestion control in scenarios: packets at a fixed rate, without feedback
/// ([`PacedSender`]).
pub const UNRESPONSIVE: &str = "none";

/// Parameters of a TCP flow or a queue pair; many flows share one.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Initial window (segments).
    pub initial_window: u32,
    /// At most this many segments are in flight before the first ACK: the receive window in a
    /// SYN-ACK is never scaled (RFC 7323 section 2.2), hence at most 65,535 bytes. [`u32::MAX`]: no
    /// limit, as if the receiver's window were known.
    pub first_flight_limit: u32,
    /// Smallest retransmission timeout (RFC 6298 says 1 s; data centers use milliseconds).
    pub min_rto: Time,
    /// Timeout before the first round-trip sample, of the handshake too.
    pub initial_rto: Time,
    /// Largest timeout after backing off.
    pub max_rto: Time,
    /// SACKed segments above a hole from which it counts as lost (RFC 6675 DupThresh).
    pub duplicate_threshold: u32,
    /// Send a new segment for each of the first duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Reduce in proportion to delivery (RFC 6937) instead of stopping until the pipe has drained
    /// (RFC 6675).
    pub proportional_rate_reduction: bool,
    /// What a recovery sends again when nothing is certainly lost and nothing new is left.
    pub last_resort: LastResort,
    /// How marks and losses change the state of a sender.
    pub states: CongestionStates,
    /// Whether a flow opens with SYN and SYN-ACK.
    pub handshake: bool,
    /// Whether a connection that was idle for longer than its timeout begins with the initial
    /// window again (RFC 5681 section 4.1); see [`Sender::resume`].
    pub idle_restart: bool,
    /// New segments leave in bursts of at most so many, back to back (large send offload), at most
    /// 65,535; 1: one by one. See [`Sender::in_burst`].
    pub burst_segments: u32,
    /// ACK every n-th in-order segment; others wait for `delayed_ack_timeout`.
    pub ack_every: u32,
    /// A delayed ACK waits at most this long.
    pub delayed_ack_timeout: Time,
    /// Rate of the sender's own link: controls that set a rate start with it and never exceed it.
    pub line_rate: BitRate,
    /// T, or τ: the round trip on an empty network, of a full segment and its ACK.
    pub base_rtt: Time,
    /// A full segment as windows count it (bytes): on the wire, or its payload where a simulator
    /// counts that.
    pub segment_wire_bytes: u32,
    /// What the pace counts of a full segment beyond that (bytes).
    pub uncounted_wire_bytes: u32,
    /// With [`CongestionStates::Ns3`]: a segment is sent only if all of it fits into a window that
    /// is set by a rate.
    pub whole_segments: bool,
    /// Of a queue pair, beside what it shares with TCP's congestion controls.
    pub rdma: rdma::RdmaConfig,
}

/// How far a recovery speculates when the window has room, no segment counts as lost and no new
/// data is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LastResort {
    /// Holes below the highest SACKed segment (RFC 6675 section 4, NextSeg rule 3).
    #[default]
    BelowHighestSack,
    /// Every segment that is neither SACKed nor sent again, the tail included, as ns-3 reads that
    /// rule. Saves tail losses from the timer at the price of spurious retransmissions.
    Everything,
}

/// How marks and losses change the state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CongestionStates {
    /// As the RFCs say: a mark reduces the window at once (RFC 3168, RFC 8257), a loss found by
    /// SACKs starts a recovery (RFC 6675), each for itself.
    #[default]
    Rfc,
    /// As ns-3.39 does, for the `artifact` profile:
    ///
    /// * A mark echoed by an ACK that acknowledges something starts a *reduction* (Linux' CWR),
    ///   also in the middle of a recovery. It lasts until a segment sent after it is acknowledged;
    ///   losses start no recovery meanwhile, and what is lost is sent again only as far as the
    ///   window of the mark allows.
    /// * Reductions and recoveries share one proportional rate reduction. It is relative to all
    ///   unacknowledged data, grows by one segment more than was delivered only when a
    ///   retransmission is acknowledged, and counts an ACK twice that reports a SACK and
    ///   acknowledges something.
    /// * Speculative retransmissions count as two segments in flight.
    /// * DCTCP answers losses and timeouts as marks, without a floor of two segments.
    /// * The retransmission timer runs until the whole flow is acknowledged: a window below one
    ///   segment ends by a timeout.
    /// * A receiver echoes a mark only on a segment beyond all marked ones before: not on
    ///   retransmissions.
    Ns3,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            initial_window: 10,
            first_flight_limit: u32::MAX,
            min_rto: Time::from_ms(10),
            initial_rto: Time::from_ms(10),
            max_rto: Time::from_ms(60_000),
            duplicate_threshold: 3,
            limited_transmit: true,
            proportional_rate_reduction: true,
            last_resort: LastResort::BelowHighestSack,
            states: CongestionStates::Rfc,
            handshake: false,
            idle_restart: true,
            burst_segments: 1,
            ack_every: 1,
            delayed_ack_timeout: Time::from_us(500),
            line_rate: BitRate::gbps(10),
            base_rtt: Time::from_us(80),
            segment_wire_bytes: 1_454,
            uncounted_wire_bytes: 0,
            whole_segments: true,
            rdma: rdma::RdmaConfig::default(),
        }
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Every segment before this one has arrived.
    pub cumulative: u32,
    /// The contiguous block above `cumulative` that contains the segment that caused this ACK
    /// (first SACK block of RFC 2018), as `first..end`; empty if there is none.
    pub sack: (u32, u32),
    /// When the segment that caused this ACK was sent (timestamp echo, RFC 7323).
    pub echo: Time,
    /// That segment carried a congestion mark.
    pub marked: bool,
}
