/* Training policies. */
#include "api.h"

#include "file.h"
#include "train.h"

static void listen(void *ctx, const berth_train_update *u)
{
	api_listener *l = ctx;
	if (l->options->progress && l->options->progress(l->options->progress_ctx, u->evaluations, NAN))
		atomic_store(&l->stop, 1);
}

/* Models and machines to train on, each with each. */
typedef struct pairs {
	const berth_model *const *model;
	const berth_machine *const *machine;
	int32_t n_models, n_machines;
} pairs;

static berth_status train(const pairs *x, const berth_options *o, const char *path, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	berth_train_cfg cfg = berth_train_cfg_default();
	berth_train_result result;
	berth_train_item *item;
	berth_search_cfg search;
	api_listener l = {0};
	int32_t n = 0;
	BERTH_TRY_NEW(mem, (size_t)x->n_models * (size_t)x->n_machines, err, item);
	for (int32_t i = 0; i < x->n_models; i++)
		for (int32_t k = 0; k < x->n_machines; k++) {
			const berth_graph *g = &x->model[i]->g;
			const berth_system *s = &x->machine[k]->s;
			berth_problem *p;
			BERTH_TRY_NEW(mem, 1, err, p);
			BERTH_TRY(berth_problem_new(g, s, mem, tmp, p, err));
			(item)[n++] = (berth_train_item){p, g->name, s->name};
		}
	BERTH_TRY(api_search_cfg(o, &l, mem, &search, err));
	cfg.objective = search.objective;
	cfg.seed = search.seed;
	cfg.pool = search.pool;
	cfg.cancel = search.cancel;
	cfg.path = path;
	cfg.resume = o->resume;
	cfg.update = listen;
	cfg.update_ctx = &l;
	if (o->evaluations)
		cfg.evaluations = o->evaluations;
	berth_status st = berth_train(&cfg, item, x->n_models * x->n_machines, mem, tmp, &result, err);
	berth_pool_free(search.pool);
	return st;
}

berth_status berth_policy_train(const berth_model *const *models, int32_t n_models,
                                const berth_machine *const *machines, int32_t n_machines,
                                const berth_options *options, const char *path, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_options o = api_options(options);
	const pairs x = {models, machines, n_models, n_machines};
	if (n_models < 1 || n_machines < 1 || !path)
		return berth_fail(err, BERTH_EINVAL,
		                  "training needs a model, a machine and a path; found %d, %d and %s",
		                  (int)n_models, (int)n_machines, path ? path : "none");
	o.policy = NULL;
	berth_file_lock lock;
	berth_status st = berth_file_lock_take(path, "another training", &mem, &lock, err);
	if (st == BERTH_OK)
		st = train(&x, &o, path, &mem, &tmp, err);
	berth_file_release(&lock);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}
