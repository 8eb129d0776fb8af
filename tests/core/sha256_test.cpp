#include "core/sha256.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/temp_folder.h"

namespace toy {
namespace {

// The examples of FIPS 180-4 (NIST, "SHA256.pdf"), and the empty text.
TEST(Sha256, GivesThePublishedSums) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesAndFilesGiveTheSameSum) {
    const TempFolder folder;
    const std::string text(3000000, 'x');
    Sha256 sum;
    for (size_t at = 0; at < text.size(); at += 7777) sum.update(std::string_view(text).substr(at, 7777));
    EXPECT_EQ(sum.hex(), sha256_hex(text));
    EXPECT_EQ(sum_of_file(folder.file("f", text)), (FileSum{sha256_hex(text), text.size()}));
}

TEST(Sha256, FilesThatCannotBeReadAreRefused) {
    const TempFolder folder;
    EXPECT_THROW(sum_of_file(folder / "none"), Error);
    EXPECT_THROW(sum_of_file(folder.path()), Error);
}

}  // namespace
}  // namespace toy
