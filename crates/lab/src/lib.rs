//! Plans and executes runs: loaded scenarios run in parallel and write folders of results.
//! The crate also plans comparisons and sweeps.
//!
//! This crate uses no terminal and no command line. The command line, the reproduction of papers
//! and other front ends all execute [`Job`]s, so a scenario gives equal bytes in each front end.
//!
//! ```
//! use bufferlab_lab::{Execution, Job, Unwatched, execute};
//!
//! let folder = tempfile::tempdir()?;
//! let scenario = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/star-incast.toml");
//! let loaded = bufferlab_scenario::load(&scenario, &[("duration".to_owned(), "1 ms".to_owned())])?;
//! let job = Job { loaded, dir: folder.path().join("run"), caveats: Vec::new() };
//! for outcome in execute(&[job], &Execution::default(), &Unwatched)? {
//!     assert!(outcome?.packet_hops > 0);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod execute;
mod explanation;
mod group;
mod header;
mod limits;
mod memory;
mod panic;
mod plan;
mod resume;
mod selection;
mod stepped;
mod sweep;
mod value_list;
mod warm_up;

pub use bufferlab_sim::Progress;
pub use error::{PlanError, RunError};
pub use execute::{
    AUTOMATIC_HOSTS, Execution, Finished, Job, Unwatched, Watcher, execute, execute_one, execute_then,
    has_stored,
};
pub use explanation::explanation_text;
pub use header::{header as run_header, schedules};
pub use limits::{LIMITS, RUNS, SEEDS};
pub use memory::{MemoryBudget, TooMuchMemory, fits, format_memory, memory_budget, set_memory_limit};
pub use panic::{Panicked, caught};
pub use plan::{Destination, Load, LoadNamed, Plan, plan_compare, plan_run, prepare_group};
pub use resume::{custom_code, is_finished, set_custom_code};
pub use selection::PolicySelection;
pub use stepped::SteppedRun;
pub use sweep::{
    FigureRequest, SWEEP_CSV, SWEEP_HTML, SWEEP_JSON, SweepOutcome, SweepPlan, SweepRequest, Vary,
    sweep_schema,
};
pub use value_list::split_values;

/// Git commit of the program's sources; `None` if the commit was unknown at build time.
#[must_use]
pub const fn commit() -> Option<&'static str> {
    option_env!("BUFFERLAB_COMMIT")
}
