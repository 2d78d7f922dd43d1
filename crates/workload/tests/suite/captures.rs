//! Tests that the reader accepts captures of other tools, links and machines, and that errors about
//! broken captures have the right place.

use bufferlab_units::Time;
use bufferlab_workload::{AddressBook, Trace, TraceError, TraceOptions, Unmapped, parse_trace};
use std::path::Path;

fn read(content: &[u8]) -> Result<Trace, TraceError> {
    let hosts: Vec<String> = (0..4).map(|host| format!("h{host}")).collect();
    let mut book = AddressBook::new(&hosts, &[], Unmapped::RoundRobin);
    let options = TraceOptions { start: Time::ZERO, stretch: 1.0, largest: 9_000, queues: None };
    parse_trace(Path::new("trace"), content, &mut book, &options)
}

/// Returns the start time (ps) and the size (bytes) of every packet.
fn packets(trace: &Trace) -> Vec<(u64, u64)> {
    trace.packets.iter().map(|packet| (packet.start.0, packet.size)).collect()
}

/// Builds an IPv4 header from 10.0.0.1 to 10.0.0.2.
fn ip() -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0];
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes
}

fn ethernet() -> Vec<u8> {
    [&[0; 12][..], &[0x08, 0x00], &ip()].concat()
}

/// Writer of pcapng blocks in one byte order.
struct Blocks {
    big: bool,
    bytes: Vec<u8>,
}

impl Blocks {
    fn new(big: bool) -> Self {
        let mut blocks = Self { big, bytes: Vec::new() };
        blocks.section();
        blocks
    }

    fn half(&self, value: u16) -> [u8; 2] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn word(&self, value: u32) -> [u8; 4] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let length = self.word(padded as u32 + 12);
        let kind = self.word(kind);
        self.bytes.extend(kind);
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(length);
    }

    fn section(&mut self) {
        let body = [&self.word(0x1a2b_3c4d)[..], &self.half(1), &self.half(0), &[0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body);
    }

    /// Writes an interface with options (kind, value), followed by `opt_endofopt` only if `ends`.
    fn interface(&mut self, link: u16, options: &[(u16, &[u8])], ends: bool) {
        let mut body = [&self.half(link)[..], &[0; 2], &self.word(65_535)].concat();
        for (kind, value) in options {
            body.extend(self.half(*kind));
            body.extend(self.half(value.len() as u16));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        if ends {
            body.extend([0; 4]);
        }
        self.block(1, &body);
    }

    fn packet(&mut self, interface: u32, units: u64, length: u32, data: &[u8]) {
        let mut body = Vec::new();
        for value in [interface, (units >> 32) as u32, units as u32, data.len() as u32, length] {
            body.extend(self.word(value));
        }
        body.extend(data);
        self.block(6, &body);
    }
}

#[test]
fn options_need_no_end() {
    for big in [false, true] {
        for ends in [false, true] {
            let mut blocks = Blocks::new(big);
            blocks.interface(1, &[(2, b"eth0"), (9, &[9])], ends);
            blocks.packet(0, 5_000, 100, &ethernet());
            blocks.packet(0, 5_007, 200, &ethernet());
            let trace = read(&blocks.bytes).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(packets(&trace), [(0, 100), (7_000, 200)], "big {big}, end {ends}");
        }
    }
}

#[test]
fn every_interface_has_its_own_link_resolution_and_offset() {
    let mut blocks = Blocks::new(false);
    blocks.interface(1, &[(9, &[9])], false);
    // The time unit of this interface is 2^-10 s, and its offset adds a second. The time of its
    // packet adds half a second.
    blocks.interface(101, &[(9, &[0x8a]), (14, &1_i64.to_le_bytes())], true);
    blocks.interface(113, &[], false);
    // This interface has no packets, so its link type does not matter.
    blocks.interface(127, &[], false);
    let cooked = [&[0, 0, 0, 1, 0, 6][..], &[2; 8], &[0x08, 0x00], &ip()].concat();
    blocks.packet(0, 10_000_000_000, 100, &ethernet());
    blocks.packet(1, 10 * 1_024 + 512, 86, &ip());
    blocks.packet(2, 10_250_000, 102, &cooked);
    // The reader skips names, a vendor's block and statistics.
    blocks.block(4, &[0; 8]);
    blocks.block(0x0bad, &[1; 5]);
    blocks.block(5, &[0; 12]);
    let trace = read(&blocks.bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(packets(&trace), [(0, 100), (250_000_000_000, 100), (1_500_000_000_000, 86)]);
    // An offset before 1970 moves all times of its interface.
    let mut early = Blocks::new(true);
    early.interface(1, &[(14, &(-20_i64).to_be_bytes())], false);
    early.interface(1, &[], false);
    early.packet(0, 15_000_000, 100, &ethernet());
    early.packet(1, 1_000_000, 101, &ethernet());
    assert_eq!(packets(&read(&early.bytes).expect("readable")), [(0, 100), (6_000_000_000_000, 101)]);
}

#[test]
fn a_new_section_has_its_own_byte_order_and_interfaces() {
    let mut first = Blocks::new(false);
    first.interface(1, &[], false);
    first.packet(0, 1_000_000, 100, &ethernet());
    let mut second = Blocks::new(true);
    second.interface(101, &[], false);
    second.packet(0, 1_000_003, 86, &ip());
    let both = [first.bytes.clone(), second.bytes].concat();
    assert_eq!(packets(&read(&both).expect("readable")), [(0, 100), (3_000_000, 86)]);
    let mut without = Blocks::new(true);
    without.packet(0, 1_000_003, 86, &ip());
    let error = read(&[first.bytes, without.bytes].concat()).expect_err("not described").to_string();
    assert!(error.contains("packet 2: it is of interface 0, which is not described"), "{error}");
}

/// Builds a capture of three packets in the classic pcap format.
fn classic(link: u32) -> Vec<u8> {
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]);
    file.extend(link.to_le_bytes());
    for number in 0..3_u32 {
        for value in [number, 0, 34, 100 + number] {
            file.extend(value.to_le_bytes());
        }
        file.extend(ethernet());
    }
    file
}

fn blocks_of_three() -> Vec<u8> {
    let mut blocks = Blocks::new(true);
    blocks.interface(1, &[(9, &[6])], false);
    (0..3).for_each(|number| blocks.packet(0, 1_000_000 * u64::from(number), 100 + number, &ethernet()));
    blocks.bytes
}

#[test]
fn a_file_that_ends_anywhere_gives_its_whole_packets_and_counts_the_rest() {
    for (name, whole, header, record) in [("pcap", classic(1), 24, 50), ("pcapng", blocks_of_three(), 56, 68)]
    {
        assert_eq!(whole.len(), header + 3 * record, "{name}");
        for length in 4..whole.len() {
            let (found, at) = (read(&whole[..length]), format!("{name} of {length} bytes"));
            if length < header + record {
                let error = found.expect_err(&at).to_string();
                assert!(
                    error.contains("no packets") || error.contains("ends within its header"),
                    "{at}: {error}"
                );
                continue;
            }
            let trace = found.unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!(trace.packets.len(), (length - header) / record, "{at}");
            assert_eq!(trace.cut_off as usize, (length - header) % record, "{at}");
        }
    }
}

#[test]
fn damage_is_refused_at_its_packet() {
    let with = |at: usize, value: u32, mut file: Vec<u8>| {
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        read(&file).expect_err("damaged").to_string()
    };
    // The second record of the classic file begins at byte 74. The fields of the record are the
    // seconds, the fraction, the captured length and the length.
    let fraction = with(78, 1_000_000, classic(1));
    assert!(fraction.contains("packet 2: its time has a fraction of 1000000 of 1000000"), "{fraction}");
    let captured = with(82, 0x7fff_ffff, classic(1));
    assert!(captured.contains("packet 2: 2147483647 B of it were captured, expected at most"), "{captured}");
    let length = with(86, 7, classic(1));
    assert!(length.contains("packet 2: it claims a length of 7 B, of which 34 B"), "{length}");
    // The second packet's block begins at byte 124. The fields of the block are kind, length,
    // interface, time, captured length, packet length, data and length.
    let big = |at: usize, value: u32| with(at, value.swap_bytes(), blocks_of_three());
    for (error, wanted) in [
        (big(128, 67), "packet 2: a block of 67 B, expected a multiple of 4"),
        (big(128, 8), "packet 2: a block of 8 B, expected a multiple of 4"),
        (big(128, 0xffff_fffc), "packet 2: a block of 4294967292 B"),
        (big(132, 9), "packet 2: it is of interface 9"),
        (big(144, 60), "packet 2: its block has no room for 60 B"),
        (big(188, 64), "packet 2: a block has 68 B by its beginning and 64 B by its end"),
        (big(44, 0x0009_0063), "packet 1: an option of its interface claims"),
    ] {
        assert!(error.contains(wanted), "{error}\n{wanted}");
    }
    let mut simple = Blocks::new(false);
    simple.interface(1, &[], false);
    simple.block(3, &[&100_u32.to_le_bytes()[..], &ethernet()].concat());
    let error = read(&simple.bytes).expect_err("no time").to_string();
    assert!(error.contains("packet 1: it has no time"), "{error}");
}

#[test]
fn what_is_no_cable_or_no_pcap_is_refused_with_a_way_out() {
    for (link, wanted) in [
        (127, "wireless network"),
        (105, "wireless network"),
        (9, "convert the file"),
        (189, "link type 189"),
    ] {
        let error = read(&classic(link)).expect_err("refused").to_string();
        assert!(error.contains(wanted), "{error}");
    }
    for (file, wanted) in
        [(&b"\x34\xcd\xb2\xa1 and more"[..], "Kuznetzov"), (b"snoop\0\0\0\0\0\0\x02", "snoop")]
    {
        let error = read(file).expect_err("refused").to_string();
        assert!(error.contains(wanted) && error.contains("editcap"), "{error}");
    }
    assert!(read(&classic(1)[..24]).expect_err("empty").to_string().contains("no packets"));
    let none = read(&classic(108)).expect_err("no address").to_string();
    assert!(none.contains("none of its 3 frames has an IP address"), "{none}");
    // The upper half of the word contains the length of the frame check sequence.
    assert_eq!(read(&classic(0x2400_0001)).expect("readable").packets.len(), 3);
}

/// Generator of bytes with a known state, so that a failure can be repeated.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn flipped_bytes_give_packets_or_an_error_and_nothing_else() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for whole in [classic(1), classic(113), blocks_of_three()] {
        for _ in 0..3_000 {
            let mut file = whole.clone();
            for _ in 0..1 + next(&mut state) % 3 {
                let at = next(&mut state) as usize % file.len();
                file[at] = next(&mut state) as u8;
            }
            if let Ok(trace) = read(&file) {
                assert!(trace.packets.len() <= 3);
            }
        }
    }
}
