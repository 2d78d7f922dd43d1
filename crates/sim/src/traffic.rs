//! From the scenario's workloads to one stream of flows.

use crate::SimError;
use crate::demand::closed_loops::ClosedLoop;
use bufferlab_scenario::{Between, Scenario, TrafficProcess};
use bufferlab_workload::{
    BurstKind, Durations, FlowSource, IncastParams, IncastSource, ListSource, MergeSource, MultiGet,
    MultiGetParams, OnOffParams, OnOffPartners, OnOffSource, PoissonParams, PoissonSource, QueryNumbers,
    renumber_queries,
};
use std::collections::BTreeMap;

/// The flows of a scenario, and what must be known of them before they start.
pub(crate) struct Traffic {
    pub(crate) source: MergeSource,
    /// Workloads whose flows start when others are complete.
    pub(crate) closed_loops: Vec<ClosedLoop>,
    /// Class names; `FlowSpec::class` is an index into it.
    pub(crate) classes: Vec<String>,
    /// By class: index of its transport; the scenario's transports come first, then [`Self::replayed`].
    pub(crate) transports: Vec<u32>,
    /// Transports of traces: the scenario's, and the priority of the packets if the trace gives one.
    pub(crate) replayed: Vec<(u32, Option<u8>)>,
    /// Flows per query of the flow lists, where a query's flows need not start together.
    pub(crate) listed_queries: BTreeMap<u32, u32>,
}

impl Traffic {
    pub(crate) fn new(scenario: &Scenario) -> Result<Self, SimError> {
        let racks = scenario.topology.racks();
        let replayed: Vec<(u32, Option<u8>)> = scenario
            .workloads
            .iter()
            .filter_map(|workload| match &workload.process {
                TrafficProcess::Trace { priorities, .. } => Some((workload.transport, priorities)),
                _ => None,
            })
            .flat_map(|(transport, priorities)| priorities.iter().map(move |priority| (transport, *priority)))
            .collect();
        let mut next_replayed = scenario.transports.len() as u32;
        let (mut classes, mut transports) = (Vec::<String>::new(), Vec::new());
        let mut class_of = |name: &str, transport: u32| -> u16 {
            // A class has one transport: the same name over another one is another class.
            let of_trace = || replayed[transport as usize - scenario.transports.len()].0 as usize;
            let named = scenario.transports.get(transport as usize);
            let transport_name = &named.unwrap_or_else(|| &scenario.transports[of_trace()]).name;
            let label = match classes.iter().position(|known| known == name) {
                Some(known) if transports[known] != transport => format!("{name} ({transport_name})"),
                _ => name.to_owned(),
            };
            let known = classes.iter().position(|known| *known == label);
            known.unwrap_or_else(|| {
                classes.push(label);
                transports.push(transport);
                classes.len() - 1
            }) as u16
        };
        let mut sources: Vec<Box<dyn FlowSource>> = Vec::new();
        let mut listed_queries = BTreeMap::new();
        let mut query_base = 0;
        for workload in &scenario.workloads {
            if let TrafficProcess::FlowList { flows, classes: names, .. } = &workload.process {
                let map: Vec<u16> = names.iter().map(|name| class_of(name, workload.transport)).collect();
                let mut flows = flows.clone();
                for flow in &mut flows {
                    flow.class = map[usize::from(flow.class)];
                }
                query_base = renumber_queries(&mut flows, query_base);
                for flow in flows.iter().filter(|flow| flow.query != bufferlab_workload::FlowSpec::NO_QUERY) {
                    *listed_queries.entry(flow.query).or_insert(0) += 1;
                }
                sources.push(Box::new(ListSource::new(flows)));
            }
        }
        let asks = |process: &TrafficProcess| {
            matches!(process, TrafficProcess::Incast { .. } | TrafficProcess::MultiGet { .. })
        };
        let askers = scenario.workloads.iter().filter(|workload| asks(&workload.process)).count() as u32;
        let (mut asker, mut closed_loops) = (0, Vec::new());
        for (index, workload) in scenario.workloads.iter().enumerate() {
            if let TrafficProcess::Trace { packets, priorities, .. } = &workload.process {
                let mut packets = packets.clone();
                let mut class = |priority: &Option<u8>| {
                    let transport = next_replayed;
                    next_replayed += 1;
                    match priority {
                        Some(priority) => class_of(&format!("{} p{priority}", workload.class), transport),
                        None => class_of(&workload.class, transport),
                    }
                };
                let map: Vec<u16> = priorities.iter().map(&mut class).collect();
                packets.iter_mut().for_each(|packet| packet.class = map[usize::from(packet.class)]);
                sources.push(Box::new(ListSource::new(packets)));
                continue;
            }
            let class = class_of(&workload.class, workload.transport);
            // Two workloads of one class need streams of their own.
            let twins =
                scenario.workloads[..index].iter().filter(|other| other.class == workload.class).count();
            let label =
                if twins == 0 { workload.class.clone() } else { format!("{}#{twins}", workload.class) };
            let (seed, label, racks, end) =
                (scenario.seed, label.as_str(), racks.as_slice(), scenario.duration);
            match &workload.process {
                TrafficProcess::FlowList { .. } | TrafficProcess::Trace { .. } => {}
                TrafficProcess::Bursts { flows } => {
                    let mut flows = flows.clone();
                    flows.iter_mut().for_each(|flow| flow.class = class);
                    sources.push(Box::new(ListSource::new(flows)));
                }
                TrafficProcess::OnOff { between, on, off, others } => {
                    let share: f64 = others.iter().map(|other| other.share).sum();
                    let own = burst_kind(scenario, class, workload.transport, 1.0 - share, *on)?;
                    let mut kinds = vec![own];
                    for other in others {
                        let class = class_of(&other.class, other.transport);
                        kinds.push(burst_kind(scenario, class, other.transport, other.share, other.on)?);
                    }
                    let partners = match between {
                        Between::Pairs(pairs) => OnOffPartners::Pairs(pairs),
                        Between::Pattern(pattern) => OnOffPartners::Pattern { racks, pattern: *pattern },
                    };
                    let params = OnOffParams { seed, label, partners, kinds, off: *off, end };
                    sources.push(Box::new(OnOffSource::new(params)?));
                }
                TrafficProcess::MultiGet {
                    clients,
                    servers,
                    threads,
                    fan_in,
                    items,
                    item_bytes,
                    answers_per,
                    think,
                    queries,
                    start,
                    request_delay,
                } => {
                    let params = MultiGetParams {
                        seed,
                        label,
                        clients,
                        servers,
                        threads: *threads,
                        fan_in: *fan_in,
                        items: *items,
                        item_bytes: *item_bytes,
                        answers_per: *answers_per,
                        think: *think,
                        queries: *queries,
                        start: *start,
                        end,
                        numbers: QueryNumbers::interleaved(query_base, asker, askers),
                    };
                    asker += 1;
                    let gets = MultiGet::new(params)?;
                    closed_loops.push(ClosedLoop { gets, class, request_delay: *request_delay });
                }
                TrafficProcess::Poisson { sizes, flows_per_second_per_host, pattern, between, .. } => {
                    let (sizes, pattern) = (sizes.clone(), *pattern);
                    let flows_per_second_per_host = *flows_per_second_per_host;
                    let params = PoissonParams {
                        seed,
                        label,
                        racks,
                        pattern,
                        between: between.as_ref().map(|(from, to)| (from.as_slice(), to.as_slice())),
                        flows_per_second_per_host,
                        sizes,
                        class,
                        end,
                    };
                    sources.push(Box::new(PoissonSource::new(params)?));
                }
                TrafficProcess::Incast {
                    request_bytes,
                    fan_in,
                    queries_per_second_per_host,
                    pattern,
                    persistent,
                } => {
                    let params = IncastParams {
                        seed,
                        label,
                        racks,
                        pattern: *pattern,
                        fan_in: *fan_in,
                        request_bytes: *request_bytes,
                        queries_per_second_per_host: *queries_per_second_per_host,
                        persistent: *persistent,
                        class,
                        queries: QueryNumbers::interleaved(query_base, asker, askers),
                        end,
                    };
                    asker += 1;
                    sources.push(Box::new(IncastSource::new(params)?));
                }
            }
        }
        Ok(Self {
            source: MergeSource::new(sources),
            closed_loops,
            classes,
            transports,
            replayed,
            listed_queries,
        })
    }
}

/// A kind of burst over a transport, which must have a rate.
fn burst_kind(
    scenario: &Scenario,
    class: u16,
    transport: u32,
    weight: f64,
    on: Durations,
) -> Result<BurstKind, SimError> {
    let spec = &scenario.transports[transport as usize];
    let pacing = spec.pacing.as_ref().ok_or_else(|| SimError::NoRate(spec.name.clone()))?;
    Ok(BurstKind {
        class,
        weight,
        on,
        rate: pacing.rate,
        packet_bytes: spec.segment_bytes + spec.header_bytes,
        payload_bytes: spec.segment_bytes,
    })
}
