//! Tests schedules: unknown ranks and nodes, cycles, and the order of children in memory.

use crate::evaluate::evaluate;
use bufferlab_schedule::{
    Condition, Edge, Network, Networks, NodeId, ScheduleBuilder, ScheduleError, Transfer, Work,
};
use bufferlab_units::{BitRate, Time};

fn transfer(src: u32, dst: u32) -> Work {
    Work::Transfer(Transfer { src, dst, bytes: 1_000, class: 0 })
}

fn chain(length: u32) -> (ScheduleBuilder, Vec<NodeId>) {
    let mut builder = ScheduleBuilder::new(2);
    builder.class("flow").expect("one class");
    let nodes: Vec<_> = (0..length).map(|_| builder.node(transfer(0, 1)).expect("a transfer")).collect();
    for pair in nodes.windows(2) {
        builder.after(pair[1], pair[0], Condition::Finished).expect("two nodes");
    }
    (builder, nodes)
}

#[test]
fn nodes_that_wait_for_each_other_are_named() {
    let (mut builder, nodes) = chain(5);
    builder.name(nodes[1], "b");
    builder.after(nodes[1], nodes[3], Condition::Started).expect("two nodes");
    let error = builder.build().expect_err("a cycle").to_string();
    assert_eq!(
        error,
        "these nodes wait for each other and never start: b → 3 → 2 → b (1 more node waits behind them); \
         remove one of these dependencies"
    );
}

#[test]
fn a_node_that_waits_for_itself_is_named() {
    let (mut builder, nodes) = chain(1);
    builder.after(nodes[0], nodes[0], Condition::Finished).expect("a node");
    let error = builder.build().expect_err("a cycle");
    assert_eq!(error, ScheduleError::Cycle { cycle: vec!["0".to_owned()], waiting: 1 });
}

#[test]
fn unknown_ranks_and_nodes_are_refused() {
    let (mut builder, nodes) = chain(1);
    let error = builder.node(transfer(0, 2)).expect_err("no rank 2").to_string();
    assert_eq!(error, "node 1 names rank 2, but ranks are 0 to 1");
    let error = builder.node(transfer(1, 1)).expect_err("to itself");
    assert!(matches!(error, ScheduleError::ToItself { .. }), "{error}");
    let error = builder.after(nodes[0], NodeId(7), Condition::Finished).expect_err("no node 7");
    assert_eq!(error, ScheduleError::UnknownNode { node: 7, nodes: 1 });
    let barrier = builder.node(Work::Barrier).expect("a barrier");
    let error = builder.after(nodes[0], barrier, Condition::Sent).expect_err("nothing is sent");
    assert!(matches!(error, ScheduleError::NotATransfer { .. }), "{error}");
    let error = ScheduleBuilder::new(65_536).build().expect_err("too many ranks").to_string();
    assert!(error.contains("at most 65535"), "{error}");
}

#[test]
fn delays_starts_and_conditions_shift_a_child() {
    let network = Network { latency: Time::from_us(1), rate: BitRate::gbps(8) };
    let networks = Networks { inside: network, across: network };
    for (condition, wanted) in
        [(Condition::Started, 0), (Condition::Sent, 1_000), (Condition::Finished, 2_000)]
    {
        let (mut builder, nodes) = chain(1);
        builder.not_before(nodes[0], Time::from_ns(10)).expect("a node");
        let child = Work::Compute { rank: 1, lane: 0, duration: Time::from_us(50) };
        let child = builder.node(child).expect("a rank");
        builder.edge(child, Edge { node: nodes[0], condition, delay: Time::from_ns(7) }).expect("two nodes");
        let time = evaluate(&builder.build().expect("no cycles"), networks, 1);
        assert_eq!(time, Time::from_ns(50_000 + 10 + 7 + wanted), "{condition:?}");
    }
}

#[test]
fn parents_mirror_children() {
    let (mut builder, nodes) = chain(4);
    builder.after(nodes[3], nodes[0], Condition::Sent).expect("two nodes");
    let schedule = builder.build().expect("no cycles");
    assert_eq!((schedule.len(), schedule.edges(), schedule.depth()), (4, 4, 4));
    let parents: Vec<_> =
        schedule.parents().of_node(nodes[3]).map(|edge| (edge.node, edge.condition)).collect();
    assert_eq!(parents, [(nodes[0], Condition::Sent), (nodes[2], Condition::Finished)]);
    let children: Vec<_> = schedule.children(nodes[0]).map(|edge| edge.node).collect();
    assert_eq!(children, [nodes[1], nodes[3]]);
}
