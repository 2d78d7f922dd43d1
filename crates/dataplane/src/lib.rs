//! A switch for real packets. It is the third driver of `bufferlab-core`; the other drivers are the
//! simulator and the test vectors.
//!
//! ```text
//!   interfaces ─► sockets ─► frame ─► addresses ─► delay line ─► Driver ─► sockets ─► interfaces
//!                 kernel's   headers  which port   base RTT      core and
//!                 time stamp                                     virtual clocks of the ports
//! ```
//!
//! [`Driver`] decides about packets. Its inputs are arrivals with their times; its outputs are
//! verdicts, marks and departures. The driver has no clock and no sockets, so its decisions are
//! equal in a test, in a replay and behind interfaces. The other modules are small: [`frame`] reads
//! headers, [`AddressTable`] learns addresses, [`Pipeline`] connects the modules, and
//! [`Opened::run`] moves frames between sockets and the pipeline.
//!
//! **Time.** An arrival is the time at which the kernel received the frame, plus the delay line. A
//! departure follows from the port's virtual clock. A transmission starts at the end of the
//! previous transmission or at the packet's arrival, whichever is later. Arrivals and departures
//! are merged by these times before the core decides. A delayed process sends frames late, but its
//! decisions do not change.

mod addresses;
#[cfg(target_os = "linux")]
mod awake;
mod capture;
mod config;
mod driver;
#[cfg(target_os = "linux")]
mod error;
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
pub use driver::{Core, Departing, Driver, Incoming, PacketEvents, core_of};
#[cfg(target_os = "linux")]
pub use error::ShellError;
pub use format::ROOT;
pub use lateness::{Durations, INCONCLUSIVE_LATENESS_NS};
pub use peaks::Peaks;
pub use pipeline::{Due, Pipeline};
pub use record::{
    Fate, MissingEnd, PROGRESS_FILE, RECORD_FILE, Record, RecordError, RecordWriter, Recorded, SWITCH_FILE,
    read_record,
};
#[cfg(target_os = "linux")]
pub use shell::{Opened, RunOptions, Stopping, Summary, open};
pub use snapshot::{PortSnapshot, QueueSnapshot, Snapshot, Watch};
pub use tallies::{Discard, LinkState, Tallies};
