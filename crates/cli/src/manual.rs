//! The commands `completions` and `man`: descriptions of the commands for shells and for `man`.

use crate::args::Args;
use crate::inform;
use bufferlab_results::write_whole;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use miette::miette;
use std::path::Path;

/// Returns the script that completes commands in the shell `shell`.
pub(crate) fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "bufferlab", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Writes a manual page for the program and for each of its commands,
/// such as `bufferlab-theory-alpha.1`.
pub(crate) fn pages(folder: &Path) -> miette::Result<()> {
    let failed = |error: std::io::Error| {
        let help = "name a folder that can be made and written, for example ~/.local/share/man/man1";
        miette!(help = help, "cannot write manual pages into {}: {error}", folder.display())
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut program = Args::command();
    program.build();
    let mut written = 0;
    let mut waiting = vec![program];
    while let Some(command) = waiting.pop() {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        let mut page = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
        write_whole(&folder.join(format!("{name}.1")), page).map_err(failed)?;
        written += 1;
        waiting.extend(command.get_subcommands().filter(|one| one.get_name() != "help").cloned());
    }
    inform(&format!("{written} pages are in {}; `man -l` shows one", folder.display()));
    Ok(())
}
