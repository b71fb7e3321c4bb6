/* Placements beside methods. A folder is looked through once: each file in it says which graph and system it
 * is for, and has a row where these are compared. */
#include "compare_plans.h"

#include "exporters.h"
#include "file.h"
#include "graph_load.h"
#include "plan_words.h"
#include "print.h"
#include "sandboxed.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

typedef struct filed {
	const char *path, *graph, *system; /* NULL: it does not say */
	bool used;
} filed;

typedef struct compare_folder {
	const char *path;
	bool is_folder;
	filed *file; /* [n] by name */
	int32_t n;
} folder;

/* ---- names and folders ---- */

static bool is_folder(const char *path, bool *there)
{
	struct stat at;
	*there = stat(path, &at) == 0;
	return *there && S_ISDIR(at.st_mode);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const filed *)a)->path, ((const filed *)b)->path);
}

static berth_status name_in(cli *c, const berth_json *all, const char *key, const char **out, berth_err *err)
{
	berth_json source;
	const char *name = NULL;
	BERTH_TRY(berth_json_object(all, key, false, &source, err));
	if (source.item)
		BERTH_TRY(berth_json_string(&source, "name", false, &name, err));
	return name ? berth_got(*out = berth_arena_strdup(&c->mem, name), err) : BERTH_OK;
}

/* For what the placement is. */
static berth_status look_into(cli *c, filed *f, berth_err *err)
{
	BERTH_JSON_TEXT(x);
	BERTH_JSON_DOC(all);
	BERTH_TRY(cli_json_map(c, BERTH_READS_PLAN, f->path, &x, err));
	BERTH_TRY(berth_json_open_doc(f->path, x.text, x.size, &all, err));
	BERTH_TRY(name_in(c, &all, "graph", &f->graph, err));
	return name_in(c, &all, "system", &f->system, err);
}

static berth_status list_folder(cli *c, folder *x, berth_err *err)
{
	berth_status st = BERTH_OK;
	size_t cap = 0;
	DIR *dir = opendir(x->path);
	if (!dir)
		return errno == ENOMEM ? berth_nomem(err)
		                       : berth_fail(err, BERTH_EIO, "%s: %s", x->path, strerror(errno));
	for (const struct dirent *e; st == BERTH_OK && (errno = 0, e = readdir(dir));) {
		size_t n = strlen(e->d_name);
		if (n < 6 || strcmp(e->d_name + n - 5, ".json") != 0)
			continue;
		filed f = {.path = berth_arena_printf(&c->mem, "%s/%s", x->path, e->d_name)};
		st = berth_got(f.path, err);
		if (st == BERTH_OK)
			st = BERTH_PUSH(&c->mem, x->file, x->n, &cap, err, f);
	}
	if (st == BERTH_OK && errno)
		st = berth_fail(err, BERTH_EIO, "%s: %s", x->path, strerror(errno));
	closedir(dir);
	BERTH_TRY(st);
	if (!x->n)
		return berth_fail(err, BERTH_EINVAL, "compare: the folder %s has no placement (*.json)",
		                  x->path);
	qsort(x->file, (size_t)x->n, sizeof *x->file, by_path);
	for (int32_t i = 0; i < x->n; i++)
		BERTH_TRY(look_into(c, &x->file[i], err));
	return BERTH_OK;
}

/* The words of the files, which must agree, and their engine, unless one is named. */
static berth_status take_words(cli *c, const compare_plans *x, berth_err *err)
{
	const char *given = c->engine, *first = NULL, *first_path = NULL;
	for (int32_t i = 0; i < x->given.n; i++) {
		if (x->of[i].is_folder)
			continue;
		c->engine = given;
		BERTH_TRY(cli_plan_words_take(c, x->of[i].path, c->args[0], err));
		const char *own = c->engine ? c->engine : "none";
		if (first && strcmp(own, first) != 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "compare: %s is a plan for %s, %s for %s: say one by --for",
			                  first_path, first, x->of[i].path, own);
		first = own;
		first_path = x->of[i].path;
	}
	return BERTH_OK;
}

berth_status compare_plans_open(cli *c, compare_plans *x, berth_err *err)
{
	BERTH_TRY_NEW(&c->mem, x->given.n, err, x->of);
	BERTH_TRY_NEW(&c->mem, x->given.n + 1, err, x->name);
	for (int32_t i = 0; i < x->given.n; i++) {
		folder *f = &x->of[i];
		const char *text = x->given.text[i], *equals = strchr(text, '=');
		bool there;
		f->path = x->name[i] = text;
		f->is_folder = is_folder(text, &there);
		if (!there && equals) {
			f->path = equals + 1;
			f->is_folder = is_folder(f->path, &there);
			x->name[i] = berth_arena_strndup(&c->mem, text, (size_t)(equals - text));
			BERTH_TRY(berth_got(x->name[i], err));
		}
		x->files |= !f->is_folder;
		if (f->is_folder)
			BERTH_TRY(list_folder(c, f, err));
	}
	x->n = x->given.n;
	BERTH_TRY(take_words(c, x, err));
	if (c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &x->engine, err));
	if (!x->engine)
		return BERTH_OK;
	return berth_got(x->name[x->n++] = berth_arena_printf(&c->mem, "%s default", x->engine->name), err);
}

/* ---- of one graph on one system ---- */

/* The file of the pair; *path NULL: there is none. */
static berth_status file_of(folder *f, const berth_graph *g, const berth_system *y, const char **path,
                            berth_err *err)
{
	*path = f->is_folder ? NULL : f->path;
	for (int32_t i = 0; i < f->n; i++) {
		filed *x = &f->file[i];
		if (!x->graph || !x->system || strcmp(x->graph, g->name) != 0 ||
		    strcmp(x->system, y->name) != 0)
			continue;
		if (*path)
			return berth_fail(
				err, BERTH_EINVAL,
				"compare: %s and %s are both placements of %.80s on %.80s: leave one in the "
				"folder",
				*path, x->path, g->name, y->name);
		*path = x->path;
		x->used = true;
	}
	return BERTH_OK;
}

/* Those of all placements that were read, which must agree. */
static berth_status agree(compare_plans *x, const berth_placement *read, const char *path, berth_err *err)
{
	const char *own = read->objective ? read->objective : berth_metrics[BERTH_LATENCY].name;
	if (x->objective && strcmp(x->objective, own) != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "compare: %s is a plan for %s, %s for %s: say one by --objective",
		                  x->objective_of, x->objective, path, own);
	x->objective = own;
	x->objective_of = path;
	return BERTH_OK;
}

berth_status compare_plans_read(cli *c, compare_plans *x, const berth_graph *g, const berth_system *y,
                                berth_compare_plan *out, berth_err *err)
{
	const char *path;
	for (int32_t i = 0; i < x->n; i++)
		out[i].name = x->name[i];
	for (int32_t i = 0; i < x->given.n; i++) {
		berth_placement read;
		BERTH_TRY(file_of(&x->of[i], g, y, &path, err));
		if (!path) {
			out[i].why = berth_arena_printf(
				&c->mem, "no file in %s is for this graph on this system", x->of[i].path);
			BERTH_TRY(berth_got(out[i].why, err));
			continue;
		}
		BERTH_TRY(cli_placement_read(c, path, g, y, &read, err));
		out[i].op_dev = read.op_dev;
		out[i].order = read.order;
		if (x->asks_objective)
			BERTH_TRY(agree(x, &read, path, err));
	}
	return BERTH_OK;
}

static berth_status ask_engine(cli *c, const berth_engine_rules *e, const berth_export_source *x,
                               berth_compare_plan *out, berth_err *err)
{
	int32_t *op_dev;
	BERTH_TRY_NEW(&c->mem, x->g->n_ops, err, op_dev);
	BERTH_TRY(berth_engine_usual(e, x, &c->tmp, op_dev, &out->why, err));
	out->op_dev = out->why ? NULL : op_dev;
	return BERTH_OK;
}

/* The model is read once more, for what its graph does not say. */
static berth_status ask_of_file(cli *c, const berth_engine_rules *e, const char *spec, berth_export_source x,
                                berth_compare_plan *out, berth_err *err)
{
	berth_read_options opt = cli_read_options(c), words;
	BERTH_MODEL(model);
	if (berth_file_is_stream(spec)) {
		out->why = "it takes reading the model once more: not from a pipe";
		return BERTH_OK;
	}
	BERTH_TRY(berth_model_map(spec, &opt, &c->mem, &model, &words, err));
	x.model = &model;
	x.read = &words;
	x.sandbox = cli_sandbox(c);
	return ask_engine(c, e, &x, out, err);
}

berth_status compare_plans_ask(cli *c, const compare_plans *x, const char *spec, const berth_problem *p,
                               berth_compare_plan *out, berth_err *err)
{
	const berth_export_source source = {.g = p->g, .s = p->s, .p = p};
	if (!x->engine)
		return BERTH_OK;
	return x->engine->reads ? ask_of_file(c, x->engine, spec, source, &out[x->given.n], err)
	                        : ask_engine(c, x->engine, &source, &out[x->given.n], err);
}

berth_status compare_plans_tell(cli *c, const compare_plans *x, berth_err *err)
{
	for (int32_t i = 0; i < x->given.n; i++) {
		const folder *f = &x->of[i];
		const filed *first = NULL;
		int32_t n = 0;
		for (int32_t k = 0; k < f->n; k++)
			if (!f->file[k].used) {
				first = first ? first : &f->file[k];
				n++;
			}
		if (n)
			BERTH_TRY(cli_note(c, err,
			                   "%s: %d of %d files are for other graphs or systems, %s first",
			                   f->path, (int)n, (int)f->n, first->path));
	}
	return BERTH_OK;
}
