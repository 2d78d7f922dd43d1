//! The engine's speed on a scenario, without the cost of writing results: packet-hops per CPU second.
use bufferlab_metrics::*;
use std::time::Instant;
#[derive(Default)]
struct Null { flows: u64, slow: Vec<f64> , drops: u64}
impl RunSink for Null {
    fn flow(&mut self, row: &FlowRow) -> std::io::Result<()> { self.flows += 1; if let Some(s) = row.slowdown { self.slow.push(s) } Ok(()) }
    fn query(&mut self, _: &QueryRow) -> std::io::Result<()> { Ok(()) }
    fn series(&mut self, _: &SeriesRow) -> std::io::Result<()> { Ok(()) }
    fn histogram(&mut self, r: &HistogramRow) -> std::io::Result<()> { if r.scope == Scope::Switch && std::env::var_os("H").is_some() { eprintln!("{} {} {}", r.switch, r.to_bytes as f64 / 39321.6, r.time_ns); } Ok(()) }
    fn queue(&mut self, r: &QueueRow) -> std::io::Result<()> { if std::env::var_os("Q").is_some() && r.max_bytes > 100000 { eprintln!("{r:?}"); } Ok(()) }
    fn drops(&mut self, r: &DropRow) -> std::io::Result<()> { if std::env::var_os("V").is_some() { eprintln!("{r:?}"); } self.drops += r.packets; Ok(()) }
    fn link(&mut self, _: &LinkRow) -> std::io::Result<()> { Ok(()) }
}
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let overrides: Vec<(String, String)> = args.map(|a| { let (k, v) = a.split_once('=').unwrap(); (k.to_owned(), v.to_owned()) }).collect();
    let loaded = match bufferlab_scenario::load(path.as_ref(), &overrides) { Ok(l) => l, Err(e) => panic!("{e:?}") };
    let sim = bufferlab_sim::Simulation::new(&loaded.scenario).unwrap();
    let start = Instant::now();
    let mut sink = Null::default();
    let totals = sim.run(&mut sink, &mut |_| {}).unwrap();
    let t = start.elapsed().as_secs_f64();
    sink.slow.sort_by(f64::total_cmp);
    let n = sink.slow.len().max(1);
    let q = |p: f64| sink.slow[((n as f64 * p) as usize).max(1) - 1];
    println!("p50 {:.3} mean {:.3} p95 {:.3} p99 {:.3} >40 {:.3}", q(0.5), sink.slow.iter().sum::<f64>() / n as f64, q(0.95), q(0.99), sink.slow.iter().filter(|x| **x > 40.0).count() as f64 / n as f64);
    println!("{:.3} s, {} hops, {} events, {:.2} M hops/s; flows {}/{} end {} ms; mean slowdown {:.2} p99 {:.2} drops {} peak packets {} flows {}", t, totals.packet_hops, totals.events, totals.packet_hops as f64 / t / 1e6, totals.flows_finished, totals.flows, totals.end_ns as f64 / 1e6, sink.slow.iter().sum::<f64>() / n as f64, sink.slow[n * 99 / 100], sink.drops, totals.peak_packets, totals.peak_flows);
}
