//! Replay of the calculator `drain-time`: a queue of every priority has its greatest length and
//! gets no further packets.

use crate::bench::PortQueue;
use crate::priorities::{Congested, Priorities};
use crate::schemes::{check_rate, settled};
use crate::{Asked, Check, Relation, ReplayInfo, Unit, Verification};

/// Replay of `drain-time` with queues that drain until they are empty.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "drain-time",
    summary: "a queue is filled up to ABM's threshold and drains: alone, and beside a queue of every other priority",
    run,
};

fn run(asked: &Asked<'_>) -> Verification {
    replay(asked).unwrap_or_else(Verification::nothing)
}

fn replay(asked: &Asked<'_>) -> Result<Verification, String> {
    let (rate, congested) = (asked.params.rate("port_rate"), asked.params.small_count("congested"));
    let count = asked.params.ratios("alphas").len();
    let ports = u16::try_from(congested).map_err(|_| format!("{congested} ports: at most 65535"))?;
    let priorities = Priorities::new(&asked.params, count * usize::from(ports))?;
    check_rate(priorities.buffer, rate)?;
    let smallest = priorities.alphas.iter().copied().fold(f64::INFINITY, f64::min);
    let packet_time = rate.serialization(u64::from(priorities.packet)).as_secs_f64();
    let mut checks = Vec::new();
    for priority in 0..count {
        let name = format!("drain time {priority}");
        let stated = asked.stated(&name);
        let mut states = vec![("alone", vec![priority])];
        if count > 1 {
            states.push(("beside all others", (0..count).collect()));
        }
        for (state, present) in states {
            let places =
                |port| present.iter().map(move |&priority| PortQueue { port, priority: priority as u8 });
            let full: Vec<_> = (0..ports).flat_map(places).collect();
            let mut bench = settled(priorities.bench(vec![rate; usize::from(ports)])?, &full)?;
            let measured = bench.drain(PortQueue { port: 0, priority: priority as u8 });
            bench.verify();
            // The possible error is the error of the priority's occupancy, plus two packets at the
            // end of the queue. For each of the two packets, the port serves each of its other
            // queues once.
            let gamma = 1.0 / present.len() as f64;
            let queue = |place: &PortQueue| Congested { priority: usize::from(place.priority), gamma };
            let queues: Vec<_> = full.iter().map(queue).collect();
            let packets = priorities.slack(&queues, priority) / f64::from(priorities.packet) + 2.0;
            let bound = packets * present.len() as f64 * packet_time;
            let alone = present.len() == 1 && priorities.alphas[priority] <= smallest;
            let relation = if alone { Relation::Equal } else { Relation::AtMost };
            let check = Check::equal(format!("{name}, {state}"), (stated, measured), bound, Unit::Seconds);
            checks.push(check.with(relation));
        }
    }
    let what = format!(
        "abm, packets of {} B; the queue's arrivals stop, the others are kept full",
        priorities.packet
    );
    let words = "what the queue may be off its limit (see guarantees) and two packets at its end, each as often as \
                 there are queues at the port; equal where the bound is attained: the smallest alpha alone";
    Ok(Verification::single(what, words, checks))
}
