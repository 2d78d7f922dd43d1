//! Answers operators' questions about a SONiC configuration. What does the configuration do under
//! the operator's traffic? What would another alpha or policy do? At which packets does the
//! simulated chip pause, drop and resume?
//!
//! The crate `bufferlab-sonic` interprets a configuration and does not depend on the simulator.
//! This crate makes a simulated switch from the configuration.
//!
//! * [`Model`]: the memory of a configured chip, as a model for the simulated switch.
//! * [`scenario()`]: the scenario file of a model in a [`Network`], under a chosen [`Traffic`].
//! * [`WhatIf`]: variants of alpha and policy, compared by pairs of runs, with a recommendation.
//! * [`Qualification`]: simulator runs that measure the pause, loss and resume points of
//!   [`Vectors`].
//! * [`probe`]: a line protocol through which testers search for thresholds of the simulated chip.
//! * [`store`]: the databases of a running switch. [`tune`]: alphas that follow the switch's
//!   counters.
//! * [`Vectors`]: numbers of packets until pause, loss and resume, by the chip's rules and on a
//!   [`Bench`].

pub mod bench;
mod gather;
mod headroom;
mod limits;
mod meter;
mod model;
mod network;
pub mod probe;
mod qos;
mod qualification;
mod scenario;
mod schedule;
pub mod store;
mod traffic;
pub mod tune;
pub mod vectors;
pub mod what_if;

pub use bench::Bench;
pub use headroom::{QueueHeadroom, headroom_answers};
pub use limits::LIMITS;
pub use meter::{Counters, Levels};
pub use model::{GroupModel, Limit, Model, PRIORITIES, PortModel, QueueModel};
pub use network::Network;
pub use qualification::{Qualification, Sender};
pub use scenario::{policy_parameters, scenario};
pub use traffic::{Kind, Traffic};
pub use vectors::Vectors;
pub use what_if::WhatIf;

use bufferlab_sonic::silicon::PredictError;

/// Reason why a command is impossible with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OperatorError {
    /// Text of the error message for the operator.
    pub message: String,
    /// Advice to the user on how to correct the error.
    pub help: String,
}

impl OperatorError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

impl From<PredictError> for OperatorError {
    fn from(error: PredictError) -> Self {
        Self { message: error.message, help: error.help }
    }
}
