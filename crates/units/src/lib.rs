//! Time, sizes and rates: the three quantities used by every other crate. Also named random
//! streams, the basis of deterministic runs, and the bytes that a cable still delivers after a
//! pause ([`headroom`]).
//!
//! * [`Time`] is an instant or a span, an integer number of **picoseconds**;
//! * sizes are bytes in `u64` (plain: a byte count needs no conversion, so it needs no type);
//! * [`BitRate`] is **bits per second**.
//!
//! Serialization times are exact at 10, 25, 40, 100, 400 and 800 Gb/s (a byte takes a whole number
//! of picoseconds there) and rounded *up* to the next picosecond elsewhere, so that a link never
//! carries more than its rate.

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
