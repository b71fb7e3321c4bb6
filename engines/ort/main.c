/* berth-engine-ort: an engine of berth (docs/engines.md) that runs ONNX models by ONNX Runtime. */
#include "hosts.h"

#include <signal.h>
#include <sys/prctl.h>

/* What a refusal is about: the "kind" of the protocol. */
static const char *kind_of(berth_status st)
{
	return st == BERTH_EFORMAT       ? "model"
	       : st == BERTH_EINFEASIBLE ? "device"
	       : st == BERTH_EIO         ? "missing"
	                                 : "";
}

/* ---- questions ---- */

static berth_status hello(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	(void)q;
	if (!e->lib)
		BERTH_TRY(hosts_agree(e, ort_open(e->library, &e->mem, &e->lib, err), err));
	if (!e->started)
		BERTH_TRY(e->way->start(e, err));
	e->started = true;
	berth_json_put_int(w, "protocol", 1);
	berth_json_put_string(w, "engine", "ort");
	berth_json_put_string(w, "version", ort_version(e->lib));
	berth_json_put_string(w, "clock", e->clock_name);
	berth_json_put_string(w, "executor", e->way->executor);
	berth_json_put_bool(w, "fuses", e->level != ORT_PLAIN);
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < e->n_devs; d++)
		e->way->put_device(e, d, w);
	berth_json_close(w, ']');
	return BERTH_OK;
}

static void unload(engine *e)
{
	if (e->started)
		e->way->forget_plans(e);
	if (e->model.lib)
		ort_model_close(&e->model);
	berth_arena_free(&e->model_mem);
	e->loaded = false;
}

/* The importer numbers the operators as berth's graph does, unless berth was given another file. */
static berth_status same_graph(const engine *e, const berth_json *q, berth_err *err)
{
	berth_json graph, ops;
	const cJSON *op;
	int32_t i = 0;
	BERTH_TRY(berth_json_object(q, "graph", true, &graph, err));
	BERTH_TRY(berth_json_array(&graph, "ops", true, &ops, err));
	if (cJSON_GetArraySize(ops.item) != e->model.n_ops)
		return berth_fail(err, BERTH_EFORMAT, "the model has %d operators, but the graph %d",
		                  e->model.n_ops, cJSON_GetArraySize(ops.item));
	cJSON_ArrayForEach(op, ops.item)
	{
		const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(op, "type"));
		const char *ours = e->model.onnx.node[e->model.op_node[i]].type;
		if (!cJSON_IsObject(op))
			return berth_fail(err, BERTH_EFORMAT, "operator %d of the graph is no object", i);
		if (type && strcmp(type, ours) != 0)
			return berth_fail(err, BERTH_EFORMAT,
			                  "operator %d of the model is a %.40s, that of the graph a %.40s", i,
			                  ours, type);
		i++;
	}
	return BERTH_OK;
}

/* "dims":["batch=8", ...], where berth was told some. */
static berth_status read_dims(engine *e, const berth_json *q, berth_read_options *opt, berth_err *err)
{
	berth_json list = {0};
	const cJSON *one;
	const char **dim;
	BERTH_TRY(berth_json_array(q, "dims", false, &list, err));
	if (!list.item)
		return BERTH_OK;
	BERTH_TRY_NEW(&e->model_mem, cJSON_GetArraySize(list.item), err, dim);
	cJSON_ArrayForEach(one, list.item)
	{
		if (!cJSON_IsString(one))
			return berth_fail(err, BERTH_EFORMAT, "dims: expected texts \"NAME=N\"");
		dim[opt->n_dims++] = one->valuestring;
	}
	opt->dim = dim;
	return BERTH_OK;
}

static berth_status load(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	const char *path = NULL;
	berth_read_options opt = {0};
	BERTH_TRY(berth_json_string(q, "model", true, &path, err));
	unload(e);
	if (strncmp(path, "zoo:", 4) == 0)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%.80s is a description without weights; this engine runs ONNX files",
		                  path);
	berth_status st = read_dims(e, q, &opt, err);
	if (st == BERTH_OK)
		st = ort_model_open(e->lib, path, &opt, e->level, NULL, &e->model_mem, &e->model, err);
	if (st == BERTH_OK)
		st = same_graph(e, q, err);
	st = hosts_agree(e, st, err);
	if (st != BERTH_OK) {
		unload(e);
		if (st == BERTH_EIO)
			err->code = st = BERTH_EFORMAT; /* of the model, not of the engine */
		return st;
	}
	e->loaded = true;
	berth_json_put_int(w, "ops", e->model.n_ops);
	if (e->model.missing)
		berth_json_put_string(w, "missing", e->model.missing);
	return BERTH_OK;
}

/* ---- times of operators and of transfers ---- */

static berth_status profile_op(engine *e, int32_t op, int32_t device, int32_t warmup, int32_t repeats,
                               berth_json_out *w, berth_err *err)
{
	berth_err why = {0};
	double *wall_s, *cpu_s;
	BERTH_TRY_NEW(&e->tmp, repeats, err, wall_s, cpu_s);
	berth_status st = e->way->time_op(e, op, device, warmup, repeats, wall_s, cpu_s, &why);
	if (st != BERTH_OK && st != BERTH_EFORMAT)
		return berth_fail(err, st, "%s", why.msg);
	berth_json_open(w, NULL, '{');
	berth_json_put_int(w, "op", op);
	if (st == BERTH_OK)
		berth_json_put_numbers(w, "wall_s", wall_s, repeats);
	if (st == BERTH_OK && e->way->puts_cpu)
		berth_json_put_numbers(w, "cpu_s", cpu_s, repeats);
	if (st != BERTH_OK)
		berth_json_put_string(w, "cannot", why.msg);
	berth_json_close(w, '}');
	return BERTH_OK;
}

static berth_status profile(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t device = 0, warmup = 0, repeats = 0, n = 0, *op;
	double run_s = 0, segment_s = 0;
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "device", true, 0, e->n_devs - 1, &device, err));
	BERTH_TRY(engine_read_numbers(e, q, "ops", -1, e->model.n_ops, &op, &n, err));
	BERTH_TRY(e->way->overheads(e, device, &run_s, &segment_s, err));
	berth_json_put_number(w, "run_overhead_s", run_s);
	berth_json_put_number(w, "segment_overhead_s", segment_s);
	berth_json_open(w, "rows", '[');
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(profile_op(e, op[i], device, warmup, repeats, w, err));
	berth_json_close(w, ']');
	return BERTH_OK;
}

static berth_status transfers(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	int32_t from = 0, to = 0, warmup = 0, repeats = 0, n = 0, *bytes;
	double *wall_s;
	BERTH_TRY(engine_read_repeats(q, &warmup, &repeats, err));
	BERTH_TRY(berth_json_int(q, "from", true, 0, e->n_devs - 1, &from, err));
	BERTH_TRY(berth_json_int(q, "to", true, 0, e->n_devs - 1, &to, err));
	BERTH_TRY(engine_read_numbers(e, q, "bytes", -1, 1 << 28, &bytes, &n, err));
	BERTH_TRY_NEW(&e->tmp, repeats, err, wall_s);
	berth_json_open(w, "rows", '[');
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(e->way->time_hop(e, from, to, (size_t)bytes[i], warmup, repeats, wall_s, err));
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "bytes", bytes[i]);
		berth_json_put_numbers(w, "wall_s", wall_s, repeats);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

/* ---- the loop ---- */

typedef struct question {
	const char *name;
	engine_answer_fn *answer;
	bool needs_model;
} question;

static berth_status answer(engine *e, const berth_json *q, berth_json_out *w, berth_err *err)
{
	const question questions[] = {{"hello", hello, false},
	                              {"load", load, false},
	                              {"run", e->way->run, true},
	                              {"whole", e->way->whole, true},
	                              {"profile", profile, true},
	                              {"transfers", transfers, false},
	                              {"set", e->way->set, true}};
	const char *what = NULL;
	BERTH_TRY(berth_json_string(q, "do", true, &what, err));
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		if (strcmp(questions[i].name, what) != 0)
			continue;
		if (i && !e->started)
			return berth_fail(err, BERTH_EINVAL, "hello comes first");
		if (questions[i].needs_model && !e->loaded)
			return berth_fail(err, BERTH_EINVAL, "no model was loaded");
		return questions[i].answer(e, q, w, err);
	}
	return berth_fail(err, BERTH_EINVAL, "no such question: %.40s", what);
}

static void open_answer(berth_json_out *w, berth_arena *mem, int32_t id, bool ok)
{
	berth_json_out_init(w, mem, false);
	berth_json_open(w, NULL, '{');
	berth_json_put_int(w, "id", id);
	berth_json_put_bool(w, "ok", ok);
}

static bool answer_line(engine *e, const char *line, size_t len)
{
	berth_err err = {0};
	berth_json_out w;
	cJSON *item = NULL;
	int32_t id = 0;
	const char *text;
	size_t n;
	berth_status st = berth_json_parse("question", line, len, &item, &err);
	berth_json q = {.item = item, .file = "question"};
	if (st == BERTH_OK)
		st = berth_json_int(&q, "id", true, 0, INT32_MAX, &id, &err);
	open_answer(&w, &e->tmp, id, true);
	if (st == BERTH_OK)
		st = answer(e, &q, &w, &err);
	if (st != BERTH_OK) {
		open_answer(&w, &e->tmp, id, false);
		berth_json_put_string(&w, "kind", kind_of(st));
		berth_json_put_string(&w, "error", err.msg);
	}
	berth_json_close(&w, '}');
	cJSON_Delete(item);
	if (berth_json_done(&w, &text, &n, &err) != BERTH_OK)
		return false;
	if (hosts_speaks(e))
		printf("%s\n", text);
	berth_arena_free(&e->tmp);
	return fflush(stdout) == 0;
}

static void print_help(void)
{
	fprintf(stdout,
	        "usage: berth-engine-ort [--devices NAME[=SPEED],...] [--clock wall|cpu]\n"
	        "       berth-engine-ort --providers NAME=PROVIDER[:N],... "
	        "[--provider-library NAME=FILE]... [--threads N]\n"
	        "       berth-engine-ort --hosts NAME[=SPEED],... [--agent WORD,...] [--compress 4x]\n"
	        "all:   [--optimize none|basic|extended|all] [--library FILE]\n\n"
	        "An engine of berth: questions come on standard input, a JSON object a line "
	        "(docs/engines.md).\n\n"
	        "  --devices           workers on CPU cores, and how fast each is to be (cpu0,cpu1=0.5)\n"
	        "  --clock             what workers' times are: of the clock, or of the CPU\n"
	        "  --providers         devices that are execution providers; N: its option device_id\n"
	        "  --provider-library  a plug-in library with a provider\n"
	        "  --threads           of the session\n"
	        "  --hosts             devices that are hosts, with a process on each, which mpirun starts\n"
	        "  --agent             what runs a command on a host, as ssh does (ssh,-oBatchMode=yes)\n"
	        "  --compress          large tensors of floats go from host to host as bytes with a scale\n"
	        "  --members           the hosts that have processes: said to these by --hosts\n"
	        "  --optimize          ONNX Runtime's level of optimisation\n"
	        "  --library           ONNX Runtime's library (else BERTH_ORT_LIBRARY, or where "
	        "`scripts/setup engine`\n"
	        "                      puts it)\n");
}

/* What is wrong stands last: berth tells the end of it. */
static bool refuse(const char *what, const char *word)
{
	fprintf(stderr, "berth-engine-ort: %s '%s'; berth-engine-ort --help tells the options\n", what, word);
	return false;
}

static bool read_level(engine *e)
{
	static const char *const names[] = {"none", "basic", "extended", "all"};
	static const int levels[] = {ORT_PLAIN, ORT_BASIC, ORT_EXTENDED, ORT_ALL};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(e->optimize, names[i]) == 0) {
			e->level = levels[i];
			return true;
		}
	return false;
}

static const char **option_at(engine *e, const char *word)
{
	const struct {
		const char *word, **into;
	} options[] = {{"--devices", &e->devices},     {"--optimize", &e->optimize},
	               {"--clock", &e->clock_name},    {"--library", &e->library},
	               {"--providers", &e->providers}, {"--threads", &e->threads_text},
	               {"--hosts", &e->hosts},         {"--agent", &e->agent},
	               {"--members", &e->members},     {"--compress", &e->compress}};
	if (strcmp(word, "--provider-library") == 0)
		return e->n_libraries < ENGINE_LIBRARIES ? &e->provider_library[e->n_libraries++] : NULL;
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (strcmp(word, options[i].word) == 0)
			return options[i].into;
	return NULL;
}

/* Defaults of what was not said; workers and providers have options of their own. */
static bool check_options(engine *e)
{
	if (e->providers && (e->devices || e->clock_name))
		return refuse("--devices and --clock are of workers, not of", "--providers");
	if (e->hosts && (e->devices || e->clock_name || e->providers))
		return refuse("--devices, --clock and --providers do not go with", "--hosts");
	if (!e->hosts && (e->agent || e->members || e->compress))
		return refuse("--agent, --members and --compress need", "--hosts");
	if (e->compress && strcmp(e->compress, "4x") != 0)
		return refuse("--compress is 4x, not", e->compress);
	if (!e->providers && (e->n_libraries || e->threads_text))
		return refuse("--provider-library and --threads need", "--providers");
	e->optimize = e->optimize ? e->optimize : "all";
	e->clock_name = e->clock_name ? e->clock_name : "wall";
	e->by_cpu = strcmp(e->clock_name, "cpu") == 0;
	e->way = e->providers ? &engine_providers : e->hosts ? &engine_hosts : &engine_workers;
	if (!e->by_cpu && strcmp(e->clock_name, "wall") != 0)
		return refuse("--clock is wall or cpu, not", e->clock_name);
	return read_level(e) || refuse("--optimize is none, basic, extended or all, not", e->optimize);
}

static bool read_options(engine *e, int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		const char **into = option_at(e, argv[i]);
		if (!into)
			return refuse("no such option, or too often:", argv[i]);
		if (i + 1 == argc)
			return refuse("a value is missing behind", argv[i]);
		*into = argv[i + 1];
	}
	return check_options(e);
}

int main(int argc, char **argv)
{
	static engine e;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	berth_err err = {0};
	/* Nobody waits for what is under way when berth is killed, and it would disturb the next run. The
	 * signal comes when the thread that started this process ends, which is the one that waits for the
	 * answers. Where berth is gone before this line, the input is at its end. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		print_help();
		return 0;
	}
	if (!read_options(&e, argc, argv))
		return 2;
	if (e.hosts && !e.members)
		return hosts_start(&e, argc, argv);
	if (e.members && hosts_join(&e, &err) != BERTH_OK) {
		fprintf(stderr, "berth-engine-ort: %s\n", err.msg);
		return 5;
	}
	while ((n = e.mesh ? hosts_hear(&e, &line, &cap) : getline(&line, &cap, stdin)) > 0)
		if (!answer_line(&e, line, (size_t)n))
			break;
	unload(&e);
	if (e.started)
		e.way->stop(&e);
	hosts_leave(&e);
	free(line);
	berth_arena_free(&e.mem);
	return 0;
}
