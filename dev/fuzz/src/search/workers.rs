//! Starts and supervises the worker processes that run fuzzing cases.

use super::{Found, Search, Subject, replay, write_down};
use crate::findings::{Finding, Report};
use crate::generate::generate;
use crate::parsers;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// CPU time without output after which a fuzzing case counts as hung.
const HANGS_AFTER: Duration = Duration::from_secs(20);
/// Real time without output after which a fuzzing case counts as hung, even on a busy machine.
const LOST_AFTER: Duration = Duration::from_secs(300);
/// Number of clock ticks per second in the CPU times of /proc on Linux.
const TICKS_PER_SECOND: u64 = 100;
/// Address space of a worker process (KiB); a case that needs more memory ends the process.
const MEMORY_KIB: u64 = 4 << 20;
/// Interval between progress messages of a search.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// A worker process, and the fuzzing case that the process runs at present.
struct Worker {
    child: Child,
    /// Number of the fuzzing case that the worker process has announced. The field `heard` has the
    /// time of the worker's last output.
    number: Option<u64>,
    heard: Instant,
    /// CPU time of the worker at its last output.
    computed: Duration,
    /// Number of the first case that the worker runs after a restart.
    next: u64,
}

/// Number of a worker process, and a line of its output; `None` instead of a line if the worker has
/// ended.
type Message = (usize, Option<String>);

impl Worker {
    /// Records that the worker process has sent a line of output.
    fn note_sign_of_life(&mut self) {
        (self.heard, self.computed) = (Instant::now(), cpu_time(&self.child).unwrap_or_default());
    }

    /// Whether the current fuzzing case takes too long. If the CPU time is known, the time of
    /// waiting for a busy machine does not count.
    fn hangs(&self) -> bool {
        let silent = self.heard.elapsed();
        let computed = cpu_time(&self.child).map_or(silent, |now| now.saturating_sub(self.computed));
        computed > HANGS_AFTER || silent > LOST_AFTER
    }
}

/// CPU time of a process; `None` if the system does not report the time.
fn cpu_time(child: &Child) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The second field of the line in /proc is the program's name in parentheses, with any
    // characters.
    let (_, fields) = stat.rsplit_once(") ")?;
    let tick = |index: usize| fields.split(' ').nth(index)?.parse::<u64>().ok();
    Some(Duration::from_millis((tick(11)? + tick(12)?) * 1_000 / TICKS_PER_SECOND))
}

/// Runs fuzzing cases until the time is over or no case is left.
///
/// # Errors
/// If a worker cannot be started, or a case cannot be written to a file.
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
            eprintln!("{}: {}", in_words(begin.elapsed()), found.in_words());
        }
    }
    for worker in &mut workers {
        // Killing a worker fails if the worker has already ended.
        let _ = worker.child.kill();
        worker.child.wait()?;
    }
    found.seconds = begin.elapsed().as_secs();
    Ok(found)
}

fn in_words(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

fn start(options: &Search, at: usize, from: u64, sender: &Sender<Message>) -> io::Result<Worker> {
    let program = env::current_exe()?;
    // Start the worker through a shell, because `ulimit` is a command of the shell.
    let bounded = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let numbers = [options.seed, from, options.jobs, options.cases].map(|number| number.to_string());
    let mut child = Command::new("sh")
        .args(["-c", &bounded])
        .arg(program)
        .args(["work", options.subject.word()])
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
            match (verb, number) {
                (Some("begin"), Some(number)) => worker.number = Some(number),
                (Some("end"), Some(number)) => {
                    worker.next = number + options.jobs;
                    let report = serde_json::from_str(words.next().unwrap_or_default());
                    found.add(report.map_err(io::Error::other)?);
                }
                _ => {}
            }
        }
        Ok((at, None)) => {
            let worker = &mut workers[at];
            let status = worker.child.wait()?;
            let unfinished = worker.number.filter(|number| *number >= worker.next);
            if let Some(number) = unfinished {
                give_up(options, number, "death", &format!("the process died: {status}"), found)?;
                *worker = start(options, at, number + options.jobs, sender)?;
            }
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
    for worker in workers.iter_mut() {
        let hangs = worker.number.filter(|number| *number >= worker.next && worker.hangs());
        if let Some(number) = hangs {
            give_up(options, number, "hang", &format!("no answer for {}", in_words(HANGS_AFTER)), found)?;
            // The end of the worker's output is reported, too. The hung case must not count twice.
            worker.number = None;
            worker.next = number + options.jobs;
            worker.child.kill()?;
        }
    }
    restart_killed(options, workers, sender)
}

/// Restarts killed workers at the case after the hung case.
fn restart_killed(options: &Search, workers: &mut [Worker], sender: &Sender<Message>) -> io::Result<()> {
    for (at, worker) in workers.iter_mut().enumerate() {
        if worker.number.is_none() && worker.next < options.cases && worker.child.try_wait()?.is_some() {
            *worker = start(options, at, worker.next, sender)?;
        }
    }
    Ok(())
}

/// Records a failing case without minimising it, because the case would hang or kill the process
/// again.
fn give_up(options: &Search, number: u64, kind: &str, why: &str, found: &mut Found) -> io::Result<()> {
    let (what, replay) = match options.subject {
        Subject::Scenarios => {
            let case = generate(options.seed, number);
            let path = write_down(&options.out, options.seed, number, &case, why)?;
            (why.to_owned(), replay(&path))
        }
        Subject::Parsers => {
            let target = parsers::target_of(number);
            (format!("{target}: {why}"), format!("cargo xtask fuzz batch {} {number}", options.seed))
        }
    };
    let outcomes = [("wrong".to_owned(), 1)].into();
    let findings = vec![Finding { kind: kind.to_owned(), what, replay }];
    found.add(Report { outcomes, findings, ..Report::default() });
    Ok(())
}
