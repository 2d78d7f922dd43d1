//! The live view and the captures of a running switch of real packets.

use crate::args::WatchArgs;
use crate::live::{PortTitle, Quit, Title, check_terminal, show};
use crate::{interrupt, say};
use anstream::{AutoStream, ColorChoice};
use bufferlab_dataplane::{CaptureReport, CaptureWriter, SwitchFile, Watch};
use miette::miette;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns an error if the user requests a live view without a terminal.
pub(crate) fn check(args: &WatchArgs) -> miette::Result<()> {
    if !args.live {
        return Ok(());
    }
    let help = "leave --live out; `bufferlab switch FILE --metrics 127.0.0.1:9420` shows the same counters to other programs";
    check_terminal().map_err(|why| miette!(help = help, "--live needs a terminal: {why}"))
}

/// Title of the live view over the ports of `file`, if the user gave `--live`.
/// `text` names the run.
pub(crate) fn title(args: &WatchArgs, file: &SwitchFile, text: String, quit: Quit) -> Option<Title> {
    let port =
        |port: &bufferlab_dataplane::PortSpec| PortTitle { name: port.interface.clone(), rate: port.rate };
    args.live.then(|| Title {
        text,
        ports: file.ports.iter().map(port).collect(),
        quit,
        colour: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    })
}

/// Guard that ends the live view, even if the observed function panics.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work`, and shows in a live view the state that `work` publishes.
pub(crate) fn with_view<T>(title: Option<Title>, work: impl FnOnce(Option<Arc<Watch>>) -> T) -> T {
    let Some(title) = title else { return work(None) };
    let (watch, ended) = (Arc::new(Watch::default()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        interrupt::listen_to_services();
        let view = scope.spawn(|| {
            // The calling thread may have real-time priority, which a new thread inherits.
            bufferlab_dataplane::take_usual_priority();
            show(&watch, title, &ended, interrupt::flag())
        });
        let end = Ended(&ended);
        let done = work(Some(Arc::clone(&watch)));
        drop(end);
        match view.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => say(&format!("the live view ended early: {error}")),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        done
    })
}

/// Returns an error if the folder already has captures.
pub(crate) fn check_captures(folder: &Path, file: &SwitchFile, hint: &str) -> miette::Result<()> {
    if CaptureWriter::is_in(folder, file) {
        return Err(miette!(help = hint.to_owned(), "{} has captures already", folder.display()));
    }
    Ok(())
}

/// Creates capture files for the switch's ports in `folder`.
pub(crate) fn capture(args: &WatchArgs, folder: &Path, file: &SwitchFile) -> miette::Result<CaptureWriter> {
    CaptureWriter::create(folder, file, args.snapshot_length)
        .map_err(|error| miette!("cannot write captures into {}: {error}", folder.display()))
}

/// Formats a text about the finished capture files.
pub(crate) fn captured(report: &CaptureReport) -> String {
    let folder = report.files.first().and_then(|file| file.parent()).unwrap_or(Path::new("."));
    let left_out = match report.left_out {
        0 => String::new(),
        count => format!(
            "; {count} frames were left out, because the disk was too slow (--snapshot-length captures fewer bytes of each)"
        ),
    };
    format!(
        "captured {} frames at {} ports in {}{left_out}\n",
        report.frames,
        report.files.len(),
        folder.display()
    )
}
