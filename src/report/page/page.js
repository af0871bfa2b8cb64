"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const left = Math.min(x + 14, scrollX + document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(scrollX, left) + "px";
    tip.style.top = y + 14 + "px";
  };
  const number = value => (value === null ? "–" : String(value));
  const along = ([low, high, log], value) =>
    log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);

  // All values of a panel with their places in the drawing.
  const marks = panel => {
    const [left, top, width, height] = panel.box;
    const across = value => left + panel.inset + along(panel.x, value) * (width - 2 * panel.inset);
    const up = value => top + height - along(panel.y, value) * height;
    const found = [];
    const text = (series, i, lines) => {
      const spread = series.spread.length && series.spread[i] !== null ? ` ± ${series.spread[i]}` : "";
      return (series.name ? series.name + "\n" : "") + lines + spread;
    };
    panel.series.forEach((series, row) => series.y.forEach((y, i) => {
      if (y === null) return;
      const name = panel.categories[i];
      const count = panel.categories.length;
      if (panel.kind === "matrix") {
        const x = left + (i + 0.5) * width / count;
        found.push({x, y: top + (row + 0.5) * height / panel.series.length, place: series.place,
                    text: `${panel.y_label} ${series.name}\n${panel.x_label} ${name}\n${y}`});
      } else if (panel.kind === "intervals") {
        const at = top + (i + (row + 1) / (panel.series.length + 1)) * height / count;
        found.push({x: across(y), y: at, place: series.place, text: text(series, i, `${name}: ${y}`)});
      } else if (panel.kind === "bars") {
        found.push({x: left + (i + 0.5) * width / count, y: up(y), place: series.place,
                    text: text(series, i, `${name}: ${y}`)});
      } else if (panel.kind === "histogram") {
        found.push({x: across((series.x[i] + series.x[i + 1]) / 2), y: up(y), place: series.place,
                    text: text(series, i, `${number(series.x[i])} to ${number(series.x[i + 1])}: ${y}`)});
      } else if (series.x[i] !== null) {
        const label = panel.x_label || "x";
        found.push({x: across(series.x[i]), y: up(y), place: series.place,
                    text: text(series, i, `${label} ${series.x[i]}\n${panel.y_label || "y"} ${y}`)});
      }
    }));
    return found;
  };

  for (const figure of document.querySelectorAll("figure.chart")) {
    const svg = figure.querySelector("svg");
    const panels = JSON.parse(figure.querySelector("script").textContent);
    const all = panels.map(panel => ({box: panel.box, marks: marks(panel)}));
    const hidden = new Set();
    svg.addEventListener("pointermove", event => {
      const frame = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / frame.width;
      const x = (event.clientX - frame.left) * scale, y = (event.clientY - frame.top) * scale;
      let best = null, least = 40 * 40;
      for (const {box, marks} of all) {
        if (x < box[0] - 20 || x > box[0] + box[2] + 20 || y < box[1] - 20 || y > box[1] + box[3] + 20) continue;
        for (const mark of marks) {
          const distance = (mark.x - x) ** 2 + (mark.y - y) ** 2;
          if (distance < least && !hidden.has(mark.place)) [best, least] = [mark, distance];
        }
      }
      if (best) show(best.text, event.pageX, event.pageY); else tip.hidden = true;
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
    for (const entry of svg.querySelectorAll(".legend")) {
      const place = Number(entry.dataset.series);
      entry.setAttribute("tabindex", "0");
      entry.setAttribute("role", "button");
      entry.setAttribute("aria-pressed", "true");
      const toggle = () => {
        const off = !hidden.has(place);
        if (off) hidden.add(place); else hidden.delete(place);
        entry.classList.toggle("off", off);
        entry.setAttribute("aria-pressed", String(!off));
        for (const each of svg.querySelectorAll(`.series[data-series="${place}"]`)) each.classList.toggle("off", off);
      };
      entry.addEventListener("click", toggle);
      entry.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    }
  }

  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    table.querySelectorAll("th").forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const numeric = head.classList.contains("number");
        const key = row => {
          const text = row.cells[place].textContent;
          return numeric ? (Number.isNaN(parseFloat(text)) ? -Infinity : parseFloat(text)) : text;
        };
        const order = (a, b) => (numeric ? key(a) - key(b) : key(a).localeCompare(key(b)));
        body.append(...[...body.rows].sort((a, b) => (down ? order(b, a) : order(a, b))));
      });
    });
    if (!table.classList.contains("many")) continue;
    const filter = document.createElement("input");
    filter.className = "filter";
    filter.type = "search";
    filter.placeholder = "Filter rows";
    filter.setAttribute("aria-label", "Filter rows");
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(filter);
  }
})();
