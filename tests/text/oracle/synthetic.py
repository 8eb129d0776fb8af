"""A vocabulary that shows where a text was cut: every byte is a token, and every pair of bytes merges, in a scattered
order, so that two words give other tokens than one word of the same bytes. synthetic.cpp of the tests makes the same."""


def letters():
    """GPT-2's letter for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, spare = {}, 0x100
    for byte in range(256):
        table[byte] = chr(byte) if byte in printable else chr(spare)
        spare += byte not in printable
    return table


def pairs():
    """All 65,536 pairs of bytes, in order of rank."""
    table = letters()
    for rank in range(65536):
        pair = (rank * 40503 + 12345) % 65536
        yield table[pair >> 8], table[pair & 255]


def tokens():
    return list(letters().values()) + [a + b for a, b in pairs()]


def merges():
    return [f"{a} {b}" for a, b in pairs()]
