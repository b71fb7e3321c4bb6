/* The program berth: finds the verb, runs it, prints what went wrong, and leaves with the code that stands
 * for it (berth_exit_code). */
#include "cli.h"
#include "say.h"
#include "signals.h"
#include "text.h"
#include "threads.h"

const cli_verb *const cli_verbs[] = {
	&cmd_place, &cmd_train,     &cmd_compare, &cmd_simulate,    &cmd_measure, &cmd_profile,
	&cmd_adapt, &cmd_configure, &cmd_export,  &cmd_import_plan, &cmd_split,   &cmd_check_certificate,
	&cmd_show,  &cmd_methods,   &cmd_zoo,     &cmd_systems,     &cmd_devices, &cmd_keys, NULL};

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
	else if (strcmp(argv[1], "--version") == 0)
		cli_say("berth %s\n", BERTH_VERSION);
	else
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
