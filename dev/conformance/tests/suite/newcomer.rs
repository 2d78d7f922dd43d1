//! Tests whether the walk-throughs in `docs/extend` work for a reader who follows every step
//! literally.
//!
//! The test follows every page with the title `# Add a …`. All pages share one copy of the
//! repository, so that the test builds the copy once. A page has five kinds of instructions, each a
//! bold paragraph above a fenced block:
//!
//! ```text
//! **Create `path`:**                                  the file is new and the block is its content
//! **In `path`, below the line `text`, add:**          the one line that says `text` is followed by the block
//! **Run:**                                            the shell, at the root, succeeds with every line of the block
//! **Now `path` contains:**                            each line of the block is a part of the file
//! **To see it fail, in `path` write `new` for `old`; the test prints `text`:**
//!                                                     the block fails and prints `text`, which names what was added
//! ```
//!
//! The first sentence of a page states the size of the addition, and the test counts it: source
//! files, lines in the registry, files of vectors, pages, scenarios.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Build profile of the copy, for fast builds: most crates of the copy are built often but run
/// rarely. Third-party libraries are built as in the workspace, so that the copy can reuse them.
const QUICK_BUILD: &str = r#"
[profile.dev]
debug = false
[profile.dev.package.bufferlab-cli]
opt-level = 0
[profile.dev.package.bufferlab-document]
opt-level = 0
[profile.dev.package.bufferlab-experiment]
opt-level = 0
[profile.dev.package.bufferlab-lab]
opt-level = 0
[profile.dev.package.bufferlab-metrics]
opt-level = 0
[profile.dev.package.bufferlab-report]
opt-level = 0
[profile.dev.package.bufferlab-reproduce]
opt-level = 0
[profile.dev.package.bufferlab-results]
opt-level = 0
[profile.dev.package.bufferlab-scenario]
opt-level = 0
[profile.dev.package.bufferlab-sim]
opt-level = 0
[profile.dev.package.bufferlab-theory]
opt-level = 0
[profile.dev.package.bufferlab-topology]
opt-level = 0
[profile.dev.package.bufferlab-workload]
opt-level = 0
[profile.dev.package.bufferlab-core]
opt-level = 2
[profile.dev.package.bufferlab-transport]
opt-level = 2
[profile.dev.package.xtask]
opt-level = 0
"#;

/// Content of files, by path relative to the root.
type Files = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Instruction {
    Create { path: String },
    Insert { path: String, below: String },
    Run,
    Expect { path: String },
    Mistake { path: String, new: String, old: String, says: String },
}

/// Instruction of a page, with the block below the instruction and its line in the page.
type Step = (usize, Instruction, String);

/// A documentation page whose steps add a feature to bufferlab.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WalkThrough {
    /// Path of the page, relative to the root of the repository.
    page: String,
    /// Title of the page without "Add": "a policy".
    subject: String,
    /// First sentence of the page, which states the size of the addition.
    promise: String,
    steps: Vec<Step>,
}

fn instruction(line: &str) -> Option<Instruction> {
    let owned = str::to_owned;
    let line = line.strip_prefix("**")?.strip_suffix(":**")?;
    if line == "Run" {
        return Some(Instruction::Run);
    }
    if let Some(path) = line.strip_prefix("Create `").and_then(|rest| rest.strip_suffix('`')) {
        return Some(Instruction::Create { path: owned(path) });
    }
    if let Some(path) = line.strip_prefix("Now `").and_then(|rest| rest.strip_suffix("` contains")) {
        return Some(Instruction::Expect { path: owned(path) });
    }
    if let Some(rest) = line.strip_prefix("To see it fail, in `") {
        let (path, rest) = rest.split_once("` write `")?;
        let (new, rest) = rest.split_once("` for `")?;
        let (old, says) = rest.split_once("`; the test prints ")?;
        // A text that contains backticks is between two pairs of backticks.
        let says = says.trim_matches(['`', ' ']);
        return Some(Instruction::Mistake {
            path: owned(path),
            new: owned(new),
            old: owned(old),
            says: owned(says),
        });
    }
    let (path, below) =
        line.strip_prefix("In `")?.strip_suffix("`, add")?.split_once("`, below the line `")?;
    Some(Instruction::Insert { path: owned(path), below: owned(below) })
}

/// Reads the walk-through of a page; `None` if the title is not `# Add …`.
fn walk_through(path: &str, page: &str) -> Result<Option<WalkThrough>, String> {
    let mut lines = page.lines().enumerate().map(|(index, line)| (index + 1, line)).peekable();
    let Some(subject) = lines.next().and_then(|(_, title)| title.strip_prefix("# Add ")) else {
        return Ok(None);
    };
    let (mut steps, mut pending, mut promise) = (Vec::new(), None, String::new());
    while let Some((number, line)) = lines.next() {
        if line.starts_with("```") {
            let mut block = String::new();
            loop {
                match lines.next().ok_or(format!("line {number}: a block without an end"))? {
                    (_, "```") => break,
                    (_, text) => block.extend([text, "\n"]),
                }
            }
            let (at, what) =
                pending.take().ok_or(format!("line {number}: a block without an instruction"))?;
            steps.push((at, what, block));
        } else if !line.is_empty() && !line.starts_with('#') {
            let mut text = line.to_owned();
            let is_text = |line: &str| !(line.is_empty() || line.starts_with("```") || line.starts_with('#'));
            while let Some((_, line)) = lines.next_if(|(_, line)| is_text(line)) {
                text = format!("{text} {}", line.trim_start());
            }
            if text.starts_with("**") {
                let what = instruction(&text).ok_or(format!("line {number}: no instruction: {text}"))?;
                pending = Some((number, what));
            } else if pending.is_some() {
                return Err(format!("line {number}: the instruction above has no block"));
            } else if promise.is_empty() {
                promise = text.split_once(". ").map_or(&*text, |(sentence, _)| sentence).to_owned();
            }
        }
    }
    if pending.is_some() {
        return Err("the page ends with an instruction".to_owned());
    }
    if steps.is_empty() {
        return Err("the page has no steps".to_owned());
    }
    Ok(Some(WalkThrough { page: path.to_owned(), subject: subject.to_owned(), promise, steps }))
}

/// Numbers of files and lines that a walk-through adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    sources: usize,
    /// Number of lines added to existing sources, without comments.
    lines: usize,
    vectors: usize,
    pages: usize,
    scenarios: usize,
}

impl WalkThrough {
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (_, what, block) in &self.steps {
            match what {
                Instruction::Create { path } if path.ends_with(".rs") => tally.sources += 1,
                Instruction::Create { path } if path.starts_with("testdata/") => tally.vectors += 1,
                Instruction::Create { path } if path.starts_with("docs/") => tally.pages += 1,
                Instruction::Create { path } if path.starts_with("scenarios/") => tally.scenarios += 1,
                Instruction::Create { path } => panic!("{path}: of what kind is this file?"),
                Instruction::Insert { path, .. } if path.ends_with(".rs") => {
                    tally.lines += block.lines().filter(|line| !line.trim_start().starts_with("//")).count();
                }
                _ => {}
            }
        }
        tally
    }

    /// Name of the added item in sources: the name of its file, or of the first field.
    fn name(&self) -> String {
        let created = self.steps.iter().find_map(|(_, what, _)| match what {
            Instruction::Create { path } => path.strip_suffix(".rs")?.rsplit('/').next(),
            _ => None,
        });
        let field = || {
            let blocks = self.steps.iter().flat_map(|(_, _, block)| block.lines());
            blocks
                .filter_map(|line| line.trim().split_once(':'))
                .filter_map(|(field, _)| field.trim_start_matches('"').split('"').next())
                .find(|field| field.starts_with("toy_"))
        };
        created.or_else(field).expect("it adds something with a name").to_owned()
    }
}

/// Formats the counts of added files and lines: "one source file", "two lines". For a count of
/// zero, the text has only the noun.
fn in_words(tally: &Tally) -> Vec<(usize, String)> {
    let some = |count: usize, one: &str, many: &str| {
        let words = match count {
            0 => one.to_owned(),
            1 => format!("one {one}"),
            _ => format!("{} {many}", ["two", "three", "four"][count - 2]),
        };
        (count, words)
    };
    vec![
        some(tally.sources, "source file", "source files"),
        some(tally.lines, "line", "lines"),
        some(tally.vectors, "file of vectors", "files of vectors"),
        some(tally.pages, "page", "pages"),
        some(tally.scenarios, "scenario", "scenarios"),
    ]
}

/// Applies a step of a page that changes files.
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
        Instruction::Run | Instruction::Expect { .. } | Instruction::Mistake { .. } => Ok(()),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the files that a clone would have if all changes in this folder were committed. This
/// test is omitted, because the copy need not copy itself.
fn repository() -> Files {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = Command::new("git").args(arguments).current_dir(root()).output().expect("git runs");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let paths = String::from_utf8(listed.stdout).expect("names are UTF-8");
    let paths =
        paths.split_terminator('\0').filter(|path| *path != "dev/conformance/tests/suite/newcomer.rs");
    let mut files: Files =
        paths.filter_map(|path| Some((path.to_owned(), std::fs::read(root().join(path)).ok()?))).collect();
    let suite = files.get_mut("dev/conformance/tests/suite/main.rs").expect("the suite lists its themes");
    let without = String::from_utf8_lossy(suite).replace("mod newcomer;\n", "");
    *suite = without.into_bytes();
    files
}

/// Writes `files` to `folder` and removes all other files. Files that are already equal do not
/// change, so that cargo builds little the next time.
fn synchronise(folder: &Path, files: &Files) {
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let name = entry.path().strip_prefix(folder).expect("below").to_string_lossy().into_owned();
            if entry.path().is_dir() {
                // Empty folders must be removed, because the workspace takes every folder of
                // `crates/` for a crate.
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

/// Copies third-party libraries, which are already built for this test, into the build
/// folder of the copy. Cargo compares versions, features and profile, and rebuilds a library
/// that does not match.
fn take_libraries(to: &Path) {
    let program = std::env::current_exe().expect("this test");
    let from = program.ancestors().nth(2).expect("a test lies in deps/");
    let Ok(built) = std::fs::read_dir(from.join(".fingerprint")) else { return };
    let built: Vec<_> = built.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let hash_of =
        |name: &str| name.rsplit('-').next().map(|end| end.split('.').next().unwrap_or(end).to_owned());
    let ours = |name: &&String| {
        ["bufferlab-", "xtask-", "own-policy-", "workspace-hack-"].iter().any(|our| name.starts_with(our))
    };
    let hashes: BTreeSet<_> =
        built.iter().filter(|name| !ours(name)).filter_map(|name| hash_of(name)).collect();
    for part in [".fingerprint", "build", "deps"] {
        std::fs::create_dir_all(to.join(part)).expect("writable");
        let names = std::fs::read_dir(from.join(part)).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let wanted = names.filter(|name| hash_of(name).is_some_and(|hash| hashes.contains(&hash)));
        let missing: Vec<_> = wanted
            .filter(|name| !to.join(part).join(name).exists())
            .map(|name| from.join(part).join(name))
            .collect();
        // Copy the files with their times: cargo rebuilds a crate if its files are
        // younger than its build.
        for some in missing.chunks(100) {
            let copied = Command::new("cp").arg("-a").args(some).arg(to.join(part)).status();
            assert!(
                copied.is_ok_and(|status| status.success()),
                "cp of {} to {}",
                from.display(),
                to.display()
            );
        }
    }
}

/// Copy of the repository to which the test applies all walk-throughs.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    fn new(walks: &[WalkThrough]) -> Self {
        let mut files = repository();
        for walk in walks {
            for (line, what, block) in &walk.steps {
                apply(&mut files, what, block).unwrap_or_else(|why| panic!("{}:{line}: {why}", walk.page));
            }
        }
        files.entry(".cargo/config.toml".to_owned()).or_default().extend(QUICK_BUILD.bytes());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("newcomer");
        synchronise(&folder.join("repository"), &files);
        take_libraries(&folder.join("target/debug"));
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join("repository").join(path)
    }

    fn read(&self, path: &str) -> String {
        let content = std::fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        String::from_utf8_lossy(&content).into_owned()
    }

    /// Runs `script` at the root of the copy, without network. Returns its output and whether the
    /// script succeeded.
    fn shell(&self, script: &str) -> (bool, String) {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(self.folder.join("repository"));
        command.env("CARGO_TARGET_DIR", self.folder.join("target")).env("CARGO_NET_OFFLINE", "true");
        let result = command.output().expect("a shell");
        let output = [result.stdout, result.stderr].concat();
        (result.status.success(), String::from_utf8_lossy(&output).into_owned())
    }

    /// Runs the commands of all walk-throughs, each once, and returns the output.
    fn run(&self, walks: &[WalkThrough]) -> String {
        let (mut done, mut output) = (Vec::new(), String::new());
        for walk in walks {
            for (at, _, block) in walk.steps.iter().filter(|step| step.1 == Instruction::Run) {
                for command in block.lines() {
                    if done.contains(&command) {
                        continue;
                    }
                    done.push(command);
                    let start = std::time::Instant::now();
                    let (succeeded, text) = self.shell(command);
                    assert!(succeeded, "{}:{at}: this fails:\n{command}\n{text}", walk.page);
                    eprintln!("{:6.1} s  {command}", start.elapsed().as_secs_f64());
                    output += &text;
                }
            }
        }
        output
    }

    /// Checks that a test detects a mistake in an added item, and that the message names this item.
    fn check_mistakes(&self, walk: &WalkThrough) {
        let (page, mut count) = (&walk.page, 0);
        for (at, what, block) in &walk.steps {
            let Instruction::Mistake { path, new, old, says } = what else { continue };
            let is_named = says.replace('-', "_").contains(&walk.name());
            assert!(is_named, "{page}:{at}: \"{says}\" does not name {}", walk.name());
            let right = self.read(path);
            assert_eq!(right.matches(old.as_str()).count(), 1, "{page}:{at}: {old} in {path}");
            std::fs::write(self.path(path), right.replace(old.as_str(), new)).expect("writable");
            let start = std::time::Instant::now();
            let (succeeded, text) = self.shell(block);
            std::fs::write(self.path(path), right).expect("writable");
            assert!(!succeeded, "{page}:{at}: the mistake is not found:\n{block}\n{text}");
            assert!(text.contains(says), "{page}:{at}: {block} does not say {says}:\n{text}");
            eprintln!("{:6.1} s  mistake in {path}", start.elapsed().as_secs_f64());
            count += 1;
        }
        assert!(count > 0, "\"Add {}\" shows no mistake that is found", walk.subject);
    }
}

/// Pages of `docs/extend` in the order in which the test follows the pages. All other walk-throughs
/// follow these pages.
const PAGES: &[&str] = &[
    "policy",
    "congestion-control",
    "marking-rule",
    "calculator",
    "workload",
    "topology",
    "column",
    "header-field",
    "metric",
    "scenario-key",
];

/// Reads every walk-through in `docs/extend`.
fn walk_throughs() -> Vec<WalkThrough> {
    let folder = std::fs::read_dir(root().join("docs/extend")).expect("the folder exists");
    let names = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter_map(|name| name.strip_suffix(".md").map(str::to_owned)).collect();
    names.sort_by_key(|name| {
        (PAGES.iter().position(|page| page == name).unwrap_or(PAGES.len()), name.clone())
    });
    let walk = |name: &String| {
        let path = format!("docs/extend/{name}.md");
        let page = std::fs::read_to_string(root().join(&path)).expect("readable");
        walk_through(&path, &page).unwrap_or_else(|why| panic!("{path}: {why}"))
    };
    names.iter().filter_map(walk).collect()
}

#[test]
fn a_walk_through_adds_what_its_first_sentence_says() {
    let walks = walk_throughs();
    for name in PAGES {
        let page = format!("docs/extend/{name}.md");
        assert!(walks.iter().any(|walk| walk.page == page), "{page} has no steps");
    }
    for walk in walks {
        let tally = walk.tally();
        for (count, words) in in_words(&tally) {
            let is_said = walk.promise.contains(&words);
            assert_eq!(is_said, count > 0, "\"{}\" adds {tally:?}; \"{words}\"", walk.promise);
        }
        let (files, lines) = match walk.subject.as_str() {
            // A calculator adds two source files: the calculator, and in another crate a replay
            // that checks its answer.
            "a calculator" => (2, 4),
            // A header field adds four lines: the field, its column, a line that sets the field,
            // and a line that sets the column.
            "a header field" => (0, 4),
            _ => (1, 2),
        };
        let is_little = tally.sources <= files && tally.lines <= lines;
        assert!(is_little, "{}: {tally:?} is too much work", walk.subject);
    }
}

#[test]
fn the_walk_throughs_work() {
    let walks = walk_throughs();
    let copy = Copy::new(&walks);
    let output = copy.run(&walks);
    let steps = walks.iter().flat_map(|walk| walk.steps.iter().map(|step| (&walk.page, step)));
    for (page, (line, what, block)) in steps {
        match what {
            // The added source causes no warning, and needs no formatting.
            Instruction::Create { path } if path.ends_with(".rs") => {
                let is_blamed = output.contains(&format!("{path}:"));
                assert!(!is_blamed, "the compiler has something to say of {path}:\n{output}");
                assert_eq!(copy.read(path), *block, "cargo fmt changes {path}");
            }
            // The registry has the entry, and everything derived from the registry shows the entry.
            Instruction::Expect { path } => {
                let text = copy.read(path);
                for part in block.lines() {
                    assert!(text.contains(part), "{page}:{line}: {path} does not contain {part}");
                }
            }
            _ => {}
        }
    }
    // The mistakes of the last page are tested first, so that each page precedes the pages on which
    // it depends.
    walks.iter().rev().for_each(|walk| copy.check_mistakes(walk));
}

#[test]
fn a_walk_through_that_cannot_be_followed_is_refused() {
    let page = |body: &str| walk_through("a.md", &format!("# Add a toy\n\n{body}\n## Next\n"));
    let good =
        "A toy is easy. Text.\n\n**In `a.rs`, below the line `mod x;`,\nadd:**\n\n```rust\nmod y;\n```\n";
    let insert = Instruction::Insert { path: "a.rs".to_owned(), below: "mod x;".to_owned() };
    let walk = page(good).expect("good").expect("a walk-through");
    assert_eq!(walk.steps, [(5, insert, "mod y;\n".to_owned())]);
    assert_eq!((walk.subject.as_str(), walk.promise.as_str()), ("a toy", "A toy is easy"));
    let run = "**Run:**\n```sh\ntrue\n```\n";
    for (body, message) in [
        ("".to_owned(), "the page has no steps"),
        ("```sh\ntrue\n```".to_owned(), "line 3: a block without an instruction"),
        ("**Run:**".to_owned(), "the page ends with an instruction"),
        ("**Run it:**\n```sh\ntrue\n```".to_owned(), "line 3: no instruction: **Run it:**"),
        (format!("{run}```sh\ntrue\n```"), "line 7: a block without an instruction"),
        ("**Run:**\ntext\n```sh\ntrue\n```".to_owned(), "line 3: no instruction: **Run:** text"),
        ("**Run:**\n\ntext\n```sh\ntrue\n```".to_owned(), "line 5: the instruction above has no block"),
        ("**Run:**\n```sh\ntrue".to_owned(), "line 4: a block without an end"),
    ] {
        assert_eq!(page(&body), Err(message.to_owned()));
    }
    assert_eq!(walk_through("a.md", "# Title\n\n**Nothing**\n"), Ok(None));
}

#[test]
fn a_mistake_that_a_reader_is_told_to_make_is_understood() {
    let says = |text: &str| match instruction(&format!(
        "**To see it fail, in `a` write `x` for `y`; the test prints {text}:**"
    )) {
        Some(Instruction::Mistake { path, new, old, says }) => [path, new, old, says].join("|"),
        other => panic!("{other:?}"),
    };
    assert_eq!(says("`no`"), "a|x|y|no");
    assert_eq!(says("``missing `toy` ``"), "a|x|y|missing `toy");
}

#[test]
fn what_is_added_is_counted_without_comments() {
    let step = |what: Instruction, block: &str| (1, what, block.to_owned());
    let create = |path: &str| Instruction::Create { path: path.to_owned() };
    let insert = Instruction::Insert { path: "a.rs".to_owned(), below: String::new() };
    let steps = vec![
        step(create("toy_thing.rs"), "fn f() {}\n"),
        step(insert, "    /// Text.\n    toy: u64,\n"),
        step(create(&["testdata", "toy.toml"].join("/")), ""),
    ];
    let walk = WalkThrough { page: String::new(), subject: String::new(), promise: String::new(), steps };
    let tally = Tally { sources: 1, lines: 1, vectors: 1, ..Tally::default() };
    assert_eq!((walk.tally(), walk.name().as_str()), (tally, "toy_thing"));
    let said: Vec<_> =
        in_words(&tally).into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
    assert_eq!(said, ["one source file", "one line", "one file of vectors"]);
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
