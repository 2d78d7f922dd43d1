//! Explained events of a run. Explanations are nested and few, so the run stores them as JSON
//! instead of a table.

use bufferlab_metrics::{Answer, Explanation, Holder, PolicyOpinion};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

/// An explained event; see [`Explanation`] for the meaning of each field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the fields are those of Explanation, with names in place of indices")]
pub struct ExplanationRecord {
    pub time_ns: u64,
    pub switch: String,
    pub port: u16,
    pub priority: u8,
    pub event: String,
    pub reason: String,
    pub because: String,
    pub policy: String,
    pub params: Vec<(String, String)>,
    pub class: String,
    pub flow_id: u64,
    pub size_bytes: u64,
    pub tags: Vec<String>,
    pub queue_bytes: u64,
    pub limit_bytes: Option<u64>,
    pub occupancy_bytes: u64,
    pub buffer_bytes: u64,
    pub inputs: Vec<(String, f64)>,
    pub holders: Vec<HolderRecord>,
    pub opinions: Vec<OpinionRecord>,
    /// Policies that cannot be built for the switch; absent from folders of older versions.
    #[serde(default)]
    pub left_out: Vec<LeftOutRecord>,
}

/// Document of explanations for programs. `format_version` increases if a field changes its meaning
/// or is removed; new fields do not change the version.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "bufferlab explanations")]
struct ExplanationsFile<'a> {
    /// Name of the document's format, always `bufferlab-explanations`.
    format: &'static str,
    /// Version of the document's format: 1.
    format_version: u32,
    /// Explained events, in order of time.
    explanations: &'a [ExplanationRecord],
}

/// Formats explanations as a JSON document that follows [`explanations_schema`].
///
/// # Errors
/// If JSON cannot represent a number.
pub fn explanations_json(explanations: &[ExplanationRecord]) -> serde_json::Result<String> {
    let file = ExplanationsFile { format: "bufferlab-explanations", format_version: 1, explanations };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Returns the JSON schema of [`explanations_json`].
#[must_use]
pub fn explanations_schema() -> Schema {
    schema_for!(ExplanationsFile<'_>)
}

/// A policy that could not be built for the switch, so the explanation lacks its decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutRecord {
    /// Name of the policy that cannot be built.
    pub policy: String,
    /// Reason why the policy cannot be built for this switch.
    pub reason: String,
}

/// Share of the buffer that a port, queue, class or flow occupied at the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderRecord {
    /// Kind of the occupant: `port`, `queue`, `class` or `flow`.
    pub kind: String,
    /// Name of the port, queue, class or flow.
    pub name: String,
    /// Bytes that the port, queue, class or flow occupied.
    pub bytes: u64,
    /// Packets of the port, queue, class or flow in the buffer.
    pub packets: u64,
}

/// Decision that another policy would have made on the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpinionRecord {
    /// Name of the other policy, which decides about the event.
    pub policy: String,
    /// Decision of the other policy: `admit`, a drop reason, or `evict from 3.1`.
    #[serde(with = "answer")]
    #[schemars(with = "String")]
    pub verdict: Answer,
    /// Limit of the other policy for the packet (bytes); `None` without a limit.
    pub threshold_bytes: Option<u64>,
}

impl ExplanationRecord {
    /// Converts an explanation of the simulator and replaces indices by names.
    #[must_use]
    pub fn new(explanation: &Explanation, switches: &[String], classes: &[String]) -> Self {
        let e = explanation;
        let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
        Self {
            time_ns: e.time_ns,
            switch: name(switches, e.switch as usize),
            port: e.port,
            priority: e.priority,
            event: e.event.to_owned(),
            reason: e.reason.to_owned(),
            because: e.because(),
            policy: e.policy.clone(),
            params: e.params.clone(),
            class: name(classes, usize::from(e.class)),
            flow_id: e.flow_id,
            size_bytes: e.size_bytes,
            tags: e.tags.iter().map(|&tag| tag.to_owned()).collect(),
            queue_bytes: e.queue_bytes,
            limit_bytes: e.limit_bytes,
            occupancy_bytes: e.occupancy_bytes,
            buffer_bytes: e.buffer_bytes,
            inputs: e.inputs.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            holders: e.holders.iter().map(HolderRecord::new).collect(),
            opinions: e.opinions.iter().map(OpinionRecord::new).collect(),
            left_out: e.left_out.iter().map(LeftOutRecord::new).collect(),
        }
    }
}

impl HolderRecord {
    fn new(holder: &Holder) -> Self {
        let Holder { kind, name, bytes, packets } = holder;
        Self { kind: (*kind).to_owned(), name: name.clone(), bytes: *bytes, packets: *packets }
    }
}

impl LeftOutRecord {
    fn new((policy, reason): &(&'static str, String)) -> Self {
        Self { policy: (*policy).to_owned(), reason: reason.clone() }
    }
}

impl OpinionRecord {
    fn new(opinion: &PolicyOpinion) -> Self {
        let PolicyOpinion { policy, verdict, threshold_bytes } = opinion;
        Self { policy: (*policy).to_owned(), verdict: verdict.clone(), threshold_bytes: *threshold_bytes }
    }
}

/// Serialises the decision of a policy as text.
mod answer {
    use bufferlab_metrics::Answer;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(answer: &Answer, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(answer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Answer, D::Error> {
        Ok(Answer::from(String::deserialize(from)?.as_str()))
    }
}
