//! Maps the addresses of a packet trace to hosts of the network.

use super::PacketProblem;
use bufferlab_params::choices;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Rule that maps an address, or a range of addresses, to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressRule {
    text: String,
    range: Option<(IpAddr, u32)>,
    host: u32,
}

impl AddressRule {
    /// Creates a rule that maps `address` to a host. `address` is any name in the trace, or a range
    /// of IP addresses such as `10.0.3.0/24`.
    ///
    /// # Errors
    /// A sentence that describes the mistake, if `address` contains a slash but is no valid range.
    pub fn new(address: &str, host: u32) -> Result<Self, String> {
        let range = match address.split_once('/') {
            None => address.parse().ok().map(|ip: IpAddr| (ip, if ip.is_ipv4() { 32 } else { 128 })),
            Some((ip, bits)) => {
                let wrong =
                    || format!("\"{address}\" is no range of addresses; write 10.0.3.0/24 or fd00::/8");
                let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
                let bits: u32 = bits.parse().map_err(|_| wrong())?;
                if bits > if ip.is_ipv4() { 32 } else { 128 } {
                    return Err(wrong());
                }
                Some((ip, bits))
            }
        };
        Ok(Self { text: address.to_owned(), range, host })
    }

    /// Number of leading bits that the rule fixes, if `address` matches the rule.
    fn matches(&self, address: &str, ip: Option<IpAddr>) -> Option<u32> {
        if self.text == address {
            return Some(u32::MAX);
        }
        let same = |a: u128, b: u128, bits: u32, width: u32| bits == 0 || (a ^ b) >> (width - bits) == 0;
        match (self.range?, ip?) {
            ((IpAddr::V4(own), bits), IpAddr::V4(other)) => {
                same(own.to_bits().into(), other.to_bits().into(), bits, 32).then_some(bits)
            }
            ((IpAddr::V6(own), bits), IpAddr::V6(other)) => {
                same(own.to_bits(), other.to_bits(), bits, 128).then_some(bits)
            }
            _ => None,
        }
    }
}

choices! {
    /// Treatment of an address without a matching rule.
    pub enum Unmapped {
        RoundRobin = "round_robin": "maps to the next host, in turn; an address keeps its host",
        Refuse = "refuse": "is an error",
    }
}

/// Hosts of a topology, with the trace addresses that map to these hosts.
#[derive(Clone, Debug)]
pub struct AddressBook<'a> {
    hosts: u32,
    by_name: BTreeMap<&'a str, u32>,
    rules: &'a [AddressRule],
    unmapped: Unmapped,
    known: BTreeMap<String, u32>,
    next: u32,
}

impl<'a> AddressBook<'a> {
    /// Creates the mapping from host names, rules, and the treatment of other addresses. If several
    /// rules match an address, the rule with the narrowest range applies. Among equally narrow
    /// rules the first rule applies.
    ///
    /// # Panics
    /// If the list of hosts is empty.
    #[must_use]
    pub fn new(hosts: &'a [String], rules: &'a [AddressRule], unmapped: Unmapped) -> Self {
        assert!(!hosts.is_empty(), "a topology has hosts");
        let by_name = (0..).zip(hosts).map(|(host, name)| (name.as_str(), host)).collect();
        let hosts = hosts.len() as u32;
        Self { hosts, by_name, rules, unmapped, known: BTreeMap::new(), next: 0 }
    }

    /// Finds the host for `address`: by a rule, by host name, by host number, or the next host in
    /// turn.
    pub(super) fn host(&mut self, address: &str) -> Result<u32, PacketProblem> {
        if let Some(&host) = self.known.get(address) {
            return Ok(host);
        }
        let host = self.find(address)?;
        self.known.insert(address.to_owned(), host);
        Ok(host)
    }

    fn find(&mut self, address: &str) -> Result<u32, PacketProblem> {
        let ip = address.parse().ok();
        let mut narrowest: Option<(u32, u32)> = None;
        for rule in self.rules {
            if let Some(bits) = rule.matches(address, ip)
                && narrowest.is_none_or(|(best, _)| bits > best)
            {
                narrowest = Some((bits, rule.host));
            }
        }
        let number = || address.parse().ok().filter(|number: &u32| *number < self.hosts);
        let found =
            narrowest.map(|(_, host)| host).or_else(|| self.by_name.get(address).copied()).or_else(number);
        match (found, self.unmapped) {
            (Some(host), _) => Ok(host),
            (None, Unmapped::Refuse) => Err(PacketProblem::Unmapped { address: address.to_owned() }),
            (None, Unmapped::RoundRobin) => {
                let host = self.next;
                self.next = (host + 1) % self.hosts;
                Ok(host)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|host| format!("h{host}")).collect()
    }

    #[test]
    fn the_narrowest_rule_wins_then_names_numbers_and_turns() {
        let hosts = names(5);
        let rules = [("10.0.0.0/8", 1), ("10.0.3.0/24", 2), ("10.0.3.7", 3), ("fd00::/8", 4), ("printer", 0)];
        let rules = rules.map(|(address, host)| AddressRule::new(address, host).expect("a rule"));
        let mut book = AddressBook::new(&hosts, &rules, Unmapped::RoundRobin);
        for (address, host) in [
            ("10.9.9.9", 1),
            ("10.0.3.200", 2),
            ("10.0.3.7", 3),
            ("fd12::1", 4),
            ("printer", 0),
            ("h4", 4),
            ("2", 2),
            // New addresses map to the hosts in turn: first 0, then 1. Known addresses keep their
            // hosts.
            ("192.0.2.1", 0),
            ("7", 1),
            ("192.0.2.1", 0),
        ] {
            assert_eq!(book.host(address), Ok(host), "{address}");
        }
    }

    #[test]
    fn an_address_without_a_host_can_be_refused() {
        let hosts = names(2);
        let mut book = AddressBook::new(&hosts, &[], Unmapped::Refuse);
        assert_eq!(book.host("h1"), Ok(1));
        let refused = book.host("192.0.2.1").expect_err("no host").to_string();
        assert!(refused.starts_with("`192.0.2.1` is no host"), "{refused}");
    }

    #[test]
    fn what_looks_like_a_range_must_be_one() {
        for text in ["10.0.0.0/33", "10.0.0/8", "x/8", "fd00::/129", "10.0.0.0/"] {
            assert!(AddressRule::new(text, 0).is_err(), "{text}");
        }
        let all = AddressRule::new("0.0.0.0/0", 7).expect("a range");
        assert_eq!(all.matches("1.2.3.4", "1.2.3.4".parse().ok()), Some(0));
        assert_eq!(all.matches("fd00::1", "fd00::1".parse().ok()), None);
    }
}
