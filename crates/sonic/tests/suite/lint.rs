//! Tests that each lint rule finds its mistake, and that the small switch has none of the mistakes.

use crate::support::{FILES, corpus, example, files, switch};
use bufferlab_sonic::diff::diff;
use bufferlab_sonic::lint::{self, Allowance, Finding, Options, Severity, check};
use bufferlab_sonic::memo;
use bufferlab_sonic::silicon::chip;
use bufferlab_sonic::{Config, Reader, read};
use serde_json::Value;

fn options() -> Options {
    Options { chip: chip("trident3"), ..Options::default() }
}

fn findings(config: &Config) -> Vec<Finding> {
    check(config, &options()).expect("rules without allowances")
}

fn unchanged(_: &str, text: String) -> String {
    text
}

/// Returns the numbers of the rules with findings of at least `severity`.
fn codes(config: &Config, severity: Severity) -> Vec<&'static str> {
    let mut codes: Vec<_> = findings(config)
        .iter()
        .filter(|finding| finding.severity <= severity)
        .map(|finding| finding.rule.code)
        .collect();
    codes.dedup();
    codes
}

#[test]
fn the_small_switch_has_no_error_and_no_warning() {
    let found = findings(&switch(unchanged));
    let serious: Vec<_> = found.iter().filter(|finding| finding.severity < Severity::Info).collect();
    assert!(serious.is_empty(), "{serious:#?}");
    // The check reports properties of most switches as hints, so the small switch has hints.
    let codes: Vec<_> = found.iter().map(|finding| finding.rule.code).collect();
    assert_eq!(codes, ["SB003", "SB003", "SB016", "SB018", "SB021", "SB022", "SB023", "SB024"]);
}

#[test]
fn headroom_is_judged_in_three_steps() {
    let with = |bytes: u64| {
        let config = switch(|_, text| text.replace("1536   0     159744", &format!("1536   0     {bytes}")));
        let found = findings(&config);
        let of_rule: Vec<_> = found
            .iter()
            .filter(|finding| finding.rule.code == "SB003" && finding.message.contains("300 m"))
            .map(|finding| finding.severity)
            .collect();
        of_rule
    };
    assert_eq!(with(40_000), [Severity::Error, Severity::Warning]);
    assert_eq!(with(80_000), [Severity::Warning, Severity::Warning]);
    assert_eq!(with(100_000), [Severity::Info]);
    assert_eq!(with(400_000), []);
}

#[test]
fn a_profile_is_judged_by_the_speed_and_cable_in_its_name_where_ports_are_not_given() {
    let text = r#"{"BUFFER_PROFILE": {"pg_lossless_400000_50m_profile": {
        "pool": "ingress_lossless_pool", "xoff": "9000",
        "size": "0", "dynamic_th": "0"}},
        "BUFFER_PG": {"Ethernet0|3-4": {"profile": "pg_lossless_400000_50m_profile"}}}"#;
    let config = read("c.json", text.as_bytes()).expect("JSON");
    assert!(codes(&config, Severity::Error).contains(&"SB003"));
}

/// A configuration mistake: its public report, the rule that must find it, the replaced text, and
/// the replacement.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

const MISTAKES: &[Mistake] = &[
    (
        "sonic-buildimage#21320",
        "SB001",
        "\"mode\": \"static\", \"size\": \"4000000\"",
        "\"mode\": \"static\", \"size\": \"3600000\"",
    ),
    (
        "sonic-buildimage#19653",
        "SB002",
        "\"size\": \"0\", \"static_th\": \"4000000\" },\n        \"egress_lossless",
        "\"size\": \"0\", \"dynamic_th\": \"-3\" },\n        \"egress_lossless",
    ),
    ("sonic-mgmt#20422", "SB003", "1536   0     159744", "1536   0     20000"),
    ("sonic-buildimage#19640", "SB004", "\"xoff\": \"800000\"", "\"xoff\": \"3990000\""),
    ("sonic-swss#465", "SB005", "\"Ethernet8\": \"300m\"", "\"Ethernet8\": \"50m\""),
    ("xon", "SB006", "1536   0     90112", "1536   1900000     90112"),
    ("SONiC#480", "SB007", "12|0\"", "12|0,3\""),
    ("DCQCN", "SB008", "\"green_min_threshold\": \"200000\"", "\"green_min_threshold\": \"2000000\""),
    (
        "sonic-mgmt#17149",
        "SB009",
        "lossless_pool]\", \"size\": \"0\", \"static_th\": \"4000000\"",
        "lossless_pool]\", \"size\": \"0\", \"static_th\": \"1000000\"",
    ),
    ("sonic-buildimage#20132", "SB010", "\"dynamic_th\": \"1\"", "\"dynamic_th\": \"-6\""),
    ("sonic-swss#1586", "SB011", "\"detection_time\": \"200\"", "\"detection_time\": \"100\""),
    (
        "maps",
        "SB012",
        "\"3\": \"3\",\n            \"4\": \"4\",\n            \"5\": \"5\",\n            \"6\": \"6\",\n\
         \x20           \"7\": \"7\"\n        }\n    },\n    \"PORT_QOS_MAP\"",
        "\"3\": \"2\",\n            \"4\": \"4\",\n            \"5\": \"5\",\n            \"6\": \"6\",\n\
         \x20           \"7\": \"7\"\n        }\n    },\n    \"PORT_QOS_MAP\"",
    ),
    (
        "unused",
        "SB013",
        "|0-2\": { \"profile\": \"egress_lossy_profile\"",
        "|0-2\": { \"profile\": \"egress_lossless_profile\"",
    ),
    ("dangling", "SB014", "\"scheduler\": \"scheduler.1\"", "\"scheduler\": \"scheduler.9\""),
    ("sonic-buildimage#27606", "SB016", "\"ecn_all\"", "\"ecn_none\""),
    (
        "sonic-buildimage#2992",
        "SB017",
        "\"mode\": \"dynamic\", \"size\": \"3000000\"",
        "\"mode\": \"dynamic\", \"size\": \"35000000\"",
    ),
    ("sonic-mgmt#25395", "SB000", "\"dynamic_th\": \"1\"", "\"dynamic_th\": \"one\""),
];

#[test]
fn every_seeded_mistake_is_found_by_its_rule() {
    let clean = findings(&switch(unchanged));
    for (issue, code, from, to) in MISTAKES {
        let replaced = std::cell::Cell::new(0);
        let config = switch(|_, text| {
            replaced.set(replaced.get() + text.matches(from).count());
            // The mistake of rule SB013 needs a change in the two places that use the profile.
            let text = text.replace(from, to);
            if *code == "SB013" {
                text.replace(
                    "|5-6\": { \"profile\": \"egress_lossy_profile\"",
                    "|5-6\": { \"profile\": \"egress_lossless_profile\"",
                )
            } else {
                text
            }
        });
        assert!(replaced.get() > 0, "{issue}: nothing to replace");
        let found = findings(&config);
        let hit = found.iter().find(|finding| finding.rule.code == *code);
        let hit = hit.unwrap_or_else(|| panic!("{issue}: {code} found nothing\n{}", lint::text(&found, &[])));
        assert!(
            !hit.suggestion.is_empty() && !hit.message.is_empty() && !hit.place.table.is_empty(),
            "{hit:?}"
        );
        assert!(
            clean.iter().all(|finding| finding.rule.code != *code || finding.message != hit.message),
            "{issue}"
        );
    }
}

#[test]
fn mistakes_that_lose_lossless_packets_are_errors() {
    for code in ["SB001", "SB003", "SB005", "SB007", "SB009", "SB012", "SB016"] {
        let (_, _, from, to) = MISTAKES.iter().find(|mistake| mistake.1 == code).expect("a mistake");
        let config = switch(|_, text| text.replace(from, to));
        assert!(codes(&config, Severity::Error).contains(&code), "{code}");
    }
}

#[test]
fn figures_stand_in_the_message() {
    let config = switch(|_, text| {
        text.replace(
            "\"mode\": \"static\", \"size\": \"4000000\"",
            "\"mode\": \"static\", \"size\": \"3600000\"",
        )
    });
    let found = findings(&config);
    assert_eq!(found[0].rule.code, "SB001");
    // The check compares the ingress pool (4,000,000 B minus 20 reserves of 6 cells) with the
    // egress pool of 3,600,000 B.
    assert!(found[0].message.contains("369280 B of lossless packets"), "{}", found[0].message);
    let close = switch(|_, text| {
        text.replace(
            "\"mode\": \"static\", \"size\": \"4000000\"",
            "\"mode\": \"static\", \"size\": \"3980000\"",
        )
    });
    assert!(
        codes(&close, Severity::Warning).contains(&"SB001")
            && !codes(&close, Severity::Error).contains(&"SB001")
    );
    assert_eq!(found[0].suggestion, "\"size\": \"4000000\"");
    assert_eq!(found[0].place.to_string(), "buffers.json:7: BUFFER_POOL|egress_lossless_pool.size");
}

#[test]
fn other_properties_are_told() {
    let asymmetric = switch(|_, text| text.replacen("\"pfc_enable\": \"3,4\"", "\"pfc_enable\": \"\"", 1));
    assert!(codes(&asymmetric, Severity::Warning).contains(&"SB015"));
    let slow = switch(|_, text| text.replace("100000\n", "100\n").replace("\n  100000 ", "\n  100 "));
    assert!(codes(&slow, Severity::Warning).contains(&"SB011"), "{}", lint::text(&findings(&slow), &[]));
    let enough = switch(|_, text| text.replace("\"xoff\": \"800000\"", "\"xoff\": \"1100000\""));
    assert!(!codes(&enough, Severity::Info).contains(&"SB018"));
}

#[test]
fn a_rule_is_switched_off_with_a_reason_only() {
    let config = switch(|_, text| text.replace("\"ecn_all\"", "\"ecn_none\""));
    let allow = |rule: &str, reason: &str| Options {
        allow: vec![Allowance { rule: rule.to_owned(), reason: reason.to_owned() }],
        ..options()
    };
    let found =
        check(&config, &allow("wred-drops-lossless", "all traffic is ECN-capable")).expect("a reason");
    let hit = found.iter().find(|finding| finding.rule.code == "SB016").expect("a finding");
    assert_eq!(hit.allowed.as_deref(), Some("all traffic is ECN-capable"));
    assert!(!lint::fails(&found, Severity::Error) && lint::fails(&findings(&config), Severity::Error));
    assert!(check(&config, &allow("SB016", " ")).expect_err("no reason").help.contains("SB016=REASON"));
    assert!(check(&config, &allow("SB999", "x")).is_err());
}

#[test]
fn findings_are_written_as_json_and_sarif() {
    let config = switch(|_, text| text.replace("\"ecn_all\"", "\"ecn_none\""));
    let found = findings(&config);
    let list: Value = serde_json::from_str(&lint::json(&found)).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(found.len()));
    assert_eq!((&list[0]["rule"], &list[0]["severity"]), (&"SB016".into(), &"error".into()));
    let sarif: Value = serde_json::from_str(&lint::sarif(&found, &[], "1.0.0")).expect("JSON");
    let run = &sarif["runs"][0];
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(run["tool"]["driver"]["rules"].as_array().map(Vec::len), Some(lint::RULES.len()));
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"SB016".into(), &"error".into()));
    let physical = &result["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "qos.json");
    assert!(physical["region"]["startLine"].as_u64().is_some_and(|line| line > 1));
}

#[test]
fn partial_files_are_not_blamed_for_what_is_in_others() {
    for name in FILES.into_iter().chain(["show-buffer.txt"]) {
        let config = read(name, example(name).as_bytes()).expect("an example");
        assert_eq!(codes(&config, Severity::Error), [""; 0], "{name}");
    }
}

#[test]
fn real_files_have_no_error_that_cannot_be_defended() {
    let Some(folder) = corpus("lint") else { return };
    let rendered = files(&folder.join("rendered"));
    let mut errors = Vec::new();
    let mut judge = |name: String, config: &Config, hwsku: Option<&str>| {
        let chip = hwsku.and_then(chip);
        let found = check(config, &Options { chip, ..Options::default() }).expect("rules");
        eprintln!("{name}: {}", lint::text(&found, &[]).lines().last().unwrap_or_default());
        let serious = found.iter().filter(|finding| finding.severity < Severity::Info);
        for finding in serious.clone() {
            eprintln!("  {} {} {}: {}", finding.severity, finding.rule.code, finding.place, finding.message);
        }
        errors.extend(
            serious
                .filter(|finding| finding.severity == Severity::Error)
                .map(|finding| finding.message.clone()),
        );
    };
    for path in &rendered {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let config =
            read(&name, &std::fs::read(path).expect("a file that is there")).expect("a file that is read");
        let chip = if name.contains("7260") { Some("tomahawk2") } else { None };
        judge(name, &config, chip);
    }
    let pairs = [
        ("buffer-arista7260-t0", "qos-arista7260-t0", Some("tomahawk2")),
        ("buffer-arista7260-t1-remap-disabled", "qos-arista7260-t1-remap-disabled", Some("tomahawk2")),
        ("buffer-nokia-ixr7250e-36x100g", "qos-nokia-ixr7250e-36x100g", Some("jericho2")),
    ];
    for (buffer, qos, chip) in pairs {
        let mut reader = Reader::default();
        for name in [buffer, qos] {
            let name = format!("{name}.json");
            let path = rendered.iter().find(|path| path.ends_with(&name)).expect("a file of the pair");
            reader.add(&name, &std::fs::read(path).expect("a file that is there")).expect("JSON");
        }
        judge(format!("{buffer} with {qos}"), &reader.finish(), chip);
    }
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Mistakes in a real switch: lint rule, file, text, replacement of the text.
const REAL_MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("SB001", "buffer", "\"size\": \"42349632\"", "\"size\": \"30000000\""),
    ("SB002", "buffer", "\"static_th\":\"44302336\"", "\"dynamic_th\":\"-4\""),
    ("SB003", "lookup", "177632", "17763"),
    ("SB005", "buffer", "\"Ethernet48\": \"40m\"", "\"Ethernet48\": \"50m\""),
    ("SB006", "lookup", "1248 177632", "5000000 177632"),
    ("SB007", "buffer", "\"Ethernet48|0\"", "\"Ethernet48|0,3-4\""),
    ("SB008", "qos", "\"2000000\"", "\"9000000\""),
    ("SB009", "buffer", "\"static_th\":\"42349632\"", "\"static_th\":\"4000000\""),
    ("SB010", "buffer", "\"dynamic_th\":\"-1\"", "\"dynamic_th\":\"-7\""),
    ("SB014", "qos", ": \"scheduler.1\"", ": \"scheduler.7\""),
    ("SB016", "qos", "\"ecn_all\"", "\"ecn_none\""),
    ("SB017", "buffer", "\"size\": \"33329088\"", "\"size\": \"63329088\""),
];

#[test]
fn mistakes_in_a_real_switch_are_found_and_the_switch_itself_is_clean() {
    let Some(folder) = corpus("mistakes") else { return };
    let text = |path: &str| std::fs::read_to_string(folder.join(path)).expect("a file of the corpus");
    let buffer = text("rendered/buffer-arista7260-t0.json");
    let cables = read("buffer", buffer.as_bytes()).expect("JSON").cables;
    // The rendered files have no ports. On a T0 switch, the speed of a port follows from its cable.
    let port = |(port, cable): (&bufferlab_sonic::PortName, &bufferlab_sonic::Placed<f64>)| {
        format!("\"{port}\": {{\"speed\": \"{}\"}}", if cable.value < 10.0 { 50_000 } else { 100_000 })
    };
    let ports = format!("{{\"PORT\": {{{}}}}}", cables.iter().map(port).collect::<Vec<_>>().join(","));
    let lookup = "pg_profile_lookup/arista__x86_64-arista_7260cx3_64__Arista-7260CX3-D96C16.ini";
    let parts = [
        ("buffer", buffer),
        ("qos", text("rendered/qos-arista7260-t0.json")),
        ("lookup", text(lookup)),
        ("ports", ports),
    ];
    let found = |file: &str, from: &str, to: &str| {
        let mut reader = Reader::default();
        for (name, text) in &parts {
            assert!(*name != file || from.is_empty() || text.contains(from), "{from} is not in {file}");
            let text = if *name == file { text.replace(from, to) } else { text.clone() };
            reader.add(name, text.as_bytes()).expect("a part that is read");
        }
        let options = Options { chip: chip("tomahawk2"), ..Options::default() };
        check(&reader.finish(), &options).expect("rules")
    };
    let clean = found("", "", "");
    assert!(clean.iter().all(|finding| finding.severity == Severity::Info), "{}", lint::text(&clean, &[]));
    for (code, file, from, to) in REAL_MISTAKES {
        let found = found(file, from, to);
        let hit =
            found.iter().find(|finding| finding.rule.code == *code && finding.severity < Severity::Info);
        let hit = hit.unwrap_or_else(|| panic!("{code} found nothing\n{}", lint::text(&found, &[])));
        eprintln!("{code}: {}: {}", hit.place, hit.message);
    }
}

#[test]
fn the_page_for_operators_has_every_rule() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/operators.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for rule in lint::RULES {
        let row = format!("| {} | {} | {} | {} |", rule.code, rule.severity, rule.name, rule.reason);
        assert!(page.contains(&row), "docs/how-to/operators.md lacks\n{row}");
    }
}

#[test]
fn findings_of_equal_kind_are_one_finding_with_all_ports() {
    let rarely = switch(|_, text| text.replace("\"POLL_INTERVAL\": \"200\"", "\"POLL_INTERVAL\": \"500\""));
    let found = findings(&rarely);
    let of_rule: Vec<_> = found.iter().filter(|finding| finding.rule.code == "SB011").collect();
    assert_eq!(of_rule.len(), 1, "{of_rule:#?}");
    assert!(of_rule[0].message.starts_with("Ethernet0, Ethernet4, Ethernet8 and 1 more: a storm is 200 ms"));
}

#[test]
fn real_switches_have_at_most_three_warnings() {
    let Some(folder) = corpus("noise") else { return };
    for path in files(&folder.join("rendered")) {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let config =
            read(&name, &std::fs::read(&path).expect("a file that is there")).expect("a file that is read");
        let found = check(&config, &Options::default()).expect("rules");
        let warnings = found.iter().filter(|finding| finding.severity == Severity::Warning).count();
        assert!(warnings <= 3, "{name}: {}", lint::text(&found, &[]));
    }
}

#[test]
fn a_finding_with_other_figures_is_moved_and_neither_new_nor_gone() {
    let less = switch(|_, text| text.replace("1536   0     90112", "1536   0     80000"));
    let difference = diff(&switch(unchanged), &less, chip("trident3")).expect("rules");
    assert!(!difference.new_errors);
    let about = |list: &[String]| list.iter().filter(|finding| finding.contains("SB003")).count();
    assert_eq!(
        (about(&difference.new_findings), about(&difference.gone_findings)),
        (0, 0),
        "{difference:#?}"
    );
    assert_eq!(about(&difference.moved_findings), 1);
    assert!(difference.moved_findings[0].contains("(before: "), "{:?}", difference.moved_findings);
}

#[test]
fn the_memo_is_one_page_with_the_answers_of_lint_and_explain() {
    let page = memo::html(&switch(unchanged), &options()).expect("rules");
    for part in ["Recommendation", "Nothing that was judged", "<svg", "Headroom", "Findings", "SB003"] {
        assert!(
            page.contains(part) || (part.starts_with("Nothing") && page.contains("Nothing speaks")),
            "{part}\n{page}"
        );
    }
    assert!(page.contains("enough for full-size packets") && page.ends_with("</body></html>\n"));
    let worse = memo::html(&switch(|_, text| text.replace("\"ecn_all\"", "\"ecn_none\"")), &options())
        .expect("rules");
    assert!(worse.contains("Do not apply this configuration: correct 1 error first."), "{worse}");
    let hostile = switch(|_, text| text.replace("egress_lossy_profile", "<script>alert(1)</script>"));
    assert!(!memo::html(&hostile, &options()).expect("rules").contains("<script>"));
}
