//! Passes the git commit of the sources to the program, if git knows it.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let revision = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    if let Ok(output) = revision
        && output.status.success()
    {
        println!("cargo::rustc-env=BUFFERLAB_COMMIT={}", String::from_utf8_lossy(&output.stdout).trim());
    }
}
