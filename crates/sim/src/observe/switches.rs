//! Rows of switches: samples at their times, and histograms, counters, delays and drops at the end
//! of the run.

use super::{Records, View};
use crate::SimError;
use crate::ids::SwitchId;
use crate::switch::{QueuePlace, SwitchNode};
use bufferlab_core::{DropReason, Policy, QueueId, Tags};
use bufferlab_metrics::{
    DelayRow, DropRow, HistogramRow, OccupancyTimes, ProbeRow, QueueRow, RunSink, Scope, SeriesRow,
};
use bufferlab_units::Time;

impl Records {
    /// Samples the chosen switch, and the flows if the run requests samples of flows. Returns the
    /// time of the next sample, if any.
    pub(crate) fn sample(&self, view: View<'_>, sink: &mut dyn RunSink) -> Result<Option<Time>, SimError> {
        let now = view.world.now();
        self.sample_switch(now, &view.switches[SwitchId(self.output.sample_switch)], sink)?;
        if self.output.sample_flows {
            self.sample_flows(view, sink)?;
        }
        let next = now + self.output.sample_interval;
        Ok(Some(next).filter(|&next| self.output.sample_until.is_none_or(|until| next < until)))
    }

    /// Samples a switch: its total occupancy, and the length, threshold and policy probes
    /// of each queue.
    fn sample_switch(&self, now: Time, node: &SwitchNode, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let (switch, time_ns) = (node.id.0, now.as_ns());
        sink.series(&SeriesRow {
            time_ns,
            scope: Scope::Switch,
            switch,
            port: None,
            priority: None,
            occupancy_bytes: node.occupancy(),
            threshold_bytes: None,
        })?;
        for QueuePlace { slice, local, port, priority, .. } in node.queues() {
            let (core, buffer) = (&slice.core, slice.core.buffer());
            let occupancy_bytes = buffer.queue_bytes(local);
            // A sample has all queues of the requested ports. If the scenario requests no ports, a
            // sample has all queues with packets.
            let wanted = match &self.output.sample_ports {
                Some(ports) => ports.contains(&port),
                None => occupancy_bytes > 0,
            };
            if !wanted {
                continue;
            }
            sink.series(&SeriesRow {
                time_ns,
                scope: Scope::Queue,
                switch,
                port: Some(port),
                priority: Some(priority),
                occupancy_bytes,
                threshold_bytes: core.threshold(local, Tags::NONE),
            })?;
            let mut probed = Ok(());
            core.policy().probe(local, buffer, &mut |name, value| {
                let row = ProbeRow { time_ns, switch, port, priority, name, value };
                if probed.is_ok() {
                    probed = sink.probe(&row);
                }
            });
            probed?;
        }
        Ok(())
    }

    /// Writes the tables of a switch whose histograms are closed.
    pub(crate) fn write_switch(&self, node: &SwitchNode, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let (switch, record) = (node.id.0, &node.record);
        // The table of histograms omits unused ports and queues, whose only bin carries no
        // information.
        let mut was_used = vec![false; usize::from(node.ports())];
        for place in node.queues() {
            was_used[usize::from(place.port)] |= record.queues[usize::from(place.queue.0)].max > 0;
        }
        write_histogram(sink, &record.total, (Scope::Switch, node.id, None, None))?;
        for (port, _) in (0..node.ports()).zip(was_used).filter(|(_, used)| *used) {
            write_histogram(sink, record.of_port(port), (Scope::Port, node.id, Some(port), None))?;
        }
        for QueuePlace { slice, local, queue, port, priority } in node.queues() {
            let recorded = &record.queues[usize::from(queue.0)];
            if recorded.max > 0 {
                write_histogram(sink, &recorded.times, (Scope::Queue, node.id, Some(port), Some(priority)))?;
            }
            let counters = slice.core.counters(local);
            sink.queue(&QueueRow {
                switch,
                port,
                priority,
                arrived_packets: counters.arrived,
                enqueued_packets: counters.enqueued,
                enqueued_bytes: counters.enqueued_bytes,
                dropped_packets: counters.dropped,
                evicted_packets: counters.evicted,
                marked_packets: counters.marked,
                max_bytes: recorded.max,
                mean_bytes: recorded.mean(),
            })?;
        }
        if self.measures_delays() {
            self.write_delays(node, sink)?;
        }
        for (&(queue, class, reason), &(packets, bytes)) in &record.drops {
            let (port, priority) = node.port_and_priority(queue);
            let reason = DropReason::ALL[usize::from(reason)].name();
            sink.drops(&DropRow { switch, port, priority, class, reason, packets, bytes })?;
        }
        Ok(())
    }

    fn write_delays(&self, node: &SwitchNode, sink: &mut dyn RunSink) -> Result<(), SimError> {
        let mut cells = self.delays[node.id].iter();
        let queues = 0..u16::try_from(node.record.queues.len()).expect("a queue's number fits");
        let classes = 0..u16::try_from(self.classes.len()).expect("a class's number fits");
        for queue in queues.map(QueueId) {
            let (port, priority) = node.port_and_priority(queue);
            for (class, histogram) in classes.clone().zip(cells.by_ref()) {
                for bin in histogram.bins() {
                    sink.delay(&DelayRow {
                        switch: node.id.0,
                        port,
                        priority,
                        class,
                        from_ns: bin.from_ns,
                        to_ns: bin.to_ns,
                        packets: bin.packets,
                        total_ns: bin.total_ns,
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn write_histogram(
    sink: &mut dyn RunSink,
    times: &OccupancyTimes,
    (scope, switch, port, priority): (Scope, SwitchId, Option<u16>, Option<u8>),
) -> std::io::Result<()> {
    let switch = switch.0;
    for bin in times.bins() {
        let (from_bytes, to_bytes, time_ns) = (bin.from, bin.to, Time(bin.time).as_ns());
        sink.histogram(&HistogramRow { scope, switch, port, priority, from_bytes, to_bytes, time_ns })?;
    }
    Ok(())
}
