// What browser_test.py asks of a page, inside it. Every function gives a list of problems.
window.checks = (() => {
  const nameOf = figure => figure.querySelector("figcaption strong").textContent.slice(0, 40);
  const charts = () => [...document.querySelectorAll("figure.chart")];
  const valuesOf = figure => JSON.parse(figure.querySelector("script").textContent);

  // A title, axes with labels and a text alternative.
  const labelled = () => {
    const problems = [];
    for (const figure of charts()) {
      const say = text => problems.push(`chart "${nameOf(figure)}": ${text}`);
      if (!figure.querySelector("figcaption strong").textContent.trim()) say("has no title");
      const drawings = [...figure.querySelectorAll(".panel > svg")];
      for (const svg of drawings) {
        if (svg.getAttribute("role") !== "img") say("its role is not img");
        if (!(svg.getAttribute("aria-label") || "").trim()) say("has no name for screen readers");
        if (!svg.querySelector("desc")?.textContent.trim()) say("has no description for screen readers");
      }
      if (!figure.querySelector("script")) continue;  // a drawing
      valuesOf(figure).forEach((panel, place) => {
        const needs = {lines: "xy", points: "xy", histogram: "xy", bars: "xy", matrix: "xy", intervals: "x"}[panel.kind] || "";
        for (const axis of needs) if (!panel[axis + "_label"].trim()) say(`panel ${place}: its ${axis} axis has no label`);
        if (panel.kind === "parallel" && panel.series.some(each => !each.name)) say("an axis has no name");
        for (const axis of needs) {
          const begin = panel[axis + "_label"].slice(0, 8);
          if (![...drawings[place].querySelectorAll("text")].some(text => text.textContent.startsWith(begin)))
            say(`panel ${place}: the label of its ${axis} axis is not drawn`);
        }
      });
      if (![...figure.querySelectorAll("details table")].some(table => table.tBodies[0].rows.length)) say("has no table behind it");
    }
    return problems;
  };

  // Tables are sorted by every column, up and down.
  const sorted = () => {
    const problems = [];
    for (const table of document.querySelectorAll("table")) {
      const heads = [...table.querySelectorAll("thead th")];
      heads.forEach((head, place) => {
        const button = head.querySelector("button");
        if (!button) return problems.push("a column has no button");
        for (const wanted of ["ascending", "descending"]) {
          button.click();
          if (head.getAttribute("aria-sort") !== wanted) problems.push(`a column is not said to be ${wanted}`);
          if (!head.classList.contains("number")) continue;
          const values = [...table.tBodies[0].rows].map(row => parseFloat(row.cells[place].textContent.replaceAll(",", "").replace("−", "-")))
            .filter(value => !Number.isNaN(value));
          const sign = wanted === "ascending" ? 1 : -1;
          if (values.some((value, i) => i && sign * (value - values[i - 1]) < 0))
            problems.push(`column "${head.textContent}" is not ${wanted}: ${values.slice(0, 6)}`);
        }
      });
    }
    for (const filter of document.querySelectorAll("input.filter")) {
      const rows = [...filter.nextElementSibling.querySelectorAll("tbody tr")], text = rows[0].cells[0].textContent;
      filter.value = text;
      filter.dispatchEvent(new Event("input"));
      const shown = rows.filter(row => !row.hidden);
      if (!shown.length || shown.some(row => !row.textContent.toLowerCase().includes(text.toLowerCase())))
        problems.push("a filter shows other rows");
      filter.value = "";
      filter.dispatchEvent(new Event("input"));
      if (rows.some(row => row.hidden)) problems.push("an empty filter hides rows");
    }
    return problems;
  };

  const shareOf = ([low, high, log], value) => log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);

  // Where value i of a series lies in the drawing: by the axes, and not by what the page's script says.
  const placeOf = (panel, row, i) => {
    const [left, top, width, height] = panel.box, series = panel.series[row], y = series.y[i];
    const across = value => left + panel.inset + shareOf(panel.x, value) * (width - 2 * panel.inset);
    const up = value => top + height * (1 - shareOf(panel.y, value));
    const slot = panel.categories.length;
    switch (panel.kind) {
      case "lines": case "points": return [across(series.x[i]), up(y)];
      case "histogram": return [across((series.x[i] + series.x[i + 1]) / 2), up(y)];
      case "bars": return [left + (i + 0.5) * width / slot, up(y)];
      case "matrix": return [left + (i + 0.5) * width / slot, top + (row + 0.5) * height / panel.series.length];
      case "intervals": return [across(y), top + (i + (row + 1) / (panel.series.length + 1)) * height / slot];
    }
    return null;
  };

  // The pointer over a value shows it. Of values that lie together any may be shown.
  const tooltips = () => {
    const problems = [], tip = document.getElementById("tip");
    for (const figure of charts()) {
      if (!figure.querySelector("script")) continue;
      valuesOf(figure).forEach((panel, place) => {
        const svg = figure.querySelectorAll(".panel > svg")[place];
        const all = (panel.marks || []).map(mark => ({at: [mark.x, mark.y], y: mark.text, name: ""}));
        (panel.series || []).forEach((series, row) => series.y.forEach((y, i) => {
          const at = y === null || (series.x.length && series.x[i] === null) ? null : placeOf(panel, row, i);
          if (at) all.push({at, y: String(y).replace("-", "−"), name: series.name});
        }));
        for (const mark of [all[0], all[all.length >> 1], all[all.length - 1]]) {
          if (!mark) continue;
          const point = new DOMPoint(...mark.at).matrixTransform(svg.getScreenCTM());
          svg.dispatchEvent(new PointerEvent("pointermove", {clientX: point.x, clientY: point.y, bubbles: true}));
          const near = all.filter(each => Math.hypot(each.at[0] - mark.at[0], each.at[1] - mark.at[1]) < 1);
          if (tip.hidden || !near.some(each => tip.textContent.includes(each.y) && tip.textContent.includes(each.name)))
            problems.push(`chart "${nameOf(figure)}": over ${mark.name} ${mark.y} the tip says "${tip.hidden ? "" : tip.textContent}"`);
        }
        svg.dispatchEvent(new PointerEvent("pointerleave"));
        if (!tip.hidden) problems.push("the tip stays");
      });
    }
    return problems;
  };

  // A click on the legend hides a series and shows it again.
  const legends = () => {
    const problems = [];
    for (const button of document.querySelectorAll(".legend button")) {
      const figure = button.closest("figure");
      const shown = () => [...figure.querySelectorAll(`.series[data-series="${button.dataset.series}"]`)]
        .some(each => getComputedStyle(each).display !== "none");
      for (const wanted of [false, true]) {
        button.click();
        if (shown() !== wanted || button.getAttribute("aria-pressed") !== String(wanted))
          problems.push(`chart "${nameOf(figure)}": its legend does not ${wanted ? "show" : "hide"} a series`);
      }
    }
    return problems;
  };

  // ---- Contrast (WCAG 2.1)

  const parse = color => {
    const parts = (color.match(/[\d.]+/g) || []).map(Number);
    return parts.length >= 3 ? {rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1} : null;
  };
  const over = (top, alpha, below) => top.map((value, i) => alpha * value + (1 - alpha) * below[i]);
  const luminance = rgb => rgb.map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const paper = () => parse(getComputedStyle(document.body).backgroundColor).rgb;
  const behindText = element => {
    let back = paper();
    const boxes = [];
    for (let each = element; each && each !== document.body; each = each.parentElement) boxes.unshift(each);
    for (const box of boxes) {
      const color = parse(getComputedStyle(box).backgroundColor);
      if (color) back = over(color.rgb, color.alpha, back);
    }
    return back;
  };
  // Shapes that are painted before a text of a drawing and lie under its middle.
  const behindDrawnText = (svg, text) => {
    const frame = text.getBoundingClientRect(), x = frame.x + frame.width / 2, y = frame.y + frame.height / 2;
    let back = paper();
    const own = getComputedStyle(text);  // a halo around the letters lies over all else
    if (own.paintOrder.startsWith("stroke") && own.stroke !== "none") return parse(own.stroke).rgb;
    for (const shape of svg.querySelectorAll("rect, polygon")) {
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
      const point = new DOMPoint(x, y).matrixTransform(shape.getScreenCTM().inverse());
      if (!shape.isPointInFill(point)) continue;
      const style = getComputedStyle(shape), color = parse(style.fill);
      if (color) back = over(color.rgb, color.alpha * style.fillOpacity * style.opacity, back);
    }
    return back;
  };
  const contrast = () => {
    const problems = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.textContent.trim() || element.closest("script, style, title, desc") || !element.checkVisibility()) continue;
      const style = getComputedStyle(element), svg = element.closest(".panel > svg");
      if (style.visibility === "hidden") continue;
      const drawn = svg && element.tagName === "text";
      const back = drawn ? behindDrawnText(svg, element) : behindText(element);
      const color = parse(drawn ? style.fill : style.color);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const found = ratio(over(color.rgb, color.alpha, back), back);
      if (found < (large ? 3 : 4.5)) problems.add(`"${node.textContent.trim().slice(0, 30)}" has a contrast of ${found.toFixed(2)}`);
    }
    return [...problems];
  };

  // Nothing is wider than the page.
  const width = () => {
    const problems = [], most = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > most) problems.push(`is ${document.documentElement.scrollWidth} wide, the window ${most}`);
    for (const element of document.querySelectorAll("h1, h2, p, dl, figure, figcaption, summary, nav, pre, .legend, input")) {
      if (element.checkVisibility() && element.getBoundingClientRect().right > most + 1)
        problems.push(`<${element.tagName.toLowerCase()}> "${element.textContent.slice(0, 30)}" leaves the page`);
    }
    return problems;
  };

  // Texts of a chart do not run into each other; names of nodes in a drawing may.
  const overlaps = () => {
    const problems = [];
    for (const svg of document.querySelectorAll("figure:not(.drawing) .panel > svg")) {
      const boxes = [...svg.querySelectorAll("text")].map(text => ({box: text.getBoundingClientRect(), text: text.textContent}));
      boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (wide > 2 && high > 4) problems.push(`chart "${nameOf(svg.closest("figure"))}": "${a.text.slice(0, 20)}" lies on "${b.text.slice(0, 20)}"`);
      }));
    }
    return problems;
  };

  // All of a text of a drawing can be seen, in letters that can be read; names of nodes in a drawing may be long.
  const visible = () => {
    const problems = [], least = innerWidth < 500 ? 8 : 10;
    for (const svg of document.querySelectorAll("figure:not(.drawing) .panel > svg")) {
      const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
      const say = text => problems.push(`chart "${nameOf(svg.closest("figure"))}": ${text}`);
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect(), size = scale * parseFloat(text.getAttribute("font-size"));
        if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
          say(`"${text.textContent.slice(0, 20)}" is cut`);
        if (size < least) say(`"${text.textContent.slice(0, 20)}" has letters of ${size.toFixed(1)} px`);
      }
    }
    return problems;
  };

  // Numbers as people write them.
  const wording = () => {
    const problems = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const wrong = [
      /(^|[^\w.])[-+−]?(nan|inf)\b/, /\b(null|NaN|Infinity)\b|\bundefined\b(?!:)/, /(^|[\s(])[-−]0(\.0+)?(?![\d.e])/,
      /(^|[^\w.,%])1 (nodes|edges|runs|epochs|classes|labels|folds|trainings|seeds|pairs|candidates|choices|neighbours)\b/];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest("script, style, pre")) continue;
      for (const each of wrong) if (each.test(node.textContent)) problems.push(`says "${node.textContent.trim().slice(0, 80)}"`);
    }
    return problems;
  };

  // Only the page's own elements, whatever the names of the data are.
  const harmless = () => {
    const problems = [];
    if (window.attacked) problems.push("a name of the data was executed");
    const own = charts().filter(figure => figure.querySelector("script")).length + 1;
    if (document.querySelectorAll("script:not([data-test])").length !== own) problems.push("has other scripts");
    if (document.querySelector("img, iframe, object, embed, link, form, video, audio, foreignObject")) problems.push("has an element that is not ours");
    for (const element of document.querySelectorAll("*"))
      for (const attribute of element.attributes)
        if (attribute.name.startsWith("on")) problems.push(`has the attribute ${attribute.name}`);
    return problems;
  };

  // Marks the first and the last line of every drawing for the test of the print.
  const markDrawings = () => {
    const drawings = [...document.querySelectorAll(".panel > svg")];
    drawings.forEach((svg, place) => {
      const {width, height} = svg.viewBox.baseVal;
      for (const [name, y] of [["first", 8], ["last", height - 1]]) {
        const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        for (const [key, value] of Object.entries({x: width / 2, y, "font-size": 6})) text.setAttribute(key, value);
        text.textContent = `drawing${place}${name}`;
        svg.append(text);
      }
    });
    return drawings.length;
  };

  return {labelled, sorted, tooltips, legends, contrast, width, overlaps, visible, wording, harmless, markDrawings};
})();
