//! Claims about transports: TDT's Figures 12 and 13, and the throughput of a port with eviction.
//! Claims that need many seeds are experiments (`experiments/`).

mod losspass;
mod run;
mod tdt;
