//! Reads the merged file into a [`Scenario`]: section by section, with every check that needs
//! more than one value.

mod changes;
mod congestion;
mod egress;
mod faults;
mod files;
mod foreign;
mod hardware;
mod headroom;
mod marking;
mod named;
mod output;
mod overrides;
mod persistent;
mod pfc;
mod priority;
mod profiles;
mod rdma;
mod routes;
mod scheduler;
mod silent;
mod switch;
mod topology;
mod transport;
mod watchdog;
mod workload;

pub use files::InputFile;
pub(crate) use files::Inputs;
pub(crate) use named::kind_of_parameter;
pub(crate) use switch::MAX_QUEUES;

use crate::context::{Complaint, Context};
use crate::format::{ROOT, RootKeys};
use crate::model::Scenario;
use crate::reader::Reader;
use crate::tree::Item;
use bufferlab_core::Profile;
use silent::ScenarioCheck;

/// Result of reading a scenario file: the scenario, its resolved text, and its input files.
pub(crate) struct Read {
    pub(crate) scenario: Scenario,
    pub(crate) resolved: String,
    pub(crate) inputs: Inputs,
}

/// Largest length of a scenario's name (bytes). With a suffix, file systems still accept the
/// name for a folder.
pub(crate) const NAME_BYTES_MAX: usize = 120;

/// Complaint about the name of a scenario, which becomes the name of a folder and never a path.
fn unfit_name(name: &str) -> Option<Complaint> {
    let expected = "expected a name, for folders and titles";
    if name.trim().is_empty() {
        return Some(Complaint::new("the name is empty", expected));
    }
    let message = match name {
        "." | ".." => format!("\"{name}\" is a folder's name for itself or its parent"),
        _ if name.contains(['/', '\\']) => format!("\"{name}\" is a path"),
        _ if name.len() > NAME_BYTES_MAX => {
            format!("the name has {} bytes, more than {NAME_BYTES_MAX}", name.len())
        }
        _ => return None,
    };
    Some(Complaint::new(message, expected).help("say where results go with --out DIR"))
}

/// Reads the root table of a scenario. After any mistake, the result is `None`, and the context
/// contains the mistake.
///
/// After mistakes in earlier sections, the reader continues with all sections that do not depend on
/// a wrong section. So one run shows as many mistakes as possible.
pub(crate) fn scenario(context: &Context, root: &Item, default_name: &str) -> Option<Read> {
    let inputs = Inputs::default();
    let mut reader = Reader::open(context, &ROOT, String::new(), Some(root))?;
    reader.spec_of("extends");

    let mut keys = RootKeys::read(&mut reader);
    let name = reader.text_or("name", default_name);
    let (profile, seed) = (keys.profile.unwrap_or(Profile::Paper), keys.seed.unwrap_or(0));
    keys.profile = Some(profile);
    keys.tie_order = Some(keys.tie_order.unwrap_or_default());
    if let Some(complaint) = unfit_name(&name) {
        reader.error("name", complaint);
    }
    keys.name = Some(name);

    let networks = topology::read(&mut reader, profile, &inputs);
    let groups = switch::read_groups(&mut reader, networks.as_ref(), profile, &inputs);
    let mut transports = transport::read(&mut reader, groups.as_deref(), profile);
    let switches = match (&networks, &groups) {
        (Some(networks), Some(groups)) => {
            switch::finish(context, networks, groups, &transports, profile, seed)
        }
        _ => None,
    };
    switch::write_resolved(&mut reader, networks.as_ref(), groups.as_deref(), switches.as_deref());
    let lossless = groups.as_ref().is_some_and(|groups| groups.iter().any(switch::Group::is_lossless));
    keys.host = output::host(&mut reader, lossless);
    let facts = workload::Facts {
        networks: networks.as_ref(),
        switches: switches.as_deref(),
        duration: keys.duration,
        seed,
        profile,
    };
    keys.faults = Some(faults::read(&mut reader, networks.as_ref(), switches.as_deref()));
    keys.workloads = workload::read(&mut reader, &facts, &mut transports, &inputs);
    keys.output = output::output(&mut reader, networks.as_ref(), transports.any_open_loop());
    if let Some(switches) = &switches {
        transport::warn_about_ecn(&reader, &transports, switches);
    }
    transport::warn_about_unused(&reader, &transports);

    let used = transports.used();
    let resolved = reader.finish();
    keys.topology = networks.map(|networks| networks.as_it_runs);
    keys.switches = switches;
    keys.transports = transports.specs();
    let complete = keys.complete()?;
    silent::warn(&ScenarioCheck { context, root, scenario: &complete, used: &used });
    Some(Read { scenario: complete, resolved: resolved.document(), inputs })
}
