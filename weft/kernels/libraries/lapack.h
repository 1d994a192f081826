// The routines of LAPACK that factors are made by, with arguments by value. All
// matrices lie by columns, and a routine returns LAPACK's `info`: 0 if all went
// well. A `work_size` of -1 asks for the best size of its memory, in the first
// number of `work`.
//
// They are called as Fortran has them, which OpenBLAS brings along: LAPACK's
// interface for C is a library of its own and links LAPACK a second time.
//
// Source: Anderson et al., "LAPACK Users' Guide" (1999).
//
// Threads: safe from any.
#pragma once

#include <lapack.h>

namespace weft::lapack {

// The triangle `half` ('U' or 'L') of an [n, n] becomes its Cholesky factor.
inline lapack_int potrf(char half, lapack_int n, float* a) {
  lapack_int info = 0;
  LAPACK_spotrf(&half, &n, a, &n, &info);
  return info;
}
inline lapack_int potrf(char half, lapack_int n, double* a) {
  lapack_int info = 0;
  LAPACK_dpotrf(&half, &n, a, &n, &info);
  return info;
}

// An [m, n] becomes R above its diagonal, and below it the reflections whose
// factors are in `tau`; orgqr makes Q of these.
inline lapack_int geqrf(lapack_int m, lapack_int n, double* a, double* tau,
                        double* work, lapack_int work_size) {
  lapack_int info = 0;
  LAPACK_dgeqrf(&m, &n, a, &m, tau, work, &work_size, &info);
  return info;
}
inline lapack_int orgqr(lapack_int m, lapack_int n, double* a,
                        const double* tau, double* work, lapack_int work_size) {
  lapack_int info = 0;
  LAPACK_dorgqr(&m, &n, &n, a, &m, tau, work, &work_size, &info);
  return info;
}

// Eigenvalues of a symmetric [n, n], whose lower triangle is read, and its
// vectors in its place.
inline lapack_int syevd(lapack_int n, double* a, double* values, double* work,
                        lapack_int work_size, lapack_int* integers,
                        lapack_int integer_size) {
  const char with_vectors = 'V', half = 'L';
  lapack_int info = 0;
  LAPACK_dsyevd(&with_vectors, &half, &n, a, &n, values, work, &work_size,
                integers, &integer_size, &info);
  return info;
}

// Singular values of an [m, n] with the first min(m, n) vectors: u is [m, k]
// and vt [k, n].
inline lapack_int gesdd(lapack_int m, lapack_int n, double* a, double* values,
                        double* u, double* vt, double* work,
                        lapack_int work_size, lapack_int* integers) {
  const char thin = 'S';
  const lapack_int k = m < n ? m : n;
  lapack_int info = 0;
  LAPACK_dgesdd(&thin, &m, &n, a, &m, values, u, &m, vt, &k, work, &work_size,
                integers, &info);
  return info;
}

}  // namespace weft::lapack
