//! Names of captures: `eth1.pcapng.partial` while they are written, `eth1.pcapng` when they are
//! whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that do not have their names yet. If they are dropped before, they are removed: what could
/// not be written whole, on a full disk for instance, takes its room for nothing.
#[derive(Debug, Default)]
pub(super) struct Names {
    whole: Vec<PathBuf>,
    is_given: bool,
    #[cfg(target_os = "linux")]
    keeper: Option<keeper::Keeper>,
}

fn partial(whole: &Path) -> PathBuf {
    let mut name = whole.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

impl Names {
    /// Another file, which is called `whole` once it is; answers its name until then.
    pub(super) fn add(&mut self, whole: PathBuf) -> PathBuf {
        let now = partial(&whole);
        self.whole.push(whole);
        now
    }

    /// Lets a process with today's rights do the rest, if this one is root's: it is about to become
    /// somebody who may not rename files in these folders.
    #[cfg(target_os = "linux")]
    pub(super) fn keep(&mut self) -> io::Result<()> {
        if nix::unistd::geteuid().is_root() {
            self.keeper = Some(keeper::Keeper::start(&self.whole)?);
        }
        Ok(())
    }

    /// All files are whole: answers their names.
    pub(super) fn give(&mut self) -> io::Result<Vec<PathBuf>> {
        self.each(true)?;
        self.is_given = true;
        Ok(std::mem::take(&mut self.whole))
    }

    /// Names all files, or removes them.
    fn each(&mut self, are_whole: bool) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(keeper) = self.keeper.take() {
            return keeper.end(are_whole);
        }
        for whole in &self.whole {
            if are_whole {
                fs::rename(partial(whole), whole)?;
            } else {
                let _ = fs::remove_file(partial(whole));
            }
        }
        Ok(())
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if !self.is_given {
            // The error of what failed before says enough.
            let _ = self.each(false);
        }
    }
}

/// A shell that waits for one word. It sees no frame, and no data but names from the command line.
#[cfg(target_os = "linux")]
mod keeper {
    use std::io::{self, Read, Write};
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    /// Without a word the switch was killed, and leaves its files as they are.
    const SCRIPT: &str = r#"trap '' HUP INT QUIT TERM
read -r word || exit 0
for file do
    if [ "$word" = keep ]; then mv -f -- "$file.partial" "$file" || exit 1
    else rm -f -- "$file.partial"; fi
done"#;

    /// The process.
    #[derive(Debug)]
    pub(super) struct Keeper(Child);

    impl Keeper {
        pub(super) fn start(whole: &[PathBuf]) -> io::Result<Self> {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", SCRIPT, "sh"]).args(whole);
            // What a terminal or a service manager sends to end the switch is not meant for its
            // last step.
            shell.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            shell.spawn().map(Self)
        }

        pub(super) fn end(mut self, are_whole: bool) -> io::Result<()> {
            if let Some(mut word) = self.0.stdin.take() {
                word.write_all(if are_whole { b"keep\n" } else { b"remove\n" })?;
            }
            let mut told = String::new();
            if let Some(mut errors) = self.0.stderr.take() {
                errors.read_to_string(&mut told)?;
            }
            if self.0.wait()?.success() { Ok(()) } else { Err(io::Error::other(told.trim().to_owned())) }
        }
    }
}
