//! The command line of `theory`: a subcommand for every calculator of the registry, with an option
//! for each of its parameters.

use crate::examples;
use crate::figure::FigureArgs;
use bufferlab_params::{ParamInfo, ParamKind, ParamValue, Word};
use bufferlab_scenario::{format_parameter, parse_parameter};
use bufferlab_theory::calculators::{CALCULATORS, CalculatorInfo, Rule};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};

/// Subcommands of the command `theory`.
#[derive(Debug)]
pub(crate) enum TheoryCommand {
    /// Runs a calculator with the given values of its parameters.
    Calculate {
        /// The calculator to run.
        info: &'static CalculatorInfo,
        /// Parameters whose values differ from their defaults, with these values.
        values: Vec<(String, ParamValue)>,
        /// Whether to replay the calculator's answer packet by packet.
        verify: bool,
        /// Whether to print the derivation as JSON.
        json: bool,
    },
    /// Lists all calculators of the command `theory`.
    List,
    /// Computes an analytical figure of a paper.
    Figure(FigureArgs),
}

/// Names of the subcommands of `theory` that are not calculators.
const LIST: &str = "list";
const FIGURE: &str = "figure";
/// Name of the option `--verify`, which every calculator has. The option replays the answer packet
/// by packet.
const VERIFY: &str = "verify";

/// Name of the option `--json`, which every calculator has. The option prints the derivation as
/// JSON.
const JSON: &str = "json";

impl FromArgMatches for TheoryCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Some((name, matches)) = matches.subcommand() else {
            return Err(Error::raw(ErrorKind::MissingSubcommand, "a calculator is missing"));
        };
        Ok(match name {
            LIST => Self::List,
            FIGURE => Self::Figure(FigureArgs::from_arg_matches(matches)?),
            name => {
                let info = CALCULATORS.find(name).expect("only names of the registry are accepted");
                let values = info
                    .params
                    .iter()
                    .filter_map(|param| Some((param.name.to_owned(), typed(param, matches)?)));
                Self::Calculate {
                    info,
                    values: values.collect(),
                    verify: matches.get_flag(VERIFY),
                    json: matches.get_flag(JSON),
                }
            }
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for TheoryCommand {
    fn augment_subcommands(command: Command) -> Command {
        let list =
            Command::new(LIST).about("List all calculators, one line each").after_help(examples::THEORY_LIST);
        let figure = FigureArgs::augment_args(Command::new(FIGURE))
            .about(
                "Compute an analytical figure of a paper: print its points as CSV, or write a page of charts",
            )
            .after_help(examples::THEORY_FIGURE);
        let calculators = CALCULATORS.all().into_iter().map(subcommand);
        command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(calculators)
            .subcommands([figure, list])
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        [LIST, FIGURE].contains(&name) || CALCULATORS.find(name).is_some()
    }
}

/// Creates the subcommand of `theory` that runs a calculator.
fn subcommand(info: &'static CalculatorInfo) -> Command {
    let command = Command::new(info.name)
        .aliases(info.aliases.iter().copied())
        .about(info.summary.trim_end_matches('.'))
        .after_help(examples::of_calculator(info))
        .args(info.params.iter().map(|param| option(info, param)))
        .arg(
            Arg::new(VERIFY)
                .long(VERIFY)
                .action(ArgAction::SetTrue)
                .help("Replay the answer packet by packet, and fail if it differs"),
        )
        .arg(
            Arg::new(JSON)
                .long(JSON)
                .action(ArgAction::SetTrue)
                .conflicts_with(VERIFY)
                .help("Print the derivation as JSON (`bufferlab schema theory`)"),
        );
    info.rules.iter().fold(command, |command, rule| match rule {
        Rule::OneOf(names) => {
            command.group(ArgGroup::new(rule.to_string()).args(names.iter().copied()).required(true))
        }
        Rule::Together(_) | Rule::Needs(..) => command,
    })
}

/// Creates the command-line option for a parameter of a calculator.
fn option(info: &'static CalculatorInfo, param: &'static ParamInfo) -> Arg {
    let (name, typed) = (info.option(param.name), param.name.replace('_', "-"));
    let option = Arg::new(param.name)
        .long(name.clone())
        .help(help(param))
        .requires_ifs(required_beside(param.name, info.rules));
    // The parameter's name is also accepted as an option, unless another option has this name.
    let is_free = info.params.iter().all(|other| info.option(other.name) != typed);
    let option = if is_free { option.alias(typed) } else { option };
    if param.kind == ParamKind::Flag {
        return option.action(ArgAction::SetTrue);
    }
    let action = match param.kind {
        ParamKind::List(_) => ArgAction::Append,
        _ => ArgAction::Set,
    };
    option
        .action(action)
        .value_name(value_name(param))
        .value_parser(value_parser(param.kind))
        .ignore_case(true)
        .allow_negative_numbers(is_number(param.kind))
        .required(matches!(param.default, ParamValue::Required(_)))
}

/// The options that must be given together with the option of the parameter `name`.
fn required_beside(
    name: &'static str,
    rules: &[Rule],
) -> impl Iterator<Item = (clap::builder::ArgPredicate, &'static str)> {
    let others = rules.iter().flat_map(move |rule| match *rule {
        Rule::Needs(first, other) if first == name => vec![other],
        Rule::Together(names) if names.contains(&name) => {
            names.iter().copied().filter(|other| *other != name).collect()
        }
        Rule::OneOf(_) | Rule::Together(_) | Rule::Needs(..) => Vec::new(),
    });
    others.map(|other| (clap::builder::ArgPredicate::IsPresent, other)).collect::<Vec<_>>().into_iter()
}

/// Formats the help of a parameter's option in one line: the parameter's meaning, and its default
/// in the notation of the command line.
fn help(param: &ParamInfo) -> String {
    let doc = param.doc.trim_end_matches('.');
    let commas = if matches!(param.kind, ParamKind::List(_)) { ", separated by commas" } else { "" };
    let default = match &param.default {
        ParamValue::Required(_) | ParamValue::Optional | ParamValue::Flag(false) => String::new(),
        ParamValue::Computed(rule) => format!(" [default: {rule}]"),
        value => {
            let text = format_parameter(value);
            if text.contains(' ') { format!(" [default: \"{text}\"]") } else { format!(" [default: {text}]") }
        }
    };
    format!("{doc}{commas}{default}")
}

/// Placeholder of a value in the help: the dimension or unit of the value,
/// otherwise the last word of the parameter's name.
fn value_name(param: &ParamInfo) -> String {
    let unit = match param.kind {
        ParamKind::Bytes { .. } => "size",
        ParamKind::Rate { .. } => "rate",
        ParamKind::Time { .. } => "time",
        ParamKind::Count { .. } => "n",
        ParamKind::Choice(_) => "name",
        ParamKind::Measure { unit, .. } => unit,
        ParamKind::Ratio { min: 0.0, max: 1.0 } | ParamKind::RatioAbove { min: 0.0, max: 1.0 } => "fraction",
        _ => param.name.rsplit('_').next().unwrap_or(param.name),
    };
    unit.to_uppercase()
}

fn is_number(kind: ParamKind) -> bool {
    match kind {
        ParamKind::Ratio { .. }
        | ParamKind::RatioAbove { .. }
        | ParamKind::Measure { .. }
        | ParamKind::RatioPerPriority { .. }
        | ParamKind::Count { .. } => true,
        ParamKind::List(kind) => is_number(*kind),
        ParamKind::Bytes { .. }
        | ParamKind::BytesPerPort { .. }
        | ParamKind::Time { .. }
        | ParamKind::Rate { .. }
        | ParamKind::Flag
        | ParamKind::Choice(_)
        | ParamKind::Text
        | ParamKind::Profiles
        | ParamKind::Tables(_)
        | ParamKind::Texts
        | ParamKind::Pairs { .. }
        | ParamKind::File
        | ParamKind::FlowSizes(_)
        | ParamKind::Nodes { .. } => false,
    }
}

fn value_parser(kind: ParamKind) -> ValueParser {
    match kind {
        ParamKind::Choice(words) => {
            let names = words.iter().map(|word: &Word| PossibleValue::new(word.name));
            let parse = move |name: String| {
                parse_parameter(kind, &name).expect("only these words are accepted, in any case")
            };
            PossibleValuesParser::new(names).map(parse).into()
        }
        ParamKind::Measure { unit, .. } => {
            ValueParser::new(move |text: &str| parse_parameter(kind, without_unit(text, unit)))
        }
        kind => ValueParser::new(move |text: &str| parse_parameter(kind, text)),
    }
}

/// The number of a measure such as `40 m` or `50 %`, whose unit may be omitted.
fn without_unit<'a>(text: &'a str, unit: &'a str) -> &'a str {
    let signs = match unit {
        "metres" => &["metres", "meters", "m"][..],
        "percent" => &["percent", "%"],
        _ => &[],
    };
    let ends = signs.iter().copied().chain([unit]);
    let number = |sign| text.trim().strip_suffix(sign).map(str::trim_end);
    ends.filter_map(number)
        .find(|number| number.ends_with(|c: char| c.is_ascii_digit() || c == '.'))
        .unwrap_or(text)
}

/// Returns the value that the user gave for a parameter. Users may give a list in several options.
fn typed(param: &ParamInfo, matches: &ArgMatches) -> Option<ParamValue> {
    if param.kind == ParamKind::Flag {
        return matches.get_flag(param.name).then_some(ParamValue::Flag(true));
    }
    let mut values = matches.get_many::<ParamValue>(param.name)?;
    if !matches!(param.kind, ParamKind::List(_)) {
        return values.next().cloned();
    }
    let elements = values.flat_map(|value| match value {
        ParamValue::List(list) => list.to_vec(),
        other => vec![other.clone()],
    });
    Some(ParamValue::List(elements.collect::<Vec<_>>().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;
    use bufferlab_theory::calculators::{Derivation, bytes};
    use clap::Parser;

    /// Example of a calculator that another crate could declare.
    static PARTS: CalculatorInfo = CalculatorInfo {
        name: "toy-parts",
        aliases: &["parts"],
        title: "Equal parts",
        summary: "How large equal parts of a buffer are.",
        source: "Arithmetic.",
        params: &[
            ParamInfo {
                name: "buffer",
                kind: ParamKind::Bytes { min: 1 },
                default: ParamValue::Bytes(4_000_000),
                artifact_default: None,
                doc: "Shared buffer.",
            },
            ParamInfo {
                name: "parts",
                kind: ParamKind::at_least(1),
                default: ParamValue::Required("8"),
                artifact_default: None,
                doc: "How many.",
            },
        ],
        rules: &[],
        examples: &[],
        run: |params| {
            let part = params.bytes("buffer") as f64 / params.count("parts") as f64;
            let mut derivation = Derivation::new("Equal parts");
            derivation.answer("part", part, bytes(part));
            Ok(derivation)
        },
    };

    fn parse(typed: &[&str]) -> Result<TheoryCommand, Error> {
        // A second registration of the calculator fails, because its name is already in use.
        let _ = CALCULATORS.register(PARTS);
        let typed = [&["bufferlab", "theory"], typed].concat();
        match args::Args::try_parse_from(typed)?.command {
            args::Command::Theory(command) => Ok(command),
            other => panic!("another command: {other:?}"),
        }
    }

    #[test]
    fn an_own_calculator_is_a_command_with_its_parameters_as_options() {
        let typed = ["toy-parts", "--parts", "8", "--buffer", "16 KB"];
        let Ok(TheoryCommand::Calculate { info, values, verify: false, json: false }) = parse(&typed) else {
            panic!("it is registered")
        };
        let found = info.calculate(&values).expect("in the domain");
        assert_eq!(found.to_string(), "Equal parts\n\npart  2 KB\n");
        assert_eq!(parse(&["parts"]).expect_err("parts").kind(), ErrorKind::MissingRequiredArgument);
        let help = parse(&["toy-parts", "--help"]).expect_err("help is shown").to_string();
        assert!(
            help.contains("--buffer <SIZE>") && help.contains("Shared buffer [default: \"4 MB\"]"),
            "{help}"
        );
        let all = parse(&["--help"]).expect_err("help is shown").to_string();
        assert!(all.contains("toy-parts") && all.contains("How large equal parts of a buffer are"), "{all}");
    }

    #[test]
    fn parameters_that_go_together_are_asked_for_together() {
        let alone = |typed: &[&str]| parse(typed).expect_err("refused").kind();
        assert_eq!(alone(&["ecn", "--burst", "1 KB"]), ErrorKind::MissingRequiredArgument);
        assert_eq!(alone(&["headroom", "--response-bits", "1"]), ErrorKind::MissingRequiredArgument);
        assert_eq!(alone(&["alpha", "--burst-rate", "50 Gb/s"]), ErrorKind::MissingRequiredArgument);
        let both = ["alpha", "--burst-rate", "50 Gb/s", "--burst", "1 KB", "--duration", "1 us"];
        assert_eq!(alone(&both), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn a_measure_may_have_its_unit() {
        let cable = |typed: &str| match parse(&["headroom", "--cable", typed]) {
            Ok(TheoryCommand::Calculate { values, .. }) => {
                values.into_iter().find(|(name, _)| name == "cable").map(|(_, value)| value)
            }
            _ => None,
        };
        for typed in ["40", "40 m", "40m", "40 metres"] {
            assert_eq!(cable(typed), Some(ParamValue::Ratio(40.0)), "{typed}");
        }
        assert_eq!(cable("40 s"), None);
        assert!(parse(&["headroom", "--small-packets", "20 %", "--gearbox-delay", "5 ns"]).is_ok());
    }

    #[test]
    fn the_rate_is_that_of_the_link_in_every_calculator() {
        for (typed, name) in [
            (&["alpha", "--rate", "25 Gb/s", "--burst-rate", "50 Gb/s", "--burst", "1 KB"][..], "port_rate"),
            (&["burst-tolerance", "--rate", "25 Gb/s"], "port_rate"),
            (&["burst-tolerance", "--port-rate", "25 Gb/s"], "port_rate"),
            (&["ecn", "--rate", "25 Gb/s"], "port_rate"),
            (&["headroom", "--rate", "25 Gb/s"], "rate"),
        ] {
            let Ok(TheoryCommand::Calculate { values, .. }) = parse(typed) else { panic!("{typed:?}") };
            let rate = ParamValue::Rate(bufferlab_units::BitRate(25_000_000_000));
            assert!(values.contains(&(name.to_owned(), rate)), "{typed:?}: {values:?}");
        }
    }

    #[test]
    fn a_list_is_typed_with_commas_or_in_parts() {
        for typed in
            [&["guarantees", "--alphas", "0.5,20"][..], &["guarantees", "--alphas", "0.5", "--alphas", "20"]]
        {
            let Ok(TheoryCommand::Calculate { values, .. }) = parse(typed) else { panic!("{typed:?}") };
            let list = vec![ParamValue::Ratio(0.5), ParamValue::Ratio(20.0)];
            assert_eq!(values, [("alphas".to_owned(), ParamValue::List(list.into()))]);
        }
    }
}
