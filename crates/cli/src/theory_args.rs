//! What can be typed after `bufferlab theory`.

use crate::args::count;
use bufferlab_scenario::{Dimension, QuantityError, parse_rate, parse_size, parse_time};
use bufferlab_theory::calculators::burst_tolerance::Policy;
use bufferlab_theory::figures::FIGURES;
use bufferlab_theory::forms::sonic_headroom::Generation;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use std::num::NonZero;
use std::path::PathBuf;

/// The calculators.
#[derive(Debug, Subcommand)]
pub(crate) enum TheoryCommand {
    /// How large a burst each policy absorbs without loss, and the state of the buffer that it meets
    BurstTolerance(BurstToleranceArgs),
    /// Which alphas absorb a given burst (Plasticine)
    Alpha(AlphaArgs),
    /// Which share of the buffer an alpha gives, and the reverse
    Shares(SharesArgs),
    /// What every priority gets at least and at most (ABM)
    Guarantees(GuaranteesArgs),
    /// How long a queue takes to drain at most (ABM)
    DrainTime(DrainTimeArgs),
    /// Where to mark (ECN's K), and which burst that leaves room for
    Ecn(EcnArgs),
    /// PFC headroom by every formula in use, side by side
    Headroom(HeadroomArgs),
    /// Buffer per port and Gb/s of known chips
    Chips(ChipsArgs),
    /// TDT's counters for a switch
    TdtParameters(TdtParametersArgs),
    /// An analytical figure of a paper, computed anew: its points as CSV, or a page with its charts
    Figure(FigureArgs),
}

/// `figure`.
#[derive(Debug, Args)]
pub(crate) struct FigureArgs {
    /// Which one; all of them are listed if none is named
    #[arg(value_parser = PossibleValuesParser::new(FIGURES.iter().map(|entry| PossibleValue::new(entry.name).help(entry.summary))))]
    pub(crate) name: Option<String>,
    /// Write a page with the charts instead of printing the points
    #[arg(long, value_name = "FILE", requires = "name")]
    pub(crate) out: Option<PathBuf>,
}

/// The shared buffer.
#[derive(Debug, Args)]
pub(crate) struct BufferArgs {
    /// Shared buffer
    #[arg(long, default_value = "4 MB", value_name = "SIZE", value_parser = size)]
    pub(crate) buffer: f64,
}

/// The rate of the ports.
#[derive(Debug, Args)]
pub(crate) struct PortRateArgs {
    /// Rate of every port
    #[arg(long, default_value = "10 Gb/s", value_name = "RATE", value_parser = rate)]
    pub(crate) port_rate: f64,
}

/// `burst-tolerance`.
#[derive(Debug, Args)]
pub(crate) struct BurstToleranceArgs {
    /// The policy to derive; all of them side by side if none is named
    #[arg(long, value_name = "NAME", ignore_case = true, value_parser = policy_parser())]
    pub(crate) policy: Option<Policy>,
    #[command(flatten)]
    pub(crate) buffer: BufferArgs,
    #[command(flatten)]
    pub(crate) port_rate: PortRateArgs,
    /// Ports of the switch
    #[arg(long, default_value = "32", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) ports: u32,
    /// Queues of a port
    #[arg(long, default_value = "8", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) queues: u32,
    /// Ports with congested queues when the burst comes
    #[arg(long, default_value = "4", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) congested: u32,
    /// Congested queues on each of them, sharing its rate
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) congested_queues: u32,
    /// Priorities over which the congested queues of a port are spread
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) priorities: u32,
    /// Alpha of the congested queues
    #[arg(long, default_value = "0.5", value_name = "ALPHA", allow_negative_numbers = true)]
    pub(crate) alpha: f64,
    /// Arrival rate of the burst at each of its ports
    #[arg(long, default_value = "80 Gb/s", value_name = "RATE", value_parser = rate)]
    pub(crate) rate: f64,
    /// Alpha of the burst
    #[arg(long, default_value = "64", value_name = "ALPHA", allow_negative_numbers = true)]
    pub(crate) burst_alpha: f64,
    /// Ports to which a burst comes, one queue each
    #[arg(long, default_value = "1", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) burst_ports: u32,
    /// Congested queues on the port of the burst
    #[arg(long, default_value = "0", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) queues_beside_burst: u32,
    /// The burst has the priority of the congested queues [default: a priority of its own]
    #[arg(long)]
    pub(crate) same_priority: bool,
    /// LossPass: fraction of a full buffer that packets of large flows hold
    #[arg(long, default_value = "0.95", value_name = "FRACTION", allow_negative_numbers = true)]
    pub(crate) tau: f64,
}

/// `alpha`.
#[derive(Debug, Args)]
pub(crate) struct AlphaArgs {
    #[command(flatten)]
    pub(crate) buffer: BufferArgs,
    #[command(flatten)]
    pub(crate) port_rate: PortRateArgs,
    /// Arrival rate of the burst
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: f64,
    /// How long it arrives
    #[arg(long, value_name = "TIME", value_parser = time, required_unless_present = "burst")]
    pub(crate) duration: Option<f64>,
    /// How much arrives, instead of --duration
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "duration")]
    pub(crate) burst: Option<f64>,
    /// The largest alpha of every other priority, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "ALPHAS",
        default_value = "0.5",
        allow_negative_numbers = true
    )]
    pub(crate) others: Vec<f64>,
}

/// `shares`.
#[derive(Debug, Args)]
pub(crate) struct SharesArgs {
    /// Shared buffer, to see sizes instead of percentages
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) buffer: Option<f64>,
    /// Numbers of equal congested queues, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS", default_value = "1,2,4,8,32", value_parser = whole)]
    pub(crate) queues: Vec<u32>,
    /// Convert this alpha into a share
    #[arg(long, value_name = "ALPHA", allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Convert this share of the buffer (0 to 1) into an alpha
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true)]
    pub(crate) share: Option<f64>,
}

/// `guarantees`.
#[derive(Debug, Args)]
pub(crate) struct GuaranteesArgs {
    #[command(flatten)]
    pub(crate) buffer: BufferArgs,
    /// Alpha of every priority that uses the buffer, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "ALPHAS",
        default_value = "0.5,0.5",
        allow_negative_numbers = true
    )]
    pub(crate) alphas: Vec<f64>,
    /// Smallest drain rate of a congested queue, as a fraction of the port rate
    #[arg(long, value_name = "FRACTION", default_value = "1", allow_negative_numbers = true)]
    pub(crate) gamma: f64,
}

/// `drain-time`.
#[derive(Debug, Args)]
pub(crate) struct DrainTimeArgs {
    #[command(flatten)]
    pub(crate) buffer: BufferArgs,
    #[command(flatten)]
    pub(crate) port_rate: PortRateArgs,
    /// Alpha of every priority that uses the buffer, separated by commas
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "ALPHAS",
        default_value = "0.5,0.5",
        allow_negative_numbers = true
    )]
    pub(crate) alphas: Vec<f64>,
    /// Congested queues of the priority, on as many ports
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) congested: u32,
}

/// `ecn`.
#[derive(Debug, Args)]
pub(crate) struct EcnArgs {
    #[command(flatten)]
    pub(crate) port_rate: PortRateArgs,
    /// Round trip without queues
    #[arg(long, value_name = "TIME", default_value = "80 us", value_parser = time)]
    pub(crate) rtt: f64,
    /// Size of a packet
    #[arg(long, value_name = "SIZE", default_value = "1500 B", value_parser = size)]
    pub(crate) packet: f64,
    /// Long flows that send at the same time
    #[arg(long, value_name = "N", default_value = "4", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) flows: u32,
    /// Buffer of the port, to see the room for bursts
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) buffer: Option<f64>,
    /// K that is set [default: the least for DCTCP]
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "buffer")]
    pub(crate) threshold: Option<f64>,
    /// Burst to leave room for
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "buffer")]
    pub(crate) burst: Option<f64>,
    /// LossPass: fraction of a full buffer that packets of large flows hold
    #[arg(long, default_value = "0.95", value_name = "FRACTION", allow_negative_numbers = true)]
    pub(crate) tau: f64,
}

/// `headroom`.
#[derive(Debug, Args)]
pub(crate) struct HeadroomArgs {
    /// Rate of the link
    #[arg(long, default_value = "100 Gb/s", value_name = "RATE", value_parser = rate)]
    pub(crate) rate: f64,
    /// Length of the cable in metres
    #[arg(long, default_value = "40", value_name = "METRES", allow_negative_numbers = true)]
    pub(crate) cable: f64,
    /// Largest frame of the port
    #[arg(long, default_value = "9100 B", value_name = "SIZE", value_parser = size)]
    pub(crate) mtu: f64,
    /// Cell of the buffer
    #[arg(long, default_value = "144 B", value_name = "SIZE", value_parser = size)]
    pub(crate) cell: f64,
    /// SONiC: largest frame of lossless traffic
    #[arg(long, default_value = "1024 B", value_name = "SIZE", value_parser = size)]
    pub(crate) lossless_mtu: f64,
    /// SONiC: share of packets of 64 B in lossless traffic, in percent
    #[arg(long, default_value = "50", value_name = "PERCENT", allow_negative_numbers = true)]
    pub(crate) small_packets: f64,
    /// SONiC: latency of the pipeline in KiB, from the switch's ASIC table
    #[arg(long, default_value = "18", value_name = "KIB", allow_negative_numbers = true)]
    pub(crate) pipeline_latency: f64,
    /// SONiC: delay of MAC and PHY in KiB, from the switch's ASIC table
    #[arg(long, default_value = "0.8", value_name = "KIB", allow_negative_numbers = true)]
    pub(crate) mac_phy_delay: f64,
    /// SONiC: delay of a gearbox, 0 without
    #[arg(long, default_value = "0", value_name = "NS", allow_negative_numbers = true)]
    pub(crate) gearbox_delay: f64,
    /// SONiC: lanes of the port
    #[arg(long, default_value = "4", value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = count::<NonZero<u32>>)]
    pub(crate) lanes: NonZero<u32>,
    /// SONiC: generation of the chip
    #[arg(long, default_value = "spectrum-1-to-3", value_name = "NAME")]
    pub(crate) generation: GenerationName,
    /// SONiC: the switch shares a headroom pool
    #[arg(long)]
    pub(crate) shared_headroom_pool: bool,
    /// SONiC: pause quanta that the peer still sends, for a speed that is not tabulated
    #[arg(long, value_name = "QUANTA", allow_negative_numbers = true)]
    pub(crate) peer_response: Option<f64>,
    /// IEEE: MAC and PHY delay of one end in bit times, for a speed that is not tabulated
    #[arg(long, value_name = "BITS", allow_negative_numbers = true, requires = "response_bits")]
    pub(crate) interface_bits: Option<f64>,
    /// IEEE: response of the peer in bit times, for a speed that is not tabulated
    #[arg(long, value_name = "BITS", allow_negative_numbers = true, requires = "interface_bits")]
    pub(crate) response_bits: Option<f64>,
}

/// Generations of the chip.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GenerationName {
    #[value(name = "spectrum-1-to-3")]
    Spectrum1To3,
    #[value(name = "spectrum-4", alias = "spectrum-5")]
    Spectrum4,
    #[value(name = "spectrum-6")]
    Spectrum6,
}

impl From<GenerationName> for Generation {
    fn from(name: GenerationName) -> Self {
        match name {
            GenerationName::Spectrum1To3 => Self::Before4,
            GenerationName::Spectrum4 => Self::Spectrum4Or5,
            GenerationName::Spectrum6 => Self::Spectrum6,
        }
    }
}

/// `chips`.
#[derive(Debug, Args)]
pub(crate) struct ChipsArgs {
    /// Ports of the switch
    #[arg(long, default_value = "32", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) ports: u32,
    #[command(flatten)]
    pub(crate) port_rate: PortRateArgs,
    /// Its buffer, to place it among the others
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) buffer: Option<f64>,
}

/// `tdt-parameters`.
#[derive(Debug, Args)]
pub(crate) struct TdtParametersArgs {
    #[command(flatten)]
    pub(crate) buffer: BufferArgs,
    /// Size of a packet, the unit of the counters
    #[arg(long, value_name = "SIZE", default_value = "1500 B", value_parser = size)]
    pub(crate) packet: f64,
    /// Ports of the switch
    #[arg(long, default_value = "32", value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub(crate) ports: u32,
    /// Slowest burst to recognise, in port rates
    #[arg(long, default_value = "2", value_name = "RATIO", allow_negative_numbers = true)]
    pub(crate) burst_ratio: f64,
}

fn policy_parser() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(Policy::ALL.map(|policy| PossibleValue::new(policy.name()))).map(|name| {
        let known = Policy::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(&name));
        known.expect("only these names are accepted")
    })
}

fn whole(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

/// Bytes.
fn size(text: &str) -> Result<f64, String> {
    parse_size(text).map(|bytes| bytes as f64).map_err(|error| expected(&error, Dimension::Size, "4 MB"))
}

/// Bits per second.
fn rate(text: &str) -> Result<f64, String> {
    parse_rate(text).map(|rate| rate.0 as f64).map_err(|error| expected(&error, Dimension::Rate, "10 Gb/s"))
}

/// Seconds.
fn time(text: &str) -> Result<f64, String> {
    parse_time(text)
        .map(|time| time.as_secs_f64())
        .map_err(|error| expected(&error, Dimension::Time, "80 us"))
}

fn expected(error: &QuantityError, dimension: Dimension, example: &str) -> String {
    format!("{error}; expected {} such as \"{example}\", in {}", dimension.article(), dimension.units())
}
