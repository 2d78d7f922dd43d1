//! Replay of the calculator `burst-tolerance`: sends bursts into a switch whose congested queues
//! are at their thresholds, until one burst loses a packet.

pub(crate) mod layout;

use crate::bench::FirstLoss;
use crate::schemes::{check_rate, packet_size};
use crate::{Asked, Check, ReplayInfo, Unit, Verification};
use bufferlab_params::{ParamKind, ParamValue};
use layout::{Layout, Scheme, Stage};

/// Replay of `burst-tolerance` with a burst that arrives at the core's switch.
pub(crate) const REPLAY: ReplayInfo = ReplayInfo {
    calculator: "burst-tolerance",
    summary: "queues are kept at the policy's limits, then a burst is sent until it loses a packet",
    run,
};

fn run(asked: &Asked<'_>) -> Verification {
    let mut found = Verification::default();
    let words = match asked.info.param("policy").map(|param| param.kind) {
        Some(ParamKind::Choice(words)) => words,
        _ => &[],
    };
    let given = asked.given.iter().find_map(|(name, value)| match value {
        ParamValue::Choice(word) if name == "policy" => Some(word.clone()),
        _ => None,
    });
    for word in words.iter().filter(|word| given.as_deref().is_none_or(|given| given == word.name)) {
        // A comparison of all policies has no answers, so the replay sends a burst for each policy.
        let mut values: Vec<_> = asked.given.iter().filter(|(name, _)| name != "policy").cloned().collect();
        values.push(("policy".to_owned(), ParamValue::Choice(word.name.into())));
        let answer = match asked.info.calculate(&values) {
            Ok(answer) => answer,
            Err(error) => {
                found.left_out.push(format!("{}: {error}", word.name));
                continue;
            }
        };
        let layout = Layout::new(&asked.params);
        let replayed = Scheme::named(word.name)
            .ok_or_else(|| "no switch of it is known".to_owned())
            .and_then(|scheme| replay(&layout, scheme));
        match replayed {
            Ok(seen) => {
                let value = |name| answer.value(name).expect("the calculator answers it");
                let stated = [value("lossless for"), value("arrived"), value("stored")];
                let what = format!(
                    "{}, {} B each; {}",
                    word.name, seen.packet, "the burst's first loss after queues were steady"
                );
                found.add(what, seen.bound_in_words(), seen.checks(word.name, stated));
            }
            Err(reason) => found.left_out.push(format!("{}: {reason}", word.name)),
        }
    }
    found
}

/// Measured results of one burst that the bench sent.
pub(crate) struct BurstResult {
    /// Size of the burst's packets (bytes).
    pub(crate) packet: u32,
    /// First loss of a packet of the burst.
    pub(crate) first: FirstLoss,
    /// Number of queues that the bench keeps full.
    queues: usize,
    /// Number of queues that receive the burst.
    bursts: usize,
    /// Free buffer before the burst (bytes).
    free: f64,
    /// Possible error of the free buffer before the burst (bytes).
    slack: f64,
    /// Possible error of the free buffer (bytes): the theory has liquid bursts, but bursts consist
    /// of packets. The error is the size of two packets divided by the burst's threshold factor.
    own: f64,
    /// Arrival rate of the burst at a queue, and growth rate of this queue (bytes/s).
    rates: (f64, f64),
}

impl BurstResult {
    /// Possible error of the time of the first loss, as a fraction of this time.
    pub(crate) fn part(&self) -> f64 {
        (self.slack + self.own) / self.free
    }

    pub(crate) fn bound_in_words(&self) -> String {
        format!(
            "a packet for each of {} full queues, two for each of {} of the burst, and what changes until the \
             policy counts the burst: {:.0} B of {:.0} B free before; two packets over the burst's factor: {:.0} B; together {:.3} %",
            self.queues,
            self.bursts,
            self.slack,
            self.free,
            self.own,
            100.0 * self.part()
        )
    }

    /// Checks time, arrived bytes and stored bytes of the first loss against the stated values.
    pub(crate) fn checks(&self, name: &str, stated: [f64; 3]) -> Vec<Check> {
        let [time, arrived, stored] = stated;
        let off = time * self.part();
        let (packet, (arrival, growth)) = (f64::from(self.packet), self.rates);
        let named = |quantity: &str| format!("{name}: {quantity}");
        // At any time, the arrived and the stored bytes of the burst may be wrong by one packet.
        vec![
            Check::equal(
                named("lossless for"),
                (time, self.first.seconds),
                off + packet / arrival,
                Unit::Seconds,
            ),
            Check::equal(
                named("arrived"),
                (arrived, self.first.arrived),
                off * arrival + packet,
                Unit::Bytes,
            ),
            Check::equal(
                named("stored"),
                (stored, self.first.stored),
                off * growth + 2.0 * packet,
                Unit::Bytes,
            ),
        ]
    }
}

/// Sends the burst of the layout `layout` to a switch with the policy `scheme`.
///
/// # Errors
/// If the layout cannot be replayed; the error is the reason.
pub(crate) fn replay(layout: &Layout, scheme: Scheme) -> Result<BurstResult, String> {
    check_rate(layout.buffer, layout.port_rate)?;
    layout.check(scheme)?;
    let (queues, ratio) = (layout.full_queues(scheme) as f64, layout.ratio());
    let growth = ratio - layout.gamma(scheme);
    // The cost counts arrivals and departures while the buffer fills. Each arrival or departure
    // includes an offer for every full queue.
    let cost = (queues + 1.0) * (ratio + queues + 1.0) / growth;
    let packet = packet_size(layout.buffer, cost)?;
    let Stage { mut bench, burst, infinite, reserved } = layout.stage(scheme, packet)?;
    let size = f64::from(packet);
    let weight = if infinite { f64::INFINITY } else { bench.weight(burst.queues[0], burst.tags) };
    let free = reserved.map_or(bench.free() as f64, |room| room);
    if free < 10.0 * size || weight * free < 10.0 * size {
        return Err(format!("the burst has room for less than ten packets of {packet} B"));
    }
    let most = (2.0 * layout.buffer as f64 / size * ratio / growth) as u64 + 10;
    let first = bench.first_loss(&burst, most).ok_or("the burst lost nothing in twice the buffer")?;
    bench.verify();
    let delay = layout.delay(scheme, packet).as_secs_f64();
    let bytes_per_second = layout.port_rate.0 as f64 / 8.0;
    Ok(BurstResult {
        packet,
        first,
        queues: queues as usize,
        bursts: burst.queues.len(),
        free,
        slack: (queues + 2.0 * burst.queues.len() as f64) * size
            + layout.affected_drain(scheme) * delay * bytes_per_second,
        own: 2.0 * size / weight,
        rates: (ratio * bytes_per_second, growth * bytes_per_second),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bufferlab_units::BitRate;

    fn layout() -> Layout {
        Layout {
            buffer: 1_000_000,
            port_rate: BitRate::gbps(1),
            ports: 16,
            congested: 2,
            congested_queues: 1,
            priorities: 1,
            alpha: 1.0,
            rate: BitRate::gbps(8),
            burst_alpha: 1.0,
            burst_ports: 1,
            beside: 0,
            same_priority: false,
            tau: 1.0,
        }
    }

    /// The burst in the example of TDT section VI-A lasts 222.2 us.
    #[test]
    fn the_worked_burst_is_measured_and_one_that_is_two_percent_longer_is_not() {
        let seen = replay(&layout(), Scheme::DynamicThreshold).expect("it can be replayed");
        let checks = |time: f64| seen.checks("dt", [time, time * 1e9, time * 875e6]);
        let time = 2e-3 / 9.0;
        assert!(checks(time).iter().all(Check::holds), "{:?}", checks(time));
        assert!(checks(1.02 * time).iter().all(|check| !check.holds()));
    }

    #[test]
    fn what_no_switch_is_has_a_reason() {
        let refused = |layout: Layout, scheme| replay(&layout, scheme).err().expect("refused");
        let queues = Layout { congested_queues: 2, ..layout() };
        assert!(refused(queues, Scheme::ActiveBufferManagement).contains("one queue of each priority"));
        let many = Layout { congested: 60_000, ..layout() };
        assert!(refused(many, Scheme::DynamicThreshold).contains("4096 queues"));
        let small = Layout { buffer: 100, ..layout() };
        assert!(refused(small, Scheme::Ideal).contains("a buffer of 100 B"));
        let slow = Layout { port_rate: BitRate(1), rate: BitRate(8), ..layout() };
        assert!(refused(slow, Scheme::Ideal).contains("sending the buffer takes"));
    }
}
