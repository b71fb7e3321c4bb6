/* Axes, marks and canvases that the pictures share. */

/* ---- colours ---- */

const N_COLOURS = 8;
let theme = {};

function readTheme() {
	const style = getComputedStyle(document.documentElement),
	      get = name => style.getPropertyValue("--" + name).trim();
	theme = {device: []};
	for (const name of ["back", "raised", "ink", "soft", "line", "grid", "accent", "mark"])
		theme[name] = get(name);
	for (let i = 0; i < N_COLOURS; i++)
		theme.device.push(get("d" + i));
}

/* Devices beyond the colours take them again, with the next pattern. */
const colourOf = device => theme.device[device % N_COLOURS];

const hatches = new Map();

/* Lines over a device's colour, so that it is told without colours too; null: none. */
function hatchOf(context, device) {
	const kind = (device + Math.floor(device / N_COLOURS)) % 6;
	if (kind === 0)
		return null;
	if (!hatches.has(kind)) {
		const size = 8, tile = el("canvas", {width: size, height: size}), c = tile.getContext("2d");
		c.strokeStyle = c.fillStyle = "rgba(0,0,0,0.30)";
		c.lineWidth = 1.2;
		const line = (x0, y0, x1, y1) => {
			c.beginPath();
			c.moveTo(x0, y0);
			c.lineTo(x1, y1);
			c.stroke();
		};
		if (kind === 1 || kind === 4)
			[-size, 0, size].forEach(s => line(s - 1, size + 1, s + size + 1, -1));
		if (kind === 2 || kind === 4)
			[-size, 0, size].forEach(s => line(s - 1, -1, s + size + 1, size + 1));
		if (kind === 3)
			line(0, size / 2, size, size / 2);
		if (kind === 5)
			c.fillRect(2, 2, 2, 2), c.fillRect(6, 6, 2, 2);
		hatches.set(kind, tile);
	}
	return context.createPattern(hatches.get(kind), "repeat");
}

function fillDevice(c, device, x, y, w, h) {
	c.fillStyle = colourOf(device);
	c.fillRect(x, y, w, h);
	const hatch = w > 4 && h > 4 ? hatchOf(c, device) : null;
	if (hatch) {
		c.fillStyle = hatch;
		c.fillRect(x, y, w, h);
	}
}

function deviceLegend(devices, note) {
	return el("ul", {class: "legend", "aria-label": "colours and patterns of the devices"},
		devices.map(d => {
			const canvas = el("canvas", {width: 52, height: 32, "aria-hidden": "true"});
			const draw = () => {
				const c = canvas.getContext("2d");
				c.setTransform(2, 0, 0, 2, 0, 0);
				fillDevice(c, d.index, 0, 0, 26, 16);
			};
			onTheme(draw);
			return el("li", {}, canvas, nameNode(d.name),
				note ? el("span", {class: "soft"}, note(d)) : null);
		}));
}

const themed = [];

/* Draw now and whenever colours change. */
function onTheme(draw) {
	themed.push(draw);
	draw();
}

function watchTheme() {
	const again = () => {
		readTheme();
		themed.forEach(draw => draw());
	};
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
	matchMedia("print").addEventListener("change", again);
}

/* ---- canvases ---- */

/* A canvas as wide as its box. draw(context, width) draws in CSS pixels; height(width) tells how high it is.
 */
function canvasPicture(label, help, height, draw) {
	const canvas = el(
		"canvas", {tabindex: 0, role: "application", "aria-label": label, "aria-describedby": help});
	const box = el("div", {class: "picture"}, canvas);
	let width = 0;
	function redraw() {
		if (!width)
			return;
		const scale = Math.min(devicePixelRatio || 1, 3), h = height(width);
		canvas.style.height = h + "px";
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(h * scale);
		const c = canvas.getContext("2d");
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.font = "12px system-ui, sans-serif";
		c.textBaseline = "middle";
		c.fillStyle = theme.back;
		c.fillRect(0, 0, width, h);
		draw(c, width);
	}
	new ResizeObserver(() => {
		const w = Math.floor(box.clientWidth);
		if (w !== width) {
			width = w;
			redraw();
		}
	}).observe(box);
	themed.push(redraw);
	return {box, canvas, redraw, width: () => width};
}

/* Text cut to a width. */
function fitText(c, text, width) {
	if (width < 14)
		return "";
	if (c.measureText(text).width <= width)
		return text;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (c.measureText(text.slice(0, middle) + "\u2026").width <= width)
			low = middle;
		else
			high = middle - 1;
	}
	return low > 1 ? text.slice(0, low) + "\u2026" : "";
}

/* ---- axes ---- */

/* About n round numbers from low to high. */
function ticks(low, high, n) {
	const span = high - low;
	if (!(span > 0))
		return [low];
	const raw = span / Math.max(n, 1), power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].find(k => k * power >= raw * 0.999) * power, out = [];
	for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
		out.push(i * step);
	return out;
}

/* How round numbers at equal steps are written: neighbours read differently. */
function stepText(values) {
	const step = values.length > 1 ? values[1] - values[0] : 1;
	const digits = Math.min(20, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
	return x => x.toFixed(digits);
}

/* From values to places; by their logarithms where log is asked for. */
function scaleOf([low, high], from, to, log) {
	const f = log ? Math.log10 : x => x, k = high > low ? (to - from) / (f(high) - f(low)) : 0;
	const decades = () => {
		const out = [];
		for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
			for (const m of [1, 2, 5])
				if (m * 10 ** p >= low && m * 10 ** p <= high)
					out.push(m * 10 ** p);
		return out.length > 7 ? out.filter(x => String(x.toExponential()).startsWith("1")) : out;
	};
	return {
		low,
		high,
		at: x => from + (f(x) - f(low)) * k,
		ticks: n => log ? decades() : ticks(low, high, n)
	};
}

/* Room around the least and the largest of values; from 0 where they come near it. */
function range(values, zero) {
	const known = values.filter(x => x !== null && Number.isFinite(x));
	let low = Math.min(...known), high = Math.max(...known);
	if (!known.length)
		return [0, 1];
	if (zero && low > 0)
		low = 0;
	const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
	return [zero || low === 0 ? low : low - room, high + room];
}

/* Is the largest of positive values so much above the least that only logarithms show both? */
function wide(values) {
	const known = values.filter(x => x !== null && Number.isFinite(x));
	return known.length > 0 && Math.min(...known) > 0 && Math.max(...known) / Math.min(...known) > 20;
}

function logRange(values) {
	const known = values.filter(x => x > 0 && Number.isFinite(x));
	return known.length ? [Math.min(...known) / 1.15, Math.max(...known) * 1.15] : [1, 10];
}

const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size",
	"text-anchor"];
const OF_PAGE = ["class", "tabindex", "role", "aria-label", "aria-hidden"];

/* A picture as a file of its own: with the colours that it has now, and nothing of the page. */
function pictureText(picture) {
	const copy = picture.cloneNode(true), {width, height} = picture.viewBox.baseVal;
	const shown = picture.querySelectorAll("*");
	copy.querySelectorAll("*").forEach((node, i) => {
		const style = getComputedStyle(shown[i]);
		DRAWN.forEach(name => node.setAttribute(name, style.getPropertyValue(name)));
		OF_PAGE.forEach(name => node.removeAttribute(name));
	});
	fill(copy, {xmlns: SVG, width, height}, []);
	return new XMLSerializer().serializeToString(copy);
}

/* For programs: all pictures of the page that are drawn by lines, [[name, text], ...]. */
const pictures = () => [...document.querySelectorAll(".chart svg[aria-label]")].map(
	p => [p.getAttribute("aria-label"), pictureText(p)]);

/* A picture as wide as its box, made anew for another width. make(width): {height, nodes, marks}. */
function chart(label, make) {
	const picture = svg("svg", {role: "group", "aria-label": label}),
	      save = el("button", {type: "button"}, "save as SVG"),
	      box = el("div", {class: "chart"}, picture, save);
	save.addEventListener("click", () => {
		const url = URL.createObjectURL(new Blob([pictureText(picture)], {type: "image/svg+xml"}));
		el("a", {href: url, download: label.replace(/[^A-Za-z0-9]+/g, "-") + ".svg"}).click();
		URL.revokeObjectURL(url);
	});
	let width = 0;
	new ResizeObserver(() => {
		const w = Math.floor(box.clientWidth);
		if (!w || w === width)
			return;
		width = w;
		const {height, nodes, marks} = make(w);
		picture.setAttribute("viewBox", `0 0 ${w} ${height}`);
		picture.setAttribute("height", height);
		picture.replaceChildren(...nodes.flat().filter(Boolean), ...marks);
		roving(picture, marks);
	}).observe(box);
	return box;
}

function axisBelow(scale, y, top, left, right, text, title) {
	return svg("g", {"aria-hidden": "true"},
		scale.ticks(Math.max(2, Math.min(7, (right - left) / 90)))
			.map(x => [svg("line",
					   {class: "grid", x1: scale.at(x), x2: scale.at(x), y1: top, y2: y}),
				     svg("text", {
					     class: "soft",
					     x: scale.at(x),
					     y: y + 16,
					     "text-anchor": "middle"
				     },
					     text(x))])
			.flat(),
		svg("text", {class: "soft", x: (left + right) / 2, y: y + 34, "text-anchor": "middle"},
			title));
}

function axisLeft(scale, x, right, text, title) {
	return svg("g", {"aria-hidden": "true"},
		scale.ticks(5)
			.map(y => [svg("line", {
				class: "grid",
				x1: x,
				x2: right,
				y1: scale.at(y),
				y2: scale.at(y)
			}),
				     svg("text", {
					     class: "soft",
					     x: x - 6,
					     y: scale.at(y) + 4,
					     "text-anchor": "end"
				     },
					     text(y))])
			.flat(),
		svg("text", {class: "soft", x: 0, y: Math.min(scale.at(scale.low), scale.at(scale.high)) - 8},
			title));
}

/* A mark that can be looked at by pointer and by keys; label says what it is. */
function mark(label, ...shapes) {
	const node = svg("g", {class: "mark", role: "img", "aria-label": label, tabindex: -1}, ...shapes);
	node.addEventListener("pointermove", e => showTip(e, label));
	node.addEventListener("pointerleave", () => showTip(null, ""));
	return node;
}

const SHAPES = [
	(x, y, r) => svg("circle", {cx: x, cy: y, r}),
	(x, y, r) => svg("rect", {x: x - r, y: y - r, width: 2 * r, height: 2 * r}),
	(x, y, r) => svg("path", {d: `M${x} ${y - 1.3 * r}L${x + 1.2 * r} ${y + r}H${x - 1.2 * r}Z`}),
	(x, y, r) => svg("path",
		{d: `M${x} ${y - 1.4 * r}L${x + 1.4 * r} ${y}L${x} ${y + 1.4 * r}L${x - 1.4 * r} ${y}Z`}),
	(x, y, r) => svg("path", {d: `M${x - r} ${y - 1.3 * r}H${x + r}V${y + 1.3 * r}H${x - r}Z`}),
	(x, y, r) => svg("path", {d: `M${x} ${y + 1.3 * r}L${x + 1.2 * r} ${y - r}H${x - 1.2 * r}Z`})
];

/* Point number i of a series: shape and colour both tell which. */
function point(series, x, y, r, label) {
	const shape = SHAPES[series % SHAPES.length](x, y, r);
	shape.setAttribute("fill", `var(--d${series % N_COLOURS})`);
	shape.setAttribute("stroke", "var(--ink)");
	return mark(label, svg("circle", {class: "ring", cx: x, cy: y, r: r + 5}), shape);
}

function seriesLegend(names) {
	return el("ul", {class: "legend", "aria-label": "marks"}, names.map((name, i) => {
		const shape = SHAPES[i % SHAPES.length](13, 8, 5);
		shape.setAttribute("fill", `var(--d${i % N_COLOURS})`);
		shape.setAttribute("stroke", "var(--ink)");
		return el("li", {},
			svg("svg", {viewBox: "0 0 26 16", "aria-hidden": "true"}, svg("path", {
				d: "M0 8H26",
				stroke: `var(--d${i % N_COLOURS})`,
				"stroke-width": 2
			}),
				shape),
			nameNode(name));
	}));
}

/* One stop of the tabulator for all marks of a picture; arrows, Home and End go from mark to mark. */
function roving(node, marks) {
	let at = 0;
	if (!marks.length)
		return;
	function stop(i) {
		marks[at].setAttribute("tabindex", -1);
		at = Math.max(0, Math.min(marks.length - 1, i));
		marks[at].setAttribute("tabindex", 0);
	}
	stop(0);
	node.onkeydown = e => {
		const to = {
			ArrowRight: at + 1,
			ArrowDown: at + 1,
			ArrowLeft: at - 1,
			ArrowUp: at - 1,
			Home: 0,
			End: marks.length - 1
		}[e.key];
		if (to !== undefined) {
			stop(to);
			marks[at].focus();
			e.preventDefault();
		} else if (e.key === "Escape")
			marks[at].blur();
	};
	node.onfocusin = e => {
		const i = marks.indexOf(e.target);
		if (i >= 0)
			stop(i);
	};
}
