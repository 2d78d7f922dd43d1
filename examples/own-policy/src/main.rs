//! `bufferlab` with the policy `root-share`: every command knows it.

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    own_policy::register()?;
    Ok(bufferlab_cli::main())
}
