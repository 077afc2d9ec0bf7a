// Descriptors of cuDNN: they know the bytes of a tensor, by which MindSpore allocates memory. Everything else returns 0.
#include <stdlib.h>
typedef size_t Z;
struct D { Z bytes; };
static Z width(int t) { static const Z w[] = {4, 8, 2, 1, 4, 4, 1, 4, 32, 2, 8, 1, 1, 1}; return t >= 0 && t < 14 ? w[t] : 4; }
int cudnnCreateTensorDescriptor(struct D **d) { *d = calloc(1, sizeof **d); return 0; }
int cudnnSetTensor4dDescriptor(struct D *d, int f, int t, int n, int c, int h, int w) { d->bytes = width(t) * n * c * h * w; return 0; }
int cudnnSetTensorNdDescriptor(struct D *d, int t, int n, const int *a, const int *s) { Z last = 1; for (int i = 0; i < n; i++) last += (Z)(a[i] - 1) * s[i]; d->bytes = width(t) * last; return 0; }
int cudnnSetTensorNdDescriptorEx(struct D *d, int f, int t, int n, const int *a) { Z all = 1; for (int i = 0; i < n; i++) all *= a[i]; d->bytes = width(t) * all; return 0; }
int cudnnGetTensorSizeInBytes(struct D *d, Z *n) { *n = d->bytes; return 0; }
int cudnnCreateFilterDescriptor(struct D **d) { *d = calloc(1, sizeof **d); return 0; }
int cudnnSetFilter4dDescriptor(struct D *d, int t, int f, int n, int c, int h, int w) { d->bytes = width(t) * n * c * h * w; return 0; }
int cudnnSetFilterNdDescriptor(struct D *d, int t, int f, int n, const int *a) { Z all = 1; for (int i = 0; i < n; i++) all *= a[i]; d->bytes = width(t) * all; return 0; }
int cudnnGetFilterSizeInBytes(struct D *d, Z *n) { *n = d->bytes; return 0; }
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int m, int o, void *a, void *x, Z *n) { *n = 1024; return 0; }
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int m, int o, void *x, void *z, void *y, void *b, void *a, Z *n) { *n = 1024; return 0; }
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int m, int o, void *x, void *y, void *dy, void *dz, void *dx, void *b, void *a, Z *n) { *n = 1024; return 0; }
int cudnnDropoutGetStatesSize(void *h, Z *n) { *n = 1024; return 0; }
static const char *text = "emulated";
const char *cudnnGetErrorString(int s) { return text; }
int cudnnGetConvolutionForwardWorkspaceSize(void *h, void *x, void *w, void *c, void *y, int a, Z *n) { *n = 1024; return 0; }
int cudnnGetConvolutionBackwardDataWorkspaceSize(void *h, void *w, void *y, void *c, void *x, int a, Z *n) { *n = 1024; return 0; }
int cudnnGetConvolutionBackwardFilterWorkspaceSize(void *h, void *x, void *y, void *c, void *w, int a, Z *n) { *n = 1024; return 0; }
int cudnnGetReductionWorkspaceSize(void *h, void *r, void *a, void *c, Z *n) { *n = 1024; return 0; }
int cudnnGetRNNWorkspaceSize(void *h, void *r, int length, void *x, Z *n) { *n = 1024; return 0; }
int cudnnGetReductionIndicesSize(void *h, void *r, void *a, void *c, Z *n) { *n = 1024; return 0; }
struct Perf { int algo, status; float time; Z memory; int determinism, math, reserved[3]; };
static int first(int *count, struct Perf *perf) { struct Perf none = {0}; *count = 1; *perf = none; return 0; }
int cudnnGetConvolutionForwardAlgorithm_v7(void *h, void *x, void *w, void *c, void *y, int most, int *count, struct Perf *perf) { return first(count, perf); }
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *h, void *w, void *y, void *c, void *x, int most, int *count, struct Perf *perf) { return first(count, perf); }
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *h, void *x, void *y, void *c, void *w, int most, int *count, struct Perf *perf) { return first(count, perf); }
int cudnnFindConvolutionForwardAlgorithm(void *h, void *x, void *w, void *c, void *y, int most, int *count, struct Perf *perf) { return first(count, perf); }
int cudnnFindConvolutionBackwardDataAlgorithm(void *h, void *w, void *y, void *c, void *x, int most, int *count, struct Perf *perf) { return first(count, perf); }
int cudnnFindConvolutionBackwardFilterAlgorithm(void *h, void *x, void *y, void *c, void *w, int most, int *count, struct Perf *perf) { return first(count, perf); }
Z cudnnGetVersion(void) { return 8907; }
