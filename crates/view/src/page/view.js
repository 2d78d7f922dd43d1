// Draws the content of one switch's buffer over time. The data are in the page or come from its server.
"use strict";
(() => {
  const embedded = document.getElementById("view-data");
  const stored = embedded ? JSON.parse(embedded.textContent) : null;
  // Whether the window is a part of a larger page, whose address and keys this script must not use.
  const isPart = stored !== null && stored.is_part;
  const byId = (id) => document.getElementById(id);
  const sentence = byId("sentence"), explanation = byId("explanation"), rowsPlace = byId("rows");
  let about = null, state = null, shown = null, chart = null, lanes = null, asked = 0;

  // --- data sources ---

  // Every tab shows one switch, which the tab's address and requests name.
  const at = stored ? null : new URLSearchParams(location.hash.slice(1)).get("switch");
  async function get(path, query) {
    const response = await fetch("api/" + path + "?" + new URLSearchParams({ ...query, ...(at === null ? {} : { switch: at }) }));
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }
  const covers = (window, wish) => window.from <= wish.from && window.until >= wish.until;
  // Restores data that a file omits to save space.
  function whole(window) {
    const zeros = (list) => (list.length > 0 ? list : window.most.map(() => 0));
    return {
      ...window, counts: window.counts.map(zeros), limit: window.limit.length > 0 ? window.limit : window.most.map(() => null),
      times: window.most.map((_, at) => window.times[0] + at * window.step),
    };
  }
  if (stored) for (const windows of Object.values(stored.windows)) windows.forEach((window, at) => (windows[at] = whole(window)));
  const isAt = (wish) => (place) => (wish.port === undefined || String(place.port) === String(wish.port)) && (wish.priority === undefined || String(place.priority) === String(wish.priority));
  // For a page in a file: finds the finest window that covers the requested time, and cuts it.
  function cut(wish) {
    const of = wish.port === undefined ? wish.by : `${wish.port}.${wish.priority ?? 0}`;
    const windows = stored.windows[of].filter((window) => covers(window, wish));
    const best = windows.sort((a, b) => a.step - b.step)[0] || stored.windows[of][0];
    const first = Math.max(0, best.times.findIndex((time) => time > wish.from));
    let last = best.times.findIndex((time) => time >= wish.until);
    last = last < 0 ? best.times.length : last + 1;
    const part = (list) => list.slice(first, Math.max(last, first + 2));
    const counts = best.counts.map(part);
    const most = part(best.most);
    const peak = Math.max(0, ...most);
    return {
      ...best, from: wish.from, until: wish.until, times: part(best.times), most, limit: part(best.limit), counts,
      sums: counts.map((list) => list.reduce((sum, count) => sum + count, 0)),
      groups: best.groups.map((group) => ({ ...group, held: part(group.held) })).filter((group) => group.held.some((held) => held > 0)),
      events: counts.flat().reduce((sum, count) => sum + count, 0),
      peak: peak > 0 ? [peak, part(best.times)[most.indexOf(peak)]] : null,
      losses: best.losses.filter((loss) => loss.time >= wish.from && loss.time <= wish.until),
      is_coarse: best.step > (wish.until - wish.from) / 50,
    };
  }
  const source = stored ? {
    about: async () => stored.about,
    window: async (wish) => cut(wish),
    rows: async (wish) => stored.rows.filter((row) => row.time_ps >= wish.from && row.time_ps <= wish.until).filter(isAt(wish)).slice(0, 300),
    loss: async (wish) => {
      const here = stored.losses.filter(isAt(wish));
      const found = wish.backwards
        ? here.findLast((loss) => (wish.row === undefined ? loss.time <= wish.time : loss.row < wish.row))
        : here.find((loss) => (wish.row === undefined ? loss.time >= wish.time : loss.row > wish.row));
      return found || null;
    },
    query: async ({ query }) => {
      if (!(query in stored.queries)) throw new Error("this file has the first losses of some queries only; `bufferlab view` on the run's folder has those of any");
      return stored.queries[query];
    },
    explain: async ({ row, from }) => {
      const found = stored.explanations.find((one) => (row === undefined ? one.time >= from : one.row === row));
      if (!found) throw new Error("this file explains " + stored.explanations.length + " losses only; `bufferlab view` on the run's folder explains any");
      return found.explanation;
    },
    values: async (wish) => stored.values[wish.name + " " + wish.queue] || { times: [], values: [], is_state: false },
  } : {
    about: () => get("about", {}), window: (wish) => get("window", wish), rows: (wish) => get("rows", wish),
    explain: (wish) => get("explain", wish), values: (wish) => get("values", wish),
    loss: (wish) => get("loss", wish), query: (wish) => get("query", wish),
  };

  // --- text ---

  const UNITS = [["s", 1e12], ["ms", 1e9], ["us", 1e6], ["ns", 1e3], ["ps", 1]];
  const unitOf = (span) => UNITS.find(([, size]) => span >= size) || UNITS[4];
  const digits = (value, places) => String(Number(value.toFixed(places)));
  // Formats an instant, precise enough to distinguish steps of `step`.
  function instant(time, step) {
    if (time === 0) return "0 s";
    const [unit, size] = unitOf(time);
    return digits(time / size, Math.min(9, Math.max(1, Math.ceil(Math.log10(size / Math.max(1, step)))))) + " " + unit;
  }
  const span = (time) => { const [unit, size] = unitOf(time); return Number((time / size).toPrecision(3)) + " " + unit; };
  function bytes(count) {
    if (count < 1000) return count + " B";
    if (count < 999_500) return Number((count / 1e3).toPrecision(3)) + " KB";
    return Number((count / 1e6).toPrecision(3)) + " MB";
  }
  const many = (count, what) => `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
  const kind = (name) => about.kinds.findIndex((one) => one.name === name);
  const losses = () => about.kinds.filter((one) => one.is_loss).map((one) => one.name);

  // The queue that the chart shows, if it shows only one queue.
  const onlyQueue = () => (state.port === "" || (state.priority === "" && about.queues_per_port > 1) ? "" : `${state.port}.${state.priority === "" ? 0 : state.priority}`);
  const place = () => (state.priority === "" ? `port ${state.port}` : `queue ${state.port}.${state.priority}`);
  const whoseLimit = () => "limit of " + (onlyQueue() ? "queue " + onlyQueue() : "the longest queue");

  function describe() {
    const { from, until, step, sums, peak } = shown;
    const where = state.port === "" ? "the buffer" : place();
    const parts = [`${instant(from, step)} to ${instant(until, step)} (${span(until - from)}), ${shown.times.length.toLocaleString("en-US")} points of ${span(step)}.`];
    if (peak) {
      const share = state.port === "" && about.buffer_bytes > 0 ? ` of ${bytes(about.buffer_bytes)} (${Math.round((100 * peak[0]) / about.buffer_bytes)} %)` : "";
      parts.push(`At most ${bytes(peak[0])}${share} in ${where}, at ${instant(peak[1], step)}.`);
    } else parts.push(`Nothing is stored in ${where}.`);
    const largest = shown.groups[0], limits = shown.limit.filter((limit) => limit !== null);
    if (onlyQueue() && limits.length > 0) parts.push(`Its limit was ${bytes(Math.min(...limits))} to ${bytes(Math.max(...limits))}.`);
    else if (largest) parts.push(`Largest: ${largest.name}.`);
    if (about.is_recorded) {
      const lost = losses().map((name) => [name, sums[kind(name)]]).filter(([, count]) => count > 0);
      parts.push(lost.length === 0 ? "No packet lost." : lost.map(([name, count]) => `${many(count, "packet")} ${name}`).join(", ") + ".");
      if (sums[kind("marked")] > 0) parts.push(`${many(sums[kind("marked")], "packet")} marked.`);
      if (sums[kind("paused")] > 0) parts.push(`${many(sums[kind("paused")], "pause")} demanded.`);
    }
    if (shown.is_coarse) parts.push(stored ? "This file has no finer points here." : "Finer points would need too many packets: zoom in further.");
    sentence.textContent = parts.join(" ");
  }

  // --- charts ---

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Width of an A4 sheet without margins: a wider chart would shrink the whole page.
  const PAPER = 680;
  let printing = false;
  const width = () => Math.max(280, Math.min(byId("chart").clientWidth, printing ? PAPER : Infinity));
  function ticks(axis) {
    return (_, values) => {
      const step = values.length > 1 ? values[1] - values[0] : 1;
      return values.map((value) => (axis === "x" ? instant(Math.round(value), step / 10) : bytes(value)));
    };
  }
  function draw() {
    if (chart) { chart.destroy(); chart = null; }
    const { groups, times } = shown;
    const sum = times.map(() => 0);
    const stacked = groups.map((group) => group.held.map((held, at) => (sum[at] += held)));
    const stepped = uPlot.paths.stepped({ align: -1 });
    const text = colour("--text"), soft = colour("--line");
    // Draw from the top layer of the stack to the bottom: each layer covers the area below it.
    const layers = groups.map((group, at) => ({ group, values: stacked[at] })).reverse();
    const series = [{}, ...layers.map(({ group }) => ({ label: group.name, stroke: colour("--c" + group.colour), fill: colour("--c" + group.colour), width: 0.5, paths: stepped, points: { show: false } }))];
    const data = [times, ...layers.map(({ values }) => values)];
    if (state.most) { series.push({ label: "most", stroke: text, width: 1, paths: stepped, points: { show: false } }); data.push(shown.most); }
    if (state.limit) { series.push({ label: "limit", stroke: colour("--c1"), width: 1.6, dash: [6, 4], paths: stepped, points: { show: false } }); data.push(shown.limit); }
    const narrow = width() < 600;
    const grid = { stroke: soft, width: 0.5 }, font = "12px system-ui, sans-serif";
    const axes = [{ stroke: text, grid, font, values: ticks("x"), space: narrow ? 90 : 110 }, { stroke: text, grid, font, values: ticks("y"), size: 62 }];
    const top = Math.max(...sum, ...(state.most ? shown.most : [0]), ...(state.limit ? shown.limit.filter((value) => value !== null) : [0]), 1);
    const options = {
      width: width(), height: narrow ? 260 : 340, series, axes, legend: { show: false },
      scales: { x: { time: false, range: [shown.from, shown.until] }, y: { range: [0, top * 1.05] } },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false } },
      // The ends of the axes are known after the layout.
      hooks: { setSelect: [select], setCursor: [point], draw: [drawLanes] },
    };
    chart = new uPlot(options, data, byId("chart"));
    drawLegend();
  }
  function select(plot) {
    if (plot.select.width < 4) return;
    const from = Math.round(plot.posToVal(plot.select.left, "x")), until = Math.round(plot.posToVal(plot.select.left + plot.select.width, "x"));
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    move(from, until);
  }
  function point(plot) {
    const at = plot.cursor.idx;
    const place = byId("pointer");
    if (at === null || at === undefined) { place.textContent = "\u00a0"; return; }
    const held = shown.groups.filter((group) => group.held[at] > 0).map((group) => `${group.name} ${bytes(group.held[at])}`);
    const limit = shown.limit[at] === null ? "" : `; ${whoseLimit()} ${bytes(shown.limit[at])}`;
    place.textContent = `${instant(shown.times[at], shown.step)}: ${held.join(", ") || "empty"}${limit}`;
  }
  function drawLegend() {
    const entries = shown.groups.map((group) => [group.name, "--c" + group.colour, ""]);
    if (state.most) entries.push(["most within a point", "--text", "line"]);
    if (state.limit && shown.limit.some((limit) => limit !== null)) entries.push([whoseLimit(), "--c1", "dashed"]);
    byId("legend").replaceChildren(...entries.map(([name, variable, form]) => {
      const item = document.createElement("li"), key = document.createElement("span");
      key.className = "key " + form;
      key.style.setProperty("--k", `var(${variable})`);
      item.append(key, name);
      return item;
    }));
  }

  // Draws events below the chart, on the chart's time axis: one line per kind of event.
  function drawLanes(plot) {
    const canvas = byId("lanes"), ratio = window.devicePixelRatio || 1;
    const used = about.is_recorded ? about.kinds.filter((one) => one.colour !== null).map((one) => [one.name, `--c${one.colour}`]).filter(([name]) => shown.sums[kind(name)] > 0 || (name === "paused" && shown.pauses.length > 0)) : [];
    lanes = used;
    const height = 22 * used.length;
    canvas.style.height = height + "px";
    canvas.hidden = used.length === 0;
    byId("lane-names").textContent = used.length === 0 ? "" : (used.length === 1 ? "Below the chart: " : "Below the chart, from top to bottom: ") + used.map(([name]) => name).join(", ") + "." + (shown.losses.length > 0 ? " A click on a loss explains it." : "");
    if (used.length === 0) return;
    canvas.width = width() * ratio;
    canvas.height = height * ratio;
    const paint = canvas.getContext("2d");
    paint.scale(ratio, ratio);
    const left = plot.bbox.left / ratio, wide = plot.bbox.width / ratio;
    const x = (time) => left + ((time - shown.from) / (shown.until - shown.from)) * wide;
    used.forEach(([name, variable], row) => {
      const y = row * 22;
      paint.fillStyle = colour("--band");
      paint.fillRect(left, y + 2, wide, 18);
      paint.fillStyle = colour(variable);
      if (name === "paused") {
        for (const [begin, end] of shown.pauses) {
          if (end < shown.from || begin > shown.until) continue;
          const a = Math.max(left, x(begin)), b = Math.min(left + wide, x(end));
          paint.fillRect(a, y + 4, Math.max(1.5, b - a), 14);
        }
        return;
      }
      const counts = shown.counts[kind(name)], largest = Math.max(...counts);
      counts.forEach((count, at) => {
        if (count === 0) return;
        const tall = 5 + 13 * (count / largest), a = x(shown.times[at] - shown.step), b = x(shown.times[at]);
        paint.fillRect(Math.max(left, a), y + 20 - tall, Math.max(1.5, b - a), tall);
      });
    });
    paint.fillStyle = colour("--text");
    paint.font = "11px system-ui, sans-serif";
    used.forEach(([name], row) => paint.fillText(name, 4, row * 22 + 15));
    canvas.setAttribute("aria-label", used.map(([name]) => `${shown.sums[kind(name)]} ${name}`).join(", "));
  }
  function timeAt(event) {
    const ratio = window.devicePixelRatio || 1, box = byId("lanes").getBoundingClientRect();
    const share = (event.clientX - box.left - chart.bbox.left / ratio) / (chart.bbox.width / ratio);
    return shown.from + share * (shown.until - shown.from);
  }
  function nearestLoss(time) {
    let best = null;
    for (const loss of shown.losses) if (best === null || Math.abs(loss.time - time) < Math.abs(best.time - time)) best = loss;
    return best;
  }

  // Draws the policy's sampled values: bands for states, or a curve.
  async function drawValues() {
    const place = byId("values"), choice = state.value;
    place.replaceChildren();
    if (!choice) return;
    const [name, queue] = choice.split(" ");
    const found = await source.values({ name, queue, from: shown.from, until: shown.until });
    const note = byId("values-note");
    if (found.times.length === 0) { note.textContent = `${name} of queue ${queue}: no sample in this window.`; return; }
    const different = [...new Set(found.values)].sort((a, b) => a - b);
    note.textContent = found.is_state
      ? `${name} of queue ${queue}: ${different.join(", ")}, as bands (darker is higher).`
      : `${name} of queue ${queue}: ${Math.min(...found.values)} to ${Math.max(...found.values)}.`;
    const text = colour("--text"), grid = { stroke: colour("--line"), width: 0.5 };
    new uPlot({
      width: width(), height: 130, legend: { show: false }, cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, range: [shown.from, shown.until] } },
      axes: [{ stroke: text, grid, values: ticks("x"), space: 110 }, { stroke: text, grid, size: 62 }],
      series: [{}, { label: name, stroke: colour("--c0"), fill: found.is_state ? colour("--c0") + "55" : undefined, width: 1.4, paths: uPlot.paths.stepped({ align: 1 }), points: { show: found.times.length < 3 } }],
    }, [found.times, found.values], place);
  }

  // --- single packets ---

  async function listRows() {
    rowsPlace.replaceChildren();
    const note = byId("rows-note");
    if (!about.is_recorded) { note.textContent = "This run recorded no packets: what is shown are its samples. Run it again with --packets to see every packet, loss and mark."; return; }
    if (shown.events > 300) { note.textContent = `${many(shown.events, "event")} in this window. Zoom in until there are 300 or fewer, and they are listed here.`; return; }
    const wish = { from: shown.from, until: shown.until };
    const rows = await source.rows({ ...wish, ...chosenPlace() });
    note.textContent = rows.length === 0 ? (stored ? "This file has the packets around its first losses only." : "No event in this window.") : `${many(rows.length, "event")}. An empty cell means that it does not apply.`;
    if (rows.length === 0) return;
    const head = ["time", "event", "from port", "queue", "class", "flow", "packet", "size", "queue after", "limit", "why"];
    const table = document.createElement("table"), line = table.createTHead().insertRow();
    for (const name of head) { const cell = document.createElement("th"); cell.textContent = name; line.append(cell); }
    const body = table.createTBody();
    for (const row of rows) {
      const why = row.bound ? `${row.reason}: ${row.bound} ${row.held_bytes} B of ${row.limit_bytes} B` : row.reason || "";
      const cells = [instant(row.time_ps, 1000), row.event, row.ingress_port, row.port === null ? row.priority : `${row.port}.${row.priority}`, row.class ?? "", row.flow_id ?? "", row.packet === null ? "" : `${row.packet} ${row.kind}`, bytes(row.size_bytes), bytes(row.queue_bytes), row.threshold_bytes === null ? "" : bytes(row.threshold_bytes), why];
      const line = body.insertRow();
      if (losses().includes(row.event)) line.className = "lost";
      for (const text of cells) line.insertCell().textContent = text;
    }
    rowsPlace.append(table);
  }

  // --- losses ---

  const share = (part, whole) => (whole > 0 ? Math.round((1000 * part) / whole) / 10 : 0);
  function element(name, text) { const made = document.createElement(name); made.textContent = text; return made; }
  async function explain({ time, row }) {
    const wish = { row, from: time }, when = instant(time, 1000);
    state.loss = { time, row };
    explanation.replaceChildren(element("p", `Repeating the run up to ${when} with every policy looking on …`));
    byId("why").hidden = false;
    let e;
    try { e = await source.explain(wish); } catch (error) { explanation.replaceChildren(element("p", "No explanation: " + error.message)); return; }
    const parts = [element("p", `${e.event} at ${instant(e.time_ns * 1000, 1000)}, port ${e.port}, priority ${e.priority}: ${e.reason}, because ${e.because}.`)];
    parts[0].className = "claim";
    parts.push(element("p", `The packet: ${e.size_bytes} B of flow ${e.flow_id} (${e.class})${e.tags.length ? ", " + e.tags.join(", ") : ""}. The buffer: ${bytes(e.occupancy_bytes)} of ${bytes(e.buffer_bytes)} in use (${share(e.occupancy_bytes, e.buffer_bytes)} %).`));
    const held = ["port", "queue", "class", "flow"].map((kind) => [kind, e.holders.filter((holder) => holder.kind === kind)]).filter(([, list]) => list.length > 0);
    const list = document.createElement("ul");
    for (const [kind, holders] of held) list.append(element("li", `Held by ${kind}: ` + holders.map((holder) => `${holder.name} ${bytes(holder.bytes)} (${share(holder.bytes, e.buffer_bytes)} %)`).join(", ")));
    parts.push(list);
    if (e.opinions.length > 0) {
      const table = document.createElement("table"), head = table.createTHead().insertRow();
      for (const name of ["with another policy", "the same packet", "its limit"]) head.append(element("th", name));
      const body = table.createTBody();
      for (const opinion of e.opinions) {
        const line = body.insertRow(), own = opinion.policy === e.policy;
        line.insertCell().textContent = opinion.policy + (own ? " (this run's, with its parameters)" : "");
        line.insertCell().textContent = opinion.verdict;
        line.insertCell().textContent = opinion.threshold_bytes === null ? "" : bytes(opinion.threshold_bytes);
        if (own) line.className = "own";
      }
      const kept = e.opinions.filter((opinion) => opinion.verdict.startsWith("admit")).length;
      parts.push(element("p", `${kept} of ${e.opinions.length} policies would have kept it, with default parameters and this buffer.`), table);
    }
    explanation.replaceChildren(...parts);
  }

  // --- controls ---

  function clamp(from, until) {
    const least = 20_000, size = Math.min(Math.max(until - from, least), about.end);
    const start = Math.min(Math.max(0, from), about.end - size);
    return [Math.round(start), Math.round(start + size)];
  }
  function move(from, until) { [state.from, state.until] = clamp(from, until); return refresh(); }
  function zoom(factor) {
    const middle = (state.from + state.until) / 2, half = ((state.until - state.from) / 2) * factor;
    return move(middle - half, middle + half);
  }
  function shift(share) { const by = (state.until - state.from) * share; return move(state.from + by, state.until + by); }
  const chosenPlace = () => ({ ...(state.port === "" ? {} : { port: state.port }), ...(state.priority === "" ? {} : { priority: state.priority }) });
  // Starts at the loss explained last if the window shows it, otherwise at the window's edge.
  async function toLoss(backwards) {
    const { from, until, loss: last } = state;
    const goesOn = last && last.time >= from && last.time <= until;
    const wish = { time: backwards ? until : from, backwards, ...(goesOn ? { row: last.row } : {}), ...chosenPlace() };
    const say = (text) => { byId("pointer").textContent = text; };
    let found;
    try { found = await source.loss(wish); } catch (error) { say("No answer: " + error.message); return; }
    if (!found) {
      const rest = stored && about.losses > stored.losses.length && !backwards ? ` This file has the first ${stored.losses.length.toLocaleString("en-US")} losses of ${about.losses.toLocaleString("en-US")} only.` : "";
      say((backwards ? "No earlier loss." : "No later loss.") + rest);
      return;
    }
    await toIt(found);
  }
  async function toIt(loss) {
    const half = Math.min((state.until - state.from) / 2, 10_000_000);
    await move(loss.time - half, loss.time + half);
    await explain(loss);
  }

  async function refresh() {
    const mine = ++asked;
    const wish = { from: state.from, until: state.until, points: Math.min(1200, Math.max(100, Math.round(width() * 1.2))), by: state.by, ...chosenPlace() };
    document.body.setAttribute("aria-busy", "true");
    try {
      const found = await source.window(wish);
      // A later request is pending, so ignore this answer.
      if (mine !== asked) return;
      shown = found;
      draw();
      describe();
      await Promise.all([listRows(), drawValues()]);
      const to = new URLSearchParams({ from: state.from, until: state.until, by: state.by, port: state.port, priority: state.priority, ...(at === null ? {} : { switch: at }) });
      if (!isPart) history.replaceState(null, "", "#" + to);
    } catch (error) { sentence.textContent = "No answer: " + error.message + ". Is `bufferlab view` still running?"; }
    finally { if (mine === asked) document.body.removeAttribute("aria-busy"); }
  }

  // Classes are known only for the whole buffer.
  function setPlace(port, priority) {
    [state.port, state.priority] = [port, port === "" ? "" : priority];
    byId("queue").disabled = port === "";
    byId("queue").value = state.priority;
    const classes = byId("by").querySelector("[value=class]");
    if (classes) classes.disabled = port !== "";
    if (port !== "" && state.by === "class") { state.by = about.queues_per_port === 1 ? "port" : "queue"; byId("by").value = state.by; }
  }

  // Lists queries that lost packets, each with a button that explains the loss.
  function listQueries() {
    const { longest, count, all } = about.queries;
    if (longest.length === 0) return;
    byId("lost-queries").hidden = false;
    byId("lost-queries-note").textContent = `${count.toLocaleString("en-US")} of ${many(all, "query").replace(/querys$/, "queries")} lost packets.` + (count > longest.length ? ` The ${longest.length} that took longest:` : "");
    const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    for (const name of ["", "query", "class", "asked by", "began", "took", "packets lost"]) head.append(element("th", name));
    for (const line of longest) {
      const row = body.insertRow(), button = element("button", "Why?");
      const took = line.took === null ? "did not end" : span(line.took);
      row.insertCell().append(button);
      for (const text of [line.query, line.class, line.client, instant(line.start, 1e6), took, line.lost.toLocaleString("en-US")]) row.insertCell().textContent = text;
      button.type = "button";
      button.setAttribute("aria-label", `Why did query ${line.query} lose packets?`);
      button.addEventListener("click", () => toQuery(line.query));
    }
    byId("lost-queries-table").append(table);
  }
  async function toQuery(query) {
    byId("why").hidden = false;
    explanation.replaceChildren(element("p", "Looking for the first packet that it lost …"));
    let loss;
    try { loss = await source.query({ query }); } catch (error) { explanation.replaceChildren(element("p", "No explanation: " + error.message)); return; }
    if (loss) await toIt(loss);
    else explanation.replaceChildren(element("p", `Query ${query} lost no packet at ${about.switch}: it lost them at another switch, or on a link that failed.`));
    byId("why").scrollIntoView({ block: "nearest" });
  }

  function option(value, text) { const made = element("option", text); made.value = value; return made; }
  function wire() {
    // The file of a page only has windows of the queues with the most losses.
    const places = stored ? about.shown_queues.map((name) => name.split(".")) : Array.from({ length: about.ports }, (_, at) => [String(at), ""]);
    const namePlace = ([port, priority]) => (priority === "" ? `port ${port}` : `queue ${port}.${priority}`);
    byId("port").append(option("", "all ports"), ...places.map((place) => option(place.filter((part) => part !== "").join("."), namePlace(place))));
    byId("port").closest("label").hidden = places.length === 0;
    byId("queue").append(option("", "all its queues"), ...Array.from({ length: about.queues_per_port }, (_, at) => option(String(at), `queue ${at}`)));
    byId("queue").closest("label").hidden = stored !== null || about.queues_per_port === 1;
    if (!about.is_recorded) byId("by").querySelector("[value=class]").remove();
    // With one queue per port, a division by queue equals a division by port.
    if (about.queues_per_port === 1) byId("by").querySelector("[value=queue]").remove();
    const values = Object.entries(about.values).flatMap(([name, queues]) => queues.map((queue) => name + " " + queue));
    byId("value").append(option("", values.length ? "none" : "none were sampled"), ...values.map((name) => option(name, name.replace(" ", " of queue "))));
    byId("value").disabled = values.length === 0;
    const choose = (id, key, read) => byId(id).addEventListener("change", (event) => { state[key] = read(event.target); refresh(); });
    choose("by", "by", (target) => target.value);
    byId("port").addEventListener("change", (event) => {
      const [port, priority] = event.target.value.split(".");
      setPlace(port, priority ?? (port === "" ? "" : state.priority));
      refresh();
    });
    byId("queue").addEventListener("change", (event) => { setPlace(state.port, event.target.value); refresh(); });
    choose("value", "value", (target) => target.value);
    choose("limit", "limit", (target) => target.checked);
    choose("most", "most", (target) => target.checked);
    const press = (id, work) => byId(id).addEventListener("click", work);
    press("in", () => zoom(0.5)); press("out", () => zoom(2)); press("left", () => shift(-0.5)); press("right", () => shift(0.5));
    press("whole", () => move(about.begin, about.end)); press("next", () => toLoss(false)); press("previous", () => toLoss(true));
    for (const id of ["next", "previous"]) byId(id).disabled = about.losses === 0;
    byId("lanes").addEventListener("click", (event) => {
      const loss = nearestLoss(timeAt(event));
      if (loss) explain(loss);
      else if (losses().some((name) => shown.sums[kind(name)] > 0)) byId("pointer").textContent = "Zoom in: there are too many losses here to tell one.";
    });
    (isPart ? byId("window-part") : document).addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT"].includes(event.target.tagName)) return;
      const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "whole", n: "next", p: "previous" };
      const id = keys[event.key];
      if (id) { event.preventDefault(); byId(id).click(); }
    });
    let waiting = null;
    window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 150); });
    // Paper is always light, and a page cannot wait for answers while it is printed.
    for (const [event, does] of [["beforeprint", true], ["afterprint", false]]) window.addEventListener(event, () => { printing = does; if (shown) draw(); drawValues(); });
    for (const medium of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(medium).addEventListener("change", () => { if (shown) draw(); drawValues(); });
    if (!stored && about.switches.length > 1) {
      const choice = byId("switch");
      choice.append(...about.switches.map((name) => option(name, name)));
      choice.value = about.switch;
      choice.closest("label").hidden = false;
      choice.addEventListener("change", () => { history.replaceState(null, "", "#" + new URLSearchParams({ switch: choice.value })); location.reload(); });
    }
  }

  async function start() {
    about = await source.about();
    const hash = new URLSearchParams(location.hash.slice(1));
    const numbers = [Number(hash.get("from")), Number(hash.get("until"))];
    state = { from: about.begin, until: about.end, by: "port", port: "", priority: "", value: "", limit: true, most: true, loss: null };
    if (!isPart && hash.has("until") && numbers.every(Number.isFinite)) [state.from, state.until] = clamp(...numbers);
    const divisions = [...byId("by").options].map((one) => one.value).filter((by) => (by !== "queue" || about.queues_per_port > 1) && (by !== "class" || about.is_recorded));
    if (divisions.includes(hash.get("by"))) state.by = hash.get("by");
    const queues = about.queues_per_port === 1 ? "" : ` of ${about.queues_per_port} queues`;
    byId("subject").textContent = `${about.name}, ${about.label}, seed ${about.seed}: switch ${about.switch}, ${about.ports} ports${queues} share ${bytes(about.buffer_bytes)}.`;
    if (!about.is_recorded) {
      const lost = Object.entries(about.lost).map(([reason, count]) => `${many(count, "packet")} (${reason})`);
      const note = element("p", `This run recorded no packets. What is shown are samples, one every ${span(about.sample_interval_ns * 1000)} from ${instant(about.begin, 1e6)} to ${instant(about.end, 1e6)}; what happened between them is not known, and neither is when packets were lost. Over the whole run this switch lost ${lost.join(", ") || "none"}. Run it again with --packets to see every packet.`);
      note.className = "note";
      byId("subject").after(note);
    }
    wire();
    listQueries();
    byId("by").value = state.by;
    const inHash = (name, most) => (!stored && hash.get(name) && Number(hash.get(name)) < most ? hash.get(name) : "");
    setPlace(inHash("port", about.ports), inHash("priority", about.queues_per_port));
    byId("port").value = state.port;
    await refresh();
    document.body.dataset.ready = "true";
  }
  start().catch((error) => { sentence.textContent = "The page cannot start: " + error.message; });
})();
