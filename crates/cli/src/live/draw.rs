//! Draws the live view on the screen.

use super::board::{Board, COLUMN, QueueLine, Quit};
use super::numbers::{bytes, clock, short, span};
use bufferlab_core::Counters;
use bufferlab_dataplane::{Discard, INCONCLUSIVE_LATENESS_NS, LinkState, Snapshot};
use bufferlab_params::Choice;
use bufferlab_report::format::count;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Padding, Paragraph, Sparkline};

/// Size of the smallest window that can show the view (columns, rows).
pub(crate) const SMALLEST: (u16, u16) = (64, 14);

/// Draws the live view `board` in a frame of the terminal.
pub(crate) fn draw(board: &Board, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("too small: at least {} columns and {} rows", SMALLEST.0, SMALLEST.1);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let Some(latest) = board.latest() else {
        frame.render_widget(Paragraph::new(format!("{}: waiting for the switch", board.title.text)), area);
        return;
    };
    let losses = losses(board, latest);
    // Each reason for losses needs a line, and the table also needs some lines.
    let details = (losses.len() as u16 + 3).clamp(6, (area.height / 3).max(7));
    let [head, table, details, help] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Min(3),
        Constraint::Length(details),
        Constraint::Length(1),
    ])
    .areas(area);
    head_lines(board, latest, frame, head);
    table_lines(board, frame, table);
    let [left, right] = Layout::horizontal([Constraint::Length(52), Constraint::Min(10)]).areas(details);
    loss_lines(board, losses, frame, left);
    history(board, latest, frame, right);
    frame.render_widget(Paragraph::new(help_line(board)), help);
}

/// Colours and shades of the view, if colours are allowed.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn colour(self, colour: Color) -> Style {
        if self.0 { Style::new().fg(colour) } else { Style::new() }
    }

    /// Style of a number, by the occupancy of a queue relative to the queue's limit.
    fn level(self, held: u64, limit: Option<u64>) -> Style {
        match limit {
            Some(limit) if held >= limit => self.colour(Color::Red),
            Some(limit) if held * 2 >= limit => self.colour(Color::Yellow),
            _ => self.colour(Color::Green),
        }
    }

    fn quiet(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn loud(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

fn head_lines(board: &Board, latest: &Snapshot, frame: &mut Frame<'_>, area: Rect) {
    let paint = Paint(board.title.colour);
    let running = clock(latest.at.as_ns() / 1_000_000_000);
    let state = if board.is_paused { "PAUSED at" } else { "running" };
    let right = format!("{state} {running} ");
    let room = usize::from(area.width).saturating_sub(right.len() + 2);
    let title = format!(" {:<room$} {right}", shortened(&board.title.text, room));
    let width = usize::from(area.width).saturating_sub(56).clamp(8, 60);
    let mut buffer = vec![Span::raw(" buffer  ")];
    buffer.extend(bar(width, latest.occupancy, latest.peak, None, latest.capacity, paint));
    let share = latest.occupancy * 100 / latest.capacity.max(1);
    buffer.push(Span::raw(format!(
        " {} of {}, {share} %, peak {}",
        bytes(latest.occupancy),
        bytes(latest.capacity),
        bytes(latest.peak)
    )));
    let bits = |value: fn(&bufferlab_dataplane::PortSnapshot) -> u64| {
        short(board.rate(|one| one.ports.iter().map(value).sum::<u64>()) * 8.0)
    };
    let all = |value: fn(&Counters) -> u64| {
        short(board.rate(|one| one.queues.iter().map(|queue| value(&queue.counters)).sum()))
    };
    let traffic = format!(
        " traffic in {}b/s, out {}b/s; dropped {}/s, evicted {}/s, marked {}/s",
        bits(|port| port.tallies.received_bytes),
        bits(|port| port.tallies.sent_bytes),
        all(|one| one.dropped),
        all(|one| one.evicted),
        all(|one| one.marked)
    );
    let lines = vec![
        Line::styled(title, Style::new().add_modifier(Modifier::REVERSED)),
        Line::from(buffer),
        Line::raw(traffic),
        lateness(board, latest, paint),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

fn lateness(board: &Board, latest: &Snapshot, paint: Paint) -> Line<'static> {
    let [p50, p99, p999, _] = latest.lateness_ns;
    let mut parts =
        vec![Span::raw(format!(" late    p50 {}, p99 {}, p99.9 {}", span(p50), span(p99), span(p999)))];
    if latest.handed_over == 0 {
        parts = vec![Span::raw(" late    no frame was sent yet")];
    } else if p999 > INCONCLUSIVE_LATENESS_NS {
        parts.push(Span::styled(" INCONCLUSIVE", paint.loud()));
    }
    let others = [
        ("late arrivals", latest.late_arrivals),
        ("missed", latest.missed),
        ("not captured", latest.left_out.unwrap_or(0)),
    ];
    for (what, number) in others.into_iter().filter(|(_, number)| *number > 0) {
        parts.push(Span::styled(format!("; {what} {}", count(number)), paint.colour(Color::Yellow)));
    }
    for (title, port) in board.title.ports.iter().zip(&latest.ports) {
        if port.tallies.link != LinkState::Up {
            let text = format!("; {} is {}", title.name, port.tallies.link.word());
            parts.push(Span::styled(text, paint.loud()));
        }
    }
    Line::from(parts)
}

/// Draws a bar of `width` cells; a full bar represents `whole` bytes. The bar shows the occupancy,
/// the peak in a lighter shade, and a stroke at the limit.
fn bar(
    width: usize,
    held: u64,
    peak: u64,
    limit: Option<u64>,
    whole: u64,
    paint: Paint,
) -> Vec<Span<'static>> {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = |value: u64| {
        let of = (width * 8) as u64;
        // The bar rounds up, so that any occupancy is visible.
        (value.min(whole) * of).div_ceil(whole.max(1)) as usize
    };
    let (held_eighths, peak_cells) = (eighths(held), eighths(peak).div_ceil(8));
    let stroke = limit.map(|limit| (eighths(limit) / 8).min(width.saturating_sub(1)));
    let style = paint.level(held, limit);
    let cell = |index: usize| {
        let part = held_eighths.saturating_sub(index * 8);
        if stroke == Some(index) {
            Span::styled("│", if part >= 8 { style.add_modifier(Modifier::REVERSED) } else { Style::new() })
        } else if part >= 8 {
            Span::styled("█", style)
        } else if part > 0 {
            Span::styled(EIGHTHS[part], style)
        } else if index < peak_cells {
            Span::styled("░", style)
        } else {
            Span::styled("·", paint.quiet())
        }
    };
    (0..width).map(cell).collect()
}

/// Widths of the columns for the port's name and for the bar.
struct Columns {
    name: usize,
    bar: usize,
}

impl Columns {
    fn fitting(board: &Board, width: u16) -> Self {
        // Width of all columns except the port's name and the bar, with gaps: 2, 7, 7, 4, 9, 9, 7,
        // 7, 8.
        const OTHERS: usize = 60;
        let longest =
            board.title.ports.iter().map(|port| port.name.chars().count()).max().unwrap_or(0).max(4);
        let free = usize::from(width).saturating_sub(OTHERS);
        // A bar that is shorter than eight cells is not readable.
        let name = longest.min(free.saturating_sub(8)).max(3);
        Self { name, bar: free.saturating_sub(name).min(80) }
    }
}

fn table_lines(board: &Board, frame: &mut Frame<'_>, area: Rect) {
    let columns = Columns::fitting(board, area.width);
    let (name, width) = (columns.name, columns.bar);
    let header = format!(
        "  {:<name$} {:>6} {:>6}  q {:<width$} {:>8} {:>8} {:>6} {:>6} {:>7}",
        "port", "in b/s", "out", "held in buffer", "held", "limit", "drop/s", "mark/s", "evict/s"
    );
    let (rows, room) = (board.rows(), usize::from(area.height).saturating_sub(1));
    let mut lines = vec![Line::styled(shortened(&header, usize::from(area.width)), BOLD)];
    let first = scroll(board, &rows, room);
    lines.extend(rows.iter().skip(first).take(room).map(|row| row_line(board, *row, &columns)));
    if let (Some(last), hidden) =
        (lines.last_mut().filter(|_| room > 1), rows.len().saturating_sub(first + room))
        && hidden > 0
    {
        *last = Line::styled(format!("  {} more lines below", hidden + 1), Paint(board.title.colour).quiet());
    }
    frame.render_widget(Paragraph::new(lines), area);
}

/// First visible line of the table, chosen so that all lines of the selected port are
/// visible if possible.
fn scroll(board: &Board, rows: &[QueueLine], room: usize) -> usize {
    let is_chosen =
        |row: &QueueLine| board.queue(row.queue).is_some_and(|queue| usize::from(queue.port) == board.chosen);
    let first = rows.iter().position(is_chosen).unwrap_or(0);
    let last = rows.iter().rposition(is_chosen).unwrap_or(0);
    // The table's last line may show the number of hidden lines instead.
    let most = if last + 1 == rows.len() { last + 1 } else { last + 2 };
    most.saturating_sub(room).min(first)
}

fn row_line(board: &Board, row: QueueLine, columns: &Columns) -> Line<'static> {
    let Some((queue, capacity)) = board.queue(row.queue).zip(board.latest().map(|latest| latest.capacity))
    else {
        return Line::default();
    };
    let paint = Paint(board.title.colour);
    let (port, width) = (usize::from(queue.port), columns.name);
    let is_chosen = port == board.chosen;
    let start = if row.is_first {
        let mark = if is_chosen { '>' } else { ' ' };
        let name = shortened(&board.title.ports[port].name, width);
        let bits =
            |value: fn(&bufferlab_dataplane::PortSnapshot) -> u64| short(board.port_rate(port, value) * 8.0);
        let (came, left) = (bits(|one| one.tallies.received_bytes), bits(|one| one.tallies.sent_bytes));
        format!("{mark} {name:<width$} {came:>6} {left:>6}")
    } else {
        format!("{:1$}", "", width + 16)
    };
    let mut parts = vec![
        Span::styled(start, if is_chosen { BOLD } else { Style::new() }),
        Span::raw(format!(" {:>2} ", queue.priority)),
    ];
    parts.extend(bar(columns.bar, queue.bytes, queue.peak, queue.threshold, capacity, paint));
    parts
        .push(Span::styled(format!(" {:>8}", bytes(queue.bytes)), paint.level(queue.bytes, queue.threshold)));
    // A policy's limit on a queue may be far above the size of the buffer.
    let limit = queue.threshold.map_or("none".to_owned(), |limit| match limit {
        limit if limit > capacity => "> buffer".to_owned(),
        limit => bytes(limit),
    });
    parts.push(Span::raw(format!(" {limit:>8}")));
    type Count = fn(&Counters) -> u64;
    let rates: [(Count, usize, Color); 3] = [
        (|one| one.dropped, 6, Color::Red),
        (|one| one.marked, 6, Color::Cyan),
        (|one| one.evicted, 7, Color::Magenta),
    ];
    for (value, width, colour) in rates {
        let rate = board.queue_rate(row.queue, |one| value(&one.counters));
        let style = if rate > 0.0 { paint.colour(colour) } else { paint.quiet() };
        parts.push(Span::styled(format!(" {:>width$}", short(rate)), style));
    }
    Line::from(parts)
}

/// A line about losses: their reason, and their number and rate at the selected port and in total.
struct Loss {
    what: String,
    own: (u64, f64),
    all: (u64, f64),
}

/// Returns the numbers of marked and lost packets, by reason.
fn losses(board: &Board, latest: &Snapshot) -> Vec<Loss> {
    let port = board.chosen;
    let line = |what: String, value: &dyn Fn(&Snapshot, usize) -> u64| {
        let all = |one: &Snapshot| (0..one.ports.len()).map(|port| value(one, port)).sum::<u64>();
        let own = |one: &Snapshot| if port < one.ports.len() { value(one, port) } else { 0 };
        Loss { what, own: (own(latest), board.rate(own)), all: (all(latest), board.rate(all)) }
    };
    let counter = |value: fn(&Counters) -> u64| {
        move |one: &Snapshot, port: usize| {
            let queues = one.queues.iter().filter(|queue| usize::from(queue.port) == port);
            queues.map(|queue| value(&queue.counters)).sum()
        }
    };
    let mut lines = vec![
        line("dropped".to_owned(), &counter(|one| one.dropped)),
        line("evicted".to_owned(), &counter(|one| one.evicted)),
        line("marked".to_owned(), &counter(|one| one.marked)),
    ];
    for reason in latest.losses().into_keys() {
        let lost = move |one: &Snapshot, port: usize| {
            one.ports[port].losses.iter().find(|(name, _)| *name == reason).map_or(0, |(_, packets)| *packets)
        };
        lines.push(line(format!("  {reason}"), &lost));
    }
    for why in Discard::ALL {
        let discarded = move |one: &Snapshot, port: usize| one.ports[port].tallies.discarded(*why);
        lines.push(line(format!("discarded: {}", why.word()), &discarded));
    }
    lines.push(line("refused by interface".to_owned(), &|one, port| one.ports[port].tallies.refused));
    lines.push(line("sent to all ports".to_owned(), &|one, port| one.ports[port].tallies.flooded));
    // The lines for dropped, evicted and marked packets are always shown.
    let mut index = 0;
    lines.retain(|line| {
        index += 1;
        index <= 3 || line.all.0 > 0
    });
    lines
}

fn loss_lines(board: &Board, losses: Vec<Loss>, frame: &mut Frame<'_>, area: Rect) {
    let paint = Paint(board.title.colour);
    let port = board.title.ports.get(board.chosen);
    let title =
        port.map_or(String::new(), |port| format!(" {} at {}b/s ", port.name, short(port.rate.0 as f64)));
    let block = Block::new().borders(Borders::TOP).title(title);
    let room = usize::from(area.height).saturating_sub(2);
    let header = format!(" {:<21} {:>8} {:>5} {:>8} {:>5}", "frames", "port", "/s", "all", "/s");
    let mut lines = vec![Line::styled(header, BOLD)];
    let hidden = losses.len().saturating_sub(room);
    let shown = if hidden > 0 { room.saturating_sub(1) } else { room };
    for Loss { what, own, all } in losses.iter().take(shown) {
        let total = |total: u64| if total < 10_000_000 { count(total) } else { short(total as f64) };
        let text = format!(
            " {:<21} {:>8} {:>5} {:>8} {:>5}",
            shortened(what, 21),
            total(own.0),
            short(own.1),
            total(all.0),
            short(all.1)
        );
        lines.push(Line::styled(text, if all.1 > 0.0 { Style::new() } else { paint.quiet() }));
    }
    if hidden > 0 {
        lines.push(Line::styled(
            format!(" {} more reasons: enlarge the window", losses.len() - shown),
            paint.quiet(),
        ));
    }
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn history(board: &Board, latest: &Snapshot, frame: &mut Frame<'_>, area: Rect) {
    let Some(index) = board.fullest() else { return };
    let queue = &latest.queues[index];
    let width = usize::from(area.width);
    let columns: Vec<u64> = {
        let history = board.history(index);
        let skipped = history.len().saturating_sub(width);
        history.skip(skipped).collect()
    };
    let most = columns.iter().copied().max().unwrap_or(0);
    let seconds = width * COLUMN / 10;
    let name = &board.title.ports[usize::from(queue.port)].name;
    let which = if board.follows_chosen { "" } else { "fullest: " };
    let title = format!(" {which}{name} q{}, {seconds} s ", queue.priority);
    let block = Block::new().borders(Borders::TOP).padding(Padding::left(1)).title(shortened(&title, width));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let [text, chart] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(inside);
    frame.render_widget(Paragraph::new(format!("peak {}", bytes(most))), text);
    let style = Paint(board.title.colour).level(most, queue.threshold);
    let skipped = columns.len().saturating_sub(usize::from(chart.width));
    frame.render_widget(Sparkline::default().data(&columns[skipped..]).max(most.max(1)).style(style), chart);
}

fn help_line(board: &Board) -> Line<'static> {
    let quit = if board.title.quit == Quit::Switch { "q end" } else { "q leave view" };
    let pause = if board.is_paused { "p resume" } else { "p pause" };
    let sort = if board.by_bytes { "s by port" } else { "s fullest first" };
    let follow = if board.follows_chosen { "f any port" } else { "f follow port" };
    let text = format!(" {quit}  {pause}  up/down port  a queues  {sort}  {follow}");
    Line::styled(text, Paint(board.title.colour).quiet())
}

/// Shortens `text` to `width` characters if it is longer.
fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}
