//! `bufferlab` with an additional scheme: `cargo run --release -p own-policy -- compare
//! scenarios/star-incast.toml --policies dt,abm,root-share`.

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    own_policy::register()?;
    Ok(bufferlab_cli::main())
}
