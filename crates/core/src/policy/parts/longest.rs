//! Search for the longest queue by a tournament among all queues. A change of a queue length takes
//! O(log queues), a query of the longest queue O(1).

use crate::buffer::QueueId;
use bufferlab_params::{Choice, ParamInfo, ParamKind, ParamValue, Params, choices};
use bufferlab_units::RandomStream;

/// Parameter `ties` of policies that search for the longest queue.
pub(crate) const TIES: ParamInfo = ParamInfo {
    name: "ties",
    kind: ParamKind::Choice(TieBreak::WORDS),
    default: ParamValue::word(TieBreak::Random.word()),
    artifact_default: None,
    doc: "Choice among several longest queues.",
};

choices! {
    /// Rule that chooses among several queues with the greatest length.
    enum TieBreak {
        Random = "random":
            "every queue draws a seeded random ticket when its length changes; the highest ticket wins, so \
             no queue is favoured",
        First = "first": "the queue with the lowest number",
    }
}

/// Rule for ties between queues of equal length.
#[derive(Clone, Debug)]
pub(crate) enum Ties {
    /// Every queue draws a random ticket at every change of its length. The highest ticket wins.
    Random(RandomStream),
    /// The queue with the lowest number is chosen.
    First,
}

impl Ties {
    /// Rule for queues of equal length, from the parameter [`TIES`].
    /// A random choice uses the random stream `name` of `seed`.
    pub(crate) fn new(params: &Params, seed: u64, name: &str) -> Self {
        match params.choice(TIES.name) {
            TieBreak::Random => Self::Random(RandomStream::new(seed, name, 0)),
            TieBreak::First => Self::First,
        }
    }

    /// A number for `queue` that breaks ties of lengths. The number is never 0.
    fn ticket(&mut self, queue: u16) -> u32 {
        match self {
            Self::Random(stream) => (stream.next_u64() >> 32) as u32 | 1,
            Self::First => u32::MAX - u32::from(queue),
        }
    }
}

/// A queue length and the ticket that breaks ties, in the order of comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    bytes: u64,
    ticket: u32,
}

/// The lengths of all queues, and the longest queue.
#[derive(Clone, Debug)]
pub(crate) struct Longest {
    ties: Ties,
    /// Length and ticket of each queue. The list is padded to a power of two with keys that lose
    /// against every queue.
    keys: Vec<Key>,
    /// Winners of the tournament. `winners[1]` is the longest queue.
    /// The children of node n are 2n and 2n + 1. The queues are the leaves.
    winners: Vec<u16>,
}

impl Longest {
    /// Finds the longest of `queues` queues, which are all empty.
    pub(crate) fn new(queues: usize, mut ties: Ties) -> Self {
        let leaves = queues.next_power_of_two();
        let mut keys = vec![Key::default(); leaves];
        for (queue, key) in keys.iter_mut().take(queues).enumerate() {
            key.ticket = ties.ticket(queue as u16);
        }
        let mut all = Self { ties, keys, winners: vec![0; 2 * leaves] };
        for leaf in 0..leaves {
            all.winners[leaves + leaf] = leaf as u16;
        }
        for node in (1..leaves).rev() {
            all.winners[node] = all.winner_of(node);
        }
        all
    }

    fn key(&self, queue: u16) -> Key {
        self.keys[usize::from(queue)]
    }

    fn winner_of(&self, node: usize) -> u16 {
        let (one, other) = (self.winners[2 * node], self.winners[2 * node + 1]);
        if self.key(one) >= self.key(other) { one } else { other }
    }

    /// Length of the queue `queue`, as last set (bytes).
    #[inline]
    pub(crate) fn bytes(&self, queue: QueueId) -> u64 {
        self.keys[usize::from(queue.0)].bytes
    }

    /// Sets the length of the queue `queue` (bytes).
    pub(crate) fn set(&mut self, queue: QueueId, bytes: u64) {
        let ticket = self.ties.ticket(queue.0);
        self.keys[usize::from(queue.0)] = Key { bytes, ticket };
        let mut node = (self.keys.len() + usize::from(queue.0)) / 2;
        while node > 0 {
            let winner = self.winner_of(node);
            // If another queue won before and still wins, nodes closer to the root do not change.
            if winner == self.winners[node] && winner != queue.0 {
                break;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The queue with the most bytes.
    #[inline]
    pub(crate) fn longest(&self) -> QueueId {
        QueueId(self.winners[1])
    }

    /// Longest queue except `queue`; `queue` itself if the switch has no other queue.
    pub(crate) fn longest_other_than(&self, queue: QueueId) -> QueueId {
        let mut best: Option<u16> = None;
        let mut node = self.keys.len() + usize::from(queue.0);
        while node > 1 {
            let sibling = self.winners[node ^ 1];
            if best.is_none_or(|best| self.key(sibling) > self.key(best)) {
                best = Some(sibling);
            }
            node /= 2;
        }
        best.map_or(queue, QueueId)
    }

    /// Whether `queue` with `bytes` bytes would be the longest queue instead of `longest`.
    /// The function draws a random ticket if the lengths are equal.
    pub(crate) fn would_lead(&mut self, queue: QueueId, bytes: u64, longest: QueueId) -> bool {
        let leader = self.key(longest.0);
        match bytes.cmp(&leader.bytes) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => self.ties.ticket(queue.0) > leader.ticket,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ties(random: bool) -> Ties {
        if random { Ties::Random(RandomStream::new(3, "test/ties", 0)) } else { Ties::First }
    }

    #[test]
    fn the_tournament_finds_what_a_search_finds() {
        for (queues, random) in [(1, false), (2, true), (3, false), (7, true), (16, false), (33, true)] {
            let mut longest = Longest::new(queues, ties(random));
            let mut stream = RandomStream::new(queues as u64, "test/longest", 0);
            for _ in 0..2_000 {
                let queue = QueueId(stream.below(queues as u64) as u16);
                longest.set(queue, stream.below(6));
                let all = 0..queues as u16;
                let by_search = |except: Option<u16>| {
                    all.clone().filter(|&queue| Some(queue) != except).max_by_key(|&queue| longest.key(queue))
                };
                assert_eq!(Some(longest.longest().0), by_search(None));
                if queues > 1 {
                    assert_eq!(Some(longest.longest_other_than(queue).0), by_search(Some(queue.0)));
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_first_or_to_everyone_alike() {
        let mut wins = [0_u32; 5];
        let (mut first, mut random) = (Longest::new(5, ties(false)), Longest::new(5, ties(true)));
        for round in 1..=5_000 {
            for queue in 0..5 {
                first.set(QueueId(4 - queue), round);
                random.set(QueueId(4 - queue), round);
            }
            assert_eq!(first.longest(), QueueId(0));
            wins[usize::from(random.longest().0)] += 1;
        }
        assert!(wins.iter().all(|&count| (850..1_150).contains(&count)), "{wins:?}");
    }
}
