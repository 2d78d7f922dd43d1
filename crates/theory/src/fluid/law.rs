//! Laws that set the thresholds of a fluid switch.

use super::congestion_count::{CongestionCount, Counter};
use super::control::{Constant, Control};
use super::enhanced::{Enhanced, EnhancedLimits};

use super::model::{FluidError, Shape, not_negative};
use super::rates::{Group, Limit, LimitSide, Pool, Tank};
use super::traffic_aware::{TrafficAware, TrafficAwareLimits};

/// A threshold law, checked against the switch to which the law applies.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    shape: Shape,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Sharing,
    Partitioned,
    Split,
    Weights(Vec<f64>),
    CongestionCount(CongestionCount),
    Enhanced(EnhancedLimits),
    TrafficAware(TrafficAwareLimits),
}

impl Law {
    /// Complete Sharing: only the size of the buffer limits queues.
    #[must_use]
    pub fn complete_sharing(shape: &Shape) -> Self {
        Self { shape: shape.clone(), kind: Kind::Sharing }
    }

    /// Complete Partitioning: each queue has the limit B / queues.
    #[must_use]
    pub fn complete_partitioning(shape: &Shape) -> Self {
        Self { shape: shape.clone(), kind: Kind::Partitioned }
    }

    /// Evenly Split: all queues of a port together have the limit B / ports.
    #[must_use]
    pub fn evenly_split(shape: &Shape) -> Self {
        Self { shape: shape.clone(), kind: Kind::Split }
    }

    /// Dynamic Thresholds: each queue has the limit `α_p (B - Q)`, with α by priority (ABM Eq. 5).
    ///
    /// # Errors
    /// If there is not one α per queue of a port, or an α is negative or not finite.
    pub fn dynamic_threshold(shape: &Shape, alphas: &[f64]) -> Result<Self, FluidError> {
        if alphas.len() != shape.queues_per_port() {
            let (found, expected) = (alphas.len(), shape.queues_per_port());
            return Err(FluidError::WrongLength { what: "alpha by priority", found, expected });
        }
        let by_queue = (0..shape.queues()).map(|queue| alphas[queue % alphas.len()]).collect();
        Self::dynamic_threshold_by_queue(shape, by_queue)
    }

    /// Dynamic Thresholds with one α for each queue.
    ///
    /// # Errors
    /// If there is not one α per queue, or an α is negative or not finite.
    pub fn dynamic_threshold_by_queue(shape: &Shape, alphas: Vec<f64>) -> Result<Self, FluidError> {
        for (queue, &alpha) in shape.by_queue("alpha by queue", &alphas)?.iter().enumerate() {
            not_negative(format!("alpha of queue {queue}"), alpha)?;
        }
        Ok(Self { shape: shape.clone(), kind: Kind::Weights(alphas) })
    }

    /// ABM or Plasticine with frozen weights `ω = α γ / n` by queue (ABM Eq. 13):
    /// the limits are `ω (B - Q)`. The law equals Dynamic Thresholds with these weights as α.
    ///
    /// # Errors
    /// If there is not one weight per queue, or a weight is negative or not finite.
    pub fn frozen_weights(shape: &Shape, weights: Vec<f64>) -> Result<Self, FluidError> {
        Self::dynamic_threshold_by_queue(shape, weights)
    }

    /// ABM or Plasticine with weights that follow the number of congested queues.
    ///
    /// # Errors
    /// If a parameter is out of its range or does not fit the switch.
    pub fn congestion_count(shape: &Shape, law: CongestionCount) -> Result<Self, FluidError> {
        law.validate(shape)?;
        Ok(Self { shape: shape.clone(), kind: Kind::CongestionCount(law) })
    }

    /// The law Enhanced Dynamic Thresholds (reconstructed).
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn enhanced(shape: &Shape, law: EnhancedLimits) -> Result<Self, FluidError> {
        law.validate()?;
        Ok(Self { shape: shape.clone(), kind: Kind::Enhanced(law) })
    }

    /// The law Traffic-aware Dynamic Thresholds, with DEC corrected (erratum E-TDT-1).
    ///
    /// # Errors
    /// If a parameter is out of its range.
    pub fn traffic_aware(shape: &Shape, law: TrafficAwareLimits) -> Result<Self, FluidError> {
        law.validate()?;
        Ok(Self { shape: shape.clone(), kind: Kind::TrafficAware(law) })
    }

    /// The switch to which this law applies.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The limit of the queue or port `group` at the start of a run.
    fn first_limit(&self, group: usize) -> Limit {
        let (shape, free) = (&self.shape, |weight| Limit::Free { pool: 0, weight });
        match &self.kind {
            Kind::Sharing => Limit::None,
            Kind::Partitioned => Limit::Fixed(shape.buffer() / shape.queues() as f64),
            Kind::Split => Limit::Fixed(shape.buffer() / shape.ports() as f64),
            Kind::Weights(weights) => free(weights[group]),
            Kind::CongestionCount(law) => free(law.alphas[group]),
            Kind::Enhanced(law) => free(law.alpha),
            Kind::TrafficAware(law) => free(law.alpha),
        }
    }

    /// The state of an empty switch whose queues this law limits.
    pub(super) fn tank(&self) -> Tank {
        let shape = &self.shape;
        let per_group = match self.kind {
            Kind::Split | Kind::Enhanced(_) | Kind::TrafficAware(_) => shape.queues_per_port(),
            _ => 1,
        };
        let groups: Vec<_> = (0..shape.queues() / per_group)
            .map(|group| Group {
                queues: group * per_group..(group + 1) * per_group,
                limit: self.first_limit(group),
                place: LimitSide::Under,
            })
            .collect();
        Tank {
            capacity: shape.buffer(),
            port_rates: shape.port_rates().to_vec(),
            queues_per_port: shape.queues_per_port(),
            group_of: (0..shape.queues()).map(|queue| queue / per_group).collect(),
            pool_of: vec![0; groups.len()],
            pools: vec![Pool { size: shape.buffer(), counts_earlier: false }],
            lengths: vec![0.0; shape.queues()],
            arriving: vec![0.0; shape.queues()],
            full: false,
            groups,
        }
    }

    pub(super) fn control(&self) -> Box<dyn Control> {
        match &self.kind {
            Kind::CongestionCount(law) => Box::new(Counter::new(law.clone())),
            Kind::Enhanced(law) => Box::new(Enhanced::new(*law, &self.shape)),
            Kind::TrafficAware(law) => Box::new(TrafficAware::new(*law, &self.shape)),
            _ => Box::new(Constant),
        }
    }
}
