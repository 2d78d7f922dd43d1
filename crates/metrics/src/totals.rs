//! Totals of a run.

/// Totals of a run, for the manifest and the summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTotals {
    /// Class names; rows refer to them by index.
    pub classes: Vec<String>,
    /// Switch names; rows refer to them by index.
    pub switches: Vec<String>,
    /// Host names; rows refer to them by index.
    pub hosts: Vec<String>,
    /// Buffer of every switch (bytes).
    pub buffer_bytes: Vec<u64>,
    /// Simulated time at the end of the run (ns).
    pub end_ns: u64,
    /// Packets that crossed a link, ACKs included: the unit of speed.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Flows started.
    pub flows: u64,
    /// Flows that ended, finished or lossy.
    pub flows_finished: u64,
    /// Largest number of packets alive at once.
    pub peak_packets: u64,
    /// Largest number of flows alive at once.
    pub peak_flows: u64,
}
