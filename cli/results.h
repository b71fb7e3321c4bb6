/* The documents of --json: what each verb's result is made of. A document that stands here stands in
 * docs/data/formats-keys.csv, which `berth keys` prints. */
#pragma once

#include "result.h"

extern const berth_result_kind place_document;
extern const berth_result_kind compare_document, methods_document, zoo_document, systems_document,
	devices_document, version_document;
extern const berth_result_kind show_graph_document, show_times_document, show_blocks_document,
	show_graph_op_document, show_placed_op_document, show_placement_document, show_placed_document,
	certificate_document;
extern const berth_result_kind simulate_document, simulate_set_document, simulate_each_document,
	measure_document;
extern const berth_result_kind fidelity_document, profile_document, adapt_document, export_document,
	split_document, import_document;

extern const berth_result_kind configure_document, serve_document, pipelines_document;
extern const berth_result_kind requests_document, pareto_document, train_document, train_seeds_document,
	train_ended_document;

/* The rows of the graph and the system that something is of. */
#define CLI_PAIR(K, graph_name, system_name) \
	K(TEXT, "graph", "", "", graph_name) K(TEXT, "system", "", "", system_name)

/* All, in the order of docs/data/formats-keys.csv, ended by NULL. */
extern const berth_result_kind *const cli_documents[];
