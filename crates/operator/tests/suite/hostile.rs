//! Tests of hostile or faulty database servers. Every request to a faulty server ends with an error
//! before the request uses much memory or time.

use bufferlab_operator::store::{Database, Limits, Store, dumps};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Limits of the server's answers in the tests: the default limits, but with less time.
const QUICK: Limits =
    Limits { time: Duration::from_millis(400), session: Duration::from_secs(4), ..Limits::DEFAULT };

/// Starts a server that answers `+OK` to the first question of a connection (SELECT). The server
/// then runs `then` until its client disconnects.
fn server(then: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let then = Arc::new(then);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let then = Arc::clone(&then);
            std::thread::spawn(move || -> std::io::Result<()> {
                // A write ends after 20 s: a client that stops reading has ended its request.
                stream.set_write_timeout(Some(Duration::from_secs(20)))?;
                question(&mut stream)?;
                stream.write_all(b"+OK\r\n")?;
                loop {
                    question(&mut stream)?;
                    then(&mut stream)?;
                }
            });
        }
    });
    address
}

fn question(stream: &mut TcpStream) -> std::io::Result<()> {
    match stream.read(&mut [0; 4096])? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Returns the error of a dump from a server, and the time until the error.
fn said(address: &str) -> (String, Duration) {
    let start = Instant::now();
    let error = dumps(&mut Store::new(address).with_limits(QUICK)).expect_err("a hostile server");
    (error.to_string(), start.elapsed())
}

/// Starts a server that sends `beginning`, and then `piece` without end.
fn without_end(beginning: &'static str, piece: Vec<u8>) -> String {
    server(move |stream| {
        stream.write_all(beginning.as_bytes())?;
        loop {
            stream.write_all(&piece)?;
        }
    })
}

#[test]
fn an_answer_without_an_end_is_refused_before_it_is_in_memory() {
    let bulk = |length: usize| {
        [format!("${length}\r\n").into_bytes(), vec![b'x'; length], b"\r\n".to_vec()].concat()
    };
    for (what, address, why) in [
        ("array", without_end("*2147483647\r\n", bulk(1_000)), "a length of 2147483647"),
        ("bulk", without_end("$536870912000\r\n", vec![b'x'; 65_536]), "a length of 536870912000"),
        ("line", without_end("+", vec![b'a'; 65_536]), "a line of more than"),
        ("push", without_end("", b">2\r\n".repeat(1_000)), "begins with byte 62"),
        ("allowed array of large strings", without_end("*200000\r\n", bulk(100_000)), "more than 16777216 B"),
        ("many small elements", without_end("*262144\r\n", b"*0\r\n".repeat(10_000)), "elements"),
        ("nested", without_end("", b"*1\r\n".repeat(1_000)), "lists within lists"),
        ("attributes", without_end("", b"|1\r\n+a\r\n+b\r\n".repeat(10)), "begins with byte 124"),
        (
            "more than asked",
            without_end("", b"*2\r\n$1\r\n0\r\n*0\r\n:1\r\n".to_vec()),
            "more than one answer",
        ),
    ] {
        let (message, time) = said(&address);
        assert!(message.contains(why), "{what}: {message}");
        assert!(time < Duration::from_secs(10), "{what}: {time:?}");
    }
}

#[test]
fn long_keys_and_values_and_too_many_of_them_are_refused() {
    let scan = |key: usize| {
        let key = "k".repeat(key);
        server(move |stream| {
            stream.write_all(format!("*2\r\n$1\r\n0\r\n*1\r\n${}\r\n{key}\r\n", key.len()).as_bytes())
        })
    };
    let keys = |key: usize, limits: Limits| {
        let mut store = Store::new(&scan(key)).with_limits(limits);
        store.keys(Database::Config, "*", &|_| true).map_err(|error| error.message)
    };
    assert!(keys(4_096, QUICK).is_ok_and(|keys| keys.len() == 1));
    assert!(keys(4_097, QUICK).is_err_and(|message| message.contains("a key of 4097 B")));
    let little = Limits { dump_bytes: 1_000, ..QUICK };
    assert!(keys(1_001, little).is_err_and(|message| message.contains("more than 1000 B of keys")));
    let fields = |value: usize| {
        let value = "v".repeat(value);
        let address = server(move |stream| {
            stream.write_all(format!("*2\r\n$1\r\na\r\n${}\r\n{value}\r\n", value.len()).as_bytes())
        });
        Store::new(&address).with_limits(QUICK).fields(Database::Config, "k").map_err(|error| error.message)
    };
    assert!(fields(1 << 20).is_ok_and(|fields| fields.len() == 1));
    assert!(fields((1 << 20) + 1).is_err_and(|message| message.contains("a value of 1048577 B")));
}

#[test]
fn a_drip_and_silence_end_after_the_time_of_an_answer() {
    let drip = server(|stream| {
        loop {
            stream.write_all(b"+")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let silence = server(|_| {
        std::thread::sleep(Duration::from_secs(20));
        Ok(())
    });
    // Each element of the answer arrives in time, but the time limit is for the whole answer.
    let list = server(|stream| {
        stream.write_all(b"*1000\r\n")?;
        loop {
            stream.write_all(b":1\r\n")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    for (what, address) in [("drip", drip), ("silence", silence), ("list", list)] {
        let (message, time) = said(&address);
        assert!(message.contains("no whole answer within 0.4 s"), "{what}: {message}");
        assert!(time < Duration::from_secs(2), "{what}: {time:?}");
    }
}

#[test]
fn a_scan_that_never_ends_is_ended() {
    let stuck = server(|stream| stream.write_all(b"*2\r\n$1\r\n7\r\n*0\r\n"));
    let (message, time) = said(&stuck);
    assert!(message.contains("stays at 7") && time < Duration::from_secs(2), "{message} {time:?}");
    let count = AtomicUsize::new(1);
    let next = move || count.fetch_add(1, Ordering::SeqCst) % 10 + 1_000;
    let circle =
        server(move |stream| stream.write_all(format!("*2\r\n$4\r\n{}\r\n*0\r\n", next()).as_bytes()));
    let mut store = Store::new(&circle).with_limits(Limits { steps: 500, ..QUICK });
    let error = store.keys(Database::Config, "*", &|_| true).expect_err("no end");
    assert!(error.message.contains("no end within 500 steps"), "{error}");
    // The scan takes far fewer steps than its limit, so the time limit ends the scan.
    let count = AtomicUsize::new(1);
    let slow = server(move |stream| {
        std::thread::sleep(Duration::from_millis(100));
        let next = count.fetch_add(1, Ordering::SeqCst) % 10 + 1_000;
        stream.write_all(format!("*2\r\n$4\r\n{next}\r\n*0\r\n").as_bytes())
    });
    let (message, time) = said(&slow);
    assert!(message.contains("not everything was answered in time"), "{message}");
    assert!(time < Duration::from_secs(6), "{time:?}");
    // Every step of the scan has new keys, so the limit of bytes ends the scan before the memory is
    // full.
    let count = AtomicUsize::new(1);
    let keys = server(move |stream| {
        let next = count.fetch_add(1, Ordering::SeqCst) % 10 + 1_000;
        let key = [b"$4000\r\n".to_vec(), vec![b'|'; 4_000], b"\r\n".to_vec()].concat();
        stream.write_all(format!("*2\r\n$4\r\n{next}\r\n*1000\r\n").as_bytes())?;
        stream.write_all(&key.repeat(1_000))
    });
    let mut store = Store::new(&keys).with_limits(Limits {
        time: Duration::from_secs(10),
        session: Duration::from_secs(60),
        ..QUICK
    });
    let error = store.keys(Database::Config, "*", &|_| true).expect_err("no end");
    assert!(error.message.contains("keys match"), "{error}");
}

#[test]
fn a_flag_ends_every_wait() {
    let silence = server(|_| {
        std::thread::sleep(Duration::from_secs(20));
        Ok(())
    });
    let flag = Arc::new(AtomicBool::new(false));
    let mut store = Store::new(&silence);
    store.interrupt_by(Some(Arc::clone(&flag)));
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        flag.store(true, Ordering::SeqCst);
    });
    let start = Instant::now();
    let error = store.fields(Database::Config, "a").expect_err("interrupted");
    assert!(error.interrupted && start.elapsed() < Duration::from_secs(2), "{error}");
}

#[test]
fn what_a_server_says_neither_steers_a_terminal_nor_repeats_a_password() {
    let address = server(|stream| {
        stream.write_all("-ERR \u{1b}]0;pwn\u{7}\u{202e} with args beginning with: 's3cret'\r\n".as_bytes())
    });
    let (message, _) = said(&format!("redis://admin:s3cret@{address}"));
    assert!(!message.chars().any(bufferlab_units::is_hidden), "{message:?}");
    assert!(
        message.contains("ERR \\u001b]0;pwn") && !message.contains("s3cret") && !message.contains("admin"),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn a_socket_whose_server_accepts_nobody_does_not_keep_us() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("redis.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let start = Instant::now();
    let path = path.to_str().expect("UTF-8");
    // The server accepts connections without an answer until the queue of the socket is full. Later
    // connections are refused.
    let mut stores: Vec<_> = (0..200)
        .map(|_| Store::new(path).with_limits(Limits { time: Duration::from_millis(1), ..QUICK }))
        .collect();
    for store in &mut stores {
        store.fields(Database::Config, "a").expect_err("nobody answers");
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    drop(listener);
}
