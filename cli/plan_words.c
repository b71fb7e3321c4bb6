/* Writes into a plan the words that its model, its times and its engine were given by, and takes them from
 * a plan before its model is read. What is given besides must agree. */
#include "plan_words.h"

#include "file.h"
#include "graph_load.h"
#include "sandboxed.h"
#include "zoo.h"

/* ---- telling ---- */

static berth_status words_of(cli *c, const char *spec, berth_read_options *out, berth_err *err)
{
	const berth_read_options opt = cli_read_options(c);
	const char *path;
	return berth_graph_split(spec, &opt, &c->mem, &path, out, err);
}

berth_status cli_plan_words_tell(cli *c, const char *spec, bool by_name, berth_placement *p, berth_err *err)
{
	cli_texts named = {0};
	berth_read_options words;
	if (berth_zoo_is_spec(spec))
		return BERTH_OK;
	BERTH_TRY(words_of(c, spec, &words, err));
	if (by_name) {
		/* The words behind the name, between colons. */
		for (const char *at = strchr(p->graph_name, ':'); at; at = strchr(at + 1, ':')) {
			BERTH_TRY(BERTH_GROW(&c->mem, named.text, named.n, &named.cap, err));
			const char *word = berth_arena_strndup(&c->mem, at + 1, strcspn(at + 1, ":"));
			BERTH_TRY(berth_got(word, err));
			named.text[named.n++] = word;
		}
	}
	p->graph_word = by_name ? named.text : (const char **)(size_t)words.dim;
	p->n_graph_words = by_name ? named.n : words.n_dims;
	return BERTH_OK;
}

berth_status cli_plan_words_tell_all(cli *c, berth_placement *p, berth_err *err)
{
	cli_texts all = {0};
	berth_read_options words;
	for (int i = 0; i < c->n_args; i++) {
		if (berth_zoo_is_spec(c->args[i]))
			continue;
		BERTH_TRY(words_of(c, c->args[i], &words, err));
		for (int32_t k = 0; k < words.n_dims; k++) {
			BERTH_TRY(BERTH_GROW(&c->mem, all.text, all.n, &all.cap, err));
			all.text[all.n] = berth_arena_printf(&c->mem, "%d:%s", i + 1, words.dim[k]);
			BERTH_TRY(berth_got(all.text[all.n++], err));
		}
	}
	p->graph_word = all.text;
	p->n_graph_words = all.n;
	return BERTH_OK;
}

/* ---- taking ---- */

typedef struct taking {
	cli *c;
	const char *path;
	const berth_read_options *given; /* NULL: the model knows no words */
	bool several;                    /* words of several models, each behind its number */
} taking;

/* Bytes of a word's key, with the sign behind it; 0: it has none. */
static size_t key_length(const char *word)
{
	const char *equals = strrchr(word, '=');
	return equals ? (size_t)(equals - word) + 1 : 0;
}

/* Has the model words? A graph file has none, also that of a model with words. */
static berth_status knows_words(cli *c, const char *spec, bool *knows, berth_err *err)
{
	const berth_read_options opt = cli_read_options(c);
	berth_read_options words;
	BERTH_MODEL(model);
	*knows = !berth_zoo_is_spec(spec);
	if (!*knows || berth_module_file_length(spec))
		return BERTH_OK;
	BERTH_TRY(berth_model_map(spec, &opt, &c->mem, &model, &words, err));
	*knows = berth_content_format(&model)->words;
	return BERTH_OK;
}

/* Is the word among what is given? Not with another value. */
static berth_status is_given(const taking *x, const berth_read_options *all, const char *word, bool *out,
                             berth_err *err)
{
	size_t n = key_length(word);
	*out = false;
	for (int32_t i = 0; i < all->n_dims && !*out; i++) {
		const char *given = all->dim[i];
		if (key_length(given) != n || strncmp(given, word, n) != 0)
			continue;
		*out = true;
		if (strcmp(given, word) != 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "%s: the model was placed with %.80s, and %.80s is given: leave it "
			                  "out, or place anew",
			                  x->path, word, given);
	}
	return BERTH_OK;
}

/* "2:batch=8" goes behind the name of the second model. */
static berth_status take_model_word(void *ctx, const berth_json *at, berth_err *err)
{
	const taking *x = ctx;
	const char *word = cJSON_IsString(at->item) ? at->item->valuestring : "";
	size_t digits = strspn(word, "0123456789");
	uint64_t model = 0;
	berth_read_options given;
	bool there, knows;
	if (!berth_text_whole(word, digits, (uint64_t)x->c->n_args, &model) || !model ||
	    word[digits] != ':' || !key_length(word + digits + 1) || strchr(word + digits + 1, ':'))
		return berth_json_fail(at, err, "expected MODEL:KEY=VALUE, MODEL from 1 to %d", x->c->n_args);
	char **spec = &x->c->args[model - 1];
	BERTH_TRY(knows_words(x->c, *spec, &knows, err));
	if (!knows)
		return BERTH_OK;
	BERTH_TRY(words_of(x->c, *spec, &given, err));
	BERTH_TRY(is_given(x, &given, word + digits + 1, &there, err));
	return there ? BERTH_OK
	             : berth_got(*spec = berth_arena_printf(&x->c->mem, "%s%s", *spec, word + digits), err);
}

static berth_status take_word(void *ctx, const berth_json *at, berth_err *err)
{
	const taking *x = ctx;
	cli_texts *dim = &x->c->dim;
	const char *word = cJSON_IsString(at->item) ? at->item->valuestring : "";
	bool there;
	if (!key_length(word))
		return berth_json_fail(at, err, "expected KEY=VALUE");
	BERTH_TRY(is_given(x, x->given, word, &there, err));
	if (there)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(&x->c->mem, dim->text, dim->n, &dim->cap, err));
	return berth_got(dim->text[dim->n++] = berth_arena_strdup(&x->c->mem, word), err);
}

/* ---- words of times ---- */

/* The words of the plan's system. */
typedef struct times_words {
	cli *c;
	const char *path, *times; /* NULL: none */
	cli_texts calibrate;
} times_words;

static bool has_text(const cli_texts *x, const char *text)
{
	for (int32_t i = 0; i < x->n; i++)
		if (strcmp(x->text[i], text) == 0)
			return true;
	return false;
}

/* A plan names no file that is opened, and no program: what it was calibrated by is built in, or is said once
 * more by who has it. */
static berth_status check_calibration(const times_words *x, const char *text, berth_err *err)
{
	enum { MOST = 64 };
	if (x->calibrate.n == MOST)
		return berth_fail(err, BERTH_EFORMAT, "%s: it has more than %d calibrations", x->path, MOST);
	if (berth_zoo_is_spec(text) || has_text(&x->c->calibrate, text))
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL,
	                  "%s: the times that it was made by were calibrated by a model in a file, which is "
	                  "not opened because a plan says so: if it is yours, give --calibrate %.80s",
	                  x->path, text);
}

static berth_status take_times_word(void *ctx, const berth_json *at, berth_err *err)
{
	times_words *x = ctx;
	const char *word = cJSON_IsString(at->item) ? at->item->valuestring : "";
	bool times = strncmp(word, "times=", 6) == 0, calibrate = strncmp(word, "calibrate=", 10) == 0;
	if (!times && !calibrate)
		return berth_json_fail(at, err, "expected times=WORD or calibrate=MODEL=SECONDS@DEVICE");
	const char *value = berth_arena_strdup(&x->c->mem, word + (times ? 6 : 10));
	BERTH_TRY(berth_got(value, err));
	if (times) {
		x->times = value;
		return BERTH_OK;
	}
	BERTH_TRY(check_calibration(x, value, err));
	return BERTH_PUSH(&x->c->mem, x->calibrate.text, x->calibrate.n, &x->calibrate.cap, err, value);
}

/* A calibration of one that the other has not; NULL: none. */
static const char *first_beyond(const cli_texts *one, const cli_texts *other)
{
	for (int32_t i = 0; i < one->n; i++)
		if (!has_text(other, one->text[i]))
			return one->text[i];
	return NULL;
}

static berth_status take_times(const berth_json *all, taking *x, berth_err *err)
{
	berth_json system, list;
	times_words words = {.c = x->c, .path = x->path};
	BERTH_TRY(berth_json_object(all, "system", false, &system, err));
	if (!system.item)
		return BERTH_OK;
	BERTH_TRY(berth_json_array(&system, "words", false, &list, err));
	if (list.item)
		BERTH_TRY(berth_json_each(&list, take_times_word, &words, err));
	/* What is said of times goes before nothing, and may not be another than the plan says. */
	bool bound = berth_json_get(&system, "sha256").item != NULL;
	cli *c = words.c;
	if (c->times && words.times && strcmp(c->times, words.times) != 0)
		return berth_fail(err, BERTH_EINVAL, CLI_TOLD_OTHERWISE, words.path,
		                  berth_arena_printf(&c->mem, "--times %s", words.times), "--times ",
		                  c->times);
	const char *other = bound ? first_beyond(&c->calibrate, &words.calibrate) : NULL;
	if (other)
		return berth_fail(err, BERTH_EINVAL, CLI_TOLD_OTHERWISE, words.path,
		                  words.calibrate.n ? berth_arena_printf(&c->mem, "--calibrate %.80s",
		                                                      words.calibrate.text[0])
		                                 : "times that were not calibrated",
		                  "--calibrate ", other);
	c->times_against = bound && c->times && !words.times ? words.path : NULL;
	c->times = words.times ? words.times : c->times;
	if (words.calibrate.n)
		c->calibrate = words.calibrate;
	return BERTH_OK;
}

static berth_status take_words(const berth_json *all, taking *x, berth_err *err)
{
	berth_json graph, list = {0};
	if (!x->given && !x->several)
		return BERTH_OK;
	BERTH_TRY(berth_json_object(all, "graph", false, &graph, err));
	if (graph.item)
		BERTH_TRY(berth_json_array(&graph, "words", false, &list, err));
	berth_json_visit *visit = x->several ? take_model_word : take_word;
	return list.item ? berth_json_each(&list, visit, x, err) : BERTH_OK;
}

/* The engine that it is for, unless --for names one. */
static berth_status take_engine(const berth_json *all, taking *x, berth_err *err)
{
	const char *word = NULL;
	BERTH_TRY(berth_json_string(all, "for", false, &word, err));
	if (!word || x->c->engine)
		return BERTH_OK;
	return berth_got(x->c->engine = berth_arena_strdup(&x->c->mem, word), err);
}

static berth_status take(taking *x, const char *text, size_t size, berth_err *err)
{
	BERTH_JSON_DOC(all);
	BERTH_TRY(berth_json_open_doc(x->path, text, size, &all, err));
	BERTH_TRY(take_words(&all, x, err));
	BERTH_TRY(take_engine(&all, x, err));
	return take_times(&all, x, err);
}

berth_status cli_plan_words_take(cli *c, const char *path, const char *spec, berth_err *err)
{
	berth_read_options given;
	BERTH_JSON_TEXT(x);
	bool knows = spec && !berth_file_is_stream(spec);
	if (knows)
		BERTH_TRY(knows_words(c, spec, &knows, err));
	if (knows)
		BERTH_TRY(words_of(c, spec, &given, err));
	BERTH_TRY(cli_json_map(c, BERTH_READS_PLAN, path, &x, err));
	return take(&(taking){c, path, knows ? &given : NULL, !spec && c->n_args > 1}, x.text, x.size, err);
}
