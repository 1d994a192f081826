// A book: what follows from its records in a ledger. Several processes keep one
// together, as each reads what the others wrote before it decides.
//
//   struct Balance {  // a pure function of the records
//     std::int64_t left = 100;
//     void apply(const LedgerRecord& record);
//   };
//   Book<Balance> book(ledger, "till");
//   book.transact([&](BookWriter<Balance>& writer) {
//     if (writer.state().left < price) throw …;
//     writer.append("spend", body, request);
//   });
//
// Threads: as its ledger.
// Errors:  what State::apply() throws for a record that no book of ours wrote.
// Cost:    memory of the state; each record of the ledger is read and checked
//          once by each process.
#pragma once

#include <string>
#include <utility>

#include "weft/ledger/ledger.h"

namespace weft {

template <class State>
class Book;

// What a transaction on a book sees and does.
template <class State>
class BookWriter {
 public:
  // With what this transaction has appended.
  const State& state() const { return book_.state_; }
  std::int64_t now() const { return writer_.now(); }
  const LedgerHead& head() const { return writer_.head(); }
  std::optional<LedgerRecord> find(const std::string& key) {
    return writer_.find(book_.name_, key);
  }
  // In another book of the ledger, for what depends on it.
  std::optional<LedgerRecord> find(const std::string& book,
                                   const std::string& key) {
    return writer_.find(book, key);
  }
  const LedgerRecord& append(std::string kind, std::string body,
                             std::string key = {}) {
    const LedgerRecord& record = writer_.append(
        {book_.name_, std::move(kind), std::move(body), std::move(key)});
    book_.state_.apply(record);
    return record;
  }

 private:
  friend class Book<State>;
  BookWriter(Book<State>& book, LedgerWriter& writer)
      : book_(book), writer_(writer) {}

  Book<State>& book_;
  LedgerWriter& writer_;
};

template <class State>
class Book {
 public:
  // `ledger` must outlive the book. `beginning` is the state before the first
  // record.
  Book(Ledger& ledger, std::string name, State beginning = {})
      : ledger_(ledger),
        name_(std::move(name)),
        beginning_(std::move(beginning)),
        state_(beginning_),
        read_(ledger.beginning()) {}

  // With all that has been written by now, by whomever.
  const State& current() {
    guarded([&] { catch_up(); });
    return state_;
  }

  // Runs `decide` with the newest state while nobody else writes; see
  // Ledger::transact.
  template <class Decide>
  auto transact(Decide&& decide) {
    return guarded([&] {
      return ledger_.transact([&](LedgerWriter& writer) {
        if (ahead_) begin_again();
        catch_up();
        ahead_ = true;
        BookWriter<State> within(*this, writer);
        // Runs at the end of this scope, before what is decided is written.
        const NoteEnd note{*this, writer};
        return decide(within);
      });
    });
  }

  Ledger& ledger() { return ledger_; }
  // Up to where the state was read.
  const LedgerHead& head() const { return read_; }

 private:
  friend class BookWriter<State>;

  // Where the chain ends with what a transaction appended.
  struct NoteEnd {
    Book& book;
    const LedgerWriter& writer;
    ~NoteEnd() { book.read_ = writer.head(); }
  };

  void catch_up() {
    read_ = ledger_.read(read_, [&](const LedgerRecord& record) {
      if (record.book == name_) state_.apply(record);
    });
  }
  void begin_again() {
    state_ = beginning_;
    read_ = ledger_.beginning();
    ahead_ = false;
  }
  // A state with what was then not written is made anew.
  template <class Body>
  auto guarded(Body&& body) {
    struct Guard {
      Book& book;
      bool done = false;
      ~Guard() {
        if (!done) book.begin_again();
      }
    } guard{*this};
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      guard.done = true;
      ahead_ = false;
    } else {
      auto result = body();
      guard.done = true;
      ahead_ = false;
      return result;
    }
  }

  Ledger& ledger_;
  std::string name_;
  State beginning_;
  State state_;
  LedgerHead read_;
  // Whether the state holds records that may not have been written: a
  // transaction is under way.
  bool ahead_ = false;
};

}  // namespace weft
