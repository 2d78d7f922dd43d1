//! Every control of every page changes what the page says, and nothing is wrong on its console.

use crate::browser::Browser;
use crate::support::{folder, run};
use bufferlab_view::{Page, Play, View};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// All that a page says that follows from choices; not how long it took.
const SAYS: &str = "[...document.querySelectorAll('#sentence, #legend, #table, #rows-note, #values-note, #explanation')]\
    .map((one) => one.innerText).join('|')";
/// Nothing is under way.
const QUIET: &str = "!document.body.hasAttribute('aria-busy') && !document.getElementById('explanation')?.innerText.startsWith('Repeating')";

fn serve(page: Page) -> String {
    let url = page.url();
    std::thread::spawn(move || page.serve().expect("it serves"));
    url
}

/// Does something to the page; what it says must be different after that. Answers what it says then.
fn changes(browser: &mut Browser, action: &str) -> String {
    browser.until(QUIET);
    let before = browser.text(SAYS);
    browser.eval(action);
    let quoted = serde_json::to_string(&before).expect("JSON");
    browser.until(&format!("{QUIET} && ({SAYS}) !== {quoted}"));
    let after = browser.text(SAYS);
    assert!(!after.contains("Not possible") && !after.contains("No answer"), "{action}: {after}");
    after
}

fn press(id: &str) -> String {
    format!("document.getElementById('{id}').click()")
}

/// Chooses in a list, or types.
fn choose(id: &str, value: &str) -> String {
    format!(
        "(() => {{ const one = document.getElementById('{id}'); one.value = '{value}'; one.dispatchEvent(new Event('input', {{ bubbles: true }})); one.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    )
}

fn key(name: &str) -> String {
    format!("document.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{name}' }}))")
}

fn assert_clean(browser: &Browser) {
    assert!(browser.errors.is_empty(), "{:#?}", browser.errors);
}

#[test]
fn every_control_of_the_window_changes_what_it_says() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "star-incast.toml", &[("output.packets", "all"), ("switch.policy", "abm")]);
    let url = serve(Page::of_view(View::open(&dir, None).expect("it opens"), 0).expect("a port"));
    browser.open(&url, 1_400);
    let first = browser.text(SAYS);
    assert!(first.contains("packets dropped") && first.contains("limit of the longest queue"), "{first}");
    for id in ["in", "right", "left", "out", "in", "whole", "next", "in", "in", "in", "next", "previous"] {
        changes(&mut browser, &press(id));
    }
    let explained = browser.text(SAYS);
    assert!(
        explained.contains("because") && explained.contains("policies would have kept it"),
        "{explained}"
    );
    browser.eval(&press("whole"));
    browser.until(QUIET);
    for (id, value) in [("by", "queue"), ("by", "class"), ("by", "port"), ("port", "6")] {
        changes(&mut browser, &choose(id, value));
    }
    for id in ["limit", "most"] {
        changes(&mut browser, &press(id));
    }
    for name in ["+", "ArrowRight", "ArrowLeft", "-", "+", "0", "n"] {
        changes(&mut browser, &key(name));
    }
    // However often it was drawn: what is not shown any more is given back.
    let heap = browser.heap_bytes();
    assert!(heap < 60_000_000, "{heap} B");
    assert_clean(&browser);
}

#[test]
fn a_click_on_a_loss_explains_it_and_single_packets_are_listed() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "star-incast.toml", &[("output.packets", "all")]);
    let view = View::open(&dir, None).expect("it opens");
    let file = folder.path().join("view.html");
    std::fs::write(&file, view.file().expect("a page")).expect("writable");
    let url = serve(Page::of_view(view, 0).expect("a port"));
    for url in [url, format!("file://{}", file.display())] {
        browser.open(&format!("{url}#from=480000000&until=490000000"), 1_000);
        let rows = browser.eval("document.querySelectorAll('#rows tbody tr').length").as_u64();
        assert!(rows.is_some_and(|rows| (5..=300).contains(&rows)), "{rows:?} rows at {url}");
        let listed = browser.text("document.getElementById('rows').innerText");
        assert!(listed.contains("over-threshold: queue"), "{listed}");
        // In the middle of the first loss's mark.
        browser.eval(
            "(() => { const lanes = document.getElementById('lanes'), box = lanes.getBoundingClientRect(); \
             lanes.dispatchEvent(new MouseEvent('click', { clientX: box.left + box.width * 0.45, bubbles: true })); })()",
        );
        browser.until("document.getElementById('explanation').innerText.includes('because queue')");
        let said = browser.text("document.getElementById('explanation').innerText");
        assert!(said.contains("drop at 484.213 us") || said.contains("drop at 485.376 us"), "{said}");
        assert!(said.contains("dt (this run's, with its parameters)"), "{said}");
    }
    assert_clean(&browser);
}

#[test]
fn a_run_without_packets_shows_its_samples_and_says_so() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "tdt-fig7.toml", &[("switch.policy", "tdt")]);
    let url = serve(Page::of_view(View::open(&dir, None).expect("it opens"), 0).expect("a port"));
    browser.open(&url, 1_000);
    let page = browser.text("document.body.innerText");
    assert!(page.contains("This run recorded no packets. What is shown are samples"), "{page}");
    let changed = changes(&mut browser, &choose("value", "state 2.0"));
    assert!(changed.contains("state of queue 2.0") && changed.contains("as bands"), "{changed}");
    assert_clean(&browser);
}

#[test]
fn every_control_of_the_playground_changes_what_it_says() {
    let Some(mut browser) = Browser::start() else { return };
    let url = serve(Page::of_play(Play, 0).expect("a port"));
    browser.open(&url, 1_400);
    let first = browser.text(SAYS);
    assert!(first.contains("What binds is the limit of the queue (over-threshold)"), "{first}");
    let changed = [
        ("overloaded", "4"),
        ("alpha", "4"),
        ("buffer_kb", "600"),
        ("burst_kb", "900"),
        ("senders", "7"),
        ("rate_gbps", "40"),
        ("policy", "cs"),
        ("by", "class"),
        ("policy", "abm"),
        ("by", "queue"),
    ];
    for (id, value) in changed {
        changes(&mut browser, &choose(id, value));
    }
    // More queues alone change nothing: nobody uses them.
    browser.eval(&choose("queues", "4"));
    browser.until(QUIET);
    for (id, value) in
        [("busy", "3"), ("policy", "dt"), ("alpha", "0.25, 0.5, 0.5, 8"), ("priority", "3"), ("ports", "6")]
    {
        changes(&mut browser, &choose(id, value));
    }
    let refused = changes(&mut browser, &choose("ports", "1"));
    assert!(refused.contains("Ports: a whole number from 2 to 64"), "{refused}");
    browser.eval(&choose("ports", "8"));
    browser.until(QUIET);
    // What would be downloaded.
    let saved = browser.text(
        "fetch('api/scenario', { method: 'POST', body: JSON.stringify({ ports: 8, queues: 2, rate_gbps: 10, buffer_kb: 500, overloaded: 2, busy: 2, \
         senders: 3, burst_kb: 300, priority: 1, policy: 'dt', alpha: '0.5, 1', by: 'port' }) }).then((answer) => answer.json())",
    );
    let loaded = bufferlab_scenario::load_text("saved.toml".as_ref(), &saved, &[]).expect("it loads");
    assert_eq!(loaded.scenario.switches[0].queues_per_port, 2);
    assert_eq!(loaded.scenario.switches[0].policy, "dt");
    changes(&mut browser, "(() => { document.getElementById('sentence').textContent = ''; })()");
    browser.eval(&press("save"));
    browser.until("document.getElementById('pointer').innerText.includes('Saved as playground.toml')");
    assert_clean(&browser);
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "star-incast.toml", &[("output.packets", "all")]);
    let view = serve(Page::of_view(View::open(&dir, None).expect("it opens"), 0).expect("a port"));
    let play = serve(Page::of_play(Play, 0).expect("a port"));
    for url in [view, play] {
        browser.open(&url, 400);
        let wide = browser.eval("Math.max(document.documentElement.scrollWidth, document.querySelector('#chart canvas').getBoundingClientRect().right)");
        assert!(wide.as_f64().is_some_and(|wide| wide <= 400.0), "{wide:?} at {url}");
    }
    assert_clean(&browser);
}

/// The answer to a request that names `host` and asks for `path`.
fn status(address: &str, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn nobody_gets_anything_without_the_token_or_under_another_name() {
    let url = serve(Page::of_play(Play, 0).expect("a port"));
    let address = url.trim_start_matches("http://").split('/').next().expect("an address").to_owned();
    let path = url.trim_start_matches("http://").trim_start_matches(&address).to_owned();
    assert!(address.starts_with("127.0.0.1:") && path.len() == 34, "{url}");
    assert!(status(&address, &address, &path).contains("200"));
    assert!(status(&address, &address, "/").contains("404"));
    assert!(
        status(&address, &address, &path.replace(&path[1..5], "0000")).contains("404")
            || path.starts_with("/0000")
    );
    assert!(status(&address, "rebound.example", &path).contains("403"));
}
