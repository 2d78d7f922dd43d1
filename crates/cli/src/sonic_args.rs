//! The command line of `sonic`.

use bufferlab_sonic::lint::{Allowance, Severity};
use clap::Subcommand;
use std::path::PathBuf;

/// Commands for SONiC configurations.
#[derive(Debug, Subcommand)]
pub(crate) enum SonicCommand {
    /// What a configuration means: the memory, and the way of every traffic class with each limit that can bind
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
        /// Before: a file, or a folder of files
        old: PathBuf,
        /// After: a file, or a folder of files
        new: PathBuf,
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
        /// Size of the packets (bytes)
        #[arg(long, default_value = "64", value_name = "BYTES")]
        #[arg(value_parser = clap::value_parser!(u64).range(1..=16_384))]
        packet: u64,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Headroom of every row of a pg_profile_lookup.ini of an NVIDIA switch beside the script's calculation
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
    /// Files of one switch (config_db.json, rendered buffers and QoS, pg_profile_lookup.ini, port_config.ini, output
    /// of `show buffer configuration`), or folders of them. Names that end in asicN belong to that chip
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
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
    /// Round trip of the network without queues (microseconds)
    #[arg(long, value_name = "US", default_value = "8")]
    pub(crate) round_trip: f64,
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
