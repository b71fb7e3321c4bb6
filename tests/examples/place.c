/* Place a small model on a built-in machine with the installed library, write the plan, read it back, and
 * see what it costs. */
#include <berth.h>

#include <stdio.h>
#include <string.h>

static const char tiny[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"tiny\","
			   "\"ops\":[{\"name\":\"conv\",\"type\":\"Conv\",\"flops\":2e9,\"write_bytes\":"
                           "400000},{\"name\":\"relu\",\"type\":\"Relu\",\"flops\":1e5}],"
			   "\"edges\":[{\"from\":\"conv\",\"to\":\"relu\",\"bytes\":400000}]}";

static int report(const berth_model *model, const berth_machine *machine, const berth_plan *plan)
{
	berth_cost cost;
	if (!berth_plan_feasible(plan) || berth_plan_cost(plan, &cost, NULL) != BERTH_OK)
		return 1;
	printf("%g s, no plan takes less than %g s; %g samples/s, %g J\n", cost.latency_s,
	       berth_plan_lower_bound(plan), cost.throughput_per_s, cost.energy_j);
	for (int32_t op = 0; op < berth_model_count(model); op++)
		printf("%s on %s\n", berth_model_op(model, op),
		       berth_machine_device(machine, berth_plan_device(plan, op)));
	return berth_plan_value(plan) != cost.latency_s;
}

static int place(const berth_model *model, const berth_machine *machine, const char *path, berth_err *err)
{
	berth_options options = {.evaluations = 500, .seed = 7};
	berth_plan *plan = NULL, *again = NULL;
	int bad = 1;
	if (berth_place(model, machine, &options, &plan, err) == BERTH_OK &&
	    berth_plan_write(plan, path, err) == BERTH_OK &&
	    berth_plan_read(path, model, machine, &again, err) == BERTH_OK)
		bad = report(model, machine, again) || berth_plan_value(again) != berth_plan_value(plan);
	else
		fprintf(stderr, "%s\n", err->msg);
	berth_plan_free(plan);
	berth_plan_free(again);
	return bad;
}

int main(int argc, char **argv)
{
	berth_model *model = NULL;
	berth_machine *machine = NULL;
	berth_err err = {BERTH_OK, ""};
	int bad = 1;
	if (argc != 2) {
		fprintf(stderr, "usage: place PLAN.json\n");
		return 2;
	}
	if (berth_model_parse("tiny", tiny, strlen(tiny), &model, &err) == BERTH_OK &&
	    berth_machine_load("system:edge", &machine, &err) == BERTH_OK)
		bad = place(model, machine, argv[1], &err);
	else
		fprintf(stderr, "%s\n", err.msg);
	berth_model_free(model);
	berth_machine_free(machine);
	return bad;
}
