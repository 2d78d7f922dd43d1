//! Tests of refusals, which name file, line, column and advice. A large size in a file must not
//! cause a large allocation.

use crate::formats::{FAT_TREE, FLOWS, GOAL, LAYERS, MATRIX, TOPOLOGY, trace};
use crate::support::{error, read, read_with};
use bufferlab_import::ImportOptions;

#[test]
fn an_error_names_line_column_and_remedy() {
    let cases: [(&str, &str, &str, &str); 30] = [
        (
            MATRIX,
            "Connections 3",
            "Connections 4",
            "file, line 2: `Connections 4`, but the file has 3; correct the number",
        ),
        (MATRIX, "Triggers 1", "Triggers 0", "line 3: `Triggers 0`, but the file has 1"),
        (
            MATRIX,
            "trigger 1 size",
            "trigger 2 size",
            "line 5: trigger 2 is not defined; add a line `trigger id 2 oneshot`",
        ),
        (MATRIX, "start 0 ", "start 0 trigger 1 ", "line 4, column 1: both `start` and `trigger`"),
        (MATRIX, "start 0 ", "", "line 4, column 1: no `start` and no `trigger`"),
        (MATRIX, "1->2 id 2", "1->4 id 2", "line 5: node 4 of 4; expected nodes from 0 to 3"),
        (
            MATRIX,
            "size 65536 recv",
            "size x recv",
            "line 4, column 24: \"x\" is unexpected; expected a size in bytes",
        ),
        (MATRIX, "oneshot", "twoshot", "line 7, column 14: \"twoshot\" is unexpected; expected `oneshot`"),
        (MATRIX, "oneshot", "barrier 2", "barrier 1 waits for 2 connections, but 1 fire it"),
        (
            MATRIX,
            "0->1 id 1 start 0 size 65536 recv_done_trigger 1",
            "0->1 start 0 size 5",
            "nothing fires trigger 1",
        ),
        (MATRIX, "start 0 size", "trigger 1 size", "these nodes wait for each other and never start: 0"),
        (
            FAT_TREE,
            "Oversubscribed 4",
            "Oversubscribed 2",
            "Radix_Down · speed of tier 0 = 1600, but Oversubscribed",
        ),
        (FAT_TREE, "Podsize 64", "Podsize 60", "pods = Nodes / Podsize = 64 / 60, which is no whole number"),
        (FAT_TREE, "Tiers 2", "Tiers 4", "line 2, column 7: \"4\" is unexpected; expected 2 or 3 tiers"),
        (
            FAT_TREE,
            "Radix_Up 4",
            "Radix_Upp 4",
            "line 7, column 1: \"Radix_Upp\" is unexpected; expected Nodes",
        ),
        (
            GOAL,
            "requires l1",
            "requires l9",
            "line 5, column 13: label \"l9\" is not defined above; define it",
        ),
        (GOAL, "to 1", "to 2", "there is no rank 2; expected a rank below num_ranks"),
        (GOAL, "from 0 tag 7", "from 0 tag 8", "line 8: rank 1 waits for a message that no rank sends"),
        (
            GOAL,
            "calc 1000",
            "calculate 1000",
            "line 3, column 5: \"calculate\" is unexpected; expected send, recv",
        ),
        (
            GOAL,
            "l2 requires l1",
            "l2 requires l1\nl1 requires l2",
            "these nodes wait for each other and never start: r0.l1 → r0.l2 → r0.l1",
        ),
        (LAYERS, "\n2\n", "\n3\n", "line 2, column 1: 3 layers announced, but the file has 2"),
        (
            LAYERS,
            "ALLREDUCE",
            "ALLSUM",
            "line 4, column 18: \"ALLSUM\" is unexpected; expected NONE, ALLREDUCE",
        ),
        (LAYERS, "all_gpus: 4", "all_gpus: 5", "5 ranks do not fill groups of 2 (tensor)"),
        (LAYERS, "NONE 0 1 NONE 0 100", "NONE 0 1 NONE", "line 4: 10 words; expected 12: name"),
        (
            TOPOLOGY,
            "0 2 100Gbps",
            "0 3 100Gbps",
            "line 3, column 1: a link from 0 to 3; expected a switch at one end",
        ),
        (
            TOPOLOGY,
            "3 2 40Gb/s",
            "1 2 40Gb/s",
            "line 5, column 1: host 1 has a second link; hosts of a scenario have one cable",
        ),
        (TOPOLOGY, "100Gbps 1us", "100Gbps 1m", "\"1m\" is unexpected; expected a delay such as 1us"),
        (FLOWS, "2\n0", "9\n0", "the file ends before its last announced flow; correct the count"),
        (
            FLOWS,
            "100 2000 2",
            "100 2000 -2",
            "line 2, column 16: \"-2.000001\" is unexpected; expected a start in seconds",
        ),
        (FLOWS, "0 1 3", "1 1 3", "line 2, column 1: a flow to its own source; remove it"),
    ];
    for (base, from, to, wanted) in cases {
        let text = base.replacen(from, to, 1);
        assert_ne!(text, base, "{from}");
        let error = error(&text);
        assert!(error.contains(wanted), "{from} → {to}\nfound    {error}\nexpected {wanted}");
    }
}

#[test]
fn sizes_above_the_limits_are_refused_before_memory_is_taken() {
    for (text, wanted) in [
        (
            "Nodes 4000000000\nConnections 1\n0->1 start 0 size 1\n",
            "4000000000 hosts of an imported network, expected at most 65535",
        ),
        (&FAT_TREE.replace("64", "4000000000"), "expected at most 65535"),
        ("num_ranks 4000000000\n", "a number of ranks, a whole number up to 65535"),
        ("4000000000 1 1\n0\n0 1 1Gbps 1us 0\n", "a whole number up to 131072"),
        ("4 1 4000000000\n0\n0 1 1Gbps 1us 0\n", "a whole number up to 131071"),
        ("4000000000\n0 1 3 100 5 1\n", "a whole number up to 10000000"),
        ("70000 1 69999\n69999\n0 69999 1Gbps 1us 0\n", "the file ends before the last link"),
    ] {
        let error = error(text);
        assert!(error.contains(wanted), "{text}: {error}");
    }
    let hosts: String = (0..65_536).map(|host| format!("{host} 65536 1Gbps 1us 0\n")).collect();
    let found = error(&format!("65537 1 65536\n65536\n{hosts}"));
    assert!(found.contains("65536 hosts of an imported network, expected at most 65535"), "{found}");
}

#[test]
fn many_transfers_are_refused_before_they_are_made() {
    let text = LAYERS.replace("all_gpus: 4", "all_gpus: 65534").replace("group: 2", "group: 65534");
    let error = error(&text);
    assert!(error.contains("line 4: more than 20000000 transfers; choose another --algorithm"), "{error}");
    let options = ImportOptions { transfers_max: 5, ..ImportOptions::default() };
    let error = read_with(&[("file", LAYERS.as_bytes())], &options).expect_err("too many").to_string();
    assert!(error.contains("more than 5 transfers"), "{error}");
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let files = |a: &'static str, b: &'static str| {
        read(&[("a", a.as_bytes()), ("b", b.as_bytes())]).expect_err("two").to_string()
    };
    assert_eq!(files(TOPOLOGY, FAT_TREE), "b: a second network; import the files one by one");
    assert_eq!(files(GOAL, MATRIX), "b: a second description of traffic; import the files one by one");
    assert!(
        files(TOPOLOGY, "1\n0 2 3 100 5 1\n").contains("a flow of node 2, which is no host of the network")
    );
    assert!(files("4 1 1\n0\n", GOAL).contains("not recognised"));
}

#[test]
fn damaged_traces_and_texts_are_refused() {
    let whole = trace(0);
    for end in 8..whole.len() {
        // Some prefixes of the file are whole messages. The reader must not panic on any prefix.
        let _ = read(&[("own.0.et", &whole[..end])]);
    }
    let found = read(&[("own.0.et", &whole[..whole.len() - 1])]).expect_err("it is cut").to_string();
    assert!(found.contains("own.0.et: damaged at byte"), "{found}");
    let found = read(&[("own.0.et", &whole), ("other.0.et", &whole)]).expect_err("twice").to_string();
    assert!(found.contains("a second trace of rank 0; name the files PREFIX.RANK.et"), "{found}");
    let found = read(&[("own.1.et", &trace(1))]).expect_err("no sender").to_string();
    assert!(
        found.contains("rank 1 waits for a message of rank 0 with tag 0, which no file sends"),
        "{found}"
    );
    let found = read(&[("own", b"num_ranks 2\nrank 0 {\n\xff")]).expect_err("no text").to_string();
    assert_eq!(found, "own, line 3: not UTF-8 text; save the file as UTF-8");
    assert!(error("hello world\n").contains("the format is not recognised; name it with --as: cm, topo"));
}
