//! Runs a fuzzing case with all checks, and returns the outcome of the case.

use crate::case::Case;
use crate::guard;
use bufferlab_metrics::{
    DelayRow, DropRow, Explanation, FlowRow, HistogramRow, LinkRow, PacketRow, PauseCycleRow, PauseRow,
    PauseSpanRow, ProbeRow, ProgressRow, QueryRow, QueueRow, RunSink, SeriesRow, WatchdogRow,
};
use bufferlab_scenario::{LoadError, Loaded, load_text};
use bufferlab_sim::{ExplainRequest, MemoryEstimate, SimError, Simulation};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Debug};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

/// Limits of the run of a fuzzing case. A case that reaches a limit has no fault.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Real time that the run of a fuzzing case may take.
    pub time: Duration,
    /// Number of packet-hops that the run of a case may take.
    pub hops: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { time: Duration::from_secs(4), hops: 50_000 }
    }
}

/// Outcome of a fuzzing case without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The case ran to its end without a fault.
    Ran,
    /// The run of the case reached its limit of time or packet-hops.
    Stopped,
    /// The loader accepted the case, and the engine refused the case with a reason.
    Refused,
}

impl Outcome {
    /// Word for the outcome of a fuzzing case in summaries.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Stopped => "stopped",
            Self::Refused => "refused",
        }
    }
}

/// A fault that the check of a fuzzing case has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program panicked; the text has the place in the source.
    Panic(String),
    /// An accounting identity of the run does not hold.
    Broken(String),
    /// A built-in policy, congestion control or rule failed.
    Failed(String),
    /// Two runs of the case have different results.
    Differs(String),
    /// The resolved scenario is refused, resolves differently, or runs differently.
    Resolved(String),
    /// The tables of a run with several threads differ from the tables of a run with one thread.
    Threads(String),
    /// `check` accepts the scenario, but `run` refuses the scenario.
    Disagrees(String),
}

impl Fault {
    /// Word for the kind of a fault in summaries.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Panic(_) => "panic",
            Self::Broken(_) => "identity",
            Self::Failed(_) => "failure",
            Self::Differs(_) => "repetition",
            Self::Resolved(_) => "resolved",
            Self::Threads(_) => "threads",
            Self::Disagrees(_) => "check",
        }
    }

    /// Whether the fault and the fault `other` probably have one cause, because kind and place are
    /// equal.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Panic(a), Self::Panic(b)) => a.lines().next() == b.lines().next(),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(what) => write!(f, "panic {what}"),
            Self::Broken(what) | Self::Failed(what) => f.write_str(what),
            Self::Differs(what) => write!(f, "two runs differ: {what}"),
            Self::Resolved(what) => write!(f, "the resolved scenario {what}"),
            Self::Threads(what) => write!(f, "several threads: {what}"),
            Self::Disagrees(what) => write!(f, "`check` accepts what `run` refuses: {what}"),
        }
    }
}

/// An additional check of a fuzzing case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    Twice,
    Resolved,
    Explained,
    Nothing,
}

impl Extra {
    const fn from_number(number: u64) -> Self {
        match number % 4 {
            0 => Self::Twice,
            1 => Self::Resolved,
            2 => Self::Explained,
            _ => Self::Nothing,
        }
    }
}

/// A fuzzing case with the result of its check.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The case with the changes that the loader accepts.
    pub case: Case,
    /// Outcome of the case, or the fault that the check found.
    pub result: Result<Outcome, Fault>,
    /// Whether the check ran the case on several threads.
    pub is_divided: bool,
}

/// Removes the changes that the loader refuses, and runs the case with every accounting identity
/// verified. If the network can be divided, the tables of runs with one, two and three threads are
/// compared.
///
/// The case number `number` selects further checks. A quarter of the cases run twice, a quarter run
/// again from their resolved text, and a quarter explain losses. Half of the cases run on several
/// threads.
#[must_use]
pub fn judge(case: &Case, number: u64, budget: Budget) -> Judged {
    let mut fitting = case.clone();
    let mut is_divided = false;
    let result = guarded(|| {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let loaded = repaired(&mut fitting, folder.path());
        let more = Extra::from_number(number);
        let explain = more == Extra::Explained;
        let (outcome, rows) = run(&loaded, Way { explain, ..Way::VERIFIED }, budget)?;
        if outcome != Outcome::Ran {
            return Ok(outcome);
        }
        if more == Extra::Twice {
            // The comparison of two runs ignores a repetition that reached its time limit.
            let (ended, again) = run(&loaded, Way::VERIFIED, budget)?;
            if let Some(table) = again.differs_from(&rows).filter(|_| ended == Outcome::Ran) {
                return Err(Fault::Differs(format!("table {table}")));
            }
        }
        if more == Extra::Resolved {
            from_resolved(&loaded, folder.path(), &rows, budget)?;
        }
        if number % 2 == 1 {
            is_divided = on_threads(&loaded, &rows, budget)?;
        }
        Ok(outcome)
    });
    Judged { case: fitting, result, is_divided }
}

/// Runs a scenario with every accounting identity verified, from its resolved text and on several
/// threads. Returns the outcome of the scenario, and whether the scenario ran on several threads.
///
/// # Errors
/// Returns the fault that the runs of the scenario revealed.
pub(crate) fn judge_loaded(loaded: &Loaded, budget: Budget) -> Result<(Outcome, bool), Fault> {
    let judged = guard::guarded(|| {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let (outcome, rows) = run(loaded, Way::VERIFIED, budget)?;
        if outcome != Outcome::Ran {
            return Ok((outcome, false));
        }
        from_resolved(loaded, folder.path(), &rows, budget)?;
        Ok((outcome, on_threads(loaded, &rows, budget)?))
    });
    judged.unwrap_or_else(|panic| Err(Fault::Panic(panic)))
}

/// Compares the tables of four runs: on one, two and three threads, and with verified identities.
/// Returns whether the network could be divided.
fn on_threads(loaded: &Loaded, verified: &Rows, budget: Budget) -> Result<bool, Fault> {
    let can_be_divided = Simulation::new(&loaded.scenario)
        .is_ok_and(|simulation| simulation.needs_one_thread(&loaded.scenario).is_none());
    if !can_be_divided {
        return Ok(false);
    }
    let (ended, one) = run(loaded, Way::on(1), budget)?;
    if ended != Outcome::Ran {
        return Ok(false);
    }
    if let Some(table) = one.differs_from(verified) {
        return Err(Fault::Threads(format!("table {table} differs without verification")));
    }
    for count in [2, 3] {
        let (ended, several) = run(loaded, Way::on(count), budget)?;
        if let Some(table) = several.differs_from(&one).filter(|_| ended == Outcome::Ran) {
            return Err(Fault::Threads(format!("table {table} differs on {count} threads")));
        }
    }
    Ok(true)
}

/// Removes the changes that the loader refuses, and loads the scenario of the case. Every refusal
/// is rendered as on the command line.
fn repaired(case: &mut Case, folder: &Path) -> Loaded {
    loop {
        match case.load(folder) {
            Ok(loaded) => return loaded,
            Err(error) => {
                draw(&error);
                match refused_change(case, &error) {
                    Some(index) => drop(case.set.remove(index)),
                    None => drop(case.splices.pop().expect("a base loads")),
                }
            }
        }
    }
}

/// Index of the changed key that the loader refuses; `None` if the loader refuses a change of the
/// input file.
fn refused_change(case: &Case, error: &LoadError) -> Option<usize> {
    let in_file = |key: &str| key.ends_with(".file") || key.ends_with(".sizes");
    if !case.splices.is_empty() && error.problems().iter().any(|problem| in_file(problem.key())) {
        return None;
    }
    let wrong = error.problems().iter().filter_map(|problem| {
        let key = problem.key();
        case.set.iter().rposition(|(set, _)| key.starts_with(set.as_str()) || set.starts_with(key))
    });
    wrong.max().or_else(|| case.set.len().checked_sub(1))
}

fn draw(error: &LoadError) {
    let mut text = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut text, error)
        .expect("a string takes everything");
    for problem in error.problems() {
        assert!(problem.help_text().is_some(), "no advice: {problem}");
    }
}

/// Options of one run of a fuzzing case: verification, explanations and threads.
#[derive(Clone, Copy, Debug)]
struct Way {
    verify: bool,
    explain: bool,
    threads: usize,
}

impl Way {
    const VERIFIED: Self = Self { verify: true, explain: false, threads: 1 };

    const fn on(threads: usize) -> Self {
        Self { verify: false, explain: false, threads }
    }
}

/// Largest estimated memory of a fuzzing case (bytes). Commands refuse a scenario that exceeds free
/// memory. Fuzzing cases run without the commands, in a process with 4 GiB of address space.
const MEMORY_MAX: u64 = 1 << 30;

fn takes_too_much(loaded: &Loaded, way: Way) -> bool {
    let mut scenario = loaded.scenario.clone();
    if way.explain {
        scenario.output.explain_losses = Some(1);
    }
    MemoryEstimate::new(&scenario).bytes().saturating_mul(way.threads as u64) > MEMORY_MAX
}

/// Runs a scenario; returns the outcome of the run, and hashes of all result tables.
fn run(loaded: &Loaded, way: Way, budget: Budget) -> Result<(Outcome, Rows), Fault> {
    let mut rows = Rows::default();
    if takes_too_much(loaded, way) {
        return Ok((Outcome::Refused, rows));
    }
    // The command `check` also constructs the simulation, so `check` refuses scenarios that cannot
    // be constructed.
    let Ok(mut simulation) = Simulation::new(&loaded.scenario) else { return Ok((Outcome::Refused, rows)) };
    simulation.set_verify(way.verify);
    if way.explain {
        simulation.explain(ExplainRequest::losses(20));
    }
    let start = Instant::now();
    let threads = NonZero::new(way.threads).expect("ways have a thread or more");
    let ended = simulation.run_on(threads, &loaded.scenario, &mut rows, &mut |at| {
        at.packet_hops < budget.hops && start.elapsed() < budget.time
    });
    match ended {
        Ok(mut totals) => {
            // The totals of the run exclude the peak number of packets, which each thread counts
            // separately.
            totals.peak_packets = 0;
            rows.totals = format!("{totals:?}");
            Ok((Outcome::Ran, rows))
        }
        Err(error) => Ok((stopped(&error)?, rows)),
    }
}

/// Whether an error during a run is an accepted outcome or a fault.
fn stopped(error: &SimError) -> Result<Outcome, Fault> {
    match error {
        SimError::Interrupted => Ok(Outcome::Stopped),
        // The number of concurrent flows and packets is known only during the run.
        SimError::TooLarge { .. } | SimError::CardFull(_) => Ok(Outcome::Refused),
        SimError::Broken { .. } | SimError::LostTrack { .. } => Err(Fault::Broken(error.to_string())),
        SimError::PolicyFailed(_)
        | SimError::MarkingFailed(_)
        | SimError::ClassifierFailed(_)
        | SimError::ControlFailed(_) => Err(Fault::Failed(error.to_string())),
        _ => Err(Fault::Disagrees(error.to_string())),
    }
}

fn from_resolved(loaded: &Loaded, folder: &Path, rows: &Rows, budget: Budget) -> Result<(), Fault> {
    let path = folder.join("resolved.toml");
    for input in &loaded.inputs {
        fs::write(folder.join(&input.name), &input.content)
            .expect("the folder for temporary files takes them");
    }
    let again = load_text(&path, &loaded.resolved, &[])
        .map_err(|error| Fault::Resolved(format!("is refused: {error}\n{}", loaded.resolved)))?;
    if let Some((first, second)) =
        loaded.resolved.lines().zip(again.resolved.lines()).find(|(first, second)| first != second)
    {
        return Err(Fault::Resolved(format!("resolves to another one: `{first}` becomes `{second}`")));
    }
    if loaded.resolved.lines().count() != again.resolved.lines().count() {
        return Err(Fault::Resolved("resolves to a longer or shorter one".to_owned()));
    }
    let (ended, found) = run(&again, Way::VERIFIED, budget)?;
    match found.differs_from(rows).filter(|_| ended == Outcome::Ran) {
        Some(table) => Err(Fault::Resolved(format!("runs otherwise: table {table} differs"))),
        None => Ok(()),
    }
}

/// Hashes of the rows of each result table, and the totals of the run.
#[derive(Debug, Default)]
struct Rows {
    tables: BTreeMap<&'static str, DefaultHasher>,
    totals: String,
}

impl Rows {
    #[expect(clippy::unnecessary_wraps, reason = "what a sink answers")]
    fn add(&mut self, table: &'static str, row: &impl Debug) -> io::Result<()> {
        format!("{row:?}").hash(self.tables.entry(table).or_default());
        Ok(())
    }

    /// Name of the first result table whose rows differ between two runs, if any.
    fn differs_from(&self, other: &Self) -> Option<String> {
        let hash = |rows: &Self, table: &str| rows.tables.get(table).map(|hasher| hasher.finish());
        let tables = self.tables.keys().chain(other.tables.keys());
        let table = tables.copied().find(|table| hash(self, table) != hash(other, table));
        table.map(str::to_owned).or_else(|| {
            (self.totals != other.totals).then(|| format!("of totals ({} and {})", self.totals, other.totals))
        })
    }
}

macro_rules! hashed {
    ($($method:ident: $Row:ty),* $(,)?) => {
        impl RunSink for Rows {
            $(fn $method(&mut self, row: &$Row) -> io::Result<()> { self.add(stringify!($method), row) })*
        }
    };
}

hashed! {
    flow: FlowRow, query: QueryRow, series: SeriesRow, histogram: HistogramRow, queue: QueueRow, drops: DropRow,
    link: LinkRow, explanation: Explanation, probe: ProbeRow, progress: ProgressRow, pause: PauseRow,
    pause_span: PauseSpanRow, pause_cycle: PauseCycleRow, watchdog: WatchdogRow, delay: DelayRow,
    packet: PacketRow,
}

/// Runs the function `work`, and turns a panic into a fault with the source location of the panic.
fn guarded(work: impl FnOnce() -> Result<Outcome, Fault>) -> Result<Outcome, Fault> {
    guard::guarded(work).unwrap_or_else(|panic| Err(Fault::Panic(panic)))
}
