//! Files of other vendors become the same typed configuration as files of SONiC.

use bufferlab_sonic::config::{Assigned, Config, Side, Threshold};
use bufferlab_sonic::{PortName, Reader, Resolved, Weight, explain, lint, read, silicon};
use std::path::Path;

fn vendor(files: &[&str]) -> Config {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sonic/vendors");
    let mut reader = Reader::default();
    for name in files {
        let bytes = std::fs::read(folder.join(name)).expect("a test file");
        reader.add(name, &bytes).expect("a file that is understood");
    }
    reader.finish()
}

fn profile_of(config: &Config, port: &str, group: u8) -> String {
    match &config.groups[&(PortName::new(port), group)].value {
        Assigned::Profile(name) => name.clone(),
        Assigned::Computed => "computed".to_owned(),
    }
}

fn alpha(config: &Config, profile: &str) -> Option<Threshold> {
    config.profiles[profile].threshold.as_ref().map(|threshold| threshold.value)
}

/// Returns the messages of the problems that have the weight `weight`.
fn messages(config: &Config, weight: Weight) -> Vec<String> {
    config.problems.iter().filter(|problem| problem.weight == weight).map(ToString::to_string).collect()
}

#[test]
fn pools_and_thresholds_of_devlink_are_pools_and_alphas() {
    let config = vendor(&["devlink/sb.json"]);
    let pool = &config.pools["pool0"];
    assert_eq!(pool.size.as_ref().map(|size| size.value), Some(12_441_600));
    assert_eq!(pool.side.as_ref().map(|side| side.value), Some(Side::Ingress));
    assert!(!config.pools.contains_key("pool5"), "a pool of size 0 is not in use");
    assert_eq!(config.mmu_size.as_ref().map(|size| size.value), Some(14_024_832));
    assert_eq!(profile_of(&config, "swp1", 0), "pool0_th10");
    assert_eq!(alpha(&config, "pool0_th10"), Some(Threshold::Dynamic(0)));
    assert_eq!(alpha(&config, "pool4_th8"), Some(Threshold::Dynamic(-2)));
    assert_eq!(config.ingress_lists[&PortName::new("swp2")].value, ["pool0_th16"]);
    // SONiC has no exponent for an alpha of 2^10; the recorded note names this alpha.
    assert_eq!(alpha(&config, "pool4_th20"), Some(Threshold::Dynamic(8)));
    assert!(messages(&config, Weight::Note)[0].contains("alpha 2^10 is beyond"), "{:?}", config.problems);
}

#[test]
fn commands_of_devlink_mean_what_its_output_shows() {
    let config = vendor(&["devlink/commands.txt"]);
    assert_eq!(config.pools["pool0"].size.as_ref().map(|size| size.value), Some(12_441_600));
    assert_eq!(config.pools["pool4"].side.as_ref().map(|side| side.value), Some(Side::Egress));
    assert_eq!(profile_of(&config, "swp1", 0), "pool0_th10");
    assert!(config.queues.contains_key(&(PortName::new("swp1"), 3)));
    let notes = messages(&config, Weight::Note);
    assert!(notes.len() == 1 && notes[0].contains("occupancy snapshot"), "{notes:?}");
}

#[test]
fn port_groups_of_cumulus_become_groups_queues_and_cables() {
    let config = vendor(&["cumulus/ports.conf", "cumulus/qos_features.conf", "cumulus/qos_infra.conf"]);
    let port = PortName::new("swp3s1");
    assert_eq!(config.ports[&port].speed_mbps.as_ref().map(|speed| speed.value), Some(50_000));
    assert_eq!(config.cables[&port].value, 10.0);
    assert_eq!(config.pfc_priorities(&port), [3].into());
    let profile = &config.profiles["pfc_roce"];
    let bytes = |value: &Option<bufferlab_sonic::Placed<u64>>| value.as_ref().map(|value| value.value);
    // The buffer has 70,000 B. PFC begins at 18,000 B and ends at 16,000 B.
    assert_eq!(
        (bytes(&profile.size), bytes(&profile.xoff), bytes(&profile.xon)),
        (Some(70_000), Some(52_000), Some(16_000))
    );
    assert_eq!(profile_of(&config, "swp1", 3), "pfc_roce");
    assert_eq!(profile.pool.as_ref().map(|pool| pool.value.as_str()), Some("ingress_lossless_pool"));
    assert_eq!(alpha(&config, "pfc_roce"), Some(Threshold::Dynamic(0)));
    // The pool has half of the memory that devlink reports.
    let both = vendor(&["cumulus/qos_features.conf", "cumulus/qos_infra.conf", "devlink/sb.json"]);
    assert_eq!(bytes(&both.pools["ingress_lossless_pool"].size), Some(7_012_416));
    let queue = &config.queue_settings[&(PortName::new("swp2"), 0)];
    let scheduler = &config.schedulers[&queue.scheduler.as_ref().expect("a scheduler").value];
    // The rates 50,000 and 100,000 kb/s are 6.25 and 12.5 MB/s.
    assert_eq!(scheduler.rates, ["cir 6250000", "pir 12500000"]);
    assert_eq!(scheduler.weight.as_ref().map(|weight| weight.value), Some(50));
    let wred = &config.wred["default_ecn_red_conf"].colours[0];
    assert_eq!(bytes(&wred.max), Some(1_500_000));
    let notes = messages(&config, Weight::Note).join("\n");
    assert!(
        notes.contains("remark.port_group_list") && notes.contains("packets that cannot be marked"),
        "{notes}"
    );
}

#[test]
fn statements_of_junos_become_partitions_pauses_and_schedulers() {
    let config = vendor(&["junos/cos.conf"]);
    let port = PortName::new("et-0/0/1");
    assert_eq!(config.ports[&port].speed_mbps.as_ref().map(|speed| speed.value), Some(400_000));
    assert_eq!((config.pfc_priorities(&port), config.cables[&port].value), ([4].into(), 40.0));
    // A Junos threshold of 10 means alpha = 8, a threshold of 6 means 1/2, and a threshold of 9
    // means 4.
    assert_eq!(alpha(&config, "ingress_lossless_profile"), Some(Threshold::Dynamic(3)));
    assert_eq!(alpha(&config, "egress_lossy_be"), Some(Threshold::Dynamic(-1)));
    assert_eq!(alpha(&config, "egress_lossy_profile"), Some(Threshold::Dynamic(2)));
    assert_eq!(config.schedulers["rdma"].rates, ["pir 6250000000"]);
    let share = config.pools["ingress_lossless_pool"].percentage.as_ref();
    assert_eq!(share.map(|share| share.value), Some(66));
    let refused = messages(&config, Weight::Refused);
    assert!(refused.len() == 1 && refused[0].contains("add up to 99 %"), "{refused:?}");
    assert!(messages(&config, Weight::Note).iter().any(|note| note.contains("drop-profile-map")));
}

#[test]
fn junos_shows_the_bytes_of_its_partitions_and_refuses_thresholds_above_ten() {
    let shown = vendor(&["junos/shared-buffer.txt"]);
    let pool = &shown.pools["ingress_lossless_pool"];
    assert_eq!(pool.size.as_ref().map(|size| size.value), Some(30_000 * 1024));
    assert_eq!(pool.xoff.as_ref().map(|xoff| xoff.value), Some(10_000 * 1024));
    assert_eq!(shown.mmu_size.as_ref().map(|size| size.value), Some(160_000 * 1024));
    assert_eq!(alpha(&shown, "ingress_lossy_profile"), Some(Threshold::Dynamic(3)));
    let set = vendor(&["junos/commands.txt"]);
    assert_eq!(set.pools["ingress_lossy_pool"].percentage.as_ref().map(|share| share.value), Some(90));
    assert!(messages(&set, Weight::Refused)[0].contains("a threshold from 0 to 10"), "{:?}", set.problems);
}

#[test]
fn profiles_of_eos_apply_to_their_interfaces() {
    let config = vendor(&["eos/running.conf"]);
    let port = PortName::new("Ethernet2");
    assert_eq!(config.pfc_priorities(&port), [3].into());
    assert_eq!(config.ports[&port].speed_mbps.as_ref().map(|speed| speed.value), Some(100_000));
    assert_eq!(profile_of(&config, "Ethernet1", 3), "ROCE_ingress_3");
    assert_eq!(alpha(&config, "ROCE_ingress_3"), Some(Threshold::Dynamic(-1)));
    assert_eq!(alpha(&config, "ROCE_queue_0"), Some(Threshold::Dynamic(-2)));
    assert!(matches!(config.group(&port, 3), Resolved::Profile(_)));
    let pool = config.pools["ingress_lossless_pool"].xoff.as_ref();
    assert_eq!(pool.map(|xoff| xoff.value), Some(6_000_000));
    let queue = &config.queue_settings[&(PortName::new("Ethernet1"), 0)];
    let scheduler = &config.schedulers[&queue.scheduler.as_ref().expect("a scheduler").value];
    assert_eq!(scheduler.rates, ["pir 500000000"]);
    let watchdog = &config.watchdogs[&port];
    assert_eq!(watchdog.detection_ms.as_ref().map(|time| time.value), Some(200));
    assert_eq!(config.watchdog_poll_ms.as_ref().map(|time| time.value), Some(100));
    let (notes, refused) = (messages(&config, Weight::Note).join("\n"), messages(&config, Weight::Refused));
    assert!(notes.contains("egress multicast queue 0 threshold") && !notes.contains("neighbor"), "{notes}");
    assert!(refused.len() == 1 && refused[0].contains("MISSING"), "{refused:?}");
}

#[test]
fn explanations_and_rules_work_on_every_vendor() {
    for files in [
        &["devlink/sb.json"][..],
        &["cumulus/ports.conf", "cumulus/qos_features.conf", "cumulus/qos_infra.conf"],
        &["junos/cos.conf", "junos/shared-buffer.txt"],
        &["eos/running.conf"],
    ] {
        let config = vendor(files);
        let chip = silicon::chip_of(&config);
        let options = lint::Options { chip, ..lint::Options::default() };
        let findings = lint::check(&config, &options).expect("no allowances");
        let text = explain::text(&explain::explain(&config, chip));
        let findings = lint::text(&findings, &lint::not_judged(&config, &options));
        println!("{files:?} {chip:?}\n{text}\n{findings}");
        assert!(files[0].starts_with("devlink") || text.contains("PFC"), "{text}");
        // Other vendors have defaults that SONiC's schema does not know.
        assert!(
            !["SB001 ", "SB013 ", "SB024 ", "SB025 "].iter().any(|code| findings.contains(code)),
            "{findings}"
        );
        assert!(findings.contains("has other defaults"), "{findings}");
        let own = match files[0] {
            "cumulus/ports.conf" => "SB003 headroom-too-small: cumulus/qos_features.conf:10",
            "junos/cos.conf" => "the partitions add up to 99 %",
            "eos/running.conf" => "EOS|Ethernet3 service-profile MISSING",
            _ => "0 errors, 0 warnings",
        };
        assert!(findings.contains(own), "{findings}");
        assert!(!findings.contains("SB007"), "a group of EOS has the headroom of its profile: {findings}");
    }
}

#[test]
fn a_hostile_file_of_a_vendor_ends_in_an_error_or_a_few_problems() {
    let deep = format!("class-of-service {{\n{}", "a {\n".repeat(100_000));
    assert!(read("a.conf", deep.as_bytes()).is_ok());
    let wide = "pfc.port_group_list = [a]\npfc.a.port_set = swp1-swp4000000000\npfc.a.cos_list = [3]";
    assert!(read("a.conf", wide.as_bytes()).expect("a range as one name").named_ports().len() <= 1);
    let many: String = (0..5_000).map(|n| format!("pfc.unknown.{n} = 1\n")).collect();
    assert!(read("a.conf", many.as_bytes()).expect("notes").problems.len() <= 1_001);
    let large = format!("pfc.port_group_list = [a]\n{}", "# comment\n".repeat(900_000));
    let large = read("a.conf", large.as_bytes()).expect_err("too large");
    assert!(large.message.contains("8388608 at most"), "{large}");
    // The file names thousands of ports in each of thousands of lines.
    let ports: String = (0..2_000).map(|n| format!("pfc.g{n}.port_set = swp1-swp4000\n")).collect();
    let ports = read("a.conf", format!("pfc.port_group_list = [a]\n{ports}").as_bytes());
    assert!(ports.expect_err("too many ports").message.contains("250000"));
    let truncated = read("a.json", b"{\"pool\": {\"pci/0\": [{\"sb\": 0").expect_err("no JSON");
    assert!(truncated.message.contains("no output of devlink"), "{truncated}");
}
