//! Builds the documentation as a website: the pages of the repository, a gallery of all figures,
//! and a menu. Reading the website needs no network.
//!
//! The source pages are copied to `target/site/source` under their paths in the repository, so
//! links work in the repository and on the website. MkDocs builds strictly: a link without a
//! target, or a page without a menu entry, ends the build.

use crate::program::{Build, program};
use crate::python::Environment;
use crate::{output, read, root, run as spawn, target};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files for the website: sources of pages, and targets of their links.
const SOURCES: &[&str] = &[
    ":(glob)*.md",
    ":(glob)LICENSE-*",
    "docs",
    "claims",
    "scenarios",
    "experiments",
    "rtl",
    "xtask/instructions.toml",
];

/// File with the menu and the appearance of the website.
const CONFIGURATION: &str = "docs/site/mkdocs.yml";

/// Builds the website of bufferlab in `target/site/html`.
///
/// # Errors
/// If Python is missing, or a chart or the target of a link is missing.
pub fn build() -> Result<(), String> {
    let folder = target()?.join("site");
    let source = folder.join("source");
    if source.exists() {
        fs::remove_dir_all(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    }
    gather(&source)?;
    let gallery = gallery(&source, &folder.join("figures"))?;
    write(&source.join("gallery.md"), &gallery)?;
    let theme = root().join("docs/site/theme");
    let configuration =
        read(CONFIGURATION)?.replace("custom_dir: theme", &format!("custom_dir: {}", theme.display()));
    let configuration = configuration.replace("      # policies\n", &policies(&source)?);
    write(&folder.join("mkdocs.yml"), &configuration)?;
    let environment = Environment::prepare(&folder, "docs/site/requirements.txt")?;
    let mut mkdocs = environment.interpreter();
    mkdocs.args(["-m", "mkdocs", "build", "--strict", "--quiet", "--config-file"]);
    // The variable suppresses MkDocs' announcements about other programs.
    spawn(mkdocs.arg(folder.join("mkdocs.yml")).env("NO_MKDOCS_2_WARNING", "1"))?;
    nothing_from_elsewhere(&folder.join("html"))?;
    eprintln!("the site is in {}", folder.join("html/index.html").display());
    Ok(())
}

/// Checks that every page of the website can be read without a network. The check rejects scripts,
/// styles and pictures of other hosts.
fn nothing_from_elsewhere(folder: &Path) -> Result<(), String> {
    for path in files(folder)? {
        if path.is_dir() {
            nothing_from_elsewhere(&path)?;
        } else if path.extension() == Some("html".as_ref()) {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let loaded = ["src=\"http", "src=\"//", "rel=\"stylesheet\" href=\"http", "rel=\"preconnect\""];
            if let Some(what) = loaded.iter().find(|what| text.contains(**what)) {
                return Err(format!("{}: {what}… would be fetched from a network", path.display()));
            }
        }
    }
    Ok(())
}

/// Copies the source files of the website that git tracks to the folder `into`.
fn gather(into: &Path) -> Result<(), String> {
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]);
    let names = output(list.args(SOURCES).current_dir(root()))?;
    let names = String::from_utf8(names).map_err(|error| error.to_string())?;
    for name in names.split('\0').filter(|name| !name.is_empty() && !name.starts_with("docs/site/")) {
        let (from, to) = (root().join(name), into.join(name));
        let parent = to.parent().unwrap_or(into);
        fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(())
}

/// Formats the website's menu entries for the pages of policies, by title.
fn policies(source: &Path) -> Result<String, String> {
    let mut lines = String::from("      - Policies:\n");
    for path in files(&source.join("docs/reference/policies"))?
        .iter()
        .filter(|path| path.extension() == Some("md".as_ref()))
    {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Writing into a string cannot fail.
        let _ = writeln!(lines, "          - \"{name}\": docs/reference/policies/{name}.md");
    }
    Ok(lines)
}

/// Creates the website's gallery: all computed figures, and the figures of recorded runs. Each
/// figure has the command that creates it. Charts are written next to the gallery's page.
fn gallery(source: &Path, charts: &Path) -> Result<String, String> {
    let mut text = String::from(
        "# Gallery\n\nThe figures of the papers as they come out here, each with the command that makes it. Hollow markers stand where a paper's number \
         would put its scheme. What is computed is exact; what runs is drawn from recorded values, whose commit and date are in \
         [the ledger](docs/evidence/reproduction.md).\n",
    );
    let program = program(Build::Dev)?;
    for path in experiments()? {
        let id = format!(
            "{}/{}",
            path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy(),
            path.file_stem().unwrap_or_default().to_string_lossy()
        );
        let toml: toml::Table = fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| text.parse().map_err(|error: toml::de::Error| error.to_string()))
            .map_err(|why| format!("{}: {why}", path.display()))?;
        let of = |key: &str| toml.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let values = if toml.contains_key("theory") { None } else { recorded(&id) };
        if values.is_none() && !toml.contains_key("theory") {
            continue;
        }
        let mut draw = Command::new(&program);
        draw.args(["--quiet", "reproduce", &id, "--out"]).arg(charts);
        if let Some((file, _)) = &values {
            draw.arg("--values").arg(file);
        }
        output(&mut draw)?;
        let panels: Vec<PathBuf> = files(&charts.join(&id))?
            .into_iter()
            .filter(|path| path.extension() == Some("svg".as_ref()))
            .collect();
        if panels.is_empty() {
            continue;
        }
        let command = match &values {
            Some((_, "paper")) => format!("bufferlab reproduce {id} --scale paper"),
            _ => format!("bufferlab reproduce {id}"),
        };
        let _ = write!(
            text,
            "\n## {id}: {}, {}\n\n```console\n$ {command}\n```\n\n[The experiment](experiments/{id}.toml)\n\n",
            of("figure"),
            of("title")
        );
        for number in 1..=panels.len() {
            let (name, place) = (format!("panel-{number}.svg"), source.join("gallery").join(&id));
            fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
            let from = charts.join(&id).join(&name);
            fs::copy(&from, place.join(&name)).map_err(|error| format!("{}: {error}", from.display()))?;
            let _ =
                writeln!(text, "![{id}, panel {number}](gallery/{id}/{name}){{ loading=lazy width=49% }}");
        }
    }
    Ok(text)
}

/// Returns the path of an experiment's recorded values, and the scale of its runs.
fn recorded(id: &str) -> Option<(PathBuf, &'static str)> {
    let name = id.replace('/', "-");
    let places = [
        (format!("claims/values/{name}.quick.paper.csv"), "quick"),
        (format!("claims/values/{name}.paper.paper.csv"), "paper"),
    ];
    places.into_iter().map(|(place, scale)| (root().join(place), scale)).find(|(place, _)| place.is_file())
}

/// Returns the paths of the papers' experiment files, sorted by paper, with `fig9` before `fig10`.
fn experiments() -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for paper in files(&root().join("experiments"))? {
        all.extend(files(&paper)?.into_iter().filter(|path| path.extension() == Some("toml".as_ref())));
    }
    all.sort_by_key(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        (path.parent().map(Path::to_owned), digits.parse::<u32>().unwrap_or(0), name)
    });
    Ok(all)
}

/// Returns the paths of the files in a folder, sorted by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut all = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect::<Result<Vec<_>, _>>()?;
    all.sort();
    Ok(all)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
