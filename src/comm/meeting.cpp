#include "comm/meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "comm/address.h"
#include "core/deadline.h"
#include "qw/core/error.h"

namespace qw {
namespace {

using nlohmann::ordered_json;

constexpr auto kLook = std::chrono::milliseconds(20);
constexpr double kFarewell = 10;  // seconds that who keeps the store waits for others to leave
constexpr auto kLastWords = std::chrono::seconds(3);  // others look for a failure every second

std::string machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string key_of(const char* what, int rank) { return fmt::format("{}/{}", what, rank); }

}  // namespace

std::string left_key(int rank) { return key_of("left", rank); }

Meeting::Meeting(const Place& place, const Agreement& agreement, double patience)
    : place_(place), names_(place.size) {
  if (place.rank == 0 && !place.has_keeper) served_ = serve_store(place.port);
  store_ = connect_to_store(place, patience);
  try {
    greet(agreement, patience);
  } catch (const Error& error) {
    failed(error.what());
    if (served_) std::this_thread::sleep_for(kLastWords);  // no destructor is called
    throw;
  } catch (const std::exception&) {
    fail(fmt::format("who listened at {}:{} has ended, before all processes were there", place.host,
                     place.port));
  }
}

Meeting::~Meeting() {
  try {
    if (!failed_) write_text(*store_, left_key(place_.rank), "");
    if (!served_) return;  // nobody waits for this process
    if (failed_) std::this_thread::sleep_for(kLastWords);
    const Deadline deadline = Deadline::after_seconds(kFarewell);
    for (int rank = 0; rank < place_.size; ++rank) {
      while (!deadline.passed() && !store_->check({left_key(rank)}) && !store_->check({kFailure}))
        std::this_thread::sleep_for(kLook);
    }
  } catch (const std::exception&) {  // the store is gone, and nobody waits for what stands there
  }
}

void Meeting::failed(const std::string& why) {
  if (failed_) return;
  failed_ = true;
  try {
    if (!store_->check({kFailure})) write_text(*store_, kFailure, why);
  } catch (const std::exception&) {  // nobody can be told
  }
}

void Meeting::greet(const Agreement& agreement, double patience) {
  address_ = address_towards(place_.host, place_.port);
  ordered_json hello = {
      {"machine", machine()}, {"id", getpid()}, {"size", place_.size}, {"address", address_}};
  for (const auto& [name, value] : agreement) hello["agreement"].push_back({name, value});
  const std::string own = hello.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (store_->add(key_of("taken", place_.rank), 1) > 1) {
    fail(fmt::format("two processes were started as process {} of {}: each needs a rank of its own",
                     place_.rank, place_.size));
  }
  write_text(*store_, key_of("hello", place_.rank), own);
  const Deadline deadline = Deadline::after_seconds(patience);
  for (int rank = 0; rank < place_.size; ++rank) {
    while (!store_->check({key_of("hello", rank)})) {
      if (store_->check({kFailure})) fail(read_text(*store_, kFailure));
      if (deadline.passed()) {
        fail(
            fmt::format("process {} of {} did not come to {}:{} within {:.0f} s: was it started, and may it "
                        "reach that port?",
                        rank, place_.size, place_.host, place_.port, patience));
      }
      std::this_thread::sleep_for(kLook);
    }
    const std::string theirs = read_text(*store_, key_of("hello", rank));
    compare(rank, theirs, own);
    const std::string address = ordered_json::parse(theirs).value("address", "");
    if (is_loopback(address_) && !is_loopback(address)) address_ = address_towards(address, place_.port);
  }
}

void Meeting::compare(int rank, const std::string& theirs, const std::string& own) {
  const ordered_json other = ordered_json::parse(theirs), mine = ordered_json::parse(own);
  const auto name = [](int of, const ordered_json& hello) {
    return fmt::format("process {} (machine {}, id {})", of, hello["machine"].get<std::string>(),
                       hello["id"].get<int64_t>());
  };
  names_[rank] = name(rank, other);
  if (other["size"] != mine["size"]) {
    fail(fmt::format("{} was started as one of {} processes, {} as one of {}: start all with the same number",
                     name(rank, other), other["size"].get<int>(), name(place_.rank, mine),
                     mine["size"].get<int>()));
  }
  if (other.value("agreement", ordered_json()).size() != mine.value("agreement", ordered_json()).size())
    fail(fmt::format("{} does other work than {}", name(rank, other), name(place_.rank, mine)));
  for (size_t k = 0; k < mine.value("agreement", ordered_json()).size(); ++k) {
    const ordered_json &here = mine["agreement"][k], &there = other["agreement"][k];
    if (here == there) continue;
    fail(fmt::format("{} has {} {}, {} has {} {}: all must have the same", name(rank, other),
                     there[0].get<std::string>(), there[1].get<std::string>(), name(place_.rank, mine),
                     here[0].get<std::string>(), here[1].get<std::string>()));
  }
}

}  // namespace qw
