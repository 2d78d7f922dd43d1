//! The ledger: who holds how many bytes of the shared memory, at egress and at ingress.
//!
//! Every stored packet is counted once in the total, once at its egress queue and port, and once at the
//! ingress queue that it came from. Only [`crate::Switch`] writes; policies read.
//!
//! **What policies divide.** Space may be reserved for queues and ports ([`Reserves`]); what is left is the *shared* pool. A queue uses its
//! own reserve first, then its port's, then the pool; it gives back in the opposite order. The methods with `shared` in
//! their names show the pool alone, and policies read only these; without reserves they equal the others. The pool's occupancy may be
//! shown as it was some nanoseconds ago ([`crate::Hardware::threshold_refresh`]): that is how thresholds of a chip grow stale.

use crate::policy::{Account, Tags};
use bufferlab_units::Time;
use std::collections::VecDeque;
use std::fmt;

/// An egress queue: port × queues per port + priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct QueueId(pub u16);

/// An ingress queue: arrival port × queues per port + priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct IngressId(pub u16);

/// An end of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The oldest packet: next to be sent.
    Head,
    /// The newest packet.
    Tail,
}

/// A stored packet as the buffer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// When it was admitted.
    pub enqueued_at: Time,
    /// The driver's name for it.
    pub packet: u32,
    /// Bytes that it occupies.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
    /// The ingress queue that it is charged to.
    pub ingress: IngressId,
    /// Its marks.
    pub tags: Tags,
    /// The account that it is charged to.
    pub account: Account,
}

/// Bytes set aside, the same for every queue and for every port of a memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserves {
    /// Of each egress queue (bytes).
    pub queue: u64,
    /// Of each egress port, for its queues together once their own are used up (bytes).
    pub port: u64,
}

impl Reserves {
    /// All bytes that are set aside in a memory of `ports` × `queues_per_port` queues.
    #[must_use]
    pub const fn total(self, ports: usize, queues_per_port: usize) -> u64 {
        ports as u64 * (self.port + queues_per_port as u64 * self.queue)
    }
}

#[derive(Clone, Debug, Default)]
struct Queue {
    packets: VecDeque<Stored>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PortAccount {
    bytes: u64,
    reserved: u64,
    /// Beyond the reserves of its queues (bytes).
    beyond_queues: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IngressAccount {
    bytes: u64,
    headroom: u64,
}

/// Number of [`Account`]s.
const ACCOUNTS: usize = 4;

/// The shared memory of one switch: its content and its ledger.
#[derive(Clone, Debug)]
pub struct Buffer {
    capacity: u64,
    occupancy: u64,
    reserves: Reserves,
    shared_capacity: u64,
    /// Nothing is set aside: the pool is the memory, and its accounts are not kept twice.
    all_shared: bool,
    shared_occupancy: u64,
    /// The pool's occupancy as policies see it; `None`: as it is.
    shown_occupancy: Option<u64>,
    /// Bytes by [`Account`].
    used: [u64; ACCOUNTS],
    queues_per_port: u16,
    queues: Vec<Queue>,
    ports: Vec<PortAccount>,
    ingress: Vec<IngressAccount>,
}

impl Buffer {
    /// An empty memory of `capacity` bytes for `ports` × `queues_per_port` queues.
    ///
    /// # Panics
    /// If there are more than 65,535 queues.
    #[must_use]
    pub fn new(capacity: u64, ports: usize, queues_per_port: usize) -> Self {
        Self::with_reserves(capacity, ports, queues_per_port, Reserves::default(), ports)
    }

    /// The same with space set aside, and with packets from `ingress_ports` ports: those of the other memories of a switch, too.
    ///
    /// # Panics
    /// If there are more than 65,535 queues, or more is set aside than the memory has.
    #[must_use]
    pub fn with_reserves(
        capacity: u64,
        ports: usize,
        queues_per_port: usize,
        reserves: Reserves,
        ingress_ports: usize,
    ) -> Self {
        let queues = ports * queues_per_port;
        let ingress_queues = ingress_ports * queues_per_port;
        let most = queues.max(ingress_queues);
        assert!(u16::try_from(most).is_ok(), "{most} queues; at most 65,535 per switch");
        let reserved = reserves.total(ports, queues_per_port);
        assert!(reserved <= capacity, "{reserved} B are set aside in a memory of {capacity} B");
        Self {
            capacity,
            occupancy: 0,
            reserves,
            shared_capacity: capacity - reserved,
            all_shared: reserved == 0,
            shared_occupancy: 0,
            shown_occupancy: None,
            used: [0; ACCOUNTS],
            queues_per_port: queues_per_port as u16,
            queues: vec![Queue::default(); queues],
            ports: vec![PortAccount::default(); ports],
            ingress: vec![IngressAccount::default(); ingress_queues],
        }
    }

    /// B: all bytes.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes stored, over all accounts.
    #[inline]
    #[must_use]
    pub fn occupancy(&self) -> u64 {
        self.occupancy
    }

    /// What policies divide: B less all reserves.
    #[inline]
    #[must_use]
    pub fn shared_capacity(&self) -> u64 {
        self.shared_capacity
    }

    /// Bytes of the shared pool in use: as they are, or as they were at the last refresh.
    #[inline]
    #[must_use]
    pub fn shared_occupancy(&self) -> u64 {
        self.shown_occupancy.unwrap_or_else(|| self.pool_occupancy())
    }

    /// Bytes of the shared pool in use.
    #[inline]
    fn pool_occupancy(&self) -> u64 {
        if self.all_shared { self.occupancy } else { self.shared_occupancy }
    }

    /// [`Self::shared_capacity`] − [`Self::shared_occupancy`]: what dynamic thresholds are proportional to.
    #[inline]
    #[must_use]
    pub fn shared_free(&self) -> u64 {
        self.shared_capacity - self.shared_occupancy()
    }

    /// Bytes of an egress queue beyond its own reserve.
    #[inline]
    #[must_use]
    pub fn shared_queue_bytes(&self, queue: QueueId) -> u64 {
        self.queue_bytes(queue).saturating_sub(self.reserves.queue)
    }

    /// Bytes of an egress port beyond the reserves of its queues and its own.
    #[inline]
    #[must_use]
    pub fn shared_port_bytes(&self, port: u16) -> u64 {
        let account = &self.ports[port as usize];
        if self.all_shared { account.bytes } else { account.beyond_queues.saturating_sub(self.reserves.port) }
    }

    /// Whether `size` more bytes fit into the shared pool as it is: Q + len ≤ B.
    #[inline]
    #[must_use]
    pub fn fits(&self, size: u32) -> bool {
        self.pool_occupancy() + u64::from(size) <= self.shared_capacity
    }

    /// Whether `size` more bytes of `queue` lie within what is set aside for it and its port.
    #[inline]
    #[must_use]
    pub fn fits_reserve(&self, queue: QueueId, port: u16, size: u32) -> bool {
        if self.all_shared {
            return false;
        }
        let length = self.queue_bytes(queue);
        let beyond_queue = (length + u64::from(size)).saturating_sub(length.max(self.reserves.queue));
        beyond_queue == 0 || self.ports[port as usize].beyond_queues + beyond_queue <= self.reserves.port
    }

    /// From now on policies see the pool's occupancy of this moment, until the next call.
    pub(crate) fn refresh(&mut self) {
        self.shown_occupancy = Some(self.pool_occupancy());
    }

    /// Bytes charged to `account`.
    #[inline]
    #[must_use]
    pub fn used(&self, account: Account) -> u64 {
        self.used[account as usize]
    }

    /// Bytes of an egress queue.
    #[inline]
    #[must_use]
    pub fn queue_bytes(&self, queue: QueueId) -> u64 {
        self.queues[queue.0 as usize].bytes
    }

    /// Packets of an egress queue.
    #[inline]
    #[must_use]
    pub fn queue_packets(&self, queue: QueueId) -> usize {
        self.queues[queue.0 as usize].packets.len()
    }

    /// The packet at one end of an egress queue.
    #[inline]
    #[must_use]
    pub fn peek(&self, queue: QueueId, end: End) -> Option<&Stored> {
        let packets = &self.queues[queue.0 as usize].packets;
        match end {
            End::Head => packets.front(),
            End::Tail => packets.back(),
        }
    }

    /// The packets of an egress queue from head to tail.
    pub fn packets(&self, queue: QueueId) -> impl DoubleEndedIterator<Item = &Stored> {
        self.queues[queue.0 as usize].packets.iter()
    }

    /// Bytes stored for an egress port.
    #[inline]
    #[must_use]
    pub fn port_bytes(&self, port: u16) -> u64 {
        self.ports[port as usize].bytes
    }

    /// Bytes of an egress port that are charged to [`Account::Reserved`].
    #[inline]
    #[must_use]
    pub fn port_reserved_bytes(&self, port: u16) -> u64 {
        self.ports[port as usize].reserved
    }

    /// Bytes that arrived through an ingress queue and are still stored, headroom included.
    #[inline]
    #[must_use]
    pub fn ingress_bytes(&self, ingress: IngressId) -> u64 {
        self.ingress[ingress.0 as usize].bytes
    }

    /// Bytes of an ingress queue that are charged to [`Account::Headroom`].
    #[inline]
    #[must_use]
    pub fn ingress_headroom_bytes(&self, ingress: IngressId) -> u64 {
        self.ingress[ingress.0 as usize].headroom
    }

    /// Number of ports.
    #[must_use]
    pub fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Queues per port.
    #[inline]
    #[must_use]
    pub fn queues_per_port(&self) -> u16 {
        self.queues_per_port
    }

    /// All egress queues in order.
    pub fn queue_ids(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..self.queues.len() as u16).map(QueueId)
    }

    /// The queue of `port` with `priority`.
    #[inline]
    #[must_use]
    pub fn queue_of(&self, port: u16, priority: u8) -> QueueId {
        QueueId(port * self.queues_per_port + u16::from(priority))
    }

    /// Port and priority of a queue.
    #[inline]
    #[must_use]
    pub fn port_and_priority(&self, queue: QueueId) -> (u16, u8) {
        (queue.0 / self.queues_per_port, (queue.0 % self.queues_per_port) as u8)
    }

    /// Appends `stored` to `queue` of `port` and charges its accounts.
    #[inline(always)] // One of two instances of its generic caller is hot: without this none would contain it.
    pub(crate) fn store(&mut self, queue: QueueId, port: u16, stored: Stored) {
        let size = u64::from(stored.size);
        let slot = &mut self.queues[queue.0 as usize];
        slot.bytes += size;
        slot.packets.push_back(stored);
        self.occupancy += size;
        self.used[stored.account as usize] += size;
        let length = slot.bytes;
        let port = &mut self.ports[port as usize];
        port.bytes += size;
        if !self.all_shared {
            let before = port.beyond_queues.max(self.reserves.port);
            port.beyond_queues += length.saturating_sub(self.reserves.queue.max(length - size));
            self.shared_occupancy += port.beyond_queues.saturating_sub(before);
        }
        let ingress = &mut self.ingress[stored.ingress.0 as usize];
        ingress.bytes += size;
        match stored.account {
            Account::Shared | Account::Minimum => {}
            Account::Reserved => port.reserved += size,
            Account::Headroom => ingress.headroom += size,
        }
    }

    /// Takes the packet at `end` of `queue` of `port` and releases its accounts.
    #[inline]
    pub(crate) fn remove(&mut self, queue: QueueId, port: u16, end: End) -> Option<Stored> {
        let slot = &mut self.queues[queue.0 as usize];
        let stored = match end {
            End::Head => slot.packets.pop_front(),
            End::Tail => slot.packets.pop_back(),
        }?;
        let size = u64::from(stored.size);
        slot.bytes -= size;
        self.occupancy -= size;
        self.used[stored.account as usize] -= size;
        let length = slot.bytes;
        let port = &mut self.ports[port as usize];
        port.bytes -= size;
        if !self.all_shared {
            let before = port.beyond_queues;
            port.beyond_queues -= (length + size).saturating_sub(self.reserves.queue.max(length));
            self.shared_occupancy -= before.saturating_sub(self.reserves.port.max(port.beyond_queues));
        }
        let ingress = &mut self.ingress[stored.ingress.0 as usize];
        ingress.bytes -= size;
        match stored.account {
            Account::Shared | Account::Minimum => {}
            Account::Reserved => port.reserved -= size,
            Account::Headroom => ingress.headroom -= size,
        }
        Some(stored)
    }

    /// Checks that the ledger equals what the queues contain.
    ///
    /// # Errors
    /// The first account that differs.
    pub fn verify(&self) -> Result<(), LedgerError> {
        let mut used = [0; ACCOUNTS];
        let mut ports = vec![PortAccount::default(); self.ports.len()];
        let mut ingress = vec![IngressAccount::default(); self.ingress.len()];
        for (index, queue) in self.queues.iter().enumerate() {
            let mut bytes = 0;
            for stored in &queue.packets {
                let size = u64::from(stored.size);
                bytes += size;
                used[stored.account as usize] += size;
                let from = &mut ingress[stored.ingress.0 as usize];
                from.bytes += size;
                let to = &mut ports[index / self.queues_per_port as usize];
                to.bytes += size;
                match stored.account {
                    Account::Shared | Account::Minimum => {}
                    Account::Reserved => to.reserved += size,
                    Account::Headroom => from.headroom += size,
                }
            }
            compare(format_args!("queue {index}"), queue.bytes, bytes)?;
            ports[index / self.queues_per_port as usize].beyond_queues +=
                if self.all_shared { 0 } else { bytes.saturating_sub(self.reserves.queue) };
        }
        compare(format_args!("the total"), self.occupancy, used.iter().sum())?;
        for (account, (ledger, content)) in self.used.iter().zip(used).enumerate() {
            compare(format_args!("account {account}"), *ledger, content)?;
        }
        let mut shared = 0;
        for (index, (ledger, content)) in self.ports.iter().zip(ports).enumerate() {
            compare(format_args!("port {index}"), ledger.bytes, content.bytes)?;
            compare(format_args!("reserve of port {index}"), ledger.reserved, content.reserved)?;
            let beyond_queues = (ledger.beyond_queues, content.beyond_queues);
            compare(format_args!("port {index} beyond its queues"), beyond_queues.0, beyond_queues.1)?;
            shared += if self.all_shared {
                content.bytes
            } else {
                content.beyond_queues.saturating_sub(self.reserves.port)
            };
        }
        compare(format_args!("the shared pool"), self.pool_occupancy(), shared)?;
        for (index, (ledger, content)) in self.ingress.iter().zip(ingress).enumerate() {
            compare(format_args!("ingress queue {index}"), ledger.bytes, content.bytes)?;
            compare(format_args!("headroom of {index}"), ledger.headroom, content.headroom)?;
        }
        if self.pool_occupancy() > self.shared_capacity {
            let (found, limit) = (self.pool_occupancy(), self.shared_capacity);
            return Err(LedgerError(format!("{found} B stored in a shared pool of {limit} B")));
        }
        if self.occupancy > self.capacity {
            let message = format!("{} B stored in a buffer of {} B", self.occupancy, self.capacity);
            return Err(LedgerError(message));
        }
        Ok(())
    }
}

fn compare(what: fmt::Arguments<'_>, ledger: u64, content: u64) -> Result<(), LedgerError> {
    if ledger == content {
        Ok(())
    } else {
        Err(LedgerError(format!("{what}: the ledger says {ledger} B, the queues hold {content} B")))
    }
}

/// The ledger and the content of the queues differ: a bug in this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerError(pub(crate) String);

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LedgerError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(size: u32, account: Account) -> Stored {
        let ingress = IngressId(3);
        Stored { enqueued_at: Time::ZERO, packet: 0, size, flow: 0, ingress, tags: Tags::NONE, account }
    }

    /// Two ports × two queues; a packet in each account.
    fn filled() -> Buffer {
        let mut buffer = Buffer::new(10_000, 2, 2);
        buffer.store(QueueId(1), 0, stored(1_000, Account::Shared));
        buffer.store(QueueId(2), 1, stored(500, Account::Reserved));
        buffer.store(QueueId(2), 1, stored(300, Account::Headroom));
        buffer
    }

    #[test]
    fn a_packet_is_counted_once_in_every_view() {
        let mut buffer = filled();
        buffer.verify().expect("the ledger is right");
        assert_eq!((buffer.occupancy(), buffer.shared_free()), (1_800, 8_200));
        assert_eq!((buffer.queue_bytes(QueueId(1)), buffer.queue_bytes(QueueId(2))), (1_000, 800));
        assert_eq!((buffer.port_bytes(0), buffer.port_bytes(1)), (1_000, 800));
        assert_eq!((buffer.port_reserved_bytes(0), buffer.port_reserved_bytes(1)), (0, 500));
        assert_eq!(buffer.ingress_bytes(IngressId(3)), 1_800);
        assert_eq!(buffer.ingress_headroom_bytes(IngressId(3)), 300);
        assert_eq!(buffer.used(Account::Shared), 1_000);
        assert_eq!(buffer.remove(QueueId(2), 1, End::Tail).map(|s| s.size), Some(300));
        assert_eq!(buffer.remove(QueueId(2), 1, End::Head).map(|s| s.size), Some(500));
        assert_eq!(buffer.remove(QueueId(2), 1, End::Head), None);
        buffer.verify().expect("the ledger is right");
        assert_eq!((buffer.occupancy(), buffer.port_reserved_bytes(1)), (1_000, 0));
    }

    #[test]
    fn every_account_of_the_ledger_is_compared_with_the_content() {
        type Corruption = fn(&mut Buffer);
        let corruptions: [(&str, Corruption); 11] = [
            ("queue 1:", |b| b.queues[1].bytes += 1),
            ("the total:", |b| b.occupancy -= 1),
            ("account 0:", |b| b.used[0] += 1),
            ("account 2:", |b| b.used[2] -= 1),
            ("port 1:", |b| b.ports[1].bytes += 1),
            ("reserve of port 1:", |b| b.ports[1].reserved -= 1),
            ("ingress queue 3:", |b| b.ingress[3].bytes += 1),
            ("headroom of 3:", |b| b.ingress[3].headroom -= 1),
            ("1800 B stored in a buffer of 1799 B", |b| b.capacity = 1_799),
            ("1800 B stored in a shared pool of 1799 B", |b| b.shared_capacity = 1_799),
            ("port 1 beyond its queues:", |b| b.ports[1].beyond_queues += 1),
        ];
        for (message, corrupt) in corruptions {
            let mut buffer = filled();
            corrupt(&mut buffer);
            let error = buffer.verify().expect_err(message).to_string();
            assert!(error.starts_with(message), "{message}: {error}");
        }
    }

    #[test]
    fn a_queue_uses_its_own_reserve_then_its_ports_then_the_pool_and_gives_back_in_the_opposite_order() {
        let reserves = Reserves { queue: 1_000, port: 500 };
        let mut buffer = Buffer::with_reserves(10_000, 2, 2, reserves, 2);
        assert_eq!(buffer.shared_capacity(), 10_000 - 2 * 500 - 4 * 1_000);
        let seen = |buffer: &Buffer| {
            (buffer.shared_queue_bytes(QueueId(1)), buffer.shared_port_bytes(0), buffer.shared_occupancy())
        };
        let mut steps = Vec::new();
        for size in [800, 400, 600, 700] {
            let reserved = buffer.fits_reserve(QueueId(1), 0, size);
            buffer.store(QueueId(1), 0, stored(size, Account::Shared));
            buffer.verify().expect("the ledger is right");
            steps.push((reserved, seen(&buffer)));
        }
        // 800 of 1,000; 1,200: 200 of the port's 500; 1,800: 300 beyond both; 2,500.
        let up = [
            (true, (0, 0, 0)),
            (true, (200, 0, 0)),
            (false, (800, 300, 300)),
            (false, (1_500, 1_000, 1_000)),
        ];
        assert_eq!(steps, up);
        // The other queue of the port still has its own reserve, the port's is used up.
        assert!(buffer.fits_reserve(QueueId(0), 0, 1_000) && !buffer.fits_reserve(QueueId(0), 0, 1_001));
        let mut down = Vec::new();
        while buffer.remove(QueueId(1), 0, End::Head).is_some() {
            buffer.verify().expect("the ledger is right");
            down.push(seen(&buffer));
        }
        buffer.shared_occupancy += 1;
        assert!(buffer.verify().is_err_and(|error| error.to_string().starts_with("the shared pool:")));
        assert_eq!(down, [(700, 200, 200), (300, 0, 0), (0, 0, 0), (0, 0, 0)]);
    }

    #[test]
    fn policies_see_the_pool_as_it_was_at_the_last_refresh() {
        let mut buffer = Buffer::new(10_000, 2, 2);
        buffer.refresh();
        buffer.store(QueueId(1), 0, stored(1_000, Account::Shared));
        assert_eq!((buffer.shared_occupancy(), buffer.shared_free(), buffer.occupancy()), (0, 10_000, 1_000));
        assert!(!buffer.fits(9_001), "what fits is never stale");
        buffer.refresh();
        assert_eq!(buffer.shared_free(), 9_000);
    }

    #[test]
    fn the_memory_fits_its_capacity_exactly() {
        let mut buffer = Buffer::new(1_000, 1, 1);
        assert!(buffer.fits(1_000) && !buffer.fits(1_001) && !buffer.fits(u32::MAX));
        buffer.store(QueueId(0), 0, Stored { ingress: IngressId(0), ..stored(1_000, Account::Shared) });
        assert!(buffer.fits(0) && !buffer.fits(1));
    }
}
