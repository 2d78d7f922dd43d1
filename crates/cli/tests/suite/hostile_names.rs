//! Tests that no name in an input file can control the terminal or a page.

use crate::support::{Desk, TINY};
use std::fs;
use std::path::Path;

const SWITCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/sonic/switch");
/// Characters that clear a screen, retitle a terminal, and reverse the text after them. There is
/// one text in the notation of JSON, and one text in the notation of CSV.
const JSON: &str = r"\u001b[2J\u001b]0;pwn\u0007\u009b31m\u202e\u2066\u061c";
const RAW: &str = "\u{1b}[2J\u{1b}]0;pwn\u{7}\u{9b}31m\u{202e}\u{2066}\u{61c}";

fn is_hidden(character: char) -> bool {
    bufferlab_units::is_hidden(character) && character != '\n' && character != '\t'
}

/// Asserts that the output of a command has no hidden character.
/// Returns whether the output quoted the name.
fn check(desk: &Desk, args: &[&str]) -> bool {
    let output = desk.output(args);
    let mut is_quoted = false;
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let said = String::from_utf8(bytes.clone()).expect("text");
        assert!(!said.contains(is_hidden), "{args:?}: {stream}: {said:?}");
        is_quoted |= ["u001b[2J", "\u{fffd}[2J", "?[2J"].iter().any(|form| said.contains(form));
        if args.contains(&"--json") && stream == "stdout" && output.status.success() {
            assert!(serde_json::from_str::<serde_json::Value>(&said).is_ok(), "{args:?}: {said}");
        }
    }
    is_quoted
}

/// Asserts that the pages of a command have no hidden character. Returns the number of pages.
fn check_pages(folder: &Path) -> usize {
    let mut pages = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages += check_pages(&path);
        } else if path.extension().is_some_and(|ending| ending == "html") {
            let page = fs::read_to_string(&path).expect("text");
            assert!(!page.contains(is_hidden), "{}", path.display());
            pages += 1;
        }
    }
    pages
}

#[test]
fn names_of_a_configuration_steer_nothing() {
    let commands: [&[&str]; 13] = [
        &["explain", "--chip", "trident3"],
        &["explain", "--json", "--chip", "trident3"],
        &["lint", "--chip", "trident3"],
        &["lint", "--format", "json", "--chip", "trident3"],
        &["lint", "--format", "sarif", "--chip", "trident3"],
        &["predict", "--chip", "trident3"],
        &["predict", "--json", "--chip", "trident3"],
        &["vectors", "--chip", "trident3"],
        &["vectors", "--format", "yaml", "--chip", "trident3"],
        &["vectors", "--format", "json", "--chip", "trident3"],
        &["diff", "other", "--chip", "trident3"],
        &["diff", "other", "--json", "--chip", "trident3"],
        &["what-if", "--only-write", "--replace", "--chip", "trident3"],
    ];
    let mut quoted = [0; 13];
    for name in NAMES {
        let desk = Desk::new();
        for file in fs::read_dir(SWITCH).expect("the example is there") {
            let path = file.expect("readable").path();
            let file = path.file_name().expect("a file").to_string_lossy().into_owned();
            let content = fs::read_to_string(&path).expect("text");
            let ending = if file.ends_with("json") { JSON } else { RAW };
            desk.write(&format!("switch/{file}"), &content.replace(name, &format!("{name}{ending}")));
            desk.write(&format!("other/{file}"), &content);
        }
        for (number, command) in commands.iter().enumerate() {
            let args = [&["sonic", command[0], "switch"], &command[1..]].concat();
            quoted[number] += usize::from(check(&desk, &args));
        }
        check(&desk, &["sonic", "explain", "switch", "--chip", RAW]);
    }
    // The test would check no text if no name were quoted.
    assert!([0, 2, 5, 10].iter().all(|number| quoted[*number] > 0), "{quoted:?}");
}

/// Names of profiles, pools, maps and switches in the small switch.
const NAMES: [&str; 8] = [
    "egress_lossy_profile",
    "egress_lossy_pool",
    "ingress_lossy_profile",
    "pg_lossless",
    "egress_lossless_profile",
    "AZURE",
    "Ethernet0",
    "dynamic_th",
];

#[test]
fn files_and_lists_steer_nothing() {
    let desk = Desk::with_tiny();
    // A class in a flow list is refused like a name in a scenario.
    let (workload, _) = TINY.split_once("[[workload]]").expect("a workload");
    let scenario = format!("{workload}[[workload]]\nkind = \"flow_list\"\nfile = \"flows.csv\"\n");
    desk.write("list.toml", &scenario);
    for hidden in ["\u{1b}[31m", "\u{7f}", "\u{9b}31m", "\u{202e}", "\u{2066}", "\u{61c}", "\u{feff}x"] {
        desk.write("flows.csv", &format!("src,dst,size_bytes,start_ns,class\n0,1,1000,1,a{hidden}\n"));
        for command in ["check", "run"] {
            check(&desk, &[command, "list.toml"]);
            let output = desk.output(&[command, "list.toml"]);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(1) && said.contains("hidden character, U+"), "{said}");
        }
    }
    // The hostile names are columns of tables, names of files, and values and keys of a scenario.
    desk.write("flows.csv", &format!("src,dst,size_bytes,start_ns,{RAW}\n0,1,1000,1,a\n"));
    check(&desk, &["run", "list.toml"]);
    check(&desk, &["report", "results"]);
    check(&desk, &["view", "results/tiny", "--out", "page.html"]);
    check(&desk, &["run", &format!("{RAW}.toml")]);
    check(&desk, &["run", "tiny.toml", "--set", &format!("switch.{RAW}=1")]);
    check(&desk, &["compare", "tiny.toml", "--policies", &format!("dt,{RAW}")]);
    check(&desk, &["compare", "tiny.toml", "--variants", &format!("{RAW}: dt"), "cs"]);
    for (from, to) in [
        ("dt", RAW),
        ("tiny", RAW),
        ("incast", RAW),
        ("\"50 us\"", RAW),
        ("newreno", RAW),
        ("duration", JSON),
    ] {
        desk.write("hostile.toml", &TINY.replace(from, to));
        check(&desk, &["check", "hostile.toml"]);
        check(&desk, &["run", "hostile.toml"]);
    }
    // The program displays a TOML comment that is beside a mistake.
    desk.write("hostile.toml", &TINY.replace("kind = \"incast\"", "kind = \"incst\" # \u{202e}\u{2066}"));
    check(&desk, &["check", "hostile.toml"]);
    check(&desk, &["--color", "never", "run", "hostile.toml"]);
    desk.write("switch.json", &format!("{{ \"BUFFER_POOL\": {{ \"{JSON}\": 1 }} , }}"));
    check(&desk, &["sonic", "explain", "switch.json"]);
    desk.write("switch.txt", RAW);
    check(&desk, &["sonic", "explain", "switch.txt"]);
    check(&desk, &["sonic", "headroom", "switch.txt"]);
    check_pages(&desk.path("."));
}
