//! Flow size distributions from publications on datacenter networks.
//!
//! The points of the distributions come from the cited publications and from the data files that
//! their authors released.

/// A built-in distribution of flow sizes.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinSizes {
    /// Name of the distribution in scenario files.
    pub name: &'static str,
    /// Summary of the distribution in one line.
    pub summary: &'static str,
    /// Publication or file with the points of the distribution.
    pub source: &'static str,
    /// Points of the cumulative distribution: `(bytes, cumulative probability)`, linear between the
    /// points.
    pub points: &'static [(f64, f64)],
}

/// Payload of a full TCP segment, the unit of PIAS's tables (bytes).
const SEGMENT: f64 = 1460.0;

/// All built-in distributions of flow sizes.
pub static BUILTIN_SIZES: &[BuiltinSizes] = &[
    BuiltinSizes {
        name: "web_search",
        summary: "Web search as ABM and Reverie ran it: mean 1.71 MB",
        source: "DCTCP (SIGCOMM 2010), Fig. 4; websearch.txt of the public ABM and Reverie artifact",
        points: &[
            (0.0, 0.0),
            (2_000.0, 0.0),
            (2_100.0, 0.02),
            (2_500.0, 0.05),
            (6_000.0, 0.1),
            (10_000.0, 0.15),
            (20_000.0, 0.2),
            (30_000.0, 0.3),
            (50_000.0, 0.4),
            (80_000.0, 0.53),
            (200_000.0, 0.6),
            (1e6, 0.7),
            (2e6, 0.8),
            (5e6, 0.9),
            (10e6, 0.97),
            (30e6, 1.0),
        ],
    },
    BuiltinSizes {
        name: "web_search_hpcc",
        summary: "Web search as HPCC ran it: like web_search, but uniform below 10 KB",
        source: "DCTCP (SIGCOMM 2010), Fig. 4; WebSearch_distribution.txt of the public HPCC artifact",
        points: &[
            (0.0, 0.0),
            (10_000.0, 0.15),
            (20_000.0, 0.2),
            (30_000.0, 0.3),
            (50_000.0, 0.4),
            (80_000.0, 0.53),
            (200_000.0, 0.6),
            (1e6, 0.7),
            (2e6, 0.8),
            (5e6, 0.9),
            (10e6, 0.97),
            (30e6, 1.0),
        ],
    },
    BuiltinSizes {
        name: "web_search_pias",
        summary: "Web search as PIAS ran it, in segments of 1460 B: mean 1.67 MB (LossPass states 1.58 MB)",
        source: "DCTCP (SIGCOMM 2010), Fig. 4; ns-2 scripts of PIAS (NSDI 2015)",
        points: &[
            (6.0 * SEGMENT, 0.0),
            (6.0 * SEGMENT, 0.15),
            (13.0 * SEGMENT, 0.2),
            (19.0 * SEGMENT, 0.3),
            (33.0 * SEGMENT, 0.4),
            (53.0 * SEGMENT, 0.53),
            (133.0 * SEGMENT, 0.6),
            (667.0 * SEGMENT, 0.7),
            (1_333.0 * SEGMENT, 0.8),
            (3_333.0 * SEGMENT, 0.9),
            (6_667.0 * SEGMENT, 0.97),
            (20_000.0 * SEGMENT, 1.0),
        ],
    },
    BuiltinSizes {
        name: "data_mining",
        summary: "Data mining, fine-grained table with flows up to 1 GB",
        // The probability 0.874 at 100,001 B is an artefact of the public table; other copies
        // have 0.85 to 0.9.
        source: "VL2 (SIGCOMM 2009), Fig. 2; the table that circulates among public simulators",
        points: &[
            (100.0, 0.0),
            (180.0, 0.085),
            (250.0, 0.14),
            (560.0, 0.33),
            (900.0, 0.47),
            (1_100.0, 0.55),
            (1_870.0, 0.65),
            (3_160.0, 0.7),
            (10_000.0, 0.8),
            (100_001.0, 0.874),
            (400_000.0, 0.9),
            (1.85e6, 0.95),
            (10e6, 0.97),
            (30e6, 0.98),
            (100e6, 0.99),
            (250e6, 0.995),
            (1e9, 1.0),
        ],
    },
    BuiltinSizes {
        name: "data_mining_pias",
        summary: "Data mining as PIAS ran it, in segments of 1460 B: mean 7.47 MB (LossPass states 7.12 MB)",
        source: "VL2 (SIGCOMM 2009), Fig. 2; ns-2 scripts of PIAS (NSDI 2015)",
        points: &[
            (SEGMENT, 0.0),
            (SEGMENT, 0.5),
            (2.0 * SEGMENT, 0.6),
            (3.0 * SEGMENT, 0.7),
            (7.0 * SEGMENT, 0.8),
            (267.0 * SEGMENT, 0.9),
            (2_107.0 * SEGMENT, 0.95),
            (66_667.0 * SEGMENT, 0.99),
            (666_667.0 * SEGMENT, 1.0),
        ],
    },
    BuiltinSizes {
        name: "hadoop",
        summary: "Hadoop traffic of the ABM artifact, with a tail up to 223 MB",
        source: "the Hadoop table of the public ABM artifact",
        points: &[
            (325.0, 0.0),
            (1_177.0, 0.01729),
            (4_264.0, 0.02243),
            (15_443.0, 0.02766),
            (28_000.0, 0.06),
            (37_323.0, 0.10488),
            (51_067.0, 0.33591),
            (74_908.0, 0.51548),
            (93_293.0, 0.64189),
            (141_819.0, 0.7725),
            (237_853.0, 0.88945),
            (573_344.0, 0.95721),
            (2_076_744.0, 0.96564),
            (7_521_945.0, 0.96872),
            (27_244_995.0, 0.97424),
            (98_686_787.0, 0.98386),
            (223_092_956.0, 1.0),
        ],
    },
    BuiltinSizes {
        name: "fb_hadoop",
        summary: "Facebook's Hadoop cluster as HPCC ran it: mostly below 1 KB, at most 10 MB",
        source: "Roy et al. (SIGCOMM 2015); FbHdp_distribution.txt of the public HPCC artifact",
        points: &[
            (0.0, 0.0),
            (100.0, 0.01),
            (200.0, 0.02),
            (300.0, 0.05),
            (350.0, 0.15),
            (400.0, 0.2),
            (500.0, 0.3),
            (600.0, 0.4),
            (700.0, 0.5),
            (1_000.0, 0.6),
            (2_000.0, 0.67),
            (7_000.0, 0.7),
            (30_000.0, 0.72),
            (50_000.0, 0.82),
            (80_000.0, 0.87),
            (120_000.0, 0.9),
            (300_000.0, 0.95),
            (1e6, 0.975),
            (2e6, 0.99),
            (10e6, 1.0),
        ],
    },
    BuiltinSizes {
        name: "ali_storage",
        summary: "Alibaba's storage cluster, 2019: requests of some KB, at most 2 MB",
        source: "AliStorage2019.txt of the public HPCC artifact (begins at 0 bytes)",
        points: &[
            (0.0, 0.0),
            (4_000.0, 0.2293),
            (8_000.0, 0.6921),
            (16_000.0, 0.8061),
            (32_000.0, 0.9047),
            (64_000.0, 0.9353),
            (128_000.0, 0.9677),
            (256_000.0, 0.9753),
            (2e6, 1.0),
        ],
    },
];
