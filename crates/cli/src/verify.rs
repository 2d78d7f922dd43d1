//! The command `verify` checks results against their manifests.

use crate::args::VerifyArgs;
use crate::records::{self, VerifiedFolder};
use crate::{print, say};
use bufferlab_results::{Inspection, inspect};
use std::fmt::Write;
use std::path::Path;

/// Executes the command `verify`.
pub(crate) fn verify(args: &VerifyArgs) -> miette::Result<()> {
    let mut problems = 0;
    let mut folders = Vec::new();
    for dir in &args.dirs {
        let found =
            inspect(dir).map_err(|error| miette::miette!(help = error.hint().to_owned(), "{error}"))?;
        if found.runs == 0 && found.files == 0 && found.problems.is_empty() {
            return Err(miette::miette!(
                help = "give the folder of a run, a comparison or a sweep, or one above them",
                "there is no result of a run in {}",
                dir.display()
            ));
        }
        problems += found.problems.len();
        if args.json {
            folders.push(VerifiedFolder::from_inspection(dir, &found));
            continue;
        }
        print(&in_words(dir, &found))?;
        if let [first, more @ ..] = found.unchecked.as_slice() {
            let others =
                if more.is_empty() { String::new() } else { format!(" and {} other files", more.len()) };
            say(&format!(
                "{}{others} have no checksum, so a change is not noticed: an earlier version wrote them, or a command was killed",
                first.display()
            ));
        }
        for old in &found.without_checksums {
            say(&format!("{} was written without checksums: only missing files are noticed", old.display()));
        }
    }
    if args.json {
        records::verify(folders)?;
    }
    match problems {
        0 => Ok(()),
        1 => Err(failure("1 problem")),
        many => Err(failure(&format!("{many} problems"))),
    }
}

fn failure(what: &str) -> miette::Report {
    miette::miette!(help = "repeat the command that wrote the results: intact runs stay", "{what}")
}

/// Text with one line per problem, then the number of checked runs and files.
fn in_words(dir: &Path, found: &Inspection) -> String {
    let mut text = String::new();
    for (folder, problem) in &found.problems {
        // Writing into a string cannot fail, so the result is ignored.
        let _ = writeln!(text, "{}: {problem}", folder.display());
    }
    let (runs, end) = (found.runs, if found.problems.is_empty() { ", all as written" } else { "" });
    let plural = if runs == 1 { "" } else { "s" };
    let megabytes = found.bytes as f64 / 1e6;
    let _ = writeln!(
        text,
        "{}: {runs} run{plural}, {} files, {megabytes:.1} MB{end}",
        dir.display(),
        found.files
    );
    text
}
