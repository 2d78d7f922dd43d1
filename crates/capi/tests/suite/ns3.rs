//! Tests the switch inside ns-3: limits that are exact to the byte, an empty ledger, and the order
//! of packets. The tests run if ns-3 is installed: `BUFFERLAB_NS3` names a folder with its headers
//! and libraries, or Debian's libns3-dev has them below /usr.

use crate::support::{crate_folder, has, libraries, skip, stdout};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folder in which ns-3 is installed.
fn ns3() -> Option<PathBuf> {
    let given = std::env::var_os("BUFFERLAB_NS3").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| PathBuf::from("/usr"));
    folder.join("include/ns3/traffic-control-module.h").is_file().then_some(folder)
}

/// Totals of packets that the ns-3 program prints when it ends.
struct Totals(String);

impl Totals {
    fn value(&self, name: &str) -> u64 {
        let mut words = self.0.split(' ');
        words.find(|word| *word == name).expect("a total");
        words.next().expect("its value").trim().parse().expect("a number")
    }
}

fn run(program: &Path, switch: &Path, flows: &Path, more: &[&str]) -> Totals {
    let mut command = Command::new(program);
    command.arg(format!("--switch={}", switch.display())).arg(format!("--flows={}", flows.display()));
    let text = stdout(&command.args(more).output().expect("the program starts"));
    let totals = Totals(text.lines().last().expect("totals").to_owned());
    for name in ["left", "open", "misordered", "wrong"] {
        assert_eq!(totals.value(name), 0, "{name}: {}", totals.0);
    }
    let out = ["drops", "evictions", "departures"].map(|name| totals.value(name)).iter().sum::<u64>();
    assert_eq!(totals.value("arrivals"), out, "{}", totals.0);
    totals
}

#[test]
fn in_ns3_dynamic_thresholds_keep_their_limit_to_the_byte_and_five_policies_empty_the_buffer() {
    let test = "the switch inside ns-3";
    if !has("c++", test) {
        return;
    }
    let Some(ns3) = ns3() else {
        return skip(test, "no ns-3 below /usr, and BUFFERLAB_NS3 names no folder of one");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (folder, source) = (folder.path(), crate_folder().join("../../integrations/ns3"));
    let (prefix, program) = (folder.join("bufferlab"), folder.join("incast"));
    let mut install = Command::new("sh");
    install.arg(crate_folder().join("install.sh")).arg(&prefix).arg(libraries());
    let _ = stdout(&install.output().expect("sh starts"));
    let mut build = Command::new("sh");
    build.arg(source.join("build.sh")).args([&ns3, &prefix, &program]);
    let _ = stdout(&build.output().expect("sh starts"));

    // Seven bursts of full-size packets go to one port. A packet of 1,440 B is stored while the
    // port's queue has at most 65,706 B, since q + 1,440 <= (200,000 - q) / 2. So the port stores
    // 45 packets and one more packet.
    let mut flows = "src,dst,size_bytes,start_ns,class\n".to_owned();
    for host in 1..8 {
        let _ = writeln!(flows, "h{host},h0,42000,{},query", 137 * host);
    }
    let (burst, switch) = (folder.join("burst.csv"), folder.join("switch.toml"));
    std::fs::write(&burst, flows).expect("a file");
    let plain = "[switch]\nbuffer = \"200 KB\"\npolicy = { name = \"dt\", alpha = 0.5 }\n";
    std::fs::write(&switch, plain).expect("a file");
    let totals = run(&program, &switch, &burst, &["--alpha=0.5", "--buffer=200000"]);
    assert_eq!(totals.value("peak"), 46 * 1_440);
    assert!(totals.value("drops") > 0);

    std::fs::write(&switch, format!("{plain}ecn = {{ kind = \"step\", threshold = \"30 KB\" }}\n"))
        .expect("a file");
    let totals = run(&program, &switch, &burst, &["--ecn=true"]);
    assert!(totals.value("marks") > 0, "{}", totals.0);

    let text = std::fs::read_to_string(source.join("switch.toml")).expect("the switch");
    for policy in ["dt", "abm", "plasticine", "losspass", "occamy"] {
        let changed = text.replace("{ name = \"dt\", alpha = 0.5 }", &format!("\"{policy}\""));
        std::fs::write(&switch, changed).expect("a file");
        let flows = source.join("incast-flows.csv");
        let totals = run(&program, &switch, &flows, &["--pias=100000", "--unscheduled=14000"]);
        let evicts = ["losspass", "occamy"].contains(&policy);
        assert!(totals.value("evictions") > 0 || !evicts, "{policy}: {}", totals.0);
    }
}
