//! Is the model what the configuration says?

use crate::support::{model, switch};
use bufferlab_operator::{Limit, Scope};

#[test]
fn the_small_switch_on_trident_3_is_its_files_in_cells() {
    let config = switch(|_, text| text);
    let model = model(&config, "trident3", Scope::Device);
    // 4,000,000 B are 15,625 cells of 256 B; less 3,125 of headroom (800,000 B), 48 of 8 groups with 1,536 B (6 cells),
    // 120 of 20 queues with 1,536 B: 12,332.
    assert_eq!(model.shared, 12_332 * 256);
    assert_eq!(model.headroom(), 800_000);
    assert_eq!(model.reserves(), 8 * 1_536);
    assert_eq!(model.buffer(), 12_332 * 256 + 800_000 + 8 * 1_536);
    assert_eq!(model.ports.len(), 4);
    assert_eq!(model.some_ports(), None);
    let group = &model.ports[0].groups[&3];
    assert_eq!((group.limit, group.headroom, group.reserve), (Limit::Alpha(0.5), 90_112, 1_536));
    // 3,584 B below the pause point of a lone group, with alpha = 1/2: the limit rises by half of what drains.
    assert_eq!((group.xon, group.xon_offset), (0, 5_376));
    assert_eq!(model.ports[2].groups[&4].headroom, 159_744);
    assert_eq!(model.ports[0].lossy[&0], Limit::Alpha(2.0));
}

#[test]
fn slices_as_one_memory_divide_the_alphas_of_groups_and_not_those_of_queues() {
    let config = switch(|_, text| text);
    let (slice, device) =
        (model(&config, "tomahawk5", Scope::Slice), model(&config, "tomahawk5", Scope::Device));
    assert_eq!(device.shared, 2 * slice.shared);
    assert_eq!(slice.ports[0].groups[&3].limit, Limit::Alpha(0.5));
    assert_eq!(device.ports[0].groups[&3].limit, Limit::Alpha(0.25));
    assert_eq!(slice.ports[0].lossy[&0], device.ports[0].lossy[&0]);
    assert!(device.notes[0].contains("2 slices"), "{:?}", device.notes);
    assert!(slice.notes.is_empty(), "{:?}", slice.notes);
}

#[test]
fn a_port_with_one_of_two_lossless_priorities_is_said_to_have_both() {
    let one = |name: &str, text: String| match name {
        "qos.json" => text.replacen("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"3\"", 1),
        _ => text,
    };
    let model = model(&switch(one), "trident3", Scope::Device);
    assert!(model.ports.iter().all(|port| port.groups.len() == 2));
    assert!(model.notes.iter().any(|note| note.contains("Ethernet0 priority 4")), "{:?}", model.notes);
    let none = |name: &str, text: String| match name {
        "qos.json" => text.replacen("\"pfc_enable\": \"3,4\",", "\"pfc_enable\": \"\",", 1),
        _ => text,
    };
    let partial = crate::support::model(&switch(none), "trident3", Scope::Device);
    assert_eq!(partial.some_ports(), Some(vec![1, 2, 3]));
}
