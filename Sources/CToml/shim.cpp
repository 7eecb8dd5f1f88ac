// A C interface to the toml++ parser, for Swift code that cannot call C++.

// In toml++ 3.3.0 a document can violate the parser's assertions (`[[\x01a]]`) and reach code in
// its character tables that is marked unreachable (`a \u00d0`). Such a document must be refused
// without an abort or undefined behaviour. In the character tables the right result is false: the
// character is not in the requested class.
#include <stdexcept>
#undef NDEBUG
#define TOML_ASSERT(expr)                            \
  do {                                               \
    if (!(expr)) throw std::logic_error("not TOML"); \
  } while (false)
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/impl/preprocessor.h>
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string_view>

#include "CToml.h"

namespace {

constexpr int max_dots = 256;

usher_toml_position place(const toml::source_position &at) {
  return {static_cast<uint32_t>(at.line), static_cast<uint32_t>(at.column)};
}

void say(usher_toml_failure *failure, usher_toml_position at, const char *message) noexcept {
  failure->position = at;
  std::snprintf(failure->message, sizeof failure->message, "%s", message);
}

/// Returns the first line with too many dots, or 0. The parser does not limit `a.a.a…`, and each
/// dot uses stack when the tree is destroyed.
uint32_t line_with_too_many_dots(std::string_view text) noexcept {
  uint32_t line = 1;
  int dots = 0;
  for (char c : text) {
    if (c == '\n') {
      line++;
      dots = 0;
    } else if (c == '.' && ++dots > max_dots) {
      return line;
    }
  }
  return 0;
}

bool breaks_assertion(std::string_view text) {
  try {
    (void)toml::parse(text);
    return false;
  } catch (const toml::parse_error &) {
    return false;
  } catch (const std::logic_error &) {
    return true;
  }
}

/// Finds the line by bisection: a prefix that ends before the line parses without a violated
/// assertion, a longer one does not.
uint32_t line_that_breaks_assertion(std::string_view text) {
  size_t good = 0;
  size_t bad = text.size();
  while (text.substr(good, bad - good).find('\n') < bad - good - 1) {
    const size_t middle = good + (bad - good) / 2;
    size_t end = text.find('\n', middle);
    if (end == std::string_view::npos || end + 1 >= bad) {
      end = text.rfind('\n', middle);
    }
    const size_t prefix = end + 1;
    (breaks_assertion(text.substr(0, prefix)) ? bad : good) = prefix;
  }
  return 1 + static_cast<uint32_t>(std::count(text.begin(), text.begin() + good, '\n'));
}

struct Walk {
  usher_toml_sink sink;
  void *context;

  void value(const toml::node &node, usher_toml_event event) const {
    event.position = place(node.source().begin);
    if (const auto *table = node.as_table()) {
      return children(*table, event);
    }
    if (const auto *array = node.as_array()) {
      return elements(*array, event);
    }
    if (const auto *string = node.as_string()) {
      event.kind = USHER_TOML_STRING;
      event.text = string->get().data();
      event.text_length = string->get().size();
    } else if (const auto *integer = node.as_integer()) {
      event.kind = USHER_TOML_INTEGER;
      event.integer = integer->get();
    } else if (const auto *real = node.as_floating_point()) {
      event.kind = USHER_TOML_FLOAT;
      event.real = real->get();
    } else if (const auto *boolean = node.as_boolean()) {
      event.kind = USHER_TOML_BOOLEAN;
      event.integer = boolean->get() ? 1 : 0;
    } else {
      event.kind = USHER_TOML_DATE;
    }
    sink(context, &event);
  }

  void children(const toml::table &table, usher_toml_event event) const {
    event.kind = USHER_TOML_TABLE;
    sink(context, &event);
    for (auto &&[key, node] : table) {
      usher_toml_event child{};
      child.has_key = true;
      child.key = key.data();
      child.key_length = key.length();
      child.key_position = place(key.source().begin);
      value(node, child);
    }
    end();
  }

  void elements(const toml::array &array, usher_toml_event event) const {
    event.kind = USHER_TOML_ARRAY;
    sink(context, &event);
    for (auto &&node : array) {
      value(node, usher_toml_event{});
    }
    end();
  }

  void end() const {
    usher_toml_event event{};
    event.kind = USHER_TOML_END;
    sink(context, &event);
  }
};

bool read(std::string_view document, const Walk &walk, usher_toml_failure *failure) {
  try {
    if (const auto line = line_with_too_many_dots(document)) {
      say(failure, {line, 1}, "more than 256 dots in a line");
      return false;
    }
    const toml::table root = toml::parse(document);
    walk.value(root, usher_toml_event{});
    return true;
  } catch (const toml::parse_error &error) {
    say(failure, place(error.source().begin), error.what());
  } catch (const std::logic_error &error) {
    say(failure, {line_that_breaks_assertion(document), 1}, error.what());
  }
  return false;
}

}  // namespace

extern "C" bool usher_toml_read(const char *text, size_t length, usher_toml_sink sink,
                                void *context, usher_toml_failure *failure) {
  *failure = {};
  try {
    return read({text, length}, {sink, context}, failure);
  } catch (const std::exception &error) {
    say(failure, {}, error.what());
  } catch (...) {
    say(failure, {}, "not readable");
  }
  return false;
}
