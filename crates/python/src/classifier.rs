//! Custom classifiers in Python: a registered class, with one instance per memory of a switch.
//!
//! The module records the first failure of a classifier with flow, time and traceback. Afterwards,
//! the switch refuses packets, and the driver of the switch ends the run ([`Classify::failure`]).

use crate::custom::{InPython, PlainParameter, Trouble, declared, keep, keywords, nonsense, refusal};
use crate::policy::header_class;
use bufferlab_core::{
    self as core, BuildError, Classifier, ClassifierFailure, ClassifierInfo, Classify, Params, Tags,
    replace_classifier,
};
use bufferlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::fmt;

/// Names of the registered classifiers that are Python classes.
pub(crate) static IN_PYTHON: InPython = InPython::new();

/// Registers the classifier `class_` under `name`, and replaces an earlier class of this name.
#[pyfunction]
pub(crate) fn register_classifier(
    class_: Bound<'_, PyType>,
    name: &str,
    title: &str,
    summary: &str,
    parameters: Vec<PlainParameter<'_>>,
) -> PyResult<()> {
    let name = keep(name);
    let class = class_.unbind();
    let build = move |params: &Params, queues: usize| build(name, &class, params, queues);
    let info = ClassifierInfo {
        name,
        title: keep(title),
        summary: keep(summary),
        source: "Custom classifier in Python.",
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
        ..ClassifierInfo::PLAIN
    };
    replace_classifier(info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    IN_PYTHON.insert(name);
    Ok(())
}

/// Creates the classifier of a switch: an instance of `class`.
fn build(
    name: &'static str,
    class: &Py<PyType>,
    params: &Params,
    queues_per_port: usize,
) -> Result<Classifier, BuildError> {
    Python::attach(|py| {
        let make = || {
            let object = class.bind(py).call((queues_per_port,), Some(&keywords(py, params)?))?;
            PythonClassifier::new(&object, queues_per_port)
        };
        make()
            .map(|classifier| Classifier::custom(Box::new(classifier), queues_per_port))
            .map_err(|error| BuildError { param: "name", message: refusal(py, name, error) })
    })
}

/// An instance of a Python class that classifies the packets of one memory of a switch.
struct PythonClassifier {
    /// The Python instance with its bound method `classify`; `None` after a failed copy.
    instance: Option<(Py<PyAny>, Py<PyAny>)>,
    queues_per_port: usize,
    failure: Option<ClassifierFailure>,
}

impl fmt::Debug for PythonClassifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonClassifier").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl PythonClassifier {
    fn new(object: &Bound<'_, PyAny>, queues_per_port: usize) -> PyResult<Self> {
        let instance = Some((object.clone().unbind(), object.getattr("classify")?.unbind()));
        Ok(Self { instance, queues_per_port, failure: None })
    }

    /// Asks the Python class for the queue of a packet.
    fn ask(&self, py: Python<'_>, method: &Py<PyAny>, packet: core::Unclassified) -> Result<u8, Trouble> {
        let answer = method.bind(py).call1((Bound::new(py, Unclassified(packet))?,))?;
        answer.extract::<u8>().ok().filter(|&queue| usize::from(queue) < self.queues_per_port).ok_or_else(
            || {
                let expected = match self.queues_per_port {
                    1 => "0 (int), the only queue of the port".to_owned(),
                    queues => format!("a queue of the port (int), from 0 to {}", queues - 1),
                };
                nonsense(&answer, &expected)
            },
        )
    }

    /// Copies the classifier, including its state.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let Some((object, _)) = &self.instance else {
            return Ok(Self { instance: None, failure: self.failure.clone(), ..*self });
        };
        let object = py.import("copy")?.call_method1("deepcopy", (object.bind(py),))?;
        Ok(Self { failure: self.failure.clone(), ..Self::new(&object, self.queues_per_port)? })
    }
}

impl Clone for PythonClassifier {
    fn clone(&self) -> Self {
        Python::attach(|py| {
            self.copy(py).unwrap_or_else(|error| {
                let (what, cause) = Trouble::Raised(error).in_short(py);
                let what = format!("copy.deepcopy: {what}");
                let failure = Some(ClassifierFailure { now: Time::ZERO, flow: None, what, cause });
                Self { instance: None, failure, ..*self }
            })
        })
    }
}

impl Classify for PythonClassifier {
    fn classify(&mut self, packet: &core::Unclassified) -> (u8, Tags) {
        let core::Unclassified { now, header, mapped } = *packet;
        let instance = self.instance.as_ref().filter(|_| self.failure.is_none());
        let Some((_, method)) = instance else { return (mapped, header.tags) };
        let answer =
            Python::attach(|py| self.ask(py, method, *packet).map_err(|trouble| trouble.in_short(py)));
        let queue = answer.unwrap_or_else(|(what, cause)| {
            self.failure = Some(ClassifierFailure { now, flow: Some(header.flow), what, cause });
            mapped
        });
        (queue, header.tags)
    }

    fn failure(&self) -> Option<&ClassifierFailure> {
        self.failure.as_ref()
    }
}

/// A packet that arrives at a switch and has no queue yet.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Unclassified(core::Unclassified);

header_class! {
    impl Unclassified {
        /// Priority in the packet's header, as its sender set it.
        #[getter]
        fn priority(&self) -> u8 {
            self.0.header.priority
        }

        /// Queue of the port that the priority selects: the queue with the number of the priority,
        /// or the last queue.
        #[getter]
        fn mapped(&self) -> u8 {
            self.0.mapped
        }

        fn __repr__(&self) -> String {
            let core::Unclassified { now, header, .. } = self.0;
            format!("Unclassified({} B of flow {}, priority {}, at {now})", header.size, header.flow, header.priority)
        }
    }
    with_tags
}
