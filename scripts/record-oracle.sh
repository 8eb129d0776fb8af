#!/bin/sh
# Records tests/fixtures/oracle/*.json: what libllama computes for the models of tests/oracle/plan.txt (docs/oracle.md).
# usage: scripts/record-oracle.sh [NAME...]      without names: every line of the plan
set -eu

cd "$(dirname "$0")/.."
scripts/fetch-oracle.sh
libraries=build/oracle/lib
oracle=build/oracle/libllama_oracle
if [ ! -x $oracle ] || [ tests/oracle/libllama_oracle.cpp -nt $oracle ]; then
    g++ -std=c++17 -O2 -Wall -Wextra -isystem build/oracle/include tests/oracle/libllama_oracle.cpp -o $oracle -L$libraries \
        $(cd $libraries && ls libllama.v*.so libggml.v*.so libggml-base.so | sed 's/^/-l:/') \
        -Wl,-rpath,'$ORIGIN/lib' -Wl,--allow-shlib-undefined
fi
mkdir -p tests/fixtures/oracle build/oracle/models
maker=build/release/bin/make_random_model

while read -r name model options; do
    case $name in '' | \#*) continue ;; esac
    case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
    case $model in
        */*) file=$model
            [ -f "$file" ] || { echo "$name: $file is absent, left as it is"; continue; } ;;
        *) file=build/oracle/models/$model.gguf
            [ -x $maker ] || { scripts/bootstrap.sh && scripts/build.sh release; }
            $maker "$model" "$file" ;;
    esac
    # shellcheck disable=SC2086  # options are words
    $oracle $libraries "$file" --name "$model" $options >build/oracle/fixture.json
    mv build/oracle/fixture.json "tests/fixtures/oracle/$name.json"
    echo "$name: $(wc -c <"tests/fixtures/oracle/$name.json") bytes"
done <tests/oracle/plan.txt
