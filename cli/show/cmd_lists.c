/* berth methods, berth zoo, berth systems, berth devices: what there is. Each list is a table of names, told
 * in full by --json. */
#include "catalogue.h"
#include "methods.h"
#include "options.h"
#include "own_method.h"
#include "results.h"
#include "say.h"
#include "systems_builtin.h"
#include "tell.h"
#include "text.h"
#include "zoo.h"

/* Read the options of a verb that lists what is called PREFIX:NAME; "": what berth show does not know. */
static berth_status parse(cli *c, const char *prefix, berth_err *err)
{
	const cli_option options[] = {CLI_JSON(c), CLI_HELP(c)};
	BERTH_TRY(cli_parse(c, options, 0, *prefix ? 1 : 0, err));
	return c->n_args && !c->help
	               ? berth_fail(err, BERTH_EINVAL,
	                            "%s lists all; 'berth show %s:%.80s' tells of one", c->verb->name,
	                            prefix, c->args[0])
	               : BERTH_OK;
}

/* ---- methods ---- */

#define METHOD(K, IF) \
	K(TEXT, "name", "", "", m->name) \
	K(BOOL, "searches", "", "it uses the budget of evaluations", m->searches || !*m->source) \
	K(TEXT, "about", "", "", m->about) \
	K(TEXT, "source", "", "who published it; empty: a method of your own", m->source) \
	K(TEXT_OR_NULL, "missing_package", "", "whose lack at build time leaves it unable to run", \
	  berth_method_missing(m))
static RESULT_KIND(method_kind, "", "", METHOD);

#define METHODS(K, IF) \
	K(TEXT, "default", "", "of `place`", berth_method_default()->name) \
	K(LIST(method_kind), "methods", "", "", list)
RESULT_KIND(methods_document, "Methods", "", METHODS);

static berth_status list_methods(cli *c, berth_err *err)
{
	const cli_option options[] = {CLI_JSON(c), CLI_HELP(c)};
	const berth_method *asked = NULL;
	BERTH_TRY(cli_parse(c, options, 0, 1, err));
	if (c->help)
		return BERTH_OK;
	if (c->n_args)
		BERTH_TRY(berth_method_named(c->args[0], &c->mem, &asked, err));
	berth_result_list *list = berth_result_list_new(&c->mem, &method_kind);
	for (int32_t i = asked ? -1 : 0; i < (asked ? 0 : berth_n_methods()); i++) {
		const berth_method *m = asked ? asked : berth_method_at(i);
		RESULT_ADD(list, METHOD);
	}
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, methods_document, METHODS), err));
	if (asked && cli_in_words(c)) {
		cli_say("%s: %s\n", asked->name, asked->about);
		if (*asked->source)
			cli_say("to be cited: %s\n", asked->source);
		else
			cli_say("a method of your own, by version %d of berth_own_method\n",
			        berth_own_method_version());
		return BERTH_OK;
	}
	return !cli_in_words(c) ? BERTH_OK
	             : cli_tell_rows(c, list, NULL, CLI_AS_TEXT,
	                             "method=name|<budget={searches?search}{searches!at once}|"
	                             "<about=[needs {missing_package} when berth is built; ]{about}",
	                             err);
}

const cli_verb cmd_methods = {
	"methods", "methods [METHOD | ./MINE.so] [--json]",
	"list the placement methods, or tell one and whom to cite",
	"'search' methods use the budget of --evaluations or --time, the others answer at once.\n"
	"Example: berth place zoo:resnet18 --on system:edge --method heft\n",
	list_methods, NULL, 0};

/* ---- zoo ---- */

#define PARAM(K, IF) \
	K(TEXT, "name", "", "", p->name) \
	K(TEXT, "about", "", "", p->about) \
	K(VALUE("number or text"), "default", "", "text: one of `choice`", \
	  p->choice ? berth_result_text(p->choice[(int)p->def]) : berth_result_number(p->def)) \
	IF(p->choice, TEXTS, "choice", "", "else missing", p->choice, n_choices(p)) \
	IF(!p->choice, NUMBER, "min", "", "missing with `choice`", p->min) \
	IF(!p->choice, NUMBER, "max", "", "missing with `choice`", p->max)
static RESULT_FLAT_KIND(param_kind, "", "", PARAM);

#define MODEL(K, IF) \
	K(TEXT, "name", "", "", m->name) \
	K(TEXT, "about", "", "", m->about) \
	K(LIST(param_kind), "params", "", "", params)
static RESULT_KIND(model_kind, "", "", MODEL);

#define ZOO(K, IF) K(LIST(model_kind), "models", "", "", list)
RESULT_KIND(zoo_document, "Zoo", "", ZOO);

static int32_t n_choices(const berth_spec_param *p)
{
	int32_t n = 0;
	while (p->choice[n])
		n++;
	return n;
}

/* Does every model have a parameter of this name? */
static bool is_common(const berth_spec_param *p)
{
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	for (int32_t i = 0; i < n; i++) {
		int32_t k = 0;
		while (k < m[i].n_params && strcmp(m[i].param[k].name, p->name) != 0)
			k++;
		if (k == m[i].n_params)
			return false;
	}
	return true;
}

/* Print " batch=1 dtype=f32" behind words: the parameters that all models share, or those that they do not;
 * nothing where there are none. */
static void print_defaults(const char *name, const char *word, const berth_zoo_model *m, bool common)
{
	bool any = false;
	for (int32_t k = 0; k < m->n_params; k++) {
		const berth_spec_param *p = &m->param[k];
		char number[32];
		if (is_common(p) != common)
			continue;
		if (!any)
			cli_say("%s %s", name, word);
		cli_say(" %s=%s", p->name,
		        p->choice ? p->choice[(int)p->def] : berth_text_double(number, p->def));
		any = true;
	}
	if (any)
		cli_say("\n");
}

static berth_status list_zoo(cli *c, berth_err *err)
{
	int32_t n;
	const berth_zoo_model *model = berth_zoo_list(&n);
	BERTH_TRY(parse(c, "zoo", err));
	if (c->help)
		return BERTH_OK;
	berth_result_list *list = berth_result_list_new(&c->mem, &model_kind);
	for (const berth_zoo_model *m = model; m < model + n; m++) {
		berth_result_list *params = berth_result_list_new(&c->mem, &param_kind);
		for (const berth_spec_param *p = m->param; p && p - m->param < m->n_params; p++)
			RESULT_ADD(params, PARAM);
		RESULT_ADD(list, MODEL);
	}
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, zoo_document, ZOO), err));
	if (!cli_in_words(c))
		return BERTH_OK;
	BERTH_TRY(cli_tell_rows(c, list, NULL, CLI_AS_TEXT, "model=name|about=about", err));
	cli_say("\n");
	print_defaults("all", "take", &model[0], true);
	for (int32_t i = 0; i < n; i++)
		print_defaults(model[i].name, "also", &model[i], false);
	return BERTH_OK;
}

const cli_verb cmd_zoo = {"zoo", "zoo [--json]", "list the built-in models",
                          "A model stands wherever a graph file can: zoo:NAME[:key=value...].\n"
                          "Parameters are shown with their defaults; --json tells their ranges.\n"
                          "Example: berth show zoo:bert-base:batch=8:seq=384\n",
                          list_zoo, NULL, 0};

/* ---- systems ---- */

#define SYSTEM(K, IF) \
	K(TEXT, "name", "", "", row[i].name) \
	K(TEXT, "about", "", "", row[i].about) \
	K(TEXTS, "devices", "", "", s.dev_name, s.n_devs)
static RESULT_KIND(system_kind, "", "", SYSTEM);

#define SYSTEMS(K, IF) K(LIST(system_kind), "systems", "", "", list)
RESULT_KIND(systems_document, "Systems", "", SYSTEMS);

static berth_status list_systems(cli *c, berth_err *err)
{
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	BERTH_TRY(parse(c, "system", err));
	if (c->help)
		return BERTH_OK;
	berth_result_list *list = berth_result_list_new(&c->mem, &system_kind);
	for (int32_t i = 0; i < n; i++) {
		berth_system s;
		BERTH_TRY(berth_system_builtin(row[i].name, &c->mem, &c->tmp, &s, err));
		RESULT_ADD(list, SYSTEM);
	}
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, systems_document, SYSTEMS), err));
	return cli_in_words(c) ? cli_tell_rows(c, list, NULL, CLI_AS_TEXT, "system=name|about=about", err)
	                       : BERTH_OK;
}

const cli_verb cmd_systems = {
	"systems", "systems [--json]", "list the built-in systems",
	"A system stands wherever a system file can: system:NAME.\n"
	"Random machines, as in system:random:devices=6:topology=hosts:seed=7, have keys with these "
	"defaults, in TFLOP/s, GB, GB/s and microseconds:\n"
	"  devices=4 heterogeneity=0.5 tflops=10 memory=16 bandwidth=10 latency=10 "
	"topology=full|bus|star|hosts figures=drawn|catalogue seed=1\n"
	"With figures=catalogue each device is like the one of 'berth devices' that is nearest to its peak.\n"
	"system:host is the machine that berth runs on, as 'berth profile --system' has described it.\n"
	"Example: berth show system:edge -o edge.json\n",
	list_systems, NULL, 0};

/* ---- devices ---- */

#define DEVICE_FIGURES(K, IF) \
	K(TEXT, "name", "", "word of `like` in a system file", d->name) \
	K(TEXT, "class", "", "", berth_device_class_name(d->device_class)) \
	K(TEXT, "vendor", "", "", d->vendor) \
	K(TEXT, "architecture", "", "", d->architecture) \
	K(INT, "year", "", "", d->year) \
	K(MAP("number"), "peak_flops", "FLOP/s", "by precision, dense; missing: it lacks that one", peaks) \
	K(NUMBER_OR_NULL, "mem_bandwidth", "bytes/s", "", known(d->mem_bandwidth)) \
	K(NUMBER_OR_NULL, "memory_bytes", "bytes", "null: none of its own", known(d->memory_bytes)) \
	K(INT, "units", "", "multiprocessors of a GPU, cores of a CPU; 0: not known", d->units) \
	K(NUMBER_OR_NULL, "cache_bytes", "bytes", "last level", known(d->cache_bytes)) \
	K(NUMBER_OR_NULL, "clock_hz", "Hz", "that the peaks are of", known(d->clock_hz)) \
	K(NUMBER_OR_NULL, "power_w", "W", "rated", known(d->watts)) \
	K(NUMBER_OR_NULL, "process_nm", "nm", "as the vendor calls the process", known(d->process_nm)) \
	K(TEXT, "source", "", "documents; behind `unverified:` the figures that none of them has", d->source)
static RESULT_KIND(device_row_kind, "", "", DEVICE_FIGURES);

/* The same for the table. */
#define DEVICE_LINE(K, IF) \
	K(TEXT, "name", "", "", d->name) \
	K(TEXT, "class", "", "", berth_device_class_name(d->device_class)) \
	K(INT, "year", "", "", d->year) \
	K(NUMBER_OR_NULL, "f32", "count", "", known(d->peak[BERTH_F32])) \
	K(NUMBER_OR_NULL, "f16", "count", "", known(d->peak[BERTH_F16])) \
	K(NUMBER_OR_NULL, "bandwidth", "bytes", "", known(d->mem_bandwidth)) \
	K(NUMBER_OR_NULL, "memory", "bytes", "", known(d->memory_bytes)) \
	K(NUMBER_OR_NULL, "power_w", "W", "", known(d->watts))
static RESULT_KIND(device_line_kind, "", "", DEVICE_LINE);

#define LINK_FIGURES(K, IF) \
	K(TEXT, "name", "", "word of `link=`", l->name) \
	K(NUMBER, "bandwidth", "bytes/s", "that large copies reach, one way", l->bandwidth) \
	K(NUMBER, "raw_bandwidth", "bytes/s", "of the wires", l->raw_bandwidth) \
	K(NUMBER, "latency_s", "s", "of a small copy", l->latency_s) \
	K(BOOL, "both_ways", "", "each way has it while the other one is used", l->both_ways) \
	K(TEXT, "source", "", "", l->source)
static RESULT_KIND(link_row_kind, "", "", LINK_FIGURES);

#define DEVICES(K, IF) \
	K(LIST(device_row_kind), "devices", "", "", devices) \
	K(LIST(link_row_kind), "links", "", "", links)
RESULT_KIND(devices_document, "Devices", "", DEVICES);

static double known(double x)
{
	return x > 0 ? x : NAN;
}

static berth_status find_rows(cli *c, const berth_catalogue *from, berth_result_list *devices,
                              berth_result_list *lines, berth_result_list *links, berth_err *err)
{
	const berth_device_row *one = NULL;
	bool any = false;
	for (const berth_link_row *l = from->link; l < from->link + from->n_links; l++)
		if (!c->n_args || strcmp(l->name, c->args[0]) == 0) {
			RESULT_ADD(links, LINK_FIGURES);
			any = true;
		}
	if (c->n_args && !any)
		BERTH_TRY(berth_device_find(from, c->args[0], &c->tmp, &one, err));
	for (const berth_device_row *d = from->device; d < from->device + from->n_devices; d++)
		if (!c->n_args || d == one) {
			berth_result_map *peaks = berth_result_map_new(&c->mem);
			for (int p = 0; p < BERTH_N_PRECISIONS; p++)
				if (d->peak[p] > 0)
					berth_result_map_add(peaks, berth_precision_name((berth_precision)p),
					                     berth_result_number(d->peak[p]));
			RESULT_ADD(devices, DEVICE_FIGURES);
			RESULT_ADD(lines, DEVICE_LINE);
		}
	return BERTH_OK;
}

static berth_status list_devices(cli *c, berth_err *err)
{
	const cli_option options[] = {CLI_JSON(c), CLI_HELP(c)};
	berth_catalogue from;
	BERTH_TRY(cli_parse(c, options, 0, 1, err));
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(berth_catalogue_read(&c->mem, &from, err));
	berth_result_list *devices = berth_result_list_new(&c->mem, &device_row_kind),
			  *links = berth_result_list_new(&c->mem, &link_row_kind),
			  *lines = berth_result_list_new(&c->mem, &device_line_kind);
	BERTH_TRY(find_rows(c, &from, devices, lines, links, err));
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, devices_document, DEVICES), err));
	if (!cli_in_words(c))
		return BERTH_OK;
	if (c->n_args) {
		/* One device or link, all that is known of it. */
		const berth_result *r = devices->n ? &devices->item[0] : &links->item[0];
		char buf[512];
		for (int32_t k = 0; k < r->kind->n_keys; k++) {
			const char *key = r->kind->key[k].key, *unit = r->kind->key[k].unit;
			if (strcmp(key, "peak_flops") == 0) {
				const berth_result_map *peaks = r->value[k].is.map;
				for (int32_t i = 0; i < peaks->n; i++)
					cli_say("%-14s %s FLOP/s in %s\n", i ? "" : key,
					        berth_text_count(buf, peaks->value[i].is.number),
					        peaks->name[i]);
			} else {
				bool rate = strcmp(unit, "bytes/s") == 0;
				cli_say("%-14s %s%s\n", key,
				        cli_tell_value(buf, r, NULL, key, rate ? "B" : ""), rate ? "/s" : "");
			}
		}
		return BERTH_OK;
	}
	BERTH_TRY(cli_tell_rows(c, lines, NULL, CLI_AS_TEXT,
	                        "device=name|class=class|year=year|FLOP/s=f32|in f16=f16|memory/s=bandwidth|"
	                        "memory=memory|W={power_w:.0f}",
	                        err));
	cli_say("\n");
	return cli_tell_rows(c, links, NULL, CLI_AS_TEXT,
	                     "link=name|bytes/s={bandwidth:B}|of the wires={raw_bandwidth:B}|"
	                     "latency=latency_s",
	                     err);
}

const cli_verb cmd_devices = {
	"devices", "devices [NAME] [--json]", "list real devices and links, or all that is known of one",
	"A device stands in system files as \"like\": \"nvidia-t4\", and in --on host:gpu=t4,cpu=epyc-7742,"
	"link=pcie4x16, where the link joins the CPU with all others.\n"
	"Example: berth place zoo:resnet50 --on host:gpu=t4,gpu=p4,cpu=xeon-gold-6148\n",
	list_devices, NULL, 0};
