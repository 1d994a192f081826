#!/usr/bin/env bash
# Data and promises, from the first look at a table to the last dividend, on the
# census data Adult:
#   examples/books/run.sh [--data DIR] [FOLDER]
# A schema is made of the training part, and finds what is wrong with a damaged
# copy; two models are trained under a privacy budget, which refuses the third; a
# gate takes the better one; a market pays those who own the data; and the ledger
# that all of it was written to is verified. docs/books.md explains each promise.
#
# Data: adult.data and adult.test in DIR; without it those below WEFT_DATA, or what
# `weft data fetch adult` downloads. WEFT_BIN is a program that is built already.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
data=""
if [[ "${1:-}" == --data ]]; then
  data="$(realpath "${2:?--data needs a folder}")"
  shift 2
fi
folder="${1:-$PWD/books}"
if [[ -z "${WEFT_BIN:-}" ]]; then
  # Once, before the first command is timed by a reader's patience.
  "$root/bin/weft" --version
  WEFT_BIN="$root/build/bin/weft"
fi
weft() { "$WEFT_BIN" "$@"; }
say() { printf '\n== %s\n' "$*"; }

if [[ -e "$folder/books.db" ]]; then
  echo "$folder has books already: give another folder" >&2
  exit 2
fi
mkdir -p "$folder"
cd "$folder"
if [[ -z "$data" ]]; then
  data="${WEFT_DATA:-$HOME/.cache/weft/data}/adult"
  [[ -f "$data/adult.data" ]] || weft data fetch adult
fi
# Where trainings and the gate find it by its name.
mkdir data
ln -s "$data" data/adult
export WEFT_DATA="$PWD/data"

say "1. Are the data right?"
weft validate infer "$data/adult.data" -o adult-schema.toml
weft validate check "$data/adult.data" --schema adult-schema.toml
# Somebody renames a category, and writes ages as words.
sed -e '1,3000s/Private/private/' -e '1,30s/^[0-9]*,/old,/' \
  "$data/adult.data" > damaged.data
if weft validate check damaged.data --schema adult-schema.toml; then
  echo "the damage was not found" >&2
  exit 1
fi

say "2. Two models within a budget, and no third"
weft budget add books.db adult --epsilon 3.5 --delta 1e-5
train() { # NAME, and what else is set
  local name="$1"
  shift
  weft train "$root/recipes/adult.toml" --out "$name" \
    --set privacy.ledger=books.db --set privacy.blocks=adult \
    --set privacy.clip_norm=0.5 --set train.batch=512 "$@"
}
train small --set privacy.epsilon=0.3 --set train.epochs=1 \
  --set optimizer.lr=0.0005
train large --set privacy.epsilon=2.5 --set train.epochs=8 \
  --set optimizer.lr=0.003
if train third --set privacy.epsilon=2.5 --set train.epochs=8; then
  echo "the budget was overdrawn" >&2
  exit 1
fi
weft budget show books.db --page budget.html

say "3. Is the second model better? A gate says so, or not"
cat > gate.toml <<GATE
[gate]
condition = "n - o > 0.03 +/- 0.025"
reliability = 0.95
adaptivity = "first-change"
steps = 2
recipe = "$root/recipes/adult.toml"
ledger = "books.db"
key = "gate.key"
GATE
weft gate key gate.key
weft gate init gate.toml --old small
weft gate submit gate.toml large
weft gate status gate.toml

say "4. Who is paid? Owners of data, by what was read"
for who in treasurer platform vendor anna buyer worker machine; do
  weft market key "$who.key" > "$who"
done
weft market begin books.db --treasurer "$(cat treasurer)" \
  --platform "$(cat platform)" --vendor "$(cat vendor)"
send() { weft market send books.db "$@"; }
decide() { # NUMBER, and what is to be done
  local number="$1"
  shift
  send propose association=1 "$@" --key anna.key
  send vote proposal="$number" approve=true --key anna.key
  sleep 3 # the time for debate, of the ledger's clock
  send execute proposal="$number" "$@" --key anna.key
}
send found name=census quorum=1 debate=2 --key anna.key
decide 1 kind=database name=adult price=1000
shard="$(weft market seal adult --data "$data" --rows 0-3999 --store store \
  --keys anna.shards)"
# shellcheck disable=SC2086 # they are several fields
decide 2 kind=shard recipient="$(cat anna)" amount=100 database=1 $shard
send deposit to="$(cat buyer)" amount=100000 --key treasurer.key
send deposit to="$(cat worker)" amount=1000 --key treasurer.key
send offer machine="$(cat machine)" price=1 stake=100 \
  certificate="$(weft market key vendor.key --certify "$(cat machine)")" \
  --key worker.key
cat > job.toml <<'RECIPE'
model.name = "wide-and-deep"
task.name = "binary"
data.name = "adult"
optimizer.name = "adam"
train.epochs = 1
train.batch = 128
RECIPE
# shellcheck disable=SC2046
send submit_job task=training owners="$(cat anna)" epochs=2 \
  contents="$(sed 's/content=\([0-9a-f]*\).*/\1/' <<< "$shard")" \
  $(weft market measure job.toml --store store) \
  gas=60000 seconds=600 patience=3600 redundancy=1 --key buyer.key
# The program itself and not the function, whose shell it would outlive.
"$WEFT_BIN" market keys books.db --keys anna.shards --socket anna.socket &
keys=$!
trap 'kill "$keys" 2>/dev/null || true' EXIT
until [[ -S anna.socket ]]; do sleep 0.1; done
weft market work books.db --key worker.key --machine machine.key --store store \
  --keys anna.socket --results results --once
weft market open results/job-1.sealed --key buyer.key -o bought.weft
send withdraw association=1 --key anna.key
weft market show books.db
weft market page books.db -o market.html

say "5. Is all of it what was written?"
weft market verify books.db
weft ledger export books.db -o books.jsonl
weft ledger verify books.db
echo
echo "Pages: $folder/budget.html, $folder/market.html"
