"""How many tokens a text costs a model, guessed without a tokenizer (memory-engine, section 5).

A text is cut as tokenizers of the GPT-4 family cut it before they look into their vocabulary: a word with the blank or the
sign before it, up to three digits, a run of signs, a run of blanks. Such a piece is never joined with its neighbours, so the
cost of a text is the sum of its pieces. What a piece costs is read from a few tables by its class and its length.

All constants are hundredths of a token of cl100k, fitted on texts of others (docs/tokens.md says which); integers, so that
a sum does not depend on its order. Time is linear in the text.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

_SCALE = 100

_LATIN = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_PIECES = re.compile(
    rf"[ -/:-@\[-`{{-~\t]?[{_LATIN}]+"  # a word and what stands before it
    r"|[0-9]{1,3}"
    r"| ?[!-/:-@\[-`{-~]+\n*"  # signs and the line's end
    rf"| ?[^\x00-\x7f\s{_LATIN}]+"  # other scripts and symbols
    r"|\s*\n|\s+(?!\S)|\s"
    r"|[\x00-\x1f\x7f]"
)
_LETTERS = frozenset(re.findall(f"[{_LATIN}]", "".join(map(chr, range(0x1F00)))))
_DIGITS = frozenset("0123456789")

# -- words of Latin letters, by length 1, 2, 3...; the last number is for each letter more
_Costs: TypeAlias = tuple[tuple[int, ...], ...]
_BARE, _AFTER_BLANK, _AFTER_SIGN = range(3)
_LOWER: _Costs = (
    (100, 100, 105, 107, 115, 118, 122, 138, 158, 170, 185, 210, 240, 35),
    (100, 100, 102, 102, 104, 108, 110, 120, 125, 135, 150, 165, 175, 25),
    (101, 116, 128, 130, 133, 151, 155, 182, 202, 222, 243, 255, 270, 35),
)
_TITLE: _Costs = (
    (100, 108, 108, 110, 124, 132, 132, 140, 160, 165, 175, 200, 220, 35),
    (100, 101, 103, 104, 114, 119, 123, 142, 152, 159, 165, 175, 185, 30),
    (105, 141, 148, 156, 170, 215, 222, 280, 300, 310, 325, 340, 355, 35),
)
_UPPER: _Costs = (
    (100, 105, 132, 150, 160, 180, 200, 270, 310, 360, 400, 45),
    (100, 102, 121, 127, 153, 166, 175, 235, 265, 285, 305, 35),
    (105, 150, 152, 155, 165, 190, 195, 217, 235, 270, 300, 40),
)
_HUMP = re.compile(r"[A-Z]+[a-z]*|[a-z]+")
_MIXED, _PER_HUMP, _PER_LETTER = 30, 38, 11
"""camelCase: for the word, for each of its humps, for each letter."""
_ACCENTED, _PER_ACCENTED_LETTER = 110, 33
"""Words with letters beyond ASCII: for the word, for each letter after the first."""

_MODE_LETTERS, _PER_MODE_LETTER, _MODE_SIGN = "dlrwx", 55, 80
"""Permissions as `ls -l` shows them are no words."""

# -- languages other than English in Latin letters: their words break into more tokens, but look like English ones
_FOREIGN_WORDS = {
    word: reach
    for reach, words in (
        (180, "la le les et que des est une du el los por con una il che di per para um uma dos não em é"),
        (
            350,
            "der die das und nicht ist ein eine zu den mit auf von sich dem wird het een van dat op voor met niet wordt",
        ),
        (
            350,
            "och att det som og til av af nie na jest że je ja ei kun az hogy bir ile yang dan untuk dengan tidak ini",
        ),
    )
    for word in words.split()
}
"""Small words, and how much one of them lets the long words around it cost more; so a quotation does not turn a text."""
_ACCENTED_REACH = 150
_FOREIGN_LETTER, _FOREIGN_FROM, _FOREIGN_MOST = 22, 4, 8
"""What each letter of a word costs more there: not the first four, and at most eight."""

# -- signs and blanks
_GROUPS = re.compile(r"(.)\1*", re.DOTALL)
_THIRD_SIGN, _PER_SIGN_GROUP = 15, 50
"""In a run of different signs, for the third group of equal ones, and for each after it."""
_RUN_SAMPLE = 4096
"""Of longer runs of signs, so many are looked at, and stand for the rest."""
_RULER, _RARE_RULER = 40, 8
"""Of a long run of one sign, so many make a token: signs that rulers are drawn with, and others."""
_RULER_SIGNS = frozenset("-=*#._/")
_BLANKS, _LINE_ENDS = 120, 20
"""The same for blanks, and for empty lines."""

# -- random characters: base64, hex digests, keys
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{24,}")
_BLOB_TURNS = re.compile(r"[a-z][A-Z0-9]|[A-Z][0-9]|[0-9][A-Za-z]")
_BLOB_TURN = 5
"""A blob changes between small letters, capitals and digits at least once in so many characters; names do not."""
_BLOB_SAMPLE = 512
_PER_BLOB_CHARACTER, _PER_HEX_CHARACTER = 71, 57
_HEX = frozenset("0123456789abcdefABCDEF-")

# -- other scripts, by character
_WITH_A_TOKEN = frozenset(
    "一万三上下不与专业东两个中串为主么义之也书了事二于五些交产享京人亿今介从他付代以们件价任份企优会传但位体"
    "何余作你使例供価保信修倍值停像元先入全公共关其具内円册再写出击分列则初利别到制前力功加务动動包化北区十午"
    "华单南即历原去县参及友反发取变口只可台右号司合同名后向否含听启告员周命和品哈商問器四回因国图土在地场址型"
    "城基報場填增声处备复外多大天失头女好如始子字存学安宋完定实审客家容密对导将小少尔就局展山岁州工左已市布常"
    "平年并广序库应店度建开异式引张当录形影径待後得微心必志态思性总息您情意感成我或户所手打找技投报拉持指按换"
    "据排接推提播支收改放政效数整文料断新方族无日时明易星是時景更最月有服期木未本机权束条来板构析果查标样核格"
    "案检模次款止正此步歳段每比民気水求江汽没治法注活流海消清游源火点無然片版物特率环现球理生用由电男画界番登"
    "的监目直相省看県真知码确示社票私种科秒称移程稍税稿空立站章端笑符第等签简算管箱米类系素索约级线组经结给络"
    "统编网置美老考者而联能自至色节英藏行表装西要見见规视角解言計記話読计认议记论设证评试话询该详语误说请读调"
    "象责败账货购费资起超路身车转软载辑输达过运近还这进连述退送选通速造連道邮部都配释里重量金钟钮链销错键长開"
    "間関门闭问间队阳陆限院除雅集雷需非面音页项预频题额首验高黑"
    "가간값개거게결경고공과구그글기나내는능니다당대도동되된드든들디라래러력로록료류른를름리만메면명목문미버번"
    "보복부분비사산상색생서성세션소수스습시식신아야어에여열오와요용우운원위으은을음의이인일임입자작장재적전정"
    "제져조주지진째체출치크태터턴트튼하한할함해호화환회"
)
"""Common Han characters and Hangul syllables: cl100k has one token for each. The others take two or three."""
_COMMON_CHARACTER, _OTHER_HAN, _OTHER_HANGUL = 84, 218, 195
_SCRIPTS = (
    (0x0080, 120),  # signs of Latin-1
    (0x0250, 180),
    (0x0370, 98),  # Greek
    (0x0400, 40),  # Cyrillic
    (0x0530, 200),  # Armenian
    (0x0590, 103),  # Hebrew
    (0x0600, 73),  # Arabic
    (0x0700, 200),
    (0x0900, 108),  # Devanagari
    (0x0980, 125),  # other scripts of India
    (0x0E00, 88),  # Thai
    (0x0E80, 195),
    (0x2000, 100),  # dashes, quotes, bullets
    (0x2070, 200),
    (0x2500, 100),  # frames
    (0x25A0, 210),
    (0x2800, 290),
    (0x3000, 98),  # Chinese and Japanese punctuation
    (0x3040, 88),  # hiragana
    (0x30A0, 94),  # katakana
    (0x3100, 290),
    (0x4E00, _OTHER_HAN),
    (0xA000, 290),
    (0xAC00, _OTHER_HANGUL),
    (0xD7A4, 290),
    (0xFF00, 100),  # full-width forms
    (0xFFF0, 290),
    (0x1F300, 290),
    (0x1F600, 220),  # faces
    (0x1F650, 300),
)
_STARTS = tuple(start for start, _ in _SCRIPTS)
_ALPHABETS = range(0x0370, 0x1100)
_ALPHABET_WORD, _ALPHABET_WORD_BARE = 60, 95
"""A word of an alphabet, besides its letters: with a blank before it, without."""
_CJK, _BLANK_BEFORE_CJK = range(0x3040, 0xA000), 65
_REPEATED_SYMBOL = 8
"""So many equal symbols (frames, dashes) make a token."""

# -- messages
MESSAGE_TOKENS = 4
"""What a message costs besides what it says: its role and its borders."""
CALL_TOKENS = 8
"""What a tool call costs besides its name and its arguments."""
MEDIA_TOKENS = 800
"""What a picture, a sound or a file is counted as; a picture of 1024 x 1024 costs about as much."""
_MEDIA = frozenset(
    ("image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "document", "video")
)
_FLOAT_TOKENS = 7
_DATA_URL = re.compile(r"data:[\w.+/-]*(?:;[\w.=+-]+)*;base64,", re.ASCII)


class _Characters(dict[str, int]):
    """Costs of characters beyond ASCII, of those that were asked for."""

    def __missing__(self, character: str) -> int:
        common = character in _WITH_A_TOKEN
        cost = _COMMON_CHARACTER if common else _SCRIPTS[bisect_right(_STARTS, ord(character)) - 1][1]
        self[character] = cost
        return cost


def estimate(text: str) -> int:
    """About how many tokens of cl100k a text has: within 15% on prose, code and tool output of a kilobyte and more.

    0 for the empty text only. Lines added never make it less, but for blanks at its ends that become part of theirs.
    """
    total = 0

    def without_blobs(found: re.Match[str]) -> str:
        nonlocal total
        cost = _blob(found[0])
        total += cost
        return "" if cost else found[0]

    rest = _BLOB.sub(without_blobs, text)
    characters = _Characters()
    pieces = Counter(_PIECES.findall(rest))
    longer = 0  # what the long words cost more if they are not English
    reach = sum(pieces[" " + word] * each for word, each in _FOREIGN_WORDS.items())
    for piece, times in pieces.items():
        last = piece[-1]
        if last in _LETTERS:
            cost, more, accented = _word(piece)
            longer += more * times
            reach += accented * times
        elif last in _DIGITS:
            cost = _SCALE
        elif piece.isspace():
            cost = _blanks(piece)
        elif last > "\x7f":
            cost = _run(piece, characters)
        else:
            cost = _signs(piece)
        total += cost * times
    total += min(longer, reach)
    return -(-total // _SCALE)


def _blob(text: str) -> int:
    """The cost of random characters; 0 for what only is long."""
    sample = text[:_BLOB_SAMPLE]
    if len(_BLOB_TURNS.findall(sample)) * _BLOB_TURN < len(sample):
        return 0
    return len(text) * (_PER_HEX_CHARACTER if _HEX.issuperset(sample) else _PER_BLOB_CHARACTER)


def _word(piece: str) -> tuple[int, int, int]:
    """Cost of a word of Latin letters, what it costs more in a foreign text, and how far it speaks for such a text."""
    before = _BARE if piece[0] in _LETTERS else _AFTER_BLANK if piece[0] == " " else _AFTER_SIGN
    word = piece[1:] if before else piece
    length = len(word)
    if not word.isascii():
        return _ACCENTED + _PER_ACCENTED_LETTER * (length - 1), 0, _ACCENTED_REACH
    if length > 1 and not word.strip(_MODE_LETTERS):
        return _PER_MODE_LETTER * length + (_MODE_SIGN if before == _AFTER_SIGN else 0), 0, 0
    if word.islower():
        table = _LOWER[before]
    elif length == 1 or word[1:].islower():
        table = _TITLE[before]
    elif word.isupper():
        table = _UPPER[before]
    else:
        return _MIXED + _PER_HUMP * len(_HUMP.findall(word)) + _PER_LETTER * length, 0, 0
    known = len(table) - 1
    cost = table[length - 1] if length <= known else table[known - 1] + table[known] * (length - known)
    return cost, _FOREIGN_LETTER * min(max(0, length - _FOREIGN_FROM), _FOREIGN_MOST), 0


def _blanks(piece: str) -> int:
    return _SCALE + _SCALE * (len(piece) // (_LINE_ENDS if "\n" in piece else _BLANKS))


def _signs(piece: str) -> int:
    """Cost of a run of signs; a long run of one sign is cheap."""
    signs = piece.strip(" \n")
    if len(signs) <= 2:
        return _SCALE
    if len(set(signs)) == 1:
        return _SCALE + _SCALE * len(signs) // (_RULER if signs[0] in _RULER_SIGNS else _RARE_RULER)
    groups = [len(found[0]) for found in _GROUPS.finditer(signs[:_RUN_SAMPLE])]
    more = _THIRD_SIGN + _PER_SIGN_GROUP * (len(groups) - 3) if len(groups) > 2 else 0
    cost = _SCALE + more + _SCALE * sum(group // _RULER for group in groups)
    return cost * max(1, len(signs) // _RUN_SAMPLE)


def _run(piece: str, costs: _Characters) -> int:
    """Cost of characters beyond Latin that stand together."""
    spaced = piece[0] == " "
    run = piece[1:] if spaced else piece
    if len(run) > _REPEATED_SYMBOL and len(set(run)) * 2 < len(run) and not run.isalpha():
        groups = _GROUPS.finditer(run[:_RUN_SAMPLE])
        cost = sum(costs[found[1]] * (1 + (len(found[0]) - 1) // _REPEATED_SYMBOL) for found in groups)
        return cost * max(1, len(run) // _RUN_SAMPLE)
    cost = sum(map(costs.__getitem__, run))
    first = ord(run[0])
    if first in _ALPHABETS:
        return cost + (_ALPHABET_WORD if spaced else _ALPHABET_WORD_BARE)
    return cost + (_BLANK_BEFORE_CJK if spaced and first in _CJK else 0)


def estimate_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """About how many tokens messages in OpenAI chat form cost in a request.

    Counted are content (text, or blocks), reasoning_content, name, and name and arguments of tool calls. Pictures and files
    count as `MEDIA_TOKENS` each. Values of other shapes count as the text in them; none raises.
    """
    return sum(_message(message) for message in messages)


def _message(message: object) -> int:
    if not isinstance(message, Mapping):
        return MESSAGE_TOKENS + _value(message)
    said = [message.get(name) for name in ("content", "reasoning_content", "name")]
    calls = message.get("tool_calls")
    return (
        MESSAGE_TOKENS
        + sum(_value(value) for value in said)
        + sum(
            _call(call) for call in (calls if isinstance(calls, list | tuple) else (calls,) if calls else ())
        )
    )


def _call(call: object) -> int:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return CALL_TOKENS + _value(call)
    return CALL_TOKENS + _value(function.get("name")) + _value(function.get("arguments"))


def _value(value: object) -> int:
    """Tokens of a value of any shape; what holds itself is counted once."""
    total = 0
    waiting, seen = [value], set[int]()
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            total += MEDIA_TOKENS if _DATA_URL.match(item) else estimate(item)
        elif isinstance(item, Mapping | list | tuple):
            if id(item) not in seen:
                seen.add(id(item))
                tokens, inner = _parts(item)
                total += tokens
                waiting += inner
        elif item is not None:
            total += _plain(item)
    return total


def _parts(item: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> tuple[int, list[Any]]:
    """Tokens of a block or a container itself, and what is still to be counted in it."""
    if not isinstance(item, Mapping):
        return len(item), list(item)
    kind, text = item.get("type"), item.get("text")
    if isinstance(kind, str) and kind in _MEDIA:
        return MEDIA_TOKENS, []
    if isinstance(kind, str) and isinstance(text, str):
        return 0, [text]
    return 2 * len(item), [*item.keys(), *item.values()]


def _plain(item: object) -> int:
    """Tokens of a number, or of what JSON does not know."""
    if isinstance(item, int):
        return 1 + item.bit_length() // 10  # three digits a token
    return _FLOAT_TOKENS if isinstance(item, float) else 1
