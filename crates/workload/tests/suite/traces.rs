//! Tests that the reader finds all packets in traces of every format, and that errors about broken
//! traces have the right place.

use bufferlab_units::Time;
use bufferlab_workload::{AddressBook, AddressRule, Trace, TraceError, TraceOptions, Unmapped, parse_trace};
use std::io::Write;
use std::path::Path;

const OPTIONS: TraceOptions = TraceOptions { start: Time::ZERO, stretch: 1.0, largest: 1_500, queues: None };

fn hosts(count: usize) -> Vec<String> {
    (0..count).map(|host| format!("h{host}")).collect()
}

fn read_with(content: &[u8], options: &TraceOptions, unmapped: Unmapped) -> Result<Trace, TraceError> {
    let hosts = hosts(4);
    let rules = [AddressRule::new("10.0.0.0/8", 3).expect("a range")];
    parse_trace(Path::new("trace"), content, &mut AddressBook::new(&hosts, &rules, unmapped), options)
}

fn read(content: &[u8]) -> Result<Trace, TraceError> {
    read_with(content, &OPTIONS, Unmapped::RoundRobin)
}

/// Returns time (ps), hosts and size of every packet.
fn packets(trace: &Trace) -> Vec<(u64, u32, u32, u64)> {
    trace.packets.iter().map(|packet| (packet.start.0, packet.src, packet.dst, packet.size)).collect()
}

const LIST: &str = "time_ns,src,dst,size_bytes,priority\n1000.5,h0,h1,64,1\n2000,2,10.1.2.3,1500,\n2000,h0,192.0.2.9,100,0\n";

#[test]
fn a_csv_trace_is_its_packets_relative_to_the_first() {
    let trace = read(LIST.as_bytes()).expect("readable");
    // 192.0.2.9 is the first unknown address and maps to h0. So the packet goes from h0 to
    // itself and is omitted.
    assert_eq!(packets(&trace), [(0, 0, 1, 64), (999_500, 2, 3, 1_500)]);
    assert_eq!((trace.stayed, trace.priorities), (1, vec![None]));
}

#[test]
fn times_are_shifted_and_stretched() {
    let options = TraceOptions { start: Time::from_us(5), stretch: 2.5, ..OPTIONS };
    let trace = read_with(LIST.as_bytes(), &options, Unmapped::RoundRobin).expect("readable");
    assert_eq!(packets(&trace)[1].0, 5_000_000 + 2_498_750);
}

#[test]
fn priorities_are_classes_if_they_are_wanted() {
    let options = TraceOptions { queues: Some(2), ..OPTIONS };
    let trace = read_with(LIST.as_bytes(), &options, Unmapped::RoundRobin).expect("readable");
    assert_eq!(trace.priorities, [Some(1), None]);
    assert_eq!(trace.packets.iter().map(|packet| packet.class).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn every_unit_of_time_means_the_same() {
    let with = |column: &str, first: &str, second: &str| {
        let text = format!("{column},src,dst,size_bytes\n{second},0,1,70\n{first},1,2,60\n");
        packets(&read(text.as_bytes()).expect("readable"))
    };
    let wanted = [(0, 1, 2, 60), (12_000, 0, 1, 70)];
    assert_eq!(with("time_ps", "5", "12005"), wanted);
    assert_eq!(with("time_ns", "0.5", "12.5"), wanted);
    assert_eq!(with("time_us", "7", "7.012"), wanted);
    // The time of the packet is a date, which would not fit into 64 bits in picoseconds.
    assert_eq!(with("time_s", "1732233600.000000001", "1732233600.000000013"), wanted);
}

/// Builds an Ethernet frame with IPv4, cut after its headers, and returns its length on the wire.
fn frame(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend([0x08, 0x00, 0x45, 0x60, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    bytes.extend(source);
    bytes.extend(destination);
    bytes
}

/// Builds a capture of frames given as (seconds, fraction, length on the wire, bytes).
fn capture(big: bool, nanoseconds: bool, link_type: u32, frames: &[(u32, u32, u32, Vec<u8>)]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut file = word(if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).to_vec();
    file.extend([half(2), half(4)].concat());
    for value in [0, 0, 65_535, link_type] {
        file.extend(word(value));
    }
    for (seconds, fraction, length, bytes) in frames {
        for value in [*seconds, *fraction, bytes.len() as u32, *length] {
            file.extend(word(value));
        }
        file.extend(bytes);
    }
    file
}

fn three_frames(fraction: u32) -> Vec<(u32, u32, u32, Vec<u8>)> {
    let arp = [vec![0; 12], vec![0x08, 0x06], vec![0; 28]].concat();
    vec![
        (1_732_233_600, 0, 60, arp),
        (1_732_233_600, 7 * fraction, 1_400, frame([192, 0, 2, 1], [10, 0, 0, 1])),
        (1_732_233_601, 0, 90, frame([10, 0, 0, 1], [192, 0, 2, 2])),
    ]
}

#[test]
fn captures_of_either_byte_order_and_resolution_hold_the_same_packets() {
    let mut found = Vec::new();
    for big in [false, true] {
        for nanoseconds in [false, true] {
            let fraction = if nanoseconds { 1_000 } else { 1 };
            let trace = read(&capture(big, nanoseconds, 1, &three_frames(fraction))).expect("readable");
            assert_eq!(trace.without_address, 1);
            found.push(packets(&trace));
        }
    }
    // Unknown addresses map to hosts in turn: 192.0.2.1 to h0, 192.0.2.2 to h1. A
    // rule maps 10/8 to h3.
    assert_eq!(found[0], [(0, 0, 3, 1_400), (1_000_000_000_000 - 7_000_000, 3, 1, 90)]);
    assert!(found.iter().all(|packets| *packets == found[0]));
}

#[test]
fn nanoseconds_count_and_the_class_selector_is_the_priority() {
    let frames: Vec<_> =
        (0..2).map(|number| (1, 100 + number, 64, frame([192, 0, 2, 1], [10, 0, 0, 1]))).collect();
    let options = TraceOptions { queues: Some(8), ..OPTIONS };
    let trace =
        read_with(&capture(false, true, 1, &frames), &options, Unmapped::RoundRobin).expect("readable");
    assert_eq!((trace.packets[1].start, trace.priorities), (Time::from_ns(1), vec![Some(3)]));
}

#[test]
fn raw_ip_and_gzipped_captures_are_read_too() {
    let packet = frame([192, 0, 2, 1], [10, 0, 0, 1])[14..].to_vec();
    let plain = capture(false, false, 101, &[(1, 2, 500, packet)]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("memory");
    let (plain, zipped) = (read(&plain), read(&gzip.finish().expect("memory")));
    assert_eq!(packets(&plain.expect("readable")), packets(&zipped.expect("readable")));
}

#[test]
fn what_cannot_be_replayed_is_refused_with_its_place_and_a_way_out() {
    let csv = |text: &str| read(text.as_bytes()).expect_err(text).to_string();
    let head = "time_ns,src,dst,size_bytes,priority\n";
    for (text, wanted) in [
        (String::new(), "no packets; expected"),
        (head.to_owned(), "no packets; expected"),
        ("time,src,dst,size_bytes\n".to_owned(), "line 1: no column `time_ps`, `time_ns`"),
        (format!("{head}# a comment\n\n1,h0,h1,64\n"), "line 4: 4 fields, expected 5"),
        (format!("{head}1,h0,h1,64,0\n# why\nx,h0,h1,64,0"), "line 4: column `time_ns`: `x` is not a number"),
        (format!("{head}1,h0,h1,64,0\n2,h0,h1,0,0\n"), "line 3: a packet of 0 bytes"),
        (format!("{head}2,h0,h1,1501,0\n"), "line 2: 1501 bytes are more than 1500"),
        (format!("{head}2,h0,h1,64,300\n"), "line 2: column `priority`: `300` is too large"),
        (format!("{head}2,h0,0,64,0\n"), "none of its 1 packets goes from one host to another"),
    ] {
        let found = csv(&text);
        assert!(found.contains(wanted), "{found}\n{text}");
    }
    let options = TraceOptions { queues: Some(2), ..OPTIONS };
    let error = read_with(format!("{head}2,h0,h1,64,2\n").as_bytes(), &options, Unmapped::RoundRobin);
    assert!(
        error
            .expect_err("two queues")
            .to_string()
            .contains("line 2: priority 2 is beyond queues_per_port = 2")
    );
    let error = read_with(LIST.as_bytes(), &OPTIONS, Unmapped::Refuse).expect_err("unmapped").to_string();
    assert!(error.contains("line 4: `192.0.2.9` is no host and has none in `addresses`"), "{error}");
}

#[test]
fn a_broken_capture_is_refused_at_its_packet() {
    let whole = capture(false, false, 1, &three_frames(1));
    let refused = |content: &[u8]| read(content).expect_err("broken").to_string();
    assert!(refused(&whole[..20]).contains("packet 0: "), "{}", refused(&whole[..20]));
    assert!(refused(&capture(true, false, 105, &three_frames(1))).contains("link type 105"));
    assert!(refused(&[0x0a, 0x0d, 0x0d, 0x0a, 0, 0, 0, 28]).contains("packet 0: "));
    let long = vec![(1, 0, 9_000, frame([192, 0, 2, 1], [10, 0, 0, 1]))];
    assert!(refused(&capture(false, false, 1, &long)).contains("packet 1: 9000 bytes are more than 1500"));
}

/// Packets below `testdata/traces`: time (ns), last byte of the destination and length on the wire,
/// as listed by `tcpdump -r FILE -tt -e -n`. The packets are datagrams from 127.0.0.1 to 127.0.0.2
/// and 127.0.0.3, captured on a loopback interface.
const CAPTURED: [(u64, u8, u64); 12] = [
    (1_795_379_204_560_658_360, 2, 82),
    (1_795_379_204_562_212_371, 2, 1_242),
    (1_795_379_204_562_755_816, 3, 1_442),
    (1_795_379_204_563_292_427, 2, 106),
    (1_795_379_204_563_799_969, 3, 842),
    (1_795_379_204_564_295_671, 2, 1_442),
    (1_795_379_204_564_791_320, 2, 1_442),
    (1_795_379_204_565_288_554, 3, 52),
    (1_795_379_204_565_780_640, 2, 542),
    (1_795_379_204_566_271_724, 3, 1_442),
    (1_795_379_204_568_086_635, 2, 43),
    (1_795_379_204_568_593_541, 2, 1_442),
];

/// Returns the packets of a capture; the address 127.0.0.k is host k.
fn captured(file: &str) -> Vec<(u64, u32, u32, u64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces").join(file);
    let content = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rules = [1, 2, 3].map(|host| AddressRule::new(&format!("127.0.0.{host}/32"), host).expect("a range"));
    let hosts = hosts(4);
    let trace =
        parse_trace(&path, &content, &mut AddressBook::new(&hosts, &rules, Unmapped::Refuse), &OPTIONS);
    packets(&trace.unwrap_or_else(|error| panic!("{error}")))
}

/// Returns the expected result of `captured` for times in steps of `step_ns`.
fn listed(step_ns: u64) -> Vec<(u64, u32, u32, u64)> {
    let at = |time: u64| time / step_ns * step_ns;
    let first = at(CAPTURED[0].0);
    CAPTURED.iter().map(|&(time, to, size)| (1_000 * (at(time) - first), 1, u32::from(to), size)).collect()
}

#[test]
fn captures_that_tcpdump_and_wireshark_wrote_are_read_with_the_lengths_on_the_wire() {
    // The captures have frames cut to 96 and 80 bytes, as with `tcpdump -s`.
    assert_eq!(captured("tcpdump-snap96.pcap"), listed(1_000));
    assert_eq!(captured("tcpdump-nano-snap80.pcap"), listed(1));
    assert_eq!(captured("editcap.pcapng"), listed(1));
}

#[test]
fn interfaces_of_one_file_count_time_each_in_its_own_unit() {
    // The merged file has every packet once. Packets from one input have time stamps in
    // microseconds, packets from the other input have time stamps in nanoseconds.
    let found = captured("mergecap.pcapng");
    let first = 1_795_379_204_560_658_000;
    let mut wanted: Vec<_> = [1_000, 1]
        .iter()
        .flat_map(|step| {
            CAPTURED.map(|(time, to, size)| (1_000 * (time / step * step - first), 1, u32::from(to), size))
        })
        .collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

#[test]
fn a_trace_of_too_many_addresses_is_refused_at_its_line() {
    let mut text = String::from("time_ns,src,dst,size_bytes\n");
    (0..=1 << 19).for_each(|number| text += &format!("{number},a{number},b{number},64\n"));
    let error = read(text.as_bytes()).expect_err("too many").to_string();
    let wanted = "line 524290: 1048578 are too many addresses of a trace, expected at most 1048576";
    assert!(error.contains(wanted), "{error}");
}

/// A small gzipped file must not fill the memory: 100 MB of zeros compress to 100 KB, and take a
/// few megabytes of memory.
#[test]
fn a_bomb_of_zeros_is_refused_at_its_first_line() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..100).for_each(|_| gzip.write_all(&vec![0; 1_000_000]).expect("memory"));
    let error = read(&gzip.finish().expect("memory")).expect_err("a bomb").to_string();
    assert!(error.contains("line 1: longer than 65536 bytes"), "{error}");
}
