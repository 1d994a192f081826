/* Trained models in programs of any language that can call C: open, describe,
 * run, close.
 *
 *   weft_model* model = NULL;
 *   weft_error* error = weft_model_open("digits.weft", &model);
 *   if (error == NULL) {
 *     weft_tensor image = {WEFT_F32, 4, {1, 8, 8, 1}, pixels};
 *     weft_results* results = NULL;
 *     error = weft_model_run(model, &image, 1, &results);
 *     ...
 *     weft_results_free(results);
 *   }
 *   if (error != NULL) fprintf(stderr, "%s\n", weft_error_text(error));
 *   weft_error_free(error);
 *   weft_model_close(model);
 *
 * Errors are values: NULL where all went well; what a call would have made is
 * then left as it was. Every error is freed by its receiver. Texts are UTF-8
 * and end with a zero byte. What is freed may be NULL.
 *
 * Threads: a model is for one thread at a time, different models are
 * independent. All compute with the same threads (weft_set_threads). Programs
 * that wait between calls should set GOMP_SPINCOUNT=10000 in the environment
 * before they start: OpenMP's threads otherwise spin for milliseconds after
 * each.
 */
#ifndef WEFT_C_WEFT_H
#define WEFT_C_WEFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; it grows by one with each change that breaks programs. */
#define WEFT_C_VERSION 1
/* Of the library. */
int weft_c_version(void);
const char* weft_version(void);

typedef struct weft_error weft_error;

typedef enum weft_error_code {
  WEFT_INVALID_ARGUMENT = 1, /* the caller's mistake */
  WEFT_UNSUPPORTED = 2,
  WEFT_DATA_LOSS = 3,   /* a damaged file */
  WEFT_UNAVAILABLE = 4, /* a file that is not there */
  WEFT_EXHAUSTED = 5,   /* no memory, or beyond a limit */
  WEFT_OTHER = 6
} weft_error_code;

weft_error_code weft_error_code_of(const weft_error* error);
/* What is wrong, where, and what to do; it lives as long as the error. */
const char* weft_error_text(const weft_error* error);
void weft_error_free(weft_error* error);

typedef enum weft_dtype {
  WEFT_F32 = 0,
  WEFT_F64 = 1,
  WEFT_F16 = 2,
  WEFT_BF16 = 3,
  WEFT_I8 = 4,
  WEFT_U8 = 5,
  WEFT_I16 = 6,
  WEFT_I32 = 7,
  WEFT_I64 = 8,
  WEFT_BOOL = 9 /* a byte: 0 or 1 */
} weft_dtype;

#define WEFT_MAX_RANK 8

/* Elements in row-major order; images have their channels last. `data` is
 * aligned to the element, and NULL where only the type is told. */
typedef struct weft_tensor {
  weft_dtype dtype;
  int32_t rank;
  int64_t dims[WEFT_MAX_RANK];
  void* data;
} weft_tensor;

typedef struct weft_model weft_model;

/* Opens what `weft export` or Jit.export() wrote. The file stays open, and must
 * not be changed meanwhile. */
weft_error* weft_model_open(const char* path, weft_model** model);
void weft_model_close(weft_model* model);

size_t weft_model_input_count(const weft_model* model);
size_t weft_model_output_count(const weft_model* model);
/* The type of input or output `index`; a dim that may be of any size is -1. */
weft_error* weft_model_input(const weft_model* model, size_t index,
                             weft_tensor* type);
weft_error* weft_model_output(const weft_model* model, size_t index,
                              weft_tensor* type);
/* It lives as long as the model; NULL if there is no such input. */
const char* weft_model_input_name(const weft_model* model, size_t index);

/* What is known of the model's data as a line of JSON: classes, and how pixels
 * and rows become numbers. It lives as long as the model; NULL for a function
 * that says nothing of data. */
const char* weft_model_description(const weft_model* model);

typedef struct weft_results weft_results;

/* Runs the predictions. Inputs are read while it runs, and are not kept. */
weft_error* weft_model_run(weft_model* model, const weft_tensor* inputs,
                           size_t count, weft_results** results);
size_t weft_results_count(const weft_results* results);
/* Its data live as long as the results. */
weft_error* weft_results_tensor(const weft_results* results, size_t index,
                                weft_tensor* tensor);
void weft_results_free(weft_results* results);

/* What the model makes of an image, a row or a sentence, as a line of JSON that
 * is freed by weft_text_free(). `text` is the row or the sentence; or, where
 * `file` is not NULL, the name of the file of `size` bytes that is given. */
weft_error* weft_model_predict(weft_model* model, const char* text,
                               const void* file, size_t size, char** json);
void weft_text_free(char* text);

/* How many threads compute; the number of cores unless this is called, or
 * OMP_NUM_THREADS is set. At least 1. */
weft_error* weft_set_threads(int count);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_C_WEFT_H */
