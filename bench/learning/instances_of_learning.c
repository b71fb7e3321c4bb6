/* Instances of the tables of docs/learning.md: six with room to learn in, those of equal time, and pairs that
 * the shipped policy was not trained on. */
#include "instances_of_learning.h"

#include <inttypes.h>
#include <math.h>

const bench_pair six[N_SIX] = {
	{"inception-v3", "cpu+2gpu"},
	{"inception-v3:batch=8", "hetero-cluster"},
	{"resnet50:batch=192:training=1", "cpu+2gpu"},
	{"bert-base:batch=64:training=1", "hetero-cluster"},
	{"random:ops=200:seed=11", "cpu+2gpu"},
	{"random:ops=300:ccr=1:seed=12", "hetero-cluster"},
};

/* ---- of equal time ---- */

static const char *const topologies[] = {"full", "bus", "star", "hosts"};

static const bench_pair chosen[N_CHOSEN] = {
	{"inception-v3:batch=16", "cpu+2gpu"}, {"inception-v3:batch=8", "hetero-cluster"},
	{"inception-v3:batch=8:training=1", "4gpu"},
	{"nasnet-a:batch=8", "cpu+2gpu"}, {"nasnet-a:batch=8", "hetero-cluster"},
	{"nasnet-a:size=mobile:batch=64", "4gpu"},
	{"resnet50:batch=192:training=1", "cpu+2gpu"}, {"resnet18:training=1:batch=16", "4gpu"},
	{"bert-base:batch=64:training=1", "hetero-cluster"},
	{"bert-large:training=1:batch=8", "4gpu"},
	{"gpt2-medium:training=1:batch=4", "hetero-cluster"}, {"gpt2:batch=8:training=1", "4gpu"},
	{"vit:batch=32:training=1", "cpu+2gpu"}, {"randwire:batch=64", "4gpu"},
	{"randwire:graph=er:batch=64", "hetero-cluster"},
	{"rnnlm:seq=20:layers=4", "4gpu"}, {"gnmt:seq=10", "4gpu"},
	{"gnmt:seq=6", "hetero-cluster"}, {"moe:layers=4", "edge"},
	{"llama-layer:tiles=4", "4gpu"}, {"llama-layer:tiles=4", "cpu+2gpu"},
	{"ffnn:tiles=4", "cpu+2gpu"}, {"chain-mm:tiles=4", "4gpu"},
	{"random:ops=400:seed=21", "cpu+2gpu"}, {"random:ops=600:ccr=1:seed=22", "hetero-cluster"},
	{"random:ops=2000:seed=23:width=20", "4gpu"},
	{"random:ops=3000:seed=24:width=30", "hetero-cluster"},
	{"random:ops=1000:seed=25:ccr=0.1", "random:devices=8:seed=9"},
};

/* Those behind the table are drawn by a rule: every other one is a model of the zoo, the others are random
 * graphs, all on random machines that nothing was ever chosen by. */
static void name_drawn(int k, char graph[NAME_SIZE], char system[NAME_SIZE])
{
	static const char *const models[] = {
		"inception-v3", "resnet50", "nasnet-a:size=mobile", "randwire", "randwire:graph=ba",
		"mobilenet-v2", "densenet121", "bert-base", "gpt2", "vit", "transformer", "unet",
		"gnmt:seq=8", "rnnlm:seq=16"};
	enum { N_MODELS = sizeof models / sizeof *models };
	berth_rng rng = berth_rng_seed(2026, (uint64_t)k);
	uint32_t devices = 2 + berth_rng_below(&rng, 7), topology = berth_rng_below(&rng, 4);
	snprintf(system, NAME_SIZE, "random:devices=%" PRIu32 ":topology=%s:seed=%d", devices,
	         topologies[topology], 900 + k);
	if (k % 2 == 0) {
		uint32_t batch = UINT32_C(1) << berth_rng_below(&rng, 7), training = berth_rng_below(&rng, 2);
		snprintf(graph, NAME_SIZE, "%s:batch=%" PRIu32 ":training=%" PRIu32,
		         models[k / 2 % N_MODELS], batch, training);
		return;
	}
	double ops = 200 * pow(10, berth_rng_unit(&rng)), ccr = 0.1 * pow(20, berth_rng_unit(&rng));
	uint32_t width = 4 + berth_rng_below(&rng, 28);
	snprintf(graph, NAME_SIZE, "random:ops=%.0f:seed=%d:ccr=%.2f:width=%" PRIu32, ops, 900 + k, ccr,
	         width);
}

void timed_pair(int i, char graph[NAME_SIZE], char system[NAME_SIZE])
{
	if (i >= N_CHOSEN) {
		name_drawn(i - N_CHOSEN, graph, system);
		return;
	}
	snprintf(graph, NAME_SIZE, "%s", chosen[i].graph);
	snprintf(system, NAME_SIZE, "%s", chosen[i].system);
}

void open_timed(subject *x, int i)
{
	char graph[NAME_SIZE], system[NAME_SIZE];
	timed_pair(i, graph, system);
	bench_open(x, graph, system);
}

void print_timed(int i)
{
	char graph[NAME_SIZE], system[NAME_SIZE];
	timed_pair(i, graph, system);
	printf("| %s on %s |", graph, system);
}

/* ---- held out ---- */

const char *const held_out_graphs[HELD_OUT_GRAPHS] = {
	"inception-v3:batch=16",
	"inception-v3:batch=8:training=1",
	"nasnet-a:size=mobile:batch=8",
	"nasnet-a:batch=8",
	"gpt2",
	"gpt2:batch=8:training=1",
	"vit:batch=8",
	"unet",
	"gnmt:seq=6",
	"transformer:batch=8",
	"moe:layers=4",
	"llama:layers=4",
	"llama-layer:tiles=2",
	"random:ops=400:seed=77",
	"random:ops=150:seed=78:ccr=1",
};
#define LIKE(machine) machine ":figures=catalogue"
const held_out_system held_out_systems[HELD_OUT_SYSTEMS] = {
	{"cpu+2gpu", false}, {"4gpu", false}, {"edge", false}, {"hetero-cluster", false},
	{LIKE("random:seed=101:devices=3"), false}, {LIKE("random:seed=102:topology=bus"), false},
	{LIKE("random:seed=103:devices=6:topology=hosts"), false},
	{LIKE("random:seed=104:devices=5:topology=star:heterogeneity=0.2"), false},
	{LIKE("random:seed=105:devices=7:topology=bus"), true}, {LIKE("random:seed=106:devices=12"), true},
	{LIKE("random:seed=107:devices=16:topology=hosts"), true},
};

/* No family of these is in scripts/training-pairs. */
static const char *const families[HELD_OUT_FAMILIES][3] = {
	{"inception-v3", "inception-v3:batch=16", "inception-v3:batch=4:training=1"},
	{"nasnet-a:size=mobile", "nasnet-a:size=mobile:batch=8", "nasnet-a:batch=4"},
	{"gpt2", "gpt2:batch=8", "gpt2:batch=8:training=1"},
	{"vit", "vit:batch=8", "vit:batch=8:training=1"},
	{"unet", "unet:batch=2", "unet:training=1"},
	{"gnmt:seq=4", "gnmt:seq=6", "gnmt:seq=8"},
	{"transformer", "transformer:batch=8", "transformer:batch=8:training=1"},
	{"moe:layers=2", "moe:layers=3", "moe:layers=4"},
	{"llama:layers=2", "llama:layers=4", "llama:layers=6"},
	{"llama-layer:tiles=2", "llama-block:tiles=2", "llama-block:tiles=4"},
};
const char *held_out_model(uint32_t family, berth_rng *rng)
{
	return families[family][berth_rng_below(rng, 3)];
}

void held_out_machine(int seed, berth_rng *rng, char out[HELD_OUT_TEXT])
{
	int devices = 3 + (int)berth_rng_below(rng, 5), spread = 10 + (int)berth_rng_below(rng, 90),
	    bandwidth = 1 << berth_rng_below(rng, 6), memory = 4 << berth_rng_below(rng, 4);
	snprintf(out, HELD_OUT_TEXT,
	         "random:devices=%d:topology=%s:seed=%d:heterogeneity=0.%d:bandwidth=%d:memory=%d", devices,
	         topologies[seed % 4], seed, spread, bandwidth, memory);
}

void open_held_out(subject *x, int i)
{
	bench_open(x, held_out_graphs[i / HELD_OUT_SYSTEMS], held_out_systems[i % HELD_OUT_SYSTEMS].name);
}
