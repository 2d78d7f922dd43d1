//! Rights and programs of this machine.

/// Whether this process has the rights of an administrator.
#[cfg(target_os = "linux")]
pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// Whether this process has the rights of an administrator: never, on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn is_root() -> bool {
    false
}

/// Whether a program is in one of the folders of PATH, or where administrators' programs are.
pub(crate) fn find(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).any(|file| file.is_file())
}
