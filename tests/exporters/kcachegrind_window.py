#!/usr/bin/python3
"""What a kcachegrind that runs on this display shows, as JSON: its title, its status bar and the
rows of its list of functions. Exit status 1: it does not show them yet.

It is read by way of the accessibility bus, as a screen reader would. That remembers what it saw too
early: ask again with a new process.
"""
import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi

COLUMNS = ["Incl.", "Self", "Called", "Function", "Location"]


def children(node):
    found = (node.get_child_at_index(i) for i in range(node.get_child_count()))
    return [child for child in found if child]


def descendants(node):
    for child in children(node):
        yield child
        if child.get_role() != Atspi.Role.TREE:  # whose cells are read at once
            yield from descendants(child)


def rows(tree):
    """The cells of a tree, row by row; none when its columns are others."""
    cells = children(tree)
    titles = [cell.get_name() for cell in cells if cell.get_role() == Atspi.Role.TABLE_COLUMN_HEADER]
    if titles != COLUMNS:
        return []
    texts = [cell.get_name() for cell in cells[len(COLUMNS):]]
    return [texts[at:at + len(COLUMNS)] for at in range(0, len(texts), len(COLUMNS))]


def window():
    for application in children(Atspi.get_desktop(0)):
        for frame in children(application):
            if "[" in frame.get_name():  # the command, when the file has been read
                return frame
    return None


def read():
    frame = window()
    if not frame:
        return None
    nodes = list(descendants(frame))
    status = [node.get_name() for node in nodes if " Cost: " in node.get_name()]
    lists = [found for node in nodes if node.get_role() == Atspi.Role.TREE for found in [rows(node)]
             if found]
    if not status or not lists:
        return None
    return {"title": frame.get_name(), "status": status[0], "rows": lists[0]}


def main():
    Atspi.init()
    shown = read()
    if not shown:
        return 1
    print(json.dumps(shown))
    return 0


sys.exit(main())
