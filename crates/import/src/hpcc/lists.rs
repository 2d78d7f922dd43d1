//! Reads other files of HPCC: traced nodes, configurations, results, size tables and alphas.

use super::rdma;
use crate::imported::Setting;
use crate::limits::NODES;
use crate::source::{Source, Word};
use crate::{ImportError, Imported};
use bufferlab_workload::SizeDistribution;

/// Reads HPCC's `trace.txt`: a count, then the numbers of the traced nodes.
pub(crate) fn read_trace(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let mut words = source.words();
    let incomplete =
        || source.error("the file ends before its last announced node", "correct the count in line 1");
    let count = words.next().ok_or_else(incomplete)?.whole("the number of nodes", NODES.most)?;
    for _ in 0..count {
        words.next().ok_or_else(incomplete)?.whole("the id of a node", NODES.most)?;
    }
    if words.next().is_some() {
        imported.notices.ignore(format!("everything after the {count} announced nodes, as the parser does"));
    }
    imported.notices.understand(format!("{count} traced nodes"));
    imported.notices.ignore("traced nodes: `bufferlab run --packets` records every packet");
    Ok(())
}

/// Number of values that follow the first value of a key; 0 for most keys.
fn values_of(key: &str, first: Word<'_>) -> Result<usize, ImportError> {
    if !matches!(key, "KMAX_MAP" | "KMIN_MAP" | "PMAX_MAP" | "ALPHA_VALUES" | "LINK_DOWN") {
        return Ok(0);
    }
    if key == "LINK_DOWN" {
        return Ok(2);
    }
    let pairs = first.whole("a number of pairs", 10_000)?;
    Ok(if key == "ALPHA_VALUES" { pairs } else { 2 * pairs } as usize)
}

/// Reads HPCC's `config.txt`: keys, each followed by its values.
pub(crate) fn read_config(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let mut words = source.words().peekable();
    let mut settings: Vec<Setting> = Vec::new();
    while let Some(key) = words.next() {
        if key.text.starts_with('{') {
            imported.notices.ignore("comments in braces");
            let mut word = Some(key);
            while word.is_some_and(|word| !word.text.ends_with('}')) {
                word = words.next();
            }
            continue;
        }
        if !settings.is_empty() && key.text.parse::<f64>().is_ok() {
            imported.notices.ignore("values beyond the number that a key announces, as the parser does");
            continue;
        }
        if !key.text.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Err(key.unexpected("a key in capitals, such as CC_MODE"));
        }
        let first =
            words.next().ok_or_else(|| key.error(format!("`{}` has no value", key.text), "add one"))?;
        let mut values = vec![first.text.to_owned()];
        for _ in 0..values_of(key.text, first)? {
            let next = words
                .next()
                .ok_or_else(|| key.error(format!("`{}` is incomplete", key.text), "add its values"))?;
            values.push(next.text.to_owned());
        }
        settings.push(Setting { key: key.text.to_owned(), values });
    }
    imported.notices.understand(format!("{} settings", settings.len()));
    let mode = settings.iter().find(|setting| setting.key == "CC_MODE");
    let mode = mode.and_then(|setting| setting.values.first()).cloned().unwrap_or_default();
    for setting in &settings {
        let value = setting.values.first().map(String::as_str).unwrap_or_default();
        match rdma::meaning(&mode, &setting.key, value) {
            Some(meaning) => imported.notices.understand(format!("{}: {meaning}", setting.key)),
            None => imported.notices.ignore(format!("{} {}", setting.key, setting.values.join(" "))),
        }
    }
    imported.settings.append(&mut settings);
    Ok(())
}

/// Reads `fct.txt`, with `sip dip sport dport bytes start_ns fct_ns ideal_ns` per line.
pub(crate) fn read_fct(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let (mut flows, mut worst) = (0_u64, 0.0_f64);
    for line in source.lines() {
        let words: Vec<_> = line.words().collect();
        let [sip, dip, sport, dport, bytes, start, fct, ideal] = words[..] else {
            if words.is_empty() {
                continue;
            }
            let expected = "expected `sip dip sport dport bytes start_ns fct_ns ideal_ns`";
            return Err(line.error(format!("{} words", words.len()), expected));
        };
        for address in [sip, dip] {
            u32::from_str_radix(address.text, 16)
                .map_err(|_| address.unexpected("an address of 8 hexadecimal digits"))?;
        }
        for word in [sport, dport, bytes, start] {
            word.whole("a number", u64::MAX)?;
        }
        let (fct, ideal) = (fct.whole("a time", u64::MAX)?, ideal.whole("a time", u64::MAX)?);
        worst = worst.max(fct as f64 / ideal.max(1) as f64);
        flows += 1;
    }
    imported
        .notices
        .understand(format!("completion times of {flows} flows, the largest slowdown {worst:.2}"));
    imported.notices.ignore("completion times: results describe no traffic");
    Ok(())
}

/// Reads `pfc.txt`, with `time_ns node node_type if_index 1|0` per line.
pub(crate) fn read_pfc(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let (mut pauses, mut resumes) = (0_u64, 0_u64);
    for line in source.lines() {
        let words: Vec<_> = line.words().collect();
        let [time, node, kind, port, event] = words[..] else {
            if words.is_empty() {
                continue;
            }
            return Err(line
                .error(format!("{} words", words.len()), "expected `time_ns node node_type if_index 1|0`"));
        };
        for word in [time, node, kind, port] {
            word.whole("a number", u64::MAX)?;
        }
        match event.whole("1 for a pause or 0 for its end", 1)? {
            1 => pauses += 1,
            _ => resumes += 1,
        }
    }
    imported.notices.understand(format!("{pauses} pauses and {resumes} ends of pauses"));
    imported.notices.ignore("pauses: results describe no traffic");
    Ok(())
}

/// Reads a file with a distribution of flow sizes.
pub(crate) fn read_sizes(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let sizes = SizeDistribution::from_csv("sizes", source.text());
    let sizes = sizes
        .map_err(|cause| source.error(cause.to_string(), "expected two columns, bytes and probability"))?;
    imported.notices.understand(format!("a distribution of flow sizes with a mean of {:.0} B", sizes.mean()));
    imported
        .notices
        .assume("a table needs no import: give the file as `sizes` to a workload of `kind = \"poisson\"`");
    Ok(())
}

/// Reads the file with the alphas of ABM, which are at most 8.
pub(crate) fn read_alphas(source: Source<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    for word in source.words() {
        if imported.alphas.len() == 8 {
            return Err(word.error("more than 8 alphas", "expected one for each of at most 8 priorities"));
        }
        imported.alphas.push(word.real("an alpha")?);
    }
    let alphas: Vec<_> = imported.alphas.iter().map(f64::to_string).collect();
    imported.notices.understand(format!(
        "alphas of priorities 0 to {}: {}",
        alphas.len().saturating_sub(1),
        alphas.join(", ")
    ));
    Ok(())
}
