//! The ledger of the shared memory: stored bytes per queue and per port, at egress and at ingress.
//!
//! Every stored packet is counted once in the total, once at its egress queue and port, and once at
//! its ingress queue. Only [`crate::Switch`] writes; policies read.
//!
//! **The shared pool.** Space may be reserved for queues and ports ([`Reserves`]). The rest is the
//! *shared* pool, which policies divide. Methods with `shared` in their names return bytes of the
//! pool alone, and policies read only these methods. Without reserves, methods with and without
//! `shared` return equal numbers. Policies may see the pool's occupancy of some nanoseconds ago
//! ([`crate::Hardware::threshold_refresh`]), because a chip's thresholds lag.

use crate::header::Header;
use crate::shared_pool::{ACCOUNTS, Reserves, SharedPool};
use bufferlab_units::Time;
use std::collections::VecDeque;
use std::fmt;

/// Number of an egress queue: port × queues per port + priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct QueueId(pub u16);

/// Number of an ingress queue: arrival port × queues per port + priority.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct IngressId(pub u16);

/// Account of the ledger to which an admitted packet is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// The shared pool, which the policy's thresholds divide between the queues.
    Shared,
    /// Space reserved for the packet's egress port or egress queue.
    Reserved,
    /// Headroom of the packet's ingress queue (lossless classes). When a packet of that ingress
    /// queue departs, the ledger first releases headroom, then other space.
    Headroom,
    /// Minimum space that the switch itself reserves for every queue and port
    /// ([`crate::Reserves`]). The switch stores packets in this space without asking the policy.
    Minimum,
}

/// End of a queue: its oldest or its newest packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The oldest packet of a queue, which is sent next.
    Head,
    /// The newest packet of a queue.
    Tail,
}

/// A stored packet, as the buffer records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Time at which the switch stored the packet.
    pub enqueued_at: Time,
    /// Number of the packet, chosen by the driver.
    pub packet: u32,
    /// Header of the packet. The header's size is the number of bytes that the packet occupies.
    pub header: Header,
    /// Ingress queue that is charged for the packet.
    pub ingress: IngressId,
    /// Account of the ledger that is charged for the packet.
    pub account: Account,
    /// Space that the packet is charged for beyond its size on arrival: overhead, and the unused
    /// part of the last cell. [`Buffer::frame_bytes`] converts this number to bytes.
    pub(crate) unused: u8,
}

const _: () = assert!(size_of::<Stored>() == 32, "two waiting packets share a cache line");

#[derive(Clone, Debug, Default)]
struct Queue {
    packets: VecDeque<Stored>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PortAccount {
    bytes: u64,
    reserved: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IngressAccount {
    bytes: u64,
    headroom: u64,
}

/// The shared memory of one switch: its content and its ledger.
///
/// Fields are ordered by how often the switch reads them for a packet.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Buffer {
    queues_per_port: u16,
    capacity: u64,
    occupancy: u64,
    /// The shared pool. The field is `None` if the switch has neither reserves nor delayed
    /// thresholds: then the pool is the whole memory.
    pool: Option<Box<SharedPool>>,
    /// Bytes in the buffer that each [`Account`] is charged for.
    used: [u64; ACCOUNTS],
    queues: Vec<Queue>,
    ports: Vec<PortAccount>,
    ingress: Vec<IngressAccount>,
    /// Peak bytes charged to [`Account::Headroom`], by ingress queue. The peaks are a separate
    /// vector, because only packets in headroom change them.
    headroom_peaks: Vec<u64>,
    /// Size of one unit of [`Stored::unused`] (bytes).
    unused_step: u32,
}

impl Buffer {
    /// Sets the largest number of bytes that the switch charges beyond a packet's size. If this
    /// number is at most 255, [`Self::frame_bytes`] is exact.
    pub(crate) fn set_most_unused(&mut self, bytes: u32) {
        self.unused_step = bytes.div_ceil(u8::MAX.into()).max(1);
    }

    /// Converts the bytes that are charged beyond a packet's size to the unit of
    /// [`Stored::unused`].
    #[inline]
    pub(crate) fn unused_units(&self, charged: u32, size: u32) -> u8 {
        if charged <= size { 0 } else { ((charged - size) / self.unused_step).min(u8::MAX.into()) as u8 }
    }

    /// Size of a stored packet on arrival (bytes), which schedulers count. The size is 0 if the
    /// chip does not charge the packet. Chips may charge more than 255 bytes beyond the size of a
    /// packet. On these chips the result exceeds the size by less than 1/255 of the largest such
    /// charge.
    #[inline]
    #[must_use]
    pub fn frame_bytes(&self, stored: &Stored) -> u32 {
        stored.header.size.saturating_sub(u32::from(stored.unused) * self.unused_step)
    }

    /// An empty buffer memory of `capacity` bytes for `ports` × `queues_per_port` queues.
    ///
    /// # Panics
    /// If there are more than 65,535 queues.
    #[must_use]
    pub fn new(capacity: u64, ports: usize, queues_per_port: usize) -> Self {
        Self::with_reserves(capacity, ports, queues_per_port, Reserves::default(), ports)
    }

    /// An empty memory with reserves, for packets from `ingress_ports` ports. `ingress_ports`
    /// includes ports whose packets leave through other memories of the switch.
    ///
    /// # Panics
    /// If there are more than 65,535 queues, or the reserves exceed the memory.
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
            pool: (reserved > 0).then(|| Box::new(SharedPool::new(capacity - reserved, reserves, ports))),
            used: [0; ACCOUNTS],
            queues_per_port: queues_per_port as u16,
            queues: vec![Queue::default(); queues],
            ports: vec![PortAccount::default(); ports],
            ingress: vec![IngressAccount::default(); ingress_queues],
            headroom_peaks: vec![0; ingress_queues],
            unused_step: 1,
        }
    }

    /// Capacity B of the shared memory (bytes).
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes stored in the memory, in all accounts together.
    #[inline]
    #[must_use]
    pub fn occupancy(&self) -> u64 {
        self.occupancy
    }

    /// Whether the shared pool is the whole memory and policies see its current occupancy.
    #[inline]
    pub(crate) fn is_whole_pool(&self) -> bool {
        self.pool.is_none()
    }

    /// Capacity of the shared pool: the capacity B of the memory less all reserves (bytes).
    #[inline]
    #[must_use]
    pub fn shared_capacity(&self) -> u64 {
        self.pool.as_ref().map_or(self.capacity, |pool| pool.capacity)
    }

    /// Bytes in use in the shared pool: now, or at the last refresh of the thresholds.
    #[inline]
    #[must_use]
    pub fn shared_occupancy(&self) -> u64 {
        self.pool.as_ref().map_or(self.occupancy, |pool| pool.shown_occupancy())
    }

    /// Free bytes of the shared pool: [`Self::shared_capacity`] − [`Self::shared_occupancy`].
    /// Dynamic thresholds are proportional to the free bytes.
    #[inline]
    #[must_use]
    pub fn shared_free(&self) -> u64 {
        match &self.pool {
            None => self.capacity - self.occupancy,
            Some(pool) => pool.capacity - pool.shown_occupancy(),
        }
    }

    /// Stored bytes of an egress queue in the shared pool, beyond the queue's reserve.
    #[inline]
    #[must_use]
    pub fn shared_queue_bytes(&self, queue: QueueId) -> u64 {
        let length = self.queue_bytes(queue);
        self.pool.as_ref().map_or(length, |pool| length.saturating_sub(pool.reserves.queue))
    }

    /// Stored bytes of an egress port beyond the reserves of the port and of its queues.
    #[inline]
    #[must_use]
    pub fn shared_port_bytes(&self, port: u16) -> u64 {
        self.pool.as_ref().map_or(self.ports[port as usize].bytes, |pool| pool.of_port(port))
    }

    /// Current occupancy of the shared pool (bytes), even if thresholds lag. A policy compares this
    /// number when it protects reserved memory or headroom.
    #[inline]
    #[must_use]
    pub fn pool_occupancy(&self) -> u64 {
        self.pool.as_ref().map_or(self.occupancy, |pool| pool.occupancy)
    }

    /// Whether `size` more bytes fit into the current free space of the shared pool: Q + len ≤ B.
    #[inline]
    #[must_use]
    pub fn fits(&self, size: u32) -> bool {
        match &self.pool {
            None => self.occupancy + u64::from(size) <= self.capacity,
            Some(pool) => pool.occupancy + u64::from(size) <= pool.capacity,
        }
    }

    /// Whether the reserves of `queue` and its port cover `size` more bytes.
    #[inline]
    #[must_use]
    pub fn fits_reserve(&self, queue: QueueId, port: u16, size: u32) -> bool {
        let length = self.queue_bytes(queue);
        self.pool.as_ref().is_some_and(|pool| pool.fits_reserve(port, length, u64::from(size)))
    }

    /// Updates the pool's occupancy that policies see until the next call of `refresh`.
    pub(crate) fn refresh(&mut self) {
        let (capacity, occupancy, ports) = (self.capacity, self.occupancy, self.ports.len());
        let pool = self.pool.get_or_insert_with(|| {
            let mut pool = Box::new(SharedPool::new(capacity, Reserves::default(), ports));
            pool.occupancy = occupancy;
            pool.beyond_queues = self.ports.iter().map(|port| port.bytes).collect();
            pool
        });
        pool.refresh(self.used);
    }

    /// Bytes in the buffer that are charged to `account`.
    #[inline]
    #[must_use]
    pub fn used(&self, account: Account) -> u64 {
        self.used[account as usize]
    }

    /// Bytes charged to `account` at the last refresh of the thresholds. Policies see the pool at
    /// that refresh ([`Self::shared_occupancy`]).
    #[inline]
    #[must_use]
    pub fn shared_used(&self, account: Account) -> u64 {
        let shown = self.pool.as_ref().and_then(|pool| pool.shown);
        shown.map_or(self.used[account as usize], |shown| shown.used[account as usize])
    }

    /// Bytes stored in an egress queue.
    #[inline]
    #[must_use]
    pub fn queue_bytes(&self, queue: QueueId) -> u64 {
        self.queues[queue.0 as usize].bytes
    }

    /// Number of packets in an egress queue.
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

    /// Bytes stored for an egress port, in all its queues.
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

    /// Peak of [`Self::ingress_headroom_bytes`] since the start of the run.
    #[must_use]
    pub fn ingress_headroom_peak(&self, ingress: IngressId) -> u64 {
        self.headroom_peaks[ingress.0 as usize]
    }

    /// Number of ingress queues of the whole switch, including ports whose egress queues are in
    /// another memory.
    #[must_use]
    pub fn ingress_queues(&self) -> u16 {
        self.ingress.len() as u16
    }

    /// Number of egress ports of the memory.
    #[must_use]
    pub fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Number of queues of each port.
    #[inline]
    #[must_use]
    pub fn queues_per_port(&self) -> u16 {
        self.queues_per_port
    }

    /// Numbers of all egress queues, in order.
    pub fn queue_ids(&self) -> impl Iterator<Item = QueueId> + use<> {
        (0..self.queues.len() as u16).map(QueueId)
    }

    /// Number of the queue of `port` for packets of `priority`.
    #[inline]
    #[must_use]
    pub fn queue_of(&self, port: u16, priority: u8) -> QueueId {
        QueueId(port * self.queues_per_port + u16::from(priority))
    }

    /// Port of an egress queue, and its priority within the port.
    #[inline]
    #[must_use]
    pub fn port_and_priority(&self, queue: QueueId) -> (u16, u8) {
        (queue.0 / self.queues_per_port, (queue.0 % self.queues_per_port) as u8)
    }

    /// Appends the packet `stored` to `queue` of `port` and charges the accounts of the packet.
    #[inline(always)] // Otherwise no generic caller inlines this function, and one caller is hot.
    pub(crate) fn store(&mut self, queue: QueueId, port: u16, stored: Stored) {
        let size = u64::from(stored.header.size);
        let slot = &mut self.queues[queue.0 as usize];
        slot.bytes += size;
        slot.packets.push_back(stored);
        self.occupancy += size;
        self.used[stored.account as usize] += size;
        if let Some(pool) = &mut self.pool {
            pool.change(port, slot.bytes - size, slot.bytes);
        }
        let port = &mut self.ports[port as usize];
        port.bytes += size;
        let ingress = &mut self.ingress[stored.ingress.0 as usize];
        ingress.bytes += size;
        if stored.account == Account::Reserved {
            port.reserved += size;
        }
        if stored.account == Account::Headroom {
            ingress.headroom += size;
            let peak = &mut self.headroom_peaks[stored.ingress.0 as usize];
            *peak = ingress.headroom.max(*peak);
        }
    }

    /// Removes the packet at `end` of `queue` of `port` and releases its accounts.
    /// Returns the packet, and whether the queue is now empty.
    #[inline(always)] // On the hot path; every caller passes a constant `end`.
    pub(crate) fn remove(&mut self, queue: QueueId, port: u16, end: End) -> Option<(Stored, bool)> {
        let slot = &mut self.queues[queue.0 as usize];
        let stored = match end {
            End::Head => slot.packets.pop_front(),
            End::Tail => slot.packets.pop_back(),
        }?;
        let size = u64::from(stored.header.size);
        slot.bytes -= size;
        self.occupancy -= size;
        if let Some(pool) = &mut self.pool {
            pool.change(port, slot.bytes + size, slot.bytes);
        }
        self.ports[port as usize].bytes -= size;
        let ingress = &mut self.ingress[stored.ingress.0 as usize];
        ingress.bytes -= size;
        let is_empty = slot.packets.is_empty();
        if stored.account == Account::Shared && ingress.headroom == 0 {
            self.used[Account::Shared as usize] -= size;
        } else {
            self.release(stored.account, stored.ingress, port, size);
        }
        Some((stored, is_empty))
    }

    /// Releases `size` bytes of the account of a packet that has left the memory.
    #[inline(never)] // Most packets are in the pool, and no packet of their ingress is in headroom.
    fn release(&mut self, account: Account, ingress: IngressId, port: u16, size: u64) {
        let ingress = &mut self.ingress[ingress.0 as usize];
        match account {
            // A departure releases headroom first, whichever packet of the ingress queue departs
            // (SONiC; Reverie section 2.2).
            Account::Shared | Account::Headroom => {
                let headroom = size.min(ingress.headroom);
                ingress.headroom -= headroom;
                self.used[Account::Headroom as usize] -= headroom;
                self.used[Account::Shared as usize] -= size - headroom;
            }
            Account::Minimum => self.used[Account::Minimum as usize] -= size,
            Account::Reserved => {
                self.ports[port as usize].reserved -= size;
                self.used[Account::Reserved as usize] -= size;
            }
        }
    }

    /// Checks that the bytes in the ledger equal the bytes of the packets in the queues.
    ///
    /// # Errors
    /// Returns the first account whose bytes differ from the content of the queues.
    pub fn verify(&self) -> Result<(), LedgerError> {
        let mut used = [0; ACCOUNTS];
        let mut ports = vec![PortAccount::default(); self.ports.len()];
        let mut ingress = vec![IngressAccount::default(); self.ingress.len()];
        for (index, queue) in self.queues.iter().enumerate() {
            let mut bytes = 0;
            for stored in &queue.packets {
                let size = u64::from(stored.header.size);
                bytes += size;
                used[stored.account as usize] += size;
                let from = &mut ingress[stored.ingress.0 as usize];
                from.bytes += size;
                let to = &mut ports[index / self.queues_per_port as usize];
                to.bytes += size;
                match stored.account {
                    Account::Minimum => {}
                    Account::Reserved => to.reserved += size,
                    // The order of departures decides which of the queue's packets are in headroom.
                    // So `Shared` and `Headroom` are counted as one account.
                    Account::Shared | Account::Headroom => from.headroom += size,
                }
            }
            compare(format_args!("queue {index}"), queue.bytes, bytes)?;
        }
        compare(format_args!("the total"), self.occupancy, used.iter().sum())?;
        // A packet in headroom moves to the pool when another packet of its ingress
        // queue leaves first.
        let (shared, headroom) = (Account::Shared as usize, Account::Headroom as usize);
        used[shared] = (used[shared] + used[headroom]).checked_sub(self.used[headroom]).ok_or_else(|| {
            LedgerError(format!("account {headroom}: {} B are too many", self.used[headroom]))
        })?;
        used[headroom] = self.ingress.iter().map(|account| account.headroom).sum();
        for (account, (ledger, content)) in self.used.iter().zip(used).enumerate() {
            compare(format_args!("account {account}"), *ledger, content)?;
        }
        for (index, (ledger, content)) in self.ports.iter().zip(ports).enumerate() {
            compare(format_args!("port {index}"), ledger.bytes, content.bytes)?;
            compare(format_args!("reserve of port {index}"), ledger.reserved, content.reserved)?;
        }
        for (index, (ledger, content)) in self.ingress.iter().zip(ingress).enumerate() {
            compare(format_args!("ingress queue {index}"), ledger.bytes, content.bytes)?;
            if ledger.headroom > content.headroom {
                let (found, most) = (ledger.headroom, content.headroom);
                return Err(LedgerError(format!("headroom of {index}: {found} B of {most} B stored")));
            }
        }
        if let Some(pool) = &self.pool {
            self.verify_pool(pool)?;
        }
        if self.occupancy > self.capacity {
            let message = format!("{} B stored in a buffer of {} B", self.occupancy, self.capacity);
            return Err(LedgerError(message));
        }
        Ok(())
    }
}

impl Buffer {
    fn verify_pool(&self, pool: &SharedPool) -> Result<(), LedgerError> {
        let mut shared = 0;
        for (port, queues) in self.queues.chunks(self.queues_per_port as usize).enumerate() {
            let beyond = queues.iter().map(|queue| queue.bytes.saturating_sub(pool.reserves.queue)).sum();
            compare(format_args!("port {port} beyond its queues"), pool.beyond_queues[port], beyond)?;
            shared += beyond.saturating_sub(pool.reserves.port);
        }
        compare(format_args!("the shared pool"), pool.occupancy, shared)?;
        if pool.occupancy > pool.capacity {
            let (found, limit) = (pool.occupancy, pool.capacity);
            return Err(LedgerError(format!("{found} B stored in a shared pool of {limit} B")));
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

/// Error: the ledger differs from the content of the queues. The error is a defect of this crate.
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
        let header = Header::new(size);
        Stored { enqueued_at: Time::ZERO, packet: 0, header, unused: 0, ingress, account }
    }

    /// A buffer memory for two ports with two queues each, with one packet in each account.
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
        assert_eq!(buffer.remove(QueueId(2), 1, End::Tail).map(|(s, _)| s.header.size), Some(300));
        assert_eq!(buffer.remove(QueueId(2), 1, End::Head).map(|(s, _)| s.header.size), Some(500));
        assert_eq!(buffer.remove(QueueId(2), 1, End::Head), None);
        buffer.verify().expect("the ledger is right");
        assert_eq!((buffer.occupancy(), buffer.port_reserved_bytes(1)), (1_000, 0));
    }

    #[test]
    fn headroom_is_given_back_first_whichever_packet_leaves() {
        let mut buffer = Buffer::new(10_000, 2, 2);
        buffer.store(QueueId(1), 0, stored(1_000, Account::Shared));
        buffer.store(QueueId(1), 0, stored(700, Account::Headroom));
        buffer.store(QueueId(1), 0, stored(800, Account::Headroom));
        let mut seen = Vec::new();
        while buffer.remove(QueueId(1), 0, End::Head).is_some() {
            buffer.verify().expect("the ledger is right");
            seen.push((buffer.ingress_headroom_bytes(IngressId(3)), buffer.used(Account::Shared)));
            assert_eq!(buffer.used(Account::Headroom), buffer.ingress_headroom_bytes(IngressId(3)));
        }
        assert_eq!(seen, [(500, 1_000), (0, 800), (0, 0)]);
    }

    #[test]
    fn every_account_of_the_ledger_is_compared_with_the_content() {
        type Corruption = fn(&mut Buffer);
        let corruptions: [(&str, Corruption); 11] = [
            ("queue 1:", |b| b.queues[1].bytes += 1),
            ("the total:", |b| b.occupancy -= 1),
            ("account 0:", |b| b.used[0] += 1),
            ("account 2: 2000 B", |b| b.used[2] = 2_000),
            ("account 2:", |b| (b.used[2], b.used[0]) = (b.used[2] - 1, b.used[0] + 1)),
            ("port 1:", |b| b.ports[1].bytes += 1),
            ("reserve of port 1:", |b| b.ports[1].reserved -= 1),
            ("ingress queue 3:", |b| b.ingress[3].bytes += 1),
            ("account 2:", |b| b.ingress[3].headroom -= 1),
            ("headroom of 0: 300 B of 0 B", |b| {
                (b.ingress[0].headroom, b.ingress[3].headroom) = (300, 0);
            }),
            ("1800 B stored in a buffer of 1799 B", |b| b.capacity = 1_799),
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
        // The queue grows to 800, 1,200, 1,800 and 2,500 B. The queue first uses its reserve of
        // 1,000 B, then the port's reserve of 500 B. At last the pool has 300 B and 1,000 B.
        let up = [
            (true, (0, 0, 0)),
            (true, (200, 0, 0)),
            (false, (800, 300, 300)),
            (false, (1_500, 1_000, 1_000)),
        ];
        assert_eq!(steps, up);
        // The port's other queue still has its reserve; the port's reserve is used up.
        assert!(buffer.fits_reserve(QueueId(0), 0, 1_000) && !buffer.fits_reserve(QueueId(0), 0, 1_001));
        let mut down = Vec::new();
        while buffer.remove(QueueId(1), 0, End::Head).is_some() {
            buffer.verify().expect("the ledger is right");
            down.push(seen(&buffer));
        }
        type Corruption = fn(&mut SharedPool);
        let corruptions: [(&str, Corruption); 3] = [
            ("the shared pool:", |pool| pool.occupancy += 1),
            ("port 1 beyond its queues:", |pool| pool.beyond_queues[1] += 1),
            ("1800 B stored in a shared pool of 799 B", |pool| pool.capacity = 799),
        ];
        buffer.store(QueueId(3), 1, stored(3_300, Account::Shared));
        for (message, corrupt) in corruptions {
            let mut broken = buffer.clone();
            corrupt(broken.pool.as_mut().expect("there are reserves"));
            let error = broken.verify().expect_err(message).to_string();
            assert!(error.starts_with(message), "{message}: {error}");
        }
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
