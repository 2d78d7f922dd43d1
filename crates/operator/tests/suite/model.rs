//! Tests that the switch model has the values of the configuration.

use crate::support::{model, switch};
use bufferlab_core::{QueueMinimums, ResumeBelow};
use bufferlab_operator::{Limit, PortModel};
use std::collections::BTreeSet;

#[test]
fn the_small_switch_on_trident_3_is_its_files_in_cells() {
    let config = switch(|_, text| text);
    let model = model(&config, "trident3");
    // 4,000,000 B are 15,625 cells of 256 B. The headroom takes 3,125 cells (800,000 B). The 8
    // groups with 1,536 B (6 cells) take 48 cells, and the 20 queues with 1,536 B take 120 cells.
    // So 12,332 cells remain.
    assert_eq!(model.shared, 12_332 * 256);
    assert_eq!(model.headroom(), 800_000);
    assert_eq!(model.reserves(), (8 + 20) * 1_536);
    assert_eq!(model.buffer(), 4_000_000, "all of the pool");
    assert_eq!(model.ports.len(), 4);
    assert_eq!(model.lossless_sets().len(), 1);
    let group = &model.ports[0].groups[&3];
    assert_eq!((group.limit, group.headroom, group.reserve), (Limit::Alpha(0.5), 90_112, 1_536));
    assert_eq!((group.xon, group.xon_offset), (0, 3_584));
    assert_eq!(model.ports[2].groups[&4].headroom, 159_744);
    let queue = model.ports[0].lossy[&0];
    assert_eq!((queue.limit, queue.minimum), (Limit::Alpha(2.0), 1_536));
}

#[test]
fn slices_are_those_of_the_family_and_minimums_of_queues_are_in_each() {
    let config = switch(|_, text| text);
    let (one, two) = (model(&config, "trident3"), model(&config, "tomahawk5"));
    assert_eq!((one.slices, two.slices), (1, 2));
    let accounting = two.hardware().accounting;
    assert_eq!(
        (accounting.slices, accounting.resume_below, accounting.queue_minimums),
        (2, ResumeBelow::PausePoint, QueueMinimums::EverySlice)
    );
    // In cells of 254 B, 1,536 B are 7 cells. The minimums of 20 queues count twice, the minimums
    // of 8 groups once.
    assert_eq!(two.reserves(), (2 * 20 + 8) * 7 * 254);
    assert_eq!(two.ports[0].groups[&3].limit, Limit::Alpha(0.5), "of its slice");
    assert!(two.notes[0].contains("2 slices"), "{:?}", two.notes);
    assert!(one.notes.iter().all(|note| note.contains("of headroom")), "{:?}", one.notes);
}

#[test]
fn ports_keep_their_own_lossless_priorities() {
    let one = |name: &str, text: String| match name {
        "qos.json" => text.replacen("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"3\"", 1),
        _ => text,
    };
    let model = model(&switch(one), "trident3");
    let number = |port: &PortModel| port.groups.len();
    assert_eq!(model.ports.iter().map(number).collect::<Vec<_>>(), [1, 2, 2, 2]);
    let sets = [(BTreeSet::from([3, 4]), vec![1, 2, 3]), (BTreeSet::from([3]), vec![0])];
    assert_eq!(model.lossless_sets(), sets);
    assert!(model.notes.iter().all(|note| note.contains("of headroom")), "{:?}", model.notes);
    let none = |name: &str, text: String| match name {
        "qos.json" => text.replacen("\"pfc_enable\": \"3,4\",", "\"pfc_enable\": \"\",", 1),
        _ => text,
    };
    let partial = crate::support::model(&switch(none), "trident3");
    let sets = [(BTreeSet::from([3, 4]), vec![1, 2, 3]), (BTreeSet::new(), vec![0])];
    assert_eq!(partial.lossless_sets(), sets);
}
