//! The switch of real packets in a terminal: what its queues hold now, what they lose, and how late
//! it is.
//!
//! The switch leaves a snapshot of its counters ten times a second ([`bufferlab_switch::Watch`])
//! and never waits for a reader. Everything here runs on a thread of its own with the usual
//! priority: [`Board`] remembers what it needs for rates and histories, [`draw()`] puts it on the
//! screen, [`show`] owns the terminal.

mod board;
mod draw;
mod numbers;
mod screen;
#[cfg(test)]
mod tests;

pub(crate) use board::{PortTitle, Quit, Title};
pub(crate) use numbers::{bytes, span};
pub(crate) use screen::{check_terminal, show};
