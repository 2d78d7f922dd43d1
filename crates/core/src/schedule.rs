//! The scheduler of a port, which chooses the next queue. It serves groups of queues in strict
//! order of priority, and each group by one discipline. Ports may have different schedules, and
//! queues and ports may have limited rates.

mod ports;

use crate::buffer::{Buffer, End, QueueId};
use bufferlab_params::choices;
use ports::{Due, PortSchedules, RateLimits};
use std::fmt;

pub use ports::RateLimit;

/// Maximum queues per port, so that a port's queues fit one bit mask.
pub const MAX_QUEUES_PER_PORT: usize = 32;

choices! {
    /// Name of a schedule that needs no other parameter, for all queues of a port.
    pub enum SchedulerName {
        Fifo = "fifo": "in order of arrival over all queues",
        RoundRobin = "round_robin": "one packet from each queue in round robin",
        StrictPriority = "strict_priority": "queue 0 first, then queue 1, and so on",
    }
}

impl SchedulerName {
    /// The groups of a port with `queues` queues, highest group first.
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
    /// Name of a [`Discipline`] without the shares of its queues.
    #[derive(Default)]
    pub enum DisciplineName {
        #[default]
        Fifo = "fifo": "in order of arrival over the group's queues",
        RoundRobin = "round_robin": "one packet from each queue",
        WeightedRoundRobin = "weighted_round_robin": "`weights` packets from each queue per round",
        DeficitRoundRobin = "deficit_round_robin": "`quanta` bytes from each queue per round",
    }
}

/// Order in which a port serves the queues of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// Order of arrival over all queues of the group.
    /// At equal times the queue with the lower number is first.
    Fifo,
    /// Sends one packet from each queue of the group in turn.
    RoundRobin,
    /// Sends `weights[k]` packets of the k-th queue of the group per round (at least 1).
    WeightedRoundRobin(Vec<u32>),
    /// Deficit round robin (Shreedhar and Varghese 1995):
    /// sends `quanta[k]` bytes of the k-th queue of the group per round.
    DeficitRoundRobin(Vec<u32>),
}

/// Queues of a port that share a scheduling discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Priorities of the queues in the group. Each priority belongs to one group only.
    pub queues: Vec<u8>,
    /// Order in which the port serves the queues of the group.
    pub discipline: Discipline,
}

/// Error: a scheduler that does not fit the queues of a port.
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

/// Simplest way in which the scheduler can choose among the queues of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// Chooses the lowest queue that may send. The port has only one queue, or each group is a
    /// single queue and the groups are in ascending order.
    Lowest,
    /// Serves all queues of the port in one round robin.
    RoundRobin,
    /// Any other schedule: the scheduler goes through the groups. Ports may have different
    /// schedules.
    ByGroup,
}

/// The schedule of all ports of a switch: groups in strict order, highest first. Some ports may
/// have other schedules.
#[derive(Clone, Debug)]
pub struct Scheduler {
    choice: Choice,
    groups: Vec<CompiledGroup>,
    /// Index of the scheduling group of each priority.
    group_of: [u8; MAX_QUEUES_PER_PORT],
    /// Packets or bytes that each priority may send per round.
    share: Box<[u32; MAX_QUEUES_PER_PORT]>,
    /// Schedules of all ports. `None` if all ports share one schedule.
    by_port: Option<Box<PortSchedules>>,
    /// Limits of the rates of queues and ports. `None` if no rate is limited.
    rates: Option<Box<RateLimits>>,
}

/// State of the scheduler for all ports. Empty if the scheduler always chooses the lowest queue, or
/// serves all queues of a port in one round robin: the switch keeps the position of that round
/// robin with the port ([`Scheduler::pick`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Current queue, and number of packets that the queue may still send in this round, by port
    /// and group.
    of_groups: Vec<GroupTurn>,
    /// Unused bytes by port and priority, if any group uses deficit round robin.
    deficit: Vec<[u32; MAX_QUEUES_PER_PORT]>,
    /// States of the schedules, if ports have different schedules.
    of_schedules: Vec<Turns>,
    /// Times at which limited rates allow the next packets.
    due: Due,
}

/// The queue that the scheduler chose to send next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picked {
    pub(crate) queue: u8,
    /// Queue at which the search began. A round robin skipped the queues from `from` up to but not
    /// `queue`.
    from: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct GroupTurn {
    cursor: u8,
    left: u32,
}

/// The next queue in a round robin at `cursor` among `candidates`, which are not empty.
#[inline(always)] // One of the callers is on the hot path.
fn go_on_to_next(cursor: &mut u8, candidates: u32) -> Picked {
    let from = *cursor;
    let queue = next_from(from, candidates);
    *cursor = after(queue);
    Picked { queue, from }
}

impl GroupTurn {
    /// Counts a sent packet of `queue`, which sends `share` packets per round.
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
    /// Round robin over `queues` queues, which is the default in the papers.
    #[must_use]
    pub fn round_robin(queues: usize) -> Self {
        Self::named(SchedulerName::RoundRobin, queues)
    }

    /// Schedule that sends packets in their order of arrival, for `queues` queues.
    #[must_use]
    pub fn fifo(queues: usize) -> Self {
        Self::named(SchedulerName::Fifo, queues)
    }

    /// Schedule of strict priority: queue 0 before queue 1 before queue 2 …
    #[must_use]
    pub fn strict_priority(queues: usize) -> Self {
        Self::named(SchedulerName::StrictPriority, queues)
    }

    /// The schedule with the name `name` for a port of `queues` queues.
    ///
    /// # Panics
    /// If `queues` is zero or above [`MAX_QUEUES_PER_PORT`].
    #[must_use]
    pub fn named(name: SchedulerName, queues: usize) -> Self {
        Self::new(&name.groups(queues as u8), queues).expect("its groups name every queue once")
    }

    /// The schedule with `strict` as its groups of strict priority, highest group first.
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
            // A group with a single queue needs no round robin.
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
            None => Ok(Self {
                choice,
                groups: compiled,
                group_of,
                share: Box::new(share),
                by_port: None,
                rates: None,
            }),
        }
    }

    /// Initial state of the scheduler for `ports` ports.
    pub(crate) fn new_turns(&self, ports: usize) -> Turns {
        let due = self.rates.as_ref().map_or_else(Due::default, |rates| rates.new_due());
        if let Some(by_port) = &self.by_port {
            return Turns { of_schedules: by_port.new_turns(ports), due, ..Turns::default() };
        }
        if !self.has_turns() {
            return Turns { due, ..Turns::default() };
        }
        let deficit_ports = if self.looks_at_packets() { ports } else { 0 };
        Turns {
            of_groups: vec![GroupTurn::default(); ports * self.groups.len()],
            deficit: vec![[0; MAX_QUEUES_PER_PORT]; deficit_ports],
            of_schedules: Vec::new(),
            due,
        }
    }

    /// Whether the scheduler's choice depends on [`Turns`].
    pub(crate) fn has_turns(&self) -> bool {
        self.choice == Choice::ByGroup
    }

    /// Whether each of `queues` queues per port belongs to a group.
    pub(crate) fn covers(&self, queues: usize) -> bool {
        let mask = self.groups.iter().fold(0, |mask, group| mask | group.mask);
        let others = self.by_port.as_ref().is_none_or(|by_port| by_port.cover(queues));
        others && queues <= MAX_QUEUES_PER_PORT && (0..queues).all(|queue| mask & (1 << queue) != 0)
    }

    /// Whether the scheduler must read a packet even if only one queue has packets.
    pub(crate) fn looks_at_packets(&self) -> bool {
        self.by_port.is_some() || self.groups.iter().any(|group| group.turn == Turn::Deficit)
    }

    /// The queue of `port` that sends next among the queues `ready`. Bit p of `ready` is set if
    /// queue p has a packet and may send. `cursor` belongs to the port: the queue at which a round
    /// robin over all queues continues.
    #[inline(always)] // Otherwise no generic caller inlines this function, and one caller is hot.
    pub(crate) fn pick(
        &self,
        turns: &mut Turns,
        cursor: &mut u8,
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
            Choice::RoundRobin => Some(go_on_to_next(cursor, ready)),
            Choice::ByGroup if self.by_port.is_none() => {
                self.pick_by_group(turns, port, ready, first_queue, buffer)
            }
            Choice::ByGroup => self.pick_by_port(turns, cursor, port, ready, first_queue, buffer),
        }
    }

    /// Records a packet that bypasses its queue `queue` because `port` is idle. Each round robin of
    /// a group continues with the queue after `queue`. The caller sets the cursor of the port
    /// ([`Self::pick`]) to the queue after `queue`, and must not use deficit round robin.
    #[inline(always)] // On the hot path.
    pub(crate) fn note_bypass(&self, turns: &mut Turns, port: u16, queue: u8) {
        match self.choice {
            Choice::Lowest | Choice::RoundRobin => {}
            Choice::ByGroup => {
                debug_assert!(self.by_port.is_none(), "a scheduler of different ports has no bypass");
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

    /// Queues that a round robin of `port` skipped before it picked one of `ready`,
    /// because these queues were empty or paused.
    pub(crate) fn passed(&self, port: u16, picked: Picked, ready: u32) -> u32 {
        if let Some(by_port) = &self.by_port {
            return by_port.of(port).1.passed(port, picked, ready);
        }
        let group = &self.groups[usize::from(self.group_of[usize::from(picked.queue)])];
        let own = if group.turn == Turn::RoundRobin { group.mask } else { 0 };
        between(picked.from, picked.queue) & own & !ready
    }

    /// Picks a queue like [`Self::pick`], for several groups, or for one group that is not
    /// a round robin.
    #[inline(always)] // On the hot path, as its caller.
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
                Turn::RoundRobin => return Some(go_on_to_next(&mut turn.cursor, candidates)),
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
        // The variable `left` is 1 once the queue at the cursor has received its quantum of this
        // round.
        loop {
            let queue = next_from(turn.cursor, candidates);
            if queue != turn.cursor {
                // The queue at the cursor has no packet, so the queue forfeits its deficit. The
                // cursor may also be beyond the group's last queue, at a queue whose deficit
                // belongs to another group.
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
            let head = buffer.peek(id, End::Head).map_or(0, |stored| buffer.frame_bytes(stored));
            if head <= *own {
                *own -= head;
                if buffer.queue_packets(id) == 1 {
                    // The queue empties and loses the rest of its deficit.
                    *own = 0;
                    (turn.cursor, turn.left) = (after(queue), 0);
                }
                return queue;
            }
            (turn.cursor, turn.left) = (after(queue), 0);
        }
    }
}

/// The number of the queue after `queue`.
#[inline]
pub(crate) fn after(queue: u8) -> u8 {
    (queue + 1) % MAX_QUEUES_PER_PORT as u8
}

/// The first set bit of `mask` at or cyclically after `cursor`.
/// The caller passes a `mask` that is not zero.
#[inline]
fn next_from(cursor: u8, mask: u32) -> u8 {
    let ahead = mask & (u32::MAX << cursor);
    (if ahead != 0 { ahead } else { mask }).trailing_zeros() as u8
}

/// Mask of the bits from `from` up to but not `to`, cyclically.
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
