//! Reads and explains configurations of SONiC switches. Large values go to Python as JSON, in the
//! format of the command line.

use crate::errors;
use bufferlab_operator::probe::Executor;
use bufferlab_operator::store::{Store, dumps};
use bufferlab_operator::tune::{Daemon, JournalFile, Keeper, Settings, recover};
use bufferlab_operator::vectors::{self, Vectors};
use bufferlab_operator::what_if::{check_scenario, recommend, write_scenario};
use bufferlab_operator::{Kind, Model, Network, OperatorError, Traffic, WhatIf};
use bufferlab_params::suggestion;
use bufferlab_report::Report;
use bufferlab_report::format::readable;
use bufferlab_sonic::lint::{self, Allowance, Options};
use bufferlab_sonic::silicon::{self, CHIPS, Chip, PredictError, chip_for};
use bufferlab_sonic::{Config, Namespaces, Refusal, diff, explain};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Creates the error for an invalid switch configuration, or for an invalid request about the
/// configuration.
fn wrong(py: Python<'_>, message: &str, help: &str) -> PyErr {
    errors::with_help(py, "ConfigurationError", message, help)
}

fn refused(py: Python<'_>, refusal: &Refusal) -> PyErr {
    wrong(py, &refusal.to_string(), &refusal.help)
}

fn not_predicted(py: Python<'_>, error: &PredictError) -> PyErr {
    wrong(py, &error.message, &error.help)
}

fn not_done(py: Python<'_>, error: &OperatorError) -> PyErr {
    wrong(py, &error.message, &error.help)
}

fn json<T: Serialize>(py: Python<'_>, value: &T) -> PyResult<String> {
    serde_json::to_string(value)
        .map_err(|error| wrong(py, &error.to_string(), "report it with the configuration"))
}

/// The SONiC configuration of one switch chip.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct SonicConfiguration(Config);

/// Reads configuration files, and the databases of a running switch if given.
/// Returns name and configuration of every chip.
#[pyfunction]
pub(crate) fn sonic_read(
    py: Python<'_>,
    files: Vec<(String, Vec<u8>)>,
    redis: Option<String>,
) -> PyResult<Vec<(String, SonicConfiguration)>> {
    let mut all = files;
    if let Some(address) = redis {
        let read = py.detach(|| dumps(&mut Store::new(&address)));
        let read = read.map_err(|error| wrong(py, &error.to_string(), error.help()))?;
        all.splice(0..0, read);
    }
    let mut namespaces = Namespaces::default();
    for (name, bytes) in all {
        namespaces.add(&name, &bytes).map_err(|refusal| refused(py, &refusal))?;
    }
    let found = namespaces.finish().map_err(|refusal| refused(py, &refusal))?;
    Ok(found.into_iter().map(|(name, config)| (name, SonicConfiguration(config))).collect())
}

impl SonicConfiguration {
    /// Returns the chip family; an unknown chip is an error.
    fn chip(&self, py: Python<'_>, name: Option<&str>) -> PyResult<&'static Chip> {
        chip_for(&self.0, name).map_err(|error| {
            let known = CHIPS.iter().map(|chip| chip.name);
            match name.and_then(|name| suggestion(name, known)) {
                Some(near) => wrong(py, &error.message, &format!("did you mean \"{near}\"?")),
                None => not_predicted(py, &error),
            }
        })
    }

    /// Returns the chip family, or `None` for an unknown switch. If the given name is unknown,
    /// returns an error.
    fn perhaps(&self, py: Python<'_>, name: Option<&str>) -> PyResult<Option<&'static Chip>> {
        match name {
            Some(_) => self.chip(py, name).map(Some),
            None => Ok(chip_for(&self.0, None).ok()),
        }
    }
}

#[pymethods]
impl SonicConfiguration {
    /// Parts of the configuration that bufferlab did not understand.
    fn problems(&self) -> Vec<String> {
        self.0.problems.iter().map(ToString::to_string).collect()
    }

    /// Explains the SONiC configuration, as JSON and as text.
    #[pyo3(signature = (chip))]
    fn explain(&self, py: Python<'_>, chip: Option<&str>) -> PyResult<(String, String)> {
        let explanation = explain::explain(&self.0, self.perhaps(py, chip)?);
        Ok((json(py, &explanation)?, readable(&explain::text(&explanation))))
    }

    /// Finds problems in the SONiC configuration, as JSON.
    #[pyo3(signature = (chip, allow, round_trip_us))]
    fn lint(
        &self,
        py: Python<'_>,
        chip: Option<&str>,
        allow: Vec<(String, String)>,
        round_trip_us: f64,
    ) -> PyResult<String> {
        let allow = allow.into_iter().map(|(rule, reason)| Allowance { rule, reason }).collect();
        let options = Options { chip: self.perhaps(py, chip)?, allow, round_trip_us: Some(round_trip_us) };
        let found =
            lint::check(&self.0, &options).map_err(|error| wrong(py, &error.to_string(), &error.help))?;
        Ok(lint::json(&found))
    }

    /// Predicts the occupancies at which the chip pauses, drops and resumes, as JSON and as text.
    #[pyo3(signature = (chip, packet_bytes))]
    fn predict(&self, py: Python<'_>, chip: Option<&str>, packet_bytes: u64) -> PyResult<(String, String)> {
        let prediction = silicon::predict(&self.0, self.chip(py, chip)?, packet_bytes);
        let prediction = prediction.map_err(|error| not_predicted(py, &error))?;
        Ok((json(py, &prediction)?, readable(&silicon::text(&prediction))))
    }

    /// Computes test vectors for the chip: as JSON, as text, and as sonic-mgmt's `qos_params`.
    #[pyo3(signature = (chip, packet_bytes))]
    fn vectors(
        &self,
        py: Python<'_>,
        chip: Option<&str>,
        packet_bytes: u64,
    ) -> PyResult<(String, String, String)> {
        let chip = self.chip(py, chip)?;
        let found =
            py.detach(|| Vectors::new(&self.0, chip, packet_bytes)).map_err(|error| not_done(py, &error))?;
        Ok((json(py, &found)?, readable(&vectors::text(&found)), vectors::yaml(&found)))
    }

    /// Creates a scenario of the SONiC configuration, and the settings that a what-if analysis
    /// compares.
    #[pyo3(signature = (chip, against, traffic, leaves, load, fan_in, request, duration_seconds))]
    #[expect(clippy::too_many_arguments, reason = "Python's side has names for them")]
    fn what_if(
        &self,
        py: Python<'_>,
        chip: Option<&str>,
        against: Option<&Self>,
        traffic: &str,
        leaves: Option<usize>,
        load: f64,
        fan_in: Option<usize>,
        request: Option<u64>,
        duration_seconds: Option<f64>,
    ) -> PyResult<SonicWhatIf> {
        let chip = self.chip(py, chip)?;
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        let kind = Kind::from_name(traffic).ok_or_else(|| {
            wrong(
                py,
                &format!("there is no traffic \"{traffic}\""),
                &format!("choose one of: {}", names.join(", ")),
            )
        })?;
        let network = leaves.map_or(Network::Star, |leaves| Network::LeafSpine { leaves });
        let traffic = Traffic { network, load, fan_in, request, duration_seconds, ..Traffic::new(kind) };
        let model = |config: &Config| Model::new(config, chip).map_err(|error| not_done(py, &error));
        let own = model(&self.0)?;
        let other = match against {
            Some(other) => Some((&other.0, model(&other.0)?)),
            None => None,
        };
        let other = other.as_ref().map(|(config, model)| (*config, model));
        WhatIf::new("what-if", (&self.0, &own), other, &traffic)
            .map(SonicWhatIf)
            .map_err(|error| not_done(py, &error))
    }

    /// Explains the effect of a change to another configuration, as JSON and as text.
    #[pyo3(signature = (other, chip))]
    fn diff(&self, py: Python<'_>, other: &Self, chip: Option<&str>) -> PyResult<(String, String)> {
        let found = diff::diff(&self.0, &other.0, other.perhaps(py, chip)?);
        let found = found.map_err(|error| wrong(py, &error.to_string(), &error.help))?;
        Ok((json(py, &found)?, readable(&diff::text(&found))))
    }

    /// Creates a simulated chip that answers the requests of a threshold probe.
    #[pyo3(signature = (chip, packet_bytes))]
    fn probe(&self, py: Python<'_>, chip: Option<&str>, packet_bytes: u64) -> PyResult<SonicProbe> {
        let model = Model::new(&self.0, self.chip(py, chip)?).map_err(|error| not_done(py, &error))?;
        Executor::new(&model, packet_bytes)
            .map(|executor| SonicProbe(Mutex::new(executor)))
            .map_err(|error| not_done(py, &error))
    }
}

/// A what-if scenario, and the buffer settings that the analysis compares.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct SonicWhatIf(WhatIf);

#[pymethods]
impl SonicWhatIf {
    /// Text of the scenario file for the what-if analysis.
    fn scenario(&self) -> &str {
        &self.0.scenario
    }

    /// Label, meaning and variant text of every setting that the what-if analysis compares.
    fn choices(&self) -> Vec<(String, String, String)> {
        let choice = |choice: &bufferlab_operator::what_if::Choice| {
            (choice.label.clone(), choice.meaning.clone(), choice.variant.to_string())
        };
        self.0.choices.iter().map(choice).collect()
    }

    /// Simplifications of the scenario compared with the real switch.
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// Writes the what-if scenario to a folder. Refuses a folder with a different scenario, unless
    /// `replace` is true.
    fn write(&self, py: Python<'_>, folder: PathBuf, replace: bool) -> PyResult<()> {
        check_scenario(&folder, &self.0.scenario, replace)
            .and_then(|()| write_scenario(&folder, &self.0.scenario))
            .map_err(|error| errors::with_help(py, "ResultsError", &error.message, &error.help))
    }

    /// Recommends a setting from the runs in a folder. Returns the setting, reasons, caveats, and
    /// the text with the table.
    fn recommend(
        &self,
        py: Python<'_>,
        folder: PathBuf,
    ) -> PyResult<(String, Vec<String>, Vec<String>, String)> {
        let labels: Vec<_> = self.0.choices.iter().map(|choice| choice.label.clone()).collect();
        let report =
            py.detach(|| Report::load(&folder, &labels)).map_err(|error| errors::report(py, &error))?;
        let found = recommend(&report.comparison, &self.0);
        let text = bufferlab_operator::what_if::text(&report.comparison, &self.0, &found);
        Ok((found.choice, found.reasons, found.caveats, text))
    }
}

/// A simulated chip that answers probes. The chip has a state, so requests run one at a time.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct SonicProbe(Mutex<Executor>);

#[pymethods]
impl SonicProbe {
    /// Answers a request of a probe; request and answer are JSON.
    fn answer(&self, py: Python<'_>, request: &str) -> String {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).answer_line(request))
    }
}

/// A tuned buffer profile: name, exponents of alpha (configured, current, lowest and highest),
/// number of queues.
type TunedProfile = (String, i8, i8, (i8, i8), usize);

/// A tuner of a switch. The tuner has a state, so calls run one at a time.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct SonicTuner(Mutex<Daemon>);

impl SonicTuner {
    fn with<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&mut Daemon) -> T + Send) -> T {
        py.detach(|| question(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl SonicTuner {
    /// Reads the configuration of a running switch.
    /// With `apply`, first restores the values from the journal of a killed tuner.
    #[new]
    #[pyo3(signature = (redis, apply, down, up, hold, faults_max, lossless, journal))]
    #[expect(clippy::too_many_arguments, reason = "Python's side has names for them")]
    fn new(
        py: Python<'_>,
        redis: &str,
        apply: bool,
        down: u8,
        up: u8,
        hold: u32,
        faults_max: u32,
        lossless: bool,
        journal: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut store = Store::new(redis);
        let path = journal.unwrap_or_else(|| JournalFile::default_path(&store));
        let mut keeper: Option<Box<dyn Keeper>> = None;
        if apply {
            let mut file = JournalFile::claim(&path).map_err(|error| not_done(py, &error))?;
            py.detach(|| recover(&mut store, &mut file)).map_err(|error| not_done(py, &error))?;
            keeper = Some(Box::new(file));
        }
        let mut all = sonic_read(py, Vec::new(), Some(redis.to_owned()))?;
        let (_, SonicConfiguration(config)) = all.swap_remove(0);
        let settings = Settings { down, up, hold, faults_max, lossless };
        Daemon::new(store, &config, settings, keeper)
            .map(|daemon| Self(Mutex::new(daemon)))
            .map_err(|error| not_done(py, &error))
    }

    /// Returns the profiles whose exponents of alpha the tuner changes.
    fn profiles(&self, py: Python<'_>) -> Vec<TunedProfile> {
        self.with(py, |daemon| {
            let tracked = daemon.tuner().tracked.iter();
            tracked
                .map(|one| (one.profile.clone(), one.original, one.applied, one.bounds, one.members.len()))
                .collect()
        })
    }

    /// Reads the switch's counters at time `at` (in seconds since an arbitrary start). Returns
    /// events as JSON.
    fn step(&self, py: Python<'_>, at: f64) -> PyResult<String> {
        let events = self.with(py, |daemon| daemon.step(at));
        json(py, &events)
    }

    /// Whether the tuner must end after too many consecutive faults.
    fn must_end(&self, py: Python<'_>) -> bool {
        self.with(py, |daemon| daemon.must_end())
    }

    /// Restores the configured values on the switch. Returns events as JSON.
    fn revert(&self, py: Python<'_>) -> PyResult<String> {
        let events = self.with(py, Daemon::revert);
        json(py, &events)
    }
}
