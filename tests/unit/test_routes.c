/* Routes for many sizes of a tensor against those found for each size alone, on random machines whose links
 * are alike enough for ties. */
#include "graph_format.h"
#include "problem.h"
#include "rng.h"
#include "support.h"
#include "system_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVS = 24, MAX_TEXT = 1 << 17 };

typedef struct text {
	char at[MAX_TEXT];
	size_t len;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = vsnprintf(t->at + t->len, MAX_TEXT - t->len, format, list);
	va_end(list);
	assert_true(n >= 0 && (size_t)n < MAX_TEXT - t->len);
	t->len += (size_t)n;
}

/* A ring, so that there is a path, with chords; links of three latencies and three bandwidths, some in one
 * direction only slower. */
static void machine(text *t, int32_t n, double chords, berth_rng *rng)
{
	static const double latency[] = {0, 1e-6, 3e-6}, bandwidth[] = {1e9, 4e9, 1.7e10};
	put(t, "{\"format\":\"berth-system\",\"version\":1,\"name\":\"m\",\"devices\":[");
	for (int32_t d = 0; d < n; d++)
		put(t, "%s{\"name\":\"d%d\",\"peak_flops\":1e12}", d ? "," : "", d);
	put(t, "],\"links\":[");
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < n; b++)
			if (b == (a + 1) % n || (a != b && berth_rng_unit(rng) < chords))
				put(t,
				    "%s{\"from\":\"d%d\",\"to\":\"d%d\",\"latency_s\":%g,\"bandwidth\":%g}",
				    a || b > 1 ? "," : "", a, b, latency[berth_rng_below(rng, 3)],
				    bandwidth[berth_rng_below(rng, 3)]);
	put(t, "]}");
}

/* A chain of tensors of all sizes, small to large and not in that order. */
static void chain(text *t, int32_t n_sizes, berth_rng *rng)
{
	put(t, "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"o0\"}");
	for (int32_t i = 0; i < n_sizes; i++)
		put(t, ",{\"name\":\"o%d\"}", i + 1);
	put(t, "],\"edges\":[");
	for (int32_t i = 0; i < n_sizes; i++)
		put(t, "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":%u}", i ? "," : "", i, i + 1,
		    i ? berth_rng_below(rng, i % 3 ? 3000 : 400000) : 0);
	put(t, "]}");
}

/* Least sums, then hops, of all devices to dest: from nothing known, until nothing changes. */
static void lengths(const berth_problem *p, const int64_t *link_ns, int32_t dest, int64_t *sum, int32_t *hops)
{
	int32_t n = p->n_devs;
	for (int32_t v = 0; v < n; v++)
		sum[v] = v == dest ? 0 : INT64_MAX;
	memset(hops, 0, (size_t)n * sizeof *hops);
	for (bool changed = true; changed;) {
		changed = false;
		for (int32_t v = 0; v < n; v++)
			for (int32_t u = 0; u < n; u++) {
				int32_t l = p->s->link_of[v * n + u];
				if (l < 0 || sum[u] == INT64_MAX || v == dest)
					continue;
				int64_t now = sum[u] + link_ns[l];
				if (now < sum[v] || (now == sum[v] && hops[u] + 1 < hops[v])) {
					sum[v] = now;
					hops[v] = hops[u] + 1;
					changed = true;
				}
			}
	}
}

static void check_pair(const berth_problem *p, int32_t c, int32_t from, int32_t dest, const int64_t *sum,
                       const int32_t *hops)
{
	int32_t n = p->n_devs, v = from, k;
	size_t at = ((size_t)c * (size_t)n + (size_t)from) * (size_t)n + (size_t)dest;
	const int64_t *link_ns = p->class_link_ns + (size_t)c * (size_t)p->s->n_links;
	int32_t direct = p->s->link_of[from * n + dest], r = p->class_pair_route[at];
	if (from == dest) {
		assert_true(r == -1 && p->class_pair_ns[at] == 0);
		return;
	}
	assert_true(r >= 0 && r < p->n_routes);
	if (direct >= 0) {
		assert_true(p->route_off[r + 1] - p->route_off[r] == 1 &&
		            p->route_link[p->route_off[r]] == direct &&
		            p->class_pair_ns[at] == link_ns[direct]);
		return;
	}
	assert_true(p->class_pair_ns[at] == sum[from] && p->route_off[r + 1] - p->route_off[r] == hops[from]);
	for (k = p->route_off[r]; v != dest; k++) {
		int32_t u = 0, l;
		while ((l = p->s->link_of[v * n + u]) < 0 || link_ns[l] + sum[u] != sum[v] ||
		       hops[u] + 1 != hops[v])
			u++;
		assert_int_equal(p->route_link[k], l);
		v = u;
	}
	assert_int_equal(k, p->route_off[r + 1]);
}

/* -1: c is the smallest. */
static int32_t class_before(const berth_problem *p, int32_t c)
{
	int32_t before = -1;
	for (int32_t b = 0; b < p->n_classes; b++)
		if (p->class_bytes[b] < p->class_bytes[c] &&
		    (before < 0 || p->class_bytes[b] > p->class_bytes[before]))
			before = b;
	return before;
}

/* A path that is that of the class before, the next smaller one, is no route of its own. */
static void check_kept(const berth_problem *p, int32_t before, int32_t c)
{
	size_t pairs = (size_t)p->n_devs * (size_t)p->n_devs;
	const int32_t *off = p->route_off, *link = p->route_link;
	for (size_t at = 0; at < pairs; at++) {
		int32_t a = p->class_pair_route[(size_t)before * pairs + at],
			b = p->class_pair_route[(size_t)c * pairs + at];
		if (a < 0 || off[a + 1] - off[a] != off[b + 1] - off[b])
			continue;
		size_t n = (size_t)(off[a + 1] - off[a]) * sizeof *link;
		assert_int_equal(a == b, memcmp(link + off[a], link + off[b], n) == 0);
	}
}

static void one_machine(uint64_t seed, int32_t n, double chords)
{
	static text graph, system;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 0);
	int64_t sum[MAX_DEVS];
	int32_t hops[MAX_DEVS];
	graph.len = system.len = 0;
	machine(&system, n, chords, &rng);
	chain(&graph, 40, &rng);
	assert_ok(berth_graph_parse_json("graph", graph.at, graph.len, &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_parse_json("system", system.at, system.len, &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	for (int32_t c = 0; c < p.n_classes; c++)
		if (class_before(&p, c) >= 0)
			check_kept(&p, class_before(&p, c), c);
	for (int32_t c = 0; c < p.n_classes; c++)
		for (int32_t dest = 0; dest < n; dest++) {
			lengths(&p, p.class_link_ns + (size_t)c * (size_t)s.n_links, dest, sum, hops);
			for (int32_t from = 0; from < n; from++)
				check_pair(&p, c, from, dest, sum, hops);
		}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_routes_of_every_size(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		berth_rng rng = berth_rng_seed(seed, 1);
		int32_t n = 2 + (int32_t)berth_rng_below(&rng, MAX_DEVS - 1);
		static const double chords[] = {0, 0.05, 0.2, 0.6, 1};
		one_machine(seed, n, chords[seed % 5]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes_of_every_size),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
