//! Empty: this crate's `Cargo.toml` makes libraries of others the same in every build of the
//! workspace.
