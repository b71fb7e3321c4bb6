/* berth profile --system: devices as drivers, libraries or an engine tell of them, links as an engine times
 * them. Each figure is told with where it comes from. */
#include "profile_system.h"

#include "description.h"
#include "file.h"
#include "load_system.h"
#include "print.h"
#include "profile.h"
#include "say.h"
#include "system_change.h"
#include "system_json.h"
#include "system_warnings.h"

/* What a figure is of, for tables: "gpu0", "cpu0->gpu0", "pool.dram0", as --set calls it. */
typedef struct figure_row {
	const char *of, *key;
	berth_figure *figure;
	double set; /* what the system says of it now; NAN: nothing */
} figure_row;

typedef struct state {
	const profile_system_args *a;
	const char *path;
	const berth_machine *machine; /* NULL: an engine's devices are described */
	berth_description d;
	berth_system s;
	figure_row *row;
	int32_t n_rows;
} state;

/* ---- finding ---- */

static berth_status describe_machine(cli *c, state *x, berth_err *err)
{
	berth_gpu_cfg cfg = berth_gpu_cfg_default();
	berth_machine *m;
	cfg.software = x->a->software;
	BERTH_TRY(berth_machine_find(&cfg, &c->mem, &m, err));
	x->machine = m;
	return berth_describe_machine(m, x->a->software, &c->mem, &x->d, err);
}

static berth_status list_engine_devices(cli *c, const berth_engine_hello *says, state *x, berth_err *err)
{
	berth_cpu_nodes cpus;
	berth_cpu_figures cores;
	berth_figure latency;
	const char **name, **kind;
	int64_t *memory_bytes;
	int32_t n_cores = 1; /* of each CPU: an engine has single ones or one of all */
	BERTH_TRY_NEW(&c->mem, says->n_devs, err, name, kind, memory_bytes);
	for (int32_t i = 0; i < says->n_devs; i++) {
		name[i] = says->dev[i].name;
		kind[i] = says->dev[i].kind;
		memory_bytes[i] = says->dev[i].memory_bytes;
		if (strcmp(kind[i], "cpu") == 0)
			n_cores = says->dev[i].threads;
	}
	BERTH_TRY(berth_machine_find_cores(&cpus, &n_cores, &cores, &latency, err));
	return berth_describe_engine(&cpus, n_cores, &cores, &latency, says->n_devs, name, kind, memory_bytes,
	                             &c->mem, &x->d, err);
}

/* Time the links by the engine. What it does not time stays as it was. */
static berth_status time_links(cli *c, state *x, berth_err *err)
{
	static const berth_graph nothing = {.name = "nothing"};
	berth_measured m;
	const char *unused;
	berth_profile p;
	berth_profile_cfg how = berth_profile_cfg_default();
	how.repeats = x->a->repeats;
	BERTH_TRY(berth_description_system(&x->d, 1e9, &c->mem, &c->tmp, &x->s, err));
	BERTH_TRY(cli_engine_open(c, &x->a->engine, "", NULL, &x->s, NULL, &m, &unused, err));
	m.g = &nothing;
	m.loaded_start = berth_engine_starts(m.engine);
	berth_status st = berth_profile_run(&m, &how, &c->mem, &c->tmp, &p, err);
	berth_measured_close(&m);
	BERTH_TRY(st);
	for (int32_t l = 0; l < x->d.n_links; l++)
		if (p.link[l].n) {
			berth_described_link *link = &x->d.link[l];
			link->bandwidth = berth_figure_of(p.link[l].bandwidth, 1e-9, 1e30,
			                                  BERTH_ORIGIN_MEASURED, "transfers by the engine");
			link->latency = berth_figure_of(p.link[l].latency_s, 0, 1e6, BERTH_ORIGIN_MEASURED,
			                                "transfers by the engine");
		}
	return BERTH_OK;
}

static berth_status describe_engine(cli *c, state *x, berth_err *err)
{
	berth_measured_cfg cfg;
	berth_engine *e = NULL;
	BERTH_TRY(cli_engine_cfg(c, &x->a->engine, "", NULL, &cfg, err));
	BERTH_TRY(berth_engine_start(&cfg.engine, &c->mem, &e, err));
	berth_status st = list_engine_devices(c, berth_engine_says(e), x, err);
	berth_engine_stop(e);
	BERTH_TRY(st);
	if (x->d.n_devs > 1 && strcmp(x->a->engine.name, "ort") == 0)
		BERTH_TRY(cli_note(c, err, "a worker on each core is a device; all cores as one, as ONNX "
		                           "Runtime runs by itself: without --engine"));
	return x->d.n_devs > 1 ? time_links(c, x, err) : BERTH_OK;
}

/* ---- figures ---- */

static berth_status add_row(state *x, const char *of, const char *key, berth_figure *f, double set,
                            berth_err *err)
{
	BERTH_TRY(berth_got(of, err));
	x->row[x->n_rows++] = (figure_row){of, key, f, set};
	return BERTH_OK;
}

/* What the system says of a device's figure; NAN: nothing. */
static double device_value(const berth_system *s, int32_t dev, berth_device_figure f)
{
	double x = f == BERTH_PEAK_FLOPS      ? s->dev_peak_flops[dev]
	           : f == BERTH_MEM_BANDWIDTH ? s->dev_mem_bandwidth[dev]
	           : f == BERTH_OP_OVERHEAD_S ? s->dev_op_overhead_s[dev]
	                                      : s->dev_fresh_bandwidth[dev];
	if (f == BERTH_MEMORY_BYTES)
		return s->dev_memory_bytes[dev] >= 0 ? (double)s->dev_memory_bytes[dev] : NAN;
	return x > 0 ? x : NAN;
}

static berth_status link_rows(cli *c, state *x, berth_described_link *link, berth_err *err)
{
	const char *from = x->d.dev[link->from].name, *to = x->d.dev[link->to].name;
	int32_t a = berth_system_find_dev(&x->s, from), b = berth_system_find_dev(&x->s, to);
	int32_t l = a >= 0 && b >= 0 ? x->s.link_of[a * x->s.n_devs + b] : -1;
	if (l < 0)
		return BERTH_OK;
	const char *of = berth_arena_printf(&c->mem, "%s->%s", from, to);
	double latency = x->s.link_latency_s[l];
	BERTH_TRY(add_row(x, of, "latency_s", &link->latency, latency > 0 ? latency : NAN, err));
	return add_row(x, of, "bandwidth", &link->bandwidth, x->s.link_bandwidth[l], err);
}

static berth_status pool_rows(cli *c, state *x, berth_described_pool *pool, berth_err *err)
{
	int32_t p = berth_system_find_pool(&x->s, pool->name);
	const char *of = berth_arena_printf(&c->mem, "pool.%s", pool->name);
	if (p < 0)
		return BERTH_OK;
	BERTH_TRY(add_row(x, of, "bandwidth", &pool->bandwidth, x->s.pool_bandwidth[p], err));
	return add_row(x, of, "bytes", &pool->bytes,
	               x->s.pool_bytes[p] >= 0 ? (double)x->s.pool_bytes[p] : NAN, err);
}

static berth_figure given(double value)
{
	return berth_figure_of(value, 0, INFINITY, BERTH_ORIGIN_GIVEN, "--set");
}

/* All figures that the system has or could have, with what it says of them now. */
static berth_status list_figures(cli *c, state *x, berth_err *err)
{
	const berth_description *d = &x->d;
	x->n_rows = 0;
	BERTH_TRY_NEW(&c->mem, d->n_devs * BERTH_N_DEVICE_FIGURES + 2 * (d->n_links + d->n_pools), err,
	              x->row);
	for (int32_t i = 0; i < d->n_devs; i++) {
		int32_t at = berth_system_find_dev(&x->s, d->dev[i].name);
		int n = d->dev[i].n_cores > 0 ? BERTH_N_DEVICE_FIGURES : BERTH_FRESH_BANDWIDTH;
		for (int f = 0; f < n && at >= 0; f++)
			BERTH_TRY(add_row(x, d->dev[i].name, berth_device_figure_name((berth_device_figure)f),
			                  &d->dev[i].figure[f],
			                  device_value(&x->s, at, (berth_device_figure)f), err));
	}
	for (int32_t p = 0; p < d->n_pools; p++)
		BERTH_TRY(pool_rows(c, x, &d->pool[p], err));
	for (int32_t l = 0; l < d->n_links; l++)
		BERTH_TRY(link_rows(c, x, &d->link[l], err));
	return BERTH_OK;
}

static berth_status set_all(cli *c, state *x, berth_err *err)
{
	for (int32_t i = 0; i < x->a->set.n; i++)
		BERTH_TRY(berth_system_set(&x->s, x->a->set.text[i], &c->tmp, err));
	return BERTH_OK;
}

/* Links that nobody told the bandwidth of, but --set. */
static berth_status set_missing_links(cli *c, state *x, berth_err *err)
{
	const double nobody = 1e-9; /* the least that a system takes */
	BERTH_TRY(berth_description_system(&x->d, nobody, &c->mem, &c->tmp, &x->s, err));
	BERTH_TRY(set_all(c, x, err));
	BERTH_TRY(list_figures(c, x, err));
	for (int32_t i = 0; i < x->n_rows; i++)
		if (strcmp(x->row[i].key, "bandwidth") == 0 && x->row[i].set > nobody &&
		    x->row[i].figure->origin == BERTH_ORIGIN_MISSING)
			*x->row[i].figure = given(x->row[i].set);
	return BERTH_OK;
}

/* The system with what --set says. Figures that it changed are the user's. */
static berth_status build_system(cli *c, state *x, berth_err *err)
{
	BERTH_TRY(set_missing_links(c, x, err));
	berth_description_settle(&x->d);
	BERTH_TRY(berth_description_system(&x->d, 0, &c->mem, &c->tmp, &x->s, err));
	BERTH_TRY(list_figures(c, x, err));
	const figure_row *before = x->row;
	BERTH_TRY(set_all(c, x, err));
	if (berth_system_check(&x->s, &c->tmp, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EINVAL, "option --set: ");
	BERTH_TRY(list_figures(c, x, err));
	for (int32_t i = 0; i < x->n_rows; i++)
		if (x->row[i].set != before[i].set && !isnan(x->row[i].set))
			*x->row[i].figure = given(x->row[i].set);
	return BERTH_OK;
}

/* ---- what is to be warned of ---- */

static berth_status warn_libraries(cli *c, const state *x, berth_err *err)
{
	const berth_gpu_cfg cfg = berth_gpu_cfg_default();
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++) {
		const berth_gpu_answer *a = &x->machine->answer[l];
		if (a->state == BERTH_GPU_FAILED)
			BERTH_TRY(cli_warn(c, err, "%s is installed and does not work: %s", cfg.file[l],
			                   a->why));
		else if (*a->why)
			BERTH_TRY(cli_warn(c, err, "%s: %s", cfg.file[l], a->why));
	}
	for (int32_t i = 0; i < x->machine->n_untold; i++)
		BERTH_TRY(cli_warn(
			c, err,
			"%s on the PCI bus is a GPU that no library tells of: its driver's CUDA, Vulkan or "
			"OpenCL library may be missing",
			x->machine->untold[i]));
	if (x->machine->dropped)
		BERTH_TRY(cli_warn(c, err, "%d GPUs beyond the first %d are left out",
		                   (int)x->machine->dropped, BERTH_MAX_GPUS));
	return BERTH_OK;
}

/* A device that is left out for want of a link, and what brings it in. */
static berth_status warn_left_out(cli *c, const state *x, int32_t dev, berth_err *err)
{
	const berth_described_device *d = &x->d.dev[dev];
	const char *sets = "";
	for (int32_t l = 0; l < x->d.n_links && sets; l++) {
		const berth_described_link *link = &x->d.link[l];
		if ((link->from == dev || link->to == dev) && link->bandwidth.origin == BERTH_ORIGIN_MISSING)
			sets = berth_arena_printf(&c->mem, "%s --set '%s->%s.bandwidth=...'", sets,
			                          x->d.dev[link->from].name, x->d.dev[link->to].name);
	}
	BERTH_TRY(berth_got(sets, err));
	return cli_warn(c, err, "%s (%s) is left out: %s%s%s", d->name, *d->model ? d->model : d->kind,
	                d->left_out, *sets ? ";" : "", sets);
}

static berth_status warn(cli *c, const state *x, berth_err *err)
{
	const char **text;
	int32_t n;
	if (x->machine)
		BERTH_TRY(warn_libraries(c, x, err));
	for (int32_t i = 0; i < x->d.n_devs; i++)
		if (x->d.dev[i].left_out && x->d.dev[i].nature != BERTH_GPU_SOFTWARE)
			BERTH_TRY(warn_left_out(c, x, i, err));
	for (int32_t i = 0; i < x->n_rows; i++) { /* it depends on what else runs: --strict has no say */
		const char *how = x->row[i].figure->how;
		if (strstr(how, "; only "))
			BERTH_TRY(cli_note(c, err,
			                   "warning: %s: %s is far below clock times width: is this machine "
			                   "busy, or OpenBLAS too old for it?",
			                   x->row[i].of, x->row[i].key));
		if (strstr(how, "; usual round "))
			BERTH_TRY(cli_note(c, err,
			                   "warning: %s: %s may be off: others use this machine (%s); "
			                   "profile it again when it is quiet",
			                   x->row[i].of, x->row[i].key, strstr(how, "; usual round ") + 2));
	}
	BERTH_TRY(berth_system_warnings(&x->s, NULL, NULL, &c->mem, &c->tmp, &text, &n, err));
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(cli_warn(c, err, "%s", text[i]));
	return BERTH_OK;
}

/* ---- JSON ---- */

static const char *nature_name(const berth_described_device *dev)
{
	static const char *const name[] = {"unknown", "discrete", "integrated", "software"};
	return dev->libraries ? name[dev->nature] : "cpu";
}

static void put_device(berth_json_out *w, const berth_described_device *dev)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", dev->name);
	berth_json_put_string(w, "kind", dev->kind);
	berth_json_put_string(w, "model", *dev->model ? dev->model : NULL);
	berth_json_put_string(w, "nature", nature_name(dev));
	berth_json_put_string(w, "driver", dev->driver);
	berth_json_put_string(w, "pci", dev->pci);
	berth_json_open(w, "libraries", '[');
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++)
		if (dev->libraries >> l & 1)
			berth_json_put_string(w, NULL, berth_gpu_library_name((berth_gpu_library)l));
	berth_json_close(w, ']');
	berth_json_put_string(w, "left_out", dev->left_out);
	berth_json_close(w, '}');
}

static void put_figures(berth_json_out *w, const state *x)
{
	berth_json_open(w, "figures", '[');
	berth_json_flat(w, true);
	for (int32_t i = 0; i < x->n_rows; i++) {
		const figure_row *r = &x->row[i];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "of", r->of);
		berth_json_put_string(w, "key", r->key);
		berth_json_put_number(w, "value", r->set);
		berth_json_put_string(w, "origin", berth_origin_name(r->figure->origin));
		berth_json_put_string(w, "how", r->figure->how);
		berth_json_close(w, '}');
	}
	berth_json_flat(w, false);
	berth_json_close(w, ']');
}

static void put_libraries(berth_json_out *w, const berth_machine *m)
{
	static const char *const state_name[] = {"absent", "failed", "answered"};
	const berth_gpu_cfg cfg = berth_gpu_cfg_default();
	berth_json_open(w, "libraries", '[');
	for (int l = 0; m && l < BERTH_N_GPU_LIBRARIES; l++) {
		const berth_gpu_answer *a = &m->answer[l];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", berth_gpu_library_name((berth_gpu_library)l));
		berth_json_put_string(w, "file", cfg.file[l]);
		berth_json_put_string(w, "state", state_name[a->state]);
		berth_json_put_int(w, "devices", a->gpus.n);
		berth_json_put_string(w, "why", *a->why ? a->why : NULL);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static berth_status print_json(cli *c, const state *x, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	BERTH_TRY(berth_system_write_json(&x->s, false, &c->mem, &text, &len, err));
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_document(&w, "system", text);
	berth_json_open(&w, "devices", '[');
	for (int32_t i = 0; i < x->d.n_devs; i++)
		put_device(&w, &x->d.dev[i]);
	berth_json_close(&w, ']');
	put_figures(&w, x);
	berth_json_open(&w, "missing", '[');
	for (int32_t i = 0; i < x->n_rows; i++)
		if (x->row[i].figure->origin == BERTH_ORIGIN_MISSING)
			berth_json_put_string(
				&w, NULL, berth_arena_printf(&c->mem, "%s.%s", x->row[i].of, x->row[i].key));
	berth_json_close(&w, ']');
	put_libraries(&w, x->machine);
	return cli_end_json(c, &w, err);
}

/* ---- text ---- */

static void print_device(const berth_described_device *dev)
{
	const char *gap = ", told by ";
	cli_say("%s: %s", dev->name, *dev->model ? dev->model : dev->kind);
	if (dev->libraries)
		cli_say(", %s", nature_name(dev));
	if (dev->driver)
		cli_say(", driver %s", dev->driver);
	if (dev->pci)
		cli_say(", at %s", dev->pci);
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++)
		if (dev->libraries >> l & 1) {
			cli_say("%s%s", gap, berth_gpu_library_name((berth_gpu_library)l));
			gap = " and ";
		}
	if (dev->left_out)
		cli_say("; left out: %s", dev->left_out);
	cli_say("\n");
}

/* "204 GFLOP/s": by what the key is. */
static const char *figure_text(char buf[48], const char *key, double value)
{
	char x[32];
	bool bandwidth = strstr(key, "bandwidth") != NULL;
	if (isnan(value))
		return "-";
	if (strcmp(key, "peak_flops") == 0)
		snprintf(buf, 48, "%sFLOP/s", berth_text_count(x, value));
	else if (strstr(key, "_s"))
		snprintf(buf, 48, "%s", berth_text_seconds(x, value));
	else
		snprintf(buf, 48, "%s%s", berth_text_bytes(x, value), bandwidth ? "/s" : "");
	return buf;
}

static berth_status print_figures(cli *c, const state *x, berth_err *err)
{
	cli_table t;
	char buf[48];
	cli_table_init(&t, &c->tmp, "llrll");
	cli_table_head(&t, "of|figure|value|origin|how");
	for (int32_t i = 0; i < x->n_rows; i++) {
		const figure_row *r = &x->row[i];
		cli_cell_text(&t, r->of);
		cli_cell_text(&t, r->key);
		cli_cell(&t, "%s", figure_text(buf, r->key, r->set));
		cli_cell_text(&t, berth_origin_name(r->figure->origin));
		cli_cell_text(&t, r->figure->how);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static void print_libraries(const berth_machine *m)
{
	const berth_gpu_cfg cfg = berth_gpu_cfg_default();
	cli_say("\nasked for GPUs:");
	for (int l = 0; l < BERTH_N_GPU_LIBRARIES; l++) {
		const berth_gpu_answer *a = &m->answer[l];
		cli_say("%s %s ", l ? "," : "", cfg.file[l]);
		if (a->state == BERTH_GPU_ANSWERED)
			cli_say("(%d device%s)", (int)a->gpus.n, a->gpus.n == 1 ? "" : "s");
		else
			cli_say(a->state == BERTH_GPU_ABSENT ? "(not installed)" : "(does not work)");
	}
	cli_say("\n");
	if (m->cpus.far_bytes > 0) {
		char buf[32];
		cli_say("memory of %s at no core of its own is left out\n",
		        berth_text_bytes(buf, (double)m->cpus.far_bytes));
	}
}

static void print_missing(const state *x)
{
	int32_t n = 0;
	for (int32_t i = 0; i < x->n_rows; i++)
		if (x->row[i].figure->origin == BERTH_ORIGIN_MISSING)
			cli_say("%s --set '%s.%s=...'", n++ ? "" : "missing figures are given by",
			        x->row[i].of, x->row[i].key);
	if (n)
		cli_say(", or in %s\n", x->a->out ? x->path : "the file");
}

static berth_status print_text(cli *c, const state *x, berth_err *err)
{
	for (int32_t i = 0; i < x->d.n_devs; i++)
		print_device(&x->d.dev[i]);
	cli_say("\n");
	BERTH_TRY(print_figures(c, x, err));
	if (x->machine)
		print_libraries(x->machine);
	print_missing(x);
	if (!x->a->out)
		cli_say("kept as system:host (%s)\n", x->path);
	return BERTH_OK;
}

/* ---- all of it ---- */

berth_status profile_system(cli *c, const profile_system_args *a, berth_err *err)
{
	state x = {.a = a};
	/* Where the description goes. If no file is named, it is what system:host stands for. */
	x.path = x.a->out;
	if (!x.path) {
		BERTH_TRY(berth_system_host_path(&c->mem, &x.path, err));
		BERTH_TRY(berth_make_folders(x.path, &c->tmp, err));
	}
	BERTH_TRY(berth_file_writable(x.path, err));
	BERTH_TRY(a->engine.name ? describe_engine(c, &x, err) : describe_machine(c, &x, err));
	BERTH_TRY(build_system(c, &x, err));
	BERTH_TRY(warn(c, &x, err));
	BERTH_TRY(cli_strict(c, err));
	const char *text;
	size_t len;
	BERTH_TRY(berth_system_write_json(&x.s, true, &c->mem, &text, &len, err));
	BERTH_TRY(berth_file_write(x.path, text, len, err));
	if (c->json)
		return print_json(c, &x, err);
	return cli_in_words(c) ? print_text(c, &x, err) : BERTH_OK;
}
