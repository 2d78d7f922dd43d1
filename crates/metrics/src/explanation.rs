//! Explanation of an event in a switch: the limit that decided, the users of the buffer, and the
//! answers of other policies.

use std::fmt;

/// Explanation of a drop, mark, eviction or pause.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Time of the event.
    pub time_ns: u64,
    /// Switch index.
    pub switch: u32,
    /// Egress port; for a pause the ingress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// `drop`, `mark`, `eviction` or `pause`.
    pub event: &'static str,
    /// Limit that decided, in the policy's word; `ecn` for a mark, `pause` for a pause.
    pub reason: &'static str,
    /// The switch's policy.
    pub policy: String,
    /// Parameters of the policy from the scenario, or their defaults.
    pub params: Vec<(String, String)>,
    /// Class of the packet's flow, an index into the run's class table.
    pub class: u16,
    /// Flow of the packet.
    pub flow_id: u64,
    /// Bytes that the packet would occupy.
    pub size_bytes: u64,
    /// Marks of the packet: `unscheduled`, `retransmission` …
    pub tags: Vec<&'static str>,
    /// Length of the packet's queue before the packet (bytes); for a pause, length of the ingress
    /// queue with it.
    pub queue_bytes: u64,
    /// Threshold of the policy for this packet, or the marking threshold; for a pause, the limit of
    /// the ingress queue.
    pub limit_bytes: Option<u64>,
    /// Comparison that refused the packet; `None` for other events, and if no comparison decided.
    pub bound: Option<BoundText>,
    /// Bytes in the whole buffer.
    pub occupancy_bytes: u64,
    /// Size of the buffer (bytes).
    pub buffer_bytes: u64,
    /// Values behind the limit ([`limit_bytes`](Self::limit_bytes)), with the policy's names: γ,
    /// congested queues, states …
    pub inputs: Vec<(&'static str, f64)>,
    /// Users of the buffer at that moment: the largest of each kind, largest first.
    pub holders: Vec<Holder>,
    /// Answers of all registered policies in the same state. The switch's own policy has its
    /// configuration, all others default parameters. Empty if they were not computed.
    pub opinions: Vec<PolicyOpinion>,
    /// Registered policies that cannot be built for this switch, with the reasons.
    pub left_out: Vec<(&'static str, String)>,
}

/// A comparison that refused a packet: `held + size > limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundText {
    /// Compared place: `queue`, `headroom of ingress queue 3.1` …
    pub what: String,
    /// Bytes in the compared place before the packet.
    pub held: u64,
    /// Bytes that the packet adds: whole cells, or 0 if the length is compared without the packet.
    pub size: u64,
    /// Limit of the compared place (bytes).
    pub limit: u64,
    /// Whether the policy set the limit; otherwise the limit is a configured size.
    pub by_policy: bool,
}

/// Share of the buffer of a port, queue, class or flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Kind of the holder: `port`, `queue`, `class` or `flow`.
    pub kind: &'static str,
    /// Name: `3`, `3.1` (port and priority), a class name, a flow number.
    pub name: String,
    /// Bytes stored.
    pub bytes: u64,
    /// Packets stored.
    pub packets: u64,
}

/// The answer of a policy to an arrival. The answer's text is `admit`, `admit (headroom)`, a drop
/// reason or
/// `evict from 3.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Store the packet; with the account, if it is not the shared pool.
    Admit(Option<String>),
    /// Evict another packet, from this port and priority.
    Evict(String),
    /// Drop the packet, for this reason.
    Drop(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` fills the text to the column width that the table requests.
        match self {
            Self::Admit(None) => f.pad("admit"),
            Self::Admit(Some(account)) => f.pad(&format!("admit ({account})")),
            Self::Evict(from) => f.pad(&format!("evict from {from}")),
            Self::Drop(reason) => f.pad(reason),
        }
    }
}

impl From<&str> for Answer {
    /// Parses the text of an answer, as in files of explanations.
    fn from(text: &str) -> Self {
        let account = text.strip_prefix("admit (").and_then(|rest| rest.strip_suffix(')'));
        match (account, text.strip_prefix("evict from ")) {
            (Some(account), _) => Self::Admit(Some(account.to_owned())),
            (_, Some(from)) => Self::Evict(from.to_owned()),
            _ if text == "admit" => Self::Admit(None),
            _ => Self::Drop(text.to_owned()),
        }
    }
}

/// Answer of another policy to the arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOpinion {
    /// Name of the policy.
    pub policy: &'static str,
    /// Answer of the policy.
    pub verdict: Answer,
    /// Limit of the policy (bytes), if it has one.
    pub threshold_bytes: Option<u64>,
}

impl BoundText {
    /// The inequality with its numbers; names `policy` if a policy set the limit.
    fn sentence(&self, policy: &str) -> String {
        let Self { what, held, size, limit, by_policy } = self;
        let with = held + size;
        let allows = if *by_policy { format!("{policy} allows") } else { "it has".to_owned() };
        match size {
            0 => format!("{what} {held} B, {allows} {limit} B"),
            _ => format!("{what} {held} B + packet {size} B = {with} B, {allows} {limit} B"),
        }
    }
}

impl Explanation {
    /// Reason for the event, with the compared numbers, as a sentence without a full stop. Any
    /// inequality in it is true.
    #[must_use]
    pub fn because(&self) -> String {
        let Self { queue_bytes, size_bytes, policy, reason, .. } = self;
        if let Some(bound) = &self.bound {
            return bound.sentence(policy);
        }
        match (*reason, self.limit_bytes) {
            ("ecn", Some(limit)) if *queue_bytes >= limit => {
                format!("the queue held {queue_bytes} B, at or above the marking threshold of {limit} B")
            }
            ("pause", Some(limit)) if *queue_bytes > limit => {
                format!(
                    "with it the ingress queue holds {queue_bytes} B, more than the {limit} B of the pool that {policy} lets it have"
                )
            }
            ("pause", _) => {
                format!("{policy} stops the sender; with it the ingress queue holds {queue_bytes} B")
            }
            ("pushed-out", _) => {
                let with = queue_bytes + size_bytes;
                format!("{policy} made room for an arriving packet; this queue held {with} B")
            }
            ("expelled", _) => format!("{policy} shortened the queue; it held {queue_bytes} B after that"),
            ("pfc-watchdog", _) => {
                let with = queue_bytes + size_bytes;
                format!(
                    "the PFC watchdog discards what comes to or from a queue that pauses storm; this one held {with} B with it"
                )
            }
            ("early", _) => {
                format!("{policy} dropped it early, by a probability; the queue held {queue_bytes} B")
            }
            ("predicted", _) => {
                format!("{policy} predicted that it would be lost later; the queue held {queue_bytes} B")
            }
            ("ecn", _) => format!("the marking rule chose it; the queue held {queue_bytes} B"),
            (reason, _) => format!("{reason}; the queue held {queue_bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Answer;

    #[test]
    fn the_text_of_an_answer_is_read_back() {
        let answers = [
            (Answer::Admit(None), "admit"),
            (Answer::Admit(Some("reserved space".to_owned())), "admit (reserved space)"),
            (Answer::Evict("3.1".to_owned()), "evict from 3.1"),
            (Answer::Drop("threshold".to_owned()), "threshold"),
            // A reason that only has the prefix of another answer.
            (Answer::Drop("admitted-late".to_owned()), "admitted-late"),
        ];
        for (answer, text) in answers {
            assert_eq!((answer.to_string().as_str(), Answer::from(text)), (text, answer));
        }
        assert_eq!(format!("{:<8}|", Answer::Admit(None)), "admit   |");
    }
}
