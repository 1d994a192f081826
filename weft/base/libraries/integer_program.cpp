#include "weft/base/libraries/integer_program.h"

#include <memory>

#include "weft/base/error.h"
#include "weft/base/libraries/shared_library.h"

namespace weft {
namespace {

// What we call of highs_c_api.h, of HiGHS 1, whose integers are int; it says so
// by Highs_getSizeofHighsInt().
struct Highs {
  void* (*create)();
  void (*destroy)(void*);
  int (*size_of_integer)(const void*);
  int (*set_bool)(void*, const char*, int);
  int (*set_double)(void*, const char*, double);
  int (*pass)(void*, int columns, int rows, int entries, int format, int sense,
              double offset, const double* value, const double* lower,
              const double* upper, const double* row_lower,
              const double* row_upper, const int* first, const int* column,
              const double* coefficient, const int* is_whole);
  int (*run)(void*);
  int (*status)(const void*);
  int (*solution)(const void*, double*, double*, double*, double*);
  int (*get_double)(const void*, const char*, double*);
};

// highs_c_api.h: kHighsMatrixFormatRowwise, kHighsObjSenseMaximize, and the
// values of kHighsModelStatus.
constexpr int kByRows = 2;
constexpr int kMaximize = -1;
constexpr int kNothingToDo = 6;
constexpr int kOptimal = 7;
constexpr int kTimeLimit = 13;

Highs load_highs() {
  const auto build = code_folder().parent_path();
  const SharedLibrary library(
      {.name = "HiGHS",
       .variable = "WEFT_HIGHS",
       .files = {(build / "highs/lib/libhighs.so").string(), "libhighs.so.1",
                 "libhighs.so"},
       .how = "tools/highs.sh brings HiGHS into build/highs; WEFT_HIGHS=FILE "
              "names another libhighs.so"});
  Highs highs{};
  library.find(highs.create, "Highs_create");
  library.find(highs.destroy, "Highs_destroy");
  library.find(highs.size_of_integer, "Highs_getSizeofHighsInt");
  library.find(highs.set_bool, "Highs_setBoolOptionValue");
  library.find(highs.set_double, "Highs_setDoubleOptionValue");
  library.find(highs.pass, "Highs_passMip");
  library.find(highs.run, "Highs_run");
  library.find(highs.status, "Highs_getModelStatus");
  library.find(highs.solution, "Highs_getSolution");
  library.find(highs.get_double, "Highs_getDoubleInfoValue");
  return highs;
}

const Highs& highs_library() {
  static const Highs highs = load_highs();
  return highs;
}

// The program as HiGHS takes it.
struct Arrays {
  explicit Arrays(const IntegerProgram& program) {
    for (const auto& column : program.columns) {
      value.push_back(column.value);
      lower.push_back(column.lower);
      upper.push_back(column.upper);
      is_whole.push_back(column.is_whole ? 1 : 0);
    }
    for (const auto& row : program.rows) {
      row_lower.push_back(row.lower);
      row_upper.push_back(row.upper);
      first.push_back(static_cast<int>(column.size()));
      for (const auto& entry : row.entries) {
        column.push_back(entry.column);
        coefficient.push_back(entry.coefficient);
      }
    }
  }

  std::vector<double> value, lower, upper, row_lower, row_upper, coefficient;
  std::vector<int> is_whole, first, column;
};

}  // namespace

IntegerSolution solve(const IntegerProgram& program,
                      const SolveLimits& limits) {
  const Highs& highs = highs_library();
  const std::unique_ptr<void, void (*)(void*)> model(highs.create(),
                                                     highs.destroy);
  WEFT_CHECK(highs.size_of_integer(model.get()) == sizeof(int));
  highs.set_bool(model.get(), "output_flag", 0);
  highs.set_double(model.get(), "time_limit", limits.seconds);
  highs.set_double(model.get(), "mip_rel_gap", limits.gap);
  const Arrays arrays(program);
  const int passed = highs.pass(
      model.get(), static_cast<int>(program.columns.size()),
      static_cast<int>(program.rows.size()),
      static_cast<int>(arrays.column.size()), kByRows, kMaximize, 0,
      arrays.value.data(), arrays.lower.data(), arrays.upper.data(),
      arrays.row_lower.data(), arrays.row_upper.data(), arrays.first.data(),
      arrays.column.data(), arrays.coefficient.data(), arrays.is_whole.data());
  WEFT_CHECK(passed >= 0, "HiGHS refused a program");
  highs.run(model.get());
  const int status = highs.status(model.get());
  if (status != kOptimal && status != kTimeLimit && status != kNothingToDo) {
    throw Error(ErrorCode::kInvalidArgument, "integer program",
                "it has no largest solution (HiGHS's model status is {})",
                status);
  }
  IntegerSolution found;
  found.is_optimal = status != kTimeLimit;
  found.x.resize(program.columns.size());
  std::vector<double> dual(found.x.size());
  std::vector<double> rows(program.rows.size());
  std::vector<double> row_dual(rows.size());
  highs.solution(model.get(), found.x.data(), dual.data(), rows.data(),
                 row_dual.data());
  highs.get_double(model.get(), "objective_function_value", &found.value);
  highs.get_double(model.get(), "mip_dual_bound", &found.bound);
  if (!found.is_optimal && !(found.value > -1e300 && found.value < 1e300)) {
    throw Error(ErrorCode::kExhausted, "integer program",
                "nothing was found in {} s", limits.seconds);
  }
  return found;
}

}  // namespace weft
