//! Claims of TDT (ToN 2022), Figures 9 to 11, about random traffic,
//! tested on the shipped scenarios.
//!
//! If the paper is ambiguous, the tests run both interpretations: the spread of burst lengths
//! (section VI-B), and the quantity that "9:1" counts (section VI-C).

use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};
use bufferlab_metrics::{DelayRow, FlowRow, FlowState, LinkRow, RunSink, RunTotals};
use bufferlab_scenario::load;
use bufferlab_sim::Simulation;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// Results of a run that the tests of TDT's claims need.
#[derive(Debug, Default)]
struct Run {
    classes: Vec<String>,
    /// Class, sending time (ns), packets sent and packets lost of each flow.
    flows: Vec<(u16, u64, u64, u64)>,
    /// Class, upper edge (ns) and number of packets of each delay bin.
    delays: Vec<(u16, u64, u64)>,
    /// Offered and carried load of every switch port with offered traffic,
    /// as shares of the port's rate.
    ports: Vec<(String, f64, f64)>,
    seconds: f64,
}

impl RunSink for Run {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        let known = row.state != FlowState::Unfinished || row.dropped_packets > 0;
        if let (Some(length), true) = (row.sending_ns, known) {
            self.flows.push((row.class, length, row.sent_packets, row.dropped_packets));
        }
        Ok(())
    }
    fn link(&mut self, row: &LinkRow) -> io::Result<()> {
        if let Some(offered) = row.offered_bytes.filter(|bytes| *bytes > 0) {
            let offered = offered as f64 * 8.0 / self.seconds / row.rate_bps as f64;
            self.ports.push((row.to.clone(), offered, row.utilisation));
        }
        Ok(())
    }
    fn delay(&mut self, row: &DelayRow) -> io::Result<()> {
        self.delays.push((row.class, if row.total_ns == 0 { 0 } else { row.to_ns }, row.packets));
        Ok(())
    }
}

impl Run {
    fn class(&self, name: &str) -> u16 {
        self.classes.iter().position(|class| class == name).expect("the class exists") as u16
    }

    /// Number of lossless bursts, and number of all bursts, whose length is at least `from` and
    /// below `to` (us).
    fn bursts(&self, from: u64, to: u64) -> (usize, usize) {
        let class = self.class("burst");
        let within =
            self.flows.iter().filter(|flow| flow.0 == class && (from * 1_000..to * 1_000).contains(&flow.1));
        let lost: Vec<u64> = within.map(|flow| flow.3).collect();
        (lost.iter().filter(|lost| **lost == 0).count(), lost.len())
    }

    /// Percentage of bursts that lost no packet.
    fn lossless(&self, from: u64, to: u64) -> f64 {
        let (lossless, all) = self.bursts(from, to);
        lossless as f64 / all as f64 * 100.0
    }

    fn all_lossless(&self) -> f64 {
        self.lossless(0, u64::MAX / 1_000)
    }

    /// Quantile `share` of the delay of a class' packets (ms).
    fn delay_ms(&self, class: &str, share: f64) -> f64 {
        let class = self.class(class);
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        for (_, to, packets) in self.delays.iter().filter(|bin| bin.0 == class) {
            *bins.entry(*to).or_default() += packets;
        }
        let wanted = bins.values().sum::<u64>() as f64 * share;
        let mut seen = 0;
        let at = bins.iter().find(|(_, packets)| {
            seen += **packets;
            seen as f64 >= wanted
        });
        *at.expect("packets were sent").0 as f64 * 1e-6
    }

    fn port(&self, host: &str) -> f64 {
        self.ports.iter().find(|port| port.0 == host).expect("the port is used").2
    }

    /// Number of delivered packets of a class.
    fn delivered(&self, class: &str) -> f64 {
        let class = self.class(class);
        self.flows.iter().filter(|flow| flow.0 == class).map(|flow| (flow.2 - flow.3) as f64).sum()
    }

    /// Jain's index of the ratio of carried to offered load over all ports.
    fn jain(&self) -> f64 {
        jain(&self.ports.iter().map(|(_, offered, carried)| carried / offered.min(1.0)).collect::<Vec<_>>())
    }
}

/// Jain's index of a list of values (Eq. 15).
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|x| x * x).sum::<f64>())
}

/// Result of a shipped scenario with changes. Each run is done once,
/// and all claims share its result.
fn run(scenario: &str, changes: &[(&str, &str)]) -> Arc<Run> {
    type Cell = Arc<OnceLock<Arc<Run>>>;
    static RUNS: Mutex<BTreeMap<String, Cell>> = Mutex::new(BTreeMap::new());
    let key = format!("{scenario} {changes:?}");
    let cell = RUNS.lock().expect("no run panics under the lock").entry(key).or_default().clone();
    let simulate = || {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(scenario);
        let changes: Vec<_> =
            changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let loaded = load(&path, &changes).unwrap_or_else(|error| panic!("{error}"));
        let mut run = Run { seconds: loaded.scenario.duration.as_secs_f64(), ..Run::default() };
        let simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|error| panic!("{error}"));
        let totals: RunTotals =
            simulation.run(&mut run, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
        run.classes = totals.classes;
        Arc::new(run)
    };
    cell.get_or_init(simulate).clone()
}

fn policy(name: &str) -> String {
    // The scenario gives dt the paper's alpha. For other policies the default of alpha is 1.
    if name == "dt" {
        "{ name = \"dt\", alpha = 1.0 }".to_owned()
    } else {
        format!("{{ name = \"{name}\" }}")
    }
}

/// Run of TDT's section VI-B with 0 to 2 overwhelmed ports and bursts of random length.
fn homogeneous(ports: usize, name: &str) -> Arc<Run> {
    let scenario = ["tdt-homogeneous-0.toml", "tdt-homogeneous-1.toml", "tdt-homogeneous.toml"][ports];
    run(scenario, &[("switch.policy", &policy(name))])
}

/// Run with two overloaded ports and bursts of 250 us.
fn fixed(name: &str) -> Arc<Run> {
    let changes = [("switch.policy", policy(name)), ("workload.0.on_distribution", "fixed".to_owned())];
    run("tdt-homogeneous.toml", &changes.each_ref().map(|(key, value)| (*key, value.as_str())))
}

/// Run of TDT's section VI-C, with the ratio "9:1" between the numbers of bursts.
fn mixed(name: &str) -> Arc<Run> {
    run("tdt-mixed.toml", &[("switch.policy", &policy(name)), ("duration", "4 s")])
}

/// Run of TDT's section VI-C, with the ratio "9:1" between the loads.
fn mixed_by_load(name: &str) -> Arc<Run> {
    run("tdt-mixed-by-load.toml", &[("switch.policy", &policy(name)), ("duration", "1200 ms")])
}

/// Results of section VI-D for the parameter DC from B/8 to 2B. A result has the share of lossless
/// bursts (%), and the packets delivered by long bursts and by background traffic.
fn sweep() -> Vec<(u64, f64, f64)> {
    let at = |dc: u64| {
        let run = run("tdt-fig11.toml", &[("switch.policy.dc", &dc.to_string()), ("duration", "1 s")]);
        (dc, run.all_lossless(), run.delivered("long") + run.delivered("background"))
    };
    [250, 500, 1_000, 2_000, 4_000].map(at).to_vec()
}

/// Spearman's rank correlation between the values of a list and their positions.
fn rank_correlation(values: &[f64]) -> f64 {
    let rank = |value: &f64| values.iter().filter(|other| *other < value).count() as f64;
    let n = values.len() as f64;
    let squares: f64 = values.iter().enumerate().map(|(at, value)| (at as f64 - rank(value)).powi(2)).sum();
    1.0 - 6.0 * squares / (n * (n * n - 1.0))
}

fn list(values: impl IntoIterator<Item = f64>, decimals: usize) -> String {
    values.into_iter().map(|value| format!("{value:.decimals$}")).collect::<Vec<_>>().join(", ")
}

fn spread(values: &[f64]) -> f64 {
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
    (most - least) / (values.iter().sum::<f64>() / values.len() as f64) * 100.0
}

const THREE: [&str; 3] = ["dt", "edt", "tdt"];

claims! {
    Holds "TDT-F9a-1" tdt_f9a_1_without_overload_tdt_absorbs_like_edt ("TDT similar to EDT") {
        let [edt, tdt] = ["edt", "tdt"].map(|name| homogeneous(0, name).all_lossless());
        Finding::new((edt - tdt).abs() <= 5.0, format!("EDT {edt:.1} %, TDT {tdt:.1} % of bursts without loss"))
    }

    Holds "TDT-F9a-2" tdt_f9a_2_without_overload_dt_absorbs_less_than_edt ("DT poor") {
        let [dt, edt] = ["dt", "edt"].map(|name| homogeneous(0, name).all_lossless());
        Finding::new(edt - dt >= 5.0, format!("DT {dt:.1} %, EDT {edt:.1} %"))
    }

    Holds "TDT-F9b-1" tdt_f9b_1_overwhelmed_ports_cost_edt_many_bursts ("drops dramatically") {
        let found = [0, 1, 2].map(|ports| homogeneous(ports, "edt").all_lossless());
        Finding::new(found[0] - found[2] >= 15.0, format!("EDT {} % with 0, 1, 2 overwhelmed ports", list(found, 1)))
    }

    Holds "TDT-F9b-2" tdt_f9b_2_overwhelmed_ports_cost_tdt_few_bursts ("basically unchanged") {
        let found = [0, 1, 2].map(|ports| homogeneous(ports, "tdt").all_lossless());
        Finding::new(found[0] - found[2] <= 5.0, format!("TDT {} % with 0, 1, 2 overwhelmed ports", list(found, 1)))
    }

    Holds "TDT-F9c-1" tdt_f9c_1_dt_and_edt_absorb_hardly_any_burst_of_more_than_half_a_millisecond ("almost none") {
        let found = ["dt", "edt"].map(|name| homogeneous(2, name).bursts(500, 1_000_000));
        let met = found.iter().all(|(lossless, all)| *lossless as f64 <= 0.1 * *all as f64 && *all >= 100);
        Finding::new(met, format!("DT {} of {}, EDT {} of {}", found[0].0, found[0].1, found[1].0, found[1].1))
    }

    Holds "TDT-F9c-2" tdt_f9c_2_tdt_absorbs_most_bursts_up_to_three_quarters_of_a_millisecond ("over 80 % up to 0.75 ms, over 50 % of longer ones") {
        let run = homogeneous(2, "tdt");
        let (short, long, beyond) = (run.lossless(0, 750), run.lossless(750, 1_000), run.lossless(1_000, 1_000_000));
        let bins = [0, 250, 500, 750].map(|from| run.lossless(from, from + 250));
        let met = short >= 75.0 && long >= 35.0 && beyond <= 5.0;
        Finding::new(met, format!("{short:.1} % up to 0.75 ms, {long:.1} % from 0.75 to 1 ms, {beyond:.1} % of longer ones; per 0.25 ms {} %", list(bins, 1)))
    }

    Holds "TDT-F9c-3" tdt_f9c_3_the_overall_ratios_have_the_papers_order_with_either_distribution ("DT 5.5, EDT 57.8, TDT 92.7 %") {
        let exponential = THREE.map(|name| homogeneous(2, name).all_lossless());
        let alike = THREE.map(|name| fixed(name).all_lossless());
        let ordered = |x: [f64; 3]| x[0] < x[1] && x[1] < x[2] && x[2] >= 85.0 && x[2] >= 1.2 * x[1];
        let met = ordered(exponential) && ordered(alike) && alike[0] <= 15.0 && (40.0..=75.0).contains(&alike[1]);
        Finding::new(met, format!("bursts of 250 us: {} %; exponential lengths: {} %", list(alike, 1), list(exponential, 1)))
    }

    Holds "TDT-F9c-4" tdt_f9c_4_tdt_absorbs_a_fifth_more_bursts_than_the_best_other ("about 60 % more (criterion: 42 %, and 20 % with exponential lengths)") {
        let gain = |dt: f64, edt: f64, tdt: f64| (tdt / dt.max(edt) - 1.0) * 100.0;
        let [exponential, alike] = [homogeneous as fn(usize, &str) -> Arc<Run>, |_, name| fixed(name)].map(|runs| {
            let [dt, edt, tdt] = THREE.map(|name| runs(2, name).all_lossless());
            gain(dt, edt, tdt)
        });
        Finding::new(exponential >= 20.0 && alike >= 42.0, format!("{alike:.0} % (bursts of 250 us), {exponential:.0} % (exponential)"))
    }

    Holds "TDT-F9d-1" tdt_f9d_1_packets_of_an_overwhelmed_port_wait_less_than_2_ms_under_tdt ("below 2 ms for more than 90 % of packets") {
        let p90 = homogeneous(1, "tdt").delay_ms("overload", 0.9);
        Finding::new(p90 < 2.0, format!("p90 {p90:.2} ms"))
    }

    Holds "TDT-F9d-2" tdt_f9d_2_they_wait_half_the_buffer_under_dt_and_edt_and_all_of_it_under_cs ("half of the buffering time (DT, EDT), all of it (CS)") {
        let [dt, edt, cs] = ["dt", "edt", "cs"].map(|name| homogeneous(1, name).delay_ms("overload", 0.5));
        let half = 3.5..=4.2;
        Finding::new(half.contains(&dt) && half.contains(&edt) && (7.0..=8.1).contains(&cs), format!("median {dt:.2}, {edt:.2}, {cs:.2} ms; the whole buffer is 8 ms"))
    }

    Holds "TDT-F9e-1" tdt_f9e_1_the_overwhelmed_port_sends_at_line_rate_under_every_dynamic_policy ("similar, EDT slightly lower") {
        let found = THREE.map(|name| homogeneous(1, name).port("h8"));
        let apart = (found.iter().fold(0.0_f64, |a, x| a.max(*x)) - found.iter().fold(2.0_f64, |a, x| a.min(*x))) * 100.0;
        Finding::new(apart <= 2.0, format!("{} of the line rate (DT, EDT, TDT)", list(found, 4)))
    }

    Holds "TDT-F9f-1" tdt_f9f_1_complete_sharing_is_the_least_fair_and_tdt_no_less_fair_than_dt_and_edt ("similar; CS worst; TDT above DT and EDT") {
        let [dt, edt, tdt, es, cs] = ["dt", "edt", "tdt", "es", "cs"].map(|name| homogeneous(1, name).jain());
        let met = [dt, edt, tdt, es].iter().all(|other| *other > cs) && tdt >= dt - 0.002 && tdt >= edt - 0.002;
        Finding::new(met, format!("DT {dt:.4}, EDT {edt:.4}, TDT {tdt:.4}, ES {es:.4}, CS {cs:.4}"))
    }

    Holds "TDT-F10-1" tdt_f10_1_with_mixed_traffic_tdt_absorbs_half_as_many_bursts_more_than_dt ("over 140 % more (criterion: at least 50 %)") {
        let [dt, tdt] = ["dt", "tdt"].map(|name| mixed(name).all_lossless());
        let [dt_load, tdt_load] = ["dt", "tdt"].map(|name| mixed_by_load(name).all_lossless());
        let (gain, by_load) = ((tdt / dt - 1.0) * 100.0, (tdt_load / dt_load - 1.0) * 100.0);
        Finding::new(gain >= 50.0, format!("9:1 by number {gain:.0} % ({dt:.1} to {tdt:.1} % of {} bursts); by load {by_load:.0} % ({dt_load:.1} to {tdt_load:.1} %)", mixed("dt").bursts(0, 1_000_000).1))
    }

    Holds "TDT-F10-2" tdt_f10_2_with_mixed_traffic_tdt_absorbs_more_bursts_than_edt ("22 % more (criterion: at least 8 %)") {
        let [edt, tdt] = ["edt", "tdt"].map(|name| mixed(name).all_lossless());
        let [edt_load, tdt_load] = ["edt", "tdt"].map(|name| mixed_by_load(name).all_lossless());
        let (gain, by_load) = ((tdt / edt - 1.0) * 100.0, (tdt_load / edt_load - 1.0) * 100.0);
        Finding::new(gain >= 8.0, format!("9:1 by number {gain:.0} % ({edt:.1} to {tdt:.1} %); by load {by_load:.0} % ({edt_load:.1} to {tdt_load:.1} %)"))
    }

    Holds "TDT-F10-3" tdt_f10_3_long_bursts_lose_hardly_any_throughput_to_tdt ("less than 1 % lower (criterion: 2 %)") {
        let found = THREE.map(|name| mixed(name).delivered("long"));
        let lost = [0, 1].map(|other| (1.0 - found[2] / found[other]) * 100.0);
        Finding::new(lost.iter().all(|lost| *lost <= 2.0), format!("{:.2} % below DT, {:.2} % below EDT", lost[0], lost[1]))
    }

    Holds "TDT-F11-1" tdt_f11_1_the_threshold_of_drops_matters_little ("variation below 2 % (criterion: 5 %)") {
        let found = sweep();
        let (lossless, delivered): (Vec<f64>, Vec<f64>) = found.iter().map(|(_, lossless, delivered)| (*lossless, *delivered)).unzip();
        let (absorbing, carrying) = (spread(&lossless), spread(&delivered));
        Finding::new(absorbing <= 5.0 && carrying <= 5.0, format!(
            "DC = B/8, B/4, B/2, B, 2B: {} % without loss, variation {absorbing:.1} %; throughput of the others {carrying:.2} %", list(lossless, 1)))
    }

    Holds "TDT-F11-2" tdt_f11_2_a_small_threshold_absorbs_more_and_a_large_one_carries_more ("small DC: better absorption; large DC: better throughput") {
        let found = sweep();
        let (lossless, delivered): (Vec<f64>, Vec<f64>) = found.iter().map(|(_, lossless, delivered)| (*lossless, *delivered)).unzip();
        let (down, up) = (rank_correlation(&lossless), rank_correlation(&delivered));
        Finding::new(down < 0.0 && up > 0.0, format!("rank correlation with DC: absorption {down:.1}, throughput of long bursts and background {up:.1}"))
    }

    Holds "TDT-E15-1" tdt_e15_1_jains_index ("(sum x)^2 / (n sum x^2)") {
        let found = jain(&[1.0, 1.0, 0.5]);
        Finding::new((found - 0.925_926).abs() < 1e-6 && jain(&[3.0; 9]) == 1.0, format!("{found:.4} for 1, 1, 0.5"))
    }

    Holds "TDT-S6B-1" tdt_s6b_1_bursting_ports_are_loaded_to_30_percent ("30 %") {
        let run = homogeneous(0, "tdt");
        let loads: Vec<f64> = run.ports.iter().map(|port| port.1 * 100.0).collect();
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        Finding::new(loads.len() == 8 && (mean - 30.0).abs() <= 1.0, format!("20 % + 8 x 0.25/20 = 30 %; offered to the eight ports {mean:.1} % on average"))
    }
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("tdt-network", CLAIMS);
}
