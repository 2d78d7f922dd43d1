//! Custom workloads of a program work like built-in kinds, and the loader refuses invalid ones.

use crate::common::{assert_round_trip, render};
use crate::meaning::traffic;
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, Params, RegisterError};
use bufferlab_scenario::{Loaded, load_text};
use bufferlab_units::Time;
use bufferlab_workload::{
    FlowSource, FlowSpec, SourceError, TrafficBuilder, WORKLOADS, Workload, WorkloadContext, WorkloadInfo,
    register_workload,
};
use std::path::Path;
use std::sync::Once;

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required("message_size", ParamKind::SIZE, "\"10 KB\"", "Size of a message."),
    ParamInfo::computed(
        "period",
        ParamKind::SPAN,
        "a tenth of `duration`",
        "\"1 ms\"",
        "Between two messages.",
    ),
];

/// A workload in which every host sends to the next host, all at one time.
#[derive(Clone, Debug)]
struct Pulses {
    size: u64,
    period: Time,
    hosts: u32,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let hosts = context.network()?.hosts.len() as u32;
    let size = params.bytes("message_size");
    if size > 1_000_000 {
        return Err(Fault::new("message_size", "these are no pulses", "too large").help("take 1 MB").into());
    }
    let period = params.time_or("period", Time(context.duration()?.0 / 10));
    Ok(Box::new(Pulses { size, period, hosts }))
}

impl Workload for Pulses {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        let (class, end) = (traffic.class(), traffic.end());
        traffic.add_source(Source { pulses: self.clone(), class, end, next: 0 });
        Ok(())
    }

    fn in_words(&self) -> String {
        format!("pulses of {} B", self.size)
    }
}

struct Source {
    pulses: Pulses,
    class: u16,
    end: Time,
    next: u64,
}

impl FlowSource for Source {
    fn next_flow(&mut self) -> Option<FlowSpec> {
        let (round, src) =
            (self.next / u64::from(self.pulses.hosts), self.next % u64::from(self.pulses.hosts));
        let start = Time(round * self.pulses.period.0);
        self.next += 1;
        let (src, dst) = (src as u32, (src as u32 + 1) % self.pulses.hosts);
        let flow = FlowSpec {
            start,
            src,
            dst,
            size: self.pulses.size,
            class: self.class,
            query: FlowSpec::NO_QUERY,
            open: None,
            data_path: None,
            ack_path: None,
            node: FlowSpec::NO_NODE,
        };
        (start < self.end).then_some(flow)
    }
}

fn info(name: &'static str) -> WorkloadInfo {
    let (title, summary, source) = ("Pulses", "Every host sends to the next one.", "A test.");
    WorkloadInfo { name, aliases: &[], title, summary, source, params: PARAMS, build: &build }
}

fn load(workload: &str) -> Result<Loaded, String> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_workload(info("my_pulses")).expect("the name is free");
    });
    let text = format!(
        "duration = \"1 ms\"\n[topology]\nkind = \"single_switch\"\nhosts = 4\nrate = \"1 Gb/s\"\ndelay = \"1 \
         us\"\n[switch]\n buffer = \"1 MB\"\npolicy = \"dt\"\n[[transport]]\ncongestion_control = \
         \"newreno\"\n[[workload]]\n{workload}\n"
    );
    load_text(Path::new("pulses.toml"), &text, &[]).map_err(|error| render(&error))
}

#[test]
fn an_own_workload_is_a_kind_that_survives_in_the_resolved_scenario() {
    let loaded =
        load("kind = \"my_pulses\"\nmessage_size = \"5 KB\"").unwrap_or_else(|error| panic!("{error}"));
    for line in
        ["kind = \"my_pulses\"", "class = \"my_pulses\"", "message_size = \"5 KB\"", "period = \"100 us\""]
    {
        assert!(loaded.resolved.contains(line), "{line} is not in\n{}", loaded.resolved);
    }
    assert_round_trip(&loaded);
    let (flows, classes) = traffic(&loaded.scenario);
    assert_eq!((flows.len(), classes), (40, vec!["my_pulses".to_owned()]));
    assert_eq!((flows[7].start, flows[7].src, flows[7].dst), (Time::from_us(100), 3, 0));
    assert_eq!(loaded.scenario.workloads[0].workload.in_words(), "pulses of 5000 B");
}

#[test]
fn mistakes_in_a_custom_workload_are_shown_where_they_stand() {
    for (workload, texts) in [
        ("kind = \"my_pulse\"", ["did you mean \"my_pulses\"?", "\"schedule\", \"my_pulses\""]),
        ("kind = \"my_pulses\"", ["`message_size` is missing", "add message_size = \"10 KB\""]),
        ("kind = \"my_pulses\"\nmessage_size = \"2 MB\"", ["these are no pulses", "help: take 1 MB"]),
        (
            "kind = \"my_pulses\"\nmessage_size = \"1 KB\"\nfan_in = 2",
            ["belongs to kind = \"incast\"", "kind is \"my_pulses\""],
        ),
        ("kind = \"my_pulses\"\nmessage_size = 5", ["the unit is missing", "pulses.toml:14"]),
    ] {
        let error = load(workload).map(|loaded| loaded.resolved).expect_err(workload);
        for text in texts {
            assert!(error.contains(text), "{workload}: \"{text}\" is not in\n{error}");
        }
    }
}

#[test]
fn names_that_are_taken_and_keys_that_every_workload_has_are_refused() {
    let taken = register_workload(info("poisson")).expect_err("taken").to_string();
    assert_eq!(taken, "the name \"poisson\" belongs to the workload Poisson arrivals; choose another");
    static CLASS: [ParamInfo; 1] = [ParamInfo::required("class", ParamKind::Text, "\"x\"", "")];
    let common = register_workload(WorkloadInfo { params: &CLASS, ..info("pulses_with_class") });
    assert!(
        matches!(common.map(drop), Err(RegisterError::Parameter { parameter, .. }) if parameter == "class")
    );
    assert!(WORKLOADS.find("pulses_with_class").is_none());
}
