// What Hugging Face's tokenizers (the Rust library, as @anush008/tokenizers) makes of texts; run by record.py.
//   node hugging_face_tokens.cjs node_modules tokenizer.json texts.json > answer.json
const { readFileSync } = require("node:fs");
const [modules, file, texts] = process.argv.slice(2);
const { Tokenizer } = require(`${modules}/@anush008/tokenizers`);
(async () => {
    const tokenizer = await Tokenizer.fromFile(file);
    const answer = [];
    for (const text of JSON.parse(readFileSync(texts, "utf8"))) {
        const encoding = text === "" ? null : await tokenizer.encode(text, null, { addSpecialTokens: false });
        answer.push(encoding ? encoding.getIds() : []);
    }
    console.log(JSON.stringify(answer));
})();
