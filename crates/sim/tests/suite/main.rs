//! The simulator, from outside: exact times, conservation, determinism, and the claims that need a network.

mod claims_lossless;
mod claims_tdt;
mod claims_transports;
mod closed_loops;
mod connections;
mod conservation;
mod determinism;
mod expulsion;
mod failures;
mod fairness;
mod hardware;
mod host_queues;
mod matrix;
mod multipath;
mod offload;
mod open_loop;
mod own_controls;
mod pfc;
mod pfc_faults;
mod policy_failures;
mod queueing;
mod rdma;
mod support;
mod transports;
mod turns;
mod unloaded;
