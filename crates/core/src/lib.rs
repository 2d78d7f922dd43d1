//! placeholder while the modules are written
pub mod params;
pub use params::{ParamInfo, ParamKind, ParamValue, Params, Profile};
