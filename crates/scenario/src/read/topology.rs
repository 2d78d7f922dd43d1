//! Builds `[topology]`: from parameters to the network as built, and to the network
//! after its changes.

use super::changes::changed;
use super::files::Inputs;
use super::routes::routes;
use crate::context::Complaint;
use crate::format::TopologyKeys;
use crate::model::{Multipath, Topology};
use crate::reader::Reader;
use bufferlab_core::Profile;
use bufferlab_document::params::{params_of_kind, report, write_all};
use bufferlab_topology::TOPOLOGIES;

/// The network before and after the changes of `topology.change`.
pub(crate) struct Networks {
    /// Network as the generator built it; buffer sizes and loads refer to the rates of this
    /// network.
    pub(crate) as_built: Topology,
    /// Network after the changes: cables may be slower, longer or failing.
    pub(crate) as_it_runs: Topology,
}

pub(crate) fn read(root: &mut Reader<'_>, profile: Profile, inputs: &Inputs) -> Option<Networks> {
    let mut reader = root.table("topology")?;
    let multipath = TopologyKeys::read(&mut reader).multipath.unwrap_or(Multipath::EcmpFlow);
    let built = build(&mut reader, profile, inputs);
    let routes = routes(&mut reader, built.as_ref());
    // Routes in the scenario override the routes of the generator.
    let as_built = built.map(|mut built| {
        built.routes.extend(routes);
        Topology { multipath, ..built }
    });
    let as_it_runs = changed(&mut reader, as_built.clone());
    let resolved = reader.finish();
    root.put("topology", resolved);
    Some(Networks { as_built: as_built?, as_it_runs: as_it_runs? })
}

/// Builds the network of a registered kind of topology; `None` if the graph is no valid network.
fn build(reader: &mut Reader<'_>, profile: Profile, inputs: &Inputs) -> Option<Topology> {
    let mut params = params_of_kind(reader, profile, inputs)?;
    let info = TOPOLOGIES.find(reader.kind()).expect("the reader accepts registered kinds only");
    let built = (info.build)(&mut params);
    write_all(&mut reader.out, &params);
    let built = match built {
        Ok(built) => Topology { kind: info.name.to_owned(), ..built },
        Err(faults) => {
            report(reader, &params, faults);
            return None;
        }
    };
    if let Some(problem) = built.problems().first() {
        let complaint =
            Complaint::new(format!("the topology \"{}\" built no network", info.name), problem.to_string());
        reader.error(
            "kind",
            complaint.help("its generator must give every host exactly one cable, and reach every node"),
        );
        return None;
    }
    Some(built)
}
