/* The schedule: what each device and channel does when, and what each device holds. */

const LANE = 22, SMALL_LANE = 9, MOST_LANES = 12, MEMORY = 40, CHANNEL = 14, HEADING = 20, AXIS = 24;

/* Lanes for intervals in order of start: each takes the lowest lane that is free. Beyond the last they share
   that one. */
function lanesOf(starts, times, rows, most) {
	const free = [], lane = new Map();
	for (const i of rows) {
		let k = 0;
		while (k < free.length && free[k] > starts[i])
			k++;
		k = Math.min(k, most - 1);
		free[k] = Math.max(free[k] || 0, starts[i] + times[i]);
		lane.set(i, k);
	}
	return {lane, n: Math.max(1, free.length)};
}

class Schedule {
	constructor(plan, selection) {
		this.plan = plan;
		this.selection = selection;
		this.end = Math.max(1, plan.latency_ns);
		this.from = 0;
		this.until = this.end;
		this.layOut();
		this.picture =
			canvasPicture(`Schedule of ${counted(plan.n_ops, "operator", "operators")} on ${
					      counted(this.devices.length, "device",
						      "devices")}, ${seconds(plan.latency_s)}`,
				"schedule-keys", () => this.height, (c, w) => this.draw(c, w));
		this.picture.box.classList.add("tall");
		this.listen();
		selection.listen(row => this.selected(row));
		this.node = el("div", {}, this.tools(), this.picture.box);
	}

	/* Rows from top to bottom: y of each device's lanes and memory, of each channel. */
	layOut() {
		const {plan} = this, {ops, transfers} = plan;
		const byDevice = plan.devices.map(() => []), byChannel = plan.channels.map(() => []);
		ops.device.forEach((d, i) => byDevice[d].push(i));
		transfers.channel.forEach((c, i) => byChannel[c].push(i));
		this.opLane = new Int32Array(ops.name.length);
		this.hopLane = new Int32Array(transfers.op.length);
		let y = AXIS;
		this.devices = plan.devices.map((d, i) => ({...d, index: i, rows: byDevice[i]}))
				       .filter(d => d.ops > 0 || d.peak_memory_bytes > 0);
		for (const d of this.devices) {
			const {lane, n} = lanesOf(ops.start_ns, ops.time_ns, d.rows, MOST_LANES);
			lane.forEach((k, i) => { this.opLane[i] = k; });
			d.lanes = n;
			d.laneHeight = n > 3 ? SMALL_LANE : LANE;
			d.heading = y;
			d.top = y + HEADING;
			d.memory = d.top + n * d.laneHeight + 3;
			y = d.memory + MEMORY + 8;
		}
		this.channels = plan.channels.map((c, i) => ({...c, index: i, rows: byChannel[i]}))
					.filter(c => c.rows.length);
		for (const c of this.channels) {
			const {lane, n} = lanesOf(transfers.start_ns, transfers.time_ns, c.rows, 4);
			lane.forEach((k, i) => { this.hopLane[i] = k; });
			c.lanes = n;
			c.heading = y;
			c.top = y + HEADING - 2;
			c.title = c.name === null
				? plan.devices[c.from].name + " \u2192 " + plan.devices[c.to].name
				: c.name;
			y = c.top + n * CHANNEL + 6;
		}
		this.height = y + 2;
		this.deviceAt = new Map(this.devices.map(d => [d.index, d]));
		this.channelAt = new Map(this.channels.map(c => [c.index, c]));
	}

	x(ns) {
		return (ns - this.from) / (this.until - this.from) * this.picture.width();
	}

	/* ---- drawing ---- */

	draw(c, width) {
		this.drawAxis(c, width);
		for (const d of this.devices)
			this.drawDevice(c, d, width);
		for (const ch of this.channels)
			this.drawChannel(c, ch, width);
		this.drawSelected(c);
	}

	drawAxis(c, width) {
		c.strokeStyle = theme.grid;
		c.fillStyle = theme.soft;
		c.textAlign = "left";
		c.lineWidth = 1;
		for (const t of ticks(this.from / 1e9, this.until / 1e9, width / 110)) {
			const x = Math.round(this.x(t * 1e9)) + 0.5;
			c.beginPath();
			c.moveTo(x, AXIS - 8);
			c.lineTo(x, this.height);
			c.stroke();
			const text = seconds(t), w = c.measureText(text).width;
			c.fillText(text, Math.max(2, Math.min(x - w / 2, width - w - 2)), 9);
		}
	}

	heading(c, title, note, y, width) {
		c.textAlign = "left";
		c.font = "600 12px system-ui, sans-serif";
		const name = fitText(c, visible(title), width * 0.45);
		c.fillStyle = theme.ink;
		c.fillText(name, 4, y + 11);
		const at = 4 + c.measureText(name).width + 10;
		c.font = "12px system-ui, sans-serif";
		c.fillStyle = theme.soft;
		c.fillText(fitText(c, note, width - at - 4), at, y + 11);
	}

	drawDevice(c, d, width) {
		const {ops} = this.plan;
		this.heading(c, d.name,
			counted(d.ops, "operator", "operators") + ", busy " + seconds(d.busy_s) + " (" +
				percent(d.busy_s * 1e9 / this.end) + ")",
			d.heading, width);
		const high = d.lanes * d.laneHeight;
		c.fillStyle = theme.raised;
		c.fillRect(0, d.top, width, high);
		if (this.plan.rest)
			this.drawRest(c, d, high);
		for (const i of d.rows) {
			const x = this.x(ops.start_ns[i]), w = this.x(ops.start_ns[i] + ops.time_ns[i]) - x;
			if (x > width || x + w < 0)
				continue;
			this.drawBar(c, i, d, x, Math.max(w, 1));
		}
		this.drawMemory(c, d, width);
	}

	/* Busy with operators that are not shown: height is the share of the time. */
	drawRest(c, d, high) {
		const parts = this.plan.rest[d.index], each = this.end / parts.length;
		c.fillStyle = colourOf(d.index);
		c.globalAlpha = 0.55;
		parts.forEach((share, i) => {
			const x = this.x(i * each), h = high * Math.min(share, 1000) / 1000;
			if (share > 0)
				c.fillRect(x, d.top + high - h, this.x((i + 1) * each) - x + 0.5, h);
		});
		c.globalAlpha = 1;
	}

	drawBar(c, i, d, x, w) {
		const y = d.top + this.opLane[i] * d.laneHeight, h = d.laneHeight - 1;
		fillDevice(c, d.index, x, y, w, h);
		if (w >= 3) {
			c.strokeStyle = "rgba(0,0,0,0.35)";
			c.lineWidth = 1;
			c.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
		}
		if (this.plan.ops.slack_ns[i] === 0 && h > 10) {
			c.fillStyle = theme.mark;
			c.fillRect(x, y + h - 3, w, 3);
		}
		if (w > 34 && h > 12) {
			const from = Math.max(x, 0), to = Math.min(x + w, this.picture.width());
			const text = fitEnd(c, this.plan.ops.name[i], to - from - 8),
			      wide = c.measureText(text).width;
			if (text) {
				c.fillStyle = "rgba(255,255,255,0.72)";
				c.fillRect(from + 2, y + 2, wide + 4, h - 6);
				c.fillStyle = "#101317";
				c.fillText(text, from + 4, y + h / 2 - 0.5);
			}
		}
	}

	drawMemory(c, d, width) {
		const m = this.plan.memory[d.index], base = d.memory + MEMORY,
		      scale = (MEMORY - 12) / Math.max(d.peak_memory_bytes, 1);
		c.strokeStyle = theme.line;
		c.lineWidth = 1;
		c.beginPath();
		c.moveTo(0, base + 0.5);
		c.lineTo(width, base + 0.5);
		c.stroke();
		c.beginPath();
		c.moveTo(this.x(0), base);
		for (let i = 0; i < m.at_ns.length; i++) {
			const until = i + 1 < m.at_ns.length ? m.at_ns[i + 1] : this.end,
			      y = base - m.bytes[i] * scale;
			c.lineTo(this.x(m.at_ns[i]), y);
			c.lineTo(this.x(until), y);
		}
		c.lineTo(this.x(this.end), base);
		c.closePath();
		c.fillStyle = colourOf(d.index);
		c.globalAlpha = 0.35;
		c.fill();
		c.globalAlpha = 1;
		c.strokeStyle = theme.soft;
		c.stroke();
		this.memoryText(c, d, base, scale, width);
	}

	memoryText(c, d, base, scale, width) {
		const limit = d.limit_bytes;
		let text = "memory, peak " + bytes(d.peak_memory_bytes) +
			(limit === null ? ", no limit" : " of " + bytes(limit));
		if (limit !== null && limit * scale <= MEMORY) {
			const y = Math.round(base - limit * scale) + 0.5;
			c.strokeStyle = theme.mark;
			c.setLineDash([6, 4]);
			c.beginPath();
			c.moveTo(0, y);
			c.lineTo(width, y);
			c.stroke();
			c.setLineDash([]);
			text += limit < d.peak_memory_bytes ? ": too much" : "";
		}
		text = fitText(c, text, width - 10);
		const w = c.measureText(text).width;
		c.fillStyle = theme.back;
		c.globalAlpha = 0.7;
		c.fillRect(3, d.memory + 1, w + 4, 14);
		c.globalAlpha = 1;
		c.fillStyle = theme.soft;
		c.fillText(text, 5, d.memory + 8);
	}

	drawChannel(c, ch, width) {
		const {transfers} = this.plan,
		      some = this.plan.n_transfers > transfers.op.length ? " shown" : "";
		this.heading(c, ch.title, counted(ch.rows.length, "transfer", "transfers") + some, ch.heading,
			width);
		c.fillStyle = theme.raised;
		c.fillRect(0, ch.top, width, ch.lanes * CHANNEL);
		for (const i of ch.rows) {
			const x = this.x(transfers.start_ns[i]),
			      w = Math.max(this.x(transfers.start_ns[i] + transfers.time_ns[i]) - x, 1);
			if (x > width || x + w < 0)
				continue;
			fillDevice(c, transfers.from[i], x, ch.top + this.hopLane[i] * CHANNEL + 1, w,
				CHANNEL - 2);
		}
	}

	drawSelected(c) {
		const i = this.selection.row, {ops, transfers} = this.plan;
		if (i < 0)
			return;
		const ring = (x, y, w, h) => {
			c.lineWidth = 3;
			c.strokeStyle = theme.back;
			c.strokeRect(x - 2.5, y - 2.5, w + 5, h + 5);
			c.lineWidth = 2;
			c.strokeStyle = theme.ink;
			c.strokeRect(x - 1, y - 1, w + 2, h + 2);
		};
		const d = this.deviceAt.get(ops.device[i]), x = this.x(ops.start_ns[i]);
		ring(x, d.top + this.opLane[i] * d.laneHeight,
			Math.max(this.x(ops.start_ns[i] + ops.time_ns[i]) - x, 1), d.laneHeight - 1);
		transfers.op.forEach((op, k) => {
			if (op !== i)
				return;
			const ch = this.channelAt.get(transfers.channel[k]),
			      from = this.x(transfers.start_ns[k]);
			ring(from, ch.top + this.hopLane[k] * CHANNEL + 1,
				Math.max(this.x(transfers.start_ns[k] + transfers.time_ns[k]) - from, 1),
				CHANNEL - 2);
		});
	}

	/* ---- looking around ---- */

	show(from, until) {
		const least = this.end / 1e5, span = Math.min(Math.max(until - from, least), this.end);
		this.from = Math.max(0, Math.min(from, this.end - span));
		this.until = this.from + span;
		this.picture.redraw();
	}

	zoom(factor, at) {
		this.show(at - (at - this.from) * factor, at + (this.until - at) * factor);
	}

	middle() {
		const i = this.selection.row, {ops} = this.plan;
		return i < 0 ? (this.from + this.until) / 2 : ops.start_ns[i] + ops.time_ns[i] / 2;
	}

	selected(row) {
		const {ops} = this.plan, span = this.until - this.from;
		if (row >= 0 &&
			(ops.start_ns[row] < this.from || ops.start_ns[row] + ops.time_ns[row] > this.until))
			this.show(ops.start_ns[row] + ops.time_ns[row] / 2 - span / 2,
				ops.start_ns[row] + ops.time_ns[row] / 2 + span / 2);
		else
			this.picture.redraw();
	}

	tools() {
		const button = (text, label, act) => {
			const b = el("button", {type: "button", "aria-label": label}, text);
			b.addEventListener("click", act);
			return b;
		};
		return el("div", {class: "tools", role: "group", "aria-label": "view of the schedule"},
			button("+", "zoom in", () => this.zoom(0.5, this.middle())),
			button("\u2212", "zoom out", () => this.zoom(2, this.middle())),
			button("all", "show the whole run", () => this.show(0, this.end)),
			finder(this.plan, this.selection));
	}

	/* What is drawn at a point: {op}, {hop} or nothing. */
	at(x, y) {
		const {ops, transfers} = this.plan,
			    ns = this.from + x / this.picture.width() * (this.until - this.from);
		const slop = (this.until - this.from) / this.picture.width() * 2;
		const nearest = (rows, starts, times, lanes, lane) => {
			let best = -1, far = slop;
			for (const i of rows) {
				const away = Math.max(starts[i] - ns, ns - starts[i] - times[i], 0);
				if (lanes[i] === lane && away <= far) {
					best = i;
					far = away;
				}
			}
			return best;
		};
		for (const d of this.devices)
			if (y >= d.top && y < d.top + d.lanes * d.laneHeight)
				return {
					op: nearest(d.rows, ops.start_ns, ops.time_ns, this.opLane,
						Math.floor((y - d.top) / d.laneHeight))
				};
		for (const c of this.channels)
			if (y >= c.top && y < c.top + c.lanes * CHANNEL)
				return {
					hop: nearest(c.rows, transfers.start_ns, transfers.time_ns,
						this.hopLane, Math.floor((y - c.top) / CHANNEL))
				};
		for (const d of this.devices)
			if (y >= d.memory && y < d.memory + MEMORY)
				return {memory: d, ns};
		return {};
	}

	tipFor(hit) {
		const {ops, plan} = {ops: this.plan.ops, plan: this.plan};
		if (hit.op >= 0)
			return visible(shortened(ops.name[hit.op], 120)) + ", " +
				seconds(ops.time_ns[hit.op] / 1e9);
		if (hit.hop >= 0)
			return transferText(plan, hit.hop);
		if (!hit.memory || hit.ns > this.end)
			return "";
		const m = plan.memory[hit.memory.index];
		let i = 0;
		while (i + 1 < m.at_ns.length && m.at_ns[i + 1] <= hit.ns)
			i++;
		return bytes(m.bytes[i]) + " held on " + visible(hit.memory.name) + " at " +
			seconds(hit.ns / 1e9);
	}

	listen() {
		const {canvas} = this.picture;
		let drag = null;
		canvas.addEventListener(
			"pointerdown", e => { drag = {x: e.offsetX, from: this.from, moved: false}; });
		canvas.addEventListener("pointermove", e => {
			if (drag && (e.buttons & 1)) {
				const by = (drag.x - e.offsetX) / this.picture.width() *
					(this.until - this.from);
				drag.moved = drag.moved || Math.abs(drag.x - e.offsetX) > 3;
				if (drag.moved)
					this.show(drag.from + by, drag.from + by + this.until - this.from);
				return;
			}
			showTip(e, this.tipFor(this.at(e.offsetX, e.offsetY)));
		});
		canvas.addEventListener("pointerleave", () => showTip(null, ""));
		canvas.addEventListener("click", e => {
			if (drag && drag.moved)
				return;
			const hit = this.at(e.offsetX, e.offsetY);
			this.selection.choose(hit.op >= 0 ? hit.op
					: hit.hop >= 0    ? this.plan.transfers.op[hit.hop]
							  : -1);
		});
		canvas.addEventListener("wheel", e => {
			if (!e.ctrlKey)
				return;
			e.preventDefault();
			this.zoom(e.deltaY > 0 ? 1.25 : 0.8,
				this.from + e.offsetX / this.picture.width() * (this.until - this.from));
		}, {passive: false});
		canvas.addEventListener("keydown", e => this.key(e));
	}

	/* ---- keys ---- */

	key(e) {
		const {ops} = this.plan, i = this.selection.row, last = ops.name.length - 1;
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const act = {
			ArrowRight: () => this.along(1),
			ArrowLeft: () => this.along(-1),
			ArrowDown: () => this.across(1),
			ArrowUp: () => this.across(-1),
			Home: () => this.selection.choose(last < 0 ? -1 : 0),
			End: () => this.selection.choose(last),
			"+": () => this.zoom(0.5, this.middle()),
			"=": () => this.zoom(0.5, this.middle()),
			"-": () => this.zoom(2, this.middle()),
			0: () => this.show(0, this.end),
			Escape: () => this.selection.choose(-1),
			Enter: () => i >= 0 && this.selection.reveal(i),
		}[e.key];
		if (act) {
			act();
			e.preventDefault();
		}
	}

	/* The next operator on the same device. */
	along(step) {
		const {ops} = this.plan, i = this.selection.row;
		if (i < 0)
			return this.selection.choose(ops.name.length ? 0 : -1);
		const {rows} = this.deviceAt.get(ops.device[i]);
		this.selection.choose(rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(i) + step))]);
	}

	/* On the next device, the operator nearest in time. */
	across(step) {
		const {ops} = this.plan, i = this.selection.row;
		if (i < 0)
			return this.along(1);
		let k = this.devices.findIndex(d => d.index === ops.device[i]) + step;
		while (k >= 0 && k < this.devices.length && !this.devices[k].rows.length)
			k += step;
		if (k < 0 || k >= this.devices.length)
			return;
		const at = ops.start_ns[i], away = r => Math.abs(ops.start_ns[r] - at);
		this.selection.choose(
			this.devices[k].rows.reduce((best, r) => away(r) < away(best) ? r : best));
	}
}

function transferText(plan, k) {
	const {transfers: t, devices, ops} = plan, name = t.op[k] >= 0 ? ops.name[t.op[k]] : t.producer[k];
	return visible(shortened(name, 120)) + ": " + bytes(t.bytes[k]) + " from " +
		visible(devices[t.from[k]].name) + " to " + visible(devices[t.to[k]].name) + ", " +
		seconds(t.time_ns[k] / 1e9);
}

/* As many last words of a name as there is room for. */
function fitEnd(c, name, width) {
	let text = visible(shortened(name, MOST_NAME));
	while (c.measureText(text).width > width) {
		const cut = text.search(/.[/.]/);
		if (cut < 0)
			return fitText(c, text, width);
		text = text.slice(cut + 2);
	}
	return text;
}

/* Find an operator by a part of its name; Enter goes to the next one. */
function finder(plan, selection) {
	const input = el("input", {
		type: "search",
		placeholder: "find an operator",
		"aria-label": "find an operator by a part of its name",
		autocomplete: "off",
		spellcheck: "false"
	});
	const said = el("span", {class: "soft", role: "status"});
	function next(from) {
		const word = input.value.toLowerCase(), {name} = plan.ops;
		const hits =
			word ? name.map((n, i) => i).filter(i => name[i].toLowerCase().includes(word)) : [];
		said.textContent = word ? counted(hits.length, "match", "matches") : "";
		if (hits.length)
			selection.choose(hits.find(i => i > from) ?? hits[0]);
	}
	input.addEventListener("input", () => next(-1));
	input.addEventListener("keydown", e => {
		if (e.key === "Enter")
			next(selection.row);
	});
	return el("span", {class: "tools"}, input, said);
}
