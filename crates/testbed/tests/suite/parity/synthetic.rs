//! Tests synthetic arrivals under every policy that does not follow flows.

use bufferlab_core::{Header, policies};
use bufferlab_dataplane::{SwitchFile, load_text};
use bufferlab_testbed::parity::{ParityError, drive, synthetic, verify};
use std::path::Path;

/// Returns a switch with four ports at two rates. At 300 Mb/s, the duration of a byte is not a
/// whole number of nanoseconds.
fn switch(rest: &str) -> SwitchFile {
    let ports = [100, 100, 100, 300].iter().enumerate();
    let ports: String = ports
        .map(|(index, rate)| format!("[[port]]\ninterface = \"p{index}\"\nrate = \"{rate} Mb/s\"\n"))
        .collect();
    load_text(Path::new("switch.toml"), &format!("{ports}[switch]\n{rest}\n"))
        .unwrap_or_else(|error| panic!("{}", error.in_lines()))
}

/// Compares switch and simulator under the main policies, with 10^5 packets each, including marking
/// and evictions.
#[test]
fn the_named_policies_answer_alike() {
    let low = "ecn = { kind = \"step\", threshold = \"2 KB\" }";
    let step = "ecn = { kind = \"step\", threshold = \"20 KB\" }";
    let cases = [
        ("dt", format!("buffer = \"128 KB\"\npolicy = \"dt\"\n{step}")),
        ("abm", format!("buffer = \"128 KB\"\nqueues_per_port = 4\npolicy = \"abm\"\n{low}")),
        ("tdt", "buffer = \"256 KB\"\npolicy = \"tdt\"".to_owned()),
        (
            "losspass",
            format!(
                "buffer = \"128 KB\"\nqueues_per_port = 2\nscheduler = \"strict_priority\"\n{step}\n\
                 policy = {{ name = \"losspass\", port_limit = \"static\" }}"
            ),
        ),
        ("plasticine", format!("buffer = \"128 KB\"\nqueues_per_port = 2\npolicy = \"plasticine\"\n{step}")),
        ("reverie", format!("buffer = \"128 KB\"\nqueues_per_port = 2\npolicy = \"reverie\"\n{step}")),
    ];
    for (name, rest) in cases {
        let file = switch(&rest);
        let rows = drive(&file, &synthetic(&file, 100_000, 7)).expect("the policy fits the switch");
        let comparison = verify(&file, &rows).expect("it can be compared");
        assert_eq!(comparison.differences, 0, "{name}: {:#?}", comparison.first);
        assert_eq!(comparison.packets, 100_000);
        assert!(comparison.sent > 50_000, "{name}: {} sent", comparison.sent);
        assert!(comparison.dropped + comparison.evicted > 1_000, "{name}: nothing was lost");
        assert_eq!(comparison.marked > 1_000, rest.contains("ecn"), "{name}: {} marked", comparison.marked);
        assert_eq!(comparison.evicted > 1_000, name == "losspass", "{name}: {} evicted", comparison.evicted);
    }
}

#[test]
fn every_policy_that_does_not_follow_flows_answers_alike() {
    let (mut compared, mut followers) = (0, Vec::new());
    for info in policies() {
        let file = switch(&format!("buffer = \"100 KB\"\nqueues_per_port = 2\npolicy = \"{}\"", info.name));
        let rows = drive(&file, &synthetic(&file, 5_000, 11)).expect("the policy fits the switch");
        match verify(&file, &rows) {
            Ok(comparison) => {
                assert_eq!(comparison.differences, 0, "{}: {:#?}", info.name, comparison.first);
                compared += 1;
            }
            Err(ParityError::FollowsFlows(_)) => followers.push(info.name),
            Err(error) => panic!("{}: {error}", info.name),
        }
    }
    followers.sort_unstable();
    assert_eq!(followers, ["fab", "ib", "plasticine-single"], "policies with flow tables of their own");
    assert_eq!(compared + followers.len(), policies().len());
}

#[test]
fn a_classifier_that_follows_flows_is_compared_too() {
    let file = switch(
        "buffer = \"128 KB\"\nqueues_per_port = 2\npolicy = { name = \"losspass\", port_limit = \"static\" }\n\
         classifier = { name = \"elephant-trap\", short_queue = 0 }",
    );
    let arrivals: Vec<_> = synthetic(&file, 20_000, 3)
        .into_iter()
        .map(|arrival| bufferlab_dataplane::Incoming {
            header: Header { priority: 1, ..arrival.header },
            ..arrival
        })
        .collect();
    let rows = drive(&file, &arrivals).expect("the policy fits the switch");
    assert!(rows.iter().any(|row| row.queue == 0) && rows.iter().any(|row| row.queue == 1));
    let comparison = verify(&file, &rows).expect("it can be compared");
    assert_eq!(comparison.differences, 0, "{:#?}", comparison.first);
}

/// Tests that the comparison detects every kind of difference.
#[test]
fn a_record_that_was_changed_is_caught() {
    use bufferlab_core::Refusal;
    use bufferlab_dataplane::{Fate, Recorded};
    use bufferlab_units::Time;
    let file = switch(
        "buffer = \"60 KB\"\nqueues_per_port = 2\npolicy = \"dt\"\necn = { kind = \"step\", threshold = \"9 KB\" }",
    );
    let rows = drive(&file, &synthetic(&file, 5_000, 5)).expect("the policy fits the switch");
    let sent = rows.iter().position(|row| matches!(row.fate, Fate::Sent { .. })).expect("one is sent");
    let lost = rows.iter().position(|row| matches!(row.fate, Fate::Refused(_))).expect("one is lost");
    let Fate::Sent { at, marked } = rows[sent].fate else { unreachable!("it was sent") };
    let Fate::Refused(Refusal { reason, .. }) = rows[lost].fate else { unreachable!("it was lost") };
    let other = bufferlab_core::DropReason::ALL
        .iter()
        .copied()
        .find(|one| *one != reason)
        .expect("there are several");
    type Change<'a> = (&'static str, usize, &'a dyn Fn(&mut Recorded));
    let changes: [Change<'_>; 6] = [
        ("departure", sent, &|row| row.fate = Fate::Sent { at: at + Time::from_ns(1), marked }),
        ("mark", sent, &|row| row.fate = Fate::Sent { at, marked: !marked }),
        ("verdict", sent, &|row| row.fate = Fate::Refused(Refusal::dropped(reason))),
        ("verdict", lost, &|row| row.fate = Fate::Sent { at, marked: false }),
        ("losses", lost, &|row| row.fate = Fate::Refused(Refusal::dropped(other))),
        ("queue", lost, &|row| row.queue ^= 1),
    ];
    for (what, index, change) in changes {
        let mut changed = rows.clone();
        change(&mut changed[index]);
        let comparison = verify(&file, &changed).expect("it can be compared");
        assert!(comparison.first.iter().any(|one| one.what == what), "{what}: {:?}", comparison.first);
    }
}
