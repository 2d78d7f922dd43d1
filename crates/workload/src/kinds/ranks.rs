//! Parameters of the workloads that execute schedules: hosts of the ranks, repetition, servers.

use super::parts::count_of;
use crate::context::WorkloadContext;
use crate::traffic::{ScaleUp, ScheduleTraffic, TrafficBuilder};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_schedule::Schedule;
use bufferlab_units::Time;
use bufferlab_units::quantity::format_rate;
use std::sync::Arc;

pub(super) const HOSTS: ParamInfo = ParamInfo::computed(
    "hosts",
    ParamKind::Texts,
    "every host, in the order of the network",
    "[\"h0\", \"h1\", \"h2\", \"h3\"]",
    "Hosts that execute the ranks, rank 0 first; a switch's name stands for all of its hosts.",
);

pub(super) const START: ParamInfo = ParamInfo::with_default(
    "start",
    ParamKind::DELAY,
    ParamValue::Time(Time::ZERO),
    "Start of the first execution.",
);

pub(super) const ITERATIONS: ParamInfo = ParamInfo::with_default(
    "iterations",
    ParamKind::Count { min: 1, max: u32::MAX as u64 },
    ParamValue::Count(1),
    "Number of executions in sequence. An execution starts when every node of the previous execution is done.",
);

pub(super) const PAUSE: ParamInfo = ParamInfo::with_default(
    "pause",
    ParamKind::DELAY,
    ParamValue::Time(Time::ZERO),
    "Time between two executions.",
);

pub(super) const RANKS_PER_SERVER: ParamInfo = ParamInfo::with_default(
    "ranks_per_server",
    ParamKind::Count { min: 1, max: 65_535 },
    ParamValue::Count(1),
    "Consecutive ranks that share a server, for `scale_up_rate` and hierarchical collectives.",
);

pub(super) const SCALE_UP_RATE: ParamInfo = ParamInfo::optional(
    "scale_up_rate",
    ParamKind::RATE,
    "\"2400 Gb/s\"",
    "Rate of a rank, in each direction, in the network inside its server. Transfers inside a server \
     then take their size over this rate plus `scale_up_latency`, one after the other at each rank, \
     instead of passing the simulated network. Without the key all transfers pass the simulated network.",
);

pub(super) const SCALE_UP_LATENCY: ParamInfo = ParamInfo::with_default(
    "scale_up_latency",
    ParamKind::DELAY,
    ParamValue::Time(Time::ZERO),
    "Latency of the network inside servers.",
);

/// Execution of a schedule by the hosts of a network.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) schedule: Arc<Schedule>,
    hosts: Vec<u32>,
    start: Time,
    iterations: u32,
    pause: Time,
    scale_up: Option<ScaleUp>,
}

impl Execution {
    /// Host number of every rank, from the parameter `hosts`.
    pub(super) fn hosts(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Vec<u32>, Faults> {
        if params.has("hosts") {
            return context.hosts(params, "hosts");
        }
        let names = &context.network()?.hosts;
        params.set("hosts", ParamValue::Texts(names.clone()));
        Ok((0..names.len() as u32).collect())
    }

    /// Reads the parameters that all workloads with a schedule share. The transport must send lost
    /// packets again.
    pub(super) fn new(
        schedule: Schedule,
        hosts: Vec<u32>,
        params: &Params,
        context: &WorkloadContext<'_>,
    ) -> Result<Self, Faults> {
        let carrier = context.transport()?;
        if carrier.rate.is_some() {
            let message = format!(
                "transport \"{}\" does not send lost packets again, so that a node might wait for ever",
                carrier.name
            );
            let fault = Fault::new("transport", message, "expected a transport with a congestion control");
            let help = "name a [[transport]] such as one with congestion_control = \"dctcp\"";
            return Err(fault.help(help).into());
        }
        let scale_up = params.given_rate("scale_up_rate").map(|rate| ScaleUp {
            ranks_per_server: params.small_count("ranks_per_server"),
            rate,
            latency: params.time("scale_up_latency"),
        });
        let (start, pause) = (params.time("start"), params.time("pause"));
        let iterations = params.small_count("iterations");
        Ok(Self { schedule: Arc::new(schedule), hosts, start, iterations, pause, scale_up })
    }

    pub(super) fn start(&self, traffic: &mut TrafficBuilder<'_>) {
        let classes = self.schedule.classes().iter().map(|name| traffic.named_class(name)).collect();
        traffic.add_schedule(ScheduleTraffic {
            schedule: Arc::clone(&self.schedule),
            hosts: self.hosts.clone(),
            classes,
            start: self.start,
            iterations: self.iterations,
            pause: self.pause,
            scale_up: self.scale_up,
        });
    }

    /// Text about the number of executions and the servers of ranks; empty for one execution
    /// without servers.
    pub(super) fn in_words(&self) -> String {
        let mut words = String::new();
        if self.iterations > 1 {
            words += &format!(", {}", count_of(self.iterations as usize, "time", "times"));
        }
        if let Some(ScaleUp { ranks_per_server, rate, .. }) = self.scale_up {
            words += &format!(", servers of {ranks_per_server} ranks at {}", format_rate(rate));
        }
        words
    }
}
