//! ECN marking: what a rule is, which rules there are, and the marker of a switch.
//!
//! A rule is one file in `mark/`: its entry [`MarkerInfo`] (name, parameters as data) and what
//! decides. [`MARKERS`] lists them; the scenario format, its schema and its reference follow from
//! the list. A program adds its own with [`register_marker`].

mod buffer_aware;
mod red;
mod step;
mod watch;

use crate::buffer::{Buffer, QueueId};
use crate::failure::MarkingFailure;
use crate::policy::SwitchShape;
use crate::schedule::MAX_QUEUES_PER_PORT;
use bufferlab_params::{
    BuildError, Faults, ParamInfo, ParamValue, Params, Profile, RegisterError, Registry, choices,
};
use bufferlab_units::Time;
use std::fmt;

pub use buffer_aware::BufferAware;
pub use red::{Ramp, Red};
pub use step::Step;
pub use watch::Watch;

/// Every marking rule of bufferlab: the one list behind scenario files, schema and documentation.
pub static MARKING_RULES: &[&MarkerInfo] = &[
    // In the order of the documentation.
    &step::INFO,
    &red::INFO,
    &buffer_aware::INFO,
];

/// [`MARKING_RULES`], and what a program brings along.
pub static MARKERS: Registry<MarkerInfo> = Registry::new(MARKING_RULES);

/// Keys of a scenario's table that every rule has.
const COMMON: &[&str] = &["priorities"];

/// The marking rule called `name`, built in or registered.
#[must_use]
pub fn find_marker(name: &str) -> Option<&'static MarkerInfo> {
    MARKERS.find(name)
}

/// Adds a marking rule from outside of this crate ([`Registry::register_below`]).
///
/// ```
/// use bufferlab_core::*;
/// use bufferlab_units::Time;
///
/// /// Marks on departure whoever has waited for longer than a fixed time.
/// #[derive(Clone, Debug)]
/// struct Waited(Time);
///
/// impl MarkingRule for Waited {
///     fn marks(&mut self, packet: &Markable, _: &Buffer) -> bool {
///         packet.waited > self.0
///     }
/// }
///
/// register_marker(MarkerInfo {
///     name: "waited",
///     title: "Waiting time",
///     summary: "Every packet that has waited for longer than 100 us.",
///     source: "An example.",
///     build: &|_, _| Ok(Marking::boxed(Waited(Time::from_us(100)))),
///     ..MarkerInfo::PLAIN
/// })?;
/// assert!(find_marker("waited").is_some());
/// # Ok::<(), RegisterError>(())
/// ```
///
/// # Errors
/// If a name is taken or breaks the rules of names, a text is missing, a parameter's default lies
/// outside its domain, or a parameter is called like a key that every rule has.
pub fn register_marker(info: MarkerInfo) -> Result<&'static MarkerInfo, RegisterError> {
    MARKERS.register_below(COMMON, info)
}

/// Like [`register_marker`], but takes the place of an own rule of the same name
/// ([`Registry::replace_below`]).
///
/// # Errors
/// As [`register_marker`]; if one of the names belongs to another rule.
pub fn replace_marker(info: MarkerInfo) -> Result<&'static MarkerInfo, RegisterError> {
    MARKERS.replace_below(COMMON, info)
}

/// A packet's ECN state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Its transport does not understand marks: it is never marked (nor dropped instead).
    #[default]
    NotCapable,
    /// May be marked.
    Capable,
    /// Has been marked.
    Marked,
}

choices! {
    /// Whose length a rule compares.
    #[derive(Default)]
    pub enum Scope {
        #[default]
        Queue = "queue": "the packet's queue",
        Port = "port": "all queues of its port",
    }
}

choices! {
    /// When a packet is looked at.
    #[derive(Default)]
    pub enum Moment {
        #[default]
        Enqueue = "enqueue": "on arrival, the length before the packet",
        Dequeue = "dequeue": "when transmission starts, the length that remains",
    }
}

/// Makes a rule of complete parameters, for a switch.
pub type MarkerConstructor =
    &'static (dyn Fn(&Params, &SwitchShape) -> Result<Marking, BuildError> + Send + Sync);

/// A registry entry.
pub struct MarkerInfo {
    /// Name in scenario files: the `kind` of `[switch.ecn]`.
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// Name in full.
    pub title: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Where it comes from: authors, venue, section.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [ParamInfo],
    /// Refuses parameters, each in its domain, that contradict each other on any switch.
    pub check: fn(&Params) -> Result<(), Faults>,
    /// The constructor. `Params` is complete, every value is in its domain, and `check` found
    /// nothing; the constructor refuses only what depends on the switch.
    pub build: MarkerConstructor,
}

bufferlab_params::entry!(MarkerInfo, "marking rule", '_');

impl fmt::Debug for MarkerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarkerInfo").field("name", &self.name).finish_non_exhaustive()
    }
}

impl MarkerInfo {
    /// Neither names nor texts, no parameters, no marks: the base of an entry.
    pub const PLAIN: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        summary: "",
        source: "",
        params: &[],
        check: |_| Ok(()),
        build: &|_, _| Ok(Marking::Step(Step::new(u64::MAX))),
    };

    /// The rule with these parameters, for a switch.
    ///
    /// # Errors
    /// The parameter that contradicts another one or does not fit the switch.
    pub fn construct(&self, params: &Params, shape: &SwitchShape) -> Result<Marking, BuildError> {
        if let Err(Faults(faults)) = (self.check)(params)
            && let Some(fault) = faults.into_iter().next()
        {
            return Err(BuildError { param: fault.place.param, message: fault.message });
        }
        (self.build)(params, shape)
    }

    /// [`Self::construct`] with the defaults of `profile` but for the values that are `given`.
    ///
    /// # Errors
    /// As [`Self::construct`]; a value that is no parameter of this rule or lies outside its
    /// domain.
    pub fn construct_with(
        &self,
        profile: Profile,
        given: &[(String, ParamValue)],
        shape: &SwitchShape,
    ) -> Result<Marking, BuildError> {
        let params = Params::resolve(self.params, profile, given)
            .map_err(|error| BuildError { param: "kind", message: error.to_string() })?;
        self.construct(&params, shape)
    }
}

/// A packet that may be marked: its transport understands marks, and it has none.
#[derive(Clone, Copy, Debug)]
pub struct Markable {
    /// When.
    pub now: Time,
    /// Whether it arrives, and is not in its queue yet, or is about to be sent, and has left it.
    pub moment: Moment,
    /// Its queue.
    pub queue: QueueId,
    /// The port of that queue.
    pub port: u16,
    /// The queue within the port.
    pub priority: u8,
    /// What it occupies of the buffer (bytes).
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// How long it has been stored; zero on arrival.
    pub waited: Time,
}

/// Decides which packets of a switch are marked. A rule is a value of its own per switch and holds
/// its parameters.
pub trait MarkingRule: fmt::Debug + Send + CloneMarkingRule {
    /// Whether `packet` is marked. Asked on arrival, when `buffer` does not contain it yet, and
    /// again when its transmission starts, when `buffer` no longer contains it
    /// ([`Markable::moment`]); after a mark not again. Every call is part of the hot path: allocate
    /// nothing.
    fn marks(&mut self, packet: &Markable, buffer: &Buffer) -> bool;

    /// No packet is marked while no queue and no port holds more than this (bytes): lets a reader
    /// warn of a rule that never marks. Zero if the rule does not go by lengths.
    fn least_length(&self) -> u64 {
        0
    }

    /// What made the answers meaningless, once. A rule that has failed marks nothing; whoever
    /// drives the switch asks from time to time and at the end.
    fn take_failure(&mut self) -> Option<MarkingFailure> {
        None
    }
}

/// Copies a boxed rule with its state; every [`MarkingRule`] that is [`Clone`] has it.
pub trait CloneMarkingRule {
    /// A copy with the same state.
    fn boxed_clone(&self) -> Box<dyn MarkingRule>;
}

impl<T: MarkingRule + Clone + 'static> CloneMarkingRule for T {
    fn boxed_clone(&self) -> Box<dyn MarkingRule> {
        Box::new(self.clone())
    }
}

/// A rule with its parameters and state. The built-in ones stand in the switch itself, so that the
/// hot path, which asks twice per packet, branches instead of calling through a pointer. Every
/// other one is a [`MarkingRule`] behind one.
#[derive(Debug)]
pub enum Marking {
    /// Above a length.
    Step(Step),
    /// With a probability that rises with the length.
    Red(Red),
    /// Above a length, and above a share of the free buffer.
    BufferAware(BufferAware),
    /// Any other.
    Boxed(Box<dyn MarkingRule>),
}

impl Clone for Marking {
    fn clone(&self) -> Self {
        match self {
            Self::Step(rule) => Self::Step(rule.clone()),
            Self::Red(rule) => Self::Red(rule.clone()),
            Self::BufferAware(rule) => Self::BufferAware(rule.clone()),
            Self::Boxed(rule) => Self::Boxed(rule.boxed_clone()),
        }
    }
}

impl Marking {
    /// A rule of its own.
    #[must_use]
    pub fn boxed(rule: impl MarkingRule + 'static) -> Self {
        Self::Boxed(Box::new(rule))
    }

    /// [`MarkingRule::take_failure`]; built-in rules do not fail.
    #[must_use]
    pub fn take_failure(&mut self) -> Option<MarkingFailure> {
        match self {
            Self::Step(_) | Self::Red(_) | Self::BufferAware(_) => None,
            Self::Boxed(rule) => rule.take_failure(),
        }
    }

    /// [`MarkingRule::least_length`].
    #[must_use]
    pub fn least_length(&self) -> u64 {
        match self {
            Self::Step(rule) => rule.least_length(),
            Self::Red(rule) => rule.least_length(),
            Self::BufferAware(rule) => rule.least_length(),
            Self::Boxed(rule) => rule.least_length(),
        }
    }
}

/// The marker of one switch: a rule, and for which priorities it holds.
#[derive(Clone, Debug)]
pub struct Marker {
    /// The rule.
    pub rule: Marking,
    /// Bit p set: packets of priority p may be marked.
    pub priorities: u32,
}

impl Marker {
    /// This rule for every priority.
    #[must_use]
    pub fn new(rule: Marking) -> Self {
        Self { rule, priorities: u32::MAX }
    }

    /// DCTCP's step: mark on arrival when the packet's queue is longer than `k` bytes.
    #[must_use]
    pub fn step(k: u64) -> Self {
        Self::new(Marking::Step(Step::new(k)))
    }

    /// A step for every priority; the last one repeats.
    #[must_use]
    pub fn steps(thresholds: &[u64]) -> Self {
        Self::new(Marking::Step(Step { by_priority: thresholds.to_vec(), ..Step::new(u64::MAX) }))
    }

    /// Whether the rule may mark anything at this moment of a packet's stay. Built-in rules look
    /// once, on arrival or on departure.
    #[inline]
    #[must_use]
    pub(crate) fn asks_at(&self, moment: Moment) -> bool {
        match &self.rule {
            Marking::Step(rule) => rule.watch.at == moment,
            Marking::Red(rule) => rule.watch.at == moment,
            Marking::BufferAware(rule) => moment == Moment::Dequeue || rule.step.watch.at == moment,
            Marking::Boxed(_) => true,
        }
    }

    /// Whether the rule may mark a packet of a port that holds nothing else, or take notice of it.
    /// Built-in rules ask whether a length is above something.
    pub(crate) fn may_mark_at_empty_port(&self) -> bool {
        matches!(self.rule, Marking::Boxed(_))
    }

    /// The thresholds by priority, if this is a step that compares the length of the packet's queue
    /// when it arrives: what most switches have.
    pub(crate) fn steps_on_arrival(&self) -> Option<[u64; MAX_QUEUES_PER_PORT]> {
        let Marking::Step(rule) = &self.rule else { return None };
        if rule.watch != (Watch { scope: Scope::Queue, at: Moment::Enqueue }) {
            return None;
        }
        let threshold = |priority: usize| match self.priorities >> priority & 1 {
            0 => u64::MAX,
            _ => rule.threshold_of(priority as u8),
        };
        Some(std::array::from_fn(threshold))
    }

    /// Whether `packet` is marked.
    #[inline]
    pub fn marks(&mut self, packet: Markable, buffer: &Buffer) -> bool {
        if self.priorities & (1 << packet.priority) == 0 {
            return false;
        }
        match &mut self.rule {
            Marking::Step(rule) => rule.marks(&packet, buffer),
            Marking::Red(rule) => rule.marks(&packet, buffer),
            Marking::BufferAware(rule) => rule.marks(&packet, buffer),
            Marking::Boxed(rule) => ask(&mut **rule, packet, buffer),
        }
    }
}

/// By value and apart: the packet is put together in memory only for a rule that is called through
/// a pointer.
#[inline(never)]
fn ask(rule: &mut dyn MarkingRule, packet: Markable, buffer: &Buffer) -> bool {
    rule.marks(&packet, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{IngressId, Stored};
    use crate::policy::Account;
    use crate::tags::Tags;
    use crate::weight::Weight;
    use bufferlab_units::BitRate;

    const FREE: u64 = 1 << 40;

    /// A buffer of which `free` bytes are left beside what the queues of its only port hold.
    fn buffer(free: u64, lengths: &[u32]) -> Buffer {
        let capacity = free + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        let mut buffer = Buffer::new(capacity, 1, lengths.len());
        for (queue, &size) in (0..).zip(lengths) {
            let (ingress, tags, account) = (IngressId(0), Tags::NONE, Account::Shared);
            let stored = Stored { enqueued_at: Time::ZERO, packet: 0, size, flow: 0, ingress, tags, account };
            buffer.store(QueueId(queue), 0, stored);
        }
        buffer
    }

    fn packet(moment: Moment, priority: u8) -> Markable {
        let (now, queue) = (Time::ZERO, QueueId(priority.into()));
        Markable { now, moment, queue, port: 0, priority, size: 1_000, flow: 0, waited: Time::ZERO }
    }

    /// The registered rule of that name.
    fn marker(name: &str, given: &[(&str, ParamValue)]) -> Marker {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let shape = crate::SwitchConfig::new(1 << 30, vec![BitRate::gbps(10)]).shape();
        let info = find_marker(name).expect("registered");
        Marker::new(info.construct_with(Profile::Paper, &given, &shape).expect("it fits"))
    }

    #[test]
    fn a_step_marks_above_k_and_not_at_k() {
        let mut marker = marker("step", &[("threshold", ParamValue::Bytes(3_000))]);
        assert!(!marker.marks(packet(Moment::Enqueue, 0), &buffer(FREE, &[3_000, 6_000])));
        assert!(marker.marks(packet(Moment::Enqueue, 0), &buffer(FREE, &[3_001])));
        assert!(!marker.marks(packet(Moment::Dequeue, 0), &buffer(FREE, &[9_000])));
    }

    #[test]
    fn red_marks_a_linear_fraction() {
        let bytes = ParamValue::Bytes;
        let given = [("kmin", bytes(1_000)), ("kmax", bytes(5_000)), ("pmax", ParamValue::Ratio(0.2))];
        let mut marker = marker("red", &given);
        let draws = 100_000;
        let mut marks = |length| {
            let buffer = buffer(FREE, &[length]);
            let marked = (0..draws).filter(|_| marker.marks(packet(Moment::Enqueue, 0), &buffer)).count();
            marked as f64 / f64::from(draws)
        };
        assert_eq!(marks(1_000), 0.0);
        assert!((marks(3_000) - 0.1).abs() < 0.005);
        assert!((marks(5_000) - 0.2).abs() < 0.005);
        assert_eq!(marks(5_001), 1.0);
    }

    #[test]
    fn a_packet_is_marked_by_its_queue_or_by_the_shared_buffer() {
        // The precursor's numbers: K = 90 packets of 9000 B, B = 8 MB, alpha = 1, h = 0.375, 18 KB.
        let mut marker = marker("bcc", &[("threshold", ParamValue::Bytes(810_000))]);
        let mut marks = |moment, queue, free| marker.marks(packet(moment, 0), &buffer(free, &[queue]));
        // On arrival only the queue counts, on departure only the buffer.
        assert!(marks(Moment::Enqueue, 810_001, 8_000_000));
        assert!(!marks(Moment::Enqueue, 810_000, 0));
        assert!(!marks(Moment::Dequeue, 810_001, 8_000_000));
        // 0.375 x 800 KB = 300 KB.
        assert!(marks(Moment::Dequeue, 300_001, 800_000));
        assert!(!marks(Moment::Dequeue, 300_000, 800_000));
        // A full buffer: two packets may stay unmarked.
        assert!(marks(Moment::Dequeue, 18_001, 0));
        assert!(!marks(Moment::Dequeue, 18_000, 0));
    }

    #[test]
    fn the_shared_condition_looks_at_the_same_scope_and_priorities() {
        let watch = Watch { scope: Scope::Port, at: Moment::Enqueue };
        let step = Step { watch, ..Step::new(u64::MAX) };
        let rule = Marking::BufferAware(BufferAware { step, floor: 0, factor: Weight::ONE });
        let mut marker = Marker { priorities: 0b10, ..Marker::new(rule) };
        let mut marks =
            |priority, other| marker.marks(packet(Moment::Dequeue, priority), &buffer(500, &[other, 1]));
        assert!(marks(1, 500) && !marks(1, 499) && !marks(0, 500));
    }

    #[test]
    fn every_priority_may_have_its_own_threshold_and_the_last_one_repeats() {
        let mut marker = Marker::steps(&[128_000, 67_500]);
        let mut marks = |priority: u8, length| {
            let mut lengths = [1; 8];
            lengths[usize::from(priority)] = length;
            marker.marks(packet(Moment::Enqueue, priority), &buffer(0, &lengths))
        };
        assert!(!marks(0, 128_000) && marks(0, 128_001));
        assert!(!marks(1, 67_500) && marks(1, 67_501));
        assert!(!marks(7, 67_500) && marks(7, 67_501));
    }

    #[test]
    fn scope_and_priorities_select() {
        let watch = Watch { scope: Scope::Port, at: Moment::Enqueue };
        let rule = Marking::Step(Step { watch, ..Step::new(100) });
        let mut marker = Marker { priorities: 0b10, ..Marker::new(rule) };
        let buffer = buffer(FREE, &[499, 1]);
        assert!(!marker.marks(packet(Moment::Enqueue, 0), &buffer));
        assert!(marker.marks(packet(Moment::Enqueue, 1), &buffer));
    }

    #[test]
    fn parameters_that_contradict_each_other_are_refused_whoever_builds_the_rule() {
        let refusal = |name: &str, given: &[(&str, ParamValue)]| {
            let given: Vec<_> =
                given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            let shape = crate::SwitchConfig::new(1 << 30, vec![BitRate::gbps(10)]).shape();
            let info = find_marker(name).expect("registered");
            info.construct_with(Profile::Paper, &given, &shape).expect_err("contradictory").to_string()
        };
        let bytes = ParamValue::Bytes;
        assert_eq!(refusal("step", &[]), "threshold: the threshold is missing");
        let nothing = [("thresholds", ParamValue::List(Vec::new().into()))];
        let empty = "kind: thresholds: expected at least one value, found an empty list";
        assert_eq!(refusal("step", &nothing), empty);
        assert_eq!(refusal("red", &[("kmax", bytes(1))]), "kmin: `kmin` is missing");
        let swapped = [("kmin", bytes(5_000)), ("kmax", bytes(3_000))];
        assert_eq!(refusal("red", &swapped), "kmin: kmin (5 KB) is above kmax (3 KB)");
    }

    #[test]
    fn an_own_rule_may_not_hide_what_all_rules_have() {
        let priorities =
            ParamInfo::required("priorities", bufferlab_params::ParamKind::Flag, "true", "Hides.");
        let params = vec![priorities].leak();
        let info =
            MarkerInfo { name: "hides", title: "Hides", summary: "Hides.", params, ..MarkerInfo::PLAIN };
        let error = register_marker(info).expect_err("every rule has it").to_string();
        assert!(error.contains("every marking rule has this key"), "{error}");
    }
}
