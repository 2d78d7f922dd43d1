//! Tests that generated scenarios load and have the content that the configuration requests.

use crate::support::{corpus, model, switch};
use bufferlab_operator::what_if::{CHANGED, TODAY};
use bufferlab_operator::{Kind, Model, Network, Traffic, WhatIf};
use bufferlab_scenario::{Changes, Loaded, load_changed};
use bufferlab_sonic::Config;
use bufferlab_sonic::silicon::{chip_for, predict};
use std::path::Path;

fn load(plan: &WhatIf, at: usize) -> Loaded {
    let changes = Changes { variant: Some(&plan.choices[at].variant), ..Changes::default() };
    let label = &plan.choices[at].label;
    load_changed(Path::new("what-if.toml"), Some(&plan.scenario), &changes)
        .unwrap_or_else(|error| panic!("{label}: {error:?}\n{}", plan.scenario))
}

fn plan(config: &Config, model: &Model, kind: Kind) -> WhatIf {
    WhatIf::new("what-if", (config, model), None, &Traffic::new(kind))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_kind_of_traffic_and_every_variant_loads_and_can_be_built() {
    let config = switch(|_, text| text);
    for chip in ["trident3", "tomahawk2", "spectrum3", "jericho2"] {
        let model = model(&config, chip);
        for kind in Kind::ALL {
            let plan = plan(&config, &model, kind);
            for at in 0..plan.choices.len() {
                let loaded = load(&plan, at);
                let switch = &loaded.scenario.switches[0];
                assert_eq!(switch.buffer_bytes, model.buffer(), "{chip} {}", kind.name());
            }
        }
    }
}

#[test]
fn only_the_alphas_of_the_class_that_a_variant_names_move() {
    let config = switch(|_, text| text);
    let plan = plan(&config, &model(&config, "trident3"), Kind::RdmaTcp);
    let labels: Vec<_> = plan.choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels[..3], [TODAY, "lossless alpha x1/2", "lossless alpha x2"]);
    let today = load(&plan, 0).resolved;
    let moved = load(&plan, 2).resolved;
    let alphas = |text: &str| -> Vec<String> {
        text.split("alpha = ")
            .skip(1)
            .map(|rest| rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect())
            .collect()
    };
    let (before, after) = (alphas(&today), alphas(&moved));
    let pairs: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
    assert!(
        !pairs.is_empty()
            && pairs.iter().all(|(a, b)| (a.as_str(), b.as_str()) == ("0.5", "1.0")
                || (a.as_str(), b.as_str()) == ("0.5", "1")),
        "{pairs:?}"
    );
}

#[test]
fn another_configuration_is_a_variant_and_one_with_other_ports_is_refused() {
    let config = switch(|_, text| text);
    let model = model(&config, "trident3");
    let larger = switch(|_, text| {
        text.replace("\"xoff\": \"800000\"", "\"xoff\": \"1000000\"").replace("200000", "300000")
    });
    let other = crate::support::model(&larger, "trident3");
    let traffic = Traffic::new(Kind::RdmaTcp);
    let plan =
        WhatIf::new("w", (&config, &model), Some((&larger, &other)), &traffic).expect("the same ports");
    assert_eq!(plan.choices[1].label, CHANGED);
    let loaded = load(&plan, 1);
    // The size of the headroom pool is rounded to whole cells of 256 B.
    assert!(loaded.resolved.contains("headroom_pool = \"999.936 KB\""), "{}", loaded.resolved);
    assert!(loaded.resolved.contains("kmin = \"300 KB\""), "{}", loaded.resolved);
    let shorter = switch(|_, text| text.replace("\"Ethernet8\": \"300m\"", "\"Ethernet8\": \"40m\""));
    let third = crate::support::model(&shorter, "trident3");
    let error =
        WhatIf::new("w", (&config, &model), Some((&shorter, &third)), &traffic).expect_err("another cable");
    assert!(error.message.contains("Ethernet8"), "{error}");
}

#[test]
fn traffic_that_does_not_fit_the_switch_is_refused() {
    let config = switch(|_, text| text);
    let model = model(&config, "trident3");
    let of =
        |traffic: Traffic| WhatIf::new("w", (&config, &model), None, &traffic).expect_err("refused").message;
    let traffic = Traffic::new(Kind::Incast);
    assert!(of(Traffic { fan_in: Some(4), ..traffic }).contains("fan-in of 4"));
    assert!(of(Traffic { load: 0.0, ..traffic }).contains("load of 0"));
    assert!(of(Traffic { duration_seconds: Some(-1.0), ..traffic }).contains("duration of -1"));
}

/// Every switch has the port numbers of the configuration, and no cable is longer than the
/// configured cables of the two connected ports.
#[test]
fn a_leaf_spine_uses_every_port_of_every_switch() {
    let config = switch(|_, text| text.replace("\"Ethernet8\": \"300m\"", "\"Ethernet8\": \"40m\""));
    let model = model(&config, "trident3");
    assert_eq!(model.ports.len(), 4);
    let traffic = |leaves| Traffic { network: Network::LeafSpine { leaves }, ..Traffic::new(Kind::RdmaTcp) };
    for leaves in [2, 4] {
        let plan =
            WhatIf::new("w", (&config, &model), None, &traffic(leaves)).expect("it divides four ports");
        let loaded = load(&plan, 0);
        assert_eq!(loaded.scenario.switches.len(), leaves + leaves / 2);
        let topology = &loaded.scenario.topology;
        for (switch, ports) in topology.all_ports().iter().enumerate() {
            assert_eq!(ports.len(), 4, "{leaves} leaves, switch {switch}");
        }
    }
    // The switch's ports have cables of 5, 5, 40 and 300 m, and the uplinks of a leaf have cables
    // of 40 and 300 m. The uplinks of the first leaf end at the spine's first two ports, whose
    // headroom is for 5 m.
    let plan = WhatIf::new("w", (&config, &model), None, &traffic(2)).expect("it divides");
    let delays: Vec<&str> = plan
        .scenario
        .lines()
        .filter(|line| line.contains("b = \"spine0\""))
        .filter_map(|line| line.split("delay = \"").nth(1)?.split('"').next())
        .collect();
    assert_eq!(delays, ["25252 ps", "25252 ps", "202020 ps", "1515151 ps"]);
    assert!(plan.notes.iter().any(|note| note.contains("shorter")), "{:?}", plan.notes);
    let refused = |config: &Config, leaves| {
        let model = crate::support::model(config, "trident3");
        WhatIf::new("w", (config, &model), None, &traffic(leaves)).expect_err("refused")
    };
    let error = refused(&config, 3);
    assert_eq!(error.help, "choose an even number that divides the 4 ports: 2, 4");
    let slower = switch(|_, text| text.replacen("100000", "40000", 1));
    assert!(refused(&slower, 2).message.contains("several speeds"), "{}", refused(&slower, 2).message);
}

#[test]
fn real_configurations_become_scenarios_that_load() {
    let Some(folder) = corpus("real_configurations_become_scenarios_that_load") else { return };
    let mut simulated = 0;
    let entries = std::fs::read_dir(folder.join("rendered")).expect("rendered files");
    for path in entries.map(|entry| entry.expect("readable").path()) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        if !name.starts_with("buffer") {
            continue;
        }
        let config =
            bufferlab_sonic::read(&name, &std::fs::read(&path).expect("readable")).expect("it reads");
        let family =
            ["7050", "7260", "7800", "mellanox", "ft2", "nokia"].into_iter().find(|part| name.contains(part));
        let chip = match family {
            Some("7050") => "trident3",
            Some("7260") => "tomahawk2",
            Some("mellanox") => "spectrum3",
            Some("ft2") => "tomahawk5",
            _ => "jericho2",
        };
        let chip = chip_for(&config, Some(chip)).expect("a chip");
        if predict(&config, chip, 64).is_err() {
            continue;
        }
        let model = match Model::new(&config, chip) {
            Ok(model) => model,
            // No port of the configuration has groups or queues.
            Err(error) if name.contains("no-config") && error.message.contains("fewer than two ports") => {
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        let plan = plan(&config, &model, Kind::RdmaTcp);
        for at in 0..plan.choices.len() {
            load(&plan, at);
        }
        simulated += 1;
    }
    assert!(simulated >= 5, "only {simulated} configurations have pools with sizes");
}
