// The playground: sends the choices and draws the result.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const sentence = byId("sentence");
  let offer = null, chosen = null, shown = null, chart = null, running = false, again = false;

  async function post(path, body) {
    const response = await fetch("api/" + path, { method: "POST", body: JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function element(name, text) { const made = document.createElement(name); if (text !== undefined) made.textContent = text; return made; }
  function bytes(count) {
    if (count < 1000) return count + " B";
    if (count < 999_500) return Number((count / 1e3).toPrecision(3)) + " KB";
    return Number((count / 1e6).toPrecision(3)) + " MB";
  }
  const UNITS = [["s", 1e12], ["ms", 1e9], ["us", 1e6], ["ns", 1e3], ["ps", 1]];
  function instant(time) {
    if (time === 0) return "0 s";
    const [unit, size] = UNITS.find(([, size]) => time >= size) || UNITS[4];
    return Number((time / size).toPrecision(5)) + " " + unit;
  }

  // Width of an A4 sheet without margins: a wider chart would shrink the whole page.
  const PAPER = 680;
  let printing = false;
  const width = (place) => Math.max(280, Math.min(place.clientWidth, printing ? PAPER : Infinity));

  function draw() {
    if (chart) { chart.destroy(); chart = null; }
    const { groups, times, most, limit } = shown.window;
    const sum = times.map(() => 0);
    const stacked = groups.map((group) => group.held.map((held, at) => (sum[at] += held)));
    const stepped = uPlot.paths.stepped({ align: -1 }), text = colour("--text");
    const layers = groups.map((group, at) => ({ group, values: stacked[at] })).reverse();
    const series = [{}, ...layers.map(({ group }) => ({ stroke: colour("--c" + group.colour), fill: colour("--c" + group.colour), width: 0.5, paths: stepped, points: { show: false } }))];
    series.push({ stroke: text, width: 1, paths: stepped, points: { show: false } }, { stroke: colour("--c1"), width: 1.6, dash: [6, 4], paths: stepped, points: { show: false } });
    const place = byId("chart"), wide = width(place);
    const grid = { stroke: colour("--line"), width: 0.5 }, font = "12px system-ui, sans-serif";
    chart = new uPlot({
      width: wide, height: wide < 600 ? 240 : 320, series, legend: { show: false },
      axes: [{ stroke: text, grid, font, space: 90, values: (_, list) => list.map(instant) }, { stroke: text, grid, font, size: 62, values: (_, list) => list.map(bytes) }],
      scales: { x: { time: false, range: [0, shown.window.until] }, y: { range: [0, shown.buffer_bytes * 1.05] } },
      cursor: { drag: { x: false, y: false }, points: { show: false } }, hooks: { setCursor: [point] },
    }, [times, ...layers.map(({ values }) => values), most, limit], place);
    const entries = [...groups.map((group) => [group.name, "--c" + group.colour, ""]), ["most within a point", "--text", "line"], ["limit of the longest queue", "--c1", "dashed"]];
    byId("legend").replaceChildren(...entries.map(([name, variable, form]) => {
      const item = element("li"), key = element("span");
      key.className = "key " + form;
      key.style.setProperty("--k", `var(${variable})`);
      item.append(key, name);
      return item;
    }));
  }
  function point(plot) {
    const at = plot.cursor.idx, { groups, times, limit } = shown.window;
    if (at === null || at === undefined) { byId("pointer").textContent = "\u00a0"; return; }
    const held = groups.filter((group) => group.held[at] > 0).map((group) => `${group.name} ${bytes(group.held[at])}`);
    byId("pointer").textContent = `${instant(times[at])}: ${held.join(", ") || "empty"}${limit[at] === null ? "" : "; limit of the longest queue " + bytes(limit[at])}`;
  }
  function list() {
    const table = element("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    table.className = "losses";
    for (const name of ["class", "reason", "packets", "bytes"]) head.append(element("th", name));
    for (const loss of shown.losses) {
      const line = body.insertRow();
      for (const text of [loss.class, loss.what, loss.packets.toLocaleString("en-US"), bytes(loss.bytes)]) line.insertCell().textContent = text;
    }
    byId("table").replaceChildren(...(shown.losses.length > 0 ? [table] : []));
  }

  // Run one request at a time, because only the latest choices count.
  async function run() {
    if (running) { again = true; return; }
    running = true;
    document.body.setAttribute("aria-busy", "true");
    const begin = performance.now();
    try {
      shown = await post("run", chosen);
      draw();
      list();
      sentence.textContent = shown.sentence;
      const took = performance.now() - begin;
      document.body.dataset.took = String(took);
      byId("took").textContent = `${shown.packets.toLocaleString("en-US")} packets stored; simulated in ${Math.round(shown.took_us / 1000)} ms, drawn ${Math.round(took)} ms after the choice.`;
    } catch (error) { sentence.textContent = "Not possible: " + error.message; }
    running = false;
    if (again) { again = false; run(); } else { document.body.removeAttribute("aria-busy"); document.body.dataset.ready = "true"; }
    history.replaceState(null, "", "#" + new URLSearchParams(chosen));
  }

  function label(text, control) { const made = element("label"); made.append(element("span", text), control); return made; }
  function select(key, options) {
    const made = element("select");
    made.id = key;
    for (const [value, text] of options) { const one = element("option", text); one.value = value; made.append(one); }
    made.value = chosen[key];
    made.addEventListener("change", () => { chosen[key] = key === "priority" ? Number(made.value) : made.value; if (key === "policy") alphaOf(); run(); });
    return made;
  }
  function alphaOf() {
    const policy = offer.policies.find(({ name }) => name === chosen.policy), control = byId("alpha");
    chosen.alpha = "";
    control.value = "";
    control.disabled = !policy || policy.alpha === null;
    control.placeholder = control.disabled ? "has none" : policy.alpha;
  }
  function controls() {
    const place = byId("choices"), params = byId("params");
    for (const { key, label: text, min, max } of offer.numbers) {
      const control = element("input");
      Object.assign(control, { type: "number", id: key, min, max, value: chosen[key] });
      // A changed number takes effect immediately, unless it is out of bounds.
      control.addEventListener("input", () => {
        const value = Number(control.value);
        if (control.value === "" || !Number.isInteger(value) || value < min || value > max) { sentence.textContent = `${text}: a whole number from ${min} to ${max}.`; return; }
        chosen[key] = value;
        if (key === "queues") priorities();
        run();
      });
      place.append(label(text, control));
    }
    params.append(label("Policy", select("policy", offer.policies.map(({ name, title }) => [name, `${name}: ${title}`]))));
    const alpha = element("input");
    Object.assign(alpha, { type: "text", id: "alpha", size: 10, title: "one number, or one per priority with commas" });
    alpha.addEventListener("input", () => { chosen.alpha = alpha.value; run(); });
    params.append(label("Alpha (per priority: with commas)", alpha));
    params.append(label("Queue of the burst", select("priority", [])), label("Divided by", select("by", [["port", "port"], ["queue", "queue"], ["class", "class"]])));
    const wanted = chosen.alpha;
    alphaOf();
    if (!alpha.disabled) { chosen.alpha = wanted; alpha.value = wanted; }
    priorities();
  }
  function priorities() {
    const control = byId("priority");
    chosen.priority = Math.min(chosen.priority, chosen.queues - 1);
    control.replaceChildren(...Array.from({ length: chosen.queues }, (_, at) => { const one = element("option", String(at)); one.value = String(at); return one; }));
    control.value = String(chosen.priority);
  }
  async function save() {
    try {
      const text = await post("scenario", chosen), link = element("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
      link.download = "playground.toml";
      link.click();
      URL.revokeObjectURL(link.href);
      byId("pointer").textContent = "Saved as playground.toml: `bufferlab run playground.toml --packets` runs it.";
    } catch (error) { sentence.textContent = "Not possible: " + error.message; }
  }

  async function start() {
    const response = await fetch("api/choices");
    offer = await response.json();
    chosen = { ...Object.fromEntries(offer.numbers.map(({ key, default: value }) => [key, value])), priority: 0, policy: "dt", alpha: "", by: "port" };
    // Restores the choices from a bookmarked or shared address.
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in chosen) chosen[key] = typeof chosen[key] === "number" ? Number(value) || chosen[key] : value;
    controls();
    byId("save").addEventListener("click", save);
    let waiting = null;
    window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => shown && draw(), 150); });
    for (const [event, does] of [["beforeprint", true], ["afterprint", false]]) window.addEventListener(event, () => { printing = does; if (shown) draw(); });
    for (const medium of ["(prefers-color-scheme: dark)", "print"]) window.matchMedia(medium).addEventListener("change", () => shown && draw());
    await run();
  }
  start().catch((error) => { sentence.textContent = "The page cannot start: " + error.message; });
})();
