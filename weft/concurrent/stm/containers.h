// Structures whose operations are parts of transactions: several of them, on
// several structures, happen all at once.
//
//   TransactionalQueue<int> jobs, done;
//   session.run([&](Transaction<>& t) {
//     if (auto job = jobs.pop(t)) done.push(t, *job);
//   });
//
// A stack has one word that all contend for; a queue has two; a map has one for
// each bucket, and no more buckets than it was made with.
//
// Threads: all at once, through transactions of one Stm. Destructors and
// constructors run alone.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/stm/transaction.h"

namespace weft::concurrent {

template <FitsInWord T, Memory M>
struct TransactionalNode {
  TransactionalNode(T its_value, TransactionalNode* its_next)
      : value(its_value), next(its_next) {}

  static void destroy_all(TransactionalNode* node) {
    while (node != nullptr) {
      TransactionalNode* next = node->next.unshared();
      delete node;
      node = next;
    }
  }

  Cell<T, M> value;
  Cell<TransactionalNode*, M> next;
};

template <FitsInWord T, Memory M = RealMemory>
class TransactionalStack {
 public:
  TransactionalStack() = default;
  TransactionalStack(const TransactionalStack&) = delete;
  TransactionalStack& operator=(const TransactionalStack&) = delete;
  ~TransactionalStack() { Node::destroy_all(top_.unshared()); }

  void push(Transaction<M>& t, T value) {
    t.write(top_, t.template create<Node>(value, t.read(top_)));
  }

  // Nothing where it is empty.
  std::optional<T> pop(Transaction<M>& t) {
    Node* top = t.read(top_);
    if (top == nullptr) return std::nullopt;
    t.write(top_, t.read(top->next));
    const T value = t.read(top->value);
    t.destroy(top);
    return value;
  }

 private:
  using Node = TransactionalNode<T, M>;
  LockedCell<Node*, M> top_{nullptr};
};

template <FitsInWord T, Memory M = RealMemory>
class TransactionalQueue {
 public:
  TransactionalQueue() = default;
  TransactionalQueue(const TransactionalQueue&) = delete;
  TransactionalQueue& operator=(const TransactionalQueue&) = delete;
  ~TransactionalQueue() { Node::destroy_all(first_.unshared()); }

  void push(Transaction<M>& t, T value) {
    Node* node = t.template create<Node>(value, nullptr);
    if (Node* last = t.read(last_))
      t.write(last->next, node);
    else
      t.write(first_, node);
    t.write(last_, node);
  }

  // Nothing where it is empty.
  std::optional<T> pop(Transaction<M>& t) {
    Node* first = t.read(first_);
    if (first == nullptr) return std::nullopt;
    Node* next = t.read(first->next);
    t.write(first_, next);
    if (next == nullptr) t.write(last_, nullptr);
    const T value = t.read(first->value);
    t.destroy(first);
    return value;
  }

 private:
  using Node = TransactionalNode<T, M>;
  LockedCell<Node*, M> first_{nullptr};
  LockedCell<Node*, M> last_{nullptr};
};

template <FitsInWord Key, FitsInWord Value, Memory M = RealMemory>
class TransactionalMap {
 public:
  // Throws Error(kInvalidArgument) for no buckets.
  explicit TransactionalMap(std::size_t buckets) : buckets_(buckets) {
    if (buckets == 0)
      throw Error(ErrorCode::kInvalidArgument, "TransactionalMap",
                  "there must be at least one bucket");
  }
  TransactionalMap(const TransactionalMap&) = delete;
  TransactionalMap& operator=(const TransactionalMap&) = delete;
  ~TransactionalMap() {
    for (auto& bucket : buckets_) {
      for (Node* node = bucket.unshared(); node != nullptr;) {
        Node* next = node->next.unshared();
        delete node;
        node = next;
      }
    }
  }

  std::optional<Value> find(Transaction<M>& t, Key key) {
    const Place place = place_of(t, key);
    if (place.node == nullptr) return std::nullopt;
    return t.read(place.node->value);
  }

  // Sets or replaces.
  void set(Transaction<M>& t, Key key, Value value) {
    const Place place = place_of(t, key);
    if (place.node != nullptr) return t.write(place.node->value, value);
    auto& bucket = bucket_of(key);
    t.write(bucket, t.template create<Node>(key, value, t.read(bucket)));
  }

  // Whether it was there.
  bool erase(Transaction<M>& t, Key key) {
    const Place place = place_of(t, key);
    if (place.node == nullptr) return false;
    Node* next = t.read(place.node->next);
    if (place.before != nullptr)
      t.write(place.before->next, next);
    else
      t.write(bucket_of(key), next);
    t.destroy(place.node);
    return true;
  }

 private:
  struct Node {
    Node(Key its_key, Value its_value, Node* its_next)
        : key(its_key), value(its_value), next(its_next) {}
    const Key key;  // never changes: read without a transaction
    Cell<Value, M> value;
    Cell<Node*, M> next;
  };
  struct Place {
    Node* before = nullptr;  // null: the node is the first
    Node* node = nullptr;
  };

  auto& bucket_of(Key key) {
    return buckets_[std::hash<Key>{}(key) % buckets_.size()];
  }

  Place place_of(Transaction<M>& t, Key key) {
    Place place{nullptr, t.read(bucket_of(key))};
    while (place.node != nullptr && place.node->key != key)
      place = {place.node, t.read(place.node->next)};
    return place;
  }

  std::vector<LockedCell<Node*, M>> buckets_;
};

}  // namespace weft::concurrent
