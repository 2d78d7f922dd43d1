//! Reference decisions for circuits: operations of a switch, recorded
//! with the answers of the policy.
//!
//! A [`Scheme`] names the policy that a circuit of `rtl/src` implements. [`Recorded`] wraps that
//! policy and writes a line for every operation: the circuit's inputs, then the policy's state and
//! answer. [`Recorded`] is itself a registered policy. So one code path records golden vectors,
//! random scripts and simulated runs ([`source`]). No second model exists: every expected value is
//! an answer of the policy or a view of the ledger.
//!
//! A sheet is a text file. Every line has hexadecimal numbers separated by blanks.
//! The first number is the kind of line:
//!
//! | line | numbers |
//! |---|---|
//! | 0, a new switch | ports, queues per port, capacity, then the configuration of the scheme ([`Scheme::configuration`]) |
//! | 1, an arrival | port, priority, size, tags; bytes of queue, port and pool before it; threshold of the queue ([`NO_LIMIT`] if none); answer: 0 stored, 1 buffer full, 2 over a limit, 3 stored after another packet was evicted; then fields of the scheme: `abm` the threshold by the nearest power of two, `losspass` the tail of the large queue (whether it exists, its size, whether it is small), then the probes of [`Scheme`] |
//! | 2, a departure | port, priority, size, 0; bytes of queue, port and pool after it; then fields of the scheme |
//! | 3, a control event | `abm`: port, priority, gamma and n (Q32.32) of a queue from now on; `plasticine-pisa`: a pass of the SYNC packets |

mod recorder;
mod scheme;
mod sheet;
pub mod source;

pub use recorder::Recorded;
pub use scheme::{NO_LIMIT, Scheme, Unfit};
pub use sheet::{SharedSheet, Sheet, Tally};
