//! Traffic that comes from files: tables of flow sizes, and flow lists.

use super::files::Inputs;
use super::workload::Facts;
use crate::context::{Complaint, quoted_list, suggestion};
use crate::model::TrafficProcess;
use crate::quantity::{format_size, format_time, parse_size};
use crate::reader::Reader;
use crate::resolved::quote;
use bufferlab_units::Time;
use bufferlab_workload::{BUILTIN_SIZES, FlowListError, Place, SizeDistribution, SizeError, read_flow_list};
use std::path::{Path, PathBuf};

/// A built-in distribution, a file, or one size.
pub(crate) fn sizes(reader: &mut Reader<'_>, inputs: &mut Inputs) -> Option<SizeDistribution> {
    let written = reader.text("sizes")?;
    if let Some(sizes) = SizeDistribution::builtin(&written) {
        return Some(sizes);
    }
    match parse_size(&written) {
        Ok(bytes) if bytes > 0 => {
            reader.out.set("sizes", quote(&format_size(bytes)));
            return Some(SizeDistribution::fixed(bytes));
        }
        Ok(_) => {
            reader.error("sizes", Complaint::new("a flow of 0 B sends nothing", "expected a size above 0"));
            return None;
        }
        Err(_) => {}
    }
    let looks_like_a_file =
        written.contains(['/', '\\']) || written.ends_with(".csv") || written.ends_with(".txt");
    if !looks_like_a_file {
        let names = || BUILTIN_SIZES.iter().map(|sizes| sizes.name);
        let known =
            format!("built in: {}; or a CSV file, or one size such as \"100 KB\"", quoted_list(names()));
        let help = match suggestion(&written, names()) {
            Some(near) => format!("did you mean \"{near}\"?\n{known}"),
            None => known,
        };
        let complaint = Complaint::new(format!("there is no size distribution \"{written}\""), "not known");
        reader.error("sizes", complaint.help(help));
        return None;
    }
    let path = locate(reader, "sizes", &written);
    let content = read_file(reader, "sizes", &path)?;
    let text = String::from_utf8_lossy(&content).into_owned();
    let name = inputs.keep(&path, content);
    reader.out.set("sizes", quote(&name));
    match SizeDistribution::from_csv(&name, &text) {
        Ok(sizes) => Some(sizes),
        Err(error) => {
            let complaint = Complaint::new(error.to_string(), "here")
                .help("each line is `bytes,cumulative`: so many bytes or fewer with that probability; the last one is 1");
            let (key, origin) = (reader.path("sizes"), reader.place("sizes"));
            reader.context.error_in_file(&key, origin, &path, &text, line_of(&error), complaint);
            None
        }
    }
}

fn line_of(error: &SizeError) -> Option<usize> {
    let place = match error {
        SizeError::NotAPair { place, .. }
        | SizeError::NotASize { place, .. }
        | SizeError::SizeFalls { place, .. }
        | SizeError::NotAProbability { place, .. }
        | SizeError::ProbabilityFalls { place, .. }
        | SizeError::EndsBelowOne { place, .. } => place,
        _ => return None,
    };
    match place {
        Place::Line(line) => Some(*line),
        Place::Point(_) => None,
    }
}

/// A path in a scenario is relative to the file that says it; on the command line, to the current folder.
pub(super) fn locate(reader: &Reader<'_>, key: &str, written: &str) -> PathBuf {
    reader.context.folder_of(reader.place(key)).join(written)
}

pub(super) fn read_file(reader: &Reader<'_>, key: &'static str, path: &Path) -> Option<Vec<u8>> {
    match std::fs::read(path) {
        Ok(content) => Some(content),
        Err(error) => {
            let complaint = Complaint::new(
                format!("cannot read {}: {}", path.display(), crate::files::reason(&error)),
                "this file",
            );
            let near = crate::files::nearby_file(path);
            let help = near
                .map(|near| format!("did you mean \"{near}\"?"))
                .unwrap_or_else(|| "paths are relative to the scenario file".to_owned());
            reader.error(key, complaint.help(help));
            None
        }
    }
}

pub(crate) fn flow_list(
    reader: &mut Reader<'_>,
    facts: &Facts<'_>,
    inputs: &mut Inputs,
) -> Option<TrafficProcess> {
    let written = reader.text("file")?;
    let path = locate(reader, "file", &written);
    let content = read_file(reader, "file", &path)?;
    let text = String::from_utf8_lossy(&content).into_owned();
    let name = inputs.keep(&path, content);
    reader.out.set("file", quote(&name));
    let network = &facts.networks?.as_built;
    let list = match read_flow_list(&path, network.hosts.len(), &network.hosts) {
        Ok(list) => list,
        Err(error) => {
            let (message, line, help) = match &error {
                FlowListError::Cell { line, column, value, problem, .. } => {
                    let problem = problem.to_string();
                    let (what, help) = match problem.split_once("; ") {
                        Some((what, help)) => (what.to_owned(), Some(help.to_owned())),
                        None => (problem, None),
                    };
                    (
                        format!("line {line}, column `{column}`: \"{value}\" {what}"),
                        Some(*line as usize),
                        help,
                    )
                }
                other => (other.to_string(), Some(1), None),
            };
            let complaint = Complaint::new(message, "here").maybe_help(help);
            let (key, origin) = (reader.path("file"), reader.place("file"));
            reader.context.error_in_file(&key, origin, &path, &text, line, complaint);
            return None;
        }
    };
    if !list.ignored_columns.is_empty() {
        let names = quoted_list(list.ignored_columns.iter().map(String::as_str));
        let complaint = Complaint::new(format!("columns of {name} that nobody reads: {names}"), "this file");
        let known =
            "read are: src, dst, size_bytes, start_ns, class, query, conn_open_ns, data_path, ack_path";
        reader.warn("file", complaint.help(known));
    }
    if let Some(duration) = facts.duration {
        let late = list.flows.iter().filter(|flow| flow.start >= duration).count();
        if late > 0 {
            let complaint = Complaint::new(
                format!(
                    "{late} of {} flows start after `duration` ({})",
                    list.flows.len(),
                    format_time(duration)
                ),
                "flows that would be left out",
            );
            let last = list.flows.last().map_or(Time::ZERO, |flow| flow.start);
            let help = format!("the last one starts at {}; raise `duration` above it", format_time(last));
            reader.error("file", complaint.help(help));
            return None;
        }
    }
    Some(TrafficProcess::FlowList { path: name, flows: list.flows, classes: list.classes })
}
