//! Formats of other simulators, and their recognition by content.

use crate::ImportError;
use crate::source::{Source, unpacked};
use bufferlab_params::{Choice, choices};
use std::path::Path;

choices! {
    /// A file format of another simulator.
    pub enum Format {
        ConnectionMatrix = "cm": "connection matrix of htsim (.cm, .tm)",
        FatTree = "topo": "topology of htsim (.topo)",
        Goal = "goal": "GOAL schedule of LogGOPSim and ATLAHS, as text",
        Chakra = "chakra": "Chakra execution trace (.et), a file per rank",
        ChakraJson = "chakra-json": "Chakra execution trace as JSON",
        ChakraGroups = "chakra-groups": "groups of ranks beside Chakra traces (.json)",
        Mscclang = "mscclang": "algorithm of MSCCL (.mscclang.xml)",
        Layers = "aicb": "workload of AICB, SimAI or ASTRA-sim, as text",
        SimaiTopology = "simai-topology": "topology of SimAI",
        HpccTopology = "hpcc-topology": "topology.txt of HPCC and ns3-datacenter",
        HpccFlows = "hpcc-flow": "flow.txt of HPCC and ns3-datacenter",
        HpccTrace = "hpcc-trace": "trace.txt of HPCC: nodes whose packets are traced",
        HpccConfig = "hpcc-config": "config.txt of HPCC and ns3-datacenter",
        HpccFct = "hpcc-fct": "fct.txt of HPCC: flow completion times",
        HpccPfc = "hpcc-pfc": "pfc.txt of HPCC: pauses",
        Cdf = "cdf": "distribution of flow sizes",
        Alphas = "alphas": "alphas of ABM, one per priority",
    }
}

/// Number of words that are read to distinguish formats whose files contain only numbers.
const WORDS: usize = 256;

/// Recognises the format of a file by its content.
///
/// # Errors
/// If the file cannot be unpacked, is not text, or no reader knows its format.
pub fn recognise(path: &Path, content: &[u8]) -> Result<Format, ImportError> {
    let content = unpacked(path, content)?;
    if is_chakra(&content) {
        return Ok(Format::Chakra);
    }
    let source = Source::new(path, &content)?;
    let head = source.text().lines().take(4).any(|line| line.contains("\"schema\""));
    if head && source.text().contains("\"ctrl_deps\"") {
        return Err(source
            .error("an execution trace of PyTorch", "convert it with chakra_converter, and import that"));
    }
    let format = of_words(source).or_else(|| of_numbers(source));
    format.ok_or_else(|| {
        let names: Vec<_> = Format::WORDS.iter().map(|word| word.name).collect();
        source.error("the format is not recognised", format!("name it with --as: {}", names.join(", ")))
    })
}

/// Whether the content begins with a length and a Chakra message.
/// The first field of the message is a version, or an attribute with a name.
fn is_chakra(content: &[u8]) -> bool {
    let Some(end) = content.iter().take(5).position(|byte| byte & 0x80 == 0) else { return false };
    match &content[end + 1..] {
        [0x0a, length, rest @ ..] if (1..=16).contains(length) => {
            let version = rest.get(..usize::from(*length)).unwrap_or_default();
            !version.is_empty() && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
        }
        [0x12, length, 0x0a, name, rest @ ..]
            if u32::from(*name) + 2 <= u32::from(*length) || *length >= 0x80 =>
        {
            let name = rest.get(..usize::from(*name)).unwrap_or_default();
            !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        _ => false,
    }
}

/// Recognises the formats whose files begin with a word.
fn of_words(source: Source<'_>) -> Option<Format> {
    let is_comment = |text: &str| text.is_empty() || text.starts_with(['#', '{']) || text.starts_with("//");
    let text = source.text();
    if text.trim_start().starts_with(['{', '[']) && text.contains('"') {
        let is_trace = text.contains("\"workload_graph\"") || text.contains("\"NodeType\"");
        return Some(if is_trace { Format::ChakraJson } else { Format::ChakraGroups });
    }
    if text.trim_start().starts_with('<') && text.contains("nchunksperloop") {
        return Some(Format::Mscclang);
    }
    let line = source.lines().find(|line| !is_comment(line.text.trim()))?;
    let first = line.words().next()?.text;
    let has = |wanted: &str| {
        let mut firsts = source.lines().filter_map(|line| line.words().next());
        firsts.any(|word| word.text.eq_ignore_ascii_case(wanted))
    };
    let is_any = |words: &[&str]| words.iter().any(|word| first.eq_ignore_ascii_case(word));
    if is_any(&["Nodes", "Tiers", "Podsize"]) && has("Tiers") {
        return Some(Format::FatTree);
    }
    if is_any(&["Nodes", "Connections", "Triggers", "Failures"]) || line.text.contains("->") {
        return Some(Format::ConnectionMatrix);
    }
    if first == "num_ranks" || text.contains("num_ranks") && text.contains("rank 0") {
        return Some(Format::Goal);
    }
    let types = ["MICRO", "DATA", "MODEL"];
    if first.starts_with("HYBRID_")
        || types.contains(&first)
        || line.text.contains("model_parallel_NPU_group:")
    {
        return Some(Format::Layers);
    }
    let keys = ["CC_MODE", "TOPOLOGY_FILE", "FLOW_FILE", "ENABLE_QCN", "PACKET_PAYLOAD_SIZE", "BUFFER_SIZE"];
    (keys.iter().filter(|key| has(key)).count() >= 2).then_some(Format::HpccConfig)
}

/// Recognises formats whose files contain only numbers, by the first two lines.
fn of_numbers(source: Source<'_>) -> Option<Format> {
    let mut lines = source.lines().filter(|line| line.words().next().is_some());
    let first: Vec<_> = lines.next()?.words().take(WORDS).map(|word| word.text).collect();
    let is_whole = |text: &&str| text.parse::<u64>().is_ok();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_address = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let [sip, dip, rest @ ..] = &first[..]
        && (is_address(sip) && is_address(dip) && rest.len() == 6 && rest.iter().all(is_whole))
    {
        return Some(Format::HpccFct);
    }
    let second: Vec<_> = lines.next().into_iter().flat_map(|line| line.words().take(WORDS)).collect();
    let second: Vec<_> = second.iter().map(|word| word.text).collect();
    if let [nodes, servers, switches, links, more @ ..] = &first[..]
        && [nodes, servers, switches, links].into_iter().all(is_whole)
        && more.len() >= 2
        && more.iter().any(|text| text.starts_with(|first: char| first.is_ascii_alphabetic()))
    {
        return Some(Format::SimaiTopology);
    }
    let is_link = |line: crate::source::Line<'_>| {
        let words: Vec<_> = line.words().map(|word| word.text).collect();
        matches!(words[..], [a, b, _, delay, error] if is_whole(&a) && is_whole(&b) && delay.ends_with('s') && is_number(error))
    };
    if (3..=6).contains(&first.len()) && first[..3].iter().all(is_whole) && source.lines().any(is_link) {
        return Some(Format::HpccTopology);
    }
    if first.len() == 5 && first.iter().all(is_whole) && ["0", "1"].contains(&first[4]) {
        return Some(Format::HpccPfc);
    }
    if let [count] = first[..]
        && count.parse::<u64>().is_ok()
    {
        if second.len() == 6 && second.iter().all(|text| is_number(text)) {
            return Some(Format::HpccFlows);
        }
        if second.len() > 1 && second.iter().all(is_whole) {
            return Some(Format::HpccTrace);
        }
    }
    of_columns(source)
}

/// Recognises formats whose files consist of columns of numbers.
fn of_columns(source: Source<'_>) -> Option<Format> {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let separated = |text| str::split(text, [' ', '\t', ',', '\r']).filter(|text| !text.is_empty());
    let rows = source.lines().map(|line| separated(line.text)).filter(|row| row.clone().next().is_some());
    if rows.clone().take(9).count() <= 8
        && rows.clone().all(|mut row| row.next().is_some_and(is_number) && row.next().is_none())
    {
        return rows.clone().next().map(|_| Format::Alphas);
    }
    let is_pair = |mut row: Box<dyn Iterator<Item = &str> + '_>| {
        row.next().is_some_and(is_number) && row.next().is_some_and(is_number) && row.next().is_none()
    };
    let end: f64 = rows.clone().last()?.next_back()?.parse().ok()?;
    let is_table = rows.clone().all(|row| is_pair(Box::new(row)));
    (is_table && (end == 1.0 || end == 100.0)).then_some(Format::Cdf)
}
