//! The command `new` writes a scenario, a study or a policy with comments, ready to run.
//!
//! The policy is the example `examples/own-policy` as a stand-alone crate. The tests of the example
//! run with the tests of the workspace. The crate's dependencies are paths of a checkout. So the
//! crate builds without a network, with the version that the user runs, and with the dependencies
//! of the checkout's lock file.

use crate::args::{NewCommand, NewTopology};
use crate::{inform, print};
use bufferlab_core::find_policy;
use miette::miette;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const SINGLE_SWITCH: &str = include_str!("../templates/single-switch.toml");
const LEAF_SPINE: &str = include_str!("../templates/leaf-spine.toml");
const STUDY: &str = include_str!("../templates/study.toml");
const POLICY: &str = include_str!("../templates/policy.toml");
const POLICY_LIB: &str = include_str!("../../../examples/own-policy/src/lib.rs");
const POLICY_MAIN: &str = include_str!("../../../examples/own-policy/src/main.rs");
const POLICY_TEST: &str = include_str!("../../../examples/own-policy/tests/conformance.rs");

/// Names that a new policy cannot have: keywords of Rust, and names that the template uses.
const TAKEN: &str = "abstract account alloc arrival as async await become box break buffer const continue \
                     core crate do drop-reason dyn else enum error exit-code extern false final fn for \
                     gen if impl in let loop macro match mod move mut override param-info param-kind \
                     param-value policy policy-info priv proc-macro pub queue-id ref register-error return \
                     self some static std struct super tags test trait true try type typeof unsafe \
                     unsized use verdict virtual weight where while yield ok err result option";

/// Executes the command `new`.
pub(crate) fn new(what: &NewCommand) -> miette::Result<()> {
    match what {
        NewCommand::Scenario { name, topology } => scenario(name, *topology),
        NewCommand::Study { name } => study(name),
        NewCommand::Policy { name, checkout } => policy(name, checkout.as_deref()),
    }
}

fn scenario(path: &Path, topology: NewTopology) -> miette::Result<()> {
    let template = match topology {
        NewTopology::SingleSwitch => SINGLE_SWITCH,
        NewTopology::LeafSpine => LEAF_SPINE,
    };
    let file = path.with_extension("toml");
    write(&file, &template.replace("NAME", &name(path)))?;
    announce(&file, &format!("bufferlab run {}", shell(&file)))
}

fn study(folder: &Path) -> miette::Result<()> {
    let name = name(folder);
    make(folder)?;
    write(&folder.join(format!("{name}.toml")), &SINGLE_SWITCH.replace("NAME", &name))?;
    write(&folder.join(&name).join("buffers.toml"), &STUDY.replace("NAME", &name))?;
    announce(folder, &format!("bufferlab reproduce all --registry {} --out results/{name}", shell(folder)))
}

fn policy(folder: &Path, checkout: Option<&Path>) -> miette::Result<()> {
    let name = name(folder);
    if let Some(known) = find_policy(&name) {
        let help = "choose a name that `bufferlab policy list` does not show";
        return Err(miette!(help = help, "there is a policy \"{name}\" already: {}", known.title));
    }
    if TAKEN.split_whitespace().any(|word| word == name) {
        let help = "choose a name of two words, such as fair-share";
        return Err(miette!(help = help, "\"{name}\" is a word of Rust or of bufferlab's interface"));
    }
    let checkout = checkout_of(checkout)?;
    let lock = checkout.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|why| miette!("cannot read {}: {why}", lock.display()))?;
    let path = |inside: &str| toml_string(&checkout.join(inside));
    let manifest = POLICY.replace("CLI", &path("crates/cli")).replace("CORE", &path("crates/core"));
    let manifest = manifest.replace("CONFORMANCE", &path("dev/conformance"));
    make(folder)?;
    write(&folder.join("Cargo.toml"), &manifest.replace("NAME", &name))?;
    write(&folder.join("Cargo.lock"), &lock)?;
    write(&folder.join("src/lib.rs"), &named(POLICY_LIB, &name))?;
    write(&folder.join("src/main.rs"), &named(POLICY_MAIN, &name))?;
    write(&folder.join("tests/conformance.rs"), &named(POLICY_TEST, &name))?;
    let first = shell(&checkout.join("scenarios/first.toml"));
    announce(
        folder,
        &format!(
            "cd {} && cargo test && cargo run --release -- compare {first} --policies dt,{name}",
            shell(folder)
        ),
    )
}

/// Replaces the example's names in the template by the names of the new policy.
fn named(template: &str, name: &str) -> String {
    let words: Vec<String> = name.split('-').map(capitalised).collect();
    let text = template.replace("own_policy", &name.replace('-', "_")).replace("root-share", name);
    text.replace("RootShare", &words.concat()).replace("Root Share", &words.join(" "))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The checkout that the new crate uses: the named checkout, the checkout in which this program was
/// built, or the checkout around the current folder.
fn checkout_of(named: Option<&Path>) -> miette::Result<PathBuf> {
    let is_checkout = |folder: &Path| {
        ["crates/cli", "dev/conformance"].iter().all(|name| folder.join(name).join("Cargo.toml").is_file())
    };
    if let Some(folder) = named {
        return match folder.canonicalize() {
            Ok(folder) if is_checkout(&folder) => Ok(folder),
            _ => Err(miette!(
                help = "expected the folder with crates/cli and dev/conformance",
                "{} is no checkout of bufferlab",
                folder.display()
            )),
        };
    }
    let program = std::env::current_exe().and_then(fs::canonicalize);
    let starts = [program, std::env::current_dir().and_then(fs::canonicalize)];
    let mut around = starts.iter().flatten().flat_map(|start| start.ancestors());
    around.find(|folder| is_checkout(folder)).map(Path::to_path_buf).ok_or_else(|| {
        let help = "name the folder of the checkout: --checkout FOLDER";
        miette!(help = help, "the crate of a policy needs bufferlab's source, which is not here")
    })
}

/// Last part of the path of a file or folder that the command line has already checked.
fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Creates a folder, and refuses an existing folder.
fn make(folder: &Path) -> miette::Result<()> {
    fs::create_dir_all(parent(folder))
        .and_then(|()| fs::create_dir(folder))
        .map_err(|why| refusal(folder, &why))
}

/// Writes a file, and refuses an existing file.
fn write(file: &Path, text: &str) -> miette::Result<()> {
    let written = fs::create_dir_all(parent(file)).and_then(|()| {
        let mut file = OpenOptions::new().write(true).create_new(true).open(file)?;
        file.write_all(text.as_bytes())
    });
    written.map_err(|why| refusal(file, &why))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn refusal(path: &Path, why: &io::Error) -> miette::Report {
    if why.kind() == io::ErrorKind::AlreadyExists {
        let help = "choose another name: `new` overwrites nothing";
        return miette!(help = help, "{} exists already", path.display());
    }
    miette!("cannot write {}: {why}", path.display())
}

/// Prints the path of the new file and suggests the next command.
fn announce(path: &Path, next: &str) -> miette::Result<()> {
    print(&format!("{}\n", path.display()))?;
    inform(&format!("next: {next}"));
    Ok(())
}

/// Writes a path as an argument for a shell.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-~".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Formats a path as a TOML string.
fn toml_string(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""))
}
