//! Names: a host's number is no switch's, and neither is a link's. A table is indexed by the names
//! of its rows and by nothing else.
//!
//! This is the one place where a count becomes a name. `Simulation::new` has checked the network
//! against the engine's limits, so a name that does not fit is a defect and says so.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// Names one of many things of a kind, which are numbered from zero.
pub(crate) trait Id: Copy {
    /// Its number, as an index.
    fn index(self) -> usize;

    /// The thing of this number.
    ///
    /// # Panics
    /// If there cannot be so many.
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
    /// A host. Of half the size of other names, because packets and flows carry two of them.
    HostId(u16);
    /// A switch.
    SwitchId(u32);
    /// One direction of a cable: host h's uplink is link h, then come the ports of switch 0, of
    /// switch 1, and so on.
    LinkId(u32);
    /// A cable: two links.
    CableId(u32);
    /// The place of a live flow in the tables of flows. It is used again when the flow is over.
    FlowSlot(u32);
    /// A packet in the slab.
    PacketId(u32);
    /// A transport of the scenario as hosts of one rate use it.
    TransportId(u8);
    /// A pool of connections between two hosts.
    PoolId(u32);
    /// A thread of a closed loop.
    ThreadId(u32);
    /// A host that sends pause frames for no reason.
    StormId(u32);
    /// A part of the network, which has a thread of its own.
    PartId(u8);
}

impl PartId {
    /// The part that writes the results.
    pub(crate) const FIRST: Self = Self(0);
    /// There are no more parts than this.
    pub(crate) const MOST: usize = 1 << 8;
}

impl HostId {
    /// A host as scenarios and workloads number it.
    #[inline]
    pub(crate) fn new(number: u32) -> Self {
        Self(u16::try_from(number).expect("the limit on the number of hosts was checked"))
    }

    /// The link from this host to its switch.
    #[inline]
    pub(crate) fn uplink(self) -> LinkId {
        LinkId(u32::from(self.0))
    }
}

impl LinkId {
    /// The link of port `port` of a switch, if this is the link of its port 0.
    #[inline]
    pub(crate) fn at_port(self, port: u16) -> Self {
        Self(self.0 + u32::from(port))
    }
}

const SLOT_BITS: u32 = 20;

impl FlowSlot {
    /// The end of a list of slots.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// There are no more slots than this.
    pub(crate) const COUNT: usize = 1 << SLOT_BITS;
}

/// A flow as packets and policies know it: its slot with a generation above, so that a policy which
/// remembers flows does not take a new flow for an old one that had the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowHandle(pub(crate) u32);

impl FlowHandle {
    /// The flow of this generation in `slot`.
    pub(crate) fn new(slot: FlowSlot, generation: u32) -> Self {
        Self(slot.0 | generation << SLOT_BITS)
    }

    #[inline]
    pub(crate) fn slot(self) -> FlowSlot {
        FlowSlot(self.0 & ((1 << SLOT_BITS) - 1))
    }
}

/// Rows by name.
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

    /// Adds a row, and returns its name.
    pub(crate) fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::from_index(self.rows.len() - 1)
    }

    /// The names of all rows, in order.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::from_index)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// All rows with their names, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.rows.iter().enumerate().map(|(index, row)| (I::from_index(index), row))
    }

    /// The rows in order of their names.
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
