#include "api/acl/json.h"

#include <algorithm>
#include <cstring>

namespace normgrad::api {
namespace {

// Reads RFC 8259's grammar from the front of `rest`; a function returns false, and the text is not
// JSON, if what it is named after is not there.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool object_alone() {
    skip_space();
    return !rest_.empty() && rest_.front() == '{' && value(kDeepest) && rest_.empty();
  }

 private:
  static constexpr int kDeepest = 64;  // so that no file can exhaust the stack

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool take(char expected) {
    if (rest_.empty() || rest_.front() != expected) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_token(char expected) {
    skip_space();
    const bool taken = take(expected);
    skip_space();
    return taken;
  }
  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }
  bool escape() {
    if (rest_.empty() || std::strchr("\"\\/bfnrtu", rest_.front()) == nullptr) return false;
    const bool is_code = rest_.front() == 'u';
    rest_.remove_prefix(1);
    if (!is_code) return true;
    const bool is_hex =
        rest_.substr(0, 4).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (!is_hex || rest_.size() < 4) return false;
    rest_.remove_prefix(4);
    return true;
  }

  bool digits() {
    const std::size_t count = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  bool member(int depth) { return string() && take_token(':') && value(depth); }
  // What stands between brackets, the first of which is taken.
  template <class Item>
  bool list(char end, Item&& item) {
    skip_space();
    if (take(end)) return true;
    do {
      if (!item()) return false;
    } while (take_token(','));
    return take(end);
  }

  // With the space behind it.
  bool value(int depth) {
    if (depth == 0 || rest_.empty()) return false;
    const bool found = bare_value(depth - 1);
    skip_space();
    return found;
  }
  bool bare_value(int depth) {
    if (take('{')) return list('}', [&] { return member(depth); });
    if (take('[')) return list(']', [&] { return value(depth); });
    if (rest_.front() == '"') return string();
    return word("true") || word("false") || word("null") || number();
  }

  std::string_view rest_;
};

}  // namespace

bool is_json_object(std::string_view text) { return Reader(text).object_alone(); }

}  // namespace normgrad::api
