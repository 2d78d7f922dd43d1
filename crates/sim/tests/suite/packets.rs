//! Tests that the table of packets agrees with every other table,
//! and that recording packets changes no other result.

use crate::support::Rows;
use bufferlab_core::Effect;
use bufferlab_metrics::{PacketEvent, PacketRow, PauseRow, QueueRow, RunSink, RunTotals};
use bufferlab_scenario::Scenario;
use bufferlab_sim::Simulation;
use std::collections::BTreeMap;
use std::path::Path;

/// Numbers of packets and bytes lost, by switch, port, priority, class and reason.
type Drops = BTreeMap<(u32, u16, u8, u16, &'static str), (u64, u64)>;

/// Rows of packets, and rows of queues and drops that the test compares with the rows of packets.
#[derive(Default)]
struct Recorded {
    packets: Vec<PacketRow>,
    queues: Vec<QueueRow>,
    drops: Drops,
    pauses: Vec<PauseRow>,
}

impl RunSink for Recorded {
    fn packet(&mut self, row: &PacketRow) -> std::io::Result<()> {
        self.packets.push(row.clone());
        Ok(())
    }
    fn queue(&mut self, row: &QueueRow) -> std::io::Result<()> {
        self.queues.push(row.clone());
        Ok(())
    }
    fn drops(&mut self, row: &bufferlab_metrics::DropRow) -> std::io::Result<()> {
        let key = (row.switch, row.port, row.priority, row.class, row.reason);
        self.drops.insert(key, (row.packets, row.bytes));
        Ok(())
    }
    fn pause(&mut self, row: &PauseRow) -> std::io::Result<()> {
        self.pauses.push(row.clone());
        Ok(())
    }
}

fn scenario(file: &str, overrides: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(file);
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    bufferlab_scenario::load(&path, &overrides).expect("it loads").scenario
}

fn record(file: &str, overrides: &[(&str, &str)]) -> (Recorded, RunTotals) {
    let overrides = [overrides, &[("output.packets", "all")]].concat();
    let mut recorded = Recorded::default();
    let simulation = Simulation::new(&scenario(file, &overrides)).expect("it builds");
    let totals = simulation.run(&mut recorded, &mut |_| {}).expect("it runs");
    (recorded, totals)
}

/// Runs with policies that refuse, push out, expel and mark packets, and pause senders. Some runs
/// have cells, slices, or a link that fails.
const RUNS: [(&str, &[(&str, &str)]); 8] = [
    ("star-incast.toml", &[]),
    ("star-incast.toml", &[("switch.policy", "lqd"), ("switch.buffer", "100 KB")]),
    ("star-incast.toml", &[("switch.policy", "occamy"), ("switch.buffer", "100 KB")]),
    ("star-incast.toml", &[("switch.policy", "losspass"), ("switch.buffer", "100 KB")]),
    ("lossless.toml", &[("duration", "1 ms")]),
    ("star-incast.toml", &[("switch.hardware.cell", "208 B")]),
    ("star-incast.toml", &[("switch.hardware.slices", "2")]),
    ("link-failure.toml", &[]),
];

#[test]
fn packets_add_up_to_the_counters_of_queues_and_to_the_drops() {
    let mut seen: BTreeMap<PacketEvent, u64> = BTreeMap::new();
    for (file, overrides) in RUNS {
        let (recorded, _) = record(file, overrides);
        let mut counts: BTreeMap<(u32, u16, u8), [u64; 7]> = BTreeMap::new();
        let (mut largest, mut drops) = (BTreeMap::new(), BTreeMap::new());
        for row in &recorded.packets {
            *seen.entry(row.event).or_default() += 1;
            let Some(port) = row.port else { continue };
            let place = (row.switch, port, row.priority);
            let is_dead = row.reason == Some("link-down");
            if !is_dead {
                counts.entry(place).or_default()[row.event as usize] += 1;
            }
            if row.event == PacketEvent::Admitted {
                let most: &mut u64 = largest.entry(place).or_default();
                *most = row.queue_bytes.max(*most);
            }
            if !is_dead && row.event.is_loss() {
                let class = row.class.expect("a packet has a class");
                let key = (row.switch, port, row.priority, class, row.reason.expect("a loss has a reason"));
                let entry: &mut (u64, u64) = drops.entry(key).or_default();
                (entry.0, entry.1) = (entry.0 + 1, entry.1 + u64::from(row.size_bytes));
            }
        }
        if overrides.iter().any(|(key, _)| key.ends_with(".cell")) {
            // Rows of packets count whole cells, and rows of drops count the size of each packet.
            for ((_, charged), (_, bytes)) in drops.values_mut().zip(recorded.drops.values()) {
                assert!(*charged >= *bytes && *charged < 2 * *bytes, "{charged} {bytes}");
                *charged = *bytes;
            }
        }
        assert_eq!(drops, recorded.drops, "{file}");
        for queue in &recorded.queues {
            let place = (queue.switch, queue.port, queue.priority);
            let count = counts.get(&place).copied().unwrap_or_default();
            let of = |event: PacketEvent| count[event as usize];
            assert_eq!(of(PacketEvent::Admitted), queue.enqueued_packets, "{file} {place:?}");
            let refusals = PacketEvent::ALL.iter().filter(|event| event.is_refusal());
            let refused: u64 = refusals.map(|&event| of(event)).sum();
            assert_eq!(refused, queue.dropped_packets, "{file} {place:?}");
            assert_eq!(of(PacketEvent::Evicted), queue.evicted_packets, "{file} {place:?}");
            assert_eq!(of(PacketEvent::Marked), queue.marked_packets, "{file} {place:?}");
            assert_eq!(of(PacketEvent::Admitted) + refused, queue.arrived_packets, "{file} {place:?}");
            assert_eq!(largest.get(&place).copied().unwrap_or_default(), queue.max_bytes, "{file} {place:?}");
        }
    }
    // The loop checks that every comparison had rows to compare.
    for event in PacketEvent::ALL {
        assert!(seen.get(event).is_some_and(|&count| count > 10), "{event:?}: {seen:?}");
    }
}

#[test]
fn lengths_follow_from_the_packets_that_came_and_went() {
    for (file, overrides) in RUNS {
        let (recorded, _) = record(file, overrides);
        let mut queues: BTreeMap<(u32, u16, u8), u64> = BTreeMap::new();
        let mut switches: BTreeMap<u32, u64> = BTreeMap::new();
        let mut last = 0;
        for row in &recorded.packets {
            assert!(row.time_ps >= last, "{file}: {row:?} comes after {last}");
            last = row.time_ps;
            let Some(port) = row.port else { continue };
            let queue = queues.entry((row.switch, port, row.priority)).or_default();
            let whole = switches.entry(row.switch).or_default();
            let size = u64::from(row.size_bytes);
            match row.event.effect() {
                Effect::Stores => (*queue, *whole) = (*queue + size, *whole + size),
                Effect::Sends | Effect::Removes => (*queue, *whole) = (*queue - size, *whole - size),
                Effect::Refuses => {}
                Effect::Marks | Effect::Signals => continue,
            }
            assert_eq!((row.queue_bytes, row.occupancy_bytes), (*queue, *whole), "{file}: {row:?}");
            if let (Some(limit), Some(held)) = (row.limit_bytes, row.held_bytes) {
                // A chip charges whole cells, so a packet adds at least its size.
                assert!(held + size >= limit.min(held + 1), "{file}: {row:?}");
                assert!(row.event.is_refusal(), "{file}: {row:?}");
            }
        }
    }
}

#[test]
fn pauses_last_as_long_as_the_table_of_pauses_says() {
    let (recorded, totals) = record("lossless.toml", &[("duration", "1 ms")]);
    let mut since: BTreeMap<(u32, u16, u8), u64> = BTreeMap::new();
    let mut lasted: BTreeMap<(u32, u16, u8), u64> = BTreeMap::new();
    for row in &recorded.packets {
        let place = (row.switch, row.ingress_port, row.priority);
        match row.event {
            PacketEvent::Paused => assert_eq!(since.insert(place, row.time_ps), None, "{row:?}"),
            PacketEvent::Resumed => {
                let start = since.remove(&place).expect("what ends has begun");
                *lasted.entry(place).or_default() += row.time_ps - start;
            }
            _ => {}
        }
    }
    for (place, start) in since {
        *lasted.entry(place).or_default() += totals.end_ns * 1_000 - start;
    }
    assert!(!lasted.is_empty());
    for pause in &recorded.pauses {
        let ps = lasted.get(&(pause.switch, pause.port, pause.priority)).copied().unwrap_or_default();
        assert!(pause.demanded_ns.abs_diff(ps / 1_000) <= 1, "{pause:?}: {ps} ps");
    }
}

#[test]
fn recording_packets_changes_no_other_table_and_one_switch_is_enough() {
    for (file, overrides) in [RUNS[0], RUNS[3], RUNS[4], RUNS[7]] {
        let run = |packets: &[(&str, &str)]| {
            let scenario = scenario(file, &[overrides, packets].concat());
            let mut rows = Rows::default();
            let simulation = Simulation::new(&scenario).expect("it builds");
            rows.totals = simulation.run(&mut rows, &mut |_| {}).expect("it runs");
            rows
        };
        let mut recorded = run(&[("output.packets", "all")]);
        assert!(!std::mem::take(&mut recorded.packets).is_empty(), "{file}");
        assert!(run(&[]) == recorded, "{file}");
    }
    let (all, totals) = record("link-failure.toml", &[]);
    let of_first: Vec<_> = all.packets.iter().filter(|row| row.switch == 0).cloned().collect();
    let name = totals.switches[0].clone();
    let mut one = Recorded::default();
    let scenario = scenario("link-failure.toml", &[("output.packets", &name)]);
    Simulation::new(&scenario).expect("it builds").run(&mut one, &mut |_| {}).expect("it runs");
    assert!(of_first.len() < all.packets.len() && of_first == one.packets);
}
