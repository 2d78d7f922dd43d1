//! Runs one simulation on several cores: the network is divided into shards that threads run.
//!
//! # Shards
//!
//! Every shard is a whole [`Simulation`](crate::Simulation) of the scenario, in which only the
//! hosts and switches of the shard are active. Racks are assigned to shards in order, and so are
//! the switches of each tier above ([`partition`]). Random draws are made per component, and
//! simultaneous events are ordered by a hash of their links. So the only input of a shard from
//! other shards is packets and pause frames that arrive over a cable.
//!
//! # Windows
//!
//! No packet reaches another shard sooner than the shortest delay of a cable between two shards.
//! During a *window* of that shortest delay, shards run independently. Then the shards exchange
//! packets with their arrival times, and notes on flows with a remote source ([`exchange`]). A note
//! says that a packet of the flow was lost, or that a receiver created or removed a packet. The
//! next window begins with the earliest event of any shard.
//!
//! # Threads
//!
//! There are as many threads as shards. A thread first runs its own shard, and then every shard
//! that no thread has taken in the window. So a run needs no second core. The threads only wait for
//! a thread that loses its core in the middle of a window. If other processes need the cores, the
//! leading thread runs all shards and the others rest ([`patience`]). Only the leading thread runs
//! the first shard, which writes results and reports progress.
//!
//! # Pauses
//!
//! A pause frame (PFC) needs its transmission time and the delay of its cable. So a pause frame
//! reaches another shard no sooner than a packet, and the shards also exchange pause frames after
//! each window. Each end of a link has its own fields of the pause state: the receiver's shard
//! demands pauses, and the sender's shard obeys the pauses.
//!
//! Watchdogs, storms, headroom and repeated pauses concern one switch, or one host and its switch,
//! which are always in one shard. So no change of flow control takes effect in another shard at
//! once.
//!
//! Only the search for circles of paused links reads the state of all switches at one instant.
//! Routes up and down a tree form no circle, so the search finds no circle in a tree. A network
//! whose routes form a circle runs on one thread (`world/routing/circles.rs`).
//!
//! # Flows
//!
//! All shards start all flows at equal times, so all shards agree on slots, numbers and paths. Only
//! the source's shard sends data, and only the destination's shard answers. A flow is over when its
//! sender is done and no packet of the flow is left. No shard knows this before the shards
//! exchange data. Slots become free in intervals of 100 us (`host/slots.rs`). Windows end at the
//! end of an interval. Then the shards exchange lists of the flows that are over, with their end
//! times.
//!
//! # Schedules
//!
//! A rank of a schedule belongs to the shard of its host. A message is the only dependency between
//! ranks of different shards: hosts whose ranks depend on each other without a message are in one
//! shard (`demand/coupling.rs`). Then hosts can be in other shards than their switches.
//!
//! No shard knows the starts of scheduled flows beforehand. So every host has its own slots for the
//! flows that it sends, and a shard starts only the flows of its hosts. After each window the
//! shards exchange the flows that have started, and number these flows in the order in which one
//! thread would start them (`world/order.rs`). The shard that writes the results receives notes on
//! the schedules of all shards, in the same order. An execution ends when the shards have counted
//! the ends of all nodes. So the next execution must follow after at least a window.
//!
//! # Equal results
//!
//! The result tables equal the tables of a run with one thread, byte for byte. A run on one thread
//! writes some rows in the order of its events: samples, pauses, storms, packets. Each of these
//! rows has the position of its event in the order of events. One shard sorts and writes the rows
//! of all shards ([`rows`]).
//!
//! The shards learn the end of the run only when the last interval is over. By then, timers of
//! policies and of pauses may have expired after the end. The shards subtract these events from the
//! count, drop the rows of these events, and undo the changes of pauses (`pfc/cross_shard.rs`).
//!
//! Only the largest number of packets alive is not exact: the result is the sum of the maxima of
//! the shards.

mod exchange;
mod merge;
mod news;
mod partition;
mod patience;
mod rows;
mod run;

pub(crate) use exchange::Crossing;
pub(crate) use partition::{Partition, Shard};
