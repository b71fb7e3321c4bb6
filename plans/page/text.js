"use strict";
/* Nodes, numbers and names. Nothing here makes markup out of text. */

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== undefined && value !== null && value !== false)
			node.setAttribute(key, value === true ? "" : String(value));
	for (const child of children.flat(2))
		if (child !== null && child !== undefined)
			node.append(child);
	return node;
}

const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/* ---- names ---- */

/* Characters that draw nothing, or turn the direction of what follows, are told by their numbers. */
function visible(name) {
	return name.replace(
		/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
		c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

const MOST_NAME = 160;

function shortened(text, most) {
	const letters = Array.from(text);
	if (letters.length <= most)
		return text;
	const head = Math.ceil((most - 1) / 2);
	return letters.slice(0, head).join("") + "\u2026" +
		letters.slice(letters.length - (most - 1 - head)).join("");
}

/* A name out of a model, as a node that keeps its direction to itself. */
function nameNode(name) {
	const all = visible(name), text = shortened(all, MOST_NAME);
	return el("bdi", {title: text === all ? null : shortened(all, 2000)}, text);
}

/* ---- numbers ---- */

function scaled(x, units, factor) {
	let i = 0;
	while (i + 1 < units.length && Math.abs(x) >= factor * (1 - 5e-4)) {
		x /= factor;
		i++;
	}
	const digits = i === 0 && Number.isInteger(x) && Math.abs(x) < 1000 ? String(x) : plain(x);
	return digits + (units[i] ? " " + units[i] : "");
}

/* Three digits that count, without an exponent where it is readable. */
function plain(x) {
	if (x === 0)
		return "0";
	const size = Math.abs(x);
	if (size >= 1e6 || size < 1e-4)
		return x.toExponential(2);
	return size >= 999.5 ? String(Math.round(x)) : x.toPrecision(3);
}

const seconds = x => scaled(x * 1e9, ["ns", "us", "ms", "s"], 1000);
const bytes = x => scaled(x, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const percent = x => (x * 100).toFixed(Math.abs(x) < 0.0995 ? 2 : Math.abs(x) < 9.995 ? 1 : 0) + " %";
const whole = x => String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (n, one, many) => whole(n) + " " + (n === 1 ? one : many);

/* A value of an objective in its unit. */
function inUnit(unit) {
	if (unit === "s" || unit === "s/sample")
		return seconds;
	return x => plain(x) + (unit ? " " + unit : "");
}

/* A figure of the document: what people read, and the number itself for programs. */
function figure(key, value, text) {
	const none = value === null || value === undefined;
	return el("data", {value: none ? "" : value, "data-key": key},
		none           ? "\u2013"
			: text ? text(value)
			       : String(value));
}

/* ---- parts of pages ---- */

let sections = 0;

/* A section with its heading, a landmark of its own; told to the list of contents. */
function section(title, about, ...children) {
	const id = "part" + ++sections, heading = el("h2", {id: id + "-title"}, title);
	const node = el("section", {id, "aria-labelledby": id + "-title"}, heading,
		about ? el("p", {class: "soft"}, about) : null, ...children);
	node.pageTitle = title;
	return node;
}

/* [[label, figure or text], ...] as cards. */
function facts(list) {
	return el("dl", {class: "facts"}, list.filter(Boolean).map(([label,
		value]) => el("div", {}, el("dt", {}, label), el("dd", {}, value))));
}

const MOST_ROWS = 200;

/* A table. columns: [{title, cell(row), number, head}]; rows come 200 at a time. */
function table(caption, columns, rows) {
	const body = el("tbody");
	const more = el("button", {type: "button"});
	let shown = 0;
	function add() {
		for (const row of rows.slice(shown, shown + MOST_ROWS))
			body.append(el("tr", {},
				columns.map(c => el(c.head ? "th" : "td", {
					class: c.number ? "number" : null,
					scope: c.head ? "row" : null
				},
						    c.cell(row)))));
		shown = Math.min(shown + MOST_ROWS, rows.length);
		more.hidden = shown === rows.length;
		more.textContent = "show more (" + whole(rows.length - shown) + " left)";
	}
	add();
	more.addEventListener("click", add);
	const head = el("thead", {},
		el("tr", {},
			columns.map(
				c => el("th", {scope: "col", class: c.number ? "number" : null}, c.title))));
	return el("div", {},
		el("div", {class: "scroll", role: "region", "aria-label": caption, tabindex: 0},
			el("table", {}, el("caption", {}, caption), head, body)),
		more);
}

/* A column of figures: row.key is the path of the row in the document. */
const numberCell = (key, text) => ({number: true, cell: row => figure(row.key + "." + key, row[key], text)});

/* What is made only when somebody opens it. */
function onDemand(title, make) {
	const node = el("details", {}, el("summary", {}, title));
	node.addEventListener("toggle", () => {
		if (node.open && node.childElementCount === 1)
			node.append(make());
	});
	return node;
}

/* A word beside the pointer. */
const tip = el("div", {class: "tip", "aria-hidden": "true", hidden: true});

function showTip(event, text) {
	tip.hidden = !text;
	if (!text)
		return;
	tip.textContent = text;
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
	tip.style.top = (event.clientY + 22 + box.height > innerHeight ? event.clientY - box.height - 8
								       : event.clientY + 18) +
		"px";
}
