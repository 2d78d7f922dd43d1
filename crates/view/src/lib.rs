//! Shows the buffer of one switch: occupancy over time by port, queue or class,
//! lost packets, and the reasons of losses.
//!
//! * [`View`]: one switch of a run. The data come from the packet table if the run recorded
//!   packets, otherwise from the run's samples. [`View::open`] reads the table once.
//!   A view answers requests for windows of any length with a few hundred points.
//! * [`View::file`]: the page as one self-contained file.
//!   The file has the whole run in points, and full detail around the first losses.
//! * [`Page`]: the page, or the [playground](Play), served over the loopback.
//!   The page's address contains a token.
//! * [`embed`]: the page as a part of a run's report.
//! * [`trace`]: the events for Perfetto's viewer and for Wireshark.

mod error;
mod explain;
mod file;
mod index;
mod limits;
mod losses;
mod overview;
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
