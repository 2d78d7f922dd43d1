//! `sonic vectors` and `sonic probe`: qualification against the simulated chip.

use super::what_if::{one, wrong};
use super::{headline, json, load, unknown, warn};
use crate::sonic_args::{SonicFiles, VectorFormat};
use crate::{inform, print};
use bufferlab_operator::probe::Executor;
use bufferlab_operator::{Vectors, vectors};
use bufferlab_sonic::silicon::chip_for;
use miette::miette;
use std::io::{self, BufRead, Read};

/// Requests are not longer than this (bytes).
const LINE_MAX: u64 = 65_536;

pub(super) fn vectors(files: &SonicFiles, packet: u64, format: VectorFormat) -> miette::Result<()> {
    let mut all = Vec::new();
    for (name, config) in load(files)? {
        warn(&config);
        let chip = chip_for(&config, files.chip.as_deref()).map_err(unknown)?;
        let found = Vectors::new(&config, chip, packet).map_err(wrong)?;
        match format {
            VectorFormat::Text => print(&format!("{}{}", headline(&name), vectors::text(&found)))?,
            VectorFormat::Yaml => print(&vectors::yaml(&found))?,
            VectorFormat::Json => all.push(found),
        }
    }
    if matches!(format, VectorFormat::Json) { json(&all) } else { Ok(()) }
}

pub(super) fn probe(files: &SonicFiles, packet: u64) -> miette::Result<()> {
    let (_, model) = one(&files.files, files.redis.as_deref(), files.chip.as_deref())?;
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
