//! The examples at the end of each command's help. An example has a comment with its purpose, then
//! the command. The files in the examples exist in a checkout, except for names such as
//! `switch.toml` and `config_db.json`.

use bufferlab_params::ParamValue;
use bufferlab_theory::calculators::CalculatorInfo;

/// Examples and exit codes in the help of the program.
pub(crate) const PROGRAM: &str = "\
Examples:
  # Compare DT, CS and ABM on incast queries beside full ports
  bufferlab compare scenarios/first.toml
  # Explain the first loss of a run
  bufferlab explain scenarios/first.toml
  # List the buffer policies
  bufferlab policy list

Exit codes: 0 done, 1 the command failed, 2 the command line is wrong.";

pub(crate) const RUN: &str = "\
Examples:
  # Run a scenario; the results go to results/first
  bufferlab run scenarios/first.toml
  # Run ABM with a larger buffer and three seeds
  bufferlab run scenarios/first.toml --variant 'abm + buffer=2 MB' --seeds 3
  # Record every packet for `bufferlab view`
  bufferlab run scenarios/first.toml --packets --out results/packets";

pub(crate) const COMPARE: &str = "\
Examples:
  # Compare DT, CS and ABM
  bufferlab compare scenarios/first.toml
  # Compare two values of alpha with ten seeds
  bufferlab compare scenarios/first.toml --variants dt 'dt(alpha=0.5)' --seeds 10
  # Add seeds until the intervals are narrow
  bufferlab compare scenarios/first.toml --policies dt,abm --until-interval 5%";

pub(crate) const SWEEP: &str = "\
Examples:
  # Run two policies at three sizes of the buffer
  bufferlab sweep scenarios/first.toml --vary 'switch.buffer=1 MB,2 MB,4 MB' --policies dt,abm
  # Run a grid of load and buffer
  bufferlab sweep scenarios/abm-reduced.toml --vary workload.0.load=0.2,0.4 \\
      --vary 'switch.buffer=500 KB,1 MB'";

pub(crate) const REPRODUCE: &str = "\
Examples:
  # List the experiments and their estimated times
  bufferlab reproduce --list
  # Reproduce a figure, or all figures of a paper
  bufferlab reproduce abm/fig6
  bufferlab reproduce tdt --jobs 2
  # Run only what judges a statement, or compute it from the recorded values
  bufferlab reproduce REV-F7a-1 ABM-SET-1
  bufferlab reproduce REV-F7a-1 --values recorded
  # Judge with three sets of seeds
  bufferlab reproduce TDT-F14a-1 --seed-sets 3
  # Write the data package, and check it
  bufferlab reproduce --package data
  # Find the reading that decides a claim
  bufferlab reproduce --why REV-F7a-1";

pub(crate) const NEW: &str = "\
Examples:
  # Write fabric.toml, a scenario
  bufferlab new scenario fabric
  # Write the folder buffers, a study
  bufferlab new study buffers
  # Write the folder fair-share, the crate of a policy
  bufferlab new policy fair-share";

pub(crate) const NEW_SCENARIO: &str = "\
Examples:
  # Write mine.toml, with one switch
  bufferlab new scenario mine
  # Write fabric.toml, with two racks and two spines
  bufferlab new scenario fabric --topology leaf_spine
  # Write it into another folder
  bufferlab new scenario networks/mine";

pub(crate) const NEW_STUDY: &str = "\
Examples:
  # Write the folder buffers
  bufferlab new study buffers
  # Write it into another folder
  bufferlab new study studies/buffers";

pub(crate) const NEW_POLICY: &str = "\
Examples:
  # Write the folder fair-share
  bufferlab new policy fair-share
  # Write it outside of the checkout
  bufferlab new policy ~/fair-share
  # Name the checkout that the crate builds on
  bufferlab new policy fair-share --checkout ~/bufferlab";

pub(crate) const CHECK: &str = "\
Examples:
  # Print what would run
  bufferlab check scenarios/first.toml
  # Print every key, including defaults
  bufferlab check scenarios/first.toml --resolved
  # Check a change before a run
  bufferlab check scenarios/first.toml --set switch.policy=abm";

pub(crate) const IMPORT: &str = "\
Examples:
  # Write matrix.toml and matrix-flows.csv from a connection matrix of htsim
  bufferlab import matrix.cm
  # Join a topology and a flow list of HPCC
  bufferlab import topology.txt flow.txt --out hpcc --name incast
  # Import and run in one command
  bufferlab import topology.txt flow.txt config.txt --run
  # Print what a workload of SimAI has, with collectives on trees
  bufferlab import workload.txt --algorithm double_binary_tree --dry-run";

pub(crate) const REPORT: &str = "\
Examples:
  # Write the report of a comparison again
  bufferlab report results/first-compare
  # Write charts for a paper, too
  bufferlab report results/first-compare --figures figures --style paper
  # Print a table for a paper
  bufferlab report results/first-compare --table latex
  # Print the results without the warm-up
  bufferlab report results/first --steady
  # Write fct.txt and pfc.txt for scripts that read HPCC's results
  bufferlab report results/first --hpcc";

pub(crate) const VERIFY: &str = "\
Examples:
  # Check a comparison
  bufferlab verify results/first-compare
  # Check all results, for a script
  bufferlab verify results --json";

pub(crate) const EXPLAIN: &str = "\
Examples:
  # Explain the first loss of a scenario
  bufferlab explain scenarios/first.toml
  # Explain three losses at a port after 8 ms
  bufferlab explain scenarios/hardware.toml --after '8 ms' --port 0 --count 3
  # Explain why a sender was paused
  bufferlab explain scenarios/lossless.toml --event pause
  # Explain which transfers a training step waits for
  bufferlab explain scenarios/training-step.toml --critical-path";

pub(crate) const VIEW: &str = "\
Examples:
  # Show a run in the browser
  bufferlab view results/first
  # Write the page into a file
  bufferlab view results/first --out view.html
  # Write the events for Perfetto
  bufferlab view results/first --trace perfetto --out trace.json";

pub(crate) const PLAY: &str = "\
Examples:
  # Serve the page at any free port
  bufferlab play
  # Serve the page at port 8080
  bufferlab play --listen 8080";

pub(crate) const POLICY: &str = "\
Examples:
  # List all policies
  bufferlab policy list
  # Describe ABM
  bufferlab policy show abm";

pub(crate) const POLICY_LIST: &str = "\
Examples:
  # List all policies
  bufferlab policy list
  # Print them with their parameters, for a script
  bufferlab policy list --json";

pub(crate) const POLICY_SHOW: &str = "\
Examples:
  # Describe Dynamic Thresholds
  bufferlab policy show dt
  # Print the parameters of ABM, for a script
  bufferlab policy show abm --json";

pub(crate) const SCHEMA: &str = "\
Examples:
  # Write the schema of scenario files for an editor
  bufferlab schema > scenario.schema.json
  # Print the schema of the output of `compare --json`
  bufferlab schema comparison";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  # Install completions for bash
  bufferlab completions bash > ~/.local/share/bash-completion/completions/bufferlab
  # Install completions for fish
  bufferlab completions fish > ~/.config/fish/completions/bufferlab.fish";

pub(crate) const MAN: &str = "\
Examples:
  # Install the pages; `man bufferlab-run` shows one
  bufferlab man ~/.local/share/man/man1
  # Write the pages into a folder; `man -l man/bufferlab.1` shows one
  bufferlab man man";

pub(crate) const BENCH: &str = "\
Examples:
  # Measure one thread, five times
  bufferlab bench scenarios/first.toml
  # Measure two threads, three times
  bufferlab bench scenarios/fat-tree.toml --threads 2 --runs 3";

pub(crate) const THEORY: &str = "\
Examples:
  # List the calculators
  bufferlab theory list
  # Calculate alphas that absorb a burst
  bufferlab theory alpha --burst-rate '50 Gb/s' --burst '1 MB'
  # Calculate the buffer for an incast
  bufferlab theory burst --burst '4 MB' --fan-in 32
  # Replay the largest bursts packet by packet
  bufferlab theory burst-tolerance --verify";

pub(crate) const THEORY_LIST: &str = "\
Examples:
  # List all calculators
  bufferlab theory list
  # Find the calculators of a paper
  bufferlab theory list | grep ABM";

pub(crate) const THEORY_FIGURE: &str = "\
Examples:
  # List the figures
  bufferlab theory figure
  # Print the points of a figure
  bufferlab theory figure plasticine-3 > plasticine-3.csv
  # Write a page with the charts
  bufferlab theory figure abm-4 --out abm-4.html";

pub(crate) const SONIC: &str = "\
Examples:
  # Find mistakes in a configuration
  bufferlab sonic lint testdata/sonic/switch --chip trident3
  # Explain the limits of every traffic class
  bufferlab sonic explain testdata/sonic/switch
  # Simulate other settings under incast
  bufferlab sonic what-if testdata/sonic/switch --chip trident3 --traffic incast";

pub(crate) const SONIC_EXPLAIN: &str = "\
Examples:
  # Explain a folder of files
  bufferlab sonic explain testdata/sonic/switch
  # Explain single files of a named chip
  bufferlab sonic explain config_db.json pg_profile_lookup.ini --chip trident3
  # Explain a running switch
  bufferlab sonic explain --redis /var/run/redis/redis.sock";

pub(crate) const SONIC_LINT: &str = "\
Examples:
  # Check a folder of files
  bufferlab sonic lint testdata/sonic/switch --chip trident3
  # Switch a rule off, with the reason
  bufferlab sonic lint config_db.json --allow 'SB008=hosts mark by delay'
  # Write findings for a code host
  bufferlab sonic lint config_db.json --format sarif > findings.sarif";

pub(crate) const SONIC_REPORT: &str = "\
Examples:
  # Write a memo of one page for a change request
  bufferlab sonic report testdata/sonic/switch --chip trident3 --out memo.html
  # Print it to stdout
  bufferlab sonic report config_db.json pg_profile_lookup.ini";

pub(crate) const SONIC_RULES: &str = "\
Examples:
  # List all rules
  bufferlab sonic rules
  # Show one rule with its reason and source
  bufferlab sonic rules | grep -A 2 SB008";

pub(crate) const SONIC_DIFF: &str = "\
Examples:
  # Compare two folders
  bufferlab sonic diff before/ after/
  # Compare a running switch with a planned configuration
  bufferlab sonic diff --redis /var/run/redis/redis.sock after/
  # Compare two files that share another one
  bufferlab sonic diff old.json new.json --with pg_profile_lookup.ini";

pub(crate) const SONIC_PREDICT: &str = "\
Examples:
  # Predict with packets of 64 B
  bufferlab sonic predict testdata/sonic/switch --chip trident3
  # Predict with full packets
  bufferlab sonic predict testdata/sonic/switch --chip trident3 --packet 1500";

pub(crate) const SONIC_WHAT_IF: &str = "\
Examples:
  # Simulate other settings under incast
  bufferlab sonic what-if testdata/sonic/switch --chip trident3 --traffic incast
  # Compare two configurations
  bufferlab sonic what-if before/ --against after/ --with pg_profile_lookup.ini
  # Write the scenario only
  bufferlab sonic what-if config_db.json --only-write --out mine";

pub(crate) const SONIC_VECTORS: &str = "\
Examples:
  # Print the test vectors
  bufferlab sonic vectors testdata/sonic/switch --chip trident3
  # Write qos_params for sonic-mgmt
  bufferlab sonic vectors config_db.json --format yaml > qos_params.yaml
  # Say which expectations of testers the chip meets, and why it does not meet the others
  bufferlab sonic vectors config_db.json --expect qos_params.td3.yaml
  # Write scenarios that qualify every profile
  bufferlab sonic vectors config_db.json --scenarios qualification";

pub(crate) const SONIC_PROBE: &str = "\
Examples:
  # Answer the requests of a test
  bufferlab sonic probe testdata/sonic/switch --chip trident3 < requests.jsonl
  # Answer for packets of 1500 B
  bufferlab sonic probe testdata/sonic/switch --chip trident3 --packet 1500 < requests.jsonl";

pub(crate) const SONIC_CALIBRATE: &str = "\
Examples:
  # Estimate from one dump of COUNTERS_DB
  bufferlab sonic calibrate config_db.json --counters counters.json
  # Narrow the bounds with a second dump
  bufferlab sonic calibrate config_db.json --counters 1.json --counters 2.json";

pub(crate) const SONIC_TUNE: &str = "\
Examples:
  # Print what would change (a dry run)
  bufferlab sonic tune --redis /var/run/redis/redis.sock
  # Change dynamic_th within narrow bounds
  bufferlab sonic tune --redis 127.0.0.1:6379 --apply --up 1 --down 2";

pub(crate) const SONIC_HEADROOM: &str = "\
Examples:
  # Check the table of the switch that its file is named after
  bufferlab sonic headroom pg_profile_lookup/SN5640.ini
  # Check a table of a named chip
  bufferlab sonic headroom pg_profile_lookup.ini --chip spectrum4";

pub(crate) const SWITCH: &str = "\
Examples:
  # Forward until Ctrl-C, and show the queues
  bufferlab switch switch.toml --live
  # Record ten seconds, then compare them with the simulator
  bufferlab switch switch.toml --record results/record --for '10 s'
  bufferlab switch --verify results/record";

pub(crate) const TESTBED: &str = "\
Examples:
  # Check this machine
  bufferlab testbed check
  # Run the demonstration
  bufferlab testbed run demo
  # Open a shell among real hosts
  bufferlab testbed up scenarios/testbed-losspass.toml";

pub(crate) const TESTBED_CHECK: &str = "\
Examples:
  # Check this machine
  bufferlab testbed check
  # Print the findings for a script
  bufferlab testbed check --json";

pub(crate) const TESTBED_RUN: &str = "\
Examples:
  # Run the demonstration
  bufferlab testbed run demo
  # Compare two policies with iperf3 and memcached
  bufferlab testbed run scenarios/testbed-losspass.toml --policies es,losspass \\
      --applications programs --seeds 5
  # Show the queues, and capture all packets
  bufferlab testbed run demo --live --capture results/capture";

pub(crate) const TESTBED_UP: &str = "\
Examples:
  # Open a shell among the hosts of the demonstration
  bufferlab testbed up demo
  # Run a script there, and show the queues
  bufferlab testbed up demo --live -- sh traffic.sh";

pub(crate) const TESTBED_REPRODUCE: &str = "\
Examples:
  # List the experiments and their durations
  bufferlab testbed reproduce --list
  # Repeat one experiment
  bufferlab testbed reproduce losspass/fig1";

pub(crate) const TESTBED_SHELL: &str = "\
Examples:
  # Open a shell on a host
  bufferlab testbed shell h1
  # Send to another host
  bufferlab testbed shell h1 -- iperf3 -c 10.77.0.1";

pub(crate) const TESTBED_DOWN: &str = "\
Examples:
  # End every running testbed
  bufferlab testbed down";

/// Formats the examples of a calculator: the example calls that the calculator declares, or else
/// one call with the required parameters. A call with `--json` follows.
pub(crate) fn of_calculator(info: &CalculatorInfo) -> String {
    let call = |given: &[(&str, &str)]| {
        let options = given.iter().map(|(name, value)| {
            let blank = value.contains(|c: char| !c.is_alphanumeric() && !"-_./=,".contains(c));
            let value = if blank { format!("'{value}'") } else { (*value).to_owned() };
            format!(" --{} {value}", info.option(name))
        });
        format!("  bufferlab theory {}{}", info.name, options.collect::<String>())
    };
    let required: Vec<_> = info
        .params
        .iter()
        .filter_map(|param| match param.default {
            ParamValue::Required(sample) => Some((param.name, sample)),
            _ => None,
        })
        .collect();
    let shown: Vec<String> = match info.examples {
        [] => vec![call(&required)],
        examples => examples.iter().map(|given| call(given)).collect(),
    };
    let first = &shown[0];
    format!(
        "Examples:\n  # Print the derivation\n{}\n  # Print it for a script\n{first} --json",
        shown.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use crate::args::Args;
    use clap::{Command, CommandFactory};
    use std::path::Path;

    /// Collects `command` and all its subcommands, each with the words that a user types for it.
    fn walk(command: &Command, words: &str, all: &mut Vec<(String, Command)>) {
        all.push((words.to_owned(), command.clone()));
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            walk(one, &format!("{words} {}", one.get_name()), all);
        }
    }

    fn commands() -> Vec<(String, Command)> {
        let mut program = Args::command();
        program.build();
        let mut all = Vec::new();
        walk(&program, "bufferlab", &mut all);
        all
    }

    fn examples(command: &Command) -> String {
        command.get_after_help().map(ToString::to_string).unwrap_or_default()
    }

    /// Commands in the examples of `help`. Lines that end in a backslash are joined with
    /// the next line.
    fn lines(help: &str) -> Vec<String> {
        let joined = help.replace("\\\n", " ");
        joined
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("bufferlab "))
            .map(str::to_owned)
            .collect()
    }

    /// Splits a command line into words like a shell, up to a redirection or a pipe.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote, mut is_open) = (vec![String::new()], None, false);
        for c in line.chars() {
            let word = words.last_mut().expect("there is a word");
            match (c, quote) {
                ('\'' | '"', None) => (quote, is_open) = (Some(c), true),
                (c, Some(end)) if c == end => quote = None,
                ('>' | '<' | '|', None) => break,
                (' ', None) if is_open || !word.is_empty() => {
                    words.push(String::new());
                    is_open = false;
                }
                (' ', None) => {}
                (c, _) => word.push(c),
            }
        }
        if words.last().is_some_and(String::is_empty) && !is_open {
            words.pop();
        }
        words
    }

    /// Returns descriptions of the mistakes in the examples of a command.
    fn mistakes(name: &str, help: &str) -> Vec<String> {
        let mut mistakes = Vec::new();
        let lines = lines(help);
        if lines.is_empty() {
            mistakes.push(format!("{name}: no example"));
        }
        for line in lines {
            if !format!("{line} ").starts_with(&format!("{name} ")) {
                mistakes.push(format!("{name}: the example is of another command: {line}"));
            }
            let words = words(&line);
            if let Err(error) = Args::command().try_get_matches_from(&words) {
                mistakes.push(format!("{line}\n{error}"));
            }
            let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            let shipped = ["scenarios/", "testdata/", "experiments/"];
            for word in words.iter().filter(|word| shipped.iter().any(|folder| word.starts_with(folder))) {
                if !checkout.join(word).exists() {
                    mistakes.push(format!("{line}: no file {word}"));
                }
            }
        }
        mistakes
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        let commands = commands();
        assert!(commands.iter().any(|(name, _)| name == "bufferlab sonic what-if"), "the walk finds leaves");
        let mistakes: Vec<_> =
            commands.iter().flat_map(|(name, command)| mistakes(name, &examples(command))).collect();
        assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    }

    #[test]
    fn a_wrong_example_is_found() {
        assert_eq!(mistakes("bufferlab run", "Examples:").len(), 1);
        assert_eq!(mistakes("bufferlab run", "  bufferlab run scenarios/first.toml").len(), 0);
        let missing = format!("  bufferlab run scenarios/{}.toml", "missing");
        assert_eq!(mistakes("bufferlab run", &missing).len(), 1);
        assert_eq!(mistakes("bufferlab run", "  bufferlab check scenarios/first.toml").len(), 1);
        assert_eq!(mistakes("bufferlab run", "  bufferlab run scenarios/first.toml --no-such").len(), 1);
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(words("a  'b c' --d=\"e f\" '' > g"), ["a", "b c", "--d=e f", ""]);
        assert_eq!(words("a | b"), ["a"]);
    }
}
