//! Checks that the stored comparisons of circuits with policies used the current golden vectors.

use bufferlab_circuits::{Scheme, SharedSheet, Sheet, source};
use bufferlab_rtl::circuits;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::Path;

/// Number of operations, notes and digest that a comparison with the current vectors gives for the
/// policy `scheme`, in the format of `rtl/flow.py`.
fn of_today(scheme: Scheme, folder: &Path) -> (u64, String, String) {
    let name = scheme.name().trim_end_matches("-shift");
    let vectors =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/policy").join(format!("{name}.toml"));
    let path = folder.join(scheme.name());
    let sheet = SharedSheet::new(Sheet::new(Box::new(File::create(&path).expect("writable"))));
    let played = source::vectors(scheme, &vectors, &sheet).unwrap_or_else(|error| panic!("{error}"));
    let cases = format!("cases {} cut {} unfit {}", played.whole, played.cut.len(), played.unfit.len());
    let tally = sheet.lock().finish().expect("writable");
    let digest = Sha256::digest(fs::read(&path).expect("it is written"));
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    (tally.operations(), cases, digest)
}

#[test]
fn every_comparison_with_vectors_is_one_with_those_of_today() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut looked_at = 0;
    for circuit in circuits().unwrap_or_else(|error| panic!("{error}")) {
        let Some(row) = circuit.comparisons.iter().find(|row| row.source == "vectors") else { continue };
        let name = circuit.scheme.as_deref().expect("it is compared with a policy");
        let scheme = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name).expect("a scheme");
        let (operations, cases, digest) = of_today(scheme, folder.path());
        let hint = format!(
            "rtl/results/cosim.csv is not about today's vectors: `cargo xtask rtl cosim {}`, then \
             `cargo xtask generate hardware`",
            circuit.name
        );
        assert_eq!((row.operations, row.sheet_sha256.as_str()), (operations, digest.as_str()), "{hint}");
        // If the comparison counts rounded answers, the notes have the number of rounded answers
        // instead of the numbers of vector cases.
        assert!(
            row.notes == cases || row.notes.starts_with("other_answers"),
            "{cases}, {}: {hint}",
            row.notes
        );
        looked_at += 1;
    }
    assert!(looked_at >= 7, "{looked_at}");
}
