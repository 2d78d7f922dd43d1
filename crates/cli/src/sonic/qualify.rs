//! The commands `sonic vectors` and `sonic probe`: qualification with the simulated chip.

use super::what_if::{one, wrong};
use super::{headline, json, load, unknown, warn};
use crate::sonic_args::{SonicFiles, VectorFormat};
use crate::{inform, print};
use bufferlab_operator::probe::Executor;
use bufferlab_operator::{Model, Qualification, Sender, Vectors, vectors};
use bufferlab_report::format::readable;
use bufferlab_sonic::Config;
use bufferlab_sonic::silicon::predict;
use miette::miette;
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Largest length of a request to the simulated chip (bytes).
const LINE_MAX: u64 = 65_536;

pub(super) fn vectors(
    files: &SonicFiles,
    packet: u64,
    format: VectorFormat,
    scenarios: Option<&Path>,
) -> miette::Result<()> {
    let mut all = Vec::new();
    for (name, config) in load(files)? {
        warn(&config);
        let chip = files.chip().resolve(&config).map_err(unknown)?;
        let found = Vectors::new(&config, chip, packet).map_err(wrong)?;
        if let Some(folder) = scenarios {
            let model = Model::new(&config, chip).map_err(wrong)?;
            write_scenarios(folder, &config, &model, &found)?;
        }
        match format {
            VectorFormat::Text => print(&readable(&format!("{}{}", headline(&name), vectors::text(&found))))?,
            VectorFormat::Yaml => print(&vectors::yaml(&found))?,
            VectorFormat::Json => all.push(found),
        }
    }
    if matches!(format, VectorFormat::Json) { json(&all) } else { Ok(()) }
}

/// Judges the expectations in a qualification file of sonic-mgmt.
pub(super) fn expect(
    files: &SonicFiles,
    packet: u64,
    format: VectorFormat,
    path: &Path,
    topology: Option<&str>,
) -> miette::Result<()> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        miette!(help = "name a file with qos_params", "cannot read {}: {error}", path.display())
    })?;
    let mut all = Vec::new();
    for (name, config) in load(files)? {
        warn(&config);
        let chip = files.chip().resolve(&config).map_err(unknown)?;
        let vectors = Vectors::new(&config, chip, packet).map_err(wrong)?;
        let prediction = predict(&config, chip, packet).map_err(unknown)?;
        let found = vectors::expectations(&text, &vectors, &prediction, topology).map_err(wrong)?;
        match format {
            VectorFormat::Json => all.extend(found),
            _ => print(&format!("{}{}", headline(&name), vectors::expectations_text(&found)))?,
        }
    }
    if matches!(format, VectorFormat::Json) { json(&all) } else { Ok(()) }
}

/// Writes two scenario files for every profile: one measures the packets until a pause, the other
/// the packets until a loss.
fn write_scenarios(folder: &Path, config: &Config, model: &Model, found: &Vectors) -> miette::Result<()> {
    let failed = |path: &Path, error: io::Error| {
        miette!(help = "give a folder that can be written", "cannot write {}: {error}", path.display())
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for vector in &found.groups {
        for (sender, what) in [(Sender::Obeys, "pause"), (Sender::Ignores, "loss")] {
            let made =
                Qualification::new(config, model, vector, found.packet_bytes, sender).map_err(wrong)?;
            // Names of profiles are keys of a database, so a file's name omits characters that file
            // names cannot have.
            let name: String =
                vector.profile.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            let path = folder.join(format!("{name}-{}-{what}.toml", vector.ports[0]));
            bufferlab_results::write_whole(&path, made.text.as_bytes())
                .map_err(|error| failed(&path, error))?;
            inform(&format!("{}: bufferlab run {0}", path.display()));
        }
    }
    Ok(())
}

pub(super) fn probe(files: &SonicFiles, packet: u64) -> miette::Result<()> {
    let (_, model) = one(&files.files, files.redis.as_deref(), |config| files.chip().resolve(config))?;
    let mut executor = Executor::new(&model, packet).map_err(wrong)?;
    inform(&format!("{} with {} ports answers on stdout", model.chip.title, model.ports.len()));
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        let length = read.map_err(|error| {
            miette!(help = "give a stream of lines that stays open", "cannot read requests: {error}")
        })?;
        if length == 0 {
            return Ok(());
        }
        if length as u64 == LINE_MAX {
            let help = "a request is a line of JSON of a few hundred characters";
            return Err(miette!(help = help, "a request of {LINE_MAX} B or more without an end of line"));
        }
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            print(&format!("{}\n", executor.answer_line(text.trim())))?;
        }
    }
}
