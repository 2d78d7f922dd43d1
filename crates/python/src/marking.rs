//! Custom marking rules in Python: a registered class, with one instance per memory of a switch.
//!
//! The module records the first failure of a marking rule with time and traceback. After the
//! failure, the rule marks no packets. The driver of the switch then ends the run
//! ([`MarkingRule::take_failure`]).

use crate::custom::{InPython, PlainParameter, Trouble, declared, keep, keywords, nonsense, refusal};
use crate::policy::{Buffer, lend, packet_class, switch};
use bufferlab_core::mark::Moment;
use bufferlab_core::{
    self as core, BuildError, MarkerInfo, Marking, MarkingFailure, MarkingRule, Params, QueueId, SwitchShape,
    replace_marker,
};
use bufferlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::fmt;

/// Names of the registered marking rules that are Python classes.
pub(crate) static IN_PYTHON: InPython = InPython::new();

/// Registers the marking rule `class_` under `name`, and replaces an earlier class of this name.
#[pyfunction]
pub(crate) fn register_marking_rule(
    class_: Bound<'_, PyType>,
    name: &str,
    title: &str,
    summary: &str,
    parameters: Vec<PlainParameter<'_>>,
) -> PyResult<()> {
    let name = keep(name);
    let class = class_.unbind();
    let build = move |params: &Params, shape: &SwitchShape| build(name, &class, params, shape);
    let info = MarkerInfo {
        name,
        title: keep(title),
        summary: keep(summary),
        source: "Custom marking rule in Python.",
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
        ..MarkerInfo::PLAIN
    };
    replace_marker(info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    IN_PYTHON.insert(name);
    Ok(())
}

/// Creates the marking rule of a switch: an instance of `class`.
fn build(
    name: &'static str,
    class: &Py<PyType>,
    params: &Params,
    shape: &SwitchShape,
) -> Result<Marking, BuildError> {
    Python::attach(|py| {
        let make = || {
            let object = class.bind(py).call((switch(py, shape)?,), Some(&keywords(py, params)?))?;
            PythonRule::new(&object)
        };
        make()
            .map(Marking::boxed)
            .map_err(|error| BuildError { param: "kind", message: refusal(py, name, error) })
    })
}

/// An instance of a Python class that marks packets in one memory of a switch.
struct PythonRule {
    /// The Python instance of the marking rule; `None` after a failed copy.
    instance: Option<Instance>,
    has_failed: bool,
    failure: Option<MarkingFailure>,
}

struct Instance {
    object: Py<PyAny>,
    /// Bound method `marks` of the Python instance, which is looked up once.
    marks: Py<PyAny>,
    buffer: Py<Buffer>,
}

impl fmt::Debug for PythonRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonRule").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl PythonRule {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let marks = object.getattr("marks")?.unbind();
        let buffer = Py::new(object.py(), Buffer)?;
        let instance = Instance { object: object.clone().unbind(), marks, buffer };
        Ok(Self { instance: Some(instance), has_failed: false, failure: None })
    }

    #[cold]
    fn fail(&mut self, py: Python<'_>, (now, queue): (Time, QueueId), trouble: Trouble) {
        let (what, cause) = trouble.in_short(py);
        self.has_failed = true;
        self.failure = Some(MarkingFailure { now, queue, what, cause });
    }

    /// Copies the marking rule, including its state.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let Some(instance) = &self.instance else {
            return Ok(Self { instance: None, has_failed: true, failure: None });
        };
        let object = py.import("copy")?.call_method1("deepcopy", (instance.object.bind(py),))?;
        Ok(Self { has_failed: self.has_failed, failure: self.failure.clone(), ..Self::new(&object)? })
    }
}

impl Clone for PythonRule {
    fn clone(&self) -> Self {
        Python::attach(|py| {
            self.copy(py).unwrap_or_else(|error| {
                let (what, cause) = Trouble::Raised(error).in_short(py);
                let (now, queue, what) = (Time::ZERO, QueueId(0), format!("copy.deepcopy: {what}"));
                let failure = Some(MarkingFailure { now, queue, what, cause });
                Self { instance: None, has_failed: true, failure }
            })
        })
    }
}

impl MarkingRule for PythonRule {
    fn marks(&mut self, packet: &core::Markable, buffer: &core::Buffer) -> bool {
        let Some(instance) = self.instance.as_ref().filter(|_| !self.has_failed) else { return false };
        let answer = Python::attach(|py| {
            let shown = Bound::new(py, Markable(*packet))?;
            let answer = lend(buffer, || instance.marks.bind(py).call1((shown, instance.buffer.bind(py))))?;
            answer.extract::<bool>().map_err(|_| nonsense(&answer, "True (mark) or False"))
        });
        answer.unwrap_or_else(|trouble: Trouble| {
            Python::attach(|py| self.fail(py, (packet.now, packet.queue), trouble));
            false
        })
    }

    fn take_failure(&mut self) -> Option<MarkingFailure> {
        self.failure.take()
    }
}

/// A packet that the marking rule may mark.
#[pyclass(frozen, module = "bufferlab._bufferlab")]
pub(crate) struct Markable(core::Markable);

packet_class! {
    impl Markable {
        /// Whether the packet departs and has already left its queue. The value is false if the
        /// packet arrives and is not in its queue yet.
        #[getter]
        fn departing(&self) -> bool {
            self.0.moment == Moment::Dequeue
        }

        /// Time since the switch stored the packet (ps); 0 on arrival.
        #[getter]
        fn waited_ps(&self) -> u64 {
            self.0.waited.0
        }

        fn __repr__(&self) -> String {
            let core::Markable { now, header, queue, .. } = self.0;
            let size = header.size;
            let verb = if self.departing() { "leaves" } else { "arrives at" };
            format!("Markable({size} B {verb} queue {} at {now})", queue.0)
        }
    }
}
