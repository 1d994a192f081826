#include "weft/ledger/libpq.h"

#include "weft/base/libraries/shared_library.h"

namespace weft {
namespace {

Libpq load_libpq() {
  const SharedLibrary library({.name = "PostgreSQL's client library",
                               .variable = "WEFT_LIBPQ",
                               .files = {"libpq.so.5"},
                               .how = "apt-get install libpq5; WEFT_LIBPQ=FILE "
                                      "names one that lies elsewhere"});
  Libpq found;
  library.find(found.clear, "PQclear");
  library.find(found.cmdStatus, "PQcmdStatus");
  library.find(found.connectdb, "PQconnectdb");
  library.find(found.errorMessage, "PQerrorMessage");
  library.find(found.exec, "PQexec");
  library.find(found.execParams, "PQexecParams");
  library.find(found.finish, "PQfinish");
  library.find(found.getResult, "PQgetResult");
  library.find(found.getlength, "PQgetlength");
  library.find(found.getvalue, "PQgetvalue");
  library.find(found.ntuples, "PQntuples");
  library.find(found.putCopyData, "PQputCopyData");
  library.find(found.putCopyEnd, "PQputCopyEnd");
  library.find(found.resultErrorField, "PQresultErrorField");
  library.find(found.resultStatus, "PQresultStatus");
  library.find(found.status, "PQstatus");
  library.find(found.transactionStatus, "PQtransactionStatus");
  return found;
}

}  // namespace

const Libpq& libpq() {
  static const Libpq loaded = load_libpq();
  return loaded;
}

}  // namespace weft
