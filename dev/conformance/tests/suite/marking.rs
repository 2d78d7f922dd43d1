//! Tests that the switch marks packets according to the marking vectors, and that wrong markers
//! fail the vectors.

use crate::support::{files, load};
use bufferlab_conformance::vectors::{Case, Mismatch};
use bufferlab_conformance::{Device, SwitchDevice};
use bufferlab_core::mark::{BufferAware, Effect, Moment, Red, Scope, Step, Watch, WredRamp};
use bufferlab_core::policy::CompleteSharing;
use bufferlab_core::{MARKING_RULES, Marker, Marking, Switch};

fn cases() -> Vec<Case> {
    files("marking").iter().flat_map(|name| load("marking", name).cases).collect()
}

fn run(case: &Case, mut device: impl Device) -> Result<(), Mismatch> {
    case.run(&mut device, &mut |_, _| {})
}

#[test]
fn every_marking_rule_marks_as_its_vectors_say() {
    let mut rules: Vec<_> = MARKING_RULES.iter().map(|info| info.name.to_owned()).collect();
    rules.sort();
    assert_eq!(files("marking"), rules, "one file per rule");
    let mut list = Vec::new();
    for case in cases() {
        let device = case.build().unwrap_or_else(|error| panic!("{}:{}: {error}", case.file, case.line));
        list.extend(run(&case, device).err().map(|mismatch| mismatch.to_string()));
    }
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

/// Function that changes a marker with the tested rule to a wrong marker.
type Spoil = fn(&mut Marker);

/// Returns the vector cases that a switch with a wrong marker fails.
fn caught(spoil: Spoil) -> Vec<String> {
    let fails = |case: &Case| {
        let mut config = case.config.clone();
        config.marker.iter_mut().for_each(spoil);
        run(case, SwitchDevice::new(Switch::new(&config, CompleteSharing))).is_err()
    };
    cases().iter().filter(|case| fails(case)).map(|case| case.name.clone()).collect()
}

fn step(marker: &mut Marker, spoil: impl FnOnce(&mut Step)) {
    match &mut marker.rule {
        Marking::Step(step) | Marking::BufferAware(BufferAware { step, .. }) => spoil(step),
        Marking::Red(_) | Marking::Wred(_) | Marking::Boxed(_) => {}
    }
}

fn red(marker: &mut Marker, spoil: impl FnOnce(&mut Red)) {
    if let Marking::Red(rule) = &mut marker.rule {
        spoil(rule);
    }
}

fn wred(marker: &mut Marker, spoil: impl FnMut(&mut WredRamp)) {
    if let Marking::Wred(rule) = &mut marker.rule {
        rule.ramps.iter_mut().flatten().for_each(spoil);
    }
}

fn watch(marker: &mut Marker, spoil: impl FnOnce(&mut Watch)) {
    match &mut marker.rule {
        Marking::Step(step) | Marking::BufferAware(BufferAware { step, .. }) => spoil(&mut step.watch),
        Marking::Red(rule) => spoil(&mut rule.watch),
        Marking::Wred(rule) => spoil(&mut rule.watch),
        Marking::Boxed(_) => {}
    }
}

#[test]
fn markers_that_are_wrong_in_one_way_are_caught_by_the_vector_that_names_it() {
    assert_eq!(caught(|_| {}), [""; 0]);
    let spoils: [(&str, Spoil); 13] = [
        ("a packet that finds more than K is marked, one that finds K is not", |m| {
            step(m, |step| step.threshold = step.threshold.saturating_sub(1));
        }),
        ("marking per port compares the sum of its queues", |m| {
            watch(m, |watch| watch.scope = Scope::Queue);
        }),
        ("only the priorities that are named are marked", |m| m.priorities = u32::MAX),
        (
            "every priority may have a threshold of its own, and the last one holds for those that follow",
            |m| step(m, |step| step.by_priority.truncate(1)),
        ),
        ("marking on departure looks at what the packet leaves behind", |m| {
            watch(m, |watch| watch.at = Moment::Enqueue);
        }),
        ("at kmax the fraction is pmax", |m| red(m, |rule| rule.pmax *= 0.9)),
        ("halfway between kmin and kmax the fraction is half of pmax", |m| {
            red(m, |rule| rule.ramp.kmax = rule.ramp.kmin);
        }),
        ("every priority has its own ramp", |m| red(m, |rule| rule.by_priority.truncate(1))),
        ("what others hold of the buffer counts", |m| {
            if let Marking::BufferAware(rule) = &m.rule {
                m.rule = Marking::Step(rule.step.clone());
            }
        }),
        ("up to the floor nothing is marked however little is left", |m| {
            if let Marking::BufferAware(rule) = &mut m.rule {
                rule.floor = 0;
            }
        }),
        ("a step drops packets that cannot be marked, and marks the others", |m| {
            wred(m, |own| own.effect = Effect::Drop);
        }),
        ("with ECN off every packet is dropped", |m| wred(m, |own| own.effect = Effect::Mark)),
        ("every queue has its own ramp and probability", |m| wred(m, |own| own.pmax = 0.2)),
    ];
    for (name, spoil) in spoils {
        let caught = caught(spoil);
        assert!(caught.iter().any(|case| case == name), "\"{name}\" did not notice; noticed by {caught:?}");
    }
}
