//! Checks what all packages need before publication: the repository's public address.

use crate::read;

/// Files that name the repository's public address, each with the mark of the address.
pub(crate) const PLACES: [(&str, &str); 5] = [
    ("Cargo.toml", "\nrepository = "),
    ("pyproject.toml", "\n[project.urls]"),
    ("packaging/debian/control", "\nHomepage: "),
    ("packaging/Containerfile", "org.opencontainers.image.source="),
    ("CITATION.cff", "\nrepository-code: "),
];

/// Warns if files lack the repository's address. The packages can be tried, but not published.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn warn_without_address() -> Result<(), String> {
    let lacking = without_address()?;
    if !lacking.is_empty() {
        eprintln!(
            "warning: {} without the repository's address; hint: docs/internals/publishing.md",
            lacking.join(", ")
        );
    }
    Ok(())
}

/// Returns the files of [`PLACES`] that lack an address.
fn without_address() -> Result<Vec<&'static str>, String> {
    let mut lacking = Vec::new();
    for (path, mark) in PLACES {
        if !read(path)?.contains(mark) {
            lacking.push(path);
        }
    }
    Ok(lacking)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_packages_or_none_have_the_address() {
        let lacking = without_address().expect("the files are readable");
        let count = lacking.len();
        assert!(count == 0 || count == PLACES.len(), "only {lacking:?} lack the repository's address");
    }

    #[test]
    fn the_page_names_every_place_of_the_address() {
        let page = read("docs/internals/publishing.md").expect("the page exists");
        let unnamed: Vec<_> = PLACES.iter().filter(|(path, _)| !page.contains(path)).collect();
        assert!(unnamed.is_empty(), "docs/internals/publishing.md does not name {unnamed:?}");
    }

    #[test]
    fn all_files_have_the_version_of_the_workspace() {
        let manifest: toml::Table = read("Cargo.toml").expect("a manifest").parse().expect("TOML");
        let version = manifest["workspace"]["package"]["version"].as_str().expect("a version");
        let places = [
            ("CITATION.cff", format!("\nversion: {version}\n")),
            ("packaging/debian/changelog", format!("bufferlab ({version}) ")),
            ("CHANGELOG.md", format!("\n## {version}\n")),
        ];
        for (path, mark) in places {
            assert!(read(path).expect("a file").contains(&mark), "{path} lacks {mark:?}");
        }
    }
}
