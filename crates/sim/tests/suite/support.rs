//! Helpers of the integration tests: a builder of scenarios from text,
//! and a sink that keeps every row.

#![allow(dead_code)] // Every test binary uses a different part.

use bufferlab_metrics::{
    CollectiveRow, DropRow, FlowRow, HistogramRow, LinkRow, PacketRow, PathRow, PauseCycleRow, PauseRow,
    PauseSpanRow, QueryRow, QueueRow, RankRow, RunSink, RunTotals, ScheduleRow, Scope, SeriesRow,
    WatchdogRow,
};
use bufferlab_scenario::{Scenario, WorkloadSpec, load_text};
use bufferlab_sim::{SimError, Simulation};
use bufferlab_units::Time;
use bufferlab_workload::{FlowListWorkload, FlowSpec};
use std::path::Path;

/// All rows of results of a run, one list per table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) queries: Vec<QueryRow>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) histograms: Vec<HistogramRow>,
    pub(crate) queues: Vec<QueueRow>,
    pub(crate) drops: Vec<DropRow>,
    pub(crate) links: Vec<LinkRow>,
    pub(crate) pauses: Vec<PauseRow>,
    pub(crate) pause_cycles: Vec<PauseCycleRow>,
    pub(crate) pause_spans: Vec<PauseSpanRow>,
    pub(crate) storms: Vec<WatchdogRow>,
    pub(crate) schedule: Vec<ScheduleRow>,
    pub(crate) packets: Vec<PacketRow>,
    pub(crate) collectives: Vec<CollectiveRow>,
    pub(crate) ranks: Vec<RankRow>,
    pub(crate) path: Vec<PathRow>,
    pub(crate) totals: RunTotals,
}

macro_rules! keep {
    ($($method:ident: $row:ty => $table:ident,)*) => {
        impl RunSink for Rows {
            $(fn $method(&mut self, row: &$row) -> std::io::Result<()> {
                self.$table.push(row.clone());
                Ok(())
            })*
        }
    };
}

keep! {
    flow: FlowRow => flows,
    query: QueryRow => queries,
    series: SeriesRow => series,
    histogram: HistogramRow => histograms,
    queue: QueueRow => queues,
    drops: DropRow => drops,
    link: LinkRow => links,
    pause: PauseRow => pauses,
    pause_cycle: PauseCycleRow => pause_cycles,
    pause_span: PauseSpanRow => pause_spans,
    watchdog: WatchdogRow => storms,
    schedule: ScheduleRow => schedule,
    packet: PacketRow => packets,
    collective: CollectiveRow => collectives,
    rank: RankRow => ranks,
    path: PathRow => path,
}

impl Rows {
    /// Result row of the flow with the number `number`.
    pub(crate) fn flow(&self, number: u64) -> &FlowRow {
        self.flows.iter().find(|flow| flow.flow_id == number).expect("the flow has a row")
    }

    /// Rows of flows in the order of their numbers.
    pub(crate) fn flows_by_number(&self) -> Vec<&FlowRow> {
        let mut flows: Vec<_> = self.flows.iter().collect();
        flows.sort_by_key(|flow| flow.flow_id);
        flows
    }

    /// Result rows of the links between two nodes, in the order of the ports.
    pub(crate) fn links_between(&self, from: &str, to: &str) -> Vec<&LinkRow> {
        self.links.iter().filter(|link| link.from == from && link.to == to).collect()
    }

    /// Result row of the only link between two nodes.
    pub(crate) fn link(&self, from: &str, to: &str) -> &LinkRow {
        let links = self.links_between(from, to);
        assert_eq!(links.len(), 1, "one link from {from} to {to}");
        links[0]
    }

    /// Result row with the counters of a queue.
    pub(crate) fn queue(&self, switch: u32, port: u16, priority: u8) -> &QueueRow {
        let wanted = (switch, port, priority);
        let found = self.queues.iter().find(|row| (row.switch, row.port, row.priority) == wanted);
        found.expect("every queue has a row")
    }

    /// Histogram rows of one switch, port or queue.
    pub(crate) fn histogram(
        &self,
        scope: Scope,
        switch: u32,
        port: Option<u16>,
        priority: Option<u8>,
    ) -> Vec<&HistogramRow> {
        let wanted = (scope, switch, port, priority);
        self.histograms
            .iter()
            .filter(|row| (row.scope, row.switch, row.port, row.priority) == wanted)
            .collect()
    }

    /// Number of packets that switches refused or evicted.
    pub(crate) fn switch_losses(&self) -> u64 {
        self.queues.iter().map(|queue| queue.dropped_packets + queue.evicted_packets).sum()
    }

    /// Number of packets that links lost while they were down.
    pub(crate) fn link_losses(&self) -> u64 {
        self.links.iter().map(|link| link.lost_packets).sum()
    }

    /// Whether all flows of the run are complete.
    pub(crate) fn all_finished(&self) -> bool {
        self.flows.iter().all(|flow| flow.fct_ns.is_some())
    }
}

/// Runs a scenario with every accounting identity checked after every switch event.
pub(crate) fn run(scenario: &Scenario) -> Rows {
    run_with(scenario, true)
}

/// Runs a scenario with the accounting identities checked at the end only, for long runs.
pub(crate) fn run_fast(scenario: &Scenario) -> Rows {
    run_with(scenario, false)
}

fn run_with(scenario: &Scenario, verify: bool) -> Rows {
    try_run(scenario, verify).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `scenario` and returns its rows, or the error of the run.
pub(crate) fn try_run(scenario: &Scenario, verify: bool) -> Result<Rows, SimError> {
    let mut simulation = Simulation::new(scenario)?;
    simulation.set_verify(verify);
    let mut rows = Rows::default();
    rows.totals = simulation.run(&mut rows, &mut |_| ())?;
    Ok(rows)
}

/// Builder of a scenario. The builder stores the keys of each table as TOML text.
#[derive(Clone, Debug)]
pub(crate) struct Lab {
    topology: String,
    switch: String,
    transports: Vec<String>,
    more: String,
    seed: u64,
    duration: String,
    drain: String,
}

impl Lab {
    /// Creates a builder with one transport and seed 1.
    /// Flows start within 10 ms and have another second to finish.
    pub(crate) fn new(topology: &str, switch: &str, transport: &str) -> Self {
        Self {
            topology: topology.to_owned(),
            switch: switch.to_owned(),
            transports: vec![transport.to_owned()],
            more: String::new(),
            seed: 1,
            duration: "10 ms".to_owned(),
            drain: "1 s".to_owned(),
        }
    }

    /// Adds a transport. Transports are called `t0`, `t1` …
    pub(crate) fn transport(mut self, keys: &str) -> Self {
        self.transports.push(keys.to_owned());
        self
    }

    /// Sets the length of the arrival phase, and the time for flows to finish after this phase.
    pub(crate) fn times(mut self, duration: &str, drain: &str) -> Self {
        (self.duration, self.drain) = (duration.to_owned(), drain.to_owned());
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Adds whole TOML tables to the scenario, such as `[host]`, `[output]`, `[[switch_override]]`.
    pub(crate) fn more(mut self, tables: &str) -> Self {
        self.more.push_str(tables);
        self.more.push('\n');
        self
    }

    /// Builds the scenario with `[[workload]]` tables.
    pub(crate) fn workloads(&self, tables: &str) -> Scenario {
        let mut text = format!(
            "seed = {}\nduration = \"{}\"\ndrain = \"{}\"\n\n[topology]\n{}\n\n[switch]\n{}\n\n",
            self.seed, self.duration, self.drain, self.topology, self.switch
        );
        for (index, keys) in self.transports.iter().enumerate() {
            text.push_str(&format!("[[transport]]\nname = \"t{index}\"\n{keys}\n\n"));
        }
        text.push_str(&format!("{}\n{tables}\n", self.more));
        match load_text(Path::new("test.toml"), &text, &[]) {
            Ok(loaded) => loaded.scenario,
            Err(error) => panic!("{error}\n{text}"),
        }
    }

    /// Builds the scenario with lists of flows.
    /// Each list has its transport, its class and its flows in the order of their starts.
    pub(crate) fn lists(&self, lists: Vec<(u32, &str, Vec<FlowSpec>)>) -> Scenario {
        let placeholder = "[[workload]]\nkind = \"poisson\"\ntransport = \"t0\"\nsizes = \"1 KB\"\nload = 0.1\n\
                           load_of = \"host_links\"\npattern = \"all_to_all\"";
        let mut scenario = self.workloads(placeholder);
        let workload = |(transport, class, flows): (u32, &str, Vec<FlowSpec>)| {
            let (file, classes) = (format!("{class}.csv"), vec![class.to_owned()]);
            WorkloadSpec::new(class, transport, FlowListWorkload { file, flows, classes })
        };
        scenario.workloads = lists.into_iter().map(workload).collect();
        scenario
    }

    /// Builds the scenario with one list of flows over the first transport.
    pub(crate) fn flows(&self, flows: Vec<FlowSpec>) -> Scenario {
        self.lists(vec![(0, "flow", flows)])
    }
}

/// A flow of the first class of its list, without a query, on paths that the topology chooses.
pub(crate) fn flow(src: u32, dst: u32, size: u64, start: Time) -> FlowSpec {
    FlowSpec {
        start,
        src,
        dst,
        size,
        class: 0,
        query: FlowSpec::NO_QUERY,
        open: None,
        data_path: None,
        ack_path: None,
        node: FlowSpec::NO_NODE,
    }
}

/// Topology of a single switch with `hosts` hosts.
pub(crate) fn star(hosts: u32, rate: &str, delay: &str) -> String {
    format!("kind = \"single_switch\"\nhosts = {hosts}\nrate = \"{rate}\"\ndelay = \"{delay}\"")
}

/// Pearson's statistic of counts that should be equal.
pub(crate) fn chi_square(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    counts.iter().map(|&count| (count as f64 - mean).powi(2) / mean).sum()
}

/// Checks that a measured value has at most a relative distance of `tolerance` from the expected
/// value.
#[track_caller]
pub(crate) fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found / expected - 1.0).abs() <= tolerance,
        "{what}: {found:.6}, expected {expected:.6} within {:.1} %",
        tolerance * 100.0
    );
}
