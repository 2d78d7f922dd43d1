//! Reader of capture records: classic pcap and pcapng, in either byte order.
//!
//! This small reader replaces a library. The library pcap-file 2.0 demands `opt_endofopt`, which
//! the format makes optional, and returns no packet of a file whose end is missing.

use std::io::{self, Read};

/// Largest size of a captured packet (bytes): four times the largest snap length of `tcpdump`.
pub(super) const PACKET_BYTES_MAX: u32 = 1 << 20;
/// Largest size of a pcapng block without a packet (bytes): names, keys, statistics.
pub(super) const BLOCK_BYTES_MAX: u32 = 64 << 20;

const SECOND: i128 = 1_000_000_000_000;

/// First bytes of a classic capture: magic number, whether big-endian, whether in nanoseconds.
const MAGIC: [([u8; 4], bool, bool); 4] = [
    ([0xa1, 0xb2, 0xc3, 0xd4], true, false),
    ([0xd4, 0xc3, 0xb2, 0xa1], false, false),
    ([0xa1, 0xb2, 0x3c, 0x4d], true, true),
    ([0x4d, 0x3c, 0xb2, 0xa1], false, true),
];
const MAGIC_NG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// First bytes of unsupported capture formats, with the names of these formats.
const OTHERS: [(&[u8], &str); 3] = [
    (b"\xa1\xb2\xcd\x34", "a pcap variant with longer packet headers (Kuznetzov)"),
    (b"\x34\xcd\xb2\xa1", "a pcap variant with longer packet headers (Kuznetzov)"),
    (b"snoop\0\0\0", "a capture of snoop"),
];

/// Whether a file that begins with `start` is a capture.
pub(crate) fn is_capture(start: &[u8]) -> bool {
    start.starts_with(&MAGIC_NG)
        || MAGIC.iter().any(|(magic, ..)| start.starts_with(magic))
        || OTHERS.iter().any(|(magic, _)| start.starts_with(magic))
}

/// A packet record of a capture file.
#[derive(Debug)]
pub(super) struct Record {
    /// Time of the packet since 1970 (ps). An offset of the interface can make the time negative.
    pub(super) at_ps: i128,
    /// Link type of the interface that captured the packet.
    pub(super) link: u32,
    /// Length of the packet on the wire, according to the record's header (bytes).
    pub(super) length: u32,
    /// Captured bytes of the packet.
    pub(super) data: Vec<u8>,
}

/// Reason why the records of a capture end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The capture file ends after a complete record.
    End,
    /// The file ends within a record; the value is the number of bytes read of that record.
    CutOff(u64),
    /// A record of the capture is invalid.
    Damaged(String),
    /// The file system reported an error while the capture was read.
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reader of the packet records in a capture.
pub(super) struct Records<R> {
    source: R,
    is_big: bool,
    format: Format,
    /// Number of bytes that the reader has read of the current record.
    of_record: u64,
}

enum Format {
    Classic {
        link: u32,
        nanoseconds: bool,
    },
    /// Interfaces of the current section; a pcapng file may have several sections.
    Blocks(Vec<Interface>),
}

impl<R: Read> Records<R> {
    /// Reads the header of a file that begins with a known magic number.
    pub(super) fn new(source: R) -> Result<Self, Stop> {
        let mut records = Self { source, is_big: false, format: Format::Blocks(Vec::new()), of_record: 0 };
        let mut magic = [0; 4];
        records.fill(&mut magic)?;
        if magic == MAGIC_NG {
            records.section()?;
            return Ok(records);
        }
        let known = MAGIC.iter().find(|(bytes, ..)| *bytes == magic);
        let Some(&(_, is_big, nanoseconds)) = known else {
            let other = OTHERS.iter().find(|(bytes, _)| bytes.starts_with(&magic));
            let name = other.map_or("no capture", |(_, name)| name);
            return Err(Stop::Damaged(format!("the file is {name}; convert it with `editcap -F pcapng`")));
        };
        records.is_big = is_big;
        let mut header = [0; 20];
        records.fill(&mut header)?;
        // The upper half of the word contains the length of the frame check sequence.
        let link = records.word(&header[16..]) & 0xffff;
        records.format = Format::Classic { link, nanoseconds };
        Ok(records)
    }

    /// Reads the next packet record of the capture.
    pub(super) fn next(&mut self) -> Result<Record, Stop> {
        match self.format {
            Format::Classic { link, nanoseconds } => self.classic(link, nanoseconds),
            Format::Blocks(_) => self.packet_block(),
        }
    }

    fn classic(&mut self, link: u32, nanoseconds: bool) -> Result<Record, Stop> {
        self.of_record = 0;
        let mut header = [0; 16];
        self.fill(&mut header)?;
        let [seconds, fraction, captured, length] = [0, 4, 8, 12].map(|at| self.word(&header[at..]));
        let (unit, most) = if nanoseconds { (1_000, 1_000_000_000) } else { (1_000_000, 1_000_000) };
        if fraction >= most {
            return Err(Stop::Damaged(format!("its time has a fraction of {fraction} of {most}")));
        }
        let at_ps = i128::from(seconds) * SECOND + i128::from(fraction) * unit;
        let data = self.data(captured, length)?;
        Ok(Record { at_ps, link, length, data })
    }

    /// Reads the bytes of a packet. The packet must be at least as long as its captured part;
    /// otherwise its flow would be too small.
    fn data(&mut self, captured: u32, length: u32) -> Result<Vec<u8>, Stop> {
        check_lengths(captured, length)?;
        let mut data = vec![0; captured as usize];
        self.fill(&mut data)?;
        Ok(data)
    }

    /// Reads pcapng blocks up to the next block with a packet, and returns the packet's record.
    fn packet_block(&mut self) -> Result<Record, Stop> {
        loop {
            self.of_record = 0;
            let mut kind = [0; 4];
            self.fill(&mut kind)?;
            if kind == MAGIC_NG {
                self.section()?;
                continue;
            }
            let kind = self.word(&kind);
            let body = self.body(kind)?;
            match kind {
                1 => {
                    let interface = Interface::new(&body, self.is_big).map_err(Stop::Damaged)?;
                    self.interfaces().push(interface);
                }
                2 => {
                    let number = self.half(head::<20>(&body)?);
                    return self.packet(number.into(), &body);
                }
                3 => return Err(Stop::Damaged("it has no time (a Simple Packet Block)".to_owned())),
                6 => {
                    let number = self.word(head::<20>(&body)?);
                    return self.packet(number, &body);
                }
                // The reader skips blocks with names, statistics and comments.
                _ => {}
            }
        }
    }

    /// Extracts a packet from a pcapng block. The block has the interface number, the time, two
    /// lengths and the bytes of the packet.
    fn packet(&mut self, number: u32, body: &[u8]) -> Result<Record, Stop> {
        let [high, low, captured, length] = [4, 8, 12, 16].map(|at| self.word(&body[at..]));
        check_lengths(captured, length)?;
        let data = body[20..].get(..captured as usize);
        let data = data.ok_or_else(|| Stop::Damaged(format!("its block has no room for {captured} B")))?;
        let Some(interface) = self.interfaces().get(number as usize) else {
            return Err(Stop::Damaged(format!("it is of interface {number}, which is not described")));
        };
        let at_ps = interface.picoseconds(u64::from(high) << 32 | u64::from(low));
        Ok(Record { at_ps, link: interface.link, length, data: data.to_vec() })
    }

    fn interfaces(&mut self) -> &mut Vec<Interface> {
        match &mut self.format {
            Format::Blocks(interfaces) => interfaces,
            Format::Classic { .. } => unreachable!("only files of blocks have interfaces"),
        }
    }

    /// Reads the rest of a section header after its first four bytes. The byte order and interfaces
    /// of a section are valid up to the next section.
    fn section(&mut self) -> Result<(), Stop> {
        let mut start = [0; 8];
        self.fill(&mut start)?;
        self.is_big = match start[4..] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => return Err(Stop::Damaged("a section without a byte order".to_owned())),
        };
        let length = self.word(&start);
        let rest = self.checked_length(length, 28)? - 12;
        self.finish_block(length, rest as usize)?;
        self.format = Format::Blocks(Vec::new());
        Ok(())
    }

    /// Reads the content of a block, which is between the block's two length fields.
    fn body(&mut self, kind: u32) -> Result<Vec<u8>, Stop> {
        let mut length = [0; 4];
        self.fill(&mut length)?;
        let length = self.word(&length);
        let rest = self.checked_length(length, 12)? - 8;
        let most = if matches!(kind, 2 | 6) { PACKET_BYTES_MAX + (1 << 16) } else { BLOCK_BYTES_MAX };
        if rest > most {
            return Err(Stop::Damaged(format!("a block of {length} B, expected at most {most}")));
        }
        self.finish_block(length, rest as usize)
    }

    fn checked_length(&self, length: u32, least: u32) -> Result<u32, Stop> {
        if length < least || !length.is_multiple_of(4) || length > BLOCK_BYTES_MAX {
            return Err(Stop::Damaged(format!(
                "a block of {length} B, expected a multiple of 4 from {least} to {BLOCK_BYTES_MAX}"
            )));
        }
        Ok(length)
    }

    /// Reads the last `rest` bytes of a block and returns these bytes without the final length
    /// field. This field must equal `length`.
    fn finish_block(&mut self, length: u32, rest: usize) -> Result<Vec<u8>, Stop> {
        let mut body = vec![0; rest];
        self.fill(&mut body)?;
        let end = body.split_off(rest - 4);
        match self.word(&end) {
            same if same == length => Ok(body),
            other => Err(Stop::Damaged(format!(
                "a block has {length} B by its beginning and {other} B by its end"
            ))),
        }
    }

    /// Fills `buffer` with bytes of the capture, or returns the reason why the file ends earlier.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Stop> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) if self.of_record == 0 && filled == 0 => return Err(Stop::End),
                Ok(0) => return Err(Stop::CutOff(self.of_record + filled as u64)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.of_record += filled as u64;
        Ok(())
    }

    fn word(&self, bytes: &[u8]) -> u32 {
        word(bytes, self.is_big)
    }

    fn half(&self, bytes: &[u8]) -> u16 {
        half(bytes, self.is_big)
    }
}

fn check_lengths(captured: u32, length: u32) -> Result<(), Stop> {
    if captured > PACKET_BYTES_MAX {
        return Err(Stop::Damaged(format!(
            "{captured} B of it were captured, expected at most {PACKET_BYTES_MAX}"
        )));
    }
    if length < captured {
        return Err(Stop::Damaged(format!(
            "it claims a length of {length} B, of which {captured} B were captured"
        )));
    }
    Ok(())
}

/// Returns the block `body` if the block is long enough for its fixed part.
fn head<const BYTES: usize>(body: &[u8]) -> Result<&[u8], Stop> {
    if body.len() < BYTES {
        Err(Stop::Damaged(format!("its block has only {} B", body.len())))
    } else {
        Ok(body)
    }
}

fn word(bytes: &[u8], is_big: bool) -> u32 {
    let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

fn half(bytes: &[u8], is_big: bool) -> u16 {
    let bytes = [bytes[0], bytes[1]];
    if is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

/// An interface of a pcapng section.
struct Interface {
    link: u32,
    /// Value of the interface's option `if_tsresol`: a power of ten, or of two if the
    /// highest bit is set.
    resolution: u8,
    /// Seconds to add to the interface's time stamps: the option `if_tsoffset`.
    offset: i64,
}

impl Interface {
    const RESOLUTION: u16 = 9;
    const OFFSET: u16 = 14;

    /// Reads an interface block. The options end with the block, or at an option of kind 0, which
    /// writers may omit.
    fn new(body: &[u8], is_big: bool) -> Result<Self, String> {
        if body.len() < 8 {
            return Err(format!("an interface is described in {} B, expected at least 8", body.len()));
        }
        // The default resolution of time stamps is microseconds.
        let mut interface = Self { link: half(body, is_big).into(), resolution: 6, offset: 0 };
        let mut rest = &body[8..];
        while rest.len() >= 4 {
            let (kind, length) = (half(rest, is_big), usize::from(half(&rest[2..], is_big)));
            if kind == 0 {
                break;
            }
            let value = rest.get(4..4 + length);
            let value = value.ok_or_else(|| format!("an option of its interface claims {length} B"))?;
            match (kind, value) {
                (Self::RESOLUTION, [resolution, ..]) => interface.resolution = *resolution,
                (Self::OFFSET, value) if value.len() == 8 => {
                    let (first, second) = (word(value, is_big), word(&value[4..], is_big));
                    let (high, low) = if is_big { (first, second) } else { (second, first) };
                    interface.offset = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(interface)
    }

    fn picoseconds(&self, units: u64) -> i128 {
        let exponent = u32::from(self.resolution & 0x7f);
        let parts = if self.resolution & 0x80 == 0 {
            10_i128.checked_pow(exponent)
        } else {
            1_i128.checked_shl(exponent).filter(|parts| *parts > 0)
        };
        // Time units have 64 bits, so their product with a second fits 128 bits. A resolution
        // beyond 64 bits gives time zero.
        let since = parts.map_or(0, |parts| i128::from(units) * SECOND / parts);
        i128::from(self.offset) * SECOND + since
    }
}
