/* Fuzzing of the reader of placements, against one small graph and system: what it accepts passes the check
 * and survives a round trip. */
#include "graph_json.h"
#include "placement.h"
#include "system_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"c\"},{\"name\":\"a\"},{\"name\":"
        "\"b\"}],"
	"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":4},{\"from\":\"b\",\"to\":\"c\",\"bytes\":4}]}";
static const char system_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"}],"
	"\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1,\"both_ways\":true}]}";

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void round_trip(const berth_placement *p, const berth_graph *g, const berth_system *s,
                       berth_arena *mem, berth_arena *tmp)
{
	berth_placement again;
	const char *text, *pretty, *last;
	size_t len, n;
	must(berth_placement_write_json(p, g, s, false, mem, &text, &n, NULL) == BERTH_OK);
	must(berth_placement_write_json(p, g, s, true, mem, &pretty, &len, NULL) == BERTH_OK);
	must(berth_placement_parse_json("again", pretty, len, g, s, mem, tmp, &again, NULL, NULL) ==
	     BERTH_OK);
	must(berth_placement_write_json(&again, g, s, false, mem, &last, &len, NULL) == BERTH_OK);
	must(len == n && memcmp(text, last, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_placement p;
	berth_err err = {0};
	const char *warning;
	must(berth_graph_parse_json("g", graph_text, strlen(graph_text), &mem, &tmp, &g, NULL) == BERTH_OK);
	must(berth_system_parse_json("s", system_text, strlen(system_text), &mem, &tmp, &s, NULL) ==
	     BERTH_OK);
	berth_status st = berth_placement_parse_json("fuzz", (const char *)data, size, &g, &s, &mem, &tmp, &p,
	                                             &warning, &err);
	if (st == BERTH_OK) {
		must(berth_placement_check(&p, &g, &s, &tmp, &err) == BERTH_OK);
		round_trip(&p, &g, &s, &mem, &tmp);
	} else {
		must(err.code == st && err.msg[0]);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
