/* The program berth: finds the verb, runs it, prints what went wrong, and leaves with the code that stands
 * for it (berth_exit_code). */
#include "cli.h"
#include "built.h"
#include "options.h"
#include "results.h"
#include "signals.h"
#include "tell.h"
#include "text.h"
#include "threads.h"

static const cli_verb cmd_version;

const cli_verb *const cli_verbs[] = {
	&cmd_place, &cmd_train,     &cmd_compare, &cmd_simulate,    &cmd_measure, &cmd_profile,
	&cmd_adapt, &cmd_configure, &cmd_export,  &cmd_import_plan, &cmd_split,   &cmd_check_certificate,
	&cmd_show,  &cmd_methods,   &cmd_zoo,     &cmd_systems,     &cmd_devices, &cmd_keys,
	&cmd_version, NULL};

/* ---- version ---- */

static const char *const options_built[] = {BERTH_BUILT_OPTIONS NULL};
static const char *const without[] = {BERTH_BUILT_WITHOUT NULL};
static const char *const libraries_built[][2] = {BERTH_BUILT_LIBRARIES};
enum {
	N_OPTIONS = sizeof options_built / sizeof *options_built - 1,
	N_WITHOUT = sizeof without / sizeof *without - 1
};

#define VERSION(K, IF) \
	K(TEXT, "version", "", "", BERTH_VERSION) \
	K(TEXT, "compiler", "", "with its version and what it made code for", BERTH_BUILT_BY) \
	K(MAP("text"), "libraries", "", "versions of those that the build found", libraries) \
	K(TEXTS, "without", "", "optional libraries that it did not find: what needs them says so", without, \
	  N_WITHOUT) \
	K(TEXTS, "options", "", "of the build", options_built, N_OPTIONS)
RESULT_KIND(version_document, "Version", "", VERSION);

static berth_status tell_version(cli *c, berth_err *err)
{
	const cli_option options[] = {CLI_JSON(c), CLI_HELP(c)};
	BERTH_TRY(cli_parse(c, options, 0, 0, err));
	if (c->help)
		return BERTH_OK;
	berth_result_map *libraries = berth_result_map_new(&c->mem);
	const char *text = "";
	for (size_t i = 0; i < sizeof libraries_built / sizeof *libraries_built; i++) {
		const char *const *l = libraries_built[i];
		berth_result_map_add(libraries, l[0], berth_result_text(l[1]));
		text = berth_arena_printf(&c->mem, "%s%s%s %s", text, *text ? ", " : "", l[0], l[1]);
		BERTH_TRY(berth_got(text, err));
	}
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, version_document, VERSION), err));
	if (!cli_in_words(c))
		return BERTH_OK;
	const char *lacks = cli_join(c, berth_result_texts(without, N_WITHOUT), ", ", err),
	           *how = cli_join(c, berth_result_texts(options_built, N_OPTIONS), ", ", err);
	if (!lacks || !how)
		return err->code;
	cli_say("berth %s\ncompiler   %s\nlibraries  %s\n", BERTH_VERSION, BERTH_BUILT_BY, text);
	cli_say("without    %s\noptions    %s\n", *lacks ? lacks : "-", how);
	return BERTH_OK;
}

static const cli_verb cmd_version = {
	"version", "version [--json]", "tell what this program was built with",
	"Example: berth --version --json\n", tell_version, NULL, 0};

/* ---- verbs ---- */

static void print_help(void)
{
	cli_say("berth decides which device runs which operator of a neural network.\n\nusage: berth VERB "
	        "...\n\n");
	for (const cli_verb *const *v = cli_verbs; *v; v++)
		cli_say("  %-17s %s\n", (*v)->name, (*v)->about);
	cli_say("\nA GRAPH is an ONNX or GGUF model, a model folder, a PyTorch module (FILE.py:FACTORY),\n"
	        "a berth-graph file, a task graph or zoo:NAME[:key=value...]; a SYSTEM is a berth-system\n"
	        "file or system:NAME.\n"
	        "'berth VERB --help' says more; berth(1) says all.\n"
	        "Example: berth place zoo:resnet50:batch=8 --on system:cpu+2gpu -o plan.json\n");
}

static const cli_verb *find_verb(const char *name, berth_err *err)
{
	const char *names[32];
	int32_t n = 0, at;
	for (const cli_verb *const *v = cli_verbs; *v; v++)
		names[n++] = (*v)->name;
	if (strncmp(name, "zoo:", 4) == 0 || strchr(name, '.')) { /* what is to be placed, no word */
		berth_fail(err, BERTH_EINVAL,
		           "a verb is missing before '%.200s': 'berth show' tells what it is, 'berth place' "
		           "places it; 'berth --help' lists all",
		           name);
		return NULL;
	}
	return berth_text_find(names, n, name, "verb", "; 'berth --help' lists them", &at, err) == BERTH_OK
	               ? cli_verbs[at]
	               : NULL;
}

static berth_status run_verb(int argc, char **argv, double wall_from, berth_err *err)
{
	cli c = {.wall_from = wall_from,
	         .cpu_from = berth_cpu_seconds(),
	         .verb = find_verb(argv[0], err),
	         .argc = argc,
	         .argv = argv};
	if (!c.verb)
		return err->code;
	berth_status st = c.verb->run(&c, err);
	cli_signals_over();
	berth_arena_free(&c.mem);
	berth_arena_free(&c.tmp);
	return st;
}

static berth_status run(int argc, char **argv, double wall_from, berth_err *err)
{
	if (argc < 2)
		return berth_fail(err, BERTH_EINVAL, "a verb is missing; 'berth --help' lists them");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		print_help();
	else if (strcmp(argv[1], "--version") == 0) {
		argv[1] += 2;
		return run_verb(argc - 1, argv + 1, wall_from, err);
	} else
		return run_verb(argc - 1, argv + 1, wall_from, err);
	return BERTH_OK;
}

int main(int argc, char **argv)
{
	berth_err err = {BERTH_OK, ""};
	double wall_from = berth_wall_seconds();
	cli_ignore_file_limit();
	cli_signals_start();
	berth_status st = cli_hold_streams(&err);
	if (st == BERTH_OK)
		st = run(argc, argv, wall_from, &err);
	if (fflush(stdout) != 0 || ferror(stdout))
		st = berth_fail(&err, BERTH_EIO, "cannot write standard output");
	if (st != BERTH_OK && *err.msg) /* else it was told: cmd_train.c */
		cli_say_error("berth: %s\n", err.msg);
	return berth_exit_code(st);
}
