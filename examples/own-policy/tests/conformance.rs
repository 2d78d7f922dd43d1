//! Tests that the policy `root-share` passes the conformance suite, and has its specified limit.

use bufferlab_conformance::vectors::VectorFile;
use bufferlab_conformance::{Effort, Options, check};

const VECTORS: &str = r#"
[[case]]
name = "two busy queues divide the buffer by the root of two"
source = "hand calculation: B = 100; a lone queue has T = 100, two have 100 / 1.4142 = 70"
policy = "root-share"
params = { share = 1.0 }
buffer = { capacity = 100, ports = 2, max_packet = 1 }
steps = [
  { arrive = 0, size = 1, repeat = 69, expect = "admit", thresholds = [100, 70] },
  { arrive = 1, size = 1, expect = "admit", thresholds = [70, 70] },
  { arrive = 0, size = 1, expect = "admit", lengths = [70, 1] },
  { arrive = 0, size = 1, expect = "over-threshold" },
]
"#;

#[test]
fn it_keeps_every_promise_and_gives_the_verdicts_of_its_vectors() {
    let info = own_policy::register().expect("the name is free");
    let vectors = vec![VectorFile::parse("vectors", VECTORS).expect("it parses")];
    let options = Options { vectors, effort: Effort::quick(), ..Options::default() };
    let report = check(info, &options);
    assert!(report.holds(), "{report}");
}
