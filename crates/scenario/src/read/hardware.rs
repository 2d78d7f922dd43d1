//! Reads `[switch.hardware]`: deviations of a chip from the papers' ideal switch.

use crate::context::{Complaint, Context};
use crate::format::HardwareKeys;
use crate::model::{HardwareSpec, SliceBy};
use crate::quantity::format_size;
use crate::reader::Reader;
use crate::tree::Origin;
use bufferlab_core::{Accounting, Hardware, PortSpread, QueueMinimums, Reserves, ResumeBelow};
use bufferlab_params::{ChipFacts, ChipFamily};

/// Hardware options of a switch, and their places in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HardwareChoice {
    pub(crate) spec: HardwareSpec,
    /// Place in the file for messages about each key.
    places: [(&'static str, Origin); 6],
}

/// Properties of the switch that the hardware options must fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chip<'a> {
    pub(crate) name: &'a str,
    pub(crate) buffer_bytes: u64,
    pub(crate) ports: usize,
    pub(crate) queues_per_port: usize,
    /// Size of the largest packet of the switch (bytes).
    pub(crate) packet: u64,
}

/// Reads the table `hardware` of a switch; without this table the switch is ideal.
pub(crate) fn read(switch: &mut Reader<'_>) -> Option<HardwareChoice> {
    switch.spec_of("hardware");
    let keys = ["slices", "slice_by", "queue_reserve", "port_limit", "uncharged_priorities", "device_queue"];
    if !switch.has("hardware") {
        let places = keys.map(|key| (key, switch.place("hardware")));
        return Some(HardwareChoice { spec: HardwareSpec::default(), places });
    }
    let mut reader = switch.table("hardware")?;
    let mut table = HardwareKeys::read(&mut reader);
    let family = table.family.map(ChipFamily::facts);
    let cell_bytes = reader.small_size_or("cell", family.map_or(1, |facts| facts.cell_bytes));
    let packet_overhead =
        reader.small_size_or("packet_overhead", family.map_or(0, |facts| facts.packet_overhead));
    let (slices, accounting) = accounting(&mut reader, family, table.threshold_bits);
    table.slices = Some(slices);
    let written = |key: &'static str| if reader.has(key) { reader.place(key) } else { reader.origin };
    let places = keys.map(|key| (key, written(key)));
    switch.put("hardware", reader.finish());
    let uncharged = table.uncharged_priorities.iter().flatten();
    table.switch = Some(Hardware {
        cell_bytes,
        packet_overhead,
        accounting: accounting?,
        reserves: Reserves { queue: table.queue_reserve?, port: table.port_reserve? },
        port_limit: table.port_limit,
        threshold_refresh: table.threshold_refresh,
        quantised_alpha: table.quantised_alpha?,
        uncharged_priorities: uncharged.fold(0, |mask, priority| mask | 1 << priority),
    });
    Some(HardwareChoice { spec: table.complete()?, places })
}

/// Reads the number of memories by egress port, and the accounting of lossless traffic.
fn accounting(
    reader: &mut Reader<'_>,
    family: Option<ChipFacts>,
    threshold_bits: Option<u8>,
) -> (u16, Option<Accounting>) {
    let slices = reader.count_or("slices", family.map_or(1, |facts| facts.slices.into())) as u16;
    let slice_by = if family.is_some() { SliceBy::Ingress } else { SliceBy::Egress };
    let resume_below = if family.is_some() { ResumeBelow::PausePoint } else { ResumeBelow::Threshold };
    let queue_minimums = match family {
        Some(facts) if facts.queue_minimums_in_every_slice => QueueMinimums::EverySlice,
        _ => QueueMinimums::LossyPool,
    };
    let (by_egress, by_ingress) = match reader.choice_or("slice_by", slice_by) {
        SliceBy::Egress => (slices, 1),
        SliceBy::Ingress => (1, slices),
    };
    let resume_below = reader.choice_or("resume_below", resume_below);
    let queue_minimums = reader.choice_or("queue_minimums", queue_minimums);
    let accounting = threshold_bits.map(|threshold_bits| Accounting {
        slices: by_ingress,
        resume_below,
        queue_minimums,
        threshold_bits,
    });
    (by_egress, accounting)
}

impl HardwareChoice {
    /// Returns the place in the file for messages about `key`.
    pub(crate) fn place(&self, key: &str) -> Origin {
        self.places.iter().find(|(known, _)| *known == key).map_or(Origin::BUILT_IN, |place| place.1)
    }

    /// Rejects a device queue on a switch with lossless packets: a pause does not stop the packets
    /// in a device queue. `path` is the path of the switch's table.
    pub(crate) fn check_device_queue(&self, context: &Context, path: &str) {
        if self.spec.device_queue > 0 {
            let complaint = device_queue_unpaused().help("remove hardware.device_queue, or [switch.pfc]");
            context.error(&format!("{path}.hardware.device_queue"), self.place("device_queue"), complaint);
        }
    }

    /// Whether the hardware options fit `chip`. The context records an error for each unfit option.
    pub(crate) fn check(&self, context: &Context, path: &str, chip: Chip<'_>) -> bool {
        let Chip { name, buffer_bytes, ports, queues_per_port, packet } = chip;
        let HardwareSpec { slices, switch, .. } = &self.spec;
        let complain = |key: &str, message: String, expected: String, help: &str| {
            let complaint = Complaint::new(message, expected).help(help);
            context.error(&format!("{path}.hardware.{key}"), self.place(key), complaint);
            false
        };
        let highest = u32::BITS - switch.uncharged_priorities.leading_zeros();
        if highest as usize > queues_per_port {
            let message = format!("there is no priority {} at \"{name}\"", highest - 1);
            let expected = format!("it has {queues_per_port} queues per port");
            return complain(
                "uncharged_priorities",
                message,
                expected,
                "priorities are queues, numbered from 0",
            );
        }
        if usize::from(*slices) > ports {
            let message = format!("{slices} slices for the {ports} ports of \"{name}\"");
            let help = "every slice serves some of the ports, and only they use its memory";
            return complain("slices", message, format!("expected at most {ports}"), help);
        }
        if let Err(message) = switch.check_accounting(ports, 0) {
            let help = "change hardware.slices, hardware.slice_by or the option that it names";
            return complain("slice_by", message, format!("at \"{name}\""), help);
        }
        let slice_bytes = buffer_bytes / u64::from(*slices);
        let ports_of_slice = PortSpread::new(ports, usize::from(*slices)).ports_of(0).len();
        let charged = u64::from(switch.charged(packet as u32));
        let reserved = switch.reserves.total(ports_of_slice, queues_per_port);
        if slice_bytes < reserved + charged {
            let message = if reserved > 0 {
                format!(
                    "{} of the {} that {ports_of_slice} ports of \"{name}\" share are set aside",
                    format_size(reserved),
                    format_size(slice_bytes)
                )
            } else {
                format!("a slice of \"{name}\" has {}", format_size(slice_bytes))
            };
            let expected = format!("a packet needs {}", format_size(charged));
            let help =
                "lower queue_reserve (each queue), port_reserve (each port) or slices, or enlarge the buffer";
            return complain("queue_reserve", message, expected, help);
        }
        if let Some(limit) = switch.port_limit.filter(|&limit| limit < charged) {
            let message = format!("no packet fits into the limit of a port ({})", format_size(limit));
            return complain(
                "port_limit",
                message,
                format!("a packet needs {}", format_size(charged)),
                "raise it",
            );
        }
        true
    }
}

/// Complaint about a device's queue in a network with lossless priorities.
pub(crate) fn device_queue_unpaused() -> Complaint {
    let message = "a pause does not stop what is in a queue of a device, and headroom does not count with it";
    Complaint::new(message, "packets are lossless in this network")
}
