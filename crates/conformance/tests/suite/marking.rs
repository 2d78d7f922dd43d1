//! Does the switch mark as the vectors of marking say, and would they notice if it did not?

use crate::support::{files, load};
use bufferlab_conformance::vectors::{Case, Mismatch};
use bufferlab_conformance::{Device, SwitchDevice};
use bufferlab_core::policy::CompleteSharing;
use bufferlab_core::{MarkerConfig, Switch, SwitchConfig};

fn cases() -> Vec<Case> {
    files("marking").iter().flat_map(|name| load("marking", name).cases).collect()
}

fn run(case: &Case, mut device: impl Device) -> Result<(), Mismatch> {
    case.run(&mut device, &mut |_, _| {})
}

#[test]
fn every_marking_rule_marks_as_its_vectors_say() {
    assert_eq!(files("marking"), ["buffer-aware", "red", "step"], "one file per rule");
    let mut list = Vec::new();
    for case in cases() {
        let device = case.build().unwrap_or_else(|error| panic!("{}:{}: {error}", case.file, case.line));
        list.extend(run(&case, device).err().map(|mismatch| mismatch.to_string()));
    }
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

/// What makes a marker wrong.
type Spoil = fn(MarkerConfig) -> MarkerConfig;

/// The cases that a switch with another marker fails.
fn caught(spoil: Spoil) -> Vec<String> {
    let fails = |case: &Case| {
        let marker = case.config.marker.clone().map(spoil);
        let config = SwitchConfig { marker, ..case.config.clone() };
        run(case, SwitchDevice::new(Switch::new(&config, CompleteSharing))).is_err()
    };
    cases().iter().filter(|case| fails(case)).map(|case| case.name.clone()).collect()
}

#[test]
fn markers_that_are_wrong_in_one_way_are_caught_by_the_vector_that_names_it() {
    assert_eq!(caught(|marker| marker), [""; 0]);
    let spoils: [(&str, Spoil); 9] = [
        ("a packet that finds more than K is marked, one that finds K is not", |mut m| {
            (m.kmin, m.kmax) = (m.kmin.saturating_sub(1), m.kmax.saturating_sub(1));
            m
        }),
        ("marking per port compares the sum of its queues", |m| MarkerConfig {
            scope: Default::default(),
            ..m
        }),
        ("only the priorities that are named are marked", |m| MarkerConfig { priorities: u32::MAX, ..m }),
        (
            "every priority may have a threshold of its own, and the last one holds for those that follow",
            |m| MarkerConfig { by_priority: m.by_priority.iter().copied().take(1).collect(), ..m },
        ),
        ("marking on departure looks at what the packet leaves behind", |m| MarkerConfig {
            at: Default::default(),
            ..m
        }),
        ("at kmax the fraction is pmax", |m| MarkerConfig { pmax: m.pmax * 0.9, ..m }),
        ("halfway between kmin and kmax the fraction is half of pmax", |m| MarkerConfig {
            kmax: m.kmin,
            ..m
        }),
        ("what others hold of the buffer counts", |m| MarkerConfig { shared: None, ..m }),
        ("up to the floor nothing is marked however little is left", |mut m| {
            m.shared.iter_mut().for_each(|shared| shared.floor = 0);
            m
        }),
    ];
    for (name, spoil) in spoils {
        let caught = caught(spoil);
        assert!(caught.iter().any(|case| case == name), "\"{name}\" did not notice; noticed by {caught:?}");
    }
}
