//! Compares the playground's sentences with results of the simulator.

use super::*;

/// Choices of the playground's user, for a burst that has arrived about 65 us after the start.
fn fast(priority: u64) -> Choices {
    Choices {
        ports: 8,
        queues: 4,
        rate_gbps: 40,
        buffer_kb: 600,
        overloaded: 4,
        busy: 1,
        senders: 7,
        burst_kb: 900,
        priority,
        policy: "abm".to_owned(),
        alpha: String::new(),
        by: By::Port,
    }
}

/// Number of the burst's lost packets, under ABM with this refresh interval.
fn lost(priority: u64, interval: &str) -> usize {
    let text = scenario_text(&fast(priority)).expect("a scenario");
    let policy = format!("{{ name = \"abm\", update_interval = \"{interval}\" }}");
    let overrides = [("output.packets".to_owned(), "all".to_owned()), ("switch.policy".to_owned(), policy)];
    let loaded = load_text(Path::new("playground.toml"), &text, &overrides).expect("it loads");
    let mut rows = Packets::default();
    let simulation = Simulation::new(&loaded.scenario).expect("it begins");
    let burst = simulation.classes().iter().position(|class| class == "burst").map(|class| class as u16);
    simulation.run(&mut rows, &mut |_| {}).expect("it runs");
    rows.0.iter().filter(|row| row.class == burst && row.event.is_loss()).count()
}

/// ABM counts congested queues of a priority every 80 us. If a burst arrives before the first
/// refresh, the counts describe an empty switch, for any priority of the burst. A later burst finds
/// updated counts.
#[test]
fn abm_tells_priorities_apart_from_its_first_look_on_and_the_page_says_when_there_was_none() {
    assert_eq!(lost(0, "80 us"), lost(3, "80 us"));
    assert!(lost(0, "10 us") > lost(3, "10 us"), "the overload is of priority 0: its queues count");
    let said = Play.run(&fast(3)).expect("it runs").sentence;
    assert!(said.contains("What abm refreshes every 80 us is still as in an empty switch"), "{said}");
    let slower = Choices { rate_gbps: 10, ..fast(3) };
    let said = Play.run(&slower).expect("it runs").sentence;
    assert!(!said.contains("refreshes"), "{said}");
    let said = Play.run(&Choices { policy: "dt".to_owned(), ..fast(3) }).expect("it runs").sentence;
    assert!(!said.contains("refreshes"), "{said}");
}
