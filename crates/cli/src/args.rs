//! The command line: every command with its arguments.

use crate::examples;
use crate::sonic_args::SonicCommand;
use crate::theory_args::TheoryCommand;
use bufferlab_core::{PolicyInfo, find_policy, policies};
use bufferlab_import::Format;
use bufferlab_lab::{PolicySelection, Vary, split_values};
use bufferlab_params::Choice;
use bufferlab_report::{FigureStyle, TableFormat};
use bufferlab_scenario::{Applications, Mistake, TieOrder, Variant, between_commas};
use bufferlab_schedule::Algorithm;
use bufferlab_sim::ExplainedEvent;
use bufferlab_units::Time;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args as _, FromArgMatches, Parser, Subcommand};
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A laboratory for the shared packet buffer of datacenter switches.
#[derive(Debug, Parser)]
#[command(name = "bufferlab", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = examples::PROGRAM)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Hide progress and the paths of results; print only warnings and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Colour the messages on stderr [default: auto, which respects NO_COLOR and the terminal]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        value_enum
    )]
    pub(crate) color: Colour,
    /// Refuse to start runs that need more memory than SIZE [default: the memory that the system
    /// has left]
    #[arg(long, global = true, value_name = "SIZE", value_parser = crate::sonic_args::size)]
    pub(crate) memory_limit: Option<u64>,
}

/// Choices of `--color`: when messages on stderr have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

/// Commands of the program `bufferlab`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one experiment: write tables, manifest and report into a folder, and print a summary
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Compare buffer policies on the same traffic, paired by seed. Reuse finished runs of the
    /// folder of results
    #[command(after_help = examples::COMPARE)]
    Compare(CompareArgs),
    /// Run a grid over keys of a scenario, for several policies and seeds. Reuse finished runs of
    /// the folder of results
    #[command(after_help = examples::SWEEP)]
    Sweep(SweepArgs),
    /// Reproduce figures and tables of the five papers, and judge the papers' claims
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(ReproduceArgs),
    /// Write a commented starting point for a scenario, a study or the Rust crate of a policy
    #[command(subcommand, after_help = examples::NEW)]
    New(NewCommand),
    /// Check a scenario and print its network, transports and traffic
    #[command(after_help = examples::CHECK)]
    Check(CheckArgs),
    /// Write a scenario from the files of another simulator: htsim, GOAL, Chakra, AICB, HPCC. Print
    /// the settings that the command read from the files, ignored or assumed
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Write report.html for a folder of results
    #[command(after_help = examples::REPORT)]
    Report(ReportArgs),
    /// Compare results with the checksums in their manifests, and find missing runs
    #[command(after_help = examples::VERIFY)]
    Verify(VerifyArgs),
    /// Explain a drop, mark, eviction or pause: the limit that applied, the holders of the buffer,
    /// and the decision of every other policy
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Show the content of a switch's buffer over time: holders, losses and their causes. Serve a
    /// page on this machine, or write one file
    #[command(after_help = examples::VIEW)]
    View(ViewArgs),
    /// Experiment with a buffer on a page of this machine: set ports, queues, alphas, a burst and a
    /// policy
    #[command(after_help = examples::PLAY)]
    Play(PlayArgs),
    /// List or describe the buffer policies
    #[command(subcommand, after_help = examples::POLICY)]
    Policy(PolicyCommand),
    /// Print the JSON Schema of scenario files, or of a command's `--json` output
    #[command(after_help = examples::SCHEMA)]
    Schema {
        /// Name of the format or output whose JSON Schema is printed
        #[arg(value_enum, default_value = "scenario")]
        what: SchemaOf,
    },
    /// Print a shell script that completes commands, options and their values
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// Shell for which the script completes commands
        shell: clap_complete::Shell,
    },
    /// Write a manual page for every command
    #[command(after_help = examples::MAN)]
    Man {
        /// Folder into which the manual pages are written
        folder: PathBuf,
    },
    /// Measure the engine's speed on a scenario in packet-hops per CPU second. Write nothing
    #[command(after_help = examples::BENCH)]
    Bench(BenchArgs),
    /// Calculate the bounds that the papers prove for your switch, and show their derivation
    #[command(subcommand, after_help = examples::THEORY)]
    Theory(TheoryCommand),
    /// Explain, check, compare and simulate SONiC's buffer and QoS configurations
    #[command(subcommand, after_help = examples::SONIC)]
    Sonic(SonicCommand),
    /// Forward real packets between interfaces under a buffer policy, or compare a recorded run
    /// with the simulator
    #[command(after_help = examples::SWITCH)]
    Switch(SwitchArgs),
    /// Run scenarios with real hosts on this machine: namespaces, the kernel's TCP, and the switch
    /// of real packets
    #[command(subcommand, after_help = examples::TESTBED)]
    Testbed(TestbedCommand),
}

/// Kinds of files that the command `new` writes.
#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    /// Write NAME.toml: a scenario that runs, with a comment for each block
    #[command(after_help = examples::NEW_SCENARIO)]
    Scenario {
        /// Name of the scenario, or a path whose last part is the name
        #[arg(value_parser = new_item)]
        name: PathBuf,
        /// Choose the network of the scenario
        #[arg(long, value_enum, default_value = "single_switch")]
        topology: NewTopology,
    },
    /// Write a folder with a scenario and its experiment, for `reproduce --registry`
    #[command(after_help = examples::NEW_STUDY)]
    Study {
        /// Name of the study, or a path whose last part is the name
        #[arg(value_parser = new_item)]
        name: PathBuf,
    },
    /// Write the crate of a policy in Rust: the policy, its test, and a program with all commands
    #[command(after_help = examples::NEW_POLICY)]
    Policy {
        /// Name of the policy, or a path whose last part is the name
        #[arg(value_parser = new_item)]
        name: PathBuf,
        /// Checkout of bufferlab that the new crate depends on [default: the checkout of this
        /// program, or the checkout around the current folder]
        #[arg(long, value_name = "FOLDER")]
        checkout: Option<PathBuf>,
    },
}

/// Networks of a new scenario, with the names of `topology.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum NewTopology {
    SingleSwitch,
    LeafSpine,
}

/// Reads a path whose last part is a valid name for a policy and its crate.
fn new_item(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(allowed);
    if is_name && name.len() <= 40 && !name.ends_with('-') && !name.contains("--") {
        return Ok(path);
    }
    Err("expected at most 40 lower-case letters and digits joined by \"-\", beginning with a letter, \
         without an ending such as .toml"
        .to_owned())
}

/// Arguments of the command `import`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Files of one simulation, such as a topology and its flows, or the traces of all ranks
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Name the format of all files [default: recognised by their content]
    #[arg(long = "as", value_name = "FORMAT", value_parser = import_format())]
    pub(crate) format: Option<Format>,
    /// Write the scenario and its traffic into this folder
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Name the scenario [default: the name of the first file]
    #[arg(long, value_name = "NAME", value_parser = import_name)]
    pub(crate) name: Option<String>,
    /// Run the scenario after the import [default: only write the scenario]
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) run: bool,
    /// Overwrite files of an earlier import [default: keep them and refuse]
    #[arg(long)]
    pub(crate) replace: bool,
    /// Print the content of the files and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Read `start` of connection matrices in this unit; files before November 2023 use `us`
    #[arg(long, value_name = "UNIT", default_value = "ps", value_enum)]
    pub(crate) start_unit: StartUnit,
    /// Execute a collective by this algorithm if the file gives only the collective's name
    #[arg(long, value_name = "NAME", default_value = "ring", value_parser = collective_algorithm())]
    pub(crate) algorithm: Algorithm,
    /// Set the number of ranks per server, for the hierarchical algorithm
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) ranks_per_server: NonZero<u32>,
    /// Set the size of the collective of an MSCCL algorithm, because MSCCL files have no sizes
    #[arg(long, value_name = "SIZE", default_value = "1048576 B", value_parser = import_size)]
    pub(crate) size: u64,
    /// Divide the numbers of nodes in GOAL files by this number of network cards per rank
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) nics_per_rank: NonZero<u32>,
}

impl RunArgs {
    /// Returns the arguments of the command `run` for a scenario file, without options.
    pub(crate) fn for_file(scenario: &Path) -> Self {
        let command = Self::augment_args(clap::Command::new("run"));
        let words = ["run".as_ref(), "--".as_ref(), scenario.as_os_str()];
        Self::from_arg_matches(&command.get_matches_from(words)).expect("a path is all that `run` needs")
    }
}

/// Units of the start times in connection matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StartUnit {
    /// Picoseconds
    Ps,
    /// Microseconds
    Us,
}

impl StartUnit {
    pub(crate) const fn time(self) -> Time {
        match self {
            Self::Ps => Time(1),
            Self::Us => Time::from_us(1),
        }
    }
}

fn import_format() -> impl TypedValueParser<Value = Format> {
    let words = Format::WORDS.iter().map(|word| PossibleValue::new(word.name).help(word.meaning));
    PossibleValuesParser::new(words).map(|name| Format::from_word(&name).expect("clap accepts words only"))
}

/// Reads a name that is safe as a part of a file name and within quotation marks.
fn import_name(text: &str) -> Result<String, String> {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
    let is_name =
        (1..=80).contains(&text.len()) && text.chars().all(is_plain) && !text.starts_with(['.', '-']);
    is_name.then(|| text.to_owned()).ok_or_else(|| "expected letters, digits, `-`, `_` and `.`".to_owned())
}

/// Reads the size of a collective from a text such as "1 MB".
fn import_size(text: &str) -> Result<u64, String> {
    let size = bufferlab_scenario::parse_size(text).map_err(|error| error.to_string())?;
    if size == 0 { Err("expected at least 1 B".to_owned()) } else { Ok(size) }
}

fn collective_algorithm() -> impl TypedValueParser<Value = Algorithm> {
    let names = Algorithm::ALL.map(Algorithm::name);
    PossibleValuesParser::new(names).map(|name| {
        let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.expect("clap accepts names only")
    })
}

/// Subcommands of the command `testbed`.
#[derive(Debug, Subcommand)]
pub(crate) enum TestbedCommand {
    /// Report the programs and rights that this machine lacks for the testbed, and how to install
    /// them
    #[command(after_help = examples::TESTBED_CHECK)]
    Check {
        /// Print the findings as JSON (`bufferlab schema testbed-check`)
        #[arg(long)]
        json: bool,
    },
    /// Run a scenario with real hosts and in the simulator, and write one report that compares both
    /// results. The scenario `demo` is an incast under DT and LossPass
    #[command(after_help = examples::TESTBED_RUN)]
    Run(TestbedRunArgs),
    /// Build the hosts, links and switch of a scenario and open a shell inside the testbed. The
    /// testbed ends when the shell ends
    #[command(after_help = examples::TESTBED_UP)]
    Up(TestbedUpArgs),
    /// Repeat the papers' experiments with real packets and in the simulator
    #[command(after_help = examples::TESTBED_REPRODUCE)]
    Reproduce(TestbedReproduceArgs),
    /// Open a shell or run a command on a host of a running testbed
    #[command(after_help = examples::TESTBED_SHELL)]
    Shell(TestbedShellArgs),
    /// End every running testbed on this machine
    #[command(after_help = examples::TESTBED_DOWN)]
    Down,
}

/// Arguments of the command `testbed shell`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedShellArgs {
    /// Host of the testbed (`h0`), or `switch`
    pub(crate) host: String,
    /// Choose a testbed by its process ID [default: the only running testbed]
    #[arg(long, value_name = "PROCESS")]
    pub(crate) testbed: Option<i32>,
    /// Command to run instead of a shell [default: $SHELL]
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

/// Options that show or capture the traffic of a switch of real packets.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WatchArgs {
    /// Show queues, limits, rates, losses and lateness in this terminal during the run
    #[arg(long)]
    pub(crate) live: bool,
    /// Capture the frames of every port in this folder: a pcapng file per port, with losses and
    /// marks as comments
    #[arg(long, value_name = "FOLDER")]
    pub(crate) capture: Option<PathBuf>,
    /// Capture at most this many bytes of each frame; 0 captures whole frames
    #[arg(long, value_name = "SIZE", value_parser = snapshot_length, default_value_t = bufferlab_dataplane::SNAPSHOT_BYTES, requires = "capture")]
    pub(crate) snapshot_length: u32,
}

/// Registered policies that a single argument of the command line names.
#[derive(Clone, Debug)]
pub(crate) struct TestbedPolicies(pub(crate) Vec<&'static PolicyInfo>);

/// Arguments of the command `testbed run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedRunArgs {
    /// Scenario file with one switch, or `demo`
    pub(crate) scenario: PathBuf,
    /// Run these policies one after the other, the baseline first [default: the scenario's policy,
    /// with its parameters]
    #[arg(long, value_name = "NAMES", num_args = 1.., ignore_case = true, value_parser = policies_parser())]
    pub(crate) policies: Vec<TestbedPolicies>,
    /// Repeat the run with the seeds from 1 to COUNT [default: once, with the scenario's seed]
    #[arg(long, value_name = "COUNT")]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Change a key of the scenario (repeatable): --set switch.policy=abm
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(crate) overrides: Vec<(String, String)>,
    /// Generate the workloads with bufferlab's `own` applications or with `programs` (iperf3 and
    /// memcached) [default: the scenario's `host.applications`]
    #[arg(long, value_name = "WHO", value_parser = Applications::WORDS.iter().map(|word| word.name).collect::<Vec<_>>())]
    pub(crate) applications: Option<String>,
    /// Write the results into this folder [default: results/ and the scenario's name, with -real]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Remove runs of a different scenario from the folder first [default: keep them and refuse to
    /// run]
    #[arg(long)]
    pub(crate) replace: bool,
    /// Run only with real hosts, not in the simulator
    #[arg(long)]
    pub(crate) only_real: bool,
    /// Print the results as JSON (`bufferlab schema comparison`)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
}

/// Arguments of the command `testbed reproduce`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedReproduceArgs {
    /// Names of figures (`losspass/fig1`) or papers (`tdt`), or `all`
    #[arg(required_unless_present = "list")]
    pub(crate) names: Vec<String>,
    /// List the experiments with their durations
    #[arg(long)]
    pub(crate) list: bool,
    /// Use a folder of custom experiments, NAME/FIGURE.toml [default: the papers' experiments]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) registry: Option<PathBuf>,
    /// Repeat every point of an experiment this many times [default: the number in the experiment's
    /// file]
    #[arg(long, value_name = "COUNT")]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Write the results into this folder, and reuse its finished runs
    #[arg(long, value_name = "FOLDER", default_value = "results/real-packets")]
    pub(crate) out: PathBuf,
    /// Record the verdicts in this table, and the values in the folder of the table [default: no
    /// record]
    #[arg(long, value_name = "FILE", requires = "date")]
    pub(crate) record: Option<PathBuf>,
    /// Set the date of the recorded verdicts, such as 2026-11-22
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) date: Option<String>,
    /// Print the verdicts as JSON (`bufferlab schema testbed-reproduce`)
    #[arg(long, conflicts_with = "list")]
    pub(crate) json: bool,
}

/// Arguments of the command `testbed up`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TestbedUpArgs {
    /// Scenario file with one switch, or `demo`
    pub(crate) scenario: PathBuf,
    /// Change a key of the scenario (repeatable): --set switch.policy=abm
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(crate) overrides: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// Keep all cores awake with a thread of class SCHED_IDLE per core, as `testbed run` does
    #[arg(long)]
    pub(crate) keep_awake: bool,
    /// Command to run instead of a shell [default: $SHELL]
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

/// Arguments of the command `switch`.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("written").args(["record", "capture"]).multiple(true))]
pub(crate) struct SwitchArgs {
    /// TOML file of the switch, with the keys that docs/how-to/real-switch.md describes
    #[arg(required_unless_present = "verify")]
    pub(crate) file: Option<PathBuf>,
    /// Record all arrivals, and the decisions of the switch, in this folder [default: no record]
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) record: Option<PathBuf>,
    /// Overwrite an existing record or existing captures [default: keep them and refuse to start]
    #[arg(long, requires = "written")]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// End the switch after this time, such as "10 s" [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span, conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) duration: Option<Time>,
    /// Serve counters for Prometheus at this loopback address, such as 127.0.0.1:9420
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) metrics: Option<SocketAddr>,
    /// Run the switch without real-time priority [default: request SCHED_FIFO]
    #[arg(long)]
    pub(crate) no_real_time: bool,
    /// Keep all cores awake with a thread of class SCHED_IDLE per core: sleeping cores wake late
    #[arg(long, conflicts_with_all = ["verify", "synthetic"])]
    pub(crate) keep_awake: bool,
    /// Replay a record through the simulator and compare every verdict, mark and departure
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["file", "live", "capture"])]
    pub(crate) verify: Option<PathBuf>,
    /// Compare switch and simulator on this many generated arrivals; forward no frames
    #[arg(long, value_name = "PACKETS", conflicts_with_all = ["verify", "live", "capture"])]
    pub(crate) synthetic: Option<usize>,
    /// Print the summary as JSON (`bufferlab schema switch`; with --verify or
    /// --synthetic `bufferlab schema parity`)
    #[arg(long)]
    pub(crate) json: bool,
}

fn snapshot_length(text: &str) -> Result<u32, String> {
    u32::try_from(crate::sonic_args::bytes(text)?).map_err(|_| format!("expected at most {} bytes", u32::MAX))
}

/// Reads a time with its unit, such as "10 s".
fn parse_span(text: &str) -> Result<Time, String> {
    bufferlab_scenario::parse_time(text)
        .map_err(|error| format!("{error}; expected a time such as \"10 ms\""))
}

/// Subcommands of the command `policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List all policies, one line each
    #[command(after_help = examples::POLICY_LIST)]
    List {
        /// Print all policies and their parameters as JSON (`bufferlab schema policies`)
        #[arg(long)]
        json: bool,
    },
    /// Describe a policy and its parameters
    #[command(after_help = examples::POLICY_SHOW)]
    Show {
        /// Name or alias of the policy
        #[arg(ignore_case = true, value_parser = policy_parser())]
        name: &'static PolicyInfo,
        /// Print the description as JSON (`bufferlab schema policies`)
        #[arg(long)]
        json: bool,
    },
}

/// Arguments that name a scenario and change its values.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ScenarioArgs {
    /// Scenario file, name of a shipped scenario, or - for standard input
    scenario: PathBuf,
    /// Change a key of the scenario (repeatable): --set switch.policy=abm --set "duration=10 ms"
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(crate) overrides: Vec<(String, String)>,
    /// Set the seed of the run, or the first of several seeds [default: the scenario's `seed`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed::<u64>)]
    seed: Option<u64>,
    /// Delay the start of every flow by a random time up to this value, such as "20 ns" [default:
    /// the scenario's `start_jitter`]
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,
    /// Choose the order of simultaneous events: random, or the order of scheduling as in ns-3
    /// [default: the scenario's `tie_order`]
    #[arg(long, value_name = "ORDER", value_parser = tie_order_parser())]
    tie_order: Option<String>,
    /// Record every event of every packet in the buffers of all switches, or of this switch,
    /// for `view` [default: the scenario's `output.packets`]
    #[arg(long, value_name = "SWITCH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    packets: Option<String>,
}

impl ScenarioArgs {
    /// Returns a copy of these arguments with another scenario file.
    pub(crate) fn with_file(&self, scenario: PathBuf) -> Self {
        Self { scenario, ..self.clone() }
    }

    /// Whether the scenario is read from standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.scenario.as_os_str() == "-"
    }

    /// Returns the path of the scenario. The path of standard input is `<stdin>`, as in error
    /// messages. Paths in a scenario from standard input are relative to the current folder.
    pub(crate) fn file(&self) -> &Path {
        if self.is_stdin() { Path::new("<stdin>") } else { &self.scenario }
    }

    /// Returns all changes to the scenario, in the order in which the program applies the changes.
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

/// Options of commands that execute runs.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExecutionArgs {
    /// Run this many seeds: the scenario's seed and the next numbers [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Write the results into this folder [default: a folder below results/, named after the
    /// scenario]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Execute this many runs in parallel [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Use this many threads per run; the number does not change the tables. The threads share the
    /// network's racks [default: cores that no other run needs, from 64 hosts on]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) threads: Option<NonZero<usize>>,
    /// Check packet conservation and byte counts after every event, not only at the end (slow)
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print the results as JSON (`bufferlab schema comparison`, or `sweep`)
    #[arg(long)]
    pub(crate) json: bool,
}

impl ExecutionArgs {
    /// Number of seeds of `run`, and of every point of `sweep`.
    pub(crate) fn seeds(&self) -> NonZero<u32> {
        self.seeds.unwrap_or(NonZero::<u32>::MIN)
    }
}

/// Arguments of the command `run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Apply a policy with parameters and other changes, after every --set: 'dt(alpha=0.5) +
    /// buffer=2 MB'
    #[arg(long, value_name = "VARIANT", value_parser = Variant::parse)]
    pub(crate) variant: Option<Variant>,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    /// Overwrite results of a different scenario in the folder (with several seeds, remove old runs
    /// first) [default: keep them and refuse to run]
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show earlier seeds of the scenario in the folder, too [default: only requested runs]
    #[arg(long)]
    pub(crate) with_earlier: bool,
}

/// Number of seeds of `compare`. With fewer than five seeds, confidence intervals are usually too
/// wide for a conclusion.
const COMPARED_SEEDS: NonZero<u32> = NonZero::new(5).expect("five is not zero");

/// Arguments of the command `compare`.
#[derive(Clone, Debug, clap::Args)]
#[command(mut_arg("seeds", |seeds| seeds.help(
    "Run this many seeds: the scenario's seed and the next numbers [default: 5]"
)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Compare these policies, the baseline first, as arguments or separated by commas. `all`
    /// selects the scenario's policy, then every other policy that can run the scenario [default:
    /// dt,cs,abm]
    #[arg(long, num_args = 1.., value_name = "NAMES", ignore_case = true, value_parser = choice_parser())]
    policies: Vec<PolicyList>,
    /// Compare variants, too (a policy, its parameters, other changes, an optional label), as
    /// arguments or separated by commas: 'dt(alpha=0.5)' 'big: dt + buffer=2 MB'
    #[arg(long, num_args = 1.., value_name = "VARIANT", value_parser = variant_list)]
    variants: Vec<VariantList>,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    /// Remove runs of a different scenario from the folder first [default: keep them and refuse to
    /// run]
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show earlier runs of the scenario in the folder, too [default: only requested runs]
    #[arg(long)]
    pub(crate) with_earlier: bool,
    /// Simulate this time once per seed, under the baseline; all policies continue from this state,
    /// such as "50 ms" [default: each policy from the start]
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(crate) warm_up: Option<Time>,
    /// Add seeds (5, 10, 20, 40 …) until the interval of every difference is at most ± this
    /// percentage of the baseline's mean. --seeds limits the number of seeds per policy [default:
    /// 160]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) until_interval: Option<f64>,
    /// Apply --until-interval to this metric, as `compare --json` names it [default: the first
    /// metric of the report's ranking]
    #[arg(long, value_name = "NAME", requires = "until_interval")]
    pub(crate) metric: Option<String>,
}

/// Reads a percentage as a fraction: "5%", "5 %".
fn percent(text: &str) -> Result<f64, String> {
    let number =
        text.trim().strip_suffix('%').map(str::trim_end).and_then(|number| number.parse::<f64>().ok());
    let fits = |number: &f64| *number > 0.0 && number.is_finite();
    number
        .filter(fits)
        .map(|number| number / 100.0)
        .ok_or_else(|| "expected a percentage above 0, such as 5%".to_owned())
}

impl CompareArgs {
    /// Number of seeds of `compare` without `--until-interval`.
    pub(crate) fn seeds(&self) -> NonZero<u32> {
        self.execution.seeds.unwrap_or(COMPARED_SEEDS)
    }

    /// Policies and variants to compare, the baseline first.
    pub(crate) fn choices(&self) -> Vec<PolicySelection> {
        let choices = choices(&self.policies, &self.variants);
        if !choices.is_empty() {
            return choices;
        }
        ["dt", "cs", "abm"].into_iter().filter_map(PolicySelection::from_name).collect()
    }
}

/// Returns the policies in `policies`, followed by the variants in `variants`.
fn choices(policies: &[PolicyList], variants: &[VariantList]) -> Vec<PolicySelection> {
    let variants = variants.iter().flat_map(|list| list.0.iter().cloned().map(PolicySelection::One));
    policies.iter().flat_map(|list| list.0.iter().cloned()).chain(variants).collect()
}

/// Policies that one argument of the command line lists.
#[derive(Clone, Debug)]
struct PolicyList(Vec<PolicySelection>);

/// Variants that one argument of the command line lists.
#[derive(Clone, Debug)]
struct VariantList(Vec<Variant>);

/// Reads variants separated by commas. Commas in brackets or quotes are part of a variant.
/// If the whole text is a valid variant, the text is read as one variant.
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

/// Arguments of the command `sweep`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Vary a key over values (repeatable, for a grid): --vary workload.0.load=0.2,0.4,0.6. Write
    /// values with commas as a list: --vary 'switch.buffer=["1 MB", "2 MB"]'
    #[arg(long, required = true, value_name = "KEY=VALUES", value_parser = parse_vary)]
    pub(crate) vary: Vec<Vary>,
    /// Compare these policies, the baseline first, as arguments or separated by commas [default:
    /// the scenario's policy]
    #[arg(long, num_args = 1.., value_name = "NAMES", ignore_case = true, value_parser = choice_parser())]
    policies: Vec<PolicyList>,
    /// Compare these variants at every point, as arguments or separated by commas: 'dt(alpha=0.5)'
    /// 'big: dt + buffer=2 MB'
    #[arg(long, num_args = 1.., value_name = "VARIANT", value_parser = variant_list)]
    variants: Vec<VariantList>,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    /// Remove runs of a different scenario at the points of this sweep first [default: keep them
    /// and refuse to run]
    #[arg(long)]
    pub(crate) replace: bool,
}

impl SweepArgs {
    /// Policies and variants to compare, the baseline first. An empty list means the scenario's
    /// policy.
    pub(crate) fn choices(&self) -> Vec<PolicySelection> {
        choices(&self.policies, &self.variants)
    }
}

/// Arguments of the command `check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Apply a policy with parameters and other changes, after every --set: 'dt(alpha=0.5) +
    /// buffer=2 MB'
    #[arg(long, value_name = "VARIANT", value_parser = Variant::parse)]
    pub(crate) variant: Option<Variant>,
    /// Print the resolved scenario, with every default filled in, instead of a summary
    #[arg(long)]
    pub(crate) resolved: bool,
    /// Print the checked scenario's summary as JSON (`bufferlab schema check`)
    #[arg(long, conflicts_with = "resolved")]
    pub(crate) json: bool,
}

/// Arguments of `explain`. The scenario can be the folder of a run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Apply a policy with parameters and other changes, after every --set: 'dt(alpha=0.5) +
    /// buffer=2 MB'
    #[arg(long, value_name = "VARIANT", value_parser = Variant::parse)]
    pub(crate) variant: Option<Variant>,
    /// Print the explanations as JSON (`bufferlab schema explanations`; with
    /// --critical-path `bufferlab schema critical-paths`)
    #[arg(long)]
    pub(crate) json: bool,
    /// Explain events of this kind
    #[arg(long, value_enum, default_value = "loss")]
    pub(crate) event: EventKind,
    /// Search the events of this switch only [default: all switches]
    #[arg(long, value_name = "NAME")]
    pub(crate) switch: Option<String>,
    /// Search the events of this port only [default: all ports]
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Skip events before this time, such as "12.5 ms" [default: the start of the run]
    #[arg(long, value_name = "TIME")]
    pub(crate) after: Option<String>,
    /// Skip the first N − 1 events of the kind that `--event` names
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = count::<NonZero<u64>>)]
    pub(crate) nth: NonZero<u64>,
    /// Explain this many events
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = count::<NonZero<u64>>)]
    pub(crate) count: NonZero<u64>,
    /// Explain the critical path of the slowest iteration of every schedule: the event that each
    /// node waited for, and the first pause or loss. The command runs the scenario twice
    #[arg(long, conflicts_with_all = ["event", "switch", "port", "after", "nth", "count"])]
    pub(crate) critical_path: bool,
    /// Explain the critical path of this iteration, from 0 [default: the slowest iteration]
    #[arg(long, value_name = "N", requires = "critical_path")]
    pub(crate) iteration: Option<u32>,
}

/// Arguments of the command `view`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ViewArgs {
    /// Folder of a run, which shows every packet if the run was recorded with --packets
    pub(crate) folder: PathBuf,
    /// Show the buffer of this switch [default: the first switch with records]
    #[arg(long, value_name = "NAME")]
    pub(crate) switch: Option<String>,
    /// Write the page into this file instead of serving the page. The saved page has samples of the
    /// whole run, and every packet around the first losses
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the recorded events for Perfetto (ui.perfetto.dev) or Wireshark instead of a page
    #[arg(long, value_name = "FORMAT", value_enum, requires = "out")]
    pub(crate) trace: Option<TraceFormat>,
    /// Serve the page at this port of the loopback interface [default: any free port]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub(crate) listen: u16,
}

/// Arguments of the command `play`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlayArgs {
    /// Serve the page at this port of the loopback interface [default: any free port]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub(crate) listen: u16,
}

/// Format of a trace for another program, such as Wireshark.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum TraceFormat {
    /// Trace events as JSON: queues as counters, losses and marks as instants, pauses as slices
    Perfetto,
    /// Capture for Wireshark: packets, with losses and marks as comments
    Pcapng,
}

/// Kinds of events that the command `explain` explains.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum EventKind {
    /// Packets that a switch refused on arrival
    Drop,
    /// Packets that a switch marked on arrival
    Mark,
    /// Packets that a switch removed to make room for another packet
    Eviction,
    /// Packets that a switch dropped or evicted
    Loss,
    /// Pauses that a switch sent to a sender
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

/// Arguments of the command `reproduce`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ReproduceArgs {
    /// Experiments (`abm/fig6`), papers (`tdt`), statements (`REV-F7a-1`), or `all`
    #[arg(value_name = "NAMES", required_unless_present_any = ["list", "why", "package"])]
    pub(crate) names: Vec<String>,
    /// Print the verdicts as JSON (`bufferlab schema reproduce`)
    #[arg(long, conflicts_with_all = ["list", "why", "values"])]
    pub(crate) json: bool,
    /// Find the differences between the readings `paper` and `artifact` that decide a claim
    /// (`REV-F7a-1`, or several with commas). On identical arrivals, apply each difference alone,
    /// then each pair of differences. `disputed` selects all claims whose recorded verdicts differ
    /// between `paper` and `artifact`. For a paper without public code, apply the settings that the
    /// paper leaves open, one at a time
    #[arg(long, value_name = "CLAIM", value_delimiter = ',', conflicts_with_all = ["list", "names", "profile"])]
    pub(crate) why: Vec<String>,
    /// With --why, apply this value of a key instead of the artifact's settings (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override, requires = "why")]
    pub(crate) against: Vec<(String, String)>,
    /// Judge every statement under each setting that its paper leaves open, one setting at a time.
    /// Finished runs are reused, so a repeated command continues after an interruption
    #[arg(long, conflicts_with_all = ["list", "why", "values", "json", "profile", "first_seed"])]
    pub(crate) readings: bool,
    /// Run nothing, but draw figures and compute effects from recorded means. FILE is `recorded`, a
    /// folder such as `claims/values`, or the `values.csv` of an earlier command
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "why", "record", "seeds"])]
    pub(crate) values: Option<PathBuf>,
    /// List the experiments and their estimated times on this machine
    #[arg(long)]
    pub(crate) list: bool,
    /// Write the data package into this folder: statements, verdicts, values, experiments,
    /// scenarios, fingerprints and checksums, which `bufferlab verify` checks; run nothing
    #[arg(long, value_name = "DIR", conflicts_with_all = ["names", "list", "why", "readings", "values", "json", "record"])]
    pub(crate) package: Option<PathBuf>,
    /// Choose the size: `quick` takes minutes, `paper` is the papers' own size and takes hours
    #[arg(long, default_value = "quick", value_parser = PossibleValuesParser::new(["quick", "paper"]))]
    pub(crate) scale: String,
    /// Choose the source of settings that the papers leave open: the paper's text, or the authors'
    /// public simulator where one exists [default: the experiment's reading]
    #[arg(long, value_parser = PossibleValuesParser::new(["paper", "artifact"]))]
    pub(crate) profile: Option<String>,
    /// Run this many seeds per point of an experiment [default: the number in the experiment's
    /// file]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    pub(crate) seeds: Option<NonZero<u32>>,
    /// Shift all seeds by this number, to see whether a verdict depends on the seeds
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = seed::<u32>)]
    #[arg(conflicts_with_all = ["record", "why", "list"])]
    pub(crate) first_seed: u32,
    /// Judge statements with this many sets of seeds: a statement passes only if it passes with
    /// each set
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    #[arg(conflicts_with_all = ["first_seed", "why", "list", "readings", "values"])]
    pub(crate) seed_sets: NonZero<u32>,
    /// Write the results into this folder, and reuse its finished runs
    #[arg(long, value_name = "DIR", default_value = "results/reproduce")]
    pub(crate) out: PathBuf,
    /// Use a folder of custom experiments, or a checkout's `experiments` [default: the papers'
    /// experiments]
    #[arg(long, value_name = "DIR")]
    pub(crate) registry: Option<PathBuf>,
    /// Execute this many runs in parallel [default: the number of cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Record the verdicts in this table of a checkout, `claims/verdicts.csv`; with --why, record
    /// the answers in `claims/why.csv`, with --readings in `claims/multiverse.csv` [default: no
    /// record]
    #[arg(long, value_name = "FILE", requires = "date")]
    pub(crate) record: Option<PathBuf>,
    /// Set the date of the recorded verdicts, such as 2026-11-22
    #[arg(long, value_name = "DATE")]
    pub(crate) date: Option<String>,
}

/// Outputs and files that have a JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    /// Scenario files
    Scenario,
    /// Output of `run`, `compare`, `report` and `testbed run` with `--json`, and the
    /// file `comparison.json`
    Comparison,
    /// Output of `sweep --json`, and the file `sweep.json`
    Sweep,
    /// Output of `explain --json`
    Explanations,
    /// Output of `explain --critical-path --json`
    CriticalPaths,
    /// Output of `policy list --json` and `policy show --json`
    Policies,
    /// Output of `check --json`
    Check,
    /// Output of `verify --json`
    Verify,
    /// Output of `theory CALCULATOR --json`
    Theory,
    /// Output of `reproduce NAMES --json`
    Reproduce,
    /// Output of `bench --json`
    Bench,
    /// Output of `switch --json` after forwarding packets
    Switch,
    /// Output of `switch --verify --json` and `switch --synthetic --json`
    Parity,
    /// Output of `testbed check --json`
    TestbedCheck,
    /// Output of `testbed reproduce --json`
    TestbedReproduce,
}

/// Arguments of the command `report`.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("drawn").args(["figures", "table"]).multiple(true))]
pub(crate) struct ReportArgs {
    /// Folder that `run`, `compare` or `sweep` has written
    pub(crate) dir: PathBuf,
    /// Print the results as JSON (`bufferlab schema comparison`) instead of the report's path
    #[arg(long)]
    pub(crate) json: bool,
    /// Exclude the warm-up, in which flows find an empty network. Print the end of the warm-up
    /// (MSER-5) and the results without the warm-up, and write nothing
    #[arg(long, conflicts_with = "figures")]
    pub(crate) steady: bool,
    /// Write the charts of completion times, or the charts of a sweep over its first key, as SVG,
    /// PDF, PNG and CSV [default folder: figures]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "figures")]
    pub(crate) figures: Option<PathBuf>,
    /// Write completion times and pauses of a run as fct.txt and pfc.txt of HPCC's simulator
    /// [default folder: hpcc]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "hpcc", conflicts_with = "steady")]
    pub(crate) hpcc: Option<PathBuf>,
    /// Choose the style of the figures: for screens, or for a column of a paper
    #[arg(long, value_enum, default_value = "screen", requires = "figures")]
    pub(crate) style: Style,
    /// Print the means with their intervals as a table for a document instead of the report's path
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with_all = ["json", "steady"])]
    pub(crate) table: Option<Table>,
    /// List the names and titles of all metrics of the folder
    #[arg(long, conflicts_with_all = ["json", "steady", "drawn"])]
    pub(crate) list_metrics: bool,
    /// Rename a policy, and in figures of a sweep a key or a metric (repeatable): --label dt="DT"
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = parse_label, requires = "drawn")]
    pub(crate) labels: Vec<(String, String)>,
    /// Show these metrics in tables and in figures of a sweep, named as in comparison.csv and
    /// sweep.csv [default: the headline metrics]
    #[arg(long = "metric", value_name = "NAMES", value_delimiter = ',', requires = "drawn")]
    pub(crate) metrics: Vec<String>,
}

/// Value of `--table`: the format of a table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Table {
    /// Markdown table with pipes, in the format of GitHub and pandoc
    #[value(alias = "md")]
    Markdown,
    /// LaTeX tabular with the rules of the package booktabs
    #[value(alias = "tex")]
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

/// Value of `--style`: the style of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// Figures with colours and a caption, 640 pixels wide
    Screen,
    /// Figures with greys, dashes and markers, without caption, 240 points wide; PNG files have 600
    /// dots per inch
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

/// Arguments of the command `verify`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// Folders of results in which the command checks every run
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Print the findings as JSON (`bufferlab schema verify`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of the command `bench`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Repeat the run this many times, and print the fastest and the median speed
    #[arg(long, default_value = "5", value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = count::<NonZero<u32>>)]
    pub(crate) runs: NonZero<u32>,
    /// Use this many threads per run; the number does not change the results. The threads share the
    /// network's racks
    #[arg(long, default_value = "1", value_name = "N")]
    #[arg(allow_negative_numbers = true, value_parser = count::<NonZero<usize>>)]
    pub(crate) threads: NonZero<usize>,
    /// Print the measurements as JSON (`bufferlab schema bench`)
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parser of names that may have blanks before and after them: "dt, abm".
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

/// Parser of names between commas. Empty names are omitted, such as the name after the
/// comma of `dt,`.
#[derive(Clone, Debug)]
struct Listed(Trimmed);

impl TypedValueParser for Listed {
    type Value = Vec<String>;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Vec<String>, clap::Error> {
        let parts = value.to_str().unwrap_or_default().split(',').map(str::trim);
        let names: Vec<&str> = parts.filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            return self.0.parse_ref(command, argument, value).map(|name| vec![name]);
        }
        names.into_iter().map(|name| self.0.parse_ref(command, argument, OsStr::new(name))).collect()
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Names and aliases of the registered policies, as clap's possible values.
fn policy_names() -> impl Iterator<Item = PossibleValue> {
    policies().into_iter().map(|info| PossibleValue::new(info.name).aliases(info.aliases))
}

/// Parser of a registered policy's name or alias.
fn policy_parser() -> impl TypedValueParser<Value = &'static PolicyInfo> {
    Trimmed(PossibleValuesParser::new(policy_names()))
        .map(|name| find_policy(&name.to_lowercase()).expect("only names of the registry are accepted"))
}

/// Parser of names or aliases of registered policies, between commas.
fn policies_parser() -> impl TypedValueParser<Value = TestbedPolicies> {
    let known =
        |name: String| find_policy(&name.to_lowercase()).expect("only names of the registry are accepted");
    Listed(Trimmed(PossibleValuesParser::new(policy_names())))
        .map(move |names| TestbedPolicies(names.into_iter().map(known).collect()))
}

/// Parser of names or aliases of registered policies, or `all`, between commas.
fn choice_parser() -> impl TypedValueParser<Value = PolicyList> {
    let names = policy_names().chain([PossibleValue::new(PolicySelection::ALL)]);
    let known = |name: String| {
        PolicySelection::from_name(&name.to_lowercase()).expect("only names of the registry are accepted")
    };
    Listed(Trimmed(PossibleValuesParser::new(names)))
        .map(move |names| PolicyList(names.into_iter().map(known).collect()))
}

/// Parser of `--tie-order`: names of the orders of simultaneous events.
fn tie_order_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(
        TieOrder::WORDS.iter().map(|word| PossibleValue::new(word.name).help(word.meaning)),
    )
}

/// Error about a text that an option does not accept.
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
    #[error(
        "a key has one value, not a range; `bufferlab sweep SCENARIO --vary 'KEY=[\"1 MB\", \"2 MB\"]'` tries several"
    )]
    Range,
    #[error(
        "list the values instead of a range, such as --vary 'switch.buffer=[\"1 MB\", \"1.5 MB\", \"2 MB\"]'"
    )]
    VaryRange,
}

/// Reads a whole number that is at least one.
fn count<T: FromStr>(text: &str) -> Result<T, Mistyped> {
    text.parse().map_err(|_| Mistyped::Count)
}

/// Reads the seed of a run, or the shift of all seeds.
fn seed<T: FromStr>(text: &str) -> Result<T, Mistyped> {
    text.parse().map_err(|_| Mistyped::Seed)
}

fn parse_vary(text: &str) -> Result<Vary, Mistyped> {
    let (key, values) = key_and_value(text).ok_or(Mistyped::Vary)?;
    let values = split_values(&values);
    if values.iter().any(|value| is_range(value)) {
        return Err(Mistyped::VaryRange);
    }
    if values.iter().any(String::is_empty) {
        return Err(Mistyped::EmptyValue);
    }
    Ok(Vary { key, values })
}

/// Reads a name, with optional parameters, and the text that replaces
/// the name: `dt(alpha=2)=DT, generous`.
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
    let (key, value) = key_and_value(text).ok_or(Mistyped::Override)?;
    if is_range(&value) { Err(Mistyped::Range) } else { Ok((key, value)) }
}

fn key_and_value(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty())?;
    Some((key.trim().to_owned(), value.trim().to_owned()))
}

/// Whether a value is a range of numbers, such as "1MB..2MB". The program refuses ranges as values
/// of a key.
fn is_range(value: &str) -> bool {
    let is_number = |text: &str| text.trim().starts_with(|c: char| c.is_ascii_digit());
    value
        .split_once("..")
        .is_some_and(|(from, to)| is_number(from) && is_number(to.trim_start_matches(['.', '='])))
}
