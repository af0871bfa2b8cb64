"use strict";
(() => {
  const create = (name, properties) => Object.assign(document.createElement(name), properties);
  const draw = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  // ---- The box that shows a value

  const tip = document.getElementById("tip");
  const hideTip = () => { tip.hidden = true; };
  const showTip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = scrollX + "px";
    const width = document.documentElement.clientWidth;
    tip.style.left = scrollX + clamp(x + 14, 4, Math.max(4, width - tip.offsetWidth - 4)) + "px";
    const below = y + 16 + tip.offsetHeight < innerHeight;
    tip.style.top = scrollY + (below ? y + 16 : Math.max(4, y - 12 - tip.offsetHeight)) + "px";
  };

  // ---- Scales: [low, high, is_log]; shares are 0 at the low end and 1 at the high one

  const shareOf = ([low, high, log], value) =>
    log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const valueAt = ([low, high, log], share) =>
    log ? low * (high / low) ** share : low + share * (high - low);
  const ticksBetween = (low, high, most) => {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough * 0.999);
    const decimals = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 12);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k) {
      const text = (k * step).toLocaleString("en-US", {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
      ticks.push([k * step, text.replace("-", "−")]);
    }
    return ticks;
  };

  // ---- The values of a panel with their places in its drawing, which zooming moves

  const number = value => (value === null ? "–" : String(value).replace("-", "−"));

  const parallelMarks = panel => {
    const [left, top, width, height] = panel.box;
    const shown = (axis, i) => {
      const value = panel.series[axis].y[i], names = panel.axes[axis].names;
      return value !== null && names.length ? names[value] : number(value);
    };
    const lines = panel.series.length ? panel.series[0].y.map((_, i) =>
      panel.series.map((series, axis) => `${series.name}: ${shown(axis, i)}`).join("\n")) : [];
    const marks = [];
    panel.series.forEach((series, axis) => series.y.forEach((y, i) => {
      if (y === null) return;
      const {low, high, log} = panel.axes[axis];
      marks.push({x: left + (axis + 0.5) * width / panel.series.length,
                  y: top + height * (1 - shareOf([low, high, log], y)), place: -1, text: lines[i]});
    }));
    return marks;
  };

  const marksOf = panel => {
    if (panel.kind === "parallel") return parallelMarks(panel);
    if (panel.kind === "drawing") return panel.marks.map(mark => ({...mark, place: -1}));
    const [left, top, width, height] = panel.box;
    const across = value => left + panel.inset + shareOf(panel.x, value) * (width - 2 * panel.inset);
    const up = value => top + height * (1 - shareOf(panel.y, value));
    const marks = [], count = panel.categories.length, rows = panel.series.length;
    panel.series.forEach((series, row) => {
      const add = (x, y, i, text) => {
        const below = series.spread[i] ?? null, above = series.spread_above[i] ?? null;
        const spread = below === null ? "" : above === null ? ` ± ${number(below)}` : ` + ${number(above)} − ${number(below)}`;
        marks.push({x, y, place: series.place, text: text + spread});
      };
      const name = series.name ? series.name + "\n" : "";
      series.y.forEach((y, i) => {
        if (y === null) return;
        const category = panel.categories[i], value = number(y);
        if (panel.kind === "matrix") {
          add(left + (i + 0.5) * width / count, top + (row + 0.5) * height / rows, i,
              `${panel.y_label} ${series.name}\n${panel.x_label} ${category}\n${value}`);
        } else if (panel.kind === "intervals") {
          add(across(y), top + (i + (row + 1) / (rows + 1)) * height / count, i, `${name}${category}: ${value}`);
        } else if (panel.kind === "bars") {
          add(left + (i + 0.5) * width / count, up(y), i, `${name}${category}: ${value}`);
        } else if (panel.kind === "histogram") {
          add(across((series.x[i] + series.x[i + 1]) / 2), up(y), i,
              `${name}${number(series.x[i])} to ${number(series.x[i + 1])}: ${value}`);
        } else if (series.x[i] !== null) {
          add(across(series.x[i]), up(y), i,
              `${name}${panel.x_label || "x"} ${number(series.x[i])}\n${panel.y_label || "y"} ${value}`);
        }
      });
    });
    return marks;
  };

  // ---- Zooming: the part of the axes that is shown, in shares; of other drawings, the part of the drawing

  const whole = () => ({x0: 0, x1: 1, y0: 0, y1: 1});
  const closest = 1 / 200;  // the smallest part

  // Around a point (in shares), so that it stays where it is.
  const zoomed = (view, factor, x, y) => {
    const range = (low, high, at) => {
      const size = clamp((high - low) * factor, closest, 1);
      const begin = clamp(at - (at - low) * size / (high - low), 0, 1 - size);
      return [begin, begin + size];
    };
    const [x0, x1] = range(view.x0, view.x1, x), [y0, y1] = range(view.y0, view.y1, y);
    return {x0, x1, y0, y1};
  };

  // Moves the marks of a panel and draws its ticks anew.
  const windowOf = (svg, panel) => {
    const inner = svg.querySelector(".window"), marks = svg.querySelector(".marks"), ticks = svg.querySelector(".ticks");
    const [left, top, width, height] = panel.box;
    const begin = left + panel.inset, room = width - 2 * panel.inset, bottom = top + height;
    const drawTicks = view => {
      const group = draw("g", {class: "ticks"});
      const axes = [[panel.x, view.x0, view.x1, Math.floor(width / 60)], [panel.y, view.y0, view.y1, 6]];
      axes.forEach(([axis, low, high, most], vertical) => {
        for (const [value, text] of ticksBetween(valueAt(axis, low), valueAt(axis, high), most)) {
          const share = (shareOf(axis, value) - low) / (high - low);
          const at = vertical ? bottom - share * height : begin + share * room;
          const line = vertical ? {x1: left, x2: left + width, y1: at, y2: at} : {x1: at, x2: at, y1: top, y2: bottom};
          group.append(draw("line", {...line, stroke: "#e4e4e4", "stroke-width": 0.8}));
          const place = vertical ? {x: left - 7, y: at + 4, "text-anchor": "end"}
                                 : {x: at, y: bottom + 18, "text-anchor": "middle"};
          group.append(draw("text", {...place, "font-size": 11, fill: "#444444"}, text));
        }
      });
      return group;
    };
    let drawn = ticks;
    return {
      box: {left: begin, top, width: room, height},
      seen: () => ({left: begin, top, width: room, height}),
      at: (view, mark) => ({x: begin + ((mark.x - begin) / room - view.x0) / (view.x1 - view.x0) * room,
                            y: bottom - ((bottom - mark.y) / height - view.y0) / (view.y1 - view.y0) * height}),
      show: (view, isWhole) => {
        const kx = 1 / (view.x1 - view.x0), ky = 1 / (view.y1 - view.y0);
        const dx = begin * (1 - kx) - view.x0 * kx * room, dy = bottom * (1 - ky) + view.y0 * ky * height;
        inner.setAttribute("overflow", isWhole ? "visible" : "hidden");
        marks.setAttribute("transform", `matrix(${kx} 0 0 ${ky} ${dx} ${dy})`);
        marks.style.setProperty("--x", 1 / kx);
        marks.style.setProperty("--y", 1 / ky);
        const now = isWhole ? ticks : drawTicks(view);
        drawn.replaceWith(now);
        drawn = now;
      },
    };
  };

  // Of a drawing without such axes: a closer look.
  const lookAt = svg => {
    const {x, y, width, height} = svg.viewBox.baseVal;
    const box = {left: x, top: y, width, height};
    return {
      box,
      seen: () => ({left: svg.viewBox.baseVal.x, top: svg.viewBox.baseVal.y,
                    width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height}),
      at: (view, mark) => mark,  // the view box moves all
      show: view => svg.setAttribute("viewBox",
        [x + view.x0 * width, y + (1 - view.y1) * height, (view.x1 - view.x0) * width, (view.y1 - view.y0) * height].join(" ")),
    };
  };

  const setUpPanel = (holder, panel, hidden) => {
    const svg = holder.querySelector("svg");
    const title = svg.querySelector("title");
    if (title) {  // browsers would show it over our own box
      svg.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    svg.setAttribute("tabindex", "0");
    const marks = panel ? marksOf(panel) : [];
    const zoom = svg.querySelector(".window") ? windowOf(svg, panel) : lookAt(svg);
    let view = whole(), current = -1, from = null;
    const isWhole = () => view.x1 - view.x0 > 0.999 && view.y1 - view.y0 > 0.999;
    const tools = create("div", {className: "tools"});
    const reset = create("button", {type: "button", textContent: "Reset", disabled: true});
    const setView = next => {
      view = next;
      zoom.show(view, isWhole());
      reset.disabled = isWhole();
      holder.classList.toggle("zoomed", !isWhole());
      hideTip();
    };
    const frame = draw("rect", {class: "frame", visibility: "hidden"});
    svg.append(frame);

    // From the page to the drawing, and to shares of what is shown.
    const pointAt = event => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return {x: point.x, y: point.y};
    };
    const sharesAt = ({x, y}) => {
      const {left, top, width, height} = zoom.box;
      const across = clamp((x - left) / width, 0, 1), up = clamp((top + height - y) / height, 0, 1);
      if (!svg.querySelector(".window")) return {x: across, y: up};
      return {x: view.x0 + across * (view.x1 - view.x0), y: view.y0 + up * (view.y1 - view.y0)};
    };
    const inside = ({x, y}) => {
      const {left, top, width, height} = zoom.seen();
      return x >= left - 20 && x <= left + width + 20 && y >= top - 20 && y <= top + height + 20;
    };
    const visible = mark => !hidden.has(mark.place) && inside(zoom.at(view, mark));
    const show = (mark, x, y) => showTip(mark.text, x, y);
    const showCurrent = () => {
      const at = zoom.at(view, marks[current]);
      const point = new DOMPoint(at.x, at.y).matrixTransform(svg.getScreenCTM());
      show(marks[current], point.x, point.y);
    };
    const step = by => {
      for (let tries = 0; tries < marks.length; ++tries) {
        current = current < 0 && by < 0 ? marks.length - 1 : (current + by + marks.length) % marks.length;
        if (visible(marks[current])) return showCurrent();
      }
    };
    const zoomBy = (factor, point) => {
      const centre = point ? sharesAt(point)
        : current >= 0 ? sharesAt(zoom.at(view, marks[current]))
        : {x: (view.x0 + view.x1) / 2, y: (view.y0 + view.y1) / 2};
      setView(zoomed(view, factor, centre.x, centre.y));
    };

    svg.addEventListener("pointermove", event => {
      const point = pointAt(event);
      if (from) {
        const x = Math.min(from.x, point.x), y = Math.min(from.y, point.y);
        const size = {width: Math.abs(point.x - from.x), height: Math.abs(point.y - from.y)};
        for (const [key, value] of Object.entries({x, y, ...size, visibility: "visible"})) frame.setAttribute(key, value);
        return;
      }
      let best = null, least = 40 * 40;
      for (const mark of marks) {
        if (!visible(mark)) continue;
        const at = zoom.at(view, mark), distance = (at.x - point.x) ** 2 + (at.y - point.y) ** 2;
        if (distance < least) [best, least] = [mark, distance];
      }
      if (best) show(best, event.clientX, event.clientY); else hideTip();
    });
    svg.addEventListener("pointerleave", hideTip);
    svg.addEventListener("blur", hideTip);
    svg.addEventListener("pointerdown", event => {
      const point = pointAt(event);
      if (event.pointerType === "touch" || event.button !== 0 || !inside(point)) return;
      from = point;
      svg.setPointerCapture(event.pointerId);
    });
    const drop = event => {
      if (!from) return;
      const point = pointAt(event), a = sharesAt(from), b = sharesAt(point);
      const wide = Math.abs(point.x - from.x) > 8, high = Math.abs(point.y - from.y) > 8;
      from = null;
      frame.setAttribute("visibility", "hidden");
      if (!wide || !high || event.type === "pointercancel") return;
      const range = (u, v) => {
        const size = Math.max(closest, Math.abs(u - v)), low = clamp(Math.min(u, v), 0, 1 - size);
        return [low, low + size];
      };
      const [x0, x1] = range(a.x, b.x), [y0, y1] = range(a.y, b.y);
      setView({x0, x1, y0, y1});
    };
    svg.addEventListener("pointerup", drop);
    svg.addEventListener("pointercancel", drop);
    // The wheel scrolls the page, unless Ctrl is held or the chart was chosen.
    svg.addEventListener("wheel", event => {
      if (!event.ctrlKey && document.activeElement !== svg) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 0.8 : 1.25, pointAt(event));
    }, {passive: false});
    const keys = {
      "+": () => zoomBy(0.67), "=": () => zoomBy(0.67), "-": () => zoomBy(1.5), "0": () => setView(whole()),
      ArrowRight: () => step(1), ArrowLeft: () => step(-1), Escape: hideTip,
    };
    svg.addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    reset.addEventListener("click", () => setView(whole()));
    const button = (text, label, act) => {
      const made = create("button", {type: "button", textContent: text});
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      return made;
    };
    tools.append(reset, button("+", "Zoom in", () => zoomBy(0.67)), button("−", "Zoom out", () => zoomBy(1.5)));
    holder.append(tools);
  };

  for (const figure of document.querySelectorAll("figure.chart")) {
    const data = figure.querySelector("script");
    const panels = data ? JSON.parse(data.textContent) : [];
    const hidden = new Set();
    figure.querySelectorAll(".panel").forEach((holder, place) => setUpPanel(holder, panels[place], hidden));
    for (const entry of figure.querySelectorAll(".legend button")) {
      entry.addEventListener("click", () => {
        const place = Number(entry.dataset.series), off = !hidden.has(place);
        if (off) hidden.add(place); else hidden.delete(place);
        entry.setAttribute("aria-pressed", String(!off));
        for (const each of figure.querySelectorAll(`.series[data-series="${place}"]`)) each.classList.toggle("off", off);
      });
    }
  }

  // ---- Tables: sorted by a click on a head, filtered by text

  const valueOf = text => {
    const value = parseFloat(text.replaceAll(",", "").replace("−", "-").replace("± ", ""));
    return Number.isNaN(value) ? -Infinity : value;
  };
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0], heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, place) => {
      const button = create("button", {type: "button"});
      button.append(...head.childNodes);
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      const isNumber = head.classList.contains("number");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down < 0 ? "descending" : "ascending");
        const key = row => (isNumber ? valueOf(row.cells[place].textContent) : row.cells[place].textContent);
        const compare = (a, b) => (isNumber ? (a > b) - (a < b) : a.localeCompare(b, "en", {numeric: true}));
        body.append(...[...body.rows].map(row => [key(row), row]).sort((a, b) => down * compare(a[0], b[0])).map(each => each[1]));
      });
    });
    if (!table.classList.contains("many")) continue;
    const filter = create("input", {className: "filter", type: "search", placeholder: "Filter rows"});
    filter.setAttribute("aria-label", "Filter rows" + (table.caption ? ": " + table.caption.textContent : ""));
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(filter);
  }

  // A table wider than the page is scrolled by keyboard, too.
  const reach = () => {
    for (const box of document.querySelectorAll(".scroll, .panel")) {
      if (box.scrollWidth > box.clientWidth) box.setAttribute("tabindex", "0"); else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();
})();
