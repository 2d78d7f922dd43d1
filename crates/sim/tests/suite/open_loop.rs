//! Tests of traffic without congestion control, checked against arithmetic through
//! the whole simulator.

use bufferlab_metrics::{
    DelayRow, FlowRow, FlowState, LinkRow, ProbeRow, QueueRow, RunSink, RunTotals, SeriesRow,
};
use bufferlab_scenario::load_text;
use bufferlab_sim::Simulation;
use std::io;
use std::path::Path;

#[derive(Debug, Default)]
struct Rows {
    flows: Vec<FlowRow>,
    series: Vec<SeriesRow>,
    queues: Vec<QueueRow>,
    links: Vec<LinkRow>,
    probes: Vec<ProbeRow>,
    delays: Vec<DelayRow>,
    totals: RunTotals,
}

impl RunSink for Rows {
    fn flow(&mut self, row: &FlowRow) -> io::Result<()> {
        self.flows.push(row.clone());
        Ok(())
    }
    fn series(&mut self, row: &SeriesRow) -> io::Result<()> {
        self.series.push(row.clone());
        Ok(())
    }
    fn queue(&mut self, row: &QueueRow) -> io::Result<()> {
        self.queues.push(row.clone());
        Ok(())
    }
    fn link(&mut self, row: &LinkRow) -> io::Result<()> {
        self.links.push(row.clone());
        Ok(())
    }
    fn probe(&mut self, row: &ProbeRow) -> io::Result<()> {
        self.probes.push(row.clone());
        Ok(())
    }
    fn delay(&mut self, row: &DelayRow) -> io::Result<()> {
        self.delays.push(row.clone());
        Ok(())
    }
}

impl Rows {
    fn class(&self, name: &str) -> u16 {
        self.totals.classes.iter().position(|class| class == name).expect("the class exists") as u16
    }

    fn of_class(&self, name: &str) -> Vec<&FlowRow> {
        let class = self.class(name);
        self.flows.iter().filter(|flow| flow.class == class).collect()
    }

    /// The link to a host, with its offered bytes and its utilisation.
    fn downlink(&self, host: &str) -> &LinkRow {
        self.links.iter().find(|link| link.to == host).expect("every host has a downlink")
    }
}

/// Scenario of TDT's switch: 16 ports of 1 Gb/s, 1 MB, packets of 1,500 B, sources of any rate.
fn tdt(policy: &str, duration: &str, more: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        drain = "20 ms"
        topology = {{ kind = "single_switch", hosts = 16, rate = "1 Gb/s", uplink_rate = "100 Gb/s", delay = "0 s" }}
        switch = {{ buffer = "1 MB", policy = {policy} }}
        {more}
        "#
    )
}

fn transport(name: &str, rate: &str) -> String {
    format!(
        "[[transport]]\nname = \"{name}\"\ncongestion_control = \"none\"\nrate = \"{rate}\"\nsegment_bytes = \"1446 B\"\n"
    )
}

fn run_with(text: &str, verify: bool) -> Rows {
    let loaded = load_text(Path::new("open-loop.toml"), text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let mut simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|e| panic!("{e}"));
    simulation.set_verify(verify);
    let mut rows = Rows::default();
    rows.totals = simulation.run(&mut rows, &mut |_| ()).unwrap_or_else(|e| panic!("{e}"));
    rows
}

fn run(text: &str) -> Rows {
    run_with(text, true)
}

/// Scenario of two ports that are overloaded at 2 Gb/s from the start,
/// and of one burst into a third port after 30 ms.
fn burst_beside_overload(policy: &str, rate: &str, burst_us: u64) -> Rows {
    let text = tdt(policy, "60 ms", "")
        + &transport("overload", "2 Gb/s")
        + &transport("burst", rate)
        + &format!(
            r#"
            [[workload]]
            kind = "bursts"
            class = "overload"
            transport = "overload"
            bursts = [{{ src = "h8", dst = "h0", start = "0 s" }}, {{ src = "h9", dst = "h1", start = "0 s" }}]
            [[workload]]
            kind = "bursts"
            class = "burst"
            transport = "burst"
            bursts = [{{ src = "h10", dst = "h2", start = "30 ms", duration = "{burst_us} us" }}]
            "#
        );
    run_with(&text, false)
}

/// Longest burst without a loss, in steps of `step_us` (us).
fn longest_lossless_us(policy: &str, rate: &str, step_us: u64, most: u64) -> u64 {
    let lossless = |steps: u64| {
        burst_beside_overload(policy, rate, steps * step_us).of_class("burst")[0].fct_ns.is_some()
    };
    let (mut yes, mut no) = (1, most / step_us);
    assert!(lossless(yes) && !lossless(no));
    while no - yes > 1 {
        let middle = (yes + no) / 2;
        if lossless(middle) { yes = middle } else { no = middle }
    }
    yes * step_us
}

const DT: &str = "{ name = \"dt\", alpha = 1.0 }";

/// By TDT section VI-A, ports of 1 Gb/s absorb a fluid burst of 222.2 us if R = 8 Gb/s, N = 2,
/// M = 1, alpha = 1 and B = 1 MB. The longest burst of packets without loss is some packets
/// shorter than the fluid burst.
#[test]
fn dynamic_thresholds_absorb_a_burst_as_long_as_their_closed_form_says() {
    let longest = longest_lossless_us(DT, "8 Gb/s", 2, 600);
    assert!((213..=227).contains(&longest), "{longest} us");
}

/// TDT's equation 4: at R = 2 Gb/s queues settle during the burst. So the length d of the burst
/// follows from (R − C) d = aB / (1 + a (M + N)) and is 2.0 ms.
#[test]
fn a_slow_burst_is_absorbed_until_all_queues_have_equal_shares() {
    let longest = longest_lossless_us(DT, "2 Gb/s", 24, 6_000);
    assert!((1_900..=2_060).contains(&longest), "{longest} us");
}

/// At its threshold, a single port occupies alpha / (1 + alpha) of the buffer:
/// 333 packets of 12 us. With complete sharing the port occupies all 666 packets.
/// Static thresholds would give another occupancy.
#[test]
fn packets_of_an_overwhelmed_port_wait_as_long_as_the_policy_lets_its_queue_grow() {
    let delay_ms = |policy: &str| {
        let text = tdt(policy, "100 ms", "")
            + &transport("overload", "2 Gb/s")
            + "[[workload]]\nkind = \"bursts\"\nbursts = [{ src = \"h8\", dst = \"h0\", start = \"0 s\" }]\n";
        let rows = run(&text);
        // The test uses the bin of delays with most packets, because the queue fills
        // within the first 8 of 100 ms.
        let most = rows.delays.iter().max_by_key(|bin| bin.packets).expect("packets were sent");
        most.total_ns as f64 / most.packets as f64 * 1e-6
    };
    let (dt, cs) = (delay_ms(DT), delay_ms("\"cs\""));
    assert!((3.95..=4.0).contains(&dt), "{dt} ms");
    assert!((7.9..=8.0).contains(&cs), "{cs} ms");
}

#[test]
fn every_packet_is_delivered_or_lost_and_only_whole_bursts_complete() {
    let text = tdt(DT, "40 ms", "host = { nic = \"fifo\" }")
        + &transport("overload", "2.3 Gb/s")
        + &transport("burst", "8 Gb/s")
        + r#"
        [[workload]]
        kind = "on_off"
        class = "burst"
        transport = "burst"
        pattern = "all_to_all"
        on_time = "200 us"
        off_time = "5 ms"
        on_distribution = "pareto"
        others = [{ class = "long", transport = "overload", share = 0.2, on_time = "2 ms", on_distribution = "fixed" }]
        "#;
    let rows = run(&text);
    assert!(rows.flows.len() > 60 && rows.of_class("long").len() > 5, "{}", rows.flows.len());
    let states = |state| rows.flows.iter().filter(|flow| flow.state == state).count();
    assert!(states(FlowState::Finished) > 5 && states(FlowState::Lossy) > 5, "both fates occur");
    assert_eq!(states(FlowState::Unfinished), 0);
    assert_eq!(rows.totals.flows_finished, rows.flows.len() as u64);
    let mut delivered = 0;
    for flow in &rows.flows {
        let whole = flow.dropped_packets == 0;
        assert_eq!(
            (flow.state, flow.fct_ns.is_some()),
            (if whole { FlowState::Finished } else { FlowState::Lossy }, whole)
        );
        assert_eq!(flow.sent_packets, flow.size_bytes.div_ceil(1_446), "every segment is sent once");
        assert_eq!((flow.retransmitted_packets, flow.timeouts), (0, 0));
        delivered += flow.sent_packets - flow.dropped_packets;
    }
    let down: u64 =
        rows.links.iter().filter(|link| link.role == "host-down").map(|link| link.tx_packets).sum();
    let dropped: u64 = rows.queues.iter().map(|queue| queue.dropped_packets).sum();
    assert_eq!(delivered, down);
    assert_eq!(dropped, rows.flows.iter().map(|flow| flow.dropped_packets).sum::<u64>());
    let delays: u64 = rows.delays.iter().map(|bin| bin.packets).sum();
    assert_eq!(delays, down, "every packet that left the switch has a delay");
}

#[test]
fn a_rate_is_what_goes_over_the_wire() {
    let text = tdt("\"cs\"", "500 ms", "")
        + &transport("even", "0.3 Gb/s")
        + &transport("random", "0.4 Gb/s")
        + "spacing = \"poisson\"\n"
        + r#"
        [[workload]]
        kind = "bursts"
        class = "even"
        transport = "even"
        bursts = [{ src = "h8", dst = "h0", start = "0 s" }]
        [[workload]]
        kind = "bursts"
        class = "random"
        transport = "random"
        bursts = [{ src = "h9", dst = "h1", start = "0 s" }]
        "#;
    let rows = run(&text);
    let load = |host: &str| rows.downlink(host).offered_bytes.expect("a switch's port") as f64 * 8.0 / 0.5;
    assert!((load("h0") - 0.3e9).abs() < 0.001e9, "{}", load("h0"));
    // The load is a mean over 16,667 packets, so its standard deviation is 0.8 %.
    assert!((load("h1") - 0.4e9).abs() < 0.013e9, "{}", load("h1"));
    assert!(rows.links.iter().all(|link| (link.role == "host-up") == link.offered_bytes.is_none()));
    // Evenly spaced packets never queue (beyond the store-and-forward instant).
    // Packets of a Poisson process queue: in M/D/1 at a load rho of 0.4, the mean wait
    // is rho / (2 (1 - rho)) times 12 us.
    let mean_us = |class: &str| {
        let class = rows.class(class);
        let bins: Vec<_> = rows.delays.iter().filter(|bin| bin.class == class).collect();
        let packets: u64 = bins.iter().map(|bin| bin.packets).sum();
        bins.iter().map(|bin| bin.total_ns).sum::<u64>() as f64 / packets as f64 * 1e-3
    };
    assert_eq!(mean_us("even"), 0.0);
    assert!((mean_us("random") - 4.0).abs() < 0.4, "{} us", mean_us("random"));
}

#[test]
fn a_slow_card_delays_an_open_loop_flow_and_loses_nothing() {
    let text = tdt(DT, "10 ms", "").replace("100 Gb/s", "0.5 Gb/s")
        + &transport("fast", "0.4 Gb/s")
        + "
        [[workload]]
        kind = \"bursts\"
        bursts = [
            { src = \"h8\", dst = \"h0\", start = \"0 s\", duration = \"5 ms\" },
            { src = \"h8\", dst = \"h1\", start = \"0 s\", duration = \"5 ms\" },
        ]
        ";
    let rows = run(&text);
    for flow in &rows.flows {
        let fct_ms = flow.fct_ns.expect("nothing is lost") as f64 * 1e-6;
        // Two flows of 5 ms at 0.4 Gb/s share 0.5 Gb/s. The flows take 8 ms plus the time of one
        // packet through the switch.
        assert!((7.9..8.1).contains(&fct_ms), "{fct_ms} ms");
        assert!(flow.slowdown.is_some_and(|slowdown| slowdown > 1.5), "{flow:?}");
    }
}

#[test]
fn policies_meet_the_same_bursts() {
    let starts = |policy: &str| {
        let text = tdt(policy, "50 ms", "")
            + &transport("burst", "8 Gb/s")
            + "spacing = \"poisson\"\n[[workload]]\nkind = \"on_off\"\npattern = \"all_to_all\"\non_time = \"250 us\"\noff_time = \"5 ms\"\n";
        let mut rows = run(&text);
        rows.flows.sort_by_key(|flow| flow.flow_id);
        let of = |flow: &FlowRow| {
            (flow.start_ns, flow.src_host, flow.dst_host, flow.size_bytes, flow.sent_packets)
        };
        let lost = rows.flows.iter().map(|flow| flow.dropped_packets).sum::<u64>();
        (rows.flows.iter().map(of).collect::<Vec<_>>(), lost)
    };
    let ((dt, dt_lost), (es, es_lost)) = (starts(DT), starts("\"es\""));
    assert_eq!(dt, es);
    assert!(es_lost > dt_lost, "{es_lost} {dt_lost}");
}

#[test]
fn sampling_keeps_to_its_window_and_its_ports() {
    let more = "output = { sample_interval = \"100 us\", sample_from = \"2 ms\", sample_until = \"3 ms\", sample_ports = [0, 5] }";
    let text = tdt("\"abm\"", "10 ms", more)
        + &transport("overload", "2 Gb/s")
        + "[[workload]]\nkind = \"bursts\"\nbursts = [{ src = \"h8\", dst = \"h0\", start = \"0 s\" }, { src = \"h8\", dst = \"h3\", start = \"0 s\" }]\n";
    let rows = run(&text);
    let mut times: Vec<u64> = rows.series.iter().map(|row| row.time_ns).collect();
    times.dedup();
    assert_eq!(times, (0..10).map(|n| 2_000_000 + n * 100_000).collect::<Vec<_>>());
    let mut ports: Vec<_> = rows.series.iter().filter_map(|row| row.port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports, [0, 5], "port 3 holds packets but nobody asked, port 5 is empty and somebody did");
    assert!(!rows.probes.is_empty() && rows.probes.iter().all(|probe| [0, 5].contains(&probe.port)));
    assert!(rows.probes.iter().all(|probe| (2_000_000..3_000_000).contains(&probe.time_ns)));
}

/// A flow of one segment is one packet that gets no reply.
#[test]
fn a_list_of_small_flows_is_a_packet_trace() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let list = folder.join("trace.csv");
    let mut text = "src,dst,size_bytes,start_ns\n".to_owned();
    for packet in 0..200_u64 {
        text.push_str(&format!("h{},h0,{},{}\n", 8 + packet % 2, 64 + packet, packet * 1_000));
    }
    std::fs::write(&list, text).expect("writable");
    let scenario = tdt(DT, "10 ms", "")
        + &transport("trace", "100 Gb/s")
        + "[[workload]]\nkind = \"flow_list\"\nfile = \"trace.csv\"\n";
    let path = folder.join("trace.toml");
    let loaded = load_text(&path, &scenario, &[]).unwrap_or_else(|e| panic!("{e}"));
    let simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = Rows::default();
    rows.totals = simulation.run(&mut rows, &mut |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((rows.flows.len(), rows.downlink("h0").tx_packets), (200, 200));
    assert!(rows.flows.iter().all(|flow| flow.sent_packets == 1 && flow.state == FlowState::Finished));
    assert_eq!(rows.totals.packet_hops, 400, "no packet goes back");
}

/// The shipped trace has a microburst of 120 packets and 40 small packets in queue 0,
/// and 50 packets of a stream in queue 1.
#[test]
fn a_trace_is_replayed_packet_by_packet_in_its_queues() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/trace-replay.toml");
    let replay = |policy: &str| {
        let changes = [("switch.policy".to_owned(), policy.to_owned())];
        let loaded = bufferlab_scenario::load(&path, &changes).unwrap_or_else(|e| panic!("{e}"));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        let mut simulation = Simulation::new(&loaded.scenario).unwrap_or_else(|e| panic!("{e}"));
        simulation.set_verify(true);
        let mut rows = Rows::default();
        rows.totals = simulation.run(&mut rows, &mut |_| ()).unwrap_or_else(|e| panic!("{e}"));
        rows
    };
    let (dt, cs) = (replay(DT), replay("cs"));
    for rows in [&dt, &cs] {
        assert_eq!((rows.of_class("trace p0").len(), rows.of_class("trace p1").len()), (160, 50));
        assert_eq!(rows.totals.classes.len(), 2);
        assert!(rows.flows.iter().all(|flow| flow.sent_packets == 1));
        let arrived = |priority| {
            let queue = rows.queues.iter().find(|queue| (queue.port, queue.priority) == (5, priority));
            queue.expect("port 5 leads to h5").arrived_packets
        };
        assert_eq!((arrived(0), arrived(1)), (120, 50));
        // The trace gives the sizes of packets on the wire.
        let delivered = rows.flows.iter().filter(|flow| flow.state == FlowState::Finished);
        let bytes: u64 = delivered.filter(|flow| flow.dst_host == 5).map(|flow| flow.size_bytes).sum();
        assert_eq!(rows.downlink("h5").tx_bytes, bytes);
        assert!(rows.flows.iter().any(|flow| flow.start_ns == 400_000 + 3 * 150 + 29 * 1_230));
    }
    let lost = |rows: &Rows| rows.flows.iter().filter(|flow| flow.state == FlowState::Lossy).count();
    // A queue may occupy half of the buffer of 85 packets under dt, and the whole buffer under cs.
    assert!(lost(&dt) > lost(&cs) + 20 && lost(&cs) > 20, "{} and {}", lost(&dt), lost(&cs));
}
