//! Times, sizes and rates, the three quantities that every other crate uses.
//! The crate also has named random streams for deterministic runs, and the bytes
//! that a cable still delivers after a pause ([`headroom`]).
//!
//! * [`Time`] is an instant or a span, an integer number of **picoseconds**;
//! * sizes are bytes in `u64`: a number of bytes needs no conversion, so sizes need no type;
//! * [`BitRate`] is a rate in **bits per second**.
//!
//! Serialization times are exact at 10, 25, 40, 100, 400 and 800 Gb/s, because a byte takes a whole
//! number of picoseconds at these rates. At other rates, serialization times are rounded *up* to
//! the next picosecond, so that a link never carries more than its rate.

pub mod headroom;
mod printable;
pub mod quantity;
mod random;
mod rate;
mod time;

pub use printable::{is_hidden, printable};
pub use random::{RandomStream, mix};
pub use rate::{BitRate, Serializer};
pub use time::Time;
