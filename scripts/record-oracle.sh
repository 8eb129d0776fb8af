#!/bin/sh
# Records what libllama computes (docs/oracle.md): tests/fixtures/oracle/*.json for the models of tests/oracle/plan.txt,
# tests/fixtures/families/*.json for the families of tests/oracle/families.txt, and what the definitions give in float64:
# tests/fixtures/float64/*.json; what PyTorch derives in float64: tests/fixtures/gradients, tests/fixtures/training; what
# llama.cpp's quantiser writes: tests/fixtures/quantize/*.json; and what an importance matrix sums up:
# tests/fixtures/imatrix/*.json.
# usage: scripts/record-oracle.sh [NAME...]      names of any list; without names: all
set -eu

cd "$(dirname "$0")/.."
scripts/fetch-oracle.sh
libraries=build/oracle/lib
for program in libllama_oracle libllama_families libllama_quantize libllama_imatrix; do
    oracle=build/oracle/$program
    if [ ! -x $oracle ] || [ tests/oracle/$program.cpp -nt $oracle ] || [ tests/oracle/libllama.h -nt $oracle ]; then
        # shellcheck disable=SC2046  # libraries are words
        g++ -std=c++17 -O2 -Wall -Wextra -isystem build/oracle/include tests/oracle/$program.cpp -o $oracle -L$libraries \
            $(cd $libraries && ls libllama.v*.so libggml.v*.so libggml-base.so | sed 's/^/-l:/') \
            -Wl,--allow-shlib-undefined
    fi
done
mkdir -p build/oracle/models
for kind in oracle families float64 quantize imatrix; do mkdir -p tests/fixtures/$kind; done
maker=build/release/bin/make_random_model
[ -x $maker ] || { scripts/bootstrap.sh && scripts/build.sh release; }

is_wanted() {
    case " $wanted " in "  " | *" $1 "*) return 0 ;; esac
    return 1
}
wanted="$*"

while read -r name model options; do
    case $name in '' | \#*) continue ;; esac
    is_wanted "$name" || continue
    case $model in
        */*) file=$model
            [ -f "$file" ] || { echo "$name: $file is absent, left as it is"; continue; } ;;
        *) file=build/oracle/models/$model.gguf
            $maker "$model" "$file" ;;
    esac
    # shellcheck disable=SC2086  # options are words
    LD_LIBRARY_PATH=$libraries build/oracle/libllama_oracle $libraries "$file" --name "$model" $options >build/oracle/fixture.json
    mv build/oracle/fixture.json "tests/fixtures/oracle/$name.json"
    echo "$name: $(wc -c <"tests/fixtures/oracle/$name.json") bytes"
done <tests/oracle/plan.txt

while read -r family types library context longest steps; do
    case $family in '' | \#*) continue ;; esac
    is_wanted "$family" || continue
    folder=$libraries
    if [ "$library" = exact-gelu ]; then
        scripts/build-exact-gelu.sh
        folder=build/oracle/lib-exact-gelu
    fi
    suffix=${context:+-c$context}
    [ "$library" != gelu-table ] || suffix=-gelu-table
    for type in $(echo "$types" | tr ',' ' '); do
        file=build/oracle/models/family.gguf
        $maker "$family:$type" $file
        name=$family-$type$suffix
        LD_LIBRARY_PATH=$folder build/oracle/libllama_families $folder $file "$family:$type" ${context:+"$context" "$longest" "$steps"} \
            >build/oracle/fixture.json
        mv build/oracle/fixture.json "tests/fixtures/families/$name.json"
        echo "$name: $(wc -c <"tests/fixtures/families/$name.json") bytes"
    done
done <tests/oracle/families.txt

for family in gpt2 llama qwen2 gemma2 mistral phi3 phi3-window; do
    is_wanted "$family" || continue
    $maker "$family:f32" build/oracle/models/family.gguf
    /usr/bin/python3 tests/oracle/float64_models.py build/oracle/models/family.gguf "$family:f32" >build/oracle/fixture.json
    mv build/oracle/fixture.json "tests/fixtures/float64/$family.json"
    echo "$family in float64: $(wc -c <"tests/fixtures/float64/$family.json") bytes"
done

if is_wanted gradients; then
    /usr/bin/python3 tests/oracle/gradients_torch.py build/oracle/fixture.json
    mv build/oracle/fixture.json tests/fixtures/gradients/operators.json
fi

for family in gpt2 llama gemma2 mixtral; do
    is_wanted "training-$family" || continue
    $maker "$family:f32" build/oracle/models/family.gguf
    /usr/bin/python3 tests/oracle/training_torch.py build/oracle/models/family.gguf "$family:f32" >build/oracle/fixture.json
    mv build/oracle/fixture.json "tests/fixtures/training/$family.json"
    echo "training-$family: $(wc -c <"tests/fixtures/training/$family.json") bytes"
done

for model in small deep shared 70b qwen2-72b odd moe4 moe8 falcon gemma2 gpt2 mamba deepseek2 requantized; do
    is_wanted "quantize-$model" || continue
    file=build/oracle/models/family.gguf
    $maker "quantize/$model" $file
    $maker "importance/$model" build/oracle/models/importance.dat
    LD_LIBRARY_PATH=$libraries build/oracle/libllama_quantize $libraries $file "$model" build/oracle/models/importance.dat \
        >build/oracle/fixture.json
    mv build/oracle/fixture.json "tests/fixtures/quantize/$model.json"
    echo "quantize-$model: $(wc -c <"tests/fixtures/quantize/$model.json") bytes"
done

for family in llama qwen2 qwen3 mixtral qwen2moe olmo2 deepseek2; do
    is_wanted "imatrix-$family" || continue
    file=build/oracle/models/family.gguf
    $maker "$family:f32" $file
    LD_LIBRARY_PATH=$libraries build/oracle/libllama_imatrix $libraries $file "$family:f32" >build/oracle/fixture.json
    mv build/oracle/fixture.json "tests/fixtures/imatrix/$family.json"
    echo "imatrix-$family: $(wc -c <"tests/fixtures/imatrix/$family.json") bytes"
done

# A model that toy has loaded and written again is the same model to llama.cpp: the same answers to the last bit. But
# DeepSeek-V2's older layout is written in the newer one, with which llama.cpp rounds in other places.
for family in $(sed -n 's/^\([a-z0-9-]*\) .*/\1/p' tests/oracle/families.txt | sort -u); do
    [ "$family" != deepseek2-joint ] || continue
    is_wanted "saved-$family" || continue
    for model in "$family:f32" "saved/$family:f32"; do
        $maker "$model" build/oracle/models/family.gguf
        LD_LIBRARY_PATH=$libraries build/oracle/libllama_families $libraries build/oracle/models/family.gguf "$family:f32" |
            grep -v model_fnv1a >"build/oracle/${model%%/*}.answers"
    done
    cmp "build/oracle/$family:f32.answers" build/oracle/saved.answers
    rm "build/oracle/$family:f32.answers" build/oracle/saved.answers
    echo "saved-$family: the same answers"
done
rm -f build/oracle/models/family.gguf build/oracle/models/importance.dat
