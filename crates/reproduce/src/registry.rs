//! The registry of experiments: files `experiments/<paper>/<figure>.toml`, and the scenarios that
//! these files name.

use crate::{Experiment, ReproduceError};
use bufferlab_document::LoadError;
use bufferlab_params::suggestion;
use include_dir::{Dir, File, include_dir};
use std::fs;
use std::path::{Path, PathBuf};

/// Embedded tables of the papers' statements, verdicts and measured values.
pub(crate) static CLAIMS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../claims");
/// Embedded experiment files of the papers.
pub(crate) static EXPERIMENTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../experiments");
/// Embedded files of experiments with real packets.
pub(crate) static TESTBEDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../testbeds");
/// Embedded scenario files of all experiments.
pub(crate) static SCENARIOS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../scenarios");

/// Experiments that commands find by their names.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Experiments in the order of their names, with `fig9` before `fig10`.
    pub experiments: Vec<Experiment>,
}

impl Registry {
    /// Writes the embedded experiments of the papers and their scenarios to `folder`, and loads the
    /// experiments. Users can read these files and run the scenarios by hand.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn unpack(folder: &Path) -> Result<Self, ReproduceError> {
        Self::unpack_as("experiments", &EXPERIMENTS, folder)
    }

    /// Writes and loads the embedded experiments with real packets, for the testbed.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn unpack_real(folder: &Path) -> Result<Self, ReproduceError> {
        Self::unpack_as("testbeds", &TESTBEDS, folder)
    }

    fn unpack_as(name: &str, experiments: &Dir<'_>, folder: &Path) -> Result<Self, ReproduceError> {
        unpack(experiments, &folder.join(name))?;
        unpack(&SCENARIOS, &folder.join("scenarios"))?;
        Self::load(&folder.join(name))
    }

    /// Loads every `<paper>/<figure>.toml` below `folder`.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid: all mistakes in all files.
    pub fn load(folder: &Path) -> Result<Self, ReproduceError> {
        let (mut experiments, mut wrong) = (Vec::new(), Vec::<LoadError>::new());
        for paper in entries(folder)? {
            if !folder.join(&paper).is_dir() {
                continue;
            }
            for file in entries(&folder.join(&paper))? {
                let Some(figure) = file.strip_suffix(".toml") else { continue };
                match Experiment::load(&folder.join(&paper).join(&file), &format!("{paper}/{figure}")) {
                    Ok(experiment) => experiments.push(experiment),
                    Err(ReproduceError::Experiment(error)) => wrong.push(error),
                    Err(error) => return Err(error),
                }
            }
        }
        if !wrong.is_empty() {
            let problems = wrong.iter().flat_map(LoadError::problems).cloned().collect();
            return Err(LoadError::new(&folder.display().to_string(), problems).into());
        }
        experiments.sort_by_key(|experiment| natural(&experiment.id));
        Ok(Self { experiments })
    }

    /// Selects experiments by name: `abm/fig6`, a whole paper (`abm`), or `all`.
    ///
    /// # Errors
    /// If a name matches no experiment and no paper.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Experiment>, ReproduceError> {
        let is = |experiment: &Experiment, name: &str| {
            name == "all" || experiment.id == name || experiment.paper() == name
        };
        if let Some(unknown) = names.iter().find(|name| !self.experiments.iter().any(|one| is(one, name))) {
            // A user may name a figure without its paper. The suggestion is the first paper that
            // has such a figure.
            let ids = || self.experiments.iter().map(|one| one.id.as_str());
            let of_some_paper = ids().find(|id| id.split('/').nth(1) == Some(unknown));
            let papers = self.experiments.iter().map(Experiment::paper);
            let near = of_some_paper.map(str::to_owned).or_else(|| suggestion(unknown, ids().chain(papers)));
            return Err(ReproduceError::Unknown { name: unknown.clone(), near });
        }
        Ok(self.experiments.iter().filter(|one| names.iter().any(|name| is(one, name))).collect())
    }
}

/// Sort key of an experiment's name that sorts `fig10` after `fig9`.
fn natural(id: &str) -> (String, u32, String) {
    let start = id.find(|c: char| c.is_ascii_digit()).unwrap_or(id.len());
    let end = id[start..].find(|c: char| !c.is_ascii_digit()).map_or(id.len(), |end| start + end);
    (id[..start].to_owned(), id[start..end].parse().unwrap_or(0), id[end..].to_owned())
}

fn entries(folder: &Path) -> Result<Vec<String>, ReproduceError> {
    let failed = || ReproduceError::io("read", folder);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        names.push(entry.map_err(failed())?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Whether the program contains the scenario `name`, so that [`unpack_scenarios`] writes its file.
#[must_use]
pub fn is_shipped(name: &str) -> bool {
    SCENARIOS.get_file(format!("{name}.toml")).is_some_and(|file| !needs_more(file))
}

/// Whether a scenario refers to files that the program does not contain.
fn needs_more(file: &File<'_>) -> bool {
    file.contents_utf8().is_some_and(|text| text.contains("\"../"))
}

/// Writes the embedded scenarios and the files to which they refer to `folder`, and returns the
/// paths of the scenario files. A file with equal content is not rewritten. Scenarios that replay
/// reference data are skipped, because the program does not contain that data.
///
/// # Errors
/// If the folder cannot be written.
pub fn unpack_scenarios(folder: &Path) -> Result<Vec<PathBuf>, ReproduceError> {
    fs::create_dir_all(folder).map_err(ReproduceError::io("make", folder))?;
    let mut scenarios = Vec::new();
    for file in SCENARIOS.files().filter(|file| !needs_more(file)) {
        let path = unpack_file(file, folder)?;
        if path.extension() == Some("toml".as_ref()) {
            scenarios.push(path);
        }
    }
    for inner in SCENARIOS.dirs() {
        unpack(inner, &folder.join(inner.path().file_name().unwrap_or_default()))?;
    }
    Ok(scenarios)
}

fn unpack_file(file: &File<'_>, folder: &Path) -> Result<PathBuf, ReproduceError> {
    let path = folder.join(file.path().file_name().unwrap_or_default());
    // A file with equal content keeps its modification time.
    if !fs::read(&path).is_ok_and(|present| present == file.contents()) {
        fs::write(&path, file.contents()).map_err(ReproduceError::io("write", &path))?;
    }
    Ok(path)
}

fn unpack(dir: &Dir<'_>, folder: &Path) -> Result<(), ReproduceError> {
    fs::create_dir_all(folder).map_err(ReproduceError::io("make", folder))?;
    for file in dir.files() {
        unpack_file(file, folder)?;
    }
    for inner in dir.dirs() {
        unpack(inner, &folder.join(inner.path().file_name().unwrap_or_default()))?;
    }
    Ok(())
}
