//! Does the walk-through "Add a policy" in CONTRIBUTING.md work, followed to the letter?
//!
//! Three instructions, each a bold line of its own with a fenced block below it, are what a reader sees and what this
//! test does, in a copy of the repository:
//!
//! ```text
//! **Create `path`:**                                  the file is new and the block is its content
//! **In `path`, below the line `text`, add:**          the one line that says `text` is followed by the block
//! **Run:**                                            the shell, at the root, succeeds with every line of the block
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The copy's own profile: nobody debugs it, and libraries are built more often than they run.
const QUICK_BUILD: &str = "\n[profile.dev]\ndebug = false\n[profile.dev.package.\"*\"]\nopt-level = 0\n";

/// Path relative to the root, content.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Instruction {
    Create { path: String },
    Insert { path: String, below: String },
    Run,
}

/// An instruction with its block and its line in the page.
type Step = (usize, Instruction, String);

fn instruction(line: &str) -> Option<Instruction> {
    if line == "**Run:**" {
        return Some(Instruction::Run);
    }
    if let Some(path) = line.strip_prefix("**Create `").and_then(|rest| rest.strip_suffix("`:**")) {
        return Some(Instruction::Create { path: path.to_owned() });
    }
    let (path, below) =
        line.strip_prefix("**In `")?.strip_suffix("`, add:**")?.split_once("`, below the line `")?;
    Some(Instruction::Insert { path: path.to_owned(), below: below.to_owned() })
}

/// The steps of the section `## Add a policy`.
fn walk_through(page: &str) -> Result<Vec<Step>, String> {
    let mut lines = page.lines().enumerate().map(|(index, line)| (index + 1, line)).peekable();
    lines.by_ref().find(|(_, line)| *line == "## Add a policy").ok_or("the section is missing")?;
    let mut steps = Vec::new();
    let mut pending = None;
    while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with("## ")) {
        if line.starts_with("```") {
            let (at, what) =
                pending.take().ok_or(format!("line {number}: a block without an instruction"))?;
            let mut block = String::new();
            loop {
                match lines.next().ok_or(format!("line {number}: a block without an end"))? {
                    (_, "```") => break,
                    (_, text) => block.extend([text, "\n"]),
                }
            }
            steps.push((at, what, block));
        } else if line.starts_with("**") {
            let what = instruction(line).ok_or(format!("line {number}: no instruction: {line}"))?;
            pending = Some((number, what));
        } else if !line.is_empty() && pending.is_some() {
            return Err(format!("line {number}: the instruction above has no block"));
        }
    }
    if pending.is_some() || steps.is_empty() {
        Err("an instruction is missing".to_owned())
    } else {
        Ok(steps)
    }
}

/// Applies a step that changes files.
fn apply(files: &mut Files, what: &Instruction, block: &str) -> Result<(), String> {
    match what {
        Instruction::Create { path } => match files.insert(path.clone(), block.into()) {
            Some(_) => Err(format!("{path} exists")),
            None => Ok(()),
        },
        Instruction::Insert { path, below } => {
            let old = files.get(path).ok_or(format!("{path} does not exist"))?;
            let old = String::from_utf8(old.clone()).map_err(|_| format!("{path} is not text"))?;
            let found = old.lines().filter(|line| line.trim() == below).count();
            if found != 1 {
                return Err(format!("{path} has {found} lines \"{below}\""));
            }
            let line = |line: &str| format!("{line}\n{}", if line.trim() == below { block } else { "" });
            files.insert(path.clone(), old.lines().map(line).collect::<String>().into());
            Ok(())
        }
        Instruction::Run => Ok(()),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a clone would hold if everything here were committed, but for this test: the copy need not copy itself.
fn repository() -> Files {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(arguments).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).expect("names are UTF-8");
    let paths =
        paths.split_terminator('\0').filter(|path| *path != "crates/conformance/tests/suite/newcomer.rs");
    let mut files: Files =
        paths.filter_map(|path| Some((path.to_owned(), std::fs::read(root().join(path)).ok()?))).collect();
    let suite = files.get_mut("crates/conformance/tests/suite/main.rs").expect("the suite lists its themes");
    let without = String::from_utf8_lossy(suite).replace("mod newcomer;\n", "");
    *suite = without.into_bytes();
    files
}

/// Makes `folder` hold exactly `files`. What is equal already stays untouched, so that cargo builds little the next
/// time.
fn synchronise(folder: &Path, files: &Files) {
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let name = entry.path().strip_prefix(folder).expect("below").to_string_lossy().into_owned();
            if entry.path().is_dir() {
                // An empty folder is no harmless rest: the workspace takes every folder of `crates/` for a crate.
                let inside = format!("{name}/");
                match files.range(inside.clone()..).next() {
                    Some((path, _)) if path.starts_with(&inside) => waiting.push(entry.path()),
                    _ => std::fs::remove_dir_all(entry.path()).expect("removable"),
                }
            } else if !files.contains_key(&name) {
                std::fs::remove_file(entry.path()).expect("removable");
            }
        }
    }
    for (path, content) in files {
        let path = folder.join(path);
        if std::fs::read(&path).ok().as_ref() != Some(content) {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            std::fs::write(&path, content).expect("writable");
        }
    }
}

/// Runs `script` in the copy, without network; its output, and whether it succeeded.
fn shell(folder: &Path, script: &str) -> (bool, String) {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(folder.join("repository"));
    command.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_NET_OFFLINE", "true");
    command.env_remove("UPDATE_DOCS");
    let result = command.output().expect("a shell");
    let output = [result.stdout, result.stderr].concat();
    (result.status.success(), String::from_utf8_lossy(&output).into_owned())
}

#[test]
fn the_walk_through_adds_a_policy() {
    let page = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("the page exists");
    let steps = walk_through(&page).unwrap_or_else(|why| panic!("CONTRIBUTING.md: {why}"));
    let mut files = repository();
    for (line, what, block) in &steps {
        apply(&mut files, what, block).unwrap_or_else(|why| panic!("CONTRIBUTING.md:{line}: {why}"));
    }
    files.entry(".cargo/config.toml".to_owned()).or_default().extend(QUICK_BUILD.bytes());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer");
    let copy = folder.join("repository");
    synchronise(&copy, &files);
    let mut output = String::new();
    for (line, _, block) in steps.iter().filter(|step| step.1 == Instruction::Run) {
        let (succeeded, text) = shell(&folder, block);
        assert!(succeeded, "CONTRIBUTING.md:{line}: this fails:\n{block}\n{text}");
        output += &text;
    }
    let read = |path: &str| std::fs::read_to_string(copy.join(path)).expect(path);

    // The source is as good as ours: no warning, nothing to format.
    let source = "crates/core/src/policy/schemes/toy_quota.rs";
    assert!(!output.contains(&format!("{source}:")), "the compiler has something to say:\n{output}");
    assert_eq!(read(source).as_bytes(), files[source], "cargo fmt changes {source}");

    // The registry knows the policy, and what is derived from the registry shows it.
    for (path, text) in [
        ("docs/policies/toy-quota.md", "Name `toy-quota` (also `queue-quota`)."),
        ("docs/policies/toy-quota.md", "| `share` | a number from 0 to 1 | `0.5` |"),
        ("docs/policies/README.md", "| [`toy-quota`](toy-quota.md) | Toy Quota |"),
        ("docs/scenario.schema.json", "\"toy-quota\""),
        ("docs/scenarios.md", "**`toy-quota`** (also `queue-quota`)"),
    ] {
        assert!(read(path).contains(text), "{path} does not contain {text}");
    }

    // Its vectors were played: a wrong one fails.
    assert!(output.contains("every_registered_policy_gives_the_verdicts_of_its_vectors ... ok"), "{output}");
    let vectors = "testdata/policy/toy-quota.toml";
    let wrong = read(vectors).replace("thresholds = [15, 15]", "thresholds = [15, 16]");
    assert_ne!(wrong, read(vectors));
    std::fs::write(copy.join(vectors), wrong).expect("writable");
    let (succeeded, text) = shell(&folder, "cargo test -p bufferlab-conformance --test suite vectors::");
    assert!(
        !succeeded && text.contains("threshold of queue 1: expected 16 B"),
        "a wrong vector passes:\n{text}"
    );
}

#[test]
fn a_walk_through_that_cannot_be_followed_is_refused() {
    let page =
        |body: &str| walk_through(&format!("# Title\n## Add a policy\n{body}\n## Next\n**Nothing**\n"));
    let good = page("Text.\n\n**In `a.rs`, below the line `mod x;`, add:**\n\n```rust\nmod y;\n```\n");
    let insert = Instruction::Insert { path: "a.rs".to_owned(), below: "mod x;".to_owned() };
    assert_eq!(good, Ok(vec![(5, insert, "mod y;\n".to_owned())]));
    for (body, message) in [
        ("", "an instruction is missing"),
        ("**Run:**", "an instruction is missing"),
        ("**Run it:**\n```sh\ntrue\n```", "line 3: no instruction: **Run it:**"),
        ("```sh\ntrue\n```", "line 3: a block without an instruction"),
        ("**Run:**\ntext\n```sh\ntrue\n```", "line 4: the instruction above has no block"),
        ("**Run:**\n```sh\ntrue", "line 4: a block without an end"),
    ] {
        assert_eq!(page(body), Err(message.to_owned()));
    }
    assert!(walk_through("# Title\n").is_err());
}

#[test]
fn a_step_that_does_not_fit_the_files_is_refused() {
    let mut files = Files::from([("a.rs".to_owned(), b"    mod x;\nmod z;\nmod z;\n".to_vec())]);
    let mut insert = |path: &str, below: &str| {
        let what = Instruction::Insert { path: path.to_owned(), below: below.to_owned() };
        apply(&mut files, &what, "    mod y;\n").map(|()| files[path].clone())
    };
    assert_eq!(insert("a.rs", "mod x;"), Ok(b"    mod x;\n    mod y;\nmod z;\nmod z;\n".to_vec()));
    assert_eq!(insert("a.rs", "mod z;"), Err("a.rs has 2 lines \"mod z;\"".to_owned()));
    assert_eq!(insert("a.rs", "mod w;"), Err("a.rs has 0 lines \"mod w;\"".to_owned()));
    assert_eq!(insert("b.rs", "mod x;"), Err("b.rs does not exist".to_owned()));
    let create = Instruction::Create { path: "a.rs".to_owned() };
    assert_eq!(apply(&mut files, &create, ""), Err("a.rs exists".to_owned()));
}
