/* The checkpoint of a training edited by a script and sealed again: it is refused with a reason, or training
 * goes on from it. */
#include "edit_tensors.h"
#include "file.h"
#include "fuzz.h"
#include "problem.h"
#include "trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct lesson {
	berth_arena kept, tmp;
	berth_problem p;
	berth_train_item item;
	berth_train_cfg cfg;
	safetensors_file made; /* a real checkpoint */
	char path[64];
} lesson;

static berth_status teach(lesson *l, berth_arena *mem, berth_arena *tmp, berth_train_result *out,
                          berth_err *err)
{
	return berth_train(&l->cfg, &l->item, 1, mem, tmp, out, err);
}

static void open_lesson(lesson *l)
{
	berth_train_result r;
	berth_policy_file f;
	berth_err err;
	strcpy(l->path, access("/dev/shm", W_OK) == 0 ? "/dev/shm/berth-XXXXXX" : "/tmp/berth-XXXXXX");
	int fd = mkstemp(l->path);
	must(fd >= 0 && close(fd) == 0);
	must(berth_problem_new(fuzz_small_graph(), fuzz_small_system(), &l->kept, &l->tmp, &l->p, NULL) ==
	     BERTH_OK);
	l->item = (berth_train_item){&l->p, "g", "s"};
	l->cfg = berth_train_cfg_default();
	l->cfg.learner.groups = 6;
	l->cfg.learner.hidden = 2;
	l->cfg.learner.rounds = 1;
	l->cfg.learner.batch = 4;
	l->cfg.learner.window = 10;
	l->cfg.learner.at_once = 1;
	l->cfg.learner.epochs = 1;
	l->cfg.evaluations = 60;
	l->cfg.path = l->path;
	l->cfg.save_s = 1e9;
	must(teach(l, &l->kept, &l->tmp, &r, NULL) == BERTH_OK);
	must(berth_policy_file_read(l->path, &l->kept, &f, &err) == BERTH_OK);
	unlink(l->path);
	l->made = f.raw;
	l->cfg.resume = true;
	l->cfg.evaluations = 72;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static lesson l;
	static fuzz_arenas a;
	berth_train_result r;
	berth_err err = {0};
	size_t n;
	if (!l.item.p)
		open_lesson(&l);
	fuzz_begin(&a);
	const void *bytes = edit_tensors(&l.made, data, size, &a.mem, &n);
	if (!bytes)
		return 0;
	FILE *f = fopen(l.path, "wb");
	must(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
	berth_status st = teach(&l, &a.mem, &a.tmp, &r, &err);
	unlink(l.path);
	must(st == BERTH_OK || st == BERTH_EFORMAT || st == BERTH_EINVAL);
	must(st == BERTH_OK || (err.code == st && err.msg[0]));
	for (int32_t op = 0; st == BERTH_OK && op < l.p.n_ops; op++)
		must(berth_op_legal(&l.p, op, r.best[0].op_dev[op]));
	return 0;
}
