//! Priority flow control in the engine: applies decisions of [`crate::pfc`] at the sender of a
//! link.

use super::Simulation;
use crate::SimError;
use crate::host::Hosts;
use crate::ids::{LinkId, SwitchId};
use crate::pfc::{PauseView, Target};
use crate::world::link::End;
use crate::world::timers::{PauseTimer, Timer};

impl Simulation {
    pub(super) fn handle_pause_timer(&mut self, timer: PauseTimer) -> Result<(), SimError> {
        let now = self.world.now();
        let world = &mut self.world;
        let pfc = self.pfc.as_mut().expect("only flow control sets its timers");
        match timer {
            PauseTimer::Obeyed(key) => {
                if let Some(target) = pfc.handle_pause_obeyed(world, key) {
                    self.stop(target);
                }
            }
            PauseTimer::ResumeObeyed(key) => {
                if let Some(target) = pfc.handle_resume_obeyed(now, key) {
                    self.go_on(target)?;
                }
            }
            PauseTimer::Expiry(key) => {
                if let Some(target) = pfc.handle_pause_expiry(now, key) {
                    self.go_on(target)?;
                }
            }
            PauseTimer::Refresh(key) => pfc.handle_pause_refresh(world, key),
            PauseTimer::FrameStart(link) => pfc.handle_frame_start(world, link),
            PauseTimer::Storm(storm) => pfc.handle_storm(world, storm),
            PauseTimer::Watchdog(switch) => self.handle_watchdog(switch)?,
        }
        Ok(())
    }

    /// Forbids the sender of a link to start packets of a priority.
    fn stop(&mut self, target: Target) {
        match self.world.links()[target.link].from {
            End::Switch(switch, port) => self.switches[switch].handle_pause(port, target.priority, true),
            End::Host(host) => self.hosts.pause(host, target.priority),
        }
        if let Some(pfc) = &mut self.pfc {
            let view =
                PauseView { now: self.world.now(), links: self.world.links(), switches: &self.switches };
            pfc.look_for_cycle(view, target);
        }
    }

    /// Allows the sender of a link to send packets of a priority again.
    fn release(&mut self, target: Target) {
        match self.world.links()[target.link].from {
            End::Switch(switch, port) => self.switches[switch].handle_pause(port, target.priority, false),
            End::Host(host) => self.hosts.resume(host, target.priority),
        }
    }

    /// Allows the sender of a link to send packets of a priority again. If a packet waits, the
    /// sender starts its transmission.
    fn go_on(&mut self, target: Target) -> Result<(), SimError> {
        self.release(target);
        match self.world.links()[target.link].from {
            End::Switch(switch, port) => self.serve(switch, port),
            End::Host(host) => {
                self.at_host(host, Hosts::kick);
                Ok(())
            }
        }
    }

    /// Lets the watchdog of a switch check all lossless queues of the switch.
    fn handle_watchdog(&mut self, switch: SwitchId) -> Result<(), SimError> {
        let now = self.world.now();
        let Some(pfc) = &self.pfc else { return Ok(()) };
        let Some(spec) = pfc.watchdog(switch) else { return Ok(()) };
        for place in pfc.watched(&self.switches[switch]) {
            let Some(pfc) = &mut self.pfc else { return Ok(()) };
            if let Some(port) = pfc.look_at(now, &mut self.switches[switch], place, spec) {
                self.settle(switch)?;
                self.serve(switch, port)?;
            }
        }
        self.world.timers().push(now + spec.poll, Timer::Pause(PauseTimer::Watchdog(switch)));
        Ok(())
    }

    /// Resets the pauses of `link`, which has gone down.
    /// The pauses end, and pause frames in flight and storms are lost.
    #[cold]
    pub(super) fn reset_pauses(&mut self, link: LinkId) {
        let now = self.world.now();
        let Some(pfc) = &self.pfc else { return };
        for target in pfc.targets(link) {
            let Some(pfc) = &mut self.pfc else { return };
            if pfc.release(now, target).is_some() {
                self.release(target);
            }
            let Some(pfc) = &mut self.pfc else { return };
            if let End::Switch(switch, port) = self.world.links()[link].from {
                pfc.restore(now, &mut self.switches[switch], port, target);
            }
            pfc.forget_frames(target);
        }
    }
}
