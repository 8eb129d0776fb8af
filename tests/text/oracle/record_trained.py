"""Records how libllama reads the vocabularies that `toy tokenizer train` makes: tests/text/fixtures/trained.json.

    /usr/bin/python3 record_trained.py --libllama DIR --headers DIR --toy build/release/bin/toy

--libllama and --headers as for record.py. Trained on the texts of texts.py that a vocabulary of characters can hold,
then asked about the same texts: libllama ends the program on a character that such a vocabulary lacks.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import record
import texts as texts_module

VOCABULARIES = {"bpe": ["--vocab", "420"], "char": [], "byte": []}
SPECIAL = ["--special", "<|im_start|>", "--special", "<|im_end|>"]


def main():
    parser = argparse.ArgumentParser()
    for name in ["libllama", "headers", "toy"]:
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    texts = [text for text in texts_module.texts() if not {"\u2581", "\0"} & set(text)]
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        libllama = record.Libllama(options, folder)
        (folder / "texts.json").write_text(json.dumps(texts))
        (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        for kind, flags in VOCABULARIES.items():
            gguf = folder / f"{kind}.gguf"
            subprocess.run([options.toy, "tokenizer", "train", "--data", folder / "texts.jsonl", "--tokenizer", kind,
                            "--out", gguf, *flags, *SPECIAL], check=True, stdout=subprocess.DEVNULL)
            answer = libllama(gguf, folder / "texts.json")
            answers[kind] = {"plain": record.digest(answer["plain"]), "special": record.digest(answer["special"]),
                             "framed": answer["framed"], "roles": answer["roles"],
                             "end_of_generation": answer.get("end_of_generation", []),
                             "size": len(answer["pieces"]), "pieces": record.pieces_digest(answer["pieces"])}
    record.write("trained.json", answers)


main()
