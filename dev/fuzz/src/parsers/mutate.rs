//! Applies random changes to valid inputs of readers.

use crate::values::Dice;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

/// Maximum length of an input (bytes).
const INPUT_MAX: usize = 1 << 20;
/// Maximum number of changes of an input.
const CHANGES_MAX: u64 = 6;
/// Numbers at the limits of integer types, as text.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999999",
    "1e308",
    "1e309",
    "-0.0",
    "nan",
    "inf",
    "0x7f",
    "1_000",
    "0.1",
];
/// Opening brackets and other text that begins nested values.
const NESTING: &[&str] = &["[", "{", "(", "[[", "{\"a\":", "*1\r\n", "a.", "[{", "\"", "-("];

/// Creates a new input for a reader by random changes of one or two earlier inputs.
pub(crate) fn mutate(dice: &mut Dice<'_>, pool: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let original = dice.pick(pool);
    let is_packed = original.starts_with(&[0x1f, 0x8b]) && !dice.one_in(4);
    // Compressed inputs are changed before compression.
    // Hardly any change of the compressed bytes would pass the checksum.
    let mut bytes = if is_packed { unpacked(original) } else { original.clone() };
    for _ in 0..=dice.0.below(CHANGES_MAX) {
        change(dice, &mut bytes, pool, words);
        bytes.truncate(INPUT_MAX);
    }
    if is_packed { packed(&bytes) } else { bytes }
}

fn change(dice: &mut Dice<'_>, bytes: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&str]) {
    let length = bytes.len();
    let at = dice.0.below(length as u64 + 1) as usize;
    let until = (at + 1 + dice.0.below(16) as usize).min(length);
    match dice.0.below(16) {
        0 | 1 if at < length => bytes[at] ^= 1 << dice.0.below(8),
        2 if at < length => bytes[at] = *dice.pick(&[0, 1, 0x7f, 0x80, 0xff, b' ', b'\n', b'"', b',', b'=']),
        3 => bytes.truncate(at),
        4 if at < until => drop(bytes.drain(at..until)),
        5 => splice(bytes, at, at, dice.pick(words).as_bytes()),
        6 => splice(bytes, at, at, dice.pick(NUMBERS).as_bytes()),
        7 | 8 => number(dice, bytes, at),
        9 | 10 => field(dice, bytes, at),
        11 => line(dice, bytes, at),
        12 => {
            let other = dice.pick(pool);
            let from = dice.0.below(other.len() as u64 + 1) as usize;
            let to = (from + dice.0.below(200) as usize).min(other.len());
            splice(bytes, at, until.max(at), &other[from..to]);
        }
        13 => {
            // This change inserts a bracket or a keyword many times, for deep nesting or many
            // words.
            let times = 1 << dice.0.below(16);
            let piece = if dice.one_in(2) { dice.pick(NESTING) } else { dice.pick(words) };
            splice(bytes, at, at, piece.repeat(times).as_bytes());
        }
        14 if at < until => {
            let piece = bytes[at..until].repeat(1 + dice.0.below(64) as usize);
            splice(bytes, at, at, &piece);
        }
        _ => {
            let piece: Vec<u8> = (0..dice.0.below(6)).map(|_| dice.0.below(256) as u8).collect();
            splice(bytes, at, until.max(at), &piece);
        }
    }
}

fn splice(bytes: &mut Vec<u8>, from: usize, to: usize, piece: &[u8]) {
    bytes.splice(from..to, piece.iter().copied());
}

/// Replaces the next decimal number after a position in a text.
fn number(dice: &mut Dice<'_>, bytes: &mut Vec<u8>, at: usize) {
    let Some(from) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else {
        return;
    };
    let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    splice(bytes, from, from + digits, dice.pick(NUMBERS).as_bytes());
}

/// Overwrites two, four or eight bytes with a length or count at the limit of the field.
fn field(dice: &mut Dice<'_>, bytes: &mut [u8], at: usize) {
    let width = *dice.pick(&[2_usize, 4, 8]);
    let Some(place) = bytes.get_mut(at..at + width) else { return };
    let small = dice.0.below(64);
    let value =
        *dice.pick(&[0, 1, small, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX]);
    if dice.one_in(2) {
        place.copy_from_slice(&value.to_le_bytes()[..width]);
    } else {
        place.copy_from_slice(&value.to_be_bytes()[8 - width..]);
    }
}

/// Doubles, removes or moves the line at a position, for duplicate keys or missing headers.
fn line(dice: &mut Dice<'_>, bytes: &mut Vec<u8>, at: usize) {
    let from = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1);
    let to = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |after| at + after + 1);
    let copy = bytes[from..to].to_vec();
    match dice.0.below(3) {
        0 => drop(bytes.drain(from..to)),
        1 => splice(bytes, from, from, &copy),
        _ => {
            let place = dice.0.below(bytes.len() as u64 + 1) as usize;
            splice(bytes, place, place, &copy);
        }
    }
}

/// Compresses bytes with gzip.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes everything")
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    // Decompresses gzip data. If the data are damaged, the result has the bytes before the damage.
    let _ = flate2::read::GzDecoder::new(bytes).take(INPUT_MAX as u64).read_to_end(&mut plain);
    plain
}
