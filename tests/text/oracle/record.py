"""Records what other implementations make of the texts of texts.py, as fixtures for the tokenizer tests.

    /usr/bin/python3 record.py --libllama DIR --headers DIR --gguf-py DIR --vocabularies DIR --node-modules DIR
        --names FILE [--only hugging_face vocabularies pretokenizers]

--libllama: the folder with the prebuilt libllama of @node-llama-cpp/linux-x64; --headers: llama.cpp's tree (include/ and
ggml/include/); --gguf-py: its gguf-py; --vocabularies: its models/; --node-modules: one with @anush008/tokenizers 0.6.0.
Answers are stored as one 32-bit FNV-1a hash of the ids for each text, eight hexadecimal digits.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import synthetic
import texts as texts_module

HERE = pathlib.Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"
ORACLE_PATTERNS = json.loads((HERE / "patterns.json").read_text())
CHARACTER_RULES = {"gemma4", "granite-embed-multi-311m", "sarvam-moe"}
PLACEHOLDER = "the name of a pre-tokenizer"
ABORTS = {"whitespace"}  # libllama asserts on two spaces there


def fnv(values, size):
    number = 0x811C9DC5
    for value in values:
        for byte in int(value).to_bytes(size, "little", signed=size > 1):
            number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number


def digest(answers):
    return "".join(f"{fnv(ids, 4):08x}" for ids in answers)


def pieces_digest(pieces):
    flat = []
    for piece in pieces:
        flat += [len(piece) & 255, len(piece) >> 8, *piece]
    return f"{fnv(flat, 1):08x}"


class Libllama:
    def __init__(self, options, folder):
        self.binary = folder / "libllama_tokens"
        libraries = pathlib.Path(options.libllama)
        name = lambda pattern: "-l:" + next(libraries.glob(pattern)).name
        subprocess.run(["g++", "-std=c++17", "-O1", f"-I{options.headers}/include", f"-I{options.headers}/ggml/include",
                        HERE / "libllama_tokens.cpp", "-o", self.binary, f"-L{libraries}", name("libllama.v*.so"),
                        name("libggml.v*.so"), name("libggml-base.so"), f"-Wl,-rpath,{libraries.resolve()}",
                        "-Wl,--allow-shlib-undefined"], check=True)

    def __call__(self, gguf, texts):
        done = subprocess.run([self.binary, gguf, texts], check=True, capture_output=True)
        return json.loads(done.stdout)


def base_for(gguf_py, source, target, replaced):
    """A copy of a vocabulary file as byte-level BPE, with other values where `replaced` has them."""
    sys.path.insert(0, gguf_py)
    import gguf
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    values = {key: (field.contents(), field.types) for key, field in reader.fields.items()
              if not key.startswith("GGUF.") and key != "general.architecture" and "chat_template" not in key}
    for key, value in {**replaced, "tokenizer.ggml.pre": PLACEHOLDER, "tokenizer.ggml.model": "gpt2"}.items():
        values[key] = (value, values[key][1] if key in values else [gguf.GGUFValueType.get_type(value)])
    for key, (value, types) in values.items():
        if types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, value)
        else:
            writer.add_key_value(key, value, types[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return target.read_bytes()


def with_pre(base, name):
    """The file with another pre-tokenizer: a GGUF string is its length and its bytes, and nothing points behind it."""
    string = lambda text: len(text).to_bytes(8, "little") + text.encode()
    assert base.count(string(PLACEHOLDER)) == 1
    return base.replace(string(PLACEHOLDER), string(name))


def record_vocabularies(options, libllama, texts_file):
    answers = {}
    for file in sorted(pathlib.Path(options.vocabularies).glob("ggml-vocab-*.gguf")):
        answer = libllama(file, texts_file)
        answers[file.stem.removeprefix("ggml-vocab-")] = {
            "plain": digest(answer["plain"]), "special": digest(answer["special"]), "framed": answer["framed"],
            "roles": answer["roles"], "end_of_generation": answer.get("end_of_generation", []),
            "pieces": pieces_digest(answer["pieces"])}
    return answers


def record_pretokenizers(options, libllama, texts_file, names, folder):
    models = pathlib.Path(options.vocabularies)
    shown = {"tokenizer.ggml.tokens": synthetic.tokens(), "tokenizer.ggml.merges": synthetic.merges(),
             "tokenizer.ggml.token_type": [1] * (256 + 65536), "tokenizer.ggml.bos_token_id": 0,
             "tokenizer.ggml.eos_token_id": 0, "tokenizer.ggml.add_bos_token": False}
    bytewise = base_for(options.gguf_py, models / "ggml-vocab-gpt-2.gguf", folder / "base.gguf", shown)
    characterwise = base_for(options.gguf_py, models / "ggml-vocab-gemma-4.gguf", folder / "base.gguf", {})
    answers, which = [], {}
    for name in sorted(set(names) - ABORTS):
        (folder / "pre.gguf").write_bytes(with_pre(characterwise if name in CHARACTER_RULES else bytewise, name))
        answer = digest(libllama(folder / "pre.gguf", texts_file)["plain"])
        if answer not in answers:
            answers.append(answer)
        which[name] = answers.index(answer)
    return {"answers": answers, "names": which}


def hugging_face(options, description, texts_file, folder):
    file = folder / "tokenizer.json"
    file.write_text(json.dumps({"version": "1.0", "added_tokens": [], "post_processor": None, **description}))
    done = subprocess.run(["node", HERE / "hugging_face_tokens.cjs", options.node_modules, file, texts_file],
                          check=True, capture_output=True)
    return digest(json.loads(done.stdout))


def record_word_piece(options, texts_file, folder):
    """BERT's own rules over the vocabulary of bert-bge, spelled the way GGUF does not: "##" before later pieces."""
    sys.path.insert(0, options.gguf_py)
    import gguf
    reader = gguf.GGUFReader(f"{options.vocabularies}/ggml-vocab-bert-bge.gguf")
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    types = reader.fields["tokenizer.ggml.token_type"].contents()
    spelled = [t if k == 3 else t[1:] if t.startswith("\u2581") else "##" + t for t, k in zip(tokens, types)]
    return hugging_face(options, {
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {t: i for i, t in enumerate(spelled)}}}, texts_file, folder)


def record_hugging_face(options, texts_file, folder):
    answers = {"bert-bge": record_word_piece(options, texts_file, folder)}
    for name, patterns in ORACLE_PATTERNS.items():
        split = [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False} for p in patterns]
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        answers[name] = hugging_face(options, {
            "normalizer": None, "decoder": byte_level,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*split, byte_level]},
            "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(synthetic.tokens())},
                      "merges": synthetic.merges(), "unk_token": None}}, texts_file, folder)
    return answers


def write(name, value):
    (FIXTURES / name).write_text(json.dumps(value, indent=1, ensure_ascii=True) + "\n")


def main():
    parser = argparse.ArgumentParser()
    for name in ["libllama", "headers", "gguf-py", "vocabularies"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--node-modules")
    parser.add_argument("--names", help="a file with the names of all pre-tokenizers, one a line")
    parser.add_argument("--only", nargs="*", default=["hugging_face", "vocabularies", "pretokenizers"])
    options = parser.parse_args()
    FIXTURES.mkdir(exist_ok=True)
    write("texts.json", texts_module.texts())
    texts_file = FIXTURES / "texts.json"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if "hugging_face" in options.only:
            write("hugging_face.json", record_hugging_face(options, texts_file, folder))
        libllama = Libllama(options, folder)
        if "vocabularies" in options.only:
            write("vocabularies.json", record_vocabularies(options, libllama, texts_file))
        if "pretokenizers" in options.only:
            names = pathlib.Path(options.names).read_text().split()
            write("pretokenizers.json", record_pretokenizers(options, libllama, texts_file, names, folder))


if __name__ == "__main__":
    main()
