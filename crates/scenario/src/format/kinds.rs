//! Kinds of values that several tables of the format share.

use super::Kind;
use bufferlab_core::schedule::MAX_QUEUES_PER_PORT;

pub(super) const TEXT: Kind = Kind::Text;
pub(super) const SPAN: Kind = Kind::Time { zero: false };
pub(super) const SPAN_OR_ZERO: Kind = Kind::Time { zero: true };
pub(super) const SIZE: Kind = Kind::Size { min: 1, max: u64::MAX };
pub(super) const SIZE_OR_ZERO: Kind = Kind::Size { min: 0, max: u64::MAX };
/// Largest number of packet events that one run explains.
pub(crate) const EXPLAINED_MAX: u64 = 1_000;
/// Size of the largest frame (bytes): the engine counts the bytes of a frame with 16 bits.
pub(crate) const FRAME_MAX: u64 = u16::MAX as u64;
pub(super) const FRAME: Kind = Kind::Size { min: 1, max: FRAME_MAX };
pub(super) const FRAME_OR_ZERO: Kind = Kind::Size { min: 0, max: FRAME_MAX - 1 };
/// Range of ACK sizes, which leaves room for options and for a notification.
pub(super) const ACK: Kind = Kind::Size { min: 1, max: FRAME_MAX - 100 };
pub(super) const SMALL_SIZE: Kind = Kind::Size { min: 1, max: u32::MAX as u64 };
pub(super) const SMALL_SIZE_OR_ZERO: Kind = Kind::Size { min: 0, max: u32::MAX as u64 };
pub(super) const PRIORITY: Kind = Kind::Count { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };
pub(super) const PRIORITIES: Kind = Kind::Counts { min: 0, max: MAX_QUEUES_PER_PORT as u64 - 1 };

pub(super) const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}
