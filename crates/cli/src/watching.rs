//! What is seen of a switch of real packets while it runs: the live view, and captures.

use crate::args::WatchArgs;
use crate::live::{PortTitle, Quit, Title, check_terminal, show};
use crate::{interrupt, say};
use anstream::{AutoStream, ColorChoice};
use bufferlab_switch::{CaptureReport, CaptureWriter, SwitchFile, Watch};
use miette::miette;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Refuses a live view where there is no terminal.
pub(crate) fn check(args: &WatchArgs) -> miette::Result<()> {
    if !args.live {
        return Ok(());
    }
    let help = "leave --live out; `bufferlab switch FILE --metrics 127.0.0.1:9420` shows the same counters to other programs";
    check_terminal().map_err(|why| miette!(help = help, "--live needs a terminal: {why}"))
}

/// The view of the ports of `file`, if it is wanted. `text`: what is watched.
pub(crate) fn title(args: &WatchArgs, file: &SwitchFile, text: String, quit: Quit) -> Option<Title> {
    let port =
        |port: &bufferlab_switch::PortSpec| PortTitle { name: port.interface.clone(), rate: port.rate };
    args.live.then(|| Title {
        text,
        ports: file.ports.iter().map(port).collect(),
        quit,
        colour: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    })
}

/// Ends the view even if the work panics.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` and shows meanwhile what it leaves in the watch that it is given.
pub(crate) fn with_view<T>(title: Option<Title>, work: impl FnOnce(Option<Arc<Watch>>) -> T) -> T {
    let Some(title) = title else { return work(None) };
    let (watch, ended) = (Arc::new(Watch::default()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        interrupt::listen_to_services();
        let view = scope.spawn(|| {
            // The thread that forwards may have real-time priority already.
            bufferlab_switch::take_usual_priority();
            show(&watch, title, &ended, interrupt::flag())
        });
        let end = Ended(&ended);
        let done = work(Some(Arc::clone(&watch)));
        drop(end);
        match view.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => say(&format!("the live view has ended early: {error}")),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        done
    })
}

/// Refuses captures where there are some already.
pub(crate) fn check_captures(folder: &Path, file: &SwitchFile, hint: &str) -> miette::Result<()> {
    if CaptureWriter::is_in(folder, file) {
        return Err(miette!(help = hint.to_owned(), "{} holds captures already", folder.display()));
    }
    Ok(())
}

/// Begins captures in `folder`.
pub(crate) fn capture(args: &WatchArgs, folder: &Path, file: &SwitchFile) -> miette::Result<CaptureWriter> {
    CaptureWriter::create(folder, file, args.snapshot_length)
        .map_err(|error| miette!("cannot write captures into {}: {error}", folder.display()))
}

/// What captures hold.
pub(crate) fn captured(report: &CaptureReport) -> String {
    let folder = report.files.first().and_then(|file| file.parent()).unwrap_or(Path::new("."));
    let left_out = match report.left_out {
        0 => String::new(),
        count => format!(
            "; {count} frames were left out, because the disk did not follow (fewer bytes of each: --snapshot-length)"
        ),
    };
    format!(
        "captured {} frames at {} ports in {}{left_out}\n",
        report.frames,
        report.files.len(),
        folder.display()
    )
}
