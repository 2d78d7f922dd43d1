//! Tests that the scenario has the marking and the schedulers of the switch, and names the switch's
//! settings that the scenario lacks.

use crate::support::{model, switch};
use bufferlab_operator::{Kind, Traffic, WhatIf};

/// Plans a what-if analysis for the small switch with changed QoS settings.
fn plan(edit: impl Fn(String) -> String) -> WhatIf {
    let config = switch(|name, text| if name == "qos.json" { edit(text) } else { text });
    let model = model(&config, "trident3");
    let traffic = Traffic::new(Kind::RdmaTcp);
    WhatIf::new("what-if", (&config, &model), None, &traffic).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether a note with the given text is below the table and in the scenario file.
fn says(plan: &WhatIf, text: &str) -> bool {
    let below = plan.notes.iter().find(|note| note.contains(text));
    below.is_some_and(|note| plan.scenario.contains(&format!("# {note}")))
}

#[test]
fn thresholds_without_their_enable_mark_nothing() {
    let marked = plan(|text| text);
    assert!(marked.scenario.contains("kmin = \"200000 B\", kmax = \"800000 B\""), "{}", marked.scenario);
    for other in ["\"wred_green_enable\": \"false\"", "\"wred_red_enable\": \"true\""] {
        let silent = plan(|text| text.replace("\"wred_green_enable\": \"true\"", other));
        assert!(!silent.scenario.contains("[switch.ecn]"), "{}", silent.scenario);
    }
}

#[test]
fn equal_thresholds_are_a_step() {
    let step = plan(|text| text.replace("\"200000\"", "\"800000\""));
    assert!(step.scenario.contains("kmin = \"800000 B\", kmax = \"800000 B\""), "{}", step.scenario);
    let never_between =
        plan(|text| text.replace("\"green_drop_probability\": \"5\"", "\"green_drop_probability\": \"0\""));
    assert!(never_between.scenario.contains("pmax = 0 }"), "{}", never_between.scenario);
}

#[test]
fn wred_that_drops_is_simulated_and_not_turned_into_marks() {
    for ecn in ["ecn_none", "ecn_red", "ecn_yellow_red"] {
        let drops = plan(|text| text.replace("ecn_all", ecn));
        let all = "{ priorities = [3, 4], kmin = \"200000 B\", kmax = \"800000 B\", pmax = 0.05, effect = \"drop\" }";
        assert!(drops.scenario.contains(all), "{}", drops.scenario);
        assert!(!drops.notes.iter().any(|note| note.contains("WRED")), "{:#?}", drops.notes);
    }
    let marks = plan(|text| text.replace("ecn_all", "ecn_green")).scenario;
    assert!(marks.contains("kmax = \"800000 B\", pmax = 0.05 }"), "{marks}");
}

#[test]
fn colours_are_named_and_ports_that_differ_are_simulated() {
    let red =
        "\"wred_red_enable\": \"true\", \"red_min_threshold\": \"1\", \"red_max_threshold\": \"9\", \"ecn\"";
    let colours = plan(|text| text.replace("\"ecn\"", red));
    assert!(
        says(&colours, "thresholds of red packets (AZURE_LOSSLESS) are not used"),
        "{:#?}",
        colours.notes
    );
    let one = "\"Ethernet0|3-4\": {\n            \"scheduler\": \"scheduler.1\",\n            \"wred_profile\": \"AZURE_LOSSLESS\"";
    let other = "\"Ethernet0|3-4\": {\n            \"scheduler\": \"scheduler.0\"";
    let ports = plan(|text| {
        assert!(text.contains(one), "{text}");
        text.replace(one, other)
    });
    let profile = "{ ports = [1, 2, 3], priorities = [3, 4], kmin = \"200000 B\"";
    assert!(ports.scenario.contains(profile), "{}", ports.scenario);
    let egress = "egress = [\n  { ports = [0], scheduler = [{ queues = [0, 1, 2, 3, 4, 5, 6, 7], ";
    assert!(ports.scenario.contains(egress), "{}", ports.scenario);
}

#[test]
fn schedulers_by_packets_by_bytes_and_strict_ones_are_kept() {
    let groups = |edit: &dyn Fn(String) -> String| {
        let plan = plan(edit);
        let line =
            plan.scenario.lines().find(|line| line.starts_with("scheduler")).expect("a line").to_owned();
        (plan, line)
    };
    let (_, bytes) = groups(&|text| text);
    assert!(bytes.contains("deficit_round_robin"), "{bytes}");
    let all = |text: String| text.replace("|3-4\"", "|0-7\"");
    let (_, packets) = groups(&|text| all(text).replace("DWRR", "WRR"));
    assert!(packets.contains("weighted_round_robin\", weights = [1, 1, 1"), "{packets}");
    let (mixed, by_bytes) = groups(&|text| text.replace("DWRR", "WRR"));
    assert!(by_bytes.contains("deficit_round_robin") && says(&mixed, "WRR and DWRR are mixed"), "{by_bytes}");
    let (_, strict) = groups(&|text| text.replace("DWRR", "STRICT"));
    assert!(strict.starts_with("scheduler = [{ queues = [4] }, { queues = [3] }, "), "{strict}");
    let (refused, _) =
        groups(&|text| text.replace("\"weight\": \"15\"", "\"weight\": \"0\", \"pir\": \"1250000000\""));
    assert!(
        says(&refused, "scheduler.1 has the weight 0, which SAI refuses; 1 is simulated"),
        "{:#?}",
        refused.notes
    );
    let rate = "{ queues = [3, 4], rate = \"10000000000 b/s\", burst = \"16384 B\" }";
    assert!(refused.scenario.contains(rate), "{}", refused.scenario);
    let (packets, _) = groups(&|text| {
        text.replace(
            "\"weight\": \"15\"",
            "\"meter_type\": \"packets\", \"weight\": \"15\", \"cir\": \"9000\"",
        )
    });
    assert!(says(&packets, "guaranteed rate of scheduler.1 (cir, 9000 packets/s)"), "{:#?}", packets.notes);
    let (in_packets, _) = groups(&|text| {
        text.replace(
            "\"weight\": \"15\"",
            "\"meter_type\": \"packets\", \"weight\": \"15\", \"pir\": \"9000\"",
        )
    });
    assert!(says(&in_packets, "Not simulated: the peak rate of scheduler.1 (pir, 9000 packets/s)"));
}

#[test]
fn watchdogs_are_named_and_neighbours_react_in_the_time_of_their_speed() {
    assert!(says(&plan(|text| text), "Not simulated: watchdogs"));
    let config = switch(|name, text| match name {
        "port_config.ini" => text.replacen("100000\n", "40000\n", 1),
        "pg_profile_lookup.ini" => text.replace("  100000  40m", "  40000  5m"),
        _ => text,
    });
    let model = model(&config, "trident3");
    let plan =
        WhatIf::new("what-if", (&config, &model), None, &Traffic::new(Kind::RdmaTcp)).expect("it fits");
    // IEEE 802.1Qbb allows 394 quanta of 512 bits at 100 Gb/s, and 118 quanta at 40 Gb/s.
    let own = "by_port = [{ ports = [0], reaction = \"1510400 ps\" }]";
    assert!(plan.scenario.contains(own), "{}", plan.scenario);
    assert!(plan.scenario.contains("reaction = \"2017280 ps\""), "{}", plan.scenario);
}
