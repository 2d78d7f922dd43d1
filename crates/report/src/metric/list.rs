//! Lists the metrics of a run. The subjects are in the order of reports. The table of metrics
//! declares the metrics of each subject.

use super::declare::MetricRow;
use super::subject::{Subject, fill};
use super::table::{
    self, BUFFERS, BURST_BINS, BURST_PACKETS, BURSTS, DELAYS, FLOWS, HEADROOM, LINKS, LOSSES,
};
use super::table::{
    PAUSES, PAUSES_BY_PRIORITY, PAUSES_BY_ROLE, PORTS, PRIORITIES, QUERIES, SCHEDULES, SWITCHES,
};
use super::{Metric, MetricValue};
use crate::summary::RunSummary;

impl RunSummary {
    /// Returns every metric of the run, in the order of reports.
    #[must_use]
    pub fn metrics(&self) -> Vec<MetricValue> {
        let mut list = List { run: self, values: Vec::new() };
        for flows in &self.groups {
            list.add(FLOWS, &flows.group.subject(), flows, &[]);
        }
        for queries in &self.queries {
            list.add(QUERIES, &Subject::Queries(queries.class.clone()), queries, &[]);
        }
        for schedule in &self.schedules {
            let subject = Subject::Schedule(schedule.schedule.to_string(), schedule.short_name());
            list.add(SCHEDULES, &subject, schedule, &[]);
        }
        list.bursts();
        list.switches();
        for links in &self.links {
            list.add(LINKS, &Subject::Links, links, &[&links.role]);
        }
        list.pauses();
        list.values
    }

    /// Returns the metrics of single switches, which comparisons omit.
    #[must_use]
    pub fn metrics_by_switch(&self) -> Vec<MetricValue> {
        let mut list = List { run: self, values: Vec::new() };
        for switch in &self.occupancy {
            list.add(table::SWITCH_BUFFERS, &Subject::Switch(switch.switch.clone()), switch, &[]);
        }
        list.values
    }
}

struct List<'a> {
    run: &'a RunSummary,
    values: Vec<MetricValue>,
}

impl List<'_> {
    /// Adds the metrics of `rows` for one subject; `keys` replace `{}` in the ids.
    fn add<T>(&mut self, rows: &'static [MetricRow<T>], subject: &Subject, of: &T, keys: &[&str]) {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        for row in rows {
            let id = format!("{}.{}", subject.prefix(), fill(row.kind.name, &keys));
            // The class, priority or role of a measured metric always has a name that a metric id
            // can contain.
            let parts = row.kind.scope.words_of(&keys).unwrap_or_else(|| keys.clone());
            let headline = (row.shown)(self.run, of);
            let metric = Metric::new(&row.kind, subject.clone(), id, parts, headline);
            self.values.push(MetricValue { metric, value: (row.value)(of) });
        }
    }

    fn bursts(&mut self) {
        let run = self.run;
        for group in &run.bursts {
            let subject = Subject::OpenLoop(group.class.clone());
            self.add(BURSTS, &subject, group, &[]);
            for bin in &group.bins {
                self.add(BURST_BINS, &subject, bin, &[&bin.key()]);
            }
            self.add(BURST_PACKETS, &subject, group, &[]);
            for delays in run.delays.iter().filter(|delays| delays.class == group.class) {
                self.add(DELAYS, &subject, delays, &[]);
            }
        }
        let has_bursts = |class: &str| run.bursts.iter().any(|group| group.class == class);
        for delays in run.delays.iter().filter(|delays| !has_bursts(&delays.class)) {
            self.add(DELAYS, &Subject::Packets(delays.class.clone()), delays, &[]);
        }
        self.add(PORTS, &Subject::Ports, run, &[]);
    }

    fn switches(&mut self) {
        let run = self.run;
        let subject = Subject::Switches;
        self.add(SWITCHES, &subject, &run.switching, &[]);
        for losses in &run.switching.lost_by_class {
            self.add(LOSSES, &subject, losses, &[&losses.0]);
        }
        self.add(BUFFERS, &subject, &run.occupancy, &[]);
        for held in &run.priorities {
            self.add(PRIORITIES, &subject, held, &[&held.switch, &held.priority.to_string()]);
        }
    }

    fn pauses(&mut self) {
        let Some(pauses) = &self.run.pauses else { return };
        let subject = Subject::Pauses;
        self.add(PAUSES, &subject, pauses, &[]);
        for (role, total) in &pauses.by_role {
            self.add(PAUSES_BY_ROLE, &subject, total, &[role]);
        }
        if pauses.by_priority.len() > 1 {
            for (priority, total) in &pauses.by_priority {
                self.add(PAUSES_BY_PRIORITY, &subject, total, &[&priority.to_string()]);
            }
        }
        self.add(HEADROOM, &subject, pauses, &[]);
    }
}
