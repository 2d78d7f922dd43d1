//! Which queue of a port sends next: strict-priority groups, one discipline within each.

use crate::buffer::{Buffer, End, QueueId};
use bufferlab_params::choices;
use std::fmt;

/// At most this many queues per port: a port's queues fit one bit mask.
pub const MAX_QUEUES_PER_PORT: usize = 32;

choices! {
    /// A schedule of all queues of a port that needs no more than its name.
    pub enum SchedulerName {
        Fifo = "fifo": "in order of arrival over all queues",
        RoundRobin = "round_robin": "one packet of each queue in turn",
        StrictPriority = "strict_priority": "queue 0 first, then queue 1, and so on",
    }
}

impl SchedulerName {
    /// The groups of a port with `queues` queues, highest first.
    #[must_use]
    pub fn groups(self, queues: u8) -> Vec<Group> {
        let all = || (0..queues).collect();
        match self {
            Self::Fifo => vec![Group { queues: all(), discipline: Discipline::Fifo }],
            Self::RoundRobin => vec![Group { queues: all(), discipline: Discipline::RoundRobin }],
            Self::StrictPriority => {
                (0..queues).map(|queue| Group { queues: vec![queue], discipline: Discipline::Fifo }).collect()
            }
        }
    }
}

choices! {
    /// The name of a [`Discipline`], without its shares.
    #[derive(Default)]
    pub enum DisciplineName {
        #[default]
        Fifo = "fifo": "in order of arrival over the group's queues",
        RoundRobin = "round_robin": "one packet each",
        WeightedRoundRobin = "weighted_round_robin": "`weights` packets each",
        DeficitRoundRobin = "deficit_round_robin": "`quanta` bytes each",
    }
}

/// How the queues of a group take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// In order of arrival over all queues of the group; at one instant the lower queue goes first.
    Fifo,
    /// One packet each.
    RoundRobin,
    /// `weights[k]` packets of the k-th queue of the group per round (at least 1).
    WeightedRoundRobin(Vec<u32>),
    /// Deficit round robin (Shreedhar and Varghese 1995): `quanta[k]` bytes for the k-th queue of
    /// the group per round.
    DeficitRoundRobin(Vec<u32>),
}

/// Queues of a port that share a discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Priorities, each at most once over all groups.
    pub queues: Vec<u8>,
    /// How they take turns.
    pub discipline: Discipline,
}

/// A scheduler that does not fit its queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError(String);

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScheduleError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Fifo,
    RoundRobin,
    Weighted,
    Deficit,
}

#[derive(Clone, Debug)]
struct CompiledGroup {
    mask: u32,
    turn: Turn,
}

/// What the choice among queues comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// The lowest queue that may send: there is one, or each is a group of its own in this order.
    Lowest,
    /// One round robin over all queues.
    RoundRobin,
    /// Anything else: group by group.
    ByGroup,
}

/// The schedule of all ports of a switch: strict order of groups, highest first.
#[derive(Clone, Debug)]
pub struct Scheduler {
    choice: Choice,
    groups: Vec<CompiledGroup>,
    /// By priority: its group.
    group_of: [u8; MAX_QUEUES_PER_PORT],
    /// Packets or bytes per round, by priority.
    share: Box<[u32; MAX_QUEUES_PER_PORT]>,
}

/// What the scheduler remembers of all ports; nothing where it only ever chooses the lowest queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// By port and group: the queue whose turn it is, and what is left of its turn.
    of_groups: Vec<GroupTurn>,
    /// By port and priority: unused bytes, where some group is of deficit round robin.
    deficit: Vec<[u32; MAX_QUEUES_PER_PORT]>,
}

/// A queue that was chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picked {
    pub(crate) queue: u8,
    /// Whose turn it had been: a round robin passed what lies between.
    from: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct GroupTurn {
    cursor: u8,
    left: u32,
}

impl GroupTurn {
    /// The next of `candidates` in a round robin. They are not empty.
    #[inline(always)] // As the hot one of its callers.
    fn go_on_to_next(&mut self, candidates: u32) -> Picked {
        let from = self.cursor;
        let queue = next_from(from, candidates);
        self.cursor = after(queue);
        Picked { queue, from }
    }

    /// A packet of `queue`, which has so many per round.
    fn take_weighted(&mut self, queue: u8, share: u32) {
        if queue != self.cursor || self.left == 0 {
            (self.cursor, self.left) = (queue, share);
        }
        self.left -= 1;
        if self.left == 0 {
            self.cursor = after(queue);
        }
    }
}

impl Scheduler {
    /// Round robin over `queues` queues: the papers' default.
    #[must_use]
    pub fn round_robin(queues: usize) -> Self {
        Self::named(SchedulerName::RoundRobin, queues)
    }

    /// Order of arrival over `queues` queues.
    #[must_use]
    pub fn fifo(queues: usize) -> Self {
        Self::named(SchedulerName::Fifo, queues)
    }

    /// Queue 0 before queue 1 before queue 2 …
    #[must_use]
    pub fn strict_priority(queues: usize) -> Self {
        Self::named(SchedulerName::StrictPriority, queues)
    }

    /// The schedule of this name over `queues` queues.
    ///
    /// # Panics
    /// If `queues` is zero or above [`MAX_QUEUES_PER_PORT`].
    #[must_use]
    pub fn named(name: SchedulerName, queues: usize) -> Self {
        Self::new(&name.groups(queues as u8), queues).expect("its groups name every queue once")
    }

    /// Strict-priority groups, highest first.
    ///
    /// # Errors
    /// If the groups do not name each of the `queues` queues exactly once, or a share is missing or
    /// zero.
    pub fn new(groups: &[Group], queues: usize) -> Result<Self, ScheduleError> {
        if queues == 0 || queues > MAX_QUEUES_PER_PORT {
            return Err(ScheduleError(format!(
                "{queues} queues per port; expected 1 to {MAX_QUEUES_PER_PORT}"
            )));
        }
        let (mut seen, mut share, mut compiled) = (0_u32, [1; MAX_QUEUES_PER_PORT], Vec::new());
        let mut group_of = [0; MAX_QUEUES_PER_PORT];
        for group in groups {
            let mut mask = 0;
            for &queue in &group.queues {
                if queue as usize >= queues {
                    return Err(ScheduleError(format!("queue {queue} does not exist; a port has {queues}")));
                }
                if seen & (1 << queue) != 0 {
                    return Err(ScheduleError(format!("queue {queue} is named twice")));
                }
                seen |= 1 << queue;
                mask |= 1 << queue;
                group_of[queue as usize] = compiled.len() as u8;
            }
            let (turn, shares) = match &group.discipline {
                Discipline::Fifo => (Turn::Fifo, None),
                Discipline::RoundRobin => (Turn::RoundRobin, None),
                Discipline::WeightedRoundRobin(weights) => (Turn::Weighted, Some(weights)),
                Discipline::DeficitRoundRobin(quanta) => (Turn::Deficit, Some(quanta)),
            };
            if let Some(shares) = shares {
                if shares.len() != group.queues.len() || shares.contains(&0) {
                    let message = format!(
                        "{} shares for {} queues; expected one positive share per queue",
                        shares.len(),
                        group.queues.len()
                    );
                    return Err(ScheduleError(message));
                }
                for (&queue, &value) in group.queues.iter().zip(shares) {
                    share[queue as usize] = value;
                }
            }
            // Where there is one queue it is always its turn.
            let turn = if group.queues.len() == 1 { Turn::Fifo } else { turn };
            compiled.push(CompiledGroup { mask, turn });
        }
        let lowest =
            compiled.iter().zip(0..).all(|(group, queue): (&CompiledGroup, u32)| group.mask == 1 << queue);
        let choice = match compiled[..] {
            _ if lowest => Choice::Lowest,
            [CompiledGroup { turn: Turn::RoundRobin, .. }] => Choice::RoundRobin,
            _ => Choice::ByGroup,
        };
        match (0..queues).find(|&queue| seen & (1 << queue) == 0) {
            Some(queue) => Err(ScheduleError(format!("queue {queue} is in no group: it would never send"))),
            None => Ok(Self { choice, groups: compiled, group_of, share: Box::new(share) }),
        }
    }

    /// What is remembered of so many ports, before anything is sent.
    pub(crate) fn new_turns(&self, ports: usize) -> Turns {
        if !self.takes_turns() {
            return Turns::default();
        }
        let deficit_ports = if self.looks_at_packets() { ports } else { 0 };
        Turns {
            of_groups: vec![GroupTurn::default(); ports * self.groups.len()],
            deficit: vec![[0; MAX_QUEUES_PER_PORT]; deficit_ports],
        }
    }

    /// Whether it remembers what was sent.
    pub(crate) fn takes_turns(&self) -> bool {
        self.choice != Choice::Lowest
    }

    /// Whether each of `queues` queues per port belongs to a group.
    pub(crate) fn covers(&self, queues: usize) -> bool {
        let mask = self.groups.iter().fold(0, |mask, group| mask | group.mask);
        queues <= MAX_QUEUES_PER_PORT && (0..queues).all(|queue| mask & (1 << queue) != 0)
    }

    /// Whether the choice among queues depends on a packet even where only one queue has any.
    pub(crate) fn looks_at_packets(&self) -> bool {
        self.groups.iter().any(|group| group.turn == Turn::Deficit)
    }

    /// The queue of `port` that sends next among `ready` (bit p: queue p has a packet and may
    /// send).
    #[inline(always)] // One of two instances of its generic caller is hot: without this none would contain it.
    pub(crate) fn pick(
        &self,
        turns: &mut Turns,
        port: u16,
        ready: u32,
        first_queue: u16,
        buffer: &Buffer,
    ) -> Option<Picked> {
        if ready == 0 {
            return None;
        }
        match self.choice {
            Choice::Lowest => {
                let queue = ready.trailing_zeros() as u8;
                Some(Picked { queue, from: queue })
            }
            Choice::RoundRobin => Some(turns.of_groups[usize::from(port)].go_on_to_next(ready)),
            Choice::ByGroup => self.pick_by_group(turns, port, ready, first_queue, buffer),
        }
    }

    /// A packet of `queue` is sent at once, because nothing waits at its `port`: the next turn is
    /// that of the queue behind it. Not for deficits.
    #[inline(always)] // Into the hot path.
    pub(crate) fn note_passage(&self, turns: &mut Turns, port: u16, queue: u8) {
        match self.choice {
            Choice::Lowest => {}
            Choice::RoundRobin => turns.of_groups[usize::from(port)].cursor = after(queue),
            Choice::ByGroup => {
                let index = usize::from(self.group_of[usize::from(queue) % MAX_QUEUES_PER_PORT]);
                let turn = &mut turns.of_groups[usize::from(port) * self.groups.len() + index];
                match self.groups[index].turn {
                    Turn::Fifo => {}
                    Turn::RoundRobin => turn.cursor = after(queue),
                    Turn::Weighted => turn.take_weighted(queue, self.share[usize::from(queue)]),
                    Turn::Deficit => debug_assert!(false, "deficits depend on the packet"),
                }
            }
        }
    }

    /// The queues that a round robin passed on its way to what was picked among `ready`, because
    /// they were not ready: empty or paused.
    pub(crate) fn passed(&self, picked: Picked, ready: u32) -> u32 {
        let group = &self.groups[usize::from(self.group_of[usize::from(picked.queue)])];
        let own = if group.turn == Turn::RoundRobin { group.mask } else { 0 };
        between(picked.from, picked.queue) & own & !ready
    }

    /// [`Self::pick`] where there are several groups, or one that is not a round robin.
    #[inline(always)] // As its caller.
    fn pick_by_group(
        &self,
        turns: &mut Turns,
        port: u16,
        ready: u32,
        first_queue: u16,
        buffer: &Buffer,
    ) -> Option<Picked> {
        let first = usize::from(port) * self.groups.len();
        for (group, turn) in self.groups.iter().zip(&mut turns.of_groups[first..]) {
            let candidates = ready & group.mask;
            if candidates == 0 {
                continue;
            }
            let from = turn.cursor;
            let queue = match group.turn {
                Turn::RoundRobin => return Some(turn.go_on_to_next(candidates)),
                Turn::Fifo => oldest(candidates, first_queue, buffer),
                Turn::Weighted => {
                    let queue = next_from(turn.cursor, candidates);
                    turn.take_weighted(queue, self.share[queue as usize]);
                    queue
                }
                Turn::Deficit => {
                    let deficit = &mut turns.deficit[usize::from(port)];
                    self.deficit_turn(turn, deficit, group.mask, candidates, first_queue, buffer)
                }
            };
            return Some(Picked { queue, from });
        }
        None
    }

    #[inline(never)]
    fn deficit_turn(
        &self,
        turn: &mut GroupTurn,
        deficit: &mut [u32],
        group: u32,
        candidates: u32,
        first_queue: u16,
        buffer: &Buffer,
    ) -> u8 {
        // `left` is 1 while the cursor's queue is within its turn.
        loop {
            let queue = next_from(turn.cursor, candidates);
            if queue != turn.cursor {
                // The queue whose turn it was has nothing to send: it forfeits its deficit. The
                // cursor may also stand behind the group's last queue, on one whose deficit is not
                // this group's.
                if group & (1 << turn.cursor) != 0 {
                    deficit[turn.cursor as usize] = 0;
                }
                (turn.cursor, turn.left) = (queue, 0);
            }
            let own = &mut deficit[queue as usize];
            if turn.left == 0 {
                *own = own.saturating_add(self.share[queue as usize]);
                turn.left = 1;
            }
            let id = QueueId(first_queue + u16::from(queue));
            let head = buffer.peek(id, End::Head).map_or(0, |stored| stored.size);
            if head <= *own {
                *own -= head;
                if buffer.queue_packets(id) == 1 {
                    // It empties: what is left of its turn is lost.
                    *own = 0;
                    (turn.cursor, turn.left) = (after(queue), 0);
                }
                return queue;
            }
            (turn.cursor, turn.left) = (after(queue), 0);
        }
    }
}

/// The queue behind `queue`.
#[inline]
fn after(queue: u8) -> u8 {
    (queue + 1) % MAX_QUEUES_PER_PORT as u8
}

/// The first set bit of `mask` at or cyclically after `cursor`. `mask` is not zero.
#[inline]
fn next_from(cursor: u8, mask: u32) -> u8 {
    let ahead = mask & (u32::MAX << cursor);
    (if ahead != 0 { ahead } else { mask }).trailing_zeros() as u8
}

/// Bits cyclically in `from..to`.
#[inline]
fn between(from: u8, to: u8) -> u32 {
    let below = |bit: u8| (1_u32 << bit) - 1;
    if from <= to { below(to) & !below(from) } else { below(to) | !below(from) }
}

fn oldest(candidates: u32, first_queue: u16, buffer: &Buffer) -> u8 {
    if candidates.is_power_of_two() {
        return candidates.trailing_zeros() as u8;
    }
    (0..MAX_QUEUES_PER_PORT as u8)
        .filter(|queue| candidates & (1 << queue) != 0)
        .min_by_key(|&queue| {
            let id = QueueId(first_queue + u16::from(queue));
            buffer.peek(id, End::Head).map(|stored| stored.enqueued_at)
        })
        .expect("a candidate exists")
}
