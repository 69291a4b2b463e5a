"""Frames that agents and chat templates have, and ways to spell one so that a reader still takes it for one."""

from __future__ import annotations

from collections.abc import Callable

NAMED = [
    "system-reminder", "system_prompt", "system-message", "user-prompt-submit-hook", "session-start-hook",
    "hook_context", "hook_prompt", "hook_result", "tool_result", "tool_use", "tool_call",
    "function_calls", "function_results",
    "qwen:session-start-context", "task-notification", "command-name", "local-command-stdout", "bash-stdout",
    "environment_context", "environment_details", "user_query", "start_of_turn", "end_of_turn", "antml:invoke",
    "turn_aborted", "persisted-output", "teammate-message",
]  # fmt: skip
SHORT = ["system", "s", "human", "assistant", "think", "bos", "tools", "instructions"]
TOKENS = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|start_header_id|>", "<|eot_id|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]",
    "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "[gMASK]",
    "]~b]", "[e~[", "<function=rm>",
    "<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool_response>", "<|Tool_Call>", "<|\"|>",
]  # fmt: skip
SPELT_TOKENS = [
    "[inst]", "[Inst]", "[/inst]", "[\\/INST]", "[ INST ]", "[ / inst ]", "[//INST]", "[tool_calls]", "[Tool-Calls]",
    "[/THINK]", "[ THINK ]", "[\uff29\uff2e\uff33\uff34]", "[gmask]",
]  # fmt: skip
TURNS = [
    "\n\nHuman:",
    "\n\nAssistant:",
    "Human:",
    "\n  Assistant :",
    "\nASSISTANT:",
    "\nHUMAN:",
    "\n\nH\u200buman:",
    "\n\n\uff28uman\uff1a",
    "\n\n\u029cuman:",
]

_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_ALIKE = str.maketrans("aeopcsyx", "\u0430\u0435\u043e\u0440\u0441\u0455\u0443\u0445")

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda name: f"<{name}>",
    "its end": lambda name: f"</{name}>",
    "capitals": lambda name: f"<{name.upper()}>",
    "some capitals": lambda name: f"</{name.title()}>",
    "an escaped end": lambda name: f"<\\/{name}>",
    "an end that was escaped twice": lambda name: f"<\\\\/{name}>",
    "two slashes": lambda name: f"<//{name}>",
    "an escaped bracket": lambda name: f"<\\{name}>",
    "blanks": lambda name: f"<  / {name} >",
    "line ends": lambda name: f"<\n{name}\n>",
    "a tab": lambda name: f"<\t{name}\t>",
    "empty": lambda name: f"<{name}/>",
    "attributes": lambda name: f"<{name} type=\"x\" y='1'>",
    "wide letters": lambda name: f"<{name.translate(_WIDE)}>",
    "wide brackets": lambda name: f"\uff1c{name}\uff1e",
    "small brackets": lambda name: f"\ufe64/{name}\ufe65",
    "all wide": lambda name: f"</{name}>".translate(_WIDE),
    "another alphabet": lambda name: f"<{name.translate(_ALIKE)}>",
    "accents": lambda name: f"<{name[0]}\u0301{name[1:]}>",
    "zero width": lambda name: f"<\u200b{name[0]}\u200d{name[1:]}\ufeff>",
    "soft hyphens": lambda name: f"<{name[0]}\u00ad{name[1:]}>",
    "tags": lambda name: f"<{name[0]}\U000e0061{name[1:]}>",
    "another direction": lambda name: f"<\u202e{name}\u202c>",
    "controls": lambda name: f"<{name[0]}\x00{name[1:]}\x7f>",
    "colours": lambda name: f"\x1b[31m<\x1b[0m{name[0]}\x1b[1m{name[1:]}>",
    "half a character": lambda name: f"<{name} \ud800>",
    "long blanks": lambda name: f"<{' ' * 300}{name}>",
}
SPELT = {name: [spell(name) for spell in SPELLINGS.values()] for name in (*NAMED, *SHORT)}
ALL = [*(one for spelt in SPELT.values() for one in spelt), *TOKENS]

ORDINARY = [
    "List<int> a = b < c ? d : e;", "if a < b and c > d: pass", "std::vector<std::string> x",
    "Map<String, List<System>>",
    "Optional<Human> h; Set<S> s", "for (i=0;i<s;i++) x[i] = s>0;", "#include <system_error>\n#include <sys/stat.h>",
    "<html><body class='x'><p>a &lt; b</p></body></html>", "git push <remote> <branch>", "usage: x [OPTION]... <FILE>",
    "[WARNING] disk [ERROR] full [1/3]", "a[i] = b[[1, 2]]", "x <- y; z -> w; a <= b; c << d; e <> f",
    "f <| x; y |> g; a <|> b", "f <|x> y; a<b|>c", "humans: 3\nThe assistant said: yes", "http://x.example/?a=<b>&c=[d]",
    "\u00ab system \u00bb \u2039ok\u203a \u201cquoted\u201d \u2026 \u2013 \u2014",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u041f\u0440\u0438\u0432\u0435\u0442",
    "\U0001f469\u200d\U0001f4bb \u2714\ufe0f \u2764\ufe0f\u200d\U0001f525",
    "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "x = arr[inst]; y = table[k][inst]; z = f(a)[inst]; w = my_[inst]", "list[think], words[sys], d[call_id]",
    "[sys]\nroot = 1\n[think]\nlevel = 2", "see [think](notes.md) and [call_id]", "for inst in insts: print(a[Inst])",
    "human: true\nassistant: false", "x\n\nhuman: a\n  assistant : b", "- human: yes", "humanity: 1\nassistants: 2",
    "Is it Human: or not", "a \\/ b < c", "s/<\\/b>/<b>/", "C:\\system <\\n>", "<\\/p><\\/div>",
    "\tindented\n\n\n  code", "deny: 2 tests fail (test_a, test_b)", "<T extends Comparable<T>>", "a<b>c</b>",
]  # fmt: skip
