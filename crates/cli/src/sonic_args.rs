//! The command line of the command `sonic`.

use crate::examples;
use bufferlab_operator::Kind;
use bufferlab_sonic::lint::{Allowance, Severity};
use bufferlab_sonic::silicon::ChipChoice;
use clap::Subcommand;
use std::num::NonZero;
use std::path::PathBuf;

/// Subcommands of the command `sonic`.
#[derive(Debug, Subcommand)]
pub(crate) enum SonicCommand {
    /// Explain a configuration: the memory, and every traffic class with each limit that can apply
    #[command(after_help = examples::SONIC_EXPLAIN)]
    Explain {
        #[command(flatten)]
        files: SonicFiles,
        /// Print the explanation as JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a configuration against rules; print findings with numbers and suggestions
    #[command(after_help = examples::SONIC_LINT)]
    Lint(LintArgs),
    /// Write a memo of one page for a change request: memory, findings, margins, recommendation
    #[command(after_help = examples::SONIC_REPORT)]
    Report {
        #[command(flatten)]
        files: SonicFiles,
        /// Write the page (HTML) to this file instead of stdout; browsers print the page as PDF
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// List the rules of `lint` with their reasons and sources
    #[command(after_help = examples::SONIC_RULES)]
    Rules,
    /// Compare two configurations: the differences in bytes and their consequences
    #[command(after_help = examples::SONIC_DIFF)]
    Diff {
        /// Old and new configuration, each a file or a folder; with --redis, name only the new
        /// configuration
        #[arg(required = true, num_args = 1..=2, value_names = ["OLD", "NEW"])]
        sides: Vec<PathBuf>,
        /// Read the old configuration from the Redis of a running switch: HOST:PORT or the path of
        /// a socket
        #[arg(long, value_name = "ADDRESS")]
        redis: Option<String>,
        /// Add a file to the old and the new configuration, such as pg_profile_lookup.ini
        /// (repeatable)
        #[arg(long, value_name = "FILE")]
        with: Vec<PathBuf>,
        /// Name the chip [default: the chip of the configuration]
        #[arg(long, value_name = "NAME")]
        chip: Option<String>,
        /// Print the comparison as JSON
        #[arg(long)]
        json: bool,
    },
    /// Predict after how many packets the chip pauses, drops and resumes
    #[command(after_help = examples::SONIC_PREDICT)]
    Predict {
        #[command(flatten)]
        files: SonicFiles,
        /// Set the size of the test packets
        #[arg(long, default_value = "64 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
        /// Print the prediction as JSON
        #[arg(long)]
        json: bool,
    },
    /// Simulate the switch under your traffic, compare other alphas and policies, and recommend a
    /// setting
    #[command(after_help = examples::SONIC_WHAT_IF)]
    WhatIf(WhatIfArgs),
    /// Print test vectors for qualification: packets until pause, loss and resume, calculated and
    /// simulated packet by packet
    #[command(after_help = examples::SONIC_VECTORS)]
    Vectors {
        #[command(flatten)]
        files: SonicFiles,
        /// Set the size of the test packets
        #[arg(long, default_value = "64 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
        /// Choose the output format: `yaml` is the format of sonic-mgmt's qos_params
        #[arg(long, value_enum, default_value = "text")]
        format: VectorFormat,
        /// Write two scenarios for the qualification of every profile into this folder: one with a
        /// sender that obeys pauses, and one with a sender that ignores pauses
        #[arg(long, value_name = "FOLDER")]
        scenarios: Option<PathBuf>,
        /// Compare the expected packet counts in this file (qos_params of sonic-mgmt) with the
        /// prediction, and name the term of the sum that differs
        #[arg(long, value_name = "FILE", conflicts_with = "scenarios")]
        expect: Option<PathBuf>,
        /// Compare only this topology of the file, such as topo-t1-lag [default: all]
        #[arg(long, value_name = "NAME", requires = "expect")]
        topology: Option<String>,
    },
    /// Simulate a chip that answers probes: requests on stdin and answers on stdout, a line of JSON
    /// each (sonic-mgmt's `prepare` and `check`)
    #[command(after_help = examples::SONIC_PROBE)]
    Probe {
        #[command(flatten)]
        files: SonicFiles,
        /// Set the size of the test packets
        #[arg(long, default_value = "64 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
    },
    /// Estimate alphas, pools, cells and reserves from watermarks and counters, and name the
    /// configured values that differ from the estimates
    #[command(after_help = examples::SONIC_CALIBRATE)]
    Calibrate {
        #[command(flatten)]
        files: SonicFiles,
        /// Read a dump of COUNTERS_DB (JSON); repeat the option in the order of time, and clear
        /// watermarks between two dumps
        #[arg(long, required = true, value_name = "FILE")]
        counters: Vec<PathBuf>,
        /// Set the size of the largest packet: a watermark may differ from a limit by one packet
        #[arg(long, default_value = "9100 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
        /// Print the estimates as JSON
        #[arg(long)]
        json: bool,
    },
    /// Adapt alphas to congestion, as ABM's control plane does. Read COUNTERS_DB and print changes
    /// to CONFIG_DB; the option --apply writes the changes
    #[command(after_help = examples::SONIC_TUNE)]
    Tune(TuneArgs),
    /// Compare the headroom in every row of an NVIDIA switch's pg_profile_lookup.ini with the
    /// calculation of SONiC's dynamic model
    #[command(after_help = examples::SONIC_HEADROOM)]
    Headroom {
        /// Files pg_profile_lookup.ini; the hardware model follows from each file's name unless
        /// --chip names the family
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Name the chip [default: the chip that the file's name implies]
        #[arg(long, value_name = "NAME")]
        chip: Option<String>,
    },
}

/// Options that name the configuration files and the chip of a switch.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SonicFiles {
    /// Files of one switch, or folders of such files: config_db.json, rendered buffers and QoS,
    /// pg_profile_lookup.ini, port_config.ini, output of `show buffer configuration`. A file whose
    /// name ends in asicN belongs to chip N
    #[arg(required_unless_present = "redis", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Read CONFIG_DB, APPL_DB and STATE_DB from the Redis of a running switch, too: HOST:PORT or
    /// the path of a socket
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) redis: Option<String>,
    /// Name the chip [default: the chip of the configuration]
    #[arg(long, value_name = "NAME")]
    pub(crate) chip: Option<String>,
    /// Set the size of a memory cell, for a chip that is not in the list [default: the chip's cell]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) cell: Option<u64>,
    /// Set the number of slices of the memory, which share no bytes [default: the chip's number]
    #[arg(long, value_name = "N")]
    pub(crate) slices: Option<u64>,
}

impl SonicFiles {
    /// Returns the chip that the options name. Without a name, the configuration determines the
    /// chip.
    pub(crate) fn chip(&self) -> ChipChoice {
        ChipChoice { name: self.chip.clone(), cell: self.cell, slices: self.slices }
    }
}

/// Arguments of the command `sonic lint`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    pub(crate) files: SonicFiles,
    /// Choose the format of the findings
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Switch a rule off, and give the reason (repeatable)
    #[arg(long, value_name = "RULE=REASON", value_parser = allowance)]
    pub(crate) allow: Vec<Allowance>,
    /// Exit with code 1 for findings of this severity or worse
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) fail_on: FailOn,
    /// Set the round trip of the network without queues; a number alone is microseconds
    #[arg(long, value_name = "TIME", default_value = "8 us", value_parser = microseconds)]
    pub(crate) round_trip: f64,
}

/// Arguments of the command `sonic what-if`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    #[command(flatten)]
    pub(crate) files: SonicFiles,
    /// Compare with another configuration of the same ports, too: a file, or a folder of files
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Add a file to each compared configuration, such as pg_profile_lookup.ini (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Vec<PathBuf>,
    /// Choose the traffic: `incast` (lossless), `web-search` (lossy), `rdma-tcp` (lossless incast
    /// beside lossy web search), `storage`
    #[arg(long, default_value = "rdma-tcp", value_name = "KIND", value_parser = traffic)]
    pub(crate) traffic: Kind,
    /// Simulate a leaf-spine network of this many leaves and half as many spines, all with this
    /// configuration [default: one switch with a host behind every port]
    #[arg(long, value_name = "N")]
    pub(crate) leaves: Option<usize>,
    /// Set the offered load as a fraction of the rate of the hosts' links
    #[arg(long, default_value = "0.4", value_name = "PART")]
    pub(crate) load: f64,
    /// Set the number of servers that answer a client at once [default: 32, or all other hosts]
    #[arg(long, value_name = "N")]
    pub(crate) fan_in: Option<usize>,
    /// Set the size of all answers to a client together, such as "2 MB" [default: a quarter of
    /// the shared buffer]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) request: Option<u64>,
    /// Set the simulated time in which flows start, such as "20 ms" [default: time for about
    /// 2.5 million packet-hops]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) duration: Option<f64>,
    /// Run each variant with this many seeds
    #[arg(long, default_value = "5", value_name = "N")]
    pub(crate) seeds: NonZero<u32>,
    /// Write the scenario and the results into this folder [default: results/sonic-what-if]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the scenario and run nothing
    #[arg(long)]
    pub(crate) only_write: bool,
    /// Remove runs of a different scenario from the folder first [default: keep them and refuse to
    /// run]
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show earlier runs of the scenario in the folder, too [default: only requested runs]
    #[arg(long)]
    pub(crate) with_earlier: bool,
    /// Execute this many runs in parallel [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Print the comparison and the recommendation as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of the command `sonic tune`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TuneArgs {
    /// Connect to the Redis of the switch: HOST:PORT or the path of a socket
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) redis: String,
    /// Write the new alphas (dynamic_th) to the switch [default: a dry run, which writes nothing]
    #[arg(long)]
    pub(crate) apply: bool,
    /// Read the counters at this interval
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = seconds)]
    pub(crate) interval: f64,
    /// Lower dynamic_th by at most this many steps below the configured value
    #[arg(long, value_name = "STEPS", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=14))]
    pub(crate) down: u8,
    /// Raise dynamic_th by at most this many steps above the configured value
    #[arg(long, value_name = "STEPS", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=14))]
    pub(crate) up: u8,
    /// Change a profile at most once in this many intervals
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) hold: u32,
    /// Restore all values and end after this many faults in a row (no answer, impossible values,
    /// refused writes)
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) faults: u32,
    /// Tune lossless groups, too, which moves the pause points of these groups
    #[arg(long)]
    pub(crate) lossless: bool,
    /// Keep the configured values in this file while `tune` sets other values. After a crash, the
    /// next `tune` restores the configured values [default: bufferlab-tune-ADDRESS.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// End the command after this many intervals [default: at Ctrl-C]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Print each event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn traffic(text: &str) -> Result<Kind, String> {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    Kind::from_name(text).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// Reads a size with its unit, or a number of bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    match text.parse() {
        Ok(bytes) => Ok(bytes),
        Err(_) => bufferlab_scenario::parse_size(text).map_err(|error| error.to_string()),
    }
}

/// Reads the size of a packet up to 16 KiB, with its unit or in bytes.
fn packet(text: &str) -> Result<u64, String> {
    const LARGEST: u64 = 16_384;
    let bytes = bytes(text)?;
    let fits = (1..=LARGEST).contains(&bytes);
    fits.then_some(bytes).ok_or_else(|| format!("expected a size from 1 B to {LARGEST} B"))
}

/// Reads a time with its unit, or a number of microseconds.
fn microseconds(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(number) => Ok(number),
        Err(_) => Ok(seconds(text)? * 1e6),
    }
}

/// Reads a size with its unit, such as "2 MB".
pub(crate) fn size(text: &str) -> Result<u64, String> {
    bufferlab_scenario::parse_size(text).map_err(|error| format!("{error}; expected a size such as \"2 GB\""))
}

fn seconds(text: &str) -> Result<f64, String> {
    let time = bufferlab_scenario::parse_time(text)
        .map_err(|error| format!("{error}; expected a time such as \"10 ms\""))?;
    Ok(time.0 as f64 * 1e-12)
}

/// Output formats of the findings of `sonic lint`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// Findings as text for people
    Text,
    /// Findings as a JSON list
    Json,
    /// SARIF 2.1.0, a format that code hosts such as GitHub read
    Sarif,
}

/// Output formats of test vectors of a switch.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum VectorFormat {
    /// Test vectors as text for people
    Text,
    /// YAML with the names of sonic-mgmt's qos_params
    Yaml,
    /// JSON with all calculated and simulated numbers
    Json,
}

/// Values of `--fail-on`: findings for which the command fails.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum FailOn {
    /// Fail on errors
    Error,
    /// Fail on errors and warnings
    Warning,
    /// Fail on findings of any severity
    Info,
    /// Succeed whatever the findings are
    Never,
}

impl FailOn {
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

fn allowance(text: &str) -> Result<Allowance, String> {
    let (rule, reason) =
        text.split_once('=').ok_or("expected RULE=REASON, such as SB008=marking is done by hosts")?;
    Ok(Allowance { rule: rule.trim().to_owned(), reason: reason.trim().to_owned() })
}
