//! The command `import` writes a scenario from the files of another simulator.

use crate::args::{ImportArgs, RunArgs};
use crate::execute::run;
use crate::{inform, print};
use bufferlab_import::{
    FILE_BYTES_MAX, ImportError, ImportOptions, Imported, Input, Notices, Traffic, endless_bytes,
    import as read, scenario_text,
};
use bufferlab_report::format::readable;
use bufferlab_results::{WholeFile, write_whole};
use bufferlab_schedule::write_schedule;
use bufferlab_units::printable;
use bufferlab_workload::{FlowSpec, write_flow_list};
use miette::miette;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Executes the command `import`.
pub(crate) fn import(args: &ImportArgs) -> miette::Result<()> {
    let mut contents = Vec::with_capacity(args.files.len());
    for path in &args.files {
        contents.push(content(path)?);
    }
    let input = |(path, content)| Input { path, content, format: args.format };
    let inputs: Vec<_> =
        args.files.iter().map(PathBuf::as_path).zip(contents.iter().map(Vec::as_slice)).map(input).collect();
    let options = ImportOptions {
        start_unit: args.start_unit.time(),
        algorithm: args.algorithm,
        ranks_per_server: args.ranks_per_server.get(),
        nics_per_rank: args.nics_per_rank.get(),
        collective_bytes: args.size,
        ..ImportOptions::default()
    };
    let imported = read(&inputs, &options).map_err(refusal)?;
    print(&readable(&summary(&imported)))?;
    if args.dry_run {
        return Ok(());
    }
    let scenario = write(args, &imported)?;
    if !args.run {
        return Ok(());
    }
    match scenario {
        Some(scenario) => run(&RunArgs::for_file(&scenario)),
        None => Err(miette!(
            help = "name a file with flows or a schedule, too",
            "there is nothing to run: no file describes traffic"
        )),
    }
}

/// Reads the content of a regular file that the user imports.
fn content(path: &Path) -> miette::Result<Vec<u8>> {
    let shown = path.display();
    let failed = |cause: std::io::Error| miette!("cannot read {shown}: {cause}");
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(miette!(help = "name its files", "{shown} is no file"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        let found = metadata.len();
        return Err(miette!(
            help = "use a smaller file",
            "{shown}: {found} bytes, expected at most {FILE_BYTES_MAX}"
        ));
    }
    fs::read(path).map_err(failed)
}

fn refusal(error: ImportError) -> miette::Report {
    let help = printable(&error.advice).into_owned();
    let place = ImportError { advice: String::new(), ..error }.to_string();
    miette!(help = help, "{}", place.trim_end_matches("; "))
}

/// Lists the imported files with their formats, then the notices, with one notice per line.
fn summary(imported: &Imported) -> String {
    let mut text = String::new();
    for (path, format) in &imported.files {
        // Writing into a string cannot fail, so the result is ignored.
        let _ = writeln!(text, "{}: {}", path.display(), format.word());
    }
    let Notices { understood, ignored, assumed, .. } = &imported.notices;
    for (title, lines) in [("understood", understood), ("ignored", ignored), ("assumed", assumed)] {
        for line in lines {
            let _ = writeln!(text, "{title:<11} {line}");
        }
    }
    text
}

/// Writes the files of the scenario and its traffic. Returns the path of the scenario if the
/// scenario can run.
fn write(args: &ImportArgs, imported: &Imported) -> miette::Result<Option<PathBuf>> {
    let name = args.name.clone().unwrap_or_else(|| name_of(&args.files));
    let kind = if matches!(imported.traffic, Some(Traffic::Schedule(_))) { "schedule" } else { "flows" };
    let traffic = format!("{name}-{kind}.csv");
    let Some(text) = scenario_text(imported, &name, &traffic) else {
        inform("no network and no traffic, so no scenario is written");
        return Ok(None);
    };
    let scenario = args.out.join(format!("{name}.toml"));
    let traffic = args.out.join(traffic);
    for path in [&scenario, &traffic] {
        if path.exists() && !args.replace {
            let help = "choose another --out or --name, or overwrite it with --replace";
            return Err(miette!(help = help, "{} exists", path.display()));
        }
    }
    let failed =
        |path: &Path, cause: &dyn std::fmt::Display| miette!("cannot write {}: {cause}", path.display());
    fs::create_dir_all(&args.out).map_err(|cause| failed(&args.out, &cause))?;
    match &imported.traffic {
        Some(Traffic::Flows { flows, classes }) => {
            let mut flows = flows.clone();
            let endless = endless_bytes(imported);
            for flow in flows.iter_mut().filter(|flow| flow.size == FlowSpec::UNLIMITED) {
                flow.size = endless;
            }
            write_flow_list(&traffic, &flows, classes).map_err(|cause| miette!("{cause}"))?;
        }
        Some(Traffic::Schedule(schedule)) => {
            let mut file = WholeFile::create(&traffic).map_err(|cause| failed(&traffic, &cause))?;
            write_schedule(&mut file, schedule)
                .and_then(|()| file.finish())
                .map_err(|cause| failed(&traffic, &cause))?;
        }
        None => {}
    }
    write_whole(&scenario, text).map_err(|cause| failed(&scenario, &cause))?;
    if imported.traffic.is_none() {
        inform(&format!("written: {}; add a [[workload]] to it", scenario.display()));
        return Ok(None);
    }
    inform(&format!("written: {} and {}", scenario.display(), traffic.display()));
    if !args.run {
        let command = if kind == "schedule" { "run" } else { "check" };
        inform(&format!("next: bufferlab {command} {}", scenario.display()));
    }
    Ok(Some(scenario))
}

/// Name of the scenario: the name of the first imported file, without its extension.
fn name_of(files: &[PathBuf]) -> String {
    let stem = files.first().and_then(|path| path.file_stem()).unwrap_or_default().to_string_lossy();
    let is_plain = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_' || one == '.';
    let name: String = stem.chars().take(80).map(|one| if is_plain(one) { one } else { '-' }).collect();
    let name = name.trim_matches(['.', '-']).to_owned();
    if name.is_empty() { "imported".to_owned() } else { name }
}
