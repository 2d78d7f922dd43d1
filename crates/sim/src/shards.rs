//! Runs one simulation on several cores: the network is divided into parts, one thread per part.
//!
//! # Parts
//!
//! Every part is a whole [`Simulation`](crate::Simulation) of the scenario,
//! in which only its own hosts and switches are active. Racks are assigned to parts in order,
//! and so are the switches of each tier above ([`partition`]). Random draws are made per component,
//! and simultaneous events are ordered by a hash of their links.
//! So a part needs from other parts only the packets that arrive over a cable.
//!
//! # Windows
//!
//! No packet reaches another part sooner than the shortest delay of a cable between two parts.
//! During a *window* of that shortest delay, parts run independently. Then the parts meet
//! and exchange packets with their arrival times, and notes on flows with a remote source
//! ([`exchange`]). A note says that a packet of the flow was lost, or that a receiver created or
//! removed a packet. The next window begins with the earliest event of any part.
//!
//! # Flows
//!
//! All parts start all flows at the same times, so they agree on slots, numbers and paths.
//! Only the source's part sends data, and only the destination's part answers.
//! A flow is over when its sender is done and no packet of the flow is left. No part knows this
//! before the parts meet. Slots become free in intervals of 100 us (`host/slots.rs`). Windows end
//! at the end of an interval, and then the parts exchange which flows are over and since when.
//!
//! # Equal results
//!
//! The tables equal the tables of a run with one thread, byte for byte.
//! The parts learn the end of the run only when the last interval is
//! over, so they subtract later events (timers of policies) from the count.
//! Only the largest number of packets alive is not exact: it is the sum of the maxima of the parts.

mod exchange;
mod merge;
mod partition;
mod patience;
mod run;
mod samples;

pub(crate) use exchange::Crossing;
pub(crate) use partition::Shard;
