//! Step-by-step runs: the caller advances a run, and may copy the run between two steps.
//!
//! A stepped run handles all events in the order of [`Simulation::run`], on one thread. The
//! caller's clock ([`Simulation::now`]) is separate from the time of the last event. So pauses
//! between steps leave no trace in the results.

use super::{Progress, Simulation};
use crate::SimError;
use crate::ids::{SwitchId, Table};
use crate::switch::SwitchNode;
use bufferlab_metrics::RunSink;
use bufferlab_units::Time;

/// Limit at which a run pauses: after all events up to a time (included), or after a number of
/// events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) time: Time,
    pub(crate) events: u64,
}

impl Limit {
    /// No limit: the engine handles all events up to the end of the run.
    pub(crate) const NONE: Self = Self { time: Time::MAX, events: u64::MAX };
}

impl Simulation {
    /// Time that the caller has reached. The engine has handled all events before this time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.max(self.world.now())
    }

    /// Latest simulated time at which the run ends.
    #[must_use]
    pub fn end(&self) -> Time {
        self.plan.end
    }

    /// Number of events that the run has handled so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Progress of the run at the time that the caller has reached.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress { now: self.now(), ..self.progress_of_events() }
    }

    /// Whether the run has no event left. The last call is then [`Self::run_while`], which writes
    /// the rows at the end of the run.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Handles all events until `time` (included), and writes their rows to `sink`.
    /// Later, [`Self::run`] or [`Self::run_while`] completes the run.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run_while`].
    pub fn run_until(
        &mut self,
        time: Time,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(), SimError> {
        self.is_stepped = true;
        self.advance(Limit { time, ..Limit::NONE }, sink, go_on)?;
        if !self.is_finished {
            self.clock = self.now().max(time.min(self.plan.end));
        }
        self.check_switches()
    }

    /// Handles the next `count` events. An event is an arrival at a node, a completed transmission,
    /// a timer or the start of a flow.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run_while`].
    pub fn step(
        &mut self,
        count: u64,
        sink: &mut dyn RunSink,
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(), SimError> {
        self.is_stepped = true;
        let events = self.events.saturating_add(count);
        self.advance(Limit { events, ..Limit::NONE }, sink, go_on)?;
        self.clock = self.now();
        self.check_switches()
    }

    /// Copies the run. The copy continues exactly as this run would, and shares no state with this
    /// run.
    ///
    /// # Errors
    /// If a policy, a source of flows or a closed loop cannot be copied. The error names the part
    /// that cannot be copied.
    pub fn fork(&self) -> Result<Self, SimError> {
        let nodes = self.switches.iter().map(|node| self.fork_switch(node));
        let switches: Table<SwitchId, _> = nodes.collect::<Result<Vec<_>, _>>()?.into();
        let demand = self.demand.try_clone().ok_or_else(|| SimError::CannotFork {
            what: "a workload of a custom source".to_owned(),
            hint: "implement `FlowSource::boxed_clone` or `ClosedLoop::boxed_clone`",
        })?;
        let mut copy = Self {
            world: self.world.clone(),
            hosts: self.hosts.clone(),
            switches,
            pfc: self.pfc.clone(),
            demand,
            records: self.records.clone(),
            plan: self.plan.clone(),
            part: self.part.clone(),
            starts: self.starts.clone(),
            egress_links: Vec::new(),
            ..*self
        };
        // A marking rule that is written in another language may not support copies.
        copy.check_marking()?;
        Ok(copy)
    }

    fn fork_switch(&self, node: &SwitchNode) -> Result<SwitchNode, SimError> {
        node.try_clone().map_err(|policy| {
            let switch = &self.plan.topology.switches[node.id.0 as usize];
            let what = format!("policy {policy} of switch {switch}");
            SimError::CannotFork { what, hint: "implement `Policy::boxed_clone`; a class in Python must work with copy.deepcopy and have no `classify`" }
        })
    }

    /// Ends the run if a policy or a marking rule has failed.
    fn check_switches(&mut self) -> Result<(), SimError> {
        self.check_marking()?;
        self.switches.ids().try_for_each(|switch| self.check_policy(switch))
    }
}
