// A emulated CANN: Ascend's runtime on the memory of this machine, and its operators computed by another process (device.py, real torch).
// Device memory is a file in memory, mapped twice: at the addresses that the program sees without any right (who reads "device memory" from the
// host dies of it, as on a device), and once more, for copies, at addresses that it does not see.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
typedef int R; typedef void *P; typedef uint64_t U; typedef int64_t I;
extern char **environ;

static __thread char said[4096];
static int level(void) { static int v = -1; if (v < 0) { const char *s = getenv("EMULATED_CANN_LOG"); v = s ? atoi(s) : 0; } return v; }
#define LOG(n, ...) do { if (level() >= n) { fprintf(stderr, "[cann] " __VA_ARGS__); fputc('\n', stderr); } } while (0)

// EMULATED_CANN_FAULT=FILE: once the file says "prepare Name", "launch Name" or "late Name" (a part of an operator's name, or *), the next such call fails, and the file
// goes: at GetWorkspaceSize; at the launch; or, after a launch that returned 0, at whatever waits for its stream from then on (as an exception of an AI Core does)
static int fault(const char *how, const char *name) {
    const char *path = getenv("EMULATED_CANN_FAULT"); char a[64] = "", b[128] = ""; FILE *f = path ? fopen(path, "r") : 0; if (!f) return 0;
    int n = fscanf(f, "%63s %127s", a, b); fclose(f); if (n != 2 || strcmp(a, how) || (strcmp(b, "*") && !strstr(name, b))) return 0;
    unlink(path); return 1;
}

#include "streams.c"

// ---- memory
#define STEP 512ull
#define ADDRESSES 48  // times as many addresses as bytes of memory, since MindSpore reserves nearly as many as there are bytes for each stream that computes
static U room, told; static char *seen, *own; static int file = -1;
struct Block { U at, size; int used; struct Block *next; };
static struct Block *blocks; static U in_use;
static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void start(void) {
    const char *s = getenv("EMULATED_CANN_MEMORY_MB"); room = (s ? strtoull(s, 0, 10) : 16384) << 20; told = room; room *= ADDRESSES;
    file = memfd_create("emulated_cann", 0);
    if (file < 0 || ftruncate(file, room)) { perror("emulated_cann"); abort(); }
    const char *open_ = getenv("EMULATED_CANN_OPEN");
    seen = mmap(0, room, open_ && *open_ == '1' ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
    own = mmap(0, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (seen == MAP_FAILED || own == MAP_FAILED) { perror("emulated_cann"); abort(); }
    blocks = calloc(1, sizeof *blocks); blocks->size = room;
}
static int inside(const void *p) { return seen && (char *)p >= seen && (char *)p < seen + room; }
static void *reach(const void *p) { return inside(p) ? own + ((char *)p - seen) : (void *)p; }
static R take(P *p, size_t n, int counted) {
    pthread_once(&once, start); n = n ? (n + STEP - 1) / STEP * STEP : STEP; pthread_mutex_lock(&memory);
    struct Block *b = blocks; while (b && (b->used || b->size < n)) b = b->next;
    if (b) {
        if (b->size > n) { struct Block *rest = calloc(1, sizeof *rest); rest->at = b->at + n; rest->size = b->size - n; rest->next = b->next; b->next = rest; b->size = n; }
        b->used = counted ? 2 : 1; *p = seen + b->at; if (counted) in_use += n;
    }
    pthread_mutex_unlock(&memory); LOG(2, "%s %zu %p", counted ? "malloc" : "reserve", n, b ? *p : 0); return b ? 0 : 207001;
}
R aclrtMalloc(P *p, size_t n, int policy) { return take(p, n, 1); }
R aclrtMallocAlign32(P *p, size_t n, int policy) { return aclrtMalloc(p, n, policy); }
R aclrtFree(P p) {
    LOG(2, "free %p", p); if (!inside(p)) return p ? 107002 : 0;
    if (lags()) everywhere(-1);
    pthread_mutex_lock(&memory); struct Block *b = blocks; while (b && b->at != (U)((char *)p - seen)) b = b->next;
    if (b && b->used) {
        if (b->used == 2) in_use -= b->size; b->used = 0; fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, b->at, b->size);
        for (struct Block *c = blocks; c && c->next;) if (!c->used && !c->next->used) { struct Block *d = c->next; c->size += d->size; c->next = d->next; free(d); } else c = c->next;
    }
    pthread_mutex_unlock(&memory); return 0;
}
R aclrtMallocHost(P *p, size_t n) { return posix_memalign(p, 64, n ? n : 64) ? 207001 : 0; }
R aclrtFreeHost(P p) { free(p); return 0; }
static R copy(P d, size_t room_, const void *s, size_t n, int kind) {
    if (n > room_) { LOG(1, "memcpy of %zu into %zu", n, room_); return 107002; }
    if (kind == 0 && (inside(d) || inside(s)) || kind == 1 && (!inside(d) || inside(s)) || kind == 2 && (inside(d) || !inside(s)) || kind == 3 && (!inside(d) || !inside(s)))
        LOG(1, "memcpy of kind %d: %s to %s", kind, inside(s) ? "device" : "host", inside(d) ? "device" : "host");
    if (n) memmove(reach(d), reach(s), n); return 0;
}
R aclrtMemset(P d, size_t m, int v, size_t n);
R aclrtMemcpy(P d, size_t m, const void *s, size_t n, int k) { LOG(2, "memcpy %zu kind %d", n, k); return copy(d, m, s, n, k); }
struct Move { P into; size_t room, bytes; const void *from; int kind; };
static R moved(void *with, char *text) {  // copies that lag: what the host gives is taken at once, what it gets comes later
    struct Move *m = with; lag(); R r = m->kind < 0 ? aclrtMemset(m->into, m->room, m->kind + 256, m->bytes) : copy(m->into, m->room, m->from, m->bytes, m->kind);
    if (m->kind >= 0 && !inside(m->from)) free((void *)m->from); free(m); return r;
}
static R move_later(P d, size_t room_, const void *s, size_t n, int k, P stream_) {
    struct Move *m = malloc(sizeof *m); *m = (struct Move){d, room_, n, s, k}; struct Stream *q = stream_of(stream_);
    if (s && !inside(s)) { void *kept = malloc(n + 1); memcpy(kept, s, n); m->from = kept; }
    later(stream_, moved, m); return q->failed;
}
R aclrtMemcpyAsync(P d, size_t m, const void *s, size_t n, int k, P st) {
    LOG(2, "memcpyAsync %zu kind %d %p <- %p", n, k, d, s); if (lags()) return n > m ? 107002 : move_later(d, m, s, n, k, st);
    R r = after(st); return r ? r : copy(d, m, s, n, k);
}
R aclrtMemset(P d, size_t m, int v, size_t n) { if (n > m) return 107002; memset(reach(d), v, n); return 0; }
R aclrtMemsetAsync(P d, size_t m, int v, size_t n, P s) { if (lags()) return move_later(d, m, 0, n, (v & 255) - 256, s); R r = after(s); return r ? r : aclrtMemset(d, m, v, n); }
R aclrtGetMemInfo(int which, size_t *f, size_t *t) { pthread_once(&once, start); *t = told; *f = told > in_use ? told - in_use : 0; return 0; }
// addresses apart from memory: all of the arena has memory as soon as it is written to; what is mapped is counted
R aclrtReserveMemAddress(P *p, size_t n, size_t a, P e, U f) { return take(p, n, 0); }
R aclrtReleaseMemAddress(P p) { return aclrtFree(p); }
R aclrtMallocPhysical(P *h, size_t n, const void *how, U f) {
    pthread_once(&once, start); pthread_mutex_lock(&memory); int fits = in_use + n <= told; if (fits) in_use += n; pthread_mutex_unlock(&memory);
    LOG(2, "physical %zu %s", n, fits ? "" : "refused"); if (!fits) return 207001; U *size = calloc(1, 64); *size = n; *h = size; return 0;
}
R aclrtFreePhysical(P h) { if (h) { pthread_mutex_lock(&memory); in_use -= *(U *)h; pthread_mutex_unlock(&memory); free(h); } return 0; }
R aclrtMapMem(P p, size_t n, size_t at, P h, U f) { return 0; }
R aclrtUnmapMem(P p) { return 0; }
R halHostRegister(P h, U n, unsigned f, unsigned d, P *o) { if (o) *o = h; return 0; }
R halHostUnregister(P h, unsigned d) { return 0; }

// ---- device, contexts
static __thread int device; static __thread P context;
R aclInit(const char *c) { pthread_once(&once, start); LOG(1, "aclInit"); return 0; }
R aclFinalize(void) { return 0; }
R aclrtSetDevice(int d) { LOG(1, "set device %d", d); device = d; return 0; }
R aclrtResetDevice(int d) { return 0; }
R aclrtGetDevice(int *d) { *d = device; return 0; }
R aclrtGetDeviceCount(unsigned *n) { const char *s = getenv("EMULATED_CANN_DEVICES"); *n = s ? atoi(s) : 1; return 0; }
const char *aclrtGetSocName(void) { const char *s = getenv("EMULATED_CANN_SOC"); return s ? s : "Ascend910B2"; }
R aclrtGetRunMode(int *m) { *m = 1; return 0; }
R aclrtCreateContext(P *c, int d) { *c = context = calloc(1, 64); return 0; }
R aclrtDestroyContext(P c) { return 0; }
R aclrtSetCurrentContext(P c) { context = c; return 0; }
R aclrtGetCurrentContext(P *c) { if (!context) context = calloc(1, 64); *c = context; return 0; }
R aclrtDeviceGetStreamPriorityRange(int *l, int *g) { *l = 7; *g = 0; return 0; }
R aclrtDeviceCanAccessPeer(int *can, int a, int b) { *can = 0; return 0; }
R aclrtGetResInCurrentThread(int t, unsigned *v) { *v = 24; return 0; }
R aclrtGetDeviceResLimit(int d, int t, unsigned *v) { *v = 24; return 0; }
R aclrtGetStreamResLimit(P s, int t, unsigned *v) { *v = 24; return 0; }
R aclsysGetCANNVersion(int n, char *v) { memset(v, 0, 256); strcpy(v, "8.5.0"); return 0; }
const char *aclGetRecentErrMsg(void) { return said; }
size_t aclDataTypeSize(int t) { static const char w[] = {4, 2, 1, 4, 1, 0, 2, 2, 4, 8, 8, 8, 1, 0, 0, 0, 8, 16}; return t == 27 ? 2 : t >= 0 && t < 18 ? w[t] : 1; }

// ---- operands: cells of one region, so that a word is known as an operand by its address
enum { TENSOR = 1, SCALAR, INTS, FLOATS, BOOLS, TENSORS, SCALARS, EXECUTOR };
struct Thing { int kind, dtype, n, format; I dims[12], strides[12], offset; P data; char value[16]; P list; U count; };
#define CELLS (1 << 20)  // MindSpore keeps 10,000 executors, each with its operands
static struct Thing *cells; static int *spare, spares; static pthread_mutex_t things = PTHREAD_MUTEX_INITIALIZER;
static struct Thing *make(int kind) {
    pthread_mutex_lock(&things);
    if (!cells) { cells = mmap(0, sizeof *cells * CELLS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); spare = malloc(4 * CELLS); for (int i = 0; i < CELLS; i++) spare[i] = CELLS - 1 - i; spares = CELLS; }
    if (!spares) { fprintf(stderr, "[cann] %d operands alive: someone does not destroy them\n", CELLS); abort(); }
    struct Thing *t = cells + spare[--spares]; pthread_mutex_unlock(&things); memset(t, 0, sizeof *t); t->kind = kind; return t;
}
static int known(const void *p) { struct Thing *t = (struct Thing *)p; return cells && t >= cells && t < cells + CELLS && ((char *)p - (char *)cells) % sizeof *t == 0 && t->kind; }
static R drop(const void *p) { if (!known(p)) return 0; struct Thing *t = (struct Thing *)p; if (t->kind >= INTS && t->list) free(t->list); t->kind = 0; pthread_mutex_lock(&things); spare[spares++] = t - cells; pthread_mutex_unlock(&things); return 0; }
P aclCreateTensor(const I *dims, U n, int dtype, const I *strides, I offset, int format, const I *storage, U m, P data) {
    struct Thing *t = make(TENSOR); t->dtype = dtype; t->n = n > 12 ? 12 : n; t->offset = offset; t->format = format; t->data = data; I step = 1;
    for (int i = t->n - 1; i >= 0; i--) { t->dims[i] = dims[i]; t->strides[i] = strides ? strides[i] : step; step *= dims[i]; } return t;
}
P aclCreateScalar(P value, int dtype) { struct Thing *t = make(SCALAR); t->dtype = dtype; memcpy(t->value, value, aclDataTypeSize(dtype)); return t; }
static P array(int kind, const void *v, U n, int width) { struct Thing *t = make(kind); t->count = n; t->list = malloc(n * width + 1); if (n) memcpy(t->list, v, n * width); return t; }
P aclCreateIntArray(const I *v, U n) { return array(INTS, v, n, 8); }
P aclCreateFloatArray(const float *v, U n) { return array(FLOATS, v, n, 4); }
P aclCreateBoolArray(const char *v, U n) { return array(BOOLS, v, n, 1); }
P aclCreateTensorList(const P *v, U n) { return array(TENSORS, v, n, 8); }
P aclCreateScalarList(const P *v, U n) { return array(SCALARS, v, n, 8); }
R aclDestroyTensor(P t) { return drop(t); }
R aclDestroyScalar(P t) { return drop(t); }
R aclDestroyIntArray(P t) { return drop(t); }
R aclDestroyFloatArray(P t) { return drop(t); }
R aclDestroyBoolArray(P t) { return drop(t); }
R aclDestroyTensorList(P p) { struct Thing *t = p; if (known(p)) for (U i = 0; i < t->count; i++) drop(((P *)t->list)[i]); return drop(p); }
R aclDestroyScalarList(P p) { return aclDestroyTensorList(p); }
R aclGetViewShape(P p, I **dims, U *n) { struct Thing *t = p; *n = t->n; *dims = malloc(8 * t->n + 8); memcpy(*dims, t->dims, 8 * t->n); return 0; }

// ---- operators
struct Executor { char *text; size_t size, room; P *tensor; size_t *place; int tensors, repeat; const char *name; };
static void put(struct Executor *e, const void *v, size_t n) { if (e->size + n > e->room) e->text = realloc(e->text, e->room = (e->size + n) * 2 + 256); memcpy(e->text + e->size, v, n); e->size += n; }
static void number(struct Executor *e, I v) { put(e, &v, 8); }
static I place(P data) { return !data ? -1 : inside(data) ? (char *)data - seen : -2; }
static void tensor(struct Executor *e, struct Thing *t) {
    put(e, "T", 1); e->tensor = realloc(e->tensor, 8 * (e->tensors + 1)); e->place = realloc(e->place, 8 * (e->tensors + 1));
    e->tensor[e->tensors] = t; e->place[e->tensors++] = e->size; number(e, place(t->data)); number(e, t->dtype); number(e, t->format); number(e, t->offset); number(e, t->n);
    put(e, t->dims, 8 * t->n); put(e, t->strides, 8 * t->n);
}
static void scalar(struct Executor *e, struct Thing *t) { put(e, "S", 1); number(e, t->dtype); put(e, t->value, 16); }
static void operand(struct Executor *e, struct Thing *t) {
    if (t->kind == TENSOR) tensor(e, t);
    else if (t->kind == SCALAR) scalar(e, t);
    else if (t->kind == TENSORS || t->kind == SCALARS) { put(e, t->kind == TENSORS ? "L" : "M", 1); number(e, t->count); for (U i = 0; i < t->count; i++) operand(e, ((P *)t->list)[i]); }
    else { static const int width[] = {8, 4, 1}; static const char letter[] = "ifb"; put(e, letter + t->kind - INTS, 1); number(e, t->count); put(e, t->list, t->count * width[t->kind - INTS]); }
}
static int readable(const void *p, char *into, size_t n) { struct iovec a = {into, n}, b = {(P)p, n}; return process_vm_readv(getpid(), &a, 1, &b, 1, 0) > 0; }
static int pointer(U w) { char c; return w > 65536 && w < (1ull << 47) && !known((P)w) && readable((P)w, &c, 1); }
struct Frame { U word[6]; double real[8]; U *stack; };
static struct Executor *executor(const char *name) { struct Executor *e = calloc(1, sizeof *e); e->name = name; number(e, strlen(name)); put(e, name, strlen(name)); return e; }
R emulated_prepare(const char *name, struct Frame *f) {
    struct Executor *e = executor(name); U *size = 0; P *out = 0;
    put(e, f->real, 64);
    for (int i = 0; i < 90; i++) {
        U w = i < 6 ? f->word[i] : f->stack[i - 6], next = i + 1 < 6 ? f->word[i + 1] : f->stack[i - 5];
        if (pointer(w) && pointer(next) && w % 8 == 0 && next % 8 == 0) { size = (U *)w; out = (P *)next; break; }
        if (known((P)w)) { put(e, "o", 1); number(e, w); operand(e, (P)w); continue; }  // the word too: of a bool on the stack only the lowest byte is written
        char line[128] = "", *end; put(e, "w", 1); number(e, w);
        if (w && pointer(w) && readable((P)w, line, 120)) { for (end = line; *end >= 32 && *end < 127; end++); if (*end) line[0] = 0; }
        number(e, strlen(line)); put(e, line, strlen(line));
    }
    put(e, "E", 1);
    if (!out) { snprintf(said, sizeof said, "%s: cannot tell its arguments", name); return 561000; }
    if (fault("prepare", name)) { snprintf(said, sizeof said, "EZ1001: %s: Tensor self not implemented for DT_X, should be in dtype support list [DT_FLOAT]. (emulated)", name); return 161002; }
    *size = 0; *out = e; return 0;
}
static int line = -1; static pthread_mutex_t talk = PTHREAD_MUTEX_INITIALIZER; static U launched;
static int whole(int fd, void *v, size_t n, int write_) { char *p = v; while (n) { ssize_t k = write_ ? write(fd, p, n) : read(fd, p, n); if (k <= 0) { if (k < 0 && errno == EINTR) continue; return 0; } p += k; n -= k; } return 1; }
static int begin(void) {
    int ends[2]; const char *python = getenv("EMULATED_CANN_PYTHON"), *script = getenv("EMULATED_CANN_DEVICE");
    if (!python || !script) { snprintf(said, sizeof said, "EMULATED_CANN_PYTHON and EMULATED_CANN_DEVICE are not set"); return 0; }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return 0;
    posix_spawn_file_actions_t a; posix_spawn_file_actions_init(&a); int low = fcntl(ends[1], F_DUPFD, 40), mem = fcntl(file, F_DUPFD, 41);
    posix_spawn_file_actions_adddup2(&a, low, 3); posix_spawn_file_actions_adddup2(&a, mem, 4);
    char text[32]; snprintf(text, sizeof text, "%llu", (unsigned long long)room);
    char *argv[] = {(char *)python, "-E", (char *)script, text, 0}, *env[64]; int n = 0;
    for (char **v = environ; *v && n < 60; v++) if (!strncmp(*v, "EMULATED_CANN_", 14) || !strncmp(*v, "PATH=", 5) || !strncmp(*v, "HOME=", 5)) env[n++] = *v;
    env[n++] = "OMP_NUM_THREADS=1"; env[n] = 0; pid_t pid;
    int bad = posix_spawn(&pid, python, &a, 0, argv, env); close(low); close(mem); close(ends[1]);
    if (bad) { snprintf(said, sizeof said, "cannot start the device: %s", strerror(bad)); return 0; }
    line = ends[0]; return 1;
}
static R perform(struct Executor *e) {
    I head, n; R status = 0; pthread_mutex_lock(&talk); launched++;
    if (line < 0 && !begin()) status = 507899;
    else {
        head = e->size; I answer[2];
        if (!whole(line, &head, 8, 1) || !whole(line, e->text, e->size, 1) || !whole(line, answer, 16, 0)) { snprintf(said, sizeof said, "the device is gone"); status = 507899; }
        else {
            status = answer[0]; n = answer[1]; char *text = malloc(n + 1); whole(line, text, n, 0); text[n] = 0;
            if (status) { snprintf(said, sizeof said, "%s", text); LOG(1, "%s", text); }
            free(text); whole(line, &n, 8, 0);
            while (n-- > 0) { I at[2], dims[12]; whole(line, at, 16, 0); whole(line, dims, 8 * at[1], 0); struct Thing *t = e->tensor[at[0]]; if (known(t)) { t->n = at[1]; memcpy(t->dims, dims, 8 * at[1]); } }
        }
    }
    pthread_mutex_unlock(&talk); LOG(2, "%s done", e->name); return status;
}
static void away(struct Executor *e) { free(e->text); free(e->tensor); free(e->place); free(e); }
static R performed(void *with, char *text) { lag(); R r = perform(with); if (r) snprintf(text, 512, "%s", said); away(with); return r; }
static R perform_later(struct Executor *e, P stream) {  // a copy: a repeatable executor gets other addresses before this one has run
    struct Executor *twin = calloc(1, sizeof *twin); *twin = *e; twin->text = malloc(e->size + 1); memcpy(twin->text, e->text, e->size); twin->place = 0; twin->name = "a job";
    twin->tensor = malloc(8 * e->tensors + 8); memcpy(twin->tensor, e->tensor, 8 * e->tensors); struct Stream *s = stream_of(stream); later(stream, performed, twin);
    if (s->failed) snprintf(said, sizeof said, "%s", s->text); return s->failed;
}
R emulated_launch(P space, U n, struct Executor *e, P stream) {
    if (!e) { snprintf(said, sizeof said, "no executor"); return 161001; }
    R r = lags() ? 0 : after(stream);
    if (!r && fault("launch", e->name)) { snprintf(said, sizeof said, "EZ9999: Inner Error! %s: kernel launch failed, runtime result = 507018. (emulated)", e->name); r = 507018; }
    else if (!r && fault("late", e->name)) {
        struct Stream *s = stream_of(stream); pthread_mutex_lock(&s->lock); s->failed = 507035;
        snprintf(s->text, sizeof s->text, "EZ9999: Inner Error! There is an exception of aivec error, error code = 0x800000, %s. (emulated)", e->name); pthread_mutex_unlock(&s->lock);
    } else if (!r) r = lags() ? perform_later(e, stream) : perform(e);
    if (!e->repeat) away(e);
    return r;
}
R aclSetAclOpExecutorRepeatable(struct Executor *e) { e->repeat = 1; return 0; }
R aclDestroyAclOpExecutor(struct Executor *e) { if (e) away(e); return 0; }
R aclSetTensorAddr(struct Executor *e, size_t i, P t, P data) {
    if (known(t)) ((struct Thing *)t)->data = data; I at = place(data); int hit = 0;
    for (int k = 0; k < e->tensors; k++) if (e->tensor[k] == t) { memcpy(e->text + e->place[k], &at, 8); hit = 1; }
    if (!hit && i < (size_t)e->tensors) memcpy(e->text + e->place[i], &at, 8); return 0;
}
R aclSetInputTensorAddr(struct Executor *e, size_t i, P t, P d) { return aclSetTensorAddr(e, i, t, d); }
R aclSetOutputTensorAddr(struct Executor *e, size_t i, P t, P d) { return aclSetTensorAddr(e, i, t, d); }
R aclSetDynamicTensorAddr(struct Executor *e, size_t i, size_t k, P list, P d) { struct Thing *t = list; return known(t) && k < t->count ? aclSetTensorAddr(e, ~0ull, ((P *)t->list)[k], d) : 161002; }

P aclrtAllocatorCreateDesc(void) { return calloc(1, 64); }
R aclrtAllocatorDestroyDesc(P d) { free(d); return 0; }

// ---- the older interface, by an operator's name, with descriptions and buffers
struct Buffer { P data; U size; };
P aclCreateDataBuffer(P d, size_t n) { struct Buffer *b = malloc(sizeof *b); b->data = d; b->size = n; return b; }
R aclDestroyDataBuffer(P b) { free(b); return 0; }
P aclGetDataBufferAddr(struct Buffer *b) { return b->data; }
R aclUpdateDataBuffer(struct Buffer *b, P d, size_t n) { b->data = d; b->size = n; return 0; }
P aclCreateTensorDesc(int dtype, int n, const I *dims, int format) { return aclCreateTensor(dims, n, dtype, 0, 0, format, 0, 0, 0); }
R aclDestroyTensorDesc(P d) { return drop(d); }
R aclSetTensorConst(struct Thing *t, P data, size_t n) { t->list = malloc(n + 1); memcpy(t->list, data, n); t->count = n; t->kind = TENSOR; return 0; }
size_t aclGetTensorDescNumDims(struct Thing *t) { return t->n; }
R aclGetTensorDescDimV2(struct Thing *t, size_t i, I *v) { *v = t->dims[i]; return 0; }
P aclopCreateAttr(void) { return executor(""); }
R aclopDestroyAttr(struct Executor *e) { away(e); return 0; }
static void named(struct Executor *a, const char *name, char letter) { put(a, &letter, 1); number(a, strlen(name)); put(a, name, strlen(name)); a->tensors++; }
R aclopSetAttrBool(P a, const char *n, uint8_t v) { named(a, n, 'i'); number(a, 1); number(a, v); return 0; }
R aclopSetAttrInt(P a, const char *n, I v) { named(a, n, 'i'); number(a, 1); number(a, v); return 0; }
R aclopSetAttrDataType(P a, const char *n, int v) { named(a, n, 'i'); number(a, 1); number(a, v); return 0; }
R aclopSetAttrFloat(P a, const char *n, float v) { named(a, n, 'f'); number(a, 1); put(a, &v, 4); return 0; }
R aclopSetAttrString(P a, const char *n, const char *v) { named(a, n, 's'); number(a, strlen(v)); put(a, v, strlen(v)); return 0; }
R aclopSetAttrListInt(P a, const char *n, int c, const I *v) { named(a, n, 'I'); number(a, c); put(a, v, 8 * c); return 0; }
R aclopSetAttrListFloat(P a, const char *n, int c, const float *v) { named(a, n, 'F'); number(a, c); put(a, v, 4 * c); return 0; }
R aclopSetAttrListBool(P a, const char *n, int c, const uint8_t *v) { named(a, n, 'B'); number(a, c); put(a, v, c); return 0; }
R aclopCompileAndExecuteV2(const char *type, int n, P in[], P inb[], int m, P out[], P outb[], struct Executor *attr, int engine, int flag, const char *path, P stream) {
    char name[256]; snprintf(name, sizeof name, "aclop:%s", type); struct Executor *e = executor(name); double none[8] = {0}; put(e, none, 64);
    put(e, "O", 1); number(e, n); number(e, m);
    for (int i = 0; i < n + m; i++) {
        struct Thing t = *(struct Thing *)(i < n ? in[i] : out[i - n]); struct Buffer *b = i < n ? inb[i] : outb[i - n]; t.data = b ? b->data : 0;
        int here = b && b->data && b->size && !inside(b->data); if (here) { t.data = 0; t.list = b->data; t.count = b->size; }  // an operand that the host keeps
        tensor(e, &t); e->tensor[e->tensors - 1] = i < n ? in[i] : out[i - n];
        number(e, t.count); if (t.count) put(e, t.list, t.count);
    }
    number(e, attr ? attr->tensors : 0); if (attr) put(e, attr->text + 8, attr->size - 8);
    put(e, "E", 1); R r = lags() ? 0 : after(stream); if (!r) r = lags() ? perform_later(e, stream) : perform(e); away(e); return r;
}
R aclopCompileAndExecute(const char *type, int n, P in[], P inb[], int m, P out[], P outb[], P attr, int engine, int flag, const char *path, P stream) { return aclopCompileAndExecuteV2(type, n, in, inb, m, out, outb, attr, engine, flag, path, stream); }

#include "hccl.c"
