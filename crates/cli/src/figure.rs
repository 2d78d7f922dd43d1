//! `theory figure`: the papers' analytical figures, as points or as a page.

use crate::theory_args::FigureArgs;
use crate::{print, say};
use bufferlab_report::curves_page;
use bufferlab_reproduce::{theory_csv, theory_panels};
use bufferlab_theory::figures::{FIGURES, find};
use miette::{IntoDiagnostic, WrapErr, miette};

/// `theory figure`.
pub(crate) fn figure(args: &FigureArgs) -> miette::Result<()> {
    let Some(name) = &args.name else {
        let width = FIGURES.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        let lines = FIGURES.iter().map(|entry| format!("{:<width$}  {}\n", entry.name, entry.summary));
        return print(&lines.collect::<String>());
    };
    let entry = find(name).ok_or_else(|| miette!("there is no figure \"{name}\""))?;
    let panels = entry.panels().into_diagnostic().wrap_err("this is a bug in bufferlab")?;
    match &args.out {
        None => print(&theory_csv(&panels)),
        Some(path) => {
            let page = curves_page(entry.summary.trim_end_matches('.'), &theory_panels(&panels));
            std::fs::write(path, page)
                .into_diagnostic()
                .wrap_err_with(|| format!("cannot write {}", path.display()))?;
            say(&format!("{name} is in {}", path.display()));
            Ok(())
        }
    }
}
