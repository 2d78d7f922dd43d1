//! What the format's names come from.

use bufferlab_core::policy::REGISTRY;
use bufferlab_params::{Card, Catalog};
use bufferlab_transport::{CONTROLS, UNRESPONSIVE};

/// Policies.
pub(crate) static POLICY_CATALOG: &dyn Catalog = &REGISTRY;

/// Congestion controls, and none.
pub(crate) static CONGESTION_CONTROL_CATALOG: &dyn Catalog = &ControlsAndNone;

struct ControlsAndNone;

impl Catalog for ControlsAndNone {
    fn kind(&self) -> &'static str {
        CONTROLS.kind()
    }

    fn cards(&self, own: bool) -> Vec<Card> {
        let mut cards = CONTROLS.cards(own);
        cards.push(Card {
            name: UNRESPONSIVE,
            aliases: &[],
            title: "Open loop",
            summary: "Packets leave at a rate, without regard to losses.",
            source: "UDP, traffic generators",
            params: &[],
        });
        cards
    }
}
