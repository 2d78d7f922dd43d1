//! Checks that this checkout and an older checkout give equal result tables, byte for byte.
//!
//! Each checkout runs its scenario files with its release binary, so the scenario format may differ
//! between the checkouts. The comparison covers only result tables, because manifests, times and
//! reports contain versions and dates.

use crate::program::{self, Build};
use crate::root;
use bufferlab_sim::Simulation;
use bufferlab_units::Time;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Divisor of the scenario's simulated duration with `--quick`. The shortened duration is at least
/// [`QUICK_DURATION_MIN`].
const QUICK_PART: u64 = 50;
const QUICK_DURATION_MIN: Time = Time(2_000_000_000);
/// Maximum simulated time for unfinished flows after the last arrival, with `--quick`.
const QUICK_DRAIN_MAX: Time = Time(20_000_000_000);

/// Runs scenarios in the checkout `old` and in this checkout, and compares the tables of both
/// checkouts. `only` lists names of files in `scenarios/`; an empty list means all scenarios.
/// Prints a line per scenario.
///
/// # Errors
/// If a result table differs or only one checkout has it, a run fails, or `old` has no release
/// binary.
pub fn check(old: &Path, only: &[&str], quick: bool) -> Result<(), String> {
    let old = old.canonicalize().map_err(|error| format!("{}: {error}", old.display()))?;
    let before = old.join("target/release").join(format!("bufferlab{}", std::env::consts::EXE_SUFFIX));
    if !before.is_file() {
        return Err(format!("{} is missing\nhint: run `cargo build --release` there", before.display()));
    }
    let now = program::program(Build::Release)?;
    let names = names(only)?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut different = 0;
    for name in &names {
        let outs = [folder.path().join("before"), folder.path().join("now")];
        let mut keys = if quick { shortened(name)? } else { Vec::new() };
        // A scenario with listed flows rejects a duration that would skip a flow, so such a
        // scenario runs with its full duration.
        if quick && play(&before, &old, name, &keys, &outs[0]).is_err() {
            keys.clear();
        }
        if keys.is_empty() {
            play(&before, &old, name, &keys, &outs[0])?;
        }
        play(&now, &root(), name, &keys, &outs[1])?;
        let (count, found) = differences(&outs[0], &outs[1])?;
        let length = if keys.is_empty() { "" } else { ", shortened" };
        if found.is_empty() && count > 0 {
            println!("same    {name}: {count} tables{length}");
        } else {
            println!(
                "DIFFERS {name}: {}",
                if count == 0 { "no tables".to_owned() } else { found.join(", ") }
            );
            different += 1;
        }
        for out in outs {
            std::fs::remove_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        }
    }
    if different == 0 { Ok(()) } else { Err(format!("{different} of {} scenarios differ", names.len())) }
}

/// Checks that scenarios give equal tables on one thread and on each of `counts` threads. `only`
/// lists names of files in `scenarios/`; an empty list means all scenarios. Prints a line per
/// scenario.
///
/// # Errors
/// If a result table differs, or a run fails.
pub fn check_threads(counts: &[usize], only: &[&str], quick: bool) -> Result<(), String> {
    let program = program::program(Build::Release)?;
    let names = names(only)?;
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let mut different = 0;
    for name in &names {
        let one = folder.path().join("one");
        let mut keys = if quick { shortened(name)? } else { Vec::new() };
        if play_on(&program, 1, name, &keys, &one).is_err() {
            keys.clear();
            play_on(&program, 1, name, &keys, &one)?;
        }
        let mut found = Vec::new();
        for &count in counts {
            let several = folder.path().join("several");
            play_on(&program, count, name, &keys, &several)?;
            let (_, differing) = differences(&one, &several)?;
            found.extend(differing.into_iter().map(|table| format!("{table} on {count} threads")));
            std::fs::remove_dir_all(&several).map_err(|error| format!("{}: {error}", several.display()))?;
        }
        different += usize::from(!found.is_empty());
        let length = if keys.is_empty() { "" } else { ", shortened" };
        let why = one_thread_because(name)?.map_or_else(String::new, |why| format!(" (one thread: {why})"));
        match found[..] {
            [] => println!("same    {name}{length}{why}"),
            _ => println!("DIFFERS {name}{length}: {}", found.join(", ")),
        }
        std::fs::remove_dir_all(&one).map_err(|error| format!("{}: {error}", one.display()))?;
    }
    if different == 0 { Ok(()) } else { Err(format!("{different} of {} scenarios differ", names.len())) }
}

/// Reason why a shipped scenario runs only on one thread; `None` if more threads are possible.
fn one_thread_because(name: &str) -> Result<Option<&'static str>, String> {
    let path = root().join(format!("scenarios/{name}.toml"));
    let loaded = bufferlab_scenario::load(&path, &[]).map_err(|error| format!("{name}: {error}"))?;
    let simulation = Simulation::new(&loaded.scenario).map_err(|error| format!("{name}: {error}"))?;
    Ok(simulation.needs_one_thread(&loaded.scenario))
}

/// Runs a scenario of this checkout on `threads` threads.
fn play_on(program: &Path, threads: usize, name: &str, keys: &[String], out: &Path) -> Result<(), String> {
    let keys = [keys, &["--threads".to_owned(), threads.to_string()]];
    play_with(program, &root(), name, keys, out)
}

/// Runs a scenario of `checkout` with the scenario keys `keys`; the results go to `out`.
fn play(program: &Path, checkout: &Path, name: &str, keys: &[String], out: &Path) -> Result<(), String> {
    play_with(program, checkout, name, [keys, &[]], out)
}

/// Runs a scenario like [`play`], with more options of the command line.
fn play_with(
    program: &Path,
    checkout: &Path,
    name: &str,
    [keys, options]: [&[String]; 2],
    out: &Path,
) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .current_dir(checkout)
        .args(["run", &format!("scenarios/{name}.toml"), "--jobs", "1"])
        .args(options);
    command.args(keys.iter().flat_map(|key| ["--set", key])).arg("--out").arg(out);
    let result = command.output().map_err(|error| format!("{command:?} cannot start: {error}"))?;
    if result.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed: {}\n{}", result.status, String::from_utf8_lossy(&result.stderr)))
}

/// Returns the names of the scenarios to compare, in alphabetical order.
fn names(only: &[&str]) -> Result<Vec<String>, String> {
    let folder = root().join("scenarios");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let stem = |path: PathBuf| {
        let is_scenario = path.extension().is_some_and(|extension| extension == "toml");
        path.file_stem().filter(|_| is_scenario).map(|stem| stem.to_string_lossy().into_owned())
    };
    let mut names: Vec<_> = entries.flatten().filter_map(|entry| stem(entry.path())).collect();
    names.sort_unstable();
    if let Some(unknown) = only.iter().find(|name| !names.iter().any(|known| known == *name)) {
        return Err(format!("no scenario is called \"{unknown}\"; known: {}", names.join(", ")));
    }
    names.retain(|name| only.is_empty() || only.contains(&name.as_str()));
    Ok(names)
}

/// Returns the scenario keys that shorten a run of a scenario for `--quick`.
fn shortened(name: &str) -> Result<Vec<String>, String> {
    let path = root().join(format!("scenarios/{name}.toml"));
    let loaded = bufferlab_scenario::load(&path, &[]).map_err(|error| format!("{name}: {error}"))?;
    let scenario = loaded.scenario;
    let least = QUICK_DURATION_MIN.min(scenario.duration);
    let duration = Time(scenario.duration.0 / QUICK_PART).max(least);
    let drain = scenario.drain.min(QUICK_DRAIN_MAX);
    let key = |key: &str, time: Time| format!("{key}=\"{} ns\"", time.0 / 1_000);
    Ok(vec![key("duration", duration), key("drain", drain)])
}

/// Returns the number of tables, and the names of the tables that differ or that only one folder
/// has.
fn differences(before: &Path, now: &Path) -> Result<(usize, Vec<String>), String> {
    let mut tables = [tables(before)?, tables(now)?].concat();
    tables.sort_unstable();
    tables.dedup();
    let differs = |table: &&PathBuf| match (std::fs::read(before.join(table)), std::fs::read(now.join(table)))
    {
        (Ok(before), Ok(now)) => before != now,
        _ => true,
    };
    let found = tables.iter().filter(differs).map(|table| table.display().to_string()).collect();
    Ok((tables.len(), found))
}

/// Returns the paths of the result tables below a folder, relative to the folder.
fn tables(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let path = folder.join(&inner);
        let entries = std::fs::read_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", path.display()))?;
            let name = inner.join(entry.file_name());
            if entry.path().is_dir() {
                open.push(name);
            } else if name.extension().is_some_and(|extension| extension == "parquet") {
                found.push(name);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_differs_or_is_missing_is_found_and_other_files_do_not_count() {
        let folders = [tempfile::tempdir(), tempfile::tempdir()].map(|folder| folder.expect("a folder"));
        let [before, now] = folders.each_ref().map(tempfile::TempDir::path);
        let write = |folder: &Path, name: &str, content: &str| {
            std::fs::create_dir_all(folder.join("seed-1")).expect("writable");
            std::fs::write(folder.join(name), content).expect("writable");
        };
        for (folder, time) in [(before, "1 s"), (now, "2 s")] {
            write(folder, "timing.json", time);
            write(folder, "seed-1/flows.parquet", "flows");
        }
        assert_eq!(differences(before, now), Ok((1, Vec::new())));
        write(now, "seed-1/flows.parquet", "other flows");
        assert_eq!(differences(before, now), Ok((1, vec!["seed-1/flows.parquet".to_owned()])));
        write(before, "seed-1/flows.parquet", "other flows");
        write(before, "links.parquet", "links");
        assert_eq!(differences(before, now), Ok((2, vec!["links.parquet".to_owned()])));
    }

    #[test]
    fn scenarios_are_known_by_name_and_a_quick_run_is_shorter() {
        assert_eq!(names(&["star-incast"]), Ok(vec!["star-incast".to_owned()]));
        assert!(names(&[]).is_ok_and(|all| all.len() > 40));
        assert!(names(&["no-such"]).is_err_and(|why| why.contains("no-such")));
        let keys = shortened("abm-reduced").expect("it loads");
        assert_eq!(keys, ["duration=\"20000000 ns\"", "drain=\"20000000 ns\""]);
    }
}
