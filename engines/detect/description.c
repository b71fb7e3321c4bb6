/* The description of a machine out of what was found: devices, links and memory pools, where each figure
 * tells its origin. It becomes a system by way of the system file's JSON. */
#include "description.h"

#include "json.h"
#include "system_json.h"

const char *berth_device_figure_name(berth_device_figure f)
{
	static const char *const name[] = {"peak_flops", "mem_bandwidth", "memory_bytes", "op_overhead_s",
	                                   "fresh_bandwidth"};
	return name[f];
}

static berth_status alloc(berth_description *d, int32_t n_devs, int32_t n_links, int32_t n_pools,
                          berth_arena *mem, berth_err *err)
{
	BERTH_TRY_NEW(mem, n_devs, err, d->dev);
	BERTH_TRY_NEW(mem, n_links, err, d->link);
	return BERTH_NEW(mem, d->pool, n_pools, err);
}

static berth_status add_device(berth_description *d, const char *name, const char *kind, const char *model,
                               berth_err *err)
{
	if (!name || !kind || !model)
		return berth_nomem(err);
	d->dev[d->n_devs++] =
		(berth_described_device){.name = name, .kind = kind, .model = model, .pool = -1};
	return BERTH_OK;
}

static void add_link(berth_description *d, int32_t from, int32_t to, const berth_figure *bandwidth,
                     const berth_figure *latency)
{
	d->link[d->n_links++] = (berth_described_link){from, to, *latency, *bandwidth};
}

/* A guest is told all of a cache that it shares with others, whom it does not see: where that is more than
 * any core has for itself, a core counts with what it has in servers. By twelve models on such a guest
 * (docs/times.md). */
static int64_t cache_of(const berth_cpu_node *n, int32_t n_cores)
{
	static const int64_t most = 32 << 20, usual = 4 << 20;
	return n->cache_bytes > most * n->n_cores ? usual * n_cores : n->cache_bytes;
}

static void set_cpu(berth_described_device *dev, const berth_cpu_figures *f, int64_t memory_bytes,
                    bool limited)
{
	dev->figure[BERTH_PEAK_FLOPS] = f->peak_flops;
	dev->figure[BERTH_MEM_BANDWIDTH] = f->mem_bandwidth;
	dev->figure[BERTH_MEMORY_BYTES] =
		memory_bytes > 0 ? berth_figure_of((double)memory_bytes, 1, 0x1p53, BERTH_ORIGIN_DRIVER, "%s",
	                                           limited ? "that the container may use" : "")
				 : berth_figure_missing("the system does not tell");
	dev->figure[BERTH_OP_OVERHEAD_S] = f->overhead;
	dev->figure[BERTH_FRESH_BANDWIDTH] = f->fresh_bandwidth;
}

/* ---- of a machine ---- */

static berth_status add_cpus(const berth_machine *m, berth_arena *mem, berth_description *d, berth_err *err)
{
	for (int32_t i = 0; i < m->cpus.n; i++) {
		const berth_cpu_node *n = &m->cpus.node[i];
		const char *model =
			berth_arena_printf(mem, "%s%s%d core%s", m->cpus.model, *m->cpus.model ? ", " : "",
		                           (int)n->n_cores, n->n_cores == 1 ? "" : "s");
		BERTH_TRY(add_device(d, berth_arena_printf(mem, "cpu%d", (int)i), "cpu", model, err));
		set_cpu(&d->dev[i], &m->node[i], n->memory_bytes, n->limited);
		d->dev[i].n_cores = n->n_cores;
		d->dev[i].cache_bytes = cache_of(n, n->n_cores);
	}
	for (int32_t i = 0; i < m->cpus.n; i++)
		for (int32_t k = 0; k < m->cpus.n; k++)
			if (i != k)
				add_link(d, i, k, &m->node_bandwidth[i * m->cpus.n + k],
				         &m->node_latency[i * m->cpus.n + k]);
	return BERTH_OK;
}

/* The device that is the node next to a GPU: the first where nobody says. */
static int32_t node_of(const berth_machine *m, int32_t gpu)
{
	for (int32_t i = 0; i < m->cpus.n; i++)
		if (m->cpus.node[i].number >= 0 && m->cpus.node[i].number == m->gpu_node[gpu])
			return i;
	return 0;
}

static bool shares_memory(const berth_gpu *g)
{
	return g->nature == BERTH_GPU_INTEGRATED || g->nature == BERTH_GPU_SOFTWARE;
}

/* What a GPU in the CPU's memory has of the CPU: where its own figures are missing, the memory is the same.
 */
static void share_figures(const berth_described_device *cpu, berth_described_device *dev)
{
	const berth_figure *rate = &cpu->figure[BERTH_MEM_BANDWIDTH],
			   *most = &cpu->figure[BERTH_MEMORY_BYTES];
	berth_figure *bandwidth = &dev->figure[BERTH_MEM_BANDWIDTH],
		     *memory = &dev->figure[BERTH_MEMORY_BYTES];
	if (bandwidth->origin == BERTH_ORIGIN_MISSING && rate->origin != BERTH_ORIGIN_MISSING)
		*bandwidth = berth_figure_of(rate->value, 0, INFINITY, rate->origin,
		                             "by the CPU, whose memory it shares");
	if (most->origin != BERTH_ORIGIN_MISSING && memory->value > most->value)
		*memory = berth_figure_of(most->value, 0, INFINITY, BERTH_ORIGIN_DRIVER,
		                          "all of the CPU's memory");
}

static void link_gpu(const berth_machine *m, int32_t gpu, int32_t at, berth_description *d)
{
	const berth_gpu *g = &m->gpus.gpu[gpu];
	int32_t cpu = node_of(m, gpu);
	const berth_figure *rate = &d->dev[cpu].figure[BERTH_MEM_BANDWIDTH];
	berth_figure other = m->pcie[gpu];
	if (shares_memory(g) && rate->origin != BERTH_ORIGIN_MISSING) /* a copy reads and writes */
		other = berth_figure_of(rate->value / 2, 0, INFINITY, rate->origin,
		                        "half of what the CPU reads and writes in the memory of both");
	add_link(d, cpu, at, berth_figure_better(&g->figure[BERTH_GPU_TO_BANDWIDTH], &other),
	         &g->figure[BERTH_GPU_TO_LATENCY]);
	add_link(d, at, cpu, berth_figure_better(&g->figure[BERTH_GPU_FROM_BANDWIDTH], &other),
	         &g->figure[BERTH_GPU_FROM_LATENCY]);
}

static berth_status add_gpu(const berth_machine *m, int32_t gpu, const char *name, berth_arena *mem,
                            berth_description *d, berth_err *err)
{
	static const berth_gpu_figure from[] = {BERTH_GPU_PEAK, BERTH_GPU_BANDWIDTH, BERTH_GPU_MEMORY,
	                                        BERTH_GPU_OVERHEAD};
	const berth_gpu *g = &m->gpus.gpu[gpu];
	int32_t at = d->n_devs;
	BERTH_TRY(add_device(d, name, g->nature == BERTH_GPU_SOFTWARE ? "software" : "gpu", g->name, err));
	berth_described_device *dev = &d->dev[at];
	dev->driver = *g->driver ? g->driver : NULL;
	dev->libraries = g->libraries;
	dev->nature = g->nature;
	if (g->pci.known && !(dev->pci = berth_arena_printf(mem, "%04x:%02x:%02x.%x", g->pci.domain,
	                                                    g->pci.bus, g->pci.device, g->pci.function)))
		return berth_nomem(err);
	for (int f = 0; f < BERTH_FRESH_BANDWIDTH; f++)
		dev->figure[f] = g->figure[from[f]];
	dev->figure[BERTH_FRESH_BANDWIDTH] = berth_figure_missing("");
	if (shares_memory(g))
		share_figures(&d->dev[node_of(m, gpu)], dev);
	link_gpu(m, gpu, at, d);
	return BERTH_OK;
}

static berth_status add_gpus(const berth_machine *m, bool software, berth_arena *mem, int32_t *gpu_dev,
                             berth_description *d, berth_err *err)
{
	int32_t n_gpus = 0, n_software = 0;
	for (int32_t i = 0; i < m->gpus.n; i++) {
		bool soft = m->gpus.gpu[i].nature == BERTH_GPU_SOFTWARE;
		int32_t *number = soft ? &n_software : &n_gpus;
		gpu_dev[i] = d->n_devs;
		BERTH_TRY(add_gpu(m, i, berth_arena_printf(mem, soft ? "soft%d" : "gpu%d", (int)(*number)++),
		                  mem, d, err));
		if (soft && !software)
			d->dev[gpu_dev[i]].left_out =
				"it is the CPU once more (--software-devices takes it in)";
	}
	return BERTH_OK;
}

static void link_peers(const berth_machine *m, const int32_t *gpu_dev, berth_description *d)
{
	for (int32_t i = 0; i < m->gpus.n; i++)
		for (int32_t k = 0; k < m->gpus.n; k++) {
			const berth_gpu *g = &m->gpus.gpu[i];
			if (!(g->peer_bandwidth[k] > 0))
				continue;
			berth_figure rate = berth_figure_of((double)g->peer_bandwidth[k],
			                                    BERTH_LEAST_BANDWIDTH, BERTH_MOST_BANDWIDTH,
			                                    BERTH_ORIGIN_MEASURED, "copies between the GPUs");
			berth_figure delay = berth_figure_of((double)g->peer_latency_s[k], 1e-9, 10,
			                                     BERTH_ORIGIN_MEASURED, "a copy of four bytes");
			add_link(d, gpu_dev[i], gpu_dev[k], &rate, &delay);
		}
}

/* The memory of a node, if it is a pool: it has a GPU, or there are other nodes whose copies go through it.
 * Its bandwidth is the greatest that a member was seen to reach. */
static berth_status add_pool(const berth_machine *m, int32_t node, const int32_t *gpu_dev, berth_arena *mem,
                             berth_description *d, berth_err *err)
{
	bool shared = m->cpus.n > 1;
	berth_described_pool p = {berth_arena_printf(mem, "dram%d", (int)node),
	                          d->dev[node].figure[BERTH_MEM_BANDWIDTH],
	                          d->dev[node].figure[BERTH_MEMORY_BYTES]};
	BERTH_TRY(berth_got(p.name, err));
	if (p.bandwidth.origin == BERTH_ORIGIN_MISSING)
		return BERTH_OK;
	for (int32_t i = 0; i < m->gpus.n; i++) {
		berth_described_device *dev = &d->dev[gpu_dev[i]];
		if (dev->left_out || !shares_memory(&m->gpus.gpu[i]) || node_of(m, i) != node)
			continue;
		shared = true;
		dev->pool = d->n_pools;
		if (dev->figure[BERTH_MEM_BANDWIDTH].value > p.bandwidth.value)
			p.bandwidth = dev->figure[BERTH_MEM_BANDWIDTH];
	}
	if (shared) {
		d->dev[node].pool = d->n_pools;
		d->pool[d->n_pools++] = p;
	}
	return BERTH_OK;
}

berth_status berth_describe_machine(const berth_machine *m, bool software, berth_arena *mem,
                                    berth_description *out, berth_err *err)
{
	berth_description d = {.name = "host", .contention = true};
	int32_t gpu_dev[BERTH_MAX_GPUS], n = m->cpus.n, n_gpus = m->gpus.n;
	BERTH_TRY(alloc(&d, n + n_gpus, n * n + n_gpus * (n_gpus + 1), n, mem, err));
	BERTH_TRY(add_cpus(m, mem, &d, err));
	BERTH_TRY(add_gpus(m, software, mem, gpu_dev, &d, err));
	link_peers(m, gpu_dev, &d);
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(add_pool(m, i, gpu_dev, mem, &d, err));
	*out = d;
	return BERTH_OK;
}

/* ---- of an engine ---- */

berth_status berth_describe_engine(const berth_cpu_nodes *cpus, int32_t n_cores,
                                   const berth_cpu_figures *core, const berth_figure *latency, int32_t n,
                                   const char *const *names, const char *const *kinds,
                                   const int64_t *memory_bytes, berth_arena *mem, berth_description *out,
                                   berth_err *err)
{
	const berth_figure nobody = berth_figure_missing("the engine does not tell");
	berth_description d = {.name = "host"};
	int64_t memory = 0;
	int32_t n_cpus = 0;
	for (int32_t i = 0; i < cpus->n; i++)
		memory += cpus->node[i].memory_bytes;
	for (int32_t i = 0; i < n; i++)
		n_cpus += strcmp(kinds[i], "cpu") == 0;
	const char *model = berth_arena_strdup(mem, cpus->model);
	BERTH_TRY(alloc(&d, n, n * n, 0, mem, err));
	for (int32_t i = 0; i < n; i++) {
		bool cpu = strcmp(kinds[i], "cpu") == 0;
		BERTH_TRY(add_device(&d, names[i], kinds[i], cpu ? model : "", err));
		for (int f = 0; f < BERTH_N_DEVICE_FIGURES; f++)
			d.dev[i].figure[f] = nobody;
		if (cpu) {
			set_cpu(&d.dev[i], core, memory / n_cpus, cpus->node[0].limited);
			d.dev[i].n_cores = n_cores;
			d.dev[i].cache_bytes = cache_of(&cpus->node[0], n_cores);
		}
		if (memory_bytes[i] >= 0)
			d.dev[i].figure[BERTH_MEMORY_BYTES] = berth_figure_of(
				(double)memory_bytes[i], 0, 0x1p53, BERTH_ORIGIN_DRIVER, "by the engine");
	}
	berth_figure copy = berth_figure_of(core->mem_bandwidth.value / 2, 1e-9, INFINITY,
	                                    core->mem_bandwidth.origin, "copies of the cores");
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < n; k++) {
			bool cpus_both = strcmp(kinds[i], "cpu") == 0 && strcmp(kinds[k], "cpu") == 0;
			if (i != k)
				add_link(&d, i, k, cpus_both ? &copy : &nobody,
				         cpus_both ? latency : &nobody);
		}
	*out = d;
	return BERTH_OK;
}

/* ---- as a system ---- */

void berth_description_settle(berth_description *d)
{
	for (int32_t i = 0; i < d->n_devs && d->n_devs > 1; i++) {
		bool to = false, from = false;
		for (int32_t l = 0; l < d->n_links; l++) {
			const berth_described_link *x = &d->link[l];
			bool known = x->bandwidth.origin != BERTH_ORIGIN_MISSING;
			to |= known && x->to == i;
			from |= known && x->from == i;
		}
		if (!d->dev[i].left_out && !(to && from))
			d->dev[i].left_out = "nobody tells how fast tensors get to it and from it";
	}
}

/* Four digits: more would be noise. */
static double rounded(const berth_figure *f)
{
	char digits[32];
	snprintf(digits, sizeof digits, "%.4g", f->value);
	return f->origin == BERTH_ORIGIN_GIVEN ? f->value : strtod(digits, NULL);
}

static void put_figure(berth_json_out *w, const char *key, const berth_figure *f)
{
	if (f->origin != BERTH_ORIGIN_MISSING)
		berth_json_put_number(w, key, rounded(f));
}

static void put_bytes(berth_json_out *w, const char *key, const berth_figure *f)
{
	if (f->origin != BERTH_ORIGIN_MISSING)
		berth_json_put_int(w, key, (int64_t)f->value);
}

static void put_devices(const berth_description *d, berth_json_out *w)
{
	berth_json_open(w, "devices", '[');
	for (int32_t i = 0; i < d->n_devs; i++) {
		const berth_described_device *dev = &d->dev[i];
		if (dev->left_out)
			continue;
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", dev->name);
		berth_json_put_string(w, "kind", dev->kind);
		for (int f = 0; f < BERTH_N_DEVICE_FIGURES; f++)
			(f == BERTH_MEMORY_BYTES ? put_bytes : put_figure)(
				w, berth_device_figure_name((berth_device_figure)f), &dev->figure[f]);
		if (dev->n_cores) {
			berth_json_put_string(w, "class", berth_device_class_name(BERTH_CLASS_CPU));
			berth_json_put_int(w, "units", dev->n_cores);
			if (dev->cache_bytes > 0)
				berth_json_put_int(w, "cache_bytes", dev->cache_bytes);
		}
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static void put_links(const berth_description *d, double stand_in, berth_json_out *w)
{
	berth_json_open(w, "links", '[');
	for (int32_t l = 0; l < d->n_links; l++) {
		const berth_described_link *x = &d->link[l];
		bool known = x->bandwidth.origin != BERTH_ORIGIN_MISSING;
		if (d->dev[x->from].left_out || d->dev[x->to].left_out || !(known || stand_in > 0))
			continue;
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "from", d->dev[x->from].name);
		berth_json_put_string(w, "to", d->dev[x->to].name);
		put_figure(w, "latency_s", &x->latency);
		berth_json_put_number(w, "bandwidth", known ? rounded(&x->bandwidth) : stand_in);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static bool has_member(const berth_description *d, int32_t pool)
{
	for (int32_t i = 0; i < d->n_devs; i++)
		if (d->dev[i].pool == pool && !d->dev[i].left_out)
			return true;
	return false;
}

static void put_pools(const berth_description *d, berth_json_out *w)
{
	if (!d->n_pools)
		return;
	berth_json_open(w, "memory_pools", '[');
	for (int32_t p = 0; p < d->n_pools; p++) {
		if (!has_member(d, p))
			continue;
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", d->pool[p].name);
		put_figure(w, "bandwidth", &d->pool[p].bandwidth);
		put_bytes(w, "bytes", &d->pool[p].bytes);
		berth_json_open(w, "devices", '[');
		for (int32_t i = 0; i < d->n_devs; i++)
			if (d->dev[i].pool == p && !d->dev[i].left_out)
				berth_json_put_string(w, NULL, d->dev[i].name);
		berth_json_close(w, ']');
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

berth_status berth_description_system(const berth_description *d, double stand_in, berth_arena *mem,
                                      berth_arena *tmp, berth_system *out, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_json_out_init(&w, mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", d->name);
	berth_json_put_bool(&w, "contention", d->contention);
	put_devices(d, &w);
	put_links(d, stand_in, &w);
	put_pools(d, &w);
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_system_parse_json(d->name, text, len, mem, tmp, out, err);
}
