//! Runs the whole suite in one call and reports a finding for every claim.

use crate::properties::{EXACT, MONOTONE, PROPERTIES, Property, Violation};
use crate::script::Script;
use crate::subject::Subject;
use crate::suite::{check_one, minimised, random_script, try_tiny};
use crate::vectors::VectorFile;
use bufferlab_core::{ParamValue, PolicyInfo};
use std::fmt;
use std::ops::Range;

/// Number and length of the scripts that the suite runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Length n of the exhaustive scripts over a buffer of three packets. The suite has 5ⁿ + 4ⁿ
    /// scripts of length n.
    pub exhaustive_length: u32,
    /// Seeds of random scripts, each with 600 operations over a large switch.
    pub random_seeds: Range<u64>,
}

/// The default settings are those of the tests that every registered policy must pass.
impl Default for Effort {
    fn default() -> Self {
        Self { exhaustive_length: 6, random_seeds: 0..40 }
    }
}

impl Effort {
    /// Returns settings with about a twentieth of the default number of scripts, for a first check
    /// or for policies with slow verdicts.
    #[must_use]
    pub fn quick() -> Self {
        Self { exhaustive_length: 4, random_seeds: 0..6 }
    }
}

/// Settings of a check, and the claims of the policy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Values of policy parameters that replace the defaults.
    pub params: Vec<(String, ParamValue)>,
    /// Whether admission depends on more than the threshold and the size of the buffer: see
    /// [`Subject::with_other_limits`].
    pub other_limits: bool,
    /// Largest number of stored packets that an arrival may evict; `None` makes no claim.
    pub most_evictions: Option<usize>,
    /// Number and length of the scripts that the suite runs.
    pub effort: Effort,
    /// Golden vectors that the policy must meet.
    pub vectors: Vec<VectorFile>,
}

/// Checks every property of a policy, and the policy's vectors.
///
/// ```
/// use bufferlab_conformance::{Effort, Options, check};
///
/// let dt = bufferlab_core::find_policy("dt").expect("registered");
/// let report = check(dt, &Options { effort: Effort::quick(), ..Options::default() });
/// assert!(report.holds(), "{report}");
/// ```
#[must_use]
pub fn check(info: &'static PolicyInfo, options: &Options) -> Report {
    let params: Vec<_> = options.params.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut subject = Subject::registered(info, &params);
    if options.other_limits {
        subject = subject.with_other_limits();
    }
    if let Some(count) = options.most_evictions {
        subject = subject.with_at_most_evictions(count);
    }
    let mut report = check_subject(&subject, &options.effort);
    for case in options.vectors.iter().flat_map(|file| &file.cases) {
        let place = format!("{}:{}", case.file, case.line);
        let finding = if case.policy == info.name {
            case.build().map_err(|error| format!("{place}: {error}")).and_then(|mut device| {
                case.run(&mut device, &mut |_, _| {}).map_err(|mismatch| mismatch.to_string())
            })
        } else {
            Err(format!("{place}: a case of the policy \"{}\"", case.policy))
        };
        let finding = finding.map_or_else(Finding::Differs, |()| Finding::Holds);
        report.checks.push(Check { claim: format!("vector: {}", case.name), trials: 1, finding });
    }
    report
}

/// Checks every property of any subject, and continues after a failure.
#[must_use]
pub fn check_subject(subject: &Subject, effort: &Effort) -> Report {
    let check = |property: &Property| {
        let claim = property.claim.to_owned();
        if let Some(why) = not_claimed(subject, property) {
            return Check { claim, trials: 0, finding: Finding::NotClaimed(why) };
        }
        let mut trials = 0;
        let finding = match search(subject, property, effort, &mut trials) {
            Ok(()) => Finding::Holds,
            Err(violation) => Finding::Fails(Box::new(minimised(subject, violation))),
        };
        Check { claim, trials, finding }
    };
    Report { subject: subject.name().to_owned(), checks: PROPERTIES.iter().map(check).collect() }
}

/// Searches for a violation, short scripts first: the counterexamples of short scripts are
/// the easiest to read.
fn search(
    subject: &Subject,
    property: &Property,
    effort: &Effort,
    trials: &mut u64,
) -> Result<(), Violation> {
    let mut one = |script: &Script| {
        *trials += 1;
        check_one(subject, property, script)
    };
    try_tiny(effort.exhaustive_length, &mut one)?;
    effort.random_seeds.clone().try_for_each(|seed| one(&random_script(seed)))
}

/// Returns the reason why the suite does not check a property; `None` if the suite checks the
/// property.
fn not_claimed(subject: &Subject, property: &Property) -> Option<&'static str> {
    match property.claim {
        MONOTONE if subject.build_with_alpha.is_none() => Some("it has no parameter alpha"),
        EXACT if !subject.exact_threshold => Some("it declares other limits"),
        _ => None,
    }
}

/// A claim in the report, with the finding of its check.
#[derive(Clone, Debug)]
pub struct Check {
    /// Text of the claim in plain words.
    pub claim: String,
    /// Number of scripts that the check has run.
    pub trials: u64,
    /// Finding of the check: whether the claim holds.
    pub finding: Finding,
}

/// Finding of a check: whether a claim holds.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The check found no violation of the claim.
    Holds,
    /// The policy does not make the claim, for the given reason, so the suite does not check the
    /// claim.
    NotClaimed(&'static str),
    /// The claim fails: the violation has the shortest script that was found.
    Fails(Box<Violation>),
    /// A golden vector has another result than expected, or cannot be run.
    Differs(String),
}

impl Check {
    /// Whether the check found a counterexample.
    #[must_use]
    pub fn fails(&self) -> bool {
        matches!(self.finding, Finding::Fails(_) | Finding::Differs(_))
    }

    /// Description of the violation, with the script that shows the violation.
    #[must_use]
    pub fn counterexample(&self) -> Option<String> {
        match &self.finding {
            Finding::Fails(violation) => Some(violation.to_string()),
            Finding::Differs(what) => Some(what.clone()),
            Finding::Holds | Finding::NotClaimed(_) => None,
        }
    }

    /// Description of the violation in one line, without the script.
    fn in_short(&self) -> Option<&str> {
        let what = match &self.finding {
            Finding::Fails(violation) => &violation.what,
            Finding::Differs(what) => what,
            Finding::Holds | Finding::NotClaimed(_) => return None,
        };
        what.lines().next()
    }
}

/// Findings on every claim of a policy. The text of the report has a line per claim, then the first
/// counterexample in full.
#[derive(Clone, Debug)]
pub struct Report {
    /// Name of the tested policy or device.
    pub subject: String,
    /// Checks of the properties in the order of [`PROPERTIES`], then checks of the golden vectors.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether all claims of the report hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failures().next().is_none()
    }

    /// Returns the checks whose claims fail.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| check.fails())
    }

    /// Returns the report as an error if a claim failed.
    ///
    /// # Errors
    /// If at least one claim failed.
    pub fn into_result(self) -> Result<(), Self> {
        if self.holds() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claimed = |check: &&Check| !matches!(check.finding, Finding::NotClaimed(_));
        let (failed, all) = (self.failures().count(), self.checks.iter().filter(claimed).count());
        writeln!(f, "{}: {} of {all} claims hold", self.subject, all - failed)?;
        for check in &self.checks {
            let Check { claim, trials, finding } = check;
            match finding {
                Finding::Holds => writeln!(f, "  ok    {claim} ({trials} scripts)")?,
                Finding::NotClaimed(why) => writeln!(f, "  -     {claim}: {why}")?,
                Finding::Fails(_) | Finding::Differs(_) => {
                    writeln!(f, "  FAIL  {claim}: {}", check.in_short().unwrap_or_default())?;
                }
            }
        }
        match self.failures().find_map(Check::counterexample) {
            Some(first) => write!(f, "\n{}", first.trim_end()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Report {}
