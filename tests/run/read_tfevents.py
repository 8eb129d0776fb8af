#!/usr/bin/env python3
"""Reads a TensorBoard event file without TensorFlow, protobuf or any code of toy, and prints what it holds.

usage: read_tfevents.py FILE

Checks both CRCs of each record bit by bit (RFC 3720, polynomial 0x82F63B78, masked as TensorFlow does) and decodes the
wire format of protobuf. Prints "version TEXT" and "STEP TAG VALUE WALL_TIME" lines.
"""

import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message; strings and messages as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            sys.exit(f"wire type {kind}")
        yield key >> 3, value


def main():
    with open(sys.argv[1], "rb") as stream:
        data = stream.read()
    at = 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        record = data[at + 12 : at + 12 + length]
        (record_crc,) = struct.unpack_from("<I", data, at + 12 + length)
        if masked(data[at : at + 8]) != length_crc or masked(record) != record_crc:
            sys.exit(f"a CRC is wrong at byte {at}")
        at += 16 + length
        event = dict(fields(record))
        if 3 in event:
            print("version", event[3].decode())
            continue
        for number, value in fields(event[5]):
            assert number == 1
            scalar = dict(fields(value))
            print(event[2], scalar[1].decode(), repr(scalar[2]), repr(event[1]))


main()
