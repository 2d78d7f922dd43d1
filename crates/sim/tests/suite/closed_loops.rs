//! Tests that closed loops keep exactly the set number of queries in progress,
//! and that queries take the expected time.

use crate::support::{Lab, Rows, run, star};
use bufferlab_units::{BitRate, Time};

/// Hosts with cables of 1 Gb/s and 125 us to a switch that loses no
/// packet. Full segments have 1,514 B.
fn lab() -> Lab {
    let transport =
        "congestion_control = \"dctcp\"\nsegment_bytes = \"1460 B\"\nhandshake = false\npersistent = true";
    Lab::new(&star(7, "1 Gb/s", "125 us"), "buffer = \"64 MB\"\npolicy = \"cs\"", transport)
}

fn ask(keys: &str) -> String {
    format!(
        "[[workload]]\nkind = \"multi_get\"\nclients = \"h0\"\nservers = [\"h1\", \"h2\", \"h3\", \"h4\"]\n{keys}"
    )
}

/// Start and end of every query (ns), sorted by start.
fn queries(rows: &Rows) -> Vec<(u64, u64)> {
    let ends =
        |row: &bufferlab_metrics::QueryRow| (row.start_ns, row.start_ns + row.qct_ns.expect("complete"));
    let mut queries: Vec<_> = rows.queries.iter().map(ends).collect();
    queries.sort_unstable();
    queries
}

/// Number of queries in progress just after `instant`. Starts and ends are rounded to a nanosecond.
fn under_way(queries: &[(u64, u64)], instant: u64) -> usize {
    queries.iter().filter(|(start, end)| (*start..*end).contains(&(instant + 2))).count()
}

#[test]
fn every_thread_has_exactly_one_query_under_way() {
    let scenario = lab().times("2 s", "1 s").workloads(&ask("threads = 16\nitem = \"32 KB\"\nqueries = 400"));
    let rows = run(&scenario);
    let queries = queries(&rows);
    assert_eq!(queries.len(), 400);
    // Threads end once the 400th query has been sent.
    let last_start = queries.last().expect("queries").0;
    let moments: Vec<_> = queries.iter().map(|query| query.0).filter(|&start| start < last_start).collect();
    assert!(moments.iter().all(|&moment| under_way(&queries, moment) == 16), "never 15, never 17");
    assert!(rows.queries.iter().all(|query| query.fan_in == 4 && query.request_bytes == 4 * 32_000));
    assert_eq!(rows.flows.len(), 1_600);
    assert!(rows.all_finished());
}

#[test]
fn a_single_thread_follows_the_closed_form() {
    let think = "think_time = \"300 us\"\nthink_distribution = \"fixed\"";
    let keys =
        format!("fan_in = 1\nitem = \"1460 B\"\nrequest_delay = \"100 us\"\nstart = \"1 ms\"\n{think}");
    let rows = run(&lab().workloads(&ask(&keys)));
    let queries = queries(&rows);
    let packet = BitRate::gbps(1).serialization(1_514).0 + Time::from_us(125).0;
    let qct = (Time::from_us(100).0 + 2 * packet).div_ceil(1_000);
    let first = queries[0].0;
    assert!((1_000_000..1_300_000).contains(&first), "a part of its first thought is over: {first}");
    for (at, (start, end)) in queries.iter().enumerate() {
        let expected = first + at as u64 * (qct + 300_000);
        assert!(start.abs_diff(expected) <= 1 + at as u64, "query {at}: {start}, {expected}");
        assert!((end - start).abs_diff(qct) <= 1, "{}", end - start);
    }
    // The list has every query that begins before 10 ms.
    assert_eq!(queries.len() as u64, (10_000_000 - first).div_ceil(qct + 300_000));
}

#[test]
fn requests_take_half_a_round_trip_unless_the_scenario_says_otherwise() {
    let time = |keys: &str| {
        let rows = run(&lab().workloads(&ask(&format!("fan_in = 1\nitem = \"1 KB\"\nqueries = 1\n{keys}"))));
        rows.queries[0].qct_ns.expect("complete")
    };
    // The request crosses two cables of 125 us.
    assert_eq!(time("") - time("request_delay = \"0 s\""), 250_000);
}

#[test]
fn what_threads_ask_does_not_depend_on_the_network() {
    let partners = |delay: &str| {
        let lab = Lab::new(
            &star(7, "1 Gb/s", delay),
            "buffer = \"64 MB\"\npolicy = \"cs\"",
            "congestion_control = \"newreno\"",
        );
        let rows = run(&lab.workloads(&ask("threads = 1\nfan_in = 2\nitem = \"9 KB\"\nqueries = 30")));
        rows.flows_by_number().iter().map(|flow| flow.src_host).collect::<Vec<_>>()
    };
    assert_eq!(partners("1 us"), partners("20 us"));
}

#[test]
fn the_same_seed_gives_the_same_rows_and_another_seed_others() {
    let rows = |seed| {
        let keys = "threads = 4\nfan_in = 2\nitem = \"32 KB\"\nthink_time = \"50 us\"\nqueries = 50";
        run(&lab().seed(seed).workloads(&ask(keys)))
    };
    assert_eq!(rows(1), rows(1));
    assert_ne!(rows(1).queries, rows(2).queries);
}

#[test]
fn threads_stop_at_the_end_of_the_arrivals_and_their_last_queries_are_answered() {
    let rows = run(&lab().times("5 ms", "1 s").workloads(&ask("threads = 3\nitem = \"32 KB\"")));
    let queries = queries(&rows);
    assert!(queries.iter().all(|query| query.0 < 5_000_000));
    assert_eq!(queries.iter().filter(|query| query.1 >= 5_000_000).count(), 3, "one of each thread goes on");
}

#[test]
fn two_clients_with_parallel_items_share_no_connection() {
    let tables = "[[workload]]\nkind = \"multi_get\"\nclients = [\"h0\", \"h6\"]\nthreads = 2\nitems = 12\nitem = \"10 KB\"\nanswers_per = \"item\"\nqueries = 20";
    let rows = run(&lab().workloads(tables));
    assert_eq!((rows.queries.len(), rows.flows.len()), (20, 240));
    assert!(rows.queries.iter().all(|query| query.fan_in == 12 && query.request_bytes == 120_000));
    // No client waits for another client: ten segments are the initial window,
    // and each client's link is the only queue.
    assert!(rows.all_finished());
}
