//! View of one switch in a run: its buffer and events over time.

use crate::ViewError;
use crate::index::{Index, Shape, Source};
use crate::overview::RunOverview;
use crate::samples;
use crate::window::{Window, WindowRequest, window};
use bufferlab_metrics::{PacketRow, ProbeRow, QueueRow};
use bufferlab_results::{MANIFEST_FILE, Manifest, PacketGroup, RunResult};
use std::fs;
use std::path::Path;

/// Maximum number of packet rows that a page lists.
pub(crate) const ROWS_SHOWN: usize = 300;

/// Buffer and events of one switch in a run over time.
#[derive(Debug)]
pub struct View {
    run: RunResult,
    pub(crate) index: Index,
    source: Source,
    /// Whether the data are recorded packets. Otherwise the data are samples.
    is_recorded: bool,
    /// Names of the switches with recorded data.
    viewable: Vec<String>,
    pub(crate) probes: Vec<ProbeRow>,
}

impl View {
    /// Opens the folder of a run for `switch`, or for the first switch with recorded data.
    /// Reads the packet table once.
    ///
    /// # Errors
    /// If the run or the switch does not exist, or the run has no data about the switch.
    pub fn open(folder: &Path, switch: Option<&str>) -> Result<Self, ViewError> {
        let run = open_run(folder)?;
        let names = &run.manifest().names.switches;
        let packets = run.packets()?;
        let viewable = match &packets {
            Some(_) => recorded_switches(&run)?,
            None => run.manifest().sample_switch.clone().into_iter().filter(|_| has_samples(&run)).collect(),
        };
        let name = switch.or(viewable.first().map(String::as_str)).or(names.first().map(String::as_str));
        let name = name.unwrap_or_default().to_owned();
        let Some(switch) = names.iter().position(|known| *known == name) else {
            return Err(ViewError::NoSuchSwitch { name, switches: names.clone() });
        };
        if !viewable.contains(&name) {
            return Err(ViewError::NothingRecorded { switch: name, recorded: viewable });
        }
        let switch = switch as u32;
        let shape = shape(&run, switch)?;
        let is_recorded = packets.is_some();
        let source = match packets {
            Some(table) => Source::File(Box::new(table)),
            None => Source::Memory(samples::rows(&run, switch, shape)?),
        };
        // Samples do not describe the state after the last sample.
        let end = match &source {
            Source::Memory(samples) => samples.last().map_or(0, |sample| sample.time_ps + 1),
            Source::File(_) => run.manifest().totals.end_ns * 1_000,
        };
        let index = Index::build(&source, switch, shape, end)?;
        let mut probes = Vec::new();
        run.visit(|row: ProbeRow| {
            if row.switch == switch {
                probes.push(row);
            }
        })?;
        Ok(Self { run, index, source, is_recorded, viewable, probes })
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        self.run.manifest()
    }

    pub(crate) fn run(&self) -> &RunResult {
        &self.run
    }

    /// The first instant for which the view has data (ps).
    pub(crate) fn begin(&self) -> u64 {
        match &self.source {
            Source::Memory(samples) => samples.first().map_or(0, |sample| sample.time_ps),
            Source::File(_) => 0,
        }
    }

    pub(crate) fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// Name of the switch that the view shows.
    #[must_use]
    pub fn switch(&self) -> &str {
        &self.manifest().names.switches[self.index.switch as usize]
    }

    pub(crate) fn about(&self) -> Result<RunOverview, ViewError> {
        RunOverview::new(self, &self.viewable)
    }

    pub(crate) fn window(&self, request: &WindowRequest) -> Result<Window, ViewError> {
        window(&self.index, &self.source, &self.manifest().names.classes, request)
    }

    /// Returns the first `most` packet rows between two instants (ps), of one port, one queue or
    /// all queues.
    pub(crate) fn rows(
        &self,
        (from, until): (u64, u64),
        (port, priority): (Option<u16>, Option<u8>),
        most: usize,
    ) -> Result<Vec<PacketRow>, ViewError> {
        let mut rows = Vec::new();
        self.visit(from, until, |_, row| {
            let is_wanted = port.is_none_or(|port| row.port == Some(port))
                && priority.is_none_or(|priority| row.priority == priority);
            if rows.len() < most && is_wanted {
                rows.push(row);
            }
        })?;
        Ok(rows)
    }

    /// Row groups of the packet table, sorted by time; empty if the run did not record packets.
    pub(crate) fn groups(&self) -> Vec<PacketGroup> {
        match &self.source {
            Source::File(table) => table.groups().to_vec(),
            Source::Memory(_) => Vec::new(),
        }
    }

    /// Calls `each` with every row of the switch in a row group, and
    /// with the row's number in the table.
    pub(crate) fn visit_group(
        &self,
        group: &PacketGroup,
        each: impl FnMut(u64, PacketRow),
    ) -> Result<(), ViewError> {
        let Source::File(table) = &self.source else { return Ok(()) };
        match table.groups().iter().position(|known| known == group) {
            Some(number) => Ok(table.visit_rows(number, self.index.switch, each)?),
            None => Ok(()),
        }
    }

    /// Calls `each` with every row of the switch between two instants (ps), and with the row's
    /// number in the table. If the run did not record packets, the function does not call `each`.
    pub(crate) fn visit(
        &self,
        from: u64,
        until: u64,
        mut each: impl FnMut(u64, PacketRow),
    ) -> Result<(), ViewError> {
        let Source::File(table) = &self.source else { return Ok(()) };
        for (number, group) in table.groups().iter().enumerate() {
            if group.from_ps <= until && group.until_ps >= from {
                table.visit_rows(number, self.index.switch, |number, row| {
                    if (from..=until).contains(&row.time_ps) {
                        each(number, row);
                    }
                })?;
            }
        }
        Ok(())
    }
}

/// Opens the run in a folder, or the only run in its subfolders.
pub(crate) fn open_run(folder: &Path) -> Result<RunResult, ViewError> {
    if folder.is_file() {
        return Err(ViewError::NotAFolder { path: folder.to_path_buf() });
    }
    if folder.join(MANIFEST_FILE).is_file() || !folder.is_dir() {
        return Ok(RunResult::open(folder)?);
    }
    let mut runs = Vec::new();
    for first in subfolders(folder) {
        if RunResult::is_complete(&folder.join(&first)) {
            runs.push(first);
            continue;
        }
        let inner = subfolders(&folder.join(&first)).into_iter().map(|second| format!("{first}/{second}"));
        runs.extend(inner.filter(|run| RunResult::is_complete(&folder.join(run))));
    }
    match runs.as_slice() {
        [] => Ok(RunResult::open(folder)?),
        [run] => Ok(RunResult::open(&folder.join(run))?),
        _ => Err(ViewError::SeveralRuns { path: folder.to_path_buf(), runs }),
    }
}

fn subfolders(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

/// Names of the switches whose packets the scenario records.
fn recorded_switches(run: &RunResult) -> Result<Vec<String>, ViewError> {
    let names = &run.manifest().names.switches;
    let scenario = crate::explain::scenario(run)?;
    let recorded = scenario.output.packets;
    let is_recorded = |index: usize| recorded.is_none_or(|recorded| recorded.contains(index as u32));
    Ok(names
        .iter()
        .enumerate()
        .filter(|(index, _)| is_recorded(*index))
        .map(|(_, name)| name.clone())
        .collect())
}

fn has_samples(run: &RunResult) -> bool {
    run.manifest().rows(bufferlab_metrics::Table::Series) > 0
}

/// Returns the numbers of a switch's ports and queues per port.
fn shape(run: &RunResult, switch: u32) -> Result<Shape, ViewError> {
    let mut shape = Shape { ports: 0, queues_per_port: 0 };
    run.visit(|row: QueueRow| {
        if row.switch == switch {
            shape.ports = shape.ports.max(row.port + 1);
            shape.queues_per_port = shape.queues_per_port.max(row.priority + 1);
        }
    })?;
    Ok(shape)
}
