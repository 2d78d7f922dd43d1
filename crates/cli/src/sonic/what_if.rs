//! The command `sonic what-if` turns a configuration into a scenario, and compares the configured
//! settings with other settings.

use super::{load_from, unknown, warn};
use crate::args::ExecutionArgs;
use crate::execute::{clear_away, execute_all, failed, resume, say_others, say_what_is_refused, take_hidden};
use crate::sonic_args::WhatIfArgs;
use crate::{error, inform, print};
use bufferlab_lab::{Destination, Plan, PolicySelection, plan_compare};
use bufferlab_operator::what_if::{SCENARIO_NAME, check_scenario, recommend, text, write_scenario};
use bufferlab_operator::{Model, Network, OperatorError, Traffic, WhatIf};
use bufferlab_report::Report;
use bufferlab_results::Claim;
use bufferlab_scenario::{Changes, Variant, load_changed};
use bufferlab_sonic::Config;
use bufferlab_sonic::silicon::{Chip, PredictError};
use miette::miette;
use std::path::{Path, PathBuf};

/// Name of the folder of the runs, which is beside the scenario.
const RUNS: &str = "compare";

pub(super) fn wrong(error: OperatorError) -> miette::Report {
    let help = error.help.clone();
    miette!(help = help, "{error}")
}

/// The configuration and the model of a switch that has only one chip.
pub(super) fn one(
    paths: &[PathBuf],
    redis: Option<&str>,
    chip: impl Fn(&Config) -> Result<&'static Chip, PredictError>,
) -> miette::Result<(Config, Model)> {
    let mut all = load_from(paths, redis)?;
    if all.len() > 1 {
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        return Err(miette!(
            help = "give the files of one of them, and those that belong to all",
            "the files describe several chips: {}",
            names.join(", ")
        ));
    }
    let (_, config) = all.remove(0);
    warn(&config);
    let chip = chip(&config).map_err(unknown)?;
    let model = Model::new(&config, chip).map_err(wrong)?;
    Ok((config, model))
}

pub(super) fn what_if(args: &WhatIfArgs) -> miette::Result<()> {
    let chip = |config: &Config| args.files.chip().resolve(config);
    let with = |paths: &[PathBuf]| -> Vec<PathBuf> { paths.iter().chain(&args.with).cloned().collect() };
    let (config, model) = one(&with(&args.files.files), args.files.redis.as_deref(), chip)?;
    let other = match &args.against {
        Some(path) => Some(one(&with(std::slice::from_ref(path)), None, |_| Ok(model.chip))?),
        None => None,
    };
    let traffic = Traffic {
        network: args.leaves.map_or(Network::Star, |leaves| Network::LeafSpine { leaves }),
        load: args.load,
        fan_in: args.fan_in,
        request: args.request,
        duration_seconds: args.duration,
        ..Traffic::new(args.traffic)
    };
    let against = other.as_ref().map(|(config, model)| (config, model));
    let plan = WhatIf::new("what-if", (&config, &model), against, &traffic).map_err(wrong)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("results").join("sonic-what-if"));
    let path = out.join(SCENARIO_NAME);
    // All checks are complete before the command's first write.
    check_scenario(&out, &plan.scenario, args.replace).map_err(wrong)?;
    let _claim = Claim::folder(&out).map_err(error::results)?;
    let planned = if args.only_write { None } else { Some(compared(args, &plan, &path, &out.join(RUNS))?) };
    write_scenario(&out, &plan.scenario).map_err(wrong)?;
    inform(&format!("scenario in {}: `bufferlab run` and `bufferlab compare` play it", path.display()));
    match planned {
        Some(planned) => run(args, &plan, planned, &path, &out.join(RUNS)),
        None => Ok(()),
    }
}

/// Plans the runs of all compared settings.
fn compared(args: &WhatIfArgs, plan: &WhatIf, path: &Path, out: &Path) -> miette::Result<Plan> {
    let load = |variant: Option<&Variant>, then: &[(String, String)]| {
        load_changed(path, Some(&plan.scenario), &Changes { variant, then, ..Changes::default() })
    };
    let choices: Vec<_> =
        plan.choices.iter().map(|choice| PolicySelection::One(choice.variant.clone())).collect();
    let to = Destination { out, replace: args.replace };
    plan_compare(&load, &choices, args.seeds, None, to).map_err(error::plan)
}

fn run(args: &WhatIfArgs, plan: &WhatIf, mut planned: Plan, path: &Path, out: &Path) -> miette::Result<()> {
    let how = ExecutionArgs {
        seeds: Some(args.seeds),
        out: None,
        jobs: args.jobs,
        threads: None,
        verify: false,
        json: false,
    };
    let finished = resume(&mut planned, &how);
    let hidden = take_hidden(args.with_earlier, &mut planned);
    say_what_is_refused(&planned);
    let failures = execute_all(path, out, &planned, finished, &how)?;
    let report = Report::load_without(out, &planned.policies, &hidden).map_err(error::report)?;
    let written = report.write().map_err(error::report)?;
    clear_away(out);
    let recommendation = recommend(&report.comparison, plan);
    if args.json {
        let value = serde_json::json!({ "comparison": report.comparison, "recommendation": recommendation });
        super::json(&value)?;
    } else {
        print(&text(&report.comparison, plan, &recommendation))?;
    }
    say_others(&report);
    inform(&format!("results in {}, report in {}", out.display(), written[0].display()));
    failed(&planned, &failures)
}
