//! The packet simulator: a driver of the core and the transports in virtual time.
//!
//! ```text
//!   Scenario --> Simulation::new --> run(sink, progress) --> rows of the result tables, RunTotals
//!
//!   host: transports, NIC            link: exact serialization, pipe         switch: bufferlab-core
//!   +---------------------+          +--------------------------+           +----------------------+
//!   | Sender ... Receiver |--uplink->| transmit ... deliver     |--arrival->| handle_arrival       |
//!   | turn order, ACKs    |          | only the head is an event|           | poll_transmit        |
//!   +---------------------+          +--------------------------+           +----------------------+
//! ```
//!
//! One thread, one loop: [`Simulation::run`] takes the earlier of the calendar's next link event and the next rare event (flow
//! start, timer). The same scenario gives the same rows, whatever the machine does meanwhile.
//!
//! What is exact: serialization at integer picoseconds, propagation, the order of simultaneous events (see `calendar.rs`). A
//! packet occupies a switch's buffer from its last bit's arrival until its transmission starts (store and forward).

mod base_rtt;
mod build;
mod calendar;
mod closed_loops;
mod connections;
mod error;
mod explain;
mod finish;
mod flow;
mod hosts;
mod ids;
mod link;
mod nic;
mod packet;
mod pfc;
mod rdma;
mod routing;
mod simulation;
mod switch_node;
mod switches;
mod telemetry;
mod timers;
mod traffic;
mod transports;

pub use error::{FailedPolicy, SimError};
pub use explain::{ExplainRequest, ExplainedEvent};
pub use simulation::{Progress, Simulation};

/// Bytes of a live packet: its slot, and the slot's place in the list of free ones. As many slots exist as packets were alive at
/// once. On a link, its entry in the link's pipe comes on top (16 B); in a switch, the buffer's record
/// (`bufferlab_core::Stored`).
pub const BYTES_PER_PACKET: usize = size_of::<packet::Packet>() + size_of::<ids::PacketId>();

/// Bytes of a live flow: sender, receiver, what is needed when it ends, and the slot's bookkeeping. What the transport holds
/// elsewhere (the state of its congestion control, gaps of a receiver) comes on top.
pub const BYTES_PER_FLOW: usize = size_of::<flow::SenderSlot>()
    + size_of::<flow::ReceiverSlot>()
    + size_of::<Option<flow::FlowInfo>>()
    + 2 * size_of::<ids::FlowSlot>();
