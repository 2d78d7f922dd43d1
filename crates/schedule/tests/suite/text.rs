//! Tests the text format of schedules: round trips, and errors with their place.

use bufferlab_schedule::{
    Algorithm, Collective, Condition, NodeId, Operation, ScheduleBuilder, Work, expand, parse_schedule,
    write_schedule,
};
use bufferlab_units::Time;
use std::path::Path;

const EXAMPLE: &str = "\
# Two messages with a computation between them.
node,kind,src,dst,size_bytes,duration_ns,class,after
d,barrier,,,,,,c
a,transfer,0,1,65536,,forward,
b,compute,1,,,5000.25,,a
c,transfer,1,2,65536,,forward,b a:sent+500.5
";

fn error(text: &str) -> String {
    parse_schedule(Path::new("own.csv"), text.as_bytes(), None).expect_err("it is refused").to_string()
}

#[test]
fn a_file_becomes_a_graph() {
    let schedule = parse_schedule(Path::new("own.csv"), EXAMPLE.as_bytes(), None).expect("it is right");
    assert_eq!((schedule.ranks(), schedule.len(), schedule.edges()), (3, 4, 4));
    assert_eq!(schedule.name(NodeId(3)), "c");
    let duration = Time(5_000_250);
    assert_eq!(schedule.work(NodeId(2)), Work::Compute { rank: 1, lane: 0, duration });
    let sent = schedule.parents().of_node(NodeId(3)).find(|edge| edge.condition == Condition::Sent);
    assert_eq!(sent.expect("an edge").delay, Time(500_500));
}

#[test]
fn what_is_written_reads_back_equal() {
    let group: Vec<_> = (0..8).collect();
    for algorithm in [Algorithm::Ring, Algorithm::DoubleBinaryTree, Algorithm::HalvingDoubling] {
        let mut builder = ScheduleBuilder::new(8);
        builder.class("gradients, all").expect("one class");
        expand(&mut builder, &Collective::new(Operation::AllReduce, algorithm, 10_000, &group), &[])
            .expect("it can be expanded");
        let last = builder.node(Work::Compute { rank: 5, lane: 3, duration: Time(1_001) }).expect("a rank");
        builder.name(last, "last");
        builder.not_before(last, Time(5)).expect("a node");
        let schedule = builder.build().expect("no cycles");
        let mut text = Vec::new();
        write_schedule(&mut text, &schedule).expect("a vector takes everything");
        assert_eq!(parse_schedule(Path::new("own.csv"), &text, Some(8)).expect("it was written"), schedule);
    }
}

#[test]
fn errors_name_line_column_and_remedy() {
    for (from, to, wanted) in [
        (
            "c,transfer,1",
            "c,message,1",
            "own.csv, line 6, column `kind`: \"message\" is no kind; expected `transfer`",
        ),
        ("b a:sent", "b x:sent", "own.csv, line 6, column `after`: there is no node \"x\""),
        ("a:sent", "b:sent", "line 6, column `after`: \"b\" is never \"sent\"; expected `started` or `done`"),
        ("+500.5", "+soon", "line 6, column `after`: \"soon\" is no delay; expected nanoseconds"),
        (
            "1,2,65536",
            "1,-2,65536",
            "line 6, column `dst`: \"-2\" is no value; expected a whole number up to 65534",
        ),
        ("1,2,65536", "1,1,65536", "line 6: node 3 sends from rank 1 to itself"),
        ("1,2,65536", "1,2,0", "line 6: node 3 sends nothing"),
        ("5000.25", "5000.2525", "line 5, column `duration_ns`: \"5000.2525\" is no time"),
        (
            "a,transfer",
            "d,transfer",
            "line 4, column `node`: \"d\" is the node of line 3, too; rename one of them",
        ),
        ("a,transfer", "a a,transfer", "line 4, column `node`: \"a a\" is no name; expected a word"),
        ("node,kind", "name,kind", "line 1: unknown column `name`; columns are node, kind"),
        (
            "forward,\n",
            "forward,c\n",
            "these nodes wait for each other and never start: c → a → c (2 more nodes wait behind them)",
        ),
        ("d,barrier,", "d,barrier", "line: 3"),
    ] {
        let text = EXAMPLE.replace(from, to);
        assert_ne!(text, EXAMPLE, "{from}");
        let error = error(&text);
        assert!(error.contains(wanted), "{from}: {error}");
    }
    assert!(error("kind,after\n").contains("no column `node`"));
}

#[test]
fn ranks_are_those_of_the_network() {
    let error = parse_schedule(Path::new("own.csv"), EXAMPLE.as_bytes(), Some(2)).expect_err("no rank 2");
    assert!(error.to_string().contains("names rank 2, but ranks are 0 to 1"), "{error}");
}

#[test]
fn too_many_ranks_are_refused() {
    let text = EXAMPLE.replace("1,2,65536", "1,65535,65536");
    assert!(error(&text).contains("up to 65534"));
}
