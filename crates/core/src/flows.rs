//! A bounded table with the packets and bytes that each flow of an elephant trap has sent. The
//! table forgets silent flows.

use crate::header::Header;
use crate::policy::parts::short_flows::Knowledge;
use crate::tags::Tags;
use bufferlab_params::{BuildError, ParamInfo, ParamKind, ParamValue, Params};
use bufferlab_units::{Time, mix};

/// Parameter `flow_idle`: silence after which the table forgets a flow.
pub(crate) const FLOW_IDLE: ParamInfo = ParamInfo::with_default(
    "flow_idle",
    ParamKind::Time { min: Time::from_ns(1) },
    ParamValue::Time(Time::from_ms(5)),
    "Silence after which a flow is forgotten; it then counts from zero.",
);

/// Maximum number of slots of a flow table.
pub(crate) const FLOW_ENTRIES_MAX: u64 = 1 << 24;

/// Parameter `flow_entries`: number of slots of a flow table.
/// The largest table takes half a gigabyte in every memory ([`flow_tables_bytes`]).
pub(crate) const FLOW_ENTRIES: ParamInfo = ParamInfo::with_default(
    "flow_entries",
    ParamKind::Count { min: 4, max: FLOW_ENTRIES_MAX },
    ParamValue::Count(16_384),
    "Size of the flow table (flows), rounded up to a power of two: sets of four. If the set of a new flow is \
     full, the flow replaces the one that was silent for longest, which later counts from zero again.",
);

/// Number of slots in a set of the flow table. A flow is hashed to a set and may occupy any slot of
/// that set.
const WAYS: usize = 4;

/// Size of the flow tables of a policy or classifier with `params`,
/// for each memory of a switch (bytes).
///
/// Every policy and classifier with `flow_entries` builds one table, unless hosts mark short
/// flows (`short_flows = "tag"`). Cisco's Intelligent Buffer stores more data per flow,
/// and its `priority_queue` adds a second table.
#[must_use]
pub fn flow_tables_bytes<'a, 'b>(params: impl IntoIterator<Item = (&'a str, &'b ParamValue)>) -> u64 {
    let slot = size_of::<Slot<Sent>>() as u64;
    let (mut entries, mut of_entry) = (0, slot);
    for (name, value) in params {
        match (name, value) {
            ("flow_entries", ParamValue::Count(count)) => entries = *count,
            ("short_flows", ParamValue::Choice(word)) if *word == Knowledge::Tag.word() => of_entry = 0,
            ("priority_queue", ParamValue::Flag(second)) => {
                of_entry = INTELLIGENT_BUFFER_SLOT + if *second { slot } else { 0 };
            }
            _ => {}
        }
    }
    if entries == 0 { 0 } else { entries.next_power_of_two().max(WAYS as u64) * of_entry }
}

/// Size of a slot in the table of Cisco's Intelligent Buffer (bytes).
const INTELLIGENT_BUFFER_SLOT: u64 = 48;

/// Key of one flow in one direction.
///
/// A flow's acknowledgements travel in the opposite direction,
/// often through the same switch. These ACKs carry the flow's handle but are not part of the flow's
/// data, so they count as a separate flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey(u64);

impl FlowKey {
    /// Key of the flow of a packet with this header.
    #[inline]
    #[must_use]
    pub const fn from_header(header: &Header) -> Self {
        Self::new(header.flow, header.tags)
    }

    /// Key of the flow with the handle `flow`, for a packet with `tags`.
    #[inline]
    #[must_use]
    pub const fn new(flow: u32, tags: Tags) -> Self {
        // The key is never 0, because 0 denotes an empty slot.
        Self(((flow as u64) << 2) | ((tags.contains(Tags::CONTROL) as u64) << 1) | 1)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot<T> {
    key: u64,
    last_seen: Time,
    state: T,
}

/// A table of flows with a fixed number of slots, in sets of four, as in the SRAM of a switch. A
/// lookup reads one set.
///
/// If the set of a new flow is full, the new flow replaces the flow that was silent for longest.
/// The replaced flow counts from zero when it returns. So if the table is too small,
/// an elephant sometimes counts as a short flow, but a short flow never counts as an elephant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTable<T> {
    slots: Vec<Slot<T>>,
    set_mask: u64,
    idle: Time,
}

impl<T: Copy + Default> FlowTable<T> {
    /// A flow table with `flows` slots (rounded up to a power of two, at least four). The table
    /// forgets a flow that was silent for longer than `idle`.
    #[must_use]
    pub fn new(flows: usize, idle: Time) -> Self {
        let slots = flows.next_power_of_two().max(WAYS);
        Self { slots: vec![Slot::default(); slots], set_mask: (slots / WAYS - 1) as u64, idle }
    }

    /// Handles a packet of the flow `key` and returns the flow's entry for updating. The entry has
    /// the default value if the flow is new, was silent for too long, or was replaced.
    #[inline]
    pub fn touch(&mut self, now: Time, key: FlowKey) -> &mut T {
        let first = self.first_slot(key);
        let set = &mut self.slots[first..first + WAYS];
        let found = set.iter().position(|slot| slot.key == key.0);
        // An empty slot counts as last used at time zero.
        let way = found.unwrap_or_else(|| {
            let oldest = (0..WAYS).min_by_key(|&way| (set[way].key != 0, set[way].last_seen));
            oldest.expect("a set has ways")
        });
        let slot = &mut set[way];
        if found.is_none() || now.saturating_sub(slot.last_seen) > self.idle {
            *slot = Slot { key: key.0, last_seen: now, state: T::default() };
        }
        slot.last_seen = now;
        &mut slot.state
    }

    /// Entry of the flow `key` in the table, even if the flow was silent for long.
    #[must_use]
    pub fn get(&self, key: FlowKey) -> Option<&T> {
        let first = self.first_slot(key);
        self.slots[first..first + WAYS].iter().find(|slot| slot.key == key.0).map(|slot| &slot.state)
    }

    /// Number of flows that have a slot in the table.
    #[must_use]
    pub fn known(&self) -> usize {
        self.slots.iter().filter(|slot| slot.key != 0).count()
    }

    #[inline]
    fn first_slot(&self, key: FlowKey) -> usize {
        (mix(key.0) & self.set_mask) as usize * WAYS
    }
}

/// Packets and bytes that a flow has sent since the table last forgot the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Number of packets that the flow has sent.
    pub packets: u64,
    /// Bytes that the flow has sent.
    pub bytes: u64,
}

impl Sent {
    /// Counts a packet of `size` bytes as sent by the flow.
    #[inline]
    pub fn count(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }
}

/// Limit up to which a flow is short: a number of packets, a number of bytes, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortLimit {
    /// A short flow has sent fewer packets than this number. With 0, packets are not limited.
    pub packets: u64,
    /// A short flow has sent fewer bytes than this number. With 0, bytes are not limited.
    pub bytes: u64,
}

impl ShortLimit {
    /// The limit of short flows from the parameters `short_packets` and `short_bytes`.
    ///
    /// # Errors
    /// If `short_packets` and `short_bytes` are 0, so that there is no limit.
    pub(crate) fn from_params(params: &Params) -> Result<Self, BuildError> {
        let limit = Self { packets: params.count("short_packets"), bytes: params.bytes("short_bytes") };
        if limit.packets == 0 && limit.bytes == 0 {
            let message = "without a limit in packets or in bytes every flow is short forever: set short_packets or short_bytes";
            return Err(BuildError { param: "short_packets", message: message.to_owned() });
        }
        Ok(limit)
    }

    /// Whether the next packet belongs to a short flow, if the flow has sent `sent` before.
    #[inline]
    #[must_use]
    pub const fn holds(self, sent: Sent) -> bool {
        (self.packets == 0 || sent.packets < self.packets) && (self.bytes == 0 || sent.bytes < self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(flow: u32) -> FlowKey {
        FlowKey::new(flow, Tags::NONE)
    }

    #[test]
    fn a_flow_is_remembered_until_it_is_silent_for_too_long() {
        let mut table = FlowTable::<Sent>::new(64, Time::from_us(10));
        table.touch(Time::from_us(1), key(7)).count(100);
        table.touch(Time::from_us(11), key(7)).count(50);
        assert_eq!(table.get(key(7)), Some(&Sent { packets: 2, bytes: 150 }));
        // The table forgets a flow only after a silence longer than 10 us. The second silence is
        // longer by a picosecond.
        assert_eq!(table.touch(Time::from_us(21), key(7)).packets, 2);
        assert_eq!(table.touch(Time(Time::from_us(31).0 + 1), key(7)).packets, 0);
        assert_eq!(table.known(), 1);
    }

    #[test]
    fn acknowledgements_of_a_flow_are_not_its_data() {
        let mut table = FlowTable::<Sent>::new(64, Time::from_ms(5));
        table.touch(Time::ZERO, key(7)).count(1_500);
        assert_eq!(table.touch(Time::ZERO, FlowKey::new(7, Tags::CONTROL)).bytes, 0);
        assert_eq!(table.touch(Time::ZERO, FlowKey::new(7, Tags::SMALL)).bytes, 1_500);
    }

    #[test]
    fn a_full_set_displaces_the_flow_that_was_silent_for_longest() {
        let mut table = FlowTable::<Sent>::new(4, Time::from_ms(5));
        for flow in 0..4 {
            table.touch(Time::from_us(u64::from(flow)), key(flow)).count(100);
        }
        table.touch(Time::from_us(10), key(0)).count(100);
        assert_eq!(table.touch(Time::from_us(11), key(4)).packets, 0);
        assert_eq!((table.get(key(1)), table.known()), (None, 4));
        assert_eq!(table.get(key(0)).map(|sent| sent.packets), Some(2));
    }

    #[test]
    fn a_table_of_16384_forgets_few_of_4096_flows() {
        let mut table = FlowTable::<Sent>::new(16_384, Time::from_ms(5));
        for flow in 0..4_096 {
            table.touch(Time::ZERO, key(flow)).count(1);
        }
        let kept = (0..4_096).filter(|&flow| table.get(key(flow)).is_some()).count();
        assert!(kept >= 4_070, "{kept}");
    }

    #[test]
    fn a_flow_is_short_while_it_is_below_every_limit_that_is_set() {
        let sent = Sent { packets: 15, bytes: 1_000 };
        let limit = |packets, bytes| ShortLimit { packets, bytes };
        assert!(limit(16, 0).holds(sent) && !limit(15, 0).holds(sent));
        assert!(limit(0, 1_001).holds(sent) && !limit(0, 1_000).holds(sent));
        assert!(
            limit(16, 1_001).holds(sent) && !limit(16, 1_000).holds(sent) && !limit(15, 1_001).holds(sent)
        );
    }
}
