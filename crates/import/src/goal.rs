//! Reads GOAL schedules as text (LogGOPSim, `txt2bin.re`). ATLAHS uses this dialect, too.
//!
//! A send and its receive become one transfer. A receive that waits for other nodes becomes a
//! barrier, which also waits for the transfer. Sends and receives match by source and tag, in the
//! order of the file.

use crate::imported::Traffic;
use crate::source::{Line, Source, Word, short};
use crate::{ImportError, ImportOptions, Imported, Notices};
use bufferlab_schedule::{Condition, NodeId, ScheduleBuilder, ScheduleError, Transfer, Work};
use bufferlab_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Name of the traffic class of all messages in a GOAL schedule.
const CLASS: &str = "message";
/// Largest number of ranks in a GOAL file.
const RANKS: u64 = 65_535;

/// A receive that has no matching send yet.
struct Receive<'a> {
    rank: u32,
    /// Rank that sends the message; `None` accepts every rank.
    from: Option<u32>,
    /// Tag of the expected message; `None` accepts every tag.
    tag: Option<u32>,
    node: NodeId,
    line: Line<'a>,
}

/// A send that has no matching receive yet.
#[derive(Clone, Copy)]
struct Sent<'a> {
    src: u32,
    dst: u32,
    tag: u32,
    node: NodeId,
    line: Line<'a>,
}

/// Sends without a matching receive, by receiver, sender and tag.
type Free<'a> = BTreeMap<(u32, u32, u32), VecDeque<Sent<'a>>>;

/// State of the reader of one GOAL file.
struct Reader<'a, 'n> {
    source: Source<'a>,
    notices: &'n mut Notices,
    nics: u32,
    builder: ScheduleBuilder,
    class: u16,
    rank: Option<u32>,
    labels: BTreeMap<&'a str, (NodeId, bool)>,
    receives: Vec<Receive<'a>>,
    sends: Vec<Sent<'a>>,
    computations: u64,
    requires: u64,
    repeated: u64,
}

/// Reads a GOAL schedule as text.
pub(crate) fn read(
    source: Source<'_>,
    options: &ImportOptions,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    source.notice_line_ends(&mut imported.notices);
    let lines = without_comments(source)?;
    let mut lines = lines.into_iter().filter(|line| line.words().next().is_some());
    let head = lines.next().ok_or_else(|| source.error("an empty file", "expected `num_ranks N`"))?;
    let mut words = head.words();
    let (Some(key), Some(count)) = (words.next(), words.next()) else {
        return Err(head.error("no number of ranks", "expected `num_ranks N`"));
    };
    if key.text != "num_ranks" {
        return Err(key.unexpected("`num_ranks N`"));
    }
    let nics = options.nics_per_rank.max(1);
    let ranks = count.whole("a number of ranks", RANKS)? as u32;
    let mut builder = ScheduleBuilder::new(ranks);
    let class = builder.class(CLASS).map_err(|cause| refuse(source, &cause))?;
    let mut reader = Reader {
        source,
        notices: &mut imported.notices,
        nics,
        builder,
        class,
        rank: None,
        labels: BTreeMap::new(),
        receives: Vec::new(),
        sends: Vec::new(),
        computations: 0,
        requires: 0,
        repeated: 0,
    };
    for line in lines {
        reader.read_line(line)?;
    }
    reader.match_messages()?;
    reader.summarise(ranks);
    let schedule = reader.builder.build().map_err(|cause| refuse(source, &cause))?;
    imported.hosts = ranks;
    imported.traffic = Some(Traffic::Schedule(schedule));
    Ok(())
}

fn refuse(source: Source<'_>, cause: &ScheduleError) -> ImportError {
    source.error(cause.to_string(), "correct the `requires` and the messages of these ranks")
}

/// Lists the lines without comments. A comment may begin only where a statement may begin.
fn without_comments(source: Source<'_>) -> Result<Vec<Line<'_>>, ImportError> {
    let mut kept = Vec::new();
    let mut opened: Option<Line<'_>> = None;
    for mut line in source.lines() {
        loop {
            if opened.is_some() {
                let Some((_, rest)) = line.text.split_once("*/") else { break };
                line.text = rest;
                opened = None;
            }
            let text = line.text.trim_start();
            if let Some(rest) = text.strip_prefix("/*") {
                opened = Some(line);
                line.text = rest;
                continue;
            }
            if !text.starts_with("//") {
                kept.push(line);
            }
            break;
        }
    }
    match opened {
        None => Ok(kept),
        Some(line) => Err(line.error("the comment never ends", "add `*/`")),
    }
}

impl<'a> Reader<'a, '_> {
    fn read_line(&mut self, line: Line<'a>) -> Result<(), ImportError> {
        let words: Vec<_> = line.words().collect();
        let Some(rank) = self.rank else {
            return self.open_rank(line, &words);
        };
        if let [brace] = words[..]
            && brace.text == "}"
        {
            self.rank = None;
            return Ok(());
        }
        if let [child, verb, parent] = words[..]
            && matches!(verb.text, "requires" | "irequires")
        {
            return self.read_dependency(child, verb, parent);
        }
        let (label, rest) = match words[0].text.strip_suffix(':') {
            Some(label) => (Some(Word { text: label, ..words[0] }), &words[1..]),
            None => (None, &words[..]),
        };
        let Some(verb) = rest.first() else {
            return Err(line.error("a label without a statement", "add one"));
        };
        let node = match verb.text {
            "send" | "recv" => self.read_message(rank, rest)?,
            "calc" => self.read_computation(rank, rest)?,
            _ => return Err(verb.unexpected("send, recv, calc, `A requires B` or `}`")),
        };
        if let Some(label) = label {
            self.define(rank, label, node, verb.text == "recv")?;
        }
        Ok(())
    }

    /// Reads a line of the form `rank N {`.
    fn open_rank(&mut self, line: Line<'a>, words: &[Word<'a>]) -> Result<(), ImportError> {
        let text: String = line.text.split_whitespace().collect();
        if !text.starts_with("rank") || !text.ends_with('{') {
            return Err(words[0].unexpected("`rank N {`"));
        }
        let number = line.text.trim().trim_start_matches("rank").trim_end_matches('{').trim();
        let number = Word { line, text: number };
        let ranks = u64::from(self.builder.ranks());
        self.rank = Some(number.whole("a rank", ranks.saturating_sub(1))? as u32);
        self.labels.clear();
        Ok(())
    }

    fn define(
        &mut self,
        rank: u32,
        label: Word<'a>,
        node: NodeId,
        is_receive: bool,
    ) -> Result<(), ImportError> {
        let is_word = label.text.starts_with(|first: char| first.is_ascii_alphabetic())
            && label.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_word {
            return Err(label.unexpected("a label of letters, digits and `_`"));
        }
        self.builder.name(node, &format!("r{rank}.{}", label.text));
        if self.labels.contains_key(label.text) {
            self.repeated += 1;
            self.builder.name(node, &format!("r{rank}.{}.line{}", label.text, label.line.number));
            let text =
                format!("line {}: label {} of rank {rank} is defined twice", label.line.number, label.text);
            self.notices.assume(format!("{text}; it keeps its first meaning"));
        } else {
            self.labels.insert(label.text, (node, is_receive));
        }
        Ok(())
    }

    fn read_dependency(
        &mut self,
        child: Word<'a>,
        verb: Word<'a>,
        parent: Word<'a>,
    ) -> Result<(), ImportError> {
        let find = |word: Word<'a>| {
            let found = self.labels.get(word.text).copied();
            let problem = || format!("label \"{}\" is not defined above", short(word.text));
            found.ok_or_else(|| word.error(problem(), "define it in this rank, on an earlier line"))
        };
        let ((child, _), (parent_node, is_receive)) = (find(child)?, find(parent)?);
        let is_send = !is_receive && matches!(self.builder.work(parent_node), Some(Work::Transfer(_)));
        let condition = match (verb.text, is_send) {
            ("irequires", _) => Condition::Started,
            (_, true) => Condition::Sent,
            _ => Condition::Finished,
        };
        self.requires += 1;
        self.builder.after(child, parent_node, condition).map_err(|cause| refuse(self.source, &cause))
    }

    /// Reads a line of the form `send SIZE[b] to DST …` or `recv SIZE[b] from SRC …`.
    fn read_message(&mut self, rank: u32, words: &[Word<'a>]) -> Result<NodeId, ImportError> {
        let verb = words[0];
        let is_send = verb.text == "send";
        let mut rest = words[1..].iter().copied().peekable();
        let mut next = |expected: &str| {
            rest.next()
                .ok_or_else(|| verb.error("the statement is incomplete", format!("expected {expected}")))
        };
        let size = next("a size")?;
        let digits = Word { text: size.text.strip_suffix('b').unwrap_or(size.text), ..size };
        let bytes = digits.whole("a size in bytes", u64::MAX)?;
        let mut preposition = next("`to` or `from`")?;
        if preposition.text == "b" {
            preposition = next("`to` or `from`")?;
        }
        if preposition.text != if is_send { "to" } else { "from" } {
            return Err(preposition.unexpected("`to` after a send, `from` after a receive"));
        }
        let peer_word = next("a rank")?;
        let peer = self.peer(peer_word)?;
        let mut tag = Some(0);
        while let Some(key) = rest.next() {
            let value =
                rest.next().ok_or_else(|| key.error(format!("`{}` has no value", key.text), "add one"))?;
            match key.text {
                "tag" => tag = any(value)?,
                "cpu" | "nic" => {
                    value.whole("a number", 255)?;
                    if value.text != "0" {
                        self.notices
                            .ignore(format!("`{}` of messages: a host has one network card", key.text));
                    }
                }
                _ => return Err(key.unexpected("tag, cpu or nic")),
            }
        }
        let line = verb.line;
        let refuse = |cause: ScheduleError| verb.error(cause.to_string(), "correct the statement");
        if !is_send {
            let node = self.builder.node(Work::Barrier).map_err(refuse)?;
            self.receives.push(Receive { rank, from: peer, tag, node, line });
            return Ok(node);
        }
        let dst = peer.ok_or_else(|| peer_word.unexpected("the rank that receives"))?;
        if bytes == 0 {
            self.notices.assume("messages of 0 B have 1 B");
        }
        let transfer = Transfer { src: rank, dst, bytes: bytes.max(1), class: self.class };
        let node = self.builder.node(Work::Transfer(transfer)).map_err(refuse)?;
        self.sends.push(Sent { src: rank, dst, tag: tag.unwrap_or(u32::MAX), node, line });
        Ok(node)
    }

    fn peer(&self, word: Word<'_>) -> Result<Option<u32>, ImportError> {
        let Some(number) = any(word)? else { return Ok(None) };
        let rank = number / self.nics;
        if rank >= self.builder.ranks() {
            let advice = "expected a rank below num_ranks; --nics-per-rank divides numbers of network cards";
            return Err(word.error(format!("there is no rank {rank}"), advice));
        }
        Ok(Some(rank))
    }

    /// Reads a line of the form `calc NS [cpu C]`.
    fn read_computation(&mut self, rank: u32, words: &[Word<'a>]) -> Result<NodeId, ImportError> {
        let verb = words[0];
        let lane = match words[1..] {
            [_] => 0,
            [_, key, cpu] if key.text == "cpu" => cpu.whole("a processor", 255)?,
            _ => return Err(verb.error("the statement is incomplete", "expected `calc NS [cpu C]`")),
        };
        let duration = words[1].whole("a time in nanoseconds", u64::MAX / 1_000)?;
        self.computations += 1;
        let work = Work::Compute { rank, lane: lane as u8, duration: Time::from_ns(duration) };
        self.builder.node(work).map_err(|cause| refuse(self.source, &cause))
    }

    /// Joins sends and receives. Receives with a known source and a known tag come first,
    /// then receives from any source or with any tag.
    fn match_messages(&mut self) -> Result<(), ImportError> {
        let mut free = Free::new();
        for &sent in &self.sends {
            free.entry((sent.dst, sent.src, sent.tag)).or_default().push_back(sent);
        }
        let is_any = |receive: &Receive<'_>| receive.from.is_none() || receive.tag.is_none();
        let (wild, exact): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.receives).into_iter().partition(is_any);
        if !wild.is_empty() {
            self.notices.assume(format!(
                "{} receives from any rank or with any tag take the messages that remain, in the order of the file",
                wild.len()
            ));
        }
        for receive in exact.iter().chain(&wild) {
            let sent = take(&mut free, receive);
            let problem = || {
                format!("rank {} waits for a message that no rank sends, so it never goes on", receive.rank)
            };
            let sent =
                sent.ok_or_else(|| receive.line.error(problem(), "add the send, or remove the receive"))?;
            let added = self.builder.after(receive.node, sent.node, Condition::Finished);
            added.map_err(|cause| refuse(self.source, &cause))?;
        }
        self.receives = exact;
        self.receives.extend(wild);
        let unread: usize = free.values().map(VecDeque::len).sum();
        if let Some(sent) = free.values().flatten().next() {
            self.notices.assume(format!(
                "{unread} messages are never received, the first in line {}; they are sent anyway",
                sent.line.number
            ));
        }
        Ok(())
    }

    fn summarise(&mut self, ranks: u32) {
        self.notices.understand(format!(
            "{ranks} ranks, {} sends, {} receives, {} computations, {} dependencies",
            self.sends.len(),
            self.receives.len(),
            self.computations,
            self.requires
        ));
        self.notices
            .assume("messages of every size are sent at once (eager), and sends cost no time on the host");
        if self.nics > 1 {
            self.notices
                .assume(format!("numbers of nodes are divided by {} network cards per rank", self.nics));
        }
    }
}

/// Removes the first send in the file that matches `receive`, and returns the send.
fn take<'a>(free: &mut Free<'a>, receive: &Receive<'_>) -> Option<Sent<'a>> {
    let key = match (receive.from, receive.tag) {
        (Some(from), Some(tag)) => (receive.rank, from, tag),
        _ => {
            let low = (receive.rank, receive.from.unwrap_or(0), 0);
            let high = (receive.rank, receive.from.unwrap_or(u32::MAX), u32::MAX);
            let fits = |key: &(u32, u32, u32)| receive.tag.is_none_or(|tag| tag == key.2);
            let fitting = free.range(low..=high).filter(|(key, _)| fits(key));
            fitting.filter_map(|(key, sends)| Some((sends.front()?.node, *key))).min()?.1
        }
    };
    let sends = free.get_mut(&key)?;
    let sent = sends.pop_front();
    if sends.is_empty() {
        free.remove(&key);
    }
    sent
}

/// Reads a number of 32 bits; the number −1 accepts every rank or tag.
fn any(word: Word<'_>) -> Result<Option<u32>, ImportError> {
    if word.text == "-1" || word.text == "4294967295" {
        return Ok(None);
    }
    word.whole("a number, or -1 for any", u64::from(u32::MAX)).map(|number| Some(number as u32))
}
