//! Typed ids: a program cannot use a host's number as the number of a switch or link.
//! Only the ids of a table's rows can be an index of the table.
//!
//! Only this module turns counts into ids. `Simulation::new` has checked the network against the
//! engine's limits, so an id that does not fit is a defect and panics.

use bufferlab_prefetch::prefetch;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Id of one item among items of its kind, numbered from zero.
pub(crate) trait Id: Copy {
    /// Number of the item with this id, for use as an index of a table.
    fn index(self) -> usize;

    /// Converts the number `index` of an item to the item's id.
    ///
    /// # Panics
    /// If the number exceeds the range of the id.
    fn from_index(index: usize) -> Self;
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident($number:ty);)*) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(pub(crate) $number);

        impl Id for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }

            fn from_index(index: usize) -> Self {
                let number = <$number>::try_from(index);
                Self(number.expect(concat!("the limit on the number of a ", stringify!($name), " was checked")))
            }
        }
    )*};
}

ids! {
    /// Id of a host. A host id has half the size of other ids, because packets and flows contain
    /// two host ids.
    HostId(u16);
    /// Number of a switch in the network.
    SwitchId(u32);
    /// One direction of a cable. The uplink of host h is link h. The links from the ports of switch
    /// 0, switch 1 and all further switches follow.
    LinkId(u32);
    /// A cable, which consists of two links.
    CableId(u32);
    /// Index of a live flow in the flow tables. A later flow may reuse the index.
    FlowSlot(u32);
    /// Id of a packet in the table of live packets.
    PacketId(u32);
    /// A transport of the scenario for hosts of one line rate.
    TransportId(u8);
    /// Id of a pool of connections between two hosts.
    PoolId(u32);
    /// A thread of a closed-loop client.
    ThreadId(u32);
    /// A host that sends pause frames without cause (a pause storm).
    StormId(u32);
    /// A shard: a part of the network that runs on its own thread.
    ShardId(u8);
}

impl ShardId {
    /// The shard that writes the results.
    pub(crate) const FIRST: Self = Self(0);
    /// Largest number of shards into which a network is divided.
    pub(crate) const MOST: usize = 1 << 8;
}

impl HostId {
    /// Id of the host with this number in scenarios and workloads.
    #[inline]
    pub(crate) fn new(number: u32) -> Self {
        Self(u16::try_from(number).expect("the limit on the number of hosts was checked"))
    }

    /// Uplink of this host: the link from the host to its switch.
    #[inline]
    pub(crate) fn uplink(self) -> LinkId {
        LinkId(u32::from(self.0))
    }
}

impl LinkId {
    /// Link of port `port` of a switch; `self` is the link of port 0 of that switch.
    #[inline]
    pub(crate) fn at_port(self, port: u16) -> Self {
        Self(self.0 + u32::from(port))
    }
}

const SLOT_BITS: u32 = 20;

impl FlowSlot {
    /// Value that marks the end of a linked list of flow slots.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// Largest number of flow slots.
    pub(crate) const COUNT: usize = 1 << SLOT_BITS;
}

/// Flow id for packets and policies: the slot, with a generation in the upper bits. So a policy
/// that remembers flows can distinguish a new flow from an earlier flow in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowHandle(pub(crate) u32);

impl FlowHandle {
    /// Handle of the flow that is generation `generation` of `slot`.
    pub(crate) fn new(slot: FlowSlot, generation: u32) -> Self {
        Self(slot.0 | generation << SLOT_BITS)
    }

    #[inline]
    pub(crate) fn slot(self) -> FlowSlot {
        FlowSlot(self.0 & ((1 << SLOT_BITS) - 1))
    }
}

/// Table whose rows are indexed by an id type.
#[derive(Clone, Debug)]
pub(crate) struct Table<I, T> {
    rows: Vec<T>,
    names: PhantomData<I>,
}

impl<I: Id, T> Table<I, T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row to the table and returns the row's id.
    pub(crate) fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::from_index(self.rows.len() - 1)
    }

    /// Ids of all rows of the table, in order.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::from_index)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// All rows of the table with their ids, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(index, row)| (I::from_index(index), row))
    }

    /// Requests the first `lines` cache lines of a row. Accepts any id.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: I, lines: usize) {
        prefetch(&self.rows, id.index(), lines);
    }

    /// Rows of the table in the order of their ids.
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.rows
    }
}

impl<I, T> From<Vec<T>> for Table<I, T> {
    fn from(rows: Vec<T>) -> Self {
        Self { rows, names: PhantomData }
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Self {
        Vec::from_iter(rows).into()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}
