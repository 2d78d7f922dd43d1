//! Parses keys of the configuration: lists of ports, ranges of priorities, and references in the
//! old and new spelling.

use crate::place::printable;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Largest number of ports in one list (a chassis has about a thousand).
pub(crate) const PORTS_MAX: usize = 4_096;
/// Highest number of a priority group or queue. VOQ systems and CPU ports have more than eight.
pub const INDEX_MAX: u8 = 63;

/// Name of a port. Ports sort by their number: `Ethernet4` before `Ethernet12`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortName(Arc<str>);

impl PortName {
    /// Creates the name of the port called `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Name of the port as text.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether the port belongs to another card or chip of a chassis: `host|asic|Ethernet0`.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.0.contains('|')
    }

    /// Splits the port's name into the text before the last digits, and the number in these digits.
    fn order(&self) -> (&str, u64) {
        let digits = self.0.bytes().rev().take_while(u8::is_ascii_digit).count().min(18);
        let (stem, number) = self.0.split_at(self.0.len() - digits);
        (stem, number.parse().unwrap_or(0))
    }
}

impl Ord for PortName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for PortName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the name in a reference: `[BUFFER_PROFILE|x]`, `BUFFER_PROFILE|x`, `[x]` and
/// `x` all name `x`. The form `[BUFFER_PROFILE_TABLE:x]` of APPL_DB, in releases up to
/// 202106, also names `x`.
#[must_use]
pub fn reference(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let inner = inner.rsplit_once('|').map_or(inner, |(_, name)| name);
    inner.split_once("_TABLE:").map_or(inner, |(_, name)| name).trim()
}

/// Parses the ports of a key: `Ethernet0`, `Ethernet0,Ethernet4`, `Ethernet0-Ethernet3`.
///
/// # Errors
/// If the text is not a list of ports, or the list is too long.
pub fn ports(text: &str) -> Result<Vec<PortName>, String> {
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.is_empty() {
            return Err(format!("an empty name in the list of ports \"{}\"", printable(text)));
        }
        match port_range(part) {
            Some(range) if found.len() + (range.1.saturating_sub(range.0)) as usize >= PORTS_MAX => {
                return Err(format!("more than {PORTS_MAX} ports in one key"));
            }
            Some((first, last, stem)) => {
                found.extend((first..=last).map(|n| PortName::new(&format!("{stem}{n}"))));
            }
            None => found.push(PortName::new(part)),
        }
        if found.len() > PORTS_MAX {
            return Err(format!("more than {PORTS_MAX} ports in one key"));
        }
    }
    Ok(found)
}

/// Parses a range `Ethernet0-Ethernet3` or `Ethernet0-3` into first, last and stem.
pub(crate) fn port_range(text: &str) -> Option<(u64, u64, &str)> {
    let (from, to) = text.rsplit_once('-')?;
    let digits = from.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, first) = from.split_at(from.len() - digits);
    let last = to.strip_prefix(stem).unwrap_or(to);
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (!stem.is_empty() && first <= last).then_some((first, last, stem))
}

/// Parses a list of numbers and ranges: `3`, `3-4`, `0,2-4`.
///
/// # Errors
/// If the text is not a list of numbers from 0 to `max`, or a range descends.
pub fn indices(text: &str, max: u8) -> Result<Vec<u8>, String> {
    let mut found = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u8>().ok().filter(|number| *number <= max);
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => found.extend(first..=last),
            (Some(_), Some(_)) => return Err(format!("the range \"{}\" goes down", printable(part))),
            _ => return Err(format!("\"{}\" is not a number or range from 0 to {max}", printable(part))),
        }
        if found.len() > 4 * usize::from(INDEX_MAX) {
            return Err(format!("\"{}\" names numbers again and again", printable(text)));
        }
    }
    Ok(found)
}

/// Parses the ports, and the numbers of groups or queues, of a key such as
/// `Ethernet0,Ethernet4|3-4`. On a chassis, `host|asic|Ethernet0|3-4` is one port.
///
/// # Errors
/// If the key does not have ports and numbers.
pub fn ports_and_indices(key: &str) -> Result<(Vec<PortName>, Vec<u8>), String> {
    let expected = "expected \"PORT|NUMBERS\", such as \"Ethernet0|3-4\"";
    let (head, tail) = key.rsplit_once('|').ok_or_else(|| expected.to_owned())?;
    let indices = indices(tail, INDEX_MAX).map_err(|error| format!("{error}; {expected}"))?;
    let ports = match head.split('|').collect::<Vec<_>>()[..] {
        [list] => ports(list)?,
        [host, asic, list] => {
            ports(list)?.iter().map(|port| PortName::new(&format!("{host}|{asic}|{port}"))).collect()
        }
        _ => return Err(expected.to_owned()),
    };
    Ok((ports, indices))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        ports(text).expect("ports").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn references_are_read_in_both_spellings() {
        for text in ["x", "[BUFFER_PROFILE|x]", "BUFFER_PROFILE|x", " [x] ", "[BUFFER_PROFILE_TABLE:x]"] {
            assert_eq!(reference(text), "x", "{text}");
        }
    }

    #[test]
    fn keys_hold_lists_and_ranges() {
        assert_eq!(names("Ethernet0,Ethernet4"), ["Ethernet0", "Ethernet4"]);
        assert_eq!(names("Ethernet0-Ethernet2"), ["Ethernet0", "Ethernet1", "Ethernet2"]);
        assert_eq!(names("Ethernet8-9"), ["Ethernet8", "Ethernet9"]);
        assert_eq!(indices("0,2-4", 7), Ok(vec![0, 2, 3, 4]));
        let (ports, numbers) = ports_and_indices("host|asic0|Ethernet0|3-4").expect("a chassis");
        assert_eq!(
            (ports[0].name(), ports[0].is_remote(), numbers),
            ("host|asic0|Ethernet0", true, vec![3, 4])
        );
    }

    #[test]
    fn other_forms_are_refused() {
        for text in ["4-3", "a", "", "8", "3-", "-1"] {
            assert!(indices(text, 7).is_err(), "{text}");
        }
        for key in ["Ethernet0", "Ethernet0|x", "a|b|3", "Ethernet0,|3", "Ethernet0-99999999|3"] {
            assert!(ports_and_indices(key).is_err(), "{key}");
        }
        assert!(indices(&["0-63"; 100].join(","), 63).is_err());
    }

    #[test]
    fn ports_sort_as_people_number_them() {
        let mut all = ["Ethernet12", "Ethernet4", "CPU", "Ethernet0"].map(PortName::new);
        all.sort();
        assert_eq!(all.map(|port| port.to_string()), ["CPU", "Ethernet0", "Ethernet4", "Ethernet12"]);
    }
}
