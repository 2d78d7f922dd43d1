//! Columns of a record's rows, and functions that write and read a row.

use super::{Fate, Recorded};
use crate::driver::Incoming;
use bufferlab_core::{DropReason, Ecn, Header, PacketEvent, Refusal};
use bufferlab_units::Time;
use std::io::{self, Write};

/// Columns of a record, in the order of the file.
pub(super) const COLUMNS: [&str; 12] = [
    "time_ps",
    "src",
    "dst",
    "size_bytes",
    "priority",
    "flow",
    "ecn",
    "queue",
    "fate",
    "reason",
    "marked",
    "at_ps",
];

/// Writes a row of the record for a switch whose ports have the names `ports`.
///
/// # Errors
/// If `line` cannot be written.
pub(super) fn write(line: &mut Vec<u8>, row: &Recorded, names: &[String]) -> io::Result<()> {
    let Incoming { at, header, ingress, egress } = row.incoming;
    let Header { size, flow, priority, .. } = header;
    let (src, dst) = (&names[usize::from(ingress)], &names[usize::from(egress)]);
    let ecn = match header.ecn {
        Ecn::NotCapable => "no",
        Ecn::Capable => "capable",
        Ecn::Marked => "marked",
    };
    write!(line, "{},{src},{dst},{size},{priority},{flow},{ecn},{},", at.0, row.queue)?;
    match row.fate {
        Fate::Sent { at, marked } => writeln!(line, "sent,,{},{}", u8::from(marked), at.0),
        Fate::Refused(Refusal { outcome, reason }) => {
            writeln!(line, "{},{},0,", outcome.name(), reason.name())
        }
        Fate::Evicted { at, reason } => {
            writeln!(line, "{},{},0,{}", PacketEvent::Evicted.name(), reason.name(), at.0)
        }
    }
}

/// Reads a row of the record for a switch whose ports have the names `ports`.
///
/// # Errors
/// The number of the wrong column, and the content that the reader expected.
pub(super) fn parse(record: &csv::StringRecord, names: &[String]) -> Result<Recorded, (usize, &'static str)> {
    fn number<T: std::str::FromStr>(
        record: &csv::StringRecord,
        column: usize,
    ) -> Result<T, (usize, &'static str)> {
        record[column].parse().map_err(|_| (column, "a whole number"))
    }
    let port = |column: usize| {
        let found = names.iter().position(|name| *name == record[column]);
        found.map(|index| index as u16).ok_or((column, "the interface of a port of switch.toml"))
    };
    let incoming = Incoming {
        at: Time(number(record, 0)?),
        header: Header {
            size: number(record, 3)?,
            priority: number(record, 4)?,
            flow: number(record, 5)?,
            ecn: match &record[6] {
                "no" => Ecn::NotCapable,
                "capable" => Ecn::Capable,
                "marked" => Ecn::Marked,
                _ => return Err((6, "no, capable or marked")),
            },
            ..Header::default()
        },
        ingress: port(1)?,
        egress: port(2)?,
    };
    let reason = || {
        let known = DropReason::ALL.iter().find(|reason| reason.name() == &record[9]);
        known.copied().ok_or((9, "the reason of a loss"))
    };
    let fate = match &record[8] {
        "sent" => Fate::Sent { at: Time(number(record, 11)?), marked: number::<u8>(record, 10)? == 1 },
        word => match PacketEvent::find(word) {
            Some(outcome) if outcome.is_refusal() => Fate::Refused(Refusal { outcome, reason: reason()? }),
            Some(PacketEvent::Evicted) => Fate::Evicted { at: Time(number(record, 11)?), reason: reason()? },
            _ => return Err((8, "sent, dropped or evicted")),
        },
    };
    Ok(Recorded { incoming, queue: number(record, 7)?, fate })
}
