//! Reads `[[topology.route]]`: next hops in place of shortest paths.

use super::overrides::matches_glob;
use crate::context::{Complaint, first_names, suggestion};
use crate::format::RouteKeys;
use crate::model::{Node, RouteSpec, Topology};
use crate::reader::Reader;

/// Reads `topology.route`. Without a valid network, this function cannot check the names in the
/// route.
pub(crate) fn routes(topology: &mut Reader<'_>, built: Option<&Topology>) -> Vec<RouteSpec> {
    let (mut routes, mut resolved) = (Vec::new(), Vec::new());
    for mut route in topology.tables("route") {
        let RouteKeys { at, to, via } = RouteKeys::read(&mut route);
        if let (Some(network), Some(at), Some(to), Some(via)) = (built, at, to, via) {
            let at = matching(&route, "at", &at, &network.switches, "switch");
            let to = matching(&route, "to", &to, &network.hosts, "host");
            if let (Some(at), Some(to), Some(via)) = (at, to, neighbour(&route, network, &via)) {
                match at.iter().find(|&&switch| {
                    network.cables_between(Node::Switch(switch), Node::Switch(via)).is_empty()
                }) {
                    None => routes.push(RouteSpec { at, to, via }),
                    Some(&far) => refuse_far(&route, network, far, via),
                }
            }
        }
        resolved.push(route.finish());
    }
    topology.put_all("route", resolved);
    routes
}

/// Returns the indices of names that match a pattern, ascending.
fn matching(
    route: &Reader<'_>,
    key: &'static str,
    patterns: &[String],
    names: &[String],
    what: &str,
) -> Option<Vec<u32>> {
    for pattern in patterns {
        if !names.iter().any(|name| matches_glob(pattern, name)) {
            let complaint = Complaint::new(format!("no {what} is called \"{pattern}\""), "matches nothing");
            let all = || names.iter().map(String::as_str);
            let help = match suggestion(pattern, all()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("here are: {}", first_names(all())),
            };
            route.error(key, complaint.help(help));
            return None;
        }
    }
    let matches = |name: &String| patterns.iter().any(|pattern| matches_glob(pattern, name));
    Some((0..).zip(names).filter(|(_, name)| matches(name)).map(|(index, _)| index).collect())
}

fn neighbour(route: &Reader<'_>, network: &Topology, via: &str) -> Option<u32> {
    let found = network.switches.iter().position(|name| name == via);
    if found.is_none() {
        let complaint = Complaint::new(format!("there is no switch \"{via}\""), "no such switch");
        let names = network.switches.iter().map(String::as_str);
        route.error("via", complaint.help(format!("switches here: {}", first_names(names))));
    }
    found.map(|index| index as u32)
}

fn refuse_far(route: &Reader<'_>, network: &Topology, far: u32, via: u32) {
    let name = |switch: u32| &network.switches[switch as usize];
    let complaint = Complaint::new(
        format!("there is no cable between \"{}\" and \"{}\"", name(far), name(via)),
        "expected a neighbour of every switch in `at`",
    );
    let peers: Vec<_> = network
        .ports_of(far)
        .iter()
        .filter(|port| matches!(port.peer, Node::Switch(_)))
        .map(|port| network.node_name(port.peer))
        .collect();
    let help = format!("\"{}\" has cables to {}", name(far), first_names(peers.iter().copied()));
    route.error("via", complaint.help(help));
}
