/* Runs a fuzz target over stored inputs: arguments are files and folders of files. Fails where nothing was
 * run. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET(name) int name(const uint8_t *data, size_t size);
#include "fuzz_targets.h"
#undef TARGET

typedef int target(const uint8_t *data, size_t size);

#define TARGET(name) {#name, name},
static const struct {
	const char *name;
	target *run;
} targets[] = {
#include "fuzz_targets.h"
};

static int run_file(target *run, const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) != 0) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	long size = ftell(f);
	uint8_t *data = size < 0 ? NULL : malloc((size_t)size + 1);
	rewind(f);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	/* A block of exactly this size, so that a read beyond it shows under AddressSanitizer. */
	uint8_t *exact = malloc((size_t)size ? (size_t)size : 1);
	if (!exact)
		exit(1);
	memcpy(exact, data, (size_t)size);
	run(exact, (size_t)size);
	free(exact);
	free(data);
	return 1;
}

static int run_folder(target *run, const char *path, DIR *dir)
{
	int n = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		char file[4096];
		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s", path, e->d_name);
		n += run_file(run, file);
	}
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int n = 0;
	target *run = NULL;
	for (size_t i = 0; argc > 1 && i < sizeof targets / sizeof *targets; i++)
		if (strcmp(argv[1], targets[i].name) == 0)
			run = targets[i].run;
	for (int i = 2; run && i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		n += dir ? run_folder(run, argv[i], dir) : run_file(run, argv[i]);
	}
	printf("%d inputs replayed\n", n);
	return n ? 0 : 1;
}
