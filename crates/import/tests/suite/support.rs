//! Shared helpers of the import tests.

use bufferlab_import::{Format, ImportError, ImportOptions, Imported, Input, Traffic, import};
use bufferlab_schedule::{Schedule, Transfer, Work};
use bufferlab_workload::FlowSpec;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Imports files with their names, and again by their content alone.
pub(crate) fn read(files: &[(&str, &[u8])]) -> Result<Imported, ImportError> {
    read_with(files, &ImportOptions::default())
}

pub(crate) fn read_with(files: &[(&str, &[u8])], options: &ImportOptions) -> Result<Imported, ImportError> {
    let input = |(name, content)| Input { path: Path::new(name), content, format: None };
    import(&files.iter().map(|(name, content)| input((*name, *content))).collect::<Vec<_>>(), options)
}

/// Imports the text `content` as one file without errors.
pub(crate) fn text(content: &str) -> Imported {
    read(&[("file", content.as_bytes())]).unwrap_or_else(|error| panic!("{content}\n{error}"))
}

/// Imports the text `content` as one file, and returns the error of the import.
pub(crate) fn error(content: &str) -> String {
    match read(&[("file", content.as_bytes())]) {
        Ok(imported) => panic!("{content}\nis accepted: {:?}", imported.notices),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn format(imported: &Imported) -> Format {
    imported.files.first().expect("a file").1
}

pub(crate) fn flows(imported: &Imported) -> &[FlowSpec] {
    match &imported.traffic {
        Some(Traffic::Flows { flows, .. }) => flows,
        other => panic!("no flows: {other:?}"),
    }
}

pub(crate) fn schedule(imported: &Imported) -> &Schedule {
    match &imported.traffic {
        Some(Traffic::Schedule(schedule)) => schedule,
        other => panic!("no schedule: {other:?}"),
    }
}

pub(crate) fn transfers(schedule: &Schedule) -> Vec<Transfer> {
    let works = schedule.nodes().map(|node| schedule.work(node));
    works.filter_map(|work| if let Work::Transfer(one) = work { Some(one) } else { None }).collect()
}

/// Whether any notice of the import contains the text `words`.
pub(crate) fn says(imported: &Imported, words: &str) -> bool {
    let notices = &imported.notices;
    let mut all = notices.understood.iter().chain(&notices.ignored).chain(&notices.assumed);
    all.any(|notice| notice.contains(words))
}

/// Folder of real files, which `BUFFERLAB_PEERS` names. Otherwise prints that `test` is skipped.
pub(crate) fn peers(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("BUFFERLAB_PEERS").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        // Write directly to stderr, because the test runner discards the output of passing tests.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: BUFFERLAB_PEERS names no folder");
    }
    folder
}
