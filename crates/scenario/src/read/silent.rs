//! Warnings about settings that have no effect, or an effect that hardly any user wants. The
//! warnings do not stop a run.

mod cards;
mod constants;
mod idle;
mod marks;
mod switches;

use crate::context::{Complaint, Context};
use crate::model::{Scenario, TransportSpec};
use crate::quantity::{format_rate, format_time, parse_time};
use crate::tree::{Item, Origin, Value};
use crate::{A_VARIANT, COMMAND_LINE};
use bufferlab_units::{BitRate, Time};

/// Number of samples above which the rows of samples fill gigabytes, and no chart can show every
/// row.
const SAMPLES_MAX: u64 = 10_000_000;
/// Number of segments per ACK above which a receiver leaves ACKs to its timer.
const ACK_EVERY_MAX: u32 = 64;

/// Default timeout of delayed ACKs, written out in resolved scenarios.
const DELAYED_ACK_TIMEOUT: Time = Time::from_ms(1);

/// A complete scenario, and the keys that its files set.
pub(super) struct ScenarioCheck<'a> {
    pub(super) context: &'a Context,
    /// Merged content of all files of the scenario.
    pub(super) root: &'a Item,
    pub(super) scenario: &'a Scenario,
    /// Whether a workload sends packets over the transport, for each transport.
    pub(super) used: &'a [bool],
}

/// Warns of every suspicious setting of the scenario.
pub(super) fn warn(check: &ScenarioCheck<'_>) {
    for (index, transport) in check.scenario.transports.iter().enumerate() {
        check.warn_about_acknowledgements(index, transport);
        check.warn_about_timeouts(index, transport);
    }
    cards::warn(check);
    switches::warn(check);
    idle::warn(check);
    marks::warn(check);
    constants::warn(check);
    check.warn_about_overload();
    check.warn_about_samples();
    check.warn_about_changes();
}

impl ScenarioCheck<'_> {
    /// Returns the place of a dotted key's value; `None` if no file has the key. Numbers select
    /// entries of lists.
    pub(super) fn place(&self, key: &str) -> Option<Origin> {
        find(self.root, key).map(|item| item.origin)
    }

    /// Rank of a key by the order in which the program applies the key's value. A file overrides
    /// the files that it extends, and the command line overrides files. The last value on the
    /// command line counts.
    pub(super) fn rank(&self, key: &str) -> Option<(bool, i64)> {
        let origin = self.place(key)?;
        let behind = |name: &str| name == COMMAND_LINE || name == A_VARIANT;
        let said_behind = self.context.source_of(origin).is_some_and(|source| behind(source.name()));
        let number = i64::from(origin.source);
        Some((said_behind, if said_behind { number } else { -number }))
    }

    /// Records a warning about a key. If no file sets the key, the place is the table around the
    /// key.
    pub(super) fn note(&self, key: &str, message: String, label: &str, help: &str) {
        let mut around = key;
        let origin = loop {
            match (self.place(around), around.rsplit_once('.')) {
                (Some(origin), _) => break origin,
                (None, Some((above, _))) => around = above,
                (None, None) => break self.root.origin,
            }
        };
        self.context.warn(key, origin, Complaint::new(message, label).help(help));
    }

    fn warn_about_acknowledgements(&self, index: usize, transport: &TransportSpec) {
        if transport.rdma.is_some() || transport.pacing.is_some() {
            return;
        }
        let waits = format!("transport.{index}.delayed_ack_timeout");
        let says = transport.delayed_ack_timeout != DELAYED_ACK_TIMEOUT && self.place(&waits).is_some();
        if transport.ack_every == 1 && says {
            let message =
                "`delayed_ack_timeout` has no effect: with ack_every = 1 no ACK is delayed".to_owned();
            self.note(&waits, message, "nothing waits for it", "remove it, or set ack_every = 2");
        }
        if transport.ack_every > ACK_EVERY_MAX {
            let message = format!(
                "a receiver waits for {} segments before it acknowledges any: only `delayed_ack_timeout` ({}) does",
                transport.ack_every,
                format_time(transport.delayed_ack_timeout)
            );
            let help = "set ack_every = 2, which is what TCP does (RFC 5681), or 1";
            self.note(&format!("transport.{index}.ack_every"), message, "more than a window", help);
        }
    }

    /// Warns of a minimum timeout below every round trip, because such a minimum has no effect.
    fn warn_about_timeouts(&self, index: usize, transport: &TransportSpec) {
        let key = format!("transport.{index}.min_rto");
        let least = self.shortest_round_trip();
        if self.place(&key).is_none() || transport.min_rto >= least {
            return;
        }
        let message = format!(
            "the smallest timeout ({}) is below every round trip of this network (at least {}): it never binds",
            format_time(transport.min_rto),
            format_time(least)
        );
        let help = "timeouts follow the measured round trips alone; check the unit, or remove it";
        self.note(&key, message, "no timeout is as short", help);
    }

    /// Returns a lower bound of every round trip: twice the sum of the two shortest delays between
    /// a host and its switch.
    fn shortest_round_trip(&self) -> Time {
        let topology = &self.scenario.topology;
        let mut delays: Vec<u64> = (0..topology.hosts.len())
            .map(|host| topology.links[topology.host_link(host as u32) as usize].delay.0)
            .collect();
        delays.sort_unstable();
        Time(delays.iter().take(2).sum::<u64>().saturating_mul(2))
    }

    /// Warns if one workload, or all workloads together, offer more load than the hosts' links
    /// carry.
    fn warn_about_overload(&self) {
        let Scenario { topology, workloads, .. } = self.scenario;
        let links: u64 = (0..topology.hosts.len() as u32)
            .map(|host| topology.host_rate(host).0)
            .fold(0, u64::saturating_add);
        let offers: Vec<f64> =
            workloads.iter().map(|spec| spec.workload.offered_bps().unwrap_or(0.0)).collect();
        let offered: f64 = offers.iter().sum();
        if offered <= links as f64 {
            return;
        }
        // The warning names the workload with the largest offered load.
        let most = offers.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(index, _)| index);
        let message = format!(
            "the workloads offer {:.1} Gb/s, and the hosts' links carry {} together: queues of flows grow for as long as flows start",
            offered / 1e9,
            format_rate(BitRate(links))
        );
        let label = format!("{:.1} Gb/s of them", offers[most] / 1e9);
        let help = "lower the loads, the rate of queries or their size; results tell of the overload alone";
        self.note(&format!("workload.{most}"), message, &label, help);
    }

    fn warn_about_samples(&self) {
        let Scenario { output, duration, drain, .. } = self.scenario;
        if output.sample_interval == Time::ZERO {
            return;
        }
        let end = Time(duration.0.saturating_add(drain.0));
        if output.sample_from >= end {
            let message = format!(
                "nothing is sampled: samples would start at {}, and the run ends at {} at the latest",
                format_time(output.sample_from),
                format_time(end)
            );
            self.note("output.sample_from", message, "after the end", "lower it, or raise `duration`");
            return;
        }
        let until = output.sample_until.map_or(end, |until| until.min(end));
        let samples = (until.0 - output.sample_from.0.min(until.0)) / output.sample_interval.0;
        if samples > SAMPLES_MAX {
            let message = format!(
                "a sample every {} makes up to {samples} of them, with a row for every queue in use",
                format_time(output.sample_interval)
            );
            let help = "check the unit, or sample a part of the run (sample_from, sample_until)";
            self.note("output.sample_interval", message, "tables of gigabytes", help);
        }
    }

    /// Warns about changes of cables that have no effect on the network.
    fn warn_about_changes(&self) {
        let Scenario { duration, drain, .. } = self.scenario;
        let end = Time(duration.0.saturating_add(drain.0));
        let Some(Value::Array(changes)) = find(self.root, "topology.change").map(|item| &item.value) else {
            return;
        };
        for index in 0..changes.len() {
            let key = format!("topology.change.{index}.down");
            let Some(Value::Array(times)) = find(self.root, &key).map(|item| &item.value) else { continue };
            let time = |item: &Item| match &item.value {
                Value::String(text) => parse_time(text).ok(),
                _ => None,
            };
            let late = times.iter().step_by(2).filter_map(time).find(|from| *from >= end);
            if let Some(from) = late {
                let message = format!(
                    "the cable would go down at {}, and the run ends at {} at the latest",
                    format_time(from),
                    format_time(end)
                );
                self.note(&key, message, "after the end", "lower the time, or raise `duration`");
            }
        }
    }
}

/// Returns the value of a dotted key in the scenario.
pub(super) fn find<'a>(root: &'a Item, key: &str) -> Option<&'a Item> {
    key.split('.').try_fold(root, |item, part| match &item.value {
        Value::Table(table) => table.get(part),
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}
