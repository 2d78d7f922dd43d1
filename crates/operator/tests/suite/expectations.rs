//! Tests that the model meets every expectation of a qualification file, or explains the
//! difference.

use crate::measured::ENTRIES;
use crate::support::{corpus, switch};
use bufferlab_operator::vectors::{self, Expectation, Vectors};
use bufferlab_sonic::silicon::{chip, predict};

/// Compares the expectations of a file with the model of the small switch on a Trident 3.
fn judged(text: &str) -> Vec<Expectation> {
    let config = switch(|_, text| text);
    let chip = chip("trident3").expect("a chip");
    let vectors = Vectors::new(&config, chip, 64).expect("it fits");
    let prediction = predict(&config, chip, 64).expect("it fits");
    vectors::expectations(text, &vectors, &prediction, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the testers' expectations for the small switch, read from a file that `edit` has
/// changed.
fn own(edit: impl Fn(String) -> String) -> Vec<Expectation> {
    let config = switch(|_, text| text);
    let vectors = Vectors::new(&config, chip("trident3").expect("a chip"), 64).expect("it fits");
    judged(&edit(vectors::yaml(&vectors)))
}

/// Returns the reasons why the model does not meet the testers' expectations for the value `key`.
fn why(found: &[Expectation], key: &str) -> String {
    let differ = found.iter().filter(|one| !one.met && one.path.ends_with(key));
    differ.map(|one| one.why.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_switch_meets_the_expectations_that_follow_from_it() {
    let found = own(|text| text);
    assert!(found.len() > 20, "{found:#?}");
    assert!(found.iter().all(|one| one.met || one.predicted.is_none()), "{found:#?}");
}

#[test]
fn a_difference_has_its_term() {
    let pause = |expected: &str| {
        let found =
            own(|text| text.replace("pkts_num_trig_pfc: 4117", &format!("pkts_num_trig_pfc: {expected}")));
        why(&found, "xoff_1 pkts_num_trig_pfc")
    };
    // The shared memory S has 12,332 cells, and the group has a minimum of 6 cells. With alpha 1,
    // the group pauses at 6 + S / 2 cells.
    assert!(pause("6172").contains("dynamic_th 0; pg_lossless"), "{}", pause("6172"));
    assert!(pause("4119").is_empty(), "within the margin");
    assert!(pause("3000").contains("fewer than the 12332 of these files"), "{}", pause("3000"));
    let loss = own(|text| text.replace("pkts_num_trig_ingr_drp: 4470", "pkts_num_trig_ingr_drp: 4570"));
    assert!(why(&loss, "xoff_1 pkts_num_trig_ingr_drp").contains("the headroom: 453 packets"), "{loss:#?}");
    let text = vectors::expectations_text(&loss);
    assert!(text.contains("differs  topo-any") && text.contains(" met, "), "{text}");
}

#[test]
fn expectations_of_another_family_or_speed_are_an_error_that_names_them() {
    let config = switch(|_, text| text);
    let chip = chip("trident3").expect("a chip");
    let vectors = Vectors::new(&config, chip, 64).expect("it fits");
    let prediction = predict(&config, chip, 64).expect("it fits");
    let error = |text: &str| {
        let found = vectors::expectations(text, &vectors, &prediction, None);
        found.expect_err("nothing to judge").message
    };
    assert!(error("qos_params:\n  th2:\n    topo-any:\n").contains("no expectations for td3; it has th2"));
    assert!(
        error("qos_params:\n  td3:\n    topo-t0:\n      40000_5m:\n        xoff_1:\n")
            .contains("speeds and cables")
    );
}

#[test]
fn every_difference_from_public_files_has_a_reason() {
    let Some(folder) = corpus("every_difference_from_public_files_has_a_reason") else { return };
    let (mut met, mut all) = (0, 0);
    for entry in ENTRIES {
        let chip = chip(entry.chip).expect("a chip");
        let config = entry.config(&folder);
        let path = folder.join(format!("measured/qos_params.{}.yaml", entry.family));
        let text = std::fs::read_to_string(path).expect("a file of the corpus");
        let vectors = Vectors::new(&config, chip, 64).expect("it fits");
        let prediction = predict(&config, chip, 64).expect("it fits");
        let Ok(found) = vectors::expectations(&text, &vectors, &prediction, Some(entry.topology)) else {
            continue;
        };
        for one in &found {
            assert!(one.met || !one.why.is_empty(), "{}: {one:?}", entry.name());
        }
        met += found.iter().filter(|one| one.met).count();
        all += found.iter().filter(|one| one.predicted.is_some()).count();
        println!("{}\n{}", entry.name(), vectors::expectations_text(&found));
    }
    assert!(met > 0 && met <= all, "{met} of {all}");
}
