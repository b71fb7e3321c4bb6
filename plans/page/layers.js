/* The operators of a graph as a tree: by layers where the document tells them, and by the words of their
   names, which end at "/" and ".". Operators without words go in runs, in topological order. */

const MOST_CHILDREN = 60;

class Layer {
	/* full: its whole name, of which its box shows what stands behind `from`. */
	constructor(full, from) {
		this.full = full;
		this.from = from;
		this.children = [];
		this.leaf = -1; /* node of the graph */
		this.open = false;
		this.up = null;
	}

	get name() {
		return this.full.slice(this.from);
	}

	add(child) {
		child.up = this;
		this.children.push(child);
		return child;
	}
}

/* Hang nodes [{name}] of the graph below root, by the words of their names. */
function growByWords(root, nodes, leaves) {
	const byPath = new Map([["", root]]);
	for (const leaf of leaves) {
		const {name} = nodes[leaf];
		let at = root, from = 0;
		for (const word of name.matchAll(/[^/.]+/g)) {
			const end = word.index + word[0].length, path = name.slice(0, end);
			if (!/[^/.]/.test(name.slice(end))) {
				from = word.index;
				break; /* the last word is the node's own */
			}
			if (!byPath.has(path))
				byPath.set(path, at.add(new Layer(path, word.index)));
			at = byPath.get(path);
		}
		at.add(new Layer(name, from)).leaf = leaf;
	}
}

/* nodes: [{name, on: Map device -> {ops, ns}, row}], in topological order. layers: {names, of}, a layer for
   each node; null: none are known. flat: names tell nothing. */
function layerTree(nodes, layers, flat) {
	const root = new Layer("", 0), all = nodes.map((_, i) => i);
	if (flat)
		all.forEach(leaf => { root.add(new Layer(nodes[leaf].name, 0)).leaf = leaf; });
	if (layers) {
		const parts = layers.names.map(name => root.add(new Layer(name, 0))),
		      leaves = parts.map(() => []);
		layers.of.forEach((layer, leaf) => leaves[layer].push(leaf));
		parts.forEach((part, i) => {
			let top = new Layer("", 0);
			growByWords(top, nodes, leaves[i]);
			while (top.children.length === 1 && top.children[0].leaf < 0)
				top = top.children[0];
			top.children.forEach(child => part.add(child));
		});
	} else if (!flat)
		growByWords(root, nodes, all);
	tidy(root);
	sumUp(root, nodes);
	return root;
}

/* A layer with one child takes its place; many children go in runs. */
function tidy(layer) {
	layer.children = layer.children.map(child => {
		while (child.children.length === 1) {
			const only = child.children[0];
			only.from = only.full.startsWith(child.full) ? child.from : 0;
			child = only;
		}
		child.up = layer;
		tidy(child);
		return child;
	});
	if (layer.children.length > MOST_CHILDREN &&
		layer.children.filter(c => c.leaf >= 0).length > layer.children.length / 2)
		intoRuns(layer);
}

function intoRuns(layer) {
	const all = layer.children, each = Math.ceil(all.length / Math.ceil(Math.sqrt(all.length)));
	layer.children = [];
	for (let i = 0; i < all.length; i += each) {
		const part = all.slice(i, i + each);
		const run = layer.add(new Layer(part[0].name + " \u2026 " + part[part.length - 1].name, 0));
		part.forEach(child => run.add(child));
	}
}

function sumUp(layer, nodes) {
	layer.on = new Map();
	if (layer.leaf >= 0)
		layer.on = nodes[layer.leaf].on;
	for (const child of layer.children) {
		sumUp(child, nodes);
		for (const [d, x] of child.on) {
			const sum = layer.on.get(d) || {ops: 0, ns: 0};
			layer.on.set(d, {ops: sum.ops + x.ops, ns: sum.ns + x.ns});
		}
	}
	layer.ops = layer.ns = 0;
	for (const x of layer.on.values()) {
		layer.ops += x.ops;
		layer.ns += x.ns;
	}
}

/* Layers that are seen: below open ones, closed ones and operators. */
function seenLayers(root) {
	const out = [];
	(function walk(layer) {
		for (const child of layer.children)
			if (child.open && child.children.length)
				walk(child);
			else
				out.push(child);
	})(root);
	return out;
}

/* Open all layers that are seen, again and again, as long as at most so many are seen then. */
function openUntil(root, most) {
	for (;;) {
		const closed = seenLayers(root).filter(l => l.children.length);
		closed.forEach(l => { l.open = true; });
		if (closed.length && seenLayers(root).length <= most)
			continue;
		closed.forEach(l => { l.open = false; });
		return;
	}
}

function closeAll(layer) {
	layer.children.forEach(child => {
		child.open = false;
		closeAll(child);
	});
}

/* The device that takes most of a layer's time. */
function mainDevice(layer) {
	let best = -1, most = -1;
	for (const [d, x] of layer.on)
		if (x.ns > most || (x.ns === most && d < best)) {
			best = d;
			most = x.ns;
		}
	return best;
}

/* "gpu0 12 operators 3.1 ms, cpu0 ..." */
function sharesText(layer, devices) {
	return [...layer.on.entries()]
		.sort((a, b) => b[1].ns - a[1].ns)
		.map(([d, x]) => visible(devices[d].name) + " " + counted(x.ops, "operator", "operators") +
				" " + seconds(x.ns / 1e9))
		.join(", ");
}
