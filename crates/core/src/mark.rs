//! ECN marking: the interface of rules, the built-in rules, and the marker of a switch.
//!
//! Each file in `mark/` defines one rule: its registry entry [`MarkerInfo`] (name, parameters as
//! data) and the code that decides. [`MARKERS`] lists the rules. The scenario format, its schema
//! and its reference follow from the list. A program adds custom rules with [`register_marker`].

mod buffer_aware;
mod red;
mod step;
mod watch;
mod wred;

use crate::buffer::{Buffer, QueueId};
use crate::failure::MarkingFailure;
use crate::header::Header;
use crate::policy::SwitchShape;
use crate::schedule::MAX_QUEUES_PER_PORT;
use bufferlab_params::{BuildError, Faults, ParamValue, Params, Profile, RegisterError, Registry, choices};
use bufferlab_units::Time;
use std::fmt;

pub use crate::header::Ecn;
pub use buffer_aware::BufferAware;
pub use red::{Ramp, Red};
pub use step::Step;
pub use watch::Watch;
pub use wred::{Effect, Wred, WredRamp};

/// Every marking rule of bufferlab. The scenario format, its schema and the documentation use this
/// list.
pub static MARKING_RULES: &[&MarkerInfo] = &[
    // Marking rules are listed in the order of the documentation.
    &step::INFO,
    &red::INFO,
    &buffer_aware::INFO,
    &wred::INFO,
];

/// All marking rules: [`MARKING_RULES`], and the custom rules of a program.
pub static MARKERS: Registry<MarkerInfo> = Registry::new(MARKING_RULES);

/// Keys that every marking rule has in its table of a scenario, besides its parameters.
const COMMON: &[&str] = &["priorities"];

/// The marking rule called `name`, built in or registered.
#[must_use]
pub fn find_marker(name: &str) -> Option<&'static MarkerInfo> {
    MARKERS.find(name)
}

/// Registers a custom marking rule ([`Registry::register_below`]).
///
/// ```
/// use bufferlab_core::*;
/// use bufferlab_units::Time;
///
/// /// Marks packets on departure that have waited for longer than a fixed time.
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
/// If a name is taken or invalid, a text is missing, a parameter's default is outside its domain,
/// or a parameter has the name of a key that every rule has.
pub fn register_marker(info: MarkerInfo) -> Result<&'static MarkerInfo, RegisterError> {
    MARKERS.register_below(COMMON, info)
}

/// Registers a marking rule like [`register_marker`], but replaces a custom rule that has the name
/// already ([`Registry::replace_below`]).
///
/// # Errors
/// Returns the errors of [`register_marker`]. Also fails if a different rule has one of the names.
pub fn replace_marker(info: MarkerInfo) -> Result<&'static MarkerInfo, RegisterError> {
    MARKERS.replace_below(COMMON, info)
}

choices! {
    /// Queue or port whose length a marking rule compares.
    #[derive(Default)]
    pub enum Scope {
        #[default]
        Queue = "queue": "the packet's queue",
        Port = "port": "all queues of its port",
    }
}

choices! {
    /// Moment at which a marking rule examines a packet.
    #[derive(Default)]
    pub enum Moment {
        #[default]
        Enqueue = "enqueue": "on arrival, the length before the packet",
        Dequeue = "dequeue": "when transmission starts, the length that remains",
    }
}

/// Builds a marking rule from complete parameters, for a switch.
pub type MarkerConstructor =
    &'static (dyn Fn(&Params, &SwitchShape) -> Result<Marking, BuildError> + Send + Sync);

bufferlab_params::entry! {
    /// Registry entry of a marking rule.
    pub struct MarkerInfo("marking rule", '_') {
        /// Refuses parameters that contradict each other on any switch.
        /// Each value is in the domain of its parameter.
        pub check: fn(&Params) -> Result<(), Faults>,
        /// Constructor of the marking rule. `Params` is complete, every value is in its domain, and
        /// `check` reported no fault. The constructor refuses only values that do not fit the
        /// switch.
        pub build: MarkerConstructor,
    }
}

impl MarkerInfo {
    /// Base of a registry entry: a rule with empty names and texts and no parameters, which never
    /// marks.
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

    /// Builds the marking rule with `params`, for a switch.
    ///
    /// # Errors
    /// Returns the parameter that contradicts another parameter or does not fit the switch.
    pub fn construct(&self, params: &Params, shape: &SwitchShape) -> Result<Marking, BuildError> {
        if let Err(Faults(faults)) = (self.check)(params)
            && let Some(fault) = faults.into_iter().next()
        {
            return Err(BuildError { param: fault.place.param, message: fault.message });
        }
        (self.build)(params, shape)
    }

    /// Builds the rule ([`Self::construct`]) with the values that are `given`,
    /// and with the defaults of `profile` for all other parameters.
    ///
    /// # Errors
    /// Returns the errors of [`Self::construct`]. Also refuses a value outside its domain,
    /// or a name that is no parameter of the marking rule.
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

/// A packet that a rule may mark: its transport supports ECN, and no switch has marked the packet
/// yet.
#[derive(Clone, Copy, Debug)]
pub struct Markable {
    /// Time of the marking decision.
    pub now: Time,
    /// Time since the switch stored the packet; zero on arrival.
    pub waited: Time,
    /// Header of the packet. Its size is the number of bytes that the switch charges.
    pub header: Header,
    /// Moment of the marking decision. On arrival the packet is not in its queue yet. On departure
    /// the switch has removed the packet from its queue.
    pub moment: Moment,
    /// Queue of the packet in the switch.
    pub queue: QueueId,
    /// Port of the packet's queue.
    pub port: u16,
    /// Number of the packet's queue within the port.
    pub priority: u8,
}

/// Decides which packets of a switch get a mark.
/// Each switch has a separate rule with its parameters.
pub trait MarkingRule: fmt::Debug + Send + CloneMarkingRule {
    /// Whether `packet` gets a mark. The switch calls this method on arrival, when `buffer` does
    /// not contain the packet yet. The switch calls the method again when the transmission starts
    /// and `buffer` no longer contains the packet ([`Markable::moment`]). The switch does not ask
    /// about a packet that has a mark. The method is on the hot path: allocate no memory.
    fn marks(&mut self, packet: &Markable, buffer: &Buffer) -> bool;

    /// Length of every queue and port up to which the rule marks no packet (bytes). Warnings about
    /// a rule that never marks use this length. Zero if the rule does not use lengths.
    fn least_length(&self) -> u64 {
        0
    }

    /// The failure that made the rule's answers meaningless, returned once. A rule that has failed
    /// marks no packets. Drivers call this method periodically and at the end of a run.
    fn take_failure(&mut self) -> Option<MarkingFailure> {
        None
    }
}

/// Copies a boxed rule with its state; every [`MarkingRule`] that is [`Clone`] implements this
/// trait.
pub trait CloneMarkingRule {
    /// Copy of the marking rule with its present state.
    fn boxed_clone(&self) -> Box<dyn MarkingRule>;
}

impl<T: MarkingRule + Clone + 'static> CloneMarkingRule for T {
    fn boxed_clone(&self) -> Box<dyn MarkingRule> {
        Box::new(self.clone())
    }
}

/// A marking rule with its parameters and state. The switch itself stores built-in rules: the hot
/// path calls a rule twice per packet, and a branch is faster than a call through a pointer. Every
/// other rule is a boxed [`MarkingRule`].
#[derive(Debug)]
pub enum Marking {
    /// Marks packets when a queue is longer than a threshold.
    Step(Step),
    /// Marks packets with a probability that rises with the length of a queue.
    Red(Red),
    /// Marks packets when the queue is longer than a threshold, or longer than a share of the free
    /// buffer.
    BufferAware(BufferAware),
    /// Marks or drops packets with a probability that rises with the queue length. Each queue has
    /// separate settings.
    Wred(Box<Wred>),
    /// Marking rule without a variant of this enum, called through a pointer.
    Boxed(Box<dyn MarkingRule>),
}

impl Clone for Marking {
    fn clone(&self) -> Self {
        match self {
            Self::Step(rule) => Self::Step(rule.clone()),
            Self::Red(rule) => Self::Red(rule.clone()),
            Self::BufferAware(rule) => Self::BufferAware(rule.clone()),
            Self::Wred(rule) => Self::Wred(rule.clone()),
            Self::Boxed(rule) => Self::Boxed(rule.boxed_clone()),
        }
    }
}

impl Marking {
    /// A custom marking rule in a box.
    #[must_use]
    pub fn boxed(rule: impl MarkingRule + 'static) -> Self {
        Self::Boxed(Box::new(rule))
    }

    /// Failure of a custom marking rule ([`MarkingRule::take_failure`]). Built-in rules do not
    /// fail.
    #[must_use]
    pub fn take_failure(&mut self) -> Option<MarkingFailure> {
        match self {
            Self::Step(_) | Self::Red(_) | Self::BufferAware(_) | Self::Wred(_) => None,
            Self::Boxed(rule) => rule.take_failure(),
        }
    }

    /// Length up to which the rule marks no packet: [`MarkingRule::least_length`].
    #[must_use]
    pub fn least_length(&self) -> u64 {
        match self {
            Self::Step(rule) => rule.least_length(),
            Self::Red(rule) => rule.least_length(),
            Self::BufferAware(rule) => rule.least_length(),
            Self::Wred(rule) => rule.least_length(),
            Self::Boxed(rule) => rule.least_length(),
        }
    }
}

/// The marker of one switch: a marking rule, and the priorities that the rule applies to.
#[derive(Clone, Debug)]
pub struct Marker {
    /// The rule that decides which packets get a mark.
    pub rule: Marking,
    /// Priorities whose packets the rule may mark: bit p for priority p.
    pub priorities: u32,
}

impl Marker {
    /// A marker that applies one rule to every priority.
    #[must_use]
    pub fn new(rule: Marking) -> Self {
        Self { rule, priorities: u32::MAX }
    }

    /// DCTCP's step: a marker that marks on arrival when the packet's queue is longer
    /// than `k` bytes.
    #[must_use]
    pub fn step(k: u64) -> Self {
        Self::new(Marking::Step(Step::new(k)))
    }

    /// A marker with one step threshold per priority. The last threshold also applies to all
    /// further priorities.
    #[must_use]
    pub fn steps(thresholds: &[u64]) -> Self {
        Self::new(Marking::Step(Step { by_priority: thresholds.to_vec(), ..Step::new(u64::MAX) }))
    }

    /// Whether the marking rule may mark a packet at `moment`. Built-in rules examine each packet
    /// once, on arrival or on departure.
    #[inline]
    #[must_use]
    pub(crate) fn marks_at(&self, moment: Moment) -> bool {
        match &self.rule {
            Marking::Step(rule) => rule.watch.at == moment,
            Marking::Red(rule) => rule.watch.at == moment,
            Marking::BufferAware(rule) => moment == Moment::Dequeue || rule.step.watch.at == moment,
            Marking::Wred(rule) => rule.watch.at == moment,
            Marking::Boxed(_) => true,
        }
    }

    /// Whether the rule may mark a packet at an otherwise empty port,
    /// or update its state for that packet. Built-in rules mark only above a length.
    pub(crate) fn may_mark_at_empty_port(&self) -> bool {
        matches!(self.rule, Marking::Boxed(_))
    }

    /// Whether the marking rule may drop packets that it cannot mark. A switch whose rule may drop
    /// takes the slow path of non-ideal chips. So other switches make no check per arrival.
    pub(crate) fn may_drop(&self) -> bool {
        matches!(self.rule, Marking::Wred(_))
    }

    /// Whether the marking rule drops the arriving `packet` instead of storing it.
    pub(crate) fn drops(&mut self, packet: Markable, buffer: &Buffer) -> bool {
        match &mut self.rule {
            Marking::Wred(rule) => self.priorities >> packet.priority & 1 != 0 && rule.drops(&packet, buffer),
            _ => false,
        }
    }

    /// Thresholds by priority, if the rule is a step that compares the length of the packet's queue
    /// on arrival, as in most switches.
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

    /// Whether the marking rule marks `packet`.
    #[inline]
    pub fn marks(&mut self, packet: Markable, buffer: &Buffer) -> bool {
        if self.priorities & (1 << packet.priority) == 0 {
            return false;
        }
        match &mut self.rule {
            Marking::Step(rule) => rule.marks(&packet, buffer),
            Marking::Red(rule) => rule.marks(&packet, buffer),
            Marking::BufferAware(rule) => rule.marks(&packet, buffer),
            Marking::Wred(rule) => rule.marks(&packet, buffer),
            Marking::Boxed(rule) => ask(&mut **rule, packet, buffer),
        }
    }
}

/// Calls a rule through a pointer. The function takes the packet by value, so that the packet is
/// built in memory only for a rule behind a pointer.
#[inline(never)]
fn ask(rule: &mut dyn MarkingRule, packet: Markable, buffer: &Buffer) -> bool {
    rule.marks(&packet, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{IngressId, Stored};
    use crate::policy::Account;
    use crate::weight::Weight;
    use bufferlab_units::BitRate;

    const FREE: u64 = 1 << 40;

    /// A buffer with `free` free bytes and one port. The port's queues have the given `lengths`.
    fn buffer(free: u64, lengths: &[u32]) -> Buffer {
        let capacity = free + lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        let mut buffer = Buffer::new(capacity, 1, lengths.len());
        for (queue, &size) in (0..).zip(lengths) {
            let (header, ingress, account) = (Header::new(size), IngressId(0), Account::Shared);
            let stored = Stored { enqueued_at: Time::ZERO, packet: 0, header, unused: 0, ingress, account };
            buffer.store(QueueId(queue), 0, stored);
        }
        buffer
    }

    fn packet(moment: Moment, priority: u8) -> Markable {
        let (header, queue) = (Header::new(1_000), QueueId(priority.into()));
        Markable { now: Time::ZERO, waited: Time::ZERO, header, moment, queue, port: 0, priority }
    }

    /// The registered marking rule called `name`.
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
        // The values are from the paper before BCC: K is 90 packets of 9000 B, the buffer has 8 MB,
        // alpha is 1, h is 0.375, and the floor is 18 KB.
        let mut marker = marker("bcc", &[("threshold", ParamValue::Bytes(810_000))]);
        let mut marks = |moment, queue, free| marker.marks(packet(moment, 0), &buffer(free, &[queue]));
        // On arrival BCC compares the queue only with K. On departure BCC compares the queue only
        // with a share of the free buffer.
        assert!(marks(Moment::Enqueue, 810_001, 8_000_000));
        assert!(!marks(Moment::Enqueue, 810_000, 0));
        assert!(!marks(Moment::Dequeue, 810_001, 8_000_000));
        // With 800 KB free, BCC marks packets in queues longer than 0.375 x 800 KB = 300 KB.
        assert!(marks(Moment::Dequeue, 300_001, 800_000));
        assert!(!marks(Moment::Dequeue, 300_000, 800_000));
        // In a full buffer, the rule's floor lets two packets leave without a mark.
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
        let priorities = bufferlab_params::ParamInfo::required(
            "priorities",
            bufferlab_params::ParamKind::Flag,
            "true",
            "Hides.",
        );
        let params = vec![priorities].leak();
        let info =
            MarkerInfo { name: "hides", title: "Hides", summary: "Hides.", params, ..MarkerInfo::PLAIN };
        let error = register_marker(info).expect_err("every rule has it").to_string();
        assert!(error.contains("every marking rule has this key"), "{error}");
    }
}
