//! Flow lists: accepted and refused input, error messages, and lossless writing.

use bufferlab_units::Time;
use bufferlab_units::quantity::Dimension;
use bufferlab_workload::{FlowListError, FlowSpec, read_flow_list, renumber_queries, write_flow_list};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

struct Fixture {
    _folder: TempDir,
    path: PathBuf,
}

fn fixture(name: &str, content: &[u8]) -> Fixture {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    Fixture { _folder: folder, path }
}

fn host_names() -> Vec<String> {
    (0..8).map(|host| format!("h{host}")).collect()
}

fn read(text: &str) -> Result<bufferlab_workload::FlowList, FlowListError> {
    read_flow_list(&fixture("flows.csv", text.as_bytes()).path, 8, &host_names())
}

fn flow(start: u64, src: u32, dst: u32, size: u64) -> FlowSpec {
    FlowSpec {
        start: Time(start),
        src,
        dst,
        size,
        class: 0,
        query: FlowSpec::NO_QUERY,
        open: None,
        data_path: None,
        ack_path: None,
        node: FlowSpec::NO_NODE,
    }
}

#[test]
fn the_four_required_columns_suffice() {
    let list = read("src,dst,size_bytes,start_ns\n0,1,1000,5\n7,6,1,2.5\n").unwrap();
    assert_eq!(list.flows, [flow(2_500, 7, 6, 1), flow(5_000, 0, 1, 1_000)]);
    assert_eq!(list.classes, ["flow"]);
    assert!(list.ignored_columns.is_empty());
}

#[test]
fn lists_of_the_public_reference_runs_are_read() {
    let list = read(
        "fid,class,src,dst,size_bytes,start_ns,conn_open_ns\n\
         0,incast,2,1,30720,1103378669,459000150\n\
         1,websearch,2,6,24827,1049151381,1049151381\n",
    )
    .unwrap();
    assert_eq!(list.classes, ["incast", "websearch"]);
    assert_eq!(list.ignored_columns, ["fid"]);
    let web = FlowSpec { class: 1, ..flow(1_049_151_381_000, 2, 6, 24_827) };
    let incast = FlowSpec { open: Some(Time(459_000_150_000)), ..flow(1_103_378_669_000, 2, 1, 30_720) };
    assert_eq!(list.flows, [web, incast]);
}

#[test]
fn every_optional_column_is_read() {
    let list = read(
        "# a comment\n\
         size_bytes, src, dst, start_ps, start_ns, class, query, open_ns, data_path, ack_path\n\
         10, h3, 4, 1234567, 9, , 12, 1000, 3/1, 0\n\
         \n\
         # another\n\
         20.0, 3, h4, 2e6, 9,\"a, b\", , , , 255/0/1/2\n",
    )
    .unwrap();
    assert_eq!(
        list.flows,
        [
            FlowSpec {
                query: 12,
                open: Some(Time(1_000_000)),
                data_path: Some(0x0103),
                ack_path: Some(0),
                ..flow(1_234_567, 3, 4, 10)
            },
            FlowSpec { class: 1, ack_path: Some(0x0201_00ff), ..flow(2_000_000, 3, 4, 20) },
        ]
    );
    assert_eq!(list.classes, ["flow", "a, b"]);
    assert_eq!(list.ignored_columns, ["start_ns"], "picoseconds are more precise");
}

#[test]
fn flows_that_start_together_keep_the_order_of_their_lines() {
    let list = read("src,dst,size_bytes,start_ns\n5,1,1,7\n4,1,1,7\n6,1,1,3\n3,1,1,7\n").unwrap();
    assert_eq!(list.flows.iter().map(|flow| flow.src).collect::<Vec<_>>(), [6, 5, 4, 3]);
}

#[test]
fn files_of_other_systems_are_read() {
    let text = "\u{feff}src,dst,size_bytes,start_ns\r\n0,1,1000,5\r\n1,0,1000,6";
    assert_eq!(read(text).unwrap().flows.len(), 2);
}

#[test]
fn gzip_is_recognised_by_content() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"src,dst,size_bytes,start_ns\n0,1,1000,5\n").unwrap();
    let mut bytes = encoder.finish().unwrap();
    for name in ["flows.csv.gz", "flows.csv"] {
        let list = read_flow_list(&fixture(name, &bytes).path, 2, &[]).unwrap();
        assert_eq!(list.flows, [flow(5_000, 0, 1, 1_000)]);
    }
    bytes.truncate(bytes.len() - 9);
    let damaged = read_flow_list(&fixture("flows.csv.gz", &bytes).path, 2, &[]);
    assert!(matches!(damaged, Err(FlowListError::Io { .. })), "{damaged:?}");
}

#[test]
fn mistakes_are_reported_with_line_column_and_advice() {
    const HEADER: &str = "src,dst,size_bytes,start_ns,query,conn_open_ns,data_path";
    for (row, expected) in [
        (
            "8,1,1,0,,,",
            "line 3, column `src`: `8` is not a host; hosts are the numbers 0 to 7, or their names `h0` to `h7`",
        ),
        ("0,h9,1,0,,,", "line 3, column `dst`: `h9` is not a host"),
        ("-1,0,1,0,,,", "line 3, column `src`: `-1` is not a host"),
        ("0,,1,0,,,", "line 3, column `dst`: `` is not a host"),
        ("2,h2,1,0,,,", "line 3, column `dst`: `h2` is the sender as well; src and dst must differ"),
        ("0,1,0,0,,,", "line 3, column `size_bytes`: `0` is not a flow size; a flow has at least 1 byte"),
        ("0,1,-5,0,,,", "line 3, column `size_bytes`: `-5` is negative"),
        ("0,1,1.5,0,,,", "line 3, column `size_bytes`: `1.5` is not a whole number"),
        ("0,1,10KB,0,,,", "line 3, column `size_bytes`: `10KB` is not a number; write digits"),
        ("0,1,1,-3,,,", "line 3, column `start_ns`: `-3` is negative"),
        ("0,1,1,,,,", "line 3, column `start_ns`: `` is not a number"),
        ("0,1,1,1e18,,,", "line 3, column `start_ns`: `1e18` is too large for this column; check its unit"),
        ("0,1,1,5,x,,", "line 3, column `query`: `x` is not a number"),
        ("0,1,1,5,4294967295,,", "line 3, column `query`: `4294967295` is too large"),
        ("0,1,1,5,,5.001,", "line 3, column `conn_open_ns`: `5.001` is after the flow's start"),
        ("0,1,1,5,,,1/2/3/4/5", "line 3, column `data_path`: `1/2/3/4/5` is not a path; write up to four"),
        ("0,1,1,5,,,256", "line 3, column `data_path`: `256` is not a path"),
        ("0,1,1,5,,,1/", "line 3, column `data_path`: `1/` is not a path"),
        ("0,1,1,5", "line 3: 4 fields, expected 7 as in the header; look for"),
    ] {
        let message = read(&format!("{HEADER}\n0,1,1,0,,,\n{row}\n")).unwrap_err().to_string();
        assert!(message.contains(expected), "{row}: {message}");
        assert!(message.contains("flows.csv"), "{message}");
    }
}

#[test]
fn lines_are_counted_as_an_editor_does() {
    for (text, expected) in [
        ("# a\n\nsrc,dst,size_bytes,start_ns\n# b\n\n\n0,1,1,1\n#c\n0,1,x,1\n", "line 9, column"),
        ("#a\r\nsrc,dst,size_bytes,start_ns\r\n0,1,1,1\r\n\r\n# b\r\n0,1,x,1", "line 6, column"),
        ("src,dst,size_bytes,start_ns,class\n0,1,1,1,\"two\nlines\"\n\n0,1,x,1,c\n", "line 5, column"),
        ("src,dst,size_bytes,start_ns\n# b\n0,1,1,1\n#\n\n0,1,1\n", "line 6: 3 fields"),
        ("\u{feff}# a\nsrc,dst,size_bytes,start_ns\n0,1,1\n", "line 3: 3 fields"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
    let latin = fixture("flows.csv", b"src,dst,size_bytes,start_ns,class\n#\n0,1,1,1,caf\xe9\n");
    let message = read_flow_list(&latin.path, 8, &[]).unwrap_err().to_string();
    assert!(message.contains("line 3: not UTF-8"), "{message}");
}

#[test]
fn mistakes_in_the_header_are_reported_with_the_columns_found() {
    for (text, expected) in [
        ("", "no flows; expected a header with src,dst,size_bytes,start_ns and at least one line"),
        ("# nothing\n\n", "no flows"),
        ("src,dst,size_bytes,start_ns\n", "no flows"),
        (
            "src,dst,size,start_ns\n0,1,1,1\n",
            "line 1: no column `size_bytes`; found `src`, `dst`, `size`, `start_ns`; rename",
        ),
        ("0,1,1000,5\n", "no column `src`; found `0`, `1`, `1000`, `5`"),
        ("src,dst,size_bytes,start_s\n0,1,1,1\n", "no column `start_ns`"),
        ("src,dst,src,size_bytes,start_ns\n0,1,0,1,1\n", "line 1: column `src` appears twice"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(expected), "{text:?}: {message}");
    }
    let absent = read_flow_list(&PathBuf::from("no/such.csv"), 2, &[]).unwrap_err();
    assert!(matches!(absent, FlowListError::Io { .. }) && absent.to_string().contains("no/such.csv"));
}

#[test]
fn a_number_that_names_another_host_is_refused() {
    let names = ["1".to_owned(), "zero".to_owned(), "2".to_owned()];
    let file = fixture("flows.csv", b"src,dst,size_bytes,start_ns\n1,2,1,1\n");
    let message = read_flow_list(&file.path, 3, &names).unwrap_err().to_string();
    assert!(
        message.contains("column `src`: `1` is the number of one host and the name of another"),
        "{message}"
    );
    let file = fixture("flows.csv", b"src,dst,size_bytes,start_ns\nzero,2,1,1\n");
    assert_eq!(read_flow_list(&file.path, 3, &names).unwrap().flows, [flow(1_000, 1, 2, 1)]);
}

#[test]
fn queries_of_several_lists_are_kept_apart() {
    let with_queries = |queries: &[u32]| -> Vec<_> {
        queries.iter().map(|&query| FlowSpec { query, ..flow(0, 0, 1, 1) }).collect()
    };
    let numbers = |flows: &[FlowSpec]| flows.iter().map(|flow| flow.query).collect::<Vec<_>>();
    let none = FlowSpec::NO_QUERY;
    let mut first = with_queries(&[7, 7, none, 3, 7]);
    let mut second = with_queries(&[3, none, 9]);
    let free = renumber_queries(&mut first, 0);
    assert_eq!((numbers(&first), free), (vec![0, 0, none, 1, 0], 2));
    let free = renumber_queries(&mut second, free);
    assert_eq!((numbers(&second), free), (vec![2, none, 3], 4));
}

#[test]
fn what_a_list_cannot_express_is_not_written() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("flows.csv");
    let classes = ["web".to_owned(), " padded".to_owned()];
    for (bad, expected) in [
        (flow(0, 1, 1, 1), "flow 1 goes from a host to itself"),
        (flow(0, 1, 2, 0), "flow 1 has no data"),
        (FlowSpec { open: Some(Time(6)), ..flow(5, 1, 2, 1) }, "flow 1 starts before its connection opens"),
        (FlowSpec { class: 1, ..flow(0, 1, 2, 1) }, "flow 1 has a class whose name"),
        (FlowSpec { class: 2, ..flow(0, 1, 2, 1) }, "flow 1 has a class without a name"),
    ] {
        let message = write_flow_list(&path, &[flow(0, 0, 1, 1), bad], &classes).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    let nowhere = folder.path().join("missing").join("flows.csv");
    assert!(matches!(write_flow_list(&nowhere, &[], &classes), Err(FlowListError::Io { .. })));
}

#[test]
fn equal_flows_are_equal_files() {
    let folder = TempDir::new().unwrap();
    let (a, b) = (folder.path().join("a.csv.gz"), folder.path().join("b.csv.gz"));
    let flows: Vec<_> = (0..100).map(|k| flow(k * 1_001, 0, 1, k + 1)).collect();
    for path in [&a, &b] {
        write_flow_list(path, &flows, &["web".to_owned()]).unwrap();
    }
    let bytes = fs::read(&a).unwrap();
    assert_eq!(bytes, fs::read(&b).unwrap());
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no partial file is left");
}

prop_compose! {
    fn any_flow()(
        start in prop_oneof![0..10_u64, 0..=Dimension::Time.largest()],
        before in any::<u64>(),
        open in any::<bool>(),
        src in 0..8_u32,
        step in 1..8_u32,
        size in prop_oneof![1..10_u64, 1..=Dimension::Size.largest()],
        class in 0..3_u16,
        query in prop_oneof![Just(FlowSpec::NO_QUERY), any::<u32>()],
        data_path in any::<Option<u32>>(),
        ack_path in any::<Option<u32>>(),
    ) -> FlowSpec {
        let open = (open && start > 0).then(|| Time(before % start.max(1)));
        let dst = (src + step) % 8;
        let (start, node) = (Time(start), FlowSpec::NO_NODE);
        FlowSpec { start, src, dst, size, class, query, open, data_path, ack_path, node }
    }
}

proptest! {
    #[test]
    fn what_was_written_is_read_again(
        mut flows in prop::collection::vec(any_flow(), 1..40),
        gzip in any::<bool>(),
        names in prop::collection::vec("[a-z\",#\n]([ a-z\",#/\n]*[a-z\",#])?", 3),
    ) {
        // Class numbers follow from names, so equal names would merge classes.
        let classes: Vec<String> =
            names.iter().enumerate().map(|(k, name)| format!("{name}{k}").trim().to_owned()).collect();
        let folder = TempDir::new().unwrap();
        let path = folder.path().join(if gzip { "flows.csv.gz" } else { "flows.csv" });
        write_flow_list(&path, &flows, &classes).unwrap();
        let list = read_flow_list(&path, 8, &host_names()).unwrap();
        flows.sort_by_key(|flow| flow.start);
        prop_assert_eq!(list.flows.len(), flows.len());
        for (read, written) in list.flows.iter().zip(&flows) {
            prop_assert_eq!(&list.classes[usize::from(read.class)], &classes[usize::from(written.class)]);
            prop_assert_eq!(&FlowSpec { class: written.class, ..read.clone() }, written);
        }
        prop_assert!(list.ignored_columns.is_empty());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(src|dst|size_bytes|start_ns|query|data_path|[0-9a-e.,/\"#\n -])*") {
        let _ = read(&format!("src,dst,size_bytes,start_ns,data_path\n{text}"));
        let _ = read(&text);
    }
}

#[test]
fn a_class_that_would_steer_a_terminal_is_refused_in_both_directions() {
    for hidden in ['\u{1b}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{61c}'] {
        let message = read(&format!("src,dst,size_bytes,start_ns,class\n0,1,1,1,a{hidden}b\n")).unwrap_err();
        let expected = format!(
            "line 2, column `class`: `a{hidden}b` has a hidden character, U+{:04X}",
            u32::from(hidden)
        );
        assert!(message.to_string().contains(&expected), "{message}");
        let folder = tempfile::tempdir().expect("a folder");
        let written =
            write_flow_list(&folder.path().join("a.csv"), &[flow(1, 0, 1, 1)], &[format!("a{hidden}b")]);
        assert!(matches!(written, Err(FlowListError::NotWritable { .. })), "{written:?}");
    }
}
