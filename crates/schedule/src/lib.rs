//! Schedules: transfers and computations that wait for each other's events.
//!
//! A [`Schedule`] is a graph without cycles. A node is a transfer between two ranks, a computation
//! on one rank, or a barrier. An edge states for which event of its parent a node waits,
//! and an optional delay. A [`ScheduleBuilder`] collects nodes and edges and checks them:
//!
//! ```
//! # use bufferlab_schedule::{Condition, ScheduleBuilder, ScheduleError, Transfer, Work};
//! # use bufferlab_units::Time;
//! let mut builder = ScheduleBuilder::new(3);
//! let class = builder.class("forward")?;
//! let first = builder.node(Work::Transfer(Transfer { src: 0, dst: 1, bytes: 65_536, class }))?;
//! let compute = builder.node(Work::Compute { rank: 1, lane: 0, duration: Time::from_us(5) })?;
//! let second = builder.node(Work::Transfer(Transfer { src: 1, dst: 2, bytes: 65_536, class }))?;
//! builder.after(compute, first, Condition::Finished)?;
//! builder.after(second, compute, Condition::Finished)?;
//! let schedule = builder.build()?;
//! assert_eq!(schedule.depth(), 3);
//! # Ok::<(), ScheduleError>(())
//! ```
//!
//! [`expand`] adds the transfers of a collective, such as a ring all-reduce.
//! [`ideal_time`] is the closed form of the collective's duration on an unloaded network.
//! [`parse_schedule`] and [`write_schedule`] read and write the text format of schedules.

mod builder;
mod collective;
mod error;
mod limits;
mod node;
mod order;
mod schedule;
mod text;

pub use builder::ScheduleBuilder;
pub use collective::{
    Algorithm, Collective, CollectiveError, Network, Networks, Operation, ScheduledCollective, expand,
    ideal_time,
};
pub use error::ScheduleError;
pub use limits::{EDGES_MAX, LIMITS, NODES_MAX};
pub use node::{Condition, Edge, NodeId, Transfer, Work};
pub use schedule::{Parents, Schedule};
pub use text::{ScheduleTextError, parse_schedule, write_schedule};
