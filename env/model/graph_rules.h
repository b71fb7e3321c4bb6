/* Rules added to a graph beside those of its file: pins, forbidden devices, colocation. */
#pragma once

#include "graph.h"
#include "system.h"
#include "text.h"

/* OPS is the name of an operator, or a pattern as fnmatch(3) knows them, where * stands for any text:
 * "layer1.*". Several stand with commas between. An operator of just that name goes before a pattern. */
typedef struct berth_rule_texts {
	const char **pin;      /* [n_pins] "OPS=DEVICE": they stand on that device */
	const char **forbid;   /* [n_forbids] "OPS=DEVICE": they stand anywhere else */
	const char **colocate; /* [n_colocates] "OPS": they share one device */
	int32_t n_pins, n_forbids, n_colocates;
	/* NULL, or where a line goes for each pin that gives way: of two that name an operator the narrower
	 * one holds, which names fewer operators, else the later one. Pins of the graph are the first. */
	berth_strbuf *told;
} berth_rule_texts;

/* Add rules to g, for s. Operators that shared a device with one that is colocated go with it. Names, edges
 * and all else are shared with the graph as it was, which g->plain keeps. Rules that contradict each other
 * otherwise make the problem infeasible; its explanation tells.
 *   rules, s  are to outlive g
 *   mem   holds what changes; another arena than tmp, which is scratch, reset at exit
 * Fails: BERTH_EINVAL (a text of another form; a pattern that no operator has, or a device that s lacks,
 * naming the nearest; fewer than two operators to colocate), BERTH_ENOMEM.
 * g is untouched then. O(texts * ops). */
berth_status berth_graph_add_rules(const berth_rule_texts *rules, const berth_system *s, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_err *err);
