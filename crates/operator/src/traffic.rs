//! Traffic for a SONiC configuration: a few kinds of traffic that operators know. Each kind has
//! transports and workloads of a scenario.

use crate::{Model, Network, OperatorError};
use std::fmt::Write as _;

/// Size of an RDMA frame (bytes): 4 KiB of payload and the headers of RoCE v2.
pub(crate) const RDMA_FRAME: u64 = 4_096 + RDMA_HEADERS;
/// Headers of an RDMA frame (bytes): Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const RDMA_HEADERS: u64 = 62;
/// Size of a TCP frame (bytes).
pub(crate) const TCP_FRAME: u64 = 1_500;
/// Target number of packet-hops of a run, which takes one or two seconds on one core.
const HOPS: f64 = 2.5e6;
/// Duration of the shortest run (s), which is a few times the longest completion times of short
/// flows.
const SHORTEST_SECONDS: f64 = 1e-3;
/// Duration of the longest simulation run (s).
const LONGEST_SECONDS: f64 = 0.5;

/// Kinds of traffic that operators can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number of servers (`fan_in`) answers a client at the same time. The traffic is lossless if
    /// the switch has lossless priorities.
    Incast,
    /// Lossy TCP flows have the sizes of web search.
    WebSearch,
    /// Reverie's mix has lossless RDMA incast and lossy TCP web search.
    RdmaTcp,
    /// Storage has reads and writes: RDMA messages of all sizes, and reads that are striped over
    /// servers.
    Storage,
}

impl Kind {
    /// All kinds of traffic that operators can choose.
    pub const ALL: [Self; 4] = [Self::Incast, Self::WebSearch, Self::RdmaTcp, Self::Storage];

    /// Name of the kind of traffic on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incast => "incast",
            Self::WebSearch => "web-search",
            Self::RdmaTcp => "rdma-tcp",
            Self::Storage => "storage",
        }
    }

    /// Returns the kind of traffic with the name `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether this kind of traffic has lossy packets. The second result is whether this traffic
    /// has lossless packets if the switch has a lossless priority.
    #[must_use]
    pub const fn has(self) -> (bool, bool) {
        match self {
            Self::Incast | Self::Storage => (false, true),
            Self::WebSearch => (true, false),
            Self::RdmaTcp => (true, true),
        }
    }
}

/// Traffic of a scenario: its kind and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Kind of the traffic, such as incast.
    pub kind: Kind,
    /// Network around the configured switch.
    pub network: Network,
    /// Offered payload of the background traffic, as a fraction of the link rates of all hosts.
    pub load: f64,
    /// Number of servers that answer one client at the same time; `None` for 32, or for all but one
    /// host.
    pub fan_in: Option<usize>,
    /// Size of all answers to one client together (bytes); `None` for a quarter of the shared
    /// memory.
    pub request: Option<u64>,
    /// Time during which flows start (s); `None` for the time of about 2.5 million packet-hops.
    pub duration_seconds: Option<f64>,
}

impl Traffic {
    /// Creates traffic of the kind `kind` (such as incast) with default settings.
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self { kind, network: Network::Star, load: 0.4, fan_in: None, request: None, duration_seconds: None }
    }
}

/// Settings of the traffic that fit the model of the switch.
pub(crate) struct Planned {
    /// Priority of lossless traffic; `None` if the traffic is lossy only.
    pub(crate) lossless: Option<u8>,
    /// Priority of the queue for lossy packets.
    pub(crate) lossy: u8,
    pub(crate) fan_in: usize,
    pub(crate) request: u64,
    pub(crate) duration_seconds: f64,
    pub(crate) queries_per_second: f64,
    pub(crate) load: f64,
    kind: Kind,
}

impl Planned {
    /// # Errors
    /// If the fan-in exceeds the number of ports, or load or duration is out of range.
    pub(crate) fn new(model: &Model, traffic: &Traffic, lossy: u8) -> Result<Self, OperatorError> {
        traffic.network.check(model)?;
        let hosts = traffic.network.host_ports(model).count();
        let fan_in = traffic.fan_in.unwrap_or(32.min(hosts - 1));
        if fan_in == 0 || fan_in >= hosts {
            return Err(OperatorError::new(
                format!("a fan-in of {fan_in} among {hosts} hosts"),
                format!("choose from 1 to {}: every sender has a port of its own", hosts - 1),
            ));
        }
        if !(traffic.load > 0.0 && traffic.load <= 1.0) {
            return Err(OperatorError::new(
                format!("a load of {}", traffic.load),
                "give a part of the hosts' links: above 0, at most 1",
            ));
        }
        // Choose a lossless priority that most ports have, because other priorities may be lossless
        // on only a few ports.
        let sets = model.lossless_sets();
        let usual = sets.first().and_then(|(set, _)| set.first().copied());
        let lossless = usual.filter(|_| traffic.kind.has().1);
        let request = traffic.request.unwrap_or(model.shared / 4).max(fan_in as u64);
        let bytes_per_second =
            traffic.network.host_ports(model).map(|port| port.speed_mbps as f64 * 125e3).sum::<f64>();
        let (background, answers) = match traffic.kind {
            Kind::WebSearch => (traffic.load, 0.0),
            Kind::Incast => (0.0, traffic.load),
            // In Reverie's mix, incast is rare compared with the background traffic.
            Kind::RdmaTcp => (traffic.load, traffic.load / 8.0),
            Kind::Storage => (traffic.load * 0.75, traffic.load * 0.25),
        };
        let per_host = bytes_per_second / hosts as f64;
        let queries_per_second = (answers * per_host / request as f64).max(1e-3);
        // In a star, a packet crosses two links, and its acknowledgement crosses two links, too.
        // TCP acknowledges every second packet.
        let ways = traffic.network.ways();
        let hops = |load: f64, frame: u64, each: f64| load * bytes_per_second / frame as f64 * each * ways;
        let rdma = lossless.is_some();
        let answers_hops = if rdma { hops(answers, RDMA_FRAME, 4.0) } else { hops(answers, TCP_FRAME, 3.0) };
        let background_hops = match traffic.kind {
            Kind::Storage if rdma => hops(background, RDMA_FRAME, 4.0),
            _ => hops(background, TCP_FRAME, 3.0),
        };
        let fitting = HOPS / (answers_hops + background_hops);
        let duration_seconds = match traffic.duration_seconds {
            None => fitting.clamp(SHORTEST_SECONDS, LONGEST_SECONDS),
            Some(seconds) if seconds > 0.0 && seconds <= 100.0 => seconds,
            Some(seconds) => {
                return Err(OperatorError::new(
                    format!("a duration of {seconds} s"),
                    "give a time above 0 and at most 100 s",
                ));
            }
        };
        Ok(Self {
            lossless,
            lossy,
            fan_in,
            request,
            duration_seconds,
            queries_per_second,
            load: background,
            kind: traffic.kind,
        })
    }

    /// Formats the tables `[[transport]]` and `[[workload]]` of a scenario.
    pub(crate) fn toml(&self, lossy_marks: bool) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        if let Some(priority) = self.lossless {
            let _ = writeln!(
                text,
                "[[transport]]\nname = \"rdma\"\nkind = \"rdma\"\ncongestion_control = \"dcqcn\"\n\
                 segment_bytes = \"4096 B\"\nheader_bytes = \"{RDMA_HEADERS} B\"\nack_bytes = \"66 B\"\n\
                 data_priority = {priority}\ncontrol_priority = {priority}         # ACKs ride in the lossless class\n"
            );
        }
        if self.lossless.is_none() || self.kind.has().0 {
            let control = if lossy_marks { "dctcp" } else { "cubic" };
            let _ = writeln!(
                text,
                "[[transport]]\nname = \"tcp\"\ncongestion_control = \"{control}\"\nsegment_bytes = \"1446 B\"\n\
                 min_rto = \"1 ms\"\ninitial_rto = \"1 ms\"\nack_every = 2\ndelayed_ack_timeout = \"100 us\"\n\
                 data_priority = {0}\ncontrol_priority = {0}\n",
                self.lossy
            );
        }
        let lossless = if self.lossless.is_some() { "rdma" } else { "tcp" };
        let incast = |text: &mut String, class: &str| {
            let _ = writeln!(
                text,
                "[[workload]]\nkind = \"incast\"\nclass = \"{class}\"\ntransport = \"{lossless}\"\n\
                 request = \"{} B\"\nfan_in = {}\nqueries_per_second_per_host = {:.3}\npattern = \"all_to_all\"\n",
                self.request, self.fan_in, self.queries_per_second
            );
        };
        let poisson = |text: &mut String, class: &str, transport: &str, sizes: &str| {
            let _ = writeln!(
                text,
                "[[workload]]\nkind = \"poisson\"\nclass = \"{class}\"\ntransport = \"{transport}\"\n\
                 sizes = \"{sizes}\"\nload = {:.4}\nload_of = \"host_links\"\npattern = \"all_to_all\"\n",
                self.load
            );
        };
        match self.kind {
            Kind::Incast => incast(&mut text, "incast"),
            Kind::WebSearch => poisson(&mut text, "web_search", "tcp", "web_search"),
            Kind::RdmaTcp => {
                poisson(&mut text, "web_search", "tcp", "web_search");
                incast(&mut text, "incast");
            }
            Kind::Storage => {
                poisson(&mut text, "storage", lossless, "ali_storage");
                incast(&mut text, "striped_read");
            }
        }
        text
    }
}
