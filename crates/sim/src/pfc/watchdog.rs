//! The PFC watchdogs of the switches: when they poll, and what they do about a storm.
//!
//! What a storm is, and when it ends, is decided by [`QueueWatchdog`]. While it lasts, action *drop* discards what is stored, what comes for the queue
//! and what comes of the priority from its port; *forward* ignores pauses; *alert* changes nothing.

use super::Target;
use crate::SimError;
use crate::ids::SwitchId;
use crate::simulation::Simulation;
use bufferlab_core::watchdog::{QueueSample, QueueWatchdog, StormChange, WatchdogAction, WatchdogSpec};
use bufferlab_core::{DropReason, QueueId};
use bufferlab_metrics::WatchdogRow;
use bufferlab_units::Time;

/// What the watchdog remembers of one priority of one link.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    state: QueueWatchdog,
    /// The storm that `state` is in.
    storm: Option<Storm>,
}

impl Watch {
    /// Whether pauses are ignored: packets are sent, or discarded.
    pub(super) fn overrides_pauses(&self) -> bool {
        self.storm.as_ref().is_some_and(|storm| storm.action.overrides_pauses())
    }
}

#[derive(Clone, Debug)]
struct Storm {
    action: WatchdogAction,
    /// What is known of it; `sent_packets` as the queue's counter was when it began.
    row: WatchdogRow,
}

/// A queue and the link that it sends to.
#[derive(Clone, Copy, Debug)]
struct Place {
    switch: SwitchId,
    port: u16,
    queue: QueueId,
    target: Target,
}

impl Simulation {
    /// A watchdog looks at all lossless queues of its switch.
    pub(crate) fn handle_watchdog(&mut self, switch: SwitchId) -> Result<(), SimError> {
        let Some(pfc) = &self.pfc else { return Ok(()) };
        let Some(spec) = &pfc.specs[switch] else { return Ok(()) };
        let Some(watchdog) = spec.watchdog else { return Ok(()) };
        let ports = self.switches[switch].ports();
        let lossless: Vec<_> = (0..ports).map(|port| spec.mask_at(port)).collect();
        for (port, lossless) in (0..ports).zip(lossless) {
            for priority in (0..32_u8).filter(|priority| lossless >> priority & 1 != 0) {
                let node = &self.switches[switch];
                let target = Target { link: node.first_link.at_port(port), priority };
                let queue = node.first.core.buffer().queue_of(port, priority);
                self.look_at(Place { switch, port, queue, target }, watchdog)?;
            }
        }
        self.timers.push(self.now + watchdog.poll, crate::timers::Timer::Watchdog(switch));
        Ok(())
    }

    fn look_at(&mut self, place: Place, spec: WatchdogSpec) -> Result<(), SimError> {
        let now = self.now;
        let core = &self.switches[place.switch].first.core;
        let is_waiting = core.buffer().queue_packets(place.queue) > 0;
        let sent_packets = core.counters(place.queue).departed;
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        let state = *pfc.state(place.target);
        let sample = QueueSample {
            is_waiting,
            is_paused: state.paused.is_some(),
            sent_packets,
            pause_frames: state.received_pauses,
            ended_pauses: state.ended_pauses,
            paused: state.paused_total + state.paused.map_or(Time::ZERO, |since| now - since),
        };
        match pfc.watch(place.target).state.poll(&spec, sample) {
            Some(StormChange::Begins) => self.begin_storm(place, spec),
            Some(StormChange::Ends) => self.restore(place.target),
            None => Ok(()),
        }
    }

    fn begin_storm(&mut self, place: Place, spec: WatchdogSpec) -> Result<(), SimError> {
        let Place { switch, port, queue, target } = place;
        let now = self.now;
        let core = &self.switches[switch].first.core;
        let (stored, bytes) = (core.buffer().queue_packets(queue) as u64, core.buffer().queue_bytes(queue));
        let flushed = if spec.action.discards() { (stored, bytes) } else { (0, 0) };
        let sent_packets = core.counters(queue).departed;
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        let row = WatchdogRow {
            switch: switch.0,
            port,
            priority: target.priority,
            rule: spec.rule.word(),
            action: spec.action.word(),
            detected_ns: now.as_ns(),
            restored_ns: None,
            flushed_packets: flushed.0,
            discarded_packets: 0,
            lost_bytes: flushed.1,
            sent_packets,
        };
        pfc.watch(target).storm = Some(Storm { action: spec.action, row });
        if !spec.action.overrides_pauses() {
            return Ok(());
        }
        pfc.open_cycles(target, now);
        let node = &mut self.switches[switch];
        node.handle_pause(port, target.priority, false);
        if spec.action.discards() {
            node.first.core.set_discarding(port, target.priority, true);
            node.flush(now, queue, DropReason::Watchdog);
            self.collect_evicted(switch);
            if !self.switches[switch].record.pauses.is_empty() {
                self.send_pauses(switch);
            }
            if self.verify {
                self.verify_switch(switch)?;
            }
        }
        if self.claim(target.link) {
            self.send_from_switch(target.link, switch, port)?;
        }
        Ok(())
    }

    /// A storm is over, if there is one: pauses hold again.
    pub(super) fn restore(&mut self, target: Target) -> Result<(), SimError> {
        let crate::link::End::Switch(switch, port) = self.links[target.link].from else {
            return Ok(());
        };
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return Ok(()) };
        if pfc.watches.is_empty() {
            return Ok(());
        }
        let is_paused = pfc.state(target).paused.is_some();
        let watch = pfc.watch(target);
        watch.state.reset();
        let Some(mut storm) = watch.storm.take() else { return Ok(()) };
        let node = &mut self.switches[switch];
        let core = &mut node.first.core;
        let queue = core.buffer().queue_of(port, target.priority);
        storm.row.sent_packets = core.counters(queue).departed - storm.row.sent_packets;
        storm.row.restored_ns = Some(now.as_ns());
        pfc.storm_rows.push(storm.row);
        core.set_discarding(port, target.priority, false);
        node.handle_pause(port, target.priority, is_paused);
        Ok(())
    }

    /// A watchdog has discarded an arrival for `queue` that came through `ingress_port`.
    #[cold]
    pub(crate) fn note_discard(&mut self, switch: SwitchId, queue: QueueId, ingress_port: u16, size: u32) {
        let node = &self.switches[switch];
        let (port, priority) = node.port_and_priority(queue);
        let first_link = node.first_link;
        let Some(pfc) = &mut self.pfc else { return };
        // The queue's own storm counts it, if there is one; else that of the port from which it came.
        for port in [port, ingress_port] {
            let target = Target { link: first_link.at_port(port), priority };
            if let Some(storm) = &mut pfc.watch(target).storm {
                storm.row.discarded_packets += 1;
                storm.row.lost_bytes += u64::from(size);
                return;
            }
        }
    }

    /// Rows of storms that last, at the end of the run.
    pub(super) fn lasting_storms(&self) -> Vec<WatchdogRow> {
        let Some(pfc) = &self.pfc else { return Vec::new() };
        let row = |storm: &Storm| {
            let core = &self.switches[SwitchId(storm.row.switch)].first.core;
            let queue = core.buffer().queue_of(storm.row.port, storm.row.priority);
            let sent_packets = core.counters(queue).departed - storm.row.sent_packets;
            WatchdogRow { sent_packets, ..storm.row.clone() }
        };
        pfc.watches.iter().filter_map(|watch| watch.storm.as_ref()).map(row).collect()
    }
}
