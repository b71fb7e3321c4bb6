/* One table of what people bring and nobody reads here: what a file is, by its first bytes, and what to give
 * instead. */
#include "foreign.h"

#include "onnx.h"
#include "task_graph.h"
#include "tasks.h"

#include <ctype.h>
#include <strings.h>

#define MODULE "name the function that makes the module, FILE.py:FACTORY, or write it by torch.onnx.export"
#define TF2ONNX "python -m tf2onnx.convert makes an ONNX model of it ("
#define MADE_OF "give the ONNX model that it was made of"
#define UNPACK "unpack it, and give what is inside"
#define WRONG "fetch the file itself"
#define PEGASUS \
	"give the DAX of the workflow, or the WfCommons JSON of a run of it (PegasusLogsParser of wfcommons)"

enum { NEAR = 4096 }; /* bytes that are looked at */

typedef struct foreign {
	size_t at;         /* where the bytes stand; of a text that begins so, in any case, AS_TEXT */
	const char *bytes; /* [n] */
	size_t n;
	const char *within; /* and this stands near the beginning; NULL: nothing more */
	const char *what, *instead;
} foreign;

#define AS_TEXT SIZE_MAX
#define ROW(at, bytes, within, what, instead) {at, bytes, sizeof bytes - 1, within, what, instead}

/* The first that fits. */
static const foreign table[] = {
	ROW(4, "ORTM", NULL, "a model in ONNX Runtime's own format (.ort)", MADE_OF),
	ROW(4, "TFL3", NULL, "a TensorFlow Lite model", TF2ONNX "--tflite FILE)"),
	ROW(4, "ET12", NULL, "an ExecuTorch program", MODULE),
	ROW(0, "ftrt", NULL, "a TensorRT engine", MADE_OF),
	ROW(0, "\x89HDF\r\n\x1a\n", NULL, "an HDF5 file, as of Keras", TF2ONNX "--keras FILE)"),
	ROW(0, "PK\3\4", "weights.h5", "a Keras model", TF2ONNX "--keras FILE)"),
	ROW(0, "PK\3\4", "data.pkl", "a PyTorch file, weights without a graph", MODULE),
	ROW(0, "PK\3\4", "__torch__", "a TorchScript file", MODULE),
	ROW(0, "PK\3\4", "exported_program", "a PyTorch program", MODULE),
	ROW(0, "PK\3\4", NULL, "a zip archive", UNPACK),
	ROW(0, "\x80\2", NULL, "a Python pickle, as of PyTorch, without a graph", MODULE),
	ROW(0, "\x80\3", NULL, "a Python pickle", MODULE),
	ROW(0, "\x80\4", NULL, "a Python pickle", MODULE),
	ROW(0, "\x80\5", NULL, "a Python pickle", MODULE),
	ROW(0, "\x1f\x8b", NULL, "a gzip file", UNPACK),
	ROW(0, "BZh", NULL, "a bzip2 file", UNPACK),
	ROW(0, "\xfd" "7zXZ", NULL, "an xz file", UNPACK),
	ROW(0, "\x28\xb5\x2f\xfd", NULL, "a zstd file", UNPACK),
	ROW(0, "7z\xbc\xaf", NULL, "a 7z archive", UNPACK),
	ROW(257, "ustar", NULL, "a tar archive", UNPACK),
	ROW(0, "lmgg", NULL, "a file of llama.cpp older than GGUF", "convert it to GGUF"),
	ROW(0, "fmgg", NULL, "a file of llama.cpp older than GGUF", "convert it to GGUF"),
	ROW(0, "tjgg", NULL, "a file of llama.cpp older than GGUF", "convert it to GGUF"),
	ROW(0, "\x93NUMPY", NULL, "an array of numpy", "give the model"),
	ROW(0, "%PDF", NULL, "a PDF document", WRONG),
	ROW(0, "\x89PNG", NULL, "a picture", WRONG),
	ROW(0, "\177ELF", NULL, "a program or library", WRONG),
	ROW(0, "\xff\xfe", NULL, "text in UTF-16", "save it as UTF-8"),
	ROW(0, "\xfe\xff", NULL, "text in UTF-16", "save it as UTF-8"),
	ROW(0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", NULL, "a file of zeros, as a download that did not end",
	    WRONG),
	ROW(AS_TEXT, "version https://git-lfs", NULL, "a pointer of Git LFS in the place of the file",
	    "git lfs pull fetches it"),
	ROW(AS_TEXT, "version ", "graph ", "an NNEF graph", "give it as ONNX"),
	ROW(AS_TEXT, "<!doctype html", NULL, "a page of the web", WRONG),
	ROW(AS_TEXT, "<html", NULL, "a page of the web", WRONG),
	ROW(AS_TEXT, "404: not found", NULL, "the answer of a server", WRONG),
	ROW(AS_TEXT, "not found", NULL, "the answer of a server", WRONG),
	ROW(AS_TEXT, "entry not found", NULL, "the answer of a server", WRONG),
	ROW(AS_TEXT, "invalid username or password", NULL, "the answer of a server", WRONG),
	ROW(AS_TEXT, "x-pegasus:", NULL, "a Pegasus 5 workflow in YAML", PEGASUS),
	ROW(AS_TEXT, "pegasus:", NULL, "a Pegasus 5 workflow in YAML", PEGASUS),
	ROW(AS_TEXT, "---", "pegasus:", "a Pegasus 5 workflow in YAML", PEGASUS),
	ROW(AS_TEXT, "<", "<net ", "an OpenVINO model", MADE_OF),
	ROW(AS_TEXT, "<", "<platform ", "a platform of SimGrid, a machine", "docs/systems.md has berth's"),
	ROW(AS_TEXT, "ir_version:", NULL, "an ONNX model as text", "onnx.load(FILE, 'textproto') reads it"),
	ROW(AS_TEXT, "name:", "layer", "a Caffe network", "give it as ONNX"),
	ROW(AS_TEXT, "layer", "type:", "a Caffe network", "give it as ONNX"),
	ROW(AS_TEXT, "[net]", NULL, "a Darknet network", "give it as ONNX"),
	ROW(AS_TEXT, "7767517\n", NULL, "an ncnn network", "give it as ONNX"),
	ROW(AS_TEXT, "{", "\"modelTopology\"", "a TensorFlow.js model", TF2ONNX "--tfjs FILE)"),
	ROW(AS_TEXT, "{", "\"nbformat\"", "a notebook", "write its model by torch.onnx.export"),
};

/* The outermost fields of messages of other programs. */
static const foreign
	saved_model = ROW(0, "", NULL, "a TensorFlow SavedModel", TF2ONNX "--saved-model FOLDER)"),
	graph_def = ROW(0, "", NULL, "a frozen TensorFlow graph", TF2ONNX "--graphdef FILE)"),
	core_ml = ROW(0, "", NULL, "a Core ML model", "give the model that it was made of as ONNX"),
	paddle = ROW(0, "", NULL, "a PaddlePaddle program", "paddle2onnx makes an ONNX model of it");

/* Past the varint at i. */
static size_t past_varint(const unsigned char *b, size_t size, size_t i)
{
	while (i < size && b[i] & 0x80)
		i++;
	return i + 1;
}

static bool begins(const foreign *f, const char *data, size_t size, const scan *text)
{
	const char *at = f->at == AS_TEXT ? text->text + text->at : data + (f->at < size ? f->at : size);
	size_t left = f->at == AS_TEXT ? text->size - text->at : f->at < size ? size - f->at : 0, i = 0;
	if (left < f->n)
		return false;
	while (i < f->n && (f->at == AS_TEXT ? tolower((unsigned char)at[i]) : at[i]) == f->bytes[i])
		i++;
	return i == f->n;
}

/* What data is; NULL: nothing that is known here. */
static const foreign *find(const char *data, size_t size)
{
	size_t near = size < NEAR ? size : NEAR;
	const scan text = scan_begin(data, near);
	if (berth_text_contains(data, near, "\"berth-"))
		return NULL;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (begins(&table[i], data, size, &text) &&
		    (!table[i].within || berth_text_contains(data, near, table[i].within)))
			return &table[i];
	if (berth_text_is(data, near)) /* the end of a line is field 1, too */
		return NULL;
	/* ONNX begins with a number (field 1, its IR version), and what follows is no message. Others begin
	 * with a message in field 1, or have one in field 2. */
	const unsigned char *b = (const unsigned char *)data;
	bool number = near > 4 && b[0] == 0x08 && b[2] == 0x12, message = near > 1 && b[0] == 0x0a;
	size_t at = number ? past_varint(b, near, 3) : message ? past_varint(b, near, 1) : near;
	if (at + 2 >= near || (number && b[at] != 0x0a))
		return NULL;
	if (!number)
		return b[at] == 0x0a ? &graph_def : b[at] == 0x08 && b[at + 1] == 0 ? &paddle : NULL;
	at = past_varint(b, near, at + 1);
	return at < near && b[at] == 0x0a ? &core_ml : &saved_model;
}

static bool is_foreign(const char *data, size_t size)
{
	return find(data, size) != NULL;
}

berth_status berth_foreign_check(const berth_content *from, berth_err *err)
{
	const foreign *f = find(from->data, from->size);
	return f ? berth_fail(err, BERTH_EFORMAT, "%s: %s, which is not read: %s", from->name, f->what,
	                      f->instead)
	         : BERTH_OK;
}

static berth_status refuse(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                           berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err)
{
	(void)opt, (void)mem, (void)tmp, (void)out, (void)report;
	BERTH_TRY(berth_foreign_check(from, err));
	return berth_fail(err, BERTH_EFORMAT, "%s: the file changed while it was read", from->name);
}

const berth_format berth_format_foreign = {"another program's", true, is_foreign, refuse, NULL};

/* Doubts about graphs that were written by hand: what is a slip, and what a dummy. */
enum { MOST_NAMED = 3, MOST_TYPES = 8 };

static berth_status add(berth_read_report *r, const char *text, berth_arena *mem, berth_err *err)
{
	const char **all;
	BERTH_TRY(berth_got(text, err));
	BERTH_TRY_NEW(mem, r->n_warnings + 1, err, all);
	BERTH_COPY(all, r->warning, r->n_warnings);
	all[r->n_warnings++] = text;
	r->warning = all;
	return BERTH_OK;
}

/* A slip of the pen: an edit in four letters, or the case of letters. */
static bool is_slip(const char *type, const char *near)
{
	int most = (int)strlen(type) / 4;
	return near && (strcasecmp(type, near) == 0 || berth_text_distance(type, near) <= most);
}

static bool has_cost(const berth_graph *g, int32_t op)
{
	bool any = g->op_flops[op] > 0 || g->op_read_bytes[op] > 0 || g->op_write_bytes[op] > 0;
	BERTH_EACH (i, g->op_time_off, op)
		any |= !(g->time_s[i] <= 0);
	return any;
}

static berth_status doubt_costs(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                berth_read_report *r, berth_err *err)
{
	int32_t n = 0, with = 0;
	bool *costs, *from;
	berth_strbuf names = {.mem = tmp};
	const char *text;
	BERTH_TRY_NEW(tmp, g->n_ops, err, costs, from);
	for (int32_t op = 0; op < g->n_ops; op++)
		with += costs[op] = has_cost(g, op);
	for (int32_t t = 0; t < g->n_tensors; t++)
		from[g->tensor_producer[t]] = true;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (!costs[op] && (!with || (from[op] && g->op_in_off[op] < g->op_in_off[op + 1])) &&
		    n++ < MOST_NAMED)
			berth_strbuf_printf(&names, "%s'%.40s'", n > 1 ? ", " : "", g->op_name[op]);
	if (!n)
		return BERTH_OK;
	BERTH_TRY(berth_strbuf_done(&names, &text, NULL, err));
	return add(r,
	           berth_arena_printf(
			   mem, "%d operator%s without any cost (time, flops, bytes) take%s no time: %s%s",
			   (int)n, n == 1 ? "" : "s", n == 1 ? "s" : "", text,
			   n > MOST_NAMED ? " and others" : ""),
	           mem, err);
}

berth_status berth_graph_doubts(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                berth_read_report *r, berth_err *err)
{
	bool dot = r->format && strcmp(r->format, berth_format_dot.name) == 0;
	if (!dot && (!r->format || strcmp(r->format, berth_format_json.name) != 0))
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	const char **known;
	int32_t n, told = 0;
	berth_strmap map;
	BERTH_TRY(berth_onnx_types(tmp, &known, &n, err));
	berth_strmap_init(&map, tmp);
	for (int32_t i = 0, found; i < n; i++)
		BERTH_TRY(berth_strmap_add(&map, known[i], i, &found, err));
	for (int32_t i = 0; i < g->n_types && told < MOST_TYPES; i++) {
		const char *type = g->type_name[i];
		const char *near =
			berth_strmap_get(&map, type) < 0 ? berth_text_nearest(type, known, n) : NULL;
		if (!is_slip(type, near))
			continue;
		told++;
		BERTH_TRY(add(
			r,
			berth_arena_printf(mem, "operators of type '%.60s' (did you mean '%s'?)", type, near),
			mem, err));
	}
	return dot ? doubt_costs(g, mem, tmp, r, err) : BERTH_OK;
}
