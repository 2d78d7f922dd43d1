//! Reads the keys that choose the queues for a transport's packets.

use super::scheduler::queue_numbers;
use crate::context::Complaint;
use crate::convert;
use crate::quantity::format_size;
use crate::reader::Reader;
use crate::resolved::{list, quote};

/// Queues that the packets of a transport use at switches.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    /// Queues for data packets; each flow draws one of these queues at random.
    pub(crate) data: Vec<u8>,
    /// Ascending numbers of sent bytes. After each number, the data of a flow moves to the next
    /// queue.
    pub(crate) thresholds_bytes: Vec<u64>,
    pub(crate) control: u8,
}

/// Reads the keys of priorities. `queues_per_port` is the smallest number of any switch, if known.
pub(crate) fn read(reader: &mut Reader<'_>, queues_per_port: Option<u8>) -> Option<Priorities> {
    let one: Option<u8> = reader.small_count("data_priority");
    let several = reader.small_counts("data_priorities");
    let control = reader.small_count("control_priority");
    let thresholds_bytes = thresholds(reader);
    if reader.has("data_priority") && reader.has("data_priorities") {
        let complaint =
            Complaint::new("`data_priority` and `data_priorities` exclude each other", "the second one");
        reader.error(
            "data_priorities",
            complaint.help("remove one of them: a flow uses one queue, or draws one"),
        );
    }
    let data = match several {
        Some(several) if several.is_empty() => {
            let complaint = Complaint::new("the list is empty", "expected at least one queue");
            reader.error("data_priorities", complaint.help("for example data_priorities = [1, 2, 3]"));
            return None;
        }
        Some(several) => {
            reader.out.remove("data_priority");
            several
        }
        None => {
            let one = one.unwrap_or_else(|| u8::from(queues_per_port.is_some_and(|queues| queues > 1)));
            reader.out.set("data_priority", one.to_string());
            vec![one]
        }
    };
    let key = if reader.has("data_priorities") { "data_priorities" } else { "data_priority" };
    let largest = data.iter().copied().max();
    check(reader, queues_per_port, key, largest.map(u64::from));
    check(reader, queues_per_port, "control_priority", control.map(u64::from));
    let thresholds_bytes = thresholds_bytes?;
    if !thresholds_bytes.is_empty() {
        let last = u64::from(largest.unwrap_or(0)) + thresholds_bytes.len() as u64;
        check(reader, queues_per_port, "pias_thresholds", Some(last));
    }
    Some(Priorities { data, thresholds_bytes, control: control? })
}

/// Reads the key `pias_thresholds`; the list is empty if the file lacks the key.
fn thresholds(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    let thresholds = reader.read("pias_thresholds", |item, wanted| {
        let sizes = convert::elements(item, wanted)?.iter();
        let sizes: Vec<u64> =
            sizes.map(|size| convert::size(size, wanted, 1, u64::MAX)).collect::<Result<_, _>>()?;
        if !sizes.is_sorted_by(|a, b| a < b) {
            let complaint =
                Complaint::new("thresholds must ascend", "a later one is not above an earlier one");
            return Err(complaint.help("a flow passes them in this order"));
        }
        let text = list(sizes.iter().map(|&size| quote(&format_size(size))));
        Ok((sizes, text))
    });
    match thresholds {
        None if reader.has("pias_thresholds") => None,
        written => Some(written.unwrap_or_default()),
    }
}

fn check(reader: &Reader<'_>, queues_per_port: Option<u8>, key: &str, largest: Option<u64>) {
    let (Some(queues), Some(priority)) = (queues_per_port, largest) else { return };
    if priority >= u64::from(queues) {
        let complaint = Complaint::new(format!("no port has a queue {priority}"), queue_numbers(queues));
        let help = match key {
            "pias_thresholds" => format!(
                "every threshold needs a queue below the flow's; the smallest queues_per_port is {queues}"
            ),
            _ => {
                format!("the smallest queues_per_port of any switch is {queues}; queues are numbered from 0")
            }
        };
        reader.error(key, complaint.help(help));
    }
}
