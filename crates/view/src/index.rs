//! Index of a buffer over time, in buckets.
//! The index reads the packet table once, so that requests for any window are answered quickly.
//!
//! For every queue with events, a bucket has the last length, the greatest length and the limit.
//! A bucket also has the growth of every class, the number of events of each kind,
//! and the least, greatest and last occupancy of the whole buffer.
//! For windows finer than a bucket, the rows are read again.

use crate::ViewError;
use bufferlab_metrics::PacketEvent;
use bufferlab_results::{PacketBrief, PacketTable};
use rayon::prelude::*;

/// Number of buckets for a whole run. In the worst case, some thousand queues change in
/// every bucket. The index never has more entries than events.
const BUCKETS: u64 = 16_384;
/// Number of kinds of packet events.
pub(crate) const KINDS: usize = PacketEvent::ALL.len();

/// A kind of packet events with its drawing style on pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Kind {
    name: &'static str,
    is_loss: bool,
    /// Number of the line's colour for this kind of events; `None` if pages draw no line of this
    /// kind.
    colour: Option<u8>,
}

impl Kind {
    /// All kinds of events that pages draw, in the order of [`PacketEvent::ALL`].
    pub(crate) fn all() -> Vec<Self> {
        let kind = |&event: &PacketEvent| Self {
            name: event.name(),
            is_loss: event.is_loss(),
            colour: event.colour(),
        };
        PacketEvent::ALL.iter().map(kind).collect()
    }
}

/// Source of the packet rows of a switch.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A packet table in a file, which is read by row groups.
    File(Box<PacketTable>),
    /// Packet rows that are in memory.
    Memory(Vec<PacketBrief>),
}

impl Source {
    /// Calls `each` with every row of `switch` between two instants (both included). The function
    /// may also call `each` with some rows before the first and after the second instant.
    pub(crate) fn visit(
        &self,
        switch: u32,
        (from, until): (u64, u64),
        mut each: impl FnMut(PacketBrief),
    ) -> Result<(), ViewError> {
        match self {
            Self::File(table) => {
                for (number, group) in table.groups().iter().enumerate() {
                    if group.from_ps <= until && group.until_ps >= from {
                        table.visit_brief(number, switch, &mut each)?;
                    }
                }
            }
            Self::Memory(rows) => {
                let first = rows.partition_point(|row| row.time_ps < from);
                rows[first..].iter().take_while(|row| row.time_ps <= until).copied().for_each(each);
            }
        }
        Ok(())
    }

    /// Number of rows that [`Self::visit`] would read, including rows of other switches.
    pub(crate) fn rows_between(&self, from: u64, until: u64) -> u64 {
        match self {
            Self::File(table) => {
                let touched =
                    table.groups().iter().filter(|group| group.from_ps <= until && group.until_ps >= from);
                touched.map(|group| group.rows).sum()
            }
            Self::Memory(rows) => {
                let count = |time: u64| rows.partition_point(|row| row.time_ps < time);
                (count(until.saturating_add(1)) - count(from)) as u64
            }
        }
    }
}

/// Number of a queue in a switch: its port times the queues of a port, plus its priority.
pub(crate) type Queue = usize;

/// Number of ports of a switch, and number of queues per port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) ports: u16,
    pub(crate) queues_per_port: u8,
}

impl Shape {
    pub(crate) fn queues(self) -> usize {
        usize::from(self.ports) * usize::from(self.queues_per_port)
    }

    pub(crate) fn queue(self, port: u16, priority: u8) -> Queue {
        usize::from(port) * usize::from(self.queues_per_port) + usize::from(priority)
    }

    pub(crate) fn place(self, queue: Queue) -> (u16, u8) {
        let queues = usize::from(self.queues_per_port.max(1));
        ((queue / queues) as u16, (queue % queues) as u8)
    }
}

/// Length and events of a queue in the time span of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueTrace {
    pub(crate) queue: u32,
    pub(crate) last: u64,
    pub(crate) most: u64,
    pub(crate) limit: Option<u64>,
    /// Number of the queue's events by kind, without pauses, which belong to ingress queues.
    pub(crate) counts: [u32; KINDS],
}

/// Changes of a switch's buffer in the time span of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) queues: Vec<QueueTrace>,
    /// Growth of each traffic class's stored bytes in the time span of the bucket.
    pub(crate) classes: Vec<(u16, i64)>,
    /// Occupancy of the whole buffer: the last value, the greatest value, and the time of the
    /// greatest value. `None` if no packet was stored in the buffer or left the buffer.
    pub(crate) whole: Option<(u64, u64, u64)>,
    pub(crate) counts: [u32; KINDS],
}

/// A packet that the switch lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) time: u64,
    /// Number of the loss's row in the packet table.
    pub(crate) row: u64,
    pub(crate) port: u16,
    pub(crate) priority: u8,
    pub(crate) event: PacketEvent,
}

/// Start or end of a pause of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseEdge {
    pub(crate) time: u64,
    pub(crate) port: u16,
    pub(crate) priority: u8,
    pub(crate) begins: bool,
}

/// Collects rows into buckets of equal width. The first bucket begins at `start`.
#[derive(Debug)]
pub(crate) struct Gatherer {
    shape: Shape,
    start: u64,
    width: u64,
    pub(crate) buckets: Vec<(u64, Bucket)>,
    /// For every queue: the number of the last bucket with events of the queue, and the index of
    /// the queue's entry in this bucket.
    met: Vec<(u64, u32)>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) pauses: Vec<PauseEdge>,
}

impl Gatherer {
    pub(crate) fn new(shape: Shape, start: u64, width: u64) -> Self {
        let met = vec![(u64::MAX, 0); shape.queues()];
        Self { shape, start, width, buckets: Vec::new(), met, losses: Vec::new(), pauses: Vec::new() }
    }

    /// Adds a row to its bucket; rows must be sorted by time.
    pub(crate) fn add(&mut self, row: &PacketBrief) {
        let number = row.time_ps.saturating_sub(self.start) / self.width;
        if self.buckets.last().is_none_or(|(last, _)| *last != number) {
            self.buckets.push((number, Bucket::default()));
        }
        let Some((_, bucket)) = self.buckets.last_mut() else { return };
        bucket.counts[row.event as usize] += 1;
        if row.event.is_pause() {
            let begins = row.event == PacketEvent::Paused;
            let (time, port, priority) = (row.time_ps, row.ingress_port, row.priority);
            self.pauses.push(PauseEdge { time, port, priority, begins });
            return;
        }
        let Some(port) = row.port else { return };
        if row.event.is_loss() {
            let (time, priority, event) = (row.time_ps, row.priority, row.event);
            self.losses.push(Loss { time, row: row.row, port, priority, event });
        }
        let whole = bucket.whole.get_or_insert((row.occupancy_bytes, row.occupancy_bytes, row.time_ps));
        whole.0 = row.occupancy_bytes;
        if row.occupancy_bytes > whole.1 {
            (whole.1, whole.2) = (row.occupancy_bytes, row.time_ps);
        }
        let change = row.event.change(row.size_bytes);
        if let Some(class) = row.class.filter(|_| change != 0) {
            match bucket.classes.iter_mut().find(|(known, _)| *known == class) {
                Some((_, sum)) => *sum += change,
                None => bucket.classes.push((class, change)),
            }
        }
        let queue = self.shape.queue(port, row.priority);
        let Some(met) = self.met.get_mut(queue) else { return };
        if met.0 != number {
            *met = (number, bucket.queues.len() as u32);
            let (last, most) = (row.queue_bytes, row.queue_bytes);
            bucket.queues.push(QueueTrace {
                queue: queue as u32,
                last,
                most,
                limit: None,
                counts: [0; KINDS],
            });
        }
        let trace = &mut bucket.queues[met.1 as usize];
        trace.last = row.queue_bytes;
        trace.most = trace.most.max(row.queue_bytes);
        trace.limit = row.threshold_bytes.or(trace.limit);
        trace.counts[row.event as usize] += 1;
    }
}

/// Appends the later part of a bucket to the earlier part.
fn join(earlier: &mut Bucket, later: Bucket) {
    for trace in later.queues {
        match earlier.queues.iter_mut().find(|known| known.queue == trace.queue) {
            Some(known) => {
                known.last = trace.last;
                known.most = known.most.max(trace.most);
                known.limit = trace.limit.or(known.limit);
                add(&mut known.counts, trace.counts);
            }
            None => earlier.queues.push(trace),
        }
    }
    for (class, change) in later.classes {
        match earlier.classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, sum)) => *sum += change,
            None => earlier.classes.push((class, change)),
        }
    }
    earlier.whole = match (earlier.whole, later.whole) {
        (Some(a), Some(b)) if a.1 >= b.1 => Some((b.0, a.1, a.2)),
        (a, b) => b.or(a),
    };
    add(&mut earlier.counts, later.counts);
}

/// Adds the numbers of events of each kind to `sums`.
pub(crate) fn add(sums: &mut [u32; KINDS], counts: [u32; KINDS]) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// Index of the buffer of one switch over a whole run.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) switch: u32,
    pub(crate) shape: Shape,
    pub(crate) end: u64,
    /// Time span of a bucket of the index (ps).
    pub(crate) width: u64,
    /// Buckets of the index that have events, each with the bucket's number.
    pub(crate) buckets: Vec<(u64, Bucket)>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) pauses: Vec<PauseEdge>,
}

impl Index {
    /// Reads all rows of `switch` until `end` (ps), several row groups at a time.
    pub(crate) fn build(source: &Source, switch: u32, shape: Shape, end: u64) -> Result<Self, ViewError> {
        let width = end.div_ceil(BUCKETS).max(1);
        let parts = match source {
            Source::File(table) => {
                let part = |group: usize| {
                    let mut part = Gatherer::new(shape, 0, width);
                    table.visit_brief(group, switch, |row| part.add(&row))?;
                    Ok(part)
                };
                (0..table.groups().len()).into_par_iter().map(part).collect::<Result<Vec<_>, ViewError>>()?
            }
            Source::Memory(rows) => {
                let mut part = Gatherer::new(shape, 0, width);
                rows.iter().for_each(|row| part.add(row));
                vec![part]
            }
        };
        let (buckets, losses, pauses) = Default::default();
        let mut index = Self { switch, shape, end, width, buckets, losses, pauses };
        for part in parts {
            index.append(part);
        }
        Ok(index)
    }

    fn append(&mut self, part: Gatherer) {
        let mut buckets = part.buckets.into_iter();
        if let (Some((last, earlier)), Some((first, _))) =
            (self.buckets.last_mut(), buckets.as_slice().first())
            && last == first
            && let Some((_, later)) = buckets.next()
        {
            join(earlier, later);
        }
        self.buckets.extend(buckets);
        self.losses.extend(part.losses);
        self.pauses.extend(part.pauses);
    }
}

/// Number of events of each kind in the whole index.
pub(crate) fn kind_counts(index: &Index) -> [u64; KINDS] {
    let mut sums = [0; KINDS];
    for (_, bucket) in &index.buckets {
        for (sum, count) in sums.iter_mut().zip(bucket.counts) {
            *sum += u64::from(count);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(row: u64, time_ps: u64, event: PacketEvent, queue_bytes: u64) -> PacketBrief {
        PacketBrief {
            row,
            time_ps,
            event,
            ingress_port: 0,
            port: Some(1),
            priority: 0,
            class: Some(0),
            size_bytes: 100,
            queue_bytes,
            occupancy_bytes: queue_bytes,
            threshold_bytes: Some(500),
        }
    }

    #[test]
    fn parts_that_meet_in_one_bucket_are_as_if_they_had_been_one() {
        let shape = Shape { ports: 2, queues_per_port: 1 };
        let rows = [
            row(0, 5, PacketEvent::Admitted, 100),
            row(1, 12, PacketEvent::Admitted, 200),
            row(2, 13, PacketEvent::Dropped, 200),
            row(3, 14, PacketEvent::Departed, 100),
            row(4, 31, PacketEvent::Departed, 0),
        ];
        let gather = |rows: &[PacketBrief]| {
            let mut gatherer = Gatherer::new(shape, 0, 10);
            rows.iter().for_each(|row| gatherer.add(row));
            gatherer
        };
        let whole = gather(&rows);
        assert_eq!(whole.buckets.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1, 3]);
        let trace = whole.buckets[1].1.queues[0];
        assert_eq!((trace.queue, trace.last, trace.most, trace.limit), (1, 100, 200, Some(500)));
        for cut in 0..=rows.len() {
            let (buckets, losses, pauses) = Default::default();
            let mut index = Index { switch: 0, shape, end: 40, width: 10, buckets, losses, pauses };
            index.append(gather(&rows[..cut]));
            index.append(gather(&rows[cut..]));
            assert_eq!((&index.buckets, &index.losses), (&whole.buckets, &whole.losses), "cut at {cut}");
        }
    }
}
