/* One list of GPUs out of what several libraries tell, and what none of them tells out of the catalogue. */
#include "gpu_ask.h"

#include "catalogue.h"

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
	if (at >= 0) {
		out->gpu[at].libraries |= g->libraries;
		if (!out->gpu[at].pci.known)
			out->gpu[at].pci = g->pci;
		if (!out->gpu[at].has_uuid && g->has_uuid) {
			out->gpu[at].has_uuid = true;
			memcpy(out->gpu[at].uuid, g->uuid, sizeof out->gpu[at].uuid);
		}
		if (!*out->gpu[at].name)
			memcpy(out->gpu[at].name, g->name, sizeof out->gpu[at].name);
		if (!*out->gpu[at].driver)
			memcpy(out->gpu[at].driver, g->driver, sizeof out->gpu[at].driver);
		if (g->nature == BERTH_GPU_SOFTWARE || out->gpu[at].nature == BERTH_GPU_UNKNOWN)
			out->gpu[at].nature = g->nature;
		for (int i = 0; i < BERTH_N_GPU_FIGURES; i++)
			out->gpu[at].figure[i] = *berth_figure_better(&out->gpu[at].figure[i], &g->figure[i]);
	} else {
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

/* Is one of the names that a row has from drivers this plain one? */
static bool is_called(const berth_device_row *row, const char *plain)
{
	char one[128], other[128];
	for (const char *name = row->drivers; *name;) {
		size_t n = strcspn(name, "|");
		snprintf(one, sizeof one, "%.*s", (int)n, name);
		gpu_plain_name(one, other);
		if (strcmp(other, plain) == 0)
			return true;
		name += n + (name[n] == '|');
	}
	return false;
}

/* Memory as sold is 10^9 or 2^30 bytes a GB, and drivers keep some of it. */
static bool fits(const berth_device_row *row, double memory_bytes)
{
	return row->memory_bytes == 0 || memory_bytes == 0 ||
	       fabs(memory_bytes / 1.05 / row->memory_bytes - 1) < 0.12;
}

static void fill(berth_figure *f, double value, const berth_device_row *row)
{
	if (f->origin == BERTH_ORIGIN_MISSING && value > 0)
		*f = berth_figure_of(value, 0, INFINITY, BERTH_ORIGIN_TABLE, "catalogue: %s", row->name);
}

berth_status berth_gpus_look_up(berth_gpus *gpus, berth_arena *tmp, berth_err *err)
{
	char plain[128];
	berth_catalogue c;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_catalogue_read(tmp, &c, err));
	for (int32_t i = 0; i < gpus->n; i++) {
		berth_gpu *g = &gpus->gpu[i];
		gpu_plain_name(g->name, plain);
		for (int32_t k = 0; k < c.n_devices; k++) {
			const berth_device_row *row = &c.device[k];
			if (*plain && is_called(row, plain) && fits(row, g->figure[BERTH_GPU_MEMORY].value)) {
				fill(&g->figure[BERTH_GPU_PEAK], row->peak[BERTH_F32], row);
				/* the memory of one without its own is the CPU's */
				fill(&g->figure[BERTH_GPU_BANDWIDTH],
				     row->memory_bytes > 0 ? row->mem_bandwidth : 0, row);
			}
		}
	}
	return BERTH_OK;
}
