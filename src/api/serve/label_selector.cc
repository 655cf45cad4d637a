// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/object/label_rules.h"
#include "api/serve/selector.h"
#include "gotext/go_json_writer.h"

namespace corehold {
namespace {

enum class Token {
  kEnd,
  kWord,
  kIn,
  kNotIn,
  kEqual,
  kNotEqual,
  kGreater,
  kLess,
  kNot,
  kOpen,
  kClose,
  kComma,
  kBad
};

struct Lexeme {
  Token token = Token::kEnd;
  std::string text{};
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_symbol(char c) { return std::string_view("=!(),<>").find(c) != std::string_view::npos; }

std::optional<Token> symbol_token(std::string_view text) {
  if (text == "=" || text == "==") return Token::kEqual;
  if (text == "!=") return Token::kNotEqual;
  if (text == "!") return Token::kNot;
  if (text == "(") return Token::kOpen;
  if (text == ")") return Token::kClose;
  if (text == ",") return Token::kComma;
  if (text == ">") return Token::kGreater;
  if (text == "<") return Token::kLess;
  return std::nullopt;
}

// The longest symbol at the front of `text`.
Lexeme take_symbol(std::string_view& text) {
  const std::size_t length = text.size() > 1 && symbol_token(text.substr(0, 2)) ? 2 : 1;
  Lexeme found{symbol_token(text.substr(0, length)).value_or(Token::kBad),
               std::string(text.substr(0, length))};
  text.remove_prefix(length);
  return found;
}

Lexeme take_lexeme(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  if (text.empty()) return {};
  if (is_symbol(text.front())) return take_symbol(text);
  std::size_t length = 0;
  while (length < text.size() && !is_blank(text[length]) && !is_symbol(text[length])) ++length;
  Lexeme word{Token::kWord, std::string(text.substr(0, length))};
  if (word.text == "in") word.token = Token::kIn;
  if (word.text == "notin") word.token = Token::kNotIn;
  text.remove_prefix(length);
  return word;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

Error bad_selector(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string invalid_value(std::string_view path, std::string_view value,
                          const std::vector<std::string>& problems) {
  return fmt::format("{}: Invalid value: {}: {}", path, go_quoted(value),
                     fmt::join(problems, "; "));
}

using Operator = LabelRequirement::Operator;

// One pass over the text, one lexeme ahead.
class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : rest_(text) { advance(); }

  Result<std::vector<LabelRequirement>> requirements() {
    std::vector<LabelRequirement> made;
    while (ahead() != Token::kEnd) {
      if (ahead() != Token::kWord && ahead() != Token::kNot) {
        return unexpected("!, identifier, or 'end of string'");
      }
      auto one = requirement();
      if (!one) return wrap("unable to parse requirement", one.error());
      made.push_back(*std::move(one));
      if (ahead() == Token::kEnd) break;
      if (ahead() != Token::kComma) return unexpected("',' or 'end of string'");
      advance();
      if (ahead() != Token::kWord && ahead() != Token::kNot) {
        return unexpected("identifier after ','");
      }
    }
    return made;
  }

 private:
  void advance() { next_ = take_lexeme(rest_); }
  // "in" and "notin" are ordinary words everywhere but after a key.
  Token ahead() const {
    const bool word = next_.token == Token::kIn || next_.token == Token::kNotIn;
    return word ? Token::kWord : next_.token;
  }
  Error unexpected(std::string_view expected) const {
    return bad_selector(fmt::format("found '{}', expected: {}", next_.text, expected));
  }

  Result<LabelRequirement> requirement() {
    LabelRequirement made;
    const bool negated = ahead() == Token::kNot;
    if (negated) advance();
    if (ahead() != Token::kWord) return unexpected("identifier");
    made.key = next_.text;
    if (const auto problems = label_key_problems(made.key); !problems.empty()) {
      return bad_selector(invalid_value("key", made.key, problems));
    }
    advance();
    if (negated || ahead() == Token::kEnd || ahead() == Token::kComma) {
      made.how = negated ? Operator::kDoesNotExist : Operator::kExists;
      return made;
    }
    TRY(read_operator(made));
    TRY(check_values(made));
    return made;
  }

  Result<void> read_operator(LabelRequirement& made) {
    const Token token = next_.token;
    switch (token) {
      case Token::kIn:
      case Token::kNotIn:
        made.how = token == Token::kIn ? Operator::kIn : Operator::kNotIn;
        advance();
        return read_values(made);
      case Token::kEqual:
        made.how = Operator::kIn;
        break;
      case Token::kNotEqual:
        made.how = Operator::kNotIn;
        break;
      case Token::kGreater:
        made.how = Operator::kGreater;
        break;
      case Token::kLess:
        made.how = Operator::kLess;
        break;
      default:
        return unexpected("in, notin, =, ==, !=, gt, lt");
    }
    advance();
    return read_one_value(made);
  }

  Result<void> read_one_value(LabelRequirement& made) {
    if (ahead() == Token::kEnd || ahead() == Token::kComma) {
      made.values.emplace_back();
      return {};
    }
    if (ahead() != Token::kWord) return unexpected("identifier");
    made.values.push_back(next_.text);
    advance();
    return {};
  }

  // "(a, b)"; between two commas, or a comma and a parenthesis, is the empty value.
  Result<void> read_values(LabelRequirement& made) {
    if (ahead() != Token::kOpen) {
      return bad_selector(fmt::format("found '{}' expected: '('", next_.text));
    }
    advance();
    std::set<std::string> values;
    if (ahead() == Token::kClose) {
      advance();
      return {};
    }
    if (ahead() != Token::kWord && ahead() != Token::kComma) {
      return unexpected("',', ')' or identifier");
    }
    for (;;) {
      std::string value;
      if (ahead() == Token::kWord) {
        value = next_.text;
        advance();
        if (ahead() != Token::kComma && ahead() != Token::kClose) return unexpected("',' or ')'");
      } else if (ahead() != Token::kComma && ahead() != Token::kClose) {
        return unexpected("',', or identifier");
      }
      values.insert(std::move(value));
      const bool closed = ahead() == Token::kClose;
      advance();
      if (closed) break;
    }
    made.values.assign(values.begin(), values.end());
    return {};
  }

  static Result<void> check_values(LabelRequirement& made) {
    const bool set = made.how == Operator::kIn || made.how == Operator::kNotIn;
    if (set && made.values.empty()) {
      return bad_selector(
          "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
    }
    if (!set) {
      const auto bound = whole_number(made.values.front());
      if (!bound) {
        return bad_selector(
            invalid_value("values[0]", made.values.front(),
                          {"for 'Gt', 'Lt' operators, the value must be an integer"}));
      }
      made.bound = *bound;
    }
    for (std::size_t i = 0; i < made.values.size(); ++i) {
      const auto problems = label_value_problems(made.values[i]);
      if (problems.empty()) continue;
      return bad_selector(
          invalid_value(fmt::format("values[{}][{}]", i, made.key), made.values[i], problems));
    }
    return {};
  }

  std::string_view rest_;
  Lexeme next_{};
};

bool holds(const LabelRequirement& requirement, const Selectable& object) {
  const auto at =
      std::lower_bound(object.labels.begin(), object.labels.end(), requirement.key,
                       [](const auto& label, const std::string& key) { return label.first < key; });
  const bool there = at != object.labels.end() && at->first == requirement.key;
  const auto listed = [&] {
    return std::binary_search(requirement.values.begin(), requirement.values.end(), at->second);
  };
  const auto number = [&] { return there ? whole_number(at->second) : std::nullopt; };
  switch (requirement.how) {
    case Operator::kIn:
      return there && listed();
    case Operator::kNotIn:
      return !there || !listed();
    case Operator::kExists:
      return there;
    case Operator::kDoesNotExist:
      return !there;
    case Operator::kGreater:
      return number() && *number() > requirement.bound;
    case Operator::kLess:
      return number() && *number() < requirement.bound;
  }
  check_failed("every Operator is known", __FILE__, __LINE__);
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  return LabelSelector(TRY(LabelParser(text).requirements()));
}

bool LabelSelector::matches(const Selectable& object) const {
  return std::all_of(
      requirements_.begin(), requirements_.end(),
      [&](const LabelRequirement& requirement) { return holds(requirement, object); });
}

}  // namespace corehold
