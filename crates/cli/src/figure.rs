//! The command `theory figure` prints the papers' analytical figures as points,
//! or writes them as a page.

use crate::{inform, print};
use bufferlab_report::curves_page;
use bufferlab_reproduce::{theory_csv, theory_panels};
use bufferlab_theory::figures::{FIGURES, find};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use miette::{IntoDiagnostic, WrapErr, miette};
use std::path::PathBuf;

/// Arguments of the command `theory figure`.
#[derive(Debug, Args)]
pub(crate) struct FigureArgs {
    /// Figure to compute [default: list all figures]
    #[arg(value_parser = names())]
    name: Option<String>,
    /// Write a page with the charts instead of printing the points
    #[arg(long, value_name = "FILE", requires = "name")]
    out: Option<PathBuf>,
}

fn names() -> PossibleValuesParser {
    let names = FIGURES.iter().map(|entry| PossibleValue::new(entry.name).help(entry.summary));
    PossibleValuesParser::new(names)
}

/// Lists the figures, prints the points of one figure, or writes the page of a figure.
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
            inform(&format!("{name} is in {}", path.display()));
            Ok(())
        }
    }
}
