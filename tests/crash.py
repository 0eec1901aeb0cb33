"""A disk that loses what was not synced: every state in which a crash can leave a folder.

The calls of an action are recorded: what each file held at each call, and which names were made,
changed and removed. At each point the content of a file is safe after `fsync` of it, and a name
after `fsync` of the folder that it is in. Of all else a crash may keep any part, in any order: no
name, each one alone, all but one, drawn ones; and of content that is not safe nothing, half, zeros
or all (as the simulator of SQLite does).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CALLS = ("open", "replace", "rename", "unlink", "remove", "mkdir", "rmdir", "fsync", "close")
PIECES = 16
DRAWN = 4  # sets of names a point that are drawn at random
LOSSES: tuple[Callable[[bytes], bytes], ...] = (
    lambda content: b"",
    lambda content: content[: len(content) // 2],
    lambda content: bytes(len(content)),
    lambda content: content,
)
MORE_LOSSES = (
    *LOSSES,
    *(partial(lambda k, content: content[: len(content) * k // PIECES], k) for k in range(PIECES)),
    *(
        partial(
            lambda k, content: content[: len(content) * k // PIECES].ljust(len(content), b"\0"), k
        )
        for k in range(PIECES)
    ),
    *(
        partial(
            lambda k, content: content[len(content) * k // PIECES :].rjust(len(content), b"\0"), k
        )
        for k in range(PIECES)
    ),
)
"""Also cut, or zeros from there or up to there, at each sixteenth: some blocks were written."""
Tree = dict[str, bytes | None]  # relative path -> content; None: a folder


@dataclass(frozen=True)
class Entry:
    """A file or a folder as a snapshot saw it."""

    number: int  # of the inode
    content: bytes | None  # None: a folder


@dataclass(frozen=True)
class Step:
    """What a call did: new content of a file, or a name that was made, moved or removed."""

    kind: str  # {"data", "name", "gone", "sync", "sync folder"}
    path: str = ""
    number: int = -1
    content: bytes | None = None
    former: str = ""  # the name that a file had before


@dataclass
class Recorder:
    """Records what an action does below a folder."""

    root: Path
    steps: list[Step] = field(default_factory=list)
    begun: dict[str, Entry] = field(default_factory=dict)
    now: dict[str, Entry] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)
    _inodes: dict[int, int] = field(default_factory=dict)

    def record(self, action: Callable[[], Any]) -> list[Step]:
        """Carry out an action; returns its steps."""
        self.begun = self.now = self._snapshot()
        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, self._wrapped(name, getattr(os, name)))
            action()
        self._look()
        return self.steps

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self._look()
            if name == "fsync":
                self._sync(os.fstat(arguments[0]).st_ino)
            result = real(*arguments, **options)
            self._look()
            return result

        return call

    def _sync(self, inode: int) -> None:
        for path, entry in {**self.now, "": Entry(-1, None)}.items():
            if (self.root / path).stat().st_ino == inode:
                kind = "sync folder" if entry.content is None else "sync"
                self.steps.append(Step(kind, path, entry.number))

    def _snapshot(self) -> dict[str, Entry]:
        entries, seen = {}, set()
        for path in sorted(self.root.rglob("*")) if self.root.exists() else ():
            inode = path.stat().st_ino
            seen.add(inode)
            number = self._inodes.setdefault(inode, next(self._numbers))
            content = None if path.is_dir() else path.read_bytes()
            entries[path.relative_to(self.root).as_posix()] = Entry(number, content)
        self._inodes = {inode: n for inode, n in self._inodes.items() if inode in seen}
        return entries

    def _look(self) -> None:
        """Note what has changed since the last look."""
        before, self.now = self.now, self._snapshot()
        names = {entry.number: path for path, entry in before.items()}
        moved = set()
        for path, entry in self.now.items():
            held = before.get(path)
            if held is not None and held.number == entry.number:
                if held.content != entry.content:
                    self.steps.append(Step("data", path, entry.number, entry.content))
                continue
            former = names.get(entry.number, "")
            if former and former not in self.now:
                moved.add(former)
            self.steps.append(Step("name", path, entry.number, entry.content, former))
            if entry.content and not former:
                self.steps.append(Step("data", path, entry.number, entry.content))
        for path in reversed([*before]):
            if path not in self.now and path not in moved:
                self.steps.append(Step("gone", path))


def states(
    recorder: Recorder, losses: Sequence[Callable[[bytes], bytes]] = LOSSES, seed: int = 1
) -> Iterator[tuple[int, Tree]]:
    """Yield the point and the tree of every state after a crash, each tree once."""
    rng, seen = np.random.default_rng(seed), set()
    for point in range(len(recorder.steps) + 1):
        steps = recorder.steps[:point]
        safe_names = [is_safe(steps, k) for k in range(point)]
        loose = [k for k in range(point) if steps[k].kind in ("name", "gone") and not safe_names[k]]
        chosen: list[Sequence[int]] = [(), loose]
        chosen += [[k] for k in loose] + [[j for j in loose if j != k] for k in loose]
        chosen += [[k for k in loose if rng.random() < 0.5] for _ in range(DRAWN * bool(loose))]
        for kept in chosen:
            for loss in losses:
                tree = tree_of(recorder, steps, safe_names, set(kept), loss)
                digest = blake2b(repr(sorted(tree.items())).encode()).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield point, tree


def is_safe(steps: Sequence[Step], k: int) -> bool:
    """Return whether what a step did was synced later."""
    step = steps[k]
    if step.kind == "data":
        return any(s.kind == "sync" and s.number == step.number for s in steps[k:])
    folder = os.path.dirname(step.path)
    return any(s.kind == "sync folder" and s.path == folder for s in steps[k:])


def tree_of(
    recorder: Recorder, steps: Sequence[Step], safe: Sequence[bool], kept: set[int],
    loss: Callable[[bytes], bytes],
) -> Tree:  # fmt: skip
    """Return what is on the disk after a crash that keeps some of the names that are not safe."""
    names = {path: entry.number for path, entry in recorder.begun.items()}
    folders = {entry.number for entry in recorder.begun.values() if entry.content is None}
    contents = {e.number: e.content or b"" for e in recorder.begun.values()}
    for k, step in enumerate(steps):
        if step.kind == "data":
            content = step.content or b""
            contents[step.number] = content if safe[k] else loss(content)
        if step.kind not in ("name", "gone") or not (safe[k] or k in kept):
            continue
        if step.kind == "gone":
            names.pop(step.path, None)
            continue
        if step.former:
            for path in [p for p in names if f"{p}/".startswith(f"{step.former}/")]:
                names[step.path + path[len(step.former) :]] = names.pop(path)
        names[step.path] = step.number
        if step.content is None:
            folders.add(step.number)
    whole = {path for path in names if all(p in names for p in parents(path))}
    return {p: None if names[p] in folders else contents.get(names[p], b"") for p in whole}


def parents(path: str) -> list[str]:
    """Return the folders above a path."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def write_tree(root: Path, tree: Tree) -> None:
    """Put a state on the disk."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for path, content in sorted(tree.items()):
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)
