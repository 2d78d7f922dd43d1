//! The playground: a switch with overloaded ports and a burst, under a policy
//! that the user chooses.
//!
//! The arriving packets do not depend on the policy. From the start, ports 1,
//! 2 … are overloaded at twice their rate, until the buffer could be full. Then a burst for port
//! 0 arrives from senders at separate ports. Each sender has the rate of a port.

use crate::ViewError;
use crate::index::{Index, Kind, Shape, Source, kind_counts};
use crate::window::{By, Window, WindowRequest, window};
use bufferlab_core::{ParamValue, PolicyInfo, find_policy, policies};
use bufferlab_metrics::{PacketEvent, PacketRow, RunSink};
use bufferlab_results::PacketBrief;
use bufferlab_scenario::load_text;
use bufferlab_sim::Simulation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::time::Instant;

/// Size of the playground's packets on the wire (bytes).
const PACKET: u64 = 1_500;
/// Number of points in the playground's chart.
const POINTS: u64 = 600;
/// Name of the policy parameter that has a separate control on the page.
const ALPHA: &str = "alpha";

/// Name of the parameter for the refresh interval of policies that refresh by the clock.
const UPDATE_INTERVAL: &str = "update_interval";

/// The playground for buffer policies, which a [`Page`](crate::Page) serves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Play;

/// Numbers that the user can choose, with their bounds.
const NUMBERS: [Number; 8] = [
    Number { key: "ports", label: "Ports", min: 2, max: 64, default: 8 },
    Number { key: "queues", label: "Queues per port", min: 1, max: 8, default: 1 },
    Number { key: "rate_gbps", label: "Rate (Gb/s)", min: 1, max: 400, default: 10 },
    Number { key: "buffer_kb", label: "Buffer (KB)", min: 30, max: 16_000, default: 1_000 },
    Number { key: "overloaded", label: "Overloaded ports", min: 0, max: 63, default: 2 },
    Number { key: "busy", label: "Busy queues of each", min: 1, max: 8, default: 1 },
    Number { key: "senders", label: "Senders of the burst", min: 1, max: 63, default: 4 },
    Number { key: "burst_kb", label: "Burst (KB)", min: 2, max: 8_000, default: 500 },
];

/// A number that the user of the playground can choose, with its bounds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Number {
    key: &'static str,
    label: &'static str,
    min: u64,
    max: u64,
    default: u64,
}

/// A policy that the user of the playground can choose.
#[derive(Clone, Debug, Serialize)]
struct PolicySelection {
    name: &'static str,
    title: &'static str,
    /// Default of the policy's alpha; `None` if the policy has no alpha.
    alpha: Option<String>,
}

/// Numbers and policies that the playground offers to the user.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Offer {
    numbers: Vec<Number>,
    policies: Vec<PolicySelection>,
}

/// The user's choices in the playground.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choices {
    ports: u64,
    queues: u64,
    rate_gbps: u64,
    buffer_kb: u64,
    overloaded: u64,
    busy: u64,
    senders: u64,
    burst_kb: u64,
    /// Priority of the queue that receives the burst.
    priority: u64,
    policy: String,
    /// Alpha: one number, or a number per priority with commas; empty for the policy's default.
    alpha: String,
    by: By,
}

/// Result of one simulation in the playground.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    /// Sentence about the burst's losses and the limit that caused these losses.
    sentence: String,
    buffer_bytes: u64,
    window: Window,
    kinds: Vec<Kind>,
    /// Numbers of lost packets, by class and by reason.
    losses: Vec<Line>,
    /// Time for reading the choices, simulating and summarising (us).
    took_us: u64,
    packets: usize,
}

/// Number of lost packets of a class for one reason.
#[derive(Clone, Debug, Serialize)]
struct Line {
    class: String,
    what: String,
    packets: u64,
    bytes: u64,
}

/// Returns the numbers and policies that the playground offers.
pub(crate) fn choices() -> Offer {
    let alpha = |info: &PolicyInfo| {
        let param = info.params.iter().find(|param| param.name == ALPHA)?;
        Some(param.default.to_string())
    };
    let choice = |info: &&'static PolicyInfo| PolicySelection {
        name: info.name,
        title: info.title,
        alpha: alpha(info),
    };
    Offer { numbers: NUMBERS.to_vec(), policies: policies().iter().map(choice).collect() }
}

impl Choices {
    fn check(&self) -> Result<(), ViewError> {
        let values = [
            self.ports,
            self.queues,
            self.rate_gbps,
            self.buffer_kb,
            self.overloaded,
            self.busy,
            self.senders,
            self.burst_kb,
        ];
        for (number, value) in NUMBERS.iter().zip(values) {
            if !(number.min..=number.max).contains(&value) {
                let Number { label, min, max, .. } = number;
                return Err(ViewError::Choice(format!("{label}: {value} is not between {min} and {max}")));
            }
        }
        if self.priority >= self.queues {
            let last = self.queues - 1;
            return Err(ViewError::Choice(format!(
                "Queue of the burst: {} is not between 0 and {last}, the last queue of a port",
                self.priority
            )));
        }
        if find_policy(&self.policy).is_none() {
            return Err(ViewError::Choice(format!("no policy is called \"{}\"", self.policy)));
        }
        Ok(())
    }

    /// Number of overloaded ports: any port except the burst's port can be overloaded.
    fn overloaded(&self) -> u64 {
        self.overloaded.min(self.ports - 1)
    }

    fn senders(&self) -> u64 {
        self.senders.min(self.ports - 1)
    }

    fn busy(&self) -> u64 {
        self.busy.min(self.queues)
    }

    /// Sentences about choices that are too large for the switch, to be added to the result's
    /// sentences.
    fn reduced(&self) -> String {
        let others = self.ports - 1;
        let fewer = [
            (self.overloaded, self.overloaded(), "overloaded ports", "the port of the burst is none of them"),
            (self.senders, self.senders(), "senders", "a sender is at a port of its own"),
            (self.busy, self.busy(), "busy queues", "a port has no more"),
        ];
        let said = fewer.into_iter().filter(|(chosen, used, ..)| used < chosen);
        let sentence = |(chosen, used, what, why): (u64, u64, &str, &str)| {
            format!(
                " There are {used} {what} and not {chosen}, because {why} ({others} other ports, {} queues each).",
                self.queues
            )
        };
        said.map(sentence).collect()
    }

    /// Start time of the burst (ns): at this time, the overload alone could have filled the buffer.
    fn burst_at(&self) -> u64 {
        let excess = self.overloaded() * self.rate_gbps;
        (self.buffer_kb * 8_000 * 5 / 4).checked_div(excess).unwrap_or_default().max(1_000)
    }

    /// Time span in which the burst arrives (ns).
    fn burst_lasts(&self) -> u64 {
        (self.burst_kb * 8_000 / (self.senders() * self.rate_gbps)).max(1)
    }

    fn policy(&self) -> Result<String, ViewError> {
        let alpha = self.alpha.trim();
        if alpha.is_empty() {
            return Ok(format!("\"{}\"", self.policy));
        }
        let numbers: Result<Vec<f64>, _> =
            alpha.split(',').map(|number| number.trim().parse::<f64>()).collect();
        let Ok(numbers) = numbers else {
            return Err(ViewError::Choice(format!(
                "alpha: \"{alpha}\" is no number, and no list of numbers with commas"
            )));
        };
        let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
        let value = match numbers.as_slice() {
            [one] => one.clone(),
            list => format!("[{}]", list.join(", ")),
        };
        Ok(format!("{{ name = \"{}\", alpha = {value} }}", self.policy))
    }
}

/// Writes the choices as a scenario for `bufferlab run`.
pub(crate) fn scenario_text(choices: &Choices) -> Result<String, ViewError> {
    choices.check()?;
    let Choices { ports, queues, rate_gbps, buffer_kb, burst_kb, .. } = choices;
    let (busy, senders, overloaded) = (choices.busy(), choices.senders(), choices.overloaded());
    let (at, lasts) = (choices.burst_at(), choices.burst_lasts());
    let priority = choices.priority;
    let policy = choices.policy()?;
    let mut text = format!(
        "# Found on the playground: {overloaded} ports are overloaded, then {senders} senders send {burst_kb} KB to port 0.\n\n\
         name = \"playground\"\ndescription = \"A burst beside overloaded ports\"\nduration = \"{} ns\"\ndrain = \"1 s\"\n\n\
         [topology]\nkind = \"single_switch\"\nhosts = {ports}\nrate = \"{rate_gbps} Gb/s\"\nuplink_rate = \"{} Gb/s\"\ndelay = \"100 ns\"\n\n\
         [switch]\nbuffer = \"{buffer_kb} KB\"\nqueues_per_port = {queues}\npolicy = {policy}\n",
        at + lasts * 3 / 2 + 1,
        rate_gbps * 4,
    );
    let transport = |text: &mut String, name: &str, mbps: u64, priority: u64| {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "\n[[transport]]\nname = \"{name}\"\ncongestion_control = \"none\"\nrate = \"{mbps} Mb/s\"\nsegment_bytes = \"1446 B\"\ndata_priority = {priority}\n"
        );
    };
    for queue in 0..if overloaded == 0 { 0 } else { busy } {
        transport(&mut text, &format!("overload-{queue}"), rate_gbps * 2_000 / busy, queue);
    }
    transport(&mut text, "burst", rate_gbps * 1_000, priority);
    for queue in 0..if overloaded == 0 { 0 } else { busy } {
        let _ = write!(
            text,
            "\n[[workload]]\nkind = \"bursts\"\nclass = \"overload {queue}\"\ntransport = \"overload-{queue}\"\nbursts = [\n"
        );
        for port in 1..=overloaded {
            // The next host is the burst's sender: its uplink is four times as fast as a port.
            let _ = writeln!(
                text,
                "    {{ src = \"h{}\", dst = \"h{port}\", start = \"0 s\" }},",
                (port + 1) % ports
            );
        }
        text.push_str("]\n");
    }
    let _ = write!(
        text,
        "\n[[workload]]\nkind = \"bursts\"\nclass = \"burst\"\ntransport = \"burst\"\nbursts = [\n"
    );
    for sender in 1..=senders {
        let size = (burst_kb * 1_000 / senders).max(PACKET);
        let _ = writeln!(
            text,
            "    {{ src = \"h{sender}\", dst = \"h0\", start = \"{at} ns\", size = \"{size} B\" }},"
        );
    }
    text.push_str("]\n");
    Ok(text)
}

/// Sink that keeps the packet rows of a run in memory.
#[derive(Debug, Default)]
struct Packets(Vec<PacketRow>);

impl RunSink for Packets {
    fn packet(&mut self, row: &PacketRow) -> io::Result<()> {
        self.0.push(row.clone());
        Ok(())
    }
}

impl Play {
    /// Simulates the choices of the playground's user.
    pub(crate) fn run(self, choices: &Choices) -> Result<Outcome, ViewError> {
        let begin = Instant::now();
        let text = scenario_text(choices)?;
        let packets = [("output.packets".to_owned(), "all".to_owned())];
        let loaded = load_text(Path::new("playground.toml"), &text, &packets)
            .map_err(|error| ViewError::Choice(words_of(&error)))?;
        let simulation = Simulation::new(&loaded.scenario)?;
        let classes = simulation.classes().to_vec();
        let mut rows = Packets::default();
        let totals = simulation.run(&mut rows, &mut |_| {})?;
        let rows = rows.0;
        let briefs = rows.iter().zip(0..).map(|(row, number)| PacketBrief::from((number, row))).collect();
        let source = Source::Memory(briefs);
        let shape = Shape { ports: choices.ports as u16, queues_per_port: choices.queues as u8 };
        let end = rows.last().map_or(totals.end_ns * 1_000, |row| row.time_ps + 1);
        let index = Index::build(&source, 0, shape, end)?;
        let request =
            WindowRequest { from: 0, until: end, points: POINTS, by: choices.by, port: None, priority: None };
        let mut window = window(&index, &source, &classes, &request)?;
        // The page shows sums of losses. A list of single losses would double the size of the
        // answer.
        window.losses.clear();
        window.counts.clear();
        let buffer_bytes = choices.buffer_kb * 1_000;
        Ok(Outcome {
            sentence: sentence(&rows, &classes, buffer_bytes, choices)
                + &before_first_look(&rows, &classes, choices).unwrap_or_default()
                + &choices.reduced(),
            losses: losses(&rows, &classes),
            buffer_bytes,
            window,
            kinds: Kind::all(),
            packets: kind_counts(&index)[PacketEvent::Admitted as usize] as usize,
            took_us: begin.elapsed().as_micros() as u64,
        })
    }
}

/// Text of a scenario's error, without positions in the generated file.
fn words_of(error: &bufferlab_scenario::LoadError) -> String {
    let first = error.problems().first().map(|problem| format!("{}: {}", problem.key(), problem.message()));
    first.unwrap_or_else(|| error.to_string())
}

/// Text about the cause of a loss: the limit that the policy compared with, or the drop reason.
fn what(row: &PacketRow) -> String {
    let reason = row.reason.unwrap_or("lost");
    match row.bound {
        Some(bound) => format!("the limit of the {bound} ({reason})"),
        None => reason.to_owned(),
    }
}

fn losses(rows: &[PacketRow], classes: &[String]) -> Vec<Line> {
    let mut sums: BTreeMap<(u16, String), (u64, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.event.is_loss()) {
        let sum = sums.entry((row.class.unwrap_or_default(), what(row))).or_default();
        (sum.0, sum.1) = (sum.0 + 1, sum.1 + u64::from(row.size_bytes));
    }
    let name = |class: u16| classes.get(usize::from(class)).cloned().unwrap_or_default();
    let line = |((class, what), (packets, bytes))| Line { class: name(class), what, packets, bytes };
    sums.into_iter().map(line).collect()
}

/// Sentence for a policy that refreshes at intervals, if the burst ended before the first refresh.
fn before_first_look(rows: &[PacketRow], classes: &[String], choices: &Choices) -> Option<String> {
    let info = find_policy(&choices.policy)?;
    let param = info.params.iter().find(|param| param.name == UPDATE_INTERVAL)?;
    let ParamValue::Time(interval) = param.default else { return None };
    let burst = classes.iter().position(|class| class == "burst")? as u16;
    let arrives = |row: &&PacketRow| row.event.is_arrival();
    let last = rows.iter().rfind(|row| row.class == Some(burst) && arrives(row))?.time_ps;
    let us = |time: u64| (time as f64 / 100_000.0).round() / 10.0;
    (last < interval.0).then(|| {
        format!(
            " What {} refreshes every {} us is still as in an empty switch: the burst has arrived {} us after the start. So nothing that it counts per \
             priority or measures per queue makes a difference here.",
            choices.policy,
            us(interval.0),
            us(last),
        )
    })
}

/// Sentence about the burst's losses and the limit that caused these losses.
fn sentence(rows: &[PacketRow], classes: &[String], buffer: u64, choices: &Choices) -> String {
    let burst = classes.iter().position(|class| class == "burst").map(|class| class as u16);
    let of_burst = || rows.iter().filter(|row| row.class == burst);
    let sum =
        |rows: &mut dyn Iterator<Item = &PacketRow>| rows.map(|row| u64::from(row.size_bytes)).sum::<u64>();
    let lost = sum(&mut of_burst().filter(|row| row.event.is_loss()));
    let arrived = sum(&mut of_burst().filter(|row| row.event.is_arrival()));
    let fullest = rows.iter().map(|row| row.occupancy_bytes).max().unwrap_or_default();
    let longest = of_burst().map(|row| row.queue_bytes).max().unwrap_or_default();
    let kb = |bytes: u64| format!("{} KB", (bytes as f64 / 100.0).round() / 10.0);
    let percent =
        |part: u64, whole: u64| format!("{} %", (1_000.0 * part as f64 / whole.max(1) as f64).round() / 10.0);
    let full = format!("The buffer was at most {} full.", percent(fullest, buffer));
    if lost == 0 {
        let least = of_burst()
            .filter(|row| row.event == PacketEvent::Admitted)
            .filter_map(|row| row.threshold_bytes)
            .min();
        let limit = least.map_or(String::new(), |limit| format!(", which was never below {}", kb(limit)));
        return format!(
            "{}: nothing of the burst is lost, so no limit binds it. Its queue held {} at most{}. {full}",
            choices.policy,
            kb(longest),
            if limit.is_empty() {
                String::new()
            } else {
                format!("; its limit{}", limit.replacen(", which", "", 1))
            },
        );
    }
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for row in of_burst().filter(|row| row.event.is_loss()) {
        *reasons.entry(what(row)).or_default() += 1;
    }
    let most =
        reasons.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| reason.clone()).unwrap_or_default();
    let first = of_burst().find(|row| row.event.is_loss());
    let numbers = first.and_then(|row| Some((row.held_bytes?, row.limit_bytes?)));
    let numbers = numbers.map_or(String::new(), |(held, limit)| {
        format!(" At the first loss it held {} and allowed {}.", kb(held), kb(limit))
    });
    format!(
        "{}: {} of {} of the burst are lost ({}). Most losses come from {most}.{numbers} {full}",
        choices.policy,
        kb(lost),
        kb(arrived),
        percent(lost, arrived),
    )
}

#[cfg(test)]
mod tests;
