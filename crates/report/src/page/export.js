// Saves the charts of a page as SVG, PNG and CSV, within the page: the script uses no network.
"use strict";
(() => {
  const STYLE = "/* style of files */";
  const LINE = 18;
  const escaped = (text) => text.replace(/[&<>"]/g, (sign) => "&#" + sign.charCodeAt(0) + ";");

  // Breaks a text between words into lines of at most this many characters.
  function wrapped(text, width) {
    const lines = [];
    for (const word of text.split(/\s+/).filter((word) => word !== "")) {
      const last = lines.length - 1;
      if (last >= 0 && lines[last].length + 1 + word.length <= width) lines[last] += " " + word;
      else lines.push(word);
    }
    return lines;
  }

  // Returns a self-contained drawing: caption, chart and legend in light colours, without
  // variables and references.
  function file({ caption, box, inner, legend }) {
    const [width, height] = box;
    const lines = wrapped(caption, Math.floor(width / 8));
    const top = 8 + lines.length * 16;
    const columns = Math.max(1, Math.floor(width / 190));
    const rows = Math.ceil(legend.length / columns);
    const whole = top + height + rows * LINE + 6;
    const texts = lines.map((line, row) => `<text class="caption" x="2" y="${16 + row * 16}">${escaped(line)}</text>`);
    const entries = legend.map(({ sample, text }, at) => {
      const [x, y] = [12 + (at % columns) * 190, top + height + Math.floor(at / columns) * LINE];
      return `<g transform="translate(${x} ${y})">${sample}<text x="36" y="10">${escaped(text)}</text></g>`;
    });
    return `<svg xmlns="http:\/\/www.w3.org/2000/svg" viewBox="0 0 ${width} ${whole}" width="${width * 1.6}" height="${whole * 1.6}">` +
      `<style>${STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>${texts.join("")}` +
      `<g transform="translate(0 ${top - 2})">${inner}</g>${entries.join("")}</svg>\n`;
  }

  // Formats child elements as XML, because HTML output may not be valid XML.
  const xml = (element) => [...element.childNodes].map((node) => new XMLSerializer().serializeToString(node)).join("");
  const svgOf = (figure) => figure.querySelector("svg");
  const captionOf = (figure) => figure.querySelector("figcaption")?.textContent ?? figure.dataset.title ?? document.title;

  // Returns the entries of the nearest legend that name a series of a chart; rows with
  // names need no entry.
  function legendOf(figure) {
    const svg = svgOf(figure);
    if (svg.querySelector("text.name")) return [];
    for (let around = figure.parentElement; around; around = around.parentElement) {
      const lists = [...around.children].filter((child) => child.matches("ul.legend"));
      if (lists.length === 0) continue;
      const before = lists.filter((list) => list.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_FOLLOWING);
      const list = before.length > 0 ? before[before.length - 1] : lists[0];
      return [...list.children]
        .map((item) => ({ svg: item.querySelector("svg"), text: item.textContent }))
        .filter((entry) => entry.svg && [...svg.querySelectorAll("g")].some((group) => group.getAttribute("class") === entry.svg.querySelector("g").getAttribute("class")))
        .map((entry) => ({ sample: xml(entry.svg), text: entry.text }));
    }
    return [];
  }

  function drawing(figure) {
    const box = svgOf(figure).getAttribute("viewBox").split(" ").slice(2).map(Number);
    return file({ caption: captionOf(figure), box, inner: xml(svgOf(figure)), legend: legendOf(figure) });
  }

  function save(figure, ending, blob) {
    const short = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-/, "").slice(0, 60).replace(/-$/, "");
    // The heading is "NAME: compared values", of which the name is sufficient.
    const page = (document.querySelector("h1")?.textContent ?? "chart").split(":")[0];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${short(page)}-${short(captionOf(figure))}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  const saves = {
    SVG: (figure) => save(figure, "svg", new Blob([drawing(figure)], { type: "image/svg+xml" })),
    PNG: (figure) => {
      const address = URL.createObjectURL(new Blob([drawing(figure)], { type: "image/svg+xml" }));
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        URL.revokeObjectURL(address);
        canvas.toBlob((blob) => save(figure, "png", blob), "image/png");
      };
      image.src = address;
    },
    CSV: (figure) => save(figure, "csv", new Blob([figure.querySelector("template.data").content.textContent], { type: "text/csv" })),
  };

  function equip(figure) {
    if (!svgOf(figure) || figure.querySelector(".save")) return;
    const buttons = document.createElement("div");
    buttons.className = "save";
    buttons.append("Save as");
    for (const [ending, action] of Object.entries(saves)) {
      if (ending === "CSV" && !figure.querySelector("template.data")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = ending;
      button.setAttribute("aria-label", `Save "${captionOf(figure)}" as ${ending}`);
      button.addEventListener("click", () => action(figure));
      buttons.append(button);
    }
    figure.append(buttons);
  }

  // A script that draws a chart again sends an event.
  document.addEventListener("drawn", (event) => equip(event.target));
  document.querySelectorAll("figure.chart").forEach(equip);
})();
