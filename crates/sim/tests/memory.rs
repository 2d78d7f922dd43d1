//! Compares the memory estimate of a scenario with the memory that its construction takes.

#[path = "suite/support.rs"]
mod support;

use bufferlab_core::{CLASSIFIERS, POLICIES};
use bufferlab_scenario::Scenario;
use bufferlab_sim::{MemoryEstimate, Simulation};
use bufferlab_units::Time;
use support::{Lab, flow, star};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const TCP: &str = "congestion_control = \"newreno\"";
const TRAFFIC: &str = "[[workload]]\nkind = \"poisson\"\ntransport = \"t0\"\nsizes = \"1 KB\"\nload = 0.1\n\
                       load_of = \"host_links\"\npattern = \"all_to_all\"";
/// Largest ratio of estimated to measured memory. A higher estimate would
/// refuse scenarios that can run.
const TOO_CAREFUL: f64 = 2.5;
/// Size below which the error of an estimate does not matter (bytes).
const LITTLE: u64 = 3_000_000;

/// Peak memory that the construction of a scenario takes (bytes).
fn built(scenario: &Scenario) -> u64 {
    let _profiler = dhat::Profiler::builder().testing().build();
    let simulation = Simulation::new(scenario).unwrap_or_else(|error| panic!("{error}"));
    let peak = dhat::HeapStats::get().max_bytes as u64;
    drop(simulation);
    peak
}

/// Compares estimate and measurement for a scenario. `held` bytes of the estimate
/// belong to the scenario itself.
fn check(name: &str, scenario: &Scenario, held: u64) {
    let estimate = MemoryEstimate::new(scenario);
    let (said, found) = (estimate.bytes() - held, built(scenario));
    println!("{name}: estimated {said}, built {found}, ratio {:.2}", said as f64 / found as f64);
    assert!(said >= found, "{name}: {said} B are estimated and {found} B were taken: {estimate:?}");
    assert!(
        said <= LITTLE || (said as f64) < TOO_CAREFUL * found as f64,
        "{name}: {said} B are estimated and only {found} B were taken: {estimate:?}"
    );
}

fn on_a_star(hosts: u32, switch: &str) -> Scenario {
    let switch = format!("buffer = \"40 MB\"\n{switch}");
    Lab::new(&star(hosts, "10 Gb/s", "1 us"), &switch, TCP).workloads(TRAFFIC)
}

fn leaf_spine(leaves: u32, hosts: u32, spines: u32, switch: &str) -> Scenario {
    let topology = format!(
        "kind = \"leaf_spine\"\nleaves = {leaves}\nhosts_per_leaf = {hosts}\nspines = {spines}\n\
         host_rate = \"10 Gb/s\"\nfabric_rate = \"40 Gb/s\"\ndelay = \"1 us\""
    );
    Lab::new(&topology, &format!("buffer = \"40 MB\"\n{switch}"), TCP).workloads(TRAFFIC)
}

fn shapes() {
    for (hosts, queues) in [(2, 1), (300, 1), (1_500, 8), (600, 32), (9_000, 1)] {
        let switch = format!("policy = \"dt\"\nqueues_per_port = {queues}");
        check(&format!("{hosts} ports, {queues} queues"), &on_a_star(hosts, &switch), 0);
    }
    for (leaves, hosts, spines, queues) in [(100, 10, 20, 1), (40, 40, 20, 8), (300, 2, 40, 2)] {
        let switch = format!("policy = \"dt\"\nqueues_per_port = {queues}");
        check(
            &format!("{leaves} leaves, {hosts} hosts each, {queues} queues"),
            &leaf_spine(leaves, hosts, spines, &switch),
            0,
        );
    }
    for slices in [2, 16, 64] {
        let switch = format!("policy = \"dt\"\nqueues_per_port = 8\nhardware = {{ slices = {slices} }}");
        check(&format!("{slices} slices"), &on_a_star(512, &switch), 0);
    }
    let switch = "policy = { name = \"sonic-dt\", headroom = \"10 KB\" }\nqueues_per_port = 8\npfc = { priorities = [3, 4] }";
    check("lossless", &on_a_star(512, switch), 0);
}

/// Detects a policy with a new table, or with more state per queue, that the estimate
/// does not include.
fn policies() {
    for info in POLICIES.iter() {
        let params = if info.params.iter().any(|param| param.name == "flow_entries") {
            ", flow_entries = 100000"
        } else {
            ""
        };
        let switch = format!("policy = {{ name = \"{}\"{params} }}\nqueues_per_port = 8", info.name);
        let scenario = on_a_star(256, &switch);
        check(&format!("{}{params}", info.name), &scenario, 0);
    }
    let both =
        "policy = { name = \"ib\", flow_entries = 300000, priority_queue = true }\nqueues_per_port = 8";
    check("two tables", &on_a_star(8, both), 0);
    let marked = "policy = { name = \"plasticine-single\", flow_entries = 300000, short_flows = \"tag\" }";
    check("no table", &on_a_star(8, marked), 0);
    for info in CLASSIFIERS.all() {
        if info.params.iter().any(|param| param.name == "flow_entries") {
            let switch = format!(
                "policy = \"dt\"\nqueues_per_port = 8\nclassifier = {{ name = \"{}\", flow_entries = 300000, short_queue = 1 }}",
                info.name
            );
            check(info.name, &on_a_star(8, &switch), 0);
        }
    }
}

/// The checks are one test, because the allocator's counters cover the whole process.
#[test]
fn an_estimate_is_above_what_is_taken_and_not_far_above() {
    shapes();
    policies();
    let list = Lab::new(&star(8, "10 Gb/s", "2 us"), "buffer = \"40 MB\"\npolicy = \"cs\"", TCP)
        .flows((0..200_000).map(|n| flow(n % 7, 7, 1_400, Time::from_ns(u64::from(n)))).collect());
    check("a list of flows", &list, 200_000 * size_of::<bufferlab_workload::FlowSpec>() as u64);
    let delays = Lab::new(
        &star(512, "10 Gb/s", "2 us"),
        "buffer = \"40 MB\"\npolicy = \"dt\"\nqueues_per_port = 8",
        TCP,
    )
    .more("[output]\ndelays = true");
    check("delays", &delays.workloads(TRAFFIC), 0);
}
