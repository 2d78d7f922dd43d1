//! Linux devlink-sb: output of `devlink sb show`, `pool show`, `port pool show` and `tc bind show`,
//! as text or JSON (`-j`), and the commands `pool set`, `port pool set` and `tc bind set`.
//!
//! Source: devlink-sb(8). Alpha is 2^(threshold - 10) in dynamic pools. The numbers of pools
//! without a type are those of mlxsw: 0 to 3 and 9 are ingress pools. A traffic class is a priority
//! group at ingress and a queue at egress (mlxsw, "Quality of Service").

use super::Import;
use crate::place::{Refusal, Weight};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Number of words in the longest row that the reader accepts.
const ROW_WORDS: usize = 32;
const KINDS: [&str; 4] = ["sb", "pool", "port_pool", "tc_bind"];
/// Largest exponent of alpha in SONiC's notation.
const LARGEST_EXPONENT: i64 = 8;

/// Whether the text is output of devlink, or has commands of devlink.
pub(super) fn detect(text: &str) -> bool {
    if let Some(inner) = text.trim_start().strip_prefix('{') {
        let name = inner.trim_start().strip_prefix('"').and_then(|rest| rest.split('"').next());
        return name.is_some_and(|name| KINDS.contains(&name));
    }
    text.lines().any(|line| {
        line.trim_start_matches(['#', '$', ' ']).starts_with("devlink sb ") || row(line).is_some()
    })
}

/// A row of devlink's output: values by their name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    sb: Option<u64>,
    size: Option<u64>,
    pool: Option<u64>,
    tc: Option<u64>,
    threshold: Option<u64>,
    cell_size: Option<u64>,
    thtype: Option<String>,
    #[serde(rename = "type")]
    side: Option<String>,
}

/// A row of devlink's output with its device or port, and the number of its line.
struct Placed {
    owner: String,
    line: u32,
    row: Row,
}

/// Reads the device or port before the colon, and the pairs of name and value that begin with `sb`.
fn row(line: &str) -> Option<(Option<&str>, Row)> {
    let line = line.trim();
    let (owner, rest) = match line.split_once(": ") {
        Some((owner, rest)) if !owner.contains(' ') => (Some(owner), rest),
        _ => (None, line),
    };
    if !rest.starts_with("sb ") {
        return None;
    }
    let words: Vec<_> = rest.split_whitespace().take(ROW_WORDS).collect();
    (words.len() >= 4).then(|| (owner, pairs(&words)))
}

fn pairs(words: &[&str]) -> Row {
    let mut row = Row::default();
    for pair in words.chunks(2) {
        let [name, value] = pair else { continue };
        let number = value.parse().ok();
        match *name {
            "sb" => row.sb = number,
            "size" => row.size = number,
            "pool" => row.pool = number,
            "tc" => row.tc = number,
            "threshold" | "th" => row.threshold = number,
            "cell_size" => row.cell_size = number,
            "thtype" => row.thtype = Some((*value).to_owned()),
            "type" => row.side = Some((*value).to_owned()),
            _ => {}
        }
    }
    row
}

pub(super) fn read(import: &mut Import<'_>, text: &str) -> Result<(), Refusal> {
    let rows = if text.trim_start().starts_with('{') { json(import, text)? } else { lines(import, text) };
    let dynamic = pools(import, &rows);
    for Placed { owner, line, row } in &rows {
        import.line = *line;
        if row.sb.is_some_and(|number| number != 0) {
            import.not_understood(&format!("{owner} sb {}", row.sb.unwrap_or(0)));
            continue;
        }
        match (row.pool, row.threshold) {
            (Some(pool), Some(threshold)) => bind(import, owner, row, (pool, threshold), &dynamic),
            (None, _) => {
                if let Some(size) = row.size {
                    import.set("BUFFER_MAX_PARAM_TABLE", "global", "mmu_size", size.to_string());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads JSON documents of `devlink -j`, one after another.
fn json(import: &Import<'_>, text: &str) -> Result<Vec<Placed>, Refusal> {
    type Document = BTreeMap<String, BTreeMap<String, Vec<Row>>>;
    let mut rows = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<Document>() {
        let document = document.map_err(|error| {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
            let help = "give the output of `devlink sb ... show -j` unchanged";
            Refusal::new(import.file, line, format!("no output of devlink: {error}"), help)
        })?;
        for (_, owners) in document.into_iter().filter(|(kind, _)| KINDS.contains(&kind.as_str())) {
            rows.extend(owners.into_iter().flat_map(|(owner, rows)| {
                rows.into_iter().map(move |row| Placed { owner: owner.clone(), line: 0, row })
            }));
        }
    }
    Ok(rows)
}

fn lines(import: &mut Import<'_>, text: &str) -> Vec<Placed> {
    let (mut rows, mut owner) = (Vec::new(), String::new());
    for (line, content) in (1..).zip(text.lines()) {
        import.line = line;
        let is_comment = content.trim_start().starts_with('#') && !content.contains("devlink sb ");
        let content = if is_comment { "" } else { content.trim().trim_start_matches(['#', '$', ' ']) };
        if let Some((named, row)) = row(content) {
            if let Some(named) = named {
                named.clone_into(&mut owner);
            }
            rows.push(Placed { owner: owner.clone(), line, row });
        } else if let Some(command) = content.strip_prefix("devlink sb ") {
            let words: Vec<_> = command.split_whitespace().collect();
            match words.iter().position(|word| *word == "set") {
                Some(at) if words.len() > at + 1 => {
                    let row = pairs(&words[at + 2..]);
                    rows.push(Placed { owner: words[at + 1].to_owned(), line, row });
                }
                _ if words.contains(&"show") => {}
                _ => import.not_understood(content),
            }
        } else if let Some(name) = content.strip_suffix(':').filter(|name| !name.contains(' ')) {
            name.clone_into(&mut owner);
        } else if !content.is_empty() {
            import.not_understood(content);
        }
    }
    rows
}

/// Whether a pool of mlxsw without a type is an ingress pool.
const fn is_ingress(pool: u64) -> bool {
    pool <= 3 || pool == 9
}

fn side(row: &Row, pool: u64) -> &'static str {
    match row.side.as_deref() {
        Some("ingress") => "ingress",
        Some("egress") => "egress",
        _ if is_ingress(pool) => "ingress",
        _ => "egress",
    }
}

/// Sets the pools, and returns for each pool whether it is dynamic.
fn pools(import: &mut Import<'_>, rows: &[Placed]) -> BTreeMap<u64, bool> {
    let mut dynamic = BTreeMap::new();
    for Placed { line, row, .. } in rows.iter().filter(|placed| placed.row.sb.unwrap_or(0) == 0) {
        let (Some(pool), Some(size), None) = (row.pool, row.size, row.threshold) else { continue };
        import.line = *line;
        let is_dynamic = row.thtype.as_deref() != Some("static");
        dynamic.insert(pool, is_dynamic);
        // mlxsw has pools of size 0 that nothing uses.
        if size == 0 {
            continue;
        }
        let name = format!("pool{pool}");
        import.set("BUFFER_POOL", &name, "type", side(row, pool));
        import.set("BUFFER_POOL", &name, "mode", if is_dynamic { "dynamic" } else { "static" });
        import.set("BUFFER_POOL", &name, "size", size.to_string());
        // A chip with devlink pools and cells of 96, 144, 192 or 256 B is from NVIDIA.
        if row.cell_size.is_some_and(|cell| [96, 144, 192, 256].contains(&cell)) {
            import.set("DEVICE_METADATA", "localhost", "platform", "x86_64-mlnx_devlink-r0");
        }
    }
    dynamic
}

/// Sets the limit of a port or traffic class in a pool.
fn bind(
    import: &mut Import<'_>,
    owner: &str,
    row: &Row,
    (pool, threshold): (u64, u64),
    dynamic: &BTreeMap<u64, bool>,
) {
    // mlxsw shows a threshold of 0 for pools that a port does not use.
    if row.tc.is_none() && threshold == 0 {
        return;
    }
    let is_dynamic = dynamic.get(&pool).copied().unwrap_or(true);
    let profile = format!("pool{pool}_th{threshold}");
    let text = if is_dynamic {
        let exponent = i64::try_from(threshold).unwrap_or(i64::MAX).saturating_sub(10);
        if exponent.abs() > LARGEST_EXPONENT {
            let message = format!("alpha 2^{exponent} is beyond 2^-8 to 2^8, which counts instead");
            let help = "an alpha of 2^8 leaves a lone queue 99.6 % of the pool";
            import.problem(Weight::Note, &format!("{owner} pool {pool}"), message, help);
        }
        exponent.clamp(-LARGEST_EXPONENT, LARGEST_EXPONENT).to_string()
    } else {
        threshold.to_string()
    };
    let direction = side(row, pool);
    import.set("BUFFER_PROFILE", &profile, "pool", format!("pool{pool}"));
    import.set("BUFFER_PROFILE", &profile, "size", "0");
    import.set("BUFFER_PROFILE", &profile, if is_dynamic { "dynamic_th" } else { "static_th" }, text);
    match (row.tc, direction) {
        (Some(class), "ingress") => import.set("BUFFER_PG", &format!("{owner}|{class}"), "profile", profile),
        (Some(class), _) => import.set("BUFFER_QUEUE", &format!("{owner}|{class}"), "profile", profile),
        (None, "ingress") => {
            import.set("BUFFER_PORT_INGRESS_PROFILE_LIST", owner, "profile_list", profile);
        }
        (None, _) => import.set("BUFFER_PORT_EGRESS_PROFILE_LIST", owner, "profile_list", profile),
    }
}
