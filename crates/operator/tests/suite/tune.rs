//! Tests that the tuner follows congestion, respects its bounds, and restores the configuration at
//! the end.
//!
//! The control loop is closed: a simulated switch takes its alphas from CONFIG_DB and writes its
//! counters to COUNTERS_DB.

use crate::server::Server;
use crate::store::fill;
use crate::support::{model, switch};
use bufferlab_operator::store::{Database, Store, dumps};
use bufferlab_operator::tune::{Daemon, DaemonEvent, JournalFile, Keeper, Settings, recover};
use bufferlab_operator::{Bench, OperatorError};
use bufferlab_sonic::{Config, Reader};
use std::path::PathBuf;

const PROFILE: &str = "BUFFER_PROFILE|egress_lossy_profile";
const CELL: u64 = 256;
/// Numbers of the small switch's lossy queues.
const QUEUES: [u8; 5] = [0, 1, 2, 5, 6];
const PORTS: [&str; 4] = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"];

fn configuration(server: &Server) -> Config {
    let mut reader = Reader::default();
    for (name, bytes) in dumps(&mut Store::new(server.address())).unwrap_or_else(|error| panic!("{error}")) {
        reader.add(&name, &bytes).unwrap_or_else(|error| panic!("{error}"));
    }
    reader.finish()
}

/// Builds the switch with the current alphas of CONFIG_DB.
fn bench(server: &Server) -> Bench {
    Bench::new(&model(&configuration(server), "trident3"), 64).expect("it fits")
}

fn oid(port: usize, queue: u8) -> String {
    format!("oid:0x15{port:02x}{queue:02x}")
}

/// A simulated switch behind a database.
struct Loop {
    server: Server,
    journal: PathBuf,
    _folder: tempfile::TempDir,
    interval: u32,
}

impl Loop {
    fn new(test: &str) -> Self {
        let server = Server::start(test);
        fill(&server);
        for (port, name) in PORTS.into_iter().enumerate() {
            for queue in QUEUES {
                server.write(
                    Database::Counters,
                    "COUNTERS_QUEUE_NAME_MAP",
                    &[(&format!("{name}:{queue}"), &oid(port, queue))],
                );
            }
        }
        server.write(
            Database::Counters,
            "COUNTERS_BUFFER_POOL_NAME_MAP",
            &[("egress_lossy_pool", "oid:0x18")],
        );
        let folder = tempfile::tempdir().expect("a folder");
        Self { server, journal: folder.path().join("journal.json"), _folder: folder, interval: 0 }
    }

    fn daemon(&self, apply: bool, settings: Settings) -> Daemon {
        let config = configuration(&self.server);
        let keeper = apply.then(|| -> Box<dyn Keeper> { Box::new(self.keeper()) });
        Daemon::new(Store::new(self.server.address()), &config, settings, keeper).expect("it can be tuned")
    }

    fn keeper(&self) -> JournalFile {
        JournalFile::claim(&self.journal).unwrap_or_else(|error| panic!("{error}"))
    }

    fn recover(&self) -> Result<Vec<DaemonEvent>, OperatorError> {
        recover(&mut Store::new(self.server.address()), &mut self.keeper())
    }

    fn seconds(&self) -> f64 {
        f64::from(self.interval) * 10.0
    }

    fn exponent(&self) -> i8 {
        let fields = Store::new(self.server.address()).fields(Database::Config, PROFILE).expect("it answers");
        fields["dynamic_th"].parse().expect("a number")
    }

    /// Runs one interval of ten seconds. Queue 0 of the first `ports` ports is as long as its limit
    /// and drains at line rate.
    fn congest(&mut self, ports: usize) {
        self.interval += 1;
        let mut bench = bench(&self.server);
        let mut held = [0; 4];
        // The ports send in turn until no queue stores another packet.
        let mut stored = true;
        while stored {
            stored = false;
            for (port, held) in held.iter_mut().enumerate().take(ports) {
                if bench.send(((port + 1) % 4) as u16, port as u16, 0) {
                    *held += 1;
                    stored = true;
                }
            }
        }
        let sum: u64 = held.iter().sum();
        self.server.write(
            Database::Counters,
            "PERIODIC_WATERMARKS:oid:0x18",
            &[("SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", &(sum * CELL).to_string())],
        );
        for (port, held) in held.into_iter().enumerate() {
            for queue in QUEUES {
                let mark = if queue == 0 { held * CELL } else { 0 };
                let is_congested = queue == 0 && port < ports;
                // A port at 100 Gb/s sends 125 GB in ten seconds.
                let sent = if is_congested { u64::from(self.interval) * 125_000_000_000 } else { 0 };
                let lost = if is_congested { self.interval } else { 0 };
                let key = oid(port, queue);
                self.server.write(
                    Database::Counters,
                    &format!("COUNTERS:{key}"),
                    &[("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", &mark.to_string())],
                );
                self.server.write(
                    Database::Counters,
                    &format!("COUNTERS:{key}"),
                    &[
                        ("SAI_QUEUE_STAT_BYTES", &sent.to_string()),
                        ("SAI_QUEUE_STAT_DROPPED_PACKETS", &lost.to_string()),
                    ],
                );
            }
        }
    }

    /// Number of cells that an idle queue stores of a burst while `ports` ports are congested.
    fn absorbs(&self, ports: usize) -> u64 {
        absorbs(&mut bench(&self.server), ports)
    }
}

fn absorbs(bench: &mut Bench, ports: usize) -> u64 {
    // Two senders keep each queue at its limit while its port sends, so that the lengths of queues
    // follow falling limits.
    for _ in 0..12_000 {
        for port in 0..ports {
            bench.release(port as u16, 1);
            for sender in [(port + 1) % 4, (port + 2) % 4] {
                bench.send(sender as u16, port as u16, 0);
            }
        }
        bench.wait(bufferlab_units::Time::from_us(1));
    }
    bench.fill_to_loss(0, 3, 1)
}

const QUICK: Settings = Settings { down: 2, up: 2, hold: 1, faults_max: 3, lossless: false };

#[test]
fn alpha_falls_with_congestion_rises_without_it_and_bursts_gain_in_both() {
    let mut all = Loop::new("alpha_falls_with_congestion_rises_without_it_and_bursts_gain_in_both");
    let (idle, busy) = (all.absorbs(0), all.absorbs(3));
    let mut daemon = all.daemon(true, QUICK);
    for _ in 0..4 {
        all.congest(0);
        assert!(
            daemon
                .step(all.seconds())
                .iter()
                .all(|event| matches!(event, DaemonEvent::Change { applied: true, .. }))
        );
    }
    // Without congestion, alpha is the largest alpha within the tuner's bounds: 2^(1 + 2).
    assert_eq!(all.exponent(), 3);
    assert!(all.absorbs(0) > idle, "{} > {idle}", all.absorbs(0));
    let mut reasons = Vec::new();
    for _ in 0..6 {
        all.congest(3);
        for event in daemon.step(all.seconds()) {
            let DaemonEvent::Change { decision, .. } = event else { panic!("{event:?}") };
            assert!(decision.from.abs_diff(decision.to) == 1, "a step at a time: {decision:?}");
            reasons.push(decision.reason);
        }
    }
    // With three queues at line rate, the alpha 2^3 / 3 is rounded down to a power of two.
    assert_eq!(all.exponent(), 1);
    assert!(reasons.iter().all(|reason| reason.contains("3 of 20 queues congested")), "{reasons:?}");
    assert!(all.absorbs(3) >= busy);
    // The profile has its configured value, so the daemon reverts no profile.
    assert_eq!(daemon.revert(), []);
}

#[test]
fn with_room_below_a_congested_switch_absorbs_more_than_with_its_static_alpha() {
    let mut all = Loop::new("with_room_below_a_congested_switch_absorbs_more_than_with_its_static_alpha");
    let fixed = all.absorbs(3);
    let mut daemon = all.daemon(true, Settings { up: 0, ..QUICK });
    for _ in 0..5 {
        all.congest(3);
        daemon.step(all.seconds());
    }
    // The exponent is -1, because 2^1 / 3 rounds down to 2^-1. Three queues with an alpha of 1/2
    // leave 2/5 of the pool free, instead of 1/7 with the configured alpha.
    assert_eq!(all.exponent(), -1);
    let tuned = all.absorbs(3);
    assert!(tuned as f64 > 1.3 * fixed as f64, "{tuned} and {fixed} cells");
    // ABM itself counts congested queues by priority, without a delay. The priority of the burst
    // has no congested queue.
    let model = model(&configuration(&all.server), "trident3");
    let mut abm = Bench::of_abm(&model, 64, 2.0).expect("it fits");
    let abm = absorbs(&mut abm, 3);
    println!("burst beside three long queues: {fixed} cells with alpha 2, {tuned} tuned, {abm} with ABM");
    assert!(abm > tuned, "{abm} and {tuned} cells");
    assert_eq!(daemon.revert().len(), 1);
    assert_eq!((all.exponent(), all.journal.exists()), (1, false));
}

#[test]
fn a_dry_run_says_what_it_would_do_once_and_writes_nothing() {
    let mut all = Loop::new("a_dry_run_says_what_it_would_do_once_and_writes_nothing");
    let mut daemon = all.daemon(false, QUICK);
    let mut said = Vec::new();
    for _ in 0..4 {
        all.congest(3);
        said.extend(daemon.step(all.seconds()));
    }
    // The alpha that ABM demands, 2^3 / 3, rounds down to the configured alpha.
    assert_eq!(said, []);
    all.congest(0);
    for _ in 0..3 {
        said.extend(daemon.step(all.seconds()));
        all.congest(0);
    }
    assert!(matches!(said.as_slice(), [DaemonEvent::Change { applied: false, .. }]), "{said:?}");
    assert_eq!((all.exponent(), all.journal.exists()), (1, false));
}

#[test]
fn changes_of_a_profile_are_so_many_intervals_apart() {
    let mut all = Loop::new("changes_of_a_profile_are_so_many_intervals_apart");
    let mut daemon = all.daemon(true, Settings { hold: 3, ..QUICK });
    let mut at = Vec::new();
    for round in 0..9 {
        all.congest(0);
        if daemon.step(all.seconds()).iter().any(|event| matches!(event, DaemonEvent::Change { .. })) {
            at.push(round);
        }
    }
    assert_eq!(at, [1, 4]);
}

#[test]
fn nonsense_and_silence_are_faults_that_change_nothing_and_end_in_what_was_configured() {
    let mut all =
        Loop::new("nonsense_and_silence_are_faults_that_change_nothing_and_end_in_what_was_configured");
    let mut daemon = all.daemon(true, QUICK);
    for _ in 0..3 {
        all.congest(0);
        daemon.step(all.seconds());
    }
    let good = all.exponent();
    assert_ne!(good, 1);
    for nonsense in ["many", "99999999999999", "-5"] {
        all.congest(3);
        let key = format!("COUNTERS:{}", oid(0, 0));
        all.server.write(Database::Counters, &key, &[("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", nonsense)]);
        let events = daemon.step(all.seconds());
        assert!(matches!(events.as_slice(), [DaemonEvent::Fault { .. }]), "{nonsense}: {events:?}");
        assert_eq!(all.exponent(), good, "{nonsense}");
    }
    assert!(daemon.must_end());
    let reverted = daemon.revert();
    assert!(matches!(reverted.as_slice(), [DaemonEvent::Reverted { to: 1, .. }]), "{reverted:?}");
    assert_eq!(all.exponent(), 1);
    drop(daemon);
    let mut second = all.daemon(true, QUICK);
    all.congest(0);
    second.step(all.seconds());
    all.server.stop();
    for _ in 0..3 {
        all.interval += 1;
        assert!(matches!(second.step(all.seconds()).as_slice(), [DaemonEvent::Fault { .. }]));
    }
    assert!(second.must_end());
}

#[test]
fn what_a_killed_daemon_has_left_is_put_back_by_the_next_one() {
    let mut all = Loop::new("what_a_killed_daemon_has_left_is_put_back_by_the_next_one");
    let mut daemon = all.daemon(true, QUICK);
    for _ in 0..4 {
        all.congest(0);
        daemon.step(all.seconds());
    }
    // The daemon ends without a revert, as after kill -9, which releases the lock.
    drop(daemon);
    assert_eq!(all.exponent(), 3, "the last good configuration stays");
    let events = all.recover().expect("it answers");
    assert_eq!(events, [DaemonEvent::Reverted { profile: "egress_lossy_profile".to_owned(), to: 1 }]);
    assert_eq!((all.exponent(), all.journal.exists()), (1, false));
    std::fs::write(&all.journal, "{ half").expect("writable");
    let error = all.recover().expect_err("no journal");
    assert!(error.message.contains("journal.json") && error.help.contains("--journal"), "{error}");
}

#[test]
fn what_an_operator_changes_meanwhile_is_left_alone() {
    let mut all = Loop::new("what_an_operator_changes_meanwhile_is_left_alone");
    let mut daemon = all.daemon(true, QUICK);
    for _ in 0..2 {
        all.congest(0);
        daemon.step(all.seconds());
    }
    assert_eq!(all.exponent(), 2);
    all.server.write(Database::Config, PROFILE, &[("dynamic_th", "-4")]);
    all.congest(0);
    let events = daemon.step(all.seconds());
    assert!(
        matches!(events.as_slice(), [DaemonEvent::LeftAlone { found, .. }] if found == "-4"),
        "{events:?}"
    );
    for _ in 0..3 {
        all.congest(3);
        assert_eq!(daemon.step(all.seconds()), []);
    }
    assert_eq!(daemon.revert(), []);
    assert_eq!(all.exponent(), -4);
}

#[test]
fn a_watermark_of_the_last_poll_counts_before_old_ones() {
    let mut all = Loop::new("a_watermark_of_the_last_poll_counts_before_old_ones");
    let mut daemon = all.daemon(true, QUICK);
    let old = [("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "2900000")];
    for queue in QUEUES {
        all.server.write(Database::Counters, &format!("USER_WATERMARKS:{}", oid(0, queue)), &old);
    }
    for _ in 0..4 {
        all.congest(0);
        daemon.step(all.seconds());
    }
    assert_eq!(all.exponent(), 3, "nobody is congested now");
}

#[test]
fn without_anything_to_tune_it_does_not_start() {
    let config = switch(|_, text| text.replace("\"dynamic_th\": \"1\"", "\"static_th\": \"100000\""));
    let error = Daemon::new(Store::new("127.0.0.1:1"), &config, QUICK, None).expect_err("nothing to tune");
    assert!(error.message.contains("dynamic_th"), "{error}");
}
