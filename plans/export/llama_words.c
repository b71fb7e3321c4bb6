/* The command line of llama.cpp for a plan: names of devices, patterns that hold just the tensors that are
 * told to be elsewhere, and the line, quoted for a shell. */
#include "llama_plan.h"

#include <regex.h>

/* ---- names of devices ---- */

static bool all_of(const char *text, size_t n, const char *more)
{
	for (size_t i = 0; i < n; i++) {
		char c = text[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!plain && (!strchr(more, c) || !c))
			return false;
	}
	return n > 0;
}

static bool is_port(const char *text, const char *end)
{
	uint64_t port;
	return end > text && end - text <= 5 && berth_text_whole(text, (size_t)(end - text), 65535, &port) &&
	       port > 0;
}

/* "RPC[host:port]": host:port in mem; NULL: it is no such word. */
static const char *server_of(const char *word, berth_arena *mem, bool *bad)
{
	size_t n = strlen(word);
	if (strncmp(word, "RPC[", 4) != 0)
		return NULL;
	const char *colon = strrchr(word, ':');
	*bad = word[n - 1] != ']' || !colon || !all_of(word + 4, (size_t)(colon - word) - 4, ".-_") ||
	       !is_port(colon + 1, word + n - 1);
	return *bad ? NULL : berth_arena_strndup(mem, word + 4, n - 5);
}

static berth_status read_name(const char *name, const char *word, int32_t d, int32_t *n_servers,
                              berth_strbuf *rpc, llama_names *out, berth_err *err)
{
	bool bad = false;
	berth_arena *mem = rpc->mem;
	const char *server = server_of(word, mem, &bad);
	if (server) {
		berth_strbuf_printf(rpc, "%s%s", *n_servers ? "," : "", server);
		out->device[d] = berth_arena_printf(mem, "RPC%d", *n_servers);
		out->buffer[d] = berth_arena_printf(mem, "RPC%d[%s]", (*n_servers)++, server);
		return out->device[d] && out->buffer[d] ? BERTH_OK : berth_nomem(err);
	}
	if (bad || *word == '-' || !all_of(word, strlen(word), "_.-"))
		return berth_fail(err, BERTH_EINVAL,
		                  "device '%s' is called '%s'; expected a name that llama.cpp lists "
		                  "(llama-server --list-devices), 'CPU' or 'RPC[host:port]'",
		                  name, word);
	out->device[d] = out->buffer[d] = word;
	return BERTH_OK;
}

/* Is the device called as an earlier one is? */
static berth_status check_apart(const berth_export_source *x, int32_t d, const char *word,
                                const llama_names *names, berth_err *err)
{
	for (int32_t o = 0; o < d; o++)
		if (names->buffer[o] && !llama_is_disk(x, o) && !llama_is_disk(x, d) &&
		    (strcmp(names->buffer[o], word) == 0 ||
		     (x->theirs && x->theirs[o] && strcmp(x->theirs[o], word) == 0)))
			return berth_fail(
				err, BERTH_EINVAL,
				"devices '%s' and '%s' are both called '%s'; expected a name for each",
				x->s->dev_name[o], x->s->dev_name[d], word);
	return BERTH_OK;
}

berth_status llama_names_read(const berth_export_source *x, berth_arena *mem, llama_names *out,
                              berth_err *err)
{
	berth_strbuf rpc = {.mem = mem};
	int32_t n_servers = 0, n_devs = x->s->n_devs;
	bool *used;
	*out = (llama_names){0};
	BERTH_TRY_NEW(mem, n_devs, err, used, out->device, out->buffer);
	for (int32_t op = 0; op < x->g->n_ops; op++)
		used[x->op_dev[op]] = true;
	for (int32_t d = 0; d < n_devs; d++) {
		const char *name = x->s->dev_name[d], *word = x->theirs ? x->theirs[d] : NULL;
		if (!used[d])
			continue;
		if (!word && llama_on_cpu(x, d))
			word = "CPU";
		if (!word)
			return berth_fail(
				err, BERTH_EINVAL,
				"device '%s' of the plan has no name of llama.cpp's; expected --device "
				"%s=NAME with one of 'llama-server --list-devices' (CUDA0, Vulkan0, "
				"...), CPU or RPC[host:port]",
				name, name);
		BERTH_TRY(read_name(name, word, d, &n_servers, &rpc, out, err));
		BERTH_TRY(check_apart(x, d, word, out, err));
	}
	return n_servers ? berth_strbuf_done(&rpc, &out->rpc, NULL, err) : BERTH_OK;
}

/* ---- patterns ---- */

static void put_escaped(berth_strbuf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr(".[]{}()*+?|^$\\", *text))
			berth_strbuf_add(b, "\\", 1);
		berth_strbuf_add(b, text, 1);
	}
}

typedef struct override { /* what is told to be on one of llama.cpp's devices */
	const char *regex, *buffer;
} override;

/* Tensors told to be elsewhere, by layer. A group are those on one device, of some layers (or of none) that
 * have the same ones. */
typedef struct grouping {
	const llama_plan *plan;
	const berth_gguf_list *file;
	const llama_names *names;
	berth_arena *mem;      /* of the patterns */
	int32_t cpu_experts;   /* -ncmoe: the experts of so many first layers are on the CPU */
	bool *by_experts;      /* [n_tensors] those */
	override *item;        /* [n_items] */
	int32_t n_items;
	size_t cap_items;
	llama_index ix;
	bool *done;   /* [n_tensors] */
	bool *member; /* [n_layers] */
} grouping;

static berth_status index_layers(grouping *g, berth_arena *tmp, berth_err *err)
{
	int32_t n = g->file->n_tensors, n_layers = g->file->n_all_layers;
	BERTH_TRY(llama_index_new(g->file, tmp, &g->ix, err));
	BERTH_TRY_NEW(tmp, n, err, g->done, g->by_experts);
	BERTH_TRY_NEW(tmp, n_layers, err, g->member);
	for (int32_t t = 0; t < n; t++)
		if (g->ix.layer[t] >= n_layers)
			return berth_fail(err, BERTH_EFORMAT,
			                  "tensor '%.80s' is of no layer: the model has %d", g->file->name[t],
			                  n_layers);
	return BERTH_OK;
}

/* Is tensor t one that is still to be told, on dev? */
static bool is_open(const grouping *g, int32_t t, int32_t dev)
{
	return g->plan->told[t] && !g->done[t] && g->plan->tensor_dev[t] == dev;
}

static int32_t first_of(const grouping *g, int32_t layer)
{
	return g->ix.off[layer + 1];
}

static int32_t end_of(const grouping *g, int32_t layer)
{
	return g->ix.off[layer + 2];
}

/* Has layer b all that layer a has? */
static bool has_all(const grouping *g, int32_t dev, int32_t a, int32_t b)
{
	for (int32_t i = first_of(g, a); i < end_of(g, a); i++) {
		int32_t t = g->ix.tensor[i], k = first_of(g, b);
		if (!is_open(g, t, dev))
			continue;
		while (k < end_of(g, b) && (!is_open(g, g->ix.tensor[k], dev) ||
		                            strcmp(g->ix.rest[t], g->ix.rest[g->ix.tensor[k]]) != 0))
			k++;
		if (k == end_of(g, b))
			return false;
	}
	return true;
}

static void put_layers(const grouping *g, int32_t n_members, berth_strbuf *b)
{
	const char *before = n_members > 1 ? "(" : "";
	berth_strbuf_printf(b, "blk\\.");
	for (int32_t l = 0; l < g->file->n_all_layers; l++)
		if (g->member[l]) {
			berth_strbuf_printf(b, "%s%d", before, l);
			before = "|";
		}
	berth_strbuf_printf(b, "%s\\.", n_members > 1 ? ")" : "");
}

static void finish_layer(const grouping *g, int32_t dev, int32_t layer)
{
	for (int32_t i = first_of(g, layer); i < end_of(g, layer); i++)
		if (is_open(g, g->ix.tensor[i], dev))
			g->done[g->ix.tensor[i]] = true;
}

/* ^blk\.(0|1)\.(ffn_up_exps\.weight|ffn_down_exps\.weight)$, without groups of one. */
static berth_status group_regex(grouping *g, int32_t dev, int32_t layer, const char **out, berth_err *err)
{
	berth_strbuf b = {.mem = g->mem};
	int32_t n_members = 0;
	for (int32_t l = 0; l < g->file->n_all_layers; l++) {
		g->member[l] =
			layer >= 0 && l >= layer && has_all(g, dev, layer, l) && has_all(g, dev, l, layer);
		n_members += g->member[l];
	}
	berth_strbuf_printf(&b, "^");
	if (n_members)
		put_layers(g, n_members, &b);
	int32_t n = 0;
	const char *before;
	for (int32_t i = first_of(g, layer); i < end_of(g, layer); i++)
		n += is_open(g, g->ix.tensor[i], dev);
	before = n > 1 ? "(" : "";
	for (int32_t i = first_of(g, layer); i < end_of(g, layer); i++)
		if (is_open(g, g->ix.tensor[i], dev)) {
			berth_strbuf_printf(&b, "%s", before);
			put_escaped(&b, g->ix.rest[g->ix.tensor[i]]);
			before = "|";
		}
	berth_strbuf_printf(&b, "%s", n > 1 ? ")" : "");
	berth_strbuf_printf(&b, "$");
	finish_layer(g, dev, layer);
	for (int32_t l = 0; l < g->file->n_all_layers; l++)
		if (g->member[l])
			finish_layer(g, dev, l);
	return berth_strbuf_done(&b, out, NULL, err);
}

static bool is_expert(const char *rest)
{
	return strncmp(rest, "ffn_", 4) == 0 && (strstr(rest, "_exps.") || strstr(rest, "_chexps."));
}

/* -ncmoe N is for the first N layers' experts: is what is told first to be on the CPU just that? */
static int32_t cpu_experts(const grouping *g)
{
	int32_t n = 0;
	for (int32_t t = 0; t < g->file->n_tensors; t++)
		if (g->ix.layer[t] >= n && g->plan->told[t] && g->plan->tensor_dev[t] == LLAMA_CPU &&
		    is_expert(g->ix.rest[t]))
			n = g->ix.layer[t] + 1;
	for (int32_t t = 0; t < g->file->n_tensors; t++)
		if (g->ix.layer[t] >= 0 && g->ix.layer[t] < n && is_expert(g->ix.rest[t]) &&
		    g->plan->tensor_dev[t] != LLAMA_CPU)
			return 0;
	for (int32_t t = 0; t < g->file->n_tensors; t++)
		g->by_experts[t] = g->ix.layer[t] >= 0 && g->ix.layer[t] < n && is_expert(g->ix.rest[t]);
	return n;
}

/* found[t] = the buffer of the pattern that is found in the name of tensor t. */
static berth_status match(const override *o, const berth_gguf_list *file, const char **found,
                          berth_err *err)
{
	regex_t compiled;
	berth_status st = BERTH_OK;
	if (regcomp(&compiled, o->regex, REG_EXTENDED | REG_NOSUB) != 0)
		return berth_fail(err, BERTH_EUNSUPPORTED, "'%s' is no regular expression here", o->regex);
	for (int32_t t = 0; t < file->n_tensors && st == BERTH_OK; t++) {
		if (regexec(&compiled, file->name[t], 0, NULL, 0) != 0)
			continue;
		if (found[t])
			st = berth_fail(err, BERTH_EUNSUPPORTED, "tensor '%s' matches two patterns",
			                file->name[t]);
		found[t] = o->buffer;
	}
	regfree(&compiled);
	return st;
}

static const char *buffer_of(const grouping *g, int32_t dev)
{
	return dev == LLAMA_CPU ? "CPU" : g->names->buffer[dev];
}

/* Each tensor that is told, and no other, by one pattern, with the right device. */
static berth_status check_patterns(const grouping *g, berth_arena *tmp, berth_err *err)
{
	const char **found;
	BERTH_TRY_NEW(tmp, g->file->n_tensors, err, found);
	for (int32_t i = 0; i < g->n_items; i++)
		BERTH_TRY(match(&g->item[i], g->file, found, err));
	for (int32_t t = 0; t < g->file->n_tensors; t++) {
		bool told = g->plan->told[t] && !g->by_experts[t];
		const char *expected = told ? buffer_of(g, g->plan->tensor_dev[t]) : NULL;
		if (!found[t] != !expected || (expected && strcmp(found[t], expected) != 0))
			return berth_fail(err, BERTH_EUNSUPPORTED,
			                  "no pattern of llama.cpp's holds tensor '%s' alone",
			                  g->file->name[t]);
	}
	return BERTH_OK;
}

static berth_status make_overrides(grouping *g, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(index_layers(g, tmp, err));
	g->cpu_experts = cpu_experts(g);
	memcpy(g->done, g->by_experts, (size_t)g->file->n_tensors * sizeof *g->done);
	for (int32_t t = 0; t < g->file->n_tensors; t++) {
		int32_t dev = g->plan->tensor_dev[t];
		if (!g->plan->told[t] || g->done[t])
			continue;
		if (strpbrk(g->file->name[t], ",="))
			return berth_fail(err, BERTH_EUNSUPPORTED,
			                  "tensor '%s' has a comma or an equals sign in its name, at which "
			                  "llama.cpp splits its option -ot",
			                  g->file->name[t]);
		BERTH_TRY(BERTH_GROW(g->mem, g->item, g->n_items, &g->cap_items, err));
		override *o = &g->item[g->n_items++];
		o->buffer = buffer_of(g, dev);
		BERTH_TRY(group_regex(g, dev, g->ix.layer[t], &o->regex, err));
	}
	return check_patterns(g, tmp, err);
}

/* ---- the line ---- */

static berth_status put_devices(berth_strbuf *b, const grouping *g, berth_err *err)
{
	const llama_plan *plan = g->plan;
	berth_strbuf devices = {.mem = g->mem}, units = {.mem = g->mem};
	const char *text;
	for (int32_t i = 0; i < plan->n_devs; i++) {
		berth_strbuf_printf(&devices, "%s%s", i ? "," : "", g->names->device[plan->dev[i]]);
		berth_strbuf_printf(&units, "%s%d", i ? "," : "", plan->dev_units[i]);
	}
	if (!plan->n_devs) {
		berth_export_put_option(b, "-dev", "none");
		berth_export_put_number(b, "-ngl", 0);
		return BERTH_OK;
	}
	BERTH_TRY(berth_strbuf_done(&devices, &text, NULL, err));
	berth_export_put_option(b, "-dev", text);
	berth_export_put_number(b, "-ngl", plan->n_offloaded);
	berth_export_put_option(b, "-sm", "layer");
	BERTH_TRY(berth_strbuf_done(&units, &text, NULL, err));
	if (plan->n_devs > 1 && plan->n_offloaded) /* all 0 would mean: by memory */
		berth_export_put_option(b, "-ts", text);
	return BERTH_OK;
}

static berth_status put_overrides(berth_strbuf *b, const grouping *g, berth_err *err)
{
	berth_strbuf list = {.mem = g->mem};
	const char *text;
	if (g->cpu_experts)
		berth_export_put_number(b, "-ncmoe", g->cpu_experts);
	for (int32_t i = 0; i < g->n_items; i++)
		berth_strbuf_printf(&list, "%s%s=%s", i ? "," : "", g->item[i].regex, g->item[i].buffer);
	if (!g->n_items)
		return BERTH_OK;
	BERTH_TRY(berth_strbuf_done(&list, &text, NULL, err));
	berth_export_put_option(b, "-ot", text);
	return BERTH_OK;
}

berth_status llama_line(const char *model, const llama_plan *plan, const berth_gguf_list *file,
                        const llama_names *names, berth_arena *mem, berth_arena *tmp, const char **line,
                        berth_err *err)
{
	BERTH_SCRATCH(tmp);
	grouping g = {.plan = plan, .file = file, .names = names, .mem = mem};
	berth_strbuf b = {.mem = mem};
	BERTH_TRY(make_overrides(&g, tmp, err));
	berth_export_put_word(&b, "llama-server");
	berth_export_put_option(&b, "-m", model);
	berth_export_put_option(&b, "-fit", "off");
	if (names->rpc)
		berth_export_put_option(&b, "--rpc", names->rpc);
	BERTH_TRY(put_devices(&b, &g, err));
	BERTH_TRY(put_overrides(&b, &g, err));
	berth_export_put_number(&b, "-c", file->context * file->opt.batch);
	berth_export_put_number(&b, "-np", file->opt.batch);
	if (strcmp(file->opt.cache, "f16") != 0) {
		berth_export_put_option(&b, "-ctk", file->opt.cache);
		berth_export_put_option(&b, "-ctv", file->opt.cache);
	}
	return berth_strbuf_done(&b, line, NULL, err);
}
