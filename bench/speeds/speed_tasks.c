/* Reading task graphs: 100,000 tasks of up to two inputs in DOT, STG and DAX, in memory. */
#include "speeds.h"

#include "rng.h"
#include "parse_tasks.h"
#include "text.h"

#include <stdlib.h>

enum { TASKS = 100000, REACH = 50 };

typedef struct text {
	const char *name, *data;
	size_t size;
	berth_status (*read)(const char *file, const char *text, size_t size, const berth_task_options *opt,
	                     berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err);
	berth_arena mem;
} text;

/* Two different earlier tasks, or fewer at the start; returns how many. */
static int inputs(berth_rng *rng, uint32_t task, uint32_t in[2])
{
	uint32_t reach = task < REACH ? task : REACH;
	if (reach == 0)
		return 0;
	in[0] = task - 1 - berth_rng_below(rng, reach);
	in[1] = task - 1 - berth_rng_below(rng, reach);
	return in[0] == in[1] ? 1 : 2;
}

static void write_task(berth_strbuf *b, const char *format, uint32_t i, const uint32_t in[2], int n)
{
	if (format[0] == 'S')
		berth_strbuf_printf(b, "%8u%8u%8d", i, 1 + i % 300, n);
	else if (format[1] == 'O')
		berth_strbuf_printf(b, "n%u [weight=%u];", i, i % 300);
	else
		berth_strbuf_printf(
			b,
			"<job id=\"ID%06u\" namespace=\"n\" name=\"task\" version=\"1.0\" runtime=\"%u\">\n "
		        "<uses file=\"f%u\" link=\"output\" size=\"4167312\"/>\n",
			i, i % 300, i);
	for (int k = 0; k < n; k++)
		if (format[0] == 'S')
			berth_strbuf_printf(b, "%8u", in[k]);
		else if (format[1] == 'O')
			berth_strbuf_printf(b, "n%u -> n%u [weight=3];", in[k], i);
		else
			berth_strbuf_printf(b, " <uses file=\"f%u\" link=\"input\" size=\"4167312\"/>\n",
			                    in[k]);
	berth_strbuf_printf(b, format[1] == 'A' ? "</job>\n" : "\n");
}

static void write_text(text *t)
{
	berth_strbuf b = {.mem = &t->mem};
	berth_rng rng = berth_rng_seed(1, 1);
	if (t->name[0] == 'S')
		berth_strbuf_printf(&b, "%d\n", TASKS);
	else
		berth_strbuf_printf(&b, "%s", t->name[1] == 'O' ? "digraph {\n" : "<adag>\n");
	for (uint32_t i = 0; i < TASKS; i++) {
		uint32_t in[2];
		write_task(&b, t->name, i, in, inputs(&rng, i, in));
	}
	berth_strbuf_printf(&b, "%s", t->name[0] == 'S' ? "" : t->name[1] == 'O' ? "}\n" : "</adag>\n");
	MUST(berth_strbuf_done(&b, &t->data, &t->size, &err));
}

static void read_text(void *ctx)
{
	text *t = ctx;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g;
	MUST(t->read("bench", t->data, t->size, NULL, &mem, &tmp, &g, &err));
}

void speed_tasks(void)
{
	text texts[] = {{.name = "DOT", .read = parse_dot},
	                {.name = "STG", .read = parse_stg},
	                {.name = "DAX", .read = parse_dax}};
	for (int i = 0; i < 3; i++) {
		char name[64];
		write_text(&texts[i]);
		snprintf(name, sizeof name, "%s, %d tasks, %.1f MB", texts[i].name, TASKS,
		         (double)texts[i].size * 1e-6);
		double seconds = bench_seconds(read_text, &texts[i]);
		speed_row("tasks", name, seconds * 1e3, "ms");
		speed_row("tasks", texts[i].name, seconds / (double)texts[i].size * 1e9, "ns/byte");
		berth_arena_free(&texts[i].mem);
	}
}
