//! Explanations and differences express the meaning of a configuration in bytes.

use crate::support::{corpus, files, switch};
use bufferlab_sonic::diff::{self, diff};
use bufferlab_sonic::explain::{self, explain};
use bufferlab_sonic::silicon::chip;
use bufferlab_sonic::{Config, read};

fn unchanged(_: &str, text: String) -> String {
    text
}

#[test]
fn the_memory_is_divided_without_a_rest() {
    let explanation = explain::explain(&switch(unchanged), chip("trident3"));
    let of = |name: &str| explanation.parts.iter().find(|part| part.name == name).map(|part| part.bytes);
    assert_eq!(of("headroom pool"), Some(800_000));
    assert_eq!(of("group reserves"), Some(8 * 1_536));
    assert_eq!(of("queue reserves"), Some(20 * 1_536));
    assert_eq!(of("shared"), Some(4_000_000 - 800_000 - 28 * 1_536));
    assert_eq!(explanation.memory_bytes, Some(131_072 * 256));
    let ratio = explanation.promised_ratio.expect("a memory");
    assert!((ratio - 11_000_000.0 / 33_554_432.0).abs() < 1e-9);
    // On an unknown chip the pool is the whole memory, and three pools promise 2.75
    // times this memory.
    let unknown = explain(&switch(unchanged), None);
    assert_eq!(unknown.promised_ratio, Some(2.75));
}

#[test]
fn every_kind_of_port_has_the_way_of_every_class() {
    let explanation = explain(&switch(unchanged), chip("trident3"));
    let kinds: Vec<_> = explanation.kinds.iter().map(|kind| (kind.ports.len(), kind.cable_metres)).collect();
    assert_eq!(kinds, [(2, Some(5.0)), (2, Some(300.0))]);
    let way = &explanation.kinds[1].ways[3];
    assert_eq!(
        (way.class, way.dscp.as_slice(), way.group, way.queue, way.pfc),
        (3, &[3][..], Some(3), Some(3), true)
    );
    let group = &way.limits[0];
    assert_eq!((group.alpha.as_str(), group.reserve, group.then), ("1/2", 1_536, "pause"));
    let shared = 12_332 * 256;
    assert_eq!(group.thresholds, Some([1_536 + shared / 2, 1_536 + shared / 4, 1_536]));
    assert_eq!((way.limits[1].alpha.as_str(), way.limits[1].then), ("4000000 B", "drop"));
    assert_eq!(way.resume_below, Some(3_584));
}

#[test]
fn a_queue_that_trims_does_not_drop() {
    // An excess packet is cut to its header and admitted again on another queue.
    let trims = |name: &str, text: String| match name {
        "switch/buffers.json" => text.replace(
            "\"egress_lossy_pool\", \"size\": \"1536\"",
            "\"egress_lossy_pool\", \"packet_discard_action\": \"trim\", \"size\": \"1536\"",
        ),
        _ => text,
    };
    let explanation = explain(&switch(trims), None);
    let of_queue = |class: usize| {
        let ways = &explanation.kinds[0].ways;
        ways[class].limits.iter().find(|limit| limit.name == "queue").expect("a profile").then
    };
    assert_eq!((of_queue(0), of_queue(3)), ("trim", "drop"));
    assert!(explain::text(&explanation).contains("trim egress_lossy_profile"));
}

#[test]
fn the_margin_of_headroom_is_bytes_and_metres_of_cable() {
    let explanation = explain(&switch(unchanged), None);
    let headroom = explanation.kinds[1].ways[3].headroom.as_ref().expect("a lossless class");
    // The headroom must cover 3 packets of 9,100 B, the pause frame, 2 x 300 m of cable and 394
    // quanta at 100 Gb/s.
    let cable = (2.0 * 300.0 / 198e6 * 100e9 / 8.0_f64).floor();
    let expected = 3.0 * 9_100.0 + 64.0 + cable + 394.0 * 64.0;
    assert!((headroom.standard as f64 - expected).abs() < 4.0, "{} and {expected}", headroom.standard);
    // The headroom must cover two packets of 1,500 B, the pause frame, the frame before it, and the
    // data on the cable.
    assert!((headroom.least as f64 - (3_000.0 + 128.0 + cable)).abs() < 4.0, "{}", headroom.least);
    assert_eq!(headroom.margin_bytes, 159_744 - i64::try_from(headroom.standard).expect("small"));
    let metres = headroom.margin_bytes as f64 * 8.0 * 198e6 / 2.0 / 100e9;
    assert!((headroom.margin_metres - metres).abs() < 0.01);
}

#[test]
fn the_text_has_the_picture_and_every_kind() {
    let text = explain::text(&explain(&switch(unchanged), chip("trident3")));
    for part in [
        "Trident 3",
        "headroom pool",
        "[###",
        "alpha 1/2",
        "class 3-4: group 3-4, PFC",
        "margin +",
        "2 ports",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

fn difference(from: &str, to: &str) -> (diff::Difference, String) {
    let changed = switch(|_, text| text.replace(from, to));
    let found = diff(&switch(unchanged), &changed, chip("trident3")).expect("no allowances");
    let text = diff::text(&found);
    (found, text)
}

#[test]
fn a_switch_does_not_differ_from_itself() {
    let (found, text) = difference("nothing of the kind", "");
    assert!(
        found.changes.is_empty() && found.new_findings.is_empty() && found.gone_findings.is_empty(),
        "{text}"
    );
    assert_eq!(text, "nothing changes for buffers\n");
}

#[test]
fn a_larger_headroom_pool_costs_what_is_shared() {
    let (_, text) = difference("\"xoff\": \"800000\"", "\"xoff\": \"1056000\"");
    for part in [
        "memory, headroom pool: 800000 B -> 1056000 B",
        "+256000 B (+32.0 %): more groups may pause at once",
        "-256000 B (-8.1 %): every dynamic threshold falls in proportion",
        "limit of the priority group",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_longer_cable_is_told_by_its_margin_and_alpha_by_its_bytes() {
    let (_, text) = difference("\"Ethernet8\": \"300m\"", "\"Ethernet8\": \"40m\"");
    assert!(text.contains("Ethernet8, class [3, 4]: headroom: 159744 B, margin"), "{text}");
    let (_, text) = difference("\"dynamic_th\": \"1\"", "\"dynamic_th\": \"0\"");
    assert!(
        text.contains("limit of the queue: ") && text.contains("B less before a drop: shorter bursts fit"),
        "{text}"
    );
}

#[test]
fn a_priority_that_is_no_longer_lossless_is_named_and_what_is_wrong_with_it() {
    let (found, text) = difference("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"3\"");
    assert!(
        text.contains("lossless priorities of Ethernet0, Ethernet4, Ethernet8 and 1 more: [3, 4] -> [3]"),
        "{text}"
    );
    assert!(text.contains("priorities [4] drop instead of pausing"), "{text}");
    assert!(
        !found.new_errors && found.new_findings.iter().any(|finding| finding.contains("SB012")),
        "{text}"
    );
    let (found, _) = difference("\"ecn_all\"", "\"ecn_none\"");
    assert!(found.new_errors);
}

#[test]
fn every_real_file_is_explained() {
    let Some(folder) = corpus("explain") else { return };
    for path in files(&folder.join("rendered")) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let config: Config = read(&name, &std::fs::read(&path).expect("a file that is there")).expect("JSON");
        let text = explain::text(&explain(&config, None));
        assert!(text.contains("memory"), "{name}");
        assert!(diff(&config, &config, None).expect("rules").changes.is_empty(), "{name}");
    }
}
