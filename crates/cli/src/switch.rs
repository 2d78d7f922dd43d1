//! `switch`: forwards real packets, or compares what such a switch did with the simulator.

use crate::args::SwitchArgs;
use crate::{interrupt, print, say};
use bufferlab_parity::{Comparison, drive, synthetic, verify};
use bufferlab_switch::{RECORD_FILE, SWITCH_FILE, SwitchFile, load, read_record};
use miette::{Report, miette};
use std::fmt::Write as _;
use std::path::Path;

/// `switch`.
pub(crate) fn switch(args: &SwitchArgs) -> miette::Result<()> {
    if let Some(record) = &args.verify {
        return verify_record(record);
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
            show(&compare(&file, &rows)?)
        }
        None => forward(args, &file),
    }
}

fn verify_record(folder: &Path) -> miette::Result<()> {
    let file = load(&folder.join(SWITCH_FILE))?;
    let rows = read_record(folder, &file.names()).map_err(|error| {
        let help = format!("`bufferlab switch FILE --record {}` writes one", folder.display());
        miette!(help = help, "{error}")
    })?;
    if rows.is_empty() {
        return Err(miette!("{} holds no packets", folder.join(RECORD_FILE).display()));
    }
    show(&compare(&file, &rows)?)
}

fn compare(file: &SwitchFile, rows: &[bufferlab_switch::Recorded]) -> miette::Result<Comparison> {
    verify(file, rows).map_err(|error| miette!("{error}"))
}

fn show(comparison: &Comparison) -> miette::Result<()> {
    let Comparison { packets, sent, marked, dropped, evicted, differences, first, .. } = comparison;
    print(&format!(
        "{packets} packets: {sent} sent ({marked} marked), {dropped} dropped, {evicted} evicted\n\
         {differences} differences between the switch and the simulator\n"
    ))?;
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
    use crate::watching;
    use bufferlab_live::Quit;
    use bufferlab_switch::{RunOptions, Stopping, run};
    watching::check(&args.watching)?;
    let record = record(args, file)?;
    let capture = args.watching.capture.as_deref().map(|folder| {
        if !args.replace {
            watching::check_captures(folder, file, REPLACE)?;
        }
        watching::capture(&args.watching, folder, file)
    });
    let capture = capture.transpose()?;
    interrupt::listen_quietly();
    let stopping =
        Stopping { wanted: interrupt::flag(), after: args.duration.unwrap_or(bufferlab_units::Time::MAX) };
    let names = file.names().join(", ");
    say(&format!("{} forwards between {names}; Ctrl-C ends it", file.scenario.name));
    let text = format!("{}: {}", file.scenario.name, file.scenario.switches[0].policy);
    let title = watching::title(&args.watching, file, text, Quit::Switch);
    let summary = watching::with_view(title, |watch| {
        let (real_time, metrics) = (!args.no_real_time, args.metrics);
        let options = RunOptions { record, capture, real_time, metrics, watch, stopping, ready: None };
        run(file, options)
    });
    let summary = summary.map_err(|error| Report::msg(error.to_string()))?;
    for note in &summary.notes {
        say(note);
    }
    print(&in_words(file, &summary))?;
    let captured = summary.capture.as_ref().map(|report| report.as_ref().map(watching::captured));
    if let Ok(Some(text)) = &captured {
        print(text)?;
    }
    // Both are told of, whatever became of the other.
    let closed = summary.pipeline.close().map_err(|error| miette!("cannot write the record: {error}"));
    captured.map_err(|error| miette!("cannot write the captures: {error}")).and(closed)
}

/// What helps where something would be replaced.
#[cfg(target_os = "linux")]
const REPLACE: &str = "choose another folder, or add --replace";

#[cfg(target_os = "linux")]
fn record(args: &SwitchArgs, file: &SwitchFile) -> miette::Result<Option<bufferlab_switch::RecordWriter>> {
    let Some(folder) = &args.record else { return Ok(None) };
    if folder.join(RECORD_FILE).exists() && !args.replace {
        return Err(miette!(help = REPLACE, "{} holds a record already", folder.display()));
    }
    let record = bufferlab_switch::RecordWriter::create(folder, file.names(), &file.text);
    record.map(Some).map_err(|error| miette!("cannot write {}: {error}", folder.display()))
}

#[cfg(target_os = "linux")]
fn in_words(file: &SwitchFile, summary: &bufferlab_switch::Summary) -> String {
    use bufferlab_params::Choice;
    use bufferlab_switch::Discard;
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = writeln!(
        text,
        "ran {}; lateness of {} frames: p50 {} ns, p99 {} ns, p99.9 {} ns, largest {} ns",
        summary.ran,
        summary.lateness.count(),
        summary.lateness.quantile(0.5),
        summary.lateness.quantile(0.99),
        summary.lateness.quantile(0.999),
        summary.lateness.largest()
    );
    let _ = writeln!(
        text,
        "late arrivals {}, frames that the system dropped before they were read {}",
        summary.late_arrivals, summary.missed
    );
    let _ = writeln!(text, "port             received         sent      flooded      refused  discarded");
    for (port, tallies) in file.ports.iter().zip(&summary.tallies) {
        let reasons = Discard::ALL.iter().filter(|why| tallies.discarded(**why) > 0);
        let reasons: Vec<_> =
            reasons.map(|why| format!("{} {}", why.word(), tallies.discarded(*why))).collect();
        let _ = writeln!(
            text,
            "{:<12} {:>12} {:>12} {:>12} {:>12}  {}",
            port.interface,
            tallies.received,
            tallies.sent,
            tallies.flooded,
            tallies.refused,
            reasons.join(", ")
        );
    }
    queues(file, summary, &mut text);
    text
}

/// Counters of the core, by queue, with the names of the simulator's table `queues`.
#[cfg(target_os = "linux")]
fn queues(file: &SwitchFile, summary: &bufferlab_switch::Summary, text: &mut String) {
    let core = summary.pipeline.driver().core();
    let _ = writeln!(text, "queue             arrived     enqueued      dropped      evicted       marked");
    for queue in core.buffer().queue_ids() {
        let (port, priority) = core.buffer().port_and_priority(queue);
        let counters = core.counters(queue);
        let name = format!("{} p{priority}", file.ports[usize::from(port)].interface);
        let _ = writeln!(
            text,
            "{name:<12} {:>12} {:>12} {:>12} {:>12} {:>12}",
            counters.arrived, counters.enqueued, counters.dropped, counters.evicted, counters.marked
        );
    }
    for (reason, packets) in summary.pipeline.losses() {
        let _ = writeln!(text, "lost, {reason}: {packets}");
    }
}
