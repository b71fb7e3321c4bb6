/* The reference simulator against SimGrid, where the models coincide: devices run their operators in a given
 * order, one at a time; every ordered pair of devices has a link of its own, which carries one transfer at a
 * time, for its latency and then its bytes over its bandwidth.
 *
 * In SimGrid a device is an actor on a host that computes; a channel is an actor that sends what is
 * requested of it, first come first served. Its factors are set to 1. SimGrid starts once a process: each
 * instance is a child. usage: berth-simgrid [INSTANCES] */
#include "graph.h"
#include "rng.h"
#include "sim.h"
#include "system_json.h"

#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <simgrid/semaphore.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_DEVS = 4, MAX_OPS = 40, MAX_TENSORS = MAX_OPS };
#define SPEED 1e9 /* FLOP/s of every host */

/* One instance; SimGrid's actors find it here. */
typedef struct world {
	berth_graph g;
	berth_system s;
	berth_problem p;
	int32_t op_dev[MAX_OPS];
	sg_sem_t arrived[MAX_TENSORS][MAX_DEVS];      /* the tensor has come to the device */
	sg_sem_t asked[MAX_DEVS][MAX_DEVS];           /* requests of a channel */
	int32_t queue[MAX_DEVS][MAX_DEVS][MAX_TENSORS], n_asked[MAX_DEVS][MAX_DEVS],
		n_wanted[MAX_DEVS][MAX_DEVS];
	double end_s;
} world;

static world w;

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "%s\n", err->msg);
	exit(2);
}

/* ---- the instance ---- */

static void make_graph(berth_rng *rng, berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_builder *b;
	berth_err err;
	char name[16];
	int32_t n = 5 + (int32_t)berth_rng_below(rng, MAX_OPS - 4);
	must(berth_builder_new(&tmp, "random", &b, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "op%02d", (int)i);
		const berth_op_spec spec = {.name = name, .flops = 1e8 + 4e9 * berth_rng_unit(rng)};
		must(berth_builder_op(b, &spec, NULL, &err), &err);
	}
	for (int32_t i = 0; i < n; i++) {
		int64_t bytes = 1000000 + (int64_t)berth_rng_below(rng, 900000000); /* of the operator's one
		                                                                       output */
		for (int32_t k = i + 1; k < n; k++)
			if (berth_rng_unit(rng) < 2.0 / n)
				must(berth_builder_edge(b, i, k, bytes, NULL, &err), &err);
	}
	must(berth_builder_finish(b, mem, &w.g, &err), &err);
	berth_arena_free(&tmp);
}

static void make_system(berth_rng *rng, berth_arena *mem)
{
	char text[8192];
	berth_arena tmp = {0};
	berth_err err;
	int n_devs = 2 + (int)berth_rng_below(rng, MAX_DEVS - 1);
	size_t n = (size_t)snprintf(
		text, sizeof text,
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"random\",\"devices\":[");
	for (int d = 0; d < n_devs; d++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s{\"name\":\"d%d\",\"peak_flops\":%g}",
		                      d ? "," : "", d, SPEED);
	n += (size_t)snprintf(text + n, sizeof text - n, "],\"links\":[");
	for (int i = 0, first = 1; i < n_devs; i++)
		for (int k = 0; k < n_devs; k++)
			if (i != k) {
				n += (size_t)snprintf(text + n, sizeof text - n,
				                      "%s{\"from\":\"d%d\",\"to\":\"d%d\",\"latency_s\":%.9f,"
				                      "\"bandwidth\":%.1f}",
				                      first ? "" : ",", i, k, 0.3 * berth_rng_unit(rng),
				                      1e8 + 1e9 * berth_rng_unit(rng));
				first = 0;
			}
	snprintf(text + n, sizeof text - n, "]}");
	must(berth_system_parse_json("random", text, strlen(text), mem, &tmp, &w.s, &err), &err);
	berth_arena_free(&tmp);
}

/* ---- SimGrid ---- */

static void write_platform(const char *path)
{
	FILE *f = fopen(path, "w");
	if (!f)
		exit(2);
	fprintf(f, "<?xml version='1.0'?><!DOCTYPE platform SYSTEM "
	           "\"https://simgrid.org/simgrid.dtd\"><platform version=\"4.1\"><zone id=\"z\" "
	           "routing=\"Full\">");
	for (int32_t d = 0; d < w.s.n_devs; d++)
		fprintf(f, "<host id=\"d%d\" speed=\"%.1ff\" core=\"64\"/>", (int)d, SPEED);
	for (int32_t l = 0; l < w.s.n_links; l++)
		fprintf(f, "<link id=\"l%d\" bandwidth=\"%.17gBps\" latency=\"%.17gs\"/>", (int)l,
		        w.s.link_bandwidth[l], w.s.link_latency_s[l]);
	for (int32_t l = 0; l < w.s.n_links; l++)
		fprintf(f, "<route src=\"d%d\" dst=\"d%d\" symmetrical=\"NO\"><link_ctn id=\"l%d\"/></route>",
		        (int)w.s.link_from[l], (int)w.s.link_to[l], (int)l);
	fprintf(f, "</zone></platform>");
	fclose(f);
}

/* Devices, other than its producer's, that consume tensor t. */
static uint32_t goes_to(int32_t t)
{
	uint32_t set = 0;
	for (int32_t e = w.g.tensor_use_off[t]; e < w.g.tensor_use_off[t + 1]; e++)
		if (w.op_dev[w.g.edge_consumer[e]] != w.op_dev[w.g.tensor_producer[t]])
			set |= 1u << w.op_dev[w.g.edge_consumer[e]];
	return set;
}

static void request_transfers(int32_t op)
{
	int32_t from = w.op_dev[op];
	for (int32_t t = w.g.op_tensor_off[op]; t < w.g.op_tensor_off[op + 1]; t++)
		for (int32_t to = 0; to < w.s.n_devs; to++)
			if (goes_to(t) & 1u << to) {
				w.queue[from][to][w.n_asked[from][to]++] = t;
				sg_sem_release(w.asked[from][to]);
			}
}

static void device_actor(int argc, char **argv)
{
	int32_t dev = atoi(argv[argc - 1]);
	bool here[MAX_TENSORS] = {false};
	for (int32_t op = 0; op < w.g.n_ops; op++) { /* indices are a topological order */
		if (w.op_dev[op] != dev)
			continue;
		for (int32_t i = w.g.op_in_off[op]; i < w.g.op_in_off[op + 1]; i++) {
			int32_t t = w.g.in_tensor[i];
			if (w.op_dev[w.g.tensor_producer[t]] == dev || here[t])
				continue;
			sg_sem_acquire(w.arrived[t][dev]);
			here[t] = true;
		}
		sg_actor_execute(w.g.op_flops[op]);
		w.end_s = fmax(w.end_s, simgrid_get_clock());
		request_transfers(op);
	}
}

static void box_name(char buf[32], int32_t from, int32_t to)
{
	snprintf(buf, 32, "box-%d-%d", (int)from, (int)to);
}

static void channel_actor(int argc, char **argv)
{
	char name[32];
	static char payload;
	int32_t from = atoi(argv[argc - 2]), to = atoi(argv[argc - 1]);
	box_name(name, from, to);
	for (int32_t i = 0; i < w.n_wanted[from][to]; i++) {
		sg_sem_acquire(w.asked[from][to]);
		sg_mailbox_put(sg_mailbox_by_name(name), &payload,
		               (long)w.g.tensor_bytes[w.queue[from][to][i]]);
	}
}

static void receiver_actor(int argc, char **argv)
{
	char name[32];
	int32_t from = atoi(argv[argc - 2]), to = atoi(argv[argc - 1]);
	box_name(name, from, to);
	for (int32_t i = 0; i < w.n_wanted[from][to]; i++) {
		sg_mailbox_get(sg_mailbox_by_name(name));
		sg_sem_release(w.arrived[w.queue[from][to][i]][to]);
	}
}

static void start_actors(void)
{
	for (int32_t d = 0; d < w.s.n_devs; d++) {
		char a[16], b[16], host[16], other[16];
		snprintf(host, sizeof host, "d%d", (int)d);
		snprintf(a, sizeof a, "%d", (int)d);
		char *const one[] = {a, a, NULL};
		sg_actor_create("device", sg_host_by_name(host), device_actor, 2, one);
		for (int32_t to = 0; to < w.s.n_devs; to++) {
			if (to == d)
				continue;
			snprintf(b, sizeof b, "%d", (int)to);
			snprintf(other, sizeof other, "d%d", (int)to);
			char *const two[] = {a, a, b, NULL};
			w.asked[d][to] = sg_sem_init(0);
			sg_actor_create("channel", sg_host_by_name(host), channel_actor, 3, two);
			sg_actor_create("receiver", sg_host_by_name(other), receiver_actor, 3, two);
		}
	}
}

static double by_simgrid(void)
{
	char path[64];
	char words[][48] = {"berth-simgrid",
	                    "--log=root.thres:critical",
	                    "--cfg=network/model:CM02",
	                    "--cfg=network/TCP-gamma:0",
	                    "--cfg=network/latency-factor:1",
	                    "--cfg=network/bandwidth-factor:1",
	                    "--cfg=network/weight-S:0",
	                    "--cfg=network/crosstraffic:0",
	                    "--cfg=surf/precision:1e-9",
	                    "--cfg=maxmin/precision:1e-9"};
	enum { N = sizeof words / sizeof *words };
	char *argv[N + 1];
	int argc = N;
	for (int i = 0; i < N; i++)
		argv[i] = words[i];
	argv[N] = NULL;
	snprintf(path, sizeof path, "/tmp/berth-simgrid-%ld.xml", (long)getpid());
	write_platform(path);
	simgrid_init(&argc, argv);
	simgrid_load_platform(path);
	unlink(path);
	for (int32_t t = 0; t < w.g.n_tensors; t++)
		for (int32_t d = 0; d < w.s.n_devs; d++) {
			w.arrived[t][d] = sg_sem_init(0);
			w.n_wanted[w.op_dev[w.g.tensor_producer[t]]][d] += goes_to(t) & 1u << d ? 1 : 0;
		}
	start_actors();
	simgrid_run();
	return w.end_s;
}

/* ---- comparing ---- */

static int compare(uint64_t seed)
{
	berth_arena mem = {0}, tmp = {0};
	berth_rng rng = berth_rng_seed(seed, 0);
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	int32_t order[MAX_OPS];
	make_graph(&rng, &mem);
	make_system(&rng, &mem);
	for (int32_t op = 0; op < w.g.n_ops; op++) {
		w.op_dev[op] = (int32_t)berth_rng_below(&rng, (uint32_t)w.s.n_devs);
		order[op] = op;
	}
	must(berth_problem_new(&w.g, &w.s, &mem, &tmp, &w.p, &err), &err);
	must(berth_sim_new(&w.p, &mem, &sim, &err), &err);
	berth_sim_run(sim, w.op_dev, order, &r);
	double ours = (double)r.latency_ns * 1e-9, theirs = by_simgrid();
	bool same = fabs(ours - theirs) <= 1e-6 * theirs;
	if (!same)
		printf("instance %llu: %d operators on %d devices: %.9f s here, %.9f s by SimGrid\n",
		       (unsigned long long)seed, (int)w.g.n_ops, (int)w.s.n_devs, ours, theirs);
	fflush(stdout);
	return same ? 0 : 1;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, bad = 0;
	for (int i = 0; i < n; i++) {
		int status = 0;
		pid_t child = fork();
		if (child == 0)
			_exit(compare((uint64_t)i));
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0)
			bad++;
	}
	printf("%d of %d instances differ from SimGrid by more than 1e-6\n", bad, n);
	return bad ? 1 : 0;
}
