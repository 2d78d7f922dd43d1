//! Injects failures into a tuner. At the end, either CONFIG_DB or the journal has the configured
//! values, and the exit code distinguishes these two cases.
//!
//! The test runs a whole session in this process, with a simulated Redis and clock. For every N,
//! the N-th request fails in every way. Every call of the journal fails in every way, too. A second
//! session then recovers.

use crate::redis::{Redis, Session};
use bufferlab_operator::store::{Network, Store, StoreConnection, dumps};
use bufferlab_operator::tune::{Daemon, DaemonEvent, Journal, Keeper, Settings, recover};
use bufferlab_sonic::{Config, Reader};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const CONFIG: u8 = 4;
const PROFILES: [(&str, &str); 2] = [("egress_lossy_profile", "1"), ("second_lossy_profile", "0")];

/// Ways in which one request to the database fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The request is lost, and the connection is closed.
    LostRequest,
    /// The request is executed, but the connection is closed before the answer.
    LostAnswer,
    /// The request is executed, and the answer comes too late.
    LateAnswer,
    /// The request is executed, and the answer is cut in the middle.
    CutAnswer,
    /// The request reaches the server this many seconds late, after the client has given up.
    LateRequest(u64),
    /// The server refuses one request, but no later request.
    Error(&'static str),
    /// The server refuses one request and all later requests.
    ErrorsFromNow(&'static str),
    /// The server has ended, so the system refuses connections.
    Gone,
    /// The server sends no more answers, but accepts connections.
    Silent,
    /// A signal interrupts the wait for the server's answer.
    Interrupt,
    /// The process is killed before it sends the request.
    KilledBefore,
    /// The process is killed after the request was executed.
    KilledAfter,
}

const FAILURES: [Failure; 17] = [
    Failure::LostRequest,
    Failure::LostAnswer,
    Failure::LateAnswer,
    Failure::CutAnswer,
    Failure::LateRequest(4),
    Failure::LateRequest(14),
    Failure::LateRequest(40),
    Failure::Error("-NOAUTH Authentication required.\r\n"),
    Failure::Error("-READONLY You can't write against a read only replica.\r\n"),
    Failure::Error("-LOADING Redis is loading the dataset in memory\r\n"),
    Failure::ErrorsFromNow("-NOPERM this user has no permissions to run this command\r\n"),
    Failure::Gone,
    Failure::Silent,
    Failure::Interrupt,
    Failure::KilledBefore,
    Failure::KilledAfter,
    // The server executes the request, but sends a garbled answer.
    Failure::Error("?\r\n"),
];

/// State that the simulated server, network and process share.
#[derive(Default)]
struct World {
    redis: Redis,
    sessions: Vec<Session>,
    answers: Vec<Vec<u8>>,
    is_closed: Vec<bool>,
    late: Vec<Option<Duration>>,
    /// Delayed requests: time of arrival, connection, and words of the request.
    under_way: Vec<(Duration, usize, Vec<String>)>,
    clock: Duration,
    requests: u32,
    failure: Option<(u32, Failure)>,
    is_over: bool,
    is_killed: bool,
    interrupt: Arc<AtomicBool>,
    /// Number of accesses to the journal so far; `failing_call` is the number of the access that
    /// fails.
    calls: u32,
    failing_call: Option<u32>,
    journal: Option<Vec<u8>>,
}

type Shared = Arc<Mutex<World>>;

fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    fn pass(&mut self, time: Duration) {
        self.clock += time;
        let clock = self.clock;
        let (due, later) = std::mem::take(&mut self.under_way).into_iter().partition(|(at, ..)| *at <= clock);
        self.under_way = later;
        for (_, connection, words) in due {
            self.redis.answer(&mut self.sessions[connection], &words);
        }
    }

    fn request(&mut self, connection: usize, words: Vec<String>) {
        let number = self.requests;
        self.requests += 1;
        let failure = self.failure.filter(|(at, failure)| {
            let lasts = matches!(failure, Failure::ErrorsFromNow(_) | Failure::Gone | Failure::Silent);
            !self.is_over && (*at == number || lasts && number > *at)
        });
        let failure = failure.map(|(_, failure)| failure);
        if let Some(Failure::LateRequest(seconds)) = failure {
            self.late[connection] = Some(Duration::from_secs(seconds));
        }
        if let Some(late) = self.late[connection] {
            self.under_way.push((self.clock + late, connection, words));
            return;
        }
        match failure {
            Some(Failure::Error(text) | Failure::ErrorsFromNow(text)) => {
                if text.starts_with('?') {
                    self.redis.answer(&mut self.sessions[connection], &words);
                }
                self.answers[connection].extend_from_slice(text.as_bytes());
                return;
            }
            Some(Failure::LostRequest | Failure::Gone) => {
                self.is_closed[connection] = true;
                return;
            }
            Some(Failure::KilledBefore) => {
                self.is_killed = true;
                return;
            }
            Some(Failure::Silent) => return,
            _ => {}
        }
        let mut answer = self.redis.answer(&mut self.sessions[connection], &words).into_bytes();
        match failure {
            Some(Failure::LostAnswer) => self.is_closed[connection] = true,
            Some(Failure::LateAnswer) => {}
            Some(Failure::CutAnswer) => {
                answer.truncate(answer.len() / 2);
                self.answers[connection].extend(answer);
                self.is_closed[connection] = true;
            }
            Some(Failure::KilledAfter) => self.is_killed = true,
            Some(Failure::Interrupt) => self.interrupt.store(true, Ordering::SeqCst),
            _ => self.answers[connection].extend(answer),
        }
    }
}

struct Link {
    world: Shared,
    connection: usize,
}

impl StoreConnection for Link {
    fn send(&mut self, bytes: &[u8], _: Duration) -> io::Result<usize> {
        let mut world = lock(&self.world);
        if world.is_killed || world.is_closed[self.connection] {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        world.sessions[self.connection].receive(bytes);
        while let Some(words) = world.sessions[self.connection].command() {
            world.request(self.connection, words);
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        let mut world = lock(&self.world);
        if world.is_killed {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let answer = &mut world.answers[self.connection];
        // Answers arrive in pieces, as in a real network.
        let count = answer.len().min(buffer.len()).min(7);
        if count > 0 {
            buffer[..count].copy_from_slice(&answer[..count]);
            answer.drain(..count);
            return Ok(count);
        }
        if world.is_closed[self.connection] {
            return Ok(0);
        }
        world.pass(within);
        Err(io::ErrorKind::TimedOut.into())
    }
}

struct Lines(Shared);

impl Network for Lines {
    fn connect(&mut self, _: Duration) -> io::Result<Box<dyn StoreConnection>> {
        let mut world = lock(&self.0);
        let is_gone =
            matches!(world.failure, Some((at, Failure::Gone)) if world.requests > at && !world.is_over);
        if world.is_killed || is_gone {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        world.sessions.push(Session::default());
        world.answers.push(Vec::new());
        world.is_closed.push(false);
        world.late.push(None);
        let connection = world.sessions.len() - 1;
        Ok(Box::new(Link { world: Arc::clone(&self.0), connection }))
    }

    fn now(&self) -> Duration {
        lock(&self.0).clock
    }
}

/// A journal in memory; one chosen access to the journal fails.
struct Memory(Shared);

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Memory")
    }
}

impl Memory {
    fn call(&self) -> io::Result<MutexGuard<'_, World>> {
        let mut world = lock(&self.0);
        let number = world.calls;
        world.calls += 1;
        if world.is_killed || world.failing_call == Some(number) {
            return Err(io::Error::other("no space is left"));
        }
        Ok(world)
    }
}

impl Keeper for Memory {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.call()?.journal.clone())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.call()?.journal = Some(bytes.to_vec());
        Ok(())
    }

    fn remove(&mut self) -> io::Result<()> {
        self.call()?.journal = None;
        Ok(())
    }

    fn name(&self) -> String {
        "the journal".to_owned()
    }
}

/// Creates a small switch with two profiles of lossy queues. No queue is congested, so the alphas
/// rise.
fn world() -> Shared {
    let mut redis = Redis::default();
    let text = r#"{
      "DEVICE_METADATA|localhost": { "hostname": "leaf1", "mac": "00:11:22:33:44:55", "type": "LeafRouter" },
      "PORT|Ethernet0": { "speed": "100000" },
      "BUFFER_POOL|egress_lossy_pool": { "type": "egress", "mode": "dynamic", "size": "5000000" },
      "BUFFER_PROFILE|egress_lossy_profile": { "pool": "egress_lossy_pool", "size": "0", "dynamic_th": "1" },
      "BUFFER_PROFILE|second_lossy_profile": { "pool": "egress_lossy_pool", "size": "0", "dynamic_th": "0" },
      "BUFFER_QUEUE|Ethernet0|0": { "profile": "egress_lossy_profile" },
      "BUFFER_QUEUE|Ethernet0|1": { "profile": "second_lossy_profile" }
    }"#;
    let keys: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(text).expect("JSON");
    for (key, fields) in keys {
        fields.iter().for_each(|(name, value)| redis.write(CONFIG, &key, name, value));
    }
    for (queue, oid) in [("0", "oid:0x1"), ("1", "oid:0x2")] {
        redis.write(2, "COUNTERS_QUEUE_NAME_MAP", &format!("Ethernet0:{queue}"), oid);
        redis.write(2, &format!("COUNTERS:{oid}"), "SAI_QUEUE_STAT_BYTES", "0");
        redis.write(2, &format!("COUNTERS:{oid}"), "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "0");
    }
    Arc::new(Mutex::new(World { redis, ..World::default() }))
}

/// End of a session: `None` if its process was killed, otherwise whether the exit code is 0.
type Exit = Option<bool>;

/// Runs `sonic tune --apply` from start to end, with tuning intervals of ten seconds.
fn session(world: &Shared, rounds: u32) -> Exit {
    let is_killed = || lock(world).is_killed;
    let exit = run(world, rounds);
    if is_killed() { None } else { Some(exit) }
}

fn run(world: &Shared, rounds: u32) -> bool {
    let mut store = Store::over("leaf1:6379", Box::new(Lines(Arc::clone(world))));
    let interrupt = Arc::clone(&lock(world).interrupt);
    store.interrupt_by(Some(Arc::clone(&interrupt)));
    let mut keeper = Memory(Arc::clone(world));
    if recover(&mut store, &mut keeper).is_err() {
        return false;
    }
    let Ok(config) = configuration(&mut store) else { return false };
    let settings = Settings { down: 1, up: 2, hold: 1, faults_max: 3, lossless: false };
    let Ok(mut daemon) = Daemon::new(store, &config, settings, Some(Box::new(keeper))) else { return false };
    for round in 0..rounds {
        if interrupt.load(Ordering::SeqCst) || daemon.must_end() || lock(world).is_killed {
            break;
        }
        daemon.step(f64::from(round) * 10.0);
        lock(world).pass(Duration::from_secs(10));
    }
    if lock(world).is_killed {
        return false;
    }
    let failed = daemon.must_end();
    daemon.interrupt_by(None);
    for _ in 0..3 {
        daemon.revert();
        if daemon.is_restored() {
            break;
        }
        lock(world).pass(Duration::from_millis(500));
    }
    daemon.is_restored() && !failed
}

fn configuration(store: &mut Store) -> Result<Config, String> {
    let mut reader = Reader::default();
    for (name, bytes) in dumps(store).map_err(|error| error.to_string())? {
        reader.add(&name, &bytes).map_err(|error| error.to_string())?;
    }
    Ok(reader.finish())
}

/// Whether CONFIG_DB has the configured values of all profiles.
fn is_configured(world: &World) -> bool {
    PROFILES.iter().all(|(profile, configured)| {
        world.redis.field(CONFIG, &format!("BUFFER_PROFILE|{profile}"), "dynamic_th") == Some(*configured)
    })
}

/// Whether the journal has the configured value of each profile with another value in CONFIG_DB.
fn journal_knows(world: &World) -> bool {
    let Some(journal) = world.journal.as_deref().and_then(|bytes| Journal::parse(bytes).ok()) else {
        return false;
    };
    PROFILES.iter().all(|(profile, configured)| {
        let key = format!("BUFFER_PROFILE|{profile}");
        let there = world.redis.field(CONFIG, &key, "dynamic_th").unwrap_or_default();
        let entry = journal.profiles.get(*profile);
        there == *configured
            || entry.is_some_and(|entry| {
                entry.configured.to_string() == *configured
                    && there.parse().is_ok_and(|there| entry.ours.contains(&there))
            })
    })
}

const ROUNDS: u32 = 5;

/// Checks the invariant of the journal after a session, and after a second session without
/// failures.
fn check(world: &Shared, exit: Exit, what: &str) {
    {
        let mut world = lock(world);
        // After the end of the session, the server receives the delayed requests.
        world.is_over = true;
        world.pass(Duration::from_secs(1_000));
        let (is_configured, journal_knows) = (is_configured(&world), journal_knows(&world));
        assert!(
            is_configured || journal_knows,
            "{what}: lost, with exit {exit:?}: {:?}",
            world.journal.as_deref().map(String::from_utf8_lossy)
        );
        if exit == Some(true) {
            assert!(is_configured && world.journal.is_none(), "{what}: exit 0, but not as configured");
        }
        if exit == Some(false) && world.journal.is_none() {
            assert!(is_configured, "{what}: without a journal");
        }
        world.is_killed = false;
        world.failing_call = None;
        world.interrupt.store(false, Ordering::SeqCst);
    }
    assert_eq!(session(world, 3), Some(true), "{what}: the next session");
    let world = lock(world);
    assert!(is_configured(&world) && world.journal.is_none(), "{what}: after the next session");
}

/// Counts the requests to the database and accesses to the journal in a session without failures.
fn undisturbed() -> (u32, u32) {
    let world = world();
    let mut seen = Vec::new();
    assert_eq!(session(&world, ROUNDS), Some(true));
    {
        let mut lock = lock(&world);
        seen.push((lock.requests, lock.calls));
        lock.requests = 0;
    }
    check(&world, Some(true), "undisturbed");
    seen[0]
}

#[test]
fn a_session_changes_what_it_puts_back() {
    let world = world();
    let mut store = Store::over("leaf1:6379", Box::new(Lines(Arc::clone(&world))));
    let config = configuration(&mut store).expect("a switch");
    let settings = Settings { down: 1, up: 2, hold: 1, faults_max: 3, lossless: false };
    let keeper = Memory(Arc::clone(&world));
    let mut daemon = Daemon::new(store, &config, settings, Some(Box::new(keeper))).expect("it can be tuned");
    let events: Vec<_> = (0..3).flat_map(|round| daemon.step(f64::from(round))).collect();
    let changes = events.iter().filter(|event| matches!(event, DaemonEvent::Change { applied: true, .. }));
    assert_eq!(changes.count(), 4, "{events:?}");
    assert!(!is_configured(&lock(&world)) && journal_knows(&lock(&world)));
    let journal: Value =
        serde_json::from_slice(lock(&world).journal.as_deref().expect("a journal")).expect("JSON");
    assert_eq!(journal["owner"]["address"], "leaf1:6379");
    assert_eq!(
        (&journal["owner"]["database"], &journal["owner"]["number"]),
        (&"CONFIG_DB".into(), &4.into())
    );
    assert_eq!(journal["owner"]["device"]["mac"], "00:11:22:33:44:55");
    assert_eq!(journal["process"], std::process::id());
}

#[test]
fn whatever_request_fails_in_whatever_way_nothing_configured_is_lost() {
    let (requests, _) = undisturbed();
    assert!(requests > 60, "{requests} requests");
    let mut cases = 0;
    for failure in FAILURES {
        for at in 0..requests {
            let world = world();
            lock(&world).failure = Some((at, failure));
            let exit = session(&world, ROUNDS);
            check(&world, exit, &format!("request {at}, {failure:?}"));
            cases += 1;
        }
    }
    println!("{cases} sessions: {requests} requests, each failing in {} ways", FAILURES.len());
}

#[test]
fn whatever_call_of_the_journal_fails_nothing_configured_is_lost() {
    let (_, calls) = undisturbed();
    assert!(calls > 4, "{calls} calls");
    for at in 0..calls + 2 {
        let world = world();
        lock(&world).failing_call = Some(at);
        let exit = session(&world, ROUNDS);
        check(&world, exit, &format!("call {at} of the journal"));
    }
}

#[test]
fn a_write_that_arrives_after_everything_was_put_back_does_nothing() {
    let (requests, _) = undisturbed();
    let mut late = 0;
    for (at, rounds) in (0..requests).flat_map(|at| (2..=ROUNDS).map(move |rounds| (at, rounds))) {
        let world = world();
        lock(&world).failure = Some((at, Failure::LateRequest(100)));
        let exit = session(&world, rounds);
        let is_exec = |(.., words): &(Duration, usize, Vec<String>)| words == &["EXEC"];
        late += u32::from(exit == Some(true) && lock(&world).under_way.iter().any(is_exec));
        check(&world, exit, &format!("late request {at}, {rounds} rounds"));
    }
    assert!(late > 0, "no write was under way at the end of a session");
}

#[test]
fn a_journal_that_could_not_be_kept_once_is_kept_before_the_next_write() {
    let (requests, calls) = undisturbed();
    for (at, call) in (0..requests).flat_map(|at| (0..calls).map(move |call| (at, call))) {
        let world = world();
        {
            let mut world = lock(&world);
            (world.failure, world.failing_call) = (Some((at, Failure::KilledAfter)), Some(call));
        }
        let exit = session(&world, ROUNDS);
        check(&world, exit, &format!("killed at request {at}, call {call} of the journal failed"));
    }
}

#[test]
fn a_journal_of_another_switch_is_refused_and_stays() {
    for (what, key, field, value) in [
        ("mac", "DEVICE_METADATA|localhost", "mac", "00:11:22:33:44:66"),
        ("hostname", "DEVICE_METADATA|localhost", "hostname", "leaf2"),
    ] {
        let world = world();
        lock(&world).failure = Some((45, Failure::KilledAfter));
        assert_eq!(session(&world, ROUNDS), None);
        let journal = lock(&world).journal.clone();
        assert!(journal.is_some(), "it was killed after a change");
        {
            let mut world = lock(&world);
            (world.is_killed, world.is_over) = (false, true);
            world.redis.write(CONFIG, key, field, value);
        }
        let mut store = Store::over("leaf1:6379", Box::new(Lines(Arc::clone(&world))));
        let error = recover(&mut store, &mut Memory(Arc::clone(&world))).expect_err("another switch");
        assert!(error.message.contains(value) && error.message.contains("leaf1:6379"), "{what}: {error}");
        assert_eq!(lock(&world).journal, journal, "{what}");
        let mut store = Store::over("leaf3:6379", Box::new(Lines(Arc::clone(&world))));
        let error = recover(&mut store, &mut Memory(Arc::clone(&world))).expect_err("another address");
        assert!(error.message.contains("leaf3:6379") && error.message.contains("process"), "{error}");
    }
}

#[test]
fn writes_that_are_refused_again_and_again_end_it_although_counters_are_read() {
    let world = world();
    let mut store = Store::over("leaf1:6379", Box::new(Refusing(Arc::clone(&world))));
    let config = configuration(&mut store).expect("a switch");
    let settings = Settings { down: 1, up: 2, hold: 1, faults_max: 3, lossless: false };
    let keeper = Memory(Arc::clone(&world));
    let mut daemon = Daemon::new(store, &config, settings, Some(Box::new(keeper))).expect("it can be tuned");
    let mut rounds = 0;
    while !daemon.must_end() {
        daemon.step(f64::from(rounds));
        rounds += 1;
        assert!(rounds < 10, "it goes on for ever");
    }
    // The daemon only stores the first sample; every later interval is one fault.
    assert_eq!(rounds, 4);
    daemon.revert();
    assert!(daemon.is_restored() && lock(&world).journal.is_none(), "nothing was changed");
}

/// A database server that refuses `HSET`.
struct Refusing(Shared);

impl Network for Refusing {
    fn connect(&mut self, within: Duration) -> io::Result<Box<dyn StoreConnection>> {
        let link = Lines(Arc::clone(&self.0)).connect(within)?;
        Ok(Box::new(RefusingLink { link, refusal: Vec::new() }))
    }

    fn now(&self) -> Duration {
        lock(&self.0).clock
    }
}

struct RefusingLink {
    link: Box<dyn StoreConnection>,
    refusal: Vec<u8>,
}

impl StoreConnection for RefusingLink {
    fn send(&mut self, bytes: &[u8], within: Duration) -> io::Result<usize> {
        if bytes.windows(4).any(|word| word == b"HSET") {
            self.refusal = b"-NOPERM this user has no permissions to run the 'hset' command\r\n".to_vec();
            return Ok(bytes.len());
        }
        self.link.send(bytes, within)
    }

    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        if self.refusal.is_empty() {
            return self.link.receive(buffer, within);
        }
        let count = self.refusal.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.refusal[..count]);
        self.refusal.drain(..count);
        Ok(count)
    }
}
