/* The users' header alone: what a program without the library's own headers sees. */
#include "berth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* a -> b; a takes 1 s on x and 2 s on y, b the reverse; the link takes 0.1 s. b has 100 bytes of
 * parameters. */
static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":"
                            "\"a\",\"time_s\":{\"x\":1,\"y\":2}},"
			    "{\"name\":\"b\",\"time_s\":{\"x\":2,\"y\":1},\"param_bytes\":100}],\"edges\":[{"
                            "\"from\":\"a\",\"to\":\"b\",\"bytes\":1}]}";
static const char duo[] = "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[{\"name\":"
                          "\"x\",\"memory_bytes\":50},{\"name\":\"y\"}],"
			  "\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":10,\"both_ways\":true}]}";

typedef struct fixture {
	berth_model *model;
	berth_machine *machine;
} fixture;

static int setup(void **state)
{
	fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	assert_int_equal(berth_model_parse("g", graph, strlen(graph), &f->model, NULL), BERTH_OK);
	assert_int_equal(berth_machine_parse("s", duo, strlen(duo), &f->machine, NULL), BERTH_OK);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;
	berth_model_free(f->model);
	berth_machine_free(f->machine);
	free(f);
	return 0;
}

static void test_names(void **state)
{
	fixture *f = *state;
	assert_int_equal(berth_model_count(f->model), 2);
	assert_string_equal(berth_model_op(f->model, 1), "b");
	assert_int_equal(berth_model_find(f->model, "b"), 1);
	assert_int_equal(berth_model_find(f->model, "c"), -1);
	assert_int_equal(berth_machine_count(f->machine), 2);
	assert_string_equal(berth_machine_device(f->machine, 0), "x");
	assert_true(strlen(berth_version()) >= 5);
}

static void test_errors(void **state)
{
	(void)state;
	berth_model *model = NULL;
	berth_machine *machine = NULL;
	berth_err err;
	assert_int_equal(berth_model_load("zoo:resnet5", &model, &err), BERTH_EINVAL);
	assert_int_equal(err.code, BERTH_EINVAL);
	assert_non_null(strstr(err.msg, "did you mean 'resnet50'?"));
	assert_int_equal(berth_model_load("no/such/file", &model, &err), BERTH_EIO);
	assert_int_equal(berth_model_parse("m", "{", 1, &model, &err), BERTH_EFORMAT);
	assert_int_equal(berth_model_parse("m", "\x01\x02", 2, &model, &err), BERTH_EFORMAT);
	assert_int_equal(berth_machine_load("system:none", &machine, NULL), BERTH_EINVAL);
	assert_null(model);
	assert_null(machine);
	berth_model_free(NULL);
	berth_machine_free(NULL);
	berth_plan_free(NULL);
}

static void test_place(void **state)
{
	fixture *f = *state;
	berth_plan *plan;
	berth_err err;
	berth_cost cost;
	double start, end;
	assert_int_equal(berth_place(f->model, f->machine, NULL, &plan, &err), BERTH_OK);
	assert_true(berth_plan_feasible(plan));
	assert_true(berth_plan_value(plan) == 2.1 && berth_plan_lower_bound(plan) == 2.1);
	assert_int_equal(berth_plan_device(plan, 0), 0);
	assert_string_equal(berth_plan_device_of(plan, "b"), "y");
	assert_null(berth_plan_device_of(plan, "c"));
	assert_true(berth_plan_evaluations(plan) > 0);
	assert_int_equal(berth_plan_cost(plan, &cost, &err), BERTH_OK);
	assert_true(cost.latency_s == 2.1 && cost.throughput_per_s == 1 && isnan(cost.energy_j) &&
	            isnan(cost.edp));
	berth_plan_op_times(plan, 1, &start, &end);
	assert_true(start == 1.1 && end == 2.1);
	berth_plan_free(plan);
	berth_options throughput = {.objective = "throughput", .method = "heft"};
	assert_int_equal(berth_place(f->model, f->machine, &throughput, &plan, &err), BERTH_OK);
	assert_true(berth_plan_value(plan) == 1);
	berth_plan_free(plan);
	berth_options bad = {.method = "hef"};
	assert_int_equal(berth_place(f->model, f->machine, &bad, &plan, &err), BERTH_EINVAL);
	bad = (berth_options){.objective = "energy"};
	assert_int_equal(berth_place(f->model, f->machine, &bad, &plan, &err), BERTH_EFORMAT);
	bad = (berth_options){.evaluations = -1};
	assert_int_equal(berth_place(f->model, f->machine, &bad, &plan, &err), BERTH_EINVAL);
	bad = (berth_options){.policy = "no/such/policy"};
	assert_int_equal(berth_place(f->model, f->machine, &bad, &plan, &err), BERTH_EIO);
}

static void test_own_plan(void **state)
{
	fixture *f = *state;
	berth_plan *plan = NULL;
	berth_err err;
	int32_t device[] = {0, 0}, order[] = {0, 1};
	assert_int_equal(berth_plan_new(f->model, f->machine, device, order, &plan, &err), BERTH_OK);
	assert_false(berth_plan_feasible(plan)); /* 100 bytes where there are 50 */
	assert_true(isnan(berth_plan_value(plan)));
	assert_int_equal(berth_plan_violations(plan), 1);
	assert_non_null(strstr(berth_plan_violation(plan, 0), "'x' needs"));
	berth_plan_free(plan);
	order[0] = 1;
	order[1] = 0;
	assert_int_equal(berth_plan_new(f->model, f->machine, device, order, &plan, &err), BERTH_EINVAL);
	device[1] = 2;
	assert_int_equal(berth_plan_new(f->model, f->machine, device, NULL, &plan, &err), BERTH_EINVAL);
	assert_int_equal(err.code, BERTH_EINVAL);
}

static berth_model *two_layers(void)
{
	berth_draft *d;
	berth_model *model = NULL, *none = NULL;
	berth_err err;
	int32_t a, b;
	const berth_op first = {.name = "a", .flops = 1e9, .read_bytes = 10, .pin = "cpu0"},
		       second = {.name = "b", .type = "Gemm", .flops = 1e9, .param_bytes = 7, .dtype = "f16",
		                 .dims = "b=1,m=10,n=100,k=1000"},
		       half = {.name = "c", .dtype = "half"}, shape = {.name = "c", .dims = "b=1,m=10,n=100"},
		       other = {.name = "c", .flops = 1e9, .dims = "b=1,m=1000,n=1000,k=10000"},
		       bad = {.name = "c", .flops = -1};
	assert_int_equal(berth_draft_new("two", &d, &err), BERTH_OK);
	assert_int_equal(berth_draft_op(d, &first, &a, &err), BERTH_OK);
	assert_int_equal(berth_draft_op(d, &second, &b, &err), BERTH_OK);
	assert_int_equal(berth_draft_op(d, &first, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_op(d, &bad, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_op(d, &(berth_op){0}, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_op(d, &half, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_op(d, &shape, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_op(d, &other, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_edge(d, a, b, 100, NULL, &err), BERTH_OK);
	assert_int_equal(berth_draft_edge(d, a, 2, 100, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_edge(d, -1, b, 100, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_time(d, b, "gpu1", NAN, &err), BERTH_OK);
	assert_int_equal(berth_draft_forbid(d, b, "cpu0", &err), BERTH_OK);
	assert_int_equal(berth_draft_shared(d, "w", 50, (int32_t[]){a, b}, 2, &err), BERTH_OK);
	assert_int_equal(berth_draft_shared(d, "v", 50, (int32_t[]){a, 5}, 2, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_model(d, &model, &err), BERTH_OK);
	assert_int_equal(berth_draft_model(d, &none, &err), BERTH_EINVAL);
	assert_int_equal(berth_draft_op(d, &first, NULL, &err), BERTH_EINVAL);
	assert_null(none);
	berth_draft_free(d);
	return model;
}

static void test_draft(void **state)
{
	(void)state;
	berth_model *model = two_layers();
	berth_machine *machine;
	berth_plan *plan;
	berth_device_use use;
	berth_err err;
	int32_t order[2];
	assert_string_equal(berth_model_name(model), "two");
	assert_int_equal(berth_model_warnings(model), 0);
	assert_int_equal(berth_machine_load("system:cpu+2gpu", &machine, &err), BERTH_OK);
	assert_string_equal(berth_machine_name(machine), "cpu+2gpu");
	assert_int_equal(berth_place(model, machine, NULL, &plan, &err), BERTH_OK);
	assert_string_equal(berth_plan_device_of(plan, "a"), "cpu0"); /* pinned */
	/* b may not stand on cpu0, and cannot run on gpu1 */
	assert_string_equal(berth_plan_device_of(plan, "b"), "gpu0");
	assert_int_equal(berth_plan_device_use(plan, 1, &use, &err), BERTH_OK);
	assert_true(use.operators == 1 && use.peak_bytes == 157);
	assert_true(use.busy_s > 0 && use.load_s == use.busy_s);
	assert_true(use.limit_bytes == INT64_C(16000000000) && use.sent_bytes == 0);
	assert_int_equal(berth_plan_device_use(plan, 3, &use, &err), BERTH_EINVAL);
	assert_int_equal(berth_plan_order(plan, order, &err), BERTH_OK);
	assert_true(order[0] == 0 && order[1] == 1);
	assert_string_equal(berth_plan_status(plan), "optimal");
	assert_string_equal(berth_plan_objective(plan), "latency");
	berth_plan_free(plan);
	berth_machine_free(machine);
	berth_model_free(model);
}

static void test_reasons(void **state)
{
	fixture *f = *state;
	int32_t device[] = {0, 1}, times;
	double value[2], seconds;
	berth_plan *plan;
	berth_op_reason why;
	berth_account *account;
	berth_err err;
	assert_int_equal(berth_plan_new(f->model, f->machine, device, NULL, &plan, &err), BERTH_OK);
	assert_int_equal(berth_plan_explain_op(plan, 0, &why, value, &err), BERTH_OK);
	assert_true(why.device == 0 && why.best_other == 1 && why.slack_s == 0 && why.end_s == 1);
	assert_true(value[0] == 2.1 && value[1] == 3);
	assert_int_equal(berth_plan_explain_op(plan, 1, &why, value, &err), BERTH_OK);
	assert_true(isnan(value[0])); /* 100 bytes where there are 50 */
	assert_int_equal(berth_plan_explain_op(plan, 2, &why, NULL, &err), BERTH_EINVAL);
	assert_int_equal(berth_plan_explain(plan, &account, &err), BERTH_OK);
	assert_true(berth_account_compute(account) == 2);
	assert_int_equal(berth_account_count(account), 1);
	assert_string_equal(berth_account_lost(account, 0, &seconds, &times), "transfers x -> y");
	assert_true(seconds == 0.1 && times == 1);
	berth_account_free(account);
	berth_plan_free(plan);
}

static void test_what_if(void **state)
{
	fixture *f = *state;
	int32_t device[] = {0, 0};
	berth_machine *roomy, *none = NULL;
	berth_plan *plan, *anew;
	berth_err err;
	assert_int_equal(berth_machine_change(f->machine, "x.memory_bytes=1000", &roomy, &err), BERTH_OK);
	assert_int_equal(berth_plan_new(f->model, roomy, device, NULL, &plan, &err), BERTH_OK);
	assert_true(berth_plan_feasible(plan) && berth_plan_value(plan) == 3);
	berth_options options = {.method = "single", .start = plan, .bound = "strong"};
	assert_int_equal(berth_place(f->model, roomy, &options, &anew, &err), BERTH_OK);
	assert_true(berth_plan_value(anew) == 3);
	berth_plan_free(anew);
	berth_model *other;
	assert_int_equal(berth_model_load("zoo:random:ops=5:seed=1", &other, &err), BERTH_OK);
	assert_int_equal(berth_place(other, roomy, &options, &anew, &err), BERTH_EINVAL);
	berth_model_free(other);
	options = (berth_options){.bound = "stronger"};
	assert_int_equal(berth_place(f->model, roomy, &options, &anew, &err), BERTH_EINVAL);
	assert_int_equal(berth_machine_change(f->machine, "q.slots=3", &none, &err), BERTH_EINVAL);
	assert_null(none);
	berth_plan_free(plan);
	berth_machine_free(roomy);
}

static void test_front(void **state)
{
	(void)state;
	berth_model *model;
	berth_machine *machine;
	berth_front *front = NULL;
	berth_options options = {.evaluations = 300};
	berth_err err;
	double bound;
	assert_int_equal(berth_model_load("zoo:random:ops=20:seed=1", &model, &err), BERTH_OK);
	assert_int_equal(berth_machine_load("system:cpu+2gpu", &machine, &err), BERTH_OK);
	assert_int_equal(berth_lower_bound(model, machine, &options, &bound, &err), BERTH_OK);
	assert_int_equal(berth_pareto_front(model, machine, &options, "latency", 0, &front, &err),
	                 BERTH_EINVAL);
	assert_int_equal(berth_pareto_front(model, machine, &options, "energi", 0, &front, &err),
	                 BERTH_EINVAL);
	assert_null(front);
	assert_int_equal(berth_pareto_front(model, machine, &options, "energy", 3, &front, &err), BERTH_OK);
	int32_t n = berth_front_count(front);
	assert_in_range(n, 1, 3);
	assert_true(berth_front_evaluations(front) > 0);
	for (int32_t i = 0; i < n; i++) {
		const berth_plan *plan = berth_front_plan(front, i);
		assert_true(berth_plan_feasible(plan) && berth_plan_value(plan) >= bound);
		if (i > 0)
			assert_true(berth_plan_value(berth_front_plan(front, i - 1)) <
			            berth_plan_value(plan));
	}
	berth_front_free(front);
	berth_model_free(model);
	berth_machine_free(machine);
}

static void test_methods(void **state)
{
	(void)state;
	int found = 0;
	for (int32_t i = 0; i < berth_method_count(); i++) {
		found += strcmp(berth_method_name(i), "heft") == 0;
		assert_true(strlen(berth_method_about(i)) > 10);
	}
	assert_int_equal(found, 1);
}

/* Stops at the third call. */
static int stop(void *ctx, int64_t evaluations, double value)
{
	int *calls = ctx;
	assert_true(evaluations >= 0 && (isnan(value) || value > 0));
	return ++*calls >= 3;
}

static void test_files(void **state)
{
	fixture *f = *state;
	char dir[] = "/tmp/berth-api-XXXXXX", plan_path[64], trace_path[64], policy_path[64], older_path[64];
	berth_plan *plan, *again;
	berth_err err;
	int calls = 0;
	assert_non_null(mkdtemp(dir));
	snprintf(plan_path, sizeof plan_path, "%s/plan", dir);
	snprintf(trace_path, sizeof trace_path, "%s/trace", dir);
	snprintf(policy_path, sizeof policy_path, "%s/policy", dir);
	snprintf(older_path, sizeof older_path, "%s/policy.older", dir);
	const berth_model *models[] = {f->model};
	const berth_machine *machines[] = {f->machine};
	berth_options options = {.evaluations = 200, .threads = 2};
	assert_int_equal(berth_policy_train(models, 1, machines, 1, &options, policy_path, &err), BERTH_OK);
	options.resume = true; /* there is nothing left to do */
	assert_int_equal(berth_policy_train(models, 1, machines, 1, &options, policy_path, &err), BERTH_OK);
	options = (berth_options){.method = "policy", .policy = policy_path};
	assert_int_equal(berth_place(f->model, f->machine, &options, &plan, &err), BERTH_OK);
	assert_int_equal(berth_plan_write(plan, plan_path, &err), BERTH_OK);
	assert_int_equal(berth_plan_read(plan_path, f->model, f->machine, &again, &err), BERTH_OK);
	assert_int_equal(berth_plan_device(plan, 1), berth_plan_device(again, 1));
	assert_int_equal(berth_plan_trace(plan, trace_path, &err), BERTH_OK);
	assert_int_equal(access(trace_path, R_OK), 0);
	assert_int_equal(berth_plan_trace(plan, "/no/such/dir/x", &err), BERTH_EIO);
	berth_measured_cost measured;
	assert_int_equal(berth_plan_measure(plan, plan_path, "no-such", 1, &measured, &err), BERTH_EIO);
	assert_int_equal(berth_plan_measure(plan, plan_path, NULL, -1, &measured, &err), BERTH_EINVAL);
	berth_plan_free(plan);
	berth_plan_free(again);
	berth_model *open_end; /* whose bound is not reached, so that only the caller ends the search */
	berth_machine *pair;
	assert_int_equal(berth_model_load("zoo:inception-v3", &open_end, &err), BERTH_OK);
	assert_int_equal(berth_machine_load("system:cpu+2gpu", &pair, &err), BERTH_OK);
	options = (berth_options){.time_s = 30, .bound = "fast", .progress = stop, .progress_ctx = &calls};
	assert_int_equal(berth_place(open_end, pair, &options, &plan, &err), BERTH_OK);
	assert_int_equal(calls, 3);
	berth_plan_free(plan);
	berth_model_free(open_end);
	berth_machine_free(pair);
	options = (berth_options){.evaluations = INT64_C(1) << 40, .progress = stop, .progress_ctx = &calls};
	assert_int_equal(berth_policy_train(models, 1, machines, 1, &options, policy_path, &err),
	                 BERTH_EINTERRUPTED);
	assert_int_equal(berth_policy_train(models, 0, machines, 1, &options, policy_path, &err),
	                 BERTH_EINVAL);
	unlink(plan_path);
	unlink(trace_path);
	unlink(policy_path);
	unlink(older_path); /* of the training that was interrupted */
	assert_int_equal(rmdir(dir), 0);
}

static void test_export(void **state)
{
	fixture *f = *state;
	char path[] = "/tmp/berth-api-XXXXXX", text[256] = "";
	berth_plan *plan;
	berth_err err;
	int32_t found = 0, fd = mkstemp(path);
	FILE *file;
	assert_true(fd >= 0);
	close(fd);
	for (int32_t i = 0; i < berth_export_count(); i++) {
		found += strcmp(berth_export_name(i), "csv") == 0;
		assert_true(strlen(berth_export_about(i)) > 10);
	}
	assert_int_equal(found, 1);
	assert_int_equal(berth_place(f->model, f->machine, NULL, &plan, &err), BERTH_OK);
	assert_int_equal(berth_plan_export(plan, "csv", NULL, NULL, path, &err), BERTH_OK);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof text - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(text, "a,"));
	assert_int_equal(berth_plan_export(plan, "svg", NULL, NULL, path, &err), BERTH_EINVAL);
	assert_int_equal(berth_plan_export(plan, "ort", NULL, NULL, path, &err), BERTH_EINVAL);
	assert_non_null(strstr(err.msg, "give its file"));
	assert_int_equal(berth_plan_export(plan, "ort", "no/such/file", NULL, path, &err), BERTH_EIO);
	berth_plan_free(plan);
	unlink(path);
}

static int stop_at_once(void *ctx, int64_t evaluations, double value)
{
	(void)ctx;
	(void)evaluations;
	(void)value;
	return 1;
}

static void test_tasks(void **state)
{
	fixture *f = *state;
	static const char *const methods[] = {"single", "heft", NULL}, *const no_method[] = {"no-such", NULL};
	const berth_options options = {.evaluations = 50};
	berth_document *d = NULL;
	berth_err err;
	assert_int_equal(berth_task_compare(f->model, f->machine, &options, methods, 2, &d, &err), BERTH_OK);
	assert_non_null(strstr(berth_document_text(d), "\"method\": \"heft\""));
	assert_non_null(strstr(berth_document_text(d), "\"seed\": 2"));
	berth_document_free(d);
	d = NULL;
	assert_int_equal(berth_task_compare(f->model, f->machine, &options, no_method, 1, &d, &err),
	                 BERTH_EINVAL);
	assert_int_equal(berth_task_compare(f->model, f->machine, &options, methods, 0, &d, &err),
	                 BERTH_EINVAL);
	assert_int_equal(berth_task_copies(f->model, f->machine, 2, 2, &options, &d, &err), BERTH_OK);
	assert_non_null(strstr(berth_document_text(d), "\"per_s\": "));
	berth_document_free(d);
	assert_int_equal(berth_task_copies(f->model, f->machine, 3, 2, NULL, &d, &err), BERTH_EINVAL);
	berth_document_free(NULL);
}

static void test_configure(void **state)
{
	(void)state;
	static const int64_t batch[] = {4, 8}, falling[] = {8, 4};
	const berth_options options = {.evaluations = 20};
	berth_model *model[2];
	berth_machine *cluster;
	berth_document *d;
	berth_err err;
	assert_int_equal(berth_model_load("zoo:ffnn:batch=4:training=1", &model[0], &err), BERTH_OK);
	assert_int_equal(berth_model_load("zoo:ffnn:batch=8:training=1", &model[1], &err), BERTH_OK);
	assert_int_equal(berth_machine_load("system:hetero-cluster", &cluster, &err), BERTH_OK);
	const berth_model *const models[] = {model[0], model[1]};
	assert_int_equal(berth_task_configure(models, batch, 2, cluster, "time", &options, &d, &err),
	                 BERTH_OK);
	assert_non_null(strstr(berth_document_text(d), "\"host\": "));
	berth_document_free(d);
	assert_int_equal(berth_task_configure(models, falling, 2, cluster, "time", NULL, &d, &err),
	                 BERTH_EINVAL);
	assert_int_equal(berth_task_configure(models, batch, 2, cluster, "speed", NULL, &d, &err),
	                 BERTH_EINVAL);
	berth_model_free(model[0]);
	berth_model_free(model[1]);
	berth_machine_free(cluster);
}

/* What was compared before progress stopped it is not answered. */
static void test_stopped(void **state)
{
	static const char *const methods[] = {"anneal", NULL};
	const berth_options options = {.evaluations = 1 << 30, .bound = "fast", .progress = stop_at_once};
	berth_model *model;
	berth_machine *machine;
	berth_document *d = NULL;
	berth_err err;
	(void)state;
	assert_int_equal(berth_model_load("zoo:inception-v3", &model, &err), BERTH_OK);
	assert_int_equal(berth_machine_load("system:cpu+2gpu", &machine, &err), BERTH_OK);
	assert_int_equal(berth_task_compare(model, machine, &options, methods, 1, &d, &err),
	                 BERTH_EINTERRUPTED);
	assert_non_null(strstr(err.msg, "there is no document"));
	assert_null(d);
	berth_model_free(model);
	berth_machine_free(machine);
}

/* Programs of pieces are told as they are made, each. */
static int count_calls(void *ctx, int64_t evaluations, double value)
{
	*(int *)ctx += evaluations > 0 && value > 0;
	return 0;
}

static void test_split(void **state)
{
	(void)state;
	int calls = 0;
	char dir[] = "/tmp/berth-api-XXXXXX", cut[64], plan_path[64];
	const berth_options options = {.method = "local-search",
	                               .evaluations = 300,
	                               .progress = count_calls,
	                               .progress_ctx = &calls};
	berth_model *model;
	berth_machine *machine;
	berth_plan *plan;
	berth_document *d;
	berth_err err;
	assert_non_null(mkdtemp(dir));
	snprintf(cut, sizeof cut, "%s/cut.onnx", dir);
	snprintf(plan_path, sizeof plan_path, "%s/plan", dir);
	assert_int_equal(berth_machine_load("system:4gpu", &machine, &err), BERTH_OK);
	assert_int_equal(
		berth_task_split(BERTH_FIXTURES "/tagger.onnx", machine, &options, cut, plan_path, &d, &err),
		BERTH_OK);
	assert_non_null(strstr(berth_document_text(d), "\"whole_value\": "));
	assert_non_null(strstr(berth_document_text(d), "\"warnings\": []"));
	assert_true(calls > 20);
	berth_document_free(d);
	assert_int_equal(berth_model_load(cut, &model, &err), BERTH_OK);
	assert_int_equal(berth_plan_read(plan_path, model, machine, &plan, &err), BERTH_OK);
	assert_true(berth_plan_feasible(plan));
	berth_plan_free(plan);
	berth_model_free(model);
	assert_int_equal(berth_task_split(plan_path, machine, &options, cut, NULL, &d, &err), BERTH_EINVAL);
	assert_int_equal(berth_task_split(BERTH_FIXTURES "/../fuzz/corpus/onnx/external.onnx", machine,
	                                  &options, cut, NULL, &d, &err),
	                 BERTH_OK);
	assert_non_null(strstr(berth_document_text(d), "weights stand in files beside"));
	berth_document_free(d);
	berth_machine_free(machine);
	unlink(cut);
	unlink(plan_path);
	assert_int_equal(rmdir(dir), 0);
}

/* Values, budget and schedule of a user's own method; what is no placement is worth nothing. */
static void test_evaluator(void **state)
{
	fixture *f = *state;
	const berth_options options = {.evaluations = 5};
	const int32_t split[] = {0, 1}, crowded[] = {0, 0}, beyond[] = {0, 2}, below[] = {-1, 0};
	const int32_t topo[] = {0, 1}, back[] = {1, 0}, twice[] = {0, 0};
	const int32_t *const none[] = {beyond, below};
	const berth_plan *best;
	berth_evaluator *e;
	int32_t device[2], order[2];
	int64_t illegal, more;
	double excess;
	assert_int_equal(berth_evaluator_new(f->model, f->machine, &options, &e, NULL), BERTH_OK);
	assert_int_equal(berth_evaluator_plan(e, &best, NULL), BERTH_ELIMIT);
	for (int i = 0; i < 2; i++) {
		assert_true(isinf(berth_evaluator_value(e, none[i], NULL, &excess)) && isinf(excess));
		assert_true(isinf(berth_evaluator_near(e, split, none[i], NULL)));
		assert_true(isinf(berth_evaluator_near(e, none[i], split, NULL)));
	}
	assert_true(isinf(berth_evaluator_value(e, split, back, NULL)));
	assert_true(isinf(berth_evaluator_value(e, split, twice, NULL)));
	assert_true(isinf(berth_evaluator_value(e, crowded, NULL, NULL)));
	assert_true(berth_evaluator_value(e, crowded, NULL, &excess) == 3 && excess > 0);
	assert_int_equal(berth_evaluator_left(e), 3);
	assert_int_equal(berth_evaluator_plan(e, &best, NULL), BERTH_OK);
	assert_true(berth_evaluator_value(e, split, topo, NULL) == 2.1);
	assert_true(berth_evaluator_near(e, crowded, split, NULL) == 2.1);
	assert_int_equal(berth_evaluator_left(e), 1);
	assert_string_equal(berth_plan_device_of(best, "b"), "x"); /* a better one has come since */
	assert_int_equal(berth_evaluator_plan(e, &best, NULL), BERTH_OK);
	assert_string_equal(berth_plan_device_of(best, "b"), "y");
	assert_int_equal(berth_plan_evaluations(best), 4);
	for (int32_t op = -1; op < 3; op++)
		for (int32_t d = -1; d < 3; d += op == 0 ? 3 : 1)
			assert_true(berth_schedule_put(e, op, d) == INT64_MAX); /* or before its producer */
	assert_true(berth_schedule_put(e, 0, 0) == 1000000000 && berth_schedule_put(e, 0, 0) == INT64_MAX);
	assert_true(berth_schedule_finish(e, 1, 0) == INT64_MAX); /* too much for x */
	assert_false(berth_schedule_take(e, device, order));
	assert_true(berth_schedule_put(e, 1, 1) == 2100000000);
	assert_true(berth_schedule_take(e, device, order) && device[1] == 1 && order[1] == 1);
	berth_schedule_clear(e, -1);
	assert_true(berth_schedule_put(e, 0, 0) + berth_schedule_finish(e, 1, 0) == 4000000000);
	berth_evaluator_faults(e, &illegal, &more);
	assert_true(illegal == 8 && more == 0);
	assert_true(berth_evaluator_value(e, split, NULL, NULL) == 2.1);
	assert_true(isinf(berth_evaluator_value(e, split, NULL, NULL)));
	berth_evaluator_faults(e, &illegal, &more);
	assert_true(illegal == 8 && more == 1);
	berth_evaluator_free(e);
	/* What the first took says nothing of those that follow. */
	const berth_options timed = {.evaluations = INT64_C(1) << 50, .time_s = 1e4};
	assert_int_equal(berth_evaluator_new(f->model, f->machine, &timed, &e, NULL), BERTH_OK);
	assert_true(berth_evaluator_value(e, split, NULL, NULL) == 2.1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(berth_evaluator_left(e), timed.evaluations - 1);
	berth_evaluator_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test(test_errors),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_plan, setup, teardown),
		cmocka_unit_test(test_draft),
		cmocka_unit_test_setup_teardown(test_reasons, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_if, setup, teardown),
		cmocka_unit_test(test_front),
		cmocka_unit_test(test_methods),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_export, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_configure),
		cmocka_unit_test(test_split),
		cmocka_unit_test_setup_teardown(test_evaluator, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
