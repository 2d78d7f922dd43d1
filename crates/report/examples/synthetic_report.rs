//! Writes made-up results and their reports, to check changes of the page:
//! `cargo run -p bufferlab-report --example synthetic_report -- DIR`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use bufferlab_report::Report;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("usage: synthetic_report DIR")?);
    let comparison = dir.join("comparison");
    synthetic::write_comparison(&comparison, &synthetic::POLICIES, 1..=5, 8_000);
    let report = Report::load(&comparison, &["dt".to_owned()])?;
    print!("{}", report.text());
    report.write()?;
    let single = dir.join("single");
    synthetic::write_run(&single, synthetic::POLICIES[1], 1, 8_000);
    bufferlab_report::write(&single)?;
    println!("\n{}\n{}", comparison.join("report.html").display(), single.join("report.html").display());
    Ok(())
}
