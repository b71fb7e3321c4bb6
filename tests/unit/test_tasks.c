/* DOT, STG, DAX and WfCommons: units, what attributes mean, the same random graph in every format, malformed
 * files with their places, limits. */
#include "load.h"
#include "rng.h"
#include "support.h"
#include "parse_tasks.h"
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef berth_status reader(const char *file, const char *text, size_t size, const berth_task_options *opt,
                            berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err);

typedef struct model {
	berth_arena mem;
	berth_graph g;
} model;

static berth_status parse(reader *read, const char *file, const char *text, size_t size,
                          const berth_task_options *opt, model *m, berth_err *err)
{
	berth_arena tmp = {0};
	char *exact = malloc(size ? size : 1); /* of that very size, for the sanitizer */
	assert_non_null(exact);
	memcpy(exact, text, size);
	*m = (model){0};
	berth_status st = read(file, exact, size, opt, &m->mem, &tmp, &m->g, err);
	free(exact);
	berth_arena_free(&tmp);
	return st;
}

static void read_text(reader *read, const char *file, const char *text, const berth_task_options *opt,
                      model *m)
{
	berth_err err = {0};
	assert_ok(parse(read, file, text, strlen(text), opt, m, &err), &err);
	assert_ok(berth_graph_check(&m->g, &err), &err);
}

static int32_t op_of(const model *m, const char *name)
{
	int32_t op = berth_graph_find(&m->g, name);
	if (op < 0)
		print_error("no operator %s\n", name);
	assert_true(op >= 0);
	return op;
}

/* The time of the operator under that key; NAN where it has none. */
static double time_of(const model *m, const char *name, const char *key)
{
	int32_t op = op_of(m, name);
	for (int32_t i = m->g.op_time_off[op]; i < m->g.op_time_off[op + 1]; i++)
		if (strcmp(berth_graph_time_name(&m->g, i), key) == 0)
			return m->g.time_s[i];
	return NAN;
}

/* Bytes of the edge, -1 where there is none; *tensor = its name. */
static int64_t edge_of(const model *m, const char *from, const char *to, const char **tensor)
{
	int32_t a = op_of(m, from), b = op_of(m, to);
	for (int32_t t = m->g.op_tensor_off[a]; t < m->g.op_tensor_off[a + 1]; t++)
		for (int32_t e = m->g.tensor_use_off[t]; e < m->g.tensor_use_off[t + 1]; e++)
			if (m->g.edge_consumer[e] == b) {
				if (tensor)
					*tensor = m->g.tensor_name[t];
				return m->g.tensor_bytes[t];
			}
	return -1;
}

/* ---- DOT ---- */

static void test_dot(void **state)
{
	(void)state;
	static const char text[] =
		"# a line of the preprocessor\n"
		"strict digraph \"g 1\" {\n"
		"  size=\"7,5\"; node [shape=box, Weight=2]; edge [weight=\"0.5\"]\n"
		"  /* two */ a -> b -> { c; d } [bytes=100];  // one line\n"
		"  a [time=3, time_gpu=1 time_cpu0=2; type=Conv, colocate=g][pin=cpu0]; \"x y\" [flops=1e9, "
	        "cost=4, label=<<b>hi</b>>];\n"
		"  subgraph cluster_1 { node [label=9]; e; f [label=\"7\"] ; e -> f; f -> e2 }\n"
		"  { node [weight=5]; h } -> { b; b; i -> b }\n"
		"  c -> e:p:n; d -> \"x y\" [tensor=t, comm=2e0]; z [param_bytes=10 READ_BYTES=20, "
	        "write_bytes=30, output_bytes=40]; -1.5 -> .5\n"
		"  d -> j [tensor=t, comm=2, label=\"big\"]\n"
		"}\n";
	model m;
	const char *tensor;
	read_text(parse_dot, "dir/some.graph.dot", text, NULL, &m);
	assert_string_equal(m.g.name, "some.graph");
	assert_int_equal(m.g.n_ops, 14);
	assert_near(time_of(&m, "a", "*"), 3, 0);
	assert_near(time_of(&m, "a", "gpu"), 1, 0);
	assert_near(time_of(&m, "a", "cpu0"), 2, 0);
	assert_near(time_of(&m, "b", "*"), 2, 0);
	assert_near(time_of(&m, "x y", "*"), 4, 0);
	assert_near(time_of(&m, "e", "*"), 9, 0);  /* the nearest default */
	assert_near(time_of(&m, "e2", "*"), 9, 0);
	assert_near(time_of(&m, "f", "*"), 7, 0);
	assert_near(time_of(&m, "h", "*"), 5, 0);
	assert_near(time_of(&m, "-1.5", "*"), 2, 0);
	assert_near(m.g.op_flops[op_of(&m, "x y")], 1e9, 0);
	assert_string_equal(m.g.type_name[m.g.op_type[op_of(&m, "a")]], "Conv");
	assert_string_equal(m.g.coloc_name[m.g.op_coloc_name[op_of(&m, "a")]], "g");
	assert_string_equal(m.g.op_pin[op_of(&m, "a")], "cpu0");
	assert_int_equal(edge_of(&m, "a", "b", &tensor), 100);
	assert_string_equal(tensor, "b");
	assert_int_equal(edge_of(&m, "b", "d", NULL), 100);
	assert_int_equal(edge_of(&m, "c", "e", NULL), 500000000);
	assert_int_equal(edge_of(&m, "d", "x y", &tensor), 2000000000);
	assert_string_equal(tensor, "t");
	assert_int_equal(edge_of(&m, "d", "j", &tensor), 2000000000);
	assert_int_equal(edge_of(&m, "h", "b", NULL), 500000000);
	assert_int_equal(edge_of(&m, "h", "i", NULL), 500000000);
	assert_int_equal(edge_of(&m, "i", "b", NULL), 500000000);
	assert_int_equal(m.g.n_edges, 12);
	int32_t z = op_of(&m, "z");
	assert_int_equal(m.g.op_param_bytes[z], 10);
	assert_int_equal(m.g.op_read_bytes[z], 20);
	assert_int_equal(m.g.op_write_bytes[z], 30);
	assert_int_equal(m.g.op_output_bytes[z], 40);
	berth_arena_free(&m.mem);
	read_text(parse_dot, "x", "Digraph{a->b}", NULL, &m); /* nothing known: dummies */
	assert_near(time_of(&m, "a", "*"), 0, 0);
	assert_int_equal(edge_of(&m, "a", "b", &tensor), 0);
	assert_null(tensor);
	berth_arena_free(&m.mem);
}

/* Edges between the same two add up, but in a strict graph, which has one; -1 is no data. */
static void test_parallel_edges(void **state)
{
	(void)state;
	static const char *const graphs[] = {"digraph", "strict digraph"};
	char text[256];
	for (int strict = 0; strict < 2; strict++) {
		model m;
		snprintf(text, sizeof text,
		         "%s { a [size=-1]; a -> b [bytes=3]; b -> c; a -> c [size=-1.0]; a -> b "
		         "[bytes=5]; b -> c; b -> d [tensor=t]; b -> d [tensor=u] }", graphs[strict]);
		read_text(parse_dot, "x.dot", text, NULL, &m);
		assert_int_equal(m.g.n_edges, 5);
		assert_int_equal(edge_of(&m, "a", "b", NULL), strict ? 5 : 8);
		assert_int_equal(edge_of(&m, "b", "c", NULL), 0);
		assert_int_equal(edge_of(&m, "a", "c", NULL), 0);
		assert_near(m.g.op_flops[op_of(&m, "a")], 0, 0);
		berth_arena_free(&m.mem);
	}
}

static void test_units(void **state)
{
	(void)state;
	static const char text[] = "digraph { a [time=3, time_gpu=4]; a -> b [comm=5]; a -> c [bytes=7] }";
	static const char *const words[] = {"unit=1e-3", "bandwidth=2e6", "speed=1e9"};
	berth_arena mem = {0};
	berth_task_options opt;
	berth_err err = {0};
	model m;
	assert_ok(berth_task_options_read("x.dot", words, 2, &mem, &opt, &err), &err);
	assert_string_equal(opt.suffix, ":unit=0.001:bandwidth=2000000");
	read_text(parse_dot, "x.dot", text, &opt, &m);
	assert_string_equal(m.g.name, "x:unit=0.001:bandwidth=2000000");
	assert_near(time_of(&m, "a", "*"), 0.003, 1e-18);
	assert_near(time_of(&m, "a", "gpu"), 0.004, 1e-18);
	assert_int_equal(edge_of(&m, "a", "b", NULL), 10000);
	assert_int_equal(edge_of(&m, "a", "c", NULL), 7);
	berth_arena_free(&m.mem);
	assert_ok(berth_task_options_read("x.dot", words, 3, &mem, &opt, &err), &err);
	read_text(parse_dot, "x.dot", text, &opt, &m);
	assert_true(isnan(time_of(&m, "a", "*")));
	assert_near(time_of(&m, "a", "gpu"), 0.004, 1e-18);
	assert_near(m.g.op_flops[op_of(&m, "a")], 3e6, 1e-6);
	berth_arena_free(&m.mem);
	static const char *const bad[] = {"speed=-1", "units=3", "unit=0"};
	for (int i = 0; i < 3; i++)
		assert_int_equal(berth_task_options_read("x.dot", &bad[i], 1, &mem, &opt, &err),
		                 BERTH_EINVAL);
	berth_arena_free(&mem);
}

/* ---- STG and DAX ---- */

static void test_stg(void **state)
{
	(void)state;
	model m;
	const char *tensor;
	read_text(parse_stg, "rand0000.stg",
	          "   2\n  0  0  0\n 1 12 1   0\n\n 2  7.5  2   0   1 # a comment\n 3 0 1 2\r\n# Task graph "
	          "information\n#  1 2 3\n",
	          NULL, &m);
	assert_int_equal(m.g.n_ops, 4);
	assert_int_equal(m.g.n_edges, 4);
	assert_near(time_of(&m, "1", "*"), 12, 0);
	assert_near(time_of(&m, "2", "*"), 7.5, 0);
	assert_int_equal(edge_of(&m, "0", "2", &tensor), 0);
	assert_null(tensor);
	berth_arena_free(&m.mem);
	read_text(parse_stg, "x.stg", "3\n0 3 0\n1 4 1 0 2\n2 5 2 0 1 1 6", NULL, &m); /* without
	                                                                                              dummies,
	                                                                                              with
	                                                                                              costs */
	assert_int_equal(m.g.n_ops, 3);
	assert_int_equal(edge_of(&m, "0", "1", NULL), 2000000000);
	assert_int_equal(edge_of(&m, "0", "2", NULL), 1000000000);
	assert_int_equal(edge_of(&m, "1", "2", &tensor), 6000000000);
	assert_string_equal(tensor, "2");
	berth_arena_free(&m.mem);
	/* of so many processors; no dummy before the tasks */
	read_text(parse_stg, "x.stg", "2 4\n1 3 0\n2 4 1 1\n3 0 2 1 2\n", NULL, &m);
	assert_int_equal(m.g.n_ops, 3);
	assert_int_equal(edge_of(&m, "1", "3", NULL), 0);
	assert_near(time_of(&m, "2", "*"), 4, 0);
	berth_arena_free(&m.mem);
	read_text(parse_stg, "x.stg", "0", NULL, &m);
	assert_int_equal(m.g.n_ops, 0);
	berth_arena_free(&m.mem);
}

static void test_dax(void **state)
{
	(void)state;
	static const char text[] =
		"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- <job id='no'> -->\n"
		"<adag xmlns=\"http://pegasus.isi.edu/schema/DAX\" version=\"2.1\" jobCount=\"4\">\n"
		"<job id=\"A\" namespace='n' name=\"make\" runtime=\"13.5\">\n"
		" <argument>-a <file name=\"in\"/> <![CDATA[</job>]]></argument>\n"
		" <uses file=\"in\" link=\"input\" size=\"304\"/><uses file=\"in\" link=\"input\" "
	        "size=\"304\"/>\n"
		" <uses file=\"p&amp;1&#233;&#x20AC;\" link=\"output\" size=\"1000\"/><uses file=\"log\" "
	        "link=\"output\" size=\"7\"/><uses name=\"prog\" link=\"none\"/></job>\n"
		"<job id=\"B\" name=\"use\" runtime=\"2\"><uses file=\"p&amp;1&#233;&#x20AC;\" "
	        "link=\"input\" size=\"1\"/><uses name=\"unsized\" link=\"output\"/></job>\n"
		"<job id=\"C\"><profile namespace=\"pegasus\" key=\"runtime\"> 2.5 </profile>\n"
		" <uses file=\"p&amp;1&#233;&#x20AC;\" link=\"input\" size=\"1000\"/><uses name=\"unsized\" "
	        "link=\"input\" size=\"55\"/></job>\n"
		"<job id=\"D\" runtime=\"0\"/>\n"
		"<child ref=\"B\"><parent ref=\"A\"/></child>\n"
		"<child ref=\"D\"><parent ref=\"C\"/><parent ref=\"C\"/></child><child ref=\"C\"><parent "
	        "ref=\"B\"/></child>\n"
		"</adag>\n";
	model m;
	const char *tensor;
	read_text(parse_dax, "w.dax", text, NULL, &m);
	assert_int_equal(m.g.n_ops, 4);
	assert_int_equal(m.g.n_edges, 4);
	assert_int_equal(m.g.n_tensors, 3);
	assert_near(time_of(&m, "A", "*"), 13.5, 0);
	assert_near(time_of(&m, "C", "*"), 2.5, 0);
	assert_int_equal(edge_of(&m, "A", "B", &tensor), 1000); /* the producer's size */
	assert_string_equal(tensor, "p&1\xc3\xa9\xe2\x82\xac");
	assert_int_equal(edge_of(&m, "A", "C", NULL), 1000);
	assert_int_equal(edge_of(&m, "B", "C", NULL), 55);
	assert_int_equal(edge_of(&m, "C", "D", NULL), 0);
	assert_string_equal(m.g.type_name[m.g.op_type[op_of(&m, "A")]], "make");
	int32_t a = op_of(&m, "A");
	assert_int_equal(m.g.op_read_bytes[a], 304);
	assert_int_equal(m.g.op_write_bytes[a], 1007);
	assert_int_equal(m.g.op_output_bytes[a], 7);
	assert_int_equal(m.g.op_read_bytes[op_of(&m, "C")], 1055);
	berth_arena_free(&m.mem);
}

/* Two jobs make f, the second of which takes it, too; sizes and times below 0. */
static void test_makers(void **state)
{
	(void)state;
	static const char text[] =
		"<adag><job id='A' runtime='-1'><uses file='f' link='output' size='10'/></job>"
		"<job id='B'><uses file='f' link='inout' size='10'/>"
		"<uses file='g' link='output' size='-3'/></job>"
		"<job id='C'><uses file='f' link='input'/><uses file='g' link='input' size='7'/></job>"
		"<child ref='C'><parent ref='A'/><parent ref='B'/></child></adag>";
	const berth_content from = {.name = "w.dax", .data = text, .size = sizeof text - 1};
	const berth_read_options none = {0};
	berth_arena tmp = {0};
	berth_read_report r = {0};
	berth_err err = {0};
	model m = {0};
	assert_ok(berth_format_dax.parse(&from, &none, &m.mem, &tmp, &m.g, &r, &err), &err);
	assert_int_equal(m.g.n_edges, 4);
	assert_int_equal(edge_of(&m, "A", "B", NULL), 10);
	assert_int_equal(edge_of(&m, "A", "C", NULL), 10);
	assert_int_equal(m.g.op_write_bytes[op_of(&m, "B")], 10);
	assert_int_equal(m.g.op_read_bytes[op_of(&m, "C")], 10);
	assert_near(time_of(&m, "A", "*"), 0, 0);
	assert_int_equal(r.n_warnings, 3);
	assert_string_equal(r.warning[0], "files made by several jobs: 1 ('f'); who takes one waits for all "
	                                  "that make it");
	assert_string_equal(r.warning[1], "runtimes below 0: 1; taken for 0");
	assert_string_equal(r.warning[2], "sizes of files below 0: 1 ('g'); taken for 0");
	berth_arena_free(&tmp);
	berth_arena_free(&m.mem);
}

/* The same two tasks in every WfFormat. */
static void test_wfcommons(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{\"schemaVersion\":\"1.2\",\"workflow\":{\"jobs\":["
		"{\"name\":\"p_1\",\"id\":\"1\",\"category\":\"p\",\"parents\":[],\"runtime\":2,\"memory\":3,"
		"\"machine\":\"m\",\"files\":[{\"name\":\"f\",\"link\":\"output\",\"size\":1000}]},"
		"{\"name\":\"q_2\",\"id\":\"2\",\"category\":\"q\",\"parents\":[\"p_1\"],\"runtime\":4,"
		"\"files\":[{\"name\":\"f\",\"link\":\"input\",\"size\":1000}]}]}}",
		"{\"workflow\":{\"tasks\":[{\"name\":\"p\",\"id\":\"1\",\"children\":[\"2\"],"
		"\"runtimeInSeconds\":2,\"memoryInBytes\":3000,\"machine\":\"m\","
		"\"files\":[{\"name\":\"f\",\"link\":\"output\",\"sizeInBytes\":1000}]},"
		"{\"name\":\"q\",\"id\":\"2\",\"parents\":[\"1\"],\"runtimeInSeconds\":4,\"files\":["
		"{\"name\":\"f\",\"link\":\"input\",\"sizeInBytes\":1000}]}]},\"schemaVersion\":\"1.4\"}",
		"{\"schemaVersion\":\"1.5\",\"workflow\":{\"execution\":{\"tasks\":[{\"id\":\"1\","
		"\"runtimeInSeconds\":2,\"memoryInBytes\":3000,\"command\":{\"program\":\"p\"},"
		"\"machines\":[\"m\",\"m\"]},{\"id\":\"2\",\"runtimeInSeconds\":4,\"command\":{"
		"\"program\":\"q\"}}]},\"specification\":{\"files\":[{\"id\":\"f\",\"sizeInBytes\":1000}],"
		"\"tasks\":[{\"id\":\"1\",\"name\":\"1\",\"outputFiles\":[\"f\"]},"
		"{\"id\":\"2\",\"name\":\"2\",\"parents\":[\"1\"],\"inputFiles\":[\"f\"]}]}}}"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		model m;
		const char *tensor;
		assert_ptr_equal(berth_format_of(texts[i], strlen(texts[i])), &berth_format_wfcommons);
		read_text(parse_wfcommons, "w.json", texts[i], NULL, &m);
		assert_int_equal(m.g.n_ops, 2);
		assert_int_equal(m.g.n_edges, 1);
		assert_int_equal(edge_of(&m, "1", "2", &tensor), 1000);
		assert_string_equal(tensor, "f");
		assert_string_equal(m.g.type_name[m.g.op_type[op_of(&m, "2")]], "q");
		assert_near(time_of(&m, "1", "m"), 2, 0);
		assert_near(time_of(&m, "1", "*"), 2, 0);
		assert_near(time_of(&m, "2", "*"), 4, 0);
		assert_true(isnan(time_of(&m, "2", "m")));
		assert_int_equal(m.g.op_workspace_bytes[op_of(&m, "1")], 3000);
		assert_int_equal(m.g.op_read_bytes[op_of(&m, "2")], 1000);
		berth_arena_free(&m.mem);
	}
}

/* ---- one graph in every format ---- */

enum { RANDOM_OPS = 40 };

typedef struct world {
	int n, time[RANDOM_OPS], cost[RANDOM_OPS][RANDOM_OPS]; /* cost[from][to], -1: no edge */
} world;

static void make_world(world *w, uint64_t seed)
{
	berth_rng rng = berth_rng_seed(seed, 1);
	w->n = 1 + (int)(berth_rng_next(&rng) % RANDOM_OPS);
	for (int i = 0; i < w->n; i++) {
		w->time[i] = (int)(berth_rng_next(&rng) % 1000);
		for (int k = 0; k < w->n; k++)
			w->cost[i][k] = i < k && berth_rng_next(&rng) % 4 == 0
			                        ? (int)(1 + berth_rng_next(&rng) % 1000)
			                        : -1;
	}
}

static void write_stg(const world *w, char *to)
{
	to += sprintf(to, "%d\n", w->n);
	for (int k = 0; k < w->n; k++) {
		int n = 0;
		for (int i = 0; i < k; i++)
			n += w->cost[i][k] >= 0;
		to += sprintf(to, " %d %d %d", k, w->time[k], n);
		for (int i = 0; i < k; i++)
			if (w->cost[i][k] >= 0)
				to += sprintf(to, "\t%d %d", i, w->cost[i][k]);
		to += sprintf(to, "\n");
	}
}

static void write_dot(const world *w, char *to)
{
	to += sprintf(to, "digraph w {\n");
	for (int k = 0; k < w->n; k++)
		to += sprintf(to, "%d [weight=%d]\n", k, w->time[k]);
	for (int i = 0; i < w->n; i++)
		for (int k = 0; k < w->n; k++)
			if (w->cost[i][k] >= 0)
				to += sprintf(to, "%d -> %d [label=\"%d\"];", i, k, w->cost[i][k]);
	sprintf(to, "}");
}

static void write_dax(const world *w, char *to)
{
	to += sprintf(to, "<adag>");
	for (int k = 0; k < w->n; k++) {
		to += sprintf(to, "<job id='%d' runtime='%d'>", k, w->time[k]);
		for (int i = 0; i < w->n; i++) {
			if (w->cost[k][i] >= 0)
				to += sprintf(to, "<uses file='%d-%d' link='output' size='%d000000000'/>", k,
				              i, w->cost[k][i]);
			if (w->cost[i][k] >= 0)
				to += sprintf(to, "<uses file='%d-%d' link='input'/>", i, k);
		}
		to += sprintf(to, "</job>");
	}
	sprintf(to, "</adag>");
}

static void test_formats_agree(void **state)
{
	(void)state;
	static const struct {
		reader *read;
		void (*write)(const world *w, char *to);
		const berth_format *format;
	} formats[] = {{parse_stg, write_stg, &berth_format_stg},
	               {parse_dot, write_dot, &berth_format_dot},
	               {parse_dax, write_dax, &berth_format_dax}};
	static char text[1 << 18];
	static world w;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		make_world(&w, seed);
		for (int f = 0; f < 3; f++) {
			model m;
			int edges = 0;
			formats[f].write(&w, text);
			assert_ptr_equal(berth_format_of(text, strlen(text)), formats[f].format);
			read_text(formats[f].read, "w", text, NULL, &m);
			assert_int_equal(m.g.n_ops, w.n);
			for (int i = 0; i < w.n; i++) {
				char from[16], to[16];
				snprintf(from, sizeof from, "%d", i);
				assert_near(time_of(&m, from, "*"), w.time[i], 0);
				for (int k = 0; k < w.n; k++) {
					snprintf(to, sizeof to, "%d", k);
					edges += w.cost[i][k] >= 0;
					assert_int_equal(edge_of(&m, from, to, NULL),
					                 w.cost[i][k] < 0 ? -1 : 1000000000LL * w.cost[i][k]);
				}
			}
			assert_int_equal(m.g.n_edges, edges);
			berth_arena_free(&m.mem);
		}
	}
}

/* ---- malformed files ---- */

typedef struct bad_text {
	const char *text, *part; /* of the message */
} bad_text;

static void assert_refused(reader *read, const bad_text cases[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		model m;
		berth_err err = {0};
		assert_int_equal(
			parse(read, "f", cases[i].text, strlen(cases[i].text), NULL, &m, &err),
			BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
		assert_contains(err.msg, "f:");
		berth_arena_free(&m.mem);
	}
}

static void test_bad_dot(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{"graph { a -- b }",
		 "f:1:1: found 'g'; expected digraph: a graph without directions"},
		{"digraph { a -- b }",
		 "f:1:13: an edge without direction, --; expected ->"},
		{"digraph {\n  a -> ;\n}", "f:2:8: found ';'; expected a node"},
		{"digraph { a",
		 "f:1:12: the file ends; expected a node, an edge or }"},
		{"digraph { a [x=", "the file ends; expected the value of an attribute"},
		{"digraph { \"a", "f:1:11: a string without an end"},
		{"digraph { /* a", "f:1:11: a comment without an end"},
		{"digraph { a [label=<<b>] }", "HTML text without an end"},
		{"digraph {\n a [cost=-5] }",
		 "f:2:10: cost is '-5'; expected a number of 0 or more"},
		{"digraph { a [cost=nan] }", "cost is 'nan'"},
		{"digraph { a [cost=1e400] }", "cost is '1e400'"},
		{"digraph { a [cost=1e300] }", "f:1:11: operator 'a': time_s of '*'"},
		{"digraph { a [param_bytes=1e17] }",
		 "param_bytes is '1e17'; expected a number from 0 to 9.0072e+15"},
		{"digraph { a -> b [comm=1e20] }", "stands for more than 2^53 bytes"},
		{"digraph { a -> b -> a }", "cycle"},
		{"digraph { a -> a }", "'a'"},
		{"digraph { a -> b [tensor=t]; a -> b [tensor=t] }", "stands twice"},
		{"digraph { a -> b [bytes=9e15]; a -> b [bytes=9e15] }",
		 "the edges from 'a' to 'b' have more than 2^53 bytes"},
		{"digraph { a -> b [bytes=-2] }", "f:1:25: bytes is '-2'; expected a number from 0 to"},
		{"digraph { a -> b [tensor=t, bytes=1]; a -> c [tensor=t, bytes=2] }",
		 "name the tensors if they differ"},
		{"digraph { \"\" }", "f:1:11: a name that is empty or no UTF-8 text"},
		{"digraph { \"\xff\" }", "no UTF-8"},
		{"digraph { a } digraph { b }",
		 "f:1:15: found 'd'; expected the end: one graph a file"},
		{"digraph { a [time_cpu=1, time_cpu=2] }", "two times for 'cpu'"},
	};
	assert_refused(parse_dot, cases, sizeof cases / sizeof *cases);
}

static void test_bad_stg(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{"", "f:1:1: an empty file"},
		{"# only this", "an empty file"},
		{"2 5 6\n", "f:1:5: '6' stands behind the line's last number"},
		{"2 x\n", "f:1:3: 'x' is no number of 0 or more; expected the number of processors"},
		{"2\n0 1 0\n",
		 "1 lines of tasks; expected 2, or 4 with the two dummies"},
		{"1\n0 1 0\n1 1 0\n2 1 0\n3 1 0\n", "at least 4 lines of tasks"},
		{"1\n2 1 0\n", "f:2:1"},
		{"2\n1 1 0\n2 1 1 0\n", "f:3:6: task 0; expected a task of this file"},
		{"1\n0 -1 0\n",
		 "f:2:3: '-1' is no number of 0 or more; expected the time of a task"},
		{"2\n0 1 0\n1 1 1 2\n",
		 "f:3:7: the number of a predecessor is 2; expected a whole number below 2"},
		{"3\n0 1 0\n1 1 0\n2 1 2 0\n",
		 "f:4:1: task 2 has 2 predecessors and 1 numbers behind them; expected 2, or 4 with costs"},
		{"2\n0 1 1 1\n1 1 1 0\n", "cycle"},
		{"2\n0 1 0\n1 1 1 0.5\n", "is 0.5; expected a whole number"},
		{"1e9\n", "the number of tasks is 1e+09"},
		{"99999999\n0 1 0\n", "1 lines of tasks; expected 99999999"},
	};
	assert_refused(parse_stg, cases, sizeof cases / sizeof *cases);
}

#define FLOW(inside) "{\"schemaVersion\":\"1.4\",\"workflow\":{" inside "}}"
#define WF "{\"schemaVersion\":\"1.5\",\"workflow\":{\"tasks\":["
#define TASK(inside) FLOW("\"tasks\":[{\"id\":\"a\"" inside "}]")

static void test_bad_wfcommons(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{"[]", "f: /: expected an object"},
		{"{\"workflow\":{}}", "key 'schemaVersion' is missing"},
		{FLOW(""), "f: /workflow: a workflow without tasks"},
		{FLOW("\"tasks\":3"), "/workflow/tasks: expected an array of tasks"},
		{FLOW("\"tasks\":[],\"jobs\":[]"), "/workflow/jobs: a second list of tasks"},
		{FLOW("\"tasks\":[3]"), "/workflow/tasks/0: expected an object"},
		{FLOW("\"tasks\":[{}]"), "/workflow/tasks/0: a task without id and name"},
		{FLOW("\"tasks\":[{\"id\":\"a\"},{\"id\":\"a\"}]"), "/1: two tasks have the id 'a'"},
		{TASK(",\"parents\":[\"b\"]"), "/0/parents/0: expected the id of a task"},
		{TASK(",\"parents\":[\"a\"]"), "'a'"},
		{TASK(",\"children\":[4]"), "/0/children/0: expected the id of a task"},
		{TASK(",\"files\":[{\"name\":\"f\"}]"), "/files/0: key 'link' is missing"},
		{TASK(",\"files\":[{\"name\":\"f\",\"link\":\"x\"}]"), "link is neither"},
		{TASK(",\"files\":[{\"name\":\"\",\"link\":\"input\"}]"), "a file without a name"},
		{TASK(",\"inputFiles\":[7]"), "a file without a name"},
		{TASK(",\"files\":[{\"name\":\"f\",\"link\":\"input\",\"size\":1e17}]"), "2^53 bytes"},
		{TASK(",\"runtime\":\"x\""), "/0/runtime: expected a number, found a string"},
		{TASK(",\"runtime\":2e6"), "operator 'a': time_s of '*' is 2e+06"},
		{FLOW("\"tasks\":[],\"execution\":{\"tasks\":[{\"id\":\"b\"}]}"), "the id of a task"},
		{FLOW("\"tasks\":[],\"execution\":{\"tasks\":[{}]}"), "key 'id' is missing"},
		{FLOW("\"specification\":3"), "/workflow/specification: expected an object"},
	};
	assert_refused(parse_wfcommons, cases, sizeof cases / sizeof *cases);
}

static void test_bad_dax(void **state)
{
	(void)state;
	static const bad_text cases[] = {
		{"<a/>", "f:1:1: <a>; expected <adag>, a Pegasus workflow"},
		{"<!DOCTYPE adag [<!ENTITY a \"b\">]><adag/>",
		 "f:1:1: a declaration, such as that of a document type, which is not read"},
		{"<adag>\n<job/></adag>", "f:2:1: job without the attribute id"},
		{"<adag><job id='a'/><job id='a'/></adag>",
		 "f:1:20: two jobs have the id 'a'"},
		{"<adag><job id='a' runtime='x'/></adag>", "runtime is 'x'"},
		{"<adag><job id='a' runtime='-2e12'/></adag>", "runtime is '-2e12'"},
		{"<adag><job id='a'><profile key='runtime'>x</profile></job></adag>",
		 "runtime is 'x'"},
		{"<adag><child ref='b'/></adag>",
		 "'b' is the id of no job before this place"},
		{"<adag><job id='a'/><parent ref='a'/></adag>",
		 "a parent outside of a child"},
		{"<adag><job id='a'></adag>",
		 "</adag> closes no element that is open; expected </job"},
		{"<adag></adag></adag>", "a second element at the top"},
		{"</adag>", "closes no element that is open"},
		{"<adag><job id='a'", "f:1:7: a tag without an end"},
		{"<adag><job id='a", "the value of an attribute without an end"},
		{"<adag><job id=a/></adag>",
		 "expected the value of an attribute in quotes"},
		{"<adag><job id='&bad;'/></adag>", "an entity that is not known"},
		{"<adag><job id='&#0;'/></adag>", "an entity that is not known"},
		{"<adag><job id='&#xD800;'/></adag>", "an entity that is not known"},
		{"<adag><!-- ", "expected -->, to end what begins here"},
		{"<adag>", "the file ends within <adag>"},
		{"no", "no element; expected <adag>"},
		{"<adag><job id='a'><uses link='input'/></job></adag>",
		 "uses without the attribute name"},
		{"<adag><job id='a'><uses file='f' link='input' size='1e17'/></job></adag>",
		 "size is '1e17'"},
		{"<adag><job id='a'><uses file='f' link='output'/><uses file='g' link='input'/></job><job "
		 "id='b'><uses file='f' link='input'/><uses file='g' link='output'/></job></adag>",
		 "cycle"},
		{"<adag><job id='a'><uses file='f' link='output' size='9e15'/><uses file='g' link='output' "
		 "size='9e15'/></job></adag>",
		 "more than 2^53 bytes together"},
	};
	assert_refused(parse_dax, cases, sizeof cases / sizeof *cases);
}

/* ---- limits ---- */

/* head, n times body (with the number in place of each %), tail. */
typedef struct bulk {
	reader *read;
	const char *head, *body, *tail;
	int n;
	bool good;
} bulk;

static char *write_bulk(const bulk *b, size_t *size)
{
	size_t cap = strlen(b->head) + strlen(b->tail) + (size_t)b->n * (strlen(b->body) + 24) + 1, at = 0;
	char *text = malloc(cap);
	assert_non_null(text);
	at += (size_t)sprintf(text, "%s", b->head);
	for (int i = 0; i < b->n; i++)
		for (const char *p = b->body; *p; p++)
			if (*p == '%')
				at += (size_t)sprintf(text + at, "%d", i);
			else
				text[at++] = *p;
	at += (size_t)sprintf(text + at, "%s", b->tail);
	*size = at;
	return text;
}

/* A file of at most 25,000 tasks, whatever it holds, takes at most 4 MB and 4 bytes a byte of it. The checks
 * of debug builds take memory of their own. */
static double read_bulk(void *ctx, int n)
{
	bulk b = *(const bulk *)ctx;
	size_t size;
	char count[24];
	metering_allocator m;
	berth_arena mem, tmp;
	berth_graph g = {0};
	berth_err err = {0};
	b.n = n;
	snprintf(count, sizeof count, "%d\n", n);
	if (b.read == parse_stg && strlen(b.head) > 2)
		b.head = count;
	char *text = write_bulk(&b, &size);
	metering_allocator_init(&m);
	berth_arena_init(&mem, &m.hook);
	berth_arena_init(&tmp, &m.hook);
	double start = berth_cpu_seconds();
	berth_status st = b.read("f", text, size, NULL, &mem, &tmp, &g, &err);
	double seconds = berth_cpu_seconds() - start;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	free(text);
	if (st != (b.good ? BERTH_OK : BERTH_EFORMAT) || m.peak > 4 * size + (4u << (20 + BERTH_DEBUG)))
		fail_msg("%s%s, %zu bytes: status %d (%s), peak %zu bytes", b.head, b.body, size, (int)st,
		         err.msg, m.peak);
	return seconds;
}

static void test_limits(void **state)
{
	(void)state;
	static const bulk cases[] = {
		{parse_dot, "digraph {", "%;", "}", 25000, true},
		{parse_dot, "digraph {a [x=1", ",label=\"%\"", "]}", 50000, true},
		{parse_dot, "digraph {a [x=1", ",time_k%=1", "]}", 15000, true},
		{parse_dot, "digraph {a", "->%", "}", 25000, true},
		{parse_dot, "digraph {", "%[weight=1];a->%;", "}", 50000, true},
		{parse_dot, "digraph {",
		 "  % [type=\"t%\", colocate=\"g%\", weight=\"3\"];\n  a -> % [label=\"7\"];\n", "}", 50000,
		 true},
		{parse_dot, "digraph {node [type=\"a type of thirty characters long\"]", "%;",
		 "}", 25000, true},
		{parse_dot, "digraph ", "{", "", 250000, false},
		{parse_dot, "digraph {a [label=", "<", "]}", 250000, false},
		{parse_dot, "digraph {{", "a%;", "}->{x;y;z}}", 5000, true},
		{parse_dot, "digraph {{", "a%;", "}->{{a1;a2;a3;a4;a5;a6;a7}}}", 5000, false},
		{parse_dot, "digraph {", "subgraph s% {a;b;c}", "}", 25000, true},
		{parse_dot, "digraph {{", "a;", "}}", 250000, true},
		{parse_dax, "", "<adag>", "", 250000, false},
		{parse_dax, "<adag ", "a%='b' ", ">", 250000, false},
		{parse_dax, "<adag>", "<x a='%'/>", "</adag>", 50000, true},
		{parse_dax, "<adag>", "<job id='%'/>", "</adag>", 25000, true},
		{parse_dax, "<adag><job id='a'/>",
		 "<job id='%'/><child ref='%'><parent ref='a'/></child>", "</adag>", 25000, true},
		{parse_dax, "<adag>",
		 "<job id='%' name='n%' runtime='1'><uses file='%' link='output'/></job>", "</adag>", 25000,
		 true},
		{parse_dax, "<adag><job id='a'>", "<uses file='%' link='input' size='3'/>",
		 "</job></adag>", 15000, true},
		{parse_dax, "<adag><job id='a'/><job id='b'/><child ref='a'>",
		 "<parent ref='b'/>", "</child></adag>", 25000, true},
		{parse_dax, "<!--", "<", "", 250000, false},
		{parse_dax, "<adag a='", "&amp;", "'/>", 50000, true},
		{parse_dax, "<adag><job id='a'><uses file='f' link='output'/></job>",
		 "<job id='%'><uses file='f' link='output'/></job>",
		 "<job id='z'><uses file='f' link='input'/></job></adag>", 25000, true},
		{parse_wfcommons, WF, "{\"id\":\"%\",\"runtime\":1},", "{\"id\":\"z\"}]}}", 25000, true},
		{parse_wfcommons, WF, "{\"id\":\"%\",\"parents\":[\"a\"],\"machine\":\"m\",\"runtime\":1},",
		 "{\"id\":\"a\"}]}}", 25000, true},
		{parse_wfcommons, WF "{\"id\":\"a\",\"inputFiles\":[", "\"f%\",", "\"f\"]}]}}", 50000, true},
		{parse_stg, "100000\n", "% 1 0\n", "", 25000, true},
		{parse_stg, "200000\n", "  %      12      2       0       1\n", "", 50000, false},
		{parse_stg, "100000\n", "% 1 1 12499 3\n", "", 25000, false},
		{parse_stg, "1\n", "# %\n", "0 1 0", 50000, true},
		{parse_stg, "", "\n", "1\n0 1 0", 250000, true},
		{parse_stg, "1\n0 1 ", "1 ", "", 250000, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bulk b = cases[i];
		assert_linear(read_bulk, &b, b.n, b.body);
	}
}

/* Tasks of next to no text, and many: what the graph itself takes, 60 to 110 bytes a task while it is
 * built. */
static void test_terse_tasks(void **state)
{
	(void)state;
	static const bulk cases[] = {{parse_dot, "digraph {", "%;", "}", 125000, true},
	                             {parse_stg, "125000\n", "% 1 0\n", "", 125000, true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t size;
		metering_allocator m;
		berth_arena mem, tmp;
		berth_graph g;
		berth_err err = {0};
		char *text = write_bulk(&cases[i], &size);
		metering_allocator_init(&m);
		berth_arena_init(&mem, &m.hook);
		berth_arena_init(&tmp, &m.hook);
		assert_ok(cases[i].read("f", text, size, NULL, &mem, &tmp, &g, &err), &err);
		print_message("%d tasks, %zu bytes: %zu bytes of memory, %.1f a byte\n", g.n_ops, size,
		              m.peak, (double)m.peak / (double)size);
		assert_true(!BARE_ARENAS || m.peak <= 110 * 125000);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		free(text);
	}
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static const struct {
		reader *read;
		const char *text;
	} cases[] = {{parse_dot,
	              "digraph { a [time_x=1 type=t pin=p colocate=c]; {a b} -> {c d} [tensor=q bytes=3] }"},
	             {parse_stg, "2\n0 1 0\n1 1 1 0 5\n"},
	             {parse_dax, "<adag><job id='a' name='t'><uses file='f' link='output' "
	                                     "size='4'/></job><job id='b'><uses file='f' link='input'/></job>"
	                                     "<job id='c'/><child ref='c'><parent ref='a'/></child></adag>"},
	             {parse_dax, "<adag><job id='a'><uses file='f' link='output' size='-4'/></job>"
	                         "<job id='b'><uses file='f' link='output'/></job><job id='c'><uses file='f' "
	                         "link='input'/></job></adag>"},
	             {parse_dot, "digraph { b -> c; a -> b [bytes=1]; a -> b [bytes=2] }"},
	             {parse_wfcommons, TASK(",\"runtime\":2,\"machine\":\"m\",\"files\":[{\"name\":\"f\","
	                                    "\"link\":\"output\",\"size\":3}],\"category\":\"c\"")}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (long k = 0;; k++) {
			failing_allocator f;
			berth_arena mem, tmp;
			berth_graph g;
			berth_task_options opt;
			berth_err err;
			static const char *const words[] = {"unit=2"};
			failing_allocator_init(&f, k);
			berth_arena_init(&mem, &f.hook);
			berth_arena_init(&tmp, &f.hook);
			berth_status st = berth_task_options_read("f", words, 1, &tmp, &opt, &err);
			if (st == BERTH_OK)
				st = cases[i].read("f", cases[i].text, strlen(cases[i].text), &opt, &mem,
				                   &tmp, &g, &err);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
			assert_int_equal(f.live, 0);
			if (st == BERTH_OK) {
				assert_true(k > 0);
				break;
			}
			assert_int_equal(st, BERTH_ENOMEM);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_dot),
	                                   cmocka_unit_test(test_parallel_edges),
	                                   cmocka_unit_test(test_units),
	                                   cmocka_unit_test(test_stg),
	                                   cmocka_unit_test(test_dax),
	                                   cmocka_unit_test(test_makers),
	                                   cmocka_unit_test(test_wfcommons),
	                                   cmocka_unit_test(test_bad_wfcommons),
	                                   cmocka_unit_test(test_formats_agree),
	                                   cmocka_unit_test(test_bad_dot),
	                                   cmocka_unit_test(test_bad_stg),
	                                   cmocka_unit_test(test_bad_dax),
	                                   cmocka_unit_test(test_limits),
	                                   cmocka_unit_test(test_terse_tasks),
	                                   cmocka_unit_test(test_each_allocation_may_fail)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
