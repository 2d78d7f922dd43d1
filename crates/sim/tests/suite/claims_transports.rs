//! Claims that need transports: TDT's Figures 12 and 13, and what a port with eviction carries.
//! Those that need many seeds are experiments (`experiments/`).

mod losspass;
mod run;
mod tdt;
