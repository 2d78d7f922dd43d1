//! Reproduction of the papers: experiments and statements as data, with runs and verdicts.
//!
//! A [`Registry`] is a folder of [`Experiment`]s; the registry of the five papers is embedded in
//! the program. A [`Plan`] lists the runs that an experiment needs at a scale. [`run()`] executes
//! the runs whose numbers are missing. [`judge()`] gives every statement its [`Verdict`], by rules
//! in one module. The [`Ledger`] combines the verdicts of runs with the verdicts of named tests.
//! Statements without evidence from runs or tests have the verdict NOT-RUN.

mod ablations;
mod cache;
mod conclusion;
mod course;
mod document;
mod error;
mod estimates;
mod experiment;
mod explorer;
pub mod expression;
pub mod figures;
mod fingerprint;
mod judge;
mod ledger;
mod mark;
mod metric;
mod multiverse;
pub mod output;
mod package;
mod pages;
mod plan;
mod real;
mod reasons;
mod registry;
mod rows;
mod run;
mod seed_sets;
mod table;
mod tally;
mod theory;
mod verdict;
mod why;

pub use ablations::{AblationRow, KeyQuote, ablations_markdown, disagreements, key_quotes, record_ablations};
pub use bufferlab_experiment::{Better, GoodputOf, OverSeeds, Quantity, QueueCount, Sampled, Take};
pub use cache::{Cache, Numbers, Wanted};
pub use conclusion::{Conclusion, Keep, conclude, conclude_with_sets};
pub use course::{Course, CourseLine};
pub use document::{real_verdicts_json, real_verdicts_schema, verdicts_json, verdicts_schema};
pub use error::{FailureCause, ReproduceError, RunFailure};
pub use estimates::Estimates;
pub use experiment::{
    Axis, AxisValue, Beside, ClaimCheck, Condition, Content, Experiment, Overrides, Panel, Reading, Runs,
    Scale, ScaleName, Variant,
};
pub use fingerprint::{Behaviours, Fingerprints, void_changed};
pub use judge::{Judged, Measured, effects_of_means, judge};
pub use ledger::{
    Claim, Cost, Evidence, Ledger, LedgerRow, Record, TestEvidence, costs_csv, estimated_costs,
    recorded_costs,
};
pub use mark::PaperMark;
pub use metric::{Metric, Statistic};
pub use multiverse::{
    OpenReading, OtherReading, Universe, UniverseRow, multiverse, open_readings, record_universes,
};
pub use package::write_package;
pub use pages::paper_page;
pub use plan::{Plan, Point};
pub use real::{
    MOST_LATENESS_US, RealPage, RealRecord, RealRuns, RealStudy, keys as real_keys, real_markdown,
    record_real,
};
pub use reasons::{Owner, Reason, arguments_markdown};
pub use registry::{Registry, is_shipped, unpack_scenarios};
pub use rows::{Checked, Selection};
pub use run::{Missing, Results, gather, missing, run};
pub use seed_sets::{SEED_SET, Survival};
pub use table::TableError;
pub use tally::Tally;
pub use theory::{theory_csv, theory_panels};
pub use verdict::{Standing, Verdict};
pub use why::{Ablation, Change, Trial, why};
