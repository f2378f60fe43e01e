// Put before a program with LD_PRELOAD: while the file named by REFUSING_WHILE is there, no file whose name has "journal.sqlite" in it can
// be made, and the reason is the number in that file, as where a quota has no more files.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int reason(const char *name, int flags) {
    const char *sign = getenv("REFUSING_WHILE");
    int number = 0;
    if (sign == NULL || !(flags & O_CREAT) || strstr(name, "journal.sqlite") == NULL || access(name, F_OK) == 0)
        return 0;
    FILE *file = fopen(sign, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%d", &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

#define REFUSE(function) \
    int function(const char *name, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        int mode = va_arg(more, int); \
        va_end(more); \
        int number = reason(name, flags); \
        if (number != 0) { \
            errno = number; \
            return -1; \
        } \
        int (*real)(const char *, int, int) = dlsym(RTLD_NEXT, #function); \
        return real(name, flags, mode); \
    }

REFUSE(open)
REFUSE(open64)
