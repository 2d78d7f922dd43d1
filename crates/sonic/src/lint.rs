//! Checks a configuration against lint rules. Each rule has a number, a severity, a reason and a
//! source. Each finding has the key, the figures and a suggestion.

mod context;
mod fields;
mod judged;
mod lossless;
mod matrix;
mod output;
mod pools;
mod qos;
mod references;
mod reverie;
mod trimming;

use crate::config::Config;
use crate::place::ConfigPlace;
use crate::silicon::Chip;
use context::Context;
pub(crate) use context::some;
use serde::Serialize;
use std::fmt;

pub use judged::not_judged;
pub use output::{json, sarif, text};

/// Severity of a finding about a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The severity is an error: packets that must not be lost can be lost, or a
    /// setting has no effect.
    Error,
    /// The severity is a warning: the setting works, but probably not as its author expects.
    Warning,
    /// The severity is a hint: a property that operators should know.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

type Check = fn(&Context<'_>, &mut Findings);

/// A lint rule that checks a configuration.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Number of the lint rule (`SB001`); a number never changes its meaning.
    pub code: &'static str,
    /// Name of the lint rule, in words with hyphens.
    pub name: &'static str,
    /// Severity that findings of the rule have by default.
    pub severity: Severity,
    /// Reason why the configuration must follow the rule.
    pub reason: &'static str,
    /// Issue or paper that is the source of the lint rule.
    pub source: &'static str,
    check: Check,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.name)
    }
}

/// A place of the configuration that breaks a lint rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Lint rule that the configuration breaks.
    pub rule: &'static Rule,
    /// Severity of the finding, which may differ from the rule's default.
    pub severity: Severity,
    /// Place of the finding in the configuration.
    pub place: ConfigPlace,
    /// Description of the problem in the configuration, with figures.
    pub message: String,
    /// Setting that the lint rule recommends.
    pub suggestion: String,
    /// Reason why the finding does not count, if the user switched its rule off.
    pub allowed: Option<String>,
}

/// Collects the findings of one lint rule.
struct Findings {
    rule: &'static Rule,
    found: Vec<Finding>,
}

impl Findings {
    fn add(&mut self, place: &ConfigPlace, message: String, suggestion: impl Into<String>) {
        self.add_as(self.rule.severity, place, message, suggestion);
    }

    fn add_as(
        &mut self,
        severity: Severity,
        place: &ConfigPlace,
        message: String,
        suggestion: impl Into<String>,
    ) {
        let (rule, place, suggestion) = (self.rule, place.clone(), suggestion.into());
        self.found.push(Finding { rule, severity, place, message, suggestion, allowed: None });
    }
}

/// A lint rule that the user switched off, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Number or name of the lint rule that is off.
    pub rule: String,
    /// Reason why the findings of the switched-off rule do not count.
    pub reason: String,
}

/// Options of a check that are not part of the configuration.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Chip of the switch, if known. Without a chip, rules that need a chip report nothing.
    pub chip: Option<&'static Chip>,
    /// Lint rules that the user has switched off.
    pub allow: Vec<Allowance>,
    /// Round-trip time of the network without queues (microseconds); 8 if absent.
    pub round_trip_us: Option<f64>,
}

/// Reason why a check of a configuration cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LintError {
    /// Text of the error message about the check.
    pub message: String,
    /// Advice to the user on how to correct the error.
    pub help: String,
}

/// All lint rules, in the order of their numbers.
pub static RULES: &[Rule] = &[
    Rule {
        code: "SB000",
        name: "not-understood",
        severity: Severity::Error,
        reason: "a value that is not understood has no effect, or not the intended one",
        source: "sonic-mgmt#25395: a wrong configuration is accepted",
        check: references::not_understood,
    },
    Rule {
        code: "SB001",
        name: "egress-below-ingress",
        severity: Severity::Error,
        reason: "lossless packets that ingress admits are dropped at egress before all headroom is used",
        source: "sonic-buildimage#21320",
        check: pools::egress_below_ingress,
    },
    Rule {
        code: "SB002",
        name: "lossy-group-below-queue",
        severity: Severity::Warning,
        reason: "a lossy priority group fills before its queue does: ingress acts (drops, on some chips pauses) \
            where egress should drop",
        source: "sonic-buildimage#19653",
        check: pools::lossy_group_below_queue,
    },
    Rule {
        code: "SB003",
        name: "headroom-too-small",
        severity: Severity::Error,
        reason: "packets that arrive after the pause decision do not fit into the headroom, and are lost",
        source: "sonic-mgmt#20422; IEEE 802.1Qbb",
        check: lossless::headroom_too_small,
    },
    Rule {
        code: "SB004",
        name: "promised-above-pool",
        severity: Severity::Error,
        reason: "headroom and reserves together are more than the pool: guarantees are not kept, or the switch \
            refuses the pool",
        source: "sonic-buildimage#19640",
        check: pools::promised_above_pool,
    },
    Rule {
        code: "SB005",
        name: "no-row",
        severity: Severity::Error,
        reason: "without a row for speed and cable the switch makes no lossless profile: PFC is on, and there is no \
            headroom",
        source: "sonic-swss#465",
        check: lossless::no_row,
    },
    Rule {
        code: "SB006",
        name: "xon-above-threshold",
        severity: Severity::Error,
        reason: "a group that resumes at or above its pause point flaps between pause and resume",
        source: "NVIDIA and Broadcom lossless profiles: xon lies below the threshold",
        check: lossless::xon_above_threshold,
    },
    Rule {
        code: "SB007",
        name: "pfc-without-headroom",
        severity: Severity::Error,
        reason: "PFC is on for a priority whose group has no headroom: packets that arrive after the pause are lost",
        source: "SONiC#480",
        check: lossless::pfc_without_headroom,
    },
    Rule {
        code: "SB008",
        name: "ecn-above-pause",
        severity: Severity::Warning,
        reason: "marking begins where the group has paused already, so senders slow down by PFC and not by ECN",
        source: "Zhu et al., SIGCOMM 2015 (DCQCN), section 4: ECN before PFC",
        check: qos::ecn_above_pause,
    },
    Rule {
        code: "SB009",
        name: "lossless-egress-binds",
        severity: Severity::Error,
        reason: "a lossless queue that reaches an egress limit drops, and no pause prevents it",
        source: "sonic-mgmt#17149",
        check: pools::lossless_egress_binds,
    },
    Rule {
        code: "SB010",
        name: "alpha-below-bdp",
        severity: Severity::Warning,
        reason: "one queue alone gets less than a bandwidth-delay product: a single flow cannot use the link",
        source: "sonic-buildimage#20132",
        check: lossless::alpha_below_bdp,
    },
    Rule {
        code: "SB011",
        name: "watchdog-too-short",
        severity: Severity::Warning,
        reason: "the watchdog takes a legitimate pause for a storm and drops lossless packets",
        source: "sonic-swss#1586; SONiC#1535",
        check: qos::watchdog_too_short,
    },
    Rule {
        code: "SB012",
        name: "lossless-at-one-end",
        severity: Severity::Error,
        reason: "a priority is lossless in one table and lossy in another: pauses stop the wrong queue, or none",
        source: "SONiC's QoS maps (DSCP, TC, PG, queue, PFC)",
        check: qos::lossless_at_one_end,
    },
    Rule {
        code: "SB013",
        name: "unused",
        severity: Severity::Info,
        reason: "an unused profile misleads readers of the file",
        source: "SONiC's configuration schema",
        check: references::unused,
    },
    Rule {
        code: "SB014",
        name: "dangling",
        severity: Severity::Error,
        reason: "a reference to a missing entry has no effect",
        source: "sonic-swss#1956",
        check: references::dangling,
    },
    Rule {
        code: "SB015",
        name: "asymmetric",
        severity: Severity::Info,
        reason: "lossless traffic that enters or leaves by some ports only is protected on a part of its way",
        source: "SONiC's pfc_asym; docs/concepts/lossless.md",
        check: qos::asymmetric,
    },
    Rule {
        code: "SB016",
        name: "wred-drops-lossless",
        severity: Severity::Error,
        reason: "WRED drops lossless packets below the pause point: a loss without a pause",
        source: "sonic-buildimage#27606",
        check: qos::wred_drops_lossless,
    },
    Rule {
        code: "SB017",
        name: "pool-above-chip",
        severity: Severity::Error,
        reason: "a pool that is larger than the memory of the chip is refused, or promises memory that does not exist",
        source: "sonic-buildimage#2992",
        check: pools::pool_above_chip,
    },
    Rule {
        code: "SB018",
        name: "headroom-oversubscribed",
        severity: Severity::Info,
        reason: "a shared headroom pool covers a part of the groups only, if all pause at once",
        source: "SONiC's shared headroom pool; docs/concepts/lossless.md",
        check: pools::headroom_oversubscribed,
    },
    Rule {
        code: "SB019",
        name: "headroom-pool-below-group",
        severity: Severity::Error,
        reason: "a group uses at most what the headroom pool of its slice holds: with less than its headroom it loses \
            lossless packets, even alone",
        source: "docs/evidence/silicon.md: headroom pools are divided by slices",
        check: pools::headroom_pool_below_group,
    },
    Rule {
        code: "SB020",
        name: "not-whole-cells",
        severity: Severity::Info,
        reason: "a chip divides its memory into cells: a size between two of them is rounded, and often comes from the \
            file of another chip",
        source: "device files of sonic-buildimage: pools are multiples of the family's cell",
        check: pools::not_whole_cells,
    },
    Rule {
        code: "SB021",
        name: "lossy-outgrows-lossless",
        severity: Severity::Info,
        reason: "with many queues, lossy traffic fills its pool and lossless traffic gets the rest",
        source: "Reverie (NSDI 2024), issue 1, Eqs. 10 and 11",
        check: reverie::lossy_outgrows_lossless,
    },
    Rule {
        code: "SB022",
        name: "lossless-yields",
        severity: Severity::Info,
        reason: "pause points fall when lossy queues fill; drop points of lossy queues do not move for lossless \
            traffic",
        source: "Reverie (NSDI 2024), issue 2, section 2.3",
        check: reverie::lossless_yields,
    },
    Rule {
        code: "SB023",
        name: "bursts-favour-lossy",
        severity: Severity::Info,
        reason: "a lossy queue absorbs a larger burst than a lossless group, and a pause stops bursts and the rest \
            alike",
        source: "Reverie (NSDI 2024), issue 3, Figure 13",
        check: reverie::bursts_favour_lossy,
    },
    Rule {
        code: "SB024",
        name: "missing-entry",
        severity: Severity::Warning,
        reason: "a table that is there lacks the entry of a port, group, queue or priority that packets use",
        source: "SONiC's configuration schema; sonic-buildimage#11157",
        check: matrix::missing_entry,
    },
    Rule {
        code: "SB025",
        name: "incomplete",
        severity: Severity::Warning,
        reason: "an entry lacks a field, or a map lacks an input, and a default decides",
        source: "SONiC's configuration schema; sonic-buildimage#4545",
        check: fields::incomplete,
    },
    Rule {
        code: "SB026",
        name: "refused-value",
        severity: Severity::Error,
        reason: "SONiC or SAI refuses the value, or it switches off what the entry is for",
        source: "sonic-swss#3594; SAI's scheduler and WRED attributes",
        check: fields::refused_value,
    },
    Rule {
        code: "SB027",
        name: "trimming-incomplete",
        severity: Severity::Warning,
        reason: "a queue trims, and SWITCH_TRIMMING is missing or incomplete",
        source: "SONiC#1898; SAI#2077",
        check: trimming::incomplete,
    },
    Rule {
        code: "SB028",
        name: "trim-queue-without-profile",
        severity: Severity::Warning,
        reason: "no profile limits the queue of trimmed packets",
        source: "SONiC#1898; SAI#2077: trimmed packets are admitted again",
        check: trimming::queue_without_profile,
    },
    Rule {
        code: "SB029",
        name: "trim-queue-lossless",
        severity: Severity::Error,
        reason: "trimmed packets take lossless memory, and pauses stop them",
        source: "SONiC#1898: only lossy profiles trim",
        check: trimming::lossless_queue,
    },
    Rule {
        code: "SB030",
        name: "trim-queue-too-small",
        severity: Severity::Warning,
        reason: "the trim queue holds less than one round trip can trim",
        source: "Handley et al., SIGCOMM 2017 (NDP), section 3",
        check: trimming::queue_too_small,
    },
];

/// Lint rules about SONiC's schema and its chips' defaults, which files of other vendors do not
/// follow.
const OF_SONIC: [&str; 4] = ["SB001", "SB013", "SB024", "SB025"];

/// Returns the lint rule with this number or name.
#[must_use]
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name || rule.code.eq_ignore_ascii_case(name))
}

/// Checks a configuration against the lint rules. Findings are ordered by severity, then by rule
/// and place. The result includes the findings of switched-off rules, and marks these findings.
///
/// # Errors
/// If an allowance names an unknown rule, or has no reason.
pub fn check(config: &Config, options: &Options) -> Result<Vec<Finding>, LintError> {
    let mut allowed = Vec::new();
    for Allowance { rule: name, reason } in &options.allow {
        let Some(rule) = rule(name) else {
            let message = format!("no rule is called \"{}\"", crate::place::printable(name));
            let names: Vec<_> = RULES.iter().map(|rule| rule.code).collect();
            return Err(LintError { message, help: format!("give one of: {}", names.join(", ")) });
        };
        if reason.trim().is_empty() {
            let message = format!("{} is switched off without a reason", rule.code);
            return Err(LintError { message, help: format!("write it as {}=REASON", rule.code) });
        }
        allowed.push((rule.code, reason.trim().to_owned()));
    }
    let context = Context::new(config, options);
    let mut all = Vec::new();
    let applies = |rule: &&Rule| config.vendor.is_none() || !OF_SONIC.contains(&rule.code);
    for rule in RULES.iter().filter(applies) {
        let mut findings = Findings { rule, found: Vec::new() };
        (rule.check)(&context, &mut findings);
        let reason = allowed.iter().find(|(code, _)| *code == rule.code).map(|(_, reason)| reason.clone());
        all.extend(findings.found.into_iter().map(|found| Finding { allowed: reason.clone(), ..found }));
    }
    all.sort_by(|a, b| {
        (a.severity, a.rule.code, &a.place, &a.message).cmp(&(b.severity, b.rule.code, &b.place, &b.message))
    });
    Ok(all)
}

/// Whether at least one finding has the severity `at` or a higher one; findings of switched-off
/// rules do not count.
#[must_use]
pub fn fails(findings: &[Finding], at: Severity) -> bool {
    findings.iter().any(|finding| finding.severity <= at && finding.allowed.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique_and_in_order() {
        assert!(RULES.windows(2).all(|two| two[0].code < two[1].code));
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
