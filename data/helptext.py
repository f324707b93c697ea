#!/usr/bin/env python3
"""
From the manual pages to `grove COMMAND --help`.

  helptext.py --c FILE PAGE...         the table of kit/help.h, which the program prints
  helptext.py --text COMMAND PAGE...   one text, as the program must print it
  helptext.py --markdown DIR PAGE...   the pages as Markdown, for who reads them on the web

Pages are scdoc sources, docs/cli/grove.1.scd first. NAME, SYNOPSIS and OPTIONS
(and COMMANDS, QUERIES and EXAMPLES, if they are there) go into the help text;
everything else is for the manual only. What several commands have in common is a
topic of `grove help`, made of sections of one or two pages. It is an error if the overview does not list a command, or describes
it in different words than the command's own page.
"""
import argparse
import pathlib
import re
import sys
import textwrap

WIDTH = 80


class PageError(Exception):
    pass


def plain(text):
    """scdoc's inline markup taken away: *bold*, _underlined_, \\escaped."""
    out, i, on = [], 0, {"*": False, "_": False}
    while i < len(text):
        c = text[i]
        inside_word = 0 < i < len(text) - 1 and text[i - 1].isalnum() and text[i + 1].isalnum()
        if c == "\\" and i + 1 < len(text):
            i += 1
            out.append(text[i])
        elif c in on and not (c == "_" and inside_word):
            on[c] = not on[c]
        else:
            out.append(c)
        i += 1
    return "".join(out)


class Page:
    def __init__(self, path):
        self.path = path
        lines = path.read_text(encoding="utf-8").split("\n")
        title = re.fullmatch(r"(grove(?:-([a-z]+))?)\(1\)", lines[0])
        if not title:
            raise PageError(f"{path}:1: expected grove-COMMAND(1), got {lines[0]!r}")
        self.title = title.group(1)
        self.command = title.group(2) or ""
        self.sections = self.split(lines[1:])
        name = " ".join(line for line in self.section("NAME") if line)
        said = re.fullmatch(re.escape(self.title) + r" - (.+)", plain(name))
        if not said:
            raise PageError(f"{path}: NAME must read `{self.title} - what it does`")
        self.summary = said.group(1)

    def split(self, lines):
        sections, current = {}, None
        for line in lines:
            if line.startswith("# "):
                name = line[2:].strip()
                if name in sections:
                    raise PageError(f"{self.path}: {name} is there twice")
                current = sections[name] = []
            elif current is not None:
                current.append(line)
        return sections

    def section(self, name):
        if name not in self.sections:
            raise PageError(f"{self.path}: there is no {name}")
        return self.sections[name]

    def synopsis(self):
        """One line per form, without markup."""
        text = "\n".join(self.section("SYNOPSIS")).strip()
        forms = re.split(r"\+\+\n|\n\n+", text)
        return [plain(" ".join(form.split())) for form in forms if form.strip()]

    def groups(self, name):
        """[(heading, definitions)] of a section, by its subsections; "" is the heading of what precedes them."""
        found = [("", [])]
        for line in self.sections.get(name, []):
            if line.startswith("## "):
                found.append((line[3:].strip(), []))
            else:
                found[-1][1].append(line)
        groups = [(heading, self.terms(name, lines)) for heading, lines in found]
        return [(heading, terms) for heading, terms in groups if terms]

    def definitions(self, name):
        """[(term, paragraphs)] of a section made of terms and indented texts."""
        return [row for _, terms in self.groups(name) for row in terms]

    def terms(self, name, lines):
        found = []
        for line in lines:
            if line.startswith("\t"):
                if not found:
                    raise PageError(f"{self.path}: {name} begins with an indented line")
                found[-1][1][-1].append(plain(line.strip()))
            elif not line.strip():
                if found and found[-1][1][-1]:
                    found[-1][1].append([])
            elif line.startswith("*"):
                found.append((plain(line.strip()), [[]]))
        return [(term, [" ".join(p) for p in paragraphs if p]) for term, paragraphs in found]

    def options(self):
        """Every long option the page defines."""
        return sorted({o for term, _ in self.definitions("OPTIONS") for o in re.findall(r"--[a-z][a-z-]*", term)})


def two_columns(definitions, column):
    lines = []
    for term, paragraphs in definitions:
        body = []
        for paragraph in paragraphs:
            body += textwrap.wrap(paragraph, WIDTH - column - 1, break_on_hyphens=False)
        head = "  " + term
        if len(head) + 2 > column or not body:
            lines.append(head)
        else:
            lines.append(head.ljust(column) + body.pop(0))
        lines += [" " * column + line for line in body]
    return lines


def reading(lines):
    """A section of paragraphs, terms with their texts, and indented examples."""
    out, paragraph, literal = [], [], False

    def end():
        out.extend(textwrap.wrap(plain(" ".join(paragraph)), WIDTH - 1, break_on_hyphens=False))
        paragraph.clear()

    for i, line in enumerate(lines):
        after = lines[i + 1] if i + 1 < len(lines) else ""
        if line.startswith("```"):
            end()
            literal = not literal
        elif literal:
            # a backslash is one of the page's own there, too
            out.append("  " + re.sub(r"\\(.)", r"\1", line))
        elif not line.strip():
            end()
            if out and out[-1]:
                out.append("")
        elif line.startswith("\t"):
            paragraph.append(line.strip())
            if not after.startswith("\t"):
                before = out[-1] if out else ""
                text = plain(" ".join(paragraph))
                # below a term it is a text, on its own an example, of which each line stands
                if before.startswith("  ") and before.strip():
                    out.extend(" " * 6 + t for t in textwrap.wrap(text, WIDTH - 7, break_on_hyphens=False))
                else:
                    out.extend("  " + plain(p) for p in paragraph)
                paragraph.clear()
        elif after.startswith("\t") and not paragraph:
            out.append("  " + plain(line.strip()))
        else:
            paragraph.append(line.strip())
    end()
    while out and not out[-1]:
        out.pop()
    return out


# What `grove help TOPIC` prints: a title, and the sections that it is made of.
TOPICS = {
    "query": ("how to find sessions and what was said in them",
              [("search", "QUERIES", "Text in all sessions (grove search):"),
               ("ls", "QUERIES", "Sessions in a list (grove ls):")]),
    "dates": ("how to name a day or a time", [("", "DATES", None)]),
}


def topic_text(topic, pages):
    by_command = {page.command: page for page in pages}
    title, sections = TOPICS[topic]
    lines = [title[0].upper() + title[1:] + "."]
    for command, section, heading in sections:
        lines += [""] + ([heading, ""] if heading else []) + reading(by_command[command].section(section))
    return "\n".join(lines) + "\n"


def help_text(page):
    lines = []
    lead = "Usage: "
    for form in page.synopsis():
        # Keep an option and its argument together where a line must break.
        kept = re.sub(r"\[[^\]]*\]", lambda m: m.group(0).replace(" ", "\0"), form)
        hang = len(lead) + len("grove ")
        wrapped = textwrap.wrap(kept, WIDTH - 1, initial_indent=lead, subsequent_indent=" " * hang,
                                break_on_hyphens=False, break_long_words=False)
        lines += [line.replace("\0", " ") for line in wrapped]
        lead = " " * len(lead)
    lines += ["", page.summary[0].upper() + page.summary[1:] + "."]
    for name, heading, column in (("COMMANDS", "Commands:", 14), ("OPTIONS", "Options:", 26)):
        for group, definitions in page.groups(name):
            lines += ["", f"{group}:" if group else heading] + two_columns(definitions, column)
    for name, heading in (("QUERIES", "Queries:"), ("EXAMPLES", "Examples:")):
        if name in page.sections:
            lines += ["", heading] + reading(page.section(name))
    if page.command:
        lines += ["", f"For more, see: man {page.title}"]
    else:
        lines += ["", "Run `grove COMMAND --help` for help on a command, `grove help query` or `grove",
                  "help dates` for what several have in common, or `man grove` for the manual."]
    return "\n".join(lines) + "\n"


# --- Markdown ---

def marked(text):
    """scdoc's inline markup as Markdown's: **bold**, *underlined*."""
    out, i, on = [], 0, {"*": False, "_": False}
    while i < len(text):
        c = text[i]
        inside_word = 0 < i < len(text) - 1 and text[i - 1].isalnum() and text[i + 1].isalnum()
        if c == "\\" and i + 1 < len(text):
            i += 1
            out.append("\\" + text[i] if text[i] in "*_\\`[]<|" else text[i])
        elif c in on and not (c == "_" and inside_word):
            on[c] = not on[c]
            out.append("**" if c == "*" else "*")
        elif c in "`[]<|_*":
            out.append("\\" + c)
        else:
            out.append(c)
        i += 1
    return re.sub(r"\*\*(grove(?:-([a-z]+))?)\*\*\(1\)", r"[\1](\1.md)", "".join(out))


def markdown_of(lines):
    out, literal = [], False
    for i, line in enumerate(lines):
        after = lines[i + 1] if i + 1 < len(lines) else ""
        before = lines[i - 1] if i else ""
        if line.strip() == "```":
            literal = not literal
            indent = line[:len(line) - len(line.lstrip())].replace("\t", "  ")
            out.append(indent + ("```text" if literal else "```"))
        elif literal:
            # a backslash is one of the page's own there, too
            out.append(re.sub(r"\\(.)", r"\1", line.replace("\t", "  ")))
        elif line.startswith("## "):
            out.append("#" + line)
        elif line.startswith("\t"):
            out.append("  " + marked(line.strip()))
        elif after.startswith("\t") and line:
            if before.startswith("\t"):
                out.append("")
            out.append("- " + marked(line.strip()) + "\\")
        else:
            out.append(re.sub(r" ?\+\+$", "\\\\", marked(line)))
    return "\n".join(out).strip("\n")


def markdown_text(page):
    lines = [f"# {page.title}", "", page.summary[0].upper() + page.summary[1:] + ".", "", "```text"]
    lines += page.synopsis() + ["```"]
    for name, section in page.sections.items():
        if name not in ("NAME", "SYNOPSIS"):
            lines += ["", f"## {name[0]}{name[1:].lower()}", "", markdown_of(section)]
    return "\n".join(lines) + "\n"


# --- tables ---

def check_overview(pages):
    overview = pages[0]
    if overview.command:
        raise PageError("the first page must be the overview, grove.1.scd")
    listed = dict((term, " ".join(text)) for term, text in overview.definitions("COMMANDS"))
    told = {page.command: page.summary for page in pages[1:]}
    for command in sorted(listed.keys() ^ told.keys()):
        raise PageError(f"{command}: " + ("has no page" if command in listed else f"is not listed in {overview.path}"))
    for command, summary in told.items():
        if listed[command].rstrip(".") != summary:
            raise PageError(f"{command}: {overview.path} says {listed[command]!r}, its page {summary!r}")


def c_string(text, indent):
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    escape = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
    quoted = ['"' + "".join(escape.get(c, c) for c in line) + '"' for line in lines]
    return ("\n" + indent).join(quoted)


def c_table(pages):
    out = ["/* Made from docs/cli by data/helptext.py: change the pages, not this. */",
           '#include "kit/help.h"', "", "#include <stddef.h>", "", "const struct grove_help grove_help[] = {"]
    for page in pages:
        out += ["\t{", f'\t\t"{page.command or page.title}",', f"\t\t{c_string(page.summary, '')},",
                f"\t\t{c_string(help_text(page), chr(9) * 2)},",
                "\t\t" + c_string("\n".join(page.synopsis()), chr(9) * 2) + ",", "\t},"]
    out += ["\t{ NULL, NULL, NULL, NULL },", "};", "", "const struct grove_help grove_topics[] = {"]
    for topic, (title, _) in TOPICS.items():
        out += ["\t{", f'\t\t"{topic}",', f"\t\t{c_string(title, '')},",
                f"\t\t{c_string(topic_text(topic, pages), chr(9) * 2)},", "\t\tNULL,", "\t},"]
    out += ["\t{ NULL, NULL, NULL, NULL },", "};", ""]
    return "\n".join(out)


def main():
    ap = argparse.ArgumentParser(description="from the manual pages to --help")
    ap.add_argument("--c", metavar="FILE", type=pathlib.Path)
    ap.add_argument("--text", metavar="COMMAND")
    ap.add_argument("--markdown", metavar="DIR", type=pathlib.Path)
    ap.add_argument("pages", nargs="+", type=pathlib.Path)
    args = ap.parse_args()
    try:
        pages = [Page(path) for path in args.pages]
        check_overview(pages)
    except PageError as e:
        sys.exit(f"helptext: {e}")
    if args.c:
        args.c.write_text(c_table(pages), encoding="utf-8")
    if args.markdown:
        for page in pages:
            (args.markdown / f"{page.title}.md").write_text(markdown_text(page), encoding="utf-8")
    if args.text is not None:
        sys.stdout.writelines(help_text(page) for page in pages if (page.command or page.title) == args.text)


if __name__ == "__main__":
    main()
