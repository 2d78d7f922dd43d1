//! Entries of SONiC's qualification files, with the switches on which the entries were measured.
//!
//! Pools and profiles are from the files of the device and role in `devices.csv`. Rows of speed and
//! cable are from the device's `pg_profile_lookup.ini`. If the corpus lacks this file, the rows are
//! from sonic-buildimage.

use crate::yaml::{self, Node};
use bufferlab_sonic::{Config, Reader};
use std::fmt::Write as _;
use std::path::Path;

/// Ports of one kind: speed (Mb/s), cable (metres), number of ports.
pub(crate) type Ports = &'static [(u64, u64, usize)];

/// An entry of a qualification file, with the switch on which it was measured.
pub(crate) struct Entry {
    pub(crate) family: &'static str,
    pub(crate) topology: &'static str,
    pub(crate) speed_cable: &'static str,
    pub(crate) chip: &'static str,
    pub(crate) hwsku: &'static str,
    pub(crate) role: &'static str,
    pub(crate) ports: Ports,
    /// Number of ports that have only lossy queues.
    pub(crate) service: usize,
    pub(crate) rows: Rows,
    /// Size and xoff of the lossless pool, as rendered for the role (bytes), if
    /// `devices.csv` lacks the pool.
    pub(crate) pool: Option<(u64, u64)>,
    /// Whether the entry's headroom was measured with the rows of this configuration.
    pub(crate) headroom: bool,
    /// Whether the entry's headroom pool was measured with the rows of this configuration.
    pub(crate) headroom_pool: bool,
    /// Reason why the prediction differs from the measurement, if it differs.
    pub(crate) why: &'static str,
    /// Whether the configuration is only partly known. An entry with a partly known configuration
    /// is shown, but not counted.
    pub(crate) apart: bool,
}

pub(crate) enum Rows {
    /// The lookup rows are from the corpus file whose path contains this text.
    File(&'static str),
    /// The lookup rows of all ports have values from sonic-buildimage: size, xon, xoff, threshold
    /// and xon_offset.
    Given(&'static str),
}

const TD3: Rows = Rows::Given("4608 4608 160000 0 4608");
const P32O64: Rows = Rows::File("7060X6-64PE-B-P32O64");

pub(crate) const ENTRIES: &[Entry] = &[
    // Reserve and resume offset of this entry are from other lookup rows of the platform. No file
    // of the corpus has the headroom.
    Entry {
        headroom: false,
        ..th5(
            "topo-t0-standalone",
            "200000_5m",
            "Arista-7060X6-64PE-256x200G",
            "t0",
            &[(200_000, 5, 256)],
            Rows::Given("18796 0 612140 0 3556"),
        )
    },
    th5("topo-ft2-64", "800000_5m", "Arista-7060X6-64PE-B-P64", "ft2", &[(800_000, 5, 64)], P32O64),
    Entry {
        why: "the test fills 22 groups; the pool holds 24",
        ..th5(
            "topo-lt2-p32o64",
            "800000_5m",
            "Arista-7060X6-64PE-B-P32O64",
            "lt2",
            &[(800_000, 5, 32), (400_000, 5, 64)],
            P32O64,
        )
    },
    th5("topo-lt2-o128", "400000_500m", "Arista-7060X6-64PE-B-O128", "lt2", &[(400_000, 500, 128)], P32O64),
    th5(
        "topo-t0-f2-d40u8",
        "200000_300m",
        "Arista-7060X6-64PE-B-P32V128",
        "t0",
        &[(200_000, 300, 128), (800_000, 300, 32)],
        Rows::File("P32V128"),
    ),
    th5(
        "topo-t1-f2-d10u8",
        "400000_300m",
        "Arista-7060X6-64PE-B-P32O64",
        "t1",
        &[(400_000, 300, 64), (800_000, 300, 32)],
        P32O64,
    ),
    th5(
        "topo-t1-f2-d10u8",
        "800000_300m",
        "Arista-7060X6-64PE-B-P32O64",
        "t1",
        &[(400_000, 300, 64), (800_000, 300, 32)],
        P32O64,
    ),
    Entry {
        service: 2,
        ..th5(
            "topo-t0-isolated-d96u32s2",
            "400000_5m",
            "Arista-7060X6-16PE-384C-B-O128S2",
            "t0",
            &[(400_000, 5, 128)],
            Rows::File("384C-B-O128S2"),
        )
    },
    Entry {
        service: 2,
        ..th5(
            "topo-t0-isolated-d96u32s2",
            "400000_40m",
            "Arista-7060X6-16PE-384C-B-O128S2",
            "t0",
            &[(400_000, 40, 128)],
            Rows::File("384C-B-O128S2"),
        )
    },
    th5(
        "topo-t1-isolated-d128",
        "400000_40m",
        "Arista-7060X6-64PE-B-O128",
        "t1",
        &[(400_000, 40, 128)],
        Rows::File("384C-B-O128S2"),
    ),
    Entry {
        why: "lossy drop: measured with a lossy pool as large as the lossless one (32,599,040 B)",
        ..td3("topo-t1-lag", "100000_300m", "Arista-7050CX3-32S-C32", "t1", &[(100_000, 300, 32)])
    },
    td3("topo-any", "100000_300m", "Arista-7050CX3-32S-C32", "t0", &[(100_000, 300, 28)]),
    Entry {
        why: "dual ToR: exact without the minimums of lossy queues",
        ..td3("topo-dualtor", "100000_300m", "Arista-7050CX3-32S-C32", "t0", &[(100_000, 300, 32)])
    },
    Entry {
        pool: Some((32_689_152, 2_058_240)),
        headroom: false,
        headroom_pool: false,
        why: "measured with an older profile: 240 cells of headroom, not 625",
        ..td3(
            "topo-any",
            "50000_300m",
            "Arista-7050CX3-32S-D48C8",
            "t0",
            &[(50_000, 300, 48), (100_000, 300, 8)],
        )
    },
    th2("topo-any", "50000_300m", (33_329_088, 7_827_456), Rows::File("7260CX3-D96C16"), "one cell"),
    // The file copies the headroom of this entry from the previous entry of the table.
    Entry {
        headroom: false,
        headroom_pool: false,
        ..th2(
            "topo-any",
            "100000_300m",
            (33_169_344, 7_827_456),
            Rows::File("7260CX3-D96C16"),
            "lossy drop: of the T0 without remapping",
        )
    },
    Entry {
        headroom: false,
        ..th2(
            "topo-t1-64-lag",
            "100000_300m",
            (33_582_016, 8_965_632),
            Rows::File("7260CX3-D96C16"),
            "the pool of the remapped T1 is not in any file",
        )
    },
    Entry {
        headroom: false,
        ..th2(
            "topo-t1-64-lag",
            "100000_40m",
            (33_582_016, 8_965_632),
            Rows::Given("1248 1248 177632 -3 2496"),
            "measured at an older alpha of 1/8",
        )
    },
    th2(
        "topo-any",
        "40000_300m",
        (33_329_088, 7_827_456),
        Rows::Given("1248 2288 108160 -3 2288"),
        "measured at an older alpha of 1/8; the last group one packet early",
    ),
    // The headroom pool of this entry is the qualification test's 41,888 cells, not the configured
    // pool.
    Entry {
        apart: true,
        pool: Some((163_961_572, 21_279_104)),
        ..th5(
            "topo-t0-f2-d40u8",
            "200000_5m",
            "Arista-7060X6-64PE-B-P32V128",
            "t0",
            &[(200_000, 5, 128), (800_000, 40, 32)],
            Rows::File("P32V128"),
        )
    },
    Entry {
        apart: true,
        pool: Some((163_961_572, 21_279_104)),
        ..th5(
            "topo-t0-f2-d40u8",
            "800000_40m",
            "Arista-7060X6-64PE-B-P32V128",
            "t0",
            &[(200_000, 5, 128), (800_000, 40, 32)],
            Rows::File("P32V128"),
        )
    },
    jericho2("100000_2000m", &[(100_000, 2_000, 48)]),
    jericho2("100000_120000m", &[(100_000, 120_000, 48)]),
];

const fn th5(
    topology: &'static str,
    speed_cable: &'static str,
    hwsku: &'static str,
    role: &'static str,
    ports: Ports,
    rows: Rows,
) -> Entry {
    Entry {
        family: "th5",
        topology,
        speed_cable,
        chip: "tomahawk5",
        hwsku,
        role,
        ports,
        service: 0,
        rows,
        pool: None,
        headroom: true,
        headroom_pool: true,
        why: "",
        apart: false,
    }
}

const fn td3(
    topology: &'static str,
    speed_cable: &'static str,
    hwsku: &'static str,
    role: &'static str,
    ports: Ports,
) -> Entry {
    Entry { family: "td3", chip: "trident3", ..th5(topology, speed_cable, hwsku, role, ports, TD3) }
}

const fn th2(
    topology: &'static str,
    speed_cable: &'static str,
    pool: (u64, u64),
    rows: Rows,
    why: &'static str,
) -> Entry {
    let ports: Ports = match speed_cable.as_bytes()[0] {
        b'5' => &[(50_000, 300, 96), (100_000, 300, 16)],
        b'4' => &[(40_000, 300, 64)],
        _ => &[(100_000, 300, 64)],
    };
    let entry = th5(topology, speed_cable, "Arista-7260CX3-D96C16", "t0", ports, rows);
    Entry { family: "th2", chip: "tomahawk2", pool: Some(pool), why, ..entry }
}

const fn jericho2(speed_cable: &'static str, ports: Ports) -> Entry {
    let entry =
        th5("topo-any", speed_cable, "Arista-7800R3-48CQ2-C48", "t2", ports, Rows::File("7800R3-48CQ2"));
    // The qualification file of Jericho 2 has the headroom pool of Trident 3 as a placeholder.
    Entry { family: "jr2", chip: "jericho2", headroom_pool: false, ..entry }
}

impl Entry {
    pub(crate) fn name(&self) -> String {
        format!("{} {} {}", self.family, self.topology.trim_start_matches("topo-"), self.speed_cable)
    }

    pub(crate) fn measured(&self, folder: &Path) -> Node {
        let file = folder.join(format!("measured/qos_params.{}.yaml", self.family));
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let all = yaml::read(&text);
        let topology = all.get(&["qos_params", self.family, self.topology]);
        let topology = topology.unwrap_or_else(|| panic!("{}: not in the file", self.name())).clone();
        let Some(Node::Map(mut entry)) = topology.get(&[self.speed_cable]).cloned() else {
            panic!("{}", self.name())
        };
        // In some qualification files, the values that are equal for all speeds are one YAML level
        // higher.
        if let Node::Map(shared) = topology {
            for (key, node) in shared {
                entry.entry(key).or_insert(node);
            }
        }
        Node::Map(entry)
    }

    /// Reads the configuration from the files of a switch.
    pub(crate) fn config(&self, folder: &Path) -> Config {
        let mut reader = Reader::default();
        let mut add = |name: &str, text: &str| {
            reader.add(name, text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}", self.name()));
        };
        add("device.json", &self.device(folder));
        add("ports.json", &self.port_tables());
        match self.rows {
            Rows::Given(row) => {
                let kinds: Vec<_> =
                    self.ports.iter().map(|(speed, cable, _)| format!("{speed} {cable}m {row}\n")).collect();
                add("rows.ini", &kinds.concat());
            }
            Rows::File(part) => {
                let files = crate::support::files(&folder.join("pg_profile_lookup"));
                let fits = |path: &&std::path::PathBuf| path.to_string_lossy().contains(part);
                let file = files.iter().find(fits).unwrap_or_else(|| panic!("no {part}"));
                add("rows.ini", &std::fs::read_to_string(file).expect("a file that is there"));
            }
        }
        let config = reader.finish();
        assert_eq!(config.problems, [], "{}", self.name());
        config
    }

    /// Formats pools and profiles from the table of devices.
    fn device(&self, folder: &Path) -> String {
        let table = std::fs::read_to_string(folder.join("devices.csv")).expect("devices.csv");
        let (mut pools, mut profiles) = (serde_json::Map::new(), serde_json::Map::new());
        for row in table.lines().skip(1) {
            let cells: Vec<_> = row.split(',').map(str::trim).collect();
            if cells[2] != self.hwsku || cells[3] != self.role {
                continue;
            }
            let names =
                ["pool", "type", "mode", "size", "xoff", "dynamic_th", "static_th", "xon", "xon_offset"];
            let values = names.iter().zip(&cells[6..]).filter(|(_, text)| !text.is_empty());
            let fields = values.map(|(name, text)| ((*name).to_owned(), (*text).into())).collect();
            let table = if cells[4] == "pool" { &mut pools } else { &mut profiles };
            table.insert(cells[5].to_owned(), serde_json::Value::Object(fields));
        }
        if let Some((size, xoff)) = self.pool {
            let pool = serde_json::json!({
                "type": "ingress", "mode": "dynamic", "size": size.to_string(), "xoff": xoff.to_string(),
            });
            pools.insert("ingress_lossless_pool".to_owned(), pool);
        }
        if self.family == "th2" {
            // The egress pool is from the role's template, in which it has four fifths of the
            // ingress pool. The pools of T0 and T1 differ.
            let size = self.pool.expect("a pool of the entry").0 / 5 * 4;
            pools.insert(
                "egress_lossy_pool".to_owned(),
                serde_json::json!({"type": "egress", "mode": "dynamic", "size": size.to_string()}),
            );
        }
        serde_json::json!({"BUFFER_POOL": pools, "BUFFER_PROFILE": profiles}).to_string()
    }

    /// Formats the configuration tables of the switch's ports. As in the common templates, every
    /// port has two lossless groups, two lossless queues and five lossy queues.
    fn port_tables(&self) -> String {
        let (mut ports, mut cables, mut queues, mut qos) =
            (String::new(), String::new(), String::new(), String::new());
        let kinds = self.ports.iter().flat_map(|(speed, cable, count)| vec![(*speed, *cable); *count]);
        let lossy = |queues: &mut String, port: &str| {
            for range in ["0-2", "5-6"] {
                let _ = write!(queues, "\"{port}|{range}\": {{\"profile\": \"egress_lossy_profile\"}},");
            }
        };
        for (number, (speed, cable)) in kinds.enumerate() {
            let port = format!("Ethernet{}", 8 * number);
            let _ = write!(ports, "\"{port}\": {{\"speed\": \"{speed}\"}},");
            let _ = write!(cables, "\"{port}\": \"{cable}m\",");
            let _ = write!(qos, "\"{port}\": {{\"pfc_enable\": \"3,4\"}},");
            let _ = write!(queues, "\"{port}|3-4\": {{\"profile\": \"egress_lossless_profile\"}},");
            lossy(&mut queues, &port);
        }
        for number in 0..self.service {
            lossy(&mut queues, &format!("Ethernet{}", 8_000 + 8 * number));
        }
        let [ports, cables, queues, qos] =
            [&ports, &cables, &queues, &qos].map(|text| text.trim_end_matches(','));
        format!(
            "{{\"PORT\": {{{ports}}}, \"CABLE_LENGTH\": {{\"AZURE\": {{{cables}}}}}, \
             \"BUFFER_QUEUE\": {{{queues}}}, \"PORT_QOS_MAP\": {{{qos}}}}}"
        )
    }
}
