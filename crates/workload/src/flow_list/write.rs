//! Writes flow lists whose flows the reader of flow lists reads back unchanged.

use super::{FlowListError, hidden_in};
use crate::FlowSpec;
use bufferlab_units::Time;
use flate2::{Compression, GzBuilder};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes `flows` in the format of [`crate::read_flow_list`], gzipped if the name ends in `.gz`.
///
/// An incomplete file has the name `<name>.partial` in the folder of `path`. The complete file gets
/// its final name. Equal flows always give equal bytes.
///
/// # Errors
/// [`FlowListError::NotWritable`] for a flow that no list can express. This flow has no data,
/// has its sender as receiver, or opens its connection after its start. Or the class of the flow
/// is outside of `classes`, or has a name that would read back differently.
/// [`FlowListError::Io`] for a file system error.
pub fn write_flow_list(path: &Path, flows: &[FlowSpec], classes: &[String]) -> Result<(), FlowListError> {
    for (index, flow) in flows.iter().enumerate() {
        if let Some(problem) = problem(flow, classes) {
            return Err(FlowListError::NotWritable { path: path.to_owned(), index, problem });
        }
    }
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let written = write_file(partial, path.extension().is_some_and(|ext| ext == "gz"), flows, classes)
        .and_then(|()| fs::rename(partial, path));
    written.map_err(|cause| {
        // The function reports the first error, not a later error about removing the partial file.
        let _ = fs::remove_file(partial);
        FlowListError::Io { path: path.to_owned(), cause }
    })
}

fn problem(flow: &FlowSpec, classes: &[String]) -> Option<&'static str> {
    let class = classes.get(usize::from(flow.class)).map(String::as_str);
    if flow.size == 0 {
        Some("has no data; a flow has at least 1 byte")
    } else if flow.src == flow.dst {
        Some("goes from a host to itself")
    } else if flow.open.is_some_and(|open| open > flow.start) {
        Some("starts before its connection opens")
    } else if class.and_then(hidden_in).is_some() {
        Some("has a class whose name has a hidden character; rename the class")
    } else if class.is_none() {
        Some("has a class without a name; name every class")
    } else if class.is_some_and(|name| name.is_empty() || name.trim() != name) {
        Some("has a class whose name is empty or begins or ends with a space; rename the class")
    } else {
        None
    }
}

fn write_file(path: &Path, gzip: bool, flows: &[FlowSpec], classes: &[String]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    if gzip {
        // The gzip header has no name and no time of writing, so equal flows give equal files.
        let mut encoder = GzBuilder::new().mtime(0).write(&mut file, Compression::default());
        write_rows(&mut encoder, flows, classes)?;
        encoder.finish()?;
    } else {
        write_rows(&mut file, flows, classes)?;
    }
    file.into_inner()?.sync_all()
}

fn write_rows(out: impl Write, flows: &[FlowSpec], classes: &[String]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "src",
        "dst",
        "size_bytes",
        "start_ns",
        "class",
        "query",
        "conn_open_ns",
        "data_path",
        "ack_path",
    ])?;
    for flow in flows {
        let query = if flow.query == FlowSpec::NO_QUERY { String::new() } else { flow.query.to_string() };
        writer.write_record([
            &flow.src.to_string(),
            &flow.dst.to_string(),
            &flow.size.to_string(),
            &nanoseconds(flow.start),
            &classes[usize::from(flow.class)],
            &query,
            &flow.open.map(nanoseconds).unwrap_or_default(),
            &flow.data_path.map(choices).unwrap_or_default(),
            &flow.ack_path.map(choices).unwrap_or_default(),
        ])?;
    }
    writer.flush()
}

/// Formats a time exactly in nanoseconds, with three decimals unless all three are zero.
fn nanoseconds(time: Time) -> String {
    match (time.0 / 1_000, time.0 % 1_000) {
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest:03}"),
    }
}

/// Formats packed choices, such as `3/1` for 0x0103. Trailing choices of 0 are omitted, because a
/// missing choice packs as 0.
fn choices(packed: u32) -> String {
    let bytes = packed.to_le_bytes();
    let count = bytes.iter().rposition(|&choice| choice != 0).map_or(1, |last| last + 1);
    let texts: Vec<_> = bytes[..count].iter().map(u8::to_string).collect();
    texts.join("/")
}
