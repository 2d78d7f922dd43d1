//! What becomes of a case, and whether that is as it should be.

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

/// How long a case may run; then it is stopped, which is no fault. What breaks is verified from its
/// first event on.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Wall time.
    pub time: Duration,
    /// Packets on links.
    pub hops: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { time: Duration::from_secs(4), hops: 50_000 }
    }
}

/// How a case ended that is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ran to its end.
    Ran,
    /// Its budget was used up.
    Stopped,
    /// The loader took it, and the engine refused it with a reason.
    Refused,
}

impl Outcome {
    /// A word for each.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Stopped => "stopped",
            Self::Refused => "refused",
        }
    }
}

/// What must not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A panic, with its place.
    Panic(String),
    /// An identity does not hold.
    Broken(String),
    /// A built-in policy, control or rule failed.
    Failed(String),
    /// Two runs of the case differ.
    Differs(String),
    /// The resolved scenario is refused, resolves to another one, or runs otherwise.
    Resolved(String),
    /// Several threads give other tables than one.
    Threads(String),
    /// `check` accepts the scenario, and `run` refuses it.
    Disagrees(String),
}

impl Fault {
    /// A word for its kind, for counts.
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

    /// Whether it is probably the same mistake as `other`: of its kind, and at its place.
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

/// What is tried of a case beside running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    Twice,
    Resolved,
    Explained,
    Nothing,
}

impl Extra {
    const fn of(number: u64) -> Self {
        match number % 4 {
            0 => Self::Twice,
            1 => Self::Resolved,
            2 => Self::Explained,
            _ => Self::Nothing,
        }
    }
}

/// A case that was tried.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The changes that the loader accepts.
    pub case: Case,
    /// How the case ended.
    pub result: Result<Outcome, Fault>,
    /// Whether several threads shared it.
    pub is_divided: bool,
}

/// Takes out the changes that the loader refuses, and runs what is left with every identity
/// verified. Where the network can be divided, the tables of one, two and three threads are
/// compared.
///
/// `number` selects further trials: every fourth case runs twice, every fourth from its resolved
/// text, every fourth explains losses, and every second runs on several threads.
#[must_use]
pub fn judge(case: &Case, number: u64, budget: Budget) -> Judged {
    let mut fitting = case.clone();
    let mut is_divided = false;
    let result = guarded(|| {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let loaded = repaired(&mut fitting, folder.path());
        let more = Extra::of(number);
        let explain = more == Extra::Explained;
        let (outcome, rows) = run(&loaded, Way { explain, ..Way::VERIFIED }, budget)?;
        if outcome != Outcome::Ran {
            return Ok(outcome);
        }
        if more == Extra::Twice {
            // One that comes to the end of its time this once has said nothing.
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

/// Runs a scenario verified, from its resolved text and on several threads. Answers how it ended,
/// and whether several threads shared it.
///
/// # Errors
/// What is wrong.
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

/// Compares runs on one, two and three threads, and one thread with the verified run. Whether the
/// network could be divided.
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

/// The case without what the loader refuses; every refusal is drawn, as the command line would.
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

/// The change of the scenario that is to be taken out; `None`: one of the file that it reads.
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

/// How a case runs.
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

/// Memory that a case may take by its estimate (bytes). Commands refuse what is not free; a case is
/// a run below the commands, in a process that has 4 GiB of addresses.
const MEMORY_MAX: u64 = 1 << 30;

fn takes_too_much(loaded: &Loaded, way: Way) -> bool {
    let mut scenario = loaded.scenario.clone();
    if way.explain {
        scenario.output.explain_losses = Some(1);
    }
    MemoryEstimate::new(&scenario).bytes().saturating_mul(way.threads as u64) > MEMORY_MAX
}

/// How it ended, and hashes of all tables.
fn run(loaded: &Loaded, way: Way, budget: Budget) -> Result<(Outcome, Rows), Fault> {
    let mut rows = Rows::default();
    if takes_too_much(loaded, way) {
        return Ok((Outcome::Refused, rows));
    }
    // Construction is what `check` does: what it refuses, `check` refuses, too.
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
            // The packets that were alive at once are counted by thread.
            totals.peak_packets = 0;
            rows.totals = format!("{totals:?}");
            Ok((Outcome::Ran, rows))
        }
        Err(error) => Ok((stopped(&error)?, rows)),
    }
}

/// Whether an error of a run that had begun is an answer or a fault.
fn stopped(error: &SimError) -> Result<Outcome, Fault> {
    match error {
        SimError::Interrupted => Ok(Outcome::Stopped),
        // How many flows and packets live at once depends on the course of the run.
        SimError::TooLarge { .. } | SimError::CardFull(_) => Ok(Outcome::Refused),
        SimError::Broken { .. } | SimError::LostTrack { .. } => Err(Fault::Broken(error.to_string())),
        SimError::PolicyFailed(_) | SimError::MarkingFailed(_) | SimError::ControlFailed(_) => {
            Err(Fault::Failed(error.to_string()))
        }
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

/// Rows, hashed by table as they are printed, and the totals.
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

    /// The first table that differs; nothing where all are equal.
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

/// `work`, with a panic as a fault that says where it was.
fn guarded(work: impl FnOnce() -> Result<Outcome, Fault>) -> Result<Outcome, Fault> {
    guard::guarded(work).unwrap_or_else(|panic| Err(Fault::Panic(panic)))
}
