//! Tests of the switch of real packets as a process: how it ends, its files, its rights,
//! and its warnings.

use crate::switch_bench::{Bench, is_root, verify};
use crate::testbed::allowed;
use std::collections::BTreeMap;

const ETHS: [&str; 2] = ["eth1", "eth2"];
const WRITING: &str = "--record record --capture capture";

/// Returns the names of the files in a folder of the test bench.
fn names(bench: &Bench, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path(folder)).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|one| one.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_signal_that_ends_a_switch_leaves_a_summary_a_record_and_captures() {
    if !allowed("signals to a switch") {
        return;
    }
    for signal in ["TERM", "HUP", "QUIT", "INT"] {
        let mut bench = Bench::start(ETHS, "", WRITING);
        bench.send(100);
        bench.signal(signal);
        let status = bench.wait();
        let (printed, told) = (bench.printed(), bench.errors());
        assert!(status.success(), "{signal}: {status}: {told}");
        assert!(printed.contains("\neth2 p0") && printed.contains("captured "), "{signal}: {printed}");
        assert_eq!(names(&bench, "capture"), ["eth1.pcapng", "eth2.pcapng"], "{signal}");
        let (is_same, printed, told) = bench.verify("record");
        assert!(is_same && printed.contains("\n0 differences"), "{signal}: {printed}{told}");
        assert_eq!(told, "", "{signal}: nothing is missing");
    }
}

#[test]
fn a_switch_that_was_started_with_nohup_goes_on_when_its_terminal_is_closed() {
    if !allowed("nohup") {
        return;
    }
    let mut bench = Bench::start(ETHS, "trap '' HUP", WRITING);
    bench.signal("HUP");
    bench.send(10);
    std::thread::sleep(std::time::Duration::from_millis(300));
    bench.send(10);
    bench.signal("TERM");
    assert!(bench.wait().success());
    assert!(bench.verify("record").1.contains("\n0 differences"));
}

#[test]
fn the_record_of_a_killed_switch_is_read_up_to_its_last_mark() {
    if !allowed("a killed switch") {
        return;
    }
    let mut bench = Bench::start(ETHS, "", WRITING);
    // At the start, the file of the record has only a header.
    assert!(
        std::fs::read_to_string(bench.path("record/packets.csv")).expect("a file").starts_with("time_ps,")
    );
    bench.send(300);
    std::thread::sleep(std::time::Duration::from_millis(600));
    bench.send(300);
    bench.signal("KILL");
    assert!(!bench.wait().success());
    assert_eq!(names(&bench, "capture"), ["eth1.pcapng.partial", "eth2.pcapng.partial"]);
    let (is_same, printed, told) = bench.verify("record");
    assert!(is_same && printed.contains("0 differences"), "{printed}{told}");
    assert!(told.contains("is missing (the switch was killed, or the disk was full)"), "{told}");
    // If some packets are not compared, the second line has the count, as in "300 of them compared:
    // 0 differences".
    let line = if printed.contains("compared") { printed.lines().nth(1) } else { printed.lines().next() };
    let compared: usize = line.and_then(|line| line.split(' ').next()?.parse().ok()).expect("a count");
    assert!(compared >= 300, "what came before the last mark is compared: {printed}");
}

#[test]
fn a_full_disk_is_told_of_the_record_and_of_the_captures() {
    if !allowed("a full disk") {
        return;
    }
    for (args, expected) in [
        ("--record /run/full/record", ["cannot write the record: No space left", ""]),
        ("--capture /run/full/capture", ["", "cannot write the captures: No space left"]),
        (
            "--record /run/full/record --capture /run/full/capture",
            ["cannot write the record: No space left", "cannot write the captures: No space left"],
        ),
    ] {
        let mut bench = Bench::start(ETHS, "", args);
        bench.send(4_000);
        bench.here("head -c 300000 /dev/zero > /run/full/more");
        bench.send(2_000);
        bench.signal("TERM");
        let status = bench.wait();
        let told = bench.errors();
        assert_eq!(status.code(), Some(1), "{args}: {told}");
        // The test joins the wrapped lines of the error message.
        let told = told.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        for (part, other) in expected.iter().zip(["cannot write the record", "cannot write the captures"]) {
            assert!(told.contains(part), "{args}: {told}");
            assert_eq!(told.contains(other), !part.is_empty(), "{args}: {told}");
        }
        assert!(bench.printed().contains("\neth2 p0"), "the summary is printed all the same");
    }
}

/// A bridge discards frames for other addresses, as the address filter of a network card does.
#[test]
fn ports_with_an_address_filter_forward_for_the_hosts_behind_them() {
    if !allowed("ports with an address filter") {
        return;
    }
    let bridges = "for n in 1 2; do ip link add br$n type bridge; ip link set eth$n master br$n; ip link set br$n up; done";
    let mut bench = Bench::start(["br1", "br2"], bridges, "");
    assert!(String::from_utf8_lossy(&bench.here("ip -d link show br1").stdout).contains("promiscuity 1"));
    bench.until("the bridges forward", || {
        bench.send(1);
        bench.counter("h2", "Udp", "NoPorts") > 0
    });
    let before = bench.counter("h1", "Icmp", "InDestUnreachs");
    bench.send(4);
    // Host h2 answers each datagram with an ICMP error, because no process listens on the UDP port.
    bench.until("4 of 4 answers", || bench.counter("h1", "Icmp", "InDestUnreachs") == before + 4);
    bench.signal("KILL");
    bench.wait();
}

#[test]
fn no_thread_of_a_running_switch_has_rights() {
    if !allowed("the rights of a switch") {
        return;
    }
    let args = format!("{WRITING} --keep-awake --metrics 127.0.0.1:9420");
    let mut bench = Bench::start(ETHS, "", &args);
    let ask = "exec 3<>/dev/tcp/127.0.0.1/9420; printf 'GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3";
    bench.until("counters are shown", || {
        String::from_utf8_lossy(&bench.here(ask).stdout).contains("bufferlab_port_up{port=\"eth2\"} 1")
    });
    let tasks = std::fs::read_dir(format!("/proc/{}/task", bench.id())).expect("a list of threads").flatten();
    let statuses: Vec<String> =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok()).collect();
    // The switch has a thread for forwarding, one for captures, one for counters, and one per core.
    assert!(statuses.len() >= 4, "{}", statuses.len());
    for status in &statuses {
        let fields: BTreeMap<_, _> = status.lines().filter_map(|line| line.split_once(":\t")).collect();
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            assert_eq!(fields[set], "0000000000000000", "{set}: {status}");
        }
        assert_eq!(fields["NoNewPrivs"], "1", "{status}");
        if is_root() {
            for field in ["Uid", "Gid"] {
                let ids: Vec<_> = fields[field].split_whitespace().collect();
                assert!(ids.len() == 4 && !ids.contains(&"0"), "{field}: {status}");
            }
            assert_eq!(fields["Groups"].trim(), "", "{status}");
        }
    }
    bench.send(20);
    bench.signal("TERM");
    assert!(bench.wait().success(), "{}", bench.errors());
    assert_eq!(names(&bench, "capture"), ["eth1.pcapng", "eth2.pcapng"], "captures have their names");
    assert!(bench.verify("record").0);
}

#[test]
fn a_switch_of_sudo_becomes_its_callers() {
    if !is_root() || !allowed("a switch of sudo") {
        return;
    }
    let mut bench = Bench::start(ETHS, "export SUDO_UID=12345 SUDO_GID=23456", WRITING);
    let status = std::fs::read_to_string(format!("/proc/{}/status", bench.id())).expect("it runs");
    assert!(status.contains("\nUid:\t12345\t12345\t12345\t12345\n"), "{status}");
    assert!(status.contains("\nGid:\t23456\t23456\t23456\t23456\n"), "{status}");
    bench.send(5);
    bench.signal("TERM");
    assert!(bench.wait().success(), "{}", bench.errors());
    assert_eq!(names(&bench, "capture"), ["eth1.pcapng", "eth2.pcapng"]);
}

#[test]
fn an_interface_that_goes_down_comes_back_or_is_removed_is_noticed() {
    if !allowed("interfaces that go down") {
        return;
    }
    let mut bench = Bench::start(ETHS, "", "--json");
    let steps = [
        ("ip link set eth1 down", "eth1 is down since"),
        ("ip link set eth1 up", "eth1 is up since"),
        ("nsenter --net=/run/netns/h1 ip link set e0 down", "eth1 is no carrier since"),
        ("ip link delete eth2", "eth2 is removed since"),
    ];
    for (script, expected) in steps {
        assert!(bench.here(script).status.success(), "{script}");
        bench.until(expected, || bench.errors().contains(expected));
    }
    bench.signal("TERM");
    assert!(bench.wait().success(), "{}", bench.errors());
    let summary: serde_json::Value = serde_json::from_str(&bench.printed()).expect("JSON");
    let notes = summary["notes"].to_string();
    assert!(steps.iter().all(|(_, expected)| notes.contains(expected)), "{notes}");
    assert_eq!(
        (&summary["ports"][0]["link"], &summary["ports"][1]["link"]),
        (&"no carrier".into(), &"removed".into())
    );
}

/// Hosts behind veth leave checksums to their network cards by default.
#[test]
fn unfinished_checksums_are_finished_and_counted() {
    if !allowed("unfinished checksums") {
        return;
    }
    let mut bench = Bench::start(ETHS, "", "--json");
    // The switch's buffer has no space for more datagrams at one time.
    (0..10).for_each(|_| bench.send(4));
    bench.until("all datagrams are received", || bench.counter("h2", "Udp", "NoPorts") == 40);
    assert_eq!(bench.counter("h2", "Udp", "InCsumErrors"), 0);
    bench.signal("TERM");
    assert!(bench.wait().success(), "{}", bench.errors());
    let summary: serde_json::Value = serde_json::from_str(&bench.printed()).expect("JSON");
    assert!(summary["ports"][0]["finished_checksums"].as_u64() >= Some(40), "{summary:#}");
    assert!(bench.errors().contains("checksums that hosts had left to their cards"), "{}", bench.errors());
}

#[test]
fn the_summary_of_a_late_switch_says_inconclusive_and_what_the_queues_held() {
    if !allowed("a late switch") {
        return;
    }
    let late = |args: &str| {
        let mut bench = Bench::start(ETHS, "", args);
        bench.send(5);
        // Five datagrams have reached h2, so each host knows the address of the other host.
        bench.until("the first have passed", || bench.counter("h2", "Udp", "NoPorts") == 5);
        bench.signal("STOP");
        bench.send(5);
        // The switch is stopped for far longer than it usually delays a packet.
        std::thread::sleep(std::time::Duration::from_millis(100));
        bench.signal("CONT");
        bench.until("all has passed", || bench.counter("h2", "Udp", "NoPorts") == 10);
        bench.signal("TERM");
        assert!(bench.wait().success(), "{}", bench.errors());
        bench.printed()
    };
    let text = late("");
    assert!(text.contains("\nINCONCLUSIVE: p99.9 is above 1 ms"), "{text}");
    // The late switch stored packets for some time, so the peak and the time in the buffer are
    // above zero.
    assert!(text.contains("buffer 20.0 KB, at most "), "{text}");
    assert!(!text.contains(" ns, p99.9"), "figures have units that suit them: {text}");
    let summary: serde_json::Value = serde_json::from_str(&late("--json")).expect("JSON");
    assert_eq!(summary["lateness"]["is_inconclusive"], true, "{summary:#}");
    let queue = &summary["queues"][1];
    let at_least = |field: &serde_json::Value, bound: u64| field.as_u64() >= Some(bound);
    assert!(
        at_least(&queue["peak_bytes"], 1_452) && at_least(&summary["buffer"]["peak_bytes"], 1_452),
        "{queue:#}"
    );
    assert!(at_least(&queue["stay"]["packets"], 10), "{queue:#}");
    assert!(
        at_least(&queue["stay"]["largest_ns"], queue["stay"]["p50_ns"].as_u64().expect("a number")),
        "{queue:#}"
    );
}

#[test]
fn what_cannot_begin_does_not_say_that_it_forwards() {
    if !allowed("a switch that cannot begin") {
        return;
    }
    for (ports, args, expected) in [
        (ETHS, "--metrics 0.0.0.0:9420", "no loopback address"),
        (["eth1", "eth7"], "", "there is no interface \"eth7\""),
    ] {
        let mut bench = Bench::begin(ports, "", args);
        assert_eq!(bench.wait().code(), Some(1));
        let told = bench.errors();
        assert!(told.contains(expected) && !told.contains("forwards between"), "{told}");
    }
}

#[test]
fn a_record_without_its_end_says_how_much_of_it_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = |name: &str| format!("[[port]]\ninterface = \"{name}\"\nrate = \"1 Gb/s\"\n");
    let text = format!("{}{}[switch]\nbuffer = \"10 KB\"\npolicy = \"dt\"\n", port("a"), port("b"));
    std::fs::write(folder.path().join("switch.toml"), text).expect("writable");
    let header = "time_ps,src,dst,size_bytes,priority,flow,ecn,queue,fate,reason,marked,at_ps\n";
    let row = "1000000,a,b,100,0,1,no,0,sent,,0,1000000\n";
    let write = |packets: &str, progress: Option<&str>| {
        std::fs::write(folder.path().join("packets.csv"), packets).expect("writable");
        let path = folder.path().join("progress.csv");
        let _ = std::fs::remove_file(&path);
        if let Some(progress) = progress {
            std::fs::write(path, format!("packets,settled_ps,state\n{progress}")).expect("writable");
        }
        verify(folder.path())
    };
    let cut = format!("{header}{row}2000000,a,b,10");
    let (is_same, printed, told) = write(&cut, Some("1,1500000,running\n2,99"));
    assert!(is_same && printed.contains("1 packets: 1 sent"), "{printed}{told}");
    assert!(told.contains("1 complete lines, and 14 B of a line that is cut"), "{told}");
    // If the progress file is missing or has no mark yet, the program does not know how much of the
    // record is missing.
    for progress in [None, Some(""), Some("1,1000000,running\n"), Some("7,9000000,running\n")] {
        let (is_same, _, told) = write(&cut, progress);
        assert!(!is_same && told.contains("nothing of it can be compared"), "{progress:?}: {told}");
    }
    for empty in ["", "time_ps,sr", header] {
        let (is_same, _, told) = write(empty, Some(""));
        assert!(!is_same && told.contains("0 complete lines"), "{empty:?}: {told}");
    }
    // Older versions wrote a complete record without the progress file.
    let (is_same, printed, told) = write(&format!("{header}{row}"), None);
    assert!(is_same && told.is_empty(), "{printed}{told}");
    // A faulty line before the end of the record is an error, not a missing end.
    let (is_same, _, told) = write(&format!("{header}{row}2000000,a,b,10\n{row}"), Some(""));
    assert!(!is_same && told.contains("packets.csv"), "{told}");
}
