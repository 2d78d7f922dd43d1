//! Tests that the rules of chips, the simulated switch and real chips agree packet by packet.

use crate::measured::ENTRIES;
use crate::support::{corpus, switch};
use crate::yaml;
use bufferlab_operator::vectors::{self, Vectors};
use bufferlab_operator::{Bench, Model};
use bufferlab_sonic::silicon::chip;

fn chip_vectors(chip_name: &str, packet: u64) -> Vectors {
    let config = switch(|_, text| text);
    let chip = chip(chip_name).expect("a chip");
    Vectors::new(&config, chip, packet).unwrap_or_else(|error| panic!("{chip_name}: {error}"))
}

#[test]
fn rules_and_simulation_agree_within_one_packet_on_chips_of_one_two_and_four_slices() {
    for name in ["trident3", "tomahawk2", "tomahawk5", "jericho2"] {
        for packet in [64, 1_500] {
            let vectors = chip_vectors(name, packet);
            assert_eq!(vectors.groups.len(), 2, "{name}");
            assert!(vectors.apart() <= 1, "{name}, {packet} B: {vectors:#?}");
            for point in vectors.groups.iter().flat_map(|group| &group.sequence) {
                assert!(point.apart() <= 1, "{name}, {packet} B: {vectors:#?}");
            }
            for together in vectors.groups.iter().flat_map(|group| &group.together) {
                assert!(together.pause.apart() <= 1, "{name}, {packet} B: {together:?}");
            }
        }
    }
}

#[test]
fn without_lossless_groups_the_headroom_pool_is_nobodys_and_not_shared() {
    let config = switch(|name, text| match name {
        "qos.json" => text.replace("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"\""),
        _ => text,
    });
    let vectors = Vectors::new(&config, chip("tomahawk2").expect("a chip"), 64).expect("it fits");
    assert!(vectors.groups.is_empty() && vectors.apart() <= 1, "{vectors:#?}");
}

#[test]
fn the_limit_of_a_port_holds_on_chips_with_two_levels() {
    let list = r#""BUFFER_PORT_INGRESS_PROFILE_LIST": { "Ethernet0,Ethernet4,Ethernet8,Ethernet12": { "profile_list": "of_port" } }, "BUFFER_PROFILE": {
        "of_port": { "pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "1" },"#;
    let config = switch(|name, text| match name {
        "buffers.json" => text.replace("\"BUFFER_PROFILE\": {", list),
        _ => text,
    });
    let of = |chip_name| Vectors::new(&config, chip(chip_name).expect("a chip"), 64).expect("it fits");
    let (two, without) = (of("spectrum4"), chip_vectors("spectrum4", 64));
    assert!(
        two.groups[0].pause.formula > without.groups[0].pause.formula,
        "a_p = 2 leaves more than the group's 1/2"
    );
    assert!(two.apart() <= 1, "{two:#?}");
    assert!(of("spectrum3").apart() <= 1);
}

/// Alphas of a port and its groups that test chips with two levels, each with the share of the pool
/// that a lone group gets. The shares are those of `tests/qos/qos_sai_base.py` of sonic-mgmt.
const TWO_LEVELS: [(i8, i8, f64); 6] = [
    (6, 0, 64.0 / 66.0),
    (7, 0, 64.0 / 66.0),
    (7, -1, 32.0 / 33.5),
    (7, 7, 4_096.0 / 4_161.0),
    (0, 7, 1.0 / 2.0),
    (1, 7, 2.0 / 3.0),
];

#[test]
fn a_dynamic_th_of_7_counts_as_64_on_chips_with_two_levels() {
    for (port, group, share) in TWO_LEVELS {
        let list = format!(
            r#""BUFFER_PORT_INGRESS_PROFILE_LIST": {{ "Ethernet0,Ethernet4,Ethernet8,Ethernet12": {{ "profile_list": "of_port" }} }}, "BUFFER_PROFILE": {{
            "of_port": {{ "pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "{port}" }},"#
        );
        let config = switch(|name, text| match name {
            "buffers.json" => text.replace("\"BUFFER_PROFILE\": {", &list),
            "pg_profile_lookup.ini" => text.replace(" -1 ", &format!(" {group} ")),
            _ => text,
        });
        let of = |name: &str| Vectors::new(&config, chip(name).expect("a chip"), 64).expect("it fits");
        for (name, cell) in [("spectrum4", 192), ("spectrum5", 192), ("spectrum6", 256)] {
            let vectors = of(name);
            let pool = 4_000_000 / cell * cell;
            let expected = (1_536 + (pool as f64 * share) as u64).div_ceil(cell);
            let found = vectors.groups[0].pause;
            assert!(found.formula.abs_diff(expected) <= 1, "{name} {port} {group}: {found:?}, {expected}");
            assert!(vectors.apart() <= 1, "{name} {port} {group}: {vectors:#?}");
        }
        // Chips with one level have no limit of the port, and 7 means 128.
        let (pool, alpha) = (4_000_000_u64 / 144 * 144, 2f64.powi(i32::from(group)));
        let expected = (1_536 + (pool as f64 * alpha / (1.0 + alpha)) as u64).div_ceil(144);
        let one_level = of("spectrum3");
        assert!(one_level.groups[0].pause.formula.abs_diff(expected) <= 1 && one_level.apart() <= 1);
    }
}

#[test]
fn each_packet_has_a_descriptor_of_32_bytes_on_spectrum_6() {
    // A packet of 1,024 B takes five cells of 256 B with its descriptor, and four without it.
    let of = |bytes| chip_vectors("spectrum6", bytes);
    let (cells, packets) = (of(64), of(1_024));
    let expected = cells.groups[0].pause.formula.div_ceil(5);
    assert_eq!(packets.groups[0].pause.formula, expected, "{packets:#?}");
    assert!(cells.apart() <= 1 && packets.apart() <= 1, "{packets:#?}");
    assert_eq!(of(992).groups[0].pause.formula, cells.groups[0].pause.formula.div_ceil(4));
}

#[test]
fn another_alpha_moves_both_alike() {
    let config = switch(|name, text| match name {
        "pg_profile_lookup.ini" => text.replace(" -1 ", " 2 "),
        _ => text,
    });
    let moved = Vectors::new(&config, chip("trident3").expect("a chip"), 64).expect("it fits");
    let before = chip_vectors("trident3", 64);
    assert!(moved.groups[0].pause.formula > before.groups[0].pause.formula);
    assert!(moved.apart() <= 1, "{moved:#?}");
}

#[test]
fn a_bench_that_forgets_the_headroom_is_caught() {
    let config = switch(|_, text| text);
    let chip = chip("trident3").expect("a chip");
    let mut model = Model::new(&config, chip).expect("it fits");
    let prediction = chip_vectors("trident3", 64).groups[0].loss.formula;
    for group in model.ports.iter_mut().flat_map(|port| port.groups.values_mut()) {
        group.headroom -= 256 * 10;
    }
    let mut bench = Bench::new(&model, 64).expect("it fits");
    let paused = bench.fill_to_pause(0, 1, 3).expect("it pauses");
    assert!(bench.fill_to_loss(0, 1, 3) + paused + 1 < prediction - 3);
}

#[test]
fn the_form_of_qualification_has_the_numbers_of_the_table() {
    let vectors = chip_vectors("trident3", 64);
    let read = yaml::read(&vectors::yaml(&vectors));
    let entry = read.get(&["qos_params", "td3", "topo-any", "100000_5m"]).expect("the profile");
    let group = vectors.groups.iter().find(|group| group.cable_metres == Some(5.0)).expect("5 m");
    assert_eq!(entry.number(&["xoff_1", "pkts_num_trig_pfc"]), Some(group.pause.formula));
    assert_eq!(entry.number(&["xoff_2", "pkts_num_trig_ingr_drp"]), Some(group.loss.formula));
    assert_eq!(entry.number(&["xoff_2", "dscp"]), Some(4));
    assert_eq!(entry.number(&["xon_1", "pkts_num_dismiss_pfc"]), Some(group.resume.formula));
    assert_eq!(entry.number(&["wm_pg_shared_lossless", "pkts_num_fill_min"]), Some(6));
    assert_eq!(
        entry.number(&["lossy_queue_1", "pkts_num_trig_egr_drp"]),
        Some(vectors.queues[0].loss.formula)
    );
    let pool = group.pool.expect("a pool");
    assert_eq!(entry.number(&["hdrm_pool_size", "pgs_num"]), Some(pool.groups));
    assert_eq!(entry.numbers(&["hdrm_pool_size", "dscps"]), Some(vec![3, 4]));
}

/// Every key in the written vectors also exists in a real qualification file, so no key is
/// invented.
#[test]
fn its_keys_are_those_of_real_files() {
    let Some(folder) = corpus("its_keys_are_those_of_real_files") else { return };
    let mut real = String::new();
    for name in ["td3", "th2", "th5"] {
        let path = folder.join(format!("measured/qos_params.{name}.yaml"));
        real.push_str(&std::fs::read_to_string(path).expect("a file of the corpus"));
    }
    for line in vectors::yaml(&chip_vectors("trident3", 64)).lines().filter(|line| !line.starts_with('#')) {
        let key = line.trim().split(':').next().expect("a key");
        let is_ours = key == "100000_5m" || key == "topo-any";
        assert!(is_ours || real.contains(&format!("{key}:")), "{key}");
    }
}

#[test]
fn configuration_in_qualification_simulated_the_numbers_of_real_chips_come_out() {
    let Some(folder) = corpus("configuration_in_qualification_simulated_the_numbers_of_real_chips_come_out")
    else {
        return;
    };
    let mut families: Vec<&str> = Vec::new();
    for entry in ENTRIES {
        let chip = chip(entry.chip).expect("a chip");
        let config = entry.config(&folder);
        let measured = entry.measured(&folder);
        let vectors =
            Vectors::new(&config, chip, 64).unwrap_or_else(|error| panic!("{}: {error}", entry.name()));
        let (speed, cable) =
            entry.speed_cable.trim_end_matches('m').split_once('_').expect("speed and cable");
        let group = vectors
            .groups
            .iter()
            .find(|group| group.speed_mbps == speed.parse().ok() && group.cable_metres == cable.parse().ok());
        // The names of some entries have a cable that differs from the cable of the test.
        let of_speed = || vectors.groups.iter().find(|group| group.speed_mbps == speed.parse().ok());
        let group =
            group.or_else(of_speed).unwrap_or_else(|| panic!("{}: {:?}", entry.name(), vectors.groups));
        let [pause, loss, resume] = [group.pause, group.loss, group.resume];
        println!("{:<40} {pause:?} {loss:?} {resume:?} {:?}", entry.name(), vectors.disagreements());
        assert!(
            pause.apart() <= 1 && loss.apart() <= 1 && resume.apart() <= 1,
            "{}: {group:#?}",
            entry.name()
        );
        let of_chip = ["xoff_1", "wm_pg_shared_lossless", "hdrm_pool_size", "xon_1"]
            .into_iter()
            .find_map(|profile| measured.number(&[profile, "pkts_num_trig_pfc"]));
        let simulated = pause.simulated.expect("it pauses");
        if !entry.apart && of_chip.is_some_and(|of_chip| of_chip.abs_diff(simulated) <= 3) {
            families.push(entry.family);
        }
    }
    families.sort_unstable();
    families.dedup();
    assert!(["td3", "th2", "th5"].iter().all(|family| families.contains(family)), "{families:?}");
}

#[test]
fn a_headroom_pool_that_one_group_exhausts_is_the_same_by_rules_and_by_simulation() {
    for name in ["trident3", "tomahawk2", "tomahawk5", "jericho2"] {
        for xoff in [30_000, 100_000, 400_000] {
            let config = switch(|file, text| match file {
                "buffers.json" => text.replace("\"xoff\": \"800000\"", &format!("\"xoff\": \"{xoff}\"")),
                _ => text,
            });
            let vectors = Vectors::new(&config, chip(name).expect("a chip"), 64).expect("it fits");
            assert!(vectors.apart() <= 1, "{name}, {xoff} B: {vectors:#?}");
            assert!(
                !vectors.caveats.iter().any(|caveat| caveat.contains("by simulation")),
                "{:?}",
                vectors.caveats
            );
            let is_short = vectors.caveats.iter().any(|caveat| caveat.contains("one group alone"));
            assert_eq!(
                vectors::yaml(&vectors).contains("# caveat: pg_lossless"),
                is_short,
                "{name}, {xoff} B"
            );
        }
    }
}

#[test]
fn points_at_which_rules_and_simulation_differ_are_named_in_every_form() {
    let mut vectors = chip_vectors("trident3", 64);
    assert!(vectors.disagreements().is_empty());
    vectors.queues[0].loss.formula += 2;
    let [one] = vectors.disagreements().try_into().expect("one");
    assert!(one.contains("first loss of egress_lossy_profile"), "{one}");
}
