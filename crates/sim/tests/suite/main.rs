//! Tests of the simulator's interface: exact times, conservation, determinism,
//! and the claims that need a network.

mod artifact;
mod claims_lossless;
mod claims_tdt;
mod claims_transports;
mod classifiers;
mod closed_forms;
mod closed_loops;
mod connections;
mod conservation;
mod custom_controls;
mod custom_markers;
mod determinism;
mod device_queue;
mod expulsion;
mod failures;
mod fairness;
mod hardware;
mod headroom_search;
mod host_queues;
mod matrix;
mod multipath;
mod offload;
mod open_loop;
mod packets;
mod parts;
mod pfc;
mod pfc_faults;
mod policy_failures;
mod queueing;
mod rdma;
mod schedules;
mod support;
mod transports;
mod turns;
mod unloaded;
