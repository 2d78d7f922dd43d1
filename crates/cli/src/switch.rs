//! The command `switch` forwards real packets, or compares a recorded run with the simulator.

#[cfg(target_os = "linux")]
mod summary;

use crate::args::SwitchArgs;
use crate::{print, records, say};
use bufferlab_dataplane::{
    MissingEnd, PROGRESS_FILE, RECORD_FILE, Record, Recorded, SWITCH_FILE, SwitchFile, load, read_record,
};
use bufferlab_report::format::readable;
use bufferlab_testbed::parity::{Comparison, drive, synthetic, verify_until};
use bufferlab_units::Time;
use miette::{Report, miette};
use std::path::Path;

/// Executes the command `switch`.
pub(crate) fn switch(args: &SwitchArgs) -> miette::Result<()> {
    if let Some(record) = &args.verify {
        return verify_record(record, args.json);
    }
    let path = args.file.as_deref().expect("the command line demands one of the two");
    let file = load(path)?;
    for warning in &file.warnings {
        say(&warning.in_one_line());
    }
    match args.synthetic {
        Some(packets) => {
            let arrivals = synthetic(&file, packets, file.scenario.seed);
            let rows = drive(&file, &arrivals).map_err(|error| miette!("{}: {error}", path.display()))?;
            show(&compare(&file, &rows, Time::MAX)?, args.json)
        }
        None => forward(args, &file),
    }
}

fn verify_record(folder: &Path, as_json: bool) -> miette::Result<()> {
    let file = load(&folder.join(SWITCH_FILE))?;
    let record = read_record(folder, &file.names()).map_err(|error| {
        let help = format!("`bufferlab switch FILE --record {}` writes one", folder.display());
        miette!(help = help, "{error}")
    })?;
    let path = folder.join(RECORD_FILE);
    let Record { rows, missing } = record;
    let Some(missing) = missing else {
        if rows.is_empty() {
            return Err(miette!("{} has no packets", path.display()));
        }
        return show(&compare(&file, &rows, Time::MAX)?, as_json);
    };
    let what = without_end(&path, rows.len(), missing);
    if !rows.iter().any(|row| row.decided() < missing.settled) {
        let help = format!(
            "{PROGRESS_FILE} beside it has the time before which no packet is missing; all of this record is later"
        );
        return Err(miette!(help = help, "{what}: nothing of it can be compared"));
    }
    say(&format!(
        "{what}; only decisions before {:.6} s are compared, because no packet is missing until then",
        missing.settled.as_secs_f64()
    ));
    show(&compare(&file, &rows, missing.settled)?, as_json)
}

/// Describes a record of arrivals whose end is missing.
fn without_end(path: &Path, lines: usize, missing: MissingEnd) -> String {
    let cut = match missing.cut_bytes {
        0 => String::new(),
        bytes => format!(", and {bytes} B of a line that is cut"),
    };
    format!(
        "the end of {} is missing (the switch was killed, or the disk was full): it has {lines} complete lines{cut}",
        path.display()
    )
}

fn compare(file: &SwitchFile, rows: &[Recorded], until: Time) -> miette::Result<Comparison> {
    verify_until(file, rows, until).map_err(|error| miette!("{error}"))
}

fn show(comparison: &Comparison, as_json: bool) -> miette::Result<()> {
    let Comparison { packets, compared, sent, marked, dropped, evicted, differences, first, .. } = comparison;
    if as_json {
        records::parity(comparison)?;
    } else {
        let of = if compared == packets { String::new() } else { format!("{compared} of them compared: ") };
        print(&format!(
            "{packets} packets: {sent} sent ({marked} marked), {dropped} dropped, {evicted} evicted\n\
             {of}{differences} differences between the switch and the simulator\n"
        ))?;
    }
    if *differences == 0 {
        return Ok(());
    }
    let lines: Vec<_> = first.iter().map(ToString::to_string).collect();
    let help = "one of the two is wrong: please report it with the record";
    Err(miette!(help = help, "the switch and the simulator differ\n{}", lines.join("\n")))
}

#[cfg(not(target_os = "linux"))]
fn forward(_: &SwitchArgs, _: &SwitchFile) -> miette::Result<()> {
    Err(miette!(
        help = "`--verify` and `--synthetic` work everywhere",
        "real packets are forwarded on Linux only"
    ))
}

#[cfg(target_os = "linux")]
fn forward(args: &SwitchArgs, file: &SwitchFile) -> miette::Result<()> {
    use crate::live::Quit;
    use crate::{inform, interrupt, watching};
    use bufferlab_dataplane::{RunOptions, Stopping, open};
    watching::check(&args.watching)?;
    let record = record(args, file)?;
    let capture = args.watching.capture.as_deref().map(|folder| {
        if !args.replace {
            watching::check_captures(folder, file, REPLACE)?;
        }
        watching::capture(&args.watching, folder, file)
    });
    let options = RunOptions {
        record,
        capture: capture.transpose()?,
        real_time: !args.no_real_time,
        keep_awake: args.keep_awake,
        metrics: args.metrics,
        change_user: true,
        // The live view shows the messages of the switch itself, so stderr gets no messages.
        tell: (!args.watching.live).then_some(say),
        stopping: Stopping { wanted: interrupt::flag(), after: args.duration.unwrap_or(Time::MAX) },
    };
    interrupt::listen_quietly();
    let opened = open(file, options).map_err(|error| Report::msg(error.to_string()))?;
    let names = file.names().join(", ");
    say(&format!("{} forwards between {names}; Ctrl-C ends it", file.scenario.name));
    let text = format!("{}: {}", file.scenario.name, file.scenario.switches[0].policy);
    let title = watching::title(&args.watching, file, text, Quit::Switch);
    let mut summary = watching::with_view(title, |watch| opened.run(watch, None))
        .map_err(|error| Report::msg(error.to_string()))?;
    interrupt::fulfilled();
    for note in &summary.notes {
        say(note);
    }
    // The files are closed first, because the program that reads the summary may have ended.
    let closed = summary.pipeline.close();
    let printed = if args.json {
        records::json(&summary::for_programs(file, &summary))
    } else {
        print(&readable(&summary::in_words(file, &summary)))
    };
    let captured = match summary.capture.as_ref().map(|report| report.as_ref().map(watching::captured)) {
        Ok(Some(text)) if args.json => {
            inform(text.trim_end());
            Ok(())
        }
        Ok(Some(text)) => print(&text),
        Ok(None) => Ok(()),
        Err(error) => Err(miette!("cannot write the captures: {error}")),
    };
    let closed = closed.map_err(|error| miette!("cannot write the record: {error}"));
    all_of([printed, closed, captured])
}

/// Combines the errors of several steps into one error. A failed step does not stop the next step.
#[cfg(target_os = "linux")]
fn all_of<const N: usize>(tried: [miette::Result<()>; N]) -> miette::Result<()> {
    let mut errors: Vec<_> = tried.into_iter().filter_map(Result::err).collect();
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        _ => Err(Report::msg(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))),
    }
}

/// Hint for the error that a record or a capture exists already.
#[cfg(target_os = "linux")]
const REPLACE: &str = "choose another folder, or add --replace";

#[cfg(target_os = "linux")]
fn record(args: &SwitchArgs, file: &SwitchFile) -> miette::Result<Option<bufferlab_dataplane::RecordWriter>> {
    let Some(folder) = &args.record else { return Ok(None) };
    if folder.join(RECORD_FILE).exists() && !args.replace {
        return Err(miette!(help = REPLACE, "{} has a record already", folder.display()));
    }
    let record = bufferlab_dataplane::RecordWriter::create(folder, file.names(), &file.text);
    record.map(Some).map_err(|error| miette!("cannot write {}: {error}", folder.display()))
}
