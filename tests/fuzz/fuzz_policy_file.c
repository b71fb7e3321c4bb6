/* A policy file edited by a script and sealed again: what is accepted is of this berth's dimensions, finite,
 * and can place operators. Scripts that begin with a byte of 250 or more are for the policy that ships. */
#include "check.h"
#include "edit_tensors.h"
#include "encode.h"
#include "fuzz.h"
#include "methods.h"
#include "policy_file.h"
#include "problem.h"
#include "rng.h"

#include <math.h>
#include <string.h>

/* A small policy with fresh weights, as encoded notes and tensors. */
static void make_small(berth_arena *mem, safetensors_file *out)
{
	berth_policy_file f = {.cfg = berth_learner_cfg_default(), .trained_on = "a on b", .seed = 7};
	char *data;
	size_t size;
	must(berth_policy_builtin(mem, &f, NULL) == BERTH_OK);
	safetensors_file shipped = f.raw;
	f.cfg.hidden = 2;
	f.cfg.rounds = 1;
	f.dims = berth_encode_dims(2, 1);
	nn_real *params = berth_arena_alloc(mem, policy_param_count(&f.dims), sizeof *params);
	must(params != NULL);
	berth_rng rng = berth_rng_seed(1, 1);
	policy_init(&f.dims, params, &rng);
	safetensors_tensor *t = berth_arena_alloc(mem, (size_t)policy_tensor_count(), sizeof *t);
	safetensors_note *note = berth_arena_alloc(mem, (size_t)shipped.n_notes, sizeof *note);
	must(t && note);
	for (int32_t i = 0; i < policy_tensor_count(); i++) {
		policy_tensor p = policy_tensor_at(&f.dims, i);
		t[i] = (safetensors_tensor){
			p.name, SAFETENSORS_F32, 3, {p.copies, p.rows, p.columns}, params + p.offset};
	}
	memcpy(note, shipped.note, (size_t)shipped.n_notes * sizeof *note);
	for (int32_t i = 0; i < shipped.n_notes; i++) {
		if (strcmp(note[i].key, "cfg.hidden") == 0)
			note[i].value = "2";
		else if (strcmp(note[i].key, "cfg.rounds") == 0)
			note[i].value = "1";
		else if (strcmp(note[i].key, "dims.node_in") == 0)
			note[i].value = berth_arena_printf(mem, "%d", f.dims.node_in);
		else if (strcmp(note[i].key, "dims.step_in") == 0)
			note[i].value = berth_arena_printf(mem, "%d", f.dims.step_in);
		must(note[i].value != NULL);
	}
	const safetensors_file small = {
		.n_tensors = policy_tensor_count(), .n_notes = shipped.n_notes, .tensor = t, .note = note};
	void *bytes;
	must(safetensors_encode(&small, mem, &bytes, &size, NULL) == BERTH_OK);
	data = bytes;
	must(berth_policy_file_decode("small", data, size, mem, &f, NULL) == BERTH_OK);
	*out = f.raw;
}

/* The policy places a small graph; its numbers may be too large for that. */
static void use(const berth_policy_file *f, berth_arena *mem, berth_arena *tmp)
{
	berth_problem p;
	berth_search s;
	const berth_method *m;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.policy = f;
	cfg.evaluations = 8;
	must(berth_problem_new(fuzz_small_graph(), fuzz_small_system(), mem, tmp, &p, NULL) == BERTH_OK);
	must(berth_search_new(&p, &cfg, mem, &s, NULL) == BERTH_OK);
	must(berth_method_find("policy", &m, NULL) == BERTH_OK);
	berth_status st = berth_method_run(m, &s, tmp, NULL);
	must(st == BERTH_OK || st == BERTH_EINVAL || st == BERTH_EUNSUPPORTED);
	for (int32_t op = 0; st == BERTH_OK && op < p.n_ops; op++)
		must(berth_op_legal(&p, op, s.best_dev[op]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static berth_arena kept;
	static safetensors_file shipped, small;
	static fuzz_arenas a;
	berth_policy_file f;
	berth_err err = {0};
	size_t n;
	if (!kept.top) {
		must(berth_policy_builtin(&kept, &f, NULL) == BERTH_OK);
		shipped = f.raw;
		make_small(&kept, &small);
	}
	fuzz_begin(&a);
	const void *bytes = edit_tensors(size && data[0] >= 250 ? &shipped : &small, data, size, &a.mem, &n);
	if (!bytes)
		return 0;
	berth_status st = berth_policy_file_decode("p", bytes, n, &a.mem, &f, &err);
	if (st != BERTH_OK) {
		must((st == BERTH_EFORMAT || st == BERTH_ENOMEM) && strncmp(err.msg, "p: ", 3) == 0);
		return 0;
	}
	must(berth_learner_cfg_check(&f.cfg, NULL) == BERTH_OK);
	for (size_t i = 0; i < policy_param_count(&f.dims); i++)
		must(isfinite(f.params[i]));
	if (f.cfg.hidden <= 4 && fuzz_goes_deep(data, size))
		use(&f, &a.mem, &a.tmp);
	return 0;
}
