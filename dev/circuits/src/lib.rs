//! Reference decisions for circuits: the operations of a simulated switch, recorded with the
//! answers of the switch's policy.
//!
//! A [`Scheme`] names the policy that a circuit of `rtl/src` implements. [`Recorded`] wraps the
//! policy and writes a line for every operation: the circuit's inputs, then the policy's state and
//! answer. [`Recorded`] is itself a registered policy. So one code path records golden vectors,
//! random scripts and simulated runs ([`source`]). There is no second model of a policy: every
//! expected value is a decision of the policy, or a counter of the switch.
//!
//! A sheet is a text file of recorded operations. Every line has hexadecimal numbers separated by
//! blanks. The first number is the kind of operation:
//!
//! | line | numbers |
//! |---|---|
//! | 0, a new switch | ports, queues per port, capacity, then the configuration of the circuit ([`Scheme::configuration`]) |
//! | 1, an arrival | port, priority, size, tags; bytes of queue, port and pool before the arrival; threshold of the queue ([`NO_LIMIT`] if none); number of the decision; then fields of the scheme |
//! | 2, a departure | port, priority, size, 0; bytes of queue, port and pool after the departure; then fields of the scheme |
//! | 3, a control event | `abm`: port, priority, gamma and n (Q32.32) of a queue from now on; `plasticine-pisa`: a pass of the SYNC packets |
//!
//! The number of the policy's decision is 0 if the packet was stored and 1 if the buffer was full.
//! The number is 2 if the packet exceeded a limit, and 3 if the packet was stored after another
//! packet was evicted.
//!
//! The first field of `abm` is the threshold with the factor rounded to a power of two. The first
//! fields of `losspass` describe the tail packet of the queue for large flows: whether the packet
//! exists, its size, and whether the packet is of a small flow. The other fields of a scheme are
//! internal values of the policy ([`Scheme`]).

mod recorder;
mod scheme;
mod sheet;
pub mod source;

pub use recorder::Recorded;
pub use scheme::{NO_LIMIT, Scheme, Unfit};
pub use sheet::{SharedSheet, Sheet, Tally};
