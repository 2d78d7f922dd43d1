//! The tables of flow control: pauses by port, every pause, circles of pauses, storms.

use crate::cells::{CellReader, CellWriter};
use crate::records::{cell, optional};
use crate::table::ColumnKind::{Switch, Text, U8, U16, U64, Word};
use crate::table::{Column, Record, Table};
use bufferlab_metrics::{PauseCycleRow, PauseRow, PauseSpanRow, WatchdogRow};
use std::io;

/// Between the members of a circle. No scenario's node has it in its name by accident.
const ARROW: &str = " → ";

impl Record for PauseRow {
    const TABLE: Table = Table::Pauses;
    const COLUMNS: &'static [Column] = &[
        cell("switch", Switch, "Switch"),
        cell("port", U16, "Port"),
        cell("priority", U8, "Priority"),
        cell("sent_pauses", U64, "Pause frames sent to the neighbour, repetitions included"),
        cell("sent_resumes", U64, "Resume frames sent to the neighbour"),
        cell("demanded_ns", U64, "How long the policy wanted the neighbour to be silent"),
        cell("received_pauses", U64, "Pause frames of the neighbour that took effect, repetitions included"),
        cell("received_resumes", U64, "Resume frames of the neighbour that took effect"),
        cell("paused_ns", U64, "How long this port was paused"),
        cell("neighbour_paused_ns", U64, "How long the neighbour's port towards this one was paused"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.name(self.switch)?;
        to.u16(self.port);
        to.u8(self.priority);
        to.u64(self.sent_pauses);
        to.u64(self.sent_resumes);
        to.u64(self.demanded_ns);
        to.u64(self.received_pauses);
        to.u64(self.received_resumes);
        to.u64(self.paused_ns);
        to.u64(self.neighbour_paused_ns);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            switch: from.name()?,
            port: from.u16()?,
            priority: from.u8()?,
            sent_pauses: from.u64()?,
            sent_resumes: from.u64()?,
            demanded_ns: from.u64()?,
            received_pauses: from.u64()?,
            received_resumes: from.u64()?,
            paused_ns: from.u64()?,
            neighbour_paused_ns: from.u64()?,
        })
    }
}

impl Record for PauseSpanRow {
    const TABLE: Table = Table::PauseSpans;
    const COLUMNS: &'static [Column] = &[
        cell("by", Text, "Node that wants silence"),
        cell("paused", Text, "Node that is paused on its link to it"),
        cell("parallel", U16, "Number among parallel links of the same two ends"),
        cell("priority", U8, "Priority"),
        cell("start_ns", U64, "When the sender obeyed"),
        optional("end_ns", U64, "When it was free again; empty if it was still paused when the run ended"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.text(&self.by);
        to.text(&self.paused);
        to.u16(self.parallel);
        to.u8(self.priority);
        to.u64(self.start_ns);
        to.optional_u64(self.end_ns);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            by: from.text()?,
            paused: from.text()?,
            parallel: from.u16()?,
            priority: from.u8()?,
            start_ns: from.u64()?,
            end_ns: from.optional_u64()?,
        })
    }
}

impl Record for PauseCycleRow {
    const TABLE: Table = Table::PauseCycles;
    const COLUMNS: &'static [Column] = &[
        cell("time_ns", U64, "When the circle closed for the first time"),
        cell("priority", U8, "Priority"),
        cell(
            "members",
            Text,
            "Its switches in the direction of the traffic; each is paused by the next, the last by the first",
        ),
        cell("times", U64, "How often it closed"),
        cell("last_ns", U64, "When it closed for the last time"),
        cell("total_ns", U64, "How long it was closed altogether"),
        optional(
            "ended_ns",
            U64,
            "When it opened for the last time; empty if it was closed when the run ended",
        ),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.u64(self.time_ns);
        to.u8(self.priority);
        to.text(&self.members.join(ARROW));
        to.u64(self.times);
        to.u64(self.last_ns);
        to.u64(self.total_ns);
        to.optional_u64(self.ended_ns);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            time_ns: from.u64()?,
            priority: from.u8()?,
            members: from.text()?.split(ARROW).map(str::to_owned).collect(),
            times: from.u64()?,
            last_ns: from.u64()?,
            total_ns: from.u64()?,
            ended_ns: from.optional_u64()?,
        })
    }
}

impl Record for WatchdogRow {
    const TABLE: Table = Table::Watchdog;
    const COLUMNS: &'static [Column] = &[
        cell("switch", Switch, "Switch"),
        cell("port", U16, "Port of the stormed queue"),
        cell("priority", U8, "Its priority"),
        cell("rule", Word, "Rule that noticed the storm: mellanox or broadcom"),
        cell("action", Word, "What was done: drop, forward or alert"),
        cell("detected_ns", U64, "When the storm was noticed"),
        optional("restored_ns", U64, "When the queue was restored; empty if it was not before the run ended"),
        cell("flushed_packets", U64, "Packets flushed out of the queue when the storm was noticed"),
        cell("discarded_packets", U64, "Packets discarded on arrival, for the queue or from its port"),
        cell("lost_bytes", U64, "Bytes of both"),
        cell("sent_packets", U64, "Packets that the queue sent during the storm"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.name(self.switch)?;
        to.u16(self.port);
        to.u8(self.priority);
        to.word(self.rule);
        to.word(self.action);
        to.u64(self.detected_ns);
        to.optional_u64(self.restored_ns);
        to.u64(self.flushed_packets);
        to.u64(self.discarded_packets);
        to.u64(self.lost_bytes);
        to.u64(self.sent_packets);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            switch: from.name()?,
            port: from.u16()?,
            priority: from.u8()?,
            rule: from.word()?,
            action: from.word()?,
            detected_ns: from.u64()?,
            restored_ns: from.optional_u64()?,
            flushed_packets: from.u64()?,
            discarded_packets: from.u64()?,
            lost_bytes: from.u64()?,
            sent_packets: from.u64()?,
        })
    }
}
