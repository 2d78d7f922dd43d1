//! File names of captures: `eth1.pcapng.partial` while the file is written, then `eth1.pcapng`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Capture files that have only preliminary names. Dropping the value removes the files: an
/// incomplete file, for instance after a full disk, would only waste space.
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
    /// Adds a file whose final name is `whole`, and returns the file's preliminary name.
    pub(super) fn add(&mut self, whole: PathBuf) -> PathBuf {
        let now = partial(&whole);
        self.whole.push(whole);
        now
    }

    /// Starts a helper process that can rename the captures, if the switch runs as root. The switch
    /// then changes to a user who may not rename files in the folders of the captures.
    #[cfg(target_os = "linux")]
    pub(super) fn keep(&mut self) -> io::Result<()> {
        if nix::unistd::geteuid().is_root() {
            self.keeper = Some(keeper::Keeper::start(&self.whole)?);
        }
        Ok(())
    }

    /// Gives all capture files their final names, because they are complete, and returns the final
    /// names.
    pub(super) fn give(&mut self) -> io::Result<Vec<PathBuf>> {
        self.each(true)?;
        self.is_given = true;
        Ok(std::mem::take(&mut self.whole))
    }

    /// Renames all capture files if `are_whole` is true, otherwise removes the capture files.
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
            // The switch has already reported the error that caused the drop of this value.
            let _ = self.each(false);
        }
    }
}

/// Shell process that waits for one word and then renames or removes captures. The shell gets only
/// names from the command line, and no frames.
#[cfg(target_os = "linux")]
mod keeper {
    use std::io::{self, Read, Write};
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    /// If the shell process reads no word, the switch was killed. The capture files then keep their
    /// preliminary names.
    const SCRIPT: &str = r#"trap '' HUP INT QUIT TERM
read -r word || exit 0
for file do
    if [ "$word" = keep ]; then mv -f -- "$file.partial" "$file" || exit 1
    else rm -f -- "$file.partial"; fi
done"#;

    /// The waiting shell process, which renames or removes the files of a capture at its end.
    #[derive(Debug)]
    pub(super) struct Keeper(Child);

    impl Keeper {
        pub(super) fn start(whole: &[PathBuf]) -> io::Result<Self> {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", SCRIPT, "sh"]).args(whole);
            // The shell has a separate process group. Signals from a terminal or service manager
            // that end the switch must not end the shell.
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
