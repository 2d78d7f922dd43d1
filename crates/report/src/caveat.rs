//! Caveats: reasons to check a result before trusting its numbers, each with advice.

use crate::format;
use crate::pauses::Deadlock;
use crate::schedules::StuckNode;
use crate::statistics::Percentile;
use bufferlab_results::RunCaveat;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Minimum number of queries in a run for a reliable mean.
pub const QUERIES_WANTED: u64 = 100;

/// Percentiles that reports show; caveats check each for enough samples.
const PERCENTILES: [Percentile; 4] = [Percentile::P50, Percentile::P95, Percentile::P99, Percentile::P99_9];

/// A reason to doubt a result. Reports show caveats before any number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Caveat {
    /// Packets of lossless priorities were lost because their headroom was full.
    LostLossless {
        /// Number of lossless packets lost in all runs.
        packets: u64,
        /// Number of runs with lost lossless packets.
        runs: u64,
        /// Policies of the runs with lost lossless packets.
        policies: Vec<String>,
    },
    /// Switches lost ACKs, which is more than a rare event among the lost packets.
    LostAcks {
        /// Number of lost ACKs in all runs that are concerned.
        acks: u64,
        /// Number of lost packets in the same runs, ACKs included.
        packets: u64,
        /// Number of runs with many lost ACKs.
        runs: u64,
        /// Policies of the runs with many lost ACKs.
        policies: Vec<String>,
    },
    /// The end of the run cut off some flows. Unfinished flows are slow, and percentiles exclude
    /// unfinished flows.
    UnfinishedFlows {
        /// Number of unfinished flows in all runs.
        unfinished: u64,
        /// Number of flows in all runs.
        flows: u64,
        /// Drain time of the scenario (ns).
        drain_ns: u64,
        /// Policies of the runs with unfinished flows.
        policies: Vec<String>,
    },
    /// A schedule was not complete when a run ended.
    UnfinishedSchedule {
        /// Name of the schedule in sentences, derived from its workload.
        schedule: String,
        /// Number of the schedule's nodes that were in progress when the runs ended, over all runs.
        unfinished: u64,
        /// The schedule node in progress that waited longest, in the first run with an incomplete
        /// schedule.
        first: StuckNode,
        /// The drain time of the scenario (ns).
        drain_ns: u64,
        /// Policies of the runs with an incomplete schedule.
        policies: Vec<String>,
    },
    /// Switches waited for each other in a cycle of pauses when a run ended.
    Deadlock {
        /// Policies of the runs with a deadlock.
        policies: Vec<String>,
        /// Number of runs with a deadlock.
        runs: u64,
        /// The deadlock of the first run with a deadlock.
        first: Deadlock,
    },
    /// The comparison has only one seed, so no interval can be computed.
    SingleSeed,
    /// A policy lacks seeds that other policies have, so fewer pairs of runs are compared.
    UnevenSeeds {
        /// Label of the policy that lacks seeds.
        policy: String,
        /// Seeds that other policies have and this policy lacks.
        missing: Vec<u64>,
    },
    /// The folder of results lacks planned runs, or has incomplete runs.
    MissingRuns {
        /// Names of the missing runs' folders.
        missing: Vec<String>,
        /// Number of runs that are planned for the folder of results.
        planned: usize,
    },
    /// Statistics exclude flows and queries of the warm-up; all other numbers cover the whole run.
    WarmUp {
        /// Start of the first flow or query after the warm-up (ns).
        from_ns: u64,
    },
    /// Compared runs differ in more than policy and seed.
    MixedRuns {
        /// The property in which the runs differ: `version`, `profile`, `scenario`, …
        what: &'static str,
        /// Values that the differing property has in the compared runs.
        values: Vec<String>,
    },
    /// A percentile, and every higher percentile, has fewer than ten samples above its value.
    TooFewSamples {
        /// The lowest percentile with too few samples.
        percentile: Percentile,
        /// Names of the groups of flows or queries with too few samples, each with the number of
        /// samples in the smallest run.
        groups: Vec<(String, u64)>,
    },
    /// A run has too few queries for reliable statistics.
    FewQueries {
        /// Traffic class of the queries.
        class: String,
        /// Number of queries in the run with the fewest queries.
        queries: u64,
    },
    /// A caveat that the run's driver (such as the simulator) recorded.
    Run(RunCaveat),
}

impl Caveat {
    /// Short name of the caveat, for programs.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::LostLossless { .. } => "lost-lossless",
            Self::LostAcks { .. } => "lost-acks",
            Self::UnfinishedFlows { .. } => "unfinished-flows",
            Self::UnfinishedSchedule { .. } => "unfinished-schedule",
            Self::Deadlock { .. } => "deadlock",
            Self::SingleSeed => "single-seed",
            Self::UnevenSeeds { .. } => "uneven-seeds",
            Self::MissingRuns { .. } => "missing-runs",
            Self::WarmUp { .. } => "warm-up",
            Self::MixedRuns { .. } => "mixed-runs",
            Self::TooFewSamples { .. } => "too-few-samples",
            Self::FewQueries { .. } => "few-queries",
            Self::Run(caveat) => &caveat.id,
        }
    }

    /// Description of the caveat's problem, as a sentence.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::LostLossless { packets, runs, policies } => format!(
                "{} lossless {} lost in {} {} ({}): what should be lossless was not.",
                format::count(*packets),
                if *packets == 1 { "packet was" } else { "packets were" },
                format::count(*runs),
                if *runs == 1 { "run" } else { "runs" },
                policies.join(", ")
            ),
            Self::LostAcks { acks, packets, runs, policies } => format!(
                "{} of {} lost packets in {} {} were ACKs ({}): senders whose ACKs are lost send data again, or wait for timeouts.",
                format::count(*acks),
                format::count(*packets),
                format::count(*runs),
                if *runs == 1 { "run" } else { "runs" },
                policies.join(", ")
            ),
            Self::UnfinishedFlows { unfinished, flows, policies, .. } => format!(
                "{} of {} flows were unfinished when the run ended ({}); they are missing from all completion \
                 times, and they are the slow ones.",
                format::count(*unfinished),
                format::count(*flows),
                policies.join(", ")
            ),
            Self::UnfinishedSchedule { schedule, unfinished, first, policies, .. } => {
                unfinished_schedule(schedule, *unfinished, first, policies)
            }
            Self::Deadlock { policies, runs, first } => format!(
                "{} {} in a deadlock of pauses ({}): {} wait for each other in a circle since {}, priority {}.",
                format::count(*runs),
                if *runs == 1 { "run ended" } else { "runs ended" },
                policies.join(", "),
                first.members.join(" → "),
                format::span_ns(first.since_ns),
                first.priority
            ),
            Self::SingleSeed => {
                "There is a single seed, so no confidence interval: a difference may be chance.".into()
            }
            Self::UnevenSeeds { policy, missing } => {
                let list: Vec<_> = missing.iter().map(u64::to_string).collect();
                format!(
                    "{policy} lacks seeds that others have ({}): it is compared without them.",
                    list.join(", ")
                )
            }
            Self::MissingRuns { missing, planned } => {
                format!("{} of {planned} runs have no result: {}.", missing.len(), missing.join(", "))
            }
            Self::WarmUp { from_ns } => format!(
                "Flows and queries that started before {} do not count; buffers, links, losses and pauses are of the whole run.",
                format::span_ns(*from_ns)
            ),
            Self::MixedRuns { what, values } => {
                format!("The runs differ in more than policy and seed: {what} is {}.", values.join(" and "))
            }
            Self::TooFewSamples { percentile, groups } => too_few_samples(*percentile, groups),
            Self::FewQueries { class, queries } => format!(
                "{class}: only {} {} in the smallest run; their mean needs {QUERIES_WANTED}.",
                format::count(*queries),
                if *queries == 1 { "query" } else { "queries" }
            ),
            Self::Run(caveat) => caveat.message.clone(),
        }
    }

    /// Advice on the caveat, as a sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::LostLossless { .. } => {
                "Look at the reasons of the losses. Where headroom was full, write `headroom = \"auto\"` in `switch.policy`, or raise it: `bufferlab check` says what a port needs.".into()
            }
            Self::LostAcks { .. } => {
                "Give ACKs a queue without data (`switch.queues_per_port = 2`, and `control_priority = 0` in the transport), and compare.".into()
            }
            Self::UnfinishedFlows { drain_ns, .. } => format!(
                "Raise `drain` (now {}) until none is left, or lower the load if the network cannot carry it.",
                format::span_ns(*drain_ns)
            ),
            Self::UnfinishedSchedule { drain_ns, .. } => format!(
                "Raise `drain` (now {}), or look for the flow of that node in the table flows.",
                format::span_ns(*drain_ns)
            ),
            Self::Deadlock { .. } => {
                "Look at the section Pauses; break the circle by other routes, or give the switches a watchdog (`switch.pfc.watchdog`).".into()
            }
            Self::SingleSeed => "Run with --seeds 5 or more.".into(),
            Self::UnevenSeeds { .. } => "Run the missing seeds into the same folder.".into(),
            Self::MissingRuns { .. } => "Repeat the command that made the folder.".into(),
            Self::WarmUp { .. } => "Compare with the same without `--steady`: a large difference is one of the beginning.".into(),
            Self::MixedRuns { .. } => "Run the comparison again with one program and one scenario.".into(),
            Self::TooFewSamples { .. } => "Raise `duration`, or read a lower percentile.".into(),
            Self::FewQueries { .. } => "Raise `duration` or the query rate.".into(),
            Self::Run(caveat) => caveat.advice.clone(),
        }
    }

    /// Converts the caveat to a JSON record.
    #[must_use]
    pub fn record(&self) -> CaveatRecord {
        CaveatRecord { id: self.id().to_owned(), message: self.message(), advice: self.advice() }
    }
}

fn unfinished_schedule(schedule: &str, unfinished: u64, first: &StuckNode, policies: &[String]) -> String {
    let (nodes, them) =
        if unfinished == 1 { ("node was", "this node") } else { ("nodes were", "these nodes") };
    let work = match first.peer_rank {
        Some(peer) => format!("rank {} to rank {peer}", first.rank),
        None => format!("computation of rank {}", first.rank),
    };
    format!(
        "The run ended before {schedule} was done ({}): {} {nodes} in progress, and all others wait for \
         {them}. Node {} ({work}) was ready since {}.",
        policies.join(", "),
        format::count(unfinished),
        first.node,
        format::span_ns(first.ready_ns)
    )
}

/// Formats the percentiles with too few samples, and the number of samples that each percentile
/// needs.
fn too_few_samples(percentile: Percentile, groups: &[(String, u64)]) -> String {
    let wanted = PERCENTILES.iter().filter(|other| **other >= percentile);
    let needs: Vec<_> =
        wanted.map(|p| format!("{} needs {}", p.name(), format::count(p.samples_needed()))).collect();
    let have: Vec<_> =
        groups.iter().map(|(group, samples)| format!("{group} ({})", format::count(*samples))).collect();
    format!(
        "Too few samples in the smallest run for {}{}: {}. {}.",
        percentile.name(),
        if needs.len() > 1 { " and beyond" } else { "" },
        have.join(", "),
        needs.join(", ")
    )
}

/// A caveat in machine-readable output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CaveatRecord {
    /// Short name of the caveat, from [`Caveat::id`].
    pub id: String,
    /// Description of the caveat's problem, from [`Caveat::message`].
    pub message: String,
    /// Advice on the caveat, from [`Caveat::advice`].
    pub advice: String,
}

/// Returns the caveats of some runs (policy label and summary), the most serious first.
pub(crate) fn collect(runs: &[(&str, &crate::RunSummary)]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(lost_lossless(runs));
    caveats.extend(lost_acks(runs));
    caveats.extend(mixed(runs));
    caveats.extend(deadlock(runs));
    caveats.extend(unfinished(runs));
    caveats.extend(unfinished_schedules(runs));
    caveats.extend(seeds(runs));
    caveats.extend(of_runs(runs));
    caveats.extend(samples(runs));
    caveats
}

/// Largest number of caveats of one kind that are listed separately.
const SHOWN_OF_A_KIND: usize = 3;

/// Returns the caveats that drivers wrote into their runs. If only some runs have a caveat, the
/// caveat's sentence names these runs, unless the driver's text already names them. If many caveats
/// have the same id, only the first few caveats are shown.
fn of_runs(runs: &[(&str, &crate::RunSummary)]) -> Vec<Caveat> {
    let mut noted: Vec<(&RunCaveat, Vec<(&str, u64)>)> = Vec::new();
    for (label, run) in runs {
        for caveat in &run.run_caveats {
            match noted.iter_mut().find(|(known, _)| *known == caveat) {
                Some((_, sayers)) => sayers.push((label, run.seed)),
                None => noted.push((caveat, vec![(label, run.seed)])),
            }
        }
    }
    let mut caveats = Vec::new();
    for (at, (caveat, sayers)) in noted.iter().enumerate() {
        let of_kind = |(known, _): &&(&RunCaveat, Vec<(&str, u64)>)| known.id == caveat.id;
        let before = noted[..at].iter().filter(of_kind).count();
        let after = noted[at + 1..].iter().filter(of_kind).count();
        if before >= SHOWN_OF_A_KIND {
            continue;
        }
        let mut shown = (*caveat).clone();
        let says_it_itself = sayers.iter().all(|(label, _)| mentions(&caveat.message, label));
        if sayers.len() < runs.len() && !says_it_itself {
            shown.message = format!("{}: {}", names(sayers, runs), caveat.message);
        }
        if before + 1 == SHOWN_OF_A_KIND && after > 0 {
            let others = if after == 1 {
                "One more of this kind is".to_owned()
            } else {
                format!("{after} more of this kind are")
            };
            let _ = write!(shown.message, " {others} in the manifests of the other runs.");
        }
        caveats.push(Caveat::Run(shown));
    }
    caveats
}

/// Whether a sentence contains a name as a whole word: `dt` is not in "bandwidth".
fn mentions(sentence: &str, name: &str) -> bool {
    sentence.match_indices(name).any(|(at, _)| {
        let before = sentence[..at].chars().next_back();
        let after = sentence[at + name.len()..].chars().next();
        [before, after].into_iter().flatten().all(|c| !c.is_alphanumeric())
    })
}

/// Lists names of runs, such as `dt; abm, seed 2`. A label without a seed stands for all runs with
/// the label, whatever their seed.
fn names(sayers: &[(&str, u64)], runs: &[(&str, &crate::RunSummary)]) -> String {
    let mut labels: Vec<&str> = sayers.iter().map(|(label, _)| *label).collect();
    labels.dedup();
    let name = |label: &str| {
        let seeds: Vec<String> =
            sayers.iter().filter(|sayer| sayer.0 == label).map(|sayer| sayer.1.to_string()).collect();
        let all = runs.iter().filter(|run| run.0 == label).count();
        match seeds.len() {
            count if count == all => label.to_owned(),
            1 => format!("{label}, seed {}", seeds[0]),
            _ => format!("{label}, seeds {}", seeds.join(", ")),
        }
    };
    labels.into_iter().map(name).collect::<Vec<_>>().join("; ")
}

fn mixed(runs: &[(&str, &crate::RunSummary)]) -> Vec<Caveat> {
    type Get = fn(&crate::RunSummary) -> String;
    let aspects: [(&'static str, Get); 5] = [
        ("the scenario", |run| run.scenario_name.clone()),
        ("the profile", |run| run.profile.clone()),
        ("the version", |run| match &run.git_commit {
            Some(commit) => format!("{} ({commit})", run.bufferlab_version),
            None => run.bufferlab_version.clone(),
        }),
        ("`duration`", |run| format::span_ns(run.duration_ns)),
        ("`drain`", |run| format::span_ns(run.drain_ns)),
    ];
    aspects
        .into_iter()
        .filter_map(|(what, get)| {
            let mut values: Vec<String> = runs.iter().map(|(_, run)| get(run)).collect();
            values.sort();
            values.dedup();
            (values.len() > 1).then_some(Caveat::MixedRuns { what, values })
        })
        .collect()
}

/// Returns the caveat about lost packets of lossless priorities. Only lossless packets have
/// headroom.
fn lost_lossless(runs: &[(&str, &crate::RunSummary)]) -> Option<Caveat> {
    let lost = |run: &crate::RunSummary| run.pauses.as_ref().map_or(0, |pauses| pauses.lost_lossless_packets);
    let concerned: Vec<_> = runs.iter().filter(|(_, run)| lost(run) > 0).collect();
    let mut policies: Vec<String> = concerned.iter().map(|(label, _)| (*label).to_owned()).collect();
    policies.dedup();
    let (packets, runs) = (concerned.iter().map(|(_, run)| lost(run)).sum(), concerned.len() as u64);
    (packets > 0).then_some(Caveat::LostLossless { packets, runs, policies })
}

/// Smallest share of ACKs among the lost packets of a run that is a caveat. Below this share, lost
/// data explains the timeouts.
const LOST_ACKS_SHARE: f64 = 0.1;

/// Returns the caveat of lost ACKs.
fn lost_acks(runs: &[(&str, &crate::RunSummary)]) -> Option<Caveat> {
    let is_concerned = |run: &crate::RunSummary| {
        let switching = &run.switching;
        switching.lost_acks > 0
            && switching.lost_acks as f64 >= LOST_ACKS_SHARE * switching.lost_packets as f64
    };
    let concerned: Vec<_> = runs.iter().filter(|(_, run)| is_concerned(run)).collect();
    let mut policies: Vec<String> = concerned.iter().map(|(label, _)| (*label).to_owned()).collect();
    policies.dedup();
    let sum = |of: fn(&crate::Switching) -> u64| concerned.iter().map(|(_, run)| of(&run.switching)).sum();
    let (acks, packets) = (sum(|switching| switching.lost_acks), sum(|switching| switching.lost_packets));
    let runs = concerned.len() as u64;
    (runs > 0).then_some(Caveat::LostAcks { acks, packets, runs, policies })
}

fn deadlock(runs: &[(&str, &crate::RunSummary)]) -> Option<Caveat> {
    let stuck: Vec<_> = runs.iter().filter(|(_, run)| !run.deadlocks.is_empty()).collect();
    let first = stuck.first()?.1.deadlocks[0].clone();
    let mut policies: Vec<String> = stuck.iter().map(|(label, _)| (*label).to_owned()).collect();
    policies.dedup();
    Some(Caveat::Deadlock { policies, runs: stuck.len() as u64, first })
}

fn unfinished(runs: &[(&str, &crate::RunSummary)]) -> Option<Caveat> {
    let mut policies: Vec<String> = Vec::new();
    let (mut unfinished, mut flows, mut drain_ns) = (0, 0, 0);
    for (label, run) in runs {
        flows += run.all().flows;
        unfinished += run.all().unfinished;
        drain_ns = drain_ns.max(run.drain_ns);
        if run.all().unfinished > 0 && !policies.iter().any(|name| name == label) {
            policies.push((*label).to_owned());
        }
    }
    (unfinished > 0).then_some(Caveat::UnfinishedFlows { unfinished, flows, drain_ns, policies })
}

fn unfinished_schedules(runs: &[(&str, &crate::RunSummary)]) -> Vec<Caveat> {
    let mut found: BTreeMap<u32, (String, u64, StuckNode, u64, Vec<String>)> = BTreeMap::new();
    for (label, run) in runs {
        for group in &run.schedules {
            let Some(node) = group.stuck.first() else { continue };
            let entry = found
                .entry(group.schedule)
                .or_insert_with(|| (group.name_in_sentences(), 0, node.clone(), run.drain_ns, Vec::new()));
            entry.1 += group.unfinished;
            if !entry.4.iter().any(|name| name == label) {
                entry.4.push((*label).to_owned());
            }
        }
    }
    let caveat = |(schedule, unfinished, first, drain_ns, policies)| Caveat::UnfinishedSchedule {
        schedule,
        unfinished,
        first,
        drain_ns,
        policies,
    };
    found.into_values().map(caveat).collect()
}

fn seeds(runs: &[(&str, &crate::RunSummary)]) -> Vec<Caveat> {
    let mut by_policy: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut all: Vec<u64> = Vec::new();
    for (label, run) in runs {
        by_policy.entry(label).or_default().push(run.seed);
        all.push(run.seed);
    }
    all.sort_unstable();
    all.dedup();
    if all.len() == 1 {
        return vec![Caveat::SingleSeed];
    }
    let missing =
        |have: &Vec<u64>| all.iter().copied().filter(|seed| !have.contains(seed)).collect::<Vec<_>>();
    by_policy
        .iter()
        .map(|(policy, have)| Caveat::UnevenSeeds { policy: (*policy).to_owned(), missing: missing(have) })
        .filter(|caveat| !matches!(caveat, Caveat::UnevenSeeds { missing, .. } if missing.is_empty()))
        .collect()
}

fn samples(runs: &[(&str, &crate::RunSummary)]) -> Vec<Caveat> {
    // The number of samples of a group of flows or queries is counted in the run with the fewest
    // samples. Groups have the order of their first appearance in the runs.
    let mut groups: Vec<(String, u64)> = Vec::new();
    let mut queries: Vec<(String, u64)> = Vec::new();
    let lower = |list: &mut Vec<(String, u64)>, name: String, count: u64| match list
        .iter_mut()
        .find(|(known, _)| *known == name)
    {
        Some((_, least)) => *least = (*least).min(count),
        None => list.push((name, count)),
    };
    for (_, run) in runs {
        // The results of open-loop bursts are losses, not completion times, so bursts have no
        // caveat.
        for group in run.groups.iter().filter(|group| group.flows > group.open_loop) {
            lower(&mut groups, group.group.label(), group.fct_ns.map_or(0, |fct| fct.count));
        }
        for group in &run.queries {
            lower(&mut queries, group.class.clone(), group.queries - group.unfinished);
        }
    }
    let mut caveats: Vec<Caveat> = queries
        .iter()
        .filter(|(_, count)| *count < QUERIES_WANTED)
        .map(|(class, queries)| Caveat::FewQueries { class: class.clone(), queries: *queries })
        .collect();
    groups.extend(queries.into_iter().map(|(class, count)| (format::queries_of(&class), count)));
    // A group of samples is listed with the lowest percentile for which the group has too few
    // samples. The groups with the fewest samples come first.
    let lowest = |samples: u64| PERCENTILES.into_iter().find(|p| samples < p.samples_needed());
    for percentile in PERCENTILES {
        let concerned: Vec<_> =
            groups.iter().filter(|(_, samples)| lowest(*samples) == Some(percentile)).cloned().collect();
        if !concerned.is_empty() {
            caveats.push(Caveat::TooFewSamples { percentile, groups: concerned });
        }
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_name_is_a_word_of_its_own() {
        assert!(mentions("\"dt(alpha=2)\" has other traffic.", "dt(alpha=2)"));
        assert!(mentions("dt: late.", "dt") && mentions("under dt", "dt"));
        assert!(!mentions("The bandwidth is low.", "dt") && !mentions("tdt is late.", "dt"));
    }
}
