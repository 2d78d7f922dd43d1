//! Workload of closed loops: clients query several servers at once.

use super::parts::{PARETO_SHAPE, count_of, durations, pareto_shape, scatter};
use crate::context::WorkloadContext;
use crate::traffic::TrafficBuilder;
use crate::workload::{Queries, Workload, WorkloadInfo};
use crate::{AnswersPer, Durations, MultiGet, MultiGetParams, QueryNumbers, SourceError};
use bufferlab_params::{Choice, Fault, Faults, ParamInfo, ParamKind, ParamPlace, ParamValue, Params};
use bufferlab_units::Time;
use bufferlab_units::quantity::{format_size, format_time};
use std::borrow::Cow;

pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "multi_get",
    aliases: &[],
    title: "Multi-get",
    summary: "A closed loop, as of memcached's clients: every thread queries several servers at once, and asks \
              again when the last answer is complete. Query completion times (table `queries`) count from the start \
              of the query.",
    source: "",
    params: PARAMS,
    build: &build,
};

/// Range of a parameter that is a number of threads, servers or items.
const FEW: ParamKind = ParamKind::Count { min: 1, max: 65_535 };

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "clients",
        ParamKind::Texts,
        "\"h0\"",
        "Hosts that ask queries; here and in `servers` a switch's name stands for all of its hosts.",
    ),
    ParamInfo::computed(
        "servers",
        ParamKind::Texts,
        "every host except the clients",
        "[\"h1\", \"h2\", \"h3\", \"h4\"]",
        "Hosts that answer queries. No client queries itself.",
    ),
    ParamInfo::with_default("threads", FEW, ParamValue::Count(1), "Number of closed loops per client."),
    ParamInfo::computed(
        "fan_in",
        FEW,
        "all of them",
        "4",
        "Servers per query, drawn for every query from all servers.",
    ),
    ParamInfo::computed("items", FEW, "`fan_in`", "16", "Items per query, assigned to its servers in turn."),
    ParamInfo::required("item", ParamKind::SIZE, "\"32 KB\"", "Payload of one item."),
    ParamInfo::with_default(
        "answers_per",
        ParamKind::Choice(AnswersPer::WORDS),
        ParamValue::Choice(Cow::Borrowed("server")),
        "Messages in which a server answers. Default: memcached's get of several keys.",
    ),
    ParamInfo::with_default(
        "think_time",
        ParamKind::DELAY,
        ParamValue::Time(Time::ZERO),
        "Mean time from the last answer to the next query.",
    ),
    scatter(
        "think_distribution",
        "Distribution of the think times. Default: our choice, the usual closed loop.",
    ),
    PARETO_SHAPE,
    ParamInfo::optional(
        "queries",
        ParamKind::Count { min: 1, max: u32::MAX as u64 - 1 },
        "1000",
        "Total queries of all threads. Without it, threads ask until `duration`.",
    ),
    ParamInfo::with_default(
        "start",
        ParamKind::DELAY,
        ParamValue::Time(Time::ZERO),
        "Time of every thread's first query, or with a `think_time` the time at which it begins to think.",
    ),
    ParamInfo::computed(
        "request_delay",
        ParamKind::DELAY,
        "half of the unloaded round trip to each server",
        "\"250 us\"",
        "Time from the query to the answers; the requests themselves are not sent through the network.",
    ),
];

#[derive(Debug)]
struct MultiGets {
    clients: Vec<u32>,
    servers: Vec<u32>,
    threads: u32,
    fan_in: u32,
    items: u32,
    item_bytes: u64,
    answers_per: AnswersPer,
    think: Option<Durations>,
    queries: Option<u64>,
    start: Time,
    request_delay: Option<Time>,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let clients = context.hosts(params, "clients")?;
    let servers = servers(params, context, &clients)?;
    let shape = pareto_shape(params, context, &["think_distribution"], ParamPlace::new);
    let think = durations(params, "think_time", "think_distribution", shape);
    let others = |client: &u32| servers.iter().filter(|server| *server != client).count() as u64;
    let all = clients.iter().map(others).min().expect("there is a client");
    let fan_in = params.count_or("fan_in", all) as u32;
    let items = params.count_or("items", u64::from(fan_in)) as u32;
    let gets = MultiGets {
        clients,
        servers,
        threads: params.small_count("threads"),
        fan_in,
        items,
        item_bytes: params.bytes("item"),
        answers_per: params.choice("answers_per"),
        think: (think.mean > Time::ZERO).then_some(think),
        queries: params.given_count("queries"),
        start: params.time("start"),
        request_delay: params.given_time("request_delay"),
    };
    gets.check(context)?;
    Ok(Box::new(gets))
}

impl MultiGets {
    fn check(&self, context: &WorkloadContext<'_>) -> Result<(), Faults> {
        let (items, fan_in, start, end) = (self.items, self.fan_in, self.start, context.duration()?);
        if items < fan_in {
            let message = format!("{items} items cannot come from {fan_in} different servers");
            let fault = Fault::new("items", message, format!("expected at least {fan_in}"));
            return Err(fault.help("raise `items`, or lower `fan_in`").into());
        }
        if start >= end {
            let message = format!("nobody asks before `duration` ({}) is over", format_time(end));
            let help = format!("raise `duration` above {}", format_time(start));
            return Err(Fault::new("start", message, "too late").help(help).into());
        }
        let carrier = context.transport()?;
        if carrier.rate.is_some() {
            let message = format!(
                "transport \"{}\" sends lost packets never again, so that a query might wait for ever",
                carrier.name
            );
            let fault = Fault::new("transport", message, "expected a transport with a congestion control");
            let help = "name a [[transport]] such as one with congestion_control = \"dctcp\"";
            return Err(fault.help(help).into());
        }
        // This trial builds the closed loop, and reports an error of the loop
        // at the parameter in question.
        match self.closed_loop(context.seed(), context.class(), QueryNumbers::default(), end) {
            Ok(_) => Ok(()),
            Err(SourceError::LoopFanIn { fan_in, client, available }) => {
                let client = &context.network()?.hosts[client as usize];
                let message =
                    format!("a query asks {fan_in} servers, and client \"{client}\" has only {available}");
                let fault = Fault::new("fan_in", message, format!("expected at most {available}"));
                Err(fault.help("a client does not ask itself; name more `servers`, or lower `fan_in`").into())
            }
            Err(other) => {
                let fault = Fault::of_error("kind", &other.to_string(), "this workload");
                let help = "name a server that is not the only client, and give `threads`, `items` and `item` of at least 1";
                Err(fault.help(help).into())
            }
        }
    }

    fn closed_loop(
        &self,
        seed: u64,
        label: &str,
        numbers: QueryNumbers,
        end: Time,
    ) -> Result<MultiGet, SourceError> {
        MultiGet::new(MultiGetParams {
            seed,
            label,
            clients: &self.clients,
            servers: &self.servers,
            threads: self.threads,
            fan_in: self.fan_in,
            items: self.items,
            item_bytes: self.item_bytes,
            answers_per: self.answers_per,
            think: self.think,
            queries: self.queries,
            start: self.start,
            end,
            numbers,
        })
    }
}

impl Workload for MultiGets {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let (class, numbers) = (traffic.class(), traffic.queries());
        let gets = self.closed_loop(traffic.seed(), traffic.label(), numbers, traffic.end())?;
        traffic.add_closed_loop(gets, class, self.request_delay);
        Ok(())
    }

    fn in_words(&self) -> String {
        format!(
            "closed loops: {} of {} ask for {} of {} from {} servers{}",
            count_of(self.threads as usize, "thread", "threads"),
            count_of(self.clients.len(), "client", "clients"),
            count_of(self.items as usize, "item", "items"),
            format_size(self.item_bytes),
            self.fan_in,
            self.queries.map_or_else(String::new, |queries| format!(", {queries} queries"))
        )
    }

    fn queries(&self) -> Queries {
        Queries::Numbered
    }
}

/// Servers of the workload; by default every host except the clients.
fn servers(params: &mut Params, context: &WorkloadContext<'_>, clients: &[u32]) -> Result<Vec<u32>, Faults> {
    if params.has("servers") {
        return context.hosts(params, "servers");
    }
    let names = &context.network()?.hosts;
    let others: Vec<u32> = (0..names.len() as u32).filter(|host| !clients.contains(host)).collect();
    if others.is_empty() {
        let message = "every host is a client, and `servers` is missing";
        let fault = Fault::new("clients", message, "who answers?");
        return Err(fault.help("name `servers`; a client may be among them").into());
    }
    let others_named = others.iter().map(|&host| names[host as usize].clone()).collect();
    params.set("servers", ParamValue::Texts(others_named));
    Ok(others)
}
