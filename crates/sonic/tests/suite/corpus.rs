//! The reader reads each real configuration file, or refuses the file with a reason.

use crate::support::{corpus, files};
use bufferlab_sonic::{Weight, read};

#[test]
fn every_file_of_the_corpus_is_read_and_what_is_refused_has_a_place_and_a_reason() {
    let Some(folder) = corpus("reading") else { return };
    let (mut read_files, mut refused) = (0, Vec::new());
    for kind in ["pg_profile_lookup", "rendered", "port_config"] {
        for path in files(&folder.join(kind)) {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).expect("a file that is there");
            let config = read(&name, &bytes).unwrap_or_else(|error| panic!("{error}"));
            read_files += 1;
            let something = config.lookup.len() + config.pools.len() + config.ports.len() + config.maps.len();
            assert!(something > 0, "{name}: nothing was read");
            refused.extend(config.problems.iter().map(ToString::to_string));
        }
    }
    assert!(read_files > 70, "{read_files} files");
    for problem in &refused {
        eprintln!("{problem}");
    }
    eprintln!("{read_files} files, {} values not understood", refused.len());
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn dumps_with_odd_entries_are_read_but_for_these() {
    let Some(folder) = corpus("dumps") else { return };
    let bytes = std::fs::read(folder.join("tables/config_db.json")).expect("a dump");
    let config = read("config_db.json", &bytes).expect("a dump");
    let refused = config.problems.iter().filter(|problem| problem.weight == Weight::Refused);
    let refused: Vec<_> = refused.map(ToString::to_string).collect();
    assert_eq!(refused, [""; 0]);
    assert_eq!((config.pools.len(), config.profiles.len(), config.ports.len()), (5, 7, 32));
}

#[test]
fn dumps_of_other_databases_are_read_as_far_as_they_are_about_buffers() {
    let Some(folder) = corpus("databases") else { return };
    for path in files(&folder.join("tables")) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let config = read(&name, &std::fs::read(&path).expect("a file that is there"));
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        for problem in &config.problems {
            eprintln!("{problem}");
        }
        assert!(config.problems.iter().all(|problem| problem.weight == Weight::Note), "{name}");
    }
}
