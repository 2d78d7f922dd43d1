//! Tests of the messages to users about deadlocks and storms.

use crate::support::Desk;

fn report(desk: &Desk, folder: &str) -> String {
    std::fs::read_to_string(desk.path(folder).join("report.html")).expect("the report is written")
}

#[test]
fn a_deadlock_is_told_on_the_terminal_and_in_the_report_and_one_that_was_broken_is_not() {
    let desk = Desk::with_scenarios();
    let told = desk.succeed(&["run", "scenarios/deadlock.toml", "--out", "stuck"]).replace("\n    ", " ");
    assert!(told.contains("1 run ended in a deadlock of pauses (sonic-dt): s0 → s1 → s2 wait"), "{told}");
    let page = report(&desk, "stuck");
    for text in ["<h2 id=\"pauses\">Pauses</h2>", "circle s0 → s1 → s2 → s0", "<strong>deadlock</strong>"]
    {
        assert!(page.contains(text), "{text}");
    }
    let watchdog = "switch.pfc.watchdog={ detection_time = \"1 ms\" }";
    let told = desk.succeed(&["run", "scenarios/deadlock.toml", "--set", watchdog, "--out", "broken"]);
    assert!(!told.contains("deadlock of pauses"), "{told}");
    let page = report(&desk, "broken");
    assert!(page.contains("watchdog: s0 port 1 priority 0") && !page.contains("<strong>deadlock</strong>"));
}

#[test]
fn a_packet_that_the_watchdog_discarded_is_explained() {
    let desk = Desk::with_scenarios();
    let told = desk.succeed(&["explain", "scenarios/pfc-storm.toml", "--event", "loss"]);
    assert!(told.contains("s0, port 0, priority 1: pfc-watchdog"), "{told}");
    assert!(
        told.contains("the PFC watchdog discards what comes to or from a queue that pauses storm"),
        "{told}"
    );
}

#[test]
fn a_report_without_flow_control_has_no_section_of_pauses() {
    let desk = Desk::with_tiny();
    desk.succeed(&["run", "tiny.toml", "--out", "plain"]);
    assert!(!report(&desk, "plain").contains("id=\"pauses\""));
}
