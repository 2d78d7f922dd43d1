//! Tests that classifiers follow their vectors, and that wrong classifiers fail the vectors.

use crate::support::{files, load};
use bufferlab_conformance::vectors::{Case, Mismatch};
use bufferlab_core::{
    BUILT_IN_CLASSIFIERS, Classifier, Classify, ElephantTrap, ShortLimit, Tags, Unclassified,
};
use bufferlab_units::Time;

fn cases() -> Vec<Case> {
    files("classifier").iter().flat_map(|name| load("classifier", name).cases).collect()
}

fn run(case: &Case) -> Result<(), Mismatch> {
    let mut device = case.build().unwrap_or_else(|error| panic!("{}:{}: {error}", case.file, case.line));
    case.run(&mut device, &mut |_, _| {})
}

#[test]
fn every_classifier_classifies_as_its_vectors_say() {
    let mut names: Vec<_> = BUILT_IN_CLASSIFIERS.iter().map(|info| info.name.to_owned()).collect();
    names.sort();
    assert_eq!(files("classifier"), names, "one file per classifier");
    let list: Vec<_> = cases().iter().filter_map(|case| run(case).err()).map(|m| m.to_string()).collect();
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

/// Returns the cases that fail if their switch has the given classifier.
fn caught(make: impl Fn(usize) -> Option<Classifier>) -> Vec<String> {
    let fails = |case: &Case| {
        let mut case = case.clone();
        case.config.classifier = make(case.config.queues_per_port);
        run(&case).is_err()
    };
    cases().iter().filter(|case| fails(case)).map(|case| case.name.clone()).collect()
}

fn trap(entries: usize, idle: Time, limit: ShortLimit, queue: Option<u8>) -> Option<Classifier> {
    let trap = ElephantTrap::new(entries, idle, limit, queue);
    Some(Classifier::identity(2).with_trap(trap))
}

/// A defective classifier that only applies the priority map. The classifier counts no packets and
/// does not change tags.
#[derive(Clone, Debug)]
struct Blind;

impl Classify for Blind {
    fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
        (packet.mapped, packet.header.tags)
    }
}

#[test]
fn classifiers_that_are_wrong_in_one_way_are_caught_by_the_vector_that_names_it() {
    let idle = Time::from_ms(5);
    let one = ShortLimit { packets: 1, bytes: 0 };
    let is_caught = |caught: Vec<String>, name: &str| {
        assert!(caught.iter().any(|case| case == name), "\"{name}\" did not notice; noticed by {caught:?}");
    };
    let blind = caught(|queues| Some(Classifier::custom(Box::new(Blind), queues)));
    is_caught(blind.clone(), "two priorities share a queue, and the last entry holds for those that follow");
    is_caught(
        blind.clone(),
        "the first packets of a flow have a queue of their own, and every flow is counted for itself",
    );
    is_caught(blind, "packets of short flows are marked small and those of elephants lose the mark");
    is_caught(
        caught(|_| None),
        "the map of the switch takes the place of the classifier that a policy brings along",
    );
    // The tested classifiers have three defects. The first classifier never forgets a flow, the
    // second remembers every flow, and the third counts a packet before the comparison.
    is_caught(
        caught(|_| trap(64, Time::from_ms(9_000), one, Some(0))),
        "after silence an elephant is short again",
    );
    is_caught(
        caught(|_| trap(64, idle, one, Some(0))),
        "a full table forgets the flow that was silent for longest",
    );
    let early = ShortLimit { packets: 0, bytes: 150 };
    is_caught(
        caught(|_| trap(64, idle, early, Some(0))),
        "a limit in bytes counts what was sent before the packet",
    );
    is_caught(
        caught(|_| trap(64, idle, ShortLimit { packets: 2, bytes: 0 }, Some(0))),
        "without a queue of their own short flows stay where their priority says",
    );
}
