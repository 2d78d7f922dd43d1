//! The program `bufferlab`, with the built-in schemes only.

use std::process::ExitCode;

fn main() -> ExitCode {
    bufferlab_cli::main()
}
