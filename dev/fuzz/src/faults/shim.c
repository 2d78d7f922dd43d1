/* Makes the N-th call of one kind on files below a folder fail. Loaded with LD_PRELOAD.
 *
 * FAULT_UNDER   absolute folder; calls on other files are not counted and never fail
 * FAULT_OP      open, create, write, read, rename, mkdir, remove, sync
 * FAULT_AT      number of the failing call, from 1; with 0, the library only counts calls
 * FAULT_ERRNO   error number; 0 means that a write or read transfers half of the bytes
 * FAULT_STICKY  with 1, all later calls of this kind fail, too, as on a full disk
 * FAULT_LOG     file for "fired OP CALL PATH" at the fault, and "count OP N" when the process ends
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum op { OPEN, CREATE, WRITE, READ, RENAME, MKDIR, REMOVE, SYNC, OPS };
static const char *const names[OPS] = {"open", "create", "write", "read", "rename", "mkdir", "remove", "sync"};

static atomic_long counts[OPS];
static char under[PATH_MAX];
static size_t under_length;
static int fault_op = -1, fault_errno, fault_sticky;
static long fault_at;
static const char *log_path;

#define FDS 4096
static atomic_uchar tracked[FDS];

#define REAL(result, name, ...)                               \
    static result (*real_##name)(__VA_ARGS__);                \
    static void find_##name(void) {                           \
        if (!real_##name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name); \
    }

REAL(int, openat, int, const char *, int, ...)
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
REAL(ssize_t, read, int, void *, size_t)
REAL(ssize_t, pread64, int, void *, size_t, off64_t)
REAL(int, rename, const char *, const char *)
REAL(int, mkdir, const char *, mode_t)
REAL(int, unlink, const char *)
REAL(int, unlinkat, int, const char *, int)
REAL(int, rmdir, const char *)
REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, close, int)

static void find_all(void) {
    find_openat(); find_write(); find_writev(); find_pwrite64(); find_read(); find_pread64(); find_rename();
    find_mkdir(); find_unlink(); find_unlinkat(); find_rmdir(); find_fsync(); find_fdatasync(); find_close();
}

static void note(const char *word, enum op op, long number, const char *path) {
    if (!log_path) return;
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s %s %ld %s\n", word, names[op], number, path);
    int fd = real_openat(AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return;
    if (real_write(fd, line, (size_t)length) < 0) abort();
    real_close(fd);
}

__attribute__((constructor)) static void begin(void) {
    find_all();
    const char *folder = getenv("FAULT_UNDER"), *op = getenv("FAULT_OP"), *at = getenv("FAULT_AT");
    const char *error = getenv("FAULT_ERRNO"), *sticky = getenv("FAULT_STICKY");
    log_path = getenv("FAULT_LOG");
    if (!folder || strlen(folder) >= sizeof under) return;
    strcpy(under, folder);
    under_length = strlen(under);
    for (int i = 0; op && i < OPS; i++)
        if (!strcmp(op, names[i])) fault_op = i;
    fault_at = at ? atol(at) : 0;
    fault_errno = error ? atoi(error) : 0;
    fault_sticky = sticky && *sticky == '1';
}

__attribute__((destructor)) static void end(void) {
    for (int i = 0; i < OPS; i++)
        if (under_length) note("count", (enum op)i, atomic_load(&counts[i]), "");
}

/* Whether a path, relative to a folder, is below FAULT_UNDER. */
static int concerns(int folder, const char *path) {
    char whole[2 * PATH_MAX];
    if (!under_length || !path) return 0;
    if (path[0] == '/') {
        snprintf(whole, sizeof whole, "%s", path);
    } else if (folder == AT_FDCWD) {
        char cwd[PATH_MAX];
        if (!getcwd(cwd, sizeof cwd)) return 0;
        snprintf(whole, sizeof whole, "%s/%s", cwd, path);
    } else {
        char link[64], cwd[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, cwd, sizeof cwd - 1);
        if (length < 0) return 0;
        cwd[length] = 0;
        snprintf(whole, sizeof whole, "%s/%s", cwd, path);
    }
    return !strncmp(whole, under, under_length) && (whole[under_length] == '/' || whole[under_length] == 0);
}

/* Counts a call; returns whether the call must fail. The error number 0 means a short call. */
static int fails(enum op op, const char *path) {
    long number = atomic_fetch_add(&counts[op], 1) + 1;
    if ((int)op != fault_op || fault_at == 0) return 0;
    if (number != fault_at && !(fault_sticky && number > fault_at)) return 0;
    if (number == fault_at) note("fired", op, number, path);
    errno = fault_errno;
    return 1;
}

/* The path of an open file, for the log. */
static const char *name_of(int fd) {
    static _Thread_local char path[PATH_MAX];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fault_at ? readlink(link, path, sizeof path - 1) : -1;
    path[length < 0 ? 0 : length] = 0;
    return path;
}

static int follows(int fd) { return fd >= 0 && fd < FDS && atomic_load(&tracked[fd]); }

static int open_any(int folder, const char *path, int flags, mode_t mode) {
    find_all();
    int ours = concerns(folder, path);
    if (ours && fails(flags & O_CREAT ? CREATE : OPEN, path)) return -1;
    int fd = real_openat(folder, path, flags, mode);
    if (fd >= 0 && fd < FDS) atomic_store(&tracked[fd], (unsigned char)ours);
    return fd;
}

#define MODE(flags)                                      \
    mode_t mode = 0;                                     \
    if ((flags) & (O_CREAT | O_TMPFILE)) {               \
        va_list list;                                    \
        va_start(list, flags);                           \
        mode = va_arg(list, mode_t);                     \
        va_end(list);                                    \
    }

int open(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags) return open_any(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return open_any(folder, path, flags | O_LARGEFILE, mode);
}

int close(int fd) {
    find_all();
    if (fd >= 0 && fd < FDS) atomic_store(&tracked[fd], 0);
    return real_close(fd);
}

/* Length of a short call: half of the bytes, but at least one. */
static size_t shorter(size_t length) { return length > 1 ? length / 2 : length; }

ssize_t write(int fd, const void *bytes, size_t length) {
    find_all();
    if (follows(fd) && fails(WRITE, name_of(fd))) {
        if (errno) return -1;
        length = shorter(length);
    }
    return real_write(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    find_all();
    if (follows(fd) && fails(WRITE, name_of(fd))) {
        if (errno) return -1;
        count = count > 1 ? count / 2 : count;
    }
    return real_writev(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    find_all();
    if (follows(fd) && fails(WRITE, name_of(fd))) {
        if (errno) return -1;
        length = shorter(length);
    }
    return real_pwrite64(fd, bytes, length, at);
}

ssize_t read(int fd, void *bytes, size_t length) {
    find_all();
    if (follows(fd) && fails(READ, name_of(fd))) {
        if (errno) return -1;
        length = shorter(length);
    }
    return real_read(fd, bytes, length);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) {
    find_all();
    if (follows(fd) && fails(READ, name_of(fd))) {
        if (errno) return -1;
        length = shorter(length);
    }
    return real_pread64(fd, bytes, length, at);
}

int rename(const char *from, const char *to) {
    find_all();
    if (concerns(AT_FDCWD, to) && fails(RENAME, to)) return -1;
    return real_rename(from, to);
}

int mkdir(const char *path, mode_t mode) {
    find_all();
    if (concerns(AT_FDCWD, path) && fails(MKDIR, path)) return -1;
    return real_mkdir(path, mode);
}

int unlink(const char *path) {
    find_all();
    if (concerns(AT_FDCWD, path) && fails(REMOVE, path)) return -1;
    return real_unlink(path);
}

int unlinkat(int folder, const char *path, int flags) {
    find_all();
    if (concerns(folder, path) && fails(REMOVE, path)) return -1;
    return real_unlinkat(folder, path, flags);
}

int rmdir(const char *path) {
    find_all();
    if (concerns(AT_FDCWD, path) && fails(REMOVE, path)) return -1;
    return real_rmdir(path);
}

int fsync(int fd) {
    find_all();
    if (follows(fd) && fails(SYNC, name_of(fd))) return -1;
    return real_fsync(fd);
}

int fdatasync(int fd) {
    find_all();
    if (follows(fd) && fails(SYNC, name_of(fd))) return -1;
    return real_fdatasync(fd);
}
