// A emulated HCCL, a part of acl.c: collectives between the processes of one machine, over Unix sockets whose abstract names come from the root's information.
// Every operation is a job of its stream. Members tell each other what they are about to do first, so that operations that do not match fail with both named.
// Sums are added in the order of the ranks, rounded after each addition.
#include <poll.h>
#include <stddef.h>
#include <sys/un.h>
enum { HI8, HI16, HI32, HF16, HF32, HI64, HU64, HU8, HU16, HU32, HF64, HBF16 };
enum { SUM, PROD, MAX, MIN };
enum { OK, PARA, PTR, MEMORY, INTERNAL, NOT_SUPPORT, NOT_FOUND, UNAVAIL, SYSCALL, TIMEOUT, REMOTE = 21 };
static const char *const OPERATIONS[] = {"HcclAllReduce", "HcclBroadcast", "HcclAllGather", "HcclReduceScatter", "HcclReduce", "HcclScatter", "HcclAlltoAll", "HcclBarrier", "HcclSend/HcclRecv", "HcclBatchSendRecv"};
enum { ALL_REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, REDUCE, SCATTER, ALL_TO_ALL, BARRIER, ONE_WAY, BATCH };
static const char *const TYPES[] = {"int8", "int16", "int32", "fp16", "fp32", "int64", "uint64", "uint8", "uint16", "uint32", "fp64", "bfp16"};
static const char WIDTH[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2};
struct Comm { int rank, size, *line;  // a line to each for collectives, one for what the lower of two sends, one for what the higher sends
    char name[192]; R failed; pthread_mutex_t lock; U sub; };
struct Said { U kind, count, type, op, root, bytes; };  // what a member is about to do; `bytes` for this peer
struct Task { struct Comm *comm; struct Said what; char *in, *out; U *given, *given_at, *taken, *taken_at; int items; struct Item *item; int breaks; };
struct Item { int way; char *at; U count; int type; unsigned peer; };  // HcclSendRecvItem

// ---- many messages at once
struct Part { int peer, out; char *at; U n, gone; struct Said *expected; };
static int seconds(const char *name, int otherwise) { const char *s = getenv(name); return s && *s ? atoi(s) : otherwise; }
static R exchange(struct Comm *c, struct Part *part, int n, char *text) {
    double end = now() + 1e3 * seconds("HCCL_EXEC_TIMEOUT", 1836);
    for (int left = n; left;) {
        int lines = 3 * c->size; struct pollfd fd[lines]; struct Part *next[2][lines]; memset(next, 0, sizeof next); left = 0;
        for (int i = 0; i < n; i++) { struct Part *p = part + i; if (p->gone < p->n) { left++; if (!next[p->out][p->peer]) next[p->out][p->peer] = p; } }
        if (!left) break;
        for (int r = 0; r < lines; r++) { fd[r].fd = next[0][r] || next[1][r] ? c->line[r] : -1; fd[r].events = (next[0][r] ? POLLIN : 0) | (next[1][r] ? POLLOUT : 0); fd[r].revents = 0; }
        double rest = end - now(); int k = rest > 0 ? poll(fd, lines, rest < 1e3 ? (int)rest + 1 : 1000) : 0;
        if (rest <= 0) { for (int r = 0; r < lines; r++) if (fd[r].fd >= 0) { snprintf(text, 512, "EI0002: rank %d waited %d s (HCCL_EXEC_TIMEOUT) for rank %d in the group %s", c->rank, seconds("HCCL_EXEC_TIMEOUT", 1836), r % c->size, c->name); break; } return TIMEOUT; }
        for (int r = 0; r < lines && k > 0; r++) for (int out = 0; out < 2; out++) {
            struct Part *p = next[out][r]; if (!p || !(fd[r].revents & (out ? POLLOUT : POLLIN))) continue;
            ssize_t m = out ? send(c->line[r], p->at + p->gone, p->n - p->gone, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(c->line[r], p->at + p->gone, p->n - p->gone, MSG_DONTWAIT);
            if (m < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (m <= 0) { usleep(100000); continue; }  // the peer is gone: a device notices it by its timeout
            p->gone += m;
            if (p->gone == p->n && p->expected && memcmp(p->at, p->expected, sizeof(struct Said))) {
                struct Said *a = p->expected, *b = (struct Said *)p->at;
                snprintf(text, 512, "EI0005: the arguments of a collective differ in the group %s: rank %d has %s(count %llu, %s, op %llu, root %llu; %llu bytes from rank %d), rank %d has %s(count %llu, %s, op %llu, root %llu; %llu bytes)", c->name,
                         c->rank, OPERATIONS[a->kind], a->count, TYPES[a->type], a->op, a->root, a->bytes, r % c->size, r % c->size, b->kind < 10 ? OPERATIONS[b->kind] : "?", b->count, b->type < 12 ? TYPES[b->type] : "?", b->op, b->root, b->bytes); return PARA;
            }
        }
    }
    return OK;
}

// ---- reductions
static float of_bf16(uint16_t v) { uint32_t u = (uint32_t)v << 16; float f; memcpy(&f, &u, 4); return f; }
static uint16_t to_bf16(float f) { uint32_t u; memcpy(&u, &f, 4); if ((u & 0x7fffffff) > 0x7f800000) return u >> 16 | 64; return (u + 0x7fff + (u >> 16 & 1)) >> 16; }
#define SAME(v) (v)
#define COMBINE(T, FROM, TO) { T *x = a, *y = b; for (U i = 0; i < n; i++) { __typeof__(FROM(*x)) p = FROM(x[i]), q = FROM(y[i]); x[i] = TO(op == SUM ? p + q : op == PROD ? p * q : op == MAX ? (p > q || p != p ? p : q) : (p < q || p != p ? p : q)); } } break;
static void combine(void *a, void *b, U n, int type, int op) {
    switch (type) {
        case HI8: COMBINE(int8_t, SAME, SAME) case HI16: COMBINE(int16_t, SAME, SAME) case HI32: COMBINE(int32_t, SAME, SAME) case HI64: COMBINE(int64_t, SAME, SAME)
        case HF32: COMBINE(float, SAME, SAME) case HF16: COMBINE(_Float16, (float), (_Float16)) case HBF16: COMBINE(uint16_t, of_bf16, to_bf16)
    }
}
static int reduces(int type, int op) { return op >= SUM && op <= MIN && (type == HI8 || type == HI16 || type == HI32 || type == HI64 || type == HF16 || type == HF32 || type == HBF16) && !(op == PROD && (type == HI16 || type == HBF16)); }

// ---- an operation, when its turn has come
static R run(void *with, char *text) {
    struct Task *t = with; struct Comm *c = t->comm; int n = c->size, me = c->rank, kind = t->what.kind, root = t->what.root, parts = 0, reduced = kind == ALL_REDUCE || kind == REDUCE_SCATTER || kind == REDUCE; U w = WIDTH[t->what.type], size = t->what.count * w;
    static int delay = -1; if (delay < 0) delay = seconds("EMULATED_HCCL_DELAY_MS", 0); if (delay) usleep(delay * 1000);
    int most = 4 * n + 4 * t->items + 8; struct Part *part = calloc(most, sizeof *part); struct Said *heads = calloc(3 * n + 2 * t->items + 4, sizeof *heads), *head = heads; char ack = 1, back; R r;
    struct { U give, take; char *from, *to; } *with_ = calloc(n, sizeof *with_);  // how many bytes go to and come from each, and where
    char *out = reach(t->out), *in = reach(t->in), *space = 0;
#define MESSAGE(r_, out_, at_, n_) (part[parts++] = (struct Part){r_, out_, (char *)(at_), n_})
#define TELL(peer, sent, got) { struct Said *mine = head++, *theirs = head++, *heard = head++; *mine = *theirs = t->what; mine->bytes = sent; theirs->bytes = got; MESSAGE(peer, 1, mine, sizeof *mine); MESSAGE(peer, 0, heard, sizeof *heard); part[parts - 1].expected = theirs; }
    if (kind != ONE_WAY) pthread_mutex_lock(&c->lock);
    if (c->failed) { snprintf(text, 512, "the group %s has failed before", c->name); r = c->failed; goto end; }
    if (t->breaks) { snprintf(text, 512, "EI9999: Inner Error! %s: notify wait failed, a link of the group %s is broken. (emulated)", OPERATIONS[kind], c->name); r = 9; goto end; }
    if (kind == ONE_WAY) {
        static int eager = -1; if (eager < 0) eager = seconds("EMULATED_HCCL_EAGER", 0);
        int to = t->out == 0, line_ = n * (1 + (to ? me > root : root > me)) + root, waits = size > (U)eager; struct Said *one = head++, *heard = head++; *one = t->what; one->bytes = size; one->root = to ? root : me;
        if (to) { MESSAGE(line_, 1, one, sizeof *one); MESSAGE(line_, 1, in, size); if (waits) MESSAGE(line_, 0, &back, 1); r = exchange(c, part, parts, text); }  // until the receiver has it
        else { MESSAGE(line_, 0, heard, sizeof *heard); part[0].expected = one; MESSAGE(line_, 0, out, size); r = exchange(c, part, parts, text); if (!r && waits) { parts = 0; MESSAGE(line_, 1, &ack, 1); r = exchange(c, part, parts, text); } }
        goto end;
    }
    if (kind == BATCH) {
        for (int i = 0; i < t->items; i++) {
            struct Item *p = t->item + i; struct Said *one = head++, *heard = head++; *one = (struct Said){BATCH, p->count, p->type, 0, 0, p->count * WIDTH[p->type]};
            if (p->way == 0) { MESSAGE(p->peer, 1, one, sizeof *one); MESSAGE(p->peer, 1, reach(p->at), one->bytes); }
            else { MESSAGE(p->peer, 0, heard, sizeof *heard); part[parts - 1].expected = one; MESSAGE(p->peer, 0, reach(p->at), one->bytes); }
        }
        r = exchange(c, part, parts, text); goto end;
    }
    if (reduced) space = malloc(n * size + 1);
    for (int i = 0; i < n; i++) {
        with_[i].give = with_[i].take = size; with_[i].from = in; with_[i].to = reduced ? space + i * size : out + i * size;
        if (kind == BROADCAST) { with_[i].give = me == root ? size : 0; with_[i].take = i == root ? size : 0; with_[i].to = out; }
        if (kind == REDUCE_SCATTER) with_[i].from = in + i * size;
        if (kind == REDUCE) { with_[i].give = i == root ? size : 0; with_[i].take = me == root ? size : 0; }
        if (kind == SCATTER) { with_[i].give = me == root ? size : 0; with_[i].take = i == root ? size : 0; with_[i].from = in + i * size; with_[i].to = out; }
        if (kind == BARRIER) with_[i].give = with_[i].take = 0;
        if (kind == ALL_TO_ALL) { with_[i].give = t->given[i] * w; with_[i].take = t->taken[i] * w; with_[i].from = in + t->given_at[i] * w; with_[i].to = out + t->taken_at[i] * w; }
    }
    for (int i = 0; i < n; i++) if (i != me) TELL(i, with_[i].give, with_[i].take)
    if ((r = exchange(c, part, parts, text))) goto end;
    parts = 0;
    for (int i = 0; i < n; i++)
        if (i == me) { if (with_[me].take && with_[me].from != with_[me].to) memmove(with_[me].to, with_[me].from, with_[me].take); }
        else { if (with_[i].give) MESSAGE(i, 1, with_[i].from, with_[i].give); if (with_[i].take) MESSAGE(i, 0, with_[i].to, with_[i].take); }
    if ((r = exchange(c, part, parts, text))) goto end;
    if (reduced && (kind != REDUCE || me == root)) { for (int i = 1; i < n; i++) combine(space, space + i * size, t->what.count, t->what.type, t->what.op); memcpy(out, space, size); }
end:
    if (r) { c->failed = r; LOG(1, "%s: %s", OPERATIONS[kind], text); }
    if (kind != ONE_WAY) pthread_mutex_unlock(&c->lock); free(space); free(with_); free(part); free(heads); free(t->given); free(t->given_at); free(t->taken); free(t->taken_at); free(t->item); free(t); return r ? 507899 : 0;
}
static R refuse(R r, const char *name, const char *why) { snprintf(said, sizeof said, "%s: %s", name, why); LOG(1, "%s", said); return r; }
static R begin_(struct Comm *c, P stream, struct Task set) {
    const char *name = OPERATIONS[set.what.kind]; struct Task *t = malloc(sizeof *t); int has = set.what.kind != BARRIER && (set.what.count || set.given);
    if (!c) return refuse(PTR, name, "no group");
    if (set.what.type > HBF16) return refuse(NOT_SUPPORT, name, "dtype");
    if (set.what.root >= (U)c->size) return refuse(PARA, name, "root or peer is no rank of the group");
    if (has && set.in && !inside(set.in) || has && set.out && !inside(set.out)) return refuse(PARA, name, "a buffer lies in the memory of the host");
    if (fault("prepare", name)) return refuse(PARA, name, "EI0003: a parameter is not valid. (emulated)");
    if (fault("launch", name)) return refuse(9, name, "EI9999: Inner Error! the communication task could not be launched. (emulated)");
    set.breaks = fault("late", name);
    LOG(2, "%s count %llu %s op %llu root %llu stream %p", name, set.what.count, TYPES[set.what.type], set.what.op, set.what.root, stream);
    *t = set; t->comm = c; later(stream, run, t); return OK;
}
static R begin_reduction(struct Comm *c, P stream, struct Task set) {
    if (!reduces(set.what.type, set.what.op)) { char why[64]; snprintf(why, sizeof why, "reduction %llu of %s", set.what.op, set.what.type <= HBF16 ? TYPES[set.what.type] : "?"); return refuse(NOT_SUPPORT, OPERATIONS[set.what.kind], why); }
    return begin_(c, stream, set);
}
static U *copied(const void *v, int n) { U *w = malloc(8 * n); memcpy(w, v, 8 * n); return w; }
static U *steps(U size, int n) { U *w = malloc(8 * n); for (int i = 0; i < n; i++) w[i] = i * size; return w; }
static U *equal(U size, int n) { U *w = malloc(8 * n); for (int i = 0; i < n; i++) w[i] = size; return w; }
R HcclAllReduce(P in, P out, U n, int type, int op, P c, P s) { return begin_reduction(c, s, (struct Task){.what = {ALL_REDUCE, n, type, op}, .in = in, .out = out}); }
R HcclReduceScatter(P in, P out, U n, int type, int op, P c, P s) { return begin_reduction(c, s, (struct Task){.what = {REDUCE_SCATTER, n, type, op}, .in = in, .out = out}); }
R HcclReduce(P in, P out, U n, int type, int op, unsigned root, P c, P s) { return begin_reduction(c, s, (struct Task){.what = {REDUCE, n, type, op, root}, .in = in, .out = out}); }
R HcclBroadcast(P at, U n, int type, unsigned root, P c, P s) { return begin_(c, s, (struct Task){.what = {BROADCAST, n, type, 0, root}, .in = at, .out = at}); }
R HcclAllGather(P in, P out, U n, int type, P c, P s) { return begin_(c, s, (struct Task){.what = {ALL_GATHER, n, type}, .in = in, .out = out}); }
R HcclScatter(P in, P out, U n, int type, unsigned root, P c, P s) { return begin_(c, s, (struct Task){.what = {SCATTER, n, type, 0, root}, .in = in, .out = out}); }
R HcclAlltoAllV(P in, const void *given, const void *given_at, int type, P out, const void *taken, const void *taken_at, int type2, struct Comm *c, P s) {
    if (type != type2) return refuse(NOT_SUPPORT, "HcclAlltoAllV", "two dtypes");
    return begin_(c, s, (struct Task){.what = {ALL_TO_ALL, 0, type}, .in = in, .out = out, .given = copied(given, c->size), .given_at = copied(given_at, c->size), .taken = copied(taken, c->size), .taken_at = copied(taken_at, c->size)});
}
R HcclAlltoAll(P in, U n, int type, P out, U m, int type2, struct Comm *c, P s) {
    if (type != type2) return refuse(NOT_SUPPORT, "HcclAlltoAll", "two dtypes");
    return begin_(c, s, (struct Task){.what = {ALL_TO_ALL, 0, type}, .in = in, .out = out, .given = equal(n, c->size), .given_at = steps(n, c->size), .taken = equal(m, c->size), .taken_at = steps(m, c->size)});
}
// lengths that differ: an exchange of all with all, in which each gives the same to all
R HcclAllGatherV(P in, U n, P out, const void *taken, const void *taken_at, int type, struct Comm *c, P s) {
    return begin_(c, s, (struct Task){.what = {ALL_TO_ALL, 0, type}, .in = in, .out = out, .given = equal(n, c->size), .given_at = steps(0, c->size), .taken = copied(taken, c->size), .taken_at = copied(taken_at, c->size)});
}
R HcclReduceScatterV(P in, const void *n, const void *at, P out, U m, int type, int op, P c, P s) { return refuse(NOT_SUPPORT, "HcclReduceScatterV", "not emulated"); }
R HcclAlltoAllVC(P in, const void *n, int type, P out, int type2, P c, P s) { return refuse(NOT_SUPPORT, "HcclAlltoAllVC", "not emulated"); }
R HcclSend(P at, U n, int type, unsigned to, struct Comm *c, P s) { return c && to == c->rank ? refuse(PARA, "HcclSend", "to itself") : begin_(c, s, (struct Task){.what = {ONE_WAY, n, type, 0, to}, .in = at}); }
R HcclRecv(P at, U n, int type, unsigned from, struct Comm *c, P s) { return c && from == c->rank ? refuse(PARA, "HcclRecv", "from itself") : begin_(c, s, (struct Task){.what = {ONE_WAY, n, type, 0, from}, .out = at}); }
R HcclBatchSendRecv(struct Item *item, unsigned n, struct Comm *c, P s) {
    for (unsigned i = 0; i < n; i++) if (item[i].type > HBF16 || item[i].peer >= c->size || item[i].peer == c->rank || item[i].count && !inside(item[i].at)) return refuse(PARA, "HcclBatchSendRecv", "dtype, peer or buffer");
    struct Item *own = malloc(n * sizeof *own); memcpy(own, item, n * sizeof *own); return begin_(c, s, (struct Task){.what = {BATCH}, .items = n, .item = own});
}
R HcclBarrier(P c, P s) { return begin_(c, s, (struct Task){.what = {BARRIER}}); }

// ---- groups
static int address(struct sockaddr_un *a, const char *name, int rank) { memset(a, 0, sizeof *a); a->sun_family = AF_UNIX; int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "%s/%d", name, rank); return offsetof(struct sockaddr_un, sun_path) + 1 + n; }
static const char LATE[] = "EI0006: a rank did not come within HCCL_CONNECT_TIMEOUT", SAME_DEVICE[] = "EI0014: two ranks of one machine have the same device";
static R join(const char *name, int rank, int size, P *made) {
    struct Comm *c = calloc(1, sizeof *c); struct sockaddr_un a; c->rank = rank; c->size = size; c->line = malloc(12 * size); snprintf(c->name, sizeof c->name, "%s", name); pthread_mutex_init(&c->lock, 0);
    int end = seconds("HCCL_CONNECT_TIMEOUT", 120), listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), n = address(&a, name, rank); double until_ = now() + 1e3 * end;
    if (bind(listener, (void *)&a, n) || listen(listener, 3 * size)) return refuse(SYSCALL, "HcclCommInit", strerror(errno));
    struct { int rank, size, device, line; } mine = {rank, size, device}, other; struct timeval patience = {end, 0};
    for (int i = 0; i < 3 * size; i++) c->line[i] = -1;
    for (int i = 0; i < 3 * rank; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); n = address(&a, name, i % rank);
        while (connect(fd, (void *)&a, n)) { if (now() > until_) return refuse(TIMEOUT, "HcclCommInit", LATE); usleep(20000); }
        c->line[i / rank * size + i % rank] = fd; mine.line = i / rank; setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (!whole(fd, &mine, sizeof mine, 1)) return refuse(REMOTE, "HcclCommInit", "a rank is gone");
    }
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (int i = 0; i < 3 * (size - 1 - rank); i++) {
        int fd = accept4(listener, 0, 0, SOCK_CLOEXEC); if (fd < 0) return refuse(TIMEOUT, "HcclCommInit", LATE);
        if (!whole(fd, &other, sizeof other, 0) || !whole(fd, &mine, sizeof mine, 1)) return refuse(REMOTE, "HcclCommInit", "a rank is gone");
        if (other.size != size) return refuse(PARA, "HcclCommInit", "the ranks name different sizes");
        if (other.device == device) return refuse(PARA, "HcclCommInit", SAME_DEVICE);
        c->line[other.line * size + other.rank] = fd;
    }
    for (int i = 0; i < 3 * rank; i++) {
        if (!whole(c->line[i / rank * size + i % rank], &other, sizeof other, 0)) return refuse(REMOTE, "HcclCommInit", "a rank is gone");
        if (other.device == device) return refuse(PARA, "HcclCommInit", SAME_DEVICE);
    }
    close(listener); LOG(1, "rank %d of %d in the group %s, device %d", rank, size, name, device); *made = c; return OK;
}
R HcclGetRootInfo(char *info) { static int made; struct timespec t; clock_gettime(CLOCK_REALTIME, &t); memset(info, 0, 4108); snprintf(info, 64, "hccl%d.%d.%ld", getpid(), made++, t.tv_nsec); return OK; }
R HcclCommInitRootInfo(unsigned size, const char *info, unsigned rank, P *made) { return join(info, rank, size, made); }
R HcclCommInitRootInfoConfig(unsigned size, const char *info, unsigned rank, const char *config, P *made) { return join(info, rank, size, made); }
R HcclCreateSubCommConfig(struct Comm **whole_, unsigned size, unsigned *ranks, U id, unsigned rank, P config, P *made) { char name[192]; snprintf(name, sizeof name, "%.60s+%llu", (*whole_)->name, (unsigned long long)id); return join(name, rank, size, made); }
R HcclCommInitClusterInfo(const char *file_, unsigned rank, P *made) { return refuse(NOT_SUPPORT, "HcclCommInitClusterInfo", "rank tables are not emulated"); }
R HcclCommInitClusterInfoConfig(const char *file_, unsigned rank, P config, P *made) { return HcclCommInitClusterInfo(file_, rank, made); }
R HcclCommDestroy(struct Comm *c) { everywhere(1000); for (int i = 0; i < 3 * c->size; i++) if (c->line[i] >= 0) close(c->line[i]); return OK; }
R HcclGetRankId(struct Comm *c, unsigned *v) { *v = c->rank; return OK; }
R HcclGetRankSize(struct Comm *c, unsigned *v) { *v = c->size; return OK; }
R HcclGetCommName(struct Comm *c, char *v) { snprintf(v, 128, "%s", c->name); return OK; }
R HcclGetCommAsyncError(struct Comm *c, R *v) { *v = c->failed; return OK; }
R HcclGetCommConfigCapability(void) { return 3; }
const char *HcclGetErrorString(R r) { static const char *const t[] = {"no error", "parameter error", "empty pointer", "memory error", "internal error", "not support feature", "not found specific resource", "resource unavailable", "call system interface error", "timeout"}; return r >= 0 && r < 10 ? t[r] : r == REMOTE ? "remote error" : "unknown"; }
