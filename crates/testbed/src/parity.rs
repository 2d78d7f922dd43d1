//! Compares the switch of real packets with the simulator: for equal arrivals, switch and simulator
//! must give equal verdicts.
//!
//! ```text
//!   record: arrivals ──► a scenario: a host at every port sends each packet so that it arrives at the same picosecond
//!                                      │
//!                                      ▼
//!                                 Simulation ──► flows, drops ──┐
//!   record: verdicts, marks, departures ────────────────────────┴──► Comparison
//! ```
//!
//! The switch and the simulator share only the core: the simulator has a separate calendar,
//! separate links and separate clocks. The comparison covers:
//!
//! * for every packet, whether it was sent or lost, whether it was marked,
//!   and when its transmission began (ns);
//! * for every queue, the number of packets lost for each reason;
//! * for every packet, its queue, compared with a classifier that sees only the arrivals.
//!
//! In the simulator, every packet of a trace is a separate flow, so policies
//! that follow flows cannot be compared. A classifier that follows flows can be compared:
//! it runs separately, and its answer becomes the packet's priority.

mod arrivals;
mod compare;
mod replay;

pub use arrivals::synthetic;
pub use compare::{Comparison, Difference};
pub use replay::{ParityError, drive, verify, verify_until};
