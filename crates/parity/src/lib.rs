//! Whether the switch of real packets and the simulator give the same answers to the same arrivals.
//!
//! ```text
//!   record: arrivals ──► a scenario: a host at every port sends each packet so that it arrives at the same picosecond
//!                                      │
//!                                      ▼
//!                                 Simulation ──► flows, drops ──┐
//!   record: verdicts, marks, departures ────────────────────────┴──► Comparison
//! ```
//!
//! The two have the core in common and nothing else: the simulator has its own calendar, links and
//! clocks. What is compared:
//!
//! * of every packet whether it was sent or lost, whether it was marked, and when its transmission
//!   began (ns);
//! * of every queue, how many packets were lost for which reason;
//! * of every packet its queue, against a classifier that sees the arrivals and nothing else.
//!
//! In the simulator every packet of a trace is a flow of its own, so policies that follow flows
//! cannot be compared; a classifier that does can, because it is run apart and its answer becomes
//! the packet's priority.

mod arrivals;
mod compare;
mod replay;

pub use arrivals::synthetic;
pub use compare::{Comparison, Difference};
pub use replay::{ParityError, drive, verify, verify_until};
