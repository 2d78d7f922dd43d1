//! `switch`: forwards real packets, or compares what such a switch did with the simulator.

use crate::args::SwitchArgs;
use crate::{interrupt, print, records, say};
use bufferlab_parity::{Comparison, drive, synthetic, verify};
use bufferlab_switch::{RECORD_FILE, SWITCH_FILE, SwitchFile, load, read_record};
use miette::{Report, miette};
use std::fmt::Write as _;
use std::path::Path;

/// `switch`.
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
            show(&compare(&file, &rows)?, args.json)
        }
        None => forward(args, &file),
    }
}

fn verify_record(folder: &Path, as_json: bool) -> miette::Result<()> {
    let file = load(&folder.join(SWITCH_FILE))?;
    let rows = read_record(folder, &file.names()).map_err(|error| {
        let help = format!("`bufferlab switch FILE --record {}` writes one", folder.display());
        miette!(help = help, "{error}")
    })?;
    if rows.is_empty() {
        return Err(miette!("{} holds no packets", folder.join(RECORD_FILE).display()));
    }
    show(&compare(&file, &rows)?, as_json)
}

fn compare(file: &SwitchFile, rows: &[bufferlab_switch::Recorded]) -> miette::Result<Comparison> {
    verify(file, rows).map_err(|error| miette!("{error}"))
}

fn show(comparison: &Comparison, as_json: bool) -> miette::Result<()> {
    let Comparison { packets, sent, marked, dropped, evicted, differences, first, .. } = comparison;
    if as_json {
        records::parity(comparison)?;
    } else {
        print(&format!(
            "{packets} packets: {sent} sent ({marked} marked), {dropped} dropped, {evicted} evicted\n\
             {differences} differences between the switch and the simulator\n"
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
    use crate::{inform, watching};
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
        let options = RunOptions {
            record,
            capture,
            real_time: !args.no_real_time,
            keep_awake: args.keep_awake,
            metrics: args.metrics,
            watch,
            stopping,
            ready: None,
        };
        run(file, options)
    });
    let summary = summary.map_err(|error| Report::msg(error.to_string()))?;
    for note in &summary.notes {
        say(note);
    }
    if args.json {
        records::json(&for_programs(file, &summary))?;
    } else {
        print(&in_words(file, &summary))?;
    }
    let captured = summary.capture.as_ref().map(|report| report.as_ref().map(watching::captured));
    match &captured {
        Ok(Some(text)) if args.json => inform(text.trim_end()),
        Ok(Some(text)) => print(text)?,
        _ => {}
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
fn for_programs(file: &SwitchFile, summary: &bufferlab_switch::Summary) -> records::SwitchRunFile {
    use bufferlab_params::Choice;
    use bufferlab_switch::{Discard, Lateness};
    let lateness = &summary.lateness;
    let ports = file.ports.iter().zip(&summary.tallies).map(|(port, tallies)| {
        let discarded = Discard::ALL.iter().map(|why| (why.word().to_owned(), tallies.discarded(*why)));
        records::SwitchPortRecord {
            interface: port.interface.clone(),
            received: tallies.received,
            received_bytes: tallies.received_bytes,
            sent: tallies.sent,
            sent_bytes: tallies.sent_bytes,
            flooded: tallies.flooded,
            refused: tallies.refused,
            discarded: discarded.filter(|(_, frames)| *frames > 0).collect(),
        }
    });
    let core = summary.pipeline.driver().core();
    let queues = core.buffer().queue_ids().map(|queue| {
        let (port, priority) = core.buffer().port_and_priority(queue);
        let counters = core.counters(queue);
        records::SwitchQueueRecord {
            interface: file.ports[usize::from(port)].interface.clone(),
            priority,
            arrived: counters.arrived,
            enqueued: counters.enqueued,
            dropped: counters.dropped,
            evicted: counters.evicted,
            marked: counters.marked,
        }
    });
    records::SwitchRunFile {
        format: "bufferlab-switch-run",
        format_version: 1,
        name: file.scenario.name.clone(),
        policy: file.scenario.switches[0].policy.clone(),
        ran_ns: summary.ran.as_ns(),
        lateness: records::LatenessRecord {
            frames: lateness.count(),
            p50_ns: lateness.quantile(0.5),
            p99_ns: lateness.quantile(0.99),
            p999_ns: lateness.quantile(0.999),
            largest_ns: lateness.largest(),
            is_inconclusive: lateness.quantile(0.999) > Lateness::INCONCLUSIVE_NS,
        },
        late_arrivals: summary.late_arrivals,
        missed: summary.missed,
        stolen_ns: summary.stolen.map(bufferlab_units::Time::as_ns),
        ports: ports.collect(),
        queues: queues.collect(),
        losses: summary
            .pipeline
            .losses()
            .into_iter()
            .map(|(why, packets)| (why.to_string(), packets))
            .collect(),
        notes: summary.notes.clone(),
    }
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
    if let Some(stolen) = summary.stolen.filter(|span| *span > bufferlab_units::Time::ZERO) {
        let _ = writeln!(text, "the hypervisor took {stolen} of CPU time: frames may be late by as much");
    }
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
