/* replay.c - runs the inputs that are kept for a fuzz target, without a fuzzer: an ordinary test */
/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: TARGET-replay FOLDER     a failure ends the program, and the TAP plan is then not met */
#include <dirent.h>
#include <string.h>

#include "input.h"

#define INPUT_MAX_BYTES 16384

static size_t read_input(const char *folder, const char *name, uint8_t *data)
{
	char path[1024];
	size_t bytes;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	MUST(file);
	bytes = fread(data, 1, INPUT_MAX_BYTES, file);
	fclose(file);
	return bytes;
}

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX_BYTES];
	struct dirent **names;
	int count;

	if (argc != 2 || (count = scandir(argv[1], &names, is_file, alphasort)) <= 0) {
		fprintf(stderr, "usage: %s FOLDER, with inputs in it\n", argv[0]);
		return 2;
	}
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		uint8_t *input;
		size_t bytes = read_input(argv[1], names[i]->d_name, data);

		fflush(stdout);
		fprintf(stderr, "# %s\n", names[i]->d_name);
		input = malloc(bytes ? bytes : 1); /* its exact length, so that a byte too far is seen */
		MUST(input);
		memcpy(input, data, bytes);
		LLVMFuzzerTestOneInput(input, bytes);
		free(input);
		printf("ok %d - %s\n", i + 1, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return 0;
}
