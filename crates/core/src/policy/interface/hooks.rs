//! The optional hooks of a policy.

/// Optional hooks that the switch calls on a policy.
/// A hook that a policy does not ask for takes no time per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hooks(u16);

impl Hooks {
    /// No optional hook: the switch calls only [`crate::Policy::admit`].
    pub const NONE: Self = Self(0);
    /// Hook [`crate::Policy::on_enqueue`].
    pub const ENQUEUE: Self = Self(1);
    /// Hook [`crate::Policy::on_dequeue`].
    pub const DEQUEUE: Self = Self(1 << 1);
    /// Hooks [`crate::Policy::on_drop`] and [`crate::Policy::on_evict`].
    pub const DROP: Self = Self(1 << 2);
    /// Hook [`crate::Policy::on_empty_visit`].
    pub const EMPTY_VISIT: Self = Self(1 << 3);
    /// Hook [`crate::Policy::poll_expulsion`].
    pub const EXPEL: Self = Self(1 << 4);
    /// Hook [`crate::Policy::pause_demand`].
    pub const PAUSE: Self = Self(1 << 5);
    /// Hook [`crate::Policy::pause_demand`] for whole ports. When the switch calls the hook for one
    /// ingress queue, it also calls the hook for all other ingress queues of the port.
    pub const PAUSE_PORT: Self = Self(1 << 6);

    /// Hook [`crate::Policy::can_bypass`], for a packet that finds its port idle.
    pub const BYPASS: Self = Self(1 << 7);
    /// Hook [`crate::Policy::pause_demand`], also after a refusal: then a sender whose packets the
    /// switch refuses must stop.
    pub const PAUSE_REFUSED: Self = Self(1 << 8);
    /// Switches set this hook, policies do not. Some empty ingress queues have paused their
    /// senders, and the switch asks the policy about these queues after every event.
    pub(crate) const PAUSE_EMPTY: Self = Self(1 << 9);
    /// Limits [`Self::PAUSE`] to lossless priorities: the policy never pauses other senders.
    pub const PAUSE_LOSSLESS: Self = Self(1 << 10);

    /// Union of two sets of hooks.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Hooks in the set `self` that are not in the set `other`.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether this set of hooks includes all hooks of `other`.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether this set of hooks includes any hook of `other`.
    #[inline]
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
