//! View of the switch of real packets in a terminal: occupancy of its queues, losses, and lateness.
//!
//! Ten times a second the switch publishes a snapshot of its counters
//! ([`bufferlab_dataplane::Watch`]). The switch never waits for a reader. The view has a separate
//! thread with normal priority. [`board::Board`] stores the data for rates and histories,
//! [`draw::draw`] draws the data on the screen, and [`show`] controls the terminal.

mod board;
mod draw;
mod numbers;
mod screen;
#[cfg(test)]
mod tests;

pub(crate) use board::{PortTitle, Quit, Title};
pub(crate) use numbers::{bytes, span};
pub(crate) use screen::{check_terminal, show};
