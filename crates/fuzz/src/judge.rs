//! What becomes of a case, and whether that is as it should be.

use crate::case::Case;
use bufferlab_metrics::{
    DelayRow, DropRow, Explanation, FlowRow, HistogramRow, LinkRow, PacketRow, PauseCycleRow, PauseRow,
    PauseSpanRow, ProbeRow, ProgressRow, QueryRow, QueueRow, RunSink, SeriesRow, WatchdogRow,
};
use bufferlab_scenario::{LoadError, Loaded, load_text};
use bufferlab_sim::{ExplainRequest, SimError, Simulation};
use miette::{GraphicalReportHandler, GraphicalTheme};
use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Debug};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, Instant};

/// How long a case may run; then it is stopped, which is no fault. What breaks is verified from its first event on.
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
}

impl Fault {
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

/// Takes out the changes that the loader refuses, runs what is left, and looks whether all is in order. Answers the case that ran.
///
/// `number` decides what else is tried: every fourth case runs twice, every fourth from its resolved text, every fourth explains losses.
///
/// # Errors
/// What is wrong.
pub fn judge(case: &Case, number: u64, budget: Budget) -> (Case, Result<Outcome, Fault>) {
    let mut fitting = case.clone();
    let result = guarded(|| {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let loaded = repaired(&mut fitting, folder.path());
        let more = Extra::of(number);
        let explain = more == Extra::Explained;
        let (outcome, rows) = run(&loaded, explain, budget)?;
        if more == Extra::Twice && outcome == Outcome::Ran {
            // One that comes to the end of its time this once has said nothing.
            let (ended, again) = run(&loaded, explain, budget)?;
            if ended == Outcome::Ran && again != rows {
                return Err(Fault::Differs(format!("rows hash to {rows:x} and {again:x}")));
            }
        }
        if more == Extra::Resolved && outcome == Outcome::Ran {
            from_resolved(&loaded, folder.path(), rows, budget)?;
        }
        Ok(outcome)
    });
    (fitting, result)
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

/// How it ended, and a hash of all rows.
fn run(loaded: &Loaded, explain: bool, budget: Budget) -> Result<(Outcome, u64), Fault> {
    let mut simulation = match Simulation::new(&loaded.scenario) {
        Ok(simulation) => simulation,
        Err(error) => return refused(&error),
    };
    simulation.set_verify(true);
    if explain {
        simulation.explain(ExplainRequest::losses(20));
    }
    let mut rows = Rows(DefaultHasher::new());
    let start = Instant::now();
    let ended = simulation
        .run_while(&mut rows, &mut |at| at.packet_hops < budget.hops && start.elapsed() < budget.time);
    match ended {
        Ok(totals) => {
            format!("{totals:?}").hash(&mut rows.0);
            Ok((Outcome::Ran, rows.0.finish()))
        }
        Err(error) => refused(&error),
    }
}

/// Whether an error of the engine is an answer or a fault.
fn refused(error: &SimError) -> Result<(Outcome, u64), Fault> {
    match error {
        SimError::Interrupted => Ok((Outcome::Stopped, 0)),
        SimError::Broken { .. } | SimError::LostTrack { .. } => Err(Fault::Broken(error.to_string())),
        SimError::PolicyFailed(_) | SimError::MarkingFailed(_) | SimError::ControlFailed(_) => {
            Err(Fault::Failed(error.to_string()))
        }
        _ => Ok((Outcome::Refused, 0)),
    }
}

fn from_resolved(loaded: &Loaded, folder: &Path, rows: u64, budget: Budget) -> Result<(), Fault> {
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
    match run(&again, false, budget)? {
        (Outcome::Ran, found) if found != rows => Err(Fault::Resolved("runs otherwise".to_owned())),
        _ => Ok(()),
    }
}

/// Rows, hashed as they are printed.
struct Rows(DefaultHasher);

impl Rows {
    #[expect(clippy::unnecessary_wraps, reason = "what a sink answers")]
    fn add(&mut self, row: &impl Debug) -> io::Result<()> {
        format!("{row:?}").hash(&mut self.0);
        Ok(())
    }
}

macro_rules! hashed {
    ($($method:ident: $Row:ty),* $(,)?) => {
        impl RunSink for Rows {
            $(fn $method(&mut self, row: &$Row) -> io::Result<()> { self.add(row) })*
        }
    };
}

hashed! {
    flow: FlowRow, query: QueryRow, series: SeriesRow, histogram: HistogramRow, queue: QueueRow, drops: DropRow,
    link: LinkRow, explanation: Explanation, probe: ProbeRow, progress: ProgressRow, pause: PauseRow,
    pause_span: PauseSpanRow, pause_cycle: PauseCycleRow, watchdog: WatchdogRow, delay: DelayRow,
    packet: PacketRow,
}

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// `work`, with a panic as a fault that says where it was.
fn guarded(work: impl FnOnce() -> Result<Outcome, Fault>) -> Result<Outcome, Fault> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let place = info.location().map_or_else(String::new, ToString::to_string);
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
            LAST_PANIC.set(Some(format!("at {place}: {}", text.unwrap_or_default())));
        }));
    });
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Fault::Panic(LAST_PANIC.take().unwrap_or_default())))
}
