// Draws any metric of a grid of results over any of its axes. The page's address contains the
// state, so that a view can be bookmarked and shared.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const root = document.getElementById("explorer");
  const { axes, schemes, metrics, cells } = data;
  const choices = axes.map((axis, at) => at).filter((at) => axes[at].values.length > 1);
  if (choices.length === 0 || metrics.length === 0) return;
  const STYLES = 8;
  const hasChange = cells.some((metric) => metric.some((scheme) => scheme.some((cell) => cell && cell.length > 3)));
  // The initial metric is the given metric, or a headline metric whose values differ.
  const differs = (at) => new Set(cells[at].flatMap((scheme) => scheme.map((cell) => (cell ? cell[1] : null)))).size > 1;
  const headlines = [...metrics.keys()].filter((at) => metrics[at].headline);
  const headline = data.first ?? headlines.find(differs) ?? headlines[0] ?? 0;

  // The initial schemes are the first ones, up to the number of styles.
  const usual = [...schemes.keys()].slice(0, STYLES);

  // State of the explorer, and its address.

  function initial() {
    return {
      x: choices[0],
      metric: headline,
      shown: new Set(usual),
      fixed: axes.map(() => 0),
      logX: false,
      logY: metrics[headline].log,
      change: false,
    };
  }
  let state = initial();

  function read() {
    const from = new URLSearchParams(location.hash.slice(1));
    state = initial();
    const index = (list, name, key) => list.findIndex((one) => one[key] === name);
    const x = index(axes, from.get("x"), "key");
    if (choices.includes(x)) state.x = x;
    const metric = index(metrics, from.get("metric"), "id");
    if (metric >= 0) state.metric = metric;
    // An empty name selects no scheme. Unknown names are ignored.
    const named = from.getAll("scheme").map((name) => schemes.indexOf(name)).filter((at) => at >= 0);
    if (named.length > 0 || from.get("scheme") === "") state.shown = new Set(named);
    axes.forEach((axis, at) => {
      const value = axis.values.indexOf(from.get("at." + axis.key));
      if (value >= 0) state.fixed[at] = value;
    });
    state.logX = from.get("log-x") === "1";
    state.logY = from.has("log-y") ? from.get("log-y") === "1" : metrics[state.metric].log;
    state.change = hasChange && from.get("show") === "change";
  }

  function write() {
    const to = new URLSearchParams();
    if (state.x !== choices[0]) to.set("x", axes[state.x].key);
    to.set("metric", metrics[state.metric].id);
    if (state.shown.size === 0) to.set("scheme", "");
    else if (state.shown.size !== usual.length || !usual.every((at) => state.shown.has(at))) for (const at of [...state.shown].sort((a, b) => a - b)) to.append("scheme", schemes[at]);
    axes.forEach((axis, at) => {
      if (at !== state.x && state.fixed[at] > 0) to.set("at." + axis.key, axis.values[state.fixed[at]]);
    });
    if (state.logX) to.set("log-x", "1");
    if (state.logY !== metrics[state.metric].log) to.set("log-y", state.logY ? "1" : "0");
    if (state.change) to.set("show", "change");
    history.replaceState(null, "", "#" + to);
  }

  // Numbers of the cells as text.

  function number(value) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 1e-5) return value.toExponential(1);
    if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
    return value.toFixed(Math.min(7, Math.max(0, 2 - Math.floor(Math.log10(size)))));
  }
  const tick = (value) => {
    const text = number(value);
    return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
  };
  function estimate(cell) {
    if (!cell) return "–";
    const mean = number(cell.y);
    const [before, after] = state.change ? [cell.y > 0 ? "+" : "", " %"] : ["", ""];
    if (cell.low === null) return before + mean + after;
    // The numbers of an estimate have as many decimals as the mean.
    const decimals = (mean.split(".")[1] || "").length;
    const [below, above] = [cell.y - cell.low, cell.high - cell.y].map((part) => (mean.includes("e") || cell.y === 0 ? number(part) : decimals === 0 ? Math.round(part).toLocaleString("en-US") : part.toFixed(decimals)));
    return `${before}${mean} ${below === above ? `±${below}` : `−${below}/+${above}`}${after}`;
  }
  // Returns the grid point with the x axis at `at`, and the other axes as chosen.
  function place(at) {
    return axes.reduce((sum, axis, number) => sum * axis.values.length + (number === state.x ? at : state.fixed[number]), 0);
  }
  function cell(scheme, at) {
    const found = cells[state.metric][scheme][place(at)];
    if (!found || found[1] === null) return null;
    if (!state.change) {
      const [seeds, y, half] = found;
      return { seeds, y, low: half === null ? null : y - half, high: half === null ? null : y + half };
    }
    if (found.length < 4) return null;
    const [y, low, high] = found.slice(3).map((part) => (part === null ? null : part * 100));
    return { seeds: found[0], y, low, high };
  }
  // Returns reference values from other sources, with their positions on the x axis.
  function marks() {
    if (state.change) return [];
    const shown = data.marks.filter((mark) => mark.metric === state.metric && state.shown.has(mark.scheme));
    return shown.flatMap((mark) => axes[state.x].values.map((_, at) => ({ ...mark, at })).filter(({ at }) => place(at) === mark.place));
  }
  const visible = () => [...schemes.keys()].filter((at) => state.shown.has(at) && !(state.change && at === 0));

  // Elements of the page.

  const SVG = "http://www.w3.org/2000/svg";
  function make(name, attributes, ...children) {
    const element = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === true) element.setAttribute(key, "");
      else if (value !== false && value !== null) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  // If there are more schemes than styles, the visible schemes get the styles.
  const slot = (scheme) => (schemes.length > STYLES ? Math.max(0, visible().indexOf(scheme)) : scheme) % STYLES;
  const style = (scheme) => "s" + slot(scheme);
  // The eight outlines of markers are those of the page's charts; the first one is a circle.
  const OUTLINES = [
    [],
    [[-3, -3], [3, -3], [3, 3], [-3, 3]],
    [[0, -4.5], [4, 2.5], [-4, 2.5]],
    [[0, -4.2], [4.2, 0], [0, 4.2], [-4.2, 0]],
    [[-1.1, -4], [1.1, -4], [1.1, -1.1], [4, -1.1], [4, 1.1], [1.1, 1.1], [1.1, 4], [-1.1, 4], [-1.1, 1.1], [-4, 1.1], [-4, -1.1], [-1.1, -1.1]],
    [[0, 4.5], [4, -2.5], [-4, -2.5]],
    [[-3.4, -4], [3.4, -4], [-3.4, 4], [3.4, 4]],
    [[-3.6, -2.1], [-2.1, -3.6], [0, -1.5], [2.1, -3.6], [3.6, -2.1], [1.5, 0], [3.6, 2.1], [2.1, 3.6], [0, 1.5], [-2.1, 3.6], [-3.6, 2.1], [-1.5, 0]],
  ];
  function marker(scheme, x, y) {
    const outline = OUTLINES[slot(scheme)];
    if (outline.length === 0) return `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z`;
    return "M" + outline.map(([dx, dy]) => `${x + dx} ${y + dy}`).join("L") + "Z";
  }
  function sample(scheme, hollow) {
    const point = make("svg:path", { class: hollow ? "mark hollow" : "mark", d: marker(scheme, 15, 6) });
    return make("svg:svg", { class: "sample", viewBox: "0 0 30 12", "aria-hidden": "true" },
      make("svg:g", { class: style(scheme) }, hollow ? null : make("svg:path", { class: "line", d: "M1 6H29" }), point));
  }

  // Axes of the chart.

  const STEPS = [1, 2, 2.5, 5, 10];
  function roundStep(rough) {
    const power = 10 ** Math.floor(Math.log10(rough));
    return STEPS.map((m) => m * power).find((step) => step >= rough * 0.999);
  }
  // The linear axis ends at a tick near the largest value, or else slightly beyond this value.
  function linear(low, high) {
    const span = high > low ? high - low : 1;
    const step = roundStep(span / 5);
    const first = Math.floor(low / step + 1e-9);
    const last = Math.ceil((low + span) / step - 1e-9);
    const ticks = [];
    for (let k = first; k <= last; k++) ticks.push(k * step);
    let end = last * step;
    if (end - (low + span) > 0.4 * step && ticks.length > 3) {
      ticks.pop();
      end = low + span * 1.03;
    }
    return { ticks, at: (value) => (value - first * step) / (end - first * step) };
  }
  // Ticks are whole decades, and also 2 and 5 if the decades are few. At least three ticks are
  // needed, so equal steps are the last resort.
  function logarithmic(low, high) {
    const top = Math.max(high, low * 1.5);
    const decades = Math.log10(top / low);
    const of = (multiples, every) => {
      const ticks = [];
      for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(top)); k++) {
        if (k % every === 0) for (const m of multiples) if (m * 10 ** k >= low * 0.999 && m * 10 ** k <= top * 1.001) ticks.push(m * 10 ** k);
      }
      return ticks;
    };
    const sets = [];
    if (decades >= 7) sets.push(of([1], 2));
    if (decades >= 3.6) sets.push(of([1], 1));
    sets.push(of([1, 2, 5], 1), of([1, 1.5, 2, 3, 5, 7], 1));
    let ticks = sets.find((set) => set.length >= 3);
    if (!ticks) {
      const step = roundStep((top - low) / 6);
      ticks = [];
      for (let k = Math.ceil(low / step - 1e-9); k * step <= top * 1.001; k++) ticks.push(k * step);
    }
    return { ticks, at: (value) => Math.log(Math.max(value, low) / low) / Math.log(top / low) };
  }

  // Drawing of the chart.

  function yTitle() {
    const title = metrics[state.metric].title;
    return state.change ? `change against ${schemes[0]} [%]: ${title}` : title;
  }
  function where() {
    const fixed = axes.map((axis, at) => (at === state.x ? null : `${axis.title} = ${axis.values[state.fixed[at]]}`)).filter((text) => text !== null);
    return fixed.join(", ");
  }

  function chart(width) {
    const CHARACTER = 6.9;
    const height = Math.round(Math.min(420, Math.max(250, width * 0.5)));
    const axis = axes[state.x];
    const count = axis.values.length;
    const known = axis.positions;
    const logX = state.logX && canLogX();
    const points = visible().flatMap((scheme) => axis.values.map((_, at) => cell(scheme, at)).filter((one) => one !== null));
    const elsewhere = marks();
    const positive = points.map((point) => point.y).concat(elsewhere.map((mark) => mark.value)).filter((y) => y > 0);
    const logY = state.logY && !state.change && positive.length > 0;
    const left = points.length + elsewhere.length - positive.length;
    const ends = elsewhere.map((mark) => mark.value).concat(points.flatMap((point) => [point.y, point.high ?? point.y].concat(state.change ? [point.low ?? point.y] : [])));
    // The axis includes the lower ends of intervals. An interval that reaches far down, or to zero,
    // has an open end at the frame.
    const lowest = points.filter((point) => point.y > 0).map((point) => Math.max(point.low ?? point.y, point.y / 10));
    const y = logY ? logarithmic(Math.min(...positive, ...lowest) / 1.1, Math.max(...ends)) : linear(Math.min(0, ...ends), Math.max(0, ...ends));
    const places = axis.values.map((_, at) => (known ? known[at] : at));
    const [low, high] = [Math.min(...places), Math.max(...places)];
    const fraction = (at) => {
      if (!known) return (at + 0.5) / count;
      if (high === low) return 0.5;
      return logX ? Math.log(places[at] / low) / Math.log(high / low) : (places[at] - low) / (high - low);
    };
    const texts = y.ticks.map(tick);
    const x0 = Math.max(...texts.map((text) => text.length)) * CHARACTER + 10;
    const x1 = width - 16;
    const [y0, y1] = [24, height - 40];
    // The inset keeps points off the frame of the chart.
    const inset = known ? 14 : 0;
    const middle = (at) => x0 + inset + fraction(at) * (x1 - x0 - 2 * inset);
    const atY = (value) => y1 - Math.min(1, Math.max(0, y.at(value))) * (y1 - y0);
    const svg = make("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${yTitle()} over ${axis.title}. The table below has the numbers.` });
    const text = (string, x, yy, css) => make("svg:text", { x, y: yy, class: css }, string);
    y.ticks.forEach((value, at) => {
      svg.append(make("svg:line", { class: "grid", x1: x0, x2: x1, y1: atY(value), y2: atY(value) }), text(texts[at], x0 - 5, atY(value) + 4, "tick end"));
    });
    let end = -Infinity;
    const order = [...axis.values.keys()].sort((a, b) => middle(a) - middle(b));
    for (const at of order) {
      const label = known ? tick(places[at]) : axis.values[at];
      const half = (label.length * CHARACTER) / 2;
      if (middle(at) - half <= end + 4 || middle(at) + half > width) continue;
      end = middle(at) + half;
      svg.append(make("svg:line", { class: "grid", x1: middle(at), x2: middle(at), y1: y0, y2: y1 }), text(label, middle(at), y1 + 15, "tick middle"));
    }
    svg.append(make("svg:path", { class: "frame", d: `M${x0} ${y0}V${y1}H${x1}` }));
    if (state.change) svg.append(make("svg:path", { class: "frame", d: `M${x0} ${atY(0)}H${x1}` }));
    svg.append(text(yTitle() + (logY ? ", logarithmic" : ""), 2, 12, "title"), text(axis.title + (logX ? ", logarithmic" : ""), (x0 + x1) / 2, height - 6, "title middle"));
    // The schemes' points are shifted sideways, so that intervals do not hide each other.
    visible().forEach((scheme, number, all) => {
      const beside = (number - (all.length - 1) / 2) * Math.min(4, 16 / all.length);
      const atX = (at) => middle(at) + beside;
      const group = make("svg:g", { class: style(scheme) });
      let path = "";
      const marks = [];
      for (const at of order) {
        const one = cell(scheme, at);
        if (one === null || (logY && one.y <= 0)) {
          path += " ";
          continue;
        }
        path += (path === "" || path.endsWith(" ") ? "M" : "L") + `${atX(at)} ${atY(one.y)}`;
        if (one.low !== null) marks.push(make("svg:path", { class: "whisker", d: `M${atX(at)} ${atY(one.low)}V${atY(one.high)}` }));
        const told = `${schemes[scheme]}, ${axis.values[at]}: ${estimate(one)} (${one.seeds} seed${one.seeds === 1 ? "" : "s"})`;
        marks.push(make("svg:path", { class: "mark", d: marker(scheme, atX(at), atY(one.y)) }, make("svg:title", {}, told)));
      }
      group.append(make("svg:path", { class: "line", d: path.trim() || "M0 0" }), ...marks);
      svg.append(group);
    });
    for (const mark of elsewhere) {
      if (logY && mark.value <= 0) continue;
      const at = `translate(${middle(mark.at)} ${atY(mark.value)}) scale(1.9)`;
      svg.append(make("svg:g", { class: style(mark.scheme) },
        make("svg:path", { class: "mark hollow", d: marker(mark.scheme, 0, 0), transform: at, "vector-effect": "non-scaling-stroke" }, make("svg:title", {}, mark.note))));
    }
    const missing = logY && left > 0 ? `${left} value${left === 1 ? "" : "s"} at or below zero cannot be drawn on a logarithmic axis.` : "";
    return { svg, missing, empty: points.length === 0 };
  }

  function table() {
    const axis = axes[state.x];
    const shown = visible();
    const head = make("tr", {}, make("th", { scope: "col" }, axis.title), ...shown.map((scheme) => make("th", { scope: "col" }, schemes[scheme])));
    const rows = axis.values.map((value, at) =>
      make("tr", {}, make("th", { scope: "row" }, value), ...shown.map((scheme) => {
        const one = cell(scheme, at);
        return make("td", {}, estimate(one), one ? make("small", {}, `${one.seeds} seed${one.seeds === 1 ? "" : "s"}`) : null);
      })));
    return make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  function csv() {
    const line = (cells) => cells.map((cell) => (/[",\n]/.test(String(cell)) ? `"${String(cell).replace(/"/g, '""')}"` : String(cell))).join(",") + "\n";
    const rows = visible().flatMap((scheme) => axes[state.x].values.map((value, at) => {
      const one = cell(scheme, at);
      return one ? line([schemes[scheme], value, one.y, one.low ?? "", one.high ?? "", one.seeds]) : "";
    }));
    return line(["scheme", axes[state.x].title, yTitle(), "lower end of the interval", "upper end of the interval", "seeds"]) + rows.join("");
  }

  // Controls of the explorer.

  const canLogX = () => {
    const known = axes[state.x].positions;
    return known !== null && known.every((position) => position > 0) && new Set(known).size > 1;
  };
  const controls = [];
  // Controls display the state; only `set` changes it.
  function select(label, options, get, set, hidden) {
    const element = make("select", {}, ...options());
    element.addEventListener("change", () => change(() => set(Number(element.value))));
    const whole = make("label", {}, make("span", {}, label), element);
    controls.push(() => {
      element.value = String(get());
      whole.hidden = hidden ? hidden() : false;
    });
    return whole;
  }
  function check(label, get, set, enabled, before) {
    const element = make("input", { type: "checkbox" });
    element.addEventListener("change", () => change(() => set(element.checked)));
    const whole = make("label", { class: "check" }, element, before || null, label);
    controls.push(() => {
      element.checked = get();
      element.disabled = enabled ? !enabled() : false;
      whole.classList.toggle("soft", element.disabled);
    });
    return whole;
  }
  const option = (value, label) => make("option", { value }, label);
  function metricOptions() {
    const groups = new Map();
    metrics.forEach((metric, at) => {
      if (!groups.has(metric.group)) groups.set(metric.group, []);
      groups.get(metric.group).push(option(at, metric.title));
    });
    return [...groups].flatMap(([name, options]) => (name === "" ? options : [make("optgroup", { label: name }, ...options)]));
  }
  const form = make("form", { "aria-label": "What is shown" });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(
    make("div", { class: "choices" },
      select("Metric", metricOptions, () => state.metric, (value) => {
        state.metric = value;
        state.logY = metrics[value].log;
      }),
      select("Horizontal axis", () => choices.map((at) => option(at, axes[at].title)), () => state.x, (value) => (state.x = value)),
      ...choices.map((at) =>
        select(axes[at].title + "\u00a0=", () => axes[at].values.map((value, number) => option(number, value)), () => state.fixed[at], (value) => (state.fixed[at] = value), () => at === state.x)),
      hasChange ? select("Show", () => [option(0, "mean over the seeds"), option(1, "change against " + schemes[0])], () => Number(state.change), (value) => (state.change = value === 1)) : null),
    make("fieldset", {}, make("legend", {}, "Schemes"),
      ...schemes.map((name, at) => check(name, () => state.shown.has(at), (on) => (on ? state.shown.add(at) : state.shown.delete(at)), () => !(state.change && at === 0), sample(at, false)))),
    make("fieldset", {}, make("legend", {}, "Axes"),
      check("horizontal logarithmic", () => state.logX && canLogX(), (on) => (state.logX = on), canLogX),
      check("vertical logarithmic", () => state.logY && !state.change, (on) => (state.logY = on), () => !state.change)),
  );

  // Layout of the explorer.

  const caption = make("p", { "aria-live": "polite" });
  const drawing = make("figure", { class: "chart" });
  const legend = make("ul", { class: "legend" });
  const remark = make("p", { class: "soft" });
  const numbers = make("div", {});
  root.append(make("h2", {}, "Explore"), form, caption, make("div", { class: "drawn" }, make("div", {}, drawing, legend, remark), numbers),
    make("p", { class: "soft" }, "Bars and ± are 95 % intervals of the mean over the seeds. The page's address keeps the selection."));

  function draw() {
    controls.forEach((show) => show());
    const at = where();
    const group = metrics[state.metric].group;
    caption.replaceChildren(make("strong", {}, `${group === "" ? "" : group + ": "}${metrics[state.metric].title}${state.change ? ", change against " + schemes[0] : ""}`), ` over ${axes[state.x].title}${at === "" ? "" : ", " + at}`);
    // The list is beside the chart if it fits, which determines the chart's width.
    numbers.replaceChildren(table());
    const { svg, missing, empty } = chart(Math.round(Math.min(900, Math.max(320, drawing.parentNode.clientWidth))));
    drawing.dataset.title = caption.textContent;
    drawing.replaceChildren(svg, make("template", { class: "data" }));
    drawing.lastChild.content.append(csv());
    const marked = new Map(marks().map((mark) => [mark.legend, mark.scheme]));
    legend.replaceChildren(
      ...visible().map((scheme) => make("li", {}, sample(scheme, false), schemes[scheme])),
      ...[...marked].map(([text, scheme]) => make("li", {}, sample(scheme, true), text)));
    const crowd = visible().length > STYLES ? `More than ${STYLES} schemes: styles repeat.` : "";
    remark.textContent = empty ? "No scheme that is shown has a value here." : [missing, crowd].filter((text) => text !== "").join(" ");
    remark.hidden = remark.textContent === "";
    // Scripts that add buttons to charts add them again after this event.
    drawing.dispatchEvent(new Event("drawn", { bubbles: true }));
  }
  function change(set) {
    set();
    write();
    draw();
  }
  addEventListener("hashchange", () => {
    read();
    draw();
  });
  root.hidden = false;
  read();
  draw();
  let width = root.clientWidth;
  new ResizeObserver(() => {
    if (root.clientWidth !== width) {
      width = root.clientWidth;
      draw();
    }
  }).observe(root);
})();
