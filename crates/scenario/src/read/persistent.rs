//! `persistent` and what goes with it: do messages share connections?

use crate::context::Complaint;
use crate::model::PersistentSpec;
use crate::reader::Reader;

/// `Some(None)`: every flow has a connection of its own.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<Option<PersistentSpec>> {
    let persistent = reader.flag("persistent");
    let connections_per_pair = reader.small_count("connections_per_pair");
    let idle_restart = reader.flag("idle_restart");
    if persistent? {
        if (reader.has("connections_per_pair") && connections_per_pair.is_none())
            || (reader.has("idle_restart") && idle_restart.is_none())
        {
            return None;
        }
        let idle_restart = idle_restart.unwrap_or(true);
        reader.out.set("idle_restart", idle_restart.to_string());
        return Some(Some(PersistentSpec { connections_per_pair, idle_restart }));
    }
    for key in ["connections_per_pair", "idle_restart"] {
        if reader.has(key) {
            let complaint = Complaint::new(
                format!("`{key}` goes with persistent = true only"),
                "every flow has a connection of its own",
            );
            reader.error(key, complaint.help(format!("add persistent = true, or remove `{key}`")));
        }
    }
    (!reader.has("connections_per_pair") && !reader.has("idle_restart")).then_some(None)
}
