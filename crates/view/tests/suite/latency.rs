//! Measures the playground's latency from a change to the picture, on a real clock.

use crate::browser::Browser;
use crate::pages::{assert_clean, serve};
use bufferlab_view::{Page, Play};

/// Changes a control and waits until the browser has painted the result. Returns four times in
/// milliseconds: until the picture is painted, until the server's answer arrives, until the page
/// has drawn the answer, and the time of the simulation.
const TURN: &str = "async (id, value) => {
    const control = document.getElementById(id), fetched = window.fetch;
    let answered = NaN, drawn = NaN;
    window.fetch = async (...request) => {
        const response = await fetched(...request), json = response.json.bind(response);
        response.json = async () => { const value = await json(); answered = performance.now(); return value; };
        return response;
    };
    const begin = performance.now();
    control.value = value;
    control.dispatchEvent(new Event(control.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
    await new Promise((done) => {
        const painted = () => { drawn = performance.now(); requestAnimationFrame(() => setTimeout(done, 0)); };
        const look = () => (document.body.hasAttribute('aria-busy') ? setTimeout(look, 0) : painted());
        look();
    });
    window.fetch = fetched;
    const simulated = Number(document.getElementById('took').innerText.match(/simulated in (\\d+) ms/)[1]);
    return [performance.now() - begin, answered - begin, drawn - begin, simulated];
}";

/// Controls whose change the test measures, each with two values, for every policy and buffer size.
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
        let mut turns: Vec<[f64; 4]> = Vec::new();
        let mut slowest = (0.0, String::new());
        let choices =
            format!("ports=32&queues=8&overloaded=16&busy=8&senders=8&burst_kb=1000&buffer_kb={buffer}");
        browser.open(&format!("{url}#{choices}"), 1_400);
        let policies = browser.eval("[...document.getElementById('policy').options].map((one) => one.value)");
        for policy in policies.as_array().into_iter().flatten().filter_map(|policy| policy.as_str()) {
            browser.eval(&format!("({TURN})('policy', '{policy}')"));
            for (id, values) in CHANGES {
                for value in values {
                    let took = browser.eval(&format!("({TURN})('{id}', '{value}')"));
                    let took: [f64; 4] = std::array::from_fn(|at| took[at].as_f64().unwrap_or(f64::NAN));
                    if took[0] > slowest.0 {
                        let what = format!("{policy}, {id} = {value}, {} ms of it simulating", took[3]);
                        slowest = (took[0], what);
                    }
                    turns.push(took);
                }
            }
        }
        println!("buffer {buffer} KB, {} changes:", turns.len());
        for (at, what) in ["painted", "answered", "drawn", "simulated"].into_iter().enumerate() {
            let mut of: Vec<f64> = turns.iter().map(|took| took[at]).collect();
            of.sort_by(f64::total_cmp);
            println!("  {what}: median {:.0} ms, p95 {:.0} ms", quantile(&of, 0.5), quantile(&of, 0.95));
        }
        println!("  slowest {:.0} ms: {}", slowest.0, slowest.1);
    }
    assert_clean(&browser);
}
