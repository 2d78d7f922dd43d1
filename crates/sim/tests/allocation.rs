//! Checks that the hot path does not allocate: memory grows with the number of live packets and
//! flows, not with the length of a run.

#[path = "suite/support.rs"]
mod support;

use bufferlab_metrics::{DropRow, RunSink, RunTotals};
use bufferlab_scenario::Scenario;
use bufferlab_sim::{BYTES_PER_FLOW, BYTES_PER_PACKET, Simulation};
use bufferlab_units::Time;
use bufferlab_workload::FlowSpec;
use std::io;
use support::{Lab, flow, star};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const _: () = assert!(BYTES_PER_PACKET <= 68 && BYTES_PER_FLOW <= 456, "the slabs are compact");

/// Sink that discards rows and counts lost packets, so that the test measures only
/// the simulator's memory.
#[derive(Default)]
struct Forget {
    lost_packets: u64,
}

impl RunSink for Forget {
    fn drops(&mut self, row: &DropRow) -> io::Result<()> {
        self.lost_packets += row.packets;
        Ok(())
    }
}

/// Allocator use of a run without the memory of its scenario.
struct Measured {
    totals: RunTotals,
    lost_packets: u64,
    /// Number of allocated blocks. Each growth of a block counts again.
    allocations: u64,
    peak_bytes: usize,
}

fn measure(scenario: &Scenario) -> Measured {
    let _profiler = dhat::Profiler::builder().testing().build();
    let simulation = Simulation::new(scenario).unwrap_or_else(|error| panic!("{error}"));
    let mut sink = Forget::default();
    let totals = simulation.run(&mut sink, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"));
    let heap = dhat::HeapStats::get();
    let lost_packets = sink.lost_packets;
    Measured { totals, lost_packets, allocations: heap.total_blocks, peak_bytes: heap.max_bytes }
}

/// Scenario of seven senders and one receiver at one switch.
/// Every sender has a flow of `bytes` bytes.
fn incast(switch: &str, transport: &str, bytes: u64) -> Scenario {
    let lab = Lab::new(&star(8, "10 Gb/s", "2 us"), switch, transport).times("1 ms", "10 s");
    lab.flows((0..7).map(|src| flow(src, 7, bytes, Time::from_us(u64::from(src)))).collect())
}

fn assert_no_allocation_per_packet(name: &str, lossy: bool, scenario: impl Fn(u64) -> Scenario) {
    let (short, long) = (measure(&scenario(4_000_000)), measure(&scenario(40_000_000)));
    let hops = long.totals.packet_hops - short.totals.packet_hops;
    assert!(hops > 500_000, "{name}: {hops} packet-hops are enough to see something");
    assert_eq!(long.lost_packets > 100, lossy, "{name}: {} packets were lost", long.lost_packets);
    // A longer run may have a higher peak of memory, so the difference of the allocations can be
    // positive or negative.
    let more = long.allocations as f64 - short.allocations as f64;
    println!(
        "{name}: {} and {} allocations, {hops} packet-hops between them: {:.6} per packet-hop",
        short.allocations,
        long.allocations,
        more / hops as f64
    );
    assert!(more / (hops as f64) < 0.001, "{name}: {more} more allocations in {hops} packet-hops");
}

/// Scenario of flows of one packet that are all alive at once.
fn crowd(flows: u32) -> Scenario {
    let transport = "congestion_control = \"newreno\"\nhandshake = false";
    let lab = Lab::new(&star(8, "10 Gb/s", "2 us"), "buffer = \"900 MB\"\npolicy = \"cs\"", transport);
    lab.times("1 ms", "10 s").flows((0..flows).map(|n| flow(n % 7, 7, 1_400, Time::ZERO)).collect())
}

/// Peak memory per additional live flow (bytes). The memory includes the flow's packet, the flow's
/// timer and the spare capacity of lists that double when they grow.
fn peak_bytes_per_flow() -> f64 {
    let (few, many) = (measure(&crowd(20_000)), measure(&crowd(40_000)));
    let flows = many.totals.peak_flows - few.totals.peak_flows;
    assert!(flows > 10_000, "many flows are alive at once");
    // The list of future flows belongs to the scenario, so its size is subtracted.
    (many.peak_bytes - few.peak_bytes) as f64 / flows as f64 - size_of::<FlowSpec>() as f64
}

/// Scenario of a repeated ring all-reduce of eight ranks.
fn repeated_ring(iterations: u32) -> Scenario {
    // The timeouts are short, because timers of ended flows stay in a list until the timeout.
    let transport =
        "congestion_control = \"dctcp\"\nhandshake = false\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"";
    let lab = Lab::new(&star(8, "100 Gb/s", "1 us"), "buffer = \"4 MB\"\npolicy = \"dt\"", transport);
    lab.times("1 us", "10 s").workloads(&format!(
        "[[workload]]\nkind = \"collective\"\noperation = \"all_reduce\"\nsize = \"80 KB\"\n\
         iterations = {iterations}"
    ))
}

/// A single test, because the allocator's counters cover the whole process.
#[test]
fn memory_depends_on_what_is_alive_and_not_on_how_long_a_run_is() {
    assert_no_allocation_per_packet("DCTCP without loss", false, |bytes| {
        let switch = "buffer = \"4 MB\"\npolicy = \"dt\"\necn = { kind = \"step\", threshold = \"91 KB\" }";
        incast(switch, "congestion_control = \"dctcp\"", bytes)
    });
    assert_no_allocation_per_packet("New Reno with loss", true, |bytes| {
        let switch = "buffer = \"150 KB\"\npolicy = { name = \"dt\", alpha = 1 }";
        incast(switch, "congestion_control = \"newreno\"\nmin_rto = \"1 ms\"\ninitial_rto = \"1 ms\"", bytes)
    });
    assert_no_allocation_per_packet("ABM and delayed ACKs", false, |bytes| {
        let switch =
            "buffer = \"400 KB\"\npolicy = \"abm\"\necn = { kind = \"step\", threshold = \"91 KB\" }";
        incast(switch, "congestion_control = \"dctcp\"\nack_every = 2\nmin_rto = \"1 ms\"", bytes)
    });
    let (few, many) = (measure(&repeated_ring(100)), measure(&repeated_ring(1_000)));
    assert_eq!((few.totals.flows, many.totals.flows), (100 * 112, 1_000 * 112));
    let more = many.peak_bytes.saturating_sub(few.peak_bytes);
    assert!(more < 65_536, "ten times as many executions of a schedule take {more} more bytes");
    println!("a live packet takes {BYTES_PER_PACKET} bytes, a live flow {BYTES_PER_FLOW}");
    let measured = peak_bytes_per_flow();
    println!(
        "measured: one more live flow of one packet takes {measured:.0} bytes at the peak, lists that double included"
    );
    // The memory per flow includes the 64 B of the packet's cache line, in a
    // list whose capacity doubles.
    assert!(measured < 1_270.0, "{measured} bytes per flow");
}
