//! Custom workloads in Python: a registered class, with one instance per workload entry of a
//! scenario. In each run, an instance generates its flows once.

use crate::custom::{PlainParameter, Trouble, declared, keep, keywords, nonsense, refusal};
use crate::errors;
use bufferlab_params::{Fault, Faults, Params};
use bufferlab_units::{RandomStream, Time};
use bufferlab_workload::{
    CustomError, FlowSpec, Queries, SourceError, TrafficBuilder, Workload, WorkloadContext, WorkloadInfo,
    replace_workload,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::collections::BTreeMap;
use std::fmt;

/// Positional arguments of a flow: start (ps), sender, receiver, size (bytes).
type Positional = (u64, u32, u32, u64);

/// A flow that a custom workload generates.
#[pyclass(frozen, get_all, eq, hash, module = "bufferlab._bufferlab")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Flow {
    /// Time at which the flow's data is available to the sender (ps).
    start_ps: u64,
    /// Number of the sending host.
    src: u32,
    /// Number of the receiving host.
    dst: u32,
    /// Payload of the flow (bytes).
    size: u64,
    /// Tag of the flow. Every tag is a separate class in tables and reports.
    tag: Option<String>,
    /// Number of the query that the flow answers. Flows with equal numbers answer one query.
    query: Option<u32>,
}

#[pymethods]
impl Flow {
    #[new]
    #[pyo3(signature = (start_ps, src, dst, size, *, tag = None, query = None))]
    fn new(
        start_ps: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        dst: &Bound<'_, PyAny>,
        size: &Bound<'_, PyAny>,
        tag: Option<&Bound<'_, PyAny>>,
        query: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let number =
            |name, given| errors::whole_number(name, given, u32::MAX.into()).map(|number| number as u32);
        let text = |given: &Bound<'_, PyAny>| {
            given.extract::<String>().map_err(|_| errors::not_expected("tag", given, "text"))
        };
        Ok(Self {
            start_ps: errors::whole_number("start_ps", start_ps, u64::MAX)?,
            src: number("src", src)?,
            dst: number("dst", dst)?,
            size: errors::whole_number("size", size, u64::MAX)?,
            tag: tag.map(text).transpose()?,
            query: query.map(|given| number("query", given)).transpose()?,
        })
    }

    /// Arguments for unpickling a flow; `tag` and `query` are keyword arguments.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Positional, Bound<'py, PyDict>)> {
        let keywords = PyDict::new(py);
        keywords.set_item("tag", self.tag.as_deref())?;
        keywords.set_item("query", self.query)?;
        Ok(((self.start_ps, self.src, self.dst, self.size), keywords))
    }

    fn __repr__(&self) -> String {
        let Self { start_ps, src, dst, size, .. } = self;
        format!("Flow({size} B from host {src} to host {dst} at {})", Time(*start_ps))
    }
}

/// Registers the workload `class_` under `name`, and replaces an earlier class of this name.
#[pyfunction]
pub(crate) fn register_workload(
    class_: Bound<'_, PyType>,
    name: &str,
    title: &str,
    summary: &str,
    parameters: Vec<PlainParameter<'_>>,
) -> PyResult<()> {
    let name = keep(name);
    let class = class_.unbind();
    let build =
        move |params: &mut Params, context: &WorkloadContext<'_>| build(name, &class, params, context);
    let info = WorkloadInfo {
        name,
        aliases: &[],
        title: keep(title),
        summary: keep(summary),
        source: "Custom workload in Python.",
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
    };
    replace_workload(info).map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Creates an instance of the Python class `class` for a workload entry of a scenario.
fn build(
    name: &'static str,
    class: &Py<PyType>,
    params: &mut Params,
    context: &WorkloadContext<'_>,
) -> Result<Box<dyn Workload>, Faults> {
    let topology = context.network()?;
    let (switches, duration) = (context.switches()?, context.duration()?);
    let hosts = topology.hosts.len() as u32;
    Python::attach(|py| {
        let make = || {
            let network = py.import("bufferlab.workload")?.getattr("Network")?;
            let rates: Vec<u64> = (0..hosts).map(|host| topology.host_rate(host).0).collect();
            let buffers: Vec<u64> = switches.iter().map(|switch| switch.buffer_bytes).collect();
            let facts = (&topology.hosts, rates, topology.racks(), &topology.switches, buffers, duration.0);
            let values = keywords(py, params)?;
            let object = class.bind(py).call((network.call1(facts)?,), Some(&values))?;
            let words = object.call_method0("describe")?;
            let words = words.extract().unwrap_or_else(|_| name.to_owned());
            Ok(PythonWorkload { name, object: object.unbind(), hosts, words })
        };
        make().map(|workload| Box::new(workload) as Box<dyn Workload>).map_err(|error| {
            Fault::new("kind", refusal(py, name, error), "its class refuses to be built").into()
        })
    })
}

/// An instance of a Python class that is a workload.
struct PythonWorkload {
    name: &'static str,
    object: Py<PyAny>,
    hosts: u32,
    words: String,
}

impl fmt::Debug for PythonWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonWorkload").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PythonWorkload {
    /// Returns all flows that the workload generates in a run.
    fn flows(&self, py: Python<'_>, traffic: &mut TrafficBuilder<'_>) -> Result<Vec<FlowSpec>, Trouble> {
        // Like every workload, a custom workload has a separate random stream, which is derived
        // from seed and class.
        let stream = format!("workload/{}/python", traffic.label());
        let seed = RandomStream::new(traffic.seed(), &stream, 0).next_u64();
        let random = py.import("random")?.getattr("Random")?.call1((seed,))?;
        let answer = self.object.bind(py).call_method1("flows", (random,))?;
        let (plain, end) = (traffic.class(), traffic.end());
        let own = traffic.label().to_owned();
        let mut tags: BTreeMap<String, u16> = BTreeMap::new();
        let mut flows = Vec::new();
        if !answer.hasattr("__iter__")? {
            return Err(nonsense(&answer, "flows: yield bufferlab.Flow(...)"));
        }
        for item in answer.try_iter()? {
            let item = item?;
            let Ok(flow) = item.cast::<Flow>() else {
                return Err(nonsense(&item, "flows only: yield bufferlab.Flow(...)"));
            };
            let flow = flow.get();
            self.check(flow, flows.len(), end)?;
            let class = match &flow.tag {
                None => plain,
                Some(tag) => match tags.get(tag) {
                    Some(&class) => class,
                    None => *tags
                        .entry(tag.clone())
                        .or_insert_with(|| traffic.named_class(&format!("{own} {tag}"))),
                },
            };
            flows.push(FlowSpec {
                start: Time(flow.start_ps),
                src: flow.src,
                dst: flow.dst,
                size: flow.size,
                class,
                query: flow.query.unwrap_or(FlowSpec::NO_QUERY),
                open: None,
                data_path: None,
                ack_path: None,
                node: FlowSpec::NO_NODE,
            });
        }
        Ok(flows)
    }

    /// Checks that the network can carry a flow of the workload.
    fn check(&self, flow: &Flow, number: usize, end: Time) -> Result<(), Trouble> {
        let Flow { start_ps, src, dst, size, query, .. } = flow;
        let hosts = self.hosts;
        let fault = if *src >= hosts || *dst >= hosts {
            format!("goes from host {src} to host {dst}; there are {hosts} hosts, numbered from 0")
        } else if src == dst {
            format!("goes from host {src} to itself")
        } else if *size == 0 || *size == FlowSpec::UNLIMITED {
            format!("has {size} bytes; expected at least 1")
        } else if Time(*start_ps) >= end {
            format!("starts at {}; flows start before the scenario's duration ({end})", Time(*start_ps))
        } else if *query == Some(FlowSpec::NO_QUERY) {
            format!("answers query {}; expected less", FlowSpec::NO_QUERY)
        } else {
            return Ok(());
        };
        Err(Trouble::Nonsense(format!("flow {number} {fault}")))
    }
}

impl Workload for PythonWorkload {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let flows = Python::attach(|py| {
            self.flows(py, traffic).map_err(|trouble| {
                let (what, cause) = trouble.in_short(py);
                CustomError { workload: self.name.to_owned(), what: format!("flows: {what}"), cause }
            })
        })?;
        traffic.add_list(flows);
        Ok(())
    }

    fn in_words(&self) -> String {
        self.words.clone()
    }

    fn queries(&self) -> Queries {
        Queries::Listed
    }
}
