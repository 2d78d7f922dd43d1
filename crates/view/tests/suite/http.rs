//! Tests requests from clients other than the page: late, wrong or too large requests.

use crate::pages::serve;
use bufferlab_view::{Page, Play};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const CHOICES: &str = r#"{"ports":8,"queues":1,"rate_gbps":10,"buffer_kb":100,"overloaded":2,"busy":1,"senders":4,"burst_kb":50,"priority":0,"policy":"dt","alpha":"","by":"port"}"#;

/// Splits an address into the host with port, and the path with the token.
fn parts(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").expect("a page of this machine");
    let (host, path) = rest.split_once('/').expect("a token");
    (host.to_owned(), format!("/{path}"))
}

fn connect(host: &str) -> TcpStream {
    let stream = TcpStream::connect(host).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    stream
}

/// Reads from a connection until the server closes it.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset of the connection also ends the connection.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(url: &str, body: &str, length: usize) -> TcpStream {
    let (host, path) = parts(url);
    let mut stream = connect(&host);
    let head = format!(
        "POST {path}api/run HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("sent");
    // The server may refuse a request without reading its body, so a failed write is no error.
    let _ = stream.write_all(body.as_bytes());
    stream
}

fn answer(url: &str, body: &str) -> String {
    rest(post(url, body, body.len()))
}

#[test]
fn a_request_that_is_never_complete_does_not_keep_its_connection() {
    let url = serve(Page::of_play(Play, 0).expect("a port"));
    let (host, path) = parts(&url);
    let begin = Instant::now();
    let silent = connect(&host);
    let mut half = connect(&host);
    half.write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Half: ").as_bytes()).expect("sent");
    let dripping = {
        let mut stream = connect(&host);
        thread::spawn(move || {
            stream.write_all(b"GET / HTTP/1.1\r\n").expect("sent");
            // The client sends single bytes at intervals, which never complete a header.
            while stream.write_all(b"x").is_ok() && begin.elapsed() < Duration::from_secs(25) {
                thread::sleep(Duration::from_millis(500));
            }
            begin.elapsed()
        })
    };
    let without_body = post(&url, "{", CHOICES.len());
    assert_eq!(rest(silent), "");
    assert!(!rest(half).contains("200 OK"));
    assert!(rest(without_body).starts_with("HTTP/1.1 408"), "the header was complete");
    assert!((8..20).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
    assert!(dripping.join().expect("no panic") < Duration::from_secs(20));
    // In the meantime, the server has answered other clients.
    assert!(answer(&url, CHOICES).starts_with("HTTP/1.1 200"));
}

#[test]
fn wrong_requests_get_what_is_wrong_with_them() {
    let url = serve(Page::of_play(Play, 0).expect("a port"));
    let with = |from: &str, to: &str| answer(&url, &CHOICES.replace(from, to));
    let queue = with("\"priority\":0", "\"priority\":31");
    assert!(queue.starts_with("HTTP/1.1 422"), "{queue}");
    assert!(queue.contains("Queue of the burst: 31 is not between 0 and 0"), "{queue}");
    for (from, to, wanted) in [
        ("\"ports\":8", "\"ports\":\"eight\"", "the request is not read: invalid type"),
        ("{\"ports\"", "{\"doors\":1,\"ports\"", "the request is not read: unknown field"),
        ("}", "", "the request is not read: EOF"),
    ] {
        let refused = with(from, to);
        assert!(refused.starts_with("HTTP/1.1 422") && refused.contains(wanted), "{refused}");
        assert!(!refused.contains("cannot write JSON") && !refused.contains("defect"), "{refused}");
    }
    let deep = answer(&url, &"[".repeat(60_000));
    assert!(deep.starts_with("HTTP/1.1 422") && deep.contains("the request is not read"), "{deep}");
    let most = 65_536;
    let blank = |length: usize| format!("{}{}", CHOICES, " ".repeat(length - CHOICES.len()));
    assert!(answer(&url, &blank(most)).starts_with("HTTP/1.1 200"));
    assert!(answer(&url, &blank(most + 1)).starts_with("HTTP/1.1 413"));
    // The answer mentions choices that a switch of 8 ports cannot have.
    let fewer = with("\"overloaded\":2", "\"overloaded\":63");
    assert!(fewer.contains("There are 7 overloaded ports and not 63"), "{fewer}");
}
