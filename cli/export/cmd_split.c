/* berth split: an ONNX model whose operators are cut into pieces. */
#include "cmd_split.h"

#include "graph_load.h"
#include "load.h"
#include "sandboxed.h"
#include "say.h"

/* What it is told: operators, axes and shares as words. */
typedef struct cut_words {
	cli_texts cut, types; /* NAME=AXIS:SHARES; types of operators */
	const char *parts;    /* K, or shares; NULL: not given */
	const char *rows;     /* "send" or "twice"; NULL: send */
	const char *style;    /* "cheapest", "data" or "tensor"; NULL: cheapest */
	const char *out, *data;
} cut_words;

typedef struct state {
	cut_words words;
	pieces_options opt;
	berth_content model;
	berth_read_options read;
	berth_read_report report;
	berth_graph before, after;
	pieces_model made;
	berth_read_options left; /* of read: what is not fixed in the new model */
	split_search_args args;
	split_search search;
	int32_t n_kept; /* files of weights that both models take */
	bool apart;     /* the new model has another folder than these */
} state;

/* ---- words ---- */

/* "2,1,1": as many pieces as there are numbers. */
static berth_status read_shares(const char *option, const char *text, berth_arena *mem, int32_t *k,
                                const double **out, berth_err *err)
{
	double *share;
	const char *at = text;
	BERTH_TRY_NEW(mem, PIECES_MOST, err, share);
	for (*k = 0;; at++) {
		const char *end;
		double x = berth_text_number(at, &end);
		if (end == at || !(x > 0) || !isfinite(x) || (*end && *end != ','))
			return berth_fail(
				err, BERTH_EINVAL,
				"%s: '%s' are no shares; expected numbers above 0 with commas between, as "
				"in 2,1,1",
				option, text);
		if (*k == PIECES_MOST)
			return berth_fail(err, BERTH_EINVAL, "%s: more than %d shares", option, PIECES_MOST);
		share[(*k)++] = x;
		at = end;
		if (!*at)
			break;
	}
	*out = share;
	return BERTH_OK;
}

static berth_status read_cut(const char *text, berth_arena *mem, pieces_ask *ask, berth_err *err)
{
	const char *equals = strrchr(text, '='), *colon = equals ? strchr(equals, ':') : NULL;
	if (!colon || equals == text || colon == equals + 1)
		return berth_fail(err, BERTH_EINVAL,
		                  "--cut: '%s': expected NAME=AXIS:SHARES, as in conv1=channels:1,1", text);
	ask->op = berth_arena_strndup(mem, text, (size_t)(equals - text));
	ask->axis = berth_arena_strndup(mem, equals + 1, (size_t)(colon - equals - 1));
	if (!ask->op || !ask->axis)
		return berth_nomem(err);
	BERTH_TRY(read_shares("--cut", colon + 1, mem, &ask->k, &ask->share, err));
	return ask->k > 1 ? BERTH_OK
	                  : berth_fail(err, BERTH_EINVAL,
	                               "--cut: '%s': one share is no cut; expected two or more", text);
}

/* A number of parts is that many equal shares. */
static berth_status read_parts(const char *text, berth_arena *mem, pieces_options *opt, berth_err *err)
{
	double *share;
	BERTH_TRY(read_shares("--parts", text, mem, &opt->k, &opt->share, err));
	if (opt->k > 1)
		return BERTH_OK;
	double k = opt->share[0];
	if (k < 2 || k > PIECES_MOST || k != floor(k))
		return berth_fail(err, BERTH_EINVAL,
		                  "--parts: '%s': expected 2 to %d parts, or two shares or more", text,
		                  PIECES_MOST);
	opt->k = (int32_t)k;
	BERTH_TRY_NEW(mem, opt->k, err, share);
	for (int32_t i = 0; i < opt->k; i++)
		share[i] = 1;
	opt->share = share;
	return BERTH_OK;
}

static berth_status read_rows(const char *word, bool *overlap, berth_err *err)
{
	static const char *const words[] = {"send", "twice"};
	int32_t at = 0;
	if (word)
		BERTH_TRY(berth_text_find(words, 2, word, "value of --rows", NULL, &at, err));
	*overlap = at == 1;
	return BERTH_OK;
}

static berth_status read_style(const cut_words *w, pieces_options *opt, berth_err *err)
{
	static const char *const words[] = {"cheapest", "data", "tensor"}; /* in the order of pieces_style */
	int32_t at = 0;
	if (!w->style)
		return BERTH_OK;
	BERTH_TRY(berth_text_find(words, 3, w->style, "value of --style", NULL, &at, err));
	opt->style = (pieces_style)at;
	opt->each = opt->style != PIECES_CHEAPEST;
	return BERTH_OK;
}

/* The file of weights is called in the model by its name alone: it stands beside the model. */
static berth_status check_data(const cut_words *w, berth_err *err)
{
	const char *a = strrchr(w->out, '/'), *b = w->data ? strrchr(w->data, '/') : NULL;
	size_t n = a ? (size_t)(a - w->out) : 0, m = b ? (size_t)(b - w->data) : 0;
	if (!w->data || (!a == !b && n == m && strncmp(w->out, w->data, n) == 0))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "split: --data %s: it has to stand in the folder of %s", w->data,
	                  w->out);
}

/* Into opt, in mem. */
static berth_status read_words(const cut_words *w, berth_arena *mem, pieces_options *opt, berth_err *err)
{
	pieces_ask *ask;
	*opt = (pieces_options){.n_asks = w->cut.n, .type = w->types.text, .n_types = w->types.n};
	BERTH_TRY(read_style(w, opt, err));
	BERTH_TRY(check_data(w, err));
	BERTH_TRY_NEW(mem, w->cut.n, err, ask);
	for (int32_t i = 0; i < w->cut.n; i++)
		BERTH_TRY(read_cut(w->cut.text[i], mem, &ask[i], err));
	opt->ask = ask;
	if (w->parts)
		BERTH_TRY(read_parts(w->parts, mem, opt, err));
	BERTH_TRY(read_rows(w->rows, &opt->overlap, err));
	const char *slash = w->data ? strrchr(w->data, '/') : NULL;
	opt->outside = slash ? slash + 1 : w->data;
	return BERTH_OK;
}

/* ---- models ---- */

static berth_status check_format(const state *s, berth_err *err)
{
	const char *format = berth_content_format(&s->model)->name;
	if (strcmp(format, "ONNX") == 0)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "split takes ONNX models, and %s is none%s", s->model.name,
	                  s->model.size ? "" : ": it is empty");
}

static bool is_dim(const berth_read_report *r, const char *word)
{
	for (int32_t i = 0; i < r->n_dims; i++) {
		size_t n = strlen(r->dim_name[i]);
		if (strncmp(word, r->dim_name[i], n) == 0 && word[n] == '=')
			return true;
	}
	return false;
}

/* Dimensions that were given are fixed in the new model. */
static berth_status find_left(cli *c, state *s, berth_err *err)
{
	const char **dim;
	BERTH_TRY_NEW(&c->mem, s->read.n_dims, err, dim);
	for (int32_t i = 0; i < s->read.n_dims; i++)
		if (!is_dim(&s->report, s->read.dim[i]))
			dim[s->left.n_dims++] = s->read.dim[i];
	s->left.dim = dim;
	s->left.sandbox = cli_sandbox(c);
	return BERTH_OK;
}

/* The new model is read as the old one was, before it is written: its graph, and whether weights stay in the
 * old one's files. */
static berth_status read_made(cli *c, state *s, berth_err *err)
{
	berth_arena whole = {0};
	berth_read_report report;
	const char *data;
	size_t size;
	data = berth_file_join(s->made.piece, s->made.n_pieces, &whole, &size);
	BERTH_TRY(berth_got(data, err));
	berth_status st = berth_graph_parse(s->words.out, data, size, &s->left, &c->mem, &c->tmp, &s->after,
	                                    &report, err);
	berth_arena_free(&whole);
	for (int32_t i = 0; st == BERTH_OK && i < report.n_external; i++)
		s->n_kept += !s->opt.outside || strcmp(report.external[i], s->opt.outside) != 0;
	return st;
}

static berth_status write(cli *c, state *s, berth_err *err)
{
	berth_split_files f = {.made = &s->made,
	                       .model = s->model.name,
	                       .out = s->words.out,
	                       .data = s->words.data,
	                       .plan = s->args.plan};
	if (f.plan)
		BERTH_TRY(berth_split_plan(&s->search.x, &s->after, &c->mem, &c->tmp, &f.plan_text,
		                           &f.plan_size, err));
	return berth_split_write(&f, &c->tmp, err);
}

static berth_status nothing(cli *c, const state *s, berth_err *err)
{
	const pieces_refused *r = s->made.refused;
	if (!s->made.n_refused) {
		/* No operator was looked at: none is of a type of --types, or the model has none. */
		berth_strbuf b = {.mem = &c->mem};
		const char *types;
		for (int32_t i = 0; i < s->opt.n_types; i++)
			berth_strbuf_printf(&b, "%s %s", i ? "," : " of type", s->opt.type[i]);
		BERTH_TRY(berth_strbuf_done(&b, &types, NULL, err));
		return berth_fail(err, BERTH_EINVAL, "%s: no operator%s to be cut", s->model.name, types);
	}
	return berth_fail(err, BERTH_EUNSUPPORTED, "%s: nothing can be cut; '%s' (%s): %s", s->model.name,
	                  r->op, r->type, r->why);
}

static berth_status cut(cli *c, state *s, berth_err *err)
{
	const berth_split_request q = {.model = &s->model,
	                               .read = &s->read,
	                               .after = &s->left,
	                               .outside = s->opt.outside,
	                               .g = &s->before};
	if (s->args.on && !c->no_sandbox)
		BERTH_TRY(cli_note(c, err, "the search reads %s outside of the sandbox", s->model.name));
	if (s->args.on)
		return split_search_run(c, &s->args, &q, &s->search, &s->made, err);
	BERTH_TRY(pieces_cut_apart(&s->model, &s->read, &s->opt, &c->mem, &s->made, err));
	return s->made.n_made ? BERTH_OK : nothing(c, s, err);
}

static berth_status warn_other_axis(cli *c, const pieces_model *p, berth_err *err)
{
	const pieces_refused *r = &p->other_axis;
	char more[40] = "";
	if (!p->n_other_axis)
		return BERTH_OK;
	if (p->n_other_axis > 1)
		snprintf(more, sizeof more, " and %d more", (int)p->n_other_axis - 1);
	return cli_warn(c, err, "%s (%s)%s cut along another axis than --style tensor wants: %s", r->op,
	                r->type, more, r->why);
}

static berth_status make(cli *c, state *s, berth_err *err)
{
	BERTH_TRY(check_format(s, err));
	BERTH_TRY(cli_graph_load(c, c->args[0], &s->before, &s->report, err));
	BERTH_TRY(find_left(c, s, err));
	BERTH_TRY(cut(c, s, err));
	for (int32_t i = 0; i < s->made.n_asked; i++)
		BERTH_TRY(cli_warn(c, err, "%s (%s) stays whole: %s", s->made.refused[i].op,
		                   s->made.refused[i].type, s->made.refused[i].why));
	BERTH_TRY(warn_other_axis(c, &s->made, err));
	BERTH_TRY(read_made(c, s, err));
	if (s->n_kept)
		BERTH_TRY(berth_split_apart(s->model.name, s->words.out, &c->tmp, &s->apart, err));
	if (s->apart)
		BERTH_TRY(cli_warn(c, err,
		                   "weights stand in files beside %s: %s can be run only with copies of "
		                   "them beside it",
		                   s->model.name, s->words.out));
	BERTH_TRY(cli_strict(c, err));
	return write(c, s, err);
}

static berth_status tell(cli *c, const state *s, berth_err *err)
{
	const split_told t = {s->words.out, s->words.data, &s->made,
	                      &s->before,   &s->after,      s->args.on ? &s->search : NULL};
	BERTH_TRY(split_tell(c, &t, err));
	if (cli_in_words(c) && s->n_kept && !s->apart)
		cli_say("note: weights stand in files of their own: keep the new model in the same folder as "
		        "%s\n",
		        s->model.name);
	return BERTH_OK;
}

static berth_status run(cli *c, berth_err *err)
{
	state s = {.args = {.method = berth_method_default()->name, .budget = cli_budget_default()}};
	const cli_option options[] = {
		{"cut", 0, CLI_MANY, &s.words.cut, "NAME=AXIS:SHARES",
	         "cut the operator of this name (no pattern): batch, channels, rows, columns, inner, "
	         "vocabulary or a dimension, into such shares"},
		{"parts", 0, CLI_TEXT, &s.words.parts, "K|SHARES",
	         "cut all others along the cheapest axis, into K parts or such shares"},
		{"types", 0, CLI_LIST, &s.words.types, "TYPE,...", "only those of these types"},
		{"style", 0, CLI_TEXT, &s.words.style, "cheapest|data|tensor",
	         "how --parts chooses: the cheapest axis, the batch, or products by columns and inner in "
	         "turn, each "
	         "piece taking for itself what it needs of others\tcheapest"},
		{"rows", 0, CLI_TEXT, &s.words.rows, "send|twice",
	         "rows that a neighbour's windows need are sent, or computed twice\tsend"},
		{"dim", 0, CLI_MANY, &c->dim, "NAME=N", "fix a symbolic dimension in the new model"},
		{"on", 0, CLI_FILE_IN, &s.args.on, "SYSTEM",
	         "search for what to cut, into which shares, and where the pieces go"},
		{"profile", 0, CLI_FILE_IN, &s.args.profile, "FILE",
	         "with --on: times of MODEL's operators, as 'berth profile MODEL' writes them; pieces have "
	         "their share of them, and an overhead"},
		{"training", 0, CLI_FLAG, &c->training, NULL,
	         "with --on: search for the quickest training step (Adam) of the model with pieces"},
		{"pin", 0, CLI_MANY, &c->pin, "OP=DEVICE",
	         "with --on: keep operators of MODEL whole on a device; OP may be a pattern"},
		{"forbid", 0, CLI_MANY, &c->forbid, "OP=DEVICE",
	         "with --on: keep operators of MODEL and their pieces off a device"},
		{"method", 0, CLI_TEXT, &s.args.method, "M", "method that places them"},
		CLI_SEARCH(&s.args.budget),
		CLI_TIME(&s.args.budget),
		{"plan", 0, CLI_FILE_OUT, &s.args.plan, "FILE", "write where the search has placed them"},
		{"strict", 0, CLI_FLAG, &c->strict, NULL,
	         "refuse where an operator of --cut stays whole, one is cut along another axis than "
	         "--style wants, or OUT.onnx is not beside its weights"},
		{"data", 0, CLI_FILE_ONLY, &s.words.data, "FILE",
	         "a file for weights that cannot stay where they are, outside of the model"},
		{"output", 'o', CLI_FILE_ONLY, &s.words.out, "OUT.onnx", "the model with the pieces"},
		CLI_SANDBOX(c),
		CLI_COMMON(c)};
	BERTH_TRY(cli_parse(c, options, 1, 1, err));
	if (c->help)
		return BERTH_OK;
	BERTH_TRY(read_words(&s.words, &c->mem, &s.opt, err));
	if (!berth_graph_is_file(c->args[0]))
		return berth_fail(err, BERTH_EINVAL,
		                  "split takes the file of an ONNX model, and %s is none", c->args[0]);
	const berth_read_options opt = cli_read_options(c);
	BERTH_TRY(berth_model_map(c->args[0], &opt, &c->mem, &s.model, &s.read, err));
	berth_status st = make(c, &s, err);
	if (st == BERTH_OK)
		st = tell(c, &s, err);
	berth_model_unmap(&s.model);
	if (st == BERTH_OK && s.search.x.r.interrupted)
		return berth_fail(err, BERTH_EINTERRUPTED,
		                  "interrupted; the best program so far is the answer");
	return st;
}

static const cli_rule rules[] = {
	{"plan|profile|training|pin|forbid|method|objective|evaluations|time|threads", "!on",
         "split: --%s is of the search that --on SYSTEM asks for, which is missing"},
	{"", "!output", "split: -o OUT.onnx is missing"},
	{"on", "cut|parts|types|rows|style",
         "split: --on finds what is to be cut: leave out --cut, --parts, --types, --rows and --style"},
	{"", "!on|cut|parts",
         "split: what is to be cut? --cut NAME=AXIS:SHARES, --parts K, or --on SYSTEM, which finds it"},
	{"types", "!parts", "split: --types says what --parts cuts, which is missing"},
	{"style", "!parts", "split: --style says how --parts cuts, which is missing"}};

const cli_verb cmd_split = {
	"split", "split MODEL.onnx (--cut NAME=AXIS:SHARES... | --parts K | --on SYSTEM) -o OUT.onnx",
	"cut operators of an ONNX model into pieces",
	"The new model computes what MODEL does. Its pieces are operators of their own, to be placed like "
	"any other. What cannot be cut stays whole, and is told with the reason.\n"
	"With --on the cuts are searched for: the answer is never slower than whole operators placed with "
	"the same budget.\n"
	"Example: berth split model.onnx --parts 2 -o halves.onnx && berth place halves.onnx --on "
	"system:4gpu\n"
	"         berth split model.onnx --on system:4gpu -o cut.onnx --plan plan.json\n",
	run,
	CLI_RULES_OF(rules)};
