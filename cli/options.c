/* Command lines. getopt_long walks along them; the tables say what is known. */
#include "options.h"

#include "option_files.h"
#include "print.h"
#include "say.h"

#include <getopt.h>

enum { MAX_OPTIONS = 64, FIRST_ID = 256 };

/* ---- whole numbers ---- */

static const struct {
	double least, most;
	const char *expected;
} whole[] = {
	[CLI_COUNT] = {1, 0x1p53, "a whole number from 1 on (10000, 10K, 2M)"},
	[CLI_BUDGET_N] = {0, 0x1p53, "a whole number from 0 on (0, 10000, 10K, 2M)"},
	[CLI_USUAL] = {0, 0x1p53, "a whole number from 0 on (0, 10000, 10K, 2M)"},
	[CLI_SEED] = {0, 0x1p53, "a whole number from 0 to 2^53"},
	[CLI_THREADS] = {1, 1024, "a whole number from 1 to 1024"}};

static double whole_number(const cli_option *o)
{
	return o->kind == CLI_USUAL     ? (double)((cli_usual *)o->into)->n
	       : o->kind == CLI_SEED    ? (double)*(uint64_t *)o->into
	       : o->kind == CLI_THREADS ? *(int32_t *)o->into
	                                : (double)*(int64_t *)o->into;
}

static void set_whole_number(const cli_option *o, double x)
{
	if (o->kind == CLI_USUAL)
		*(cli_usual *)o->into = (cli_usual){(int64_t)x, true};
	else if (o->kind == CLI_SEED)
		*(uint64_t *)o->into = (uint64_t)x;
	else if (o->kind == CLI_THREADS)
		*(int32_t *)o->into = (int32_t)x;
	else
		*(int64_t *)o->into = (int64_t)x;
}

/* ---- help ---- */

enum { HELP_AT = 31, HELP_WIDTH = 110 };

/* 10000 as "10K", as it can be typed. */
static const char *short_count(char buf[32], int64_t n)
{
	static const char unit[] = "KMG";
	int u = -1;
	while (u < 2 && n >= (u < 0 ? 10000 : 1000) && n % 1000 == 0) {
		n /= 1000;
		u++;
	}
	snprintf(buf, 32, "%lld%.*s", (long long)n, u >= 0, u >= 0 ? unit + u : "");
	return buf;
}

/* What the option is where it is not given, in buf; "" where it is nothing. */
static const char *default_of(const cli_option *o, char *buf, size_t size)
{
	const char *words = strchr(o->help, '\t'), *text = words ? words + 1 : "";
	char number[32];
	if (o->kind > CLI_FLAG && o->kind <= CLI_CHECKPOINT) {
		text = *(const char **)o->into ? *(const char **)o->into : text;
	} else if (o->kind >= CLI_MANY && o->kind <= CLI_FILES_IN) {
		const cli_texts *list = o->into;
		text = list->n ? list->text[0] : text;
	} else if (o->kind >= CLI_COUNT && o->kind <= CLI_THREADS) {
		double x = whole_number(o);
		text = x >= whole[o->kind].least ? short_count(number, (int64_t)x) : text;
	} else if (o->kind >= CLI_SECONDS) {
		text = *(double *)o->into > 0 ? berth_text_double(number, *(double *)o->into) : text;
	}
	snprintf(buf, size, "%s%s%s", *text ? " (default " : "", text, *text ? ")" : "");
	return buf;
}

static void print_option(const cli_option *o, size_t width)
{
	char left[64], letter[8] = "", standard[160], text[512];
	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	snprintf(left, sizeof left, o->kind == CLI_WORD ? "%s--%s%s[%s]" : "%s--%s%s%s", letter, o->name,
	         o->value ? " " : "", o->value ? o->value : "");
	snprintf(text, sizeof text, "%.*s%s", (int)strcspn(o->help, "\t"), o->help,
	         default_of(o, standard, sizeof standard));
	cli_say("  %-28s ", left);
	cli_print_words(text, HELP_AT, HELP_AT, width);
}

static void print_help(const cli *c)
{
	const cli_verb *verb = c->verb;
	size_t width = cli_width() < HELP_WIDTH ? cli_width() : HELP_WIDTH;
	cli_say("usage: berth ");
	cli_print_words(verb->usage, 13, 13, width);
	cli_say("\n%s\n\noptions:\n", verb->about);
	for (const cli_option *o = c->options; o->name; o++)
		print_option(o, width);
	cli_say("\n");
	for (const char *line = verb->details; *line;) {
		size_t n = strcspn(line, "\n");
		char text[512];
		snprintf(text, sizeof text, "%.*s", (int)n, line);
		cli_print_words(text, 0, 2, width);
		line += n + (line[n] == '\n');
	}
}

/* ---- values ---- */

static berth_status bad_value(const cli_option *o, const char *text, const char *expected, berth_err *err)
{
	return berth_fail(err, BERTH_EINVAL, "option --%s: '%.60s' is not %s", o->name, text, expected);
}

/* A whole number in [least, most] with a suffix K, M or G. */
static bool read_whole(const char *text, double least, double most, double *out)
{
	const char *end;
	*out = berth_unit_number(BERTH_COUNT, text, &end);
	return !*end && *out == floor(*out) && *out >= least && *out <= most;
}

static berth_status read_seconds(berth_arena *mem, const cli_option *o, const char *text, berth_err *err)
{
	const char *end;
	double *into = o->into;
	size_t n = strlen(text);
	bool cpu = o->kind == CLI_LIMIT && n > 3 && strcmp(text + n - 3, "cpu") == 0;
	char *time = berth_arena_strndup(mem, text, cpu ? n - 3 : n);
	BERTH_TRY(berth_got(time, err));
	double x = berth_unit_number(BERTH_SECONDS, time, &end);
	if (*end || !isfinite(x) || x <= 0)
		return bad_value(o, text, "a time above 0 in seconds, or with a unit (10s, 500ms)", err);
	into[cpu] = x;
	return BERTH_OK;
}

static berth_status read_share(const cli_option *o, const char *text, berth_err *err)
{
	const char *end;
	double x = berth_text_number(text, &end);
	bool percent = *end == '%';
	if (end[percent] || !isfinite(x) || x <= 0 || (!percent && x >= 1))
		return bad_value(o, text, "a share above 0 and below 1, or with % (0.01, 1%)", err);
	x /= percent ? 100 : 1;
	*(double *)o->into = x;
	return BERTH_OK;
}

static berth_status add_text(berth_arena *mem, cli_texts *list, const char *text, berth_err *err)
{
	return BERTH_PUSH(mem, list->text, list->n, &list->cap, err, text);
}

/* Up to the next comma, but those between the words of a "host:gpu=t4,gpu=p4". */
static size_t entry_length(const char *text)
{
	size_t n = strcspn(text, ",");
	bool host = strncmp(text, "host:", 5) == 0;
	while (host && text[n] && text[n + 1 + strcspn(text + n + 1, ",=:/.")] == '=')
		n += 1 + strcspn(text + n + 1, ",");
	return n;
}

/* Split text at commas into out, in mem; "host:gpu=t4,gpu=p4" is one word. Empty words are an error. */
static berth_status split_at_commas(berth_arena *mem, const char *option, const char *text, cli_texts *out,
                                    berth_err *err)
{
	for (;;) {
		size_t n = entry_length(text);
		char *word = berth_arena_strndup(mem, text, n);
		BERTH_TRY(berth_got(word, err));
		if (!n)
			return berth_fail(err, BERTH_EINVAL, "option --%s: an empty word in the list",
			                  option);
		BERTH_TRY(add_text(mem, out, word, err));
		if (!text[n])
			return BERTH_OK;
		text += n + 1;
	}
}

static berth_status take(cli *c, const cli_option *o, const char *text, berth_err *err)
{
	double x = 0;
	if (o->kind == CLI_FLAG)
		*(bool *)o->into = true;
	else if (o->kind <= CLI_CHECKPOINT)
		*(const char **)o->into = text;
	else if (o->kind == CLI_MANY || o->kind == CLI_FILES_MANY)
		return add_text(&c->mem, o->into, text, err);
	else if (o->kind <= CLI_FILES_IN)
		return split_at_commas(&c->mem, o->name, text, o->into, err);
	else if (o->kind >= CLI_SECONDS)
		return o->kind == CLI_SHARE ? read_share(o, text, err) : read_seconds(&c->mem, o, text, err);
	else if (!read_whole(text, whole[o->kind].least, whole[o->kind].most, &x))
		return bad_value(o, text, whole[o->kind].expected, err);
	else
		set_whole_number(o, x);
	return BERTH_OK;
}

/* ---- walking ---- */

static bool has_option(const cli_option *o, const char *name)
{
	while (o->name && strcmp(o->name, name) != 0)
		o++;
	return o->name;
}

/* As other programs call sizes of a model: --ctx N is --dim context=N, where no option begins like that. */
static const char *const sizes[][2] = {{"ctx", "context"}, {"batch", "batch"}, {"kv-type", "cache"}};
enum {
	SIZES = sizeof sizes / sizeof *sizes,
	SIZE_ID = FIRST_ID + MAX_OPTIONS,
	FOR_ID = SIZE_ID + SIZES,
	TIME_ID
};

static const cli_option *by_id(const cli_option *options, int id)
{
	for (const cli_option *o = options; o->name; o++)
		if (id == FIRST_ID + (int)(o - options) || (o->letter && id == o->letter))
			return o;
	return NULL;
}

/* What took the place of an option that was: NULL where it never was, or nothing did. */
static const char *successor(const cli_verb *verb, const char *option)
{
	static const char *const gone[][3] = {
		{"", "--max-cuts", "--granularity G:max-cuts=N"},
		{"", "--cpu-time", "--time Scpu"},
		{"", "--each-objective", "--objective each"},
		{"", "--batch-dim", "--batches DIM=8,16"},
		{"", "--servers", "--serve HOST=N,..."},
		{"", "--calibrate", "a system file that show SYSTEM --calibrate -o FILE writes"},
		{"", "--times", "a system file with \"times\""},
		{"", "--table", "--format F:TABLE"},
		{"compare", "--engine-default", "--for"},
		{"", "--from", "nothing: the file's content says what it is"},
		{"show", "--graph", "show GRAPH --placement PLAN --op NAME"}};
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
		if (strcmp(option, gone[i][1]) == 0 && (!*gone[i][0] || strcmp(verb->name, gone[i][0]) == 0))
			return gone[i][2];
	return NULL;
}

/* getopt_long gave up on the word before optind. */
static berth_status refuse(const cli *c, int found, berth_err *err)
{
	const cli_verb *verb = c->verb;
	const cli_option *o = optopt ? by_id(c->options, optopt) : NULL;
	const char *names[MAX_OPTIONS], *word = c->argv[optind - 1];
	char dashed[MAX_OPTIONS][32], hint[96], typed[64];
	int32_t n = 0;
	if (optopt == FOR_ID || optopt == TIME_ID)
		return berth_fail(err, BERTH_EINVAL, "%s: option --%s needs a value", verb->name,
		                  optopt == FOR_ID ? "for" : "time");
	if (optopt >= SIZE_ID)
		return berth_fail(err, BERTH_EINVAL, "%s: option --%s needs a value", verb->name,
		                  sizes[optopt - SIZE_ID][0]);
	if (o && found == ':')
		return berth_fail(err, BERTH_EINVAL, "%s: option --%s needs a value, %s", verb->name, o->name,
		                  o->value);
	if (o)
		return berth_fail(err, BERTH_EINVAL, "%s: option --%s takes no value", verb->name, o->name);
	if (optopt)
		return berth_fail(err, BERTH_EINVAL, "%s: unknown option -%c; 'berth %s --help' lists them",
		                  verb->name, optopt, verb->name);
	for (const cli_option *k = c->options; k->name; k++, n++) {
		snprintf(dashed[n], sizeof dashed[n], "--%s", k->name);
		names[n] = dashed[n];
	}
	snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
	if (successor(verb, typed))
		return berth_fail(err, BERTH_EINVAL, "%s: option %s is gone; give %s", verb->name, typed,
		                  successor(verb, typed));
	if (strcmp(typed, "--set") == 0 || strcmp(typed, "--what-if") == 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: option %s is of simulate: place first, and 'berth simulate GRAPH --on "
		                  "SYSTEM --placement PLAN %s ...' changes the machine and places anew",
		                  verb->name, typed, typed);
	return berth_fail(err, BERTH_EINVAL, "%s: unknown option %s%s; 'berth %s --help' lists them",
	                  verb->name, typed, berth_text_suggest(hint, sizeof hint, typed, names, n),
	                  verb->name);
}

static void add_sizes(const cli_option *options, struct option *longs)
{
	const cli_option *dim = options;
	while (dim->name && strcmp(dim->name, "dim") != 0)
		dim++;
	for (int i = 0; i < SIZES && dim->name; i++) {
		const cli_option *o = options;
		while (o->name && strncmp(o->name, sizes[i][0], strlen(sizes[i][0])) != 0)
			o++;
		if (!o->name)
			*longs++ = (struct option){sizes[i][0], required_argument, NULL, SIZE_ID + i};
	}
	/* where they are no options they are no short --forbid and --timeout */
	if (!has_option(options, "for"))
		*longs++ = (struct option){"for", required_argument, NULL, FOR_ID};
	if (!has_option(options, "time") && has_option(options, "timeout"))
		*longs++ = (struct option){"time", required_argument, NULL, TIME_ID};
	*longs = (struct option){0};
}

static berth_status no_time(const char *verb, const cli_option *options, berth_err *err)
{
	const char *instead = has_option(options, "evaluations") ? " (--evaluations limits)" : "";
	return berth_fail(err, BERTH_EINVAL,
	                  "%s: there is no --time%s; --timeout is what an answer of an engine may take", verb,
	                  instead);
}

static berth_status take_size(cli *c, int i, const char *text, berth_err *err)
{
	const cli_option *dim = c->options;
	while (strcmp(dim->name, "dim") != 0)
		dim++;
	text = berth_arena_printf(&c->mem, "%s=%s", sizes[i][1], text);
	BERTH_TRY(berth_got(text, err));
	c->given |= UINT64_C(1) << (dim - c->options);
	return take(c, dim, text, err);
}

static void tables(const cli_option *options, struct option longs[MAX_OPTIONS + SIZES + 3],
                   char shorts[2 * MAX_OPTIONS + 2])
{
	*shorts++ = ':';
	for (const cli_option *o = options; o->name; o++) {
		assert(o - options < MAX_OPTIONS);
		*longs++ = (struct option){o->name,
		                           o->kind == CLI_FLAG   ? no_argument
		                           : o->kind == CLI_WORD ? optional_argument
		                                                 : required_argument,
		                           NULL, FIRST_ID + (int)(o - options)};
		if (o->letter)
			*shorts++ = o->letter;
		if (o->letter && o->kind != CLI_FLAG)
			*shorts++ = ':';
	}
	add_sizes(options, longs);
	*shorts = '\0';
}

static berth_status check_args(const cli *c, int min_args, int max_args, berth_err *err)
{
	const cli_verb *verb = c->verb;
	if (c->n_args < min_args)
		return berth_fail(err, BERTH_EINVAL, "%s: an argument is missing; usage: berth %s",
		                  verb->name, verb->usage);
	if (max_args >= 0 && c->n_args > max_args)
		return berth_fail(err, BERTH_EINVAL, "%s: '%.80s' is one argument too many; usage: berth %s",
		                  verb->name, c->args[max_args], verb->usage);
	return BERTH_OK;
}

/* The word behind an option that may stand without one. */
static const char *word_behind(const cli *c, const cli_option *o)
{
	const char *next = optind < c->argc ? c->argv[optind] : "";
	size_t n = strlen(next);
	for (const char *word = o->value; n && *word; word += strcspn(word, "|"), word += *word == '|')
		if (strcspn(word, "|") == n && memcmp(word, next, n) == 0)
			return c->argv[optind++];
	return "";
}

/* ---- what goes together ---- */

const char *cli_given(const cli *c, const char *names)
{
	for (size_t n; *names; names += n + (names[n] == '|')) {
		n = strcspn(names, "|");
		for (const cli_option *o = c->options; o->name; o++)
			if (c->given >> (o - c->options) & 1 && strlen(o->name) == n &&
			    memcmp(o->name, names, n) == 0)
				return o->name;
	}
	return NULL;
}

static berth_status check_rules(const cli *c, berth_err *err)
{
	const cli_verb *verb = c->verb;
	for (const cli_rule *r = verb->rule; r && r < verb->rule + verb->n_rules; r++) {
		const char *these = *r->these ? cli_given(c, r->these) : "";
		bool needs = *r->those == '!';
		if (these && needs == !cli_given(c, r->those + needs))
			return berth_fail(err, BERTH_EINVAL, r->why, these);
	}
	return BERTH_OK;
}

/* Files are read in a sandbox where there is one. It is not passed over without a word, but by builds that
 * have none for any system. */
static berth_status find_sandbox(cli *c, berth_err *err)
{
	berth_sandbox_state there = berth_sandbox_there();
	c->sandbox = !c->no_sandbox && there == BERTH_SANDBOX_WORKS;
	if (c->no_sandbox || there != BERTH_SANDBOX_REFUSED)
		return BERTH_OK;
	BERTH_TRY(cli_warn(c, err,
	                   "files are read without a sandbox: this system, or the container that berth runs "
	                   "in, has no seccomp filters (--no-sandbox: it is known)"));
	return cli_strict(c, err);
}

berth_status cli_parse(cli *c, const cli_option *options, int min_args, int max_args, berth_err *err)
{
	struct option longs[MAX_OPTIONS + SIZES + 3];
	char shorts[2 * MAX_OPTIONS + 2];
	tables(options, longs, shorts);
	c->options = options;
	opterr = 0;
	optind = 1;
	for (;;) {
		int found = getopt_long(c->argc, c->argv, shorts, longs, NULL);
		if (found < 0)
			break;
		if (found == '?' || found == ':')
			return refuse(c, found, err);
		if (found == FOR_ID)
			return berth_fail(err, BERTH_EINVAL,
			                  "%s: no plan for an engine is made here: leave out --for, an "
			                  "option of place, compare, simulate, show, check-certificate, "
			                  "train and configure",
			                  c->verb->name);
		if (found == TIME_ID)
			return no_time(c->verb->name, options, err);
		if (found >= SIZE_ID) {
			BERTH_TRY(take_size(c, found - SIZE_ID, optarg, err));
			continue;
		}
		const cli_option *o = by_id(options, found);
		c->given |= UINT64_C(1) << (o - options);
		if (o->kind == CLI_WORD && !optarg)
			optarg = (char *)word_behind(c, o);
		BERTH_TRY(take(c, o, optarg, err));
	}
	c->n_args = c->argc - optind;
	c->args = c->argv + optind;
	if (c->help) {
		print_help(c);
		return BERTH_OK;
	}
	BERTH_TRY(check_args(c, min_args, max_args, err));
	BERTH_TRY(cli_check_files(c, err));
	BERTH_TRY(check_rules(c, err));
	return find_sandbox(c, err);
}
