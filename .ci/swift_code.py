"""Separates Swift code from comments and string literals, for the checks of this directory."""

import re

# The beginning or end of a part that is not code; the longest opening first.
MARK = re.compile(r'//|/\*|(#*)("""|")|[()]')


def code_only(text):
    """The text with comments and string literals blanked, line by line; interpolations are code."""
    return code_until(text, 0, None)[0]


def code_until(text, position, closing):
    """The code up to a closing parenthesis or the end, and the position after it."""
    parts, depth = [], 0
    while match := MARK.search(text, position):
        parts.append(text[position:match.start()])
        position = match.end()
        mark = match.group()
        if mark in ("(", ")"):
            depth += 1 if mark == "(" else -1
            if closing and depth < 0:
                return "".join(parts), position
            parts.append(mark)
        elif mark in ("//", "/*"):
            position = end_of_line(text, position) if mark == "//" else end_of_comment(text, position)
            parts.append("\n" * text.count("\n", match.start(), position) or " ")
        else:
            code, position = code_of_literal(text, position, *match.groups())
            parts.append(code)
    parts.append(text[position:])
    return "".join(parts), len(text)


def code_of_literal(text, position, hashes, quotes):
    """The code in the interpolations of a string literal, and the position after the literal."""
    parts = [" "]
    mark = re.compile(rf"\\{hashes}(\(|.)|\n|{quotes}{hashes}", re.DOTALL)
    while match := mark.search(text, position):
        position = match.end()
        if match.group() == "\n":
            parts.append("\n")
        elif match.group(1) == "(":
            code, position = code_until(text, position, ")")
            parts += [" (", code, ") "]
        elif match.group(1):
            parts.append("\n" * match.group(1).count("\n"))
        else:
            return "".join(parts), position
    return "".join(parts), len(text)


def end_of_line(text, position):
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def end_of_comment(text, position):
    depth = 1
    for found in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)
