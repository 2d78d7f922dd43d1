//! Debian systems in folders, in which tasks try packages and execute the steps of container files.
//!
//! `debootstrap` downloads the base system of a suite once; each trial gets a copy.

use crate::{renew, run as spawn, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Script that enters a root. The arguments are the root, a user, a folder and a command. Mounts
/// are private to the command, so nothing stays mounted.
const ENTER: &str = "root=$1 user=$2 place=$3; shift 3; mount -t proc proc \"$root/proc\" && \
    mount -t devpts devpts \"$root/dev/pts\" && \
    exec chroot --userspec=\"$user\" \"$root\" /usr/bin/env -C \"$place\" \"$@\"";

/// Certificates that this machine trusts, and their copy in a root.
const CERTIFICATES: (&str, &str) = ("/etc/ssl/certs/ca-certificates.crt", "/etc/machine-certificates.crt");

/// A Debian system in a folder.
#[derive(Debug)]
pub(crate) struct Root {
    folder: PathBuf,
}

impl Root {
    /// Creates the base system of a Debian suite in `folder`, in place of an earlier one.
    ///
    /// # Errors
    /// If `debootstrap` is missing or fails, or the caller is not root.
    pub(crate) fn create(suite: &str, folder: &Path) -> Result<Self, String> {
        let base = target()?.join("chroot").join(suite);
        let finished = base.with_extension("finished");
        if !finished.exists() {
            renew(&base)?;
            eprintln!("== debootstrap {suite}");
            // The script `sid` fits all suites, also those that are newer than debootstrap. Without
            // a mirror, debootstrap uses Debian's.
            let script = "/usr/share/debootstrap/scripts/sid";
            let mut debootstrap = Command::new("debootstrap");
            debootstrap.args(["--variant=minbase", suite]).arg(&base).args(["", script]);
            spawn(&mut debootstrap).map_err(|why| {
                format!("{why}\nhint: as root: apt-get install debootstrap; {}", base.display())
            })?;
            write(&finished, "")?;
        }
        renew(folder)?;
        let content = base.join(".");
        spawn(Command::new("cp").args(["--archive", "--reflink=auto"]).arg(content).arg(folder))?;
        let root = Self { folder: folder.to_owned() };
        // The network of this machine: names of hosts, certificates, and a mirror that may be late.
        for (from, to) in [("/etc/resolv.conf", "/etc/resolv.conf"), CERTIFICATES] {
            if let Ok(text) = fs::read_to_string(from) {
                write(&root.path(to), &text)?;
            }
        }
        write(&root.path("/etc/apt/apt.conf.d/late-mirror"), "Acquire::Check-Valid-Until \"false\";\n")?;
        Ok(root)
    }

    /// Path of a file of the root, seen from outside.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.join(inside.trim_start_matches('/'))
    }

    /// Returns the command that `user` executes in the folder `place` of the root.
    pub(crate) fn command(&self, user: &str, place: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", ENTER, "sh"]).arg(&self.folder).args([user, place]);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
            .env("HOME", self.home(user))
            .env("LC_ALL", "C.UTF-8")
            .env("CARGO_HTTP_CAINFO", CERTIFICATES.1);
        command
    }

    /// Home folder of a user of the root.
    fn home(&self, user: &str) -> String {
        let users = fs::read_to_string(self.path("/etc/passwd")).unwrap_or_default();
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let home = fields.filter(|fields| fields[0] == user).find_map(|fields| fields.get(5).copied());
        home.unwrap_or("/").to_owned()
    }

    /// Size of a part of the root (MB).
    ///
    /// # Errors
    /// If the part cannot be read.
    pub(crate) fn megabytes(&self, inside: &str) -> Result<f64, String> {
        let shown =
            crate::output(Command::new("du").args(["--summarize", "--bytes"]).arg(self.path(inside)))?;
        let shown = String::from_utf8_lossy(&shown).into_owned();
        let bytes = shown.split_whitespace().next().and_then(|bytes| bytes.parse::<f64>().ok());
        bytes.map(|bytes| bytes / 1e6).ok_or_else(|| format!("du: {shown}"))
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
