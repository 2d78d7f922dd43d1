//! Files that a scenario refers to: their paths, and their names in the resolved scenario.

use bufferlab_document::params::Files;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A file that a scenario reads, which is kept beside the resolved text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Name by which the resolved scenario refers to the file: no folders, unique in the scenario.
    pub name: String,
    /// Path from which the input file was read.
    pub path: PathBuf,
    /// Content of the file when the scenario was loaded.
    pub content: Vec<u8>,
}

/// Input files that one scenario has read.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    files: RefCell<Vec<InputFile>>,
}

impl Inputs {
    /// Returns the input files, in the order in which the scenario read them.
    pub(crate) fn into_files(self) -> Vec<InputFile> {
        self.files.into_inner()
    }
}

impl Files for Inputs {
    fn keep(&self, path: &Path, content: &[u8]) -> String {
        let mut files = self.files.borrow_mut();
        if let Some(known) = files.iter().find(|file| file.path == path) {
            return known.name.clone();
        }
        let part = |part: Option<&std::ffi::OsStr>| {
            part.map_or_else(String::new, |p| p.to_string_lossy().into_owned())
        };
        let (stem, extension) = (part(path.file_stem()), part(path.extension()));
        let extension = if extension.is_empty() { extension } else { format!(".{extension}") };
        let candidates = (1..).map(|number| match number {
            1 => format!("{stem}{extension}"),
            _ => format!("{stem}-{number}{extension}"),
        });
        let taken = |name: &String| files.iter().any(|file| file.name == *name);
        let name = candidates.into_iter().find(|name| !taken(name)).expect("numbers do not run out");
        files.push(InputFile { name: name.clone(), path: path.to_owned(), content: content.to_vec() });
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_same_name_are_kept_apart() {
        let inputs = Inputs::default();
        assert_eq!(inputs.keep(Path::new("a/flows.csv"), &[1]), "flows.csv");
        assert_eq!(inputs.keep(Path::new("b/flows.csv"), &[2]), "flows-2.csv");
        assert_eq!(inputs.keep(Path::new("a/flows.csv"), &[1]), "flows.csv");
        assert_eq!(inputs.into_files().len(), 2);
    }
}
