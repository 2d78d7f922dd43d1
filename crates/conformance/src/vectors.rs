//! Golden vectors: situations worked by hand or taken from a paper, with the verdicts that must
//! come out.
//!
//! One file per policy, `testdata/policy/<name>.toml`, a list of `[[case]]`. Vectors carry time,
//! event, state and verdict, so that they also drive implementations that are not this one: write a
//! [`Device`] and call [`Case::run`], whose observer sees every elementary operation with its time
//! and answer.
//!
//! ```toml
//! [[case]]
//! name = "alpha of one half leaves a lone queue a third of the buffer"
//! source = "hand calculation: q = a (B - q), so q = B a / (1 + a)"
//! policy = "dt"
//! params = { alpha = 0.5 }
//! buffer = { capacity = 9, ports = 2, max_packet = 1 }
//! steps = [
//!   { arrive = 0, size = 1, expect = "admit", repeat = 3 },
//!   { arrive = 0, size = 1, expect = "over-threshold", lengths = [3, 0], thresholds = [3, 3] },
//! ]
//! ```
//!
//! # Case
//!
//! | key | meaning |
//! |---|---|
//! | `name`, `source` | The claim in plain words; the paper's example or the calculation. |
//! | `policy`, `params` | Registry name; parameters that differ from the defaults. Times are texts such as `"80 us"`, sizes bytes. |
//! | `profile` | `"paper"` (default) or `"artifact"`. |
//! | `buffer` | `capacity` (bytes), `ports`, `queues` per port (1), `rates_gbps` (10 for every port), `max_packet` (1500), `lossless` priorities (none; all packets come from port 0). |
//! | `scheduler` | `"round_robin"` (default), `"fifo"`, `"strict_priority"`. |
//! | `mark_above` | Step marking: a packet that finds more than this many bytes in its queue is marked; or a list, by priority. |
//! | `marker` | A marking rule of the registry: `kind`, its parameters as a scenario has them (sizes in bytes), and `priorities` that may be marked (all). |
//! | `classifier` | A classifier of the registry: `name` and its parameters; left out: what the policy brings along. |
//! | `steps` | See below. |
//!
//! # Step
//!
//! Each step is one event or none, then expectations.
//!
//! | key | meaning |
//! |---|---|
//! | `at_ns` | When, not before the last step; left out: at the same time. Policy timeouts up to and including this time come first. |
//! | `arrive` | A packet arrives for this queue (port × queues + priority; with a `classifier`, the priority in its header), with `size` in bytes, `tags`, `flow` (0) and `ecn` (`"capable"`, `"not-capable"` or `"marked"`; left out: capable iff the case marks). |
//! | `depart` | This port sends. |
//! | `fill` | `rounds` rounds: time advances by `round_ns`, then every port of `drain` sends one packet and one packet of `size` (of flow `flow`) arrives for every entry of `fill` (an entry may repeat), each list in its order, both spread evenly: of D departures and F arrivals, departure j comes before arrival i iff j/D <= (i + 1/2)/F, both counted from 0. |
//! | `repeat` | The event so many times (default 1), each with the same verdict. |
//! | `expect` | `"admit"`, `"admit-marked"` or the name of a drop reason; `"sent"`, `"sent-marked"` (marked on departure) or `"idle"`. Not for `fill`. |
//! | `from` | The queue that a departure must come from. |
//! | `marks` | How many packets this step marks, on arrival or departure: a number, or the least and the largest. |
//! | `evicts` | The queues that lost a stored packet in this step, in order, one entry per packet (over all repetitions); left out: nothing is evicted, except in a `fill`, where it is then not checked. |
//! | `lengths`, `occupancy` | Bytes of every queue, of the buffer, after the step. |
//! | `each` | Bytes of every queue that is named in `fill`. |
//! | `thresholds`, `unscheduled_thresholds`, `small_thresholds` | Limits of every queue after the step, for plain, for unscheduled and for small packets, in bytes. |
//! | `probes` | Internal state of queues after the step, by the names of the policy's probes: `[{ queue = 0, state = 1 }]`. |
//! | `tolerance` | Accepted deviation of lengths, occupancy and thresholds, in bytes (default 0). |

pub mod acks;
pub mod congestion;
mod file;
mod marker;
mod profiles;
mod read;
pub mod recovery;
mod run;
mod tcp;
mod values;
pub mod watchdog;

pub use file::{BufferSpec, Case, Event, Probes, Step, VectorFile};
pub use read::{Head, LoadError, Mismatch, VectorCase};
pub use run::Elementary;

#[cfg(doc)]
use crate::Device;
