//! Imports a set of files that describe one network and its traffic.

use crate::imported::Traffic;
use crate::scenario::assume_the_rest;
use crate::source::{Source, unpacked};
use crate::{
    Format, ImportError, ImportOptions, Imported, archive, chakra, goal, hpcc, htsim, layers, mscclang,
    recognise,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Input of an import: a file of another simulator.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Path of the file, for messages and for the rank of a trace.
    pub path: &'a Path,
    /// Content of the file, as text or gzipped.
    pub content: &'a [u8],
    /// Format of the file; `None` means that the content determines the format.
    pub format: Option<Format>,
}

/// Reads files that belong together: at most one network and one description of traffic.
///
/// # Errors
/// Returns [`ImportError`] with file, line and column.
pub fn import(inputs: &[Input<'_>], options: &ImportOptions) -> Result<Imported, ImportError> {
    let mut imported = Imported::default();
    let mut files = Vec::with_capacity(inputs.len());
    let contents = contents(inputs)?;
    for (path, content, format) in &contents {
        let format = format.map_or_else(|| recognise(path, content), Ok)?;
        imported.files.push((path.clone(), format));
        files.push((path.as_path(), content, format));
    }
    refuse_pairs(&imported)?;
    let mut traces = Traces::default();
    for (index, (path, content, format)) in files.iter().enumerate() {
        let text = || Source::new(path, content);
        match format {
            Format::ConnectionMatrix => htsim::matrix::read(text()?, options, &mut imported)?,
            Format::FatTree => htsim::topology::read(text()?, &mut imported)?,
            Format::Goal => goal::read(text()?, options, &mut imported)?,
            Format::Mscclang => mscclang::read(text()?, options, &mut imported)?,
            Format::Layers => layers::read(text()?, options, &mut imported)?,
            Format::HpccTopology => hpcc::topology::read(text()?, &mut imported)?,
            Format::SimaiTopology => hpcc::topology::read_simai(text()?, &mut imported)?,
            Format::HpccFlows => hpcc::flows::read(text()?, &mut imported)?,
            Format::HpccTrace => hpcc::lists::read_trace(text()?, &mut imported)?,
            Format::HpccConfig => hpcc::lists::read_config(text()?, &mut imported)?,
            Format::HpccFct => hpcc::lists::read_fct(text()?, &mut imported)?,
            Format::HpccPfc => hpcc::lists::read_pfc(text()?, &mut imported)?,
            Format::Cdf => hpcc::lists::read_sizes(text()?, &mut imported)?,
            Format::Alphas => hpcc::lists::read_alphas(text()?, &mut imported)?,
            Format::ChakraGroups => traces.groups.append(&mut chakra::read_groups(path, content)?),
            Format::Chakra | Format::ChakraJson => {
                let rank = chakra::rank_of(path).unwrap_or(index as u32);
                let read = if *format == Format::Chakra { chakra::read } else { chakra::read_json };
                if traces.traces.iter().any(|trace| trace.rank == rank) {
                    let problem = format!("a second trace of rank {rank}");
                    return Err(ImportError::in_file(
                        path,
                        problem,
                        "name the files PREFIX.RANK.et, or import one of them",
                    ));
                }
                traces.traces.push(read(path, content, rank)?);
            }
        }
    }
    traces.finish(options, &mut imported)?;
    number_hosts(&mut imported)?;
    assume_the_rest(&mut imported);
    Ok(imported)
}

/// Path and unpacked content of a file, and the file's format if the user named the format.
type Content<'a> = (PathBuf, Cow<'a, [u8]>, Option<Format>);

/// Returns the files to import. The files in a tar archive replace the archive.
fn contents<'a>(inputs: &[Input<'a>]) -> Result<Vec<Content<'a>>, ImportError> {
    let mut contents = Vec::with_capacity(inputs.len());
    for input in inputs {
        let content = unpacked(input.path, input.content)?;
        if !archive::is_archive(&content) {
            contents.push((input.path.to_owned(), content, input.format));
            continue;
        }
        for (path, member) in archive::members(input.path, &content)? {
            let member = unpacked(&path, member)?.into_owned();
            contents.push((path, Cow::Owned(member), input.format));
        }
    }
    Ok(contents)
}

/// Chakra traces of several ranks, which make one schedule.
#[derive(Default)]
struct Traces {
    traces: Vec<chakra::Trace>,
    groups: BTreeMap<String, Vec<u32>>,
}

impl Traces {
    fn finish(mut self, options: &ImportOptions, imported: &mut Imported) -> Result<(), ImportError> {
        if self.traces.is_empty() {
            return Ok(());
        }
        self.traces.sort_by_key(|trace| trace.rank);
        let schedule = chakra::build(&self.traces, &self.groups, options, &mut imported.notices)?;
        imported.hosts = schedule.ranks();
        imported.traffic = Some(Traffic::Schedule(schedule));
        Ok(())
    }
}

/// Replaces the files' numbers of hosts by positions among the hosts of the network.
fn number_hosts(imported: &mut Imported) -> Result<(), ImportError> {
    let (Some(network), Some(traffic)) = (&imported.network, &mut imported.traffic) else { return Ok(()) };
    let hosts = network.topology.hosts.len() as u32;
    let path = imported.files.first().map(|(path, _)| path.clone()).unwrap_or_default();
    let Traffic::Flows { flows, .. } = traffic else {
        if imported.hosts > hosts {
            let problem = format!("the traffic has {} ranks, but the network {hosts} hosts", imported.hosts);
            return Err(ImportError::in_file(&path, problem, "use a network with a host for every rank"));
        }
        return Ok(());
    };
    for flow in flows {
        for end in [&mut flow.src, &mut flow.dst] {
            let place = network.numbers.binary_search(end);
            let problem = || format!("a flow of node {end}, which is no host of the network");
            *end = place
                .map_err(|_| ImportError::in_file(&path, problem(), "use files that belong together"))?
                as u32;
        }
    }
    imported.hosts = hosts;
    Ok(())
}

/// Refuses a set of files with two networks, or with two descriptions of traffic.
fn refuse_pairs(imported: &Imported) -> Result<(), ImportError> {
    let networks = [Format::FatTree, Format::HpccTopology, Format::SimaiTopology];
    let traffic =
        [Format::ConnectionMatrix, Format::Goal, Format::Layers, Format::Mscclang, Format::HpccFlows];
    for (kind, formats) in [("network", &networks[..]), ("description of traffic", &traffic[..])] {
        let mut found = imported.files.iter().filter(|(_, format)| formats.contains(format));
        if let (Some(_), Some((path, _))) = (found.next(), found.next()) {
            let problem = format!("a second {kind}");
            return Err(ImportError::in_file(path, problem, "import the files one by one"));
        }
    }
    Ok(())
}
