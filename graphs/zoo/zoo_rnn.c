/* Recurrent networks, unrolled step by step as runtimes without loops execute them. All steps of a layer
 * share its weights.
 *   rnnlm  The language model of Zaremba, Sutskever & Vinyals, "Recurrent Neural Network Regularization"
 *          (arXiv 1409.2329), large by default.
 *   gnmt   Translation after Wu et al., "Google's Neural Machine Translation System" (arXiv 1609.08144),
 *          in the form of the MLPerf training reference. The first encoder layer runs in both directions.
 *          There are residuals from the third layer on, and additive attention from the first decoder
 *          layer to all above. */
#include "zoo_layers.h"

enum { MAX_STEPS = 512 };

typedef struct lstm {
	int32_t weights; /* shared parameter */
	int64_t hidden;
} lstm;

typedef struct state {
	zoo_tensor h, c;
} state;

static zoo_tensor vector(const zoo_net *net, int64_t columns)
{
	return zoo_input(net->batch, 1, 1, columns);
}

/* biases: vectors of 4 x hidden a layer has, 1 or (as cuDNN) 2. */
static lstm lstm_new(zoo_net *net, const char *name, int64_t in, int64_t hidden, int64_t biases)
{
	return (lstm){zoo_shared_param(net, name, 4 * hidden * (in + hidden + biases)), hidden};
}

/* One step: gates from the input and the last output, then the cell. */
static state step(zoo_net *net, const char *name, const lstm *w, zoo_tensor x, state s)
{
	zoo_tensor both[2] = {x, s.h}, gate[4], y;
	y = zoo_concat_along(net, zoo_name(net, "%s.concat", name), 3, 2, both);
	y = zoo_project(net, zoo_name(net, "%s.gates", name), y, 4 * w->hidden, w->weights);
	zoo_split(net, zoo_name(net, "%s.split", name), y, 4, gate);
	zoo_tensor in = zoo_unary(net, zoo_name(net, "%s.input", name), "Sigmoid", gate[0]);
	zoo_tensor forget = zoo_unary(net, zoo_name(net, "%s.forget", name), "Sigmoid", gate[1]);
	zoo_tensor fresh = zoo_unary(net, zoo_name(net, "%s.candidate", name), "Tanh", gate[2]);
	zoo_tensor out = zoo_unary(net, zoo_name(net, "%s.output", name), "Sigmoid", gate[3]);
	fresh = zoo_binary(net, zoo_name(net, "%s.taken", name), "Mul", fresh, in);
	zoo_tensor kept = zoo_binary(net, zoo_name(net, "%s.kept", name), "Mul", forget, s.c);
	s.c = zoo_binary(net, zoo_name(net, "%s.cell", name), "Add", kept, fresh);
	s.h = zoo_binary(net, zoo_name(net, "%s.hidden", name), "Mul", out,
	                 zoo_unary(net, zoo_name(net, "%s.tanh", name), "Tanh", s.c));
	return s;
}

/* A layer over n steps in either direction; x in and out. */
static void run_layer(zoo_net *net, const char *name, const lstm *w, int64_t n, bool backwards,
                      const zoo_tensor in[], zoo_tensor out[])
{
	state s = (state){vector(net, w->hidden), vector(net, w->hidden)};
	for (int64_t i = 0; i < n; i++) {
		int64_t t = backwards ? n - 1 - i : i;
		s = step(net, zoo_name(net, "%s.t%d", name, (int)t), w, in[t], s);
		out[t] = s.h;
	}
}

static void embed(zoo_net *net, const char *name, int32_t table, int64_t vocabulary, int64_t hidden,
                  int64_t n, zoo_tensor out[])
{
	for (int64_t t = 0; t < n; t++)
		out[t] = zoo_embedding(net, zoo_name(net, "%s.t%d", name, (int)t), 1, vocabulary, hidden,
		                       table);
}

/* All steps as rows of one matrix. */
static zoo_tensor stack(zoo_net *net, const char *name, int64_t n, const zoo_tensor x[])
{
	return n > 1 ? zoo_concat_along(net, name, 2, (int32_t)n, x) : x[0];
}

void zoo_build_rnnlm(zoo_net *net)
{
	zoo_tensor x[MAX_STEPS];
	int64_t n = zoo_whole(net, "seq"), hidden = zoo_whole(net, "hidden"),
		vocabulary = zoo_whole(net, "vocab");
	int32_t table = zoo_shared_param(net, "embedding.weight", vocabulary * hidden);
	embed(net, "embedding", table, vocabulary, hidden, n, x);
	for (int i = 0; i < (int)zoo_value(net, "layers"); i++) {
		lstm w = lstm_new(net, zoo_name(net, "lstm%d.weight", i), hidden, hidden, 1);
		run_layer(net, zoo_name(net, "lstm%d", i), &w, n, false, x, x);
	}
	zoo_tensor all = stack(net, "stack", n, x);
	all = zoo_project(net, "softmax.matmul", all, vocabulary, -1);
	zoo_mark_output(net);
	zoo_bias(net, "softmax.add", all);
}

static zoo_tensor encoder(zoo_net *net, int64_t n, int64_t hidden, zoo_tensor x[])
{
	zoo_tensor forward[MAX_STEPS], backward[MAX_STEPS];
	lstm there = lstm_new(net, "encoder.0.forward.weight", hidden, hidden, 2),
	     back = lstm_new(net, "encoder.0.backward.weight", hidden, hidden, 2);
	run_layer(net, "encoder.0.forward", &there, n, false, x, forward);
	run_layer(net, "encoder.0.backward", &back, n, true, x, backward);
	for (int64_t t = 0; t < n; t++) {
		zoo_tensor both[2] = {forward[t], backward[t]};
		x[t] = zoo_concat_along(net, zoo_name(net, "encoder.0.concat.t%d", (int)t), 3, 2, both);
	}
	for (int i = 1; i < (int)zoo_value(net, "layers"); i++) {
		lstm w = lstm_new(net, zoo_name(net, "encoder.%d.weight", i), i == 1 ? 2 * hidden : hidden,
		                  hidden, 2);
		run_layer(net, zoo_name(net, "encoder.%d", i), &w, n, false, x, forward);
		for (int64_t t = 0; t < n; t++)
			x[t] = i > 1 ? zoo_binary(net, zoo_name(net, "encoder.%d.residual.t%d", i, (int)t),
			                          "Add", forward[t], x[t])
			             : forward[t];
	}
	return stack(net, "encoder.stack", n, x);
}

typedef struct attention {
	int32_t query, score; /* shared parameters */
	zoo_tensor memory, keys;
} attention;

/* Additive attention: a weight a row of the memory from tanh(query + key), then their weighted sum. */
static zoo_tensor attend(zoo_net *net, const attention *a, int t, zoo_tensor h)
{
	zoo_tensor q = zoo_project(net, zoo_name(net, "attention.query.t%d", t), h, h.dim[3], a->query),
		   x[2] = {a->keys, q};
	zoo_tensor y =
		zoo_op(net, zoo_name(net, "attention.add.t%d", t), "Add", 2, x, a->keys, (zoo_cost){0});
	y = zoo_unary(net, zoo_name(net, "attention.tanh.t%d", t), "Tanh", y);
	y = zoo_project(net, zoo_name(net, "attention.score.t%d", t), y, 1, a->score);
	int64_t rows = y.dim[2];
	y.dim[2] = 1;
	y.dim[3] = rows; /* a view */
	y = zoo_unary(net, zoo_name(net, "attention.softmax.t%d", t), "Softmax", y);
	return zoo_matmul(net, zoo_name(net, "attention.context.t%d", t), y, a->memory);
}

static void decoder(zoo_net *net, int64_t n, int64_t hidden, zoo_tensor memory, zoo_tensor x[])
{
	zoo_tensor context[MAX_STEPS];
	lstm w = lstm_new(net, "decoder.0.weight", hidden, hidden, 2);
	attention a = {.query = zoo_shared_param(net, "attention.query.weight", hidden * hidden),
	               .memory = memory};
	a.score = zoo_shared_param(net, "attention.score.weight", 2 * hidden + 1); /* direction, its length, a
	                                                                              bias */
	a.keys = zoo_project(net, "attention.keys", memory, hidden, -1);
	run_layer(net, "decoder.0", &w, n, false, x, x);
	for (int t = 0; t < n; t++)
		context[t] = attend(net, &a, t, x[t]);
	for (int i = 1; i < (int)zoo_value(net, "layers"); i++) {
		zoo_tensor in[MAX_STEPS], out[MAX_STEPS];
		w = lstm_new(net, zoo_name(net, "decoder.%d.weight", i), 2 * hidden, hidden, 2);
		for (int t = 0; t < n; t++) {
			zoo_tensor both[2] = {x[t], context[t]};
			in[t] = zoo_concat_along(net, zoo_name(net, "decoder.%d.concat.t%d", i, t), 3, 2,
			                         both);
		}
		run_layer(net, zoo_name(net, "decoder.%d", i), &w, n, false, in, out);
		for (int t = 0; t < n; t++)
			x[t] = i > 1 ? zoo_binary(net, zoo_name(net, "decoder.%d.residual.t%d", i, t), "Add",
			                          out[t], x[t])
			             : out[t];
	}
}

void zoo_build_gnmt(zoo_net *net)
{
	zoo_tensor x[MAX_STEPS];
	int64_t n = zoo_whole(net, "seq"), hidden = zoo_whole(net, "hidden"),
		vocabulary = zoo_whole(net, "vocab");
	int32_t table = zoo_shared_param(net, "embedding.weight", vocabulary * hidden);
	embed(net, "encoder.embedding", table, vocabulary, hidden, n, x);
	zoo_tensor memory = encoder(net, n, hidden, x);
	embed(net, "decoder.embedding", table, vocabulary, hidden, n, x);
	decoder(net, n, hidden, memory, x);
	zoo_tensor all = stack(net, "decoder.stack", n, x);
	all = zoo_project(net, "classifier.matmul", all, vocabulary, -1);
	zoo_mark_output(net);
	zoo_bias(net, "classifier.add", all);
}
