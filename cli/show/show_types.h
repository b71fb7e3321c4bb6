/* Figures of a graph by type of operator, for berth show. */
#ifndef BERTH_CLI_SHOW_TYPES_H
#define BERTH_CLI_SHOW_TYPES_H

#include "cli.h"
#include "graph.h"
#include "json.h"

/* "(none)" for operators without a type. */
const char *show_type_name(const berth_graph *g, int32_t type);

/* "Conv 71 %, Gemm 12 %, ...": the types that take most of type_ns [n_types + 1]. */
void show_top_types(const berth_graph *g, const int64_t *type_ns, char *buf, size_t size);

/* The types with most operators. */
berth_status show_types_print(cli *c, const berth_graph *g, const berth_graph_stats *s, berth_err *err);

/* "by_type": all of them with their sums. */
void show_types_json(berth_json_out *w, const berth_graph *g, const berth_graph_stats *s);
/* Seconds by type, of those that take any. */
void show_type_times_json(berth_json_out *w, const char *key, const berth_graph *g,
                          const berth_graph_stats *s, const int64_t *type_ns);

#endif
