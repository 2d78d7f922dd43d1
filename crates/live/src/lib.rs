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

pub use board::{Board, Key, PortTitle, Quit, Title};
pub use draw::{SMALLEST, draw};
pub use numbers::{bytes, span};
pub use screen::{NoTerminal, check_terminal, show};
