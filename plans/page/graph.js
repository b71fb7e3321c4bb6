/* The graph: layers or operators as boxes with the shares of their devices, from left to right, in rows like
   the lines of a text. */

const BOX_W = 122, BOX_H = 36, GAP_X = 30, GAP_Y = 10, ROW_GAP = 28, MOST_SEEN = 48, GRAPH_H = 560;

/* Longest-path columns over the edges that go forward in the order of the boxes. */
function columnsOf(n, edges) {
	const column = new Int32Array(n), out = Array.from({length: n}, () => []);
	for (const e of edges)
		if (e.from < e.to)
			out[e.from].push(e.to);
	for (let i = 0; i < n; i++)
		for (const to of out[i])
			column[to] = Math.max(column[to], column[i] + 1);
	return column;
}

/* Order within columns: each box goes to the mean place of its neighbours before, then of those behind. */
function orderColumns(n, column, edges) {
	const columns = [], before = Array.from({length: n}, () => []),
	      behind = Array.from({length: n}, () => []);
	for (let i = 0; i < n; i++)
		(columns[column[i]] = columns[column[i]] || []).push(i);
	for (const e of edges) {
		const [a, b] = column[e.from] < column[e.to] ? [e.from, e.to] : [e.to, e.from];
		before[b].push(a);
		behind[a].push(b);
	}
	const place = new Float64Array(n);
	const settle = boxes => boxes.forEach((b, k) => { place[b] = k - (boxes.length - 1) / 2; });
	columns.forEach(settle);
	const sweep = (boxes, near) => {
		const mean = new Map(boxes.map(
			b => [b,
				near[b].length ? near[b].reduce((s, x) => s + place[x], 0) / near[b].length
					       : place[b]]));
		boxes.sort((a, b) => mean.get(a) - mean.get(b) || a - b);
		settle(boxes);
	};
	for (let round = 0; round < 4; round++) {
		columns.forEach(boxes => sweep(boxes, before));
		for (let k = columns.length - 1; k >= 0; k--)
			sweep(columns[k], behind);
	}
	return {columns, place};
}

class Graph {
	constructor(plan, selection) {
		this.plan = plan;
		this.selection = selection;
		const {nodes, layers, flat} = graphNodes(plan);
		this.nodes = nodes;
		this.root = layerTree(nodes, layers, flat);
		openUntil(this.root, MOST_SEEN);
		this.at = -1; /* box that is chosen */
		this.view = {x: 0, y: 0, scale: 1};
		this.picture = canvasPicture("", "graph-keys", w => this.fit(w), (c, w) => this.draw(c, w));
		this.said = el("div", {class: "inspector", role: "status"});
		this.rebuild(null);
		this.listen();
		selection.listen(row => this.selected(row));
		this.node = el("div", {}, this.tools(), this.picture.box, this.said);
	}

	/* ---- boxes and edges ---- */

	rebuild(keep) {
		const order = this.order =
			this.order || topological(this.nodes.length, this.plan.graph.edges);
		this.boxes = seenLayers(this.root);
		const owner = new Int32Array(this.nodes.length), first = new Map();
		const own = (layer, box) => {
			if (layer.leaf >= 0) {
				owner[layer.leaf] = box;
				first.set(box, Math.min(first.get(box) ?? Infinity, order[layer.leaf]));
			}
			layer.children.forEach(child => own(child, box));
		};
		this.boxes.forEach((layer, i) => own(layer, i));
		const sorted = this.boxes.map((layer, i) => i).sort((a, b) => first.get(a) - first.get(b)),
		      rank = [];
		sorted.forEach((box, k) => { rank[box] = k; });
		this.boxes = sorted.map(i => this.boxes[i]);
		this.boxOf = owner.map(box => rank[box]);
		this.joinEdges();
		this.column = columnsOf(this.boxes.length, this.edges);
		const {columns, place} = orderColumns(this.boxes.length, this.column, this.edges);
		this.columns = columns;
		this.place = place;
		this.at = keep ? this.boxes.indexOf(keep) : -1;
		this.picture.canvas.setAttribute("aria-label",
			`Graph, ${counted(this.boxes.length, "box", "boxes")} for ` +
				counted(this.plan.n_ops, "operator", "operators"));
		this.folded = 0;
		this.tell();
		this.picture.redraw();
	}

	joinEdges() {
		const {edges} = this.plan.graph, sum = new Map(), n = this.boxes.length;
		for (let i = 0; i < edges.length; i += 3) {
			const from = this.boxOf[edges[i]], to = this.boxOf[edges[i + 1]];
			if (from !== to)
				sum.set(from * n + to, (sum.get(from * n + to) || 0) + edges[i + 2]);
		}
		this.edges = [...sum].sort((a, b) => a[0] - b[0]).map(([key,
			size]) => ({from: Math.floor(key / n), to: key % n, bytes: size}));
		this.before = this.boxes.map(() => []);
		this.behind = this.boxes.map(() => []);
		for (const e of this.edges) {
			this.behind[e.from].push(e.to);
			this.before[e.to].push(e.from);
		}
	}

	/* Fold the columns into as many rows as let boxes be largest; the height that the picture takes. */
	fit(width) {
		if (this.folded === width)
			return this.high;
		const heights = this.columns.map(boxes => boxes.length * (BOX_H + GAP_Y));
		const fold = each => {
			const rows = [];
			for (let i = 0; i < heights.length; i += each)
				rows.push(Math.max(...heights.slice(i, i + each)));
			return rows;
		};
		let best = null;
		for (let each = 1; each <= heights.length; each++) {
			const rows = fold(each), w = each * (BOX_W + GAP_X) + GAP_X,
			      h = rows.reduce((a, b) => a + b + ROW_GAP, 10);
			const scale = Math.min(1, (width - 8) / w, GRAPH_H / h);
			if (!best || scale > best.scale + 1e-9 || (scale > best.scale - 1e-9 && h < best.h))
				best = {each, rows, w, h, scale};
		}
		best = best || {each: 1, rows: [], w: 1, h: 10, scale: 1};
		this.place2d(best);
		this.base = best.scale;
		this.view = {x: (width - best.w * best.scale) / 2, y: 6, scale: best.scale};
		this.folded = width;
		this.high = Math.min(GRAPH_H, Math.max(120, best.h * best.scale + 12));
		return this.high;
	}

	place2d({each, rows}) {
		const top = [];
		rows.reduce((y, h, i) => (top[i] = y, y + h + ROW_GAP), 10);
		this.x = new Float64Array(this.boxes.length);
		this.y = new Float64Array(this.boxes.length);
		this.line = new Int32Array(this.boxes.length);
		this.columns.forEach((boxes, k) => boxes.forEach(b => {
			const row = Math.floor(k / each);
			this.line[b] = row;
			this.x[b] = GAP_X / 2 + (k % each) * (BOX_W + GAP_X);
			this.y[b] = top[row] + rows[row] / 2 + this.place[b] * (BOX_H + GAP_Y) - BOX_H / 2;
		}));
	}

	/* ---- drawing ---- */

	draw(c) {
		const {x, y, scale} = this.view;
		c.save();
		c.translate(x, y);
		c.scale(scale, scale);
		for (const e of this.edges)
			this.drawEdge(c, e, false);
		for (const e of this.edges)
			if (e.from === this.at || e.to === this.at)
				this.drawEdge(c, e, true);
		this.boxes.forEach((layer, i) => this.drawBox(c, layer, i));
		c.restore();
	}

	drawEdge(c, e, strong) {
		const fx = this.x[e.from], fy = this.y[e.from], tx = this.x[e.to], ty = this.y[e.to];
		c.strokeStyle = strong ? theme.accent : theme.soft;
		c.globalAlpha = strong ? 1 : 0.45;
		c.lineWidth = strong ? 2.5 : 1;
		c.beginPath();
		if (this.line[e.from] === this.line[e.to]) {
			const x0 = fx + BOX_W, y0 = fy + BOX_H / 2, y1 = ty + BOX_H / 2,
			      bend = Math.max(GAP_X / 2, Math.abs(tx - x0) / 3);
			c.moveTo(x0, y0);
			c.bezierCurveTo(x0 + bend, y0, tx - bend, y1, tx, y1);
		} else {
			const x0 = fx + BOX_W / 2, x1 = tx + BOX_W / 2, down = ty > fy,
			      y0 = fy + (down ? BOX_H : 0), y1 = ty + (down ? 0 : BOX_H);
			const bend = (y1 - y0) / 2;
			c.moveTo(x0, y0);
			c.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
		}
		c.stroke();
		c.globalAlpha = 1;
	}

	drawBox(c, layer, i) {
		const x = this.x[i], y = this.y[i], group = layer.children.length > 0,
		      words = this.view.scale > 0.32;
		if (group) {
			c.fillStyle = theme.back;
			c.strokeStyle = theme.soft;
			c.lineWidth = 1;
			c.fillRect(x + 3, y + 3, BOX_W, BOX_H);
			c.strokeRect(x + 3.5, y + 3.5, BOX_W, BOX_H);
		}
		c.fillStyle = theme.back;
		c.fillRect(x, y, BOX_W, BOX_H);
		this.drawShares(c, layer, x, y + BOX_H - 16, words);
		if (words) {
			c.fillStyle = theme.ink;
			c.textAlign = "left";
			c.font = "12px system-ui, sans-serif";
			const count = group ? whole(layer.ops) : "",
			      w = count ? c.measureText(count).width + 6 : 0;
			c.fillText(fitText(c, visible(layer.name), BOX_W - 8 - w), x + 4, y + 10.5);
			c.fillStyle = theme.soft;
			c.fillText(count, x + BOX_W - w + 2, y + 10.5);
		}
		c.strokeStyle = i === this.at ? theme.accent : theme.ink;
		c.lineWidth = i === this.at ? 4 : 1;
		c.strokeRect(x, y, BOX_W, BOX_H);
	}

	/* Shares of the time by device, each with its name where there is room. */
	drawShares(c, layer, x, y, words) {
		const all = [...layer.on.entries()].sort((a, b) => a[0] - b[0]), of = layer.ns || layer.ops;
		let at = x;
		for (const [d, share] of all) {
			const w = BOX_W * (layer.ns ? share.ns : share.ops) / of;
			fillDevice(c, d, at, y, w, 16);
			if (words && w > 26) {
				c.font = "11px system-ui, sans-serif";
				const text = fitText(c, visible(this.plan.devices[d].name), w - 8),
				      wide = c.measureText(text).width;
				if (text) {
					c.fillStyle = "rgba(255,255,255,0.72)";
					c.fillRect(at + 2, y + 2, wide + 4, 12);
					c.fillStyle = "#101317";
					c.fillText(text, at + 4, y + 8.5);
				}
			}
			at += w;
		}
	}

	/* ---- what is chosen ---- */

	choose(box) {
		this.at = box;
		this.tell();
		this.picture.redraw();
		const layer = this.boxes[box];
		if (layer && layer.leaf >= 0 && this.nodes[layer.leaf].row >= 0 &&
			this.selection.row !== this.nodes[layer.leaf].row)
			this.selection.choose(this.nodes[layer.leaf].row);
	}

	/* An operator was chosen elsewhere: the box that it is in. */
	selected(row) {
		if (this.plan.graph.groups)
			return;
		this.at = row < 0 ? -1 : this.boxOf[row];
		this.tell();
		this.picture.redraw();
	}

	/* Open all layers around an operator and go there. */
	reveal(row) {
		if (!this.plan.graph.groups) {
			let layer = this.boxes[this.boxOf[row]];
			while (layer.children.length) {
				layer.open = true;
				layer = layer.children.find(child => holds(child, row));
			}
			this.rebuild(layer);
		}
		this.picture.canvas.focus();
		this.picture.box.scrollIntoView({block: "nearest"});
	}

	open(box) {
		const layer = this.boxes[box];
		if (!layer || !layer.children.length)
			return;
		layer.open = true;
		this.rebuild(null);
		this.choose(this.boxes.findIndex(l => isBelow(l, layer)));
	}

	close(box) {
		const up = this.boxes[box] && this.boxes[box].up;
		if (!up || !up.up)
			return;
		up.open = false;
		closeAll(up);
		this.rebuild(up);
	}

	tell() {
		const layer = this.boxes[this.at];
		if (!layer) {
			this.said.replaceChildren(el("span", {class: "soft wide"},
				"No box is chosen. Choose one by a click, or by the arrow keys."));
			return;
		}
		const near = (title, boxes) => el("div", {class: "wide"},
			el("span", {class: "soft"}, title + " "),
			el("ul", {}, boxes.slice(0, 12).map(b => el("li", {}, this.link(b))),
				boxes.length > 12 ? el("li", {}, `and ${boxes.length - 12} more`) : null));
		this.said.replaceChildren(el("div", {class: "wide"}, nameNode(layer.full),
						  el("span", {class: "soft"},
							  " " + counted(layer.ops, "operator", "operators") +
								  ", " + seconds(layer.ns / 1e9) + ": "),
						  sharesText(layer, this.plan.devices)),
			near("before it", this.before[this.at]), near("behind it", this.behind[this.at]));
	}

	link(box) {
		const b = el("button", {type: "button", class: "link"}, nameNode(this.boxes[box].name));
		b.addEventListener("click", () => this.choose(box));
		return b;
	}

	/* ---- pointer and keys ---- */

	zoom(factor, x, y) {
		const scale = Math.max(this.base / 2, Math.min(4, this.view.scale * factor)),
		      k = scale / this.view.scale;
		this.view = {x: x - (x - this.view.x) * k, y: y - (y - this.view.y) * k, scale};
		this.picture.redraw();
	}

	pick(px, py) {
		const x = (px - this.view.x) / this.view.scale, y = (py - this.view.y) / this.view.scale;
		return this.boxes.findIndex((l, i) => x >= this.x[i] && x <= this.x[i] + BOX_W &&
				y >= this.y[i] && y <= this.y[i] + BOX_H);
	}

	tools() {
		const button = (text, label, act) => {
			const b = el("button", {type: "button", "aria-label": label}, text);
			b.addEventListener("click", act);
			return b;
		};
		const middle = () => [this.picture.width() / 2, this.high / 2];
		return el("div", {class: "tools", role: "group", "aria-label": "view of the graph"},
			button("+", "zoom in", () => this.zoom(1.4, ...middle())),
			button("\u2212", "zoom out", () => this.zoom(1 / 1.4, ...middle())),
			button("all", "show the whole graph",
				() => {
					this.folded = 0;
					this.picture.redraw();
				}),
			button("open layer", "open the chosen layer", () => this.open(this.at)),
			button("close layer", "close the layer around the chosen box",
				() => this.close(this.at)),
			button("open all", "open all layers", () => {
				openUntil(this.root, Infinity);
				this.rebuild(null);
			}), button("close all", "close all layers", () => {
				closeAll(this.root);
				this.rebuild(null);
			}));
	}

	listen() {
		const {canvas} = this.picture;
		let drag = null;
		canvas.addEventListener("pointerdown",
			e => { drag = {x: e.offsetX, y: e.offsetY, view: this.view, moved: false}; });
		canvas.addEventListener("pointermove", e => {
			if (drag && (e.buttons & 1)) {
				const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
				drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > 4;
				if (drag.moved) {
					this.view = {
						x: drag.view.x + dx,
						y: drag.view.y + dy,
						scale: drag.view.scale
					};
					this.picture.redraw();
				}
				return;
			}
			const layer = this.boxes[this.pick(e.offsetX, e.offsetY)];
			showTip(e,
				layer ? visible(shortened(layer.full, 120)) + ": " +
						sharesText(layer, this.plan.devices)
				      : "");
		});
		canvas.addEventListener("pointerleave", () => showTip(null, ""));
		canvas.addEventListener("click", e => {
			if (!drag || !drag.moved)
				this.choose(this.pick(e.offsetX, e.offsetY));
		});
		canvas.addEventListener("dblclick", e => this.open(this.pick(e.offsetX, e.offsetY)));
		canvas.addEventListener("wheel", e => {
			if (!e.ctrlKey)
				return;
			e.preventDefault();
			this.zoom(e.deltaY > 0 ? 0.8 : 1.25, e.offsetX, e.offsetY);
		}, {passive: false});
		canvas.addEventListener("keydown", e => this.key(e));
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const i = this.at, column = i < 0 ? [] : this.columns[this.column[i]], k = column.indexOf(i);
		const go = box => this.choose(i < 0 ? 0 : box ?? i);
		const act = {
			ArrowRight: () => go(this.behind[i] && this.behind[i][0]),
			ArrowLeft: () => go(this.before[i] && this.before[i][0]),
			ArrowDown: () => go(column[k + 1]),
			ArrowUp: () => go(column[k - 1]),
			Home: () => this.choose(0),
			End: () => this.choose(this.boxes.length - 1),
			Enter: () => this.open(i),
			Backspace: () => this.close(i),
			"+": () => this.zoom(1.4, this.picture.width() / 2, this.high / 2),
			"=": () => this.zoom(1.4, this.picture.width() / 2, this.high / 2),
			"-": () => this.zoom(1 / 1.4, this.picture.width() / 2, this.high / 2),
			0: () => {
				this.folded = 0;
				this.picture.redraw();
			},
			Escape: () => {
				this.choose(-1);
				this.selection.choose(-1);
			},
		}[e.key];
		if (act) {
			act();
			e.preventDefault();
		}
	}
}

function holds(layer, leaf) {
	return layer.leaf === leaf || layer.children.some(child => holds(child, leaf));
}

function isBelow(layer, of) {
	for (let l = layer; l; l = l.up)
		if (l === of)
			return true;
	return false;
}

/* Nodes of the document's graph: groups, or the operators themselves, by start. */
function graphNodes(plan) {
	const {graph, ops} = plan;
	const alone = row => new Map([[ops.device[row], {ops: 1, ns: ops.time_ns[row]}]]);
	if (!graph.groups)
		return {
			nodes: ops.name.map((name, row) => ({name, row, on: alone(row)})),
			layers: graph.layers ? {names: graph.layers, of: graph.layer} : null,
			flat: false
		};
	const nodes = graph.groups.map(g => {
		const on = new Map();
		for (let i = 0; i < g.on.length; i += 3)
			on.set(g.on[i], {ops: g.on[i + 1], ns: g.on[i + 2]});
		return {name: g.name || "others", row: -1, on};
	});
	return {nodes, layers: null, flat: graph.runs};
}

/* Place of each node in a topological order, lowest first; on a circle of groups the lowest goes on. */
function topological(n, edges) {
	const waits = new Int32Array(n), out = Array.from({length: n}, () => []),
	      place = new Int32Array(n).fill(-1);
	for (let i = 0; i < edges.length; i += 3) {
		out[edges[i]].push(edges[i + 1]);
		waits[edges[i + 1]]++;
	}
	let next = 0, at = 0;
	const ready = [];
	const take = i => {
		place[i] = next++;
		out[i].forEach(to => --waits[to] === 0 && place[to] < 0 && ready.push(to));
	};
	for (let i = 0; i < n; i++)
		if (waits[i] === 0)
			ready.push(i);
	while (next < n) {
		if (at < ready.length) {
			const i = ready[at++];
			if (place[i] < 0)
				take(i);
		} else
			take(place.indexOf(-1));
	}
	return place;
}
