"""`winkel completion`: scripts for bash, zsh and fish, made from the parser itself."""

from __future__ import annotations

import argparse
import shlex
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from .console import Console, Outcome
from .methods import methods
from .parser import make_parser

_METHOD_OPTIONS = ("--method", "--methods")


@dataclass(frozen=True)
class _Option:
    names: tuple[str, ...]
    text: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class _Command:
    name: str
    text: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]  # allowed for its arguments; none means files


def command(options: Namespace, console: Console) -> Outcome:
    """The completion script of the given shell."""
    commands = tuple(_commands())
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    script = make(commands)
    return Outcome({"command": "completion", "shell": options.shell, "script": script}, script)


def _commands() -> Iterator[_Command]:
    parser = make_parser()
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    help_of = {choice.dest: choice.help or "" for choice in subparsers._choices_actions}
    for name, sub in subparsers.choices.items():
        options = tuple(_option(action) for action in sub._actions if action.option_strings)
        words = tuple(
            str(word) for action in sub._actions if not action.option_strings for word in action.choices or ()
        )
        yield _Command(name, help_of[name], options, words)


def _option(action: argparse.Action) -> _Option:
    choices = tuple(map(str, action.choices or ()))
    if not choices and set(_METHOD_OPTIONS) & set(action.option_strings):
        choices = tuple(methods())
    text = (action.help or "").replace("%(default)s", str(action.default))
    return _Option(tuple(action.option_strings), text, action.nargs != 0, choices)


def _bash(commands: tuple[_Command, ...]) -> str:
    cases = []
    for item in commands:
        flags = " ".join(name for option in item.options for name in option.names)
        words = f'words="{" ".join(item.words)}"' if item.words else "words="
        cases.append(f'    {item.name}) flags="{flags}"; {words} ;;')
    values = [
        f"    {'|'.join(option.names)}) "
        f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur")); return ;;'
        for option in dict.fromkeys(o for item in commands for o in item.options if o.choices)
    ]
    return f"""# bash completion of winkel: source <(winkel completion bash)
_winkel() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" flags words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(item.name for item in commands)} --help --version" -- "$cur"))
    return
  fi
  case "$previous" in
{chr(10).join(values)}
  esac
  case "${{COMP_WORDS[1]}}" in
{chr(10).join(cases)}
  esac
  if [[ "$cur" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
  elif [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}
complete -F _winkel winkel"""


def _zsh(commands: tuple[_Command, ...]) -> str:
    described = " ".join(shlex.quote(f"{item.name}:{item.text}") for item in commands)
    cases = []
    for item in commands:
        specs = []
        for option in item.options:
            action = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
            ending = action if option.takes_value else ""
            specs += [shlex.quote(f"{name}[{_zsh_text(option.text)}]{ending}") for name in option.names]
        rest = f"*:word:({' '.join(item.words)})" if item.words else "*:file:_files"
        cases.append(f"    {item.name}) _arguments {' '.join([*specs, shlex.quote(rest)])} ;;")
    return f"""#compdef winkel
# zsh completion of winkel: source <(winkel completion zsh)
_winkel() {{
  if (( CURRENT == 2 )); then
    local -a commands=({described})
    _describe command commands
    return
  fi
  local name=$words[2]
  shift words; (( CURRENT-- ))
  case $name in
{chr(10).join(cases)}
  esac
}}
compdef _winkel winkel"""


def _zsh_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _fish(commands: tuple[_Command, ...]) -> str:
    lines = ["# fish completion of winkel: winkel completion fish | source"]
    for item in commands:
        lines.append(
            f"complete -c winkel -n __fish_use_subcommand -f -a {item.name} -d {_fish_text(item.text)}"
        )
        here = f"-n '__fish_seen_subcommand_from {item.name}'"
        for option in item.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" * option.takes_value
            lines.append(f"complete -c winkel {here} {names}{value} -d {_fish_text(option.text)}")
        if item.words:
            lines.append(f"complete -c winkel {here} -f -a '{' '.join(item.words)}'")
    return "\n".join(lines)


def _fish_text(text: str) -> str:
    """Quoted for fish, where a backslash escapes inside single quotes too."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
