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

#include <cstddef>
#include <lapack.h>

// These are LAPACK's, and not in its header.
extern "C" {
void slaed1_(const lapack_int* n, float* values, float* vectors,
             const lapack_int* stride, lapack_int* order, const float* beside,
             const lapack_int* first, float* work, lapack_int* integers,
             lapack_int* info);
void dlaed1_(const lapack_int* n, double* values, double* vectors,
             const lapack_int* stride, lapack_int* order, const double* beside,
             const lapack_int* first, double* work, lapack_int* integers,
             lapack_int* info);
}

namespace weft::lapack {

// An [m, n], m >= n, becomes R above its diagonal, and below it reflections in
// blocks of `block` <= n. Each block is I - V T Vᵀ, with its T [block, block]
// in `t`. `work` has block n numbers.
inline lapack_int geqrt(lapack_int m, lapack_int n, lapack_int block, float* a,
                        float* t, float* work) {
  lapack_int info = 0;
  LAPACK_sgeqrt(&m, &n, &block, a, &m, t, &block, work, &info);
  return info;
}
inline lapack_int geqrt(lapack_int m, lapack_int n, lapack_int block, double* a,
                        double* t, double* work) {
  lapack_int info = 0;
  LAPACK_dgeqrt(&m, &n, &block, a, &m, t, &block, work, &info);
  return info;
}

// c [m, n] (I - V T Vᵀ)ᵀ, where `v` [block, n] has the vectors as its rows, of
// which what is left of the diagonal is not read. `stride` is that of v and c,
// and `work` has m block numbers.
inline void multiply_by_transposed_block(lapack_int m, lapack_int n,
                                         lapack_int block, const float* v,
                                         const float* t, lapack_int t_stride,
                                         float* c, lapack_int stride,
                                         float* work) {
  const char right = 'R', transposed = 'T', forward = 'F', by_rows = 'R';
  LAPACK_slarfb(&right, &transposed, &forward, &by_rows, &m, &n, &block, v,
                &stride, t, &t_stride, c, &stride, work, &m);
}
inline void multiply_by_transposed_block(lapack_int m, lapack_int n,
                                         lapack_int block, const double* v,
                                         const double* t, lapack_int t_stride,
                                         double* c, lapack_int stride,
                                         double* work) {
  const char right = 'R', transposed = 'T', forward = 'F', by_rows = 'R';
  LAPACK_dlarfb(&right, &transposed, &forward, &by_rows, &m, &n, &block, v,
                &stride, t, &t_stride, c, &stride, work, &m);
}

// Eigenvalues of a symmetric tridiagonal [n, n], of whose diagonals nothing
// else is left, and its vectors as columns, `stride` numbers apart.
inline lapack_int stedc(lapack_int n, float* diagonal, float* beside,
                        float* vectors, lapack_int stride, float* work,
                        lapack_int work_size, lapack_int* integers,
                        lapack_int integer_size) {
  const char of_tridiagonal = 'I';
  lapack_int info = 0;
  LAPACK_sstedc(&of_tridiagonal, &n, diagonal, beside, vectors, &stride, work,
                &work_size, integers, &integer_size, &info);
  return info;
}
inline lapack_int stedc(lapack_int n, double* diagonal, double* beside,
                        double* vectors, lapack_int stride, double* work,
                        lapack_int work_size, lapack_int* integers,
                        lapack_int integer_size) {
  const char of_tridiagonal = 'I';
  lapack_int info = 0;
  LAPACK_dstedc(&of_tridiagonal, &n, diagonal, beside, vectors, &stride, work,
                &work_size, integers, &integer_size, &info);
  return info;
}

// Eigenvalues and vectors [n, n] of two blocks on a diagonal, the first of
// `first` rows, become those of the blocks with `beside` between them, by which
// the four numbers where they meet are larger. `order` has the numbers of each
// block's values from the least on, and then those of all; all begin with 1.
// `work` has 4 n + n² numbers, and `integers` 4 n.
inline lapack_int merge_blocks(lapack_int n, lapack_int first, float* values,
                               float* vectors, lapack_int* order, float beside,
                               float* work, lapack_int* integers) {
  lapack_int info = 0;
  slaed1_(&n, values, vectors, &n, order, &beside, &first, work, integers,
          &info);
  return info;
}
inline lapack_int merge_blocks(lapack_int n, lapack_int first, double* values,
                               double* vectors, lapack_int* order,
                               double beside, double* work,
                               lapack_int* integers) {
  lapack_int info = 0;
  dlaed1_(&n, values, vectors, &n, order, &beside, &first, work, integers,
          &info);
  return info;
}

// Reflections that make a matrix tridiagonal (sytrd, 'U') become I - V T Vᵀ for
// `block` of them, the first of all or what follows another block. `v` [rows,
// block] has the vectors, of which what is below the last 1 is not read, and t
// is [block, block].
inline void join_reflections(lapack_int rows, lapack_int block, const float* v,
                             lapack_int stride, const float* factors,
                             float* t) {
  const char backward = 'B', by_columns = 'C';
  LAPACK_slarft(&backward, &by_columns, &rows, &block, v, &stride, factors, t,
                &block);
}
inline void join_reflections(lapack_int rows, lapack_int block, const double* v,
                             lapack_int stride, const double* factors,
                             double* t) {
  const char backward = 'B', by_columns = 'C';
  LAPACK_dlarft(&backward, &by_columns, &rows, &block, v, &stride, factors, t,
                &block);
}

// c [rows, columns] becomes (I - V T Vᵀ) c. `work` has columns block numbers.
inline void reflect(lapack_int rows, lapack_int columns, lapack_int block,
                    const float* v, lapack_int stride, const float* t, float* c,
                    lapack_int c_stride, float* work) {
  const char left = 'L', as_it_is = 'N', backward = 'B', by_columns = 'C';
  LAPACK_slarfb(&left, &as_it_is, &backward, &by_columns, &rows, &columns,
                &block, v, &stride, t, &block, c, &c_stride, work, &columns);
}
inline void reflect(lapack_int rows, lapack_int columns, lapack_int block,
                    const double* v, lapack_int stride, const double* t,
                    double* c, lapack_int c_stride, double* work) {
  const char left = 'L', as_it_is = 'N', backward = 'B', by_columns = 'C';
  LAPACK_dlarfb(&left, &as_it_is, &backward, &by_columns, &rows, &columns,
                &block, v, &stride, t, &block, c, &c_stride, work, &columns);
}

// Singular values of an [m, n] with the first min(m, n) vectors: u is [m, k]
// and vt [k, n].
inline lapack_int gesdd(lapack_int m, lapack_int n, float* a, float* values,
                        float* u, float* vt, float* work, lapack_int work_size,
                        lapack_int* integers) {
  const char thin = 'S';
  const lapack_int k = m < n ? m : n;
  lapack_int info = 0;
  LAPACK_sgesdd(&thin, &m, &n, a, &m, values, u, &m, vt, &k, work, &work_size,
                integers, &info);
  return info;
}
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
