/* Pictures of comparisons: methods against the bound, and over instances. */

/* ---- methods against the bound ---- */

/* One line a method: dots are seeds, the upright line is the median, the one across it its interval. Bars go
   from zero; a logarithmic axis has none. The base {at, name} is a dashed line; at null: there is none. */
function methodChart(label, methods, base, unit, axis) {
	const values = methods.flatMap(m => [...m.values, m.low, m.high, m.median]).concat(base.at),
	      log = wide(values);
	return chart(label, width => {
		const left = Math.min(150, width * 0.3), right = width - 14, top = 22, line = 26,
		      bottom = top + methods.length * line;
		const x = scaleOf(log ? logRange(values) : range(values, true), left, right, log),
		      marks = [];
		const nodes =
			[axisBelow(x, bottom, top, left, right, unit, axis + (log ? ", logarithmic" : ""))];
		const from = base.at === null ? left : x.at(base.at);
		if (base.at !== null)
			nodes.push(svg("g", {"aria-hidden": "true"},
				svg("line", {class: "bound", x1: from, x2: from, y1: top - 4, y2: bottom}),
				svg("text", {
					class: "boundtext",
					x: from,
					y: top - 8,
					"text-anchor": from > width / 2 ? "end" : "start"
				},
					base.name + " " + unit(base.at))));
		methods.forEach((m, i) => {
			const y = top + i * line + line / 2;
			nodes.push(svg("text",
				{x: left - 8, y: y + 4, "text-anchor": "end", "aria-hidden": "true"},
				shortened(visible(m.name), Math.floor(left / 7))));
			if (m.median === null) {
				nodes.push(svg("text", {class: "soft", x: left + 4, y: y + 4},
					m.note || "no value"));
				return;
			}
			const at = x.at(m.median);
			if (!log)
				nodes.push(svg("rect", {
					x: x.at(0),
					width: at - x.at(0),
					y: y - 6,
					height: 12,
					fill: `var(--d${m.series % N_COLOURS})`,
					opacity: 0.55
				}));
			if (m.low !== null)
				nodes.push(svg("line",
					{class: "range", x1: x.at(m.low), x2: x.at(m.high), y1: y, y2: y}));
			m.values.filter(v => v !== null).forEach(v => nodes.push(svg("circle", {
				cx: x.at(v),
				cy: y,
				r: 3,
				fill: `var(--d${m.series % N_COLOURS})`,
				stroke: "var(--ink)",
				"stroke-width": 0.5
			})));
			marks.push(mark(`${visible(m.name)}: ${unit(m.median)}${m.more || ""}`,
				svg("circle", {class: "ring", cx: at, cy: y, r: 11}),
				svg("line", {class: "middle", x1: at, x2: at, y1: y - 8, y2: y + 8}),
				svg("rect", {
					x: left,
					y: y - line / 2,
					width: right - left,
					height: line,
					fill: "transparent"
				})));
		});
		return {height: bottom + 42, nodes, marks};
	});
}

function instanceSection(doc, unit, graph, system, rows) {
	const bound = rows[0].lower_bound, names = [...new Set(rows.map(r => r.method))];
	const methods = names.map((name, series) => {
		const own = rows.filter(r => r.method === name),
		      sum = doc.instances.find(
			      i => i.graph === graph && i.system === system && i.method === name);
		return {
			name,
			series,
			values: own.map(r => r.value),
			median: sum.median,
			low: sum.low,
			high: sum.high,
			note: own[0].note || own[0].status,
			more: sum.gap === null ? "" : ", gap " + percent(sum.gap)
		};
	});
	const list = doc.instances.map((i, k) => ({...i, key: "instances." + k}))
			     .filter(i => i.graph === graph && i.system === system);
	const seeds = doc.rows.map((r, k) => ({...r, key: "rows." + k}))
			      .filter(r => r.graph === graph && r.system === system);
	return section(visible(shortened(graph + " on " + system, 80)), null,
		methodChart("Methods against the bound: " + visible(graph + " on " + system), methods,
			{at: bound, name: "bound"}, unit, rows[0].objective),
		table("medians over the seeds",
			[
				{title: "method", head: true, cell: r => nameNode(r.method)},
				{title: "median", ...numberCell("median", unit)},
				{title: "least", ...numberCell("least", unit)},
				{title: "most", ...numberCell("most", unit)},
				{title: "gap", ...numberCell("gap", percent)},
				{title: "it / single", ...numberCell("ratio", x => x.toFixed(3))},
				{title: "feasible", number: true, cell: r => `${r.feasible} of ${r.seeds}`},
				{title: "evaluations", ...numberCell("evaluations", whole)},
				{title: "CPU time", ...numberCell("solve_s", seconds)}
			],
			list),
		onDemand("every run",
			() => table("runs",
				[
					{title: "method", head: true, cell: r => nameNode(r.method)},
					{title: "seed", ...numberCell("seed", String)},
					{title: "value", ...numberCell("value", unit)},
					{title: "gap", ...numberCell("gap", percent)},
					{title: "status", cell: r => r.status},
					{title: "evaluations", ...numberCell("evaluations", whole)},
					{title: "note", cell: r => r.note ? visible(r.note) : ""}
				],
				seeds)));
}

function overallSection(doc) {
	const methods = doc.methods.map((m, series) => ({
		name: m.method,
		series,
		values: [],
		median: m.ratio,
		low: m.ratio_low,
		high: m.ratio_high,
		note: "no value",
		more: ` of the best single device's, over ${m.ratio_instances} instances`
	}));
	return section("All instances",
		"Geometric mean of the value over the best single device's, with its interval; " +
			"smaller is better.",
		methodChart("Methods over all instances", methods, {at: 1, name: "best single device"}, plain,
			"value / best single device"),
		table("methods over all instances",
			[
				{title: "method", head: true, cell: r => nameNode(r.method)},
				{title: "it / single", ...numberCell("ratio", x => x.toFixed(3))},
				{title: "gap", ...numberCell("gap", percent)},
				{title: "wins", ...numberCell("wins", String)},
				{title: "ties", ...numberCell("ties", String)},
				{title: "losses", ...numberCell("losses", String)},
				{title: "p", ...numberCell("p_corrected", plain)},
				{title: "CPU time", ...numberCell("solve_s", seconds)}
			],
			doc.methods.map((m, i) => ({...m, key: "methods." + i}))));
}

/* ---- over instances ---- */

/* Of each instance the median of each method; Infinity: none. */
function mediansOf(doc) {
	const names = doc.methods.map(m => m.method), rows = new Map();
	for (const i of doc.instances) {
		const key = i.graph + "\u0000" + i.system;
		if (!rows.has(key))
			rows.set(key, names.map(() => Infinity));
		if (i.median !== null)
			rows.get(key)[names.indexOf(i.method)] = i.median;
	}
	return {names, rows: [...rows.values()]};
}

/* Shares that grow: series [{name, at: [x of each step], of}]; a step is 1 / of. */
function shareChart(label, series, high, text, title) {
	const low = Math.min(...series.flatMap(s => s.at)), log = high / low > 20;
	return chart(label, width => {
		const left = 62, right = width - 14, top = 30, bottom = 230, marks = [];
		const x = scaleOf([low, high > low ? high : low * 2], left, right, log),
		      y = scaleOf([0, 1], bottom, top), below = title + (log ? ", logarithmic" : "");
		const nodes = [axisBelow(x, bottom, top, left, right, text, below),
			axisLeft(y, left, right, percent, "share")];
		series.forEach((s, i) => {
			const at = s.at.filter(v => v <= high).sort((a, b) => a - b);
			const up = k => y.at((k + 1) / s.of).toFixed(1),
			      steps = at.map((v, k) => `H${x.at(v).toFixed(1)}V${up(k)}`).join("");
			nodes.push(svg("path", {
				class: "curve",
				d: `M${left} ${bottom}${steps}H${right}`,
				stroke: `var(--d${i % N_COLOURS})`
			}));
			marks.push(point(i, right, y.at(at.length / s.of), 4.5,
				`${visible(s.name)}: ${percent(at.length / s.of)} within ${text(high)}`));
			/* Names are part of the picture: it may be saved and stand in a paper. */
			const low = bottom - 12 - 15 * (series.length - 1 - i),
			      shape = SHAPES[i % SHAPES.length](right - 144, low, 4);
			nodes.push(fill(shape, {fill: `var(--d${i % N_COLOURS})`, stroke: "var(--ink)"}, []),
				svg("text", {x: right - 134, y: low + 4}, shortened(visible(s.name), 18)));
		});
		return {height: bottom + 42, nodes, marks};
	});
}

/* E. D. Dolan, J. J. More, "Benchmarking optimization software with performance profiles", 2002. */
function profileSection(doc) {
	const {names, rows} = mediansOf(doc), most = 2;
	const series = names.map((name, m) => ({
		name,
		at: rows.map(row => row[m] / Math.min(...row)).filter(Number.isFinite),
		of: rows.length
	}));
	return section("Performance profiles",
		"Share of instances on which a method is at most so many times as bad as the best one there.",
		shareChart("Performance profiles", series, most, x => x.toFixed(2), "value / best value"));
}

/* Of the studentised range at 0.05 for 2 to 20 methods, over the root of 2 (J. Demsar, "Statistical
   comparisons of classifiers over multiple data sets", JMLR 7, 2006, table 5). */
const NEMENYI = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313, 3.354,
	3.391, 3.426, 3.458, 3.489, 3.517, 3.544];

/* Mean ranks over instances, 1 the best; equal values (to 1e-9) share theirs. */
function meanRanks(rows) {
	const same = (a, b) => a === b || Math.abs(a - b) <= 1e-9 * Math.min(Math.abs(a), Math.abs(b));
	return rows[0].map((_, m) => rows.reduce((sum, row) => {
		const ties = row.filter(v => same(v, row[m])).length;
		return sum + row.filter(v => v < row[m] && !same(v, row[m])).length + (ties + 1) / 2;
	}, 0) / rows.length);
}

function rankSection(doc) {
	const {names, rows} = mediansOf(doc), n = names.length, q = NEMENYI[n - 2];
	if (!q)
		return null;
	const ranks = meanRanks(rows), critical = q * Math.sqrt(n * (n + 1) / (6 * rows.length));
	const order = ranks.map((_, m) => m).sort((a, b) => ranks[a] - ranks[b]);
	/* The longest runs of methods that are not told apart. */
	const bars = [];
	order.forEach((m, i) => {
		let k = i;
		while (k + 1 < n && ranks[order[k + 1]] - ranks[m] < critical)
			k++;
		if (k > i && !bars.some(b => b[1] >= k))
			bars.push([i, k]);
	});
	return section("Critical differences",
		`Mean ranks over ${rows.length} instances. Methods on one bar differ by less than ${
			critical.toFixed(2)} ranks: they are not told apart (Nemenyi's test at 0.05).`,
		chart("Critical differences of mean ranks", width => drawRanks(
			width, order.map(m => ({name: names[m], rank: ranks[m], m})), bars)));
}

/* methods [{name, rank, m}] by rank; bars [[first, last]] of them. */
function drawRanks(width, methods, bars) {
	const n = methods.length, half = Math.ceil(n / 2), room = Math.min(150, width * 0.3);
	const left = room + 20, right = width - room - 20, top = 34, first = top + 18 + bars.length * 8;
	const x = scaleOf([1, n], left, right), marks = [];
	const line = (kind, x1, y1, x2, y2) => svg("line", {class: kind, x1, y1, x2, y2});
	const nodes = [line("axis", left, top, right, top)];
	for (const v of ticks(1, n, n - 1))
		nodes.push(line("axis", x.at(v), top - 5, x.at(v), top),
			svg("text", {class: "soft", x: x.at(v), y: top - 9, "text-anchor": "middle"},
				String(v)));
	bars.forEach(([i, k], row) => {
		const y = top + 12 + row * 8;
		nodes.push(line("middle", x.at(methods[i].rank) - 3, y, x.at(methods[k].rank) + 3, y));
	});
	methods.forEach(({name, rank, m}, i) => {
		const low = i < half, y = first + 18 * (low ? i : n - 1 - i) + 10, at = x.at(rank);
		const end = low ? left - 8 : right + 8, anchor = low ? "end" : "start";
		nodes.push(svg("path", {class: "leader", d: `M${at} ${top}V${y}H${end}`}),
			svg("text", {x: low ? end - 4 : end + 4, y: y + 4, "text-anchor": anchor},
				shortened(visible(name), Math.floor(room / 7))));
		marks.push(point(m, at, top, 4.5, `${visible(name)}: mean rank ${rank.toFixed(2)}`));
	});
	return {height: first + 18 * half + 12, nodes, marks};
}

const TARGET = 1.05; /* times the best that was found */

/* R. M. Aiex, M. G. C. Resende, C. C. Ribeiro, "TTT plots", 2007: over all instances and seeds. */
function targetSection(page) {
	const names = page.document.methods.map(m => m.method), best = {};
	const timed = page.document.budget.evaluations === null, [text, title] =
		timed ? [seconds, "CPU time"] : [whole, "evaluations"];
	const key = r => r.graph + "\u0000" + r.system;
	for (const r of page.document.rows)
		if (r.value !== null)
			best[key(r)] = Math.min(r.value, best[key(r)] || Infinity);
	const series = names.map(name => {
		const own = page.curves.filter(c => c.method === name);
		const at = own.map(c => (timed ? c.seconds : c.evaluations)[
			c.value.findIndex(v => v <= TARGET * best[key(c)])]);
		return {name, at: at.filter(x => x !== undefined), of: own.length};
	}).filter(s => s.of > 0 && s.at.length > 0);
	if (!series.length)
		return null;
	const high = Math.max(...series.flatMap(s => s.at));
	return section("Time to target",
		"Share of runs that have a value within 5 % of the best one that any run found, by " +
			title + ".",
		shareChart("Time to target", series, high, text, title));
}

const MOST_INSTANCES = 60;

function compareSections(page) {
	const doc = page.document, unit = inUnit(page.unit), pairs = new Map();
	for (const r of doc.rows) {
		const key = r.graph + "\u0000" + r.system;
		pairs.set(key, [...(pairs.get(key) || []), r]);
	}
	const all = [...pairs.values()], shown = all.slice(0, MOST_INSTANCES);
	return [
		all.length > 1 ? overallSection(doc) : null,
		all.length > 1 ? profileSection(doc) : null,
		all.length > 1 ? rankSection(doc) : null,
		targetSection(page),
		...shown.map(rows => instanceSection(doc, unit, rows[0].graph, rows[0].system, rows)),
		shown.length < all.length
			? section("What is left out", null,
				  el("p", {class: "note"},
					  `${whole(all.length)} instances: pictures of the first ${
						  shown.length} are shown; the means above are over all.`))
			: null
	];
}

function compareFacts(page) {
	const {budget, rows} = page.document;
	return facts([
		["objective", rows.length ? rows[0].objective : "\u2013"],
		["methods", figure("n_methods", page.document.methods.length)],
		["seeds", figure("budget.seeds", budget.seeds)],
		["evaluations", figure("budget.evaluations", budget.evaluations, whole)],
		budget.time_s === null ? null : ["time", figure("budget.time_s", budget.time_s, seconds)],
		budget.cpu_s === null ? null : ["CPU time", figure("budget.cpu_s", budget.cpu_s, seconds)]
	]);
}
