//! Static dispatch of the most common policies.
//!
//! A call through a pointer takes longer than a decision of Dynamic Thresholds, because the
//! compiler cannot inline the call. Such a call passes arguments through memory, and also calls
//! empty hooks. So the schemes of most runs are variants of an enum, and all other schemes are
//! boxed.

use super::interface::{
    Arrival, Bound, Departure, DropReason, Hooks, PauseDemand, PauseLevel, Policy, Tags, Verdict,
};
use super::schemes::{DynamicThreshold, SonicDt};
use crate::buffer::{Buffer, End, IngressId, QueueId};
use crate::classify::Classifier;
use crate::failure::PolicyFailure;
use bufferlab_units::Time;
use std::any::Any;

/// A policy: one of the most common policies, or any other policy behind a pointer.
#[derive(Debug)]
#[repr(u8)] // A separate tag byte is faster to read per packet than a niche.
pub enum Dispatched {
    /// The policy Dynamic Thresholds.
    DynamicThreshold(DynamicThreshold),
    /// The policy Dynamic Thresholds on SONiC's buffer model, with headroom.
    SonicDt(Box<SonicDt>),
    /// Policy without a variant of this enum, called through a pointer.
    Boxed(Box<dyn Policy>),
}

impl From<Box<dyn Policy>> for Dispatched {
    fn from(policy: Box<dyn Policy>) -> Self {
        let known: &dyn Any = &*policy;
        if known.is::<DynamicThreshold>() {
            let known: Box<dyn Any> = policy;
            Self::DynamicThreshold(*known.downcast().expect("its type was asked for"))
        } else if known.is::<SonicDt>() {
            let known: Box<dyn Any> = policy;
            Self::SonicDt(known.downcast().expect("its type was asked for"))
        } else {
            Self::Boxed(policy)
        }
    }
}

impl Dispatched {
    /// Whether the policy never needs a timer, so that the switch need not poll its timers.
    #[must_use]
    pub fn is_timeless(&self) -> bool {
        matches!(self, Self::DynamicThreshold(_) | Self::SonicDt(_))
    }

    /// A copy of the policy with its state. `None` if the policy cannot be copied
    /// ([`Policy::boxed_clone`]).
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        Some(match self {
            Self::DynamicThreshold(policy) => Self::DynamicThreshold(policy.clone()),
            Self::SonicDt(policy) => Self::SonicDt(policy.clone()),
            Self::Boxed(policy) => Self::Boxed(policy.boxed_clone()?),
        })
    }

    /// The boxed policy as a value of type `P`, or `None` if the policy has another type.
    #[must_use]
    pub fn downcast_mut<P: Policy>(&mut self) -> Option<&mut P> {
        match self {
            Self::Boxed(policy) => {
                let known: &mut dyn Any = &mut **policy;
                known.downcast_mut()
            }
            Self::DynamicThreshold(_) | Self::SonicDt(_) => None,
        }
    }
}

/// Calls a method of the policy that the enum's current variant contains.
macro_rules! each {
    ($this:expr, $policy:ident => $call:expr) => {
        match $this {
            Self::DynamicThreshold($policy) => $call,
            Self::SonicDt($policy) => $call,
            Self::Boxed($policy) => $call,
        }
    };
}

/// A separate function that takes the arrival by value.
/// The compiler builds the arrival in memory only for policies that read it from memory.
#[inline(never)]
fn ask<P: Policy>(policy: &mut P, arrival: Arrival, buffer: &Buffer) -> Verdict {
    policy.admit(&arrival, buffer)
}

/// Asks a boxed policy about an arrival ([`ask`]).
#[inline(never)]
fn ask_boxed(policy: &mut dyn Policy, arrival: Arrival, buffer: &Buffer) -> Verdict {
    policy.admit(&arrival, buffer)
}

/// Calls `can_bypass` with arguments by value, for the reason given at [`ask`].
#[inline(never)]
fn asks_to_bypass<P: Policy>(policy: &P, arrival: Arrival, buffer: &Buffer) -> bool {
    policy.can_bypass(&arrival, buffer)
}

/// Asks a boxed policy whether a packet may bypass its queue ([`asks_to_bypass`]).
#[inline(never)]
fn asks_boxed_to_bypass(policy: &dyn Policy, arrival: Arrival, buffer: &Buffer) -> bool {
    policy.can_bypass(&arrival, buffer)
}

/// Calls `on_enqueue` through a pointer, with arguments by value, for the reason given at [`ask`].
#[inline(never)]
fn tell_boxed_arrival(policy: &mut dyn Policy, arrival: Arrival, buffer: &Buffer) {
    policy.on_enqueue(&arrival, buffer);
}

/// Calls `on_dequeue` through a pointer, with arguments by value, for the reason given at [`ask`].
#[inline(never)]
fn tell_boxed_departure(policy: &mut dyn Policy, departure: Departure, buffer: &Buffer) {
    policy.on_dequeue(&departure, buffer);
}

impl Policy for Dispatched {
    #[inline(always)] // On the hot path of boxed policies.
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        match self {
            Self::DynamicThreshold(policy) => ask(policy, *arrival, buffer),
            Self::SonicDt(policy) => ask(&mut **policy, *arrival, buffer),
            Self::Boxed(policy) => ask_boxed(&mut **policy, *arrival, buffer),
        }
    }
    #[inline(always)] // Dynamic Thresholds are a multiplication and a comparison.
    fn surely_admits(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        match self {
            Self::DynamicThreshold(policy) => policy.surely_admits(arrival, buffer),
            Self::SonicDt(policy) => {
                policy.has_ample_room(arrival.queue, arrival.ingress, arrival.header.size, buffer)
            }
            Self::Boxed(_) => false,
        }
    }
    fn hooks(&self) -> Hooks {
        each!(self, policy => policy.hooks())
    }
    #[inline(always)] // On the hot path, as `admit`.
    fn on_enqueue(&mut self, arrival: &Arrival, buffer: &Buffer) {
        match self {
            Self::DynamicThreshold(_) => {}
            Self::SonicDt(policy) => policy.note_stored(arrival.queue, arrival.ingress, buffer),
            Self::Boxed(policy) => tell_boxed_arrival(&mut **policy, *arrival, buffer),
        }
    }
    #[inline(always)] // On the hot path, as `admit`.
    fn on_dequeue(&mut self, departure: &Departure, buffer: &Buffer) {
        match self {
            Self::DynamicThreshold(_) => {}
            Self::SonicDt(policy) => policy.note_sent(departure.queue, departure.ingress, buffer),
            Self::Boxed(policy) => tell_boxed_departure(&mut **policy, *departure, buffer),
        }
    }
    fn on_drop(&mut self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) {
        each!(self, policy => policy.on_drop(arrival, reason, buffer));
    }
    fn on_evict(&mut self, now: Time, queue: QueueId, size: u32, buffer: &Buffer) {
        each!(self, policy => policy.on_evict(now, queue, size, buffer));
    }
    fn on_empty_visit(&mut self, now: Time, queue: QueueId) {
        each!(self, policy => policy.on_empty_visit(now, queue));
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each!(self, policy => policy.next_timeout())
    }
    fn handle_timeout(&mut self, now: Time, buffer: &Buffer) {
        each!(self, policy => policy.handle_timeout(now, buffer));
    }
    fn poll_expulsion(&mut self, now: Time, buffer: &Buffer) -> Option<(QueueId, End)> {
        each!(self, policy => policy.poll_expulsion(now, buffer))
    }
    #[inline(always)] // On the hot path, as `admit`.
    fn pause_demand(&mut self, now: Time, ingress: IngressId, buffer: &Buffer) -> PauseDemand {
        each!(self, policy => policy.pause_demand(now, ingress, buffer))
    }
    #[inline(always)] // On the hot path, as `admit`.
    fn can_bypass(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        match self {
            Self::DynamicThreshold(policy) => policy.can_bypass(arrival, buffer),
            Self::SonicDt(policy) => {
                policy.has_ample_room(arrival.queue, arrival.ingress, arrival.header.size, buffer)
                    || asks_to_bypass(&**policy, *arrival, buffer)
            }
            Self::Boxed(policy) => asks_boxed_to_bypass(&**policy, *arrival, buffer),
        }
    }
    fn supports_accounting(&self) -> bool {
        each!(self, policy => policy.supports_accounting())
    }
    fn take_classifier(&mut self) -> Option<Classifier> {
        each!(self, policy => policy.take_classifier())
    }
    fn threshold(&self, queue: QueueId, tags: Tags, buffer: &Buffer) -> Option<u64> {
        each!(self, policy => policy.threshold(queue, tags, buffer))
    }
    fn pause_level(&self, ingress: IngressId, buffer: &Buffer) -> Option<PauseLevel> {
        each!(self, policy => policy.pause_level(ingress, buffer))
    }
    fn bound(&self, arrival: &Arrival, reason: DropReason, buffer: &Buffer) -> Option<Bound> {
        each!(self, policy => policy.bound(arrival, reason, buffer))
    }
    fn take_failure(&mut self) -> Option<PolicyFailure> {
        each!(self, policy => policy.take_failure())
    }
    fn probe(&self, queue: QueueId, buffer: &Buffer, sink: &mut dyn FnMut(&'static str, f64)) {
        each!(self, policy => policy.probe(queue, buffer, sink));
    }
    fn boxed_clone(&self) -> Option<Box<dyn Policy>> {
        each!(self, policy => policy.boxed_clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Admission, Header, Observer, Packet, ParamValue, SwitchConfig, SwitchEvent};
    use bufferlab_units::{BitRate, RandomStream};

    #[test]
    fn common_schemes_are_called_directly_and_others_behind_a_pointer() {
        let config = SwitchConfig::new(1_000_000, vec![BitRate::gbps(10); 2]);
        let dispatched = |name: &str, params: &[(String, ParamValue)]| {
            let switch = config.build(name, params).expect("it fits");
            Dispatched::from(switch.into_policy())
        };
        assert!(matches!(dispatched("dt", &[]), Dispatched::DynamicThreshold(_)));
        assert!(matches!(dispatched("sonic-dt", &[]), Dispatched::SonicDt(_)));
        assert!(matches!(dispatched("abm", &[]), Dispatched::Boxed(_)));
    }

    /// Pauses and resumes of a switch, in order of time.
    #[derive(Debug, Default, PartialEq)]
    struct Pauses(Vec<(Time, IngressId, bool)>);

    impl Observer for Pauses {
        fn on(&mut self, event: &SwitchEvent<'_>, _: &Buffer) {
            if let SwitchEvent::PauseChanged { now, ingress, paused } = *event {
                self.0.push((now, ingress, paused));
            }
        }
    }

    /// Sends random packets through two switches. One switch checks only the thresholds, the other
    /// first checks whether the buffer has ample room. Returns the numbers of refusals and of pause
    /// changes.
    fn compare_with_thresholds(params: &[(&str, ParamValue)]) -> (usize, usize) {
        let rates = vec![BitRate::gbps(10); 4];
        let config = SwitchConfig { lossless: 0b0010, max_packet: 1_600, ..SwitchConfig::new(60_000, rates) };
        let config = config.with_queues(4);
        let headroom = ("headroom".to_owned(), ParamValue::Bytes(3_000));
        let given = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let params: Vec<_> = given.chain([headroom]).collect();
        let mut exact = config.build("sonic-dt", &params).expect("it fits");
        let mut quick = config.build_dispatched("sonic-dt", &params).expect("it fits");
        let mut stream = RandomStream::new(3, "ample room", 0);
        let (mut refused, mut seen) = (0, [Pauses::default(), Pauses::default()]);
        for step in 0..40_000_u64 {
            let now = Time::from_ns(step);
            // The memory alternately fills for 500 steps and drains for 500 steps.
            let arrivals = if step / 500 % 2 == 0 { 7 } else { 3 };
            let egress_port = stream.below(4) as u16;
            let [one, other] = &mut seen;
            if stream.below(10) < arrivals {
                let priority = stream.below(4) as u8;
                let header = Header { priority, ..Header::new(60 + stream.below(1_500) as u32) };
                let packet = Packet { id: 0, header, ingress_port: stream.below(4) as u16, egress_port };
                let verdict = exact.handle_arrival(now, &packet, one);
                assert_eq!(verdict, quick.handle_arrival(now, &packet, other), "{params:?}, step {step}");
                refused += usize::from(matches!(verdict, Admission::Refused(_)));
            } else {
                let sent = exact.poll_transmit(now, egress_port, one);
                assert_eq!(sent, quick.poll_transmit(now, egress_port, other), "{params:?}, step {step}");
            }
        }
        assert_eq!(seen[0], seen[1], "{params:?}");
        assert_eq!((exact.verify(), quick.verify()), (Ok(()), Ok(())));
        (refused, seen[0].0.len())
    }

    #[test]
    fn ample_room_decides_as_the_thresholds_of_sonic_dt_do() {
        let ratio = ParamValue::Ratio;
        for params in [
            vec![],
            vec![("lossy_ingress_alpha", ratio(0.25))],
            vec![("lossless_egress_alpha", ratio(0.125)), ("lossy_pool", ratio(0.5))],
            vec![("port_alpha", ratio(0.25))],
            vec![
                ("lossless_static_threshold", ParamValue::Bytes(4_000)),
                ("reserved", ParamValue::Bytes(500)),
            ],
            vec![("lossy_static_threshold", ParamValue::Bytes(3_000))],
        ] {
            let (refused, pauses) = compare_with_thresholds(&params);
            assert!(refused > 100 && pauses > 100, "{params:?}: {refused} refusals, {pauses} pauses");
        }
    }
}
