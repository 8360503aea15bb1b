# comments.py - what comments name is there
# SPDX-License-Identifier: BSD-3-Clause
import os
import re

from tree import files, text_of

COMMENT = re.compile(r"/\*(.*?)\*/", re.S)
FOLDERS = ("lib/", "drivers/", "app/", "include/", "config/")
# Functions of others that no code of ours calls are compared with ours.
FOREIGN = ("rte_", "ibv_", "ib_", "rdma_")


def words_of(text):
    return set(re.findall(r"\w+", COMMENT.sub("", text)))


def check_names_in_comments():
    """functions and `names` that comments name are there"""
    texts = {path: text_of(path) or "" for path in files(".c", ".h", ".def") if path.startswith(FOLDERS)}
    words = {path: words_of(text) for path, text in texts.items()}
    everywhere = set().union(*words.values())
    near = {}  # the words of a folder
    for path, found in words.items():
        near.setdefault(os.path.dirname(path), set()).update(found)
    for path, text in texts.items():
        for comment in COMMENT.finditer(text):
            where = f"{path}:{text[:comment.start()].count(chr(10)) + 1}"
            for name in re.findall(r"\b([a-z]\w*_\w+)\(\)", comment.group(1)):
                if name not in everywhere and not name.startswith(FOREIGN):
                    yield f"{where}: there is no {name}(); name what does its work now"
            for name in re.findall(r"`([a-z_]\w*)`", comment.group(1)):
                if name not in near[os.path.dirname(path)]:
                    yield f"{where}: nothing here is called {name}; name what is meant"
