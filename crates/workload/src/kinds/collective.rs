//! Workload that executes one collective of a training or inference job.

use super::parts::count_of;
use super::ranks::{self, Execution};
use crate::SourceError;
use crate::context::WorkloadContext;
use crate::traffic::TrafficBuilder;
use crate::workload::{Workload, WorkloadInfo};
use bufferlab_params::{Choice, Fault, Faults, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_schedule::{Algorithm, Collective, CollectiveError, Operation, ScheduleBuilder, expand};
use bufferlab_units::quantity::format_size;
use std::borrow::Cow;

/// Registry entry of the workload `collective`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "collective",
    aliases: &[],
    title: "Collective",
    summary: "A collective of n ranks, such as an all-reduce over a ring: every transfer starts when the rank has \
              received the data to send. The table `schedule` has the times of all transfers.",
    source: "",
    params: PARAMS,
    build: &build,
};

/// Allowed range of the numbers of chunks and channels.
const FEW: ParamKind = ParamKind::Count { min: 1, max: 65_535 };

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "operation",
        ParamKind::Choice(Operation::WORDS),
        "\"all_reduce\"",
        "Result that the ranks compute together.",
    ),
    ParamInfo::with_default(
        "algorithm",
        ParamKind::Choice(Algorithm::WORDS),
        ParamValue::Choice(Cow::Borrowed("ring")),
        "Transfers that lead to the result.",
    ),
    ParamInfo::required("size", ParamKind::SIZE, "\"1 GB\"", "Size of the collective."),
    ranks::HOSTS,
    ParamInfo::with_default(
        "chunks",
        FEW,
        ParamValue::Count(1),
        "Parts of every message, sent one after the other.",
    ),
    ParamInfo::with_default(
        "channels",
        FEW,
        ParamValue::Count(1),
        "Copies of the algorithm with a part of the data each; odd channels of a ring run in the opposite direction.",
    ),
    ranks::START,
    ranks::ITERATIONS,
    ranks::PAUSE,
    ranks::RANKS_PER_SERVER,
    ranks::SCALE_UP_RATE,
    ranks::SCALE_UP_LATENCY,
];

#[derive(Debug)]
struct Collectives {
    operation: Operation,
    algorithm: Algorithm,
    bytes: u64,
    ranks: usize,
    execution: Execution,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let hosts = Execution::hosts(params, context)?;
    let group: Vec<u32> = (0..hosts.len() as u32).collect();
    let (operation, algorithm) = (params.choice("operation"), params.choice("algorithm"));
    let mut builder = ScheduleBuilder::new(hosts.len() as u32);
    let class = builder.class(context.class()).map_err(|error| fault(&error.into()))?;
    let collective = Collective {
        chunks: params.small_count("chunks"),
        channels: params.small_count("channels"),
        ranks_per_server: params.small_count("ranks_per_server"),
        class,
        ..Collective::new(operation, algorithm, params.bytes("size"), &group)
    };
    expand(&mut builder, &collective, &[]).map_err(|error| fault(&error))?;
    let schedule = builder.build().map_err(|error| fault(&error.into()))?;
    let execution = Execution::new(schedule, hosts, params, context)?;
    Ok(Box::new(Collectives { operation, algorithm, bytes: collective.bytes, ranks: group.len(), execution }))
}

/// Converts an error of the collective to a fault at the parameter that causes the error.
fn fault(error: &CollectiveError) -> Fault {
    let param = match error {
        CollectiveError::NoSuchPair { .. } | CollectiveError::NoPowerOfTwo(_) => "algorithm",
        CollectiveError::Undivided { .. } => "chunks",
        CollectiveError::Servers { .. } => "ranks_per_server",
        _ => "operation",
    };
    Fault::of_error(param, &error.to_string(), "here")
}

impl Workload for Collectives {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        self.execution.start(traffic);
        Ok(())
    }

    fn in_words(&self) -> String {
        format!(
            "{} of {} among {} ({}){}",
            self.operation,
            format_size(self.bytes),
            count_of(self.ranks, "rank", "ranks"),
            self.algorithm,
            self.execution.in_words()
        )
    }
}
