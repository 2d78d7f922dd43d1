//! Tests records that end early: the comparison must not depend on the missing packets.

use bufferlab_dataplane::{Pipeline, RecordWriter, SwitchFile, load_text, read_record};
use bufferlab_testbed::parity::{verify, verify_until};
use bufferlab_units::{RandomStream, Time};
use std::path::Path;

/// Returns a switch with three ports of 100 Mb/s, one host at each port, and two priorities.
fn switch(rest: &str) -> SwitchFile {
    let port = |h: usize| {
        format!(
            "[[port]]\ninterface = \"p{h}\"\nrate = \"100 Mb/s\"\naddresses = [\"02:00:00:00:00:{h:02x}\"]\n"
        )
    };
    let ports: String = (0..3).map(port).collect();
    let text = format!(
        "{ports}[switch]\nbuffer = \"40 KB\"\nqueues_per_port = 2\nscheduler = \"strict_priority\"\n{rest}\n\
         [forwarding]\ndelay = \"1 ms\"\npriorities = [{{ code_point = 46, priority = 1 }}]\n"
    );
    load_text(Path::new("switch.toml"), &text).unwrap_or_else(|error| panic!("{}", error.in_lines()))
}

/// Returns an IPv4 frame to the host at port 2.
fn frame(from: u8, class: u8, bytes: usize) -> Vec<u8> {
    let mut frame = vec![0; bytes];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
    frame[12..16].copy_from_slice(&[8, 0, 0x45, class]);
    frame[16..18].copy_from_slice(&((bytes - 14) as u16).to_be_bytes());
    frame[26..34].copy_from_slice(&[10, 0, 0, from, 10, 0, 0, 2]);
    frame
}

/// Overloads port 2 until the switch is killed. Writes the switch's record into `folder`, with a
/// row in the progress file every 5 ms.
fn killed(file: &SwitchFile, folder: &Path) {
    let record = RecordWriter::create(folder, file.names(), &file.text).expect("writable");
    let mut pipeline = Pipeline::new(file, Some(record)).expect("the policy fits");
    let (mut random, mut at, mut mark) = (RandomStream::new(1, "frames", 0), Time::from_ms(1), Time::ZERO);
    for _ in 0..3_000 {
        at += Time::from_ns(1 + random.below(150_000));
        let from = random.below(2) as u8;
        let class = [0, 2, 46 << 2, 46 << 2 | 2][random.below(4) as usize];
        let bytes = if random.below(3) == 0 { 64 } else { 1_514 };
        pipeline.receive(from.into(), at, &frame(from, class, bytes)).expect("it is well-formed");
        pipeline.advance(at);
        while let Some(due) = pipeline.next_due(2, at) {
            pipeline.handed_over(2, due, true);
        }
        if at >= mark {
            pipeline.mark_record();
            mark = at + Time::from_ms(5);
        }
    }
}

#[test]
fn what_is_compared_of_a_record_that_is_cut_anywhere_never_differs() {
    let step = "ecn = { kind = \"step\", threshold = \"10 KB\" }";
    for rest in [
        format!("policy = \"dt\"\n{step}"),
        "policy = { name = \"losspass\", port_limit = \"static\" }".to_owned(),
        "policy = \"lqd\"".to_owned(),
        "policy = \"tdt\"".to_owned(),
    ] {
        let file = switch(&rest);
        let folder = tempfile::tempdir().expect("a folder");
        killed(&file, folder.path());
        let path = folder.path().join("packets.csv");
        let whole = std::fs::read(&path).expect("a record");
        let (mut compared, mut largest, mut naive) = (0, 0, 0);
        for part in (1..=24).rev() {
            let length = whole.len() * part / 24;
            std::fs::write(&path, &whole[..length]).expect("writable");
            let record = read_record(folder.path(), &file.names()).expect("its lines are whole");
            let missing = record.missing.expect("it has no end");
            if !record.rows.iter().any(|row| row.decided() < missing.settled) {
                continue;
            }
            let found = verify_until(&file, &record.rows, missing.settled).expect("it can be compared");
            assert_eq!(found.differences, 0, "{rest}, cut at {length}: {:#?}", found.first);
            assert!(found.compared <= found.packets);
            naive += verify(&file, &record.rows).expect("it can be compared").differences;
            compared += found.compared;
            largest = largest.max(found.compared);
        }
        assert!(naive > 0, "{rest}: no packet that is missing mattered");
        // Most packets of each record must be compared. Otherwise the test would never compare
        // packets near the end of the record, and would have no effect.
        assert!(largest > 2_000 && compared > 20_000, "{rest}: {largest}, {compared}");
    }
}
