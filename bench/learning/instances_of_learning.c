/* Instances of the tables of docs/learning.md: six with room to learn in, those of equal time, and pairs that
 * the shipped policy was not trained on. */
#include "instances_of_learning.h"

const bench_pair six[N_SIX] = {
	{"inception-v3", "cpu+2gpu"},
	{"inception-v3:batch=8", "hetero-cluster"},
	{"resnet50:batch=192:training=1", "cpu+2gpu"},
	{"bert-base:batch=64:training=1", "hetero-cluster"},
	{"random:ops=200:seed=11", "cpu+2gpu"},
	{"random:ops=300:ccr=1:seed=12", "hetero-cluster"},
};

const char *print_at_once(const subject *x, berth_metric m, const char *const *method, int n, double scale,
                          double *single, double *best)
{
	const char *which = "none";
	double first = 0, least = INFINITY;
	for (int k = 0; k < n; k++) {
		double value = bench_value_of(x, method[k], m, 0);
		first = k == 0 ? value : first;
		which = value < least ? method[k] : which;
		least = fmin(least, value);
	}
	bench_print_value(first * scale, "%.4g", "does not fit");
	bench_print_value(least * scale, "%.4g", "does not fit");
	*single = first;
	*best = least;
	return which;
}

/* ---- of equal time ---- */

static const char *const topologies[] = {"full", "bus", "star", "hosts"};

static const timed chosen[N_CHOSEN] = {
	{"inception-v3:batch=16", "cpu+2gpu"}, {"inception-v3:batch=8", "hetero-cluster"},
	{"inception-v3:batch=8:training=1", "4gpu"}, {"nasnet-a:batch=8", "cpu+2gpu"},
	{"nasnet-a:batch=8", "hetero-cluster"}, {"nasnet-a:size=mobile:batch=64", "4gpu"},
	{"resnet50:batch=192:training=1", "cpu+2gpu"}, {"resnet18:training=1:batch=16", "4gpu"},
	{"bert-base:batch=64:training=1", "hetero-cluster"}, {"bert-large:training=1:batch=8", "4gpu"},
	{"gpt2-medium:training=1:batch=4", "hetero-cluster"}, {"gpt2:batch=8:training=1", "4gpu"},
	{"vit:batch=32:training=1", "cpu+2gpu"}, {"randwire:batch=64", "4gpu"},
	{"randwire:graph=er:batch=64", "hetero-cluster"}, {"rnnlm:seq=20:layers=4", "4gpu"},
	{"gnmt:seq=10", "4gpu"}, {"gnmt:seq=6", "hetero-cluster"}, {"moe:layers=4", "edge"},
	{"llama-layer:tiles=4", "4gpu"}, {"llama-layer:tiles=4", "cpu+2gpu"}, {"ffnn:tiles=4", "cpu+2gpu"},
	{"chain-mm:tiles=4", "4gpu"}, {"random:ops=400:seed=21", "cpu+2gpu"},
	{"random:ops=600:ccr=1:seed=22", "hetero-cluster"}, {"random:ops=2000:seed=23:width=20", "4gpu"},
	{"random:ops=3000:seed=24:width=30", "hetero-cluster"},
	{"random:ops=1000:seed=25:ccr=0.1", "random:devices=8:seed=9"},
};

/* Those behind the table are drawn by a rule: every other one is a model of the zoo, the others are random
 * graphs, all on random machines that nothing was ever chosen by. */
timed timed_pair(int i)
{
	static const char *const models[] = {"inception-v3", "resnet50",          "nasnet-a:size=mobile",
	                                     "randwire",     "randwire:graph=ba", "mobilenet-v2",
	                                     "densenet121",  "bert-base",         "gpt2",
	                                     "vit",          "transformer",       "unet",
	                                     "gnmt:seq=8",   "rnnlm:seq=16"};
	timed out;
	int k = i - N_CHOSEN;
	if (k < 0)
		return chosen[i];
	berth_rng rng = berth_rng_seed(2026, (uint64_t)k);
	unsigned devices = 2 + berth_rng_below(&rng, 7), topology = berth_rng_below(&rng, 4);
	snprintf(out.system, NAME_SIZE, "random:devices=%u:topology=%s:seed=%d", devices,
	         topologies[topology], 900 + k);
	if (k % 2 == 0) {
		unsigned batch = 1U << berth_rng_below(&rng, 7), training = berth_rng_below(&rng, 2);
		snprintf(out.graph, NAME_SIZE, "%s:batch=%u:training=%u", models[k / 2 % BENCH_N(models)],
		         batch, training);
		return out;
	}
	double ops = 200 * pow(10, berth_rng_unit(&rng)), ccr = 0.1 * pow(20, berth_rng_unit(&rng));
	snprintf(out.graph, NAME_SIZE, "random:ops=%.0f:seed=%d:ccr=%.2f:width=%u", ops, 900 + k, ccr,
	         4 + (unsigned)berth_rng_below(&rng, 28));
	return out;
}

void print_timed(int i)
{
	const timed name = timed_pair(i);
	printf("| %s on %s |", name.graph, name.system);
}

/* ---- held out ---- */

const char *const held_out_graphs[HELD_OUT_GRAPHS] = {
	"inception-v3:batch=16", "inception-v3:batch=8:training=1", "nasnet-a:size=mobile:batch=8",
	"nasnet-a:batch=8", "gpt2", "gpt2:batch=8:training=1", "vit:batch=8", "unet", "gnmt:seq=6",
	"transformer:batch=8", "moe:layers=4", "llama:layers=4", "llama-layer:tiles=2",
	"random:ops=400:seed=77", "random:ops=150:seed=78:ccr=1",
};
#define LIKE(machine) "random:" machine ":figures=catalogue"
const char *const held_out_systems[HELD_OUT_SYSTEMS] = {
	"cpu+2gpu", "4gpu", "edge", "hetero-cluster", LIKE("seed=101:devices=3"),
	LIKE("seed=102:topology=bus"),
	LIKE("seed=103:devices=6:topology=hosts"), LIKE("seed=104:devices=5:topology=star:heterogeneity=0.2"),
	LIKE("seed=105:devices=7:topology=bus"), LIKE("seed=106:devices=12"),
	LIKE("seed=107:devices=16:topology=hosts"),
};

bench_pair held_out(int i)
{
	return (bench_pair){held_out_graphs[i / HELD_OUT_SYSTEMS], held_out_systems[i % HELD_OUT_SYSTEMS]};
}

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

/* ---- weights ---- */

nn_real *params_of(const berth_policy_file *f, berth_arena *mem)
{
	size_t n = policy_param_count(&f->dims);
	nn_real *params = bench_new(mem, n, sizeof *params);
	return BERTH_COPY(params, f->params, n);
}

void forget_rows(const policy_dims *d, nn_real *params, const char *tensor, int first, int last)
{
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor t = policy_tensor_at(d, i);
		for (int row = first; row <= last && row < t.copies * t.rows && strcmp(t.name, tensor) == 0;
		     row++)
			BERTH_CLEAR(BERTH_ROW(params + t.offset, row, t.columns), t.columns);
	}
}
