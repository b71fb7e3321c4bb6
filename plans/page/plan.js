/* The sections of one placement: schedule, graph, where the time goes, devices, lists. */

/* The operator that is looked at; everybody who listens is told. */
function newSelection() {
	const heard = [];
	return {
		row: -1,
		reveal: () => {},
		listen(f) {
			heard.push(f);
		},
		choose(row) {
			this.row = row;
			heard.forEach(f => f(row));
		},
	};
}

/* Operators before and behind each; none where the graph is told in groups. */
function neighbours(plan) {
	const {edges, groups} = plan.graph, before = plan.ops.name.map(() => []),
		      behind = plan.ops.name.map(() => []);
	if (!groups)
		for (let i = 0; i < edges.length; i += 3) {
			behind[edges[i]].push(edges[i + 1]);
			before[edges[i + 1]].push(edges[i]);
		}
	return {before, behind};
}

/* What is known of the chosen operator, told to screen readers too. */
function inspector(plan, selection) {
	const node = el("div", {class: "inspector", role: "status"}), {ops} = plan, near = neighbours(plan);
	const item = (title, value) => el("div", {}, el("div", {class: "soft"}, title), value);
	const list = (title, rows) => rows.length
		? el("div", {class: "wide"}, el("span", {class: "soft"}, title + " "),
			  el("ul", {}, rows.slice(0, 10).map(r => {
				  const b = el(
					  "button", {type: "button", class: "link"}, nameNode(ops.name[r]));
				  b.addEventListener("click", () => selection.choose(r));
				  return el("li", {}, b,
					  el("span", {class: "soft"}, " on ",
						  nameNode(plan.devices[ops.device[r]].name)));
			  }),
				  rows.length > 10 ? el("li", {}, `and ${rows.length - 10} more`) : null))
		: null;
	function tell(row) {
		if (row < 0) {
			node.replaceChildren(el("span", {class: "soft wide"},
				"No operator is chosen. " +
					"Choose one by a click, by arrow keys in the picture, or by name."));
			return;
		}
		const at = (key, ns) => figure("op." + key, ns / 1e9, seconds), type = ops.type[row];
		node.replaceChildren(
			...[el("div", {class: "wide"}, el("strong", {}, nameNode(ops.name[row]))),
				item("type", type < 0 ? "none" : nameNode(plan.types[type])),
				item("device", nameNode(plan.devices[ops.device[row]].name)),
				item("start", at("start_s", ops.start_ns[row])),
				item("time", at("time_s", ops.time_ns[row])),
				item("end", at("end_s", ops.start_ns[row] + ops.time_ns[row])),
				item("slack",
					ops.slack_ns[row] === 0 ? "none: critical"
								: at("slack_s", ops.slack_ns[row])),
				list("takes from", near.before[row]), list("gives to", near.behind[row])]
				.filter(Boolean));
	}
	tell(-1);
	selection.listen(tell);
	return node;
}

/* ---- tables behind the pictures ---- */

function opTable(plan, selection) {
	const {ops} = plan,
	      time = key => row => figure(`plan.ops.${row}.${key}`, ops[key][row] / 1e9, seconds);
	return table(counted(ops.name.length, "operator", "operators") + " by start",
		[
			{
				title: "operator",
				head: true,
				cell: row => {
					const b = el("button", {type: "button", class: "link"},
						nameNode(ops.name[row]));
					b.addEventListener("click", () => selection.choose(row));
					return b;
				}
			},
			{
				title: "type",
				cell: row => ops.type[row] < 0 ? "" : nameNode(plan.types[ops.type[row]])
			},
			{title: "device", cell: row => nameNode(plan.devices[ops.device[row]].name)},
			{title: "start", number: true, cell: time("start_ns")},
			{title: "time", number: true, cell: time("time_ns")},
			{title: "slack", number: true, cell: time("slack_ns")}
		],
		ops.name.map((_, i) => i));
}

function transferTable(plan) {
	const {transfers: t, ops, devices} = plan,
				  time = key => row =>
					  figure(`plan.transfers.${row}.${key}`, t[key][row] / 1e9, seconds);
	return table(counted(t.op.length, "transfer", "transfers") + " by start",
		[
			{
				title: "made by",
				head: true,
				cell: k => nameNode(t.op[k] >= 0 ? ops.name[t.op[k]] : t.producer[k])
			},
			{title: "from", cell: k => nameNode(devices[t.from[k]].name)},
			{title: "to", cell: k => nameNode(devices[t.to[k]].name)},
			{title: "for", cell: k => nameNode(devices[t.destination[k]].name)}, {
				title: "size",
				number: true,
				cell: k => figure(`plan.transfers.${k}.bytes`, t.bytes[k], bytes)
			},
			{title: "start", number: true, cell: time("start_ns")},
			{title: "time", number: true, cell: time("time_ns")},
			{title: "waited", number: true, cell: time("waited_ns")}
		],
		t.op.map((_, i) => i));
}

function memoryTable(plan) {
	const rows = plan.memory.flatMap((m, d) => m.at_ns.map((at, i) => [d, at, m.bytes[i]]));
	return table("what devices hold from when on",
		[
			{title: "device", head: true, cell: r => nameNode(plan.devices[r[0]].name)},
			{title: "from", number: true, cell: r => figure("memory.at_s", r[1] / 1e9, seconds)},
			{title: "holds", number: true, cell: r => figure("memory.bytes", r[2], bytes)}
		],
		rows);
}

function layerTable(graph, plan) {
	const rows = graph.root.children;
	return table(counted(rows.length, "layer", "layers") + " and what they take on each device",
		[
			{title: "layer", head: true, cell: l => nameNode(l.name)},
			{title: "operators", number: true, cell: l => whole(l.ops)},
			{title: "time", number: true, cell: l => seconds(l.ns / 1e9)},
			{title: "devices", cell: l => sharesText(l, plan.devices)}
		],
		rows);
}

function bar(share, device) {
	return svg("svg", {width: 120, height: 12, "aria-hidden": "true"},
		svg("rect", {width: 120, height: 12, fill: "var(--grid)"}), svg("rect", {
			width: Math.max(0, Math.min(1, share)) * 120,
			height: 12,
			fill: device === undefined ? "var(--accent)" : `var(--d${device % N_COLOURS})`
		}));
}

function deviceTable(plan) {
	const all = plan.latency_s, rows = plan.devices.map((d, i) => ({...d, i})),
	      cell = (key, text) => d => figure(`plan.devices.${d.i}.${key}`, d[key], text);
	return table("devices",
		[
			{title: "device", head: true, cell: d => nameNode(d.name)},
			{title: "operators", number: true, cell: cell("ops", whole)},
			{title: "busy", number: true, cell: cell("busy_s", seconds)}, {
				title: "of the time",
				cell: d => el("span", {}, bar(all > 0 ? d.busy_s / all : 0, d.i),
					" " + (all > 0 ? percent(d.busy_s / all) : ""))
			},
			{title: "peak memory", number: true, cell: cell("peak_memory_bytes", bytes)}, {
				title: "memory",
				number: true,
				cell: d => figure(`plan.devices.${d.i}.memory_bytes`, d.memory_bytes, bytes)
			},
			{title: "sent", number: true, cell: cell("sent_bytes", bytes)},
			{title: "times", cell: d => d.times || ""}
		],
		rows);
}

/* Memory that devices share. */
function poolTable(plan) {
	const all = plan.latency_s,
	      rows = plan.memory_pools.map((p, i) => ({...p, key: "plan.memory_pools." + i}));
	const share = p => el(
		"span", {}, bar(all > 0 ? p.load_s / all : 0), " " + percent(all > 0 ? p.load_s / all : 0));
	return table("memory pools",
		[
			{title: "memory pool", head: true, cell: p => nameNode(p.name)},
			{title: "load", ...numberCell("load_s", seconds)},
			{title: "of the time", cell: share},
			{title: "peak memory", ...numberCell("peak_memory_bytes", bytes)},
			{title: "memory", ...numberCell("memory_bytes", bytes)}
		],
		rows);
}

/* ---- all of it ---- */

function leftOut(plan) {
	return plan.left_out.length ? el("div", {class: "note", role: "note"},
					      el("p", {}, "This run is too large to be shown in full:"),
					      el("ul", {}, plan.left_out.map(text => el("li", {}, text))))
				    : null;
}

/* [[[key, ...], what they do], ...] as a sentence. */
const keysHelp = (id, keys) => el("p", {class: "soft keys", id},
	keys.flatMap(([names, does], i) => [i ? ", " : "",
			     names.flatMap((name, k) => [k ? " " : "", el("kbd", {}, name)]), " " + does]),
	".");

function planSections(plan, about) {
	const selection = newSelection();
	plan.latency_ns = Math.round(plan.latency_s * 1e9);
	const schedule = new Schedule(plan, selection), graph = new Graph(plan, selection);
	selection.reveal = row => graph.reveal(row);
	const legend = () =>
		deviceLegend(plan.devices.map((d, index) => ({...d, index})).filter(d => d.ops > 0),
			d => counted(d.ops, "operator", "operators"));
	const bars =
		"Bars are operators. A red foot marks critical ones: if one ended later, so would the run. " +
		"Under each device stands what it holds; at the bottom are transfers, coloured by sender.";
	return [
		section("Schedule", about + bars, legend(), schedule.node,
			keysHelp("schedule-keys",
				[
					[["\u2190", "\u2192"], "choose another operator of the device"],
					[["\u2191", "\u2193"], "go to another device"],
					[["+", "\u2212"], "zoom"], [["0"], "shows all"],
					[["Enter"], "shows the operator in the graph"],
					[["Esc"], "chooses none"]
				]),
			inspector(plan, selection),
			onDemand("operators as a table", () => opTable(plan, selection)),
			plan.transfers.op.length ? onDemand("transfers as a table", () => transferTable(plan))
						 : null,
			onDemand("memory over time as a table", () => memoryTable(plan))),
		section("Graph",
			"Boxes are operators, or layers of them (a second edge behind, and their number). " +
				"Stripes are shares of the time by device.",
			legend(), graph.node,
			keysHelp("graph-keys",
				[
					[["\u2190", "\u2192"], "go along edges"],
					[["\u2191", "\u2193"], "go through the column"],
					[["Enter"], "opens a layer"], [["Backspace"], "closes it"],
					[["+", "\u2212"], "zoom"], [["0"], "shows all"],
					[["Esc"], "chooses none"]
				]),
			onDemand("layers as a table", () => layerTable(graph, plan))),
		section("Devices", null, deviceTable(plan), plan.memory_pools ? poolTable(plan) : null),
		plan.chain.length && plan.latency_s > 0
			? section("Where the time goes",
				  "Along the critical chain: back from the operator that ends last, " +
					  "always to the input that came last.",
				  table("critical chain",
					  [
						  {title: "what", head: true, cell: c => visible(c.what)}, {
							  title: "time",
							  number: true,
							  cell: c => figure(`plan.chain.${c.i}.time_s`,
								  c.time_s, seconds)
						  },
						  {
							  title: "of the run",
							  cell: c => el("span", {},
								  bar(c.time_s / plan.latency_s),
								  " " + percent(c.time_s / plan.latency_s))
						  }
					  ],
					  plan.chain.map((c, i) => ({...c, i}))))
			: null,
	];
}
