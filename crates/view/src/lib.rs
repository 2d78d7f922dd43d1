//! The window into the buffer: what one switch held over time, who held it, what was lost, and why.
//!
//! * [`View`]: a run of which one looks at one switch. From the table of packets, where the run
//!   recorded them; otherwise from its samples. It answers windows of time in a few hundred points,
//!   whatever their length ([`View::open`] reads the table once).
//! * [`View::file`]: the page as one file that needs nothing else, with the whole run in points and
//!   full detail around the first losses.
//! * [`Page`]: the same page, and the [playground](Play), over the loopback, at an address with a
//!   token in it.
//! * [`embed`]: the same page as a part of a run's report.
//! * [`trace`]: the same events for Perfetto's viewer and for Wireshark.

mod about;
mod error;
mod explain;
mod file;
mod index;
mod limits;
mod losses;
mod page;
mod part;
mod play;
mod samples;
mod server;
pub mod trace;
mod view;
mod window;

pub use error::ViewError;
pub use limits::LIMITS;
pub use part::embed;
pub use play::Play;
pub use server::Page;
pub use view::View;
