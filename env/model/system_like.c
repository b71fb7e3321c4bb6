/* What a device of the catalogue gives to one of a system, and systems that are told as a list of such
 * devices. What no data sheet states is assumed here, by class. */
#include "system_read.h"

#include "collective.h"

#define HOST_LINK "pcie4x16"
#define TYPICAL_BYTES 16777216 /* of a collective: by them the way that is taken is chosen */
#define PCIE_JOULES 8e-11     /* a byte; about 10 pJ a bit */
#define NVLINK_JOULES 4.4e-11 /* 5.5 pJ a bit, of wires of 112 Gbit/s (besthub.dev on NVLink-C2C) */

/* ---- figures ---- */

/* About half to two thirds of the peak for dense linear algebra, less for the rest, which memory bounds. */
const berth_type_default *berth_like_efficiency(berth_device_class c)
{
	static const berth_type_default gpu[] = {{"*", 0.1},       {"Conv", 0.55},   {"ConvTranspose", 0.45},
	                                         {"Gemm", 0.6},    {"MatMul", 0.6},  {"Einsum", 0.5},
	                                         {"LSTM", 0.25},   {"GRU", 0.25},    {"RNN", 0.2},
	                                         {NULL, 0}};
	static const berth_type_default cpu[] = {{"*", 0.2},       {"Conv", 0.5},    {"ConvTranspose", 0.4},
	                                         {"Gemm", 0.6},    {"MatMul", 0.6},  {"Einsum", 0.5},
	                                         {"LSTM", 0.4},    {"GRU", 0.4},     {"RNN", 0.4},
	                                         {NULL, 0}};
	return c == BERTH_CLASS_CPU ? cpu : gpu;
}

void berth_system_like(berth_system *s, int32_t d, const berth_device_row *row)
{
	static const double overhead_s[BERTH_N_DEVICE_CLASSES] = {
		[BERTH_CLASS_GPU] = 5e-6, [BERTH_CLASS_CPU] = 2e-6, [BERTH_CLASS_NPU] = 2e-5};
	s->dev_like[d] = row->name;
	s->dev_class[d] = row->device_class;
	s->dev_peak_flops[d] = row->peak[BERTH_F32];
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		s->dev_peaks[d * BERTH_N_PRECISIONS + p] = p == BERTH_F32 ? 0 : row->peak[p];
	s->dev_mem_bandwidth[d] = row->mem_bandwidth;
	s->dev_memory_bytes[d] = row->memory_bytes > 0 ? (int64_t)row->memory_bytes : -1;
	s->dev_op_overhead_s[d] = overhead_s[row->device_class];
	s->dev_units[d] = row->units;
	s->dev_lanes[d] = row->lanes;
	s->dev_cache_bytes[d] = row->cache_bytes;
	s->dev_power_w[d] = row->watts;
	s->dev_process_nm[d] = row->process_nm;
	s->dev_idle_w[d] = row->watts > 0 ? row->watts / 10 : NAN;
	s->dev_busy_w[d] = row->watts > 0 ? row->watts : NAN;
}

/* ---- a computer in a line ---- */

enum { MOST_WORDS = 32 };

typedef struct host {
	const berth_device_row *dev[MOST_WORDS];
	char name[MOST_WORDS][16];
	int32_t n_devs, n_of[BERTH_N_DEVICE_CLASSES];
	int32_t cpu; /* the first one; -1: none */
	const berth_link_row *link, *nvlink;
} host;

static berth_status add_device(host *h, const char *kind, const berth_device_row *row, berth_err *err)
{
	berth_device_class c = row->device_class;
	if (strcmp(kind, berth_device_class_name(c)) != 0)
		return berth_fail(err, BERTH_EINVAL, "'%.40s' is a %s, not a %s", row->name,
		                  berth_device_class_name(c), kind);
	if (h->n_devs == MOST_WORDS)
		return berth_fail(err, BERTH_EINVAL, "more than %d devices", MOST_WORDS);
	if (c == BERTH_CLASS_CPU && h->cpu < 0)
		h->cpu = h->n_devs;
	snprintf(h->name[h->n_devs], sizeof h->name[0], "%s%d", kind, h->n_of[c]++);
	h->dev[h->n_devs++] = row;
	return BERTH_OK;
}

static berth_status add_word(host *h, const berth_catalogue *c, char *word, berth_arena *tmp, berth_err *err)
{
	char *eq = strchr(word, '=');
	const berth_device_row *row;
	const berth_link_row *link;
	if (!eq)
		return berth_fail(err, BERTH_EINVAL, "'%.40s' is no cpu=, gpu=, npu= or link=", word);
	*eq = '\0';
	if (strcmp(word, "link") == 0) {
		BERTH_TRY(berth_link_find(c, eq + 1, tmp, &link, err));
		*(strncmp(link->name, "nvlink", 6) == 0 ? &h->nvlink : &h->link) = link;
		return BERTH_OK;
	}
	static const char *const kinds[] = {"cpu", "gpu", "npu"};
	int32_t at;
	BERTH_TRY(berth_text_find(kinds, 3, word, "kind of device", "; expected cpu, gpu, npu or link", &at,
	                          err));
	const char *name = eq + 1, *end;
	int32_t n = berth_text_digits(name, MOST_WORDS, &end);
	if (n > 0 && *end == 'x' && end[1]) /* "4xa100" */
		name = end + 1;
	else
		n = 1;
	BERTH_TRY(berth_device_find(c, name, tmp, &row, err));
	for (; n > 0; n--)
		BERTH_TRY(add_device(h, word, row, err));
	return BERTH_OK;
}

static void open_link(const host *h, int32_t a, int32_t b, const berth_link_row *link, double joules,
                      berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "from", h->name[a]);
	berth_json_put_string(w, "to", h->name[b]);
	berth_json_put_number(w, "latency_s", link->latency_s);
	berth_json_put_number(w, "bandwidth", link->bandwidth);
	berth_json_put_number(w, "joules_per_byte", joules);
}

static bool is_gpu(const host *h, int32_t d)
{
	return h->dev[d]->device_class == BERTH_CLASS_GPU;
}

/* All that a GPU sends to others goes out of one port, and what it gets comes in by one: of those the first
 * is a channel. */
static void put_nvlink(const host *h, int32_t a, int32_t b, berth_json_out *w)
{
	double latency_s, bandwidth;
	char port[sizeof h->name[0] + 8];
	berth_fabric fabric = berth_link_fabric(h->nvlink);
	berth_collective_hop(h->n_of[BERTH_CLASS_GPU], TYPICAL_BYTES, &fabric, &latency_s, &bandwidth);
	snprintf(port, sizeof port, "%s.nvlink", h->name[a]);
	open_link(h, a, b, h->nvlink, NVLINK_JOULES, w);
	berth_json_put_string(w, "shared", port);
	berth_json_put_number(w, "collective_latency_s", latency_s);
	berth_json_put_number(w, "collective_bandwidth", bandwidth);
	berth_json_close(w, '}');
}

static void put_host(const host *h, const char *name, berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "format", "berth-system");
	berth_json_put_int(w, "version", 1);
	berth_json_put_string(w, "name", name);
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < h->n_devs; d++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", h->name[d]);
		berth_json_put_string(w, "like", h->dev[d]->name);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_open(w, "links", '[');
	for (int32_t a = 0; a < h->n_devs; a++)
		for (int32_t b = a + 1; b < h->n_devs; b++)
			if (h->nvlink && is_gpu(h, a) && is_gpu(h, b)) {
				put_nvlink(h, a, b, w);
				put_nvlink(h, b, a, w);
			} else if (h->cpu < 0 || a == h->cpu || b == h->cpu) {
				/* What has not its bandwidth both ways at once is one channel for both. */
				const berth_link_row *link = h->link;
				char channel[2 * sizeof h->name[0] + 2];
				open_link(h, a, b, link, PCIE_JOULES, w);
				berth_json_put_bool(w, "both_ways", true);
				snprintf(channel, sizeof channel, "%s-%s", h->name[a], h->name[b]);
				if (!link->both_ways)
					berth_json_put_string(w, "shared", channel);
				berth_json_close(w, '}');
			}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

static berth_status host_text(const char *words, berth_arena *mem, berth_arena *tmp, const char **text,
                              size_t *size, berth_err *err)
{
	berth_catalogue c;
	host h = {.cpu = -1};
	berth_json_out w;
	BERTH_TRY(berth_catalogue_read(tmp, &c, err));
	for (const char *at = words; *at;) {
		at += strspn(at, " ");
		size_t n = strcspn(at, ",+");
		while (at[n] == '+' && (!at[n + 1] || strchr(",+", at[n + 1]))) /* of a name */
			n++;
		char *word = berth_arena_strndup(tmp, at, n);
		BERTH_TRY(berth_got(word, err));
		BERTH_TRY(add_word(&h, &c, word, tmp, err));
		at += n + (at[n] != '\0');
	}
	if (!h.n_devs)
		return berth_fail(err, BERTH_EINVAL, "no device; expected cpu= or gpu=");
	if (!h.link)
		BERTH_TRY(berth_link_find(&c, HOST_LINK, tmp, &h.link, err));
	berth_json_out_init(&w, mem, false);
	const char *name = berth_arena_printf(tmp, "host:%s", words);
	BERTH_TRY(berth_got(name, err));
	put_host(&h, name, &w);
	return berth_json_done(&w, text, size, err);
}

berth_status berth_system_host_text(const char *words, berth_arena *mem, berth_arena *tmp, const char **text,
                                    size_t *size, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_status st = host_text(words, mem, tmp, text, size, err);
	if (st == BERTH_EFORMAT || st == BERTH_EINVAL)
		return berth_fail_in(err, BERTH_EINVAL, "host:%.60s: ", words);
	return st;
}
