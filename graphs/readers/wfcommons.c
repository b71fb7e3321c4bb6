/* WfCommons instances (WfFormat 1.0 to 1.5): workflows as they ran, in JSON. Up to 1.4 a task holds its files
 * and what was measured; 1.5 parts what is to be done (specification) from what was (execution). */
#include "workflow.h"

#include <math.h>
#include <string.h>

enum { MOST_MACHINES = 16 }; /* of a task */

/* Which part of the file is being gone through: all tasks stand before what joins them. */
typedef enum pass { PASS_TASKS, PASS_REST } pass;

typedef struct reader {
	workflow w;
	berth_strmap ids;     /* ids, and names that are no id; of 1.3 and before parents are names */
	berth_strmap machines; /* names, by their place in machine, where the builder finds them */
	const char **machine;
	size_t n_machines, cap_machine;
	pass pass;
	int32_t this_job, next_job; /* being read; in the order of the tasks */
	size_t n_lists;       /* of tasks */
} reader;

static berth_status placed(const reader *r, const berth_json *at, berth_status st)
{
	return berth_json_placed(at, st, r->w.t.err);
}

static berth_status check_object(const reader *r, const berth_json *at)
{
	return cJSON_IsObject(at->item) ? BERTH_OK : berth_json_fail(at, r->w.t.err, "expected an object");
}

/* ---- tasks ---- */

static berth_status keep(const reader *r, const char **text)
{
	return berth_got(*text = berth_arena_strdup(r->w.t.tmp, *text), r->w.t.err);
}

/* A text of the task, in the scratch; *out stays where it has none. */
static berth_status text_of(const reader *r, const berth_json *task, const char *key, const char **out)
{
	const char *text = "";
	BERTH_TRY(berth_json_string(task, key, false, &text, r->w.t.err));
	if (!*text)
		return BERTH_OK;
	*out = text;
	return keep(r, out);
}

static berth_status add_name(reader *r, const char *name, int32_t job)
{
	return name ? berth_strmap_add(&r->ids, name, job, NULL, r->w.t.err) : BERTH_OK;
}

static berth_status new_task(void *ctx, const berth_json *task, berth_err *err)
{
	reader *r = ctx;
	berth_op_spec spec = {0};
	const char *name = NULL;
	BERTH_TRY(check_object(r, task));
	BERTH_TRY(text_of(r, task, "id", &spec.name));
	BERTH_TRY(text_of(r, task, "name", &name));
	BERTH_TRY(text_of(r, task, "category", &spec.type));
	spec.type = spec.type || !name || !spec.name || strcmp(name, spec.name) == 0 ? spec.type : name;
	spec.name = spec.name ? spec.name : name;
	if (!spec.name)
		return berth_json_fail(task, err, "a task without id and name");
	if (berth_builder_find(r->w.t.b, spec.name) >= 0)
		return berth_json_fail(task, err, "two tasks have the id '%.80s'", spec.name);
	BERTH_TRY(placed(r, task, workflow_job(&r->w, &spec, &r->this_job)));
	BERTH_TRY(add_name(r, spec.name, r->this_job));
	return add_name(r, name, r->this_job);
}

static berth_status find_task(const reader *r, const berth_json *at, int32_t *job)
{
	*job = cJSON_IsString(at->item) ? berth_strmap_get(&r->ids, at->item->valuestring) : -1;
	return *job < 0 ? berth_json_fail(at, r->w.t.err, "expected the id of a task") : BERTH_OK;
}

static berth_status read_parent(void *ctx, const berth_json *item, berth_err *err)
{
	reader *r = ctx;
	int32_t other;
	(void)err;
	BERTH_TRY(find_task(r, item, &other));
	return placed(r, item, workflow_parent(&r->w, r->this_job, other));
}

static berth_status read_child(void *ctx, const berth_json *item, berth_err *err)
{
	reader *r = ctx;
	int32_t other;
	(void)err;
	BERTH_TRY(find_task(r, item, &other));
	return placed(r, item, workflow_parent(&r->w, other, r->this_job));
}

static berth_status each(reader *r, const berth_json *at, const char *key, berth_json_visit *visit)
{
	berth_json list;
	BERTH_TRY(berth_json_array(at, key, false, &list, r->w.t.err));
	return berth_json_each(&list, visit, r, r->w.t.err);
}

/* ---- files ---- */

static berth_status file_named(reader *r, const berth_json *at, const char *name, size_t *file)
{
	return *name ? placed(r, at, workflow_file(&r->w, name, file))
	             : berth_json_fail(at, r->w.t.err, "a file without a name");
}

static berth_status read_size(const reader *r, const berth_json *at, double *size)
{
	BERTH_TRY(berth_json_number(at, "size", false, -0x1p53, size, r->w.t.err));
	BERTH_TRY(berth_json_number(at, "sizeInBytes", false, -0x1p53, size, r->w.t.err));
	return *size <= 0x1p53 || isnan(*size) ? BERTH_OK
	                                       : berth_json_fail(at, r->w.t.err, "more than 2^53 bytes");
}

/* {"link": "input", "name": "x", "sizeInBytes": 9}; the size stood as "size" before 1.4. */
static berth_status read_use(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	const char *name = "", *link = "";
	double size = NAN;
	size_t file;
	BERTH_TRY(check_object(r, at));
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	BERTH_TRY(berth_json_string(at, "link", true, &link, err));
	BERTH_TRY(read_size(r, at, &size));
	BERTH_TRY(file_named(r, at, name, &file));
	if (strcmp(link, "output") == 0)
		return placed(r, at, workflow_output(&r->w, r->this_job, file, size));
	return strcmp(link, "input") == 0 ? placed(r, at, workflow_input(&r->w, r->this_job, file, size))
	                                  : berth_json_fail(at, err, "link is neither 'input' nor 'output'");
}

static berth_status file_of(reader *r, const berth_json *item, size_t *file)
{
	return file_named(r, item, cJSON_IsString(item->item) ? item->item->valuestring : "", file);
}

static berth_status read_input(void *ctx, const berth_json *item, berth_err *err)
{
	reader *r = ctx;
	size_t file;
	(void)err;
	BERTH_TRY(file_of(r, item, &file));
	return placed(r, item, workflow_input(&r->w, r->this_job, file, NAN));
}

static berth_status read_output(void *ctx, const berth_json *item, berth_err *err)
{
	reader *r = ctx;
	size_t file;
	(void)err;
	BERTH_TRY(file_of(r, item, &file));
	return placed(r, item, workflow_output(&r->w, r->this_job, file, NAN));
}

/* {"id": "x", "sizeInBytes": 9} */
static berth_status read_file(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	const char *id = "";
	double size = NAN;
	size_t file;
	BERTH_TRY(check_object(r, at));
	BERTH_TRY(berth_json_string(at, "id", true, &id, err));
	BERTH_TRY(read_size(r, at, &size));
	BERTH_TRY(file_named(r, at, id, &file));
	return placed(r, at, workflow_size(&r->w, file, size));
}

/* ---- what was measured ---- */

/* The time is that of the machine, beside the one that holds everywhere. */
static berth_status put_machine(reader *r, const berth_json *at, const char *name, double seconds)
{
	int32_t known = berth_strmap_get(&r->machines, name), n = (int32_t)r->n_machines;
	if (!*name || strcmp(name, "*") == 0)
		return BERTH_OK;
	if (known < 0) {
		BERTH_TRY(keep(r, &name));
		BERTH_TRY(BERTH_GROW(r->w.t.tmp, r->machine, r->n_machines, &r->cap_machine, r->w.t.err));
		BERTH_TRY(berth_strmap_add(&r->machines, name, n, &known, r->w.t.err));
		r->machine[r->n_machines++] = name;
	}
	return placed(r, at, berth_builder_time(r->w.t.b, r->this_job, r->machine[known], seconds,
	                                        r->w.t.err));
}

/* {"program": "x", "arguments": [many]}: the program is what kind of task it is, if nothing else says so. */
static berth_status read_program(void *ctx, const berth_json *item, berth_err *err)
{
	reader *r = ctx;
	berth_op_spec spec;
	berth_builder_get(r->w.t.b, r->this_job, &spec);
	if (spec.type || strcmp(item->key, "program") != 0 || !cJSON_IsString(item->item) ||
	    !*item->item->valuestring)
		return BERTH_OK;
	spec.type = item->item->valuestring;
	(void)err;
	BERTH_TRY(keep(r, &spec.type));
	return placed(r, item, berth_builder_set(r->w.t.b, r->this_job, &spec, r->w.t.err));
}

static berth_status put_measured(reader *r, const berth_json *task)
{
	double runtime = 0;
	BERTH_TRY(berth_json_number(task, "runtime", false, -1e12, &runtime, r->w.t.err));
	BERTH_TRY(berth_json_number(task, "runtimeInSeconds", false, -1e12, &runtime, r->w.t.err));
	BERTH_TRY(placed(r, task, workflow_runtime(&r->w, r->this_job, runtime)));
	/* memory stood in kB before 1.4. */
	berth_op_spec spec;
	berth_json command;
	double kilobytes = 0, bytes = 0;
	BERTH_TRY(berth_json_object(task, "command", false, &command, r->w.t.err));
	BERTH_TRY(berth_json_each(&command, read_program, r, r->w.t.err));
	berth_builder_get(r->w.t.b, r->this_job, &spec);
	BERTH_TRY(berth_json_number(task, "memory", false, 0, &kilobytes, r->w.t.err));
	BERTH_TRY(berth_json_number(task, "memoryInBytes", false, 0, &bytes, r->w.t.err));
	bytes = fmax(bytes, 1000 * kilobytes);
	spec.workspace_bytes = bytes <= 0x1p53 ? (int64_t)bytes : 0;
	BERTH_TRY(placed(r, task, berth_builder_set(r->w.t.b, r->this_job, &spec, r->w.t.err)));
	double seconds = fmax(runtime, 0) * r->w.t.opt->unit;
	const char *name = "", *seen[MOST_MACHINES];
	berth_json list;
	int n = 0;
	BERTH_TRY(berth_json_string(task, "machine", false, &name, r->w.t.err));
	BERTH_TRY(put_machine(r, task, name, seconds));
	BERTH_TRY(berth_json_array(task, "machines", false, &list, r->w.t.err));
	for (const cJSON *m = list.item ? list.item->child : NULL; m && n < MOST_MACHINES; m = m->next) {
		const char *text = cJSON_IsString(m) ? m->valuestring : "";
		bool again = strcmp(text, name) == 0;
		for (int i = 0; i < n; i++)
			again |= strcmp(seen[i], text) == 0;
		if (again)
			continue;
		seen[n++] = text;
		BERTH_TRY(put_machine(r, &list, text, seconds));
	}
	return BERTH_OK;
}

/* ---- the document ---- */

/* A task that is there already: its files, what it waits for and, before 1.5, its time. */
static berth_status read_task(void *ctx, const berth_json *task, berth_err *err)
{
	reader *r = ctx;
	r->this_job = r->next_job++;
	BERTH_TRY(check_object(r, task));
	BERTH_TRY(each(r, task, "parents", read_parent));
	BERTH_TRY(each(r, task, "children", read_child));
	BERTH_TRY(each(r, task, "files", read_use));
	BERTH_TRY(each(r, task, "inputFiles", read_input));
	BERTH_TRY(each(r, task, "outputFiles", read_output));
	(void)err;
	return berth_json_get(task, "runtime").item || berth_json_get(task, "runtimeInSeconds").item
	               ? put_measured(r, task)
	               : BERTH_OK;
}

static berth_status read_run(void *ctx, const berth_json *task, berth_err *err)
{
	reader *r = ctx;
	BERTH_TRY(check_object(r, task));
	const berth_json id = berth_json_get(task, "id");
	if (!id.item)
		return berth_json_fail(task, err, "key 'id' is missing");
	BERTH_TRY(find_task(r, &id, &r->this_job));
	return put_measured(r, task);
}

static berth_status read_tasks(reader *r, const berth_json *list)
{
	if (!cJSON_IsArray(list->item))
		return berth_json_fail(list, r->w.t.err, "expected an array of tasks");
	r->n_lists += r->pass == PASS_TASKS;
	if (r->n_lists > 1)
		return berth_json_fail(list, r->w.t.err, "a second list of tasks");
	return berth_json_each(list, r->pass == PASS_TASKS ? new_task : read_task, r, r->w.t.err);
}

static berth_status read_part(void *ctx, const berth_json *part, berth_err *err)
{
	reader *r = ctx;
	const char *key = part->key ? part->key : "";
	if (strcmp(key, "tasks") == 0 || strcmp(key, "jobs") == 0)
		return read_tasks(r, part);
	if (strcmp(key, "specification") == 0) {
		BERTH_TRY(check_object(r, part));
		const berth_json tasks = berth_json_get(part, "tasks");
		if (tasks.item)
			BERTH_TRY(read_tasks(r, &tasks));
		return r->pass == PASS_REST ? each(r, part, "files", read_file) : BERTH_OK;
	}
	if (strcmp(key, "execution") != 0 || r->pass == PASS_TASKS)
		return BERTH_OK;
	return cJSON_IsObject(part->item) ? each(r, part, "tasks", read_run)
	                                  : berth_json_fail(part, err, "expected an object");
}

static berth_status read_all(reader *r, const berth_json *doc)
{
	berth_json flow;
	const char *version = "";
	if (!cJSON_IsObject(doc->item))
		return berth_json_fail(doc, r->w.t.err, "expected an object");
	BERTH_TRY(berth_json_string(doc, "schemaVersion", true, &version, r->w.t.err));
	if (strlen(version) != 3 || strncmp(version, "1.", 2) != 0 || version[2] < '0' || version[2] > '5')
		BERTH_TRY(task_graph_warn(&r->w.t,
		                          "WfFormat %.20s is not known; 1.0 to 1.5 are: it is read as these",
		                          version));
	BERTH_TRY(berth_json_object(doc, "workflow", true, &flow, r->w.t.err));
	BERTH_TRY(berth_json_each(&flow, read_part, r, r->w.t.err));
	if (!r->n_lists)
		return berth_json_fail(&flow, r->w.t.err, "a workflow without tasks");
	r->pass = PASS_REST;
	return berth_json_each(&flow, read_part, r, r->w.t.err);
}

berth_status task_graph_wfcommons(const task_graph *frame, const berth_content *from, berth_arena *mem,
                                  berth_graph *out)
{
	reader r = {.pass = PASS_TASKS};
	BERTH_JSON_DOC(at);
	BERTH_TRY(workflow_begin(&r.w, frame, from->name));
	berth_strmap_init(&r.ids, frame->tmp);
	berth_strmap_init(&r.machines, frame->tmp);
	BERTH_TRY(berth_json_open_doc(from->name, from->data, from->size, &at, frame->err));
	BERTH_TRY(read_all(&r, &at));
	return workflow_finish(&r.w, from->name, mem, out);
}

static bool is_wfcommons(const char *data, size_t size)
{
	scan s = scan_begin(data, size);
	return scan_peek(&s) == '{' &&
	       !berth_text_contains(data, size < 4096 ? size : 4096, "\"berth-") &&
	       berth_text_contains(data, size, "\"schemaVersion\"") &&
	       berth_text_contains(data, size, "\"workflow\"");
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	return task_graph_read_words(task_graph_wfcommons, from, opt, mem, tmp, out, report, err);
}

const berth_format berth_format_wfcommons = {"WfCommons", true, is_wfcommons, parse_format, NULL};
