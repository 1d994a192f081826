#include "weft/runtime/jit/jit_function.h"

#include <algorithm>

#include "weft/graph/surroundings.h"
#include "weft/ops/control.h"
#include "weft/place/device.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// One trace at a time: two functions that trace each other on two threads
// would wait for each other otherwise.
std::recursive_mutex& trace_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Deeper than any recursion over numbers of the host that is meant.
constexpr std::size_t kMostOpen = 256;
// It takes so many at most until a function that calls itself captures nothing
// new.
constexpr int kMostPasses = 4;

// What a graph depends on beside arguments and modes.
std::int64_t surroundings() {
  // A precision is a dtype, which fits in a byte.
  return static_cast<std::int64_t>(current_device() << 16) |
         static_cast<std::int64_t>(RecurrentWeightsScope::current()) << 8 |
         static_cast<std::int64_t>(PrecisionScope::current());
}

std::string unique_name(const std::string& stem) {
  // Functions of several traces may come together in one program, where names
  // are unique.
  static std::atomic<std::int64_t> next{1};
  return fmt::format("{}.{}", stem, next.fetch_add(1));
}

void print_warning(const std::string& text) {
  fmt::print(stderr, "weft: {}\n", text);
}

std::vector<TensorType> tensor_types(const ArgumentKey& key) {
  std::vector<TensorType> types;
  for (const ArgumentLeaf& leaf : leaves_of(key)) {
    if (leaf.kind != ArgumentKey::kTensor) continue;
    const std::int64_t* word = key.words.data() + leaf.begin;
    const std::span dims(word + 2, static_cast<std::size_t>(word[1]));
    types.push_back({static_cast<DType>(word[0]), Shape(dims)});
  }
  return types;
}

std::vector<Value> values_of(const Arguments& arguments) {
  std::vector<Value> values;
  values.reserve(arguments.tensors().size());
  for (const Value* tensor : arguments.tensors()) values.push_back(*tensor);
  return values;
}

}  // namespace

// What one run of the callable gave.
struct JitFunction::Pass {
  // It has a function if it stands alone.
  Traced traced = {};
  // Else, if it calls one around it that is being traced: what it adds to that
  // one's program, itself last.
  std::vector<Function> part = {};
  std::vector<Hidden> hidden = {};
  Dependencies dependencies = {};
  bool has_created_variables = false;

  // False if it found other hidden arguments than were expected.
  bool is_complete() const {
    return traced.function != nullptr || !part.empty();
  }
};

// While it lives, calls of the function are calls of this trace.
class JitFunction::OpenScope {
 public:
  OpenScope(JitFunction& function, Open& open) : own_(function.open_) {
    own_.push_back(&open);
    all().push_back(&open);
  }
  ~OpenScope() {
    own_.pop_back();
    all().pop_back();
  }
  OpenScope(const OpenScope&) = delete;
  OpenScope& operator=(const OpenScope&) = delete;

  // Those inside of `open` call it.
  static void mark_inside(const Open& open) {
    for (auto inner = all().rbegin(); *inner != &open; ++inner) {
      (*inner)->calls_outer = true;
    }
  }

 private:
  // The traces of all functions, the innermost last; under trace_mutex().
  static std::vector<Open*>& all() {
    static std::vector<Open*> open;
    return open;
  }

  std::vector<Open*>& own_;
};

JitFunction::JitFunction(JitOptions options)
    : options_(std::move(options)),
      cache_(options_.max_graphs, options_.warn_after,
             options_.warn ? options_.warn : print_warning) {}

JitFunction::Results JitFunction::call(Arguments arguments, const Body& body) {
  const ArgumentKey key = key_of(arguments);
  // A call of a known kind takes no lock of the whole process.
  Traced traced = cache_.find(key);
  if (traced.function == nullptr) {
    const std::lock_guard lock(trace_mutex());
    // This is looked at before a new trace begins, or a recursion would be
    // traced without end.
    if (Open* open = find_open(key)) return call_itself(*open, arguments);
    Pass pass = find_or_trace(key, body);
    if (!pass.part.empty()) return call_part(pass, arguments);
    traced = std::move(pass.traced);
  }
  const std::vector<Value> values = values_of(arguments);
  // A part of another trace is not run, and no error would tell.
  const bool is_part = current_context().builder() != nullptr;
  if (is_part && !fits(*traced.function, values)) {
    return call_as_given(key, arguments, body);
  }
  try {
    return {traced.function->call(values), traced.structure};
  } catch (const Error&) {
    if (is_part || fits(*traced.function, values)) throw;
  }
  return call_as_given(key, arguments, body);
}

// A declared signature says that its dims are symbols.
bool JitFunction::fits(const GraphFunction& function,
                       std::span<const Value> arguments) const {
  return options_.signature || function.fits(arguments);
}

// A graph whose dims are symbols may mean nothing for some sizes, such as the
// first four rows of three: for these the callable itself says what it does.
JitFunction::Results JitFunction::call_as_given(const ArgumentKey& key,
                                                const Arguments& arguments,
                                                const Body& body) {
  Pass pass;
  {
    const std::lock_guard lock(trace_mutex());
    pass = trace_as_given(key, body);
    if (!pass.part.empty()) return call_part(pass, arguments);
  }
  return {pass.traced.function->call(values_of(arguments)),
          pass.traced.structure};
}

GraphFunctionRef JitFunction::graph(Arguments arguments, const Body& body) {
  const std::lock_guard lock(trace_mutex());
  const ArgumentKey key = key_of(arguments);
  Pass pass = find_or_trace(key, body);
  if (pass.part.empty() && !fits(*pass.traced.function, values_of(arguments))) {
    pass = trace_as_given(key, body);
  }
  if (pass.part.empty()) return pass.traced.function;
  throw Error(ErrorCode::kInvalidArgument, "@" + options_.name,
              "is a part of a function that is being traced, so it has no "
              "graph of its own");
}

ArgumentKey JitFunction::key_of(Arguments& arguments) const {
  arguments.add_context(surroundings());
  if (!options_.signature) return arguments.key();
  check_signature(arguments);
  Arguments declared;
  // All calls that fit the signature share one graph, so the key is made of it
  // and not of what was given.
  for (const TensorType& type : *options_.signature) declared.add(type);
  // The same graph would be wrong on another device or in another precision.
  declared.add_context(surroundings());
  return declared.key();
}

void JitFunction::check_signature(const Arguments& arguments) const {
  const auto& wanted = *options_.signature;
  const auto& given = arguments.tensors();
  const auto leaves = leaves_of(arguments.key());
  const bool has_others =
      std::any_of(leaves.begin(), leaves.end(), [](const auto& leaf) {
        return leaf.kind != ArgumentKey::kTensor &&
               leaf.kind != ArgumentKey::kContext;
      });
  if (has_others || given.size() != wanted.size()) {
    throw Error(ErrorCode::kInvalidArgument, "@" + options_.name,
                "its signature takes {} tensors and nothing else",
                wanted.size());
  }
  Bindings bindings;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (wanted[i].dtype == given[i]->dtype() &&
        match(wanted[i].shape, given[i]->shape(), bindings)) {
      continue;
    }
    throw Error(ErrorCode::kInvalidArgument, "@" + options_.name,
                "the argument {} does not fit the signature", i)
        .detail("wanted: " + to_string(wanted[i]))
        .detail("got:    " + to_string(given[i]->type()));
  }
}

// Another thread may have been faster.
JitFunction::Pass JitFunction::find_or_trace(const ArgumentKey& key,
                                             const Body& body) {
  const Traced known = cache_.find(key);
  if (known.function != nullptr) return {.traced = known};
  if (!options_.relax_dims || options_.signature) return trace_kept(key, body);
  const ArgumentKey general = cache_.generalise(key);
  try {
    return trace_kept(general, body);
  } catch (const Error&) {
    if (general == key) throw;
    // Not everything can be said of sizes that are not known.
    return trace_as_given(key, body);
  }
}

JitFunction::Pass JitFunction::trace_as_given(const ArgumentKey& key,
                                              const Body& body) {
  cache_.keep_static(key);
  return trace_kept(key, body);
}

JitFunction::Pass JitFunction::trace_kept(const ArgumentKey& key,
                                          const Body& body) {
  Pass pass = trace(key, body);
  if (pass.part.empty()) cache_.insert(key, pass.traced);
  return pass;
}

JitFunction::Pass JitFunction::trace(const ArgumentKey& key, const Body& body) {
  Pass pass = trace_once(key, body, /*may_create=*/!was_called_, {});
  // A call that made variables is traced again, now that they are there: the
  // graph that is kept must find them, not make them.
  was_called_ = true;
  if (pass.has_created_variables) {
    pass = trace_once(key, body, /*may_create=*/false, {});
  }
  // A call of itself passes on what the function captures, all of which is
  // known at the end only.
  for (int i = 0; !pass.is_complete(); ++i) {
    if (i == kMostPasses) {
      throw Error(ErrorCode::kInvalidArgument, "@" + options_.name,
                  "calls itself, and uses other tensors each time it is traced")
          .hint(
              "make tensors outside of the function, or pass them as "
              "arguments; numbers may be written as such");
    }
    pass = trace_once(key, body, /*may_create=*/false, pass.hidden);
  }
  return pass;
}

JitFunction::Pass JitFunction::trace_once(const ArgumentKey& key,
                                          const Body& body, bool may_create,
                                          const std::vector<Hidden>& expected) {
  ++trace_count_;
  Program program;
  Trace trace(program, unique_name(options_.name), may_create);
  Open open{key, trace.function().name(), trace};
  const OpenScope scope(*this, open);
  // A key that is open around the call is an argument of the graph.
  const RandomKeyScope random([&trace] { return trace.random_key(); });

  std::vector<Value> parameters;
  for (const TensorType& type : tensor_types(key)) {
    parameters.push_back(
        trace.parameter(type, fmt::format("arg{}", parameters.size())));
  }
  trace.expect(expected);
  Results results;
  Function function = trace.build([&] {
    results = body(parameters);
    std::vector<Value> all = std::move(results.tensors);
    for (Value& value : trace.assigned_values()) {
      // A recursive call would assign too, in an order that the graph does not
      // say.
      if (open.calls_itself || open.calls_outer) {
        throw Error(ErrorCode::kUnsupported, "@" + open.name,
                    "assigns a variable and calls itself")
            .hint("return the value, and assign it outside");
      }
      all.push_back(std::move(value));
    }
    return all;
  });
  Pass pass{.hidden = trace.hidden(),
            .dependencies = trace.dependencies(),
            .has_created_variables = trace.has_created_variables()};
  // The inner calls passed on fewer hidden arguments than the function turned
  // out to have: it is traced again, with all of them from the start.
  if (open.calls_itself && pass.hidden.size() != expected.size()) return pass;
  program.add(function);
  pass.traced.structure = results.structure;
  if (open.calls_outer) {
    pass.part.assign(program.functions().begin(), program.functions().end());
  } else {
    ExecutableOptions options;
    options.fuse = options_.fuse;
    options.search = options_.search;
    options.memory_limit = options_.memory_limit;
    options.tagged = options_.tagged;
    pass.traced.function =
        std::make_shared<GraphFunction>(program.build(), open.name, pass.hidden,
                                        std::move(options), pass.dependencies);
  }
  return pass;
}

JitFunction::Open* JitFunction::find_open(const ArgumentKey& key) {
  for (Open* open : open_) {
    if (covers(open->key, key)) return open;
  }
  // A number of the host that counts down is another kind of argument each
  // time, and would be traced until the stack ends.
  if (open_.size() < kMostOpen) return nullptr;
  throw Error(ErrorCode::kExhausted, "@" + options_.name,
              "calls itself {} deep while it is traced", open_.size())
      .hint(
          "numbers of the host are known while tracing: the recursion must "
          "end for them, or count by a tensor");
}

JitFunction::Results JitFunction::call_itself(Open& open,
                                              const Arguments& arguments) {
  if (!options_.results) {
    throw Error(ErrorCode::kInvalidArgument, "@" + options_.name,
                "calls itself, and what it returns is not known yet")
        .hint(
            "declare the types of its results: jit(f, results=[…]) in Python, "
            "JitOptions::results in C++");
  }
  Signature signature{tensor_types(open.key), *options_.results};
  for (const Value& hidden : open.trace.hidden_parameters()) {
    // A recursive call passes on what the function captures.
    signature.parameters.push_back(hidden.type());
  }
  const FunctionRef self{open.name,
                         std::make_shared<Signature>(std::move(signature))};
  std::vector<Value> operands = values_of(arguments);
  const auto& hidden = open.trace.hidden_parameters();
  operands.insert(operands.end(), hidden.begin(), hidden.end());
  open.calls_itself = true;
  // Traces between this call and the open one have no graph of their own: they
  // refer to a function that has no body yet.
  OpenScope::mark_inside(open);
  return {weft::call(self, operands), nullptr};
}

// One call node of a function that the program around it takes over.
JitFunction::Results JitFunction::call_part(const Pass& part,
                                            const Arguments& arguments) {
  FunctionBuilder* builder = current_context().builder();
  const Function& function = part.part.back();
  if (builder == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "@" + function.name(),
                "calls a function that is being traced, but runs at once")
        .hint("leave init_scope before it is called");
  }
  for (const ModeReading& reading : part.dependencies.modes) {
    builder->depend_on(reading);
  }
  if (part.dependencies.layer) builder->depend_on_layer();
  add_missing(builder->program(), part.part);
  std::vector<Value> operands = values_of(arguments);
  for (const Hidden& hidden : part.hidden) {
    operands.push_back(hidden.current(function.name()));
  }
  return {weft::call(reference_to(function), operands), part.traced.structure};
}

}  // namespace weft
