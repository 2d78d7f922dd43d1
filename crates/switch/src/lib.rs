//! A switch for real packets: the third driver of `bufferlab-core`, beside the simulator and the vectors.
//!
//! ```text
//!   interfaces ──► sockets ──► frame ──► addresses ──► delay line ──► Driver ──► sockets ──► interfaces
//!                  kernel's    headers    which port    base RTT      core and
//!                  time stamp                                         virtual clocks of the ports
//! ```
//!
//! [`Driver`] is what decides: arrivals with their times go in, verdicts, marks and departures come out. It knows no
//! clock and no socket, so it gives the same answers in a test, in a replay and behind interfaces. Everything around it
//! is a thin shell: [`frame`] reads headers, [`AddressTable`] learns who is where, [`Pipeline`] joins them, and
//! [`run`] moves frames between sockets and the pipeline.
//!
//! **Time.** An arrival happens when the kernel received the frame, plus the delay line, and a departure when the port's
//! virtual clock says so: the end of the transmission before it, or its own arrival, whichever is later. Arrivals and
//! departures are merged by these times before the core is asked. A process that comes late sends frames late, but it
//! decides as if it had come in time.

mod addresses;
mod config;
mod driver;
mod format;
pub mod frame;
#[cfg(target_os = "linux")]
mod metrics;
mod pipeline;
mod record;
#[cfg(target_os = "linux")]
mod shell;
mod tallies;

pub use addresses::{AddressTable, Forward, MacAddress};
pub use config::{Forwarding, PortSpec, SwitchFile, load, load_text};
pub use driver::{Departing, Driver, Incoming, Wire, core_of};
pub use format::ROOT;
pub use pipeline::{Due, Pipeline};
pub use record::{Fate, RECORD_FILE, RecordError, RecordWriter, Recorded, SWITCH_FILE, read_record};
#[cfg(target_os = "linux")]
pub use shell::{Lateness, RunOptions, ShellError, Stopping, Summary, run};
pub use tallies::{Discard, Tallies};
