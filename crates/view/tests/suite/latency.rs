//! How long the playground takes from a change to the picture, on a real clock.

use crate::browser::Browser;
use crate::pages::{assert_clean, serve};
use bufferlab_view::{Page, Play};

/// Turns a control and waits until what came of it has been painted: the frame after the drawing, and what the browser does for it. Answers
/// milliseconds, of which the simulation took how many.
const TURN: &str = "async (id, value) => {
    const control = document.getElementById(id), begin = performance.now();
    control.value = value;
    control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
    await new Promise((done) => {
        const look = () => (document.body.hasAttribute('aria-busy') ? setTimeout(look, 0) : requestAnimationFrame(() => setTimeout(done, 0)));
        look();
    });
    const simulated = Number(document.getElementById('took').innerText.match(/simulated in (\\d+) ms/)[1]);
    return [performance.now() - begin, simulated];
}";

/// Changes that are measured for every policy and buffer.
const CHANGES: [(&str, [&str; 2]); 5] = [
    ("burst_kb", ["2000", "1000"]),
    ("senders", ["31", "8"]),
    ("priority", ["5", "0"]),
    ("by", ["queue", "port"]),
    ("overloaded", ["31", "16"]),
];

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

#[test]
#[ignore = "measures, and prints what it finds: PLAY=address of a `bufferlab play` to be measured (else of this build), then \
            cargo test -p bufferlab-view --test suite latency -- --ignored --nocapture"]
fn how_long_the_playground_takes_from_a_change_to_the_picture() {
    let Some(mut browser) = Browser::start() else { return };
    let url = std::env::var("PLAY").unwrap_or_else(|_| serve(Page::of_play(Play, 0).expect("a port")));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("32 ports x 8 queues; load of the machine {}", load.trim());
    for buffer in ["1000", "4000", "16000"] {
        let (mut all, mut simulated) = (Vec::new(), Vec::new());
        let mut slowest = (0.0, String::new());
        browser.open(
            &format!(
                "{url}#ports=32&queues=8&overloaded=16&busy=8&senders=8&burst_kb=1000&buffer_kb={buffer}"
            ),
            1_400,
        );
        let policies = browser.eval("[...document.getElementById('policy').options].map((one) => one.value)");
        for policy in policies.as_array().into_iter().flatten().filter_map(|policy| policy.as_str()) {
            browser.eval(&format!("({TURN})('policy', '{policy}')"));
            for (id, values) in CHANGES {
                for value in values {
                    let took = browser.eval(&format!("({TURN})('{id}', '{value}')"));
                    let took = [0, 1].map(|at| took[at].as_f64().unwrap_or(f64::NAN));
                    if took[0] > slowest.0 {
                        slowest =
                            (took[0], format!("{policy}, {id} = {value}, {} ms of it simulating", took[1]));
                    }
                    all.push(took[0]);
                    simulated.push(took[1]);
                }
            }
        }
        all.sort_by(f64::total_cmp);
        simulated.sort_by(f64::total_cmp);
        println!(
            "buffer {buffer} KB, {} changes: median {:.0} ms, p95 {:.0} ms (simulating {:.0} and {:.0}); slowest {:.0} ms: {}",
            all.len(),
            quantile(&all, 0.5),
            quantile(&all, 0.95),
            quantile(&simulated, 0.5),
            quantile(&simulated, 0.95),
            slowest.0,
            slowest.1,
        );
    }
    assert_clean(&browser);
}
