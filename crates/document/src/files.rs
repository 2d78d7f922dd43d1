//! Reads the files of documents, and explains errors of the file system.

use crate::context::{Complaint, Context, suggestion};
use crate::limits::{DOCUMENT, FILE};
use crate::tree::{self, Item, Origin};
use std::io::Read;
use std::path::Path;
use std::{fs, io};

/// Parses the text of a document as a new source of `context`. Paths in the document are relative
/// to the folder of `path`. A syntax error is recorded in the context, and the result is `None`.
pub fn parse(context: &mut Context, path: &Path, text: &str) -> Option<Item> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let source = context.add_source(&path.display().to_string(), text, folder);
    match tree::parse(source, text) {
        Ok(root) => Some(root),
        Err(errors) => {
            for (message, origin) in errors.into_iter().take(1) {
                // TOML's parser also names an expected kind of string, which does not help the
                // user.
                let message = message.trim_end_matches(", expected literal string");
                let complaint = Complaint::new(format!("not valid TOML: {message}"), "here");
                let help = syntax_help(context.document(), text, origin);
                context.error("", origin, complaint.help(help));
            }
            None
        }
    }
}

/// Advice for a syntax error; the most common errors have specific advice.
fn syntax_help(document: &str, text: &str, origin: Origin) -> String {
    let start = text[..origin.start.min(text.len())].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default().trim();
    if line.starts_with('[') && !line.contains('=') {
        return "a table starts with [name], an entry of a list with [[name]], alone on a line".to_owned();
    }
    if let Some((key, value)) = line.split_once('=') {
        let value = value.split('#').next().unwrap_or_default().trim();
        if !value.is_empty() && !value.starts_with(['"', '\'', '[', '{']) {
            return format!("write quantities and words in quotes: {} = \"{value}\"", key.trim());
        }
    }
    format!("the {document} is TOML (https://toml.io): lines of key = value, below headers such as [name]")
}

/// Reads a regular file that a document names. Refuses devices and FIFOs, because a read from a
/// device or FIFO may never end.
///
/// # Errors
/// If the path is not a regular file, has more bytes than [`FILE`] allows, or cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, FILE.most)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// If the path is not a regular file, has more bytes than `most`, or cannot be read.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() && !found.is_dir() {
        return Err(io::Error::other("it is not a regular file: a FIFO, a socket or a device"));
    }
    if found.len() > most {
        return Err(io::Error::other(format!("it has {} bytes, expected at most {most}", found.len())));
    }
    fs::read(path)
}

/// Reads the text of a document. The path may be a pipe, whose length is unknown before it ends.
///
/// # Errors
/// If the file does not exist, has more bytes than [`DOCUMENT`] allows, or is not UTF-8.
pub fn read_document(path: &Path) -> io::Result<String> {
    document(fs::File::open(path)?)
}

/// Reads the text of a document from any source.
///
/// # Errors
/// If the text has more bytes than [`DOCUMENT`] allows, or is not UTF-8, or cannot be read.
pub fn document(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(DOCUMENT.most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DOCUMENT.most {
        return Err(io::Error::other(format!(
            "it has more than {} bytes, the limit for documents",
            DOCUMENT.most
        )));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads the text of a regular file with at most [`DOCUMENT`] bytes.
///
/// # Errors
/// Returns the errors of [`read_document`]. Also if the path is not a regular file.
pub fn read_text(path: &Path) -> io::Result<String> {
    let content = read_at_most(path, DOCUMENT.most)?;
    String::from_utf8(content).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Describes an error of the file system in words.
#[must_use]
pub fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

/// Finds a file with a similar name in the folder of `path`.
#[must_use]
pub fn nearby_file(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = std::fs::read_dir(folder).ok()?.flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<_> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    // Equal extensions alone do not make two file names similar, so the names without extensions
    // are compared, too.
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stems: Vec<_> = names.iter().filter_map(|name| stem(name)).collect();
    let near = suggestion(&wanted, names.iter().map(String::as_str))?;
    suggestion(&stem(&wanted)?, stems.iter().map(String::as_str))?;
    if near == wanted {
        return None;
    }
    Some(path.with_file_name(near).display().to_string())
}
