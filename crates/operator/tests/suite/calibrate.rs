//! Tests that calibration finds the alphas of the simulated chip from the chip's counters.

use crate::support::{model, switch};
use bufferlab_operator::Bench;
use bufferlab_sonic::Config;
use bufferlab_sonic::calibrate::{Calibration, calibrate, read, text};
use bufferlab_sonic::silicon::chip;
use bufferlab_units::RandomStream;
use serde_json::{Map, Value, json};

const PORTS: [&str; 4] = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"];

/// Returns the small switch with the given exponents of alpha for lossless groups and lossy queues.
fn with_alphas(lossless: i64, lossy: i64) -> Config {
    switch(|name, text| match name {
        "buffers.json" => {
            let mut json: Value = serde_json::from_str(&text).expect("the example");
            json["BUFFER_PROFILE"]["egress_lossy_profile"]["dynamic_th"] = lossy.to_string().into();
            json.to_string()
        }
        "pg_profile_lookup.ini" => text
            .lines()
            .map(|line| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                [speed, cable, size, xon, xoff, _, offset] if !line.starts_with('#') => {
                    format!("{speed} {cable} {size} {xon} {xoff} {lossless} {offset}\n")
                }
                _ => format!("{line}\n"),
            })
            .collect(),
        _ => text,
    })
}

/// Returns a dump of COUNTERS_DB with the counters of the bench.
fn dump(bench: &mut Bench) -> Vec<u8> {
    let mut all = Map::new();
    let (mut groups, mut queues, mut ports) = (Map::new(), Map::new(), Map::new());
    for (port, name) in (0..).zip(PORTS) {
        let (counters, marks) = (bench.counters(port), bench.watermarks(port));
        let mut own = Map::new();
        for index in 0..8 {
            let (pg, queue) = (format!("oid:pg{port}.{index}"), format!("oid:q{port}.{index}"));
            groups.insert(format!("{name}:{index}"), pg.clone().into());
            queues.insert(format!("{name}:{index}"), queue.clone().into());
            all.insert(
                format!("USER_WATERMARKS:{pg}"),
                json!({
                    "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": marks.group_shared[index].to_string(),
                    "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": marks.group_headroom[index].to_string(),
                }),
            );
            let queue_fields = json!({
                "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": marks.queue_shared[index].to_string(),
                "SAI_QUEUE_STAT_DROPPED_PACKETS": counters.queue_drops[index].to_string(),
            });
            all.insert(format!("COUNTERS:{queue}"), queue_fields);
            own.insert(
                format!("SAI_PORT_STAT_PFC_{index}_TX_PKTS"),
                counters.pauses[index].to_string().into(),
            );
        }
        ports.insert(name.to_owned(), format!("oid:port{port}").into());
        all.insert(format!("COUNTERS:oid:port{port}"), json!({ "type": "hash", "value": own }));
    }
    let pools = bench.watermarks(0);
    for (name, bytes) in
        [("ingress_lossless_pool", pools.ingress_pool), ("egress_lossy_pool", pools.lossy_pool)]
    {
        let fields = json!({ "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES": bytes.to_string() });
        all.insert(format!("COUNTERS:oid:{name}"), fields);
    }
    all.insert("COUNTERS_PG_NAME_MAP".to_owned(), groups.into());
    all.insert("COUNTERS_QUEUE_NAME_MAP".to_owned(), queues.into());
    all.insert("COUNTERS_PORT_NAME_MAP".to_owned(), ports.into());
    let names = json!({
        "ingress_lossless_pool": "oid:ingress_lossless_pool", "egress_lossy_pool": "oid:egress_lossy_pool",
    });
    all.insert("COUNTERS_BUFFER_POOL_NAME_MAP".to_owned(), names);
    Value::Object(all).to_string().into_bytes()
}

/// Fills groups and queues of the chip at random, with a dump after every round.
fn dumps(truth: &Config, stream: &mut RandomStream) -> Vec<Vec<u8>> {
    let mut bench = Bench::new(&model(truth, "trident3"), 256).expect("it fits");
    let rounds = 3 + stream.below(3);
    let mut found = Vec::new();
    for _ in 0..rounds {
        bench.reset().expect("it fits");
        bench.clear_watermarks();
        for _ in 0..1 + stream.below(5) {
            let from = stream.below(4) as u16;
            let to = (from + 1 + stream.below(3) as u16) % 4;
            let priority = [3, 4, 0, 1][stream.below(4) as usize];
            let packets = if stream.below(3) == 0 { stream.below(2_000) } else { 20_000 };
            for _ in 0..packets {
                bench.send(from, to, priority);
            }
        }
        found.push(dump(&mut bench));
    }
    found
}

fn calibrated(config: &Config, dumps: &[Vec<u8>]) -> Calibration {
    let dumps: Vec<&[u8]> = dumps.iter().map(Vec::as_slice).collect();
    let samples = read(&dumps).unwrap_or_else(|error| panic!("{error}"));
    calibrate(config, chip("trident3").expect("a chip"), 256, &samples)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn alpha_is_exact_in_99_of_100_cases_in_which_a_limit_was_reached() {
    let counts = [43, 44, 45, 46, 47, 48, 49, 50].map(exact_cases);
    let [exact, cases] = [0, 1].map(|at| counts.iter().map(|count| count[at]).sum::<usize>());
    assert!(exact * 100 >= cases * 99, "{exact} of {cases}: {counts:?}");
}

/// Returns the number of cases with an exact estimate of alpha, and the number of all cases. Alphas
/// and orders of filling are random draws with `seed`.
fn exact_cases(seed: u64) -> [usize; 2] {
    let mut stream = RandomStream::new(seed, "calibrate", 0);
    let configured = with_alphas(-3, -1);
    let (mut cases, mut exact) = (0, 0);
    while cases < 200 {
        let (lossless, lossy) = (stream.below(9) as i64 - 6, stream.below(9) as i64 - 5);
        // The switch has alphas that differ from the alphas in the files.
        let found = calibrated(&configured, &dumps(&with_alphas(lossless, lossy), &mut stream));
        for one in found.profiles.iter().filter(|one| one.readings > 0) {
            let (truth, own) = if one.pool.starts_with("ingress") { (lossless, -3) } else { (lossy, -1) };
            cases += 1;
            if one.best.map(i64::from) == Some(truth) {
                exact += 1
            } else {
                println!("truth {truth}: {one:?}");
            }
            let is_named = found.departures.iter().any(|text| text.starts_with(&one.profile));
            if one.exponents.len() == 1 {
                assert_eq!(is_named, truth != own, "{:?}", found.departures);
            }
        }
    }
    [exact, cases]
}

#[test]
fn a_switch_that_follows_its_files_has_its_pool_and_cell_within_the_bounds() {
    let config = with_alphas(-1, 0);
    let mut stream = RandomStream::new(44, "calibrate", 0);
    for _ in 0..20 {
        let found = calibrated(&config, &dumps(&config, &mut stream));
        assert!(found.departures.is_empty(), "{:?}", found.departures);
        for one in found.profiles.iter().filter(|one| one.readings > 0) {
            let shared = one.configured_shared as f64;
            let within = shared >= one.shared.least && one.shared.most.is_none_or(|most| shared <= most);
            assert!(within, "{one:?}");
        }
        assert_eq!(found.cell_divides % 256, 0);
        assert!(text(&found).contains("no configured value is excluded"), "{}", text(&found));
    }
    let error = read(&[b"{}"]).expect_err("no watermarks").to_string();
    assert!(error.contains("no watermarks"), "{error}");
}
