//! Tests that the PFC watchdog detects storms according to its vectors, and that wrong watchdogs
//! fail the vectors.

use crate::support::{files, path};
use bufferlab_conformance::vectors::VectorCase;
use bufferlab_conformance::vectors::watchdog::{Watchdog, WatchdogCase};
use bufferlab_core::Choice;
use bufferlab_core::watchdog::{
    QueueSample, QueueWatchdog, StormChange, WatchdogAction, WatchdogRule, WatchdogSpec,
};
use bufferlab_units::Time;

fn cases() -> Vec<WatchdogCase> {
    let load =
        |name: &String| WatchdogCase::load(&path("watchdog", name)).unwrap_or_else(|error| panic!("{error}"));
    files("watchdog").iter().flat_map(load).collect()
}

#[test]
fn the_watchdog_finds_the_storms_of_its_vectors() {
    let mismatches = cases().into_iter().filter_map(|case| case.run(&mut QueueWatchdog::default()).err());
    let list: Vec<_> = mismatches.map(|mismatch| mismatch.to_string()).collect();
    assert!(list.is_empty(), "\n{}\n", list.join("\n"));
}

#[test]
fn every_rule_has_a_file_and_every_action_a_case() {
    for &rule in WatchdogRule::ALL {
        let own =
            WatchdogCase::load(&path("watchdog", rule.word())).unwrap_or_else(|error| panic!("{error}"));
        assert!(own.len() >= 3 && own.iter().all(|case| case.spec.rule == rule), "{}", rule.word());
    }
    for &action in WatchdogAction::ALL {
        assert!(cases().iter().any(|case| case.spec.action == action), "{}", action.word());
    }
}

/// Defects that the tests build into a PFC watchdog.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    /// The watchdog counts interrupted waiting of a queue as continuous waiting.
    RemembersInterruptions,
    /// A pause in force does not prolong a storm of the watchdog.
    RestoresWhilePaused,
    /// Pause frames do not prolong a storm of the watchdog.
    RestoresDespiteFrames,
    /// The watchdog sees a storm in an empty queue.
    SeesEmptyQueues,
    /// The watchdog sees a storm in a queue that sends.
    SeesQueuesThatSend,
    /// The watchdog applies the detection rule of another vendor.
    TakesTheOtherRule,
    /// The watchdog ends a storm after the detection time instead of the restoration time.
    TakesTheOtherTime,
    /// The watchdog detects a storm after one poll too few.
    CountsOneMore,
    /// A link failure does not reset the watchdog.
    SurvivesTheLink,
}

/// An independent PFC watchdog with a selectable defect, written from the description of the vector
/// format.
struct Defective {
    defect: Defect,
    seen: QueueSample,
    so_far: Time,
    storm: bool,
}

impl Watchdog for Defective {
    fn poll(&mut self, spec: &WatchdogSpec, mut found: QueueSample) -> Option<StormChange> {
        let is = |defect| self.defect == defect;
        found.is_waiting |= is(Defect::SeesEmptyQueues);
        let seen = std::mem::replace(&mut self.seen, found);
        let frames = found.pause_frames - seen.pause_frames;
        let by_time = (spec.rule == WatchdogRule::Mellanox) != is(Defect::TakesTheOtherRule);
        let holds = if self.storm {
            (frames == 0 || is(Defect::RestoresDespiteFrames))
                && (!found.is_paused || is(Defect::RestoresWhilePaused))
        } else if by_time {
            (found.paused - seen.paused).0 * 100 > spec.poll.0 * 99
        } else {
            frames > 0 && found.ended_pauses == seen.ended_pauses
        };
        let still = found.sent_packets == seen.sent_packets || is(Defect::SeesQueuesThatSend);
        let goes_on = holds && (self.storm || (found.is_waiting && still));
        if goes_on {
            self.so_far += spec.poll;
        } else if !is(Defect::RemembersInterruptions) {
            self.so_far = Time::ZERO;
        }
        let mut wanted =
            if self.storm != is(Defect::TakesTheOtherTime) { spec.restoration } else { spec.detection };
        if is(Defect::CountsOneMore) {
            wanted = wanted - spec.poll;
        }
        if !goes_on || self.so_far < wanted {
            return None;
        }
        self.so_far = Time::ZERO;
        self.storm = !self.storm;
        Some(if self.storm { StormChange::Begins } else { StormChange::Ends })
    }

    fn reset(&mut self) {
        if self.defect != Defect::SurvivesTheLink {
            (self.so_far, self.storm) = (Time::ZERO, false);
        }
    }

    fn is_storm(&self) -> bool {
        self.storm
    }
}

/// Returns the cases that a watchdog with a defect fails.
fn caught(defect: Defect) -> Vec<String> {
    let fails = |case: &WatchdogCase| {
        let mut watchdog =
            Defective { defect, seen: QueueSample::default(), so_far: Time::ZERO, storm: false };
        case.run(&mut watchdog).is_err()
    };
    cases().into_iter().filter(fails).map(|case| case.head.name).collect()
}

#[test]
fn watchdogs_that_are_wrong_in_one_way_are_caught() {
    assert_eq!(caught(Defect::None), [""; 0]);
    for (defect, name) in [
        (Defect::RemembersInterruptions, "waiting that was interrupted is forgotten"),
        (
            Defect::RestoresWhilePaused,
            "the queue is restored when no frame came and no pause was in force for the restoration time",
        ),
        (
            Defect::RestoresDespiteFrames,
            "the queue is restored when no frame came and no pause was in force for the restoration time",
        ),
        (Defect::SeesEmptyQueues, "an empty queue is in no storm, however long it is paused"),
        (Defect::SeesQueuesThatSend, "waiting that was interrupted is forgotten"),
        (Defect::TakesTheOtherRule, "a pause that nobody repeats is no storm"),
        (Defect::TakesTheOtherTime, "a queue that is paused for the detection time is in a storm"),
        (Defect::CountsOneMore, "a queue that is paused for the detection time is in a storm"),
        (Defect::SurvivesTheLink, "a link that goes down ends the storm and what led to one"),
    ] {
        let caught = caught(defect);
        assert!(
            caught.iter().any(|case| case == name),
            "{defect:?}: \"{name}\" did not notice; {caught:?} did"
        );
    }
}

const GOOD: &str = r#"
[[case]]
name = "two polls"
source = "hand calculation"
watchdog = { rule = "mellanox", action = "drop", detection = "20 us", restoration = "10 us", poll = "10 us" }
steps = [
  { waiting = true, in_pause = true, paused = "10 us", expect = "none", storm = false },
  { waiting = true, in_pause = true, paused = "10 us", expect = "begins", pauses = "ignored", packets = "discarded" },
  { link_down = true, storm = false },
]
"#;

#[test]
fn wrong_expectations_and_malformed_cases_are_refused_with_their_line() {
    let run = |text: &str| match WatchdogCase::parse("example.toml", text) {
        Err(error) => Err(error.to_string()),
        Ok(cases) => cases[0].run(&mut QueueWatchdog::default()).map_err(|mismatch| mismatch.to_string()),
    };
    assert_eq!(run(GOOD), Ok(()));
    for (right, wrong, message) in [
        (
            "expect = \"begins\"",
            "expect = \"none\"",
            "example.toml:8: case \"two polls\", step 2: poll 1: expected",
        ),
        ("\"ignored\"", "\"obeyed\"", "step 2: pauses are ignored: expected false, found true"),
        ("\"discarded\"", "\"kept\"", "step 2: packets are discarded: expected false, found true"),
        ("true, storm = false", "true, storm = true", "step 3: a storm holds the queue: expected true"),
        ("\"mellanox\"", "\"cisco\"", "example.toml:2: there is no rule \"cisco\""),
        ("\"drop\"", "\"stop\"", "example.toml:2: there is no action \"stop\""),
        ("detection = \"20 us\"", "detection = \"20\"", "example.toml:2: \"20\"; expected a time"),
        ("expect = \"none\", ", "", "example.toml:7: expect = None; expected none, begins or ends"),
        ("{ waiting", "{ polls = 0, waiting", "example.toml:7: polls = 0"),
        ("link_down = true", "link_down = true, polls = 1", "example.toml:9: a step is a number of polls"),
        ("link_down = true", "link_down = true, expect = \"none\"", "example.toml:9: nothing polls"),
        ("\"hand calculation\"", "\" \"", "example.toml:2: \"two polls\" has no source"),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let error = run(&GOOD.replacen(right, wrong, 1)).expect_err(wrong);
        assert!(error.contains(message), "{wrong}: {error}");
    }
}
