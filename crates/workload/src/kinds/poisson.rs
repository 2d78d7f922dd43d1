//! Workload of flows that every host starts at random times.

use super::parts::{OTHER_RACK, pattern};
use crate::context::WorkloadContext;
use crate::traffic::TrafficBuilder;
use crate::workload::{FLOW_SIZES, Workload, WorkloadInfo};
use crate::{
    Pattern, PoissonParams, PoissonSource, SizeDistribution, SourceError, arrivals_per_second_per_host,
};
use bufferlab_params::{Choice, Fault, Faults, ParamInfo, ParamKind, Params, choices};
use bufferlab_topology::{Node, Topology};
use bufferlab_units::Time;
use bufferlab_units::quantity::format_size;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "poisson",
    aliases: &[],
    title: "Poisson arrivals",
    summary: "Every host starts flows at random times (Poisson).",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "sizes",
        FLOW_SIZES,
        "\"web_search\"",
        "Flow sizes: a built-in distribution, a CSV file (relative to the scenario) with the cumulative \
         distribution, or one size such as \"100 KB\".",
    ),
    ParamInfo::required(
        "load",
        ParamKind::RatioAbove { min: 0.0, max: 1.0 },
        "0.4",
        "Offered payload as a fraction of the capacity that `load_of` names.",
    ),
    ParamInfo::computed(
        "load_of",
        ParamKind::Choice(LoadReference::WORDS),
        "`leaf_uplinks` where there are several switches, else `host_links`",
        "\"leaf_uplinks\"",
        "Capacity that the load is a fraction of, in the network as built, before `topology.change`. Default: ABM's artifact.",
    ),
    pattern(
        OTHER_RACK,
        "\"next_rack\"",
        "Receivers of a host's flows. A rack is the hosts of one switch. ABM's artifact: next_rack.",
    ),
    ParamInfo::optional(
        "from",
        ParamKind::Texts,
        "\"leaf0\"",
        "Names of the sending hosts, with `to` and instead of `pattern`; a switch's name stands for all of its hosts. \
         `load` is then a fraction of the slowest sender's link.",
    ),
    ParamInfo::optional(
        "to",
        ParamKind::Texts,
        "[\"h40\", \"h41\"]",
        "Receiving hosts, each with the same probability; no host sends to itself.",
    ),
];

choices! {
    /// Network capacity that corresponds to a load of 1.
    pub enum LoadReference {
        LeafUplinks = "leaf_uplinks": "capacity from the racks' switches to other switches",
        HostLinks = "host_links": "capacity of the access links",
    }
}

/// Numbers of the sending hosts, and of the receiving hosts.
type Ends = (Vec<u32>, Vec<u32>);

#[derive(Debug)]
struct Poisson {
    sizes: SizeDistribution,
    flows_per_second_per_host: f64,
    pattern: Pattern,
    between: Option<Ends>,
    offered_bps: f64,
    words: String,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let sizes = context.sizes(params, "sizes")?;
    let load = params.ratio("load");
    let between = between(params, context)?;
    let network = context.network()?;
    let pattern = if between.is_some() { Pattern::AllToAll } else { context.pattern(params)? };
    let several = between.is_none() && network.switches.len() > 1;
    let computed = if several { LoadReference::LeafUplinks } else { LoadReference::HostLinks };
    let load_of = params.choice_or("load_of", computed);
    let capacity = match (&between, load_of) {
        (None, _) => capacity_bps_per_host(context, network, load_of)?,
        (Some((from, _)), LoadReference::HostLinks) => {
            let rates = from.iter().map(|&host| network.host_rate(host).0);
            rates.min().expect("somebody sends") as f64
        }
        (Some(_), LoadReference::LeafUplinks) => {
            let message = "with `from` and `to`, a load refers to the senders' own links";
            let fault = Fault::new("load_of", message, "whose uplinks?");
            return Err(fault.help("set load_of = \"host_links\", or name a `pattern`").into());
        }
    };
    let flows_per_second_per_host = arrivals_per_second_per_host(load, capacity, sizes.mean());
    let duration = context.duration()?;
    let senders = between.as_ref().map_or(network.hosts.len(), |(from, _)| from.len()) as f64;
    let words = format!(
        "load {load}, sizes {} (mean {}), about {:.0} flows",
        sizes.name(),
        format_size(sizes.mean().round() as u64),
        flows_per_second_per_host * senders * duration.as_secs_f64()
    );
    let offered_bps = flows_per_second_per_host * senders * sizes.mean() * 8.0;
    let poisson = Poisson { sizes, flows_per_second_per_host, pattern, between, offered_bps, words };
    // This trial builds the source, and reports an error of the source
    // at the parameter in question.
    let trial = poisson.source(context.seed(), context.class(), &network.racks(), 0, duration);
    trial.map_err(|error| super::incast::refused(&error, "load"))?;
    Ok(Box::new(poisson))
}

impl Poisson {
    fn source(
        &self,
        seed: u64,
        label: &str,
        racks: &[Vec<u32>],
        class: u16,
        end: Time,
    ) -> Result<PoissonSource, SourceError> {
        PoissonSource::new(PoissonParams {
            seed,
            label,
            racks,
            pattern: self.pattern,
            between: self.between.as_ref().map(|(from, to)| (from.as_slice(), to.as_slice())),
            flows_per_second_per_host: self.flows_per_second_per_host,
            sizes: self.sizes.clone(),
            class,
            end,
        })
    }
}

impl Workload for Poisson {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let class = traffic.class();
        let source = self.source(traffic.seed(), traffic.label(), traffic.racks(), class, traffic.end())?;
        traffic.add_source(source);
        Ok(())
    }

    fn offered_bps(&self) -> Option<f64> {
        Some(self.offered_bps)
    }

    fn arrivals_per_second(&self) -> Option<f64> {
        Some(self.offered_bps / 8.0 / self.sizes.mean())
    }

    fn in_words(&self) -> String {
        self.words.clone()
    }
}

/// Reads the hosts of the parameters `from` and `to`; `None` if a pattern selects the receivers.
fn between(params: &Params, context: &WorkloadContext<'_>) -> Result<Option<Ends>, Faults> {
    let given = ["from", "to"].map(|param| params.has(param));
    if given == [false, false] {
        return Ok(None);
    }
    if params.has("pattern") {
        let fault = Fault::new("pattern", "the partners are given twice", "so are they here");
        let fault = fault.also(if given[0] { "from" } else { "to" }, "and here");
        return Err(fault.help("remove `pattern`, or `from` and `to`").into());
    }
    for (param, other) in [("from", "to"), ("to", "from")] {
        if !params.has(param) {
            let fault = Fault::new(other, format!("`{param}` is missing"), format!("`{other}` goes with it"));
            return Err(fault.help(format!("add {param} = \"leaf1\", or a list of hosts and racks")).into());
        }
    }
    Ok(Some((context.hosts(params, "from")?, context.hosts(params, "to")?)))
}

/// Share of one host in the network capacity that corresponds to a load of 1, before any failure.
fn capacity_bps_per_host(
    context: &WorkloadContext<'_>,
    network: &Topology,
    load_of: LoadReference,
) -> Result<f64, Faults> {
    let shares = match load_of {
        LoadReference::HostLinks => access_rates(network),
        LoadReference::LeafUplinks => uplink_shares(network),
    };
    let lowest = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = shares.iter().copied().fold(0.0, f64::max);
    if lowest <= 0.0 {
        let fault = Fault::new("load_of", "a rack has no uplinks", "a load of nothing");
        return Err(fault.help("set load_of = \"host_links\"").into());
    }
    if lowest < highest {
        let whose = match load_of {
            LoadReference::HostLinks => "hosts have different link rates",
            LoadReference::LeafUplinks => "racks have different uplink capacities per host",
        };
        let message = format!("{whose}; the smallest counts");
        let help = format!(
            "shares range from {:.3} to {:.3} Gb/s per host; every host sends as if it had the smallest",
            lowest / 1e9,
            highest / 1e9
        );
        context.warn(Fault::new("load", message, "the same rate at every host").help(help));
    }
    Ok(lowest)
}

/// Rate of the slower direction of every host's link. The slower direction counts because hosts
/// must also be able to receive a load.
fn access_rates(network: &Topology) -> Vec<f64> {
    let is_access = |a, b| matches!((a, b), (Node::Host(_), _) | (_, Node::Host(_)));
    let access = network.links.iter().filter(|link| is_access(link.a, link.b));
    access.map(|link| link.rate_ab.0.min(link.rate_ba.0) as f64).collect()
}

/// Capacity from each rack to other switches, divided by the number of hosts in the rack.
fn uplink_shares(network: &Topology) -> Vec<f64> {
    let mut uplinks_bps = vec![0_u64; network.switches.len()];
    for link in &network.links {
        if let (Node::Switch(a), Node::Switch(b)) = (link.a, link.b) {
            uplinks_bps[a as usize] += link.rate_ab.0;
            uplinks_bps[b as usize] += link.rate_ba.0;
        }
    }
    let racks = network.rack_switches().into_iter().zip(network.racks());
    racks.map(|(switch, hosts)| uplinks_bps[switch as usize] as f64 / hosts.len() as f64).collect()
}
