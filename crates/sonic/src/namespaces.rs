//! Configurations of switches with several chips, one per chip.

use crate::config::Config;
use crate::place::Refusal;
use crate::read::Reader;
use std::collections::BTreeMap;

/// Configurations of a switch by chip. A switch with one chip has a single configuration, without
/// the name of a chip.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    chips: BTreeMap<String, Reader>,
    common: Vec<(String, Vec<u8>)>,
}

impl Namespaces {
    /// Adds a configuration file. A name that ends in a chip's number belongs to this chip:
    /// `config_db0.json`, `buffers.asic1.json`, `qos_asic1.json`, `pg_profile_lookup.asic0.ini`.
    /// Every other file belongs to all chips.
    ///
    /// # Errors
    /// See [`Reader::add`].
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Refusal> {
        match chip(name) {
            Some(chip) => self.chips.entry(chip).or_default().add(name, bytes),
            None => {
                // The reader refuses a damaged file once here, instead of once for each chip.
                Reader::default().add(name, bytes)?;
                self.common.push((name.to_owned(), bytes.to_vec()));
                Ok(())
            }
        }
    }

    /// Returns the configuration of each chip, in the order of the chips' names. Files without a
    /// chip's number are part of all configurations. On a switch with several chips,
    /// `config_db.json` of the host has no chip's number.
    ///
    /// # Errors
    /// See [`Reader::add`]. Files of acceptable size may together be too large.
    pub fn finish(mut self) -> Result<Vec<(String, Config)>, Refusal> {
        if self.chips.is_empty() {
            self.chips.insert(String::new(), Reader::default());
        }
        for reader in self.chips.values_mut() {
            for (name, bytes) in &self.common {
                reader.add(name, bytes)?;
            }
        }
        Ok(self.chips.into_iter().map(|(chip, reader)| (chip, reader.finish())).collect())
    }
}

/// Returns the chip whose number is at the end of the file's name.
fn chip(name: &str) -> Option<String> {
    let file = name.rsplit(['/', '\\']).next()?;
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let number =
        |text: &str| !text.is_empty() && text.len() < 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = |mark: &str| stem.rsplit_once(mark).map(|(_, tail)| tail).filter(|tail| number(tail));
    let index = stem.strip_prefix("config_db").filter(|tail| number(tail)).or_else(|| numbered("asic"))?;
    Some(format!("asic{index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chip_of_a_file_is_the_number_in_its_name() {
        for (name, expected) in [
            ("a/config_db0.json", Some("asic0")),
            ("config_db.json", None),
            ("buffers.asic1.json", Some("asic1")),
            ("qos-asic12.json", Some("asic12")),
            ("basic.json", None),
        ] {
            assert_eq!(chip(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn chips_have_configurations_of_their_own_and_share_the_rest() -> Result<(), Refusal> {
        let mut all = Namespaces::default();
        for (chip, size) in [(0, 1_000), (1, 2_000)] {
            let text = format!(r#"{{"BUFFER_POOL": {{"p": {{"size": "{size}", "type": "both"}}}}}}"#);
            all.add(&format!("config_db{chip}.json"), text.as_bytes())?;
        }
        all.add("pg_profile_lookup.ini", b"100000 5m 0 1 2 0\n")?;
        let chips = all.finish()?;
        let sizes = chips.iter().map(|(name, config)| {
            (name.as_str(), config.pools["p"].size.as_ref().map(|size| size.value), config.lookup.len())
        });
        assert!(sizes.eq([("asic0", Some(1_000), 1), ("asic1", Some(2_000), 1)]));
        Ok(())
    }
}
