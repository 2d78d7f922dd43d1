//! Reports on result folders: summaries, paired comparisons, caveats, and a report in one HTML
//! file.
//!
//! * [`RunSummary`]: one run in numbers. Percentiles are by nearest rank ([`Percentile`]).
//! * [`Comparison`]: policies over seeds, **paired by seed**, with 95 % confidence intervals
//!   ([`Estimate`]).
//! * [`finding()`]: findings of a comparison as sentences, corrected for the number of tests;
//!   [`Ranking`]: the best scheme, and the schemes that are not significantly worse.
//! * [`Caveat`]: reasons to check a result before trusting its numbers. The report shows caveats
//!   before the numbers, and the terminal after the table.
//! * [`Report`]: all results of a folder, as text, JSON, CSV, Parquet and HTML; tables as Markdown
//!   and LaTeX ([`TableFormat`]).
//! * [`CurvesPage`]: charts and tables of other data, a chart also as SVG and PNG ([`curve_svg`],
//!   [`curve_png`]). With an [`Explorer`], readers draw any metric of a grid over any of its axes.
//!
//! ```no_run
//! // Works on any folder of results, old or new.
//! let report = bufferlab_report::Report::load("results".as_ref(), &["dt".to_owned()])?;
//! print!("{}", report.text());
//! report.write()?;
//! # Ok::<(), bufferlab_report::ReportError>(())
//! ```

mod buffer_sample;
mod bursts;
mod caveat;
mod chart_style;
mod compare;
mod critical_path;
mod curves;
mod document_table;
mod error;
mod explorer;
mod export;
mod figures;
mod finding;
pub mod format;
mod hpcc;
mod html;
mod labels;
mod load;
mod metric;
mod page;
mod pauses;
mod pdf;
mod picture;
mod ranking;
mod real_vs_simulated;
mod samples;
mod schedules;
mod sequential;
mod statistics;
mod steady;
mod summary;
mod svg;
mod terminal;

pub use buffer_sample::{BufferSample, PriorityOccupancy, visit_buffer_samples};
pub use bursts::{BurstBin, BurstGroup, DelayGroup, PortShare, jain};
pub use caveat::{Caveat, CaveatRecord, QUERIES_WANTED};
pub use chart_style::FigureStyle;
pub use compare::{Cell, Comparison, MetricComparison};
pub use critical_path::{
    CriticalPath, CriticalStep, FirstEvent, PathTracer, QueueTime, critical_paths_json,
    critical_paths_schema, slowest,
};
pub use curves::{
    CurveAxis, CurveLine, CurveMark, CurvePanel, CurvePoint, CurveScale, CurvesPage, PageTable, curve_png,
    curve_svg, curves_page,
};
pub use document_table::TableFormat;
pub use error::ReportError;
pub use explorer::{Explorer, ExplorerAxis, ExplorerCell, ExplorerMark, ExplorerMetric, positions};
pub use export::comparison_schema;
pub use figures::{FIGURE_FILES, Labels, write_curves};
pub use finding::{
    Judgement, Sentence, SentenceKind, finding, grid_finding, headlines, judgements, nearest_pause_text,
};
pub use hpcc::{HpccFiles, write_hpcc};
pub use labels::short_labels;
pub use load::{
    COMPARISON_CSV, COMPARISON_JSON, COMPARISON_PARQUET, REPORT_FILE, Report, Run, run_summary, write,
};
pub use metric::{Better, Metric, MetricValue, Unit, metrics_table};
pub use page::local_page;
pub use pauses::{Deadlock, PauseTotal, Pauses};
pub use ranking::{Ranking, Standing};
pub use schedules::{ScheduleGroup, StuckNode};
pub use sequential::{Look, Stopping};
pub use statistics::{Change, Distribution, Estimate, Percentile, student_t_975};
pub use steady::{SteadyState, steady_from, steady_text};
pub use summary::{
    FlowGroup, GroupKey, LinkRole, QueryGroup, QueueLoss, RunSummary, SwitchOccupancy, Switching,
};
pub use svg::HeatMap;
pub use terminal::{WIDTH_MAX, caveats_text, comparison_text, finding_text, noted_text, set_terminal_width};
