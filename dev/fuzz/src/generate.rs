//! Generates fuzzing cases: equal seeds and case numbers give equal cases.

use crate::bases::BASES;
use crate::case::{Case, Splice};
use crate::compose::compose;
use crate::values::{Dice, parameters, value};
use bufferlab_document::spec::{KeySpec, Kind, TableSpec};
use bufferlab_units::RandomStream;

/// Maximum number of changes that a fuzzing case makes to its base scenario.
const MOST_CHANGES: u64 = 8;
/// Maximum number of changes that a fuzzing case makes to its input file.
const MOST_SPLICES: u64 = 4;
/// Pieces of text that the fuzzer inserts into files: numbers at and beyond limits, special
/// characters, bytes that are not text.
const PIECES: &[&str] = &[
    "0",
    "-1",
    "9",
    "1.5",
    "1e400",
    "nan",
    "inf",
    "65535",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    ",",
    ",,",
    "\n",
    "\r\n",
    "\n\n",
    "\"",
    "#",
    " ",
    "\t",
    "h0",
    "h9",
    "s0",
    "10.0.2.1",
    "::",
    "src,dst",
    "\u{0}",
    "\u{ff}",
    "\u{ff}\u{ff}\u{ff}\u{ff}",
    "\u{0}\u{0}\u{0}\u{0}",
    "\u{1f}\u{8b}",
    "\u{ef}\u{bb}\u{bf}",
    "\u{80}",
];

/// Creates the fuzzing case `number` of a seed. One case of three sets single keys to values at the
/// limits of the keys. The other cases combine options.
#[must_use]
pub fn generate(seed: u64, number: u64) -> Case {
    if number.is_multiple_of(3) { single(seed, number) } else { compose(seed, number) }
}

fn single(seed: u64, number: u64) -> Case {
    let mut stream = RandomStream::new(seed, "fuzz", number);
    let mut dice = Dice(&mut stream);
    let base = dice.pick(BASES);
    let changes = 1 + dice.0.below(MOST_CHANGES);
    let root = bufferlab_scenario::format();
    let set = (0..changes).flat_map(|_| change(&mut dice, root, "")).collect();
    let splices = if base.file.is_some() { dice.0.below(MOST_SPLICES + 1) } else { 0 };
    let splices = (0..splices).map(|_| splice(&mut dice)).collect();
    Case { base: base.name.to_owned(), set, splices }
}

/// Changes a file at a random position: usually a few bytes, sometimes truncation.
fn splice(dice: &mut Dice<'_>) -> Splice {
    let at = dice.0.below(1 << 20);
    match dice.0.below(8) {
        0 => (at, 1 << 20, String::new()),
        1 | 2 => {
            let count = 1 + dice.0.below(4);
            (at, count, (0..count).map(|_| char::from(dice.0.below(256) as u8)).collect())
        }
        3 => (at, dice.0.below(4), dice.pick(PIECES).repeat(1 + dice.0.below(200) as usize)),
        _ => (at, dice.0.below(8), (*dice.pick(PIECES)).to_owned()),
    }
}

/// Changes a random key of the scenario's table at `path`. In the table of a registry entry,
/// several parameters may change.
fn change(dice: &mut Dice<'_>, table: &'static TableSpec, path: &str) -> Vec<(String, String)> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let Some(key) = any_key(dice, table) else { return Vec::new() };
    match key.kind {
        Kind::Table(below) if !dice.one_in(4) => change(dice, below, &at(key.name)),
        Kind::Tables(below) if !dice.one_in(4) => {
            let index = dice.0.below(2);
            change(dice, below, &at(&format!("{}.{index}", key.name)))
        }
        // This branch sets parameters of a random registry entry. The loader accepts the parameters
        // if the scenario selects this entry.
        Kind::Tag(catalog) => {
            let cards = catalog.cards(false);
            let card = dice.pick(&cards);
            let mut set = Vec::new();
            if dice.one_in(3) {
                set.push((at(key.name), format!("\"{}\"", card.name)));
            }
            for part in parameters(dice, card.params) {
                if let Some((name, value)) = part.split_once(" = ") {
                    set.push((at(name), value.to_owned()));
                }
            }
            set
        }
        _ => vec![(at(key.name), value(dice, key))],
    }
}

/// Draws a random key of a scenario table, or of a variant of the table.
fn any_key(dice: &mut Dice<'_>, table: &'static TableSpec) -> Option<&'static KeySpec> {
    let mut keys = table.keys;
    if !table.variants.is_empty() && (keys.is_empty() || dice.one_in(2)) {
        keys = dice.pick(table.variants).keys;
    }
    (!keys.is_empty()).then(|| dice.pick(keys))
}
