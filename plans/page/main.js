/* The page: its kind's figures and sections, a list of contents, what made it. */

function placeFacts(page) {
	const doc = page.document, unit = inUnit(page.unit);
	return facts([
		[doc.objective, figure("value", doc.value, unit)],
		["lower bound", figure("lower_bound", doc.lower_bound, unit)],
		["gap", figure("gap", doc.gap, percent)], ["status", figure("status", doc.status)],
		["method", figure("method", doc.method)],
		["evaluations", figure("evaluations", doc.evaluations, whole)],
		["seed", figure("seed", doc.seed)],
		doc.nodes === undefined ? null : ["nodes", figure("nodes", doc.nodes, whole)]
	]);
}

const KINDS = {
	place: {
		about: "Placement",
		facts: placeFacts,
		sections: page => page.plan ? planSections(page.plan, "") : []
	},
	front: {about: "Pareto front of placements", facts: frontFacts, sections: frontSections},
	compare: {
		about: "Comparison of methods at equal budgets",
		facts: compareFacts,
		sections: compareSections
	},
	fidelity: {about: "The simulator against real runs", facts: () => null, sections: fidelitySections},
	train: {about: "Training of a policy", facts: trainFacts, sections: trainSections},
	measure: {about: "A placement run for real", facts: measureFacts, sections: measureSections},
};

function violations(doc) {
	return doc.violations && doc.violations.length
		? el("div", {class: "note", role: "note"}, el("p", {}, "Infeasible:"),
			  el("ul", {},
				  doc.violations.slice(0, 20).map(
					  v => el("li", {}, visible(shortened(v.message, 400)))),
				  doc.violations.length > 20
					  ? el("li", {}, `and ${doc.violations.length - 20} more`)
					  : null))
		: null;
}

const warnings = page => page.warnings.length
	? el("div", {class: "note", role: "note"}, el("p", {}, "Warnings:"),
		  el("ul", {}, page.warnings.map(text => el("li", {}, visible(shortened(text, 400))))))
	: null;

function build() {
	const page = JSON.parse(document.getElementById("document").textContent), kind = KINDS[page.kind];
	readTheme();
	const sections = kind.sections(page).filter(Boolean);
	const list = sections.map(s => el("li", {}, el("a", {href: "#" + s.id}, shortened(s.pageTitle, 40))));
	document.body.append(el("a", {class: "skip", href: "#main"}, "to the pictures"),
		el("header", {}, el("h1", {}, visible(shortened(page.title, 300))),
			el("p", {class: "soft"}, kind.about), kind.facts(page), violations(page.document),
			warnings(page), page.plan ? leftOut(page.plan) : null),
		list.length > 1 ? el("nav", {"aria-label": "contents"}, el("ul", {}, list.slice(0, 20))) : "",
		el("main", {id: "main"}, sections),
		el("footer", {},
			el("p", {},
				`Made by berth ${page.berth}. One file: it loads nothing and tells nobody.`)),
		tip);
	watchTheme();
	document.documentElement.dataset.ready = "yes";
}

build();
