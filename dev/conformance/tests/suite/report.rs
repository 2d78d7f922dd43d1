//! Tests that one call reports all claims about a new policy. The tests are a separate binary,
//! because registered policies stay registered.

use bufferlab_conformance::vectors::VectorFile;
use bufferlab_conformance::{Effort, Finding, Options, check};
use bufferlab_core::*;

/// A policy that admits packets that fit, but admits every packet to one queue.
#[derive(Debug)]
struct Careless;

impl Policy for Careless {
    fn admit(&mut self, arrival: &Arrival, buffer: &Buffer) -> Verdict {
        if buffer.fits(arrival.header.size) || arrival.queue == QueueId(1) {
            return Verdict::Admit(Account::Shared);
        }
        Verdict::Drop(DropReason::BufferFull)
    }
}

/// A policy that reports an internal error after a drop.
#[derive(Debug)]
struct Forgetful(Option<PolicyFailure>);

impl Policy for Forgetful {
    fn admit(&mut self, _: &Arrival, _: &Buffer) -> Verdict {
        Verdict::Drop(DropReason::Early)
    }

    fn hooks(&self) -> Hooks {
        Hooks::DROP
    }

    fn on_drop(&mut self, arrival: &Arrival, _: DropReason, _: &Buffer) {
        let cause = std::sync::Arc::new(std::io::Error::other("line 3 of the scheme"));
        self.0 = Some(PolicyFailure {
            now: arrival.now,
            queue: Some(arrival.queue),
            hook: "on_drop",
            what: "it forgot".to_owned(),
            cause: Some(cause),
        });
    }

    fn take_failure(&mut self) -> Option<PolicyFailure> {
        self.0.take()
    }
}

fn register(name: &'static str, build: PolicyConstructor) -> &'static PolicyInfo {
    register_policy(PolicyInfo {
        name,
        aliases: &[],
        title: "Own",
        summary: "Of a test.",
        source: "A test.",
        cost: "O(1)",
        params: &[],
        build,
    })
    .expect("the name is free")
}

fn quick() -> Options {
    Options { effort: Effort::quick(), ..Options::default() }
}

#[test]
fn the_report_lists_every_claim_and_shows_the_shortest_script_that_breaks_one() {
    let report = check(register("careless", &|_, _| Ok(Box::new(Careless))), &quick());
    assert!(!report.holds());
    let text = report.to_string();
    let failed: Vec<_> = report.failures().map(|check| check.claim.as_str()).collect();
    assert_eq!(
        failed,
        [
            "stays within the buffer",
            "conserves packets, and its ledger is right",
            "is deterministic",
            "is work conserving",
            "admits up to its threshold and not beyond",
            "keeps its timers: they advance and arrivals never hasten them",
            "tolerates early and repeated timeouts",
            "refuses packets larger than the buffer",
            "evicts only for packets that it then stores, and no more than it claims",
            "keeps reserves, limits and the buffer on a chip with cells, stale thresholds and rounded alphas",
        ],
        "a policy that failed keeps no promise"
    );
    assert!(
        text.starts_with("careless: 0 of 10 claims hold\n  FAIL  stays within the buffer: admit: admitted "),
        "{text}"
    );
    assert!(text.contains("  -     is monotone in alpha: it has no parameter alpha\n"), "{text}");
    // Three packets fill the tiny buffer, but the broken policy admits a fourth packet.
    let Finding::Fails(violation) = &report.checks[0].finding else { panic!("{text}") };
    assert_eq!((violation.script.operations.len(), violation.script.config.capacity), (4, 300));
    assert!(text.contains("\n  3: Arrive { queue: 1,"), "{text}");
    assert!(report.into_result().is_err());
}

#[test]
fn an_error_inside_a_policy_is_shown_with_its_cause() {
    let report = check(register("forgetful", &|_, _| Ok(Box::new(Forgetful(None)))), &quick());
    let text = report.to_string();
    assert!(text.contains("FAIL  stays within the buffer: on_drop: it forgot\n"), "{text}");
    assert!(text.contains("fails at operation 0: on_drop: it forgot\nline 3 of the scheme"), "{text}");
}

#[test]
fn vectors_of_a_custom_policy_count_as_claims() {
    let build: PolicyConstructor = &|_, _| Ok(Box::new(bufferlab_core::policy::CompleteSharing));
    let info = register("with-vectors", build);
    let text = r#"
[[case]]
name = "three fit"
source = "hand calculation"
policy = "with-vectors"
buffer = { capacity = 3, ports = 1, max_packet = 1 }
steps = [
  { arrive = 0, size = 1, repeat = 3, expect = "admit" },
  { arrive = 0, size = 1, expect = "buffer-full" },
]

[[case]]
name = "four fit"
source = "a mistake"
policy = "with-vectors"
buffer = { capacity = 3, ports = 1, max_packet = 1 }
steps = [{ arrive = 0, size = 1, repeat = 4, expect = "admit" }]
"#;
    let vectors = vec![VectorFile::parse("own.toml", text).expect("it parses")];
    let report = check(info, &Options { vectors, ..quick() });
    let failed: Vec<_> = report.failures().map(|check| check.claim.as_str()).collect();
    assert_eq!(failed, ["vector: four fit"]);
    assert!(report.checks.iter().any(|check| check.claim == "vector: three fit"));
    assert!(report.to_string().contains("own.toml:17: case \"four fit\", step 1"), "{report}");
}
