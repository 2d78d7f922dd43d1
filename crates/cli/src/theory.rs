//! The command `theory` runs calculators and prints their derivations.

use crate::theory_args::TheoryCommand;
use crate::{print, records};
use bufferlab_params::{ParamKind, ParamValue};
use bufferlab_theory::calculators::{
    CALCULATORS, CalculatorError, CalculatorInfo, bytes, number, rate, seconds,
};
use bufferlab_theory::forms::DomainError;
use miette::{Report, miette};

/// Executes a subcommand of the command `theory`.
pub(crate) fn theory(command: &TheoryCommand) -> miette::Result<()> {
    match command {
        TheoryCommand::Calculate { info, values, verify, json } => {
            let derivation = info.calculate(values).map_err(|error| refused(info, &error))?;
            if *json {
                return records::derivation(&derivation);
            }
            print(&derivation.to_string())?;
            if *verify { self::verify(info, values) } else { Ok(()) }
        }
        TheoryCommand::List => list(),
        TheoryCommand::Figure(args) => crate::figure::figure(args),
    }
}

/// Executes `--verify`, which compares a calculator's answer with a packet-by-packet replay.
fn verify(info: &'static CalculatorInfo, values: &[(String, ParamValue)]) -> miette::Result<()> {
    let found = bufferlab_theory_check::verify(info, values).map_err(|error| refused(info, &error))?;
    print(&format!("\n{found}"))?;
    if found.holds() {
        return Ok(());
    }
    let differing: Vec<_> =
        found.checks().filter(|check| !check.holds()).map(|check| &*check.quantity).collect();
    Err(miette!(
        help = "the bound below the table is the difference that discretisation explains; a larger one is a mistake of the calculator, of its replay or \
                of the policy",
        "stated and measured differ: {}",
        differing.join(", ")
    ))
}

/// Executes the command `theory list`.
fn list() -> miette::Result<()> {
    let all = CALCULATORS.all();
    let width = all.iter().map(|info| info.name.len()).max().unwrap_or(0);
    let lines = all.iter().map(|info| format!("{:<width$}  {}\n", info.name, info.summary));
    print(&lines.collect::<String>())
}

/// Formats the error of a calculator, with the parameter written as on the command line.
fn refused(info: &CalculatorInfo, error: &CalculatorError) -> Report {
    let (option, message) = match error {
        CalculatorError::Domain(error) => {
            let option = option(info, error.input);
            let message = format!("{option} is {}, expected {}", value(info, error), error.valid);
            (option, message)
        }
        CalculatorError::Parameter(error) => {
            let option = option(info, &error.name);
            let message = format!("{option}: {}", error.message);
            (option, message)
        }
        CalculatorError::Rule(rule) => ("the options".to_owned(), format!("{} takes {rule}", info.name)),
    };
    miette!(
        help = format!("change {option}; `bufferlab theory {} --help` describes it", info.name),
        "{message}"
    )
}

fn option(info: &CalculatorInfo, parameter: &str) -> String {
    format!("--{}", info.option(parameter))
}

/// Formats the refused value of a calculator's input, in the unit that the command line uses.
fn value(info: &CalculatorInfo, error: &DomainError) -> String {
    match info.param(error.input).map(|param| param.kind) {
        Some(ParamKind::Bytes { .. }) => bytes(error.value),
        Some(ParamKind::Rate { .. }) => rate(error.value),
        Some(ParamKind::Time { .. }) => seconds(error.value),
        _ => number(error.value),
    }
}
