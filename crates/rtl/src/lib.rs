//! Registry of the circuits that implement policies, with the measured cost of each circuit.
//!
//! `rtl/circuits.toml` lists the circuits. For each circuit, `rtl/results` has the synthesis
//! results of each size, the number of operations compared with the policy, and the proofs. The
//! program embeds the tables. `policy show`, the policy pages and the ledger of the papers'
//! statements read the tables through this crate.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;

const CIRCUITS: &str = include_str!("../../../rtl/circuits.toml");
const COST: &str = include_str!("../../../rtl/results/cost.csv");
const DEPTH: &str = include_str!("../../../rtl/results/depth.csv");
const COMPARED: &str = include_str!("../../../rtl/results/cosim.csv");
const PROOFS: &str = include_str!("../../../rtl/results/proofs.csv");

/// Error about an unreadable table in the folder `rtl/`.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    /// The list of circuits cannot be read.
    #[error("rtl/circuits.toml: {0}")]
    Circuits(#[from] toml::de::Error),
    /// A table of results cannot be read.
    #[error("rtl/results/{table}: {source}")]
    Results {
        /// File name of the unreadable table.
        table: &'static str,
        /// The error of the CSV reader.
        source: csv::Error,
    },
}

/// A circuit that makes the decisions of a policy.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Circuit {
    /// Name of the circuit, such as `abm-shift`.
    pub name: String,
    /// Top module of the circuit in Verilog. The cost is measured for the top module, unless the
    /// circuit has a separate `cost_top`.
    pub top: String,
    /// Description of the circuit in a few words.
    pub about: String,
    /// The registered policy that the circuit implements. `None` if the circuit is only a part of
    /// another circuit, or is measured only for comparison with other circuits.
    pub policy: Option<String>,
    /// The name that `bufferlab-circuits` uses for the policy.
    /// `None` if the circuit is measured only for comparison with other circuits.
    pub scheme: Option<String>,
    /// Number of clocks from a packet's arrival to the circuit's answer.
    pub clocks: u32,
    /// Number of clocks between the starts of two operations (arrivals or departures).
    pub clocks_per_operation: u32,
    /// Values that the circuit rounds, and the largest difference from the policy's answer.
    #[serde(default)]
    pub rounding: String,
    /// Cost of the circuit by size, read from the table `cost.csv`.
    #[serde(skip)]
    pub costs: Vec<CircuitCost>,
    /// Comparisons of the circuit with the policy, read from the table `cosim.csv`.
    #[serde(skip)]
    pub comparisons: Vec<Comparison>,
    /// Proofs about the circuit, read from the table `proofs.csv`.
    #[serde(skip)]
    pub proofs: Vec<Proof>,
}

/// A comparison of a circuit with its policy on a set of operations:
/// a row of `rtl/results/cosim.csv`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Comparison {
    /// Name of the circuit.
    pub circuit: String,
    /// Source of the operations: golden `vectors`, `random`, or a simulated `run`.
    pub source: String,
    /// Number of compared operations: arrivals, departures and control events.
    pub operations: u64,
    /// Number of arrivals among the compared operations.
    pub packets: u64,
    /// Number of clocks that the circuit needed for the compared operations.
    pub clocks: u64,
    /// Number of outputs of the circuit that differ from the outputs of the policy.
    pub differences: u64,
    /// Remarks about the comparison: numbers of skipped vector cases, or of answers that rounding
    /// changed.
    pub notes: String,
    /// First digits of the SHA-256 of the operations with the policy's answers.
    pub sheet_sha256: String,
}

/// A proof about a circuit: a row of `rtl/results/proofs.csv`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Proof {
    /// Name of the circuit.
    pub circuit: String,
    /// Kind of proof: `prove` for properties that hold by induction, `cover` for traces that must
    /// exist.
    pub mode: String,
    /// Outcome of the proof: `holds` for a property, `reached` for a trace.
    pub result: String,
}

/// Cost of a circuit at one size: a row of `rtl/results/cost.csv`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct CircuitCost {
    /// Name of the circuit.
    pub circuit: String,
    /// Number of ports of the measured circuit.
    pub ports: u32,
    /// Number of queues per port of the measured circuit.
    pub queues: u32,
    /// Number of four-input lookup tables of an ECP5, including tables used for memories and
    /// carries.
    pub lut4: u64,
    /// Number of flip-flops that the circuit uses on an ECP5.
    pub flip_flops: u64,
    /// Number of block memories of 18 Kb that the circuit uses.
    pub block_memories: u64,
    /// Number of multipliers of 18 x 18 bits that the circuit uses.
    pub multipliers: u64,
    /// Clock frequency that the slowest path between registers allows, after routing (MHz).
    /// `None` if the circuit does not fit the device or was not placed.
    pub clock_mhz: Option<f64>,
    /// Packet rate in millions of packets per second.
    /// A packet takes two operations, its arrival and its departure.
    pub million_packets_per_s: Option<f64>,
    /// Date on which the cost was measured.
    pub date: String,
    /// Git commit of the measured circuit.
    pub commit: String,
    /// Cost of the circuit in generic gates; `None` until `depth.csv` is read.
    #[serde(skip)]
    pub gates: Option<CircuitDepth>,
}

/// Size and depth of a circuit in two-input gates and multiplexers, without memories: a row of
/// `rtl/results/depth.csv`. Size and depth depend on whether the mapping optimises area or delay.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct CircuitDepth {
    /// Name of the circuit.
    pub circuit: String,
    /// Number of ports of the mapped circuit.
    pub ports: u32,
    /// Number of queues per port of the mapped circuit.
    pub queues: u32,
    /// Number of gates of the mapping that optimises area.
    pub gates_area: u64,
    /// Longest path (gates) of the mapping that optimises area.
    pub depth_area: u64,
    /// Number of gates of the mapping that optimises delay; `None` if the table has no mapping that
    /// optimises delay.
    pub gates_delay: Option<u64>,
    /// Longest path (gates) of the mapping that optimises delay.
    pub depth_delay: Option<u64>,
    /// Number of memory bits of the circuit.
    pub memory_bits: Option<u64>,
    /// Version of yosys that mapped the circuit.
    pub yosys: String,
    /// Date on which the circuit was mapped.
    pub date: String,
}

/// Returns every circuit, in the order of `rtl/circuits.toml`.
///
/// # Errors
/// If one of the tables of circuits cannot be read.
pub fn circuits() -> Result<Vec<Circuit>, HardwareError> {
    #[derive(Deserialize)]
    struct List {
        circuit: Vec<Circuit>,
    }
    let mut circuits = toml::from_str::<List>(CIRCUITS)?.circuit;
    let (mut costs, comparisons) =
        (rows::<CircuitCost>("cost.csv", COST)?, rows::<Comparison>("cosim.csv", COMPARED)?);
    for depth in rows::<CircuitDepth>("depth.csv", DEPTH)? {
        let key = (&depth.circuit, depth.ports, depth.queues);
        if let Some(cost) = costs.iter_mut().find(|cost| (&cost.circuit, cost.ports, cost.queues) == key) {
            cost.gates = Some(depth);
        }
    }
    let proofs = rows::<Proof>("proofs.csv", PROOFS)?;
    for circuit in &mut circuits {
        let own = |name: &String| *name == circuit.name;
        circuit.costs = costs.iter().filter(|row| own(&row.circuit)).cloned().collect();
        circuit.comparisons = comparisons.iter().filter(|row| own(&row.circuit)).cloned().collect();
        circuit.proofs = proofs.iter().filter(|row| own(&row.circuit)).cloned().collect();
    }
    Ok(circuits)
}

fn rows<T: DeserializeOwned>(table: &'static str, text: &str) -> Result<Vec<T>, HardwareError> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize().collect::<Result<_, _>>();
    rows.map_err(|source| HardwareError::Results { table, source })
}

/// Returns the circuit called `name`.
///
/// # Errors
/// Returns the errors of [`circuits()`].
pub fn circuit(name: &str) -> Result<Option<Circuit>, HardwareError> {
    Ok(circuits()?.into_iter().find(|circuit| circuit.name == name))
}

/// Returns the circuits of a policy.
/// A policy may have an exact and an approximate circuit, or circuits for a part of the policy and
/// for the whole policy.
///
/// # Errors
/// Returns the errors of [`circuits()`].
pub fn of_policy(policy: &str) -> Result<Vec<Circuit>, HardwareError> {
    Ok(circuits()?.into_iter().filter(|circuit| circuit.policy.as_deref() == Some(policy)).collect())
}

impl Circuit {
    /// Describes the latency, the rate of operations and the rounding of the circuit in one or two
    /// sentences.
    #[must_use]
    pub fn timing(&self) -> String {
        let clocks = |count: u32| if count == 1 { "one clock".to_owned() } else { format!("{count} clocks") };
        let every = if self.clocks_per_operation == 1 {
            "every clock".to_owned()
        } else {
            format!("every {}", clocks(self.clocks_per_operation))
        };
        let (name, answer) = (&self.name, clocks(self.clocks));
        let mut text =
            format!("The circuit `{name}` answers after {answer}, and starts an operation {every}.");
        if !self.rounding.is_empty() {
            let _ = write!(text, " {}", self.rounding);
        }
        text
    }
}

impl Circuit {
    /// Number of compared operations, and number of operations in which circuit and policy differ.
    #[must_use]
    pub fn compared(&self) -> (u64, u64) {
        let sum = |of: fn(&Comparison) -> u64| self.comparisons.iter().map(of).sum();
        (sum(|row| row.operations), sum(|row| row.differences))
    }

    /// Whether a property of the circuit is proved by induction.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.proofs.iter().any(|proof| proof.mode == "prove" && proof.result == "holds")
    }

    /// Describes in a sentence how well the circuit agrees with its policy; empty without a
    /// comparison.
    #[must_use]
    pub fn evidence(&self) -> String {
        let (operations, differences) = self.compared();
        if operations == 0 {
            return String::new();
        }
        let proved = if self.is_proved() { ", and its properties are proved by induction" } else { "" };
        format!(
            "In {operations} operations, the circuit differs from the policy {differences} times{proved}."
        )
    }
}

impl CircuitCost {
    /// The cells of the circuit's cost in a table row, in the order of [`HEADS`].
    #[must_use]
    pub fn cells(&self) -> [String; 11] {
        let gates = |of: fn(&CircuitDepth) -> Option<u64>| {
            self.gates.as_ref().and_then(of).map_or_else(|| "–".to_owned(), |count| count.to_string())
        };
        let some = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| value.to_string());
        [
            format!("{} × {}", self.ports, self.queues),
            self.lut4.to_string(),
            self.flip_flops.to_string(),
            self.block_memories.to_string(),
            self.multipliers.to_string(),
            some(self.clock_mhz),
            some(self.million_packets_per_s),
            gates(|gates| Some(gates.gates_area)),
            gates(|gates| Some(gates.depth_area)),
            gates(|gates| gates.gates_delay),
            gates(|gates| gates.depth_delay),
        ]
    }
}

/// Column headings of the cost table ([`CircuitCost::cells`]).
pub const HEADS: [&str; 11] = [
    "ports × queues",
    "LUT4",
    "flip-flops",
    "block memories",
    "multipliers",
    "clock (MHz)",
    "million packets/s",
    "gates by area",
    "depth by area",
    "gates by delay",
    "depth by delay",
];

/// Formats the comparisons of circuits with their policies as a Markdown table, a row per circuit.
#[must_use]
pub fn comparisons_markdown(circuits: &[Circuit]) -> String {
    let mut text = String::from(
        "| circuit | vectors | random operations | packets of a run | differences | notes |\n|---|--:|--:|--:|--:|---|\n",
    );
    for circuit in circuits.iter().filter(|circuit| !circuit.comparisons.is_empty()) {
        let of = |source: &str, part: fn(&Comparison) -> u64| {
            let row = circuit.comparisons.iter().find(|row| row.source == source);
            row.map_or_else(String::new, |row| part(row).to_string())
        };
        let noted = circuit.comparisons.iter().filter(|row| !row.notes.is_empty());
        let notes: Vec<_> = noted.map(|row| format!("{}: {}", row.source, row.notes)).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} |",
            circuit.name,
            of("vectors", |row| row.operations),
            of("random", |row| row.operations),
            of("run", |row| row.packets),
            circuit.compared().1,
            notes.join("; ")
        );
    }
    text
}

/// Columns of [`HEADS`] in the Markdown table. The table omits the packet rate, a fixed fraction of
/// the clock frequency, and the mapping that optimises area.
const COLUMNS_OF_PAGE: [usize; 8] = [0, 1, 2, 3, 4, 5, 9, 10];

/// Formats the cost of circuits as a Markdown table: the smallest and largest size of each circuit.
#[must_use]
pub fn cost_markdown(circuits: &[Circuit]) -> String {
    let row = |cells: &[String; 11]| COLUMNS_OF_PAGE.map(|column| cells[column].as_str()).join(" | ");
    let mut text = format!(
        "| circuit | {} |\n|---|{}\n",
        row(&HEADS.map(str::to_owned)),
        "--:|".repeat(COLUMNS_OF_PAGE.len())
    );
    for circuit in circuits {
        for (index, cost) in circuit.costs.iter().enumerate() {
            if index == 0 || index + 1 == circuit.costs.len() {
                let _ = writeln!(text, "| `{}` | {} |", circuit.name, row(&cost.cells()));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_circuit_was_measured_at_every_size_of_the_list() {
        #[derive(Deserialize)]
        struct Sizes {
            circuit: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            name: String,
            sizes: Vec<(u32, u32)>,
        }
        let listed = toml::from_str::<Sizes>(CIRCUITS).unwrap_or_else(|error| panic!("{error}")).circuit;
        let circuits = circuits().unwrap_or_else(|error| panic!("{error}"));
        for (circuit, listed) in circuits.iter().zip(listed) {
            let measured: Vec<_> = circuit.costs.iter().map(|cost| (cost.ports, cost.queues)).collect();
            assert_eq!(measured, listed.sizes, "{}: run `cargo xtask rtl cost {0}`", listed.name);
            let is_mapped = circuit.costs.iter().all(|cost| cost.gates.is_some());
            assert!(is_mapped, "{}: run `cargo xtask rtl depth {0}`", listed.name);
        }
    }

    #[test]
    fn a_circuit_says_when_it_answers() {
        let losspass = of_policy("losspass").unwrap_or_else(|error| panic!("{error}"));
        assert!(losspass[0].timing().starts_with(
            "The circuit `losspass` answers after 5 clocks, and starts an operation every 5 clocks."
        ));
        assert!(of_policy("cs").unwrap_or_else(|error| panic!("{error}")).is_empty());
    }
}
