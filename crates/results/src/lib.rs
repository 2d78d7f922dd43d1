//! Result folders: this crate writes the results of a run and reads them.
//!
//! A finished run is a folder with
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | version, policy, seed, profile, scenario hash, tables, totals, caveats, checksums of the other files |
//! | `scenario.toml` | the resolved scenario: every default filled in |
//! | `<table>.parquet` | one per [`Table`](bufferlab_metrics::Table); the packet table only if the run recorded packets |
//! | `explanations.json` | explained events, if the scenario asks for them |
//! | `timing.json` | duration of the run (the only file that differs between two equal runs), with a digest of itself |
//! | `SHA256SUMS` | checksums of all files but `timing.json` |
//!
//! A folder of several runs has a [`Group`] that lists its runs. [`RunWriter`] fills a hidden
//! folder beside the target, and renames the hidden folder at the end. So a folder with a manifest
//! is complete, and a killed run leaves no result. [`RunResult`] reads a finished run.
//!
//! **Determinism.** Equal rows and an equal header give equal bytes in every file
//! but `timing.json`. So files have no clock times, no machine name, fixed writer settings,
//! and dictionaries in order of first use.

mod cells;
mod claim;
mod content;
mod digest;
mod error;
mod explanations;
mod folder;
mod group;
mod inspect;
mod intern;
mod manifest;
mod packets;
mod patient;
mod read;
mod runs;
mod schema;
mod sums;
mod whole;
mod writer;

pub use claim::Claim;
pub use content::{Content, Difference, Mixture, UNTIL, describe_differences, find_mixture};
pub use digest::{FileFault, FileInfo};
pub use error::{ResultsError, TableError};
pub use explanations::{
    ExplanationRecord, HolderRecord, LeftOutRecord, OpinionRecord, explanations_json, explanations_schema,
};
pub use folder::{remove_leftovers, remove_run};
pub use group::{GROUP_FILE, Group};
pub use inspect::{Inspection, inspect};
pub use manifest::{
    ColumnInfo, FORMAT, FORMAT_VERSION, Manifest, NameTables, PolicyHead, QueueNearPause, REAL_PACKETS,
    RunCaveat, RunHeader, TableInfo, Timing, Totals, VariantHead, scenario_hash,
};
pub use packets::{PacketBrief, PacketGroup, PacketTable};
pub use read::RunResult;
pub use runs::{find_groups, find_runs};
pub use sums::{SUMS_FILE, check_sealed, remove_sealed, write_sealed};
pub use whole::{WholeFile, write_whole};
pub use writer::{RunWriter, store_run};

/// Name of the manifest file. A folder with a manifest is a complete run.
pub const MANIFEST_FILE: &str = "manifest.json";
/// Name of the file with the run's resolved scenario.
pub const SCENARIO_FILE: &str = "scenario.toml";
/// Name of the file with the run's explained events.
pub const EXPLANATIONS_FILE: &str = "explanations.json";
/// Name of the file with wall-clock and CPU times.
pub const TIMING_FILE: &str = "timing.json";
/// Name of the HTML report in a run folder, if the user requested a report.
/// The report is derived from the tables, so a new run removes the report.
pub const REPORT_FILE: &str = "report.html";
/// Name of the file with a comparison for programs.
/// The file also records the order of the compared policies.
pub const COMPARISON_JSON: &str = "comparison.json";
/// Name of the file that lists the keys varied by the last sweep of a folder.
pub const SWEEP_FILE: &str = "sweep.toml";
