//! The shared buffer of a switch as a pure state machine.
//!
//! ```text
//! handle_arrival(now, packet)                                     poll_transmit(now, port)
//!        |                                                               ^
//!        v                                                               |
//!   classify ---> Policy::admit(arrival, &buffer) ---> enqueue ---> schedule ---> departure
//!   packet ->     Verdict::Admit(account)              ledger       which queue   ledger
//!   queue         Verdict::Drop(reason)                charge       goes next     release
//!                 Verdict::Evict { victim }            mark (ECN)                 Policy::on_dequeue
//!                                                      pause
//! handle_timeout(now) --> Policy::handle_timeout                  poll_timeout() --> next deadline
//!                         Observer::on: stored, refused, evicted, departed, pause changed
//! ```
//!
//! The modules follow this pipeline from left to right. [`classify`] finds the queue.
//! [`flows`] is a table of bytes sent per flow, for classifiers. [`buffer`] is the ledger of
//! bytes per queue and port. [`policy`] has the interface, the schemes and the registry of
//! buffer management. [`mark`] marks packets (ECN), [`schedule`] decides the order of departure.
//! [`Switch`] joins the modules. The crate uses no clock, socket, file or simulator: time is an
//! argument, random numbers come from a seeded stream, and an [`Observer`] receives the events.
//!
//! # Driving a switch by hand
//!
//! Two ports share 6,000 bytes under Dynamic Thresholds with α = 1: a lone queue gets 3,000 bytes.
//!
//! ```
//! use bufferlab_core::*;
//! use bufferlab_units::{BitRate, Time};
//!
//! let config = SwitchConfig::new(6_000, vec![BitRate::gbps(10); 2]);
//! let alpha = [("alpha".to_owned(), ParamValue::RatioPerPriority(vec![1.0].into()))];
//! let mut switch = config.build("dt", &alpha)?;
//!
//! let mut verdicts = Vec::new();
//! for id in 0..4 {
//!     let packet = Packet { id, header: Header::new(1_000), egress_port: 1, ..Packet::default() };
//!     verdicts.push(switch.handle_arrival(Time::from_ns(u64::from(id)), &packet, &mut ()));
//! }
//! let stored = Admission::Stored { marked: false };
//! let refused = Admission::dropped(DropReason::OverThreshold);
//! assert_eq!(verdicts, [stored, stored, stored, refused]);
//!
//! let first = switch.poll_transmit(Time::from_us(1), 1, &mut ()).expect("three packets wait");
//! assert_eq!((first.packet, first.size), (0, 1_000));
//! assert_eq!(switch.buffer().occupancy(), 2_000);
//! switch.verify().expect("the ledger equals the content of the queues");
//! # Ok::<(), BuildError>(())
//! ```

pub mod buffer;
pub mod classify;
mod event;
mod failure;
pub mod flows;
pub mod hardware;
mod header;
mod limits;
pub mod mark;
pub mod panel;
pub mod policy;
pub mod schedule;
mod shared_pool;
mod switch;
mod tags;
pub mod watchdog;
mod weight;

pub use buffer::{Buffer, End, IngressId, LedgerError, QueueId, Stored};
pub use bufferlab_params::{
    BufferProfile, Choice, Direction, Fault, Faults, ParamInfo, ParamKind, ParamValue, Params, Profile,
    RegisterError, TableInfo, ThresholdRule, Word,
};
pub use classify::{
    BUILT_IN_CLASSIFIERS, CLASSIFIERS, Classifier, ClassifierInfo, Classify, ElephantTrap, Unclassified,
    find_classifier, register_classifier, replace_classifier,
};
pub use event::{Effect, Observer, PacketEvent, Refusal, SwitchEvent};
pub use failure::{ClassifierFailure, MarkingFailure, PolicyFailure};
pub use flows::{FlowKey, FlowTable, Sent, ShortLimit, flow_tables_bytes};
pub use hardware::{Accounting, Hardware, PortSpread, QueueMinimums, ResumeBelow};
pub use header::{Ecn, Header};
pub use limits::LIMITS;
pub use mark::{
    MARKERS, MARKING_RULES, Markable, Marker, MarkerInfo, Marking, MarkingRule, find_marker, register_marker,
    replace_marker,
};
pub use panel::{Opinion, Panel};
pub use policy::{
    Account, Arrival, Bound, BoundPlace, BuildError, Departure, Dispatched, DropReason, Hooks, POLICIES,
    PauseDemand, PauseLevel, Policy, PolicyConstructor, PolicyInfo, SteeredThreshold, SwitchShape, Tags,
    Verdict, custom_policies, find_policy, policies, register_policy, replace_policy,
};
pub use schedule::{Discipline, DisciplineName, Group, RateLimit, ScheduleError, Scheduler, SchedulerName};
pub use shared_pool::Reserves;
pub use switch::{Admission, Counters, Packet, Switch, SwitchConfig, Transmission, build_policy};
pub use weight::Weight;
