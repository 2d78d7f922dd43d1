//! Workloads: the senders, receivers, sizes and start times of flows.
//!
//! A kind of workload is one file in `kinds/`. The file has the entry [`WorkloadInfo`] (name, list
//! of parameters) and a function from parameters to a [`Workload`]. Reading a scenario checks the
//! workload once against network and transports. [`WORKLOADS`] lists the kinds; the scenario
//! format, its schema and its reference follow from the list. A program adds custom workloads with
//! [`register_workload`]. A run starts all workloads ([`Traffic::new`]), and each workload hands
//! its traffic to a [`TrafficBuilder`]:
//!
//! ```text
//!   SizeDistribution ─► PoissonSource ─┐
//!          IncastSource, OnOffSource  ─┼─► MergeSource ─► next_flow() ─► driver
//!  parse_flow_list(), parse_trace() ─► ListSource ─┘                  └► write_flow_list()
//! ```
//!
//! A [`ClosedLoop`] such as [`MultiGet`] is not a source: the time of its next query depends on the
//! network. So the driver reports completed answers to the loop and calls the loop for the next
//! query.
//!
//! Flows are created on demand, so a source needs memory for its hosts but not for its flows. Only
//! [`ListSource`] stores all its flows, in a list of the caller.
//!
//! **Determinism.** Every host draws arrival times, sizes and partners from three separate streams,
//! derived from the run's seed and the name of the traffic class. No event in the network, no other
//! class and no other host changes these streams. A change of load stretches the times, but the
//! sizes and partners of a host's n-th flow do not change. So runs with different policies or loads
//! have comparable traffic. Floating point is used only for logarithms (exponential gaps) and
//! interpolation (sizes), never for sums over hosts.

mod arrivals;
mod context;
mod durations;
mod error;
mod flow;
mod flow_list;
mod foreign;
mod incast;
mod kinds;
mod limits;
mod load;
mod merge;
mod multi_get;
mod on_off;
mod pattern;
mod poisson;
mod sizes;
mod trace;
mod traffic;
mod workload;

pub use context::{
    Carrier, Carriers, ForeignFile, ForeignReader, ForeignTraffic, SwitchFacts, WorkloadContext,
};
pub use durations::{DurationShape, Durations};
pub use error::{CustomError, SourceError};
pub use flow::{FlowSource, FlowSpec};
pub use flow_list::{
    CellProblem, FLOW_BYTES, FlowList, FlowListError, parse_flow_list, read_flow_list, renumber_queries,
    write_flow_list,
};
pub use incast::{IncastParams, IncastSource, QueryNumbers};
pub use kinds::{FlowListWorkload, LoadReference};
pub use limits::{FLOWS_ALIVE_MAX, FLOWS_MAX, LIMITS, LINE_BYTES_MAX};
pub use load::arrivals_per_second_per_host;
pub use merge::{ListSource, MergeSource};
pub use multi_get::{AnswersPer, MultiGet, MultiGetParams};
pub use on_off::{BurstKind, OnOffParams, OnOffPartners, OnOffSource};
pub use pattern::Pattern;
pub use poisson::{PoissonParams, PoissonSource};
pub use sizes::{BUILTIN_SIZES, BuiltinSizes, SizeDistribution, SizeError, SizePlace};
pub use trace::{
    AddressBook, AddressRule, PacketPlace, PacketProblem, Trace, TraceError, TraceOptions, Unmapped,
    parse_trace,
};
pub use traffic::{
    Answer, Carriage, ClosedLoop, Entry, LoopQuery, LoopTraffic, Replay, RunFacts, ScaleUp, ScheduleTraffic,
    Traffic, TrafficBuilder, TrafficClass,
};
pub use workload::{
    BuildWorkload, FLOW_SIZES, Queries, WORKLOADS, Workload, WorkloadInfo, register_workload,
    replace_workload,
};
