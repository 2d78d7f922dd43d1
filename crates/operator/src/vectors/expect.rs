//! Compares the expectations of a qualification file (`qos_params` of sonic-mgmt) with the model.
//! The model meets an expectation, or the comparison names the setting or memory size that explains
//! the difference.

use super::params::{self, Node};
use super::yaml::{MARGIN, family};
use super::{GroupVector, Vectors};
use crate::OperatorError;
use bufferlab_sonic::silicon::{GroupPoint, Prediction};
use bufferlab_units::printable;
use serde::Serialize;
use std::fmt::Write as _;

/// Exponents of alpha that SONiC's chips accept.
const EXPONENTS: std::ops::RangeInclusive<i8> = -7..=7;

/// A testers' expectation, with the prediction of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// Number of the expectation's line in the qualification file.
    pub line: usize,
    /// Path of the value in the file: topology, speed and cable, test, and name.
    pub path: String,
    /// Value that the testers expect (packets, groups or bytes).
    pub expected: u64,
    /// Value that the model predicts; absent if the model has no prediction.
    pub predicted: Option<u64>,
    /// Difference between prediction and expectation that the test allows (packets).
    pub margin: u64,
    /// Whether the model meets the expectation.
    pub met: bool,
    /// Setting or memory size that explains the difference between prediction and expectation, or
    /// the reason why no prediction exists.
    pub why: String,
}

/// Compares every expectation of a qualification file for the chip family with the model.
/// `topology` restricts the expectations to one entry `topo-...`.
///
/// # Errors
/// If the file is damaged, or has no expectations for the chip family or the topology.
pub fn expectations(
    text: &str,
    vectors: &Vectors,
    prediction: &Prediction,
    topology: Option<&str>,
) -> Result<Vec<Expectation>, OperatorError> {
    let root = params::read(text)?;
    let all = root.get("qos_params").unwrap_or(&root);
    let name = family(vectors.chip);
    let chip = all.get(&name).ok_or_else(|| {
        let known: Vec<_> = all.entries().iter().map(|(name, _)| name.as_str()).collect();
        OperatorError::new(
            format!("the file has no expectations for {name}; it has {}", printable(&known.join(", "))),
            "name the file of the chip's family, or another chip with --chip",
        )
    })?;
    let mut found = Vec::new();
    for (topo, node) in chip.entries() {
        if topology.is_some_and(|wanted| wanted != topo) {
            continue;
        }
        for (ports, tests) in node.entries() {
            let Some(group) = vectors.groups.iter().find(|group| speed_and_cable(group) == *ports) else {
                continue;
            };
            let point = prediction.groups.iter().find(|point| point.profile == group.profile);
            let Some(point) = point else { continue };
            let rule = Rule::new(vectors, prediction, group, point);
            for (test, values) in tests.entries() {
                found.extend(rule.judge(&format!("{topo} {ports} {test}"), test, values));
            }
        }
    }
    if found.is_empty() {
        let entries: Vec<_> = chip.entries().iter().map(|(name, _)| name.as_str()).collect();
        return Err(OperatorError::new(
            format!(
                "no expectation of {name}{} is for the speeds and cables of this switch",
                topology.map(|topo| format!(" in {topo}")).unwrap_or_default()
            ),
            format!(
                "choose one of the file's topologies ({}) that has an entry of the switch's speed and cable, such \
                 as 100000_300m",
                printable(&entries.join(", "))
            ),
        ));
    }
    Ok(found)
}

/// Name of a qualification entry for ports of a speed and cable: `100000_300m`.
fn speed_and_cable(group: &GroupVector) -> String {
    match (group.speed_mbps, group.cable_metres) {
        (Some(speed), Some(metres)) => format!("{speed}_{metres}m"),
        _ => String::new(),
    }
}

/// Pause and loss rule of the chip for one buffer profile, in packets.
struct Rule<'a> {
    vectors: &'a Vectors,
    group: &'a GroupVector,
    /// Shared memory of one slice (packets).
    shared: f64,
    /// Other sizes that testers may have used for the shared memory (packets), each with a
    /// description.
    others: Vec<(String, f64)>,
    exponent: Option<i8>,
    minimum: f64,
    headroom: u64,
    /// Number of cells (or bytes) that one packet takes.
    per_packet: f64,
}

impl<'a> Rule<'a> {
    fn new(
        vectors: &'a Vectors,
        prediction: &'a Prediction,
        group: &'a GroupVector,
        point: &GroupPoint,
    ) -> Self {
        let per_packet = (point.pause as f64 / group.pause.formula.max(1) as f64).round().max(1.0);
        let packets = |cells: f64| cells / per_packet;
        let shared = prediction.shared as f64;
        let mut others = Vec::new();
        for term in prediction.terms.iter().skip(1).filter(|term| term.cells != 0) {
            let sum = shared - term.cells as f64;
            others.push((
                format!("the sum without the term \"{}\" ({} cells)", term.name, term.cells.abs()),
                packets(sum),
            ));
        }
        if let Some(pool) = prediction.headroom_pools.first() {
            let cells = pool.cells as f64;
            others.push((
                format!("a shared memory with the headroom pool ({} cells)", pool.cells),
                packets(shared + cells),
            ));
            others.push((
                format!("a shared memory less the headroom pool once more ({} cells)", pool.cells),
                packets(shared - cells),
            ));
        }
        if vectors.slices > 1 {
            others.push((
                format!("all {} slices together", vectors.slices),
                packets(shared * vectors.slices as f64),
            ));
        }
        let headroom = group.loss.formula.saturating_sub(group.pause.formula + 1);
        Self {
            vectors,
            group,
            shared: packets(shared),
            others,
            exponent: point.dynamic_th,
            minimum: group.minimum as f64,
            headroom,
            per_packet,
        }
    }

    /// Pause point of a lone group with alpha `2^exponent` and the shared memory `shared`.
    fn pause(&self, exponent: i8, shared: f64) -> f64 {
        let alpha = 2f64.powi(i32::from(exponent));
        self.minimum + alpha * shared / (1.0 + alpha)
    }

    fn judge(&self, path: &str, test: &str, values: &Node) -> Vec<Expectation> {
        let value = |key: &str| values.get(key).and_then(Node::number);
        let margin = value("pkts_num_margin").or_else(|| value("margin")).unwrap_or(MARGIN);
        let mut found = Vec::new();
        for (key, node) in values.entries() {
            let Some(expected) = node.number() else { continue };
            let Some((predicted, why)) = self.answer(test, key, expected, values) else { continue };
            let close =
                if key.starts_with("pkts_num_trig") { margin } else { u64::from(key.starts_with("pkts")) };
            let met = predicted.is_some_and(|predicted| predicted.abs_diff(expected) <= close);
            let why = if met { String::new() } else { why };
            let path = format!("{path} {key}");
            found.push(Expectation { line: node.line, path, expected, predicted, margin: close, met, why });
        }
        found
    }

    /// Returns the model's value and an explanation for a different expectation; `None` if the key
    /// is not an expectation.
    fn answer(&self, test: &str, key: &str, expected: u64, values: &Node) -> Option<(Option<u64>, String)> {
        let group = self.group;
        let pool = group.pool.as_ref();
        let missing = |what: &str| format!("the model has no {what}");
        Some(match key {
            "cell_size" => {
                (Some(self.vectors.cell_bytes), "another cell: the numbers are of another chip".to_owned())
            }
            "pkts_num_trig_pfc" => (Some(group.pause.formula), self.why_pause(expected)),
            "pkts_num_trig_ingr_drp" => {
                let pause = values.get("pkts_num_trig_pfc").and_then(Node::number);
                (Some(group.loss.formula), self.why_loss(expected, pause))
            }
            "pkts_num_dismiss_pfc" => {
                let more = values.get("pkts_num_hysteresis").and_then(Node::number).unwrap_or(0);
                let own = group.resume.formula;
                let why = format!(
                    "resumes {own} packets below the pause point by xon and xon_offset of {}",
                    group.profile
                );
                (Some(own.saturating_sub(more)), why)
            }
            "pkts_num_trig_egr_drp" if test.starts_with("lossy_queue") || test.ends_with("lossy") => {
                let queue = self.vectors.queues.first();
                let why = "the lossy queue's alpha or egress pool is another one".to_owned();
                (queue.map(|queue| queue.loss.formula), queue.map_or_else(|| missing("lossy queue"), |_| why))
            }
            "pkts_num_fill_min" if test.contains("lossless") && test.contains("pg") => {
                (Some(group.minimum), format!("`size` of {} is {} packets", group.profile, group.minimum))
            }
            "pkts_num_hdrm_full" | "pkts_num_hdrm_partial" | "pgs_num" => {
                let own = pool.map(|pool| match key {
                    "pgs_num" => pool.groups,
                    "pkts_num_hdrm_full" => pool.full,
                    _ => pool.partial,
                });
                let why = pool.map_or_else(
                    || missing("headroom pool"),
                    |pool| {
                        let sum = pool.sum.formula;
                        format!(
                            "the pool of a slice has {sum} packets: {} groups of {}, the last of {}",
                            pool.groups, pool.full, pool.partial
                        )
                    },
                );
                (own, why)
            }
            _ if key.starts_with("pkts_num_trig") || key.starts_with("pkts_num_fill") => {
                (None, "the model has no point for this test".to_owned())
            }
            _ => return None,
        })
    }

    /// Names the setting or memory size that explains why testers expect another pause point.
    fn why_pause(&self, expected: u64) -> String {
        let near = |point: f64| (point - expected as f64).abs() <= MARGIN as f64;
        let Some(own) = self.exponent else { return "the profile has a static limit".to_owned() };
        if let Some(exponent) = EXPONENTS
            .clone()
            .filter(|other| *other != own)
            .find(|other| near(self.pause(*other, self.shared)))
        {
            return format!("dynamic_th {exponent}; {} has {own}", self.group.profile);
        }
        let other = self.others.iter().find(|(_, shared)| near(self.pause(own, *shared)));
        if let Some((term, _)) = other {
            return term.clone();
        }
        if near(self.pause(own, self.shared) - self.minimum) {
            return format!("without the group's minimum of {} packets", self.group.minimum);
        }
        let in_turn = self.group.sequence.iter().position(|point| near(point.formula as f64));
        if let Some(before) = in_turn.filter(|before| *before > 0) {
            return format!("the pause point after {before} other groups have filled");
        }
        let together = self.group.together.iter().find(|one| near(one.pause.formula as f64));
        if let Some(one) = together {
            return format!("the pause point of {} groups that fill in turn", one.groups);
        }
        let alpha = 2f64.powi(i32::from(own));
        let shared = (expected as f64 - self.minimum).max(0.0) * (1.0 + alpha) / alpha;
        let (all, less) = (shared * self.per_packet, (self.shared - shared) * self.per_packet);
        let direction = if less > 0.0 { "fewer" } else { "more" };
        format!(
            "the size of the pool: the expectation is of {all:.0} shared cells, {:.0} {direction} than the {:.0} of these files",
            less.abs(),
            self.shared * self.per_packet
        )
    }

    /// Names the setting that explains why testers expect another first loss. `pause` is the pause
    /// point that the test expects.
    fn why_loss(&self, expected: u64, pause: Option<u64>) -> String {
        let pause = pause.unwrap_or(self.group.pause.formula);
        let room = expected.saturating_sub(pause);
        if room.abs_diff(self.headroom + 1) <= MARGIN {
            return format!("the pause point: {}", self.why_pause(pause));
        }
        let of_pause = if pause.abs_diff(self.group.pause.formula) <= MARGIN {
            String::new()
        } else {
            format!(", and the pause point: {}", self.why_pause(pause))
        };
        format!(
            "the headroom: {room} packets are expected, xoff of {} has {}{of_pause}",
            self.group.profile, self.headroom
        )
    }
}

/// Formats each expectation with the model's prediction, in the order of the file. The number of
/// met expectations follows. Unmet expectations have an explanation of the difference.
#[must_use]
pub fn expectations_text(found: &[Expectation]) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    for one in found {
        let predicted = one.predicted.map_or("-".to_owned(), |predicted| predicted.to_string());
        let _ = match (one.met, one.predicted) {
            (true, _) => writeln!(text, "met      {}: {} (model {predicted})", one.path, one.expected),
            (false, Some(_)) => {
                writeln!(text, "differs  {}: {} (model {predicted}): {}", one.path, one.expected, one.why)
            }
            (false, None) => writeln!(text, "unknown  {}: {}: {}", one.path, one.expected, one.why),
        };
    }
    let count = |filter: &dyn Fn(&Expectation) -> bool| found.iter().filter(|one| filter(one)).count();
    let _ = writeln!(
        text,
        "{} expectations: {} met, {} differ, {} without a prediction",
        found.len(),
        count(&|one| one.met),
        count(&|one| !one.met && one.predicted.is_some()),
        count(&|one| one.predicted.is_none())
    );
    text
}
