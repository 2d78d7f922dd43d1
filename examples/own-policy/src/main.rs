//! The program `bufferlab` with the policy `root-share`, which every command supports.

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    own_policy::register()?;
    Ok(bufferlab_cli::main())
}
