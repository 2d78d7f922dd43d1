//! Custom congestion controls in Python: a registered class, with one instance per flow.
//!
//! The module never calls a method that the class does not define. The module records the first
//! failure with its flow, time and traceback. After a failure, no congestion control of the
//! transport is called. The driver of the flows then ends the run ([`Controller::take_failure`]).

mod view;

use crate::custom::{InPython, PlainParameter, Trouble, declared, keep, keywords, refusal};
use bufferlab_params::{BuildError, Params};
use bufferlab_transport::{
    AckEvent, CongestionControl, CongestionControlInfo, CongestionEvent, ControlFailure, Controller, Starter,
    TcpConfig, Window, replace_congestion_control,
};
use bufferlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use view::{Ack, Hop, Window as PlainWindow};

/// Names of the registered congestion controls that are Python classes.
pub(crate) static IN_PYTHON: InPython = InPython::new();

/// Names of the optional methods of a congestion control in Python.
const HOOKS: [&str; 4] = ["on_congestion", "on_notification", "on_sent", "begin_message"];
const ON_CONGESTION: usize = 0;
const ON_NOTIFICATION: usize = 1;
const ON_SENT: usize = 2;
const BEGIN_MESSAGE: usize = 3;

/// Attributes of a Python class, with the names of the fields of [`CongestionControlInfo`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wishes {
    uses_ecn: bool,
    wants_telemetry: bool,
    owns_window: bool,
    starts_at_line_rate: bool,
}

/// Registers the congestion control `class_` under `name`, and replaces an earlier class of this
/// name. `hooks` are the optional methods that the class defines.
#[pyfunction]
pub(crate) fn register_congestion_control(
    class_: Bound<'_, PyType>,
    name: &str,
    title: &str,
    summary: &str,
    parameters: Vec<PlainParameter<'_>>,
    hooks: Vec<String>,
    wishes: Wishes,
) -> PyResult<()> {
    let name = keep(name);
    let class = Arc::new(class_.unbind());
    let build = move |params: &Params, config: &TcpConfig| build(name, &class, &hooks, params, config);
    let info = CongestionControlInfo {
        name,
        title: keep(title),
        summary: keep(summary),
        source: "Custom congestion control in Python.",
        uses_ecn: wishes.uses_ecn,
        wants_telemetry: wishes.wants_telemetry,
        owns_window: wishes.owns_window,
        starts_at_line_rate: wishes.starts_at_line_rate,
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
        ..CongestionControlInfo::PLAIN
    };
    replace_congestion_control(info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    IN_PYTHON.insert(name);
    Ok(())
}

/// Creates the factory of congestion controls for a transport, which makes an instance of the class
/// per flow. The function makes one instance immediately, so that invalid parameters fail when the
/// scenario is read.
fn build(
    name: &'static str,
    class: &Arc<Py<PyType>>,
    hooks: &[String],
    params: &Params,
    config: &TcpConfig,
) -> Result<Starter, BuildError> {
    let maker = Python::attach(|py| {
        let make = || {
            let maker = Maker {
                class: Arc::clone(class),
                path: path(py, config)?.unbind(),
                values: keywords(py, params)?.unbind(),
                hooks: HOOKS.map(|hook| hooks.iter().any(|defined| defined == hook)),
                silenced: Arc::default(),
            };
            maker.make(py, &mut first_window(config)).map(|_| maker)
        };
        make().map_err(|error| BuildError { param: "name", message: refusal(py, name, error) })
    })?;
    Ok(Box::new(move |config, window| CongestionControl::boxed(maker.start(config, window))))
}

fn first_window(config: &TcpConfig) -> Window {
    let size = f64::from(config.initial_window.max(1));
    Window { size, slow_start_threshold: f64::INFINITY, pacing_gap: Time::ZERO }
}

/// Creates the argument `path` of a congestion control: an instance of `bufferlab.congestion.Path`.
fn path<'py>(py: Python<'py>, config: &TcpConfig) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("bufferlab.congestion")?.getattr("Path")?;
    class.call1((config.line_rate.0, config.base_rtt.0, config.segment_wire_bytes, config.initial_window))
}

/// Creator of instances of a Python class, each of which controls a flow of a transport.
struct Maker {
    class: Arc<Py<PyType>>,
    path: Py<PyAny>,
    values: Py<PyDict>,
    /// Whether the Python class defines each optional method of [`HOOKS`].
    hooks: [bool; HOOKS.len()],
    silenced: Arc<AtomicBool>,
}

impl Maker {
    fn make(&self, py: Python<'_>, window: &mut Window) -> PyResult<PythonControl> {
        let shown = Py::new(py, PlainWindow(*window))?;
        let arguments = (self.path.bind(py), shown.bind(py));
        let object = self.class.bind(py).call(arguments, Some(self.values.bind(py)))?;
        shown.borrow(py).give(window).map_err(PyValueError::new_err)?;
        PythonControl::new(&object, self.hooks, shown, &self.silenced)
    }

    /// Creates the congestion control of a new flow. If the class cannot be instantiated, the
    /// congestion control counts as failed.
    fn start(&self, _: &TcpConfig, window: &mut Window) -> PythonControl {
        Python::attach(|py| match self.make(py, window) {
            Ok(control) => control,
            Err(error) => {
                let mut control = PythonControl::silent(&self.silenced);
                control.fail(py, Time::ZERO, "start", Trouble::Raised(error));
                control
            }
        })
    }
}

/// An instance of a Python class that controls one flow.
struct PythonControl {
    /// The Python instance with its bound methods; `None` if the class could not be instantiated.
    instance: Option<Instance>,
    /// The congestion window that the Python instance reads and changes.
    shown: Option<Py<PlainWindow>>,
    /// Whether a congestion control of the transport has failed. After a failure, no congestion
    /// control of the transport is called.
    silenced: Arc<AtomicBool>,
    /// Time of the last call. Calls without a time argument use this time.
    now: Time,
    failure: Option<ControlFailure>,
}

/// An instance of a Python class with its bound methods. Methods are looked up once.
struct Instance {
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonControl").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl PythonControl {
    fn new(
        object: &Bound<'_, PyAny>,
        defined: [bool; HOOKS.len()],
        shown: Py<PlainWindow>,
        silenced: &Arc<AtomicBool>,
    ) -> PyResult<Self> {
        let mut hooks = [const { None }; HOOKS.len()];
        for ((slot, hook), is_defined) in hooks.iter_mut().zip(HOOKS).zip(defined) {
            if is_defined {
                *slot = Some(object.getattr(hook)?.unbind());
            }
        }
        let on_ack = object.getattr("on_ack")?.unbind();
        let instance = Instance { object: object.clone().unbind(), on_ack, hooks };
        Ok(Self { instance: Some(instance), shown: Some(shown), ..Self::silent(silenced) })
    }

    /// Creates a congestion control whose Python methods are never called.
    fn silent(silenced: &Arc<AtomicBool>) -> Self {
        Self { instance: None, shown: None, silenced: Arc::clone(silenced), now: Time::ZERO, failure: None }
    }

    #[cold]
    fn fail(&mut self, py: Python<'_>, now: Time, hook: &'static str, trouble: Trouble) {
        let (what, cause) = trouble.in_short(py);
        // Only the first failure of a transport's congestion controls is reported.
        if !self.silenced.swap(true, Ordering::Relaxed) {
            self.failure = Some(ControlFailure { now, hook, what, cause });
        }
    }

    /// Calls a Python method with the congestion window, and applies the changes that the method
    /// made to the window.
    #[inline]
    fn call(
        &mut self,
        window: &mut Window,
        (now, hook): (Time, &'static str),
        call: impl FnOnce(Python<'_>, &Instance, &Bound<'_, PlainWindow>) -> PyResult<()>,
    ) {
        let (Some(instance), Some(shown)) = (&self.instance, &self.shown) else { return };
        if self.silenced.load(Ordering::Relaxed) {
            return;
        }
        self.now = now;
        let failed = Python::attach(|py| {
            let shown = shown.bind(py);
            let answer = shown.try_borrow_mut().map(|mut shown| shown.0 = *window).map_err(PyErr::from);
            let answer = answer.and_then(|()| call(py, instance, shown)).map_err(Trouble::Raised);
            answer.and_then(|()| shown.borrow().give(window).map_err(Trouble::Nonsense)).err()
        });
        if let Some(trouble) = failed {
            Python::attach(|py| self.fail(py, now, hook, trouble));
        }
    }

    /// Calls an optional Python method with the congestion window, if the class defines the method.
    #[inline]
    fn call_hook(
        &mut self,
        window: &mut Window,
        (now, hook): (Time, usize),
        call: impl FnOnce(&Bound<'_, PyAny>, &Bound<'_, PlainWindow>) -> PyResult<()>,
    ) {
        if self.instance.as_ref().is_some_and(|instance| instance.hooks[hook].is_some()) {
            self.call(window, (now, HOOKS[hook]), |py, instance, shown| match &instance.hooks[hook] {
                Some(method) => call(method.bind(py), shown),
                None => Ok(()),
            });
        }
    }
}

impl Controller for PythonControl {
    fn on_ack(&mut self, _: &TcpConfig, window: &mut Window, ack: &AckEvent<'_>) {
        self.call(window, (ack.now, "on_ack"), |py, instance, shown| {
            instance.on_ack.bind(py).call1((Bound::new(py, Ack::new(ack))?, shown)).map(drop)
        });
    }

    fn on_congestion(
        &mut self,
        _: &TcpConfig,
        window: &mut Window,
        event: CongestionEvent,
        flight: u32,
        now: Time,
    ) {
        let word = match event {
            CongestionEvent::Loss => "loss",
            CongestionEvent::Mark => "mark",
            CongestionEvent::Timeout => "timeout",
        };
        self.call_hook(window, (now, ON_CONGESTION), |method, shown| {
            method.call1((word, flight, now.0, shown)).map(drop)
        });
    }

    fn on_notification(&mut self, _: &TcpConfig, window: &mut Window, now: Time) {
        self.call_hook(window, (now, ON_NOTIFICATION), |method, shown| {
            method.call1((now.0, shown)).map(drop)
        });
    }

    fn on_sent(&mut self, _: &TcpConfig, window: &mut Window, now: Time, bytes: u32) {
        self.call_hook(window, (now, ON_SENT), |method, shown| method.call1((now.0, bytes, shown)).map(drop));
    }

    fn begin_message(&mut self, idle: Time) {
        let mut unchanged = match &self.shown {
            Some(shown) => Python::attach(|py| shown.borrow(py).0),
            None => return,
        };
        let now = Time(self.now.0.saturating_add(idle.0));
        self.call_hook(&mut unchanged, (now, BEGIN_MESSAGE), |method, _| method.call1((idle.0,)).map(drop));
    }

    fn take_failure(&mut self) -> Option<ControlFailure> {
        self.failure.take()
    }
}

/// A copy of a congestion control has a separate Python instance, made by `copy.deepcopy`.
impl PythonControl {
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let (Some(instance), Some(shown)) = (&self.instance, &self.shown) else {
            return Ok(Self::silent(&self.silenced));
        };
        let object = py.import("copy")?.call_method1("deepcopy", (instance.object.bind(py),))?;
        let defined = instance.hooks.each_ref().map(Option::is_some);
        let shown = Py::new(py, PlainWindow(shown.borrow(py).0))?;
        Self::new(&object, defined, shown, &self.silenced)
    }
}

impl Clone for PythonControl {
    fn clone(&self) -> Self {
        Python::attach(|py| match self.copy(py) {
            Ok(copy) => Self { now: self.now, failure: self.failure.clone(), ..copy },
            Err(error) => {
                let mut silent = Self::silent(&self.silenced);
                silent.fail(py, self.now, "copy.deepcopy", Trouble::Raised(error));
                silent
            }
        })
    }
}
