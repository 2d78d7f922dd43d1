//! Reads `[[topology.change]]`: cables that differ from the generated network.

use crate::context::{Complaint, first_names};
use crate::convert;
use crate::format::ChangeKeys;
use crate::model::{LinkSpec, Topology};
use crate::quantity::format_time;
use crate::read::overrides::matches_glob;
use crate::reader::Reader;
use crate::resolved::{list, quote};
use bufferlab_units::Time;

/// Applies the changes of cables in `topology.change` to a network.
pub(crate) fn changed(reader: &mut Reader<'_>, built: Option<Topology>) -> Option<Topology> {
    let mut topology = built;
    let mut resolved = Vec::new();
    for mut change in reader.tables("change") {
        let keys = ChangeKeys::read(&mut change);
        let rates = [keys.rate_ab.or(keys.rate), keys.rate_ba.or(keys.rate)];
        let failed = keys.failed == Some(true);
        let down = intervals(&mut change);
        if failed && change.has("down") {
            let complaint =
                Complaint::new("`failed` and `down` exclude each other", "failed = true is down for ever");
            change.error("down", complaint.help("remove one of the two"));
        }
        let nothing =
            ["rate", "rate_ab", "rate_ba", "delay", "failed", "down"].iter().all(|key| !change.has(key));
        if nothing {
            let complaint = Complaint::new("this entry changes nothing", "expected a change of this cable");
            change.error("link", complaint.help("add one of rate, rate_ab, rate_ba, delay, failed, down"));
        }
        if let (Some(topology), Some(name)) = (&mut topology, keys.link) {
            let chosen = cables(&change, topology, &name);
            let before: Vec<_> =
                chosen.iter().map(|&(index, _)| topology.links[index as usize].clone()).collect();
            for &(index, reversed) in &chosen {
                let link = &mut topology.links[index as usize];
                let [forward, backward] = if reversed { [rates[1], rates[0]] } else { rates };
                link.rate_ab = forward.unwrap_or(link.rate_ab);
                link.rate_ba = backward.unwrap_or(link.rate_ba);
                link.delay = keys.delay.unwrap_or(link.delay);
                if failed {
                    link.down = vec![(Time::ZERO, Time::MAX)];
                }
                link.down.extend(&down);
                link.down.sort_unstable();
            }
            let is_same =
                |(&(index, _), before): (&(u32, bool), &LinkSpec)| topology.links[index as usize] == *before;
            if !chosen.is_empty() && !nothing && chosen.iter().zip(&before).all(is_same) {
                let message = format!("`{name}` is as this entry says anyhow: nothing changes");
                let complaint = Complaint::new(message, "the values that it has");
                change.warn("link", complaint.help("remove the entry, or give another rate or delay"));
            }
        }
        resolved.push(change.finish());
    }
    reader.put_all("change", resolved);
    topology
}

fn intervals(change: &mut Reader<'_>) -> Vec<(Time, Time)> {
    let read = change.read("down", |item, wanted| {
        let elements = convert::elements(item, wanted)?.iter();
        let times: Vec<Time> = elements
            .map(|element| convert::time(element, wanted, true).map(Time))
            .collect::<Result<_, _>>()?;
        if times.is_empty() || times.len() % 2 == 1 || times.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Complaint::new(
                "these times are no intervals",
                "expected pairs in ascending order: from, until, from, until …",
            )
            .help(
                "for example down = [\"10 ms\", \"20 ms\"]; a cable that never comes back: failed = true",
            ));
        }
        let text = list(times.iter().map(|&time| quote(&format_time(time))));
        Ok((times, text))
    });
    let times = read.unwrap_or_default();
    times.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

/// Returns the cables whose ends match a pattern, in either order. If `number` is given, the
/// function returns only the parallel cable with the number `number`.
fn matching(topology: &Topology, pattern: &str, number: Option<&str>) -> Vec<(u32, bool)> {
    let chosen = topology.links.iter().zip(0_u32..).filter_map(|(link, index)| {
        let (a, b) = (topology.node_name(link.a), topology.node_name(link.b));
        let forward = matches_glob(pattern, &format!("{a}-{b}"));
        let backward = !forward && matches_glob(pattern, &format!("{b}-{a}"));
        let parallel = || topology.cables_between(link.a, link.b).iter().position(|&other| other == index);
        let numbered = number.is_none_or(|number| number.parse().ok() == parallel());
        ((forward || backward) && numbered).then_some((index, backward))
    });
    chosen.collect()
}

/// Returns the cables that `name` means ("leaf0-spine1", "leaf0-spine1/2", "leaf0-h*"). The flag of
/// a cable states whether `name` has the ends of the cable in reverse order.
fn cables(change: &Reader<'_>, topology: &Topology, name: &str) -> Vec<(u32, bool)> {
    let (ends, number) = match name.split_once('/') {
        Some((ends, number)) => (ends, Some(number)),
        None => (name, None),
    };
    if ends.contains(['*', '?']) {
        let chosen = matching(topology, ends, number);
        if chosen.is_empty() {
            let ends =
                |link: &LinkSpec| format!("{}-{}", topology.node_name(link.a), topology.node_name(link.b));
            let names: Vec<_> = topology.links.iter().map(ends).collect();
            let complaint =
                Complaint::new(format!("no cable matches \"{name}\""), "`*`: any characters; `?`: one");
            change.error(
                "link",
                complaint.help(format!("cables: {}", first_names(names.iter().map(String::as_str)))),
            );
        }
        return chosen;
    }
    let mut splits = ends.match_indices('-').map(|(at, _)| (&ends[..at], &ends[at + 1..]));
    let Some((one, other)) = splits.find_map(|(a, b)| Some((topology.node(a)?, topology.node(b)?))) else {
        let complaint = Complaint::new(
            format!("\"{name}\" does not name two nodes"),
            "expected two names joined by a hyphen",
        );
        let nodes = first_names(topology.switches.iter().chain(&topology.hosts).map(String::as_str));
        change.error("link", complaint.help(format!("for example \"leaf0-spine1\"; nodes here: {nodes}")));
        return Vec::new();
    };
    let found = topology.cables_between(one, other);
    if found.is_empty() {
        let complaint = Complaint::new(
            format!(
                "there is no cable between \"{}\" and \"{}\"",
                topology.node_name(one),
                topology.node_name(other)
            ),
            "no such cable",
        );
        let peers: Vec<_> =
            topology.links.iter().filter_map(|link| link.from(one)).map(|(peer, _)| peer).collect();
        let mut names: Vec<_> = peers.iter().map(|&peer| topology.node_name(peer)).collect();
        names.dedup();
        let help =
            format!("\"{}\" has cables to {}", topology.node_name(one), first_names(names.iter().copied()));
        change.error("link", complaint.help(help));
        return Vec::new();
    }
    let chosen = match number.map(|number| number.parse::<usize>().ok().and_then(|index| found.get(index))) {
        None => found,
        Some(Some(&one)) => vec![one],
        Some(None) => {
            let complaint = Complaint::new(
                format!("there is no cable number \"{}\" here", number.unwrap_or_default()),
                format!("expected a number from 0 to {}", found.len() - 1),
            );
            change.error(
                "link",
                complaint.help("parallel cables are numbered from 0 in the order of their ports"),
            );
            Vec::new()
        }
    };
    chosen.into_iter().map(|index| (index, topology.links[index as usize].a != one)).collect()
}
