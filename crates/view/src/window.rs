//! A window: the content of one buffer in a span of time, in a few hundred points for a chart.

use crate::ViewError;
use crate::index::{Bucket, Gatherer, Index, KINDS, Loss, PauseEdge, Queue, QueueTrace, Source, add};
use bufferlab_metrics::PacketEvent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Maximum number of points of a window that a page may request.
pub(crate) const POINTS_MAX: u64 = 4_000;
/// Maximum number of groups that a chart draws separately. All other groups are drawn as one.
const GROUPS: usize = 7;
/// Maximum number of losses that a time window lists.
const LOSSES: usize = 400;
/// Maximum number of packet rows that a time window reads. A longer window uses the buckets of the
/// whole run, although buckets may be coarser than requested.
const ROWS_MAX: u64 = 3_000_000;

/// Criterion that divides a buffer's content into groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum By {
    /// The window is divided by egress port.
    #[default]
    Port,
    /// The window is divided by queue: port and priority.
    Queue,
    /// The window is divided by traffic class.
    Class,
}

/// Request for a time window of a buffer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct WindowRequest {
    /// First instant of the time window (ps).
    pub(crate) from: u64,
    /// Last instant of the time window (ps).
    pub(crate) until: u64,
    /// Maximum number of points in the window's chart.
    pub(crate) points: u64,
    pub(crate) by: By,
    /// Port whose queues the window shows; `None` means all ports.
    pub(crate) port: Option<u16>,
    /// Priority of the port's queue that the window shows; `None` means all queues of the port.
    #[serde(default)]
    pub(crate) priority: Option<u8>,
}

impl WindowRequest {
    /// Whether the window shows the queue of this port and priority.
    pub(crate) fn has(&self, port: u16, priority: u8) -> bool {
        self.port.is_none_or(|wanted| wanted == port && self.priority.is_none_or(|wanted| wanted == priority))
    }
}

/// A time window of a buffer, for a chart. Lists of values over time have one entry per point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Window {
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// Time span of each point of the window's chart (ps).
    pub(crate) step: u64,
    /// Whether the request asked for a finer time resolution than the data have.
    pub(crate) is_coarse: bool,
    /// Times at which the time spans of the chart's points end (ps).
    pub(crate) times: Vec<u64>,
    /// Stored bytes of each group (port, queue or class) at the times of the points, largest group
    /// first.
    pub(crate) groups: Vec<Group>,
    /// Greatest occupancy of the whole buffer, or of the requested port, in the time span of each
    /// point.
    pub(crate) most: Vec<u64>,
    /// Limit of the longest queue that the window shows. If the window shows one queue, the value
    /// is the limit of that queue, even while that queue is empty.
    pub(crate) limit: Vec<Option<u64>>,
    /// Number of events at each point by kind of event, in the order of
    /// [`bufferlab_metrics::PacketEvent::ALL`].
    pub(crate) counts: Vec<Vec<u32>>,
    /// Number of events in the time window, by kind of event.
    pub(crate) sums: Vec<u64>,
    /// Greatest occupancy in the window (bytes), and its time.
    pub(crate) peak: Option<(u64, u64)>,
    /// Lost packets in the time window, up to a maximum number.
    pub(crate) losses: Vec<LossMark>,
    /// Whether `losses` lists all losses in the time window.
    pub(crate) has_all_losses: bool,
    /// Times in which the switch paused some sender: start and end (ps).
    /// Pauses that are closer than the width of a point are merged.
    pub(crate) pauses: Vec<(u64, u64)>,
    /// Number of packet rows in the time window, drawn or not.
    pub(crate) events: u64,
}

impl Window {
    /// Removes data that the page's script can restore: instants at equal steps,
    /// and lists of zeros or of `None`.
    pub(crate) fn thin(&mut self) {
        self.times.truncate(1);
        for counts in self.counts.iter_mut().filter(|counts| counts.iter().all(|&count| count == 0)) {
            counts.clear();
        }
        if self.limit.iter().all(Option::is_none) {
            self.limit.clear();
        }
    }
}

/// A group of a buffer's content, such as a queue or a traffic class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Number of the group's colour in the style sheet.
    pub(crate) colour: usize,
    pub(crate) held: Vec<u64>,
}

/// A lost packet with its place on a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct LossMark {
    pub(crate) time: u64,
    pub(crate) row: u64,
    pub(crate) port: u16,
    pub(crate) priority: u8,
    pub(crate) event: &'static str,
}

impl From<&Loss> for LossMark {
    fn from(loss: &Loss) -> Self {
        let &Loss { time, row, port, priority, event } = loss;
        Self { time, row, port, priority, event: event.name() }
    }
}

/// Content of a buffer at an instant, by queue and by class.
#[derive(Clone, Debug)]
struct State {
    queues: Vec<u64>,
    limits: Vec<Option<u64>>,
    classes: BTreeMap<u16, i64>,
    whole: u64,
}

impl State {
    fn empty(queues: usize) -> Self {
        Self { queues: vec![0; queues], limits: vec![None; queues], classes: BTreeMap::new(), whole: 0 }
    }

    fn pass(&mut self, bucket: &Bucket) {
        for trace in &bucket.queues {
            let queue = trace.queue as usize;
            self.queues[queue] = trace.last;
            self.limits[queue] = trace.limit.or(self.limits[queue]);
        }
        for (class, change) in &bucket.classes {
            *self.classes.entry(*class).or_default() += change;
        }
        self.whole = bucket.whole.map_or(self.whole, |(last, ..)| last);
    }
}

/// Creates the window for `request`; `classes` are the names of classes.
pub(crate) fn window(
    index: &Index,
    source: &Source,
    classes: &[String],
    request: &WindowRequest,
) -> Result<Window, ViewError> {
    let until = request.until.min(index.end).max(1);
    let from = request.from.min(until - 1);
    let points = request.points.clamp(10, POINTS_MAX);
    let wanted = (until - from).div_ceil(points).max(1);
    let is_finer = wanted < index.width;
    let aligned = from / index.width * index.width;
    let reads = is_finer && source.rows_between(aligned, until) <= ROWS_MAX;
    let mut state = State::empty(index.shape.queues());
    let before = index.buckets.partition_point(|(number, _)| *number < from / index.width);
    index.buckets[..before].iter().for_each(|(_, bucket)| state.pass(bucket));
    let mut course = Course::new(index, request, classes);
    if reads {
        let mut lead = Gatherer::new(index.shape, 0, u64::MAX);
        let mut fine = Gatherer::new(index.shape, from, wanted);
        source.visit(index.switch, (aligned, until), |row| {
            if row.time_ps >= aligned && row.time_ps < from {
                lead.add(&row);
            } else if row.time_ps >= from && row.time_ps <= until {
                fine.add(&row);
            }
        })?;
        lead.buckets.iter().for_each(|(_, bucket)| state.pass(bucket));
        let steps = (until - from) / wanted + 1;
        course.run(state, &fine.buckets, (0, steps, 1), (from, wanted));
    } else {
        let step = wanted.div_ceil(index.width);
        let (first, last) = (from / index.width, until / index.width + 1);
        course.run(state, &index.buckets[before..], (first, last, step), (0, index.width));
    }
    let mut window = course.finish();
    (window.from, window.until) = (from, until);
    window.is_coarse = is_finer && !reads;
    add_events(&mut window, index, request, (from, until));
    Ok(window)
}

/// Adds the losses and pauses between the instants `from` and `until` to a window.
fn add_events(window: &mut Window, index: &Index, request: &WindowRequest, (from, until): (u64, u64)) {
    let first = index.losses.partition_point(|loss| loss.time < from);
    let losses = index.losses[first..].iter().take_while(|loss| loss.time <= until);
    let mut losses = losses.filter(|loss| request.has(loss.port, loss.priority));
    window.losses = losses.by_ref().take(LOSSES).map(LossMark::from).collect();
    window.has_all_losses = losses.next().is_none();
    let mut pauses = spans(&index.pauses, index.end);
    pauses.retain(|&((port, priority), begin, end)| {
        begin <= until && end >= from && request.has(port, priority)
    });
    if request.port.is_some() {
        let begun = pauses.iter().filter(|(_, begin, _)| *begin >= from);
        window.sums[PacketEvent::Paused as usize] = begun.count() as u64;
    }
    pauses.sort_by_key(|(_, begin, _)| *begin);
    for (_, begin, end) in pauses {
        match window.pauses.last_mut() {
            Some(last) if begin <= last.1 + window.step / 2 => last.1 = end.max(last.1),
            _ => window.pauses.push((begin, end)),
        }
    }
}

/// Pauses with port and priority, start and end, from the edges of the pauses.
fn spans(edges: &[PauseEdge], end: u64) -> Vec<((u16, u8), u64, u64)> {
    let mut open: BTreeMap<(u16, u8), u64> = BTreeMap::new();
    let mut spans = Vec::new();
    for edge in edges {
        let place = (edge.port, edge.priority);
        if edge.begins {
            open.entry(place).or_insert(edge.time);
        } else if let Some(begin) = open.remove(&place) {
            spans.push((place, begin, edge.time));
        }
    }
    spans.extend(open.into_iter().map(|(place, begin)| (place, begin, end)));
    spans
}

/// A time window during the collection of its samples.
struct Course<'a> {
    index: &'a Index,
    request: &'a WindowRequest,
    classes: &'a [String],
    window: Window,
    /// Stored bytes of each group (port, queue or class) at each point, without empty groups.
    held: Vec<Vec<(usize, u64)>>,
    /// Greatest number of stored bytes of each group.
    largest: Vec<u64>,
    /// Sum of the stored bytes of each group at the current point; zero between two points.
    sums: Vec<u64>,
}

impl<'a> Course<'a> {
    fn new(index: &'a Index, request: &'a WindowRequest, classes: &'a [String]) -> Self {
        let window = Window { sums: vec![0; KINDS], counts: vec![Vec::new(); KINDS], ..Window::default() };
        let groups = index.shape.queues().max(classes.len()).max(usize::from(index.shape.ports));
        let (largest, sums) = (vec![0; groups], vec![0; groups]);
        Self { index, request, classes, window, held: Vec::new(), largest, sums }
    }

    fn shows(&self, queue: Queue) -> bool {
        let (port, priority) = self.index.shape.place(queue);
        self.request.has(port, priority)
    }

    /// Returns the queue that the window shows; `None` if the window shows several queues.
    fn only(&self) -> Option<Queue> {
        let shape = self.index.shape;
        let port = self.request.port.filter(|port| *port < shape.ports)?;
        match self.request.priority {
            Some(priority) => (priority < shape.queues_per_port).then(|| shape.queue(port, priority)),
            None => (shape.queues_per_port == 1).then(|| shape.queue(port, 0)),
        }
    }

    /// Reads the buckets from number `first` to before `last`, `step` buckets per point.
    /// Bucket 0 begins at `start`.
    fn run(
        &mut self,
        mut state: State,
        buckets: &[(u64, Bucket)],
        (first, last, step): (u64, u64, u64),
        (start, width): (u64, u64),
    ) {
        self.window.step = step * width;
        let mut buckets = buckets.iter().peekable();
        let mut at = first;
        while at < last {
            let mut most = self.content(&state);
            let mut counts = [0_u32; KINDS];
            let mut peak = None;
            while let Some((_, bucket)) = buckets.next_if(|(number, _)| *number < at + step) {
                most = most.max(self.most_within(&state, bucket, &mut peak));
                match self.request.port {
                    None => add(&mut counts, bucket.counts),
                    Some(_) => {
                        let shown = bucket.queues.iter().filter(|trace| self.shows(trace.queue as usize));
                        shown.for_each(|trace| add(&mut counts, trace.counts));
                    }
                }
                state.pass(bucket);
            }
            let end = start + (at + step) * width;
            if self.window.peak.is_none_or(|(bytes, _)| most > bytes) && most > 0 {
                self.window.peak = Some((most, peak.unwrap_or(end)));
            }
            self.push(&state, end, most, counts);
            at += step;
        }
    }

    /// Number of stored bytes in the part of the buffer that the window shows.
    fn content(&self, state: &State) -> u64 {
        match self.request.port {
            None => state.whole,
            Some(_) => {
                (0..state.queues.len()).filter(|queue| self.shows(*queue)).map(|at| state.queues[at]).sum()
            }
        }
    }

    /// Greatest occupancy within a bucket. For one port, the occupancy is the sum of its queues'
    /// greatest lengths, which is at least the queues' greatest total.
    fn most_within(&self, state: &State, bucket: &Bucket, peak: &mut Option<u64>) -> u64 {
        if self.request.port.is_none() {
            return bucket.whole.map_or(0, |(_, most, time)| {
                *peak = Some(time);
                most
            });
        }
        let most_of = |queue: &QueueTrace| queue.most.saturating_sub(state.queues[queue.queue as usize]);
        let shown = bucket.queues.iter().filter(|trace| self.shows(trace.queue as usize));
        self.content(state) + shown.map(most_of).sum::<u64>()
    }

    fn push(&mut self, state: &State, end: u64, most: u64, counts: [u32; KINDS]) {
        let mut longest: Option<(u64, Queue)> = None;
        for (queue, &bytes) in state.queues.iter().enumerate() {
            if bytes == 0 || !self.shows(queue) {
                continue;
            }
            if longest.is_none_or(|(most, _)| bytes > most) {
                longest = Some((bytes, queue));
            }
            let group = match self.request.by {
                By::Port => usize::from(self.index.shape.place(queue).0),
                By::Queue => queue,
                By::Class => continue,
            };
            self.sums[group] += bytes;
        }
        if self.request.by == By::Class {
            for (class, bytes) in state.classes.iter().filter(|(_, bytes)| **bytes > 0) {
                if let Some(sum) = self.sums.get_mut(usize::from(*class)) {
                    *sum = *bytes as u64;
                }
            }
        }
        let mut held = Vec::new();
        for (group, (sum, largest)) in self.sums.iter_mut().zip(&mut self.largest).enumerate() {
            if *sum > 0 {
                *largest = (*largest).max(*sum);
                held.push((group, std::mem::take(sum)));
            }
        }
        self.held.push(held);
        self.window.times.push(end);
        self.window.most.push(most);
        let limited = self.only().or(longest.map(|(_, queue)| queue));
        self.window.limit.push(limited.and_then(|queue| state.limits[queue]));
        for ((counts, sums), count) in self.window.counts.iter_mut().zip(&mut self.window.sums).zip(counts) {
            counts.push(count);
            *sums += u64::from(count);
        }
        self.window.events += counts.iter().map(|&count| u64::from(count)).sum::<u64>();
    }

    fn name(&self, group: usize) -> String {
        match self.request.by {
            By::Port => format!("port {group}"),
            By::Queue => {
                let (port, priority) = self.index.shape.place(group);
                format!("queue {port}.{priority}")
            }
            By::Class => self.classes.get(group).cloned().unwrap_or_default(),
        }
    }

    fn finish(self) -> Window {
        let groups = self.largest.iter().copied().enumerate();
        let mut ranked: Vec<(usize, u64)> = groups.filter(|(_, bytes)| *bytes > 0).collect();
        ranked.sort_by_key(|&(group, bytes)| (std::cmp::Reverse(bytes), group));
        let chosen: Vec<usize> = ranked.iter().take(GROUPS).map(|(group, _)| *group).collect();
        let mut groups: Vec<Group> = Vec::with_capacity(chosen.len() + 1);
        for &group in &chosen {
            // A port, queue or class has an equal colour in all windows, unless another group of
            // the window already uses this colour.
            let taken = |colour: usize| groups.iter().any(|group| group.colour == colour);
            let colour = (0..GROUPS).map(|more| (group + more) % GROUPS).find(|colour| !taken(*colour));
            let held = vec![0; self.held.len()];
            groups.push(Group { name: self.name(group), colour: colour.unwrap_or(0), held });
        }
        let mut rest = vec![0; self.held.len()];
        // For each group, its index among the drawn groups; `None` for a group that is not drawn
        // separately.
        let mut places = vec![None; self.largest.len()];
        chosen.iter().enumerate().for_each(|(at, &group)| places[group] = Some(at));
        for (point, held) in self.held.iter().enumerate() {
            for &(group, bytes) in held {
                match places[group] {
                    Some(at) => groups[at].held[point] = bytes,
                    None => rest[point] += bytes,
                }
            }
        }
        if ranked.len() > GROUPS {
            let name = format!("{} others", ranked.len() - GROUPS);
            groups.push(Group { name, colour: GROUPS, held: rest });
        }
        Window { groups, ..self.window }
    }
}

#[cfg(test)]
mod tests;
