//! What can be typed.

use crate::sonic_args::SonicCommand;
use crate::theory_args::TheoryCommand;
use bufferlab_core::{PolicyInfo, find_policy, policies};
use bufferlab_lab::{PolicyChoice, Vary, listed_values};
use bufferlab_params::Choice;
use bufferlab_report::{FigureStyle, TableFormat};
use bufferlab_scenario::{Applications, Mistake, TieOrder, Variant, between_commas};
use bufferlab_sim::ExplainedEvent;
use bufferlab_units::Time;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A laboratory for the shared packet buffer of datacenter switches.
#[derive(Debug, Parser)]
#[command(name = "bufferlab", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Start with `bufferlab compare scenarios/abm-reduced.toml --policies dt,cs,abm`.\n\
    Exit codes: 0 done, 1 the command failed, 2 the command line is wrong.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say only what is wrong or doubtful: no progress, and nothing about where results are
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Colours of what is said on stderr [default: auto, which heeds NO_COLOR and the terminal]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        value_enum
    )]
    pub(crate) color: Colour,
    /// Refuse runs that take more memory than this before their first packet [default: what the
    /// system has left]
    #[arg(long, global = true, value_name = "SIZE", value_parser = bufferlab_scenario::parse_size)]
    pub(crate) memory_limit: Option<u64>,
}

/// A choice about colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one experiment: tables, manifest and report in a folder, a summary on stdout
    Run(RunArgs),
    /// Compare buffer policies on the same traffic, paired by seed: table on stdout, report in a
    /// folder; what is there already is not run again
    Compare(CompareArgs),
    /// Run a grid over keys of a scenario, for several policies and seeds; what is there already is
    /// not run again
    Sweep(SweepArgs),
    /// Repeat figures and tables of the five papers and judge their statements: `abm/fig6`, `tdt`,
    /// `all`
    Reproduce(ReproduceArgs),
    /// Check a scenario and print what would run
    Check(CheckArgs),
    /// Make report.html for a folder of results
    Report(ReportArgs),
    /// Compare the files of results with the checksums in their manifests, and folders of several
    /// runs with what was planned
    Verify(VerifyArgs),
    /// Say why a packet was dropped, marked or evicted: which limit bound, who held the buffer, and
    /// what every other policy would have done. Takes a scenario or the folder of a run
    Explain(ExplainArgs),
    /// Show what a switch's buffer held over time: who held it, what was lost and why. Serves a
    /// page on this machine, or writes it into one file
    View(ViewArgs),
    /// Try a buffer: ports, queues, alphas, a burst and a policy as controls of a page on this
    /// machine
    Play(PlayArgs),
    /// What the buffer policies are
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Print a JSON Schema: of scenario files, for editors, or of what a command prints with
    /// `--json`
    Schema {
        /// Of what
        #[arg(value_enum, default_value = "scenario")]
        what: SchemaOf,
    },
    /// Print a script that completes commands, options and their values in a shell
    Completions {
        /// The shell; for example `bufferlab completions bash >
        /// ~/.local/share/bash-completion/completions/bufferlab`
        shell: clap_complete::Shell,
    },
    /// Write a manual page for every command
    Man {
        /// The folder: `man -l FOLDER/bufferlab.1` shows the first of them
        folder: PathBuf,
    },
    /// Measure the engine's speed on a scenario: packet-hops per CPU second, metrics on, nothing
    /// written
    Bench(BenchArgs),
    /// What the papers prove, for your switch: calculators that show their derivation
    #[command(subcommand)]
    Theory(TheoryCommand),
    /// SONiC's buffer and QoS configurations: explain, check, compare, and predict what a chip
    /// makes of them
    #[command(subcommand)]
    Sonic(SonicCommand),
    /// Forward real packets between interfaces with a scenario's policies, or compare what such a
    /// switch did with the simulator
    Switch(SwitchArgs),
    /// Run scenarios with real hosts on this machine: namespaces, the kernel's TCP, and the switch
    /// of real packets
    #[command(subcommand)]
    Testbed(TestbedCommand),
}

/// About the testbed.
#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Say what this machine lacks, and how to install it
    Check {
        /// Print the findings as JSON (`bufferlab schema testbed-check`)
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario with real hosts and in the simulator, and write the results of both into one
    /// report; `demo` is an incast over DT and over LossPass
    Run(TestbedRunArgs),
    /// Build hosts, links and switch of a scenario and open a shell among them; all of it goes when
    /// the shell ends
    Up(TestbedUpArgs),
    /// Repeat the papers' experiments with real packets, beside the same networks in the simulator
    Reproduce(TestbedReproduceArgs),
    /// Open a shell at a host of a testbed that stands, or run a command there
    Shell(TestbedShellArgs),
    /// End every testbed that runs
    Down,
}

/// A host of a testbed that stands.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedShellArgs {
    /// The host (h0), or `switch`
    pub(crate) host: String,
    /// Which testbed, by its process, where several stand
    #[arg(long, value_name = "PROCESS")]
    pub(crate) testbed: Option<i32>,
    /// What runs in the place of a shell
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

/// What is seen of a switch of real packets while it runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Show queues, limits, rates, losses and lateness in this terminal while it runs
    #[arg(long)]
    pub(crate) live: bool,
    /// Write what passes every port into this folder, a file per port for Wireshark (pcapng),
    /// losses and marks as comments
    #[arg(long, value_name = "FOLDER")]
    pub(crate) capture: Option<PathBuf>,
    /// Bytes of a frame that a capture keeps; 0: all
    #[arg(long, value_name = "SIZE", value_parser = snapshot_length, default_value_t = bufferlab_switch::SNAPSHOT_BYTES, requires = "capture")]
    pub(crate) snapshot_length: u32,
}

/// A scenario with real hosts.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedRunArgs {
    /// The scenario file, with one switch, or `demo`
    pub(crate) scenario: PathBuf,
    /// Policies to run one after the other, the baseline first; by default the scenario's own,
    /// which keeps its parameters
    #[arg(long, value_name = "NAMES", num_args = 1.., value_delimiter = ',', ignore_case = true, value_parser = policy_parser())]
    pub(crate) policies: Vec<&'static PolicyInfo>,
    /// Repetitions, each with a seed of its own from 1 on; by default one with the scenario's seed
    #[arg(long, value_name = "COUNT")]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Change a key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(crate) overrides: Vec<(String, String)>,
    /// Who carries the workloads, in the place of `host.applications`: `own`, or `programs` (iperf3
    /// and memcached)
    #[arg(long, value_name = "WHO", value_parser = Applications::WORDS.iter().map(|word| word.name).collect::<Vec<_>>())]
    pub(crate) applications: Option<String>,
    /// Folder of the results; by default results/ and the scenario's name
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Remove runs of another scenario from the folder first; without this they stay, and nothing
    /// runs
    #[arg(long)]
    pub(crate) replace: bool,
    /// Do not run the same in the simulator
    #[arg(long)]
    pub(crate) only_real: bool,
    /// Print the results as JSON (`bufferlab schema comparison`)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
}

/// The papers' experiments with real packets.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedReproduceArgs {
    /// Figures (losspass/fig1), papers (tdt), or all
    #[arg(required_unless_present = "list")]
    pub(crate) names: Vec<String>,
    /// Show what there is, and how long it takes
    #[arg(long)]
    pub(crate) list: bool,
    /// A folder of own experiments, NAME/FIGURE.toml, in the place of the papers'
    #[arg(long, value_name = "FOLDER")]
    pub(crate) registry: Option<PathBuf>,
    /// Repetitions instead of the experiments' own number
    #[arg(long, value_name = "COUNT")]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Folder of the results; what it has already is not run again
    #[arg(long, value_name = "FOLDER", default_value = "results/real-packets")]
    pub(crate) out: PathBuf,
    /// Put the verdicts into this table, and values beside it
    #[arg(long, value_name = "FILE", requires = "date")]
    pub(crate) record: Option<PathBuf>,
    /// Date of the record
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) date: Option<String>,
    /// Print the verdicts as JSON (`bufferlab schema testbed-reproduce`)
    #[arg(long, conflicts_with = "list")]
    pub(crate) json: bool,
}

/// A scenario whose hosts stand.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedUpArgs {
    /// The scenario file, with one switch, or `demo`
    pub(crate) scenario: PathBuf,
    /// Change a key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(crate) overrides: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// Let no core sleep meanwhile, as `testbed run` does (one thread of class SCHED_IDLE for each)
    #[arg(long)]
    pub(crate) keep_awake: bool,
    /// What runs in the place of a shell
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

/// A switch of real packets.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("written").args(["record", "capture"]).multiple(true))]
pub(crate) struct SwitchArgs {
    /// The switch's file (docs/how-to/real-switch.md)
    #[arg(required_unless_present = "verify")]
    pub(crate) file: Option<PathBuf>,
    /// Write what the switch is asked and what it answers into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) record: Option<PathBuf>,
    /// Replace a record or captures that are there
    #[arg(long, requires = "written")]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// End after so long, such as "10 s"; without it, at Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span, conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) duration: Option<Time>,
    /// Show counters for Prometheus at this loopback address, such as 127.0.0.1:9420
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) metrics: Option<SocketAddr>,
    /// Do not ask for real-time priority (SCHED_FIFO)
    #[arg(long)]
    pub(crate) no_real_time: bool,
    /// Let no core sleep meanwhile (one thread of class SCHED_IDLE for each): cores that sleep wake
    /// late
    #[arg(long, conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) keep_awake: bool,
    /// Replay a record through the simulator and compare every verdict, mark and departure
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["file", "live", "capture"])]
    pub(crate) verify: Option<PathBuf>,
    /// Compare the two on so many made-up arrivals; forwards nothing
    #[arg(long, value_name = "PACKETS", conflicts_with_all = ["verify", "live", "capture"])]
    pub(crate) synthetic: Option<usize>,
    /// Print the summary as JSON (`bufferlab schema switch`; with --verify or --synthetic
    /// `bufferlab schema parity`)
    #[arg(long)]
    pub(crate) json: bool,
}

fn snapshot_length(text: &str) -> Result<u32, String> {
    u32::try_from(crate::sonic_args::bytes(text)?).map_err(|_| format!("expected at most {} bytes", u32::MAX))
}

/// A time with its unit.
fn parse_span(text: &str) -> Result<Time, String> {
    bufferlab_scenario::parse_time(text).map_err(|error| error.to_string())
}

/// About policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// One line per policy
    List {
        /// Print all of them as JSON, with their parameters (`bufferlab schema policies`)
        #[arg(long)]
        json: bool,
    },
    /// A policy with its parameters
    Show {
        /// Its name
        #[arg(ignore_case = true, value_parser = policy_parser())]
        name: &'static PolicyInfo,
        /// Print it as JSON (`bufferlab schema policies`)
        #[arg(long)]
        json: bool,
    },
}

/// A scenario and changes to it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ScenarioArgs {
    /// The scenario file, or - for standard input
    scenario: PathBuf,
    /// Change a key of the scenario, several times if need be: --set switch.policy=abm --set
    /// "duration=10 ms"
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(crate) overrides: Vec<(String, String)>,
    /// Seed of the run, or the first of several (the key `seed`)
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed::<u64>)]
    seed: Option<u64>,
    /// Noise: every flow starts later by a draw from zero to this, such as "20 ns" (the key
    /// `start_jitter`)
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,
    /// Which of several events of one instant goes first: a draw, or what was scheduled first, as
    /// in ns-3 (the key `tie_order`)
    #[arg(long, value_name = "ORDER", value_parser = tie_order_parser())]
    tie_order: Option<String>,
    /// Record every event of every packet in the switches' buffers, or in that of one switch, for
    /// `view` (the key `output.packets`)
    #[arg(long, value_name = "SWITCH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    packets: Option<String>,
}

impl ScenarioArgs {
    /// The same changes to another file.
    pub(crate) fn with_file(&self, scenario: PathBuf) -> Self {
        Self { scenario, ..self.clone() }
    }

    /// Whether the scenario is read from standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.scenario.as_os_str() == "-"
    }

    /// The scenario's file; what errors call standard input, which is in the folder that one is in.
    pub(crate) fn file(&self) -> &Path {
        if self.is_stdin() { Path::new("<stdin>") } else { &self.scenario }
    }

    /// All changes to the scenario, in the order in which they apply.
    pub(crate) fn changes(&self) -> Vec<(String, String)> {
        let options = [
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("start_jitter", self.jitter.clone()),
            ("tie_order", self.tie_order.clone()),
            ("output.packets", self.packets.clone()),
        ];
        let options = options.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        options.chain(self.overrides.iter().cloned()).collect()
    }
}

/// How runs are executed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExecutionArgs {
    /// Set the number of seeds: the scenario's and the ones that follow it [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Folder of the results [default: below results/, named after the scenario]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Runs at the same time [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Threads of each run, among which its network is divided by racks; the tables are the same
    /// [default: the cores that no other run needs, from 64 hosts on]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Check packet conservation and the ledger after every event, not only at the end (slow)
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print the results as JSON (`bufferlab schema comparison` or `sweep` says in which form)
    #[arg(long)]
    pub(crate) json: bool,
}

impl ExecutionArgs {
    /// Number of seeds of `run` and of every point of `sweep`.
    pub(crate) fn seeds(&self) -> NonZero<u32> {
        self.seeds.unwrap_or(NonZero::<u32>::MIN)
    }
}

/// `run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// A policy with parameters and other changes, after every --set: 'dt(alpha=0.5) + buffer=2 MB'
    #[arg(long, value_name = "VARIANT", value_parser = Variant::parse)]
    pub(crate) variant: Option<Variant>,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    /// Replace results of another scenario in the folder (of several seeds: remove them first);
    /// without this they stay, and nothing runs
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Number of seeds of `compare`: the fewest whose intervals are usually narrow enough to read.
const COMPARED_SEEDS: NonZero<u32> = NonZero::new(5).expect("five is not zero");

/// `compare`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |seeds| seeds.help(
    "Set the number of seeds: the scenario's and the ones that follow it [default: 5]"
)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Compare these policies, the baseline first, as arguments or separated by commas; `all`: the
    /// scenario's own, then every other one that fits [default: dt,cs,abm]
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "NAMES")]
    #[arg(ignore_case = true, value_parser = choice_parser())]
    policies: Vec<PolicyChoice>,
    /// Compare policies with parameters and other changes, too, perhaps under a label, as arguments
    /// or separated by commas: 'dt(alpha=0.5)' 'big: dt + buffer=2 MB'
    #[arg(long, num_args = 1.., value_name = "VARIANT", value_parser = variant_list)]
    variants: Vec<VariantList>,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    /// Remove runs of another scenario from the folder first; without this they stay, and nothing
    /// runs
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show also the folder's earlier runs of the same scenario [default: only this command's]
    #[arg(long)]
    pub(crate) with_earlier: bool,
    /// Add seeds (5, 10, 20, 40 …) until half of every interval of the difference to the baseline
    /// is at most this part of the baseline's mean; --seeds is the largest number [default: 160]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) until_interval: Option<f64>,
    /// The metric that --until-interval looks at, as `compare --json` names it [default: the first
    /// that the report ranks by]
    #[arg(long, value_name = "NAME", requires = "until_interval")]
    pub(crate) metric: Option<String>,
}

/// "5%", "5 %".
fn percent(text: &str) -> Result<f64, String> {
    let number =
        text.trim().strip_suffix('%').map(str::trim_end).and_then(|number| number.parse::<f64>().ok());
    let fits = |number: &f64| *number > 0.0 && number.is_finite();
    number
        .filter(fits)
        .map(|number| number / 100.0)
        .ok_or_else(|| "expected a percentage above 0, as 5%".to_owned())
}

impl CompareArgs {
    /// Number of seeds without `--until-interval`.
    pub(crate) fn seeds(&self) -> NonZero<u32> {
        self.execution.seeds.unwrap_or(COMPARED_SEEDS)
    }

    /// What is compared, the baseline first.
    pub(crate) fn choices(&self) -> Vec<PolicyChoice> {
        let choices = choices(&self.policies, &self.variants);
        if !choices.is_empty() {
            return choices;
        }
        ["dt", "cs", "abm"].into_iter().filter_map(PolicyChoice::of).collect()
    }
}

/// Policies, then variants.
fn choices(policies: &[PolicyChoice], variants: &[VariantList]) -> Vec<PolicyChoice> {
    let variants = variants.iter().flat_map(|list| list.0.iter().cloned().map(PolicyChoice::One));
    policies.iter().cloned().chain(variants).collect()
}

/// Variants of one argument.
#[derive(Clone, Debug)]
struct VariantList(Vec<Variant>);

/// Variants between commas that are in no bracket and no quotes. A text that is one variant as a
/// whole stays whole.
fn variant_list(text: &str) -> Result<VariantList, Mistake> {
    let parts = between_commas(text).unwrap_or_default();
    if parts.len() > 1 {
        let all: Result<Vec<Variant>, Mistake> = parts.iter().map(|part| Variant::parse(part.text)).collect();
        match (all, Variant::parse(text)) {
            (Ok(all), _) => return Ok(VariantList(all)),
            (Err(_), Ok(whole)) => return Ok(VariantList(vec![whole])),
            (Err(mistake), Err(_)) => return Err(mistake),
        }
    }
    Ok(VariantList(vec![Variant::parse(text)?]))
}

/// `sweep`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// A key and its values, several times for a grid: --vary workload.0.load=0.2,0.4,0.6; values
    /// with commas go into a list: --vary 'switch.buffer=["1 MB", "2 MB"]'
    #[arg(long, required = true, value_name = "KEY=VALUES", value_parser = parse_vary)]
    pub(crate) vary: Vec<Vary>,
    /// Compare these policies, the baseline first, as arguments or separated by commas [default:
    /// the scenario's]
    #[arg(long, num_args = 1.., value_delimiter = ',', value_name = "NAMES")]
    #[arg(ignore_case = true, value_parser = choice_parser())]
    policies: Vec<PolicyChoice>,
    /// Compare these variants at every point, as arguments or separated by commas: 'dt(alpha=0.5)'
    /// 'big: dt + buffer=2 MB'
    #[arg(long, num_args = 1.., value_name = "VARIANT", value_parser = variant_list)]
    variants: Vec<VariantList>,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    /// Remove runs of another scenario at the points of this sweep first; without this they stay,
    /// and nothing runs
    #[arg(long)]
    pub(crate) replace: bool,
}

impl SweepArgs {
    /// What is compared, the baseline first; nothing: the scenario's own policy.
    pub(crate) fn choices(&self) -> Vec<PolicyChoice> {
        choices(&self.policies, &self.variants)
    }
}

/// `check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// A policy with parameters and other changes, after every --set: 'dt(alpha=0.5) + buffer=2 MB'
    #[arg(long, value_name = "VARIANT", value_parser = Variant::parse)]
    pub(crate) variant: Option<Variant>,
    /// Print the resolved scenario (every default filled in) instead of a summary
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Print what would run as JSON (`bufferlab schema check`)
    #[arg(long, conflicts_with = "resolved")]
    pub(crate) json: bool,
}

/// `explain`. The scenario may be the folder of a run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// A policy with parameters and other changes, after every --set: 'dt(alpha=0.5) + buffer=2 MB'
    #[arg(long, value_name = "VARIANT", value_parser = Variant::parse)]
    pub(crate) variant: Option<Variant>,
    /// Print the explanations as JSON (`bufferlab schema explanations`)
    #[arg(long)]
    pub(crate) json: bool,
    /// What is to be explained
    #[arg(long, value_enum, default_value = "loss")]
    pub(crate) event: EventKind,
    /// At this switch only
    #[arg(long, value_name = "NAME")]
    pub(crate) switch: Option<String>,
    /// At this port only
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Not before this time, such as "12.5 ms"
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Start with the n-th such event
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = count::<NonZero<u64>>)]
    pub(crate) nth: NonZero<u64>,
    /// How many events
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = count::<NonZero<u64>>)]
    pub(crate) count: NonZero<u64>,
}

/// `view`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ViewArgs {
    /// The folder of a run, best of one with --packets
    pub(crate) folder: PathBuf,
    /// The switch [default: the first one of which something was recorded]
    #[arg(long, value_name = "NAME")]
    pub(crate) switch: Option<String>,
    /// Write the page into this file instead of serving it: the whole run in points, every packet
    /// around the first losses
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the events for another viewer instead: Perfetto (ui.perfetto.dev) or Wireshark
    #[arg(long, value_name = "FORMAT", value_enum, requires = "out")]
    pub(crate) trace: Option<TraceFormat>,
    /// Port of the loopback at which the page is served [default: any free one]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub(crate) listen: u16,
}

/// `play`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlayArgs {
    /// Port of the loopback at which the page is served [default: any free one]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub(crate) listen: u16,
}

/// A format of another viewer.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum TraceFormat {
    /// Trace events as JSON: queues as counters, losses and marks as instants, pauses as slices
    Perfetto,
    /// Packets with what became of them as comments
    Pcapng,
}

/// What `explain` explains.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum EventKind {
    /// A packet was refused on arrival
    Drop,
    /// A packet was marked on arrival
    Mark,
    /// A stored packet was removed for another one
    Eviction,
    /// Either kind of loss
    Loss,
    /// A sender was told to stop
    Pause,
}

impl From<EventKind> for ExplainedEvent {
    fn from(kind: EventKind) -> Self {
        match kind {
            EventKind::Drop => Self::Drop,
            EventKind::Mark => Self::Mark,
            EventKind::Eviction => Self::Eviction,
            EventKind::Loss => Self::Loss,
            EventKind::Pause => Self::Pause,
        }
    }
}

/// `reproduce`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReproduceArgs {
    /// Experiments (`abm/fig6`), papers (`tdt`), or `all`
    #[arg(value_name = "NAMES", required_unless_present_any = ["list", "why"])]
    pub(crate) names: Vec<String>,
    /// Print the verdicts as JSON (`bufferlab schema reproduce`)
    #[arg(long, conflicts_with_all = ["list", "why", "values"])]
    pub(crate) json: bool,
    /// Which difference between the paper's reading and the artifact's carries a statement
    /// (`REV-F7a-1`, or several with commas): every change alone, on the same arrivals, then pairs;
    /// `disputed` stands for all whose recorded verdicts differ between the two
    #[arg(long, value_name = "CLAIM", value_delimiter = ',', conflicts_with_all = ["list", "names", "profile"])]
    pub(crate) why: Vec<String>,
    /// With --why: a key with another value instead of the artifact's reading, several times if
    /// need be
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override, requires = "why")]
    pub(crate) against: Vec<(String, String)>,
    /// Draw an experiment's panels again from a `values.csv` that an earlier command has written;
    /// nothing runs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "why", "profile", "record", "seeds"])]
    pub(crate) values: Option<PathBuf>,
    /// Show what can be repeated, with the time that it takes here
    #[arg(long)]
    pub(crate) list: bool,
    /// How much of it: `quick` takes minutes, `paper` is the papers' own size and takes hours
    #[arg(long, default_value = "quick", value_parser = PossibleValuesParser::new(["quick", "paper"]))]
    pub(crate) scale: String,
    /// Whose reading of what the papers leave open: the paper's, or that of the authors' public
    /// simulator, for the experiments that have one [default: the experiment's]
    #[arg(long, value_parser = PossibleValuesParser::new(["paper", "artifact"]))]
    pub(crate) profile: Option<String>,
    /// Seeds of every point [default: the experiment's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Another set of seeds, which begins so many behind the scenarios' own: does a verdict depend
    /// on them?
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = seed::<u32>)]
    #[arg(conflicts_with_all = ["record", "why", "list"])]
    pub(crate) first_seed: u32,
    /// Folder of the results; what is there already is not run again
    #[arg(long, value_name = "DIR", default_value = "results/reproduce")]
    pub(crate) out: PathBuf,
    /// A folder of experiments of your own, or a checkout's `experiments`, instead of the papers'
    #[arg(long, value_name = "DIR")]
    pub(crate) registry: Option<PathBuf>,
    /// Runs at the same time [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Write the verdicts into this table of a checkout, `claims/verdicts.csv`, with this date;
    /// with --why the answers, `claims/why.csv`
    #[arg(long, value_name = "FILE", requires = "date")]
    pub(crate) record: Option<PathBuf>,
    /// The date of the record, as 2026-11-22
    #[arg(long, value_name = "DATE")]
    pub(crate) date: Option<String>,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    /// A scenario file
    Scenario,
    /// What `run`, `compare`, `report` and `testbed run` print with `--json`; `comparison.json`
    Comparison,
    /// What `sweep --json` prints; `sweep.json`
    Sweep,
    /// What `explain --json` prints
    Explanations,
    /// What `policy list --json` and `policy show --json` print
    Policies,
    /// What `check --json` prints
    Check,
    /// What `verify --json` prints
    Verify,
    /// What `theory CALCULATOR --json` prints
    Theory,
    /// What `reproduce NAMES --json` prints
    Reproduce,
    /// What `bench --json` prints
    Bench,
    /// What `switch --json` prints when it has forwarded
    Switch,
    /// What `switch --verify --json` and `switch --synthetic --json` print
    Parity,
    /// What `testbed check --json` prints
    TestbedCheck,
    /// What `testbed reproduce --json` prints
    TestbedReproduce,
}

/// `report`.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("drawn").args(["figures", "table"]).multiple(true))]
pub(crate) struct ReportArgs {
    /// A folder that `run`, `compare` or `sweep` has written
    pub(crate) dir: PathBuf,
    /// Print the results as JSON (`bufferlab schema comparison`) instead of the report's place
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out the beginning of the runs, where flows find an empty network: print where it ends
    /// (MSER-5) and the results without it, and write nothing
    #[arg(long, conflicts_with = "figures")]
    pub(crate) steady: bool,
    /// Write the charts of completion times, or those of a sweep over its first key, as SVG, PDF,
    /// PNG and CSV [default folder: figures]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "figures")]
    pub(crate) figures: Option<PathBuf>,
    /// What the figures are for: screens, or a column of a paper (240 points wide, no caption, no
    /// colour)
    #[arg(long, value_enum, default_value = "screen", requires = "figures")]
    pub(crate) style: Style,
    /// Print the means with their intervals as a table for a document instead of the report's place
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with_all = ["json", "steady"])]
    pub(crate) table: Option<Table>,
    /// Rename a policy, and in figures of a sweep a key or a metric, several times if need be:
    /// --label dt="DT"
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = parse_label, requires = "drawn")]
    pub(crate) labels: Vec<(String, String)>,
    /// Show these metrics in tables and in figures of a sweep, named as in comparison.csv and
    /// sweep.csv [default: the headline metrics]
    #[arg(long = "metric", value_name = "NAMES", value_delimiter = ',', requires = "drawn")]
    pub(crate) metrics: Vec<String>,
}

/// `--table` of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Table {
    /// Pipes, as GitHub and pandoc read them
    Markdown,
    /// A tabular with the rules of booktabs
    Latex,
}

impl Table {
    pub(crate) const fn format(self) -> TableFormat {
        match self {
            Self::Markdown => TableFormat::Markdown,
            Self::Latex => TableFormat::Latex,
        }
    }
}

/// `--style` of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// Colours, a caption, 640 pixels wide
    Screen,
    /// Greys, dashes and markers, no caption, 240 points wide; pictures have 600 dots per inch
    Paper,
}

impl Style {
    pub(crate) const fn of_figures(self) -> FigureStyle {
        match self {
            Self::Screen => FigureStyle::Screen,
            Self::Paper => FigureStyle::Paper,
        }
    }
}

/// `verify`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Folders of results; every run in them is looked at
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Print what was found as JSON (`bufferlab schema verify`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bench`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Repetitions; the fastest and the median are printed
    #[arg(long, default_value = "5", value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    pub(crate) runs: NonZero<u32>,
    /// Threads of each run, among which the network is divided by racks; the results are the same
    #[arg(long, default_value = "1", value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) threads: NonZero<usize>,
    /// Print what was measured as JSON (`bufferlab schema bench`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Values around which there may be blanks: "dt, abm".
#[derive(Clone, Debug)]
struct Trimmed(PossibleValuesParser);

impl TypedValueParser for Trimmed {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(text) if text.contains('(') => {
                let message = "parameters belong to --variants, as in --variants dt 'dt(alpha=0.5)'\n";
                Err(clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command))
            }
            Some(text) => self.0.parse_ref(command, argument, OsStr::new(text.trim())),
            None => self.0.parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The names of the registry.
fn policy_names() -> impl Iterator<Item = PossibleValue> {
    policies().into_iter().map(|info| PossibleValue::new(info.name).aliases(info.aliases))
}

/// A policy of the registry by name or alias.
fn policy_parser() -> impl TypedValueParser<Value = &'static PolicyInfo> {
    Trimmed(PossibleValuesParser::new(policy_names()))
        .map(|name| find_policy(&name.to_lowercase()).expect("only names of the registry are accepted"))
}

/// The same, or all of them.
fn choice_parser() -> impl TypedValueParser<Value = PolicyChoice> {
    Trimmed(PossibleValuesParser::new(policy_names().chain([PossibleValue::new(PolicyChoice::ALL)])))
        .map(|name| PolicyChoice::of(&name.to_lowercase()).expect("only names of the registry are accepted"))
}

/// Orders of simultaneous events.
fn tie_order_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(
        TieOrder::WORDS.iter().map(|word| PossibleValue::new(word.name).help(word.meaning)),
    )
}

/// A text that is not what an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Mistyped {
    #[error("expected a whole number, at least 1")]
    Count,
    #[error("expected a whole number from 0")]
    Seed,
    #[error("expected a key, = and a value, such as switch.policy=abm")]
    Override,
    #[error("expected a name, = and a text, such as dt=\"DT\"")]
    Label,
    #[error("expected a key, = and values, such as workload.0.load=0.2,0.4")]
    Vary,
    #[error("one of the values is empty")]
    EmptyValue,
}

/// A number of things, at least one.
fn count<T: FromStr>(text: &str) -> Result<T, Mistyped> {
    text.parse().map_err(|_| Mistyped::Count)
}

/// The seed of a run, or how far seeds are moved.
fn seed<T: FromStr>(text: &str) -> Result<T, Mistyped> {
    text.parse().map_err(|_| Mistyped::Seed)
}

fn parse_vary(text: &str) -> Result<Vary, Mistyped> {
    let (key, values) = parse_override(text).map_err(|_| Mistyped::Vary)?;
    let values = listed_values(&values);
    if values.iter().any(String::is_empty) {
        return Err(Mistyped::EmptyValue);
    }
    Ok(Vary { key, values })
}

/// A name, which may have parameters in brackets, and a text: `dt(alpha=2)=DT, generous`.
fn parse_label(text: &str) -> Result<(String, String), Mistyped> {
    let mut depth = 0_i32;
    let at = text.char_indices().find(|(_, character)| {
        depth += i32::from(*character == '(') - i32::from(*character == ')');
        *character == '=' && depth == 0
    });
    let (name, text) = at.map(|(at, _)| (text[..at].trim(), text[at + 1..].trim())).ok_or(Mistyped::Label)?;
    if name.is_empty() || text.is_empty() {
        Err(Mistyped::Label)
    } else {
        Ok((name.to_owned(), text.to_owned()))
    }
}

fn parse_override(text: &str) -> Result<(String, String), Mistyped> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(Mistyped::Override),
    }
}
