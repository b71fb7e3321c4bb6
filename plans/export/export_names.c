/* See export_names.h. */
#include "export_names.h"

#include <string.h>

static bool told(const berth_export_source *x, int32_t d)
{
	return x->theirs && x->theirs[d];
}

bool berth_export_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static berth_status find_one(const berth_export_source *x, const berth_export_word *usual, const char *what,
                             int32_t d, const char **theirs, berth_export_out *out, berth_err *err)
{
	const char *name = x->s->dev_name[d];
	*theirs = told(x, d) ? x->theirs[d] : NULL;
	if (*theirs)
		return BERTH_OK;
	for (; usual->begins && !*theirs; usual++)
		if (berth_export_begins(x->s->dev_kind[d], usual->begins) ||
		    berth_export_begins(name, usual->begins))
			*theirs = usual->theirs;
	if (!*theirs)
		return berth_fail(err, BERTH_EINVAL,
		                  "no %s is known for device '%.80s': add --device %.80s=NAME", what, name,
		                  name);
	return berth_export_note(out, err, "device %s is taken for %s (--device %s=NAME says otherwise)",
	                         name, *theirs, name);
}

static berth_status check_apart(const berth_export_source *x, const char *const *theirs, int32_t d,
                                berth_export_out *out, berth_err *err)
{
	for (int32_t k = 0; k < d; k++) {
		if (!theirs[k] || strcmp(theirs[k], theirs[d]) != 0)
			continue;
		const char *a = x->s->dev_name[k], *b = x->s->dev_name[d];
		if (!told(x, d) || !told(x, k))
			return berth_fail(
				err, BERTH_EUNSUPPORTED,
				"devices '%.80s' and '%.80s' would both be %.80s there: name another one "
				"(--device %.80s=NAME), or this one for both",
				a, b, theirs[d], b);
		return berth_export_note(out, err, "devices %s and %s are one there: %s", a, b, theirs[d]);
	}
	return BERTH_OK;
}

berth_status berth_export_theirs(const berth_export_source *x, const berth_export_word *usual,
                                 const char *what, const char **theirs, berth_export_out *out, berth_err *err)
{
	bool used[BERTH_MAX_DEVS] = {false};
	for (int32_t op = 0; op < x->g->n_ops; op++)
		used[x->op_dev[op]] = true;
	for (int32_t d = 0; d < x->s->n_devs; d++) {
		theirs[d] = NULL;
		if (!used[d])
			continue;
		BERTH_TRY(find_one(x, usual, what, d, &theirs[d], out, err));
		BERTH_TRY(check_apart(x, theirs, d, out, err));
	}
	return BERTH_OK;
}

/* ---- GPUs by numbers ---- */

static bool is_gpu(const berth_system *s, int32_t d)
{
	return berth_export_begins(s->dev_kind[d], "gpu") || berth_export_begins(s->dev_name[d], "gpu") ||
	       berth_export_begins(s->dev_kind[d], "cuda") || berth_export_begins(s->dev_name[d], "cuda");
}

static bool is_taken(const char *const *told, int32_t n_devs, const char *word)
{
	for (int32_t d = 0; d < n_devs; d++)
		if (told[d] && strcmp(told[d], word) == 0)
			return true;
	return false;
}

berth_status berth_export_number_gpus(const berth_export_source *x, const char *before, const char **told,
                                      berth_arena *mem, berth_err *err)
{
	const berth_system *s = x->s;
	for (int32_t d = 0; d < s->n_devs; d++)
		told[d] = x->theirs ? x->theirs[d] : NULL;
	for (int32_t d = 0, next = 0; d < s->n_devs; d++) {
		const char *word = "";
		if (told[d] || !is_gpu(s, d))
			continue;
		do {
			word = berth_arena_printf(mem, "%s%d", before, (int)next++);
		} while (word && is_taken(told, s->n_devs, word));
		if (!word)
			return berth_nomem(err);
		told[d] = word;
	}
	return BERTH_OK;
}
