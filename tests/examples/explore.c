/* A model made operator by operator; a front of two objectives; a machine with more memory; why an operator
 * stands where it does. */
#include <berth.h>

#include <math.h>
#include <stdio.h>

enum { LAYERS = 8, MOST_DEVICES = 8 };

/* A chain of layers, the first of which stays on the CPU, where its input comes from. */
static berth_status draw(berth_draft *draft, berth_err *err)
{
	int32_t before = -1, op;
	char name[16];
	for (int i = 0; i < LAYERS; i++) {
		snprintf(name, sizeof name, "layer%d", i);
		berth_op layer = {.name = name,
		                  .type = "MatMul",
		                  .flops = 4e10,
		                  .read_bytes = INT64_C(420000000),
		                  .write_bytes = 8000000,
		                  .param_bytes = INT64_C(400000000),
		                  .pin = i == 0 ? "cpu0" : NULL};
		berth_status st = berth_draft_op(draft, &layer, &op, err);
		if (st == BERTH_OK && before >= 0)
			st = berth_draft_edge(draft, before, op, 8000000, NULL, err);
		if (st != BERTH_OK)
			return st;
		before = op;
	}
	return BERTH_OK;
}

static int show_front(const berth_model *model, const berth_machine *machine, berth_err *err)
{
	berth_options options = {.evaluations = 2000};
	berth_front *front;
	double before = 0;
	if (berth_pareto_front(model, machine, &options, "energy", 5, &front, err) != BERTH_OK)
		return 1;
	int bad = berth_front_count(front) < 1;
	for (int32_t i = 0; i < berth_front_count(front); i++) {
		const berth_plan *plan = berth_front_plan(front, i);
		berth_cost cost;
		bad |= berth_plan_cost(plan, &cost, err) != BERTH_OK || cost.latency_s <= before;
		before = cost.latency_s;
		printf("%.3g s, %.3g J\n", cost.latency_s, cost.energy_j);
	}
	berth_front_free(front);
	return bad;
}

static int explain(const berth_plan *plan, const berth_machine *machine, int32_t op, berth_err *err)
{
	double value[MOST_DEVICES], lost, sum;
	int32_t times;
	berth_op_reason why;
	berth_account *account;
	if (berth_plan_explain_op(plan, op, &why, value, err) != BERTH_OK ||
	    berth_plan_explain(plan, &account, err) != BERTH_OK)
		return 1;
	printf("it stands on %s\n", berth_machine_device(machine, why.device));
	for (int32_t d = 0; d < berth_machine_count(machine); d++)
		if (!isnan(value[d]))
			printf("with it on %s the plan takes %.3g s\n", berth_machine_device(machine, d),
			       value[d]);
	sum = berth_account_compute(account);
	printf("computing %.3g s\n", sum);
	for (int32_t i = 0; i < berth_account_count(account); i++) {
		const char *what = berth_account_lost(account, i, &lost, &times);
		printf("%s: %.3g s\n", what, lost);
		sum += lost;
	}
	berth_account_free(account);
	return fabs(sum / berth_plan_value(plan) - 1) > 1e-9;
}

/* Never worse on the better machine, as it starts from the plan at hand. */
static int what_if(const berth_model *model, const berth_machine *machine, const berth_plan *plan,
                   berth_err *err)
{
	berth_options options = {.evaluations = 500, .start = plan, .bound = "strong"};
	berth_machine *better;
	berth_plan *anew;
	berth_device_use use;
	int bad = 1;
	const char *changes = "gpu0.peak_flops=2x,gpu0.mem_bandwidth=2x";
	if (berth_machine_change(machine, changes, &better, err) != BERTH_OK)
		return 1;
	if (berth_place(model, better, &options, &anew, err) == BERTH_OK) {
		bad = !(berth_plan_value(anew) <= berth_plan_value(plan)) ||
		      berth_plan_device_use(anew, 1, &use, err) != BERTH_OK ||
		      use.peak_bytes > use.limit_bytes;
		printf("with twice the figures of gpu0: %.3g s; %d operators there take %.2g of it\n",
		       berth_plan_value(anew), (int)use.operators,
		       (double)use.peak_bytes / (double)use.limit_bytes);
		berth_plan_free(anew);
	}
	berth_machine_free(better);
	return bad;
}

static int explore(const berth_model *model, berth_err *err)
{
	berth_machine *machine;
	berth_plan *plan = NULL;
	int bad = 1;
	if (berth_machine_load("system:cpu+2gpu", &machine, err) != BERTH_OK)
		return 1;
	if (berth_place(model, machine, NULL, &plan, err) == BERTH_OK)
		bad = show_front(model, machine, err) || explain(plan, machine, LAYERS - 1, err) ||
		      what_if(model, machine, plan, err);
	berth_plan_free(plan);
	berth_machine_free(machine);
	return bad;
}

int main(void)
{
	berth_draft *draft;
	berth_model *model = NULL;
	berth_err err = {BERTH_OK, ""};
	int bad = 1;
	if (berth_draft_new("chain", &draft, &err) == BERTH_OK) {
		if (draw(draft, &err) == BERTH_OK && berth_draft_model(draft, &model, &err) == BERTH_OK)
			bad = explore(model, &err);
		berth_draft_free(draft);
	}
	if (err.code != BERTH_OK)
		fprintf(stderr, "%s\n", err.msg);
	berth_model_free(model);
	return bad;
}
