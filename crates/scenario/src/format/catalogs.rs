//! What the format's names come from.

use bufferlab_core::{POLICIES, policies};
use bufferlab_params::{Card, Catalog, Entry};
use bufferlab_transport::{CONGESTION_CONTROLS, UNRESPONSIVE};

/// Policies.
pub(crate) static POLICY_CATALOG: &dyn Catalog = &Policies;

/// Congestion controls, and none.
pub(crate) static CONGESTION_CONTROL_CATALOG: &dyn Catalog = &CongestionControls;

struct Policies;

impl Catalog for Policies {
    fn kind(&self) -> &'static str {
        "policy"
    }

    fn cards(&self, own: bool) -> Vec<Card> {
        let infos = if own { policies() } else { POLICIES.to_vec() };
        infos.into_iter().map(Entry::card).collect()
    }
}

struct CongestionControls;

impl Catalog for CongestionControls {
    fn kind(&self) -> &'static str {
        "congestion control"
    }

    fn cards(&self, _own: bool) -> Vec<Card> {
        let card =
            |name, title, summary, source| Card { name, aliases: &[], title, summary, source, params: &[] };
        let registered =
            CONGESTION_CONTROLS.iter().map(|info| card(info.name, info.title, info.summary, info.source));
        let none = card(
            UNRESPONSIVE,
            "Open loop",
            "Packets leave at a rate, whatever becomes of them.",
            "UDP, traffic generators",
        );
        registered.chain([none]).collect()
    }
}
