//! Tests of the numerical meaning of a scenario's keys.

use crate::common::shipped_with;
use bufferlab_core::mark::{BufferAware, Moment, Scope, Step, Watch};
use bufferlab_core::{BuildError, Marking, ParamValue, SwitchConfig, Weight};
use bufferlab_scenario::{EcnSpec, InitialWindow, LoadReference, Multipath, Node, Scenario, load, load_text};
use bufferlab_units::{BitRate, Time};
use bufferlab_workload::{Entry, FlowSource, FlowSpec, Pattern, RunFacts, SizeDistribution, Traffic};
use std::path::Path;

fn alpha(loaded: &bufferlab_scenario::Loaded) -> &ParamValue {
    let params = &loaded.scenario.switches[0].policy_params;
    &params.iter().find(|(name, _)| name == "alpha").expect("it has an alpha").1
}

/// Returns all flows of a run, and the names of their classes.
pub(crate) fn traffic(scenario: &Scenario) -> (Vec<FlowSpec>, Vec<String>) {
    let racks = scenario.topology.racks();
    let transports: Vec<_> = scenario.transports.iter().map(|spec| spec.name.as_str()).collect();
    let run =
        RunFacts { seed: scenario.seed, end: scenario.duration, racks: &racks, transports: &transports };
    let entries: Vec<_> = scenario
        .workloads
        .iter()
        .map(|spec| Entry { class: &spec.class, transport: spec.transport, workload: &*spec.workload })
        .collect();
    let mut traffic = Traffic::new(run, &entries).expect("it can start");
    let flows = std::iter::from_fn(|| traffic.source.next_flow()).collect();
    (flows, traffic.classes.into_iter().map(|class| class.name).collect())
}

/// Builds the marking rule of a switch with one port.
fn rule(ecn: &EcnSpec) -> Result<Marking, BuildError> {
    let shape = SwitchConfig::new(1_000_000, vec![BitRate::gbps(10)]).shape();
    ecn.marker(&shape).map(|marker| marker.rule)
}

#[test]
fn buffer_aware_marking_is_a_step_and_a_condition_on_the_free_buffer() {
    let ecn = |value: &str| {
        let loaded = shipped_with("dumbbell.toml", &[("switch.ecn", value)]);
        (loaded.scenario.switches[0].ecn.clone().expect("it marks"), loaded.warnings.len())
    };
    let (found, _) = ecn("{ kind = \"bcc\", threshold = \"720 KB\", alpha = \"1/2\", scope = \"port\" }");
    let Ok(Marking::BufferAware(rule)) = rule(&found) else { panic!("no rule for the buffer: {found:?}") };
    let watch = Watch { scope: Scope::Port, at: Moment::Enqueue };
    let step = Step { watch, ..Step::new(720_000) };
    assert_eq!(rule, BufferAware { step, floor: 18_000, factor: Weight::from_f64(0.375 * 0.5) });
    let (step, without) = ecn("{ kind = \"step\", threshold = \"1 GB\" }");
    assert_eq!(step.kind, "step");
    // A step above every queue length never marks. The rule `bcc` has a second condition, so it
    // then marks by the buffer occupancy alone.
    let (_, with) = ecn("{ kind = \"bcc\", threshold = \"1 GB\" }");
    assert_eq!((without, with), (1, 0));
}

#[test]
fn abm_reduced_is_the_setup_of_the_authors_scripts() {
    let scenario = shipped_with("abm-reduced.toml", &[]).scenario;
    let buffers: Vec<_> = scenario.switches.iter().map(|switch| switch.buffer_bytes).collect();
    assert_eq!(buffers, [3_840_000, 3_840_000, 768_000, 768_000]);
    let ecn = scenario.switches[0].ecn.as_ref().expect("it marks");
    let Ok(Marking::Step(step)) = rule(ecn) else { panic!("no step: {ecn:?}") };
    assert_eq!(step, Step::new(65 * 1_400));
    let (background, incast) = (&scenario.workloads[0], &scenario.workloads[1]);
    assert_eq!((background.kind.as_str(), incast.kind.as_str()), ("poisson", "incast"));
    assert_eq!(background.params.choice::<LoadReference>("load_of"), LoadReference::LeafUplinks);
    assert_eq!(background.params.choice::<Pattern>("pattern"), Pattern::NextRack);
    let mean = SizeDistribution::builtin("web_search").expect("built in").mean();
    let expected = 64.0 * scenario.duration.as_secs_f64() * 0.4 * 80e9 / 32.0 / (8.0 * mean);
    let words = background.workload.in_words();
    assert!(words.ends_with(&format!("about {expected:.0} flows")), "{words}: {expected}");
    let params = &incast.params;
    assert_eq!((params.bytes("request"), params.small_count("fan_in")), (1_152_000, 32));
    assert!(params.flag("persistent") && !params.has("request_fraction_of_buffer"));
    assert_eq!(
        (scenario.transports[0].initial_window, scenario.transports[1].initial_window),
        (InitialWindow::Segments(55), InitialWindow::Whole)
    );
    assert_eq!((scenario.workloads[0].transport, scenario.workloads[1].transport), (0, 1));
    assert_eq!(
        (&scenario.transports[0].data_priorities[..], scenario.transports[0].control_priority),
        (&[1][..], 0)
    );
    assert!(scenario.transports[0].ecn_capable);
}

#[test]
fn overrides_of_the_command_line_reach_every_kind_of_key() {
    let set = |overrides: &[(&str, &str)]| shipped_with("abm-reduced.toml", overrides);
    assert_eq!(set(&[("switch.policy", "abm")]).scenario.switches[3].policy, "abm");
    let ratio = |x: f64| ParamValue::RatioPerPriority(vec![x].into());
    // An override with a different policy drops the old parameters. An override with an equal
    // policy keeps the old parameters.
    assert_eq!(*alpha(&set(&[("switch.policy.alpha", "2")])), ratio(2.0));
    assert_eq!(*alpha(&set(&[("switch.policy", "{ name = \"abm\", alpha = 0.25 }")])), ratio(0.25));
    assert_eq!(*alpha(&set(&[("switch.policy.alpha", "2"), ("switch.policy", "abm")])), ratio(0.5));
    assert_eq!(*alpha(&set(&[("switch.policy", "abm"), ("switch.policy.alpha", "4")])), ratio(4.0));
    assert_eq!(set(&[("duration", "1 s")]).scenario.duration, Time::from_ms(1_000));
    assert_eq!(set(&[("duration", "\"1 s\"")]).scenario.duration, Time::from_ms(1_000));
    assert_eq!(set(&[("seed", "9")]).scenario.seed, 9);
    assert_eq!(set(&[("switch.buffer", "1 MB")]).scenario.switches[0].buffer_bytes, 1_000_000);
    assert_eq!(
        set(&[("transport.dctcp-query.min_rto", "1ms")]).scenario.transports[1].min_rto,
        Time::from_ms(1)
    );
    let loaded = set(&[("workload.web_search.load", "0.8"), ("workload.1.request", "1 MB")]);
    assert_eq!(loaded.scenario.workloads[0].params.ratio("load"), 0.8);
    assert_eq!(loaded.scenario.workloads[1].params.bytes("request"), 1_000_000);
    let dumbbell = [
        ("topology.kind", "dumbbell"),
        ("topology.hosts_per_side", "32"),
        ("topology.host_rate", "10 Gb/s"),
        ("topology.bottleneck_rate", "10 Gb/s"),
        ("topology.delay", "10 us"),
        ("output.sample_switch", "left"),
    ];
    assert_eq!(set(&dumbbell).scenario.topology.switches, ["left", "right"]);
}

#[test]
fn artifact_profile_selects_the_artifact_defaults() {
    let loaded = shipped_with("abm-reduced.toml", &[("profile", "artifact"), ("switch.policy", "abm")]);
    let params = &loaded.scenario.switches[0].policy_params;
    let unscheduled = params.iter().find(|(name, _)| name == "unscheduled_alpha");
    assert_eq!(unscheduled.map(|(_, value)| value), Some(&ParamValue::Ratio(1_024.0)));
}

#[test]
fn changes_of_cables_leave_buffers_and_offered_load_alone() {
    let changed = shipped_with("link-failure.toml", &[]).scenario;
    let healthy = shipped_with("link-failure.toml", &[("topology.change", "[]")]).scenario;
    assert_eq!(changed.switches, healthy.switches);
    assert_eq!(changed.workloads, healthy.workloads);
    let cable = |a: &str, b: &str| {
        let node = |name| changed.topology.node(name).expect("it exists");
        &changed.topology.links[changed.topology.cables_between(node(a), node(b))[0] as usize]
    };
    assert_eq!(cable("leaf0", "spine1").down, [(Time::ZERO, Time::MAX)]);
    assert_eq!(cable("leaf1", "spine0").rate_ab, BitRate::gbps(4));
    assert_eq!(cable("leaf2", "spine2").down, [(Time::from_ms(20), Time::from_ms(30))]);
    let different =
        changed.topology.links.iter().zip(&healthy.topology.links).filter(|(a, b)| a != b).count();
    assert_eq!(different, 3);
}

#[test]
fn an_override_changes_what_it_says_and_nothing_else() {
    let switches = shipped_with("link-failure.toml", &[]).scenario.switches;
    let (leaf, spine) = (&switches[0], &switches[3]);
    assert_eq!((leaf.buffer_bytes, spine.buffer_bytes), (2_000_000, 1_000_000));
    let k = |switch: &bufferlab_scenario::SwitchSpec| {
        switch.ecn.as_ref().map(|ecn| ecn.params.bytes("threshold"))
    };
    assert_eq!((k(leaf), k(spine)), (Some(91_000), Some(200_000)));
    assert_eq!((&leaf.policy, &leaf.policy_params), (&spine.policy, &spine.policy_params));
    assert_eq!(switches[1], switches[2]);
}

const PAIR: &str = r#"
duration = "1 ms"
topology = { kind = "leaf_spine", leaves = 2, hosts_per_leaf = 2, spines = 1, links_per_pair = 2, host_rate = "10 Gb/s", delay = "1 us" }
switch = { buffer = "1 MB", policy = "cs" }
transport = [{ congestion_control = "newreno" }]
workload = [{ kind = "poisson", sizes = "web_search", load = 0.5 }]
"#;

#[test]
fn a_pattern_changes_every_cable_that_matches_it_as_if_each_were_named() {
    let load = |change: &str| {
        let change = crate::common::owned(&[("topology.change", change)]);
        let loaded = load_text(Path::new("pair.toml"), PAIR, &change);
        loaded.unwrap_or_else(|error| panic!("{}", crate::common::render(&error)))
    };
    let each = |names: &[&str]| {
        let one = |name: &&str| format!("{{ link = \"{name}\", rate_ab = \"1 Gb/s\", failed = true }}");
        load(&format!("[{}]", names.iter().map(one).collect::<Vec<_>>().join(", "))).scenario.topology
    };
    assert_eq!(each(&["leaf0-h*"]), each(&["leaf0-h0", "leaf0-h1"]));
    assert_eq!(each(&["h?-leaf1"]), each(&["h2-leaf1", "h3-leaf1"]));
    assert_eq!(each(&["leaf*-spine0/1"]), each(&["leaf0-spine0/1", "leaf1-spine0/1"]));
    assert_eq!(each(&["spine*-*"]), each(&["spine0-leaf0", "spine0-leaf1"]));
    assert_ne!(each(&["leaf0-h*"]), each(&["leaf0-h0"]));
    // The resolved file has the meaning of the original file.
    crate::common::assert_round_trip(&load("[{ link = \"leaf0-h*\", rate = \"1 Gb/s\" }]"));
}

#[test]
fn a_change_follows_the_order_in_which_it_names_the_ends() {
    let load = |change: &str| {
        let change = crate::common::owned(&[("topology.change", change)]);
        let loaded = load_text(Path::new("pair.toml"), PAIR, &change);
        loaded.unwrap_or_else(|error| panic!("{}", crate::common::render(&error))).scenario.topology
    };
    // Cables 4 and 5 join leaf0 and the spine; the topology's generator lists the leaf as first
    // end.
    let rates = |topology: &bufferlab_scenario::Topology, cable: usize| {
        let link = &topology.links[cable];
        assert_eq!(link.a, Node::Switch(0));
        (link.rate_ab.0 / 1_000_000_000, link.rate_ba.0 / 1_000_000_000)
    };
    let topology = load("[{ link = \"leaf0-spine0\", rate_ab = \"1 Gb/s\" }]");
    assert_eq!((rates(&topology, 4), rates(&topology, 5)), ((1, 10), (1, 10)));
    let topology = load("[{ link = \"spine0-leaf0/1\", rate_ab = \"1 Gb/s\", rate = \"2 Gb/s\" }]");
    assert_eq!((rates(&topology, 4), rates(&topology, 5)), ((10, 10), (2, 1)));
}

#[test]
fn defaults_depend_on_the_network_where_the_reference_says_so() {
    let star = shipped_with("star-incast.toml", &[]).scenario;
    assert_eq!(star.transports[0].data_priorities, [0]);
    assert!(!star.transports[0].ecn_capable);
    assert_eq!(star.workloads[0].params.choice::<Pattern>("pattern"), Pattern::AllToAll);
    assert_eq!(star.topology.multipath, Multipath::EcmpFlow);
    let pair = load_text(Path::new("pair.toml"), PAIR, &[]).expect("it loads").scenario;
    let params = &pair.workloads[0].params;
    let (pattern, load_of) = (params.choice::<Pattern>("pattern"), params.choice("load_of"));
    assert_eq!((pattern, load_of), (Pattern::OtherRack, LoadReference::LeafUplinks));
    assert_eq!(pair.switches[0].scheduler[0].discipline, bufferlab_core::Discipline::RoundRobin);
}

#[test]
fn a_file_extends_another_and_paths_stay_relative_to_the_file_that_says_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("writable");
        std::fs::write(&path, text).expect("writable");
        path
    };
    write("base/flows.csv", "src,dst,size_bytes,start_ns,class\nh1,h2,1000,5,x\nh0,h3,2000,0,y\n");
    let base = PAIR.replace(
        "{ kind = \"poisson\", sizes = \"web_search\", load = 0.5 }",
        "{ kind = \"flow_list\", file = \"flows.csv\" }",
    );
    write("base/base.toml", &base);
    write("base/middle.toml", "extends = \"base.toml\"\nseed = 5\n[switch]\npolicy = \"dt\"\n");
    let top = write(
        "top.toml",
        "extends = \"base/middle.toml\"\n[switch]\npolicy.alpha = 8\n[topology]\nleaves = 3\n",
    );
    let loaded = load(&top, &[]).unwrap_or_else(|error| panic!("{}", crate::common::render(&error)));
    assert_eq!((loaded.scenario.seed, loaded.scenario.topology.hosts.len()), (5, 6));
    assert_eq!(loaded.scenario.name, "top");
    assert_eq!(*alpha(&loaded), ParamValue::RatioPerPriority(vec![8.0].into()));
    assert_eq!(loaded.scenario.workloads[0].params.file("file").name, "flows.csv");
    let (flows, classes) = traffic(&loaded.scenario);
    assert_eq!((flows.len(), classes), (2, vec!["x".to_owned(), "y".to_owned()]));
    assert_eq!((flows[0].src, flows[0].size), (0, 2_000));
    crate::common::assert_round_trip(&loaded);
}

#[test]
fn a_burst_of_a_length_is_as_many_whole_packets_as_come_nearest() {
    let loaded = crate::common::shipped_with("tdt-fig7.toml", &[]);
    let (flows, _) = traffic(&loaded.scenario);
    let of_class = |class: u16| flows.iter().filter(move |flow| flow.class == class).collect::<Vec<_>>();
    // At 8 Gb/s, 666.7 packets of 1,500 B arrive in 1 ms. At 2 Gb/s, 33,333.3 packets arrive until
    // the end of 200 ms.
    assert_eq!(of_class(1)[0].size, 667 * 1_446);
    assert_eq!((of_class(0)[0].size, of_class(0)[1].dst), (33_333 * 1_446, 1));
    assert!(loaded.scenario.output.delays, "open-loop traffic is judged by its delays too");
    let dctcp = crate::common::shipped_with("abm-reduced.toml", &[]);
    assert!(!dctcp.scenario.output.delays);
}

#[test]
fn what_cannot_matter_in_an_open_loop_is_warned_about() {
    let text = r#"
        duration = "1 s"
        topology = { kind = "single_switch", hosts = 2, rate = "1 Gb/s", delay = "0 s" }
        switch = { buffer = "1 MB", policy = "dt" }
        transport = [{ congestion_control = "none", rate = "8 Gb/s", min_rto = "5 ms" }]
        workload = [{ kind = "on_off", pairs = [["h0", "h1"]], on_time = "1 ms", off_time = "1 ms", pareto_shape = 1.2 }]
    "#;
    let loaded = load_text(Path::new("open.toml"), text, &[]).expect("it loads");
    let keys: Vec<_> = loaded.warnings.iter().map(|warning| warning.key()).collect();
    assert_eq!(keys, ["transport.0.min_rto", "workload.0.kind", "workload.0.pareto_shape"]);
    assert!(loaded.warnings[1].to_string().contains("can send at 1 Gb/s only"), "{}", loaded.warnings[1]);
}

#[test]
fn a_round_trip_that_nothing_refers_to_is_warned_about_and_left_out() {
    let text = r#"
        duration = "1 s"
        topology = { kind = "single_switch", hosts = 2, rate = "1 Gb/s", delay = "0 s" }
        switch = { buffer = "1 MB", policy = "dt" }
        transport = [{ congestion_control = "newreno", base_rtt = "5 us" }]
        workload = [{ kind = "poisson", sizes = "1 KB", load = 0.1 }]
    "#;
    let loaded = load_text(Path::new("foreign.toml"), text, &[]).expect("it loads");
    let keys: Vec<_> = loaded.warnings.iter().map(|warning| warning.key()).collect();
    assert_eq!(keys, ["transport.0.base_rtt"]);
    assert!(!loaded.resolved.contains("base_rtt"), "{}", loaded.resolved);
}

#[test]
fn controls_that_start_at_line_rate_have_a_bandwidth_delay_product_as_their_first_window() {
    let window = |control: &str| {
        let text = format!(
            "duration = \"1 s\"\ntopology = {{ kind = \"single_switch\", hosts = 2, rate = \"1 Gb/s\", delay = \"0 s\" }}\n\
             switch = {{ buffer = \"1 MB\", policy = \"dt\" }}\ntransport = [{{ congestion_control = \"{control}\" }}]\n\
             workload = [{{ kind = \"poisson\", sizes = \"1 KB\", load = 0.1 }}]"
        );
        load_text(Path::new("window.toml"), &text, &[]).expect("it loads").scenario.transports[0]
            .initial_window
    };
    for control in ["hpcc", "powertcp", "theta-powertcp", "timely"] {
        assert_eq!(window(control), InitialWindow::BandwidthDelay, "{control}");
    }
    for control in ["newreno", "cubic", "dctcp", "ecn-star", "swift"] {
        assert_eq!(window(control), InitialWindow::Segments(10), "{control}");
    }
}
