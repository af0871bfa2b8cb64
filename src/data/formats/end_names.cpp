#include "data/formats/end_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/text.h"

namespace qw {
namespace {

// "Source_ID" and "source id" are "sourceid"; Neo4j's "person:START_ID(Person)" is "startid".
std::string plain_word(std::string_view name) {
  std::string word = lower(name);
  const std::string role = word.substr(word.find(':') + 1);
  if (role.size() < word.size() && (role.starts_with("start_id") || role.starts_with("end_id")))
    word = role.substr(0, role.find('('));
  std::erase_if(word, [](char c) { return c == '_' || c == '-' || c == ' ' || c == '.' || c == '#'; });
  return word;
}

// "user_id" is "user".
std::string thing_of(const std::string& name) {
  std::string word = plain_word(name);
  if (word.size() > 2 && word.ends_with("id")) word.resize(word.size() - 2);
  return word;
}

}  // namespace

EndColumns ends_by_name(const std::vector<std::string>& names) {
  static const std::vector<std::pair<const char*, const char*>> pairs = {{"source", "target"},
                                                                         {"source", "destination"},
                                                                         {"src", "dst"},
                                                                         {"src", "dest"},
                                                                         {"src", "tgt"},
                                                                         {"source", "dest"},
                                                                         {"from", "to"},
                                                                         {"sourceid", "targetid"},
                                                                         {"sourcenode", "targetnode"},
                                                                         {"sourceid", "destinationid"},
                                                                         {"srcid", "dstid"},
                                                                         {"fromnode", "tonode"},
                                                                         {"fromid", "toid"},
                                                                         {"fromnodeid", "tonodeid"},
                                                                         {"node1", "node2"},
                                                                         {"nodeid1", "nodeid2"},
                                                                         {"id1", "id2"},
                                                                         {"nodea", "nodeb"},
                                                                         {"u", "v"},
                                                                         {"citing", "cited"},
                                                                         {"startnode", "endnode"},
                                                                         {"startid", "endid"},
                                                                         {"start", "end"},
                                                                         {"sender", "receiver"},
                                                                         {"senderid", "receiverid"},
                                                                         {"sender", "recipient"},
                                                                         {"caller", "callee"},
                                                                         {"follower", "followee"},
                                                                         {"followerid", "followeeid"},
                                                                         {"user1", "user2"},
                                                                         {"userid1", "userid2"},
                                                                         {"person1", "person2"},
                                                                         {"persona", "personb"},
                                                                         {"stationa", "stationb"},
                                                                         {"parent", "child"},
                                                                         {"parentid", "childid"},
                                                                         {"origin", "dest"},
                                                                         {"origin", "destination"},
                                                                         {"buyer", "seller"},
                                                                         {"customer", "merchant"},
                                                                         {"i", "j"}};
  std::vector<std::string> words;
  words.reserve(names.size());
  for (const std::string& name : names) words.push_back(plain_word(name));
  const auto position = [&](const char* word) {
    return static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin());
  };
  EndColumns found;
  for (const auto& [from, to] : pairs) {
    const EndColumns ends{position(from), position(to)};
    if (ends.tail == words.size() || ends.head == words.size()) continue;
    if (std::max(ends.tail, ends.head) == 1) return ends;  // the first two columns need no better name
    if (!found.found()) found = ends;
  }
  const size_t head = position("head"), tail = position("tail");
  const EndColumns by_order{std::min(head, tail), std::max(head, tail)};
  if (by_order.head < words.size() && (by_order.head == 1 || !found.found())) found = by_order;
  return found;
}

bool name_two_kinds(const std::string& from, const std::string& to) {
  constexpr size_t kStem = 3;  // what columns of one kind have in common: user1_id and user2_id
  const auto is_id = [](const std::string& name) { return plain_word(name).ends_with("id"); };
  const std::string one = thing_of(from), other = thing_of(to);
  return is_id(from) && is_id(to) && one.size() >= kStem && other.size() >= kStem &&
         one.substr(0, kStem) != other.substr(0, kStem);
}

}  // namespace qw
