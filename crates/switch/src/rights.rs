//! Rights of a thread that are given up, for ever.

use caps::{CapSet, Capability, CapsHashSet};

/// The sockets are open: whatever a frame makes this thread do, it has no rights for it.
pub(crate) fn give_up() {
    for set in [CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        // Whoever has none cannot lose any.
        let _ = caps::clear(None, set);
    }
}

/// Keeps what it takes to give files their names in a folder of somebody else, and nothing else.
pub(crate) fn keep_only_files() {
    let files = CapsHashSet::from([Capability::CAP_DAC_OVERRIDE]);
    let _ = caps::clear(None, CapSet::Inheritable);
    for set in [CapSet::Effective, CapSet::Permitted] {
        // Who does not have it has none after this.
        if caps::set(None, set, &files).is_err() {
            let _ = caps::clear(None, set);
        }
    }
}
