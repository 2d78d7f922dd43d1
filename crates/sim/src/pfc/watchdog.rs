//! PFC watchdogs of the switches: their polls of paused queues, and their actions in a storm.
//!
//! [`QueueWatchdog`] decides when a storm begins and ends. The watchdog's action is the reaction of
//! the switch during the storm. *Drop* discards the packets of the queue, new packets for the
//! queue, and packets of the priority from its port. *Forward* ignores pauses. *Alert* leaves the
//! switch unchanged.

use super::{Pfc, Target};
use crate::ids::{SwitchId, Table};
use crate::switch::{Refused, SwitchNode};
use bufferlab_core::QueueId;
use bufferlab_core::watchdog::{QueueSample, QueueWatchdog, StormChange, WatchdogAction, WatchdogSpec};
use bufferlab_metrics::WatchdogRow;
use bufferlab_units::Time;

/// State of the watchdog for one priority on one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    state: QueueWatchdog,
    /// Current storm, if the queue is in a storm.
    pub(super) storm: Option<Storm>,
}

impl Watch {
    /// Whether the watchdog overrides pauses, so that packets are sent or discarded.
    pub(super) fn overrides_pauses(&self) -> bool {
        self.storm.as_ref().is_some_and(|storm| storm.action.overrides_pauses())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Storm {
    action: WatchdogAction,
    /// Result row of the storm. Until the row is written, `sent_packets` is the queue's counter at
    /// the start of the storm.
    row: WatchdogRow,
}

/// A queue of a switch that a watchdog polls, with the queue's egress link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchedQueue {
    port: u16,
    queue: QueueId,
    target: Target,
    /// Whether all lossless priorities of the port are in a storm.
    all_storm: bool,
}

impl Pfc {
    /// Settings of the PFC watchdog of `switch`, if the switch has a watchdog.
    pub(crate) fn watchdog(&self, switch: SwitchId) -> Option<WatchdogSpec> {
        self.specs[switch].as_ref()?.watchdog
    }

    /// Queues that the watchdog of `node` polls: all lossless queues.
    pub(crate) fn watched(&self, node: &SwitchNode) -> Vec<WatchedQueue> {
        let Some(spec) = &self.specs[node.id] else { return Vec::new() };
        let mut places = Vec::new();
        for port in 0..node.ports() {
            let lossless = spec.mask_at(port);
            let link = node.first_link.at_port(port);
            let all = || (0..32_u8).filter(|priority| lossless >> priority & 1 != 0);
            let all_storm = all().all(|priority| self.is_in_storm(Target { link, priority }));
            for priority in all() {
                let queue = node.first.core.buffer().queue_of(port, priority);
                places.push(WatchedQueue { port, queue, target: Target { link, priority }, all_storm });
            }
        }
        places
    }

    /// Polls a queue of the watchdog's switch. Returns the port that may send,
    /// if a storm has begun and the watchdog overrides pauses.
    ///
    /// The effects of the switch then contain the discarded packets.
    pub(crate) fn look_at(
        &mut self,
        now: Time,
        node: &mut SwitchNode,
        place: WatchedQueue,
        spec: WatchdogSpec,
    ) -> Option<u16> {
        let core = &node.first.core;
        let is_waiting = core.buffer().queue_packets(place.queue) > 0;
        let sent_packets = core.counters(place.queue).departed;
        let state = self.states[self.at(place.target)];
        let sample = QueueSample {
            is_waiting,
            is_paused: state.paused.is_some(),
            sent_packets,
            pause_frames: state.received_pauses,
            resume_frames: state.received_resumes,
            all_storm: place.all_storm,
            ended_pauses: state.ended_pauses,
            paused: state.paused_total + state.paused.map_or(Time::ZERO, |since| now - since),
        };
        match self.watch(place.target).state.poll(&spec, sample) {
            Some(StormChange::Begins) => self.begin_storm(now, node, place, spec),
            Some(StormChange::Ends) => {
                self.restore(now, node, place.port, place.target);
                None
            }
            None => None,
        }
    }

    fn is_in_storm(&self, target: Target) -> bool {
        let watch = self.watches.get(self.at(target));
        watch.is_some_and(|watch| watch.state.is_storm())
    }

    fn begin_storm(
        &mut self,
        now: Time,
        node: &mut SwitchNode,
        place: WatchedQueue,
        spec: WatchdogSpec,
    ) -> Option<u16> {
        let WatchedQueue { port, queue, target, .. } = place;
        let core = &node.first.core;
        let discards = spec.action.discards();
        let stored = (core.buffer().queue_packets(queue) as u64, core.buffer().queue_bytes(queue));
        let flushed = if discards { stored } else { (0, 0) };
        let row = WatchdogRow {
            switch: node.id.0,
            port,
            priority: target.priority,
            rule: spec.rule.word(),
            action: spec.action.word(),
            detected_ns: now.as_ns(),
            restored_ns: None,
            flushed_packets: flushed.0,
            discarded_packets: 0,
            lost_bytes: flushed.1,
            sent_packets: core.counters(queue).departed,
        };
        self.note_storm(target);
        self.watch(target).storm = Some(Storm { action: spec.action, row });
        if !spec.action.overrides_pauses() {
            return None;
        }
        self.open_cycles(target, now);
        node.override_pauses(now, port, target.priority, discards);
        Some(port)
    }

    /// Ends a storm at `port` of `node`, if there is a storm: the queue obeys pauses again.
    pub(crate) fn restore(&mut self, now: Time, node: &mut SwitchNode, port: u16, target: Target) {
        if self.watches.is_empty() {
            return;
        }
        self.note_storm(target);
        let is_paused = self.states[self.at(target)].paused.is_some();
        let watch = self.watch(target);
        watch.state.reset();
        let Some(mut storm) = watch.storm.take() else { return };
        let core = &node.first.core;
        let queue = core.buffer().queue_of(port, target.priority);
        storm.row.sent_packets = core.counters(queue).departed - storm.row.sent_packets;
        storm.row.restored_ns = Some(now.as_ns());
        self.storm_rows.push(storm.row);
        node.obey_pauses(port, target.priority, is_paused);
    }

    /// Counts an arrival at `node` that a watchdog has discarded.
    #[cold]
    pub(crate) fn note_discard(&mut self, node: &SwitchNode, refused: &Refused) {
        let (port, priority) = node.port_and_priority(refused.seen.queue);
        // The storm of the packet's queue counts the packet, or else the storm of the ingress port.
        for port in [port, refused.ingress_port] {
            let target = Target { link: node.first_link.at_port(port), priority };
            if let Some(storm) = &mut self.watch(target).storm {
                storm.row.discarded_packets += 1;
                storm.row.lost_bytes += u64::from(refused.seen.size);
                return;
            }
        }
    }

    /// Rows of storms that are still active at the end of the run.
    pub(super) fn lasting_storms(&self, switches: &Table<SwitchId, SwitchNode>) -> Vec<WatchdogRow> {
        let row = |storm: &Storm| {
            let core = &switches[SwitchId(storm.row.switch)].first.core;
            let queue = core.buffer().queue_of(storm.row.port, storm.row.priority);
            let sent_packets = core.counters(queue).departed - storm.row.sent_packets;
            WatchdogRow { sent_packets, ..storm.row.clone() }
        };
        self.watches.iter().filter_map(|watch| watch.storm.as_ref()).map(row).collect()
    }
}
