//! The command `testbed` runs scenarios with real hosts.

#[cfg(target_os = "linux")]
mod reproduce;
#[cfg(target_os = "linux")]
mod shell;

use crate::args::{TestbedCommand, TestbedRunArgs, TestbedUpArgs};
use crate::{inform, interrupt, print, records, say};
use bufferlab_scenario::{LoadError, Loaded};
use bufferlab_testbed::{DEMO, Plan, check};
use miette::miette;
use std::path::Path;

/// Executes a subcommand of the command `testbed`.
pub(crate) fn testbed(command: &TestbedCommand) -> miette::Result<()> {
    match command {
        TestbedCommand::Check { json } => show_check(*json),
        #[cfg(target_os = "linux")]
        TestbedCommand::Run(args) => real::run(args),
        #[cfg(target_os = "linux")]
        TestbedCommand::Up(args) => real::up(args),
        #[cfg(target_os = "linux")]
        TestbedCommand::Reproduce(args) => reproduce::reproduce(args),
        #[cfg(target_os = "linux")]
        TestbedCommand::Shell(args) => shell::shell(args),
        #[cfg(target_os = "linux")]
        TestbedCommand::Down => real::down(),
        #[cfg(not(target_os = "linux"))]
        _ => demand(),
    }
}

fn show_check(as_json: bool) -> miette::Result<()> {
    if as_json {
        records::testbed_check(&check())?;
        return demand();
    }
    for finding in check() {
        let state = match (finding.is_there, finding.is_needed) {
            (true, _) => "ok",
            (false, true) => "MISSING",
            (false, false) => "absent",
        };
        let advice = if finding.is_there { String::new() } else { format!(": {}", finding.advice) };
        print(&format!("{state:<8} {}{advice}\n", finding.what))?;
    }
    demand()
}

/// Returns an error if this machine lacks anything that the testbed needs.
fn demand() -> miette::Result<()> {
    let missing: Vec<_> = check().into_iter().filter(|one| one.is_needed && !one.is_there).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|one| one.what).collect();
    let advice: Vec<_> = missing.iter().map(|one| one.advice).collect();
    Err(miette!(help = advice.join("\n"), "this machine lacks what the testbed needs: {}", names.join(", ")))
}

/// Policies of the scenario `demo`: DT and LossPass, with the port buffer of LossPass's testbed.
const DEMO_POLICIES: [(&str, &str); 2] = [
    ("dt", "{ name = \"dt\", alpha = 8.0 }"),
    ("losspass", "{ name = \"losspass\", port_limit = \"static\", port_buffer = \"128 KB\" }"),
];

fn is_demo(path: &Path) -> bool {
    path == Path::new("demo")
}

fn load(path: &Path, overrides: &[(String, String)]) -> Result<Loaded, LoadError> {
    if is_demo(path) {
        bufferlab_scenario::load_text(Path::new("testbed-demo.toml"), DEMO, overrides)
    } else {
        bufferlab_scenario::load(path, overrides)
    }
}

/// Returns the folder name and the scenario of each planned run.
fn variants(args: &TestbedRunArgs) -> miette::Result<Vec<(String, Loaded)>> {
    let own = policy_in_file(args)?;
    let names: Vec<String> = match (args.policies.as_slice(), is_demo(&args.scenario)) {
        ([], true) => DEMO_POLICIES.map(|(name, _)| name.to_owned()).to_vec(),
        ([], false) => vec![own.clone()],
        (chosen, _) => chosen.iter().flat_map(|list| &list.0).map(|info| info.name.to_owned()).collect(),
    };
    let count = args.seeds.map_or(1, |seeds| seeds.get().into());
    bufferlab_lab::SEEDS
        .check(count)
        .map_err(|beyond| miette!(help = "run fewer at a time", "--seeds: {beyond}"))?;
    let seeds: Vec<Option<u64>> =
        args.seeds.map_or_else(|| vec![None], |count| (1..=u64::from(count.get())).map(Some).collect());
    let mut variants = Vec::new();
    // The policies alternate within a seed, so that disturbances of this machine
    // affect all policies.
    for seed in seeds {
        for name in &names {
            variants.push((name.clone(), load_as(args, &own, name, seed)?));
        }
    }
    Ok(variants)
}

/// Overrides of the command line, except overrides of the policy and the seed.
fn changes(args: &TestbedRunArgs) -> Vec<(String, String)> {
    let applications = args.applications.iter().map(|who| ("host.applications".to_owned(), who.clone()));
    args.overrides.iter().cloned().chain(applications).collect()
}

/// Returns the policy that the scenario file names.
fn policy_in_file(args: &TestbedRunArgs) -> Result<String, LoadError> {
    Ok(load(&args.scenario, &changes(args))?.scenario.switches[0].policy.clone())
}

/// Loads the scenario with the policy `policy`. If `policy` is the policy in the scenario file, the
/// policy keeps its parameters.
fn load_as(args: &TestbedRunArgs, own: &str, policy: &str, seed: Option<u64>) -> Result<Loaded, LoadError> {
    let demo = DEMO_POLICIES.iter().find(|(name, _)| *name == policy);
    let value = match demo.filter(|_| args.policies.is_empty() && is_demo(&args.scenario)) {
        Some((_, value)) => Some((*value).to_owned()),
        None => (policy != own).then(|| policy.to_owned()),
    };
    let policy = value.into_iter().map(|value| ("switch.policy".to_owned(), value));
    let seed = seed.into_iter().map(|seed| ("seed".to_owned(), seed.to_string()));
    let overrides: Vec<_> = policy.chain(changes(args)).chain(seed).collect();
    load(&args.scenario, &overrides)
}

#[cfg(target_os = "linux")]
mod real {
    use super::*;
    use crate::args::WatchArgs;
    use crate::error;
    use crate::live::Quit;
    use crate::watching;
    use bufferlab_core::find_policy;
    use bufferlab_dataplane::CaptureWriter;
    use bufferlab_lab::{Destination, Job, execute_one, prepare_group};
    use bufferlab_report::Report;
    use bufferlab_results::Claim;
    use bufferlab_testbed::sandbox::{self, SandboxSide};
    use bufferlab_testbed::{RealRun, TestbedError, Watching, hold, run_real};
    use std::io::{Read, Write};
    use std::path::PathBuf;
    use std::process::{Child, Command, ExitStatus, Output, Stdio};
    use std::time::Duration;

    pub(super) fn plan(loaded: Loaded) -> miette::Result<Plan> {
        Plan::new(loaded).map_err(|error| miette!("{error}"))
    }

    pub(super) fn failed(error: TestbedError) -> miette::Report {
        miette!("{error}")
    }

    /// Continues the program inside the sandbox, where it listens for signals that request its end.
    /// Outside the sandbox, this function returns only on failure.
    pub(super) fn inside() -> miette::Result<()> {
        let cannot = |error| miette!("cannot start the testbed: {error}");
        match sandbox::place() {
            SandboxSide::Before => {
                demand()?;
                Err(miette!("cannot start `unshare`: {}", sandbox::enter(crate::again())))
            }
            SandboxSide::Outside => {
                std::process::exit(sandbox::supervise(crate::again()).map_err(cannot)?.into());
            }
            SandboxSide::Inside => {
                interrupt::listen_to_services();
                sandbox::settle().map_err(cannot)
            }
        }
    }

    pub(super) fn run(args: &TestbedRunArgs) -> miette::Result<()> {
        // The command checks all arguments before it creates hosts.
        watching::check(&args.watching)?;
        let variants = variants(args)?;
        let default = || Path::new("results").join(format!("{}-real", variants[0].1.scenario.name));
        let out = args.out.clone().unwrap_or_else(default);
        let mut plans = Vec::new();
        for (name, loaded) in variants {
            let plan = plan(loaded)?;
            if let Some(folder) = captures(&args.watching, &name, &plan) {
                watching::check_captures(&folder, &plan.switch, "choose another folder for --capture")?;
            }
            plans.push((name, plan));
        }
        inside()?;
        interrupt::listen();
        let _claim = Claim::folder(&out).map_err(error::results)?;
        prepare(args, &out, &plans)?;
        for (name, plan) in &plans {
            let seed = format!("seed-{}", plan.scenario().seed);
            inform(&format!("{name}, {seed}: {} with real hosts", plan.scenario().duration));
            let folder = out.join(name).join(&seed);
            let captures = captures(&args.watching, name, plan);
            let capture = begin(&args.watching, captures.as_deref(), plan)?;
            let text = format!("{}: {name}, {seed}", plan.scenario().name);
            let title = watching::title(&args.watching, &plan.switch, text, Quit::View);
            let run = watching::with_view(title, |watch| {
                run_real(plan, &folder, Watching { watch, capture }, &|| !interrupt::requested())
            });
            let run = run.map_err(failed)?;
            describe(name, &run, args.json)?;
            if !args.only_real {
                let dir = out.join(format!("{name}{SIMULATED}")).join(&seed);
                let job = Job { loaded: plan.loaded.clone(), dir, caveats: Vec::new() };
                execute_one(&job, false, &mut |_| !interrupt::requested())
                    .map_err(|error| miette!("{error}"))?;
            }
        }
        let order: Vec<_> = plans.into_iter().map(|(name, _)| name).collect();
        let report = Report::load(&out, &order).map_err(crate::error::report)?;
        let written: Vec<PathBuf> = report.write().map_err(crate::error::report)?;
        if args.json {
            print(&report.json().map_err(crate::error::report)?)?;
            inform(&format!("report in {}", written[0].display()));
            return Ok(());
        }
        print(&report.text())?;
        print(&format!("\n{}\n", written[0].display()))
    }

    /// Ending of the folder names of simulated runs, after the name of a policy.
    const SIMULATED: &str = "-simulated";

    /// Prepares the folder of results, and refuses earlier runs of a different scenario. With
    /// `--replace`, the command removes these earlier runs.
    fn prepare(args: &TestbedRunArgs, out: &Path, plans: &[(String, Plan)]) -> miette::Result<()> {
        let endings: &[&str] = if args.only_real { &[""] } else { &["", SIMULATED] };
        let job = |(name, plan): &(String, Plan), ending: &str| {
            let dir = out.join(format!("{name}{ending}")).join(format!("seed-{}", plan.scenario().seed));
            Job { loaded: plan.loaded.clone(), dir, caveats: Vec::new() }
        };
        let jobs: Vec<_> =
            plans.iter().flat_map(|plan| endings.iter().map(move |ending| job(plan, ending))).collect();
        let known = |folder: &str, seed: u64| {
            let policy = find_policy(folder.strip_suffix(SIMULATED).unwrap_or(folder))?;
            Some(policy_in_file(args).and_then(|own| load_as(args, &own, policy.name, Some(seed))))
        };
        let to = Destination { out, replace: args.replace };
        prepare_group(to, &jobs, &known).map(drop).map_err(error::plan)
    }

    /// Folder for the capture files of a run.
    fn captures(args: &WatchArgs, name: &str, plan: &Plan) -> Option<PathBuf> {
        let seed = format!("seed-{}", plan.scenario().seed);
        args.capture.as_ref().map(|folder| folder.join(name).join(seed))
    }

    fn begin(args: &WatchArgs, folder: Option<&Path>, plan: &Plan) -> miette::Result<Option<CaptureWriter>> {
        folder.map(|folder| watching::capture(args, folder, &plan.switch)).transpose()
    }

    /// Reports the lateness and other measures of quality of a run, on stderr if stdout carries
    /// JSON.
    fn describe(name: &str, run: &RealRun, as_json: bool) -> miette::Result<()> {
        for note in &run.notes {
            say(note);
        }
        let [p50, p99, p999, largest] = run.lateness_ns.map(|ns| ns as f64 / 1e3);
        let parity = match &run.parity {
            Some(parity) => format!(
                "{} of {} packets decided differently by the simulator",
                parity.differences, parity.packets
            ),
            None => "the policy follows flows, so the simulator cannot judge its packets".to_owned(),
        };
        let mut text = format!(
            "{name}: lateness p50 {p50:.0} us, p99 {p99:.0} us, p99.9 {p999:.0} us, largest {largest:.0} us; {parity}\n"
        );
        if let Some(report) = &run.capture {
            text.push_str(&watching::captured(report));
        }
        if as_json {
            inform(text.trim_end());
            return Ok(());
        }
        print(&text)
    }

    pub(super) fn up(args: &TestbedUpArgs) -> miette::Result<()> {
        watching::check(&args.watching)?;
        if args.watching.live && args.command.is_empty() {
            let help = "name a command that sends: `bufferlab testbed up demo --live -- sh traffic.sh`; its output follows at its end";
            return Err(miette!(help = help, "--live and a shell cannot share a terminal"));
        }
        let plan = plan(load(&args.scenario, &args.overrides)?)?;
        if let Some(folder) = &args.watching.capture {
            watching::check_captures(folder, &plan.switch, "choose another folder for --capture")?;
        }
        inside()?;
        let shell = || std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
        let words = if args.command.is_empty() { vec![shell()] } else { args.command.clone() };
        let hosts: Vec<_> = plan.scenario().topology.hosts.clone();
        inform(&format!(
            "hosts {} are ready, from 10.77.0.1; `bufferlab testbed shell {}` in another terminal opens a shell on one; the testbed ends with `{}`",
            shell::in_words(&hosts),
            hosts[0],
            words.join(" ")
        ));
        let capture = begin(&args.watching, args.watching.capture.as_deref(), &plan)?;
        let text = format!("{}: {}", plan.scenario().name, words.join(" "));
        let title = watching::title(&args.watching, &plan.switch, text, Quit::View);
        let held = watching::with_view(title, |watch| {
            let is_seen = watch.is_none();
            hold(&plan, Watching { watch, capture }, args.keep_awake, || command(&words, is_seen))
        });
        let (ended, summary) = held.map_err(failed)?;
        if let Ok(output) = &ended {
            // The output of the user's command is passed on without changes.
            let _ = std::io::stdout().write_all(&output.stdout);
            let _ = std::io::stderr().write_all(&output.stderr);
        }
        if let Some(report) = summary.capture.map_err(|error| failed(TestbedError::Capture(error)))? {
            print(&watching::captured(&report))?;
        }
        match ended.map(|output| output.status) {
            Ok(status) if status.success() || args.command.is_empty() => Ok(()),
            Ok(status) => Err(miette!("`{}` ended with {status}", words.join(" "))),
            Err(error) => Err(miette!("cannot start `{}`: {error}", words.join(" "))),
        }
    }

    /// Runs a command with this terminal. Without a terminal, the function captures the command's
    /// standard output and error.
    fn command(words: &[String], has_terminal: bool) -> std::io::Result<Output> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_remove(sandbox::PLACE);
        if !has_terminal {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let mut child = command.spawn()?;
        let pipes = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let (stdout, stderr) = (scope.spawn(|| content(pipes.0)), scope.spawn(|| content(pipes.1)));
            let status = wait(&mut child)?;
            let joined =
                |thread: std::thread::ScopedJoinHandle<'_, Vec<u8>>| thread.join().unwrap_or_default();
            Ok(Output { status, stdout: joined(stdout), stderr: joined(stderr) })
        })
    }

    /// Reads all data from a pipe. Without a pipe, the result is empty.
    fn content(pipe: Option<impl Read>) -> Vec<u8> {
        let mut all = Vec::new();
        if let Some(mut pipe) = pipe {
            // The data read before an error are kept, and the error is ignored.
            let _ = pipe.read_to_end(&mut all);
        }
        all
    }

    /// Waits until the process `child` ends. After Ctrl-C, the function kills the process.
    fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
        const LOOK: Duration = Duration::from_millis(50);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if interrupt::requested() {
                child.kill()?;
            }
            std::thread::sleep(LOOK);
        }
    }

    pub(super) fn down() -> miette::Result<()> {
        let ended = sandbox::end_all().map_err(|error| miette!("cannot end a testbed: {error}"))?;
        print(&format!("{ended} ended\n"))
    }
}
