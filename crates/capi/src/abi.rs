//! Types and codes of the C header. `tests/suite/header.rs` compares them with `bufferlab.h`.

use bufferlab_core::{DropReason, PacketEvent};
use std::ffi::{c_char, c_void};

/// Version of the C interface.
pub const ABI: u32 = 1;

/// Result code of a C function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// The call succeeded.
    Ok = 0,
    /// The requested packet, timer or threshold does not exist.
    None = 1,
    /// An argument of a function is null or out of range.
    Invalid = -1,
    /// The configuration is wrong.
    Refused = -2,
    /// The policy failed, or the ledger is wrong.
    Failed = -3,
    /// The library panicked.
    Panic = -4,
}

/// Names of events, by code. Codes never change; new events are appended.
pub const EVENTS: &[&str] =
    &["admitted", "dropped", "evicted", "marked", "departed", "paused", "resumed", "trimmed"];

/// Names of reasons, by code and as C strings. Codes never change; new reasons are appended.
pub const REASONS: &[&std::ffi::CStr] = &[
    c"buffer-full",
    c"over-threshold",
    c"over-port-limit",
    c"over-ingress-limit",
    c"headroom-full",
    c"early",
    c"predicted",
    c"pushed-out",
    c"expelled",
    c"link-down",
    c"policy-fault",
    c"pfc-watchdog",
];

/// Code of a packet that was not refused.
pub const NO_REASON: u8 = 255;
/// Code of an event or a reason to which this version of the C interface gives no name.
pub const OTHER: (u8, u8) = (255, 254);

/// Code of an event.
#[must_use]
pub fn event_code(event: PacketEvent) -> u8 {
    EVENTS.iter().position(|name| *name == event.name()).map_or(OTHER.0, |code| code as u8)
}

/// Code of a reason.
#[must_use]
pub fn reason_code(reason: DropReason) -> u8 {
    let is_it = |name: &&std::ffi::CStr| name.to_bytes() == reason.name().as_bytes();
    REASONS.iter().position(is_it).map_or(OTHER.1, |code| code as u8)
}

/// `bufferlab_config`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    /// Shared buffer (bytes).
    pub capacity: u64,
    /// Rate of each port (bits per second).
    pub port_rates: *const u64,
    /// Number of ports.
    pub ports: u32,
    /// Queues of each port.
    pub queues_per_port: u32,
    /// Largest packet (bytes); 0: 9,216.
    pub max_packet: u32,
    /// Bit p: priority p is lossless.
    pub lossless_priorities: u32,
    /// Seed of random streams.
    pub seed: u64,
}

/// `bufferlab_param`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Param {
    /// Name of the parameter.
    pub name: *const c_char,
    /// Value as in a scenario file.
    pub value: *const c_char,
}

/// `bufferlab_packet`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Packet {
    /// Packet number, chosen by the caller.
    pub id: u32,
    /// Size (bytes).
    pub size: u32,
    /// Flow of the packet.
    pub flow: u32,
    /// Ingress port.
    pub ingress_port: u16,
    /// Egress port.
    pub egress_port: u16,
    /// Flags of [`bufferlab_core::Tags`].
    pub tags: u16,
    /// Priority.
    pub priority: u8,
    /// ECN state of the packet: 0, 1 or 2.
    pub ecn: u8,
}

/// `bufferlab_verdict`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Verdict {
    /// Outcome: [`event_code`].
    pub event: u8,
    /// Reason of a refusal: [`reason_code`].
    pub reason: u8,
    /// 1 if the switch marked the packet.
    pub marked: u8,
    /// Queue of the egress port.
    pub queue: u8,
}

/// `bufferlab_departure`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Departure {
    /// Packet number.
    pub packet: u32,
    /// Bytes released.
    pub size: u32,
    /// Queue of the port.
    pub queue: u8,
    /// 1 if the packet is marked.
    pub marked: u8,
    /// 1 if the port has another packet to send.
    pub more: u8,
    /// Zero.
    pub reserved: u8,
}

/// `bufferlab_event`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// Time of the event.
    pub now: u64,
    /// Packet number.
    pub packet: u32,
    /// Bytes released.
    pub size: u32,
    /// Egress port of the event's packet, or ingress port of a pause.
    pub port: u16,
    /// Number of the queue or priority.
    pub queue: u8,
    /// Kind of the event: [`event_code`].
    pub event: u8,
    /// Reason of a removal: [`reason_code`].
    pub reason: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

/// `bufferlab_callback`.
pub type Callback = unsafe extern "C" fn(user: *mut c_void, event: *const Event);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_and_reason_of_the_core_has_a_code_of_its_own() {
        for event in PacketEvent::ALL {
            assert_eq!(EVENTS.get(usize::from(event_code(*event))), Some(&event.name()));
        }
        for reason in DropReason::ALL {
            let name = REASONS.get(usize::from(reason_code(*reason))).expect("an unknown reason");
            assert_eq!(name.to_bytes(), reason.name().as_bytes());
        }
    }
}
