//! Adapter that turns a Python object into a buffer policy of a simulated switch.
//!
//! The adapter never calls a hook that the class does not define. The adapter records the first
//! failure with place and traceback. After a failure, every verdict is a drop. The driver of the
//! switch then ends the run ([`Policy::take_failure`]).

use super::verdict::{Verdict, parse_end};
use super::view::{Arrival, Buffer, Departure, lend};
use crate::custom::{Trouble, nonsense};
use bufferlab_core::{
    self as core, Classifier, Classify, DropReason, End, Header, Hooks, IngressId, PauseDemand, Policy,
    PolicyFailure, QueueId, Tags, Unclassified,
};
use bufferlab_units::Time;
use pyo3::prelude::*;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Names of the optional methods of a Python policy, with the hooks of the core that call them.
const HOOKS: [(&str, Hooks); HOOK_COUNT] = [
    ("on_enqueue", Hooks::ENQUEUE),
    ("on_dequeue", Hooks::DEQUEUE),
    ("on_drop", Hooks::DROP),
    ("on_evict", Hooks::DROP),
    ("on_empty_visit", Hooks::EMPTY_VISIT),
    ("next_timeout", Hooks::NONE),
    ("handle_timeout", Hooks::NONE),
    ("poll_expulsion", Hooks::EXPEL),
    ("pause_demand", Hooks::PAUSE.and(Hooks::PAUSE_REFUSED)),
    ("threshold", Hooks::NONE),
];
const HOOK_COUNT: usize = 10;
const ON_ENQUEUE: usize = 0;
const ON_DEQUEUE: usize = 1;
const ON_DROP: usize = 2;
const ON_EVICT: usize = 3;
const ON_EMPTY_VISIT: usize = 4;
const NEXT_TIMEOUT: usize = 5;
const HANDLE_TIMEOUT: usize = 6;
const POLL_EXPULSION: usize = 7;
const PAUSE_DEMAND: usize = 8;
const THRESHOLD: usize = 9;

/// An instance of a Python class that is a buffer policy.
pub(super) struct PythonPolicy {
    name: &'static str,
    object: Py<PyAny>,
    /// Names of the optional methods that the Python class defines.
    defined: Vec<String>,
    /// Bound method `admit` of the Python policy. All bound methods are looked up once.
    admit: Py<PyAny>,
    hooks: [Option<Py<PyAny>>; HOOK_COUNT],
    wanted: Hooks,
    buffer: Py<Buffer>,
    classify: Option<Py<PyAny>>,
    queues_per_port: usize,
    /// Time of the last call of the policy. Calls without a time argument use this time.
    now: Cell<Time>,
    state: Arc<State>,
}

/// Failure state that a Python policy and its classifier share.
#[derive(Debug, Default)]
struct State {
    failed: AtomicBool,
    failure: Mutex<Option<PolicyFailure>>,
}

impl State {
    #[inline]
    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    #[cold]
    fn fail(&self, py: Python<'_>, now: Time, hook: &'static str, queue: Option<QueueId>, trouble: Trouble) {
        let (what, cause) = trouble.in_short(py);
        self.failed.store(true, Ordering::Relaxed);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(PolicyFailure { now, queue, hook, what, cause });
    }
}

impl fmt::Debug for PythonPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonPolicy").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PythonPolicy {
    /// Wraps the Python policy `object`. `defined` has the names of the optional methods that its
    /// class defines.
    pub(super) fn new(
        name: &'static str,
        object: &Bound<'_, PyAny>,
        defined: &[String],
        queues_per_port: usize,
    ) -> PyResult<Self> {
        let mut hooks = [const { None }; HOOK_COUNT];
        let mut wanted = Hooks::NONE;
        for (slot, (hook, needs)) in hooks.iter_mut().zip(HOOKS) {
            if defined.iter().any(|name| name == hook) {
                *slot = Some(object.getattr(hook)?.unbind());
                wanted = wanted.and(needs);
            }
        }
        Ok(Self {
            name,
            object: object.clone().unbind(),
            defined: defined.to_vec(),
            admit: object.getattr("admit")?.unbind(),
            hooks,
            wanted,
            buffer: Py::new(object.py(), Buffer)?,
            classify: defined
                .iter()
                .any(|name| name == "classify")
                .then(|| object.getattr("classify"))
                .transpose()?
                .map(Bound::unbind),
            queues_per_port,
            now: Cell::new(Time::ZERO),
            state: Arc::default(),
        })
    }

    /// Calls an optional method of the policy if the Python class defines the method and no earlier
    /// call has failed. Returns the result of `call`.
    #[inline]
    fn call<R>(
        &self,
        hook: usize,
        queue: Option<QueueId>,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> Result<R, Trouble>,
    ) -> Option<R> {
        let method = self.hooks[hook].as_ref()?;
        if self.state.has_failed() {
            return None;
        }
        Python::attach(|py| match call(py, method.bind(py)) {
            Ok(answer) => Some(answer),
            Err(trouble) => {
                self.state.fail(py, self.now.get(), HOOKS[hook].0, queue, trouble);
                None
            }
        })
    }
}

impl Policy for PythonPolicy {
    fn admit(&mut self, arrival: &core::Arrival, buffer: &core::Buffer) -> core::Verdict {
        const FAULT: core::Verdict = core::Verdict::Drop(DropReason::PolicyFault);
        if self.state.has_failed() {
            return FAULT;
        }
        self.now.set(arrival.now);
        Python::attach(|py| {
            let decide = || {
                let asked = Bound::new(py, Arrival(*arrival))?;
                let answer = self.admit.bind(py).call1((asked, self.buffer.bind(py)))?;
                match answer.cast::<Verdict>() {
                    Ok(verdict) => Ok(verdict.get().0),
                    Err(_) => Err(nonsense(
                        &answer,
                        "a Verdict: Verdict.ADMIT, Verdict.drop(...), Verdict.evict(...)",
                    )),
                }
            };
            lend(buffer, decide).unwrap_or_else(|trouble: Trouble| {
                self.state.fail(py, arrival.now, "admit", Some(arrival.queue), trouble);
                FAULT
            })
        })
    }

    fn hooks(&self) -> Hooks {
        self.wanted
    }

    fn on_enqueue(&mut self, arrival: &core::Arrival, buffer: &core::Buffer) {
        self.call(ON_ENQUEUE, Some(arrival.queue), |py, method| {
            let arrival = Bound::new(py, Arrival(*arrival))?;
            lend(buffer, || method.call1((arrival, self.buffer.bind(py))))?;
            Ok(())
        });
    }

    fn on_dequeue(&mut self, departure: &core::Departure, buffer: &core::Buffer) {
        self.now.set(departure.now);
        self.call(ON_DEQUEUE, Some(departure.queue), |py, method| {
            let departure = Bound::new(py, Departure(*departure))?;
            lend(buffer, || method.call1((departure, self.buffer.bind(py))))?;
            Ok(())
        });
    }

    fn on_drop(&mut self, arrival: &core::Arrival, reason: DropReason, buffer: &core::Buffer) {
        self.call(ON_DROP, Some(arrival.queue), |py, method| {
            let arrival = Bound::new(py, Arrival(*arrival))?;
            lend(buffer, || method.call1((arrival, reason.name(), self.buffer.bind(py))))?;
            Ok(())
        });
    }

    fn on_evict(&mut self, now: Time, queue: QueueId, size: u32, buffer: &core::Buffer) {
        self.now.set(now);
        self.call(ON_EVICT, Some(queue), |py, method| {
            lend(buffer, || method.call1((now.0, queue.0, size, self.buffer.bind(py))))?;
            Ok(())
        });
    }

    fn on_empty_visit(&mut self, now: Time, queue: QueueId) {
        self.now.set(now);
        self.call(ON_EMPTY_VISIT, Some(queue), |_, method| {
            method.call1((now.0, queue.0))?;
            Ok(())
        });
    }

    fn next_timeout(&self) -> Option<Time> {
        self.call(NEXT_TIMEOUT, None, |_, method| {
            let answer = method.call0()?;
            let next = answer.extract::<Option<u64>>();
            next.map(|next| next.map(Time)).map_err(|_| nonsense(&answer, "a time in picoseconds, or None"))
        })
        .flatten()
    }

    fn handle_timeout(&mut self, now: Time, buffer: &core::Buffer) {
        self.now.set(now);
        self.call(HANDLE_TIMEOUT, None, |py, method| {
            lend(buffer, || method.call1((now.0, self.buffer.bind(py))))?;
            Ok(())
        });
    }

    fn poll_expulsion(&mut self, now: Time, buffer: &core::Buffer) -> Option<(QueueId, End)> {
        self.now.set(now);
        self.call(POLL_EXPULSION, None, |py, method| {
            let answer = lend(buffer, || method.call1((now.0, self.buffer.bind(py))))?;
            if answer.is_none() {
                return Ok(None);
            }
            let pair =
                answer.extract::<(u16, String)>().and_then(|(queue, end)| Ok((queue, parse_end(py, &end)?)));
            let (queue, end) =
                pair.map_err(|_| nonsense(&answer, "(queue, \"head\" or \"tail\"), or None"))?;
            Ok(Some((QueueId(queue), end)))
        })
        .flatten()
    }

    fn pause_demand(&mut self, now: Time, ingress: IngressId, buffer: &core::Buffer) -> PauseDemand {
        self.now.set(now);
        let wanted = self.call(PAUSE_DEMAND, None, |py, method| {
            let answer = lend(buffer, || method.call1((now.0, ingress.0, self.buffer.bind(py))))?;
            let wanted = answer.extract::<Option<bool>>();
            wanted.map_err(|_| nonsense(&answer, "True (pause), False (resume), or None (as it is)"))
        });
        match wanted.flatten() {
            None => PauseDemand::Keep,
            Some(true) => PauseDemand::Pause,
            Some(false) => PauseDemand::Resume,
        }
    }

    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &core::Buffer) -> Option<u64> {
        self.call(THRESHOLD, Some(queue), |py, method| {
            let tags: Vec<_> = tags.names().collect();
            let answer = lend(buffer, || method.call1((queue.0, tags, self.buffer.bind(py))))?;
            answer.extract::<Option<u64>>().map_err(|_| nonsense(&answer, "a number of bytes (int), or None"))
        })
        .flatten()
    }

    fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.state.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take_classifier(&mut self) -> Option<Classifier> {
        let method = self.classify.take()?;
        let queues_per_port = self.queues_per_port;
        let classifier = PythonClassifier { method, queues_per_port, state: Arc::clone(&self.state) };
        Some(Classifier::custom(Box::new(classifier), self.queues_per_port))
    }

    /// Copies the Python object with `copy.deepcopy`. A policy with `classify` cannot be copied,
    /// because the classifier uses the policy's object.
    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        if self.defined.iter().any(|name| name == "classify") || self.state.has_failed() {
            return None;
        }
        Python::attach(|py| {
            let copy = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.object,)));
            let made = copy.and_then(|copy| Self::new(self.name, &copy, &self.defined, self.queues_per_port));
            let made = Self { now: self.now.clone(), ..made.ok()? };
            Some(Box::new(made) as Box<dyn Policy>)
        })
    }
}

/// Classifier that calls the method `classify` of a Python policy.
#[derive(Debug)]
struct PythonClassifier {
    method: Py<PyAny>,
    queues_per_port: usize,
    state: Arc<State>,
}

impl Classify for PythonClassifier {
    fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
        let Unclassified { now, header, mapped } = *packet;
        let Header { size, flow, tags, priority, .. } = header;
        if self.state.has_failed() {
            return (mapped, tags);
        }
        let queue = Python::attach(|py| {
            let ask = || {
                let answer = self.method.bind(py).call1((now.0, flow, priority, size))?;
                let queue = answer.extract::<u8>().ok();
                queue.filter(|&queue| usize::from(queue) < self.queues_per_port).ok_or_else(|| {
                    nonsense(&answer, &format!("a queue of the port (int), below {}", self.queues_per_port))
                })
            };
            ask().map_err(|trouble: Trouble| self.state.fail(py, now, "classify", None, trouble))
        });
        (queue.unwrap_or(mapped), tags)
    }
}

/// A copy of a classifier calls the Python object of the original classifier.
impl Clone for PythonClassifier {
    fn clone(&self) -> Self {
        let method = Python::attach(|py| self.method.clone_ref(py));
        Self { method, queues_per_port: self.queues_per_port, state: Arc::clone(&self.state) }
    }
}
