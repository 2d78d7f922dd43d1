//! Setup of a fluid run: its switch, law and traffic.

use super::control::Constant;
use super::law::Law;
use super::model::{FluidError, Shape, Source, checked, not_negative, positive};
use super::rates::Tank;
use super::run::{Run, SMALL_LENGTH};
use super::trajectory::Trajectory;

/// Default of the maximum number of events in a run. A busy run of 64 queues over 100 ms needs
/// about ten thousand events.
const EVENTS: usize = 5_000_000;

/// A switch, a law and traffic, ready to run.
#[derive(Clone, Debug)]
pub struct Fluid {
    pub(super) tank: Tank,
    law: Option<Law>,
    shape: Shape,
    pub(super) sources: Vec<Source>,
    pub(super) record: bool,
    pub(super) max_events: usize,
}

impl Fluid {
    /// An empty switch under the law `law`, at time 0, without traffic.
    ///
    /// # Errors
    /// If the law is for a switch of another shape.
    pub fn new(shape: Shape, law: Law) -> Result<Self, FluidError> {
        let (found, expected) = (law.shape().queues(), shape.queues());
        if found != expected || *law.shape() != shape {
            return Err(FluidError::WrongLength { what: "queues of the law's switch", found, expected });
        }
        Ok(Self::with_tank(law.tank(), Some(law), shape))
    }

    pub(super) fn with_tank(tank: Tank, law: Option<Law>, shape: Shape) -> Self {
        Self { tank, law, shape, sources: Vec::new(), record: true, max_events: EVENTS }
    }

    /// Sets the length of each queue at the start. Lengths may exceed limits, but not the buffer.
    ///
    /// # Errors
    /// If there is not one length per queue, a length is negative or not finite, or the sum of
    /// lengths exceeds the buffer.
    pub fn starting_with(mut self, lengths: &[f64]) -> Result<Self, FluidError> {
        for (queue, &length) in self.shape.by_queue("length by queue", lengths)?.iter().enumerate() {
            not_negative(format!("the length of queue {queue}"), length)?;
        }
        let (sum, capacity) = (lengths.iter().sum::<f64>(), self.tank.capacity);
        let fits = sum <= capacity * (1.0 + SMALL_LENGTH);
        checked("the sum of all lengths", sum, fits, "at most the buffer")?;
        self.tank.lengths = lengths.to_vec();
        for pool in 0..self.tank.pools.len() {
            let (held, size) = (self.tank.occupancy(pool), self.tank.pools[pool].size);
            checked("what a pool holds", held, held <= size * (1.0 + SMALL_LENGTH), "at most its size")?;
        }
        Ok(self)
    }

    /// Adds a source of traffic to the fluid model.
    ///
    /// # Errors
    /// If the source's queue does not exist, its rate is negative or not finite, or the source ends
    /// before it starts.
    pub fn with(mut self, source: Source) -> Result<Self, FluidError> {
        self.sources.push(source.validate(&self.shape)?);
        Ok(self)
    }

    /// Keeps only the first and the last breakpoint of a run, to save memory. First refusals and
    /// sums of the run are not affected.
    #[must_use]
    pub fn without_record(mut self) -> Self {
        self.record = false;
        self
    }

    /// Sets the maximum number of events of a run. The default is 5 million.
    #[must_use]
    pub fn with_event_limit(mut self, events: usize) -> Self {
        self.max_events = events;
        self
    }

    /// Runs the model from time 0 to `end`.
    ///
    /// # Errors
    /// If `end` is not a finite number above 0, if there are more events than allowed, or if events
    /// repeat without progress.
    pub fn run(&self, end: f64) -> Result<Trajectory, FluidError> {
        self.run_until(end, None)
    }

    /// Runs the model until the first refusal to `queue`, at most to the time `end`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`]. Also fails if `queue` does not exist.
    pub fn run_to_first_refusal(&self, queue: usize, end: f64) -> Result<Trajectory, FluidError> {
        self.run_until(end, Some(self.shape.known(queue)?))
    }

    fn run_until(&self, end: f64, watched: Option<usize>) -> Result<Trajectory, FluidError> {
        positive("the end of the run", end)?;
        let control = match &self.law {
            Some(law) => law.control(),
            None => Box::new(Constant),
        };
        let mut run = Run::new(self, control, end);
        run.play(watched)?;
        Ok(run.trajectory)
    }
}
