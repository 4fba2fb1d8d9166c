// The JSON of report.h.
#include <cstdio>
#include <ctime>

#include "machine.h"
#include "report.h"

namespace bench {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

std::string microseconds(double us) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", us);
  return text;
}

std::string or_null(double us) { return us > 0 ? microseconds(us) : "null"; }

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string object(const Machine& m) {
  std::string caches;
  for (const Cache& cache : m.caches) {
    caches += (caches.empty() ? "{\"level\": " : ", {\"level\": ") + std::to_string(cache.level) +
              ", \"type\": " + quoted(cache.type) + ", \"bytes\": " + std::to_string(cache.bytes) +
              "}";
  }
  return "{\"cpu\": " + quoted(m.cpu) + ", \"cores\": " + std::to_string(m.cores) +
         ", \"caches\": [" + caches + "]}";
}

std::string object(const Row& row) {
  const Entry& e = row.entry;
  const Timing& t = row.timing;
  char fraction[16];
  std::snprintf(fraction, sizeof(fraction), "%.4f", t.fraction());
  return "{\"operator\": " + quoted(e.op) + ", \"layout\": " + quoted(name(e.layout)) +
         ", \"shape\": " + quoted(e.shape) + ", \"dtype\": " + quoted(name(e.dtype)) +
         ", \"threads\": " + std::to_string(row.threads) +
         ", \"elements\": " + std::to_string(e.elements) +
         ", \"bytes\": " + std::to_string(static_cast<long long>(t.bytes)) +
         ", \"limit_us\": " + microseconds(t.limit_us) +
         ", \"limit_stores\": " + quoted(name(t.limit_stores)) +
         ", \"two_pass_limit_us\": " + or_null(t.two_pass_limit_us) +
         ", \"twin_us\": " + or_null(t.twin_us) + ", \"ours_us\": " + microseconds(t.ours_us) +
         ", \"fraction\": " + fraction + ", \"disturbed\": " + (t.disturbed ? "true" : "false") +
         "}";
}

}  // namespace

void write_json(const std::vector<Row>& rows, const std::string& command, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) fail("cannot write " + path);
  std::fprintf(file, "{\"machine\": %s,\n \"date\": %s,\n \"command\": %s,\n \"rows\": [\n",
               object(machine()).c_str(), quoted(now()).c_str(), quoted(command).c_str());
  for (const Row& row : rows)
    std::fprintf(file, "  %s%s\n", object(row).c_str(), &row == &rows.back() ? "" : ",");
  std::fprintf(file, " ]}\n");
  if (std::fclose(file) != 0) fail("cannot write " + path);
}

}  // namespace bench
