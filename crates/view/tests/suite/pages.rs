//! Tests that every control of every page changes the shown text, without errors on the console.

use crate::browser::Browser;
use crate::support::{folder, run};
use bufferlab_metrics::FlowRow;
use bufferlab_results::RunResult;
use bufferlab_view::{Page, Play, View};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Script that returns all text of a page that depends on choices, except the duration.
const SAYS: &str = "[...document.querySelectorAll('#sentence, #legend, #table, #rows-note, #values-note, #explanation')]\
    .map((one) => one.innerText).join('|')";
/// JavaScript condition that the page has no pending request.
const QUIET: &str = "!document.body.hasAttribute('aria-busy') && !document.getElementById('explanation')?.innerText.startsWith('Repeating')";

pub(crate) fn serve(page: Page) -> String {
    let url = page.url();
    std::thread::spawn(move || page.serve().expect("it serves"));
    url
}

/// Performs an action, which must change the page's text. Returns the changed text.
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

/// Script that selects an item of a list, or types a value into a control.
fn choose(id: &str, value: &str) -> String {
    format!(
        "(() => {{ const one = document.getElementById('{id}'); one.value = '{value}'; one.dispatchEvent(new Event('input', {{ bubbles: true }})); one.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    )
}

fn key(name: &str) -> String {
    format!("document.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{name}' }}))")
}

pub(crate) fn assert_clean(browser: &Browser) {
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
    for (id, value) in [("by", "class"), ("by", "port"), ("port", "6")] {
        changes(&mut browser, &choose(id, value));
    }
    // Each port has one queue, so a division by queue would equal the division by port.
    let divisions = browser.eval("[...document.getElementById('by').options].map((one) => one.value)");
    assert_eq!(divisions, serde_json::json!(["port", "class"]));
    for id in ["limit", "most"] {
        changes(&mut browser, &press(id));
    }
    for name in ["+", "ArrowRight", "ArrowLeft", "-", "+", "0", "n"] {
        changes(&mut browser, &key(name));
    }
    // The page frees the memory of removed charts, so the heap stays small after many drawings.
    let heap = browser.heap_bytes();
    assert!(heap < 60_000_000, "{heap} B");
    assert_clean(&browser);
}

#[test]
fn dragging_over_the_chart_zooms_into_what_was_dragged_over_and_the_pointer_tells_what_is_there() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "star-incast.toml", &[("output.packets", "all")]);
    let url = serve(Page::of_view(View::open(&dir, None).expect("it opens"), 0).expect("a port"));
    browser.open(&url, 1_200);
    let [left, top, width, height] = browser.place("#chart .u-over");
    let at = |share: f64| (left + share * width, top + height / 2.0);
    browser.mouse("mouseMoved", at(0.3), false);
    browser.until("document.getElementById('pointer').innerText.includes(': ')");
    let before = browser.text(SAYS);
    let shown = |browser: &mut Browser| {
        let of = |name: &str| format!("Number(new URLSearchParams(location.hash.slice(1)).get('{name}'))");
        [of("from"), of("until")].map(|number| browser.eval(&number).as_f64().expect("a number"))
    };
    let [first, last] = shown(&mut browser);
    browser.drag(at(0.25), at(0.5));
    browser.until(&format!("{QUIET} && ({SAYS}) !== {}", serde_json::to_string(&before).expect("JSON")));
    let [from, until] = shown(&mut browser);
    let whole = last - first;
    // A mouse movement of one pixel changes the time by about a thousandth of the chart's width.
    assert!((from - first - 0.25 * whole).abs() < 0.005 * whole, "{from} of {first} to {last}");
    assert!((until - first - 0.5 * whole).abs() < 0.005 * whole, "{until} of {first} to {last}");
    // If the mouse does not move between press and release, the page does not change.
    let before = browser.text(SAYS);
    browser.drag(at(0.6), at(0.6));
    browser.until(QUIET);
    assert_eq!((browser.text(SAYS), shown(&mut browser)), (before, [from, until]));
    assert_clean(&browser);
}

#[test]
fn every_switch_that_was_recorded_can_be_chosen() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "dumbbell.toml", &[("output.packets", "all")]);
    let url = serve(Page::of_view(View::open(&dir, None).expect("it opens"), 0).expect("a port"));
    browser.open(&url, 1_000);
    let options = "[...document.getElementById('switch').options].map((one) => one.value)";
    let names = browser.eval(options);
    let names: Vec<_> = names.as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
    assert!(names.len() > 1, "{names:?}");
    let subject = "document.getElementById('subject').innerText";
    let mut seen = vec![browser.text(SAYS)];
    assert!(browser.text(subject).contains(&format!("switch {},", names[0])));
    // The page shows a newly chosen switch from its start, even after a change of the time range.
    changes(&mut browser, &press("in"));
    for name in names.iter().skip(1).chain(&names[..1]) {
        browser.eval(&choose("switch", name));
        browser.until(&format!(
            "document.body?.dataset.ready && {subject}.includes('switch {name},') && document.getElementById('switch').value === '{name}'"
        ));
        seen.push(browser.text(SAYS));
        // A request without a switch's name, as from a second tab, gets the first switch.
        let elsewhere =
            browser.text("fetch('api/about').then((answer) => answer.json()).then((about) => about.switch)");
        assert_eq!(elsewhere, names[0]);
        // The address contains the name of the switch, so a bookmark can restore the view.
        assert!(browser.text("location.hash").contains(&format!("switch={name}")));
    }
    assert_eq!(seen.first(), seen.last(), "the first one again");
    seen.pop();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), names.len(), "each shows something else: {seen:#?}");
    assert_clean(&browser);
}

#[test]
fn a_queue_is_shown_with_its_own_limit() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let two_queues = [("output.packets", "all"), ("switch.queues_per_port", "2")];
    let view = View::open(&run(&folder, "star-incast.toml", &two_queues), None).expect("it opens");
    let file = folder.path().join("view.html");
    std::fs::write(&file, view.file().expect("a page")).expect("writable");
    browser.open(&serve(Page::of_view(view, 0).expect("a port")), 1_200);
    let all = browser.text(SAYS);
    assert!(all.contains("limit of the longest queue"), "{all}");
    let port = changes(&mut browser, &choose("port", "6"));
    assert!(port.contains("in port 6") && port.contains("limit of the longest queue"), "{port}");
    let queue = changes(&mut browser, &choose("queue", "0"));
    assert!(queue.contains("in queue 6.0") && queue.contains("Its limit was"), "{queue}");
    assert!(queue.contains("limit of queue 6.0") && !queue.contains("longest"), "{queue}");
    // The samples contain classes only for the whole buffer.
    assert_eq!(browser.eval("document.querySelector('#by [value=class]').disabled"), true);
    let other = changes(&mut browser, &choose("queue", "1"));
    assert!(other.contains("queue 6.1") && !other.contains("queue 6.0"), "{other}");
    changes(&mut browser, &choose("queue", "0"));
    // The address contains the choices, so the page restores them when it is opened again.
    let address = browser.text("location.href");
    browser.open(&address, 1_200);
    assert_eq!(browser.text(SAYS), queue);
    assert_eq!(changes(&mut browser, &choose("port", "")), all);
    // The file of a page contains the queues with the most losses.
    browser.open(&format!("file://{}", file.display()), 1_200);
    let worst = browser.text("document.getElementById('port').options[1].value");
    let shown = changes(&mut browser, &choose("port", &worst));
    assert!(shown.contains(&format!("limit of queue {worst}")) && shown.contains("dropped"), "{shown}");
    assert_clean(&browser);
}

/// One click on `Why?` explains the loss of a query.
/// The run's tables prove that the lost packet belongs to the query.
#[test]
fn why_a_querys_packet_was_lost_is_one_click_away() {
    let Some(mut browser) = Browser::start() else { return };
    let folder = folder();
    let dir = run(&folder, "star-incast.toml", &[("output.packets", "all"), ("switch.buffer", "150 KB")]);
    let mut query_of = BTreeMap::new();
    let tables = RunResult::open(&dir).expect("a run");
    let each = |row: FlowRow| query_of.extend([(row.flow_id, row.query_id)]);
    tables.visit(each).expect("flows");
    let view = View::open(&dir, None).expect("it opens");
    let file = folder.path().join("view.html");
    std::fs::write(&file, view.file().expect("a page")).expect("writable");
    let url = serve(Page::of_view(view, 0).expect("a port"));
    for url in [url, format!("file://{}", file.display())] {
        browser.open(&url, 1_200);
        let first = "document.querySelector('#lost-queries-table tbody tr')";
        let query: u32 = browser.text(&format!("{first}.cells[1].innerText")).parse().expect("a number");
        let said = changes(&mut browser, &format!("{first}.querySelector('button').click()"));
        browser.until("document.getElementById('explanation').innerText.includes('because')");
        let said = format!("{said} {}", browser.text("document.getElementById('explanation').innerText"));
        assert!(said.contains("policies would have kept it"), "{said}");
        let flow = said.rsplit_once(" of flow ").and_then(|(_, rest)| rest.split_once(' ')).expect("a flow");
        let flow: u64 = flow.0.parse().expect("a number");
        assert_eq!(query_of[&flow], Some(query), "{said}");
        // The explanation is visible on the page without scrolling.
        let place = browser.eval("document.getElementById('why').getBoundingClientRect().top");
        assert!(place.as_f64().is_some_and(|top| (-1.0..1_000.0).contains(&top)), "{place:?}");
    }
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
        // Click on the centre of the first loss's mark.
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
    assert!(first.contains("Most losses come from the limit of the queue (over-threshold)"), "{first}");
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
    // Additional queues without packets do not change the chart.
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
    // Scenario file that the playground saves for the user.
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

/// Serves two pages, and returns their addresses: the view of a run with packets, and the
/// playground. The run's folder must exist while the test uses the pages.
fn view_and_playground() -> (tempfile::TempDir, [String; 2]) {
    let folder = folder();
    let dir = run(&folder, "star-incast.toml", &[("output.packets", "all")]);
    let view = View::open(&dir, None).expect("it opens");
    let urls = [Page::of_view(view, 0), Page::of_play(Play, 0)].map(|page| serve(page.expect("a port")));
    (folder, urls)
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let (_folder, urls) = view_and_playground();
    for url in urls {
        browser.open(&url, 400);
        let wide = browser.eval("Math.max(document.documentElement.scrollWidth, document.querySelector('#chart canvas').getBoundingClientRect().right)");
        assert!(wide.as_f64().is_some_and(|wide| wide <= 400.0), "{wide:?} at {url}");
    }
    assert_clean(&browser);
}

/// Checks a chart in print, because a chart wider than the sheet would shrink the whole page.
#[test]
fn a_chart_on_paper_fits_the_sheet_and_gets_its_width_back() {
    let Some(mut browser) = Browser::start() else { return };
    let wide = "document.querySelector('#chart canvas').getBoundingClientRect().width";
    let (_folder, urls) = view_and_playground();
    for url in urls {
        browser.open(&url, 1_400);
        browser.eval(&format!("addEventListener('beforeprint', () => {{ window.printed = {wide}; }})"));
        browser.call("Page.printToPDF", &serde_json::json!({}));
        let printed = browser.eval("window.printed").as_f64().expect("it was printed");
        assert!(printed <= 680.0, "{printed} at {url}");
        let after = browser.eval(wide).as_f64().expect("a width");
        assert!(after > 1_000.0, "{after} at {url}");
    }
    assert_clean(&browser);
}

/// Sends a request for `path` that names `host`, and returns the answer.
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
