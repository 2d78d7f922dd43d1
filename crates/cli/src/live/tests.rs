//! Tests of the live view as drawn on a terminal.

use super::board::{Board, Key};
use super::draw::draw;
use super::{PortTitle, Quit, Title};
use bufferlab_core::Counters;
use bufferlab_dataplane::{Discard, LinkState, PortSnapshot, QueueSnapshot, Snapshot};
use bufferlab_units::{BitRate, Time};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

fn title(ports: u16) -> Title {
    let port = |index| PortTitle { name: format!("p{index}"), rate: BitRate(100_000_000) };
    Title {
        text: "rack, dt".to_owned(),
        ports: (0..ports).map(port).collect(),
        quit: Quit::Switch,
        colour: true,
    }
}

/// Snapshot of a switch after `tenths` tenths of a second, with 100 Mb/s in and 90 Mb/s out at
/// every port. Port 1 loses and marks packets, and its first queue is near its limit.
fn snapshot(ports: u16, queues: u8, tenths: u64) -> Snapshot {
    let port = |index: u16| {
        let mut port = PortSnapshot::default();
        port.tallies.received_bytes = 1_250_000 * tenths;
        port.tallies.sent_bytes = 1_125_000 * tenths;
        if index == 1 {
            port.losses = vec![("over-threshold", 123 * tenths), ("pushed-out", tenths)];
            port.tallies.discarded[Discard::Jumbo as usize] = 2;
        }
        port
    };
    let queue = |port: u16, priority: u8| {
        let is_full = port == 1 && priority == 0;
        let bytes = if is_full { 45_000 } else { 1_000 + u64::from(port) };
        let mut counters = Counters::default();
        if is_full {
            (counters.dropped, counters.evicted, counters.marked) = (123 * tenths, tenths, 50 * tenths);
        }
        QueueSnapshot { port, priority, bytes, peak: bytes + 500, threshold: Some(50_000), counters }
    };
    Snapshot {
        at: Time::from_ms(100 * tenths),
        ports: (0..ports).map(port).collect(),
        queues: (0..ports).flat_map(|p| (0..queues).map(move |q| queue(p, q))).collect(),
        occupancy: 60_000,
        peak: 80_000,
        capacity: 120_000,
        lateness_ns: [27_000, 61_000, 115_000, 2_000_000],
        handed_over: 1_000,
        ..Snapshot::default()
    }
}

fn board(ports: u16, queues: u8) -> Board {
    let mut board = Board::new(title(ports));
    for tenths in 1..=40 {
        assert!(board.update(snapshot(ports, queues, tenths)));
    }
    board
}

fn terminal(board: &Board, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory is a terminal");
    terminal.draw(|frame| draw(board, frame)).expect("memory can be drawn on");
    terminal
}

fn lines(board: &Board, width: u16, height: u16) -> Vec<String> {
    let terminal = terminal(board, width, height);
    let buffer = terminal.backend().buffer().clone();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(line).collect()
}

fn line<'a>(lines: &'a [String], start: &str) -> &'a str {
    let found = lines.iter().find(|line| line.trim_start().starts_with(start));
    found.unwrap_or_else(|| panic!("no line begins with {start}:\n{}", lines.join("\n")))
}

#[test]
fn a_window_of_80_by_24_shows_queues_limits_rates_losses_and_lateness() {
    let mut board = board(4, 2);
    board.press(Key::Next);
    let shown = lines(&board, 80, 24);
    assert!(shown[0].contains("rack, dt") && shown[0].contains("running 0:00:04"), "{}", shown[0]);
    assert!(shown[1].contains("60.0 KB of 120.0 KB, 50 %, peak 80.0 KB"), "{}", shown[1]);
    assert!(
        shown[2].contains("in 400Mb/s, out 360Mb/s; dropped 1.23k/s, evicted 10/s, marked 500/s"),
        "{}",
        shown[2]
    );
    assert!(
        shown[3].contains("p50 27 us, p99 61 us, p99.9 115 us") && !shown[3].contains("INCONCLUSIVE"),
        "{}",
        shown[3]
    );
    let full = line(&shown, "> p1");
    let words: Vec<_> = full.split_whitespace().collect();
    assert_eq!(words[..5], [">", "p1", "100M", "90.0M", "0"], "{full}");
    assert_eq!(words[words.len() - 7..], ["45.0", "KB", "50.0", "KB", "1.23k", "500", "10"], "{full}");
    let rows = shown.iter().filter(|line| line.contains("50.0 KB")).count();
    assert_eq!(rows, 8, "a line for every queue:\n{}", shown.join("\n"));
    assert!(line(&shown, "over-threshold").contains("4,920 1.23k"), "{}", shown.join("\n"));
    assert!(line(&shown, "discarded: jumbo").contains("2     0"), "{}", shown.join("\n"));
    assert!(shown.iter().any(|line| line.contains("fullest: p1 q0")), "{}", shown.join("\n"));
    let help = shown[23].trim_end();
    assert!(help.contains("q end") && help.contains("p pause") && help.ends_with("f follow port"), "{help}");
    let mut narrow = Board::new(Title { quit: Quit::View, ..title(4) });
    narrow.update(snapshot(4, 2, 1));
    assert!(lines(&narrow, 80, 24)[23].trim_end().ends_with("f follow port"), "it fits in both forms");
}

#[test]
fn the_bar_ends_where_the_bytes_do_and_has_a_stroke_at_the_limit() {
    let board = board(2, 1);
    let shown = lines(&board, 141, 30);
    let full = line(&shown, "p1");
    let bar: String =
        full.chars().skip(full.chars().take_while(|c| !"█▏▎▍▌▋▊▉".contains(*c)).count()).collect();
    let bar: Vec<_> = bar.chars().take_while(|c| "█▏▎▍▌▋▊▉░·│".contains(*c)).collect();
    // The queue stores 45 KB, and its threshold is 50 KB. The buffer has 120 KB.
    let filled = bar.iter().filter(|c| "█▏▎▍▌▋▊▉".contains(**c)).count() as f64 / bar.len() as f64;
    let stroke = bar.iter().position(|c| *c == '│').expect("a stroke") as f64 / bar.len() as f64;
    assert!(
        (filled - 45.0 / 120.0).abs() < 0.02 && (stroke - 50.0 / 120.0).abs() < 0.02,
        "{filled} {stroke} {full}"
    );
}

#[test]
fn all_ports_of_64_are_reached_and_the_chosen_one_is_always_seen() {
    for queues in [1, 8] {
        let mut board = board(64, queues);
        for (width, height) in [(80, 24), (64, 14)] {
            for port in 0..64 {
                let shown = lines(&board, width, height);
                let _ = line(&shown, &format!("> p{port} "));
                board.press(Key::Next);
            }
            // After the last port of the table, the key for the next port selects the first port.
            let _ = line(&lines(&board, width, height), "> p0 ");
        }
        board.press(Key::Last);
        let _ = line(&lines(&board, 80, 24), "> p63 ");
        let _ = line(&lines(&board, 200, 60), "> p63 ");
        board.press(Key::Page(-10));
        let _ = line(&lines(&board, 80, 24), "> p53 ");
    }
}

#[test]
fn a_large_window_has_room_for_everything() {
    let mut board = board(64, 8);
    let folded = lines(&board, 200, 60);
    let of = |shown: &[String]| shown.iter().filter(|line| line.contains("50.0 KB")).count();
    assert!(of(&folded) >= 40, "a line for every port:\n{}", folded.join("\n"));
    assert!(line(&folded, "p1").contains("45.0 KB"), "the fullest queue stands for its port");
    board.press(Key::Queues);
    let all = lines(&board, 200, 60);
    assert!(line(&all, "> p0").contains("1.0 KB") && of(&all) >= 40, "{}", all.join("\n"));
    assert!(all.iter().any(|line| line.contains("more lines below")), "{}", all.join("\n"));
    board.press(Key::Queues);
    board.press(Key::Sort);
    let sorted = lines(&board, 200, 60);
    let first =
        sorted.iter().position(|line| line.contains("port") && line.contains("limit")).expect("a header");
    assert!(sorted[first + 1].starts_with("> p1 "), "{}", sorted.join("\n"));
}

#[test]
fn lateness_above_a_millisecond_is_called_inconclusive() {
    let mut board = Board::new(title(2));
    let late = Snapshot {
        lateness_ns: [1_000, 900_000, 1_300_000, 9_000_000],
        late_arrivals: 7,
        missed: 3,
        left_out: Some(12),
        ..snapshot(2, 1, 1)
    };
    board.update(late);
    let shown = lines(&board, 120, 24);
    assert!(shown[3].contains("p99.9 1.3 ms INCONCLUSIVE;"), "{}", shown[3]);
    assert!(shown[3].contains("late arrivals 7; missed 3; not captured 12"), "{}", shown[3]);
}

#[test]
fn an_interface_that_does_not_work_is_named() {
    let mut board = Board::new(title(2));
    let mut broken = snapshot(2, 1, 1);
    broken.ports[1].tallies.link = LinkState::Removed;
    board.update(broken);
    let shown = lines(&board, 120, 24);
    assert!(shown[3].trim_end().ends_with("; p1 is removed"), "{}", shown[3]);
}

#[test]
fn a_pause_keeps_the_display_and_going_on_shows_what_is_new() {
    let mut board = board(2, 1);
    board.press(Key::Pause);
    let before = lines(&board, 80, 24);
    assert!(before[0].contains("PAUSED at 0:00:04"), "{}", before[0]);
    assert!(!board.update(snapshot(2, 1, 90)));
    assert_eq!(lines(&board, 80, 24), before);
    board.press(Key::Pause);
    assert!(board.update(snapshot(2, 1, 90)));
    let after = lines(&board, 80, 24);
    assert!(after[0].contains("running 0:00:09"), "{}", after[0]);
    assert!(after[2].contains("in 200Mb/s"), "rates are those of the time between: {}", after[2]);
}

#[test]
fn a_snapshot_that_is_not_newer_is_nothing_new() {
    let mut board = board(2, 1);
    assert!(!board.update(snapshot(2, 1, 40)));
}

#[test]
fn without_colours_nothing_is_coloured() {
    for colour in [true, false] {
        let mut board = Board::new(Title { colour, ..title(2) });
        board.update(snapshot(2, 1, 1));
        board.update(snapshot(2, 1, 2));
        let terminal = terminal(&board, 80, 24);
        let cells = &terminal.backend().buffer().content;
        let is_coloured = cells.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert_eq!(is_coloured, colour);
    }
}

#[test]
fn a_window_that_is_too_small_says_so() {
    let shown = lines(&board(2, 1), 40, 10);
    assert!(shown[0].starts_with("too small: at least 64"), "{}", shown[0]);
    let nothing = Board::new(title(2));
    assert!(lines(&nothing, 80, 24)[0].contains("waiting for the switch"));
}
