//! Builds the Debian packages of the program and of the C interface, and tries them in a new Debian
//! system.
//!
//! The files of `packaging/debian` describe the packages for Debian's tools (debhelper).

use crate::chroot::Root;
use crate::publishing::warn_without_address;
use crate::{output, renew, root, run as spawn, skips, target};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Folder of the files that describe the packages.
const DESCRIPTION: &str = "packaging/debian";

/// Commands that a new user tries first, in an empty folder.
const TRIALS: [&[&str]; 5] = [
    &["bufferlab", "--version"],
    &["bufferlab", "compare", "first", "--seeds", "3"],
    &["man", "--pager=cat", "bufferlab"],
    &["man", "--pager=cat", "bufferlab-sonic-lint"],
    &["sh", "-c", "cc $HOME/incast.c $(pkg-config --cflags --libs bufferlab) -o incast && ./incast"],
];

/// Home folder of the user who executes the trials, and the files of the trials.
const HOME: &str = "/srv/newcomer";
const TRIAL: &str = "/srv/newcomer/trial";
const EXAMPLE: &str = "/srv/newcomer/incast.c";

/// Folder of the root that has the packages to install.
const PLACE: &str = "/var/cache";

/// Packages that the trials need: a reader of manual pages, and a C compiler.
const TOOLS: [&str; 4] = ["man-db", "gcc", "libc6-dev", "pkgconf"];

/// Folders whose content may change when packages are installed and removed: logs, caches and the
/// state of package tools.
const MAY_CHANGE: [&str; 5] = ["/var/cache", "/var/lib/apt", "/var/lib/dpkg", "/var/log", "/tmp"];

/// Builds the packages in `target/debian`. With `try_out`, installs the packages in a new Debian
/// system, executes commands there, and removes the packages again.
///
/// # Errors
/// If a tool is missing, the build fails, lintian finds an error, or a trial fails.
pub fn build(try_out: bool) -> Result<(), String> {
    warn_without_address()?;
    let folder = target()?.join("debian");
    renew(&folder)?;
    let source = folder.join("source");
    renew(&source)?;
    spawn(Command::new("cp").arg("--recursive").arg(root().join(DESCRIPTION)).arg(source.join("debian")))?;
    let started = Instant::now();
    let mut build = Command::new("dpkg-buildpackage");
    // Cargo may come from rustup, so Debian's packages of Cargo need not be there.
    build.args(["--build=binary", "--unsigned-changes", "--no-check-builddeps"]).current_dir(&source);
    build.env("SOURCE", root()).env("CARGO_TARGET_DIR", target()?).envs(homes()?);
    spawn(&mut build).map_err(|why| format!("{why}\nhint: on Debian: apt-get install dpkg-dev debhelper"))?;
    println!("== dpkg-buildpackage: {:.0} s", started.elapsed().as_secs_f64());
    for package in packages(&folder)? {
        let size = fs::metadata(&package).map_err(|error| format!("{}: {error}", package.display()))?.len();
        println!("{}: {:.1} MB", package.display(), size as f64 / 1e6);
    }
    lint(&folder)?;
    if try_out { trial(&folder) } else { Ok(()) }
}

/// Folders of Cargo and rustup, which debhelper hides by another home folder.
fn homes() -> Result<Vec<(&'static str, PathBuf)>, String> {
    let home = std::env::home_dir().ok_or("this user has no home folder")?;
    let folder = |name, default| {
        let named = std::env::var_os(name).map(PathBuf::from);
        (name, named.unwrap_or_else(|| home.join(default)))
    };
    Ok(vec![folder("CARGO_HOME", ".cargo"), folder("RUSTUP_HOME", ".rustup")])
}

/// Returns the built packages.
fn packages(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    found.sort();
    Ok(found)
}

/// Checks the packages with lintian, if lintian is installed.
fn lint(folder: &Path) -> Result<(), String> {
    if Command::new("lintian").arg("--version").output().is_err() {
        skips::note("lintian, the check of Debian packages: not installed");
        return Ok(());
    }
    // Lintian warns root, who may build packages in a container.
    spawn(Command::new("lintian").args(["--allow-root", "--fail-on", "error"]).args(packages(folder)?))
}

/// Installs the packages in a new system of this machine's Debian release, executes the commands
/// [`TRIALS`], and checks that the removed packages leave no file.
fn trial(folder: &Path) -> Result<(), String> {
    let system =
        fs::read_to_string("/etc/os-release").map_err(|error| format!("/etc/os-release: {error}"))?;
    let suite = system.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let root = Root::create(suite.ok_or("/etc/os-release names no suite")?, &folder.join("root"))?;
    let apt = |words: &[String]| {
        let mut apt = root.command("root", "/");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(["apt-get", "--quiet", "--quiet", "--yes"]);
        apt.arg("--no-install-recommends").args(words);
        spawn(&mut apt)
    };
    let words = |first: &[&'static str], rest: &[String]| {
        first.iter().map(|word| (*word).to_owned()).chain(rest.iter().cloned()).collect::<Vec<_>>()
    };
    apt(&["update".to_owned()])?;
    apt(&words(&["install"], &TOOLS.map(str::to_owned)))?;
    spawn(root.command("root", "/").args(["useradd", "--create-home", "--home-dir", HOME, "newcomer"]))?;
    let before = files(&root)?;
    let (mut names, mut paths) = (Vec::new(), Vec::new());
    for package in packages(folder)? {
        let copy = format!("{PLACE}/{}.deb", names.len());
        fs::copy(&package, root.path(&copy)).map_err(|error| format!("{copy}: {error}"))?;
        let name = output(Command::new("dpkg-deb").arg("--field").arg(&package).arg("Package"))?;
        names.push(String::from_utf8_lossy(&name).trim().to_owned());
        paths.push(copy);
    }
    let started = Instant::now();
    apt(&words(&["install"], &paths))?;
    println!("== apt-get install: {:.1} s", started.elapsed().as_secs_f64());
    let shipped = "/usr/share/doc/libbufferlab-capi-dev/examples/incast.c";
    spawn(root.command("newcomer", HOME).args(["cp", shipped, EXAMPLE]))?;
    spawn(root.command("newcomer", HOME).args(["mkdir", TRIAL]))?;
    for words in TRIALS {
        let started = Instant::now();
        spawn(root.command("newcomer", TRIAL).args(words))?;
        println!("== {}: {:.1} s", words.join(" "), started.elapsed().as_secs_f64());
    }
    apt(&words(&["purge", "--autoremove"], &names))?;
    spawn(root.command("root", "/").args(["rm", "--recursive", TRIAL, EXAMPLE]))?;
    let left: Vec<_> = files(&root)?.difference(&before).cloned().collect();
    if left.is_empty() {
        println!("== removed: nothing left");
        Ok(())
    } else {
        Err(format!("the removed packages leave {left:?}"))
    }
}

/// Returns the files of a root, without folders in which other programs write.
fn files(root: &Root) -> Result<BTreeSet<String>, String> {
    let listed = output(root.command("root", "/").args(["find", "/", "-xdev"]))?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let counts = |path: &&str| !MAY_CHANGE.iter().any(|folder| path.starts_with(folder));
    Ok(listed.lines().filter(counts).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn description(file: &str) -> String {
        read(&format!("{DESCRIPTION}/{file}")).unwrap_or_else(|problem| panic!("{problem}"))
    }

    fn words(text: &str) -> String {
        text.split_whitespace().filter(|word| *word != ".").collect::<Vec<_>>().join(" ")
    }

    fn workspace() -> toml::Table {
        read("Cargo.toml").expect("a manifest").parse().expect("a manifest is TOML")
    }

    #[test]
    fn the_package_has_the_version_and_compiler_of_the_workspace() {
        let package = &workspace()["workspace"]["package"];
        let version = package["version"].as_str().expect("the workspace has a version");
        let changes = description("changelog");
        assert!(
            changes.starts_with(&format!("bufferlab ({version}) ")),
            "{DESCRIPTION}/changelog lacks {version}"
        );
        let rust = package["rust-version"].as_str().expect("the workspace names a compiler");
        for tool in ["cargo", "rustc"] {
            let needed = format!("{tool} (>= {rust})");
            assert!(description("control").contains(&needed), "{DESCRIPTION}/control lacks {needed}");
        }
    }

    #[test]
    fn the_package_names_the_licences_of_the_workspace() {
        let copyright = description("copyright");
        let licence = workspace()["workspace"]["package"]["license"].as_str().map(str::to_lowercase);
        let named = copyright.lines().find_map(|line| line.strip_prefix("License: ")).map(str::to_lowercase);
        assert_eq!(named, licence);
        let text = read("LICENSE-MIT").expect("a licence");
        let (_, text) = text.split_once("MIT License").expect("a title");
        assert!(words(&copyright).contains(&words(text)), "{DESCRIPTION}/copyright differs from LICENSE-MIT");
        assert!(description("rules").contains(crate::notices::FILE));
    }

    #[test]
    fn the_library_has_the_name_and_symbols_of_the_header() {
        let header = read("crates/capi/include/bufferlab.h").expect("a header");
        let abi = header.lines().find_map(|line| line.strip_prefix("#define BUFFERLAB_ABI "));
        let abi = abi.expect("the header has a version");
        let package = format!("libbufferlab-capi{abi}");
        assert!(description("control").contains(&format!("\nPackage: {package}\n")), "{package}");
        assert!(
            description(&format!("{package}.install")).contains(&format!("libbufferlab_capi.so.{abi}\n"))
        );
        let symbols = description(&format!("{package}.symbols"));
        let listed: BTreeSet<_> =
            symbols.lines().skip(1).filter_map(|line| line.trim().split('@').next()).collect();
        let prefix = format!("bufferlab_v{abi}_");
        let declared: BTreeSet<_> =
            header.split_whitespace().filter(|word| word.starts_with(&prefix)).collect();
        assert_eq!(listed, declared);
    }

    #[test]
    fn the_package_has_all_pages_completions_and_named_files() {
        let (rules, install) = (description("rules"), description("bufferlab.install"));
        for file in install.lines().chain(description("libbufferlab-capi-dev.install").lines()) {
            let name = file.rsplit('/').next().unwrap_or(file);
            assert!(rules.contains(name), "{DESCRIPTION}/rules does not make {file}");
        }
        assert!(install.contains("usr/share/man/man1\n"), "the package has no manual pages");
        for shell in ["bash", "fish", "zsh"] {
            assert!(rules.contains(&format!("completions {shell} >")), "no completions for {shell}");
        }
        let sources = rules.split("$(SOURCE)/").skip(1).filter_map(|rest| rest.split_whitespace().next());
        for source in sources.filter(|source| *source != "target") {
            assert!(root().join(source).exists(), "{DESCRIPTION}/rules reads {source}, which does not exist");
        }
        assert!(rules.contains("--release --locked --package bufferlab-cli\n"));
        assert!(rules.contains("--release --locked --package bufferlab-capi\n"));
    }
}
