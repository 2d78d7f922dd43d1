//! Compares the data of time windows with the recorded packets.

use super::*;
use crate::index::Shape;
use bufferlab_results::PacketBrief;
use bufferlab_units::RandomStream;

const SHAPE: Shape = Shape { ports: 12, queues_per_port: 2 };
const END: u64 = 50_000_000;

/// Packet rows of packets that arrive and leave at 24 queues, with a few losses.
fn rows() -> Vec<PacketBrief> {
    let mut stream = RandomStream::new(7, "window", 0);
    let mut queues = vec![Vec::new(); SHAPE.queues()];
    let (mut rows, mut occupancy, mut time) = (Vec::new(), 0, 0);
    while time < END - 10_000 {
        time += stream.below(5_000);
        let queue = stream.below(SHAPE.queues() as u64) as usize;
        let (port, priority) = SHAPE.place(queue);
        let class = stream.below(3) as u16;
        let stored: &mut Vec<(u32, u16)> = &mut queues[queue];
        let (event, size, class) = match stream.below(10) {
            0 => (PacketEvent::Dropped, 1_500, class),
            1..=4 if !stored.is_empty() => {
                let (size, class) = stored.remove(0);
                (PacketEvent::Departed, size, class)
            }
            _ => {
                let size = 64 + stream.below(1_400) as u32;
                stored.push((size, class));
                (PacketEvent::Admitted, size, class)
            }
        };
        match event {
            PacketEvent::Admitted => occupancy += u64::from(size),
            PacketEvent::Departed => occupancy -= u64::from(size),
            _ => {}
        }
        rows.push(PacketBrief {
            row: rows.len() as u64,
            time_ps: time,
            event,
            ingress_port: 0,
            port: Some(port),
            priority,
            class: Some(class),
            size_bytes: size,
            queue_bytes: stored.iter().map(|(size, _)| u64::from(*size)).sum(),
            occupancy_bytes: occupancy,
            threshold_bytes: Some(1_000_000_u64.saturating_sub(occupancy)),
        });
    }
    rows
}

/// Bytes stored before `time`, by the group of each packet, computed from packet sizes only.
fn held(rows: &[PacketBrief], time: u64, group: impl Fn(&PacketBrief) -> String) -> BTreeMap<String, u64> {
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows.iter().take_while(|row| row.time_ps < time) {
        let sum = held.entry(group(row)).or_default();
        match row.event {
            PacketEvent::Admitted => *sum += u64::from(row.size_bytes),
            PacketEvent::Departed => *sum -= u64::from(row.size_bytes),
            _ => {}
        }
    }
    held.retain(|_, bytes| *bytes > 0);
    held
}

#[test]
fn windows_of_every_width_say_what_the_packets_say() {
    let rows = rows();
    let source = Source::Memory(rows.clone());
    let index = Index::build(&source, 0, SHAPE, END).expect("it is in memory");
    let classes = ["a", "b", "c"].map(str::to_owned);
    let stretches = [(0, END), (10_000_000, 30_000_000), (20_000_000, 20_050_000), (20_001_234, 20_003_000)];
    for (from, until) in stretches {
        for by in [By::Port, By::Queue, By::Class] {
            let wish = WindowRequest { from, until, points: 40, by, port: None, priority: None };
            let window = window(&index, &source, &classes, &wish).expect("it is in memory");
            assert!(window.times.len() <= 42 && !window.is_coarse, "{} points", window.times.len());
            let name = |row: &PacketBrief| match by {
                By::Port => format!("port {}", row.port.unwrap()),
                By::Queue => format!("queue {}.{}", row.port.unwrap(), row.priority),
                By::Class => classes[usize::from(row.class.unwrap())].clone(),
            };
            for (point, &time) in window.times.iter().enumerate() {
                let expected = held(&rows, time.min(END), name);
                let total: u64 = window.groups.iter().map(|group| group.held[point]).sum();
                // The time span of the last point may end after the window, where the window reads
                // no row.
                if time <= until {
                    assert_eq!(total, expected.values().sum::<u64>(), "{by:?} {from}..{until} at {time}");
                    for group in window.groups.iter().filter(|group| !group.name.ends_with("others")) {
                        let bytes = expected.get(&group.name).copied().unwrap_or_default();
                        assert_eq!(group.held[point], bytes, "{} at {time}", group.name);
                    }
                }
                assert!(window.most[point] >= total);
            }
            let inside =
                |row: &&PacketBrief| row.time_ps >= window.times[0] - window.step && row.time_ps < until;
            let lost = rows.iter().filter(inside).filter(|row| row.event == PacketEvent::Dropped).count();
            let said = window.sums[PacketEvent::Dropped as usize];
            // The time span of the last point may extend beyond the window's end, so the numbers of
            // losses may differ slightly.
            assert!(said.abs_diff(lost as u64) <= 40, "{said} {lost}");
            let marks = window.losses.iter().filter(|loss| loss.time < from || loss.time > until).count();
            assert_eq!(marks, 0);
        }
    }
}

#[test]
fn one_port_shows_its_queues_only() {
    let rows = rows();
    let source = Source::Memory(rows.clone());
    let index = Index::build(&source, 0, SHAPE, END).expect("it is in memory");
    let wish =
        WindowRequest { from: 0, until: END, points: 30, by: By::Queue, port: Some(3), priority: None };
    let window = window(&index, &source, &[], &wish).expect("it is in memory");
    let names: Vec<_> = window.groups.iter().map(|group| group.name.as_str()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("queue 3.")), "{names:?}");
    assert!(window.losses.iter().all(|loss| loss.port == 3) && !window.losses.is_empty());
    let lost = rows.iter().filter(|row| row.port == Some(3) && row.event == PacketEvent::Dropped).count();
    assert_eq!(window.sums[PacketEvent::Dropped as usize], lost as u64);
}

#[test]
fn one_queue_shows_its_own_length_and_its_own_limit_also_while_it_is_empty() {
    let mut rows = rows();
    // Every queue gets separate limits, which change over time.
    for row in &mut rows {
        let own = u64::from(row.port.unwrap_or_default()) * 100 + u64::from(row.priority);
        row.threshold_bytes = Some(1_000 * own + row.time_ps % 7);
    }
    let source = Source::Memory(rows.clone());
    let index = Index::build(&source, 0, SHAPE, END).expect("it is in memory");
    for (port, priority) in [(3, 0), (3, 1), (11, 1)] {
        let (port_wish, priority_wish) = (Some(port), Some(priority));
        let wish = WindowRequest {
            from: 0,
            until: END,
            points: 40,
            by: By::Queue,
            port: port_wish,
            priority: priority_wish,
        };
        let window = window(&index, &source, &[], &wish).expect("it is in memory");
        let of_queue = |row: &&PacketBrief| row.port == Some(port) && row.priority == priority;
        for (point, &time) in window.times.iter().enumerate() {
            let last = rows.iter().filter(of_queue).take_while(|row| row.time_ps < time).last();
            assert_eq!(window.limit[point], last.and_then(|row| row.threshold_bytes), "at {time}");
            let held: u64 = window.groups.iter().map(|group| group.held[point]).sum();
            assert_eq!(held, last.map_or(0, |row| row.queue_bytes), "at {time}");
        }
        let names: Vec<_> = window.groups.iter().map(|group| group.name.clone()).collect();
        assert_eq!(names, [format!("queue {port}.{priority}")]);
        let lost = rows.iter().filter(of_queue).filter(|row| row.event == PacketEvent::Dropped).count();
        assert_eq!(window.sums[PacketEvent::Dropped as usize], lost as u64);
        assert!(window.losses.iter().all(|loss| (loss.port, loss.priority) == (port, priority)));
    }
}

#[test]
fn a_window_has_no_more_points_than_the_limit() {
    let rows = rows();
    let source = Source::Memory(rows);
    let index = Index::build(&source, 0, SHAPE, END).expect("it is in memory");
    let classes = ["a", "b", "c"].map(str::to_owned);
    let points = |points: u64| {
        let wish = WindowRequest { from: 0, until: END, points, by: By::Port, port: None, priority: None };
        window(&index, &source, &classes, &wish).expect("in memory").times.len()
    };
    assert_eq!(points(POINTS_MAX + 1), points(POINTS_MAX));
    assert_eq!(points(u64::MAX), points(POINTS_MAX));
}
