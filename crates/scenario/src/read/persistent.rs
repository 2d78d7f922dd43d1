//! Reads `persistent` and its keys: connections that several messages share.

use crate::context::Complaint;
use crate::model::PersistentSpec;
use crate::reader::Reader;
use bufferlab_core::Profile;

/// Reads the keys of persistent connections. `Some(None)` means that every flow has
/// a new connection.
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

/// Reads the key `full_connection`. A connection that stays open sends no FIN.
pub(super) fn read_full_connection(
    reader: &mut Reader<'_>,
    is_persistent: bool,
    profile: Profile,
) -> Option<bool> {
    let written = reader.flag("full_connection");
    if reader.has("full_connection") && written.is_none() {
        return None;
    }
    if is_persistent && written == Some(true) {
        let complaint = Complaint::new(
            "connections that stay open do not end with their messages",
            "`persistent` keeps them open",
        );
        reader.error("full_connection", complaint.help("remove `full_connection`, or `persistent`"));
        return None;
    }
    let is_full = written.unwrap_or(profile == Profile::Artifact && !is_persistent);
    reader.out.set("full_connection", is_full.to_string());
    Some(is_full)
}
