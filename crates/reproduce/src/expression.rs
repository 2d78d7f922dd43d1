//! Expressions that measure a paper's statement: scripts over the metrics of runs, as means over
//! the seeds. The last value of the script is the measured effect.
//!
//! The language is [Rhai](https://rhai.rs) with these functions:
//!
//! | function | value |
//! |---|---|
//! | `v(metric, variant)`, `v(metric, variant, x)`, `v(metric, variant, x, y)` | the metric's value in a run; `x` is a value of the first axis, `y` of the second axis |
//! | `over(metric, variant)`, `over(metric, variant, y)` | the metric's values along the first axis; `y` is a fixed value of the second axis |
//! | `xs()` | the values of the first axis, as numbers |
//! | `lower(scheme, baseline)` | relative reduction by the scheme: (baseline − scheme) / baseline; 0 if scheme and baseline are 0; lists are compared by element |
//! | `fewer(scheme, baseline)` | like `lower`, for counts: the difference is relative to the larger count, so that a baseline of 0 gives −1 |
//! | `ratio(a, b)` | the quotient a / b; lists are divided by element |
//! | `mean(list)`, `min(list)`, `max(list)` | the mean, the smallest and the largest value of the list |
//! | `farthest(list)` | the value of the list that is farthest from 0, with its sign |
//! | `median(list)` | the middle value of the list; for an even number of values, the mean of the two middle values |
//! | `spearman(x, y)` | rank correlation, from −1 to 1; 0 for constant values |
//! | `slope(x, y)` | slope of the straight line through the points, by least squares |
//! | `rising(list)` | the smallest relative step between neighbouring values of the list: −0.1 is a fall by a tenth |
//!
//! Lists are written `["dt", "fab"].map(|p| v("incast", p, 0.4))`.

use crate::RunFailure;
use rhai::{AST, Array, Dynamic, Engine, EvalAltResult, Scope};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Source of metric values for expressions; the values are means over the seeds of the runs.
pub trait Values: Send + Sync {
    /// Returns the value of a metric in the runs of a variant at some axis values.
    ///
    /// # Errors
    /// If there is no run with this variant and these axis values, or the run has no value of the
    /// metric.
    fn value(&self, metric: &str, variant: &str, places: &[String]) -> Result<f64, ValueError>;
    /// Returns the labels and numbers of the first axis's values.
    fn first_axis(&self) -> Vec<(String, f64)>;
}

/// A query of an expression for a number of a run: metric, variant and axis values.
pub type Question = (String, String, Vec<String>);

/// A source of metric values that records the queries of an expression.
pub struct Traced {
    values: Arc<dyn Values>,
    questions: Mutex<BTreeSet<Question>>,
}

impl Traced {
    /// Wraps the source `values` to record queries; no query is recorded yet.
    #[must_use]
    pub fn new(values: Arc<dyn Values>) -> Self {
        Self { values, questions: Mutex::default() }
    }

    /// Returns the recorded queries for metrics that had a value.
    #[must_use]
    pub fn questions(&self) -> BTreeSet<Question> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Values for Traced {
    fn value(&self, metric: &str, variant: &str, places: &[String]) -> Result<f64, ValueError> {
        let value = self.values.value(metric, variant, places)?;
        let question = (metric.to_owned(), variant.to_owned(), places.to_vec());
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).insert(question);
        Ok(value)
    }

    fn first_axis(&self) -> Vec<(String, f64)> {
        self.values.first_axis()
    }
}

/// A source of metric values that answers every query with the numbers of one scheme. With this
/// source, every comparison of schemes shows no difference.
pub struct OneForAll {
    values: Arc<dyn Values>,
    scheme: String,
}

impl OneForAll {
    /// Replaces every scheme of the source `values` by the one scheme `scheme`.
    #[must_use]
    pub fn new(values: Arc<dyn Values>, scheme: &str) -> Self {
        Self { values, scheme: scheme.to_owned() }
    }
}

impl Values for OneForAll {
    fn value(&self, metric: &str, _: &str, places: &[String]) -> Result<f64, ValueError> {
        self.values.value(metric, &self.scheme, places)
    }

    fn first_axis(&self) -> Vec<(String, f64)> {
        self.values.first_axis()
    }
}

/// Reason why a run has no value of a metric.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ValueError {
    /// The experiment has no metric with this name.
    #[error("[metrics] has no \"{0}\"")]
    Metric(String),
    /// The experiment has no variant with this name.
    #[error("there is no variant \"{0}\"")]
    Variant(String),
    /// The number of axis values in a query does not match the number of axes.
    #[error("{given} values for {axes} axes")]
    Places {
        /// Number of axis values that the query for a metric names.
        given: usize,
        /// Number of axes that the experiment has.
        axes: usize,
    },
    /// The experiment's axis has no value with this label.
    #[error("axis \"{axis}\" has no {label}")]
    Place {
        /// Name of the axis that lacks the requested value.
        axis: String,
        /// Label of the requested axis value, which the axis lacks.
        label: String,
    },
    /// Runs at the requested scale omit the requested axis value.
    #[error("{variant}{} does not run at this scale", at(.places))]
    LeftOut {
        /// Name of the variant for which the query asks.
        variant: String,
        /// Axis values for which the query asks, as text.
        places: String,
    },
    /// The run from which the query needs a number failed.
    #[error(transparent)]
    Failed(#[from] RunFailure),
    /// The run has no value of the metric, for example because none of its flows finished.
    #[error("the run of {variant}{} has no value of {metric}", at(.places))]
    Nothing {
        /// Name of the variant for which the query asks.
        variant: String,
        /// Axis values for which the query asks, as text.
        places: String,
        /// Key of the metric that has no value in the run.
        metric: String,
    },
}

/// Returns " at " and the axis values; the text is empty for an experiment without axes.
fn at(places: &str) -> String {
    if places.is_empty() { String::new() } else { format!(" at {places}") }
}

/// Reason why an expression over metrics has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpressionError {
    /// Syntax error of an expression, with line and column of the expression.
    #[error("{0}")]
    Syntax(String),
    /// The evaluation of an expression failed: a value is missing, or a function received an
    /// invalid argument.
    #[error("{0}")]
    Evaluation(String),
    /// The value of the expression is infinite or not a number.
    #[error("the result is {0}")]
    NotFinite(f64),
    /// No seed has results, so the expression cannot be evaluated.
    #[error("no seed ran")]
    NoSeed,
}

/// Checks the syntax of an expression and compiles the expression.
///
/// # Errors
/// If the syntax is wrong; the error has the position in the expression.
pub fn compile(expression: &str) -> Result<AST, ExpressionError> {
    plain_engine().compile(expression).map_err(|error| ExpressionError::Syntax(error.to_string()))
}

/// Evaluates an expression over the metrics of runs.
///
/// # Errors
/// If the syntax is wrong, a metric value is missing, or the result is not a finite number.
pub fn evaluate(expression: &str, values: &Arc<dyn Values>) -> Result<f64, ExpressionError> {
    evaluate_with(expression, values, &[])
}

/// Value of a named constant in an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constant<'a> {
    /// The value of the named constant is a number.
    Number(f64),
    /// The value of the named constant is the label of an axis value.
    Label(&'a str),
}

/// Evaluates an expression over metrics that may use named constants.
///
/// # Errors
/// The errors of [`evaluate`].
pub(crate) fn evaluate_with(
    expression: &str,
    values: &Arc<dyn Values>,
    constants: &[(&str, Constant<'_>)],
) -> Result<f64, ExpressionError> {
    let mut engine = plain_engine();
    let mut scope = Scope::new();
    for (name, value) in constants {
        match value {
            Constant::Number(number) => scope.push_constant(*name, *number),
            Constant::Label(label) => scope.push_constant(*name, (*label).to_owned()),
        };
    }
    let tree = engine.compile_with_scope(&scope, expression);
    let tree = tree.map_err(|error| ExpressionError::Syntax(error.to_string()))?;
    with_values(&mut engine, values);
    let result = engine.eval_ast_with_scope::<Dynamic>(&mut scope, &tree);
    let failed = |error: Box<EvalAltResult>| ExpressionError::Evaluation(reason(&error));
    let number = number(&result.map_err(failed)?).map_err(failed)?;
    if number.is_finite() { Ok(number) } else { Err(ExpressionError::NotFinite(number)) }
}

type Answer<T> = Result<T, Box<EvalAltResult>>;

/// Creates an engine for expressions with the functions that need no metric values.
fn plain_engine() -> Engine {
    let mut engine = Engine::new();
    // A script that never ends is a mistake of its author, so the engine limits the number of
    // operations.
    engine.set_max_operations(1_000_000);
    // This nesting depth suffices for `if a { b } else { c }` over two metrics in nested calls.
    engine.set_max_expr_depths(64, 32);
    engine.register_fn("lower", |scheme: Dynamic, base: Dynamic| pairwise(&scheme, &base, lower));
    engine.register_fn("fewer", |scheme: Dynamic, base: Dynamic| pairwise(&scheme, &base, fewer));
    engine.register_fn("ratio", |a: Dynamic, b: Dynamic| pairwise(&a, &b, |a, b| a / b));
    engine.register_fn("mean", |list: Array| {
        let numbers = numbers(&list)?;
        Answer::Ok(numbers.iter().sum::<f64>() / numbers.len() as f64)
    });
    engine.register_fn("min", |list: Array| {
        Answer::Ok(numbers(&list)?.into_iter().fold(f64::INFINITY, f64::min))
    });
    engine.register_fn("max", |list: Array| {
        Answer::Ok(numbers(&list)?.into_iter().fold(f64::NEG_INFINITY, f64::max))
    });
    engine.register_fn("farthest", |list: Array| {
        let farther = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
        Answer::Ok(numbers(&list)?.into_iter().fold(0.0, farther))
    });
    engine.register_fn("median", |list: Array| {
        let mut numbers = numbers(&list)?;
        numbers.sort_by(f64::total_cmp);
        let (low, high) = ((numbers.len() - 1) / 2, numbers.len() / 2);
        Answer::Ok(numbers[low].midpoint(numbers[high]))
    });
    engine.register_fn("spearman", |x: Array, y: Array| {
        Answer::Ok(pearson(&ranks(&numbers(&x)?), &ranks(&numbers(&y)?)))
    });
    engine.register_fn("slope", |x: Array, y: Array| {
        let (x, y) = (numbers(&x)?, numbers(&y)?);
        if x.len() == y.len() {
            Answer::Ok(slope(&x, &y))
        } else {
            Err(format!("lists of {} and {} values", x.len(), y.len()).into())
        }
    });
    engine.register_fn("rising", |list: Array| {
        let numbers = numbers(&list)?;
        Answer::Ok(numbers.windows(2).map(|pair| pair[1] / pair[0] - 1.0).fold(f64::INFINITY, f64::min))
    });
    engine
}

fn with_values(engine: &mut Engine, values: &Arc<dyn Values>) {
    let get = |values: &Arc<dyn Values>, metric: &str, variant: &str, places: &[Dynamic]| {
        let places: Vec<_> = places.iter().map(place).collect();
        values.value(metric, variant, &places).map_err(|error| Box::<EvalAltResult>::from(error.to_string()))
    };
    let known = Arc::clone(values);
    engine.register_fn("v", move |m: &str, p: &str| get(&known, m, p, &[]));
    let known = Arc::clone(values);
    engine.register_fn("v", move |m: &str, p: &str, x: Dynamic| get(&known, m, p, &[x]));
    let known = Arc::clone(values);
    engine.register_fn("v", move |m: &str, p: &str, x: Dynamic, y: Dynamic| get(&known, m, p, &[x, y]));
    let along = move |values: &Arc<dyn Values>, metric: &str, variant: &str, rest: &[Dynamic]| {
        let mut list = Array::new();
        for (label, _) in values.first_axis() {
            let mut places = vec![Dynamic::from(label)];
            places.extend_from_slice(rest);
            list.push(Dynamic::from_float(get(values, metric, variant, &places)?));
        }
        Answer::Ok(list)
    };
    let known = Arc::clone(values);
    engine.register_fn("over", move |m: &str, p: &str| along(&known, m, p, &[]));
    let known = Arc::clone(values);
    engine.register_fn("over", move |m: &str, p: &str, y: Dynamic| along(&known, m, p, &[y]));
    let known = Arc::clone(values);
    engine.register_fn("xs", move || -> Array {
        known.first_axis().into_iter().map(|(_, x)| Dynamic::from_float(x)).collect()
    });
}

/// Formats an axis value as its label: numbers as in TOML.
fn place(value: &Dynamic) -> String {
    match value.as_float() {
        Ok(number) => bufferlab_document::resolved::float(number),
        Err(_) => value.to_string(),
    }
}

fn number(value: &Dynamic) -> Answer<f64> {
    if let Ok(number) = value.as_float() {
        return Ok(number);
    }
    value
        .as_int()
        .map(|number| number as f64)
        .map_err(|kind| format!("expected a number, found {kind}").into())
}

fn numbers(list: &Array) -> Answer<Vec<f64>> {
    if list.is_empty() {
        return Err("the list is empty".into());
    }
    list.iter().map(number).collect()
}

/// Relative reduction of a metric by `scheme` compared with `base`; 0 if both values are 0.
fn lower(scheme: f64, base: f64) -> f64 {
    if scheme == base { 0.0 } else { (base - scheme) / base }
}

/// Relative reduction of an event count by `scheme`, like [`lower`] but relative to the larger
/// count.
fn fewer(scheme: f64, base: f64) -> f64 {
    if scheme == base { 0.0 } else { (base - scheme) / base.max(scheme) }
}

fn pairwise(a: &Dynamic, b: &Dynamic, of: impl Fn(f64, f64) -> f64) -> Answer<Dynamic> {
    if !a.is_array() && !b.is_array() {
        return Ok(Dynamic::from_float(of(number(a)?, number(b)?)));
    }
    let list = |value: &Dynamic, length: usize| -> Answer<Vec<f64>> {
        match value.clone().into_array() {
            Ok(list) => numbers(&list),
            Err(_) => Ok(vec![number(value)?; length]),
        }
    };
    let length = |value: &Dynamic| value.clone().into_array().map_or(0, |list| list.len());
    let length = length(a).max(length(b));
    let (a, b) = (list(a, length)?, list(b, length)?);
    if a.len() != b.len() {
        return Err(format!("lists of {} and {} values", a.len(), b.len()).into());
    }
    Ok(Dynamic::from_array(a.iter().zip(&b).map(|(&a, &b)| Dynamic::from_float(of(a, b))).collect()))
}

fn slope(x: &[f64], y: &[f64]) -> f64 {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let products = x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>();
    products / x.iter().map(|x| (x - mx).powi(2)).sum::<f64>()
}

/// Ranks of values, from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let sum = |of: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(&a, &b)| of(a, b)).sum::<f64>();
    let spread = (sum(&|a, _| (a - mx).powi(2)) * sum(&|_, b| (b - my).powi(2))).sqrt();
    // If all values are equal, the rank correlation is undefined; the function returns 0.
    if spread == 0.0 { 0.0 } else { sum(&|a, b| (a - mx) * (b - my)) / spread }
}

/// Returns the innermost message of an error in an expression, without positions inside the
/// expression.
fn reason(error: &EvalAltResult) -> String {
    match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) => reason(inner),
        EvalAltResult::ErrorRuntime(why, _) => why.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Square;

    impl Values for Square {
        fn value(&self, metric: &str, variant: &str, places: &[String]) -> Result<f64, ValueError> {
            let factor = match variant {
                "one" => 1.0,
                "two" => 2.0,
                other => return Err(ValueError::Variant(other.to_owned())),
            };
            let x: f64 = places.first().map_or(3.0, |x| x.parse().expect("a number"));
            assert_eq!(metric, "m");
            Ok(factor * x * x)
        }

        fn first_axis(&self) -> Vec<(String, f64)> {
            vec![("1".to_owned(), 1.0), ("0.5".to_owned(), 0.5), ("2".to_owned(), 2.0)]
        }
    }

    fn evaluated(expression: &str) -> Result<f64, String> {
        let values: Arc<dyn Values> = Arc::new(Square);
        evaluate(expression, &values).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_found_by_variant_and_place() {
        assert_eq!(evaluated(r#"v("m", "one")"#), Ok(9.0));
        assert_eq!(evaluated(r#"v("m", "two", 2)"#), Ok(8.0));
        assert_eq!(evaluated(r#"v("m", "two", 0.5)"#), Ok(0.5));
        assert_eq!(evaluated(r#"max(over("m", "two"))"#), Ok(8.0));
    }

    #[test]
    fn lower_is_the_part_that_is_missing_of_the_baseline() {
        assert_eq!(evaluated(r#"lower(v("m", "one"), v("m", "two"))"#), Ok(0.5));
        assert_eq!(evaluated(r#"lower(25, 100.0)"#), Ok(0.75));
        assert_eq!(evaluated("lower(0, 0.0)"), Ok(0.0));
        assert_eq!(evaluated("fewer([0, 1, 4, 4], [0, 4, 1, 0])[1]"), Ok(0.75));
        assert_eq!(evaluated("let f = fewer([0, 1, 4, 4], [0, 4, 1, 0]); f[0] + f[2] + f[3]"), Ok(-1.75));
        assert_eq!(evaluated(r#"min(lower(over("m", "one"), over("m", "two")))"#), Ok(0.5));
        assert_eq!(evaluated(r#"mean(["one", "two"].map(|p| v("m", p, 1)))"#), Ok(1.5));
    }

    #[test]
    fn rank_correlation_knows_only_the_order() {
        assert_eq!(evaluated("spearman([1, 2, 3, 4], [1, 10, 11, 1000])"), Ok(1.0));
        assert_eq!(evaluated("spearman([1, 2, 3], [3, 2, 1])"), Ok(-1.0));
        // The squared differences of the ranks are 0, 1 and 1, so the result is 1 - 6 * 2 / (3 *
        // 8).
        assert_eq!(evaluated("spearman([1, 2, 3], [1, 3, 2])"), Ok(0.5));
        assert_eq!(evaluated(r#"spearman(xs(), over("m", "one"))"#), Ok(1.0));
        assert_eq!(evaluated("spearman([1, 2, 3], [5, 5, 5])"), Ok(0.0));
        // The ranks of the first list are 1, 2.5 and 2.5; the ranks of the second list are 1, 2 and
        // 3.
        let tied = evaluated("spearman([1, 2, 2], [1, 2, 3])").expect("ties are fine");
        assert!((tied - 0.866_025_403_784).abs() < 1e-9);
    }

    #[test]
    fn the_least_step_tells_whether_a_list_rises() {
        assert_eq!(evaluated("rising([1, 2, 3])"), Ok(0.5));
        assert_eq!(evaluated("rising([4, 2, 3])"), Ok(-0.5));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(evaluated("median([5, 1, 2])"), Ok(2.0));
        assert_eq!(evaluated("median([5, 1, 2, 4])"), Ok(3.0));
    }

    #[test]
    fn the_slope_is_that_of_least_squares() {
        assert_eq!(evaluated("slope([1, 2, 3], [5, 7, 9])"), Ok(2.0));
        // The residuals of the line y = 2 x at the three points are 1, -2 and 1.
        assert_eq!(evaluated("slope([1, 2, 3], [3, 2, 7])"), Ok(2.0));
        assert!(evaluated("slope([1, 2], [3])").is_err_and(|why| why.contains("lists of 2 and 1")));
    }

    #[test]
    fn a_script_may_have_several_steps() {
        assert_eq!(
            evaluated("let worse = 0; for x in [1, 2, 3] { if x > 1 { worse += 1; } } worse"),
            Ok(2.0)
        );
    }

    #[test]
    fn constants_are_numbers_and_places() {
        let values: Arc<dyn Values> = Arc::new(Square);
        let constants = [("paper", Constant::Number(0.75)), ("x", Constant::Label("2"))];
        // Functions that a script defines can also use the named constants.
        let script = r#"mean(["one", "two"].map(|p| v("m", p, x))) * (1.0 - paper)"#;
        assert_eq!(evaluate_with(script, &values, &constants), Ok(1.5));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(evaluated(r#"v("m", "three")"#), Err("there is no variant \"three\"".to_owned()));
        assert_eq!(evaluated("1.0 / 0.0"), Err("the result is inf".to_owned()));
        assert!(evaluated("lower([1, 2], [1, 2, 3])").is_err_and(|why| why.contains("lists of 2 and 3")));
        assert!(evaluated("wrong(1)").is_err_and(|why| why.contains("wrong")));
        assert!(compile("1 +").is_err());
        assert!(
            evaluated("let x = 0; while true { x += 1; } x").is_err_and(|why| why.contains("operations"))
        );
    }
}
