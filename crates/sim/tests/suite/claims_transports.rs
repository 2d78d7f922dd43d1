//! Claims that need transports: TDT's Figures 12 and 13, and the throughput of a port with
//! eviction. Claims that need many seeds are experiments (`experiments/`).

mod losspass;
mod run;
mod tdt;

use bufferlab_conformance::claims::{Claim, assert_page};

fn assert_block(name: &str, claims: &[Claim]) {
    assert_page("docs/evidence/claims-transports.md", name, claims);
}
