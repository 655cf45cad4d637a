// SPDX-License-Identifier: Apache-2.0
#include "pod/yaml_document.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/utf8.h"
#include "pod/json_field.h"
#include "pod/pod_json.h"
#include "pod/yaml_scalar.h"

namespace corehold {
namespace {

namespace json = boost::json;

// How many bytes the character at `at` has; 0 when it is not UTF-8, or a control
// character that YAML does not allow.
std::size_t character_size(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  const bool is_control =
      lead == 0x7f || (lead < 0x20 && lead != '\t' && lead != '\n' && lead != '\r');
  return is_control ? 0 : rune_length(text, at);
}

Error error_of(const YamlProblem& problem) {
  if (problem.line == 0) return Error{Code::kInvalid, fmt::format("YAML: {}", problem.message)};
  return Error{Code::kInvalid, fmt::format("YAML: line {}: {}", problem.line, problem.message)};
}

// No value: all of it is text that YAML allows.
std::optional<YamlProblem> problem_of_characters(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = character_size(text, i);
    if (size == 0) {
      const auto line =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      return YamlProblem{.line = static_cast<int>(line) + 1,
                         .message = fmt::format("byte 0x{:02x} is not UTF-8 text",
                                                static_cast<unsigned char>(text[i]))};
    }
    i += size;
  }
  return std::nullopt;
}

// What a Builder is for.
enum class Purpose {
  kValues,  // only values; the first problem ends it
  kLines,   // also lines; a key given twice is noted and the rest read
};

// A finished value, with what an alias to it would cost.
struct Built {
  json::value value{};
  YamlLines lines{};      // kValues: without inner ones
  std::size_t count = 1;  // values in it, itself included
  int depth = 1;          // levels in it, itself included
};

// A list or object that is not finished.
struct Frame {
  bool is_object = false;
  YAML::anchor_t anchor = 0;
  Built node{};
  std::optional<std::string> key{};    // object: the key whose value comes next
  int key_line = 0;                    // where it stands
  bool is_merge = false;               // that key was <<
  bool is_repeated = false;            // that key was there before
  std::vector<YamlDocument> merges{};  // what << gave, in order
};

// Builds the documents from yaml-cpp's events. After a problem that cannot be passed over
// the rest of the events is ignored.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(Purpose purpose) : purpose_(purpose) {}

  YamlStream take() { return std::move(stream_); }
  bool has_failed() const { return has_failed_; }

  void fail_at(int line, std::string problem) {
    if (has_failed_) return;
    stream_.problems.push_back({.line = line, .message = std::move(problem)});
    has_failed_ = true;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!begin(mark)) return;
    // yaml-cpp starts the same document for ever when it cannot use what follows.
    if (mark.pos <= position_) return fail("text that belongs to no document");
    position_ = mark.pos;
    stack_.clear();
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!begin(mark)) return;
    finish(Built{.lines = {.line = line_}}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!begin(mark)) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return fail("an alias inside what it names");
    if (!afford(found->second)) return;
    if (is_key_next() && found->second.value.is_string()) {
      return set_key(std::string(found->second.value.get_string()));
    }
    finish(found->second, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!begin(mark)) return;
    if (is_key_next()) {
      auto key = resolve_key(tag, text);
      if (!key) return fail(key.error().message);
      const bool is_plain = tag.empty() || tag == "?";
      if (anchor != 0) {
        anchors_[anchor] =
            Built{.value = json::value(json::string(*key)), .lines = {.line = line_}};
      }
      if (!is_plain || *key != "<<") return set_key(*std::move(key));
      stack_.back().key = "<<";
      stack_.back().key_line = line_;
      stack_.back().is_merge = true;
      return;
    }
    auto value = resolve_scalar(tag, text);
    if (!value) return fail(value.error().message);
    finish(Built{.value = *std::move(value), .lines = {.line = line_}}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", Frame{.anchor = anchor, .node = {.value = json::array()}});
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map",
         Frame{.is_object = true, .anchor = anchor, .node = {.value = json::object()}});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  void fail(std::string problem) { fail_at(line_, std::move(problem)); }

  bool begin(const YAML::Mark& mark) {
    line_ = mark.line + 1;
    return !has_failed_;
  }

  // Accounts for one more copy of the node; false when that is one too many.
  bool afford(const Built& node) {
    copied_ += node.count;
    if (copied_ <= kMaxAliasedValues) return true;
    fail(fmt::format("anchors and aliases expand to more than {} values", kMaxAliasedValues));
    return false;
  }

  bool is_key_next() const {
    return !stack_.empty() && stack_.back().is_object && !stack_.back().key;
  }

  void set_key(std::string key) {
    Frame& frame = stack_.back();
    frame.is_repeated = frame.node.value.get_object().contains(key);
    if (frame.is_repeated) {
      std::string problem = fmt::format("key {} is given twice", shown(key));
      if (purpose_ == Purpose::kValues) return fail(std::move(problem));
      stream_.problems.push_back({.line = line_, .message = std::move(problem)});
    }
    frame.key = std::move(key);
    frame.key_line = line_;
    frame.is_merge = false;
  }

  void open(const YAML::Mark& mark, const std::string& tag, std::string_view type, Frame frame) {
    if (!begin(mark)) return;
    const bool is_expected =
        tag.empty() || tag == "?" || tag == "!" || tag == fmt::format("tag:yaml.org,2002:{}", type);
    if (!is_expected) return fail(fmt::format("a {} cannot have the tag {}", type, shown(tag)));
    if (is_key_next()) return fail("a key must be a single word, not a list or an object");
    if (stack_.size() >= static_cast<std::size_t>(kMaxNesting)) return fail(too_deep());
    frame.node.lines.line = line_;
    stack_.push_back(std::move(frame));
  }

  void close() {
    if (has_failed_) return;
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    for (const YamlDocument& merge : frame.merges) merge_into(frame.node, merge);
    finish(std::move(frame.node), frame.anchor);
  }

  // Adds the members of `from` that `node` does not have.
  void merge_into(Built& node, const YamlDocument& from) const {
    json::object& object = node.value.get_object();
    std::size_t position = 0;
    for (const auto& [key, value] : from.value.get_object()) {
      const bool is_new = object.emplace(key, value).second;
      if (is_new) keep_lines(node, YamlLines(inner_of(from.lines, position)));
      ++position;
    }
  }

  static const YamlLines& inner_of(const YamlLines& lines, std::size_t position) {
    return position < lines.inner.size() ? lines.inner[position] : lines;
  }

  void keep_lines(Built& node, YamlLines inner) const {
    if (purpose_ == Purpose::kLines) node.lines.inner.push_back(std::move(inner));
  }

  // Puts a finished value where it belongs.
  void finish(Built node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      if (!afford(node)) return;
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      if (!node.value.is_null()) {
        stream_.documents.push_back(
            {.value = std::move(node.value), .lines = std::move(node.lines)});
      }
      return;
    }
    Frame& frame = stack_.back();
    frame.node.count += node.count;
    frame.node.depth = std::max(frame.node.depth, node.depth + 1);
    if (static_cast<int>(stack_.size()) + node.depth > kMaxNesting + 1) return fail(too_deep());
    if (!frame.is_object) {
      frame.node.value.get_array().push_back(std::move(node.value));
      keep_lines(frame.node, std::move(node.lines));
    } else if (!frame.key) {
      fail("a key must be a single word, not a list or an object");
    } else if (std::exchange(frame.is_merge, false)) {
      frame.key.reset();
      merge(frame, std::move(node));
    } else {
      if (!frame.is_repeated) {
        frame.node.value.get_object().emplace(*frame.key, std::move(node.value));
        node.lines.line = frame.key_line;
        keep_lines(frame.node, std::move(node.lines));
      }
      frame.key.reset();
    }
  }

  void merge(Frame& frame, Built node) {
    std::vector<YamlDocument> list;
    if (node.value.is_array()) {
      std::size_t position = 0;
      for (json::value& item : node.value.get_array()) {
        list.push_back({.value = std::move(item), .lines = inner_of(node.lines, position++)});
      }
    } else {
      list.push_back({.value = std::move(node.value), .lines = std::move(node.lines)});
    }
    for (YamlDocument& item : list) {
      if (!item.value.is_object()) return fail("<< needs an object or a list of objects");
      frame.merges.push_back(std::move(item));
    }
  }

  static std::string too_deep() { return fmt::format("nested deeper than {} levels", kMaxNesting); }

  Purpose purpose_;
  YamlStream stream_{};
  std::vector<Frame> stack_{};
  std::map<YAML::anchor_t, Built> anchors_{};
  std::size_t copied_ = 0;
  int line_ = 1;
  int position_ = -1;  // where the document started
  bool has_failed_ = false;
};

YamlStream read_stream(std::string_view text, Purpose purpose) {
  Builder builder(purpose);
  if (text.size() > kMaxYamlBytes) {
    builder.fail_at(0, fmt::format("{} bytes are more than the limit of {}; JSON has none",
                                   text.size(), kMaxYamlBytes));
    return builder.take();
  }
  if (const auto problem = problem_of_characters(text)) {
    builder.fail_at(problem->line, problem->message);
    return builder.take();
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (!builder.has_failed() && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& failure) {
    builder.fail_at(failure.mark.line + 1, failure.msg);
  } catch (const std::exception& failure) {
    builder.fail_at(0, failure.what());
  }
  return builder.take();
}

}  // namespace

Result<std::vector<json::value>> parse_yaml(std::string_view text) {
  YamlStream stream = read_stream(text, Purpose::kValues);
  if (!stream.problems.empty()) return error_of(stream.problems.front());
  std::vector<json::value> values;
  values.reserve(stream.documents.size());
  for (YamlDocument& document : stream.documents) values.push_back(std::move(document.value));
  return values;
}

YamlStream parse_yaml_with_lines(std::string_view text) {
  return read_stream(text, Purpose::kLines);
}

}  // namespace corehold
