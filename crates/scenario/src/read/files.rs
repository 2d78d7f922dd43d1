//! The files that a scenario refers to: where they are, and under which name the resolved scenario keeps them.

use std::path::{Path, PathBuf};

/// A file that a scenario reads, to be kept beside its resolved text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The name by which the resolved scenario refers to it: no folders, unique in the scenario.
    pub name: String,
    /// Where it was found.
    pub path: PathBuf,
    /// What it held when the scenario was loaded.
    pub content: Vec<u8>,
}

/// All files of one scenario.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) files: Vec<InputFile>,
}

impl Inputs {
    /// Keeps a file and answers its name.
    pub(crate) fn keep(&mut self, path: &Path, content: Vec<u8>) -> String {
        if let Some(known) = self.files.iter().find(|file| file.path == path) {
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
        let taken = |name: &String| self.files.iter().any(|file| file.name == *name);
        let name = candidates.into_iter().find(|name| !taken(name)).expect("numbers do not run out");
        self.files.push(InputFile { name: name.clone(), path: path.to_owned(), content });
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_same_name_are_kept_apart() {
        let mut inputs = Inputs::default();
        assert_eq!(inputs.keep(Path::new("a/flows.csv"), vec![1]), "flows.csv");
        assert_eq!(inputs.keep(Path::new("b/flows.csv"), vec![2]), "flows-2.csv");
        assert_eq!(inputs.keep(Path::new("a/flows.csv"), vec![1]), "flows.csv");
        assert_eq!(inputs.files.len(), 2);
    }
}
