// The LAPACK and BLAS routines that are used, for both precisions. Matrices are column-major; `info` as LAPACK's.
#pragma once

namespace tenc::rt::library::lapack {

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments of the macros are types.
extern "C" {
#define TENC_LAPACK(T, p)                                                                                              \
  void p##getrf_(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);                            \
  void p##getrs_(const char* trans, const int* n, const int* nrhs, const T* a, const int* lda, const int* pivots,      \
                 T* b, const int* ldb, int* info);                                                                     \
  void p##getri_(const int* n, T* a, const int* lda, const int* pivots, T* work, const int* lwork, int* info);         \
  void p##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info);                                     \
  void p##gelqf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);      \
  void p##orglq_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,                \
                 const int* lwork, int* info);                                                                         \
  void p##syevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,                 \
                 const int* lwork, int* iwork, const int* liwork, int* info);                                          \
  void p##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, \
                 const int* ldvt, T* work, const int* lwork, int* iwork, int* info);                                   \
  void p##gelsd_(const int* m, const int* n, const int* nrhs, T* a, const int* lda, T* b, const int* ldb, T* s,        \
                 const T* rcond, int* rank, T* work, const int* lwork, int* iwork, int* info);                         \
  void p##trsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,   \
                const T* alpha, const T* a, const int* lda, T* b, const int* ldb);
TENC_LAPACK(float, s)
TENC_LAPACK(double, d)
#undef TENC_LAPACK
}
// NOLINTEND(bugprone-macro-parentheses)

/// The routines of one precision.
template <class T>
struct Routines;
#define TENC_LAPACK(T, p)                     \
  template <>                                 \
  struct Routines<T> {                        \
    static constexpr auto getrf = &p##getrf_; \
    static constexpr auto getrs = &p##getrs_; \
    static constexpr auto getri = &p##getri_; \
    static constexpr auto potrf = &p##potrf_; \
    static constexpr auto gelqf = &p##gelqf_; \
    static constexpr auto orglq = &p##orglq_; \
    static constexpr auto syevd = &p##syevd_; \
    static constexpr auto gesdd = &p##gesdd_; \
    static constexpr auto gelsd = &p##gelsd_; \
    static constexpr auto trsm = &p##trsm_;   \
  };
TENC_LAPACK(float, s)
TENC_LAPACK(double, d)
#undef TENC_LAPACK

}  // namespace tenc::rt::library::lapack
