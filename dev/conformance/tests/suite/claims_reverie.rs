//! Claims of Reverie (NSDI 2024) about accounting. The tests compare every account after each of a
//! million random events.

use bufferlab_conformance::claims;
use bufferlab_conformance::claims::{Finding, assert_findings};
use bufferlab_core::{
    Account, Admission, Buffer, BufferProfile, Direction, Header, IngressId, Observer, Packet, ParamValue,
    Policy, QueueId, Switch, SwitchConfig, SwitchEvent, Tags, ThresholdRule,
};
use bufferlab_units::{BitRate, RandomStream, Time};
use std::collections::VecDeque;

const PORTS: u16 = 4;
const QUEUES: usize = PORTS as usize * 2;
const MTU: u64 = 1_500;
/// Number of events between a pause and the sender's reaction, with at most one packet each.
const LAG: u64 = 4;
const HEADROOM: u64 = (LAG + 2) * MTU;
const EVENTS: u64 = 1_000_000;

/// Independent accounts of the switch's reports: bytes by ingress and by egress queue, and the
/// headroom part of each ingress queue.
#[derive(Default)]
struct ReportLedger {
    ingress: [u64; QUEUES],
    egress: [u64; QUEUES],
    headroom: [u64; QUEUES],
    /// Lossless ingress queues, if only some ports are lossless, and bytes of lossy
    /// packets by egress queue.
    is_lossless: [bool; QUEUES],
    lossy_egress: [u64; QUEUES],
    headroom_before: u64,
    /// Last pause state that the switch reported to each sender, and the times at which senders
    /// react.
    told: [bool; QUEUES],
    obeys: VecDeque<(u64, usize, bool)>,
    step: u64,
    pauses: u64,
    resumes: u64,
    /// Number of pauses of senders that were paused, and of resumes of senders that were not
    /// paused.
    repeated: u64,
}

impl Observer for ReportLedger {
    fn on(&mut self, event: &SwitchEvent<'_>, buffer: &Buffer) {
        match *event {
            SwitchEvent::Arriving(_) => {
                self.headroom_before = buffer.used(Account::Headroom);
            }
            SwitchEvent::Stored { arrival, .. } => {
                let size = u64::from(arrival.header.size);
                self.ingress[usize::from(arrival.ingress.0)] += size;
                self.egress[usize::from(arrival.queue.0)] += size;
                if !self.is_lossless[usize::from(arrival.ingress.0)] {
                    self.lossy_egress[usize::from(arrival.queue.0)] += size;
                }
                if buffer.used(Account::Headroom) > self.headroom_before {
                    self.headroom[usize::from(arrival.ingress.0)] += size;
                }
            }
            SwitchEvent::Departed(departure) => {
                let (size, ingress) = (u64::from(departure.header.size), usize::from(departure.ingress.0));
                self.ingress[ingress] -= size;
                self.egress[usize::from(departure.queue.0)] -= size;
                if !self.is_lossless[ingress] {
                    self.lossy_egress[usize::from(departure.queue.0)] -= size;
                }
                // Departures release headroom before other accounts, independently of the departing
                // packet.
                self.headroom[ingress] = self.headroom[ingress].saturating_sub(size);
            }
            SwitchEvent::PauseChanged { ingress, paused, .. } => {
                let told = std::mem::replace(&mut self.told[usize::from(ingress.0)], paused);
                self.repeated += u64::from(told == paused);
                if paused {
                    self.pauses += 1;
                } else {
                    self.resumes += 1;
                }
                self.obeys.push_back((self.step + LAG, usize::from(ingress.0), paused));
            }
            _ => {}
        }
    }
}

/// Results of a run of a million random events.
struct Found {
    books: ReportLedger,
    /// Number of events after which an accounting identity was broken.
    broken: u64,
    lossless_losses: u64,
    lossy_losses: u64,
    stored: u64,
}

/// Runs random events. Priority 0 is lossy, priority 1 is lossless, and senders
/// react late to pauses.
fn fuzz(policy: &str, identities: impl Fn(&ReportLedger, &Buffer, &dyn Policy) -> bool) -> Found {
    fuzz_with(policy, EVENTS, vec![], vec![], 1, identities)
}

/// Runs random events with additional parameters, and with lossless priorities by port.
fn fuzz_with(
    policy: &str,
    events: u64,
    more: Vec<(String, ParamValue)>,
    lossless_by_port: Vec<u32>,
    seed: u64,
    identities: impl Fn(&ReportLedger, &Buffer, &dyn Policy) -> bool,
) -> Found {
    let loses_nothing = |port: u16, priority: u8| {
        lossless_by_port.get(usize::from(port)).map_or(priority == 1, |mask| mask >> priority & 1 != 0)
    };
    let config = SwitchConfig {
        max_packet: MTU,
        lossless: 0b10,
        lossless_by_port: lossless_by_port.clone(),
        ..SwitchConfig::new(200_000 + u64::from(PORTS) * HEADROOM, vec![BitRate::gbps(10); PORTS.into()])
            .with_queues(2)
    };
    let mut params = vec![("headroom".to_owned(), ParamValue::Bytes(HEADROOM))];
    params.extend(more);
    let mut switch: Switch<Box<dyn Policy>> = config.build(policy, &params).expect("it fits");
    let mut found =
        Found { books: ReportLedger::default(), broken: 0, lossless_losses: 0, lossy_losses: 0, stored: 0 };
    for (queue, is_lossless) in found.books.is_lossless.iter_mut().enumerate() {
        *is_lossless = loses_nothing(queue as u16 / 2, (queue % 2) as u8);
    }
    let mut stream = RandomStream::new(seed, "test/reverie-books", 0);
    let mut silent = [false; QUEUES];
    for step in 0..events {
        let (now, books) = (Time(step * 100_000), &mut found.books);
        books.step = step;
        while let Some(&(at, ingress, paused)) = books.obeys.front()
            && at <= step
        {
            silent[ingress] = paused;
            books.obeys.pop_front();
        }
        while switch.poll_timeout().is_some_and(|due| due <= now) {
            switch.handle_timeout(now, books);
        }
        // Periods in which the switch is overloaded alternate with periods in which it drains.
        if stream.below(10) < if step / 4_000 % 2 == 0 { 3 } else { 7 } {
            let _ = switch.poll_transmit(now, stream.below(u64::from(PORTS)) as u16, books);
        } else {
            let (from, to) = (stream.below(PORTS.into()) as u16, stream.below(PORTS.into()) as u16);
            let priority = stream.below(2) as u8;
            let tags = if stream.below(4) == 0 { Tags::UNSCHEDULED } else { Tags::NONE };
            let size = 64 + stream.below(MTU - 63) as u32;
            let packet = Packet {
                header: Header { size, tags, priority, ..Header::default() },
                ingress_port: from,
                egress_port: to,
                ..Packet::default()
            };
            if !silent[usize::from(from * 2 + u16::from(priority))] {
                match (switch.handle_arrival(now, &packet, books), loses_nothing(from, priority)) {
                    (Admission::Stored { .. }, _) => found.stored += 1,
                    (Admission::Refused(_), false) => found.lossy_losses += 1,
                    (Admission::Refused(_), _) => found.lossless_losses += 1,
                }
            }
        }
        found.broken += u64::from(!identities(&found.books, switch.buffer(), switch.policy()));
    }
    switch.verify().expect("the ledger holds");
    found
}

fn sum(bytes: &[u64; QUEUES], priority: usize) -> u64 {
    bytes.iter().skip(priority).step_by(2).sum()
}

fn probe(policy: &dyn Policy, buffer: &Buffer, wanted: &str) -> u64 {
    let mut value = 0;
    policy.probe(QueueId(1), buffer, &mut |name, found| {
        if name == wanted {
            value = found as u64;
        }
    });
    value
}

/// Whether Equations 7 to 9 of Reverie and the total of all bytes hold, in the test's accounts and
/// in the switch.
fn counted_twice(books: &ReportLedger, buffer: &Buffer, policy: &dyn Policy) -> bool {
    let headroom = sum(&books.headroom, 1);
    let (lossy_in, lossless_in) = (sum(&books.ingress, 0), sum(&books.ingress, 1) - headroom);
    let (q_eo, q_el, q_in) = (sum(&books.egress, 0), sum(&books.egress, 1), lossy_in + lossless_in);
    let b_eo = 160_000; // 0.8 is no binary fraction: rounded down.
    q_eo == lossy_in
        && q_el == lossless_in + headroom
        && buffer.used(Account::Shared) == q_in
        && buffer.used(Account::Headroom) == headroom
        && buffer.occupancy() == q_in + headroom
        && probe(policy, buffer, "ingress_pool_free") == 200_000 - q_in
        && (b_eo - 1..=b_eo).contains(&(probe(policy, buffer, "lossy_pool_free") + q_eo))
}

/// Whether the buffer counts only lossy egress queues and lossless ingress queues.
fn counted_once(books: &ReportLedger, buffer: &Buffer, _: &dyn Policy) -> bool {
    let queues = sum(&books.egress, 0) + sum(&books.ingress, 1);
    let headroom = sum(&books.headroom, 1);
    let by_switch: u64 =
        (0..QUEUES as u16)
            .map(|at| {
                if at % 2 == 0 {
                    buffer.queue_bytes(QueueId(at))
                } else {
                    buffer.ingress_bytes(IngressId(at))
                }
            })
            .sum();
    queues == by_switch
        && queues == buffer.used(Account::Shared) + buffer.used(Account::Headroom)
        && buffer.used(Account::Headroom) == headroom
}

claims! {
    Holds "REV-BK-1" rev_bk_1_under_sonic_a_packet_is_stored_once_and_counted_twice ("stored once, counted twice: Eqs. 7 to 9 after every event of 10^6") {
        let found = ["sonic-dt", "sonic-abm"].map(|policy| fuzz(policy, counted_twice));
        Finding::new(
            found.iter().all(|found| found.broken == 0 && found.lossy_losses > 1_000 && found.books.pauses > 1_000),
            format!("1,000,000 events each of sonic-dt and sonic-abm: {} and {} packets stored, {} and {} mismatches", found[0].stored, found[1].stored, found[0].broken, found[1].broken),
        )
    }

    Holds "REV-BK-2" rev_bk_2_under_reverie_a_packet_is_stored_once_and_counted_once ("stored once, counted once: queues add up to shared and headroom use") {
        let found = fuzz("reverie", counted_once);
        Finding::new(
            found.broken == 0 && found.books.pauses > 1_000,
            format!("1,000,000 events: {} packets stored, {} mismatches", found.stored, found.broken),
        )
    }

    Holds "REV-PFC-1" rev_pfc_1_pauses_and_resumes_alternate_and_no_lossless_packet_is_lost ("pause, headroom, resume; zero loss; strictly alternating per queue") {
        let found = ["sonic-dt", "sonic-abm", "reverie"].map(|policy| fuzz(policy, |_, _, _| true));
        let met = |found: &Found| found.lossless_losses + found.books.repeated == 0 && found.books.pauses > 1_000 && found.lossy_losses > 1_000;
        let pauses: Vec<_> = found.iter().map(|found| found.books.pauses.to_string()).collect();
        Finding::new(
            found.iter().all(met),
            format!("senders obey four events late, headroom six packets; sonic-dt, sonic-abm, reverie: {} pauses, {} lossless losses, {} out of turn", pauses.join(", "), found.iter().map(|found| found.lossless_losses).sum::<u64>(), found.iter().map(|found| found.books.repeated).sum::<u64>()),
        )
    }
}

#[test]
fn the_recorded_findings_are_todays() {
    assert_findings("reverie-accounts", CLAIMS);
}

/// Random profiles of every queue, and the ports with lossless priority 1.
struct Drawn {
    profiles: Vec<BufferProfile>,
    lossless_by_port: Vec<u32>,
    reserved: [u64; QUEUES],
    egress_reserved: [u64; QUEUES],
    headroom: u64,
}

fn draw(seed: u64, thresholds: bool) -> Drawn {
    let mut stream = RandomStream::new(seed, "test/reverie-profiles", 0);
    let lossless_by_port: Vec<u32> =
        (0..PORTS).map(|port| if port == 0 || stream.below(2) == 0 { 0b10 } else { 0 }).collect();
    let mut drawn = Drawn {
        profiles: Vec::new(),
        lossless_by_port,
        reserved: [0; QUEUES],
        egress_reserved: [0; QUEUES],
        headroom: 0,
    };
    let rule = |stream: &mut RandomStream| match stream.below(3) {
        0 => Some(ThresholdRule::Static(stream.below(60_000))),
        1 => Some(ThresholdRule::Dynamic((stream.below(17) as f64 - 8.0).exp2())),
        _ => None,
    };
    for queue in 0..QUEUES {
        let (port, priority) = (queue / 2, queue % 2);
        let is_lossless = drawn.lossless_by_port[port] >> priority & 1 != 0;
        let at = BufferProfile {
            ports: vec![port as u16],
            priorities: vec![priority as u8],
            ..BufferProfile::default()
        };
        let threshold = if thresholds { rule(&mut stream) } else { None };
        drawn.reserved[queue] = stream.below(5_000);
        let reserved = Some(drawn.reserved[queue]);
        let mut ingress = BufferProfile { threshold, reserved, ..at.clone() };
        if is_lossless {
            let own = HEADROOM + stream.below(5_000);
            drawn.headroom += own;
            ingress.headroom = Some(own);
            ingress.xon = Some(stream.below(3_000));
            ingress.xon_offset = Some(stream.below(3_000));
        } else {
            drawn.egress_reserved[queue] = stream.below(5_000);
            let threshold = if thresholds { rule(&mut stream) } else { None };
            let reserved = Some(drawn.egress_reserved[queue]);
            drawn.profiles.push(BufferProfile { direction: Direction::Egress, threshold, reserved, ..at });
        }
        drawn.profiles.push(ingress);
    }
    drawn
}

/// Whether Equations 7 to 9 of Reverie hold with reserves beside the pools. A packet has the class
/// of its ingress port.
fn counted_twice_with(drawn: &Drawn, books: &ReportLedger, buffer: &Buffer, policy: &dyn Policy) -> bool {
    let of_class = |bytes: &[u64; QUEUES], lossless: bool| -> u64 {
        (0..QUEUES).filter(|&queue| books.is_lossless[queue] == lossless).map(|queue| bytes[queue]).sum()
    };
    let headroom = of_class(&books.headroom, true);
    let (lossy_in, lossless_in) =
        (of_class(&books.ingress, false), of_class(&books.ingress, true) - headroom);
    let total: u64 = books.egress.iter().sum();
    let lossy_out: u64 = books.lossy_egress.iter().sum();
    let in_reserves: u64 = (0..QUEUES)
        .map(|queue| (books.ingress[queue] - books.headroom[queue]).min(drawn.reserved[queue]))
        .sum();
    let in_egress_reserves: u64 =
        (0..QUEUES).map(|queue| books.lossy_egress[queue].min(drawn.egress_reserved[queue])).sum();
    let (q_in, q_eo) = (lossy_in + lossless_in - in_reserves, lossy_out - in_egress_reserves);
    let b_in = 200_000 + u64::from(PORTS) * HEADROOM - drawn.headroom - drawn.reserved.iter().sum::<u64>();
    let b_eo = b_in * 4 / 5 - drawn.egress_reserved.iter().sum::<u64>();
    lossy_out == lossy_in
        && total - lossy_out == lossless_in + headroom
        && buffer.used(Account::Shared) == lossy_in + lossless_in
        && buffer.used(Account::Headroom) == headroom
        && probe(policy, buffer, "ingress_pool_free") == b_in.saturating_sub(q_in)
        && (b_eo.saturating_sub(1)..=b_eo).contains(&(probe(policy, buffer, "lossy_pool_free") + q_eo))
}

#[test]
fn with_random_profiles_and_lossless_ports_every_packet_is_still_counted_twice_and_no_lossless_one_is_lost() {
    for (policy, seed) in (0..40).flat_map(|seed| [("sonic-dt", seed), ("sonic-abm", seed)]) {
        let drawn = draw(seed, policy == "sonic-dt");
        let profiles = ParamValue::Profiles(drawn.profiles.clone().into());
        let more = vec![("profiles".to_owned(), profiles)];
        let identities = |books: &ReportLedger, buffer: &Buffer, policy: &dyn Policy| {
            counted_twice_with(&drawn, books, buffer, policy)
        };
        let found = fuzz_with(policy, 20_000, more, drawn.lossless_by_port.clone(), seed, identities);
        assert_eq!((found.broken, found.lossless_losses, found.books.repeated), (0, 0, 0), "{policy} {seed}");
        assert!(found.lossy_losses > 100 && found.books.pauses > 10, "{policy} {seed}");
    }
}
