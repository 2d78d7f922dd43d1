//! The resolved text of a scenario is the same scenario.

use bufferlab_scenario::{Loaded, load};
use std::path::{Path, PathBuf};

fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new("../../scenarios");
    let entries = std::fs::read_dir(folder).expect("there are scenarios");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

fn reload(loaded: &Loaded) -> Loaded {
    let folder = tempfile::tempdir().expect("a folder");
    for input in &loaded.inputs {
        std::fs::write(folder.path().join(&input.name), &input.content).expect("writable");
    }
    let path = folder.path().join("resolved.toml");
    std::fs::write(&path, &loaded.resolved).expect("writable");
    load(&path, &[]).unwrap_or_else(|error| panic!("{error}: {:?}\n{}", error.problems(), loaded.resolved))
}

fn assert_round_trip(loaded: &Loaded) {
    let again = reload(loaded);
    assert_eq!(again.scenario, loaded.scenario, "{}", loaded.resolved);
    assert_eq!(again.resolved, loaded.resolved);
}

#[test]
fn every_shipped_scenario_loads_without_warnings_and_survives_the_round_trip() {
    let paths = scenarios();
    assert!(paths.len() >= 5);
    for path in paths {
        let loaded = load(&path, &[]).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(loaded.warnings.is_empty(), "{}: {:?}", path.display(), loaded.warnings);
        let stem = path.file_stem().expect("a file").to_string_lossy().into_owned();
        assert_eq!(loaded.scenario.name, stem);
        assert_round_trip(&loaded);
    }
}
