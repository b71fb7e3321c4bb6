/* Exporter "llama.cpp": a plan of a GGUF model as one command line, quoted for a shell. Beside it
 * stand what both uses of the model take by it, what llama.cpp says of memory, and its default. */
#include "check.h"
#include "llama_plan.h"
#include "op_times.h"
#include "uses.h"

/* ---- both uses of a model ----
 * The graphs of reading and answering, read once more from the file, and placements of the plan's graph on
 * them, by the names of operators. */

/* The graphs of making a token and of reading a chunk of 512 at the end of the context, on the source's
 * system. */
typedef struct llama_uses {
	berth_graph answer_g, read_g;
	berth_problem answer, read;
	int64_t batch, chunk;          /* sequences; tokens that are read at once */
	int32_t *twin;                 /* [n_ops of read] operators of answer; -1: none */
	int32_t *answer_op, *read_op;  /* [n_ops] operators of the source's graph; -1: none */
} llama_uses;

enum { CHUNK = 512 };

static berth_status read_graph(const berth_export_source *x, berth_gguf_options opt, bool decode,
                               llama_uses *u, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                               berth_err *err)
{
	opt.decode = decode;
	opt.chunk = decode ? 0 : opt.chunk ? opt.chunk : CHUNK;
	berth_read_report r;
	BERTH_TRY(berth_gguf_graph(x->model, &opt, mem, tmp, out, &r, err));
	for (int32_t i = 0; i < r.n_dims; i++)
		if (!decode && strcmp(r.dim_name[i], "context") == 0)
			u->chunk = opt.chunk < r.dim_value[i] ? opt.chunk : r.dim_value[i];
	u->batch = opt.batch;
	return BERTH_OK;
}

/* The operator of `in` of each operator's name; -1: none. */
static berth_status find_names(const berth_graph *g, const berth_graph *in, int32_t *op, berth_arena *tmp,
                               berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_strmap names;
	BERTH_TRY(berth_graph_names(in, tmp, &names, err));
	for (int32_t i = 0; i < g->n_ops; i++)
		op[i] = berth_strmap_get(&names, g->op_name[i]);
	return BERTH_OK;
}

/* Of x with a model; its graph may be of either use. All lives in mem, tmp is scratch, another arena, reset
 * at exit. Fails: as the reader, BERTH_ENOMEM. */
static berth_status llama_uses_open(const berth_export_source *x, berth_arena *mem, berth_arena *tmp,
                                    llama_uses *out, berth_err *err)
{
	berth_gguf_options opt;
	const berth_read_options *r = x->read;
	*out = (llama_uses){0};
	BERTH_TRY(berth_gguf_options_read(x->model->name, r ? r->dim : NULL, r ? r->n_dims : 0, mem, &opt,
	                                  err));
	BERTH_TRY(read_graph(x, opt, true, out, mem, tmp, &out->answer_g, err));
	BERTH_TRY(read_graph(x, opt, false, out, mem, tmp, &out->read_g, err));
	BERTH_TRY(berth_problem_new(&out->answer_g, x->s, mem, tmp, &out->answer, err));
	BERTH_TRY(berth_problem_new(&out->read_g, x->s, mem, tmp, &out->read, err));
	BERTH_TRY_NEW(mem, out->read_g.n_ops, err, out->twin, out->read_op);
	BERTH_TRY_NEW(mem, out->answer_g.n_ops, err, out->answer_op);
	BERTH_TRY(find_names(&out->read_g, &out->answer_g, out->twin, tmp, err));
	BERTH_TRY(find_names(&out->read_g, x->g, out->read_op, tmp, err));
	return find_names(&out->answer_g, x->g, out->answer_op, tmp, err);
}

/* Seconds of a placement of the plan's graph on p's, one operator after the other, which goes to
 * dev [n_ops of p]. An operator that the plan does not have goes with what it takes. */
static double serial_s(const berth_problem *p, const int32_t *plan_op, const int32_t *op_dev, int32_t *dev)
{
	const berth_graph *g = p->g;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k], first = g->op_in_off[op];
		dev[op] = plan_op[op] >= 0                ? op_dev[plan_op[op]]
		          : first < g->op_in_off[op + 1] ? dev[g->tensor_producer[g->in_tensor[first]]]
		                                          : 0;
		if (berth_op_time(p, op, dev[op]) < 0)
			return NAN;
	}
	return berth_export_serial(p, dev);
}

/* Tokens a second of a placement of the source's graph, answered and read; NAN: it cannot run. Fails:
 * BERTH_ENOMEM. */
static berth_status llama_uses_rates(const llama_uses *u, const int32_t *op_dev, berth_arena *tmp,
                                     double *answered, double *read, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *dev;
	BERTH_TRY_NEW(tmp, u->answer.n_ops + u->read.n_ops, err, dev);
	*answered = (double)u->batch / serial_s(&u->answer, u->answer_op, op_dev, dev);
	*read = (double)(u->batch * u->chunk) / serial_s(&u->read, u->read_op, op_dev, dev);
	return BERTH_OK;
}

enum { MOST_DEVICES = 16 }; /* that llama.cpp finds */

/* Options of the graph that no line can say. */
static berth_status check_words(const berth_gguf_options *o, const char *file, berth_err *err)
{
	if (strcmp(o->weights, "file") != 0)
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"the graph has its weights as %s, %s as they are stored; write a file of that "
			"type first (llama-quantize) and plan for it",
			o->weights, file);
	if (o->each_expert)
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"the graph has an operator for each expert; llama.cpp keeps the experts of a layer "
			"together: plan with experts=all");
	return BERTH_OK;
}

static berth_status model_words(const berth_content *model, const berth_read_options *read, berth_arena *mem,
                                berth_gguf_options *out, const char **path, berth_err *err)
{
	*path = model->name;
	BERTH_TRY(berth_gguf_options_read(model->name, read ? read->dim : NULL, read ? read->n_dims : 0, mem,
	                                  out, err));
	return check_words(out, model->name, err);
}

/* Where the layers are, not the embedding: it is on the CPU by itself. */
static bool is_mixed(const berth_export_source *x, const int32_t *op_dev, bool *on_cpu)
{
	bool elsewhere = false;
	*on_cpu = false;
	for (int32_t op = 0; op < x->g->n_ops; op++) {
		if (berth_gguf_layer_of(x->g->op_name[op], NULL) < 0)
			continue;
		bool cpu = llama_on_cpu(x, op_dev[op]);
		*on_cpu |= cpu;
		elsewhere |= !cpu;
	}
	return *on_cpu && elsewhere;
}

static const char *error_devices(const berth_export_source *x, const int32_t *op_dev)
{
	bool on_cpu;
	return is_mixed(x, op_dev, &on_cpu) ? "cpu+gpu" : on_cpu ? "cpu" : "gpu";
}

static berth_status tell(const berth_export_source *x, const berth_gguf_list *file, const llama_plan *plan,
                         berth_export_out *out, berth_err *err)
{
	bool on_cpu = false;
	for (int32_t i = 0; i < plan->n_layers; i++)
		on_cpu = on_cpu || plan->unit_dev[i] == LLAMA_CPU;
	for (int32_t t = 0; t < file->n_tensors; t++)
		on_cpu = on_cpu || (plan->told[t] && plan->tensor_dev[t] == LLAMA_CPU);
	if (on_cpu && plan->n_devs)
		BERTH_TRY(berth_export_note(
			out, err,
			"prompts of 32 tokens and more: llama.cpp computes products with weights "
			"on the CPU on a device all the same; --no-op-offload keeps them on the "
			"CPU, and so does --no-host, by which weights there are laid out anew for "
			"the CPU, as without a device: answers may come quicker"));
	double read = 0;
	for (int32_t op = 0; op < x->g->n_ops; op++)
		if (llama_is_disk(x, x->op_dev[op]))
			read += fmin((double)berth_graph_op_weights(x->g, op),
			             (double)x->g->op_read_bytes[op]);
	char bytes[32];
	if (read > 0)
		BERTH_TRY(berth_export_note(out, err,
		                            "the CPU's memory does not hold all weights, and %s of them are "
		                            "read from the disk in each pass: --no-mmap and --mlock would "
		                            "not load",
		                            berth_text_bytes(bytes, read)));
	if (file->n_all_layers > file->n_layers)
		BERTH_TRY(berth_export_warn(
			out, err,
			"%s has layers that predict further tokens, which versions of llama.cpp "
			"count differently: see with -v where layers went",
			x->model->name));
	return berth_export_note(
		out, err,
		"to see what llama.cpp makes of it: the same line with -v tells each layer's device");
}

/* The plan counts no buffers; they may be what does not fit. Told of the first such device. The margin is
 * what they take, rounded up. */
static berth_status find_full(const berth_export_source *x, int32_t dev, const llama_memory *d,
                              berth_export_out *out, berth_err *err)
{
	int64_t has = x->s->dev_memory_bytes[dev], needs = d->weights + d->cache + d->compute;
	char a[32], b[32], then[160] = "no margin makes room for them";
	if (!x->p || has < 0 || needs <= has || out->unfit)
		return BERTH_OK;
	if (d->compute < has)
		snprintf(then, sizeof then,
		         "plan again with \"memory_margin\": %.2f of this device in the system file "
		         "(berth show system:NAME -o FILE writes a built-in one)",
		         fmin(ceil(100 * (double)d->compute / (double)has), 99) / 100);
	out->unfit = berth_arena_printf(
		out->mem, "llama.cpp takes about %s on %s, which has %s: its buffers do not fit; %s",
		berth_text_bytes(a, (double)needs), x->s->dev_name[dev], berth_text_bytes(b, (double)has),
		then);
	return berth_got(out->unfit, err);
}

/* The first of the system's: to llama.cpp all of them are one. */
static const char *name_of_cpu(const berth_export_source *x)
{
	for (int32_t d = 0; d < x->s->n_devs; d++)
		if (llama_on_cpu(x, d) && !llama_is_disk(x, d))
			return x->s->dev_name[d];
	return "CPU";
}

/* What each device has to hold. */
static berth_status tell_memory(const berth_export_source *x, const berth_gguf_list *file,
                                const llama_plan *plan, berth_arena *tmp, berth_export_out *out,
                                berth_err *err)
{
	llama_memory *memory;
	bool told;
	int32_t n = plan->n_devs;
	BERTH_TRY_NEW(tmp, n + 1, err, memory);
	BERTH_TRY_NEW(out->mem, n + 1, err, out->memory);
	BERTH_TRY(llama_memory_of(plan, file, tmp, memory, &told, err));
	for (int32_t i = 0; i <= n; i++) {
		const llama_memory *d = &memory[i];
		out->memory[out->n_memory++] =
			(berth_export_memory){.device = i < n ? x->s->dev_name[plan->dev[i]] : name_of_cpu(x),
		                              .weights = d->weights,
		                              .cache = d->cache,
		                              .buffers = told ? d->compute : -1};
		if (i < n)
			BERTH_TRY(find_full(x, plan->dev[i], d, out, err));
	}
	return BERTH_OK;
}

/* ---- what llama.cpp does by itself ---- */

/* The other devices, in the order of the system, are those that llama.cpp finds. */
static berth_status find_machine(const berth_export_source *x, berth_arena *mem, llama_machine *m,
                                 int32_t *cpu, berth_err *err)
{
	int32_t *dev;
	int64_t *free_bytes;
	BERTH_TRY_NEW(mem, x->s->n_devs, err, dev, free_bytes);
	*m = (llama_machine){.dev = dev, .free_bytes = free_bytes};
	*cpu = -1;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		int64_t bytes = x->s->dev_memory_bytes[d];
		if (llama_on_cpu(x, d)) {
			*cpu = *cpu < 0 && !llama_is_disk(x, d) ? d : *cpu;
			continue;
		}
		dev[m->n_devs] = d;
		free_bytes[m->n_devs++] = bytes < 0 ? INT64_MAX / 4 : bytes;
	}
	return BERTH_OK;
}

/* What the memory of the CPU does not hold goes to the disk, where the system has one: weights of the last
 * operators there. */
static berth_status spill(const berth_export_source *x, int32_t cpu, int32_t *op_dev, berth_arena *tmp,
                          berth_err *err)
{
	BERTH_SCRATCH(tmp);
	const berth_graph *g = x->g;
	berth_timeline t;
	berth_verdict v;
	int32_t disk = 0;
	while (disk < x->s->n_devs && !llama_is_disk(x, disk))
		disk++;
	if (!x->p || cpu < 0 || disk == x->s->n_devs || x->p->dev_limit_bytes[cpu] < 0)
		return BERTH_OK;
	BERTH_TRY(berth_judge(x->p, op_dev, NULL, NULL, tmp, &t, &v, err));
	int64_t over = t.peak_bytes[cpu] - x->p->dev_limit_bytes[cpu];
	for (int32_t k = g->n_ops - 1; k >= 0 && over > 0; k--) {
		int32_t op = g->topo_op[k];
		if (op_dev[op] != cpu || !g->op_param_bytes[op] || !berth_op_legal(x->p, op, disk))
			continue;
		op_dev[op] = disk;
		over -= g->op_param_bytes[op];
	}
	return BERTH_OK;
}

static berth_status find_usual(const berth_export_source *x, const berth_gguf_list *file, berth_arena *mem,
                               berth_arena *tmp, llama_plan *plan, int32_t *op_dev, bool *known,
                               berth_err *err)
{
	llama_machine machine;
	int32_t cpu;
	*known = false;
	BERTH_TRY(find_machine(x, mem, &machine, &cpu, err));
	if (cpu < 0 || machine.n_devs > MOST_DEVICES || strcmp(file->opt.weights, "file") != 0 ||
	    file->opt.each_expert)
		return BERTH_OK;
	BERTH_TRY(llama_fit(file, &machine, mem, tmp, plan, known, err));
	if (!*known)
		return BERTH_OK;
	BERTH_TRY(llama_plan_ops(x->g, file, plan, cpu, tmp, op_dev, err));
	return spill(x, cpu, op_dev, tmp, err);
}

/* Tokens a second of the plan, and of llama.cpp by itself. */
static berth_status tell_rates(const berth_export_source *x, const int32_t *usual_dev, berth_arena *tmp,
                               berth_export_out *out, berth_err *err)
{
	llama_uses uses;
	berth_export_rate *answer, *read;
	if (!x->p || x->g->n_times)
		return BERTH_OK;
	BERTH_TRY_NEW(out->mem, 2, err, out->rate);
	*(answer = &out->rate[0]) = (berth_export_rate){"answering", NAN, NAN};
	*(read = &out->rate[1]) = (berth_export_rate){"reading", NAN, NAN};
	BERTH_TRY(llama_uses_open(x, out->mem, tmp, &uses, err));
	BERTH_TRY(llama_uses_rates(&uses, x->op_dev, tmp, &answer->plan, &read->plan, err));
	if (usual_dev)
		BERTH_TRY(llama_uses_rates(&uses, usual_dev, tmp, &answer->usual, &read->usual, err));
	out->n_rates = isnan(answer->plan) || isnan(read->plan) ? 0 : 2;
	return BERTH_OK;
}

/* Its plan as a line, where all devices that it uses have names and the system is known, by whose memory it
 * goes. */
static berth_status tell_usual(const berth_export_source *x, const berth_gguf_list *file, berth_arena *tmp,
                               berth_export_out *out, berth_err *err)
{
	berth_export_source own = *x;
	llama_names names;
	llama_plan plan;
	int32_t *op_dev;
	bool known;
	if (!x->p)
		return BERTH_OK;
	BERTH_TRY_NEW(out->mem, x->g->n_ops, err, op_dev);
	BERTH_TRY(find_usual(x, file, out->mem, tmp, &plan, op_dev, &known, err));
	BERTH_TRY(tell_rates(x, known ? op_dev : NULL, tmp, out, err));
	for (int32_t i = 0; known && i < plan.n_devs; i++)
		known = x->theirs && x->theirs[plan.dev[i]];
	if (!known)
		return BERTH_OK;
	for (int32_t i = 0; i < plan.n_devs; i++)
		op_dev[i] = plan.dev[i]; /* all of them get their names */
	own.op_dev = op_dev;
	BERTH_TRY(llama_names_read(&own, out->mem, &names, err));
	return llama_line(x->model->name, &plan, file, &names, out->mem, tmp, &out->usual, err);
}

static berth_status usual(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, bool *known,
                          berth_err *err)
{
	BERTH_ARENA(mem);
	berth_gguf_list file;
	llama_plan plan;
	*known = false;
	if (!x->model)
		return BERTH_OK;
	BERTH_TRY(berth_gguf_list_tensors(x->model, x->read, &mem, tmp, &file, err));
	return find_usual(x, &file, &mem, tmp, &plan, op_dev, known, err);
}

berth_status berth_export_uses_seconds(const berth_export_source *x, const int32_t *usual_dev,
                                       berth_arena *tmp, berth_export_uses *out, berth_err *err)
{
	BERTH_ARENA(mem);
	llama_uses u;
	berth_problem mixed;
	int32_t *dev, *to;
	out->plan = berth_export_serial(x->p, x->op_dev);
	out->usual = berth_export_serial(x->p, usual_dev);
	out->error = berth_ratio_error(x->p, x->op_dev, usual_dev);
	if (!x->model || x->g->n_times)
		return BERTH_OK;
	BERTH_TRY(llama_uses_open(x, &mem, tmp, &u, err));
	BERTH_TRY_NEW(&mem, u.answer.n_ops, err, dev, to);
	mixed = u.answer;
	BERTH_TRY(berth_uses_mix(x->uses, &mixed, &u.read, u.twin, u.chunk, &mem, err));
	out->plan = serial_s(&mixed, u.answer_op, x->op_dev, dev);
	out->usual = serial_s(&mixed, u.answer_op, usual_dev, to);
	if (!isnan(out->plan) && !isnan(out->usual))
		out->error = berth_ratio_error(&u.answer, dev, to);
	return BERTH_OK;
}

/* What has no room needs no names. */
static berth_status read_names(const berth_export_source *x, const berth_export_out *out, llama_names *names,
                               berth_err *err)
{
	berth_status st = llama_names_read(x, out->mem, names, err);
	return st == BERTH_EINVAL && out->unfit ? berth_fail(err, BERTH_EUNSUPPORTED, "%s", out->unfit) : st;
}

static berth_status write(const berth_export_source *x, berth_arena *tmp, berth_export_out *out,
                          berth_err *err)
{
	berth_gguf_list file;
	llama_names names;
	llama_plan plan;
	const char *line;
	BERTH_TRY(berth_gguf_list_tensors(x->model, x->read, out->mem, tmp, &file, err));
	BERTH_TRY(check_words(&file.opt, x->model->name, err));
	BERTH_TRY(llama_plan_make(x, &file, out->mem, tmp, &plan, err));
	BERTH_TRY(tell_memory(x, &file, &plan, tmp, out, err));
	BERTH_TRY(read_names(x, out, &names, err));
	BERTH_TRY(llama_line(x->model->name, &plan, &file, &names, out->mem, tmp, &line, err));
	BERTH_TRY(berth_export_put(out, line, strlen(line), err));
	BERTH_TRY(berth_export_put(out, "\n", 1, err));
	BERTH_TRY(berth_export_set(out, "command", line, err));
	BERTH_TRY(tell_usual(x, &file, tmp, out, err));
	return tell(x, &file, &plan, out, err);
}

static berth_status nearest(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, berth_err *err)
{
	BERTH_ARENA(mem);
	berth_gguf_list file;
	BERTH_TRY(berth_gguf_list_tensors(x->model, x->read, &mem, tmp, &file, err));
	return llama_nearest(x, &file, tmp, op_dev, err);
}

static berth_status find_best(const berth_export_source *x, berth_arena *tmp, int32_t *op_dev, double *bound,
                              berth_err *err)
{
	BERTH_ARENA(mem);
	berth_gguf_list file;
	BERTH_TRY(berth_gguf_list_tensors(x->model, x->read, &mem, tmp, &file, err));
	BERTH_TRY(check_words(&file.opt, x->model->name, err));
	BERTH_TRY(llama_best(x, &file, tmp, op_dev, bound, err));
	int32_t cpu = 0;
	while (cpu < x->s->n_devs && (!llama_on_cpu(x, cpu) || llama_is_disk(x, cpu)))
		cpu++;
	return spill(x, cpu < x->s->n_devs ? cpu : -1, op_dev, tmp, err);
}

const berth_exporter berth_export_llama = {
	.name = "llama.cpp",
	.about = "A command line for llama-server, from a GGUF file",
	.suffix = ".sh",
	.needs = BERTH_EXPORT_PLACEMENT,
	.model = "GGUF",
	.write = write,
	.usual = usual,
	.seconds = berth_export_uses_seconds,
	.error_devices = error_devices,
	.nearest = nearest,
	.best = find_best,
	.model_words = model_words,
};
