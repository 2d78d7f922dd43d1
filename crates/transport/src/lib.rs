//! Transports as pure state machines: time is an argument, packets are values,
//! and the driver sends packets.
//!
//! A TCP flow consists of a [`Sender`] and a [`Receiver`]. The driver transfers their messages:
//!
//! ```text
//!   poll_transmit(now) --> Segment --(network)--> Receiver::handle_data(now) --> Option<Ack>
//!   handle_ack(now, &ack) <--------------(network)------------------------------------'
//!   deadline() / handle_timeout(now)      both ends have at most one timer each
//!   wake_at(now)                          a paced sender: when to poll again
//! ```
//!
//! Sequence numbers count the **segments** of a flow, from 0.
//! Every segment except the last has a full payload. Congestion windows are also in segments.
//! A congestion control is one file in `congestion/` and one entry in [`CONGESTION_CONTROLS`].
//! RDMA is a queue pair and a responder in [`rdma`], with the congestion controls of TCP. Open-loop
//! traffic, without congestion control, is a [`PacedSender`] alone, without acknowledgements.
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

/// Name in scenarios for a transport without congestion control: packets at a fixed rate, without
/// feedback ([`PacedSender`]).
pub const UNRESPONSIVE: &str = "none";

/// Parameters of a TCP flow or a queue pair, which many flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Initial congestion window (segments).
    pub initial_window: u32,
    /// Largest number of segments in flight before the first ACK. The receive window in a SYN-ACK
    /// is never scaled (RFC 7323 section 2.2), so this window is at most 65,535 bytes.
    /// With [`u32::MAX`] there is no limit, as if the sender knew the receiver's window.
    pub first_flight_limit: u32,
    /// Smallest retransmission timeout. RFC 6298 states 1 s, and data centers use milliseconds.
    pub min_rto: Time,
    /// Retransmission timeout before the first round-trip sample, including the handshake.
    pub initial_rto: Time,
    /// Largest retransmission timeout after exponential backoff.
    pub max_rto: Time,
    /// Number of SACKed segments above a hole after which the hole counts as lost (RFC 6675
    /// DupThresh).
    pub duplicate_threshold: u32,
    /// Whether each of the first duplicate ACKs releases a new segment (RFC 3042).
    pub limited_transmit: bool,
    /// Whether a recovery reduces the window in proportion to delivery (RFC 6937). Otherwise the
    /// sender stops until the pipe has drained (RFC 6675).
    pub proportional_rate_reduction: bool,
    /// Segments that a recovery repeats when no segment is certainly lost and the flow has no new
    /// segment.
    pub last_resort: LastResort,
    /// Effect of marks and losses on the state of a sender.
    pub states: CongestionStates,
    /// Whether each flow opens a connection with SYN and SYN-ACK.
    pub handshake: bool,
    /// Whether a connection that was idle for longer than its timeout restarts with the initial
    /// window (RFC 5681 section 4.1). See [`Sender::resume`].
    pub idle_restart: bool,
    /// Largest burst of new segments that leave back to back (large send offload), at most 65,535.
    /// With the value 1, the sender sends no bursts. See [`Sender::in_burst`].
    pub burst_segments: u32,
    /// Number of in-order segments per ACK. An ACK for fewer segments
    /// waits for `delayed_ack_timeout`.
    pub ack_every: u32,
    /// Longest time for which a receiver delays an ACK.
    pub delayed_ack_timeout: Time,
    /// Rate of the sender's link. Controls that set a rate start with this line rate and never
    /// exceed it.
    pub line_rate: BitRate,
    /// Round trip T (or τ) of a full segment and its ACK on an empty network.
    pub base_rtt: Time,
    /// Bytes of a full segment in windows: its size on the wire. To imitate simulators that count
    /// payload, this number is the payload.
    pub segment_wire_bytes: u32,
    /// Additional bytes per full segment that the pace counts.
    pub uncounted_wire_bytes: u32,
    /// Whether a segment must fit completely into a window that a
    /// rate sets ([`CongestionStates::Ns3`]).
    pub whole_segments: bool,
    /// Parameters of a queue pair, in addition to the parameters of its congestion control.
    pub rdma: rdma::RdmaConfig,
}

/// Segments that a recovery repeats on suspicion, when the window has space, no segment counts as
/// lost and no new data is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LastResort {
    /// The recovery repeats holes below the highest SACKed segment (RFC 6675 section 4,
    /// NextSeg rule 3).
    #[default]
    BelowHighestSack,
    /// The recovery repeats every segment that is neither SACKed nor sent again, including the last
    /// segments, as ns-3 interprets NextSeg rule 3. So the recovery repairs losses at the end of a
    /// flow before the timer expires, but sends spurious retransmissions.
    Everything,
}

/// Effect of marks and losses on the state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CongestionStates {
    /// Behaviour of the RFCs. A mark reduces the window at once (RFC 3168, RFC 8257). A loss
    /// detected by SACKs starts a recovery (RFC 6675). Reductions and recoveries are independent.
    #[default]
    Rfc,
    /// Behaviour of ns-3.39, for the `artifact` profile:
    ///
    /// * A mark echoed by an ACK that acknowledges new data starts a *reduction* (Linux' CWR), even
    ///   during a recovery. The reduction ends at the ACK of a segment that was sent after its
    ///   start. During a reduction, losses start no recovery, and the sender repeats lost segments
    ///   only within the reduced window.
    /// * Reductions and recoveries share one proportional rate reduction. The reduction is relative
    ///   to all unacknowledged data. The window grows by one segment more than was delivered only
    ///   when a retransmission is acknowledged. An ACK that reports a SACK and acknowledges new
    ///   data counts twice.
    /// * Speculative retransmissions count as two segments in flight.
    /// * DCTCP reacts to losses and timeouts as to marks, without a floor of two segments.
    /// * The retransmission timer runs until the whole flow is acknowledged: a window below one
    ///   segment ends by a timeout.
    /// * A receiver echoes a mark only on a segment above all earlier marked segments. So it echoes
    ///   no mark on retransmissions.
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

/// An acknowledgement of a TCP receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Number of the first missing segment. All segments before this segment have arrived.
    pub cumulative: u32,
    /// Contiguous block of segments above `cumulative`, as `first..end`: the block of the segment
    /// that caused this ACK (first SACK block of RFC 2018). Empty if no such block exists.
    pub sack: (u32, u32),
    /// Send time of the segment that caused this ACK (timestamp echo, RFC 7323).
    pub echo: Time,
    /// Whether the segment that caused this ACK had a congestion mark.
    pub marked: bool,
}
