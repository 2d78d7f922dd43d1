//! The manifest of a run: its settings, program and files.

use crate::digest::{FileInfo, hexadecimal};
use crate::schema::table_file;
use bufferlab_metrics::{RunTotals, Table};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Format name that identifies a run's manifest. Folders with another format are never replaced.
pub const FORMAT: &str = "bufferlab-run";
/// Format version of a manifest. The version changes if an older reader would misread the folder.
pub const FORMAT_VERSION: u32 = 2;

/// Caveat id ([`RunCaveat::id`]) of a run that forwarded real packets.
pub const REAL_PACKETS: &str = "real-packets";

/// Manifest data that is known before a run starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHeader {
    /// Version of the program that executes the run.
    pub bufferlab_version: String,
    /// Git commit of the program; `None` if the commit was unknown at build time.
    pub git_commit: Option<String>,
    /// Name of the scenario.
    pub scenario_name: String,
    /// Description of the scenario.
    pub scenario_description: String,
    /// Text of the resolved scenario as a scenario file. The run stores the text and its hash
    /// beside the tables.
    pub scenario_toml: String,
    /// Files that the resolved scenario refers to, by name.
    /// The files are stored beside the scenario, so that the folder can be run again.
    pub inputs: Vec<(String, Vec<u8>)>,
    /// Profile of the scenario: `paper` or `artifact`.
    pub profile: String,
    /// Seed of the run.
    pub seed: u64,
    /// Buffer policy of the run.
    pub policy: PolicyHead,
    /// Name of the run in a comparison, if that is not the policy's name.
    pub variant: Option<VariantHead>,
    /// Priorities that are lossless (PFC) on at least one switch, ascending.
    pub lossless_priorities: Vec<u8>,
    /// Length of the interval in which flows start (ns), from time 0.
    pub duration_ns: u64,
    /// Time for unfinished flows after the last possible flow start (ns).
    pub drain_ns: u64,
    /// Size below which a flow counts as short (bytes), unless the flow belongs to a query.
    pub short_flow_bytes: u64,
    /// Interval between samples of the time series (ns). The value 0 means that the run takes no
    /// samples.
    pub sample_interval_ns: u64,
    /// Name of the sampled switch; `None` without samples.
    pub sample_switch: Option<String>,
    /// Names of classes, switches and hosts, to which rows refer by index.
    pub names: NameTables,
}

/// The buffer policy of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyHead {
    /// Name of the policy in the registry.
    pub name: String,
    /// Title of the policy in the registry.
    pub title: String,
    /// Every parameter of the policy in the registry's order, including defaults. Values have the
    /// syntax of a scenario file.
    pub params: Vec<(String, String)>,
}

/// A variant of a scenario, with its name in a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantHead {
    /// Name of the variant in tables and charts.
    pub label: String,
    /// Definition of the variant as on a command line: `dt(alpha=0.5) + switch.buffer=2 MB`.
    pub text: String,
}

/// Names of classes, switches and hosts, to which rows refer by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameTables {
    /// Names of the run's flow classes.
    pub classes: Vec<String>,
    /// Names of the run's switches.
    pub switches: Vec<String>,
    /// Names of the run's hosts.
    pub hosts: Vec<String>,
    /// Descriptions of schedules and collectives, by the number of the schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<String>,
}

impl NameTables {
    /// Returns a name that occurs twice in a list of names, and the kind of the list, such as
    /// `hosts`.
    pub(crate) fn duplicate(&self) -> Option<(&'static str, &str)> {
        let lists = [("classes", &self.classes), ("switches", &self.switches), ("hosts", &self.hosts)];
        lists.into_iter().find_map(|(kind, list)| {
            let mut seen = BTreeSet::new();
            list.iter().find(|name| !seen.insert(name.as_str())).map(|name| (kind, name.as_str()))
        })
    }
}

/// A warning to check before trusting the run's numbers, from the program that executed the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCaveat {
    /// Short name of the warning for programs, such as `series-truncated`.
    pub id: String,
    /// Description of the problem with the run.
    pub message: String,
    /// Advice on the problem to the reader of the results.
    pub advice: String,
}

/// `manifest.json`, with its fields in the order of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the manifest's format, always [`FORMAT`].
    pub format: String,
    /// Version of the manifest's format, always [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of the program that executed the run.
    pub bufferlab_version: String,
    /// Git commit of the program; `None` if the commit was unknown at build time.
    pub git_commit: Option<String>,
    /// Name of the scenario.
    pub scenario_name: String,
    /// Description of the scenario.
    pub scenario_description: String,
    /// SHA-256 of `scenario.toml` and the files to which it refers,
    /// in hexadecimal ([`scenario_hash`]).
    pub scenario_sha256: String,
    /// Names of the files to which `scenario.toml` refers. The folder stores these files beside the
    /// scenario.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Profile of the scenario: `paper` or `artifact`.
    pub profile: String,
    /// Seed of the run.
    pub seed: u64,
    /// Buffer policy of the run.
    pub policy: PolicyHead,
    /// Name of the run in a comparison; omitted if that is the policy's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<VariantHead>,
    /// Priorities that are lossless (PFC) on at least one switch, ascending. Empty in folders of
    /// versions that did not record lossless priorities.
    #[serde(default)]
    pub lossless_priorities: Vec<u8>,
    /// Length of the interval in which flows start (ns), from time 0.
    pub duration_ns: u64,
    /// Time for unfinished flows after the last possible flow start (ns).
    pub drain_ns: u64,
    /// Size below which a flow counts as short (bytes), unless the flow belongs to a query.
    pub short_flow_bytes: u64,
    /// Interval between samples of the time series (ns). The value 0 means that the run took no
    /// samples.
    pub sample_interval_ns: u64,
    /// Name of the sampled switch; `None` without samples.
    pub sample_switch: Option<String>,
    /// Totals of the run: flows, packet-hops, events and peaks.
    pub totals: Totals,
    /// Caveats of the run, to check before trusting its numbers.
    pub caveats: Vec<RunCaveat>,
    /// Tables in the folder of the run.
    pub tables: Vec<TableInfo>,
    /// Checksums of every file except `manifest.json` itself, `SHA256SUMS`,
    /// `timing.json` and `report.html`. Empty in folders of program versions without checksums.
    #[serde(default)]
    pub files: Vec<FileInfo>,
    /// Names of classes, switches and hosts in tables, in the order of their indices.
    pub names: NameTables,
}

impl Manifest {
    /// Label of the run in a comparison of policies: the label of its variant,
    /// or the policy's name.
    #[must_use]
    pub fn label(&self) -> &str {
        self.variant.as_ref().map_or(&self.policy.name, |variant| &variant.label)
    }

    pub(crate) fn new(
        head: RunHeader,
        totals: &RunTotals,
        caveats: Vec<RunCaveat>,
        rows: &[(Table, u64)],
        files: Vec<FileInfo>,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            scenario_sha256: scenario_hash(&head.scenario_toml, &head.inputs),
            inputs: head.inputs.into_iter().map(|(name, _)| name).collect(),
            bufferlab_version: head.bufferlab_version,
            git_commit: head.git_commit,
            scenario_name: head.scenario_name,
            scenario_description: head.scenario_description,
            profile: head.profile,
            seed: head.seed,
            policy: head.policy,
            variant: head.variant,
            lossless_priorities: head.lossless_priorities,
            duration_ns: head.duration_ns,
            drain_ns: head.drain_ns,
            short_flow_bytes: head.short_flow_bytes,
            sample_interval_ns: head.sample_interval_ns,
            sample_switch: head.sample_switch,
            totals: Totals::from(totals),
            caveats,
            tables: rows.iter().map(|&(table, rows)| TableInfo::new(table, rows)).collect(),
            files,
            names: head.names,
        }
    }

    /// Returns the number of rows of `table`; 0 if the folder lacks the table.
    #[must_use]
    pub fn rows(&self, table: Table) -> u64 {
        self.tables.iter().find(|info| info.name == table.name()).map_or(0, |info| info.rows)
    }
}

/// Totals of a run: [`RunTotals`] without the names of classes, switches and hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Simulated time at the end of the run (ns).
    pub end_ns: u64,
    /// Number of flows that started.
    pub flows: u64,
    /// Number of flows that finished.
    pub flows_finished: u64,
    /// Number of packet-hops: packets that crossed a link, ACKs included.
    pub packet_hops: u64,
    /// Number of events that the simulator processed.
    pub events: u64,
    /// Largest number of packets in the network at one time.
    pub peak_packets: u64,
    /// Largest number of unfinished flows at one time.
    pub peak_flows: u64,
    /// Buffer size of every switch, in the order of the switch names.
    pub buffer_bytes: Vec<u64>,
    /// Number of ACKs that switches dropped; omitted if no ACK was dropped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_acks: u64,
    /// Lossless ingress queue that was nearest to a pause. The field is omitted if a sender was
    /// paused, or if no lossless packet waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest_pause: Option<QueueNearPause>,
}

/// A lossless ingress queue at its peak, in a run without any pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueNearPause {
    /// Name of the switch with the queue.
    pub switch: String,
    /// Ingress port of the queue.
    pub port: u16,
    /// Priority of the queue.
    pub priority: u8,
    /// Length of the queue at its peak (bytes), as compared with the pause threshold.
    pub held_bytes: u64,
    /// Pause threshold at the time of the peak (bytes).
    pub threshold_bytes: u64,
}

/// Whether a count is zero and can be omitted from the manifest.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl From<&RunTotals> for Totals {
    fn from(totals: &RunTotals) -> Self {
        Self {
            end_ns: totals.end_ns,
            flows: totals.flows,
            flows_finished: totals.flows_finished,
            packet_hops: totals.packet_hops,
            events: totals.events,
            peak_packets: totals.peak_packets,
            peak_flows: totals.peak_flows,
            buffer_bytes: totals.buffer_bytes.clone(),
            lost_acks: totals.lost_acks,
            nearest_pause: totals.nearest_pause.map(|one| QueueNearPause {
                switch: totals.switches.get(one.switch as usize).cloned().unwrap_or_default(),
                port: one.port,
                priority: one.priority,
                held_bytes: one.held_bytes,
                threshold_bytes: one.threshold_bytes,
            }),
        }
    }
}

/// Description of a table in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// Name of the table.
    pub name: String,
    /// Name of the table's file in the folder.
    pub file: String,
    /// Number of rows of the table.
    pub rows: u64,
    /// Columns of the table, in the order of the file.
    pub columns: Vec<ColumnInfo>,
}

impl TableInfo {
    fn new(table: Table, rows: u64) -> Self {
        let columns = table.columns().iter().map(|column| ColumnInfo {
            name: column.name.to_owned(),
            kind: column.kind.name().to_owned(),
            unit: column.unit().map(str::to_owned),
            nullable: column.nullable,
            description: column.description.to_owned(),
        });
        Self { name: table.name().to_owned(), file: table_file(table), rows, columns: columns.collect() }
    }
}

/// Description of a table's column in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Name of the column.
    pub name: String,
    /// Type of the column's cells.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unit of the column, if its name ends with a unit.
    pub unit: Option<String>,
    /// Whether cells of the column may be empty.
    pub nullable: bool,
    /// Meaning of the column.
    pub description: String,
}

/// Content of `timing.json`: the duration of the run. Equal runs have different durations, so the
/// duration is not in the manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// CPU time of the run (s); `None` if the time is unknown.
    pub cpu_seconds: Option<f64>,
    /// Elapsed time of the run (s).
    pub wall_seconds: f64,
    /// Speed of the run in packet-hops per CPU second (`docs/evidence/performance.md`);
    /// `None` if the CPU time is unknown.
    pub packet_hops_per_cpu_second: Option<f64>,
    /// Peak memory of the process (bytes), if the operating system reports the peak.
    pub peak_rss_bytes: Option<u64>,
}

/// Returns the SHA-256 of a resolved scenario and its input files (name and content), in lower-case
/// hexadecimal. Without input files, the hash covers the scenario's text alone. Two runs with equal
/// hash, version and seed have equal results, so a sweep can skip finished runs.
#[must_use]
pub fn scenario_hash<C: AsRef<[u8]>>(scenario_toml: &str, inputs: &[(String, C)]) -> String {
    let mut hash = Sha256::new_with_prefix(scenario_toml.as_bytes());
    for (name, content) in inputs {
        let content = content.as_ref();
        // Hash the lengths of names and contents, too, so that different splits
        // of equal bytes differ.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(content);
    }
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha_256() {
        // The test vector is from FIPS 180-2, appendix B.1.
        let none: &[(String, Vec<u8>)] = &[];
        assert_eq!(
            scenario_hash("abc", none),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn another_content_or_name_of_an_input_is_another_scenario() {
        let hash = |name: &str, content: &str| scenario_hash("abc", &[(name.to_owned(), content.as_bytes())]);
        let all = [hash("a", "bc"), hash("ab", "c"), hash("a", "bd"), hash("b", "bc")];
        assert!((0..4).all(|i| all[i + 1..].iter().all(|other| *other != all[i])), "{all:?}");
    }
}
