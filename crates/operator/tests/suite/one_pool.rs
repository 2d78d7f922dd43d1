//! Tests chips with one egress pool: the simulator gives a lossy queue the limit and the minimum of
//! its profile.

use crate::support::{model, switch};
use bufferlab_operator::probe::Executor;
use bufferlab_operator::{Kind, Limit, Traffic, Vectors, scenario, vectors};
use bufferlab_sonic::Config;
use bufferlab_sonic::silicon::{CHIPS, Rule, chip, predict};
use serde_json::{Value, json};

/// Chip families whose device files have one egress pool.
const FAMILIES: [&str; 3] = ["tomahawk3", "tomahawk4", "tomahawk5"];

/// Returns the small switch with one egress pool; its lossy queues have the exponent of alpha
/// `exponent`.
fn one_pool(exponent: i8) -> Config {
    switch(|name, text| {
        match name {
        "buffers.json" => text
            .replace(
                "\"egress_lossless_pool\": { \"type\": \"egress\", \"mode\": \"static\", \"size\": \"4000000\" },\n",
                "\"egress_lossless_pool\": { \"type\": \"egress\", \"mode\": \"dynamic\", \"size\": \"4000000\" }\n",
            )
            .replace("        \"egress_lossy_pool\": { \"type\": \"egress\", \"mode\": \"dynamic\", \"size\": \"3000000\" }\n", "")
            .replace("\"pool\": \"egress_lossy_pool\", \"size\": \"1536\", \"dynamic_th\": \"1\"", &format!("\"pool\": \"egress_lossless_pool\", \"size\": \"1536\", \"dynamic_th\": \"{exponent}\"")),
        _ => text,
    }
    })
}

/// Number of packets that a lossy queue stores in the simulated chip.
fn stored(config: &Config, name: &str) -> u64 {
    let mut executor = Executor::new(&model(config, name), 64).expect("it fits");
    let request = json!({"op": "send", "src_port": 0, "dst_port": 1, "value": 200_000, "pg": 0});
    let answer: Value = serde_json::from_str(&executor.answer_line(&request.to_string())).expect("JSON");
    answer["packets"].as_u64().expect("a number")
}

#[test]
fn the_alpha_of_a_lossy_queue_decides_where_one_egress_pool_is_all_there_is() {
    for name in FAMILIES {
        for exponent in [-3, 0, 3] {
            let config = one_pool(exponent);
            let prediction = predict(&config, chip(name).expect("a chip"), 64).expect("a prediction");
            let [queue] = prediction.queues.as_slice() else { panic!("{name}: {:?}", prediction.queues) };
            let stored = stored(&config, name);
            assert!(
                (queue.drop - 1).abs_diff(stored) <= 1,
                "{name}, dynamic_th {exponent}: {stored}, {queue:?}"
            );
        }
    }
    // The queue stores its reserve of 7 cells, and a ninth or eight ninths of 6,132 cells.
    assert_eq!((stored(&one_pool(-3), "tomahawk5"), stored(&one_pool(3), "tomahawk5")), (688, 5_458));
}

#[test]
fn the_row_of_the_lossy_queue_stands_in_table_and_yaml() {
    for name in FAMILIES {
        let vectors = Vectors::new(&one_pool(-3), chip(name).expect("a chip"), 64).expect("it fits");
        assert_eq!(vectors.queues.len(), 1, "{name}");
        assert!(vectors.queues[0].loss.apart() <= 1, "{name}: {:?}", vectors.queues);
        assert!(vectors::text(&vectors).contains("egress_lossy_profile: lossy queue 0"), "{name}");
        assert!(vectors::yaml(&vectors).contains("lossy_queue_1:"), "{name}");
    }
}

#[test]
fn a_scenario_has_the_limit_and_the_minimum_of_lossy_queues() {
    for name in FAMILIES {
        for (exponent, alpha) in [(-3, "alpha = 0.125"), (3, "alpha = 8")] {
            let config = one_pool(exponent);
            let model = model(&config, name);
            let queue = model.ports[0].lossy[&0];
            assert_eq!((queue.limit, queue.minimum > 0), (Limit::Alpha(2f64.powi(exponent.into())), true));
            let text = scenario("s", &config, &model, &Traffic::new(Kind::RdmaTcp)).expect("a scenario");
            let profile =
                text.lines().find(|line| line.contains("direction = \"egress\"")).expect("a profile");
            assert!(
                profile.contains(alpha) && profile.contains("reserved = \"1778 B\""),
                "{name}: {profile}"
            );
        }
    }
}

#[test]
fn a_lossy_queue_that_has_no_row_is_named() {
    // Every queue with the lossy profile has the number of a priority that has PFC.
    let config = switch(|name, text| match name {
        "buffers.json" => text.replace("|0-2\"", "|1-2\""),
        "qos.json" => text.replace("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"1,2,3,4,5,6\""),
        _ => text,
    });
    for family in CHIPS.iter().filter(|chip| chip.rule == Rule::Cells) {
        let vectors = Vectors::new(&config, family, 64).expect("it fits");
        assert!(vectors.queues.is_empty());
        let named = |gap: &String| gap.contains("egress_lossy_profile");
        assert!(vectors.not_predicted.iter().any(named), "{}: {:?}", family.name, vectors.not_predicted);
        assert!(vectors::yaml(&vectors).contains("# not predicted: queues with egress_lossy_profile"));
    }
}

#[test]
fn a_pool_that_no_queue_uses_does_not_make_lossy_queues_lossless() {
    // The configuration has a lossy pool, but its lossy queues use the lossless pool, as in several
    // device files.
    let config = switch(|name, text| match name {
        "buffers.json" => {
            text.replace("\"pool\": \"egress_lossy_pool\"", "\"pool\": \"egress_lossless_pool\"")
        }
        _ => text,
    });
    assert!(!config.is_lossless_queue_profile("egress_lossy_profile"));
    assert!(config.is_lossless_queue_profile("egress_lossless_profile"));
    let vectors = Vectors::new(&config, chip("trident3").expect("a chip"), 64).expect("it fits");
    assert!(vectors.queues.len() == 1 && vectors.queues[0].loss.apart() <= 1, "{:?}", vectors.queues);
    // In the opposite configuration, lossless queues use the lossy pool.
    let config = switch(|name, text| match name {
        "buffers.json" => {
            text.replace("[BUFFER_POOL|egress_lossless_pool]", "[BUFFER_POOL|egress_lossy_pool]")
        }
        _ => text,
    });
    assert!(config.is_lossless_queue_profile("egress_lossless_profile"));
    assert!(!config.is_lossless_queue_profile("egress_lossy_profile"));
}
