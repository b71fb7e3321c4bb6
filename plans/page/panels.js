/* Pictures of training, fronts and measured runs. */

/* ---- learning curves ---- */

const MOST_CURVES = 8;

/* curves: [{name, x: [], y: []}]. */
function curveChart(label, curves, xTitle, yTitle, yText, line) {
	const ys = curves.flatMap(c => c.y).concat(line === undefined ? [] : [line]),
	      xs = curves.flatMap(c => c.x);
	return chart(label, width => {
		const left = 62, right = width - 14, top = 30, bottom = 230;
		const x = scaleOf([0, Math.max(1, ...xs)], left, right),
		      y = scaleOf(range(ys, false), bottom, top), marks = [];
		const nodes = [
			axisBelow(x, bottom, top, left, right, v => whole(v), xTitle),
			axisLeft(y, left, right, stepText(y.ticks(5)), yTitle)
		];
		if (line !== undefined)
			nodes.push(svg("line",
				{class: "bound", x1: left, x2: right, y1: y.at(line), y2: y.at(line)}));
		curves.forEach((c, i) => {
			let pen = "M", path = "", last = -1;
			c.y.forEach((v, k) => {
				if (v === null)
					return;
				path += pen + x.at(c.x[k]).toFixed(1) + " " + y.at(v).toFixed(1);
				pen = "L";
				last = k;
			});
			if (last < 0)
				return;
			nodes.push(
				svg("path", {class: "curve", d: path, stroke: `var(--d${i % N_COLOURS})`}));
			marks.push(point(i, x.at(c.x[last]), y.at(c.y[last]), 4.5,
				`${visible(c.name)}: ${yText(c.y[last])} after ${
					whole(c.x[last])} evaluations`));
		});
		return {height: bottom + 42, nodes, marks};
	});
}

function learningSections(page) {
	const shown = page.curves.slice(0, MOST_CURVES), name = c => c.graph + " on " + c.system;
	if (!shown.some(c => c.evaluations.length))
		return [];
	const curves = key => shown.map(c => ({name: name(c), x: c.evaluations, y: c[key]}));
	const overBound = shown.map(c => ({
		name: name(c),
		x: c.evaluations,
		y: c.best_value.map(
			(v, i) => v === null || !(c.lower_bound[i] > 0) ? null : v / c.lower_bound[i])
	}));
	const rows = page.curves.map((c, i) => ({...c, key: "curves." + i, last: c.evaluations.length - 1}))
			     .filter(c => c.last >= 0);
	const last = key => c => c[key][c.last];
	const unit = inUnit(page.unit),
	      cell = (key, text) => c => figure(c.key + "." + key, last(key)(c), text);
	const left = [
		page.curves.length > shown.length
			? `${whole(page.curves.length)} pairs of a graph and a system: curves of the first ${
				  shown.length} are shown; the table has all.`
			: "",
		...page.left_out
	].filter(Boolean);
	const about = "The best placement so far over the lower bound, and the batch's mean reward: " +
		"the logarithm of the best single device over the value.";
	const ends = () => table("last update of each pair",
		[
			{title: "graph", head: true, cell: c => nameNode(c.graph)},
			{title: "system", cell: c => nameNode(c.system)},
			{title: "evaluations", number: true, cell: cell("evaluations", whole)},
			{title: "best", number: true, cell: cell("best_value", unit)},
			{title: "bound", number: true, cell: cell("lower_bound", unit)},
			{title: "mean reward", number: true, cell: cell("mean_reward", x => x.toFixed(3))},
			{title: "entropy", number: true, cell: cell("entropy", x => x.toFixed(2))}
		],
		rows);
	const bounded = overBound.some(c => c.y.some(v => v !== null));
	return [section("Learning curves", about,
		left.length ? el("div", {class: "note", role: "note"}, left.map(text => el("p", {}, text)))
			    : null,
		seriesLegend(shown.map(name)),
		bounded ? curveChart("Best value over the lower bound", overBound, "evaluations",
				  "best / bound", v => v.toFixed(3), 1)
			: null,
		curveChart("Mean reward of a batch", curves("mean_reward"), "evaluations", "mean reward",
			v => v.toFixed(3)),
		curveChart("Entropy of the policy", curves("entropy"), "evaluations", "entropy, nats",
			v => v.toFixed(2)),
		onDemand("where the curves end, as a table", ends))];
}

function trainSections(page) {
	const doc = page.document, unit = inUnit(page.unit),
	      best = doc.best.map((b, i) => ({...b, key: "best." + i}));
	return [
		...learningSections(page),
		section("Best placements",
			"What training found, beside the best of the quick heuristics that it started from.",
			table("best of each pair",
				[
					{title: "graph", head: true, cell: b => nameNode(b.graph)},
					{title: "system", cell: b => nameNode(b.system)},
					{title: "best", ...numberCell("value", unit)},
					{title: "best heuristic", ...numberCell("seed_value", unit)},
					{title: "of", cell: b => b.seed_method || "\u2013"}
				],
				best)),
		doc.measured ? rivalSection(doc.measured) : null
	];
}

function rivalSection(m) {
	const methods = m.against.map((r, series) => ({
		name: r.name,
		series,
		values: [],
		median: r.ratio,
		low: r.low,
		high: r.high,
		note: "not run",
		more: r.beaten ? ", beaten" : ", not beaten"
	}));
	return section("Measured",
		"The placement's measured time over that of others, run turn by turn; below 1 it is faster.",
		facts([
			["measured latency", figure("measured.latency_s", m.latency_s, seconds)],
			["runs", figure("measured.runs", m.runs, whole)],
			[
				"simulator's error at first",
				figure("measured.error_before", m.error_before, percent)
			],
			["and at last", figure("measured.error_after", m.error_after, percent)]
		]),
		methods.length ? methodChart("Measured time over others", methods, {at: 1, name: "equal"},
					 plain, "its time / the other's")
			       : null);
}

const trainFacts = page => facts([
	["evaluations", figure("evaluations", page.document.evaluations, whole)],
	["steps", figure("steps", page.document.steps, whole)],
	["pairs", figure("n_pairs", page.document.best.length)],
	["policy", visible(shortened(page.document.policy, 80))]
]);

/* ---- fronts ---- */

function frontSections(page) {
	const {objectives, points} = page.document, [a, b] = objectives.map(o => inUnit(o.unit)),
			   names = objectives.map(o => o.name);
	const label = (p, i) => `point ${i + 1}: ${names[0]} ${a(p.values[0])}, ${names[1]} ${
		b(p.values[1])}, by ${p.method}`;
	const sorted = points.map((p, i) => i).sort((i, j) => points[i].values[0] - points[j].values[0]);
	const picture = chart("Pareto front of " + names.join(" and "), width => {
		const left = 74, right = width - 18, top = 30, bottom = 330,
		      bounds = objectives.map(o => o.lower_bound), marks = [];
		const x = scaleOf(range(points.map(p => p.values[0]).concat(bounds[0]), false), left, right);
		const y = scaleOf(range(points.map(p => p.values[1]).concat(bounds[1]), false), bottom, top);
		const nodes = [
			axisBelow(x, bottom, top, left, right, a, names[0]),
			axisLeft(y, left, right, b, names[1])
		];
		if (bounds[0] !== null)
			nodes.push(svg("line", {
				class: "bound",
				x1: x.at(bounds[0]),
				x2: x.at(bounds[0]),
				y1: top,
				y2: bottom
			}),
				svg("text", {class: "boundtext", x: x.at(bounds[0]) + 4, y: top + 10},
					"bound " + a(bounds[0])));
		if (bounds[1] !== null)
			nodes.push(svg("line", {
				class: "bound",
				x1: left,
				x2: right,
				y1: y.at(bounds[1]),
				y2: y.at(bounds[1])
			}),
				svg("text", {class: "boundtext", x: left + 4, y: y.at(bounds[1]) - 5},
					"bound " + b(bounds[1])));
		let path = "";
		sorted.forEach((i, k) => {
			const px = x.at(points[i].values[0]).toFixed(1),
			      py = y.at(points[i].values[1]).toFixed(1);
			path += k ? `H${px}V${py}` : `M${px} ${py}`;
		});
		nodes.push(svg("path", {class: "curve", d: path, stroke: "var(--soft)"}));
		sorted.forEach(i => {
			const p = points[i], px = x.at(p.values[0]), py = y.at(p.values[1]);
			marks.push(point(0, px, py, 5, label(p, i)));
			if (points.length <= 30)
				nodes.push(svg("text",
					{class: "soft", x: px + 8, y: py - 7, "aria-hidden": "true"},
					String(i + 1)));
		});
		return {height: bottom + 42, nodes, marks};
	});
	const rows =
		points.map((p, i) => ({...p, i, total: Object.values(p.devices).reduce((s, n) => s + n, 0)}));
	const devices = r =>
		Object.entries(r.devices).filter(([, n]) => n).sort((p, q) => q[1] - p[1]).slice(0, 6);
	const about =
		"None of these placements is better than another in both. Dashed lines are lower bounds: " +
		"nothing is left of or below them.";
	const value = (k, text) => ({
		title: names[k],
		number: true,
		cell: r => figure("points." + r.i + ".values." + k, r.values[k], text)
	});
	const listed = r =>
		devices(r).map(([d, n], k) => [k ? ", " : "", nameNode(d), " " + whole(n)]).flat();
	return [section("Pareto front", about, picture,
		table("points of the front",
			[
				{title: "point", head: true, cell: r => String(r.i + 1)}, value(0, a),
				value(1, b), {title: "method", cell: r => r.method},
				{title: "operators", cell: listed}
			],
			rows))];
}

const frontFacts = page => facts([
	["placements", figure("n_points", page.document.points.length)],
	["evaluations", figure("evaluations", page.document.evaluations, whole)],
	["seed", figure("seed", page.document.seed)]
]);

/* ---- prediction against measurement ---- */

/* series: [{name, points: [{x, y, low, high, label}]}], both axes in seconds; the line is where they agree.
 */
function againstChart(label, series, xTitle, yTitle) {
	const values = series.flatMap(s => s.points.flatMap(p => [p.x, p.y])), log = wide(values);
	return chart(label, width => {
		const left = 74, side = Math.min(width - left - 14, 420), right = left + side, top = 30,
		      bottom = top + side, marks = [];
		const span = log ? logRange(values) : range(values, false),
		      x = scaleOf(span, left, right, log), y = scaleOf(span, bottom, top, log);
		const nodes = [
			axisBelow(
				x, bottom, top, left, right, seconds, xTitle + (log ? ", logarithmic" : "")),
			axisLeft(y, left, right, seconds, yTitle),
			svg("line", {class: "bound", x1: left, y1: bottom, x2: right, y2: top})
		];
		series.forEach((s, i) => s.points.forEach(p => {
			if (p.low !== undefined)
				nodes.push(svg("line", {
					class: "range",
					x1: x.at(p.low),
					x2: x.at(p.high),
					y1: y.at(p.y),
					y2: y.at(p.y),
					opacity: 0.5
				}));
			marks.push(point(i, x.at(p.x), y.at(p.y), 3.5,
				`${p.label}: measured ${seconds(p.x)}, ${s.name} ${seconds(p.y)}`));
		}));
		return {height: bottom + 42, nodes, marks};
	});
}

const MOST_POINTS = 1000;

function fidelitySections(page) {
	return page.document.fidelity.map((r, k) => {
		const n = Math.min(r.measured_s.length, MOST_POINTS), key = `fidelity.${k}.`;
		const series = ["profiled", "calibrated"].map(name => ({
			name,
			points: r.measured_s.slice(0, n).map((x, i) => ({
				x,
				y: r[name + "_s"][i],
				low: r.low_s[i],
				high: r.high_s[i],
				label: `placement ${i + 1}`
			}))
		}));
		const rows = ["profiled", "calibrated"].map(name => ({name, key: key + name, ...r[name]}));
		const figures = facts([
			["engine", visible(shortened(r.engine, 120))],
			["placements", figure(key + "test_placements", r.test_placements)],
			["left out", figure(key + "flagged", r.flagged)],
			["failed", figure(key + "failed", r.failed)],
			["strain", figure(key + "strain", r.strain, x => x.toFixed(2))]
		]);
		const errors = table("errors",
			[
				{title: "simulator", head: true, cell: x => x.name},
				{title: "mean error", ...numberCell("mape", percent)},
				{title: "bias", ...numberCell("bias", percent)},
				{title: "tau", ...numberCell("tau", x => x.toFixed(3))},
				{title: "regret", ...numberCell("regret", percent)}
			],
			rows);
		const column = name => ({
			title: name.replace("_s", ""),
			number: true,
			cell: i => figure(key + name + "." + i, r[name][i], seconds)
		});
		const columns = ["measured_s", "low_s", "high_s", "profiled_s", "calibrated_s"].map(column);
		columns.unshift({title: "placement", head: true, cell: i => String(i + 1)});
		const every = () => table("placements", columns, r.measured_s.map((_, i) => i));
		const picture =
			againstChart("Prediction against measurement", series, "measured", "predicted");
		const left = whole(r.measured_s.length) + " placements: marks of the first " + whole(n) +
			" are shown.";
		return section(visible(shortened(r.graph + " on " + r.system, 80)),
			"Each mark is a placement; on the dashed line prediction and measurement agree. " +
				"Lines through marks are intervals of the measured median.",
			figures, n < r.measured_s.length ? el("p", {class: "note"}, left) : null,
			...(n === 0 ? [el("p", {class: "note"}, "No test placement counted.")]
				    : [seriesLegend(series.map(s => s.name)), picture]),
			errors, onDemand("placements as a table", every));
	});
}

/* Every run beside what was predicted. */
function runsChart(doc) {
	const {samples_s: runs, interval_s: interval, simulated_s: simulated, lower_bound_s: bound} = doc;
	return chart("Measured runs against the prediction", width => {
		const left = 74, right = width - 14, top = 30, bottom = 230, marks = [];
		const x = scaleOf([0, runs.length + 1], left, right),
		      y = scaleOf(range([...runs, simulated, bound], false), bottom, top);
		const nodes = [
			axisBelow({...x, ticks: n => x.ticks(n).filter(Number.isInteger)}, bottom, top, left,
				right, String, "run"),
			axisLeft(y, left, right, seconds, "latency")
		];
		const line = (value, text, kind) => value === null ? null : [
			svg("line", {class: kind, x1: left, x2: right, y1: y.at(value), y2: y.at(value)}),
			svg("text", {
				class: kind === "bound" ? "boundtext" : "",
				x: right,
				y: y.at(value) - 4,
				"text-anchor": "end"
			},
				text + " " + seconds(value))
		];
		if (interval[0] !== null)
			nodes.push(svg("rect", {
				x: left,
				width: right - left,
				y: y.at(interval[1]),
				height: Math.max(1, y.at(interval[0]) - y.at(interval[1])),
				fill: "var(--d0)",
				opacity: 0.3
			}));
		nodes.push(line(bound, "bound", "bound"), line(simulated, "simulated", "range"));
		runs.forEach((v, i) => marks.push(
				     point(0, x.at(i + 1), y.at(v), 3.5, `run ${i + 1}: ${seconds(v)}`)));
		return {height: bottom + 42, nodes: nodes.flat(), marks};
	});
}

function operatorSection(doc, plan) {
	const at = new Map(plan.ops.name.map((name, i) => [name, plan.ops.time_ns[i] / 1e9])),
	      seen = new Map();
	for (const o of doc.operators)
		if (o.name !== null && o.in === null && at.has(o.name))
			seen.set(o.name, (seen.get(o.name) || 0) + o.end_s - o.start_s);
	const points =
		[...seen].filter(([name, x]) => x > 0 && at.get(name) > 0).sort((a, b) => b[1] - a[1]).map(([
			name, x
		]) => ({x, y: at.get(name), label: visible(shortened(name, 120)), name}));
	const shown = points.slice(0, MOST_POINTS);
	return section("Operators",
		"Each mark is an operator of one more run: what it took, and what the simulator tells. " +
			"On the dashed line they agree.",
		shown.length < points.length
			? el("p", {class: "note"},
				  `${whole(points.length)} operators: the ${
					  whole(shown.length)} that took longest are shown.`)
			: null,
		shown.length ? againstChart("Operators: prediction against measurement",
				       [{name: "simulated", points: shown}], "measured", "simulated")
			     : el("p", {}, "The engine told no times of operators."),
		onDemand("operators as a table",
			() => table("operators by measured time",
				[
					{title: "operator", head: true, cell: p => nameNode(p.name)}, {
						title: "measured",
						number: true,
						cell: p => figure("operators.measured_s", p.x, seconds)
					},
					{
						title: "simulated",
						number: true,
						cell: p => figure("operators.simulated_s", p.y, seconds)
					}
				],
				points)));
}

function measureSections(page) {
	const doc = page.document, rows = doc.devices.map((d, i) => ({
		...d,
		key: "devices." + i,
		simulated: page.plan ? page.plan.devices[i].busy_s : null
	}));
	return [
		doc.samples_s.length
			? section("Runs", "Marks are runs, the band is the interval of their median.",
				  runsChart(doc),
				  onDemand("runs as a table",
					  () => table("runs",
						  [
							  {
								  title: "run",
								  head: true,
								  cell: i => String(i + 1)
							  },
							  {
								  title: "latency",
								  number: true,
								  cell: i => figure("samples_s." + i,
									  doc.samples_s[i], seconds)
							  }
						  ],
						  doc.samples_s.map((_, i) => i))))
			: null,
		section("Busy devices", "Prediction against measurement for each device.",
			table("busy time",
				[
					{title: "device", head: true, cell: d => nameNode(d.name)},
					{title: "measured", ...numberCell("busy_s", seconds)}, {
						title: "simulated",
						number: true,
						cell: d => figure(d.key + ".simulated", d.simulated, seconds)
					}
				],
				rows)),
		doc.operators && page.plan ? operatorSection(doc, page.plan) : null,
		...(page.plan ? planSections(page.plan, "As simulated. ") : [])
	];
}

const measureFacts = page => facts([
	["latency", figure("latency_s", page.document.latency_s, seconds)],
	["simulated", figure("simulated_s", page.document.simulated_s, seconds)],
	["lower bound", figure("lower_bound_s", page.document.lower_bound_s, seconds)],
	["runs", figure("n_runs", page.document.samples_s.length)],
	["segments", figure("segments", page.document.segments)],
	["strain", figure("strain", page.document.strain, x => x.toFixed(2))],
	["engine", page.document.engine === null ? "\u2013" : visible(shortened(page.document.engine, 120))]
]);
