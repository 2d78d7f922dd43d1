//! Address table: maps destination addresses to egress ports. Entries are configured or learned.

use crate::tallies::Discard;
use bufferlab_units::Time;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// An address of the link layer (EUI-48).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Whether the address is multicast or broadcast.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether the address is one of the sixteen addresses that switches do not forward (IEEE
    /// 802.1Q, table 8-1). These addresses are for spanning tree, pause frames, link aggregation
    /// and LLDP.
    #[must_use]
    pub const fn is_link_local(self) -> bool {
        matches!(self.0, [0x01, 0x80, 0xc2, 0, 0, last] if last < 16)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no address: write six bytes such as 02:00:00:00:00:01");
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self(bytes))
    }
}

/// Egress ports to which the switch forwards a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The frame leaves the switch through the given port.
    To(u16),
    /// The frame leaves the switch through all ports except its ingress port.
    Flood,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    port: u16,
    /// Last time at which a frame had this source address; `None` for a configured address, which
    /// never expires.
    seen: Option<Time>,
}

/// Table of link-layer addresses and the ports to which their hosts are connected.
///
/// The number of learned addresses is limited, so that a host with invented addresses cannot fill
/// the memory. A full table removes addresses that no frame had for `forget_after`. If no address
/// is that old, the table learns no new address. The switch then floods frames to unknown
/// addresses within the flood limit.
#[derive(Clone, Debug)]
pub struct AddressTable {
    entries: BTreeMap<MacAddress, Entry>,
    learns: bool,
    forget_after: Time,
    learned: usize,
    most: usize,
    /// Time before which no entry of a full address table expires.
    full_until: Time,
    flood_limit: u64,
    /// Number of the current second, and number of frames that the switch flooded in this second.
    flooding: (u64, u64),
}

impl AddressTable {
    /// Creates an empty table with at most `most` learned addresses. The table floods at most
    /// `flood_limit` frames per second.
    #[must_use]
    pub const fn new(learns: bool, forget_after: Time, most: usize, flood_limit: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            learns,
            forget_after,
            learned: 0,
            most,
            full_until: Time::ZERO,
            flood_limit,
            flooding: (0, 0),
        }
    }

    /// Adds a permanent entry: the host with `address` is connected to `port`.
    pub fn give(&mut self, address: MacAddress, port: u16) {
        self.entries.insert(address, Entry { port, seen: None });
    }

    /// Number of addresses that the table has learned.
    #[must_use]
    pub const fn learned(&self) -> usize {
        self.learned
    }

    /// Chooses the egress ports of a frame that arrived on `port` from the address `from` to the
    /// address `to`.
    ///
    /// # Errors
    /// The reason for discarding the frame.
    pub fn forward(
        &mut self,
        now: Time,
        port: u16,
        from: MacAddress,
        to: MacAddress,
    ) -> Result<Forward, Discard> {
        if to.is_link_local() {
            return Err(Discard::LinkLocal);
        }
        self.learn(now, port, from);
        let known = if to.is_group() { None } else { self.find(now, to) };
        match known {
            Some(behind) if behind == port => Err(Discard::SamePort),
            Some(behind) => Ok(Forward::To(behind)),
            None if self.may_flood(now) => Ok(Forward::Flood),
            None => Err(Discard::FloodLimit),
        }
    }

    fn find(&self, now: Time, address: MacAddress) -> Option<u16> {
        let entry = self.entries.get(&address)?;
        let is_fresh = entry.seen.is_none_or(|seen| now.saturating_sub(seen) < self.forget_after);
        is_fresh.then_some(entry.port)
    }

    fn learn(&mut self, now: Time, port: u16, address: MacAddress) {
        if !self.learns {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&address) {
            if entry.seen.is_some() {
                *entry = Entry { port, seen: Some(now) };
            }
            return;
        }
        if self.learned >= self.most && !self.make_room(now) {
            return;
        }
        self.learned += 1;
        self.entries.insert(address, Entry { port, seen: Some(now) });
    }

    /// Removes expired entries, and returns false if the table is still full.
    fn make_room(&mut self, now: Time) -> bool {
        if now < self.full_until {
            return false;
        }
        let forget_after = self.forget_after;
        let is_old = |entry: &Entry| entry.seen.is_some_and(|seen| now.saturating_sub(seen) >= forget_after);
        self.entries.retain(|_, entry| !is_old(entry));
        let seen = self.entries.values().filter_map(|entry| entry.seen);
        let (learned, oldest) =
            seen.fold((0, Time::MAX), |(count, oldest), seen| (count + 1, oldest.min(seen)));
        self.learned = learned;
        if self.learned >= self.most {
            // The switch scans the table once per expiring address, not once per frame.
            self.full_until = Time(oldest.0.saturating_add(forget_after.0));
        }
        self.learned < self.most
    }

    fn may_flood(&mut self, now: Time) -> bool {
        const SECOND: u64 = Time::from_ms(1_000).0;
        let second = now.0 / SECOND;
        if self.flooding.0 != second {
            self.flooding = (second, 0);
        }
        self.flooding.1 += 1;
        self.flooding.1 <= self.flood_limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Time = Time::from_ms(1_000);

    fn mac(last: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, last])
    }

    fn table() -> AddressTable {
        AddressTable::new(true, Time::from_ms(10_000), 3, 4)
    }

    #[test]
    fn a_source_is_learned_moves_and_is_forgotten() {
        let mut table = table();
        assert_eq!(table.forward(SECOND, 0, mac(1), mac(2)), Ok(Forward::Flood));
        assert_eq!(table.forward(SECOND, 1, mac(2), mac(1)), Ok(Forward::To(0)));
        assert_eq!(table.forward(SECOND, 2, mac(1), mac(2)), Ok(Forward::To(1)));
        assert_eq!(table.forward(SECOND, 1, mac(2), mac(1)), Ok(Forward::To(2)), "it has moved");
        assert_eq!(table.forward(SECOND, 2, mac(9), mac(1)), Err(Discard::SamePort));
        let later = Time::from_ms(11_001);
        assert_eq!(table.forward(later, 1, mac(2), mac(1)), Ok(Forward::Flood), "not seen for ten seconds");
    }

    #[test]
    fn a_given_address_stays_where_it_is() {
        let mut table = table();
        table.give(mac(1), 0);
        assert_eq!(table.forward(SECOND, 2, mac(1), mac(7)), Ok(Forward::Flood));
        assert_eq!(table.forward(Time::from_ms(100_000), 1, mac(2), mac(1)), Ok(Forward::To(0)));
    }

    #[test]
    fn invented_addresses_do_not_fill_the_table_and_known_ones_stay_known() {
        let mut table = table();
        for last in 1..=200 {
            let _ = table.forward(SECOND, 0, mac(last), mac(0));
        }
        assert_eq!(table.learned(), 3);
        assert_eq!(table.forward(SECOND, 1, mac(0), mac(2)), Ok(Forward::To(0)));
        // The table removes expired addresses to make space for new addresses.
        let later = Time::from_ms(20_000);
        let _ = table.forward(later, 1, mac(77), mac(0));
        assert_eq!(table.forward(later, 0, mac(1), mac(77)), Ok(Forward::To(1)));
        assert_eq!(table.learned(), 2);
    }

    #[test]
    fn flooding_has_a_limit_per_second() {
        let mut table = table();
        let broadcast = MacAddress([0xff; 6]);
        let flood = |table: &mut AddressTable, now| {
            (0..10).filter(|_| table.forward(now, 0, mac(1), broadcast) == Ok(Forward::Flood)).count()
        };
        assert_eq!(flood(&mut table, SECOND), 4);
        assert_eq!(flood(&mut table, Time::from_ms(1_999)), 0);
        assert_eq!(flood(&mut table, Time::from_ms(2_000)), 4);
        assert_eq!(
            table.forward(SECOND, 0, mac(1), MacAddress([1, 0x80, 0xc2, 0, 0, 1])),
            Err(Discard::LinkLocal)
        );
    }

    #[test]
    fn addresses_are_written_and_read_alike() {
        let address = MacAddress([0x02, 0xab, 0, 1, 2, 0xff]);
        assert_eq!(address.to_string().parse(), Ok(address));
        for wrong in ["", "02:ab", "02:ab:00:01:02:ff:00", "2:ab:00:01:02:ff", "gg:ab:00:01:02:ff"] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
    }
}
