//! Types and codes of the C header. The test `tests/suite/header.rs` compares these types and codes
//! with `bufferlab.h`.

use bufferlab_core::{DropReason, PacketEvent};
use std::ffi::{c_char, c_void};

/// Version of the C interface, which the header names.
pub const ABI: u32 = 1;

/// Result code that a C function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// The call of the C function succeeded.
    Ok = 0,
    /// The switch has no packet, timer or threshold to return.
    None = 1,
    /// An argument of a function is null or out of range.
    Invalid = -1,
    /// The configuration of the switch is wrong.
    Refused = -2,
    /// The policy failed, or the ledger of the switch is wrong.
    Failed = -3,
    /// The library panicked in the call of a C function.
    Panic = -4,
}

/// Names of packet events, indexed by their codes. Codes never change; new events are appended.
pub const EVENTS: &[&str] =
    &["admitted", "dropped", "evicted", "marked", "departed", "paused", "resumed", "trimmed"];

/// Names of drop reasons, by code and as C strings. Codes never change; new reasons are appended.
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

/// Code in place of a drop reason, for a packet that was not refused.
pub const NO_REASON: u8 = 255;
/// Codes of an event and of a drop reason that have no other code in this version of the C
/// interface.
pub const OTHER: (u8, u8) = (255, 254);

/// Code of an event in the C interface.
#[must_use]
pub fn event_code(event: PacketEvent) -> u8 {
    EVENTS.iter().position(|name| *name == event.name()).map_or(OTHER.0, |code| code as u8)
}

/// Code of a drop reason in the C interface.
#[must_use]
pub fn reason_code(reason: DropReason) -> u8 {
    let is_it = |name: &&std::ffi::CStr| name.to_bytes() == reason.name().as_bytes();
    REASONS.iter().position(is_it).map_or(OTHER.1, |code| code as u8)
}

/// Configuration of a switch: `bufferlab_config` in the C header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    /// Size of the shared buffer (bytes).
    pub capacity: u64,
    /// Array with the rate of each port (bits per second).
    pub port_rates: *const u64,
    /// Number of ports of the switch.
    pub ports: u32,
    /// Number of queues at each port.
    pub queues_per_port: u32,
    /// Size of the largest packet (bytes); 0 means 9,216 B.
    pub max_packet: u32,
    /// Bit mask of lossless priorities: bit p is 1 if priority p is lossless.
    pub lossless_priorities: u32,
    /// Seed of the switch's random streams.
    pub seed: u64,
}

/// Parameter of a policy: `bufferlab_param` in the C header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Param {
    /// Name of the policy's parameter.
    pub name: *const c_char,
    /// Value of the parameter, in the syntax of scenario files.
    pub value: *const c_char,
}

/// Arriving packet: `bufferlab_packet` in the C header.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Packet {
    /// Number that the caller chose for the packet.
    pub id: u32,
    /// Size of the packet (bytes).
    pub size: u32,
    /// Number of the flow that the packet belongs to.
    pub flow: u32,
    /// Number of the port at which the packet arrived.
    pub ingress_port: u16,
    /// Number of the port through which the packet leaves.
    pub egress_port: u16,
    /// Tags of the packet: flags of [`bufferlab_core::Tags`].
    pub tags: u16,
    /// Priority of the packet, which selects its queue.
    pub priority: u8,
    /// ECN state of the packet: 0 (not capable), 1 (capable) or 2 (marked).
    pub ecn: u8,
}

/// Verdict on a packet: `bufferlab_verdict` in the C header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Verdict {
    /// Code of the packet's outcome, from [`event_code`].
    pub event: u8,
    /// Code of the reason for a refusal, from [`reason_code`].
    pub reason: u8,
    /// 1 if the switch marked the packet, otherwise 0.
    pub marked: u8,
    /// Number of the packet's queue at the egress port.
    pub queue: u8,
}

/// Departure of a packet: `bufferlab_departure` in the C header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Departure {
    /// Number that the caller chose for the packet.
    pub packet: u32,
    /// Buffer space that the departure releases (bytes).
    pub size: u32,
    /// Number of the packet's queue at the port.
    pub queue: u8,
    /// 1 if the departing packet is marked, otherwise 0.
    pub marked: u8,
    /// 1 if the port has another packet to send.
    pub more: u8,
    /// Reserved field of the departure; always zero.
    pub reserved: u8,
}

/// Event for the callback: `bufferlab_event` in the C header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// Time at which the event happened (ps).
    pub now: u64,
    /// Number that the caller chose for the packet.
    pub packet: u32,
    /// Buffer space that the event releases (bytes).
    pub size: u32,
    /// Egress port of the event's packet, or ingress port of a pause.
    pub port: u16,
    /// Number of the event's queue, or of the paused priority.
    pub queue: u8,
    /// Code of the kind of event, from [`event_code`].
    pub event: u8,
    /// Code of the reason for the removal of a packet, from [`reason_code`].
    pub reason: u8,
    /// Reserved fields of the event; always zero.
    pub reserved: [u8; 3],
}

/// Function that receives events: `bufferlab_callback` in the C header.
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
