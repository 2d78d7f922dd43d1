//! Tests that a scenario's classifier chooses the queues of packets. The tests cover built-in and
//! custom classifiers, in every memory of a switch.

use crate::support::{Lab, flow, run, star, try_run};
use bufferlab_core::{
    Classifier, ClassifierFailure, ClassifierInfo, Classify, Tags, Unclassified, register_classifier,
};
use bufferlab_sim::SimError;
use bufferlab_units::Time;

/// Number of packets that joined the queues of each priority, over all ports. Host 0 sends ten
/// segments to host 2, and host 1 sends five segments to host 3. Data packets have priority 1, and
/// ACKs have priority 3.
fn packets_by_queue(switch: &str) -> [u64; 4] {
    let switch = format!("buffer = \"1 MB\"\nqueues_per_port = 4\n{switch}");
    let transport = "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = 20\n\
                     data_priority = 1\ncontrol_priority = 3";
    let lab = Lab::new(&star(4, "1 Gb/s", "50 us"), &switch, transport);
    let flows = vec![flow(0, 2, 10 * 1_400, Time::ZERO), flow(1, 3, 5 * 1_400, Time::from_ms(1))];
    let mut packets = [0; 4];
    for queue in &run(&lab.flows(flows)).queues {
        packets[usize::from(queue.priority)] += queue.enqueued_packets;
    }
    packets
}

#[test]
fn the_map_of_a_scenario_sends_priorities_to_queues() {
    assert_eq!(packets_by_queue("policy = \"dt\""), [0, 15, 0, 15]);
    assert_eq!(packets_by_queue("policy = \"dt\"\nclassifier = \"priority\""), [0, 15, 0, 15]);
    let map = "classifier = { name = \"priority\", queues = [3, 2, 1, 0] }";
    assert_eq!(packets_by_queue(&format!("policy = \"dt\"\n{map}")), [15, 0, 15, 0]);
}

/// The ACKs of a flow count as a separate flow. So the elephant trap selects the first four data
/// packets and the first four ACKs.
#[test]
fn a_trap_sends_the_first_packets_of_every_flow_to_their_queue_in_every_memory() {
    let trap = "classifier = { name = \"elephant-trap\", short_packets = 4, short_queue = 0 }";
    let expected = [16, 7, 0, 7];
    assert_eq!(packets_by_queue(&format!("policy = \"dt\"\n{trap}")), expected);
    assert_eq!(packets_by_queue(&format!("policy = \"dt\"\n{trap}\nhardware = {{ slices = 2 }}")), expected);
    // The classifier replaces the policy's own elephant trap.
    assert_eq!(packets_by_queue(&format!("policy = \"ib\"\n{trap}")), expected);
    let none = "policy = { name = \"ib\", dpp_packets = 4 }\nclassifier = \"priority\"";
    assert_eq!(packets_by_queue(none), [0, 15, 0, 15]);
}

/// A classifier that assigns large packets to a separate queue.
#[derive(Clone, Debug)]
struct BySize;

impl Classify for BySize {
    fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
        ((packet.header.size > 1_000).into(), packet.header.tags)
    }
}

#[test]
fn a_custom_classifier_is_named_in_a_scenario() {
    register_classifier(ClassifierInfo {
        name: "own-by-size",
        title: "By size",
        summary: "Large packets join queue 1, others queue 0.",
        source: "A test.",
        build: &|_, queues| Ok(Classifier::custom(Box::new(BySize), queues)),
        ..ClassifierInfo::PLAIN
    })
    .expect("the name is free");
    assert_eq!(packets_by_queue("policy = \"dt\"\nclassifier = \"own-by-size\""), [15, 15, 0, 0]);
}

/// A classifier that fails at its third packet.
#[derive(Clone, Debug, Default)]
struct Fragile {
    seen: u32,
    failure: Option<ClassifierFailure>,
}

impl Classify for Fragile {
    fn classify(&mut self, packet: &Unclassified) -> (u8, Tags) {
        self.seen += 1;
        if self.seen == 3 {
            let what = "the table is gone".to_owned();
            let flow = Some(packet.header.flow);
            self.failure = Some(ClassifierFailure { now: packet.now, flow, what, cause: None });
        }
        (packet.mapped, packet.header.tags)
    }

    fn failure(&self) -> Option<&ClassifierFailure> {
        self.failure.as_ref()
    }
}

#[test]
fn a_custom_classifier_that_fails_ends_the_run_with_switch_flow_and_time() {
    register_classifier(ClassifierInfo {
        name: "own-fragile",
        title: "Fragile",
        summary: "Fails at its third packet.",
        source: "A test.",
        build: &|_, queues| Ok(Classifier::custom(Box::<Fragile>::default(), queues)),
        ..ClassifierInfo::PLAIN
    })
    .expect("the name is free");
    for slices in [1, 2] {
        let switch = format!(
            "buffer = \"1 MB\"\npolicy = \"dt\"\nclassifier = \"own-fragile\"\nhardware = {{ slices = {slices} }}"
        );
        let transport = "congestion_control = \"newreno\"\nhandshake = false\ninitial_window = 20";
        let lab = Lab::new(&star(4, "1 Gb/s", "50 us"), &switch, transport);
        let flows = vec![flow(1, 0, 1_400, Time::ZERO), flow(0, 2, 4 * 1_400, Time::from_us(1))];
        let error = try_run(&lab.flows(flows), true).map(drop).expect_err("it fails");
        let SimError::ClassifierFailed(failed) = &error else { panic!("{error}") };
        assert_eq!((failed.classifier.as_str(), failed.switch.as_str()), ("own-fragile", "switch"));
        let place = format!(
            "classifier own-fragile failed in switch switch (flow 1, h0 to h2) at {}: classify: the table is gone",
            failed.time
        );
        assert_eq!(error.to_string(), place);
    }
}
