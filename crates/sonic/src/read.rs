//! Reads configuration files of a switch into a typed configuration.

mod buffers;
mod entry;
mod qos;

use crate::config::Config;
use crate::ini::{self, Columns};
use crate::place::{Problem, Refusal, Weight};
use crate::raw::{self, PROBLEMS_MAX, RawTables};
use crate::{json, show, vendors};
use entry::Entry;
use std::sync::Arc;

/// Reader that collects the files of one switch (or of one of its chips).
#[derive(Clone, Debug, Default)]
pub struct Reader {
    raw: RawTables,
    config: Config,
}

impl Reader {
    /// Reads a configuration file; messages name the file `name`. The content determines the kind
    /// of file: JSON (`config_db.json`, rendered parts, dumps), `pg_profile_lookup.ini`,
    /// `port_config.ini`, output of `show buffer`, or settings of devlink, Cumulus, Junos and EOS.
    ///
    /// # Errors
    /// If the file has an unknown kind, or is damaged. The error names the line and gives advice.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Refusal> {
        let text = raw::text(name, bytes)?;
        let file: Arc<str> = name.into();
        if let Some(vendor) = vendors::detect(text).filter(|_| !show::detect(text)) {
            vendors::read(vendor, &file, text, &mut self.raw)?;
        } else if text.trim_start().starts_with(['{', '[']) || name.ends_with(".json") {
            json::read(&file, text, &mut self.raw)?;
        } else if show::detect(text) {
            show::read(&file, text, &mut self.raw)?;
        } else {
            match ini::detect(name, text) {
                Some(Columns::Lookup) => {
                    let rows = ini::lookup(&file, text, &mut self.raw)?;
                    self.config.lookup.extend(rows);
                }
                Some(Columns::Ports) => ini::ports(&file, text, &mut self.raw)?,
                None => {
                    let help = "give config_db.json, rendered buffer or QoS parts, pg_profile_lookup.ini, \
                        port_config.ini, output of `show buffer configuration`, or files of \
                        devlink, Cumulus, Junos or EOS";
                    return Err(Refusal::new(name, 0, "unknown kind of file", help));
                }
            }
        }
        self.config.files.push(name.to_owned());
        Ok(())
    }

    /// Returns the typed configuration of all files. The list `problems` has the values that the
    /// reader did not understand.
    #[must_use]
    pub fn finish(self) -> Config {
        let Self { mut raw, mut config } = self;
        vendors::complete(&mut raw);
        let RawTables { tables, others, mut problems, vendor, .. } = raw;
        config.vendor = vendor;
        for (table, entries) in &tables {
            for (key, raw) in entries {
                let mut entry = Entry::new(raw, &mut problems);
                buffers::read(table, key, &mut entry, &mut config);
                qos::read(table, key, &mut entry, &mut config);
                entry.finish();
            }
        }
        problems.sort_by(|a, b| (&a.place, a.weight).cmp(&(&b.place, b.weight)));
        if problems.len() > PROBLEMS_MAX {
            let more = problems.len() - PROBLEMS_MAX;
            problems.truncate(PROBLEMS_MAX);
            let place = problems[PROBLEMS_MAX - 1].place.clone();
            let message = format!("{more} more values were not understood");
            problems.push(Problem {
                weight: Weight::Refused,
                place,
                message,
                help: "correct those above".to_owned(),
            });
        }
        config.problems = problems;
        config.tables = tables.into_keys().collect();
        config.others = others;
        config.several_queue_pools = config.names_several_queue_pools();
        config
    }
}

/// Reads the configuration of a switch from one text.
///
/// # Errors
/// See [`Reader::add`].
pub fn read(name: &str, bytes: &[u8]) -> Result<Config, Refusal> {
    let mut reader = Reader::default();
    reader.add(name, bytes)?;
    Ok(reader.finish())
}
