//! Tests of the transports as state machines: the equations of congestion controls, recovery and
//! windows.

mod bursts;
mod dcqcn;
mod first_ack;
mod laws;
mod ns3_states;
mod rdma;
mod recovery;
mod support;
mod windows;
