/* Train a policy on two models and a machine in two sittings, and place a third model with it at once. Then
 * hold all methods that answer at once against the bound. */
#include <berth.h>

#include <stdio.h>
#include <string.h>

static int train(const char *path, berth_err *err)
{
	const char *const spec[] = {"zoo:random:ops=30:seed=1", "zoo:random:ops=30:seed=2"};
	berth_model *model[2] = {NULL, NULL};
	berth_machine *machine = NULL;
	berth_status st = berth_machine_load("system:cpu+2gpu", &machine, err);
	for (int i = 0; st == BERTH_OK && i < 2; i++)
		st = berth_model_load(spec[i], &model[i], err);
	for (int sitting = 1; st == BERTH_OK && sitting <= 2; sitting++) {
		berth_options options = {.evaluations = 200 * sitting, .resume = sitting > 1};
		st = berth_policy_train((const berth_model *const *)model, 2,
		                        (const berth_machine *const *)&machine, 1, &options, path, err);
	}
	berth_model_free(model[0]);
	berth_model_free(model[1]);
	berth_machine_free(machine);
	return st != BERTH_OK;
}

/* Methods that answer at once, beside each other, as a document. */
static int compare(const berth_model *model, const berth_machine *machine, const char *policy, berth_err *err)
{
	const char *const at_once[] = {"policy", "heft", "ceft", "pbqp", "single", NULL};
	berth_options options = {.bound = "strong", .policy = policy};
	berth_document *rows;
	if (berth_task_compare(model, machine, &options, at_once, 1, &rows, err) != BERTH_OK)
		return 1;
	printf("%s\n%d methods are known\n", berth_document_text(rows), (int)berth_method_count());
	berth_document_free(rows);
	return 0;
}

int main(int argc, char **argv)
{
	berth_model *model = NULL;
	berth_machine *machine = NULL;
	berth_err err = {BERTH_OK, ""};
	int bad = 1;
	if (argc != 2) {
		fprintf(stderr, "usage: learn POLICY\n");
		return 2;
	}
	if (!train(argv[1], &err) && berth_model_load("zoo:random:ops=40:seed=3", &model, &err) == BERTH_OK &&
	    berth_machine_load("system:cpu+2gpu", &machine, &err) == BERTH_OK)
		bad = compare(model, machine, argv[1], &err);
	if (err.code != BERTH_OK)
		fprintf(stderr, "%s\n", err.msg);
	berth_model_free(model);
	berth_machine_free(machine);
	return bad;
}
