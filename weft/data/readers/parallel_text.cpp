// Texts and their translations: PART.SOURCE and PART.TARGET, packed by gzip or
// not, with one sentence a line and spaces between words.
//
// "multi30k" is German and English captions of pictures (Elliott, Frank,
// Sima'an and Specia, 2016), lower-cased and tokenised as its makers publish
// it. "parallel-text" is any other: train.source, train.target, and so for test
// and, if there is one, valid.
#include "weft/data/parallel_text.h"

#include <fmt/format.h>
#include <optional>

#include "weft/base/libraries/gzip.h"
#include "weft/data/registry.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostParallelBytes = std::size_t{2} << 30;
// A word that occurs once teaches nothing but how rare it is.
constexpr std::int64_t kLeastOccurrences = 2;

// How the files of a set are called.
struct ParallelNames {
  std::string set;
  std::string train, valid, test;
  std::string source, target;  // endings, without the point
};

const ParallelNames& multi30k_names() {
  static const ParallelNames names = {.set = "multi30k",
                                      .train = "train",
                                      .valid = "val",
                                      .test = "test_2016_flickr",
                                      .source = "lc.norm.tok.de",
                                      .target = "lc.norm.tok.en"};
  return names;
}

const ParallelNames& plain_names() {
  static const ParallelNames names = {.set = "parallel-text",
                                      .train = "train",
                                      .valid = "valid",
                                      .test = "test",
                                      .source = "source",
                                      .target = "target"};
  return names;
}

// The file of that name, or the packed one; empty if neither is there.
fs::path find_parallel(const fs::path& folder, const std::string& part,
                       const std::string& ending) {
  for (const char* packed : {"", ".gz"}) {
    fs::path path = folder / fmt::format("{}.{}{}", part, ending, packed);
    std::error_code ignored;
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return {};
}

bool has_parallel(const fs::path& folder, const ParallelNames& names) {
  return !find_parallel(folder, names.train, names.source).empty() &&
         !find_parallel(folder, names.train, names.target).empty();
}

// The two files of a part, which must be there.
class ParallelPart {
 public:
  ParallelPart(const fs::path& folder, const std::string& part,
               const ParallelNames& names)
      : source_path_(require(folder, part, names.source)),
        target_path_(require(folder, part, names.target)),
        source_(source_path_, kMostParallelBytes),
        target_(target_path_, kMostParallelBytes) {}

  Vocabulary source_vocabulary() const {
    return Vocabulary(translation_words(text(source_), source_path_.string(),
                                        kLeastOccurrences));
  }
  Vocabulary target_vocabulary() const {
    return Vocabulary(translation_words(text(target_), target_path_.string(),
                                        kLeastOccurrences));
  }
  ParallelText read(const Vocabulary& source, const Vocabulary& target) const {
    return ParallelText(source, text(source_), target, text(target_),
                        source_path_.string(), target_path_.string());
  }

 private:
  static fs::path require(const fs::path& folder, const std::string& part,
                          const std::string& ending) {
    fs::path found = find_parallel(folder, part, ending);
    if (!found.empty()) return found;
    throw Error(ErrorCode::kUnavailable, folder.string(),
                "neither {0}.{1} nor {0}.{1}.gz is here", part, ending);
  }
  static std::string_view text(const UnpackedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()),
            file.bytes().size()};
  }

  fs::path source_path_;
  fs::path target_path_;
  UnpackedFile source_;
  UnpackedFile target_;
};

DatasetSplits open_parallel(const DataRequest& request,
                            const ParallelNames& names) {
  const ParallelPart files(request.folder, names.train, names);
  // Words are numbered by the training text alone: the others must not tell the
  // model what it will meet.
  const Vocabulary source = files.source_vocabulary();
  const Vocabulary target = files.target_vocabulary();
  ParallelText train = files.read(source, target);
  ParallelText test =
      ParallelPart(request.folder, names.test, names).read(source, target);
  std::optional<ParallelText> valid;
  if (!find_parallel(request.folder, names.valid, names.source).empty()) {
    valid =
        ParallelPart(request.folder, names.valid, names).read(source, target);
  }
  // All parts share their largest sizes, so that a model that was trained on
  // one can be measured on another.
  std::int64_t most_source = 0;
  std::int64_t most_target = 0;
  for (const ParallelText* part : {&train, &test, valid ? &*valid : &train}) {
    most_source = std::max(most_source, part->longest_source());
    most_target = std::max(most_target, part->longest_target());
  }
  const auto made = [&](ParallelText&& part) {
    return std::move(part).dataset(names.set, most_source, most_target);
  };
  return {.train = made(std::move(train)),
          .test = made(std::move(test)),
          .valid = valid ? made(std::move(*valid)) : nullptr};
}

}  // namespace

void register_data_parallel_text(DatasetRegistry& registry) {
  registry.add(
      {.name = "multi30k",
       .summary = "Multi30k captions, German to English, 29,000 to train on",
       .open =
           [](const DataRequest& request) {
             return open_parallel(request, multi30k_names());
           },
       .is_in =
           [](const fs::path& folder) {
             return has_parallel(folder, multi30k_names());
           },
       .terms =
           "states none, for research: it cannot be fetched; put the files "
           "of data/task1/tok (train, val, test_2016_flickr, "
           ".lc.norm.tok.de and .en) into a folder and name it with "
           "--data"});
  registry.add({.name = "parallel-text",
                .summary = "train.source and train.target, test likewise",
                .open =
                    [](const DataRequest& request) {
                      return open_parallel(request, plain_names());
                    },
                .is_in =
                    [](const fs::path& folder) {
                      return has_parallel(folder, plain_names());
                    },
                .terms = "your own data",
                .is_named_set = false});
}

}  // namespace weft
