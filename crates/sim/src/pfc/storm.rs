//! Pause storms: hosts whose NICs send pause frames without a reason.

use super::{FRAME_BYTES, Pfc, Target};
use crate::ids::{HostId, LinkId, StormId, SwitchId, Table};
use crate::world::World;
use crate::world::link::{End, Link};
use crate::world::timers::{PauseTimer, Timer, Timers};
use bufferlab_scenario::{FaultSpec, PfcSpec};
use bufferlab_units::Time;

/// A pause storm that is active.
#[derive(Clone, Debug)]
pub(super) struct Storm {
    pub(super) host: HostId,
    /// Link over which the switch sends to the host.
    downlink: LinkId,
    priorities: Vec<u8>,
    until: Time,
    /// Time from which frames end the pause.
    zero_from: Time,
    interval: Time,
    /// Duration of the pause that one frame demands.
    pause: Time,
    /// Time from the arrival of a frame at the switch until the switch obeys the frame.
    reaction: Time,
}

/// Builds the storms of a scenario and sets the timers of their first frames. It omits
/// priorities that are not lossless at the host's switch, because the switch ignores such frames.
pub(super) fn storms(
    faults: &[FaultSpec],
    specs: &Table<SwitchId, Option<PfcSpec>>,
    links: &Table<LinkId, Link>,
    timers: &mut Timers,
) -> Table<StormId, Storm> {
    let mut storms = Table::default();
    for FaultSpec::PauseStorm(fault) in faults {
        let host = HostId::new(fault.host);
        let End::Switch(switch, port) = links[host.uplink()].to else { continue };
        let Some(spec) = &specs[switch] else { continue };
        let downlink = links.ids().find(|&link| links[link].to == End::Host(host));
        let downlink = downlink.expect("a cable has two directions");
        let lossless = |priority: &&u8| spec.mask_at(port) >> **priority & 1 != 0;
        let storm = storms.push(Storm {
            host,
            downlink,
            priorities: fault.priorities.iter().filter(lossless).copied().collect(),
            until: fault.until.unwrap_or(Time::MAX),
            zero_from: fault.zero_from.unwrap_or(Time::MAX),
            interval: fault.interval,
            pause: super::pause_duration(Some(fault.quanta), &links[downlink]).unwrap_or_default(),
            reaction: spec.reaction_at(port),
        });
        timers.push(fault.from, Timer::Pause(PauseTimer::Storm(storm)));
    }
    storms
}

impl Pfc {
    /// Sends the next pause frame of a storm.
    pub(crate) fn handle_storm(&mut self, world: &mut World, id: StormId) {
        let now = world.now();
        let storm = self.storms[id].clone();
        if now >= storm.until {
            return;
        }
        world.timers().push(now + storm.interval, Timer::Pause(PauseTimer::Storm(id)));
        let uplink = storm.host.uplink();
        let start = world.claim_for_frame(uplink, FRAME_BYTES);
        let obeyed = start.map(|start| world.frame_arrival(uplink, FRAME_BYTES, start) + storm.reaction);
        for &priority in &storm.priorities {
            let target = Target { link: storm.downlink, priority };
            let state = self.state(target);
            state.duration = Some(storm.pause);
            let key = target.key(state.generation);
            let timer = if now < storm.zero_from {
                state.sent_pauses += 1;
                PauseTimer::Obeyed(key)
            } else {
                state.sent_resumes += 1;
                PauseTimer::ResumeObeyed(key)
            };
            if let Some(obeyed) = obeyed {
                world.timers().push(obeyed, Timer::Pause(timer));
            }
        }
    }
}
