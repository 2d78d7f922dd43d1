//! Critical path of a schedule's execution: the trail records which node each node has waited for.
//!
//! A step stays in memory while its node is in progress, or while a step in memory refers to the
//! node. So the trail forgets every node on which no node in progress depends.

use crate::notes::Cause;
use bufferlab_units::Time;
use std::collections::BTreeMap;

/// A schedule node that may be on the critical path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathStep {
    pub(super) cause: Cause,
    pub(super) end: Time,
    pub(super) flow: Option<u64>,
    /// Number of references to the step. A node in progress and the node that ended last have one
    /// reference each. Each delayed event of the node has a reference to the step. Each later step
    /// whose cause is the node has a reference, too. A wait for the end of the sender has one more
    /// reference.
    references: u32,
}

/// Steps of the execution of one schedule that may be on its critical path.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    steps: BTreeMap<u32, PathStep>,
    last: Option<u32>,
}

impl Trail {
    /// Adds a schedule node that has just become ready, with the cause of its readiness.
    pub(super) fn add(&mut self, node: u32, cause: Cause) {
        self.retain(cause.node);
        self.steps.insert(node, PathStep { cause, end: Time::MAX, flow: None, references: 1 });
    }

    /// Replaces the cause of a node in progress by a later event.
    pub(super) fn delay(&mut self, node: u32, cause: Cause) {
        self.retain(cause.node);
        let step = self.steps.get_mut(&node).expect("a node in progress has a step");
        let before = std::mem::replace(&mut step.cause, cause);
        self.release(before.node);
    }

    /// Records the end of a schedule node, which becomes the node that ended last.
    pub(super) fn end(&mut self, node: u32, end: Time, flow: Option<u64>) {
        let step = self.steps.get_mut(&node).expect("a node in progress has a step");
        (step.end, step.flow) = (end, flow);
        // The node in progress becomes the node that ended last, so its step keeps the reference.
        let before = self.last.replace(node);
        self.release(before);
    }

    /// Adds one reference to the step of `node`, so that the step stays in memory.
    pub(super) fn retain(&mut self, node: Option<u32>) {
        if let Some(step) = node.and_then(|node| self.steps.get_mut(&node)) {
            step.references += 1;
        }
    }

    /// Removes a reference to a step. Removes every step that has no references left.
    pub(super) fn release(&mut self, node: Option<u32>) {
        let mut next = node;
        while let Some(node) = next
            && let Some(step) = self.steps.get_mut(&node)
        {
            step.references -= 1;
            if step.references > 0 {
                return;
            }
            next = step.cause.node;
            self.steps.remove(&node);
        }
    }

    /// Removes and returns the critical path, the first node first.
    pub(super) fn take_path(&mut self) -> Vec<(u32, PathStep)> {
        let mut path = Vec::new();
        let mut next = self.last;
        while let Some(node) = next
            && let Some(step) = self.steps.remove(&node)
        {
            next = step.cause.node;
            path.push((node, step));
        }
        path.reverse();
        *self = Self::default();
        path
    }

    /// Number of steps that the trail has in memory.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_metrics::WaitedFor;

    fn after(node: Option<u32>, at: u64) -> Cause {
        Cause { node, event: WaitedFor::Node, at: Time(at) }
    }

    #[test]
    fn steps_without_consequences_are_forgotten() {
        let mut trail = Trail::default();
        trail.add(0, after(None, 0));
        trail.add(1, after(None, 0));
        trail.end(0, Time(5), None);
        assert_eq!(trail.len(), 2, "nothing has ended after node 0");
        trail.add(2, after(Some(0), 5));
        trail.end(1, Time(7), None);
        trail.end(2, Time(9), Some(3));
        assert_eq!(trail.len(), 2, "nothing waited for node 1");
        let path: Vec<_> = trail.take_path().into_iter().map(|(node, step)| (node, step.end.0)).collect();
        assert_eq!(path, [(0, 5), (2, 9)]);
        assert_eq!(trail.len(), 0);
    }

    #[test]
    fn a_busy_processor_replaces_the_parent() {
        let mut trail = Trail::default();
        for node in [0, 1] {
            trail.add(node, after(None, 0));
        }
        trail.end(0, Time(4), None);
        trail.add(2, after(Some(0), 4));
        trail.delay(2, Cause { node: Some(1), event: WaitedFor::Processor, at: Time(6) });
        trail.end(1, Time(6), None);
        trail.end(2, Time(8), None);
        assert_eq!(trail.take_path().iter().map(|(node, _)| *node).collect::<Vec<_>>(), [1, 2]);
    }
}
