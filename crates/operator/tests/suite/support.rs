//! The small switch of `testdata/sonic`, and real files if a corpus is installed.

use bufferlab_operator::Model;
use bufferlab_sonic::silicon::chip;
use bufferlab_sonic::{Config, Reader};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the configuration of the small switch; `edit` changes each file before it is read.
pub(crate) fn switch(edit: impl Fn(&str, String) -> String) -> Config {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sonic/switch");
    let mut reader = Reader::default();
    for name in ["buffers.json", "qos.json", "port_config.ini", "pg_profile_lookup.ini"] {
        let text = std::fs::read_to_string(folder.join(name)).expect("the example is there");
        reader.add(name, edit(name, text).as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    }
    reader.finish()
}

/// Returns the model of a configuration on a chip.
pub(crate) fn model(config: &Config, name: &str) -> Model {
    Model::new(config, chip(name).expect("a chip")).unwrap_or_else(|error| panic!("{error}"))
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
