//! The commands `view` and `play` serve pages on this machine. `view` can also write files.

use crate::args::{PlayArgs, TraceFormat, ViewArgs};
use crate::{inform, print};
use bufferlab_results::write_whole;
use bufferlab_view::trace::{Format, ranks_file};
use bufferlab_view::{Page, Play, View, ViewError};
use miette::{Report, miette};
use std::path::Path;

/// Executes the command `view`.
pub(crate) fn view(args: &ViewArgs) -> miette::Result<()> {
    let opened = View::open(&args.folder, args.switch.as_deref());
    // A run without samples and packets may still have recorded the ranks of a collective.
    if let (Err(ViewError::NothingRecorded { .. }), Some(out), Some(TraceFormat::Perfetto)) =
        (&opened, &args.out, args.trace)
        && ranks_file(&args.folder, out).map_err(error)?
    {
        return print(&format!("{}\n", out.display()));
    }
    let view = opened.map_err(error)?;
    match (&args.out, args.trace) {
        (Some(out), None) => write(out, view.file().map_err(error)?.as_bytes()),
        (Some(out), Some(format)) => {
            let format = match format {
                TraceFormat::Perfetto => Format::Perfetto,
                TraceFormat::Pcapng => Format::Pcapng,
            };
            view.trace_file(format, out).map_err(error)?;
            print(&format!("{}\n", out.display()))
        }
        (None, _) => serve(Page::of_view(view, args.listen).map_err(error)?),
    }
}

/// Executes the command `play`.
pub(crate) fn play(args: &PlayArgs) -> miette::Result<()> {
    serve(Page::of_play(Play, args.listen).map_err(error)?)
}

fn serve(page: Page) -> miette::Result<()> {
    print(&format!("{}\n", page.url()))?;
    inform("open this address in a browser on this machine; Ctrl-C ends it");
    page.serve().map_err(error)
}

fn write(out: &Path, content: &[u8]) -> miette::Result<()> {
    write_whole(out, content).map_err(|source| {
        miette!(help = "choose another file with --out", "cannot write {}: {source}", out.display())
    })?;
    print(&format!("{}\n", out.display()))
}

fn error(error: ViewError) -> Report {
    miette!(help = error.hint(), "{error}")
}
