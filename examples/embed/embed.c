/* embed-c MODEL PICTURE: what a trained model makes of a picture, then of zeros,
 * in a program in C. */
#include <stdio.h>
#include <stdlib.h>
#include <weft/c/weft.h>

/* The whole of a file, which the caller frees; NULL if it cannot be read. */
static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* bytes = malloc(*size + 1);
  if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(file);
  return bytes;
}

/* Runs the model on zeros of its first input's type, one where any size goes. */
static weft_error* run_on_zeros(weft_model* model, weft_results** results) {
  weft_tensor input;
  weft_error* error = weft_model_input(model, 0, &input);
  if (error != NULL) return error;
  size_t size = 1;
  for (int i = 0; i < input.rank; ++i) {
    if (input.dims[i] < 0) input.dims[i] = 1;
    size *= (size_t)input.dims[i];
  }
  input.data = calloc(size, 8);
  error = weft_model_run(model, &input, 1, results);
  free(input.data);
  return error;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: embed-c MODEL PICTURE\n");
    return 2;
  }
  weft_model* model = NULL;
  weft_results* results = NULL;
  char* json = NULL;
  size_t size = 0;
  void* picture = read_file(argv[2], &size);
  weft_error* error = weft_model_open(argv[1], &model);
  if (error == NULL) {
    error = weft_model_predict(model, argv[2], picture, size, &json);
  }
  if (error == NULL) {
    printf("%s\n", json);
    error = run_on_zeros(model, &results);
  }
  weft_tensor scores;
  if (error == NULL) error = weft_results_tensor(results, 0, &scores);
  if (error == NULL) {
    printf("%s: %lld x %lld\n", weft_model_input_name(model, 0),
           (long long)scores.dims[0], (long long)scores.dims[1]);
  } else {
    fprintf(stderr, "%s\n", weft_error_text(error));
  }
  const int status = error == NULL ? 0 : 1;
  weft_error_free(error);
  weft_text_free(json);
  weft_results_free(results);
  weft_model_close(model);
  free(picture);
  return status;
}
