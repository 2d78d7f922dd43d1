//! A fluid model of shared buffers: exact and piecewise linear, without time steps.
//!
//! In the model, packets are a liquid. Queue i has the length `q_i`. Liquid arrives at piecewise
//! constant rates. Each port drains at its line rate, which its backlogged queues share round
//! robin. A [`Law`] limits the length of queues (or ports). Events are a queue that reaches its
//! limit, an empty queue, a full buffer, a source that starts or a counter that reaches its limit.
//! Between two events every length and every limit is a linear function of time. So the integrator
//! computes the next event and advances to the time of this event.
//!
//! All sizes share one unit, and rates are in that unit per unit of time.
//! Valid units are bytes, bytes per second and seconds, or packets and packet times.
//!
//! ```
//! use bufferlab_theory::fluid::{Fluid, Law, Shape, Source};
//!
//! // Plasticine Fig. 3: 60 packets, a long queue with alpha 1; a burst at five times the line rate with alpha 2.
//! let shape = Shape::new(60.0, vec![1.0; 2], 1)?;
//! let law = Law::dynamic_threshold_by_queue(&shape, vec![1.0, 2.0])?;
//! let run = Fluid::new(shape, law)?
//!     .starting_with(&[30.0, 0.0])?
//!     .with(Source { queue: 0, rate: 5.0, start: 0.0, end: 100.0 })?
//!     .with(Source { queue: 1, rate: 5.0, start: 0.0, end: 100.0 })?
//!     .run(20.0)?;
//! let first = run.first_refusal(1).expect("it drops");
//! assert!((first.time - 6.0).abs() < 1e-9 && (first.stored - 24.0).abs() < 1e-9);
//! // Steady from t = 15.
//! assert!((run.length(0, 15.0) - 15.0).abs() < 1e-9);
//! # Ok::<(), bufferlab_theory::fluid::FluidError>(())
//! ```
//!
//! The page `docs/concepts/fluid.md` describes the model's exactness and its few idealisations.

/// Compiles and runs the example of the model's documentation page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/concepts/fluid.md")]
struct Page;

mod congestion_count;
mod control;
mod enhanced;
mod filter;
mod law;
mod machines;
mod model;
mod overflow;
mod rates;
mod run;
mod setup;
mod sonic;
mod traffic_aware;
mod trajectory;

pub use congestion_count::{CongestionCount, DrainRate, Refresh};
pub use enhanced::EnhancedLimits;
pub use filter::{Reverie, ReveriePoint, ReverieQueue, ReverieRun};
pub use law::Law;
pub use model::{FluidError, Shape, Source};
pub use setup::Fluid;
pub use sonic::Sonic;
pub use traffic_aware::TrafficAwareLimits;
pub use trajectory::{Breakpoint, PortState, Refusal, Trajectory};
