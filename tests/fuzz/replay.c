/* Runs a fuzz target over stored inputs: TARGET [--changes N] INPUT..., files and folders of files. Each is
 * run as it is, and changed N times (6) by the target's own mutator, from seeds that are always the same.
 * Fails where nothing was run. */
#include "mutate.h"
#include "targets.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES = 6, MORE = 512 };

/* In the place of libFuzzer's: one byte changed. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	if (size == 0 && max_size > 0)
		data[size++] = 'a';
	else if (size > 0)
		data[size / 2] ^= (uint8_t)(1u << size % 8);
	return size;
}

/* In a block of exactly this size, so that a read beyond it shows under AddressSanitizer. */
static void run_bytes(const fuzz_target *t, const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		exit(1);
	memcpy(exact, data, size);
	t->run(exact, size);
	free(exact);
}

static int run_file(const fuzz_target *t, unsigned changes, const char *path)
{
	FILE *f = fopen(path, "rb");
	long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
	uint8_t *data = size < 0 ? NULL : malloc((size_t)size + MORE);
	uint8_t *changed = data ? malloc((size_t)size + MORE) : NULL;
	if (f)
		rewind(f);
	if (!changed || fread(data, 1, (size_t)size, f) != (size_t)size) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	run_bytes(t, data, (size_t)size);
	for (unsigned seed = 0; t->mutator && seed < changes; seed++) {
		memcpy(changed, data, (size_t)size);
		run_bytes(t, changed, t->mutator(changed, (size_t)size, (size_t)size + MORE, seed));
	}
	free(changed);
	free(data);
	return 1;
}

static int run_folder(const fuzz_target *t, unsigned changes, const char *path, DIR *dir)
{
	int n = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		char file[4096];
		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s", path, e->d_name);
		n += run_file(t, changes, file);
	}
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int n = 0, first = 2;
	unsigned changes = CHANGES;
	const fuzz_target *t = argc > 1 ? find_target(argv[1]) : NULL;
	if (argc > 3 && strcmp(argv[2], "--changes") == 0) {
		changes = (unsigned)strtoul(argv[3], NULL, 10);
		first = 4;
	}
	for (int i = first; t && i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		n += dir ? run_folder(t, changes, argv[i], dir) : run_file(t, changes, argv[i]);
	}
	printf("%d inputs replayed\n", n);
	return n ? 0 : 1;
}
