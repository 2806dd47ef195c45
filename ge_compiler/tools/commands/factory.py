"""A model from `file.py:name`: the file is run, the name is called without arguments under a seed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from ge_compiler.dialects.diagnostics import CompileError, did_you_mean
from ge_compiler.tools.opt.registry import UsageError

if TYPE_CHECKING:
    import torch


def model_output() -> contextlib.redirect_stdout[Any]:
    """What a user's code prints goes to standard error: standard output is for our results."""
    return contextlib.redirect_stdout(sys.stderr)


@dataclass(frozen=True)
class Factory:
    """Where a model comes from."""

    file: str
    name: str
    seed: int

    @staticmethod
    def parse(text: str, seed: int) -> Factory:
        """`examples/mlp.py:SimpleMLP`. Raises `UsageError` for another form."""
        file, colon, name = text.rpartition(":")
        if not colon or not file.endswith(".py") or not name:
            raise UsageError(f"'{text}' is not understood; a model is FILE.py:NAME (a class or a function) or, to compile, FILE.mlir")
        return Factory(file, name, seed)

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"

    def digest(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self._source()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {"factory": str(self), "sha256": self.digest(), "seed": self.seed}

    @staticmethod
    def recorded(origin: Mapping[str, Any] | None, program: str) -> Factory:
        """The factory that a program's file names, if its file is still the same. Raises `CompileError` if not."""
        if origin is None:
            raise CompileError(f"{program} was not compiled from a PyTorch model, so there is nothing to compare it with")
        factory = Factory.parse(origin["factory"], origin["seed"])
        if not Path(factory.file).is_file():
            raise CompileError(f"{program} was compiled from {factory}, but there is no file {factory.file} here: run this where it is")
        if factory.digest() != origin["sha256"]:
            raise CompileError(f"{factory.file} has changed since {program} was compiled from it: compile it again")
        return factory

    def build(self) -> torch.nn.Module:
        """The model, in eval mode. Raises `CompileError` with the user's line if the file or the factory raises."""
        import torch

        from ge_compiler.lowering.from_torch.export import check_model

        with model_output():
            module = self._load()
        candidates = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        make = getattr(module, self.name, None)
        if not callable(make):
            raise CompileError(f"{self.file} has no class or function '{self.name}'{did_you_mean(self.name, candidates)}")
        torch.manual_seed(self.seed)  # pyright: ignore[reportUnknownMemberType]
        try:
            with model_output():
                model = make()
        except (Exception, SystemExit) as error:
            raise _raised(f"{self.name}()", error) from error
        if not isinstance(model, torch.nn.Module):
            raise CompileError(f"{self} gives {type(model).__name__}, not a torch.nn.Module")
        check_model(model)
        return model.eval()

    def _load(self) -> ModuleType:
        self._source()
        path = Path(self.file).resolve()
        name = f"_factory_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            place = FileLineColLoc(StringAttr(error.filename or self.file), IntAttr(error.lineno or 1), IntAttr(error.offset or 1))
            raise CompileError(error.msg, place) from error
        except (Exception, SystemExit) as error:
            raise _raised(self.file, error) from error
        finally:
            sys.path.remove(str(path.parent))
        return module

    def _source(self) -> bytes:
        try:
            return Path(self.file).read_bytes()
        except OSError as error:
            raise CompileError(f"cannot read {self.file}: {error.strerror}") from None


def _raised(what: str, error: BaseException) -> CompileError:
    from ge_compiler.lowering.from_torch.locations import line_of_traceback

    text = " ".join(str(error).split())
    message = f"{what} raised {type(error).__name__}" + (f": {text}" if text else "")
    return CompileError(message, line_of_traceback(error.__traceback__))
