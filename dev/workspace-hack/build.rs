//! Empty: cargo considers build dependencies only of crates with a build script.
fn main() {
    // Without this line every change of a file's time in this package rebuilds the workspace.
    println!("cargo::rerun-if-changed=build.rs");
}
