//! Tests of PFC: pauses begin at the calculated times, protect lossless traffic,
//! and form cycles only in networks that require them.

use crate::support::{Lab, Rows, run, star};
use bufferlab_metrics::PauseRow;
use bufferlab_sim::{ExplainRequest, ExplainedEvent, Explanations, Simulation};

/// Switch with one queue per port. The queue is lossless.
fn switch(policy: &str, pfc: &str) -> String {
    format!("buffer = \"40 MB\"\npolicy = {policy}\npfc = {{ priorities = [0]{pfc} }}")
}

/// Transport whose hosts send packets of `wire` bytes, including headers of 54 B,
/// at their full rate.
fn open_loop(rate: &str, wire: u64) -> String {
    format!("congestion_control = \"none\"\nrate = \"{rate}\"\nsegment_bytes = \"{} B\"", wire - 54)
}

fn bursts(pairs: &[(usize, usize)], duration: &str) -> String {
    let list: Vec<_> = pairs
        .iter()
        .map(|(src, dst)| {
            format!("{{ src = \"h{src}\", dst = \"h{dst}\", start = \"0 s\", duration = \"{duration}\" }}")
        })
        .collect();
    format!("[[workload]]\nkind = \"bursts\"\ntransport = \"t0\"\nbursts = [{}]\n", list.join(", "))
}

fn pauses(rows: &Rows, switch: u32, port: u16) -> &PauseRow {
    let found = rows.pauses.iter().find(|row| (row.switch, row.port, row.priority) == (switch, port, 0));
    found.unwrap_or_else(|| panic!("switch {switch}, port {port} has no pauses: {:?}", rows.pauses))
}

/// Results of the chain h0 – s0 – s1 – h1. All links have 10 Gb/s and 1 us, except the last
/// link, which has 5 Gb/s. Packets have 1500 B. The 11th stored packet crosses the threshold.
fn chain(pfc: &str, duration: &str) -> Rows {
    chain_with("15001 B", pfc, duration)
}

fn chain_with(threshold: &str, pfc: &str, duration: &str) -> Rows {
    let topology = r#"
        kind = "graph"
        hosts = 2
        switches = 2
        links = [
          { a = "h0", b = "s0", rate = "10 Gb/s", delay = "1 us" },
          { a = "s0", b = "s1", rate = "10 Gb/s", delay = "1 us" },
          { a = "s1", b = "h1", rate = "5 Gb/s", delay = "1 us" },
        ]"#;
    let policy = format!(
        r#"{{ name = "sonic-dt", headroom = "15 KB", lossless_static_threshold = "{threshold}", xon_offset = "4.5 KB" }}"#
    );
    run(&Lab::new(topology, &switch(&policy, pfc), &open_loop("10 Gb/s", 1_500))
        .times("2 ms", "10 ms")
        .workloads(&bursts(&[(0, 1)], duration)))
}

/// The expected times are calculated by hand. A packet arrives at s1 every 1.2 us, and a packet
/// leaves s1 every 2.4 us. The 22nd packet is the 11th stored packet and exceeds the threshold T of
/// 10 packets, so s1 pauses s0 at the time `t`. The pause frame takes 51.2 ns of transmission and 1
/// us of cable, during which s0 starts two more packets. The queue then drains from 13 to 7 packets
/// (T - 3), so six packets leave s1. If `f` is the time from `t` to the next departure, s1 resumes
/// s0 at `u = t + f + 12`. s0 obeys the resume frame after 1.0512 us. The first packet of s0
/// arrives at `u + 3.2512`. The eighth packet of s0 arrives at `u + 11.6512` and is again the 11th
/// stored packet, so s1 pauses s0 again. The next departure follows this pause after `f = 0.3488`.
/// So s1 pauses s0 once for every 10 packets from the 22nd packet on. The first pause lasts 13.2 us
/// (`f = 1.2`), and all other pauses last 12.3488 us.
#[test]
fn pauses_and_resumes_of_a_chain_of_two_switches_are_those_of_a_hand_calculation() {
    let rows = chain("", "1200 us");
    let packets = rows.flows[0].sent_packets;
    assert_eq!(packets, 1_000);
    let expected = (packets - 22) / 10 + 1;
    let (first, second) = (pauses(&rows, 0, 1), pauses(&rows, 1, 0));
    assert_eq!((second.sent_pauses, second.sent_resumes), (expected, expected));
    assert_eq!((first.received_pauses, first.received_resumes), (expected, expected));
    let silent_ps = 13_200_000 + (expected - 1) * 12_348_800;
    assert_eq!(first.paused_ns, (silent_ps + 500) / 1_000);
    assert_eq!((second.demanded_ns, second.neighbour_paused_ns), (first.paused_ns, first.paused_ns));
    // The pauses also reach the host, which is paused for about half of the time.
    let host = pauses(&rows, 0, 0);
    assert!(host.sent_pauses > 0 && host.sent_pauses == host.sent_resumes, "{host:?}");
    assert_eq!((rows.switch_losses(), rows.all_finished()), (0, true));
    // One packet leaves s1 between the 11th stored packet and the second of the two packets that
    // still arrive. So never more than two packets are stored beyond the threshold T.
    assert_eq!((second.max_headroom_bytes, second.lost_lossless_packets), (2 * 1_500, 0));
    assert_eq!(first.max_headroom_bytes, 0, "the port to s1 receives nothing");
}

/// The 10th stored packet, which is the 20th sent packet, reaches a threshold of 10 and triggers a
/// pause, one packet earlier. One packet leaves for every two packets that arrive, so each later
/// pause begins two packets earlier.
#[test]
fn a_packet_that_reaches_the_threshold_pauses_one_packet_earlier() {
    let rows = chain_with("15 KB", "", "1200 us");
    let second = pauses(&rows, 1, 0);
    let expected = (rows.flows[0].sent_packets - 20) / 8 + 1;
    assert_eq!((second.sent_pauses, second.sent_resumes), (expected, expected));
    // Headroom stores the two packets that still arrive, but not the packet that
    // triggers the pause.
    assert_eq!((second.max_headroom_bytes, second.lost_lossless_packets), (2 * 1_500, 0));
}

/// A lost packet pauses its sender at once, and `explain` shows the pause. Two senders fill one
/// port. The headroom of both senders together is one packet.
#[test]
fn a_sender_whose_packet_is_lost_is_paused_and_the_pause_is_explained() {
    let policy = r#"{ name = "sonic-dt", headroom = "15 KB", headroom_pool = "1500 B", lossless_static_threshold = "15001 B" }"#;
    let scenario = Lab::new(&star(3, "10 Gb/s", "1 us"), &switch(policy, ""), &open_loop("10 Gb/s", 1_500))
        .times("60 us", "1 ms")
        .workloads(&bursts(&[(0, 2), (1, 2)], "60 us"));
    let mut simulation = Simulation::new(&scenario).expect("it can be built");
    let event = ExplainedEvent::Pause;
    simulation.explain(ExplainRequest { event, ..ExplainRequest::losses(100) });
    let mut found = Explanations::default();
    simulation.run(&mut found, &mut |_| ()).expect("it runs");
    let first: Vec<_> =
        [0, 1].map(|port| found.0.iter().find(|row| row.port == port).map(|row| row.queue_bytes)).into();
    // The 11th packet of one sender uses headroom. The 11th packet of the other sender is lost,
    // and ten packets are stored.
    assert!(first.contains(&Some(11 * 1_500)) && first.contains(&Some(10 * 1_500)), "{first:?}");
}

#[test]
fn a_pause_that_expires_is_repeated_for_as_long_as_it_is_wanted() {
    // A pause of 100 quanta lasts 5.12 us at 10 Gb/s. A pause of 12.35 us is repeated every 2.56
    // us, 4 times. The first pause lasts 13.2 us and is repeated 5 times.
    let (steady, expiring) = (chain("", "1200 us"), chain(", quanta = 100", "1200 us"));
    let (once, repeated) = (pauses(&steady, 1, 0), pauses(&expiring, 1, 0));
    assert_eq!(repeated.sent_resumes, once.sent_resumes);
    assert_eq!(repeated.sent_pauses, 5 * once.sent_pauses + 1);
    assert_eq!(repeated.neighbour_paused_ns, once.neighbour_paused_ns);
    assert_eq!(steady.flows[0].fct_ns, expiring.flows[0].fct_ns);
}

/// Losses at the only switch, whose receiver rarely accepts a packet,
/// and whether the switch paused its sender.
fn losses(rate: u64, metres: u64, wire: u64, reaction_ns: u64, headroom: u64, chain: bool) -> u64 {
    let delay = metres * 5;
    let middle = if chain {
        format!(
            "{{ a = \"h0\", b = \"s1\", rate = \"{rate} Gb/s\", delay = \"{delay} ns\" }}, {{ a = \"s1\", b = \"s0\", rate = \"{rate} Gb/s\", delay = \"{delay} ns\" }},"
        )
    } else {
        format!("{{ a = \"h0\", b = \"s0\", rate = \"{rate} Gb/s\", delay = \"{delay} ns\" }},")
    };
    let switches = if chain { 2 } else { 1 };
    let topology = format!(
        "kind = \"graph\"\nhosts = 2\nswitches = {switches}\nlinks = [{middle} {{ a = \"s0\", b = \"h1\", rate = \"1 Mb/s\", delay = \"0 s\" }}]"
    );
    let policy = format!(
        "{{ name = \"sonic-dt\", headroom = \"{headroom} B\", lossless_static_threshold = \"{} B\" }}",
        // The packet that triggers the pause crosses the threshold and uses headroom.
        20 * wire + 1
    );
    let reaction = format!(", reaction = \"{reaction_ns} ns\"");
    let rows =
        run(&Lab::new(&topology, &switch(&policy, &reaction), &open_loop(&format!("{rate} Gb/s"), wire))
            .times("300 us", "0 s")
            .workloads(&bursts(&[(0, 1)], "300 us")));
    let port = rows.pauses.iter().find(|row| row.switch == 0 && row.sent_pauses > 0);
    let port = port.expect("nobody was paused");
    // The peak may be up to three packets below the headroom. One packet does not fit, and the
    // model counts two packets more for the worst moment of a pause.
    assert!(port.max_headroom_bytes <= headroom && headroom < port.max_headroom_bytes + 3 * wire, "{port:?}");
    assert_eq!(rows.pauses.iter().map(|row| row.lost_lossless_packets).sum::<u64>(), rows.switch_losses());
    for row in &rows.drops {
        assert_eq!(row.reason, "headroom-full");
    }
    rows.switch_losses()
}

/// Losses at a switch whose port is never idle:
/// h2 sends to h0 all the time, so that a pause frame waits for the packet in transmission.
fn losses_when_busy(rate: u64, metres: u64, wire: u64, headroom: u64, offset_ns: u64) -> u64 {
    let delay = metres * 5;
    let topology = format!(
        "kind = \"graph\"\nhosts = 3\nswitches = 1\nlinks = [
           {{ a = \"h0\", b = \"s0\", rate = \"{rate} Gb/s\", delay = \"{delay} ns\" }},
           {{ a = \"s0\", b = \"h1\", rate = \"1 Mb/s\", delay = \"0 s\" }},
           {{ a = \"h2\", b = \"s0\", rate = \"{rate} Gb/s\", delay = \"0 s\" }},
         ]"
    );
    let switch = format!(
        "buffer = \"40 MB\"\nqueues_per_port = 2\npfc = {{ priorities = [0] }}\n\
         policy = {{ name = \"sonic-dt\", headroom = \"{headroom} B\", lossless_static_threshold = \"{} B\" }}",
        // The packet that triggers the pause crosses the threshold and uses headroom.
        20 * wire + 1
    );
    let transport = open_loop(&format!("{rate} Gb/s"), wire);
    let burst = |transport: &str, src: &str, dst: &str, start: u64| {
        format!(
            "[[workload]]\nkind = \"bursts\"\nclass = \"{src}\"\ntransport = \"{transport}\"\n\
             bursts = [{{ src = \"{src}\", dst = \"{dst}\", start = \"{start} ns\", duration = \"200 us\" }}]\n"
        )
    };
    let rows = run(&Lab::new(&topology, &switch, &format!("{transport}\ndata_priority = 0"))
        .transport(&format!("{transport}\ndata_priority = 1"))
        .times("300 us", "0 s")
        .workloads(&(burst("t0", "h0", "h1", 0) + &burst("t1", "h2", "h0", offset_ns))));
    assert!(pauses(&rows, 0, 0).sent_pauses > 0, "nobody was paused");
    let of_priority = |row: &&bufferlab_metrics::DropRow| row.priority == 0;
    rows.drops.iter().filter(of_priority).map(|row| row.packets).sum()
}

#[test]
fn a_port_that_is_sending_needs_headroom_for_one_packet_more() {
    for (rate, metres, wire) in [(10, 3, 1_500), (25, 300, 1_500), (40, 41, 9_018), (100, 300, 4_150)] {
        let enough = needed(rate, metres, wire, 0) + wire;
        let packet_ns = wire * 8 / rate;
        // The pause frame waits for up to a whole packet, depending on the phase of the two
        // streams.
        let offsets: Vec<u64> = (0..8).map(|eighth| eighth * packet_ns / 8).collect();
        let lost = |headroom| -> Vec<u64> {
            offsets.iter().map(|&at| losses_when_busy(rate, metres, wire, headroom, at)).collect()
        };
        let what = format!("{rate} Gb/s, {metres} m, {wire} B");
        assert!(lost(enough).iter().all(|&lost| lost == 0), "{what}: {:?}", lost(enough));
        let less = lost(enough - wire);
        assert!(less.iter().any(|&lost| lost > 0), "{what}: the packet more is not needed");
    }
}

/// Headroom that a queue needs if the pause frame need not wait (`docs/concepts/cited.md` section
/// 8.1). The headroom is the sum of two packets, the pause frame, and the bytes that arrive during
/// both propagation delays and the reaction time. The two packets are the packet that triggers the
/// pause, and the packet that the sender is sending.
fn needed(rate: u64, metres: u64, wire: u64, reaction_ns: u64) -> u64 {
    2 * wire + 64 + (rate * (2 * metres * 5 + reaction_ns)).div_ceil(8)
}

#[test]
fn nothing_is_lost_with_headroom_by_the_formula_and_something_with_a_packet_less() {
    let mut checked = 0;
    // The PFC standard has response times of 30720, 40960, 60416 and 201728 bit times.
    for (rate, response_bits) in [(10, 30_720), (25, 40_960), (40, 60_416), (100, 201_728)] {
        for metres in [3, 41, 300, 1_999] {
            for wire in [599, 1_500, 4_150, 9_018] {
                for reaction_ns in [0, response_bits / rate] {
                    let needed = needed(rate, metres, wire, reaction_ns);
                    for chain in [false, true] {
                        let lost = |headroom| losses(rate, metres, wire, reaction_ns, headroom, chain);
                        let what = format!(
                            "{rate} Gb/s, {metres} m, {wire} B, reaction {reaction_ns} ns, {needed} B, {chain}"
                        );
                        assert_eq!(lost(needed), 0, "{what}");
                        assert!(lost(needed - wire) > 0, "{what}: a packet less is enough, too");
                        checked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(checked, 4 * 4 * 4 * 2 * 2);
}

/// Results of five switches in a ring. Each switch has a host that sends clockwise to the host two
/// switches away. Every cable carries the traffic of two hosts. (In a ring of three switches, all
/// switches are neighbours, and shortest paths never form a cycle.)
fn ring(senders: usize) -> Rows {
    let mut links = String::new();
    for i in 0..5 {
        links += &format!("{{ a = \"h{i}\", b = \"s{i}\", rate = \"10 Gb/s\", delay = \"1 us\" }},\n");
    }
    for i in 0..5 {
        links +=
            &format!("{{ a = \"s{i}\", b = \"s{}\", rate = \"10 Gb/s\", delay = \"1 us\" }},\n", (i + 1) % 5);
    }
    let topology = format!("kind = \"graph\"\nhosts = 5\nswitches = 5\nlinks = [{links}]");
    let policy = r#"{ name = "sonic-dt", headroom = "15 KB", lossless_static_threshold = "15 KB" }"#;
    let pairs: Vec<_> = (0..senders).map(|host| (host, (host + 2) % 5)).collect();
    run(&Lab::new(&topology, &switch(policy, ""), &open_loop("10 Gb/s", 1_500))
        .times("3 ms", "20 ms")
        .workloads(&bursts(&pairs, "2 ms")))
}

#[test]
fn a_ring_with_a_circle_of_waiting_packets_deadlocks_and_is_reported_with_its_members() {
    let rows = ring(5);
    let lasting: Vec<_> = rows.pause_cycles.iter().filter(|cycle| cycle.lasted()).collect();
    assert_eq!(lasting.len(), 1, "{:?}", rows.pause_cycles);
    assert_eq!(lasting[0].members, ["s0", "s1", "s2", "s3", "s4"]);
    assert!(!rows.all_finished(), "a deadlock ends no flow");
    assert_eq!(rows.switch_losses(), 0, "and loses nothing");
    // With four of the five flows, no cycle of pauses forms.
    let open = ring(4);
    assert!(open.pause_cycles.is_empty() && open.all_finished(), "{:?}", open.pause_cycles);
}

/// Three switches form a ring. h1 sends to h0 through s2, h2 to the slow h3 at s1 through s0, and
/// h0 also sends to h3. So s1 pauses s0, s0 pauses s2, and s2 pauses s1, but no packet from s0
/// waits at s1 for s2. Packets of h0 to h2 through s1 follow later. h0 sends these packets while
/// the pause of s0 is in flight over 100 us of cable. The packets arrive long after all other
/// traffic has stopped.
#[test]
fn a_circle_that_a_packet_closes_in_a_queue_that_is_paused_already_is_found_when_it_arrives() {
    let topology = r#"
        kind = "graph"
        hosts = 4
        switches = 3
        links = [
          { a = "h0", b = "s0", rate = "10 Gb/s", delay = "1 us" },
          { a = "h1", b = "s1", rate = "10 Gb/s", delay = "1 us" },
          { a = "h2", b = "s2", rate = "10 Gb/s", delay = "1 us" },
          { a = "h3", b = "s1", rate = "1 Mb/s", delay = "1 us" },
          { a = "s0", b = "s1", rate = "10 Gb/s", delay = "100 us" },
          { a = "s1", b = "s2", rate = "10 Gb/s", delay = "1 us" },
          { a = "s2", b = "s0", rate = "10 Gb/s", delay = "1 us" },
        ]
        route = [
          { at = "s1", to = "h0", via = "s2" },
          { at = "s2", to = "h3", via = "s0" },
          { at = "s0", to = "h2", via = "s1" },
        ]"#;
    let policy = r#"{ name = "sonic-dt", headroom = "300 KB", lossless_static_threshold = "15 KB" }"#;
    let burst = |src: usize, dst: usize, start: &str| {
        format!("{{ src = \"h{src}\", dst = \"h{dst}\", start = \"{start}\", duration = \"400 us\" }}")
    };
    let bursts = |late: bool| {
        let mut list = vec![burst(1, 0, "0 s"), burst(2, 3, "0 s"), burst(0, 3, "0 s")];
        list.extend(late.then(|| burst(0, 2, "170 us")));
        let list = list.join(", ");
        let workload = format!("[[workload]]\nkind = \"bursts\"\ntransport = \"t0\"\nbursts = [{list}]\n");
        run(&Lab::new(topology, &switch(policy, ""), &open_loop("10 Gb/s", 1_500))
            .times("1 ms", "1 ms")
            .workloads(&workload))
    };
    let found = bursts(true);
    let cycle = found.pause_cycles.iter().find(|cycle| cycle.lasted()).expect("it deadlocks");
    assert_eq!(cycle.members, ["s0", "s1", "s2"]);
    let in_ring = |name: &str| cycle.members.iter().any(|member| member == name);
    let starts: Vec<_> = found
        .pause_spans
        .iter()
        .filter(|span| span.end_ns.is_none() && in_ring(&span.by) && in_ring(&span.paused))
        .map(|span| span.start_ns)
        .collect();
    assert!(starts.len() == 3 && starts.iter().all(|&start| start < cycle.last_ns), "{starts:?}: {cycle:?}");
    assert_eq!(found.switch_losses(), 0);
    // Without packets across the ring, the links are paused, but no packets wait in a cycle.
    let open = bursts(false);
    assert!(open.pause_cycles.is_empty(), "{:?}", open.pause_cycles);
    assert_eq!(open.pause_spans.iter().filter(|span| span.end_ns.is_none()).count(), 6);
}

#[test]
fn a_route_that_leads_back_is_refused() {
    let topology = r#"
        kind = "graph"
        hosts = 2
        switches = 2
        links = [
          { a = "h0", b = "s0", rate = "10 Gb/s", delay = "1 us" },
          { a = "s0", b = "s1", rate = "10 Gb/s", delay = "1 us" },
          { a = "s1", b = "h1", rate = "10 Gb/s", delay = "1 us" },
        ]
        route = [{ at = "s1", to = "h*", via = "s0" }]"#;
    let lab = Lab::new(topology, "buffer = \"1 MB\"\npolicy = \"dt\"", &open_loop("1 Gb/s", 1_500));
    let scenario = lab.workloads(&bursts(&[(0, 1)], "1 ms"));
    let refused = bufferlab_sim::Simulation::new(&scenario).err().map(|error| error.to_string());
    assert!(
        refused.as_ref().is_some_and(|text| text.contains("h1") && text.contains("s0, s1")),
        "{refused:?}"
    );
}

/// Results of [`chain`] with the cable between the switches down from 300 to 500 us.
fn flapping_chain(down: &str) -> Rows {
    let topology = format!(
        r#"kind = "graph"
        hosts = 2
        switches = 2
        links = [
          {{ a = "h0", b = "s0", rate = "10 Gb/s", delay = "1 us" }},
          {{ a = "s0", b = "s1", rate = "10 Gb/s", delay = "1 us" }},
          {{ a = "s1", b = "h1", rate = "100 Mb/s", delay = "1 us" }},
        ]
        change = [{{ link = "s0-s1", down = [{down}] }}]"#
    );
    let policy = r#"{ name = "sonic-dt", headroom = "60 KB", lossless_static_threshold = "15 KB", xon_offset = "4.5 KB" }"#;
    run(&Lab::new(&topology, &switch(policy, ""), &open_loop("10 Gb/s", 1_500))
        .times("2 ms", "500 ms")
        .workloads(&bursts(&[(0, 1)], "1200 us")))
}

#[test]
fn a_pause_ends_with_its_link_and_is_demanded_anew_when_the_link_is_up_again() {
    // The host h1 accepts a packet every 120 us, so s1 pauses s0 for nearly all of the time.
    let rows = flapping_chain("\"300 us\", \"500 us\"");
    let spans: Vec<_> = rows.pause_spans.iter().filter(|span| span.paused == "s0").collect();
    assert!(spans.iter().any(|span| span.end_ns == Some(300_000)), "{spans:?}");
    assert!(spans.iter().all(|span| span.start_ns <= 300_000 || span.start_ns > 500_000), "{spans:?}");
    // The switch s1 still stores more than its threshold. The pause frame of s1 leaves at once,
    // and takes 51.2 ns and 1 us of cable.
    assert!(spans.iter().any(|span| span.start_ns == 501_051), "{spans:?}");
    assert!(rows.drops.iter().all(|row| row.reason == "link-down"), "{:?}", rows.drops);
    // The switch s0 also pauses the host, and resumes the host when there is space again, so no
    // sender waits forever.
    let lost = rows.link_losses();
    assert!(lost > 0 && rows.flows[0].dropped_packets == lost);
    let arrived = rows.link("s1", "h1").tx_packets;
    assert_eq!(arrived + lost, rows.flows[0].sent_packets);
}

#[test]
fn frames_that_a_link_loses_pause_nobody() {
    // The pause frame leaves at 16.4 us and would have arrived at 17.45 us.
    let rows = flapping_chain("\"17 us\", \"5 ms\"");
    let paused = rows.pause_spans.iter().filter(|span| span.paused == "s0").count();
    let sent =
        rows.pauses.iter().find(|row| (row.switch, row.port) == (1, 0)).map_or(0, |row| row.sent_pauses);
    assert!(sent > 0 && paused == 0, "{sent} sent, {paused} took effect: {:?}", rows.pause_spans);
}

#[test]
fn flow_control_is_switched_off_by_one_key() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/lossless.toml");
    let losses = |enabled: &str| {
        let change = ("switch.pfc.enabled".to_owned(), enabled.to_owned());
        let loaded = bufferlab_scenario::load(&path, &[change]).unwrap_or_else(|error| panic!("{error}"));
        let rows = run(&loaded.scenario);
        (rows.switch_losses() > 0, rows.pauses.is_empty())
    };
    assert_eq!((losses("true"), losses("false")), ((false, false), (true, true)));
}

/// Number of lost packets and number of pauses, if four hosts each send in four lossless priorities
/// to one slow host. The switch reserves headroom per port (an insurance), not per queue.
fn insured(headroom: u64) -> (u64, u64) {
    let wire = 1_500;
    // The buffer has space for 100 packets besides the insurances (headroom) of five ports. The
    // headroom of twenty queues would not fit.
    let switch = format!(
        "buffer = \"{} B\"\nqueues_per_port = 4\npfc = {{ priorities = [0, 1, 2, 3] }}\n\
         policy = {{ name = \"sonic-dt\", headroom = \"{headroom} B\", headroom_mode = \"dsh-like\" }}",
        5 * headroom + 100 * wire
    );
    let transport = |priority: u8| format!("{}\ndata_priority = {priority}", open_loop("5 Gb/s", wire));
    let mut lab =
        Lab::new(&crate::support::star(5, "10 Gb/s", "2 us"), &switch, &transport(0)).times("300 us", "0 s");
    let mut workloads = String::new();
    for priority in 0..4 {
        if priority > 0 {
            lab = lab.transport(&transport(priority));
        }
        let bursts: Vec<_> = (1..5)
            .map(|src| {
                format!(
                    "{{ src = \"h{src}\", dst = \"h0\", start = \"{} ns\", duration = \"250 us\" }}",
                    u32::from(priority) * 20_000
                )
            })
            .collect();
        workloads += &format!(
            "[[workload]]\nkind = \"bursts\"\nclass = \"p{priority}\"\ntransport = \"t{priority}\"\nbursts = [{}]\n",
            bursts.join(", ")
        );
    }
    let rows = run(&lab.workloads(&workloads));
    (rows.switch_losses(), rows.pauses.iter().map(|row| row.sent_pauses).sum())
}

#[test]
fn ports_that_are_insured_by_the_formula_lose_nothing_whatever_their_queues_do() {
    // The cable of 400 m takes 2 us one way. The headroom includes three more frames for the other
    // priorities, and one packet that the port may be sending.
    let enough = needed(10, 400, 1_500, 0) + 3 * 64 + 1_500;
    let (lost, pauses) = insured(enough);
    assert!(lost == 0 && pauses > 16, "{lost} lost, {pauses} pauses");
    let (lost, _) = insured(3_000);
    assert!(lost > 0, "an insurance of two packets is enough, too");
}

#[test]
fn a_port_on_which_nothing_is_lossless_sends_no_pauses_and_ignores_those_that_come() {
    // The second port of s0 leads to s1, and the first port of s1 leads to s0.
    let (neither, deaf) = (chain(", ports = [1]", "1200 us"), chain(", ports = [0]", "1200 us"));
    assert!(neither.pauses.iter().all(|row| row.sent_pauses == 0), "{:?}", neither.pauses);
    // The pauses of s1 have no effect: arrivals exceed the headroom of s1, and s0 never stops
    // sending.
    let (sender, asking) = (pauses(&deaf, 0, 1), pauses(&deaf, 1, 0));
    assert!(asking.sent_pauses > 0 && sender.received_pauses == asking.sent_pauses, "{asking:?}");
    assert_eq!((sender.paused_ns, asking.neighbour_paused_ns), (0, 0));
    assert!(deaf.switch_losses() > 0 && chain("", "1200 us").switch_losses() == 0);
}
