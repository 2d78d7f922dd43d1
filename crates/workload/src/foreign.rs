//! Detects files of other tools. If a reader refuses a file of another tool, the error names the
//! tool and gives advice.
//!
//! The module recognises a file by its first tokens, never by its name, and only after the reader
//! refused the file. So a file that this program can read is never tested.

use crate::flow_list::unpacked;
use std::io::Read;

/// A file format of another simulator or tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Name of the format, such as "an htsim connection matrix (.cm)".
    pub(crate) name: &'static str,
    /// Advice to a user whose file has this format.
    pub(crate) advice: &'static str,
}

/// Number of bytes at the start of a file that are examined.
const LOOKED_AT: u64 = 65_536;
/// Number of tokens by which formats of numbers are distinguished.
const TOKENS: usize = 64;

const FLOWS: &str =
    "give it to a workload of `kind = \"flow_list\"`, or write a scenario from it with `bufferlab import`";
const TOPOLOGY: &str =
    "it describes a network and no traffic: write [topology] from it with `bufferlab import`";
const DEPENDENT: &str = "its messages wait for each other: give it to a workload of `kind = \"schedule\"`";
const TRACE: &str = "give it to a workload of `kind = \"trace\"`";

/// Name of this program's flow lists in messages.
pub(crate) const LIST_OF_FLOWS: &str = "a list of flows";
/// Name of packet captures in messages.
const CAPTURE: &str = "a packet capture";
/// Name of this program's packet traces (as text) in messages.
pub(crate) const PACKET_TRACE: &str = "a packet trace";

impl Foreign {
    /// Detects the format of a file from its beginning. `None` for an unknown format, and for the
    /// expected format `own`.
    pub(crate) fn but_not(content: &[u8], own: &str) -> Option<Self> {
        Self::detect(content).filter(|foreign| foreign.name != own)
    }

    /// Whether the format belongs to this program, or is a packet capture.
    pub(crate) fn is_own(self) -> bool {
        [LIST_OF_FLOWS, PACKET_TRACE, CAPTURE].contains(&self.name)
    }

    /// Message that combines the name of the format with the original `problem`.
    pub(crate) fn message(self, problem: &str) -> String {
        format!("this looks like {}: {problem}", self.name)
    }

    /// Detects the format of a file from its beginning; `None` if the format is unknown.
    pub(crate) fn detect(content: &[u8]) -> Option<Self> {
        let mut start = Vec::new();
        // The beginning of a compressed file is enough, so a damaged end has no effect.
        let _ = unpacked(content).take(LOOKED_AT).read_to_end(&mut start);
        let found = |name, advice| Some(Self { name, advice });
        if crate::trace::is_capture(&start) {
            return found(CAPTURE, TRACE);
        }
        if start.get(257..262) == Some(b"ustar") {
            return found("a tar archive", DEPENDENT);
        }
        if is_chakra(&start) {
            return found("a Chakra execution trace (.et)", DEPENDENT);
        }
        // The examined bytes may end within a character, and this character is replaced.
        let text = String::from_utf8_lossy(&start);
        let text = text.trim_start_matches('\u{feff}');
        of_words(text).or_else(|| of_columns(text)).or_else(|| of_numbers(text))
    }
}

/// Whether a file is from Chakra. A file of Chakra begins with a length and a message. The first
/// field of this message is a version, or the message names Chakra.
fn is_chakra(start: &[u8]) -> bool {
    let Some(end) = start.iter().take(5).position(|byte| byte & 0x80 == 0) else { return false };
    let message = &start[end + 1..];
    match message {
        [0x0a, length, rest @ ..] if (1..=16).contains(length) => {
            let version = rest.get(..usize::from(*length)).unwrap_or_default();
            !version.is_empty() && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        }
        [0x0a | 0x12, ..] => message.windows(6).take(256).any(|window| window == b"chakra"),
        _ => false,
    }
}

/// Returns the lines that are neither empty nor comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
    text.lines().map(str::trim).filter(move |line| !is_comment(line))
}

/// Recognises formats of other tools that begin with a word.
fn of_words(text: &str) -> Option<Foreign> {
    let found = |name, advice| Some(Foreign { name, advice });
    let first = lines(text).next()?;
    let word = first.split_whitespace().next()?;
    let has = |wanted: &str| {
        lines(text)
            .any(|line| line.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case(wanted)))
    };
    let is_matrix = has("Connections") || text.contains("->");
    if ["Nodes", "Tiers", "Podsize"].iter().any(|key| word.eq_ignore_ascii_case(key)) && has("Tiers") {
        return found("an htsim topology (.topo)", TOPOLOGY);
    }
    if ["Nodes", "Connections", "Triggers", "Failures"].contains(&word) && is_matrix {
        return found("an htsim connection matrix (.cm)", FLOWS);
    }
    if first.contains("->") && (first.contains(" start ") || first.contains(" trigger ")) {
        return found("an htsim connection matrix (.cm)", FLOWS);
    }
    if word.starts_with('<') && text.contains("nchunksperloop") {
        return found("an algorithm of MSCCL", DEPENDENT);
    }
    if word == "num_ranks" || has("num_ranks") && text.contains("rank 0") {
        return found("a GOAL schedule", DEPENDENT);
    }
    let is_alone = first == word;
    let is_layered = ["MICRO", "DATA", "MODEL"].contains(&word) && is_alone;
    if word.starts_with("HYBRID_") || first.contains("model_parallel_NPU_group:") || is_layered {
        return found("an AICB or ASTRA-sim workload", DEPENDENT);
    }
    if word.starts_with('{') && (text.contains("\"workload_graph\"") || text.contains("\"NodeType\"")) {
        return found("a Chakra execution trace in JSON", DEPENDENT);
    }
    let keys = ["CC_MODE", "TOPOLOGY_FILE", "FLOW_FILE", "ENABLE_QCN", "PACKET_PAYLOAD_SIZE"];
    if keys.iter().filter(|key| has(key)).count() >= 2 {
        return found(
            "the configuration of an HPCC simulation (config.txt)",
            "it names parameters and no traffic: set them in [switch] and [[transport]]",
        );
    }
    None
}

/// Recognises flow lists and traces of bufferlab that a scenario gives to the wrong kind of
/// workload.
fn of_columns(text: &str) -> Option<Foreign> {
    let found = |name, advice| Some(Foreign { name, advice });
    let columns: Vec<&str> = lines(text).next()?.split(',').map(str::trim).collect();
    let has = |name: &str| columns.contains(&name);
    if !(has("src") && has("dst") && has("size_bytes")) {
        return None;
    }
    let is_list = has("start_ns") || has("start_ps");
    let is_trace = columns.iter().any(|column| column.starts_with("time_"));
    match (is_list, is_trace) {
        (true, false) => found(LIST_OF_FLOWS, "give it to a workload of `kind = \"flow_list\"`"),
        (false, true) => found(PACKET_TRACE, TRACE),
        _ => None,
    }
}

/// Kind of a token in a text file of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Whole,
    Fraction,
    /// The token is a rate such as `100Gbps`.
    Rate,
    /// The token is a time such as `1us`.
    Time,
    Hexadecimal,
    Word,
}

impl Token {
    fn classify(text: &str) -> Self {
        let with_unit = |units: &[&str]| {
            let numbers = units.iter().filter_map(|unit| text.strip_suffix(unit));
            numbers.into_iter().any(|number| number.parse::<f64>().is_ok())
        };
        match text {
            _ if text.parse::<u64>().is_ok() && !(text.len() == 8 && text.starts_with('0')) => Self::Whole,
            _ if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => Self::Hexadecimal,
            _ if text.parse::<f64>().is_ok() => Self::Fraction,
            _ if with_unit(&["bps", "Kbps", "Mbps", "Gbps", "Tbps", "b/s", "Mb/s", "Gb/s"]) => Self::Rate,
            _ if with_unit(&["ps", "ns", "us", "ms", "s"]) => Self::Time,
            _ => Self::Word,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Whole | Self::Fraction)
    }
}

fn tokens(line: &str) -> Vec<Token> {
    line.split_whitespace().take(TOKENS).map(Token::classify).collect()
}

/// Recognises formats that have only numbers, from simulators of RDMA networks.
fn of_numbers(text: &str) -> Option<Foreign> {
    use Token::{Fraction, Hexadecimal, Rate, Time, Whole};
    let found = |name, advice| Some(Foreign { name, advice });
    let first = tokens(lines(text).next()?);
    let is_link = |line: &str| {
        let [a, b, rate, delay, error] = tokens(line)[..] else { return false };
        let is_rate = rate == Rate || rate.is_number();
        (a, b) == (Whole, Whole) && is_rate && (delay == Time || rate == Rate) && (error.is_number())
    };
    if let [Whole, Whole, Whole, ..] = first[..]
        && (3..=8).contains(&first.len())
        && lines(text).skip(1).any(is_link)
    {
        return found("a topology of HPCC, ns-3 or SimAI (topology.txt)", TOPOLOGY);
    }
    if let [Hexadecimal, Hexadecimal, Whole, Whole, Whole, Whole, Whole, Whole] = first[..] {
        return found("completion times of an HPCC simulation (fct.txt)", "it is a result and no traffic");
    }
    if first[..] != [Whole] {
        let mut pairs = lines(text).map(tokens);
        let last = lines(text).last()?.split([' ', '\t', ',']).next_back()?.parse::<f64>().ok()?;
        let is_table = pairs.all(|pair| matches!(pair[..], [a, b] if a.is_number() && b.is_number()));
        return if is_table && [1.0, 100.0].contains(&last) {
            found("a distribution of flow sizes", "give it as `sizes` to a workload of `kind = \"poisson\"`")
        } else {
            None
        };
    }
    let rest: Vec<Token> =
        lines(text).skip(1).flat_map(str::split_whitespace).take(TOKENS).map(Token::classify).collect();
    let is_flow = |flow: &[Token]| matches!(flow, [Whole, Whole, Whole, Whole, Whole | Fraction, last] if last.is_number());
    let per_line = lines(text).skip(1).take(4).all(|line| line.split_whitespace().count() == 6);
    if rest.len() >= 6 && per_line && rest.chunks_exact(6).all(is_flow) {
        return found("a list of flows of HPCC or ns-3 (flow.txt)", FLOWS);
    }
    let announced = lines(text).next()?.parse::<usize>().ok()?;
    let is_announced = lines(text).skip(1).flat_map(str::split_whitespace).count() == announced;
    if announced >= 2 && is_announced && rest.iter().all(|token| *token == Whole) {
        return found(
            "a list of traced nodes of an HPCC simulation (trace.txt)",
            "it names nodes and no traffic",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> &'static str {
        Foreign::detect(text.as_bytes()).map_or("nothing", |foreign| foreign.name)
    }

    #[test]
    fn files_of_other_tools_are_known_by_their_first_tokens() {
        for (text, wanted) in [
            ("# by hand\nNodes 4\nConnections 1\n0->1 id 1 start 0 size 65536\n", "connection matrix"),
            ("Connections 1\r\nNodes 4\r\n\r\n2->3 trigger 1 size 5\r\n", "connection matrix"),
            ("7->1 start 40 size 250000\n", "connection matrix"),
            ("nodes 64\nTIERS 2\nPodsize 64\nTier 0\n", "htsim topology"),
            ("// two ranks\nnum_ranks 2\nrank 0 {\n", "GOAL"),
            ("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1\n2\n", "AICB"),
            ("MICRO\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 100 1\n", "AICB"),
            ("{ \"workload_graph\": [] }", "Chakra execution trace in JSON"),
            ("ENABLE_QCN 1\nCC_MODE 3\n", "config.txt"),
            ("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", "topology.txt"),
            ("138 10 4 144\n128 129\n0 128 25000000000.0 1us 0.000000\n", "topology.txt"),
            ("8 8 1 2 16 A100\n8\n9 10\n0 8 2400Gbps 0.000025ms 0\n", "topology.txt"),
            ("2\n2 1 3 100 200000000 2\n3 1 3 100 200000000 2.5\n", "flow.txt"),
            ("4\n0 1 2 3\n", "trace.txt"),
            ("0b000001 0b000101 10000 100 1000 2000000000 1234 123\n", "fct.txt"),
            ("0 0\n1000 0.5\n5000 1\n", "distribution of flow sizes"),
            ("10 0\n1000 50\n5000 100\n", "distribution of flow sizes"),
            ("src,dst,size_bytes,start_ns\n0,1,2,3\n", "a list of flows"),
            ("time_ns, src, dst, size_bytes\n0,1,2,3\n", "a packet trace"),
        ] {
            assert!(name(text).contains(wanted), "{}: {text}", name(text));
        }
        assert_eq!(name(""), "nothing");
        for text in [
            "a,b\n1,2\n",
            "nodes are many\n",
            "1 2 3\n",
            "5\nhello\n",
            "<xml/>",
            "0.5\n0.5\n",
            "1\n1\n1\n",
            "Nodes 4\n",
        ] {
            assert_eq!(name(text), "nothing", "{text}");
        }
    }

    #[test]
    fn binary_files_are_known_packed_or_not() {
        let chakra = [&[7, 0x0a, 5][..], b"0.0.4", &[0x4a, 8]].concat();
        let newer = [&[0xda, 0xd0, 1, 0x12, 29, 0x0a, 6][..], b"schema", b"1.0.2-chakra.0.0.4"].concat();
        for bytes in [&chakra, &newer] {
            assert!(
                Foreign::detect(bytes).is_some_and(|foreign| foreign.name.contains("(.et)")),
                "{bytes:?}"
            );
        }
        let capture = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        assert_eq!(Foreign::detect(&capture).map(|foreign| foreign.name), Some("a packet capture"));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, &chakra).expect("memory");
        assert!(Foreign::detect(&gzip.finish().expect("memory")).is_some());
        assert_eq!(Foreign::detect(&[7, 0x0a, 5, 1, 2, 3, 4, 5]), None);
    }
}
