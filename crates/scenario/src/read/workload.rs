//! Reads `[[workload]]`: the traffic. The registry of workloads declares the keys of each kind.

use super::files::Inputs;
use super::foreign::Importer;
use super::topology::Networks;
use super::transport::Transports;
use crate::context::Complaint;
use crate::format::WorkloadKeys;
use crate::model::{SwitchSpec, WorkloadSpec};
use crate::reader::Reader;
use crate::tree::Origin;
use bufferlab_core::Profile;
use bufferlab_document::params::{params_of_kind, report, warn, write_all};
use bufferlab_units::Time;
use bufferlab_workload::{SwitchFacts, WORKLOADS, Workload, WorkloadContext};
use std::sync::Arc;

/// Properties of the scenario against which the reader checks workloads.
pub(crate) struct Facts<'a> {
    pub(crate) networks: Option<&'a Networks>,
    pub(crate) switches: Option<&'a [SwitchSpec]>,
    pub(crate) duration: Option<Time>,
    pub(crate) seed: u64,
    pub(crate) profile: Profile,
}

pub(crate) fn read(
    root: &mut Reader<'_>,
    facts: &Facts<'_>,
    transports: &mut Transports,
    inputs: &Inputs,
) -> Option<Vec<WorkloadSpec>> {
    let (mut specs, mut resolved) = (Vec::new(), Vec::new());
    let mut classes: Vec<(String, Origin)> = Vec::new();
    let mut complete = true;
    let carriers = transports.carriers();
    let switch = |spec: &SwitchSpec| SwitchFacts {
        buffer_bytes: spec.buffer_bytes,
        queues_per_port: spec.queues_per_port,
    };
    let switches: Option<Vec<_>> = facts.switches.map(|switches| switches.iter().map(switch).collect());
    for mut reader in root.tables("workload") {
        let mut keys = WorkloadKeys::read(&mut reader);
        let class = class(&mut reader, &classes);
        let transport = transports.index_for(&mut reader, keys.carrier.as_deref());
        let context = WorkloadContext::new(&class.0, &carriers, transport, reader.has("transport"))
            .in_time(facts.seed, facts.duration)
            .with_foreign_files(&Importer)
            .in_network(facts.networks.map(|networks| &networks.as_built), switches.as_deref());
        let built = params_of_kind(&reader, facts.profile, inputs).and_then(|mut params| {
            let info = WORKLOADS.find(reader.kind()).expect("the reader accepts registered kinds only");
            let built = (info.build)(&mut params, &context);
            write_all(&mut reader.out, &params);
            match built {
                Ok(workload) => Some((params, Arc::<dyn Workload>::from(workload))),
                Err(faults) => {
                    report(&reader, &params, faults);
                    None
                }
            }
        });
        let (used, warnings) = context.into_parts();
        transports.mark_used(&used);
        warn(&reader, warnings);
        if let Some((_, workload)) = &built {
            let origin = reader.place("others");
            classes.extend(workload.other_classes().into_iter().map(|other| (other.to_owned(), origin)));
        }
        classes.push(class.clone());
        (keys.class, keys.kind, keys.transport) = (Some(class.0), Some(reader.kind().to_owned()), transport);
        (keys.params, keys.workload) = built.unzip();
        resolved.push(reader.finish());
        match keys.complete() {
            Some(spec) => specs.push(spec),
            None => complete = false,
        }
    }
    root.put_all("workload", resolved);
    (complete && !specs.is_empty()).then_some(specs)
}

/// Reads the name of a workload's flows, which must be unique, and its place in the file.
fn class(reader: &mut Reader<'_>, known: &[(String, Origin)]) -> (String, Origin) {
    let class = reader.text_or("class", reader.kind());
    let origin = reader.place(if reader.has("class") { "class" } else { "kind" });
    if let Some((_, first)) = known.iter().find(|known| known.0 == class) {
        let complaint = Complaint::new(format!("two workloads have the class \"{class}\""), "the second one");
        let help = "give each a `class` of its own: it names their rows in tables, and their random streams";
        let key = reader.path("class");
        reader.context.error(&key, origin, complaint.also(*first, "the first one").help(help));
    }
    (class, origin)
}
