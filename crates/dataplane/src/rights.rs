//! Gives up the process's rights permanently, so that no frame can make the switch misuse these
//! rights.

use caps::CapSet;
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, geteuid, setgroups, setresgid, setresuid};

/// Number of a user and a group without files (`nobody`).
const NOBODY: u32 = 65_534;

/// Gives up all capabilities of the calling thread, including capabilities that a program could
/// regain. The thread also loses the right to gain rights by starting a program. Threads that are
/// started later have no capabilities, either.
pub(crate) fn give_up() {
    // The bounding set is cleared first, because clearing this set needs a capability. A thread
    // without this capability has no other capabilities to give up.
    let _ = caps::clear(None, CapSet::Bounding);
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        let _ = caps::clear(None, set);
    }
    let _ = nix::sys::prctl::set_no_new_privs();
}

/// Changes the user of a process that root started to the caller of sudo(8), or to `nobody`.
/// Afterwards, the process gives up all capabilities. The process must have only one thread: other
/// threads would keep their capabilities.
///
/// # Errors
/// If the user cannot be changed. In a user namespace without other users, root has only the rights
/// of the namespace's owner. The user then does not change.
pub(crate) fn give_up_as_process() -> Result<(), Errno> {
    let _ = caps::clear(None, CapSet::Bounding);
    let (user, group) = successor(|name| std::env::var(name).ok());
    if geteuid().is_root() && is_mapped("/proc/self/uid_map", user) && is_mapped("/proc/self/gid_map", group)
    {
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        setgroups(&[])?;
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
    }
    give_up();
    Ok(())
}

/// Returns the user and the group to which a process of root changes.
fn successor(variable: impl Fn(&str) -> Option<String>) -> (u32, u32) {
    let id = |name| variable(name)?.parse().ok().filter(|&id: &u32| id != 0);
    id("SUDO_UID").zip(id("SUDO_GID")).unwrap_or((NOBODY, NOBODY))
}

/// Whether the user namespace maps the user or group `id`: user_namespaces(7).
fn is_mapped(map: &str, id: u32) -> bool {
    let text = std::fs::read_to_string(map).unwrap_or_default();
    text.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [first, _, count] if (first..first + count).contains(&u64::from(id)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_followed_by_who_called_sudo_or_by_nobody() {
        let sudo =
            |user: &'static str| move |name: &str| Some(if name == "SUDO_UID" { user } else { "7" }.into());
        assert_eq!(successor(sudo("1000")), (1_000, 7));
        for user in ["0", "", "root"] {
            assert_eq!(successor(sudo(user)), (NOBODY, NOBODY), "{user}");
        }
        assert_eq!(successor(|_| None), (NOBODY, NOBODY));
    }

    #[test]
    fn a_user_is_known_where_the_map_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let map = folder.path().join("uid_map");
        let has = |text: &str, id| {
            std::fs::write(&map, text).expect("writable");
            is_mapped(map.to_str().expect("text"), id)
        };
        assert!(has("         0          0 4294967295\n", NOBODY));
        assert!(!has("         0       1000          1\n", NOBODY));
        assert!(has("0 1000 1\n1 100000 65536\n", NOBODY));
        assert!(!is_mapped("/nowhere", 0));
    }
}
