//! Classifiers, which choose the queue of a packet within its port from its header and its flow.
//!
//! Each file in `classify/` defines one classifier: its registry entry [`ClassifierInfo`] (name,
//! parameters as data) and the code that decides. [`BUILT_IN_CLASSIFIERS`] lists the classifiers.
//! The scenario format, its schema and its reference follow from the list.
//! A program adds custom classifiers with [`register_classifier`]. A policy that finds
//! short flows itself provides a classifier ([`crate::Policy::take_classifier`]).
//! A classifier named in the scenario replaces the policy's classifier.

mod elephant_trap;
mod priority;

use crate::failure::ClassifierFailure;
use crate::flows::FlowKey;
use crate::header::Header;
use crate::tags::Tags;
use bufferlab_params::{BuildError, Params, RegisterError, Registry};
use bufferlab_units::Time;
use std::fmt;

pub use elephant_trap::ElephantTrap;

/// Every classifier of bufferlab. The scenario format, its schema and the documentation use this
/// list.
pub static BUILT_IN_CLASSIFIERS: &[&ClassifierInfo] = &[
    // Classifiers are listed in the order of the documentation.
    &priority::INFO,
    &elephant_trap::INFO,
];

/// All classifiers: [`BUILT_IN_CLASSIFIERS`], and the custom classifiers of a program.
pub static CLASSIFIERS: Registry<ClassifierInfo> = Registry::new(BUILT_IN_CLASSIFIERS);

/// The classifier called `name`, built in or registered.
#[must_use]
pub fn find_classifier(name: &str) -> Option<&'static ClassifierInfo> {
    CLASSIFIERS.find(name)
}

/// Registers a custom classifier ([`Registry::register`]).
///
/// ```
/// use bufferlab_core::*;
///
/// /// Large packets join the last queue.
/// #[derive(Clone, Debug)]
/// struct BySize;
///
/// impl Classify for BySize {
///     fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
///         (if packet.header.size > 1_000 { u8::MAX } else { packet.mapped }, packet.header.tags)
///     }
/// }
///
/// register_classifier(ClassifierInfo {
///     name: "by-size",
///     title: "By size",
///     summary: "Packets above 1,000 B join the last queue.",
///     source: "An example.",
///     build: &|_, queues| Ok(Classifier::custom(Box::new(BySize), queues)),
///     ..ClassifierInfo::PLAIN
/// })?;
/// assert!(find_classifier("by-size").is_some());
/// # Ok::<(), RegisterError>(())
/// ```
///
/// # Errors
/// If a name is taken or invalid, a text is missing, or a parameter's default is outside its
/// domain.
pub fn register_classifier(info: ClassifierInfo) -> Result<&'static ClassifierInfo, RegisterError> {
    CLASSIFIERS.register(info)
}

/// Registers a classifier like [`register_classifier`], but replaces a custom classifier that has
/// the name already ([`Registry::replace`]).
///
/// # Errors
/// Returns the errors of [`register_classifier`]. Also fails if a different classifier has one of
/// the names.
pub fn replace_classifier(info: ClassifierInfo) -> Result<&'static ClassifierInfo, RegisterError> {
    CLASSIFIERS.replace(info)
}

/// Builds a classifier from complete parameters, for ports with the given number of queues.
pub type ClassifierConstructor =
    &'static (dyn Fn(&Params, usize) -> Result<Classifier, BuildError> + Send + Sync);

bufferlab_params::entry! {
    /// Registry entry of a packet classifier.
    pub struct ClassifierInfo("classifier") {
        /// Constructor of the classifier. `Params` is complete and every value is in its domain.
        /// The constructor refuses queues that the port does not have and parameters that
        /// contradict each other.
        pub build: ClassifierConstructor,
    }
}

impl ClassifierInfo {
    /// Template of a registry entry: empty texts, no parameters, and a classifier that maps
    /// priority p to queue p.
    pub const PLAIN: Self = Self {
        name: "",
        aliases: &[],
        title: "",
        summary: "",
        source: "",
        params: &[],
        build: &|_, queues_per_port| Ok(Classifier::identity(queues_per_port)),
    };

    /// Builds the classifier with `params`, for ports with `queues_per_port` queues.
    ///
    /// # Errors
    /// Returns the parameter that contradicts another parameter or names a missing queue.
    pub fn construct(&self, params: &Params, queues_per_port: usize) -> Result<Classifier, BuildError> {
        (self.build)(params, queues_per_port)
    }
}

/// Checks that a port has the queue number `queue`, and converts the number to a byte.
fn existing_queue(queue: u64, queues_per_port: usize, param: &'static str) -> Result<u8, BuildError> {
    if queue < queues_per_port as u64 {
        return Ok(queue as u8);
    }
    let message = format!("there is no queue {queue}: queues_per_port is {queues_per_port}, numbered from 0");
    Err(BuildError { param, message })
}

/// Number of code points of a header (DSCP).
pub const CODE_POINTS: usize = 64;

/// Maps the priority in a packet's header to a queue of the port. The map is one table, as in a
/// switch's `DSCP_TO_TC_MAP`. A second stage that uses flows is optional.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// Number of the first priority that the map does not assign to the queue of the same number.
    /// `classify` needs no lookup in the table for smaller priorities.
    identity_below: u8,
    /// Queue within the port for each priority. Unused priorities have a queue, too.
    queue_of: Box<[u8; CODE_POINTS]>,
    /// Classifier stage after the priority map, if any. The stage is in a box, because most
    /// classifiers have only the priority map.
    behind: Option<Box<Behind>>,
}

/// Stage that classifies a packet after the priority map.
#[derive(Clone, Debug)]
enum Behind {
    Trap(ElephantTrap),
    Custom(Custom),
}

/// An arriving packet before its classification.
#[derive(Clone, Copy, Debug)]
pub struct Unclassified {
    /// Time at which the packet arrives.
    pub now: Time,
    /// Header of the packet, with the marks that hosts have set.
    pub header: Header,
    /// Queue of the port that the priority map selects.
    pub mapped: u8,
}

/// A custom classifier of a program.
pub trait Classify: fmt::Debug + Send + CloneClassify {
    /// Returns the queue within the port and the tags of an arriving packet. A queue number beyond
    /// the last queue selects the last queue. The method is on the hot path: allocate no memory.
    fn classify(&mut self, packet: &Unclassified) -> (u8, Tags);

    /// The first failure that made the classifier's answers meaningless. After a failure, the
    /// switch refuses packets with [`crate::DropReason::PolicyFault`].
    fn failure(&self) -> Option<&ClassifierFailure> {
        None
    }
}

/// Copies a boxed classifier with its state, since switches can be copied. Every [`Classify`] that
/// is [`Clone`] implements this trait.
pub trait CloneClassify {
    /// Returns a copy of the classifier with its present state.
    fn boxed_clone(&self) -> Box<dyn Classify>;
}

impl<T: Classify + Clone + 'static> CloneClassify for T {
    fn boxed_clone(&self) -> Box<dyn Classify> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
struct Custom {
    classify: Box<dyn Classify>,
    queues_per_port: usize,
    /// Flow of the last packet, and the queue that the classifier chose for the packet.
    last: Option<(u32, u8)>,
}

impl Clone for Custom {
    fn clone(&self) -> Self {
        Self { classify: self.classify.boxed_clone(), queues_per_port: self.queues_per_port, last: self.last }
    }
}

impl Custom {
    #[cold]
    fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
        let (queue, tags) = self.classify.classify(packet);
        let queue = queue.min(self.queues_per_port.saturating_sub(1) as u8);
        self.last = Some((packet.header.flow, queue));
        (queue, tags)
    }
}

impl Classifier {
    /// Maps priority p to queue p, and priorities beyond the last queue to the last queue.
    #[must_use]
    pub fn identity(queues_per_port: usize) -> Self {
        let last = queues_per_port.saturating_sub(1);
        Self::of_map(std::array::from_fn(|p| p.min(last) as u8))
    }

    /// Maps code point p to queue `map[p]`.
    ///
    /// # Panics
    /// If an entry names a queue beyond `queues_per_port`.
    #[must_use]
    pub fn from_map(map: [u8; CODE_POINTS], queues_per_port: usize) -> Self {
        assert!(
            map.iter().all(|&queue| usize::from(queue) < queues_per_port),
            "a code point maps to no queue"
        );
        Self::of_map(map)
    }

    fn of_map(map: [u8; CODE_POINTS]) -> Self {
        let identity_below = (0..).zip(map).take_while(|(priority, queue)| priority == queue).count() as u8;
        Self { identity_below, queue_of: Box::new(map), behind: None }
    }

    /// Adds an elephant trap, which detects long flows, after the priority map.
    #[must_use]
    pub fn with_trap(self, trap: ElephantTrap) -> Self {
        Self { behind: Some(Box::new(Behind::Trap(trap))), ..self }
    }

    /// A custom classifier that runs after [`Self::identity`].
    /// Custom policies return a custom classifier from [`crate::Policy::take_classifier`].
    #[must_use]
    pub fn custom(classify: Box<dyn Classify>, queues_per_port: usize) -> Self {
        let custom = Custom { classify, queues_per_port, last: None };
        Self { behind: Some(Box::new(Behind::Custom(custom))), ..Self::identity(queues_per_port) }
    }

    /// The first failure of a custom classifier ([`Classify::failure`]). Other classifiers do not
    /// fail.
    #[must_use]
    pub fn failure(&self) -> Option<&ClassifierFailure> {
        match self.behind.as_deref()? {
            Behind::Custom(custom) => custom.classify.failure(),
            Behind::Trap(_) => None,
        }
    }

    /// Whether the classifier is custom code, which may fail.
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.behind.as_deref(), Some(Behind::Custom(_)))
    }

    /// Whether the classifier has only a priority map, so that a call of `classify` changes no
    /// state.
    pub(crate) fn is_a_map(&self) -> bool {
        self.behind.is_none()
    }

    /// Queue and marks of an arriving packet with this header. The call also counts the packet as
    /// sent.
    #[inline(always)] // Otherwise no generic caller inlines this function, and one caller is hot.
    pub(crate) fn classify(&mut self, now: Time, header: &Header) -> (u8, Tags) {
        let mapped = self.mapped(header.priority);
        match self.behind.as_deref_mut() {
            None => (mapped, header.tags),
            Some(Behind::Custom(custom)) => custom.classify(&Unclassified { now, header: *header, mapped }),
            Some(Behind::Trap(trap)) => trap.classify(&Unclassified { now, header: *header, mapped }),
        }
    }

    /// Queue of the last packet, if it belonged to the flow of `header`; otherwise the queue that a
    /// packet with this header would join now.
    #[must_use]
    pub(crate) fn queue(&self, header: &Header) -> u8 {
        let mapped = self.mapped(header.priority);
        let is_its_flow = |last: &(u32, u8)| last.0 == header.flow;
        match self.behind.as_deref() {
            None => mapped,
            Some(Behind::Custom(custom)) => custom.last.filter(is_its_flow).map_or(mapped, |last| last.1),
            Some(Behind::Trap(trap)) => trap.queue(FlowKey::from_header(header), mapped),
        }
    }

    #[inline]
    fn mapped(&self, priority: u8) -> u8 {
        if priority < self.identity_below {
            priority
        } else {
            self.queue_of[usize::from(priority) % CODE_POINTS]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::ShortLimit;

    fn header(flow: u32, priority: u8, size: u32) -> Header {
        Header { flow, priority, ..Header::new(size) }
    }

    fn trap(limit: ShortLimit, short_queue: Option<u8>) -> Classifier {
        let trap = ElephantTrap::new(64, Time::from_ms(5), limit, short_queue);
        Classifier::identity(4).with_trap(trap)
    }

    const THREE_PACKETS: ShortLimit = ShortLimit { packets: 3, bytes: 0 };

    #[test]
    fn priorities_join_their_queue_and_those_beyond_the_last_join_the_last() {
        let mut classifier = Classifier::identity(4);
        let queues = [0, 3, 4, 63, 64]
            .map(|p| classifier.classify(Time::ZERO, &Header { tags: Tags::SMALL, ..header(0, p, 100) }));
        assert_eq!(queues, [0, 3, 3, 3, 0].map(|queue| (queue, Tags::SMALL)));
        let mut map = [0; CODE_POINTS];
        map[46] = 1;
        assert_eq!(Classifier::from_map(map, 2).queue(&header(0, 46, 100)), 1);
    }

    /// Assigns flow f to queue f; numbers beyond the last queue select the last queue.
    #[derive(Clone, Debug)]
    struct ByFlow;

    impl Classify for ByFlow {
        fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
            (packet.header.flow as u8, packet.header.tags.with(Tags::SMALL))
        }
    }

    #[test]
    fn a_custom_classifier_chooses_among_the_queues_that_there_are() {
        let mut classifier = Classifier::custom(Box::new(ByFlow), 4);
        let queues = [0, 2, 3, 200].map(|flow| classifier.classify(Time::ZERO, &header(flow, 1, 100)));
        assert_eq!(queues, [0, 2, 3, 3].map(|queue| (queue, Tags::SMALL)));
        assert_eq!(classifier.clone().queue(&header(200, 1, 100)), 3, "the last packet's");
        assert_eq!(classifier.queue(&header(7, 1, 100)), 1, "of others only the map is known");
    }

    #[test]
    fn a_flow_is_short_for_its_first_packets_and_again_after_silence() {
        let mut classifier = trap(THREE_PACKETS, None);
        let mut at = |us| classifier.classify(Time::from_us(us), &header(9, 2, 1_500));
        assert_eq!([at(1), at(2), at(3)], [(2, Tags::SMALL); 3]);
        assert_eq!([at(4), at(5_004)], [(2, Tags::NONE); 2]);
        assert_eq!(at(10_005), (2, Tags::SMALL));
    }

    #[test]
    fn a_limit_in_bytes_looks_at_what_was_sent_before_the_packet() {
        let mut classifier = trap(ShortLimit { packets: 0, bytes: 2_000 }, None);
        let mut next = |size| classifier.classify(Time::ZERO, &header(9, 0, size)).1;
        assert_eq!([next(1_999), next(1), next(1)], [Tags::SMALL, Tags::SMALL, Tags::NONE]);
    }

    #[test]
    fn marks_of_hosts_do_not_count_behind_a_trap_but_other_marks_stay() {
        let mut classifier = trap(ShortLimit { packets: 1, bytes: 0 }, None);
        let tags = Tags::SMALL.with(Tags::UNSCHEDULED);
        assert_eq!(classifier.classify(Time::ZERO, &Header { tags, ..header(1, 0, 100) }).1, tags);
        assert_eq!(
            classifier.classify(Time::ZERO, &Header { tags, ..header(1, 0, 100) }).1,
            Tags::UNSCHEDULED
        );
    }

    #[test]
    fn short_flows_go_to_their_queue_and_elephants_to_their_own() {
        let mut classifier = trap(THREE_PACKETS, Some(0));
        let queues: Vec<_> =
            (0..5).map(|_| classifier.classify(Time::ZERO, &header(9, 3, 1_500)).0).collect();
        assert_eq!(queues, [0, 0, 0, 3, 3]);
        // The classifier counts the bytes of each flow separately.
        assert_eq!(classifier.classify(Time::ZERO, &header(8, 3, 1_500)).0, 0);
    }

    #[test]
    fn the_queue_of_the_last_packet_is_known_although_its_flow_has_become_an_elephant_with_it() {
        let mut classifier = trap(ShortLimit { packets: 1, bytes: 0 }, Some(0));
        assert_eq!(classifier.queue(&header(9, 3, 100)), 0);
        assert_eq!(classifier.classify(Time::ZERO, &header(9, 3, 1_500)).0, 0);
        assert_eq!(classifier.queue(&header(9, 3, 100)), 0, "of the packet that has just come");
        let _ = classifier.classify(Time::ZERO, &header(8, 3, 1_500));
        assert_eq!(classifier.queue(&header(9, 3, 100)), 3, "of the next one");
    }
}
