//! Each row struct as a record: its columns with their meaning, and its cells in that order.

use crate::cells::{CellReader, CellWriter};
use crate::table::ColumnKind::{Class, F64, Host, Switch, Text, U8, U16, U32, U64, Word};
use crate::table::{Column, ColumnKind, Record, Table};
use bufferlab_metrics::{
    DelayRow, DropRow, FlowRow, FlowState, HistogramRow, LinkRow, ProbeRow, ProgressRow, QueryRow, QueueRow,
    Scope, SeriesRow,
};
use std::io;

pub(crate) const fn cell(name: &'static str, kind: ColumnKind, description: &'static str) -> Column {
    Column { name, kind, nullable: false, description }
}

pub(crate) const fn optional(name: &'static str, kind: ColumnKind, description: &'static str) -> Column {
    Column { name, kind, nullable: true, description }
}

impl Record for FlowRow {
    const TABLE: Table = Table::Flows;
    const COLUMNS: &'static [Column] = &[
        cell("flow_id", U64, "Number of the flow in order of its start, from 0"),
        cell("class", Class, "Class of the flow"),
        optional("query_id", U32, "Query that the flow answers"),
        cell("src_host", Host, "Sending host"),
        cell("dst_host", Host, "Receiving host"),
        cell("size_bytes", U64, "Payload"),
        cell("start_ns", U64, "When the application handed the data over"),
        optional("sending_ns", U64, "How long an open-loop flow sends at its rate; empty for any other"),
        cell(
            "state",
            Word,
            "finished: every byte has arrived; lossy: an open-loop flow that lost packets; unfinished: the run ended first",
        ),
        optional(
            "fct_ns",
            U64,
            "Flow completion time: start to last byte at the receiving application; empty unless finished",
        ),
        cell(
            "ideal_ns",
            F64,
            "Ideal FCT: base round-trip time plus payload over the slower access link, or plus sending_ns where that is longer",
        ),
        optional("slowdown", F64, "fct / ideal; empty unless finished"),
        cell("sent_packets", U64, "Data packets sent, retransmissions included"),
        cell("retransmitted_packets", U64, "Data packets sent again"),
        cell("timeouts", U32, "Retransmission timeouts, of the handshake too"),
        cell("marked_packets", U64, "Data packets that arrived with a congestion mark"),
        cell("dropped_packets", U64, "Packets of the flow (data and ACKs) lost in switches or on dead links"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.u64(self.flow_id);
        to.name(self.class.into())?;
        to.optional_u32(self.query_id);
        to.name(self.src_host)?;
        to.name(self.dst_host)?;
        to.u64(self.size_bytes);
        to.u64(self.start_ns);
        to.optional_u64(self.sending_ns);
        to.word(self.state.name());
        to.optional_u64(self.fct_ns);
        to.f64(self.ideal_ns);
        to.optional_f64(self.slowdown);
        to.u64(self.sent_packets);
        to.u64(self.retransmitted_packets);
        to.u32(self.timeouts);
        to.u64(self.marked_packets);
        to.u64(self.dropped_packets);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            flow_id: from.u64()?,
            class: class(from)?,
            query_id: from.optional_u32()?,
            src_host: from.name()?,
            dst_host: from.name()?,
            size_bytes: from.u64()?,
            start_ns: from.u64()?,
            sending_ns: from.optional_u64()?,
            state: state(from)?,
            fct_ns: from.optional_u64()?,
            ideal_ns: from.f64()?,
            slowdown: from.optional_f64()?,
            sent_packets: from.u64()?,
            retransmitted_packets: from.u64()?,
            timeouts: from.u32()?,
            marked_packets: from.u64()?,
            dropped_packets: from.u64()?,
        })
    }
}

impl Record for QueryRow {
    const TABLE: Table = Table::Queries;
    const COLUMNS: &'static [Column] = &[
        cell("query_id", U32, "Number of the query"),
        cell("class", Class, "Class of its flows"),
        cell("client_host", Host, "The asking host"),
        cell("fan_in", U32, "Flows that answer"),
        cell("request_bytes", U64, "Bytes of all answers"),
        cell("start_ns", U64, "Start"),
        optional(
            "qct_ns",
            U64,
            "Query completion time: start to the end of its last flow; empty if unfinished",
        ),
        cell("ideal_ns", F64, "Ideal QCT: base round-trip time plus all answers over the client's link rate"),
        optional("slowdown", F64, "qct / ideal; empty if unfinished"),
        cell("dropped_packets", U64, "Packets lost"),
        cell("timeouts", U32, "Timeouts of its flows"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.u32(self.query_id);
        to.name(self.class.into())?;
        to.name(self.client_host)?;
        to.u32(self.fan_in);
        to.u64(self.request_bytes);
        to.u64(self.start_ns);
        to.optional_u64(self.qct_ns);
        to.f64(self.ideal_ns);
        to.optional_f64(self.slowdown);
        to.u64(self.dropped_packets);
        to.u32(self.timeouts);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            query_id: from.u32()?,
            class: class(from)?,
            client_host: from.name()?,
            fan_in: from.u32()?,
            request_bytes: from.u64()?,
            start_ns: from.u64()?,
            qct_ns: from.optional_u64()?,
            ideal_ns: from.f64()?,
            slowdown: from.optional_f64()?,
            dropped_packets: from.u64()?,
            timeouts: from.u32()?,
        })
    }
}

const SCOPE: &str = "What is measured: switch, port or queue";
const PORT: &str = "Port; empty for a whole switch";
const PRIORITY: &str = "Priority; empty unless a queue is measured";

impl Record for SeriesRow {
    const TABLE: Table = Table::Series;
    const COLUMNS: &'static [Column] = &[
        cell("time_ns", U64, "Instant"),
        cell("scope", Word, SCOPE),
        cell("switch", Switch, "Switch"),
        optional("port", U16, PORT),
        optional("priority", U8, PRIORITY),
        cell("occupancy_bytes", U64, "Bytes stored"),
        optional("threshold_bytes", U64, "The policy's limit for an untagged packet, where it has one"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.u64(self.time_ns);
        to.word(self.scope.name());
        to.name(self.switch)?;
        to.optional_u16(self.port);
        to.optional_u8(self.priority);
        to.u64(self.occupancy_bytes);
        to.optional_u64(self.threshold_bytes);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            time_ns: from.u64()?,
            scope: scope(from)?,
            switch: from.name()?,
            port: from.optional_u16()?,
            priority: from.optional_u8()?,
            occupancy_bytes: from.u64()?,
            threshold_bytes: from.optional_u64()?,
        })
    }
}

impl Record for HistogramRow {
    const TABLE: Table = Table::Occupancy;
    const COLUMNS: &'static [Column] = &[
        cell("scope", Word, SCOPE),
        cell("switch", Switch, "Switch"),
        optional("port", U16, PORT),
        optional("priority", U8, PRIORITY),
        cell("from_bytes", U64, "Smallest occupancy of the bin"),
        cell("to_bytes", U64, "Largest occupancy of the bin"),
        cell("time_ns", U64, "Time spent in the bin"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.word(self.scope.name());
        to.name(self.switch)?;
        to.optional_u16(self.port);
        to.optional_u8(self.priority);
        to.u64(self.from_bytes);
        to.u64(self.to_bytes);
        to.u64(self.time_ns);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            scope: scope(from)?,
            switch: from.name()?,
            port: from.optional_u16()?,
            priority: from.optional_u8()?,
            from_bytes: from.u64()?,
            to_bytes: from.u64()?,
            time_ns: from.u64()?,
        })
    }
}

impl Record for QueueRow {
    const TABLE: Table = Table::Queues;
    const COLUMNS: &'static [Column] = &[
        cell("switch", Switch, "Switch"),
        cell("port", U16, "Port"),
        cell("priority", U8, "Priority"),
        cell("arrived_packets", U64, "Packets that asked for space"),
        cell("enqueued_packets", U64, "Packets stored"),
        cell("enqueued_bytes", U64, "Bytes stored, as charged to the buffer"),
        cell("dropped_packets", U64, "Packets refused on arrival"),
        cell("evicted_packets", U64, "Packets removed after having been stored"),
        cell("marked_packets", U64, "Packets marked"),
        cell("max_bytes", U64, "Largest length"),
        cell("mean_bytes", F64, "Mean length over the run, time-weighted"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.name(self.switch)?;
        to.u16(self.port);
        to.u8(self.priority);
        to.u64(self.arrived_packets);
        to.u64(self.enqueued_packets);
        to.u64(self.enqueued_bytes);
        to.u64(self.dropped_packets);
        to.u64(self.evicted_packets);
        to.u64(self.marked_packets);
        to.u64(self.max_bytes);
        to.f64(self.mean_bytes);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            switch: from.name()?,
            port: from.u16()?,
            priority: from.u8()?,
            arrived_packets: from.u64()?,
            enqueued_packets: from.u64()?,
            enqueued_bytes: from.u64()?,
            dropped_packets: from.u64()?,
            evicted_packets: from.u64()?,
            marked_packets: from.u64()?,
            max_bytes: from.u64()?,
            mean_bytes: from.f64()?,
        })
    }
}

impl Record for DropRow {
    const TABLE: Table = Table::Drops;
    const COLUMNS: &'static [Column] = &[
        cell("switch", Switch, "Switch"),
        cell("port", U16, "Port"),
        cell("priority", U8, "Priority"),
        cell("class", Class, "Class of the flow"),
        cell("reason", Word, "Which limit bound"),
        cell("packets", U64, "Packets lost"),
        cell("bytes", U64, "Bytes lost, as charged to the buffer"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.name(self.switch)?;
        to.u16(self.port);
        to.u8(self.priority);
        to.name(self.class.into())?;
        to.word(self.reason);
        to.u64(self.packets);
        to.u64(self.bytes);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            switch: from.name()?,
            port: from.u16()?,
            priority: from.u8()?,
            class: class(from)?,
            reason: from.word()?,
            packets: from.u64()?,
            bytes: from.u64()?,
        })
    }
}

impl Record for LinkRow {
    const TABLE: Table = Table::Links;
    const COLUMNS: &'static [Column] = &[
        cell("from", Text, "Sending end"),
        cell("to", Text, "Receiving end"),
        cell("parallel", U16, "Number among parallel links of the same two ends"),
        cell("role", Word, "host-up, host-down, up, down or peer"),
        cell("rate_bps", U64, "Rate"),
        cell("tx_packets", U64, "Packets sent"),
        cell("tx_bytes", U64, "Bytes sent, as on the wire"),
        cell("marked_packets", U64, "Packets sent with a congestion mark"),
        cell("utilisation", F64, "Mean use over the arrival phase, 0 to 1"),
        optional(
            "offered_bytes",
            U64,
            "Bytes that asked for this port in the arrival phase, lost or not, as on the wire; empty for a host's link",
        ),
        cell("lost_packets", U64, "Packets lost because the link was down"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.text(&self.from);
        to.text(&self.to);
        to.u16(self.parallel);
        to.word(self.role);
        to.u64(self.rate_bps);
        to.u64(self.tx_packets);
        to.u64(self.tx_bytes);
        to.u64(self.marked_packets);
        to.f64(self.utilisation);
        to.optional_u64(self.offered_bytes);
        to.u64(self.lost_packets);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            from: from.text()?,
            to: from.text()?,
            parallel: from.u16()?,
            role: from.word()?,
            rate_bps: from.u64()?,
            tx_packets: from.u64()?,
            tx_bytes: from.u64()?,
            marked_packets: from.u64()?,
            utilisation: from.f64()?,
            offered_bytes: from.optional_u64()?,
            lost_packets: from.u64()?,
        })
    }
}

impl Record for ProbeRow {
    const TABLE: Table = Table::Probes;
    const COLUMNS: &'static [Column] = &[
        cell("time_ns", U64, "Instant"),
        cell("switch", Switch, "Switch"),
        cell("port", U16, "Port"),
        cell("priority", U8, "Priority"),
        cell("name", Word, "The policy's name for the value"),
        cell("value", F64, "The value"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.u64(self.time_ns);
        to.name(self.switch)?;
        to.u16(self.port);
        to.u8(self.priority);
        to.word(self.name);
        to.f64(self.value);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            time_ns: from.u64()?,
            switch: from.name()?,
            port: from.u16()?,
            priority: from.u8()?,
            name: from.word()?,
            value: from.f64()?,
        })
    }
}

impl Record for ProgressRow {
    const TABLE: Table = Table::Progress;
    const COLUMNS: &'static [Column] = &[
        cell("time_ns", U64, "Instant"),
        cell("flow_id", U64, "Flow"),
        cell("class", Class, "Class of the flow"),
        cell("delivered_bytes", U64, "Payload that the receiving application has so far"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.u64(self.time_ns);
        to.u64(self.flow_id);
        to.name(self.class.into())?;
        to.u64(self.delivered_bytes);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            time_ns: from.u64()?,
            flow_id: from.u64()?,
            class: class(from)?,
            delivered_bytes: from.u64()?,
        })
    }
}

impl Record for DelayRow {
    const TABLE: Table = Table::Delays;
    const COLUMNS: &'static [Column] = &[
        cell("switch", Switch, "Switch"),
        cell("port", U16, "Port"),
        cell("priority", U8, "Priority"),
        cell("class", Class, "Class of the flow; ACKs count for their flow"),
        cell("from_ns", U64, "Smallest delay of the bin: arrival to the start of transmission"),
        cell("to_ns", U64, "Largest delay of the bin"),
        cell("packets", U64, "Packets that were sent after such a delay"),
        cell("total_ns", U64, "Sum of their delays"),
    ];

    fn write(&self, to: &mut CellWriter) -> io::Result<()> {
        to.name(self.switch)?;
        to.u16(self.port);
        to.u8(self.priority);
        to.name(self.class.into())?;
        to.u64(self.from_ns);
        to.u64(self.to_ns);
        to.u64(self.packets);
        to.u64(self.total_ns);
        Ok(())
    }

    fn read(from: &mut CellReader<'_>) -> Result<Self, String> {
        Ok(Self {
            switch: from.name()?,
            port: from.u16()?,
            priority: from.u8()?,
            class: class(from)?,
            from_ns: from.u64()?,
            to_ns: from.u64()?,
            packets: from.u64()?,
            total_ns: from.u64()?,
        })
    }
}

fn state(from: &mut CellReader<'_>) -> Result<FlowState, String> {
    let word = from.word()?;
    FlowState::ALL
        .into_iter()
        .find(|state| state.name() == word)
        .ok_or_else(|| format!("column `state`: unknown word `{word}`"))
}

fn class(from: &mut CellReader<'_>) -> Result<u16, String> {
    let index = from.name()?;
    u16::try_from(index).map_err(|_| format!("class number {index} is too large"))
}

fn scope(from: &mut CellReader<'_>) -> Result<Scope, String> {
    let word = from.word()?;
    [Scope::Switch, Scope::Port, Scope::Queue]
        .into_iter()
        .find(|scope| scope.name() == word)
        .ok_or_else(|| format!("column `scope`: unknown word `{word}`"))
}
