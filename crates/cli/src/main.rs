//! `bufferlab`, with what it has built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    bufferlab_cli::main()
}
