//! The command `sonic`, for configurations of real switches.

mod qualify;
mod tune;
mod what_if;

use crate::sonic_args::{Format, LintArgs, SonicCommand, SonicFiles};
use crate::{inform, print, say};
use bufferlab_document::files;
use bufferlab_operator::store::{self, Store, StoreError};
use bufferlab_report::format::readable;
use bufferlab_sonic::lint::{self, Options, RULES};
use bufferlab_sonic::silicon::{self, Chip, ChipChoice, PredictError};
use bufferlab_sonic::{BYTES_MAX, Config, Namespaces, Refusal, calibrate, diff, explain, memo, nvidia};
use miette::{Report, miette};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Executes a command about SONiC configurations.
pub(crate) fn sonic(command: &SonicCommand) -> miette::Result<()> {
    match command {
        SonicCommand::Explain { files, json } => explain_files(files, *json),
        SonicCommand::Lint(args) => lint_files(args),
        SonicCommand::Report { files, out } => memo(files, out.as_deref()),
        SonicCommand::Rules => rules(),
        SonicCommand::Diff { sides, redis, with, chip, json } => {
            differ((sides, redis.as_deref()), with, chip.as_deref(), *json)
        }
        SonicCommand::Predict { files, packet, json } => predict(files, *packet, *json),
        SonicCommand::WhatIf(args) => what_if::what_if(args),
        SonicCommand::Vectors { files, packet, format, scenarios, expect, topology } => match expect {
            Some(file) => qualify::expect(files, *packet, *format, file, topology.as_deref()),
            None => qualify::vectors(files, *packet, *format, scenarios.as_deref()),
        },
        SonicCommand::Probe { files, packet } => qualify::probe(files, *packet),
        SonicCommand::Calibrate { files, counters, packet, json } => {
            calibrate_files(files, counters, *packet, *json)
        }
        SonicCommand::Tune(args) => tune::tune(args),
        SonicCommand::Headroom { files, chip } => headroom(files, chip.as_deref()),
    }
}

/// Collects the given files, and the configuration files of the given folders,
/// in the order of their names.
fn expand(paths: &[PathBuf]) -> miette::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
        let mut found = Vec::new();
        for entry in entries {
            let file = entry.map_err(|error| unreadable(path, &error))?.path();
            let ending = file.extension().and_then(|ending| ending.to_str());
            if matches!(ending, Some("json" | "ini" | "txt" | "conf")) && file.is_file() {
                found.push(file);
            }
        }
        if found.is_empty() {
            let help = "give a folder with config_db.json, or the files themselves";
            return Err(miette!(help = help, "there is no .json, .ini or .txt in {}", path.display()));
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Report {
    miette!(
        help = "give files or folders that exist and can be read",
        "cannot read {}: {error}",
        path.display()
    )
}

/// Reads a configuration file, and refuses a file that is too large or not a regular file.
fn content(path: &Path) -> miette::Result<Vec<u8>> {
    files::read_at_most(path, BYTES_MAX as u64).map_err(|error| unreadable(path, &error))
}

fn unanswered(error: StoreError) -> Report {
    miette!(help = error.help(), "{error}")
}

fn refused(refusal: Refusal) -> Report {
    let help = refusal.help.clone();
    miette!(help = help, "{refusal}")
}

/// Reads the configuration of each chip in a switch.
fn load(files: &SonicFiles) -> miette::Result<Vec<(String, Config)>> {
    load_from(&files.files, files.redis.as_deref())
}

/// Reads configurations from files and, if the user gives an address,
/// from the server of a running switch.
fn load_from(paths: &[PathBuf], redis: Option<&str>) -> miette::Result<Vec<(String, Config)>> {
    load_store(paths, redis.map(Store::new).as_mut())
}

/// Reads the configuration of a switch from files and, if `store` is given, from its databases.
fn load_store(paths: &[PathBuf], store: Option<&mut Store>) -> miette::Result<Vec<(String, Config)>> {
    let mut namespaces = Namespaces::default();
    if let Some(store) = store {
        let dumps = store::dumps(store).map_err(unanswered)?;
        for (name, bytes) in dumps {
            namespaces.add(&name, &bytes).map_err(refused)?;
        }
    }
    for path in expand(paths)? {
        let bytes = content(&path)?;
        namespaces.add(&path.display().to_string(), &bytes).map_err(refused)?;
    }
    namespaces.finish().map_err(refused)
}

/// Prints the parts of a configuration that the program did not understand, and the tables that the
/// program did not read.
fn warn(config: &Config) {
    for problem in &config.problems {
        say(&format!("warning: {problem}"));
    }
    if !config.others.is_empty() {
        let names: Vec<_> = config.others.keys().map(String::as_str).collect();
        say(&format!("not read, because they do not concern buffers: {}", names.join(", ")));
    }
}

fn unknown(error: PredictError) -> Report {
    let help = error.help.clone();
    miette!(help = help, "{error}")
}

/// Returns the chip that the user names or the program recognises. An unknown name of a chip is an
/// error. A switch whose chip the program does not recognise is no error.
fn chip(config: &Config, choice: &ChipChoice) -> miette::Result<Option<&'static Chip>> {
    match choice.resolve(config) {
        Ok(chip) => Ok(Some(chip)),
        Err(error) if choice.is_given() => Err(unknown(error)),
        Err(_) => Ok(None),
    }
}

fn json<T: Serialize>(value: &T) -> miette::Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|error| miette!("cannot write JSON: {error}"))?;
    print(&format!("{text}\n"))
}

/// Heading with the name of a chip. Empty if the switch has only one chip.
fn headline(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("== {name}\n") }
}

fn explain_files(files: &SonicFiles, as_json: bool) -> miette::Result<()> {
    let mut all = Vec::new();
    for (name, config) in load(files)? {
        warn(&config);
        let explanation = explain::explain(&config, chip(&config, &files.chip())?);
        if as_json {
            all.push(explanation);
        } else {
            print(&readable(&format!("{}{}", headline(&name), explain::text(&explanation))))?;
        }
    }
    if as_json { json(&all) } else { Ok(()) }
}

fn lint_files(args: &LintArgs) -> miette::Result<()> {
    let (mut findings, mut gaps) = (Vec::new(), Vec::new());
    for (name, config) in load(&args.files)? {
        let options = Options {
            chip: chip(&config, &args.files.chip())?,
            allow: args.allow.clone(),
            round_trip_us: Some(args.round_trip),
        };
        let found = lint::check(&config, &options).map_err(|error| {
            let help = error.help.clone();
            miette!(help = help, "{error}")
        })?;
        findings.extend(found);
        let of_chip = if name.is_empty() { name } else { format!("{name}: ") };
        gaps.extend(lint::not_judged(&config, &options).iter().map(|gap| format!("{of_chip}{gap}")));
    }
    print(&match args.format {
        Format::Text => readable(&lint::text(&findings, &gaps)),
        Format::Json => lint::json(&findings),
        Format::Sarif => lint::sarif(&findings, &gaps, env!("CARGO_PKG_VERSION")),
    })?;
    if matches!(args.format, Format::Json) {
        gaps.iter().for_each(|gap| say(&format!("not judged: {gap}")));
    }
    match args.fail_on.severity().filter(|severity| lint::fails(&findings, *severity)) {
        Some(severity) => Err(miette!(
            help = "correct them, or switch a rule off with --allow RULE=REASON",
            "there are findings of severity {severity} or worse"
        )),
        None => Ok(()),
    }
}

/// Writes a memo about the switch. If the switch has several chips, the file has a memo for each
/// chip.
fn memo(files: &SonicFiles, out: Option<&Path>) -> miette::Result<()> {
    let mut pages = String::new();
    for (_, config) in load(files)? {
        warn(&config);
        let options = Options { chip: chip(&config, &files.chip())?, ..Options::default() };
        let page = memo::html(&config, &options).map_err(|error| miette!("{error}"))?;
        pages.push_str(&readable(&page));
    }
    let Some(path) = out else {
        print(&pages)?;
        if std::io::stdout().is_terminal() {
            inform("this is a page for a browser: --out memo.html writes it into a file");
        }
        return Ok(());
    };
    bufferlab_results::write_whole(path, pages.as_bytes()).map_err(|error| {
        miette!(help = "give a file that can be written", "cannot write {}: {error}", path.display())
    })?;
    inform(&format!("memo in {}", path.display()));
    Ok(())
}

fn rules() -> miette::Result<()> {
    let lines = RULES.iter().map(|rule| {
        format!(
            "{} {:<8} {}\n  {}\n  source: {}\n",
            rule.code,
            rule.severity.to_string(),
            rule.name,
            rule.reason,
            rule.source
        )
    });
    print(&lines.collect::<String>())
}

fn differ(
    (sides, redis): (&[PathBuf], Option<&str>),
    with: &[PathBuf],
    name: Option<&str>,
    as_json: bool,
) -> miette::Result<()> {
    let side = |path: Option<&PathBuf>, redis: Option<&str>| -> miette::Result<Vec<(String, Config)>> {
        let paths: Vec<_> = path.into_iter().chain(with).cloned().collect();
        load_from(&paths, redis)
    };
    let (old, new) = match (sides, redis) {
        ([old, new], None) => (side(Some(old), None)?, side(Some(new), None)?),
        ([new], Some(_)) => (side(None, redis)?, side(Some(new), None)?),
        (_, None) => {
            let help = "give two files or folders, or --redis for the old configuration and one file or folder for the new one";
            return Err(miette!(help = help, "one side is missing"));
        }
        (_, Some(_)) => {
            let help = "with --redis, the running switch is the old side: give only the new one";
            return Err(miette!(help = help, "three sides"));
        }
    };
    if !old.iter().map(|(name, _)| name).eq(new.iter().map(|(name, _)| name)) {
        return Err(miette!(
            help = "give both sides the files of the same chips (config_db0.json, config_db1.json, ...)",
            "the two sides describe different chips"
        ));
    }
    let choice = ChipChoice { name: name.map(str::to_owned), ..ChipChoice::default() };
    let mut all = Vec::new();
    for ((asic, before), (_, after)) in old.iter().zip(&new) {
        let chip = chip(after, &choice)?;
        let difference = diff::diff(before, after, chip).map_err(|error| miette!("{error}"))?;
        if as_json {
            all.push(difference);
        } else {
            print(&readable(&format!("{}{}", headline(asic), diff::text(&difference))))?;
        }
    }
    if as_json { json(&all) } else { Ok(()) }
}

fn predict(files: &SonicFiles, packet: u64, as_json: bool) -> miette::Result<()> {
    let mut all = Vec::new();
    for (name, config) in load(files)? {
        warn(&config);
        let chip = files.chip().resolve(&config).map_err(unknown)?;
        let prediction = silicon::predict(&config, chip, packet).map_err(unknown)?;
        if as_json {
            all.push(prediction);
        } else {
            print(&readable(&format!("{}{}", headline(&name), silicon::text(&prediction))))?;
        }
    }
    if as_json { json(&all) } else { Ok(()) }
}

fn calibrate_files(
    files: &SonicFiles,
    counters: &[PathBuf],
    packet: u64,
    as_json: bool,
) -> miette::Result<()> {
    let dumps = counters.iter().map(|path| content(path)).collect::<miette::Result<Vec<_>>>()?;
    let dumps: Vec<&[u8]> = dumps.iter().map(Vec::as_slice).collect();
    let samples = calibrate::read(&dumps).map_err(|error| {
        let help = "give dumps of COUNTERS_DB: `redis-dump -d 2 -y`";
        miette!(help = help, "counters: {error}")
    })?;
    let (config, chip) = only_chip(files)?;
    let found = calibrate::calibrate(&config, chip, packet, &samples).map_err(unknown)?;
    if as_json { json(&found) } else { print(&readable(&calibrate::text(&found))) }
}

/// Returns the configuration of the only chip, and refuses files for several chips.
fn only_chip(files: &SonicFiles) -> miette::Result<(Config, &'static Chip)> {
    let mut all = load(files)?;
    if all.len() > 1 {
        let help = "give the files of one of them, and those that belong to all";
        return Err(miette!(help = help, "the files describe several chips"));
    }
    let (_, config) = all.remove(0);
    warn(&config);
    let chip = files.chip().resolve(&config).map_err(unknown)?;
    Ok((config, chip))
}

fn headroom(files: &[PathBuf], name: Option<&str>) -> miette::Result<()> {
    for path in expand(files)? {
        let bytes = content(&path)?;
        let shown = path.display().to_string();
        let config = bufferlab_sonic::read(&shown, &bytes).map_err(refused)?;
        warn(&config);
        let table = nvidia::table(&config, &shown, name).map_err(unknown)?;
        print(&readable(&nvidia::text(&table)))?;
    }
    Ok(())
}
