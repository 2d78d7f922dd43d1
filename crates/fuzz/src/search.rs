//! Case after case in processes of their own: one that hangs or dies is noticed, written down, and takes only itself along.

use crate::case::Case;
use crate::generate::generate;
use crate::judge::{Budget, judge};
use crate::minimise::minimise;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// A case that has computed for so long and said nothing hangs.
const HANGS_AFTER: Duration = Duration::from_secs(20);
/// One that has said nothing for so long, too, whatever else the machine does.
const LOST_AFTER: Duration = Duration::from_secs(300);
/// The unit of times in /proc, by Linux's interface to programs.
const TICKS_PER_SECOND: u64 = 100;
/// Address space of a process (KiB): a case that wants more dies.
const MEMORY_KIB: u64 = 4 << 20;
/// How often the search says how far it is.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// What to do.
#[derive(Clone, Debug)]
pub struct Search {
    /// Of the cases.
    pub seed: u64,
    /// When to end.
    pub time: Duration,
    /// How many cases at most.
    pub cases: u64,
    /// Processes at a time.
    pub jobs: u64,
    /// Where cases go that went wrong.
    pub out: PathBuf,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Cases by what became of them.
    pub outcomes: BTreeMap<String, u64>,
    /// What went wrong, with its file.
    pub faults: Vec<String>,
}

/// The work of one process: cases `from`, `from + step` … below `until`, each announced on standard output, and told when it is done.
///
/// # Errors
/// If standard output is gone or a case cannot be written down.
pub fn work(seed: u64, from: u64, step: u64, until: u64, out: &Path) -> io::Result<()> {
    let mut say = io::stdout().lock();
    for number in (from..until).step_by(step as usize) {
        writeln!(say, "begin {number}")?;
        say.flush()?;
        let budget = Budget::default();
        let (case, result) = judge(&generate(seed, number), number, budget);
        match result {
            Ok(outcome) => writeln!(say, "end {number} {}", outcome.word())?,
            Err(fault) => {
                let case = minimise(&case, number, &fault, budget);
                let path = write_down(out, seed, number, &case, &fault.to_string())?;
                let first = fault.to_string().lines().next().unwrap_or_default().to_owned();
                writeln!(say, "fault {number} {}: {first}", path.display())?;
            }
        }
        say.flush()?;
    }
    Ok(())
}

fn write_down(out: &Path, seed: u64, number: u64, case: &Case, what: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(out)?;
    let path = out.join(format!("{seed}-{number}.toml"));
    let remarks: String = what.lines().map(|line| format!("# {line}\n")).collect();
    fs::write(&path, format!("# Case {number} of seed {seed}.\n{remarks}{}", case.to_toml()))?;
    Ok(path)
}

/// A process and what it does.
struct Worker {
    child: Child,
    /// The case that it announced, and when it last said something.
    number: Option<u64>,
    heard: Instant,
    /// What it had computed by then.
    computed: Duration,
    /// Where it goes on when it has to be started anew.
    next: u64,
}

/// A line of a worker, or `None`: it has ended.
type Message = (usize, Option<String>);

impl Worker {
    /// It has said something.
    fn note_sign_of_life(&mut self) {
        (self.heard, self.computed) = (Instant::now(), cpu_time(&self.child).unwrap_or_default());
    }

    /// Whether its case has gone on for too long. A busy machine is no hang, where the time of a process is known.
    fn hangs(&self) -> bool {
        let silent = self.heard.elapsed();
        let computed = cpu_time(&self.child).map_or(silent, |now| now.saturating_sub(self.computed));
        computed > HANGS_AFTER || silent > LOST_AFTER
    }
}

/// What a process has computed so far; `None` where the system does not say.
fn cpu_time(child: &Child) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The second field is a name in parentheses, which may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let tick = |index: usize| fields.split(' ').nth(index)?.parse::<u64>().ok();
    Some(Duration::from_millis((tick(11)? + tick(12)?) * 1_000 / TICKS_PER_SECOND))
}

/// Searches until the time or the cases are used up.
///
/// # Errors
/// If a process cannot be started or a case not be written down.
pub fn search(options: &Search) -> io::Result<Found> {
    let (sender, receiver) = mpsc::channel();
    let mut workers = Vec::new();
    for at in 0..options.jobs {
        workers.push(start(options, at as usize, at, &sender)?);
    }
    let mut found = Found::default();
    let begin = Instant::now();
    let mut said = begin;
    while begin.elapsed() < options.time && workers.iter().any(|worker| worker.next < options.cases) {
        listen(options, &receiver, &mut workers, &mut found, &sender)?;
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            eprintln!("{}: {}", in_words(begin.elapsed()), found.summary());
        }
    }
    for worker in &mut workers {
        // It may have ended by itself.
        let _ = worker.child.kill();
        worker.child.wait()?;
    }
    Ok(found)
}

fn in_words(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

fn start(options: &Search, at: usize, from: u64, sender: &Sender<Message>) -> io::Result<Worker> {
    let program = env::current_exe()?;
    // A shell, because only it can bound the memory of what it becomes.
    let bounded = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let numbers = [options.seed, from, options.jobs, options.cases].map(|number| number.to_string());
    let mut child = Command::new("sh")
        .args(["-c", &bounded])
        .arg(program)
        .arg("work")
        .args(numbers)
        .arg(&options.out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let sender = sender.clone();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if sender.send((at, Some(line))).is_err() {
                return;
            }
        }
        let _ = sender.send((at, None));
    });
    Ok(Worker { child, number: None, heard: Instant::now(), computed: Duration::ZERO, next: from })
}

fn listen(
    options: &Search,
    receiver: &Receiver<Message>,
    workers: &mut [Worker],
    found: &mut Found,
    sender: &Sender<Message>,
) -> io::Result<()> {
    match receiver.recv_timeout(Duration::from_millis(500)) {
        Ok((at, Some(line))) => {
            let worker = &mut workers[at];
            worker.note_sign_of_life();
            let mut words = line.splitn(3, ' ');
            let (verb, number) = (words.next(), words.next().and_then(|word| word.parse::<u64>().ok()));
            let rest = words.next().unwrap_or_default();
            match (verb, number) {
                (Some("begin"), Some(number)) => worker.number = Some(number),
                (Some("end"), Some(number)) => {
                    worker.next = number + options.jobs;
                    found.count(rest);
                }
                (Some("fault"), Some(number)) => {
                    worker.next = number + options.jobs;
                    found.fault(rest.to_owned());
                }
                _ => {}
            }
        }
        Ok((at, None)) => {
            let worker = &mut workers[at];
            let status = worker.child.wait()?;
            let unfinished = worker.number.filter(|number| *number >= worker.next);
            if let Some(number) = unfinished {
                give_up(options, number, &format!("the process died: {status}"), found)?;
                *worker = start(options, at, number + options.jobs, sender)?;
            }
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
    for worker in workers.iter_mut() {
        let hangs = worker.number.filter(|number| *number >= worker.next && worker.hangs());
        if let Some(number) = hangs {
            give_up(options, number, &format!("no answer for {}", in_words(HANGS_AFTER)), found)?;
            // Its end is heard next, and must not count twice.
            worker.number = None;
            worker.next = number + options.jobs;
            worker.child.kill()?;
        }
    }
    restart_killed(options, workers, sender)
}

/// Workers that were killed go on behind the case that hung.
fn restart_killed(options: &Search, workers: &mut [Worker], sender: &Sender<Message>) -> io::Result<()> {
    for (at, worker) in workers.iter_mut().enumerate() {
        if worker.number.is_none() && worker.next < options.cases && worker.child.try_wait()?.is_some() {
            *worker = start(options, at, worker.next, sender)?;
        }
    }
    Ok(())
}

/// A case that cannot be made smaller, because it would hang or die again.
fn give_up(options: &Search, number: u64, why: &str, found: &mut Found) -> io::Result<()> {
    let case = generate(options.seed, number);
    let path = write_down(&options.out, options.seed, number, &case, why)?;
    found.fault(format!("{}: {why}", path.display()));
    Ok(())
}

impl Found {
    fn count(&mut self, outcome: &str) {
        *self.outcomes.entry(outcome.to_owned()).or_default() += 1;
    }

    fn fault(&mut self, what: String) {
        self.count("wrong");
        eprintln!("{what}");
        self.faults.push(what);
    }

    /// How many cases ended how.
    #[must_use]
    pub fn summary(&self) -> String {
        let cases: u64 = self.outcomes.values().sum();
        let parts: Vec<_> = self.outcomes.iter().map(|(word, count)| format!("{count} {word}")).collect();
        format!("{cases} cases: {}", parts.join(", "))
    }
}
