//! Claims that need transports: TDT's Figures 12 and 13, and what a port with eviction carries. Those that need many seeds are experiments (`experiments/`).

mod losspass;
mod run;
mod tdt;

use bufferlab_conformance::claims::{Claim, assert_page};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Compares a block of the page with what was found, or writes it: one at a time, for they are in one file.
fn assert_block(name: &str, claims: &[Claim]) {
    static PAGE: Mutex<()> = Mutex::new(());
    for claim in claims {
        // Done before the lock, so that others need not wait for the runs.
        (claim.check)();
    }
    let _guard = PAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/claims-transports.md");
    assert_page(&page, name, claims);
}
