//! Compares the scheme with two that bufferlab has: `cargo run --release -p own-policy -- scenarios/star-incast.toml`.

use bufferlab_lab::{Execution, Job, Unwatched, execute};
use bufferlab_report::Report;
use std::error::Error;
use std::path::PathBuf;

const POLICIES: [&str; 3] = ["dt", "abm", "root-share"];
const SEEDS: u64 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    own_policy::register()?;
    let scenario = std::env::args_os().nth(1).map(PathBuf::from);
    let scenario = scenario.ok_or("which scenario? for example scenarios/star-incast.toml")?;
    let folder = tempfile::tempdir()?;
    let mut jobs = Vec::new();
    for policy in POLICIES {
        for seed in 1..=SEEDS {
            let changes =
                [("switch.policy".to_owned(), policy.to_owned()), ("seed".to_owned(), seed.to_string())];
            jobs.push(Job {
                loaded: bufferlab_scenario::load(&scenario, &changes)?,
                dir: folder.path().join(policy).join(format!("seed-{seed}")),
                caveats: Vec::new(),
            });
        }
    }
    for outcome in execute(&jobs, &Execution::default(), &Unwatched)? {
        outcome?;
    }
    let order = POLICIES.map(str::to_owned);
    print!("{}", Report::load(folder.path(), &order)?.text());
    Ok(())
}
