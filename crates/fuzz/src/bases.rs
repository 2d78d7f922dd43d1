//! Small scenarios that work: what cases begin with.

/// A base: its name, and the scenario.
pub(crate) struct Base {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

pub(crate) const BASES: &[Base] = &[
    Base { name: "star", text: include_str!("bases/star.toml") },
    Base { name: "leaf-spine", text: include_str!("bases/leaf-spine.toml") },
    Base { name: "lossless", text: include_str!("bases/lossless.toml") },
    Base { name: "open-loop", text: include_str!("bases/open-loop.toml") },
    Base { name: "graph", text: include_str!("bases/graph.toml") },
];

/// The base of that name.
pub(crate) fn find(name: &str) -> Option<&'static Base> {
    BASES.iter().find(|base| base.name == name)
}
