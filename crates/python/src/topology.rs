//! Custom topologies in Python: a registered class, with one instance per network of a scenario.
//! The instance returns the graph of the network once.

use crate::custom::{PlainParameter, Trouble, declared, keep, keywords, nonsense, refusal};
use crate::errors;
use bufferlab_params::{Fault, Faults, ParamKind, ParamValue, Params, suggestion};
use bufferlab_scenario::{GraphProblem, LinkSpec, Node, Topology, TopologyInfo, replace_topology};
use bufferlab_units::{BitRate, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use std::collections::BTreeMap;

/// Largest number of hosts, of switches and of cables. A larger network does not fit a machine's
/// memory, and is probably a mistake.
const MOST: usize = 1 << 18;

/// A full-duplex cable of a custom topology.
#[pyclass(frozen, get_all, eq, hash, module = "bufferlab._bufferlab")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cable {
    /// Name of the host or switch at one end of the cable.
    a: String,
    /// Name of the host or switch at the other end of the cable.
    b: String,
    /// Rate of each direction of the cable (bits per second).
    rate_bps: u64,
    /// Propagation delay of the cable, one way (ps).
    delay_ps: u64,
}

#[pymethods]
impl Cable {
    #[new]
    fn new(
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        rate_bps: &Bound<'_, PyAny>,
        delay_ps: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let end = |name, given: &Bound<'_, PyAny>| {
            let expected = "the name of a host or a switch";
            given.extract::<String>().map_err(|_| errors::not_expected(name, given, expected))
        };
        let (a, b) = (end("a", a)?, end("b", b)?);
        let rate = errors::whole_number("rate_bps", rate_bps, u64::MAX)?;
        let delay = errors::whole_number("delay_ps", delay_ps, u64::MAX)?;
        let fits = |name, kind: ParamKind, value: &ParamValue| {
            kind.check(value)
                .map_err(|why| errors::argument(rate_bps.py(), name, &format!("{name}: {why}"), ""))
        };
        fits("rate_bps", ParamKind::RATE, &ParamValue::Rate(BitRate(rate)))?;
        fits("delay_ps", ParamKind::DELAY, &ParamValue::Time(Time(delay)))?;
        Ok(Self { a, b, rate_bps: rate, delay_ps: delay })
    }

    /// Arguments for unpickling a cable.
    fn __getnewargs__(&self) -> (&str, &str, u64, u64) {
        (&self.a, &self.b, self.rate_bps, self.delay_ps)
    }

    fn __repr__(&self) -> String {
        let Self { a, b, rate_bps, delay_ps } = self;
        format!("Cable({a} to {b}, {}, {})", BitRate(*rate_bps), Time(*delay_ps))
    }
}

/// Registers the topology `class_` under `name`, and replaces an earlier class of this name.
#[pyfunction]
pub(crate) fn register_topology(
    class_: Bound<'_, PyType>,
    name: &str,
    title: &str,
    summary: &str,
    parameters: Vec<PlainParameter<'_>>,
) -> PyResult<()> {
    let name = keep(name);
    let class = class_.unbind();
    let build = move |params: &mut Params| build(name, &class, params);
    let info = TopologyInfo {
        name,
        aliases: &[],
        title: keep(title),
        summary: keep(summary),
        source: "Custom topology in Python.",
        params: declared(parameters)?,
        build: Box::leak(Box::new(build)),
    };
    replace_topology(info).map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Builds the network of an instance of the Python class `class`.
fn build(name: &'static str, class: &Py<PyType>, params: &mut Params) -> Result<Topology, Faults> {
    Python::attach(|py| {
        let refused = |message: String| Fault::new("kind", message, "its class builds no network");
        let make = || class.bind(py).call((), Some(&keywords(py, params)?));
        let object = make().map_err(|error| refused(refusal(py, name, error)))?;
        graph(&object).map_err(|trouble| {
            let (message, help) = match trouble {
                Refused::Trouble(Trouble::Raised(error)) => {
                    (refusal(py, &format!("{name} failed: graph:"), error), None)
                }
                Refused::Trouble(trouble) => {
                    (format!("{name} failed: graph: {}", trouble.in_short(py).0), None)
                }
                Refused::Graph(what, help) => (format!("{name} failed: graph: {what}"), help),
            };
            let fault = refused(message);
            Faults::from(match help {
                Some(help) => fault.help(help),
                None => fault,
            })
        })
    })
}

/// Reason why a Python class has built no network.
enum Refused {
    Trouble(Trouble),
    /// The graph is not a network. The error has advice, if any.
    Graph(String, Option<String>),
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Self::Trouble(Trouble::Raised(error))
    }
}

/// Calls `graph` of a Python topology, and builds the network that the method returns.
fn graph(object: &Bound<'_, PyAny>) -> Result<Topology, Refused> {
    let answer = object.call_method0("graph")?;
    let parts = answer.cast::<PyTuple>().ok().filter(|parts| parts.len() == 3);
    let Some(parts) = parts else {
        return Err(nonsense(&answer, "a tuple of hosts, switches and cables").into());
    };
    let hosts = names("hosts", &parts.get_item(0)?, 2)?;
    let switches = names("switches", &parts.get_item(1)?, 1)?;
    let mut nodes = BTreeMap::new();
    let host = |index: usize| Node::Host(index as u32);
    let switch = |index: usize| Node::Switch(index as u32);
    let of_hosts = hosts.iter().enumerate().map(|(index, name)| (name, host(index)));
    let of_switches = switches.iter().enumerate().map(|(index, name)| (name, switch(index)));
    for (name, node) in of_hosts.chain(of_switches) {
        if nodes.insert(name.as_str(), node).is_some() {
            let help = "hosts and switches share one set of names".to_owned();
            return Err(Refused::Graph(format!("two nodes are called \"{name}\""), Some(help)));
        }
    }
    let links = links(&parts.get_item(2)?, &nodes)?;
    let topology = Topology::new(hosts, switches, links);
    match topology.problems().first() {
        None => Ok(topology),
        Some(problem) => Err(Refused::Graph(in_names(&topology, problem), None)),
    }
}

/// Reads a list of nodes' names. `part` is what the list has, such as "hosts".
fn names(part: &str, given: &Bound<'_, PyAny>, least: usize) -> Result<Vec<String>, Refused> {
    let mut names = Vec::new();
    for item in elements(part, given, "names")? {
        let item = item?;
        let name = item.extract::<String>().ok().filter(|name| !name.is_empty());
        let place = format!("{part}[{}]", names.len());
        names.push(name.ok_or_else(|| unexpected(&place, &item, "a name (str)"))?);
        at_most(part, names.len())?;
    }
    if names.len() < least {
        let what = format!("{} {part}; expected at least {least}", names.len());
        return Err(Refused::Graph(what, None));
    }
    Ok(names)
}

/// Reads the list of cables, whose ends are nodes in `nodes`.
fn links(given: &Bound<'_, PyAny>, nodes: &BTreeMap<&str, Node>) -> Result<Vec<LinkSpec>, Refused> {
    let mut links = Vec::new();
    for item in elements("cables", given, "bufferlab.Cable(...)")? {
        let item = item?;
        let place = format!("cables[{}]", links.len());
        let cable = item.cast::<Cable>().map_err(|_| unexpected(&place, &item, "bufferlab.Cable(...)"))?;
        let Cable { a, b, rate_bps, delay_ps } = cable.get();
        let end = |name: &str| {
            nodes.get(name).copied().ok_or_else(|| {
                let help = suggestion(name, nodes.keys().copied());
                let help = help.map(|near| format!("did you mean \"{near}\"?"));
                let what = format!("{place} joins \"{a}\" and \"{b}\"; there is no node \"{name}\"");
                Refused::Graph(what, help)
            })
        };
        links.push(LinkSpec::new(end(a)?, end(b)?, BitRate(*rate_bps), Time(*delay_ps)));
        at_most("cables", links.len())?;
    }
    Ok(links)
}

/// Iterates over a part of a graph. Text is refused, although Python iterates over its characters.
fn elements<'py>(
    part: &str,
    given: &Bound<'py, PyAny>,
    what: &str,
) -> Result<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>, Refused> {
    let wrong = || unexpected(part, given, &format!("a list of {what}"));
    if given.is_instance_of::<PyString>() || !given.hasattr("__iter__")? {
        return Err(wrong());
    }
    Ok(given.try_iter()?)
}

fn unexpected(place: &str, found: &Bound<'_, PyAny>, expected: &str) -> Refused {
    match nonsense(found, expected) {
        Trouble::Nonsense(what) => Trouble::Nonsense(format!("{place}: {what}")).into(),
        trouble @ Trouble::Raised(_) => trouble.into(),
    }
}

/// Refuses a list that is too long, and so perhaps has no end.
fn at_most(part: &str, count: usize) -> Result<(), Refused> {
    if count <= MOST {
        return Ok(());
    }
    Err(Refused::Graph(format!("more than {MOST} {part}; expected at most {MOST}"), None))
}

/// Formats a problem of a graph with the names of its nodes.
fn in_names(topology: &Topology, problem: &GraphProblem) -> String {
    let ends = |link: u32| {
        let LinkSpec { a, b, .. } = &topology.links[link as usize];
        format!("cables[{link}] joins \"{}\" and \"{}\"", topology.node_name(*a), topology.node_name(*b))
    };
    let host = |host: u32| format!("host \"{}\"", topology.hosts[host as usize]);
    match problem {
        GraphProblem::SelfLoop { link } => format!("{}: one node", ends(*link)),
        GraphProblem::HostToHost { link } => format!("{}: two hosts", ends(*link)),
        GraphProblem::HostWithoutLink { host: index } => format!("{} has no cable", host(*index)),
        GraphProblem::HostWithSeveralLinks { host: index, links } => {
            format!("{} has {} cables; expected one", host(*index), links.len())
        }
        GraphProblem::Unconnected { nodes } => {
            let first = nodes.first().map_or("", |&node| topology.node_name(node));
            let start = &topology.switches[0];
            format!("the graph falls apart: no path from \"{start}\" to \"{first}\"")
        }
        GraphProblem::DuplicateName(_) => problem.to_string(),
    }
}
