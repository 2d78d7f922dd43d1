//! Reads the table `[[fault]]`: hosts that misbehave.

use super::topology::Networks;
use crate::context::{Complaint, first_names, suggestion};
use crate::format::PauseStormKeys;
use crate::model::{FaultSpec, Node, SwitchSpec};
use crate::quantity::format_time;
use crate::reader::Reader;
use bufferlab_units::{BitRate, Time};

/// Number of bytes that a link carries in a pause quantum: 512 bits are 64 bytes.
const QUANTUM_BYTES: u64 = 64;

pub(crate) fn read(
    root: &mut Reader<'_>,
    networks: Option<&Networks>,
    switches: Option<&[SwitchSpec]>,
) -> Vec<FaultSpec> {
    let (mut faults, mut resolved) = (Vec::new(), Vec::new());
    for mut reader in root.tables("fault") {
        faults.extend(pause_storm(&mut reader, networks, switches));
        resolved.push(reader.finish());
    }
    root.put_all("fault", resolved);
    faults
}

fn pause_storm(
    reader: &mut Reader<'_>,
    networks: Option<&Networks>,
    switches: Option<&[SwitchSpec]>,
) -> Option<FaultSpec> {
    let mut keys = PauseStormKeys::read(reader);
    if let (Some(from), Some(Some(until))) = (keys.from, keys.until)
        && until <= from
    {
        let message =
            format!("the storm would end at {} and begin at {}", format_time(until), format_time(from));
        let complaint = Complaint::new(message, "expected a time after `from`");
        reader.error("until", complaint.help("swap them, or leave `until` out"));
    }
    keys.host =
        keys.host_name.as_deref().zip(networks).and_then(|(name, networks)| find(reader, name, networks));
    let place = keys.host.zip(networks).and_then(|(host, networks)| place_of(host, networks));
    let pause = place
        .zip(keys.quanta)
        .map(|((_, rate), quanta)| rate.serialization(u64::from(quanta) * QUANTUM_BYTES));
    keys.interval = reader.time_or("interval", pause.map(|pause| Time(pause.0 / 2)));
    if let (Some((switch, _)), Some(priorities)) = (place, &keys.priorities)
        && let (Some(switches), Some(networks)) = (switches, networks)
    {
        let mask = switches[switch as usize].lossless();
        if let Some(lossy) = priorities.iter().find(|&&priority| mask >> priority & 1 == 0) {
            let at = &networks.as_it_runs.switches[switch as usize];
            let complaint = Complaint::new(
                format!("priority {lossy} is not lossless at \"{at}\""),
                "its frames would be ignored",
            );
            reader.warn(
                "priorities",
                complaint.help("list the priority in [switch.pfc], or leave the fault out"),
            );
        }
    }
    keys.complete().map(FaultSpec::PauseStorm)
}

fn find(reader: &Reader<'_>, name: &str, networks: &Networks) -> Option<u32> {
    let hosts = &networks.as_it_runs.hosts;
    let found = hosts.iter().position(|known| known == name);
    if found.is_none() {
        let names = || hosts.iter().map(String::as_str);
        let help = match suggestion(name, names()) {
            Some(near) => format!("did you mean \"{near}\"? hosts here: {}", first_names(names())),
            None => format!("hosts here: {}", first_names(names())),
        };
        let complaint = Complaint::new(format!("there is no host \"{name}\""), "no such host");
        reader.error("host", complaint.help(help));
    }
    found.map(|index| index as u32)
}

/// Returns the switch of a host, and the rate at which the switch sends to the host.
fn place_of(host: u32, networks: &Networks) -> Option<(u32, BitRate)> {
    let network = &networks.as_it_runs;
    let link = &network.links[network.host_link(host) as usize];
    let (peer, _) = link.from(Node::Host(host))?;
    match peer {
        Node::Switch(switch) => Some((switch, link.from(peer)?.1)),
        Node::Host(_) => None,
    }
}
