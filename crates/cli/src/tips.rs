//! Tips for typical mistakes in the command line: an option of another command or program, an
//! additional scenario, a missing argument.

use crate::args::Args;
use bufferlab_params::suggestion;
use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of other programs, and the scenario key of bufferlab with the meaning of each option.
const KEYS: [(&str, &str); 9] = [
    ("--alpha", "switch.policy.alpha"),
    ("--buffer", "switch.buffer"),
    ("--buffer-size", "switch.buffer"),
    ("--duration", "duration"),
    ("--hosts", "topology.hosts"),
    ("--load", "workload.0.load"),
    ("--policy", "switch.policy"),
    ("--rate", "topology.rate"),
    ("--time", "duration"),
];

/// Replaces clap's guess by a tip for a common mistake, if the program has a tip. `words` are the
/// arguments of the process, without the program.
pub(crate) fn with_tip(mut error: clap::Error, words: &[String]) -> clap::Error {
    // clap's tip to pass an unknown option as a value is wrong: no command takes such a value.
    if matches!(error.get(ContextKind::Suggested), Some(ContextValue::StyledStrs(_))) {
        error.remove(ContextKind::Suggested);
    }
    suggest_value(&mut error);
    let command = words.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        Some(ContextValue::Strings(arguments)) => arguments.first().cloned().unwrap_or_default(),
        _ => String::new(),
    };
    let tip = match error.kind() {
        ErrorKind::UnknownArgument => for_unknown(command, &argument),
        ErrorKind::MissingRequiredArgument => for_missing(command, &argument),
        ErrorKind::InvalidSubcommand => for_subcommand(&error),
        _ => None,
    };
    if let Some(tip) = tip {
        for guess in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
            error.remove(guess);
        }
        if error.kind() == ErrorKind::UnknownArgument {
            // The usage line belongs to the command that clap suggests, so the program removes the
            // line.
            error.remove(ContextKind::Usage);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// Replaces clap's guess of a value by the nearest name, if a name is near. Two swapped letters are
/// near ("amb" and "abm"). A common beginning is not near ("foo" and "followlqd").
fn suggest_value(error: &mut clap::Error) {
    let (Some(ContextValue::String(written)), Some(ContextValue::Strings(known))) =
        (error.get(ContextKind::InvalidValue), error.get(ContextKind::ValidValue))
    else {
        return;
    };
    let near = suggestion(written, known.iter().map(String::as_str));
    error.remove(ContextKind::SuggestedValue);
    if let Some(near) = near {
        error.insert(ContextKind::SuggestedValue, ContextValue::String(near));
    }
}

fn for_unknown(command: &str, argument: &str) -> Option<String> {
    let option = argument.split('=').next().unwrap_or(argument);
    match (command, option) {
        ("play" | "view", "--port" | "-p") => {
            return Some("the port of the page is --listen N".to_owned());
        }
        (_, "--vary") if has(command, "set") => {
            return Some(
                "`--set KEY=VALUE` changes a key; `bufferlab sweep SCENARIO --vary KEY=VALUES` tries several values"
                    .to_owned(),
            );
        }
        ("run", "--policy" | "--policies") => {
            return Some(
                "`--set switch.policy=NAME` chooses the policy; `bufferlab compare SCENARIO --policies NAMES` compares several"
                    .to_owned(),
            );
        }
        (_, "-o") if has(command, "out") => return Some("the folder of the results is --out DIR".to_owned()),
        (_, "-s") if has(command, "seed") => return Some("the seed is --seed N".to_owned()),
        _ => {}
    }
    if !option.starts_with('-') && has(command, "set") {
        let more = if matches!(command, "run" | "check") { "; repeat the command for others" } else { "" };
        return Some(format!("`bufferlab {command}` takes one scenario{more}"));
    }
    let (_, key) = KEYS.iter().find(|(name, _)| *name == option).filter(|_| has(command, "set"))?;
    Some(format!("`--set {key}=VALUE` changes this key of the scenario"))
}

fn for_missing(command: &str, argument: &str) -> Option<String> {
    let text = match argument.split(' ').next()? {
        "--vary" => {
            "for example --vary 'switch.buffer=[\"1 MB\", \"2 MB\"]' or --vary workload.0.load=0.2,0.4"
        }
        "<SCENARIO>" if has(command, "set") => {
            "`bufferlab new scenario NAME` writes a scenario to start with"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

fn for_subcommand(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let text = match name.as_str() {
        "list" => {
            "`bufferlab policy list`, `bufferlab theory list` and `bufferlab reproduce --list` list things"
        }
        "plot" | "figure" | "figures" => "`bufferlab report FOLDER --figures` draws figures",
        "simulate" | "sim" | "start" => "`bufferlab run SCENARIO` runs an experiment",
        "init" | "create" => "`bufferlab new scenario NAME` writes a scenario",
        _ => return None,
    };
    Some(text.to_owned())
}

/// Whether the command `command` has the option `option`.
fn has(command: &str, option: &str) -> bool {
    let args = Args::command();
    args.find_subcommand(command)
        .is_some_and(|found| found.get_arguments().any(|argument| argument.get_long() == Some(option)))
}
