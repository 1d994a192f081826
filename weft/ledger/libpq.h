// PostgreSQL's own client library, which is loaded when the first ledger on a
// server is opened: programs without one neither need it nor bring it along.
//
// Threads: as libpq; loading takes turns.
#pragma once

#include <libpq-fe.h>

namespace weft {

// What we call of the library, by the names that it has there behind PQ.
struct Libpq {
  decltype(&PQclear) clear;
  decltype(&PQcmdStatus) cmdStatus;
  decltype(&PQconnectdb) connectdb;
  decltype(&PQerrorMessage) errorMessage;
  decltype(&PQexec) exec;
  decltype(&PQexecParams) execParams;
  decltype(&PQfinish) finish;
  decltype(&PQgetResult) getResult;
  decltype(&PQgetlength) getlength;
  decltype(&PQgetvalue) getvalue;
  decltype(&PQntuples) ntuples;
  decltype(&PQputCopyData) putCopyData;
  decltype(&PQputCopyEnd) putCopyEnd;
  decltype(&PQresultErrorField) resultErrorField;
  decltype(&PQresultStatus) resultStatus;
  decltype(&PQstatus) status;
  decltype(&PQtransactionStatus) transactionStatus;
};

// Throws Error(kUnavailable), saying how to get it, where it is not installed.
const Libpq& libpq();

}  // namespace weft
