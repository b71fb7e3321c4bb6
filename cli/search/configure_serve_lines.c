/* The lines that start vLLM or llama.cpp on the paths of a layout: which servers' devices a path gets, and
 * what each is told, quoted for a shell. */
#include "configure_serve_out.h"

#include "exporters.h"
#include "gguf.h"
#include "load.h"
#include "sandboxed.h"

enum { MOST_LINES = 1000 /* pipelines that are started one by one */ };

/* A device of a server. */
typedef struct node {
	int32_t server, dev; /* of all servers of its kind, of the server's */
} node;

typedef struct lines {
	serve_out *out;
	berth_strbuf *b;
	/* by kind: servers that may be needed, which of their devices are free, and what listens there */
	int64_t n_servers[BERTH_MOST_SERVER_KINDS];
	int8_t *free[BERTH_MOST_SERVER_KINDS];     /* [n_servers][n_devs] */
	int32_t *started[BERTH_MOST_SERVER_KINDS]; /* [n_servers] */
} lines;

/* ---- nodes of a pipeline ---- */

/* The server of kind k with so many devices free and the fewest more; else that with the most. */
static int32_t find_server(const lines *o, int32_t k, int32_t want)
{
	int32_t best = -1, n_devs = o->out->x->kind[k].n_devs, best_free = 0;
	for (int32_t s = 0; s < o->n_servers[k]; s++) {
		int32_t n = 0;
		for (int32_t d = 0; d < n_devs; d++)
			n += o->free[k][s * n_devs + d];
		bool better = n >= want ? best_free < want || n < best_free : n > best_free;
		if (n > 0 && (best < 0 || better)) {
			best = s;
			best_free = n;
		}
	}
	return best;
}

/* The first n nodes of a path are free again. */
static void give_back(lines *o, const berth_layout_path *p, const node *at, int32_t n)
{
	for (int32_t s = 0; s < n; s++) {
		int32_t k = o->out->l.group[p->stage[s].group].kind;
		o->free[k][at[s].server * o->out->x->kind[k].n_devs + at[s].dev] = 1;
	}
}

/* A node for each stage, those of one kind in as few servers as there are free ones for. */
static void take_nodes(lines *o, const berth_layout_path *p, node *at)
{
	for (int32_t k = 0; k < o->out->x->n_kinds; k++) {
		int32_t want = 0, server = -1, n_devs = o->out->x->kind[k].n_devs;
		for (int32_t s = 0; s < p->n_stages; s++)
			want += o->out->l.group[p->stage[s].group].kind == k;
		for (int32_t s = 0; s < p->n_stages; s++) {
			int32_t d = n_devs;
			if (o->out->l.group[p->stage[s].group].kind != k)
				continue;
			for (d = 0; server >= 0 && d < n_devs && !o->free[k][server * n_devs + d];)
				d++;
			if (server < 0 || d == n_devs) {
				server = find_server(o, k, want);
				for (d = 0; !o->free[k][server * n_devs + d];)
					d++;
			}
			o->free[k][server * n_devs + d] = 0;
			at[s] = (node){server, d};
			want--;
		}
	}
}

/* The same with a server of its own for each; false: there are not as many, and none is taken. */
static bool take_apart(lines *o, const berth_layout_path *p, node *at)
{
	for (int32_t s = 0; s < p->n_stages; s++) {
		int32_t k = o->out->l.group[p->stage[s].group].kind, n_devs = o->out->x->kind[k].n_devs;
		int64_t all = o->n_servers[k] * n_devs, i = 0;
		for (bool known = true; i < all && known; i += known) {
			known = !o->free[k][i];
			for (int32_t e = 0; e < s && !known; e++)
				known = o->out->l.group[p->stage[e].group].kind == k &&
				        at[e].server == i / n_devs;
		}
		if (i < all) {
			at[s] = (node){(int32_t)(i / n_devs), (int32_t)(i % n_devs)};
			o->free[k][i] = 0;
			continue;
		}
		give_back(o, p, at, s);
		return false;
	}
	return true;
}

/* A host's name as it may stand in an address. */
static berth_status check_name(const lines *o, const char *name, berth_err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	return *name && *name != '-' && !name[strspn(name, plain)]
	               ? BERTH_OK
	               : berth_fail(
				 err, BERTH_EINVAL,
				 "host '%s' of %s is no address for %s: expected a name of letters, digits, "
				 ". _ and -",
				 name, o->out->v->s.name, o->out->target);
}

/* The name of a server: that of the file where there is one of it, else with a number behind, which no host
 * of the file may have. */
static berth_status server_name(const lines *o, int32_t k, int64_t server, const char **name, berth_err *err)
{
	const berth_cluster *c = &o->out->v->c;
	int32_t dev = berth_system_find_dev(&o->out->v->s, o->out->x->kind[k].dev[0]),
		like = c->host_like[c->dev_host[dev]];
	const int64_t *n = o->out->v->n_servers;
	int32_t h = 0;
	for (; c->host_like[h] != like || server >= n[h]; h++)
		server -= c->host_like[h] == like ? n[h] : 0;
	*name = n[h] == 1 ? c->host_name[h]
	                  : berth_arena_printf(&o->out->c->mem, "%s-%lld", c->host_name[h],
	                                       (long long)server + 1);
	BERTH_TRY(berth_got(*name, err));
	for (int32_t i = 0; i < c->n_hosts; i++)
		if (i != h && n[i] == 1 && strcmp(c->host_name[i], *name) == 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "%s of %lld servers like '%s' would have the name of host '%s' of "
			                  "%s: expected another name there",
			                  *name, (long long)n[h], c->host_name[h], *name, o->out->v->s.name);
	return check_name(o, *name, err);
}

/* The number of a server's GPU among its GPUs; -1: it is a CPU. */
static int32_t gpu_of(const lines *o, int32_t k, int32_t d)
{
	const berth_cluster *c = &o->out->v->c;
	int32_t dev = berth_system_find_dev(&o->out->v->s, o->out->x->kind[k].dev[d]), n = 0;
	if (berth_system_is(&o->out->v->s, dev, "cpu"))
		return -1;
	BERTH_EACH (i, c->host_off, c->dev_host[dev])
		n += c->host_dev[i] < dev && !berth_system_is(&o->out->v->s, c->host_dev[i], "cpu");
	return n;
}

/* ---- lines ---- */

/* Layers of a stage as an engine counts them: named by a number; for llama.cpp the output is one more. */
static int32_t units_of(const lines *o, int32_t from, int32_t to)
{
	int32_t n = 0;
	for (int32_t b = from; b < to; b++) {
		const char *name = o->out->v->blocks.block_name[b], *end = strrchr(name, '.');
		n += end && end[1] && !end[1 + strspn(end + 1, "0123456789")];
	}
	return n + (o->out->to == SERVE_LLAMA && to == o->out->v->blocks.n_blocks);
}

/* Can no engine of this kind be told the path, whatever nodes it gets? */
static const char *cannot_tell(const lines *o, const berth_layout_path *p)
{
	if (o->out->v->apart)
		return "reading and answering stand on different nodes";
	if (p->n == 0)
		return "nodes hold layers for several paths, which requests are split over in shares";
	for (int32_t s = 0; s < p->n_stages; s++) {
		int32_t k = o->out->l.group[p->stage[s].group].kind;
		if (units_of(o, p->stage[s].from, p->stage[s].to) == 0)
			return "a node has no whole layer of its own, but the embedding or the output";
		if (o->out->l.group[p->stage[s].group].read_bytes > 0)
			return "a node reads layers from its disk";
		if (o->out->to == SERVE_VLLM && gpu_of(o, k, 0) < 0)
			return "a node is a CPU";
	}
	return NULL;
}

/* A line of a script, and above it where it is to be run. */
static berth_status put_line(lines *o, const char *where, berth_strbuf *line, berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_TRY(berth_strbuf_done(line, &text, &len, err));
	berth_strbuf_printf(o->b, "# on %s\n%s\n", where, text);
	return BERTH_OK;
}

/* One of the path's pipelines. */
static void put_share(lines *o, const berth_layout_path *p)
{
	double per_s = p->own_per_s / (double)p->n;
	berth_strbuf_printf(o->b, "# %.4g %% of the %s\n", 100 * per_s / o->out->all_per_s,
	                    o->out->v->requests ? "requests" : "samples");
	o->out->n_told++;
	o->out->told_per_s += per_s;
}

/* Sequences of a step that every node of the path takes. */
static int64_t batch_of(const lines *o, const berth_layout_path *p)
{
	int64_t least = INT64_MAX;
	for (int32_t s = 0; s < p->n_stages; s++)
		least = berth_min(least, o->out->l.group[p->stage[s].group].batch);
	return least * o->out->v->engine.batch;
}

/* How many nodes each of its servers has, one behind the other; 0: unequal numbers. */
static int32_t nodes_of_each(const berth_layout_path *p, const char *const *name)
{
	int32_t n_hosts = 0;
	for (int32_t s = 0; s < p->n_stages; s++)
		n_hosts += s == 0 || strcmp(name[s], name[s - 1]) != 0;
	int32_t local = p->n_stages / n_hosts;
	for (int32_t s = 0; s < p->n_stages; s++)
		if (strcmp(name[s], name[s / local * local]) != 0 || local * n_hosts != p->n_stages)
			return 0;
	return local;
}

/* Rank by rank: vLLM counts them host by host, with as many on each (its "mp" executor, which needs no Ray:
 * documented since 0.13, vllm-project/vllm #23691). */
static berth_status put_vllm(lines *o, const berth_layout_path *p, const node *at, const char *const *name,
                             berth_err *err)
{
	int32_t local = nodes_of_each(p, name), n_hosts = p->n_stages / local;
	put_share(o, p);
	int64_t port = o->out->n_told - 1;
	for (int32_t h = 0; h < n_hosts; h++) {
		berth_strbuf line = {.mem = &o->out->c->mem};
		berth_strbuf_printf(&line, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=");
		for (int32_t s = h * local; s < (h + 1) * local; s++)
			berth_strbuf_printf(&line, "%s%d", s > h * local ? "," : "",
			                    gpu_of(o, o->out->l.group[p->stage[s].group].kind, at[s].dev));
		for (int32_t s = 0; s < p->n_stages && p->n_stages > 1; s++)
			berth_strbuf_printf(&line, "%s%d", s ? "," : " VLLM_PP_LAYER_PARTITION=",
			                    units_of(o, p->stage[s].from, p->stage[s].to));
		berth_export_put_word(&line, "vllm");
		berth_export_put_word(&line, "serve");
		berth_export_put_word(&line, o->out->v->engine.path);
		berth_export_put_number(&line, "--pipeline-parallel-size", p->n_stages);
		berth_export_put_number(&line, "--max-model-len", o->out->v->context);
		/* a step on each stage at once */
		berth_export_put_number(&line, "--max-num-seqs", batch_of(o, p) * p->n_stages);
		if (h == 0)
			berth_export_put_number(&line, "--port", 8000 + port);
		if (n_hosts > 1) {
			berth_export_put_number(&line, "--nnodes", n_hosts);
			berth_export_put_number(&line, "--node-rank", h);
			berth_export_put_option(&line, "--master-addr", name[0]);
			berth_export_put_number(&line, "--master-port", 29500 + port);
		}
		if (h > 0)
			berth_export_put_word(&line, "--headless");
		BERTH_TRY(put_line(o, name[h * local], &line, err));
	}
	return BERTH_OK;
}

/* The head, beside the first node, that shares layers out: to GPUs of its own host, and to a server of the
 * RPC backend for each other node. */
static berth_status put_llama(lines *o, const berth_layout_path *p, const node *at, const char *const *name,
                              berth_err *err)
{
	berth_strbuf rpc = {.mem = &o->out->c->mem}, dev = rpc, units = rpc, head = rpc;
	const char *text;
	int32_t all = 0, n_rpc = 0;
	bool gpus = false; /* of the head's own host */
	put_share(o, p);
	for (int32_t s = 0; s < p->n_stages; s++) {
		int32_t k = o->out->l.group[p->stage[s].group].kind,
			n = units_of(o, p->stage[s].from, p->stage[s].to), gpu = gpu_of(o, k, at[s].dev);
		bool beside = strcmp(name[s], name[0]) == 0 && gpu >= 0;
		berth_strbuf_printf(&units, "%s%d", s ? "," : "", n);
		berth_strbuf_printf(&dev, "%s", s ? "," : "");
		gpus |= beside;
		all += gpu >= 0 || p->n_stages > 1 ? n : 0;
		if (beside || p->n_stages == 1) {
			berth_strbuf_printf(&dev, gpu < 0 ? "none" : "CUDA%d", gpu);
			continue;
		}
		berth_strbuf line = {.mem = &o->out->c->mem};
		int32_t port = 50052 + o->started[k][at[s].server]++;
		if (gpu >= 0)
			berth_strbuf_printf(&line, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
		berth_export_put_word(&line, "rpc-server");
		berth_export_put_option(&line, "-H", "0.0.0.0");
		berth_export_put_number(&line, "-p", port);
		berth_export_put_word(&line, "-d");
		berth_strbuf_printf(&line, gpu < 0 ? " CPU" : " CUDA%d", gpu);
		BERTH_TRY(put_line(o, name[s], &line, err));
		berth_strbuf_printf(&rpc, "%s%s:%d", n_rpc ? "," : "", name[s], port);
		berth_strbuf_printf(&dev, "RPC%d", n_rpc++);
	}
	if (gpus)
		berth_strbuf_printf(&head, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
	berth_export_put_word(&head, "llama-server");
	berth_export_put_option(&head, "-m", o->out->v->engine.path);
	berth_export_put_option(&head, "-fit", "off");
	BERTH_TRY(berth_strbuf_done(&rpc, &text, NULL, err));
	if (n_rpc)
		berth_export_put_option(&head, "--rpc", text);
	BERTH_TRY(berth_strbuf_done(&dev, &text, NULL, err));
	berth_export_put_option(&head, "-dev", text);
	berth_export_put_number(&head, "-ngl", all);
	berth_export_put_option(&head, "-sm", "layer");
	BERTH_TRY(berth_strbuf_done(&units, &text, NULL, err));
	if (p->n_stages > 1)
		berth_export_put_option(&head, "--tensor-split", text);
	berth_export_put_number(&head, "-c", o->out->v->context * batch_of(o, p));
	berth_export_put_number(&head, "-np", batch_of(o, p));
	if (strcmp(o->out->v->engine.cache, "f16") != 0) {
		berth_export_put_option(&head, "-ctk", o->out->v->engine.cache);
		berth_export_put_option(&head, "-ctv", o->out->v->engine.cache);
	}
	berth_export_put_number(&head, "--port", 8079 + o->out->n_told);
	BERTH_TRY(put_line(o, name[0], &head, err));
	return BERTH_OK;
}

static berth_status put_pipeline(lines *o, const berth_layout_path *p, berth_err *err)
{
	node *at;
	const char **name;
	BERTH_TRY_NEW(&o->out->c->mem, p->n_stages, err, at);
	BERTH_TRY_NEW(&o->out->c->mem, p->n_stages, err, name);
	take_nodes(o, p, at);
	for (int tries = 0; tries < 2; tries++) {
		for (int32_t s = 0; s < p->n_stages; s++)
			BERTH_TRY(server_name(o, o->out->l.group[p->stage[s].group].kind, at[s].server,
			                      &name[s], err));
		if (o->out->to != SERVE_VLLM || nodes_of_each(p, name))
			break;
		give_back(o, p, at, p->n_stages);
		if (take_apart(o, p, at))
			continue;
		o->out->why = o->out->why ? o->out->why
		                          : "vLLM starts as many GPUs on each host, and the path has unequal "
					    "numbers on its servers";
		return BERTH_OK;
	}
	return o->out->to == SERVE_VLLM ? put_vllm(o, p, at, name, err) : put_llama(o, p, at, name, err);
}

/* Long pipelines first, so that short ones fill what they leave of servers. */
static berth_status put_paths(lines *o, berth_err *err)
{
	int32_t longest = 0;
	for (int32_t i = 0; i < o->out->n_paths; i++)
		longest = o->out->path[i].n_stages > longest ? o->out->path[i].n_stages : longest;
	for (int32_t n = longest; n > 0; n--)
		for (int32_t i = 0; i < o->out->n_paths; i++) {
			const berth_layout_path *p = &o->out->path[i];
			const char *why = p->n_stages == n ? cannot_tell(o, p) : NULL;
			if (why && !o->out->why)
				o->out->why = why;
			if (p->n_stages != n || why)
				continue;
			for (int64_t k = 0; k < p->n; k++)
				BERTH_TRY(put_pipeline(o, p, err));
		}
	return BERTH_OK;
}

berth_status serve_open_engine(cli *c, const char *spec, const configure_out *to, serve_engine *out,
                               berth_err *err)
{
	const berth_exporter *e;
	berth_read_options opt = cli_read_options(c), words;
	berth_content model;
	berth_gguf_options o;
	if (!to->path || to->target == SERVE_JSON)
		return BERTH_OK;
	BERTH_TRY(berth_exporter_find(to->target == SERVE_VLLM ? "vllm" : "llama.cpp", &e, err));
	const char *path = berth_graph_path(spec, &c->mem);
	BERTH_TRY(berth_got(path, err));
	if (!berth_graph_is_file(spec) || berth_file_is_stream(path) || strncmp(path, "/dev/", 5) == 0)
		return berth_fail(err, BERTH_EINVAL, "%s has no file that %s could read: give a GGUF file%s",
		                  spec, e->name, to->target == SERVE_VLLM ? " or a model folder" : "");
	BERTH_TRY(berth_model_map(spec, &opt, &c->mem, &model, &words, err));
	const char *format = berth_content_format(&model)->name;
	berth_status st =
		berth_exporter_takes(e, format)
			? e->model_words(&model, &words, &c->mem, &o, &out->path, err)
			: berth_fail(err, BERTH_EINVAL,
	                             "%s takes a model of the format %s, but %s is of the format %s", e->name,
	                             e->model, path, format);
	berth_model_unmap(&model);
	BERTH_TRY(st);
	out->batch = o.batch;
	out->cache = o.cache;
	return BERTH_OK;
}

berth_status serve_put_lines(serve_out *out, berth_strbuf *b, berth_err *err)
{
	lines o = {.out = out, .b = b};
	int64_t n = 0, nodes = 0;
	for (const berth_layout_path *p = out->path; p < out->path + out->n_paths; p++) {
		n += p->n;
		nodes += p->n * p->n_stages;
	}
	if (n > MOST_LINES)
		return berth_fail(
			err, BERTH_EINVAL,
			"%lld pipelines; %d at most are written for %s: leave out --to to have them as "
			"JSON, by kinds",
			(long long)n, MOST_LINES, out->target);
	for (int32_t k = 0; k < out->x->n_kinds; k++) {
		int32_t n_devs = out->x->kind[k].n_devs;
		o.n_servers[k] = berth_min(out->x->kind[k].n_servers, nodes);
		BERTH_TRY_NEW(&out->c->mem, o.n_servers[k] * n_devs, err, o.free[k]);
		BERTH_TRY_NEW(&out->c->mem, o.n_servers[k], err, o.started[k]);
		for (int64_t i = 0; i < o.n_servers[k] * n_devs; i++)
			o.free[k][i] = 1;
	}
	berth_strbuf_printf(b, "# each line on the host above it; %s\n",
	                    out->to == SERVE_VLLM ? "for vLLM 0.13 or newer; requests go to the ports from "
						    "8000 on"
	                                          : "requests go to the ports from 8080 on");
	return put_paths(&o, err);
}
