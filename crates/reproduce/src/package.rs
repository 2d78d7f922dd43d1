//! The data package: the files that a reader needs to check the verdicts without this repository.
//!
//! The package is a folder of the statements, verdicts, values and reasons (`claims/`), of the
//! experiments and scenarios, and of today's fingerprint of every statement. The program contains
//! all files of the package, so one version always writes identical bytes. Every folder has
//! checksums, which `bufferlab verify` and `sha256sum --check` read.

use crate::registry::{CLAIMS, EXPERIMENTS, SCENARIOS, TESTBEDS};
use crate::{Behaviours, Fingerprints, Ledger, Plan, Registry, ReproduceError, ScaleName};
use bufferlab_core::Profile;
use bufferlab_results::write_sealed;
use include_dir::Dir;
use std::fmt::Write;
use std::path::Path;

const CITATION: &str = include_str!("../../../CITATION.cff");

/// Text of the README file in the data package.
const README: &str = "\
# Data of the reproduction

Statements of five papers on shared packet buffers, and verdicts on them.

| folder or file | content |
|---|---|
| `claims/` | statements, criteria, verdicts, values, reasons; `claims/README.md` explains every table |
| `experiments/`, `testbeds/` | what was run, and how it is judged |
| `scenarios/` | networks and traffic |
| `fingerprints.csv` | today's fingerprint of every statement that an experiment judges, and whether its record has it |
| `CITATION.cff` | how to cite this, and the papers |
| `SHA256SUMS` | checksums, one file per folder |

Check it: `bufferlab verify .`, or `sha256sum --check SHA256SUMS` in every folder.

Write it again: `bufferlab reproduce --package DIR`. The same version writes the same bytes.

Repeat a statement: `bufferlab reproduce ABM-F6a-3`.
";

/// Writes the data package to `folder`; returns the number of its files.
///
/// # Errors
/// If the folder cannot be written.
pub fn write_package(folder: &Path) -> Result<usize, ReproduceError> {
    let parts = [
        ("claims", &CLAIMS),
        ("experiments", &EXPERIMENTS),
        ("testbeds", &TESTBEDS),
        ("scenarios", &SCENARIOS),
    ];
    let mut files = 0;
    for (name, part) in parts {
        files += write_folder(&folder.join(name), part)?;
    }
    let prints = fingerprints(&Registry::load(&folder.join("experiments"))?)?;
    let pages = [("CITATION.cff", CITATION), ("README.md", README), ("fingerprints.csv", prints.as_str())];
    write_sealed(folder, &pages, None)?;
    Ok(files + pages.len())
}

/// Writes an embedded folder with its checksums; returns the number of files.
fn write_folder(folder: &Path, part: &Dir<'_>) -> Result<usize, ReproduceError> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let named: Vec<_> = part.files().map(|file| (name(file.path()), file.contents())).collect();
    let files: Vec<_> = named.iter().map(|(name, content)| (name.as_str(), content)).collect();
    write_sealed(folder, &files, None)?;
    let mut all = files.len();
    for inner in part.dirs() {
        all += write_folder(&folder.join(name(inner.path())), inner)?;
    }
    Ok(all)
}

/// Computes the current fingerprint of every statement at reduced scale with the paper's settings,
/// and whether the recorded verdict on the statement has this fingerprint.
fn fingerprints(registry: &Registry) -> Result<String, ReproduceError> {
    let (behaviours, ledger) = (Behaviours::recorded()?, Ledger::recorded()?);
    let mut text = String::from("id,experiment,scale,profile,fingerprint,record\n");
    for experiment in &registry.experiments {
        let Some(plan) = Plan::new(experiment, ScaleName::Quick, Some(1)) else { continue };
        let plan = plan.under(Profile::Paper);
        let Ok(prints) = Fingerprints::new(&plan, &behaviours) else { continue };
        for claim in experiment.claims() {
            let today = prints.of_claim(claim);
            let mut records = ledger.records().filter(|record| record.id == claim.id);
            let known = records.find(|record| record.scale == "quick" && record.is_of_paper());
            let record = match known {
                Some(record) if record.fingerprint == today && record.speaks() => "current",
                Some(_) => "void",
                None => "none",
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{},{},quick,paper,{today},{record}", claim.id, experiment.id);
        }
    }
    Ok(text)
}
