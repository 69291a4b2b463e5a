"""What the tools of the agents are called, and where their inputs keep commands, paths and texts."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Input = Mapping[str, object]

_KINDS = {
    "shell": (
        "bash shell sh zsh run command monitor terminal execute exec executebash executecommand executeshell "
        "executeshellcommand runshellcommand runcommand runinterminal runterminalcmd runterminalcommand "
        "launchprocess shellcommand localshell containerexec execcommand unifiedexec runbash bashcommand "
        "shellexec executepwsh preruncommand writestdin console cmd runscript writeprocess executebashcommand "
        "runcommandinterminal sshexec remotebash commandexecution shelltool bashtool "
    ),
    "powershell": "powershell pwsh executepowershell runpowershell",
    "write": (
        "write edit multiedit notebookedit writefile create createfile replace replacefilecontent "
        "multireplacefilecontent editfile writetofile replaceinfile savefile strreplaceeditor "
        "strreplacebasededittool texteditor fileeditor fswrite fsappend strreplace insertedit "
        "inserteditintofile insertcontent searchandreplace searchreplace editnotebook prewritecode filewrite "
        "fileedit appendfile createandedit codeedit notebookeditcell replacestringinfile "
        "multireplacestringinfile insertcodeblock applydiff updatefile createnewfile editexistingfile "
        "singlefindandreplace"
    ),
    "read": (
        "read readfile view viewfile fsread notebookread readmanyfiles prereadcode openfile cat readnotebook "
        "readtextfile viewfileoutline viewcodeitem readlints fileread getfilecontents readcurrentlyopenfile"
    ),
    "delete": "removefiles deletefile removefile delete remove fsdelete deletefiles rm unlink deletedirectory",
    "move": "movefile renamefile move rename fsmove",
    "patch": "applypatch patch gitapply applydiffs",
    "fetch": (
        "webfetch fetch fetchurl readurlcontent webfetchtool openurl browsernavigate viewcontentchunk fetchwebpage "
        "httprequest"
    ),
    "search": "grep grepsearch searchfiles codesearch searchfilecontent ripgrep contentsearch",
    "mcp": "usemcptool mcp calltool toolcall mcptool accessmcpresource executemcptool",
    "quiet": (
        "glob ls listdir listdirectory findbyname todowrite todoread task agent websearch think listfiles "
        "askuserquestion exitplanmode enterplanmode bashoutput killbash killshell taskoutput skill slashcommand "
        "updateplan savememory listprocesses readprocess killprocess codebaseretrieval codebasesearch "
        "googlewebsearch toolsearch"
    ),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_SHELL_WORDS = frozenset(
    "shell bash sh zsh terminal exec execute command cmd powershell pwsh console ssh subprocess process script".split()
)
_CODE_WORDS = frozenset("python ipython jupyter node javascript code repl eval interpreter ruby sandbox".split())
_RUN_WORDS = frozenset("run execute exec eval interpreter repl shell sandbox interpret".split())
_MCP = lazy(r"mcp__|mcp_|mcp:|@[\w.-]+/", re.IGNORECASE)
_WORDS = lazy(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

COMMANDS = (
    "command", "cmd", "CommandLine", "commandLine", "command_line", "shell_command", "script", "bash", "commands",
    "argv", "chars", "input_text",
)  # fmt: skip
CODE = ("code", "source", "script", "program", "snippet", "python")
PATHS = (
    "file_path", "path", "filePath", "filepath", "filename", "file", "notebook_path", "target_file", "TargetFile",
    "AbsolutePath", "absolute_path", "uri", "relative_path", "relativePath", "target", "file_name",
    "relative_workspace_path",
)  # fmt: skip
MANY_PATHS = ("file_paths", "paths", "files", "filePaths", "targets")
SECOND_PATHS = ("destination", "new_path", "newPath", "dest", "to", "target_path", "destination_path")
_TEXTS = (
    "content", "contents", "new_string", "new_str", "newString", "file_text", "fileText", "CodeContent", "text",
    "code_edit", "ReplacementContent", "replacement", "new_source", "file_content", "insert_text", "diff", "replace",
    "newText", "new_text",
    "CodeEdit", "instructions_text", "file_contents", "new_content",
)  # fmt: skip
_NESTED = (
    "edits", "operations", "replacements", "ReplacementChunks", "changes", "chunks", "file_edits", "entries",
)  # fmt: skip
FOLDERS = ("cwd", "workdir", "working_directory", "workingDirectory", "working_dir", "Cwd", "workingDir", "dir_path")
PATCHES = ("command", "input", "patch", "patch_text", "patchText", "diff", "content")


def kind_of_tool(name: str) -> str:
    """Return what a tool does, by its name in whatever agent; "" if the name does not tell."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    if plain in _KIND_OF:
        return _KIND_OF[plain]
    if _MCP.match(name):
        return "service"
    last = re.sub(r"[^a-z0-9]", "", re.split(r"__|[./:]", name)[-1].lower())
    if last != plain and last in _KIND_OF and _KIND_OF[last] != "mcp":
        return _KIND_OF[last]
    if "__" in name:
        return "service"
    return _by_words({word.lower() for word in _WORDS.findall(name)})


def _by_words(words: set[str]) -> str:
    if words & _CODE_WORDS and words & _RUN_WORDS:
        return "code"
    return "shell" if words & _SHELL_WORDS else ""


def first(tool_input: Input, keys: tuple[str, ...]) -> str:
    """Return the first text that stands under one of these keys."""
    for key in keys:
        value = tool_input.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def every(tool_input: Input, keys: tuple[str, ...]) -> list[str]:
    """Return each text under these keys: of two, nobody can say which one a tool takes."""
    found = (tool_input.get(key) for key in keys)
    return list(dict.fromkeys(value for value in found if isinstance(value, str) and value))


def listed(tool_input: Input, keys: tuple[str, ...]) -> list[str]:
    """Return all texts under these keys, also from lists of texts or of objects with a path."""
    found: list[str] = []
    for key in keys:
        value = tool_input.get(key)
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, str) and item:
                found.append(item)
            elif isinstance(item, dict):
                found += listed(item, PATHS)
    return found


def inner_inputs(tool_input: Input) -> Iterator[Input]:
    """Yield the input itself and what is nested in it: edits, operations, chunks."""
    yield tool_input
    for key in _NESTED:
        value = tool_input.get(key)
        for item in value if isinstance(value, (list, tuple)) else []:
            if isinstance(item, dict):
                yield item


def written_text(tool_input: Input) -> str:
    """Return every text that a call puts into a file."""
    texts = [first(tool_input, (key,)) for key in _TEXTS]
    return "\n".join(text for text in texts if text)


def command_text(tool_input: Input) -> str:
    """Return the command of a call; a list of words is quoted as the shell would need it."""
    found: list[str] = []
    for key in COMMANDS:
        value = tool_input.get(key)
        if isinstance(value, str) and value:
            found.append(value)
        elif isinstance(value, (list, tuple)) and value:
            found.append(_joined(value, one_each=key == "commands"))
    arguments = tool_input.get("args") or tool_input.get("arguments")
    if len(found) == 1 and isinstance(arguments, (list, tuple)):
        found = [f"{found[0]} {_joined(arguments, one_each=False)}"]
    return "\n".join(found)


def _joined(words: list[object] | tuple[object, ...], *, one_each: bool) -> str:
    import shlex

    if one_each:
        return "\n".join(command_text(word) if isinstance(word, dict) else str(word) for word in words)
    return shlex.join(str(word) for word in words)
