//! Buffer profiles: values for some queues of a switch that replace the general parameters.
//! The profiles are SONiC's `BUFFER_PROFILE`, `BUFFER_PG` and `BUFFER_QUEUE`.

use crate::choices;
use crate::info::Misfit;
use std::fmt;

/// Smallest and largest α of a profile. With the largest α, the threshold never limits a queue.
const ALPHAS: std::ops::RangeInclusive<f64> = 1e-6..=65_536.0;

choices! {
    /// Side of the switch to whose queues a profile applies.
    #[derive(Default)]
    pub enum Direction {
        #[default]
        Ingress = "ingress": "queues by ingress port (SONiC: priority groups)",
        Egress = "egress": "queues by egress port",
    }
}

/// Rule for the limit of a queue's length: fixed, or a factor of the free pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ThresholdRule {
    /// α times the free space of the queue's pool. SONiC's `dynamic_th` is log₂ α.
    Dynamic(f64),
    /// The limit is a fixed number of bytes (SONiC's `static_th`).
    Static(u64),
}

/// A buffer profile: values for some queues that replace the policy's parameters. If a field is
/// `None`, the policy's parameter applies.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct BufferProfile {
    /// Numbers of the ports to which the profile applies; empty means all ports.
    pub ports: Vec<u16>,
    /// Priorities to which the profile applies; empty means all priorities.
    pub priorities: Vec<u8>,
    /// Side of the switch to which the profile applies.
    pub direction: Direction,
    /// Threshold at which a lossless ingress queue pauses its sender.
    /// Any other queue loses packets at this threshold.
    pub threshold: Option<ThresholdRule>,
    /// Reserved buffer of each queue, below its threshold (bytes; SONiC's `size`).
    pub reserved: Option<u64>,
    /// Headroom of each ingress queue for packets that arrive after a pause (bytes;
    /// SONiC's `xoff`).
    pub headroom: Option<u64>,
    /// Length below which a paused ingress queue resumes (bytes).
    pub xon: Option<u64>,
    /// Distance below the threshold at which a paused ingress queue resumes (bytes).
    pub xon_offset: Option<u64>,
}

impl BufferProfile {
    /// Whether the profile applies to the queue of `priority` at `port` on the side `direction`.
    #[must_use]
    pub fn covers(&self, direction: Direction, port: usize, priority: usize) -> bool {
        self.direction == direction
            && (self.ports.is_empty() || self.ports.iter().any(|&listed| usize::from(listed) == port))
            && (self.priorities.is_empty()
                || self.priorities.iter().any(|&listed| usize::from(listed) == priority))
    }

    /// Checks the values of the profile as far as possible without a switch.
    ///
    /// # Errors
    /// Returns the value that the invalid key of the profile should have.
    pub fn check(&self) -> Result<(), Misfit> {
        if let Some(ThresholdRule::Dynamic(alpha)) = self.threshold
            && !ALPHAS.contains(&alpha)
        {
            let expected = format!("an alpha from {} to {}", ALPHAS.start(), ALPHAS.end());
            return Err(Misfit::new(expected, alpha));
        }
        let of_ingress = [("headroom", self.headroom), ("xon", self.xon), ("xon_offset", self.xon_offset)];
        let given = of_ingress.iter().find(|(_, value)| value.is_some());
        let expected = match (self.direction, given) {
            (Direction::Egress, Some((name, _))) => {
                format!("no `{name}` in an egress profile: only ingress queues pause")
            }
            (_, None) if self.threshold.is_none() && self.reserved.is_none() => {
                "at least one of alpha, dynamic_th, static_threshold, reserved, headroom, xon, xon_offset"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(Misfit { profile: None, expected, found: None })
    }
}

/// Writes the buffer profile as an inline table, as in a scenario file.
impl fmt::Display for BufferProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{ direction = \"{}\"", self.direction.word())?;
        if !self.ports.is_empty() {
            write!(f, ", ports = {:?}", self.ports)?;
        }
        if !self.priorities.is_empty() {
            write!(f, ", priorities = {:?}", self.priorities)?;
        }
        match self.threshold {
            None => {}
            Some(ThresholdRule::Dynamic(alpha)) => write!(f, ", alpha = {alpha:?}")?,
            Some(ThresholdRule::Static(bytes)) => write!(f, ", static_threshold = \"{bytes} B\"")?,
        }
        for (name, value) in [
            ("reserved", self.reserved),
            ("headroom", self.headroom),
            ("xon", self.xon),
            ("xon_offset", self.xon_offset),
        ] {
            if let Some(bytes) = value {
                write!(f, ", {name} = \"{bytes} B\"")?;
            }
        }
        f.write_str(" }")
    }
}
