// Put before a program with LD_PRELOAD: while the file named by UNREADABLE_WHILE is there, nothing can be read of, or
// written to, the files whose names have "journal.sqlite" in them, as on a network folder whose server has forgotten them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_gone(int file) {
    const char *sign = getenv("UNREADABLE_WHILE");
    char link[64], name[4096];
    if (sign == NULL || access(sign, F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0)
        return 0;
    name[length] = 0;
    return strstr(name, "journal.sqlite") != NULL;
}

#define STALE(function, bytes) \
    ssize_t function(int file, bytes buffer, size_t count, off_t offset) { \
        if (is_gone(file)) { \
            errno = ESTALE; \
            return -1; \
        } \
        ssize_t (*real)(int, bytes, size_t, off_t) = dlsym(RTLD_NEXT, #function); \
        return real(file, buffer, count, offset); \
    }

STALE(pread, void *)
STALE(pread64, void *)
STALE(pwrite, const void *)
STALE(pwrite64, const void *)
