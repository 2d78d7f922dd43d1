//! Executes the steps of the container file in Debian systems, without a container engine.
//!
//! Each stage is a folder with a base system. Commands run there with `chroot`, as the stage's
//! user.

use crate::chroot::Root;
use crate::publishing::warn_without_address;
use crate::{output, read, root, run as spawn, target};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The container file.
pub const FILE: &str = "packaging/Containerfile";

/// Arguments for the image that a new user tries first.
const TRIALS: [&[&str]; 2] = [&["--version"], &["compare", "first", "--seeds", "3"]];

/// An instruction of a container file: its name and the text after the name.
type Step = (String, String);

/// One stage of the build, with the settings of its instructions.
struct Stage {
    name: String,
    root: Root,
    /// Size of the base system (MB).
    base: f64,
    user: String,
    place: String,
    variables: Vec<(String, String)>,
    entry: Vec<String>,
    arguments: Vec<String>,
}

/// Executes the steps of the container file, and then the image as a container engine would. With a
/// `program`, skips `RUN cargo build` and takes the program instead. Cargo gets the caller's
/// variables `CARGO_PROFILE_RELEASE_*`, for quicker trials.
///
/// # Errors
/// If the file has an instruction or image that this task does not know, or a step fails.
pub fn build(program: Option<&Path>) -> Result<(), String> {
    warn_without_address()?;
    let mut stages: Vec<Stage> = Vec::new();
    for (name, text) in steps(&read(FILE)?)? {
        eprintln!("== {name} {text}");
        let started = Instant::now();
        if name == "FROM" {
            stages.push(Stage::begin(&text, stages.len())?);
        } else {
            let (stage, earlier) = stages.split_last_mut().ok_or_else(|| format!("{FILE}: no FROM"))?;
            stage.execute(&name, &text, earlier, program)?;
        }
        if name == "RUN" {
            println!("== RUN {}: {:.0} s", first_words(&text), started.elapsed().as_secs_f64());
        }
    }
    let image = stages.last().ok_or_else(|| format!("{FILE}: no stage"))?;
    let (whole, base) = (image.root.megabytes("/")?, image.base);
    println!("== image: {whole:.0} MB, of which the base system has {base:.0} MB");
    println!("== CMD: {}", image.arguments.join(" "));
    output(&mut image.start(&image.arguments))?;
    for words in TRIALS {
        let started = Instant::now();
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        spawn(&mut image.start(&words))?;
        println!(
            "== {} {}: {:.1} s",
            image.entry.join(" "),
            words.join(" "),
            started.elapsed().as_secs_f64()
        );
    }
    println!("== {}: {:.1} MB", image.place, image.root.megabytes(&image.place)?);
    Ok(())
}

impl Stage {
    /// Creates the base system of `FROM debian:SUITE-slim AS name`.
    fn begin(text: &str, index: usize) -> Result<Self, String> {
        let (suite, name) = image(text).ok_or_else(|| format!("FROM {text}: expected debian:SUITE"))?;
        let name = if name.is_empty() { index.to_string() } else { name };
        let root = Root::create(&suite, &target()?.join("container").join(&name))?;
        let base = root.megabytes("/")?;
        let (user, place) = ("root".to_owned(), "/".to_owned());
        Ok(Self {
            name,
            root,
            base,
            user,
            place,
            variables: Vec::new(),
            entry: Vec::new(),
            arguments: Vec::new(),
        })
    }

    fn execute(
        &mut self,
        name: &str,
        text: &str,
        earlier: &[Self],
        program: Option<&Path>,
    ) -> Result<(), String> {
        match name {
            "RUN" if program.is_some() && text.starts_with("cargo build") => eprintln!("skipped"),
            "RUN" => {
                return spawn(&mut self.command(&["/bin/sh".to_owned(), "-c".to_owned(), text.to_owned()]));
            }
            "COPY" => return self.copy(text, earlier, program),
            "WORKDIR" => {
                text.clone_into(&mut self.place);
                return spawn(self.root.command("root", "/").args(["mkdir", "-p", text]));
            }
            "USER" => text.clone_into(&mut self.user),
            "ARG" => {
                let (name, default) = text.split_once('=').unwrap_or((text, ""));
                let value = std::env::var(name).unwrap_or_else(|_| default.to_owned());
                self.variables.push((name.to_owned(), value));
            }
            "ENV" => {
                let (name, value) = text.split_once('=').ok_or_else(|| format!("ENV {text}: no value"))?;
                let value = match value.strip_prefix('$') {
                    Some(other) => self.variable(other)?,
                    None => value.to_owned(),
                };
                self.variables.push((name.to_owned(), value));
            }
            "ENTRYPOINT" => self.entry = list(text)?,
            "CMD" => self.arguments = list(text)?,
            "LABEL" => {}
            _ => return Err(format!("{FILE}: {name} is not an instruction that this task knows")),
        }
        Ok(())
    }

    fn variable(&self, name: &str) -> Result<String, String> {
        let found = self.variables.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| format!("{FILE}: ${name} has no value"))
    }

    /// Returns the command that executes `words` with the stage's user, folder and variables.
    fn command(&self, words: &[String]) -> Command {
        let mut command = self.root.command(&self.user, &self.place);
        let settings = std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PROFILE_RELEASE_"));
        command.envs(settings).envs(self.variables.iter().cloned()).args(words);
        command
    }

    /// Returns the command of `podman run IMAGE words`.
    fn start(&self, words: &[String]) -> Command {
        self.command(&[&self.entry[..], words].concat())
    }

    /// Copies files of the repository or of an earlier stage. The content of a folder goes into the
    /// target folder.
    fn copy(&self, text: &str, earlier: &[Self], program: Option<&Path>) -> Result<(), String> {
        let Copy { stage, sources, to } = Copy::parse(text)?;
        let from = match &stage {
            Some(name) => Some(
                earlier
                    .iter()
                    .find(|stage| stage.name == *name)
                    .ok_or_else(|| format!("COPY {text}: no stage"))?,
            ),
            None => None,
        };
        let to = self.root.path(&format!("{}/{to}", if to.starts_with('/') { "" } else { &self.place }));
        let into_folder = text.ends_with('/') || sources.len() > 1;
        for source in sources {
            let file = match (from, program) {
                (Some(_), Some(program)) => program.to_owned(),
                (Some(stage), None) => stage.root.path(&source),
                (None, _) => root().join(&source),
            };
            let mut copy = Command::new("cp");
            if file.is_dir() {
                make(&to)?;
                copy.arg("--recursive").arg(file.join("."));
            } else {
                make(if into_folder { &to } else { to.parent().unwrap_or(&to) })?;
                copy.arg(&file);
            }
            spawn(copy.args(["--preserve=mode,timestamps"]).arg(&to))?;
        }
        Ok(())
    }
}

/// The parts of `COPY [--from=stage] source... target`.
struct Copy {
    stage: Option<String>,
    sources: Vec<String>,
    to: String,
}

impl Copy {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        let stage = words.first().and_then(|word| word.strip_prefix("--from=")).map(str::to_owned);
        if stage.is_some() {
            words.remove(0);
        }
        match words.pop() {
            Some(to) if !words.is_empty() && !words.iter().any(|word| word.starts_with('-')) => {
                Ok(Self { stage, sources: words, to })
            }
            _ => Err(format!("COPY {text}: expected [--from=STAGE] SOURCE... TARGET")),
        }
    }
}

/// Splits a container file into its instructions, without comments.
fn steps(file: &str) -> Result<Vec<Step>, String> {
    let lines: Vec<_> = file.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let whole = lines.join("\n").replace("\\\n", " ");
    let lines = whole.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (name, text) =
                line.split_once(' ').ok_or_else(|| format!("{FILE}: \"{line}\" has no text"))?;
            Ok((name.to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" ")))
        })
        .collect()
}

/// Returns the Debian suite of an image, and the name of the stage.
fn image(text: &str) -> Option<(String, String)> {
    let (image, name) = text.split_once(" AS ").unwrap_or((text, ""));
    let suite = image.strip_prefix("debian:")?;
    Some((suite.strip_suffix("-slim").unwrap_or(suite).to_owned(), name.to_owned()))
}

/// Reads the words of an instruction's JSON form.
fn list(text: &str) -> Result<Vec<String>, String> {
    serde_json::from_str(text).map_err(|error| format!("{FILE}: {text}: {error}"))
}

fn first_words(text: &str) -> String {
    text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn file() -> Vec<Step> {
        steps(&read(FILE).expect("the container file exists")).expect("the container file has instructions")
    }

    fn copies() -> Vec<Copy> {
        let copies = file().into_iter().filter(|(name, _)| name == "COPY");
        copies.map(|(_, text)| Copy::parse(&text).expect("a COPY with source and target")).collect()
    }

    /// Returns the entries of the repository's root from which the sources of the crates take
    /// the content of files.
    fn embedded() -> BTreeSet<String> {
        let files = crate::tidy::files().expect("git lists the files");
        let sources = files.iter().filter(|path| path.starts_with("crates/") && path.contains("/src/"));
        let mut found = BTreeSet::new();
        for path in sources {
            let text = read(path).expect("a source file is readable");
            let (text, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            for part in text.split("include_").skip(1) {
                let up = ["str!(\"", "bytes!(\"", "dir!(\"$CARGO_MANIFEST_DIR/"];
                let named = up
                    .iter()
                    .find_map(|begin| part.strip_prefix(begin))
                    .and_then(|rest| rest.split('"').next());
                let parts = named.map(|named| named.split('/').find(|part| *part != ".."));
                let is_outside = named.is_some_and(|named| named.contains("../../"));
                found.extend(parts.flatten().filter(|_| is_outside).map(str::to_owned));
            }
        }
        found
    }

    #[test]
    fn the_container_has_all_files_that_the_build_reads() {
        let copies = copies();
        let copied: BTreeSet<_> =
            copies.iter().filter(|copy| copy.stage.is_none()).flat_map(|copy| copy.sources.clone()).collect();
        for source in &copied {
            assert!(root().join(source).exists(), "{FILE} copies {source}, which does not exist");
        }
        let workspace: toml::Table =
            read("Cargo.toml").expect("a manifest").parse().expect("a manifest is TOML");
        let members = workspace["workspace"]["members"].as_array().expect("the workspace has members");
        let members =
            members.iter().filter_map(|member| member.as_str()?.split('/').next().map(str::to_owned));
        let needed =
            members.chain(embedded()).chain(["Cargo.toml", "Cargo.lock", ".cargo"].map(str::to_owned));
        let missing: Vec<_> =
            needed.filter(|entry| root().join(entry).exists() && !copied.contains(entry)).collect();
        assert!(missing.is_empty(), "{FILE} does not copy {missing:?}, which the build reads");
    }

    #[test]
    fn the_container_takes_the_locked_program_and_all_licences() {
        let is_build = |(name, text): &Step| {
            name == "RUN" && text == "cargo build --release --locked --package bufferlab-cli"
        };
        assert!(file().iter().any(is_build), "{FILE} does not build the program");
        let copies = copies();
        let program = copies.iter().find(|copy| copy.stage.is_some()).expect("a copy of the program");
        assert_eq!(program.sources, ["/source/target/release/bufferlab"]);
        let licences = copies.iter().find(|copy| copy.sources.contains(&crate::notices::FILE.to_owned()));
        let licences = licences.expect("a copy of the notices");
        assert!(
            ["LICENSE-MIT", "LICENSE-APACHE"]
                .iter()
                .all(|file| licences.sources.contains(&(*file).to_owned()))
        );
        let last = |name: &str| file().into_iter().rfind(|(known, _)| known == name).map(|(_, text)| text);
        assert_ne!(last("USER").as_deref(), Some("root"));
        assert_eq!(last("ENTRYPOINT").as_deref(), Some("[\"bufferlab\"]"));
    }

    #[test]
    fn instructions_continue_on_the_next_line_and_comments_are_skipped() {
        let text = "# a comment\nFROM debian:x-slim AS build\nRUN a \\\n    && b\n\nCOPY --from=build c d/\n";
        let steps = steps(text).expect("instructions");
        assert_eq!(steps[1], ("RUN".to_owned(), "a && b".to_owned()));
        assert_eq!(image(&steps[0].1), Some(("x".to_owned(), "build".to_owned())));
        assert_eq!(image("alpine"), None);
        let copy = Copy::parse(&steps[2].1).expect("a copy");
        assert_eq!((copy.stage.as_deref(), copy.to.as_str()), (Some("build"), "d/"));
        assert!(Copy::parse("--chown=x a b").is_err() && Copy::parse("a").is_err());
    }
}
