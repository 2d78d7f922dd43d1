//! Profile-guided builds: the program and the Python wheel, compiled with the profile of training
//! runs.
//!
//! The training covers typical runs, not only runs of benchmarks: several policies and transports,
//! losses, ECN marks, flow control, and queries. Code that the training does not cover is compiled
//! for small size, so unusual scenarios can become slower.

use crate::{cargo, output, root, run as spawn, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Training runs of the instrumented program: a scenario file and its changed keys.
const TRAINING: &[(&str, &[&str])] = &[
    ("permutation", &["duration=\"1 ms\"", "drain=\"2 ms\""]),
    ("abm-reduced", &["duration=\"15 ms\""]),
    ("abm-reduced", &["duration=\"10 ms\"", "switch.policy=\"abm\""]),
    (
        "abm-reduced",
        &["duration=\"5 ms\"", "switch.policy=\"losspass\"", "transport.0.congestion_control=\"cubic\""],
    ),
    (
        "abm-reduced",
        &["duration=\"5 ms\"", "switch.policy=\"plasticine\"", "transport.0.congestion_control=\"hpcc\""],
    ),
    ("reverie-reduced", &["duration=\"8 ms\""]),
    ("reverie-reduced", &["duration=\"4 ms\"", "switch.policy={ name = \"reverie\", headroom = \"auto\" }"]),
    ("fat-tree", &["duration=\"2 ms\"", "topology.k=16"]),
    ("tdt-fig8", &[]),
];

/// Builds the program, or with `wheel` the Python package, with the profile of the training runs.
/// The build is for the kind of machine that runs this task. Prints the path of the built file.
///
/// # Errors
/// If a tool is missing, or a build or a training run fails.
pub fn build(wheel: bool) -> Result<(), String> {
    let tool = profile_tool()?;
    let folder = target()?.join("dist");
    let profiles = folder.join("profiles");
    if profiles.exists() {
        fs::remove_dir_all(&profiles).map_err(|error| format!("{}: {error}", profiles.display()))?;
    }
    let profile = if wheel { "python" } else { "release" };
    let instrumented = folder.join("instrumented");
    let generate = format!("-Cprofile-generate={}", profiles.display());
    eprintln!("== the program that takes the profile");
    spawn(&mut program(profile, &instrumented, &generate))?;
    let name = format!("bufferlab{}", std::env::consts::EXE_SUFFIX);
    train(&instrumented.join(profile).join(&name))?;
    let merged = folder.join("merged.profdata");
    spawn(Command::new(tool).args(["merge", "-o"]).arg(&merged).arg(&profiles))?;
    let used = format!("-Cprofile-use={}", merged.display());
    let optimised = folder.join("optimised");
    eprintln!("== the build that uses it");
    if wheel {
        let mut maturin = Command::new("maturin");
        maturin.args(["build", "--locked", "--profile", profile, "--out"]).arg(&folder).current_dir(root());
        spawn(maturin.env("RUSTFLAGS", used).env("CARGO_TARGET_DIR", &optimised))
            .map_err(|why| format!("{why}\nhint: maturin is in python/requirements-dev.txt"))?;
        println!("the wheel is in {}", folder.display());
        return Ok(());
    }
    spawn(&mut program(profile, &optimised, &used))?;
    println!("the program is {}", optimised.join(profile).join(name).display());
    Ok(())
}

/// Returns the command that builds the program bufferlab with the compiler flags `flags`.
fn program(profile: &str, target: &Path, flags: &str) -> Command {
    let mut build = cargo(&["build", "--profile", profile, "--locked", "--package", "bufferlab-cli"]);
    build.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", target);
    build
}

fn train(program: &Path) -> Result<(), String> {
    for (scenario, settings) in TRAINING {
        eprintln!("== training: {scenario} {}", settings.join(" "));
        let mut bench = Command::new(program);
        bench.current_dir(root()).args(["bench", &format!("scenarios/{scenario}.toml"), "--runs", "1"]);
        output(bench.args(settings.iter().flat_map(|setting| ["--set", setting])))?;
    }
    Ok(())
}

/// Returns the path of the tool that merges profiles, from the compiler's components or the system.
/// The tool and the compiler must have the same version of LLVM.
fn profile_tool() -> Result<PathBuf, String> {
    let version = text(Command::new("rustc").arg("-vV"))?;
    let field = |name: &str| version.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let host = field("host:").ok_or("rustc -vV names no host")?;
    let major = field("LLVM version:").and_then(|version| version.split('.').next()).unwrap_or("?");
    let sysroot = text(Command::new("rustc").args(["--print", "sysroot"]))?;
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/llvm-profdata");
    let named = PathBuf::from(format!("llvm-profdata-{major}"));
    let plain = PathBuf::from("llvm-profdata");
    let fits = |tool: &PathBuf| {
        let says = Command::new(tool).arg("--version").output().ok();
        says.is_some_and(|says| {
            String::from_utf8_lossy(&says.stdout).contains(&format!("LLVM version {major}."))
        })
    };
    [own, named, plain].into_iter().find(fits).ok_or_else(|| {
        format!(
            "no llvm-profdata of LLVM {major}, the compiler's version\nhint: rustup component add llvm-tools, or on Debian: apt-get install llvm-{major}"
        )
    })
}

fn text(command: &mut Command) -> Result<String, String> {
    output(command).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
