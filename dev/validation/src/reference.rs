//! Reads results of the public ns-3 artifacts from `testdata/reference`.

use crate::ValidationError;
use crate::measure::Flow;
use flate2::read::GzDecoder;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Value of [`RunKey::variant`] for runs of Reverie's evaluation.
pub const LOSSLESS: &str = "lossless";

/// Returns the path of the folder with ABM's reference data.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reference/abm")
}

/// Key of a run of the ns-3 reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunKey {
    /// Variant of the ns-3 artifact: `clean`, `asis` or [`LOSSLESS`].
    pub variant: &'static str,
    /// Name of the policy in the ns-3 reference's files: `DT`, `ABM` or `REVERIE`.
    pub policy: &'static str,
    /// Name of the transport in the ns-3 reference's files, such as `dctcp` or `cubic`.
    pub transport: &'static str,
    /// Traffic in the names of the reference's files: load, request size, query rate and duration
    /// of flow starts.
    pub traffic: &'static str,
    /// Load on the uplinks of leaves, as a fraction.
    pub load: &'static str,
    /// Request size as a fraction of the buffer size.
    pub request: &'static str,
}

impl RunKey {
    /// Returns the path of the folder with the files of the ns-3 reference's run.
    fn folder(&self) -> PathBuf {
        if self.variant == LOSSLESS { folder().with_file_name("reverie") } else { folder() }
    }

    /// Name of the run in the file names of the ns-3 reference.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { variant, policy, transport, traffic, .. } = self;
        match *variant {
            LOSSLESS => format!("rev_{traffic}_{policy}_{transport}_cubic"),
            _ => format!("abm_{variant}_{policy}_{transport}_{traffic}"),
        }
    }

    /// Returns the path of the file with the flows of the ns-3 reference's run.
    fn flows(&self) -> PathBuf {
        self.folder().join(format!("{}.fct.csv.gz", self.name()))
    }

    /// Returns the columns of `expected.csv` that identify the run, with the run's values.
    fn cells(&self) -> Vec<(&'static str, &'static str)> {
        let Self { variant, policy, transport, traffic, load, request } = *self;
        match variant {
            LOSSLESS => vec![("scenario", traffic), ("bm", policy), ("rdma_cc", transport)],
            _ => {
                vec![
                    ("variant", variant),
                    ("bm", policy),
                    ("cc", transport),
                    ("load", load),
                    ("req_frac", request),
                ]
            }
        }
    }
}

/// Row of an ns-3 run in `expected.csv`.
#[derive(Clone, Debug)]
pub struct Expected {
    cells: Vec<(String, String)>,
}

impl Expected {
    /// Reads the row of an ns-3 run in `expected.csv`.
    ///
    /// # Errors
    /// If the file cannot be read or has no row for the run.
    pub fn load(key: &RunKey) -> Result<Self, ValidationError> {
        let path = key.folder().join("expected.csv");
        let unreadable = |source| ValidationError::Csv { path: path.clone(), source };
        let mut reader = csv::Reader::from_path(&path).map_err(unreadable)?;
        let header = reader.headers().map_err(unreadable)?.clone();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let cells = header.iter().zip(record.iter()).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            let row = Self { cells };
            let wanted = key.cells();
            if wanted.iter().all(|(column, value)| row.text(column) == Some(value)) {
                return Ok(row);
            }
        }
        Err(ValidationError::NoReference(format!("{key:?}")))
    }

    fn text(&self, column: &str) -> Option<&str> {
        self.cells.iter().find(|(name, _)| name == column).map(|(_, value)| value.as_str())
    }

    /// Returns the number in a column of the run's row. The result is `None` for an empty cell: the
    /// run had no flows of the column's kind.
    ///
    /// # Errors
    /// If the column does not exist, or its cell is not a number.
    pub fn number(&self, column: &str) -> Result<Option<f64>, ValidationError> {
        match self.text(column) {
            Some("") => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| ValidationError::Cell { column: column.to_owned(), text: text.to_owned() }),
            None => Err(ValidationError::NoReference(column.to_owned())),
        }
    }
}

/// Reads the flows of an ns-3 run with their results, in the order of the file.
///
/// # Errors
/// If the file with the flows cannot be read.
pub fn flows(key: &RunKey) -> Result<Vec<Flow>, ValidationError> {
    let path = key.flows();
    let file = File::open(&path).map_err(|source| ValidationError::Io { path: path.clone(), source })?;
    let unreadable = |source| ValidationError::Csv { path: path.clone(), source };
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    let mut flows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let cell = |column: usize| record.get(column).unwrap_or("");
        let number = |column: usize| {
            let text = cell(column);
            text.parse::<u64>().map_err(|_| ValidationError::Cell {
                column: format!("{column} of {}", path.display()),
                text: text.to_owned(),
            })
        };
        let slowdown = cell(8)
            .parse()
            .map_err(|_| ValidationError::Cell { column: "slowdown".to_owned(), text: cell(8).to_owned() })?;
        flows.push(Flow {
            src: number(2)? as u32,
            dst: number(3)? as u32,
            size_bytes: number(4)?,
            start_ns: number(5)?,
            fct_ns: number(6)?,
            slowdown,
            incast: cell(1).ends_with("incast"),
            class: cell(1).to_owned(),
            timeouts: None,
        });
    }
    Ok(flows)
}
