//! Tests of runs that are advanced step by step, copied and changed.

use crate::support::{Lab, star};
use bufferlab_core::{
    Account, Arrival, Buffer, Departure, DropReason, Hooks, MarkerInfo, Marking, MarkingRule, ParamValue,
    Policy, PolicyInfo, Verdict, register_marker, register_policy,
};
use bufferlab_metrics::RowLog;
use bufferlab_scenario::Scenario;
use bufferlab_sim::{NewFlow, SimError, Simulation};
use bufferlab_transport::{
    AckEvent, CongestionControl, CongestionControlInfo, Controller, TcpConfig, Window,
    register_congestion_control,
};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::sync::{Arc, Once};

/// A buffer policy with a state: each queue may use half of the buffer, and the policy drops every
/// 50th packet.
#[derive(Clone, Debug, Default)]
struct Counting {
    arrivals: u64,
    departures: u64,
}

impl Policy for Counting {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        self.arrivals += 1;
        let length = buffer.queue_bytes(arrival.queue) + u64::from(arrival.header.size);
        match () {
            () if !buffer.fits(arrival.header.size) => Verdict::Drop(DropReason::BufferFull),
            () if length > buffer.capacity() / 2 || (self.arrivals + self.departures).is_multiple_of(50) => {
                Verdict::Drop(DropReason::OverThreshold)
            }
            () => Verdict::Admit(Account::Shared),
        }
    }

    fn hooks(&self) -> Hooks {
        Hooks::DEQUEUE
    }

    fn on_dequeue(&mut self, _: &Departure, _: &Buffer) {
        self.departures += 1;
    }

    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// A buffer policy that cannot be copied.
#[derive(Debug)]
struct Unique(Arc<()>);

impl Policy for Unique {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if buffer.fits(arrival.header.size) && Arc::strong_count(&self.0) == 1 {
            Verdict::Admit(Account::Shared)
        } else {
            Verdict::Drop(DropReason::BufferFull)
        }
    }
}

/// A marking rule that marks every seventh packet.
#[derive(Clone, Debug)]
struct Seventh(u32);

impl MarkingRule for Seventh {
    fn marks(&mut self, _: &bufferlab_core::Markable, _: &Buffer) -> bool {
        self.0 += 1;
        self.0.is_multiple_of(7)
    }
}

/// A congestion control whose window grows by half a segment per ACK, and halves at every hundredth
/// ACK.
#[derive(Clone, Debug)]
struct Steps(u32);

impl Controller for Steps {
    fn on_ack(&mut self, _: &TcpConfig, window: &mut Window, _: &AckEvent<'_>) {
        self.0 += 1;
        window.size =
            if self.0.is_multiple_of(100) { (window.size / 2.0).max(1.0) } else { window.size + 0.5 };
    }
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let entry = |name, build| PolicyInfo {
            name,
            aliases: &[],
            title: "Of a test",
            summary: "A policy of a test.",
            source: "A test.",
            cost: "O(1)",
            params: &[],
            build,
        };
        register_policy(entry("step-counting", &|_, _| Ok(Box::new(Counting::default())))).expect("free");
        register_policy(entry("step-unique", &|_, _| Ok(Box::new(Unique(Arc::default()))))).expect("free");
        register_marker(MarkerInfo {
            name: "step_seventh",
            title: "Seventh",
            summary: "Every seventh packet.",
            source: "A test.",
            build: &|_, _| Ok(Marking::boxed(Seventh(0))),
            ..MarkerInfo::PLAIN
        })
        .expect("free");
        register_congestion_control(CongestionControlInfo {
            name: "step-window",
            title: "Steps",
            summary: "A window of a test.",
            source: "A test.",
            build: &|_, _| Ok(Box::new(|_, _| CongestionControl::boxed(Steps(0)))),
            ..CongestionControlInfo::PLAIN
        })
        .expect("free");
    });
}

const LEAF_SPINE: &str = "kind = \"leaf_spine\"\nleaves = 2\nhosts_per_leaf = 4\nspines = 2\n\
                          host_rate = \"10 Gb/s\"\ndelay = \"2 us\"";
const LOADED: &str = "[[workload]]\nkind = \"poisson\"\nsizes = \"30 KB\"\nload = 0.7\n\
                      load_of = \"host_links\"\npattern = \"all_to_all\"\n\
                      [[workload]]\nkind = \"incast\"\nrequest = \"60 KB\"\nfan_in = 3\n\
                      queries_per_second_per_host = 300.0";

fn tcp(control: &str) -> String {
    format!("congestion_control = \"{control}\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"")
}

fn switch(policy: &str) -> String {
    format!(
        "buffer = \"100 KB\"\nqueues_per_port = 2\npolicy = \"{policy}\"\n\
         ecn = {{ kind = \"red\", kmin = \"5 KB\", kmax = \"30 KB\", pmax = 0.5 }}"
    )
}

/// Scenario with lossless RDMA traffic and pauses.
fn lossless() -> Scenario {
    let switch = "buffer = \"150 KB\"\n\
                  policy = { name = \"sonic-dt\", headroom = \"12 KB\", lossless_static_threshold = \"9 KB\" }\n\
                  pfc = { priorities = [0] }\necn = { kind = \"step\", threshold = \"40 KB\" }";
    let rdma = "kind = \"rdma\"\ncongestion_control = \"dcqcn\"";
    Lab::new(LEAF_SPINE, switch, rdma).times("400 us", "1 s").workloads(LOADED)
}

/// Small scenarios that together have every kind of simulator state.
fn scenarios() -> Vec<(&'static str, Scenario)> {
    register();
    let lab = |policy: &str, control: &str| {
        Lab::new(LEAF_SPINE, &switch(policy), &tcp(control)).times("400 us", "1 s")
    };
    let sampled = "[output]\nsample_interval = \"7 us\"\nsample_flows = true\nsample_switch = \"leaf1\"";
    let custom = "buffer = \"100 KB\"\npolicy = \"step-counting\"\necn = { kind = \"step_seventh\" }";
    let asks = "[[workload]]\nkind = \"multi_get\"\nclients = \"h0\"\nservers = [\"h1\", \"h2\", \"h3\"]\n\
                threads = 3\nitem = \"8 KB\"\nthink_time = \"20 us\"";
    vec![
        ("TCP, sampled", lab("abm", "dctcp").more(sampled).workloads(LOADED)),
        ("evictions", lab("occamy", "newreno").workloads(LOADED)),
        ("push-out", lab("lqd", "cubic").workloads(LOADED)),
        ("flow tables", lab("losspass", "dctcp").more("[output]\ndelays = true").workloads(LOADED)),
        ("telemetry", lab("dt", "hpcc").more("[output]\npackets = \"all\"").workloads(LOADED)),
        ("PFC and RDMA", lossless()),
        ("cables that go down, noise", {
            let failing = format!(
                "{LEAF_SPINE}\nchange = [{{ link = \"leaf0-spine1\", down = [\"100 us\", \"250 us\"] }}]"
            );
            let lab = Lab::new(&failing, &switch("tdt"), &tcp("newreno")).times("400 us", "1 s");
            Scenario { start_jitter: Time::from_us(20), ..lab.workloads(LOADED) }
        }),
        (
            "a collective",
            Lab::new(&star(4, "10 Gb/s", "1 us"), "buffer = \"60 KB\"\npolicy = \"dt\"", &tcp("dctcp"))
                .times("2 ms", "1 s")
                .workloads(
                    "[[workload]]\nkind = \"collective\"\noperation = \"all_reduce\"\nsize = \"200 KB\"",
                ),
        ),
        (
            "custom policy, marking rule and congestion control",
            Lab::new(&star(6, "10 Gb/s", "1 us"), custom, &tcp("step-window"))
                .times("400 us", "1 s")
                .workloads(LOADED),
        ),
        (
            "closed loops over connections",
            Lab::new(
                &star(4, "10 Gb/s", "5 us"),
                "buffer = \"60 KB\"\npolicy = \"dt\"",
                &format!("{}\npersistent = true", tcp("dctcp")),
            )
            .times("600 us", "1 s")
            .workloads(asks),
        ),
    ]
}

/// All rows of a run and its totals, as text that shows every bit of a number.
fn complete(simulation: Simulation, mut log: RowLog) -> String {
    let totals = simulation.run(&mut log, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    let mut rows = Lines(Vec::new());
    log.write_to(&mut rows).expect("memory accepts rows");
    rows.0.push(format!("{totals:?}"));
    rows.0.join("\n")
}

/// Sink that stores each row of results as a line of text.
struct Lines(Vec<String>);

macro_rules! lines {
    ($($method:ident: $row:ident,)*) => {
        impl bufferlab_metrics::RunSink for Lines {
            $(fn $method(&mut self, row: &bufferlab_metrics::$row) -> std::io::Result<()> {
                self.0.push(format!("{row:?}"));
                Ok(())
            })*
        }
    };
}

lines! {
    flow: FlowRow, query: QueryRow, series: SeriesRow, histogram: HistogramRow, queue: QueueRow,
    drops: DropRow, link: LinkRow, explanation: Explanation, probe: ProbeRow, progress: ProgressRow,
    pause: PauseRow, pause_span: PauseSpanRow, pause_cycle: PauseCycleRow, watchdog: WatchdogRow,
    schedule: ScheduleRow, collective: CollectiveRow, rank: RankRow, path: PathRow, packet: PacketRow,
    delay: DelayRow,
}

fn new(scenario: &Scenario) -> Simulation {
    Simulation::new(scenario).unwrap_or_else(|error| panic!("{error}"))
}

fn run_until(simulation: &mut Simulation, at: Time, log: &mut RowLog) {
    simulation.run_until(at, log, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
}

fn fork(simulation: &Simulation) -> Simulation {
    simulation.fork().unwrap_or_else(|error| panic!("{error}"))
}

/// Advances a run by random steps, and sometimes continues with a copy of the run instead. Returns
/// the rows of the run, and the rows of a copy that continues separately.
fn interleave(scenario: &Scenario, dice: &mut RandomStream) -> (String, Option<String>) {
    let (mut simulation, mut log) = (new(scenario), RowLog::default());
    let mut left = None;
    for _ in 0..dice.below(12) {
        match dice.below(5) {
            0 => {
                let at = simulation.now() + Time::from_ns(dice.below(120_000));
                run_until(&mut simulation, at, &mut log);
                assert!(simulation.is_finished() || simulation.now() == at.min(simulation.end()));
            }
            1 => {
                let (count, before) = (dice.below(2_000), simulation.events());
                simulation.step(count, &mut log, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
                assert!(simulation.is_finished() || simulation.events() == before + count);
            }
            2 => simulation = fork(&simulation),
            3 => {
                for _ in 0..dice.below(500) {
                    let event = simulation.next_event(&mut log, &mut |_| true);
                    let event = event.unwrap_or_else(|error| panic!("{error}"));
                    assert!(event.map_or(simulation.is_finished(), |it| it.time == simulation.now()));
                }
            }
            _ => {
                let copy = fork(&simulation);
                left = Some((std::mem::replace(&mut simulation, copy), log.clone()));
            }
        }
    }
    (complete(simulation, log), left.map(|(simulation, log)| complete(simulation, log)))
}

/// The environment variable `BUFFERLAB_INTERLEAVINGS` sets the number of random interleavings of
/// steps and copies.
#[test]
fn interleaved_steps_and_copies_end_in_the_bytes_of_the_batch_run() {
    let number = std::env::var("BUFFERLAB_INTERLEAVINGS").ok().and_then(|text| text.parse().ok());
    let scenarios = scenarios();
    let batch: Vec<_> = scenarios.iter().map(|(_, it)| complete(new(it), RowLog::default())).collect();
    for (what, pattern) in [("PFC and RDMA", "PauseSpanRow"), ("TCP, sampled", "ProbeRow")] {
        let at = scenarios.iter().position(|(name, _)| *name == what).expect("it is one of them");
        assert!(batch[at].contains(pattern), "{what} has rows of {pattern}");
    }
    for round in 0..number.unwrap_or(48) {
        let mut dice = RandomStream::new(11, "interleavings", round);
        let at = round as usize % scenarios.len();
        let (what, scenario) = &scenarios[at];
        let (run, left) = interleave(scenario, &mut dice);
        assert!(run == batch[at], "{what}, round {round}: the run differs");
        assert!(left.is_none_or(|left| left == batch[at]), "{what}, round {round}: the first run differs");
    }
}

#[test]
fn steps_change_no_explanation() {
    let lab = Lab::new(LEAF_SPINE, &switch("dt"), &tcp("newreno")).times("200 us", "1 s");
    let scenario = lab.more("[output]\nexplain_losses = 5").workloads(LOADED);
    let batch = complete(new(&scenario), RowLog::default());
    assert!(batch.contains("Explanation"), "some packets are lost");
    let (mut simulation, mut log) = (new(&scenario), RowLog::default());
    for step in 1..40 {
        run_until(&mut simulation, Time::from_us(5 * step), &mut log);
        simulation.step(3, &mut log, &mut |_| true).expect("it goes on");
    }
    assert!(complete(simulation, log) == batch);
}

#[test]
fn a_copy_under_another_policy_equals_a_run_that_changes_its_policy_then() {
    let policies: Vec<_> = bufferlab_core::POLICIES.iter().map(|info| info.name).collect();
    let loss = |rows: &str| rows.matches("DropRow").count();
    for (index, to) in policies.iter().enumerate() {
        let from = policies[(index + 7) % policies.len()];
        let lab = Lab::new(LEAF_SPINE, &switch(from), &tcp("dctcp")).times("300 us", "1 s");
        let scenario = lab.workloads(LOADED);
        let change = |simulation: &mut Simulation| {
            (0..simulation.switch_count()).try_for_each(|switch| simulation.set_policy(switch, to, &[]))
        };
        let (mut straight, mut log) = (new(&scenario), RowLog::default());
        straight.set_verify(true);
        let at = Time::from_us(130);
        run_until(&mut straight, at, &mut log);
        let stored: u64 = (0..4).filter_map(|it| straight.switch(it)).map(|it| it.occupancy).sum();
        assert!(stored > 0, "{from}: packets are stored at the change");
        let mut copy = fork(&straight);
        let copied = log.clone();
        match (change(&mut straight), change(&mut copy)) {
            (Ok(()), Ok(())) => {}
            (one, other) => {
                assert!(one.is_err() && other.is_err(), "{to}: both are refused, or none");
                continue;
            }
        }
        assert_eq!(straight.switch(0).map(|it| it.policy), Some(*to));
        let straight = complete(straight, log);
        assert!(straight == complete(copy, copied), "{from}, then {to}");
        assert!(loss(&straight) > 0 || ["cs", "mq"].contains(to), "{from}, then {to}: no losses");
    }
}

#[test]
fn the_same_policy_without_a_state_changes_nothing_and_equal_alphas_decide_as_dt() {
    let lab = Lab::new(LEAF_SPINE, &switch("dt"), &tcp("dctcp")).times("300 us", "1 s");
    let scenario = lab.workloads(LOADED);
    let batch = complete(new(&scenario), RowLog::default());
    let changed = |change: &dyn Fn(&mut Simulation) -> Result<(), SimError>| {
        let (mut simulation, mut log) = (new(&scenario), RowLog::default());
        for step in 0..20 {
            run_until(&mut simulation, Time::from_us(11 * step), &mut log);
            change(&mut simulation).unwrap_or_else(|error| panic!("{error}"));
        }
        complete(simulation, log)
    };
    let half = [("alpha".to_owned(), ParamValue::ratios(&[0.5]))];
    let eighth = [("alpha".to_owned(), ParamValue::ratios(&[0.125]))];
    let all = |alpha: f64| {
        move |simulation: &mut Simulation| {
            (0..simulation.switch_count()).try_for_each(|switch| {
                let queues = simulation.queues(switch).count();
                simulation.set_alphas(switch, &vec![alpha; queues])
            })
        }
    };
    assert!(changed(&|it| it.set_policy(0, "dt", &half)) == batch);
    assert!(changed(&all(0.5)) == batch);
    let by_policy =
        changed(&|it| (0..it.switch_count()).try_for_each(|switch| it.set_policy(switch, "dt", &eighth)));
    assert!(by_policy != batch && by_policy == changed(&all(0.125)));
}

#[test]
fn pauses_end_when_their_policy_is_replaced_and_lossless_switches_keep_a_policy_that_pauses() {
    let scenario = lossless();
    let (mut simulation, mut log) = (new(&scenario), RowLog::default());
    simulation.set_verify(true);
    run_until(&mut simulation, Time::from_us(150), &mut log);
    let error = simulation.set_policy(0, "dt", &[]).expect_err("dt never pauses").to_string();
    assert!(error.contains("dt never pauses, and the switch has lossless priorities"), "{error}");
    let ample = [
        ("headroom".to_owned(), ParamValue::Bytes(12_000)),
        ("lossless_static_threshold".to_owned(), ParamValue::Bytes(60_000)),
    ];
    for switch in 0..simulation.switch_count() {
        simulation.set_policy(switch, "sonic-dt", &ample).unwrap_or_else(|error| panic!("{error}"));
    }
    let rows = complete(simulation, log);
    assert!(rows.lines().filter(|row| row.starts_with("FlowRow")).all(|row| row.contains("Finished")));
}

#[test]
fn flows_and_cables_change_while_a_run_is_stepped() {
    let lab = Lab::new(LEAF_SPINE, &switch("dt"), &tcp("dctcp")).times("2 ms", "1 s");
    let scenario = lab.flows(vec![crate::support::flow(0, 5, 40_000, Time::ZERO)]);
    let (mut simulation, mut log) = (new(&scenario), RowLog::default());
    run_until(&mut simulation, Time::from_us(20), &mut log);
    let flow = NewFlow { src: 1, dst: 6, size: 50_000, class: 0 };
    assert_eq!(simulation.start_flow_now(flow).expect("it starts"), 1);
    let live: Vec<_> = simulation.flows().map(|flow| (flow.number, flow.src, flow.size)).collect();
    assert_eq!(live, [(0, 0, 40_000), (1, 1, 50_000)]);
    assert!(simulation.flows().all(|flow| flow.window.is_some_and(|window| window >= 1.0)));
    run_until(&mut simulation, Time::from_us(25), &mut log);
    let cable = scenario.topology.links.len() - 1;
    simulation.set_cable(cable, false).expect("another path is there");
    simulation.set_cable(cable, false).expect("it is down already");
    run_until(&mut simulation, Time::from_ms(1), &mut log);
    simulation.set_cable(cable, true).expect("it goes up");
    for (flow, expected) in [
        (NewFlow { src: 1, dst: 1, ..flow }, "to itself"),
        (NewFlow { dst: 99, ..flow }, "there are 8 hosts"),
        (NewFlow { size: 0, ..flow }, "at least 1"),
        (NewFlow { class: 3, ..flow }, "there are 1 classes"),
    ] {
        let error = simulation.start_flow_now(flow).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    run_until(&mut simulation, Time::from_ms(5), &mut log);
    let late = simulation.start_flow_now(flow).expect_err("flows start before 2 ms").to_string();
    assert!(late.contains("end of the run") || late.contains("flows start before"), "{late}");
    let rows = complete(simulation, log);
    assert_eq!(rows.matches("state: Finished").count(), 2, "{rows}");
}

/// Every event of a run has a kind, and the losses and marks of all events are those of the run.
#[test]
fn events_tell_what_happened() {
    let lab = Lab::new(LEAF_SPINE, &switch("dt"), &tcp("dctcp")).times("200 us", "1 s");
    let (mut simulation, mut log) = (new(&lab.workloads(LOADED)), RowLog::default());
    let (mut kinds, mut counts, mut last) = (std::collections::BTreeSet::new(), [0; 3], Time::ZERO);
    while let Some(event) = simulation.next_event(&mut log, &mut |_| true).expect("it goes on") {
        assert!(event.time >= last && event.time == simulation.now());
        assert_eq!(event.kind == "arrival", event.bytes.is_some() && event.packet.is_some());
        last = event.time;
        kinds.insert(event.kind);
        for (sum, more) in counts.iter_mut().zip([event.dropped, event.evicted, event.marked]) {
            *sum += more;
        }
    }
    let queues = (0..simulation.switch_count()).flat_map(|switch| simulation.queues(switch));
    let expected = queues.fold([0; 3], |[dropped, evicted, marked], queue| {
        let counters = queue.counters;
        [dropped + counters.dropped, evicted + counters.evicted, marked + counters.marked]
    });
    assert_eq!(counts, expected);
    assert!(counts[0] > 0 && counts[2] > 0, "{counts:?}");
    for kind in ["arrival", "transmission", "flow", "sender", "duration"] {
        assert!(kinds.contains(kind), "{kind} is not in {kinds:?}");
    }
}

/// A cable at half the rate takes twice the time for each packet, and the ideal completion time of
/// a flow still refers to the rate in the scenario.
#[test]
fn a_cable_changes_its_rate_while_a_run_is_stepped() {
    let lab = Lab::new(LEAF_SPINE, &switch("dt"), &tcp("dctcp")).times("2 ms", "1 s");
    let scenario = lab.flows(vec![crate::support::flow(0, 5, 400_000, Time::from_us(10))]);
    let time_at = |changes: &[(u64, u64)]| {
        let (mut simulation, mut log) = (new(&scenario), RowLog::default());
        for &(at, rate) in changes {
            run_until(&mut simulation, Time::from_us(at), &mut log);
            simulation.set_rate(0, BitRate::gbps(rate)).expect("a rate");
        }
        let rows = complete(simulation, log);
        let number = |name: &str| {
            let found = rows.split_once(name).expect("a flow").1;
            found.trim_start_matches("Some(").split([',', ')']).next().and_then(|it| it.parse::<f64>().ok())
        };
        (number("fct_ns: ").expect("a time"), number("ideal_ns: ").expect("a time"))
    };
    let (full, half, back) = (time_at(&[]), time_at(&[(0, 5)]), time_at(&[(0, 5), (0, 10)]));
    assert_eq!(full, back);
    assert_eq!(full.1, half.1);
    assert!(half.0 > 1.7 * full.0 && half.0 < 2.1 * full.0, "{full:?} {half:?}");
    let (late, _) = time_at(&[(100, 5)]);
    assert!(late > full.0 && late < half.0, "{late}");
    let mut simulation = new(&scenario);
    for (cable, rate, expected) in
        [(99, BitRate(1), "cables"), (0, BitRate(0), "above 0"), (0, BitRate(10_000), "four seconds")]
    {
        let error = simulation.set_rate(cable, rate).expect_err(expected).to_string();
        assert!(error.contains(expected) || error.contains("would take more"), "{error}");
    }
}

#[test]
fn a_policy_that_cannot_be_copied_is_named() {
    register();
    let lab =
        Lab::new(&star(3, "10 Gb/s", "1 us"), "buffer = \"1 MB\"\npolicy = \"step-unique\"", &tcp("newreno"));
    let scenario = lab.workloads(LOADED.replace("fan_in = 3", "fan_in = 2").as_str());
    let mut simulation = new(&scenario);
    run_until(&mut simulation, Time::from_us(30), &mut RowLog::default());
    let error = simulation.fork().err().expect("it cannot be copied").to_string();
    assert_eq!(error, "policy step-unique of switch switch cannot be copied, so the run cannot be forked");
}

#[test]
fn every_built_in_policy_can_be_copied() {
    for info in bufferlab_core::POLICIES {
        let lab = Lab::new(&star(4, "10 Gb/s", "1 us"), &switch(info.name), &tcp("dctcp"));
        let scenario = lab.times("200 us", "1 s").workloads(LOADED);
        let Ok(mut simulation) = Simulation::new(&scenario) else { continue };
        let mut log = RowLog::default();
        run_until(&mut simulation, Time::from_us(100), &mut log);
        let copy = fork(&simulation);
        assert!(complete(copy, log.clone()) == complete(simulation, log), "{}", info.name);
    }
}
