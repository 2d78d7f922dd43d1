//! Tests that registered policies give the verdicts in their golden vectors.

use crate::support::{files, load};
use bufferlab_conformance::vectors::{VectorEvent, VectorFile};
use bufferlab_core::{POLICIES, find_policy};

#[test]
fn every_registered_policy_gives_the_verdicts_of_its_vectors() {
    let mut mismatches = Vec::new();
    for info in POLICIES {
        for case in load("policy", info.name).cases {
            assert_eq!(case.policy, info.name, "{}:{}: a case of another policy", case.file, case.line);
            let mut device =
                case.build().unwrap_or_else(|error| panic!("{}:{}: {error}", case.file, case.line));
            mismatches.extend(case.run(&mut device, &mut |_, _| {}).err());
        }
    }
    let list: Vec<_> = mismatches.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

#[test]
fn every_vector_file_belongs_to_a_registered_policy() {
    for name in files("policy") {
        let is_known = find_policy(&name).is_some_and(|info| info.name == name);
        assert!(is_known, "testdata/policy/{name}.toml belongs to no policy");
    }
}

const GOOD: &str = r#"
[[case]]
name = "two of three"
source = "hand calculation"
policy = "dt"
params = { alpha = 2.0 }
buffer = { capacity = 3, ports = 1, max_packet = 1 }
steps = [
  { at_ns = 5, arrive = 0, size = 1, repeat = 2, expect = "admit" },
  { at_ns = 6, arrive = 0, size = 1, expect = "over-threshold", lengths = [2], thresholds = [2] },
  { at_ns = 7, fill = [0], size = 1, rounds = 2, round_ns = 3, drain = [0], each = 2 },
  { depart = 0, expect = "sent", from = 0 },
]
"#;

fn run(text: &str) -> Result<Vec<String>, String> {
    let file = VectorFile::parse("example.toml", text).map_err(|error| error.to_string())?;
    let mut log = Vec::new();
    for case in &file.cases {
        let mut device = case.build().map_err(|error| error.to_string())?;
        case.run(&mut device, &mut |operation, device| {
            let what = match &operation.event {
                VectorEvent::Arrive { queue, size, .. } => format!("arrive {queue} {size}"),
                VectorEvent::Depart { port } => format!("depart {port}"),
                other => format!("{other:?}"),
            };
            log.push(format!(
                "{} {what} {} {}",
                operation.now.as_ns(),
                operation.verdict,
                device.occupancy()
            ));
        })
        .map_err(|mismatch| mismatch.to_string())?;
    }
    Ok(log)
}

#[test]
fn a_case_unfolds_into_elementary_operations_with_time_and_verdict() {
    let log = run(GOOD).expect("it holds");
    assert_eq!(
        log,
        [
            "5 arrive 0 1 admit 1",
            "5 arrive 0 1 admit 2",
            "6 arrive 0 1 over-threshold 2",
            "10 depart 0 sent 1",
            "10 arrive 0 1 admit 2",
            "13 depart 0 sent 1",
            "13 arrive 0 1 admit 2",
            "13 depart 0 sent 1",
        ]
    );
}

#[test]
fn a_wrong_expectation_fails_and_the_message_names_file_line_case_and_step() {
    for (right, wrong, message) in [
        (
            "expect = \"over-threshold\"",
            "expect = \"admit\"",
            "example.toml:10: case \"two of three\", step 2: expected \"admit\", the device says \"over-threshold\" \
             (queues hold [2] B, thresholds [Some(2)])",
        ),
        ("repeat = 2", "repeat = 3", "expected \"admit\" at repetition 3"),
        ("lengths = [2]", "marks = 1", "step 2: expected 1 to 1 marks, found 0"),
        ("lengths = [2]", "lengths = [3]", "step 2: length of queue 0: expected 3 B ± 0 B, found 2 B"),
        (
            "thresholds = [2]",
            "thresholds = [4]",
            "step 2: threshold of queue 0: expected 4 B ± 0 B, found 2 B",
        ),
        ("each = 2", "each = 1", "step 3: length of queue 0: expected 1 B"),
        ("each = 2", "occupancy = 3", "step 3: occupancy: expected 3 B ± 0 B, found 2 B"),
        (
            "each = 2",
            "probes = [{ queue = 0, gamma = 1 }]",
            "step 3: gamma of queue 0: expected 1, found no such probe",
        ),
        ("from = 0", "from = 1", "step 4: expected a packet from queue Some(1)"),
        ("expect = \"sent\"", "expect = \"idle\"", "step 4: expected \"idle\""),
        (
            "lengths = [2]",
            "evicts = [0]",
            "step 2: expected evictions from the queues [0], found [] (queues hold [2] B",
        ),
        ("at_ns = 7", "at_ns = 4", "step 3: time runs backwards, from 6 ns to 4 ns"),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = run(&GOOD.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(error.contains(message), "{wrong}: {error}");
    }
}

#[test]
fn a_malformed_vector_is_refused_with_its_line() {
    for (right, wrong, message) in [
        ("policy = \"dt\"", "policy = \"dd\"", "example.toml:2: no policy is called \"dd\""),
        ("alpha = 2.0", "beta = 2.0", "dt has no parameter \"beta\""),
        ("alpha = 2.0", "alpha = \"two\"", "alpha: expected a number"),
        ("alpha = 2.0", "alpha = -1.0", "alpha: expected a number from"),
        ("source = \"hand calculation\"", "", "missing field `source`"),
        ("source = \"hand calculation\"", "source = \"\"", "example.toml:2: \"two of three\" has no source"),
        ("at_ns = 5, ", "at_us = 5, ", "unknown field `at_us`"),
        (
            "arrive = 0, size = 1, repeat",
            "arrive = 1, size = 1, repeat",
            "example.toml:9: there is no queue 1",
        ),
        ("arrive = 0, size = 1, repeat", "arrive = 0, repeat", "example.toml:9: the packet has no size"),
        (
            "expect = \"admit\"",
            "expect = \"admitted\"",
            "example.toml:9: expect = \"admitted\"; this event ends in",
        ),
        (", expect = \"admit\"", "", "example.toml:9: the verdict is missing"),
        ("lengths = [2]", "lengths = [2, 0]", "example.toml:10: 2 values for 1 queues"),
        ("lengths = [2]", "evicts = [1]", "example.toml:10: there is no queue 1"),
        ("each = 2", "probes = [{ queue = 1 }]", "example.toml:11: there is no queue 1"),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmark_above = [1, 2]",
            "mark_above has 2 thresholds for 1 queues per port",
        ),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmark_above = 1\nmarker = { kind = \"step\", threshold = 1 }",
            "expected mark_above or marker, found both",
        ),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmarker = { kind = \"red\", kmin = 2, kmax = 1 }",
            "is above kmax",
        ),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmarker = { kind = \"red\", kmin = 1, kmax = 2, pmax = 2.0 }",
            "pmax",
        ),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmarker = { kind = \"step\", threshold = 1, scope = \"pool\" }",
            "marker: scope: expected",
        ),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmarker = { kind = \"step\", threshold = 1, at = \"noon\" }",
            "marker: at: expected",
        ),
        (
            "max_packet = 1 }",
            "max_packet = 1 }\nmarker = { kind = \"step\", threshold = 1, priorities = [1] }",
            "there is no priority 1",
        ),
        ("max_packet = 1 }", "max_packet = 1 }\nmarker = { kind = \"noon\" }", "no rule is called \"noon\""),
        ("repeat = 2", "ecn = \"maybe\"", "expected capable, marked or not-capable"),
        ("rounds = 2, ", "", "example.toml:11: a fill needs its number of rounds"),
        ("depart = 0", "depart = 0, arrive = 0", "example.toml:12: a step is one of arrive, depart and fill"),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = run(&GOOD.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(error.contains(message), "{wrong}: {error}");
    }
}
