//! A switch for real packets: the third driver of `bufferlab-core`, beside the simulator and the
//! vectors.
//!
//! ```text
//!   interfaces ──► sockets ──► frame ──► addresses ──► delay line ──► Driver ──► sockets ──► interfaces
//!                  kernel's    headers    which port    base RTT      core and
//!                  time stamp                                         virtual clocks of the ports
//! ```
//!
//! [`Driver`] is what decides: arrivals with their times go in, verdicts, marks and departures come
//! out. It knows no clock and no socket, so it gives the same answers in a test, in a replay and
//! behind interfaces. Everything around it is a thin shell: [`frame`] reads headers,
//! [`AddressTable`] learns who is where, [`Pipeline`] joins them, and [`Opened::run`] moves frames
//! between sockets and the pipeline.
//!
//! **Time.** An arrival happens when the kernel received the frame, plus the delay line, and a
//! departure when the port's virtual clock says so: the end of the transmission before it, or its
//! own arrival, whichever is later. Arrivals and departures are merged by these times before the
//! core is asked. A process that comes late sends frames late, but it decides as if it had come in
//! time.

mod addresses;
#[cfg(target_os = "linux")]
mod awake;
mod capture;
mod config;
mod driver;
mod format;
pub mod frame;
mod lateness;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod metrics;
mod peaks;
mod pipeline;
mod record;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod shell;
mod snapshot;
#[cfg(target_os = "linux")]
mod socket;
mod tallies;

pub use addresses::{AddressTable, Forward, MacAddress};
#[cfg(target_os = "linux")]
pub use awake::take_usual_priority;
pub use capture::{CaptureReport, CaptureWriter, SNAPSHOT_BYTES};
pub use config::{Forwarding, PortSpec, SwitchFile, load, load_text};
pub use driver::{Core, Departing, Driver, Incoming, Wire, core_of};
pub use format::ROOT;
pub use lateness::{Durations, INCONCLUSIVE_LATENESS_NS};
pub use peaks::Peaks;
pub use pipeline::{Due, Pipeline};
pub use record::{
    Fate, MissingEnd, PROGRESS_FILE, RECORD_FILE, Record, RecordError, RecordWriter, Recorded, SWITCH_FILE,
    read_record,
};
#[cfg(target_os = "linux")]
pub use shell::{Opened, RunOptions, ShellError, Stopping, Summary, open};
pub use snapshot::{PortSnapshot, QueueSnapshot, Snapshot, Watch};
pub use tallies::{Discard, LinkState, Tallies};
