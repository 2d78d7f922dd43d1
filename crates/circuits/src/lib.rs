//! What must a circuit decide? Operations of a switch with the answers of the policy itself,
//! written while it works.
//!
//! A [`Scheme`] names the policy that a circuit of `hardware/rtl` implements. [`Recorded`] puts
//! that policy into a wrapper which writes a line for every operation: what the circuit is told,
//! then what the policy saw and answered. The wrapper is a registered policy like any other, so the
//! same code records golden vectors, random scripts and simulated runs ([`source`]). There is no
//! second model: every expected value is an answer of the policy or a view of the ledger.
//!
//! A sheet is text. Every line has numbers in hexadecimal, separated by blanks; the first says what
//! it is:
//!
//! | line | numbers |
//! |---|---|
//! | 0, a new switch | ports, queues per port, capacity, then what the scheme is configured with ([`Scheme::configuration`]) |
//! | 1, an arrival | port, priority, size, tags; bytes of queue, port and pool before it; threshold of the queue ([`NO_LIMIT`] if none); answer: 0 stored, 1 buffer full, 2 over a limit, 3 stored in the place of another packet; then what the scheme adds: `abm` the threshold by the nearest power of two, `losspass` the tail of the large queue (whether there is one, its size, whether it is small), then the probes of [`Scheme`] |
//! | 2, a departure | port, priority, size, 0; bytes of queue, port and pool after it; then what the scheme adds |
//! | 3, a control event | `abm`: port, priority, gamma and n (Q32.32) of a queue from now on; `plasticine-pisa`: a pass of the SYNC packets |

mod recorder;
mod scheme;
mod sheet;
pub mod source;

pub use recorder::Recorded;
pub use scheme::{NO_LIMIT, Scheme, Unfit};
pub use sheet::{SharedSheet, Sheet, Tally};
