//! Tests that the explained parts of a memory fit into the memory: headroom inside `size`, egress
//! pools of every size, printed sums.

use crate::support::{corpus, files, switch};
use bufferlab_sonic::explain::{Explanation, explain, text};
use bufferlab_sonic::lint::{Options, Severity, check};
use bufferlab_sonic::silicon::{CHIPS, Memory, Prediction, Rule, chip, predict};
use bufferlab_sonic::{Config, PortName, Reader};

/// Returns the small switch with headroom inside `size` and without a headroom pool.
fn private_headroom() -> Config {
    switch(|name, text| match name {
        "switch/buffers.json" => {
            text.replace(", \"xoff\": \"800000\"", "").replace("\"3000000\"", "\"2000000\"")
        }
        "switch/pg_profile_lookup.ini" => [90_112, 98_304, 159_744].iter().fold(text, |text, xoff| {
            text.replace(&format!("1536   0     {xoff}"), &format!("{}   0     {xoff}", 1_536 + xoff))
        }),
        _ => text,
    })
}

/// Returns the small switch with other pool sizes; `lossy` is the size of the egress lossy pool, or
/// of the only egress pool.
fn pools(lossless: u64, xoff: u64, lossy: u64, only: bool) -> Config {
    switch(|name, text| match name {
        "switch/buffers.json" => {
            let text = text
                .replace(
                    "\"size\": \"4000000\", \"xoff\": \"800000\"",
                    &format!("\"size\": \"{lossless}\", \"xoff\": \"{xoff}\""),
                )
                .replace("\"size\": \"3000000\"", &format!("\"size\": \"{lossy}\""));
            if only {
                text.replace("\"egress_lossless_pool\": { \"type\": \"egress\", \"mode\": \"static\", \"size\": \"4000000\" },\n", "")
                    .replace("\"egress_lossy_pool\"", "\"egress_lossless_pool\"")
            } else {
                text
            }
        }
        _ => text,
    })
}

fn on(config: &Config, name: &str) -> Prediction {
    predict(config, chip(name).expect("a family"), 64).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn headroom_inside_the_size_of_groups_comes_off_the_pool() {
    let prediction = on(&private_headroom(), "trident2");
    // 4,000,000 B are 19,230 cells of 208 B. Four groups of 91,648 B take 441 cells each, and four
    // groups of 161,280 B take 776 cells each.
    assert_eq!(prediction.shared, 19_230 - 4 * 441 - 4 * 776);
    let group = &prediction.groups[0];
    assert_eq!((group.minimum, group.pause), (8, 8 + 14_362 / 3));
    // Minimums of queues are subtracted neither from the ingress nor from the egress pool.
    // The 2,000,000 B of the test are 9,615 cells.
    let queue = &prediction.queues[0];
    assert_eq!((queue.shared, queue.drop), (9_615, 8 + 6_410 + 1));
    assert!(prediction.headroom_pools.is_empty(), "{:?}", prediction.headroom_pools);
    assert!(prediction.caveats.iter().any(|caveat| caveat.contains("not compared with measurements")));
}

#[test]
fn headroom_inside_the_size_is_taken_off_on_every_chip_of_cells() {
    for family in CHIPS.iter().filter(|chip| chip.rule == Rule::Cells) {
        let memory = Memory::new(&private_headroom(), family).expect("a memory");
        let cells = |bytes: u64| bytes.div_ceil(family.cell);
        let taken = (4 * cells(91_648) + 4 * cells(161_280)).div_ceil(family.slices);
        assert_eq!(memory.shared, 4_000_000 / family.cell / family.slices - taken, "{}", family.name);
    }
}

#[test]
fn without_shared_headroom_nvidia_switches_lose_packets_before_their_headroom_is_full() {
    // In sonic-mgmt, qos_param_generator.py subtracts headroom_overhead from the drop point
    // pkts_num_trig_ingr_drp.
    let of_spectrum = [("spectrum1", 95), ("spectrum2", 64), ("spectrum3", 64), ("spectrum4", 47)];
    let overheads = of_spectrum.into_iter().chain([("spectrum5", 47), ("spectrum6", 47)]);
    for (name, overhead) in overheads.chain([("trident3", 0)]) {
        let (private, shared) = (on(&private_headroom(), name), on(&switch(|_, text| text), name));
        let cell = chip(name).expect("a chip").cell;
        for (group, xoff) in private.groups.iter().zip([159_744_u64, 90_112]) {
            assert_eq!(group.headroom, xoff.div_ceil(cell) - overhead, "{name}: {group:?}");
            assert_eq!(group.drop, group.pause + group.headroom + 1, "{name}");
        }
        let twice = if matches!(chip(name).expect("a chip").rule, Rule::OneLevel) { 2 } else { 1 };
        assert_eq!(shared.groups[0].headroom, (twice * 159_744_u64).div_ceil(cell), "{name}");
    }
    let config = private_headroom();
    let spectrum3 = chip("spectrum3").expect("a chip");
    let group = config.group(&PortName::new("Ethernet0"), 3);
    let profile = group.profile().expect("a lossless profile");
    let cells = |speed| spectrum3.group_headroom(&config, profile, speed);
    assert_eq!(cells(Some(100_000)) - cells(Some(400_000)), 59);
    assert_eq!(cells(None), cells(Some(100_000)));
}

#[test]
fn an_egress_pool_of_another_size_is_net_or_gross_by_the_files() {
    // The reserves of 4 x 5 queues, 1,536 B each, take 120 cells of 256 B, or 140 cells of 254 B.
    // The shared memory S of tomahawk5 is 7,874 - 1,574 - 28 - 140 = 6,132 cells.
    let of = |config: &Config, name: &str| on(config, name).queues[0].shared;
    let s = on(&pools(4_000_000, 800_000, 3_000_000, false), "tomahawk5").shared;
    assert_eq!(
        of(&pools(4_000_000, 800_000, 4_000_000, true), "tomahawk5"),
        s,
        "as large as the ingress pool"
    );
    assert_eq!(of(&pools(4_000_000, 800_000, 2 * 254 * s, false), "tomahawk5"), s, "net: S exactly");
    assert_eq!(
        of(&pools(4_000_000, 800_000, 2 * 254 * (s - 99), true), "tomahawk5"),
        s - 99,
        "one pool within S"
    );
    assert_eq!(
        of(&pools(4_000_000, 800_000, 2 * 254 * (s + 999), true), "tomahawk5"),
        s + 999 - 140,
        "above S"
    );
    assert_eq!(
        of(&pools(4_000_000, 800_000, 2 * 254 * (s - 99), false), "tomahawk5"),
        s - 99 - 140,
        "a lossy pool"
    );
    assert_eq!(
        of(&pools(4_000_000, 800_000, 2_000_000, true), "tomahawk5"),
        2_000_000 / 254 - 140,
        "of one slice"
    );
    assert_eq!(of(&pools(4_000_000, 800_000, 3_000_000, false), "trident3"), 3_000_000 / 256 - 120);
}

#[test]
fn no_lossy_queue_holds_more_than_the_ingress_pool_shares() {
    let prediction = on(&pools(4_000_000, 800_000, 40_000_000, false), "trident3");
    assert_eq!(prediction.queues[0].drop, prediction.queues[0].minimum + prediction.shared + 1);
}

/// Checks that the sum of the printed parts does not exceed the memory, unless a caveat reports the
/// excess.
fn sums_hold(explanation: &Explanation, what: &str) -> bool {
    let sum: u64 = explanation.parts.iter().map(|part| part.bytes).sum();
    let too_much = explanation.memory_bytes.is_some_and(|bytes| sum > bytes);
    let says = explanation.caveats.iter().any(|caveat| caveat.contains("do not exist"));
    assert!(!too_much || says, "{what}: {sum} B of {:?}: {:?}", explanation.memory_bytes, explanation.parts);
    assert!(!says || text(explanation).contains("do not exist"), "{what}");
    says
}

#[test]
fn parts_that_are_printed_fit_into_the_memory_or_a_caveat_says_that_they_do_not() {
    let small = [
        ("as it is", pools(4_000_000, 800_000, 3_000_000, false)),
        ("private headroom", private_headroom()),
        ("large", pools(40_000_000, 800_000, 30_000_000, false)),
        ("one pool", pools(4_000_000, 800_000, 4_000_000, true)),
    ];
    let mut remarks = 0;
    for family in CHIPS {
        for (what, config) in &small {
            let explanation = explain(config, Some(family));
            let of_pool: u64 = explanation.parts.iter().map(|part| part.bytes).sum();
            let gross = explanation.accounting.starts_with("gross");
            let rest: u64 =
                explanation.parts.iter().filter(|part| part.name == "rest").map(|part| part.bytes).sum();
            let size = config.pools["ingress_lossless_pool"].size.as_ref().expect("a size").value;
            assert!(!gross || of_pool - rest <= size, "{}, {what}: {:?}", family.name, explanation.parts);
            remarks += usize::from(sums_hold(&explanation, &format!("{}, {what}", family.name)));
        }
    }
    // A pool of 40 MB exceeds the memory of a Trident 2, a Trident 3 and a Spectrum. With headroom,
    // the pool exceeds a memory of 42 MiB.
    assert!(remarks > 0, "a check that never speaks");
}

#[test]
fn headroom_that_no_pool_and_no_size_holds_is_said_to_be_missing() {
    let config = switch(|name, text| match name {
        "switch/buffers.json" => text.replace(", \"xoff\": \"800000\"", "").replace("4000000", "1100000"),
        _ => text,
    });
    let explanation = explain(&config, Some(chip("trident3").expect("a family")));
    let missing =
        explanation.caveats.iter().find(|caveat| caveat.contains("ingress_lossless_pool has 1100000 B"));
    assert!(missing.is_some(), "{:?} {:?}", explanation.caveats, explanation.parts);
}

#[test]
fn sums_of_real_files_fit_into_their_memory() {
    let Some(folder) = corpus("sums") else { return };
    for path in files(&folder.join("rendered")) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let mut reader = Reader::default();
        let bytes = std::fs::read(&path).expect("a file");
        if reader.add(&name, &bytes).is_err() {
            continue;
        }
        let config = reader.finish();
        for family in CHIPS {
            sums_hold(&explain(&config, Some(family)), &format!("{name} on {}", family.name));
        }
    }
}

#[test]
fn one_group_uses_no_more_headroom_than_the_pool_of_its_slice() {
    for family in CHIPS.iter().filter(|chip| matches!(chip.rule, Rule::Cells | Rule::Bytes(_))) {
        for xoff in [30_000, 100_000, 400_000, 700_000] {
            let config = pools(4_000_000, xoff, 3_000_000, false);
            let pool = xoff / family.cell / family.slices;
            let prediction = on(&config, family.name);
            for group in &prediction.groups {
                let what = format!("{}, xoff {xoff}: {group:?}", family.name);
                assert_eq!(group.headroom, group.headroom_asked.min(pool), "{what}");
                assert_eq!(group.drop, group.pause + group.headroom + 1, "{what}");
                let says = |caveat: &String| caveat.contains(&group.profile) && caveat.contains("alone");
                assert_eq!(
                    prediction.caveats.iter().any(says),
                    group.headroom < group.headroom_asked,
                    "{what}"
                );
            }
            let options = Options { chip: Some(family), ..Options::default() };
            let found = check(&config, &options).expect("rules");
            let is_error = found
                .iter()
                .any(|finding| finding.rule.code == "SB019" && finding.severity == Severity::Error);
            assert_eq!(is_error, pool * family.cell < 159_744, "{}, xoff {xoff}", family.name);
            let explanation = explain(&config, Some(family));
            for headroom in
                explanation.kinds.iter().flat_map(|kind| &kind.ways).filter_map(|way| way.headroom.as_ref())
            {
                assert_eq!(
                    headroom.bytes,
                    headroom.asked.min(pool * family.cell),
                    "{}, xoff {xoff}",
                    family.name
                );
                let margin = i64::try_from(headroom.bytes).expect("small")
                    - i64::try_from(headroom.standard).expect("small");
                assert_eq!((headroom.margin_bytes, headroom.margin_metres < 0.0), (margin, margin < 0));
            }
        }
    }
}

#[test]
fn lint_says_how_many_groups_find_their_headroom_at_once() {
    let suggestion = |xoff: u64| {
        let config = pools(4_000_000, xoff, 3_000_000, false);
        let options = Options { chip: chip("trident3"), ..Options::default() };
        let found = check(&config, &options).expect("rules");
        let one = found
            .into_iter()
            .find(|finding| finding.rule.code == "SB018")
            .expect("more groups than headroom");
        one.suggestion
    };
    assert!(suggestion(100_000).contains("not even one group"), "{}", suggestion(100_000));
    assert!(suggestion(200_000).contains("one group"), "{}", suggestion(200_000));
    assert!(suggestion(800_000).contains("5 groups"), "{}", suggestion(800_000));
}

#[test]
fn sizes_between_two_cells_and_pools_above_every_memory_are_found() {
    let codes = |config: &Config, chip_name: Option<&str>| -> Vec<(String, String)> {
        let options = Options { chip: chip_name.and_then(chip), ..Options::default() };
        let found = check(config, &options).expect("rules");
        let of = ["SB017", "SB020"];
        let found = found.into_iter().filter(|finding| of.contains(&finding.rule.code));
        found.map(|finding| (finding.rule.code.to_owned(), finding.message)).collect()
    };
    // The configuration has sizes in cells of Tomahawk 5 (254 B), so size and xoff are not
    // multiples of the 256 B of Trident 3.
    let other = pools(254 * 15_001, 254 * 3_001, 254 * 11_001, false);
    assert_eq!(codes(&other, Some("trident3")).iter().filter(|(code, _)| code == "SB020").count(), 2);
    assert!(codes(&other, Some("tomahawk5")).is_empty());
    let large = |size: u64| codes(&pools(size, 800_000, 3_000_000, false), None);
    assert!(large(400_000_000).is_empty());
    assert!(
        large(2_000_000_000).iter().any(|(code, message)| code == "SB017" && message.contains("any chip"))
    );
    // In a system with memory beside the chip, the check finds a pool size with an extra digit, but
    // accepts 24 GiB.
    let voq = |size: u64| {
        let config = switch(|name, text| match name {
            "switch/buffers.json" => text.replace(
                "\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": \"4000000\"",
                &format!("\"type\": \"both\", \"mode\": \"dynamic\", \"size\": \"{size}\""),
            ),
            _ => text,
        });
        codes(&config, Some("jericho2")).into_iter().filter(|(code, _)| code == "SB017").count()
    };
    assert_eq!((voq(25_766_440_000), voq(56_441_610_000)), (0, 1));
}
