//! Empty: the `Cargo.toml` of this crate gives other libraries equal features in every build of the
//! workspace.
