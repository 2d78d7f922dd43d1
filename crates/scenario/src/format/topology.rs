//! Table `[topology]` with its tables: exceptions for cables, and next hops.

use super::Kind;
use super::declare::table;
use super::kinds::{SPAN_OR_ZERO, TEXT};
use crate::model::Multipath;
use bufferlab_params::Choice;
use bufferlab_topology::TOPOLOGIES;
use bufferlab_units::{BitRate, Time};

table! {
    struct TopologyKeys;
    static TOPOLOGY = "[topology]",
        "Nodes and cables. Hosts are named h0, h1 … in the order of their addresses (a graph may name them).";
    keys {
        "kind" = hand(Kind::Tag(&TOPOLOGIES)), required("\"single_switch\""),
            "Generator of the network.";
        "multipath" -> multipath: Multipath = choice(Kind::Words(Multipath::WORDS)), default("\"ecmp\""),
            "How a packet chooses among equal shortest paths.";
        "change" = hand(Kind::Tables(&CHANGE)), optional("[{ link = \"leaf0-spine1\", failed = true }]"),
            "Cables that differ from the generated network, or fail. Buffers and offered load \
            still follow from the network as generated.";
        "route" = hand(Kind::Tables(&ROUTE)), optional("[{ at = \"s0\", to = \"h2\", via = \"s1\" }]"),
            "Next hops in place of shortest paths.";
    }
}

table! {
    struct ChangeKeys;
    static CHANGE = "[[topology.change]]", "A cable that differs from the generated network.";
    keys {
        "link" -> link: String = text(TEXT), required("\"leaf0-spine1\""),
            "The two ends of the cable. Several cables between them are all meant, or one of them \
            by number: \"leaf0-spine1/2\" (from 0). A pattern means all cables that match it: \
            \"leaf2-h*\" (`*`: any characters; `?`: one).";
        "rate" -> rate: BitRate = rate(Kind::Rate), optional("\"1 Gb/s\""),
            "New rate in both directions.";
        "rate_ab" -> rate_ab: BitRate = rate(Kind::Rate), optional("\"1 Gb/s\""),
            "New rate from the end that `link` names first.";
        "rate_ba" -> rate_ba: BitRate = rate(Kind::Rate), optional("\"1 Gb/s\""),
            "New rate towards the end that `link` names first.";
        "delay" -> delay: Time = time(SPAN_OR_ZERO), optional("\"10 us\""),
            "New propagation delay.";
        "failed" -> failed: bool = flag(Kind::Flag), default("false"),
            "Down for the whole run.";
        "down" = hand(Kind::Intervals), optional("[\"10 ms\", \"20 ms\"]"),
            "Down from the first time until before the second, and so on in pairs.";
    }
}

table! {
    struct RouteKeys;
    static ROUTE = "[[topology.route]]",
        "Next hops in place of the shortest path, for example to send traffic round a ring. Base \
        round-trip times remain those of shortest paths.";
    keys {
        "at" -> at: Vec<String> = names(Kind::Texts), required("\"s0\""),
            "Names of the switches, in which `*` matches any characters and `?` matches one.";
        "to" -> to: Vec<String> = names(Kind::Texts), required("[\"h1\", \"h2\"]"),
            "Names of the destination hosts, with the same patterns.";
        "via" -> via: String = text(TEXT), required("\"s1\""),
            "Neighbouring switch that is the next hop. Several cables to it are used like equal \
            paths. If all of them are down, packets take the shortest path. For the same switch \
            and host, the last entry counts.";
    }
}
