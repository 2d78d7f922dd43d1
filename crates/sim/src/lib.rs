//! The packet simulator: drives the core and the transports in virtual time.
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
//! One loop drives a run: [`Simulation::run`] takes the earlier of the calendar's next link event
//! and the next rare event (flow start, timer). A scenario gives equal rows on every machine and
//! under any load.
//!
//! | part | owns | may also touch |
//! |---|---|---|
//! | `engine` | the order of events | all others: the engine dispatches events and settles their
//! effects |
//! | `world` | time, links and the packets on them, routes, timers | |
//! | `host` | NICs, flows, connections | its uplink, packets at it, timers of hosts (`world::Uplink`) |
//! | `switch` | the core's pipeline, its record | links of its ports, packets at it (`world::Ports`) |
//! | `pfc` | pause states, watchdogs | links and timers |
//! | `demand` | flows to come, queries, closed loops | timers |
//! | `observe` | rows | nothing: observers only read |
//! | `shards` | one run on several threads | whole simulations, one per thread |
//!
//! [`Simulation::run_until`] and [`Simulation::step`] advance a run step by step, and
//! [`Simulation::next_event`] describes its event. Between two steps, the caller may inspect the
//! run, change it, and copy it ([`Simulation::fork`]).
//!
//! The simulation is exact in three respects: serialization at integer picoseconds, propagation,
//! and the order of simultaneous events (see `world/calendar.rs`). A packet occupies a switch's
//! buffer from its last bit's arrival until its transmission starts (store and forward).

mod build;
mod demand;
mod engine;
mod error;
mod host;
mod ids;
mod limits;
mod memory;
mod notes;
mod observe;
mod pfc;
mod shards;
mod switch;
mod traffic;
mod transports;
mod world;

pub use engine::event::Event;
pub use engine::inspection::{FlowView, QueueView, SwitchView};
pub use engine::steering::NewFlow;
pub use engine::{Progress, Simulation};
pub use error::{FailedClassifier, FailedControl, FailedMarking, FailedPolicy, FullCard, SimError};
pub use limits::LIMITS;
pub use memory::{MemoryEstimate, MemoryPart};
pub use observe::explain::{ExplainRequest, ExplainedEvent, Explanations};

use crate::host::flow;
use crate::world::packet;

/// Memory of a live packet (bytes): its slot, and its entry in the list of free slots. The number
/// of packet slots is the peak number of live packets. A packet in a switch also takes the buffer's
/// record (`bufferlab_core::Stored`).
pub const BYTES_PER_PACKET: usize = size_of::<packet::Slot>() + size_of::<ids::PacketId>();

/// Memory of a live flow (bytes): sender, receiver, data needed at its end, and the slot's
/// bookkeeping. A flow also takes further memory of its transport: the state of its congestion
/// control, and the list of gaps of its receiver.
pub const BYTES_PER_FLOW: usize = size_of::<flow::SenderSlot>()
    + size_of::<flow::ReceiverSlot>()
    + size_of::<Option<flow::FlowInfo>>()
    + 2 * size_of::<ids::FlowSlot>();
