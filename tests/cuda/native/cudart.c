// A CUDA runtime on the memory of this machine: memory, copies, streams and events at once; kernels compute nothing.
#include <stdlib.h>
#include <string.h>
typedef int R; typedef size_t Z; typedef void *P;
struct Prop { char name[256], uuid[16], luid[8]; unsigned mask; Z total, shared; int regs, warp; Z pitch; int threads, dim[3], grid[3], clock; Z cmem; int major, minor; Z t1, t2; int overlap, mp; };
R cudaGetDeviceCount(int *c) { const char *s = getenv("EMULATED_CUDA_DEVICES"); *c = s ? atoi(s) : 1; return *c ? 0 : 100; }
R cudaSetDevice(int d) { return d ? 101 : 0; }
R cudaGetDevice(int *d) { *d = 0; return 0; }
R cudaGetDeviceProperties(struct Prop *p, int d) { memset(p, 0, sizeof *p); strcpy(p->name, "emulated"); p->total = (Z)1 << 30; p->shared = 49152; p->regs = 65536; p->warp = 32; p->threads = 1024; p->dim[0] = p->dim[1] = 1024; p->dim[2] = 64; p->grid[0] = 2147483647; p->grid[1] = p->grid[2] = 65535; p->major = 9; p->mp = 132; return 0; }
R cudaMemGetInfo(Z *f, Z *t) { *f = *t = (Z)1 << 30; return 0; }
R cudaMalloc(P *p, Z n) { *p = calloc(1, n ? n : 1); return *p ? 0 : 2; }
R cudaFree(P p) { free(p); return 0; }
R cudaHostAlloc(P *p, Z n, unsigned f) { *p = malloc(n); return 0; }
R cudaFreeHost(P p) { free(p); return 0; }
R cudaHostRegister(P p, Z n, unsigned f) { return 0; }
R cudaHostUnregister(P p) { return 0; }
static Z sent;
Z emulated_cuda_sent(void) { Z n = sent; sent = 0; return n; } // bytes from host to device since the last call
R cudaMemcpy(P d, const void *s, Z n, int k) { if (k == 1) sent += n; if (n) memmove(d, s, n); return 0; }
R cudaMemcpyAsync(P d, const void *s, Z n, int k, P st) { return cudaMemcpy(d, s, n, k); }
R cudaMemset(P d, int v, Z n) { memset(d, v, n); return 0; }
R cudaMemsetAsync(P d, int v, Z n, P s) { memset(d, v, n); return 0; }
R cudaStreamCreate(P *s) { *s = malloc(8); return 0; }
R cudaStreamCreateWithFlags(P *s, unsigned f) { *s = malloc(8); return 0; }
R cudaStreamCreateWithPriority(P *s, unsigned f, int p) { *s = malloc(8); return 0; }
R cudaStreamDestroy(P s) { return 0; }
R cudaStreamQuery(P s) { return 0; }
R cudaStreamSynchronize(P s) { return 0; }
R cudaStreamWaitEvent(P s, P e, unsigned f) { return 0; }
R cudaEventCreate(P *e) { *e = malloc(8); return 0; }
R cudaEventCreateWithFlags(P *e, unsigned f) { *e = malloc(8); return 0; }
R cudaEventDestroy(P e) { return 0; }
R cudaEventQuery(P e) { return 0; }
R cudaEventRecord(P e, P s) { return 0; }
R cudaEventSynchronize(P e) { return 0; }
R cudaEventElapsedTime(float *f, P a, P b) { *f = 0.5f; return 0; }
R cudaDeviceSynchronize(void) { return 0; }
R cudaGetLastError(void) { return 0; }
R cudaPeekAtLastError(void) { return 0; }
const char *cudaGetErrorName(R e) { return "cudaEmulated"; }
const char *cudaGetErrorString(R e) { return "emulated"; }
R cudaRuntimeGetVersion(int *v) { *v = 11080; return 0; }
R cudaDriverGetVersion(int *v) { *v = 13000; return 0; }
