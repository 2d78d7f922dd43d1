//! Reads files of other simulators that a workload names, with the readers of `bufferlab import`.

use bufferlab_import::{ImportError, ImportOptions, Imported, Input, Traffic, import};
use bufferlab_params::{Fault, Faults};
use bufferlab_workload::{ForeignFile, ForeignReader, ForeignTraffic};
use std::path::Path;

/// Reads the files with the default options of `bufferlab import`.
#[derive(Debug)]
pub(crate) struct Importer;

impl ForeignReader for Importer {
    fn read(&self, path: &Path, content: &[u8]) -> Result<Option<ForeignFile>, Faults> {
        let input = Input { path, content, format: None };
        let imported = import(&[input], &ImportOptions::default()).map_err(fault)?;
        Ok(foreign(imported))
    }
}

fn foreign(imported: Imported) -> Option<ForeignFile> {
    let format = imported.files.first().map(|(_, format)| format.word()).unwrap_or_default();
    let ignored = imported.notices.ignored.iter().map(|text| format!("ignored: {text}"));
    // Of the assumptions, only those about traffic apply: the scenario has its own network, switch
    // and transport.
    let own = imported.notices.own_traffic().map(|text| format!("assumed: {text}"));
    let notices = ignored.chain(own).collect();
    let traffic = match imported.traffic? {
        Traffic::Flows { flows, classes } => ForeignTraffic::Flows(flows, classes),
        Traffic::Schedule(schedule) => ForeignTraffic::Schedule(schedule),
    };
    Some(ForeignFile { format: format!("a file of the format `{format}`"), traffic, notices })
}

fn fault(error: ImportError) -> Fault {
    let ImportError { line, column, problem, advice, .. } = error;
    let place = column.map(|column| format!("column {column}: ")).unwrap_or_default();
    let fault = Fault::new("file", format!("{place}{problem}"), "here").help(advice);
    match line {
        Some(line) => fault.at_line(line as usize),
        None => fault,
    }
}
