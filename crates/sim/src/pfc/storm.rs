//! Hosts whose cards send pause frames whatever they receive.

use super::Target;
use crate::link::{End, Link};
use crate::simulation::Simulation;
use crate::timers::{Timer, Timers};
use bufferlab_scenario::{FaultSpec, PfcSpec};
use bufferlab_units::Time;

/// A storm, as it runs.
#[derive(Clone, Debug)]
pub(super) struct Storm {
    host: u32,
    /// The host's switch sends over it.
    downlink: u32,
    priorities: Vec<u8>,
    until: Time,
    interval: Time,
    /// How long a frame pauses.
    pause: Time,
    /// From a frame's arrival at the switch to obedience.
    reaction: Time,
}

/// The storms of a scenario, with their first frames in `timers`. Priorities that a host's switch does not know as lossless are left out: it
/// ignores them.
pub(super) fn storms(
    faults: &[FaultSpec],
    specs: &[Option<PfcSpec>],
    links: &[Link],
    timers: &mut Timers,
) -> Vec<Storm> {
    let mut storms = Vec::new();
    for FaultSpec::PauseStorm { host, priorities, from, until, interval, quanta } in faults {
        let End::Switch(switch, port) = links[*host as usize].to else { continue };
        let Some(spec) = &specs[switch as usize] else { continue };
        let downlink = links.iter().position(|link| link.to == End::Host(*host));
        let downlink = downlink.expect("a cable has two directions");
        let lossless = |priority: &&u8| spec.mask_at(port) >> **priority & 1 != 0;
        timers.push(*from, Timer::Storm(storms.len() as u32));
        storms.push(Storm {
            host: *host,
            downlink: downlink as u32,
            priorities: priorities.iter().filter(lossless).copied().collect(),
            until: *until,
            interval: *interval,
            pause: super::pause_duration(Some(*quanta), &links[downlink]).unwrap_or_default(),
            reaction: spec.reaction,
        });
    }
    storms
}

impl Simulation {
    /// A host sends its next frame for no reason.
    pub(crate) fn handle_storm(&mut self, index: u32) {
        let now = self.now;
        let Some(pfc) = &mut self.pfc else { return };
        let storm = pfc.storms[index as usize].clone();
        if now >= storm.until {
            return;
        }
        self.timers.push(now + storm.interval, Timer::Storm(index));
        let targets: Vec<_> =
            storm.priorities.iter().map(|&priority| Target { link: storm.downlink, priority }).collect();
        for &target in &targets {
            let state = pfc.state(target);
            state.duration = Some(storm.pause);
            state.sent_pauses += 1;
        }
        self.put_frame_on(storm.host, storm.reaction, &targets, true);
    }
}
