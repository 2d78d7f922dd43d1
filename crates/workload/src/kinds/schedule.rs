//! Workload that executes the transfers and computations of a schedule file.

use super::parts::count_of;
use super::ranks::{self, Execution};
use crate::SourceError;
use crate::context::{ForeignFile, ForeignTraffic, WorkloadContext};
use crate::traffic::TrafficBuilder;
use crate::workload::{Workload, WorkloadInfo};
use bufferlab_params::{Fault, Faults, ParamInfo, ParamKind, Params};
use bufferlab_schedule::{Schedule, ScheduleTextError, parse_schedule};

/// Registry entry of the workload `schedule`.
pub(crate) static INFO: WorkloadInfo = WorkloadInfo {
    name: "schedule",
    aliases: &[],
    title: "Schedule",
    summary: "Transfers and computations that wait for each other, from a CSV file or a file of another simulator. The table `schedule` has \
              the times of all nodes.",
    source: "",
    params: PARAMS,
    build: &build,
};

const PARAMS: &[ParamInfo] = &[
    ParamInfo::required(
        "file",
        ParamKind::File,
        "\"schedule.csv\"",
        "File of the schedule, relative to the scenario file.",
    ),
    ranks::HOSTS,
    ranks::START,
    ranks::ITERATIONS,
    ranks::PAUSE,
    ranks::RANKS_PER_SERVER,
    ranks::SCALE_UP_RATE,
    ranks::SCALE_UP_LATENCY,
];

#[derive(Debug)]
struct ScheduleFile {
    file: String,
    execution: Execution,
}

fn build(params: &mut Params, context: &WorkloadContext<'_>) -> Result<Box<dyn Workload>, Faults> {
    let hosts = Execution::hosts(params, context)?;
    let file = params.file("file");
    let schedule = match parse_schedule(&file.path, &file.content, Some(hosts.len() as u32)) {
        Ok(schedule) => schedule,
        Err(error) => match context.foreign(file) {
            Some(foreign) => foreign_schedule(foreign?, hosts.len())?,
            None => return Err(fault(&error).into()),
        },
    };
    let name = file.name.clone();
    Ok(Box::new(ScheduleFile { file: name, execution: Execution::new(schedule, hosts, params, context)? }))
}

/// Returns the schedule in a file of another simulator. The network must have a host for every
/// rank.
fn foreign_schedule(foreign: ForeignFile, hosts: usize) -> Result<Schedule, Faults> {
    let refuse = |problem: &str, help: &str| {
        Err(Fault::new("file", format!("{}: {problem}", foreign.format), "this file").help(help).into())
    };
    match foreign.traffic {
        ForeignTraffic::Schedule(schedule) if schedule.ranks() as usize <= hosts => Ok(schedule),
        ForeignTraffic::Schedule(schedule) => {
            let problem = format!("{} ranks, but the network has {hosts} hosts", schedule.ranks());
            refuse(&problem, "use a network with a host for every rank")
        }
        ForeignTraffic::Flows(..) => {
            refuse("its flows do not wait for each other", "give it to a workload of `kind = \"flow_list\"`")
        }
    }
}

/// Converts an error in a schedule file to a fault with the number of the wrong line.
fn fault(error: &ScheduleTextError) -> Fault {
    let line = match error {
        ScheduleTextError::Csv { cause, .. } => cause.position().map(csv::Position::line),
        ScheduleTextError::Cell { line, .. } => Some(*line),
        ScheduleTextError::Schedule { line, .. } => *line,
        _ => None,
    };
    Fault::of_error("file", &error.to_string(), "here")
        .or_help("see \"Schedules\" in docs/reference/scenarios.md for what a schedule holds")
        .at_line(line.unwrap_or(1) as usize)
}

impl Workload for ScheduleFile {
    fn start(&self, traffic: &mut TrafficBuilder<'_>) -> Result<(), SourceError> {
        self.execution.start(traffic);
        Ok(())
    }

    fn in_words(&self) -> String {
        let nodes = count_of(self.execution.schedule.len(), "node", "nodes");
        format!("{nodes} of {}{}", self.file, self.execution.in_words())
    }
}
