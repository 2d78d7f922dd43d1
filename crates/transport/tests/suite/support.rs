//! Helpers of the tests: congestion controls with parameters, and their internal values.

use bufferlab_params::{ParamValue, Profile};
use bufferlab_transport::{ConfiguredControl, CongestionControl, TcpConfig, find_congestion_control};

/// The control `name` with the paper's defaults, except for the parameters in `given`.
pub(crate) fn control(name: &str, given: &[(&str, ParamValue)], config: &TcpConfig) -> ConfiguredControl {
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let info = find_congestion_control(name).expect("registered");
    info.configure_with(Profile::Paper, &given, config).expect("the parameters are in their domains")
}

/// Internal value that the congestion control reports under the name `name`.
pub(crate) fn probed(control: &CongestionControl, name: &str) -> f64 {
    control.probed(name).unwrap_or_else(|| panic!("{control:?} has no {name}"))
}
