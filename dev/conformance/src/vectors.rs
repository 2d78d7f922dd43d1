//! Golden vectors: situations with expected verdicts, from a hand calculation or a paper.
//!
//! Every policy has a file `testdata/policy/<name>.toml`, a list of `[[case]]`. Vectors have time,
//! event, state and verdict, so that vectors also drive other implementations: write a [`Device`]
//! and call [`Case::run`]. The observer of a case receives every elementary operation with time and
//! answer.
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
//! | `policy`, `params` | Registry name of the policy; parameters that differ from the defaults. Times are texts such as `"80 us"`, sizes are in bytes. |
//! | `profile` | `"paper"` (default) or `"artifact"`. |
//! | `buffer` | `capacity` (bytes), `ports`, `queues` per port (1), `rates_gbps` (10 for every port), `max_packet` (1500), `lossless` priorities (none; all packets arrive at port 0). |
//! | `scheduler` | `"round_robin"` (default), `"fifo"`, `"strict_priority"`. |
//! | `mark_above` | Step marking: a packet is marked if its queue has more bytes than this; or a list, by priority. |
//! | `marker` | A marking rule of the registry: `kind`, its parameters as in a scenario (sizes in bytes), and `priorities` that may be marked (all). |
//! | `classifier` | A classifier of the registry: `name` and its parameters; default: the policy's classifier. |
//! | `steps` | Steps of the case, in order. |
//!
//! # Step
//!
//! Each step of a case has at most one event, then expectations.
//!
//! | key | meaning |
//! |---|---|
//! | `at_ns` | Time of the step, not before the previous step; default: time of the previous step. Policy timeouts up to and including this time are handled first. |
//! | `arrive` | A packet arrives for this queue (port × queues + priority; with a `classifier`, the priority in its header), with `size` in bytes, `tags`, `flow` (0) and `ecn` (`"capable"`, `"not-capable"` or `"marked"`; default: capable iff the case marks). |
//! | `depart` | Number of the port that sends a packet. |
//! | `fill` | `rounds` rounds: time advances by `round_ns`, then every port of `drain` sends one packet and one packet of `size` (of flow `flow`) arrives for every entry of `fill` (an entry may repeat). Each list keeps its order, and both are spread evenly: of D departures and F arrivals, departure j precedes arrival i iff j/D <= (i + 1/2)/F, both counted from 0. |
//! | `repeat` | Number of repetitions of the event (default 1), each with the same verdict. |
//! | `expect` | `"admit"`, `"admit-marked"` or the name of a drop reason; `"sent"`, `"sent-marked"` (marked on departure) or `"idle"`. Not for `fill`. |
//! | `from` | Queue that a departure must come from. |
//! | `marks` | Number of packets that this step marks, on arrival or departure: a number, or the smallest and the largest. |
//! | `evicts` | The queues that lost a stored packet in this step, in order, one entry per packet (over all repetitions). Default: nothing is evicted; in a `fill`, not checked. |
//! | `lengths`, `occupancy` | Length of every queue, and occupancy of the buffer, after the step (bytes). |
//! | `each` | Length of every queue that is named in `fill` (bytes). |
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

pub use file::{BufferSpec, Case, Probes, Step, VectorEvent, VectorFile};
pub use read::{Head, LoadError, Mismatch, VectorCase};
pub use run::Elementary;

#[cfg(doc)]
use crate::Device;
