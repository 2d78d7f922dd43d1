//! Tests that runs of a qualification scenario pause, lose packets and resume at the points of the
//! rules.

use crate::measured::ENTRIES;
use crate::support::{corpus, switch};
use bufferlab_metrics::{PauseSpanRow, QueueRow, RunSink};
use bufferlab_operator::vectors::{GroupVector, Vectors};
use bufferlab_operator::{Model, Qualification, Sender};
use bufferlab_scenario::load_text;
use bufferlab_sim::Simulation;
use bufferlab_sonic::Config;
use bufferlab_sonic::silicon::{Chip, chip};
use std::path::Path;

/// Tables of a qualification run that a tester reads.
#[derive(Default)]
struct Readings {
    queues: Vec<QueueRow>,
    spans: Vec<PauseSpanRow>,
}

impl RunSink for Readings {
    fn queue(&mut self, row: &QueueRow) -> std::io::Result<()> {
        self.queues.push(row.clone());
        Ok(())
    }
    fn pause_span(&mut self, row: &PauseSpanRow) -> std::io::Result<()> {
        self.spans.push(row.clone());
        Ok(())
    }
}

/// Numbers of packets at three points: until the pause, until the first loss, and below the pause
/// point at the end of the pause.
#[derive(Debug)]
struct Points {
    pause: u64,
    loss: u64,
    resume: u64,
}

fn run(run: &Qualification) -> Readings {
    let loaded = load_text(Path::new("qualification.toml"), &run.text, &[])
        .unwrap_or_else(|error| panic!("{error:?}\n{}", run.text));
    let mut readings = Readings::default();
    let simulation = Simulation::new(&loaded.scenario).expect("it can be built");
    simulation.run(&mut readings, &mut |_| ()).expect("it runs");
    readings
}

/// Returns the number of packets that the blocked queue stored, and the number of packets that it
/// lost.
fn taken(run: &Qualification, readings: &Readings) -> (u64, u64) {
    let of_queue = |row: &&QueueRow| row.port == run.blocked && row.priority == run.priority;
    let row = readings.queues.iter().find(of_queue).expect("the blocked queue");
    (row.enqueued_packets, row.dropped_packets)
}

fn points(config: &Config, chip: &'static Chip, vector: &GroupVector) -> Points {
    let model = Model::new(config, chip).expect("it fits");
    let made = |sender| Qualification::new(config, &model, vector, 64, sender).expect("a scenario");
    let ignores = made(Sender::Ignores);
    let (stored, lost) = taken(&ignores, &run(&ignores));
    assert!(lost > 0, "nothing was lost: {}", ignores.text);
    let obeys = made(Sender::Obeys);
    let readings = run(&obeys);
    let end_of = |by: &str, paused: &str| {
        let mut spans = readings.spans.iter().filter(|span| span.by == by && span.paused == paused);
        spans.next().unwrap_or_else(|| panic!("{by} never paused {paused}")).clone()
    };
    let storm = end_of(&obeys.hosts[1], "switch").end_ns.expect("the storm ends") as f64;
    let sender = end_of("switch", &obeys.hosts[0]);
    let resumed = sender.end_ns.expect("it may go on") as f64 - obeys.way_of_a_frame * 1e9;
    let left = ((resumed - storm) / (obeys.serialization * 1e9)).round() as u64 + 1;
    Points { pause: paused_at(&obeys, &sender), loss: stored + 1, resume: left }
}

/// Returns the number of the packet that caused the pause. Packets arrive at fixed intervals, which
/// are longer than the round trip on the cable.
fn paused_at(run: &Qualification, sender: &PauseSpanRow) -> u64 {
    let (first, gap) = run.first_and_gap;
    ((sender.start_ns as f64 * 1e-9 - first) / gap).floor() as u64 + 1
}

fn check(name: &str, config: &Config, chip: &'static Chip, vector: &GroupVector) {
    let found = points(config, chip, vector);
    println!("{name:<40} {found:?}");
    for (point, formula) in [
        (found.pause, vector.pause.formula),
        (found.loss, vector.loss.formula),
        (found.resume, vector.resume.formula),
    ] {
        assert!(point.abs_diff(formula) <= 2, "{name}: {found:?}, {vector:#?}");
    }
}

#[test]
fn runs_of_a_small_switch_come_to_the_points_of_three_families() {
    let config = switch(|_, text| text);
    for name in ["trident3", "tomahawk2", "tomahawk5"] {
        let chip = chip(name).expect("a chip");
        let vectors = Vectors::new(&config, chip, 64).expect("it fits");
        check(name, &config, chip, &vectors.groups[0]);
    }
}

#[test]
fn runs_of_real_configurations_come_to_the_points_of_three_families() {
    let Some(folder) = corpus("runs_of_real_configurations_come_to_the_points_of_three_families") else {
        return;
    };
    for family in ["td3", "th2", "th5"] {
        let entry = ENTRIES.iter().find(|entry| entry.family == family && !entry.apart).expect("an entry");
        let (config, chip) = (entry.config(&folder), chip(entry.chip).expect("a chip"));
        let vectors = Vectors::new(&config, chip, 64).expect("it fits");
        check(&entry.name(), &config, chip, &vectors.groups[0]);
    }
}
