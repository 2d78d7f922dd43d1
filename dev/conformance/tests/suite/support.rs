//! Finds and loads the vector files in `testdata`.

use bufferlab_conformance::vectors::VectorFile;
use std::path::{Path, PathBuf};

/// Folder in `testdata` with vector files of the given kind.
pub(crate) fn folder(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(kind)
}

/// Path of the vector file `name` of the given kind.
pub(crate) fn path(kind: &str, name: &str) -> PathBuf {
    folder(kind).join(format!("{name}.toml"))
}

/// Names of the vector files of a kind, in alphabetical order.
pub(crate) fn files(kind: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder(kind)).expect("the folder exists");
    let mut names: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("readable").path();
            assert!(path.extension().is_some_and(|extension| extension == "toml"), "{}", path.display());
            path.file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Loads a vector file with cases for a switch.
pub(crate) fn load(kind: &str, name: &str) -> VectorFile {
    let file = format!("testdata/{kind}/{name}.toml");
    let text = std::fs::read_to_string(path(kind, name))
        .unwrap_or_else(|error| panic!("\"{name}\" has no vectors: {file}: {error}"));
    VectorFile::parse(&file, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Loads a circuit of the folder `rtl/`.
pub(crate) fn circuit(name: &str) -> bufferlab_rtl::Circuit {
    bufferlab_rtl::circuit(name).unwrap_or_else(|error| panic!("{error}")).expect("it is listed")
}
