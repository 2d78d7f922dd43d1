//! Triggers: connections that start other connections.

use super::Kind;
use crate::source::Line;
use crate::{ImportError, Notices};
use bufferlab_schedule::{Condition, NodeId, ScheduleBuilder, Work};

/// A trigger with its targets (connections to start) and its sources (connections that fire it).
pub(super) struct Trigger<'a> {
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) line: Line<'a>,
    pub(super) targets: Vec<NodeId>,
    pub(super) sources: Vec<(NodeId, Condition)>,
}

impl Trigger<'_> {
    /// Adds edges to the schedule, from the trigger's sources to the trigger's targets.
    pub(super) fn connect(
        self,
        builder: &mut ScheduleBuilder,
        notices: &mut Notices,
    ) -> Result<(), ImportError> {
        let (targets, mut sources) = (&self.targets, self.sources.clone());
        let number = self.number;
        if targets.is_empty() {
            notices.assume(format!("trigger {number} starts nothing"));
            return Ok(());
        }
        let problem = match self.kind {
            _ if sources.is_empty() => {
                Some(format!("nothing fires trigger {number}, so its connections never start"))
            }
            Kind::OneShot if sources.len() > 1 => Some(format!(
                "{} connections fire the oneshot trigger {number}, which htsim refuses",
                sources.len()
            )),
            Kind::Barrier(count) if (sources.len() as u64) < count => {
                Some(format!("barrier {number} waits for {count} connections, but {} fire it", sources.len()))
            }
            Kind::MultiShot if sources.len() < targets.len() => Some(format!(
                "{} connections fire multishot trigger {number}, so only as many of its {} start",
                sources.len(),
                targets.len()
            )),
            _ => None,
        };
        if let Some(problem) = problem {
            return Err(self.line.error(problem, "correct the triggers of the connections"));
        }
        let refuse = |cause: bufferlab_schedule::ScheduleError| {
            self.line.error(cause.to_string(), "correct the triggers")
        };
        if self.kind == Kind::MultiShot {
            notices.assume(format!(
                "multishot trigger {number}: the n-th line that fires it starts its n-th connection, as if they \
                 ended in the order of their lines"
            ));
            for (&child, (parent, condition)) in targets.iter().zip(sources) {
                builder.after(child, parent, condition).map_err(refuse)?;
            }
            return Ok(());
        }
        if matches!(self.kind, Kind::Barrier(count) if (sources.len() as u64) > count) {
            notices
                .assume(format!("barrier {number} waits for all {} connections that fire it", sources.len()));
        }
        // If several connections start several other connections, a barrier between them reduces
        // the number of edges.
        if sources.len() > 1 && targets.len() > 1 {
            let barrier = builder.node(Work::Barrier).map_err(refuse)?;
            for (parent, condition) in std::mem::take(&mut sources) {
                builder.after(barrier, parent, condition).map_err(refuse)?;
            }
            sources.push((barrier, Condition::Finished));
        }
        for &child in targets {
            for &(parent, condition) in &sources {
                builder.after(child, parent, condition).map_err(refuse)?;
            }
        }
        Ok(())
    }
}
