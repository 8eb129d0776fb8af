# What toy fetches from the npm registry, by version and integrity hash. Sourced by the scripts beside it.
# llama.cpp v0.5.0 as a git bundle: ggml 0.25.1, tokenizer vocabularies, llama-bench.
LLAMA_SOURCE_PACKAGE=node-llama-cpp@3.22.1
LLAMA_SOURCE_INTEGRITY=sha512-bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==
# The same release as a prebuilt library for Linux on x86-64: the oracle that scripts/record-oracle.sh asks.
LLAMA_BINARY_PACKAGE=@node-llama-cpp/linux-x64@3.22.1
LLAMA_BINARY_INTEGRITY=sha512-5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg==
