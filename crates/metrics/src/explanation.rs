//! Explanation of an event in a switch: the decisive limit, the users of the buffer, and the
//! verdicts of other policies about the packet.

use std::fmt;

/// Explanation of a drop, mark, eviction or pause.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Simulated time of the explained event.
    pub time_ns: u64,
    /// Index of the switch in the run's table of switches.
    pub switch: u32,
    /// Egress port of the packet; for a pause, the ingress port.
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Kind of the event: `drop`, `mark`, `eviction` or `pause`.
    pub event: &'static str,
    /// Decisive limit, as the policy names it; `ecn` for a mark, `pause` for a pause.
    pub reason: &'static str,
    /// Name of the switch's policy.
    pub policy: String,
    /// Parameters of the policy in the scenario, including defaults.
    pub params: Vec<(String, String)>,
    /// Class of the packet's flow, as an index into the run's table of classes.
    pub class: u16,
    /// Number of the packet's flow.
    pub flow_id: u64,
    /// Bytes that the packet would occupy in the buffer.
    pub size_bytes: u64,
    /// Tags of the packet, such as `unscheduled` or `retransmission`.
    pub tags: Vec<&'static str>,
    /// Length of the packet's queue before the packet arrived (bytes). For a pause, length of the
    /// ingress queue with the packet.
    pub queue_bytes: u64,
    /// Threshold of the policy for this packet, or the marking threshold (bytes).
    /// For a pause, the limit of the ingress queue.
    pub limit_bytes: Option<u64>,
    /// Comparison by which the policy refused the packet. `None` if the event is no refusal, or the
    /// refusal has no comparison.
    pub bound: Option<BoundText>,
    /// Bytes stored in the whole buffer.
    pub occupancy_bytes: u64,
    /// Size of the buffer (bytes).
    pub buffer_bytes: u64,
    /// Values from which the policy computes the limit ([`limit_bytes`](Self::limit_bytes)), with
    /// the policy's names, such as γ, congested queues or states.
    pub inputs: Vec<(&'static str, f64)>,
    /// Users of the buffer at the time of the event: the largest of each kind, largest first.
    pub holders: Vec<Holder>,
    /// Verdicts that all registered policies would return in the buffer's state at the event. The
    /// switch's own policy has its configuration, all others have default parameters. The list is
    /// empty if the run did not compute the verdicts.
    pub opinions: Vec<PolicyOpinion>,
    /// Registered policies that cannot be built for this switch, with the reasons.
    pub left_out: Vec<(&'static str, String)>,
}

/// A comparison that refused a packet: `held + size > limit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundText {
    /// Name of the queue, port or pool whose bytes were compared, such as
    /// `headroom of ingress queue 3.1`.
    pub what: String,
    /// Number of bytes in the compared queue, port or pool before the packet.
    pub held: u64,
    /// Bytes that the packet adds: whole cells, or 0 if the comparison ignores the packet.
    pub size: u64,
    /// Limit of the compared queue, port or pool (bytes).
    pub limit: u64,
    /// Whether the policy set the limit. Otherwise the limit is a configured size.
    pub by_policy: bool,
}

/// Share of the buffer that a port, queue, class or flow occupies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Kind of the buffer's occupant: `port`, `queue`, `class` or `flow`.
    pub kind: &'static str,
    /// Name of the occupant: `3`, `3.1` (port and priority), a class name, a flow number.
    pub name: String,
    /// Bytes that the port, queue, class or flow has in the buffer.
    pub bytes: u64,
    /// Packets that the port, queue, class or flow has in the buffer.
    pub packets: u64,
}

/// The answer of a policy to an arrival.
/// The text of an answer is `admit`, `admit (headroom)`, a drop reason or `evict from 3.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Store the packet. The text is the name of the charged account, and `None` means the shared
    /// pool.
    Admit(Option<String>),
    /// Evict another packet. The text names the packet's queue by port and priority, such as `3.1`.
    Evict(String),
    /// Drop the packet. The text is the reason of the drop.
    Drop(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The function `pad` fills the text to the column width that the table requests.
        match self {
            Self::Admit(None) => f.pad("admit"),
            Self::Admit(Some(account)) => f.pad(&format!("admit ({account})")),
            Self::Evict(from) => f.pad(&format!("evict from {from}")),
            Self::Drop(reason) => f.pad(reason),
        }
    }
}

impl From<&str> for Answer {
    /// Parses the text of a policy's answer in files of explanations.
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

/// Answer of another registered policy to the explained arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOpinion {
    /// Name of the other policy, which gave the answer.
    pub policy: &'static str,
    /// Answer of the compared policy about the arriving packet.
    pub verdict: Answer,
    /// Limit of the compared policy for the packet (bytes); `None` without a limit.
    pub threshold_bytes: Option<u64>,
}

impl BoundText {
    /// Writes the inequality of the bound with its numbers, and names `policy` if a policy set the
    /// limit.
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
    /// Reason for the event, with the compared numbers, as a sentence without a full stop.
    /// The inequality in the text is true.
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
            // The text of a drop reason may begin with the text of another answer.
            (Answer::Drop("admitted-late".to_owned()), "admitted-late"),
        ];
        for (answer, text) in answers {
            assert_eq!((answer.to_string().as_str(), Answer::from(text)), (text, answer));
        }
        assert_eq!(format!("{:<8}|", Answer::Admit(None)), "admit   |");
    }
}
