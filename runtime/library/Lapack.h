// The LAPACK and BLAS routines that are used, for both precisions. Matrices are column-major; `info` as LAPACK's.
#pragma once

namespace tenc::rt::library::lapack {

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments of the macros are types.
extern "C" {
#define TENC_LAPACK(T, p)                                                                                              \
  void p##getrf_(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);                            \
  void p##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info);                                     \
  void p##geqrt3_(const int* m, const int* n, T* a, const int* lda, T* t, const int* ldt, int* info);                  \
  void p##larfb_(const char* side, const char* trans, const char* direct, const char* store, const int* m,             \
                 const int* n, const int* k, const T* v, const int* ldv, const T* t, const int* ldt, T* c,             \
                 const int* ldc, T* work, const int* ldwork);                                                          \
  void p##syevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,                 \
                 const int* lwork, int* iwork, const int* liwork, int* info);                                          \
  void p##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, \
                 const int* ldvt, T* work, const int* lwork, int* iwork, int* info);                                   \
  void p##gelsd_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, T* s,        \
                 const T* rcond, int* rank, T* work, const int* lwork, int* iwork, int* info);                         \
  void p##trsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,   \
                const T* alpha, const T* a, const int* lda, T* b, const int* ldb);                                     \
  void p##trsv_(const char* uplo, const char* trans, const char* diag, const int* n, const T* a, const int* lda, T* x, \
                const int* incx);                                                                                      \
  void p##trmm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,   \
                const T* alpha, const T* a, const int* lda, T* b, const int* ldb);                                     \
  void p##gemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const T* alpha,      \
                const T* a, const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc);
TENC_LAPACK(float, s)
TENC_LAPACK(double, d)
#undef TENC_LAPACK
}
// NOLINTEND(bugprone-macro-parentheses)

/// The routines of one precision.
template <class T>
struct Routines;
#define TENC_LAPACK(T, p)                       \
  template <>                                   \
  struct Routines<T> {                          \
    static constexpr auto getrf = &p##getrf_;   \
    static constexpr auto potrf = &p##potrf_;   \
    static constexpr auto geqrt3 = &p##geqrt3_; \
    static constexpr auto larfb = &p##larfb_;   \
    static constexpr auto syevd = &p##syevd_;   \
    static constexpr auto gesdd = &p##gesdd_;   \
    static constexpr auto gelsd = &p##gelsd_;   \
    static constexpr auto trsm = &p##trsm_;     \
    static constexpr auto trsv = &p##trsv_;     \
    static constexpr auto trmm = &p##trmm_;     \
    static constexpr auto gemm = &p##gemm_;     \
  };
TENC_LAPACK(float, s)
TENC_LAPACK(double, d)
#undef TENC_LAPACK

}  // namespace tenc::rt::library::lapack
