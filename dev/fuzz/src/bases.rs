//! Base scenarios: small valid scenarios that the cases of the fuzzer change.

/// A base scenario: its name, its text, and the file that the scenario reads, if any.
pub(crate) struct Base {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) file: Option<File>,
}

/// An input file that a base scenario reads, such as a flow list.
#[derive(Clone, Copy)]
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
}

const fn alone(name: &'static str, text: &'static str) -> Base {
    Base { name, text, file: None }
}

const fn with_file(base: Base, name: &'static str, bytes: &'static [u8]) -> Base {
    Base { file: Some(File { name, bytes }), ..base }
}

pub(crate) const BASES: &[Base] = &[
    alone("star", include_str!("bases/star.toml")),
    alone("leaf-spine", include_str!("bases/leaf-spine.toml")),
    alone("lossless", include_str!("bases/lossless.toml")),
    alone("racks", include_str!("bases/racks.toml")),
    alone("lossless-ports", include_str!("bases/lossless-ports.toml")),
    alone("open-loop", include_str!("bases/open-loop.toml")),
    alone("graph", include_str!("bases/graph.toml")),
    with_file(
        alone("flow-list", include_str!("bases/flow-list.toml")),
        "flow-list.csv",
        include_bytes!("bases/flow-list.csv"),
    ),
    with_file(
        alone("sizes", include_str!("bases/sizes.toml")),
        "sizes.csv",
        include_bytes!("bases/sizes.csv"),
    ),
    with_file(
        alone("packets", include_str!("bases/packets.toml")),
        "packets.csv",
        include_bytes!("bases/packets.csv"),
    ),
    with_file(
        alone("pcap", include_str!("bases/pcap.toml")),
        "tcpdump.pcap",
        include_bytes!("../../../testdata/traces/tcpdump-nano-snap80.pcap"),
    ),
    with_file(
        alone("pcapng", include_str!("bases/pcapng.toml")),
        "editcap.pcapng",
        include_bytes!("../../../testdata/traces/editcap.pcapng"),
    ),
];

/// Returns the text of the base scenario called `name`.
pub(crate) fn find(name: &str) -> Option<&'static Base> {
    BASES.iter().find(|base| base.name == name)
}
