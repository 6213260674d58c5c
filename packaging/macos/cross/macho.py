"""Reads 64-bit Mach-O files and the text stubs of libraries, as far as checking what is shipped needs."""
import hashlib
import re
import struct

MH_MAGIC_64, CPU_TYPE_ARM64 = 0xFEEDFACF, 0x0100000C
MH_EXECUTE, MH_DYLIB, MH_BUNDLE = 2, 6, 8
LC_SYMTAB, LC_ID_DYLIB, LC_RPATH, LC_BUILD_VERSION = 0x2, 0xD, 0x8000001C, 0x32
LC_CODE_SIGNATURE, LC_DYLD_INFO, LC_DYLD_EXPORTS_TRIE = 0x1D, 0x80000022, 0x80000033
LOAD_DYLIBS = {0xC, 0x80000018, 0x8000001F}  # LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_REEXPORT_DYLIB
N_STAB, N_TYPE, N_UNDF, N_WEAK_REF = 0xE0, 0x0E, 0, 0x40
CS_SUPERBLOB, CS_CODEDIRECTORY, CS_ADHOC, CS_SHA256 = 0xFADE0CC0, 0xFADE0C02, 0x2, 2


class MachO:
    """cpu, kind, name (the install name), dylibs and rpaths (in order), minimum (the oldest macOS, as (14, 0))."""

    def __init__(self, data):
        if len(data) < 32 or struct.unpack_from("<I", data)[0] != MH_MAGIC_64:
            raise ValueError("it is not a 64-bit Mach-O file")
        self.data = data
        _, self.cpu, _, self.kind, count = struct.unpack_from("<5I", data)
        self.name, self.dylibs, self.rpaths, self.minimum = None, [], [], None
        self.signature_at = self._trie = self._symtab = None
        offset = 32
        for _ in range(count):
            command, size = struct.unpack_from("<II", data, offset)
            self._read(command, offset, size)
            offset += size

    def _read(self, command, offset, size):
        first, second, third, fourth = struct.unpack_from("<4I", self.data.ljust(offset + 24, b"\0"), offset + 8)
        if command in LOAD_DYLIBS or command in (LC_ID_DYLIB, LC_RPATH):
            text = self.data[offset + first:offset + size].split(b"\0")[0].decode()
            if command == LC_ID_DYLIB:
                self.name = text
            else:
                (self.rpaths if command == LC_RPATH else self.dylibs).append(text)
        elif command == LC_BUILD_VERSION:
            self.minimum = (second >> 16, second >> 8 & 0xFF)
        elif command == LC_SYMTAB:
            self._symtab = (first, second, third, fourth)
        elif command == LC_CODE_SIGNATURE:
            self.signature_at = (first, second)
        elif command == LC_DYLD_EXPORTS_TRIE:
            self._trie = self.data[first:first + second]
        elif command == LC_DYLD_INFO:
            at, length = struct.unpack_from("<II", self.data, offset + 40)
            self._trie = self.data[at:at + length]

    def symbols(self):
        """(name, the library's number in `dylibs` from 1, whether it may be missing) of each undefined symbol, and
        (name, None, False) of each defined one, local ones too. Numbers of 0 and above 252 are special."""
        at, count, strings, _ = self._symtab
        for index in range(count):
            name, kind, _, description, _ = struct.unpack_from("<IBBHQ", self.data, at + 16 * index)
            if kind & N_STAB:
                continue
            begin = strings + name
            text = self.data[begin:self.data.index(b"\0", begin)].decode()
            if kind & N_TYPE == N_UNDF:
                yield text, description >> 8, bool(description & N_WEAK_REF)
            else:
                yield text, None, False

    def exports(self, symbol):
        """Whether it exports that symbol."""
        rest, node = symbol.encode(), 0
        while self._trie:
            size, at = _uleb(self._trie, node)
            if not rest:
                return size > 0
            at += size
            children, at = self._trie[at], at + 1
            for _ in range(children):
                end = self._trie.index(b"\0", at)
                label = self._trie[at:end]
                child, at = _uleb(self._trie, end + 1)
                if rest.startswith(label):
                    rest, node = rest[len(label):], child
                    break
            else:
                return False
        return False

    def exported(self, node=0, prefix=b""):
        """All exported symbols."""
        if not self._trie:
            return
        size, at = _uleb(self._trie, node)
        if size:
            yield prefix.decode()
        at += size
        children, at = self._trie[at], at + 1
        for _ in range(children):
            end = self._trie.index(b"\0", at)
            child, after = _uleb(self._trie, end + 1)
            yield from self.exported(child, prefix + self._trie[at:end])
            at = after

    def signature_fault(self):
        """What is wrong with its ad-hoc signature; "" if nothing is."""
        if not self.signature_at:
            return "it has no signature, and Apple's processors run none without"
        at, size = self.signature_at
        blob = self.data[at:at + size]
        if len(blob) < 12 or struct.unpack_from(">I", blob)[0] != CS_SUPERBLOB:
            return "its signature is cut off or no signature"
        for index in range(struct.unpack_from(">I", blob, 8)[0]):
            _, begin = struct.unpack_from(">II", blob, 12 + 8 * index)
            magic, length = struct.unpack_from(">II", blob, begin)
            if magic == CS_CODEDIRECTORY:
                return self._pages_fault(blob[begin:begin + length])
        return "its signature has no code directory"

    def _pages_fault(self, directory):
        flags, hashes, _, _, count, limit = struct.unpack_from(">6I", directory, 12)
        hash_size, kind, _, page_bits = struct.unpack_from(">4B", directory, 36)
        if not flags & CS_ADHOC or kind != CS_SHA256:
            return f"its signature is no ad-hoc one with SHA-256 (flags {flags:#x}, hash {kind})"
        page = 1 << page_bits
        if limit != self.signature_at[0] or count != -(-limit // page):
            return f"its signature covers {limit} bytes in {count} pages, not all before it"
        wrong = [number for number in range(count) if
                 hashlib.sha256(self.data[number * page:min(limit, (number + 1) * page)]).digest() !=
                 directory[hashes + number * hash_size:hashes + (number + 1) * hash_size]]
        return f"the signature's hash of {len(wrong)} of {count} pages is wrong (page {wrong[0]})" if wrong else ""


def _uleb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def is_macho(data):
    return data[:4] == struct.pack("<I", MH_MAGIC_64)


def stub(text):
    """A .tbd file: the install name, and the symbols for arm64 of the library and of those that it hands on."""
    install_name = re.search(r"^install-name:\s*'?([^'\n]+)", text, re.M)[1]
    symbols = set()
    for targets, body in re.findall(r"- targets:\s*\[([^\]]*)\](.*?)(?=\n\s*- targets:|\n\S|\Z)", text, re.S):
        if "arm64-macos" not in targets:
            continue
        for kind, names in re.findall(r"([\w-]+):\s*\[([^\]]*)\]", body):
            names = [name.strip(" \n'\"") for name in names.split(",")]
            if kind.endswith("symbols"):
                symbols.update(names)
            elif kind == "objc-classes":
                symbols.update(f"_OBJC_{part}_$_{name}" for name in names for part in ("CLASS", "METACLASS"))
    return install_name, symbols
