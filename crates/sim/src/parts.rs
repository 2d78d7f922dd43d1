//! One run on several cores: the network in parts, a thread for each.
//!
//! # Parts
//!
//! Every part is a whole [`Simulation`](crate::Simulation) of the same scenario, in which only its
//! own hosts and switches ever have anything to do. Racks go to parts in their order, and so do the
//! switches of each tier above ([`partition`]). What a run draws by chance is drawn by component,
//! and the order of simultaneous events is that of a hash of their links: so a part needs to know
//! nothing of the others but what reaches it over a cable.
//!
//! # Windows
//!
//! No packet reaches another part sooner than the shortest delay of a cable between two parts: for
//! that long, a *window*, parts go on by themselves. Then they meet and hand over what crosses
//! ([`exchange`]): packets with the times at which they arrive, and notes on flows whose source is
//! elsewhere (a packet of theirs was lost, or a receiver made or took one). The next window begins
//! with the first event that any part knows of.
//!
//! # Flows
//!
//! All parts start all flows at the same times, so they agree on slots, numbers and paths; only the
//! source's part sends, and only the destination's answers. A flow is over when its sender is done
//! and no packet of it is left anywhere, which nobody knows before the parts have met. Slots become
//! free in intervals of 100 us anyway (`host/slots.rs`); windows end where an interval ends, and
//! there parts tell each other which flows are over and since when.
//!
//! # The same results
//!
//! The tables are the same, byte for byte, as those of one thread. The end of the run is known when
//! the last interval is over: what a part did after it, timers of policies, is taken off the count
//! of events. Only the largest number of packets alive is not exact: it is the sum of the largest
//! numbers of the parts.

mod exchange;
mod merge;
mod partition;
mod patience;
mod run;
mod samples;

pub(crate) use exchange::Crossing;
pub(crate) use partition::PartOf;
