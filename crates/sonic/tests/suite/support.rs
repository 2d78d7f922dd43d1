//! Example configurations of this repository, and the corpus of real files if it is installed.

use bufferlab_sonic::{Config, Reader};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Reads an example file from `testdata/sonic`.
pub(crate) fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sonic").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Names of the small switch's configuration files.
pub(crate) const FILES: [&str; 4] =
    ["switch/buffers.json", "switch/qos.json", "switch/port_config.ini", "switch/pg_profile_lookup.ini"];

/// Returns the configuration of the small switch; `edit` changes each file before it is read.
pub(crate) fn switch(edit: impl Fn(&str, String) -> String) -> Config {
    let mut reader = Reader::default();
    for name in FILES {
        let text = edit(name, example(name));
        let name = name.trim_start_matches("switch/");
        reader.add(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    }
    reader.finish()
}

/// Returns the folder of real configuration files. A test without this folder reports that it is
/// skipped.
pub(crate) fn corpus(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("BUFFERLAB_SONIC_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        // Writes directly to stderr, because the test runner captures printed output.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: BUFFERLAB_SONIC_CORPUS names no folder");
    }
    folder
}

/// Files in a folder of the corpus, ordered by name.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a folder that is read").path()).collect();
    files.sort();
    files
}
