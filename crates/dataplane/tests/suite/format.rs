//! Tests that valid switch files load, and that invalid switch files have the expected error
//! messages.

use bufferlab_dataplane::load_text;
use std::path::Path;

fn errors(text: &str) -> String {
    load_text(Path::new("switch.toml"), text).expect_err("the file is wrong").in_lines()
}

const PORTS: &str =
    "[[port]]\ninterface = \"a\"\nrate = \"100 Mb/s\"\n[[port]]\ninterface = \"b\"\nrate = \"1 Gb/s\"\n";

#[test]
fn keys_of_the_switch_are_those_of_a_scenario() {
    let text = format!(
        "{PORTS}[switch]\nbuffer = \"128 KB\"\nqueues_per_port = 2\nscheduler = \"strict_priority\"\nuncharged_bytes = \"24 B\"\n\
         ecn = {{ kind = \"step\", threshold = \"66 KB\" }}\n[switch.policy]\nname = \"losspass\"\nport_limit = \"static\"\n\
         [forwarding]\ndelay = \"2500 us\"\nother_priority = 1\npriorities = [{{ code_point = 46, priority = 0 }}]\n\
         tag_priorities = [{{ tag = 3, priority = 0 }}]\n"
    );
    let file = load_text(Path::new("rack.toml"), &text).expect("it is right");
    let spec = &file.scenario.switches[0];
    assert_eq!(file.scenario.name, "rack");
    assert_eq!((spec.policy.as_str(), spec.buffer_bytes, spec.queues_per_port), ("losspass", 128_000, 2));
    assert_eq!(file.scenario.topology.switch_port_rates(0).len(), 2);
    assert_eq!(file.forwarding.priority_of[46], 0);
    assert_eq!(file.forwarding.priority_of[0], 1);
    assert_eq!(file.forwarding.priority_of_tag[2..4], [None, Some(0)]);
}

#[test]
fn mistakes_are_shown_where_they_were_written() {
    let cases = [
        (
            format!("{PORTS}[switch]\nbuffer = \"128 KB\"\npolicy = \"dtt\""),
            "switch.toml:9",
            "did you mean \"dt\"",
        ),
        (
            format!("{PORTS}[switch]\nbufer = \"128 KB\"\npolicy = \"dt\""),
            "switch.toml:8",
            "did you mean `buffer`",
        ),
        (
            format!("{PORTS}[switch]\nbuffer = \"12 B\"\npolicy = \"dt\""),
            "switch.toml:8",
            "smaller than a packet",
        ),
        (
            format!("{PORTS}[switch]\nbuffer = \"128 KB\"\npolicy = \"dt\"\n[forwarding]\ndelay = \"fast\""),
            "switch.toml:11",
            "does not start with a number",
        ),
        (
            format!("{PORTS}[switch]\nbuffer = \"128 KB\"\npolicy = \"dt\"\nhardware = {{ slices = 2 }}"),
            "switch.toml:10",
            "one memory",
        ),
        ("[switch]\nbuffer = \"1 MB\"\npolicy = \"dt\"".to_owned(), "switch.toml", "add port ="),
        (
            format!(
                "{PORTS}[[port]]\ninterface = \"a\"\nrate = \"1 Gb/s\"\n[switch]\nbuffer = \"1 MB\"\npolicy = \"dt\""
            ),
            "switch.toml:8",
            "two ports have the interface \"a\"",
        ),
        (
            format!("{PORTS}addresses = \"02:00\"\n[switch]\nbuffer = \"1 MB\"\npolicy = \"dt\""),
            "switch.toml:7",
            "six bytes",
        ),
    ];
    for (text, place, message) in cases {
        let found = errors(&text);
        assert!(found.contains(place) && found.contains(message), "{text}\n\n{found}");
    }
}

#[test]
fn lossless_priorities_are_refused() {
    let text = format!(
        "{PORTS}[switch]\nbuffer = \"1 MB\"\nqueues_per_port = 2\npolicy = {{ name = \"reverie\", headroom = \"10 KB\" }}\n\
         pfc = {{ priorities = [1] }}"
    );
    assert!(errors(&text).contains("pause frames"), "{}", errors(&text));
}
