//! The command line of `sonic`.

use bufferlab_operator::Kind;
use bufferlab_sonic::lint::{Allowance, Severity};
use clap::Subcommand;
use std::num::NonZero;
use std::path::PathBuf;

/// Commands for SONiC configurations.
#[derive(Debug, Subcommand)]
pub(crate) enum SonicCommand {
    /// What a configuration means: the memory, and the way of every traffic class with each limit
    /// that can bind
    Explain {
        #[command(flatten)]
        files: SonicFiles,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// What is wrong with a configuration: rules with figures and suggestions
    Lint(LintArgs),
    /// The rules of `lint`
    Rules,
    /// What a change of configuration means, in bytes and consequences
    Diff {
        /// Before and after: a file, or a folder of files, each; with --redis only what is to come
        #[arg(required = true, num_args = 1..=2, value_names = ["OLD", "NEW"])]
        sides: Vec<PathBuf>,
        /// The Redis of a running switch is what was before: HOST:PORT or the path of its socket
        #[arg(long, value_name = "ADDRESS")]
        redis: Option<String>,
        /// A file that both have, such as pg_profile_lookup.ini; several times if need be
        #[arg(long, value_name = "FILE")]
        with: Vec<PathBuf>,
        /// The chip, where the configuration does not tell it
        #[arg(long, value_name = "NAME")]
        chip: Option<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Where the chip pauses, drops and resumes: packets that a qualification has to send
    Predict {
        #[command(flatten)]
        files: SonicFiles,
        /// Size of the packets
        #[arg(long, default_value = "64 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// How the switch behaves under your traffic, and what another alpha or policy would do: a
    /// scenario, a comparison, and a recommendation
    WhatIf(WhatIfArgs),
    /// Test vectors for qualification: packets until pause, loss and resume, by the chip's rules
    /// and simulated packet by packet
    Vectors {
        #[command(flatten)]
        files: SonicFiles,
        /// Size of the packets
        #[arg(long, default_value = "64 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
        /// Form of the output: `yaml` is that of sonic-mgmt's qos_params
        #[arg(long, value_enum, default_value = "text")]
        format: VectorFormat,
        /// Write the qualification of every profile into this folder as scenarios: one with a
        /// sender that obeys pauses, one with a sender that does not
        #[arg(long, value_name = "FOLDER")]
        scenarios: Option<PathBuf>,
    },
    /// A chip that answers probes: requests on stdin and answers on stdout, a line of JSON each
    /// (sonic-mgmt's `prepare` and `check`)
    Probe {
        #[command(flatten)]
        files: SonicFiles,
        /// Size of the packets
        #[arg(long, default_value = "64 B", value_name = "SIZE", value_parser = packet)]
        packet: u64,
    },
    /// Alphas that follow congestion, as ABM's control plane would set them: reads COUNTERS_DB and
    /// says what it would write to CONFIG_DB; with --apply it writes
    Tune(TuneArgs),
    /// Headroom of every row of a pg_profile_lookup.ini of an NVIDIA switch beside the script's
    /// calculation
    Headroom {
        /// Files; the hardware model is taken from each one's name unless --chip names the family
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The chip, where the file's name does not tell it
        #[arg(long, value_name = "NAME")]
        chip: Option<String>,
    },
}

/// Files of a switch.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SonicFiles {
    /// Files of one switch (config_db.json, rendered buffers and QoS, pg_profile_lookup.ini,
    /// port_config.ini, output of `show buffer configuration`), or folders of them. Names that end
    /// in asicN belong to that chip
    #[arg(required_unless_present = "redis", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The Redis of a running switch: HOST:PORT or the path of its socket; CONFIG_DB, APPL_DB and
    /// STATE_DB are read, beside files
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) redis: Option<String>,
    /// The chip, where the configuration does not tell it
    #[arg(long, value_name = "NAME")]
    pub(crate) chip: Option<String>,
}

/// `sonic lint`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    pub(crate) files: SonicFiles,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Switch a rule off, with the reason; several times if need be
    #[arg(long, value_name = "RULE=REASON", value_parser = allowance)]
    pub(crate) allow: Vec<Allowance>,
    /// Exit code 1 for findings of this severity or worse
    #[arg(long, value_enum, default_value = "error")]
    pub(crate) fail_on: FailOn,
    /// Round trip of the network without queues; a number alone is microseconds
    #[arg(long, value_name = "TIME", default_value = "8 us", value_parser = microseconds)]
    pub(crate) round_trip: f64,
}

/// `sonic what-if`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhatIfArgs {
    #[command(flatten)]
    pub(crate) files: SonicFiles,
    /// Another configuration of the same ports: a file, or a folder of files; it is compared, too
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// A file that both configurations have, such as pg_profile_lookup.ini; several times if need
    /// be
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Vec<PathBuf>,
    /// Traffic: `incast` (lossless), `web-search` (lossy), `rdma-tcp` (lossless incast beside lossy
    /// web search), `storage`
    #[arg(long, default_value = "rdma-tcp", value_name = "KIND", value_parser = traffic)]
    pub(crate) traffic: Kind,
    /// A leaf-spine of so many leaves and half as many spines, all of them this switch, instead of
    /// one switch with a host behind every port
    #[arg(long, value_name = "N")]
    pub(crate) leaves: Option<usize>,
    /// Offered load as a part of the hosts' links
    #[arg(long, default_value = "0.4", value_name = "PART")]
    pub(crate) load: f64,
    /// Servers that answer a client at once [default: 32, or all other hosts]
    #[arg(long, value_name = "N")]
    pub(crate) fan_in: Option<usize>,
    /// Size of all answers together, such as "2 MB" [default: a quarter of the shared buffer]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) request: Option<u64>,
    /// Simulated time in which flows start, such as "20 ms" [default: about 2.5 million
    /// packet-hops]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) duration: Option<f64>,
    /// Number of seeds: each variant runs with every one
    #[arg(long, default_value = "5", value_name = "N")]
    pub(crate) seeds: NonZero<u32>,
    /// Folder of the scenario and the results [default: results/sonic-what-if]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the scenario and run nothing
    #[arg(long)]
    pub(crate) only_write: bool,
    /// Remove runs of another scenario from the folder first; without this they stay, and nothing
    /// runs
    #[arg(long)]
    pub(crate) replace: bool,
    /// Runs at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZero<usize>>,
    /// Print the comparison and the recommendation as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `sonic tune`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TuneArgs {
    /// The Redis of the switch: HOST:PORT or the path of its socket
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) redis: String,
    /// Write dynamic_th; without it nothing is written
    #[arg(long)]
    pub(crate) apply: bool,
    /// Time between two looks at the counters
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = seconds)]
    pub(crate) interval: f64,
    /// Steps of dynamic_th that alpha may fall below the configured one
    #[arg(long, value_name = "STEPS", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=14))]
    pub(crate) down: u8,
    /// Steps that it may rise above
    #[arg(long, value_name = "STEPS", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=14))]
    pub(crate) up: u8,
    /// Intervals from one change of a profile to the next
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) hold: u32,
    /// Faults in a row (no answer, nonsense, refused writes) after which everything is put back and
    /// the command ends
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) faults: u32,
    /// Tune lossless groups, too: that moves the points at which they pause
    #[arg(long)]
    pub(crate) lossless: bool,
    /// File that keeps what was configured for as long as something else is: a later start puts
    /// back what a killed one left [default: bufferlab-tune-ADDRESS.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// End after so many intervals [default: at Ctrl-C]
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u64>,
    /// Print events as lines of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn traffic(text: &str) -> Result<Kind, String> {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    Kind::of(text).ok_or_else(|| format!("expected one of {}", names.join(", ")))
}

/// A size with its unit, or a number of bytes.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    match text.parse() {
        Ok(bytes) => Ok(bytes),
        Err(_) => bufferlab_scenario::parse_size(text).map_err(|error| error.to_string()),
    }
}

/// Size of a packet: up to 16 KiB, with its unit or in bytes.
fn packet(text: &str) -> Result<u64, String> {
    const LARGEST: u64 = 16_384;
    let bytes = bytes(text)?;
    let fits = (1..=LARGEST).contains(&bytes);
    fits.then_some(bytes).ok_or_else(|| format!("expected a size from 1 B to {LARGEST} B"))
}

/// A time with its unit, or a number of microseconds.
fn microseconds(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(number) => Ok(number),
        Err(_) => Ok(seconds(text)? * 1e6),
    }
}

fn size(text: &str) -> Result<u64, String> {
    bufferlab_scenario::parse_size(text).map_err(|error| error.to_string())
}

fn seconds(text: &str) -> Result<f64, String> {
    let time = bufferlab_scenario::parse_time(text).map_err(|error| error.to_string())?;
    Ok(time.0 as f64 * 1e-12)
}

/// Forms of findings.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// A list of findings
    Json,
    /// SARIF 2.1.0, for code hosts
    Sarif,
}

/// Forms of vectors.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum VectorFormat {
    /// For people
    Text,
    /// qos_params
    Yaml,
    /// Everything
    Json,
}

/// What makes a check fail.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum FailOn {
    /// Errors
    Error,
    /// Errors and warnings
    Warning,
    /// Everything
    Info,
    /// Nothing
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
