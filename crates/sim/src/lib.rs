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
//! One loop: [`Simulation::run`] takes the earlier of the calendar's next link event and the next
//! rare event (flow start, timer). The same scenario gives the same rows, whatever the machine does
//! meanwhile.
//!
//! | part | owns | may touch beside |
//! |---|---|---|
//! | `engine` | the order of events | all others: it hands out events and settles what they lead to |
//! | `world` | time, links and what is on them, packets, routes, timers | |
//! | `host` | cards, flows, connections | its uplink, packets at it, timers of hosts (`world::Uplink`) |
//! | `switch` | the core's pipeline, its record | links of its ports, packets at it (`world::Ports`) |
//! | `pfc` | who is paused, watchdogs | links and timers |
//! | `demand` | flows to come, queries, closed loops | timers |
//! | `observe` | rows | nothing: it looks |
//! | `parts` | one run on several threads | whole simulations, one per thread |
//!
//! What is exact: serialization at integer picoseconds, propagation, the order of simultaneous
//! events (see `world/calendar.rs`). A packet occupies a switch's buffer from its last bit's
//! arrival until its transmission starts (store and forward).

mod build;
mod demand;
mod engine;
mod error;
mod host;
mod ids;
mod limits;
mod memory;
mod observe;
mod parts;
mod pfc;
mod switch;
mod traffic;
mod transports;
mod world;

pub use engine::{Progress, Simulation};
pub use error::{FailedControl, FailedMarking, FailedPolicy, FullCard, SimError};
pub use limits::LIMITS;
pub use memory::{MemoryEstimate, MemoryPart};
pub use observe::explain::{ExplainRequest, ExplainedEvent, Explanations};

use crate::host::flow;
use crate::world::packet;

/// Bytes of a live packet: its slot, and the slot's place in the list of free ones. As many slots
/// exist as packets were alive at once. In a switch, the buffer's record comes on top
/// (`bufferlab_core::Stored`).
pub const BYTES_PER_PACKET: usize = size_of::<packet::Slot>() + size_of::<ids::PacketId>();

/// Bytes of a live flow: sender, receiver, what is needed when it ends, and the slot's bookkeeping.
/// What the transport holds elsewhere (the state of its congestion control, gaps of a receiver)
/// comes on top.
pub const BYTES_PER_FLOW: usize = size_of::<flow::SenderSlot>()
    + size_of::<flow::ReceiverSlot>()
    + size_of::<Option<flow::FlowInfo>>()
    + 2 * size_of::<ids::FlowSlot>();
