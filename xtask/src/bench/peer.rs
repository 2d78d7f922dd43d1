//! Compares the speed of this program with another simulator, on flow lists that both read.
//!
//! Both programs simulate each list in turn on the same machine, so a change of the machine's speed
//! affects both. The programs swap places with every repetition, because the machine may be
//! faster or slower for the second run of a pair. The CPU times are of whole processes, with their
//! start and their reading of files.

use crate::program::{self, Build};
use crate::root;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;

/// A list of flows, and the network that carries these flows.
struct List {
    /// Name of the list, which replaces `{list}` in a command.
    name: &'static str,
    /// Path of the scenario with the network; its list of flows is beside it.
    scenario: &'static str,
    /// Path of the CSV file with the flows, which replaces `{flows}` in a command.
    flows: &'static str,
    /// The equal network in another simulator.
    twin: &'static str,
}

const LISTS: [List; 3] = [
    List {
        name: "permutation",
        scenario: "scenarios/permutation.toml",
        flows: "scenarios/permutation-flows.csv",
        twin: "8 leaves of 16 hosts, 16 spines, one cable of 10 Gb/s and 1 us for each pair; packets of \
               1,400 B of payload and 54 B of headers, DCTCP; ports share 9.6 KB per Gb/s by dynamic \
               thresholds with alpha 1, and mark packets from 30 KB of their queue on",
    },
    List {
        name: "web-search",
        scenario: "xtask/bench/web-search.toml",
        flows: "xtask/bench/web-search-flows.csv",
        twin: "the network of the permutation; web search at 60 % of the hosts' rate",
    },
    List {
        name: "roce",
        scenario: "xtask/bench/roce.toml",
        flows: "xtask/bench/roce-flows.csv",
        twin: "16 leaves of 8 hosts, 8 spines, one cable of 100 Gb/s and 1 us for each pair; packets of \
               1,440 B of payload and 60 B of headers; priority flow control, no packet is lost",
    },
];

/// Returns the rows of the benchmark's table of lists.
pub(super) fn rows() -> String {
    let row = |list: &List| {
        let name = list.flows.rsplit('/').next().unwrap_or(list.flows);
        format!("| `{}` | [`{name}`](../../{}) | {} |\n", list.name, list.flows, list.twin)
    };
    LISTS.iter().map(row).collect()
}

/// CPU times of this program and of its peer for one list.
#[derive(Debug)]
struct Times {
    /// CPU seconds of this program, one value per repetition.
    ours: Vec<f64>,
    /// CPU seconds of the peer, in the order of `ours`: both ran one after the other.
    theirs: Vec<f64>,
}

impl Times {
    /// Formats the times as a row of the printed table.
    fn row(&self, list: &str) -> String {
        let ratios = self.theirs.iter().zip(&self.ours).map(|(theirs, ours)| theirs / ours).collect();
        let [ours, theirs, ratio] = [self.ours.clone(), self.theirs.clone(), ratios].map(spread);
        format!("| {list} | {ours} | {theirs} | {ratio} |")
    }
}

/// Formats values as `median (minimum to maximum)`.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let middle = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
    format!("{middle:.2} ({:.2} to {:.2})", values[0], values[values.len() - 1])
}

/// Simulates each list with this program and with the peer in turn, `runs` times, and prints the
/// CPU times and their ratios. `command` is a shell command with the placeholder `{list}` or
/// `{flows}`.
///
/// # Errors
/// If the command has no placeholder, or a program fails.
pub fn run(command: &str, runs: NonZero<u32>) -> Result<(), String> {
    if !command.contains("{list}") && !command.contains("{flows}") {
        let names = LISTS.map(|list| list.name).join(", ");
        return Err(format!(
            "--peer \"{command}\": the command does not name a list; write {{list}} for its name ({names}), \
             or {{flows}} for the path of its flows"
        ));
    }
    let program = program::program(Build::Release)?;
    println!("CPU seconds of whole programs, in turn, {runs} times: median (minimum to maximum)\n");
    println!("| list | bufferlab | peer | peer over bufferlab |\n|---|--:|--:|--:|");
    for list in &LISTS {
        let ours = format!("'{}' bench {} --runs 1 --threads 1", program.display(), list.scenario);
        let theirs = of_list(command, list);
        let mut times = Times { ours: Vec::new(), theirs: Vec::new() };
        for run in 0..runs.get() {
            let (mut first, mut second) = ((&ours, &mut times.ours), (&theirs, &mut times.theirs));
            if run % 2 == 1 {
                std::mem::swap(&mut first, &mut second);
            }
            for (command, seconds) in [first, second] {
                seconds.push(cpu_seconds(command)?);
            }
        }
        println!("{}", times.row(list.name));
    }
    Ok(())
}

/// Replaces the placeholders of a peer's command.
fn of_list(command: &str, list: &List) -> String {
    command.replace("{list}", list.name).replace("{flows}", &root().join(list.flows).display().to_string())
}

/// Executes a shell command in the root of the repository, and returns its CPU seconds and those of
/// its children.
///
/// # Errors
/// If the command fails; the message has the last lines of its output.
fn cpu_seconds(command: &str) -> Result<f64, String> {
    cpu_seconds_in(&root(), command)
}

fn cpu_seconds_in(folder: &Path, command: &str) -> Result<f64, String> {
    // The shell's own builtin `times` prints the times of its children in its second line.
    let script = "( eval \"$1\" ) >&2 || exit $?; times";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh", command]).env("LC_ALL", "C").current_dir(folder);
    let output = shell.output().map_err(|error| format!("sh: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n");
        return Err(format!("the command ended with {}: {command}\n{last}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let of_children = text.lines().nth(1).map(|line| line.split_whitespace().map(minutes_and_seconds));
    of_children
        .and_then(|times| times.sum::<Option<f64>>())
        .ok_or_else(|| format!("the shell's times cannot be read: \"{text}\""))
}

/// Parses a time such as `1m2.5s` as seconds.
fn minutes_and_seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_medians_and_the_ratios_of_pairs() {
        let times = Times { ours: vec![1.0, 2.0, 4.0], theirs: vec![3.0, 4.0, 6.0] };
        assert_eq!(
            times.row("roce"),
            "| roce | 2.00 (1.00 to 4.00) | 4.00 (3.00 to 6.00) | 2.00 (1.50 to 3.00) |"
        );
    }

    #[test]
    fn the_cpu_time_of_a_command_is_of_the_command_and_its_children() {
        let folder = tempfile::tempdir().expect("a folder");
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let seconds = cpu_seconds_in(folder.path(), busy).expect("it ends well");
        let nested = cpu_seconds_in(folder.path(), &format!("sh -c '{busy}'")).expect("it ends well");
        assert!(seconds > 0.0 && nested > 0.0, "{seconds} {nested}");
        let failed = cpu_seconds_in(folder.path(), "echo no such network; exit 3").expect_err("it fails");
        assert!(failed.contains("3") && failed.contains("no such network"), "{failed}");
        assert_eq!(minutes_and_seconds("1m2.5s"), Some(62.5));
        assert_eq!(minutes_and_seconds("2.5"), None);
    }

    #[test]
    fn a_command_names_its_list() {
        let failed = run("./peer", NonZero::<u32>::MIN).expect_err("it names no list");
        assert!(failed.contains("{flows}") && failed.contains("web-search"), "{failed}");
        assert!(of_list("./peer {list} <{flows}", &LISTS[2]).starts_with("./peer roce </"));
    }
}
