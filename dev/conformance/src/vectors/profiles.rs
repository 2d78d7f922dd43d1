//! Buffer profiles in a vector file: tables with sizes in bytes.

use bufferlab_core::{BufferProfile, Direction, ThresholdRule};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileText {
    #[serde(default)]
    ports: Vec<u16>,
    #[serde(default)]
    priorities: Vec<u8>,
    direction: Option<String>,
    alpha: Option<f64>,
    dynamic_th: Option<i32>,
    static_threshold: Option<u64>,
    reserved: Option<u64>,
    headroom: Option<u64>,
    xon: Option<u64>,
    xon_offset: Option<u64>,
}

/// Reads a buffer profile from a table of a vector file.
pub(super) fn profile(table: &toml::Value) -> Option<BufferProfile> {
    let text: ProfileText = table.clone().try_into().ok()?;
    let alpha = text.alpha.or_else(|| text.dynamic_th.map(|exponent| f64::from(exponent).exp2()));
    let fixed = text.static_threshold.map(ThresholdRule::Static);
    Some(BufferProfile {
        direction: match text.direction.as_deref() {
            None | Some("ingress") => Direction::Ingress,
            Some("egress") => Direction::Egress,
            Some(_) => return None,
        },
        ports: text.ports,
        priorities: text.priorities,
        threshold: alpha.map(ThresholdRule::Dynamic).or(fixed),
        reserved: text.reserved,
        headroom: text.headroom,
        xon: text.xon,
        xon_offset: text.xon_offset,
    })
}
