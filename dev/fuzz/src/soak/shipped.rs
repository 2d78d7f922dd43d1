//! Checks every shipped scenario with a shorter duration: with verified identities, from its
//! resolved text, and on several threads.

use crate::findings::{Finding, Report};
use crate::judge::{Budget, Outcome, judge_loaded};
use bufferlab_scenario::{Loaded, load};
use bufferlab_units::RandomStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Limits of time and packet-hops for the run of a shortened scenario.
const BUDGET: Budget = Budget { time: Duration::from_secs(10), hops: 200_000 };
/// Divisors of a scenario's duration. The soak test tries the divisors until the run fits into its
/// limits.
const PARTS: [u64; 3] = [50, 500, 5_000];

/// Checks the scenarios of a folder until the time runs out.
/// The seed selects the first scenario, which is always checked.
pub(super) fn run(folder: &Path, seed: u64, time: Duration) -> io::Result<Report> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let first = RandomStream::new(seed, "shipped", 0).below(files.len().max(1) as u64) as usize;
    files.rotate_left(first);
    let begin = Instant::now();
    let mut report = Report::default();
    for path in files {
        if begin.elapsed() > time {
            break;
        }
        let (word, wrong) = one(&path, seed);
        *report.outcomes.entry(word.to_owned()).or_default() += 1;
        if let Some((kind, what)) = wrong {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            report.findings.push(Finding {
                kind,
                what: format!("{name}: {what}"),
                replay: format!("cargo xtask same-threads --quick {name}"),
            });
        }
    }
    Ok(report)
}

type Wrong = Option<(String, String)>;

fn one(path: &Path, seed: u64) -> (&'static str, Wrong) {
    let mut word = "stopped";
    for part in PARTS {
        let loaded = match shortened(path, part, seed) {
            Ok(loaded) => loaded,
            Err(wrong) => return ("wrong", Some(("refused".to_owned(), wrong))),
        };
        match judge_loaded(&loaded, BUDGET) {
            Err(fault) => return ("wrong", Some((fault.word().to_owned(), fault.to_string()))),
            Ok((Outcome::Ran, true)) => return ("ran on 1, 2 and 3 threads", None),
            Ok((Outcome::Ran, false)) => return ("ran", None),
            Ok((outcome, _)) => word = outcome.word(),
        }
    }
    (word, None)
}

/// Loads a scenario with a shorter duration. A scenario with a flow list keeps its duration.
fn shortened(path: &Path, part: u64, seed: u64) -> Result<Loaded, String> {
    let whole = load(path, &[]).map_err(|error| error.in_lines())?;
    let duration = format!("{} ns", (whole.scenario.duration.as_ns() / part).max(2_000));
    let set = [("duration", duration), ("drain", "2 ms".to_owned()), ("seed", seed.to_string())];
    let set = set.map(|(key, value)| (key.to_owned(), value));
    Ok(load(path, &set).unwrap_or(whole))
}
