/* One list of GPUs out of what several libraries tell, and what none of them tells out of datasheets. */
#include "gpu_ask.h"

#include <math.h>
#include <string.h>

/* ---- one device that several tell of ---- */

static bool same_place(const berth_pci *a, const berth_pci *b)
{
	return a->domain == b->domain && a->bus == b->bus && a->device == b->device &&
	       a->function == b->function;
}

/* Is the UUID one? Some drivers give zeros. */
static bool has_uuid(const berth_gpu *g)
{
	static const unsigned char zeros[16];
	return g->has_uuid && memcmp(g->uuid, zeros, sizeof zeros) != 0;
}

static bool same_name(const berth_gpu *a, const berth_gpu *b)
{
	char x[128], y[128];
	gpu_plain_name(a->name, x);
	gpu_plain_name(b->name, y);
	return *x && strcmp(x, y) == 0;
}

/* Do they say that they are one device (1), that they are two (-1), or neither (0)? */
static int compare(const berth_gpu *a, const berth_gpu *b)
{
	if (a->pci.known && b->pci.known)
		return same_place(&a->pci, &b->pci) ? 1 : -1;
	if (has_uuid(a) && has_uuid(b) && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0)
		return 1;
	return 0;
}

static void join(berth_gpu *to, const berth_gpu *from)
{
	to->libraries |= from->libraries;
	if (!to->pci.known)
		to->pci = from->pci;
	if (!to->has_uuid && from->has_uuid) {
		to->has_uuid = true;
		memcpy(to->uuid, from->uuid, sizeof to->uuid);
	}
	if (!*to->name)
		memcpy(to->name, from->name, sizeof to->name);
	if (!*to->driver)
		memcpy(to->driver, from->driver, sizeof to->driver);
	if (from->nature == BERTH_GPU_SOFTWARE || to->nature == BERTH_GPU_UNKNOWN)
		to->nature = from->nature;
	for (int i = 0; i < BERTH_N_GPU_FIGURES; i++)
		to->figure[i] = *berth_figure_better(&to->figure[i], &from->figure[i]);
}

/* The device of out that g is, or -1. taken: devices that another one of the same answer was already found to
 * be; only a place or a UUID brings two of them together. */
static int32_t find(const berth_gpus *out, const bool *taken, const berth_gpu *g)
{
	for (int32_t i = 0; i < out->n; i++)
		if (compare(&out->gpu[i], g) > 0)
			return i;
	for (int32_t i = 0; i < out->n; i++)
		if (!taken[i] && compare(&out->gpu[i], g) == 0 && same_name(&out->gpu[i], g))
			return i;
	return -1;
}

/* Which device of out the i-th of an answer is; -1: there is no more room. */
static int32_t place(berth_gpus *out, bool *taken, const berth_gpu *g)
{
	int32_t at = find(out, taken, g);
	if (at < 0 && out->n == BERTH_MAX_GPUS)
		return -1;
	if (at >= 0)
		join(&out->gpu[at], g);
	else {
		out->gpu[at = out->n++] = *g;
		memset(out->gpu[at].peer_bandwidth, 0, sizeof g->peer_bandwidth);
		memset(out->gpu[at].peer_latency_s, 0, sizeof g->peer_latency_s);
	}
	taken[at] = true;
	return at;
}

static int32_t add_answer(const berth_gpus *from, berth_gpus *out)
{
	bool taken[BERTH_MAX_GPUS] = {false};
	int32_t at[BERTH_MAX_GPUS], platform = 0, dropped = 0;
	for (int32_t i = 0; i < from->n; i++) {
		if (from->gpu[i].platform != platform) /* another driver, which may tell of the same devices
		                                        */
			memset(taken, 0, sizeof taken);
		platform = from->gpu[i].platform;
		at[i] = place(out, taken, &from->gpu[i]);
		dropped += at[i] < 0;
	}
	for (int32_t i = 0; i < from->n; i++)
		for (int32_t k = 0; k < from->n && at[i] >= 0; k++)
			if (at[k] >= 0 && at[k] != at[i] && from->gpu[i].peer_bandwidth[k] > 0) {
				out->gpu[at[i]].peer_bandwidth[at[k]] = from->gpu[i].peer_bandwidth[k];
				out->gpu[at[i]].peer_latency_s[at[k]] = from->gpu[i].peer_latency_s[k];
			}
	return dropped;
}

void berth_gpus_merge(const berth_gpu_answer *answer, berth_gpus *out, int32_t *dropped)
{
	*dropped = 0;
	out->n = 0;
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++)
		*dropped += add_answer(&answer[l].gpus, out);
}

/* ---- datasheets ---- */

typedef struct table_row {
	const char *name;
	double memory_gb;    /* 0: any */
	double tflops, gb_s; /* gb_s 0: its memory is the CPU's */
	const char *source;
} table_row;

static const table_row rows[] = {
	{"NVIDIA H100 80GB HBM3", 0, 67, 3350, "NVIDIA H100 data sheet"},
	{"NVIDIA H100 PCIe", 0, 51, 2000, "NVIDIA H100 data sheet"},
	{"NVIDIA A100-SXM4-40GB", 0, 19.5, 1555, "NVIDIA A100 data sheet"},
	{"NVIDIA A100-SXM4-80GB", 0, 19.5, 2039, "NVIDIA A100 data sheet"},
	{"NVIDIA A100-PCIE-40GB", 0, 19.5, 1555, "NVIDIA A100 data sheet"},
	{"NVIDIA A100 80GB PCIe", 0, 19.5, 1935, "NVIDIA A100 data sheet"},
	{"Tesla V100-SXM2-16GB", 0, 15.7, 900, "NVIDIA V100 data sheet"},
	{"Tesla V100-SXM2-32GB", 0, 15.7, 900, "NVIDIA V100 data sheet"},
	{"Tesla V100-PCIE-16GB", 0, 14, 900, "NVIDIA V100 data sheet"},
	{"Tesla V100-PCIE-32GB", 0, 14, 900, "NVIDIA V100 data sheet"},
	{"Tesla T4", 0, 8.1, 320, "NVIDIA T4 data sheet"},
	{"NVIDIA A40", 0, 37.4, 696, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA RTX A6000", 0, 38.7, 768, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 3090", 0, 35.6, 936, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 3080", 10, 29.8, 760, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 3070", 0, 20.3, 448, "NVIDIA Ampere GA102 GPU Architecture"},
	{"NVIDIA GeForce RTX 4090", 0, 82.6, 1008, "NVIDIA Ada GPU Architecture"},
	{"NVIDIA GeForce RTX 4080", 16, 48.7, 716.8, "NVIDIA Ada GPU Architecture"},
	{"NVIDIA GeForce RTX 2080 Ti", 0, 13.4, 616, "NVIDIA Turing GPU Architecture"},
	{"NVIDIA GeForce GTX 1080 Ti", 0, 11.3, 484, "NVIDIA product page"},
	{"AMD Radeon RX 7900 XTX", 0, 61.4, 960, "AMD product page"},
	{"AMD Radeon RX 7900 XT", 0, 51.6, 800, "AMD product page"},
	{"AMD Radeon RX 7800 XT", 0, 37.3, 624, "AMD product page"},
	{"AMD Radeon RX 7600", 8, 21.75, 288, "AMD product page"},
	{"AMD Radeon RX 6900 XT", 0, 23.04, 512, "AMD product page"},
	{"AMD Radeon RX 6800 XT", 0, 20.74, 512, "AMD product page"},
	{"AMD Radeon RX 6800", 0, 16.17, 512, "AMD product page"},
	{"AMD Radeon RX 6700 XT", 0, 13.21, 384, "AMD product page"},
	{"AMD Radeon RX 6600 XT", 0, 10.6, 256, "AMD product page"},
	{"AMD Radeon RX 6600", 0, 8.93, 224, "AMD product page"},
	{"AMD Radeon RX 5700 XT", 0, 9.75, 448, "AMD product page"},
	{"AMD Radeon RX Vega 64", 0, 12.66, 483.8, "AMD product page"},
	{"AMD Radeon RX 580", 8, 6.17, 256, "AMD product page"},
	{"AMD Custom GPU 0405", 0, 1.6, 0, "Valve, Steam Deck tech specs"},
	{"Intel Arc A770 Graphics", 16, 17.2, 560, "Intel ARK"},
	{"Intel Arc A750 Graphics", 0, 14.7, 512, "Intel ARK"},
	{"Intel Arc A380 Graphics", 0, 4.1, 186, "Intel ARK"},
};

/* Memory as sold is 10^9 or 2^30 bytes a GB, and drivers keep some of it. */
static bool fits(const table_row *r, const char *plain, double memory_bytes)
{
	char name[128];
	gpu_plain_name(r->name, name);
	return strcmp(name, plain) == 0 &&
	       (r->memory_gb == 0 || fabs(memory_bytes / 1.05e9 / r->memory_gb - 1) < 0.12);
}

static void fill(berth_figure *f, double value, const table_row *r)
{
	if (f->origin == BERTH_ORIGIN_MISSING && value > 0)
		*f = berth_figure_of(value, 0, INFINITY, BERTH_ORIGIN_TABLE, "%s", r->source);
}

void berth_gpus_look_up(berth_gpus *gpus)
{
	char plain[128];
	for (int32_t i = 0; i < gpus->n; i++) {
		berth_gpu *g = &gpus->gpu[i];
		gpu_plain_name(g->name, plain);
		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
			if (fits(&rows[k], plain, g->figure[BERTH_GPU_MEMORY].value)) {
				fill(&g->figure[BERTH_GPU_PEAK], rows[k].tflops * 1e12, &rows[k]);
				fill(&g->figure[BERTH_GPU_BANDWIDTH], rows[k].gb_s * 1e9, &rows[k]);
			}
	}
}
