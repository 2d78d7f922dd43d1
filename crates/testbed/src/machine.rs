//! Checks the rights of this process and the programs of this machine.

/// Whether this process has the rights of the administrator (root).
#[cfg(target_os = "linux")]
pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Whether this process has the rights of the administrator: always false on systems other than
/// Linux.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn is_root() -> bool {
    false
}

/// Whether a program is in a folder of PATH, or in a folder where systems have administrators'
/// programs.
pub(crate) fn find(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).any(|file| file.is_file())
}
