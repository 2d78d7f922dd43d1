//! Registries of the entries, such as policies, that a scenario file can name.

use bufferlab_core::policy::REGISTRY;
use bufferlab_core::{CLASSIFIERS, MARKERS};
use bufferlab_params::{Card, Catalog};
use bufferlab_transport::{CONTROLS, UNRESPONSIVE};

/// Catalog of the registered buffer policies.
pub(crate) static POLICY_CATALOG: &dyn Catalog = &REGISTRY;

/// Catalog of the registered classifiers, which choose queues for packets.
pub(crate) static CLASSIFIER_CATALOG: &dyn Catalog = &CLASSIFIERS;

/// Catalog of the registered congestion controls, and the word `none`.
pub(crate) static CONGESTION_CONTROL_CATALOG: &dyn Catalog = &AndNone {
    catalog: &CONTROLS,
    none: Card {
        name: UNRESPONSIVE,
        aliases: &[],
        title: "Open loop",
        summary: "Packets leave at a rate, without regard to losses.",
        source: "UDP, traffic generators",
        params: &[],
    },
};

/// Value of `kind` for a switch that does not mark packets.
pub(crate) const NO_MARKS: &str = "none";

/// Catalog of the registered marking rules, and the word `none`.
pub(crate) static MARKER_CATALOG: &dyn Catalog = &AndNone {
    catalog: &MARKERS,
    none: Card {
        name: NO_MARKS,
        aliases: &[],
        title: "No marks",
        summary: "No marking; for an override that switches it off.",
        source: "",
        params: &[],
    },
};

/// A catalog of a registry's entries, and a word that selects no entry.
struct AndNone {
    catalog: &'static dyn Catalog,
    none: Card,
}

impl Catalog for AndNone {
    fn kind(&self) -> &'static str {
        self.catalog.kind()
    }

    fn cards(&self, own: bool) -> Vec<Card> {
        let mut cards = self.catalog.cards(own);
        cards.push(self.none);
        cards
    }
}
