//! Reads the files in tar archives, because traces of several ranks are often published as
//! archives.

use crate::ImportError;
use std::path::{Path, PathBuf};

/// Size of a header in a tar archive, and unit of the size of every file (bytes).
const BLOCK: usize = 512;
/// Largest number of files that are read from a tar archive.
const MEMBERS: usize = 65_536;

/// Whether the content of a file is a tar archive.
pub(crate) fn is_archive(content: &[u8]) -> bool {
    content.get(257..262) == Some(b"ustar")
}

/// Reads the regular files of a tar archive. The function skips files whose names begin with `._`,
/// in which macOS stores only metadata.
///
/// # Errors
/// If the archive is damaged, or has no files.
pub(crate) fn members<'a>(path: &Path, content: &'a [u8]) -> Result<Vec<(PathBuf, &'a [u8])>, ImportError> {
    let damaged =
        || ImportError::in_file(path, "a damaged tar archive", "extract it with tar, and import its files");
    let mut found = Vec::new();
    let mut rest = content;
    // A block of zeros ends the tar archive.
    while let Some(header) = rest.get(..BLOCK).filter(|header| header.iter().any(|byte| *byte != 0)) {
        let size = octal(&header[124..136]).ok_or_else(damaged)?;
        let blocks = size.div_ceil(BLOCK).checked_mul(BLOCK).ok_or_else(damaged)?;
        let body = rest.get(BLOCK..).unwrap_or_default();
        let member = body.get(..size).ok_or_else(damaged)?;
        rest = body.get(blocks..).ok_or_else(damaged)?;
        let name = text(&header[..100]);
        let base = Path::new(&name).file_name().map(|base| base.to_string_lossy().into_owned());
        let is_file = matches!(header[156], b'0' | 0);
        if let Some(base) = base.filter(|base| is_file && !base.starts_with("._")) {
            if found.len() == MEMBERS {
                return Err(ImportError::in_file(
                    path,
                    format!("more than {MEMBERS} files"),
                    "extract the files that you need",
                ));
            }
            found.push((path.join(base), member));
        }
    }
    if found.is_empty() { Err(damaged()) } else { Ok(found) }
}

/// Text of a header field up to the field's first zero byte.
fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Parses the octal digits of a header field.
fn octal(field: &[u8]) -> Option<usize> {
    usize::from_str_radix(text(field).trim(), 8).ok()
}
