//! State of the live view: recent snapshots, the user's choices, and two minutes of history.

use bufferlab_dataplane::{PortSnapshot, QueueSnapshot, Snapshot};
use bufferlab_units::{BitRate, Time};
use std::collections::VecDeque;

/// Time span over which the live view computes rates.
const WINDOW: Time = Time::from_ms(1_000);
/// Number of snapshots in one column of the history chart, which is half a second.
pub(crate) const COLUMN: usize = 5;
/// Maximum number of columns in the history chart. All columns together show two minutes.
const COLUMNS: usize = 240;

/// Name and rate of a port in the live view.
#[derive(Clone, Debug)]
pub(crate) struct PortTitle {
    /// Name of the port in the live view.
    pub(crate) name: String,
    /// Rate of the port (bit/s).
    pub(crate) rate: BitRate,
}

/// Effect of the key q in the live view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quit {
    /// The key stops the switch and ends the program.
    Switch,
    /// The key leaves the view, and the switch continues to run.
    View,
}

/// Data of the live view that never change.
#[derive(Clone, Debug)]
pub(crate) struct Title {
    /// Text about the observed switch, its policy and its seed.
    pub(crate) text: String,
    /// Names and rates of the switch's ports.
    pub(crate) ports: Vec<PortTitle>,
    /// Effect of the key q in the live view.
    pub(crate) quit: Quit,
    /// Whether the live view may use colours.
    pub(crate) colour: bool,
}

/// A key that has an effect in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Pause or resume the live view.
    Pause,
    /// Select the next port in the table.
    Next,
    /// Select the previous port in the table.
    Previous,
    /// Move the selection by this number of ports in the table.
    Page(i32),
    /// Select the first port of the table.
    First,
    /// Select the last port of the table.
    Last,
    /// Show all queues, or only the fullest queue of each port.
    Queues,
    /// Order ports by number, or by the recent peak of their queues.
    Sort,
    /// Show the history of the fullest queue of all ports, or of the selected port only.
    Follow,
}

/// A line in the live view's table of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLine {
    /// Index of the line's queue in a snapshot of the switch.
    pub(crate) queue: usize,
    /// Whether the line is the first line of its port in the table.
    pub(crate) is_first: bool,
}

/// Snapshots, history and user's choices of the live view.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) title: Title,
    /// Snapshots of the switch in the last second, newest last.
    recent: VecDeque<Snapshot>,
    /// Peak occupancy of every column by queue, newest column last.
    history: Vec<VecDeque<u64>>,
    /// Number of snapshots in the newest column of the history chart.
    in_column: usize,
    pub(crate) is_paused: bool,
    pub(crate) chosen: usize,
    /// Whether the table shows all queues. With `None`, the table shows all queues only if there
    /// are few queues.
    all_queues: Option<bool>,
    pub(crate) by_bytes: bool,
    pub(crate) follows_chosen: bool,
}

impl Board {
    /// Creates a live view that has no snapshots yet.
    #[must_use]
    pub(crate) fn new(title: Title) -> Self {
        Self {
            title,
            recent: VecDeque::new(),
            history: Vec::new(),
            in_column: 0,
            is_paused: false,
            chosen: 0,
            all_queues: None,
            by_bytes: false,
            follows_chosen: false,
        }
    }

    /// Takes a snapshot of the switch, except during a pause or if the snapshot is already known.
    /// Returns whether the view must draw the snapshot.
    pub(crate) fn update(&mut self, snapshot: Snapshot) -> bool {
        if self.is_paused || self.recent.back().is_some_and(|last| last.at >= snapshot.at) {
            return false;
        }
        self.history.resize_with(snapshot.queues.len(), VecDeque::new);
        let begins = self.in_column == 0;
        self.in_column = (self.in_column + 1) % COLUMN;
        for (history, queue) in self.history.iter_mut().zip(&snapshot.queues) {
            match history.back_mut().filter(|_| !begins) {
                Some(last) => *last = (*last).max(queue.peak),
                None => history.push_back(queue.peak),
            }
            if history.len() > COLUMNS {
                history.pop_front();
            }
        }
        self.recent.push_back(snapshot);
        let newest = self.recent.back().map_or(Time::ZERO, |last| last.at);
        // After a pause, the view keeps the snapshot before the pause,
        // because a rate needs two snapshots.
        while self.recent.len() > 2
            && self.recent.get(1).is_some_and(|one| newest.saturating_sub(one.at) >= WINDOW)
        {
            self.recent.pop_front();
        }
        true
    }

    /// Performs the action of a key that the user pressed in the live view.
    pub(crate) fn press(&mut self, key: Key) {
        let last = self.title.ports.len().saturating_sub(1);
        let order = self.order();
        let place = order.iter().position(|&port| port == self.chosen).unwrap_or(0);
        let at = |place: usize| order.get(place.min(last)).copied().unwrap_or(0);
        match key {
            Key::Pause => self.is_paused = !self.is_paused,
            Key::Next => self.chosen = at(if place == last { 0 } else { place + 1 }),
            Key::Previous => self.chosen = at(place.checked_sub(1).unwrap_or(last)),
            Key::Page(ports) => self.chosen = at(place.saturating_add_signed(ports as isize)),
            Key::First => self.chosen = at(0),
            Key::Last => self.chosen = at(last),
            Key::Queues => self.all_queues = Some(!self.shows_all_queues()),
            Key::Sort => {
                self.by_bytes = !self.by_bytes;
                self.chosen = self.order().first().copied().unwrap_or(0);
            }
            Key::Follow => self.follows_chosen = !self.follows_chosen,
        }
    }

    /// Returns the newest snapshot of the switch.
    pub(crate) fn latest(&self) -> Option<&Snapshot> {
        self.recent.back()
    }

    pub(crate) fn queue(&self, index: usize) -> Option<&QueueSnapshot> {
        self.latest()?.queues.get(index)
    }

    /// Growth rate of a counter over the recent snapshots (1/s).
    pub(crate) fn rate(&self, value: impl Fn(&Snapshot) -> u64) -> f64 {
        let (Some(first), Some(last)) = (self.recent.front(), self.recent.back()) else { return 0.0 };
        let seconds = last.at.saturating_sub(first.at).as_secs_f64();
        if seconds == 0.0 { 0.0 } else { value(last).saturating_sub(value(first)) as f64 / seconds }
    }

    pub(crate) fn port_rate(&self, port: usize, value: impl Fn(&PortSnapshot) -> u64) -> f64 {
        self.rate(|snapshot| snapshot.ports.get(port).map_or(0, &value))
    }

    pub(crate) fn queue_rate(&self, queue: usize, value: impl Fn(&QueueSnapshot) -> u64) -> f64 {
        self.rate(|snapshot| snapshot.queues.get(queue).map_or(0, &value))
    }

    fn shows_all_queues(&self) -> bool {
        let queues = self.latest().map_or(0, |latest| latest.queues.len());
        self.all_queues.unwrap_or(queues <= 16)
    }

    /// Peak occupancy of a queue in each column of the history chart, newest column last.
    pub(crate) fn history(&self, queue: usize) -> impl ExactSizeIterator<Item = u64> {
        self.history[queue].iter().copied()
    }

    /// Queue whose history the view shows: the queue with the highest peak in the history.
    pub(crate) fn fullest(&self) -> Option<usize> {
        let latest = self.latest()?;
        let wanted = (0..latest.queues.len())
            .filter(|&queue| !self.follows_chosen || usize::from(latest.queues[queue].port) == self.chosen);
        // If several queues have the highest peak, the view shows the first of these queues.
        wanted.rev().max_by_key(|&queue| (self.history(queue).max(), latest.queues[queue].counters.arrived))
    }

    /// Returns the port numbers in the order of the table of queues.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.title.ports.len()).collect();
        if let Some(latest) = self.latest().filter(|_| self.by_bytes) {
            // The order uses peaks of the last two minutes, because present occupancies would
            // change the order of the lines too often.
            let mut peaks = vec![0; order.len()];
            for (index, queue) in latest.queues.iter().enumerate() {
                let peak = &mut peaks[usize::from(queue.port)];
                *peak = self.history(index).max().unwrap_or(0).max(*peak);
            }
            order.sort_by_key(|&port| std::cmp::Reverse(peaks[port]));
        }
        order
    }

    /// Returns the lines of the table of queues.
    pub(crate) fn rows(&self) -> Vec<QueueLine> {
        let Some(latest) = self.latest() else { return Vec::new() };
        let mut rows = Vec::new();
        for port in self.order() {
            let queues =
                (0..latest.queues.len()).filter(|&queue| usize::from(latest.queues[queue].port) == port);
            if self.shows_all_queues() {
                rows.extend(
                    queues.enumerate().map(|(index, queue)| QueueLine { queue, is_first: index == 0 }),
                );
            } else {
                let fullest = queues.rev().max_by_key(|&queue| latest.queues[queue].bytes);
                rows.extend(fullest.map(|queue| QueueLine { queue, is_first: true }));
            }
        }
        rows
    }
}
