//! Flow sizes, arrival processes, queries and flow lists: what is sent, by whom, to whom, and when.
//!
//! A driver asks one [`FlowSource`] for the next flow, again and again:
//!
//! ```text
//!   SizeDistribution ─► PoissonSource ─┐
//!          IncastSource, OnOffSource  ─┼─► MergeSource ─► next_flow() ─► driver
//!   read_flow_list(), read_trace() ─► ListSource ─┘                   └► write_flow_list()
//! ```
//!
//! A closed loop ([`MultiGet`]) is no source: when its next query comes is decided by the network, so that the driver tells it what is
//! complete, and asks.
//!
//! Flows are made when they are asked for, so a source needs memory for its hosts and not for its flows
//! (except [`ListSource`], which holds a list that somebody else made).
//!
//! **Determinism.** Every host draws arrival times, sizes and partners from three streams of its own,
//! derived from the run's seed and the name of the traffic class. Nothing that happens in the network, no
//! other class and no other host changes them; a change of load stretches the times and leaves the sizes
//! and partners of a host's n-th flow alone. So two policies, or two loads, meet the same traffic.
//! Floating point enters through logarithms (exponential gaps) and interpolation (sizes) only, never
//! through sums over hosts.

mod arrivals;
mod durations;
mod error;
mod flow;
mod flow_list;
mod incast;
mod load;
mod merge;
mod multi_get;
mod on_off;
mod pattern;
mod poisson;
mod sizes;
mod trace;

pub use durations::{DurationShape, Durations};
pub use error::SourceError;
pub use flow::{FlowSource, FlowSpec};
pub use flow_list::{
    CellProblem, FlowList, FlowListError, read_flow_list, renumber_queries, write_flow_list,
};
pub use incast::{IncastParams, IncastSource, QueryNumbers};
pub use load::arrivals_per_second_per_host;
pub use merge::{ListSource, MergeSource};
pub use multi_get::{Answer, AnswersPer, MultiGet, MultiGetParams, MultiGetQuery};
pub use on_off::{BurstKind, OnOffParams, OnOffPartners, OnOffSource};
pub use pattern::Pattern;
pub use poisson::{PoissonParams, PoissonSource};
pub use sizes::{BUILTIN_SIZES, BuiltinSizes, Place, SizeDistribution, SizeError};
pub use trace::{
    AddressBook, AddressRule, PacketPlace, PacketProblem, Trace, TraceError, TraceOptions, Unmapped,
    read_trace,
};
