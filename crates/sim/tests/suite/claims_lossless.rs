//! Claims of Reverie (NSDI 2024) about flow control in a network: no lossless packet is lost, and
//! pauses and resumes alternate.

use crate::support::{Lab, Rows, run_fast};
use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};

/// Size of a packet on the wire (bytes).
const WIRE: u64 = 1_500;
const POLICIES: [&str; 3] = ["sonic-dt", "sonic-abm", "reverie"];

/// Headroom of a queue (bytes): two packets, the pause frame, and a packet that the port is
/// sending. The link also carries bytes for 10 us in each direction and 2 us of reaction at 40
/// Gb/s.
const fn headroom() -> u64 {
    2 * WIRE + 64 + 40 * (2 * 10_000 + 2_000) / 8 + WIRE
}

/// Results of four racks of eight hosts with two spines:
/// an open-loop incast of lossless packets during a lossy overload.
fn incast(policy: &str, seed: u64) -> Rows {
    let topology = r#"
        kind = "leaf_spine"
        leaves = 4
        hosts_per_leaf = 8
        spines = 2
        host_rate = "10 Gb/s"
        fabric_rate = "40 Gb/s"
        delay = "1 us"
        fabric_delay = "10 us""#;
    let switch = format!(
        "buffer = \"1.6 MB\"\nqueues_per_port = 2\npfc = {{ priorities = [1], reaction = \"2 us\" }}\n\
         policy = {{ name = \"{policy}\", headroom = \"{} B\" }}",
        headroom()
    );
    let open_loop = "congestion_control = \"none\"\nrate = \"10 Gb/s\"\nsegment_bytes = \"1446 B\"";
    let load = |transport: &str, class: &str, load: f64| {
        format!(
            "[[workload]]\nkind = \"poisson\"\nclass = \"{class}\"\ntransport = \"{transport}\"\nsizes = \"300 KB\"\n\
             load = {load}\nload_of = \"host_links\"\npattern = \"other_rack\"\n"
        )
    };
    let scenario = Lab::new(topology, &switch, &format!("{open_loop}\ndata_priority = 1"))
        .transport(&format!("{open_loop}\ndata_priority = 0"))
        .times("3 ms", "20 ms")
        .seed(seed)
        .workloads(&(load("t0", "lossless", 0.6) + &load("t1", "lossy", 0.6)));
    run_fast(&scenario)
}

/// Numbers of lost packets of the lossless priority, of lost packets of the lossy priority,
/// and of pauses.
fn losses_and_pauses(rows: &Rows) -> [u64; 3] {
    let lost =
        |priority: u8| rows.drops.iter().filter(|row| row.priority == priority).map(|row| row.packets).sum();
    [lost(1), lost(0), rows.pauses.iter().map(|row| row.sent_pauses).sum()]
}

claims! {
    Holds "REV-LL-1" rev_ll_1_no_lossless_packet_is_lost_with_headroom_by_the_formula ("lossless packet loss: zero") {
        let runs: Vec<_> = POLICIES.iter().flat_map(|policy| (1..=3).map(move |seed| losses_and_pauses(&incast(policy, seed)))).collect();
        let sum = |at: usize| runs.iter().map(|run| run[at]).sum::<u64>();
        Finding::new(
            runs.iter().all(|run| run[0] == 0 && run[1] > 0 && run[2] > 0),
            format!("3 policies, 3 seeds, 32 hosts: {} lossless packets lost, {} lossy ones; {} pauses", sum(0), sum(1), sum(2)),
        )
    }

    Holds "REV-PFC-1" rev_pfc_1_pause_and_resume_frames_take_turns_on_every_link ("pause and resume strictly alternate per queue") {
        let mut frames = [0, 0];
        let mut met = true;
        for policy in POLICIES {
            let rows = incast(policy, 1);
            for row in &rows.pauses {
                // Every pause is withdrawn exactly once. The last pause may still be active when
                // the run ends.
                met &= (0..=1).contains(&(row.sent_pauses as i64 - row.sent_resumes as i64));
                frames[0] += row.sent_pauses;
                frames[1] += row.sent_resumes;
            }
            for (at, span) in rows.pause_spans.iter().enumerate() {
                let same = |other: &&bufferlab_metrics::PauseSpanRow| (&other.by, &other.paused, other.parallel) == (&span.by, &span.paused, span.parallel);
                let next = rows.pause_spans[at + 1..].iter().find(same);
                met &= next.is_none_or(|next| span.end_ns.is_some_and(|end| end <= next.start_ns));
            }
        }
        Finding::new(
            met && frames[0] > 100,
            format!("3 policies: {} pauses and {} resumes on all links, none out of turn", frames[0], frames[1]),
        )
    }
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("reverie-lossless", CLAIMS);
}
